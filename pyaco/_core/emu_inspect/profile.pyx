"""Bytes, lines and banks. The contract is in ``profile.pxd``."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort, unique
from libcpp.vector cimport vector

from pyaco._core.emu.wave cimport Access, AccessLog, space_global, space_lds, access_kind_atomic


cdef void traffic_add(Traffic *traffic, const AccessLog *log, uint32_t line_bytes) noexcept nogil:
    cdef uint32_t i
    cdef const Access *access
    for i in range(log.count):
        access = &log.entries[i]
        traffic.accesses[access.space][access.access_kind] += 1
        traffic.bytes[access.space][access.access_kind] += access.bytes
    _add_lines(traffic, log, line_bytes)
    _add_passes(traffic, log, 0)
    _add_passes(traffic, log, 32)


cdef void _add_lines(Traffic *traffic, const AccessLog *log, uint32_t line_bytes) noexcept nogil:
    cdef vector[uint64_t] lines
    cdef uint32_t i
    cdef uint64_t line
    for i in range(log.count):
        if log.entries[i].space == space_global:
            line = log.entries[i].address // line_bytes
            while line * line_bytes < log.entries[i].address + log.entries[i].bytes:
                lines.push_back(line)
                line += 1
    if not lines.empty():
        sort(lines.begin(), lines.end())
        traffic.lines += unique(lines.begin(), lines.end()) - lines.begin()
        traffic.line_accesses += 1


cdef void _add_passes(Traffic *traffic, const AccessLog *log, uint32_t first_lane) noexcept nogil:
    """Passes for the 32 lanes from `first_lane` on."""
    cdef vector[uint64_t] dwords
    cdef uint32_t[banks] load
    cdef uint32_t entry, busiest
    cdef uint64_t dword, least
    cdef size_t i, count
    cdef bint alone = False
    for entry in range(log.count):
        if log.entries[entry].space != space_lds or log.entries[entry].lane & 32 != first_lane:
            continue
        alone |= log.entries[entry].access_kind == access_kind_atomic
        dword = log.entries[entry].address >> 2
        while dword * 4 < log.entries[entry].address + log.entries[entry].bytes:
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
