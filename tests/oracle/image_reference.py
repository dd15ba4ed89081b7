"""What Vulkan lets samples, gathers, fetches and loads of images be, computed in double precision with NumPy.

A result is allowed if it is what some place and level of detail within reach give. Coordinates in texels and levels of detail may be off by what
8 fraction bits leave, 1/256 each, as VK-GL-CTS's verifier of texture lookups counts; conversions of components are exact but for rounding to single
precision. Of filtered results the reach is an interval, of others a set. Fetches and loads have no reach, and what a store leaves in a texel is
known to the bit: the nearest number of its format (of small unsigned floats the one toward zero).

Where samplers are anisotropic, a level's weight may also be what hardware was measured to make of it: 1.25 f - 0.125 within 0 and 1.

Source: the Vulkan specification, "Image Operations" and "Format Conversion". Nothing of it is shared with the emulator or the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from image_shaders import ALL_DIMENSIONS, SAMPLES, SAMPLES_OF_TEXEL, ImageCase
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
REACH = 1 / 256
ROUNDING = 2.4e-7
_PACKED = {"B5G6R5_UNORM": "<u2", "R10G10B10A2_UNORM": "<u4", "R10G10B10A2_UINT": "<u4", "R11G11B10_FLOAT": "<u4", "R9G9B9E5_FLOAT": "<u4"}
#: The offsets that shaders of `image_shaders` have, and the component that gathers ask for.
_OFFSETS = {"lod_offset": (1, -2, 1), "grad_offset": (1, -2, 1), "gather_offset": (3, -4, 0)}
_GATHERED = {"gather": 1, "gather_offset": 2, "gather_offsets": 0, "compare_gather": 0}
_FOUR_OFFSETS = ((1, 2), (-3, 0), (0, 0), (7, -8))
_CORNERS = ((0, 1), (1, 1), (1, 0), (0, 0))
_COMPARE = (
    lambda a, b: np.zeros_like(b, bool), np.less, np.equal, np.less_equal, np.greater, np.not_equal, np.greater_equal,
    lambda a, b: np.ones_like(b, bool),
)  # fmt: skip
_BORDERS = {0: (0, 0, 0, 0), 2: (0, 0, 0, 1), 4: (1, 1, 1, 1)}


# --------------------------------------------------------------------------------------------------------------- formats
def decoded(name: str, raw: bytes) -> Numbers:
    """The four components of each element; integers as they are, missing ones 0, 0, 0 and 1."""
    letters, sizes = zip(*re.findall(r"([RGBAZE])(\d+)", name), strict=True)
    bits = [int(size) for size in sizes]
    if name in _PACKED:
        words = np.frombuffer(raw, _PACKED[name]).astype(np.int64)
        firsts = np.cumsum([0, *bits[:-1]])
        channels = [words >> first & (1 << size) - 1 for first, size in zip(firsts, bits, strict=True)]
        if name == "R9G9B9E5_FLOAT":
            values = [channel * 2.0 ** (channels[3] - 24) for channel in channels[:3]]
        elif name.endswith("FLOAT"):
            values = [_small_float(channel, size) for channel, size in zip(channels, bits, strict=True)]
        else:
            values = [channel / (1.0 if name.endswith("UINT") else (1 << size) - 1) for channel, size in zip(channels, bits, strict=True)]
    else:
        kind = "f" if name.endswith("FLOAT") else "i" if name.endswith(("SNORM", "SINT")) else "u"
        table = np.frombuffer(raw, f"<{kind}{bits[0] // 8}").reshape(-1, len(bits)).astype(np.float64)
        if name.endswith(("UNORM", "SRGB")):
            table = table / ((1 << bits[0]) - 1)
        elif name.endswith("SNORM"):
            table = np.maximum(table / ((1 << bits[0] - 1) - 1), -1)
        values = list(table.T)
    found = np.tile(np.array([0.0, 0, 0, 1]), (len(values[0]), 1))
    for letter, value in zip(letters, values, strict=False):
        found[:, "RGBA".index(letter.replace("Z", "R"))] = value
    if name.endswith("SRGB"):
        colors = found[:, :3]
        found[:, :3] = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    return found


def _small_float(bits: Integers, size: int) -> Numbers:
    """An unsigned float with five bits of exponent; infinities and NaNs are not among the texels."""
    mantissa_bits = size - 5
    mantissa, exponent = (bits & (1 << mantissa_bits) - 1) / 2.0**mantissa_bits, bits >> mantissa_bits
    return np.where(exponent == 0, mantissa * 2.0**-14, (1 + mantissa) * 2.0 ** (exponent - 15.0))


def encoded(name: str, values: NDArray[Any]) -> Integers:
    """The channels of elements, as unsigned integers, that are nearest to values: the reverse of `decoded`.

    Small unsigned floats are rounded toward zero, which Vulkan allows, as lavapipe does; formats of sRGB and of shared exponents are not stored.
    """
    sizes = [int(size) for size in re.findall(r"[RGBA](\d+)", name)]
    kind = name.rpartition("_")[2].removeprefix("S") if name.endswith("SFLOAT") else name.rpartition("_")[2]
    return np.stack([_channel(kind, size, values[:, k]) & (1 << size) - 1 for k, size in enumerate(sizes)], 1)


def _channel(kind: str, size: int, values: NDArray[Any]) -> Integers:
    if kind == "UINT":
        return np.minimum(values, (1 << size) - 1).astype(np.int64)
    if kind == "SINT":
        return np.clip(values.view(np.int32).astype(np.int64), -(1 << size - 1), (1 << size - 1) - 1)
    if kind == "FLOAT" and size >= 16:
        return values.astype(f"<f{size // 8}").view(f"<u{size // 8}").astype(np.int64)
    exact = values.astype(np.float64)
    if kind == "FLOAT":
        exact = np.maximum(exact, 0)
        exponent = np.where(exact < 2.0**-14, -14, np.frexp(exact)[1] - 1)
        return (np.floor(exact / 2.0 ** (exponent - (size - 5))) + ((exponent + 14) << size - 5)).astype(np.int64)
    lowest, bits = (0, size) if kind == "UNORM" else (-1, size - 1)
    return np.rint(np.clip(exact, lowest, 1) * ((1 << bits) - 1)).astype(np.int64)


def lavapipe_slack(name: str) -> float:
    """How far lavapipe's conversions and filters of a format may be off; it filters bytes as bytes, and has a polynomial for sRGB."""
    if name.endswith("SRGB"):
        return 1.5e-3 + 1.5 / 255
    bits = min(int(size) for size in re.findall(r"[RGBZ](\d+)", name))
    return 1.5 / 255 if bits <= 8 and not name.endswith("FLOAT") else 2e-5


