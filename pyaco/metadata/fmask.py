"""FMASK: which fragment holds the colour of each sample of a pixel, a word for each pixel of a multisampled colour surface.

A word has 1, 2 or 4 bits for each sample, sample 0 in the lowest: the number of the fragment, or, where there are fewer fragments than
samples, the number of fragments, which says that none has the sample's colour. Samples of one colour may share a fragment.

Sources: PAL's ``gfx6MaskRam.cpp`` and ``gfx9MaskRam.cpp`` (words in which every sample has its own fragment), Mesa's
``radv_meta_fmask_expand.c`` and ``si_compute_blit.c``; the SPV_AMD_shader_fragment_mask extension.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib import Surface
from pyaco.addrlib.driver.metadata_addresses import fmask_surface
from pyaco.addrlib.metadata.records import fmask_bits
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata.memory import part_of, raw_texels, write_raw_texels

__all__ = [
    "UNKNOWN", "compress", "decode_words", "encode_words", "expand", "fetch_samples", "identity_word", "index_bits", "initialize", "read_words",
    "write_words",
]

UNKNOWN = -1
"""The fragment of a sample whose colour no fragment has."""


def _check(samples: int, fragments: int) -> None:
    if samples not in (2, 4, 8, 16) or fragments not in (1, 2, 4, 8) or fragments > samples:
        raise InputError(f"FMASK is of 2, 4, 8 or 16 samples, and of 1, 2, 4 or 8 fragments, not more; not of {samples} and {fragments}")


@checked
def index_bits(samples: int, fragments: int) -> int:
    """Return how many bits of a word belong to each sample: 1, 2 or 4.

    Parameters
    ----------
    samples, fragments : int
        Samples of a pixel; fragments that colour is stored for.

    Examples
    --------
    >>> index_bits(4, 4), index_bits(8, 4), index_bits(4, 1)
    (2, 4, 1)
    """
    _check(samples, fragments)
    bits = (fragments if fragments < samples else fragments - 1).bit_length()
    return 4 if bits == 3 else bits


@checked
def encode_words(fragments_of_samples: ArrayLike, fragments: int) -> NDArray[Any]:
    """Return FMASK's words: the inverse of `decode_words`.

    Parameters
    ----------
    fragments_of_samples : array_like of int
        The fragment of each sample on the last axis, or `UNKNOWN` where there are fewer fragments than samples.
    fragments : int
        Fragments of a pixel.

    Returns
    -------
    numpy.ndarray
        uint8, uint16, uint32 or uint64.

    Raises
    ------
    InputError
        A fragment that there is not.
    """
    given = np.asarray(fragments_of_samples)
    if given.dtype.kind not in "iu" or given.ndim < 1:
        raise InputError(f"fragments are integers, not {given.dtype}")
    samples = given.shape[-1]
    bits = index_bits(samples, fragments)
    least = UNKNOWN if fragments < samples else 0
    if given.size and (given.min() < least or given.max() >= fragments):
        raise InputError(f"fragments from {given.min()} to {given.max()} of {fragments} (samples: {samples})")
    numbers = np.where(given == UNKNOWN, fragments, given).astype(np.uint64)
    words = np.zeros(given.shape[:-1], np.uint64)
    for sample in range(samples):
        words |= numbers[..., sample] << np.uint64(sample * bits)
    return words.astype(f"u{fmask_bits(samples, fragments) // 8}")


@checked
def decode_words(words: ArrayLike, samples: int, fragments: int) -> NDArray[np.int8]:
    """Return which fragment holds the colour of each sample.

    Parameters
    ----------
    words : array_like of int
        FMASK's words.
    samples, fragments : int
        Samples and fragments of a pixel.

    Returns
    -------
    numpy.ndarray
        int8, samples on the last axis; `UNKNOWN` for a sample whose colour no fragment has.

    Raises
    ------
    InputError
        A word that names a fragment that there is not.

    Examples
    --------
    >>> decode_words(0xE4, 4, 4).tolist()
    [0, 1, 2, 3]
    >>> decode_words(0xA4, 4, 2).tolist()
    [0, 1, -1, -1]
    """
    bits = index_bits(samples, fragments)
    given = np.asarray(words)
    if given.dtype.kind not in "iu" or (given.size and given.dtype.kind == "i" and given.min() < 0):
        raise InputError(f"words of FMASK are unsigned integers, not {given.dtype}")
    shifts = np.arange(samples, dtype=np.uint64) * np.uint64(bits)
    found = (given.astype(np.uint64)[..., None] >> shifts & np.uint64((1 << bits) - 1)).astype(np.int8)
    last = fragments if fragments < samples else fragments - 1
    if found.size and found.max() > last:
        bad = np.argwhere(found > last)[0]
        raise InputError(f"FMASK{bad[:-1].tolist() or ''} names fragment {found[tuple(bad)]} of {fragments} for sample {bad[-1]}")
    found[found == fragments] = UNKNOWN
    return found


@checked
def identity_word(samples: int, fragments: int) -> int:
    """Return the word that says that sample i is in fragment i: what drivers fill FMASK with; the rest of the samples have no fragment.

    Parameters
    ----------
    samples, fragments : int
        Samples and fragments of a pixel.

    Examples
    --------
    >>> [hex(identity_word(samples, samples)) for samples in (2, 4, 8)]
    ['0x2', '0xe4', '0x76543210']
    """
    _check(samples, fragments)
    numbers = np.where(np.arange(samples) < fragments, np.arange(samples), UNKNOWN)
    return int(encode_words(numbers, fragments))


@checked
def read_words(surface: Surface, memory: NDArray[Any]) -> NDArray[Any]:
    """Return the words of a surface's FMASK.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface.
    memory : numpy.ndarray
        Its memory, metadata included.

    Returns
    -------
    numpy.ndarray
        Unsigned integers of shape (layers, height, width).

    Raises
    ------
    InputError
        A surface without FMASK.
    UnsupportedError
        A chip without FMASK: GFX11 and later.
    """
    part = part_of(surface, memory, "fmask")
    return fmask_surface(surface.config, surface.layout).detile(part)


@checked
def write_words(surface: Surface, memory: NDArray[Any], words: NDArray[Any]) -> None:
    """Put words, in the shape that `read_words` gives, into a surface's FMASK.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface.
    memory : numpy.ndarray
        Its memory, metadata included.
    words : numpy.ndarray
        Shape (layers, height, width).
    """
    part = part_of(surface, memory, "fmask")
    tiled = fmask_surface(surface.config, surface.layout)
    tiled.tile(np.ascontiguousarray(words, tiled.dtype), part)


@checked
def initialize(surface: Surface, memory: NDArray[Any]) -> None:
    """Fill FMASK with `identity_word`, padding included, as drivers do before they use a surface.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface.
    memory : numpy.ndarray
        Its memory, metadata included.
    """
    part = part_of(surface, memory, "fmask")
    request = surface.request
    size = fmask_bits(request.samples, request.storage_samples) // 8
    word = np.array([identity_word(request.samples, request.storage_samples)], f"<u{size}").view(np.uint8)
    part[: part.size // size * size].reshape(-1, size)[:] = word


@checked
def fetch_samples(surface: Surface, memory: NDArray[Any], words: NDArray[Any] | None = None) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return the texel of every sample: that of the fragment which FMASK names.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface.
    memory : numpy.ndarray
        Its memory, metadata included.
    words : numpy.ndarray, optional
        Other words than FMASK's own, such as `pyaco.metadata.cmask.effective_words`.

    Returns
    -------
    texels : numpy.ndarray
        uint8, shape (layers, height, width, samples, bytes of a texel); 0 for samples without a fragment.
    known : numpy.ndarray
        Which samples have a fragment: shape (layers, height, width, samples).
    """
    request = surface.request
    fragments = decode_words(read_words(surface, memory) if words is None else words, request.samples, request.storage_samples)
    texels = raw_texels(surface, memory)
    if request.storage_samples == 1:
        texels = texels[..., None, :]
    if fragments.shape[:3] != texels.shape[:3]:
        raise InputError(f"words of shape {fragments.shape[:-1]} for a surface of {texels.shape[:3]}")
    known = fragments != UNKNOWN
    found = np.take_along_axis(_units(texels), np.maximum(fragments, 0).astype(np.intp), axis=3)
    found[~known] = 0
    return found.view(np.uint8).reshape(*found.shape, texels.shape[-1]), known


