"""Builds NIR from Python, one call per instruction: for tests, examples and text input, not for compilation."""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_count, alu_input_count, alu_input_sizes_flat, alu_max_inputs, alu_names, index_count, index_names,
    intrinsic_components, intrinsic_count, intrinsic_has_result, intrinsic_index_position_flat, intrinsic_names,
    intrinsic_source_count, image_coordinates, image_dim_count, image_dim_flags, image_dim_names, image_sizes, image_type_names, tex_count,
    tex_flags, tex_names, tex_needed_sources, tex_optional_sources, tex_result, tex_shape_any, tex_shape_coordinate, tex_shape_deref,
    tex_shape_descriptor, tex_shape_dimensions, tex_shape_size, tex_shape_texel, tex_source_count, tex_source_names, tex_source_shape,
)
from pyaco._core.common.table cimport table_append_many, table_append
from pyaco._core.ir.shader cimport (
    MemberRow, NodeId, Shader, ShaderRewrite, SourceRow, TypeId, ValueId, VariableId, intrinsic_has_index, intrinsic_set_index, nir_alu_n,
    nir_constant_vector, nir_deref_new, nir_instruction_new, nir_intrinsic_new, nir_jump, nir_phi_new, nir_undefined, node_block, node_if,
    node_insert_after, node_loop, node_new, phi_set, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end,
    source_set, type_new, type_struct, variable_alive, variable_new,
)


# These are functions because Cython 3 releases None once too often for each comprehension nested in another one at module level.
def _input_sizes(int opcode):
    return [alu_input_sizes_flat[opcode * alu_max_inputs + k] for k in range(alu_input_count[opcode])]


def _index_names(int opcode):
    return [name for _, name in sorted(
        (intrinsic_index_position_flat[opcode * index_count + k], index_names[k].decode())
        for k in range(index_count) if intrinsic_index_position_flat[opcode * index_count + k] >= 0)]


ALU = {alu_names[i].decode(): i for i in range(alu_count)}
INTRINSICS = {intrinsic_names[i].decode(): i for i in range(intrinsic_count)}
INDICES = {index_names[i].decode(): i for i in range(index_count)}
ALU_INPUTS = {alu_names[i].decode(): alu_input_count[i] for i in range(alu_count)}
ALU_INPUT_SIZES = {alu_names[i].decode(): _input_sizes(i) for i in range(alu_count)}
INTRINSIC_INDICES = {intrinsic_names[i].decode(): _index_names(i) for i in range(intrinsic_count)}
INTRINSIC_SHAPES = {
    intrinsic_names[i].decode(): (bool(intrinsic_has_result[i]), intrinsic_components[i], intrinsic_source_count[i])
    for i in range(intrinsic_count)
}
# Texture instructions, as ``nir/data/texture.txt`` has them.
_SHAPES = {tex_shape_any: "any", tex_shape_texel: "texel", tex_shape_size: "size", tex_shape_descriptor: "descriptor",
           tex_shape_coordinate: "coordinate", tex_shape_dimensions: "dimensions", tex_shape_deref: "deref"}


def _source_names(uint32_t mask):
    return tuple([tex_source_names[k].decode() for k in range(tex_source_count) if mask >> k & 1])


def _texture_opcode(int opcode):
    return (_SHAPES.get(tex_result[opcode], tex_result[opcode]), _source_names(tex_needed_sources[opcode]),
            _source_names(tex_optional_sources[opcode]), tex_flags[opcode])


TEX = {tex_names[i].decode(): i for i in range(tex_count)}
TEX_SOURCES = {tex_source_names[i].decode(): i for i in range(tex_source_count)}
TEX_SHAPES = {tex_names[i].decode(): _texture_opcode(i) for i in range(tex_count)}
TEX_SOURCE_SHAPES = {tex_source_names[i].decode(): _SHAPES.get(tex_source_shape[i], tex_source_shape[i]) for i in range(tex_source_count)}
IMAGE_DIMS = {image_dim_names[i].decode(): (i, image_coordinates[i], image_sizes[i], image_type_names[i].decode(), image_dim_flags[i])
              for i in range(image_dim_count)}


cdef int _check(Shader shader, ValueId value) except -1:
    if value == 0 or value >= shader.data.instructions.table.count:
        raise ValueError(f"no NIR value {value}")
    return 0


def alu(Shader shader not None, int opcode, values, swizzles=None, int components=0, int bit_size=0):
    """A new ALU instruction; `swizzles` gives a list of component numbers per operand (or None for identity)."""
    cdef vector[ValueId] sources = values
    cdef ValueId row, value
    cdef uint64_t packed
    if not 0 <= opcode < alu_count or alu_input_count[opcode] != sources.size():
        raise ValueError(f"ALU opcode {opcode} does not take {sources.size()} operands")
    for value in sources:
        _check(shader, value)
    row = nir_alu_n(&shader.data, opcode, sources.data(), <uint32_t>sources.size())
    if components:
        shader.data.instructions.components[row] = components
    if bit_size:
        shader.data.instructions.bit_size[row] = bit_size
    for operand, swizzle in enumerate(swizzles or ()):
        if swizzle is None:
            continue
        packed = 0
        for position, number in enumerate(swizzle):
            packed |= <uint64_t><int>number << (4 * <int>position)
        shader.data.sources.swizzle[shader.data.instructions.source_first[row] + <uint32_t><int>operand] = packed
    return row


