"""The frame of lowering passes. The contract is in ``lowering.pxd``."""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport alu_ishl, alu_ishr, alu_uror, alu_urol, alu_ushr, alu_bitz, alu_bitnz
from pyaco._core.common.floats cimport float_to_bits
from pyaco._core.ir.shader cimport (
    ShaderData, constant_bits, nir_alu, nir_alu1, nir_alu2, nir_alu3, nir_alu_n, nir_component, nir_constant,
    nir_instruction_new, nir_intrinsic_new, nir_jump, nir_load_const, nir_phi, nir_undefined, nir_vector, node_block,
    node_first_block, node_if, node_insert_after, node_loop, node_new, node_walk_next, block_walk_next,
    shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end, source_set, source_swizzle,
    source_value, swizzle_component,
)


# ----------------------------------------------------------------------------------------------------------------- walk
cdef int lowering_begin(Lowering *b, ShaderData *s) except -1 nogil:
    b.s = s
    b.progress = False
    b.block = 0
    b.replacement.assign(s.instructions.table.count, 0)
    b.tail.assign(s.nodes.table.count, 0)
    return shader_rewrite_begin(&b.rewrite, s)


cdef int lowering_rename_sources(Lowering *b, uint32_t instruction) noexcept nogil:
    cdef ShaderData *s = b.s
    cdef uint32_t row = s.instructions.source_first[instruction]
    cdef uint32_t end = row + s.instructions.source_count[instruction]
    while row < end:
        s.sources.value[row] = lowered(b, s.sources.value[row])
        row += 1
    return 0


cdef void _rename_phis(Lowering *b, uint32_t block) noexcept nogil:
    cdef ShaderData *s = b.s
    cdef uint32_t i, row, end, instruction, predecessor
    for i in range(s.nodes.order_count[block]):
        instruction = s.order.instruction[s.nodes.order_first[block] + i]
        if s.instructions.kind[instruction] != nir_phi:
            continue
        row = s.instructions.source_first[instruction]
        end = row + s.instructions.source_count[instruction]
        while row < end:
            s.sources.value[row] = lowered(b, s.sources.value[row])
            predecessor = <uint32_t>s.sources.swizzle[row]
            # Phis made by the pass name the blocks as they are now.
            if instruction < b.replacement.size() and predecessor < b.tail.size() and b.tail[predecessor]:
                s.sources.swizzle[row] = b.tail[predecessor]
            row += 1


cdef int lowering_end(Lowering *b) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef uint32_t node = 1
    shader_rewrite_end(&b.rewrite)
    while node:
        if s.nodes.kind[node] == node_block:
            _rename_phis(b, node)
        elif s.nodes.kind[node] == node_if:
            s.nodes.condition[node] = lowered(b, s.nodes.condition[node])
        node = node_walk_next(s, node)
    return 0


cdef int lowering_run(ShaderData *s, lower_function lower, void *context) except -1 nogil:
    return lowering_run_from(s, NULL, lower, context)


cdef int lowering_run_from(ShaderData *s, prologue_function prologue, lower_function lower,
                           void *context) except -1 nogil:
    cdef Lowering b
    cdef vector[uint32_t] blocks
    cdef uint32_t block = node_first_block(s)
    cdef uint32_t i, instruction, result
    cdef size_t n
    while block:
        blocks.push_back(block)
        block = block_walk_next(s, block)
    lowering_begin(&b, s)
    b.context = context
    for n in range(blocks.size()):
        block = blocks[n]
        b.block = block
        shader_rewrite_block(&b.rewrite, block)
        if n == 0 and prologue != NULL:
            prologue(&b)
        for i in range(s.nodes.order_count[block]):
            instruction = s.order.instruction[s.nodes.order_first[block] + i]
            if s.instructions.kind[instruction] != nir_phi:
                lowering_rename_sources(&b, instruction)
            result = lower(&b, instruction)
            if result == lower_keep:
                shader_rewrite_emit(&b.rewrite, instruction)
                continue
            b.progress = True
            if result != <uint32_t>lower_remove:
                b.replacement[instruction] = result
        if b.block != block:
            b.tail[block] = b.block
    lowering_end(&b)
    return b.progress


# ------------------------------------------------------------------------------------------------------------- emission
cdef uint32_t emit(Lowering *b, uint32_t instruction) except? 0xffffffffU nogil:
    shader_rewrite_emit(&b.rewrite, instruction)
    return instruction


cdef uint32_t alu1(Lowering *b, int opcode, uint32_t x) except? 0xffffffffU nogil:
    return emit(b, nir_alu1(b.s, opcode, x))


cdef uint32_t alu2(Lowering *b, int opcode, uint32_t x, uint32_t y) except? 0xffffffffU nogil:
    return emit(b, nir_alu2(b.s, opcode, x, y))


cdef uint32_t alu3(Lowering *b, int opcode, uint32_t x, uint32_t y, uint32_t z) except? 0xffffffffU nogil:
    return emit(b, nir_alu3(b.s, opcode, x, y, z))


cdef uint32_t alu4(Lowering *b, int opcode, uint32_t x, uint32_t y, uint32_t z, uint32_t w) except? 0xffffffffU nogil:
    cdef uint32_t[4] values
    values[0] = x
    values[1] = y
    values[2] = z
    values[3] = w
    return emit(b, nir_alu_n(b.s, opcode, values, 4))


cdef bint _counts_bits(int opcode) noexcept nogil:
    return opcode in (alu_ishl, alu_ishr, alu_ushr, alu_uror, alu_urol, alu_bitz, alu_bitnz)


