"""Constants in SGPRs are made again where their next use is far: a move costs less than a register for so long.

Instruction selection and value numbering make each constant once, before its first use. In a long program hundreds of them would be
live from its beginning to its end: more than there are SGPRs, and every live set would grow with the program, so that liveness, spilling and
register allocation were not linear in its size. Here a use that is more than `far` instructions behind the one before it, in program order, gets a
copy of its own, which serves the uses behind it that it dominates. A phi that far behind a constant of one SGPR names the constant itself: it is
copied where the edge begins.

Needs: SSA, dominators, an explicit execution mask (nothing is inserted into programs afterwards that would have to know of the copies).
Guarantees: what was true stays true; scc is not written. Source: P. Briggs, K. Cooper, L. Torczon,
"Rematerialization" (1992), for values that are cheaper made than kept.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from isa_opcodes cimport op_p_parallelcopy
from pyaco._core.aco.build cimport emit_1
from pyaco._core.aco.dominance cimport dominates_linear
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, OrderRow, Program, ProgramData, Rewrite, TempId, class_is_vgpr, class_s1,
    definition_fixed, definition_of, definition_temp, operand_at, operand_constant, operand_put, operand_temp, rewrite_begin, rewrite_block,
    rewrite_emit, rewrite_end, temp_new,
)

cdef struct Constant:
    InstructionId maker
    TempId name                     # the temp that has it now
    BlockId block                   # of that temp
    uint32_t made                   # its place in program order
    uint32_t place                  # of the last use
    uint8_t needed                  # a phi, or a use near by, reads the original


cdef cppclass Constants:
    vector[Constant] rows           # from 1 on
    Zeroed[uint32_t] of_temp        # row of those temps that there were before the pass


cdef inline Constant *_constant_at(const ProgramData *p, Constants *constants, OperandRow row) noexcept nogil:
    """The constant that an operand reads, or NULL; what is in VGPRs, most of all, is not even looked up."""
    cdef uint32_t number
    if not p.operands.flags[row] & operand_temp or class_is_vgpr(p.operands.register_class[row]) \
            or p.operands.data[row] >= constants.of_temp.size():
        return NULL
    number = constants.of_temp[p.operands.data[row]]
    return &constants.rows[number] if number else NULL


cdef bint _is_constant(const ProgramData *p, InstructionId i) noexcept nogil:
    """A constant is put into one SGPR, or a pair, any one."""
    cdef DefinitionRow d = p.instructions.definition_first[i]
    if p.instructions.opcode[i] != op_p_parallelcopy or p.instructions.definition_count[i] != 1 or p.instructions.operand_count[i] != 1:
        return False
    if p.definitions.flags[d] & (definition_temp | definition_fixed) != definition_temp or class_is_vgpr(p.definitions.register_class[d]):
        return False
    return p.operands.flags[p.instructions.operand_first[i]] & operand_constant != 0


cdef int _find_makers(const ProgramData *p, Constants *constants) except -1 nogil:
    """Find the constants, and where they are made."""
    cdef BlockId b
    cdef OrderRow k
    cdef uint32_t place = 0
    cdef InstructionId i
    constants.of_temp.assign(p.temps.table.count)
    constants.rows.resize(1)
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[k]
            place += 1
            if _is_constant(p, i):
                constants.of_temp[p.definitions.temp[p.instructions.definition_first[i]]] = <uint32_t>constants.rows.size()
                constants.rows.push_back(Constant(maker=i, name=0, block=0, made=place, place=place, needed=False))
    return 0


cdef inline bint _phi_is_far(const ProgramData *p, const Constant *c, uint32_t place, uint32_t far) noexcept nogil:
    """Whether a phi names the constant itself. That of a back edge may stand before what makes its operand."""
    return place > c.made and place - c.made > far and \
        p.definitions.register_class[p.instructions.definition_first[c.maker]] == class_s1


cdef bint _find_uses(const ProgramData *p, Constants *constants, uint32_t far, InstructionId i, uint32_t place) noexcept nogil:
    """Note what an instruction reads; whether a use is far."""
    cdef OperandRow row
    cdef Constant *c
    cdef bint any_far = False
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        c = _constant_at(p, constants, row)
        if c == NULL:
            continue
        if opcode_is_phi(p.instructions.opcode[i]):
            if _phi_is_far(p, c, place, far):
                any_far = True
            else:
                c.needed = True
            continue
        if place - c.place > far:
            any_far = True
        elif c.place == c.made:          # the first use
            c.needed = True
        c.place = place
    return any_far


cdef bint _find(const ProgramData *p, Constants *constants, uint32_t far) except -1 nogil:
    """Find the constants, and which of them something reads where they are made; False: every use is near.

    Places are counted through the blocks, as `_rewrite` does: the rows of the order need not stand in that order, nor all be in use.
    """
    cdef BlockId b
    cdef OrderRow k
    cdef uint32_t place = 0
    cdef bint any_far = False
    _find_makers(p, constants)
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            place += 1
            any_far |= _find_uses(p, constants, far, p.order.instruction[k], place)
    return any_far


cdef void _phi_operands(ProgramData *p, Constants *constants, uint32_t far, InstructionId i, uint32_t place) noexcept nogil:
    """Give a phi the constants that it is far behind."""
    cdef OperandRow row
    cdef const Constant *c
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        c = _constant_at(p, constants, row)
        if c != NULL and _phi_is_far(p, c, place, far):
            operand_put(p, row, operand_at(p, p.instructions.operand_first[c.maker]))


cdef int _operands(ProgramData *p, Constants *constants, Rewrite *out, uint32_t far, BlockId block, InstructionId i,
                   uint32_t place) except -1 nogil:
    """Give an instruction the names that its constants have now, and make those again whose last use is far."""
    cdef uint32_t j
    cdef OperandRow row
    cdef TempId name
    cdef Constant *c
    for j in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + j
        c = _constant_at(p, constants, row)
        if c == NULL:
            continue
        if place - c.place > far or not dominates_linear(p, c.block, block):
            name = temp_new(p, p.temps.register_class[c.name])
            emit_1(out, op_p_parallelcopy, definition_of(p, name), operand_at(p, p.instructions.operand_first[c.maker]))
            c.name = name
            c.block = block
        c.place = place
        p.operands.data[p.instructions.operand_first[i] + j] = c.name
    return 0


cdef int _rewrite(ProgramData *p, Constants *constants, uint32_t far) except -1 nogil:
    cdef Rewrite out
    cdef BlockId b
    cdef OrderRow k
    cdef uint32_t place = 0
    cdef InstructionId i
    cdef TempId temp
    cdef Constant *c
    rewrite_begin(&out, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&out, b)
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[k]
            place += 1
            if opcode_is_phi(p.instructions.opcode[i]):
                _phi_operands(p, constants, far, i, place)
            else:
                _operands(p, constants, &out, far, b, i, place)
            if _is_constant(p, i):
                temp = p.definitions.temp[p.instructions.definition_first[i]]
                c = &constants.rows[constants.of_temp[temp]]
                c.name = temp
                c.block = b
                c.place = place
                if not c.needed:
                    continue
            rewrite_emit(&out, i)
    return rewrite_end(&out)


cdef bint rematerialize_constants_run(ProgramData *p, uint32_t far) except -1 nogil:
    cdef Constants constants
    if p.order.table.count <= far:
        return False
    if not _find(p, &constants, far):
        return False
    _rewrite(p, &constants, far)
    return True


cdef int _kernel(void *ir, int option) except -1 nogil:
    return rematerialize_constants_run(<ProgramData *>ir, <uint32_t>max(option, 0))


kernel = native_kernel(_kernel, lambda options, level: options["far"])


def run(Program program not None, options=None):
    """Make constants again in front of uses that are far behind the one before; option ``far``: more instructions than this (1000)."""
    cdef int far = (options or {}).get("far", 1000)
    cdef bint progress
    with nogil:
        progress = _kernel(&program.data, far)
    return progress
