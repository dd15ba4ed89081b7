"""Where the elements of a matrix instruction lie, worked out when its block is made: the layouts are those that the docstrings of
``emu/matrix.pyx`` and ``emu/matrix_blocks.pyx`` describe, as tables."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from features cimport has_fnuz_floats, has_negated_double_matrices, has_spread_wave_matrices
from modifiers cimport *
from pyaco._core.common.floats cimport bits_bfloat, half_to_double
from pyaco._core.emu.matrix cimport has_wide_addend, wave_matrix_shape
from pyaco._core.emu.matrix_blocks cimport block_matrix_shape, constant_sum
from pyaco._core.emu.matrix_shapes cimport *
from pyaco._core.emu.wave cimport *

cdef uint8_t mixed_kinds[5]           # by CBSZ or BLGP
mixed_kinds[:] = [kind_fp8, kind_bf8, kind_fp6, kind_bf6, kind_fp4]


cdef inline uint32_t _dwords_to(uint32_t register_) noexcept nogil:
    return register_ * max_lanes


cdef void _open_operand(MatrixOperand *operand, const Source *source, uint8_t kind, uint32_t positions, uint32_t chunks) noexcept nogil:
    cdef uint32_t chunk
    operand.first = _dwords_to(source.index)
    operand.kind = kind
    operand.positions = <uint8_t>positions
    operand.chunks = <uint8_t>chunks
    operand.has_sign = True
    for chunk in range(4):
        operand.chunk_from[chunk] = <uint8_t>chunk


cdef void _plan_sums(MatrixPlan *plan, const Instruction *instruction, const MatrixShape *shape) noexcept nogil:
    """C and D. C is D's old value where its place is that of the index of a sparse A."""
    cdef const Source *source = &instruction.source[2]
    plan.size = shape.size
    plan.depth = shape.depth
    plan.blocks = shape.blocks
    plan.sum_kind = shape.sum
    plan.sparse = shape.sparse
    plan.clamp = modifier_clamp(instruction.decoded.modifiers)
    plan.destination = _dwords_to((instruction.decoded.destination[0] >> 2) - 256)
    if shape.sparse:
        plan.addend = plan.destination
        plan.index = _dwords_to(source.index)
    elif source.kind == operand_vgpr:
        plan.addend = _dwords_to(source.index)
    else:
        plan.has_constant = True


# -------------------------------------------------------------------------------------------------------- WMMA, SWMMAC
cdef void _modify_wave_operand(MatrixOperand *operand, uint32_t slot, uint64_t modifiers) noexcept nogil:
    if operand.kind == kind_f16 or operand.kind == kind_bf16:
        operand.flip = ((0x8000 if (modifier_neg(modifiers) >> slot) & 1 else 0)
                        | (0x80000000U if (modifier_neg_hi(modifiers) >> slot) & 1 else 0))
    operand.has_sign = (modifier_neg(modifiers) >> slot) & 1


cdef void _place_wave_sums(MatrixPlan *plan, bint spread, uint32_t opsel) noexcept nogil:
    cdef uint32_t number, group, row
    plan.sum_positions = 16 // plan.chunks
    plan.paired = spread
    plan.sum_shift = 16 * ((opsel >> 2) & 1)
    for number in range(plan.sum_positions):
        for group in range(plan.chunks):
            row = number + 8 * (group & 1) + 4 * (group >> 1) if spread else plan.chunks * number + group
            plan.sum_at[row] = <uint16_t>(number * natural_lanes + chunk_lanes * group)