cdef uint32_t alu2_constant(Lowering *b, int opcode, uint32_t x, uint64_t y) except? 0xffffffffU nogil:
    cdef int bit_size = 32 if _counts_bits(opcode) else b.s.instructions.bit_size[x]
    return alu2(b, opcode, x, constant(b, y, bit_size))


cdef uint32_t constant(Lowering *b, uint64_t value, int bit_size) except? 0xffffffffU nogil:
    return emit(b, nir_constant(b.s, value, bit_size))


cdef uint32_t constant_float(Lowering *b, double value, int bit_size) except? 0xffffffffU nogil:
    return constant(b, float_to_bits(value, bit_size), bit_size)


cdef uint32_t undefined(Lowering *b, int components, int bit_size) except? 0xffffffffU nogil:
    return emit(b, nir_undefined(b.s, components, bit_size))


cdef uint32_t component(Lowering *b, uint32_t value, int index) except? 0xffffffffU nogil:
    if b.s.instructions.components[value] == 1:
        return value
    return emit(b, nir_component(b.s, value, index))


cdef uint32_t vector_of(Lowering *b, const uint32_t *values, uint32_t count) except? 0xffffffffU nogil:
    if count == 1:
        return values[0]
    return emit(b, nir_vector(b.s, values, count))


cdef uint32_t intrinsic0(Lowering *b, int opcode, int components, int bit_size) except? 0xffffffffU nogil:
    return emit(b, nir_intrinsic_new(b.s, opcode, components, bit_size, NULL))


cdef uint32_t intrinsic1(Lowering *b, int opcode, int components, int bit_size, uint32_t x) except? 0xffffffffU nogil:
    return emit(b, nir_intrinsic_new(b.s, opcode, components, bit_size, &x))


cdef uint32_t intrinsic2(Lowering *b, int opcode, int components, int bit_size, uint32_t x,
                         uint32_t y) except? 0xffffffffU nogil:
    return intrinsic4(b, opcode, components, bit_size, x, y, 0, 0)


cdef uint32_t intrinsic3(Lowering *b, int opcode, int components, int bit_size, uint32_t x, uint32_t y,
                         uint32_t z) except? 0xffffffffU nogil:
    return intrinsic4(b, opcode, components, bit_size, x, y, z, 0)


cdef uint32_t intrinsic4(Lowering *b, int opcode, int components, int bit_size, uint32_t x, uint32_t y,
                         uint32_t z, uint32_t w) except? 0xffffffffU nogil:
    cdef uint32_t[4] values
    values[0] = x
    values[1] = y
    values[2] = z
    values[3] = w
    return emit(b, nir_intrinsic_new(b.s, opcode, components, bit_size, values))


cdef uint32_t alu_source(Lowering *b, uint32_t instruction, int source, int index) except? 0xffffffffU nogil:
    return component(b, source_value(b.s, instruction, source),
                     swizzle_component(source_swizzle(b.s, instruction, source), index))


cdef bint constant_source(const ShaderData *s, uint32_t instruction, int source, uint64_t *bits) noexcept nogil:
    cdef uint32_t value = source_value(s, instruction, source)
    if s.instructions.kind[value] != nir_load_const:
        return False
    bits[0] = constant_bits(s, value, swizzle_component(source_swizzle(s, instruction, source), 0)
                            if s.instructions.kind[instruction] == nir_alu else 0)
    return True


# --------------------------------------------------------------------------------------------------------- control flow
cdef int _open(Lowering *b, uint32_t block) except -1 nogil:
    b.block = block
    return shader_rewrite_block(&b.rewrite, block)


cdef uint32_t lower_if_begin(Lowering *b, uint32_t condition) except? 0xffffffffU nogil:
    cdef uint32_t node = node_new(b.s, node_if)
    cdef uint32_t after = node_new(b.s, node_block)
    node_insert_after(b.s, node, b.block)
    node_insert_after(b.s, after, node)
    b.s.nodes.condition[node] = condition
    _open(b, b.s.nodes.first0[node])
    return node


cdef int lower_if_else(Lowering *b, uint32_t node) except -1 nogil:
    return _open(b, b.s.nodes.first1[node])


cdef int lower_if_end(Lowering *b, uint32_t node) except -1 nogil:
    return _open(b, b.s.nodes.next[node])


cdef uint32_t phi2(Lowering *b, uint32_t then_value, uint32_t then_block, uint32_t else_value,
                   uint32_t else_block) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef uint32_t row = nir_instruction_new(s, nir_phi, 0, s.instructions.components[then_value],
                                            s.instructions.bit_size[then_value], 2)
    source_set(s, row, 0, then_value)
    source_set(s, row, 1, else_value)
    s.sources.swizzle[s.instructions.source_first[row]] = then_block
    s.sources.swizzle[s.instructions.source_first[row] + 1] = else_block
    return emit(b, row)


cdef uint32_t lower_loop_begin(Lowering *b) except? 0xffffffffU nogil:
    cdef uint32_t node = node_new(b.s, node_loop)
    cdef uint32_t after = node_new(b.s, node_block)
    node_insert_after(b.s, node, b.block)
    node_insert_after(b.s, after, node)
    _open(b, b.s.nodes.first0[node])
    return node


cdef int lower_loop_end(Lowering *b, uint32_t node) except -1 nogil:
    return _open(b, b.s.nodes.next[node])


cdef int lower_jump(Lowering *b, int kind) except -1 nogil:
    emit(b, nir_instruction_new(b.s, nir_jump, kind, 0, 0, 0))
    return 0
