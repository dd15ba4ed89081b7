"""Waves per SIMD from the registers and LDS that a program uses, and the other way round."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.program cimport ProgramData

# SGPRs that the hardware allocates after the addressable ones: VCC, XNACK mask and flat_scratch (GFX9 and older).
cdef uint32_t extra_sgprs(const ProgramData *p) noexcept nogil
# Registers allocated when `addressable` are used.
cdef uint32_t sgpr_allocation(const ProgramData *p, uint32_t addressable) noexcept nogil
cdef uint32_t vgpr_allocation(const ProgramData *p, uint32_t addressable) noexcept nogil
# VGPRs that both halves of a wave share (GFX10), allocated when `used` are used.
cdef uint32_t shared_vgpr_allocation(const ProgramData *p, uint32_t used) noexcept nogil
# Registers that can be used while `waves` waves fit on a SIMD.
cdef uint32_t addressable_sgprs(const ProgramData *p, uint32_t waves) noexcept nogil
cdef uint32_t addressable_vgprs(const ProgramData *p, uint32_t waves) noexcept nogil
# Waves per SIMD below which one workgroup does not fit.
cdef uint32_t min_waves(const ProgramData *p) noexcept nogil
# `waves` reduced to what LDS and whole workgroups allow.
cdef uint32_t suitable_waves(const ProgramData *p, uint32_t waves) noexcept nogil
# Waves per SIMD for a register demand; 0: the demand exceeds what one workgroup can have, spilling is needed.
cdef uint32_t waves_of_demand(const ProgramData *p, uint32_t sgprs, uint32_t vgprs) noexcept nogil
# What RADV's statistics say of the registers and LDS that were allocated, in waves of 32 lanes (before GFX10: of 64).
cdef uint32_t waves_of_statistics(const ProgramData *p) noexcept nogil
