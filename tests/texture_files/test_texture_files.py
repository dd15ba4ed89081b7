"""DDS and KTX2 files: what is written is read again, other readers agree, and broken files are refused."""

from __future__ import annotations

import io
import random
import re
import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pyaco.errors import InputError, PyacoError, UnsupportedError
from pyaco.formats import pixel_format
from pyaco.texels import decode
from pyaco.texture_files import Texture, TextureShape, read_dds, read_ktx2, write_dds, write_ktx2
from pyaco.texture_files.numbers import dxgi_numbers, vulkan_numbers

SHAPES: tuple[dict[str, Any], ...] = (
    {"width": 13, "height": 9}, {"width": 40, "height": 24, "level_count": 6}, {"width": 8, "height": 8, "layers": 3, "level_count": 2},
    {"width": 16, "height": 16, "layers": 6, "cube": True, "level_count": 5}, {"width": 8, "height": 4, "layers": 12, "level_count": 1},
    {"width": 12, "height": 10, "depth": 5, "level_count": 4},
)


def texture(name: str, shape: dict[str, Any]) -> Texture:
    made = TextureShape(name, **shape)
    return Texture(made, tuple(random.Random(level).randbytes(made.level_bytes(level)) for level in range(made.level_count)))


@pytest.mark.parametrize(("write", "read", "names"), [(write_dds, read_dds, dxgi_numbers()), (write_ktx2, read_ktx2, vulkan_numbers())])
def test_what_is_written_is_read(write: Any, read: Any, names: dict[str, int]) -> None:
    written = 0
    for name in names:
        for shape in SHAPES:
            wanted = texture(name, shape)
            try:
                data = write(wanted)
            except UnsupportedError as error:
                assert "data format descriptor is not written" in str(error) and name.startswith(("ETC2", "ASTC", "R11", "R9"))
                continue
            assert read(data) == wanted, (name, shape)
            written += 1
    assert written > 300


def test_numbers_are_vulkans() -> None:
    vulkan = pytest.importorskip("vulkan")
    blocks = {"DXT1_RGB ": "BC1_RGB_", "DXT1_RGBA": "BC1_RGBA", "DXT3": "BC2", "DXT5": "BC3", "RGTC1": "BC4", "RGTC2": "BC5", "BPTC_RGB_U": "BC6H_U",
              "BPTC_RGB_F": "BC6H_S", "BPTC_RGBA": "BC7", "ETC2_RGB8 ": "ETC2_R8G8B8_", "ETC2_RGB8A1": "ETC2_R8G8B8A1", "ETC2_RGBA8": "ETC2_R8G8B8A8",
              "ETC2_R11": "EAC_R11_", "ETC2_RG11": "EAC_R11G11"}
    for name, number in vulkan_numbers().items():
        theirs = [key for key, value in vars(vulkan).items() if re.match("VK_FORMAT_[A-DEG-Z]", key) and value == number and "FEATURE" not in key]
        form = pixel_format(name)
        assert theirs and all(("SRGB" in key) == (form.color_space == "srgb") for key in theirs), (name, theirs)
        if form.is_compressed:
            words = name.replace("SRGB", "RGB") + " "
            wanted = next((block for prefix, block in blocks.items() if words.startswith(prefix)), "_".join(name.split("_")[:2]))
            assert all(wanted in key for key in theirs), (name, theirs)
        else:
            letters = {"R9G9B9E5_FLOAT": "E5B9G9R9", "R11G11B10_FLOAT": "B10G11R11"}.get(name, name.split("_")[0])
            turned = "".join(re.findall(r"[A-Z]\d+", letters)[::-1]) if len({channel.size for channel in form.channels}) > 1 else letters
            assert any(key.startswith(f"VK_FORMAT_{turned}_") for key in theirs), (name, theirs)


@pytest.mark.parametrize("name", ["R8G8B8A8_UNORM", "DXT1_RGBA", "DXT5_RGBA", "RGTC1_UNORM", "RGTC2_UNORM", "BPTC_RGBA_UNORM"])
def test_pillow_reads_our_files(name: str) -> None:
    image = pytest.importorskip("PIL.Image")
    wanted = texture(name, {"width": 16, "height": 8})
    with image.open(io.BytesIO(write_dds(wanted))) as opened:
        found = np.asarray(opened)
    if pixel_format(name).is_compressed:
        colors = np.asarray(decode(wanted.levels[0], name, 16, 8), np.float64)
        colors = colors if colors.max() > 1 else colors * 255
        found = found if found.ndim == 3 else found[..., None]
        near = 8 if name.startswith(("DXT", "RGTC")) else 0
        channels = min(found.shape[2], {"RGTC1_UNORM": 1, "RGTC2_UNORM": 2}.get(name, 4))
        assert np.abs(found[..., :channels].astype(float) - colors[..., :channels]).max() <= near
    else:
        raw = np.frombuffer(wanted.levels[0], np.uint8).reshape(8, 16, 4)
        assert np.array_equal(found, raw)


