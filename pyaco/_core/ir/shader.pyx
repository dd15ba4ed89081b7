"""Storage of NIR. The data sheet is ``shader.pxd``."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from nir_opcodes cimport (
    alu_input_sizes_flat, alu_input_types_flat, alu_max_inputs, alu_mov, alu_output_size, alu_output_type, alu_vec2, alu_vec3,
    alu_vec4, alu_vec5, alu_vec8, alu_vec16, index_count, intrinsic_components, intrinsic_has_result, intrinsic_index_count,
    intrinsic_index_position_flat, intrinsic_source_count,
)
from pyaco._core.common.table cimport (
    Table, table_append, table_append_many, table_columns, table_free, table_init, table_reserve, table_truncate,
)
from pyaco._core.common.view cimport edit_of, table_view
from pyaco._core.ir.source_lines cimport LineHeirs, heirs_begin, heirs_of_block, lines_init

from copy import deepcopy
from math import prod

from pyaco.errors import InputError, UnsupportedError

_COLUMNS = {
    "instructions": [("kind", "u1"), ("components", "u1"), ("bit_size", "u1"), ("opcode", "u2"), ("flags", "u2"),
                     ("source_first", "u4"), ("source_count", "u2"), ("data", "u4"), ("type", "u4"), ("mode", "u4"),
                     ("block", "u4")],
    "sources": [("value", "u4"), ("swizzle", "u8")],
    "constants": [("value", "u8")],
    "indices": [("value", "i4")],
    "nodes": [("kind", "u1"), ("parent", "u4"), ("previous", "u4"), ("next", "u4"), ("first0", "u4"), ("last0", "u4"),
              ("first1", "u4"), ("last1", "u4"), ("condition", "u4"), ("order_first", "u4"), ("order_count", "u4"),
              ("next_order_first", "u4"), ("next_order_count", "u4"), ("index", "u4"), ("immediate_dominator", "i4"),
              ("divergent", "u1"), ("control", "u1")],
    "order": [("instruction", "u4")],
    "types": [("base", "u1"), ("bit_size", "u1"), ("components", "u1"), ("row_major", "u1"), ("element", "u4"),
              ("length", "u4"), ("stride", "u4"), ("member_first", "u4"), ("member_count", "u4"), ("image_dim", "u1"),
              ("image_flags", "u1")],
    "members": [("type", "u4"), ("offset", "u4"), ("access", "u4")],
    "variables": [("mode", "u4"), ("type", "u4"), ("set", "u4"), ("binding", "u4"), ("location", "u4"),
                  ("builtin", "u4"), ("access", "u4"), ("initializer", "u4"), ("flags", "u4"), ("interpolation", "u1"),
                  ("component", "u1"), ("driver_location", "u4")],
    "arguments": [("kind", "u4"), ("detail", "u4"), ("first", "u4"), ("count", "u4"), ("is_vgpr", "u1")],
    "constant_data": [("byte", "u1")],
    "textures": [("base", "u1"), ("dim", "u1"), ("image_flags", "u1"), ("flags", "u1"), ("component", "u1"),
                 ("texture_index", "u4"), ("sampler_index", "u4"), ("offsets", "u8")],
}

include "shader_tables.pxi"

cdef enum:
    most_columns = 24             # of a table
    most_invocations = 1024       # of a workgroup

cdef uint8_t[table_count][most_columns] _sizes
cdef uint32_t[table_count] _column_counts
cdef int _table_index = 0
_TABLE_ROWS = {}
# Rows that tables begin with: as many as most small shaders need, because a table that grows is copied.
cdef dict _FIRST_ROWS = {"instructions": 256, "sources": 512, "constants": 128, "indices": 256, "order": 128, "arguments": 16, "textures": 16}
cdef uint32_t[table_count] _first_rows
for _name, _columns in _COLUMNS.items():
    _TABLE_ROWS[_name] = _table_index
    assert len(_columns) <= most_columns
    _column_counts[_table_index] = len(_columns)
    _first_rows[_table_index] = _FIRST_ROWS.get(_name, 64)
    for _i, (_, _type) in enumerate(_columns):
        _sizes[_table_index][_i] = int(_type[1])
    _table_index += 1


# ------------------------------------------------------------------------------------------------------------- building
cdef ValueId nir_instruction_new(ShaderData *s, int kind, int opcode, int components, int bit_size,
                                 uint32_t source_count) except 0 nogil:
    cdef SourceRow sources = table_append_many(&s.sources.table, source_count)
    cdef ValueId row = table_append(&s.instructions.table)
    cdef uint32_t i
    s.instructions.kind[row] = <uint8_t>kind
    s.instructions.opcode[row] = <uint16_t>opcode
    s.instructions.components[row] = <uint8_t>components
    s.instructions.bit_size[row] = <uint8_t>bit_size
    s.instructions.source_first[row] = sources
    s.instructions.source_count[row] = <uint16_t>source_count
    if kind == nir_alu:
        for i in range(source_count):
            s.sources.swizzle[sources + i] = identity_swizzle
    return row


cdef ValueId nir_constant_vector(ShaderData *s, const uint64_t *values, int components, int bit_size) except 0 nogil:
    cdef uint32_t first = table_append_many(&s.constants.table, components)
    cdef ValueId row = nir_instruction_new(s, nir_load_const, 0, components, bit_size, 0)
    cdef uint64_t mask = 0xffffffffffffffffULL if bit_size == 64 else ((<uint64_t>1 << bit_size) - 1)
    cdef int i
    for i in range(components):
        s.constants.value[first + i] = values[i] & mask
    s.instructions.data[row] = first
    return row


cdef ValueId nir_constant(ShaderData *s, uint64_t value, int bit_size) except 0 nogil:
    return nir_constant_vector(s, &value, 1, bit_size)


cdef ValueId nir_alu_n(ShaderData *s, int opcode, const ValueId *values, uint32_t count) except 0 nogil:
    cdef int components = alu_output_size[opcode]
    cdef int bit_size = alu_output_type[opcode] & 0xff
    cdef uint32_t i
    for i in range(count):
        if components == 0 or (alu_output_size[opcode] == 0 and s.instructions.components[values[i]] > components):
            if alu_input_sizes_flat[opcode * alu_max_inputs + i] == 0:
                components = s.instructions.components[values[i]]
        if bit_size == 0 and alu_input_types_flat[opcode * alu_max_inputs + i] & 0xff == 0:
            bit_size = s.instructions.bit_size[values[i]]
    cdef ValueId row = nir_instruction_new(s, nir_alu, opcode, components, bit_size, count)
    for i in range(count):
        source_set(s, row, i, values[i])
        # A scalar operand of a vector operation is broadcast.
        if s.instructions.components[values[i]] == 1:
            s.sources.swizzle[s.instructions.source_first[row] + i] = 0
    return row


cdef ValueId nir_swizzle(ShaderData *s, ValueId value, uint64_t swizzle, int components) except 0 nogil:
    cdef ValueId row = nir_instruction_new(s, nir_alu, alu_mov, components, s.instructions.bit_size[value], 1)
    source_set(s, row, 0, value)
    s.sources.swizzle[s.instructions.source_first[row]] = swizzle
    return row


cdef ValueId nir_component(ShaderData *s, ValueId value, int component) except 0 nogil:
    if s.instructions.components[value] == 1:
        return value
    return nir_swizzle(s, value, component, 1)


cdef ValueId nir_vector(ShaderData *s, const ValueId *values, uint32_t count) except 0 nogil:
    cdef int opcode = -1
    if count == 1:
        return values[0]
    if count == 2:
        opcode = alu_vec2
    elif count == 3:
        opcode = alu_vec3
    elif count == 4:
        opcode = alu_vec4
    elif count == 5:
        opcode = alu_vec5
    elif count == 8:
        opcode = alu_vec8
    elif count == 16:
        opcode = alu_vec16
    else:
        with gil:
            raise UnsupportedError(f"a vector of {count} components")
    cdef ValueId row = nir_instruction_new(s, nir_alu, opcode, count, s.instructions.bit_size[values[0]], count)
    cdef uint32_t i
    for i in range(count):
        source_set(s, row, i, values[i])
        s.sources.swizzle[s.instructions.source_first[row] + i] = 0
    return row


cdef ValueId nir_intrinsic_new(ShaderData *s, int intrinsic, int components, int bit_size,
                               const ValueId *values) except 0 nogil:
    cdef uint32_t count = intrinsic_source_count[intrinsic]
    cdef uint32_t indices = table_append_many(&s.indices.table, intrinsic_index_count[intrinsic])
    cdef uint32_t i
    if not intrinsic_has_result[intrinsic]:
        components = bit_size = 0
    elif intrinsic_components[intrinsic]:
        components = intrinsic_components[intrinsic]
    cdef ValueId row = nir_instruction_new(s, nir_intrinsic, intrinsic, components, bit_size, count)
    s.instructions.data[row] = indices
    for i in range(count):
        source_set(s, row, i, values[i])
    return row


cdef ValueId nir_undefined(ShaderData *s, int components, int bit_size) except 0 nogil:
    return nir_instruction_new(s, nir_undef, 0, components, bit_size, 0)


cdef ValueId nir_phi_new(ShaderData *s, int components, int bit_size, uint32_t source_count) except 0 nogil:
    return nir_instruction_new(s, nir_phi, 0, components, bit_size, source_count)


cdef ValueId nir_deref_new(ShaderData *s, int opcode, int components, int bit_size, uint32_t source_count, uint32_t mode, TypeId type,
                           uint32_t data) except 0 nogil:
    cdef ValueId row = nir_instruction_new(s, nir_deref, opcode, components, bit_size, source_count)
    s.instructions.mode[row] = mode
    s.instructions.type[row] = type
    s.instructions.data[row] = data
    return row


cdef ValueId nir_tex_new(ShaderData *s, int opcode, int components, int bit_size, const ValueId *values, const uint8_t *kinds,
                         uint32_t count) except 0 nogil:
    cdef uint32_t texture = table_append(&s.textures.table)
    cdef ValueId row = nir_instruction_new(s, nir_tex, opcode, components, bit_size, count)
    cdef SourceRow first = s.instructions.source_first[row]
    cdef uint32_t i
    s.instructions.data[row] = texture
    for i in range(count):
        s.sources.value[first + i] = values[i]
        s.sources.swizzle[first + i] = kinds[i]
    return row


cdef bint intrinsic_has_index(const ShaderData *s, ValueId instruction, int index) noexcept nogil:
    return intrinsic_index_position_flat[<int>s.instructions.opcode[instruction] * index_count + index] >= 0


cdef int32_t intrinsic_index(const ShaderData *s, ValueId instruction, int index) noexcept nogil:
    cdef int position = intrinsic_index_position_flat[<int>s.instructions.opcode[instruction] * index_count + index]
    return s.indices.value[s.instructions.data[instruction] + position] if position >= 0 else 0


cdef void intrinsic_set_index(ShaderData *s, ValueId instruction, int index, int32_t value) noexcept nogil:
    cdef int position = intrinsic_index_position_flat[<int>s.instructions.opcode[instruction] * index_count + index]
    if position >= 0:
        s.indices.value[s.instructions.data[instruction] + position] = value


# ----------------------------------------------------------------------------------------------------------- control flow
cdef NodeId _node_bare(ShaderData *s, int kind) except 0 nogil:
    cdef NodeId node = table_append(&s.nodes.table)
    s.nodes.kind[node] = <uint8_t>kind
    s.nodes.immediate_dominator[node] = -1
    return node


cdef NodeId node_new(ShaderData *s, int kind) except 0 nogil:
    cdef NodeId node = _node_bare(s, kind)
    cdef NodeId block
    if kind != node_block:
        block = _node_bare(s, node_block)
        s.nodes.parent[block] = node
        s.nodes.first0[node] = s.nodes.last0[node] = block
    if kind == node_if:
        block = _node_bare(s, node_block)
        s.nodes.parent[block] = node
        s.nodes.first1[node] = s.nodes.last1[node] = block
    return node


cdef void node_insert_after(ShaderData *s, NodeId node, NodeId after) noexcept nogil:
    cdef NodeId parent = s.nodes.parent[after]
    cdef NodeId following = s.nodes.next[after]
    s.nodes.parent[node] = parent
    s.nodes.previous[node] = after
    s.nodes.next[node] = following
    s.nodes.next[after] = node
    if following:
        s.nodes.previous[following] = node
    elif s.nodes.last0[parent] == after:
        s.nodes.last0[parent] = node
    else:
        s.nodes.last1[parent] = node


cdef void node_remove(ShaderData *s, NodeId node) noexcept nogil:
    cdef NodeId parent = s.nodes.parent[node]
    cdef NodeId before = s.nodes.previous[node]
    cdef NodeId following = s.nodes.next[node]
    if before:
        s.nodes.next[before] = following
    elif s.nodes.first0[parent] == node:
        s.nodes.first0[parent] = following
    else:
        s.nodes.first1[parent] = following
    if following:
        s.nodes.previous[following] = before
    elif s.nodes.last0[parent] == node:
        s.nodes.last0[parent] = before
    else:
        s.nodes.last1[parent] = before
    s.nodes.previous[node] = s.nodes.next[node] = s.nodes.parent[node] = 0


cdef NodeId node_walk_next(const ShaderData *s, NodeId node) noexcept nogil:
    cdef NodeId parent
    if s.nodes.first0[node]:
        return s.nodes.first0[node]
    while node:
        if s.nodes.next[node]:
            return s.nodes.next[node]
        parent = s.nodes.parent[node]
        if parent == 0:
            return 0
        if s.nodes.kind[parent] == node_if and s.nodes.last0[parent] == node:
            return s.nodes.first1[parent]
        node = parent
    return 0


cdef NodeId node_first_block(const ShaderData *s) noexcept nogil:
    return s.nodes.first0[1]


cdef NodeId block_walk_next(const ShaderData *s, NodeId block) noexcept nogil:
    block = node_walk_next(s, block)
    while block and s.nodes.kind[block] != node_block:
        block = node_walk_next(s, block)
    return block


cdef uint32_t nodes_index(ShaderData *s) noexcept nogil:
    cdef NodeId block = node_first_block(s)
    cdef uint32_t count = 0
    while block:
        s.nodes.index[block] = count
        count += 1
        block = block_walk_next(s, block)
    return count


# -------------------------------------------------------------------------------------------------------------- rewrite
cdef int shader_rewrite_begin(ShaderRewrite *rewrite, ShaderData *shader) except -1 nogil:
    cdef uint64_t bytes = <uint64_t>shader.nodes.table.count * 4
    rewrite.shader = shader
    rewrite.block = 0
    table_truncate(&shader.next_order.table, 0)
    table_reserve(&shader.next_order.table, shader.order.table.count)
    memset(shader.nodes.next_order_first, 0, bytes)
    memset(shader.nodes.next_order_count, 0, bytes)
    return 0


cdef void _close_block(ShaderRewrite *rewrite) noexcept nogil:
    cdef ShaderData *s = rewrite.shader
    if rewrite.block:
        s.nodes.next_order_count[rewrite.block] = s.next_order.table.count - s.nodes.next_order_first[rewrite.block]


cdef int shader_rewrite_block(ShaderRewrite *rewrite, NodeId block) except -1 nogil:
    _close_block(rewrite)
    rewrite.block = block
    rewrite.shader.nodes.next_order_first[block] = rewrite.shader.next_order.table.count
    return 0


cdef int _bequeath_lines(ShaderData *s) except -1 nogil:
    cdef LineHeirs heirs
    cdef NodeId node
    heirs_begin(&heirs, &s.lines, s.instructions.table.count, s.order.instruction, s.order.table.count)
    for node in range(s.nodes.table.count):
        heirs_of_block(&heirs, s.nodes.order_first[node], s.nodes.order_count[node],
                       s.next_order.instruction + s.nodes.next_order_first[node], s.nodes.next_order_count[node])
    return 0


cdef int shader_rewrite_end(ShaderRewrite *rewrite) except -1 nogil:
    cdef ShaderData *s = rewrite.shader
    cdef Order swap = s.order
    cdef NodeId node
    _close_block(rewrite)
    if s.order.table.exports:
        with gil:
            raise BufferError("the order cannot change while NumPy views of it are alive")
    if s.lines.table.count:
        _bequeath_lines(s)
    s.order = s.next_order
    s.next_order = swap
    for node in range(s.nodes.table.count):
        s.nodes.order_first[node] = s.nodes.next_order_first[node]
        s.nodes.order_count[node] = s.nodes.next_order_count[node]
    return 0


cdef TypeId type_new(ShaderData *s, int base, int bit_size, int components) except? 0xffffffffU nogil:
    cdef TypeId row = table_append(&s.types.table)
    s.types.base[row] = <uint8_t>base
    s.types.bit_size[row] = <uint8_t>bit_size
    s.types.components[row] = <uint8_t>components
    return row


cdef VariableId variable_new(ShaderData *s, int mode, TypeId type) except? 0xffffffffU nogil:
    cdef VariableId row = table_append(&s.variables.table)
    s.variables.mode[row] = mode
    s.variables.type[row] = type
    s.variables.flags[row] = variable_alive
    return row


# --------------------------------------------------------------------------------------------------------------- Python
cdef int _assign(Table *table, Table *other) except -1:
    """Give a table that was just made the rows of another one of the same columns."""
    cdef uint32_t column
    if other.count > table.count:
        table_append_many(table, other.count - table.count)
    for column in range(table.column_count):
        memcpy(table_columns(table)[column], table_columns(other)[column], <uint64_t>other.count * table.element_sizes[column])
    return 0


def check_invocations(total):
    """Raise unless a workgroup may have so many invocations."""
    if total < 1:
        raise InputError(f"a workgroup of {total} invocations")
    if total > most_invocations:
        raise UnsupportedError(f"a workgroup of {total} invocations (at most {most_invocations})")


cdef class Shader:
    def __cinit__(self):
        cdef ShaderData *s = &self.data
        cdef int index
        memset(s, 0, sizeof(ShaderData))
        s.info.stage = stage_compute
        self.facts = Metadata()
        self._variable_names = {}
        self._member_names = {}
        self._type_names = {}
        for index in range(table_count):
            table_init(_table(s, index), _sizes[index], _column_counts[index], _first_rows[index])
        table_init(&s.next_order.table, _sizes[5], 1, 128)
        lines_init(&s.lines)
        # Row 0 of instructions and nodes means "none"; node 1 is the function, type 0 void.
        table_append(&s.instructions.table)
        table_append(&s.nodes.table)
        type_new(s, type_void, 0, 0)
        node_new(s, node_function)

    def __dealloc__(self):
        cdef int index
        for index in range(table_count):
            table_free(_table(&self.data, index))
        table_free(&self.data.next_order.table)
        table_free(&self.data.lines.table)

    def __getattr__(self, name):
        if name not in _TABLE_ROWS:
            raise AttributeError(name)
        return table_view(self, &self.editable, _table(&self.data, _TABLE_ROWS[name]), _COLUMNS[name])

    @property
    def info(self):
        """Facts of the shader as a dict (fields of ``ShaderInfo``)."""
        return self.data.info

    @property
    def metadata(self):
        """What is known of the shader as a whole, as a dict; ``facts.known`` has less of it, without the time to make it."""
        return self.facts.whole()

    cdef int make_names(self) except -1:
        cdef ModuleFacts unnamed = self.unnamed
        self.unnamed = None
        if unnamed is not None:
            unnamed.names(self._variable_names, self._member_names, self._type_names)
        return 0

    @property
    def variable_names(self):
        self.make_names()
        return self._variable_names

    @property
    def member_names(self):
        self.make_names()
        return self._member_names

    @property
    def type_names(self):
        self.make_names()
        return self._type_names

    @property
    def gfx_level(self):
        return self.data.info.gfx_level

    @property
    def workgroup_size(self):
        return (self.data.info.workgroup_size[0], self.data.info.workgroup_size[1], self.data.info.workgroup_size[2])

    def set_target(self, int gfx_level, int wave_size, uint32_t address32_hi):
        """Say what the shader is compiled for."""
        self.data.info.gfx_level = gfx_level
        self.data.info.wave_size = wave_size
        self.data.info.address32_hi = address32_hi

    def set_info(self, **facts):
        """Set fields of ``ShaderInfo`` by name."""
        merged = dict(self.data.info)
        unknown = set(facts) - set(merged)
        if unknown:
            raise AttributeError(f"no such shader facts: {sorted(unknown)}")
        merged.update(facts)
        if "workgroup_size" in facts:
            check_invocations(prod(facts["workgroup_size"]))
        self.data.info = merged

    def copy(self):
        """Return a shader of its own with the same contents."""
        cdef Shader made = Shader()
        cdef int index
        made.data.info = self.data.info
        for index in range(table_count):
            _assign(_table(&made.data, index), _table(&self.data, index))
        _assign(&made.data.lines.table, &self.data.lines.table)
        made.facts.known.update(deepcopy(self.facts.whole()))
        made._variable_names.update(self.variable_names)
        made._member_names.update(self.member_names)
        made._type_names.update(self.type_names)
        return made

    def edit(self):
        """Make the columns writable: views taken inside may be written to; take new views after leaving."""
        return edit_of(self, &self.editable)

    def _repr_html_(self):
        from pyaco.notebook import table

        cdef const ShaderData *s = &self.data
        return table(f"NIR of {self.metadata.get('entry', 'a shader')}", {
            "instructions": s.order.table.count, "variables": s.variables.table.count, "constants": s.constants.table.count,
        })
