"""DDS files: read with the older header or that of Direct3D 10, written with the latter.

Source: Microsoft's documentation of the format (``DDS_HEADER``, ``DDS_PIXELFORMAT``, ``DDS_HEADER_DXT10``). Data are layer by layer, each
with all of its levels.
"""

from __future__ import annotations

import struct

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.texture_files.numbers import dxgi_numbers
from pyaco.texture_files.texture import Texture, TextureShape, unpacked

__all__ = ["read_dds", "write_dds"]

_MAGIC = b"DDS "
_HEADER, _PIXELS = 124, 32
_BEHIND_HEADER = len(_MAGIC) + _HEADER
_CAPS, _HEIGHT, _WIDTH, _PIXEL_FORMAT, _MIPS, _LINEAR_SIZE, _DEPTH = 1, 2, 4, 0x1000, 0x20000, 0x80000, 0x800000
_FOURCC, _RGB, _LUMINANCE, _ALPHA = 4, 0x40, 0x20000, 1
_CUBE, _ALL_FACES, _VOLUME = 0x200, 0xFC00, 0x200000
_COMPLEX, _TEXTURE, _MIPMAP = 8, 0x1000, 0x400000
_2D, _3D = 3, 4
_CUBE_MISC = 4
_NAMES = {b"DXT1": "DXT1_RGBA", b"DXT2": "DXT3_RGBA", b"DXT3": "DXT3_RGBA", b"DXT4": "DXT5_RGBA", b"DXT5": "DXT5_RGBA", b"ATI1": "RGTC1_UNORM",
          b"BC4U": "RGTC1_UNORM", b"BC4S": "RGTC1_SNORM", b"ATI2": "RGTC2_UNORM", b"BC5U": "RGTC2_UNORM", b"BC5S": "RGTC2_SNORM",
          struct.pack("<I", 36): "R16G16B16A16_UNORM", struct.pack("<I", 111): "R16_FLOAT", struct.pack("<I", 112): "R16G16_FLOAT",
          struct.pack("<I", 113): "R16G16B16A16_FLOAT", struct.pack("<I", 114): "R32_FLOAT", struct.pack("<I", 115): "R32G32_FLOAT",
          struct.pack("<I", 116): "R32G32B32A32_FLOAT"}
"""Formats by four letters, or by a number of Direct3D 9 in their place."""
_MASKS = {
    (32, 0xFF, 0xFF00, 0xFF0000, 0xFF000000): "R8G8B8A8_UNORM", (32, 0xFF0000, 0xFF00, 0xFF, 0xFF000000): "B8G8R8A8_UNORM",
    (32, 0xFF0000, 0xFF00, 0xFF, 0): "B8G8R8X8_UNORM", (16, 0xF800, 0x7E0, 0x1F, 0): "B5G6R5_UNORM", (8, 0xFF, 0, 0, 0): "R8_UNORM",
    (32, 0xFFFF, 0xFFFF0000, 0, 0): "R16G16_UNORM",
}
"""Formats by bits, and the masks of red, green, blue and alpha."""
_LUMINANCES = {8: "R8_UNORM", 16: "R16_UNORM"}
"""Formats of luminance alone by bits; writers do not agree on its masks."""


@checked
def read_dds(data: bytes) -> Texture:
    """Read a DDS file.

    Parameters
    ----------
    data : bytes
        The file's.

    Returns
    -------
    Texture

    Raises
    ------
    InputError
        No DDS file, or one that ends early.
    UnsupportedError
        A pixel format that is not known, or a cube without all faces.
    """
    shape, offset = _read_headers(data)
    levels: list[list[bytes]] = [[] for _ in range(shape.level_count)]
    for _ in range(shape.layers):
        for level, pieces in enumerate(levels):
            size = shape.slice_bytes(level) * (shape.slices(level) if shape.depth else 1)
            if offset + size > len(data):
                raise InputError(f"byte {offset}: the file of {len(data)} bytes ends in level {level}, which has {size}")
            pieces.append(data[offset : offset + size])
            offset += size
    return Texture(shape, tuple(b"".join(pieces) for pieces in levels))


