"""The reference engine: interprets machine code, wave after wave.

Workgroups run one after the other in ascending order, the waves of a workgroup in turn: each until it ends, reaches a
barrier, or has used its slice of instructions. So a dispatch gives the same result every time. A workgroup whose waves wait for
those of others (``wave_sync``) is suspended with its registers and LDS until one of its waves can run; of several such the lowest runs first.
The workgroups of a cooperative launch are all started and take turns, because they wait for each other by looking at memory.

Thread safety: an engine belongs to one device and runs one dispatch at a time; other threads wait for it (``AddressSpace.enter``). The
interpreter lock is released while a dispatch runs.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from features cimport has_large_gds, has_split_barriers, has_vgpr_index_mode
from isa_opcodes cimport op_count, op_invalid
from pyaco._core.emu.code cimport *
from pyaco._core.emu.control cimport execute_indexed
from pyaco._core.emu.memory cimport AddressSpace, canonical_address, memory_at
from pyaco._core.common.bits cimport popcount
from pyaco._core.emu.wave cimport *
from pyaco._core.emu.wave_sync cimport clear_waiting, close_sync, cluster_word, open_sync, sgpr_ttmp_cluster
from pyaco._core.common.machine cimport gfx10, register_none

from pyaco.errors import InputError

cdef extern from "<stdlib.h>" nogil:
    void *aligned_alloc(size_t alignment, size_t size)

cdef extern from *:
    """
    #include <chrono>
    static uint64_t steady_nanoseconds() {
        return (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    """
    uint64_t steady_nanoseconds() nogil

cdef enum:
    signal_interval = 1000000         # instructions between looks at the user's interrupts


cdef void forget_code(Workspace *space) noexcept nogil:
    cdef uint32_t i
    forget(&space.code)
    for i in range(space.wave_capacity):
        fill_words(space.registers + <uint64_t>i * rows_of(space.machine.gfx_level) * max_lanes, _rows_to_fill(&space.machine) * max_lanes,
                   space.fill)
    space.machine.touched_vgprs = 0


# ------------------------------------------------------------------------------------------------------------------ waves
cdef void share_halves(const Machine *machine, Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil:
    """Both halves of the wave see what was written to a shared VGPR; the high half executes last."""
    cdef uint32_t i, lane, number
    cdef uint32_t *values
    for i in range(instruction.decoded.destination_count):
        number = instruction.decoded.destination[i] >> 2
        if number < 256 + machine.shared_vgpr or instruction.decoded.destination[i] == register_none:
            continue
        values = wave_vgpr(wave, number - 256)
        for lane in range(32):
            if (active >> (lane + 32)) & 1:
                values[lane] = values[lane + 32]
            elif (active >> lane) & 1:
                values[lane + 32] = values[lane]


cdef int _run_in_mode(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """Until GFX9: an instruction while vector instructions are skipped or, from GFX8 on, have relative register numbers."""
    if wave.mode & mode_skip_vector and unit_valu <= instruction.unit <= unit_lds and instruction.unit != unit_smem:
        return stop_running
    if wave.mode & mode_index_registers and instruction.unit == unit_valu and has_vgpr_index_mode(machine.gfx_level):
        return execute_indexed(machine, wave, instruction)
    return instruction.handler(machine, wave, instruction)


cdef int run_wave(Code *code, Machine *machine, Wave *wave, uint32_t turns) noexcept nogil:
    """Run a wave until it stops or its turns are over; returns why (stop_running: the turns)."""
    cdef Instruction *instruction
    cdef uint64_t active
    cdef int stop
    for _ in range(turns):
        instruction = fetch(code, machine, wave.pc, wave_banks(machine, wave))
        machine.fault_pc = wave.pc
        if instruction == NULL:
            machine.fault_opcode = op_invalid
            return stop_fetch_fault
        machine.fault_opcode = instruction.decoded.opcode
        if instruction.decoded.opcode == <int>op_invalid:
            return stop_illegal
        if instruction.handler == NULL:
            return stop_unsupported
        if machine.executed >= machine.budget:
            return stop_budget
        machine.executed += 1
        machine.counter[instruction.unit] += 1
        machine.opcode_counter[instruction.decoded.opcode] += 1
        active = wave_exec(wave)
        machine.lane_counter[instruction.unit] += popcount(active)
        wave.pc += 4 * <uint64_t>instruction.decoded.dwords
        if wave.mode & (mode_index_registers | mode_skip_vector) and machine.gfx_level < gfx10:
            stop = _run_in_mode(machine, wave, instruction)
        else:
            stop = instruction.handler(machine, wave, instruction)
        if machine.shared_vgpr:
            share_halves(machine, wave, instruction, active)
        if stop != stop_running:
            return stop
    return stop_running


cdef bint is_out_of_time(Machine *machine) noexcept nogil:
    if machine.deadline == 0 or machine.executed < machine.clock_due:
        return False
    machine.clock_due = machine.executed + slice_instructions
    return steady_nanoseconds() >= machine.deadline


cdef int stop_before(Code *code, Machine *machine, const Wave *wave, int why) noexcept nogil:
    cdef const Instruction *instruction = fetch(code, machine, wave.pc, wave_banks(machine, wave))
    machine.fault_pc = wave.pc
    machine.fault_opcode = op_invalid if instruction == NULL else instruction.decoded.opcode
    return why


cdef inline uint32_t _members_of(const Launch *launch) noexcept nogil:
    """Workgroups of a cluster."""
    return launch.cluster[0] * launch.cluster[1] * launch.cluster[2]


cdef uint32_t put_workgroup_ids(const Launch *launch, uint32_t *sgpr, const uint32_t *group) noexcept nogil:
    cdef uint32_t i
    cdef uint32_t next_sgpr = launch.user_count
    cdef uint32_t id[3]                                     # of the cluster
    cdef uint32_t place[3]                                  # in it
    if launch.ids_in_ttmp and _members_of(launch) == 1:
        sgpr[sgpr_ttmp0 + 9] = group[0]
        sgpr[sgpr_ttmp0 + 7] = group[1] | (group[2] << 16)
        sgpr[sgpr_ttmp0 + sgpr_ttmp_cluster] = 0
        return next_sgpr
    if launch.ids_in_ttmp:
        for i in range(3):
            id[i] = group[i] // launch.cluster[i]
            place[i] = group[i] % launch.cluster[i]
        sgpr[sgpr_ttmp0 + 9] = id[0]
        sgpr[sgpr_ttmp0 + 7] = id[1] | (id[2] << 16)
        sgpr[sgpr_ttmp0 + sgpr_ttmp_cluster] = cluster_word(place, launch.cluster)
        return next_sgpr
    for i in range(3):
        if (launch.id_mask >> i) & 1:
            sgpr[next_sgpr] = group[i]
            next_sgpr += 1
    return next_sgpr


cdef void fill_words(uint32_t *words, uint64_t count, uint32_t value) noexcept nogil:
    """Copies what has been filled already, twice as much each time."""
    cdef uint64_t filled = min(count, <uint64_t>16)
    cdef uint64_t i, more
    for i in range(filled):
        words[i] = value
    while filled < count:
        more = min(filled, count - filled)
        memcpy(words + filled, words, more * sizeof(uint32_t))
        filled += more


cdef uint32_t _rows_to_fill(const Machine *machine) noexcept nogil:
    """How many rows the last workgroup may have written."""
    return max(machine.touched_vgprs, <uint32_t>start_rows)


cdef bint size_of(const Launch *launch, const uint32_t *group, uint32_t *size) noexcept nogil:
    cdef uint32_t i
    cdef bint whole = True
    for i in range(3):
        size[i] = launch.last[i] if group[i] - launch.start[i] == launch.groups[i] - 1 else launch.size[i]
        whole = whole and size[i] == launch.size[i]
    return whole


cdef uint32_t _waves_of(const uint32_t *size, uint32_t wave_size) noexcept nogil:
    return (size[0] * size[1] * size[2] + wave_size - 1) // wave_size


cdef void start_wave(const Machine *machine, const Launch *launch, Wave *wave, uint32_t index, const uint32_t *size,
                     const uint32_t *group) noexcept nogil:
    """Registers of a wave as the packet processor and the dispatcher set them.

    The invocations of a partial workgroup are numbered within its own size, and fill as few waves as they can: so do the work-item
    functions of OpenCL that AMD's device libraries make of the lane's number and the wave's.
    """
    cdef uint32_t i, lane, local, x, y, z, total, active
    cdef uint32_t *vgpr = wave.vgpr
    cdef uint32_t next_sgpr
    for i in range(<uint32_t>sgpr_words):
        wave.sgpr[i] = launch.fill
    fill_words(vgpr, start_rows * max_lanes, launch.fill)
    wave.sgpr[sgpr_null] = 0
    if 70 <= machine.gfx_level < 100:
        wave_put64(wave, sgpr_flat_scratch if machine.gfx_level >= 80 else sgpr_flat_scratch_gfx7, 0)
    for i in range(launch.user_count):
        wave.sgpr[i] = launch.user[i]
    next_sgpr = put_workgroup_ids(launch, wave.sgpr, group)
    if launch.ids_in_ttmp:
        wave.sgpr[sgpr_ttmp0 + 8] = index << 25
    if launch.workgroup_info:
        wave.sgpr[next_sgpr] = _waves_of(size, launch.wave_size) | (index << 6) | ((<uint32_t>1 << 31) if index == 0 else 0)
        # RDNA2 and later have the wave's number itself; before, the count of ordered appends serves as such
        if machine.gfx_level >= 103:
            wave.sgpr[next_sgpr] |= (index & 31) << 20
        next_sgpr += 1
    if launch.scratch_offset:
        wave.sgpr[next_sgpr] = (machine.scratch_slot * launch.waves + index) * launch.wave_size * machine.scratch_bytes
    total = size[0] * size[1] * size[2]
    wave.lanes = launch.wave_size
    wave.first_lane = index * launch.wave_size
    active = min(total - wave.first_lane, launch.wave_size)
    wave_put64(wave, sgpr_exec, ~(<uint64_t>0) if active == 64 else (<uint64_t>1 << active) - 1)
    for lane in range(launch.wave_size):
        local = wave.first_lane + lane
        if local >= total:
            break
        x = local % size[0]
        y = local // size[0] % size[1]
        z = local // (size[0] * size[1])
        if launch.packed_ids:
            vgpr[lane] = x | (y << 10) | (z << 20)
        else:
            vgpr[lane] = x
            if launch.local_components > 1:
                vgpr[max_lanes + lane] = y
            if launch.local_components > 2:
                vgpr[2 * max_lanes + lane] = z
    wave.scc = 0
    wave.mode = mode_of(machine.gfx_level, launch.mode)
    wave.pc = launch.entry
    wave.flat_scratch = 0
    wave.index = index
    wave.stop = stop_running
    wave.barrier_signalled = 0
    wave.barrier_complete = 0
    wave.joined = 0
    wave.named_complete = 0
    wave.waits_named = 0


cdef int _run_workgroup(Workspace *space, uint64_t *checked) except -1 nogil:
    """All waves in turn until they have ended; returns a reason other than stop_end when one went wrong.

    It is stop_sync where no wave can run before other workgroups do, or others have their turn.
    """
    cdef uint32_t i
    cdef int stop
    cdef Wave *waves = space.waves
    while True:
        for i in range(space.count):
            if waves[i].stop == stop_running:
                if is_out_of_time(&space.machine):
                    waves[i].stop = stop_before(&space.code, &space.machine, &waves[i], stop_time)
                else:
                    waves[i].stop = run_wave(&space.code, &space.machine, &waves[i], turn_of(space))
            if waves[i].stop != stop_running and waves[i].stop != stop_end and not waits(&waves[i]):
                space.faulty = i
                return waves[i].stop
        stop = end_round(space)
        if stop != stop_running:
            return stop
        if makes_room(space):
            return stop_sync
        if space.machine.executed - checked[0] > signal_interval:
            checked[0] = space.machine.executed
            with gil:
                PyErr_CheckSignals()


cdef int end_round(Workspace *space) noexcept nogil:
    cdef uint32_t ended = 0
    cdef uint32_t waiting = 0
    cdef uint32_t i
    for i in range(space.count):                            # after all turns: a later wave may have woken an earlier one
        if space.waves[i].stop == stop_running:
            return stop_running
        ended += space.waves[i].stop == stop_end
        waiting += space.waves[i].stop == stop_barrier
    if ended == space.count:
        return stop_end
    if ended + waiting < space.count:                       # waves that have ended do not hold a barrier, those that wait elsewhere do
        return stop_sync
    return _release_barrier(space)


cdef int _release_barrier(Workspace *space) noexcept nogil:
    """Wakes the waves that wait at a barrier; from GFX12 on a wave that still waits has not signalled, and never will."""
    cdef uint32_t i
    for i in range(space.count):
        if space.waves[i].stop == stop_barrier:
            if has_split_barriers(space.machine.gfx_level):
                return _report_deadlock(space, i)
            space.waves[i].stop = stop_running
    return stop_running


cdef int _report_deadlock(Workspace *space, uint32_t wave) noexcept nogil:
    """Records a wave that waits for ever; returns stop_deadlock."""
    cdef const Instruction *instruction = fetch(&space.code, &space.machine, space.waves[wave].waits_at,
                                                wave_banks(&space.machine, &space.waves[wave]))
    space.faulty = wave
    space.machine.fault_pc = space.waves[wave].waits_at
    space.machine.fault_opcode = op_invalid if instruction == NULL else instruction.decoded.opcode
    return stop_deadlock


# ------------------------------------------------------------------------------------- workgroups that wait for others
cdef bint _runnable(const Resident *resident) noexcept nogil:
    cdef uint32_t i
    for i in range(resident.count):
        if resident.waves[i].stop == stop_running:
            return True
    return False


cdef void _resume_resident(Workspace *space, Resident **link) noexcept nogil:
    """Makes a suspended workgroup the one that runs."""
    cdef Resident *resident = link[0]
    cdef uint32_t i
    link[0] = resident.next
    space.resident_waves -= resident.count
    _close_waves(space)
    space.number = resident.number
    space.count = resident.count
    for i in range(3):
        space.group[i] = resident.group[i]
    memcpy(space.machine.named, resident.named, sizeof(resident.named))
    space.waves = resident.waves
    space.registers = resident.registers
    space.scratch = resident.scratch
    space.machine.lds = resident.lds
    space.machine.waves = resident.waves
    space.machine.wave_count = resident.count
    space.machine.scratch_slot = resident.scratch_slot
    free(resident)


cdef int deadlock(Workspace *space) noexcept nogil:
    """Every workgroup waits: reports the first waiting wave of the first of them."""
    cdef uint32_t i = 0
    _resume_resident(space, &space.residents)
    while not waits(&space.waves[i]):
        i += 1
    return _report_deadlock(space, i)


cdef Resident **_next_resident(Workspace *space) noexcept nogil:
    """The link to the lowest workgroup that can run; where workgroups take turns, to the one that follows the last, once all have started."""
    cdef Resident **link = &space.residents
    cdef Resident **lowest = NULL
    if space.started < space.cooperating:
        return NULL
    while link[0] != NULL:
        if _runnable(link[0]):
            if space.cooperating == 0 or link[0].number > space.number:
                return link
            if lowest == NULL:
                lowest = link
        link = &link[0].next
    return lowest


cdef int next_workgroup(Workspace *space, const Launch *launch) noexcept nogil:
    cdef Resident **link = _next_resident(space)
    if link != NULL:
        _resume_resident(space, link)
        return next_resumes
    if space.started < <uint64_t>launch.groups[0] * launch.groups[1] * launch.groups[2]:
        space.number = space.started
        space.started += 1
        group_of(launch, space.number, space.group)
        return next_starts
    return next_none if space.residents == NULL else next_deadlock


cdef void _insert_resident(Workspace *space, Resident *resident) noexcept nogil:
    cdef Resident **link = &space.residents
    while link[0] != NULL and link[0].number < resident.number:
        link = &link[0].next
    resident.next = link[0]
    link[0] = resident
    space.resident_waves += resident.count


cdef uint32_t _free_slot(const Workspace *space) noexcept nogil:
    """The lowest part of scratch that no workgroup uses."""
    cdef uint8_t taken[resident_wave_limit + 1]
    cdef uint32_t slot = 0
    cdef const Resident *resident = space.residents
    memset(taken, 0, sizeof(taken))
    while resident != NULL:
        taken[resident.scratch_slot] = 1
        resident = resident.next
    while taken[slot]:
        slot += 1
    return slot


cdef int suspend_workgroup(Workspace *space, const Launch *launch) noexcept nogil:
    cdef Resident *resident
    cdef uint32_t i
    cdef bint more = space.started < <uint64_t>launch.groups[0] * launch.groups[1] * launch.groups[2]
    if more and space.resident_waves + space.count + launch.waves > resident_wave_limit:
        return stop_residents
    resident = <Resident *>calloc(1, sizeof(Resident))
    if resident == NULL:
        return stop_residents
    resident.number = space.number
    resident.count = space.count
    resident.scratch_slot = space.machine.scratch_slot
    for i in range(3):
        resident.group[i] = space.group[i]
    memcpy(resident.named, space.machine.named, sizeof(resident.named))
    resident.waves = space.waves
    resident.registers = space.registers
    resident.scratch = space.scratch
    resident.lds = space.machine.lds
    _insert_resident(space, resident)
    _detach_waves(space)
    space.machine.scratch_slot = _free_slot(space)
    if more and ((launch.scratch_offset and space.machine.scratch_slot >= launch.scratch_slots) or not open_workspace(space, launch)):
        return stop_residents
    return stop_running


cdef void start_workgroup(Workspace *space, const Launch *launch) noexcept nogil:
    """LDS, scratch and registers as a workgroup finds them: a pattern where the hardware defines nothing."""
    cdef uint32_t size[3]
    cdef uint32_t i
    size_of(launch, space.group, size)
    space.count = _waves_of(size, launch.wave_size)
    space.machine.wave_count = space.count
    memset(space.machine.lds, 0xcd, space.machine.lds_bytes)
    memset(space.machine.named, 0, sizeof(space.machine.named))
    memset(space.scratch, 0xcd, space.count * scratch_of_wave(&space.machine, space.machine.wave_size))
    for i in range(space.count):
        fill_words(space.waves[i].vgpr, _rows_to_fill(&space.machine) * max_lanes, launch.fill)
        start_wave(&space.machine, launch, &space.waves[i], i, size, space.group)


# ------------------------------------------------------------------------------------------------------------- workspace
cdef void *aligned_bytes(uint64_t bytes) noexcept nogil:
    return aligned_alloc(line_pair, (bytes + line_pair) & ~<uint64_t>(line_pair - 1))  # C11 wants a multiple of the alignment


cdef void *aligned_zeros(uint64_t bytes) noexcept nogil:
    cdef void *memory = aligned_bytes(bytes)
    if memory != NULL:
        memset(memory, 0, bytes)
    return memory


cdef bint open_workspace(Workspace *space, const Launch *launch) noexcept nogil:
    cdef uint32_t i
    cdef uint64_t scratch = scratch_of_wave(&space.machine, launch.wave_size)
    if (launch.waves > space.wave_capacity or launch.waves * scratch > space.scratch_capacity
            or space.machine.lds_bytes > space.lds_capacity or launch.fill != space.fill):
        _close_waves(space)
        if not _allocate_waves(space, launch, launch.waves * scratch):
            return False
    space.count = launch.waves
    for i in range(launch.waves):
        space.waves[i].vgpr = space.registers + <uint64_t>i * rows_of(space.machine.gfx_level) * max_lanes
        space.waves[i].scratch = space.scratch + i * scratch
    space.machine.waves = space.waves
    return True


cdef bint _allocate_waves(Workspace *space, const Launch *launch, uint64_t scratch) noexcept nogil:
    cdef uint64_t registers = <uint64_t>launch.waves * rows_of(space.machine.gfx_level) * max_lanes
    space.waves = <Wave *>aligned_zeros(launch.waves * sizeof(Wave))
    space.registers = <uint32_t *>aligned_bytes(registers * 4)
    space.scratch = <uint8_t *>malloc(scratch + 1)
    space.machine.lds = <uint8_t *>aligned_bytes(space.machine.lds_bytes)
    if space.waves == NULL or space.registers == NULL or space.scratch == NULL or space.machine.lds == NULL:
        return False
    fill_words(space.registers, registers, launch.fill)
    space.fill = launch.fill
    space.wave_capacity = launch.waves
    space.scratch_capacity = scratch
    space.lds_capacity = space.machine.lds_bytes
    return True


cdef uint64_t workspace_bytes(const Workspace *space) noexcept nogil:
    cdef uint64_t registers = <uint64_t>space.wave_capacity * rows_of(space.machine.gfx_level) * max_lanes * 4
    cdef uint64_t bytes = registers + space.scratch_capacity + space.lds_capacity
    cdef uint32_t i
    for i in range(space.code.count):
        bytes += space.code.regions[i].bytes // 4 * sizeof(Instruction)
    return bytes


cdef void empty_workspace(Workspace *space) noexcept nogil:
    while space.residents != NULL:
        _resume_resident(space, &space.residents)
    space.started = 0


cdef void close_workspace(Workspace *space) noexcept nogil:
    empty_workspace(space)
    _close_waves(space)
    forget_code(space)


cdef void _close_waves(Workspace *space) noexcept nogil:
    free(space.waves)
    free(space.registers)
    free(space.scratch)
    free(space.machine.lds)
    _detach_waves(space)


cdef void _detach_waves(Workspace *space) noexcept nogil:
    space.waves = NULL
    space.registers = NULL
    space.scratch = NULL
    space.machine.lds = NULL
    space.wave_capacity = 0
    space.scratch_capacity = 0
    space.lds_capacity = 0


STOP_NAMES = {
    stop_memory_fault: "memory fault", stop_unsupported: "unsupported", stop_illegal: "illegal instruction",
    stop_fetch_fault: "fetch fault", stop_budget: "budget", stop_trap: "trap", stop_deadlock: "deadlock",
    stop_time: "time", stop_residents: "residents", stop_host: "host", stop_descriptor: "descriptor",
}


cdef bint _ask_host(void *host, const Wave *wave) noexcept with gil:
    return (<object>host)(wave.index, wave.first_lane)


cdef class Engine:
    """Runs dispatches of one device.

    Parameters
    ----------
    space : AddressSpace
        The device's memory.
    gfx_level : int
        Hardware level times ten, such as 110.

    Attributes
    ----------
    interrupt : callable, optional
        Called with the number of a wave in its workgroup and of its first lane where the wave interrupts the host, on the thread that runs
        the wave; returns whether the dispatch goes on, and does not raise.
    """

    def __cinit__(self, AddressSpace space not None, uint32_t gfx_level, *arguments, **keywords):
        memset(&self.work, 0, sizeof(Workspace))
        self.space = space
        self.work.machine.memory = &space.memory
        self.descriptors = Descriptors()
        self.work.machine.descriptors = &self.descriptors.table
        self.work.machine.gfx_level = gfx_level
        self.work.machine.opcode_counter = <uint64_t *>calloc(<int>op_count, sizeof(uint64_t))
        self.work.machine.gds_bytes = 65536 if has_large_gds(gfx_level) else 4096
        self.work.machine.gds = <uint8_t *>calloc(self.work.machine.gds_bytes, 1)
        self.work.machine.sync = open_sync()
        if self.work.machine.opcode_counter == NULL or self.work.machine.gds == NULL or self.work.machine.sync == NULL:
            raise MemoryError("counters")

    def __dealloc__(self):
        close_workspace(&self.work)
        close_sync(self.work.machine.sync)
        free(self.work.machine.opcode_counter)
        free(self.work.machine.gds)

    def run(self, entry, groups, size, **launch):
        """Run every workgroup of a dispatch; see `open` for the arguments.

        Returns
        -------
        dict
            ``stop`` (None when all waves ended, else the name of what went wrong), the wave and instruction that it happened in, and the counters.
        """
        self.space.enter()
        try:
            self.open(entry, groups, size, **launch)
            try:
                return self.outcome(self.execute(&self.launch))
            finally:
                self.close()
        finally:
            self.space.leave()

    def open(self, uint64_t entry, groups, size, *, uint32_t wave_size, user_sgprs, uint32_t workgroup_id_mask=0,
             bint ids_in_ttmp=False, bint packed_ids=False, uint32_t local_id_components=1, bint workgroup_info=False,
             bint scratch_offset=False, uint32_t mode=0x1c0, uint32_t lds_bytes=0, uint32_t scratch_bytes=0,
             uint64_t budget=1ULL << 36, uint32_t fill=0xdeadbeefU, uint64_t code_bytes=0,
             uint32_t shared_vgpr=0, last_size=None, first_group=(0, 0, 0), double time_budget=0, uint32_t scratch_slots=0xffffffffU,
             bint cooperative=False, cluster=(1, 1, 1)):
        """Prepare a dispatch: its launch, and memory for the waves of one workgroup, which `close` frees.

        `groups` workgroups from `first_group` on, of `size`, the last of each dimension of `last_size`; `time_budget` in seconds;
        scratch in memory has room for `scratch_slots` workgroups at once. Workgroups of a `cooperative` launch take turns; `cluster`: workgroups
        of a cluster in each dimension.
        """
        cdef Launch launch
        cdef uint32_t i
        memset(&launch, 0, sizeof(Launch))
        launch.entry = entry
        for i in range(3):
            launch.groups[i] = groups[i]
            launch.start[i] = first_group[i]
            launch.size[i] = size[i]
            launch.last[i] = (last_size or size)[i]
            launch.cluster[i] = cluster[i]
        launch.wave_size = wave_size
        launch.user_count = len(user_sgprs)
        if launch.user_count > 32:
            raise ValueError(f"{launch.user_count} user SGPRs; a wave has at most 32")
        for i in range(launch.user_count):
            launch.user[i] = user_sgprs[i]
        launch.id_mask = workgroup_id_mask
        launch.ids_in_ttmp = ids_in_ttmp
        launch.packed_ids = packed_ids
        launch.local_components = local_id_components
        launch.workgroup_info = workgroup_info
        launch.scratch_offset = scratch_offset
        launch.scratch_slots = scratch_slots
        launch.mode = mode
        launch.fill = fill
        launch.waves = _waves_of(launch.size, wave_size)
        launch.entry_bytes = code_bytes
        self._reset(wave_size, lds_bytes, scratch_bytes, launch.waves, budget)
        if time_budget > 0:
            self.work.machine.deadline = steady_nanoseconds() + <uint64_t>(1e9 * min(time_budget, 1e9))
        self.work.machine.shared_vgpr = shared_vgpr
        self.work.cooperating = <uint64_t>launch.groups[0] * launch.groups[1] * launch.groups[2] if cooperative else 0
        self.launch = launch
        self.close()
        self.prepare_code(&launch)
        if not open_workspace(&self.work, &launch):
            close_workspace(&self.work)
            raise MemoryError(f"a workgroup of {launch.waves} waves")

    cdef int prepare_code(self, const Launch *launch) except -1:
        """With host addresses the caller says where code lies; otherwise it is found as waves reach it."""
        if not self.space.memory.identity:
            return 0
        if memory_at(&self.space.memory, launch.entry, launch.entry_bytes) == NULL:
            raise InputError(f"{launch.entry_bytes} bytes of code at {launch.entry:#x}: no process has such addresses")
        if not cache_host_code(&self.work.code, launch.entry, launch.entry_bytes):
            raise MemoryError(f"{launch.entry_bytes} bytes of code")
        return 0

    def close(self):
        """Free the memory of the waves."""
        close_workspace(&self.work)

    def meets_other_workgroups(self, uint64_t entry):
        """Whether code in the allocation around `entry` has instructions that wait for waves of other workgroups."""
        cdef Code code
        memset(&code, 0, sizeof(Code))
        self.space.enter()
        try:
            fetch(&code, &self.work.machine, entry, 0)
            return meets_other_workgroups(&code, self.work.machine.gfx_level)
        finally:
            forget(&code)
            self.space.leave()

    cdef dict outcome(self, int stop):
        result = self._counters()
        result["stop"] = None
        if stop != stop_end:
            result.update(self._fault(stop))
        return result

    cdef int execute(self, const Launch *launch) except -1:
        """Every workgroup, x fastest; returns stop_end or why the dispatch stopped, `self.work` says where."""
        cdef int stop
        with nogil:
            stop = _run_groups(&self.work, launch)
        return stop

    cdef int _reset(self, uint32_t wave_size, uint32_t lds_bytes, uint32_t scratch_bytes, uint32_t waves,
                    uint64_t budget) except -1:
        cdef uint32_t i
        self.descriptors.forget()
        memset(self.work.machine.gds, 0, self.work.machine.gds_bytes)
        clear_waiting(self.work.machine.sync)
        self.work.machine.scratch_slot = 0
        self.work.machine.wave_size = wave_size
        self.work.machine.lane_number_mask = 0xffffffffU
        self.work.machine.lds_bytes = lds_bytes
        self.work.machine.scratch_bytes = scratch_bytes
        self.work.machine.wave_count = waves
        self.work.machine.interrupt = NULL
        self.work.machine.host = <void *>self.interrupt
        if self.interrupt is not None:
            self.work.machine.interrupt = _ask_host
        self.work.machine.executed = 0
        self.work.machine.budget = budget
        self.work.machine.deadline = 0
        self.work.machine.clock_due = 0
        memset(self.work.machine.opcode_counter, 0, <int>op_count * sizeof(uint64_t))
        self.work.machine.lds_out_of_bounds = 0
        for i in range(<uint32_t>unit_count):
            self.work.machine.counter[i] = 0
            self.work.machine.lane_counter[i] = 0
        return 0

    cdef dict _counters(self):
        cdef uint32_t i
        opcodes = {}
        for i in range(<uint32_t>op_count):
            if self.work.machine.opcode_counter[i]:
                opcodes[i] = self.work.machine.opcode_counter[i]
        return {
            "instructions": self.work.machine.executed,
            "units": [self.work.machine.counter[i] for i in range(<uint32_t>unit_count)],
            "lanes": [self.work.machine.lane_counter[i] for i in range(<uint32_t>unit_count)],
            "opcodes": opcodes,
            "lds_out_of_bounds": self.work.machine.lds_out_of_bounds,
            "lds_out_of_bounds_pc": self.work.machine.lds_out_of_bounds_pc if self.work.machine.lds_out_of_bounds else None,
        }

    cdef dict _fault(self, int stop):
        cdef uint32_t i
        cdef const uint32_t *group = self.work.group
        cdef const Region *region = region_of(&self.work.code, &self.work.machine, self.work.machine.fault_pc)
        cdef uint64_t offset
        words = []
        if region != NULL:
            offset = canonical_address(self.work.machine.fault_pc) - region.first
            words = [region.words[offset // 4 + i] for i in range(min(<uint64_t>4, (region.bytes - offset) // 4))]
        return {
            "stop": STOP_NAMES.get(stop, str(stop)), "workgroup": (group[0], group[1], group[2]), "wave": self.work.faulty,
            "pc": self.work.machine.fault_pc, "opcode": self.work.machine.fault_opcode, "words": words,
            "lane": self.work.machine.fault_lane, "address": self.work.machine.fault_address, "bytes": self.work.machine.fault_bytes,
            "store": bool(self.work.machine.fault_store), "waiting": self._waiting() if stop == stop_deadlock else [],
            "problem": self.descriptors.problems[self.work.machine.fault_bytes] if stop == stop_descriptor else None,
        }

    cdef list _waiting(self):
        """Workgroup, wave and pc of every wave that waits for others."""
        cdef const Resident *resident = self.work.residents
        cdef uint32_t i
        group = self.work.group
        found = [((group[0], group[1], group[2]), i, self.work.waves[i].waits_at) for i in range(self.work.count) if waits(&self.work.waves[i])]
        while resident != NULL:
            found += [((resident.group[0], resident.group[1], resident.group[2]), i, resident.waves[i].waits_at) for i in range(resident.count)
                      if waits(&resident.waves[i])]
            resident = resident.next
        return found


cdef void group_of(const Launch *launch, uint64_t number, uint32_t *group) noexcept nogil:
    """The ids of workgroup `number` of the dispatch: those of its cluster, and its place there."""
    cdef uint32_t members = _members_of(launch)
    cdef uint64_t cluster, place
    cdef uint32_t i, count
    if members == 1:
        group[0] = launch.start[0] + <uint32_t>(number % launch.groups[0])
        group[1] = launch.start[1] + <uint32_t>(number // launch.groups[0] % launch.groups[1])
        group[2] = launch.start[2] + <uint32_t>(number // launch.groups[0] // launch.groups[1])
        return
    cluster = number // members
    place = number % members
    for i in range(3):
        count = launch.groups[i] // launch.cluster[i]
        group[i] = launch.start[i] + <uint32_t>(cluster % count * launch.cluster[i] + place % launch.cluster[i])
        cluster //= count
        place //= launch.cluster[i]


cdef int _run_groups(Workspace *space, const Launch *launch) except -1 nogil:
    """Every workgroup; `space.group` is left at the one that stopped."""
    cdef int stop, following
    cdef uint64_t checked = 0
    while True:
        following = next_workgroup(space, launch)
        if following == next_none:
            return stop_end
        if following == next_deadlock:
            return deadlock(space)
        if following == next_starts:
            start_workgroup(space, launch)
        stop = _run_workgroup(space, &checked)
        if stop == stop_sync:
            stop = suspend_workgroup(space, launch)
            if stop != stop_running:
                return stop
        elif stop != stop_end:
            return stop
        if space.machine.executed - checked > signal_interval:
            checked = space.machine.executed
            with gil:
                PyErr_CheckSignals()
