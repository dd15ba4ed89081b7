"""The frame of a lowering pass: one walk over the blocks that replaces instructions by others.

A pass gives a function that is called for every instruction, its sources already renamed. It emits new instructions at
the place it stands and returns ``lower_keep`` (0: the instruction stays), ``lower_remove``, or the value that replaces
the result of the instruction. It may also split the block: ``lower_if_begin`` ... ``lower_if_end``, ``lower_loop_begin``
... ``lower_loop_end``; phis of later blocks are re-pointed to the new tail of a split block.

Thread safety: that of the shader.
"""
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport ShaderData, ShaderRewrite

cdef enum:
    lower_keep = 0
    lower_remove = 0xfffffffe
    lower_error = 0xffffffff

cdef struct Lowering:
    ShaderData *s
    ShaderRewrite rewrite
    vector[uint32_t] replacement   # by value: the value that stands for it now, 0 itself
    vector[uint32_t] tail          # by block node: the block that ends it now, 0 itself
    uint32_t block                 # block being written
    bint progress
    void *context                  # of the pass

ctypedef uint32_t (*lower_function)(Lowering *b, uint32_t instruction) except? 0xffffffffU nogil

ctypedef int (*prologue_function)(Lowering *b) except -1 nogil

# Run `lower` over all instructions; returns whether anything was replaced or removed.
cdef int lowering_run(ShaderData *s, lower_function lower, void *context) except -1 nogil
# The same; `prologue` emits at the start of the function first.
cdef int lowering_run_from(ShaderData *s, prologue_function prologue, lower_function lower,
                           void *context) except -1 nogil

# The same in parts, for passes that walk by themselves.
cdef int lowering_begin(Lowering *b, ShaderData *s) except -1 nogil
cdef int lowering_end(Lowering *b) except -1 nogil
cdef int lowering_rename_sources(Lowering *b, uint32_t instruction) noexcept nogil

cdef inline uint32_t lowered(const Lowering *b, uint32_t value) noexcept nogil:
    if value < b.replacement.size() and b.replacement[value] != 0:
        return b.replacement[value]
    return value

# ------------------------------------------------------------------------------------------------------------- emission
cdef uint32_t emit(Lowering *b, uint32_t instruction) except? 0xffffffffU nogil
cdef uint32_t alu1(Lowering *b, int opcode, uint32_t x) except? 0xffffffffU nogil
cdef uint32_t alu2(Lowering *b, int opcode, uint32_t x, uint32_t y) except? 0xffffffffU nogil
cdef uint32_t alu3(Lowering *b, int opcode, uint32_t x, uint32_t y, uint32_t z) except? 0xffffffffU nogil
cdef uint32_t alu4(Lowering *b, int opcode, uint32_t x, uint32_t y, uint32_t z, uint32_t w) except? 0xffffffffU nogil
# The right-hand operand is a constant of the width of x (32 bits for shift counts).
cdef uint32_t alu2_constant(Lowering *b, int opcode, uint32_t x, uint64_t y) except? 0xffffffffU nogil
cdef uint32_t constant(Lowering *b, uint64_t value, int bit_size) except? 0xffffffffU nogil
cdef uint32_t constant_float(Lowering *b, double value, int bit_size) except? 0xffffffffU nogil
cdef uint32_t undefined(Lowering *b, int components, int bit_size) except? 0xffffffffU nogil
cdef uint32_t component(Lowering *b, uint32_t value, int index) except? 0xffffffffU nogil
cdef uint32_t vector_of(Lowering *b, const uint32_t *values, uint32_t count) except? 0xffffffffU nogil
# A new intrinsic; set its indices with intrinsic_set_index.
cdef uint32_t intrinsic0(Lowering *b, int opcode, int components, int bit_size) except? 0xffffffffU nogil
cdef uint32_t intrinsic1(Lowering *b, int opcode, int components, int bit_size, uint32_t x) except? 0xffffffffU nogil
cdef uint32_t intrinsic2(Lowering *b, int opcode, int components, int bit_size, uint32_t x,
                         uint32_t y) except? 0xffffffffU nogil
cdef uint32_t intrinsic3(Lowering *b, int opcode, int components, int bit_size, uint32_t x, uint32_t y,
                         uint32_t z) except? 0xffffffffU nogil
cdef uint32_t intrinsic4(Lowering *b, int opcode, int components, int bit_size, uint32_t x, uint32_t y,
                         uint32_t z, uint32_t w) except? 0xffffffffU nogil
# Operand `source` of an ALU instruction as a scalar value: component `index` of what its swizzle selects.
cdef uint32_t alu_source(Lowering *b, uint32_t instruction, int source, int index) except? 0xffffffffU nogil
# The float constant of a bit size.
cdef bint constant_source(const ShaderData *s, uint32_t instruction, int source, uint64_t *bits) noexcept nogil

# --------------------------------------------------------------------------------------------------------- control flow
# The block being written ends here; what is emitted next stands in the then-list of a new if.
cdef uint32_t lower_if_begin(Lowering *b, uint32_t condition) except? 0xffffffffU nogil
cdef int lower_if_else(Lowering *b, uint32_t node) except -1 nogil
cdef int lower_if_end(Lowering *b, uint32_t node) except -1 nogil
# A phi after an if: one value from each side, in the blocks given (those current at the ends of the lists).
cdef uint32_t phi2(Lowering *b, uint32_t then_value, uint32_t then_block, uint32_t else_value,
                   uint32_t else_block) except? 0xffffffffU nogil
cdef uint32_t lower_loop_begin(Lowering *b) except? 0xffffffffU nogil
cdef int lower_loop_end(Lowering *b, uint32_t node) except -1 nogil
cdef int lower_jump(Lowering *b, int kind) except -1 nogil
