"""NIR as columns: the data sheet of a shader between the SPIR-V reader and instruction selection.

SSA with structured control flow, one function (calls are inlined by the reader). Every instruction has at most one
result, so *an instruction's id is the id of its SSA value*; id 0 means "none". Semantics of opcodes and intrinsics are
those of Mesa's NIR (``docs/nir``); booleans have bit size 1 and are 0 or 1 in constants.

Control flow is a tree of nodes (block, if, loop) linked as siblings. As in Mesa: every list begins and ends with a
block, ifs and loops stand between blocks, a jump is the last instruction of its block, phis are the first. Loops have no
continue construct (the reader lowers it): a loop's list runs again from its first block until a break.

A pass reads a block's order and writes a new one (``ShaderRewrite``), or edits sources in place. Thread safety: a
shader belongs to one thread at a time.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.common.table cimport Table
from pyaco._core.ir.program cimport Bytes, Order

cdef enum:                        # instruction kinds
    nir_alu = 1                   # opcode alu_*; sources with swizzles
    nir_deref = 2                 # opcode deref_*; the result is a pointer
    nir_load_const = 3            # data: first row in Constants, one per component
    nir_undef = 4
    nir_phi = 5                   # a source per predecessor; Sources.swizzle holds the predecessor's block node
    nir_intrinsic = 6             # opcode intrinsic_*; data: first row in Indices
    nir_jump = 7                  # opcode jump_*

cdef enum:
    jump_return = 0
    jump_halt = 1
    jump_break = 2
    jump_continue = 3

cdef enum:                        # derefs: `type` is the type pointed to, `mode` the variable mode
    deref_var = 0                 # data: variable
    deref_array = 1               # sources: parent, index
    deref_array_wildcard = 2
    deref_ptr_as_array = 3        # sources: parent, index; the stride is the parent's (cast's) pointer stride
    deref_struct = 4              # sources: parent; data: member
    deref_cast = 5                # sources: value; data: pointer stride in bytes

cdef enum:                        # variable modes
    mode_function_temp = 1
    mode_shader_temp = 2          # Private
    mode_shared = 4
    mode_ubo = 8
    mode_ssbo = 0x10
    mode_push_constant = 0x20
    mode_global = 0x40            # physical storage buffer
    mode_system_value = 0x80
    mode_constant = 0x100         # constant initialised, read-only tables
    mode_uniform = 0x200          # opaque: images, samplers

cdef enum:                        # instruction flags
    nir_exact = 1                 # NoContraction: no rounding-changing rewrite
    nir_divergent = 2             # written by divergence analysis
    nir_no_signed_wrap = 4
    nir_no_unsigned_wrap = 8
    nir_pass_flag = 0x100         # scratch of one pass
    nir_convergent_uniform = 0x200

cdef enum:                        # access of memory intrinsics and variables
    access_coherent = 1
    access_restrict = 2
    access_volatile = 4
    access_non_readable = 8
    access_non_writeable = 0x10
    access_non_uniform = 0x20     # the descriptor may differ between lanes
    access_can_reorder = 0x40
    access_non_temporal = 0x80

cdef enum:                        # index_atomic_op
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

cdef enum:                        # index_desc_type
    descriptor_ubo = 6            # values of VkDescriptorType
    descriptor_ssbo = 7

cdef enum:                        # scopes of barriers
    nir_scope_none = 0
    nir_scope_invocation = 1
    nir_scope_subgroup = 2
    nir_scope_workgroup = 4
    nir_scope_queue_family = 5
    nir_scope_device = 6

cdef enum:                        # memory semantics of barriers
    nir_semantic_acquire = 1
    nir_semantic_release = 2

cdef enum:                        # control-flow nodes; node 0 is none, node 1 the function
    node_function = 1             # list 0: body
    node_block = 2
    node_if = 3                   # list 0: then, list 1: else; condition: a value of bit size 1
    node_loop = 4                 # list 0: body

cdef enum:                        # base types
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

cdef struct NirInstructions:
    Table table
    uint8_t *kind
    uint8_t *components           # of the result; 0: no result
    uint8_t *bit_size
    uint16_t *opcode
    uint16_t *flags
    uint32_t *source_first        # row in Sources
    uint16_t *source_count
    uint32_t *data
    uint32_t *type                # derefs: type pointed to
    uint32_t *mode                # derefs: variable mode
    uint32_t *block               # node of the block it stands in; kept by ShaderRewrite

cdef struct Sources:
    Table table
    uint32_t *value               # instruction id
    uint64_t *swizzle             # ALU: 4 bits per component; phi: node of the predecessor block

cdef struct Constants:
    Table table
    uint64_t *value               # zero-extended bits of one component

cdef struct Indices:
    Table table
    int32_t *value

cdef struct Nodes:
    Table table
    uint8_t *kind
    uint32_t *parent
    uint32_t *previous
    uint32_t *next
    uint32_t *first0              # first and last node of list 0 (body, then)
    uint32_t *last0
    uint32_t *first1              # of list 1 (else)
    uint32_t *last1
    uint32_t *condition           # if: value
    uint32_t *order_first         # block: rows in Order
    uint32_t *order_count
    uint32_t *next_order_first    # the same in the order being written
    uint32_t *next_order_count
    uint32_t *index               # block: position in program order, set by nodes_index
    int32_t *immediate_dominator  # block: node, set by dominance
    uint8_t *divergent            # if, loop: set by divergence analysis (loop: some lanes may leave earlier)

cdef struct Types:
    Table table
    uint8_t *base
    uint8_t *bit_size
    uint8_t *components           # vectors
    uint8_t *row_major            # matrices in memory
    uint32_t *element             # array, matrix, pointer
    uint32_t *length              # array, matrix (columns)
    uint32_t *stride              # bytes: array, matrix (between columns, or rows when row_major); 0: none yet
    uint32_t *member_first        # struct: row in Members
    uint32_t *member_count

cdef struct Members:
    Table table
    uint32_t *type
    uint32_t *offset              # bytes, 0xffffffff: none yet
    uint32_t *access

cdef struct Variables:
    Table table
    uint32_t *mode
    uint32_t *type
    uint32_t *set                 # descriptor set
    uint32_t *binding
    uint32_t *location            # byte offset (shared, scratch, constant data), once assigned
    uint32_t *builtin             # SPIR-V BuiltIn of system values
    uint32_t *access
    uint32_t *initializer         # 0 none; else row + 1 in Constants: components in depth-first order of the type
    uint32_t *flags               # 1: alive

# Arguments that reach registers (the ABI); filled by the pass that declares them, read by instruction selection.
cdef enum:
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

cdef struct ShaderInfo:
    uint32_t gfx_level
    uint32_t wave_size
    uint32_t workgroup_size[3]
    uint32_t shared_bytes
    uint32_t scratch_bytes
    uint32_t push_constant_bytes
    uint32_t address32_hi
    uint32_t uses_subgroups       # full subgroups needed
    uint32_t float_controls       # bit set: preserve 16/32/64 =1,2,4; flush =8,16,32; preserve signed zero inf nan
                                  # =64,128,256; round to even =512,1024,2048; round to zero =4096,8192,16384
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

# ------------------------------------------------------------------------------------------------------------- building
cdef uint32_t nir_instruction_new(ShaderData *s, int kind, int opcode, int components, int bit_size,
                                  uint32_t source_count) except 0 nogil
cdef uint32_t nir_constant(ShaderData *s, uint64_t value, int bit_size) except 0 nogil
cdef uint32_t nir_constant_vector(ShaderData *s, const uint64_t *values, int components, int bit_size) except 0 nogil
# ALU with identity swizzles; components and bit size of the result follow the opcode's table and the operands.
cdef uint32_t nir_alu1(ShaderData *s, int opcode, uint32_t a) except 0 nogil
cdef uint32_t nir_alu2(ShaderData *s, int opcode, uint32_t a, uint32_t b) except 0 nogil
cdef uint32_t nir_alu3(ShaderData *s, int opcode, uint32_t a, uint32_t b, uint32_t c) except 0 nogil
cdef uint32_t nir_alu_n(ShaderData *s, int opcode, const uint32_t *values, uint32_t count) except 0 nogil
# One component of a vector as a scalar (a mov with a swizzle; the value itself when it is a scalar).
cdef uint32_t nir_component(ShaderData *s, uint32_t value, int component) except 0 nogil
# Several scalars as a vector; counts without a vecN opcode raise UnsupportedError.
cdef uint32_t nir_vector(ShaderData *s, const uint32_t *values, uint32_t count) except 0 nogil
cdef uint32_t nir_intrinsic_new(ShaderData *s, int intrinsic, int components, int bit_size,
                                const uint32_t *values) except 0 nogil
cdef uint32_t nir_undefined(ShaderData *s, int components, int bit_size) except 0 nogil

cdef enum:
    identity_swizzle = 0xfedcba9876543210ULL

cdef inline uint32_t source_value(const ShaderData *s, uint32_t instruction, uint32_t source) noexcept nogil:
    return s.sources.value[s.instructions.source_first[instruction] + source]

cdef inline void source_set(ShaderData *s, uint32_t instruction, uint32_t source, uint32_t value) noexcept nogil:
    s.sources.value[s.instructions.source_first[instruction] + source] = value

cdef inline uint64_t source_swizzle(const ShaderData *s, uint32_t instruction, uint32_t source) noexcept nogil:
    return s.sources.swizzle[s.instructions.source_first[instruction] + source]

cdef inline uint32_t swizzle_component(uint64_t swizzle, uint32_t component) noexcept nogil:
    return <uint32_t>(swizzle >> (4 * component)) & 0xf

# An index of an intrinsic by kind (index_*), and its setter.
cdef int32_t intrinsic_index(const ShaderData *s, uint32_t instruction, int index) noexcept nogil
cdef void intrinsic_set_index(ShaderData *s, uint32_t instruction, int index, int32_t value) noexcept nogil
cdef bint intrinsic_has_index(const ShaderData *s, uint32_t instruction, int index) noexcept nogil

# Whether a source is a load_const; its bits of one component (through the swizzle of an ALU source).
cdef inline bint value_is_constant(const ShaderData *s, uint32_t value) noexcept nogil:
    return s.instructions.kind[value] == nir_load_const

cdef inline uint64_t constant_bits(const ShaderData *s, uint32_t value, uint32_t component) noexcept nogil:
    return s.constants.value[s.instructions.data[value] + component]

# ----------------------------------------------------------------------------------------------------------- control flow
# A new unlinked node; ifs and loops are born with one empty block in each list.
cdef uint32_t node_new(ShaderData *s, int kind) except 0 nogil
# Link `node` after `after` (a sibling); unlink it; the list it stands in is found through its parent.
cdef void node_insert_after(ShaderData *s, uint32_t node, uint32_t after) noexcept nogil
cdef void node_remove(ShaderData *s, uint32_t node) noexcept nogil
# Next node of a depth-first walk over all nodes of the function; 0 at the end.
cdef uint32_t node_walk_next(const ShaderData *s, uint32_t node) noexcept nogil
# Next block in program order; 0 at the end. Start with node_first_block.
cdef uint32_t node_first_block(const ShaderData *s) noexcept nogil
cdef uint32_t block_walk_next(const ShaderData *s, uint32_t block) noexcept nogil
# Number the blocks in program order (Nodes.index); returns their count.
cdef uint32_t nodes_index(ShaderData *s) noexcept nogil

cdef struct ShaderRewrite:
    ShaderData *shader
    uint32_t block

# Every block that stays must be written between begin and end, each as one run, in any order. A block made during the
# rewrite (node_new) may be written too. Blocks that are not written end up empty.
cdef int shader_rewrite_begin(ShaderRewrite *rewrite, ShaderData *shader) except -1 nogil
cdef int shader_rewrite_block(ShaderRewrite *rewrite, uint32_t block) except -1 nogil
cdef int shader_rewrite_emit(ShaderRewrite *rewrite, uint32_t instruction) except -1 nogil
cdef int shader_rewrite_end(ShaderRewrite *rewrite) except -1 nogil

# Types are hashed by the caller if wanted; two equal types may have two ids.
cdef uint32_t type_new(ShaderData *s, int base, int bit_size, int components) except? 0xffffffffU nogil
cdef uint32_t variable_new(ShaderData *s, int mode, uint32_t type) except? 0xffffffffU nogil

cdef class Shader:
    """Owner of a ``ShaderData``; Python sees its columns as NumPy arrays."""
    cdef ShaderData data
    cdef readonly dict metadata           # entry, stage, source_sha1; abi once arguments are declared
    cdef readonly dict variable_names     # variable -> name
    cdef readonly dict member_names       # (type, member) -> name
    cdef readonly dict type_names         # struct type -> name
    cdef bint editable
