"""Storage of ACO IR. The data sheet is ``program.pxd``."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from pyaco._core.common.table cimport table_append, table_append_many, table_free, table_init, table_reserve, table_truncate
from pyaco._core.common.view cimport edit_of, table_view
from pyaco._core.ir.source_lines cimport LineHeirs, heirs_begin, heirs_of_block, lines_init

cdef uint8_t[11] _instruction_sizes = [2, 2, 4, 2, 4, 2, 8, 4, 4, 2, 2]
cdef uint8_t[4] _operand_sizes = [4, 2, 1, 2]
cdef uint8_t[1] _temp_sizes = [1]
cdef uint8_t[1] _word_sizes = [4]
cdef uint8_t[2] _live_in_sizes = [8, 4]
cdef uint8_t[30] _block_sizes
cdef uint8_t[3] _code_line_sizes = [4, 4, 4]
cdef uint8_t[3] _edge_sizes = [1, 4, 4]

_INSTRUCTION_COLUMNS = [
    ("opcode", "u2"), ("format", "u2"), ("operand_first", "u4"), ("operand_count", "u2"), ("definition_first", "u4"),
    ("definition_count", "u2"), ("modifiers", "u8"), ("immediate", "u4"), ("pass_flags", "u4"), ("demand_sgpr", "i2"),
    ("demand_vgpr", "i2")]
_OPERAND_COLUMNS = [("data", "u4"), ("reg", "u2"), ("register_class", "u1"), ("flags", "u2")]
_DEFINITION_COLUMNS = [("temp", "u4"), ("reg", "u2"), ("register_class", "u1"), ("flags", "u2")]
_TEMP_COLUMNS = [("register_class", "u1")]
_ORDER_COLUMNS = [("instruction", "u4")]
_BLOCK_COLUMNS = [
    ("order_first", "u4"), ("order_count", "u4"), ("next_first", "u4"), ("next_count", "u4"), ("kind", "u4"),
    ("fp_mode", "u2"), ("loop_depth", "u2"), ("uniform_if_depth", "u2"), ("divergent_if_depth", "u2"),
    ("logical_idom", "i4"), ("linear_idom", "i4"), ("logical_pre", "u4"), ("logical_post", "u4"), ("linear_pre", "u4"),
    ("linear_post", "u4"), ("logical_pred_first", "u4"), ("logical_pred_count", "u4"), ("logical_succ_first", "u4"),
    ("logical_succ_count", "u4"), ("linear_pred_first", "u4"), ("linear_pred_count", "u4"), ("linear_succ_first", "u4"),
    ("linear_succ_count", "u4"), ("demand_sgpr", "i2"), ("demand_vgpr", "i2"), ("live_in_demand_sgpr", "i2"),
    ("live_in_demand_vgpr", "i2"), ("live_in_first", "u4"), ("live_in_count", "u4"), ("offset", "u4")]
_EDGE_COLUMNS = [("kind", "u1"), ("predecessor", "u4"), ("successor", "u4")]
_EDGE_LIST_COLUMNS = [("block", "u4")]
_LIVE_IN_COLUMNS = [("bits", "u8"), ("word", "u4")]
_BYTE_COLUMNS = [("byte", "u1")]
_LINE_COLUMNS = [("file", "u4"), ("line", "u4")]
_CODE_LINE_COLUMNS = [("offset", "u4"), ("file", "u4"), ("line", "u4")]

for _i, (_name, _type) in enumerate(_BLOCK_COLUMNS):
    _block_sizes[_i] = int(_type[1])


cdef TempId temp_new(ProgramData *program, uint8_t register_class) except 0 nogil:
    cdef TempId temp = table_append(&program.temps.table)
    program.temps.register_class[temp] = register_class
    return temp


cdef InstructionId instruction_new(ProgramData *program, uint16_t opcode, uint16_t format, uint32_t operand_count,
                                   uint32_t definition_count) except 0 nogil:
    cdef OperandRow operands = table_append_many(&program.operands.table, operand_count)
    cdef DefinitionRow definitions = table_append_many(&program.definitions.table, definition_count)
    cdef InstructionId row = table_append(&program.instructions.table)
    program.instructions.opcode[row] = opcode
    program.instructions.format[row] = format
    program.instructions.operand_first[row] = operands
    program.instructions.operand_count[row] = <uint16_t>operand_count
    program.instructions.definition_first[row] = definitions
    program.instructions.definition_count[row] = <uint16_t>definition_count
    return row


cdef InstructionId instruction_make(ProgramData *program, uint16_t opcode, uint16_t format,
                                    const Definition *definitions, uint32_t definition_count,
                                    const Operand *operands, uint32_t operand_count) except 0 nogil:
    cdef InstructionId row = instruction_new(program, opcode, format, operand_count, definition_count)
    cdef DefinitionRow first_definition = program.instructions.definition_first[row]
    cdef OperandRow first_operand = program.instructions.operand_first[row]
    cdef uint32_t i
    for i in range(definition_count):
        definition_put(program, first_definition + i, definitions[i])
    for i in range(operand_count):
        operand_put(program, first_operand + i, operands[i])
    return row


cdef BlockId block_new(ProgramData *program, uint32_t kind) except? 0xffffffffU nogil:
    cdef BlockId block = table_append(&program.blocks.table)
    program.blocks.kind[block] = kind
    program.blocks.logical_idom[block] = -1
    program.blocks.linear_idom[block] = -1
    return block


cdef int edge_add(ProgramData *program, int kind, BlockId predecessor, BlockId successor) except -1 nogil:
    cdef uint32_t row = table_append(&program.edges.table)
    program.edges.kind[row] = <uint8_t>kind
    program.edges.predecessor[row] = predecessor
    program.edges.successor[row] = successor
    return 0


cdef void _count_edges(ProgramData *program) noexcept nogil:
    cdef Blocks *blocks = &program.blocks
    cdef Edges *edges = &program.edges
    cdef uint32_t row
    cdef uint64_t bytes = <uint64_t>blocks.table.count * 4
    memset(blocks.logical_pred_count, 0, bytes)
    memset(blocks.logical_succ_count, 0, bytes)
    memset(blocks.linear_pred_count, 0, bytes)
    memset(blocks.linear_succ_count, 0, bytes)
    for row in range(edges.table.count):
        if edges.kind[row] == edge_logical:
            blocks.logical_succ_count[edges.predecessor[row]] += 1
            blocks.logical_pred_count[edges.successor[row]] += 1
        else:
            blocks.linear_succ_count[edges.predecessor[row]] += 1
            blocks.linear_pred_count[edges.successor[row]] += 1


cdef EdgeListRow _place_lists(EdgeListRow *first, uint32_t *count, uint32_t blocks, EdgeListRow start) noexcept nogil:
    """Turn counts into first rows; the counts restart from zero for the filling sweep."""
    cdef uint32_t block
    for block in range(blocks):
        first[block] = start
        start += count[block]
        count[block] = 0
    return start


cdef int edges_finish(ProgramData *program) except -1 nogil:
    cdef Blocks *blocks = &program.blocks
    cdef Edges *edges = &program.edges
    cdef uint32_t n = blocks.table.count
    cdef uint32_t row
    cdef BlockId a
    cdef BlockId b
    _count_edges(program)
    table_truncate(&program.edge_lists.table, 0)
    table_append_many(&program.edge_lists.table, 2 * edges.table.count)
    row = _place_lists(blocks.logical_pred_first, blocks.logical_pred_count, n, 0)
    row = _place_lists(blocks.logical_succ_first, blocks.logical_succ_count, n, row)
    row = _place_lists(blocks.linear_pred_first, blocks.linear_pred_count, n, row)
    _place_lists(blocks.linear_succ_first, blocks.linear_succ_count, n, row)
    cdef BlockId *lists = program.edge_lists.block
    for row in range(edges.table.count):
        a = edges.predecessor[row]
        b = edges.successor[row]
        if edges.kind[row] == edge_logical:
            lists[blocks.logical_succ_first[a] + blocks.logical_succ_count[a]] = b
            blocks.logical_succ_count[a] += 1
            lists[blocks.logical_pred_first[b] + blocks.logical_pred_count[b]] = a
            blocks.logical_pred_count[b] += 1
        else:
            lists[blocks.linear_succ_first[a] + blocks.linear_succ_count[a]] = b
            blocks.linear_succ_count[a] += 1
            lists[blocks.linear_pred_first[b] + blocks.linear_pred_count[b]] = a
            blocks.linear_pred_count[b] += 1
    return 0


# ------------------------------------------------------------------------------------------------------------- operands
cdef Operand operand_of(const ProgramData *program, TempId temp) noexcept nogil:
    cdef Operand o
    o.data = temp
    o.reg = register_none
    o.register_class = program.temps.register_class[temp]
    o.flags = operand_temp
    return o


cdef Operand operand_of_fixed(const ProgramData *program, TempId temp, uint16_t reg) noexcept nogil:
    cdef Operand o = operand_of(program, temp)
    o.reg = reg
    o.flags |= operand_fixed
    return o


cdef Operand operand_register(uint16_t reg, uint8_t register_class) noexcept nogil:
    cdef Operand o
    o.data = 0
    o.reg = reg
    o.register_class = register_class
    o.flags = operand_fixed
    return o


cdef Operand operand_undefined(uint8_t register_class) noexcept nogil:
    cdef Operand o
    o.data = 0
    o.reg = register_none
    o.register_class = register_class
    o.flags = operand_undef
    return o


# Inline float constants, source codes 240 to 248 (any AMD ISA document, "SSRC operands"): 0.5 -0.5 1 -1 2 -2 4 -4 1/(2pi).
cdef uint32_t[9] _inline_f32 = [0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000,
                                0xc0800000, 0x3e22f983]
cdef uint32_t[9] _inline_f16 = [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118]
cdef uint64_t[9] _inline_f64 = [
    0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x4000000000000000,
    0xc000000000000000, 0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882]


cdef Operand _constant(uint32_t value, uint32_t code, uint32_t size_log2) noexcept nogil:
    cdef Operand o
    o.data = value
    o.reg = <uint16_t>(code * 4)
    o.register_class = class_s2 if size_log2 == 3 else class_s1
    o.flags = <uint16_t>(operand_constant | operand_fixed | (size_log2 << operand_size_shift))
    return o


cdef inline uint32_t _integer_code(int64_t value) noexcept nogil:
    if 0 <= value <= 64:
        return <uint32_t>(128 + value)
    if -16 <= value <= -1:
        return <uint32_t>(192 - value)
    return 255


cdef Operand operand_c8(uint32_t value) noexcept nogil:
    # 8-bit constants exist only in copies; they are always encodable there.
    return _constant(value & 0xff, _integer_code(<signed char>value), 0)


cdef Operand operand_c16(uint32_t value) noexcept nogil:
    cdef uint32_t code = _integer_code(<short>value)
    cdef uint32_t i
    value &= 0xffff
    for i in range(9):
        if value == _inline_f16[i]:
            code = 240 + i
    return _constant(value, code, 1)


cdef Operand operand_c32(uint32_t value) noexcept nogil:
    cdef uint32_t code = _integer_code(<int>value)
    cdef uint32_t i
    for i in range(9):
        if value == _inline_f32[i]:
            code = 240 + i
    return _constant(value, code, 2)


cdef Operand operand_literal32(uint32_t value) noexcept nogil:
    return _constant(value, 255, 2)


cdef bint operand_c64_fits(uint64_t value) noexcept nogil:
    cdef uint32_t i
    if _integer_code(<int64_t>value) != 255 or value <= 0xffffffffU:
        return True
    for i in range(9):
        if value == _inline_f64[i]:
            return True
    return False


cdef Operand operand_c64(uint64_t value) noexcept nogil:
    cdef uint32_t code = _integer_code(<int64_t>value)
    cdef uint32_t i
    for i in range(9):
        if value == _inline_f64[i]:
            code = 240 + i
    return _constant(<uint32_t>value, code, 3)


cdef uint64_t operand_constant_value(Operand operand) noexcept nogil:
    cdef uint32_t code = operand.reg >> 2
    if (operand.flags & operand_size_mask) >> operand_size_shift != 3:
        return operand.data
    if 240 <= code <= 248:
        return _inline_f64[code - 240]
    if 193 <= code <= 208:
        return <uint64_t>(<int64_t>192 - <int64_t>code)
    return operand.data


cdef Definition definition_of(const ProgramData *program, TempId temp) noexcept nogil:
    cdef Definition d
    d.temp = temp
    d.reg = register_none
    d.register_class = program.temps.register_class[temp]
    d.flags = definition_temp
    return d


cdef Definition definition_of_fixed(const ProgramData *program, TempId temp, uint16_t reg) noexcept nogil:
    cdef Definition d = definition_of(program, temp)
    d.reg = reg
    d.flags |= definition_fixed
    return d


cdef Definition definition_register(uint16_t reg, uint8_t register_class) noexcept nogil:
    cdef Definition d
    d.temp = 0
    d.reg = reg
    d.register_class = register_class
    d.flags = definition_fixed
    return d


# -------------------------------------------------------------------------------------------------------------- rewrite
cdef int rewrite_begin(Rewrite *rewrite, ProgramData *program) except -1 nogil:
    cdef uint32_t block
    rewrite.program = program
    rewrite.block = 0xffffffffU
    table_truncate(&program.next_order.table, 0)
    table_reserve(&program.next_order.table, program.order.table.count)
    for block in range(program.blocks.table.count):
        program.blocks.next_first[block] = 0
        program.blocks.next_count[block] = 0
    return 0


cdef void _close_block(Rewrite *rewrite) noexcept nogil:
    cdef Blocks *blocks = &rewrite.program.blocks
    if rewrite.block != 0xffffffffU:
        blocks.next_count[rewrite.block] = rewrite.program.next_order.table.count - blocks.next_first[rewrite.block]


cdef int rewrite_block(Rewrite *rewrite, BlockId block) except -1 nogil:
    _close_block(rewrite)
    rewrite.block = block
    rewrite.program.blocks.next_first[block] = rewrite.program.next_order.table.count
    return 0


cdef int _bequeath_lines(ProgramData *p) except -1 nogil:
    cdef LineHeirs heirs
    cdef BlockId block
    heirs_begin(&heirs, &p.lines, p.instructions.table.count, p.order.instruction, p.order.table.count)
    for block in range(p.blocks.table.count):
        heirs_of_block(&heirs, p.blocks.order_first[block], p.blocks.order_count[block], p.next_order.instruction + p.blocks.next_first[block],
                       p.blocks.next_count[block])
    return 0


cdef int rewrite_end(Rewrite *rewrite) except -1 nogil:
    cdef ProgramData *program = rewrite.program
    cdef Order swap = program.order
    cdef uint32_t block
    _close_block(rewrite)
    if program.order.table.exports:
        with gil:
            raise BufferError("the order cannot change while NumPy views of it are alive")
    if program.lines.table.count:
        _bequeath_lines(program)
    program.order = program.next_order
    program.next_order = swap
    for block in range(program.blocks.table.count):
        program.blocks.order_first[block] = program.blocks.next_first[block]
        program.blocks.order_count[block] = program.blocks.next_count[block]
    return 0


# --------------------------------------------------------------------------------------------------------------- Python
cdef class Program:
    def __cinit__(self):
        cdef ProgramData *p = &self.data
        memset(p, 0, sizeof(ProgramData))
        self.facts = Metadata()
        p.software_stage = software_stage_cs
        p.hardware_stage = hardware_stage_compute
        table_init(&p.instructions.table, _instruction_sizes, 11, 128)
        table_init(&p.operands.table, _operand_sizes, 4, 256)
        table_init(&p.definitions.table, _operand_sizes, 4, 128)
        table_init(&p.temps.table, _temp_sizes, 1, 256)
        table_init(&p.order.table, _word_sizes, 1, 128)
        table_init(&p.next_order.table, _word_sizes, 1, 128)
        table_init(&p.blocks.table, _block_sizes, 30, 8)
        table_init(&p.edges.table, _edge_sizes, 3, 8)
        table_init(&p.edge_lists.table, _word_sizes, 1, 16)
        table_init(&p.live_in.table, _live_in_sizes, 2, 64)
        table_init(&p.constant_data.table, _temp_sizes, 1, 64)
        table_init(&p.code.table, _temp_sizes, 1, 384)
        table_init(&p.code_lines.table, _code_line_sizes, 3, 8)
        lines_init(&p.lines)
        # Row 0 of instructions and temps means "none".
        table_append(&p.instructions.table)
        table_append(&p.temps.table)

    def __dealloc__(self):
        cdef ProgramData *p = &self.data
        table_free(&p.instructions.table)
        table_free(&p.operands.table)
        table_free(&p.definitions.table)
        table_free(&p.temps.table)
        table_free(&p.order.table)
        table_free(&p.next_order.table)
        table_free(&p.blocks.table)
        table_free(&p.edges.table)
        table_free(&p.edge_lists.table)
        table_free(&p.live_in.table)
        table_free(&p.constant_data.table)
        table_free(&p.code.table)
        table_free(&p.code_lines.table)
        table_free(&p.lines.table)

    @property
    def instructions(self):
        return table_view(self, &self.editable, &self.data.instructions.table, _INSTRUCTION_COLUMNS)

    @property
    def operands(self):
        return table_view(self, &self.editable, &self.data.operands.table, _OPERAND_COLUMNS)

    @property
    def definitions(self):
        return table_view(self, &self.editable, &self.data.definitions.table, _DEFINITION_COLUMNS)

    @property
    def temps(self):
        return table_view(self, &self.editable, &self.data.temps.table, _TEMP_COLUMNS)

    @property
    def order(self):
        return table_view(self, &self.editable, &self.data.order.table, _ORDER_COLUMNS)

    @property
    def blocks(self):
        return table_view(self, &self.editable, &self.data.blocks.table, _BLOCK_COLUMNS)

    @property
    def edges(self):
        return table_view(self, &self.editable, &self.data.edges.table, _EDGE_COLUMNS)

    @property
    def edge_lists(self):
        return table_view(self, &self.editable, &self.data.edge_lists.table, _EDGE_LIST_COLUMNS)

    @property
    def live_in(self):
        return table_view(self, &self.editable, &self.data.live_in.table, _LIVE_IN_COLUMNS)

    @property
    def code_lines(self):
        return table_view(self, &self.editable, &self.data.code_lines.table, _CODE_LINE_COLUMNS)

    @property
    def lines(self):
        return table_view(self, &self.editable, &self.data.lines.table, _LINE_COLUMNS)

    def configure(self, *, int gfx_level, int wave_size, int workgroup_size, dict limits not None, bint wgp_mode=False):
        """Say what the program is for; `limits` is ``pyaco.targets.wave_limits(...).as_dict()``."""
        self.data.gfx_level = gfx_level
        self.data.wave_size = wave_size
        self.data.workgroup_size = workgroup_size
        self.data.wgp_mode = wgp_mode
        self.data.address32_hi = 0xffff8000U
        self.data.lane_mask = class_s1 if wave_size == 32 else class_s2
        self.data.device = limits

    @property
    def metadata(self):
        """What shaders bring along, as a dict."""
        return self.facts.whole()

    @property
    def source_files(self):
        """Names of the files of lines, None without lines."""
        return self.facts.known.get("source_files")

    @property
    def gfx_level(self):
        return self.data.gfx_level

    @property
    def wave_size(self):
        return self.data.wave_size

    @property
    def wgp_mode(self):
        return bool(self.data.wgp_mode)

    @property
    def config(self):
        """What the launch packet needs, as a dict (fields of ``ProgramConfig``)."""
        return self.data.config

    @property
    def code(self):
        """The machine code as bytes (empty before the assembler ran)."""
        return (<char *>self.data.code.byte)[:self.data.code.table.count]

    @property
    def constant_data(self):
        return (<char *>self.data.constant_data.byte)[:self.data.constant_data.table.count]

    def edit(self):
        """Make the columns writable: views taken inside may be written to; take new views after leaving."""
        return edit_of(self, &self.editable)

    def _repr_html_(self):
        from pyaco.notebook import table

        cdef const ProgramData *p = &self.data
        return table(f"ACO IR for level {p.gfx_level}, wave{p.wave_size}", {
            "blocks": p.blocks.table.count, "instructions": p.order.table.count, "temps": max(p.temps.table.count, 1) - 1,
            "SGPRs at once": p.max_demand_sgpr, "VGPRs at once": p.max_demand_vgpr, "bytes of code": p.code.table.count,
        })
