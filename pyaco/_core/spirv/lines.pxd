"""Lines of source: OpLine, OpNoLine, and the same of NonSemantic.Shader.DebugInfo.100 (what ``glslangValidator -g`` and ``-gVS`` write)."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.spirv.module cimport Reader, SpirvId

# What is read from now on comes from this line of a file (the id of its name), or from a line that nobody knows (line_unknown).
cdef int line_of_source(Reader r, uint32_t file, uint32_t line) except -1 nogil
# OpLine and OpNoLine.
cdef int source_line(Reader r, uint32_t word) except -1 nogil
# An instruction of NonSemantic.Shader.DebugInfo.100; only those that set the line count, and what is odd about one is passed over.
cdef int debug_line(Reader r, uint32_t word, uint32_t end) except -1 nogil

cdef struct SourceFile:
    SpirvId id                    # of its name
    uint32_t word                 # of that

# The files of all lines; one may be there more than once.
cdef int find_source_files(Reader r, vector[SourceFile] &files) except -1 nogil
