"""The register class of every NIR value.

A bool is a lane mask. A divergent value lives in VGPRs. A uniform value lives in SGPRs unless the instruction that makes it can
only write VGPRs (floats, dot products) or one of its sources is there already: then staying in VGPRs is cheaper than going back.
Phis need a fixed point, which one or two sweeps over the program reach: a value only ever moves from SGPRs to VGPRs.

Source of the policy: ACO's ``init_context`` (``aco_instruction_selection_setup.cpp``).
"""
from libc.stdint cimport uint8_t, uint32_t

from nir_opcodes cimport *
from pyaco._core.aco.isel_context cimport (
    Isel, sgpr_class, used_alu, used_movable, used_otherwise, used_packed, used_scalar, used_scalar_alu, value_divergent, vgpr_class,
)
from pyaco._core.aco.isel_packed cimport is_packed
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.program cimport class_is_vgpr
from pyaco._core.ir.shader cimport (
    NodeId, ShaderData, ValueId, access_can_reorder, alu_is_vector, block_walk_next, intrinsic_index, nir_alu, nir_intrinsic, nir_load_const, nir_phi,
    nir_tex, nir_undef, node_first_block, source_swizzle, source_value, swizzle_component,
)

cdef enum:                        # ResultFile: the register file that a result goes to
    by_sources = 0                # SGPRs if it is uniform and no source is in VGPRs
    by_divergence = 1
    in_sgpr = 2
    in_vgpr = 3

cdef enum:
    # Dwords of uniform loads that one block leaves in VGPRs: of more, too many could live at once. Loads that could be moved to what reads them
    # do not count.
    kept_limit = 64
    memory_shared = 1             # kinds of memory: bits
    memory_other = 2
    memory_all = 3

cdef uint8_t[1024] _alu_result_file
cdef uint8_t[1024] _intrinsic_result_file

for _opcode in range(alu_count):
    if alu_output_type[_opcode] >> 8 == 3:
        _alu_result_file[_opcode] = in_vgpr
for _opcode in (alu_pack_half_2x16_rtz_split, alu_pack_half_2x16_split, alu_pack_half_2x16, alu_pack_unorm_2x16,
                alu_pack_snorm_2x16, alu_pack_uint_2x16, alu_pack_sint_2x16, alu_frexp_exp, alu_sdot_4x8_iadd,
                alu_sdot_4x8_iadd_sat, alu_sudot_4x8_iadd, alu_sudot_4x8_iadd_sat, alu_udot_4x8_uadd, alu_udot_4x8_uadd_sat,
                alu_sdot_2x16_iadd, alu_sdot_2x16_iadd_sat, alu_udot_2x16_uadd, alu_udot_2x16_uadd_sat, alu_msad_4x8,
                alu_mqsad_4x8, alu_umul24, alu_imul24, alu_umad24, alu_umul24_relaxed, alu_imul24_relaxed):
    _alu_result_file[_opcode] = in_vgpr
for _opcode in (alu_f2i8, alu_f2i16, alu_f2i32, alu_f2u8, alu_f2u16, alu_f2u32, alu_b2i8, alu_b2i16, alu_b2i32, alu_b2i64,
                alu_b2b32, alu_b2f16, alu_b2f32, alu_b2f64, alu_mov):
    _alu_result_file[_opcode] = by_divergence
# What the SALU computes of floats of 32 bits where it computes floats.
cdef uint8_t[1024] _scalar_floats
for _opcode in (alu_fadd, alu_fsub, alu_fmul, alu_ffma, alu_fmin, alu_fmax, alu_fneg, alu_fabs, alu_ffloor, alu_fceil, alu_ftrunc,
                alu_fround_even, alu_i2f32, alu_u2f32, alu_f2i32, alu_f2u32, alu_flt, alu_fge, alu_feq, alu_fneu, alu_fltu, alu_fgeu, alu_fequ,
                alu_fneo, alu_ford, alu_funord):
    _scalar_floats[_opcode] = True

for _opcode in (intrinsic_load_scalar_arg_amd, intrinsic_load_smem_amd, intrinsic_load_workgroup_id,
                intrinsic_load_num_workgroups, intrinsic_load_subgroup_id, intrinsic_load_num_subgroups, intrinsic_ballot,
                intrinsic_ballot_relaxed, intrinsic_vote_all, intrinsic_vote_any, intrinsic_first_invocation, intrinsic_last_invocation,
                intrinsic_read_first_invocation, intrinsic_read_invocation, intrinsic_as_uniform, intrinsic_shader_clock,
                intrinsic_shared_append_amd, intrinsic_shared_consume_amd):
    _intrinsic_result_file[_opcode] = in_sgpr
