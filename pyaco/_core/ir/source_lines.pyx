"""Lines of source by instruction. The contract is in ``source_lines.pxd``."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from pyaco._core.common.table cimport table_append_many, table_init

cdef uint8_t[2] _sizes = [4, 4]


cdef int lines_init(SourceLines *lines) except -1 nogil:
    return table_init(&lines.table, _sizes, 2, 8)


cdef int _cover(SourceLines *lines, uint32_t count) except -1 nogil:
    """Give every instruction a row."""
    if lines.table.count < count:
        table_append_many(&lines.table, count - lines.table.count)
    return 0


cdef int lines_give(SourceLines *lines, uint32_t first, uint32_t end, uint32_t file, uint32_t line) except -1 nogil:
    cdef uint32_t row
    if line == line_unknown or first >= end:
        return 0
    _cover(lines, end)
    for row in range(first, end):
        if lines.line[row] == line_unknown:
            lines.file[row] = file
            lines.line[row] = line
    return 0


cdef int line_begin(SourceLines *lines, CurrentLine *current, uint32_t count, uint32_t file, uint32_t line) except -1 nogil:
    lines_give(lines, current.first, count, current.file, current.line)
    current.first = count
    current.file = file
    current.line = line
    return 0


cdef int heirs_begin(LineHeirs *heirs, SourceLines *lines, uint32_t instructions, const uint32_t *old, uint32_t old_count) except -1 nogil:
    cdef uint32_t row
    _cover(lines, instructions)
    heirs.lines = lines
    heirs.old = old
    heirs.position.assign(instructions, 0)
    for row in range(old_count):
        heirs.position[old[row]] = row + 1
    return 0


cdef inline void _take(LineHeirs *heirs, uint32_t heir, uint32_t original) noexcept nogil:
    heirs.lines.file[heir] = heirs.lines.file[original]
    heirs.lines.line[heir] = heirs.lines.line[original]


cdef int heirs_of_block(LineHeirs *heirs, uint32_t old_first, uint32_t old_count, const uint32_t *order, uint32_t count) except -1 nogil:
    cdef const uint32_t *line = heirs.lines.line
    cdef uint32_t before = 0      # the last instruction whose line is known, 0 none
    cdef uint32_t gone = old_first    # rows of the old order from here on have not been passed
    cdef uint32_t k = 0
    cdef uint32_t end, position, stop, removed, i
    while k < count:
        if line[order[k]] != line_unknown:
            before = order[k]
            position = heirs.position[before]
            if old_first < position <= old_first + old_count:
                gone = position
            k += 1
            continue
        end = k
        while end < count and line[order[end]] == line_unknown:
            end += 1
        # what stood between the neighbours that stayed
        stop = old_first + old_count
        if end < count:
            position = heirs.position[order[end]]
            stop = position - 1 if old_first < position <= old_first + old_count else gone
        removed = stop - gone if stop > gone else 0
        for i in range(k, end):
            if removed and line[heirs.old[gone + <uint32_t>(<uint64_t>(i - k) * removed // (end - k))]] != line_unknown:
                _take(heirs, order[i], heirs.old[gone + <uint32_t>(<uint64_t>(i - k) * removed // (end - k))])
            elif end < count:
                _take(heirs, order[i], order[end])
            elif before:
                _take(heirs, order[i], before)
        k = end
    return 0
