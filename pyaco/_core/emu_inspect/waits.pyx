"""Operations in flight and waits for them. The contract is in ``waits.pxd``."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from features cimport has_lds_bound, has_split_wait_counters, has_store_counter, has_translation_counter
from isa_opcodes cimport *
from isa_tables cimport image_flag_atomic, image_flag_sampler, image_flag_store, opcode_format, opcode_image
from modifiers cimport modifier_dpp8_fetch_inactive, modifier_dpp_fetch_inactive, modifier_gds, modifier_lds
from wait_tables cimport waitcnt_expcnt, waitcnt_lgkmcnt, waitcnt_vmcnt
from pyaco._core.common.waitcnt cimport waitcnt_get, waitcnt_limit
from pyaco._core.emu.access cimport access_nothing
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu.wave cimport *
from pyaco._core.common.machine cimport (
    format_dpp16, format_dpp8, format_ds, format_flat, format_global, format_is_valu, format_ldsdir, format_mimg, format_mtbuf,
    format_mubuf, format_scratch, format_smem, format_vop3p, register_none,
)

cdef enum:
    all_lanes = -1
    type_plain = 1                    # memory types of loads, as bits
    type_sampler = 2
    type_bvh = 4


cdef void flight_clear(Flight *flight) noexcept nogil:
    flight.operations.clear()
    memset(flight.issued, 0, sizeof(flight.issued))
    memset(flight.busy, 0, sizeof(flight.busy))
    flight.translated = 0


cdef void _mark_busy(Flight *flight) noexcept nogil:
    cdef size_t i
    cdef uint32_t part, number, first
    memset(flight.busy, 0, sizeof(flight.busy))
    for i in range(flight.operations.size()):
        for part in range(4):
            first = flight.operations[i].first[part]
            for number in range(first, first + flight.operations[i].count[part]):
                flight.busy[number >> 6] |= <uint64_t>1 << (number & 63)


# ------------------------------------------------------------------------------------------------------------------ waiting
cdef void _wait_for(Flight *flight, uint32_t counter, uint32_t count) noexcept nogil:
    """Remove the operations that are known to be done once a counter has fallen to `count`."""
    cdef size_t i
    cdef size_t kept = 0
    cdef Operation *operation
    cdef bint changed = False
    for i in range(flight.operations.size()):
        operation = &flight.operations[i]
        if operation.needs >> counter & 1 and (
                count == 0 or (operation.kind[counter] != kind_any
                               and count <= flight.issued[operation.kind[counter]] - operation.serial[counter])):
            operation.needs &= ~(1 << counter)
            if operation.needs == 0 or operation.locks == locked_or:
                changed = True
                if not operation.locks:
                    flight.translated = max(flight.translated, operation.serial[counter_x])
                continue
        if kept != i:
            flight.operations[kept] = operation[0]
        kept += 1
    if changed:
        flight.operations.resize(kept)
        _end_translations(flight, 0)
        _mark_busy(flight)


cdef inline bint _is_translation(const Operation *operation, uint8_t kind) noexcept nogil:
    return operation.locks and operation.needs >> counter_x & 1 and operation.kind[counter_x] == kind


cdef void _end_translations(Flight *flight, uint32_t kinds) noexcept nogil:
    """Let go of the registers of accesses whose addresses are translated: vector memory (1) and scalar loads (2) of `kinds`, and what is known."""
    cdef size_t i
    cdef size_t kept = 0
    for i in range(flight.operations.size()):
        if _is_translation(&flight.operations[i], kind_translation) and (
                kinds & 1 or flight.operations[i].serial[counter_x] <= flight.translated):
            continue
        if kinds & 2 and _is_translation(&flight.operations[i], kind_any):
            continue
        if kept != i:
            flight.operations[kept] = flight.operations[i]
        kept += 1
    if kept != flight.operations.size():
        flight.operations.resize(kept)
        _mark_busy(flight)


cdef uint32_t _sum_with_register(const Wave *wave, const Instruction *instruction) noexcept nogil:
    """The immediate, and what a register, usually null, adds to it."""
    cdef uint32_t value = instruction.decoded.immediate
    if instruction.decoded.source_count:
        value += read_scalar(wave, instruction.decoded.source[0] >> 2)
    return value


cdef bint wait_counts(const Wave *wave, const Instruction *instruction, uint32_t gfx_level, WaitCounts *counts) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t value = instruction.decoded.immediate
    cdef uint32_t counter
    if instruction.unit != unit_wait and instruction.unit != unit_salu:
        return False
    for counter in range(<uint32_t>counter_count):
        counts.count[counter] = not_waited
    if opcode == <uint32_t>op_s_waitcnt:                    # a count at its limit waits for nothing that the counter could exceed
        counts.count[counter_vm] = waitcnt_get(value, gfx_level, waitcnt_vmcnt)
        counts.count[counter_lgkm] = waitcnt_get(value, gfx_level, waitcnt_lgkmcnt)
        counts.count[counter_exp] = waitcnt_get(value, gfx_level, waitcnt_expcnt)
    elif opcode == <uint32_t>op_s_waitcnt_vscnt:
        counts.count[counter_vs] = _sum_with_register(wave, instruction) & 63
    elif opcode == <uint32_t>op_s_waitcnt_vmcnt:
        counts.count[counter_vm] = _sum_with_register(wave, instruction) & 63
    elif opcode == <uint32_t>op_s_waitcnt_expcnt:
        counts.count[counter_exp] = _sum_with_register(wave, instruction) & 7
    elif opcode == <uint32_t>op_s_waitcnt_lgkmcnt:
        counts.count[counter_lgkm] = _sum_with_register(wave, instruction) & 63
    elif opcode == <uint32_t>op_s_wait_loadcnt_dscnt or opcode == <uint32_t>op_s_wait_storecnt_dscnt:
        counts.count[counter_vm if opcode == <uint32_t>op_s_wait_loadcnt_dscnt else counter_vs] = value >> 8 & 63
        counts.count[counter_lgkm] = value & 63
    elif opcode == <uint32_t>op_s_wait_loadcnt:
        counts.count[counter_vm] = value & 63
    elif opcode == <uint32_t>op_s_wait_samplecnt:
        counts.count[counter_sample] = value & 63
    elif opcode == <uint32_t>op_s_wait_storecnt:
        counts.count[counter_vs] = value & 63
    elif opcode == <uint32_t>op_s_wait_dscnt:
        counts.count[counter_lgkm] = value & 63
    elif opcode == <uint32_t>op_s_wait_kmcnt:
        counts.count[counter_km] = value & 31
    elif opcode == <uint32_t>op_s_wait_expcnt:
        counts.count[counter_exp] = value & 7
    elif opcode == <uint32_t>op_s_wait_asynccnt:
        counts.count[counter_async] = value & 63
    elif opcode == <uint32_t>op_s_wait_tensorcnt:
        counts.count[counter_tensor] = value & 63
    elif opcode == <uint32_t>op_s_wait_xcnt:
        counts.count[counter_x] = value & 63
    elif opcode == <uint32_t>op_s_wait_idle:
        for counter in range(<uint32_t>counter_count):
            counts.count[counter] = 0
    else:
        return opcode == <uint32_t>op_s_wait_bvhcnt
    return True


cdef bint _wait_instruction(Flight *flight, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """Whether an instruction is a wait, which is accounted for."""
    cdef WaitCounts counts
    cdef uint32_t counter
    if not wait_counts(wave, instruction, gfx_level, &counts):
        return False
    for counter in range(<uint32_t>counter_count):
        if counts.count[counter] != not_waited:
            _wait_for(flight, counter, counts.count[counter])
    return True


# ------------------------------------------------------------------------------------------------------------------ issuing
cdef uint32_t counter_limit(uint32_t counter, uint32_t gfx_level) noexcept nogil:
    if counter == counter_exp:
        return waitcnt_limit(gfx_level, waitcnt_expcnt)
    if counter == counter_km:
        return 31
    return waitcnt_limit(gfx_level, waitcnt_lgkmcnt if counter == counter_lgkm else <uint32_t>waitcnt_vmcnt)


cdef void _add_registers(Operation *operation, uint32_t part, uint16_t address, uint32_t bytes) noexcept nogil:
    cdef uint32_t first = address >> 2
    cdef uint32_t count
    if address == register_none or first >= register_limit or (128 <= first < 256):
        return
    count = max(<uint32_t>1, (bytes + (address & 3) + 3) >> 2)
    operation.first[part] = <uint16_t>first
    operation.count[part] = <uint16_t>min(count, (128 if first < 128 else <uint32_t>register_limit) - first)


cdef void _issue(Flight *flight, Operation *operation, uint32_t counter, uint8_t kind) noexcept nogil:
    """Count an operation, which then has to be waited for with this counter."""
    operation.kind[counter] = kind
    if kind != kind_any:
        flight.issued[kind] += 1
        operation.serial[counter] = flight.issued[kind]
    operation.needs |= 1 << counter


cdef inline bint _is_vector_memory(const Instruction *instruction) noexcept nogil:
    return instruction.unit == unit_vmem or instruction.unit == unit_flat


cdef bint _is_store(const Instruction *instruction) noexcept nogil:
    return instruction.decoded.destination_count == 0


cdef void _reached_spaces(const AccessLog *log, bint *memory, bint *lds) noexcept nogil:
    cdef uint32_t i
    memory[0] = log.count == 0
    lds[0] = False
    for i in range(log.count):
        if log.entries[i].space == space_lds:
            lds[0] = True
        else:
            memory[0] = True


cdef bint _issue_vector(Flight *flight, Operation *operation, const Instruction *instruction, uint32_t gfx_level,
                        const AccessLog *log) noexcept nogil:
    """Buffers, global, scratch and flat."""
    cdef uint16_t base = instruction.decoded.format & 0x7f
    cdef bint separate = _is_store(instruction) and has_store_counter(gfx_level) and not (
        modifier_lds(instruction.decoded.modifiers) and (base == format_mubuf or base == format_mtbuf))
    cdef bint memory = True
    cdef bint lds = False
    if is_async_copy(instruction):
        flight.issued[kind_vmem] += 1
        _issue(flight, operation, counter_async, kind_async)
        return True
    if memory_operation(instruction.decoded.opcode).access == access_nothing:
        if gfx_level < 120:                                 # invalidations before GFX12: no program relies on counting them
            return False
        separate = instruction.decoded.opcode != <int>op_global_inv
    if base == format_flat:
        _reached_spaces(log, &memory, &lds)
    if is_counted_as_sample(instruction, gfx_level):
        _issue(flight, operation, counter_sample, kind_sample)
        return True
    if memory:
        _issue(flight, operation, counter_vs if separate else counter_vm, kind_store if separate else kind_vmem)
    if lds:
        _issue(flight, operation, counter_lgkm, kind_any)
    return True


cdef bint _issue_operation(Flight *flight, Operation *operation, const Instruction *instruction, uint32_t gfx_level,
                           const AccessLog *log) noexcept nogil:
    """Count an instruction as its generation does; False: it is not counted."""
    cdef uint16_t base = instruction.decoded.format & 0x7f
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t scalar_counter = counter_km if has_split_wait_counters(gfx_level) else counter_lgkm
    if base == format_smem:
        if instruction.decoded.destination_count == 0 and memory_operation(opcode).access == access_nothing:
            return False
        _issue(flight, operation, scalar_counter, kind_any)
        operation.lanes = <uint64_t>all_lanes
    elif base == format_ds:
        if opcode == <uint32_t>op_ds_nop or opcode == <uint32_t>op_ds_atomic_async_barrier_arrive_b64:
            return False
        _issue(flight, operation, counter_lgkm, kind_gds if modifier_gds(instruction.decoded.modifiers) else kind_lds)
    elif base == format_ldsdir:
        _issue(flight, operation, counter_exp, kind_direct)
    elif is_tensor(instruction):
        _issue(flight, operation, counter_tensor, kind_tensor)
    elif base == format_mubuf or base == format_mtbuf or base == format_mimg or format_flat <= base <= format_scratch:
        return _issue_vector(flight, operation, instruction, gfx_level, log)
    elif (opcode == <uint32_t>op_s_sendmsg_rtn_b32 or opcode == <uint32_t>op_s_sendmsg_rtn_b64
            or opcode == <uint32_t>op_s_get_barrier_state):
        _issue(flight, operation, scalar_counter, kind_any)
        operation.lanes = <uint64_t>all_lanes
    else:
        return False
    return True


cdef Operation _lock_of(const Operation *whole, uint8_t locks) noexcept nogil:
    """What keeps registers of an operation from being written."""
    cdef Operation operation
    memset(operation.first, 0, sizeof(operation.first))
    memset(operation.count, 0, sizeof(operation.count))
    operation.pc = whole.pc
    operation.opcode = whole.opcode
    operation.lanes = whole.lanes
    operation.locks = locks
    operation.needs = 0
    return operation


cdef void _lock_data(Flight *flight, const Operation *store, const Instruction *instruction) noexcept nogil:
    """GFX6: stores and atomics read their data late, until the export counter falls or they are done (LLVM, vmemWriteNeedsExpWaitcnt; Mesa,
    event_vmem_gpr_lock)."""
    cdef uint32_t slot = 2 if instruction.decoded.format & 0x7f == format_mimg else 3
    cdef Operation operation = _lock_of(store, locked_or)
    if instruction.decoded.source_count <= slot or instruction.decoded.source[slot] == register_none:
        return
    _issue(flight, &operation, counter_exp, kind_data)
    operation.kind[counter_vm] = store.kind[counter_vm]
    operation.serial[counter_vm] = store.serial[counter_vm]
    operation.needs |= 1 << counter_vm
    _add_registers(&operation, 0, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])
    flight.operations.push_back(operation)


cdef void _lock_sources(Flight *flight, const Operation *gds, const Instruction *instruction) noexcept nogil:
    """GDS reads its data registers late: until the export counter falls they must not be written."""
    cdef Operation operation = _lock_of(gds, locked)
    cdef uint32_t i
    _issue(flight, &operation, counter_exp, kind_gds)
    for i in range(min(<uint32_t>instruction.decoded.source_count, <uint32_t>4)):
        _add_registers(&operation, i, instruction.decoded.source[i], instruction.decoded.source_bytes[i])
    flight.operations.push_back(operation)


cdef bint _drains_translations(const Instruction *instruction) noexcept nogil:
    """Whether an instruction waits by itself until all addresses are translated (LLVM, isXcntDrain)."""
    return instruction.unit == unit_branch or instruction.decoded.opcode in (
        op_s_getreg_b32, op_s_setreg_b32, op_s_setreg_imm32_b32, op_s_sendmsg, op_s_sendmsghalt, op_s_sendmsg_rtn_b32, op_s_sendmsg_rtn_b64,
        op_s_barrier_wait, op_s_barrier_signal, op_s_barrier_signal_isfirst, op_s_trap)


cdef void _wait_to_overwrite(Flight *flight, const Operation *access) noexcept nogil:
    """Vector memory that writes registers of earlier accesses waits for their translations by itself."""
    cdef size_t i
    cdef uint32_t own, part
    cdef const Operation *earlier
    for i in range(flight.operations.size()):
        earlier = &flight.operations[i]
        if not _is_translation(earlier, kind_translation):
            continue
        for own in range(4):
            for part in range(4):
                if (access.first[own] < earlier.first[part] + earlier.count[part]
                        and earlier.first[part] < access.first[own] + access.count[own]):
                    flight.translated = max(flight.translated, earlier.serial[counter_x])


cdef void _lock_until_translated(Flight *flight, Operation *access, const Instruction *instruction) noexcept nogil:
    """Nothing may write the sources of an access until its address is translated."""
    cdef bint scalar = instruction.unit == unit_smem
    cdef Operation operation
    cdef uint32_t i
    if not scalar:
        _wait_to_overwrite(flight, access)
    _end_translations(flight, 1 if scalar else 2)
    operation = _lock_of(access, locked_or)
    for i in range(<uint32_t>counter_count):
        operation.kind[i] = access.kind[i]
        operation.serial[i] = access.serial[i]
    operation.needs = access.needs
    _issue(flight, &operation, counter_x, kind_any if scalar else kind_translation)
    if not scalar:
        access.serial[counter_x] = operation.serial[counter_x]
    for i in range(min(<uint32_t>instruction.decoded.source_count, <uint32_t>4)):
        _add_registers(&operation, i, instruction.decoded.source[i], instruction.decoded.source_bytes[i])
    flight.operations.push_back(operation)


cdef void flight_account(Flight *flight, const Wave *wave, const Instruction *instruction, uint64_t active, uint32_t gfx_level,
                         const AccessLog *log) noexcept nogil:
    cdef Operation operation
    cdef uint32_t i, counter
    if _wait_instruction(flight, wave, instruction, gfx_level):
        return
    if has_translation_counter(gfx_level) and _drains_translations(instruction):
        _end_translations(flight, 3)
    memset(operation.first, 0, sizeof(operation.first))
    memset(operation.count, 0, sizeof(operation.count))
    operation.pc = instruction.pc
    operation.opcode = instruction.decoded.opcode
    operation.lanes = active
    operation.locks = 0
    operation.needs = 0
    operation.serial[counter_x] = 0
    if not _issue_operation(flight, &operation, instruction, gfx_level, log):
        return
    for i in range(0 if is_async_copy(instruction) else instruction.decoded.destination_count):
        _add_registers(&operation, i, instruction.decoded.destination[i],
                       instruction.decoded.destination_bytes[i] if instruction.decoded.destination_bytes[i] else wave.lanes // 8)
    if has_translation_counter(gfx_level) and not is_tensor(instruction) and (_is_vector_memory(instruction) or instruction.unit == unit_smem):
        _lock_until_translated(flight, &operation, instruction)
    for i in range(log.count):
        if log.entries[i].space != space_scratch:
            operation.reached.push_back(log.entries[i])
    flight.operations.push_back(operation)
    if instruction.decoded.format & 0x7f == format_ds and modifier_gds(instruction.decoded.modifiers):
        _lock_sources(flight, &operation, instruction)
    elif gfx_level < 70 and instruction.unit == unit_vmem and not (
            instruction.decoded.format & 0x7f == format_mimg
            and not opcode_image[instruction.decoded.opcode] & (image_flag_store | image_flag_atomic)):
        _lock_data(flight, &operation, instruction)
    for counter in range(<uint32_t>counter_count):
        _wait_for(flight, counter, counter_limit(counter, gfx_level))
    _mark_busy(flight)


# ----------------------------------------------------------------------------------------------------------------- checking
cdef uint64_t _lanes_read(const Wave *wave, const Instruction *instruction, uint32_t slot, uint64_t active) noexcept nogil:
    """The lanes of a VGPR source that an instruction reads: those of EXEC, unless it reads across lanes."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint16_t format = instruction.decoded.format
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint64_t lane
    if opcode == <uint32_t>op_v_readfirstlane_b32:
        return active & -active if active else 1
    if opcode == <uint32_t>op_v_readlane_b32 or opcode == <uint32_t>op_v_readlane_b32_e64:
        if instruction.source[1].kind == operand_value:
            lane = instruction.source[1].value
        else:
            lane = read_scalar(wave, instruction.source[1].index)
        return <uint64_t>1 << (lane & (wave.lanes - 1))
    if opcode == <uint32_t>op_v_writelane_b32 or opcode == <uint32_t>op_v_writelane_b32_e64:
        return 0                                            # its old value is kept; the lane is checked as a result
    if format_is_valu(format):
        if (format & format_dpp16 and modifier_dpp_fetch_inactive(modifiers)) or (
                format & format_dpp8 and modifier_dpp8_fetch_inactive(modifiers)):
            return <uint64_t>all_lanes
        if opcode == <uint32_t>op_v_permlane64_b32 or (format & format_vop3p and instruction.operation == NULL):
            return <uint64_t>all_lanes                      # matrix operations ignore EXEC
    if opcode == <uint32_t>op_ds_bpermute_fi_b32:
        return <uint64_t>all_lanes
    return active


