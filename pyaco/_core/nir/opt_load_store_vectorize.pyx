"""Neighbouring loads, and neighbouring stores, of one block become one wider access.

Accesses join when they have the same opcode, resource (or physical address), run-time offset and access flags, stores the same element size too,
and their constant offsets follow one another without a gap; scalar loads may have gaps of a dword where that takes no more of them than they load
by themselves and a dword for each. A joined load replaces the first of its parts, a joined store the last of them;
nothing that could observe the difference (a write or barrier for loads, any memory access or barrier for stores) is in between. Stores of one
group do not overlap. Loads of buffers that have elements of several sizes, or too many small ones, become dwords, of which the parts are taken.
Widths: four components, 16 for ``load_smem_amd``, and also 8 and 16 dwords where the scalar unit loads from a buffer (which reads whole dwords in
any case, so the last may be used in part, and checks the range of each); shared memory only where the alignment is known to allow one
instruction. Two elements of shared memory that are apart, but not far, are one ``load_shared2_amd`` or ``store_shared2_amd``.

As Mesa's nir_opt_load_store_vectorize in effect. Needs: offsets folded to ``iadd(value, constant)`` by the algebraic rules; divergence, which holds
for the values made here too.
"""
from cython.operator cimport dereference, predecrement as decrement
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.map cimport map as ordered_map

from nir_opcodes cimport (
    alu_iadd, alu_u2u8, alu_unpack_32_2x16_split_x, alu_unpack_32_2x16_split_y, alu_ushr, index_access, index_align_mul,
    index_align_offset, index_base, index_offset0, index_offset1, index_st64, index_write_mask, intrinsic_barrier,
    intrinsic_flag_can_eliminate, intrinsic_flag_can_reorder, intrinsic_flag_convergent, intrinsic_flags, intrinsic_index_count,
    intrinsic_load_constant, intrinsic_load_global_amd, intrinsic_load_shared, intrinsic_load_shared2_amd, intrinsic_load_smem_amd,
    intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_store_global_amd, intrinsic_store_shared, intrinsic_store_shared2_amd, intrinsic_store_ssbo,
)
from pyaco._core.common.bits cimport lowest_bit
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport alu1, alu2_constant, component, constant, intrinsic1, intrinsic2, intrinsic3, swizzled, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, access_atomic, access_can_reorder, access_volatile, block_walk_next, constant_bits, intrinsic_index,
    intrinsic_set_index, nir_alu, nir_divergent, nir_intrinsic, nir_load_const, node_first_block, source_swizzle, source_value, swizzle_component,
    value_is_constant,
)
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lower_remove, lowered, lowering_run

cdef struct Access:
    uint64_t key_opcode            # opcode << 32 | element bits of stores << 24 | access flags
    uint64_t key_address           # resource << 32 | run-time offset
    uint32_t epoch                 # accesses of different epochs must not join
    int64_t offset                 # constant part
    ValueId instruction
    uint32_t position              # in the block
    uint32_t components
    uint32_t bits                  # of an element

cdef struct Group:
    uint32_t first                 # rows in Context.members
    uint32_t count
    uint32_t components            # of the joined access
    uint32_t bits
    uint32_t unit                  # of a pair of elements apart from each other: bytes that its offsets count; else 0
    ValueId anchor                 # the part that the joined access replaces; the others are removed

cdef struct Shape:                 # of an access
    uint32_t components
    uint32_t bits

cdef struct Run:                   # of adjacent accesses
    const Access *first
    uint32_t components
    int64_t bytes
    uint32_t most_bits
    bint same_bits                 # all have elements of one size
    bint straight                  # no element lies across those of its size
    int64_t whole_bytes            # of the scalar loads that the accesses are by themselves, and a dword for each but the first

cdef enum:
    most_bytes = 64                # of an access
    most_pair_offset = 255         # in units
    most_looked_at = 8             # accesses that might be the second of a pair

