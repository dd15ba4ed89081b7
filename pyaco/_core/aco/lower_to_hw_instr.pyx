"""Pseudo instructions to machine instructions.

Needs: registers everywhere, no phis. Guarantees: only instructions of the hardware are left, besides p_barrier (which tells the
wait-count pass what must be finished), p_constaddr_getpc and p_constaddr_addlo (the assembler knows the distance) and p_unit_test.

Blocks are written last to first, because whether a branch is worth its cost depends on the code that it would jump over.

Sources: AMD ISA documents "Vega", "RDNA 1" to "RDNA 4" (SOPP branches, MODE, FLAT_SCRATCH, HWREG); ACO for the cost of branches.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from modifiers cimport *
from pyaco._core.aco.build cimport *
from pyaco._core.aco.lower_lane_operations cimport lower_bpermute, lower_reduction
from pyaco._core.aco.occupancy cimport addressable_vgprs, suitable_waves
from pyaco._core.aco.older_memory cimport scratch_word3, scratch_word3_format
from pyaco._core.aco.parallel_copy cimport CopySolver, solver_add, solver_init, solver_run
from pyaco._core.aco.queries cimport separate_addresses
from pyaco._core.common.prefetch cimport fetch
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport *

from pyaco.errors import InputError, UnsupportedError

cdef enum:
    fewest_blocks = 1 << 12       # of a program that the caches do not hold: 100,000 instructions of SPIR-V
    blocks_ahead = 8              # of the walk
    last_instructions = 3         # of a block, which are fetched


cdef cppclass Lowering:
    ProgramData *p
    Rewrite out
    CopySolver solver
    BlockId block


# ---------------------------------------------------------------------------------------------------------------- copies
cdef int _solve(Lowering *c, InstructionId i) except -1 nogil:
    cdef uint64_t word = c.p.instructions.modifiers[i]
    cdef uint16_t scratch = <uint16_t>modifier_scratch_register(word)
    if not modifier_needs_scratch(word):
        scratch = register_none
    return solver_run(&c.solver, c.p.blocks.fp_mode[c.block], scratch, modifier_scc_live(word))


cdef int _parallelcopy(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef DefinitionRow d
    cdef Operand o
    for k in range(p.instructions.definition_count[i]):
        d = p.instructions.definition_first[i] + k
        o = operand_at(p, p.instructions.operand_first[i] + k)
        solver_add(&c.solver, p.definitions.reg[d], class_is_linear_vgpr(p.definitions.register_class[d]), o, 0,
                   class_bytes(p.definitions.register_class[d]))
    return _solve(c, i)


cdef int _create_vector(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef uint32_t to = p.definitions.reg[d]
    cdef uint32_t end = to + class_bytes(p.definitions.register_class[d])
    cdef bint linear = class_is_linear_vgpr(p.definitions.register_class[d])
    cdef uint32_t k
    cdef uint32_t size
    cdef Operand o
    for k in range(p.instructions.operand_count[i]):
        o = operand_at(p, p.instructions.operand_first[i] + k)
        size = operand_bytes(o)
        if to + size > end:
            with gil:
                raise InputError(f"instruction {i}: p_create_vector has more operands than its definition holds")
        solver_add(&c.solver, to, linear, o, 0, size)
        to += size
    return _solve(c, i)


cdef int _split_vector(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef DefinitionRow d
    cdef uint32_t offset = 0
    cdef Operand o = operand_at(p, p.instructions.operand_first[i])
    for k in range(p.instructions.definition_count[i]):
        d = p.instructions.definition_first[i] + k
        # a dead part may share its register with a live one that is written later
        if not p.definitions.flags[d] & definition_kill:
            solver_add(&c.solver, p.definitions.reg[d], class_is_linear_vgpr(p.definitions.register_class[d]), o, offset,
                       class_bytes(p.definitions.register_class[d]))
        offset += class_bytes(p.definitions.register_class[d])
    return _solve(c, i)


cdef int _extract_vector(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef uint32_t size = class_bytes(p.definitions.register_class[d])
    cdef Operand o = operand_at(p, p.instructions.operand_first[i])
    solver_add(&c.solver, p.definitions.reg[d], class_is_linear_vgpr(p.definitions.register_class[d]), o,
               size * p.operands.data[p.instructions.operand_first[i] + 1], size)
    return _solve(c, i)


cdef int _as_uniform(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef Operand o = operand_at(p, p.instructions.operand_first[i])
    cdef uint32_t k
    if o.flags & (operand_constant | operand_undef) or not class_is_vgpr(o.register_class):
        solver_add(&c.solver, p.definitions.reg[d], False, o, 0, class_bytes(p.definitions.register_class[d]))
        return solver_run(&c.solver, 0, register_none, True)
    for k in range(class_dwords(p.definitions.register_class[d])):
        emit_1(&c.out, op_v_readfirstlane_b32, sgpr_definition(<uint16_t>(p.definitions.reg[d] + 4 * k)),
               vgpr_operand(<uint16_t>(o.reg + 4 * k)))
    return 0


cdef int _spill(Lowering *c, InstructionId i) except -1 nogil:
    """SGPRs into lanes of a linear VGPR."""
    cdef ProgramData *p = c.p
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint16_t vector = p.operands.reg[row]
    cdef uint32_t lane = p.operands.data[row + 1]
    cdef Operand value = operand_at(p, row + 2)
    cdef uint32_t k
    for k in range(class_dwords(value.register_class)):
        emit_3(&c.out, writelane_opcode(p.gfx_level), definition_register(vector, class_v1_linear),
               sgpr_operand(<uint16_t>(value.reg + 4 * k)), operand_c32(lane + k), operand_register(vector, class_v1_linear))
    return 0


cdef int _reload(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef uint16_t vector = p.operands.reg[row]
    cdef uint32_t lane = p.operands.data[row + 1]
    cdef uint32_t k
    for k in range(class_dwords(p.definitions.register_class[d])):
        emit_2(&c.out, readlane_opcode(p.gfx_level), sgpr_definition(<uint16_t>(p.definitions.reg[d] + 4 * k)),
               operand_register(vector, class_v1_linear), operand_c32(lane + k))
    return 0


# ------------------------------------------------------------------------------------------------------ extract and insert
cdef int _scalar_extract(Lowering *c, Definition d, Operand o, uint32_t offset, uint32_t bits, bint signed) except -1 nogil:
    if offset == 16 and bits == 16 and not signed and c.p.gfx_level >= gfx9:
        emit_2(&c.out, op_s_pack_hh_b32_b16, d, o, operand_c32(0))
    elif offset + bits == 32:
        emit_2d2(&c.out, op_s_ashr_i32 if signed else op_s_lshr_b32, d, scc_definition(), o, operand_c32(offset))
    elif offset == 0 and signed and (bits == 8 or bits == 16):
        emit_1(&c.out, op_s_sext_i32_i8 if bits == 8 else op_s_sext_i32_i16, d, o)
    elif offset == 0 and bits == 16 and c.p.gfx_level >= gfx9:
        emit_2(&c.out, op_s_pack_ll_b32_b16, d, o, operand_c32(0))
    else:
        emit_2d2(&c.out, op_s_bfe_i32 if signed else op_s_bfe_u32, d, scc_definition(), o, operand_c32(bits << 16 | offset))
    return 0


cdef int _permute_bytes(Lowering *c, uint16_t reg, Operand first, Operand second, const uint8_t *bytes) except -1 nogil:
    """v_perm_b32 into a whole register: selectors 0-3 bytes of `second`, 4-7 of `first`, 8-11 sign of byte 1, 3, 5, 7, 12 zero."""
    cdef uint32_t selector = bytes[0] | <uint32_t>bytes[1] << 8 | <uint32_t>bytes[2] << 16 | <uint32_t>bytes[3] << 24
    emit_3(&c.out, op_v_perm_b32, vgpr_definition(reg), first, second, operand_c32(selector))
    return 0


cdef int _permuted_extract(Lowering *c, Definition d, Operand o, uint32_t offset, uint32_t bits, bint signed) except -1 nogil:
    """Into or out of a part of a register, GFX11 and later."""
    cdef uint8_t[4] bytes = [4, 5, 6, 7]
    cdef uint32_t at = d.reg & 3
    cdef uint32_t size = class_bytes(d.register_class)
    cdef uint32_t byte = (o.reg & 3 if class_is_vgpr(o.register_class) else 0) + offset // 8
    cdef uint32_t sign_byte = byte + bits // 8 - 1
    cdef uint16_t reg = d.reg & 0xfffc
    cdef uint32_t k
    cdef Operand source = operand_register(o.reg & 0xfffc, class_v1 if class_is_vgpr(o.register_class) else class_s1)
    for k in range(size):
        if k < bits // 8:
            bytes[at + k] = <uint8_t>(byte + k)
        elif not signed:
            bytes[at + k] = 12
        elif sign_byte & 1:
            bytes[at + k] = 8 if sign_byte == 1 else 9
        else:
            bytes[at + k] = <uint8_t>byte     # copies whose sign is taken below
    _permute_bytes(c, reg, vgpr_operand(reg), source, bytes)
    if signed and size > bits // 8 and not sign_byte & 1:
        for k in range(4):
            bytes[k] = <uint8_t>(4 + k)
        for k in range(1, size):
            bytes[at + k] = 11 if at == 2 else 10
        _permute_bytes(c, reg, vgpr_operand(reg), operand_c32(0), bytes)
    return 0


cdef int _extract(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef Definition d = definition_at(p, p.instructions.definition_first[i])
    cdef Operand o = operand_at(p, row)
    cdef uint32_t bits = p.operands.data[row + 2]
    cdef uint32_t offset = p.operands.data[row + 1] * bits
    cdef bint signed = p.operands.data[row + 3] != 0
    cdef InstructionId j
    if not class_is_vgpr(d.register_class):
        return _scalar_extract(c, d, o, offset, bits, signed)
    if p.gfx_level < gfx8:
        d.register_class = class_v1   # a small value has its register to itself
    if d.register_class == class_v1 and not o.reg & 3:
        if offset + bits == 32 and class_is_vgpr(o.register_class):
            emit_2(&c.out, op_v_ashrrev_i32 if signed else op_v_lshrrev_b32, d, operand_c32(offset), o)
        elif offset == 0 and bits == 16 and p.gfx_level >= gfx11:
            emit_1(&c.out, op_v_cvt_i32_i16 if signed else op_v_cvt_u32_u16, d, o)
        else:
            emit_3(&c.out, op_v_bfe_i32 if signed else op_v_bfe_u32, d, o, operand_c32(offset), operand_c32(bits))
        return 0
    if p.gfx_level >= gfx11:
        return _permuted_extract(c, d, o, offset, bits, signed)
    j = emit_1(&c.out, op_v_mov_b32, d, o)
    p.instructions.format[j] |= format_sdwa
    p.instructions.modifiers[j] = modifier_set_sdwa_sel0(modifier_set_sdwa_sel1(0, 2), _selection(bits // 8, offset // 8, signed))
    p.instructions.modifiers[j] = modifier_set_sdwa_dst_sel(p.instructions.modifiers[j],
                                                            _destination(class_bytes(d.register_class)))
    return 0


cdef inline uint32_t _selection(uint32_t bytes, uint32_t offset, bint signed) noexcept nogil:
    return (0 if bytes == 1 else 1 if bytes == 2 else 2) | offset << 2 | (0x10 if signed else 0)


cdef inline uint32_t _destination(uint32_t bytes) noexcept nogil:
    """SDWA destination that keeps the rest of the register; selections count from the register's own byte address."""
    return (0 if bytes == 1 else 1 if bytes == 2 else 2) | (0x10 if bytes < 4 else 0)


