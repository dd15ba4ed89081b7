"""Common subexpression elimination over the tree of control flow.

An expression is replaced by an equal one that comes earlier in the same list or in a list around it: in structured control
flow those are the values that dominate it. One walk with two scoped hash tables; leaving a list undoes its entries. In the large one an entry
stands in the group of its newest source, by that one's number: code that is walked in order then finds its part of the table in the cache,
where hashes alone would reach all over it. What does not fit there, and what has no source, goes to a table by hash that grows with its entries.
Loads of memory are expressions where they may be reordered (``opt_access``). Operands of
commutative opcodes count in either order. Operations between lanes (reads of other lanes, votes, scans) are expressions within their block,
where the same lanes take part.
Needs: nothing. Guarantees: valid NIR; replaced instructions are gone.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_input_sizes_flat, alu_max_inputs, alu_properties, alu_property_commutative, index_access, intrinsic_bindless_image_load,
    intrinsic_bindless_image_sparse_load, intrinsic_flag_can_eliminate, intrinsic_flag_can_reorder, intrinsic_flag_convergent,
    intrinsic_flags, intrinsic_image_deref_load, intrinsic_image_deref_sparse_load, intrinsic_index_count, intrinsic_load_global,
    intrinsic_load_global_amd, intrinsic_load_ssbo,
)

from pyaco._core.common.hashing cimport hash_mix
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ShaderRewrite, SourceRow, ValueId, access_can_reorder, block_walk_next, intrinsic_index, nir_alu,
    nir_deref, nir_exact, nir_intrinsic, nir_load_const, nir_no_signed_wrap, nir_no_unsigned_wrap, nir_phi, node_block, node_first_block,
    node_if, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end, source_swizzle,
)

cdef extern from *:
    void __builtin_prefetch(const void *place) nogil

cdef enum:
    wrap_flags = nir_no_signed_wrap | nir_no_unsigned_wrap
    pure = intrinsic_flag_can_eliminate | intrinsic_flag_can_reorder    # an intrinsic with both has the same value anywhere ...
    group_slots = 8               # of the table by newest source ...
    group_values = 4              # ... for so many values: half of them stay free where each value is the newest source of one other
    by_hash = 0x80000000          # in a log: a slot of the other table
    fewest_slots = 64
    groups_ahead = 16             # of the walk, that are brought into the cache ...
    sources_ahead = 128           # ... and sources

cdef struct NearSlot:
    ValueId instruction           # 0: free
    uint32_t hash                 # of it: most comparisons end here, without a look at the instruction

cdef struct Slot:
    ValueId instruction           # 0: free
    uint32_t hash
    NodeId block                  # where its value is that of equal ones; 0 everywhere below

cdef struct Scope:
    Zeroed[NearSlot] near         # groups by newest source, filled from their start
    Zeroed[Slot] slots            # by hash, linear probing; at most half full
    SmallVector[uint32_t] log          # filled slots of both, in order: what is taken out last to first leaves no gaps
    uint32_t mask                 # of `slots`
    uint32_t filled               # of `slots`

cdef struct Replaced:
    Zeroed[ValueId] by            # by value: the equal one
    Zeroed[uint64_t] is_replaced  # bits by value: a look at each source touches these alone, where it is not


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


cdef int _grow(Scope *scope) except -1 nogil:
    """Double the table by hash. What it has is put in again in the order in which it came."""
    cdef Zeroed[Slot] old
    cdef size_t k
    cdef uint32_t slot
    old.swap(scope.slots)
    scope.slots.assign(2 * old.size())
    scope.mask = <uint32_t>scope.slots.size() - 1
    for k in range(scope.log.size()):
        if not scope.log[k] & by_hash:
            continue
        slot = old[scope.log[k] & ~<uint32_t>by_hash].hash & scope.mask
        while scope.slots[slot].instruction:
            slot = (slot + 1) & scope.mask
        scope.slots[slot] = old[scope.log[k] & ~<uint32_t>by_hash]
        scope.log[k] = slot | by_hash
    return 0


cdef ValueId _find_by_hash(const ShaderData *s, Scope *scope, ValueId instruction, uint32_t hash, NodeId block) except 0 nogil:
    """As `_find_or_insert`, in the table by hash."""
    cdef uint32_t slot = hash & scope.mask
    cdef const Slot *found
    while scope.slots[slot].instruction:
        found = &scope.slots[slot]
        if found.hash == hash and found.block == block and _equal(s, found.instruction, instruction):
            return found.instruction
        slot = (slot + 1) & scope.mask
    scope.slots[slot] = Slot(instruction=instruction, hash=hash, block=block)
    scope.log.push_back(slot | by_hash)
    scope.filled += 1
    if 2 * scope.filled > scope.mask:
        _grow(scope)
    return instruction


cdef ValueId _find_or_insert(const ShaderData *s, Scope *scope, ValueId instruction, NodeId block) except 0 nogil:
    """An equal instruction in scope, or else `instruction` itself, which is added to a table."""
    cdef NodeId its_block = block if _is_between_lanes(s, instruction) else 0
    cdef ValueId newest
    cdef uint32_t hash = _hash(s, instruction, its_block, &newest)
    cdef uint32_t group = newest // group_values * group_slots
    cdef NearSlot *slots
    cdef uint32_t k
    if its_block or newest == 0:
        return _find_by_hash(s, scope, instruction, hash, its_block)
    slots = scope.near.data() + group
    for k in range(<uint32_t>group_slots):
        if slots[k].instruction == 0:
            slots[k] = NearSlot(instruction=instruction, hash=hash)
            scope.log.push_back(group + k)
            return instruction
        if slots[k].hash == hash and _equal(s, slots[k].instruction, instruction):
            return slots[k].instruction
    return _find_by_hash(s, scope, instruction, hash, 0)


cdef inline void _leave_scope(Scope *scope, size_t mark) noexcept nogil:
    """Take out what was put in after the log had `mark` entries."""
    cdef uint32_t slot
    while scope.log.size() > mark:
        slot = scope.log.back()
        scope.log.pop_back()
        if slot & by_hash:
            scope.slots[slot & ~<uint32_t>by_hash].instruction = 0
            scope.filled -= 1
        else:
            scope.near[slot].instruction = 0


cdef inline bint _is_replaced(const Replaced *replaced, ValueId value) noexcept nogil:
    return replaced.is_replaced[value // 64] >> value % 64 & 1


cdef void _rename_sources(ShaderData *s, const Replaced *replaced, ValueId instruction) noexcept nogil:
    cdef SourceRow row
    for row in range(s.instructions.source_first[instruction],
                     s.instructions.source_first[instruction] + s.instructions.source_count[instruction]):
        if _is_replaced(replaced, s.sources.value[row]):
            s.sources.value[row] = replaced.by[s.sources.value[row]]


cdef bint _block(ShaderData *s, Scope *scope, Replaced *replaced, NodeId block, bint progress) except -1 nogil:
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
        # Most newest sources stand a little before. What is named here may be behind the end, which a prefetch does not read.
        __builtin_prefetch(scope.near.data() + (instruction // group_values + groups_ahead) * group_slots)
        __builtin_prefetch(s.sources.swizzle + s.instructions.source_first[instruction] + sources_ahead)
        earlier = _find_or_insert(s, scope, instruction, block)
        if earlier != instruction:
            replaced.by[instruction] = earlier
            replaced.is_replaced[instruction // 64] |= <uint64_t>1 << instruction % 64
            s.instructions.flags[earlier] |= s.instructions.flags[instruction] & nir_exact
            # The merged value has a no-wrap flag only if both instructions had it.
            s.instructions.flags[earlier] &= s.instructions.flags[instruction] | <unsigned short>(~wrap_flags & 0xffff)
            progress = True
    return progress


cdef bint _list(ShaderData *s, Scope *scope, Replaced *replaced, NodeId node, bint progress) except -1 nogil:
    """Process the siblings from `node` on, in a scope of their own; `progress` as in `_block`."""
    cdef size_t mark = scope.log.size()
    cdef bint whole = node == s.nodes.first0[1]
    while node:
        if s.nodes.kind[node] == node_block:
            progress = _block(s, scope, replaced, node, progress)
        else:
            if s.nodes.kind[node] == node_if:
                if _is_replaced(replaced, s.nodes.condition[node]):
                    s.nodes.condition[node] = replaced.by[s.nodes.condition[node]]
                progress = _list(s, scope, replaced, s.nodes.first1[node], progress)
            progress = _list(s, scope, replaced, s.nodes.first0[node], progress)
        node = s.nodes.next[node]
    if whole:
        return progress               # the table ends with it
    _leave_scope(scope, mark)
    return progress


cdef int _remove(ShaderData *s, const Replaced *replaced) except -1 nogil:
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
            if _is_replaced(replaced, instruction):
                continue
            if s.instructions.kind[instruction] == nir_phi:
                _rename_sources(s, replaced, instruction)
            shader_rewrite_emit(&rewrite, instruction)
        block = block_walk_next(s, block)
    return shader_rewrite_end(&rewrite)


cdef bint cse_run(ShaderData *s) except -1 nogil:
    cdef Scope scope
    cdef Replaced replaced
    cdef bint progress
    scope.near.assign((s.instructions.table.count // group_values + 1) * group_slots)
    scope.slots.assign(fewest_slots)
    scope.mask = fewest_slots - 1
    scope.filled = 0
    scope.log.reserve(s.order.table.count)
    replaced.by.assign(s.instructions.table.count)
    replaced.is_replaced.assign(s.instructions.table.count // 64 + 1)
    progress = _list(s, &scope, &replaced, s.nodes.first0[1], False)
    if progress:
        _remove(s, &replaced)
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
