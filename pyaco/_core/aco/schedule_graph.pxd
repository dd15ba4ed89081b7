"""What must stay in order within a run of instructions: see ``schedule_graph.pyx``."""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.ir.program cimport InstructionId, ProgramData

cdef enum:
    no_edge = 0xffffffff

# A run of instructions of one block between two that nothing passes. Instructions are known by their place in it.
cdef cppclass Graph:
    vector[uint32_t] instruction
    vector[uint32_t] waits_for        # by place: predecessors that have not been issued
    vector[uint32_t] edge_first       # by place: edges to successors, linked
    vector[uint32_t] edge_next
    vector[uint32_t] edge_to

# Scratch data of `graph_build` that outlives a run.
cdef cppclass GraphBuilder:
    vector[uint8_t] register_of       # by temp: bits of the tracked registers in which its definition puts it
    vector[uint32_t] defined_at       # by temp: place + 1 in the run at hand, else 0

# Learns which temps live in SCC, VCC, M0 or exec.
cdef int graph_builder_init(GraphBuilder *g, const ProgramData *p) except -1 nogil
# Whether nothing may pass the instruction.
cdef bint is_boundary(const ProgramData *p, InstructionId i) noexcept nogil
# Whether it keeps its place among memory operations and is not moved up itself.
cdef bint is_barrier(const ProgramData *p, InstructionId i) noexcept nogil
# Finds the edges of `graph.instruction`.
cdef int graph_build(GraphBuilder *g, const ProgramData *p, Graph *graph) except -1 nogil
