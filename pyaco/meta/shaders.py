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

from pyaco._core.nir import build
from pyaco.compiler import CompiledShader, compile
from pyaco.nir.builder import Builder
from pyaco.targets import chip

__all__ = ["GROUP", "LINE", "Key", "compiled"]

GROUP = (8, 8, 1)
"""Invocations of a workgroup that works on a rectangle of an image."""
LINE = (256, 1, 1)
"""Invocations of a workgroup that works on a buffer."""
_SRGB_LINEAR_END = 0.0031308


class Key(NamedTuple):
    """What decides the code of an operation.

    Attributes
    ----------
    source_dim, dim : str
        ``2d`` (an array of 2D images), ``3d`` or ``ms`` (several samples); of the source and of the destination.
    kind : str
        What components are to the shader: ``float``, ``int`` or ``uint``.
    srgb : bool
        Whether what is written is encoded for sRGB.
    samples : int
        Of images with several.
    """

    source_dim: str = "2d"
    dim: str = "2d"
    kind: str = "uint"
    srgb: bool = False
    samples: int = 1


_PLAIN = Key()


class _MetaBuilder(Builder):
    """A builder with the resources of meta shaders: images and buffers of elements in set 0, and dwords of push constants."""

    def __init__(self, level: int, size: tuple[int, int, int], dwords: int) -> None:
        super().__init__(level, 64, size)
        self.dwords = dwords
        block = self.struct(*((self.scalar(), 4 * number) for number in range(dwords)))
        self.block_of_constants = self.deref_var(self.variable("push_const", block))
        self.invocation = self.intrinsic("load_global_invocation_id", components=3)

    def push(self, index: int, count: int = 1) -> list[int]:
        """Return dwords of the push constants."""
        return [self.load(self.deref_struct(self.block_of_constants, index + number)) for number in range(count)]

    def id(self, axis: int) -> int:
        """Return a component of the invocation's place."""
        return self.component(self.invocation, axis)

    def resource(self, binding: int, base: str, dim: str, kind: str = "uint") -> int:
        """Return the deref of a texture or image; buffers of elements have the dimension ``buf``."""
        type_ = self.type(base, element=self.scalar(kind), image_dim=build.IMAGE_DIMS[dim][0], image_flags=int(dim in ("2d", "ms")))
        return self.deref_var(self.variable("image" if base == "image" else "uniform", type_, binding=binding))

    def fetch(self, texture: int, dim: str, coordinate: int, kind: str = "uint", sample: int | None = None) -> int:
        """Read a texel by its place: of a buffer, or of a view of one level."""
        array = dim in ("2d", "ms")
        if dim == "buf":
            return self.tex("txf", dim, kind, texture_deref=texture, coord=coordinate)
        if sample is not None:
            return self.tex("txf_ms", dim, kind, array=array, texture_deref=texture, coord=coordinate, ms_index=sample)
        return self.tex("txf", dim, kind, array=array, texture_deref=texture, coord=coordinate, lod=self.imm(0))

    def store_texel(self, image: int, dim: str, place: list[int], value: int, kind: str = "uint", sample: int | None = None) -> None:
        """Write a texel of an image or a buffer of elements."""
        four = self.vec(*place, *[self.imm(0)] * (4 - len(place)))
        row = build.IMAGE_DIMS[dim][0]
        self.intrinsic("image_deref_store", image, four, self.imm(0) if sample is None else sample, value, self.imm(0), image_dim=row,
                       image_array=int(dim in ("2d", "ms")), src_type={"float": 3, "int": 1, "uint": 2}[kind] << 8 | 32)

    def inside(self, extents: list[int]) -> int:
        """Tell whether the invocation lies within extents."""
        found = self.ult(self.id(0), extents[0])
        for axis, extent in enumerate(extents[1:], 1):
            found = self.iand(found, self.ult(self.id(axis), extent))
        return found

    def place(self, first: list[int]) -> list[int]:
        """Return the invocation's place, moved."""
        return [self.iadd(self.id(axis), offset) for axis, offset in enumerate(first)]

    def index(self, pitch: int, slice_pitch: int, first: int) -> int:
        """Return the place of the invocation's element in a buffer."""
        row = self.iadd(self.imul(self.id(1), pitch), self.id(0))
        return self.iadd(self.iadd(row, self.imul(self.id(2), slice_pitch)), first)

    def srgb(self, color: int) -> int:
        """Encode red, green and blue of a linear colour for sRGB."""
        parts = []
        for number in range(3):
            value = self.fmin(self.fmax(self.component(color, number), self.fimm(0.0)), self.fimm(1.0))
            power = self.fexp2(self.fmul(self.flog2(value), self.fimm(1 / 2.4)))
            curve = self.fadd(self.fmul(power, self.fimm(1.055)), self.fimm(-0.055))
            parts.append(self.bcsel(self.flt(value, self.fimm(_SRGB_LINEAR_END)), self.fmul(value, self.fimm(12.92)), curve))
        return self.vec(*parts, self.component(color, 3))


