"""Forward data flow over the linear CFG: which block to visit next, and where the states at their starts stand."""
from libc.stdint cimport uint32_t, uint8_t

from pyaco._core.ir.program cimport BlockId, ProgramData

# States of kilobytes that their pass clears by itself; a container of the library's would fill them with zeros first.
cdef extern from *:
    """
    #include <memory>
    #include <vector>
    template <class State> class ForwardStates {
        std::vector<std::unique_ptr<State>> held;
    public:
        State *add() {
            held.emplace_back(new State);
            return held.back().get();
        }
    };
    """
    cdef cppclass ForwardStates[State]:
        State *add() except + nogil

# The block to visit after `block`: the first successor that begins a loop to be run again, or the next in order. Blocks whose
# entry changed are marked in `dirty`; inner loops settle before outer ones.
cdef inline BlockId next_block(const ProgramData *p, BlockId block, const uint8_t *dirty) noexcept nogil:
    cdef BlockId following = block + 1
    cdef uint32_t k
    cdef BlockId other
    for k in range(p.blocks.linear_succ_count[block]):
        other = p.edge_lists.block[p.blocks.linear_succ_first[block] + k]
        if other < following and dirty[other]:
            following = other
    for k in range(p.blocks.logical_succ_count[block]):
        other = p.edge_lists.block[p.blocks.logical_succ_first[block] + k]
        if other < following and dirty[other]:
            following = other
    return following
