"""Undefined values and their way to a use. The contract is in ``uninitialized.pxd``."""
from libc.stdint cimport int64_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset, strncmp, strstr
from libcpp.vector cimport vector

from isa_opcodes cimport *
from isa_tables cimport image_flag_lod, implicit_scc, opcode_implicit_definitions, opcode_name
from modifiers cimport modifier_sdwa_dst_sel, modifier_sdwa_dst_sext
from pyaco._core.common.machine cimport *
from pyaco._core.emu.access cimport *
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.image_operands cimport ImageOperands, open_operands
from pyaco._core.emu.image_view cimport ImageView, find_image, image_words
from pyaco._core.emu.lane_selection cimport dpp_select
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_inspect.waits cimport is_async_copy

cdef enum:
    first_vgpr = 256
    all_bits = 0xffffffffU
    sdwa_dword = 2
    sdwa_preserve = 16


cdef void shadow_start(Shadow *shadow, const Machine *machine, const Wave *wave, uint32_t fill) noexcept nogil:
    """What holds the pattern of undefined registers is undefined: no id, address or count is that number."""
    cdef uint32_t i, lane
    cdef uint64_t lanes
    for i in range(<uint32_t>shadow_registers):
        shadow.undefined[i] = 0
    for i in range(128):
        if wave.sgpr[i] == fill and i != sgpr_m0 and i != sgpr_exec and i != sgpr_exec + 1:
            shadow.undefined[i] = all_bits
    for i in range(vgprs_of(machine.gfx_level)):
        lanes = 0
        for lane in range(wave.lanes):
            lanes |= <uint64_t>(wave_vgpr(wave, i)[lane] == fill) << lane
        shadow.undefined[first_vgpr + i] = lanes
    shadow.scc = False
    shadow.index = wave.index
    memset(shadow.reading, 0, sizeof(shadow.reading))
    memset(&shadow.seen, 0, sizeof(shadow.seen))
    shadow.scratch.assign(<size_t>wave.lanes * machine.scratch_bytes, 1)


# --------------------------------------------------------------------------------------------------------------- operands
cdef inline bint _is_register(uint16_t address) noexcept nogil:
    cdef uint32_t first = address >> 2
    return address != register_none and (first < 128 or first_vgpr <= first < shadow_registers) and first != sgpr_null


