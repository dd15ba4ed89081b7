"""The fast engine: blocks of steps over host vectors, workgroups on several threads.

Results are the reference engine's, bit for bit, counters included: waves take the same turns, and the reference engine executes what has
no step. Workgroups are claimed in ascending order; atomics and clocks wait for earlier workgroups (``order.h``), so a program
without data races gives the same result on any number of threads.

Decoded code and blocks are kept for the next dispatch, which uses them if it starts at the same address and memory still holds the same
words; so are the registers, LDS and scratch of a workgroup where their sizes are the same. Many programs dispatch a kernel thousands of times.

Thread safety: an engine runs one dispatch at a time. Each of its threads has its own machine, code, blocks and registers; the
address space's table is not written meanwhile.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from isa_opcodes cimport op_count
from pyaco._core.emu.memory cimport AddressSpace, Memory
from pyaco._core.common.bits cimport trailing_zeros64
from pyaco._core.emu.code cimport *
from pyaco._core.emu.reference cimport *
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_fast.block cimport *
from pyaco._core.emu_fast.image_cache cimport ImageCache, close_images, open_images
from pyaco._core.emu_fast.step cimport *
from pyaco._core.common.machine cimport register_none

import importlib

cdef extern from "Python.h" nogil:
    int check_signals "PyErr_CheckSignals"()

cdef extern from "host_vectors.h" nogil:
    int host_vector_bits()
    void fill_sixteens(uint32_t *rows, uint32_t count, uint32_t stride, uint32_t sixteens, uint32_t value)

cdef enum:
    mode_keep_in64 = 0x40             # halves and doubles
    mode_keep_out64 = 0x80
    mode_round64 = 0xc
    mode_fp16_overflow = 0x800000
    changing_modes = 3 | mode_index_registers | mode_skip_vector  # modes that steps do not implement
    signal_interval = 1000000         # instructions between looks at the user's interrupts
    chain_instructions = 512          # most that blocks go on with each other: steps that end in no tail call hold a piece of the stack until then
    joined_budget = 0x1000000         # instructions that must be left for workgroups to be joined: they are counted when they have ended
    min_work_per_thread = 20000       # instructions left to execute for which other threads are started
    first_thread_check = 2000                 # instructions executed when that is first decided, if the code is new
    kept_bytes = 0x800000             # most that a thread keeps for the next dispatch
    interrupted = -1                  # by a signal, whose exception is set
    abandoned = -2                    # because an earlier workgroup failed
    no_memory = -3
    mxcsr_zeros = 0x40                # denormal sources are zeros

cdef uint64_t never = 0xffffffffffffffffULL
# Sizes that the compiler does not know: it would copy and clear by `rep` instructions, which take longer to begin than all of it.
cdef size_t wave_bytes = sizeof(Wave)
cdef size_t named_bytes = (<size_t>named_barriers + 1) * sizeof(NamedBarrier)


def vector_bits():
    """Bits of the vectors that the host has and the steps can use: 512, 256, or 128 (what every processor has)."""
    return host_vector_bits()


cdef struct Worker:
    Workspace *space                  # the engine's, or `own`
    Workspace own                     # of all but the first thread
    const Launch *launch
    Blocks blocks
    uint64_t code_generation          # `generation` of the engine's code that the blocks were made from
    Core *core
    ImageCache images
    Memory memory                     # the device's table with a look-up cache of its own
    Wave *first                       # the waves of a workgroup as they start
    uint32_t *first_rows              # the VGPRs that they start with
    uint32_t first_capacity           # how many waves there is memory for
    uint32_t first_slot               # of scratch, whose offset is in their registers
    Team *team                        # of the first thread: the others that it may start; else NULL
    Order *order                      # NULL: alone
    uint64_t workgroup                # the number of the workgroup that runs
    uint64_t last_signal_check                  # instructions at that time
    uint64_t next_thread_check                  # instructions when it is decided again whether to start threads
    int stop
    uint8_t padding[line_pair]        # the next worker's fields are in other cache lines

cdef struct Team:
    Worker *workers
    Kernels kernels
    Joined joined
    Memory *memory                    # the device's
    uint32_t max_threads
    uint32_t running_threads
    uint64_t workgroup_instructions   # average of the last dispatch of the same code; 0: not known


# ----------------------------------------------------------------------------------------------------------------- waves
cdef void _set_mode(Core *core, uint32_t mode) noexcept nogil:
    """Set what steps read instead of MODE."""
    cdef uint32_t control
    core.mode = mode
    core.flush_out32 = (mode & mode_keep_out32) == 0
    core.keep_in32 = 0xffffffffU if mode & mode_keep_in32 else 0
    core.flushes32 = core.flush_out32 and not core.keep_in32
    core.flush_out64 = (mode & mode_keep_out64) == 0
    core.keep_in64 = 0xffffffffU if mode & mode_keep_in64 else 0
    core.round64 = mode & (mode_round64 | mode_fp16_overflow)
    core.ieee = (mode & mode_ieee) != 0
    core.flushes_choice32 = core.flushes32 and not core.ieee
    core.clamps_nan = (mode & mode_dx10_clamp) != 0
    control = control_default if core.keep_in32 else control_default | core.control_zeros
    if core.control != control:
        core.control = control
        set_host_control(control)


cdef inline void _enter_block(Core *core, const Wave *wave) noexcept nogil:
    cdef uint64_t active = wave_exec(wave)
    if wave.mode != core.mode:
        _set_mode(core, wave.mode)
        core.set_active(core, active)
    elif active != core.active or active != core.spread:
        core.set_active(core, active)


cdef inline Block *_block_of(Worker *worker, const Wave *wave) noexcept nogil:
    """The block that a wave is at."""
    worker.blocks.mode = wave.mode
    return block_at(&worker.blocks, wave.pc, wave_banks(&worker.space.machine, wave))


cdef int _run_steps(Worker *worker, Wave *wave, uint64_t until) noexcept nogil:
    """Run a wave until it stops, its turn is over, or the dispatch has executed `until` instructions."""
    cdef Core *core = worker.core
    cdef Machine *machine = core.machine
    cdef Block *block = NULL
    cdef const Step *steps
    cdef int stop
    core.wave = wave
    core.base[base_vgpr] = <uint8_t *>wave.vgpr
    core.base[base_sgpr] = <uint8_t *>wave.sgpr
    while machine.executed < core.slice_end and machine.executed < until:
        if block == NULL:
            block = _block_of(worker, wave)
        # the reference engine, which executes what is left of a turn, does not know the ids of joined workgroups
        core.chain_end = min(core.slice_end, machine.budget) if worker.blocks.joined.count == 1 else machine.budget
        if (block == NULL or block.count == 0 or wave.mode & changing_modes or machine.executed + block.count > core.chain_end):
            set_host_control(control_default)
            stop = run_wave(&worker.space.code, machine, wave, 1)
            set_host_control(core.control)
            if stop != stop_running:
                return stop
            block = NULL
            continue
        core.chain_end = min(core.chain_end, min(until, machine.executed + chain_instructions))
        _enter_block(core, wave)
        steps = shaped_steps(&worker.blocks, block, core.shape)
        if steps == NULL:
            return no_memory
        machine.executed += block.count
        block.executions += 1
        block.lane_executions += core.active_count
        core.next_block = NULL
        core.block = block
        stop = steps.function(core, steps)
        if stop != stop_running:
            block = core.block
            machine.fault_pc = core.stopped.instruction.pc
            machine.fault_opcode = core.stopped.instruction.decoded.opcode
            if core.stopped.instruction != block.instructions[block.count - 1]:
                count_part(&worker.blocks, block, core.stopped, core.active)
            return stop
        if core.next_block == NULL:
            block = NULL
            continue
        block = core.next_block[0]
        if block == NULL:
            block = _block_of(worker, wave)
            if block != NULL and block.count:
                core.next_block[0] = block
    return stop_running


cdef int _run_turn(Worker *worker, Wave *wave) noexcept nogil:
    cdef Core *core = worker.core
    cdef int stop
    core.slice_end = core.machine.executed + turn_of(worker.space)
    stop = _run_steps(worker, wave, worker.next_thread_check)
    if core.machine.executed >= worker.next_thread_check:
        _consider_threads(worker)
        if stop == stop_running:
            stop = _run_steps(worker, wave, never)
    return stop


# ------------------------------------------------------------------------------------------------------------ workgroups
cdef void _put_ids(Worker *worker, uint32_t *sgpr) noexcept nogil:
    """The ids of the workgroup that starts, or of those that start joined."""
    cdef const Joined *joined = &worker.blocks.joined
    cdef uint32_t first[3]
    cdef uint32_t *row
    cdef uint32_t lane
    _first_joined(worker, first)
    put_workgroup_ids(worker.launch, sgpr, first)
    if joined.count == 1:
        return
    row = row_of_ids(&worker.blocks)
    for lane in range(joined.wave_size):
        row[lane] = first[0] + lane // joined.lanes


cdef inline void _first_joined(const Worker *worker, uint32_t *first) noexcept nogil:
    """The first of the workgroups that run."""
    memcpy(first, worker.space.group, 3 * sizeof(uint32_t))
    first[0] = worker.launch.start[0] + (first[0] - worker.launch.start[0]) * worker.blocks.joined.count


cdef void _join_lanes(const Joined *joined, Wave *wave) noexcept nogil:
    """Make a wave of one workgroup one of several: their lanes start with the same VGPRs."""
    cdef uint32_t end = joined.count * joined.lanes
    cdef uint32_t row, lane
    wave_put64(wave, sgpr_exec, ~(<uint64_t>0) if end == 64 else (<uint64_t>1 << end) - 1)
    for row in range(<uint32_t>start_rows):
        for lane in range(joined.lanes, end):
            wave.vgpr[row * max_lanes + lane] = wave.vgpr[row * max_lanes + lane - joined.lanes]


cdef void _end_joined(Worker *worker, int stop, uint64_t executed) noexcept nogil:
    """Count the instructions of all joined workgroups, or say which of them stopped."""
    cdef const Joined *joined = &worker.blocks.joined
    cdef Machine *machine = &worker.space.machine
    if stop == stop_end:
        machine.executed += (joined.count - 1) * executed
        return
    _first_joined(worker, worker.space.group)
    if stop == stop_memory_fault or stop == stop_misaligned:
        worker.space.group[0] += machine.fault_lane // joined.lanes
        machine.fault_lane %= joined.lanes


cdef void _start_waves(Worker *worker) noexcept nogil:
    """As `start_workgroup`; the waves of a whole workgroup are copied from a template."""
    cdef Workspace *space = worker.space
    cdef uint32_t size[3]
    cdef Wave *wave
    cdef uint32_t *registers
    cdef uint8_t *scratch
    cdef uint32_t i
    if not size_of(worker.launch, space.group, size) or space.machine.scratch_slot != worker.first_slot:
        start_workgroup(space, worker.launch)
        return
    space.count = worker.launch.waves
    space.machine.wave_count = space.count
    memset(space.machine.lds, 0xcd, space.machine.lds_bytes)
    memset(space.machine.named, 0, named_bytes)
    memset(space.scratch, 0xcd, space.count * scratch_of_wave(&space.machine, space.machine.wave_size))
    for i in range(space.count):
        wave = &space.waves[i]
        registers = wave.vgpr
        scratch = wave.scratch
        memcpy(wave, &worker.first[i], wave_bytes)
        wave.vgpr = registers
        wave.scratch = scratch
        _put_ids(worker, wave.sgpr)
        _fill_rows(worker, wave, worker.first[i].vgpr)


cdef uint32_t _idle_sixteens(const Core *core, const Wave *wave) noexcept nogil:
    """A bit for each sixteen lanes of which some are idle."""
    cdef uint64_t idle = ~wave_exec(wave)
    cdef uint32_t sixteens = 0
    cdef uint32_t number
    for number in range(2 * core.halves):
        sixteens |= <uint32_t>((idle >> (16 * number)) & 0xffff != 0) << number
    return sixteens


cdef void _fill_rows(Worker *worker, const Wave *wave, const uint32_t *first) noexcept nogil:
    """The VGPRs of a wave, which begins with those in `first`; of those that it writes before it reads them, the sixteens that have idle lanes."""
    cdef Block *block = _block_of(worker, wave)
    cdef uint32_t all_sixteens = (<uint32_t>1 << (2 * worker.core.halves)) - 1
    cdef uint32_t idle = _idle_sixteens(worker.core, wave)
    cdef uint32_t value = worker.launch.fill
    cdef uint32_t row = 0
    cdef uint32_t touched = worker.space.machine.touched_vgprs
    cdef uint32_t count
    cdef uint64_t left
    if block != NULL and not block.searched:
        find_first_writes(&worker.blocks, block)
    while row < start_rows:
        if block != NULL and block.written_first[0] >> row & 1:
            fill_sixteens(wave.vgpr + row * max_lanes, 1, max_lanes, idle, value)
        else:
            memcpy(wave.vgpr + row * max_lanes, first + row * max_lanes, 4 * row_lanes * worker.core.halves)
        row += 1
    while row < touched:
        count = min(64 - (row & 63), touched - row)                 # those of a word
        left = ~(block.written_first[row >> 6] >> (row & 63)) if block != NULL and row < 64 * <uint32_t>first_write_words else ~(<uint64_t>0)
        if not left & 1:
            count = min(count, trailing_zeros64(left)) if left else count
            fill_sixteens(wave.vgpr + row * max_lanes, count, max_lanes, idle, value)
        else:
            count = min(count, trailing_zeros64(~left)) if ~left else count
            fill_sixteens(wave.vgpr + row * max_lanes, count, max_lanes, all_sixteens, value)
        row += count


cdef int _run_waves(Worker *worker) noexcept nogil:
    """All waves in turn until they have ended, as `_run_workgroup` does."""
    cdef Workspace *space = worker.space
    cdef Wave *waves = space.waves
    cdef uint32_t i
    cdef int stop, reason
    while True:
        for i in range(space.count):
            if waves[i].stop == stop_running:
                if is_out_of_time(&space.machine):
                    waves[i].stop = stop_before(&space.code, &space.machine, &waves[i], stop_time)
                else:
                    waves[i].stop = _run_turn(worker, &waves[i])
            if waves[i].stop != stop_running and waves[i].stop != stop_end and not waits(&waves[i]):
                space.faulty = i
                return waves[i].stop
        stop = end_round(space)
        if stop != stop_running:
            return stop
        if makes_room(space):
            return stop_sync
        reason = _reason_to_leave(worker)
        if reason != stop_end:
            return reason


cdef int _reason_to_leave(Worker *worker) noexcept nogil:
    """stop_end, or why this workgroup is abandoned."""
    cdef int found = 0
    if worker.order != NULL and worker.order.first_failed() < worker.workgroup:
        return abandoned
    if worker.team == NULL or worker.core.machine.executed - worker.last_signal_check <= signal_interval:
        return stop_end
    worker.last_signal_check = worker.core.machine.executed
    with gil:
        found = check_signals()
    return interrupted if found else stop_end


cdef int _run_group(Worker *worker, uint64_t number, bint begins) noexcept nogil:
    cdef int stop
    worker.workgroup = number
    worker.core.group = number
    worker.core.first_executed = worker.core.machine.executed
    if begins:
        _start_waves(worker)
    set_host_control(worker.core.control)
    stop = _run_waves(worker)
    set_host_control(control_default)
    if worker.blocks.joined.count > 1:
        _end_joined(worker, stop, worker.core.machine.executed - worker.core.first_executed)
    return stop


cdef uint64_t _groups_of(const Launch *launch) noexcept nogil:
    return <uint64_t>launch.groups[0] * launch.groups[1] * launch.groups[2]


cdef int _run_alone(Worker *worker) noexcept nogil:
    """Workgroups one after the other, to the end, or to the end of the one in which other threads were started."""
    cdef Workspace *space = worker.space
    cdef const Launch *launch = worker.launch
    cdef int stop, following
    while True:
        following = next_workgroup(space, launch)
        if following == next_none:
            return stop_end
        if following == next_deadlock:
            return deadlock(space)
        stop = _run_group(worker, space.number, following == next_starts)
        if worker.order != NULL:
            return stop
        if stop == stop_sync:
            stop = suspend_workgroup(space, launch)
            if stop != stop_running:
                return stop
        elif stop != stop_end:
            return stop
        stop = _reason_to_leave(worker)
        if stop != stop_end:
            return stop


cdef void _run_claimed(Worker *worker, uint32_t thread) noexcept nogil:
    """Claim and run workgroups until there is none left or one fails."""
    cdef Machine *machine = &worker.space.machine
    cdef uint64_t number
    while worker.stop == stop_end and worker.order.claim(thread, &number, machine.executed - worker.core.first_executed):
        machine.clock_due -= min(machine.clock_due, machine.executed)
        machine.executed = 0
        worker.last_signal_check = 0
        group_of(worker.launch, number, worker.space.group)
        worker.stop = _run_group(worker, number, True)
    if worker.stop != stop_end:
        worker.order.fail(0 if worker.stop == interrupted else worker.workgroup)


cdef void _thread_main(void *data, unsigned int thread) noexcept nogil:
    """The body of a thread."""
    cdef Worker *worker = &(<Worker *>data)[thread]
    if not open_workspace(worker.space, worker.launch) or not _open_worker(worker):
        worker.stop = no_memory
        worker.workgroup = 0
        worker.order.fail(0)
        return
    worker.core.order = worker.order
    _run_claimed(worker, thread)


# ---------------------------------------------------------------------------------------------------------- other threads
cdef bint _open_worker(Worker *worker) noexcept nogil:
    """Prepare a thread whose workspace is open for a dispatch, with the memory it has from the last one. False: out of memory."""
    cdef Workspace *space = worker.space
    cdef const Launch *launch = worker.launch
    cdef uint32_t i
    if worker.core == NULL:
        worker.core = <Core *>aligned_bytes(sizeof(Core))
    if worker.first_capacity < launch.waves:
        free(worker.first)
        free(worker.first_rows)
        worker.first = <Wave *>calloc(launch.waves, sizeof(Wave))
        worker.first_rows = <uint32_t *>aligned_bytes(<uint64_t>launch.waves * start_rows * row_bytes)
        worker.first_capacity = launch.waves if worker.first != NULL and worker.first_rows != NULL else 0
    if worker.core == NULL or worker.first_capacity < launch.waves or worker.blocks.pool == NULL:
        return False
    worker.memory = space.machine.memory[0]
    space.machine.memory = &worker.memory
    memset(worker.core, 0, sizeof(Core))
    worker.core.machine = &space.machine
    worker.core.halves = launch.wave_size // row_lanes
    worker.core.base[base_pool] = worker.blocks.pool
    worker.core.base[base_active] = <uint8_t *>worker.core.lane_mask
    worker.core.control = control_default
    worker.core.mode = 0xffffffffU                          # none: it is looked at before the first block
    worker.core.control_zeros = worker.blocks.kernels.control_zeros
    worker.core.set_active = worker.blocks.kernels.rows.set_active
    worker.core.enter = worker.blocks.kernels.rows.enter
    worker.core.images = &worker.images
    open_images(&worker.images)
    worker.first_slot = space.machine.scratch_slot
    for i in range(launch.waves):
        worker.first[i].vgpr = worker.first_rows + <uint64_t>i * start_rows * max_lanes
        start_wave(&space.machine, launch, &worker.first[i], i, launch.size, launch.start)
        if worker.blocks.joined.count > 1:
            _join_lanes(&worker.blocks.joined, &worker.first[i])
    return True


cdef bint _renew_blocks(Worker *worker, const Team *team, const Code *code) noexcept nogil:
    """Keep the worker's blocks if they are of the engine's current code, else start with none. False: out of memory."""
    if worker.blocks.pool != NULL and worker.code_generation == code.generation:
        return True
    close_blocks(&worker.blocks)
    if worker.space == &worker.own:
        forget_code(worker.space)
        if not copy_code(&worker.own.code, code):
            return False
    worker.code_generation = code.generation
    if open_blocks(&worker.blocks, team.kernels, &worker.space.code, &worker.space.machine):
        worker.blocks.joined = team.joined
        return True
    close_blocks(&worker.blocks)
    return False


cdef void _close_worker(Worker *worker) noexcept nogil:
    close_blocks(&worker.blocks)
    close_images(&worker.images)
    free(worker.core)
    free(worker.first)
    free(worker.first_rows)
    worker.core = NULL
    worker.first = NULL
    worker.first_rows = NULL
    worker.first_capacity = 0
    close_workspace(&worker.own)
    free(worker.own.machine.opcode_counter)
    worker.own.machine.opcode_counter = NULL


cdef bint _prepare_worker(Worker *worker, const Worker *first, const Team *team, uint32_t slot) noexcept nogil:
    """Set up a thread beside the first: the same machine with counters, registers and LDS of its own."""
    cdef Machine *machine = &worker.own.machine
    cdef Machine own = machine[0]
    worker.space = &worker.own
    worker.launch = first.launch
    worker.next_thread_check = never
    worker.stop = stop_end
    if own.opcode_counter == NULL:
        own.opcode_counter = <uint64_t *>calloc(<int>op_count, sizeof(uint64_t))
    machine[0] = first.space.machine
    machine.scratch_slot = slot
    machine.memory = team.memory
    machine.sync = NULL
    machine.lds = own.lds
    machine.executed = 0
    machine.clock_due = 0
    machine.touched_vgprs = own.touched_vgprs
    machine.opcode_counter = own.opcode_counter
    machine.lds_out_of_bounds = 0
    memset(machine.counter, 0, sizeof(machine.counter))
    memset(machine.lane_counter, 0, sizeof(machine.lane_counter))
    if machine.opcode_counter == NULL:
        return False
    memset(machine.opcode_counter, 0, <int>op_count * sizeof(uint64_t))
    return _renew_blocks(worker, team, &first.space.code)


cdef bint _is_enough_for_threads(uint64_t executed, uint64_t workgroups) noexcept nogil:
    """Whether so many workgroups, of so many instructions each, are worth more than one thread."""
    return <double>executed * workgroups >= min_work_per_thread


cdef void _consider_threads(Worker *worker) noexcept nogil:
    """Start other threads if much is left to do, assuming that the remaining workgroups are like those that have started."""
    cdef Workspace *space = worker.space
    cdef uint64_t executed = space.machine.executed
    cdef uint64_t left = _groups_of(worker.launch) - space.started
    worker.next_thread_check = never
    if left == 0 or space.cooperating or meets_other_workgroups(&space.code, space.machine.gfx_level):
        return
    if executed < first_thread_check and not is_all_known(&space.code):
        worker.next_thread_check = first_thread_check
        return
    if not _is_enough_for_threads(max(executed // space.started, worker.team.workgroup_instructions), left):
        worker.next_thread_check = max(<uint64_t>first_thread_check, 2 * executed)
        return
    _start_threads(worker, <uint32_t>min(<uint64_t>worker.team.max_threads, left + 1))


cdef void _start_threads(Worker *worker, uint32_t threads) noexcept nogil:
    """Run the workgroups that have not started on as many threads as there is memory for."""
    cdef Team *team = worker.team
    cdef Order *order
    cdef uint32_t count = 1
    cdef uint32_t i
    while count < threads and _prepare_worker(&team.workers[count], worker, team, count):
        count += 1
    if count == 1:
        return
    order = Order.open(worker.workgroup, _groups_of(worker.launch), count, worker.core.first_executed, worker.space.machine.budget)
    if order == NULL:
        return
    worker.space.machine.sync = NULL
    worker.core.order = order
    for i in range(count):
        team.workers[i].order = order
    team.running_threads = count
    order.start(_thread_main, team.workers)


cdef int _run_dispatch(Team *team, Workspace *space, const Launch *launch) noexcept nogil:
    """Run every workgroup; returns stop_end, or why the dispatch stopped: `space` says where."""
    cdef Worker *first = team.workers
    cdef Order *order
    cdef uint32_t i
    first.space = space
    first.launch = launch
    first.team = team
    first.order = NULL
    first.last_signal_check = 0
    first.next_thread_check = first_thread_check
    if space.machine.budget >= min_work_per_thread and _is_enough_for_threads(team.workgroup_instructions, _groups_of(launch)):
        first.next_thread_check = 0
    if team.max_threads == 1:
        first.next_thread_check = never
    team.running_threads = 1
    if not _renew_blocks(first, team, &space.code) or not _open_worker(first):
        return no_memory
    first.stop = _run_alone(first)
    order = first.order
    if order != NULL:
        _run_claimed(first, 0)
        order.join()
        del order
    for i in range(team.running_threads):
        if team.workers[i].stop == no_memory:
            return no_memory
    for i in range(team.running_threads):
        count_blocks(&team.workers[i].blocks)
        if i:
            _add_counters(&space.machine, &team.workers[i].own.machine)
    if team.running_threads > 1:
        space.machine.executed = _executed_by_units(&space.machine)
        first.stop = _first_failure(team, space)
    team.workgroup_instructions = space.machine.executed // max(_groups_of(launch), <uint64_t>1)
    return first.stop


cdef void _add_counters(Machine *total, const Machine *part) noexcept nogil:
    cdef uint32_t i
    for i in range(<uint32_t>unit_count):
        total.counter[i] += part.counter[i]
        total.lane_counter[i] += part.lane_counter[i]
    for i in range(<uint32_t>op_count):
        total.opcode_counter[i] += part.opcode_counter[i]
    if part.lds_out_of_bounds:
        if total.lds_out_of_bounds == 0 or part.lds_out_of_bounds_pc < total.lds_out_of_bounds_pc:
            total.lds_out_of_bounds_pc = part.lds_out_of_bounds_pc
        total.lds_out_of_bounds += part.lds_out_of_bounds


cdef uint64_t _executed_by_units(const Machine *machine) noexcept nogil:
    """Executed instructions, by the counters of the units."""
    cdef uint64_t count = 0
    cdef uint32_t i
    for i in range(<uint32_t>unit_count):
        count += machine.counter[i]
    return count


cdef void _copy_fault(Workspace *total, const Workspace *part) noexcept nogil:
    cdef uint32_t i
    if total == part:
        return
    total.faulty = part.faulty
    for i in range(3):
        total.group[i] = part.group[i]
    total.machine.fault_lane = part.machine.fault_lane
    total.machine.fault_bytes = part.machine.fault_bytes
    total.machine.fault_address = part.machine.fault_address
    total.machine.fault_pc = part.machine.fault_pc
    total.machine.fault_store = part.machine.fault_store
    total.machine.fault_opcode = part.machine.fault_opcode


cdef int _first_failure(const Team *team, Workspace *space) noexcept nogil:
    """Why the first workgroup that failed stopped, and where, in `space`."""
    cdef const Worker *lowest = NULL
    cdef const Worker *worker
    cdef uint32_t i
    for i in range(team.running_threads):
        worker = &team.workers[i]
        if worker.stop == interrupted:
            return interrupted
        if worker.stop != stop_end and worker.stop != abandoned and (lowest == NULL or worker.workgroup < lowest.workgroup):
            lowest = worker
    if lowest != NULL:
        _copy_fault(space, lowest.space)
        return lowest.stop
    return stop_budget if space.machine.executed > space.machine.budget else stop_end


cdef Joined _joinable(const Launch *launch, const Workspace *space) noexcept nogil:
    """The workgroups of a launch that may be joined, if their code allows it: as many as fill a wave, in whole quads."""
    cdef Joined joined
    cdef uint32_t lanes = launch.size[0] * launch.size[1] * launch.size[2]
    cdef uint32_t i
    cdef bint whole = lanes < <uint32_t>max_lanes and launch.waves == 1
    memset(&joined, 0, sizeof(Joined))
    joined.count, joined.lanes, joined.entry = 1, lanes, launch.entry
    joined.sgpr = <uint32_t>register_none
    for i in range(3):
        whole = whole and launch.last[i] == launch.size[i] and launch.cluster[i] == 1
    if (not whole or lanes not in (4, 8, 16, 32) or space.machine.scratch_bytes or space.machine.shared_vgpr
            or space.cooperating or space.machine.log != NULL or space.machine.budget < <uint64_t>joined_budget):
        return joined
    joined.count = <uint32_t>max_lanes // lanes
    while launch.groups[0] % joined.count:
        joined.count //= 2
    joined.wave_size = max(launch.wave_size, <uint32_t>max_lanes if joined.count * lanes > <uint32_t>row_lanes else <uint32_t>row_lanes)
    if launch.ids_in_ttmp:
        joined.sgpr = sgpr_ttmp0 + 9
    elif launch.id_mask & 1:
        joined.sgpr = launch.user_count
    return joined


cdef class FastEngine(Engine):
    """Runs dispatches of one device on host vectors and several threads.

    Parameters
    ----------
    space, gfx_level
        As ``Engine`` takes them.
    threads : int
        How many threads run workgroups.
    bits : int, optional
        Bits of the vectors: 512, 256 or 128; by default the most that the host has.

    Raises
    ------
    ValueError
        No threads, or vectors that the host does not have.
    """
    cdef Team team
    cdef uint64_t kept_entry          # of the code that is kept
    cdef uint32_t kept_wave_size
    cdef uint32_t kept_shared_vgpr
    cdef Joined kept_joined           # those that might be, if their code allows it

    def __dealloc__(self):
        if self.team.workers != NULL:                       # else the constructor has failed, maybe before there were methods
            self.drop()
            free(self.team.workers)

    def __init__(self, AddressSpace space not None, uint32_t gfx_level, uint32_t threads=1, bits=None):
        if threads == 0:
            raise ValueError("an engine of no threads")
        if bits is None:
            bits = host_vector_bits()
        if bits not in (128, 256, 512) or bits > host_vector_bits():
            raise ValueError(f"vectors of {bits} bits on a host that has {host_vector_bits()}")
        self.team.workers = <Worker *>calloc(threads, sizeof(Worker))
        if self.team.workers == NULL:
            raise MemoryError(f"{threads} threads")
        self.team.max_threads = threads
        self.team.memory = &self.space.memory
        # loaded by name: a host without such vectors must not even initialise the module
        vector, memory, rows, matrix = importlib.import_module(f"pyaco._core.emu_fast.lanes{bits}").tables()
        self.team.kernels.vector = <const StepFunction *><uintptr_t>vector
        self.team.kernels.memory = <const MemorySteps *><uintptr_t>memory
        self.team.kernels.rows = <const RowSteps *><uintptr_t>rows
        self.team.kernels.matrix = <StepFunction><uintptr_t>matrix
        if bits > 128:
            image = importlib.import_module(f"pyaco._core.emu_fast.images{bits}").table()
            self.team.kernels.image = <const ImageSteps *><uintptr_t>image
            self.team.kernels.control_zeros = mxcsr_zeros
            chains = importlib.import_module(f"pyaco._core.emu_fast.chains{bits}").table()
            self.team.kernels.chains = <const StepFunction *><uintptr_t>chains

    @property
    def joined(self) -> int:
        """How many workgroups each wave of the last dispatch held."""
        return max(self.team.joined.count, <uint32_t>1)

    def own_steps(self, uint64_t entry, uint64_t end, uint32_t wave_size):
        """Which instructions of machine code run without the reference engine.

        Parameters
        ----------
        entry, end : int
            Device addresses.
        wave_size : int
            Lanes of a wave.

        Returns
        -------
        list of (int, bool)
            Byte offset of each instruction from `entry`, and whether it has steps of its own; words that are not instructions are left out.
        """
        cdef Blocks blocks
        cdef Block *block
        cdef Code code
        cdef uint32_t index
        cdef uint64_t pc = entry
        found = []
        memset(&blocks, 0, sizeof(Blocks))
        memset(&code, 0, sizeof(Code))
        self.space.enter()
        try:
            self._reset(wave_size, 0, 0, 1, 0)
            if not open_blocks(&blocks, self.team.kernels, &code, &self.work.machine):
                raise MemoryError("blocks")
            while pc < end:
                block = block_at(&blocks, pc, 0)
                if block == NULL or block.count == 0:
                    pc += 4
                    continue
                for index in range(block.count):
                    found.append((block.instructions[index].pc - entry, has_own_steps(block, block.instructions[index])))
                pc = block.end
            return found
        finally:
            close_blocks(&blocks)
            forget(&code)
            self.space.leave()

    def close(self):
        """End a dispatch. Memory, decoded code and blocks stay for the next one, unless they are large."""
        cdef uint32_t i
        empty_workspace(&self.work)
        if workspace_bytes(&self.work) > kept_bytes:
            self.drop()
        for i in range(1, self.team.running_threads):
            if workspace_bytes(&self.team.workers[i].own) > kept_bytes:
                _close_worker(&self.team.workers[i])

    cdef void drop(self) noexcept:
        """Free everything that is kept between dispatches."""
        cdef uint32_t i
        close_workspace(&self.work)
        for i in range(self.team.max_threads):
            _close_worker(&self.team.workers[i])

    cdef int prepare_code(self, const Launch *launch) except -1:
        cdef Joined joined = _joinable(launch, &self.work)
        cdef bint same = (launch.entry == self.kept_entry and launch.wave_size == self.kept_wave_size
                          and self.work.machine.shared_vgpr == self.kept_shared_vgpr
                          and joined.count == self.kept_joined.count and joined.lanes == self.kept_joined.lanes
                          and joined.sgpr == self.kept_joined.sgpr)
        if same and self.work.code.count and is_unchanged(&self.work.code, &self.space.memory, launch.entry, launch.entry_bytes):
            self._join()
            return 0
        forget_code(&self.work)
        self.team.workgroup_instructions = 0
        self.kept_entry = launch.entry
        self.kept_wave_size = launch.wave_size
        self.kept_shared_vgpr = self.work.machine.shared_vgpr
        self.kept_joined = joined
        Engine.prepare_code(self, launch)
        if joined.count > 1 and not can_join(&self.work.code, &self.work.machine, &self.team.kernels, &joined):
            joined.count = 1
        self.team.joined = joined
        self._join()
        return 0

    cdef void _join(self) noexcept:
        """Make the machine one of waves in which workgroups are joined, if they are."""
        if self.team.joined.count > 1:
            self.work.machine.wave_size = self.team.joined.wave_size
            self.work.machine.lane_number_mask = self.team.joined.lanes - 1

    cdef int execute(self, const Launch *launch) except -1:
        cdef WaveSync *sync = self.work.machine.sync
        cdef Launch joined = launch[0]
        cdef int stop
        if self.team.joined.count > 1:
            joined.groups[0] //= self.team.joined.count
            joined.wave_size = self.team.joined.wave_size
        with nogil:
            stop = _run_dispatch(&self.team, &self.work, &joined)
        self.work.machine.memory = self.team.memory
        self.work.machine.sync = sync
        if stop == no_memory:
            self.drop()
            raise MemoryError(f"a workgroup of {launch.waves} waves")
        return -1 if stop == interrupted else stop          # the signal's exception is set
