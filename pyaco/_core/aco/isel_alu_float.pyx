"""Float operations and conversions of NIR that need more than one instruction, or modifiers.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3): the transcendental opcodes flush denormal inputs, hence the scaling where the
program keeps them; conversions clamp; med3 of a NaN is the smaller of the others. NIR's opcode semantics.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from modifiers cimport modifier_set_abs, modifier_set_clamp, modifier_set_neg
from nir_opcodes cimport *
from pyaco._core.aco.isel_context cimport *
from pyaco._core.ir.program cimport (
    Operand, TempId, class_v1, class_v2b, fp_denorm32_shift, fp_round16_64_shift, gfx10, gfx9, operand_c16, operand_c64,
)
from pyaco._core.ir.shader cimport ValueId


cdef enum:
    least_normal_half = 0x38800000   # as a 32-bit float

cdef enum:                        # roundings
    as_mode_says = 0
    nearest_even = 1
    toward_zero = 2


cdef void _modify_last(Isel *c, uint32_t neg, uint32_t absolute, bint clamp) noexcept nogil:
    cdef uint64_t *word = modifiers_of_last(c)
    promote_last(c)
    word[0] = modifier_set_abs(modifier_set_neg(word[0], neg), absolute)
    if clamp:
        word[0] = modifier_set_clamp(word[0], 1)


cdef inline uint32_t _round16(Isel *c) noexcept nogil:
    return (c.fp_mode >> fp_round16_64_shift) & 3


# ------------------------------------------------------------------------------------------------------- sign and range
cdef int _subtract(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId a = source(c, instruction, 0)
    cdef TempId b = source(c, instruction, 1)
    cdef bint swap = is_vgpr(c, a) and not is_vgpr(c, b)
    if not is_vgpr(c, dst) and c.scalar_floats and bits == 32:
        emit2(c, op_s_sub_f32, dst, T(c, a), T(c, b))
    elif bits == 64:
        emit2(c, op_v_add_f64, dst, T(c, a), T(c, b))
        _modify_last(c, 2, 0, False)
    elif swap:
        emit2(c, op_v_subrev_f16 if bits == 16 else op_v_subrev_f32, dst, T(c, b), T(c, a))
    else:
        emit2(c, op_v_sub_f16 if bits == 16 else op_v_sub_f32, dst, T(c, a), T(c, b))
    return 0


cdef int _high_bits(Isel *c, TempId dst, TempId a, uint32_t opcode, uint32_t constant) except -1 nogil:
    """A 64-bit float with its high half changed by a bit operation."""
    cdef TempId high = emit2(c, opcode, 0, K(constant), T(c, part(c, a, 1, 4)))
    pair(c, dst, 0, T(c, part(c, a, 0, 4)), T(c, high))
    return 0


cdef int _negate(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId a = source(c, instruction, 0)
    if bits == 64:
        return _high_bits(c, dst, a, op_v_xor_b32, 0x80000000U)
    if not is_vgpr(c, dst) and c.scalar_floats and bits == 32:
        emit2(c, op_s_xor_b32, dst, K(0x80000000U), T(c, a))
    elif bits == 16:
        emit2(c, op_v_mul_f16, dst, operand_c16(0xbc00), T(c, as_vgpr(c, a)))
    else:
        emit2(c, op_v_mul_f32, dst, K(0xbf800000U), T(c, as_vgpr(c, a)))
    return 0


cdef int _absolute(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId a = source(c, instruction, 0)
    if bits == 64:
        return _high_bits(c, dst, a, op_v_and_b32, 0x7fffffff)
    if not is_vgpr(c, dst) and c.scalar_floats and bits == 32:
        emit2(c, op_s_and_b32, dst, K(0x7fffffff), T(c, a))
        return 0
    if bits == 16:
        emit2(c, op_v_mul_f16, dst, operand_c16(0x3c00), T(c, as_vgpr(c, a)))
    else:
        emit2(c, op_v_mul_f32, dst, K(0x3f800000), T(c, as_vgpr(c, a)))
    _modify_last(c, 0, 2, False)
    return 0


cdef int _saturate(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId a = source(c, instruction, 0)
    if bits == 64:
        emit2(c, op_v_add_f64, dst, T(c, a), operand_c64(0))
        _modify_last(c, 0, 0, True)
    elif bits == 16 and c.gfx < gfx9:
        emit2(c, op_v_mul_f16, dst, operand_c16(0x3c00), T(c, as_vgpr(c, a)))
        _modify_last(c, 0, 0, True)
    elif bits == 16:
        emit3(c, op_v_med3_f16, dst, operand_c16(0), operand_c16(0x3c00), T(c, a))
    else:
        emit3(c, op_v_med3_f32, dst, K(0), K(0x3f800000), T(c, a))
    return 0


cdef int _sign(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    """-1, 0 or 1: the bits of a half (with -0 made 0), clamped to that range as an integer; a single that is made infinite, clamped."""
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId a = as_vgpr(c, source(c, instruction, 0))
    cdef TempId mask
    cdef TempId high
    if bits == 16:
        a = emit2(c, op_v_add_f16, 0, operand_c16(0), T(c, a))
        a = emit3(c, op_v_med3_i16, 0, operand_c16(0xffff), T(c, a), operand_c16(1))
        emit1(c, op_v_cvt_f16_i16, dst, T(c, a))
    elif bits == 32:
        # Infinity, or no number: this product with zero is zero.
        a = emit2(c, op_v_mul_legacy_f32, 0, K(0x7f800000), T(c, a))
        emit3(c, op_v_med3_f32, dst, K(0xbf800000U), T(c, a), K(0x3f800000))
    else:
        mask = emit2(c, op_v_cmp_nlt_f64, 0, operand_c64(0), T(c, a))
        high = copy(c, 0, class_v1, K(0x3ff00000))
        high = emit3(c, op_v_cndmask_b32, 0, T(c, high), T(c, part(c, a, 1, 4)), T(c, mask))
        mask = emit2(c, op_v_cmp_le_f64, 0, operand_c64(0), T(c, a))
        a = copy(c, 0, class_v1, K(0xbff00000U))
        high = emit3(c, op_v_cndmask_b32, 0, T(c, a), T(c, high), T(c, mask))
        pair(c, dst, 0, K(0), T(c, high))
    return 0


# ------------------------------------------------------------------------------------------------------- transcendentals
# Opcodes that flush 32-bit denormals to zero, and what undoes the effect of a factor of 2^24 in their operand.
cdef struct Transcendental:
    uint16_t opcode16
    uint16_t opcode32
    uint16_t opcode64
    uint16_t undo_opcode
    uint32_t undo

cdef Transcendental[4] _transcendentals
_transcendentals[0] = Transcendental(op_v_log_f16, op_v_log_f32, op_invalid, op_v_add_f32, 0xc1c00000U)                # - 24
_transcendentals[1] = Transcendental(op_v_rcp_f16, op_v_rcp_f32, op_v_rcp_f64, op_v_mul_f32, 0x4b800000)              # * 2^24
_transcendentals[2] = Transcendental(op_v_rsq_f16, op_v_rsq_f32, op_v_rsq_f64, op_v_mul_f32, 0x45800000)              # * 2^12
_transcendentals[3] = Transcendental(op_v_sqrt_f16, op_v_sqrt_f32, op_v_sqrt_f64, op_v_mul_f32, 0x39800000)           # / 2^12


cdef int _scaled(Isel *c, TempId dst, TempId a, const Transcendental *t) except -1 nogil:
    """An opcode on a 32-bit float; where denormals are kept, a denormal input is scaled by 2^24 and the result scaled back."""
    cdef TempId denormal
    cdef TempId scaled
    cdef TempId plain
    if (c.fp_mode >> fp_denorm32_shift) & 3 == 0:
        emit1(c, t.opcode32, dst, T(c, a))
        return 0
    a = as_vgpr(c, a)
    denormal = emit2(c, op_v_cmp_class_f32, 0, T(c, a), K(1 << 4))
    _modify_last(c, 1, 1, False)
    scaled = emit2(c, op_v_mul_f32, 0, K(0x4b800000), T(c, a))
    scaled = emit1(c, t.opcode32, 0, T(c, scaled))
    scaled = emit2(c, t.undo_opcode, 0, K(t.undo), T(c, scaled))
    plain = emit1(c, t.opcode32, 0, T(c, a))
    emit3(c, op_v_cndmask_b32, dst, T(c, plain), T(c, scaled), T(c, denormal))
    return 0


cdef int _transcendental(Isel *c, ValueId instruction, TempId dst, uint64_t index) except -1 nogil:
    cdef const Transcendental *t = &_transcendentals[index]
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId a = source(c, instruction, 0)
    if bits == 64 and t.opcode64 == op_invalid:
        return unsupported(c, b"64-bit", alu_names[c.s.instructions.opcode[instruction]])
    if bits == 32:
        return _scaled(c, dst, a, t)
    emit1(c, t.opcode16 if bits == 16 else t.opcode64, dst, T(c, a))
    return 0


cdef int _load_exponent(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId a = source(c, instruction, 0)
    cdef TempId b = source(c, instruction, 1)
    if bits == 16:
        # The opcode reads 16 bits of the exponent.
        b = emit3(c, op_v_med3_i32, 0, K(<uint32_t>-64), T(c, b), K(64))
        emit2(c, op_v_ldexp_f16, dst, T(c, a), T(c, b))
    else:
        emit2(c, op_v_ldexp_f64 if bits == 64 else op_v_ldexp_f32, dst, T(c, a), T(c, b))
    return 0


cdef int _exponent(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t bits = source_bits(c, instruction, 0)
    cdef TempId a = source(c, instruction, 0)
    if bits == 16:
        a = emit1(c, op_v_frexp_exp_i16_f16, 0, T(c, a))
        convert_integer(c, dst, a, 16, 32, True)
    else:
        emit1(c, op_v_frexp_exp_i32_f64 if bits == 64 else op_v_frexp_exp_i32_f32, dst, T(c, a))
    return 0


cdef int _canonical(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    """The maximum of a value and itself; before GFX9 a product with one, as maxima pass denormals through there."""
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef Operand a = T(c, as_vgpr(c, source(c, instruction, 0)))
    cdef bint passes = c.p.gfx_level < gfx9
    if bits == 64:
        emit2(c, op_v_mul_f64 if passes else op_v_max_f64, dst, operand_c64(0x3ff0000000000000) if passes else a, a)
    elif bits == 16:
        emit2(c, op_v_mul_f16 if passes else op_v_max_f16, dst, operand_c16(0x3c00) if passes else a, a)
    else:
        emit2(c, op_v_mul_f32 if passes else op_v_max_f32, dst, K(0x3f800000) if passes else a, a)
    return 0


cdef int _quantize(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    """To 16 bits and back; 16-bit denormals become zero of the same sign."""
    cdef TempId a = as_vgpr(c, source(c, instruction, 0))
    cdef TempId half = _to_half_nearest(c, 0, a)
    cdef TempId back = emit1(c, op_v_cvt_f32_f16, 0, T(c, half))
    cdef TempId normal = emit2(c, op_v_cmp_nlt_f32, 0, T(c, back), T(c, copy(c, 0, 1, K(least_normal_half))))
    cdef TempId zero
    _modify_last(c, 0, 1, False)
    zero = emit2(c, op_v_mul_f32, 0, K(0), T(c, a))
    emit3(c, op_v_cndmask_b32, dst, T(c, zero), T(c, back), T(c, normal))
    return 0


# ----------------------------------------------------------------------------------------------------------- conversions
cdef uint32_t _to_half_nearest(Isel *c, TempId dst, TempId a) except 0 nogil:
    cdef TempId result
    cdef Operand o
    if _round16(c) != 0:
        # Lowering changes the rounding mode for this one instruction.
        result = new_temp(c, class_v2b)
        o = T(c, a)
        emit_raw(c, op_p_cvt_f16_f32_rtne, result, &o, 1)
        return copy(c, dst, 0, T(c, result)) if dst else result
    return emit1(c, op_v_cvt_f16_f32, dst, T(c, a))


cdef TempId _pack_toward_zero(Isel *c, TempId dst, Operand a, Operand b) except 0 nogil:
    return emit2(c, op_v_cvt_pkrtz_f16_f32 if c.gfx >= gfx10 else op_v_cvt_pkrtz_f16_f32_e64, dst, a, b)


cdef int _to_half(Isel *c, ValueId instruction, TempId dst, uint64_t rounding) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    if source_bits(c, instruction, 0) == 16:
        copy(c, dst, 0, T(c, as_vgpr_bytes(c, a, 2)))
        return 0
    if source_bits(c, instruction, 0) == 64:
        a = emit1(c, op_v_cvt_f32_f64, 0, T(c, a))
    if rounding == nearest_even:
        _to_half_nearest(c, dst, a)
    elif rounding == toward_zero and _round16(c) != 3:
        a = _pack_toward_zero(c, 0, T(c, a), K(0))
        copy(c, dst, 0, T(c, part(c, a, 0, 2) if is_vgpr(c, dst) else as_uniform(c, 0, a)))
    else:
        emit1(c, op_v_cvt_f16_f32, dst, T(c, a))
    return 0


cdef int _to_single(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t bits = source_bits(c, instruction, 0)
    if bits == 32:
        copy(c, dst, 0, T(c, source(c, instruction, 0)))
    else:
        emit1(c, op_v_cvt_f32_f16 if bits == 16 else op_v_cvt_f32_f64, dst, T(c, source(c, instruction, 0)))
    return 0


cdef int _to_double(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    if source_bits(c, instruction, 0) == 64:
        copy(c, dst, 0, T(c, a))
        return 0
    if source_bits(c, instruction, 0) == 16:
        a = emit1(c, op_v_cvt_f32_f16, 0, T(c, a))
    emit1(c, op_v_cvt_f64_f32, dst, T(c, a))
    return 0


cdef int _integer_to_float(Isel *c, ValueId instruction, TempId dst, uint64_t is_signed) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef uint32_t from_bits = source_bits(c, instruction, 0)
    cdef TempId a = source(c, instruction, 0)
    if from_bits == 64:
        return unsupported(c, b"64-bit source of", alu_names[c.s.instructions.opcode[instruction]])
    if not is_vgpr(c, dst) and c.scalar_floats and bits == 32 and from_bits == 32:
        emit1(c, op_s_cvt_f32_i32 if is_signed else op_s_cvt_f32_u32, dst, T(c, a))
        return 0
    if bits == 16 and from_bits <= 16:
        if from_bits == 8:
            a = convert_integer(c, 0, a, 8, 16, is_signed)
        emit1(c, op_v_cvt_f16_i16 if is_signed else op_v_cvt_f16_u16, dst, T(c, a))
        return 0
    if from_bits == 8 and bits == 32 and not is_signed:
        emit1(c, op_v_cvt_f32_ubyte0, dst, T(c, a))
        return 0
    if from_bits < 32:
        a = convert_integer(c, 0, a, from_bits, 32, is_signed)
    if bits == 64:
        emit1(c, op_v_cvt_f64_i32 if is_signed else op_v_cvt_f64_u32, dst, T(c, a))
    elif bits == 32:
        emit1(c, op_v_cvt_f32_i32 if is_signed else op_v_cvt_f32_u32, dst, T(c, a))
    else:
        a = emit1(c, op_v_cvt_f32_i32 if is_signed else op_v_cvt_f32_u32, 0, T(c, a))
        emit1(c, op_v_cvt_f16_f32, dst, T(c, a))
    return 0


cdef int _float_to_integer(Isel *c, ValueId instruction, TempId dst, uint64_t is_signed) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef uint32_t from_bits = source_bits(c, instruction, 0)
    cdef TempId a = source(c, instruction, 0)
    if bits == 64:
        return unsupported(c, b"64-bit", alu_names[c.s.instructions.opcode[instruction]])
    if not is_vgpr(c, dst) and not is_vgpr(c, a) and c.scalar_floats and bits == 32 and from_bits == 32:
        emit1(c, op_s_cvt_i32_f32 if is_signed else op_s_cvt_u32_f32, dst, T(c, a))
        return 0
    if from_bits == 16 and bits == 16:
        emit1(c, op_v_cvt_i16_f16 if is_signed else op_v_cvt_u16_f16, dst, T(c, a))
        return 0
    if from_bits == 16:
        a = emit1(c, op_v_cvt_f32_f16, 0, T(c, a))
        from_bits = 32
    if from_bits == 64:
        a = emit1(c, op_v_cvt_i32_f64 if is_signed else op_v_cvt_u32_f64, dst if bits == 32 else 0, T(c, a))
    else:
        a = emit1(c, op_v_cvt_i32_f32 if is_signed else op_v_cvt_u32_f32, dst if bits == 32 else 0, T(c, a))
    if bits < 32:
        convert_integer(c, dst, a, 32, bits, is_signed)
    return 0


cdef int _unpack_half(Isel *c, ValueId instruction, TempId dst, uint64_t index) except -1 nogil:
    emit1(c, op_v_cvt_f32_f16, dst, T(c, extract(c, source(c, instruction, 0), <uint32_t>index, 2)))
    return 0


cdef int _unpack_halves(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef TempId low = emit1(c, op_v_cvt_f32_f16, 0, T(c, extract(c, a, 0, 2)))
    cdef TempId high = emit1(c, op_v_cvt_f32_f16, 0, T(c, extract(c, a, 1, 2)))
    pair(c, dst, 0, T(c, low), T(c, high))
    return 0


cdef int _pack_pair(Isel *c, ValueId instruction, TempId dst, uint64_t opcodes) except -1 nogil:
    """`opcodes`: of 32-bit sources, and << 16 of 16-bit sources."""
    cdef uint32_t opcode16 = <uint32_t>(opcodes >> 16)
    cdef Operand a = T(c, source_component(c, instruction, 0, 0))
    cdef Operand b = T(c, source_component(c, instruction, 0, 1))
    if source_bits(c, instruction, 0) == 16:
        if opcode16 == op_invalid:
            return unsupported(c, b"16-bit source of", alu_names[c.s.instructions.opcode[instruction]])
        emit2(c, opcode16, dst, a, b)
    else:
        emit2(c, opcodes & 0xffff, dst, a, b)
    return 0


cdef int _cube(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef Operand[3] o
    cdef Operand[4] results
    cdef uint32_t i
    for i in range(3):
        o[i] = T(c, source_component(c, instruction, 0, i))
    results[0] = T(c, emit(c, op_v_cubetc_f32, 0, o, 3))
    results[1] = T(c, emit(c, op_v_cubesc_f32, 0, o, 3))
    results[2] = T(c, emit(c, op_v_cubema_f32, 0, o, 3))
    results[3] = T(c, emit(c, op_v_cubeid_f32, 0, o, 3))
    create_vector(c, dst, 0, results, 4)
    return 0


cdef int _pack_halves(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    _pack_toward_zero(c, dst, T(c, source_component(c, instruction, 0, 0)), T(c, source_component(c, instruction, 0, 1)))
    return 0


cdef int _pack_split_halves(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    _pack_toward_zero(c, dst, T(c, source(c, instruction, 0)), T(c, source(c, instruction, 1)))
    return 0


cdef void fill_float(AluSelection *table) noexcept nogil:
    table[<int>alu_fsub] = AluSelection(_subtract, 0)
    table[<int>alu_fneg] = AluSelection(_negate, 0)
    table[<int>alu_fabs] = AluSelection(_absolute, 0)
    table[<int>alu_fsat] = AluSelection(_saturate, 0)
    table[<int>alu_fsign] = AluSelection(_sign, 0)
    table[<int>alu_flog2] = AluSelection(_transcendental, 0)
    table[<int>alu_frcp] = AluSelection(_transcendental, 1)
    table[<int>alu_frsq] = AluSelection(_transcendental, 2)
    table[<int>alu_fsqrt] = AluSelection(_transcendental, 3)
    table[<int>alu_ldexp] = AluSelection(_load_exponent, 0)
    table[<int>alu_frexp_exp] = AluSelection(_exponent, 0)
    table[<int>alu_fcanonicalize] = AluSelection(_canonical, 0)
    table[<int>alu_fquantize2f16] = AluSelection(_quantize, 0)
    table[<int>alu_f2f16] = AluSelection(_to_half, as_mode_says)
    table[<int>alu_f2f16_rtne] = AluSelection(_to_half, nearest_even)
    table[<int>alu_f2f16_rtz] = AluSelection(_to_half, toward_zero)
    table[<int>alu_f2f32] = AluSelection(_to_single, 0)
    table[<int>alu_f2f64] = AluSelection(_to_double, 0)
    table[<int>alu_i2f16] = AluSelection(_integer_to_float, True)
    table[<int>alu_i2f32] = AluSelection(_integer_to_float, True)
    table[<int>alu_i2f64] = AluSelection(_integer_to_float, True)
    table[<int>alu_u2f16] = AluSelection(_integer_to_float, False)
    table[<int>alu_u2f32] = AluSelection(_integer_to_float, False)
    table[<int>alu_u2f64] = AluSelection(_integer_to_float, False)
    table[<int>alu_f2i8] = AluSelection(_float_to_integer, True)
    table[<int>alu_f2i16] = AluSelection(_float_to_integer, True)
    table[<int>alu_f2i32] = AluSelection(_float_to_integer, True)
    table[<int>alu_f2u8] = AluSelection(_float_to_integer, False)
    table[<int>alu_f2u16] = AluSelection(_float_to_integer, False)
    table[<int>alu_f2u32] = AluSelection(_float_to_integer, False)
    table[<int>alu_pack_half_2x16] = AluSelection(_pack_halves, 0)
    table[<int>alu_pack_half_2x16_split] = AluSelection(_pack_split_halves, 0)
    table[<int>alu_pack_half_2x16_rtz_split] = AluSelection(_pack_split_halves, 0)
    table[<int>alu_unpack_half_2x16] = AluSelection(_unpack_halves, 0)
    table[<int>alu_unpack_half_2x16_split_x] = AluSelection(_unpack_half, 0)
    table[<int>alu_unpack_half_2x16_split_y] = AluSelection(_unpack_half, 1)
    table[<int>alu_pack_unorm_2x16] = AluSelection(_pack_pair, op_v_cvt_pknorm_u16_f32 | op_v_cvt_pknorm_u16_f16 << 16)
    table[<int>alu_pack_snorm_2x16] = AluSelection(_pack_pair, op_v_cvt_pknorm_i16_f32 | op_v_cvt_pknorm_i16_f16 << 16)
    table[<int>alu_pack_uint_2x16] = AluSelection(_pack_pair, op_v_cvt_pk_u16_u32 | <uint32_t>op_invalid << 16)
    table[<int>alu_pack_sint_2x16] = AluSelection(_pack_pair, op_v_cvt_pk_i16_i32 | <uint32_t>op_invalid << 16)
    table[<int>alu_cube_amd] = AluSelection(_cube, 0)
