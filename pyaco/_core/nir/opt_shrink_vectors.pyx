"""Vector loads lose the components at their ends that nothing reads.

The load starts with the first component that is read and ends with the last one: fewer registers, and less to wait for. Elements of less than a
dword go by dwords: what is left would take several narrow accesses. Uniform loads stay as they are: the scalar unit loads four dwords as fast as
one, and neighbours join into wider loads.

Needs: divergence, which holds for the values made here too. Guarantees: offsets stay sums of a value and a constant. Mesa's
``nir_opt_shrink_vectors`` does this, to uniform loads as well.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_iadd, alu_input_sizes_flat, alu_max_inputs, index_access, index_align_mul, index_align_offset, index_base, intrinsic_index_count,
    intrinsic_load_constant, intrinsic_load_global_amd, intrinsic_load_scratch, intrinsic_load_shared, intrinsic_load_ssbo,
    intrinsic_load_ubo, intrinsic_source_count,
)
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport alu2_constant, component, constant, intrinsic_n, undefined, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, access_volatile, block_walk_next, constant_bits, intrinsic_has_index, intrinsic_index,
    intrinsic_set_index, nir_alu, nir_divergent, nir_intrinsic, nir_load_const, node_first_block, source_swizzle, source_value, swizzle_component,
    value_is_constant,
)
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lowering_run

cdef enum:
    most_components = 16

cdef struct Context:
    Zeroed[uint32_t] read          # by load: components that are read


cdef bint _is_load(const ShaderData *s, ValueId value) noexcept nogil:
    """Whether a value is loaded and may be loaded in part."""
    if s.instructions.kind[value] != nir_intrinsic or s.instructions.components[value] < 2 or not s.instructions.flags[value] & nir_divergent:
        return False
    if s.instructions.opcode[value] not in (intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_global_amd, intrinsic_load_shared,
                                            intrinsic_load_scratch, intrinsic_load_constant):
        return False
    return not (intrinsic_has_index(s, value, index_access) and intrinsic_index(s, value, index_access) & access_volatile)


cdef uint32_t _components_read(const ShaderData *s, ValueId user, uint32_t source) noexcept nogil:
    cdef uint32_t mask = 0
    cdef uint32_t i, width
    if s.instructions.kind[user] != nir_alu:
        return 0xffffffffU
    width = alu_input_sizes_flat[<int>s.instructions.opcode[user] * alu_max_inputs + source]
    for i in range(width if width else s.instructions.components[user]):
        mask |= 1 << swizzle_component(source_swizzle(s, user, source), i)
    return mask


cdef bint _note_reads(Context *c, const ShaderData *s) noexcept nogil:
    """Note what is read of loads; whether there are any."""
    cdef NodeId block = node_first_block(s)
    cdef uint32_t row, k
    cdef ValueId instruction, value
    cdef bint found = False
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            instruction = s.order.instruction[row]
            for k in range(s.instructions.source_count[instruction]):
                value = source_value(s, instruction, k)
                if _is_load(s, value):
                    c.read[value] = c.read[value] | _components_read(s, instruction, k)
                    found = True
        block = block_walk_next(s, block)
    return found


cdef void _range(const ShaderData *s, ValueId load, uint32_t read, uint32_t *first, uint32_t *count) noexcept nogil:
    """The components to load: from the first that is read to the last, whole dwords, as many as a vector may have."""
    cdef uint32_t bits = s.instructions.bit_size[load]
    cdef uint32_t unit = 32 // bits if bits < 32 else 1
    cdef uint32_t components = s.instructions.components[load]
    cdef uint32_t end = components
    first[0] = 0
    while not read >> first[0] & 1:
        first[0] += 1
    while not read >> (end - 1) & 1:
        end -= 1
    first[0] -= first[0] % unit
    end = min(components, (end + unit - 1) // unit * unit)
    count[0] = end - first[0]
    if count[0] > 4:
        count[0] = 5 if count[0] == 5 and components != 8 else 8 if count[0] <= 8 else most_components
        if count[0] >= components:
            first[0], count[0] = 0, components
        elif first[0] + count[0] > components:
            first[0] = (components - count[0]) // unit * unit


cdef int _offset_source(int opcode) noexcept nogil:
    return 1 if opcode in (intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_global_amd) else 0


cdef ValueId _offset_behind(Lowering *b, ValueId offset, uint32_t bytes) except? 0xffffffffU nogil:
    """An offset that is so many bytes more."""
    cdef ShaderData *s = b.s
    cdef uint32_t side
    cdef ValueId other, row
    cdef uint64_t fixed
    if value_is_constant(s, offset):
        return constant(b, <uint32_t>(constant_bits(s, offset, 0) + bytes), 32)
    if s.instructions.kind[offset] == nir_alu and s.instructions.opcode[offset] == alu_iadd:
        for side in range(2):
            other = source_value(s, offset, side)
            if value_is_constant(s, other):
                fixed = constant_bits(s, other, swizzle_component(source_swizzle(s, offset, side), 0)) + bytes
                row = source_value(s, offset, 1 - side)
                row = component(b, row, swizzle_component(source_swizzle(s, offset, 1 - side), 0))
                return alu2_constant(b, alu_iadd, row, <uint32_t>fixed)
    return alu2_constant(b, alu_iadd, offset, bytes)


cdef ValueId _part(Lowering *b, ValueId load, uint32_t first, uint32_t count) except? 0xffffffffU nogil:
    """A load of some of the components."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[load]
    cdef uint32_t bytes = first * s.instructions.bit_size[load] // 8
    cdef uint32_t place = _offset_source(opcode)
    cdef uint32_t align_mul = intrinsic_index(s, load, index_align_mul)
    cdef ValueId[4] sources
    cdef uint32_t i
    cdef ValueId row
    for i in range(intrinsic_source_count[opcode]):
        sources[i] = source_value(s, load, i)
    if bytes and not intrinsic_has_index(s, load, index_base):
        sources[place] = _offset_behind(b, sources[place], bytes)
    row = intrinsic_n(b, opcode, count, s.instructions.bit_size[load], sources)
    for i in range(intrinsic_index_count[opcode]):
        s.indices.value[s.instructions.data[row] + i] = s.indices.value[s.instructions.data[load] + i]
    if intrinsic_has_index(s, load, index_base):
        intrinsic_set_index(s, row, index_base, intrinsic_index(s, load, index_base) + <int>bytes)
    if align_mul:
        intrinsic_set_index(s, row, index_align_offset, <int>((<uint32_t>intrinsic_index(s, load, index_align_offset) + bytes) % align_mul))
    return row


