"""A SPIR-V module while it is being read: the data sheet of the reader.

Everything is addressed by id, block index or row, in columns; nothing is an object per instruction. Columns by id have
``bound`` elements of zeroed memory, so an id bound that is far above what the module uses costs address space only.

Thread safety: a Reader belongs to one thread.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.ir.emitter cimport Emitter
from pyaco._core.ir.shader cimport NodeId, Shader, ShaderData, ValueId

cdef enum:                        # what an id is (Reader.kind); payload in brackets
    kind_none = 0
    kind_type = 1                 # [row of the shader's Types]
    kind_constant = 2             # [row of Reader.constants]
    kind_ssa = 3                  # [NIR value: scalar, vector or physical pointer]
    kind_tree = 4                 # [first row of Reader.trees: an array, matrix or struct as values]
    kind_pointer = 5              # [NIR deref]
    kind_blocks = 6               # [row of Reader.block_pointers: descriptors not yet chosen]
    kind_builtin = 7              # [BuiltIn | (component + 1) << 16]
    kind_function = 8             # [row of Reader.functions]
    kind_label = 9                # [row of Reader.blocks]
    kind_instruction_set = 10     # [instruction_set_*]
    kind_string = 11
    kind_group = 12               # decoration group
    kind_variable = 13            # module-scope variable that no function has named yet
    kind_void = 14                # result of a call of a void function
    kind_opaque = 15              # variable or value of a type that only an error can name

cdef enum:
    instruction_set_other = 0     # an error where it is used
    instruction_set_glsl = 1
    instruction_set_ignored = 2   # NonSemantic.*

cdef enum:
    no_member = 0xffffffffU
    maximum_bound = 4194304       # universal limit of SPIR-V
    maximum_type_depth = 255
    maximum_leaves = 65536        # of a value that is loaded, stored or copied whole
    maximum_nesting = 400         # structured constructs and calls inside one another
    maximum_instructions = 4000000  # of a shader after inlining

cdef struct Decoration:
    uint32_t word                 # of the decoration number
    uint32_t operands             # words after the decoration number
    uint32_t member               # no_member: of the id itself
    uint32_t group                # an id whose decorations apply, else 0
    uint32_t next                 # row + 1

cdef struct TypeFacts:            # parallel to the shader's Types
    uint32_t id                   # 0: made by the reader
    uint32_t storage_class        # pointers
    uint32_t depth
    uint32_t is_block             # 1 Block, 2 BufferBlock
    uint64_t leaves               # vectors and scalars in it, saturating; a runtime array counts as endless

cdef struct ConstantRow:
    uint32_t type
    uint32_t kind                 # constant_*
    uint64_t bits                 # scalar
    uint32_t first                # composite: rows of Reader.constant_children
    uint32_t count
    uint32_t value                # once built: NIR value, or tree + 1
    uint32_t is_spec

cdef enum:
    constant_scalar = 0
    constant_composite = 1
    constant_null = 2
    constant_undef = 3

cdef struct BlockPointer:
    uint32_t variable             # id of the OpVariable
    uint32_t type                 # what is left: array of blocks, or a block
    uint32_t index                # NIR value of the flattened index, 0: zero
    uint32_t access

cdef struct FunctionRow:
    uint32_t id
    uint32_t word                 # of OpFunction
    uint32_t type                 # id of the OpTypeFunction
    uint32_t first_block
    uint32_t block_count
    uint32_t first_parameter      # rows of Reader.parameters
    uint32_t parameter_count
    uint32_t return_values        # OpReturnValue instructions in it
    uint32_t active               # being inlined now

cdef struct BlockRow:
    uint32_t id
    uint32_t word                 # first instruction after OpLabel
    uint32_t terminator           # word of the terminator
    uint32_t merge                # word of the merge instruction, 0 none
    uint32_t function
    uint32_t label                # label of an open construct, 0 none
    uint32_t visited              # serial of the inlined call that read it
    uint32_t has_phi

cdef struct EntryRow:
    uint32_t word
    uint32_t model
    uint32_t function             # id
    uint32_t name                 # word of its string

cdef struct Exit:                 # a place from which control goes on to a label
    uint32_t label
    uint32_t block                # NIR block, last of its list, without a jump
    uint32_t flagged              # the label's flag is set on the way

cdef struct Label:
    uint32_t block                # SPIR-V block, 0xffffffff: end of the function
    uint32_t flag                 # variable deref, 0: not needed so far
    uint32_t init_block           # where the flag starts as false: after this instruction of this NIR block
    uint32_t init_after
    uint32_t loop                 # NIR loop that the label is the end (break) of, 0 none
    uint32_t previous             # label of the same block in an outer construct

# The NIR that is being written. The order of a block is a list until all is read, since what comes late may belong early; ``repair``
# writes it to the shader.
cdef cppclass BlockLists(Emitter):
    NodeId block                      # the current one; 0: the prologue, placed before the first block
    vector[ValueId] next_instruction  # by instruction
    vector[ValueId] block_head        # by node
    vector[ValueId] block_tail

cdef class Reader:
    cdef Shader shader
    cdef ShaderData *s
    cdef object owner             # keeps the words alive
    cdef const uint32_t *words
    cdef uint32_t word_count
    cdef uint32_t bound
    cdef uint32_t version
    # columns by id
    cdef uint32_t *offset         # word of the defining instruction, 0: undefined
    cdef uint8_t *kind
    cdef uint32_t *payload
    cdef uint32_t *decorations    # row + 1 of Reader.decoration_rows
    cdef uint32_t *name           # word of its name
    cdef uint32_t *phi_variable   # OpPhi: deref of the variable behind it; buffer variables: deref of the block
    # rows
    cdef vector[Decoration] decoration_rows
    cdef vector[TypeFacts] types
    cdef vector[ConstantRow] constants
    cdef vector[uint32_t] constant_children
    cdef vector[uint32_t] trees
    cdef vector[BlockPointer] block_pointers
    cdef vector[FunctionRow] functions
    cdef vector[uint32_t] parameters
    cdef vector[BlockRow] blocks
    cdef vector[EntryRow] entries
    cdef vector[uint32_t] execution_modes   # words
    cdef vector[uint32_t] names             # words of OpName and OpMemberName
    cdef vector[uint32_t] module_variables  # ids
    cdef vector[uint32_t] spec_constants    # ids
    cdef vector[Exit] exits
    cdef vector[Label] labels
    cdef vector[uint32_t] scratch
    # emission
    cdef BlockLists nir
    cdef uint32_t word                      # instruction that is being read
    cdef uint32_t serial                    # of the inlined call
    cdef uint32_t function                  # row of the function that is being read
    cdef uint32_t function_label            # its end
    cdef uint32_t return_variable           # deref, 0: no variable
    cdef uint32_t return_value              # of the only OpReturnValue
    cdef uint32_t nesting
    cdef uint32_t serials
    cdef uint32_t current_loop              # innermost NIR loop
    cdef uint32_t loop_breaks               # breaks out of it so far
    cdef uint32_t true_value
    cdef uint32_t false_value
    cdef uint32_t switch_serial             # of the switch being read
    cdef uint32_t switch_serials
    cdef vector[uint32_t] case_serial       # by block: switch that has seen it
    cdef vector[uint32_t] case_of_block     # by block: case + 1 of that switch, 0: inside a case
    cdef uint64_t phi_steps
    cdef uint64_t scan_steps
    cdef uint32_t entry_function            # row
    cdef uint32_t glsl_set
    cdef uint32_t float_controls
    cdef uint32_t workgroup_constant        # id of the WorkgroupSize constant
    cdef vector[uint32_t] builtin_values    # BuiltIn, NIR value: loaded once, in the prologue
    cdef uint32_t[64] small_integers        # NIR constants
    cdef vector[uint8_t] deref_access       # access flags by NIR deref
    cdef vector[uint32_t] variable_ids      # variable, SPIR-V id: for names
    cdef vector[uint32_t] zeroed_workgroup  # ids of Workgroup variables that start as zero
    cdef uint32_t uint_type                 # rows of types that the reader needs itself
    cdef uint32_t uint3_type
    cdef uint32_t bool_type
    cdef uint32_t vulkan_memory_model
    cdef object specialization              # SpecId -> bits as int, or None
    cdef object specialization_used
    cdef dict bindings                      # (set, binding) -> (type, count)

# Raises InputError naming the word; `text` may hold one %u for `value`.
cdef int fail(Reader r, uint32_t word, const char *text, uint32_t value=*) except -1 nogil
cdef int unsupported(Reader r, uint32_t word, const char *text, const char *detail=*) except -1 nogil
# Name of an enumerant (spirv_kind_*); NULL where there is none of that value.
cdef const char *enumerant_name(int kind, uint32_t value) noexcept nogil
# Refuses a known enumerant by its name, and any other as malformed.
cdef int unsupported_enumerant(Reader r, uint32_t word, const char *text, int kind, uint32_t value) except -1 nogil
# The instruction at `word`.
cdef inline uint32_t opcode_at(Reader r, uint32_t word) noexcept nogil:
    return r.words[word] & 0xffff

cdef inline uint32_t length_at(Reader r, uint32_t word) noexcept nogil:
    return r.words[word] >> 16

# The result type id of the instruction that defines `id`; 0 when it has none.
cdef uint32_t type_id_of(Reader r, uint32_t id) noexcept nogil
# The row in Types of a type id; an error when it is not a type.
cdef uint32_t type_row(Reader r, uint32_t id) except 0xffffffffU nogil
# Word of the first operand of a decoration of `id` (or of its member), 0 when it is not decorated so. A decoration
# without operands gives the word after it all the same.
cdef uint32_t decoration_of(Reader r, uint32_t id, uint32_t member, uint32_t decoration) noexcept nogil
cdef str string_at(Reader r, uint32_t word)
# Called for every module-scope type, constant and variable, in order.
ctypedef int (*Declare)(Reader r, uint32_t word, uint32_t end) except -1 nogil
# Checks the shape of every instruction and fills the module's tables.
cdef int scan_words(Reader r, Declare declare) except -1 nogil
