"""Data that is used before it is certain to have arrived: operations in flight, by wave, and the counters that tell when they are done.

Each memory operation is counted where its generation counts it. Operations of one kind finish in order, those of different kinds do not;
scalar loads, messages and flat accesses to LDS finish in any order. After a wait for at most n an operation is known to be done when n
or more of its kind were issued after it, and one that finishes in any order when n is 0. Until then nothing may read or write the
registers that it writes, in the lanes that it writes. From GFX11 on no ALU may write other lanes of them either, although none of these
lanes takes part in the load; another load may (Mesa, ``get_imm`` and ``check_instr`` of aco_insert_waitcnt.cpp; 22.3 did not know yet),
but on GFX12, where loads from memory count down in order and write their registers in any (LLVM pull request 105549).

The counter of a flat access depends on what it accessed: the vector counter for memory, the LDS counter for LDS.

On GFX12.5 an access may have to be issued again once its address is translated: nothing may write the registers that it reads until xcnt
falls, or it is done. A later access of the other kind, scalar or vector, a branch or a message waits for that by itself, and vector memory does
where it writes the registers; translations of vector memory are done in order. Copies between memory and LDS are done when asynccnt falls
(LLVM 23, SIInsertWaitcnts: X_CNT, ASYNC_CNT, simplifyXcnt, isXcntDrain; it counts copies as loads as well, and so are they here), tensors when
tensorcnt does; whether their descriptors may be written before is not known.

Sources: AMD "Vega", "RDNA 2", "RDNA3" and "RDNA4" ISA documents, "Data Dependency Resolution"; LLVM's "User Guide for AMDGPU Backend",
"Memory Model" by generation, for what a barrier needs.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from features cimport has_split_wait_counters
from isa_opcodes cimport op_image_msaa_load
from isa_tables cimport image_flag_sampler, image_flag_tensor, opcode_image
from pyaco._core.common.machine cimport format_mimg
from pyaco._core.emu.access cimport access_async_from_lds, access_async_to_lds
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.wave cimport Access, AccessLog, Instruction, Wave

cdef enum:
    counter_vm = 0                    # GFX12: loadcnt
    counter_lgkm = 1                  # GFX12: dscnt
    counter_exp = 2
    counter_vs = 3                    # GFX12: storecnt
    counter_km = 4                    # GFX12
    counter_sample = 5                # GFX12: samples of images
    counter_tensor = counter_sample   # GFX12.5, which has no images: tensors between memory and LDS
    counter_async = 6                 # GFX12.5: copies between memory and LDS
    counter_x = 7                     # GFX12.5: address translations
    counter_count = 8
    kind_vmem = 0                     # what is counted in order
    kind_store = 1
    kind_lds = 2
    kind_gds = 3
    kind_direct = 4
    kind_sample = 5
    kind_data = 6                     # GFX6: a store reads its data
    kind_async = 7
    kind_translation = 8              # of vector memory; those of scalar loads finish in any order
    kind_tensor = 9
    kind_count = 10
    locked = 1                        # until all its counters have fallen
    locked_or = 2                     # until one of them has
    kind_any = 255                    # finishes in any order
    register_limit = 1280             # SGPRs, VGPRs, AGPRs; GFX12.5 has 1,024 VGPRs and no AGPRs
    not_waited = 0xffff

cdef cppclass Operation:              # in flight
    uint64_t pc
    uint64_t lanes                    # that it reads or writes
    uint32_t serial[counter_count]    # by counter: how many of its kind were issued up to it
    uint8_t kind[counter_count]
    uint8_t needs                     # a bit for each counter that has to fall
    uint8_t locks                     # locked, locked_or: it reads its registers late, and they must not be written
    uint16_t opcode
    uint16_t first[4]                 # registers (SGPR n is n, VGPR n 256 + n, AGPR n 512 + n)
    uint16_t count[4]
    vector[Access] reached

cdef cppclass Flight:                 # of one wave
    vector[Operation] operations
    uint32_t issued[kind_count]       # by kind
    uint32_t translated               # translations of vector memory that are known to be done, as a serial number
    uint64_t busy[20]                 # registers of operations in flight

cdef struct Finding:
    uint16_t reg                      # as in Operation
    uint8_t counters                  # bit by counter
    uint16_t states                   # wait states that are missing, where it is no counter
    uint8_t hazard                    # rule_* of ``hazards.pxd``, where it is neither
    uint8_t write                     # the instruction writes the register
    uint16_t opcode                   # of the operation in flight
    uint64_t pc

cdef struct WaitCounts:
    uint32_t count[counter_count]     # by counter: how many operations may stay in flight; not_waited: any number

# Whether an instruction is a wait, and for what.
cdef bint wait_counts(const Wave *wave, const Instruction *instruction, uint32_t gfx_level, WaitCounts *counts) noexcept nogil
# Where a counter is full, and the machine waits before it issues more.
cdef uint32_t counter_limit(uint32_t counter, uint32_t gfx_level) noexcept nogil
cdef void flight_clear(Flight *flight) noexcept nogil
# Whether an instruction that is about to execute uses a register of an operation in flight.
cdef bint flight_check(const Flight *flight, const Wave *wave, const Instruction *instruction, uint64_t active, uint32_t gfx_level,
                       Finding *finding) noexcept nogil
# Whether an instruction accesses LDS that a buffer load of the same wave, still in flight, writes, or a copy reads or writes.
cdef bint flight_check_lds(const Flight *flight, const AccessLog *log, Finding *finding) noexcept nogil
# Account for an instruction that has executed: a wait, or an operation that is in flight from now on.
cdef void flight_account(Flight *flight, const Wave *wave, const Instruction *instruction, uint64_t active, uint32_t gfx_level,
                         const AccessLog *log) noexcept nogil

cdef inline bint is_async_copy(const Instruction *instruction) noexcept nogil:
    """GFX12.5's copies between memory and LDS; their destination is a VGPR with addresses in LDS, which they read."""
    cdef uint8_t access = memory_operation(instruction.decoded.opcode).access
    return access == access_async_to_lds or access == access_async_from_lds

cdef inline bint is_tensor(const Instruction *instruction) noexcept nogil:
    """GFX12.5's moves of tiles between memory and LDS."""
    return instruction.decoded.format & 0x7f == format_mimg and opcode_image[instruction.decoded.opcode] & image_flag_tensor != 0

cdef inline bint is_counted_as_sample(const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """Whether an instruction is in GFX12's VSAMPLE encoding, which has a counter of its own."""
    cdef uint32_t opcode = instruction.decoded.opcode
    return (has_split_wait_counters(gfx_level) and instruction.decoded.format & 0x7f == format_mimg
            and ((opcode_image[opcode] & image_flag_sampler) != 0 or opcode == <uint32_t>op_image_msaa_load))