cdef void _plan_wave_matrix(MatrixPlan *plan, const Instruction *instruction, const MatrixShape *shape, bint spread) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t groups = plan.chunks if spread else 1
    cdef bint split = shape.sparse and shape.left == kind_iu4 and shape.depth == 32 and plan.chunks == 4
    cdef uint32_t positions, k, group, position
    if shape.left == kind_iu4 and shape.depth == (32 if shape.sparse else 16):
        groups = min(groups, <uint32_t>2)
    positions = shape.depth // groups
    _open_operand(&plan.left, &instruction.source[0], shape.left, positions // 2 if shape.sparse else positions, groups)
    _open_operand(&plan.right, &instruction.source[1], shape.right, 8 if split else positions, 4 if split else groups)
    _modify_wave_operand(&plan.left, 0, modifiers)
    _modify_wave_operand(&plan.right, 1, modifiers)
    for k in range(shape.depth):
        group = k // positions
        position = k % positions
        plan.left.at[k] = plan.right.at[k] = <uint16_t>(position * natural_lanes + chunk_lanes * group)
        if split and position >= 8:
            plan.right.at[k] = <uint16_t>((position - 8) * natural_lanes + chunk_lanes * (group + 2))
    _place_wave_sums(plan, spread, modifier_opsel(modifiers))
    if has_crossed_index(shape):
        plan.crossed_index = True
    elif shape.sparse:
        plan.index_shift = <uint8_t>(positions * (modifier_opsel(modifiers) & (32 // positions - 1) & 3))
    if shape.sparse:
        return
    plan.absolute = (modifier_neg_hi(modifiers) >> 2) & 1 and shape.sum != kind_i32
    plan.negative = (modifier_neg(modifiers) >> 2) & 1 and shape.sum != kind_i32
    if plan.has_constant and shape.sum == kind_f16:
        plan.constant = half_to_double(<uint32_t>instruction.source[2].value & 0xffff)
    elif plan.has_constant and shape.sum == kind_bf16:
        plan.constant = bits_bfloat(<uint32_t>instruction.source[2].value & 0xffff)
    elif plan.has_constant:
        plan.constant = constant_sum(&instruction.source[2], shape.sum)


# -------------------------------------------------------------------------------------------------------- MFMA, SMFMAC
cdef void _rearrange(MatrixOperand *operand, uint32_t pattern) noexcept nogil:
    """BLGP: the lanes of B that are read, by sixteen."""
    cdef uint32_t chunk
    for chunk in range(4):
        if pattern >= 4:
            operand.chunk_from[chunk] = <uint8_t>(pattern - 4)
        elif pattern == 3:
            operand.chunk_from[chunk] = (chunk + 1) & 3
        elif pattern:
            operand.chunk_from[chunk] = (chunk & 1) | (2 if pattern == 2 else 0)


cdef void _place_block_sums(MatrixPlan *plan) noexcept nogil:
    cdef uint32_t groups = 64 // plan.size
    cdef uint32_t block, i, number, lane
    plan.sum_positions = plan.size * plan.size * plan.blocks // 64
    for block in range(plan.blocks):
        for i in range(plan.size):
            if plan.sum_kind == kind_f64:
                number = i >> 2 if plan.size == 16 else 0
                lane = 16 * (i & 3) if plan.size == 16 else 4 * (block + 4 * i)
            elif plan.size == 4:
                number = i
                lane = 4 * block
            else:
                number = block * (plan.size // groups) + 4 * (i // 4 // groups) + (i & 3)
                lane = plan.size * (i // 4 % groups)
            plan.sum_at[block * plan.size + i] = <uint16_t>(number * natural_lanes + lane)


cdef void _plan_blocks(MatrixPlan *plan, const Instruction *instruction, const MatrixShape *shape, uint32_t gfx_level) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t positions = shape.size * shape.depth * shape.blocks // 64
    cdef uint32_t cbsz = modifier_cbsz(modifiers)
    cdef uint32_t abid = modifier_abid(modifiers)
    cdef uint32_t blgp = modifier_blgp(modifiers)
    cdef uint32_t k, block
    _open_operand(&plan.left, &instruction.source[0], shape.left, positions // 2 if shape.sparse else positions, 4)
    _open_operand(&plan.right, &instruction.source[1], shape.right, positions, 4)
    plan.left.fnuz = plan.right.fnuz = has_fnuz_floats(gfx_level)
    for k in range(shape.depth):
        plan.left.at[k] = plan.right.at[k] = <uint16_t>(k % positions * natural_lanes + shape.size * shape.blocks * (k // positions))
    for block in range(shape.blocks):
        plan.left_block[block] = shape.size * <uint16_t>block
        if shape.blocks > 1 and shape.sum != kind_f64 and cbsz:
            plan.left_block[block] = <uint16_t>(shape.size * (((block >> cbsz << cbsz) + abid) % shape.blocks))
    if shape.sparse and not cbsz & 3:
        plan.index_shift = <uint8_t>(positions * (abid & (32 // positions - 1)))
    if shape.sum != kind_f64:
        _rearrange(&plan.right, blgp)
    elif has_negated_double_matrices(gfx_level):
        plan.negative_left = (blgp ^ (blgp >> 1)) & 1
        plan.negative = (blgp >> 2) & 1


# ---------------------------------------------------------------------------------------------------------------- F8F6F4
cdef bint _plan_mixed_operand(MatrixOperand *operand, const Instruction *instruction, const MatrixShape *shape, uint32_t which,
                              uint32_t format_) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t groups = 64 // shape.size
    cdef uint32_t k
    if format_ > 4:
        return False
    _open_operand(operand, &instruction.source[which], mixed_kinds[format_], 32, 4)
    for k in range(shape.depth):
        if kind_width(operand.kind) == 8:
            operand.at[k] = <uint16_t>((k % 16 + 16 * (k // (16 * groups))) * natural_lanes + shape.size * (k // 16 % groups))
        else:
            operand.at[k] = <uint16_t>(k % 32 * natural_lanes + shape.size * (k // 32))
    if instruction.decoded.source_count == 5:
        operand.scaled = True
        operand.scale = instruction.source[3 + which]
        operand.scale_shift = 8 * (((modifier_opsel(modifiers) >> which) & 1) | (((modifier_opsel_hi(modifiers) >> which) & 1) << 1))
    return True


cdef bint _plan_mixed(MatrixPlan *plan, const Instruction *instruction, const MatrixShape *shape) noexcept nogil:
    return (_plan_mixed_operand(&plan.left, instruction, shape, 0, modifier_cbsz(instruction.decoded.modifiers))
            and _plan_mixed_operand(&plan.right, instruction, shape, 1, modifier_blgp(instruction.decoded.modifiers)))


# ----------------------------------------------------------------------------------------------------------------- entry
cdef bint _has_wave_plan(const MatrixShape *shape, uint32_t opcode, uint32_t lanes) noexcept nogil:
    """Of GFX12.5: what has no more elements in a lane than others, one kind of them, and C like D."""
    return (shape.size == 16 and shape.left not in (kind_f32, kind_f64, kind_f8f6f4) and not has_wide_addend(opcode)
            and shape.depth * chunk_lanes <= lanes * (natural_elements // natural_lanes))


cdef bint _overlap_in_part(const Instruction *instruction) noexcept nogil:
    """Whether D has some of C's registers in other places: a step writes elements of D before it reads the last ones of C."""
    cdef uint32_t addend = instruction.source[2].index
    cdef uint32_t result = (instruction.decoded.destination[0] >> 2) - 256
    cdef uint32_t distance = max(addend, result) - min(addend, result)
    return distance != 0 and 4 * distance < instruction.decoded.destination_bytes[0]


cdef bint _plan_matrix(MatrixPlan *plan, const Instruction *instruction, uint32_t gfx_level, uint32_t lanes) noexcept nogil:
    cdef const MatrixShape *wave_shape = wave_matrix_shape(instruction.decoded.opcode)
    cdef const MatrixShape *shape = wave_shape if wave_shape != NULL else block_matrix_shape(instruction.decoded.opcode)
    cdef bint planned = True
    if shape == NULL or instruction.source[0].kind != operand_vgpr or instruction.source[1].kind != operand_vgpr:
        return False
    if instruction.source[2].kind != operand_vgpr and (shape.sparse or instruction.source[2].kind != operand_value):
        return False
    if wave_shape != NULL and not _has_wave_plan(wave_shape, instruction.decoded.opcode, lanes):
        return False
    if has_crossed_index(shape) and modifier_opsel(instruction.decoded.modifiers) & 3:
        return False
    if not shape.sparse and instruction.source[2].kind == operand_vgpr and _overlap_in_part(instruction):
        return False
    plan.chunks = <uint8_t>(lanes // chunk_lanes)
    _plan_sums(plan, instruction, shape)
    if wave_shape != NULL:
        _plan_wave_matrix(plan, instruction, shape, has_spread_wave_matrices(gfx_level))
        return True
    if lanes != max_lanes:
        return False
    if plan.has_constant:
        plan.constant = constant_sum(&instruction.source[2], shape.sum)
    if shape.left == kind_f8f6f4:
        planned = _plan_mixed(plan, instruction, shape)
    else:
        _plan_blocks(plan, instruction, shape, gfx_level)
    _place_block_sums(plan)
    return planned


cdef MatrixPlan *new_matrix_plan(const Instruction *instruction, uint32_t gfx_level, uint32_t lanes) noexcept nogil:
    cdef MatrixPlan *plan = <MatrixPlan *>calloc(1, sizeof(MatrixPlan))
    if plan != NULL and not _plan_matrix(plan, instruction, gfx_level, lanes):
        free(plan)
        return NULL
    return plan
