"""What is undefined need not be stored, nor chosen: it may be whatever is cheapest.

- a store of an undefined value, or of a vector of such, is removed, unless it is volatile; one of a vector of which one or two components come before
  undefined ones stores these;
- what only puts undefined values together, or takes them apart, is undefined;
- a `bcsel` between a value and an undefined one is the value;
- a phi whose sources are one value, undefined ones and itself is the value, where that is defined on all ways to the phi;
- an undefined scalar that nothing but arithmetic reads is zero, which most operations on it fold with.

Needs: nothing. Guarantees: valid NIR; what chose becomes a `mov` (``copy_propagation``). Two walks over the shader at most. Mesa does this in
``nir_opt_undef`` and ``nir_opt_remove_phis``.
"""
from libc.stdint cimport uint8_t, uint32_t

from nir_opcodes cimport (
    alu_bcsel, alu_mov, alu_pack_32_2x16, alu_pack_32_2x16_split, alu_pack_32_4x8, alu_pack_32_4x8_split, alu_pack_64_2x32,
    alu_pack_64_2x32_split, alu_pack_64_4x16, alu_unpack_32_2x16, alu_unpack_32_2x16_split_x, alu_unpack_32_2x16_split_y, alu_unpack_32_4x8,
    alu_unpack_64_2x32, alu_unpack_64_2x32_split_x, alu_unpack_64_2x32_split_y, alu_unpack_64_4x16, index_access, index_write_mask,
    intrinsic_store_deref, intrinsic_store_global, intrinsic_store_global_amd, intrinsic_store_scratch,
    intrinsic_store_shared, intrinsic_store_ssbo,
)

from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ShaderRewrite, SourceRow, ValueId, access_volatile, alu_is_vector, block_walk_next, identity_swizzle,
    intrinsic_has_index, intrinsic_index, intrinsic_set_index, nir_alu, nir_constant, nir_intrinsic, nir_load_const, nir_phi, nir_undef,
    node_first_block, node_loop, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end, source_swizzle, source_value,
)


cdef bint _is_undefined(const ShaderData *s, ValueId value) noexcept nogil:
    cdef uint32_t i
    if s.instructions.kind[value] == nir_undef:
        return True
    if s.instructions.kind[value] != nir_alu or not alu_is_vector(s.instructions.opcode[value]):
        return False
    for i in range(s.instructions.source_count[value]):
        if s.instructions.kind[source_value(s, value, i)] != nir_undef:
            return False
    return True


cdef inline bint _is_volatile(const ShaderData *s, ValueId i) noexcept nogil:
    return intrinsic_has_index(s, i, index_access) and intrinsic_index(s, i, index_access) & access_volatile


cdef bint _stores_undefined(const ShaderData *s, ValueId i) noexcept nogil:
    cdef int opcode = s.instructions.opcode[i]
    if s.instructions.kind[i] != nir_intrinsic:
        return False
    if opcode not in (intrinsic_store_deref, intrinsic_store_ssbo, intrinsic_store_shared, intrinsic_store_global, intrinsic_store_global_amd,
                      intrinsic_store_scratch) or _is_volatile(s, i):
        return False
    return _is_undefined(s, source_value(s, i, 1 if opcode == intrinsic_store_deref else 0))


cdef bint _store_less(ShaderData *s, ValueId i) noexcept nogil:
    """Leave out the undefined components at the end of what is stored. Whether there were some."""
    cdef uint32_t defined = 0
    cdef uint32_t mask, k
    cdef ValueId value
    if s.instructions.opcode[i] != intrinsic_store_deref or _is_volatile(s, i):
        return False
    value = source_value(s, i, 1)
    if s.instructions.kind[value] != nir_alu or not alu_is_vector(s.instructions.opcode[value]):
        return False
    for k in range(s.instructions.source_count[value]):
        if s.instructions.kind[source_value(s, value, k)] != nir_undef:
            defined = k + 1
    mask = intrinsic_index(s, i, index_write_mask)
    # Three components are no fewer stores than four.
    if defined > 2 or not mask >> defined or not mask & ((1 << defined) - 1):
        return False
    intrinsic_set_index(s, i, index_write_mask, <int>(mask & ((1 << defined) - 1)))
    return True


cdef inline bint _only_moves_bits(int opcode) noexcept nogil:
    return opcode in (alu_pack_32_2x16, alu_pack_32_2x16_split, alu_pack_32_4x8, alu_pack_32_4x8_split, alu_pack_64_2x32, alu_pack_64_2x32_split,
                      alu_pack_64_4x16, alu_unpack_32_2x16, alu_unpack_32_2x16_split_x, alu_unpack_32_2x16_split_y, alu_unpack_32_4x8,
                      alu_unpack_64_2x32, alu_unpack_64_2x32_split_x, alu_unpack_64_2x32_split_y, alu_unpack_64_4x16)


cdef bint _become_undefined(ShaderData *s, ValueId i) noexcept nogil:
    """What only puts undefined values together or takes them apart is one."""
    cdef uint32_t k
    if not _only_moves_bits(s.instructions.opcode[i]):
        return False
    for k in range(s.instructions.source_count[i]):
        if s.instructions.kind[source_value(s, i, k)] != nir_undef:
            return False
    s.instructions.kind[i] = nir_undef
    s.instructions.opcode[i] = 0
    s.instructions.source_count[i] = 0
    return True


cdef int _become(ShaderData *s, ValueId i, ValueId value, unsigned long long swizzle) noexcept nogil:
    """Make an instruction with sources a `mov`."""
    s.instructions.kind[i] = nir_alu
    s.instructions.opcode[i] = alu_mov
    s.instructions.source_count[i] = 1
    s.sources.value[s.instructions.source_first[i]] = value
    s.sources.swizzle[s.instructions.source_first[i]] = swizzle
    return 0