for _opcode in (intrinsic_load_vector_arg_amd, intrinsic_load_local_invocation_id, intrinsic_load_local_invocation_index,
                intrinsic_load_subgroup_invocation, intrinsic_mbcnt_amd, intrinsic_write_invocation_amd,
                intrinsic_lane_permute_16_amd, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap, intrinsic_global_atomic_amd,
                intrinsic_global_atomic_swap_amd, intrinsic_shared_atomic, intrinsic_shared_atomic_swap,
                intrinsic_load_scratch, intrinsic_dpp16_shift_amd, intrinsic_bindless_image_atomic,
                intrinsic_bindless_image_atomic_swap, intrinsic_cmat_muladd_amd):
    _intrinsic_result_file[_opcode] = in_vgpr
for _opcode in (intrinsic_load_ubo, intrinsic_load_ssbo, intrinsic_load_global_amd, intrinsic_load_shared,
                intrinsic_load_shared2_amd, intrinsic_load_constant, intrinsic_shuffle, intrinsic_quad_broadcast,
                intrinsic_quad_swap_horizontal, intrinsic_quad_swap_vertical, intrinsic_quad_swap_diagonal,
                intrinsic_quad_swizzle_amd, intrinsic_masked_swizzle_amd, intrinsic_inclusive_scan, intrinsic_exclusive_scan,
                intrinsic_reduce, intrinsic_rotate, intrinsic_bindless_image_load, intrinsic_bindless_image_sparse_load,
                intrinsic_bindless_image_fragment_mask_load_amd, intrinsic_load_buffer_amd, intrinsic_load_typed_buffer_amd):
    _intrinsic_result_file[_opcode] = by_divergence


# Sources of intrinsics that are read from VGPRs in any case: data to write, coordinates, what other lanes read; a bit each.
cdef uint8_t[1024] _vector_sources

for _opcode in (intrinsic_store_ssbo, intrinsic_store_buffer_amd, intrinsic_store_shared, intrinsic_store_shared2_amd,
                intrinsic_store_global_amd, intrinsic_store_scratch, intrinsic_reduce, intrinsic_inclusive_scan, intrinsic_exclusive_scan):
    _vector_sources[_opcode] = 1
for _opcode in (intrinsic_shared_atomic, intrinsic_global_atomic_amd, intrinsic_bindless_image_load):
    _vector_sources[_opcode] = 2
_vector_sources[<int>intrinsic_shared_atomic_swap] = _vector_sources[<int>intrinsic_global_atomic_swap_amd] = 6
_vector_sources[<int>intrinsic_ssbo_atomic] = 4
_vector_sources[<int>intrinsic_ssbo_atomic_swap] = 12
_vector_sources[<int>intrinsic_bindless_image_store] = 10

# What gives back a value that is the same in all lanes as it is.
cdef uint8_t[1024] _exchanges_lanes

for _opcode in (intrinsic_shuffle, intrinsic_quad_broadcast, intrinsic_quad_swap_horizontal, intrinsic_quad_swap_vertical,
                intrinsic_quad_swap_diagonal, intrinsic_quad_swizzle_amd, intrinsic_masked_swizzle_amd):
    _exchanges_lanes[_opcode] = True
    _vector_sources[_opcode] = 1


cdef bint _by_vector_memory(Isel *c, ValueId i) noexcept nogil:
    """Whether a load is none of the scalar unit's even if it is uniform."""
    cdef uint32_t opcode = c.s.instructions.opcode[i]
    if c.s.instructions.kind[i] == nir_tex:
        return True
    if opcode == intrinsic_load_ssbo or opcode == intrinsic_load_global_amd:
        return intrinsic_index(c.s, i, index_access) & access_can_reorder == 0
    return opcode in (intrinsic_load_shared, intrinsic_load_shared2_amd, intrinsic_bindless_image_load, intrinsic_load_buffer_amd,
                      intrinsic_load_typed_buffer_amd)


