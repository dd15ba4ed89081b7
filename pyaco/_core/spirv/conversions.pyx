"""Conversions between numbers (the SPIR-V specification, section 3.42.11; SPV_KHR_bfloat16, SPV_EXT_float8).

Floats that NIR has no types for become 32-bit floats on the way, which is exact in one direction; in the other the number must be one that a
32-bit float holds, or it would be rounded twice.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport alu1
from pyaco._core.ir.shader cimport *
from pyaco._core.ir.small_floats cimport single_from, single_to
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *


cdef int _by_size(int bit_size, int for8, int for16, int for32, int for64) noexcept nogil:
    if bit_size == 8:
        return for8
    if bit_size == 16:
        return for16
    return for32 if bit_size == 32 else for64


cdef ValueId _float_convert(Reader r, ValueId value, int bit_size, SpirvId id) except 0 nogil:
    """OpFConvert, rounded as the decorations of the result say."""
    cdef uint32_t mode = decoration_of(r, id, no_member, Decoration_FPRoundingMode)
    if bits_of(r, value) == <uint32_t>bit_size:
        return value
    if bit_size == 16 and mode:
        if r.words[mode] == FPRoundingMode_RTE:
            return alu1(&r.nir, alu_f2f16_rtne, value)
        if r.words[mode] == FPRoundingMode_RTZ:
            return alu1(&r.nir, alu_f2f16_rtz, value)
        unsupported(r, r.word, "rounding modes other than RTE and RTZ")
    return alu1(&r.nir, _by_size(bit_size, 0, alu_f2f16, alu_f2f32, alu_f2f64), value)


cdef ValueId _small_convert(Reader r, uint32_t opcode, ValueId value, TypeId source, TypeId type) except 0 nogil:
    """A conversion from or to a float that NIR has no type for."""
    cdef uint32_t from_encoding = r.types[source].float_encoding
    cdef uint32_t to_encoding = r.types[type].float_encoding
    cdef SpirvId id = r.words[r.word + 2]
    cdef bint saturate = decoration_of(r, id, no_member, Decoration_SaturatedToLargestFloat8NormalConversionEXT) != 0
    if from_encoding == to_encoding and opcode == OpFConvert:
        return value
    if from_encoding:
        value = single_from(&r.nir, value, from_encoding - 1)
    elif bits_of(r, value) == 64 or (opcode != OpFConvert and bits_of(r, value) == 32):
        unsupported(r, r.word, "conversions of 64-bit floats and 32-bit integers to bfloat16 and float8")
    elif opcode == OpConvertSToF or opcode == OpConvertUToF:
        value = alu1(&r.nir, alu_i2f32 if opcode == OpConvertSToF else alu_u2f32, value)
    elif bits_of(r, value) == 16:
        value = alu1(&r.nir, alu_f2f32, value)
    if to_encoding:
        return single_to(&r.nir, value, to_encoding - 1, saturate)
    return _plain_convert(r, opcode, value, r.s.types.bit_size[type])


cdef ValueId _plain_convert(Reader r, uint32_t opcode, ValueId value, int bits) except 0 nogil:
    if opcode == OpConvertFToU:
        return alu1(&r.nir, _by_size(bits, alu_f2u8, alu_f2u16, alu_f2u32, alu_f2u64), value)
    if opcode == OpConvertFToS:
        return alu1(&r.nir, _by_size(bits, alu_f2i8, alu_f2i16, alu_f2i32, alu_f2i64), value)
    if opcode == OpConvertSToF:
        return alu1(&r.nir, _by_size(bits, 0, alu_i2f16, alu_i2f32, alu_i2f64), value)
    if opcode == OpConvertUToF:
        return alu1(&r.nir, _by_size(bits, 0, alu_u2f16, alu_u2f32, alu_u2f64), value)
    if opcode == OpFConvert:
        return _float_convert(r, value, bits, r.words[r.word + 2])
    return resize_integer(r, value, bits, opcode == OpSConvert)


cdef ValueId converted(Reader r, uint32_t opcode, ValueId value, TypeId source, TypeId type) except 0 nogil:
    cdef int bits = r.s.types.bit_size[type]
    cdef bint is_small = r.types[source].float_encoding or r.types[type].float_encoding
    cdef bint from_float = opcode == OpConvertFToU or opcode == OpConvertFToS or opcode == OpFConvert
    cdef bint to_float = opcode == OpConvertSToF or opcode == OpConvertUToF or opcode == OpFConvert
    if (to_float and r.s.types.base[type] != type_float and not r.types[type].float_encoding) or (
            from_float and r.s.types.base[source] != type_float and not r.types[source].float_encoding):
        fail(r, r.word, "a conversion from or to floats whose operand or result is no float")
    if (not to_float and r.types[type].float_encoding) or (not from_float and r.types[source].float_encoding) or \
            bits < 8 or bits_of(r, value) < 8:
        fail(r, r.word, "a conversion from or to booleans, or of floats as integers")
    return _small_convert(r, opcode, value, source, type) if is_small else _plain_convert(r, opcode, value, bits)