def _units(texels: NDArray[np.uint8]) -> NDArray[Any]:
    """Return texels, whose bytes are on the last axis, as one number each, to be moved."""
    size = texels.shape[-1]
    return texels.view(f"u{size}" if size <= 8 else "c16")[..., 0]


def _whole(surface: Surface) -> None:
    request = surface.request
    if request.storage_samples != request.samples:
        raise UnsupportedError(f"expanding {request.samples} samples of a surface that stores {request.storage_samples}")


@checked
def expand(surface: Surface, memory: NDArray[Any]) -> None:
    """Store every sample in the fragment of its own number, and say so in FMASK: what a driver's FMASK expand shader does.

    CMASK must not say otherwise: call `pyaco.metadata.cmask.decompress_fmask` first.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface with a fragment for each sample.
    memory : numpy.ndarray
        Its memory, metadata included; it is changed.

    Raises
    ------
    UnsupportedError
        A surface with fewer fragments than samples.
    """
    _whole(surface)
    texels, _ = fetch_samples(surface, memory)
    write_raw_texels(surface, memory, texels)
    initialize(surface, memory)


@checked
def compress(surface: Surface, memory: NDArray[Any]) -> None:
    """Store texels that samples share once, in the lowest fragments, and say so in FMASK: the reverse of `expand`.

    Fragments that no sample needs any more keep what they held. This is what FMASK is for; in which order the hardware takes fragments
    is not public, and here it is that of the samples.

    Parameters
    ----------
    surface : pyaco.addrlib.Surface
        A multisampled colour surface with a fragment for each sample.
    memory : numpy.ndarray
        Its memory, metadata included; it is changed.

    Raises
    ------
    UnsupportedError
        A surface with fewer fragments than samples.
    """
    _whole(surface)
    samples, _ = fetch_samples(surface, memory)
    # Texels of 16 bytes are two numbers; of others, one.
    halves = np.ascontiguousarray(samples).view("u8" if samples.shape[-1] == 16 else f"u{samples.shape[-1]}")
    count = samples.shape[3]
    stored = raw_texels(surface, memory)
    fragments = np.zeros(samples.shape[:4], np.int8)
    used = np.zeros(samples.shape[:3], np.int8)
    for sample in range(count):
        place = used.copy()
        # The first sample with the same texel has the fragment already.
        for earlier in reversed(range(sample)):
            same = (halves[:, :, :, earlier] == halves[:, :, :, sample]).all(-1)
            place[same] = fragments[..., earlier][same]
        fragments[..., sample] = place
        used = np.maximum(used, place + 1).astype(np.int8)
    # A fragment's texel is that of any of its samples.
    np.put_along_axis(_units(stored), fragments.astype(np.intp), _units(samples), axis=3)
    write_raw_texels(surface, memory, stored)
    write_words(surface, memory, encode_words(fragments, surface.request.storage_samples))