cdef ValueId _lower(Lowering *b, ValueId load) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef uint32_t read, i
    cdef uint32_t first = 0
    cdef uint32_t count = 0
    cdef uint32_t made = s.instructions.table.count
    cdef ValueId row, nothing
    cdef ValueId[most_components] parts
    if not _is_load(s, load):
        return lower_keep
    read = c.read[load] & ((<uint32_t>1 << s.instructions.components[load]) - 1)
    if read == 0:
        return lower_keep
    _range(s, load, read, &first, &count)
    if count == s.instructions.components[load]:
        return lower_keep
    row = _part(b, load, first, count)
    nothing = undefined(b, 1, s.instructions.bit_size[load])
    for i in range(s.instructions.components[load]):
        parts[i] = component(b, row, i - first) if first <= i < first + count else nothing
    row = vector_of(b, parts, s.instructions.components[load])
    for i in range(made, s.instructions.table.count):
        if s.instructions.kind[i] != nir_load_const:
            s.instructions.flags[i] |= <uint16_t>nir_divergent
    return row


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef ShaderData *s = <ShaderData *>ir
    cdef Context c
    c.read.assign(s.instructions.table.count)
    return _note_reads(&c, s) and lowering_run(s, lower_intrinsics, _lower, &c)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Shrink loads; True where one has fewer components."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
