"""Images as arrays, and what sampling them gives: for the NIR interpreter.

Texels are numbers, of any format that holds them: nothing is rounded to a format's bits, and filtering is in double precision without
the hardware's 8 fraction bits. Sources: the Vulkan specification, sections 16.5 to 16.9; cube edges: between the faces' texels, the mean of
three at a corner. Functions take an axis of lanes last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.descriptors.sampler import Sampler
from pyaco.errors import InputError, UnsupportedError

__all__ = ["Image", "SampledImage"]

Array = NDArray[Any]

WRAP, MIRROR, CLAMP, MIRROR_ONCE, BORDER = 0, 1, 2, 3, 6     # SQ_TEX_CLAMP
BORDER_COLORS = {0: (0, 0, 0, 0), 1: (0, 0, 0, 1), 2: (1, 1, 1, 1)}
#: Reference and texel, by SQ_TEX_DEPTH_COMPARE.
COMPARISONS: tuple[Any, ...] = (
    lambda a, b: np.zeros(np.shape(a + b), bool), np.less, np.equal, np.less_equal, np.greater, np.not_equal, np.greater_equal,
    lambda a, b: np.ones(np.shape(a + b), bool),
)


@dataclass(frozen=True, eq=False)
class Image:
    """The levels of an image.

    Attributes
    ----------
    levels : sequence of ndarray
        Of each level the texels, of shape (layers, depth, height, width, samples, components); the faces of a cube are layers. Stores
        write into them.
    """

    levels: Sequence[Array]

    def __post_init__(self) -> None:
        if not self.levels or any(level.ndim != 6 or not level.size or level.shape[5] > 4 for level in self.levels):
            raise InputError("levels of images have the shape (layers, depth, height, width, samples, components), and none is empty")

    def size(self, level: Array) -> Array:
        """Width, height and depth of each lane's level, shape (3, lanes); zeros where there is none."""
        sizes: Array = np.array([(a.shape[3], a.shape[2], a.shape[1]) for a in self.levels] + [(0, 0, 0)])
        known = (level >= 0) & (level < len(self.levels))
        return np.asarray(sizes[np.where(known, level, len(self.levels))].T)

    def read(self, level: Array, layer: Array, at: Array, sample: Array | int = 0) -> Array:
        """Texels, shape (4, lanes), of whole coordinates `at` (x, y, z); outside of the image zeros. An absent alpha is one."""
        texels = self.levels[0]
        out = np.zeros((4, level.shape[0]), texels.dtype)
        sample = np.broadcast_to(sample, level.shape)
        for number, array in enumerate(self.levels):
            inside = (level == number) & (layer >= 0) & (layer < array.shape[0]) & (sample >= 0) & (sample < array.shape[4])
            for axis in range(3):
                inside &= (at[axis] >= 0) & (at[axis] < array.shape[3 - axis])
            lanes = np.flatnonzero(inside)
            found = array[layer[lanes], at[2, lanes], at[1, lanes], at[0, lanes], sample[lanes]]
            out[: array.shape[5], lanes] = found.T
        if texels.shape[5] < 4:
            out[3] = 1
        return out


@dataclass(frozen=True, eq=False)
class SampledImage:
    """What a combined image sampler has: an image, which may be absent, or the planes of one, and how it is sampled."""

    image: Image | tuple[Image, ...] | None
    sampler: Sampler


@dataclass
class Place:
    """Where lanes sample.

    Attributes
    ----------
    at : ndarray
        Coordinates, shape (axes, lanes); of a cube's face from 0 to 1.
    layer : ndarray
    cube : bool
    offset : ndarray
        Whole texels, shape (axes, lanes).
    reference : ndarray or None
        What texels are compared with.
    """

    at: Array
    layer: Array
    cube: bool
    offset: Array
    reference: Array | None = None


