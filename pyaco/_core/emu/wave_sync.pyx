"""What waves of all workgroups of a dispatch meet at: global wave sync (GWS) and ordered counts.

A resource of GWS is a counter and the waves that wait at it. A wave that waits has stopped with ``stop_sync``; the wave that wakes it
sets it running, in whatever workgroup it is. Counters outlive a dispatch: a kernel of one wave initialises what the next one uses.

Sources: AMD "Graphics Core Next Architecture, Generation 3" and "Vega" ISA documents, DS_GWS_* (what each does to counter and queue);
LLVM, AMDGPUInstructionSelector.cpp (number of the resource: m0 bits 16-21 plus the offset field, mod 64; the fields of
DS_ORDERED_COUNT's offset), IntrinsicsAMDGPU.td (its m0); ROCm's device libraries, cg.cl (a barrier of N waves takes N - 1); Mesa's NGG
streamout (lane i counts at dword i). What these operate on where no lane is active is undefined.
"""
from libc.stdint cimport uint32_t, uint64_t, uint8_t

from isa_opcodes cimport *
from modifiers cimport modifier_gds
from pyaco._core.emu.access cimport add_access, load_lds, store_lds
from pyaco._core.emu.wave cimport *


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


cdef void fill_wave_sync(Handler *table) noexcept nogil:
    table[<int>op_ds_gws_init] = _execute_global_sync
    table[<int>op_ds_gws_barrier] = _execute_global_sync
    table[<int>op_ds_gws_sema_v] = _execute_global_sync
    table[<int>op_ds_gws_sema_p] = _execute_global_sync
    table[<int>op_ds_gws_sema_br] = _execute_global_sync
    table[<int>op_ds_gws_sema_release_all] = _execute_global_sync
    table[<int>op_ds_ordered_count] = _execute_ordered_count
