"""What nothing reads of a local variable goes: members of structs, components of vectors, elements that only constants name.

A variable that stays in memory because some index is known at run time alone has all of its type there. One walk notes, by place in the type (all
elements of an array are one place, unless every index is a constant), which components are read. That a component is loaded and stored back where
it came from, as where one component of a vector is assigned, is no read. What is left keeps its order, so accesses that were beside each other
still are.

Needs: copies split (``lower_var_copies``), moves propagated. Guarantees: valid NIR. Matrices, and vectors that a deref picks components of, stay
whole; so do variables whose pointers go elsewhere. Mesa's ``nir_shrink_vec_array_vars`` does this with vectors and arrays.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from nir_opcodes cimport alu_input_sizes_flat, alu_max_inputs, index_access, index_write_mask, intrinsic_load_deref, intrinsic_store_deref
from pyaco._core.common.table cimport table_append_many
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport component, constant, intrinsic1, intrinsic2, undefined, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    MemberRow, NodeId, Shader, ShaderData, TypeId, ValueId, VariableId, access_volatile, alu_is_vector, block_walk_next, constant_bits, deref_array,
    deref_struct, deref_var, intrinsic_index, intrinsic_set_index, mode_function_temp, mode_shader_temp, nir_alu, nir_deref, nir_intrinsic,
    node_first_block, node_if, node_walk_next, source_set, source_swizzle, source_value, swizzle_component, type_array, type_matrix, type_new,
    type_pointer, type_struct, value_is_constant, variable_alive,
)
from pyaco._core.nir.lowering cimport Lowering, lower_derefs, lower_intrinsics, lower_keep, lower_remove, lowering_run

cdef enum:
    place_limit = 1 << 12          # places of a variable, elements of an array that are told apart
    elsewhere = 0xffffffff         # Context.stored_at: not by one deref alone

ctypedef uint32_t PlaceNumber      # row in Context.places; 0 is none

cdef struct Place:                 # a part of a variable's type
    TypeId type
    PlaceNumber root
    PlaceNumber child              # the first of a struct's members; an array's elements
    uint32_t element_first         # arrays: row in Context.element_read
    bint told_apart                # arrays: whether all indices are constants
    uint32_t number                # of a member that is read, among those
    uint32_t mask                  # of scalars, vectors and all that stays whole: components that are read
    bint read                      # anything in it
    TypeId new_type
    bint changed                   # roots: the type is another
    bint refused                   # roots: the variable stays as it is

cdef struct Context:
    ShaderData *s
    vector[PlaceNumber] root_of    # by variable
    vector[Place] places
    vector[uint8_t] element_read
    vector[uint32_t] element_number                # of an element that is read, among those
    Zeroed[PlaceNumber] place_of   # by deref
    Zeroed[uint32_t] stored_at     # by vector that is put together: the only deref that it is stored at, or `elsewhere`
    Zeroed[uint32_t] loaded        # by load: components that are read
    Zeroed[uint8_t] gone           # by deref: what it names is not read, or is in something that is not
    vector[ValueId] loads
    uint32_t count                 # of values that those have rows for


# ------------------------------------------------------------------------------------------------------------------- places
cdef inline bint _is_aggregate(const ShaderData *s, TypeId type) noexcept nogil:
    return s.types.base[type] == type_struct or s.types.base[type] == type_array


cdef bint _fill_place(Context *c, PlaceNumber number, PlaceNumber root, TypeId type) except -1 nogil:
    """The place of a type, with those of its parts; False where there are too many."""
    cdef ShaderData *s = c.s
    cdef uint32_t parts, i
    cdef PlaceNumber child
    c.places[number].type = type
    c.places[number].root = root
    if not _is_aggregate(s, type):
        return True
    child = <PlaceNumber>c.places.size()
    c.places[number].child = child
    parts = s.types.member_count[type] if s.types.base[type] == type_struct else 1
    if child - root + parts > place_limit:
        return False
    c.places.resize(child + parts)
    if s.types.base[type] == type_array:
        c.places[number].told_apart = s.types.length[type] <= place_limit
        c.places[number].element_first = <uint32_t>c.element_read.size()
        if c.places[number].told_apart:
            c.element_read.resize(c.element_read.size() + s.types.length[type])
        return _fill_place(c, child, root, s.types.element[type])
    for i in range(parts):
        if not _fill_place(c, child + i, root, s.members.type[s.types.member_first[type] + i]):
            return False
    return True


cdef PlaceNumber _root(Context *c, VariableId variable) except? 0xffffffffU nogil:
    cdef PlaceNumber root = c.root_of[variable]
    if root == 0:
        root = c.root_of[variable] = <PlaceNumber>c.places.size()
        c.places.resize(root + 1)
        if not _fill_place(c, root, root, c.s.variables.type[variable]) or c.s.variables.initializer[variable]:
            c.places[root].refused = True
    return root


cdef bint _constant_index(const ShaderData *s, ValueId deref, uint32_t *index) noexcept nogil:
    """Whether a deref of an array's element has a constant index within the array."""
    cdef ValueId value = source_value(s, deref, 1)
    if not value_is_constant(s, value) or constant_bits(s, value, 0) >= s.types.length[s.instructions.type[source_value(s, deref, 0)]]:
        return False
    index[0] = <uint32_t>constant_bits(s, value, 0)
    return True