def _read_headers(data: bytes) -> tuple[TextureShape, int]:
    """Return what the headers say, and where data begin."""
    if data[:4] != _MAGIC:
        raise InputError("byte 0: no DDS file, which begins with 'DDS '")
    size, flags, height, width, _, depth, mips = unpacked("header", "<7I", data, 4)
    pixel_size, pixel_flags, fourcc, *masks = unpacked("pixel format", "<8I", data, 76)
    _, caps2 = unpacked("header", "<2I", data, 108)
    if size != _HEADER or pixel_size != _PIXELS:
        raise InputError(f"byte 4: headers of {size} and {pixel_size} bytes, not of {_HEADER} and {_PIXELS}")
    levels = max(mips, 1) if flags & _MIPS else 1
    letters = struct.pack("<I", fourcc)
    if pixel_flags & _FOURCC and letters == b"DX10":
        number, dimension, misc, layers, _ = unpacked("DX10 header", "<5I", data, _BEHIND_HEADER)
        name = next((name for name, known in dxgi_numbers().items() if known == number), None)
        if name is None:
            raise UnsupportedError(f"DXGI format {number} of a DDS file")
        if dimension not in (_2D, _3D):
            raise UnsupportedError(f"resource dimension {dimension} of a DDS file")
        cube = bool(misc & _CUBE_MISC)
        shape = TextureShape(name, width, height, max(depth, 1) if dimension == _3D else 0, layers * (6 if cube else 1), cube, levels)
        return shape, _BEHIND_HEADER + 20
    cube = bool(caps2 & _CUBE)
    if cube and caps2 & _ALL_FACES != _ALL_FACES:
        raise UnsupportedError("a DDS cube without all six faces")
    name = _older_format(pixel_flags, letters, masks)
    return TextureShape(name, width, height, max(depth, 1) if caps2 & _VOLUME else 0, 6 if cube else 1, cube, levels), _BEHIND_HEADER


def _older_format(flags: int, letters: bytes, masks: list[int]) -> str:
    """Return the format of a file without the header of Direct3D 10."""
    if flags & _FOURCC:
        if letters not in _NAMES:
            raise UnsupportedError(f"pixel format {letters!r} of a DDS file")
        return _NAMES[letters]
    bits, red, green, blue, alpha = masks
    key = bits, red, green, blue, alpha if flags & _ALPHA else 0
    if flags & _LUMINANCE and not flags & _ALPHA and bits in _LUMINANCES:
        return _LUMINANCES[bits]
    if not flags & _RGB or key not in _MASKS:
        raise UnsupportedError(f"a DDS file with {bits} bits a texel and masks " + " ".join(f"{mask:#x}" for mask in key[1:]))
    return _MASKS[key]


@checked
def write_dds(texture: Texture) -> bytes:
    """Return a DDS file with the header of Direct3D 10.

    Parameters
    ----------
    texture : Texture

    Raises
    ------
    UnsupportedError
        A pixel format that DXGI does not have.
    """
    shape = texture.shape
    number = dxgi_numbers().get(shape.format)
    if number is None:
        raise UnsupportedError(f"{shape.format} in a DDS file: DXGI has no such format")
    flags = _CAPS | _HEIGHT | _WIDTH | _PIXEL_FORMAT | _LINEAR_SIZE | (_MIPS if shape.level_count > 1 else 0) | (_DEPTH if shape.depth else 0)
    caps = _TEXTURE | (_MIPMAP | _COMPLEX if shape.level_count > 1 else 0) | (_COMPLEX if shape.cube or shape.depth else 0)
    caps2 = (_CUBE | _ALL_FACES if shape.cube else 0) | (_VOLUME if shape.depth else 0)
    header = struct.pack("<7I44x", _HEADER, flags, shape.height, shape.width, shape.slice_bytes(0), shape.depth, shape.level_count)
    header += struct.pack("<2I4s20x", _PIXELS, _FOURCC, b"DX10") + struct.pack("<2I12x", caps, caps2)
    header += struct.pack("<5I", number, _3D if shape.depth else _2D, _CUBE_MISC if shape.cube else 0, shape.layers // (6 if shape.cube else 1), 0)
    pieces = [_MAGIC, header]
    for layer in range(shape.layers):
        for level, data in enumerate(texture.levels):
            size = shape.slice_bytes(level)
            pieces.append(data if shape.depth else data[layer * size : (layer + 1) * size])
    return b"".join(pieces)
