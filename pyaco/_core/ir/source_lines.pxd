"""The line of source that each instruction comes from: a side table of both IRs, without rows where the module names no lines.

The SPIR-V reader fills it from OpLine or DebugLine. Whoever makes instructions in place of another says so with ``lines_inherit`` (the walk
of lowering passes, copies of loop bodies) or with ``line_begin`` (reader, instruction selection). Passes that say nothing are served by the
end of a rewrite, ``LineHeirs``: a new instruction stands where old ones were removed, and has their line; where none were, it was put
before the next instruction, or after the last, and has that one's. No pass reads lines, so that code does not depend on them.

Thread safety: that of the IR.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.common.table cimport Table

cdef enum:
    line_unknown = 0              # nobody has said anything yet
    line_none = 0xffffffffU       # the source says that the instruction has no line

cdef struct SourceLines:          # by instruction; instructions beyond its end: line_unknown
    Table table
    uint32_t *file                # SPIR-V id of the file's name; ``metadata["source_files"]`` has the names
    uint32_t *line                # from 1 on, or line_*

cdef struct CurrentLine:          # of whoever makes instructions one after the other
    uint32_t first                # instructions from here on were made on this line
    uint32_t file
    uint32_t line

cdef int lines_init(SourceLines *lines) except -1 nogil
# Instructions `first` to `end` come from a line; those whose line is known already keep theirs.
cdef int lines_give(SourceLines *lines, uint32_t first, uint32_t end, uint32_t file, uint32_t line) except -1 nogil
# What is made from now on, from instruction `count` on, comes from another line.
cdef int line_begin(SourceLines *lines, CurrentLine *current, uint32_t count, uint32_t file, uint32_t line) except -1 nogil

# Instructions `first` to `end` take the place of `original`, or are copies of it.
cdef inline int lines_inherit(SourceLines *lines, uint32_t first, uint32_t end, uint32_t original) except -1 nogil:
    if original < lines.table.count and first < end:
        return lines_give(lines, first, end, lines.file[original], lines.line[original])
    return 0

# The end of a rewrite: `lines` has a row for every instruction, `old` is the order of all blocks before it.
cdef cppclass LineHeirs:
    SourceLines *lines
    const uint32_t *old
    vector[uint32_t] position     # by instruction: row + 1 in the old order, 0: not in it

cdef int heirs_begin(LineHeirs *heirs, SourceLines *lines, uint32_t instructions, const uint32_t *old, uint32_t old_count) except -1 nogil
# One block: its rows in the old order, and its new order.
cdef int heirs_of_block(LineHeirs *heirs, uint32_t old_first, uint32_t old_count, const uint32_t *order, uint32_t count) except -1 nogil
