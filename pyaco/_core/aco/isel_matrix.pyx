"""Instruction selection of matrix operations: WMMA of GFX11 and GFX12.

``nir/lower_cooperative_matrix.pyx`` gives A, B and C as the registers of the instruction. A and B must not share registers with the result,
unless they are all of it; they are read to the end (RDNA 3 ISA, "Wave Matrix Multiply Accumulate").

Sources: RDNA 3 and RDNA 4 ISA documents: WMMA opcodes; negation bits say which integers are signed, clamp saturates.
"""
from libc.stdint cimport uint32_t, uint64_t

from isa_opcodes cimport *
from modifiers cimport modifier_set_clamp, modifier_set_neg, modifier_set_opsel_hi
from nir_opcodes cimport index_cmat_operands, index_cmat_types, intrinsic_cmat_muladd_amd
from pyaco._core.aco.isel_context cimport *
from pyaco._core.ir.cooperative_matrix cimport *
from pyaco._core.ir.program cimport Operand, gfx11, gfx12, operand_late_kill
from pyaco._core.ir.shader cimport ValueId, intrinsic_index

cdef struct MatrixOpcode:
    int types                     # cmat_types
    uint32_t gfx11                # 0: there is none
    uint32_t gfx12

cdef MatrixOpcode[9] _opcodes
_opcodes[0] = MatrixOpcode(cmat_f16 | cmat_f16 << 4 | cmat_f32 << 8, op_v_wmma_f32_16x16x16_f16, op_v_wmma_f32_16x16x16_f16_gfx12)
_opcodes[1] = MatrixOpcode(cmat_bf16 | cmat_bf16 << 4 | cmat_f32 << 8, op_v_wmma_f32_16x16x16_bf16, op_v_wmma_f32_16x16x16_bf16_gfx12)
_opcodes[2] = MatrixOpcode(cmat_f16 | cmat_f16 << 4 | cmat_f16 << 8, op_v_wmma_f16_16x16x16_f16, op_v_wmma_f16_16x16x16_f16_gfx12)
_opcodes[3] = MatrixOpcode(cmat_bf16 | cmat_bf16 << 4 | cmat_bf16 << 8, op_v_wmma_bf16_16x16x16_bf16, op_v_wmma_bf16_16x16x16_bf16_gfx12)
_opcodes[4] = MatrixOpcode(cmat_i8 | cmat_i8 << 4 | cmat_i32 << 8, op_v_wmma_i32_16x16x16_iu8, op_v_wmma_i32_16x16x16_iu8_gfx12)
_opcodes[5] = MatrixOpcode(cmat_e4m3 | cmat_e4m3 << 4 | cmat_f32 << 8, 0, op_v_wmma_f32_16x16x16_fp8_fp8)
_opcodes[6] = MatrixOpcode(cmat_e4m3 | cmat_e5m2 << 4 | cmat_f32 << 8, 0, op_v_wmma_f32_16x16x16_fp8_bf8)
_opcodes[7] = MatrixOpcode(cmat_e5m2 | cmat_e4m3 << 4 | cmat_f32 << 8, 0, op_v_wmma_f32_16x16x16_bf8_fp8)
_opcodes[8] = MatrixOpcode(cmat_e5m2 | cmat_e5m2 << 4 | cmat_f32 << 8, 0, op_v_wmma_f32_16x16x16_bf8_bf8)


cdef uint32_t _matrix_opcode(Isel *c, int types) noexcept nogil:
    cdef uint32_t i
    for i in range(9):
        if _opcodes[i].types == types and c.gfx >= gfx11 and not c.wave64:
            return _opcodes[i].gfx12 if c.gfx >= gfx12 else _opcodes[i].gfx11
    return 0


cdef int _multiply(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef int types = intrinsic_index(c.s, i, index_cmat_types)
    cdef int operands = intrinsic_index(c.s, i, index_cmat_operands)
    cdef uint32_t opcode = _matrix_opcode(c, types)
    cdef Operand[3] o
    cdef uint64_t *word
    cdef uint32_t k
    if opcode == 0:
        return unsupported(c, b"element types, chip or wave size of", b"cmat_muladd_amd")
    for k in range(3):
        o[k] = T(c, as_vgpr(c, source_whole(c, i, k)))
    o[0].flags |= operand_late_kill
    o[1].flags |= operand_late_kill
    emit_raw(c, opcode, value_temp(c, i), o, 3)
    word = modifiers_of_last(c)
    word[0] = modifier_set_opsel_hi(word[0], 7)
    if cmat_type_of(types, 2) == cmat_i32:
        word[0] = modifier_set_neg(word[0], operands & (cmat_a_signed | cmat_b_signed))
        if operands & cmat_saturating:
            word[0] = modifier_set_clamp(word[0], 1)
    split(c, value_temp(c, i), 4)
    return 0


cdef void fill_matrix(IntrinsicSelection *table) noexcept nogil:
    table[<int>intrinsic_cmat_muladd_amd] = IntrinsicSelection(_multiply, 0)
