"""Lowers multiplications of cooperative matrices: to matrix instructions where the chip has them, else to sums of products.

Needs: the level and the wave size of the shader. Guarantees: no ``cmat_muladd_pyaco`` is left; ``cmat_muladd_amd``, for waves of 32 lanes of
GFX11 and GFX12, has dwords as its sources and result.

``ir/cooperative_matrix.pxd`` says where the elements of a tile are. GFX12's instructions take them as they stand. GFX11's want all of a row of A,
and all of a column of B, in lanes n and n + 16, and give lane n of the lower half the even rows of the result: so A and B come from both halves,
and the rows of A are dealt out so that the instruction's even rows are the first eight (RDNA 3 ISA, "Wave Matrix Multiply Accumulate").
Without the instructions each lane sums the products of its eight elements: its column of B from both halves, the rows of A by shuffles.
Floats are summed in 32 bits and rounded once at the end.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport (
    alu_bcsel, alu_f2f16, alu_f2f32, alu_ffma, alu_iadd_sat, alu_iand, alu_ine, alu_ior, alu_pack_32_2x16_split,
    alu_pack_32_4x8, alu_sdot_4x8_iadd, alu_sudot_4x8_iadd, alu_u2u16, alu_u2u32, alu_uadd_sat, alu_udot_4x8_uadd,
    alu_unpack_32_2x16_split_x, alu_unpack_32_2x16_split_y, alu_unpack_32_4x8, alu_ushr, index_cmat_operands, index_cmat_types,
    index_fetch_inactive, index_swizzle_mask, intrinsic_cmat_muladd_amd, intrinsic_cmat_muladd_pyaco, intrinsic_lane_permute_16_amd,
    intrinsic_masked_swizzle_amd, intrinsic_shuffle,
)
from pyaco._core.ir.cooperative_matrix cimport *
from pyaco._core.ir.emitter cimport (
    alu1, alu2, alu2_constant, alu3, component, constant, intrinsic1, intrinsic2, intrinsic3, vector_of,
)
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx11, gfx12
from pyaco._core.ir.shader cimport Shader, ShaderData, ValueId, intrinsic_index, intrinsic_set_index, nir_intrinsic, source_value
from pyaco._core.ir.small_floats cimport single_from, single_to
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lowering_run, subgroup_invocation

cdef enum:
    swap_halves = 0x1f | 16 << 10             # pattern of masked_swizzle_amd: lane ^ 16
    rows_low = 0xb3a29180                     # for each lane of 16 that whose row of A it gets on GFX11: 0, 8, 1, 9 ...
    rows_high = 0xf7e6d5c4

cdef struct Tiles:
    ValueId[8] a                              # dwords
    ValueId[8] b
    ValueId[8] c                              # elements
    uint32_t dwords                           # of A and B
    int types
    int operands
    ValueId lane
    ValueId is_high                           # the lane is in the upper half of 32


# ----------------------------------------------------------------------------------------------------------------- dwords
cdef uint32_t _packed(Lowering *b, ValueId value, ValueId *dwords) except 0 nogil:
    """The elements of a tile as dwords; returns how many there are."""
    cdef uint32_t bits = b.s.instructions.bit_size[value]
    cdef ValueId[4] parts
    cdef uint32_t i, k
    for i in range(8 * bits // 32):
        for k in range(32 // bits):
            parts[k] = component(b, value, 32 // bits * i + k)
        if bits == 8:
            dwords[i] = alu1(b, alu_pack_32_4x8, vector_of(b, parts, 4))
        elif bits == 16:
            dwords[i] = alu2(b, alu_pack_32_2x16_split, parts[0], parts[1])
        else:
            dwords[i] = parts[0]
    return 8 * bits // 32


cdef ValueId _unpacked(Lowering *b, const ValueId *dwords, uint32_t bits) except 0 nogil:
    """The elements of a tile from its dwords."""
    cdef ValueId[8] parts
    cdef uint32_t i
    for i in range(8):
        if bits == 32:
            parts[i] = dwords[i]
        else:
            parts[i] = alu1(b, alu_unpack_32_2x16_split_y if i & 1 else alu_unpack_32_2x16_split_x, dwords[i // 2])
    return vector_of(b, parts, 8)


cdef ValueId _from_other_half(Lowering *b, ValueId dword) except 0 nogil:
    cdef ValueId value = intrinsic1(b, intrinsic_masked_swizzle_amd, 1, 32, dword)
    intrinsic_set_index(b.s, value, index_swizzle_mask, swap_halves)
    intrinsic_set_index(b.s, value, index_fetch_inactive, 1)
    return value


cdef int _both_halves(Lowering *b, const Tiles *t, const ValueId *own, ValueId *all) except -1 nogil:
    """All 16 elements of a row or column, the first eight from the lower half."""
    cdef uint32_t i
    cdef ValueId other
    for i in range(t.dwords):
        other = _from_other_half(b, own[i])
        all[i] = alu3(b, alu_bcsel, t.is_high, other, own[i])
        all[t.dwords + i] = alu3(b, alu_bcsel, t.is_high, own[i], other)
    return 0


# ----------------------------------------------------------------------------------------------------------- instructions
cdef bint _has_instruction(Lowering *b, const Tiles *t) noexcept nogil:
    cdef int a = cmat_type_of(t.types, 0)
    if b.s.info.gfx_level < gfx11 or b.s.info.wave_size != 32:
        return False
    if cmat_type_of(t.types, 2) == cmat_i32:              # it saturates to signed numbers
        return not t.operands & cmat_saturating or (t.operands & cmat_c_signed and t.operands & cmat_result_signed)
    return b.s.info.gfx_level >= gfx12 or (a != cmat_e4m3 and a != cmat_e5m2)


cdef ValueId _instruction(Lowering *b, Tiles *t, ValueId c) except 0 nogil:
    cdef uint32_t bits = b.s.instructions.bit_size[c]
    cdef bint spread = b.s.info.gfx_level >= gfx12
    cdef ValueId[8] sums
    cdef ValueId[16] a
    cdef ValueId[16] right
    cdef uint32_t count = 8
    cdef uint32_t dwords = t.dwords
    cdef uint32_t i
    cdef ValueId value
    if spread:
        count = _packed(b, c, sums)
        for i in range(dwords):
            a[i] = t.a[i]
            right[i] = t.b[i]
    else:
        for i in range(dwords):
            t.a[i] = intrinsic3(b, intrinsic_lane_permute_16_amd, 1, 32, t.a[i], constant(b, rows_low, 32), constant(b, rows_high, 32))
        _both_halves(b, t, t.a, a)
        _both_halves(b, t, t.b, right)
        dwords *= 2
        for i in range(8):                                # narrow sums stand in the lower halves of their registers
            sums[i] = t.c[i] if bits == 32 else alu1(b, alu_u2u32, t.c[i])
    value = intrinsic3(b, intrinsic_cmat_muladd_amd, count, 32, vector_of(b, a, dwords), vector_of(b, right, dwords), vector_of(b, sums, count))
    intrinsic_set_index(b.s, value, index_cmat_types, t.types)
    intrinsic_set_index(b.s, value, index_cmat_operands, t.operands)
    if bits == 32:
        return value
    for i in range(count):
        sums[i] = component(b, value, i)
    if spread:
        return _unpacked(b, sums, bits)
    for i in range(8):
        sums[i] = alu1(b, alu_u2u16, sums[i])
    return vector_of(b, sums, 8)


# --------------------------------------------------------------------------------------------------------------- products
cdef int _numbers(Lowering *b, int type, ValueId dword, ValueId *numbers) except 0 nogil:
    """The elements in a dword as 32-bit floats; returns how many there are."""
    cdef ValueId bytes
    cdef uint32_t i
    if type == cmat_e4m3 or type == cmat_e5m2:
        bytes = alu1(b, alu_unpack_32_4x8, dword)
        for i in range(4):
            numbers[i] = single_from(b, component(b, bytes, i), type)
        return 4
    for i in range(2):
        numbers[i] = alu1(b, alu_unpack_32_2x16_split_y if i else alu_unpack_32_2x16_split_x, dword)
        numbers[i] = alu1(b, alu_f2f32, numbers[i]) if type == cmat_f16 else single_from(b, numbers[i], type)
    return 2


cdef ValueId _integer_product(Lowering *b, const Tiles *t, ValueId a, ValueId right, ValueId sum) except 0 nogil:
    cdef bint a_signed = (t.operands & cmat_a_signed) != 0
    cdef bint b_signed = (t.operands & cmat_b_signed) != 0
    if a_signed == b_signed:
        return alu3(b, alu_sdot_4x8_iadd if a_signed else alu_udot_4x8_uadd, a, right, sum)
    return alu3(b, alu_sudot_4x8_iadd, a if a_signed else right, right if a_signed else a, sum)


cdef ValueId _row_of_a(Lowering *b, const Tiles *t, ValueId first, uint32_t row, uint32_t dword) except 0 nogil:
    """A dword of a row of A that the lane sums the products of; the first `dwords` are the row's first eight elements."""
    cdef uint32_t distance = row + (16 if dword >= t.dwords else 0)
    return intrinsic2(b, intrinsic_shuffle, 1, 32, t.a[dword % t.dwords], alu2_constant(b, alu_ior, first, distance))


