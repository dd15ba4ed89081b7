"""Values that nobody wrote, followed from where they are read to where they matter.

Registers, LDS and scratch begin undefined, but for what a launch sets. To copy such a value, or to compute with it, is no defect: compilers do both.
It is one where the value chooses an address or a branch, becomes EXEC, or is stored to memory that outlives the wave.

Of a VGPR there is a bit for each lane, of an SGPR one for each bit (they hold lane masks), of LDS, scratch, and device memory that was allocated
without data one byte for each byte. DPP moves bits as it moves lanes; of SDWA and 16-bit results, which write a part of a register, the whole is
undefined where both parts are; of a matrix operation a result is where its sum is, and everywhere where a factor is undefined in all lanes. Where it
is not certain that a result depends on an undefined source, it counts as defined: permutes and swizzles, dwords of which some bytes are
defined, formatted loads. So defects may be missed, but what is reported is one.

An atomic that changes memory of which nobody wrote a byte is a defect too, unless it only swaps.

Source of the method: N. Nethercote, J. Seward, "Valgrind: a framework for heavyweight dynamic binary instrumentation", PLDI 2007 (Memcheck).
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.emu.wave cimport AccessLog, Instruction, Machine, Wave

cdef enum:
    use_address = 1
    use_branch = 2
    use_exec = 3
    use_store = 4
    use_atomic = 5
    shadow_registers = 1280           # SGPRs; VGPRs and AGPRs, or the 1,024 VGPRs of GFX12.5

cdef struct Reading:                  # an instruction that loaded what nobody wrote; pc 0: none, the register itself was never written
    uint64_t pc
    uint64_t address
    uint16_t opcode
    uint8_t space

cdef struct UnwrittenMemory:          # device memory that was allocated without data
    uint64_t first
    uint64_t bytes
    uint8_t *unwritten                # 1 by byte

cdef cppclass Shadow:                 # of one wave
    uint64_t undefined[shadow_registers]            # SGPRs: bits; VGPRs and AGPRs (from 256): lanes
    Reading reading[shadow_registers]               # where the undefined value came from
    Reading seen                      # that of the undefined source which was looked at last
    bint scc
    uint32_t index                    # of the wave; shadows of a workgroup lie side by side
    vector[uint8_t] scratch           # lane after lane

cdef struct Undefined:                # what was found
    uint8_t use                       # use_*
    uint8_t lane
    uint16_t reg
    Reading reading

cdef void shadow_start(Shadow *shadow, const Machine *machine, const Wave *wave, uint32_t fill) noexcept nogil
# Before an instruction executes: follow what the ALU computes; True where it uses an undefined value.
cdef bint shadow_before(Shadow *shadow, const Machine *machine, const Wave *wave, const Instruction *instruction, uint64_t active,
                        Undefined *found) noexcept nogil
# After it has executed: follow what it loaded and stored; True where it stored an undefined value to memory, or changed memory that holds one.
# `lds`: its bytes; `memory`: those of scratch in device memory, which begins at `first`; `regions` are in ascending order.
cdef bint shadow_after(Shadow *shadow, vector[uint8_t] *lds, vector[uint8_t] *memory, uint64_t first, vector[UnwrittenMemory] *regions,
                       const Machine *machine, const Instruction *instruction, uint64_t active, const AccessLog *log, Undefined *found) noexcept nogil
