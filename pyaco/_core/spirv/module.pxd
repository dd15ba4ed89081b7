"""A SPIR-V module while it is being read: the data sheet of the reader.

Everything is addressed by id, block or row, in columns; nothing is an object per instruction. Columns by id have
``bound`` elements of zeroed memory, so an id bound that is far above what the module uses costs address space only.

Throughout the room, ``word`` is the position of an instruction's first word in the module, ``end`` the position after its last word and
``cursor`` a position in between. ``r`` is the reader and ``r.s`` the shader being built.

Thread safety: a Reader belongs to one thread.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.ir.emitter cimport Emitter
from pyaco._core.ir.shader cimport NodeId, Shader, ShaderData, TypeId, ValueId, VariableId
from pyaco._core.ir.source_lines cimport CurrentLine

# ---------------------------------------------------------------------------------------------------------- index spaces
# Ids of NIR (ValueId, NodeId, TypeId, VariableId) are those of the shader being built; a type that the module declares has both a SpirvId and
# a TypeId.
ctypedef uint32_t SpirvId         # an id of the module, below Reader.bound; 0 is none
ctypedef uint32_t ConstantId      # row in Reader.constants
ctypedef uint32_t FunctionId      # row in Reader.functions
ctypedef uint32_t BlockId         # row in Reader.blocks: a block of the module, where a NodeId is a block of NIR
ctypedef uint32_t LabelId         # row in Reader.labels; 0 is none
ctypedef uint32_t TreeId          # row in Reader.trees: the first element of a composite
ctypedef uint32_t AnyValue        # a value of any type: the ValueId of a scalar, vector or pointer, the TreeId of a composite

cdef enum:                        # what an id is (Reader.kind); payload in brackets
    kind_none = 0
    kind_type = 1                 # [TypeId]
    kind_constant = 2             # [ConstantId]
    kind_ssa = 3                  # [ValueId: scalar, vector or pointer]
    kind_tree = 4                 # [TreeId: an array, matrix or struct]
    kind_buffer = 5               # [row of Reader.buffer_pointers: a descriptor not yet chosen]
    kind_builtin = 6              # [BuiltIn | (component + 1) << 16]
    kind_function = 7             # [FunctionId]
    kind_label = 8                # [BlockId]
    kind_instruction_set = 9      # [instruction_set_*]
    kind_string = 10
    kind_group = 11               # decoration group
    kind_variable = 12            # module-scope variable that no function has named yet
    kind_void = 13                # result of a call of a void function
    kind_opaque = 14              # variable of an opaque type; using it is an error
    kind_texel = 15               # [row of Reader.texels]

cdef enum:
    instruction_set_other = 0     # an error where it is used
    instruction_set_glsl = 1
    instruction_set_ignored = 2   # NonSemantic.*
    instruction_set_debug = 3     # NonSemantic.Shader.DebugInfo.100: ignored but for its lines
    instruction_set_trinary = 4   # SPV_AMD_shader_trinary_minmax
    instruction_set_gcn = 5       # SPV_AMD_gcn_shader
    instruction_set_ballot = 6    # SPV_AMD_shader_ballot
    instruction_set_literals = 7  # DebugInfo, OpenCL.DebugInfo.100: ignored; unlike those of all other sets, operands are literals too

cdef enum:                        # TypeFacts.block_decoration
    decorated_block = 1           # Block
    decorated_buffer_block = 2    # BufferBlock: a storage buffer in storage class Uniform, before SPIR-V 1.3

cdef enum:
    no_member = 0xffffffffU
    maximum_bound = 4194304       # universal limit of SPIR-V
    maximum_type_depth = 255
    maximum_leaves = 65536        # of a value that is loaded, stored or copied whole
    unbounded_leaves = 0x7fffffff  # of a type that has a runtime array or a pointer to a buffer in it, or more than can be counted
    maximum_nesting = 400         # structured constructs and calls inside one another
    maximum_instructions = 4000000  # of a shader after inlining
    maximum_phi_steps = 20000000
    maximum_scan_steps = 20000000

cdef struct Decoration:
    uint32_t word                 # of the decoration number
    uint32_t member               # no_member: of the id itself
    SpirvId group                 # a decoration group whose decorations apply, else 0
    uint32_t next                 # row + 1 of the id's next decoration

cdef struct TypeFacts:            # parallel to the shader's Types
    SpirvId id                    # 0: made by the reader
    uint32_t storage_class        # pointers
    uint32_t depth                # of nesting, 1 for scalars and vectors
    uint32_t block_decoration     # structs: decorated_*, else 0
    uint64_t leaves               # scalars and vectors in it, at most unbounded_leaves
    uint32_t image_format         # storage images: image_format_*
    uint32_t untyped              # pointers that do not say what they point to (their element is a byte)
    uint32_t float_encoding       # floats that NIR has no types for, which are integers there: cmat_bf16 ... + 1
    uint32_t matrix_rows          # cooperative matrices, which are arrays of the elements that a lane has: not 0
    uint32_t matrix_columns
    uint32_t matrix_use           # CooperativeMatrixUse_*

cdef struct Constant:
    TypeId type
    uint32_t kind                 # constant_*
    uint64_t bits                 # scalar
    uint32_t first                # composite: the row in Reader.constant_children of its first element
    uint32_t built_value          # AnyValue + 1, 0 until the constant is first used

cdef enum:
    constant_scalar = 0
    constant_composite = 1
    constant_null = 2
    constant_undef = 3

cdef struct BufferPointer:
    SpirvId variable
    TypeId type                   # what it points to: an array of blocks, or a block
    ValueId index                 # of the descriptor, flattened; 0 stands for index zero
    uint32_t access               # access_*

cdef struct Texel:                # what OpImageTexelPointer points to
    ValueId image                 # a deref
    ValueId coordinate            # four components
    ValueId sample
    TypeId type                   # a scalar

cdef struct Function:
    SpirvId id
    uint32_t word                 # of OpFunction
    BlockId first_block
    uint32_t block_count
    uint32_t first_parameter      # rows of Reader.parameters
    uint32_t parameter_count
    uint32_t return_values        # OpReturnValue instructions in it
    uint32_t active               # being inlined now
    uint32_t has_joins            # Block.first_join of its blocks is known

cdef struct Block:
    SpirvId id
    uint32_t word                 # first instruction after OpLabel
    uint32_t terminator           # word of the terminator
    uint32_t merge                # word of the merge instruction, 0 none
    FunctionId function
    LabelId label                 # of the innermost open construct that has this block as a label, 0 none
    uint32_t visited              # serial of the inlined call that read it
    uint32_t has_phi
    uint32_t first_join           # row + 1 of Reader.joins, 0 none: blocks that this one dominates, where its paths meet; the last first

cdef struct Join:                 # a block where paths meet that no merge instruction declares
    BlockId block
    uint32_t next                 # row + 1 of Reader.joins, 0 none

cdef struct EntryPoint:
    uint32_t word
    uint32_t model
    SpirvId function
    uint32_t name                 # word of its string

cdef struct Exit:                 # a path on its way to a label
    LabelId label
    NodeId block                  # in which the path ends: last of its list, without a jump
    uint32_t flagged              # the label's flag is set on the path

cdef struct Label:
    BlockId block                 # 0xffffffff: end of the function
    ValueId flag                  # deref of a variable: control is on its way to the label; 0: not needed so far
    NodeId init_block             # the flag is initialised to false in this block of NIR,
    ValueId init_after            # after this instruction
    NodeId loop                   # NIR loop whose breaks lead to the label, 0 none
    LabelId previous              # label of the same block in an outer construct

cdef struct Call:                 # an inlined call, or the entry point
    uint32_t serial
    FunctionId function
    LabelId end                   # the function's end
    ValueId return_variable       # deref, 0: the function has no more than one OpReturnValue
    AnyValue return_value         # of the last OpReturnValue that was read

cdef struct BuiltinValue:         # a built-in that the prologue loads, once
    uint32_t builtin              # BuiltIn
    ValueId value

cdef struct NamedVariable:        # a variable of NIR and where its name is found
    VariableId variable
    SpirvId id

cdef enum:                        # DescriptorKind
    descriptor_kind_ubo
    descriptor_kind_ssbo
    descriptor_kind_sampler
    descriptor_kind_texture
    descriptor_kind_sampled_image
    descriptor_kind_image
    descriptor_kind_texture_buffer
    descriptor_kind_image_buffer

cdef struct ReflectedBinding:     # what variables say of a binding
    uint32_t set
    uint32_t binding
    uint32_t kinds                # a bit for each descriptor_kind_*
    uint32_t count                # descriptors; 0 as many as there are

# The NIR that is being written. A block's order is a linked list until all is read, because instructions may be added before others
# later on; ``repair`` writes it to the shader.
cdef cppclass BlockLists(Emitter):
    NodeId block                      # the current one; 0: the prologue, which goes before the first block
    vector[ValueId] next_instruction  # by instruction
    vector[ValueId] block_head        # by node
    vector[ValueId] block_tail

cdef class Reader:
    cdef Shader shader
    cdef ShaderData *s
    cdef bytes owner              # keeps the words alive
    cdef const uint32_t *words
    cdef uint32_t word_count
    cdef uint32_t bound
    cdef uint32_t version
    cdef uint32_t memory_model
    # columns by id
    cdef uint32_t *offset         # word of the defining instruction, 0: undefined
    cdef uint8_t *kind
    cdef uint32_t *payload
    cdef uint32_t *decorations    # row + 1 of Reader.decoration_rows
    cdef uint32_t *name           # word of its name
    cdef ValueId *deref_of        # OpPhi: deref of the variable that it became; buffer variables: deref of the block
    # rows
    cdef vector[Decoration] decoration_rows
    cdef vector[TypeFacts] types
    cdef vector[Constant] constants
    cdef vector[ConstantId] constant_children
    cdef vector[AnyValue] trees             # elements of composites; those of one composite are neighbours
    cdef vector[BufferPointer] buffer_pointers
    cdef vector[Texel] texels
    cdef vector[Function] functions
    cdef vector[SpirvId] parameters
    cdef vector[Block] blocks
    cdef vector[Join] joins
    cdef vector[EntryPoint] entries
    cdef vector[uint32_t] execution_modes   # words
    cdef bint gathers_have_levels           # of detail, as samples have them (ImageGatherBiasLodAMD)
    cdef vector[uint32_t] names             # words of OpName and OpMemberName
    cdef vector[SpirvId] module_variables
    cdef vector[SpirvId] spec_constants
    cdef vector[Exit] exits
    cdef vector[Label] labels
    cdef vector[ConstantId] scratch         # of the function that uses it
    # emission
    cdef BlockLists nir
    cdef uint32_t word                      # instruction that is being read
    cdef Call call                          # whose function is being read
    cdef uint32_t calls                     # inlined so far, with the entry point
    cdef uint32_t nesting                   # constructs and calls that are open
    cdef NodeId current_loop                # innermost NIR loop
    cdef uint32_t loop_breaks               # breaks out of it so far
    cdef ValueId true_value
    cdef ValueId false_value
    cdef uint32_t switch_serial             # of the switch being read
    cdef uint32_t switch_serials
    cdef vector[uint32_t] case_serial       # by BlockId: the last switch that saw the block
    cdef vector[uint32_t] case_of_block     # by BlockId: case + 1 of that switch, 0: inside a case
    cdef uint64_t phi_steps                 # work spent on phis, and on switches and joins, which is limited
    cdef uint64_t scan_steps
    cdef SpirvId workgroup_constant         # decorated WorkgroupSize, 0 none
    cdef vector[BuiltinValue] builtin_values
    cdef ValueId[64] small_integers         # 32-bit constants that exist already
    cdef vector[uint8_t] deref_access       # access_* by ValueId of a deref
    cdef vector[NamedVariable] named_variables
    cdef vector[SpirvId] zeroed_workgroup   # Workgroup variables that start as zero
    cdef TypeId uint_type                   # types that the reader itself needs
    cdef TypeId uint3_type
    cdef TypeId bool_type
    cdef object specialization              # values that the user gives, by SpecId, or None
    cdef bint has_matrices                  # the module declares cooperative matrix types, be they supported or not,
    cdef bint has_small_floats              # or floats that NIR has no types for
    cdef int32_t[3] fast_math               # FPFastMathDefault of floats of 16, 32, 64 bits; -1 none
    cdef TypeId byte_type
    cdef TypeId[5] word_vectors             # uint types by components, 0: not made yet
    cdef set specialization_used            # SpecIds of the module that it has
    cdef vector[ReflectedBinding] bindings  # in order, each binding once, when all variables have been read
    cdef CurrentLine line                   # of source, that the instruction being read comes from

# Raises InputError with the word; `text` may have one %u, for `value`.
cdef int fail(Reader r, uint32_t word, const char *text, uint32_t value=*) except -1 nogil
cdef int unsupported(Reader r, uint32_t word, const char *text, const char *detail=*) except -1 nogil
# Raises UnsupportedError with the name of an enumerant of a kind (spirv_kind_*), or InputError where no enumerant has that value.
cdef int unsupported_enumerant(Reader r, uint32_t word, const char *text, int kind, uint32_t value) except -1 nogil
cdef inline uint32_t opcode_at(Reader r, uint32_t word) noexcept nogil:
    return r.words[word] & 0xffff

cdef inline uint32_t length_at(Reader r, uint32_t word) noexcept nogil:
    return r.words[word] >> 16

# The result type of the instruction that defines `id`; 0 when it has none.
cdef SpirvId result_type_of(Reader r, SpirvId id) noexcept nogil
# The NIR type of an id; an error when the id is not a type.
cdef TypeId type_of_id(Reader r, SpirvId id) except 0xffffffffU nogil
# Word of the first operand of a decoration of `id` (or of its member), 0 when `id` does not have the decoration. For a decoration without
# operands it is the word after it.
cdef uint32_t decoration_of(Reader r, SpirvId id, uint32_t member, uint32_t decoration) noexcept nogil
cdef str string_at(Reader r, uint32_t word)
# The same in the words of a module.
cdef str string_in(bytes words, uint32_t word)
# Whether an instruction is an OpExtInst of a set that may be ignored.
cdef bint is_non_semantic(Reader r, uint32_t word) noexcept nogil
# Called for every module-scope type, constant and variable, in order.
ctypedef int (*Declare)(Reader r, uint32_t word, uint32_t end) except -1 nogil
# Checks the shape of every instruction and fills the module's tables.
cdef int scan_words(Reader r, Declare declare) except -1 nogil
