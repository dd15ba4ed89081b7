"""Steps that are not loops over lanes: those that fall back on the reference engine, results with special values, and the ends of blocks."""
from libc.stdint cimport uint32_t, uint64_t

from isa_opcodes cimport *
from pyaco._core.emu.reference cimport share_halves
from pyaco._core.emu.vector cimport finish
from pyaco._core.emu.wave cimport *


cdef void _open_lanes(Lanes *lanes) noexcept nogil:
    lanes.count = row_lanes
    lanes.clamp = 0
    lanes.neg = 0
    lanes.opsel = 0
    lanes.small = 0
    lanes.rounding = 0


cdef void _finish_rows(const Core *core, const Step *step, uint32_t half, uint32_t shift, Lanes *lanes) noexcept nogil:
    """Call `finish` for the results in `lanes`, with the step's sources flushed as MODE says; `shift` 16: with their high halves."""
    cdef uint32_t narrow[4][row_lanes]
    cdef uint64_t wide[4][row_lanes]
    cdef const uint32_t *row
    cdef uint32_t slot, lane
    cdef uint64_t value
    cdef uint8_t kind
    _open_lanes(lanes)
    for slot in range(step.rest.operation.source_count):
        kind = step.rest.operation.source_type[slot] & ~type_old
        row = source_row(core, step, slot, half)
        lanes.narrow[slot] = narrow[slot]
        lanes.wide[slot] = wide[slot]
        for lane in range(<uint32_t>row_lanes):
            narrow[slot][lane] = row[lane] >> shift
            if kind == type_f32:
                narrow[slot][lane] = flushed_source(narrow[slot][lane], core.keep_in32)
            elif kind == type_f16:
                narrow[slot][lane] = flushed_half(narrow[slot][lane], core.keep_in64)
            elif type_u64 <= kind <= type_r64:
                value = row[lane] | (<uint64_t>row[lane + row_bytes // 4] << 32)
                wide[slot][lane] = flushed_wide(value, core.keep_in64) if kind == type_f64 else value
    finish(core.wave, step.rest.operation, lanes, 0)


cdef void _put_special_packed(Core *core, const Step *step, uint32_t half) noexcept nogil:
    cdef uint32_t *low = special_row(core, half)
    cdef uint32_t *high = low + row_lanes
    cdef Lanes lanes
    cdef uint32_t lane
    lanes.result[0] = low
    _finish_rows(core, step, half, 0, &lanes)
    lanes.result[0] = high
    _finish_rows(core, step, half, 16, &lanes)
    for lane in range(<uint32_t>row_lanes):
        low[lane] = (low[lane] & 0xffff) | (high[lane] << 16)
    put_row(core, step, half, low)


cdef void _put_special_row(Core *core, const Step *step, uint32_t half) noexcept nogil:
    cdef uint32_t *row = special_row(core, half)
    cdef Lanes lanes
    cdef uint32_t lane
    lanes.result[0] = row
    lanes.wide_result[0] = <uint64_t *>row
    _finish_rows(core, step, half, 0, &lanes)
    if step.rest.operation.result_type[0] == type_f64:
        put_wide(core, step, half, <uint64_t *>row)
        return
    if step.rest.operation.result_type[0] == type_f16:
        for lane in range(<uint32_t>row_lanes):
            row[lane] &= 0xffff                             # the bits above a NaN source are not its own
    put_row(core, step, half, row)


cdef int step_specials(Core *core, const Step *step, uint32_t halves) noexcept nogil:
    cdef uint32_t half
    for half in range(core.halves):
        if halves >> half & 1:
            if step.rest.operation.packed:
                _put_special_packed(core, step, half)
            else:
                _put_special_row(core, step, half)
    return next_step(core, step)


cdef bint wait_for_turn(Core *core) noexcept nogil:
    cdef uint64_t before = 0
    if not core.order.wait(core.group, &before):
        return False
    core.machine.executed += before - core.first_executed
    core.slice_end += before - core.first_executed
    core.first_executed = before
    core.chain_end = 0                                      # the engine's loop sets it again
    return True


cdef inline int _reference(Core *core, const Step *step) noexcept nogil:
    """Execute the instruction as the reference engine does."""
    cdef int stop
    if core.control != control_default:
        set_host_control(control_default)
    stop = step.instruction.handler(core.machine, core.wave, step.instruction)
    if core.control != control_default:
        set_host_control(core.control)
    if stop != stop_running:
        core.stopped = step
    return stop


cdef int step_reference(Core *core, const Step *step) noexcept nogil:
    cdef int stop = _reference(core, step)
    if stop != stop_running:
        return stop
    return next_step(core, step)


cdef int step_banks(Core *core, const Step *step) noexcept nogil:
    cdef int stop = _reference(core, step)
    if core.wave.mode != core.mode:
        core.chain_end = 0                                  # the engine's loop looks at MODE
    return stop if stop != stop_running else next_step(core, step)


cdef int step_shared(Core *core, const Step *step) noexcept nogil:
    cdef uint64_t active = wave_exec(core.wave)
    cdef int stop = _reference(core, step)
    share_halves(core.machine, core.wave, step.instruction, active)
    if stop != stop_running:
        return stop
    return next_step(core, step)


cdef int step_fallback(Core *core, const Step *step) noexcept nogil:
    cdef int stop = _reference(core, step)
    if stop != stop_running:
        return stop
    return next_step(core, step + step.post_steps)


cdef int step_ordered(Core *core, const Step *step) noexcept nogil:
    if core.order != NULL and not wait_for_turn(core):
        core.stopped = step
        return stop_deadlock
    return step_reference(core, step)


cdef int step_leave(Core *core, const Step *step) noexcept nogil:
    core.wave.pc = step.rest.block.end
    return _reference(core, step)


cdef int step_leave_ordered(Core *core, const Step *step) noexcept nogil:
    if core.order != NULL and not wait_for_turn(core):
        core.stopped = step
        return stop_deadlock
    return step_leave(core, step)


cdef int step_end(Core *core, const Step *step) noexcept nogil:
    return follow(core, step, 0)


cdef int step_end_exec(Core *core, const Step *step, uint64_t active) noexcept nogil:
    return follow_with(core, step, 0, active)


cdef bint _find_staying(Block *block) noexcept nogil:
    """Look for the blocks that lanes run as they leave, and the one behind: once each has followed the other, they are known."""
    cdef Block *first = block.rests[block.step_count - 1].successor[0]
    cdef Block *second
    if first == NULL or first.narrowed != block.copied_exec:
        return False
    second = first.rests[first.step_count - 1].successor[0]
    if second == NULL or second.restored != block.copied_exec:
        return False
    block.leaving[0] = first
    block.leaving[1] = second
    block.passed = first.count + second.count
    block.staying = second.rests[second.step_count - 1].successor[0]
    return block.staying != NULL


cdef int step_end_leaving(Core *core, const Step *step, uint64_t active) noexcept nogil:
    """Where no lane leaves, EXEC stays, and what the lanes would do is passed: only SCC changes, as some are left."""
    cdef Block *block = step.rest.block
    if active or not core.active or not (block.staying != NULL or _find_staying(block)):
        return follow_with(core, step, 0, active)
    if core.machine.executed + block.passed + block.staying.count > core.chain_end:
        return follow_with(core, step, 0, active)
    core.machine.executed += block.passed
    block.passages += 1
    core.wave.scc = 1
    if core.halves == 1:
        core.wave.sgpr[<uint32_t>sgpr_exec] = <uint32_t>core.active
    else:
        store_pair(&core.wave.sgpr[<uint32_t>sgpr_exec], core.active)
    return run_block(core, &block.staying)


cdef int step_save_exec(Core *core, const Step *step) noexcept nogil:
    store_pair(&core.wave.sgpr[step.destination], load_pair(&core.wave.sgpr[sgpr_exec]))
    return next_step(core, step)


cdef int step_copy_mask(Core *core, const Step *step) noexcept nogil:
    wave_put_mask(core.wave, step.mask_destination, core.mask_result[0] | (<uint64_t>core.mask_result[1] << 32))
    return next_step(core, step)


# -------------------------------------------------------------------------------------------------------------- branches
cdef int _step_branch(Core *core, const Step *step) noexcept nogil:
    return follow(core, step, True)


cdef int _step_branch_scc0(Core *core, const Step *step) noexcept nogil:
    return follow(core, step, core.wave.scc == 0)


cdef int _step_branch_scc1(Core *core, const Step *step) noexcept nogil:
    return follow(core, step, core.wave.scc != 0)


cdef int _step_branch_vccz(Core *core, const Step *step) noexcept nogil:
    return follow(core, step, mask_of(core.wave, sgpr_vcc) == 0)


cdef int _step_branch_vccnz(Core *core, const Step *step) noexcept nogil:
    return follow(core, step, mask_of(core.wave, sgpr_vcc) != 0)


cdef int _step_branch_execz(Core *core, const Step *step) noexcept nogil:
    return follow(core, step, mask_of(core.wave, sgpr_exec) == 0)


cdef int _step_branch_execnz(Core *core, const Step *step) noexcept nogil:
    return follow(core, step, mask_of(core.wave, sgpr_exec) != 0)


cdef StepFunction branch_step(uint32_t opcode) noexcept nogil:
    if opcode == <uint32_t>op_s_branch:
        return _step_branch
    if opcode == <uint32_t>op_s_cbranch_scc0:
        return _step_branch_scc0
    if opcode == <uint32_t>op_s_cbranch_scc1:
        return _step_branch_scc1
    if opcode == <uint32_t>op_s_cbranch_vccz:
        return _step_branch_vccz
    if opcode == <uint32_t>op_s_cbranch_vccnz:
        return _step_branch_vccnz
    if opcode == <uint32_t>op_s_cbranch_execz:
        return _step_branch_execz
    if opcode == <uint32_t>op_s_cbranch_execnz:
        return _step_branch_execnz
    return NULL