cdef int _note_deref(Context *c, ValueId deref) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef int opcode = s.instructions.opcode[deref]
    cdef PlaceNumber place
    cdef uint32_t index = 0
    if opcode == deref_var:
        if s.instructions.mode[deref] & (mode_function_temp | mode_shader_temp):
            c.place_of[deref] = _root(c, s.instructions.data[deref])
        return 0
    if opcode != deref_struct and opcode != deref_array:
        return 0
    place = c.place_of[source_value(s, deref, 0)]
    if place == 0 or c.places[c.places[place].root].refused:
        return 0
    if not _is_aggregate(s, c.places[place].type):                # a component, a column
        c.places[place].mask = 0xffffffffU
        c.place_of[deref] = place
    elif opcode == deref_struct:
        c.place_of[deref] = c.places[place].child + s.instructions.data[deref]
    else:
        if not _constant_index(s, deref, &index):
            c.places[place].told_apart = False
        c.place_of[deref] = c.places[place].child
    return 0


cdef int _note_use(Context *c, ValueId user, uint32_t source, ValueId value) except -1 nogil:
    """A use of a deref, or of a vector that is put together."""
    cdef ShaderData *s = c.s
    cdef int kind = s.instructions.kind[user]
    cdef int opcode = s.instructions.opcode[user]
    cdef bint is_store = kind == nir_intrinsic and opcode == intrinsic_store_deref
    cdef PlaceNumber place
    cdef ValueId deref
    if s.instructions.kind[value] == nir_deref:
        place = c.place_of[value]
        if place == 0 or (kind == nir_deref and source == 0 and (opcode == deref_struct or opcode == deref_array)):
            return 0
        if source or not (is_store or (kind == nir_intrinsic and opcode == intrinsic_load_deref)) or _is_aggregate(s, c.places[place].type) \
                or intrinsic_index(s, user, index_access) & access_volatile:
            c.places[c.places[place].root].refused = True
        elif not is_store:
            c.loads.push_back(user)
    elif s.instructions.kind[value] == nir_alu and alu_is_vector(s.instructions.opcode[value]):
        deref = source_value(s, user, 0) if is_store and source == 1 else <uint32_t>elsewhere
        c.stored_at[value] = deref if c.stored_at[value] in (0, deref) else <uint32_t>elsewhere
    return 0


cdef int _note_places(Context *c) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef NodeId block = node_first_block(s)
    cdef uint32_t row, k
    cdef ValueId instruction
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            instruction = s.order.instruction[row]
            if s.instructions.kind[instruction] == nir_deref:
                _note_deref(c, instruction)
            for k in range(s.instructions.source_count[instruction]):
                _note_use(c, instruction, k, source_value(s, instruction, k))
        block = block_walk_next(s, block)
    return 0


# -------------------------------------------------------------------------------------------------------------------- reads
cdef inline ValueId _deref_loaded(const Context *c, ValueId value) noexcept nogil:
    """The deref that a value is loaded at, if it is of a local variable."""
    cdef const ShaderData *s = c.s
    if s.instructions.kind[value] != nir_intrinsic or s.instructions.opcode[value] != intrinsic_load_deref:
        return 0
    return source_value(s, value, 0) if c.place_of[source_value(s, value, 0)] else 0


