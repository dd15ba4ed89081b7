# What a module of vector steps consists of, whatever its vectors: lanes128.pyx, lanes256.pyx and lanes512.pyx.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t  # no-cython-lint: for what is included
from libc.string cimport memcpy, memset  # no-cython-lint

from isa_opcodes cimport op_count, op_v_perm_b32  # no-cython-lint: the latter for what is included
from modifiers cimport *
from pyaco._core.emu.access cimport *
from pyaco._core.emu.numbers cimport *
from pyaco._core.emu.transcendental cimport *
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_fast.step cimport *

include "pyaco/_core/emu_fast/singles.pxi"
include "pyaco/_core/emu_fast/special_rows.pxi"
include "emulator_vector_steps.pxi"
include "pyaco/_core/emu_fast/row_steps.pxi"
include "pyaco/_core/emu_fast/transcendental_steps.pxi"
include "pyaco/_core/emu_fast/memory_steps.pxi"
include "pyaco/_core/emu_fast/atomic_steps.pxi"
include "pyaco/_core/emu_fast/scratch_steps.pxi"
include "pyaco/_core/emu_fast/matrix_steps.pxi"

cdef StepFunction steps[<int>op_count]
memset(steps, 0, sizeof(steps))
fill_vector_steps(steps)
fill_special_steps(steps)
fill_transcendental_steps(steps)
cdef MemorySteps memory
fill_memory_steps(&memory)
cdef RowSteps rows
fill_row_steps(&rows)
cdef StepFunction matrix = matrix_step()


def tables():
    """Addresses of the table of steps by opcode, of the memory steps, of those that make rows, and of the step of matrix instructions."""
    return <uint64_t>&steps[0], <uint64_t>&memory, <uint64_t>&rows, <uint64_t>matrix
