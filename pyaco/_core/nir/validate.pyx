"""NIR validator: raises an error that says what is wrong with a shader.

Checked: the node tree (links, blocks around every if and loop), that every instruction is in one order only, once,
and has its block recorded, operand counts, component counts and bit sizes against the opcode tables, swizzles, constants
within their size, phis (first in the block, one source per predecessor, sources that reach it), jumps (last in the
block, inside a loop), texture instructions (``validate_texture``), modes of variables, typing of derefs and of the
accesses through them, write masks, conditions of ifs, and that definitions dominate uses. Not checked: meanings of
intrinsic indices, layouts of types, divergence.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.nir.block_dominance cimport Dominance, dominance_compute, dominates, ends_with_break, ends_with_continue, falls_through
from pyaco._core.nir.dominance cimport Cfg, cfg_build, node_loop_around
from pyaco._core.nir.validate_texture cimport texture_fault


class ValidationError(AssertionError):
    """A pass left NIR that breaks a rule: a bug of pyaco, not of the input."""


cdef int _raise(Shader shader, ValueId instruction, str text) except -1:
    raise ValidationError(f"NIR validation: {_describe(shader, instruction)}{text}")


cdef str _describe(Shader shader, ValueId row):
    cdef ShaderData *s = &shader.data
    cdef int kind
    if row == 0 or row >= s.instructions.table.count:
        return ""
    kind = s.instructions.kind[row]
    name = {nir_alu: "alu", nir_deref: "deref", nir_load_const: "load_const", nir_undef: "undefined", nir_phi: "phi",
            nir_intrinsic: "intrinsic", nir_jump: "jump", nir_tex: "tex"}.get(kind, f"kind {kind}")
    if kind == nir_alu and s.instructions.opcode[row] < alu_count:
        name = alu_names[s.instructions.opcode[row]].decode()
    elif kind == nir_intrinsic and s.instructions.opcode[row] < intrinsic_count:
        name = "@" + intrinsic_names[s.instructions.opcode[row]].decode()
    elif kind == nir_tex and s.instructions.opcode[row] < tex_count:
        name = tex_names[s.instructions.opcode[row]].decode()
    sources = ", ".join(f"%{source_value(s, row, i)}" for i in range(s.instructions.source_count[row]))
    return f"%{row} = {name} {sources} in block node {s.instructions.block[row]}: "


cdef int _fail(Shader shader, ValueId instruction, const char *text) except -1 nogil:
    with gil:
        _raise(shader, instruction, text.decode())


# ------------------------------------------------------------------------------------------------------------- the tree
cdef int _list(Shader shader, NodeId parent, NodeId first, NodeId last, vector[uint32_t] &seen, vector[NodeId] &inner) except -1 nogil:
    """One list of siblings: links agree, there are blocks at both ends and around every if and loop. Appends ifs and loops to `inner`."""
    cdef ShaderData *s = &shader.data
    cdef NodeId node = first
    cdef NodeId before = 0
    while True:
        if node == 0 or node >= s.nodes.table.count:
            return _fail(shader, 0, "a node list that ends before its last node")
        if seen[node]:
            return _fail(shader, 0, "a node that is in two lists")
        seen[node] = 1
        if s.nodes.parent[node] != parent or s.nodes.previous[node] != before:
            return _fail(shader, 0, "a node whose links disagree with its neighbours'")
        if (s.nodes.kind[node] == node_block) == (before != 0 and s.nodes.kind[before] == node_block):
            return _fail(shader, 0, "two neighbouring blocks, or an if or loop without a block between")
        if s.nodes.kind[node] != node_block and s.nodes.kind[node] != node_if and s.nodes.kind[node] != node_loop:
            return _fail(shader, 0, "a node of unknown kind")
        if s.nodes.kind[node] != node_block:
            inner.push_back(node)
        if node == last:
            break
        before = node
        node = s.nodes.next[node]
    if s.nodes.next[node] or s.nodes.kind[node] != node_block or s.nodes.kind[first] != node_block:
        return _fail(shader, 0, "a node list that does not begin and end with a block")
    return 0


cdef int _tree(Shader shader) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef vector[uint32_t] seen
    cdef vector[NodeId] stack
    cdef NodeId node
    seen.resize(s.nodes.table.count)
    stack.push_back(1)
    while stack.size():
        node = stack.back()
        stack.pop_back()
        _list(shader, node, s.nodes.first0[node], s.nodes.last0[node], seen, stack)
        if s.nodes.kind[node] == node_if:
            _list(shader, node, s.nodes.first1[node], s.nodes.last1[node], seen, stack)
    return 0


# --------------------------------------------------------------------------------------------------------- instructions
cdef int _check_order(Shader shader, vector[uint32_t] &position) except -1 nogil:
    """Every instruction in an order: valid, once, in the block that it names. Fills `position`, counted from 1 in program order."""
    cdef ShaderData *s = &shader.data
    cdef NodeId block = node_first_block(s)
    cdef uint32_t count = 0
    cdef uint32_t i
    cdef ValueId row
    position.resize(s.instructions.table.count)
    while block:
        if <uint64_t>s.nodes.order_first[block] + s.nodes.order_count[block] > s.order.table.count:
            return _fail(shader, 0, "an order outside its table")
        for i in range(s.nodes.order_count[block]):
            row = s.order.instruction[s.nodes.order_first[block] + i]
            if row == 0 or row >= s.instructions.table.count:
                return _fail(shader, 0, "an order with an instruction that does not exist")
            if position[row]:
                return _fail(shader, row, "is in two orders, or in one twice")
            if s.instructions.block[row] != block:
                return _fail(shader, row, "has another block recorded than the one that it is in")
            if s.instructions.source_count[row] and <uint64_t>s.instructions.source_first[row] + \
                    s.instructions.source_count[row] > s.sources.table.count:
                return _fail(shader, row, "has sources outside their table")
            count += 1
            position[row] = count
        block = block_walk_next(s, block)
    return 0


cdef bint _valid_bits(uint32_t bits) noexcept nogil:
    return bits == 1 or bits == 8 or bits == 16 or bits == 32 or bits == 64


cdef int _result(Shader shader, ValueId row) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef uint32_t components = s.instructions.components[row]
    if components == 0:
        return 0
    if components > 16 or not _valid_bits(s.instructions.bit_size[row]):
        return _fail(shader, row, "has a result of impossible size")
    return 0


cdef int _alu(Shader shader, ValueId row) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef uint32_t opcode = s.instructions.opcode[row]
    cdef uint32_t components = s.instructions.components[row]
    cdef uint32_t bits = 0
    cdef uint32_t wanted
    cdef uint32_t width
    cdef ValueId value
    cdef uint32_t i
    cdef uint32_t k
    if opcode >= alu_count or s.instructions.source_count[row] != alu_input_count[opcode]:
        return _fail(shader, row, "has another number of operands than its opcode")
    if components == 0 or (alu_output_size[opcode] and components != alu_output_size[opcode]):
        return _fail(shader, row, "has another number of components than its opcode")
    for i in range(alu_input_count[opcode]):
        value = source_value(s, row, i)
        wanted = alu_input_types_flat[opcode * alu_max_inputs + i] & 0xff
        if wanted == 0:
            if bits == 0:
                bits = s.instructions.bit_size[value]
            wanted = bits
        if s.instructions.bit_size[value] != wanted:
            return _fail(shader, row, "has an operand of another bit size")
        if (alu_input_types_flat[opcode * alu_max_inputs + i] >> 8) == type_float and wanted < 16:
            return _fail(shader, row, "takes floats of less than 16 bits")
        width = alu_input_sizes_flat[opcode * alu_max_inputs + i]
        if width == 0:
            width = components
        for k in range(width):
            if swizzle_component(source_swizzle(s, row, i), k) >= s.instructions.components[value]:
                return _fail(shader, row, "reads a component that its operand does not have")
    wanted = alu_output_type[opcode] & 0xff
    if wanted == 0:
        wanted = bits
    if s.instructions.bit_size[row] != wanted:
        return _fail(shader, row, "has a result of another bit size than its opcode")
    return 0


cdef bint _is_deref(const ShaderData *s, ValueId value) noexcept nogil:
    return s.instructions.kind[value] == nir_deref


cdef bint _same_type(const ShaderData *s, TypeId a, TypeId b) noexcept nogil:
    """Whether two types are interchangeable in a deref chain."""
    if a == b:
        return True
    return (s.types.base[a] == s.types.base[b] and s.types.bit_size[a] == s.types.bit_size[b]
            and s.types.components[a] == s.types.components[b] and s.types.length[a] == s.types.length[b]
            and s.types.member_count[a] == s.types.member_count[b] and s.types.image_dim[a] == s.types.image_dim[b]
            and s.types.image_flags[a] == s.types.image_flags[b])


cdef int _deref(Shader shader, ValueId row) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef uint32_t opcode = s.instructions.opcode[row]
    cdef TypeId type = s.instructions.type[row]
    cdef uint32_t mode = s.instructions.mode[row]
    cdef uint32_t sources = s.instructions.source_count[row]
    cdef ValueId parent
    cdef TypeId parent_type
    cdef TypeId element
    if type >= s.types.table.count or mode == 0 or mode & (mode - 1) or s.instructions.components[row] == 0:
        return _fail(shader, row, "has no type, no single mode or no result")
    if opcode == deref_var:
        if sources or s.instructions.data[row] >= s.variables.table.count or \
                s.variables.mode[s.instructions.data[row]] != mode or \
                s.variables.type[s.instructions.data[row]] != type:
            return _fail(shader, row, "disagrees with its variable")
        return 0
    if sources != (2 if opcode == deref_array or opcode == deref_ptr_as_array else 1):
        return _fail(shader, row, "has another number of sources than its kind")
    parent = source_value(s, row, 0)
    if opcode == deref_cast:
        if s.instructions.components[parent] != s.instructions.components[row] or \
                s.instructions.bit_size[parent] != s.instructions.bit_size[row]:
            return _fail(shader, row, "casts an address of another shape")
        return 0
    if not _is_deref(s, parent) or s.instructions.mode[parent] != mode:
        return _fail(shader, row, "has a parent that is no deref of its mode")
    if sources == 2 and (s.instructions.components[source_value(s, row, 1)] != 1
                         or s.instructions.bit_size[source_value(s, row, 1)] < 8):
        return _fail(shader, row, "has an index that is no integer")
    parent_type = s.instructions.type[parent]
    if opcode == deref_struct:
        if s.types.base[parent_type] != type_struct or \
                s.instructions.data[row] >= s.types.member_count[parent_type] or not _same_type(
                    s, s.members.type[s.types.member_first[parent_type] + s.instructions.data[row]], type):
            return _fail(shader, row, "names a member that its parent does not have")
        return 0
    if opcode == deref_ptr_as_array:
        if not _same_type(s, parent_type, type):
            return _fail(shader, row, "has another type than its parent")
        return 0
    if opcode != deref_array and opcode != deref_array_wildcard:
        return _fail(shader, row, "is a deref of unknown kind")
    if s.types.base[parent_type] == type_array or s.types.base[parent_type] == type_matrix:
        element = s.types.element[parent_type]
        if not _same_type(s, element, type):
            return _fail(shader, row, "has another type than its parent's elements")
    elif type_int <= s.types.base[parent_type] <= type_bool and s.types.components[parent_type] > 1:
        if s.types.base[type] != s.types.base[parent_type] or s.types.components[type] != 1 or \
                s.types.bit_size[type] != s.types.bit_size[parent_type]:
            return _fail(shader, row, "has another type than its parent's components")
    else:
        return _fail(shader, row, "indexes something that has no elements")
    return 0


cdef int _deref_access(Shader shader, ValueId row, ValueId deref, uint32_t components, uint32_t bits) except -1 nogil:
    """An access through `deref` of a value of that shape."""
    cdef ShaderData *s = &shader.data
    cdef TypeId type
    if not _is_deref(s, deref):
        return _fail(shader, row, "accesses something that is no deref")
    type = s.instructions.type[deref]
    if s.types.base[type] == type_pointer:
        return 0
    if not type_int <= s.types.base[type] <= type_bool or s.types.components[type] != components or \
            s.types.bit_size[type] != bits:
        return _fail(shader, row, "accesses a value of another shape than its deref's type")
    return 0


cdef int _intrinsic(Shader shader, ValueId row) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef uint32_t opcode = s.instructions.opcode[row]
    cdef ValueId value
    cdef uint32_t wanted
    cdef uint32_t mask
    cdef uint32_t i
    if opcode >= intrinsic_count or s.instructions.source_count[row] != intrinsic_source_count[opcode]:
        return _fail(shader, row, "has another number of sources than its opcode")
    if <uint64_t>s.instructions.data[row] + intrinsic_index_count[opcode] > s.indices.table.count:
        return _fail(shader, row, "has indices outside their table")
    if intrinsic_has_result[opcode] != (s.instructions.components[row] != 0) or (
            intrinsic_components[opcode] and s.instructions.components[row] != intrinsic_components[opcode]):
        return _fail(shader, row, "has a result of another size than its opcode")
    for i in range(intrinsic_source_count[opcode]):
        value = source_value(s, row, i)
        wanted = intrinsic_source_sizes_flat[opcode * intrinsic_max_sources + i]
        # Addresses of derefs and descriptors have the shape that their mode gives them.
        if wanted == 1 and _is_deref(s, value):
            continue
        if wanted and s.instructions.components[value] != wanted:
            return _fail(shader, row, "has a source of another number of components")
    if intrinsic_has_index(s, row, index_write_mask):
        value = source_value(s, row, 1 if opcode == intrinsic_store_deref else 0)
        mask = <uint32_t>intrinsic_index(s, row, index_write_mask)
        if mask == 0 or mask >> s.instructions.components[value]:
            return _fail(shader, row, "has a write mask that does not fit its value")
    if opcode == intrinsic_load_deref:
        _deref_access(shader, row, source_value(s, row, 0), s.instructions.components[row], s.instructions.bit_size[row])
    elif opcode == intrinsic_store_deref:
        value = source_value(s, row, 1)
        _deref_access(shader, row, source_value(s, row, 0), s.instructions.components[value], s.instructions.bit_size[value])
    elif opcode == intrinsic_deref_atomic or opcode == intrinsic_deref_atomic_swap:
        for i in range(1, s.instructions.source_count[row]):
            if s.instructions.bit_size[source_value(s, row, i)] != s.instructions.bit_size[row]:
                return _fail(shader, row, "has data of another bit size than its result")
        _deref_access(shader, row, source_value(s, row, 0), 1, s.instructions.bit_size[row])
    return 0


cdef int _constant(Shader shader, ValueId row) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef uint32_t i
    cdef uint32_t bits = s.instructions.bit_size[row]
    if <uint64_t>s.instructions.data[row] + s.instructions.components[row] > s.constants.table.count:
        return _fail(shader, row, "has constants outside their table")
    for i in range(s.instructions.components[row]):
        if bits < 64 and constant_bits(s, row, i) >> bits:
            return _fail(shader, row, "has a constant wider than its bit size")
    return 0


cdef int _phi(Shader shader, ValueId row, const Cfg *cfg, BlockNumber number, Dominance d) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef uint32_t first = cfg.predecessor_first[number]
    cdef uint32_t count = cfg.predecessor_first[number + 1] - first
    cdef ValueId source
    cdef NodeId block
    cdef uint32_t i
    cdef uint32_t k
    if s.instructions.source_count[row] != count:
        return _fail(shader, row, "does not have a source for each predecessor")
    for i in range(count):
        source = source_value(s, row, i)
        block = <uint32_t>source_swizzle(s, row, i)
        for k in range(count):
            if cfg.blocks[cfg.predecessors[first + k]] == block:
                break
        else:
            return _fail(shader, row, "has a source from a block that is no predecessor")
        for k in range(i):
            if source_swizzle(s, row, k) == block:
                return _fail(shader, row, "has two sources from one predecessor")
        if s.instructions.components[source] != s.instructions.components[row] or \
                s.instructions.bit_size[source] != s.instructions.bit_size[row]:
            return _fail(shader, row, "has a source of another shape")
        if not dominates(d, s.instructions.block[source], block):
            return _fail(shader, row, "has a source that does not reach its predecessor")
    return 0


cdef int _uses(Shader shader, ValueId row, const vector[uint32_t] &position, Dominance d) except -1 nogil:
    """Sources are values that are defined before this instruction on every path to it."""
    cdef ShaderData *s = &shader.data
    cdef ValueId value
    cdef uint32_t i
    for i in range(s.instructions.source_count[row]):
        value = source_value(s, row, i)
        if value == 0 or value >= s.instructions.table.count or position[value] == 0:
            return _fail(shader, row, "uses a value that is in no block")
        if s.instructions.components[value] == 0:
            return _fail(shader, row, "uses an instruction without a result")
        if s.instructions.kind[row] == nir_phi:
            continue
        if s.instructions.block[value] == s.instructions.block[row]:
            if position[value] >= position[row]:
                return _fail(shader, row, "uses a value before it is defined")
        elif not dominates(d, s.instructions.block[value], s.instructions.block[row]):
            return _fail(shader, row, "uses a value that does not dominate it")
    return 0


cdef int _instruction(Shader shader, ValueId row, bint last, bint *phis_over, BlockNumber number, const Cfg *cfg,
                      Dominance d) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef uint8_t kind = s.instructions.kind[row]
    cdef const char *fault
    _result(shader, row)
    if kind == nir_phi:
        if phis_over[0]:
            return _fail(shader, row, "follows an instruction that is not a phi")
        return _phi(shader, row, cfg, number, d)
    phis_over[0] = True
    if kind == nir_alu:
        return _alu(shader, row)
    if kind == nir_deref:
        return _deref(shader, row)
    if kind == nir_intrinsic:
        return _intrinsic(shader, row)
    if kind == nir_load_const:
        return _constant(shader, row)
    if kind == nir_undef:
        return 0
    if kind == nir_tex:
        fault = texture_fault(s, row)
        return 0 if fault == NULL else _fail(shader, row, fault)
    if kind != nir_jump:
        return _fail(shader, row, "is of unknown kind")
    if not last:
        return _fail(shader, row, "is not the last of its block")
    if s.instructions.opcode[row] != jump_break and s.instructions.opcode[row] != jump_continue:
        return _fail(shader, row, "is a jump that NIR does not have here")
    return 0


cdef int _note_endings(Shader shader, Dominance d) except -1 nogil:
    """How each block ends, for the dominators; jumps are in loops."""
    cdef ShaderData *s = &shader.data
    cdef NodeId block = node_first_block(s)
    cdef ValueId row
    d.ending.assign(s.nodes.table.count, falls_through)
    while block:
        if s.nodes.order_count[block]:
            row = s.order.instruction[s.nodes.order_first[block] + s.nodes.order_count[block] - 1]
            if s.instructions.kind[row] == nir_jump:
                d.ending[block] = ends_with_break if s.instructions.opcode[row] == jump_break else ends_with_continue
                if node_loop_around(s, block) == 0:
                    return _fail(shader, row, "is a jump outside loops")
        block = block_walk_next(s, block)
    return 0


cdef int _conditions(Shader shader, const vector[uint32_t] &position, Dominance d) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef NodeId node = s.nodes.first0[1]
    cdef ValueId value
    while node:
        if s.nodes.kind[node] == node_if:
            value = s.nodes.condition[node]
            if value == 0 or value >= s.instructions.table.count or position[value] == 0:
                return _fail(shader, value, "is the condition of an if and is in no block")
            if s.instructions.components[value] != 1 or s.instructions.bit_size[value] != 1:
                return _fail(shader, value, "is the condition of an if and not boolean")
            if not dominates(d, s.instructions.block[value], s.nodes.previous[node]):
                return _fail(shader, value, "is the condition of an if that it does not dominate")
        node = node_walk_next(s, node)
    return 0


cdef int _variables(Shader shader) except -1 nogil:
    """Every variable has one mode, a type and a known interpolation."""
    cdef const ShaderData *s = &shader.data
    cdef VariableId row
    cdef uint32_t mode
    for row in range(s.variables.table.count):
        mode = s.variables.mode[row]
        if mode == 0 or mode & (mode - 1) or mode > mode_ray_hit_attribute:
            return _fail(shader, 0, "a variable that does not have exactly one mode")
        if s.variables.type[row] >= s.types.table.count:
            return _fail(shader, 0, "a variable of a type that does not exist")
        if s.variables.interpolation[row] > interpolation_explicit:
            return _fail(shader, 0, "a variable with unknown interpolation")
    return 0


cdef int _validate(Shader shader, Dominance d) except -1 nogil:
    cdef ShaderData *s = &shader.data
    cdef vector[uint32_t] position
    cdef Cfg cfg
    cdef bint phis_over
    cdef BlockNumber number
    cdef NodeId block
    cdef ValueId row
    cdef uint32_t i
    _variables(shader)
    _tree(shader)
    _check_order(shader, position)
    _note_endings(shader, d)
    dominance_compute(d, s)
    cfg_build(&cfg, s)
    for number in range(<uint32_t>cfg.blocks.size()):
        block = cfg.blocks[number]
        phis_over = False
        for i in range(s.nodes.order_count[block]):
            row = s.order.instruction[s.nodes.order_first[block] + i]
            _uses(shader, row, position, d)
            _instruction(shader, row, i + 1 == s.nodes.order_count[block], &phis_over, number, &cfg, d)
    return _conditions(shader, position, d)


def run(Shader shader not None):
    """Raise ValidationError when the shader breaks a rule of NIR.

    Parameters
    ----------
    shader : Shader
        At any stage between the reader and instruction selection.
    """
    cdef Dominance dominance = Dominance()
    with nogil:
        _validate(shader, dominance)
    return False
