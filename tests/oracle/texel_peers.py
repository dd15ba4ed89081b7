"""Independent decoders of block-compressed texels, and how far each can be compared with ours.

``python texel_peers.py COUNT [WORD]`` counts agreement on so many blocks, of the comparisons whose name has the word.

A peer that keeps fewer bits than a format has, or departs from the specification, is met half-way here, once and in the open: `Comparison`'s
`ours` says what the peer should give if our texels are right. Blocks are random bits; `encoded_blocks` are what encoders make of an image.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import astc_encoder
import etcpak
import imagecodecs
import numpy as np
import texture2ddecoder
from numpy.typing import NDArray
from PIL import Image

from pyaco.formats import pixel_format
from pyaco.texels import decode

Array = NDArray[Any]
#: Block sizes of ASTC in two dimensions. The package astc-encoder-py crashes on images with depth.
ASTC_BLOCKS = ((4, 4), (5, 4), (5, 5), (6, 5), (6, 6), (8, 5), (8, 6), (8, 8), (10, 5), (10, 6), (10, 8), (10, 10), (12, 10), (12, 12))
COLUMNS = 100
"""Blocks in a row of the images that are decoded."""


@dataclass(frozen=True)
class Comparison:
    """A format and a peer.

    Attributes
    ----------
    peer, format : str
        A package; a pixel format, which our decoder is asked for.
    theirs, ours : callable
        From blocks, width and height in texels to what must be equal: an array of integers, height x width x channels.
    """

    peer: str
    format: str
    theirs: Callable[[bytes, int, int], Array]
    ours: Callable[[bytes, int, int], Array]

    def differing(self, blocks: Array) -> list[bytes]:
        """Return the blocks whose texels differ; a multiple of `COLUMNS` blocks."""
        across, down, _ = pixel_format(self.format).block
        rows = len(blocks) // COLUMNS
        data, width, height = blocks.tobytes(), across * COLUMNS, down * rows
        wrong = (self.theirs(data, width, height) != self.ours(data, width, height)).any(axis=-1)
        return [blocks[i].tobytes() for i in np.flatnonzero(wrong.reshape(rows, down, COLUMNS, across).any(axis=(1, 3)))]


def _plain(format: str) -> Callable[[bytes, int, int], Array]:
    return lambda data, width, height: decode(data, format, width, height)


def _truncated(format: str, channels: int, scale: int = 255) -> Callable[[bytes, int, int], Array]:
    """Our singles as fractions of `scale`, cut to integers; they are sums of a few steps of 1 / 35 or more, so that a millionth is nothing."""
    return lambda data, width, height: np.floor(
        decode(data, format, width, height)[..., :channels].astype(np.float64) * scale + 1e-4).astype(np.int64)  # fmt: skip


def _imagecodecs(number: int, channels: int, bits: type = np.uint8) -> Callable[[bytes, int, int], Array]:
    def theirs(data: bytes, width: int, height: int) -> Array:
        shape = (height, width) if channels == 1 else (height, width, channels)
        return np.asarray(imagecodecs.bcn_decode(data, number, shape=shape)).view(bits).reshape(height, width, channels)

    return theirs


def _texture2ddecoder(name: str) -> Callable[[bytes, int, int], Array]:
    function = getattr(texture2ddecoder, f"decode_{name}")
    return lambda data, width, height: np.frombuffer(function(data, width, height), np.uint8).reshape(height, width, 4)[..., [2, 1, 0, 3]]


def _without_least(data: bytes, count: int) -> bytes:
    """Put -127 for -128 in the signed bytes that each eight begin with: the specifications make them the same, and some peers do not."""
    blocks = np.frombuffer(data, np.uint8).reshape(-1, 8).copy()
    blocks[:, :count][blocks[:, :count] == 0x80] = 0x81
    return blocks.tobytes()


def _bc3() -> Comparison:
    """imagecodecs cuts alpha to eight bits; ours is nearest, so it is rebuilt from the fractions of BC4, which alpha is stored as."""

    def ours(data: bytes, width: int, height: int) -> Array:
        alphas = np.frombuffer(data, np.uint8).reshape(-1, 16)[:, :8].tobytes()
        texels = decode(data, "DXT5_RGBA", width, height).astype(np.int64)
        exact = decode(alphas, "RGTC1_UNORM", width, height)[..., 0].astype(np.float64) * 255
        assert (np.abs(texels[..., 3] - exact) < 0.501).all()
        texels[..., 3] = np.floor(exact + 1e-4)
        return texels

    return Comparison("imagecodecs", "DXT5_RGBA", _imagecodecs(3, 4), ours)


def _bc5_snorm() -> Comparison:
    """Pillow adds 128 and cuts to eight bits, and does not take -128 for -127."""

    def theirs(data: bytes, width: int, height: int) -> Array:
        pixels = Image.frombytes("RGB", (width, height), _without_least(data, 2), "bcn", (5, "BC5S"))
        return np.maximum(np.asarray(pixels)[..., :2].astype(np.int64), 1)

    def ours(data: bytes, width: int, height: int) -> Array:
        return _truncated("RGTC2_SNORM", 2, 127)(_without_least(data, 2), width, height) + 128

    return Comparison("Pillow", "RGTC2_SNORM", theirs, ours)


def _bc6h(format: str, number: int) -> Comparison:
    """imagecodecs has no -0, which the specification's last step gives for small negative numbers."""

    def ours(data: bytes, width: int, height: int) -> Array:
        texels = decode(data, format, width, height)[..., :3].copy().view(np.uint16)
        return np.where(texels == 0x8000, 0, texels)

    return Comparison("imagecodecs", format, _imagecodecs(number, 3, np.uint16), ours)


