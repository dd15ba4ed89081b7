"""What differs between what a dispatch wrote on two implementations: integers exactly, floats within what Vulkan's precision rules leave open.

Source of the bounds: the Vulkan specification, appendix "Precision and Operation of SPIR-V Instructions": divisions may be off by 2.5 units in
the last place, sines by 2**-11, exponentials and powers by more the larger they are; sums of such results by more than each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shader_inputs import GeneratedInputs
from shader_runs import Written


@dataclass(frozen=True)
class Tolerance:
    """How far floats may be apart: of a module with functions that Vulkan lets be approximate, or filters, further."""

    relative: float
    absolute: float

    @staticmethod
    def of(module: bytes, inputs: GeneratedInputs) -> Tolerance:
        """The tolerance for a module."""
        filters = any(asked["type"] != "buffer" and not asked["storage"] for asked in inputs.images.values())
        return Tolerance(2e-2, 2e-2) if filters else Tolerance(2e-3, 2e-3) if uses_functions(module) else Tolerance(1e-5, 1e-6)


def uses_functions(module: bytes) -> bool:
    """Whether there are functions of GLSL.std.450 that are computed by approximation: trigonometry to inverse square roots, and what uses them."""
    words = np.frombuffer(module[: len(module) // 4 * 4], np.uint32).tolist()
    position = 5
    while position < len(words):
        length, opcode = words[position] >> 16, words[position] & 0xFFFF
        if opcode == 12 and (11 <= words[position + 4] <= 34 or words[position + 4] in (49, 66, 67, 69, 70, 71, 72)):
            return True
        position += max(length, 1)
    return False


def is_unchanged(inputs: GeneratedInputs, written: Written) -> bool:
    """Whether nothing differs from what the dispatch was given."""
    return all(np.array_equal(data, np.frombuffer(inputs.images[key[1:]]["levels"][0], np.uint8) if key[0] == "image" else inputs.buffers[key])
               for key, data in written.items())


def faults(expected: Written, found: Written, inputs: GeneratedInputs, tolerance: Tolerance) -> dict[Any, NDArray[np.int64]]:
    """Bytes that differ by more than they may, by the keys of what was written."""
    wrong = {}
    for key, wanted in expected.items():
        if np.array_equal(wanted, found[key]):
            continue
        bad = _image_faults(inputs.images[key[1:]], wanted, found[key], tolerance) if key[0] == "image" else \
            _buffer_faults(inputs.floats[key], wanted, found[key], tolerance)
        if bad.size:
            wrong[key] = bad
    return wrong


def differences(expected: Written, found: Written, inputs: GeneratedInputs, tolerance: Tolerance) -> tuple[str, str]:
    """Outcome and reason of a comparison."""
    wrong = faults(expected, found, inputs, tolerance)
    if wrong:
        key, bad = next(iter(wrong.items()))
        first = int(bad[0]) // 4 * 4
        ours, theirs = (data[first : first + 8].view(np.uint32) for data in (found[key], expected[key]))
        return "differs", (f"{sum(each.size for each in wrong.values())} of {sum(each.size // 4 for each in expected.values())} words, "
                           f"{key} byte {first}: {[f'{word:#x}' for word in ours]} not {[f'{word:#x}' for word in theirs]}")
    return ("equal" if all(np.array_equal(wanted, found[key]) for key, wanted in expected.items()) else "close"), ""


def moved_texels(asked: dict[str, Any], first: NDArray[np.uint8], other: NDArray[np.uint8], tolerance: Tolerance) -> NDArray[np.int64]:
    """Bytes of an image as it is encoded, of texels that differ between two runs of the NIR interpreter, which has decoded numbers."""
    element = len(asked["levels"][0]) // max(first.size // (4 * _components(asked)), 1)
    ours, theirs = (data.view(np.float32 if asked["kind"] == "float" else np.uint32).astype(np.float64) for data in (first, other))
    least = Tolerance(tolerance.relative, max(tolerance.absolute, 1 / 255)) if asked["name"].endswith("NORM") else tolerance
    texels = np.unique(np.flatnonzero(~close(ours, theirs, least)) // _components(asked))
    return (texels[:, None] * element + np.arange(element)).ravel()


def _components(asked: dict[str, Any]) -> int:
    return sum(asked["name"].split("_")[0].count(letter) for letter in "RGBAZ")


def _buffer_faults(floats: NDArray[np.uint8], wanted: NDArray[np.uint8], found: NDArray[np.uint8], tolerance: Tolerance) -> NDArray[np.int64]:
    """Bytes at which scalars differ by more than they may."""
    differ = wanted != found
    for size in (2, 4, 8):
        at = np.flatnonzero(floats == size)
        steps = at[:, None] + np.arange(size)
        theirs, ours = (np.ascontiguousarray(data[steps]).view(f"f{size}").ravel().astype(np.float64) for data in (wanted, found))
        good = close(ours, theirs, tolerance, size)
        differ[steps[good]] = False
        differ[steps[~good, 1:]] = False
    # shaders store bits of floats in integers: of these, words that are floats, or pairs of halves, by their values are compared as such
    for kind, least in (("f4", 1e-20), ("f2", 1e-4)):
        at = np.unique(np.flatnonzero(differ & (floats == 0)) // 4 * 4)
        at = at[at + 4 <= wanted.size]
        theirs, ours = (np.ascontiguousarray(data[at[:, None] + np.arange(4)]).view(kind).astype(np.float64) for data in (wanted, found))
        likely = (ours == theirs) | ((np.abs(theirs) > least) & (np.abs(theirs) < 1 / least))
        good = (likely & close(ours, theirs, tolerance, int(kind[1]))).all(1)
        differ[(at[good][:, None] + np.arange(4)).ravel()] = False
    return np.flatnonzero(differ)


def close(ours: NDArray[np.float64], theirs: NDArray[np.float64], tolerance: Tolerance, size: int = 4) -> NDArray[np.bool_]:
    """Which floats agree: NaNs with NaNs, infinities with themselves and what overflows next to them."""
    relative, absolute = (max(bound, 4e-3) if size == 2 else bound for bound in (tolerance.relative, tolerance.absolute))
    with np.errstate(invalid="ignore"):
        return np.isclose(ours, theirs, relative, absolute, equal_nan=True)


def _image_faults(asked: dict[str, Any], wanted: NDArray[np.uint8], found: NDArray[np.uint8], tolerance: Tolerance) -> NDArray[np.int64]:
    """Bytes at which channels differ; fractions may be rounded either way."""
    name = asked["name"]
    if asked["kind"] != "float":
        return np.flatnonzero(wanted != found)
    if name == "R11G11B10_FLOAT" or name.startswith("R10"):
        sizes = (11, 11, 10) if name.startswith("R11") else (10, 10, 10, 2)
        ours, theirs, bad, first = found.view(np.uint32), wanted.view(np.uint32), np.zeros(wanted.size // 4, bool), 0
        for size in sizes:
            channel = [(data >> first & (1 << size) - 1).astype(np.int64) for data in (ours, theirs)]
            bad |= np.abs(channel[0] - channel[1]) > max(1, tolerance.relative * (1 << size))
            first += size
        return np.flatnonzero(bad) * 4
    size = int(name[1:].split("_")[0].split("G")[0]) // 8
    if name.endswith("FLOAT"):
        floats = [data.view(f"f{size}").astype(np.float64) for data in (found, wanted)]
        return np.flatnonzero(~close(floats[0], floats[1], tolerance, size)) * size
    steps = [data.view(f"{'i' if name.endswith('SNORM') else 'u'}{size}").astype(np.int64) for data in (found, wanted)]
    return np.flatnonzero(np.abs(steps[0] - steps[1]) > max(1, tolerance.absolute * (1 << 8 * size))) * size


