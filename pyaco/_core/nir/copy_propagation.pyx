"""Copy propagation: users of a `mov` or of a `vecN` read its operands instead, where a swizzle can express it.

Needs: nothing. Guarantees: valid NIR; the copies may be dead afterwards (``dce``). ALU users compose swizzles; other users
are rewritten only when the copy is the whole value in its own order.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport alu_count, alu_input_sizes_flat, alu_max_inputs, alu_mov

from pyaco._core.ir.pass_runner cimport kernel_changed, kernel_steady, native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, SourceRow, ValueId, alu_is_vector, nir_alu, node_if, node_walk_next, source_swizzle, source_value,
    swizzle_component,
)


cdef uint8_t[alu_count] _copies    # by opcode
_copies[:] = [opcode == alu_mov or alu_is_vector(opcode) for opcode in range(alu_count)]


cdef inline bint _is_copy(const ShaderData *s, ValueId value) noexcept nogil:
    return s.instructions.kind[value] == nir_alu and _copies[s.instructions.opcode[value]]


cdef ValueId _copied_value(const ShaderData *s, bint *hinges, ValueId value) noexcept nogil:
    """The value that `value` is an unchanged copy of; `value` itself if it is no copy. Sets `hinges` where two values would have to be equal."""
    cdef ValueId origin
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
            elif source_value(s, value, component) != origin:
                hinges[0] = True
                return value
            elif swizzle_component(source_swizzle(s, value, component), 0) != component:
                return value
        value = origin
    return value


cdef bint _propagate_to_alu(ShaderData *s, bint *hinges, ValueId instruction, uint32_t source) noexcept nogil:
    """Make one ALU operand read what its copies were made from; False when nothing changed."""
    cdef SourceRow row = s.instructions.source_first[instruction] + source
    cdef uint32_t size = alu_input_sizes_flat[<int>s.instructions.opcode[instruction] * alu_max_inputs + source]
    cdef bint progress = False
    cdef ValueId value
    cdef ValueId origin
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
                    hinges[0] = True
                    return progress
                swizzle |= <uint64_t>swizzle_component(source_swizzle(s, value, picked), 0) << (4 * component)
        s.sources.value[row] = origin
        s.sources.swizzle[row] = swizzle
        progress = True


cdef bint _block(ShaderData *s, bint *hinges, NodeId block) noexcept nogil:
    cdef bint progress = False
    cdef OrderRow row
    cdef ValueId instruction
    cdef ValueId value
    cdef ValueId *source
    cdef ValueId *first
    cdef ValueId *end
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        instruction = s.order.instruction[row]
        source = first = s.sources.value + s.instructions.source_first[instruction]
        end = first + s.instructions.source_count[instruction]
        while source < end:
            if not _is_copy(s, source[0]):
                pass
            elif s.instructions.kind[instruction] == nir_alu:
                progress |= _propagate_to_alu(s, hinges, instruction, <uint32_t>(source - first))
            else:
                value = _copied_value(s, hinges, source[0])
                progress |= value != source[0]
                source[0] = value
            source += 1
    return progress


cdef bint _has_copies(const ShaderData *s) noexcept nogil:
    cdef OrderRow row
    for row in range(s.order.table.count):
        if _is_copy(s, s.order.instruction[row]):
            return True
    return False


cdef int copy_propagation_run(ShaderData *s) noexcept nogil:
    """Returns as kernels do."""
    cdef bint progress = False
    cdef bint hinges = False
    cdef NodeId node = 1
    cdef ValueId value
    if not _has_copies(s):
        return kernel_steady
    while node:
        if s.nodes.kind[node] == node_if:
            value = _copied_value(s, &hinges, s.nodes.condition[node])
            progress |= value != s.nodes.condition[node]
            s.nodes.condition[node] = value
        elif s.nodes.order_count[node]:
            progress |= _block(s, &hinges, node)
        node = node_walk_next(s, node)
    if progress:
        return kernel_changed
    return 0 if hinges else kernel_steady


cdef int _kernel(void *ir, int option) except -1 nogil:
    return copy_propagation_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Propagate copies; True when a source changed."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0) & kernel_changed
    return progress
