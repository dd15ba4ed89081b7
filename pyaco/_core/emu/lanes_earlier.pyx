"""Lane loops of what earlier generations compute otherwise, from ``pyaco/emu/data/semantics.txt``. The contract is in ``lanes_earlier.pxd``."""
from libc.string cimport memset

from pyaco._core.emu.numbers cimport *
from pyaco._core.emu.wave cimport *

cdef enum:
    earlier_limit = 64

cdef struct EarlierOperation:
    uint32_t opcode
    uint32_t until                    # the last gfx level that computes so
    LaneOperation operation

include "emulator_earlier.pxi"

cdef EarlierOperation operations[earlier_limit]
memset(operations, 0, sizeof(operations))
cdef uint32_t operation_count = fill_earlier(operations)


cdef const LaneOperation *earlier_operation(uint32_t opcode, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t i
    for i in range(operation_count):
        if operations[i].opcode == opcode and gfx_level <= operations[i].until:
            return &operations[i].operation
    return NULL
