"""Spilling: fewer live values than registers. Programs whose demand fits are left alone."""
from pyaco._core.ir.program cimport Program, ProgramData, progress_after_spilling

from pyaco.errors import UnsupportedError


cdef int spill_run(ProgramData *p) except -1 nogil:
    if p.num_waves == 0:
        with gil:
            raise UnsupportedError(f"spilling: {p.max_demand_sgpr} SGPRs and {p.max_demand_vgpr} VGPRs are live at once")
    p.progress = progress_after_spilling
    return 0


def run(Program program, options=None):
    """Spill where the register demand exceeds the limit. Liveness must be current, and is afterwards. Returns True."""
    with nogil:
        spill_run(&program.data)
    return True
