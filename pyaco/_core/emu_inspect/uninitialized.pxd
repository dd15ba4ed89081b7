"""Values that nobody wrote, followed from where they are read to where they matter.

Registers, LDS and scratch begin undefined, but for what a launch sets. To copy such a value, or to compute with it, is no defect: compilers do both.
It is one where the value chooses an address or a branch, becomes EXEC, or is stored to memory that outlives the wave.

Of a VGPR there is a bit for each lane, of an SGPR one for each bit (they hold lane masks), of LDS and scratch one byte for each byte. Where
it is not certain that a result depends on an undefined source, it counts as defined: results across lanes and of matrix operations, parts
of registers, dwords of which some bytes are defined. So defects may be missed, but what is reported is one.

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
    shadow_registers = 768

cdef cppclass Shadow:                 # of one wave
    uint64_t undefined[768]           # SGPRs: bits; VGPRs and AGPRs (from 256): lanes
    bint scc
    vector[uint8_t] scratch           # lane after lane

cdef struct Undefined:                # what was found
    uint8_t use                       # use_*
    uint8_t lane
    uint16_t reg

cdef void shadow_start(Shadow *shadow, const Machine *machine, const Wave *wave, uint32_t fill) noexcept nogil
# Before an instruction executes: follow what the ALU computes; True where it uses an undefined value.
cdef bint shadow_before(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint64_t active, Undefined *found) noexcept nogil
# After it has executed: follow what it loaded and stored; True where it stored an undefined value to memory.
# `lds`: its bytes; `memory`: those of scratch in device memory, which begins at `first`.
cdef bint shadow_after(Shadow *shadow, vector[uint8_t] *lds, vector[uint8_t] *memory, uint64_t first, const Machine *machine,
                       const Instruction *instruction, uint64_t active, const AccessLog *log, Undefined *found) noexcept nogil
