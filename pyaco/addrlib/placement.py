"""Where the texels of one mip level lie: a base, a grid of blocks, the equation of a block, and what is xored to every offset.

GFX9 to GFX12 all address texels so; the layout of a generation fills in a `PLACE`, and addresses, their inverses and the tiling
kernels read it.
"""

from __future__ import annotations

from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import Record, Table, record

__all__ = ["PLACE", "address_of", "coordinates_of", "equation_offset"]

PLACE = record(
    "equation block_log2 width_log2 height_log2 depth_log2 element_bytes base pitch slice_bytes x_offset y_offset flip "
    "width height depth samples")
"""A mip level. `equation` is -1 for a linear level, whose `pitch` counts elements; a tiled level's counts blocks. `slice_bytes` is the
distance of slices (of layers of blocks, for blocks with depth); `flip` is xored to the offset in a block; width, height, depth (slices)
and samples bound the coordinates. Offsets in x and y place a level in its mip tail."""


@kernel
def xor_of_bits(columns: Table, value: int) -> int:
    """Return the xor of the columns of the bits that are set."""
    offset = 0
    bit = 0
    while value:
        if value & 1:
            offset ^= columns[bit]
        value >>= 1
        bit += 1
    return offset


@kernel
def equation_offset(basis: Table, equation: int, x: int, y: int, z: int, s: int) -> int:
    """Return the byte offset in a block."""
    columns = basis[equation]
    return xor_of_bits(columns[0], x) ^ xor_of_bits(columns[1], y) ^ xor_of_bits(columns[2], z) ^ xor_of_bits(columns[3], s)


@kernel
def address_of(basis: Table, p: Record, x: int, y: int, z: int, s: int) -> int:
    """Return the byte address of a texel, relative to the surface."""
    if p.equation < 0:
        return p.base + z * p.slice_bytes + (y * p.pitch + x) * p.element_bytes
    block = (y >> p.height_log2) * p.pitch + (x >> p.width_log2)
    offset = equation_offset(basis, p.equation, x + p.x_offset, y + p.y_offset, z, s) ^ p.flip
    return p.base + (z >> p.depth_log2) * p.slice_bytes + (block << p.block_log2) + offset


@kernel
def coordinates_of(basis: Table, inverse: Table, p: Record, address: int) -> tuple[bool, int, int, int, int]:
    """Return (found, x, y, z, s) of the texel that holds the byte at `address`; not found: the byte does not belong to this level."""
    rest = address - p.base
    if rest < 0:
        return False, 0, 0, 0, 0
    layer = rest // p.slice_bytes
    rest -= layer * p.slice_bytes
    if p.equation < 0:
        row = rest // p.element_bytes
        x, y, z, s = row % p.pitch, row // p.pitch, layer, 0
    else:
        block = rest >> p.block_log2
        row = max(p.pitch, 1)
        x, y, z = (block % row) << p.width_log2, (block // row) << p.height_log2, layer << p.depth_log2
        offset = (rest & ((1 << p.block_log2) - 1)) ^ p.flip ^ equation_offset(basis, p.equation, x, y, z, 0)
        label = 0
        bit = 0
        while offset:
            if offset & 1:
                label ^= inverse[p.equation, bit]
            offset >>= 1
            bit += 1
        x |= label & 0xFFFF
        y |= (label >> 16) & 0xFFFF
        if p.x_offset or p.y_offset:
            # Places in the tail of GFX12's 3D blocks wrap around in the block.
            x = (x - p.x_offset) & ((1 << p.width_log2) - 1)
            y = (y - p.y_offset) & ((1 << p.height_log2) - 1)
        z |= (label >> 32) & 0xFFFF
        s = (label >> 48) & 0xFFFF
    return 0 <= x < p.width and 0 <= y < p.height and z < p.depth and s < p.samples, x, y, z, s
