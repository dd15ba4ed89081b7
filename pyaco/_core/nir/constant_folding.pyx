"""Constant folding: an ALU instruction whose operands are all constants becomes a constant, in place.

Needs: nothing. Guarantees: valid NIR; ids do not change; the folded operands may be dead. Selections (bcsel) with a
constant condition and branches stay for ``algebraic`` and ``dead_control_flow``.
The values of opcodes are those of ``evaluate.pyx``.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport alu_input_count, alu_input_sizes_flat, alu_max_inputs

from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ValueId, block_walk_next, nir_alu, nir_load_const, node_first_block, source_swizzle,
    source_value, swizzle_component,
)
from pyaco._core.nir.evaluate cimport evaluate_alu, operand_bits


cdef inline bint _operands_are_constant(const ShaderData *s, ValueId instruction) noexcept nogil:
    cdef uint32_t i
    for i in range(s.instructions.source_count[instruction]):
        if s.instructions.kind[source_value(s, instruction, i)] != nir_load_const:
            return False
    return True


cdef bint fold(ShaderData *s, ValueId instruction) except -1 nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int components = s.instructions.components[instruction]
    cdef uint64_t[16][16] storage
    cdef (const uint64_t *)[16] operands
    cdef uint64_t[16] result
    cdef ValueId value
    cdef uint32_t first
    cdef int size
    cdef int i
    cdef int j
    if not _operands_are_constant(s, instruction):
        return False
    for i in range(alu_input_count[opcode]):
        value = source_value(s, instruction, i)
        size = alu_input_sizes_flat[opcode * alu_max_inputs + i]
        for j in range(size if size else components):
            storage[i][j] = s.constants.value[s.instructions.data[value]
                                              + swizzle_component(source_swizzle(s, instruction, i), j)]
        operands[i] = storage[i]
    if not evaluate_alu(opcode, operand_bits(s, instruction), s.instructions.bit_size[instruction], components, operands, result):
        return False
    first = table_append_many(&s.constants.table, components)
    for i in range(components):
        s.constants.value[first + i] = result[i]
    s.instructions.kind[instruction] = nir_load_const
    s.instructions.opcode[instruction] = 0
    s.instructions.source_count[instruction] = 0
    s.instructions.data[instruction] = first
    return True


cdef bint constant_folding_run(ShaderData *s) except -1 nogil:
    cdef bint progress = False
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId instruction
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            instruction = s.order.instruction[row]
            if s.instructions.kind[instruction] == nir_alu and fold(s, instruction):
                progress = True
        block = block_walk_next(s, block)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return constant_folding_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Fold constants; True when an instruction changed."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