cdef inline uint32_t _dwords(const Wave *wave, uint32_t bytes) noexcept nogil:
    return max(<uint32_t>1, ((bytes if bytes else wave.lanes // 8) + 3) >> 2)


cdef inline uint64_t _whole_wave(const Wave *wave) noexcept nogil:
    return ~(<uint64_t>0) >> (64 - wave.lanes)


cdef uint64_t _lanes_of(Shadow *shadow, const Wave *wave, uint16_t address, uint32_t bytes) noexcept nogil:
    """The lanes to which an operand is undefined: of several dwords, where all are. Notes where it came from."""
    cdef uint32_t first = address >> 2
    cdef uint32_t i
    cdef uint64_t lanes = _whole_wave(wave)
    if not _is_register(address):
        return 0
    if bytes == 0:                                          # a lane mask
        lanes = shadow.undefined[first]
        if wave.lanes == 64 and first + 1 < shadow_registers:
            lanes |= shadow.undefined[first + 1] << 32
    else:
        for i in range(_dwords(wave, bytes)):
            if first + i < shadow_registers:
                lanes &= shadow.undefined[first + i] if first >= first_vgpr else (~(<uint64_t>0) if shadow.undefined[first + i] else 0)
    if lanes:
        shadow.seen = shadow.reading[first]
    return lanes


cdef void _set(Shadow *shadow, const Wave *wave, uint16_t address, uint32_t bytes, uint64_t written, uint64_t lanes) noexcept nogil:
    """A result that is undefined to `lanes` of those that are written."""
    cdef uint32_t first = address >> 2
    cdef uint32_t i
    if not _is_register(address):
        return
    if first < 128 and bytes == 0:
        shadow.undefined[first] = lanes & all_bits
        shadow.reading[first] = shadow.seen
        if wave.lanes == 64 and first < 127:
            shadow.undefined[first + 1] = lanes >> 32
            shadow.reading[first + 1] = shadow.seen
        return
    for i in range(_dwords(wave, bytes)):
        if first < 128:
            if first + i < 128:
                shadow.undefined[first + i] = all_bits if lanes else 0
                shadow.reading[first + i] = shadow.seen
            continue
        if first + i >= shadow_registers:
            return
        if bytes < 4:                                       # a part of a register
            shadow.undefined[first] &= ~written | lanes
            continue
        shadow.undefined[first + i] = (shadow.undefined[first + i] & ~written) | (lanes & written)
        if lanes & written:
            shadow.reading[first + i] = shadow.seen


cdef bint _report(Undefined *found, const Reading *reading, uint8_t use, uint64_t lanes, uint32_t reg) noexcept nogil:
    found.reading = reading[0]
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


cdef inline bint _is_matrix(const Instruction *instruction) noexcept nogil:
    return instruction.operation == NULL and instruction.decoded.format & format_vop3p and (
        strncmp(opcode_name[instruction.decoded.opcode], "v_mfma", 6) == 0 or strncmp(opcode_name[instruction.decoded.opcode], "v_smfmac", 8) == 0
        or strncmp(opcode_name[instruction.decoded.opcode], "v_wmma", 6) == 0 or strncmp(opcode_name[instruction.decoded.opcode], "v_swmmac", 8) == 0)


cdef bint _inserts_byte(uint32_t opcode) noexcept nogil:
    """Operations that put a byte into a register and keep the others."""
    return (opcode == <uint32_t>op_v_cvt_sr_fp8_f32 or opcode == <uint32_t>op_v_cvt_sr_bf8_f32 or opcode == <uint32_t>op_v_cvt_pkaccum_u8_f32)


cdef uint64_t _lines_of(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint32_t slot, bint whole) noexcept nogil:
    """The lanes in which a register of a factor is undefined; `whole`: all of its registers."""
    cdef uint16_t address = instruction.decoded.source[slot]
    cdef uint32_t first = address >> 2
    cdef uint32_t i
    cdef uint64_t lanes = 0
    if whole or address < 4 * first_vgpr or not _is_register(address):
        return _lanes_of(shadow, wave, address, instruction.decoded.source_bytes[slot])
    for i in range(min(_dwords(wave, instruction.decoded.source_bytes[slot]), <uint32_t>(shadow_registers - first))):
        if shadow.undefined[first + i]:
            lanes |= shadow.undefined[first + i]
            shadow.seen = shadow.reading[first + i]
    return lanes


cdef inline uint64_t _same_line(uint64_t lanes) noexcept nogil:
    """All lanes that hold the same rows or columns, of 16, as some lanes."""
    lanes |= lanes >> 32
    lanes = (lanes | lanes >> 16) & 0xffff
    return lanes * 0x0001000100010001ULL


cdef uint64_t _undefined_products(Shadow *shadow, const Wave *wave, const Instruction *instruction, bint sparse) noexcept nogil:
    """The lanes of the result, in each of its registers, to which a factor makes all elements undefined.

    A lane holds elements of one row of A, of a column of B and of the result. One that is undefined makes the whole row or column undefined; a
    column of a wave matrix is lanes of the result, rows count where all of them are. Of a sparse operation, rows of A choose elements of B;
    of 32 rows, a register of A holds only half.
    """
    cdef const char *name = opcode_name[instruction.decoded.opcode]
    cdef uint64_t whole = _whole_wave(wave)
    cdef uint64_t rows = _lines_of(shadow, wave, instruction, 0, strstr(name, "_32x16x") != NULL)
    cdef uint64_t columns = _lines_of(shadow, wave, instruction, 1, sparse)
    if name[2] == c'w' or name[3] == c'w':                  # v_wmma, v_swmmac
        rows, columns = _same_line(rows), _same_line(columns)
    elif columns & whole != whole:
        columns = 0
    return whole if rows & whole == whole else columns & whole


cdef void _matrix(Shadow *shadow, const Wave *wave, const Instruction *instruction) noexcept nogil:
    """Each element of the sum is added to the same element of the result."""
    cdef const char *name = opcode_name[instruction.decoded.opcode]
    cdef bint halves = strncmp(name, "v_wmma_f16", 10) == 0 or strncmp(name, "v_wmma_bf16", 11) == 0
    cdef bint sparse = strncmp(name, "v_s", 3) == 0
    cdef uint16_t destination = instruction.decoded.destination[0]
    cdef uint16_t sum_ = destination if sparse else instruction.decoded.source[2]
    cdef uint32_t count = _dwords(wave, instruction.decoded.destination_bytes[0])
    cdef uint64_t everywhere = _undefined_products(shadow, wave, instruction, sparse)
    cdef uint64_t lanes[32]
    cdef uint32_t i
    for i in range(min(count, <uint32_t>32)):
        lanes[i] = everywhere | _lanes_of(shadow, wave, <uint16_t>(sum_ + 4 * i), 4) if _is_register(sum_) else everywhere
        if halves:                                          # may keep the other halves
            lanes[i] &= _lanes_of(shadow, wave, <uint16_t>(destination + 4 * i), 4)
    for i in range(min(count, <uint32_t>32)):
        _set(shadow, wave, <uint16_t>(destination + 4 * i), 4, _whole_wave(wave), lanes[i])


cdef uint64_t _moved(uint64_t lanes, const int8_t *selected, uint32_t count) noexcept nogil:
    """Undefined lanes of a source as DPP moves them; what comes from nowhere is zero."""
    cdef uint64_t moved = 0
    cdef uint32_t lane
    if lanes:
        for lane in range(count):
            if selected[lane] >= 0 and lanes >> selected[lane] & 1:
                moved |= <uint64_t>1 << lane
    return moved


cdef uint64_t _part_of_sdwa(const Shadow *shadow, const Instruction *instruction, uint64_t lanes) noexcept nogil:
    """Lanes to which the whole register is undefined, of which SDWA writes a part."""
    cdef uint32_t selection = modifier_sdwa_dst_sel(instruction.decoded.modifiers)
    cdef uint32_t reg = instruction.decoded.destination[0] >> 2
    if instruction.decoded.destination_count == 0 or reg < first_vgpr or reg >= shadow_registers or selection & 3 == sdwa_dword:
        return lanes
    if selection & sdwa_preserve:
        return lanes & shadow.undefined[reg]
    return lanes if modifier_sdwa_dst_sext(instruction.decoded.modifiers) and selection >> 2 & 3 == 0 else 0


cdef void _dual(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil:
    """VOPD: each half has two sources, or three, and a result that is undefined where all of its one or two that are registers are."""
    cdef uint64_t lanes[2]
    cdef uint32_t half, i, first
    cdef uint32_t places = 3 if instruction.decoded.format & format_vop3 else 2
    cdef const LaneOperation *operation
    for half in range(2):
        lanes[half] = active
        first = places * half
        operation = instruction.operation_y if half else instruction.operation
        for i in range(first, first + 2):
            if i < first + operation.source_count and _is_register(instruction.decoded.source[i]):
                lanes[half] &= _lanes_of(shadow, wave, instruction.decoded.source[i], instruction.decoded.source_bytes[i])
        if operation.source_count > 2 or not (_is_register(instruction.decoded.source[first])
                                              or _is_register(instruction.decoded.source[first + 1]) and operation.source_count > 1):
            lanes[half] = 0
    for half in range(2):
        _set(shadow, wave, instruction.decoded.destination[half], instruction.decoded.destination_bytes[half], active, lanes[half])


cdef uint64_t _undefined_result(Shadow *shadow, const Wave *wave, const Instruction *instruction, const int8_t *selected) noexcept nogil:
    """The lanes of a lane operation's results that depend on undefined sources; `selected`: the lanes that DPP reads, or NULL."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t lanes = 0
    cdef uint64_t one, mask
    cdef uint64_t own[3]
    cdef uint32_t i
    cdef uint32_t registers = 0
    if opcode == <uint32_t>op_v_cndmask_b32 and instruction.decoded.source_count == 3:
        mask = wave_mask(wave, instruction.decoded.source[2] >> 2) if instruction.decoded.source[2] >> 2 < 128 else 0
        for i in range(3):
            own[i] = _lanes_of(shadow, wave, instruction.decoded.source[i], 0 if i == 2 else 4)
        if selected != NULL:
            own[0] = _moved(own[0], selected, wave.lanes)
        return own[2] | mask & own[1] | ~mask & own[0]
    for i in range(instruction.decoded.source_count):
        if not _is_register(instruction.decoded.source[i]):
            continue
        one = _lanes_of(shadow, wave, instruction.decoded.source[i], instruction.decoded.source_bytes[i])
        if i == 0 and selected != NULL:
            one = _moved(one, selected, wave.lanes)
        lanes = one if not registers else (lanes & one if _combines(opcode) else lanes | one)
        registers += 1
    if adds_to_result(instruction):
        one = _lanes_of(shadow, wave, instruction.decoded.destination[0], instruction.decoded.destination_bytes[0])
        lanes = lanes & one if _inserts_byte(opcode) else lanes | one
    elif _inserts_byte(opcode):
        lanes &= _lanes_of(shadow, wave, instruction.decoded.destination[0], 4)
    return lanes


cdef void _vector(Shadow *shadow, const Machine *machine, const Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t lanes = 0
    cdef uint64_t written = active
    cdef int8_t selection[max_lanes]
    cdef const int8_t *selected = NULL
    cdef uint32_t i
    if instruction.operation_y != NULL:
        _dual(shadow, wave, instruction, active)
        return
    if _is_matrix(instruction):
        _matrix(shadow, wave, instruction)
        return
    if opcode == <uint32_t>op_v_accvgpr_read_b32 or opcode == <uint32_t>op_v_accvgpr_write_b32 or opcode == <uint32_t>op_v_accvgpr_mov_b32:
        lanes = _lanes_of(shadow, wave, instruction.decoded.source[0], 4)
    elif instruction.operation != NULL:
        if instruction.decoded.format & (format_dpp16 | format_dpp8):
            written &= dpp_select(machine, wave, instruction, selection)
            selected = selection
        lanes = _undefined_result(shadow, wave, instruction, selected)
        if instruction.decoded.format & format_sdwa:
            lanes = _part_of_sdwa(shadow, instruction, lanes)
    lanes &= written
    for i in range(instruction.decoded.destination_count):
        _set(shadow, wave, instruction.decoded.destination[i], instruction.decoded.destination_bytes[i], written, lanes)


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


cdef uint64_t _masked(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint32_t dword, bint zeros) noexcept nogil:
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
        if own:
            shadow.seen = shadow.reading[number + dword]
        decided |= ~own & (~value if zeros else value)
    return bits & ~decided & all_bits


cdef uint64_t _chosen(Shadow *shadow, const Wave *wave, const Instruction *instruction, uint32_t dword) noexcept nogil:
    """Bits of s_cselect that are undefined: those of the source that SCC chooses, whatever the other one is; all, where nobody knows which."""
    cdef uint16_t source = instruction.decoded.source[0 if wave.scc else 1]
    cdef uint32_t number = (source >> 2) + dword
    if shadow.scc:
        return all_bits
    if not _is_register(source) or number >= 128:
        return 0
    if shadow.undefined[number]:
        shadow.seen = shadow.reading[number]
    return shadow.undefined[number]


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
                if moved[dword]:
                    shadow.seen = shadow.reading[(instruction.decoded.source[0] >> 2) + dword]
        elif opcode == <uint32_t>op_s_cselect_b32 or opcode == <uint32_t>op_s_cselect_b64:
            moved[dword] = _chosen(shadow, wave, instruction, dword)
        elif opcode == <uint32_t>op_s_and_b32 or opcode == <uint32_t>op_s_and_b64:
            moved[dword] = _masked(shadow, wave, instruction, dword, True)
        elif opcode == <uint32_t>op_s_or_b32 or opcode == <uint32_t>op_s_or_b64:
            moved[dword] = _masked(shadow, wave, instruction, dword, False)
        elif _computes(opcode):
            moved[dword] = all_bits if any_undefined else 0
    shadow.undefined[number] = moved[0]
    shadow.reading[number] = shadow.seen
    if instruction.decoded.destination_bytes[0] > 4 or (instruction.decoded.destination_bytes[0] == 0 and wave.lanes == 64):
        shadow.undefined[number + 1] = moved[1]
        shadow.reading[number + 1] = shadow.seen
    if opcode_implicit_definitions[opcode] & implicit_scc:
        shadow.scc = False


cdef bint _computes(uint32_t opcode) noexcept nogil:
    """Scalar operations whose result depends on both sources; what is not here has a defined one."""
    return (opcode == <uint32_t>op_s_add_u32 or opcode == <uint32_t>op_s_add_i32 or opcode == <uint32_t>op_s_sub_u32
            or opcode == <uint32_t>op_s_sub_i32 or opcode == <uint32_t>op_s_mul_i32 or opcode == <uint32_t>op_s_lshl_b32
            or opcode == <uint32_t>op_s_lshr_b32 or opcode == <uint32_t>op_s_ashr_i32 or opcode == <uint32_t>op_s_xor_b32)


cdef inline bint _is_image(const Instruction *instruction) noexcept nogil:
    return instruction.unit == unit_vmem and strncmp(opcode_name[instruction.decoded.opcode], "image_", 6) == 0


cdef inline bint _is_address(const Instruction *instruction, uint32_t source, uint32_t addresses) noexcept nogil:
    """Whether a source chooses what is reached: of images, all (descriptors, coordinates) but the third, which is data."""
    return source != 2 if _is_image(instruction) else source < addresses


cdef uint32_t _image_address_dwords(const Machine *machine, const Wave *wave, const Instruction *instruction) noexcept nogil:
    """Registers that hold the address of an image instruction before GFX10, where the descriptor says how many coordinates there are."""
    cdef uint32_t words[image_words]
    cdef const ImageView *view
    cdef ImageOperands operands
    cdef uint32_t i
    cdef uint8_t level = memory_operation(instruction.decoded.opcode).level
    for i in range(<uint32_t>image_words):
        words[i] = read_scalar(wave, (instruction.decoded.source[0] >> 2) + i)
    view = find_image(machine.descriptors, words)
    if view == NULL or view.problem or instruction.decoded.opcode == op_image_get_resinfo:
        return 1
    open_operands(&operands, instruction, view, machine.gfx_level)
    i = operands.coordinates + ((operands.flags & image_flag_lod) != 0 or level == level_given or level == level_clamped)
    return operands.coordinates_at + ((i + 1) // 2 if operands.narrow else i)


cdef inline uint32_t _dwords_of(const Machine *machine, const Wave *wave, const Instruction *instruction, uint32_t source) noexcept nogil:
    if source == 3 and machine.gfx_level < 100 and _is_image(instruction):
        return _image_address_dwords(machine, wave, instruction)
    return _dwords(wave, instruction.decoded.source_bytes[source])


cdef bint _uses(Shadow *shadow, const Machine *machine, const Wave *wave, const Instruction *instruction, uint64_t active,
                Undefined *found) noexcept nogil:
    """Addresses and branches."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef const MemoryOperation *operation = memory_operation(opcode)
    cdef uint32_t i, addresses, first, dword
    cdef uint64_t lanes
    if (opcode == <uint32_t>op_s_cbranch_scc0 or opcode == <uint32_t>op_s_cbranch_scc1) and shadow.scc:
        return _report(found, &shadow.seen, use_branch, 0, 128)
    if opcode == <uint32_t>op_s_and_saveexec_b64 or opcode == <uint32_t>op_s_and_saveexec_b32:
        lanes = active & _lanes_of(shadow, wave, instruction.decoded.source[0], 0)
        if lanes:
            return _report(found, &shadow.seen, use_exec, lanes, instruction.decoded.source[0] >> 2)
    if operation.access == access_none or operation.access == access_nothing:
        return False
    addresses = 3 if instruction.unit == unit_vmem else 2 if instruction.unit == unit_flat or instruction.unit == unit_smem else 1
    if instruction.unit == unit_lds and operation.add_lane:
        return False
    if is_async_copy(instruction):
        first = (instruction.decoded.destination[0] if operation.access == access_async_to_lds else instruction.decoded.source[2]) >> 2
        lanes = active & shadow.undefined[first]
        if lanes:
            return _report(found, &shadow.reading[first], use_address, lanes, first)
    for i in range(instruction.decoded.source_count):
        first = instruction.decoded.source[i] >> 2
        if not _is_address(instruction, i, addresses) or not _is_register(instruction.decoded.source[i]):
            continue
        for dword in range(_dwords_of(machine, wave, instruction, i)):
            if first + dword >= shadow_registers:
                continue
            lanes = shadow.undefined[first + dword]
            if lanes and (first < 128 or lanes & active):
                return _report(found, &shadow.reading[first + dword], use_address, active if first < 128 else lanes & active, first + dword)
    return False


cdef bint shadow_before(Shadow *shadow, const Machine *machine, const Wave *wave, const Instruction *instruction, uint64_t active,
                        Undefined *found) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t i
    if _uses(shadow, machine, wave, instruction, active, found):
        return True
    if instruction.unit == unit_valu:
        if wave.mode & mode_index_registers or opcode == <uint32_t>op_v_movreld_b32 or opcode == <uint32_t>op_v_movrelsd_b32:
            for i in range(vgprs_of(machine.gfx_level)):    # which register it writes is not followed
                shadow.undefined[first_vgpr + i] &= ~active
        elif (opcode == <uint32_t>op_v_readfirstlane_b32 or opcode == <uint32_t>op_v_readlane_b32 or opcode == <uint32_t>op_v_readlane_b32_e64
              or opcode == <uint32_t>op_v_writelane_b32 or opcode == <uint32_t>op_v_writelane_b32_e64):
            _lane_move(shadow, wave, instruction, active)
        else:
            _vector(shadow, machine, wave, instruction, active)
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


cdef uint8_t *_unwritten_of(vector[UnwrittenMemory] *regions, const Access *access) noexcept nogil:
    """The map of an access to device memory that was allocated without data; else NULL."""
    cdef size_t first = 0
    cdef size_t last = regions.size()
    cdef size_t middle
    cdef uint64_t offset
    while first < last:
        middle = (first + last) // 2
        if regions[0][middle].first <= access.address:
            first = middle + 1
        else:
            last = middle
    if first == 0:
        return NULL
    offset = access.address - regions[0][first - 1].first
    return regions[0][first - 1].unwritten + offset if offset + access.bytes <= regions[0][first - 1].bytes else NULL


cdef uint8_t *_bytes_of(Shadow *shadow, vector[uint8_t] *lds, vector[uint8_t] *memory, uint64_t first, vector[UnwrittenMemory] *regions,
                        const Machine *machine, const Access *access) noexcept nogil:
    """The map of what an access reaches; NULL for memory that counts as written."""
    cdef Shadow *owner
    cdef uint64_t offset
    if access.space == space_global:
        return _unwritten_of(regions, access) if regions.size() else NULL
    if access.space == space_scratch and access.address - first < memory.size() and access.address - first + access.bytes <= memory.size():
        return &memory[0][access.address - first]
    if access.space == space_scratch and memory.size():     # by a flat address: where in memory that lies is not followed
        if access.access_kind != access_kind_load:
            memory.assign(memory.size(), 0)
        return NULL
    if access.space == space_lds and access.address + access.bytes <= lds.size():
        return &lds[0][access.address]
    if access.space == space_scratch and is_flat_scratch(access.address):
        owner = shadow + (<int64_t>wave_of_scratch(access.address) - shadow.index)
        offset = access.address & 0xffffffffU
        if offset + access.bytes > machine.scratch_bytes or owner.scratch.empty():
            return NULL
        return &owner.scratch[lane_of_scratch(access.address) * <size_t>machine.scratch_bytes + offset]
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
        if undefined and access.space == space_global:
            return _report(found, &shadow.reading[number], use_store, <uint64_t>1 << access.lane, number)
        if host != NULL:
            host[position] = undefined
    return False


cdef void _load(Shadow *shadow, const Instruction *instruction, const MemoryOperation *operation, const Access *access, const uint8_t *host,
                uint32_t first, uint64_t kept) noexcept nogil:
    """A dword is undefined where all its bytes are; `kept`: the lanes to which the register was, of which half is loaded."""
    cdef uint32_t position, number
    cdef uint32_t defined = 0
    for position in range(access.bytes):
        defined |= not host[position]
        if position & 3 != 3 and position + 1 != access.bytes:
            continue
        number = (instruction.decoded.destination[0] >> 2) + first + position // 4
        if not defined and number < shadow_registers and (operation.half == half_none or kept >> access.lane & 1):
            if not shadow.undefined[number] & ((<uint64_t>1 << access.lane) - 1):
                shadow.reading[number] = Reading(instruction.pc, access.address + (position & ~<uint32_t>3), instruction.decoded.opcode, access.space)
            shadow.undefined[number] |= <uint64_t>1 << access.lane if number >= first_vgpr else all_bits
        defined = 0


cdef bint _atomic(const Instruction *instruction, const MemoryOperation *operation, const Access *access, uint8_t *host,
                  Undefined *found) noexcept nogil:
    """It writes its bytes; True where it computes with device memory of which nobody wrote any."""
    cdef Reading reading
    cdef uint32_t k
    cdef uint32_t written = 0
    for k in range(access.bytes):
        written |= not host[k]
        host[k] = 0
    if written or operation.access != access_atomic or operation.atomic == atomic_swap or access.space != space_global:
        return False
    reading = Reading(instruction.pc, access.address, instruction.decoded.opcode, access.space)
    return _report(found, &reading, use_atomic, <uint64_t>1 << access.lane, shadow_registers)


cdef bint _image_access(Shadow *shadow, const Instruction *instruction, const Access *access, uint8_t *host, Undefined *found) noexcept nogil:
    """A texel that is read or written; True where an undefined value leaves the wave. What is read of a texel that nobody wrote is undefined."""
    cdef uint32_t data = access.access_kind == access_kind_store
    cdef uint16_t register_ = instruction.decoded.source[2] if data else instruction.decoded.destination[0]
    cdef uint32_t dwords = (instruction.decoded.source_bytes[2] if data else instruction.decoded.destination_bytes[0]) // 4
    cdef uint32_t defined = 0
    cdef uint32_t k
    for k in range(access.bytes if host != NULL else 0):
        defined |= not host[k]
        if data:
            host[k] = 0
    if not data and (host == NULL or defined):
        return False
    for k in range(register_ >> 2, (register_ >> 2) + dwords):
        if not first_vgpr <= k < shadow_registers:
            continue
        if data and shadow.undefined[k] >> access.lane & 1:
            return _report(found, &shadow.reading[k], use_store, <uint64_t>1 << access.lane, k)
        if not data:
            if not shadow.undefined[k] & ((<uint64_t>1 << access.lane) - 1):
                shadow.reading[k] = Reading(instruction.pc, access.address, instruction.decoded.opcode, access.space)
            shadow.undefined[k] |= <uint64_t>1 << access.lane
    return False


cdef bint _copy(Shadow *shadow, vector[uint8_t] *lds, vector[uint8_t] *memory, uint64_t first, vector[UnwrittenMemory] *regions,
                const Machine *machine, const Instruction *instruction, const AccessLog *log, Undefined *found) noexcept nogil:
    """Copies between memory and LDS, which log an access to memory and then one to LDS for each lane; True where what is undefined leaves LDS."""
    cdef bint loads = memory_operation(instruction.decoded.opcode).access == access_async_to_lds
    cdef const Access *access
    cdef uint8_t *outside
    cdef uint8_t *inside
    cdef Reading reading
    cdef uint32_t i, k, defined
    for i in range(0, log.count - log.count % 2, 2):
        access = &log.entries[i]
        outside = _bytes_of(shadow, lds, memory, first, regions, machine, access)
        inside = _bytes_of(shadow, lds, memory, first, regions, machine, &log.entries[i + 1])
        defined = inside == NULL
        for k in range(min(access.bytes, log.entries[i + 1].bytes)):
            if loads and inside != NULL:
                inside[k] = outside[k] if outside != NULL else 0
            elif not loads:
                defined |= inside == NULL or not inside[k]
                if outside != NULL:
                    outside[k] = 0
            if not loads and (k & 3 == 3 or k + 1 == access.bytes):
                if not defined:
                    reading = Reading(instruction.pc, log.entries[i + 1].address + (k & ~<uint32_t>3), instruction.decoded.opcode, space_lds)
                    return _report(found, &reading, use_store, <uint64_t>1 << access.lane, shadow_registers)
                defined = inside == NULL
    return False


cdef uint64_t _clear_loaded(Shadow *shadow, const Instruction *instruction, uint64_t active) noexcept nogil:
    """What a memory instruction loads is defined, until it turns out not to be; returns the lanes to which the first register was undefined."""
    cdef uint32_t i, k, number
    cdef uint64_t kept = 0
    for i in range(instruction.decoded.destination_count):
        number = instruction.decoded.destination[i] >> 2
        if i == 0 and first_vgpr <= number < shadow_registers:
            kept = shadow.undefined[number]
        for k in range(max(<uint32_t>1, instruction.decoded.destination_bytes[i] // <uint32_t>4)):
            if number + k < 128:
                shadow.undefined[number + k] = 0
            elif first_vgpr <= number + k < shadow_registers:
                shadow.undefined[number + k] &= ~active
    return kept


cdef bint shadow_after(Shadow *shadow, vector[uint8_t] *lds, vector[uint8_t] *memory, uint64_t first, vector[UnwrittenMemory] *regions,
                       const Machine *machine, const Instruction *instruction, uint64_t active, const AccessLog *log,
                       Undefined *found) noexcept nogil:
    cdef const MemoryOperation *operation = memory_operation(instruction.decoded.opcode)
    cdef const Access *access
    cdef uint8_t *host
    cdef uint32_t i
    cdef uint32_t lane = max_lanes
    cdef uint32_t dword = 0
    cdef uint64_t kept = 0
    cdef bint is_image = _is_image(instruction)
    if is_async_copy(instruction):
        return _copy(shadow, lds, memory, first, regions, machine, instruction, log, found)
    if unit_smem <= instruction.unit <= unit_lds:
        kept = _clear_loaded(shadow, instruction, active)
    for i in range(log.count):
        access = &log.entries[i]
        dword = 0 if access.lane != lane else dword
        lane = access.lane
        host = _bytes_of(shadow, lds, memory, first, regions, machine, access)
        if is_image and access.access_kind != access_kind_atomic:
            if _image_access(shadow, instruction, access, host, found):
                return True
            continue
        if access.access_kind == access_kind_store and operation.access == access_store and instruction.unit != unit_smem:
            if _store(shadow, instruction, operation, access, host, dword, found):
                return True
        elif access.access_kind == access_kind_load and operation.access == access_load:
            if host != NULL and instruction.decoded.destination_count:
                _load(shadow, instruction, operation, access, host, dword, kept)
        elif access.access_kind != access_kind_load and host != NULL and _atomic(instruction, operation, access, host, found):
            return True
        dword += max(<uint32_t>1, access.bytes // <uint32_t>4)
    return False
