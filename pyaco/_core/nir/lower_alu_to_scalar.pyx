"""Vector ALU operations, phis and constants become scalar ones.

Guarantees: every ALU instruction but mov, vecN and the opcodes of fixed width has one component; phis have one
component; an ALU source never names a vector constant. Horizontal operations (fdotN, fsumN, ball_*, bany_*) become chains;
a dot product is a chain of fused multiply-adds unless it is exact.

As Mesa's nir_lower_alu_width and nir_lower_phis_to_scalar in effect.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_each, alu_ffma, alu_fmul, alu_input_count, alu_input_sizes_flat, alu_join, alu_max_inputs, alu_mov, alu_one_bit, alu_output_size,
)
from pyaco._core.ir.emitter cimport alu2, alu3, alu_source, constant, emit, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ShaderRewrite, ValueId, alu_is_vector, block_walk_next, constant_bits, nir_alu, nir_component, nir_constant,
    nir_exact, nir_instruction_new, nir_jump, nir_load_const, nir_phi, nir_phi_new, nir_vector, node_first_block, phi_set,
    shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end, source_set, source_swizzle, source_value,
    swizzle_component,
)
from pyaco._core.nir.lowering cimport Lowering, lower_alu, lower_keep, lowering_run, wide_boolean


cdef ValueId _reduce(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """A chain of the operation on each component and the one that joins, and the result as the opcode gives it."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int base = alu_one_bit[opcode]
    cdef int each = alu_each[base]
    cdef int width = alu_input_sizes_flat[opcode * alu_max_inputs]
    cdef int components = s.instructions.components[instruction]
    cdef ValueId[16] copies
    cdef ValueId result = 0
    cdef ValueId left, right, term
    cdef int i
    b.exact = (s.instructions.flags[instruction] & nir_exact) != 0
    for i in range(width):
        left = alu_source(b, instruction, 0, i)
        right = alu_source(b, instruction, 1, i) if alu_input_count[opcode] == 2 else 0
        if each == alu_fmul and i and not b.exact:
            result = alu3(b, alu_ffma, left, right, result)
            continue
        term = alu2(b, each, left, right) if right else left
        result = alu2(b, alu_join[base], result, term) if i else term
    b.exact = False
    if base != opcode:
        result = wide_boolean(b, opcode, s.instructions.bit_size[instruction], result)
    for i in range(components):
        copies[i] = result
    return vector_of(b, copies, components)


