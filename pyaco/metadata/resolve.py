"""One sample of many: multisampled colour, depth and stencil resolved as Vulkan's resolve modes say.

Sources: the Vulkan specification, VkResolveModeFlagBits; Mesa's ``radv_meta_resolve_cs.c`` (integers take sample 0, sRGB is averaged as
linear light, other colours as the sum of the samples, in their order, divided by their number).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib import Surface
from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.metadata import fmask
from pyaco.metadata.colors import decode_texels, encode_texels, is_integer
from pyaco.metadata.depths import decode_depth, encode_depth
from pyaco.metadata.memory import raw_texels, write_raw_texels
from pyaco.targets.features import has_fmask

__all__ = ["resolve_color", "resolve_depth", "resolve_into", "resolve_stencil"]

_MODES = ("sample0", "average", "min", "max")


def _samples(surface: Surface, memory: NDArray[Any], words: NDArray[Any] | None) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return the texels of all samples, and which of them are known."""
    if surface.request.samples < 2:
        raise InputError("a surface of one sample has nothing to resolve")
    if words is not None or (surface.layout.fmask_size and has_fmask(surface.config.level)):
        return fmask.fetch_samples(surface, memory, words)
    texels = raw_texels(surface, memory)
    return texels, np.ones(texels.shape[:-1], np.bool_)


@checked
def resolve_color(surface: Surface, memory: NDArray[Any], *, mode: str = "", words: NDArray[Any] | None = None) -> NDArray[np.uint8]:
    """Return a multisampled colour surface with one sample.

    Its metadata must not say that tiles or blocks are cleared or compressed; FMASK is followed.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface.
    memory : numpy.ndarray
        Its memory, metadata included.
    mode : str
        ``average`` or ``sample0``; by default the average, of integers sample 0.
    words : numpy.ndarray, optional
        Words of FMASK to follow instead of its own (`pyaco.metadata.cmask.effective_words`).

    Returns
    -------
    numpy.ndarray
        uint8 of shape (layers, height, width, bytes of a texel). Averages are of single precision, rounded to the nearest number of
        the format; samples that have no fragment do not count.

    Raises
    ------
    InputError
        A surface of one sample, or a mode that its format does not have.
    """
    form = surface.format
    chosen = mode or ("sample0" if is_integer(form) else "average")
    if chosen not in ("average", "sample0") or (chosen == "average" and is_integer(form)):
        raise InputError(f"resolve mode {mode!r} of {form.name}: average, of integers sample0")
    texels, known = _samples(surface, memory, words)
    if chosen == "sample0":
        return np.ascontiguousarray(texels[:, :, :, 0])
    total = np.zeros((*texels.shape[:3], 4), np.float32)
    for sample in range(texels.shape[3]):
        total += np.where(known[..., sample, None], decode_texels(form.name, texels[:, :, :, sample]), np.float32(0))
    # The numbers of samples are powers of two: where all are known this is exact.
    return encode_texels(form.name, total / np.maximum(known.sum(-1), 1).astype(np.float32)[..., None])


@checked
def resolve_depth(surface: Surface, memory: NDArray[Any], mode: str = "sample0") -> NDArray[np.uint8]:
    """Return the depths of a multisampled surface with one sample; HTILE must not say that tiles are cleared or compressed.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled surface of depth.
    memory : numpy.ndarray
        Its memory, metadata included.
    mode : str
        ``sample0``, ``average``, ``min`` or ``max``.

    Returns
    -------
    numpy.ndarray
        uint8 of shape (layers, height, width, bytes of a texel).
    """
    depths = decode_depth(surface.format, _plain_samples(surface, memory, mode, _MODES, False))
    return encode_depth(surface.format, _reduce(depths, mode))


@checked
def resolve_stencil(surface: Surface, memory: NDArray[Any], mode: str = "sample0") -> NDArray[np.uint8]:
    """Return the stencil of a multisampled surface with one sample; HTILE must not say that tiles are cleared or compressed.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled surface with stencil.
    memory : numpy.ndarray
        Its memory, metadata included.
    mode : str
        ``sample0``, ``min`` or ``max``.

    Returns
    -------
    numpy.ndarray
        uint8 of shape (layers, height, width, 1).
    """
    if not surface.format.has_stencil:
        raise InputError(f"{surface.format.name} has no stencil")
    values = _plain_samples(surface, memory, mode, ("sample0", "min", "max"), surface.format.has_depth)[..., 0]
    return np.ascontiguousarray(_reduce(values, mode)[..., None])


def _plain_samples(surface: Surface, memory: NDArray[Any], mode: str, modes: tuple[str, ...], beside: bool) -> NDArray[np.uint8]:
    if mode not in modes:
        raise InputError(f"resolve mode {mode!r}; there are {', '.join(modes)}")
    if surface.request.samples < 2:
        raise InputError("a surface of one sample has nothing to resolve")
    return raw_texels(surface, memory, 0, beside)


def _reduce(values: NDArray[Any], mode: str) -> NDArray[Any]:
    """Reduce the last axis, the samples."""
    if mode == "sample0":
        return np.asarray(values[..., 0])
    if mode == "average":
        total = np.zeros(values.shape[:-1], np.float32)
        for sample in range(values.shape[-1]):
            total += values[..., sample]
        return total / np.float32(values.shape[-1])
    return np.asarray((np.minimum if mode == "min" else np.maximum).reduce(values, axis=-1))


@checked
def resolve_into(source: Surface, source_memory: NDArray[Any], target: Surface, target_memory: NDArray[Any], *, mode: str = "") -> None:
    """Resolve a multisampled surface into one of one sample: colour, or depth and stencil.

    Parameters
    ----------
    source : pyaco.addrlib.Surface
        A multisampled surface.
    source_memory : numpy.ndarray
        Its memory, metadata included.
    target : pyaco.addrlib.Surface
        A surface of the same format and extent, of one sample.
    target_memory : numpy.ndarray
        Its memory, metadata included; texels of level 0 are changed.
    mode : str
        See `resolve_color` and `resolve_depth`; stencil takes sample 0 where depth is averaged.

    Raises
    ------
    InputError
        Surfaces of other formats or extents.
    """
    if target.format != source.format or target.tiled.level_shape() != source.tiled.level_shape()[:3] or target.request.samples > 1:
        raise InputError(f"a resolve from {source!r} into {target!r}: format and extent must be the same")
    form = source.format
    if not (form.has_depth or form.has_stencil):
        write_raw_texels(target, target_memory, resolve_color(source, source_memory, mode=mode))
        return
    if form.has_depth:
        write_raw_texels(target, target_memory, resolve_depth(source, source_memory, mode or "sample0"))
    if form.has_stencil:
        found = resolve_stencil(source, source_memory, "sample0" if mode in ("", "average") else mode)
        write_raw_texels(target, target_memory, found, stencil=form.has_depth)
