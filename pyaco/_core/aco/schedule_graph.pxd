"""What must stay in order within a run of instructions: see ``schedule_graph.pyx``."""
from libc.stdint cimport uint8_t, uint32_t

from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport InstructionId, ProgramData

cdef enum:
    no_edge = 0xffffffff
    storage_classes = 9               # with that of what is sampled

cdef struct Node:                     # an instruction of the run
    uint32_t waits_for                # predecessors that have not been issued
    uint32_t edge_first               # edges to successors, linked

cdef struct Edge:
    uint32_t to
    uint32_t next

# A run of instructions of one block between two that nothing passes. Instructions are known by their place in it.
cdef cppclass Graph:
    SmallVector[InstructionId] instruction
    SmallVector[Node] nodes                # by place
    SmallVector[Edge] edges
    uint32_t chained                  # instructions that wait for the one in front of them

cdef struct Access:                   # of an instruction to memory
    bint orders                       # whether it must be compared with others at all
    bint writes
    bint all_addresses                # volatile, atomic, acquire, release: its address does not matter
    uint32_t storage
    uint32_t place

cdef cppclass Register:               # accesses to one tracked register so far
    uint32_t value                    # place + 1 of the instruction whose value it has
    SmallVector[uint32_t] readers
    SmallVector[uint32_t] overwritten      # by results that nobody reads

cdef cppclass Memory:                 # of one storage class
    uint32_t floor                    # place + 1 of one that all later ones stay behind
    SmallVector[Access] accesses
    SmallVector[uint32_t] further_reads    # places: more than the next ones are compared with; the next write stays behind them

# Scratch data of `graph_build` that outlives a run.
cdef cppclass GraphBuilder:
    SmallVector[uint8_t] register_of       # by temp: bits of the tracked registers in which its definition puts it
    SmallVector[uint32_t] defined_at       # by temp: place + 1 in the run at hand, else 0
    Register[5] registers
    Memory[9] memory

# Learns which temps live in SCC, VCC, M0 or exec.
cdef int graph_builder_init(GraphBuilder *g, const ProgramData *p) except -1 nogil
# Whether nothing may pass the instruction.
cdef bint is_boundary(const ProgramData *p, InstructionId i) noexcept nogil
# Whether it keeps its place among memory operations and is not moved up itself.
cdef bint is_barrier(const ProgramData *p, InstructionId i) noexcept nogil
# Finds the edges of `graph.instruction`.
cdef int graph_build(GraphBuilder *g, const ProgramData *p, Graph *graph) except -1 nogil
