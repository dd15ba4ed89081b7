"""What lowering passes share: one walk over the blocks that replaces instructions by others.

A pass gives a function that is called for every instruction of the kinds that it names, whose sources are renamed already. It emits new instructions
before it, with the functions of ``ir/emitter.pxd``, and returns ``lower_keep`` (0: the instruction stays), ``lower_remove``,
or the value that replaces the result of the instruction. It may also split the block: ``lower_if_begin`` ... ``lower_if_end``,
``lower_loop_begin`` ... ``lower_loop_end``; phis of later blocks are re-pointed to the new tail of a split block.

Thread safety: that of the shader.
"""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.common.floats cimport float_to_bits
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport Emitter, constant
from pyaco._core.ir.shader cimport NodeId, ShaderData, ShaderRewrite, ValueId, nir_alu, nir_deref, nir_intrinsic, nir_tex

cdef enum:
    lower_keep = 0
    lower_remove = 0xfffffffe

cdef cppclass Lowering(Emitter):
    ShaderRewrite rewrite
    Zeroed[ValueId] replacement    # by value: the value that replaces it, 0 none
    Zeroed[NodeId] tail            # by block node: the last block that it was split into, 0 not split
    NodeId block                   # block being written
    bint progress
    # Nothing is written before something is emitted or replaced: most walks find nothing to do.
    bint begun
    SmallVector[NodeId] blocks          # of the walk
    uint32_t reached               # which of them it is at ...
    uint32_t position              # ... and which of its instructions
    uint32_t first_new             # the first value that the pass made
    void *context                  # of the pass

ctypedef ValueId (*lower_function)(Lowering *b, ValueId instruction) except? 0xffffffffU nogil

ctypedef int (*prologue_function)(Lowering *b) except -1 nogil

# A bit for each kind of instruction.
cdef enum:
    lower_alu = 1 << nir_alu
    lower_derefs = 1 << nir_deref
    lower_intrinsics = 1 << nir_intrinsic
    lower_textures = 1 << nir_tex

# Run `lower` over all instructions of some kinds; returns whether anything was replaced or removed.
cdef int lowering_run(ShaderData *s, uint32_t kinds, lower_function lower, void *context) except -1 nogil
# The same; `prologue` emits at the start of the function first.
cdef int lowering_run_from(ShaderData *s, prologue_function prologue, uint32_t kinds, lower_function lower, void *context) except -1 nogil

cdef inline ValueId lowered(const Lowering *b, ValueId value) noexcept nogil:
    if value < b.replacement.size() and b.replacement[value] != 0:
        return b.replacement[value]
    return value

cdef inline ValueId constant_float(Emitter *e, double value, int bit_size) except 0 nogil:
    return constant(e, float_to_bits(value, bit_size), bit_size)

# ------------------------------------------------------------------------------------------- what several passes make
# The lane of a wave that an invocation runs in.
cdef ValueId subgroup_invocation(Lowering *b) except? 0xffffffffU nogil
# A mask of lanes, as wide as the wave, as a vector of integers; zero beyond the wave.
cdef ValueId lane_mask_words(Lowering *b, ValueId mask, uint32_t components, uint32_t bit_size) except? 0xffffffffU nogil
# imod from irem: the remainder takes the divisor's sign.
cdef ValueId modulo_of_remainder(Lowering *b, ValueId remainder, ValueId divisor) except? 0xffffffffU nogil
# The intrinsic with other sources, and a scalar result of so many bits.
cdef ValueId with_sources(Lowering *b, ValueId instruction, const ValueId *sources, uint32_t bits) except? 0xffffffffU nogil
# A boolean as an opcode gives it whose booleans are integers of `bits` bits, or floats.
cdef ValueId wide_boolean(Lowering *b, int opcode, int bits, ValueId truth) except? 0xffffffffU nogil

# Whether a source is a constant; its bits.
cdef bint constant_source(const ShaderData *s, ValueId instruction, int source, uint64_t *bits) noexcept nogil

# --------------------------------------------------------------------------------------------------------- control flow
# The block being written ends here; what is emitted next is in the then-list of a new if.
cdef NodeId lower_if_begin(Lowering *b, ValueId condition) except? 0xffffffffU nogil
cdef int lower_if_else(Lowering *b, NodeId node) except -1 nogil
cdef int lower_if_end(Lowering *b, NodeId node) except -1 nogil
cdef NodeId lower_loop_begin(Lowering *b) except? 0xffffffffU nogil
cdef int lower_loop_end(Lowering *b, NodeId node) except -1 nogil
# Phis at the head of a loop, whose second operand (of the back edge) is set later, and behind a loop that is left in one block.
cdef ValueId lower_loop_phi(Lowering *b, ValueId initial, NodeId before) except? 0xffffffffU nogil
cdef ValueId lower_exit_phi(Lowering *b, ValueId value, NodeId block) except? 0xffffffffU nogil
