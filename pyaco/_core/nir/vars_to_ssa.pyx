"""Function-local variables become SSA values, one per scalar component.

Needs: ``lower_var_copies`` before it (a variable that is still copied as a whole stays in memory).
Guarantees: every component of a function_temp or shader_temp variable that is only reached through constant indices is
a value; an array reached by an index known at run time is promoted too when it has at most ``indirect_limit`` elements
(loads become trees of selections, stores one selection per element), or when no load has such an index and at most so
many components are read of what a store may write; else that array stays a variable. Components of a vector picked at
run time are always selected. Uninitialised components are undefined values.

Algorithm: phis are allowed at the iterated dominance frontier of a component's stores (Cytron et al., "Efficiently
computing static single assignment form", 1991) but made only when a read reaches one, which prunes them. Reads walk up
the dominator tree, and every answer is cached for all blocks on the way.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_bcsel, alu_iand, alu_ieq, alu_ult, index_write_mask, intrinsic_load_deref, intrinsic_store_deref,
)
from pyaco._core.common.hashing cimport hash_mix
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport alu2, alu2_constant, alu3, component, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    BlockNumber, NodeId, Shader, ShaderData, ShaderRewrite, TypeId, ValueId, VariableId, constant_bits, deref_array, deref_struct,
    deref_var, intrinsic_index, mode_function_temp, mode_shader_temp, nir_deref, nir_intrinsic, nir_phi_new, nir_undefined,
    shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end, source_value, type_array, type_matrix,
    value_is_constant, variable_alive,
)
from pyaco._core.nir.dominance cimport Cfg, cfg_build, cfg_dominance, cfg_frontiers
from pyaco._core.nir.lowering cimport Lowering, lower_derefs, lower_intrinsics, lower_keep, lower_remove, lowered, lowering_run
from pyaco._core.nir.types cimport member_slots, type_slots

cdef enum:
    no_variable = 0xffffffff
    phi_allowed = 0xffffffff
    variable_slot_limit = 1 << 16
    neighbours = 16                # blocks whose values of a slot stand together
    written_of = 16                # blocks: where a slot is written in one of so many, it is one of many blocks

cdef struct Dimension:
    ValueId index
    uint32_t stride                # slots
    uint32_t length                # elements

cdef struct Path:                  # of a deref
    VariableId variable
    uint32_t slot
    uint32_t dimension_first       # rows in Context.dimensions, outermost first
    uint32_t dimension_count
    uint32_t span_first            # slots of the outermost array (matrix, vector) that is reached by an index known at run time
    uint32_t span_count            # 0: there is none
    bint wide                      # too many elements to choose one of them by selections
    bint out_of_bounds             # a constant index past the end

cdef struct Definition:
    uint64_t key                   # slot << 32 | block, + 1; 0: free
    ValueId value

# Values by slot and block: of slots that are written in many blocks, in a row for each block, so that a walk over the code has them at hand; of the
# others, in a hash table with linear probing, in which a slot's values of neighbouring blocks are neighbours.
cdef struct Definitions:
    vector[uint32_t] column        # by slot: place in the rows of blocks, from 1; 0: hash table
    uint32_t columns
    Zeroed[ValueId] places         # by block and column
    vector[Definition] rows
    uint32_t count

cdef struct Context:
    ShaderData *s
    Cfg *cfg
    uint32_t indirect_limit
    uint32_t slot_count
    vector[uint32_t] slot_base                    # by variable
    vector[uint8_t] kept                          # by slot: stays in memory
    vector[uint8_t] whole                         # by variable: every slot is promoted
    vector[ValueId] indirect                      # loads and stores of spans
    vector[uint32_t] read_slots                   # that loads may read, in order; only with stores to wide arrays
    vector[uint32_t] reads_before                 # by slot: how many of these are before it
    Zeroed[uint32_t] path_of                      # by instruction: row in `paths`; row 0 is that of none
    vector[Path] paths
    vector[Dimension] dimensions
    Definitions definitions                       # by slot and block: value at its end (or phi_allowed)
    vector[ValueId] phis
    vector[uint32_t] phi_slots
    vector[BlockNumber] phi_blocks
    vector[ValueId] undefs
    unordered_map[uint32_t, ValueId] undef_of_slot


# ---------------------------------------------------------------------------------------------------------- definitions
cdef inline size_t _row(const Definitions *d, uint64_t key) noexcept nogil:
    """Where a key stands, or would stand."""
    cdef size_t mask = d.rows.size() - 1
    cdef size_t row = hash_mix(hash_mix(0, key >> 32), <uint32_t>key // neighbours) * neighbours + <uint32_t>key % neighbours & mask
    while d.rows[row].key and d.rows[row].key != key + 1:
        row = row + 1 & mask
    return row


cdef int _begin(Definitions *d, const vector[vector[BlockNumber]] &stores, uint32_t slots, size_t blocks) except -1 nogil:
    """Choose what has columns: so few slots that these have at most `written_of` places for each slot and each store."""
    cdef uint32_t slot
    d.count = d.columns = 0
    d.rows.resize(64)
    d.column.resize(slots)
    for slot in range(slots):
        if (1 + (stores[slot].size() if slot < stores.size() else 0)) * written_of >= blocks:
            d.columns += 1
            d.column[slot] = d.columns
    d.places.assign(d.columns * blocks)
    return 0


cdef inline size_t _place(const Definitions *d, uint64_t key) noexcept nogil:
    return <uint32_t>key * <size_t>d.columns + d.column[key >> 32] - 1


cdef inline ValueId _definition(const Definitions *d, uint64_t key) noexcept nogil:
    """The value of a slot in a block (slot << 32 | block), 0 where there is none."""
    return d.places[_place(d, key)] if d.column[key >> 32] else d.rows[_row(d, key)].value


cdef void _define(Definitions *d, uint64_t key, ValueId value) noexcept nogil:
    cdef vector[Definition] old
    cdef Definition one
    cdef size_t row, k
    if d.column[key >> 32]:
        d.places[_place(d, key)] = value
        return
    row = _row(d, key)
    if d.rows[row].key == 0:
        if 2 * (d.count + 1) > d.rows.size():
            old.swap(d.rows)
            d.rows.resize(2 * old.size())
            for k in range(old.size()):
                if old[k].key:
                    d.rows[_row(d, old[k].key - 1)] = old[k]
            row = _row(d, key)
        d.count += 1
    one.key = key + 1
    one.value = value
    d.rows[row] = one


# ------------------------------------------------------------------------------------------------------------- analysis
cdef bint _is_local(const ShaderData *s, ValueId instruction) noexcept nogil:
    return s.instructions.kind[instruction] == nir_deref and (
        s.instructions.mode[instruction] & (mode_function_temp | mode_shader_temp)) != 0


cdef void _number_slots(Context *c) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef VariableId variable
    cdef uint32_t count
    c.slot_base.assign(s.variables.table.count, <uint32_t>no_variable)
    c.whole.assign(s.variables.table.count, 0)
    c.slot_count = 0
    for variable in range(s.variables.table.count):
        if not s.variables.flags[variable] & variable_alive:
            continue
        if not s.variables.mode[variable] & (mode_function_temp | mode_shader_temp):
            continue
        count = type_slots(s, s.variables.type[variable])
        if count <= variable_slot_limit:
            c.slot_base[variable] = c.slot_count
            c.slot_count += count
    c.kept.assign(c.slot_count, 0)


cdef void _keep(Context *c, uint32_t first, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(first, first + count):
        c.kept[i] = 1


cdef void _keep_variable(Context *c, VariableId variable) noexcept nogil:
    if variable != <uint32_t>no_variable and c.slot_base[variable] != <uint32_t>no_variable:
        _keep(c, c.slot_base[variable], type_slots(c.s, c.s.variables.type[variable]))


cdef void _extend_path(Context *c, ValueId deref, TypeId parent_type, Path *path) noexcept nogil:
    """Extend a path by one array (matrix, vector) index."""
    cdef ShaderData *s = c.s
    cdef ValueId index = source_value(s, deref, 1)
    cdef bint is_vector = s.types.base[parent_type] != type_array and s.types.base[parent_type] != type_matrix
    cdef uint32_t length = s.types.components[parent_type] if is_vector else s.types.length[parent_type]
    cdef uint32_t stride = 1 if is_vector else type_slots(s, s.types.element[parent_type])
    cdef uint32_t combinations = length
    cdef uint32_t i
    cdef Dimension dimension
    if value_is_constant(s, index):
        if constant_bits(s, index, 0) >= length:
            path.out_of_bounds = True
        else:
            path.slot += <uint32_t>constant_bits(s, index, 0) * stride
        return
    for i in range(path.dimension_count):
        combinations *= c.dimensions[path.dimension_first + i].length
    if path.dimension_count == 0:
        path.span_first = path.slot
        path.span_count = length * stride
    if not is_vector and combinations > c.indirect_limit:
        path.wide = True
    i = <uint32_t>c.dimensions.size()
    if path.dimension_first + path.dimension_count != i:
        # Another path grew in between: copy, so that each path is one run.
        for i in range(path.dimension_count):
            dimension = c.dimensions[path.dimension_first + i]
            c.dimensions.push_back(dimension)
        path.dimension_first = <uint32_t>c.dimensions.size() - path.dimension_count
    dimension.index = index
    dimension.stride = stride
    dimension.length = length
    c.dimensions.push_back(dimension)
    path.dimension_count += 1


cdef inline const Path *_path(const Context *c, ValueId deref) noexcept nogil:
    return &c.paths[c.path_of[deref]]


cdef void _find_path(Context *c, ValueId deref) noexcept nogil:
    """Compute the path of a deref from that of its parent."""
    cdef ShaderData *s = c.s
    cdef Path path = c.paths[0]
    cdef ValueId parent
    cdef TypeId parent_type
    if s.instructions.opcode[deref] == deref_var:
        if c.slot_base[s.instructions.data[deref]] != <uint32_t>no_variable:
            path.variable = s.instructions.data[deref]
            path.slot = c.slot_base[path.variable]
            path.dimension_first = <uint32_t>c.dimensions.size()
    elif s.instructions.opcode[deref] == deref_array or s.instructions.opcode[deref] == deref_struct:
        parent = source_value(s, deref, 0)
        path = c.paths[c.path_of[parent]]
        if path.variable != <uint32_t>no_variable:
            parent_type = s.instructions.type[parent]
            if s.instructions.opcode[deref] == deref_struct:
                path.slot += member_slots(s, parent_type, s.instructions.data[deref])
            else:
                _extend_path(c, deref, parent_type, &path)
    if path.variable != <uint32_t>no_variable:
        c.path_of[deref] = <uint32_t>c.paths.size()
        c.paths.push_back(path)


cdef bint _use_is_plain(const ShaderData *s, ValueId user, uint32_t source) noexcept nogil:
    """Whether a deref used as this source is only dereferenced further, loaded or stored to."""
    if source != 0:
        return False
    if s.instructions.kind[user] == nir_deref:
        return s.instructions.opcode[user] == deref_array or s.instructions.opcode[user] == deref_struct
    return s.instructions.kind[user] == nir_intrinsic and (
        s.instructions.opcode[user] == intrinsic_load_deref or s.instructions.opcode[user] == intrinsic_store_deref)


cdef int _count_reads(Context *c) except -1 nogil:
    """Find the slots that loads may read."""
    cdef ShaderData *s = c.s
    cdef BlockNumber number
    cdef NodeId block
    cdef const Path *path
    cdef uint32_t i, n, k, slot
    cdef ValueId load
    c.reads_before.assign(c.slot_count + 1, 0)
    for number in range(c.cfg.blocks.size()):
        block = c.cfg.blocks[number]
        for i in range(s.nodes.order_count[block]):
            load = s.order.instruction[s.nodes.order_first[block] + i]
            if s.instructions.kind[load] != nir_intrinsic or s.instructions.opcode[load] != intrinsic_load_deref:
                continue
            path = _path(c, source_value(s, load, 0))
            if path.variable == <uint32_t>no_variable or path.wide or path.out_of_bounds:
                continue
            for n in range(_combinations(c, path)):
                for k in range(s.instructions.components[load]):
                    c.reads_before[_combination_slot(c, path, n) + k + 1] = 1
    for slot in range(c.slot_count):
        if c.reads_before[slot + 1]:
            c.read_slots.push_back(slot)
        c.reads_before[slot + 1] = <uint32_t>c.read_slots.size()
    return 0


cdef bint _stays_in_memory(const Context *c, ValueId access) noexcept nogil:
    """Whether a load or store at an index known at run time would take too many selections."""
    cdef const Path *path = _path(c, source_value(c.s, access, 0))
    if not path.wide:
        return False
    return c.s.instructions.opcode[access] == intrinsic_load_deref or \
        c.reads_before[path.span_first + path.span_count] - c.reads_before[path.span_first] > c.indirect_limit


cdef int _judge_spans(Context *c) except -1 nogil:
    """Keep what indices known at run time reach where it has to be memory. Of two spans, one is a part of the other or they have no slot in
    common; a span and all that it is a part of, or has as a part, stay in memory together."""
    cdef const Path *path
    cdef vector[uint32_t] largest                  # by slot: how many slots the largest span has that begins there
    cdef vector[uint32_t] span_of                  # by slot: first of the largest span around it
    cdef uint32_t k
    cdef uint32_t slot = 0
    cdef bint stores = False
    cdef ValueId access
    if c.indirect.empty():
        return 0
    largest.assign(c.slot_count, 0)
    span_of.assign(c.slot_count, 0)
    for access in c.indirect:
        path = _path(c, source_value(c.s, access, 0))
        largest[path.span_first] = max(largest[path.span_first], path.span_count)
        stores = stores or (path.wide and c.s.instructions.opcode[access] == intrinsic_store_deref)
    while slot < c.slot_count:
        for k in range(max(<uint32_t>1, largest[slot])):
            span_of[slot + k] = slot
        slot += max(<uint32_t>1, largest[slot])
    if stores:
        _count_reads(c)
    for access in c.indirect:
        slot = span_of[_path(c, source_value(c.s, access, 0)).span_first]
        if not c.kept[slot] and _stays_in_memory(c, access):
            _keep(c, slot, largest[slot])
    return 0


cdef int _analyse(Context *c) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef BlockNumber number
    cdef NodeId block
    cdef uint32_t i, k
    cdef ValueId instruction, value
    cdef VariableId variable
    cdef Path none
    none.variable = <uint32_t>no_variable
    none.slot = none.dimension_first = none.dimension_count = none.span_first = none.span_count = 0
    none.wide = none.out_of_bounds = False
    _number_slots(c)
    c.path_of.assign(s.instructions.table.count)
    c.paths.assign(1, none)
    for number in range(c.cfg.blocks.size()):
        block = c.cfg.blocks[number]
        for i in range(s.nodes.order_count[block]):
            instruction = s.order.instruction[s.nodes.order_first[block] + i]
            if _is_local(s, instruction):
                _find_path(c, instruction)
            for k in range(s.instructions.source_count[instruction]):
                value = source_value(s, instruction, k)
                if s.instructions.kind[value] != nir_deref:
                    continue
                if not _use_is_plain(s, instruction, k):
                    _keep_variable(c, _path(c, value).variable)
                elif s.instructions.kind[instruction] == nir_intrinsic and _path(c, value).span_count:
                    c.indirect.push_back(instruction)
    _judge_spans(c)
    for variable in range(s.variables.table.count):
        if c.slot_base[variable] == <uint32_t>no_variable:
            continue
        c.whole[variable] = 1
        for i in range(type_slots(s, s.variables.type[variable])):
            if c.kept[c.slot_base[variable] + i]:
                c.whole[variable] = 0
    return 0


cdef bint _promoted(const Context *c, ValueId deref) noexcept nogil:
    """Whether what this deref points to has become values."""
    if c.path_of[deref] == 0:
        return False
    return _path(c, deref).out_of_bounds or not c.kept[_path(c, deref).slot]


# ------------------------------------------------------------------------------------------------------------------ phis
cdef uint32_t _combinations(const Context *c, const Path *path) noexcept nogil:
    cdef uint32_t total = 1
    cdef uint32_t i
    for i in range(path.dimension_count):
        total *= c.dimensions[path.dimension_first + i].length
    return total


cdef uint32_t _combination_slot(const Context *c, const Path *path, uint32_t combination) noexcept nogil:
    """The slot at one combination of the dynamic indices; the innermost index runs fastest."""
    cdef uint32_t slot = path.slot
    cdef uint32_t i
    cdef const Dimension *dimension
    for i in range(path.dimension_count):
        dimension = &c.dimensions[path.dimension_first + path.dimension_count - 1 - i]
        slot += combination % dimension.length * dimension.stride
        combination //= dimension.length
    return slot


cdef int _written_combinations(const Context *c, const Path *path, int components, vector[uint32_t] &found) except -1 nogil:
    """The combinations of the dynamic indices at which a store writes something; of a wide array only what may be read."""
    cdef const Dimension *dimension
    cdef uint32_t n, d, offset, combination
    cdef bint reached
    found.clear()
    if not path.wide:
        for n in range(_combinations(c, path)):
            found.push_back(n)
        return 0
    for n in range(c.reads_before[path.slot], c.reads_before[path.span_first + path.span_count]):
        offset = c.read_slots[n] - path.slot
        combination = 0
        reached = True
        for d in range(path.dimension_count):
            dimension = &c.dimensions[path.dimension_first + d]
            reached = reached and offset // dimension.stride < dimension.length
            combination = combination * dimension.length + offset // dimension.stride
            offset %= dimension.stride
        if reached and offset < <uint32_t>components and (found.empty() or found.back() != combination):
            found.push_back(combination)
    return 0


cdef int _allow_phis(Context *c, vector[vector[BlockNumber]] &stores) except -1 nogil:
    """Mark the iterated dominance frontier of every slot's stores."""
    cdef vector[uint32_t] stamp
    cdef vector[BlockNumber] work
    cdef uint32_t slot, row, k
    cdef BlockNumber block, target
    stamp.assign(c.cfg.blocks.size(), 0)
    for slot in range(<uint32_t>stores.size()):
        work.clear()
        for k in range(stores[slot].size()):
            work.push_back(stores[slot][k])
        while not work.empty():
            block = work.back()
            work.pop_back()
            for row in range(c.cfg.frontier_first[block], c.cfg.frontier_first[block + 1]):
                target = c.cfg.frontier[row]
                if stamp[target] == slot + 1:
                    continue
                stamp[target] = slot + 1
                _define(&c.definitions, <uint64_t>slot << 32 | target, <uint32_t>phi_allowed)
                work.push_back(target)
    return 0


