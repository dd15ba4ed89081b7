"""Check register allocation without trusting it or the liveness it used.

The contents of every register byte (which temp it holds) are followed forward through the program, to a fixed point over loops: where
paths meet a byte keeps its temp if all of them agree. SGPRs and linear VGPRs meet over linear edges, other VGPRs over logical
ones. Every operand must then find its own temp in its register; a value that was overwritten, never copied to where a phi
reads it, or placed outside the register file is found at its first use. A result of less than a dword takes the rest of its register along where
the encoding does; what must share a register with the result does.
"""
from libc.stdint cimport uint16_t, uint32_t, uint8_t
from libcpp.vector cimport vector

from isa_opcodes cimport op_p_phi
from modifiers cimport modifier_needs_scratch, modifier_scratch_register
from pyaco._core.aco.queries cimport opcode_is_phi, tied_operand
from pyaco._core.aco.register_constraints cimport keeps_other_bytes
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, OrderRow, Program, ProgramData, TempId, class_bytes, class_dwords,
    class_is_linear_vgpr, class_is_vgpr, definition_fixed, definition_temp, definitions_of, format_pseudo, format_pseudo_branch,
    operand_late_kill, operand_temp, operands_of, register_none, register_vcc, register_vgpr0,
)

cdef enum:
    file_bytes = 2048
    unknown = 0
    unvisited = 0xffffffff

cdef struct Finding:
    BlockId block
    InstructionId instruction
    const char *message


cdef cppclass Context:
    ProgramData *p
    bint checking
    BlockId block
    vector[Finding] findings
    vector[uint32_t] at_end          # contents at the end of each block, before its branch
    vector[uint32_t] contents


cdef inline int _expect(Context *c, bint good, uint32_t instruction, const char *message) except -1 nogil:
    cdef Finding f
    if good or not c.checking or c.findings.size() >= 50:
        return 0
    f.block = c.block
    f.instruction = instruction
    f.message = message
    c.findings.push_back(f)
    return 0


cdef inline uint32_t _row(uint32_t block, uint32_t byte) noexcept nogil:
    return block * file_bytes + byte


cdef uint32_t _meet(Context *c, uint32_t byte, uint32_t first, uint32_t count) noexcept nogil:
    """What predecessors agree on; those not visited yet agree with anything."""
    cdef uint32_t result = unvisited
    cdef uint32_t k
    cdef uint32_t other
    for k in range(count):
        other = c.at_end[_row(c.p.edge_lists.block[first + k], byte)]
        if other == unvisited:
            continue
        if result != unvisited and result != other:
            return unknown
        result = other
    return result


cdef int _enter(Context *c) except -1 nogil:
    """Contents at the start of a block, before its phis."""
    cdef ProgramData *p = c.p
    cdef BlockId b = c.block
    cdef int byte
    cdef TempId linear
    for byte in range(file_bytes):
        linear = _meet(c, byte, p.blocks.linear_pred_first[b], p.blocks.linear_pred_count[b])
        if byte < register_vgpr0 or linear == unvisited:
            c.contents[byte] = linear
        elif linear != unknown and class_is_linear_vgpr(p.temps.register_class[linear]):
            c.contents[byte] = linear
        else:
            c.contents[byte] = _meet(c, byte, p.blocks.logical_pred_first[b], p.blocks.logical_pred_count[b])
        if p.blocks.linear_pred_count[b] == 0:
            c.contents[byte] = unknown
    return 0


cdef int _check_register(Context *c, uint32_t i, uint16_t reg, uint8_t register_class) except -1 nogil:
    """Registers exist and are aligned."""
    cdef uint32_t size = class_dwords(register_class)
    cdef uint32_t end = reg + class_bytes(register_class)
    if reg == register_none:
        return _expect(c, False, i, b"no register is assigned")
    if class_is_vgpr(register_class):
        _expect(c, register_vgpr0 <= reg and end <= file_bytes, i, b"a VGPR class outside the VGPRs")
        _expect(c, c.p.device.vgpr_limit == 0 or end <= register_vgpr0 + 4 * c.p.device.vgpr_limit, i, b"a VGPR that the program may not have")
        return _expect(c, (register_class & 0x40) != 0 or reg & 3 == 0, i, b"dwords must be aligned")
    _expect(c, end <= 1024 and reg & 3 == 0, i, b"an SGPR class outside the SGPRs")
    _expect(c, c.p.device.sgpr_limit == 0 or reg >= register_vcc or end <= 4 * c.p.device.sgpr_limit, i, b"an SGPR that the program may not have")
    if size == 2:
        _expect(c, reg & 7 == 0, i, b"a pair of SGPRs must be aligned to two")
    elif size >= 4 and size != 5:
        _expect(c, reg & 15 == 0, i, b"four SGPRs and more must be aligned to four")
    return 0