@pytest.mark.parametrize("mode", ["RGBA", "RGB", "L"])
def test_we_read_pillows_files(mode: str) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 256, (9, 14, 4), dtype=np.uint8)
    file = io.BytesIO()
    made = image.fromarray(pixels).convert(mode)
    made.save(file, "DDS")
    try:
        found = read_dds(file.getvalue())
    except UnsupportedError as error:
        assert mode == "RGB" and "24 bits" in str(error)      # texels of three bytes, which no pixel format here has
        return
    shape = found.shape
    assert (shape.width, shape.height) == (14, 9)
    raw = np.frombuffer(found.levels[0], np.uint8).reshape(9, 14, -1)
    order = [2, 1, 0, 3] if shape.format.startswith("B8") else range(raw.shape[2])
    assert np.array_equal(raw[..., order].squeeze(), np.asarray(made))


def test_older_headers() -> None:
    for letters, name in ((b"DXT1", "DXT1_RGBA"), (b"ATI2", "RGTC2_UNORM"), (struct.pack("<I", 113), "R16G16B16A16_FLOAT")):
        shape = TextureShape(name, 8, 8, level_count=2)
        header = struct.pack("<7I44x", 124, 0x21007, 8, 8, 0, 0, 2) + struct.pack("<2I4s20x", 32, 4, letters) + struct.pack("<2I12x", 0x401008, 0)
        payload = bytes(range(256))[: shape.level_bytes(0)] + bytes(shape.level_bytes(1))
        payload = payload.ljust(shape.level_bytes(0) + shape.level_bytes(1), b"\1")
        found = read_dds(b"DDS " + header + payload)
        assert found.shape == shape and b"".join(found.levels) == payload


def test_zstandard() -> None:
    codec = pytest.importorskip("zstandard")
    wanted = texture("R16G16_FLOAT", {"width": 8, "height": 8, "level_count": 2})
    packed = [codec.ZstdCompressor().compress(level) for level in wanted.levels]
    plain = write_ktx2(wanted)
    data, offset = bytearray(plain[: 80 + 48]), len(plain)
    data[44:48] = struct.pack("<I", 2)
    data += plain[128:]
    for level, piece in enumerate(packed):
        data[80 + 24 * level : 104 + 24 * level] = struct.pack("<3Q", offset, len(piece), len(wanted.levels[level]))
        data += piece
        offset += len(piece)
    assert read_ktx2(bytes(data)) == wanted
    data[-1] ^= 255
    data[-9] ^= 255
    with pytest.raises(InputError, match="level"):
        read_ktx2(bytes(data[:-2]))


def test_descriptors_of_ktx2_files() -> None:
    """The descriptor's own size, and that of its block; levels begin where their elements may."""
    for name in ("R8G8B8_UNORM", "R8_UINT", "R16G16B16A16_FLOAT", "R8G8B8A8_SRGB", "BPTC_RGB_FLOAT", "DXT5_RGBA", "R32G32B32_FLOAT"):
        if name not in vulkan_numbers():
            continue
        data = write_ktx2(texture(name, {"width": 12, "height": 8, "level_count": 3}))
        begin, size = struct.unpack_from("<2I", data, 48)
        total, _, sizes = struct.unpack_from("<3I", data, begin)
        assert total == size == 4 + (sizes >> 16) and (size - 28) % 16 == 0
        places = [struct.unpack_from("<2Q", data, 80 + 24 * level) for level in range(3)]
        element = pixel_format(name).bits // 8
        assert all(offset % element == 0 and offset % 4 == 0 for offset, _ in places)
        assert all(second[0] + second[1] <= first[0] for first, second in pairwise(places)) and sum(places[0]) == len(data)


@pytest.mark.parametrize(("write", "read"), [(write_dds, read_dds), (write_ktx2, read_ktx2)])
def test_broken_files_are_refused(write: Any, read: Any) -> None:
    draw = random.Random(5)
    whole = write(texture("DXT1_RGBA", SHAPES[3]))
    with pytest.raises(InputError, match="byte 0: no"):
        read(b"what is this?" * 20)
    for length in range(0, len(whole), 3):
        with pytest.raises(InputError):
            read(whole[:length])
    outcomes = set()
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(min(len(data), 200))] = draw.choice([0, 1, 255, draw.randrange(256)])
        try:
            read(bytes(data))
            outcomes.add("read")
        except PyacoError as error:
            outcomes.add(type(error).__name__)
    assert outcomes == {"read", "InputError", "UnsupportedError"}