cdef int _collect_stores(Context *c, vector[vector[BlockNumber]] &stores) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef BlockNumber number
    cdef NodeId block
    cdef vector[uint32_t] combinations
    cdef uint32_t i, k, n, slot, mask
    cdef ValueId instruction, deref
    stores.resize(c.slot_count)
    for number in range(c.cfg.blocks.size()):
        block = c.cfg.blocks[number]
        for i in range(s.nodes.order_count[block]):
            instruction = s.order.instruction[s.nodes.order_first[block] + i]
            if s.instructions.kind[instruction] != nir_intrinsic or \
                    s.instructions.opcode[instruction] != intrinsic_store_deref:
                continue
            deref = source_value(s, instruction, 0)
            if not _promoted(c, deref) or _path(c, deref).out_of_bounds:
                continue
            mask = intrinsic_index(s, instruction, index_write_mask)
            _written_combinations(c, _path(c, deref), s.instructions.components[source_value(s, instruction, 1)], combinations)
            for n in combinations:
                slot = _combination_slot(c, _path(c, deref), n)
                for k in range(s.instructions.components[source_value(s, instruction, 1)]):
                    if mask >> k & 1 and (stores[slot + k].empty() or stores[slot + k].back() != number):
                        stores[slot + k].push_back(number)
    return 0


