"""SSA repair and the final order of the instructions."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport ValueId
from pyaco._core.nir.block_dominance cimport Dominance
from pyaco._core.spirv.module cimport Reader

cdef class Repair:
    cdef Dominance dominance
    cdef vector[ValueId] variable    # by ValueId: deref of the variable that holds the value
    cdef vector[uint32_t] vector_types  # by bit size and components: TypeId + 1

# What `finish` works with: made before it, which is called once, after read_entry, and knows nothing of Python.
cdef Repair new_repair()
cdef int finish(Reader r, Repair repair) except -1 nogil
