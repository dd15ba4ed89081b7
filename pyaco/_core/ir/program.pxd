"""ACO IR as columns: the data sheet of a program between instruction selection and the assembler.

There is no object per instruction, operand, temporary or block: an index is the identity of a thing, and index 0 of
instructions and temps means "none". A pass reads the order array of a block and writes a new one (``Rewrite``).
Names and meanings follow Mesa's ACO (``aco_ir.h``) where the field has no older word. Registers, register classes, formats and gfx levels
are those of ``common/machine.pxd``.

The comment of an enum gives its name in Python, where ``tools/write_vocabulary.py`` writes it to ``vocabulary.py``. A member's comment
that begins with a quoted word says how IR text writes it; without one, text has the identifier less what all members begin with.

Thread safety: a program belongs to one thread at a time; different programs are independent.
"""
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.common.machine cimport *
from pyaco._core.common.table cimport RowRange, Table, table_reserve
from pyaco._core.ir.metadata cimport Metadata
from pyaco._core.ir.source_lines cimport SourceLines

# ---------------------------------------------------------------------------------------------------------- index spaces
ctypedef uint32_t InstructionId   # row in Instructions; 0 is none. Stays what it is until the program dies; orders say where it stands
ctypedef uint32_t TempId          # row in Temps, the SSA value; 0 is none
ctypedef uint32_t BlockId         # row in Blocks, in program order; 0 is the entry block, 0xffffffffU none
ctypedef uint32_t OperandRow      # row in Operands; an instruction's operands are neighbours
ctypedef uint32_t DefinitionRow   # row in Definitions; an instruction's definitions are neighbours
ctypedef uint32_t OrderRow        # row in Order; a block's instructions are neighbours
ctypedef uint32_t EdgeListRow     # row in EdgeLists; each list of a block's neighbours is one run

# ------------------------------------------------------------------------------------------------------------- operands
# Kinds are exclusive: temp, constant (inline constant or literal), undef, or a bare fixed register (none of them set).
cdef enum:                        # OperandFlag: columns flags of operands
    operand_temp = 1              # data: temp id
    operand_constant = 2          # data: low 32 bits of the value; reg: hardware source code * 4 (128..208 integers,
                                  # 240..248 floats, 255 literal)
    operand_undef = 4
    operand_fixed = 8             # reg holds an assigned register
    operand_kill = 0x10           # last use on this path: dead after the instruction
    operand_first_kill = 0x20     # the first operand of the instruction that names this killed temp
    operand_late_kill = 0x40      # "latekill"; must not share a register with a definition
    operand_16bit = 0x80          # "is16bit"; only the low 16 bits are read
    operand_24bit = 0x100         # "is24bit"; known to fit 24 bits unsigned
    operand_copy_kill = 0x200
    operand_size_mask = 0xc00     # constants: log2 of the size in bytes at bits 10-11
    operand_size_shift = 10

cdef struct Operand:
    uint32_t data
    uint16_t reg
    uint8_t register_class
    uint16_t flags

cdef enum:                        # DefinitionFlag: columns flags of definitions
    definition_temp = 1
    definition_fixed = 2          # reg holds an assigned register
    definition_kill = 4           # never used
    definition_precise = 8        # no reassociation, no contraction
    definition_nuw = 0x10         # no unsigned wrap
    definition_no_cse = 0x20      # "noCSE"

cdef struct Definition:
    TempId temp                   # 0: a fixed register without a temp
    uint16_t reg
    uint8_t register_class
    uint16_t flags

# --------------------------------------------------------------------------------------------------------------- blocks
cdef enum:                        # BlockKind: bits, by what a block is in the control flow
    block_uniform = 1             # leaving it, all active lanes stay active
    block_top_level = 2           # "top-level"
    block_loop_preheader = 4      # "loop-preheader"
    block_loop_header = 8         # "loop-header"
    block_loop_exit = 0x10        # "loop-exit"
    block_continue = 0x20
    block_break = 0x40
    block_continue_or_break = 0x80
    block_branch = 0x100          # ends with a divergent branch
    block_merge = 0x200
    block_invert = 0x400
    block_discard_early_exit = 0x800
    block_uses_discard = 0x1000
    block_resume = 0x2000
    block_export_end = 0x4000
    block_end_with_regs = 0x8000