cdef ValueId _undef(Context *c, uint32_t slot, int bit_size) except 0 nogil:
    cdef ValueId value
    if c.undef_of_slot.count(slot):
        return c.undef_of_slot[slot]
    value = nir_undefined(c.s, 1, bit_size)
    c.undefs.push_back(value)
    c.undef_of_slot[slot] = value
    return value


cdef ValueId _read(Context *c, uint32_t slot, BlockNumber block, int bit_size) except 0 nogil:
    """The value of a slot here (while `block` is being written) or at its end (afterwards)."""
    cdef uint64_t high = <uint64_t>slot << 32
    cdef ValueId value = 0
    cdef BlockNumber number = block
    cdef uint32_t count
    while True:
        value = _definition(&c.definitions, high | number)
        if value:
            break
        if c.cfg.immediate_dominator[number] < 0:
            value = _undef(c, slot, bit_size)
            break
        number = <uint32_t>c.cfg.immediate_dominator[number]
    if value == <uint32_t>phi_allowed:
        count = c.cfg.predecessor_first[number + 1] - c.cfg.predecessor_first[number]
        value = nir_phi_new(c.s, 1, bit_size, count)
        c.phis.push_back(value)
        c.phi_slots.push_back(slot)
        c.phi_blocks.push_back(number)
        _define(&c.definitions, high | number, value)
    # Every block on the way has the same value at its end: caching it makes all walks together near-linear.
    while block != number:
        _define(&c.definitions, high | block, value)
        if c.cfg.immediate_dominator[block] < 0:
            break
        block = <uint32_t>c.cfg.immediate_dominator[block]
    return value


