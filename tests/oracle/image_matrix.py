"""Every image operation crossed with formats, dimensions, swizzle modes and samplers: what our compiler makes of each, beside lavapipe.

Every two values of different factors meet in at least one case (pairwise), as far as Vulkan has them; with ``--whole`` all values of all factors,
but of each class of formats one, drawn anew for each case: on four chips half an hour. `python tests/oracle/image_matrix.py [--target gfx1030]
[--part 2/5] [--whole] [--engine reference] [--seed 7] [--rows]` runs all targets or some, and prints for each value of each factor how many cases
were tried, and gave what lavapipe gives (equal), something else that is just what Vulkan says (exact: not filtered, the nearest number), or that it
allows (within), that too where lavapipe is outside of it (alone) or has no such operation (unpaired), or what it does not allow (failed). Fetches,
loads and stores that are not exact have failed. ``test_image_matrix.py`` runs a sample.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from time import process_time
from typing import Any

import numpy as np
from image_cases import SAMPLERS, Prepared, empty_image
from image_shaders import DIMENSIONS, FORMATS, ImageCase
from vulkan_peer import Lavapipe, PeerError

from pyaco.emu import Device
from pyaco.errors import InputError, PyacoError, UnsupportedError
from pyaco.targets import features

TARGETS = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200")
FACTORS = ("operation", "dimension", "format", "state", "mode")
VERDICTS = ("tried", "equal", "exact", "within", "alone", "unpaired", "failed")
#: How many places of a surface's list of swizzle modes there are; of a shorter list they name the same ones again.
MODES = 16
SAMPLED, STORAGE, STORAGE_ATOMIC, FILTER_LINEAR = 1, 2, 4, 0x1000      # VkFormatFeatureFlagBits
PLAIN, FLAT = ("1d", "2d", "3d", "1d_array", "2d_array"), ("2d", "2d_array")

LINEAR = {"magFilter": 1, "minFilter": 1, "mipmapMode": 1}
NEAREST = {"magFilter": 0, "minFilter": 0, "mipmapMode": 0}
STATES: dict[str, dict[str, Any]] = SAMPLERS | {
    "nearest_mirror": NEAREST | {"address": 1}, "nearest_edge": NEAREST | {"address": 2}, "nearest_mirror_edge": NEAREST | {"address": 4},
    "nearest_black": NEAREST | {"address": 3, "borderColor": 2}, "nearest_transparent": NEAREST | {"address": 3, "borderColor": 0},
    "nearest_mixed": NEAREST | {"address": (2, 0, 1)}, "nearest_bias": NEAREST | {"address": 0, "mipLodBias": 1.0},
    "nearest_clamped": NEAREST | {"address": 0, "minLod": 0.75, "maxLod": 1.25},
    "linear_repeat": LINEAR | {"address": 0}, "linear_mirror_edge": LINEAR | {"address": 4},
    "linear_mixed": LINEAR | {"address": (3, 2, 0), "borderColor": 4},
    "linear_transparent": LINEAR | {"address": 3, "borderColor": 0}, "linear_one_level": LINEAR | {"mipmapMode": 0, "address": 0},
    "mag_linear": NEAREST | {"magFilter": 1, "address": 0}, "min_linear": NEAREST | {"minFilter": 1, "address": 2},
    "mips_linear": NEAREST | {"mipmapMode": 1, "address": 1}, "linear_bias": LINEAR | {"address": 0, "mipLodBias": -0.5},
    "linear_clamped": LINEAR | {"address": 2, "minLod": 0.75, "maxLod": 1.25}, "anisotropic": LINEAR | {"address": 0, "anisotropy": 16},
}
COMPARING = {f"compare_{number}": NEAREST | {"address": 0, "compare": number} for number in range(8)} | {
    "compare_linear": LINEAR | {"address": 2, "compare": 3},
    "compare_border": LINEAR | {"mipmapMode": 0, "address": 3, "borderColor": 4, "compare": 4},
}  # fmt: skip
UNNORMALIZED = {"unnormalized_nearest": NEAREST | {"address": 2, "unnormalized": True},
                "unnormalized_linear": LINEAR | {"mipmapMode": 0, "address": 3, "borderColor": 2, "unnormalized": True}}  # fmt: skip
ALL_STATES = STATES | COMPARING | UNNORMALIZED
#: Dimensions of each operation.
OPERATIONS: dict[str, tuple[str, ...]] = {
    "lod": tuple(DIMENSIONS), "grad": PLAIN, "lod_offset": PLAIN, "grad_offset": PLAIN, "fetch": PLAIN, "projective": ("2d",),
    "projective_grad": ("2d",), "gather": FLAT, "gather_offset": FLAT, "gather_offsets": FLAT, "unnormalized": ("1d", "2d"),
    "compare_lod": ("1d", "1d_array", "2d"), "compare_grad": ("1d", "1d_array", "2d", "2d_array"), "compare_gather": FLAT,
    "size": tuple(DIMENSIONS), "levels": tuple(DIMENSIONS), "image_size": tuple(DIMENSIONS), "load": tuple(DIMENSIONS), "store": tuple(DIMENSIONS),
} | {f"atomic_{name}": tuple(DIMENSIONS) for name in ("add", "min", "max", "and", "or", "xor", "swap", "compare")}  # fmt: skip
#: Results in 16 bits, least levels, texels that say whether they have memory, derivatives of quads, images with several samples.
OPERATIONS |= {f"half_{name}": OPERATIONS[name] for name in ("lod", "grad", "fetch", "gather", "lod_offset")}
OPERATIONS |= {"clamped_grad": PLAIN[1:], "clamped_grad_offset": PLAIN[1:], "bias": PLAIN, "fetch_sample": ("2d_ms", "2d_ms_array")}
OPERATIONS |= {f"sparse_{name}": tuple(each for each in OPERATIONS[name] if "1d" not in each)
               for name in ("lod", "grad", "fetch", "gather", "lod_offset", "grad_offset", "load")}  # fmt: skip
WITHOUT_SAMPLER = ("fetch", "fetch_sample", "size", "levels", "image_size", "load", "store")


@dataclass(frozen=True)
class Crossing:
    """A case: one value of each factor; `mode` is a place in the surface's list of swizzle modes."""

    operation: str
    dimension: str
    format: str
    state: str
    mode: int

    def pairs(self) -> Iterator[tuple[str, Any, str, Any]]:
        """Every two of its values."""
        for first, second in combinations(FACTORS, 2):
            yield first, getattr(self, first), second, getattr(self, second)

    @property
    def image_case(self) -> ImageCase:
        """The shader."""
        return ImageCase(self.operation, self.dimension, self.format)


