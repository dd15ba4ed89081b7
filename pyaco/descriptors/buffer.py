"""Buffer descriptors (V#): four dwords that say where a buffer lies and how accesses to it are checked.

Sources: AMD "Vega" ISA document 8.1.8, "RDNA 2" 8.1.8, "RDNA3" 9.1.8, "RDNA4" 9.1.8 "Buffer Resource Descriptor"; Mesa's
``radv_descriptor_set.c`` and ``ac_descriptors`` for the values that RADV chooses.
"""

from __future__ import annotations

from pyaco.errors import InputError

__all__ = ["raw_buffer"]

# dst_sel: x, y, z, w in order
_IDENTITY = 4 | 5 << 3 | 6 << 6 | 7 << 9
_OOB_RAW = 3


def raw_buffer(address: int, size: int, gfx_level: int) -> tuple[int, int, int, int]:
    """Return the descriptor of an untyped buffer, as RADV makes it for storage and uniform buffers.

    Stride 0, so that ``num_records`` counts bytes; all components in order; a 32-bit unsigned format; range checks of raw
    buffers.

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
    word0 = address & 0xFFFFFFFF
    word1 = address >> 32 & 0xFFFF
    if gfx_level >= 110:
        # unified format 20 is 32_UINT
        word3 = _IDENTITY | 20 << 12 | _OOB_RAW << 28
    elif gfx_level >= 100:
        # unified format 20 is 32_UINT; resource_level 1
        word3 = _IDENTITY | 20 << 12 | 1 << 24 | _OOB_RAW << 28
    else:
        # num_format uint, data_format 32
        word3 = _IDENTITY | 4 << 12 | 4 << 15
    return word0, word1, size, word3
