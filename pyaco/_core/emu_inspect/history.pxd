"""Times of the events from which wait states are counted: one record for each wave, used by ``wait_states`` and ``matrix_states``."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.emu.wave cimport Wave
from pyaco._core.emu_inspect.waits cimport Finding, register_limit

cdef enum:
    hardware_registers = 64
    scalar_registers = 128
    long_ago = -1000                  # the time of an event that has not happened

cdef struct Event:
    int32_t time                      # in wait states, after the instruction
    uint16_t opcode
    uint8_t partial                   # a vector instruction that writes a part of its register
    uint8_t passes                    # of a matrix operation
    uint8_t unit                      # that executes it, matrix_*
    uint16_t first                    # register of its result
    uint16_t count
    uint64_t pc

cdef enum:
    matrix_none = 0
    matrix_narrow = 1                 # XDL
    matrix_single = 2
    matrix_double = 3

cdef struct History:                  # of one wave
    int32_t now
    Event vector_write[register_limit]          # SGPRs and VGPRs, by the vector ALU, matrix operations apart
    Event matrix_write[register_limit]          # VGPRs and AGPRs
    Event matrix_sum[register_limit]            # that a matrix operation reads as its sum
    Event double_product                        # the last matrix operation of doubles
    Event moved                                 # the last v_accvgpr_read or _write of CDNA 1
    Event late_read[register_limit]             # VGPRs: data of a store of more than two dwords
    Event m0_write                              # by the scalar ALU
    Event scalar_write[scalar_registers]        # SGPRs, by the scalar ALU (GFX6)
    Event setreg[hardware_registers]
    Event skip_mode                             # S_SETREG of MODE.vskip

cdef void history_clear(History *history) noexcept nogil
# Whether fewer than `states` wait states lie between an event and the coming instruction.
cdef bint too_early(const History *history, const Event *event, int32_t states, uint32_t reg, bint write, Finding *finding) noexcept nogil
# How many registers an operand has: 0 for constants and what is not there; bytes 0 are a lane mask.
cdef uint32_t register_count(const Wave *wave, uint16_t address, uint32_t bytes) noexcept nogil