def _base(operation: str) -> str:
    return ImageCase(operation, "2d", "R8_UNORM").base


def _states_of(operation: str, name: str, bits: int) -> list[str]:
    """Samplers that an operation on a format can have."""
    if _base(operation) in WITHOUT_SAMPLER or operation.startswith("atomic"):
        return ["nearest_repeat"]
    if operation.startswith("compare"):
        return list(COMPARING)
    choices = UNNORMALIZED if operation == "unnormalized" else STATES
    filters = FORMATS[name][2] == "float" and bits & FILTER_LINEAR
    return [state for state, words in choices.items() if filters or not (words["magFilter"] or words["minFilter"] or words["mipmapMode"])]


def _fits(operation: str, name: str, bits: int) -> bool:
    depth = name.startswith("Z")
    if operation.startswith("half_") and FORMATS[name][2] != "float":
        return False
    operation = _base(operation)
    if operation.startswith("atomic"):
        return name in ("R32_UINT", "R32_SINT") and bool(bits & STORAGE_ATOMIC)
    if operation in ("load", "store", "image_size"):
        return bool(FORMATS[name][1]) and bool(bits & STORAGE)
    if operation.startswith("compare"):
        return depth and bool(bits & SAMPLED)
    return bool(bits & SAMPLED) and (not depth or operation in ("lod", "fetch", "gather"))


def _has_dimension(name: str, dimension: str) -> bool:
    """Depth is neither 3D nor 1D in tiles that all chips have."""
    return not name.startswith("Z") or dimension not in ("3d", "1d", "1d_array")


