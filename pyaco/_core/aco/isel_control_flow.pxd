"""The control-flow graph during instruction selection: labels, edges, ifs, loops: see ``isel_control_flow.pyx``."""
from libc.stdint cimport uint16_t, uint32_t

from pyaco._core.aco.isel_context cimport Isel
from pyaco._core.ir.program cimport BlockId, Operand, TempId, block_top_level

cdef enum:
    no_block = 0xffffffffU

cdef struct IfState:
    uint32_t head                 # block that ends with the branch
    uint32_t invert_label
    uint32_t end_label
    uint32_t end_kind
    bint divergent_before
    bint then_branch
    bint then_divergent_branch
    bint empty_before
    uint16_t empty_depth_before

cdef inline void mark(Isel *c, uint32_t kind) noexcept nogil:
    c.p.blocks.kind[c.block] |= kind

cdef inline uint32_t top_level(Isel *c, BlockId block) noexcept nogil:
    return c.p.blocks.kind[block] & block_top_level

cdef uint32_t label_new(Isel *c) except? 0 nogil
# The block of a label comes next in program order and becomes the current one.
cdef int bind_label(Isel *c, uint32_t label, uint32_t kind) except -1 nogil
cdef int edges_to(Isel *c, uint32_t predecessor, uint32_t label) except -1 nogil
cdef int marker(Isel *c, uint32_t opcode) except -1 nogil
# A branch; its result is a pair of SGPRs for the address of a far target.
cdef int branch(Isel *c, uint32_t opcode, Operand *condition) except -1 nogil
cdef int uniform_then(Isel *c, IfState *state, TempId condition) except -1 nogil
cdef int uniform_else(Isel *c, IfState *state) except -1 nogil
cdef int uniform_end(Isel *c, IfState *state) except -1 nogil
cdef int divergent_then(Isel *c, IfState *state, TempId condition) except -1 nogil
cdef int divergent_else(Isel *c, IfState *state) except -1 nogil
cdef int divergent_end(Isel *c, IfState *state) except -1 nogil
cdef int jump(Isel *c, bint is_break) except -1 nogil
# Loop back; where no lane may be active, leave instead.
cdef int loop_end(Isel *c) except -1 nogil
cdef bint has_edge_to(Isel *c, uint32_t label, uint32_t first_edge) noexcept nogil
