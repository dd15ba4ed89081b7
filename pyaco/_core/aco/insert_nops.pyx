"""Resolve hazards: dependencies that the hardware of a generation does not check itself.

One file per group of generations: ``hazards_gfx9`` (GFX6 to GFX9: wait states), ``hazards_gfx10`` and ``hazards_gfx11`` (GFX11 to GFX12: dependency
counters). GFX11.5 also wants waves that export to have a raised priority: ``export_priority``.
Needs: the result of ``insert_waitcnt``.
"""
from pyaco._core.aco.export_priority cimport export_priority_run
from pyaco._core.aco.hazards_gfx9 cimport hazards_gfx9_run
from pyaco._core.aco.hazards_gfx10 cimport hazards_gfx10_run
from pyaco._core.aco.hazards_gfx11 cimport hazards_gfx11_run
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    Program, ProgramData, gfx10, gfx11, gfx11_5, gfx6, gfx9, hardware_stage_next_gen_geometry, hardware_stage_pixel,
)

from pyaco.errors import UnsupportedError


cdef bint _needs_export_priority(const ProgramData *p) noexcept nogil:
    return p.gfx_level == gfx11_5 and (p.hardware_stage == hardware_stage_next_gen_geometry or p.hardware_stage == hardware_stage_pixel)


cdef enum:                        # options, as bits
    option_previous_part = 1
    option_force = 2


cdef int insert_nops_run(ProgramData *p, bint previous_part, bint force) except -1 nogil:
    if p.gfx_level >= gfx11:
        hazards_gfx11_run(p, previous_part, force)
        return export_priority_run(p, previous_part) if _needs_export_priority(p) else 0
    if p.gfx_level >= gfx10:
        return hazards_gfx10_run(p, force)
    if gfx6 <= p.gfx_level <= gfx9:
        return hazards_gfx9_run(p)
    with gil:
        raise UnsupportedError(f"hazards of gfx level {p.gfx_level}: no target of this package has it")


cdef int _kernel(void *ir, int option) except -1 nogil:
    insert_nops_run(<ProgramData *>ir, option & option_previous_part, (option & option_force) != 0)
    return 1


def _bits(options):
    """The options as the number that native kernels take."""
    return (option_previous_part if options.get("previous_part") else 0) | (option_force if options.get("force") else 0)


kernel = native_kernel(_kernel, lambda options, level: _bits(options))


def run(Program program not None, options=None):
    """Resolve hazards.

    Parameters
    ----------
    program : Program
        Hardware instructions and waits for memory.
    options : mapping, optional
        ``previous_part``: whether another part of the shader runs before this one (False). ``force``: from GFX10 on, every instruction
        waits for all dependency counters, to find waits that are missing (False).

    Returns
    -------
    bool
        Whether anything may have changed.
    """
    cdef int bits = _bits(options or {})
    with nogil:
        _kernel(&program.data, bits)
    return True
