"""Chains of one associative operation, and what their forms cost: what ``opt_reassociate`` consists of."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.range_analysis cimport Ranges
from pyaco._core.ir.shader cimport ShaderData, ValueId

cdef enum:                        # roles of a value in chains of three or more: bits
    role_inner = 1                # only the chain reads it that it is in the middle of
    role_operand = 2
    role_root = 4                 # a chain ends with it that is long, or has both operands in common with such

cdef struct Operand:
    ValueId value                 # 0: of two operands, `pair`
    uint32_t component
    uint32_t pair                 # row in `Chain.pairs`
    bint negative                 # of a sum
    bint varies                   # between lanes
    bint fuses                    # with the sum: what computes it adds as well
    uint32_t level                # loops around it
    bint shared                   # something else reads it too, which may be another chain

cdef struct Pair:
    Operand first
    Operand second

cdef struct Begun:
    uint64_t key                  # `pair_key`
    uint32_t cost

cdef struct Sharing:              # of two operands
    uint32_t chains               # that have both, of this and later ones
    bint made                     # they have been put together

cdef struct Chain:
    ValueId root
    int opcode
    int bits
    uint32_t level                # of the root, if what its loops leave as it is can go before them; else 0
    bint no_unsigned_wrap         # of all sums
    bint constant_stays           # it is added last, as before, and that sum does not wrap
    vector[Operand] operands      # without constants
    vector[Pair] pairs            # that its new form begins with
    vector[Begun] together        # the pairs that it begins with as it is
    bint shrinks                  # it has fewer operands now
    uint32_t constants
    uint64_t constant             # all constants together

cdef cppclass Context:
    ShaderData *s
    Ranges ranges
    Zeroed[uint32_t] uses         # by value
    Zeroed[uint16_t] reader       # by value: the opcode of the last ALU instruction that reads it
    uint32_t families             # a bit for each that has chains of three or more
    Zeroed[uint8_t] roles         # by value: role_*
    vector[bint] always_runs      # by node: every iteration of the loop around comes by
    vector[uint32_t] hoisted      # by loop node: sums that can go before it now
    unordered_map[uint64_t, Sharing] pairs        # by `pair_key`
    vector[ValueId] origin        # by value that the pass has made: what it replaces, 0 nothing
    Chain chain                   # that is looked at

# Look at all operations of a shader; False if there are no chains.
cdef bint chains_begin(Context *c, ShaderData *s) except -1 nogil
# Whether an operation is a `role_root`. Two operands that are not both of long chains stay, and have nothing in common with these.
cdef bint ends_chain(const Context *c, ValueId i) noexcept nogil
# Let `c.chain` be the chain that ends with an operation.
cdef int chain_begin(Context *c, ValueId root) except -1 nogil
# Whether a source is of the chain, rather than an operand of it; `operands` have been found before it.
cdef bint chain_goes_on(const Context *c, ValueId value, uint32_t depth, uint32_t operands) noexcept nogil
# A number for two operands in either order, in the chain's block, and whether they can be put together by themselves.
cdef uint64_t pair_key(const Context *c, const Operand *a, const Operand *b) noexcept nogil
cdef bint may_pair(const Operand *a, const Operand *b) noexcept nogil
# Whether an instruction of the vector unit takes three operands of the chain.
cdef bint takes_three(const Context *c) noexcept nogil
# What an operation costs on a unit; how often loops around run; both, for two operands of a kind.
cdef uint32_t unit_cost(const Chain *chain, bint varies) noexcept nogil
cdef uint32_t loops_weight(uint32_t level) noexcept nogil
cdef uint32_t pair_cost(const Context *c, const Operand *operand) noexcept nogil
