"""Assembler: ACO IR with assigned registers to machine code.

Needs hardware instructions only, except p_constaddr_getpc and p_constaddr_addlo, which it turns into s_getpc_b64 and
s_add_u32 with the distance to the constant data, and p_unit_test, which has no code. A SOPP branch names its target block
in the immediate. Guarantees ``program.code`` and every block's ``offset``.

Layout: blocks in order; then five s_code_end words that mark the end for tools and for the instruction prefetcher of GFX10
and later; constant data is expected at the next multiple of 64 bytes. A branch whose distance exceeds 16 bits becomes a jump
through the SGPR pair that its definition reserves: s_getpc_b64, an addition that stashes scc in the address's free low bit,
s_setpc_b64. On GFX12 s_sext_i32_i16 follows s_getpc_b64: the program counter comes back as 48 bits, and an address repeats its
sign above them. Code never crosses a multiple of 4 GiB, so the high half of the address stays. On GFX10.1 a branch over exactly 63
dwords hangs, so a nop follows it ("RDNA ISA", known issues).

Source of the rules: Mesa's ``aco_assembler.cpp`` and the AMD ISA documents (SOPP branches, S_GETPC_B64).
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from isa_opcodes cimport *
from isa_tables cimport opcode_name
from pyaco._core.aco.encode cimport encode_instruction
from pyaco._core.common.bits cimport align_up
from pyaco._core.common.table cimport table_append_many, table_truncate
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport *
from pyaco._core.ir.source_lines cimport line_none
from pyaco._core.isa.decode cimport Decoded
from pyaco._core.isa.encode cimport encode, encode_error, encode_limit


cdef struct Branch:
    uint32_t position                 # of the branch word; of the word after s_getpc_b64, the base of the distance, once it is long
    uint32_t target                   # block
    InstructionId instruction
    uint32_t literal                  # position of the distance of a long jump, 0 while it is short


cdef struct Address:
    uint32_t identity                 # pairs a p_constaddr_getpc with its p_constaddr_addlo
    uint32_t base                     # word after s_getpc_b64
    uint32_t literal                  # word that takes the distance


cdef struct LineRow:
    uint32_t position                 # word from which on the code comes from this line
    uint32_t file
    uint32_t line


cdef struct Assembler:
    ProgramData *p
    vector[uint32_t] *code
    vector[Branch] *branches
    vector[Address] *addresses
    vector[LineRow] *lines
    bint stray_bits


cdef inline bint is_branch(uint16_t opcode) noexcept nogil:
    return (opcode == op_s_branch or opcode == op_s_cbranch_scc0 or opcode == op_s_cbranch_scc1
            or opcode == op_s_cbranch_vccz or opcode == op_s_cbranch_vccnz
            or opcode == op_s_cbranch_execz or opcode == op_s_cbranch_execnz)


cdef inline uint16_t inverse(uint16_t opcode) noexcept nogil:
    """The branch that is taken when `opcode` is not."""
    if opcode == op_s_cbranch_scc0:
        return op_s_cbranch_scc1
    if opcode == op_s_cbranch_scc1:
        return op_s_cbranch_scc0
    if opcode == op_s_cbranch_vccz:
        return op_s_cbranch_vccnz
    if opcode == op_s_cbranch_vccnz:
        return op_s_cbranch_vccz
    if opcode == op_s_cbranch_execz:
        return op_s_cbranch_execnz
    return op_s_cbranch_execz


cdef Decoded scalar(uint16_t opcode, uint16_t format, uint16_t destination, uint16_t first, uint16_t second) noexcept nogil:
    """A scalar instruction; register_none leaves an operand out."""
    cdef Decoded d
    memset(&d, 0, sizeof(Decoded))
    d.opcode = opcode
    d.format = format
    if destination != register_none:
        d.destination[0] = destination
        d.destination_count = 1
    if first != register_none:
        d.source[0] = first
        d.source_count = 1
        if second != register_none:
            d.source[1] = second
            d.source_count = 2
    return d


cdef int append(ProgramData *p, vector[uint32_t] *code, const Decoded *d) except -1 nogil:
    cdef uint32_t words[encode_limit + 2]
    cdef int length = encode(d, p.gfx_level, words)
    cdef int i
    if length < 0:
        with gil:
            raise RuntimeError(f"{opcode_name[d.opcode].decode()}: {encode_error(length).decode()}")
    for i in range(length):
        code.push_back(words[i])
    return 0


# --------------------------------------------------------------------------------------------------- addresses of constants
cdef int emit_getpc(Assembler *a, InstructionId i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef Decoded d = scalar(op_s_getpc_b64, format_sop1, p.definitions.reg[p.instructions.definition_first[i]],
                            register_none, register_none)
    cdef Address address
    append(p, a.code, &d)
    address.identity = p.operands.data[p.instructions.operand_first[i]]
    address.base = <uint32_t>a.code.size()
    address.literal = 0
    a.addresses.push_back(address)
    return 0


cdef int emit_addlo(Assembler *a, InstructionId i) except -1 nogil:
    """s_add_u32 of the low half: operands are the half, the offset in the constants and the identity of the getpc."""
    cdef ProgramData *p = a.p
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint32_t identity = p.operands.data[row + 2]
    cdef Decoded d = scalar(op_s_add_u32, format_sop2, p.definitions.reg[p.instructions.definition_first[i]],
                            p.operands.reg[row], 255 * 4)
    cdef int64_t k
    d.literal = p.operands.data[row + 1]
    append(p, a.code, &d)
    k = <int64_t>a.addresses.size() - 1
    while k >= 0:
        if a.addresses[0][k].identity == identity and a.addresses[0][k].literal == 0:
            a.addresses[0][k].literal = <uint32_t>a.code.size() - 1
            return 0
        k -= 1
    with gil:
        raise RuntimeError(f"p_constaddr_addlo {identity} has no p_constaddr_getpc before it")


# ------------------------------------------------------------------------------------------------------------- instructions
cdef int note_line(Assembler *a, InstructionId i) except -1 nogil:
    """Begin a row of the line table where an instruction comes from another line than the one before it."""
    cdef LineRow row
    row.position = <uint32_t>a.code.size()
    row.file = row.line = 0
    if i < a.p.lines.table.count and a.p.lines.line[i] != line_none:
        row.file = a.p.lines.file[i]
        row.line = a.p.lines.line[i]
    if a.lines.empty() or a.lines.back().line != row.line or a.lines.back().file != row.file:
        a.lines.push_back(row)
    return 0


cdef int emit(Assembler *a, InstructionId i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t words[encode_limit + 2]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Branch branch
    cdef int length, k
    if opcode == op_p_constaddr_getpc:
        return emit_getpc(a, i)
    if opcode == op_p_constaddr_addlo:
        return emit_addlo(a, i)
    if opcode == op_p_unit_test or opcode == op_p_debug_info:
        return 0
    if is_branch(opcode):
        branch.position = <uint32_t>a.code.size()
        branch.target = p.instructions.immediate[i]
        branch.instruction = i
        branch.literal = 0
        if branch.target >= p.blocks.table.count:
            with gil:
                raise RuntimeError(f"{opcode_name[opcode].decode()} to block {branch.target}, which does not exist")
        a.branches.push_back(branch)
    length = encode_instruction(p, i, p.gfx_level, words, a.stray_bits)
    for k in range(length):
        a.code.push_back(words[k])
    return 0


cdef int emit_blocks(Assembler *a) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t b, k, first
    cdef uint16_t last = op_invalid
    cdef Decoded end
    for b in range(p.blocks.table.count):
        p.blocks.offset[b] = <uint32_t>a.code.size()
        first = p.blocks.order_first[b]
        for k in range(p.blocks.order_count[b]):
            last = p.instructions.opcode[p.order.instruction[first + k]]
            if p.lines.table.count:
                note_line(a, p.order.instruction[first + k])
            emit(a, p.order.instruction[first + k])
    if not a.lines.empty():
        note_line(a, 0)               # what follows comes from no line
    if last != op_s_endpgm and last != op_s_branch and last != op_s_setpc_b64 and last != op_s_endpgm_saved:
        end = scalar(op_s_endpgm, format_sopp, register_none, register_none, register_none)
        append(p, a.code, &end)
    return 0


# ------------------------------------------------------------------------------------------------------------------ branches
cdef void insert(Assembler *a, uint32_t position, const uint32_t *words, uint32_t count) noexcept nogil:
    """Puts words at `position`; everything that lies at or after it moves."""
    cdef ProgramData *p = a.p
    cdef size_t k
    cdef BlockId b
    a.code.insert(a.code.begin() + position, words, words + count)
    for b in range(p.blocks.table.count):
        if p.blocks.offset[b] >= position:
            p.blocks.offset[b] += count
    for k in range(a.branches.size()):
        if a.branches[0][k].position >= position:
            a.branches[0][k].position += count
        if a.branches[0][k].literal >= position:
            a.branches[0][k].literal += count
    for k in range(a.addresses.size()):
        if a.addresses[0][k].base > position:
            a.addresses[0][k].base += count
        if a.addresses[0][k].literal >= position:
            a.addresses[0][k].literal += count
    for k in range(a.lines.size()):
        if a.lines[0][k].position >= position:
            a.lines[0][k].position += count


cdef bint only_ends(const ProgramData *p, BlockId block) noexcept nogil:
    """Whether a block reads nothing and ends the program."""
    cdef uint32_t k, i
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        if p.instructions.opcode[i] == op_s_endpgm:
            return True
        if p.instructions.operand_count[i] or p.instructions.definition_count[i] or is_branch(p.instructions.opcode[i]):
            return False
    return False


cdef int long_jump(Assembler *a, Branch *branch) except -1 nogil:
    """Replaces a branch word by the jump through its reserved SGPR pair."""
    cdef ProgramData *p = a.p
    cdef uint16_t opcode = p.instructions.opcode[branch.instruction]
    cdef DefinitionRow row = p.instructions.definition_first[branch.instruction]
    cdef uint16_t low
    cdef vector[uint32_t] code
    cdef Decoded d
    cdef uint32_t position = branch.position
    cdef uint32_t base, literal
    if p.instructions.definition_count[branch.instruction]:
        low = p.definitions.reg[row]
    elif p.blocks.kind[branch.target] & block_discard_early_exit or only_ends(p, branch.target):
        # nothing is live there
        low = 0
    else:
        with gil:
            raise RuntimeError("a branch is too far for 16 bits and reserves no SGPR pair for a long jump")
    if opcode != op_s_branch:
        d = scalar(inverse(opcode), format_sopp, register_none, register_none, register_none)
        d.immediate = 7 if p.gfx_level >= gfx12 else 6        # the words of the jump
        append(p, &code, &d)
    d = scalar(op_s_getpc_b64, format_sop1, low, register_none, register_none)
    append(p, &code, &d)
    base = <uint32_t>code.size()
    if p.gfx_level >= gfx12:
        d = scalar(op_s_sext_i32_i16, format_sop1, low + 4, low + 4, register_none)
        append(p, &code, &d)
    # The address of an instruction has a free low bit: the carry-in leaves scc there until the pc is known.
    d = scalar(op_s_addc_u32, format_sop2, low, low, 255 * 4)
    append(p, &code, &d)
    literal = <uint32_t>code.size() - 1
    d = scalar(op_s_bitcmp1_b32, format_sopc, register_none, low, 128 * 4)
    append(p, &code, &d)
    d = scalar(op_s_bitset0_b32, format_sop1, low, 128 * 4, register_none)
    append(p, &code, &d)
    d = scalar(op_s_setpc_b64, format_sop1, register_none, low, register_none)
    append(p, &code, &d)
    a.code[0][position] = code[0]
    insert(a, position + 1, code.data() + 1, <uint32_t>code.size() - 1)
    branch.position = position + base
    branch.literal = position + literal
    return 0


# A nop after every branch over exactly 63 dwords, until there is none.
cdef void avoid_defect(Assembler *a) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef bint found = True
    cdef size_t k
    cdef uint32_t nop = 0xbf800000U
    cdef Branch *branch
    while found:
        found = False
        for k in range(a.branches.size()):
            branch = &a.branches[0][k]
            if branch.literal == 0 and <int64_t>p.blocks.offset[branch.target] - branch.position - 1 == 63:
                insert(a, branch.position + 1, &nop, 1)
                found = True
                break


cdef int place_branches(Assembler *a) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef bint changed = True
    cdef size_t k
    cdef int64_t distance
    cdef Branch *branch
    while changed:
        changed = False
        if p.gfx_level == gfx10:
            avoid_defect(a)
        for k in range(a.branches.size()):
            branch = &a.branches[0][k]
            distance = <int64_t>p.blocks.offset[branch.target] - branch.position - 1
            if branch.literal == 0 and (distance < -32768 or distance > 32767):
                long_jump(a, branch)
                changed = True
    for k in range(a.branches.size()):
        branch = &a.branches[0][k]
        if branch.literal:
            distance = <int64_t>p.blocks.offset[branch.target] - branch.position
            a.code[0][branch.literal] = <uint32_t>(distance * 4)
        else:
            distance = <int64_t>p.blocks.offset[branch.target] - branch.position - 1
            a.code[0][branch.position] = (a.code[0][branch.position] & 0xffff0000U) | <uint32_t>(distance & 0xffff)
    return 0


cdef int finish(Assembler *a) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef size_t k
    cdef uint32_t constants, rows
    # before GFX10 these words are no instructions, and only ACO emits them
    if a.stray_bits or p.gfx_level >= gfx10:
        for _ in range(5):
            a.code.push_back(0xbf9f0000U)
    constants = <uint32_t>a.code.size() * 4
    if p.constant_data.table.count:
        constants = <uint32_t>align_up(constants, 64)
    for k in range(a.addresses.size()):
        if a.addresses[0][k].literal:
            a.code[0][a.addresses[0][k].literal] += constants - a.addresses[0][k].base * 4
    rows = <uint32_t>a.code.size() * 4
    table_truncate(&p.code_lines.table, 0)
    table_append_many(&p.code_lines.table, <uint32_t>a.lines.size())
    for k in range(a.lines.size()):
        p.code_lines.offset[k] = a.lines[0][k].position * 4
        p.code_lines.file[k] = a.lines[0][k].file
        p.code_lines.line[k] = a.lines[0][k].line
    table_truncate(&p.code.table, 0)
    table_append_many(&p.code.table, rows)
    memcpy(p.code.byte, a.code.data(), rows)
    return 0


cdef int assemble_run(ProgramData *program, bint stray_bits) except -1 nogil:
    cdef vector[uint32_t] code
    cdef vector[Branch] branches
    cdef vector[Address] addresses
    cdef vector[LineRow] lines
    cdef Assembler a
    a.p = program
    a.code = &code
    a.branches = &branches
    a.addresses = &addresses
    a.lines = &lines
    a.stray_bits = stray_bits
    code.reserve(2 * program.order.table.count)
    emit_blocks(&a)
    place_branches(&a)
    return finish(&a)


cdef int _kernel(void *ir, int option) except -1 nogil:
    assemble_run(<ProgramData *>ir, not option)
    return 1


kernel = native_kernel(_kernel, lambda options, level: options["zero_unused"])


def run(Program program not None, options=None):
    """Assemble `program`; its ``code`` holds the machine code afterwards.

    Parameters
    ----------
    program
        ACO IR of hardware instructions with assigned registers.
    options
        ``zero_unused``: write zero to fields that do not count and leave out end marks that are no instructions, so that a
        listing of the code assembles to the same words; otherwise as ACO's assembler has it (the code of an undefined operand).

    Raises
    ------
    RuntimeError
        An instruction has no encoding for the program's gfx level: a defect of an earlier pass.
    """
    cdef bint zero_unused = (options or {}).get("zero_unused", False)
    with nogil:
        _kernel(&program.data, zero_unused)
    return True
