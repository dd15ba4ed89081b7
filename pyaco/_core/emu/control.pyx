"""Program flow, hardware registers, indirect register access, and moves between lanes.

Sources: AMD "RDNA 2", "RDNA3", "RDNA4" and "Vega" ISA documents, chapters "Program Flow Control" and "Instructions"; LLVM's
"User Guide for AMDGPU Backend" for the numbers of hardware registers.
"""
from libc.stdint cimport int16_t, int64_t, uint16_t, uint32_t, uint64_t

from features cimport (has_clusters, has_dx10_clamp_mode, has_split_barriers, has_vgpr_banks_by_setreg, has_wide_cycle_counter,
                       has_zero_extended_pc)
from isa_opcodes cimport *
from modifiers cimport modifier_opsel
from pyaco._core.emu.memory cimport canonical_address
from pyaco._core.common.bits cimport popcount
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu.wave cimport *
from pyaco._core.emu.wave_sync cimport cluster_rank_of, cluster_size_of, signal_cluster, wait_for_cluster


cdef inline uint64_t _next_pc(const Instruction *instruction) noexcept nogil:
    return instruction.pc + 4 * instruction.decoded.dwords


cdef inline uint32_t _destination_of(const Instruction *instruction) noexcept nogil:
    return instruction.decoded.destination[0] >> 2


cdef inline uint32_t _scalar_source(const Wave *wave, const Instruction *instruction, uint32_t slot) noexcept nogil:
    if instruction.source[slot].kind == operand_value:
        return <uint32_t>instruction.source[slot].value
    return read_scalar(wave, instruction.source[slot].index)


