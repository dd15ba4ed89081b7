"""What DXGI and Vulkan call pixel formats: their numbers, by the names of `pyaco.formats`.

Sources: the Vulkan specification (``VkFormat``), Microsoft's documentation of ``DXGI_FORMAT``. Vulkan names packed formats from the highest bit
down, so that ``VK_FORMAT_R5G6B5_UNORM_PACK16`` is B5G6R5_UNORM here.
"""

from __future__ import annotations

from functools import cache

__all__ = ["dxgi_numbers", "vulkan_numbers"]

# name | DXGI | Vulkan
_TABLE = """
R8_UNORM | 61 | 9
R8_SNORM | 63 | 10
R8_UINT | 62 | 13
R8_SINT | 64 | 14
R8G8_UNORM | 49 | 16
R8G8_SNORM | 51 | 17
R8G8_UINT | 50 | 20
R8G8_SINT | 52 | 21
R8G8B8A8_UNORM | 28 | 37
R8G8B8A8_SNORM | 31 | 38
R8G8B8A8_UINT | 30 | 41
R8G8B8A8_SINT | 32 | 42
R8G8B8A8_SRGB | 29 | 43
B8G8R8A8_UNORM | 87 | 44
B8G8R8A8_SRGB | 91 | 50
B5G6R5_UNORM | 85 | 4
R10G10B10A2_UNORM | 24 | 64
R10G10B10A2_UINT | 25 | 68
R16_UNORM | 56 | 70
R16_SNORM | 58 | 71
R16_UINT | 57 | 74
R16_SINT | 59 | 75
R16_FLOAT | 54 | 76
R16G16_UNORM | 35 | 77
R16G16_SNORM | 37 | 78
R16G16_UINT | 36 | 81
R16G16_SINT | 38 | 82
R16G16_FLOAT | 34 | 83
R16G16B16A16_UNORM | 11 | 91
R16G16B16A16_SNORM | 13 | 92
R16G16B16A16_UINT | 12 | 95
R16G16B16A16_SINT | 14 | 96
R16G16B16A16_FLOAT | 10 | 97
R32_UINT | 42 | 98
R32_SINT | 43 | 99
R32_FLOAT | 41 | 100
R32G32_UINT | 17 | 101
R32G32_SINT | 18 | 102
R32G32_FLOAT | 16 | 103
R32G32B32_UINT | 7 | 104
R32G32B32_SINT | 8 | 105
R32G32B32_FLOAT | 6 | 106
R32G32B32A32_UINT | 3 | 107
R32G32B32A32_SINT | 4 | 108
R32G32B32A32_FLOAT | 2 | 109
R11G11B10_FLOAT | 26 | 122
R9G9B9E5_FLOAT | 67 | 123
DXT1_RGB | - | 131
DXT1_SRGB | - | 132
DXT1_RGBA | 71 | 133
DXT1_SRGBA | 72 | 134
DXT3_RGBA | 74 | 135
DXT3_SRGBA | 75 | 136
DXT5_RGBA | 77 | 137
DXT5_SRGBA | 78 | 138
RGTC1_UNORM | 80 | 139
RGTC1_SNORM | 81 | 140
RGTC2_UNORM | 83 | 141
RGTC2_SNORM | 84 | 142
BPTC_RGB_UFLOAT | 95 | 143
BPTC_RGB_FLOAT | 96 | 144
BPTC_RGBA_UNORM | 98 | 145
BPTC_SRGBA | 99 | 146
ETC2_RGB8 | - | 147
ETC2_SRGB8 | - | 148
ETC2_RGB8A1 | - | 149
ETC2_SRGB8A1 | - | 150
ETC2_RGBA8 | - | 151
ETC2_SRGBA8 | - | 152
ETC2_R11_UNORM | - | 153
ETC2_R11_SNORM | - | 154
ETC2_RG11_UNORM | - | 155
ETC2_RG11_SNORM | - | 156
"""
_FIRST_ASTC = 157
_ASTC = ("4x4", "5x4", "5x5", "6x5", "6x6", "8x5", "8x6", "8x8", "10x5", "10x6", "10x8", "10x10", "12x10", "12x12")


def _column(number: int) -> dict[str, int]:
    rows = [[cell.strip() for cell in line.split("|")] for line in _TABLE.strip().splitlines()]
    return {row[0]: int(row[number]) for row in rows if row[number] != "-"}


@cache
def dxgi_numbers() -> dict[str, int]:
    """Return DXGI_FORMAT by name."""
    return _column(1)


@cache
def vulkan_numbers() -> dict[str, int]:
    """Return VkFormat by name."""
    found = _column(2)
    for number, block in enumerate(_ASTC):
        found |= {f"ASTC_{block}": _FIRST_ASTC + 2 * number, f"ASTC_{block}_SRGB": _FIRST_ASTC + 2 * number + 1}
    return found
