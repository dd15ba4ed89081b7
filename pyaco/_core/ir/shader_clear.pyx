"""Emptying a shader that nobody looks at any more, before its owner is freed: that happens with the interpreter's lock, and would clear the rows then."""
from libc.stdint cimport uint32_t

from pyaco._core.common.table cimport Table, table_clear
from pyaco._core.ir.shader cimport ShaderData

include "shader_tables.pxi"


cdef void shader_clear(ShaderData *s) noexcept nogil:
    cdef int index
    for index in range(table_count):
        table_clear(_table(s, index))
    table_clear(&s.next_order.table)
    table_clear(&s.lines.table)
