"""Resolve hazards: dependencies that the hardware of a generation does not check itself.

One file per group of generations: ``hazards_gfx9`` (wait states) and ``hazards_gfx11`` (GFX11 to GFX12: dependency
counters). GFX10.3 needs nothing. Needs: the result of ``insert_waitcnt``.
"""
from pyaco._core.aco.hazards_gfx9 cimport hazards_gfx9_run
from pyaco._core.aco.hazards_gfx11 cimport hazards_gfx11_run
from pyaco._core.ir.program cimport Program, ProgramData, gfx10_3, gfx11, gfx9


cdef int insert_nops_run(ProgramData *p) except -1 nogil:
    if p.gfx_level >= gfx11:
        return hazards_gfx11_run(p)
    if p.gfx_level >= gfx10_3:
        return 0
    if p.gfx_level == gfx9:
        return hazards_gfx9_run(p)
    with gil:
        from pyaco.errors import UnsupportedError
        raise UnsupportedError(f"hazards of gfx level {p.gfx_level}: no target of this package has it")


def run(Program program, options=None):
    """Resolve hazards."""
    with nogil:
        insert_nops_run(&program.data)
    return True
