"""Widens 8- and 16-bit operations that the hardware does not have to 32 bits.

Needs: scalar ALU, divergence (the vector unit has 16-bit arithmetic, the scalar unit has none). Guarantees: no 8-bit
arithmetic, comparison or shift is left (logic, selection, conversion and packing stay); 16-bit minimum, maximum,
absolute value, sign, shifts, saturation and comparison are left only where they are divergent; no 8- or 16-bit division,
high product, bit count, search or reversal is left. GFX6 and GFX7 have no 16-bit arithmetic at all: there, operations on half floats are done
with singles too (whose sums, products, quotients and roots, rounded once more, are those of halves), and only conversions are left.

Sources: AMD RDNA2 ISA document (VOP2 and VOP3 have *_U16 and *_I16, SOP2 has none); the choice follows RADV's callback for
nir_lower_bit_size.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_bit_count, alu_bitfield_reverse, alu_bitfield_select, alu_bitnz, alu_bitz, alu_f2f16, alu_f2f16_rtne, alu_f2f16_rtz, alu_f2f32,
    alu_f2f64, alu_fabs, alu_find_lsb, alu_fneg, alu_i2f16, alu_i2f32, alu_i2i32, alu_iabs,
    alu_iadd, alu_iadd_sat, alu_iand, alu_idiv, alu_ieq, alu_ige, alu_ihadd, alu_ilt, alu_imax, alu_imin,
    alu_imod, alu_imul, alu_imul_high, alu_ine, alu_ineg, alu_irem, alu_irhadd, alu_ishl, alu_ishr, alu_isign,
    alu_isub, alu_isub_sat, alu_u2u16, alu_u2u32, alu_u2u8, alu_uabs_isub, alu_uabs_usub, alu_uadd_carry,
    alu_uadd_sat, alu_u2f16, alu_u2f32, alu_udiv, alu_ufind_msb, alu_uge, alu_uhadd, alu_ult, alu_umax, alu_umin, alu_umod, alu_umul_high,
    alu_urhadd, alu_urol, alu_uror, alu_ushr, alu_usub_borrow, alu_usub_sat, alu_ior, alu_input_types_flat, alu_ixor, alu_max_inputs,
    alu_output_type,
)
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, alu_n, alu_source, constant
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx8
from pyaco._core.ir.shader cimport Shader, ShaderData, ValueId, nir_alu, nir_divergent, source_value
from pyaco._core.nir.lowering cimport Lowering, constant_source, lower_alu, lower_keep, lowering_run


cdef enum:
    keep = 0
    sign_extend = 1
    zero_extend = 2
    base_float = 3                    # of the type of an ALU operand


cdef int _result_rule(int opcode, int bits, bint divergent, bint small_sums) noexcept nogil:
    """How operands are extended when an operation with a small result is widened."""
    if opcode in (alu_udiv, alu_umod, alu_umul_high, alu_uadd_carry, alu_usub_borrow, alu_bitfield_reverse,
                  alu_bitfield_select, alu_uhadd, alu_urhadd, alu_uabs_usub, alu_urol, alu_uror):
        return zero_extend
    if opcode in (alu_idiv, alu_irem, alu_imod, alu_imul_high, alu_ihadd, alu_irhadd, alu_uabs_isub):
        return sign_extend
    if bits == 16 and divergent:
        return keep
    if opcode in (alu_umin, alu_umax, alu_ushr, alu_uadd_sat, alu_usub_sat):
        return zero_extend
    if opcode in (alu_iabs, alu_imin, alu_imax, alu_ishr, alu_isign, alu_iadd_sat, alu_isub_sat):
        return sign_extend
    if opcode == alu_ishl:
        return zero_extend
    if small_sums and opcode in (alu_iadd, alu_isub, alu_imul, alu_ineg):
        return zero_extend
    return keep


cdef int _operand_rule(int opcode, int bits, bint divergent) noexcept nogil:
    """The same for operations whose result has its own size."""
    if opcode in (alu_bit_count, alu_find_lsb, alu_ufind_msb):
        return zero_extend
    if bits == 16 and divergent:
        return keep
    if opcode in (alu_ieq, alu_ine, alu_ult, alu_uge, alu_bitz, alu_bitnz):
        return zero_extend
    if opcode in (alu_ilt, alu_ige):
        return sign_extend
    return keep


cdef ValueId _extended(Lowering *b, ValueId instruction, int source, int rule) except? 0xffffffffU nogil:
    cdef ValueId value = alu_source(b, instruction, source, 0)
    return alu1(b, alu_i2i32 if rule == sign_extend else alu_u2u32, value)


cdef ValueId _count(Lowering *b, ValueId instruction, int bits) except? 0xffffffffU nogil:
    """A shift count, taken modulo the small width."""
    cdef uint64_t number = 0
    if constant_source(b.s, instruction, 1, &number):
        return constant(b, number & (bits - 1), 32)
    return alu2_constant(b, alu_iand, alu_source(b, instruction, 1, 0), bits - 1)


cdef ValueId _clamped(Lowering *b, ValueId value, int bits, bint is_signed) except? 0xffffffffU nogil:
    cdef uint64_t top = (<uint64_t>1 << (bits - 1)) - 1 if is_signed else (<uint64_t>1 << bits) - 1
    value = alu2_constant(b, alu_imin, value, top)
    return alu2_constant(b, alu_imax, value, (~top & 0xffffffffU) if is_signed else 0)


cdef ValueId _rotated(Lowering *b, ValueId instruction, ValueId x, int bits, bint left) except? 0xffffffffU nogil:
    cdef ValueId count = _count(b, instruction, bits)
    cdef ValueId other = alu2_constant(b, alu_iand, alu1(b, alu_ineg, count), bits - 1)
    return alu2(b, alu_ior, alu2(b, alu_ishl, x, count if left else other),
                alu2(b, alu_ushr, x, other if left else count))


cdef ValueId _widened(Lowering *b, ValueId instruction, int opcode, int bits, int rule) except? 0xffffffffU nogil:
    """The operation in 32 bits; its low bits are the result."""
    cdef ValueId x = _extended(b, instruction, 0, rule)
    cdef ValueId y
    if opcode == alu_bitfield_reverse:
        return alu2_constant(b, alu_ushr, alu1(b, alu_bitfield_reverse, x), 32 - bits)
    if opcode in (alu_iabs, alu_isign, alu_ineg):
        return alu1(b, opcode, x)
    if opcode in (alu_ishl, alu_ishr, alu_ushr):
        return alu2(b, opcode, x, _count(b, instruction, bits))
    if opcode == alu_urol or opcode == alu_uror:
        return _rotated(b, instruction, x, bits, opcode == alu_urol)
    y = _extended(b, instruction, 1, rule)
    if opcode == alu_bitfield_select:
        return alu3(b, opcode, x, y, _extended(b, instruction, 2, rule))
    if opcode == alu_umul_high or opcode == alu_imul_high:
        return alu2_constant(b, alu_ushr, alu2(b, alu_imul, x, y), bits)
    if opcode == alu_uadd_carry:
        return alu2_constant(b, alu_ushr, alu2(b, alu_iadd, x, y), bits)
    if opcode == alu_uadd_sat or opcode == alu_iadd_sat:
        return _clamped(b, alu2(b, alu_iadd, x, y), bits, opcode == alu_iadd_sat)
    if opcode == alu_usub_sat or opcode == alu_isub_sat:
        return _clamped(b, alu2(b, alu_isub, x, y), bits, opcode == alu_isub_sat)
    return alu2(b, opcode, x, y)


cdef bint _is_float(uint32_t type) noexcept nogil:
    return type >> 8 == base_float


cdef ValueId _half_in_single(Lowering *b, ValueId instruction, int opcode, int bits) except? 0xffffffffU nogil:
    """An operation on halves as one on singles; `lower_keep` for all others."""
    cdef ShaderData *s = b.s
    cdef ValueId[4] sources
    cdef ValueId x
    cdef uint32_t count = s.instructions.source_count[instruction]
    cdef uint32_t k
    cdef bint halves = False
    if opcode in (alu_f2f16, alu_f2f16_rtne, alu_f2f16_rtz, alu_f2f32, alu_f2f64) or count > 4:
        return lower_keep
    if bits == 16 and (opcode == alu_i2f16 or opcode == alu_u2f16):
        if s.instructions.bit_size[source_value(s, instruction, 0)] > 16:
            return lower_keep
        return alu1(b, alu_f2f16, alu1(b, alu_i2f32 if opcode == alu_i2f16 else alu_u2f32, alu_source(b, instruction, 0, 0)))
    if opcode == alu_fneg and bits == 16:
        return alu2_constant(b, alu_ixor, alu_source(b, instruction, 0, 0), 0x8000)
    if opcode == alu_fabs and bits == 16:
        return alu2_constant(b, alu_iand, alu_source(b, instruction, 0, 0), 0x7fff)
    for k in range(count):
        halves |= _is_float(alu_input_types_flat[opcode * alu_max_inputs + k]) \
            and s.instructions.bit_size[source_value(s, instruction, k)] == 16
    if not halves:
        return lower_keep
    for k in range(count):
        sources[k] = alu_source(b, instruction, k, 0)
        if _is_float(alu_input_types_flat[opcode * alu_max_inputs + k]) and s.instructions.bit_size[source_value(s, instruction, k)] == 16:
            sources[k] = alu1(b, alu_f2f32, sources[k])
    x = alu_n(b, opcode, sources, count)
    return alu1(b, alu_f2f16, x) if bits == 16 and _is_float(alu_output_type[opcode]) else x


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int bits = s.instructions.bit_size[instruction]
    cdef bint divergent = (s.instructions.flags[instruction] & nir_divergent) != 0
    cdef bint older = s.info.gfx_level < gfx8
    cdef int rule
    cdef ValueId x
    if s.instructions.kind[instruction] != nir_alu or s.instructions.components[instruction] != 1:
        return lower_keep
    if older:
        x = _half_in_single(b, instruction, opcode, bits)
        if x != lower_keep:
            return x
    if bits == 8 or bits == 16:
        rule = _result_rule(opcode, bits, divergent and not older, bits == 8 or (divergent and older))
        if rule == keep:
            return lower_keep
        x = _widened(b, instruction, opcode, bits, rule)
        return alu1(b, alu_u2u8 if bits == 8 else alu_u2u16, x)
    bits = s.instructions.bit_size[source_value(s, instruction, 0)]
    if bits != 8 and bits != 16:
        return lower_keep
    rule = _operand_rule(opcode, bits, divergent and not older)
    if rule == keep:
        return lower_keep
    x = _extended(b, instruction, 0, rule)
    if opcode == alu_bitz or opcode == alu_bitnz:
        return alu2(b, opcode, x, _count(b, instruction, bits))
    if s.instructions.source_count[instruction] == 1:
        return alu1(b, opcode, x)
    return alu2(b, opcode, x, _extended(b, instruction, 1, rule))


cdef int _kernel(void *ir, int option) except -1 nogil:
    return lowering_run(<ShaderData *>ir, lower_alu, _lower, NULL)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Widen small integer operations."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