cdef int _fill_phis(Context *c) except -1 nogil:
    """Give every phi its operands; reading them may make further phis."""
    cdef ShaderData *s = c.s
    cdef size_t n = 0
    cdef uint32_t first, row
    cdef ValueId phi, value
    cdef BlockNumber predecessor
    while n < c.phis.size():
        phi = c.phis[n]
        first = c.cfg.predecessor_first[c.phi_blocks[n]]
        for row in range(first, c.cfg.predecessor_first[c.phi_blocks[n] + 1]):
            predecessor = c.cfg.predecessors[row]
            value = _read(c, c.phi_slots[n], predecessor, s.instructions.bit_size[phi])
            s.sources.value[s.instructions.source_first[phi] + row - first] = value
            s.sources.swizzle[s.instructions.source_first[phi] + row - first] = c.cfg.blocks[predecessor]
        n += 1
    return 0


# --------------------------------------------------------------------------------------------------------------- rewrite
cdef ValueId _select(Lowering *b, ValueId index, ValueId *values, uint32_t low, uint32_t high) except 0 nogil:
    """values[index] as a balanced tree of selections."""
    cdef uint32_t middle
    cdef ValueId left, right
    if high - low == 1:
        return values[low]
    middle = (low + high) // 2
    left = _select(b, index, values, low, middle)
    right = _select(b, index, values, middle, high)
    if left == right:
        return left
    return alu3(b, alu_bcsel, alu2_constant(b, alu_ult, index, middle), left, right)


