"""m0 = -1 where LDS is used, GFX6 to GFX8: its instructions check addresses against m0 there.

Most programs write m0 nowhere else, and once at the start is enough. Otherwise a block writes it in front of its first access after a
place where m0 may hold something else, the start of the block among them. Instructions that only move data between lanes do not look at it.
Needs: hardware instructions. Source: AMD "Volcanic Islands" ISA document, "LDS Access" (M0 is used for bounds).
"""
from libc.stdint cimport uint16_t, uint32_t

from isa_opcodes cimport op_ds_bpermute_b32, op_ds_nop, op_ds_permute_b32, op_ds_swizzle_b32, op_s_mov_b32
from modifiers cimport modifier_gds
from pyaco._core.aco.build cimport emit_1, sgpr_definition
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, Program, ProgramData, Rewrite, format_ds, gfx9, operand_c32, register_m0, rewrite_begin, rewrite_block, rewrite_emit,
    rewrite_end,
)


cdef bint _reads_bound(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    return p.instructions.format[i] == format_ds and not modifier_gds(p.instructions.modifiers[i]) \
        and opcode not in (op_ds_bpermute_b32, op_ds_nop, op_ds_permute_b32, op_ds_swizzle_b32)


cdef bint _writes_m0(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint32_t k
    for k in range(p.instructions.definition_count[i]):
        if p.definitions.reg[p.instructions.definition_first[i] + k] == register_m0:
            return True
    return False


cdef bint init_m0_run(ProgramData *p) except -1 nogil:
    cdef Rewrite rewrite
    cdef bint used = False
    cdef bint written = False
    cdef bint ready = False
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    if p.gfx_level >= gfx9:
        return False
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            used |= _reads_bound(p, i)
            written |= _writes_m0(p, i)
    if not used:
        return False
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        if written:
            ready = False
        elif b == 0:
            emit_1(&rewrite, op_s_mov_b32, sgpr_definition(register_m0), operand_c32(0xffffffffU))
            ready = True
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if _reads_bound(p, i) and not ready:
                emit_1(&rewrite, op_s_mov_b32, sgpr_definition(register_m0), operand_c32(0xffffffffU))
                ready = True
            rewrite_emit(&rewrite, i)
            if _writes_m0(p, i):
                ready = False
    rewrite_end(&rewrite)
    return True


cdef int _kernel(void *ir, int option) except -1 nogil:
    return init_m0_run(<ProgramData *>ir)


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Write the bound of LDS into m0."""
    cdef bint progress
    with nogil:
        progress = _kernel(&program.data, 0)
    return progress