def constant(Shader shader not None, values, int bit_size):
    """A load_const of the raw bits given, one per component."""
    cdef vector[uint64_t] bits = values
    return nir_constant_vector(&shader.data, bits.data(), <int>bits.size(), bit_size)


def undefined(Shader shader not None, int components, int bit_size):
    """An undefined value."""
    return nir_undefined(&shader.data, components, bit_size)


def intrinsic(Shader shader not None, int opcode, values, int components=0, int bit_size=0, indices=None):
    """A new intrinsic; `indices` maps index numbers to values."""
    cdef vector[ValueId] sources = values
    cdef ValueId row, value
    if not 0 <= opcode < intrinsic_count or intrinsic_source_count[opcode] != sources.size():
        raise ValueError(f"intrinsic {opcode} does not take {sources.size()} sources")
    for value in sources:
        _check(shader, value)
    row = nir_intrinsic_new(&shader.data, opcode, components, bit_size, sources.data())
    for index, number in (indices or {}).items():
        if not intrinsic_has_index(&shader.data, row, index):
            raise ValueError(f"{intrinsic_names[opcode].decode()} has no index {index_names[<int>index].decode()}")
        intrinsic_set_index(&shader.data, row, index, number)
    return row


def phi(Shader shader not None, values, predecessors, int components, int bit_size):
    """A phi; operands may be set later with :func:`set_source`."""
    cdef ValueId row = nir_phi_new(&shader.data, components, bit_size, <uint32_t>len(values))
    for operand, (value, block) in enumerate(zip(values, predecessors, strict=True)):
        phi_set(&shader.data, row, <uint32_t><int>operand, value, block)
    return row


def set_source(Shader shader not None, ValueId instruction, uint32_t source, ValueId value):
    """Change one source."""
    _check(shader, instruction)
    if source >= shader.data.instructions.source_count[instruction]:
        raise ValueError("no such source")
    source_set(&shader.data, instruction, source, value)


def set_flags(Shader shader not None, ValueId instruction, uint32_t flags):
    """Set the flags of an instruction."""
    _check(shader, instruction)
    shader.data.instructions.flags[instruction] = flags


def deref(Shader shader not None, int opcode, values, TypeId type, uint32_t mode, uint32_t data, int components, int bit_size):
    """A deref instruction."""
    cdef ValueId row = nir_deref_new(&shader.data, opcode, components, bit_size, <uint32_t>len(values), mode, type, data)
    for operand, value in enumerate(values):
        source_set(&shader.data, row, <uint32_t><int>operand, value)
    return row


def jump(Shader shader not None, int kind):
    """A jump."""
    return nir_instruction_new(&shader.data, nir_jump, kind, 0, 0, 0)


def node(Shader shader not None, str kind, NodeId after, ValueId condition=0, int control=0):
    """A new if, loop or block after the node `after`; `control` of a loop is a LoopControl."""
    cdef NodeId row = node_new(&shader.data, {"if": node_if, "loop": node_loop, "block": node_block}[kind])
    node_insert_after(&shader.data, row, after)
    shader.data.nodes.condition[row] = condition
    shader.data.nodes.control[row] = <unsigned char>control
    return row


def type_of(Shader shader not None, int base, int bit_size=0, int components=0, TypeId element=0, uint32_t length=0,
            uint32_t stride=0, bint row_major=False, members=(), int image_dim=0, int image_flags=0):
    """A new type; `members` are (type, offset) pairs of a struct (offset None: none yet)."""
    cdef TypeId row = type_new(&shader.data, base, bit_size, components)
    cdef MemberRow first, member
    shader.data.types.element[row] = element
    shader.data.types.length[row] = length
    shader.data.types.stride[row] = stride
    shader.data.types.row_major[row] = row_major
    shader.data.types.image_dim[row] = image_dim
    shader.data.types.image_flags[row] = image_flags
    if base == type_struct:
        first = table_append_many(&shader.data.members.table, <uint32_t>len(members))
        shader.data.types.member_first[row] = first
        shader.data.types.member_count[row] = <uint32_t>len(members)
        for number, (member_type, offset) in enumerate(members):
            member = first + <uint32_t><int>number
            shader.data.members.type[member] = member_type
            shader.data.members.offset[member] = 0xffffffffU if offset is None else offset
    return row