cdef struct Context:
    ShaderData *s
    SmallVector[Access] accesses
    SmallVector[Access] members
    SmallVector[Group] groups
    Zeroed[uint32_t] group_of      # by instruction: row + 1
    ordered_map[int64_t, int64_t] stored    # of the last epoch: end by start; none overlap


cdef bint _comes_before(const Access &a, const Access &b) noexcept nogil:
    if a.key_opcode != b.key_opcode:
        return a.key_opcode < b.key_opcode
    if a.key_address != b.key_address:
        return a.key_address < b.key_address
    if a.epoch != b.epoch:
        return a.epoch < b.epoch
    if a.offset != b.offset:
        return a.offset < b.offset
    return a.position < b.position


cdef bint _is_load(int opcode) noexcept nogil:
    return opcode in (intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_smem_amd, intrinsic_load_global_amd, intrinsic_load_shared,
                      intrinsic_load_constant)


cdef bint _is_store(int opcode) noexcept nogil:
    return opcode in (intrinsic_store_ssbo, intrinsic_store_global_amd, intrinsic_store_shared)


cdef int _resource_source(int opcode) noexcept nogil:
    """Source that names the memory, a physical address also, -1 none."""
    if opcode in (intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_smem_amd, intrinsic_load_global_amd):
        return 0
    return 1 if opcode in (intrinsic_store_ssbo, intrinsic_store_global_amd) else -1


cdef int _offset_source(int opcode) noexcept nogil:
    if opcode in (intrinsic_store_ssbo, intrinsic_store_global_amd):
        return 2
    return 0 if opcode in (intrinsic_load_shared, intrinsic_load_constant) else 1


cdef ValueId _split_offset(const ShaderData *s, ValueId instruction, int64_t *fixed) noexcept nogil:
    """The run-time part of an access's offset (0 none); its constant part is added to `fixed`."""
    cdef int opcode = s.instructions.opcode[instruction]
    cdef ValueId value = source_value(s, instruction, _offset_source(opcode))
    cdef uint32_t side
    cdef ValueId other
    if value_is_constant(s, value):
        fixed[0] += <int64_t>constant_bits(s, value, 0)
        return 0
    # A sum of 32 bits may wrap; a physical address goes on.
    if (s.instructions.kind[value] != nir_alu or s.instructions.opcode[value] != alu_iadd
            or opcode in (intrinsic_load_global_amd, intrinsic_store_global_amd)):
        return value
    for side in range(2):
        other = source_value(s, value, side)
        if value_is_constant(s, other) and s.instructions.components[source_value(s, value, 1 - side)] == 1:
            fixed[0] += <int>constant_bits(s, other, swizzle_component(source_swizzle(s, value, side), 0))
            return source_value(s, value, 1 - side)
    return value


cdef bint _is_ordered(const ShaderData *s, ValueId instruction) noexcept nogil:
    """Whether the access must keep its order among others."""
    cdef int opcode = s.instructions.opcode[instruction]
    return not (intrinsic_flags[opcode] & intrinsic_flag_can_reorder or intrinsic_index(s, instruction, index_access) & access_can_reorder)


cdef uint64_t _address_key(const ShaderData *s, ValueId instruction) noexcept nogil:
    """Resource and run-time offset of an access, as one key."""
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int resource = _resource_source(opcode)
    cdef int64_t fixed = 0
    cdef ValueId run_time = _split_offset(s, instruction, &fixed)
    return <uint64_t>(source_value(s, instruction, resource) if resource >= 0 else 0) << 32 | run_time


cdef bint _full_mask(const ShaderData *s, ValueId store) noexcept nogil:
    cdef uint32_t components = s.instructions.components[source_value(s, store, 0)]
    return <uint32_t>intrinsic_index(s, store, index_write_mask) == (<uint32_t>1 << components) - 1


