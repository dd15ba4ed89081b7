"""What waves of several workgroups of a dispatch meet at: global wave sync (GWS), ordered counts, and the barriers of clusters.

A resource of GWS is a counter and the waves that wait at it. A wave that waits has stopped with ``stop_sync``; the wave that wakes it
sets it running, in whatever workgroup it is. Counters outlive a dispatch: a kernel of one wave initialises what the next one uses.

Sources: AMD "Graphics Core Next Architecture, Generation 3" and "Vega" ISA documents, DS_GWS_* (what each does to counter and queue);
LLVM, AMDGPUInstructionSelector.cpp (number of the resource: m0 bits 16-21 plus the offset field, mod 64; the fields of
DS_ORDERED_COUNT's offset), IntrinsicsAMDGPU.td (its m0); ROCm's device libraries, cg.cl (a barrier of N waves takes N - 1); Mesa's NGG
streamout (lane i counts at dword i). What these operate on where no lane is active is undefined.

The barrier of a cluster (GFX12.5) completes when each workgroup of the cluster has signalled once; then every wave of these may pass one wait.
What a wave knows of its cluster is in its TTMP registers. LLVM (SIISelLowering.cpp) has their fields, and that one wave of a workgroup signals,
after a barrier of the workgroup; what a second signal before the barrier's end does is nowhere said, and refused. So are loads into the LDS of
several workgroups: AMD's CDNA 5 ISA document (10.7) and rocjitsu have one workgroup load for all that it names, FlyDSL and Composable Kernel let
each of these issue the load, and a load for VGPRs is issued by each in any case.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from libcpp.unordered_map cimport unordered_map

from isa_opcodes cimport *
from modifiers cimport modifier_gds
from pyaco._core.emu.access cimport add_access, load_lds, store_lds
from pyaco._core.emu.wave cimport *


cdef struct ClusterBarrier:
    uint16_t signalled                # workgroups that have, by number
    uint32_t complete[cluster_limit]  # of each workgroup the waves that may pass a wait: the barrier has completed, and they have not waited since


cdef struct DispatchSync:             # what Machine.sync points at
    WaveSync queues                   # the first member, as Machine declares it
    SyncResource waiting              # waves at barriers of their clusters
    unordered_map[uint64_t, ClusterBarrier] *clusters


cdef WaveSync *open_sync() noexcept nogil:
    cdef DispatchSync *sync = <DispatchSync *>calloc(1, sizeof(DispatchSync))
    if sync == NULL:
        return NULL
    sync.clusters = new unordered_map[uint64_t, ClusterBarrier]()
    return &sync.queues


cdef void close_sync(WaveSync *sync) noexcept nogil:
    if sync != NULL:
        del (<DispatchSync *>sync).clusters
    free(sync)


cdef inline uint32_t _first_active(uint64_t exec_mask) noexcept nogil:
    cdef uint32_t lane = 0
    while not (exec_mask >> lane) & 1:
        lane += 1
    return lane


# ---------------------------------------------------------------------------------------------------------------- queues
cdef int _wait_at(SyncResource *resource, Wave *wave, const Instruction *instruction) noexcept nogil:
    wave.waits_at = instruction.pc
    wave.next_waiting = NULL
    if resource.first == NULL:
        resource.first = wave
    else:
        resource.last.next_waiting = wave
    resource.last = wave
    return stop_sync


cdef void _release_first(SyncResource *resource) noexcept nogil:
    resource.first.stop = stop_running
    resource.first = resource.first.next_waiting


cdef void _release_all(SyncResource *resource) noexcept nogil:
    while resource.first != NULL:
        _release_first(resource)


cdef void clear_waiting(WaveSync *sync) noexcept nogil:
    cdef uint32_t i
    for i in range(<uint32_t>sync_resources):
        sync.resource[i].first = NULL
    sync.ordered.first = NULL
    sync.ordered.counter = 0
    (<DispatchSync *>sync).waiting.first = NULL
    (<DispatchSync *>sync).clusters.clear()


# ------------------------------------------------------------------------------------------------------- global wave sync
cdef void _release_semaphore(SyncResource *resource, uint32_t count) noexcept nogil:
    """Lets as many waves go on, now or as they arrive."""
    resource.counter += count
    while resource.counter and resource.first != NULL:
        resource.counter -= 1
        _release_first(resource)


cdef int _acquire_semaphore(SyncResource *resource, Wave *wave, const Instruction *instruction) noexcept nogil:
    if resource.counter == 0:
        return _wait_at(resource, wave, instruction)
    resource.counter -= 1
    return stop_running


cdef int _wait_at_barrier(SyncResource *resource, Wave *wave, const Instruction *instruction, uint32_t others) noexcept nogil:
    """The last wave to arrive wakes all others, and says how many others the next barrier has."""
    if resource.counter:
        resource.counter -= 1
        return _wait_at(resource, wave, instruction)
    _release_all(resource)
    resource.counter = others
    return stop_running


cdef int _execute_global_sync(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t number = ((wave.sgpr[sgpr_m0] >> 16) + <uint32_t>instruction.decoded.immediate) % sync_resources
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t datum = 0
    cdef SyncResource *resource
    if machine.sync == NULL or not modifier_gds(instruction.decoded.modifiers):
        return stop_unsupported
    resource = &machine.sync.resource[number]
    if instruction.decoded.source_count and instruction.source[0].kind == operand_vgpr:
        if exec_mask == 0:
            return stop_unsupported
        datum = wave_vgpr(wave, instruction.source[0].index)[_first_active(exec_mask)]
    if machine.log != NULL:                                 # it orders accesses as an atomic does; the address lies beyond GDS
        add_access(machine.log, space_gds, access_kind_atomic, 0, machine.gds_bytes + 4 * <uint64_t>number, 4)
    if opcode == <uint32_t>op_ds_gws_barrier:
        return _wait_at_barrier(resource, wave, instruction, datum)
    if opcode == <uint32_t>op_ds_gws_sema_p:
        return _acquire_semaphore(resource, wave, instruction)
    if opcode == <uint32_t>op_ds_gws_init:
        resource.counter = datum
    elif opcode == <uint32_t>op_ds_gws_sema_release_all:
        _release_all(resource)
        resource.counter = 0
    else:
        _release_semaphore(resource, datum if opcode == <uint32_t>op_ds_gws_sema_br else 1)
    return stop_running


# --------------------------------------------------------------------------------------------------------- ordered counts
cdef void _next_turn(SyncResource *ordered) noexcept nogil:
    """Wake all waiters: each checks again whether it is its turn."""
    ordered.counter += 1
    _release_all(ordered)


cdef int _execute_ordered_count(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """DS_ORDERED_COUNT: lanes add to (or swap with) dwords of GDS once it is the wave's turn; a flag ends the turn.

    m0 has the wave's position in the order in bits 0-15, an address in bits 16-31. Of the offset: bits 2-7 count dwords from there, bit 8 ends
    the turn, bits 12 and 13 choose the operation, from GFX10 on bits 14 and 15 are the number of dwords - 1.
    """
    cdef uint32_t fields = instruction.decoded.immediate & 0xffff
    cdef uint32_t operation = (fields >> 12) & 3
    cdef uint32_t count = 1 + (fields >> 14) if machine.gfx_level >= 100 else 1
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane, old, fresh
    cdef uint64_t address
    if machine.sync == NULL or not modifier_gds(instruction.decoded.modifiers) or operation > 1 or exec_mask == 0:
        return stop_unsupported
    if wave.sgpr[sgpr_m0] & 0xffff != machine.sync.ordered.counter & 0xffff:
        wave.pc = instruction.pc
        return _wait_at(&machine.sync.ordered, wave, instruction)
    address = (wave.sgpr[sgpr_m0] >> 16) + (fields & 0xfc)
    for lane in range(wave.lanes):
        if count == 0 or not (exec_mask >> lane) & 1:
            continue
        if machine.log != NULL:
            add_access(machine.log, space_gds, access_kind_atomic, lane, address, 4)
        load_lds(machine.gds, machine.gds_bytes, address, 4, <uint8_t *>&old)
        fresh = wave_vgpr(wave, instruction.source[0].index)[lane]
        if operation == 0:
            fresh += old
        store_lds(machine.gds, machine.gds_bytes, address, 4, <const uint8_t *>&fresh)
        wave_vgpr(wave, (instruction.decoded.destination[0] >> 2) - 256)[lane] = old
        address += 4
        count -= 1
    if fields & 0x100:
        _next_turn(&machine.sync.ordered)
    return stop_running


# --------------------------------------------------------------------------------------------------------------- clusters
cdef enum:                            # fields of TTMP6, four bits each: the place in x, y, z, the last place in x, y, z, the number of the last
    cluster_last = 12
    cluster_last_number = 24


cdef uint32_t cluster_word(const uint32_t *place, const uint32_t *size) noexcept nogil:
    cdef uint32_t word = (size[0] * size[1] * size[2] - 1) << cluster_last_number
    cdef uint32_t i
    for i in range(3):
        word |= place[i] << (4 * i) | (size[i] - 1) << (cluster_last + 4 * i)
    return word


cdef uint32_t cluster_size_of(const Wave *wave) noexcept nogil:
    return 1 + (wave.sgpr[sgpr_ttmp0 + sgpr_ttmp_cluster] >> cluster_last_number & 15)


cdef uint32_t cluster_rank_of(const Wave *wave) noexcept nogil:
    cdef uint32_t word = wave.sgpr[sgpr_ttmp0 + sgpr_ttmp_cluster]
    cdef uint32_t width = 1 + (word >> cluster_last & 15)
    cdef uint32_t height = 1 + (word >> (cluster_last + 4) & 15)
    return ((word & 15) + width * ((word >> 4 & 15) + height * (word >> 8 & 15))) & (cluster_limit - 1)


cdef bint is_for_others(const Wave *wave, uint32_t workgroups) noexcept nogil:
    return workgroups & 0xffff & ~(<uint32_t>1 << cluster_rank_of(wave)) != 0


cdef inline uint64_t _cluster_of(const Wave *wave) noexcept nogil:
    """A cluster's ids in the grid, by which it is known."""
    return wave.sgpr[sgpr_ttmp0 + 9] | <uint64_t>wave.sgpr[sgpr_ttmp0 + 7] << 32


