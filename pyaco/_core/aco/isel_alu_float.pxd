"""Float operations and conversions that need more than one instruction; see ``isel_alu_float.pyx``."""
from pyaco._core.aco.isel_context cimport AluSelection

cdef void fill_float(AluSelection *table) noexcept nogil