cdef ValueId _load_slot(Lowering *b, Context *c, const Path *path, uint32_t offset, int bit_size) except 0 nogil:
    cdef vector[ValueId] values
    cdef uint32_t n, d, length, kept
    cdef BlockNumber block = c.s.nodes.index[b.block]
    if path.dimension_count == 0:
        return _read(c, path.slot + offset, block, bit_size)
    for n in range(_combinations(c, path)):
        values.push_back(_read(c, _combination_slot(c, path, n) + offset, block, bit_size))
    for d in range(path.dimension_count):
        length = c.dimensions[path.dimension_first + path.dimension_count - 1 - d].length
        kept = <uint32_t>values.size() // length
        for n in range(kept):
            values[n] = _select(b, lowered(b, c.dimensions[path.dimension_first + path.dimension_count - 1 - d].index),
                                &values[n * length], 0, length)
        values.resize(kept)
    return values[0]


cdef ValueId _load(Lowering *b, Context *c, ValueId load) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Path path = _path(c, source_value(s, load, 0))[0]
    cdef int components = s.instructions.components[load]
    cdef int bit_size = s.instructions.bit_size[load]
    cdef ValueId[16] values
    cdef int i
    for i in range(components):
        if path.out_of_bounds:
            values[i] = _undef(c, 0xffffff00U + bit_size, bit_size)
        else:
            values[i] = _load_slot(b, c, &path, i, bit_size)
    return vector_of(b, values, components)


