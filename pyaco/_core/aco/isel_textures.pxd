"""Instruction selection of texture instructions; see ``isel_textures.pyx``."""
from pyaco._core.aco.isel_context cimport Isel
from pyaco._core.ir.shader cimport ValueId

cdef int select_texture(Isel *c, ValueId i) except -1 nogil