cdef enum:                        # StorageClass: bits, of memory operations
    storage_none = 0
    storage_buffer = 1
    storage_gds = 2
    storage_image = 4
    storage_shared = 8
    storage_vmem_output = 0x10
    storage_task_payload = 0x20
    storage_scratch = 0x40
    storage_vgpr_spill = 0x80

cdef enum:                        # MemorySemantic: bits
    semantic_acquire = 1
    semantic_release = 2
    semantic_acqrel = 3
    semantic_volatile = 4         # cannot be removed or merged
    semantic_private = 8          # only this lane accesses it; barriers do not matter
    semantic_can_reorder = 0x10   # "reorder"; read-only memory for the purpose of ordering
    semantic_atomic = 0x20
    semantic_rmw = 0x40
    semantic_atomicrmw = 0x64

cdef enum:                        # SyncScope: of barriers and atomics
    scope_invocation = 0
    scope_subgroup = 1
    scope_workgroup = 2
    scope_queuefamily = 3
    scope_device = 4

cdef enum:                        # FloatMode: fp_mode, hardware bits, then what the program promised
    fp_round32_shift = 0          # 0 nearest even, 1 +inf, 2 -inf, 3 zero
    fp_round16_64_shift = 2
    fp_denorm32_shift = 4         # 0 flush in and out, 1 allow in, 2 allow out, 3 keep
    fp_denorm16_64_shift = 6
    fp_preserve_signed_zero_inf_nan32 = 0x100
    fp_preserve_signed_zero_inf_nan16_64 = 0x200
    fp_must_flush_denorms32 = 0x400
    fp_must_flush_denorms16_64 = 0x800
    fp_care_about_round32 = 0x1000
    fp_care_about_round16_64 = 0x2000

# --------------------------------------------------------------------------------------------------------------- tables
cdef struct Instructions:
    Table table
    uint16_t *opcode              # op_* of isa_opcodes.pxd
    uint16_t *format              # format_*; may differ from the opcode's own when promoted (VOP3, DPP, SDWA)
    OperandRow *operand_first
    uint16_t *operand_count
    DefinitionRow *definition_first
    uint16_t *definition_count
    uint64_t *modifiers           # packed; accessors modifier_* of modifiers.pxd
    uint32_t *immediate           # SALU immediate, memory offset, first branch target
    uint32_t *pass_flags          # scratch of one pass; no meaning between passes
    int16_t *demand_sgpr          # registers live during the instruction; written by liveness
    int16_t *demand_vgpr

cdef struct Operands:
    Table table
    uint32_t *data
    uint16_t *reg
    uint8_t *register_class
    uint16_t *flags

cdef struct Definitions:
    Table table
    TempId *temp
    uint16_t *reg
    uint8_t *register_class
    uint16_t *flags

cdef struct Temps:
    Table table
    uint8_t *register_class       # by temp id

cdef struct Order:
    Table table
    InstructionId *instruction    # block after block

cdef struct Blocks:
    Table table
    OrderRow *order_first
    uint32_t *order_count
    OrderRow *next_first          # the same in the order that a Rewrite is writing
    uint32_t *next_count
    uint32_t *kind
    uint16_t *fp_mode
    uint16_t *loop_depth
    uint16_t *uniform_if_depth
    uint16_t *divergent_if_depth
    int32_t *logical_idom         # -1: not in the logical CFG; the entry is its own dominator
    int32_t *linear_idom
    uint32_t *logical_pre         # dominator-tree numbering: a dominates b iff pre[a] <= pre[b] and post[b] <= post[a]
    uint32_t *logical_post
    uint32_t *linear_pre
    uint32_t *linear_post
    EdgeListRow *logical_pred_first
    uint32_t *logical_pred_count
    EdgeListRow *logical_succ_first
    uint32_t *logical_succ_count
    EdgeListRow *linear_pred_first
    uint32_t *linear_pred_count
    EdgeListRow *linear_succ_first
    uint32_t *linear_succ_count
    int16_t *demand_sgpr          # highest demand within the block
    int16_t *demand_vgpr
    int16_t *live_in_demand_sgpr
    int16_t *live_in_demand_vgpr
    uint32_t *live_in_first       # rows in LiveIn
    uint32_t *live_in_count
    uint32_t *offset              # dword offset in the machine code

