"""What lowering passes share. The contract is in ``lowering.pxd``."""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_b2b16, alu_b2b32, alu_b2b8, alu_b2f16, alu_b2f32, alu_b2f64, alu_bcsel, alu_iadd, alu_iand, alu_ilt, alu_ine, alu_ixor,
    alu_output_type, alu_u2u64, alu_unpack_64_2x32_split_x, alu_unpack_64_2x32_split_y, intrinsic_index_count,
    intrinsic_mbcnt_amd,
)
from pyaco._core.common.table cimport table_reserve
from pyaco._core.ir.emitter cimport Emitter, alu1, alu2, alu2_constant, alu3, constant, emit, intrinsic2, intrinsic_n, vector_of
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, ShaderData, SourceRow, ValueId, block_walk_next, constant_bits, nir_alu, nir_load_const, nir_phi, nir_phi_new, node_block,
    node_first_block, node_if, node_insert_after, node_loop, node_new, node_walk_next, phi_set, shader_rewrite_begin, shader_rewrite_block,
    shader_rewrite_emit, shader_rewrite_end, source_swizzle, source_value, swizzle_component,
    type_float,
)
from pyaco._core.ir.source_lines cimport lines_inherit


# ----------------------------------------------------------------------------------------------------------------- walk
cdef int _place(Emitter *e, ValueId instruction, bint early) except -1 nogil:
    cdef Lowering *b = <Lowering *>e
    if not b.begun:
        _begin(b)
    return shader_rewrite_emit(&b.rewrite, instruction)


cdef int _begin(Lowering *b) except -1 nogil:
    """Begin to write: what the walk has passed stays as it is."""
    cdef ShaderData *s = b.s
    cdef uint32_t n, i, count
    cdef NodeId block
    b.begun = True
    b.replacement.assign(b.first_new)
    b.tail.assign(s.nodes.table.count)
    shader_rewrite_begin(&b.rewrite, s)
    for n in range(b.reached + 1):
        block = b.blocks[n]
        shader_rewrite_block(&b.rewrite, block)
        count = b.position if n == b.reached else s.nodes.order_count[block]
        for i in range(count):
            shader_rewrite_emit(&b.rewrite, s.order.instruction[s.nodes.order_first[block] + i])
    return 0


cdef inline void _rename_sources(Lowering *b, ValueId instruction) noexcept nogil:
    cdef ShaderData *s = b.s
    cdef const ValueId *replacement = b.replacement.data()
    cdef ValueId first_new = b.first_new
    cdef ValueId *value = s.sources.value + s.instructions.source_first[instruction]
    cdef ValueId *end = value + s.instructions.source_count[instruction]
    while value < end:
        if value[0] < first_new and replacement[value[0]]:
            value[0] = replacement[value[0]]
        value += 1


cdef void _rename_phis(Lowering *b, NodeId block) noexcept nogil:
    cdef ShaderData *s = b.s
    cdef uint32_t i
    cdef SourceRow row, end
    cdef ValueId instruction
    cdef NodeId predecessor
    for i in range(s.nodes.order_count[block]):
        instruction = s.order.instruction[s.nodes.order_first[block] + i]
        if s.instructions.kind[instruction] != nir_phi:
            break
        row = s.instructions.source_first[instruction]
        end = row + s.instructions.source_count[instruction]
        while row < end:
            s.sources.value[row] = lowered(b, s.sources.value[row])
            predecessor = <uint32_t>s.sources.swizzle[row]
            # Phis made by the pass refer to the new blocks already.
            if instruction < b.replacement.size() and predecessor < b.tail.size() and b.tail[predecessor]:
                s.sources.swizzle[row] = b.tail[predecessor]
            row += 1


cdef int _end(Lowering *b) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef NodeId node = 1
    shader_rewrite_end(&b.rewrite)
    while node:
        if s.nodes.kind[node] == node_block:
            _rename_phis(b, node)
        elif s.nodes.kind[node] == node_if:
            s.nodes.condition[node] = lowered(b, s.nodes.condition[node])
        node = node_walk_next(s, node)
    return 0


cdef int lowering_run(ShaderData *s, uint32_t kinds, lower_function lower, void *context) except -1 nogil:
    return lowering_run_from(s, NULL, kinds, lower, context)


