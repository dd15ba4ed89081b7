"""Integer operations that need more than one instruction; see ``isel_alu_integer.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.isel_context cimport AluSelection, Isel
from pyaco._core.ir.program cimport TempId

cdef void fill_integer(AluSelection *table) noexcept nogil
# A sum or difference of 64 bits in `dst`; the carry or borrow out is left in c.scc or c.second.
cdef int add_sub_64(Isel *c, TempId dst, TempId a, TempId b, bint subtract) except -1 nogil
