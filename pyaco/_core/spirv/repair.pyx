"""The end of reading: values that no longer dominate their uses become variables, and each block's list becomes its order.

Where control flow was rebuilt with flags, NIR has paths that the module does not have, so a definition that dominates its use in SPIR-V may not
do so in NIR (Mesa repairs that with a phi builder, nir_repair_ssa.c). Here such a value is stored in a Function variable after its definition and
loaded before the use; promoting variables to SSA then inserts the phis. Derefs are instead made again at the use. Every module is checked, so
that one in which a definition does not dominate a use still gives valid NIR.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport *
from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.shader cimport *
from pyaco._core.nir.block_dominance cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport add_type
from pyaco._core.spirv.emission cimport check_size, emit_after


cdef int _prepare(Reader r, Dominance d) except -1 nogil:
    """Record each instruction's block and how each block ends."""
    cdef NodeId node = node_first_block(r.s)
    cdef ValueId row
    cdef NodeId first = node
    d.ending.assign(r.s.nodes.table.count, falls_through)
    if r.nir.block_head.size() < r.s.nodes.table.count:
        r.nir.block_head.resize(r.s.nodes.table.count)
        r.nir.block_tail.resize(r.s.nodes.table.count)
    # The prologue goes before everything else in the first block.
    if r.nir.block_head[0]:
        r.nir.next_instruction[r.nir.block_tail[0]] = r.nir.block_head[first]
        if r.nir.block_head[first] == 0:
            r.nir.block_tail[first] = r.nir.block_tail[0]
        r.nir.block_head[first] = r.nir.block_head[0]
        r.nir.block_head[0] = 0
        r.nir.block_tail[0] = 0
    while node:
        row = r.nir.block_head[node]
        while row:
            r.s.instructions.block[row] = node
            if r.s.instructions.kind[row] == nir_jump:
                d.ending[node] = ends_with_break
            row = r.nir.next_instruction[row]
        node = block_walk_next(r.s, node)
    return 0


cdef TypeId _value_type(Reader r, Repair repair, ValueId value) except 0xffffffffU nogil:
    cdef uint32_t bits = r.s.instructions.bit_size[value]
    cdef uint32_t components = r.s.instructions.components[value]
    cdef uint32_t slot = bits * 17 + components
    cdef TypeId type
    cdef TypeId scalar
    if repair.vector_types.size() <= slot:
        repair.vector_types.resize(slot + 1)
    if repair.vector_types[slot] == 0:
        type = add_type(r, type_bool if bits == 1 else type_uint, bits, components)
        if components > 1:
            scalar = add_type(r, type_bool if bits == 1 else type_uint, bits, 1)
            r.s.types.element[type] = scalar
        repair.vector_types[slot] = type + 1
    return repair.vector_types[slot] - 1


cdef ValueId _variable_of(Reader r, Repair repair, ValueId value) except 0 nogil:
    """The deref of the variable that holds a value, which is stored after its definition."""
    cdef TypeId type
    cdef ValueId deref
    cdef ValueId store
    cdef ValueId[2] sources
    cdef NodeId first = node_first_block(r.s)
    if value < repair.variable.size() and repair.variable[value]:
        return repair.variable[value]
    type = _value_type(r, repair, value)
    deref = nir_deref_new(r.s, deref_var, 1, 32, 0, mode_function_temp, type, variable_new(r.s, mode_function_temp, type))
    emit_after(&r.nir, first, 0, deref)
    r.s.instructions.block[deref] = first
    if repair.variable.size() <= value:
        repair.variable.resize(2 * value + 64)
    repair.variable[value] = deref
    sources[0] = deref
    sources[1] = value
    store = nir_intrinsic_new(r.s, intrinsic_store_deref, 0, 0, sources)
    intrinsic_set_index(r.s, store, index_write_mask, (1 << r.s.instructions.components[value]) - 1)
    emit_after(&r.nir, r.s.instructions.block[value], value, store)
    r.s.instructions.block[store] = r.s.instructions.block[value]
    return deref


cdef ValueId _insert(Reader r, NodeId block, ValueId *previous, ValueId row) except 0 nogil:
    check_size(r)
    emit_after(&r.nir, block, previous[0], row)
    r.s.instructions.block[row] = block
    previous[0] = row
    return row


cdef ValueId _available_in(Reader r, Repair repair, ValueId value, NodeId block, ValueId *previous) except 0 nogil:
    """A value equal to `value` that may be used in `block` after the instruction `previous`."""
    cdef ValueId row
    cdef ValueId source
    cdef uint32_t i
    cdef ValueId deref
    if dominates(repair.dominance, r.s.instructions.block[value], block):
        return value
    if r.s.instructions.kind[value] == nir_deref and r.s.instructions.opcode[value] != deref_var:
        row = nir_deref_new(r.s, r.s.instructions.opcode[value], r.s.instructions.components[value], r.s.instructions.bit_size[value],
                            r.s.instructions.source_count[value], r.s.instructions.mode[value], r.s.instructions.type[value],
                            r.s.instructions.data[value])
        for i in range(r.s.instructions.source_count[value]):
            source = _available_in(r, repair, source_value(r.s, value, i), block, previous)
            source_set(r.s, row, i, source)
        return _insert(r, block, previous, row)
    deref = _variable_of(r, repair, value)
    row = nir_intrinsic_new(r.s, intrinsic_load_deref, r.s.instructions.components[value],
                            r.s.instructions.bit_size[value], &deref)
    return _insert(r, block, previous, row)


cdef int _repair_block(Reader r, Repair repair, NodeId block) except -1 nogil:
    cdef ValueId previous = 0
    cdef ValueId row = r.nir.block_head[block]
    cdef ValueId source
    cdef ValueId other
    cdef uint32_t i
    cdef NodeId node = r.s.nodes.next[block]
    while row:
        for i in range(r.s.instructions.source_count[row]):
            source = source_value(r.s, row, i)
            if r.s.instructions.block[source] != block and not dominates(
                    repair.dominance, r.s.instructions.block[source], block):
                other = _available_in(r, repair, source, block, &previous)
                source_set(r.s, row, i, other)
        previous = row
        row = r.nir.next_instruction[row]
    if node and r.s.nodes.kind[node] == node_if:
        source = r.s.nodes.condition[node]
        if not dominates(repair.dominance, r.s.instructions.block[source], block):
            other = _available_in(r, repair, source, block, &previous)
            r.s.nodes.condition[node] = other
    return 0


cdef int _write_orders(Reader r) except -1 nogil:
    cdef NodeId node = node_first_block(r.s)
    cdef ValueId row
    cdef uint32_t count
    cdef OrderRow first
    while node:
        count = 0
        row = r.nir.block_head[node]
        while row:
            count += 1
            row = r.nir.next_instruction[row]
        first = table_append_many(&r.s.order.table, count)
        r.s.nodes.order_first[node] = first
        r.s.nodes.order_count[node] = count
        row = r.nir.block_head[node]
        while row:
            r.s.order.instruction[first] = row
            first += 1
            row = r.nir.next_instruction[row]
        node = block_walk_next(r.s, node)
    return 0


cdef Repair new_repair():
    cdef Repair repair = Repair()
    repair.dominance = Dominance()
    return repair


cdef int finish(Reader r, Repair repair) except -1 nogil:
    cdef uint32_t i
    _prepare(r, repair.dominance)
    dominance_compute(repair.dominance, r.s)
    for i in range(<uint32_t>repair.dominance.blocks.size()):
        _repair_block(r, repair, repair.dominance.blocks[i])
    _write_orders(r)
    nodes_index(r.s)
    return 0
