"""Extents that the layouts of GFX9 and of GFX10 and later share: 256-byte blocks, the largest level in a tail, the caller's pitch."""

from __future__ import annotations

import numpy as np

from pyaco.addrlib.enums import Status
from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import Record

__all__ = ["MICRO_2D", "MICRO_3D", "customize", "tail_extent"]

OK, INVALID = int(Status.OK), int(Status.INVALID_PARAMETERS)

# log2 of width, height of the 256-byte block, and of width, height, depth of the thick one, by log2 of element bytes.
MICRO_2D = np.array([(4, 4), (4, 3), (3, 3), (3, 2), (2, 2)])

MICRO_3D = np.array([(3, 2, 3), (2, 2, 3), (2, 2, 2), (2, 1, 2), (1, 1, 2)])


@kernel
def customize(q: Record, element_bytes: int, pitch_align: int, pitch: int, height: int) -> tuple[int, int, int]:
    """Apply the caller's pitch and slice size to a surface without mips; return (status, pitch, height)."""
    if q.num_mip_levels > 1:
        return OK, pitch, height
    if q.pitch_in_element > 0:
        if q.pitch_in_element % pitch_align or q.pitch_in_element < pitch:
            return INVALID, pitch, height
        pitch = q.pitch_in_element
    if q.slice_align > 0:
        custom = q.slice_align // element_bytes // pitch
        if custom * element_bytes * pitch != q.slice_align or (q.num_slices > 1 and height != custom):
            return INVALID, pitch, height
        height = custom
    return OK, pitch, height


@kernel
def tail_extent(mode: Record, thick: bool, r: Record) -> tuple[int, int, int]:
    """Return (width, height, depth) of the largest level that fits in a mip tail: half of a block."""
    if not thick:
        return r.block_width >> 1, r.block_height, r.block_slices
    third = mode.block_log2 % 3
    return (r.block_width >> (third == 1), r.block_height >> (third == 0), r.block_slices >> (third == 2))
