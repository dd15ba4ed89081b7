"""Sums of masked differences of bytes become ``msad_4x8``, and four of them, of one reference at four neighbouring places, ``mqsad_4x8``.

    r0 == 0 ? 0 : |r0 - s0|  +  ...  +  r3 == 0 ? 0 : |r3 - s3|  +  a     ->    msad_4x8 r, s, a        r0 ... r3 are the bytes of r
    msad_4x8 r, x, a.x;  msad_4x8 r, shfr(y, x, 8), a.y;  ...             ->    mqsad_4x8 r, x.y, a     GFX7 and later

A difference counts by what it computes, so that it is found in any order of the sum, between other summands, and by all ways of taking a byte out.
Of a sum, what has no such difference in it stays as it is, and is what the first ``msad_4x8`` adds to; one that has differences of several pairs of
numbers adds them one after the other. Four ``msad_4x8`` are put together where the last of them stands, if nothing in the block reads one of them
before.

Needs: scalar ALU operations. Guarantees: valid NIR; what is replaced is dead. Mesa has the first as a pattern of ``nir_opt_algebraic``, for what
vkd3d-proton makes of DXIL's Msad, in one order, and the second as ``nir_opt_mqsad``.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_bcsel, alu_extract_u8, alu_iabs, alu_iadd, alu_iand, alu_ieq, alu_ine, alu_isub, alu_mov, alu_mqsad_4x8, alu_msad_4x8, alu_shfr,
    alu_ubfe, alu_ushr,
)
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport alu2, alu3, component, constant, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx7
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, RowRange, Shader, ShaderData, ValueId, block_walk_next, constant_bits, nir_alu, node_first_block, source_swizzle,
    source_value, sources_of, swizzle_component, value_is_constant,
)
from pyaco._core.nir.lowering cimport Lowering, lower_alu, lower_keep, lowering_run

cdef enum:
    most_open = 16                # groups of a block that may still become whole

# A component of a value: its number in the upper 28 bits. No table has so many rows.
ctypedef uint32_t Scalar

cdef struct Byte:
    Scalar scalar
    uint32_t index

cdef struct Difference:           # of two bytes at the same place, zero where the reference is zero
    uint64_t numbers              # the reference's scalar in the upper half
    uint32_t index                # of the byte

cdef struct Sums:
    ShaderData *s
    vector[Difference] differences
    Zeroed[uint32_t] difference_of         # by value: its row + 1
    Zeroed[uint8_t] uses                   # by value, up to 2
    Zeroed[uint8_t] roles                  # by value: bits of Role
    Zeroed[uint32_t] counts                # by value, sums: how many differences they have that stand in no other sum
    vector[ValueId] stack                  # scratch of one sum
    vector[Scalar] others                  # summands that are no differences
    vector[pair[uint64_t, uint32_t]] found     # numbers of each difference; its value

cdef enum:                        # Role: bits
    in_sum = 1                    # a sum reads it
    by_itself = 2                 # a sum that is put together where it stands, although another one reads it

cdef struct Group:
    Scalar reference
    Scalar low
    Scalar high                   # 0: none of its members reads beyond `low`
    ValueId[4] members            # by place; 0: none yet
    uint32_t count
    ValueId last                  # the member that came last
    bint open                     # nothing has read a member

cdef struct Groups:
    ShaderData *s
    vector[Group] rows
    Zeroed[uint32_t] group_of     # by value: the row + 1 of the group that it is a member of


cdef inline Scalar _scalar(ValueId value, uint32_t index) noexcept nogil:
    return value << 4 | index


cdef inline Scalar _source(const ShaderData *s, ValueId i, uint32_t source) noexcept nogil:
    """An operand, looked for through movs: of the components that this pass itself takes."""
    cdef ValueId value = source_value(s, i, source)
    cdef uint32_t index = swizzle_component(source_swizzle(s, i, source), 0)
    while s.instructions.kind[value] == nir_alu and s.instructions.opcode[value] == alu_mov:
        index = swizzle_component(source_swizzle(s, value, 0), index)
        value = source_value(s, value, 0)
    return _scalar(value, index)


cdef inline bint _is(const ShaderData *s, Scalar scalar, int opcode) noexcept nogil:
    """Whether a scalar of 32 bits is the result of an operation."""
    cdef ValueId value = scalar >> 4
    return (s.instructions.kind[value] == nir_alu and s.instructions.opcode[value] == opcode and s.instructions.components[value] == 1
            and s.instructions.bit_size[value] == 32)


cdef inline bint _constant(const ShaderData *s, Scalar scalar, uint64_t *bits) noexcept nogil:
    if not value_is_constant(s, scalar >> 4):
        return False
    bits[0] = constant_bits(s, scalar >> 4, scalar & 15)
    return True


cdef inline bint _is_constant(const ShaderData *s, Scalar scalar, uint64_t wanted) noexcept nogil:
    cdef uint64_t bits
    return _constant(s, scalar, &bits) and bits == wanted


# --------------------------------------------------------------------------------------------------------------- differences
cdef bint _is_shifted(const ShaderData *s, Scalar scalar, Byte *byte) noexcept nogil:
    """Whether a scalar is a number shifted down by whole bytes."""
    cdef uint64_t bits
    if not _is(s, scalar, alu_ushr) or not _constant(s, _source(s, scalar >> 4, 1), &bits) or bits not in (8, 16, 24):
        return False
    byte[0] = Byte(_source(s, scalar >> 4, 0), <uint32_t>bits // 8)
    return True


cdef bint _is_byte(const ShaderData *s, Scalar scalar, Byte *byte) noexcept nogil:
    """Whether a scalar is a byte of a number, and of which."""
    cdef ValueId value = scalar >> 4
    cdef uint64_t bits
    cdef uint32_t k
    if _is(s, scalar, alu_ubfe):
        if not _is_constant(s, _source(s, value, 2), 8) or not _constant(s, _source(s, value, 1), &bits) or bits not in (0, 8, 16, 24):
            return False
        byte[0] = Byte(_source(s, value, 0), <uint32_t>bits // 8)
        return True
    if _is(s, scalar, alu_extract_u8):
        if not _constant(s, _source(s, value, 1), &bits) or bits > 3:
            return False
        byte[0] = Byte(_source(s, value, 0), <uint32_t>bits)
        return True
    if _is(s, scalar, alu_iand):
        for k in range(2):
            if _is_constant(s, _source(s, value, k), 255):
                if not _is_shifted(s, _source(s, value, 1 - k), byte):
                    byte[0] = Byte(_source(s, value, 1 - k), 0)
                return True
        return False
    return _is_shifted(s, scalar, byte) and byte.index == 3


cdef bint _is_difference(const ShaderData *s, ValueId i, Difference *difference) noexcept nogil:
    """Whether a selection is 0 for a byte of 0 and else the difference of that byte and another."""
    cdef ValueId compare = source_value(s, i, 0)
    cdef Scalar magnitude
    cdef Byte tested
    cdef Byte[2] bytes
    cdef uint32_t zero, k
    if not _is(s, _scalar(i, 0), alu_bcsel) or s.instructions.kind[compare] != nir_alu or s.instructions.components[compare] != 1:
        return False
    if s.instructions.opcode[compare] not in (alu_ieq, alu_ine):
        return False
    zero = 1 if s.instructions.opcode[compare] == alu_ieq else 2
    magnitude = _source(s, i, 3 - zero)
    if not _is_constant(s, _source(s, i, zero), 0) or not _is(s, magnitude, alu_iabs):
        return False
    k = 0 if _is_constant(s, _source(s, compare, 1), 0) else 1
    if not _is_constant(s, _source(s, compare, 1 - k), 0) or not _is_byte(s, _source(s, compare, k), &tested):
        return False
    magnitude = _source(s, magnitude >> 4, 0)
    if not _is(s, magnitude, alu_isub):
        return False
    for k in range(2):
        if not _is_byte(s, _source(s, magnitude >> 4, k), &bytes[k]) or bytes[k].index != tested.index:
            return False
    for k in range(2):
        if bytes[k].scalar == tested.scalar:
            difference[0] = Difference(<uint64_t>tested.scalar << 32 | bytes[1 - k].scalar, tested.index)
            return True
    return False


cdef bint _find_differences(Sums *sums) except -1 nogil:
    cdef ShaderData *s = sums.s
    cdef OrderRow row
    cdef ValueId i
    cdef Difference difference
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        if s.instructions.kind[i] == nir_alu and s.instructions.opcode[i] == alu_bcsel and _is_difference(s, i, &difference):
            if sums.differences.empty():
                sums.difference_of.assign(s.instructions.table.count)
            sums.differences.push_back(difference)
            sums.difference_of[i] = <uint32_t>sums.differences.size()
    return sums.differences.size() >= 4


# ---------------------------------------------------------------------------------------------------------------------- sums
cdef int _count_uses(Sums *sums) except -1 nogil:
    cdef ShaderData *s = sums.s
    cdef OrderRow row
    cdef ValueId i, value
    cdef RowRange sources
    cdef uint32_t k
    sums.uses.assign(s.instructions.table.count)
    sums.roles.assign(s.instructions.table.count)
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        sources = sources_of(s, i)
        for k in range(sources.first, sources.first + sources.count):
            value = s.sources.value[k]
            sums.uses[value] += sums.uses[value] < 2
            if _is(s, _scalar(i, 0), alu_iadd):
                sums.roles[value] |= in_sum
    return 0


cdef inline bint _is_part(const Sums *sums, ValueId i) noexcept nogil:
    """Whether a value is a sum with a difference that another one takes in."""
    return sums.counts[i] and sums.roles[i] == in_sum and sums.uses[i] == 1


cdef inline uint32_t _count_in(const Sums *sums, ValueId i) noexcept nogil:
    """How many differences a summand is or has."""
    if sums.difference_of[i]:
        return 1
    return sums.counts[i] if _is_part(sums, i) else 0


cdef int _count_differences(Sums *sums) except -1 nogil:
    """Count the differences of each sum. A sum that has the four bytes, and is a summand of a larger one, is put together by itself: so the sums of
    one step are made before those of the next, which add to them.
    """
    cdef ShaderData *s = sums.s
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i, summand
    cdef uint32_t count, k
    sums.counts.assign(s.instructions.table.count)
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            if not _is(s, _scalar(i, 0), alu_iadd):
                continue
            count = _count_in(sums, _source(s, i, 0) >> 4) + _count_in(sums, _source(s, i, 1) >> 4)
            for k in range(2 if count > 4 else 0):
                summand = _source(s, i, k) >> 4
                if count > 4 and _count_in(sums, summand) == 4 and _is_whole(sums, summand):
                    sums.roles[summand] |= by_itself
                    count -= 4
            sums.counts[i] = count
        block = block_walk_next(s, block)
    return 0


cdef int _gather(Sums *sums, ValueId root) except -1 nogil:
    """Put the summands of a sum into ``others`` and ``found``, from left to right."""
    cdef ShaderData *s = sums.s
    cdef Scalar scalar
    cdef ValueId i
    cdef uint32_t k
    sums.others.clear()
    sums.found.clear()
    sums.stack.clear()
    sums.stack.push_back(root)
    while not sums.stack.empty():
        i = sums.stack.back()
        sums.stack.pop_back()
        if sums.difference_of[i]:
            sums.found.push_back(pair[uint64_t, uint32_t](sums.differences[sums.difference_of[i] - 1].numbers, i))
            continue
        if i != root and not _is_part(sums, i):
            sums.others.push_back(_scalar(i, 0))
            continue
        for k in range(2):
            scalar = _source(s, i, 1 - k)
            if scalar >> 4 < sums.counts.size() and s.instructions.components[scalar >> 4] == 1:
                sums.stack.push_back(scalar >> 4)
            else:
                sums.others.push_back(scalar)
    return 0


cdef uint32_t _whole(const Sums *sums, size_t first, size_t end) noexcept nogil:
    """How many times all four bytes of two numbers are there among differences of these."""
    cdef uint32_t[4] counts
    cdef size_t k
    counts[0] = counts[1] = counts[2] = counts[3] = 0
    for k in range(first, end):
        counts[sums.differences[sums.difference_of[sums.found[k].second] - 1].index] += 1
    return min(min(counts[0], counts[1]), min(counts[2], counts[3]))


cdef bint _is_whole(Sums *sums, ValueId sum) except -1 nogil:
    """Whether four differences of a sum are those of two numbers."""
    cdef size_t k
    _gather(sums, sum)
    for k in range(1, sums.found.size()):
        if sums.found[k].first != sums.found[0].first:
            return False
    return _whole(sums, 0, sums.found.size()) == 1


cdef int _keep_rest(Sums *sums, size_t first, size_t end, uint32_t whole) except -1 nogil:
    """Differences that lack one of the four bytes stay summands."""
    cdef uint32_t[4] counts
    cdef size_t k
    cdef uint32_t index
    counts[0] = counts[1] = counts[2] = counts[3] = 0
    for k in range(first, end):
        index = sums.differences[sums.difference_of[sums.found[k].second] - 1].index
        counts[index] += 1
        if counts[index] > whole:
            sums.others.push_back(_scalar(sums.found[k].second, 0))
    return 0


cdef inline ValueId _value(Lowering *b, Scalar scalar) except? 0xffffffffU nogil:
    """A scalar that may be of a part of the shader that has been rewritten."""
    cdef ValueId value = scalar >> 4
    if value < b.replacement.size() and b.replacement[value]:
        value = b.replacement[value]
    return component(b, value, scalar & 15)


cdef ValueId _lower_sum(Lowering *b, ValueId root) except? 0xffffffffU nogil:
    cdef Sums *sums = <Sums *>b.context
    cdef vector[pair[uint64_t, uint32_t]] numbers          # of each msad_4x8, and how often
    cdef size_t first = 0
    cdef size_t end, k
    cdef uint32_t whole
    cdef ValueId result = 0
    if root >= sums.counts.size() or sums.counts[root] < 4 or _is_part(sums, root):
        return lower_keep
    _gather(sums, root)
    sort(sums.found.begin(), sums.found.end())
    while first < sums.found.size():
        end = first
        while end < sums.found.size() and sums.found[end].first == sums.found[first].first:
            end += 1
        whole = _whole(sums, first, end)
        _keep_rest(sums, first, end, whole)
        if whole:
            numbers.push_back(pair[uint64_t, uint32_t](sums.found[first].first, whole))
        first = end
    if numbers.empty():
        return lower_keep
    for k in range(sums.others.size()):
        result = alu2(b, alu_iadd, result, _value(b, sums.others[k])) if k else _value(b, sums.others[k])
    if sums.others.empty():
        result = constant(b, 0, 32)
    for k in range(numbers.size()):
        for _ in range(numbers[k].second):
            result = alu3(b, alu_msad_4x8, _value(b, <Scalar>(numbers[k].first >> 32)), _value(b, <Scalar>numbers[k].first), result)
    return result


cdef bint _make_sums(ShaderData *s) except -1 nogil:
    cdef Sums sums
    sums.s = s
    if not _find_differences(&sums):
        return False
    _count_uses(&sums)
    _count_differences(&sums)
    return lowering_run(s, lower_alu, _lower_sum, &sums)


# -------------------------------------------------------------------------------------------------------------------- groups
cdef Group _as_group(const ShaderData *s, ValueId i) noexcept nogil:
    """An msad_4x8 as the first member of a group."""
    cdef Group group
    cdef Scalar window = _source(s, i, 1)
    cdef uint64_t bits = 0
    cdef uint32_t k
    for k in range(4):
        group.members[k] = 0
    group.reference = _source(s, i, 0)
    group.low = window
    group.high = 0
    if _is(s, window, alu_shfr) and _constant(s, _source(s, window >> 4, 2), &bits) and bits in (8, 16, 24):
        group.high = _source(s, window >> 4, 0)
        group.low = _source(s, window >> 4, 1)
    else:
        bits = 0
    group.members[bits // 8] = group.last = i
    group.count = 1
    group.open = True
    return group


cdef bint _join(Group *group, const Group *member) noexcept nogil:
    """Whether a group takes a member in: one at a place that it lacks, of the same numbers."""
    cdef uint32_t k
    if (not group.open or group.reference != member.reference or group.low != member.low
            or group.high and member.high and group.high != member.high):
        return False
    for k in range(4):
        if group.members[k] and member.members[k]:
            return False
    for k in range(4):
        group.members[k] += member.members[k]
    group.high |= member.high
    group.last = member.last
    group.count += 1
    return True


cdef int _add(Groups *g, ValueId i, size_t first) except -1 nogil:
    """Note an msad_4x8 as a member of one of the last groups, which begin at a row, or of a new one."""
    cdef Group member = _as_group(g.s, i)
    cdef size_t row = g.rows.size()
    if g.group_of.empty():
        g.group_of.assign(g.s.instructions.table.count)
    first = max(first, row - min(row, <size_t>most_open))
    while row > first and not _join(&g.rows[row - 1], &member):
        row -= 1
    if row == first:
        g.rows.push_back(member)
        row = g.rows.size()
    g.group_of[i] = <uint32_t>row
    if g.rows[row - 1].count == 4:
        g.rows[row - 1].open = False
    return 0


cdef bint _find_groups(Groups *g) except -1 nogil:
    cdef ShaderData *s = g.s
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef RowRange sources
    cdef ValueId i
    cdef size_t first                              # of the block's groups
    cdef uint32_t k, group
    while block:
        first = g.rows.size()
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            sources = sources_of(s, i)
            for k in range(sources.first, sources.first + sources.count if not g.group_of.empty() else sources.first):
                group = g.group_of[s.sources.value[k]]
                if group > first:
                    g.rows[group - 1].open = False
            if _is(s, _scalar(i, 0), alu_msad_4x8):
                _add(g, i, first)
        block = block_walk_next(s, block)
    return not g.rows.empty()


cdef ValueId _lower_group(Lowering *b, ValueId i) except? 0xffffffffU nogil:
    """The last member of a whole group makes all four sums; the others stand for its components from there on."""
    cdef Groups *g = <Groups *>b.context
    cdef Group *group
    cdef ValueId[4] sums
    cdef ValueId[2] window
    cdef ValueId all_sums
    cdef uint32_t k
    if i >= g.group_of.size() or not g.group_of[i]:
        return lower_keep
    group = &g.rows[g.group_of[i] - 1]
    if group.count < 4 or group.last != i:
        return lower_keep
    window[0] = _value(b, group.low)
    window[1] = _value(b, group.high)
    for k in range(4):
        sums[k] = _value(b, _source(b.s, group.members[k], 2))
    all_sums = alu3(b, alu_mqsad_4x8, _value(b, group.reference), vector_of(b, window, 2), vector_of(b, sums, 4))
    for k in range(4):
        sums[k] = component(b, all_sums, k)
        b.replacement[group.members[k]] = sums[k]
    return b.replacement[i]


cdef bint _make_groups(ShaderData *s) except -1 nogil:
    cdef Groups groups
    groups.s = s
    if s.info.gfx_level < gfx7 or not _find_groups(&groups):
        return False
    return lowering_run(s, lower_alu, _lower_group, &groups)


cdef bint opt_mqsad_run(ShaderData *s) except -1 nogil:
    cdef bint progress = _make_sums(s)
    progress |= _make_groups(s)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_mqsad_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Let sums of masked differences of bytes be one operation; True when one was."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
