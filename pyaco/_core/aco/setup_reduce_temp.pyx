"""Give reductions, scans and shuffles the linear VGPRs that they compute in.

They run with all lanes enabled, so their temporaries must not share registers with values of lanes that are switched off by
divergent control flow: they are linear VGPRs that begin in the nearest enclosing top-level block and end at the start of the
next one, after its phis (so that copies for phis find them still live). Operand 1 of a reduction is its temporary, operand
2 a second one for operations and cluster sizes that need it; operand 0 of ``p_bpermute_permlane`` is one. Instruction selection
left them undefined.

Needs: to run before the execution mask is inserted. Source of the scheme: ACO (``aco_reduce_assign``).
"""
from libc.stdint cimport uint32_t, uint8_t
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_p_bpermute_permlane, op_p_end_linear_vgpr, op_p_start_linear_vgpr,
)
from pyaco._core.aco.build cimport make
from pyaco._core.aco.lower_lane_operations cimport reduction_needs_second
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, Definition, InstructionId, Operand, OrderRow, Program, ProgramData, Rewrite, TempId, block_top_level, class_dwords,
    class_v1_linear, definition_of, format_pseudo_reduction, operand_late_kill, operand_of, operand_put, rewrite_begin,
    rewrite_block, rewrite_emit, rewrite_end, temp_new,
)

cdef struct Insertion:
    BlockId block
    uint32_t before                  # an instruction, or 0: at the end of the block
    InstructionId instruction


cdef struct Temporary:
    TempId temp
    int begins                       # top-level block at whose end it begins, -1 none


cdef cppclass Context:
    ProgramData *p
    uint8_t register_class
    int top_level                    # the last top-level block
    Temporary[2] temporaries
    vector[Insertion] starts         # before an instruction; all three in the order of the program
    vector[Insertion] starts_at_end  # before the branch of a block
    vector[Insertion] ends           # after the phis of a block


cdef int _note(vector[Insertion] *insertions, uint32_t block, uint32_t before, uint32_t instruction) except -1 nogil:
    cdef Insertion item
    item.block = block
    item.before = before
    item.instruction = instruction
    insertions.push_back(item)
    return 0


cdef bint _uses_temporary(const ProgramData *p, InstructionId i) noexcept nogil:
    return p.instructions.format[i] == format_pseudo_reduction or p.instructions.opcode[i] == op_p_bpermute_permlane


cdef int _provide(Context *c, uint32_t block, InstructionId i, uint32_t which, uint32_t operand) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Temporary *t = &c.temporaries[which]
    cdef Definition d
    cdef Operand o
    cdef InstructionId start
    if t.begins != c.top_level:
        t.temp = temp_new(p, c.register_class)
        d = definition_of(p, t.temp)
        start = make(p, op_p_start_linear_vgpr, &d, 1, NULL, 0)
        if c.top_level == <int>block:
            # In a top-level block it lives for this instruction only; later blocks make their own at the end of this one.
            _note(&c.starts, block, i, start)
        else:
            _note(&c.starts_at_end, <uint32_t>c.top_level, 0, start)
            t.begins = c.top_level
    o = operand_of(p, t.temp)
    o.flags |= operand_late_kill
    operand_put(p, p.instructions.operand_first[i] + operand, o)
    return 0


cdef int _end_temporaries(Context *c, uint32_t block) except -1 nogil:
    cdef uint32_t which
    cdef Operand o
    for which in range(2):
        if c.temporaries[which].begins >= 0:
            o = operand_of(c.p, c.temporaries[which].temp)
            o.flags |= operand_late_kill
            _note(&c.ends, block, 0, make(c.p, op_p_end_linear_vgpr, NULL, 0, &o, 1))
            c.temporaries[which].begins = -1
    return 0


cdef int _collect(Context *c) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    for b in range(p.blocks.table.count):
        if p.blocks.kind[b] & block_top_level:
            _end_temporaries(c, b)
            c.top_level = <int>b
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not _uses_temporary(p, i):
                continue
            if p.instructions.opcode[i] == op_p_bpermute_permlane:
                _provide(c, b, i, 0, 0)
                continue
            _provide(c, b, i, 0, 1)
            if p.instructions.operand_count[i] > 2 and reduction_needs_second(p, i):
                _provide(c, b, i, 1, 2)
    return 0


cdef int _write(Context *c) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Rewrite rewrite
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef uint32_t start = 0
    cdef uint32_t last = 0
    cdef uint32_t end = 0
    cdef bint front
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        front = True
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if front and not opcode_is_phi(p.instructions.opcode[i]):
                front = False
                while end < c.ends.size() and c.ends[end].block == b:
                    rewrite_emit(&rewrite, c.ends[end].instruction)
                    end += 1
            while start < c.starts.size() and c.starts[start].before == i:
                rewrite_emit(&rewrite, c.starts[start].instruction)
                start += 1
            while k + 1 == p.blocks.order_count[b] and last < c.starts_at_end.size() and c.starts_at_end[last].block == b:
                rewrite_emit(&rewrite, c.starts_at_end[last].instruction)
                last += 1
            rewrite_emit(&rewrite, i)
    return rewrite_end(&rewrite)


cdef int setup_reduce_temp_run(ProgramData *p) except -1 nogil:
    cdef Context c
    cdef OrderRow k
    cdef InstructionId i
    cdef uint32_t size = 0
    for k in range(p.order.table.count):
        i = p.order.instruction[k]
        if p.instructions.opcode[i] == op_p_bpermute_permlane and size == 0:
            size = 1
        elif p.instructions.format[i] == format_pseudo_reduction:
            if class_dwords(p.operands.register_class[p.instructions.operand_first[i]]) > size:
                size = class_dwords(p.operands.register_class[p.instructions.operand_first[i]])
    if size == 0:
        return 0
    if size > 2:
        with gil:
            raise ValueError("reductions work on one or two dwords")
    c.p = p
    c.register_class = <uint8_t>(class_v1_linear - 1 + size)
    c.top_level = -1
    c.temporaries[0].begins = -1
    c.temporaries[1].begins = -1
    _collect(&c)
    return _write(&c)


cdef int _kernel(void *ir, int option) except -1 nogil:
    setup_reduce_temp_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Give reductions and shuffles their linear VGPRs."""
    with nogil:
        _kernel(&program.data, 0)
    return True
