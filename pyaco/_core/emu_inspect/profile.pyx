"""Bytes, lines and banks. The contract is in ``profile.pxd``."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort, unique
from libcpp.vector cimport vector

from pyaco._core.emu.wave cimport Access, AccessLog, space_global, space_lds, way_atomic


cdef void traffic_add(Traffic *traffic, const AccessLog *log, uint32_t line_bytes) noexcept nogil:
    cdef uint32_t row
    cdef const Access *access
    for row in range(log.count):
        access = &log.rows[row]
        traffic.accesses[access.space][access.way] += 1
        traffic.bytes[access.space][access.way] += access.bytes
    add_lines(traffic, log, line_bytes)
    add_passes(traffic, log, 0)
    add_passes(traffic, log, 32)


cdef void add_lines(Traffic *traffic, const AccessLog *log, uint32_t line_bytes) noexcept nogil:
    cdef vector[uint64_t] lines
    cdef uint32_t row
    cdef uint64_t line
    for row in range(log.count):
        if log.rows[row].space == space_global:
            line = log.rows[row].address // line_bytes
            while line * line_bytes < log.rows[row].address + log.rows[row].bytes:
                lines.push_back(line)
                line += 1
    if not lines.empty():
        sort(lines.begin(), lines.end())
        traffic.lines += unique(lines.begin(), lines.end()) - lines.begin()
        traffic.line_accesses += 1


cdef void add_passes(Traffic *traffic, const AccessLog *log, uint32_t first_lane) noexcept nogil:
    """Passes for the 32 lanes from `first_lane` on."""
    cdef vector[uint64_t] dwords
    cdef uint32_t[banks] load
    cdef uint32_t row, busiest
    cdef uint64_t dword, least
    cdef size_t i, count
    cdef bint alone = False
    for row in range(log.count):
        if log.rows[row].space != space_lds or log.rows[row].lane & 32 != first_lane:
            continue
        alone |= log.rows[row].way == way_atomic
        dword = log.rows[row].address >> 2
        while dword * 4 < log.rows[row].address + log.rows[row].bytes:
            dwords.push_back(dword)
            dword += 1
    if dwords.empty():
        return
    sort(dwords.begin(), dwords.end())
    count = dwords.size() if alone else unique(dwords.begin(), dwords.end()) - dwords.begin()
    memset(load, 0, sizeof(load))
    busiest = 0
    for i in range(count):
        load[dwords[i] % banks] += 1
        busiest = max(busiest, load[dwords[i] % banks])
    least = (count + banks - 1) // banks
    traffic.passes += busiest
    traffic.conflicts += busiest - least