cdef enum:                        # EdgeKind: which control-flow graph
    edge_logical = 0
    edge_linear = 1

cdef struct Edges:                # in the order in which they were added; that order is the order of phi operands
    Table table
    uint8_t *kind
    BlockId *predecessor
    BlockId *successor

cdef struct EdgeLists:            # compressed rows, made from Edges by edges_finish
    Table table
    BlockId *block

cdef struct LiveIn:               # temps alive at the start of a block: the words of their bits by id that are not zero, ascending
    Table table
    uint64_t *bits
    uint32_t *word

cdef struct Bytes:
    Table table
    uint8_t *byte

cdef struct CodeLines:             # lines of source by place in the machine code; a row is valid until the next one
    Table table
    uint32_t *offset              # bytes
    uint32_t *file                # as in SourceLines
    uint32_t *line

# What the hardware and the driver give a wave; filled from pyaco.targets before instruction selection.
cdef struct DeviceInfo:
    uint32_t lds_encoding_granule     # bytes
    uint32_t lds_allocation_granule   # bytes
    uint32_t lds_limit                # bytes per workgroup
    uint32_t physical_sgprs           # per SIMD
    uint32_t physical_vgprs           # per SIMD, of this wave size
    uint32_t sgpr_limit               # addressable
    uint32_t vgpr_limit
    uint32_t sgpr_allocation_granule
    uint32_t vgpr_allocation_granule
    uint32_t max_waves_per_simd
    uint32_t simds_per_cu             # of one CU; a workgroup in WGP mode spreads over two
    uint32_t scratch_alloc_granule
    int32_t scratch_offset_min
    int32_t scratch_offset_max
    uint32_t has_fast_fma32
    uint32_t has_16bank_lds
    uint32_t xnack_enabled
    uint32_t sram_ecc_enabled

cdef struct ProgramConfig:            # what the packet that launches the program needs
    uint32_t num_sgprs
    uint32_t num_vgprs
    uint32_t lds_bytes
    uint32_t scratch_bytes_per_lane
    uint32_t float_mode
    uint32_t spilled_sgprs
    uint32_t spilled_vgprs
    uint32_t user_sgprs               # SGPRs loaded before the system values
    uint32_t workgroup_id_mask        # bit per dimension
    uint32_t local_id_components      # 1 to 3 VGPRs, or packed in one on GFX11+
    uint32_t uses_vcc
    uint32_t uses_scratch
    uint32_t num_shared_vgprs         # wave64 on GFX10: both halves share them; they follow the others

# A program's stage is the API stages it runs, and the hardware stage that runs them. Where a generation has fewer hardware stages than the API
# has stages, two are merged: vertex or evaluation shaders run at the start of the wave of the stage behind them. Source: aco_ir.h (``SWStage``),
# ac_shader_util.h (``ac_hw_stage``).
cdef enum:                        # SoftwareStage: bits
    software_stage_vs = 1         # "VS"; vertex
    software_stage_gs = 2         # "GS"; geometry
    software_stage_tcs = 4        # "TCS"; tessellation control
    software_stage_tes = 8        # "TES"; tessellation evaluation
    software_stage_fs = 0x10      # "FS"; fragment
    software_stage_cs = 0x20      # "CS"; compute
    software_stage_ts = 0x40      # "TS"; task
    software_stage_ms = 0x80      # "MS"; mesh
    software_stage_rt = 0x100     # "RT"; ray tracing
    software_stage_vs_gs = 0x3    # merged from GFX9 on
    software_stage_vs_tcs = 0x5
    software_stage_tes_gs = 0xa