cdef ValueId _combination_condition(Lowering *b, Context *c, const Path *path, uint32_t combination) except? 0xffffffffU nogil:
    """The condition that the dynamic indices make this combination."""
    cdef ValueId condition = 0
    cdef uint32_t d
    cdef ValueId term
    cdef Dimension dimension
    for d in range(path.dimension_count):
        dimension = c.dimensions[path.dimension_first + path.dimension_count - 1 - d]
        term = alu2_constant(b, alu_ieq, lowered(b, dimension.index), combination % dimension.length)
        condition = alu2(b, alu_iand, condition, term) if condition else term
        combination //= dimension.length
    return condition


cdef int _store(Lowering *b, Context *c, ValueId store) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef Path path = _path(c, source_value(s, store, 0))[0]
    cdef ValueId value = source_value(s, store, 1)
    cdef uint32_t mask = intrinsic_index(s, store, index_write_mask)
    cdef BlockNumber block = s.nodes.index[b.block]
    cdef int components = s.instructions.components[value]
    cdef int bit_size = s.instructions.bit_size[value]
    cdef ValueId[16] parts
    cdef vector[uint32_t] combinations
    cdef uint32_t n, slot
    cdef ValueId condition, old, new
    cdef int i
    if path.out_of_bounds:
        return 0
    for i in range(components):
        if mask >> i & 1:
            parts[i] = component(b, value, i)
    _written_combinations(c, &path, components, combinations)
    for n in combinations:
        slot = _combination_slot(c, &path, n)
        condition = _combination_condition(b, c, &path, n)
        for i in range(components):
            if not mask >> i & 1:
                continue
            new = parts[i]
            if condition:
                old = _read(c, slot + i, block, bit_size)
                new = alu3(b, alu_bcsel, condition, new, old)
            _define(&c.definitions, <uint64_t>(slot + i) << 32 | block, new)
    return 0


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef int opcode = s.instructions.opcode[instruction]
    cdef ValueId deref
    if s.instructions.kind[instruction] == nir_deref:
        if c.path_of[instruction] and c.whole[_path(c, instruction).variable]:
            return <uint32_t>lower_remove
        return lower_keep
    if s.instructions.kind[instruction] != nir_intrinsic:
        return lower_keep
    if opcode != intrinsic_load_deref and opcode != intrinsic_store_deref:
        return lower_keep
    deref = source_value(s, instruction, 0)
    if not _promoted(c, deref):
        return lower_keep
    if opcode == intrinsic_load_deref:
        return _load(b, c, instruction)
    _store(b, c, instruction)
    return <uint32_t>lower_remove


