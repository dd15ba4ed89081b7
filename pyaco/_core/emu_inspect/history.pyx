"""Times of events. The contract is in ``history.pxd``."""
from libc.stdint cimport int32_t, uint16_t, uint32_t

from pyaco._core.emu.wave cimport Wave
from pyaco._core.common.machine cimport register_none


cdef void history_clear(History *history) noexcept nogil:
    cdef uint32_t i
    history.now = 0
    for i in range(<uint32_t>register_limit):
        history.vector_write[i].time = history.late_read[i].time = history.matrix_write[i].time = history.matrix_sum[i].time = long_ago
    for i in range(<uint32_t>scalar_registers):
        history.scalar_write[i].time = long_ago
    for i in range(<uint32_t>hardware_registers):
        history.setreg[i].time = long_ago
    history.m0_write.time = history.skip_mode.time = history.double_product.time = history.moved.time = long_ago


cdef bint too_early(const History *history, const Event *event, int32_t states, uint32_t reg, bint write, Finding *finding) noexcept nogil:
    cdef int32_t missing = states - (history.now - event.time)
    if missing <= 0:
        return False
    finding.reg = <uint16_t>reg
    finding.counters = finding.hazard = 0
    finding.states = <uint16_t>missing
    finding.write = write
    finding.opcode = event.opcode
    finding.pc = event.pc
    return True


cdef uint32_t register_count(const Wave *wave, uint16_t address, uint32_t bytes) noexcept nogil:
    cdef uint32_t first = address >> 2
    if address == register_none or 128 <= first < 256 or first >= register_limit:
        return 0
    return min(max(<uint32_t>1, ((bytes if bytes else wave.lanes // 8) + 3) >> 2), register_limit - first)
