"""How often a loop runs, and what copying it would cost: for the passes that unroll loops."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport NodeId, OrderRow, ShaderData, ValueId

cdef enum:                        # what is known of a value in one trip
    known_never = 0               # it is not known, nor in a later trip
    known_later = 1               # it is not known, but may be in a later trip
    known_now = 2

cdef enum:                        # what is known of an exit in one trip
    exit_unknown = 0
    exit_stays = 1
    exit_leaves = 2

cdef struct Terminator:           # an if directly in the loop's list one of whose lists ends with a break
    NodeId node
    bint leaves_in_then
    bint unknown                  # in some trip nobody knows whether it leaves

cdef struct LoopFacts:
    NodeId loop
    vector[Terminator] terminators
    bint runs_once                # its last block ends with a break
    uint32_t trips                # whole trips before it is left for certain
    uint32_t exit                 # the terminator that leaves then; their number: the break at the end
    uint32_t unknown              # terminators whose decision is not always known
    vector[uint8_t] decisions     # exit_*, by trip and terminator
    bint rest_stays               # nobody knows when it is left: a loop stays behind the copies ...
    vector[ValueId] past_end      # ... in which these accesses of local arrays are past their ends

cdef struct Member:               # of the loop that is being analysed: a value that was looked at
    ValueId value
    uint32_t trip                 # serial of the one that it was computed for
    uint8_t knowledge             # known_*
    bint counts                   # a counter of the loop, or its update
    uint64_t bits

cdef struct Carried:              # into the next trip, by a phi
    bint known
    uint64_t bits

cdef struct LoopAnalysis:
    ShaderData *s
    ValueId first_made            # values from here on are the pass's own
    vector[uint32_t] slots        # hash table of rows in `members`: linear probing, at most half full
    vector[Member] members        # from 1 on; one loop at a time, so that they stay in the cache
    vector[Carried] carried
    bint has_local_variables      # the shader
    bint hinges                   # a decision may be another one without dead code, with equal values made one, or with copies read through
    OrderRow begin                # of the loop
    OrderRow end
    NodeId header
    NodeId entry                  # the block before the loop
    uint32_t trip                 # serial
    uint32_t steps                # that may still be computed for this loop

# The jump at the end of a block; 0: there is none.
cdef ValueId jump_of(const ShaderData *s, NodeId block) noexcept nogil
# What a phi is by way of a predecessor; 0: that is none.
cdef ValueId phi_value_from(const ShaderData *s, ValueId phi, NodeId predecessor) noexcept nogil
cdef int analysis_begin(LoopAnalysis *a, ShaderData *s) except -1 nogil
# Whether a loop should be unrolled; `facts` says how.
cdef bint loop_should_unroll(LoopAnalysis *a, NodeId loop, LoopFacts *facts) except -1 nogil
# Whether the value of the condition of the if behind a loop's first block is known in the first trip.
cdef bint known_at_first(LoopAnalysis *a, NodeId loop, ValueId condition, uint64_t *bits) except -1 nogil