cdef void _release_cluster(SyncResource *waiting, uint64_t cluster) noexcept nogil:
    """Waves of the cluster wait again, and find that they may pass; the others stay in their order."""
    cdef Wave *wave = waiting.first
    cdef Wave *following
    waiting.first = NULL
    waiting.last = NULL
    while wave != NULL:
        following = wave.next_waiting
        wave.next_waiting = NULL
        if _cluster_of(wave) == cluster:
            wave.stop = stop_running
        elif waiting.first == NULL:
            waiting.first = waiting.last = wave
        else:
            waiting.last.next_waiting = wave
            waiting.last = wave
        wave = following


cdef void _note_meeting(Machine *machine, uint64_t cluster) noexcept nogil:
    """Signals and waits order accesses as atomics do, at an address of the cluster beyond GDS and the resources of GWS."""
    if machine.log != NULL:
        add_access(machine.log, space_gds, access_kind_atomic, 0,
                   machine.gds_bytes + 4 * <uint64_t>sync_resources + (4 + 4 * cluster & (<uint64_t>1 << 60) - 1), 4)


cdef int signal_cluster(Machine *machine, Wave *wave, const Instruction *instruction, bint asks) noexcept nogil:
    cdef DispatchSync *sync = <DispatchSync *>machine.sync
    cdef uint64_t cluster = _cluster_of(wave)
    cdef uint16_t own = <uint16_t>(1 << cluster_rank_of(wave))
    cdef ClusterBarrier *barrier
    if sync == NULL:
        return stop_unsupported
    barrier = &sync.clusters[0][cluster]
    if barrier.signalled & own:
        return stop_unsupported
    if asks:
        wave.scc = barrier.signalled == 0
    _note_meeting(machine, cluster)
    barrier.signalled |= own
    if barrier.signalled == (1 << cluster_size_of(wave)) - 1:
        barrier.signalled = 0
        memset(barrier.complete, 0xff, sizeof(barrier.complete))
        _release_cluster(&sync.waiting, cluster)
    return stop_running


cdef int wait_for_cluster(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef DispatchSync *sync = <DispatchSync *>machine.sync
    cdef uint64_t cluster = _cluster_of(wave)
    cdef uint32_t own = <uint32_t>1 << (wave.index & 31)
    cdef uint32_t *complete
    if sync == NULL:
        return stop_unsupported
    complete = &sync.clusters[0][cluster].complete[cluster_rank_of(wave)]
    if not complete[0] & own:
        wave.pc = instruction.pc
        return _wait_at(&sync.waiting, wave, instruction)
    complete[0] &= ~own
    _note_meeting(machine, cluster)
    return stop_running


cdef void fill_wave_sync(Handler *table) noexcept nogil:
    table[<int>op_ds_gws_init] = _execute_global_sync
    table[<int>op_ds_gws_barrier] = _execute_global_sync
    table[<int>op_ds_gws_sema_v] = _execute_global_sync
    table[<int>op_ds_gws_sema_p] = _execute_global_sync
    table[<int>op_ds_gws_sema_br] = _execute_global_sync
    table[<int>op_ds_gws_sema_release_all] = _execute_global_sync
    table[<int>op_ds_ordered_count] = _execute_ordered_count