cdef int _check_operand(Context *c, uint32_t i, OperandRow row, const uint32_t *contents) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t byte
    if not p.operands.flags[row] & operand_temp:
        return 0
    _check_register(c, i, p.operands.reg[row], p.operands.register_class[row])
    if p.operands.reg[row] == register_none:
        return 0
    for byte in range(p.operands.reg[row], min(p.operands.reg[row] + class_bytes(p.operands.register_class[row]), <uint32_t>file_bytes)):
        if contents[byte] != p.operands.data[row] and contents[byte] != unvisited:
            return _expect(c, False, i, b"an operand's register does not hold its temp")
    return 0


cdef int _define(Context *c, uint32_t i, DefinitionRow row) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t byte
    cdef uint32_t temp = p.definitions.temp[row] if p.definitions.flags[row] & definition_temp else unknown
    if not p.definitions.flags[row] & definition_fixed or p.definitions.reg[row] == register_none:
        return _expect(c, False, i, b"no register is assigned")
    if temp != unknown:
        _check_register(c, i, p.definitions.reg[row], p.definitions.register_class[row])
    if p.definitions.register_class[row] & 0x40 and not keeps_other_bytes(p, i):
        for byte in range(p.definitions.reg[row] & ~3U,
                          min((p.definitions.reg[row] + class_bytes(p.definitions.register_class[row]) + 3) & ~3U, <uint32_t>file_bytes)):
            c.contents[byte] = unknown
    for byte in range(p.definitions.reg[row],
                      min(p.definitions.reg[row] + class_bytes(p.definitions.register_class[row]), <uint32_t>file_bytes)):
        c.contents[byte] = temp
    return 0


cdef bint _overlap(uint16_t a, uint8_t class_a, uint16_t b, uint8_t class_b) noexcept nogil:
    return a < b + class_bytes(class_b) and b < a + class_bytes(class_a)


cdef int _check_overlaps(Context *c, InstructionId i) except -1 nogil:
    """Definitions do not overlap each other or operands that are read late."""
    cdef RowRange rows
    cdef ProgramData *p = c.p
    cdef DefinitionRow first = p.instructions.definition_first[i]
    cdef DefinitionRow k
    cdef uint32_t row
    for k in range(first, first + p.instructions.definition_count[i]):
        for row in range(first, k):
            _expect(c, not _overlap(p.definitions.reg[k], p.definitions.register_class[k], p.definitions.reg[row],
                                    p.definitions.register_class[row]), i, b"two definitions share a register")
        rows = operands_of(p, i)
        for row in range(rows.first, rows.first + rows.count):
            if p.operands.flags[row] & operand_late_kill and p.operands.flags[row] & operand_temp:
                _expect(c, not _overlap(p.definitions.reg[k], p.definitions.register_class[k], p.operands.reg[row],
                                        p.operands.register_class[row]), i, b"a definition overwrites an operand read late")
    return 0


cdef int _check_tied(Context *c, InstructionId i) except -1 nogil:
    """What the encoding has one field for, an operand and the result, is in one register."""
    cdef ProgramData *p = c.p
    cdef int tied = tied_operand(p, i)
    cdef OperandRow row = p.instructions.operand_first[i] + <uint32_t>max(tied, 0)
    if tied < 0 or <uint32_t>tied >= p.instructions.operand_count[i] or p.instructions.definition_count[i] == 0 \
            or not p.operands.flags[row] & operand_temp:
        return 0
    return _expect(c, p.operands.reg[row] == p.definitions.reg[p.instructions.definition_first[i]], i,
                   b"a tied operand is not in the result's register")


