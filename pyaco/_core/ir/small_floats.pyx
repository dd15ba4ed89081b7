"""Floats of 8 and 16 bits that NIR has no types for; see ``small_floats.pxd``.

A number of fewer exponent bits is one of 32 bits whose exponent has another bias: its bits are moved up and the difference of the biases is
added, but for denormals, which are a small integer times a power of two. The way back rounds in the bits that go; denormals are rounded by adding
a number whose last place is theirs.

Sources: SPV_KHR_bfloat16; SPV_EXT_float8 and the OCP 8-bit floating point specification (E4M3 has no infinities, and one NaN of each sign).
"""
from libc.math cimport ldexp
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_bcsel, alu_fadd, alu_fmul, alu_iadd, alu_iand, alu_ior, alu_ishl, alu_isub, alu_u2f32, alu_u2u16, alu_u2u32, alu_u2u8,
    alu_ult, alu_umin, alu_ushr,
)
from pyaco._core.common.floats cimport float_to_bits
from pyaco._core.ir.cooperative_matrix cimport cmat_bf16, cmat_e4m3
from pyaco._core.ir.emitter cimport Emitter, alu1, alu2, alu2_constant, alu3, constant
from pyaco._core.ir.shader cimport ValueId

cdef enum:
    infinity = 0x7f800000
    quiet_bit = 0x400000

cdef struct Format:               # of eight bits
    uint32_t mantissa             # bits
    uint32_t bias
    uint32_t largest
    uint32_t too_large            # what numbers above it become
    uint32_t nan


cdef Format _format(int type) noexcept nogil:
    if type == cmat_e4m3:
        return Format(3, 7, 0x7e, 0x7f, 0x7f)
    return Format(2, 15, 0x7b, 0x7c, 0x7e)


cdef ValueId _single_constant(Emitter *e, double value) except 0 nogil:
    return constant(e, float_to_bits(value, 32), 32)


cdef ValueId single_from(Emitter *e, ValueId value, int type) except 0 nogil:
    cdef Format f = _format(type)
    cdef ValueId wide = alu1(e, alu_u2u32, value)
    cdef ValueId magnitude, number, denormal, special
    if type == cmat_bf16:
        return alu2_constant(e, alu_ishl, wide, 16)
    magnitude = alu2_constant(e, alu_iand, wide, 0x7f)
    number = alu2_constant(e, alu_ishl, magnitude, 23 - f.mantissa)
    special = alu2_constant(e, alu_ior, number, infinity)
    number = alu2_constant(e, alu_iadd, number, (127 - f.bias) << 23)
    denormal = alu2(e, alu_fmul, alu1(e, alu_u2f32, magnitude), _single_constant(e, ldexp(1, 1 - <int>f.bias - <int>f.mantissa)))
    number = alu3(e, alu_bcsel, alu2_constant(e, alu_ult, magnitude, 1 << f.mantissa), denormal, number)
    number = alu3(e, alu_bcsel, alu2(e, alu_ult, constant(e, f.largest, 32), magnitude), special, number)
    return alu2(e, alu_ior, number, alu2_constant(e, alu_ishl, alu2_constant(e, alu_iand, wide, 0x80), 24))


cdef ValueId _rounded_up(Emitter *e, ValueId bits, uint32_t dropped) except 0 nogil:
    """Bits that hold the nearest number once the lowest `dropped` are gone."""
    cdef ValueId last = alu2_constant(e, alu_iand, alu2_constant(e, alu_ushr, bits, dropped), 1)
    return alu2(e, alu_iadd, alu2_constant(e, alu_iadd, bits, ((<uint64_t>1 << (dropped - 1)) - 1)), last)


cdef ValueId single_to(Emitter *e, ValueId value, int type, bint saturate) except 0 nogil:
    cdef Format f = _format(type)
    cdef ValueId magnitude = alu2_constant(e, alu_iand, value, 0x7fffffff)
    cdef ValueId is_nan = alu2(e, alu_ult, constant(e, infinity, 32), magnitude)
    cdef ValueId number, denormal, magic
    cdef bint exact = e.exact
    if type == cmat_bf16:
        number = alu3(e, alu_bcsel, is_nan, alu2_constant(e, alu_ior, value, quiet_bit), _rounded_up(e, value, 16))
        return alu1(e, alu_u2u16, alu2_constant(e, alu_ushr, number, 16))
    number = alu2_constant(e, alu_ushr, _rounded_up(e, magnitude, 23 - f.mantissa), 23 - f.mantissa)
    number = alu2_constant(e, alu_isub, number, (127 - f.bias) << f.mantissa)
    magic = _single_constant(e, ldexp(1, 24 - <int>f.bias - <int>f.mantissa))
    e.exact = True
    denormal = alu2(e, alu_isub, alu2(e, alu_fadd, magnitude, magic), magic)
    e.exact = exact
    number = alu3(e, alu_bcsel, alu2_constant(e, alu_ult, magnitude, (128 - f.bias) << 23), denormal, number)
    number = alu2_constant(e, alu_umin, number, f.largest if saturate else f.too_large)
    number = alu3(e, alu_bcsel, is_nan, constant(e, f.nan, 32), number)
    return alu1(e, alu_u2u8, alu2(e, alu_ior, number, alu2_constant(e, alu_iand, alu2_constant(e, alu_ushr, value, 24), 0x80)))