def crossings(found_features: dict[str, int], seed: int = 1) -> list[Crossing]:
    """Cases in which every two values of two factors meet that can."""
    possible = [
        Crossing(operation, dimension, name, state, 0) for operation, dimensions in OPERATIONS.items() for name, bits in found_features.items()
        if _fits(operation, name, bits) for state in _states_of(operation, name, bits) for dimension in dimensions if _has_dimension(name, dimension)
    ]  # fmt: skip
    random = np.random.default_rng(seed)
    rows = [possible[k] for k in random.permutation(len(possible))]
    by_pair: dict[Any, list[int]] = defaultdict(list)
    wanted: dict[Any, None] = {}
    for number, row in enumerate(rows):
        for pair in row.pairs():
            if pair[2] != "mode":
                by_pair[pair].append(number)
                wanted[pair] = None
                continue
            by_pair[pair[:2]].append(number)
            wanted |= dict.fromkeys((*pair[:3], mode) for mode in range(MODES))
    chosen: list[Crossing] = []
    open_pairs = set(wanted)
    for pair in wanted:
        if pair not in open_pairs:
            continue
        fixed = pair[3] if pair[2] == "mode" else None
        numbers = by_pair[pair[:2] if fixed is not None else pair]
        tried = [replace(rows[k], mode=int(random.integers(MODES)) if fixed is None else fixed) for k in random.choice(numbers, 12)]
        best = max(tried, key=lambda each: sum(one in open_pairs for one in each.pairs()))
        chosen.append(best)
        open_pairs.difference_update(best.pairs())
    return list(dict.fromkeys(chosen))


def whole_product(found_features: dict[str, int], seed: int = 1) -> list[Crossing]:
    """Every operation with every class of formats, dimension and sampler that Vulkan has; of each class a format by chance."""
    random = np.random.default_rng(seed)
    formats: dict[tuple[str, str], list[str]] = defaultdict(list)
    for operation, (name, bits) in product(OPERATIONS, found_features.items()):
        if _fits(operation, name, bits):
            formats[operation, format_class(name)].append(name)
    found = []
    for (operation, _), names in formats.items():
        states = dict.fromkeys(state for name in names for state in _states_of(operation, name, found_features[name]))
        for dimension, state in product(OPERATIONS[operation], states):
            fitting = [name for name in names if _has_dimension(name, dimension) and state in _states_of(operation, name, found_features[name])]
            if fitting:
                found.append(Crossing(operation, dimension, str(random.choice(fitting)), state, 0))
    return [found[k] for k in random.permutation(len(found))]


def formats_of(lavapipe: Lavapipe) -> dict[str, int]:
    """What lavapipe does with images of each format."""
    found = lavapipe.worker.ask({"operation": "image_features", "formats": [entry[0] for entry in FORMATS.values()]}, 60.0)["found"]
    return dict(zip(FORMATS, found, strict=True))


# --------------------------------------------------------------------------------------------------------------- running
@cache
def modes_of(target: str, dimension: str, name: str, levels: int) -> tuple[Any, ...]:
    """The tilings that an image can have: options of `Device.image`. GFX8 and GFX9 have the driver's choice, and rows."""
    device = Device(target)
    found: list[dict[str, Any]] = [{}]
    choices = [{"swizzle_mode": mode} for mode in range(1, 32)] if features.has_swizzle_mode_choice(device.gfx_level) else []
    if not name.startswith("Z"):
        choices.append({"linear": True})
    for options in choices:
        try:
            image = empty_image(device, dimension, name, levels, **options)
        except (InputError, UnsupportedError):
            continue
        if "linear" in options or image.surface.layout.texel_swizzle_mode == options["swizzle_mode"]:
            found.append(options)
    return tuple(found)


@dataclass
class Outcome:
    """A case on a target: the swizzle mode's name, and what `Prepared.judged` says."""

    crossing: Crossing
    target: str
    mode: str
    verdict: str
    faults: list[str]


def run(
    crossing: Crossing, targets: tuple[str, ...], lavapipe: Lavapipe, engine: str = "fast", seed: int = 0, every_mode: bool = False,
) -> list[Outcome]:  # fmt: skip
    """Run a case on targets, in its swizzle mode or in every one that the image can have."""
    prepared = Prepared(crossing.image_case, ALL_STATES[crossing.state], lavapipe, seed=seed)
    found = []
    for target in targets:
        modes = modes_of(target, crossing.dimension, crossing.format, prepared.levels)
        device = Device(target, engine, threads=1 if engine == "fast" else None)
        for options in modes if every_mode else (modes[crossing.mode % len(modes)],):
            mode = str(options)
            try:
                image = prepared.image_on(device, **options)
                mode = str(image.surface.swizzle_mode)
                verdict, faults = prepared.judged(image, prepared.run_compiled(device, image))
                image.release()
            except PyacoError as error:
                verdict, faults = "failed", [f"{crossing}: {error}"]
            found.append(Outcome(crossing, target, mode, verdict, [f"{target} {mode} {crossing.state} {fault}" for fault in faults]))
    return found


