"""The optimizer: what extends the result of a short load: see ``optimize_loads.pyx``."""
from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId

# An extension of a byte or a half that scalar memory gave (GFX12).
cdef bint combine_short_load(Context *c, InstructionId i) except -1 nogil
# An extension of a byte or a half that vector memory or LDS gave.
cdef bint combine_extended_load(Context *c, InstructionId i) except -1 nogil
