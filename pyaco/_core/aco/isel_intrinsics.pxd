"""Instruction selection of NIR's intrinsics; see ``isel_intrinsics.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.aco.isel_context cimport Isel

cdef int select_intrinsic(Isel *c, uint32_t instruction) except -1 nogil
