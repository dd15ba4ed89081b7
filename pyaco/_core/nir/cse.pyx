"""Common subexpression elimination over the tree of control flow.

An expression is replaced by an equal one that comes earlier in the same list or in a list around it: in structured control
flow those are the values that dominate it. One walk with a scoped hash table; leaving a list undoes its entries. An entry stands near the
place that its newest source has by number, as long as there is room: code that is walked in order then finds its part of the table in the
cache, where hashes alone would reach all over it. Loads of memory are expressions where they may be reordered (``opt_access``). Operands of
commutative opcodes count in either order. Operations between lanes (reads of other lanes, votes, scans) are expressions within their block,
where the same lanes take part.
Needs: nothing. Guarantees: valid NIR; replaced instructions are gone.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_input_sizes_flat, alu_max_inputs, alu_properties, alu_property_commutative, index_access, intrinsic_bindless_image_load,
    intrinsic_bindless_image_sparse_load, intrinsic_flag_can_eliminate, intrinsic_flag_can_reorder, intrinsic_flag_convergent,
    intrinsic_flags, intrinsic_image_deref_load, intrinsic_image_deref_sparse_load, intrinsic_index_count, intrinsic_load_global,
    intrinsic_load_global_amd, intrinsic_load_ssbo,
)

from pyaco._core.common.hashing cimport hash_mix
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ShaderRewrite, SourceRow, ValueId, access_can_reorder, block_walk_next, intrinsic_index, nir_alu,
    nir_deref, nir_exact, nir_intrinsic, nir_load_const, nir_no_signed_wrap, nir_no_unsigned_wrap, nir_phi, node_block, node_first_block,
    node_if, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end, source_swizzle,
)

cdef enum:
    wrap_flags = nir_no_signed_wrap | nir_no_unsigned_wrap
    pure = intrinsic_flag_can_eliminate | intrinsic_flag_can_reorder    # an intrinsic with both has the same value anywhere ...
    near_slots = 8                # that are tried first
    values_near = 4               # as many as leave half of them free, where each value is the newest source of one other

cdef struct Slot:
    ValueId instruction           # 0: free
    uint32_t hash                 # of it: most comparisons end here, without a look at the instruction
    NodeId block                  # where its value is that of equal ones; 0 everywhere below

cdef struct Scope:
    vector[Slot] slots            # hash table: near the newest source's, then linear probing from the hash
    vector[uint32_t] log          # filled slots, in order
    uint32_t mask


cdef inline bint _loads_memory(int opcode) noexcept nogil:
    """Loads whose memory may change while the shader runs, unless `opt_access` found that it does not."""
    return opcode in (intrinsic_load_ssbo, intrinsic_load_global, intrinsic_load_global_amd, intrinsic_image_deref_load,
                      intrinsic_image_deref_sparse_load, intrinsic_bindless_image_load, intrinsic_bindless_image_sparse_load)


cdef inline bint _is_between_lanes(const ShaderData *s, ValueId instruction) noexcept nogil:
    """Operations whose value depends on which lanes take part: those of one block have the same."""
    return s.instructions.kind[instruction] == nir_intrinsic and s.instructions.components[instruction] != 0 and \
        intrinsic_flags[<int>s.instructions.opcode[instruction]] & intrinsic_flag_convergent != 0


cdef bint _eligible(const ShaderData *s, ValueId instruction) noexcept nogil:
    cdef uint8_t kind = s.instructions.kind[instruction]
    cdef int opcode = s.instructions.opcode[instruction]
    if kind == nir_intrinsic and _loads_memory(opcode):
        return intrinsic_index(s, instruction, index_access) & access_can_reorder != 0
    if kind == nir_intrinsic:
        return _is_between_lanes(s, instruction) or intrinsic_flags[opcode] & pure == pure
    return kind == nir_alu or kind == nir_load_const or kind == nir_deref


cdef inline uint64_t _swizzle_bits(const ShaderData *s, ValueId instruction, uint32_t source) noexcept nogil:
    """The components that an ALU instruction reads of an operand; 0 for other instructions."""
    cdef uint32_t size
    if s.instructions.kind[instruction] != nir_alu:
        return 0
    size = alu_input_sizes_flat[<int>s.instructions.opcode[instruction] * alu_max_inputs + source]
    if size == 0:
        size = s.instructions.components[instruction]
    return source_swizzle(s, instruction, source) & ~<uint64_t>0 >> (64 - 4 * size)


cdef inline bint _is_commutative(const ShaderData *s, ValueId instruction) noexcept nogil:
    """Whether the first two operands may change places."""
    return s.instructions.kind[instruction] == nir_alu and \
        alu_properties[<int>s.instructions.opcode[instruction]] & alu_property_commutative != 0


cdef inline uint64_t _step(uint64_t hash, uint64_t word) noexcept nogil:
    """The step of a hash whose high half counts: cheaper than ``hash_mix``."""
    return (hash ^ word) * 0x9e3779b97f4a7c15ULL


cdef uint64_t _hash_of_alu(const ShaderData *s, ValueId instruction, ValueId *newest) noexcept nogil:
    """A hash of the operands, and the newest of them."""
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint32_t components = s.instructions.components[instruction]
    cdef uint32_t count = s.instructions.source_count[instruction]
    cdef SourceRow first = s.instructions.source_first[instruction]
    cdef const ValueId *values = s.sources.value + first
    cdef const uint64_t *swizzles = s.sources.swizzle + first
    cdef uint64_t hash = 0
    cdef uint64_t[2] words
    cdef uint64_t word
    cdef uint32_t i, size
    cdef ValueId latest = 0
    cdef bint commutes = alu_properties[opcode] & alu_property_commutative != 0
    for i in range(count):
        size = alu_input_sizes_flat[opcode * alu_max_inputs + i]
        if size == 0:
            size = components
        latest = max(latest, values[i])
        word = _step(0, values[i] | (swizzles[i] & ~<uint64_t>0 >> (64 - 4 * size)) << 32)
        if commutes and i < 2:
            words[i] = word ^ word >> 32
            if i == 1:
                hash = _step(hash, words[0] + words[1])
        else:
            hash = _step(hash, word)
    newest[0] = latest
    return hash


cdef uint64_t _hash_of_others(const ShaderData *s, ValueId instruction, ValueId *newest) noexcept nogil:
    """A hash of operands and of what else there is, and the newest operand, of an instruction that is no ALU instruction."""
    cdef const ValueId *values = s.sources.value + s.instructions.source_first[instruction]
    cdef uint32_t data = s.instructions.data[instruction]
    cdef uint8_t kind = s.instructions.kind[instruction]
    cdef uint64_t hash = 0
    cdef uint32_t i
    newest[0] = 0
    for i in range(s.instructions.source_count[instruction]):
        newest[0] = max(newest[0], values[i])
        hash = _step(hash, values[i])
    if kind == nir_load_const:
        for i in range(s.instructions.components[instruction]):
            hash = hash_mix(hash, s.constants.value[data + i])
    elif kind == nir_intrinsic:
        for i in range(intrinsic_index_count[s.instructions.opcode[instruction]]):
            hash = hash_mix(hash, <uint64_t>s.indices.value[data + i])
    elif kind == nir_deref:
        hash = _step(hash, data)
    return hash


cdef uint32_t _hash(const ShaderData *s, ValueId instruction, NodeId block, ValueId *newest) noexcept nogil:
    cdef uint64_t hash
    if s.instructions.kind[instruction] == nir_alu:
        hash = _hash_of_alu(s, instruction, newest)
    else:
        hash = _hash_of_others(s, instruction, newest)
    hash = _step(hash, s.instructions.opcode[instruction] | <uint64_t>s.instructions.components[instruction] << 16
                 | <uint64_t>s.instructions.bit_size[instruction] << 24 | <uint64_t>s.instructions.kind[instruction] << 32)
    return <uint32_t>(_step(hash ^ hash >> 32, block) >> 32)


cdef inline bint _same_source(const ShaderData *s, ValueId a, uint32_t of_a, ValueId b, uint32_t of_b) noexcept nogil:
    return (s.sources.value[s.instructions.source_first[a] + of_a] == s.sources.value[s.instructions.source_first[b] + of_b]
            and _swizzle_bits(s, a, of_a) == _swizzle_bits(s, b, of_b))


cdef bint _equal(const ShaderData *s, ValueId a, ValueId b) noexcept nogil:
    cdef uint32_t i
    cdef uint32_t first = 0
    if (s.instructions.kind[a] != s.instructions.kind[b] or s.instructions.opcode[a] != s.instructions.opcode[b]
            or s.instructions.components[a] != s.instructions.components[b]
            or s.instructions.bit_size[a] != s.instructions.bit_size[b]
            or s.instructions.source_count[a] != s.instructions.source_count[b]):
        return False
    if _is_commutative(s, a) and _same_source(s, a, 0, b, 1) and _same_source(s, a, 1, b, 0):
        first = 2
    for i in range(first, s.instructions.source_count[a]):
        if not _same_source(s, a, i, b, i):
            return False
    if s.instructions.kind[a] == nir_load_const:
        for i in range(s.instructions.components[a]):
            if s.constants.value[s.instructions.data[a] + i] != s.constants.value[s.instructions.data[b] + i]:
                return False
    elif s.instructions.kind[a] == nir_intrinsic:
        for i in range(intrinsic_index_count[s.instructions.opcode[a]]):
            if s.indices.value[s.instructions.data[a] + i] != s.indices.value[s.instructions.data[b] + i]:
                return False
    elif s.instructions.kind[a] == nir_deref:
        return (s.instructions.data[a] == s.instructions.data[b] and s.instructions.type[a] == s.instructions.type[b]
                and s.instructions.mode[a] == s.instructions.mode[b])
    return True


cdef inline bint _is_same(const ShaderData *s, const Slot &found, const Slot &one) noexcept nogil:
    return found.hash == one.hash and found.block == one.block and _equal(s, found.instruction, one.instruction)


cdef ValueId _find_or_insert(const ShaderData *s, Scope *scope, ValueId instruction, NodeId block) noexcept nogil:
    """An equal instruction in scope, or else `instruction` itself, which is added to the table."""
    cdef Slot one
    cdef Slot *slots = scope.slots.data()
    cdef ValueId newest
    cdef uint32_t slot, near, probe
    one.instruction = instruction
    one.block = block if _is_between_lanes(s, instruction) else 0
    one.hash = _hash(s, instruction, one.block, &newest)
    near = newest // values_near * near_slots & scope.mask if newest else one.hash & scope.mask & ~<uint32_t>(near_slots - 1)
    for probe in range(<uint32_t>near_slots):
        slot = near | (one.hash + probe & <uint32_t>(near_slots - 1))
        if slots[slot].instruction == 0:
            break
        if _is_same(s, slots[slot], one):
            return slots[slot].instruction
    else:
        slot = one.hash & scope.mask
        while slots[slot].instruction:
            if _is_same(s, slots[slot], one):
                return slots[slot].instruction
            slot = (slot + 1) & scope.mask
    slots[slot] = one
    scope.log.push_back(slot)
    return instruction


cdef void _rename_sources(ShaderData *s, const vector[ValueId] &replaced, ValueId instruction) noexcept nogil:
    cdef SourceRow row
    for row in range(s.instructions.source_first[instruction],
                     s.instructions.source_first[instruction] + s.instructions.source_count[instruction]):
        if replaced[s.sources.value[row]]:
            s.sources.value[row] = replaced[s.sources.value[row]]


cdef bint _block(ShaderData *s, Scope *scope, vector[ValueId] &replaced, NodeId block, bint progress) except -1 nogil:
    """`progress` says whether a value has been replaced so far, and so does what is returned."""
    cdef OrderRow row
    cdef ValueId instruction
    cdef ValueId earlier
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        instruction = s.order.instruction[row]
        if progress:
            _rename_sources(s, replaced, instruction)
        if not _eligible(s, instruction):
            continue
        earlier = _find_or_insert(s, scope, instruction, block)
        if earlier != instruction:
            replaced[instruction] = earlier
            s.instructions.flags[earlier] |= s.instructions.flags[instruction] & nir_exact
            # The merged value has a no-wrap flag only if both instructions had it.
            s.instructions.flags[earlier] &= s.instructions.flags[instruction] | <unsigned short>(~wrap_flags & 0xffff)
            progress = True
    return progress


cdef bint _list(ShaderData *s, Scope *scope, vector[ValueId] &replaced, NodeId node, bint progress) except -1 nogil:
    """Process the siblings from `node` on, in a scope of their own; `progress` as in `_block`."""
    cdef size_t mark = scope.log.size()
    cdef bint whole = node == s.nodes.first0[1]
    while node:
        if s.nodes.kind[node] == node_block:
            progress = _block(s, scope, replaced, node, progress)
        else:
            if s.nodes.kind[node] == node_if:
                if replaced[s.nodes.condition[node]]:
                    s.nodes.condition[node] = replaced[s.nodes.condition[node]]
                progress = _list(s, scope, replaced, s.nodes.first1[node], progress)
            progress = _list(s, scope, replaced, s.nodes.first0[node], progress)
        node = s.nodes.next[node]
    if whole:
        return progress               # the table ends with it
    while scope.log.size() > mark:
        scope.slots[scope.log.back()].instruction = 0
        scope.log.pop_back()
    return progress


cdef int _remove(ShaderData *s, const vector[ValueId] &replaced) except -1 nogil:
    """Take out what was replaced. Phis at the head of loops were visited before the values of their back edges."""
    cdef ShaderRewrite rewrite
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId instruction
    shader_rewrite_begin(&rewrite, s)
    while block:
        shader_rewrite_block(&rewrite, block)
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            instruction = s.order.instruction[row]
            if replaced[instruction]:
                continue
            if s.instructions.kind[instruction] == nir_phi:
                _rename_sources(s, replaced, instruction)
            shader_rewrite_emit(&rewrite, instruction)
        block = block_walk_next(s, block)
    return shader_rewrite_end(&rewrite)


cdef bint cse_run(ShaderData *s) except -1 nogil:
    cdef Scope scope
    cdef vector[ValueId] replaced
    cdef uint32_t size = 64
    cdef bint progress
    while size < 2 * s.order.table.count:
        size *= 2
    scope.slots.resize(size)
    scope.mask = size - 1
    scope.log.reserve(s.order.table.count)
    replaced.resize(s.instructions.table.count)
    progress = _list(s, &scope, replaced, s.nodes.first0[1], False)
    if progress:
        _remove(s, replaced)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return cse_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Merge equal expressions; True when one was removed."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