cdef int _insert_heads(Context *c) except -1 nogil:
    """Insert the new phis at the starts of their blocks, undefined values at the start of the first."""
    cdef ShaderData *s = c.s
    cdef ShaderRewrite rewrite
    cdef vector[vector[ValueId]] heads
    cdef BlockNumber number
    cdef NodeId block
    cdef uint32_t i
    cdef size_t n
    heads.resize(c.cfg.blocks.size())
    for n in range(c.phis.size()):
        heads[c.phi_blocks[n]].push_back(c.phis[n])
    for n in range(c.undefs.size()):
        heads[0].push_back(c.undefs[n])
    shader_rewrite_begin(&rewrite, s)
    for number in range(c.cfg.blocks.size()):
        block = c.cfg.blocks[number]
        shader_rewrite_block(&rewrite, block)
        for n in range(heads[number].size()):
            shader_rewrite_emit(&rewrite, heads[number][n])
        for i in range(s.nodes.order_count[block]):
            shader_rewrite_emit(&rewrite, s.order.instruction[s.nodes.order_first[block] + i])
    return shader_rewrite_end(&rewrite)


cdef bint vars_to_ssa_run(ShaderData *s, uint32_t indirect_limit) except -1 nogil:
    cdef Context c
    cdef Cfg cfg
    cdef vector[vector[BlockNumber]] stores
    cdef VariableId variable
    cdef bint progress
    cfg_build(&cfg, s)
    cfg_dominance(&cfg, s)
    cfg_frontiers(&cfg)
    c.s = s
    c.cfg = &cfg
    c.indirect_limit = indirect_limit
    _analyse(&c)
    if c.slot_count == 0:
        return False
    if cfg.frontier.size():
        _collect_stores(&c, stores)
    _begin(&c.definitions, stores, c.slot_count, cfg.blocks.size())
    _allow_phis(&c, stores)
    progress = lowering_run(s, lower_derefs | lower_intrinsics, _lower, &c)
    _fill_phis(&c)
    if not c.phis.empty() or not c.undefs.empty():
        _insert_heads(&c)
    for variable in range(s.variables.table.count):
        if c.slot_base[variable] != <uint32_t>no_variable and c.whole[variable]:
            s.variables.flags[variable] &= ~<uint32_t>variable_alive
            progress = True
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return vars_to_ssa_run(<ShaderData *>ir, option)


kernel = native_kernel(_kernel, lambda options, level: options["indirect_limit"])


def run(Shader shader not None, options=None):
    """Promote local variables; option ``indirect_limit``: elements of an array that may be selected from (0)."""
    cdef uint32_t limit = (options or {}).get("indirect_limit", 0)
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, limit)
    return progress
