"""Pairs of scalar 16-bit operations become operations on vectors of two, which the hardware's packed instructions compute at once.

Two operations of a block become one where they have the same opcode and, source by source, read constants, the same scalar, or
components of one dword of the same vector: nothing has to be packed for them. The halves that are taken out of one dword by two operations
become such a vector. Pairs grow from loaded vectors to what is computed of them, since users of a pair read components of one vector in turn.
Two phis become one where the operations that reach them would pair, or reach them as constants. The vector takes the place and the id of the first
of the two.

Integers that are uniform stay scalar: the SALU has no packed instructions.
Needs: scalar ALU operations, divergence. Guarantees: valid NIR; ALU operations on 16 bits may have two components.
As Mesa's nir_opt_vectorize in effect, with the condition of RADV's callback.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_fadd, alu_ffma, alu_fmax, alu_fmin, alu_fmul, alu_fneg, alu_fsat, alu_fsub, alu_iadd, alu_iand, alu_imax, alu_imin, alu_imul,
    alu_inot, alu_ior, alu_ishl, alu_ishr, alu_isub, alu_ixor, alu_mov, alu_umax, alu_umin, alu_ushr,
    alu_unpack_32_2x16, alu_unpack_32_2x16_split_x, alu_unpack_32_2x16_split_y, alu_vec2,
)

from pyaco._core.common.hashing cimport hash_mix
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ShaderRewrite, SourceRow, ValueId, block_walk_next, constant_bits, nir_alu, nir_component,
    nir_constant_vector, nir_divergent, nir_instruction_new, nir_jump, nir_load_const, nir_phi, node_first_block,
    shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end, source_swizzle, source_value, swizzle_component,
)

cdef enum:
    search_budget = 48            # operations that are looked at to decide whether two phis pair

cdef struct Home:
    ValueId pair                  # the vector that a scalar is a component of now: itself or another scalar; 0 none
    uint32_t component

cdef struct Vectorize:
    vector[Home] home             # by value
    vector[uint32_t] scalar       # by value: the same scalar as a value of its own, for what reads no components; 0 none
    vector[ValueId] slots         # hash table of the operations of a block, linear probing
    vector[uint32_t] log          # filled slots
    uint32_t mask
    vector[vector[ValueId]] before        # by value: constants that it needs in front of it
    vector[vector[ValueId]] tail          # by block node: what paired phis need at its end
    uint32_t budget
    bint progress


# ----------------------------------------------------------------------------------------------------- what can be paired
cdef inline bint _shifts(int opcode) noexcept nogil:
    return opcode in (alu_ishl, alu_ishr, alu_ushr)


cdef inline bint _bitwise(int opcode) noexcept nogil:
    return opcode in (alu_iand, alu_ior, alu_ixor, alu_inot)


cdef bint _packable(const ShaderData *s, ValueId i) noexcept nogil:
    cdef int opcode = s.instructions.opcode[i]
    if s.instructions.kind[i] != nir_alu or s.instructions.components[i] != 1 or s.instructions.bit_size[i] != 16:
        return False
    if opcode in (alu_fadd, alu_fsub, alu_fmul, alu_ffma, alu_fmin, alu_fmax, alu_fneg, alu_fsat):
        return True
    if not s.instructions.flags[i] & nir_divergent:
        return False
    if _shifts(opcode):
        return s.instructions.kind[source_value(s, i, 1)] == nir_load_const
    return opcode in (alu_iadd, alu_isub, alu_imul, alu_imin, alu_imax, alu_umin, alu_umax) or _bitwise(opcode)


cdef inline bint _constant(const ShaderData *s, ValueId value) noexcept nogil:
    return s.instructions.kind[value] == nir_load_const


cdef bint _same_dword(const ShaderData *s, int opcode, ValueId value, uint32_t a, uint32_t b) noexcept nogil:
    """Whether components `a` and `b` of a value can be the sources of one packed operation."""
    if _bitwise(opcode):
        # These are operations on whole dwords: there is no choice of halves.
        return a % 2 == 0 and b == a + 1
    return a // 2 == b // 2


cdef bint _sources_pair(const ShaderData *s, ValueId a, ValueId b) noexcept nogil:
    cdef int opcode = s.instructions.opcode[a]
    cdef uint32_t k
    cdef ValueId x
    cdef ValueId y
    for k in range(s.instructions.source_count[a]):
        x = source_value(s, a, k)
        y = source_value(s, b, k)
        if _constant(s, x) and _constant(s, y):
            continue
        if x != y or not _same_dword(s, opcode, x, swizzle_component(source_swizzle(s, a, k), 0),
                                     swizzle_component(source_swizzle(s, b, k), 0)):
            return False
    return True


# ------------------------------------------------------------------------------------------------------- halves of a dword
cdef void _mark_sources(const ShaderData *s, vector[uint8_t] &wanted) noexcept nogil:
    """Mark what the operations read that could be in pairs."""
    cdef OrderRow row
    cdef ValueId i
    cdef uint32_t k
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        if _packable(s, i):
            for k in range(s.instructions.source_count[i]):
                wanted[source_value(s, i, k)] = 1


cdef void _forget(Vectorize *v) noexcept nogil:
    while v.log.size():
        v.slots[v.log.back()] = 0
        v.log.pop_back()


cdef void _join_halves(Vectorize *v, ShaderData *s, ValueId first, ValueId other) noexcept nogil:
    """Make `first` both halves of its dword."""
    cdef uint32_t component = s.instructions.opcode[first] == alu_unpack_32_2x16_split_y
    s.instructions.opcode[first] = alu_unpack_32_2x16
    s.instructions.components[first] = 2
    v.home[first] = Home(first, component)
    v.home[other] = Home(first, 1 - component)
    v.progress = True


cdef void _pair_halves(Vectorize *v, ShaderData *s, NodeId block, const vector[uint8_t] &wanted) noexcept nogil:
    """The halves of a dword that a block takes out of it one by one are the components of a vector, in the place of the first."""
    cdef OrderRow row
    cdef ValueId i
    cdef ValueId other
    cdef uint32_t slot
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        i = s.order.instruction[row]
        if s.instructions.kind[i] != nir_alu or not wanted[i] or (s.instructions.opcode[i] != alu_unpack_32_2x16_split_x
                                                                  and s.instructions.opcode[i] != alu_unpack_32_2x16_split_y):
            continue
        slot = <uint32_t>(hash_mix(0, <uint64_t>source_value(s, i, 0) << 4 | swizzle_component(source_swizzle(s, i, 0), 0)) >> 16) & v.mask
        while v.slots[slot]:
            other = v.slots[slot]
            if source_value(s, other, 0) == source_value(s, i, 0) \
                    and swizzle_component(source_swizzle(s, other, 0), 0) == swizzle_component(source_swizzle(s, i, 0), 0):
                if s.instructions.opcode[other] != alu_unpack_32_2x16 and s.instructions.opcode[other] != s.instructions.opcode[i]:
                    _join_halves(v, s, other, i)
                break
            slot = (slot + 1) & v.mask
        if v.slots[slot] == 0:
            v.slots[slot] = i
            v.log.push_back(slot)
    _forget(v)


# ------------------------------------------------------------------------------------------------------- pairs of a block
cdef uint32_t _hash(const ShaderData *s, ValueId i) noexcept nogil:
    cdef uint64_t hash = s.instructions.opcode[i] | <uint64_t>s.instructions.flags[i] << 16
    cdef uint32_t k
    cdef ValueId value
    for k in range(s.instructions.source_count[i]):
        value = source_value(s, i, k)
        if _constant(s, value):
            hash = hash_mix(hash, 0)
        else:
            hash = hash_mix(hash, <uint64_t>value << 4 | swizzle_component(source_swizzle(s, i, k), 0) // 2)
    return <uint32_t>(hash >> 16)


cdef ValueId _partner(Vectorize *v, const ShaderData *s, ValueId i) noexcept nogil:
    """An earlier operation of the block that `i` pairs with, which leaves the table; else 0, and `i` is in the table."""
    cdef uint32_t slot = _hash(s, i) & v.mask
    cdef ValueId other
    while v.slots[slot]:
        other = v.slots[slot]
        if (s.instructions.components[other] == 1 and s.instructions.opcode[other] == s.instructions.opcode[i]
                and s.instructions.flags[other] == s.instructions.flags[i] and _sources_pair(s, other, i)):
            return other
        slot = (slot + 1) & v.mask
    v.slots[slot] = i
    v.log.push_back(slot)
    return 0


cdef int _pair_constants(Vectorize *v, ShaderData *s, ValueId a, uint32_t k, ValueId other) except -1 nogil:
    """Make source `k` of a pair the constants of both; equal ones stay one scalar."""
    cdef uint64_t[2] values
    cdef SourceRow row = s.instructions.source_first[a] + k
    cdef ValueId made
    values[0] = constant_bits(s, s.sources.value[row], swizzle_component(s.sources.swizzle[row], 0))
    values[1] = constant_bits(s, source_value(s, other, k), swizzle_component(source_swizzle(s, other, k), 0))
    if values[0] == values[1]:
        s.sources.swizzle[row] = swizzle_component(s.sources.swizzle[row], 0) * 0x11
        return 0
    made = nir_constant_vector(s, values, 2, s.instructions.bit_size[s.sources.value[row]])
    row = s.instructions.source_first[a] + k
    s.sources.value[row] = made
    s.sources.swizzle[row] = 0x10
    v.before[a].push_back(made)
    return 0


cdef int _join(Vectorize *v, ShaderData *s, ValueId a, ValueId b) except -1 nogil:
    """Make `a` the pair of both."""
    cdef uint32_t k
    cdef SourceRow row
    for k in range(s.instructions.source_count[a]):
        row = s.instructions.source_first[a] + k
        if _constant(s, s.sources.value[row]):
            _pair_constants(v, s, a, k, b)
        else:
            s.sources.swizzle[row] = (swizzle_component(s.sources.swizzle[row], 0)
                                      | swizzle_component(source_swizzle(s, b, k), 0) << 4)
    s.instructions.components[a] = 2
    v.home[a] = Home(a, 0)
    v.home[b] = Home(a, 1)
    v.progress = True
    return 0


cdef bint _whole_pair(const ShaderData *s, ValueId i) noexcept nogil:
    """A vec2 or a mov of both components of a vector of two halves, in their order."""
    cdef ValueId value
    if s.instructions.kind[i] != nir_alu or s.instructions.components[i] != 2 or s.instructions.bit_size[i] != 16:
        return False
    value = source_value(s, i, 0)
    if s.instructions.components[value] != 2:
        return False
    if s.instructions.opcode[i] == alu_mov:
        return source_swizzle(s, i, 0) & 0xff == 0x10
    return (s.instructions.opcode[i] == alu_vec2 and source_value(s, i, 1) == value
            and source_swizzle(s, i, 0) & 0xf == 0 and source_swizzle(s, i, 1) & 0xf == 1)


cdef void _read_pairs(Vectorize *v, ShaderData *s, ValueId i) noexcept nogil:
    """Sources of an ALU operation that are components of pairs by now, or whole pairs."""
    cdef SourceRow row
    cdef Home home
    for row in range(s.instructions.source_first[i], s.instructions.source_first[i] + s.instructions.source_count[i]):
        home = v.home[s.sources.value[row]]
        if home.pair and (home.component or home.pair != s.sources.value[row]):
            # Whatever reads a scalar reads its component 0 alone.
            s.sources.value[row] = home.pair
            s.sources.swizzle[row] = home.component * 0x1111111111111111ULL
        elif _whole_pair(s, s.sources.value[row]):
            s.sources.value[row] = source_value(s, s.sources.value[row], 0)


cdef int _pair_block(Vectorize *v, ShaderData *s, NodeId block) except -1 nogil:
    cdef OrderRow row
    cdef ValueId i
    cdef ValueId other
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        i = s.order.instruction[row]
        if s.instructions.kind[i] != nir_alu:
            continue
        _read_pairs(v, s, i)
        if _packable(s, i):
            other = _partner(v, s, i)
            if other:
                _join(v, s, other, i)
    _forget(v)
    return 0


# ------------------------------------------------------------------------------------------------------------------ phis
cdef bint _alike(Vectorize *v, const ShaderData *s, ValueId x, uint32_t x_part, ValueId y, uint32_t y_part,
                 ValueId first, ValueId second) noexcept nogil:
    """Whether a component of `x` and one of `y` would be a pair, if `first` and `second` were."""
    cdef uint32_t k
    if v.budget == 0:
        return False
    v.budget -= 1
    if (x == first and y == second) or (_constant(s, x) and _constant(s, y)):
        return True
    if s.instructions.components[x] > 1 or x == y:
        return x == y and x_part // 2 == y_part // 2
    if v.home[x].pair and v.home[x].pair == v.home[y].pair:
        return True
    if (not _packable(s, x) or not _packable(s, y) or s.instructions.block[x] != s.instructions.block[y]
            or s.instructions.opcode[x] != s.instructions.opcode[y] or s.instructions.flags[x] != s.instructions.flags[y]):
        return False
    for k in range(s.instructions.source_count[x]):
        if not _alike(v, s, source_value(s, x, k), swizzle_component(source_swizzle(s, x, k), 0),
                      source_value(s, y, k), swizzle_component(source_swizzle(s, y, k), 0), first, second):
            return False
    return True


cdef bint _phis_pair(Vectorize *v, const ShaderData *s, ValueId first, ValueId second) noexcept nogil:
    """Whether something computed reaches two phis from each side as a pair, or constants do."""
    cdef uint32_t k
    cdef bint computed = False
    cdef ValueId x
    cdef ValueId y
    if s.instructions.source_count[first] != s.instructions.source_count[second]:
        return False
    for k in range(s.instructions.source_count[first]):
        if source_swizzle(s, first, k) != source_swizzle(s, second, k):
            return False
        x = source_value(s, first, k)
        y = source_value(s, second, k)
        v.budget = search_budget
        if not _alike(v, s, x, 0, y, 0, first, second):
            return False
        computed = computed or _packable(s, x) or v.home[x].pair
    return computed


cdef inline bint _halves_phi(const ShaderData *s, ValueId i) noexcept nogil:
    return s.instructions.kind[i] == nir_phi and s.instructions.components[i] == 1 and s.instructions.bit_size[i] == 16


cdef void _pair_phis(Vectorize *v, ShaderData *s, NodeId block) noexcept nogil:
    """Neighbours among the phis of a block; their sources follow when all pairs are known."""
    cdef ValueId waiting = 0
    cdef OrderRow row
    cdef ValueId i
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        i = s.order.instruction[row]
        if s.instructions.kind[i] != nir_phi:
            return
        if not _halves_phi(s, i):
            continue
        if waiting and s.instructions.flags[waiting] == s.instructions.flags[i] and _phis_pair(v, s, waiting, i):
            v.home[waiting] = Home(waiting, 0)
            v.home[i] = Home(waiting, 1)
            v.progress = True
            waiting = 0
        else:
            waiting = i


cdef ValueId _phi_source(Vectorize *v, ShaderData *s, ValueId x, ValueId y, NodeId predecessor) except 0 nogil:
    """Two scalars as one vector at the end of a block."""
    cdef uint64_t[2] values
    cdef ValueId[2] scalars
    cdef ValueId made
    cdef uint32_t k
    cdef Home home
    if v.home[x].pair and v.home[x].pair == v.home[y].pair and v.home[x].component == 0 and v.home[y].component == 1:
        return v.home[x].pair
    if _constant(s, x) and _constant(s, y):
        values[0] = constant_bits(s, x, 0)
        values[1] = constant_bits(s, y, 0)
        made = nir_constant_vector(s, values, 2, 16)
    else:
        scalars[0] = x
        scalars[1] = y
        made = nir_instruction_new(s, nir_alu, alu_vec2, 2, 16, 2)
        s.instructions.flags[made] |= (s.instructions.flags[x] | s.instructions.flags[y]) & nir_divergent
        for k in range(2):
            home = v.home[scalars[k]]
            s.sources.value[s.instructions.source_first[made] + k] = home.pair if home.pair else scalars[k]
            s.sources.swizzle[s.instructions.source_first[made] + k] = home.component if home.pair else 0
    v.tail[predecessor].push_back(made)
    return made


cdef int _join_phis(Vectorize *v, ShaderData *s, NodeId block) except -1 nogil:
    cdef OrderRow row
    cdef ValueId first = 0
    cdef ValueId i
    cdef ValueId made
    cdef uint32_t k
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        i = s.order.instruction[row]
        if s.instructions.kind[i] != nir_phi:
            return 0
        if v.home[i].pair == 0 or v.home[i].component == 0:
            continue
        first = v.home[i].pair
        for k in range(s.instructions.source_count[first]):
            made = _phi_source(v, s, source_value(s, first, k), source_value(s, i, k), <NodeId>source_swizzle(s, first, k))
            s.sources.value[s.instructions.source_first[first] + k] = made
        s.instructions.components[first] = 2
    return 0


# --------------------------------------------------------------------------------------------------------------- rewriting
cdef int _want_scalar(Vectorize *v, ShaderData *s, SourceRow row) except -1 nogil:
    """A source that reads no components: the pair itself in place of a copy, a component of a pair as a value of its own."""
    cdef ValueId value = s.sources.value[row]
    cdef Home home
    cdef ValueId made
    if value >= v.home.size():
        return 0
    if _whole_pair(s, value):
        s.sources.value[row] = source_value(s, value, 0)
        return 0
    home = v.home[value]
    if home.pair == 0:
        return 0
    if v.scalar[value] == 0:
        made = nir_component(s, home.pair, home.component)
        s.instructions.flags[made] |= s.instructions.flags[home.pair] & nir_divergent
        v.scalar[value] = made
    s.sources.value[row] = v.scalar[value]
    return 0


cdef int _want_scalars(Vectorize *v, ShaderData *s, NodeId block) except -1 nogil:
    cdef OrderRow order
    cdef ValueId i
    cdef SourceRow row
    for order in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        i = s.order.instruction[order]
        if s.instructions.kind[i] == nir_alu or (s.instructions.kind[i] == nir_phi and v.home[i].pair):
            continue
        for row in range(s.instructions.source_first[i], s.instructions.source_first[i] + s.instructions.source_count[i]):
            _want_scalar(v, s, row)
    return 0


cdef int _emit_scalars(Vectorize *v, ShaderRewrite *rewrite, ValueId first, ValueId second) except -1 nogil:
    if v.scalar[first]:
        shader_rewrite_emit(rewrite, v.scalar[first])
    if v.scalar[second]:
        shader_rewrite_emit(rewrite, v.scalar[second])
    return 0


cdef int _write_phis(Vectorize *v, ShaderRewrite *rewrite, OrderRow first, OrderRow end) except -1 nogil:
    """The phis, then the scalars that are wanted of them."""
    cdef ShaderData *s = rewrite.shader
    cdef OrderRow row
    cdef ValueId i
    for row in range(first, end):
        i = s.order.instruction[row]
        if v.home[i].component == 0:
            shader_rewrite_emit(rewrite, i)
    for row in range(first, end):
        i = s.order.instruction[row]
        if v.home[i].component:
            _emit_scalars(v, rewrite, v.home[i].pair, i)
    return 0


cdef int _write_block(Vectorize *v, ShaderRewrite *rewrite, vector[ValueId] &second, NodeId block) except -1 nogil:
    cdef ShaderData *s = rewrite.shader
    cdef OrderRow row = s.nodes.order_first[block]
    cdef OrderRow end = row + s.nodes.order_count[block]
    cdef OrderRow phis = row
    cdef ValueId i
    cdef size_t k
    shader_rewrite_block(rewrite, block)
    while phis < end and s.instructions.kind[s.order.instruction[phis]] == nir_phi:
        phis += 1
    _write_phis(v, rewrite, row, phis)
    for row in range(phis, end):
        i = s.order.instruction[row]
        if s.instructions.kind[i] == nir_jump:
            break
        if (v.home[i].pair and v.home[i].pair != i) or _whole_pair(s, i):
            continue                  # nothing reads it any more
        for k in range(v.before[i].size()):
            shader_rewrite_emit(rewrite, v.before[i][k])
        shader_rewrite_emit(rewrite, i)
        if v.home[i].pair:
            _emit_scalars(v, rewrite, i, second[i])
    for k in range(v.tail[block].size()):
        shader_rewrite_emit(rewrite, v.tail[block][k])
    if end > phis and s.instructions.kind[s.order.instruction[end - 1]] == nir_jump:
        shader_rewrite_emit(rewrite, s.order.instruction[end - 1])
    return 0


cdef bint _has_halves(const ShaderData *s) noexcept nogil:
    """Whether there are two operations that could be a pair."""
    cdef OrderRow row
    cdef uint32_t count = 0
    for row in range(s.order.table.count):
        count += _packable(s, s.order.instruction[row])
    return count > 1


cdef bint opt_vectorize_run(ShaderData *s) except -1 nogil:
    cdef Vectorize v
    cdef ShaderRewrite rewrite
    cdef vector[ValueId] second
    cdef vector[uint8_t] wanted
    cdef NodeId block
    cdef ValueId i
    cdef uint32_t values = s.instructions.table.count
    if not _has_halves(s):
        return False
    v.home.assign(values, Home(0, 0))
    v.scalar.assign(values, 0)
    v.before.resize(values)
    v.tail.resize(s.nodes.table.count)
    v.progress = False
    v.mask = 63
    while v.mask < 2 * s.order.table.count:
        v.mask = 2 * v.mask + 1
    v.slots.assign(v.mask + 1, 0)
    wanted.assign(values, 0)
    _mark_sources(s, wanted)
    block = node_first_block(s)
    while block:
        _pair_halves(&v, s, block, wanted)
        block = block_walk_next(s, block)
    block = node_first_block(s)
    while block:
        _pair_phis(&v, s, block)
        _pair_block(&v, s, block)
        block = block_walk_next(s, block)
    if not v.progress:
        return False
    block = node_first_block(s)
    while block:
        _join_phis(&v, s, block)
        block = block_walk_next(s, block)
    block = node_first_block(s)
    while block:
        _want_scalars(&v, s, block)
        block = block_walk_next(s, block)
    second.assign(values, 0)
    for i in range(values):
        if v.home[i].pair and v.home[i].pair != i:
            second[v.home[i].pair] = i
    shader_rewrite_begin(&rewrite, s)
    block = node_first_block(s)
    while block:
        _write_block(&v, &rewrite, second, block)
        block = block_walk_next(s, block)
    shader_rewrite_end(&rewrite)
    return True


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_vectorize_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Make pairs of 16-bit operations vectors of two; True when there was one."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