cdef ValueId _split(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """One scalar instruction per component and a vector of them."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int components = s.instructions.components[instruction]
    cdef int sources = alu_input_count[opcode]
    cdef ValueId[16] values
    cdef ValueId row
    cdef int i, k
    for i in range(components):
        row = nir_instruction_new(s, nir_alu, opcode, 1, s.instructions.bit_size[instruction], sources)
        s.instructions.flags[row] = s.instructions.flags[instruction]
        for k in range(sources):
            source_set(s, row, k, source_value(s, instruction, k))
            # An operand of fixed size is used whole for each component.
            s.sources.swizzle[s.instructions.source_first[row] + k] = source_swizzle(s, instruction, k) if alu_input_sizes_flat[
                opcode * alu_max_inputs + k] else swizzle_component(source_swizzle(s, instruction, k), i)
        values[i] = emit(b, row)
    return vector_of(b, values, components)


cdef int _scalar_constants(Lowering *b, ValueId instruction) except -1 nogil:
    """Replace sources that name a component of a vector constant by scalar constants."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint32_t k
    cdef ValueId value
    cdef uint64_t bits
    for k in range(s.instructions.source_count[instruction]):
        value = source_value(s, instruction, k)
        if s.instructions.kind[value] != nir_load_const or s.instructions.components[value] == 1:
            continue
        if s.instructions.components[instruction] != 1 and not alu_is_vector(opcode):
            continue
        if alu_input_sizes_flat[opcode * alu_max_inputs + k] > 1:
            continue
        bits = constant_bits(s, value, swizzle_component(source_swizzle(s, instruction, k), 0))
        value = constant(b, bits, s.instructions.bit_size[value])
        source_set(s, instruction, k, value)
        s.sources.swizzle[s.instructions.source_first[instruction] + k] = 0
        b.progress = True
    return 0


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    if s.instructions.kind[instruction] != nir_alu:
        return lower_keep
    _scalar_constants(b, instruction)
    if alu_join[<int>alu_one_bit[opcode]] != alu_mov:
        return _reduce(b, instruction)
    if s.instructions.components[instruction] == 1 or alu_output_size[opcode] != 0 or opcode == alu_mov:
        return lower_keep
    return _split(b, instruction)


# ------------------------------------------------------------------------------------------------------------------ phis
cdef int _append_components(ShaderData *s, vector[ValueId] &tail, ValueId value, ValueId *parts) except -1 nogil:
    """Components of `value` as scalars, made at the end of a block."""
    cdef uint32_t i
    cdef ValueId row
    for i in range(s.instructions.components[value]):
        if s.instructions.kind[value] == nir_load_const:
            row = nir_constant(s, constant_bits(s, value, i), s.instructions.bit_size[value])
        else:
            row = nir_component(s, value, i)
        parts[i] = row
        tail.push_back(row)
    return 0


cdef int _become_vector(ShaderData *s, ValueId phi, vector[ValueId] &values) except -1 nogil:
    """Turn a phi into the vecN of the scalar phis."""
    cdef ValueId vector_value = nir_vector(s, values.data(), <uint32_t>values.size())
    s.instructions.kind[phi] = nir_alu
    s.instructions.opcode[phi] = s.instructions.opcode[vector_value]
    s.instructions.source_first[phi] = s.instructions.source_first[vector_value]
    s.instructions.source_count[phi] = s.instructions.source_count[vector_value]
    return 0


cdef struct SplitPhis:
    vector[vector[ValueId]] tails             # by block node: instructions to insert before its jump
    vector[vector[ValueId]] scalars           # of each phi that is split
    vector[uint32_t] row                      # by instruction: row + 1 in scalars


cdef int _split_phi(ShaderData *s, SplitPhis *split, ValueId phi) except -1 nogil:
    """A scalar phi for each component, not yet placed, and their operands at the ends of the predecessors."""
    cdef vector[ValueId] values
    cdef uint32_t components = s.instructions.components[phi]
    cdef uint32_t k, n
    cdef ValueId row
    cdef NodeId predecessor
    cdef ValueId[16] parts
    for _ in range(components):
        row = nir_phi_new(s, 1, s.instructions.bit_size[phi], s.instructions.source_count[phi])
        values.push_back(row)
    for n in range(s.instructions.source_count[phi]):
        predecessor = <uint32_t>source_swizzle(s, phi, n)
        _append_components(s, split.tails[predecessor], source_value(s, phi, n), parts)
        for k in range(components):
            phi_set(s, values[k], n, parts[k], predecessor)
    split.scalars.push_back(values)
    split.row[phi] = <uint32_t>split.scalars.size()
    return 0


cdef int _write_block(ShaderRewrite *rewrite, SplitPhis *split, NodeId block) except -1 nogil:
    """Write a block: phis, the vectors of split ones, the rest, the tail, the jump. A vector takes the id of the old phi, so that
    no use changes."""
    cdef ShaderData *s = rewrite.shader
    cdef OrderRow first = s.nodes.order_first[block]
    cdef uint32_t count = s.nodes.order_count[block]
    cdef uint32_t phis = 0
    cdef uint32_t last = count
    cdef uint32_t i, k
    cdef ValueId instruction
    while phis < count and s.instructions.kind[s.order.instruction[first + phis]] == nir_phi:
        instruction = s.order.instruction[first + phis]
        if split.row[instruction]:
            for k in range(split.scalars[split.row[instruction] - 1].size()):
                shader_rewrite_emit(rewrite, split.scalars[split.row[instruction] - 1][k])
        else:
            shader_rewrite_emit(rewrite, instruction)
        phis += 1
    for i in range(phis):
        instruction = s.order.instruction[first + i]
        if split.row[instruction]:
            _become_vector(s, instruction, split.scalars[split.row[instruction] - 1])
            shader_rewrite_emit(rewrite, instruction)
    if last > phis and s.instructions.kind[s.order.instruction[first + last - 1]] == nir_jump:
        last -= 1
    for i in range(phis, last):
        shader_rewrite_emit(rewrite, s.order.instruction[first + i])
    for i in range(split.tails[block].size()):
        shader_rewrite_emit(rewrite, split.tails[block][i])
    for i in range(last, count):
        shader_rewrite_emit(rewrite, s.order.instruction[first + i])
    return 0


cdef bint _phis_to_scalar(ShaderData *s) except -1 nogil:
    cdef SplitPhis split
    cdef ShaderRewrite rewrite
    cdef NodeId block
    cdef uint32_t i
    cdef ValueId instruction
    split.row.assign(s.instructions.table.count, 0)
    split.tails.resize(s.nodes.table.count)
    block = node_first_block(s)
    while block:
        for i in range(s.nodes.order_count[block]):
            instruction = s.order.instruction[s.nodes.order_first[block] + i]
            if s.instructions.kind[instruction] != nir_phi:
                break
            if s.instructions.components[instruction] > 1:
                _split_phi(s, &split, instruction)
        block = block_walk_next(s, block)
    if split.scalars.size() == 0:
        return False
    shader_rewrite_begin(&rewrite, s)
    block = node_first_block(s)
    while block:
        shader_rewrite_block(&rewrite, block)
        _write_block(&rewrite, &split, block)
        block = block_walk_next(s, block)
    shader_rewrite_end(&rewrite)
    return True


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef ShaderData *s = <ShaderData *>ir
    cdef bint progress = _phis_to_scalar(s)
    progress |= lowering_run(s, lower_alu, _lower, NULL)
    return progress


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Make ALU operations and phis scalar."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
