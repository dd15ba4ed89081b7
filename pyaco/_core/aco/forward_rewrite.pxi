# The driver of passes that solve a forward data-flow problem over the CFG and then rewrite each block from its entry state.
#
# The including module defines ``State``, a ``Context`` with ``p``, ``vgprs`` (how many the program names), ``rewriting``, ``rewrite``,
# ``entry`` (a State by block) and ``dirty`` (blocks whose entry state has changed since they were last visited), and
#   _clear(const Context *, State *)                                          the state at the start of the program
#   _join(Context *, State *into, const State *, bint logical) -> bint      merge over a linear or a logical edge; True on change
#   _block(Context *, uint32_t block, State *) -> int        run a block, emitting into ``rewrite`` while ``rewriting``
#
# The fixpoint. All blocks start dirty, with the empty state at their entry. Visiting a block runs it from a copy of its entry state and joins
# the result into the entries of its successors; those that change become dirty. A join only ever adds to a state (it is monotone), and a
# state has finitely many values, so that the loop ends, with entries that hold on every path. ``next_block`` picks the first dirty block
# from the block at hand on, but goes back to the head of a loop as soon as its back edge has changed it, so that inner loops settle before
# outer ones. Nothing is written meanwhile: the second sweep runs each block once more from its final entry state, with ``rewriting`` set.
from pyaco._core.aco.dataflow cimport next_block
from pyaco._core.aco.registers cimport vgprs_named
from pyaco._core.ir.program cimport rewrite_begin, rewrite_block, rewrite_end


cdef void _hand_on(Context *c, uint32_t block, const State *s) noexcept nogil:
    """Join the state at the end of a block into its successors."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t other
    for k in range(p.blocks.linear_succ_count[block]):
        other = p.edge_lists.block[p.blocks.linear_succ_first[block] + k]
        if _join(c, &c.entry[other], s, False):
            c.dirty[other] = 1
    for k in range(p.blocks.logical_succ_count[block]):
        other = p.edge_lists.block[p.blocks.logical_succ_first[block] + k]
        if _join(c, &c.entry[other], s, True):
            c.dirty[other] = 1


cdef int _solve(Context *c) except -1 nogil:
    cdef uint32_t blocks = c.p.blocks.table.count
    cdef uint32_t b = 0
    cdef State s
    while b < blocks:
        if not c.dirty[b]:
            b += 1
            continue
        c.dirty[b] = 0
        s = c.entry[b]
        _block(c, b, &s)
        _hand_on(c, b, &s)
        b = next_block(c.p, b, c.dirty.data())
    return 0


cdef int solve_and_rewrite(Context *c, ProgramData *p) except -1 nogil:
    cdef State s
    cdef uint32_t b
    c.p = p
    c.vgprs = vgprs_named(p)
    c.rewriting = False
    _clear(c, &s)
    c.entry.assign(p.blocks.table.count, s)
    c.dirty.assign(p.blocks.table.count, 1)
    _solve(c)
    c.rewriting = True
    rewrite_begin(&c.rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&c.rewrite, b)
        s = c.entry[b]
        _block(c, b, &s)
    return rewrite_end(&c.rewrite)