cdef uint32_t _components_read(const Context *c, ValueId user, uint32_t source, ValueId deref) noexcept nogil:
    """The components that a use reads of what is loaded at a deref."""
    cdef const ShaderData *s = c.s
    cdef uint32_t mask = 0
    cdef uint32_t i, width
    cdef int opcode = s.instructions.opcode[user]
    if s.instructions.kind[user] != nir_alu:
        return 0xffffffffU
    if alu_is_vector(opcode) and c.stored_at[user] == deref and swizzle_component(source_swizzle(s, user, source), 0) == source:
        return 0
    width = alu_input_sizes_flat[opcode * alu_max_inputs + source]
    for i in range(width if width else s.instructions.components[user]):
        mask |= 1 << swizzle_component(source_swizzle(s, user, source), i)
    return mask


cdef int _note_reads(Context *c) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef NodeId block = node_first_block(s)
    cdef NodeId node = 1
    cdef uint32_t row, k
    cdef ValueId instruction, value, deref
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            instruction = s.order.instruction[row]
            for k in range(s.instructions.source_count[instruction]):
                value = source_value(s, instruction, k)
                deref = _deref_loaded(c, value)
                if deref:
                    c.loaded[value] = c.loaded[value] | _components_read(c, instruction, k, deref)
        block = block_walk_next(s, block)
    while node:
        if s.nodes.kind[node] == node_if and _deref_loaded(c, s.nodes.condition[node]):
            c.loaded[s.nodes.condition[node]] = 1
        node = node_walk_next(s, node)
    return 0


cdef int _mark_path(Context *c, ValueId deref, uint32_t mask) noexcept nogil:
    """What a load reads is read in all that it is in."""
    cdef ShaderData *s = c.s
    cdef PlaceNumber place = c.place_of[deref]
    cdef uint32_t index = 0
    c.places[place].mask |= mask
    c.places[place].read = True
    while s.instructions.opcode[deref] != deref_var:
        place = c.place_of[source_value(s, deref, 0)]
        c.places[place].read = True
        if s.instructions.opcode[deref] == deref_array and c.places[place].told_apart and _constant_index(s, deref, &index):
            c.element_read[c.places[place].element_first + index] = 1
        deref = source_value(s, deref, 0)
    return 0


# -------------------------------------------------------------------------------------------------------------------- types
cdef inline uint32_t _all_components(const ShaderData *s, TypeId type) noexcept nogil:
    return (<uint32_t>1 << s.types.components[type]) - 1


cdef uint32_t _kept_components(const ShaderData *s, const Place *place) noexcept nogil:
    """The components of a scalar or vector that stay."""
    if s.types.components[place.type] > 4 or s.types.base[place.type] in (type_matrix, type_pointer):
        return _all_components(s, place.type)
    return place.mask & _all_components(s, place.type)


cdef uint32_t _count(uint32_t mask) noexcept nogil:
    cdef uint32_t count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


cdef TypeId _shrunk_leaf(Context *c, PlaceNumber number) except? 0xffffffffU nogil:
    cdef ShaderData *s = c.s
    cdef TypeId type = c.places[number].type
    cdef uint32_t kept
    if s.types.components[type] < 2:
        return type
    kept = _count(_kept_components(s, &c.places[number]))
    return type if kept == s.types.components[type] else type_new(s, s.types.base[type], s.types.bit_size[type], kept)


cdef TypeId _shrunk_array(Context *c, PlaceNumber number) except? 0xffffffffU nogil:
    cdef ShaderData *s = c.s
    cdef TypeId type = c.places[number].type
    cdef TypeId element = _shrunk(c, c.places[number].child)
    cdef uint32_t length = s.types.length[type]
    cdef uint32_t i
    cdef TypeId row
    if c.places[number].told_apart:
        length = 0
        for i in range(s.types.length[type]):
            c.element_number[c.places[number].element_first + i] = length
            length += c.element_read[c.places[number].element_first + i]
    if element == s.types.element[type] and length == s.types.length[type]:
        return type
    row = type_new(s, type_array, 0, 0)
    s.types.element[row] = element
    s.types.length[row] = length
    return row