cdef inline uint64_t _scalar_pair(const Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint32_t index = instruction.source[0].index
    return read_scalar(wave, index) | (<uint64_t>read_scalar(wave, index + 1) << 32)


# ----------------------------------------------------------------------------------------------------------------- flow
cdef int _no_operation(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return stop_running


cdef int _end_program(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave.stop = stop_end
    _complete_barrier(machine)                               # the barrier no longer needs this wave
    return stop_end


cdef int _halt(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_SETHALT 1 and S_SENDMSGHALT stop the wave until the host restarts it, which no host does here."""
    if instruction.decoded.opcode == <int>op_s_sethalt and not instruction.decoded.immediate & 1:
        return stop_running
    return stop_trap


cdef int _not_code(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_CODE_END and V_ILLEGAL mark what must not be executed."""
    return stop_illegal


cdef int _trap(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return stop_trap


cdef int _barrier(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave.waits_at = instruction.pc
    return stop_barrier


cdef uint32_t _signals(const Machine *machine) noexcept nogil:
    """How many waves that have not ended have signalled."""
    cdef uint32_t i
    cdef uint32_t count = 0
    for i in range(machine.wave_count):
        if machine.waves[i].stop != stop_end and machine.waves[i].barrier_signalled:
            count += 1
    return count


cdef void _complete_barrier(Machine *machine) noexcept nogil:
    """Once all waves that have not ended have signalled, the waiting ones go on, and the others need not wait."""
    cdef uint32_t i
    cdef uint32_t live = 0
    cdef Wave *wave
    for i in range(machine.wave_count):
        if machine.waves[i].stop != stop_end:
            live += 1
    if not has_split_barriers(machine.gfx_level) or _signals(machine) != live:
        return
    for i in range(machine.wave_count):
        wave = &machine.waves[i]
        wave.barrier_signalled = 0
        wave.barrier_complete = wave.stop == stop_running or wave.waits_named
        if wave.stop == stop_barrier and not wave.waits_named:
            wave.stop = stop_running


# Named barriers: LLVM's "AMDGPU Execution Synchronization" has what they do, AMDGPUInstructionSelector.cpp the fields of m0. What
# happens when a wave uses one before its init is not documented.
cdef enum:
    cluster_barrier = 0xfffffffdU


cdef uint32_t _barrier_number(const Wave *wave, const Instruction *instruction) noexcept nogil:
    if instruction.source[0].kind == operand_sgpr and instruction.source[0].index == sgpr_m0:
        return wave.sgpr[sgpr_m0] & 31
    return _scalar_source(wave, instruction, 0)


cdef void _complete_named(Machine *machine, uint32_t number) noexcept nogil:
    """Once all its members have signalled, those that have joined and wait go on, and the others need not wait."""
    cdef NamedBarrier *barrier = &machine.named[number]
    cdef uint32_t i
    cdef Wave *wave
    if barrier.members == 0 or barrier.signals < barrier.members:
        return
    barrier.signals = 0
    for i in range(machine.wave_count):
        wave = &machine.waves[i]
        if wave.joined != number or wave.stop == stop_end:
            continue
        wave.named_complete = not wave.waits_named
        if wave.waits_named:
            wave.waits_named = 0
            wave.stop = stop_running


cdef int _barrier_init(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_BARRIER_INIT: how many signals complete it, from bits 16-22 of m0."""
    cdef uint32_t number = _barrier_number(wave, instruction)
    if number == 0 or number > named_barriers:
        return stop_unsupported
    machine.named[number].members = (wave.sgpr[sgpr_m0] >> 16) & 0x7f
    machine.named[number].signals = 0
    return stop_running


cdef int _barrier_join(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_BARRIER_JOIN: a wave waits at the one named barrier that it has joined last; 0 is none."""
    cdef uint32_t number = _barrier_number(wave, instruction)
    if number > named_barriers:
        return stop_unsupported
    wave.joined = number
    wave.named_complete = 0
    return stop_running


cdef int _barrier_leave(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_BARRIER_LEAVE: the others no longer wait for this wave. SCC is assumed to tell whether there was a barrier to leave."""
    cdef uint32_t number = wave.joined
    wave.scc = machine.named[number].members != 0
    wave.joined = 0
    wave.named_complete = 0
    if wave.scc:
        machine.named[number].members -= 1
        _complete_named(machine, number)
    return stop_running


cdef int _barrier_signal(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_BARRIER_SIGNAL, S_BARRIER_SIGNAL_ISFIRST: -1 is the workgroup's barrier; 0 is none, -2 the trap handler's, -3 that of a cluster, which
    does nothing where a workgroup is in none (LLVM, "AMDGPU Execution Synchronization")."""
    cdef bint asks = instruction.decoded.opcode == <int>op_s_barrier_signal_isfirst
    cdef uint32_t number = _barrier_number(wave, instruction)
    cdef bint clustered = number == cluster_barrier and has_clusters(machine.gfx_level)
    if clustered and cluster_size_of(wave) > 1:
        return signal_cluster(machine, wave, instruction, asks)
    if number == 0 or number == 0xfffffffeU or clustered:
        if asks:
            wave.scc = 0
        return stop_running
    if number <= named_barriers and machine.named[number].members:
        if asks:
            wave.scc = machine.named[number].signals == 0
        machine.named[number].signals += 1
        _complete_named(machine, number)
        return stop_running
    if number != 0xffffffffU:
        return stop_unsupported
    if asks:
        wave.scc = _signals(machine) == 0
    wave.barrier_signalled = 1
    _complete_barrier(machine)
    return stop_running


cdef int _barrier_wait(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_BARRIER_WAIT -1: the workgroup's barrier; a positive number: the one that the wave has joined."""
    cdef int16_t number = <int16_t>instruction.decoded.immediate
    wave.waits_at = instruction.pc
    if number > 0:
        wave.waits_named = not wave.named_complete
        wave.named_complete = 0
        return stop_barrier if wave.waits_named else stop_running
    if number == <int16_t>cluster_barrier and has_clusters(machine.gfx_level):
        return wait_for_cluster(machine, wave, instruction) if cluster_size_of(wave) > 1 else stop_running
    if number != -1:
        return stop_unsupported
    if wave.barrier_complete:
        wave.barrier_complete = 0
        return stop_running
    return stop_barrier


cdef int _barrier_state(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """Bit 0: valid; bits 4-10: members; bits 16-22: signals."""
    cdef uint32_t number = _barrier_number(wave, instruction)
    cdef const NamedBarrier *barrier
    if number <= named_barriers:
        barrier = &machine.named[number]
        wave_put(wave, _destination_of(instruction), (barrier.members != 0) | (barrier.members << 4) | (barrier.signals << 16))
        return stop_running
    if number != 0xffffffffU:
        return stop_unsupported
    wave_put(wave, _destination_of(instruction), 1 | (machine.wave_count << 4) | (_signals(machine) << 16))
    return stop_running


cdef int _allocate_registers(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_ALLOC_VGPR fails where the wave was not launched with dynamic VGPRs."""
    wave.scc = 0
    return stop_running


cdef int _add_to_pc(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_ADD_PC_I64: from the next instruction on."""
    cdef uint64_t distance = instruction.source[0].value if instruction.source[0].kind == operand_value else _scalar_pair(wave, instruction)
    if instruction.source[0].kind == operand_value and instruction.source[0].index == 255:
        distance = <uint64_t><int64_t><int32_t>distance
    wave.pc = canonical_address(_next_pc(instruction) + distance)
    return stop_running


cdef int _branch_if(Wave *wave, const Instruction *instruction, bint taken) noexcept nogil:
    if taken:
        wave.pc = _next_pc(instruction) + <uint64_t>(<int64_t><int16_t>instruction.decoded.immediate * 4)
    return stop_running


cdef int _branch(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return _branch_if(wave, instruction, True)


cdef int _branch_scc0(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return _branch_if(wave, instruction, wave.scc == 0)


cdef int _branch_scc1(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return _branch_if(wave, instruction, wave.scc != 0)


cdef int _branch_vccz(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return _branch_if(wave, instruction, wave_mask(wave, sgpr_vcc) == 0)


cdef int _branch_vccnz(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return _branch_if(wave, instruction, wave_mask(wave, sgpr_vcc) != 0)


cdef int _branch_execz(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return _branch_if(wave, instruction, wave_exec(wave) == 0)


cdef int _branch_execnz(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    return _branch_if(wave, instruction, wave_exec(wave) != 0)


cdef int _get_pc(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """The sign of the 48 bits stands above them until GFX11.5; zeros do on GFX12 (LLVM, hasGetPCZeroExtension)."""
    cdef uint64_t pc = canonical_address(_next_pc(instruction))
    wave_put64(wave, _destination_of(instruction), pc & 0xffffffffffffULL if has_zero_extended_pc(machine.gfx_level) else pc)
    return stop_running


cdef int _set_pc(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave.pc = canonical_address(_scalar_pair(wave, instruction))
    return stop_running


cdef int _swap_pc(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint64_t target = canonical_address(_scalar_pair(wave, instruction))
    wave_put64(wave, _destination_of(instruction), _next_pc(instruction))
    wave.pc = target
    return stop_running


cdef int _call(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave_put64(wave, _destination_of(instruction), _next_pc(instruction))
    return _branch_if(wave, instruction, True)


# --------------------------------------------------------------------------------------------------- forks and subvectors
cdef int _fork(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_CBRANCH_G_FORK, S_CBRANCH_I_FORK: the smaller half of the lanes goes first, the other onto a stack of SGPRs."""
    cdef uint32_t first = instruction.source[0].index
    cdef uint32_t second = instruction.source[1].index
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint64_t passes = exec_mask & (read_scalar(wave, first) | (<uint64_t>read_scalar(wave, first + 1) << 32))
    cdef uint64_t fails = exec_mask & ~passes
    cdef uint64_t here = _next_pc(instruction)
    cdef uint64_t target = here + <uint64_t>(<int64_t><int16_t>instruction.decoded.immediate * 4)
    cdef uint32_t stack_top = 4 * (wave.mode >> mode_fork_depth_shift)
    if instruction.decoded.opcode == <int>op_s_cbranch_g_fork:
        target = read_scalar(wave, second) | (<uint64_t>read_scalar(wave, second + 1) << 32)
    if fails == 0:
        wave.pc = target
    elif passes != 0:
        wave.mode += <uint32_t>1 << mode_fork_depth_shift
        if popcount(fails) < popcount(passes):
            wave_put64(wave, stack_top, target)
            wave_put64(wave, stack_top + 2, passes)
            wave_put64(wave, sgpr_exec, fails)
        else:
            wave_put64(wave, stack_top, here)
            wave_put64(wave, stack_top + 2, fails)
            wave_put64(wave, sgpr_exec, passes)
            wave.pc = target
    return stop_running


cdef int _join(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_CBRANCH_JOIN: the first time the other half of the fork runs, the second time the program goes on."""
    cdef uint32_t depth = wave.mode >> mode_fork_depth_shift
    if depth == _scalar_source(wave, instruction, 0):
        return stop_running
    wave.mode -= <uint32_t>1 << mode_fork_depth_shift
    depth = 4 * (wave.mode >> mode_fork_depth_shift)
    wave.pc = read_scalar(wave, depth) | (<uint64_t>read_scalar(wave, depth + 1) << 32)
    wave_put64(wave, sgpr_exec, read_scalar(wave, depth + 2) | (<uint64_t>read_scalar(wave, depth + 3) << 32))
    return stop_running


cdef int _subvector_begin(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """The low half of the wave runs first; the high half of EXEC is kept in an SGPR."""
    cdef uint32_t saved = instruction.source[0].index
    if wave_exec(wave) == 0:
        return _branch_if(wave, instruction, True)
    if wave.sgpr[sgpr_exec] == 0:
        wave_put(wave, saved, 0)
    else:
        wave_put(wave, saved, wave.sgpr[sgpr_exec + 1])
        wave.sgpr[sgpr_exec + 1] = 0
    return stop_running


cdef int _subvector_end(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint32_t saved = instruction.source[0].index
    cdef uint32_t other = read_scalar(wave, saved)
    if wave.sgpr[sgpr_exec + 1] != 0:                       # that was the high half
        wave.sgpr[sgpr_exec] = other
        return stop_running
    if other == 0:
        return stop_running
    wave.sgpr[sgpr_exec + 1] = other
    wave_put(wave, saved, wave.sgpr[sgpr_exec])
    wave.sgpr[sgpr_exec] = 0
    return _branch_if(wave, instruction, True)


cdef int _skip_vector(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef bint skip = (_scalar_source(wave, instruction, 0) >> (_scalar_source(wave, instruction, 1) & 31)) & 1
    wave.mode = wave.mode | mode_skip_vector if skip else wave.mode & ~<uint32_t>mode_skip_vector
    return stop_running


cdef int _index_registers(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_SET_GPR_IDX_ON, _IDX, _MODE, _OFF: what execute_indexed adds to VGPR numbers, and to which."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t m0 = wave.sgpr[sgpr_m0]
    if opcode == <uint32_t>op_s_set_gpr_idx_on or opcode == <uint32_t>op_s_set_gpr_idx_idx:
        m0 = (m0 & ~<uint32_t>0xff) | (_scalar_source(wave, instruction, 0) & 0xff)
    if opcode == <uint32_t>op_s_set_gpr_idx_on or opcode == <uint32_t>op_s_set_gpr_idx_mode:
        m0 = (m0 & ~<uint32_t>0xf000) | ((instruction.decoded.immediate & 15) << 12)
    wave.sgpr[sgpr_m0] = m0
    if opcode == <uint32_t>op_s_set_gpr_idx_on:
        wave.mode |= mode_index_registers
    elif opcode == <uint32_t>op_s_set_gpr_idx_off:
        wave.mode &= ~<uint32_t>mode_index_registers
    return stop_running


cdef int execute_indexed(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """A vector instruction while VGPR numbers are relative: bits 0-2 choose the sources, bit 3 the destination."""
    cdef uint32_t index = wave.sgpr[sgpr_m0] & 0xff
    cdef uint32_t choice = (wave.sgpr[sgpr_m0] >> 12) & 15
    cdef Instruction moved = instruction[0]
    cdef uint32_t slot, bit
    if instruction.operation == NULL:
        return instruction.handler(machine, wave, instruction)
    for slot in range(instruction.operation.source_count):
        bit = 3 if instruction.operation.source_type[slot] & type_old else slot
        if moved.source[slot].kind == operand_vgpr and (choice >> bit) & 1:
            moved.source[slot].index = <uint16_t>(moved.source[slot].index + index)
            if moved.source[slot].index >= 256:
                moved.source[slot].index = 0                # out of range reads v0
    if choice & 8 and moved.decoded.destination[0] >= 1024:
        if (moved.decoded.destination[0] >> 2) + index >= 512:
            return stop_running
        moved.decoded.destination[0] = <uint16_t>(moved.decoded.destination[0] + 4 * index)
    return moved.handler(machine, wave, &moved)


# ------------------------------------------------------------------------------------------------------ hardware registers
cdef enum:
    hwreg_mode = 1
    hwreg_status = 2
    hwreg_flat_scratch_lo = 20
    hwreg_flat_scratch_hi = 21
    hwreg_ib_sts2 = 28
    hwreg_shader_cycles = 29
    hwreg_shader_cycles_hi = 30


cdef uint32_t _hardware_register(const Machine *machine, const Wave *wave, uint32_t number) noexcept nogil:
    if number == hwreg_mode:
        return wave.mode if has_dx10_clamp_mode(machine.gfx_level) else wave.mode & ~<uint32_t>mode_dx10_clamp
    if number == hwreg_status:
        return wave.scc | ((wave_exec(wave) == 0) << 9) | ((wave_mask(wave, sgpr_vcc) == 0) << 10)
    if number == hwreg_flat_scratch_lo:
        return <uint32_t>wave.flat_scratch
    if number == hwreg_flat_scratch_hi:
        return <uint32_t>(wave.flat_scratch >> 32)
    if number == hwreg_ib_sts2 and has_clusters(machine.gfx_level) and cluster_size_of(wave) > 1:
        # LLVM (SIISelLowering.cpp): bits 21-24 are the workgroup's number in the cluster, bits 6-9 are zero where it is in none
        return cluster_rank_of(wave) << 21 | 1 << 6
    if number == hwreg_shader_cycles:
        return <uint32_t>machine.executed if has_wide_cycle_counter(machine.gfx_level) else <uint32_t>machine.executed & 0xfffff
    if number == hwreg_shader_cycles_hi:
        return <uint32_t>(machine.executed >> 32)
    return 0


cdef int _get_register(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint32_t field = instruction.decoded.immediate
    cdef uint32_t width = ((field >> 11) & 31) + 1
    cdef uint32_t value = _hardware_register(machine, wave, field & 63) >> ((field >> 6) & 31)
    wave_put(wave, _destination_of(instruction), value if width == 32 else value & ((<uint32_t>1 << width) - 1))
    return stop_running


cdef int _set_register(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_SETREG: MODE and FLAT_SCRATCH are stored; the other registers have no effect on results."""
    cdef uint32_t field = instruction.decoded.immediate
    cdef uint32_t number = field & 63
    cdef uint32_t first = (field >> 6) & 31
    cdef uint32_t width = ((field >> 11) & 31) + 1
    cdef uint32_t mask = (0xffffffffU if width == 32 else (<uint32_t>1 << width) - 1) << first
    cdef uint32_t value = instruction.decoded.literal
    cdef uint64_t shifted
    if instruction.decoded.opcode == <int>op_s_setreg_b32:
        value = _scalar_source(wave, instruction, 0)
    value = (value << first) & mask
    if number == hwreg_mode and has_vgpr_banks_by_setreg(machine.gfx_level) and instruction.decoded.opcode == <int>op_s_setreg_imm32_b32:
        value = (value & ~<uint32_t>mode_banks) | (instruction.decoded.literal & mode_banks)
        mask |= mode_banks
    if number == hwreg_mode:
        wave.mode = mode_of(machine.gfx_level, (wave.mode & ~mask) | value)
    elif number == hwreg_flat_scratch_lo or number == hwreg_flat_scratch_hi:
        shifted = 32 if number == hwreg_flat_scratch_hi else 0
        wave.flat_scratch = (wave.flat_scratch & ~(<uint64_t>mask << shifted)) | (<uint64_t>value << shifted)
    return stop_running


cdef uint32_t banks_of(const Instruction *instruction) noexcept nogil:
    """The result's two bits are the first in MODE, the last in the instruction."""
    cdef uint32_t bits = instruction.decoded.immediate & 0xff
    return ((bits << 2) | (bits >> 6)) & 0xff


cdef int _set_banks(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave.mode = (wave.mode & ~<uint32_t>mode_banks) | (banks_of(instruction) << mode_banks_shift)
    return stop_running


cdef int _round_mode(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave.mode = (wave.mode & ~<uint32_t>0xf) | (instruction.decoded.immediate & 0xf)
    return stop_running


cdef int _denorm_mode(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave.mode = (wave.mode & ~<uint32_t>0xf0) | ((instruction.decoded.immediate & 0xf) << 4)
    return stop_running


cdef int _read_clock(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """Time is the number of instructions that the dispatch has executed."""
    wave_put64(wave, _destination_of(instruction), machine.executed)
    return stop_running


cdef int _read_wave_index(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave_put(wave, _destination_of(instruction), wave.index)
    return stop_running


cdef int _send_message(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """Message 1 interrupts the host, which serves the wave before this returns. Others change nothing that a program sees."""
    if instruction.decoded.immediate & 0xff == 1 and machine.interrupt != NULL and not machine.interrupt(machine.host, wave):
        return stop_host
    return stop_running


cdef int _send_message_returning(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """0x83 is the real time. Doorbell, draw id, and the bases of trap handler and its memory (0x80-0x82, 0x85) are zero here."""
    cdef uint32_t message = instruction.decoded.immediate & 0xff
    cdef uint64_t answer = machine.executed if message == 0x83 else 0
    if message < 0x80 or message == 0x84 or message > 0x85:
        return stop_unsupported
    if instruction.decoded.opcode == <int>op_s_sendmsg_rtn_b32:
        wave_put(wave, _destination_of(instruction), <uint32_t>answer)
    else:
        wave_put64(wave, _destination_of(instruction), answer)
    return stop_running


# --------------------------------------------------------------------------------------------------- indirect registers
cdef int _move_relative_scalar(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """S_MOVRELS, S_MOVRELD: M0 is added to the number of the source or destination."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t source = instruction.source[0].index
    cdef uint32_t destination = _destination_of(instruction)
    cdef uint32_t index = wave.sgpr[sgpr_m0]
    cdef bint wide = opcode == <uint32_t>op_s_movrels_b64 or opcode == <uint32_t>op_s_movreld_b64
    cdef uint32_t low, high
    if opcode == <uint32_t>op_s_movrels_b32 or opcode == <uint32_t>op_s_movrels_b64:
        source += index
    elif opcode == <uint32_t>op_s_movrelsd_2_b32:
        source += index & 0x3ff
        destination += (index >> 16) & 0x3ff
    else:
        destination += index
    if instruction.source[0].kind == operand_value:
        low = <uint32_t>instruction.source[0].value
        high = <uint32_t>(instruction.source[0].value >> 32)
    else:
        low = read_scalar(wave, source) if source < 128 else 0
        high = read_scalar(wave, source + 1) if source + 1 < 128 else 0
    if destination < sgpr_vcc:
        wave_put(wave, destination, low)
        if wide:
            wave_put(wave, destination + 1, high)
    return stop_running


cdef int _move_relative_vector(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_MOVRELS, V_MOVRELD, V_MOVRELSD: M0 is added to the number of a VGPR."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t source = instruction.source[0].index
    cdef uint32_t destination = _destination_of(instruction) - 256
    cdef uint32_t index = wave.sgpr[sgpr_m0]
    cdef uint32_t lane, value
    if opcode == <uint32_t>op_v_movrels_b32 or opcode == <uint32_t>op_v_movrelsd_b32:
        source += index
    if opcode == <uint32_t>op_v_movreld_b32 or opcode == <uint32_t>op_v_movrelsd_b32:
        destination += index
    if opcode == <uint32_t>op_v_movrelsd_2_b32:
        source += index & 0x3ff
        destination += (index >> 16) & 0x3ff
    if instruction.source[0].kind == operand_vgpr and source >= 256:
        source = 0                                          # out of range reads v0
    if destination >= 256:
        return stop_running
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            if instruction.source[0].kind == operand_vgpr:
                value = wave_vgpr(wave, source)[lane]
            else:
                value = _scalar_source(wave, instruction, 0)
            wave_vgpr(wave, destination)[lane] = value
    return stop_running


# ---------------------------------------------------------------------------------------------------------- between lanes
cdef uint32_t _lane_value(const Wave *wave, const Instruction *instruction, uint32_t lane) noexcept nogil:
    if instruction.source[0].kind == operand_vgpr:
        return wave_vgpr(wave, instruction.source[0].index)[lane]
    return _scalar_source(wave, instruction, 0)


cdef int _read_first_lane(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane = 0
    if exec_mask:
        while not (exec_mask >> lane) & 1:
            lane += 1
    wave_put(wave, _destination_of(instruction), _lane_value(wave, instruction, lane))
    return stop_running


cdef int _read_lane(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint32_t lane = _scalar_source(wave, instruction, 1) & (wave.lanes - 1)
    wave_put(wave, _destination_of(instruction), _lane_value(wave, instruction, lane))
    return stop_running


cdef int _write_lane(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint32_t lane = _scalar_source(wave, instruction, 1) & (wave.lanes - 1)
    wave_vgpr(wave, _destination_of(instruction) - 256)[lane] = _scalar_source(wave, instruction, 0)
    return stop_running


cdef inline bint _swaps_a_register(const Instruction *instruction) noexcept nogil:
    """Only the long encoding can name an operand that is not a vector register."""
    return instruction.source[0].kind == operand_vgpr


cdef int _swap_registers(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t first = _destination_of(instruction) - 256
    cdef uint32_t second = instruction.source[0].index
    cdef uint32_t lane, value
    if not _swaps_a_register(instruction):
        return stop_unsupported
    if instruction.decoded.opcode == <int>op_v_swaprel_b32:
        second += wave.sgpr[sgpr_m0] & 0x3ff
        first += (wave.sgpr[sgpr_m0] >> 16) & 0x3ff
        if first >= 256 or second >= 256:
            return stop_running
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            value = wave_vgpr(wave, first)[lane]
            wave_vgpr(wave, first)[lane] = wave_vgpr(wave, second)[lane]
            wave_vgpr(wave, second)[lane] = value
    return stop_running


cdef int _swap_halves(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_SWAP_B16 of two halves of registers."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t first = _destination_of(instruction) - 256
    cdef uint32_t second = instruction.source[0].index
    cdef uint32_t first_shift = 16 if (instruction.decoded.destination[0] >> 1) & 1 else 0
    cdef uint32_t second_shift = 16 if instruction.source[0].half else 0
    cdef uint32_t lane, a, b
    if not _swaps_a_register(instruction):
        return stop_unsupported
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            a = (wave_vgpr(wave, first)[lane] >> first_shift) & 0xffff
            b = (wave_vgpr(wave, second)[lane] >> second_shift) & 0xffff
            wave_vgpr(wave, first)[lane] = (wave_vgpr(wave, first)[lane] & ~(0xffffU << first_shift)) | (b << first_shift)
            wave_vgpr(wave, second)[lane] = ((wave_vgpr(wave, second)[lane] & ~(0xffffU << second_shift))
                                             | (a << second_shift))
    return stop_running


cdef int _permute_lanes16(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_PERMLANE16, V_PERMLANEX16: a lane of the same or of the neighbouring row of 16."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef bint crosses = opcode == <uint32_t>op_v_permlanex16_b32 or opcode == <uint32_t>op_v_permlanex16_var_b32
    cdef bint varies = opcode == <uint32_t>op_v_permlane16_var_b32 or opcode == <uint32_t>op_v_permlanex16_var_b32
    cdef bint fetch_inactive = modifier_opsel(instruction.decoded.modifiers) & 1
    cdef bint bound_control = (modifier_opsel(instruction.decoded.modifiers) >> 1) & 1
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t result[max_lanes]
    cdef uint32_t *row = wave_vgpr(wave, _destination_of(instruction) - 256)
    cdef uint64_t selectors = 0
    cdef uint32_t lane, other
    if not varies:
        selectors = _scalar_source(wave, instruction, 1) | (<uint64_t>_scalar_source(wave, instruction, 2) << 32)
    for lane in range(wave.lanes):
        if varies:
            other = wave_vgpr(wave, instruction.source[1].index)[lane] & 15
        else:
            other = <uint32_t>(selectors >> (4 * (lane & 15))) & 15
        other |= (lane & ~<uint32_t>15) ^ (16 if crosses else 0)
        if fetch_inactive or (exec_mask >> other) & 1:
            result[lane] = _lane_value(wave, instruction, other)
        else:
            result[lane] = 0 if bound_control else row[lane]
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            row[lane] = result[lane]
    return stop_running


cdef int _permute_lanes64(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_PERMLANE64: the other half of a wave64, active or not; a wave32 keeps its data."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t result[max_lanes]
    cdef uint32_t lane
    if wave.lanes == 32:
        return stop_running
    for lane in range(64):
        result[lane] = _lane_value(wave, instruction, lane ^ 32)
    for lane in range(64):
        if (exec_mask >> lane) & 1:
            wave_vgpr(wave, _destination_of(instruction) - 256)[lane] = result[lane]
    return stop_running


include "pyaco/_core/emu/lane_words.pxi"


cdef int _swap_lane_groups(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_PERMLANE16_SWAP, V_PERMLANE32_SWAP: odd groups of lanes of the destination are exchanged with even ones of the source."""
    cdef uint32_t width = 16 if instruction.decoded.opcode == <int>op_v_permlane16_swap_b32 else 32
    cdef uint32_t *upper = wave_vgpr(wave, (instruction.decoded.destination[0] >> 2) - 256)
    cdef uint32_t *lower
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane, word
    if instruction.decoded.destination[1] >> 2 < 256:       # only the long encoding can name another operand
        return stop_unsupported
    lower = wave_vgpr(wave, (instruction.decoded.destination[1] >> 2) - 256)
    for lane in range(wave.lanes):
        if lane & width or not (exec_mask >> lane) & (exec_mask >> (lane + width)) & 1:
            continue
        word = lower[lane]
        lower[lane] = upper[lane + width]
        upper[lane + width] = word
    return stop_running


cdef void _fill_nothing(Handler *table) noexcept nogil:
    """Instructions without effect on results: waits, hints, caches, priorities."""
    table[<int>op_s_nop] = _no_operation
    table[<int>op_s_wakeup] = _no_operation
    table[<int>op_s_setkill] = _no_operation
    table[<int>op_s_cbranch_cdbgsys] = _no_operation         # there is no debugger to take the branch
    table[<int>op_s_cbranch_cdbguser] = _no_operation
    table[<int>op_s_cbranch_cdbgsys_or_user] = _no_operation
    table[<int>op_s_cbranch_cdbgsys_and_user] = _no_operation
    table[<int>op_s_waitcnt] = _no_operation
    table[<int>op_s_sleep] = _no_operation
    table[<int>op_s_sleep_var] = _no_operation
    table[<int>op_s_monitor_sleep] = _no_operation          # nothing that is watched changes while it waits
    table[<int>op_s_setprio_inc_wg] = _no_operation
    table[<int>op_s_wakeup_barrier] = _no_operation
    table[<int>op_s_wait_xcnt] = _no_operation
    table[<int>op_s_wait_asynccnt] = _no_operation
    table[<int>op_s_wait_tensorcnt] = _no_operation
    table[<int>op_s_setprio] = _no_operation
    table[<int>op_s_sendmsg] = _send_message
    table[<int>op_s_icache_inv] = _no_operation
    table[<int>op_s_incperflevel] = _no_operation
    table[<int>op_s_decperflevel] = _no_operation
    table[<int>op_s_ttracedata] = _no_operation
    table[<int>op_s_ttracedata_imm] = _no_operation
    table[<int>op_s_inst_prefetch] = _no_operation
    table[<int>op_s_clause] = _no_operation
    table[<int>op_s_wait_idle] = _no_operation
    table[<int>op_s_waitcnt_depctr] = _no_operation
    table[<int>op_s_delay_alu] = _no_operation
    table[<int>op_s_wait_event] = _no_operation
    table[<int>op_s_wait_loadcnt] = _no_operation
    table[<int>op_s_wait_storecnt] = _no_operation
    table[<int>op_s_wait_samplecnt] = _no_operation
    table[<int>op_s_wait_bvhcnt] = _no_operation
    table[<int>op_s_wait_expcnt] = _no_operation
    table[<int>op_s_wait_dscnt] = _no_operation
    table[<int>op_s_wait_kmcnt] = _no_operation
    table[<int>op_s_wait_loadcnt_dscnt] = _no_operation
    table[<int>op_s_wait_storecnt_dscnt] = _no_operation
    table[<int>op_s_waitcnt_vscnt] = _no_operation
    table[<int>op_s_waitcnt_vmcnt] = _no_operation
    table[<int>op_s_waitcnt_expcnt] = _no_operation
    table[<int>op_s_waitcnt_lgkmcnt] = _no_operation
    table[<int>op_s_version] = _no_operation
    table[<int>op_v_nop] = _no_operation
    table[<int>op_v_pipeflush] = _no_operation
    table[<int>op_v_clrexcp] = _no_operation
    table[<int>op_ds_nop] = _no_operation


cdef void _fill_flow(Handler *table) noexcept nogil:
    """Ends, barriers, branches, and hardware registers."""
    table[<int>op_s_endpgm] = _end_program
    table[<int>op_s_endpgm_saved] = _end_program
    table[<int>op_s_endpgm_ordered_ps_done] = _end_program
    table[<int>op_s_trap] = _trap
    table[<int>op_s_barrier] = _barrier
    table[<int>op_s_barrier_signal] = _barrier_signal
    table[<int>op_s_barrier_signal_isfirst] = _barrier_signal
    table[<int>op_s_barrier_wait] = _barrier_wait
    table[<int>op_s_barrier_init] = _barrier_init
    table[<int>op_s_barrier_join] = _barrier_join
    table[<int>op_s_barrier_leave] = _barrier_leave
    table[<int>op_s_get_barrier_state] = _barrier_state
    table[<int>op_s_alloc_vgpr] = _allocate_registers
    table[<int>op_s_sethalt] = _halt
    table[<int>op_s_sendmsghalt] = _halt
    table[<int>op_s_code_end] = _not_code
    table[<int>op_v_illegal] = _not_code
    table[<int>op_s_cbranch_g_fork] = _fork
    table[<int>op_s_cbranch_i_fork] = _fork
    table[<int>op_s_cbranch_join] = _join
    table[<int>op_s_subvector_loop_begin] = _subvector_begin
    table[<int>op_s_subvector_loop_end] = _subvector_end
    table[<int>op_s_setvskip] = _skip_vector
    table[<int>op_s_set_gpr_idx_on] = _index_registers
    table[<int>op_s_set_gpr_idx_idx] = _index_registers
    table[<int>op_s_set_gpr_idx_mode] = _index_registers
    table[<int>op_s_set_gpr_idx_off] = _index_registers
    table[<int>op_s_branch] = _branch
    table[<int>op_s_cbranch_scc0] = _branch_scc0
    table[<int>op_s_cbranch_scc1] = _branch_scc1
    table[<int>op_s_cbranch_vccz] = _branch_vccz
    table[<int>op_s_cbranch_vccnz] = _branch_vccnz
    table[<int>op_s_cbranch_execz] = _branch_execz
    table[<int>op_s_cbranch_execnz] = _branch_execnz
    table[<int>op_s_getpc_b64] = _get_pc
    table[<int>op_s_setpc_b64] = _set_pc
    table[<int>op_s_swappc_b64] = _swap_pc
    table[<int>op_s_call_b64] = _call
    table[<int>op_s_add_pc_i64] = _add_to_pc
    table[<int>op_s_set_vgpr_msb] = _set_banks
    table[<int>op_s_get_shader_cycles_u64] = _read_clock
    table[<int>op_s_getreg_b32] = _get_register
    table[<int>op_s_setreg_b32] = _set_register
    table[<int>op_s_setreg_imm32_b32] = _set_register
    table[<int>op_s_round_mode] = _round_mode
    table[<int>op_s_denorm_mode] = _denorm_mode
    table[<int>op_s_memtime] = _read_clock
    table[<int>op_s_memrealtime] = _read_clock
    table[<int>op_s_get_waveid_in_workgroup] = _read_wave_index
    table[<int>op_s_sendmsg_rtn_b32] = _send_message_returning
    table[<int>op_s_sendmsg_rtn_b64] = _send_message_returning


cdef void _fill_moves(Handler *table) noexcept nogil:
    """Moves between registers, halves and lanes, which are not loops over independent lanes."""
    table[<int>op_v_mqsad_u32_u8] = _masked_sads
    table[<int>op_v_pk_mov_b32] = _move_pair
    table[<int>op_v_bitop3_b16] = _combine_bits
    table[<int>op_v_bitop3_b32] = _combine_bits
    table[<int>op_v_bitop3_b16_true16] = _combine_bits
    table[<int>op_v_permlane_bcast_b32] = _permute_in_groups
    table[<int>op_v_permlane_up_b32] = _permute_in_groups
    table[<int>op_v_permlane_down_b32] = _permute_in_groups
    table[<int>op_v_permlane_xor_b32] = _permute_in_groups
    table[<int>op_v_perm_pk16_b4_u4] = _look_up_elements
    table[<int>op_v_perm_pk16_b6_u4] = _look_up_elements
    table[<int>op_v_perm_pk16_b8_u4] = _look_up_elements
    table[<int>op_v_permlane16_swap_b32] = _swap_lane_groups
    table[<int>op_v_permlane32_swap_b32] = _swap_lane_groups
    table[<int>op_s_movrels_b32] = _move_relative_scalar
    table[<int>op_s_movrels_b64] = _move_relative_scalar
    table[<int>op_s_movreld_b32] = _move_relative_scalar
    table[<int>op_s_movreld_b64] = _move_relative_scalar
    table[<int>op_s_movrelsd_2_b32] = _move_relative_scalar
    table[<int>op_v_movrels_b32] = _move_relative_vector
    table[<int>op_v_movreld_b32] = _move_relative_vector
    table[<int>op_v_movrelsd_b32] = _move_relative_vector
    table[<int>op_v_movrelsd_2_b32] = _move_relative_vector
    table[<int>op_v_readfirstlane_b32] = _read_first_lane
    table[<int>op_v_readlane_b32] = _read_lane
    table[<int>op_v_readlane_b32_e64] = _read_lane
    table[<int>op_v_writelane_b32] = _write_lane
    table[<int>op_v_writelane_b32_e64] = _write_lane
    table[<int>op_v_swap_b32] = _swap_registers
    table[<int>op_v_swaprel_b32] = _swap_registers
    table[<int>op_v_swap_b16] = _swap_halves
    table[<int>op_v_permlane16_b32] = _permute_lanes16
    table[<int>op_v_permlanex16_b32] = _permute_lanes16
    table[<int>op_v_permlane16_var_b32] = _permute_lanes16
    table[<int>op_v_permlanex16_var_b32] = _permute_lanes16
    table[<int>op_v_permlane64_b32] = _permute_lanes64


cdef void fill_control(Handler *table) noexcept nogil:
    _fill_nothing(table)
    _fill_flow(table)
    _fill_moves(table)
