"""Lines of source. The contract is in ``lines.pxd``.

A line holds from its instruction on until the next one or the end of the block. Sources: the SPIR-V specification 1.6, section 3.52.2
(OpLine), and its extended instruction set NonSemantic.Shader.DebugInfo.100 (DebugLine, DebugNoLine, DebugSource), whose operands are ids: of
a DebugSource, and of constants.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from spirv_tables cimport OpExtInst, OpLine
from pyaco._core.ir.source_lines cimport line_begin, line_none, line_unknown
from pyaco._core.spirv.module cimport (
    Reader, SpirvId, constant_scalar, kind_constant, kind_string, length_at, opcode_at,
)

cdef enum:                        # numbers of the instruction set
    debug_source = 35             # operands: name, text
    debug_line_number = 103       # operands: source, first line, last line, first column, last column
    debug_no_line = 104


cdef int line_of_source(Reader r, uint32_t file, uint32_t line) except -1 nogil:
    return line_begin(&r.s.lines, &r.line, r.s.instructions.table.count, file, line)


cdef int source_line(Reader r, uint32_t word) except -1 nogil:
    if opcode_at(r, word) != OpLine:
        return line_of_source(r, 0, line_none)
    if r.kind[r.words[word + 1]] != kind_string or r.words[word + 2] == 0:
        return line_of_source(r, 0, line_unknown)
    return line_of_source(r, r.words[word + 1], r.words[word + 2])


cdef int debug_line(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef uint32_t source, line, file, number
    if r.words[word + 4] == debug_no_line:
        return line_of_source(r, 0, line_none)
    if r.words[word + 4] != debug_line_number or end - word < 7:
        return 0
    source = r.words[word + 5]
    line = r.words[word + 6]
    if source >= r.bound or line >= r.bound or r.offset[source] == 0 or r.kind[line] != kind_constant:
        return 0
    word = r.offset[source]
    if opcode_at(r, word) != OpExtInst or length_at(r, word) < 6 or r.words[word + 4] != debug_source:
        return 0
    file = r.words[word + 5]
    if file >= r.bound or r.kind[file] != kind_string or r.constants[r.payload[line]].kind != constant_scalar:
        return 0
    number = <uint32_t>r.constants[r.payload[line]].bits
    return line_of_source(r, file, number if number != line_none else <uint32_t>line_unknown)


cdef int find_source_files(Reader r, vector[SourceFile] &files) except -1 nogil:
    cdef uint32_t row
    cdef SpirvId last = 0
    for row in range(r.s.lines.table.count):
        if r.s.lines.file[row] != last:
            last = r.s.lines.file[row]
            if last:
                files.push_back(SourceFile(last, r.offset[last] + 2))
    return 0
