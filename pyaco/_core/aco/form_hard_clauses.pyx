"""Group neighbouring memory operations of one type into clauses (``s_clause``), GFX10 and later.

The members of a clause are issued without another wave in between, so operations that touch neighbouring addresses find their
cache lines still present. Needs: the final order of instructions. Sources: AMD "RDNA" ISA documents, "Instruction clauses"; LLVM for
the limit of 32 on GFX11 (longer ones hang, although 63 are documented).
"""
from libc.stdint cimport uint16_t, uint32_t

from isa_opcodes cimport op_image_bvh64_intersect_ray, op_image_bvh_intersect_ray, op_s_clause
from isa_tables cimport is_atomic
from pyaco._core.aco.build cimport emit_0
from pyaco._core.aco.queries cimport form_clause, separate_address_dwords
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, OperandRow, Program, ProgramData, Rewrite, class_s4, format_flat, format_global,
    format_is_flat_like, format_is_vmem, format_mimg, format_scratch, format_smem, gfx10, gfx11, operand_undef, rewrite_begin,
    rewrite_block, rewrite_emit, rewrite_end,
)

cdef enum ClauseType:
    type_other
    type_smem
    type_vmem                        # GFX10
    type_flat
    type_load                        # GFX11 and later: by what the operation does
    type_store
    type_atomic
    type_image_load
    type_image_store
    type_image_atomic
    type_image_sample
    type_bvh
    type_flat_load
    type_flat_store
    type_flat_atomic


cdef ClauseType _image_type(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow sampler = p.instructions.operand_first[i] + 1
    if opcode == op_image_bvh_intersect_ray or opcode == op_image_bvh64_intersect_ray:
        return type_bvh
    if is_atomic(opcode):
        return type_image_atomic
    if p.instructions.definition_count[i] == 0:
        return type_image_store
    if not p.operands.flags[sampler] & operand_undef and p.operands.register_class[sampler] == class_s4:
        return type_image_sample
    return type_image_load


cdef ClauseType _type(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef bint store = p.instructions.definition_count[i] == 0
    if format == format_smem:
        return type_smem if p.instructions.operand_count[i] else type_other
    if p.gfx_level < gfx11:
        if format_is_vmem(format) and p.instructions.operand_count[i]:
            # Image addresses in separate registers break clauses on the first RDNA.
            if p.gfx_level == gfx10 and format == format_mimg and separate_address_dwords(p, i):
                return type_other
            return type_vmem
        if format == format_scratch or format == format_global:
            return type_vmem
        return type_flat if format == format_flat else type_other
    if format == format_mimg:
        return _image_type(p, i)
    if format == format_flat:
        return type_flat_atomic if is_atomic(p.instructions.opcode[i]) else type_flat_store if store else type_flat_load
    if format_is_vmem(format) or format_is_flat_like(format):
        return type_atomic if is_atomic(p.instructions.opcode[i]) else type_store if store else type_load
    return type_other


cdef int _emit(Rewrite *rewrite, const SmallVector[uint32_t] *members) except -1 nogil:
    """Write the collected instructions, with an ``s_clause`` in front if there are several."""
    cdef ProgramData *p = rewrite.program
    cdef uint32_t count = <uint32_t>members.size()
    cdef uint32_t start = 0
    cdef uint32_t end = count
    cdef uint32_t k
    if p.gfx_level < gfx11:
        # Stores stay out of clauses: they are of no use there.
        while start < count and p.instructions.definition_count[members[0][start]] == 0:
            start += 1
        end = start
        while end < count and p.instructions.definition_count[members[0][end]] != 0:
            end += 1
    for k in range(count):
        if k == start and end - start > 1:
            emit_0(rewrite, op_s_clause, end - start - 1)
        rewrite_emit(rewrite, members[0][k])
    return 0


cdef int form_hard_clauses_run(ProgramData *p) except -1 nogil:
    cdef Rewrite rewrite
    cdef SmallVector[uint32_t] members
    cdef ClauseType current = type_other
    cdef ClauseType following
    cdef uint32_t limit = 32 if p.gfx_level >= gfx11 else 63
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        members.clear()
        current = type_other
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            following = _type(p, i)
            if following != current or members.size() == limit or (members.size() and not form_clause(p, members[0], i)):
                _emit(&rewrite, &members)
                members.clear()
                current = following
            if following == type_other:
                rewrite_emit(&rewrite, i)
            else:
                members.push_back(i)
        _emit(&rewrite, &members)
    return rewrite_end(&rewrite)


cdef int _kernel(void *ir, int option) except -1 nogil:
    if (<ProgramData *>ir).gfx_level < gfx10:
        return 0
    form_hard_clauses_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Form clauses of memory operations."""
    cdef bint progress
    with nogil:
        progress = _kernel(&program.data, 0)
    return progress