# ----------------------------------------------------------------------------------------------------------------- cubes
def cube_face(direction: Array) -> tuple[Array, Array, Array]:
    """Face, and s and t from 0 to 1, of directions of shape (3, lanes): the table "Cube map face and coordinate selection"."""
    x, y, z = direction
    is_z = (abs(z) >= abs(x)) & (abs(z) >= abs(y))
    is_y = ~is_z & (abs(y) >= abs(x))
    major = np.where(is_z, z, np.where(is_y, y, x))
    negative = major < 0
    sc = np.where(is_z, np.where(negative, -x, x), np.where(is_y, x, np.where(negative, z, -z)))
    tc = np.where(is_y, np.where(negative, -z, z), -y)
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = sc / abs(major) / 2 + 0.5, tc / abs(major) / 2 + 0.5
    return np.where(is_z, 4, np.where(is_y, 2, 0)) + negative, np.nan_to_num(s), np.nan_to_num(t)


def direction_of(face: Array, s: Array, t: Array) -> Array:
    """The inverse of `cube_face`, of s and t that may lie beyond the face."""
    a, b, one = 2 * s - 1, 2 * t - 1, np.ones_like(s)
    choices = ((one, -b, -a), (-one, -b, a), (a, one, b), (a, -one, -b), (a, -b, one), (-a, -b, -one))
    return np.array([np.choose(face, [choice[axis] for choice in choices]) for axis in range(3)])


def _beyond_edges(size: Array, face: Array, i: Array, j: Array) -> tuple[Array, Array, Array]:
    """Face and texel of a texel next to an edge of a face, where one coordinate may be outside: the projection of its middle."""
    found, s, t = cube_face(direction_of(face, (i + 0.5) / size, (j + 0.5) / size))
    inside = (i >= 0) & (i < size) & (j >= 0) & (j < size)
    return (np.where(inside, face, found), np.where(inside, i, np.clip(np.floor(s * size), 0, size - 1)).astype(np.int64),
            np.where(inside, j, np.clip(np.floor(t * size), 0, size - 1)).astype(np.int64))


def _cube_texel(image: Image, level: Array, layer: Array, at: Array) -> Array:
    size = image.size(level)[0]
    first, face = layer // 6 * 6, layer % 6
    (i, j), zero = at[:2], np.zeros_like(at[0])

    def texel(x: Array, y: Array) -> Array:
        found, u, v = _beyond_edges(size, face, x, y)
        return image.read(level, first + found, np.stack([u, v, zero]))

    inner_i, inner_j = np.clip(i, 0, size - 1), np.clip(j, 0, size - 1)
    corner = (inner_i != i) & (inner_j != j)
    mean = (texel(inner_i, inner_j).astype(np.float64) + texel(i, inner_j) + texel(inner_i, j)) / 3
    return np.where(corner, mean, texel(np.where(corner, inner_i, i), j))


# -------------------------------------------------------------------------------------------------------------- sampling
def wrapped(i: Array, size: Array, mode: int) -> Array:
    """The texel that an addressing mode names; -1 the border."""
    if mode == WRAP:
        return np.asarray(i % size)
    if mode == MIRROR:
        folded = i % (2 * size)
        return np.where(folded < size, folded, 2 * size - 1 - folded)
    if mode == MIRROR_ONCE:
        return np.clip(np.where(i < 0, -1 - i, i), 0, size - 1)
    if mode == CLAMP:
        return np.clip(i, 0, size - 1)
    if mode == BORDER:
        return np.where((i < 0) | (i >= size), -1, i)
    raise UnsupportedError(f"the NIR interpreter has no addressing mode {mode}")


def _texel(image: Image, sampler: Sampler, level: Array, place: Place, whole: Array) -> Array:
    """Texels by whole coordinates of shape (axes, lanes), after addressing and comparison."""
    at = np.zeros((3, len(level)), np.int64)
    size = image.size(level)
    outside = np.zeros(len(level), bool)
    if place.cube:
        at[:2] = whole
        found = _cube_texel(image, level, place.layer, at)
    else:
        for axis in range(len(whole)):
            at[axis] = wrapped(whole[axis], size[axis], sampler.clamp[axis])
            outside |= at[axis] < 0
        found = image.read(level, place.layer, at)
    if outside.any():
        if sampler.border_color_type not in BORDER_COLORS:
            raise UnsupportedError("the NIR interpreter has no border colours in tables")
        found = np.where(outside, np.array(BORDER_COLORS[sampler.border_color_type], found.dtype)[:, None], found)
    if place.reference is not None:
        return np.asarray(COMPARISONS[sampler.compare](place.reference, found).astype(np.float64))
    return found


