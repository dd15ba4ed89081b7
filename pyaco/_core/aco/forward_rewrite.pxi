# The driver of passes that solve a forward data-flow problem over the CFG and then rewrite each block from its entry state.
#
# The including module defines ``State``, a ``Context`` with ``p``, ``logical_edges`` (whether states follow these besides the linear ones, set
# before), ``rewriting``, ``rewrite``, ``entry`` (pointer to a State by block, NULL: the empty one), ``states`` and ``spare`` (where these stand, and
# which are free) and ``dirty`` (blocks whose entry state has changed since they were last visited), and
#   _clear(const Context *, State *)                                          the state at the start of the program
#   _copy(const Context *, State *into, const State *)                        what a state says
#   _join(Context *, State *into, const State *, bint logical) -> bint      merge over a linear or a logical edge; True on change
#   _block(Context *, uint32_t block, State *) -> int        run a block, emitting into ``rewrite`` while ``rewriting``
#
# Blocks are visited in order. Outside loops everything that leads to a block has been visited before it: its entry state is final, and the block is
# rewritten as it is visited. The blocks of a loop are first brought to a fixpoint: all start dirty. Visiting a block runs it from a copy of its
# entry state and joins the result into the entries of its successors; those that change become dirty. A join only ever adds to a state
# (it is monotone), and a state has finitely many values, so that this ends, with entries that hold on every path. ``next_block`` picks the first
# dirty block from the block at hand on, but goes back to the head of a loop as soon as its back edge has changed it, so that inner loops settle
# before outer ones. Then each block runs once more from its final entry state, with ``rewriting`` set. A state is given back once its block
# is written: few are needed at a time, however long the program is.
from libc.string cimport memset

from pyaco._core.aco.dataflow cimport next_block
from pyaco._core.ir.program cimport rewrite_begin, rewrite_block, rewrite_end


cdef State *_entry_of(Context *c, uint32_t block) except NULL nogil:
    """The entry state of a block; an empty one is made where there is none."""
    if c.entry[block] == NULL:
        if c.spare.empty():
            c.spare.push_back(c.states.add())
        c.entry[block] = c.spare.back()
        c.spare.pop_back()
        _clear(c, c.entry[block])
    return c.entry[block]


cdef void _give_back(Context *c, uint32_t block) noexcept nogil:
    c.spare.push_back(c.entry[block])
    c.entry[block] = NULL


cdef int _hand_on(Context *c, uint32_t block, const State *s) except -1 nogil:
    """Join the state at the end of a block into its successors."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t other
    for k in range(p.blocks.linear_succ_count[block]):
        other = p.edge_lists.block[p.blocks.linear_succ_first[block] + k]
        if _join(c, _entry_of(c, other), s, False):
            c.dirty[other] = 1
    for k in range(p.blocks.logical_succ_count[block] if c.logical_edges else 0):
        other = p.edge_lists.block[p.blocks.logical_succ_first[block] + k]
        if _join(c, _entry_of(c, other), s, True):
            c.dirty[other] = 1
    return 0


cdef enum:
    no_back_edge = 0xffffffffU


cdef void _note_edge(vector[uint32_t] &sources, uint32_t block, uint32_t other) noexcept nogil:
    if other <= block and (sources[other] == no_back_edge or sources[other] < block):
        sources[other] = block


cdef int _back_edges(const Context *c, vector[uint32_t] &sources) except -1 nogil:
    """By block the last one that jumps back to it."""
    cdef const ProgramData *p = c.p
    cdef uint32_t b, k
    sources.assign(p.blocks.table.count, no_back_edge)
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.linear_succ_count[b]):
            _note_edge(sources, b, p.edge_lists.block[p.blocks.linear_succ_first[b] + k])
        for k in range(p.blocks.logical_succ_count[b] if c.logical_edges else 0):
            _note_edge(sources, b, p.edge_lists.block[p.blocks.logical_succ_first[b] + k])
    return 0


cdef uint32_t _end_of_loop(const vector[uint32_t] &sources, uint32_t head) noexcept nogil:
    """The last block of a loop, and of those that overlap with it."""
    cdef uint32_t last = sources[head]
    cdef uint32_t b = head
    while b <= last:
        if sources[b] != no_back_edge and sources[b] > last:
            last = sources[b]
        b += 1
    return last


cdef bint _is_gone(const Context *c, uint32_t block) noexcept nogil:
    """Whether nothing is left of a block, as of most of those that are jumped past; logical edges it keeps."""
    return block != 0 and not c.logical_edges and c.p.blocks.order_count[block] == 0 and c.p.blocks.linear_pred_count[block] == 0 \
        and c.p.blocks.linear_succ_count[block] == 0


cdef int _settle(Context *c, uint32_t first, uint32_t last) except -1 nogil:
    """Bring the blocks of a loop to a fixpoint."""
    cdef uint32_t b = first
    cdef State s
    c.rewriting = False
    memset(c.dirty.data() + first, 1, last + 1 - first)
    while b <= last:
        if not c.dirty[b] or _is_gone(c, b):
            b += 1
            continue
        c.dirty[b] = 0
        _copy(c, &s, _entry_of(c, b))
        _block(c, b, &s)
        _hand_on(c, b, &s)
        b = next_block(c.p, b, c.dirty.data())
    c.rewriting = True
    return 0


cdef int solve_and_rewrite(Context *c, ProgramData *p) except -1 nogil:
    cdef vector[uint32_t] sources
    cdef uint32_t b, last
    cdef uint32_t settled = 0         # blocks before this one are of a loop at its fixpoint
    c.p = p
    c.entry.assign(p.blocks.table.count, NULL)
    c.dirty.assign(p.blocks.table.count, 0)
    _back_edges(c, sources)
    c.rewriting = True
    rewrite_begin(&c.rewrite, p)
    for b in range(p.blocks.table.count):
        if b >= settled and sources[b] != no_back_edge:
            last = _end_of_loop(sources, b)
            _settle(c, b, last)
            settled = last + 1
        rewrite_block(&c.rewrite, b)
        if _is_gone(c, b):
            continue
        _block(c, b, _entry_of(c, b))
        if b >= settled:
            _hand_on(c, b, c.entry[b])
        _give_back(c, b)
    return rewrite_end(&c.rewrite)
