"""Instruction selection for GFX6 to GFX8: what takes the place of opcodes that came later.

``emit`` asks here when a level has no number for an opcode. What comes back is the same value; whoever puts modifiers on the last
instruction (saturation, for instance) must look at the level itself. What has no replacement is refused by name.

Sources: AMD ISA documents "Southern Islands", "Sea Islands" and "Volcanic Islands" (which opcodes there are); ACO's
``aco_instruction_selection.cpp`` for what it does on these generations.
"""
from libc.stdint cimport uint16_t, uint32_t

from isa_opcodes cimport *
from isa_tables cimport opcode_name
from pyaco._core.aco.isel_context cimport *
from pyaco._core.ir.program cimport Operand, TempId, class_s1

cdef struct Replacement:
    uint16_t opcode
    uint16_t older                # takes the same operands; a second result is a carry that nothing reads

cdef Replacement[5] _replacements
_replacements[0] = Replacement(op_v_add_u32, op_v_add_co_u32)
_replacements[1] = Replacement(op_v_sub_u32, op_v_sub_co_u32)
_replacements[2] = Replacement(op_v_fma_f16, op_v_fma_legacy_f16)
_replacements[3] = Replacement(op_s_mul_hi_u32, op_v_mul_hi_u32)
_replacements[4] = Replacement(op_s_mul_hi_i32, op_v_mul_hi_i32)

# Opcodes that have VOP3 only since GFX8, by those that have a shorter form before: v_readlane_b32 for v_readlane_b32_e64.
cdef uint16_t[op_count] _short_forms
_by_name = {opcode_name[_opcode].decode(): _opcode for _opcode in range(op_count)}
for _name, _opcode in _by_name.items():
    _short_forms[_opcode] = _by_name.get(_name.removesuffix("_e64"), _opcode)

# Before GFX8 shifts of 64 bits have the value first.
cdef uint16_t[3][2] _wide_shifts
for _k, (_later, _earlier) in enumerate([(op_v_lshlrev_b64, op_v_lshl_b64), (op_v_lshrrev_b64, op_v_lshr_b64), (op_v_ashrrev_i64, op_v_ashr_i64)]):
    _wide_shifts[_k][0], _wide_shifts[_k][1] = _later, _earlier

# Of three values the smallest, the largest, or the one between: as operations on two.
cdef struct OfThree:
    uint16_t opcode
    uint16_t first                # on the first two
    uint16_t second               # of that and the third
    uint16_t third                # med3: of the first two, which that is then combined with by `first`

cdef OfThree[9] _of_three
_of_three[0] = OfThree(op_v_min3_f16, op_v_min_f16, op_v_min_f16, op_invalid)
_of_three[1] = OfThree(op_v_max3_f16, op_v_max_f16, op_v_max_f16, op_invalid)
_of_three[2] = OfThree(op_v_med3_f16, op_v_max_f16, op_v_min_f16, op_v_min_f16)
_of_three[3] = OfThree(op_v_min3_i16, op_v_min_i16, op_v_min_i16, op_invalid)
_of_three[4] = OfThree(op_v_max3_i16, op_v_max_i16, op_v_max_i16, op_invalid)
_of_three[5] = OfThree(op_v_med3_i16, op_v_max_i16, op_v_min_i16, op_v_min_i16)
_of_three[6] = OfThree(op_v_min3_u16, op_v_min_u16, op_v_min_u16, op_invalid)
_of_three[7] = OfThree(op_v_max3_u16, op_v_max_u16, op_v_max_u16, op_invalid)
_of_three[8] = OfThree(op_v_med3_u16, op_v_max_u16, op_v_min_u16, op_v_min_u16)


cdef TempId _three(Isel *c, const OfThree *rule, TempId dst, const Operand *o) except 0 nogil:
    """med3(a, b, d) = max(min(a, b), min(max(a, b), d))"""
    cdef TempId pair_
    cdef TempId low
    if rule.third == op_invalid:
        return emit2(c, rule.second, dst, T(c, emit2(c, rule.first, 0, o[0], o[1])), o[2])
    low = emit2(c, rule.third, 0, o[0], o[1])
    pair_ = emit2(c, rule.first, 0, o[0], o[1])
    pair_ = emit2(c, rule.second, 0, T(c, pair_), o[2])
    return emit2(c, rule.first, dst, T(c, low), T(c, pair_))


cdef TempId _compare_64(Isel *c, bint equal, TempId dst, const Operand *o) except 0 nogil:
    """scc by the exclusive-or of both, which says whether they differ."""
    cdef TempId differ
    emit2(c, op_s_xor_b64, 0, o[0], o[1])
    if not equal and dst == 0:
        return c.scc
    differ = c.scc
    return emit2(c, op_s_cmp_eq_u32 if equal else op_s_cmp_lg_u32, dst, scc_operand(c, differ), K(0))


cdef TempId emit_older(Isel *c, uint32_t opcode, TempId dst, const Operand *given, uint32_t count) except 0 nogil:
    cdef uint32_t k
    cdef TempId low
    for k in range(3):
        if _wide_shifts[k][0] == opcode:
            return emit2(c, _wide_shifts[k][1], dst, given[1], given[0])
    if _short_forms[opcode] != opcode:
        return emit(c, _short_forms[opcode], dst, given, count)
    for k in range(5):
        if _replacements[k].opcode == opcode:
            if dst == 0 and (opcode == op_s_mul_hi_u32 or opcode == op_s_mul_hi_i32):
                dst = new_temp(c, class_s1)
            return emit(c, _replacements[k].older, dst, given, count)
    for k in range(9):
        if _of_three[k].opcode == opcode:
            return _three(c, &_of_three[k], dst, given)
    if opcode == op_v_add3_u32:
        return emit2(c, op_v_add_co_u32, dst, T(c, emit2(c, op_v_add_co_u32, 0, given[0], given[1])), given[2])
    if opcode == op_s_pack_ll_b32_b16:
        low = emit2(c, op_s_and_b32, 0, given[0], K(0xffff))
        return emit2(c, op_s_or_b32, dst, T(c, low), T(c, emit2(c, op_s_lshl_b32, 0, given[1], K(16))))
    if opcode == op_s_cmp_eq_u64 or opcode == op_s_cmp_lg_u64:
        return _compare_64(c, opcode == op_s_cmp_eq_u64, dst, given)
    unsupported(c, b"this gfx level has no", opcode_name[opcode])
    return 0
