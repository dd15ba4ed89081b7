"""What builds the NIR of meta shaders: their resources, images and buffers of elements in set 0, and dwords of push constants."""

from __future__ import annotations

from typing import NamedTuple

from pyaco._core.nir import build
from pyaco.nir.builder import Builder

__all__ = ["GROUP", "LINE", "Key", "LayoutKey", "MetaBuilder"]

GROUP = (8, 8, 1)
"""Invocations of a workgroup that works on a rectangle of an image."""
LINE = (256, 1, 1)
"""Invocations of a workgroup that works on a buffer."""
_SRGB_LINEAR_END = 0.0031308


class LayoutKey(NamedTuple):
    """What decides the code of an address in metadata (`pyaco.addrlib.metadata.equation.MetadataLayout`).

    Attributes
    ----------
    masks : tuple of tuple of int
        For each bit of the address in nibbles: bits of x, y, slice, sample and number of the meta block whose parity it is.
    block_bit : int
        Bits of that number from this one on continue the address.
    block_log2 : tuple of int
        Width, height and depth of a meta block.
    """

    masks: tuple[tuple[int, ...], ...]
    block_bit: int
    block_log2: tuple[int, int, int]


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
    equations : tuple of LayoutKey
        Where metadata lies, of operations that compute it.
    """

    source_dim: str = "2d"
    dim: str = "2d"
    kind: str = "uint"
    srgb: bool = False
    samples: int = 1
    equations: tuple[LayoutKey, ...] = ()


class MetaBuilder(Builder):
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