# ----------------------------------------------------------------------------------------------------------------- copies
def _buffer_to_image(b: _MetaBuilder, key: Key) -> None:
    """Push constants: extent, first place in the image, elements of a row and of a slice, first element of the buffer."""
    extent, first, pitches = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    source, image = b.resource(0, "texture", "buf"), b.resource(1, "image", key.dim)
    with b.if_(b.inside(extent)):
        texel = b.fetch(source, "buf", b.index(*pitches))
        b.store_texel(image, key.dim, b.place(first), texel)


def _image_to_buffer(b: _MetaBuilder, key: Key) -> None:
    """Push constants as of ``buffer_to_image``."""
    extent, first, pitches = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    source, buffer = b.resource(0, "texture", key.source_dim), b.resource(1, "image", "buf")
    with b.if_(b.inside(extent)):
        texel = b.fetch(source, key.source_dim, b.vec(*b.place(first)))
        b.store_texel(buffer, "buf", [b.index(*pitches)], texel)


def _image_to_image(b: _MetaBuilder, key: Key) -> None:
    """Push constants: extent, first place in the source, in the destination."""
    extent, first, to = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    source, image = b.resource(0, "texture", key.source_dim), b.resource(1, "image", key.dim)
    with b.if_(b.inside(extent)):
        at, target = b.vec(*b.place(first)), b.place(to)
        for number in range(key.samples):
            sample = b.imm(number) if key.samples > 1 else None
            b.store_texel(image, key.dim, target, b.fetch(source, key.source_dim, at, sample=sample), sample=sample)


def _buffer_to_buffer(b: _MetaBuilder, key: Key) -> None:
    """Push constants: elements, first element of the source, of the destination."""
    count, first, to = b.push(0, 3)
    source, buffer = b.resource(0, "texture", "buf"), b.resource(1, "image", "buf")
    with b.if_(b.inside([count])):
        b.store_texel(buffer, "buf", b.place([to]), b.fetch(source, "buf", b.place([first])[0]))


def _fill(b: _MetaBuilder, key: Key) -> None:
    """Push constants: elements, first element, the dword."""
    count, first, word = b.push(0, 3)
    buffer = b.resource(1, "image", "buf")
    with b.if_(b.inside([count])):
        b.store_texel(buffer, "buf", b.place([first]), b.vec(word, word, word, word))


# ------------------------------------------------------------------------------------------------------ clears and blits
def _clear(b: _MetaBuilder, key: Key) -> None:
    """Push constants: extent, first place, four components."""
    extent, first, color = b.push(0, 3), b.push(3, 3), b.push(6, 4)
    image = b.resource(1, "image", key.dim, key.kind)
    with b.if_(b.inside(extent)):
        place, value = b.place(first), b.vec(*color)
        for number in range(key.samples):
            b.store_texel(image, key.dim, place, value, key.kind, b.imm(number) if key.samples > 1 else None)


def _clear_dwords(b: _MetaBuilder, key: Key) -> None:
    """As ``clear``, of elements of three dwords that the image shows one by one: their number in a row chooses the component."""
    extent, first, color = b.push(0, 3), b.push(3, 3), b.push(6, 3)
    image = b.resource(1, "image", key.dim)
    with b.if_(b.inside(extent)):
        part = b.umod(b.id(0), b.imm(3))
        word = b.bcsel(b.ieq(part, b.imm(0)), color[0], b.bcsel(b.ieq(part, b.imm(1)), color[1], color[2]))
        b.store_texel(image, key.dim, b.place(first), b.vec(word, word, word, word))


def _write_color(b: _MetaBuilder, key: Key, image: int, place: list[int], color: int) -> None:
    b.store_texel(image, key.dim, place, b.srgb(color) if key.srgb else color, key.kind)


def _blit_nearest(b: _MetaBuilder, key: Key) -> None:
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


def _blit_linear(b: _MetaBuilder, key: Key) -> None:
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


def _resolve(b: _MetaBuilder, key: Key) -> None:
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
    emit: Callable[[_MetaBuilder, Key], None]
    dwords: int
    size: tuple[int, int, int] = GROUP


_OPERATIONS: Mapping[str, _Operation] = {
    "buffer_to_image": _Operation(_buffer_to_image, 9), "image_to_buffer": _Operation(_image_to_buffer, 9),
    "image_to_image": _Operation(_image_to_image, 9), "buffer_to_buffer": _Operation(_buffer_to_buffer, 3, LINE),
    "fill": _Operation(_fill, 3, LINE), "clear": _Operation(_clear, 10), "clear_dwords": _Operation(_clear_dwords, 9),
    "blit_nearest": _Operation(_blit_nearest, 18), "blit_linear": _Operation(_blit_linear, 12), "resolve": _Operation(_resolve, 9),
}


@cache
def compiled(operation: str, target: str, key: Key = _PLAIN) -> CompiledShader:
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
    builder = _MetaBuilder(chip(target).level, found.size, found.dwords)
    found.emit(builder, key)
    return compile(builder.finish(), target)