def _etc2_rgb8a1() -> Comparison:
    """texture2ddecoder leaves colours in transparent texels; the specification makes them black."""
    theirs = _texture2ddecoder("etc2a1")

    def blackened(data: bytes, width: int, height: int) -> Array:
        texels = theirs(data, width, height)
        return np.where(texels[..., 3:] == 0, 0, texels)

    return Comparison("texture2ddecoder", "ETC2_RGB8A1", blackened, _plain("ETC2_RGB8A1"))


def _eac(name: str, format: str, channels: int) -> Comparison:
    """texture2ddecoder cuts eleven bits to eight, signed ones after adding 1023, and does not take a base of -128 for -127."""
    theirs = _texture2ddecoder(name)
    is_signed = format.endswith("SNORM")

    def prepared(data: bytes) -> bytes:
        return _without_least(data, 1) if is_signed else data

    def ours(data: bytes, width: int, height: int) -> Array:
        texels = decode(prepared(data), format, width, height)[..., :channels].astype(np.float64)
        return (np.rint(texels * (1023 if is_signed else 2047)).astype(np.int64) + (1023 if is_signed else 0)) >> 3

    return Comparison("texture2ddecoder", format, lambda data, *size: theirs(prepared(data), *size)[..., :channels], ours)


def _astc(across: int, down: int, mode: str) -> Comparison:
    """astcenc shows errors as NaN (white in eight bits), which the specification allows for float16; in sRGB it widens alpha as in linear modes."""
    name = f"ASTC_{across}x{down}"
    profile = astc_encoder.ASTCProfile.LDR_SRGB if mode == "srgb" else astc_encoder.ASTCProfile.LDR
    kind = astc_encoder.ASTCType.F16 if mode == "float16" else astc_encoder.ASTCType.U8
    bits = np.uint16 if mode == "float16" else np.uint8
    magenta = np.array([0x3C00, 0, 0x3C00, 0x3C00] if mode == "float16" else [255, 0, 255, 255], np.int64)

    def theirs(data: bytes, width: int, height: int) -> Array:
        flags = astc_encoder.ASTCConfigFlags.DECOMPRESS_ONLY
        context = astc_encoder.ASTCContext(astc_encoder.ASTCConfig(profile, across, down, flags=flags))
        image = astc_encoder.ASTCImage(kind, width, height)
        context.decompress(data, image, astc_encoder.ASTCSwizzle())
        return np.frombuffer(image.data or b"", bits).reshape(height, width, 4).astype(np.int64)

    def ours(data: bytes, width: int, height: int) -> Array:
        linear = decode(data, name, width, height, astc_mode="float16" if mode == "float16" else "unorm8").view(bits).astype(np.int64)
        texels = linear
        if mode == "srgb":
            texels = decode(data, f"{name}_SRGB", width, height).astype(np.int64)
            assert (np.abs(texels[..., 3] - linear[..., 3]) <= 1).all()
            texels[..., 3] = linear[..., 3]
        # A texel of that very magenta, which is rare, shall not be taken for an error: the peer is not white there.
        is_error = (texels == magenta).all(axis=-1) & (theirs(data, width, height) == np.iinfo(bits).max).all(axis=-1)
        return np.where(is_error[..., None], np.iinfo(bits).max, texels)

    return Comparison("astc-encoder-py", f"{name}_SRGB" if mode == "srgb" else name, theirs, ours)