def variable(Shader shader not None, uint32_t mode, TypeId type, initializer=None, **facts):
    """A new variable; `initializer` lists the bits of its components depth first."""
    cdef VariableId row = variable_new(&shader.data, mode, type)
    cdef uint32_t first, i
    cdef vector[uint64_t] bits
    if initializer is not None:
        bits = initializer
        first = table_append_many(&shader.data.constants.table, <uint32_t>bits.size())
        for i in range(bits.size()):
            shader.data.constants.value[first + i] = bits[i]
        shader.data.variables.initializer[row] = first + 1
    shader.data.variables.set[row] = facts.get("set", 0)
    shader.data.variables.binding[row] = facts.get("binding", 0)
    shader.data.variables.builtin[row] = facts.get("builtin", 0)
    shader.data.variables.access[row] = facts.get("access", 0)
    shader.data.variables.location[row] = facts.get("location", 0)
    shader.data.variables.flags[row] = facts.get("flags", 0) | variable_alive
    shader.data.variables.interpolation[row] = facts.get("interpolation", 0)
    shader.data.variables.component[row] = facts.get("component", 0)
    shader.data.variables.driver_location[row] = facts.get("driver_location", 0)
    return row


def texture(Shader shader not None, int base, int dim, int image_flags=0, int flags=0, int component=0, uint32_t texture_index=0,
            uint32_t sampler_index=0, offsets=()):
    """A row of Textures; `offsets` are the four (x, y) of a gather."""
    cdef uint32_t row = table_append(&shader.data.textures.table)
    cdef uint64_t packed = 0
    for position, offset in enumerate([value for pair in offsets for value in pair]):
        if not -128 <= offset < 128 or position > 7:
            raise ValueError("offsets of a gather are four pairs from -128 to 127")
        packed |= <uint64_t>(<int>offset & 0xff) << (8 * <int>position)
    shader.data.textures.base[row] = base
    shader.data.textures.dim[row] = dim
    shader.data.textures.image_flags[row] = image_flags
    shader.data.textures.flags[row] = flags
    shader.data.textures.component[row] = component
    shader.data.textures.texture_index[row] = texture_index
    shader.data.textures.sampler_index[row] = sampler_index
    shader.data.textures.offsets[row] = packed
    return row


def write_blocks(Shader shader not None, lists):
    """Make `lists` (block node to list of instructions) the contents of the shader."""
    cdef ShaderRewrite rewrite
    shader_rewrite_begin(&rewrite, &shader.data)
    for block, instructions in lists.items():
        shader_rewrite_block(&rewrite, block)
        for instruction in instructions:
            shader_rewrite_emit(&rewrite, instruction)
    shader_rewrite_end(&rewrite)


def raw(Shader shader not None, int kind, int opcode, int components, int bit_size, values=(), swizzles=(), uint32_t data=0,
        TypeId type=0, uint32_t mode=0, uint32_t flags=0, indices=None, constants=None):
    """An instruction from its columns, unchecked: for the text reader, which names values before they exist.

    `indices` are an intrinsic's indices in order, `constants` the bits of a load_const.
    """
    cdef ValueId row = nir_instruction_new(&shader.data, kind, opcode, components, bit_size, <uint32_t>len(values))
    cdef SourceRow first = shader.data.instructions.source_first[row]
    for number, value in enumerate(values):
        shader.data.sources.value[first + <uint32_t><int>number] = value
    for number, swizzle in enumerate(swizzles):
        shader.data.sources.swizzle[first + <uint32_t><int>number] = swizzle
    if indices is not None:
        data = table_append_many(&shader.data.indices.table, <uint32_t>len(indices))
        for number, value in enumerate(indices):
            shader.data.indices.value[data + <uint32_t><int>number] = value
    if constants is not None:
        data = table_append_many(&shader.data.constants.table, <uint32_t>len(constants))
        for number, value in enumerate(constants):
            shader.data.constants.value[data + <uint32_t><int>number] = value
    shader.data.instructions.data[row] = data
    shader.data.instructions.type[row] = type
    shader.data.instructions.mode[row] = mode
    shader.data.instructions.flags[row] = flags
    return row


def argument(Shader shader not None, uint32_t kind, uint32_t detail, uint32_t first, uint32_t count, bint is_vgpr):
    """Declare an argument of the ABI."""
    cdef uint32_t row = table_append(&shader.data.arguments.table)
    shader.data.arguments.kind[row] = kind
    shader.data.arguments.detail[row] = detail
    shader.data.arguments.first[row] = first
    shader.data.arguments.count[row] = count
    shader.data.arguments.is_vgpr[row] = is_vgpr
    return row


def append_constant_data(Shader shader not None, bytes data):
    """Append bytes to what load_constant reads."""
    cdef uint32_t first = table_append_many(&shader.data.constant_data.table, <uint32_t>len(data))
    for number, byte in enumerate(data):
        shader.data.constant_data.byte[first + <uint32_t><int>number] = byte


def set_member_access(Shader shader not None, TypeId type, uint32_t member, uint32_t access):
    """Set the access flags of a struct member."""
    if type >= shader.data.types.table.count or member >= shader.data.types.member_count[type]:
        raise ValueError("no such member")
    shader.data.members.access[shader.data.types.member_first[type] + member] = access
