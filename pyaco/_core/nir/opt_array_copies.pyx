"""Local variables that are copies of other memory are read where they were copied from.

    copy[0] = table[0]; copy[1] = table[1]; ...; x = copy[i]     ->     x = table[i]

An array that is handed to a function or loaded whole is copied element by element; read at an index that is known at run time alone, the copy would
stay in scratch memory. A variable is a copy if all its stores stand in one block, each of them stores what was loaded in that block, and behind the
same members and constant elements both lead to the same deref: what was copied. It is replaced if every load of it comes behind the stores, in their
block or one that it dominates, and what was copied is not written in between: uniform blocks, push constants and constant data never are, nor storage
buffers that are read-only and restrict; another local variable is not if it has no store behind the first load, up to the last load of the copy
if all are in that block, else up to the block's end and in what it dominates. (From any other store, a way to a load leads through the copy again.)
What is not stored is undefined.

Needs: copies split, constants folded, equal derefs merged (``cse``). Guarantees: valid NIR. Mesa's ``nir_opt_find_array_copies`` makes one copy of
the stores, for ``nir_opt_copy_prop_vars`` to look through; that one follows memory from instruction to instruction, this one asks where accesses
stand.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from nir_opcodes cimport index_access, index_write_mask, intrinsic_load_deref, intrinsic_store_deref
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport emit, intrinsic1
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    BlockNumber, MemberRow, NodeId, OrderRow, RowRange, Shader, ShaderData, TypeId, ValueId, VariableId, access_atomic, access_coherent,
    access_non_writeable, access_restrict, access_volatile, block_walk_next, constant_bits, deref_array, deref_struct, deref_var, intrinsic_index,
    intrinsic_set_index, mode_constant, mode_function_temp, mode_global, mode_push_constant, mode_shader_temp, mode_ssbo, mode_ubo,
    nir_deref, nir_deref_new, nir_intrinsic, node_first_block, source_set, source_value, sources_of, type_array, type_matrix, type_pointer,
    type_struct, value_is_constant,
)
from pyaco._core.nir.dominance cimport Cfg, cfg_build, cfg_dominance
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lower_remove, lowered, lowering_run

cdef enum:
    mode_local = mode_function_temp | mode_shader_temp
    mode_never_written = mode_ubo | mode_push_constant | mode_constant
    most_parts = 4096             # of two types that are compared
    most_rounds = 4               # copies of copies

cdef struct Access:               # of a local variable
    VariableId variable
    BlockNumber block
    OrderRow row

cdef struct Candidate:            # by variable
    bint used_otherwise           # a pointer into it goes elsewhere
    bint refused                  # it is no copy
    bint indexed                  # a load has an index that is known at run time
    bint replaced
    bint is_source                # of a copy that is replaced
    ValueId base                  # the deref that was copied; 0: no store yet
    uint32_t access               # of the loads that copied it
    BlockNumber block             # where it is copied
    OrderRow first_load           # of what it copies
    OrderRow last_store
    OrderRow last_load            # in that block
    bint read_elsewhere           # a load stands in another block

cdef struct Context:
    ShaderData *s
    Cfg cfg
    vector[uint32_t] preorder     # by block number: of the dominator tree
    vector[uint32_t] subtree      # by block number: blocks that it dominates
    vector[Candidate] candidates
    Zeroed[uint32_t] root         # by deref: of a local variable, its number + 1
    Zeroed[uint8_t] indexed       # by deref: an index on the way is known at run time alone
    Zeroed[uint32_t] place        # by load: its row in the order + 1
    Zeroed[uint32_t] block        # by load: the number of its block
    vector[Access] loads
    vector[Access] stores


# --------------------------------------------------------------------------------------------------------------------- types
cdef bint _same_shape(const ShaderData *s, TypeId a, TypeId b, uint32_t *parts) noexcept nogil:
    """Whether two types have the same members and elements, wherever these stand in memory."""
    cdef uint32_t k
    cdef MemberRow first, second
    parts[0] += 1
    if a == b:
        return True
    if parts[0] > most_parts or s.types.base[a] != s.types.base[b]:
        return False
    if s.types.base[a] == type_array or s.types.base[a] == type_matrix:
        return ((s.types.length[a] == s.types.length[b] or s.types.length[b] == 0)
                and _same_shape(s, s.types.element[a], s.types.element[b], parts))
    if s.types.base[a] != type_struct:
        return (s.types.base[a] != type_pointer and s.types.bit_size[a] == s.types.bit_size[b]
                and s.types.components[a] == s.types.components[b])
    if s.types.member_count[a] != s.types.member_count[b]:
        return False
    first, second = s.types.member_first[a], s.types.member_first[b]
    for k in range(s.types.member_count[a]):
        if not _same_shape(s, s.members.type[first + k], s.members.type[second + k], parts):
            return False
    return True


# ------------------------------------------------------------------------------------------------------------------ accesses
cdef int _note_deref(Context *c, ValueId i) noexcept nogil:
    """What a deref leads into. Pointers other than members and elements are not followed."""
    cdef ShaderData *s = c.s
    cdef int opcode = s.instructions.opcode[i]
    cdef ValueId parent
    if opcode == deref_var:
        if s.instructions.mode[i] & mode_local:
            c.root[i] = s.instructions.data[i] + 1
        return 0
    parent = source_value(s, i, 0)
    if not c.root[parent]:
        return 0
    if opcode != deref_struct and opcode != deref_array:
        c.candidates[c.root[parent] - 1].used_otherwise = True
        return 0
    c.root[i] = c.root[parent]
    c.indexed[i] = c.indexed[parent]
    if opcode == deref_array:
        c.indexed[i] |= not value_is_constant(s, source_value(s, i, 1))
    return 0


cdef ValueId _origin(const ShaderData *s, ValueId target, ValueId origin) noexcept nogil:
    """The deref that leads to an origin as a variable's own leads to a target; 0: they lead there by other ways."""
    cdef ValueId index, other
    while s.instructions.opcode[target] != deref_var:
        if s.instructions.opcode[origin] != s.instructions.opcode[target]:
            return 0
        if s.instructions.opcode[target] == deref_struct:
            if s.instructions.data[origin] != s.instructions.data[target]:
                return 0
        else:
            index, other = source_value(s, target, 1), source_value(s, origin, 1)
            if not value_is_constant(s, index) or not value_is_constant(s, other) or constant_bits(s, index, 0) != constant_bits(s, other, 0):
                return 0
        target, origin = source_value(s, target, 0), source_value(s, origin, 0)
    return origin


