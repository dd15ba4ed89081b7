"""Priority of waves that export: see ``export_priority.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int export_priority_run(ProgramData *p, bint previous_part) except -1 nogil