# ----------------------------------------------------------------------------------------------------------- addressing
def wrapped(mode: int, index: Integers, size: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Texels that indices stand for by a VkSamplerAddressMode, and where the border is."""
    outside = (index < 0) | (index >= size)
    if mode == 0:
        return index % size, np.zeros_like(outside)
    mirrored = np.where(index >= 0, index, -1 - index)
    if mode == 1:
        turned = mirrored % (2 * size)
        return np.where(turned < size, turned, 2 * size - 1 - turned), np.zeros_like(outside)
    kept = np.clip(mirrored if mode == 4 else index, 0, size - 1)
    return kept, outside if mode == 3 else np.zeros_like(outside)


# faces of a cube: axis of the direction, then (axis, sign) of s and of t
_FACES = ((0, 1, (2, -1), (1, -1)), (0, -1, (2, 1), (1, -1)), (1, 1, (0, 1), (2, 1)), (1, -1, (0, 1), (2, -1)), (2, 1, (0, 1), (1, -1)),
          (2, -1, (0, -1), (1, -1)))  # fmt: skip


def face_of(direction: Numbers) -> tuple[Integers, Numbers]:
    """The faces that directions meet, and the places there from 0 to 1."""
    major = np.abs(direction).argmax(1)
    length = np.take_along_axis(direction, major[:, None], 1)[:, 0]
    face = 2 * major + (length < 0)
    place = np.zeros((len(direction), 2))
    for number, (_, _, *axes) in enumerate(_FACES):
        rows = face == number
        for k, (axis, sign) in enumerate(axes):
            place[rows, k] = sign * direction[rows, axis] / np.maximum(np.abs(length[rows]), 1e-30)
    return face, (place + 1) / 2


def direction_of(face: Integers, place: Numbers) -> Numbers:
    """The reverse of `face_of`, of places that may be beyond the face."""
    found = np.zeros((len(face), 3))
    for number, (major, sign_of_major, *axes) in enumerate(_FACES):
        rows = face == number
        found[rows, major] = sign_of_major
        for k, (axis, sign) in enumerate(axes):
            found[rows, axis] = sign * (2 * place[rows, k] - 1)
    return found


# ------------------------------------------------------------------------------------------------------------ reference
class Reference:
    """What the results of a case of `image_shaders` may be.

    Parameters
    ----------
    case, state
        The shader, and the sampler as `image_cases` describes it.
    levels
        The elements of each level, all layers.
    inputs
        What each invocation is given.
    """

    def __init__(self, case: ImageCase, state: dict[str, Any], levels: list[bytes], inputs: NDArray[np.float32]) -> None:
        _, self.count, extent, layers = ALL_DIMENSIONS[case.dimension]
        self.case, self.state, self.inputs = case, state, inputs.astype(np.float64)
        self.cube, self.spatial = "cube" in case.dimension, 3 if case.dimension == "3d" else 1 if case.dimension.startswith("1d") else 2
        self.layers = layers
        self.images = []
        for number, raw in enumerate(levels):
            width, height, depth = (max(length >> number, 1) for length in extent)
            if "ms" in case.dimension:                      # samples as if they were levels
                samples = decoded(case.format, raw).reshape(layers, height, width, SAMPLES_OF_TEXEL, 4)
                self.images += [samples[:, :, :, k] for k in range(SAMPLES_OF_TEXEL)]
                continue
            self.images.append(decoded(case.format, raw).reshape(layers * depth, height, width, 4))
        address = state["address"]
        self.modes = address if isinstance(address, tuple) else (address,) * 3
        self.operation = case.base
        self.compares = self.operation.startswith("compare")
        self.unnormalized = self.operation == "unnormalized"
        self.offset = np.array(_OFFSETS.get(self.operation, (0, 0, 0)) if self.spatial > 1 or self.operation not in _OFFSETS else (1, 0, 0))
        border = np.array(_BORDERS[state.get("borderColor", 0)], np.float64)
        present = [letter in case.format.split("_")[0].replace("Z", "R") for letter in "RGBA"]
        self.border = np.where(present, border, (0, 0, 0, 1))
        self.largest = max(float(np.abs(image).max()) for image in self.images)
        at = self.inputs[:, 0]
        self.face, self.place = np.zeros(len(at), np.int64), at[:, : self.spatial]
        if self.cube:
            self.face, self.place = face_of(at[:, :3])
        elif self.unnormalized:
            self.place = at[:, : self.spatial] * self._size(0)
        self.layer = np.zeros(len(at), np.int64)
        if "array" in case.dimension:
            self.layer = np.clip(np.rint(at[:, 3 if self.cube else self.spatial]), 0, layers // (6 if self.cube else 1) - 1).astype(np.int64)

    def _size(self, level: int) -> Integers:
        depth, height, width, _ = self.images[level].shape
        return np.array([width, height, depth][: self.spatial], np.int64)

    # ---------------------------------------------------------------------------------------------------------- verdict
    def allows(self, found: NDArray[np.uint32], slack: float = 0.0) -> NDArray[np.bool_]:
        """Whether each component of results may be what it is; `slack` is allowed beside that."""
        values: Numbers
        if self.case.kind == "float":
            values = found.view(np.float32).astype(np.float64)
        else:
            values = found.view(np.int32 if self.case.kind == "int" else np.uint32).astype(np.float64)
        candidates, filtered = self._possible
        rounding, least = (2.0**-10, 2.0**-24) if self.case.operation.startswith("half_") else (ROUNDING, 0.0)
        near = (np.abs(values - candidates) - rounding * np.abs(candidates)).min(0) - least
        margin = slack * max(1.0, self.largest) + ROUNDING * self.largest + (rounding * np.abs(candidates).max(0) + least)
        within = (values >= candidates.min(0) - margin) & (values <= candidates.max(0) + margin)
        return np.where(filtered[:, None], within, near <= slack * max(1.0, self.largest))

    def is_exact(self, found: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Whether each component is one of `exact_results`, to the bit: of numbers the nearest single, or half of that or of the number."""
        same = [found == bits for each in self.exact_results() for bits in self._bits(each)]
        return np.any(same, axis=0) if same else np.zeros(found.shape, bool)

    def exact_results(self) -> list[Numbers]:
        """What the rules say with nothing off but levels of detail, which have 8 fraction bits; none where a filter takes part."""
        if self.operation in WITHOUT_REACH:
            return [self._fetched(opaque) for opaque in (0, 1)]
        middle = (0,) * self.spatial
        if self.operation in _GATHERED:
            return [self._gathered(middle)]
        exact = self._exact_level(self._lengths_of_gradients(), np.ones(len(self.inputs), np.int64))
        lod = np.rint(self._limited(exact, 0.0) / REACH) * REACH
        results, smooth = zip(*self._sampled(lod, [middle]), strict=True)
        return [] if np.any(smooth) else list(results)

    def _bits(self, values: Numbers) -> Iterator[NDArray[np.uint32]]:
        if self.case.kind != "float":
            yield values.astype(np.int64).astype(np.uint32)
            return
        singles = values.astype(np.float32)
        if not self.case.operation.startswith("half_"):
            yield singles.view(np.uint32)
            return
        for each in (singles, values):
            yield each.astype(np.float16).astype(np.float32).view(np.uint32)

    @cached_property
    def _possible(self) -> tuple[Numbers, NDArray[np.bool_]]:
        """All candidates, and the invocations whose results are filtered."""
        candidates, smooth = zip(*self.candidates(), strict=True)
        return np.stack(candidates), np.any(smooth, axis=0)

    def candidates(self) -> Iterator[tuple[Numbers, NDArray[np.bool_]]]:
        """Results that are possible, and which of them filters made."""
        if self.operation in WITHOUT_REACH:
            for opaque in (0, 1):
                yield self._fetched(opaque), np.zeros(len(self.inputs), bool)
            return
        places = list(product((-1, 0, 1), repeat=self.spatial))
        if self.operation in _GATHERED:
            for codes in places:
                yield self._gathered(codes), np.zeros(len(self.inputs), bool)
            return
        lengths = self._lengths_of_gradients()
        probes = np.ones(len(self.inputs), np.int64)
        if lengths is not None and "anisotropy" in self.state:
            ratio = lengths.max(0) / np.maximum(lengths.min(0), 1e-30)
            probes = np.ceil(np.clip(ratio, 1, self.state["anisotropy"])).astype(np.int64)
        for level in self._levels_of_detail(lengths, probes):
            yield from self._probed(level, places, lengths, probes) if probes.max() > 1 else self._sampled(level, places)

    # --------------------------------------------------------------------------------------------------- kinds of results
    def _fetched(self, opaque: int) -> Numbers:
        """Texels by number; of places outside zeros, or black."""
        at = self.inputs[:, 0].astype(np.int64)
        numbers = self.inputs[:, 1, 1].astype(np.int64) if self.operation != "load" else np.zeros(len(at), np.int64)
        found = np.tile(np.array([0.0, 0, 0, opaque]), (len(at), 1))
        for level, image in enumerate(self.images):
            slices, height, width, _ = image.shape
            y = at[:, 1] if self.spatial > 1 else np.zeros(len(at), np.int64)
            z = at[:, self.spatial] if self.count > self.spatial else at[:, 2] if self.spatial > 2 else np.zeros(len(at), np.int64)
            inside = (numbers == level) & (at[:, 0] < width) & (y < height) & (z < slices)
            found[inside] = image[z[inside], y[inside], at[inside, 0]]
        return found

    def _gathered(self, codes: tuple[int, ...]) -> Numbers:
        place = self.place * (1 if self.unnormalized else self._size(0)) + np.array(codes) * REACH
        first = np.floor(place - 0.5).astype(np.int64)
        component, found, rows = _GATHERED[self.operation], [], np.arange(len(first))
        for k in range(4):
            step = _FOUR_OFFSETS[k] if self.operation == "gather_offsets" else np.array(_CORNERS[k]) + self.offset[:2]
            found.append(self._texels(0, first + np.array(step), rows)[:, component])
        return np.stack(found, 1)

    def _gradients(self) -> list[Numbers] | None:
        """Derivatives of coordinates, in texels of the first level; None where the level is given."""
        if self.operation == "bias":
            quad = np.arange(len(self.inputs)) & ~3
            return [(self.place[quad + step] - self.place[quad]) * self._size(0) for step in (1, 2)]
        if "grad" in self.operation:
            return [self.inputs[:, row, : self.spatial] * self._size(0) for row in (2, 3)]
        return None

    def _lengths_of_gradients(self) -> Numbers | None:
        gradients = self._gradients()
        return None if gradients is None else np.stack([np.sqrt((each**2).sum(1)) for each in gradients])

    def _exact_level(self, lengths: Numbers | None, probes: Integers) -> Numbers:
        """The level of detail before it is kept within the sampler's limits."""
        given = self.inputs[:, 1, 0]
        exact = np.zeros(len(given)) if self.unnormalized else given
        if lengths is not None:
            exact = np.log2(np.maximum(lengths.max(0), 1e-30) / probes) + (given if self.operation == "bias" else 0.0)
        return exact + self.state.get("mipLodBias", 0.0)

    def _limited(self, lod: Numbers, reach: float) -> Numbers:
        """Levels of detail within the limits of the sampler, and of the shader, which may be off by `reach`."""
        least = self.inputs[:, 1, 3] + reach if self.case.operation.startswith("clamped_") else 0.0
        limited = np.maximum(lod, np.maximum(self.state.get("minLod", 0.0), least))
        return np.minimum(limited, self.state.get("maxLod", 15.0))

    def _levels_of_detail(self, lengths: Numbers | None, probes: Integers) -> list[Numbers]:
        """Levels of detail within reach: the ends, and the whole level between them if there is one."""
        exact = self._exact_level(lengths, probes)
        ends = [self._limited(exact + reach, reach) for reach in (-REACH, REACH)]
        found = [ends[0], np.clip(np.rint((ends[0] + ends[1]) / 2), *ends), ends[1]]
        if "anisotropy" in self.state:
            last = len(self.images) - 1
            kept = [np.clip(each, 0, last) for each in found]
            found += [np.floor(each) + np.clip(1.25 * (each - np.floor(each)) - 0.125, 0, 1) for each in kept]
        return found

    def _probed(
        self, lod: Numbers, places: list[tuple[int, ...]], lengths: Numbers | None, probes: Integers,
    ) -> Iterator[tuple[Numbers, NDArray[np.bool_]]]:  # fmt: skip
        """Means of samples along the longer derivative, evenly spaced (EXT_texture_filter_anisotropic)."""
        gradients, middle = self._gradients(), self.place
        assert gradients is not None and lengths is not None
        along = np.where((lengths[0] >= lengths[1])[:, None], *gradients) / self._size(0)
        ends = np.zeros((2, len(lod), 4))
        for number in range(int(probes.max())):
            self.place = middle + along * ((number + 0.5) / probes - 0.5)[:, None]
            found = np.stack([each for each, _ in self._sampled(lod, places)])
            ends += np.where((number < probes)[:, None], np.stack([found.min(0), found.max(0)]) / probes[:, None], 0)
        self.place = middle
        yield from ((each, np.ones(len(lod), bool)) for each in ends)

    def _sampled(self, lod: Numbers, places: list[tuple[int, ...]]) -> Iterator[tuple[Numbers, NDArray[np.bool_]]]:
        linear = np.where(lod <= 0, self.state["magFilter"], self.state["minFilter"]).astype(bool)
        mips = bool(self.state["mipmapMode"]) and not self.unnormalized
        if self.case.kind != "float":
            linear, mips = np.zeros_like(linear), False
        last = len(self.images) - 1
        level = np.clip(lod, 0, last)
        if not mips:
            nearest = np.floor(level + 0.5).astype(np.int64)
            yield from ((self._at(nearest, linear, codes), linear) for codes in places)
            return
        first = np.floor(level).astype(np.int64)
        weight = (level - first)[:, None]
        # places are rounded in each of two levels by themselves
        ends = [np.stack([self._at(each, linear, codes) for codes in places]) for each in (first, np.minimum(first + 1, last))]
        for low_or_high in (np.min, np.max):
            nearer, further = (low_or_high(each, axis=0) for each in ends)
            yield nearer * (1 - weight) + further * weight, np.ones_like(linear)

    # -------------------------------------------------------------------------------------------------------------- texels
    def _at(self, levels: Integers, linear: NDArray[np.bool_], codes: tuple[int, ...]) -> Numbers:
        found = np.zeros((len(levels), 4))
        for level, smooth in product(range(len(self.images)), (False, True)):
            rows = np.flatnonzero((levels == level) & (linear == smooth))
            if len(rows):
                found[rows] = self._filtered(level, rows, codes) if smooth else self._nearest(level, rows, codes)
        return found

    def _nearest(self, level: int, rows: Integers, codes: tuple[int, ...]) -> Numbers:
        size = 1 if self.unnormalized else self._size(level)
        index = np.floor(self.place[rows] * size + np.array(codes) * REACH).astype(np.int64)
        return self._texels(level, index + self.offset[: self.spatial], rows)

    def _filtered(self, level: int, rows: Integers, codes: tuple[int, ...]) -> Numbers:
        exact = self.place[rows] * (1 if self.unnormalized else self._size(level)) - 0.5
        # where the texels change within reach, that is an end of the interval too
        place = np.where(np.array(codes) == 0, np.clip(np.rint(exact), exact - REACH, exact + REACH), exact + np.array(codes) * REACH)
        first = np.floor(place).astype(np.int64)
        weight = place - first
        found = np.zeros((len(rows), 4))
        for corner in product((0, 1), repeat=self.spatial):
            each = np.where(np.array(corner), weight, 1 - weight).prod(1)
            found += each[:, None] * self._texels(level, first + np.array(corner) + self.offset[: self.spatial], rows)
        return found

    def _texels(self, level: int, index: Integers, rows: Integers) -> Numbers:
        """Texels of some invocations by number, wrapped, and compared where the case compares."""
        found = self._of_cube(level, index, rows) if self.cube else self._plain(level, index, rows)
        if not self.compares:
            return found
        reference = self.inputs[rows, 1, 2].astype(np.float32).astype(np.float64)
        if "UNORM" in self.case.format:
            reference = np.clip(reference, 0, 1)
        texel = found[:, 0].astype(np.float32).astype(np.float64)
        return np.tile(_COMPARE[self.state["compare"]](reference, texel).astype(np.float64)[:, None], (1, 4))

    def _plain(self, level: int, index: Integers, rows: Integers) -> Numbers:
        places, border = [], np.zeros(len(rows), bool)
        for axis, size in enumerate(self._size(level)):
            place, outside = wrapped(self.modes[axis], index[:, axis], int(size))
            places.append(place)
            border |= outside
        y = places[1] if self.spatial > 1 else np.zeros(len(rows), np.int64)
        z = places[2] if self.spatial > 2 else self.layer[rows]
        return np.where(border[:, None], self.border, self.images[level][z, y, places[0]])

    def _of_cube(self, level: int, index: Integers, rows: Integers) -> Numbers:
        """Beyond an edge the neighbouring face goes on; beyond a corner the mean of the three texels around it stands."""
        image, size = self.images[level], self.images[level].shape[1]
        layer, face = 6 * self.layer[rows], self.face[rows]
        outside = (index < 0) | (index >= size)
        inner = np.clip(index, 0, size - 1)
        found = image[layer + face, inner[:, 1], inner[:, 0]].copy()
        crossed = []
        for axis in (0, 1):
            beyond = inner.copy()
            beyond[:, axis] = index[:, axis]
            other, place = face_of(direction_of(face, (beyond + 0.5) / size))
            there = np.clip(np.floor(place * size).astype(np.int64), 0, size - 1)
            crossed.append(image[layer + other, there[:, 1], there[:, 0]])
        for axis in (0, 1):
            alone = outside[:, axis] & ~outside[:, 1 - axis]
            found[alone] = crossed[axis][alone]
        both = outside.all(1)
        found[both] = (found[both] + crossed[0][both] + crossed[1][both]) / 3
        return found


#: Operations that name texels by whole numbers.
WITHOUT_REACH = ("fetch", "fetch_sample", "load")
#: Operations whose results a `Reference` knows.
JUDGED = (*SAMPLES, "load")
