"""Floats of 8 and 16 bits that NIR has no types for, as 32-bit floats and back, by integer operations.

Types are those of ``ir/cooperative_matrix.pxd``: ``cmat_bf16``, ``cmat_e4m3`` and ``cmat_e5m2``. Values may be vectors.
"""
from libc.stdint cimport uint32_t

from pyaco._core.ir.emitter cimport Emitter
from pyaco._core.ir.shader cimport ValueId

# Exact.
cdef ValueId single_from(Emitter *e, ValueId value, int type) except 0 nogil
# Rounded to the nearest, ties to even. What is too large becomes infinite, or without infinities a NaN; `saturate`: the largest number.
cdef ValueId single_to(Emitter *e, ValueId value, int type, bint saturate) except 0 nogil