cdef bint _is_copied(Context *c, Candidate *candidate, ValueId store, BlockNumber block) noexcept nogil:
    """Whether a store is one of a copy, of what the others copy."""
    cdef ShaderData *s = c.s
    cdef ValueId load = source_value(s, store, 1)
    cdef ValueId base
    cdef uint32_t access
    if s.instructions.kind[load] != nir_intrinsic or s.instructions.opcode[load] != intrinsic_load_deref or not c.place[load]:
        return False
    if c.block[load] != block or intrinsic_index(s, store, index_write_mask) != (1 << s.instructions.components[load]) - 1:
        return False
    access = intrinsic_index(s, load, index_access)
    if (access | intrinsic_index(s, store, index_access)) & (access_volatile | access_atomic | access_coherent):
        return False
    base = _origin(s, source_value(s, store, 0), source_value(s, load, 0))
    if base == 0 or (candidate.base and (candidate.base != base or candidate.block != block)):
        return False
    if candidate.base == 0:
        candidate.base = base
        candidate.block = block
        candidate.first_load = c.place[load] - 1
    candidate.access |= access
    candidate.first_load = min(candidate.first_load, c.place[load] - 1)
    return True


cdef int _note_access(Context *c, ValueId i, BlockNumber block, OrderRow row) except -1 nogil:
    """Note a load or a store."""
    cdef ShaderData *s = c.s
    cdef ValueId deref = source_value(s, i, 0)
    cdef VariableId variable = c.root[deref] - 1
    cdef Candidate *candidate
    cdef Access access
    cdef bint is_load = s.instructions.opcode[i] == intrinsic_load_deref
    if is_load:
        c.place[i] = row + 1
        c.block[i] = block
    elif c.root[source_value(s, i, 1)]:
        c.candidates[c.root[source_value(s, i, 1)] - 1].used_otherwise = True
    if not c.root[deref]:
        return 0
    candidate = &c.candidates[variable]
    access = Access(variable, block, row)
    if is_load:
        c.loads.push_back(access)
        candidate.indexed |= c.indexed[deref] != 0
        candidate.refused |= intrinsic_index(s, i, index_access) & (access_volatile | access_atomic) != 0
        return 0
    c.stores.push_back(access)
    candidate.refused = candidate.refused or not _is_copied(c, candidate, i, block)
    candidate.last_store = row
    return 0


