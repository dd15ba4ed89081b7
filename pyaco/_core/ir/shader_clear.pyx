"""Emptying a shader that nobody looks at any more: its owner is freed with the interpreter's lock, and rows would be cleared then."""
from pyaco._core.common.table cimport Table, table_clear
from pyaco._core.ir.shader cimport ShaderData

include "shader_tables.pxi"


cdef void shader_clear(ShaderData *s) noexcept nogil:
    cdef int index
    for index in range(table_count):
        table_clear(_table(s, index))
    table_clear(&s.next_order.table)
    table_clear(&s.lines.table)
