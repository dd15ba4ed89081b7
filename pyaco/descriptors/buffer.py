"""Buffer descriptors (V#): four dwords that say where a buffer lies and how accesses to it are checked.

Sources: AMD "Vega" ISA document 8.1.8, "RDNA 2" 8.1.8, "RDNA3" 9.1.8, "RDNA4" 9.1.8 "Buffer Resource Descriptor"; Mesa's
``ac_descriptors.c`` for the values that drivers choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.targets.features import (
    has_attribute_ring,
    has_records_in_bytes,
    has_resource_level_bit,
    has_short_buffer_format,
    has_stride_above_thread_id,
    has_unified_buffer_formats,
)

__all__ = ["SELECT", "OutOfBounds", "attribute_ring", "buffer_descriptor", "raw_buffer", "texel_buffer"]

Words = tuple[int, int, int, int]

# dst_sel: x, y, z, w in order
_IDENTITY = 4 | 5 << 3 | 6 << 6 | 7 << 9
SELECT = (4, 5, 6, 7, 0, 1)
"""A swizzle entry (x, y, z, w, zero, one) as the hardware names it."""


class OutOfBounds(IntEnum):
    """What counts as outside, GFX10 and later (OOB_SELECT)."""

    STRUCTURED_WITH_OFFSET = 0
    STRUCTURED = 1
    DISABLED = 2
    RAW = 3


@checked
def raw_buffer(address: int, size: int, gfx_level: int) -> Words:
    """Return the descriptor of an untyped buffer, as drivers make it for storage and uniform buffers.

    Stride 0, so that ``num_records`` counts bytes; all components in order; a 32-bit float format; range checks of raw buffers.

    Parameters
    ----------
    address : int
        Device address; 48 bits are kept.
    size : int
        Bytes.
    gfx_level : int
        Hardware level times ten, such as 110.

    Raises
    ------
    InputError
        A size that does not fit the descriptor.
    """
    if not 0 <= size < 1 << 32:
        raise InputError(f"a buffer descriptor holds sizes up to 4294967295 bytes, not {size}")
    # Written out, because every dispatch makes some: the same as `buffer_descriptor` gives for R32_FLOAT.
    if has_unified_buffer_formats(gfx_level):
        resource_level = 1 << 24 if has_resource_level_bit(gfx_level) else 0
        word3 = _IDENTITY | 22 << 12 | resource_level | OutOfBounds.RAW << 28
    else:
        word3 = _IDENTITY | 7 << 12 | 4 << 15
    return address & 0xFFFFFFFF, address >> 32 & 0xFFFF, size, word3


def selected_channels(swizzle: Sequence[int]) -> dict[str, int]:
    """The fields that say what x, y, z and w are, of buffers and images alike."""
    if len(swizzle) != 4 or not all(0 <= entry < len(SELECT) for entry in swizzle):
        raise InputError(f"a swizzle is four numbers from 0 to {len(SELECT) - 1}, not {swizzle!r}")
    return {f"DST_SEL_{axis}": SELECT[entry] for axis, entry in zip("XYZW", swizzle, strict=True)}


@checked
def buffer_descriptor(
    address: int, size: int, format_name: str, gfx_level: int, *, swizzle: Sequence[int] = (0, 1, 2, 3), stride: int = 0,
    swizzle_enable: int = 0, element_size: int = 0, index_stride: int = 0, add_thread_id: bool = False,
    out_of_bounds: OutOfBounds | int = OutOfBounds.STRUCTURED_WITH_OFFSET,
) -> Words:  # fmt: skip
    """Return the descriptor of a buffer.

    Parameters
    ----------
    address : int
        Device address; 48 bits are kept.
    size : int
        ``num_records``: bytes, or elements where the stride is not 0.
    format_name : str
        Pixel format, such as ``R32G32_FLOAT``; format 0 where the hardware has none, and the low bits of one that only images have
        (``unified_format`` and ``buffer_formats`` tell).
    gfx_level : int
        Hardware level times ten.
    swizzle : sequence of int
        For x, y, z and w: the channel, or 4 for zero and 5 for one.
    stride : int
        Bytes of an element, up to 16383.
    swizzle_enable : int
        Up to GFX10.3 whether addresses are swizzled; from GFX11 on 1, 2 or 3 for 4, 8 or 16 bytes of an element.
    element_size : int
        GFX6 to GFX9: 0 to 3 for 2, 4, 8 or 16 bytes.
    index_stride : int
        0 to 3 for 8, 16, 32 or 64 elements of a swizzled row.
    add_thread_id : bool
        Whether the lane's number is added to the index.
    out_of_bounds : OutOfBounds

    Raises
    ------
    InputError
        No such format, or a number that does not fit its field.
    """
    from pyaco.descriptors.hardware_format import buffer_formats, unified_format
    from pyaco.formats import pixel_format
    from pyaco.registers import registers

    if not 0 <= size < 1 << 32:
        raise InputError(f"a buffer descriptor holds sizes up to 4294967295, not {size}")
    known, format_ = registers(gfx_level), pixel_format(format_name)
    common = {**selected_channels(swizzle), "INDEX_STRIDE": index_stride, "ADD_TID_ENABLE": int(add_thread_id)}
    word1 = known["SQ_BUF_RSRC_WORD1"].encode(BASE_ADDRESS_HI=address >> 32 & 0xFFFF, STRIDE=stride, SWIZZLE_ENABLE=swizzle_enable)
    if has_unified_buffer_formats(gfx_level):
        resource = {"RESOURCE_LEVEL": 1} if has_resource_level_bit(gfx_level) else {}
        # Formats that only images have are wider than the field; its bits are what drivers write of them.
        number = unified_format(format_, gfx_level).number & (0x3F if has_short_buffer_format(gfx_level) else 0x7F)
        word3 = known["SQ_BUF_RSRC_WORD3"].encode(**common, OOB_SELECT=int(out_of_bounds), **resource) | number << 12
    else:
        data, number = buffer_formats(format_)
        # With a thread id, GFX8 and GFX9 read the high bits of the stride there.
        data = 0 if add_thread_id and has_stride_above_thread_id(gfx_level) else data
        # GFX9's documents no longer name ELEMENT_SIZE; drivers still write it.
        word3 = registers(80)["SQ_BUF_RSRC_WORD3"].encode(**common, NUM_FORMAT=number, DATA_FORMAT=data, ELEMENT_SIZE=element_size)
    return address & 0xFFFFFFFF, word1, size, word3


@checked
def texel_buffer(address: int, size: int, format_name: str, gfx_level: int) -> Words:
    """Return the descriptor of a buffer as elements of a pixel format, as drivers make it for texel buffers.

    Parameters
    ----------
    address : int
        Device address; 48 bits are kept.
    size : int
        Bytes.
    format_name : str
        Pixel format, such as ``R8G8B8A8_UNORM``.
    gfx_level : int
        Hardware level times ten.

    Raises
    ------
    InputError
        No such format, or a number that does not fit its field.
    """
    from pyaco.descriptors.hardware_format import memory_swizzle
    from pyaco.formats import pixel_format

    format_ = pixel_format(format_name)
    stride = format_.bits // 8
    records = size if has_records_in_bytes(gfx_level) else size // stride
    return buffer_descriptor(address, records, format_.name, gfx_level, swizzle=memory_swizzle(format_), stride=stride)


@checked
def attribute_ring(address: int, size: int, stride: int, gfx_level: int) -> Words:
    """Return the descriptor of the ring that vertex attributes go through from GFX11 on: swizzled in 16 bytes by 32 elements.

    Raises
    ------
    InputError
        A level before GFX11, or numbers that do not fit.
    """
    if not has_attribute_ring(gfx_level):
        raise InputError(f"attribute rings exist from GFX11 on, not on level {gfx_level / 10:g}")
    return buffer_descriptor(address, size, "R32G32B32A32_FLOAT", gfx_level, stride=stride, swizzle_enable=3, index_stride=2)
