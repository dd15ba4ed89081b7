"""How long instructions take, by the latency class of the opcode table: until the result can be read, and how long units are busy.

The figures are those of RADV's statistics (``aco_statistics`` of Mesa 25.2), so that latency and inverse throughput of the two compare; they are
estimates, memory most of all. Matrix operations of CDNA, which those lack, take four cycles for each of their passes (``isa/data``); its
doubles are as fast as singles from CDNA 2 on, half as fast on CDNA 1 (LLVM's scheduling models, ``SISchedule.td``).
"""
from libc.stdint cimport int32_t, uint32_t, uint8_t

from isa_opcodes cimport (
    op_v_add_f16, op_v_add_f32, op_v_add_i16, op_v_add_u16_e64, op_v_and_b16, op_v_ashrrev_i16_e64, op_v_cndmask_b16, op_v_cndmask_b32,
    op_v_dot2_bf16_bf16, op_v_dot2_f16_f16, op_v_dot2_f32_bf16, op_v_dot2_f32_f16, op_v_dot2c_f32_f16, op_v_fma_f16, op_v_fma_f32,
    op_v_fma_legacy_f32, op_v_fmaak_f16, op_v_fmaak_f32, op_v_fmac_f16, op_v_fmac_f32, op_v_fmac_legacy_f32, op_v_fmamk_f16,
    op_v_fmamk_f32, op_v_lshlrev_b16_e64, op_v_lshrrev_b16_e64, op_v_mad_i16, op_v_mad_u16, op_v_max_f16, op_v_max_f32, op_v_max_i16_e64,
    op_v_max_u16_e64, op_v_min_f16, op_v_min_f32, op_v_min_i16_e64, op_v_min_u16_e64, op_v_mov_b16, op_v_mov_b32, op_v_movreld_b32,
    op_v_movrels_b32, op_v_movrelsd_2_b32, op_v_movrelsd_b32, op_v_mul_f16, op_v_mul_f32, op_v_mul_legacy_f32, op_v_mul_lo_u16_e64,
    op_v_not_b16, op_v_or_b16, op_v_sub_f16, op_v_sub_f32, op_v_sub_i16, op_v_sub_u16_e64, op_v_subrev_f16, op_v_subrev_f32,
    op_v_writelane_b32_e64, op_v_xor_b16, op_v_wmma_i32_16x16x16_iu4,
)
from isa_tables cimport (
    latency_branch, latency_ds, latency_export, latency_salu, latency_salu_float, latency_sendmsg, latency_smem,
    latency_valu32, latency_valu64, latency_valu_double, latency_valu_double_add, latency_valu_double_convert,
    latency_valu_double_transcendental, latency_valu_fma, latency_valu_pseudo_scalar_trans,
    latency_valu_quarter_rate32, latency_valu_transcendental32, latency_vmem, latency_wmma,
)

cdef enum:
    resource_scalar = 0
    resource_branch = 1
    resource_valu = 2
    resource_valu_complex = 3
    resource_lds = 4
    resource_export = 5
    resource_vmem = 6
    resource_matrix = 7               # of CDNA; RDNA's matrix operations keep the vector ALU busy
    resource_count = 8

cdef enum:                            # cycles until an operation is counted down
    vector_memory_latency = 320
    lds_latency = 20                  # flat operations too, beside that of memory
    export_latency = 16
    scalar_cache_latency = 30         # descriptors, and constants at fixed offsets
    scalar_memory_latency = 200

cdef struct Cycles:
    int32_t latency                   # until the result can be read
    uint32_t resource0                # resource_count: none
    int32_t cost0                     # cycles that the resource is busy
    uint32_t resource1
    int32_t cost1

cdef inline Cycles cycles_on_two(int32_t latency, uint32_t resource0, int32_t cost0, uint32_t resource1, int32_t cost1) noexcept nogil:
    cdef Cycles c
    c.latency = latency
    c.resource0 = resource0
    c.cost0 = cost0
    c.resource1 = resource1
    c.cost1 = cost1
    return c

cdef inline Cycles cycles_on(int32_t latency, uint32_t resource, int32_t cost) noexcept nogil:
    return cycles_on_two(latency, resource, cost, resource_count, 0)

cdef inline Cycles rdna_cycles(uint32_t opcode, uint8_t latency, bint is_gds) noexcept nogil:
    """GFX10 and later, for 32 lanes; the waiting of memory operations is not in it."""
    cdef int32_t cost
    if latency == latency_valu32 or latency == latency_valu_fma:
        return cycles_on(5, resource_valu, 1)
    if latency == latency_valu64:
        return cycles_on_two(6, resource_valu, 2, resource_valu_complex, 2)
    if latency == latency_valu_quarter_rate32:
        return cycles_on_two(8, resource_valu, 4, resource_valu_complex, 4)
    if latency == latency_valu_transcendental32:
        return cycles_on_two(10, resource_valu, 1, resource_valu_complex, 4)
    if latency == latency_valu_pseudo_scalar_trans:
        return cycles_on_two(7, resource_valu, 1, resource_valu_complex, 1)
    if latency == latency_valu_double or latency == latency_valu_double_add or latency == latency_valu_double_convert:
        return cycles_on_two(22, resource_valu, 16, resource_valu_complex, 16)
    if latency == latency_valu_double_transcendental:
        return cycles_on_two(24, resource_valu, 16, resource_valu_complex, 16)
    if latency == latency_salu:
        return cycles_on(2, resource_scalar, 1)
    if latency == latency_salu_float:
        return cycles_on(4, resource_scalar, 1)
    if latency == latency_smem:
        return cycles_on(0, resource_scalar, 1)
    if latency == latency_branch or latency == latency_sendmsg:
        return cycles_on(0, resource_branch, 3)
    if latency == latency_ds:
        return cycles_on(0, resource_export if is_gds else resource_lds, 1)
    if latency == latency_export:
        return cycles_on(0, resource_export, 1)
    if latency == latency_vmem:
        return cycles_on(0, resource_vmem, 1)
    if latency == latency_wmma:
        cost = 16 if opcode == <uint32_t>op_v_wmma_i32_16x16x16_iu4 else 32
        return cycles_on(cost, resource_valu, cost)
    return cycles_on(0, resource_count, 0)

cdef inline Cycles gcn_cycles(uint8_t latency, bint is_valu, bint is_gds, bint has_fast_fma, int32_t double_cost) noexcept nogil:
    """Before GFX10, for 64 lanes: a wave's next instruction begins when this one's latency is over.

    `double_cost`: cycles of a double-precision operation where they are not those of consumer chips (0), which take 64 and 32 for additions.
    """
    cdef int32_t cost = 4
    if latency == latency_valu64:
        cost = 8
    elif latency in (latency_valu_quarter_rate32, latency_valu_transcendental32, latency_valu_double_convert):
        cost = 16
    elif latency == latency_valu_fma:
        cost = 4 if has_fast_fma else 16
    elif latency == latency_valu_double or latency == latency_valu_double_transcendental:
        cost = double_cost if double_cost else 64
    elif latency == latency_valu_double_add:
        cost = double_cost if double_cost else 32
    if is_valu:
        return cycles_on(cost, resource_valu, cost)
    if latency == latency_salu or latency == latency_smem:
        return cycles_on(4, resource_scalar, 4)
    if latency == latency_branch or latency == latency_sendmsg:
        return cycles_on(4, resource_branch, 4)
    if latency == latency_ds:
        return cycles_on(4, resource_export if is_gds else resource_lds, 4)
    if latency == latency_export:
        return cycles_on(16, resource_export, 16)
    if latency == latency_vmem:
        return cycles_on(4, resource_vmem, 4)
    return cycles_on(4, resource_count, 0)

cdef inline Cycles matrix_cycles(uint32_t passes) noexcept nogil:
    """A matrix operation of CDNA: the wave goes on after four cycles, the unit is busy for all passes."""
    return cycles_on_two(4 * <int32_t>passes, resource_valu, 4, resource_matrix, 4 * <int32_t>passes)

cdef inline bint issues_whole_wave(uint32_t opcode) noexcept nogil:
    """Whether the VALU of GFX11 and later takes both halves of a wave64 at once; mixed precision may too, which its operands decide."""
    return opcode in (
        op_v_fma_f32, op_v_fmac_f32, op_v_fmaak_f32, op_v_fmamk_f32, op_v_mul_f32, op_v_add_f32, op_v_sub_f32, op_v_subrev_f32,
        op_v_mul_legacy_f32, op_v_fma_legacy_f32, op_v_fmac_legacy_f32, op_v_fma_f16, op_v_fmac_f16, op_v_fmaak_f16, op_v_fmamk_f16,
        op_v_mul_f16, op_v_add_f16, op_v_sub_f16, op_v_subrev_f16, op_v_mov_b32, op_v_movreld_b32, op_v_movrels_b32, op_v_movrelsd_b32,
        op_v_movrelsd_2_b32, op_v_cndmask_b32, op_v_writelane_b32_e64, op_v_mov_b16, op_v_cndmask_b16, op_v_max_f32, op_v_min_f32,
        op_v_max_f16, op_v_min_f16, op_v_max_i16_e64, op_v_min_i16_e64, op_v_max_u16_e64, op_v_min_u16_e64, op_v_add_i16, op_v_sub_i16,
        op_v_mad_i16, op_v_add_u16_e64, op_v_sub_u16_e64, op_v_mad_u16, op_v_mul_lo_u16_e64, op_v_not_b16, op_v_and_b16, op_v_or_b16,
        op_v_xor_b16, op_v_lshrrev_b16_e64, op_v_ashrrev_i16_e64, op_v_lshlrev_b16_e64, op_v_dot2_bf16_bf16, op_v_dot2_f32_bf16,
        op_v_dot2_f16_f16, op_v_dot2_f32_f16, op_v_dot2c_f32_f16)
