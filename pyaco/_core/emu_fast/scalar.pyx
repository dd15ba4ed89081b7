"""Steps of scalar ALU operations on integers, generated from ``pyaco/emu/data/semantics.txt``."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t  # no-cython-lint: for what is included
from libc.string cimport memcpy, memset  # no-cython-lint

from isa_opcodes cimport op_count
from pyaco._core.emu.numbers cimport *
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_fast.step cimport *


cdef inline uint32_t scalar_source(const Core *core, const Step *step, uint32_t slot) noexcept nogil:
    return (<const uint32_t *>(core.base[step.base[slot]] + step.offset[slot]))[0]


cdef inline uint64_t scalar_wide(const Core *core, const Step *step, uint32_t slot) noexcept nogil:
    return load_pair(<const uint32_t *>(core.base[step.base[slot]] + step.offset[slot]))


cdef inline uint64_t scalar_exec(const Core *core) noexcept nogil:
    return load_pair(&core.wave.sgpr[sgpr_exec])


cdef inline void put_scalar_wide(Core *core, uint32_t index, uint64_t value) noexcept nogil:
    store_pair(&core.wave.sgpr[index], value)


include "emulator_scalar_steps.pxi"

cdef StepFunction steps[<int>op_count]
memset(steps, 0, sizeof(steps))
fill_scalar_steps(steps)


cdef StepFunction scalar_step_of(unsigned int opcode) noexcept nogil:
    return steps[opcode]
