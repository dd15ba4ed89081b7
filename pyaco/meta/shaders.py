"""The shaders of meta operations, built as NIR, and what the compiler makes of them, kept by operation, target and key.

A copy moves elements as unsigned integers, whatever their format, so that no bit changes: elements come from and go to buffers through texel
buffers, images are seen as arrays of 2D images or as 3D images. A blit samples, or picks texels by exact integer arithmetic.

Push constants hold what differs between regions; a key holds what decides code. Mesa's RADV has the same set of shaders
(``src/amd/vulkan/meta``), from which the division into operations is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from pyaco.compiler import CompiledShader, compile
from pyaco.meta import metadata_shaders
from pyaco.meta.builder import GROUP, LINE, Key, MetaBuilder
from pyaco.targets import chip

__all__ = ["compiled"]

# ----------------------------------------------------------------------------------------------------------------- copies
def _buffer_to_image(b: MetaBuilder, key: Key) -> None:
    """Push constants: extent, first place in the image, elements of a row and of a slice, first element of the buffer."""
    extent, first, pitches = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    source, image = b.resource(0, "texture", "buf"), b.resource(1, "image", key.dim)
    with b.if_(b.inside(extent)):
        texel = b.fetch(source, "buf", b.index(*pitches))
        b.store_texel(image, key.dim, b.place(first), texel)


def _image_to_buffer(b: MetaBuilder, key: Key) -> None:
    """Push constants as of ``buffer_to_image``."""
    extent, first, pitches = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    source, buffer = b.resource(0, "texture", key.source_dim), b.resource(1, "image", "buf")
    with b.if_(b.inside(extent)):
        texel = b.fetch(source, key.source_dim, b.vec(*b.place(first)))
        b.store_texel(buffer, "buf", [b.index(*pitches)], texel)


def _image_to_image(b: MetaBuilder, key: Key) -> None:
    """Push constants: extent, first place in the source, in the destination."""
    extent, first, to = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    source, image = b.resource(0, "texture", key.source_dim), b.resource(1, "image", key.dim)
    with b.if_(b.inside(extent)):
        at, target = b.vec(*b.place(first)), b.place(to)
        for number in range(key.samples):
            sample = b.imm(number) if key.samples > 1 else None
            b.store_texel(image, key.dim, target, b.fetch(source, key.source_dim, at, sample=sample), sample=sample)


def _buffer_to_buffer(b: MetaBuilder, key: Key) -> None:
    """Push constants: elements, first element of the source, of the destination."""
    count, first, to = b.push(0, 3)
    source, buffer = b.resource(0, "texture", "buf"), b.resource(1, "image", "buf")
    with b.if_(b.inside([count])):
        b.store_texel(buffer, "buf", b.place([to]), b.fetch(source, "buf", b.place([first])[0]))


def _fill(b: MetaBuilder, key: Key) -> None:
    """Push constants: elements, first element, the dword."""
    count, first, word = b.push(0, 3)
    buffer = b.resource(1, "image", "buf")
    with b.if_(b.inside([count])):
        b.store_texel(buffer, "buf", b.place([first]), b.vec(word, word, word, word))


# ------------------------------------------------------------------------------------------------------ clears and blits
def _clear(b: MetaBuilder, key: Key) -> None:
    """Push constants: extent, first place, four components."""
    extent, first, color = b.push(0, 3), b.push(3, 3), b.push(6, 4)
    image = b.resource(1, "image", key.dim, key.kind)
    with b.if_(b.inside(extent)):
        place, value = b.place(first), b.vec(*color)
        for number in range(key.samples):
            b.store_texel(image, key.dim, place, value, key.kind, b.imm(number) if key.samples > 1 else None)


def _clear_dwords(b: MetaBuilder, key: Key) -> None:
    """As ``clear``, of elements of three dwords that the image shows one by one: their number in a row chooses the component."""
    extent, first, color = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    image = b.resource(1, "image", key.dim)
    with b.if_(b.inside(extent)):
        part = b.umod(b.id(0), b.imm(3))
        word = b.bcsel(b.ieq(part, b.imm(0)), color[0], b.bcsel(b.ieq(part, b.imm(1)), color[1], color[2]))
        b.store_texel(image, key.dim, b.place(first), b.vec(word, word, word, word))


def _write_color(b: MetaBuilder, key: Key, image: int, place: list[int], color: int) -> None:
    b.store_texel(image, key.dim, place, b.srgb(color) if key.srgb else color, key.kind)


def _blit_nearest(b: MetaBuilder, key: Key) -> None:
    """The texel that holds the centre of each destination texel, by integers.

    Vulkan (19.3, "Image Copies With Scaling") has u = u0 + (i + 1/2) * span / count; its floor is u0 + floor((2 i + 1) * span / (2 count)) where
    the span is positive, and u0 - ceil((2 i + 1) * -span / (2 count)) where it is not. Push constants: extent, first place, then for each axis
    u0, the span's absolute value, what is added to the dividend, and 1 or -1.
    """
    extent, first = b.push(0, 3), b.push(3, 3)
    source, image = b.resource(0, "texture", key.source_dim, key.kind), b.resource(1, "image", key.dim, key.kind)
    with b.if_(b.inside(extent)):
        found = []
        for axis in range(3):
            start, span, more, sign = b.push(6 + 4 * axis, 4)
            dividend = b.imul(b.iadd(b.ishl(b.id(axis), b.imm(1)), b.imm(1)), span)
            quotient = b.udiv(b.iadd(dividend, more), b.ishl(extent[axis], b.imm(1)))
            found.append(b.iadd(start, b.imul(quotient, sign)))
        _write_color(b, key, image, b.place(first), b.fetch(source, key.source_dim, b.vec(*found), key.kind))


def _blit_linear(b: MetaBuilder, key: Key) -> None:
    """What a sampler gives at the centre of each destination texel. Push constants: extent, first place, then for each axis a scale and an
    offset that make normalised coordinates, or a layer, of it."""
    extent, first = b.push(0, 3), b.push(3, 3)
    source, image = b.resource(0, "sampled_image", key.source_dim, "float"), b.resource(1, "image", key.dim, "float")
    with b.if_(b.inside(extent)):
        found = []
        for axis in range(3):
            scale, offset = b.push(6 + 2 * axis, 2)
            layer = axis == 2 and key.source_dim == "2d"
            middle = b.fadd(b.u2f32(b.id(axis)), b.fimm(0.0 if layer else 0.5))
            found.append(b.ffma(middle, scale, offset))
        color = b.tex("txl", key.source_dim, array=key.source_dim == "2d", texture_deref=source, sampler_deref=source, coord=b.vec(*found),
                      lod=b.fimm(0.0))
        _write_color(b, key, image, b.place(first), color)


def _resolve(b: MetaBuilder, key: Key) -> None:
    """The mean of the samples; of integers the first sample. Push constants: extent, first place in the source, in the destination."""
    extent, first, to = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    source, image = b.resource(0, "texture", "ms", key.kind), b.resource(1, "image", key.dim, key.kind)
    with b.if_(b.inside(extent)):
        at, count = b.vec(*b.place(first)), key.samples if key.kind == "float" else 1
        color = b.fetch(source, "ms", at, key.kind, b.imm(0))
        for number in range(1, count):
            color = b.fadd(color, b.fetch(source, "ms", at, key.kind, b.imm(number)))
        if count > 1:
            scale = b.fimm(1 / count)
            color = b.fmul(color, b.vec(scale, scale, scale, scale))
        _write_color(b, key, image, b.place(to), color)


class _Operation(NamedTuple):
    emit: Callable[[MetaBuilder, Key], None]
    dwords: int
    size: tuple[int, int, int] = GROUP


_OPERATIONS: Mapping[str, _Operation] = {
    "buffer_to_image": _Operation(_buffer_to_image, 9), "image_to_buffer": _Operation(_image_to_buffer, 9),
    "image_to_image": _Operation(_image_to_image, 9), "buffer_to_buffer": _Operation(_buffer_to_buffer, 3, LINE),
    "fill": _Operation(_fill, 3, LINE), "clear": _Operation(_clear, 10), "clear_dwords": _Operation(_clear_dwords, 9),
    "blit_nearest": _Operation(_blit_nearest, 18), "blit_linear": _Operation(_blit_linear, 12), "resolve": _Operation(_resolve, 9),
    "mask_range": _Operation(metadata_shaders.mask_range, 4, LINE), "mask_places": _Operation(metadata_shaders.mask_places, 2, LINE),
    "first_elements": _Operation(metadata_shaders.first_elements, 6, LINE),
    "blocks_of_codes": _Operation(metadata_shaders.blocks_of_codes, 2, LINE),
    "codes_of_blocks": _Operation(metadata_shaders.codes_of_blocks, 2, LINE),
    "cleared_tiles": _Operation(metadata_shaders.cleared_tiles, 14), "cleared_nibbles": _Operation(metadata_shaders.cleared_nibbles, 3, LINE),
    "expand_fmask": _Operation(metadata_shaders.expand_fmask, 6), "retile_dcc": _Operation(metadata_shaders.retile_dcc, 8),
}


@cache
def compiled(operation: str, target: str, key: Key) -> CompiledShader:
    """Return the machine code of an operation; it is compiled once.

    Parameters
    ----------
    operation : str
        Such as ``buffer_to_image``.
    target : str
        A gfx name.
    key : Key

    Raises
    ------
    UnsupportedError
        A target that nothing is compiled for.
    """
    found = _OPERATIONS[operation]
    builder = MetaBuilder(chip(target).level, found.size, found.dwords)
    found.emit(builder, key)
    return compile(builder.finish(), target)
