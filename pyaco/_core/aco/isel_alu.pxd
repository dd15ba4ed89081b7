"""Instruction selection of NIR's ALU instructions; see ``isel_alu.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.isel_context cimport Isel

cdef int select_alu(Isel *c, uint32_t instruction) except -1 nogil