cdef int _note_all(Context *c) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef NodeId node = node_first_block(s)
    cdef BlockNumber block = 0
    cdef OrderRow row
    cdef ValueId i
    cdef RowRange sources
    cdef uint32_t k
    cdef int opcode
    while node:
        for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
            i = s.order.instruction[row]
            opcode = s.instructions.opcode[i]
            if s.instructions.kind[i] == nir_deref:
                _note_deref(c, i)
            elif s.instructions.kind[i] == nir_intrinsic and (opcode == intrinsic_load_deref or opcode == intrinsic_store_deref):
                _note_access(c, i, block, row)
            else:
                sources = sources_of(s, i)
                for k in range(sources.first, sources.first + sources.count):
                    if c.root[s.sources.value[k]]:
                        c.candidates[c.root[s.sources.value[k]] - 1].used_otherwise = True
        block += 1
        node = block_walk_next(s, node)
    return 0


# ------------------------------------------------------------------------------------------------------------------ deciding
cdef int _number_tree(Context *c) except -1 nogil:
    """Number the dominator tree from above, so that what a block dominates are neighbours."""
    cdef size_t count = c.cfg.blocks.size()
    cdef vector[uint32_t] next_free
    cdef size_t block
    cdef int32_t above
    cfg_build(&c.cfg, c.s)
    cfg_dominance(&c.cfg, c.s)
    count = c.cfg.blocks.size()
    c.subtree.assign(count, 1)
    c.preorder.assign(count, 0)
    next_free.assign(count, 0)
    for block in range(count - 1, 0, -1):
        if c.cfg.immediate_dominator[block] >= 0:
            c.subtree[c.cfg.immediate_dominator[block]] += c.subtree[block]
    next_free[0] = 1
    for block in range(1, count):
        above = c.cfg.immediate_dominator[block]
        if above < 0:                              # nothing reaches it, and it dominates nothing else
            c.preorder[block] = <uint32_t>count + <uint32_t>block
        else:
            c.preorder[block] = next_free[above]
            next_free[above] += c.subtree[block]
        next_free[block] = c.preorder[block] + 1
    return 0


cdef inline bint _dominates(const Context *c, BlockNumber above, BlockNumber below) noexcept nogil:
    return c.preorder[below] - c.preorder[above] < c.subtree[above]


cdef bint _is_readable_later(const Context *c, const Candidate *candidate) noexcept nogil:
    """Whether what was copied is in memory that nothing writes, or in a local variable that can be followed."""
    cdef uint32_t mode = c.s.instructions.mode[candidate.base]
    if mode & (mode_ssbo | mode_global):
        return candidate.access & (access_non_writeable | access_restrict) == (access_non_writeable | access_restrict)
    if mode & mode_local:
        return c.root[candidate.base] != 0 and not c.candidates[c.root[candidate.base] - 1].used_otherwise
    return mode & mode_never_written != 0


cdef VariableId _variable_of(const Context *c, ValueId base) noexcept nogil:
    """The local variable that was copied, or none."""
    return c.root[base] - 1


cdef bint _choose(Context *c) except -1 nogil:
    """Find the variables that are replaced. One that is copied from stays, this time."""
    cdef ShaderData *s = c.s
    cdef size_t k
    cdef uint32_t parts
    cdef bint found = False
    cdef Candidate *candidate
    cdef VariableId variable
    cdef vector[vector[VariableId]] copies_of      # by variable
    for variable in range(<VariableId>c.candidates.size()):
        candidate = &c.candidates[variable]
        parts = 0
        candidate.refused = (candidate.refused or candidate.used_otherwise or not candidate.base or not candidate.indexed
                             or not _is_readable_later(c, candidate)
                             or not _same_shape(s, s.variables.type[variable], s.instructions.type[candidate.base], &parts))
        found |= not candidate.refused
    if not found:
        return False
    _number_tree(c)
    copies_of.resize(c.candidates.size())
    for variable in range(<VariableId>c.candidates.size()):
        if not c.candidates[variable].refused and c.root[c.candidates[variable].base]:
            copies_of[_variable_of(c, c.candidates[variable].base)].push_back(variable)
    for k in range(c.loads.size()):
        candidate = &c.candidates[c.loads[k].variable]
        if candidate.refused:
            continue
        if c.loads[k].block == candidate.block:
            candidate.last_load = max(candidate.last_load, c.loads[k].row)
            candidate.refused = c.loads[k].row < candidate.last_store
        else:
            candidate.read_elsewhere = True
            candidate.refused = not _dominates(c, candidate.block, c.loads[k].block)
    _refuse_overwritten(c, copies_of)
    found = False
    for variable in range(<VariableId>c.candidates.size()):
        candidate = &c.candidates[variable]
        if candidate.refused or candidate.is_source:
            continue
        if c.root[candidate.base]:
            if c.candidates[_variable_of(c, candidate.base)].replaced:
                continue
            c.candidates[_variable_of(c, candidate.base)].is_source = True
        candidate.replaced = found = True
    return found


