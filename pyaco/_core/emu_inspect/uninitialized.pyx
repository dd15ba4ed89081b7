"""Undefined values and their way to a use. The contract is in ``uninitialized.pxd``."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from pyaco._core.common.machine cimport *
from pyaco._core.emu.access cimport *
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu.wave cimport *

cdef enum:
    first_vgpr = 256
    all_bits = 0xffffffffU


cdef void shadow_start(Shadow *shadow, const Machine *machine, const Wave *wave, uint32_t fill) noexcept nogil:
    """What holds the pattern of undefined registers is undefined: no id, address or count is that number."""
    cdef uint32_t i, lane
    cdef uint64_t lanes
    for i in range(<uint32_t>shadow_registers):
        shadow.undefined[i] = 0
    for i in range(128):
        if wave.sgpr[i] == fill and i != sgpr_m0 and i != sgpr_exec and i != sgpr_exec + 1:
            shadow.undefined[i] = all_bits
    for i in range(512):
        lanes = 0
        for lane in range(wave.lanes):
            lanes |= <uint64_t>(wave_vgpr(wave, i)[lane] == fill) << lane
        shadow.undefined[first_vgpr + i] = lanes
    shadow.scc = False
    shadow.scratch.assign(<size_t>wave.lanes * machine.scratch_bytes, 1)


# --------------------------------------------------------------------------------------------------------------- operands
cdef inline bint _is_register(uint16_t address) noexcept nogil:
    cdef uint32_t first = address >> 2
    return address != register_none and (first < 128 or first_vgpr <= first < shadow_registers) and first != sgpr_null


cdef inline uint32_t _dwords(const Wave *wave, uint32_t bytes) noexcept nogil:
    return max(<uint32_t>1, ((bytes if bytes else wave.lanes // 8) + 3) >> 2)


cdef uint64_t _lanes_of(const Shadow *shadow, const Wave *wave, uint16_t address, uint32_t bytes) noexcept nogil:
    """The lanes to which an operand is undefined: of several dwords, where all are."""
    cdef uint32_t first = address >> 2
    cdef uint32_t i
    cdef uint64_t lanes = ~(<uint64_t>0)
    if not _is_register(address):
        return 0
    if bytes == 0:                                          # a lane mask
        lanes = shadow.undefined[first]
        if wave.lanes == 64 and first + 1 < shadow_registers:
            lanes |= shadow.undefined[first + 1] << 32
        return lanes
    for i in range(_dwords(wave, bytes)):
        if first + i < shadow_registers:
            lanes &= shadow.undefined[first + i] if first >= first_vgpr else (~(<uint64_t>0) if shadow.undefined[first + i] else 0)
    return lanes


cdef void _set(Shadow *shadow, const Wave *wave, uint16_t address, uint32_t bytes, uint64_t active, uint64_t lanes) noexcept nogil:
    """A result that is undefined to `lanes` of the active ones."""
    cdef uint32_t first = address >> 2
    cdef uint32_t i
    if not _is_register(address):
        return
    if first < 128:
        if bytes == 0:
            shadow.undefined[first] = lanes & all_bits
            if wave.lanes == 64 and first < 127:
                shadow.undefined[first + 1] = lanes >> 32
            return
        for i in range(_dwords(wave, bytes)):
            if first + i < 128:
                shadow.undefined[first + i] = all_bits if lanes else 0
        return
    for i in range(_dwords(wave, bytes)):
        if first + i < shadow_registers:
            if bytes < 4:                                   # a part of a register
                shadow.undefined[first] &= ~active | lanes
            else:
                shadow.undefined[first + i] = (shadow.undefined[first + i] & ~active) | (lanes & active)


cdef bint _report(Undefined *found, uint8_t use, uint64_t lanes, uint32_t reg) noexcept nogil:
    found.use = use
    found.reg = <uint16_t>reg
    found.lane = 0
    while lanes and not (lanes >> found.lane) & 1:
        found.lane += 1
    return True


# --------------------------------------------------------------------------------------------------------------------- ALU
cdef bint _combines(uint32_t opcode) noexcept nogil:
    """Operations whose result may not depend on all of their sources."""
    return (opcode == <uint32_t>op_v_and_b32 or opcode == <uint32_t>op_v_or_b32 or opcode == <uint32_t>op_v_bfi_b32
            or opcode == <uint32_t>op_v_perm_b32 or opcode == <uint32_t>op_v_and_or_b32 or opcode == <uint32_t>op_v_or3_b32
            or opcode == <uint32_t>op_v_lshl_or_b32 or opcode == <uint32_t>op_v_alignbit_b32 or opcode == <uint32_t>op_v_alignbyte_b32
            or opcode == <uint32_t>op_v_pack_b32_f16)


cdef bint _crosses_lanes(const Instruction *instruction) noexcept nogil:
    """Results that other lanes or parts of registers take part in count as defined, and those of matrix operations."""
    cdef uint16_t format = instruction.decoded.format
    return instruction.operation == NULL or instruction.operation.packed or format & (format_dpp16 | format_dpp8 | format_sdwa)


cdef void _dual(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil:
    """VOPD: each half has two sources, and a result that is undefined where all of them that are registers are; not where it selects by VCC."""
    cdef uint64_t lanes[2]
    cdef uint32_t half, i
    cdef const LaneOperation *operation
    for half in range(2):
        lanes[half] = active
        operation = instruction.operation_y if half else instruction.operation
        for i in range(2 * half, 2 * half + 2):
            if i < 2 * half + operation.source_count and _is_register(instruction.decoded.source[i]):
                lanes[half] &= _lanes_of(shadow, wave, instruction.decoded.source[i], 4)
        if operation.source_count > 2 or not (_is_register(instruction.decoded.source[2 * half])
                                              or _is_register(instruction.decoded.source[2 * half + 1]) and operation.source_count > 1):
            lanes[half] = 0
    for half in range(2):
        _set(shadow, wave, instruction.decoded.destination[half], 4, active, lanes[half])


cdef void _vector(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t lanes = 0
    cdef uint64_t one, mask
    cdef uint32_t i
    cdef uint32_t registers = 0
    if instruction.operation_y != NULL:
        _dual(shadow, wave, instruction, active)
        return
    if _crosses_lanes(instruction):
        pass
    elif opcode == <uint32_t>op_v_cndmask_b32 and instruction.decoded.source_count == 3:
        mask = wave_mask(wave, instruction.decoded.source[2] >> 2) if instruction.decoded.source[2] >> 2 < 128 else 0
        lanes = _lanes_of(shadow, wave, instruction.decoded.source[2], 0)
        lanes |= mask & _lanes_of(shadow, wave, instruction.decoded.source[1], 4)
        lanes |= ~mask & _lanes_of(shadow, wave, instruction.decoded.source[0], 4)
    else:
        for i in range(instruction.decoded.source_count):
            if not _is_register(instruction.decoded.source[i]):
                continue
            one = _lanes_of(shadow, wave, instruction.decoded.source[i], instruction.decoded.source_bytes[i])
            lanes = one if not registers else (lanes & one if _combines(opcode) else lanes | one)
            registers += 1
    lanes &= active
    for i in range(instruction.decoded.destination_count):
        _set(shadow, wave, instruction.decoded.destination[i], instruction.decoded.destination_bytes[i], active, lanes)


cdef void _lane_move(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil:
    """V_READFIRSTLANE, V_READLANE, V_WRITELANE."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t bit = active & -active if active else 1
    cdef uint32_t lane
    if opcode != <uint32_t>op_v_readfirstlane_b32:
        if instruction.source[1].kind == operand_value:
            lane = <uint32_t>instruction.source[1].value
        else:
            lane = read_scalar(wave, instruction.source[1].index)
        bit = <uint64_t>1 << (lane & (wave.lanes - 1))
    _set(shadow, wave, instruction.decoded.destination[0], 4, bit, bit & _lanes_of(shadow, wave, instruction.decoded.source[0], 4))