cdef void _add_access(Context *c, ValueId instruction, uint32_t position, uint32_t epoch) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint32_t access = intrinsic_index(s, instruction, index_access)
    cdef ValueId value = instruction if _is_load(opcode) else source_value(s, instruction, 0)
    cdef Access a
    if access & (access_atomic | access_volatile) or s.instructions.bit_size[value] < 8 \
            or s.instructions.components[value] > (8 if opcode == intrinsic_load_smem_amd else 4):
        return
    a.offset = intrinsic_index(s, instruction, index_base)
    _split_offset(s, instruction, &a.offset)
    a.bits = s.instructions.bit_size[value]
    a.key_opcode = <uint64_t>opcode << 32 | access
    if not _is_load(opcode):
        a.key_opcode |= <uint64_t>a.bits << 24
    a.key_address = _address_key(s, instruction)
    a.epoch = epoch if _is_ordered(s, instruction) else 0
    a.instruction = instruction
    a.position = position
    a.components = s.instructions.components[value]
    c.accesses.push_back(a)


cdef inline int64_t _bytes(const Access *a) noexcept nogil:
    return a.components * a.bits // 8


cdef bint _overlaps(Context *c, const Access *a, uint32_t *epoch) except -1 nogil:
    """Whether a store overlaps one before it in its epoch, all of which go to the same run-time address; it is noted where not."""
    cdef int64_t end = a.offset + <int64_t>_bytes(a)
    cdef ordered_map[int64_t, int64_t].iterator next_one
    if epoch[0] != a.epoch:
        epoch[0] = a.epoch
        c.stored.clear()
    next_one = c.stored.lower_bound(end)
    if next_one != c.stored.begin():
        decrement(next_one)
        if dereference(next_one).second > a.offset:
            return True
    c.stored[a.offset] = end
    return False


cdef int _collect(Context *c, NodeId block) except -1 nogil:
    """Collect accesses. Writes and barriers begin a new epoch for loads, any ordered access or barrier for stores."""
    cdef ShaderData *s = c.s
    cdef uint32_t i
    cdef ValueId instruction
    cdef uint32_t write_epoch = 1
    cdef uint32_t any_epoch = 1
    cdef uint32_t stored_epoch = 0
    cdef int opcode, flags
    c.accesses.clear()
    for i in range(s.nodes.order_count[block]):
        instruction = s.order.instruction[s.nodes.order_first[block] + i]
        if s.instructions.kind[instruction] != nir_intrinsic:
            continue
        opcode = s.instructions.opcode[instruction]
        flags = intrinsic_flags[opcode]
        if _is_load(opcode):
            if _is_ordered(s, instruction):
                any_epoch += 1
            _add_access(c, instruction, i, write_epoch)
        elif _is_store(opcode):
            write_epoch += 1
            # Stores with different keys may overlap in memory.
            if not (c.accesses.size() and _is_store(s.instructions.opcode[c.accesses.back().instruction])
                    and _address_key(s, instruction) == c.accesses.back().key_address):
                any_epoch += 1
            if _full_mask(s, instruction):
                _add_access(c, instruction, i, any_epoch)
            if not c.accesses.size() or c.accesses.back().instruction != instruction:
                any_epoch += 1     # it takes no part
            elif _overlaps(c, &c.accesses.back(), &stored_epoch):
                any_epoch += 1
                c.accesses.back().epoch = any_epoch
                _overlaps(c, &c.accesses.back(), &stored_epoch)
        elif not flags & intrinsic_flag_can_reorder and (
                not flags & intrinsic_flag_can_eliminate or flags & intrinsic_flag_convergent or opcode == intrinsic_barrier):
            # Writes, atomics and barriers; also operations across lanes, for simplicity.
            write_epoch += 1
            any_epoch += 1
        elif not flags & intrinsic_flag_can_reorder:
            any_epoch += 1
    return 0


cdef uint32_t _known_alignment(const ShaderData *s, ValueId instruction) noexcept nogil:
    cdef uint32_t multiple = intrinsic_index(s, instruction, index_align_mul)
    cdef uint32_t offset = intrinsic_index(s, instruction, index_align_offset)
    if multiple == 0:
        return 1
    return <uint32_t>lowest_bit(offset) if offset else multiple