cdef int _refuse_overwritten(Context *c, vector[vector[VariableId]] &copies_of) noexcept nogil:
    """Refuse copies of variables that are written between the copy and a load of it."""
    cdef size_t k, n
    cdef Candidate *candidate
    cdef const Access *store
    for k in range(c.stores.size()):
        store = &c.stores[k]
        for n in range(copies_of[store.variable].size()):
            candidate = &c.candidates[copies_of[store.variable][n]]
            if store.block == candidate.block:
                candidate.refused |= store.row > candidate.first_load and (candidate.read_elsewhere or store.row < candidate.last_load)
            else:
                candidate.refused |= candidate.read_elsewhere and _dominates(c, candidate.block, store.block)
    return 0


# ----------------------------------------------------------------------------------------------------------------- replacing
cdef ValueId _deref_of_source(Lowering *b, ValueId deref, ValueId base) except? 0xffffffffU nogil:
    """The deref that leads from what was copied to where another leads in the copy."""
    cdef ShaderData *s = b.s
    cdef vector[ValueId] way
    cdef ValueId row
    cdef TypeId type
    while s.instructions.opcode[deref] != deref_var:
        way.push_back(deref)
        deref = source_value(s, deref, 0)
    while not way.empty():
        deref = way.back()
        way.pop_back()
        type = s.instructions.type[base]
        if s.instructions.opcode[deref] == deref_struct:
            type = s.members.type[s.types.member_first[type] + s.instructions.data[deref]]
            row = nir_deref_new(s, deref_struct, s.instructions.components[base], s.instructions.bit_size[base], 1,
                                s.instructions.mode[base], type, s.instructions.data[deref])
        else:
            row = nir_deref_new(s, deref_array, s.instructions.components[base], s.instructions.bit_size[base], 2,
                                s.instructions.mode[base], s.types.element[type], 0)
            source_set(s, row, 1, lowered(b, source_value(s, deref, 1)))
        source_set(s, row, 0, base)
        base = emit(b, row)
    return base


cdef ValueId _lower(Lowering *b, ValueId i) except? 0xffffffffU nogil:
    cdef Context *c = <Context *>b.context
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[i]
    cdef const Candidate *candidate
    cdef ValueId deref, load
    if opcode != intrinsic_load_deref and opcode != intrinsic_store_deref:
        return lower_keep
    deref = source_value(s, i, 0)
    if deref >= c.root.size() or not c.root[deref] or not c.candidates[c.root[deref] - 1].replaced:
        return lower_keep
    if opcode == intrinsic_store_deref:
        return <uint32_t>lower_remove
    candidate = &c.candidates[c.root[deref] - 1]
    deref = _deref_of_source(b, deref, candidate.base)
    load = intrinsic1(b, intrinsic_load_deref, s.instructions.components[i], s.instructions.bit_size[i], deref)
    intrinsic_set_index(s, load, index_access, candidate.access)
    return load


cdef bint _round(ShaderData *s) except -1 nogil:
    cdef Context c
    c.s = s
    c.candidates.resize(s.variables.table.count)
    c.root.assign(s.instructions.table.count)
    c.indexed.assign(s.instructions.table.count)
    c.place.assign(s.instructions.table.count)
    c.block.assign(s.instructions.table.count)
    _note_all(&c)
    return _choose(&c) and lowering_run(s, lower_intrinsics, _lower, &c)


cdef bint opt_array_copies_run(ShaderData *s) except -1 nogil:
    cdef uint32_t rounds = 0
    while rounds < most_rounds and _round(s):
        rounds += 1
    return rounds > 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_array_copies_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Read copies where they were copied from; True when a variable was one."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
