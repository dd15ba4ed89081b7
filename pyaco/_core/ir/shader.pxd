"""NIR as columns: the data sheet of a shader between the SPIR-V reader and instruction selection.

SSA with structured control flow, one function (calls are inlined by the reader). Every instruction has at most one
result, so *an instruction's id is the id of its SSA value*; id 0 means "none". Semantics of opcodes and intrinsics are
those of Mesa's NIR (``docs/nir``); booleans have bit size 1 and are 0 or 1 in constants.

Control flow is a tree of nodes (block, if, loop) linked as siblings. As in Mesa: every list begins and ends with a
block, there is a block between any two ifs or loops, a jump is the last instruction of its block, phis are the first. Loops have no
continue construct (the reader lowers it): a loop's list runs again from its first block until a break.

A pass reads a block's order and writes a new one (``ShaderRewrite``), or edits sources in place. Thread safety: a
shader belongs to one thread at a time.

The comment of an enum gives its name in Python, where ``tools/write_vocabulary.py`` writes it to ``vocabulary.py``. A member's comment
that begins with a quoted word says how NIR text writes it; without one, text has the identifier less what all members begin with.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from nir_opcodes cimport alu_vec2, alu_vec3, alu_vec4, alu_vec5, alu_vec8, alu_vec16
from pyaco._core.common.table cimport RowRange, Table, table_reserve
from pyaco._core.ir.metadata cimport Metadata, ModuleFacts
from pyaco._core.ir.program cimport Bytes, Order, OrderRow
from pyaco._core.ir.source_lines cimport SourceLines

# ---------------------------------------------------------------------------------------------------------- index spaces
ctypedef uint32_t ValueId         # row in NirInstructions: an instruction and its SSA value; 0 is none
ctypedef uint32_t NodeId          # row in Nodes; 0 is none, 1 the function
ctypedef uint32_t BlockNumber     # position of a block in program order (Nodes.index); 0xffffffffU none
ctypedef uint32_t TypeId          # row in Types; 0 is void
ctypedef uint32_t VariableId      # row in Variables
ctypedef uint32_t SourceRow       # row in Sources; an instruction's sources are neighbours
ctypedef uint32_t MemberRow       # row in Members; a struct's members are neighbours

# ----------------------------------------------------------------------------------------------------------- vocabulary
cdef enum:                        # Stage: of the API, numbered as Mesa's ``gl_shader_stage``
    stage_vertex = 0
    stage_tess_ctrl = 1
    stage_tess_eval = 2
    stage_geometry = 3
    stage_fragment = 4
    stage_compute = 5
    stage_task = 6
    stage_mesh = 7
    stage_raygen = 8
    stage_any_hit = 9
    stage_closest_hit = 10
    stage_miss = 11
    stage_intersection = 12
    stage_callable = 13
    stage_kernel = 14             # OpenCL

cdef enum:                        # NirKind: kinds of instructions
    nir_alu = 1                   # opcode alu_*; sources with swizzles
    nir_deref = 2                 # opcode deref_*; the result is a pointer
    nir_load_const = 3            # data: first row in Constants, one per component
    nir_undef = 4
    nir_phi = 5                   # a source per predecessor; Sources.swizzle holds the predecessor's block node
    nir_intrinsic = 6             # opcode intrinsic_*; data: first row in Indices
    nir_jump = 7                  # opcode jump_*
    nir_tex = 8                   # opcode tex_*; Sources.swizzle: tex_source_*; data: row in Textures

cdef enum:                        # Jump: opcodes of jumps
    jump_return = 0
    jump_halt = 1
    jump_break = 2
    jump_continue = 3

cdef enum:                        # Deref: opcodes of derefs; `type` is the type pointed to, `mode` the variable mode
    deref_var = 0                 # data: variable
    deref_array = 1               # sources: parent, index
    deref_array_wildcard = 2
    deref_ptr_as_array = 3        # sources: parent, index; the stride is the parent's (cast's) pointer stride
    deref_struct = 4              # sources: parent; data: member
    deref_cast = 5                # sources: value; data: pointer stride in bytes

cdef enum:                        # VariableMode: bits, which memory a variable is in or a pointer points to
    mode_function_temp = 1
    mode_shader_temp = 2          # Private
    mode_shared = 4
    mode_ubo = 8
    mode_ssbo = 0x10
    mode_push_constant = 0x20     # "push_const"
    mode_global = 0x40            # physical storage buffer
    mode_system_value = 0x80      # "system"
    mode_constant = 0x100         # constant initialised, read-only tables
    mode_uniform = 0x200          # opaque: sampled textures, samplers
    mode_shader_in = 0x400        # inputs of the stage: vertex attributes, what the stage before wrote
    mode_shader_out = 0x800       # outputs of the stage
    mode_image = 0x1000           # storage images
    mode_task_payload = 0x2000    # from a task shader to its mesh shaders
    mode_shader_call_data = 0x4000        # ray tracing: payloads of calls
    mode_ray_hit_attribute = 0x8000       # "ray_hit_attrib"

cdef enum:                        # Interpolation: of inputs of fragment shaders
    interpolation_none = 0        # "INTERP_MODE_NONE"; the type decides: smooth for floats, flat for integers
    interpolation_smooth = 1      # "INTERP_MODE_SMOOTH"; perspective correct
    interpolation_flat = 2        # "INTERP_MODE_FLAT"
    interpolation_noperspective = 3       # "INTERP_MODE_NOPERSPECTIVE"; linear in screen space
    interpolation_explicit = 4    # "INTERP_MODE_EXPLICIT"; the shader reads the values at the vertices

cdef enum:                        # VariableFlag: bits
    variable_alive = 1
    variable_centroid = 2
    variable_sample = 4
    variable_patch = 8            # once per patch, not per vertex
    variable_invariant = 0x10
    variable_per_view = 0x20
    variable_per_primitive = 0x40

cdef enum:                        # NirFlag: bits, of instructions
    nir_exact = 1                 # NoContraction: no rounding-changing rewrite
    nir_divergent = 2             # written by divergence analysis
    nir_no_signed_wrap = 4
    nir_no_unsigned_wrap = 8
    nir_pass_flag = 0x100         # scratch of one pass
    nir_convergent_uniform = 0x200

cdef enum:                        # Access: bits, of memory intrinsics and variables
    access_coherent = 1
    access_restrict = 2
    access_volatile = 4
    access_non_readable = 8       # "writeonly"
    access_non_writeable = 0x10   # "readonly"
    access_non_uniform = 0x20     # "non-uniform"; the descriptor may differ between lanes
    access_can_reorder = 0x40     # "reorderable"
    access_non_temporal = 0x80    # "non-temporal"
    access_atomic = 0x100         # an atomic load or store, which others may wait for
    access_is_swizzled_amd = 0x200    # "is-swizzled-amd"; the descriptor spreads an element over memory
    access_uses_format_amd = 0x400    # "uses-format-amd"; what is loaded is converted from the descriptor's format

cdef enum:                        # AtomicOperation: index_atomic_op
    atomic_iadd = 0
    atomic_imin = 1
    atomic_umin = 2
    atomic_imax = 3
    atomic_umax = 4
    atomic_iand = 5
    atomic_ior = 6
    atomic_ixor = 7
    atomic_xchg = 8
    atomic_fadd = 9
    atomic_fmin = 10
    atomic_fmax = 11
    atomic_cmpxchg = 12

cdef enum:                        # DescriptorKind: index_desc_type, values of VkDescriptorType
    descriptor_sampler = 0
    descriptor_texture_and_sampler = 1    # "texture+sampler"
    descriptor_texture = 2
    descriptor_image = 3
    descriptor_texture_buffer = 4         # "texture-buffer"
    descriptor_image_buffer = 5           # "image-buffer"
    descriptor_ubo = 6            # "UBO"
    descriptor_ssbo = 7           # "SSBO"
    descriptor_input_attachment = 10      # "input-att"

cdef enum:                        # NirScope: of barriers
    nir_scope_none = 0            # "NONE"
    nir_scope_invocation = 1      # "INVOCATION"
    nir_scope_subgroup = 2        # "SUBGROUP"
    nir_scope_workgroup = 4       # "WORKGROUP"
    nir_scope_queue_family = 5    # "QUEUE_FAMILY"
    nir_scope_device = 6          # "DEVICE"

cdef enum:                        # NirSemantic: bits, of barriers
    nir_semantic_acquire = 1      # "ACQ"
    nir_semantic_release = 2      # "REL"

cdef enum:                        # NodeKind: of control-flow nodes; node 0 is none, node 1 the function
    node_function = 1             # list 0: body
    node_block = 2
    node_if = 3                   # list 0: then, list 1: else; condition: a value of bit size 1
    node_loop = 4                 # list 0: body

cdef enum:                        # LoopControl: what the author of a loop asks for
    loop_control_none = 0
    loop_control_unroll = 1
    loop_control_dont_unroll = 2

cdef enum:                        # BaseType: what a type is
    type_void = 0
    type_int = 1                  # same numbers as in nir_opcodes.pxd
    type_uint = 2
    type_float = 3
    type_bool = 4
    type_struct = 5
    type_array = 6                # length 0: runtime sized
    type_pointer = 7              # physical pointer: a 64-bit integer; element is the type pointed to
    type_matrix = 8               # element: column vector type, length: columns
    type_opaque = 9
    type_sampler = 10             # a sampler alone
    type_texture = 11             # element: scalar type that sampling gives, void if not known; image_dim, image_flags
    type_sampled_image = 12       # a texture with its sampler; as type_texture
    type_image = 13               # a storage image; as type_texture

cdef enum:                        # ImageDim: numbered as Mesa's ``glsl_sampler_dim``
    image_1d = 0
    image_2d = 1
    image_3d = 2
    image_cube = 3
    image_rect = 4                # coordinates in texels
    image_buffer = 5              # "buf"
    image_external = 6
    image_ms = 7                  # several samples a texel
    image_subpass = 8             # input attachments
    image_subpass_ms = 9

cdef enum:                        # ImageFlag: bits, of types and texture instructions
    image_is_array = 1            # "array"
    image_is_shadow = 2           # "shadow"; compares with a reference

cdef enum:                        # ImageFormat: index_format, numbered as SPIR-V's Image Format; text has the short names of Mesa's formats
    image_format_unknown = 0  # "none"; the descriptor has it
    image_format_rgba32f = 1  # "r32g32b32a32_float"
    image_format_rgba16f = 2  # "r16g16b16a16_float"
    image_format_r32f = 3  # "r32_float"
    image_format_rgba8 = 4  # "r8g8b8a8_unorm"
    image_format_rgba8_snorm = 5  # "r8g8b8a8_snorm"
    image_format_rg32f = 6  # "r32g32_float"
    image_format_rg16f = 7  # "r16g16_float"
    image_format_r11f_g11f_b10f = 8  # "r11g11b10_float"
    image_format_r16f = 9  # "r16_float"
    image_format_rgba16 = 10  # "r16g16b16a16_unorm"
    image_format_rgb10_a2 = 11  # "r10g10b10a2_unorm"
    image_format_rg16 = 12  # "r16g16_unorm"
    image_format_rg8 = 13  # "r8g8_unorm"
    image_format_r16 = 14  # "r16_unorm"
    image_format_r8 = 15  # "r8_unorm"
    image_format_rgba16_snorm = 16  # "r16g16b16a16_snorm"
    image_format_rg16_snorm = 17  # "r16g16_snorm"
    image_format_rg8_snorm = 18  # "r8g8_snorm"
    image_format_r16_snorm = 19  # "r16_snorm"
    image_format_r8_snorm = 20  # "r8_snorm"
    image_format_rgba32i = 21  # "r32g32b32a32_sint"
    image_format_rgba16i = 22  # "r16g16b16a16_sint"
    image_format_rgba8i = 23  # "r8g8b8a8_sint"
    image_format_r32i = 24  # "r32_sint"
    image_format_rg32i = 25  # "r32g32_sint"
    image_format_rg16i = 26  # "r16g16_sint"
    image_format_rg8i = 27  # "r8g8_sint"
    image_format_r16i = 28  # "r16_sint"
    image_format_r8i = 29  # "r8_sint"
    image_format_rgba32ui = 30  # "r32g32b32a32_uint"
    image_format_rgba16ui = 31  # "r16g16b16a16_uint"
    image_format_rgba8ui = 32  # "r8g8b8a8_uint"
    image_format_r32ui = 33  # "r32_uint"
    image_format_rgb10_a2ui = 34  # "r10g10b10a2_uint"
    image_format_rg32ui = 35  # "r32g32_uint"
    image_format_rg16ui = 36  # "r16g16_uint"
    image_format_rg8ui = 37  # "r8g8_uint"
    image_format_r16ui = 38  # "r16_uint"
    image_format_r8ui = 39  # "r8_uint"
    image_format_r64ui = 40  # "r64_uint"
    image_format_r64i = 41  # "r64_sint"

cdef enum:                        # TextureFlag: bits, of texture instructions alone
    texture_is_sparse = 1         # "sparse"; the last component of the result says whether the texels are resident
    texture_implicit_lod = 2      # "implicit lod"; tg4 chooses its level as tex does
    texture_non_uniform = 4       # "texture non-uniform"; the texture may differ between lanes
    texture_sampler_non_uniform = 8       # "sampler non-uniform"
    texture_shadow_scalar = 0x10  # "scalar"; a comparison gives one component (Mesa: ``is_new_style_shadow``)
    texture_cube_face = 0x20      # "cube face"; coordinates are s, t and the number of a face, plus eight times the layer

cdef struct NirInstructions:
    Table table
    uint8_t *kind
    uint8_t *components           # of the result; 0: no result
    uint8_t *bit_size
    uint16_t *opcode
    uint16_t *flags
    SourceRow *source_first
    uint16_t *source_count
    uint32_t *data
    TypeId *type                  # derefs: type pointed to
    uint32_t *mode                # derefs: variable mode
    NodeId *block                 # the block that it is in; kept by ShaderRewrite

cdef struct Sources:
    Table table
    ValueId *value
    uint64_t *swizzle             # ALU: 4 bits per component; phi: NodeId of the predecessor block; tex: tex_source_*

cdef struct Textures:             # what texture instructions have beyond opcode and sources; see also nir/data/texture.txt
    Table table
    uint8_t *base                 # type_int, type_uint, type_float or type_bool: what the result is
    uint8_t *dim                  # image_1d ...
    uint8_t *image_flags          # image_is_*
    uint8_t *flags                # texture_*
    uint8_t *component            # tg4: which of each texel's components
    uint32_t *texture_index       # without a texture_deref or texture_handle
    uint32_t *sampler_index       # without a sampler_deref or sampler_handle
    uint64_t *offsets             # tg4: x and y of four texels, signed bytes from the lowest on; 0 none

cdef struct Constants:
    Table table
    uint64_t *value               # zero-extended bits of one component

cdef struct Indices:
    Table table
    int32_t *value

cdef struct Nodes:
    Table table
    uint8_t *kind
    NodeId *parent
    NodeId *previous
    NodeId *next
    NodeId *first0                # first and last node of list 0 (body, then)
    NodeId *last0
    NodeId *first1                # of list 1 (else)
    NodeId *last1
    ValueId *condition            # if
    OrderRow *order_first         # block
    uint32_t *order_count
    OrderRow *next_order_first    # the same in the order being written
    uint32_t *next_order_count
    BlockNumber *index            # block: set by nodes_index
    int32_t *immediate_dominator  # block: node, set by dominance
    uint8_t *divergent            # if, loop: set by divergence analysis (loop: some lanes may leave earlier)
    uint8_t *control              # loop: loop_control_*

cdef struct Types:
    Table table
    uint8_t *base
    uint8_t *bit_size
    uint8_t *components           # vectors
    uint8_t *row_major            # matrices in memory
    TypeId *element               # array, matrix, pointer, texture, image
    uint32_t *length              # array, matrix (columns)
    uint32_t *stride              # bytes: array, matrix (between columns, or rows when row_major); 0: none yet
    MemberRow *member_first       # struct
    uint32_t *member_count
    uint8_t *image_dim            # texture, sampled image, image: image_1d ...
    uint8_t *image_flags          # image_is_*

cdef struct Members:
    Table table
    TypeId *type
    uint32_t *offset              # bytes, 0xffffffff: none yet
    uint32_t *access

cdef struct Variables:
    Table table
    uint32_t *mode
    TypeId *type
    uint32_t *set                 # descriptor set
    uint32_t *binding
    uint32_t *location            # byte offset (shared, scratch, constant data), once assigned; inputs and outputs: slot
    uint32_t *builtin             # SPIR-V BuiltIn of system values
    uint32_t *access
    uint32_t *initializer         # 0 none; else row + 1 in Constants: components in depth-first order of the type
    uint32_t *flags               # variable_*
    uint8_t *interpolation
    uint8_t *component            # inputs, outputs: first component in the slot
    uint32_t *driver_location     # inputs, outputs: the slot that the driver chose

# Arguments that reach registers (the ABI); filled by the pass that declares them, read by instruction selection.
cdef enum:                        # ArgumentKind
    argument_scratch_address = 0
    argument_descriptor_set = 1   # detail: set
    argument_push_constants = 2
    argument_num_workgroups = 3
    argument_workgroup_id = 4     # detail: dimension
    argument_scratch_wave_offset = 5
    argument_local_ids = 6        # VGPRs; detail: 1 packed
    argument_inline_push_constant = 7

cdef struct Arguments:
    Table table
    uint32_t *kind
    uint32_t *detail
    uint32_t *first               # SGPR or VGPR number at wave start
    uint32_t *count               # dwords
    uint8_t *is_vgpr

cdef enum:                        # DerivativeGroup: which invocations derivatives of compute shaders are differences of
    derivatives_none = 0
    derivatives_quads = 1         # two by two invocations
    derivatives_linear = 2        # four invocations that follow each other

cdef enum:                        # bits of float_controls: what SPIR-V's float controls ask for, by bit size
    preserve_denorms16 = 1
    preserve_denorms32 = 2
    preserve_denorms64 = 4
    flush_denorms16 = 8
    flush_denorms32 = 0x10
    flush_denorms64 = 0x20
    preserve_special16 = 0x40     # signed zeros, infinities, NaN
    preserve_special32 = 0x80
    preserve_special64 = 0x100
    round_even16 = 0x200
    round_even32 = 0x400
    round_even64 = 0x800
    round_zero16 = 0x1000
    round_zero32 = 0x2000
    round_zero64 = 0x4000

cdef inline uint32_t mode_of_float_controls(uint32_t controls) noexcept nogil:
    """MODE's float bits: round 32, round 16/64, denormals 32, denormals 16/64 (two bits each).

    Without a request: round to nearest even; denormals of 32 bits are flushed, those of 16 and 64 kept, as keeping the former costs
    instructions and the latter is free. Halves and doubles share their bits: flushing, which a module may rely on, wins.
    """
    cdef uint32_t mode = 0
    if controls & round_zero32:
        mode |= 3
    if controls & (round_zero16 | round_zero64):
        mode |= 3 << 2
    if controls & preserve_denorms32:
        mode |= 3 << 4
    if not controls & (flush_denorms16 | flush_denorms64):
        mode |= 3 << 6
    return mode

cdef struct ShaderInfo:
    uint32_t stage                # stage_*
    uint32_t gfx_level
    uint32_t wave_size
    uint32_t workgroup_size[3]
    uint32_t shared_bytes
    uint32_t scratch_bytes
    uint32_t push_constant_bytes
    uint32_t address32_hi
    uint32_t derivative_group     # derivatives_*
    uint32_t float_controls       # bits: preserve_denorms16 ...
    uint32_t divergence_valid

cdef struct ShaderData:
    ShaderInfo info
    NirInstructions instructions
    Sources sources
    Constants constants
    Indices indices
    Nodes nodes
    Order order
    Order next_order
    Types types
    Members members
    Variables variables
    Arguments arguments
    Bytes constant_data           # load_constant reads here
    Textures textures
    SourceLines lines             # by instruction

# ------------------------------------------------------------------------------------------------------------- building
# Constructors: the instruction is in the tables but in no block yet; ``emitter.pxd`` also places it.
cdef ValueId nir_instruction_new(ShaderData *s, int kind, int opcode, int components, int bit_size,
                                 uint32_t source_count) except 0 nogil
cdef ValueId nir_constant(ShaderData *s, uint64_t value, int bit_size) except 0 nogil
cdef ValueId nir_constant_vector(ShaderData *s, const uint64_t *values, int components, int bit_size) except 0 nogil
# ALU with identity swizzles; components and bit size of the result follow the opcode's table and the operands.
cdef ValueId nir_alu_n(ShaderData *s, int opcode, const ValueId *values, uint32_t count) except 0 nogil
# Some components of a value, 4 bits of the swizzle each (a mov).
cdef ValueId nir_swizzle(ShaderData *s, ValueId value, uint64_t swizzle, int components) except 0 nogil
# One component of a vector as a scalar (the value itself when it is a scalar).
cdef ValueId nir_component(ShaderData *s, ValueId value, int component) except 0 nogil
# Several scalars as a vector; counts without a vecN opcode raise UnsupportedError.
cdef ValueId nir_vector(ShaderData *s, const ValueId *values, uint32_t count) except 0 nogil
# Whether an ALU opcode makes a vector of scalars.
cdef inline bint alu_is_vector(int opcode) noexcept nogil:
    return opcode in (alu_vec2, alu_vec3, alu_vec4, alu_vec5, alu_vec8, alu_vec16)

cdef ValueId nir_intrinsic_new(ShaderData *s, int intrinsic, int components, int bit_size,
                               const ValueId *values) except 0 nogil
cdef ValueId nir_undefined(ShaderData *s, int components, int bit_size) except 0 nogil
# Phis and derefs whose sources the caller sets (phi_set, source_set).
cdef ValueId nir_phi_new(ShaderData *s, int components, int bit_size, uint32_t source_count) except 0 nogil
cdef ValueId nir_deref_new(ShaderData *s, int opcode, int components, int bit_size, uint32_t source_count, uint32_t mode, TypeId type,
                           uint32_t data) except 0 nogil
# A texture instruction with a row in Textures of its own, which the caller fills in; `kinds` has a tex_source_* for each value.
cdef ValueId nir_tex_new(ShaderData *s, int opcode, int components, int bit_size, const ValueId *values, const uint8_t *kinds,
                         uint32_t count) except 0 nogil

cdef enum:
    identity_swizzle = 0xfedcba9876543210ULL

# The rows of an instruction's sources.
cdef inline RowRange sources_of(const ShaderData *s, ValueId instruction) noexcept nogil:
    return RowRange(s.instructions.source_first[instruction], s.instructions.source_count[instruction])

cdef inline ValueId source_value(const ShaderData *s, ValueId instruction, uint32_t source) noexcept nogil:
    return s.sources.value[s.instructions.source_first[instruction] + source]

cdef inline void source_set(ShaderData *s, ValueId instruction, uint32_t source, ValueId value) noexcept nogil:
    s.sources.value[s.instructions.source_first[instruction] + source] = value

cdef inline void phi_set(ShaderData *s, ValueId phi, uint32_t source, ValueId value, NodeId predecessor) noexcept nogil:
    s.sources.value[s.instructions.source_first[phi] + source] = value
    s.sources.swizzle[s.instructions.source_first[phi] + source] = predecessor

cdef inline uint64_t source_swizzle(const ShaderData *s, ValueId instruction, uint32_t source) noexcept nogil:
    return s.sources.swizzle[s.instructions.source_first[instruction] + source]

cdef inline uint32_t swizzle_component(uint64_t swizzle, uint32_t component) noexcept nogil:
    return <uint32_t>(swizzle >> (4 * component)) & 0xf

# An index of an intrinsic by kind (index_*), and its setter.
cdef int32_t intrinsic_index(const ShaderData *s, ValueId instruction, int index) noexcept nogil
cdef void intrinsic_set_index(ShaderData *s, ValueId instruction, int index, int32_t value) noexcept nogil
cdef bint intrinsic_has_index(const ShaderData *s, ValueId instruction, int index) noexcept nogil

# Whether a source is a load_const; its bits of one component (through the swizzle of an ALU source).
cdef inline bint value_is_constant(const ShaderData *s, ValueId value) noexcept nogil:
    return s.instructions.kind[value] == nir_load_const

cdef inline uint64_t constant_bits(const ShaderData *s, ValueId value, uint32_t component) noexcept nogil:
    return s.constants.value[s.instructions.data[value] + component]

# ----------------------------------------------------------------------------------------------------------- control flow
# A new unlinked node; a new if or loop has one empty block in each list.
cdef NodeId node_new(ShaderData *s, int kind) except 0 nogil
# Link `node` after its sibling `after`; unlink a node from its list.
cdef void node_insert_after(ShaderData *s, NodeId node, NodeId after) noexcept nogil
cdef void node_remove(ShaderData *s, NodeId node) noexcept nogil
# Next node of a depth-first walk over all nodes of the function; 0 at the end.
cdef NodeId node_walk_next(const ShaderData *s, NodeId node) noexcept nogil
# Next block in program order; 0 at the end. Start with node_first_block.
cdef NodeId node_first_block(const ShaderData *s) noexcept nogil
cdef NodeId block_walk_next(const ShaderData *s, NodeId block) noexcept nogil
# Number the blocks in program order (Nodes.index); returns their count.
cdef uint32_t nodes_index(ShaderData *s) noexcept nogil

cdef struct ShaderRewrite:
    ShaderData *shader
    NodeId block

# Every block that stays must be written between begin and end, each as one run, in any order. A block made during the
# rewrite (node_new) may be written too. Blocks that are not written end up empty.
cdef int shader_rewrite_begin(ShaderRewrite *rewrite, ShaderData *shader) except -1 nogil
cdef int shader_rewrite_block(ShaderRewrite *rewrite, NodeId block) except -1 nogil
cdef int shader_rewrite_end(ShaderRewrite *rewrite) except -1 nogil

cdef inline int shader_rewrite_emit(ShaderRewrite *rewrite, ValueId instruction) except -1 nogil:
    cdef ShaderData *s = rewrite.shader
    table_reserve(&s.next_order.table, 1)
    s.next_order.instruction[s.next_order.table.count] = instruction
    s.next_order.table.count += 1
    s.instructions.block[instruction] = rewrite.block
    return 0

# Types are hashed by the caller if wanted; two equal types may have two ids.
cdef TypeId type_new(ShaderData *s, int base, int bit_size, int components) except? 0xffffffffU nogil
cdef VariableId variable_new(ShaderData *s, int mode, TypeId type) except? 0xffffffffU nogil

cdef class Shader:
    """Owner of a ``ShaderData``; Python sees its columns as NumPy arrays."""
    cdef ShaderData data
    cdef readonly Metadata facts          # entry, stage, source_sha1; abi once arguments are declared
    cdef ModuleFacts unnamed              # what is to make the names; None: made
    cdef dict _variable_names             # variable -> name
    cdef dict _member_names               # (type, member) -> name
    cdef dict _type_names                 # struct type -> name
    cdef int make_names(self) except -1
    cdef bint editable
