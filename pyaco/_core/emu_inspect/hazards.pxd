"""Hazards of GFX10 to GFX13: what these generations do not interlock, so that programs have to wait.

The names are AMD's, as LLVM and ACO have them. Events are recorded as the wave executes, so hazards are found on the path that ran:

=======================  ===================  ==========================================================================================
VMEMtoScalarWrite        GFX10.1              SGPR, or EXEC, that memory instructions read, then written by SALU or SMEM
SMEMtoVectorWrite        GFX10.1              SGPR that SMEM reads, then written by VALU
VcmpxExecWAR             GFX10.1              EXEC that SALU reads, then written by VALU
LdsBranchVmemWAR         GFX10.1              LDS, branch, memory, or memory, branch, LDS
NSAtoVMEM                GFX10.1              image access of four words, then a buffer access with bit 1 or 2 of its offset set
NSAClause                GFX10.1              image access of more than two words within a clause
Offset3F                 GFX10.1              branch with the offset 0x3f
FPAtomicToDenormMode     GFX10                atomic of floats, then s_denorm_mode
VcmpxPermlane            GFX10.1, from GFX11  v_cmpx, then v_permlane
LdsDirectVALU            GFX11 to 13          VGPR that VALU uses, then written by an LDS direct load
LdsDirectVMEM            GFX11 to 13          VGPR that memory instructions use, then written by an LDS direct load
VALUTransUse             GFX11.0              result of a transcendental read by VALU
VALUPartialForwarding    GFX11, wave64        two sources, written before and behind a write of EXEC by SALU
VALUMaskWrite            GFX11, wave64        lane mask that VALU reads, then written by SALU and read, or written by VALU and read by VALU
DeallocVGPRs             GFX11                s_sendmsg that gives VGPRs back, without s_nop right before it
WMMA                     GFX11, 12            result of a matrix operation that the next one reads as A, B or index
VALUReadSGPR             GFX12                SGPR that VALU reads, then written, then read by VALU, or by SALU what SALU wrote
GetRegIdle               from GFX12.5         s_getreg of a status register, without s_wait_alu 0 right before it
=======================  ===================  ==========================================================================================

Those of GFX12.5 alone are in ``coexecution.pxd``; of GFX12.5 and GFX13 LLVM 23 is the only source. Elsewhere a hazard counts as resolved where
LLVM 22, Mesa 26 or this project's compiler takes it as resolved; where one of them sees no hazard at all, there is none here (VALUMaskWrite:
LLVM 22 waits even where a vector instruction has read another SGPR since the lane mask was read, which Mesa takes for enough).
Sources: AMD "RDNA 3" ISA document, "Manually inserted wait states"; LLVM (GCNHazardRecognizer,
AMDGPUWaitSGPRHazards, SIInsertHardClauses); Mesa (ACO's README, "hardware bugs and hazards").
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.emu.wave cimport Instruction, Wave
from pyaco._core.emu_inspect.coexecution cimport Coexecution
from pyaco._core.emu_inspect.waits cimport Finding

cdef enum:
    rule_none = 0
    rule_vmem_to_scalar_write = 1
    rule_smem_to_vector_write = 2
    rule_vcmpx_exec_war = 3
    rule_lds_branch_vmem_war = 4
    rule_nsa_to_vmem = 5
    rule_nsa_clause = 6
    rule_offset_3f = 7
    rule_fp_atomic_to_denorm_mode = 8
    rule_vcmpx_permlane = 9
    rule_lds_direct_valu = 10
    rule_lds_direct_vmem = 11
    rule_valu_trans_use = 12
    rule_valu_partial_forwarding = 13
    rule_valu_mask_write = 14
    rule_wmma = 15
    rule_valu_read_sgpr = 16
    rule_dealloc_vgprs = 17           # 18 to 21: ``coexecution.pxd``
    rule_get_reg_idle = 22

cdef struct Mark:                     # the last instruction that did something; kind 0: none
    uint64_t pc
    uint16_t opcode
    uint8_t kind
    int32_t time                      # in vector or scalar instructions
    int32_t order

cdef struct Hazards:                  # of one wave
    int32_t now                       # wait states
    int32_t valu                      # vector instructions so far
    int32_t salu
    int32_t transcendentals
    int32_t exec_writes               # by SALU
    int32_t last_transcendental       # in vector instructions
    uint32_t clause                   # instructions left of a clause
    uint32_t nops                     # ds_nop in a row
    uint32_t after_nop                # the instruction before is s_nop
    uint32_t busy                     # something was issued since the last s_wait_alu 0
    Coexecution coexecution           # GFX12.5
    Mark memory_read[128]             # by SGPR; kind as in memory_*
    Mark scalar_read[128]
    Mark exec_read
    Mark vcmpx
    Mark float_atomic
    Mark image                        # the instruction before, where it is an image access of four words
    Mark spaces[2]                    # LDS and memory: the last access that no branch followed
    Mark before_branch[2]             # ... and that one did
    Mark touched[256]                 # by VGPR: the last vector instruction that reads or writes it
    Mark written[256]                 # order: writes of EXEC by then
    int32_t transcendental_order[256]  # transcendentals by then
    Mark memory_use[256]              # kind as in memory_*
    Mark lane_mask[128]               # by SGPR; kind 1: read by VALU, 2: and written by SALU since, 4: by VALU
    Mark product[256]                 # what the matrix operation right before writes
    Mark rewritten[128]               # GFX12, by SGPR: written after VALU has read it; kind 1 by VALU, 2 by SALU
    uint8_t read_by_valu[64]          # GFX12, pairs of SGPRs

cdef void hazards_clear(Hazards *hazards) noexcept nogil
cdef bint has_hazards(uint32_t gfx_level) noexcept nogil
# Whether an instruction that is about to execute runs into a hazard.
cdef bint hazards_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level, Finding *finding) noexcept nogil
# Account for an instruction that has executed.
cdef void hazards_account(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil
