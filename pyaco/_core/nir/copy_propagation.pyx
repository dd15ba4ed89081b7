"""Copy propagation: users of a `mov` or of a `vecN` read its operands instead, as far as swizzles can say so.

Needs: nothing. Guarantees: valid NIR; the copies may be dead afterwards (``dce``). ALU users compose swizzles; other users
are rewritten only when the copy is the whole value unchanged.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_input_sizes_flat, alu_max_inputs, alu_mov, alu_vec2, alu_vec3, alu_vec4, alu_vec5, alu_vec8, alu_vec16,
)

from pyaco._core.ir.shader cimport (
    Shader, ShaderData, nir_alu, node_if, node_walk_next, source_swizzle, source_value, swizzle_component,
)


cdef inline bint _is_vector(int opcode) noexcept nogil:
    return (opcode == alu_vec2 or opcode == alu_vec3 or opcode == alu_vec4 or opcode == alu_vec5 or opcode == alu_vec8
            or opcode == alu_vec16)


cdef inline bint _is_copy(const ShaderData *s, uint32_t value) noexcept nogil:
    return s.instructions.kind[value] == nir_alu and (
        s.instructions.opcode[value] == alu_mov or _is_vector(s.instructions.opcode[value]))


cdef uint32_t _whole(const ShaderData *s, uint32_t value) noexcept nogil:
    """What `value` is an unchanged copy of; itself when it is none."""
    cdef uint32_t origin
    cdef uint32_t component
    cdef uint32_t components
    while _is_copy(s, value):
        components = s.instructions.components[value]
        origin = source_value(s, value, 0)
        if s.instructions.components[origin] != components:
            return value
        for component in range(components):
            if s.instructions.opcode[value] == alu_mov:
                if swizzle_component(source_swizzle(s, value, 0), component) != component:
                    return value
            elif (source_value(s, value, component) != origin
                  or swizzle_component(source_swizzle(s, value, component), 0) != component):
                return value
        value = origin
    return value


cdef bint _alu_source(ShaderData *s, uint32_t instruction, uint32_t source) noexcept nogil:
    """Look through copies under one ALU operand; False when nothing changed."""
    cdef uint32_t row = s.instructions.source_first[instruction] + source
    cdef uint32_t size = alu_input_sizes_flat[<int>s.instructions.opcode[instruction] * alu_max_inputs + source]
    cdef bint progress = False
    cdef uint32_t value
    cdef uint32_t origin
    cdef uint32_t component
    cdef uint32_t picked
    cdef uint64_t swizzle
    if size == 0:
        size = s.instructions.components[instruction]
    while True:
        value = s.sources.value[row]
        if not _is_copy(s, value):
            return progress
        swizzle = 0
        if s.instructions.opcode[value] == alu_mov:
            origin = source_value(s, value, 0)
            for component in range(size):
                picked = swizzle_component(s.sources.swizzle[row], component)
                swizzle |= <uint64_t>swizzle_component(source_swizzle(s, value, 0), picked) << (4 * component)
        else:
            origin = source_value(s, value, swizzle_component(s.sources.swizzle[row], 0))
            for component in range(size):
                picked = swizzle_component(s.sources.swizzle[row], component)
                if source_value(s, value, picked) != origin:
                    return progress
                swizzle |= <uint64_t>swizzle_component(source_swizzle(s, value, picked), 0) << (4 * component)
        s.sources.value[row] = origin
        s.sources.swizzle[row] = swizzle
        progress = True


cdef bint _block(ShaderData *s, uint32_t block) noexcept nogil:
    cdef bint progress = False
    cdef uint32_t row
    cdef uint32_t instruction
    cdef uint32_t source
    cdef uint32_t value
    cdef uint32_t first
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        instruction = s.order.instruction[row]
        first = s.instructions.source_first[instruction]
        for source in range(s.instructions.source_count[instruction]):
            if s.instructions.kind[instruction] == nir_alu:
                progress |= _alu_source(s, instruction, source)
            else:
                value = _whole(s, s.sources.value[first + source])
                if value != s.sources.value[first + source]:
                    s.sources.value[first + source] = value
                    progress = True
    return progress


cdef bint copy_propagation_run(ShaderData *s) noexcept nogil:
    cdef bint progress = False
    cdef uint32_t node = 1
    cdef uint32_t value
    while node:
        if s.nodes.kind[node] == node_if:
            value = _whole(s, s.nodes.condition[node])
            progress |= value != s.nodes.condition[node]
            s.nodes.condition[node] = value
        elif s.nodes.order_count[node]:
            progress |= _block(s, node)
        node = node_walk_next(s, node)
    return progress


def run(Shader shader not None, options=None):
    """Propagate copies; True when a source changed."""
    cdef bint progress
    with nogil:
        progress = copy_propagation_run(&shader.data)
    return progress