cdef TypeId _shrunk_struct(Context *c, PlaceNumber number) except? 0xffffffffU nogil:
    cdef ShaderData *s = c.s
    cdef TypeId type = c.places[number].type
    cdef PlaceNumber child = c.places[number].child
    cdef vector[TypeId] members
    cdef bint changed = False
    cdef uint32_t i
    cdef MemberRow first
    cdef TypeId row
    for i in range(s.types.member_count[type]):
        if c.places[child + i].read:
            c.places[child + i].number = <uint32_t>members.size()
            members.push_back(_shrunk(c, child + i))
            changed = changed or members.back() != s.members.type[s.types.member_first[type] + i]
    if not changed and members.size() == s.types.member_count[type]:
        return type
    row = type_new(s, type_struct, 0, 0)
    first = table_append_many(&s.members.table, <uint32_t>members.size())
    s.types.member_first[row] = first
    s.types.member_count[row] = <uint32_t>members.size()
    for i in range(<uint32_t>members.size()):
        s.members.type[first + i] = members[i]
        s.members.offset[first + i] = 0xffffffffU
    return row


cdef TypeId _shrunk(Context *c, PlaceNumber number) except? 0xffffffffU nogil:
    """The type of what is left of a place that is read."""
    cdef int base = c.s.types.base[c.places[number].type]
    cdef TypeId row
    if base == type_array:
        row = _shrunk_array(c, number)
    else:
        row = _shrunk_struct(c, number) if base == type_struct else _shrunk_leaf(c, number)
    c.places[number].new_type = row
    return row


cdef bint _shrink_types(Context *c) except -1 nogil:
    """Give the variables their new types; whether there are any."""
    cdef ShaderData *s = c.s
    cdef VariableId variable
    cdef PlaceNumber root
    cdef bint progress = False
    for variable in range(<VariableId>c.root_of.size()):
        root = c.root_of[variable]
        if root == 0 or c.places[root].refused:
            continue
        if not c.places[root].read:
            s.variables.flags[variable] &= ~<uint32_t>variable_alive
            c.places[root].changed = True
        elif _shrunk(c, root) != c.places[root].type:
            s.variables.type[variable] = c.places[root].new_type
            c.places[root].changed = True
        progress = progress or c.places[root].changed
    return progress


# --------------------------------------------------------------------------------------------------------------- instructions
cdef int _note_gone(Context *c) noexcept nogil:
    """What is gone of the derefs of variables that change; a deref's parent comes before it."""
    cdef ShaderData *s = c.s
    cdef NodeId block = node_first_block(s)
    cdef uint32_t row
    cdef uint32_t index = 0
    cdef PlaceNumber place
    cdef ValueId deref, parent
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            deref = s.order.instruction[row]
            place = c.place_of[deref] if s.instructions.kind[deref] == nir_deref else 0
            if place == 0 or not c.places[c.places[place].root].changed:
                continue
            c.gone[deref] = not c.places[place].read
            if s.instructions.opcode[deref] == deref_var:
                continue
            parent = source_value(s, deref, 0)
            if c.gone[parent]:
                c.gone[deref] = 1
            elif s.instructions.opcode[deref] == deref_array and c.places[c.place_of[parent]].told_apart and _constant_index(s, deref, &index):
                c.gone[deref] = c.gone[deref] or not c.element_read[c.places[c.place_of[parent]].element_first + index]
        block = block_walk_next(s, block)
    return 0


cdef ValueId _shrunk_deref(Lowering *b, ValueId deref) except? 0xffffffffU nogil:
    """The same deref in the new type: numbers of members and elements count those that are left."""
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef PlaceNumber place = c.place_of[deref]
    cdef PlaceNumber parent = 0 if s.instructions.opcode[deref] == deref_var else c.place_of[source_value(s, deref, 0)]
    cdef uint32_t element
    cdef ValueId index
    if parent == place:                                           # within what stays whole
        return lower_keep
    s.instructions.type[deref] = c.places[place].new_type
    if s.instructions.opcode[deref] == deref_struct:
        s.instructions.data[deref] = c.places[place].number
    elif c.places[parent].told_apart:
        index = source_value(s, deref, 1)
        element = c.places[parent].element_first + <uint32_t>constant_bits(s, index, 0)
        index = constant(b, c.element_number[element], s.instructions.bit_size[index])
        source_set(s, deref, 1, index)
    return lower_keep