cdef inline bint _choose(ShaderData *s, ValueId i) noexcept nogil:
    """An ALU instruction that is a choice between a value and an undefined one is the value."""
    cdef uint32_t side
    if s.instructions.opcode[i] != alu_bcsel:
        return False
    for side in range(1, 3):
        if s.instructions.kind[source_value(s, i, side)] == nir_undef:
            _become(s, i, source_value(s, i, 3 - side), source_swizzle(s, i, 3 - side))
            return True
    return False


cdef bint _reaches(const ShaderData *s, ValueId value, NodeId block) noexcept nogil:
    """Whether a value that is defined at the end of a predecessor is so in each: its block stands in a list around the phi's.

    What stands there, in the same loops, runs before all that the list goes on to.
    """
    cdef NodeId list_of = s.nodes.parent[s.instructions.block[value]]
    cdef NodeId node = block
    if s.nodes.kind[s.nodes.parent[block]] == node_loop and s.nodes.first0[s.nodes.parent[block]] == block:
        node = s.nodes.parent[block]               # of a header: what stands in its list may come later
    while node:
        node = s.nodes.parent[node]
        if node == list_of:
            return True
    return False


cdef bint _merge(ShaderData *s, ValueId phi) noexcept nogil:
    """A phi of one value, but for undefined ones and itself, is that value."""
    cdef SourceRow first = s.instructions.source_first[phi]
    cdef ValueId value = 0
    cdef SourceRow row
    for row in range(first, first + s.instructions.source_count[phi]):
        if s.instructions.kind[s.sources.value[row]] == nir_undef or s.sources.value[row] == phi:
            continue
        if value and s.sources.value[row] != value:
            return False
        value = s.sources.value[row]
    if not value or not _reaches(s, value, s.instructions.block[phi]):
        return False
    _become(s, phi, value, identity_swizzle)
    return True


cdef enum:                        # Readers: of an undefined value
    arithmetic = 1
    others = 2                    # those that choose, copy or keep it


cdef inline uint8_t _way_of_reading(const ShaderData *s, ValueId i) noexcept nogil:
    if s.instructions.kind[i] != nir_alu or alu_is_vector(s.instructions.opcode[i]) or s.instructions.opcode[i] in (alu_mov, alu_bcsel):
        return others
    return arithmetic


cdef inline int _note_readers(const ShaderData *s, ValueId i, Zeroed[uint8_t] &readers) except -1 nogil:
    cdef const uint8_t *kind = s.instructions.kind
    cdef const ValueId *value = s.sources.value + s.instructions.source_first[i]
    cdef const ValueId *end = value + s.instructions.source_count[i]
    while value < end:
        if kind[value[0]] == nir_undef and s.instructions.components[value[0]] == 1:
            if readers.empty():
                readers.assign(s.instructions.table.count)
            readers[value[0]] |= _way_of_reading(s, i)
        value += 1
    return 0


cdef bint _become_zero(ShaderData *s, const Zeroed[uint8_t] &readers) except -1 nogil:
    cdef ValueId value
    cdef bint progress = False
    for value in range(<ValueId>readers.size()):
        if readers[value] == arithmetic:
            s.instructions.data[value] = s.instructions.data[nir_constant(s, 0, s.instructions.bit_size[value])]
            s.instructions.kind[value] = nir_load_const
            progress = True
    return progress


cdef int _rewrite(ShaderData *s) except -1 nogil:
    """Leave out stores, and put phis that became movs behind the others."""
    cdef ShaderRewrite rewrite
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    cdef int sweep
    shader_rewrite_begin(&rewrite, s)
    while block:
        shader_rewrite_block(&rewrite, block)
        for sweep in range(2):
            for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
                i = s.order.instruction[row]
                if (s.instructions.kind[i] == nir_phi) == (sweep == 0) and not _stores_undefined(s, i):
                    shader_rewrite_emit(&rewrite, i)
        block = block_walk_next(s, block)
    shader_rewrite_end(&rewrite)
    return 0


cdef bint _has_undefined(const ShaderData *s) noexcept nogil:
    cdef OrderRow row
    for row in range(s.order.table.count):
        if s.instructions.kind[s.order.instruction[row]] == nir_undef:
            return True
    return False


cdef bint _merge_phis(ShaderData *s) noexcept nogil:
    """All that there is to do where no value is undefined."""
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef bint moved = False
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            if s.instructions.kind[s.order.instruction[row]] != nir_phi:
                break
            moved |= _merge(s, s.order.instruction[row])
        block = block_walk_next(s, block)
    return moved


cdef bint opt_undef_run(ShaderData *s) except -1 nogil:
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    cdef bint chosen = False
    cdef bint moved = False
    cdef Zeroed[uint8_t] readers
    cdef NodeId node
    cdef uint8_t kind
    if not _has_undefined(s):
        moved = _merge_phis(s)
        block = 0
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            kind = s.instructions.kind[i]
            if kind == nir_phi:
                moved |= _merge(s, i)
            elif kind == nir_alu:
                chosen |= _choose(s, i) or _become_undefined(s, i)
            elif kind == nir_intrinsic and _stores_undefined(s, i):
                moved = True
            elif kind == nir_intrinsic:
                chosen |= _store_less(s, i)
            _note_readers(s, i, readers)
        block = block_walk_next(s, block)
    if not readers.empty():
        for node in range(s.nodes.table.count):
            readers[s.nodes.condition[node]] |= others
        chosen |= _become_zero(s, readers)
    if moved:
        _rewrite(s)
    return chosen or moved


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_undef_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Take away stores and choices of undefined values; True when there were any."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