cdef ValueId _float_sum(Lowering *b, const Tiles *t, ValueId first, const ValueId *column, uint32_t row) except 0 nogil:
    cdef int sum_type = cmat_type_of(t.types, 2)
    cdef ValueId sum = t.c[row]
    cdef ValueId[4] a
    cdef uint32_t i, k, count
    if sum_type == cmat_f16:
        sum = alu1(b, alu_f2f32, sum)
    elif sum_type == cmat_bf16:
        sum = single_from(b, sum, cmat_bf16)
    count = 16 // (2 * t.dwords)
    for i in range(2 * t.dwords):
        _numbers(b, cmat_type_of(t.types, 0), _row_of_a(b, t, first, row, i), a)
        for k in range(count):
            sum = alu3(b, alu_ffma, a[k], column[count * i + k], sum)
    if sum_type == cmat_f16:
        return alu1(b, alu_f2f16, sum)
    return single_to(b, sum, cmat_bf16, False) if sum_type == cmat_bf16 else sum


cdef ValueId _integer_sum(Lowering *b, const Tiles *t, ValueId first, const ValueId *column, uint32_t row) except 0 nogil:
    cdef bint saturating = t.operands & cmat_saturating
    cdef ValueId sum = constant(b, 0, 32) if saturating else t.c[row]
    cdef uint32_t i
    for i in range(2 * t.dwords):
        sum = _integer_product(b, t, _row_of_a(b, t, first, row, i), column[i], sum)
    if not saturating:
        return sum
    return alu2(b, alu_iadd_sat if t.operands & cmat_result_signed else alu_uadd_sat, sum, t.c[row])