cdef enum:                        # HardwareStage: what the command processor launches
    hardware_stage_local = 0      # "LOCAL_SHADER"; LS: vertex shaders before tessellation, until GFX8
    hardware_stage_hull = 1       # "HULL_SHADER"; HS: tessellation control, from GFX9 on with the vertex shader before it
    hardware_stage_export = 2     # "EXPORT_SHADER"; ES: vertex shaders before geometry shaders, until GFX8
    hardware_stage_legacy_geometry = 3    # "LEGACY_GEOMETRY_SHADER"; GS, from GFX9 on with the shader before it
    hardware_stage_vertex = 4     # "VERTEX_SHADER"; VS: the last before rasterization, and copies from a GS ring, until GFX10.3
    hardware_stage_next_gen_geometry = 5  # "NEXT_GEN_GEOMETRY_SHADER"; NGG: one stage for all of them, from GFX10 on
    hardware_stage_pixel = 6      # "PIXEL_SHADER"; PS
    hardware_stage_compute = 7    # "COMPUTE_SHADER"; compute, task and ray tracing

cdef struct ProgramData:
    uint32_t gfx_level                # gfx*
    uint32_t software_stage           # software_stage_*
    uint32_t hardware_stage           # hardware_stage_*
    uint32_t wave_size
    uint32_t workgroup_size           # invocations; 0xffffffffU unknown
    uint32_t wgp_mode
    uint32_t address32_hi             # high half of 32-bit pointers (descriptor sets)
    uint8_t lane_mask                 # class_s1 or class_s2
    int16_t max_demand_sgpr
    int16_t max_demand_vgpr
    uint16_t num_waves
    uint16_t max_waves
    uint32_t progress                 # progress_*
    uint32_t first_spill_slot
    DeviceInfo device
    ProgramConfig config
    Instructions instructions
    Operands operands
    Definitions definitions
    Temps temps
    Blocks blocks
    Order order
    Order next_order                  # being written by a Rewrite
    Edges edges
    EdgeLists edge_lists
    Bytes constant_data
    Bytes code                        # machine code, after the assembler
    LiveIn live_in
    SourceLines lines                 # by instruction
    CodeLines code_lines              # after the assembler; no rows: none are known

cdef enum:                        # Progress: how far the backend has come
    progress_after_isel = 0       # "After Instruction Selection:"
    progress_after_spilling = 1   # "After Spilling:"
    progress_after_ra = 2         # "After RA:"
    progress_after_lower_to_hw = 3

# --------------------------------------------------------------------------------------------------- building and editing
cdef TempId temp_new(ProgramData *program, uint8_t register_class) except 0 nogil
# A new instruction with room for its operands and definitions, in no block yet.
cdef InstructionId instruction_new(ProgramData *program, uint16_t opcode, uint16_t format, uint32_t operand_count,
                                   uint32_t definition_count) except 0 nogil
# The same, filled from arrays.
cdef InstructionId instruction_make(ProgramData *program, uint16_t opcode, uint16_t format,
                                    const Definition *definitions, uint32_t definition_count,
                                    const Operand *operands, uint32_t operand_count) except 0 nogil
cdef BlockId block_new(ProgramData *program, uint32_t kind) except? 0xffffffffU nogil
cdef int edge_add(ProgramData *program, int kind, BlockId predecessor, BlockId successor) except -1 nogil
# (Re)builds the compressed predecessor and successor lists from Edges.
cdef int edges_finish(ProgramData *program) except -1 nogil

# Where an instruction's operands and definitions, and a block's instructions, stand.
cdef inline RowRange operands_of(const ProgramData *p, InstructionId instruction) noexcept nogil:
    return RowRange(p.instructions.operand_first[instruction], p.instructions.operand_count[instruction])

cdef inline RowRange definitions_of(const ProgramData *p, InstructionId instruction) noexcept nogil:
    return RowRange(p.instructions.definition_first[instruction], p.instructions.definition_count[instruction])

cdef inline RowRange instructions_of(const ProgramData *p, BlockId block) noexcept nogil:
    return RowRange(p.blocks.order_first[block], p.blocks.order_count[block])