cdef ValueId _shrunk_load(Lowering *b, ValueId load, uint32_t kept) except? 0xffffffffU nogil:
    """A load of the components that are left, among components that are undefined."""
    cdef ShaderData *s = b.s
    cdef uint32_t components = s.instructions.components[load]
    cdef uint32_t bits = s.instructions.bit_size[load]
    cdef ValueId row = intrinsic1(b, intrinsic_load_deref, _count(kept), bits, source_value(s, load, 0))
    cdef ValueId[4] parts
    cdef ValueId nothing
    cdef uint32_t i
    cdef uint32_t number = 0
    intrinsic_set_index(s, row, index_access, intrinsic_index(s, load, index_access))
    nothing = undefined(b, 1, bits)
    for i in range(components):
        parts[i] = nothing
        if kept >> i & 1:
            parts[i] = component(b, row, number)
            number += 1
    return vector_of(b, parts, components)


cdef ValueId _shrunk_store(Lowering *b, ValueId store, uint32_t kept) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId value = source_value(s, store, 1)
    cdef uint32_t written = intrinsic_index(s, store, index_write_mask)
    cdef uint32_t mask = 0
    cdef ValueId[4] parts
    cdef uint32_t i, components
    cdef uint32_t number = 0
    cdef ValueId row
    if written & kept == 0:
        return <uint32_t>lower_remove
    components = s.instructions.components[value]
    for i in range(components):
        if kept >> i & 1:
            parts[number] = component(b, value, i)
            mask |= (written >> i & 1) << number
            number += 1
    row = intrinsic2(b, intrinsic_store_deref, 0, 0, source_value(s, store, 0), vector_of(b, parts, number))
    intrinsic_set_index(s, row, index_write_mask, <int>mask)
    intrinsic_set_index(s, row, index_access, intrinsic_index(s, store, index_access))
    return <uint32_t>lower_remove


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef bint is_deref = s.instructions.kind[instruction] == nir_deref
    cdef bint is_load = not is_deref and s.instructions.opcode[instruction] == intrinsic_load_deref
    cdef ValueId deref = instruction
    cdef PlaceNumber place
    cdef uint32_t kept
    if not is_deref:
        if not is_load and s.instructions.opcode[instruction] != intrinsic_store_deref:
            return lower_keep
        deref = source_value(s, instruction, 0)
    place = c.place_of[deref] if deref < c.count else 0
    if place == 0 or not c.places[c.places[place].root].changed:
        return lower_keep
    if is_deref:
        return <uint32_t>lower_remove if c.gone[deref] else _shrunk_deref(b, deref)
    if c.gone[deref]:
        return undefined(b, s.instructions.components[instruction], s.instructions.bit_size[instruction]) if is_load else <uint32_t>lower_remove
    kept = _kept_components(s, &c.places[place])
    if kept == _all_components(s, c.places[place].type):
        return lower_keep
    return _shrunk_load(b, instruction, kept) if is_load else _shrunk_store(b, instruction, kept)


cdef bint shrink_vars_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef uint32_t i
    c.s = s
    c.count = s.instructions.table.count
    c.root_of.assign(s.variables.table.count, 0)
    c.places.resize(1)
    c.place_of.assign(c.count)
    c.stored_at.assign(c.count)
    _note_places(&c)
    if c.places.size() == 1:
        return False
    c.loaded.assign(c.count)
    _note_reads(&c)
    for i in range(<uint32_t>c.loads.size()):
        if c.loaded[c.loads[i]]:
            _mark_path(&c, source_value(s, c.loads[i], 0), c.loaded[c.loads[i]])
    c.element_number.resize(c.element_read.size())
    if not _shrink_types(&c):
        return False
    c.gone.assign(c.count)
    _note_gone(&c)
    lowering_run(s, lower_derefs | lower_intrinsics, _lower, &c)
    return True


cdef int _kernel(void *ir, int option) except -1 nogil:
    return shrink_vars_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Take away what nothing reads of local variables; True where a variable's type is another."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