cdef bint _fits(const ShaderData *s, ValueId first, uint32_t components, uint32_t bits) noexcept nogil:
    """Whether the memory instructions have a form for that many components from this access on."""
    cdef int opcode = s.instructions.opcode[first]
    cdef uint32_t bytes = components * bits // 8
    cdef uint32_t alignment = _known_alignment(s, first)
    if bytes > 16 and opcode != intrinsic_load_smem_amd:
        return False
    if opcode == intrinsic_load_smem_amd:
        return bits == 32 and components in (2, 4, 8, 16)
    if components > 4:
        return False
    if opcode == intrinsic_load_shared or opcode == intrinsic_store_shared:
        return alignment >= bytes and bytes in (2, 4, 8, 16)
    if alignment >= 4 or alignment >= bytes:
        return True
    # Four small elements: lanes load the dwords that these stand in, wherever that is, and shift.
    return components == 4 and bits < 32 and opcode in (intrinsic_load_ssbo, intrinsic_load_ubo) and s.instructions.flags[first] & nir_divergent != 0


cdef bint _same_keys(const Access *a, const Access *b) noexcept nogil:
    return a.key_opcode == b.key_opcode and a.key_address == b.key_address and a.epoch == b.epoch


cdef bint _is_uniform(const ShaderData *s, ValueId load) noexcept nogil:
    """Whether the scalar unit makes the load: it reads whole dwords, and more of them."""
    return (s.instructions.opcode[load] in (intrinsic_load_ssbo, intrinsic_load_ubo) and not _is_ordered(s, load)
            and not s.instructions.flags[load] & nir_divergent)


cdef inline uint32_t _power_of_two(uint32_t dwords) noexcept nogil:
    """The dwords that the scalar unit loads for so many."""
    cdef uint32_t whole = 1
    while whole < dwords:
        whole *= 2
    return whole


cdef int64_t _hole(const ShaderData *s, const Run *run, const Access *a) noexcept nogil:
    """The bytes between a run and the access that follows; -1 where it does not follow. The scalar unit may load one dword that nobody asked for."""
    cdef int64_t hole = a.offset - run.first.offset - run.bytes
    if not _same_keys(a, run.first):
        return -1
    return 0 if hole == 0 else hole if hole == 4 and run.most_bits == 32 and a.bits == 32 and _is_uniform(s, a.instruction) else -1


cdef Shape _shape_of(const ShaderData *s, const Run *run) noexcept nogil:
    """What one access for a run would have; no components where there is none."""
    cdef Shape shape
    cdef ValueId first = run.first.instruction
    cdef int opcode = s.instructions.opcode[first]
    cdef bint uniform = _is_uniform(s, first)
    shape.bits = run.first.bits
    shape.components = run.components
    # For three dwords at an address the scalar unit would load four; nobody says that there are as many.
    if opcode == intrinsic_load_global_amd and run.bytes == 12 and not _is_ordered(s, first) and not s.instructions.flags[first] & nir_divergent:
        shape.components = 0
        return shape
    if run.same_bits and _fits(s, first, shape.components, shape.bits):
        return shape
    # Dwords, of which the parts are taken.
    shape.bits = 32
    shape.components = <uint32_t>(run.bytes + 3) // 4
    if uniform and shape.components > 2 and _power_of_two(shape.components) * 4 <= run.whole_bytes:
        shape.components = _power_of_two(shape.components)
    if (opcode not in (intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_global_amd) or run.most_bits > 32 or not run.straight
            or _known_alignment(s, first) < 4 or run.bytes % 4 and not uniform
            or shape.components > 4 and not (uniform and shape.components in (8, 16))):
        shape.components = 0
    return shape


