"""NIR instructions, appended to the block that is being read or to the prologue.

Order is kept as lists by ``Reader.next_instruction`` until all is read; ``repair`` writes it to the shader.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.nir.lowering cimport float_bits
from pyaco._core.spirv.module cimport *


cdef int grow_columns(Reader r, uint32_t row) except -1 nogil:
    if row >= maximum_instructions:
        unsupported(r, r.word, "a shader of more than four million NIR instructions after inlining")
    if row >= r.next_instruction.size():
        r.next_instruction.resize(2 * row + 256)
        r.deref_access.resize(2 * row + 256)
    return 0


cdef int _append(Reader r, uint32_t block, uint32_t row) except -1 nogil:
    grow_columns(r, row)
    if block >= r.block_head.size():
        r.block_head.resize(2 * block + 64)
        r.block_tail.resize(2 * block + 64)
    if r.block_tail[block]:
        r.next_instruction[r.block_tail[block]] = row
    else:
        r.block_head[block] = row
    r.block_tail[block] = row
    r.next_instruction[row] = 0
    return 0


cdef uint32_t emit(Reader r, uint32_t row) except 0 nogil:
    _append(r, r.block, row)
    return row


cdef uint32_t emit_prologue(Reader r, uint32_t row) except 0 nogil:
    _append(r, 0, row)
    return row


cdef int emit_after(Reader r, uint32_t block, uint32_t after, uint32_t row) except -1 nogil:
    grow_columns(r, row)
    if block >= r.block_head.size() or r.block_head[block] == 0:
        return _append(r, block, row)
    if after == 0:
        r.next_instruction[row] = r.block_head[block]
        r.block_head[block] = row
        return 0
    r.next_instruction[row] = r.next_instruction[after]
    r.next_instruction[after] = row
    if r.block_tail[block] == after:
        r.block_tail[block] = row
    return 0


cdef uint32_t alu_n(Reader r, int opcode, const uint32_t *values, uint32_t count) except 0 nogil:
    cdef uint32_t row = nir_alu_n(r.s, opcode, values, count)
    if r.exact:
        r.s.instructions.flags[row] |= nir_exact
    return emit(r, row)


cdef uint32_t alu1(Reader r, int opcode, uint32_t a) except 0 nogil:
    return alu_n(r, opcode, &a, 1)


cdef uint32_t alu2(Reader r, int opcode, uint32_t a, uint32_t b) except 0 nogil:
    cdef uint32_t[2] values
    values[0] = a
    values[1] = b
    return alu_n(r, opcode, values, 2)


cdef uint32_t alu3(Reader r, int opcode, uint32_t a, uint32_t b, uint32_t c) except 0 nogil:
    cdef uint32_t[3] values
    values[0] = a
    values[1] = b
    values[2] = c
    return alu_n(r, opcode, values, 3)


cdef uint32_t component(Reader r, uint32_t value, uint32_t index) except 0 nogil:
    cdef uint32_t row
    if r.s.instructions.components[value] == 1:
        return value
    row = nir_component(r.s, value, index)
    return emit(r, row)


cdef uint32_t vector_of(Reader r, const uint32_t *values, uint32_t count) except 0 nogil:
    if count == 1:
        return values[0]
    return emit(r, nir_vector(r.s, values, count))


cdef uint32_t intrinsic(Reader r, int opcode, int components, int bit_size, const uint32_t *values) except 0 nogil:
    return emit(r, nir_intrinsic_new(r.s, opcode, components, bit_size, values))


cdef uint32_t integer(Reader r, uint64_t value, int bit_size) except 0 nogil:
    cdef bint small = bit_size == 32 and value < 64
    if small and r.small_integers[value]:
        return r.small_integers[value]
    cdef uint32_t row = emit_prologue(r, nir_constant(r.s, value, bit_size))
    if small:
        r.small_integers[value] = row
    return row


cdef uint32_t real(Reader r, double value, int bit_size) except 0 nogil:
    return emit_prologue(r, nir_constant(r.s, float_bits(value, bit_size), bit_size))


cdef uint32_t undefined(Reader r, int components, int bit_size) except 0 nogil:
    return emit_prologue(r, nir_undefined(r.s, components, bit_size))


cdef uint32_t resize_integer(Reader r, uint32_t value, int bit_size, bint is_signed) except 0 nogil:
    cdef int opcode
    if r.s.instructions.bit_size[value] == bit_size:
        return value
    if bit_size == 8:
        opcode = alu_i2i8 if is_signed else alu_u2u8
    elif bit_size == 16:
        opcode = alu_i2i16 if is_signed else alu_u2u16
    elif bit_size == 32:
        opcode = alu_i2i32 if is_signed else alu_u2u32
    else:
        opcode = alu_i2i64 if is_signed else alu_u2u64
    return alu1(r, opcode, value)


cdef uint32_t components_of(Reader r, uint32_t value) noexcept nogil:
    return r.s.instructions.components[value]


cdef uint32_t bits_of(Reader r, uint32_t value) noexcept nogil:
    return r.s.instructions.bit_size[value]
