"""Makes NIR instructions and puts them into blocks: for the SPIR-V reader and for passes.

The constructors of ``shader.pxd`` (``nir_alu_n``, ``nir_constant`` ...) append an instruction to a shader's tables; it is in no block yet.
An ``Emitter`` also knows where to put it: ``nir/lowering.pxd`` derives one that rewrites blocks, ``spirv/module.pxd`` one that appends to
lists. Every function here makes an instruction, has the emitter place it, and returns its value. ``nir/build.pyx`` offers the
constructors to Python.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport alu_bitnz, alu_bitz, alu_ishl, alu_ishr, alu_urol, alu_uror, alu_ushr
from pyaco._core.ir.shader cimport (
    NodeId, ShaderData, ValueId, nir_alu_n, nir_component, nir_constant, nir_constant_vector, nir_exact, nir_instruction_new,
    nir_intrinsic_new, nir_jump, nir_phi_new, nir_swizzle, nir_undefined, nir_vector, phi_set, source_swizzle, source_value,
    swizzle_component,
)

cdef cppclass Emitter

# Puts a new instruction at the current position; `early`: it needs nothing of its block (constants, undefined values) and may
# be placed anywhere before it.
ctypedef int (*place_function)(Emitter *e, ValueId instruction, bint early) except -1 nogil

cdef cppclass Emitter:
    ShaderData *s
    place_function place
    bint exact                    # ALU instructions are made with nir_exact

cdef inline ValueId emit(Emitter *e, ValueId instruction) except 0 nogil:
    e.place(e, instruction, False)
    return instruction

cdef inline ValueId emit_early(Emitter *e, ValueId instruction) except 0 nogil:
    e.place(e, instruction, True)
    return instruction

# --------------------------------------------------------------------------------------------------------------------- ALU
# Components and bit size of the result follow the opcode's table and the operands.
cdef inline ValueId alu_n(Emitter *e, int opcode, const ValueId *values, uint32_t count) except 0 nogil:
    cdef ValueId row = nir_alu_n(e.s, opcode, values, count)
    if e.exact:
        e.s.instructions.flags[row] |= nir_exact
    return emit(e, row)

cdef inline ValueId alu1(Emitter *e, int opcode, ValueId x) except 0 nogil:
    return alu_n(e, opcode, &x, 1)

cdef inline ValueId alu2(Emitter *e, int opcode, ValueId x, ValueId y) except 0 nogil:
    cdef ValueId[2] values
    values[0] = x
    values[1] = y
    return alu_n(e, opcode, values, 2)

cdef inline ValueId alu3(Emitter *e, int opcode, ValueId x, ValueId y, ValueId z) except 0 nogil:
    cdef ValueId[3] values
    values[0] = x
    values[1] = y
    values[2] = z
    return alu_n(e, opcode, values, 3)


# The right-hand operand is a constant of the width of x (32 bits where it counts bits).
cdef inline ValueId alu2_constant(Emitter *e, int opcode, ValueId x, uint64_t y) except 0 nogil:
    cdef bint counts_bits = opcode in (alu_ishl, alu_ishr, alu_ushr, alu_uror, alu_urol, alu_bitz, alu_bitnz)
    return alu2(e, opcode, x, constant(e, y, 32 if counts_bits else e.s.instructions.bit_size[x]))

# ------------------------------------------------------------------------------------------------------- constants, vectors
cdef inline ValueId constant(Emitter *e, uint64_t value, int bit_size) except 0 nogil:
    return emit_early(e, nir_constant(e.s, value, bit_size))

cdef inline ValueId constant_vector(Emitter *e, const uint64_t *values, int components, int bit_size) except 0 nogil:
    return emit_early(e, nir_constant_vector(e.s, values, components, bit_size))

cdef inline ValueId undefined(Emitter *e, int components, int bit_size) except 0 nogil:
    return emit_early(e, nir_undefined(e.s, components, bit_size))

# One component of a vector; a scalar is itself.
cdef inline ValueId component(Emitter *e, ValueId value, uint32_t index) except 0 nogil:
    if e.s.instructions.components[value] == 1:
        return value
    return emit(e, nir_component(e.s, value, index))

# Some components of a vector, in the order of a swizzle.
cdef inline ValueId swizzled(Emitter *e, ValueId value, uint64_t swizzle, int components) except 0 nogil:
    return emit(e, nir_swizzle(e.s, value, swizzle, components))

# Component `index` of what the swizzle of an ALU instruction's source selects.
cdef inline ValueId alu_source(Emitter *e, ValueId instruction, int source, int index) except 0 nogil:
    return component(e, source_value(e.s, instruction, source), swizzle_component(source_swizzle(e.s, instruction, source), index))

# Scalars as a vector; one scalar is itself.
cdef inline ValueId vector_of(Emitter *e, const ValueId *values, uint32_t count) except 0 nogil:
    if count == 1:
        return values[0]
    return emit(e, nir_vector(e.s, values, count))

# ------------------------------------------------------------------------------------------------------------- intrinsics
# Set the indices with intrinsic_set_index. The number in a name counts sources.
cdef inline ValueId intrinsic_n(Emitter *e, int opcode, int components, int bit_size, const ValueId *values) except 0 nogil:
    return emit(e, nir_intrinsic_new(e.s, opcode, components, bit_size, values))

cdef inline ValueId intrinsic0(Emitter *e, int opcode, int components, int bit_size) except 0 nogil:
    return intrinsic_n(e, opcode, components, bit_size, NULL)

cdef inline ValueId intrinsic1(Emitter *e, int opcode, int components, int bit_size, ValueId x) except 0 nogil:
    return intrinsic_n(e, opcode, components, bit_size, &x)

cdef inline ValueId intrinsic2(Emitter *e, int opcode, int components, int bit_size, ValueId x, ValueId y) except 0 nogil:
    cdef ValueId[2] values
    values[0] = x
    values[1] = y
    return intrinsic_n(e, opcode, components, bit_size, values)

cdef inline ValueId intrinsic3(Emitter *e, int opcode, int components, int bit_size, ValueId x, ValueId y, ValueId z) except 0 nogil:
    cdef ValueId[3] values
    values[0] = x
    values[1] = y
    values[2] = z
    return intrinsic_n(e, opcode, components, bit_size, values)

cdef inline ValueId intrinsic4(Emitter *e, int opcode, int components, int bit_size, ValueId x, ValueId y, ValueId z,
                               ValueId w) except 0 nogil:
    cdef ValueId[4] values
    values[0] = x
    values[1] = y
    values[2] = z
    values[3] = w
    return intrinsic_n(e, opcode, components, bit_size, values)

# ----------------------------------------------------------------------------------------------------------- control flow
# A phi where an if ends: one value from each side, with the block that it comes from.
cdef inline ValueId phi2(Emitter *e, ValueId then_value, NodeId then_block, ValueId else_value, NodeId else_block) except 0 nogil:
    cdef ValueId row = nir_phi_new(e.s, e.s.instructions.components[then_value], e.s.instructions.bit_size[then_value], 2)
    phi_set(e.s, row, 0, then_value, then_block)
    phi_set(e.s, row, 1, else_value, else_block)
    return emit(e, row)

cdef inline ValueId jump(Emitter *e, int kind) except 0 nogil:
    return emit(e, nir_instruction_new(e.s, nir_jump, kind, 0, 0, 0))