COMPARISONS = {
    f"{comparison.peer}-{comparison.format}{suffix}": comparison
    for suffix, comparison in [
        ("", Comparison("imagecodecs", "DXT1_RGBA", _imagecodecs(1, 4), _plain("DXT1_RGBA"))),
        ("", Comparison("imagecodecs", "DXT3_RGBA", _imagecodecs(2, 4), _plain("DXT3_RGBA"))),
        ("", _bc3()),
        ("", Comparison("imagecodecs", "RGTC1_UNORM", _imagecodecs(4, 1), _truncated("RGTC1_UNORM", 1))),
        ("", Comparison("imagecodecs", "RGTC2_UNORM", _imagecodecs(5, 2), _truncated("RGTC2_UNORM", 2))),
        ("", _bc5_snorm()),
        ("", _bc6h("BPTC_RGB_UFLOAT", 6)),
        ("", _bc6h("BPTC_RGB_FLOAT", -6)),
        ("", Comparison("imagecodecs", "BPTC_RGBA_UNORM", _imagecodecs(7, 4), _plain("BPTC_RGBA_UNORM"))),
        ("", Comparison("texture2ddecoder", "BPTC_RGBA_UNORM", _texture2ddecoder("bc7"), _plain("BPTC_RGBA_UNORM"))),
        ("", Comparison("texture2ddecoder", "ETC2_RGB8", _texture2ddecoder("etc2"), _plain("ETC2_RGB8"))),
        ("", _etc2_rgb8a1()),
        ("", Comparison("texture2ddecoder", "ETC2_RGBA8", _texture2ddecoder("etc2a8"), _plain("ETC2_RGBA8"))),
        ("", _eac("eacr", "ETC2_R11_UNORM", 1)),
        ("", _eac("eacr_signed", "ETC2_R11_SNORM", 1)),
        ("", _eac("eacrg", "ETC2_RG11_UNORM", 2)),
        ("", _eac("eacrg_signed", "ETC2_RG11_SNORM", 2)),
        *(("-float16" if mode == "float16" else "", _astc(*block, mode)) for block in ASTC_BLOCKS for mode in ("unorm8", "float16", "srgb")),
    ]
}


def random_blocks(format: str, count: int, seed: int = 0) -> Array:
    """Return blocks of random bits, one a row; of ASTC, one in sixteen is a void extent, and fewer than otherwise have reserved modes."""
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 256, (count, pixel_format(format).bits // 8), np.uint8)
    if format.startswith("ASTC"):
        words = blocks.view(np.uint64)
        words[::16, 0] = words[::16, 0] & ~np.uint64(0xFFF) | np.uint64(0xDFC)
        words[::32, 0] |= ~np.uint64(0xFFF)
        blocks[1::16, 0] = blocks[1::16, 0] & 0xF0 | 2           # block modes with small grids, which every block has room for
        blocks[1::16, 1] &= 0xFE
    return blocks


def encoded_blocks(format: str, count: int) -> Array:
    """Return what an encoder makes of gradients, noise and edges."""
    across, down, _ = pixel_format(format).block
    width, height = across * COLUMNS, down * (count // COLUMNS)
    y, x = np.mgrid[:height, :width]
    image = np.stack([x * 255 // width, y * 255 // height, (x * y) % 256, 255 - (x + y) % 256], axis=-1)
    image[: height // 2] += np.random.default_rng(1).integers(-40, 40, (height // 2, width, 4))
    image[(x // 7 + y // 5) % 3 == 0] //= 3
    pixels = image.clip(0, 255).astype(np.uint8).tobytes()
    bits = pixel_format(format).bits // 8
    if format.startswith("ASTC"):
        config = astc_encoder.ASTCConfig(astc_encoder.ASTCProfile.LDR, across, down, quality=astc_encoder.ASTCQualityPreset.FAST)
        source = astc_encoder.ASTCImage(astc_encoder.ASTCType.U8, width, height, 1, pixels)
        data = astc_encoder.ASTCContext(config).compress(source, astc_encoder.ASTCSwizzle())
    else:
        data = ENCODERS[format](pixels, width, height)
    return np.frombuffer(data, np.uint8).reshape(-1, bits)[: count // COLUMNS * COLUMNS]  # etcpak returns more for one channel of EAC


ENCODERS: dict[str, Callable[[bytes, int, int], bytes]] = {
    "DXT1_RGBA": etcpak.compress_bc1, "DXT5_RGBA": etcpak.compress_bc3, "RGTC1_UNORM": etcpak.compress_bc4, "RGTC2_UNORM": etcpak.compress_bc5,
    "BPTC_RGBA_UNORM": lambda data, width, height: etcpak.compress_bc7(data, width, height, etcpak.BC7CompressBlockParams()),
    "ETC2_RGB8": etcpak.compress_etc2_rgb, "ETC2_RGBA8": etcpak.compress_etc2_rgba,
    "ETC2_R11_UNORM": etcpak.compress_eac_r, "ETC2_RG11_UNORM": etcpak.compress_eac_rg,
}  # fmt: skip


def count_differences(count: int, word: str = "", at_once: int = 20_000) -> Iterator[tuple[str, int, list[bytes]]]:
    """Compare each format and peer on `count` random blocks: its name, how many were compared, those that differ."""
    for name, comparison in COMPARISONS.items():
        if word not in name:
            continue
        differing: list[bytes] = []
        for seed in range(-(-count // at_once)):
            differing += comparison.differing(random_blocks(comparison.format, min(at_once, count), seed))
        yield name, -(-count // at_once) * min(at_once, count), differing


if __name__ == "__main__":
    for name, count, differing in count_differences(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""):
        print(f"{name:40} {count - len(differing):9} of {count} equal {' '.join(block.hex() for block in differing[:4])}", flush=True)