def _scaled(image: Image, sampler: Sampler, level: Array, place: Place) -> Array:
    """Coordinates in texels."""
    if sampler.unnormalized:
        return np.asarray(place.at + place.offset)
    return np.asarray(place.at * image.size(level)[: len(place.at)] + place.offset)


def sample_level(image: Image, sampler: Sampler, level: Array, place: Place, linear: Array) -> Array:
    """What one level gives, filtered for the lanes of `linear`."""
    at = np.nan_to_num(_scaled(image, sampler, level, place))
    nearest = _texel(image, sampler, level, place, np.floor(at).astype(np.int64))
    if not linear.any():
        return nearest
    first = np.floor(at - 0.5)
    fraction = at - 0.5 - first
    total = np.zeros((4, len(level)))
    for corner in range(1 << len(at)):
        step = np.array([corner >> axis & 1 for axis in range(len(at))])[:, None]
        weight = np.where(step, fraction, 1 - fraction).prod(0)
        total += weight * _texel(image, sampler, level, place, (first + step).astype(np.int64))
    return np.where(linear, total, nearest)


def gather(image: Image, sampler: Sampler, level: Array, place: Place, component: int) -> Array:
    """One component of the four texels that a linear filter reads, from the lower left on against the clock: i0 j1, i1 j1, i1 j0, i0 j0."""
    first = np.floor(np.nan_to_num(_scaled(image, sampler, level, place)) - 0.5).astype(np.int64)
    steps = np.array([(0, 1), (1, 1), (1, 0), (0, 0)])
    return np.stack([_texel(image, sampler, level, place, first + step[:, None])[component] for step in steps])


def clamped_lod(sampler: Sampler, lod: Array, bias: Array | float, least: Array | float) -> tuple[Array, Array]:
    """The level of detail before and after it is clamped."""
    biased = lod + sampler.lod_bias + bias
    return biased, np.minimum(np.maximum(biased, np.maximum(sampler.min_lod, least)), sampler.max_lod)


def nearest_level(image: Image, sampler: Sampler, lod: Array) -> Array:
    """The level that is nearest to a level of detail; 0 where the sampler looks at no other."""
    if sampler.mip_filter == 0:
        return np.zeros(len(lod), np.int64)
    return np.asarray(np.ceil(np.clip(lod, 0, len(image.levels) - 1) - 0.5).astype(np.int64))


def sample(image: Image, sampler: Sampler, lod: Array, place: Place) -> Array:
    """Texels by clamped level of detail, shape (4, lanes)."""
    if sampler.filter_mode or sampler.max_anisotropy:
        raise UnsupportedError("the NIR interpreter has neither anisotropy nor filters that give the least or greatest texel")
    last = len(image.levels) - 1
    linear = np.where(lod > 0, sampler.min_filter, sampler.mag_filter) & 1 != 0
    if sampler.mip_filter != 2:
        return sample_level(image, sampler, nearest_level(image, sampler, lod), place, linear)
    lod = np.clip(lod, 0, last)
    low = np.floor(lod).astype(np.int64)
    part = lod - low
    near = sample_level(image, sampler, low, place, linear)
    far = sample_level(image, sampler, np.minimum(low + 1, last), place, linear)
    return np.asarray(near * (1 - part) + far * part)


def lod_of(image: Image, ddx: Array, ddy: Array) -> Array:
    """The level of detail of derivatives, shape (axes, lanes), of coordinates from 0 to 1: the longer one in texels."""
    size = image.size(np.zeros(ddx.shape[1], np.int64))[: len(ddx)]
    length = np.maximum(((ddx * size) ** 2).sum(0), ((ddy * size) ** 2).sum(0))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(length) / 2)
