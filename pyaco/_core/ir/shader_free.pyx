"""Freeing the tables of a shader that nobody looks at any more: its owner is freed with the interpreter's lock."""
from pyaco._core.common.table cimport Table, table_free
from pyaco._core.ir.shader cimport ShaderData

include "shader_tables.pxi"


cdef void shader_free(ShaderData *s) noexcept nogil:
    cdef int index
    for index in range(table_count):
        table_free(_table(s, index))
    table_free(&s.next_order.table)
    table_free(&s.lines.table)
