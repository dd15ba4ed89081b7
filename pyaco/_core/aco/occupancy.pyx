"""Occupancy of a SIMD.

Sources: allocation granules and register file sizes of the AMD ISA documents ("Wave state"); the meaning of
"waves" follows RADV's ``VK_AMD_shader_info``. Nothing here changes the program.
"""
from libc.stdint cimport uint32_t

from pyaco._core.ir.program cimport ProgramData, gfx8, gfx10


# A program read from text may come without a device: zero granules and counts stand for "no limit known".
cdef inline uint32_t _ceil_div(uint32_t a, uint32_t b) noexcept nogil:
    return (a + b - 1) // b if b else a


cdef inline uint32_t _div(uint32_t a, uint32_t b) noexcept nogil:
    return a // b if b else a


cdef inline uint32_t _align(uint32_t a, uint32_t granule) noexcept nogil:
    return _ceil_div(a, granule) * granule if granule else a


cdef uint32_t extra_sgprs(const ProgramData *p) noexcept nogil:
    if p.gfx_level >= gfx10:
        return 0
    if p.gfx_level >= gfx8:
        if p.config.uses_scratch:
            return 6
        if p.device.xnack_enabled:
            return 4
    elif p.config.uses_scratch:
        return 4
    return 2 if p.config.uses_vcc else 0


cdef uint32_t sgpr_allocation(const ProgramData *p, uint32_t addressable) noexcept nogil:
    cdef uint32_t granule = p.device.sgpr_allocation_granule
    cdef uint32_t used = addressable + extra_sgprs(p)
    return _align(used if used > granule else granule, granule)


cdef uint32_t vgpr_allocation(const ProgramData *p, uint32_t addressable) noexcept nogil:
    cdef uint32_t granule = p.device.vgpr_allocation_granule
    return _align(addressable if addressable > granule else granule, granule)


cdef uint32_t shared_vgpr_allocation(const ProgramData *p, uint32_t used) noexcept nogil:
    """VGPRs that the halves of a wave64 share: each takes half the place of another, so the granule is twice as large."""
    return _align(used, 2 * p.device.vgpr_allocation_granule)


cdef uint32_t _allocated_vgprs(const ProgramData *p, uint32_t addressable) noexcept nogil:
    """What a wave takes of the register file."""
    return vgpr_allocation(p, addressable) + p.config.num_shared_vgprs // 2


cdef uint32_t addressable_sgprs(const ProgramData *p, uint32_t waves) noexcept nogil:
    cdef uint32_t granule = p.device.sgpr_allocation_granule
    cdef uint32_t registers = _div(p.device.physical_sgprs, waves)
    if registers > 128:
        registers = 128
    registers = _div(registers, granule) * (granule if granule else 1) - extra_sgprs(p)
    return registers if registers < p.device.sgpr_limit else p.device.sgpr_limit


cdef uint32_t addressable_vgprs(const ProgramData *p, uint32_t waves) noexcept nogil:
    cdef uint32_t granule = p.device.vgpr_allocation_granule
    cdef uint32_t registers = _div(_div(p.device.physical_vgprs, waves), granule) * (granule if granule else 1)
    cdef uint32_t shared = p.config.num_shared_vgprs
    # Shared ones have the numbers after the others.
    return min(max(registers, shared // 2) - shared // 2, max(p.device.vgpr_limit, shared) - shared)


cdef uint32_t _waves_per_workgroup(const ProgramData *p) noexcept nogil:
    if p.workgroup_size == 0xffffffffU or p.workgroup_size == 0:
        return 1
    return _ceil_div(p.workgroup_size, p.wave_size)


cdef uint32_t _simds(const ProgramData *p) noexcept nogil:
    """SIMDs over which a workgroup may spread."""
    return p.device.simds_per_cu * (2 if p.wgp_mode else 1)


cdef uint32_t min_waves(const ProgramData *p) noexcept nogil:
    return _ceil_div(_waves_per_workgroup(p), _simds(p))


cdef uint32_t suitable_waves(const ProgramData *p, uint32_t waves) noexcept nogil:
    cdef uint32_t simds = _simds(p)
    cdef uint32_t per_workgroup = _waves_per_workgroup(p)
    cdef uint32_t workgroups = waves * simds // per_workgroup
    cdef uint32_t lds = 0
    cdef uint32_t lds_total = p.device.lds_limit * (2 if p.wgp_mode else 1)
    cdef uint32_t workgroup_limit = 32 if p.wgp_mode else 16
    if p.config.lds_bytes:
        lds = _align(p.config.lds_bytes, p.device.lds_allocation_granule)
        if _div(lds_total, lds) < workgroups:
            workgroups = _div(lds_total, lds)
    # The dispatcher tracks at most 16 workgroups of several waves per CU.
    if per_workgroup > 1 and workgroups > workgroup_limit:
        workgroups = workgroup_limit
    # Workgroups do not divide evenly among the SIMDs; report the fullest one.
    simds = _ceil_div(workgroups * per_workgroup, simds)
    return simds if simds < waves else waves


cdef uint32_t waves_of_demand(const ProgramData *p, uint32_t sgprs, uint32_t vgprs) noexcept nogil:
    cdef uint32_t least = min_waves(p)
    cdef uint32_t waves
    cdef uint32_t by_vgprs
    if sgprs > addressable_sgprs(p, least) or vgprs > addressable_vgprs(p, least):
        return 0
    waves = _div(p.device.physical_sgprs, sgpr_allocation(p, sgprs))
    by_vgprs = _div(p.device.physical_vgprs, _allocated_vgprs(p, vgprs))
    if by_vgprs < waves:
        waves = by_vgprs
    if p.device.max_waves_per_simd < waves:
        waves = p.device.max_waves_per_simd
    return suitable_waves(p, waves)


cdef uint32_t waves_of_statistics(const ProgramData *p) noexcept nogil:
    """Waves of 32 lanes (before GFX10: of 64) that fit on a SIMD, as RADV counts them for its statistic "Subgroups per SIMD".

    Registers and LDS alone decide: it knows neither how workgroups divide among SIMDs nor that the hardware has no more slots for
    narrow waves than for wide ones.
    """
    cdef uint32_t waves = p.device.max_waves_per_simd * (64 // p.wave_size)
    cdef uint32_t lds = _align(p.config.lds_bytes, p.device.lds_allocation_granule) // _waves_per_workgroup(p)
    if p.gfx_level < gfx10:
        waves = min(waves, _div(p.device.physical_sgprs, p.config.num_sgprs))
    waves = min(waves, _div(p.device.physical_vgprs, p.config.num_vgprs + p.config.num_shared_vgprs // 2))
    if lds:
        waves = min(waves, _ceil_div(_div(p.device.lds_limit, p.device.simds_per_cu), lds))
    return waves * p.wave_size // 32 if p.gfx_level >= gfx10 else waves
