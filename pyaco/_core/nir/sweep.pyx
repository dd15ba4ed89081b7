"""Rows of instructions that stand in no block any more go, and those that stay are numbered in the order of the code.

Passes leave behind what they replace: behind ``vars_to_ssa`` two of three rows hold nothing, where structures are copied hundreds for one. All that
passes keep by value is as long as there are numbers, and what stays lies scattered among what does not. With numbers in order, a walk over the
code goes through columns from their start to their end.

It waits until fewer than two thirds of the rows are in use, so that all its runs together cost no more than the making of the rows did. Constants,
indices and what textures have stay where they are: rows of instructions name them.

Needs: nothing. Guarantees: the same code; a `ValueId` that was taken before names another instruction. Mesa frees what is not reached any more in
``nir_sweep``, and gives numbers anew in ``nir_index_ssa_defs``.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.table cimport Table, table_append_many, table_columns
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport NodeId, OrderRow, Shader, ShaderData, SourceRow, ValueId

cdef enum:
    fewest_rows = 32              # of a table that is worth it

ctypedef fused Element:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef inline void _gather_column(Element *column, Element *gathered, const SmallVector[uint32_t] &kept) noexcept nogil:
    cdef size_t k
    for k in range(kept.size()):
        gathered[k] = column[kept[k]]
    memcpy(column, gathered, kept.size() * sizeof(Element))


cdef void _gather(Table *table, const SmallVector[uint32_t] &kept, uint64_t *scratch) noexcept nogil:
    """Leave a table the rows `kept`, which become its first ones in that order; `scratch` has a word for each."""
    cdef uint32_t column
    cdef uint8_t size
    cdef uint8_t *rows
    for column in range(table.column_count):
        size = table.element_sizes[column]
        rows = <uint8_t *>table_columns(table)[column]
        if size == 1:
            _gather_column(rows, <uint8_t *>scratch, kept)
        elif size == 2:
            _gather_column(<uint16_t *>rows, <uint16_t *>scratch, kept)
        elif size == 4:
            _gather_column(<uint32_t *>rows, <uint32_t *>scratch, kept)
        else:
            _gather_column(<uint64_t *>rows, scratch, kept)
        memset(rows + kept.size() * size, 0, (table.count - kept.size()) * size)
    table.count = <uint32_t>kept.size()


cdef int _number(ShaderData *s, SmallVector[uint32_t] &kept, Zeroed[ValueId] &number) except -1 nogil:
    """Which rows stay, and by these the numbers that they get."""
    cdef OrderRow row
    cdef ValueId instruction
    kept.reserve(s.order.table.count + 1)
    kept.push_back(0)
    for row in range(s.order.table.count):
        instruction = s.order.instruction[row]
        if number[instruction] == 0:
            number[instruction] = <ValueId>kept.size()
            kept.push_back(instruction)
        s.order.instruction[row] = number[instruction]
    return 0


cdef int _keep_sources(ShaderData *s, const SmallVector[uint32_t] &instructions, SmallVector[uint32_t] &kept) except -1 nogil:
    """Which rows of sources the instructions have, and where these will be."""
    cdef size_t k
    cdef SourceRow first, row
    for k in range(instructions.size()):
        first = s.instructions.source_first[instructions[k]]
        s.instructions.source_first[instructions[k]] = <SourceRow>kept.size()
        for row in range(first, first + s.instructions.source_count[instructions[k]]):
            kept.push_back(row)
    return 0


cdef inline int _have_rows(Table *table, size_t count) except -1 nogil:
    if table.count < count:
        table_append_many(table, <uint32_t>count - table.count)
    return 0


cdef int sweep_run(ShaderData *s) except -1 nogil:
    cdef SmallVector[uint32_t] kept
    cdef SmallVector[uint32_t] kept_sources
    cdef SmallVector[uint64_t] scratch
    cdef Zeroed[ValueId] number
    cdef SourceRow row
    cdef NodeId node
    if s.instructions.table.count < fewest_rows or 3 * s.order.table.count > 2 * s.instructions.table.count:
        return 0
    number.assign(s.instructions.table.count)
    _number(s, kept, number)
    _keep_sources(s, kept, kept_sources)
    _have_rows(&s.sources.table, kept_sources.size())      # an instruction and one that took its place may have had the same
    scratch.resize(max(kept.size(), kept_sources.size()))
    if s.lines.table.count:
        _have_rows(&s.lines.table, s.instructions.table.count)
        _gather(&s.lines.table, kept, scratch.data())
    _gather(&s.instructions.table, kept, scratch.data())
    _gather(&s.sources.table, kept_sources, scratch.data())
    for row in range(s.sources.table.count):
        s.sources.value[row] = number[s.sources.value[row]]
    for node in range(s.nodes.table.count):
        s.nodes.condition[node] = number[s.nodes.condition[node]]
    return 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    return sweep_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Number the instructions anew where most rows are not in use; False, as the code stays what it is."""
    with nogil:
        _kernel(&shader.data, 0)
    return False
