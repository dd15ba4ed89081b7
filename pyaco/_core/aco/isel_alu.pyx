"""Instruction selection of NIR's ALU instructions.

Most opcodes are one row of a table: an opcode of the SALU for 32 and 64 bits, one of the VALU for 16, 32 and 64 bits. A uniform
integer (class s1, s2) takes the SALU opcode, everything else the VALU one. The rest is written out here (moves, vectors,
booleans, selections) and in ``isel_alu_integer`` and ``isel_alu_float``.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3); NIR's opcode semantics (Mesa ``docs/nir``); the pairing of NIR with ISA opcodes as
in ACO's ``aco_instruction_selection.cpp``.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from nir_opcodes cimport *
from pyaco._core.aco.build cimport by_wave
from pyaco._core.aco.isel_alu_float cimport fill_float
from pyaco._core.aco.isel_alu_integer cimport add_sub_64, fill_integer
from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.isel_packed cimport is_packed, select_packed
from pyaco._core.ir.program cimport (
    Operand, TempId, class_bytes, class_is_vgpr, class_s2, fp_denorm32_shift, gfx10, gfx12, gfx9, operand_16bit, operand_24bit, operand_c64,
)
from pyaco._core.ir.demanded_bits cimport demanded_bits_find
from pyaco._core.ir.range_analysis cimport unsigned_upper_bound
from pyaco._core.ir.shader cimport ValueId, nir_alu, nir_exact, nir_no_unsigned_wrap, source_value, source_swizzle, swizzle_component

cdef enum:                        # Method: how an opcode is selected
    no_rule = 0               # not in the table
    integer = 1
    logic = 2                     # bitwise: also lane masks; 64 bits in VGPRs by halves
    shift = 3
    floating = 4                  # VALU by the bit size of the result
    compare = 5

cdef enum:                        # RuleFlag: bits
    commutative = 1
    reversed_operands = 2         # the VALU takes the shift count first; the reference of a masked difference second
    sign_matters = 4              # narrow SGPR sources are sign-extended first
    zero_matters = 8              # ... zero-extended
    scalar_float = 16             # the scalar opcode is for floats of 32 bits, where chips have it

cdef struct Rule:
    uint8_t method
    uint8_t flags
    uint16_t scalar32
    uint16_t scalar64
    uint16_t vector16             # GFX8, GFX9
    uint16_t vector16_new         # GFX10 and later
    uint16_t vector32
    uint16_t vector64

cdef Rule[alu_count] _rules

_NONE = op_invalid
# NIR opcode: method, flags, SALU 32, SALU 64, VALU 16 (GFX9), VALU 16 (GFX10+), VALU 32, VALU 64.
_TABLE = {
    alu_iadd: (integer, commutative, op_s_add_u32, _NONE, op_v_add_u16, op_v_add_u16_e64, op_v_add_u32, _NONE),
    alu_isub: (integer, 0, op_s_sub_i32, _NONE, op_v_sub_u16, op_v_sub_u16_e64, op_v_sub_u32, _NONE),
    alu_imul: (integer, commutative, op_s_mul_i32, _NONE, op_v_mul_lo_u16, op_v_mul_lo_u16_e64, op_v_mul_lo_u32, _NONE),
    alu_imin: (integer, commutative | sign_matters, op_s_min_i32, _NONE, op_v_min_i16, op_v_min_i16_e64, op_v_min_i32, _NONE),
    alu_imax: (integer, commutative | sign_matters, op_s_max_i32, _NONE, op_v_max_i16, op_v_max_i16_e64, op_v_max_i32, _NONE),
    alu_umin: (integer, commutative | zero_matters, op_s_min_u32, _NONE, op_v_min_u16, op_v_min_u16_e64, op_v_min_u32, _NONE),
    alu_umax: (integer, commutative | zero_matters, op_s_max_u32, _NONE, op_v_max_u16, op_v_max_u16_e64, op_v_max_u32, _NONE),
    alu_umul_high: (integer, commutative, op_s_mul_hi_u32, _NONE, _NONE, _NONE, op_v_mul_hi_u32, _NONE),
    alu_imul_high: (integer, commutative, op_s_mul_hi_i32, _NONE, _NONE, _NONE, op_v_mul_hi_i32, _NONE),
    alu_umul24: (floating, commutative, _NONE, _NONE, _NONE, _NONE, op_v_mul_u32_u24, _NONE),
    alu_umul24_relaxed: (floating, commutative, _NONE, _NONE, _NONE, _NONE, op_v_mul_u32_u24, _NONE),
    alu_imul24: (floating, commutative, _NONE, _NONE, _NONE, _NONE, op_v_mul_i32_i24, _NONE),
    alu_imul24_relaxed: (floating, commutative, _NONE, _NONE, _NONE, _NONE, op_v_mul_i32_i24, _NONE),
    alu_umad24: (floating, 0, _NONE, _NONE, _NONE, _NONE, op_v_mad_u32_u24, _NONE),
    alu_bfm: (integer, 0, op_s_bfm_b32, _NONE, _NONE, _NONE, op_v_bfm_b32, _NONE),
    alu_iand: (logic, commutative, op_s_and_b32, op_s_and_b64, op_v_and_b32, op_v_and_b32, op_v_and_b32, _NONE),
    alu_ior: (logic, commutative, op_s_or_b32, op_s_or_b64, op_v_or_b32, op_v_or_b32, op_v_or_b32, _NONE),
    alu_ixor: (logic, commutative, op_s_xor_b32, op_s_xor_b64, op_v_xor_b32, op_v_xor_b32, op_v_xor_b32, _NONE),
    alu_ishl: (shift, reversed_operands, op_s_lshl_b32, op_s_lshl_b64, op_v_lshlrev_b16, op_v_lshlrev_b16_e64, op_v_lshlrev_b32,
               op_v_lshlrev_b64),
    alu_ushr: (shift, reversed_operands | zero_matters, op_s_lshr_b32, op_s_lshr_b64, op_v_lshrrev_b16, op_v_lshrrev_b16_e64,
               op_v_lshrrev_b32, op_v_lshrrev_b64),
    alu_ishr: (shift, reversed_operands | sign_matters, op_s_ashr_i32, op_s_ashr_i64, op_v_ashrrev_i16, op_v_ashrrev_i16_e64,
               op_v_ashrrev_i32, op_v_ashrrev_i64),
    alu_bitfield_reverse: (integer, 0, op_s_brev_b32, op_s_brev_b64, _NONE, _NONE, op_v_bfrev_b32, _NONE),
    alu_ufind_msb_rev: (integer, 0, op_s_flbit_i32_b32, _NONE, _NONE, _NONE, op_v_ffbh_u32, _NONE),
    alu_ifind_msb_rev: (integer, 0, op_s_flbit_i32, _NONE, _NONE, _NONE, op_v_ffbh_i32, _NONE),
    alu_umin3: (floating, 0, _NONE, _NONE, op_v_min3_u16, op_v_min3_u16, op_v_min3_u32, _NONE),
    alu_umax3: (floating, 0, _NONE, _NONE, op_v_max3_u16, op_v_max3_u16, op_v_max3_u32, _NONE),
    alu_umed3: (floating, 0, _NONE, _NONE, op_v_med3_u16, op_v_med3_u16, op_v_med3_u32, _NONE),
    alu_imin3: (floating, 0, _NONE, _NONE, op_v_min3_i16, op_v_min3_i16, op_v_min3_i32, _NONE),
    alu_imax3: (floating, 0, _NONE, _NONE, op_v_max3_i16, op_v_max3_i16, op_v_max3_i32, _NONE),
    alu_imed3: (floating, 0, _NONE, _NONE, op_v_med3_i16, op_v_med3_i16, op_v_med3_i32, _NONE),
    alu_alignbyte_amd: (floating, 0, _NONE, _NONE, _NONE, _NONE, op_v_alignbyte_b32, _NONE),
    alu_byte_perm_amd: (floating, 0, _NONE, _NONE, _NONE, _NONE, op_v_perm_b32, _NONE),
    alu_msad_4x8: (floating, reversed_operands, _NONE, _NONE, _NONE, _NONE, op_v_msad_u8, _NONE),
    # --- floats
    alu_fadd: (floating, commutative | scalar_float, op_s_add_f32, _NONE, op_v_add_f16, op_v_add_f16, op_v_add_f32, op_v_add_f64),
    alu_fmul: (floating, commutative | scalar_float, op_s_mul_f32, _NONE, op_v_mul_f16, op_v_mul_f16, op_v_mul_f32, op_v_mul_f64),
    alu_fmulz: (floating, commutative, _NONE, _NONE, _NONE, _NONE, op_v_mul_legacy_f32, _NONE),
    alu_fmin: (floating, commutative | scalar_float, op_s_min_f32, _NONE, op_v_min_f16, op_v_min_f16, op_v_min_f32, op_v_min_f64),
    alu_fmax: (floating, commutative | scalar_float, op_s_max_f32, _NONE, op_v_max_f16, op_v_max_f16, op_v_max_f32, op_v_max_f64),
    alu_ffma: (floating, scalar_float, op_s_fmac_f32, _NONE, op_v_fma_f16, op_v_fma_f16, op_v_fma_f32, op_v_fma_f64),
    alu_ffmaz: (floating, 0, _NONE, _NONE, _NONE, _NONE, op_v_fma_legacy_f32, _NONE),
    alu_fmin3: (floating, 0, _NONE, _NONE, op_v_min3_f16, op_v_min3_f16, op_v_min3_f32, _NONE),
    alu_fmax3: (floating, 0, _NONE, _NONE, op_v_max3_f16, op_v_max3_f16, op_v_max3_f32, _NONE),
    alu_fmed3: (floating, 0, _NONE, _NONE, op_v_med3_f16, op_v_med3_f16, op_v_med3_f32, _NONE),
    alu_ffract: (floating, 0, _NONE, _NONE, op_v_fract_f16, op_v_fract_f16, op_v_fract_f32, op_v_fract_f64),
    alu_ffloor: (floating, scalar_float, op_s_floor_f32, _NONE, op_v_floor_f16, op_v_floor_f16, op_v_floor_f32, op_v_floor_f64),
    alu_fceil: (floating, scalar_float, op_s_ceil_f32, _NONE, op_v_ceil_f16, op_v_ceil_f16, op_v_ceil_f32, op_v_ceil_f64),
    alu_ftrunc: (floating, scalar_float, op_s_trunc_f32, _NONE, op_v_trunc_f16, op_v_trunc_f16, op_v_trunc_f32, op_v_trunc_f64),
    alu_fround_even: (floating, scalar_float, op_s_rndne_f32, _NONE, op_v_rndne_f16, op_v_rndne_f16, op_v_rndne_f32, op_v_rndne_f64),
    alu_fexp2: (floating, 0, _NONE, _NONE, op_v_exp_f16, op_v_exp_f16, op_v_exp_f32, _NONE),
    alu_fsin_amd: (floating, 0, _NONE, _NONE, op_v_sin_f16, op_v_sin_f16, op_v_sin_f32, _NONE),
    alu_fcos_amd: (floating, 0, _NONE, _NONE, op_v_cos_f16, op_v_cos_f16, op_v_cos_f32, _NONE),
    alu_frexp_sig: (floating, 0, _NONE, _NONE, op_v_frexp_mant_f16, op_v_frexp_mant_f16, op_v_frexp_mant_f32, op_v_frexp_mant_f64),
    # --- comparisons
    alu_ilt: (compare, sign_matters, op_s_cmp_lt_i32, _NONE, op_v_cmp_lt_i16, op_v_cmp_lt_i16, op_v_cmp_lt_i32, op_v_cmp_lt_i64),
    alu_ige: (compare, sign_matters, op_s_cmp_ge_i32, _NONE, op_v_cmp_ge_i16, op_v_cmp_ge_i16, op_v_cmp_ge_i32, op_v_cmp_ge_i64),
    alu_ieq: (compare, zero_matters | commutative, op_s_cmp_eq_i32, op_s_cmp_eq_u64, op_v_cmp_eq_i16, op_v_cmp_eq_i16,
              op_v_cmp_eq_i32, op_v_cmp_eq_i64),
    alu_ine: (compare, zero_matters | commutative, op_s_cmp_lg_i32, op_s_cmp_lg_u64, op_v_cmp_lg_i16, op_v_cmp_lg_i16,
              op_v_cmp_lg_i32, op_v_cmp_lg_i64),
    alu_ult: (compare, zero_matters, op_s_cmp_lt_u32, _NONE, op_v_cmp_lt_u16, op_v_cmp_lt_u16, op_v_cmp_lt_u32, op_v_cmp_lt_u64),
    alu_uge: (compare, zero_matters, op_s_cmp_ge_u32, _NONE, op_v_cmp_ge_u16, op_v_cmp_ge_u16, op_v_cmp_ge_u32, op_v_cmp_ge_u64),
    alu_flt: (compare, scalar_float, op_s_cmp_lt_f32, _NONE, op_v_cmp_lt_f16, op_v_cmp_lt_f16, op_v_cmp_lt_f32, op_v_cmp_lt_f64),
    alu_fge: (compare, scalar_float, op_s_cmp_ge_f32, _NONE, op_v_cmp_ge_f16, op_v_cmp_ge_f16, op_v_cmp_ge_f32, op_v_cmp_ge_f64),
    alu_feq: (compare, commutative | scalar_float, op_s_cmp_eq_f32, _NONE, op_v_cmp_eq_f16, op_v_cmp_eq_f16, op_v_cmp_eq_f32, op_v_cmp_eq_f64),
    alu_fneu: (compare, commutative | scalar_float, op_s_cmp_neq_f32, _NONE, op_v_cmp_neq_f16, op_v_cmp_neq_f16, op_v_cmp_neq_f32, op_v_cmp_neq_f64),
    alu_fltu: (compare, scalar_float, op_s_cmp_nge_f32, _NONE, op_v_cmp_nge_f16, op_v_cmp_nge_f16, op_v_cmp_nge_f32, op_v_cmp_nge_f64),
    alu_fgeu: (compare, scalar_float, op_s_cmp_nlt_f32, _NONE, op_v_cmp_nlt_f16, op_v_cmp_nlt_f16, op_v_cmp_nlt_f32, op_v_cmp_nlt_f64),
    alu_fequ: (compare, commutative | scalar_float, op_s_cmp_nlg_f32, _NONE, op_v_cmp_nlg_f16, op_v_cmp_nlg_f16, op_v_cmp_nlg_f32, op_v_cmp_nlg_f64),
    alu_fneo: (compare, commutative | scalar_float, op_s_cmp_lg_f32, _NONE, op_v_cmp_lg_f16, op_v_cmp_lg_f16, op_v_cmp_lg_f32, op_v_cmp_lg_f64),
    alu_ford: (compare, commutative | scalar_float, op_s_cmp_o_f32, _NONE, op_v_cmp_o_f16, op_v_cmp_o_f16, op_v_cmp_o_f32, op_v_cmp_o_f64),
    alu_funord: (compare, commutative | scalar_float, op_s_cmp_u_f32, _NONE, op_v_cmp_u_f16, op_v_cmp_u_f16, op_v_cmp_u_f32, op_v_cmp_u_f64),
}
_FIELDS = ("method", "flags", "scalar32", "scalar64", "vector16", "vector16_new", "vector32", "vector64")
for _opcode, _values in _TABLE.items():
    _rules[_opcode] = dict(zip(_FIELDS, _values))

# Comparisons, and those that give the same result with their operands exchanged.
cdef uint16_t[32][2] _mirrored
_MIRRORED = [
    (op_v_cmp_lt_i16, op_v_cmp_gt_i16), (op_v_cmp_lt_i32, op_v_cmp_gt_i32), (op_v_cmp_lt_i64, op_v_cmp_gt_i64),
    (op_v_cmp_ge_i16, op_v_cmp_le_i16), (op_v_cmp_ge_i32, op_v_cmp_le_i32), (op_v_cmp_ge_i64, op_v_cmp_le_i64),
    (op_v_cmp_lt_u16, op_v_cmp_gt_u16), (op_v_cmp_lt_u32, op_v_cmp_gt_u32), (op_v_cmp_lt_u64, op_v_cmp_gt_u64),
    (op_v_cmp_ge_u16, op_v_cmp_le_u16), (op_v_cmp_ge_u32, op_v_cmp_le_u32), (op_v_cmp_ge_u64, op_v_cmp_le_u64),
    (op_v_cmp_lt_f16, op_v_cmp_gt_f16), (op_v_cmp_lt_f32, op_v_cmp_gt_f32), (op_v_cmp_lt_f64, op_v_cmp_gt_f64),
    (op_v_cmp_ge_f16, op_v_cmp_le_f16), (op_v_cmp_ge_f32, op_v_cmp_le_f32), (op_v_cmp_ge_f64, op_v_cmp_le_f64),
    (op_v_cmp_nlt_f16, op_v_cmp_ngt_f16), (op_v_cmp_nlt_f32, op_v_cmp_ngt_f32), (op_v_cmp_nlt_f64, op_v_cmp_ngt_f64),
    (op_v_cmp_nge_f16, op_v_cmp_nle_f16), (op_v_cmp_nge_f32, op_v_cmp_nle_f32), (op_v_cmp_nge_f64, op_v_cmp_nle_f64),
]
for _opcode, _values in enumerate(_MIRRORED):
    _mirrored[_opcode][0] = _values[0]
    _mirrored[_opcode][1] = _values[1]
cdef int _mirrored_count = len(_MIRRORED)


cdef uint32_t _mirror(uint32_t opcode) noexcept nogil:
    cdef int i
    for i in range(_mirrored_count):
        if _mirrored[i][0] == opcode:
            return _mirrored[i][1]
    return op_invalid


cdef uint32_t _vector_opcode(Isel *c, Rule *rule, uint32_t bits) noexcept nogil:
    if bits <= 16:
        return rule.vector16_new if c.gfx >= gfx10 else rule.vector16
    return rule.vector64 if bits == 64 else rule.vector32


cdef inline uint32_t _scalar_opcode(Isel *c, Rule *rule, uint32_t bits) noexcept nogil:
    if rule.flags & scalar_float and (bits != 32 or not c.scalar_floats):
        return op_invalid
    return rule.scalar64 if bits == 64 else rule.scalar32


cdef int _valu(Isel *c, ValueId instruction, TempId dst, uint32_t opcode, uint32_t flags) except -1 nogil:
    cdef Operand[3] o
    cdef Operand swap
    cdef uint32_t count = c.s.instructions.source_count[instruction]
    cdef uint32_t i
    if opcode == op_invalid:
        return unsupported_alu(c, instruction)
    for i in range(count):
        o[i] = T(c, source(c, instruction, i))
    if flags & reversed_operands or (flags & commutative and not class_is_vgpr(o[1].register_class)
                                     and class_is_vgpr(o[0].register_class)):
        swap = o[0]
        o[0] = o[1]
        o[1] = swap
    emit(c, opcode, dst, o, count)
    return 0


cdef int _scalar_float(Isel *c, ValueId instruction, TempId dst, uint32_t opcode) except -1 nogil:
    """The SALU has no modifiers: a sum with a negated value is a difference."""
    cdef Operand[3] o
    cdef uint32_t i
    cdef ValueId negated
    for i in range(c.s.instructions.source_count[instruction]):
        o[i] = T(c, source(c, instruction, i))
    for i in range(2):
        negated = source_value(c.s, instruction, i)
        if opcode == op_s_add_f32 and c.s.instructions.kind[negated] == nir_alu and c.s.instructions.opcode[negated] == alu_fneg:
            emit2(c, op_s_sub_f32, dst, o[1 - i], T(c, source(c, negated, 0)))
            return 0
    emit(c, opcode, dst, o, c.s.instructions.source_count[instruction])
    return 0


cdef bint _sign_of_scalar(Isel *c, ValueId value) except -1 nogil:
    """Whether a value is computed by the vector unit only because the scalar one cannot change the sign of a float."""
    cdef uint32_t opcode = c.s.instructions.opcode[value]
    return c.s.instructions.kind[value] == nir_alu and (opcode == alu_fneg or opcode == alu_fabs) and not is_vgpr(c, source(c, value, 0))


cdef int _fused_of_scalars(Isel *c, ValueId instruction, TempId dst, uint32_t opcode) except -1 nogil:
    """Two of the scalars fit on the constant bus; the optimizer, which counts uses, decides which one stays a copy."""
    cdef Operand[3] o
    cdef TempId temp
    cdef uint32_t i
    for i in range(3):
        temp = source(c, instruction, i)
        if not is_vgpr(c, temp):
            temp = copy(c, 0, vgpr_class(4), T(c, temp))
        o[i] = T(c, temp)
    emit(c, opcode, dst, o, 3)
    return 0


cdef bint _all_scalars(Isel *c, ValueId instruction) except -1 nogil:
    cdef uint32_t i
    for i in range(3):
        if is_vgpr(c, source(c, instruction, i)) and not _sign_of_scalar(c, source_value(c.s, instruction, i)):
            return False
    return True


cdef int _floating(Isel *c, ValueId instruction, TempId dst, uint64_t nir_opcode) except -1 nogil:
    cdef Rule *rule = &_rules[nir_opcode]
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef uint32_t opcode = op_invalid if is_vgpr(c, dst) else _scalar_opcode(c, rule, bits)
    if opcode != op_invalid:
        return _scalar_float(c, instruction, dst, opcode)
    opcode = _vector_opcode(c, rule, bits)
    if opcode == op_v_fma_f32 and c.slow_fma and not c.precise and (c.fp_mode >> fp_denorm32_shift) & 3 == 0:
        opcode = op_v_mad_f32         # rounds twice, which all but exact products and sums may
    if opcode == op_v_fma_f32 and c.gfx >= gfx10 and _all_scalars(c, instruction):
        return _fused_of_scalars(c, instruction, dst, opcode)
    return _valu(c, instruction, dst, opcode, rule.flags)


cdef TempId _extended(Isel *c, TempId temp, uint32_t bits, uint32_t flags) except 0 nogil:
    """A narrow integer in an SGPR, extended to 32 bits where the instruction reads them all."""
    if bits >= 32 or not flags & (sign_matters | zero_matters):
        return temp
    return extract_bits(c, 0, temp, 0, bits, (flags & sign_matters) != 0)


cdef int _wide(Isel *c, ValueId instruction, TempId dst) except -1 nogil:
    """What no instruction of the table computes: 64-bit sums, and uniform 64-bit products where the SALU has them."""
    cdef uint32_t opcode = c.s.instructions.opcode[instruction]
    if c.s.instructions.bit_size[instruction] == 64:
        if opcode == alu_iadd or opcode == alu_isub:
            return add_sub_64(c, dst, source(c, instruction, 0), source(c, instruction, 1), opcode == alu_isub)
        if opcode == alu_imul and not is_vgpr(c, dst) and c.gfx >= gfx12:
            emit2(c, op_s_mul_u64, dst, T(c, source(c, instruction, 0)), T(c, source(c, instruction, 1)))
            return 0
    return unsupported_alu(c, instruction)


cdef inline uint64_t _upper_bound(Isel *c, ValueId instruction, uint32_t index) noexcept nogil:
    return unsigned_upper_bound(&c.ranges, source_value(c.s, instruction, index),
                                swizzle_component(source_swizzle(c.s, instruction, index), 0))


cdef bint _fits_24_bits(Isel *c, ValueId instruction, uint32_t index) noexcept nogil:
    return _upper_bound(c, instruction, index) < 1U << 24


cdef bint _asks_for_24_bits(Isel *c, ValueId instruction) except -1 nogil:
    """Whether nothing above the low 24 bits of a product is asked for, which no higher bits of the factors reach."""
    if c.demanded.empty():
        demanded_bits_find(c.s, c.demanded)
    return c.demanded[instruction] < 1U << 24


cdef bint _fits_signed_24_bits(Isel *c, ValueId instruction, uint32_t index) noexcept nogil:
    """Whether a factor is a shorter number whose sign was extended."""
    cdef ValueId factor = source_value(c.s, instruction, index)
    cdef uint32_t opcode = c.s.instructions.opcode[factor]
    if c.s.instructions.kind[factor] != nir_alu:
        return False
    return opcode in (alu_extract_i8, alu_extract_i16) or opcode == alu_i2i32 and source_bits(c, factor, 0) <= 16


cdef int _integer(Isel *c, ValueId instruction, TempId dst, uint64_t nir_opcode) except -1 nogil:
    cdef Rule *rule = &_rules[nir_opcode]
    cdef uint32_t bits = source_bits(c, instruction, 0)
    cdef uint32_t opcode
    cdef Operand[2] o
    cdef uint32_t i
    if is_vgpr(c, dst):
        opcode = _vector_opcode(c, rule, bits)
        if opcode == op_invalid:
            return _wide(c, instruction, dst)
        # A full product takes four times as long.
        if opcode == op_v_mul_lo_u32 and _fits_24_bits(c, instruction, 0) and _fits_24_bits(c, instruction, 1):
            opcode = op_v_mul_u32_u24
        elif opcode == op_v_mul_lo_u32 and _fits_signed_24_bits(c, instruction, 0) and _fits_signed_24_bits(c, instruction, 1):
            opcode = op_v_mul_i32_i24
        elif opcode == op_v_mul_lo_u32 and _asks_for_24_bits(c, instruction):
            opcode = op_v_mul_u32_u24
        return _valu(c, instruction, dst, opcode, rule.flags)
    opcode = rule.scalar64 if bits == 64 else rule.scalar32
    if opcode == op_invalid:
        return _wide(c, instruction, dst)
    for i in range(c.s.instructions.source_count[instruction]):
        o[i] = T(c, _extended(c, source(c, instruction, i), bits, rule.flags))
    emit(c, opcode, dst, o, c.s.instructions.source_count[instruction])
    return 0


cdef Operand _short_factor(Isel *c, TempId temp, uint64_t bound) noexcept nogil:
    """What a shift moves to the left, with what is known of its size: a shift is a product too, which the optimizer adds up where there is no
    ``v_lshl_add_u32``, and subtracts."""
    cdef Operand o = T(c, temp)
    if bound < 1U << 16:
        o.flags |= operand_16bit
    elif bound < 1U << 24:
        o.flags |= operand_24bit
    return o


cdef int _shift(Isel *c, ValueId instruction, TempId dst, uint64_t nir_opcode) except -1 nogil:
    cdef Rule *rule = &_rules[nir_opcode]
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef Operand value
    cdef Operand count
    cdef bint is_product = bits == 32 and (c.gfx < gfx9 or is_vgpr(c, dst)) and c.s.instructions.opcode[instruction] == alu_ishl \
        and _fits_24_bits(c, instruction, 0)
    if is_vgpr(c, dst):
        if bits == 8:
            return unsupported_alu(c, instruction)
        if is_product:
            value = _short_factor(c, source(c, instruction, 0), _upper_bound(c, instruction, 0))
            emit2(c, op_v_lshlrev_b32, dst, T(c, source(c, instruction, 1)), value)
            return 0
        return _valu(c, instruction, dst, _vector_opcode(c, rule, bits), rule.flags)
    value = T(c, _extended(c, source(c, instruction, 0), bits, rule.flags))
    if is_product:
        value = _short_factor(c, source(c, instruction, 0), _upper_bound(c, instruction, 0))
    count = T(c, source(c, instruction, 1))
    if bits < 32:
        count = T(c, emit2(c, op_s_and_b32, 0, count, K(bits - 1)))
    emit2(c, rule.scalar64 if bits == 64 else rule.scalar32, dst, value, count)
    return 0


cdef int _logic(Isel *c, ValueId instruction, TempId dst, uint64_t nir_opcode) except -1 nogil:
    cdef Rule *rule = &_rules[nir_opcode]
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId a
    cdef TempId b
    cdef TempId low
    cdef TempId high
    if bits == 1:
        emit2(c, by_wave(c.p, rule.scalar32, rule.scalar64), dst, T(c, source(c, instruction, 0)), T(c, source(c, instruction, 1)))
        return 0
    if not is_vgpr(c, dst) or bits < 64:
        return _integer(c, instruction, dst, nir_opcode)
    a = source(c, instruction, 0)
    b = source(c, instruction, 1)
    if not is_vgpr(c, b):
        a, b = b, a
    low = emit2(c, rule.vector32, 0, T(c, part(c, a, 0, 4)), T(c, part(c, b, 0, 4)))
    high = emit2(c, rule.vector32, 0, T(c, part(c, a, 1, 4)), T(c, part(c, b, 1, 4)))
    pair(c, dst, 0, T(c, low), T(c, high))
    return 0


cdef int _compare(Isel *c, ValueId instruction, TempId dst, uint64_t nir_opcode) except -1 nogil:
    cdef Rule *rule = &_rules[nir_opcode]
    cdef uint32_t bits = source_bits(c, instruction, 0)
    cdef TempId a = source(c, instruction, 0)
    cdef TempId b = source(c, instruction, 1)
    cdef bint is_signed = (rule.flags & sign_matters) != 0
    cdef uint32_t opcode = _scalar_opcode(c, rule, bits)
    cdef uint32_t mirrored
    if bits == 1:
        if c.s.instructions.opcode[instruction] == alu_ieq:
            emit2(c, by_wave(c.p, op_s_xnor_b32, op_s_xnor_b64), dst, T(c, a), T(c, b))
        elif c.s.instructions.opcode[instruction] == alu_ine:
            emit2(c, by_wave(c.p, op_s_xor_b32, op_s_xor_b64), dst, T(c, a), T(c, b))
        else:
            return unsupported_alu(c, instruction)
        return 0
    if not is_vgpr(c, a) and not is_vgpr(c, b) and opcode != op_invalid and not value_divergent(c, instruction) \
            and (c.value_used[instruction] & used_scalar or not rule.flags & scalar_float):
        scc_to_mask(c, dst, emit2(c, opcode, 0, T(c, _extended(c, a, bits, rule.flags)), T(c, _extended(c, b, bits, rule.flags))))
        return 0
    if bits == 8:
        a = convert_integer(c, 0, a, 8, 32, is_signed)
        b = convert_integer(c, 0, b, 8, 32, is_signed)
        bits = 32
    opcode = _vector_opcode(c, rule, bits)
    if opcode == op_invalid:
        return unsupported_alu(c, instruction)
    if not is_vgpr(c, b) and is_vgpr(c, a):
        mirrored = opcode if rule.flags & commutative else _mirror(opcode)
        if mirrored != op_invalid:
            opcode = mirrored
            a, b = b, a
    emit2(c, opcode, dst, T(c, a), T(c, b))
    return 0


# ------------------------------------------------------------------------------------------------------ moves and vectors
cdef int _mov(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t components = c.s.instructions.components[instruction]
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef ValueId value = source_value(c.s, instruction, 0)
    cdef uint64_t swizzle = source_swizzle(c.s, instruction, 0)
    cdef uint32_t[16] temps
    cdef uint32_t i
    cdef bint whole = c.s.instructions.components[value] == components
    for i in range(components):
        whole = whole and swizzle_component(swizzle, i) == i
    if whole:
        temps[0] = value_temp(c, value)
    elif components == 1:
        temps[0] = source(c, instruction, 0)
    else:
        for i in range(components):
            temps[i] = source_component(c, instruction, 0, i)
        return _vector(c, dst, temps, components, bits)
    if is_vgpr(c, temps[0]) and not is_vgpr(c, dst):
        as_uniform(c, dst, temps[0])
        return 0
    if class_bytes(class_of(c, temps[0])) != class_bytes(class_of(c, dst)):
        temps[0] = as_vgpr_bytes(c, temps[0], class_bytes(class_of(c, dst)))
    copy(c, dst, 0, T(c, temps[0]))
    if components > 1 and is_vgpr(c, dst) == is_vgpr(c, temps[0]):
        split(c, dst, bits // 8)
    return 0


cdef int _vector(Isel *c, TempId dst, uint32_t *temps, uint32_t count, uint32_t bits) except -1 nogil:
    """Make the vector `dst` of scalars of `bits` bits."""
    cdef Operand[32] o
    cdef uint32_t i
    cdef uint32_t dwords
    cdef uint32_t per_dword
    if bits == 1:
        return unsupported(c, b"vector of", b"booleans")
    if bits >= 32 or is_vgpr(c, dst):
        for i in range(count):
            if is_vgpr(c, temps[i]) and not is_vgpr(c, dst):
                temps[i] = as_uniform(c, 0, temps[i])
            elif bits < 32 and not is_vgpr(c, temps[i]):
                temps[i] = as_vgpr_bytes(c, temps[i], bits // 8)
            o[i] = T(c, temps[i])
        create_vector(c, dst, 0, o, count)
        return 0
    # Narrow elements in SGPRs are packed by the SALU, dword by dword.
    per_dword = 32 // bits
    dwords = (count + per_dword - 1) // per_dword
    for i in range(dwords):
        o[i] = T(c, _pack_dword(c, temps + i * per_dword, min(per_dword, count - i * per_dword), bits))
    if dwords == 1:
        copy(c, dst, 0, o[0])
    else:
        create_vector(c, dst, 0, o, dwords)
    return 0


cdef TempId _pack_dword(Isel *c, uint32_t *temps, uint32_t count, uint32_t bits) except 0 nogil:
    cdef TempId result = as_uniform(c, 0, temps[0])
    cdef uint32_t i
    cdef TempId piece
    if count == 2 and bits == 16:
        return emit2(c, op_s_pack_ll_b32_b16, 0, T(c, result), T(c, as_uniform(c, 0, temps[1])))
    if count > 1:
        result = emit2(c, op_s_and_b32, 0, T(c, result), K((1 << bits) - 1))
    for i in range(1, count):
        piece = as_uniform(c, 0, temps[i])
        if (i + 1) * bits < 32:
            piece = emit2(c, op_s_and_b32, 0, T(c, piece), K((1 << bits) - 1))
        piece = emit2(c, op_s_lshl_b32, 0, T(c, piece), K(i * bits))
        result = emit2(c, op_s_or_b32, 0, T(c, result), T(c, piece))
    return result


cdef int _select(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId condition = source(c, instruction, 0)
    cdef TempId then = source(c, instruction, 1)
    cdef TempId other = source(c, instruction, 2)
    cdef TempId low
    cdef TempId high
    if bits == 1 and value_divergent(c, source_value(c.s, instruction, 0)):
        # (condition & then) | (other & ~condition)
        if condition != then:
            then = emit2(c, by_wave(c.p, op_s_and_b32, op_s_and_b64), 0, T(c, condition), T(c, then))
        if condition == other:
            copy(c, dst, 0, T(c, then))
        else:
            other = emit2(c, by_wave(c.p, op_s_andn2_b32, op_s_andn2_b64), 0, T(c, other), T(c, condition))
            emit2(c, by_wave(c.p, op_s_or_b32, op_s_or_b64), dst, T(c, then), T(c, other))
        return 0
    if not is_vgpr(c, dst):
        then = as_uniform(c, 0, then)
        other = as_uniform(c, 0, other)
        low = mask_to_scc(c, condition)
        emit3(c, op_s_cselect_b64 if class_of(c, dst) == class_s2 else op_s_cselect_b32, dst, T(c, then), T(c, other),
              scc_operand(c, low))
        return 0
    if bits < 64:
        emit3(c, op_v_cndmask_b32, dst, T(c, other), T(c, then), T(c, condition))
        return 0
    low = emit3(c, op_v_cndmask_b32, 0, T(c, part(c, other, 0, 4)), T(c, part(c, then, 0, 4)), T(c, condition))
    high = emit3(c, op_v_cndmask_b32, 0, T(c, part(c, other, 1, 4)), T(c, part(c, then, 1, 4)), T(c, condition))
    pair(c, dst, 0, T(c, low), T(c, high))
    return 0


cdef int _not(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef TempId low
    cdef TempId high
    if c.s.instructions.bit_size[instruction] == 1:
        emit1(c, by_wave(c.p, op_s_not_b32, op_s_not_b64), dst, T(c, a))
    elif not is_vgpr(c, dst):
        emit1(c, op_s_not_b64 if class_of(c, dst) == class_s2 else op_s_not_b32, dst, T(c, a))
    elif c.s.instructions.bit_size[instruction] == 64:
        low = emit1(c, op_v_not_b32, 0, T(c, part(c, a, 0, 4)))
        high = emit1(c, op_v_not_b32, 0, T(c, part(c, a, 1, 4)))
        pair(c, dst, 0, T(c, low), T(c, high))
    else:
        emit1(c, op_v_not_b32, dst, T(c, a))
    return 0


cdef int _bool_to_number(Isel *c, ValueId instruction, TempId dst, uint64_t one) except -1 nogil:
    """A number (1, 1.0 or all ones) where the lane mask is set, else 0."""
    cdef TempId mask = source(c, instruction, 0)
    cdef TempId high
    cdef TempId scc
    if is_vgpr(c, dst):
        if class_bytes(class_of(c, dst)) < 8:
            emit3(c, op_v_cndmask_b32, dst, K(0), K(<uint32_t>one), T(c, mask))
            return 0
        if one >> 32:
            high = emit3(c, op_v_cndmask_b32, 0, K(0), K(<uint32_t>(one >> 32)), T(c, mask))
            pair(c, dst, 0, K(0), T(c, high))
        else:
            high = emit3(c, op_v_cndmask_b32, 0, K(0), K(<uint32_t>one), T(c, mask))
            pair(c, dst, 0, T(c, high), K(0))
        return 0
    scc = mask_to_scc(c, mask)
    if class_of(c, dst) == class_s2:
        emit3(c, op_s_cselect_b64, dst, operand_c64(one), operand_c64(0), scc_operand(c, scc))
    elif one == 1:
        copy(c, dst, 0, T(c, scc))
    else:
        emit3(c, op_s_cselect_b32, dst, K(<uint32_t>one), K(0), scc_operand(c, scc))
    return 0


cdef int _number_to_bool(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    """Whether an integer is not zero."""
    cdef TempId a = source(c, instruction, 0)
    cdef uint32_t bits = source_bits(c, instruction, 0)
    if bits == 1:
        copy(c, dst, 0, T(c, a))
        return 0
    if bits < 32:
        a = convert_integer(c, 0, a, bits, 32, False)
    if is_vgpr(c, a):
        if bits == 64:
            emit2(c, op_v_cmp_lg_u64, dst, operand_c64(0), T(c, a))
        else:
            emit2(c, op_v_cmp_lg_u32, dst, K(0), T(c, a))
    elif bits == 64:
        scc_to_mask(c, dst, emit2(c, op_s_cmp_lg_u64, 0, T(c, a), operand_c64(0)))
    else:
        scc_to_mask(c, dst, emit2(c, op_s_cmp_lg_u32, 0, T(c, a), K(0)))
    return 0


cdef int _unpack(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    """One or two dwords reinterpreted as a vector of narrower integers."""
    cdef TempId a = source(c, instruction, 0)
    if is_vgpr(c, a) and not is_vgpr(c, dst):
        as_uniform(c, dst, a)
    else:
        copy(c, dst, 0, T(c, a))
    split(c, dst, c.s.instructions.bit_size[instruction] // 8)
    return 0


cdef int _pack(Isel *c, ValueId instruction, TempId dst, uint64_t of_vector) except -1 nogil:
    """Narrow integers packed into a wider one: the components of one source, or one source each."""
    cdef uint32_t[8] temps
    cdef uint32_t bits = source_bits(c, instruction, 0)
    cdef uint32_t count = c.s.instructions.bit_size[instruction] // bits
    cdef uint32_t i
    for i in range(count):
        temps[i] = source_component(c, instruction, 0, i) if of_vector else source(c, instruction, i)
    return _vector(c, dst, temps, count, bits)


cdef bint _of_pairs(Isel *c, ValueId instruction) noexcept nogil:
    """Whether a vector of halves consists of whole vectors of two."""
    cdef uint32_t count = c.s.instructions.source_count[instruction]
    cdef uint32_t i
    cdef ValueId value
    if c.s.instructions.bit_size[instruction] != 16 or count % 2:
        return False
    for i in range(count):
        value = source_value(c.s, instruction, i)
        if (value != source_value(c.s, instruction, i & ~1) or c.s.instructions.components[value] != 2
                or swizzle_component(source_swizzle(c.s, instruction, i), 0) != i % 2):
            return False
    return True


cdef int _vector_of_sources(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef uint32_t[16] temps
    cdef uint32_t count = c.s.instructions.source_count[instruction]
    cdef uint32_t i
    if count > 2 and _of_pairs(c, instruction):
        for i in range(0, count, 2):
            temps[i // 2] = value_temp(c, source_value(c.s, instruction, i))
        return _vector(c, dst, temps, count // 2, 32)
    for i in range(count):
        temps[i] = source(c, instruction, i)
    return _vector(c, dst, temps, count, c.s.instructions.bit_size[instruction])


# ------------------------------------------------------------------------------------------------------------- selection
cdef AluSelection[alu_count] _selections


cdef void _fill_rules(AluSelection *table) noexcept nogil:
    cdef AluFunction[6] methods
    cdef int opcode
    methods[<int>no_rule] = NULL
    methods[<int>integer] = _integer
    methods[<int>logic] = _logic
    methods[<int>shift] = _shift
    methods[<int>floating] = _floating
    methods[<int>compare] = _compare
    for opcode in range(alu_count):
        table[opcode] = AluSelection(methods[_rules[opcode].method], opcode)


cdef void _fill_moves(AluSelection *table) noexcept nogil:
    table[<int>alu_mov] = AluSelection(_mov, 0)
    table[<int>alu_vec2] = AluSelection(_vector_of_sources, 0)
    table[<int>alu_vec3] = AluSelection(_vector_of_sources, 0)
    table[<int>alu_vec4] = AluSelection(_vector_of_sources, 0)
    table[<int>alu_vec5] = AluSelection(_vector_of_sources, 0)
    table[<int>alu_vec8] = AluSelection(_vector_of_sources, 0)
    table[<int>alu_vec16] = AluSelection(_vector_of_sources, 0)
    table[<int>alu_bcsel] = AluSelection(_select, 0)
    table[<int>alu_inot] = AluSelection(_not, 0)
    table[<int>alu_b2i8] = AluSelection(_bool_to_number, 1)
    table[<int>alu_b2i16] = AluSelection(_bool_to_number, 1)
    table[<int>alu_b2i32] = AluSelection(_bool_to_number, 1)
    table[<int>alu_b2i64] = AluSelection(_bool_to_number, 1)
    table[<int>alu_b2b32] = AluSelection(_bool_to_number, 0xffffffff)
    table[<int>alu_b2f16] = AluSelection(_bool_to_number, 0x3c00)
    table[<int>alu_b2f32] = AluSelection(_bool_to_number, 0x3f800000)
    table[<int>alu_b2f64] = AluSelection(_bool_to_number, 0x3ff0000000000000ULL)
    table[<int>alu_b2b1] = AluSelection(_number_to_bool, 0)
    table[<int>alu_i2i1] = AluSelection(_number_to_bool, 0)
    table[<int>alu_u2u1] = AluSelection(_number_to_bool, 0)
    table[<int>alu_unpack_64_2x32] = AluSelection(_unpack, 0)
    table[<int>alu_unpack_64_4x16] = AluSelection(_unpack, 0)
    table[<int>alu_unpack_32_2x16] = AluSelection(_unpack, 0)
    table[<int>alu_unpack_32_4x8] = AluSelection(_unpack, 0)
    table[<int>alu_pack_64_2x32] = AluSelection(_pack, True)
    table[<int>alu_pack_64_4x16] = AluSelection(_pack, True)
    table[<int>alu_pack_32_2x16] = AluSelection(_pack, True)
    table[<int>alu_pack_32_4x8] = AluSelection(_pack, True)
    table[<int>alu_pack_64_2x32_split] = AluSelection(_pack, False)
    table[<int>alu_pack_32_2x16_split] = AluSelection(_pack, False)
    table[<int>alu_pack_32_4x8_split] = AluSelection(_pack, False)


_fill_rules(_selections)
_fill_moves(_selections)
fill_integer(_selections)
fill_float(_selections)


cdef int select_alu(Isel *c, ValueId instruction) except -1 nogil:
    cdef uint32_t dst = value_temp(c, instruction)
    cdef uint32_t opcode = c.s.instructions.opcode[instruction]
    cdef AluSelection *selection = &_selections[opcode]
    cdef bint packed = is_packed(c, instruction)
    if not packed and c.s.instructions.components[instruction] > 1 and _rules[opcode].method != no_rule:
        return unsupported(c, b"vector ALU opcode", alu_names[opcode])
    if selection.select == NULL:
        return unsupported_alu(c, instruction)
    c.precise = (c.s.instructions.flags[instruction] & nir_exact) != 0
    c.no_unsigned_wrap = (c.s.instructions.flags[instruction] & nir_no_unsigned_wrap) != 0
    if packed:
        select_packed(c, instruction, dst)
    else:
        selection.select(c, instruction, dst, selection.argument)
    c.precise = False
    c.no_unsigned_wrap = False
    return 0