cdef int _insert(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef Definition d = definition_at(p, p.instructions.definition_first[i])
    cdef Operand o = operand_at(p, row)
    cdef uint32_t bits = p.operands.data[row + 2]
    cdef uint32_t offset = p.operands.data[row + 1] * bits
    cdef uint8_t[4] bytes = [4, 5, 6, 7]
    cdef uint32_t k
    cdef InstructionId j
    cdef uint32_t part = o.reg & 3 if class_is_vgpr(o.register_class) else 0
    cdef Operand whole = operand_register(o.reg & 0xfffc, class_v1 if class_is_vgpr(o.register_class) else class_s1)
    if not class_is_vgpr(d.register_class):
        if bits == 16 and p.gfx_level >= gfx9:
            if offset:
                emit_2(&c.out, op_s_pack_ll_b32_b16, d, operand_c32(0), o)
            else:
                emit_2(&c.out, op_s_pack_ll_b32_b16, d, o, operand_c32(0))
            return 0
        if offset + bits == 32:
            emit_2d2(&c.out, op_s_lshl_b32, d, scc_definition(), o, operand_c32(offset))
            return 0
        emit_2d2(&c.out, op_s_bfe_u32, d, scc_definition(), o, operand_c32(bits << 16))
        if offset:
            emit_2d2(&c.out, op_s_lshl_b32, d, scc_definition(), sgpr_operand(d.reg), operand_c32(offset))
        return 0
    if p.gfx_level < gfx8:
        d.register_class = class_v1
    if d.register_class == class_v1:
        if offset + bits == 32 and part == 0:
            j = emit_2(&c.out, op_v_lshlrev_b32, d, operand_c32(offset), o)
            if not class_is_vgpr(o.register_class):
                p.instructions.format[j] |= format_vop3
        elif offset == 0:
            emit_3(&c.out, op_v_bfe_u32, d, whole, operand_c32(8 * part), operand_c32(bits))
        elif p.gfx_level < gfx8:
            emit_3(&c.out, op_v_bfe_u32, d, whole, operand_c32(0), operand_c32(bits))
            emit_2(&c.out, op_v_lshlrev_b32, d, operand_c32(offset), vgpr_operand(d.reg))
        elif p.gfx_level < gfx11:
            j = emit_1(&c.out, op_v_mov_b32, d, o)
            p.instructions.format[j] |= format_sdwa
            p.instructions.modifiers[j] = modifier_set_sdwa_dst_sel(
                modifier_set_sdwa_sel0(modifier_set_sdwa_sel1(0, 2), _selection(bits // 8, 0, False)),
                _selection(bits // 8, offset // 8, False))
        else:
            for k in range(4):
                bytes[k] = 12
            for k in range(bits // 8):
                bytes[offset // 8 + k] = <uint8_t>(part + k)
            _permute_bytes(c, d.reg, operand_c32(0), whole, bytes)
        return 0
    if p.gfx_level >= gfx11:
        for k in range(class_bytes(d.register_class)):
            bytes[(d.reg & 3) + k] = 12
        for k in range(bits // 8):
            bytes[(d.reg & 3) + offset // 8 + k] = <uint8_t>(part + k)
        return _permute_bytes(c, d.reg & 0xfffc, vgpr_operand(d.reg & 0xfffc), whole, bytes)
    # the shifted byte or half goes into a half that leaves the other alone
    j = emit_2(&c.out, op_v_lshlrev_b32, d, operand_c32(offset), o)
    p.instructions.format[j] |= format_sdwa
    p.instructions.modifiers[j] = modifier_set_sdwa_dst_sel(
        modifier_set_sdwa_sel1(modifier_set_sdwa_sel0(0, 2), _selection(bits // 8, 0, False)),
        _destination(class_bytes(d.register_class)))
    return 0


# ------------------------------------------------------------------------------------------------------------------- mode
cdef enum:
    hwreg_mode = 1
    hwreg_flat_scratch_low = 20


cdef int _set_register(Lowering *c, uint32_t hwreg, uint32_t offset, uint32_t size, uint32_t value) except -1 nogil:
    cdef Operand o = operand_literal32(value)
    cdef InstructionId i = emit_any(&c.out, op_s_setreg_imm32_b32, NULL, 0, &o, 1)
    c.p.instructions.immediate[i] = hwreg | offset << 6 | (size - 1) << 11
    return 0


cdef int _set_mode(Lowering *c, uint32_t mode, bint rounding, bint denormals) except -1 nogil:
    """The float bits of MODE: rounding in bits 0-3, denormals in bits 4-7."""
    if c.p.gfx_level >= gfx10:
        if rounding:
            emit_0(&c.out, op_s_round_mode, mode & 15)
        if denormals:
            emit_0(&c.out, op_s_denorm_mode, mode >> 4 & 15)
        return 0
    if rounding and denormals:
        return _set_register(c, hwreg_mode, 0, 8, mode & 0xff)
    if rounding:
        return _set_register(c, hwreg_mode, 0, 4, mode & 15)
    if denormals:
        return _set_register(c, hwreg_mode, 4, 4, mode >> 4 & 15)
    return 0


cdef int _mode_of_block(Lowering *c) except -1 nogil:
    """Change MODE where a predecessor runs under another one; the wave starts in the mode of the first block."""
    cdef ProgramData *p = c.p
    cdef uint32_t mode = p.blocks.fp_mode[c.block] & 0xff
    cdef uint32_t k
    cdef uint32_t other
    cdef bint rounding = False
    cdef bint denormals = False
    for k in range(p.blocks.linear_pred_count[c.block]):
        other = p.blocks.fp_mode[p.edge_lists.block[p.blocks.linear_pred_first[c.block] + k]] & 0xff
        rounding |= (other & 15) != (mode & 15)
        denormals |= (other >> 4) != (mode >> 4)
    if rounding or denormals:
        _set_mode(c, mode, rounding, denormals)
    return 0


cdef int _cvt_f16_f32_rtne(Lowering *c, InstructionId i, uint16_t opcode) except -1 nogil:
    """A conversion that rounds to nearest even, independent of the mode."""
    cdef ProgramData *p = c.p
    cdef uint32_t mode = p.blocks.fp_mode[c.block] & 0xff
    cdef bint change = (mode >> fp_round16_64_shift & 3) != 0
    p.instructions.opcode[i] = opcode
    if change:
        _set_mode(c, mode & ~<uint32_t>(3 << fp_round16_64_shift), True, False)
    rewrite_emit(&c.out, i)
    if change:
        _set_mode(c, mode, True, False)
    return 0


# ---------------------------------------------------------------------------------------------------------- wave and memory
cdef int _init_scratch(Lowering *c, InstructionId i) except -1 nogil:
    """FLAT_SCRATCH = address of the dispatch's scratch + offset of the wave (GFX9, GFX10). Before, the result is the descriptor of scratch,
    and the address comes with the bit that swizzles it."""
    cdef ProgramData *p = c.p
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef Operand address = operand_at(p, row)
    cdef uint16_t low = p.definitions.reg[p.instructions.definition_first[i]]
    cdef uint32_t k
    cdef Operand o
    cdef InstructionId j
    if p.gfx_level >= gfx11 or not (p.config.uses_scratch or p.config.scratch_bytes_per_lane):
        return 0
    if gfx9 <= p.gfx_level < gfx10:
        low = 102 * 4                 # FLAT_SCRATCH lies after the other SGPRs
    emit_2d2(&c.out, op_s_add_u32, sgpr_definition(low), scc_definition(), sgpr_operand(address.reg),
             operand_at(p, row + 1))
    emit_3d2(&c.out, op_s_addc_u32, sgpr_definition(<uint16_t>(low + 4)), scc_definition(),
             sgpr_operand(<uint16_t>(address.reg + 4)), operand_c32(0), scc_operand())
    if p.gfx_level < gfx9:
        emit_1(&c.out, op_s_mov_b32, sgpr_definition(<uint16_t>(low + 8)), operand_c32(0xffffffffU))
        emit_1(&c.out, op_s_mov_b32, sgpr_definition(<uint16_t>(low + 12)),
               operand_c32(scratch_word3 | (scratch_word3_format if p.gfx_level < gfx8 else 0)))
    if p.gfx_level >= gfx10:
        for k in range(2):
            o = sgpr_operand(<uint16_t>(low + 4 * k))
            j = emit_any(&c.out, op_s_setreg_b32, NULL, 0, &o, 1)
            p.instructions.immediate[j] = (hwreg_flat_scratch_low + k) | 31 << 11
    return 0


cdef int _constant_address(Lowering *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Definition d = definition_at(p, p.instructions.definition_first[i])
    cdef Operand offset = operand_at(p, p.instructions.operand_first[i])
    emit_1(&c.out, op_p_constaddr_getpc, d, operand_c32(d.temp))
    if p.gfx_level >= gfx12:
        # The program counter comes back as 48 bits, an address has its sign in the bits above.
        emit_1(&c.out, op_s_sext_i32_i16, sgpr_definition(d.reg + 4), sgpr_operand(d.reg + 4))
    emit_3d2(&c.out, op_p_constaddr_addlo, sgpr_definition(d.reg), scc_definition(), sgpr_operand(d.reg), offset,
             operand_c32(d.temp))
    return 0


cdef int _barrier(Lowering *c, InstructionId i) except -1 nogil:
    """The memory part stays for the wait-count pass; waves of one workgroup meet in s_barrier, unless there is only one."""
    cdef ProgramData *p = c.p
    cdef Operand o
    rewrite_emit(&c.out, i)
    if modifier_execution_scope(p.instructions.modifiers[i]) != scope_workgroup or p.workgroup_size <= p.wave_size:
        return 0
    if p.gfx_level >= gfx12:
        o = operand_c32(0xffffffffU)
        emit_any(&c.out, op_s_barrier_signal, NULL, 0, &o, 1)
        emit_0(&c.out, op_s_barrier_wait, 0xffff)
    else:
        emit_0(&c.out, op_s_barrier, 0)
    return 0


cdef int _cycles(Lowering *c, InstructionId i) except -1 nogil:
    """The high half of the counter of cycles, its low half, and the high one again (GFX12)."""
    cdef uint32_t k
    for k in range(3):
        _getreg(c, c.p.definitions.reg[c.p.instructions.definition_first[i] + k], 29 if k == 1 else 30)
    return 0


cdef int _getreg(Lowering *c, uint16_t reg, uint32_t hwreg) except -1 nogil:
    cdef Definition d = sgpr_definition(reg)
    cdef InstructionId i = emit_any(&c.out, op_s_getreg_b32, &d, 1, NULL, 0)
    c.p.instructions.immediate[i] = hwreg | 31 << 11
    return 0


cdef bint _deallocate_vgprs(const ProgramData *p) noexcept nogil:
    """Giving VGPRs back before the stores are done helps only where VGPRs limit how many waves run; it would free scratch
    that stores still use."""
    if p.gfx_level < gfx11 or p.config.uses_scratch or p.config.scratch_bytes_per_lane:
        return False
    return p.config.num_vgprs > addressable_vgprs(p, suitable_waves(p, p.device.max_waves_per_simd))


cdef int _end(Lowering *c, InstructionId i) except -1 nogil:
    if _deallocate_vgprs(c.p):
        emit_0(&c.out, op_s_nop, 0)   # hazard of the message after a VALU that still reads VGPRs
        emit_0(&c.out, op_s_sendmsg, 3)
    return rewrite_emit(&c.out, i)


# --------------------------------------------------------------------------------------------------------------- branches
cdef bint _falls_through(Lowering *c, uint32_t target) noexcept nogil:
    """Only empty blocks lie between the end of this block and `target`."""
    cdef BlockId b
    if target <= c.block:
        return False
    for b in range(c.block + 1, target):
        if c.p.blocks.next_count[b]:
            return False
    return True


cdef int32_t _cost(const ProgramData *p, InstructionId i, BlockId block) noexcept nogil:
    """Estimated cycles of an instruction that runs with exec = 0, or a large number where it must be jumped over.

    Jumping back is such: the branch that is looked at may be the only way out of a loop.
    """
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t k
    cdef int32_t unit = 1 if p.gfx_level >= gfx10 else 4
    if format_is_valu(format):
        if opcode == op_v_writelane_b32 or opcode == op_v_writelane_b32_e64:
            return 1000               # writes regardless of exec
        for k in range(p.instructions.definition_count[i]):
            if not class_is_vgpr(p.definitions.register_class[p.instructions.definition_first[i] + k]):
                return unit + 2
        return unit
    if format == format_sopp and p.instructions.immediate[i] <= block and _is_jump(opcode):
        return 1000
    if format_is_salu(format):
        return 2 if p.gfx_level >= gfx10 else 4
    return 1000


cdef bint _is_jump(uint16_t opcode) noexcept nogil:
    return opcode == op_s_branch or opcode == op_s_cbranch_execz or opcode == op_s_cbranch_execnz or opcode == op_s_cbranch_vccz \
        or opcode == op_s_cbranch_vccnz or opcode == op_s_cbranch_scc0 or opcode == op_s_cbranch_scc1


cdef bint _cheaper_to_run(Lowering *c, uint32_t target) noexcept nogil:
    """Running the code up to `target` with exec = 0 costs less than a taken branch (about 16 cycles)."""
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef int32_t cost = 0
    if target <= c.block:
        return False
    for b in range(c.block + 1, target):
        for k in range(p.blocks.next_count[b]):
            cost += _cost(p, p.next_order.instruction[p.blocks.next_first[b] + k], b)
            if cost > 16:
                return False
    return True


cdef int _emit_branch(Lowering *c, InstructionId i, uint16_t opcode, uint32_t target) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t count = p.instructions.definition_count[i]
    cdef Definition d
    cdef InstructionId j
    if count:
        d = definition_at(p, p.instructions.definition_first[i])
    j = emit_any(&c.out, opcode, &d, 1 if count else 0, NULL, 0)
    p.instructions.immediate[j] = target
    return 0


cdef uint16_t _conditional(uint16_t reg, bint nonzero) noexcept nogil:
    if reg == register_exec:
        return op_s_cbranch_execnz if nonzero else op_s_cbranch_execz
    if reg == register_vcc:
        return op_s_cbranch_vccnz if nonzero else op_s_cbranch_vccz
    if reg == register_scc:
        return op_s_cbranch_scc1 if nonzero else op_s_cbranch_scc0
    return op_invalid


cdef bint _lanes_are_left(const Lowering *c) noexcept nogil:
    """Whether the last instruction of the block set exec to a constant that is not zero."""
    cdef const ProgramData *p = c.p
    cdef uint32_t count = p.next_order.table.count
    cdef InstructionId i
    cdef OperandRow row
    if count == p.blocks.next_first[c.block]:
        return False
    i = p.next_order.instruction[count - 1]
    row = p.instructions.operand_first[i]
    return (p.instructions.opcode[i] == op_s_mov_b32 or p.instructions.opcode[i] == op_s_mov_b64) \
        and p.definitions.reg[p.instructions.definition_first[i]] == register_exec \
        and p.operands.flags[row] & operand_constant != 0 and p.operands.data[row] != 0


cdef void _remove(uint32_t *blocks, uint32_t *count, uint32_t block) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t kept = 0
    for k in range(count[0]):
        if blocks[k] != block:
            blocks[kept] = blocks[k]
            kept += 1
    count[0] = kept


cdef void _remove_edge(ProgramData *p, BlockId block, BlockId target) noexcept nogil:
    """Nothing jumps from one block to another any more: what follows need not expect it."""
    _remove(p.edge_lists.block + p.blocks.linear_succ_first[block], &p.blocks.linear_succ_count[block], target)
    _remove(p.edge_lists.block + p.blocks.linear_pred_first[target], &p.blocks.linear_pred_count[target], block)


cdef int _branch(Lowering *c, InstructionId i) except -1 nogil:
    """One or two SOPP branches, or none: targets are the immediate (taken) and branch_target1 (not taken)."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t taken = p.instructions.immediate[i]
    cdef uint32_t other = modifier_branch_target1(p.instructions.modifiers[i])
    cdef bint nonzero = opcode != op_p_cbranch_z
    cdef uint16_t reg
    if opcode == op_p_branch or taken == other:
        if not _falls_through(c, taken):
            _emit_branch(c, i, op_s_branch, taken)
        return 0
    reg = p.operands.reg[p.instructions.operand_first[i]]
    if _conditional(reg, nonzero) == op_invalid:
        with gil:
            raise InputError(f"instruction {i}: a branch tests exec, vcc or scc, not register {reg // 4}")
    if reg == register_exec and not nonzero and _falls_through(c, other) and _lanes_are_left(c):
        _remove_edge(p, c.block, taken)
        return 0
    if _falls_through(c, taken):
        if _falls_through(c, other):
            _remove_edge(p, c.block, max(taken, other))
            return 0
        # both orders are possible: test the opposite and fall through into the taken block
        _emit_branch(c, i, _conditional(reg, not nonzero), other)
        return 0
    if reg == register_exec and not nonzero and _falls_through(c, other) and _cheaper_to_run(c, taken):
        _remove_edge(p, c.block, taken)
        return 0
    _emit_branch(c, i, _conditional(reg, nonzero), taken)
    if not _falls_through(c, other):
        _emit_branch(c, i, op_s_branch, other)
    return 0


# ----------------------------------------------------------------------------------------------------------------- images
cdef bint _has_room(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether an image instruction has more addresses behind a vector of them."""
    return p.instructions.format[i] == format_mimg and p.instructions.operand_count[i] > 4 \
        and class_dwords(operand_at(p, p.instructions.operand_first[i] + 3).register_class) > 1


cdef int _image_with_room(Lowering *c, InstructionId i) except -1 nogil:
    """An image instruction whose first address is a vector that begins with room for the others, as ACO has it where helper lanes have computed
    coordinates in linear VGPRs: those that have a field of their own stay where they are, the rest is moved to its place in the vector."""
    cdef ProgramData *p = c.p
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef Operand vector_ = operand_at(p, first + 3)
    cdef uint32_t total = class_dwords(vector_.register_class)
    cdef uint32_t separate = separate_addresses(p.gfx_level, not operand_at(p, first + 1).flags & operand_undef)
    cdef uint32_t place = 0
    cdef uint32_t k
    cdef Operand[18] o
    cdef Operand other
    cdef Definition d
    cdef InstructionId image
    if total > 13 or p.instructions.definition_count[i] > 1:
        with gil:
            raise UnsupportedError(f"instruction {i}: an image address of {total} dwords, or two results, with addresses behind a vector")
    if p.gfx_level < gfx11 and total > separate:
        separate = 0
    if separate + 1 >= total:
        separate = total
    for k in range(3):
        o[k] = operand_at(p, first + k)
    for k in range(4, p.instructions.operand_count[i]):
        other = operand_at(p, first + k)
        if class_dwords(other.register_class) != 1 or place == total:
            with gil:
                raise InputError(f"instruction {i}: the vector of addresses has no room for what follows it")
        if place < separate:
            o[3 + place] = other
        else:
            solver_add(&c.solver, vector_.reg + 4 * place, False, other, 0, 4)
        place += 1
    for k in range(place, separate):
        o[3 + k] = vgpr_operand(<uint16_t>(vector_.reg + 4 * k))
    if separate < total:
        o[3 + separate] = operand_register(<uint16_t>(vector_.reg + 4 * separate), class_of_bytes(True, 4 * (total - separate)))
    solver_run(&c.solver, p.blocks.fp_mode[c.block], register_none, True)
    if p.instructions.definition_count[i]:
        d = definition_at(p, p.instructions.definition_first[i])
    image = emit_any(&c.out, p.instructions.opcode[i], &d, p.instructions.definition_count[i], o, 3 + separate + (separate < total))
    p.instructions.modifiers[image] = p.instructions.modifiers[i]
    return 0


# ----------------------------------------------------------------------------------------------------------------- driver
cdef int _pseudo(Lowering *c, InstructionId i, uint16_t opcode) except -1 nogil:
    if opcode == op_p_parallelcopy or opcode == op_p_start_linear_vgpr:
        if c.p.instructions.operand_count[i]:
            return _parallelcopy(c, i)
        return 0
    if opcode == op_p_create_vector:
        return _create_vector(c, i)
    if opcode == op_p_split_vector:
        return _split_vector(c, i)
    if opcode == op_p_extract_vector:
        return _extract_vector(c, i)
    if opcode == op_p_as_uniform:
        return _as_uniform(c, i)
    if opcode == op_p_extract:
        return _extract(c, i)
    if opcode == op_p_insert:
        return _insert(c, i)
    if opcode == op_p_spill:
        return _spill(c, i)
    if opcode == op_p_reload:
        return _reload(c, i)
    if opcode == op_p_init_scratch:
        return _init_scratch(c, i)
    if opcode == op_p_constaddr:
        return _constant_address(c, i)
    if opcode == op_p_bpermute_readlane or opcode == op_p_bpermute_shared_vgpr or opcode == op_p_bpermute_permlane:
        return lower_bpermute(&c.out, i)
    if opcode == op_p_shader_cycles_hi_lo_hi:
        return _cycles(c, i)
    if opcode == op_p_startpgm or opcode == op_p_end_linear_vgpr or opcode == op_p_logical_start \
            or opcode == op_p_logical_end or opcode == op_p_return:
        return 0
    if opcode == op_p_unit_test or opcode == op_p_debug_info:
        return rewrite_emit(&c.out, i)
    with gil:
        raise UnsupportedError(f"instruction {i}: pseudo instruction {opcode} has no lowering for compute programs")


cdef int _instruction(Lowering *c, InstructionId i) except -1 nogil:
    cdef uint16_t opcode = c.p.instructions.opcode[i]
    cdef uint16_t format = c.p.instructions.format[i]
    if format == format_pseudo:
        return _pseudo(c, i, opcode)
    if format == format_pseudo_branch:
        return _branch(c, i)
    if format == format_pseudo_barrier:
        return _barrier(c, i)
    if format == format_pseudo_reduction:
        return lower_reduction(&c.out, i)
    if opcode == op_p_cvt_f16_f32_rtne:
        return _cvt_f16_f32_rtne(c, i, op_v_cvt_f16_f32)
    if opcode == op_p_s_cvt_f16_f32_rtne:
        return _cvt_f16_f32_rtne(c, i, op_s_cvt_f16_f32)
    if opcode == op_s_endpgm:
        return _end(c, i)
    if _has_room(c.p, i):
        return _image_with_room(c, i)
    return rewrite_emit(&c.out, i)


cdef void _fetch_ends(const ProgramData *p, int64_t block) noexcept nogil:
    """Fetch the rows of the last instructions of a block, and what those of a later one read. Branches and copies for phis were made late, one here
    and one there, and nothing has looked at their operands for long."""
    cdef OrderRow end, row
    cdef InstructionId i
    if block >= 0:
        end = p.blocks.order_first[block] + p.blocks.order_count[block]
        for row in range(end - min(p.blocks.order_count[block], <uint32_t>last_instructions), end):
            i = p.order.instruction[row]
            fetch(&p.instructions.opcode[i])
            fetch(&p.instructions.format[i])
            fetch(&p.instructions.immediate[i])
            fetch(&p.instructions.modifiers[i])
            fetch(&p.instructions.operand_first[i])
            fetch(&p.instructions.operand_count[i])
            fetch(&p.instructions.definition_first[i])
            fetch(&p.instructions.definition_count[i])
    block += blocks_ahead // 2
    if 0 <= block < p.blocks.table.count:
        end = p.blocks.order_first[block] + p.blocks.order_count[block]
        for row in range(end - min(p.blocks.order_count[block], <uint32_t>last_instructions), end):
            i = p.order.instruction[row]
            fetch(&p.operands.data[p.instructions.operand_first[i]])
            fetch(&p.operands.flags[p.instructions.operand_first[i]])
            fetch(&p.operands.reg[p.instructions.operand_first[i]])
            fetch(&p.operands.register_class[p.instructions.operand_first[i]])
            fetch(&p.definitions.reg[p.instructions.definition_first[i]])
            fetch(&p.definitions.register_class[p.instructions.definition_first[i]])


cdef int _lower(Lowering *c, ProgramData *p) except -1 nogil:
    cdef uint32_t k
    c.p = p
    rewrite_begin(&c.out, p)
    solver_init(&c.solver, &c.out)
    c.block = p.blocks.table.count
    if c.block:
        p.config.float_mode = p.blocks.fp_mode[0] & 0xff
    while c.block > 0:
        c.block -= 1
        if p.blocks.table.count >= fewest_blocks:
            _fetch_ends(p, <int64_t>c.block - blocks_ahead)
        rewrite_block(&c.out, c.block)
        _mode_of_block(c)
        for k in range(p.blocks.order_count[c.block]):
            _instruction(c, p.order.instruction[p.blocks.order_first[c.block] + k])
    rewrite_end(&c.out)
    p.progress = progress_after_lower_to_hw
    return 0


cdef int lower_to_hw_instr_run(ProgramData *p) except -1 nogil:
    cdef Lowering c
    return _lower(&c, p)


cdef int _kernel(void *ir, int option) except -1 nogil:
    lower_to_hw_instr_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Lower pseudo instructions. Returns True."""
    with nogil:
        _kernel(&program.data, 0)
    return True
