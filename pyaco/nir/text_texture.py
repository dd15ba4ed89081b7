"""Texture instructions and types of images in NIR text, in both directions.

Types have GLSL's names (``utexture2DArray``, ``sampler``, ``image3D``), as Mesa prints them. Instructions are Mesa's, too:

    (float32)tex %1 (texture_deref), %2 (sampler_deref), %5 (coord), 2d array (dim)

What Mesa leaves to the type of the deref is added at the end: dimensions, ``array``, ``shadow``, and ``scalar`` where a comparison gives one
component.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from pyaco._core.ir.vocabulary import BaseType, ImageDim, ImageFlag, ImageFormat, TextureFlag
from pyaco._core.nir import build
from pyaco.errors import InputError, UnsupportedError

__all__ = ["IMAGE_INDICES", "Texture", "image_type", "image_types", "parse_texture", "texture_text"]

#: Prefixes of a type's name by what sampling gives: base type and bits.
SAMPLED: dict[tuple[int, int], str] = {
    (BaseType.VOID, 0): "v", (BaseType.FLOAT, 32): "", (BaseType.INT, 32): "i", (BaseType.UINT, 32): "u", (BaseType.INT, 64): "i64",
    (BaseType.UINT, 64): "u64", (BaseType.FLOAT, 16): "f16", (BaseType.INT, 16): "i16", (BaseType.UINT, 16): "u16",
}  # fmt: skip
KINDS: dict[int, str] = {BaseType.TEXTURE: "texture", BaseType.SAMPLED_IMAGE: "sampler", BaseType.IMAGE: "image"}
BASES: dict[int, str] = {BaseType.INT: "int", BaseType.UINT: "uint", BaseType.FLOAT: "float", BaseType.BOOL: "bool"}
TEX_NAMES = {number: name for name, number in build.TEX.items()}
TEX_SOURCES = {number: name for name, number in build.TEX_SOURCES.items()}
#: Words that stand alone after the sources.
WORDS = {flag.text: int(flag) for flag in TextureFlag.members() if flag != TextureFlag.SHADOW_SCALAR}
_ALONE = (TextureFlag.NON_UNIFORM, TextureFlag.SAMPLER_NON_UNIFORM, TextureFlag.IS_SPARSE, TextureFlag.CUBE_FACE)
_TYPES = {int(base) << 8 | bits: f"{name}{bits}" for base, name in BASES.items() for bits in (8, 16, 32, 64)}
#: What text writes for indices of image intrinsics, by name and number.
IMAGE_INDICES: dict[str, dict[int, str]] = {
    "image_dim": ImageDim.names(),
    "image_array": {0: "false", 1: "true"}, "format": ImageFormat.names(), "dest_type": _TYPES, "src_type": _TYPES,
}  # fmt: skip
_NUMBERS = {"gather_component": "component", "texture": "texture_index", "sampler": "sampler_index"}


def image_type(base: int, sampled: tuple[int, int], dim: int, flags: int) -> str:
    """Name of a texture, a sampled image or an image; `sampled` is the base type and the bits of what sampling gives."""
    name = build.IMAGE_DIMS[ImageDim.names()[dim]][3]
    # GLSL calls input attachments subpassInput, without the word for images.
    kind = "" if base == BaseType.IMAGE and name.startswith("Subpass") else KINDS[base]
    name = kind + name if kind else name[0].lower() + name[1:]
    return SAMPLED[sampled] + name + ("Array" if flags & ImageFlag.ARRAY else "") + ("Shadow" if flags & ImageFlag.SHADOW else "")


@cache
def image_types() -> dict[str, tuple[int, tuple[int, int], int, int]]:
    """Every such type by its name: the arguments of :func:`image_type`."""
    every = ((int(base), sampled, int(dim), flags) for base in KINDS for sampled in SAMPLED for dim in ImageDim.members() for flags in range(4))
    return {image_type(*facts): facts for facts in every}


@dataclass
class Texture:
    """What a texture instruction has beyond the columns that all instructions have."""

    opcode: str
    base: int
    bits: int
    dim: int = 0
    image_flags: int = 0
    flags: int = 0
    component: int = 0
    texture_index: int = 0
    sampler_index: int = 0
    offsets: list[tuple[int, int]] = field(default_factory=list)
    #: Kind and text of each source.
    sources: list[tuple[int, str]] = field(default_factory=list)


def unpacked_offsets(packed: int) -> list[tuple[int, int]]:
    """The four offsets of a gather, from the column; none of them when all are zero."""
    values = [(packed >> 8 * position & 255 ^ 128) - 128 for position in range(8)]
    return list(zip(values[::2], values[1::2], strict=True)) if packed else []


def texture_text(texture: Texture) -> str:
    """Text of a texture instruction after its result."""
    names = [TEX_SOURCES[kind] for kind, _ in texture.sources]
    parts = [f"{text} ({name})" for name, (_, text) in zip(names, texture.sources, strict=True)]
    if texture.flags & TextureFlag.IMPLICIT_LOD:
        parts.append(TextureFlag.IMPLICIT_LOD.text)
    if texture.opcode == "tg4":
        parts.append(f"{texture.component} (gather_component)")
    if texture.offsets:
        parts.append("{ " + ", ".join(f"({x}, {y})" for x, y in texture.offsets) + " } (offsets)")
    if "texture_deref" not in names:
        parts.append(f"{texture.texture_index} (texture)")
    if build.TEX_SHAPES[texture.opcode][3] & 1 and "sampler_deref" not in names:
        parts.append(f"{texture.sampler_index} (sampler)")
    parts += [flag.text for flag in _ALONE if texture.flags & flag]
    shape = [ImageDim.names()[texture.dim]] + [flag.text for flag in ImageFlag.members() if texture.image_flags & flag]
    shape += [TextureFlag.SHADOW_SCALAR.text] if texture.flags & TextureFlag.SHADOW_SCALAR else []
    return f"({BASES[texture.base]}{texture.bits}){texture.opcode} " + ", ".join([*parts, f"{' '.join(shape)} (dim)"])


def parse_texture(body: str) -> Texture:
    """Read what :func:`texture_text` writes; InputError says which part is wrong."""
    match = re.fullmatch(r"\((int|uint|float|bool)(\d+)\)(\w+) (.*)", body)
    if match is None:
        raise InputError(f"cannot read the texture instruction {body!r}")
    if match[3] not in build.TEX:
        raise UnsupportedError(f"the NIR texture instruction {match[3]}")
    base = next(number for number, name in BASES.items() if name == match[1])
    texture = Texture(match[3], int(base), int(match[2]), dim=-1)
    for part in re.findall(r"(\{[^}]*\} \(offsets\)|[^,{]+)(?:, |$)", match[4]):
        _read_part(texture, part)
    if texture.dim < 0:
        raise InputError(f"{texture.opcode} says nothing of its dimensions")
    return texture


def _read_part(texture: Texture, part: str) -> None:
    if part in WORDS:
        texture.flags |= WORDS[part]
        return
    match = re.fullmatch(r"(.*) \((\w+)\)", part)
    if match is None:
        raise InputError(f"cannot read {part!r} of {texture.opcode}")
    text, name = match[1], match[2]
    reader: Callable[[Texture, str], None] | None = {"dim": _read_shape, "offsets": _read_offsets}.get(name)
    if reader is not None:
        reader(texture, text)
    elif text.startswith("%"):
        if name not in build.TEX_SOURCES:
            raise UnsupportedError(f"the source {name} of the NIR texture instruction {texture.opcode}")
        texture.sources.append((build.TEX_SOURCES[name], text))
    elif name in _NUMBERS and text.isdigit() and int(text) < 1 << 32:
        if name == "gather_component" and int(text) > 3:
            raise InputError(f"texels have no component {text}")
        setattr(texture, _NUMBERS[name], int(text))
    else:
        raise InputError(f"cannot read {part!r} of {texture.opcode}")


def _read_shape(texture: Texture, text: str) -> None:
    dim, *words = text.split()
    flags = {flag.text: int(flag) for flag in ImageFlag.members()}
    for word in words:
        if word == TextureFlag.SHADOW_SCALAR.text:
            texture.flags |= TextureFlag.SHADOW_SCALAR
        elif word in flags:
            texture.image_flags |= flags[word]
        else:
            raise InputError(f"no property of dimensions: {word!r}")
    if dim not in build.IMAGE_DIMS:
        raise InputError(f"no dimensions: {dim!r}")
    texture.dim = build.IMAGE_DIMS[dim][0]


def _read_offsets(texture: Texture, text: str) -> None:
    pairs = re.findall(r"\((-?\d+), (-?\d+)\)", text)
    texture.offsets = [(int(x), int(y)) for x, y in pairs]
    if len(pairs) != 4 or not all(-128 <= value < 128 for pair in texture.offsets for value in pair):
        raise InputError(f"a gather has four offsets from -128 to 127, not {text}")