cdef int _instruction(Context *c, InstructionId i) except -1 nogil:
    cdef RowRange definitions
    cdef RowRange operands
    cdef ProgramData *p = c.p
    cdef uint32_t row
    cdef uint32_t byte
    cdef uint16_t scratch
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        _check_operand(c, i, row, c.contents.data())
    if p.instructions.format[i] == format_pseudo and modifier_needs_scratch(p.instructions.modifiers[i]):
        scratch = <uint16_t>modifier_scratch_register(p.instructions.modifiers[i])
        if scratch < 1024:
            for byte in range(scratch, scratch + 4):
                c.contents[byte] = unknown
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        _define(c, i, row)
    if c.checking:
        _check_overlaps(c, i)
        _check_tied(c, i)
    return 0


cdef int _check_phi_operands(Context *c, BlockId successor, bint logical, uint32_t first, uint32_t count) except -1 nogil:
    """Phis read their operands at the end of the predecessor."""
    cdef ProgramData *p = c.p
    cdef uint32_t position = 0
    cdef uint32_t k
    cdef InstructionId i
    while position < count and p.edge_lists.block[first + position] != c.block:
        position += 1
    for k in range(p.blocks.order_count[successor]):
        i = p.order.instruction[p.blocks.order_first[successor] + k]
        if not opcode_is_phi(p.instructions.opcode[i]):
            break
        if (p.instructions.opcode[i] == op_p_phi) == logical and position < p.instructions.operand_count[i]:
            _check_operand(c, i, p.instructions.operand_first[i] + position, c.contents.data())
    return 0


cdef int _leave(Context *c, bint *changed) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef BlockId b = c.block
    cdef uint32_t k
    cdef BlockId s
    if c.checking:
        for k in range(p.blocks.logical_succ_count[b]):
            s = p.edge_lists.block[p.blocks.logical_succ_first[b] + k]
            _check_phi_operands(c, s, True, p.blocks.logical_pred_first[s], p.blocks.logical_pred_count[s])
        for k in range(p.blocks.linear_succ_count[b]):
            s = p.edge_lists.block[p.blocks.linear_succ_first[b] + k]
            _check_phi_operands(c, s, False, p.blocks.linear_pred_first[s], p.blocks.linear_pred_count[s])
    return 0


cdef int _run_block(Context *c, bint *changed) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef BlockId b = c.block
    cdef OrderRow first = p.blocks.order_first[b]
    cdef uint32_t k
    cdef InstructionId i
    cdef uint32_t row
    cdef int byte
    cdef bint left = False
    _enter(c)
    for k in range(p.blocks.order_count[b]):
        i = p.order.instruction[first + k]
        if opcode_is_phi(p.instructions.opcode[i]):
            # All phis happen at once; their operands are checked in the predecessors.
            if p.instructions.definition_count[i] and p.definitions.flags[p.instructions.definition_first[i]] & definition_fixed:
                _define(c, i, p.instructions.definition_first[i])
            continue
        if p.instructions.format[i] == format_pseudo_branch:
            left = True
            _leave(c, changed)
        _instruction(c, i)
    if not left:
        _leave(c, changed)
    for byte in range(file_bytes):
        row = _row(b, byte)
        if c.at_end[row] != c.contents[byte]:
            c.at_end[row] = c.contents[byte]
            changed[0] = True
    return 0


def check(Program program not None):
    """Return what is wrong as a list of (block, instruction, message)."""
    cdef Context c
    cdef ProgramData *p = &program.data
    cdef bint changed = True
    cdef uint32_t b
    cdef uint32_t rounds = 0
    c.p = p
    c.checking = False
    c.at_end.assign(<size_t>p.blocks.table.count * file_bytes, unvisited)
    c.contents.assign(file_bytes, unknown)
    with nogil:
        while changed and rounds < 64:
            changed = False
            rounds += 1
            for b in range(p.blocks.table.count):
                c.block = b
                _run_block(&c, &changed)
        c.checking = True
        for b in range(p.blocks.table.count):
            c.block = b
            _run_block(&c, &changed)
    return [(c.findings[k].block, c.findings[k].instruction, c.findings[k].message.decode())
            for k in range(c.findings.size())]