cdef inline void _pass_over(Lowering *b, uint32_t kinds) noexcept nogil:
    """Go on to the next instruction of some kinds, or to the end of the block, as long as nothing is written."""
    cdef const ShaderData *s = b.s
    cdef const ValueId *order = s.order.instruction + s.nodes.order_first[b.blocks[b.reached]]
    cdef uint32_t count = s.nodes.order_count[b.blocks[b.reached]]
    cdef uint32_t position = b.position
    while position < count and not kinds >> s.instructions.kind[order[position]] & 1:
        position += 1
    b.position = position


cdef int _write_over(Lowering *b, NodeId block, uint32_t kinds) except -1 nogil:
    """Write what stands before the next instruction of some kinds, or before the end of the block."""
    cdef ShaderData *s = b.s
    cdef const ValueId *order = s.order.instruction + s.nodes.order_first[block]
    cdef uint32_t count = s.nodes.order_count[block]
    cdef uint32_t position = b.position
    cdef OrderRow row = s.next_order.table.count
    cdef ValueId instruction
    table_reserve(&s.next_order.table, count - position)
    while position < count:
        instruction = order[position]
        if kinds >> s.instructions.kind[instruction] & 1:
            break
        if s.instructions.kind[instruction] != nir_phi:
            _rename_sources(b, instruction)
        if b.block != block:
            s.instructions.block[instruction] = b.block
        s.next_order.instruction[row] = instruction
        row += 1
        position += 1
    s.next_order.table.count = row
    b.position = position
    return 0


cdef int _lower_block(Lowering *b, uint32_t kinds, lower_function lower) except -1 nogil:
    """Lower the instructions of the block that the walk has reached."""
    cdef ShaderData *s = b.s
    cdef NodeId block = b.blocks[b.reached]         # whose contents stand there, also where the prologue has split it
    cdef uint32_t made
    cdef ValueId instruction, result
    while True:
        if b.begun:
            _write_over(b, block, kinds)
        else:
            _pass_over(b, kinds)
        if b.position >= s.nodes.order_count[block]:
            break
        instruction = s.order.instruction[s.nodes.order_first[block] + b.position]
        if b.begun:
            _rename_sources(b, instruction)
        made = s.instructions.table.count
        result = lower(b, instruction)
        if result == lower_keep and not b.begun and made == s.instructions.table.count:
            b.position += 1           # most instructions are nothing to most passes
            continue
        lines_inherit(&s.lines, made, s.instructions.table.count, instruction)
        if result == lower_keep:
            if b.begun:
                shader_rewrite_emit(&b.rewrite, instruction)
        else:
            if not b.begun:
                _begin(b)
            b.progress = True
            if result != <uint32_t>lower_remove:
                b.replacement[instruction] = result
        b.position += 1
    if b.block != block:
        b.tail[block] = b.block
    return 0


cdef int lowering_run_from(ShaderData *s, prologue_function prologue, uint32_t kinds, lower_function lower, void *context) except -1 nogil:
    cdef Lowering b
    cdef NodeId block = node_first_block(s)
    b.blocks.reserve(s.nodes.table.count)
    while block:
        b.blocks.push_back(block)
        block = block_walk_next(s, block)
    b.s = s
    b.place = _place
    b.exact = False
    b.progress = False
    b.begun = False
    b.context = context
    b.first_new = s.instructions.table.count
    for b.reached in range(<uint32_t>b.blocks.size()):
        b.position = 0
        b.block = b.blocks[b.reached]
        if b.begun:
            shader_rewrite_block(&b.rewrite, b.block)
        if b.reached == 0 and prologue != NULL:
            prologue(&b)
        _lower_block(&b, kinds, lower)
    if b.begun:
        _end(&b)
    return b.progress


# ------------------------------------------------------------------------------------------- what several passes make
cdef ValueId subgroup_invocation(Lowering *b) except? 0xffffffffU nogil:
    return intrinsic2(b, intrinsic_mbcnt_amd, 1, 32, constant(b, 0xffffffffffffffffULL, b.s.info.wave_size), constant(b, 0, 32))