cdef bint _stays_in_vgpr(Isel *c, ValueId i, uint32_t *kept) noexcept nogil:
    """Whether a uniform value stays in VGPRs, which it comes in, because nothing reads it from SGPRs; `kept`: dwords of the block that do."""
    cdef ShaderData *s = c.s
    if c.value_used[i] & used_scalar:
        return False
    if c.value_used[i] & used_movable:
        return True
    if _by_vector_memory(c, i):
        kept[0] += (s.instructions.components[i] * s.instructions.bit_size[i] + 31) // 32
        return kept[0] <= kept_limit
    return (s.instructions.kind[i] == nir_intrinsic and _exchanges_lanes[s.instructions.opcode[i]]
            and not value_divergent(c, source_value(s, i, 0)) and class_is_vgpr(c.value_class[source_value(s, i, 0)]))


cdef bint _in_vgpr(Isel *c, ValueId i, uint32_t *kept) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef uint8_t kind = s.instructions.kind[i]
    cdef uint8_t file = by_sources
    cdef uint32_t source
    if kind == nir_load_const or kind == nir_undef:
        return False
    if kind == nir_alu:
        file = _alu_result_file[s.instructions.opcode[i]]
        if file == in_vgpr and c.value_used[i] & used_scalar_alu and _is_scalar_float(c, i):
            file = by_sources
    elif kind == nir_intrinsic:
        file = _intrinsic_result_file[s.instructions.opcode[i]]
    elif kind == nir_tex:
        file = by_divergence
    if kind == nir_alu and s.instructions.opcode[i] == alu_mov and not c.value_used[i] & used_scalar:
        file = by_sources
    if file == by_divergence and kind != nir_alu and not value_divergent(c, i) and _stays_in_vgpr(c, i, kept):
        return True
    if file != by_sources:
        return file == in_vgpr or (file == by_divergence and value_divergent(c, i))
    if value_divergent(c, i):
        return True
    for source in range(s.instructions.source_count[i]):
        if class_is_vgpr(c.value_class[source_value(s, i, source)]):
            return True
    return False


cdef uint32_t _components_read(const ShaderData *s, ValueId i, uint32_t source) noexcept nogil:
    """Which components of a source an ALU instruction reads, a bit each; other instructions read all."""
    cdef uint32_t opcode = s.instructions.opcode[i]
    cdef uint32_t count = alu_input_sizes_flat[opcode * alu_max_inputs + source]
    cdef uint32_t mask = 0
    cdef uint32_t k
    if s.instructions.kind[i] != nir_alu:
        return 0xffff
    if count == 0:
        count = s.instructions.components[i]
    if count == 1:
        return 1U << swizzle_component(source_swizzle(s, i, source), 0)
    for k in range(count):
        mask |= 1U << swizzle_component(source_swizzle(s, i, source), k)
    return mask


cdef bint _is_scalar_float(Isel *c, ValueId i) noexcept nogil:
    """Whether the SALU could compute it: it does where another scalar instruction reads the result, as the VALU has modifiers and issues in pairs."""
    cdef ShaderData *s = c.s
    return (c.scalar_floats and _scalar_floats[s.instructions.opcode[i]] and s.instructions.bit_size[source_value(s, i, 0)] == 32
            and s.instructions.bit_size[i] in (1, 32))


cdef uint8_t _reader(Isel *c, ValueId i, uint32_t source, bint carried) noexcept nogil:
    """What an instruction reads a source as; `carried`: it is a phi of a loop, in front of which is the place to wait for what is loaded there."""
    cdef uint32_t opcode = c.s.instructions.opcode[i]
    if c.s.instructions.kind[i] != nir_alu:
        if c.s.instructions.kind[i] == nir_phi and not carried and value_divergent(c, i) and c.s.instructions.bit_size[i] != 1:
            return used_otherwise
        if c.s.instructions.kind[i] == nir_intrinsic and source < 8 and _vector_sources[opcode] >> source & 1:
            return used_otherwise
        return used_otherwise | used_scalar
    if is_packed(c, i):
        return used_alu | used_packed
    if opcode == alu_mov or alu_is_vector(opcode):
        return used_alu | c.value_used[i] & (used_scalar | used_scalar_alu)
    if _is_scalar_float(c, i):
        if opcode == alu_f2i32 or opcode == alu_f2u32 or c.value_used[i] & (used_scalar if c.s.instructions.bit_size[i] == 1 else used_scalar_alu):
            return used_alu | used_scalar_alu
        return used_alu
    if _alu_result_file[opcode] == in_vgpr or alu_input_types_flat[opcode * alu_max_inputs] >> 8 == 3:
        return used_alu
    if opcode == alu_bcsel:
        return used_alu | used_scalar | c.value_used[i] & used_scalar_alu
    return used_alu | used_scalar | used_scalar_alu