cdef inline Operand operand_at(const ProgramData *p, OperandRow row) noexcept nogil:
    cdef Operand o
    o.data = p.operands.data[row]
    o.reg = p.operands.reg[row]
    o.register_class = p.operands.register_class[row]
    o.flags = p.operands.flags[row]
    return o

cdef inline void operand_put(ProgramData *p, OperandRow row, Operand o) noexcept nogil:
    p.operands.data[row] = o.data
    p.operands.reg[row] = o.reg
    p.operands.register_class[row] = o.register_class
    p.operands.flags[row] = o.flags

cdef inline Definition definition_at(const ProgramData *p, DefinitionRow row) noexcept nogil:
    cdef Definition d
    d.temp = p.definitions.temp[row]
    d.reg = p.definitions.reg[row]
    d.register_class = p.definitions.register_class[row]
    d.flags = p.definitions.flags[row]
    return d

cdef inline void definition_put(ProgramData *p, DefinitionRow row, Definition d) noexcept nogil:
    p.definitions.temp[row] = d.temp
    p.definitions.reg[row] = d.reg
    p.definitions.register_class[row] = d.register_class
    p.definitions.flags[row] = d.flags

# Operands. `operand_of` reads the class of the temp; constants choose an inline code or a literal by themselves.
cdef Operand operand_of(const ProgramData *program, TempId temp) noexcept nogil
cdef Operand operand_of_fixed(const ProgramData *program, TempId temp, uint16_t reg) noexcept nogil
cdef Operand operand_register(uint16_t reg, uint8_t register_class) noexcept nogil
cdef Operand operand_undefined(uint8_t register_class) noexcept nogil
cdef Operand operand_c8(uint32_t value) noexcept nogil
cdef Operand operand_c16(uint32_t value) noexcept nogil
cdef Operand operand_c32(uint32_t value) noexcept nogil
# 64-bit constants must be an inline constant or the zero extension of a literal: see operand_c64_fits.
cdef Operand operand_c64(uint64_t value) noexcept nogil
cdef bint operand_c64_fits(uint64_t value) noexcept nogil
# A 32-bit literal even where an inline code exists.
cdef Operand operand_literal32(uint32_t value) noexcept nogil
# The full value of a constant operand (64-bit sizes are extended as the hardware does).
cdef uint64_t operand_constant_value(Operand operand) noexcept nogil

cdef inline bint operand_is_literal(Operand o) noexcept nogil:
    return (o.flags & operand_constant) != 0 and o.reg == 255 * 4

cdef inline uint32_t operand_bytes(Operand o) noexcept nogil:
    if o.flags & operand_constant:
        return 1 << ((o.flags & operand_size_mask) >> operand_size_shift)
    return class_bytes(o.register_class)

cdef Definition definition_of(const ProgramData *program, TempId temp) noexcept nogil
cdef Definition definition_of_fixed(const ProgramData *program, TempId temp, uint16_t reg) noexcept nogil
cdef Definition definition_register(uint16_t reg, uint8_t register_class) noexcept nogil

# Writing a new order of instructions. Every block must be written between begin and end, each as one run, in any order.
cdef struct Rewrite:
    ProgramData *program
    BlockId block                     # the block being written, 0xffffffffU none

cdef int rewrite_begin(Rewrite *rewrite, ProgramData *program) except -1 nogil
cdef int rewrite_block(Rewrite *rewrite, BlockId block) except -1 nogil
cdef int rewrite_end(Rewrite *rewrite) except -1 nogil

cdef inline int rewrite_emit(Rewrite *rewrite, InstructionId instruction) except -1 nogil:
    cdef Order *order = &rewrite.program.next_order
    table_reserve(&order.table, 1)
    order.instruction[order.table.count] = instruction
    order.table.count += 1
    return 0

cdef class Program:
    """Owner of a ``ProgramData``; Python sees its columns as NumPy arrays."""
    cdef ProgramData data
    cdef Metadata facts               # entry name, stage, descriptor and argument layout (abi)
    cdef bint editable