cdef ValueId lane_mask_words(Lowering *b, ValueId mask, uint32_t components, uint32_t bit_size) except? 0xffffffffU nogil:
    cdef uint32_t wave = b.s.info.wave_size
    cdef ValueId[4] words
    cdef uint32_t i
    if bit_size == wave:
        words[0] = mask
    elif bit_size == 64:
        words[0] = alu1(b, alu_u2u64, mask)
    else:
        words[0] = alu1(b, alu_unpack_64_2x32_split_x, mask)
    for i in range(1, components):
        if i == 1 and bit_size == 32 and wave == 64:
            words[1] = alu1(b, alu_unpack_64_2x32_split_y, mask)
        else:
            words[i] = constant(b, 0, bit_size)
    return vector_of(b, words, components)


cdef ValueId modulo_of_remainder(Lowering *b, ValueId remainder, ValueId divisor) except? 0xffffffffU nogil:
    cdef ValueId differ = alu2_constant(b, alu_ilt, alu2(b, alu_ixor, remainder, divisor), 0)
    cdef ValueId wanted = alu2(b, alu_iand, differ, alu2_constant(b, alu_ine, remainder, 0))
    return alu3(b, alu_bcsel, wanted, alu2(b, alu_iadd, remainder, divisor), remainder)


cdef ValueId wide_boolean(Lowering *b, int opcode, int bits, ValueId truth) except? 0xffffffffU nogil:
    if alu_output_type[opcode] >> 8 == type_float:
        return alu1(b, alu_b2f16 if bits == 16 else (alu_b2f32 if bits == 32 else alu_b2f64), truth)
    return alu1(b, alu_b2b8 if bits == 8 else (alu_b2b16 if bits == 16 else alu_b2b32), truth)


cdef ValueId with_sources(Lowering *b, ValueId instruction, const ValueId *sources, uint32_t bits) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId row = intrinsic_n(b, opcode, 1, bits, sources)
    cdef uint32_t i
    for i in range(intrinsic_index_count[opcode]):
        b.s.indices.value[b.s.instructions.data[row] + i] = b.s.indices.value[b.s.instructions.data[instruction] + i]
    return row


# ------------------------------------------------------------------------------------------------------------- constants
cdef bint constant_source(const ShaderData *s, ValueId instruction, int source, uint64_t *bits) noexcept nogil:
    cdef ValueId value = source_value(s, instruction, source)
    if s.instructions.kind[value] != nir_load_const:
        return False
    bits[0] = constant_bits(s, value, swizzle_component(source_swizzle(s, instruction, source), 0)
                            if s.instructions.kind[instruction] == nir_alu else 0)
    return True


# --------------------------------------------------------------------------------------------------------- control flow
cdef int _open(Lowering *b, NodeId block) except -1 nogil:
    if not b.begun:
        _begin(b)
    b.block = block
    return shader_rewrite_block(&b.rewrite, block)


cdef NodeId lower_if_begin(Lowering *b, ValueId condition) except? 0xffffffffU nogil:
    cdef NodeId node = node_new(b.s, node_if)
    cdef NodeId after = node_new(b.s, node_block)
    node_insert_after(b.s, node, b.block)
    node_insert_after(b.s, after, node)
    b.s.nodes.condition[node] = condition
    _open(b, b.s.nodes.first0[node])
    return node


cdef int lower_if_else(Lowering *b, NodeId node) except -1 nogil:
    return _open(b, b.s.nodes.first1[node])


cdef int lower_if_end(Lowering *b, NodeId node) except -1 nogil:
    return _open(b, b.s.nodes.next[node])


cdef NodeId lower_loop_begin(Lowering *b) except? 0xffffffffU nogil:
    cdef NodeId node = node_new(b.s, node_loop)
    cdef NodeId after = node_new(b.s, node_block)
    node_insert_after(b.s, node, b.block)
    node_insert_after(b.s, after, node)
    _open(b, b.s.nodes.first0[node])
    return node


cdef int lower_loop_end(Lowering *b, NodeId node) except -1 nogil:
    return _open(b, b.s.nodes.next[node])


cdef ValueId lower_loop_phi(Lowering *b, ValueId initial, NodeId before) except? 0xffffffffU nogil:
    cdef ValueId row = nir_phi_new(b.s, 1, b.s.instructions.bit_size[initial], 2)
    phi_set(b.s, row, 0, initial, before)
    return emit(b, row)


cdef ValueId lower_exit_phi(Lowering *b, ValueId value, NodeId block) except? 0xffffffffU nogil:
    cdef ValueId row = nir_phi_new(b.s, 1, b.s.instructions.bit_size[value], 1)
    phi_set(b.s, row, 0, value, block)
    return emit(b, row)