cdef uint32_t _memory_accessed(uint32_t opcode) noexcept nogil:
    if opcode == intrinsic_barrier:
        return memory_all
    return memory_shared if opcode in (intrinsic_load_shared, intrinsic_load_shared2_amd, intrinsic_store_shared, intrinsic_store_shared2_amd,
                                       intrinsic_shared_atomic, intrinsic_shared_atomic_swap, intrinsic_shared_append_amd,
                                       intrinsic_shared_consume_amd) else memory_other


cdef int _note_writes(Isel *c, ValueId i, uint32_t position, uint32_t *next_write) noexcept nogil:
    """Keep where each kind of memory is written next, from the end; 0, which stands behind the last instruction of a block, ends everything."""
    cdef ShaderData *s = c.s
    cdef uint32_t accessed = memory_all
    cdef uint32_t kind
    if i != 0:
        if s.instructions.kind[i] != nir_intrinsic or intrinsic_flags[s.instructions.opcode[i]] & intrinsic_flag_can_eliminate:
            return 0
        accessed = _memory_accessed(s.instructions.opcode[i])
    for kind in range(4):
        if kind & accessed:
            next_write[kind] = position
    return 0


cdef int _find_used(Isel *c) except -1 nogil:
    """What reads each value; from the end, as moves are read like what reads them."""
    cdef ShaderData *s = c.s
    cdef NodeId block = node_first_block(s)
    cdef NodeId node
    cdef uint32_t position
    cdef ValueId i
    cdef uint32_t source
    cdef SmallVector[ValueId] all_values       # 0 behind each block
    cdef Zeroed[uint32_t] last_read       # by value: position + 1
    cdef Zeroed[uint8_t] later            # by value: it stands behind the instruction at hand
    cdef uint32_t[4] next_write           # by kinds of memory
    cdef bint carried
    c.value_used.assign(s.instructions.table.count, 0)
    c.value_components.assign(s.instructions.table.count, 0)
    last_read.assign(s.instructions.table.count)
    later.assign(s.instructions.table.count)
    for node in range(s.nodes.table.count):
        c.value_used[s.nodes.condition[node]] = used_otherwise | used_scalar
    while block:
        for position in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            all_values.push_back(s.order.instruction[position])
        all_values.push_back(0)
        block = block_walk_next(s, block)
    for position in range(<uint32_t>all_values.size(), 0, -1):
        i = all_values[position - 1]
        _note_writes(c, i, position, next_write)
        if i == 0:
            continue
        if last_read[i] and _by_vector_memory(c, i) and last_read[i] <= next_write[
                memory_other if s.instructions.kind[i] == nir_tex else _memory_accessed(s.instructions.opcode[i])]:
            c.value_used[i] |= used_movable
        later[i] = True
        carried = False
        if s.instructions.kind[i] == nir_phi:
            for source in range(s.instructions.source_count[i]):
                carried = carried or later[source_value(s, i, source)]
        for source in range(s.instructions.source_count[i]):
            c.value_used[source_value(s, i, source)] |= _reader(c, i, source, carried)
            c.value_components[source_value(s, i, source)] |= <uint16_t>_components_read(s, i, source)
            if last_read[source_value(s, i, source)] == 0:
                last_read[source_value(s, i, source)] = position
    return 0


cdef int choose_classes(Isel *c) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef NodeId block
    cdef uint32_t position
    cdef ValueId i
    cdef uint32_t bytes
    cdef uint32_t kept
    cdef uint8_t chosen
    cdef bint changed = True
    _find_used(c)
    c.value_class.assign(s.instructions.table.count, 0)
    while changed:
        changed = False
        block = node_first_block(s)
        while block:
            kept = 0
            for position in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
                i = s.order.instruction[position]
                if s.instructions.components[i] == 0:
                    continue
                if s.instructions.bit_size[i] == 1:
                    chosen = c.mask
                else:
                    bytes = s.instructions.components[i] * s.instructions.bit_size[i] // 8
                    chosen = vgpr_class(bytes) if _in_vgpr(c, i, &kept) else sgpr_class(bytes)
                if c.value_class[i] != chosen:
                    # Only a phi can have been visited too early: before its sources in later blocks.
                    changed = changed or c.value_class[i] != 0 or s.instructions.kind[i] == nir_phi
                    c.value_class[i] = chosen
            block = block_walk_next(s, block)
    return 0