cdef uint64_t _lanes_written(const Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t lane
    if opcode == <uint32_t>op_v_writelane_b32 or opcode == <uint32_t>op_v_writelane_b32_e64:
        if instruction.source[1].kind == operand_value:
            lane = instruction.source[1].value
        else:
            lane = read_scalar(wave, instruction.source[1].index)
        return <uint64_t>1 << (lane & (wave.lanes - 1))
    if instruction.decoded.format & format_vop3p and instruction.operation == NULL:
        return <uint64_t>all_lanes
    return active


cdef bint _any_busy(const Flight *flight, uint32_t first, uint32_t count) noexcept nogil:
    cdef uint32_t number
    for number in range(first, min(first + count, <uint32_t>register_limit)):
        if flight.busy[number >> 6] >> (number & 63) & 1:
            return True
    return False


cdef uint8_t _memory_types(uint32_t opcode, uint32_t gfx_level) noexcept nogil:
    """What a load goes through: results of one type arrive in order, of two types in any. Sources: Mesa (`get_vmem_type`), LLVM (`getVmemType`).

    On GFX11.5 a sample that needs no filter may be done as a load.
    """
    if opcode in (op_image_bvh_intersect_ray, op_image_bvh64_intersect_ray, op_image_bvh_dual_intersect_ray, op_image_bvh8_intersect_ray):
        return type_bvh
    if opcode == <uint32_t>op_image_msaa_load:
        return type_sampler
    if not opcode_image[opcode] & image_flag_sampler:
        return type_plain
    if gfx_level == 115 and opcode in (op_image_sample, op_image_sample_l, op_image_sample_lz):
        return type_sampler | type_plain
    return type_sampler


cdef bint _in_order_behind(const Operation *operation, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """Whether a load writes its registers after an earlier load of the same kind does: not on GFX12 (LLVM pull request 105549)."""
    cdef uint16_t base = instruction.decoded.format & 0x7f
    cdef uint8_t kind
    cdef uint8_t types
    cdef uint32_t counter
    if base == format_ds:
        counter = counter_lgkm
        kind = kind_gds if modifier_gds(instruction.decoded.modifiers) else kind_lds
    elif gfx_level < 120 and (
            base == format_mubuf or base == format_mtbuf or base == format_mimg or base == format_global or base == format_scratch):
        counter = counter_vm
        kind = kind_vmem
        types = _memory_types(operation.opcode, gfx_level)
        if types != _memory_types(instruction.decoded.opcode, gfx_level) or types == type_sampler | type_plain:
            return False
    else:
        return False
    return operation.needs == 1 << counter and operation.kind[counter] == kind


cdef bint _clashes(const Flight *flight, uint32_t first, uint32_t count, uint64_t lanes, const Instruction *writer, uint32_t gfx_level,
                   Finding *finding) noexcept nogil:
    """Whether registers belong to an operation in flight; `writer` is the instruction where it writes them, else NULL."""
    cdef size_t i
    cdef uint32_t part, number
    cdef const Operation *operation
    for i in range(flight.operations.size()):
        operation = &flight.operations[i]
        if operation.locks and writer == NULL:
            continue
        for part in range(4):
            number = max(first, <uint32_t>operation.first[part])
            if number >= min(first + count, <uint32_t>operation.first[part] + operation.count[part]):
                continue
            if first >= 256 and not (lanes & operation.lanes) and (writer == NULL or gfx_level < 110):
                continue                                    # from GFX11 on a load may undo writes to lanes that it does not write
            if operation.needs >> counter_x & 1 and (_is_vector_memory(writer) or (first >= 256 and not lanes & operation.lanes) or (
                    writer.unit == unit_smem and operation.kind[counter_x] == kind_translation)):
                continue                                    # the access waits by itself, or the lanes are others
            if writer != NULL and not operation.locks and _in_order_behind(operation, writer, gfx_level):
                continue
            finding.reg = <uint16_t>number
            finding.counters = 1 << counter_x if operation.needs >> counter_x & 1 else operation.needs
            finding.states = finding.hazard = 0
            finding.write = writer != NULL
            finding.opcode = operation.opcode
            finding.pc = operation.pc
            return True
    return False


cdef bint _uses(const Flight *flight, uint16_t address, uint32_t bytes, uint64_t lanes, int32_t moved, const Instruction *writer,
                uint32_t gfx_level, Finding *finding) noexcept nogil:
    """Check one operand; `moved` is what relative addressing adds to its number."""
    cdef uint32_t first = address >> 2
    cdef uint32_t count
    if address == register_none or 128 <= first < 256 or first >= register_limit:
        return False
    count = max(<uint32_t>1, (bytes + (address & 3) + 3) >> 2)
    first += moved
    return _any_busy(flight, first, count) and _clashes(flight, first, count, lanes, writer, gfx_level, finding)


cdef bint _vccz_is_spoilt(const Flight *flight, Finding *finding) noexcept nogil:
    """GFX6 and GFX7: a scalar load that arrives may spoil VCCZ, until VCC is written again. Sources: LLVM (`hasReadVCCZBug`), Mesa."""
    cdef size_t i
    for i in range(flight.operations.size()):
        if opcode_format[flight.operations[i].opcode] == format_smem:
            finding.reg = sgpr_vcc
            finding.counters = flight.operations[i].needs
            finding.states = finding.hazard = finding.write = 0
            finding.opcode = flight.operations[i].opcode
            finding.pc = flight.operations[i].pc
            return True
    return False


cdef bint _uses_implied(const Flight *flight, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                        Finding *finding) noexcept nogil:
    """Check implied operands: VCC of branches, EXEC of vector instructions, M0."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef bint m0 = (opcode == <uint32_t>op_s_sendmsg or opcode == <uint32_t>op_ds_append or opcode == <uint32_t>op_ds_consume
                    or opcode == <uint32_t>op_lds_direct_load or _moved_by(wave, instruction, False) != 0
                    or memory_operation(opcode).add_lane or (modifier_gds(instruction.decoded.modifiers) or has_lds_bound(gfx_level))
                    and instruction.decoded.format & 0x7f == format_ds)
    if opcode == <uint32_t>op_s_cbranch_vccz or opcode == <uint32_t>op_s_cbranch_vccnz:
        if gfx_level < 80 and _vccz_is_spoilt(flight, finding):
            return True
        return _uses(flight, sgpr_vcc * 4, wave.lanes // 8, 0, 0, NULL, gfx_level, finding)
    if unit_valu <= instruction.unit <= unit_lds and instruction.unit != unit_smem:
        if _uses(flight, sgpr_exec * 4, wave.lanes // 8, 0, 0, NULL, gfx_level, finding):
            return True
    return m0 and _uses(flight, sgpr_m0 * 4, 4, 0, 0, NULL, gfx_level, finding)


cdef int32_t _moved_by(const Wave *wave, const Instruction *instruction, bint destination) noexcept nogil:
    """What M0 adds to the number of a register in relative addressing."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t m0 = wave.sgpr[sgpr_m0]
    if opcode == <uint32_t>op_v_movrels_b32 or opcode == <uint32_t>op_s_movrels_b32 or opcode == <uint32_t>op_s_movrels_b64:
        return 0 if destination else <int32_t>(m0 & 511)
    if opcode == <uint32_t>op_v_movreld_b32 or opcode == <uint32_t>op_s_movreld_b32 or opcode == <uint32_t>op_s_movreld_b64:
        return <int32_t>(m0 & 511) if destination else 0
    if opcode == <uint32_t>op_v_movrelsd_b32:
        return <int32_t>(m0 & 511)
    if opcode == <uint32_t>op_v_movrelsd_2_b32 or opcode == <uint32_t>op_s_movrelsd_2_b32:
        return <int32_t>(m0 >> 16 & 0x1ff if destination else m0 & 0x1ff)
    if wave.mode & mode_index_registers and instruction.unit == unit_valu:
        if (m0 >> 12 & 8) if destination else (m0 >> 12 & 7):
            return <int32_t>(m0 & 0xff)
    return 0


cdef bint flight_check(const Flight *flight, const Wave *wave, const Instruction *instruction, uint64_t active, uint32_t gfx_level,
                       Finding *finding) noexcept nogil:
    cdef uint32_t i, bytes
    cdef int32_t moved
    if flight.operations.empty():
        return False
    for i in range(instruction.decoded.source_count):
        bytes = instruction.decoded.source_bytes[i]
        moved = _moved_by(wave, instruction, False) if i == 0 or wave.mode & mode_index_registers else 0
        if moved and wave.mode & mode_index_registers and instruction.unit == unit_valu and (
                instruction.decoded.source[i] < 1024 or not (wave.sgpr[sgpr_m0] >> (12 + min(i, <uint32_t>2)) & 1)):
            moved = 0
        if _uses(flight, instruction.decoded.source[i], bytes if bytes else wave.lanes // 8,
                 _lanes_read(wave, instruction, i, active), moved, NULL, gfx_level, finding):
            return True
    if _uses_implied(flight, wave, instruction, gfx_level, finding):
        return True
    moved = _moved_by(wave, instruction, True)
    for i in range(instruction.decoded.destination_count):
        bytes = instruction.decoded.destination_bytes[i]
        if _uses(flight, instruction.decoded.destination[i], bytes if bytes else wave.lanes // 8,
                 _lanes_written(wave, instruction, active), moved, instruction, gfx_level, finding):
            return True
    return False


cdef bint flight_check_lds(const Flight *flight, const AccessLog *log, Finding *finding) noexcept nogil:
    cdef size_t i, k
    cdef uint32_t entry
    cdef const Operation *operation
    cdef const Access *other
    cdef uint32_t copies = 1 << counter_async | 1 << counter_tensor
    for i in range(flight.operations.size()):
        operation = &flight.operations[i]
        if not operation.needs & (1 << counter_vm | copies):
            continue
        for k in range(operation.reached.size()):
            other = &operation.reached[k]
            if other.space != space_lds or (other.access_kind != access_kind_store and not operation.needs & copies):
                continue
            for entry in range(log.count):
                if log.entries[entry].access_kind == access_kind_load and other.access_kind == access_kind_load:
                    continue
                if (log.entries[entry].space == space_lds and log.entries[entry].address < other.address + other.bytes
                        and other.address < log.entries[entry].address + log.entries[entry].bytes):
                    finding.reg = register_limit
                    finding.counters = operation.needs
                    finding.states = finding.hazard = 0
                    finding.write = log.entries[entry].access_kind != access_kind_load
                    finding.opcode = operation.opcode
                    finding.pc = operation.pc
                    return True
    return False
