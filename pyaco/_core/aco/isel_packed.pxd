"""Selection of 16-bit operations on vectors of two; see ``isel_packed.pyx``."""
from pyaco._core.aco.isel_context cimport Isel
from pyaco._core.ir.program cimport TempId
from pyaco._core.ir.shader cimport ValueId

# Whether an ALU instruction has two components of 16 bits, for which `select_packed` is the way.
cdef bint is_packed(Isel *c, ValueId instruction) noexcept nogil
cdef int select_packed(Isel *c, ValueId instruction, TempId dst) except -1 nogil