def format_class(name: str) -> str:
    """Formats whose components become numbers in the same way."""
    if name.startswith("Z"):
        return "depth"
    if name in ("B5G6R5_UNORM", "R10G10B10A2_UNORM", "R10G10B10A2_UINT", "R11G11B10_FLOAT", "R9G9B9E5_FLOAT"):
        return "packed " + name.rpartition("_")[2].lower()
    return name.rpartition("_")[2].lower().replace("sfloat", "float")


def _rows(outcomes: list[Outcome], factor: str) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for each in outcomes:
        crossing = each.crossing
        own = {"target": each.target, "swizzle mode": f"{each.target} {each.mode}",
               "row": f"{crossing.operation} | {format_class(crossing.format)} | {crossing.dimension}"}
        value = own[factor] if factor in own else str(getattr(crossing, factor))
        found[value].update((each.verdict, "tried"))
    return found


def table(outcomes: list[Outcome], factors: tuple[str, ...] = ("target", "operation", "dimension", "format", "state", "swizzle mode")) -> str:
    """Of each value of each factor the cases that were tried, and how many had which verdict."""
    lines = []
    for factor in factors:
        lines.append(f"{factor:<44}" + "".join(f"{verdict:>8}" for verdict in VERDICTS))
        for value, counts in sorted(_rows(outcomes, factor).items()):
            lines.append(f"    {value:<40}" + "".join(f"{counts[verdict]:8}" for verdict in VERDICTS))
        lines.append("")
    return "\n".join(lines)


def skipped(found_features: dict[str, int]) -> dict[str, list[str]]:
    """Operations with formats that have no cases, by the reason."""
    found: dict[str, list[str]] = defaultdict(list)
    for operation in OPERATIONS:
        for name, bits in found_features.items():
            if not _fits(operation, name, bits):
                found[_why_not(operation, name, bits)].append(f"{operation} {name}")
    return dict(found)


def _why_not(operation: str, name: str, bits: int) -> str:
    if operation.startswith("half_") and FORMATS[name][2] != "float":
        return "integers are not made halves"
    depth, storage = name.startswith("Z"), _base(operation) in ("load", "store", "image_size")
    if operation.startswith("atomic"):
        return "Vulkan has image atomics of R32_UINT and R32_SINT (others: test_image_atomics.py)"
    if depth and not (storage or operation.startswith("compare")):
        return "of depth formats the matrix has what reads depth: lod, fetch, gather and comparisons"
    if operation.startswith("compare"):
        return "only depth formats are compared"
    if storage and not FORMATS[name][1]:
        return "GLSL has no layout of this format for storage images"
    return "lavapipe has no such images"


def main() -> int:
    """Run the matrix, and print the table and what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--part", default="1/1", help="which of how many parts of the cases")
    parser.add_argument("--whole", action="store_true", help="every combination in every swizzle mode, not every two values")
    parser.add_argument("--engine", choices=("fast", "reference"), default="fast")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of cases, and of their texels and coordinates")
    parser.add_argument("--rows", action="store_true", help="also a row for each operation, class of formats and dimension, and what is skipped")
    options = parser.parse_args()
    lavapipe, targets = Lavapipe(), tuple(options.target or TARGETS)
    part, parts = map(int, options.part.split("/"))
    found_features = formats_of(lavapipe)
    cases = (whole_product if options.whole else crossings)(found_features, options.seed)
    mine = cases[part - 1 :: parts]
    outcomes: list[Outcome] = []
    refused: list[str] = []
    for number, crossing in enumerate(mine):
        try:
            found = run(crossing, targets, lavapipe, options.engine, options.seed, options.whole)
        except PeerError as error:
            refused.append(f"{crossing}: {error}")
            continue
        outcomes += found
        print(*(fault for each in found for fault in each.faults), sep="\n", end="\n" if any(each.faults for each in found) else "", flush=True)
        if number % 100 == 99:
            bad = sum(bool(each.faults) for each in outcomes)
            print(f"{number + 1} of {len(mine)} cases, {bad} of {len(outcomes)} failed, {process_time():.0f} s", file=sys.stderr, flush=True)
    failed = [each for each in outcomes if each.faults]
    print(*(fault for each in failed for fault in each.faults), *(f"lavapipe refused {one}" for one in refused), sep="\n")
    print(table(outcomes))
    if options.rows:
        print(table(outcomes, ("row",)))
        print(*(f"skipped: {reason}: {', '.join(names)}" for reason, names in skipped(found_features).items()), sep="\n")
    print(f"{len(mine)} of {len(cases)} cases, {len(outcomes)} runs, {len(failed)} failed, {len(refused)} refused by lavapipe, "
          f"{process_time():.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
