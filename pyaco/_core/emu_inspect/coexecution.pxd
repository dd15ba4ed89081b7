"""Hazards of GFX12.5: matrix and transcendental operations run beside other vector instructions, which hardware does not keep apart from them.

====================  =========================================================================================================================
TransCoexecution      result of a transcendental read by the next vector instruction, or what it reads written
WMMA                  result of a matrix operation that the next vector instruction, another one, reads as A, B or index
WMMACoexecution       registers of a matrix operation within so many vector instructions as its cycles say: its result read as A, B or index, or
                      by another vector instruction; what it reads or writes written by another vector instruction
AsyncBarrierArrive    ds_atomic_async_barrier_arrive_b64 not surrounded by s_wait_alu vm_vsrc(0)
ScratchBaseForward    s102 or s103 written, then the base of scratch read before ten other writes of SGPRs
====================  =========================================================================================================================

Sources: LLVM 23, GCNHazardRecognizer (fixVALUTransCoexecutionHazards, fixWMMAHazards, checkWMMACoexecutionHazards, fixDsAtomicAsyncBarrierArriveB64,
fixScratchBaseForwardingHazard). Where two matrix operations clash with an instruction only the later one counts, as there (LLVM 22 counts the
first whose needs are not met, and lets the other one pass); calls and
returns end all hazards, because compilers track nothing across them. S_SETREG of MODE needs nothing: LLVM 23 has a rule (fixSetRegMode), which it
applies to bit 0 alone.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.emu.wave cimport Instruction, Wave
from pyaco._core.emu_inspect.waits cimport Finding

cdef enum:
    rule_trans_coexecution = 18       # behind those of ``hazards.pxd``
    rule_product = 15                 # the same as there
    rule_wmma_coexecution = 19
    rule_async_barrier_arrive = 20
    rule_scratch_base = 21
    product_count = 32                # more than vector instructions that a matrix operation may have to wait for

cdef struct Registers:                # bytes of an operand, as `Decoded` has addresses; first 0xffff: none
    uint32_t first
    uint32_t end

cdef struct Product:                  # a matrix operation
    uint64_t pc
    int32_t time                      # in vector instructions
    uint16_t opcode
    uint8_t to_matrix                 # vector instructions to keep between it and another one
    uint8_t to_vector                 # ... and another vector instruction
    Registers result
    Registers read[3]                 # A, B, index

cdef struct Early:                    # an instruction that others have to keep away from; pc 0: none
    uint64_t pc
    uint16_t opcode

cdef struct Coexecution:              # of one wave
    int32_t valu                      # vector instructions so far
    uint32_t products
    Product product[product_count]    # a ring
    Early transcendental              # the last vector instruction, where it is one
    Registers transcendental_result
    Registers transcendental_read[4]
    Early base_write[2]               # of s102 and s103
    int32_t base_age[2]               # SGPR writes since
    Early memory                      # since the last s_wait_alu vm_vsrc(0)
    Early arrival                     # likewise

cdef bint coexecution_check(const Coexecution *state, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                            Finding *finding) noexcept nogil
cdef void coexecution_account(Coexecution *state, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil
