"""Instruction selection of atomic operations on memory.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3, RDNA 4): opcodes of atomics and the bit that returns the old value; ACO's
``aco_instruction_selection.cpp`` for operand order.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport isa_opcode_number, opcode_format
from nir_opcodes cimport *

from pyaco._core.aco.build cimport exec_operand, make
from pyaco._core.aco.isel_address cimport *
from pyaco._core.aco.isel_cache cimport atomic_cache
from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.older_memory cimport older_form
from pyaco._core.ir.program cimport (
    Definition, Operand, TempId, class_s1, class_v1, class_v2, class_v4, definition_of_fixed, gfx10, gfx11, operand_of_fixed, register_m0,
    semantic_atomicrmw, storage_buffer, storage_shared,
)
from pyaco._core.ir.shader cimport (
    ValueId, atomic_cmpxchg, atomic_fadd, atomic_fmax, atomic_fmin, atomic_iadd, atomic_iand, atomic_imax, atomic_imin,
    atomic_ior, atomic_ixor, atomic_umax, atomic_umin, atomic_xchg, intrinsic_index, source_value,
)

cdef enum:
    compare_and_swap = 0x100      # added to the access kind


# By operation: buffer 32, 64; global 32, 64; LDS 32, 64 without and with result.
cdef uint16_t[13][8] _atomics
_NONE = op_invalid
_ATOMICS = {
    atomic_iadd: (op_buffer_atomic_add, op_buffer_atomic_add_x2, op_global_atomic_add, op_global_atomic_add_x2, op_ds_add_u32,
                  op_ds_add_u64, op_ds_add_rtn_u32, op_ds_add_rtn_u64),
    atomic_imin: (op_buffer_atomic_smin, op_buffer_atomic_smin_x2, op_global_atomic_smin, op_global_atomic_smin_x2,
                  op_ds_min_i32, op_ds_min_i64, op_ds_min_rtn_i32, op_ds_min_rtn_i64),
    atomic_umin: (op_buffer_atomic_umin, op_buffer_atomic_umin_x2, op_global_atomic_umin, op_global_atomic_umin_x2,
                  op_ds_min_u32, op_ds_min_u64, op_ds_min_rtn_u32, op_ds_min_rtn_u64),
    atomic_imax: (op_buffer_atomic_smax, op_buffer_atomic_smax_x2, op_global_atomic_smax, op_global_atomic_smax_x2,
                  op_ds_max_i32, op_ds_max_i64, op_ds_max_rtn_i32, op_ds_max_rtn_i64),
    atomic_umax: (op_buffer_atomic_umax, op_buffer_atomic_umax_x2, op_global_atomic_umax, op_global_atomic_umax_x2,
                  op_ds_max_u32, op_ds_max_u64, op_ds_max_rtn_u32, op_ds_max_rtn_u64),
    atomic_iand: (op_buffer_atomic_and, op_buffer_atomic_and_x2, op_global_atomic_and, op_global_atomic_and_x2, op_ds_and_b32,
                  op_ds_and_b64, op_ds_and_rtn_b32, op_ds_and_rtn_b64),
    atomic_ior: (op_buffer_atomic_or, op_buffer_atomic_or_x2, op_global_atomic_or, op_global_atomic_or_x2, op_ds_or_b32,
                 op_ds_or_b64, op_ds_or_rtn_b32, op_ds_or_rtn_b64),
    atomic_ixor: (op_buffer_atomic_xor, op_buffer_atomic_xor_x2, op_global_atomic_xor, op_global_atomic_xor_x2, op_ds_xor_b32,
                  op_ds_xor_b64, op_ds_xor_rtn_b32, op_ds_xor_rtn_b64),
    atomic_xchg: (op_buffer_atomic_swap, op_buffer_atomic_swap_x2, op_global_atomic_swap, op_global_atomic_swap_x2,
                  op_ds_write_b32, op_ds_write_b64, op_ds_wrxchg_rtn_b32, op_ds_wrxchg_rtn_b64),
    atomic_fadd: (op_buffer_atomic_add_f32, _NONE, op_global_atomic_add_f32, _NONE, op_ds_add_f32, _NONE, op_ds_add_rtn_f32, _NONE),
    atomic_fmin: (op_buffer_atomic_fmin, op_buffer_atomic_fmin_x2, op_global_atomic_fmin, op_global_atomic_fmin_x2,
                  op_ds_min_f32, op_ds_min_f64, op_ds_min_rtn_f32, op_ds_min_rtn_f64),
    atomic_fmax: (op_buffer_atomic_fmax, op_buffer_atomic_fmax_x2, op_global_atomic_fmax, op_global_atomic_fmax_x2,
                  op_ds_max_f32, op_ds_max_f64, op_ds_max_rtn_f32, op_ds_max_rtn_f64),
    atomic_cmpxchg: (op_buffer_atomic_cmpswap, op_buffer_atomic_cmpswap_x2, op_global_atomic_cmpswap,
                     op_global_atomic_cmpswap_x2, op_ds_cmpst_b32, op_ds_cmpst_b64, op_ds_cmpst_rtn_b32, op_ds_cmpst_rtn_b64),
}
for _operation, _names in _ATOMICS.items():
    for _size in range(8):
        _atomics[_operation][_size] = _names[_size]


cdef uint16_t buffer_atomic_opcode(uint32_t operation, bint wide) noexcept nogil:
    return _atomics[operation][wide]


cdef int _atomic(Isel *c, ValueId i, Access *a, uint32_t first_data, bint swap) except -1 nogil:
    cdef uint32_t operation = atomic_cmpxchg if swap else <uint32_t>intrinsic_index(c.s, i, index_atomic_op)
    cdef uint32_t bits = c.s.instructions.bit_size[source_value(c.s, i, first_data)]
    cdef bint wide = bits == 64
    cdef bint returns = c.value_used[i] != 0
    cdef TempId dst = value_temp(c, i) if returns else 0
    cdef TempId data = as_vgpr(c, source_whole(c, i, first_data))
    cdef TempId new_value = 0
    cdef uint32_t opcode
    cdef TempId old = dst
    cdef uint32_t count = 1
    cdef Operand[2] o
    if bits < 32 or operation > atomic_cmpxchg or (not swap and operation == atomic_cmpxchg):
        return unsupported(c, b"this size or operation of", intrinsic_names[c.s.instructions.opcode[i]])
    opcode = _atomics[operation][(4 + 2 * returns if a.access_kind == by_shared else 2 * a.access_kind) + wide]
    if opcode == op_invalid or not _available(c, older_form(c.gfx, opcode)):
        return unsupported(c, b"on this gfx level, the float operation of", intrinsic_names[c.s.instructions.opcode[i]])
    if swap:
        new_value = as_vgpr(c, source_whole(c, i, first_data + 1))
    legalize_address(c, a, bits // 8)
    o[0] = T(c, data)
    if swap and a.access_kind == by_shared:
        # From GFX11 on, the new value comes first.
        count = 2
        o[1] = T(c, new_value)
        if c.gfx >= gfx11:
            o[0] = T(c, new_value)
            o[1] = T(c, data)
    elif swap:
        o[0] = T(c, pair(c, 0, class_v4 if wide else class_v2, T(c, new_value), T(c, data)))
        if a.access_kind == by_buffer and returns:
            old = new_temp(c, class_v4 if wide else class_v2)
    if a.access_kind != by_shared:
        a.modifiers = atomic_cache(c, a.modifiers, returns)
    memory_instruction(c, a, opcode, old, o, count, a.constant)
    if old != dst:
        o[0] = T(c, old)
        o[1] = K(0)
        emit_raw(c, op_p_extract_vector, dst, o, 2)
    return 0


cdef bint _available(Isel *c, uint32_t opcode) noexcept nogil:
    return isa_opcode_number(c.gfx, opcode, opcode_format[opcode]) >= 0


cdef int _memory_atomic(Isel *c, ValueId i, uint64_t kind) except -1 nogil:
    cdef Access a
    cdef uint8_t access_kind = kind & 0xff
    cdef bint swap = (kind & compare_and_swap) != 0
    cdef uint32_t data = 2
    a.modifiers = 0
    if access_kind == by_global:
        global_access(c, i, &a, 0, 0)
        if c.s.instructions.opcode[i] == intrinsic_global_atomic_amd or c.s.instructions.opcode[i] == intrinsic_global_atomic_swap_amd:
            read_offset(c, i, &a, 3 if swap else 2)
        data = 1
    elif access_kind == by_shared:
        local_access(c, i, &a, access_kind, 0, 4)
        data = 1
    else:
        begin_access(&a, by_buffer, source_whole(c, i, 0))
        read_offset(c, i, &a, 1)
    a.align_mul = 4
    a.align_offset = 0
    a.modifiers = memory_ordering(storage_shared if access_kind == by_shared else storage_buffer, semantic_atomicrmw)
    return _atomic(c, i, &a, data, swap)


cdef int _count_lanes(Isel *c, ValueId i, uint64_t opcode) except -1 nogil:
    """DS_APPEND and DS_CONSUME: the number of active lanes is added to a dword of LDS, or subtracted; the old value is the same for all lanes.

    LLVM takes m0 for part of the address, RADV leaves it as it is: 0 suits both. A wave of 64 lanes of hardware with waves of 32 does it in two
    steps, between which other waves may come; what the last active lane gets is right (RADV).
    """
    cdef TempId old = new_temp(c, class_v1)
    cdef TempId dst = value_temp(c, i)
    cdef Operand o = K(0)
    cdef Definition m0 = definition_of_fixed(c.p, new_temp(c, class_s1), register_m0)
    cdef TempId lane
    cdef const uint32_t *workgroup = c.s.info.workgroup_size
    append_instruction(c, make(c.p, op_p_parallelcopy, &m0, 1, &o, 1))
    o = operand_of_fixed(c.p, m0.temp, register_m0)
    emit_raw(c, <uint16_t>opcode, old, &o, 1)
    c.p.instructions.immediate[c.last] = intrinsic_index(c.s, i, index_base)
    c.p.instructions.modifiers[c.last] = memory_ordering(storage_shared, semantic_atomicrmw)
    if c.gfx < gfx10 or not c.wave64 or workgroup[0] * workgroup[1] * workgroup[2] <= 64:
        as_uniform(c, dst, old)
        return 0
    lane = emit1(c, op_s_flbit_i32_b64, 0, exec_operand(c.p))
    lane = emit2(c, op_s_sub_i32, 0, K(63), T(c, lane))
    emit2(c, op_v_readlane_b32_e64, dst, T(c, old), T(c, lane))
    return 0


cdef void fill_atomics(IntrinsicSelection *table) noexcept nogil:
    table[<int>intrinsic_ssbo_atomic] = IntrinsicSelection(_memory_atomic, by_buffer)
    table[<int>intrinsic_ssbo_atomic_swap] = IntrinsicSelection(_memory_atomic, by_buffer | compare_and_swap)
    table[<int>intrinsic_shared_atomic] = IntrinsicSelection(_memory_atomic, by_shared)
    table[<int>intrinsic_shared_atomic_swap] = IntrinsicSelection(_memory_atomic, by_shared | compare_and_swap)
    table[<int>intrinsic_shared_append_amd] = IntrinsicSelection(_count_lanes, op_ds_append)
    table[<int>intrinsic_shared_consume_amd] = IntrinsicSelection(_count_lanes, op_ds_consume)
    table[<int>intrinsic_global_atomic] = IntrinsicSelection(_memory_atomic, by_global)
    table[<int>intrinsic_global_atomic_amd] = IntrinsicSelection(_memory_atomic, by_global)
    table[<int>intrinsic_global_atomic_swap] = IntrinsicSelection(_memory_atomic, by_global | compare_and_swap)
    table[<int>intrinsic_global_atomic_swap_amd] = IntrinsicSelection(_memory_atomic, by_global | compare_and_swap)
