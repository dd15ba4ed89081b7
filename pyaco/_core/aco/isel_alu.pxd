"""Instruction selection of NIR's ALU instructions; see ``isel_alu.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.isel_context cimport Isel
from pyaco._core.ir.shader cimport ValueId

cdef int select_alu(Isel *c, ValueId instruction) except -1 nogil