cdef ValueId _products(Lowering *b, Tiles *t) except 0 nogil:
    cdef ValueId[16] dwords
    cdef ValueId[16] column
    cdef ValueId[8] sums
    cdef bint is_integer = cmat_type_of(t.types, 2) == cmat_i32
    cdef uint32_t i
    # The lane, of its own 32, that has the first row of A that this lane needs: that of its half.
    cdef ValueId first = alu2(b, alu_ior, alu2_constant(b, alu_iand, t.lane, 32),
                              alu2_constant(b, alu_iand, alu2_constant(b, alu_ushr, t.lane, 1), 8))
    _both_halves(b, t, t.b, dwords)
    for i in range(2 * t.dwords):
        if is_integer:
            column[i] = dwords[i]
        else:
            _numbers(b, cmat_type_of(t.types, 1), dwords[i], &column[16 // (2 * t.dwords) * i])
    for i in range(8):
        sums[i] = _integer_sum(b, t, first, column, i) if is_integer else _float_sum(b, t, first, column, i)
    return vector_of(b, sums, 8)


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Tiles t
    cdef ValueId c
    cdef uint32_t i
    if s.instructions.kind[instruction] != nir_intrinsic or s.instructions.opcode[instruction] != intrinsic_cmat_muladd_pyaco:
        return lower_keep
    t.types = intrinsic_index(s, instruction, index_cmat_types)
    t.operands = intrinsic_index(s, instruction, index_cmat_operands)
    t.dwords = _packed(b, source_value(s, instruction, 0), t.a)
    _packed(b, source_value(s, instruction, 1), t.b)
    c = source_value(s, instruction, 2)
    for i in range(8):
        t.c[i] = component(b, c, i)
    t.lane = subgroup_invocation(b)
    t.is_high = alu2_constant(b, alu_ine, alu2_constant(b, alu_iand, t.lane, 16), 0)
    return _instruction(b, &t, c) if _has_instruction(b, &t) else _products(b, &t)


cdef bint lower_cooperative_matrix_run(ShaderData *s) except -1 nogil:
    return lowering_run(s, lower_intrinsics, _lower, NULL)


cdef int _kernel(void *ir, int option) except -1 nogil:
    return lower_cooperative_matrix_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Lower multiplications of cooperative matrices."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