cdef void _extend(Run *run, const Access *a, int64_t hole) noexcept nogil:
    """Add the access that follows."""
    run.bytes += hole
    run.whole_bytes += 4 * _power_of_two(<uint32_t>(_bytes(a) + 3) // 4) + (4 if run.components else 0)
    run.same_bits = run.same_bits and a.bits == run.first.bits and hole == 0
    run.straight = run.straight and run.bytes % (a.bits // 8) == 0
    run.most_bits = max(run.most_bits, a.bits)
    run.components += a.components
    run.bytes += _bytes(a)


cdef void _find_groups(Context *c) noexcept nogil:
    """Split every run of adjacent accesses into the widest groups that fit, from its start."""
    cdef uint32_t count = <uint32_t>c.accesses.size()
    cdef uint32_t i = 0
    cdef uint32_t end, best
    cdef int64_t hole
    cdef Run run
    cdef Shape shape
    cdef Shape best_shape = Shape(components=0, bits=0)
    while i < count:
        run = Run(first=&c.accesses[i], components=0, bytes=0, most_bits=0, same_bits=True, straight=True, whole_bytes=0)
        _extend(&run, &c.accesses[i], 0)
        best = end = i + 1
        while end < count and run.bytes < most_bytes:
            hole = _hole(c.s, &run, &c.accesses[end])
            if hole < 0:
                break
            _extend(&run, &c.accesses[end], hole)
            end += 1
            shape = _shape_of(c.s, &run)
            if shape.components:
                best = end
                best_shape = shape
        if best > i + 1:
            _join(c, i, best, 1, best_shape, 0)
        i = best


cdef void _join(Context *c, uint32_t first, uint32_t end, uint32_t step, Shape shape, uint32_t unit) noexcept nogil:
    """Make a group of every `step`-th of the sorted accesses first .. end - 1."""
    cdef Group group
    cdef uint32_t i = first
    cdef uint32_t anchor = first
    cdef bint store = _is_store(c.s.instructions.opcode[c.accesses[first].instruction])
    group.first = <uint32_t>c.members.size()
    group.components = shape.components
    group.bits = shape.bits
    group.unit = unit
    while i < end:
        c.members.push_back(c.accesses[i])
        if (c.accesses[i].position > c.accesses[anchor].position) == store:
            anchor = i
        c.group_of[c.accesses[i].instruction] = <uint32_t>c.groups.size() + 1
        i += step
    group.count = <uint32_t>c.members.size() - group.first
    group.anchor = c.accesses[anchor].instruction
    c.groups.push_back(group)


cdef inline int64_t _immediate(const ShaderData *s, const Access *a) noexcept nogil:
    """What of the offset of an access to shared memory can be an offset of a pair."""
    return intrinsic_index(s, a.instruction, index_base) if a.key_address & 0xffffffffU else a.offset


cdef uint32_t _pair_unit(Context *c, uint32_t low, uint32_t high) noexcept nogil:
    """The unit of the offsets of an instruction that reaches two elements of shared memory; 0: there is none."""
    cdef const Access *a = &c.accesses[low]
    cdef const Access *b = &c.accesses[high]
    cdef int64_t first = _immediate(c.s, a)
    cdef int64_t second = first + b.offset - a.offset
    cdef uint32_t size = a.bits // 8
    if (b.components != 1 or a.bits != b.bits or _known_alignment(c.s, a.instruction) < size
            or _known_alignment(c.s, b.instruction) < size or c.group_of[b.instruction]):
        return 0
    if first % size == 0 and second % size == 0 and 0 <= first < second <= most_pair_offset * <int64_t>size:
        return size
    size *= 64
    return size if first % size == 0 and second % size == 0 and 0 <= first < second <= most_pair_offset * <int64_t>size else 0


cdef void _find_pairs(Context *c) noexcept nogil:
    """Elements of shared memory that are apart, but not far: one instruction for each two."""
    cdef uint32_t i, k, unit
    cdef Shape shape
    shape.components = 2
    for i in range(<uint32_t>c.accesses.size()):
        shape.bits = c.accesses[i].bits
        if (c.group_of[c.accesses[i].instruction] or c.accesses[i].components != 1 or shape.bits not in (32, 64)
                or c.s.instructions.opcode[c.accesses[i].instruction] not in (intrinsic_load_shared, intrinsic_store_shared)):
            continue
        for k in range(i + 1, min(i + 1 + most_looked_at, <uint32_t>c.accesses.size())):
            if not _same_keys(&c.accesses[i], &c.accesses[k]):
                break
            unit = _pair_unit(c, i, k)
            if unit:
                _join(c, i, k + 1, k - i, shape, unit)
                break


# --------------------------------------------------------------------------------------------------------------- rewrite
cdef ValueId _offset_of(Lowering *b, const Access *a) except? 0xffffffffU nogil:
    """The offset of the lowest part; its values are defined before the earliest part."""
    cdef ValueId run_time = lowered(b, a.key_address & 0xffffffffU)
    cdef int64_t fixed = a.offset - intrinsic_index(b.s, a.instruction, index_base)
    if not run_time:
        return constant(b, <uint64_t>fixed, 32)
    return alu2_constant(b, alu_iadd, run_time, <uint64_t>fixed) if fixed else run_time


cdef ValueId _pair_address(Lowering *b, const Access *low) except? 0xffffffffU nogil:
    """The address that both offsets of a pair count from."""
    return _offset_of(b, low) if low.key_address & 0xffffffffU else constant(b, 0, 32)


cdef int _set_pair(ShaderData *s, ValueId row, const Access *low, const Group *group) noexcept nogil:
    cdef int64_t first = _immediate(s, low)
    intrinsic_set_index(s, row, index_offset0, <int>(first // group.unit))
    intrinsic_set_index(s, row, index_offset1, <int>((first + low[1].offset - low.offset) // group.unit))
    intrinsic_set_index(s, row, index_st64, group.unit > group.bits // 8)
    return 0


cdef ValueId _pair_load(Lowering *b, const Access *low, const Group *group) except? 0xffffffffU nogil:
    cdef ValueId row = intrinsic1(b, intrinsic_load_shared2_amd, 2, <int>group.bits, _pair_address(b, low))
    _set_pair(b.s, row, low, group)
    return row


cdef ValueId _joined_load(Lowering *b, const Access *a, uint32_t components, int bits) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[a.instruction]
    cdef ValueId offset = _offset_of(b, a)
    cdef ValueId row
    if _resource_source(opcode) >= 0:
        row = intrinsic2(b, opcode, components, bits, lowered(b, source_value(s, a.instruction, 0)), offset)
    else:
        row = intrinsic1(b, opcode, components, bits, offset)
    _copy_indices(s, row, a.instruction)
    return row


cdef void _copy_indices(ShaderData *s, ValueId target, ValueId origin) noexcept nogil:
    cdef uint32_t i
    for i in range(intrinsic_index_count[<int>s.instructions.opcode[origin]]):
        s.indices.value[s.instructions.data[target] + i] = s.indices.value[s.instructions.data[origin] + i]


cdef ValueId _slice(Lowering *b, ValueId value, uint32_t first, uint32_t count) except? 0xffffffffU nogil:
    """Some adjacent components."""
    cdef uint64_t swizzle = 0
    cdef uint32_t i
    for i in range(count):
        swizzle |= <uint64_t>(first + i) << 4 * i
    return swizzled(b, value, swizzle, count)


cdef ValueId _of_dwords(Lowering *b, ValueId dwords, int64_t position, const Access *a) except? 0xffffffffU nogil:
    """What an access reads, from dwords that begin `position` bytes before."""
    cdef ValueId[4] values
    cdef ValueId word
    cdef uint32_t k
    for k in range(a.components):
        word = component(b, dwords, <uint32_t>position // 4)
        if a.bits == 32:
            values[k] = word
        elif a.bits == 16:
            values[k] = alu1(b, alu_unpack_32_2x16_split_y if position & 2 else alu_unpack_32_2x16_split_x, word)
        else:
            if position & 3:
                word = alu2_constant(b, alu_ushr, word, 8 * (<uint32_t>position & 3))
            values[k] = alu1(b, alu_u2u8, word)
        position += a.bits // 8
    return vector_of(b, values, a.components)


cdef ValueId _lower_load(Lowering *b, Context *c, ValueId instruction, const Group *group) except? 0xffffffffU nogil:
    """At the earliest part: load all, and slices for all parts."""
    cdef ValueId result = 0
    cdef ValueId part
    cdef uint32_t i
    cdef const Access *lowest = &c.members[group.first]
    cdef const Access *member
    cdef ValueId value = _pair_load(b, lowest, group) if group.unit else _joined_load(b, lowest, group.components, <int>group.bits)
    for i in range(group.count):
        member = &c.members[group.first + i]
        if group.unit:
            part = component(b, value, i)
        elif member.bits == group.bits:
            part = _slice(b, value, <uint32_t>((member.offset - lowest.offset) * 8 // group.bits), member.components)
        else:
            part = _of_dwords(b, value, member.offset - lowest.offset, member)
        if member.instruction == instruction:
            result = part
        else:
            b.replacement[member.instruction] = part
    return result


cdef int _lower_store(Lowering *b, Context *c, const Group *group) except -1 nogil:
    """At the latest part: store all; the values of the others are defined already."""
    cdef ShaderData *s = b.s
    cdef const Access *lowest = &c.members[group.first]
    cdef int opcode = s.instructions.opcode[lowest.instruction]
    cdef ValueId[8] values
    cdef uint32_t count = 0
    cdef uint32_t i, k
    cdef ValueId value, offset, row
    for i in range(group.count):
        value = source_value(s, c.members[group.first + i].instruction, 0)
        for k in range(c.members[group.first + i].components):
            values[count] = component(b, value, k)
            count += 1
    value = vector_of(b, values, count)
    if group.unit:
        _set_pair(s, intrinsic2(b, intrinsic_store_shared2_amd, 0, 0, value, _pair_address(b, lowest)), lowest, group)
        return 0
    offset = source_value(s, lowest.instruction, _offset_source(opcode))
    if _resource_source(opcode) >= 0:
        row = intrinsic3(b, opcode, 0, 0, value, source_value(s, lowest.instruction, 1), offset)
    else:
        row = intrinsic2(b, opcode, 0, 0, value, offset)
    _copy_indices(s, row, lowest.instruction)
    intrinsic_set_index(s, row, index_write_mask, (1 << count) - 1)
    return 0


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef Context *c = <Context *>b.context
    cdef ShaderData *s = b.s
    cdef ValueId result = <uint32_t>lower_remove
    cdef ValueId made = s.instructions.table.count
    cdef uint16_t flags = nir_divergent
    cdef Group group
    if instruction >= c.group_of.size() or c.group_of[instruction] == 0:
        return lower_keep
    group = c.groups[c.group_of[instruction] - 1]
    if instruction != group.anchor:
        return result
    if _is_load(s.instructions.opcode[instruction]):
        flags = s.instructions.flags[instruction] & <uint16_t>nir_divergent
        result = _lower_load(b, c, instruction, &group)
    else:
        _lower_store(b, c, &group)
    for made in range(made, s.instructions.table.count):     # what is made for a store may differ between lanes; nothing else reads it
        if s.instructions.kind[made] != nir_load_const:
            s.instructions.flags[made] |= flags
    return result


cdef bint opt_load_store_vectorize_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef NodeId block = node_first_block(s)
    c.s = s
    c.group_of.assign(s.instructions.table.count)
    while block:
        _collect(&c, block)
        sort(c.accesses.begin(), c.accesses.end(), &_comes_before)
        _find_groups(&c)
        _find_pairs(&c)
        block = block_walk_next(s, block)
    if c.groups.empty():
        return False
    return lowering_run(s, lower_intrinsics, _lower, &c)


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_load_store_vectorize_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Join neighbouring accesses."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
