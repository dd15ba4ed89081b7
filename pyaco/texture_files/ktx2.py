"""KTX2 files, without supercompression or with Zstandard's.

Source: the Khronos KTX 2.0 specification, and the Khronos Data Format Specification for the descriptor of the format that a file holds. No
maintained package on the index reads and writes the container alone, which is a header, a table of levels and a descriptor.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import PixelFormat
from pyaco.texture_files.numbers import vulkan_numbers
from pyaco.texture_files.texture import Texture, TextureShape, unpacked

__all__ = ["read_ktx2", "write_ktx2"]

_IDENTIFIER = b"\xabKTX 20\xbb\r\n\x1a\n"
_LEVEL_INDEX = 80
_NONE, _ZSTANDARD = 0, 2
_SCHEMES = {1: "BasisLZ", 3: "ZLIB"}
_SIGNED, _FLOAT, _LINEAR = 0x40, 0x80, 0x10
_CHANNELS = {"R": 0, "G": 1, "B": 2, "A": 15}
_ONE, _MINUS_ONE = 0x3F800000, 0xBF800000
_WHOLE = 0xFFFFFFFF
# Colour models of compressed formats, and their samples: channel, first bit, bits.
_BLOCKS: dict[str, tuple[int, tuple[tuple[int, int, int], ...]]] = {
    "DXT1_RGBA": (128, ((1, 0, 64),)), "DXT1_RGB": (128, ((0, 0, 64),)), "DXT3_RGBA": (129, ((15, 0, 64), (0, 64, 64))),
    "DXT5_RGBA": (130, ((15, 0, 64), (0, 64, 64))), "RGTC1": (131, ((0, 0, 64),)), "RGTC2": (132, ((0, 0, 64), (1, 64, 64))),
    "BPTC_RGB": (133, ((0, 0, 128),)), "BPTC_RGBA": (134, ((0, 0, 128),)),
}


@checked
def read_ktx2(data: bytes) -> Texture:
    """Read a KTX2 file.

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
        No KTX2 file, or one whose parts do not fit.
    UnsupportedError
        A format that is not known, another supercompression, or Zstandard's where its package is missing.
    """
    if data[:12] != _IDENTIFIER:
        raise InputError("byte 0: no KTX2 file, which begins with its identifier")
    number, _, width, height, depth, layers, faces, levels, scheme = unpacked("header", "<9I", data, 12)
    name = next((name for name, known in vulkan_numbers().items() if known == number), None)
    if name is None:
        raise UnsupportedError(f"VkFormat {number} of a KTX2 file")
    if scheme not in (_NONE, _ZSTANDARD):
        raise UnsupportedError(f"supercompression {_SCHEMES.get(scheme, scheme)} of a KTX2 file")
    if faces not in (1, 6):
        raise InputError(f"byte 36: {faces} faces")
    shape = TextureShape(name, width, max(height, 1), depth, max(layers, 1) * faces, faces == 6, max(levels, 1))
    found = []
    for level in range(shape.level_count):
        offset, size, whole = unpacked("table of levels", "<3Q", data, _LEVEL_INDEX + 24 * level)
        if offset + size > len(data):
            raise InputError(f"level {level}: {size} bytes from {offset} on of a file of {len(data)}")
        wanted = shape.level_bytes(level)
        piece = data[offset : offset + size]
        if scheme == _ZSTANDARD:
            if whole != wanted:
                raise InputError(f"level {level}: {whole} bytes, not {wanted}")
            piece = _expanded(piece, wanted, level)
        found.append(piece)
    return Texture(shape, tuple(found))


def _expanded(data: bytes, size: int, level: int) -> bytes:
    """Return what Zstandard made smaller; the package is that of offload bundles."""
    codec: Any
    try:
        import zstandard as codec
    except ImportError:
        raise UnsupportedError("KTX2 files with Zstandard without zstandard: pip install pyaco[hip]") from None
    try:
        return bytes(codec.ZstdDecompressor().decompress(data, max_output_size=size))
    except codec.ZstdError as error:
        raise InputError(f"level {level}: {error}") from None


@checked
def write_ktx2(texture: Texture) -> bytes:
    """Return a KTX2 file without supercompression.

    Parameters
    ----------
    texture : Texture

    Raises
    ------
    UnsupportedError
        A pixel format that Vulkan does not have, or whose descriptor is not written: ETC2, ASTC, shared exponents and small floats.
    """
    shape = texture.shape
    number = vulkan_numbers().get(shape.format)
    if number is None:
        raise UnsupportedError(f"{shape.format} in a KTX2 file: Vulkan has no such format")
    form = shape.pixel_format
    descriptor = _descriptor(form)
    faces = 6 if shape.cube else 1
    layers = shape.layers // faces
    head = struct.pack("<9I", number, _type_size(form), shape.width, shape.height, shape.depth, layers if layers > 1 else 0, faces,
                       shape.level_count, _NONE)
    begin = _LEVEL_INDEX + 24 * shape.level_count
    head += struct.pack("<4I2Q", begin, len(descriptor), 0, 0, 0, 0)
    alignment = math.lcm(form.bits // 8, 4)
    entries, pieces, offset = [], [descriptor], begin + len(descriptor)
    for data in reversed(texture.levels):                    # the smallest level comes first
        padding = -offset % alignment
        pieces += [bytes(padding), data]
        entries.append(struct.pack("<3Q", offset + padding, len(data), len(data)))
        offset += padding + len(data)
    return b"".join([_IDENTIFIER, head, *reversed(entries), *pieces])


def _type_size(form: PixelFormat) -> int:
    """Bytes of what would be swapped on a machine of the other endianness."""
    if form.is_compressed:
        return 1
    sizes = {channel.size for channel in form.channels}
    return sizes.pop() // 8 if len(sizes) == 1 and sizes <= {8, 16, 32} else form.bits // 8


def _descriptor(form: PixelFormat) -> bytes:
    """Return the data format descriptor: total size, and one basic block."""
    if form.is_compressed:
        model, samples = _block_samples(form)
        planes = form.bits // 8
    elif form.layout == "plain" and form.color_space in ("rgb", "srgb") and all(channel.letter in _CHANNELS for channel in form.channels):
        model, samples, planes = 1, _plain_samples(form), form.bits // 8
    else:
        raise UnsupportedError(f"{form.name} in a KTX2 file: its data format descriptor is not written")
    transfer = 2 if form.color_space == "srgb" else 1
    width, height, depth = (size - 1 for size in form.block)
    size = 24 + 16 * len(samples)
    block = struct.pack("<2I4B4B8B", 0, 2 | size << 16, model, 1, transfer, 0, width, height, depth, 0, planes, *[0] * 7)
    return struct.pack("<I", 4 + size) + block + b"".join(samples)


def _sample(channel: int, first: int, bits: int, low: int, high: int) -> bytes:
    return struct.pack("<H2B4x2I", first, bits - 1, channel, low & _WHOLE, high & _WHOLE)


def _plain_samples(form: PixelFormat) -> list[bytes]:
    samples, position = [], 0
    for channel in form.channels:
        bits, kind = channel.size, channel.type
        flags = _SIGNED if kind == "signed" else _SIGNED | _FLOAT if kind == "float" else 0
        if form.color_space == "srgb" and channel.letter == "A":
            flags |= _LINEAR
        if kind == "float":
            low, high = _MINUS_ONE, _ONE
        elif channel.integer:
            low, high = (-1 if kind == "signed" else 0), 1
        elif kind == "signed":
            low, high = 1 - (1 << bits - 1), (1 << bits - 1) - 1
        else:
            low, high = 0, (1 << bits) - 1
        samples.append(_sample(_CHANNELS[channel.letter] | flags, position, bits, low, high))
        position += bits
    return samples


def _block_samples(form: PixelFormat) -> tuple[int, list[bytes]]:
    name = form.name.replace("SRGB", "RGB")
    found = next((facts for key, facts in sorted(_BLOCKS.items(), reverse=True) if name.startswith(key)), None)
    if found is None:
        raise UnsupportedError(f"{form.name} in a KTX2 file: its data format descriptor is not written")
    model, samples = found
    low, high, flags = 0, _WHOLE, 0
    if name.endswith("SNORM"):
        low, high, flags = 1 << 31, (1 << 31) - 1, _SIGNED
    elif name.startswith("BPTC_RGB_"):
        signed = not name.endswith("UFLOAT")
        low, high, flags = _MINUS_ONE if signed else 0, _ONE, _FLOAT | (_SIGNED if signed else 0)
    return model, [_sample(channel | flags, first, bits, low, high) for channel, first, bits in samples]