cdef uint64_t _masked(const Shadow *shadow, const Wave *wave, const Instruction *instruction, uint32_t dword, bint zeros) noexcept nogil:
    """Bits of s_and (or s_or) that are undefined: those that no known zero (or one) of the other source decides."""
    cdef uint64_t bits = 0
    cdef uint64_t decided = 0
    cdef uint64_t own, value
    cdef uint32_t i, number
    for i in range(min(<uint32_t>instruction.decoded.source_count, <uint32_t>2)):
        number = instruction.decoded.source[i] >> 2
        own = shadow.undefined[number + dword] if _is_register(instruction.decoded.source[i]) and number + dword < 128 else 0
        if instruction.source[i].kind == operand_value:
            value = instruction.source[i].value >> (32 * dword)
        else:
            value = read_scalar(wave, number + dword)
        bits |= own
        decided |= ~own & (~value if zeros else value)
    return bits & ~decided & all_bits


cdef bint _compares(const Instruction *instruction) noexcept nogil:
    """Whether a scalar instruction has SCC as its only result."""
    return instruction.decoded.destination_count == 0


cdef void _scalar(Shadow *shadow, const Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t i, dword, number
    cdef bint any_undefined = False
    cdef uint64_t moved[2]
    for i in range(instruction.decoded.source_count):
        dword = max(<uint32_t>4, <uint32_t>instruction.decoded.source_bytes[i])
        any_undefined = any_undefined or _lanes_of(shadow, wave, instruction.decoded.source[i], dword) != 0
    if _compares(instruction):
        shadow.scc = any_undefined
        return
    number = instruction.decoded.destination[0] >> 2
    if not _is_register(instruction.decoded.destination[0]) or number >= 127:
        return
    for dword in range(2):
        moved[dword] = 0
        if opcode == <uint32_t>op_s_mov_b32 or opcode == <uint32_t>op_s_mov_b64:
            if _is_register(instruction.decoded.source[0]):
                moved[dword] = shadow.undefined[(instruction.decoded.source[0] >> 2) + dword]
        elif opcode == <uint32_t>op_s_and_b32 or opcode == <uint32_t>op_s_and_b64:
            moved[dword] = _masked(shadow, wave, instruction, dword, True)
        elif opcode == <uint32_t>op_s_or_b32 or opcode == <uint32_t>op_s_or_b64:
            moved[dword] = _masked(shadow, wave, instruction, dword, False)
        elif _computes(opcode):
            moved[dword] = all_bits if any_undefined else 0
    shadow.undefined[number] = moved[0]
    if instruction.decoded.destination_bytes[0] > 4 or (instruction.decoded.destination_bytes[0] == 0 and wave.lanes == 64):
        shadow.undefined[number + 1] = moved[1]
    shadow.scc = False


cdef bint _computes(uint32_t opcode) noexcept nogil:
    """Scalar operations whose result depends on both sources; what is not here has a defined one."""
    return (opcode == <uint32_t>op_s_add_u32 or opcode == <uint32_t>op_s_add_i32 or opcode == <uint32_t>op_s_sub_u32
            or opcode == <uint32_t>op_s_sub_i32 or opcode == <uint32_t>op_s_mul_i32 or opcode == <uint32_t>op_s_lshl_b32
            or opcode == <uint32_t>op_s_lshr_b32 or opcode == <uint32_t>op_s_ashr_i32 or opcode == <uint32_t>op_s_xor_b32)


cdef bint _uses(const Shadow *shadow, const Wave *wave, const Instruction *instruction, uint64_t active, Undefined *found) noexcept nogil:
    """Addresses and branches."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef const MemoryOperation *operation = memory_operation(opcode)
    cdef uint32_t i, addresses, first, dword
    cdef uint64_t lanes
    if (opcode == <uint32_t>op_s_cbranch_scc0 or opcode == <uint32_t>op_s_cbranch_scc1) and shadow.scc:
        return _report(found, use_branch, 0, 128)
    if opcode == <uint32_t>op_s_and_saveexec_b64 or opcode == <uint32_t>op_s_and_saveexec_b32:
        lanes = active & _lanes_of(shadow, wave, instruction.decoded.source[0], 0)
        if lanes:
            return _report(found, use_exec, lanes, instruction.decoded.source[0] >> 2)
    if operation.access == access_none or operation.access == access_nothing:
        return False
    addresses = 3 if instruction.unit == unit_vmem else 2 if instruction.unit == unit_flat or instruction.unit == unit_smem else 1
    if instruction.unit == unit_lds and operation.add_lane:
        return False
    for i in range(min(addresses, <uint32_t>instruction.decoded.source_count)):
        first = instruction.decoded.source[i] >> 2
        if not _is_register(instruction.decoded.source[i]):
            continue
        for dword in range(_dwords(wave, instruction.decoded.source_bytes[i])):
            if first + dword >= shadow_registers:
                continue
            lanes = shadow.undefined[first + dword]
            if lanes and (first < 128 or lanes & active):
                return _report(found, use_address, active if first < 128 else lanes & active, first + dword)
    return False


cdef bint shadow_before(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint64_t active, Undefined *found) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t i
    if _uses(shadow, wave, instruction, active, found):
        return True
    if instruction.unit == unit_valu:
        if wave.mode & mode_index_registers or opcode == <uint32_t>op_v_movreld_b32 or opcode == <uint32_t>op_v_movrelsd_b32:
            for i in range(512):                            # which register it writes is not followed
                shadow.undefined[first_vgpr + i] &= ~active
        elif (opcode == <uint32_t>op_v_readfirstlane_b32 or opcode == <uint32_t>op_v_readlane_b32 or opcode == <uint32_t>op_v_readlane_b32_e64
              or opcode == <uint32_t>op_v_writelane_b32 or opcode == <uint32_t>op_v_writelane_b32_e64):
            _lane_move(shadow, wave, instruction, active)
        else:
            _vector(shadow, wave, instruction, active)
    elif instruction.unit == unit_salu:
        _scalar(shadow, wave, instruction)
    return False


# ------------------------------------------------------------------------------------------------------------------ memory
cdef uint16_t _data_register(const Instruction *instruction, const MemoryOperation *operation, uint32_t dword) noexcept nogil:
    """The register that holds a dword of what is stored."""
    cdef uint32_t slot
    if instruction.unit == unit_lds:
        slot = 0 if operation.add_lane else 1
        if operation.pair and dword >= operation.dwords:
            return <uint16_t>(instruction.decoded.source[2] + 4 * (dword - operation.dwords))
    else:
        slot = 3 if instruction.unit == unit_vmem else 2
    return <uint16_t>(instruction.decoded.source[slot] + 4 * dword)


cdef uint8_t *_bytes_of(Shadow *shadow, vector[uint8_t] *lds, vector[uint8_t] *memory, uint64_t first, const Machine *machine,
                        const Access *access) noexcept nogil:
    """The shadow of LDS or scratch; NULL for other memory."""
    if access.space == space_scratch and access.address - first < memory.size() and access.address - first + access.bytes <= memory.size():
        return &memory[0][access.address - first]
    if access.space == space_scratch and memory.size():     # by a flat address: where in memory that lies is not followed
        if access.access_kind != access_kind_load:
            memory.assign(memory.size(), 0)
        return NULL
    if access.space == space_lds and access.address + access.bytes <= lds.size():
        return &lds[0][access.address]
    if access.space == space_scratch and access.address + access.bytes <= machine.scratch_bytes and shadow.scratch.size():
        return &shadow.scratch[access.lane * <size_t>machine.scratch_bytes + access.address]
    return NULL


cdef bint _store(Shadow *shadow, const Instruction *instruction, const MemoryOperation *operation, const Access *access, uint8_t *host,
                 uint32_t first, Undefined *found) noexcept nogil:
    """One entry of the log, whose data begins at dword `first`; True where an undefined value leaves the wave."""
    cdef uint32_t position, number
    cdef bint undefined
    for position in range(access.bytes):
        number = _data_register(instruction, operation, first + position // 4) >> 2
        undefined = first_vgpr <= number < shadow_registers and (shadow.undefined[number] >> access.lane) & 1
        if host != NULL:
            host[position] = undefined
        elif undefined and access.space == space_global:
            return _report(found, use_store, <uint64_t>1 << access.lane, number)
    return False


cdef void _load(Shadow *shadow, const Instruction *instruction, const Access *access, const uint8_t *host, uint32_t first) noexcept nogil:
    """A dword is undefined where all its bytes are."""
    cdef uint32_t position, number
    cdef uint32_t defined = 0
    for position in range(access.bytes):
        defined |= not host[position]
        if position & 3 == 3 or position + 1 == access.bytes:
            number = (instruction.decoded.destination[0] >> 2) + first + position // 4
            if not defined and first_vgpr <= number < shadow_registers:
                shadow.undefined[number] |= <uint64_t>1 << access.lane
            defined = 0


cdef bint shadow_after(Shadow *shadow, vector[uint8_t] *lds, vector[uint8_t] *memory, uint64_t first, const Machine *machine,
                       const Instruction *instruction, uint64_t active, const AccessLog *log, Undefined *found) noexcept nogil:
    cdef const MemoryOperation *operation = memory_operation(instruction.decoded.opcode)
    cdef const Access *access
    cdef uint8_t *host
    cdef uint32_t i, k, number
    cdef uint32_t lane = max_lanes
    cdef uint32_t dword = 0
    if unit_smem <= instruction.unit <= unit_lds:           # what it loads from elsewhere is defined
        for i in range(instruction.decoded.destination_count):
            number = instruction.decoded.destination[i] >> 2
            for k in range(max(<uint32_t>1, instruction.decoded.destination_bytes[i] // <uint32_t>4)):
                if number + k < 128:
                    shadow.undefined[number + k] = 0
                elif first_vgpr <= number + k < shadow_registers:
                    shadow.undefined[number + k] &= ~active
    if instruction.unit == unit_smem:
        return False
    for i in range(log.count):
        access = &log.entries[i]
        dword = 0 if access.lane != lane else dword
        lane = access.lane
        host = _bytes_of(shadow, lds, memory, first, machine, access)
        if access.access_kind == access_kind_store and operation.access == access_store:
            if _store(shadow, instruction, operation, access, host, dword, found):
                return True
        elif access.access_kind == access_kind_load and operation.access == access_load:
            if host != NULL and instruction.decoded.destination_count and operation.half == half_none:
                _load(shadow, instruction, access, host, dword)
        elif access.access_kind != access_kind_load and host != NULL:
            for k in range(access.bytes):
                host[k] = 0
        dword += max(<uint32_t>1, access.bytes // <uint32_t>4)
    return False
