"""Parallel copies to machine instructions: see ``parallel_copy.pyx``."""
from libc.stdint cimport int16_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.ir.program cimport Definition, Operand, ProgramData, Rewrite

cdef struct Target:               # one dword register that is written
    uint16_t reg                  # file index: SGPR n at n, VGPR n at 256 + n
    uint8_t pending               # bytes still to be written, a bit each
    uint8_t constant              # those of them that are constant
    uint8_t linear                # a linear VGPR: written in all lanes
    uint8_t partial               # not a plain copy of one whole register or constant
    uint16_t[4] source            # byte address each byte comes from
    uint8_t[4] value              # constant bytes
    uint8_t[4] uses               # pending bytes, of any target, that read this byte

cdef cppclass CopySolver:
    Rewrite *out
    ProgramData *p
    uint16_t fp_mode
    uint16_t scratch              # SGPR that may be clobbered, register_none: none
    bint keep_scc
    vector[Target] targets
    vector[uint32_t] ready
    int16_t[512] target_of        # by file index, -1 none

cdef void solver_init(CopySolver *s, Rewrite *out) noexcept nogil
# `size` bytes of the operand, from its byte `offset` on, go to byte address `to`.
cdef int solver_add(CopySolver *s, uint32_t to, bint linear, Operand o, uint32_t offset, uint32_t size) except -1 nogil
# Emit the instructions for everything added since the last call.
cdef int solver_run(CopySolver *s, uint16_t fp_mode, uint16_t scratch, bint keep_scc) except -1 nogil
# One constant into one dword register.
cdef int emit_constant(Rewrite *out, uint16_t reg, uint32_t value) except -1 nogil
