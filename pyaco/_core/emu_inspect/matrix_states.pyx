"""Wait states around matrix operations. The contract is in ``matrix_states.pxd``."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport strncmp

from isa_opcodes cimport *
from isa_tables cimport (
    hazard_dot, hazard_lane_access, hazard_matrix_double, hazard_matrix_single, hazard_matrix_xdl, hazard_transcendental, isa_hazards, opcode_name,
)
from pyaco._core.emu.cycles cimport matrix_passes
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_inspect.history cimport *
from pyaco._core.emu_inspect.waits cimport Finding

cdef enum:
    cdna1 = 91
    cdna2 = 92
    cdna3 = 94
    cdna4 = 95
    first_vgpr = 256
    first_agpr = 512
    slot_sum = 2                      # C of MFMA; SMFMAC has its index there


# ------------------------------------------------------------------------------------------------------------------- classes
cdef inline uint8_t _matrix_unit(uint32_t classes) noexcept nogil:
    if classes & hazard_matrix_double:
        return matrix_double
    if classes & hazard_matrix_single:
        return matrix_single
    return matrix_narrow if classes & hazard_matrix_xdl else matrix_none


cdef inline bint _reads_lane(uint32_t opcode) noexcept nogil:
    return opcode == <uint32_t>op_v_readlane_b32 or opcode == <uint32_t>op_v_readlane_b32_e64 or opcode == <uint32_t>op_v_readfirstlane_b32


cdef bint _is_memory(const Instruction *instruction) noexcept nogil:
    return instruction.unit == unit_vmem or instruction.unit == unit_flat or instruction.unit == unit_lds


cdef bint _is_row_swap(uint32_t opcode) noexcept nogil:
    return opcode == <uint32_t>op_v_permlane16_swap_b32 or opcode == <uint32_t>op_v_permlane32_swap_b32


cdef uint32_t _sum_slot(const Instruction *instruction) noexcept nogil:
    return 3 if strncmp(opcode_name[instruction.decoded.opcode], "v_smf", 5) == 0 else <uint32_t>slot_sum


# ------------------------------------------------------------------------------------------------------- numbers of the pairs
cdef int32_t _slower(const Event *product, uint32_t gfx_level, bint longer_only) noexcept nogil:
    """CDNA 4 takes a state more for the results of XDL; of two passes only where XDL reads them as sums."""
    return product.unit == matrix_narrow and gfx_level == cdna4 and not (longer_only and product.passes == 2)


cdef int32_t _states_to_sum(const Event *product, const Instruction *instruction, uint32_t gfx_level, bint whole) noexcept nogil:
    """Between a matrix operation and one that reads its result as C; `whole`: the very same registers."""
    cdef uint8_t unit = _matrix_unit(isa_hazards(gfx_level, instruction.decoded.opcode))
    if gfx_level == cdna1:
        return 0 if whole else 2
    if product.unit == matrix_double:
        if unit != matrix_double and (gfx_level < cdna3 or unit == matrix_narrow):
            return 0
        if whole:
            return 4 if product.passes == 4 and instruction.decoded.opcode == <uint32_t>op_v_mfma_f64_4x4x4f64 else 0
        return 4 if product.passes == 4 else product.passes + 1
    if whole:
        return 2 if gfx_level >= cdna3 and product.passes == 2 else 0
    if gfx_level < cdna3:
        return product.passes + (unit == matrix_double)
    if product.unit == matrix_single:
        return 0 if unit == matrix_narrow else product.passes
    return product.passes + 1 + _slower(product, gfx_level, unit != matrix_narrow)


cdef int32_t _states_to_factor(const Event *product, uint32_t gfx_level) noexcept nogil:
    """Between a matrix operation and one that reads its result as A, B or index, or a vector instruction that reads or writes it."""
    if gfx_level == cdna1:
        return 4
    if product.unit == matrix_double:
        return 6 if product.passes == 4 else product.passes + 3
    return product.passes + (2 if product.unit == matrix_single and gfx_level >= cdna3 else 3) + _slower(product, gfx_level, True)


cdef int32_t _states_to_memory(const Event *product, uint32_t gfx_level) noexcept nogil:
    """Between a matrix operation and a memory instruction that reads its result."""
    if product.unit == matrix_double:
        return 9 if product.passes == 4 else 18
    return _states_to_factor(product, gfx_level)


# ---------------------------------------------------------------------------------------------------------------- operands
cdef bint _product_early(const History *history, const Wave *wave, uint16_t address, uint32_t bytes, const Instruction *instruction,
                         uint32_t gfx_level, bint as_sum, bint write, Finding *finding) noexcept nogil:
    """A register that a matrix operation has written and this instruction reads or writes."""
    cdef uint32_t first = address >> 2
    cdef uint32_t count = register_count(wave, address, bytes)
    cdef uint32_t i
    cdef int32_t states
    cdef const Event *product
    if first < first_vgpr:
        return False
    for i in range(count):
        product = &history.matrix_write[first + i]
        if not product.passes or history.now - product.time > 20:
            continue
        if as_sum:
            states = _states_to_sum(product, instruction, gfx_level, product.first == first and product.count == count)
        elif _is_memory(instruction) and not write:
            states = _states_to_memory(product, gfx_level)
        elif gfx_level == cdna1 and not _matrix_unit(isa_hazards(gfx_level, instruction.decoded.opcode)):
            states = product.passes + 2 if not write else product.passes - 1
        elif write and product.unit == matrix_double:
            states = 6 if product.passes == 4 else 11
        else:
            states = _states_to_factor(product, gfx_level)
        if too_early(history, product, states, first + i, write, finding):
            return True
    return False


# ---------------------------------------------------------------------------------------------------------------- matrix operations
cdef bint _exec_early(const History *history, Finding *finding) noexcept nogil:
    return (too_early(history, &history.vector_write[sgpr_exec], 4, sgpr_exec, False, finding)
            or too_early(history, &history.vector_write[sgpr_exec + 1], 4, sgpr_exec + 1, False, finding))


cdef bint _factors_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                         Finding *finding) noexcept nogil:
    """The sources of a matrix operation."""
    cdef uint32_t slot, first, i
    cdef const Event *event
    cdef int32_t states
    for slot in range(instruction.decoded.source_count):
        if _product_early(history, wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot], instruction, gfx_level,
                          slot == _sum_slot(instruction), False, finding):
            return True
        first = instruction.decoded.source[slot] >> 2
        for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
            event = &history.vector_write[first + i]
            if first < first_vgpr or (gfx_level > cdna1 and isa_hazards(gfx_level, event.opcode) & hazard_dot):
                continue
            states = 2
            if gfx_level == cdna1 and first >= first_agpr:
                states = 1 if slot == slot_sum else 3
            if too_early(history, event, states, first + i, False, finding):
                return True
    return False


# ------------------------------------------------------------------------------------------------ CDNA 1: what moves AGPRs
cdef bint _move_early(const History *history, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    """v_accvgpr_read and _write."""
    cdef uint32_t source = instruction.decoded.source[0] >> 2
    cdef uint32_t destination = instruction.decoded.destination[0] >> 2
    cdef const Event *reader
    if instruction.decoded.opcode == <uint32_t>op_v_accvgpr_read_b32:
        return (_product_early(history, wave, instruction.decoded.source[0], 4, instruction, cdna1, False, False, finding)
                or too_early(history, &history.vector_write[source], 3, source, False, finding))
    reader = &history.matrix_sum[destination]
    if source >= first_vgpr and too_early(history, &history.vector_write[source], 2, source, False, finding):
        return True
    return (_exec_early(history, finding)
            or _product_early(history, wave, instruction.decoded.destination[0], 4, instruction, cdna1, False, True, finding)
            or too_early(history, reader, reader.passes - 3, destination, True, finding))


cdef bint _address_early(const History *history, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    """A memory instruction reads a register that came from an AGPR, or was written right before such a move."""
    cdef uint32_t slot, first, i
    cdef const Event *event
    for slot in range(instruction.decoded.source_count):
        first = instruction.decoded.source[slot] >> 2
        for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
            event = &history.vector_write[first + i]
            if first < first_vgpr:
                continue
            if event.opcode == <uint16_t>op_v_accvgpr_read_b32:
                if too_early(history, event, 2, first + i, False, finding):
                    return True
            elif history.moved.time == history.now and history.moved.time - event.time <= 1:
                if too_early(history, &history.moved, 1, first + i, False, finding):
                    return True
    return False


# ------------------------------------------------------------------------------------------------------ CDNA 2 and later
cdef bint _dot_early(const History *history, const Instruction *instruction, uint32_t slot, uint32_t reg, uint32_t gfx_level, bint write,
                     Finding *finding) noexcept nogil:
    """A register that a dot product has written; as the sum of the next one of its kind it is never too early."""
    cdef const Event *event = &history.vector_write[reg]
    if event.time + 3 <= history.now or not isa_hazards(gfx_level, event.opcode) & hazard_dot:
        return False
    if event.opcode == instruction.decoded.opcode and (write or slot == slot_sum):
        return False
    return too_early(history, event, 3, reg, write, finding)


cdef bint _forwarded_early(const History *history, const Instruction *instruction, uint32_t reg, uint32_t gfx_level,
                           Finding *finding) noexcept nogil:
    """CDNA 3 and 4: a source that the vector ALU wrote an instruction or two ago."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef const Event *event = &history.vector_write[reg]
    if reg < first_vgpr:
        return too_early(history, event, 2, reg, False, finding)
    if _is_row_swap(opcode):
        return too_early(history, event, 2, reg, False, finding)
    if _reads_lane(opcode) or event.partial or (isa_hazards(gfx_level, event.opcode) & ~isa_hazards(gfx_level, opcode) & hazard_transcendental):
        return too_early(history, event, 1, reg, False, finding)
    return False


cdef bint _sources_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                         Finding *finding) noexcept nogil:
    cdef uint32_t slot, first, i
    cdef const Event *event
    for slot in range(instruction.decoded.source_count):
        if _product_early(history, wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot], instruction, gfx_level,
                          False, False, finding):
            return True
        first = instruction.decoded.source[slot] >> 2
        for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
            event = &history.vector_write[first + i]
            if first >= first_vgpr and _dot_early(history, instruction, slot, first + i, gfx_level, False, finding):
                return True
            if gfx_level >= cdna3 and instruction.unit == unit_valu and _forwarded_early(history, instruction, first + i, gfx_level, finding):
                return True
            if (gfx_level == cdna2 and first >= first_vgpr and _is_memory(instruction) and history.double_product.time > event.time
                    and too_early(history, event, 2, first + i, False, finding)):
                return True
    return False


cdef bint _destinations_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                              Finding *finding) noexcept nogil:
    """Registers that are still being written, or read as a sum."""
    cdef uint32_t slot, first, i
    cdef const Event *reader
    for slot in range(instruction.decoded.destination_count):
        if _product_early(history, wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot], instruction,
                          gfx_level, False, True, finding):
            return True
        first = instruction.decoded.destination[slot] >> 2
        if first < first_vgpr:
            continue
        for i in range(register_count(wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot])):
            reader = &history.matrix_sum[first + i]
            if too_early(history, reader, reader.passes - 1, first + i, True, finding):
                return True
            if _dot_early(history, instruction, slot_sum, first + i, gfx_level, True, finding):
                return True
            if (gfx_level >= cdna3 and instruction.unit == unit_valu and history.vector_write[first + i].partial
                    and too_early(history, &history.vector_write[first + i], 1, first + i, True, finding)):
                return True
    return False


cdef bint _later_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                       Finding *finding) noexcept nogil:
    """CDNA 2 and later: vector and memory instructions other than matrix operations."""
    cdef uint32_t opcode = instruction.decoded.opcode
    if _sources_early(history, wave, instruction, gfx_level, finding):
        return True
    if _destinations_early(history, wave, instruction, gfx_level, finding):
        return True
    if opcode == <uint32_t>op_v_fma_f64 or opcode == <uint32_t>op_v_fmac_f64:
        if too_early(history, &history.double_product, 2, instruction.decoded.destination[0] >> 2, True, finding):
            return True
    if _is_row_swap(opcode) or isa_hazards(gfx_level, opcode) & hazard_lane_access:
        return _exec_early(history, finding)
    return False


cdef bint matrix_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                       Finding *finding) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    if _matrix_unit(isa_hazards(gfx_level, opcode)):
        return _exec_early(history, finding) or _factors_early(history, wave, instruction, gfx_level, finding)
    if instruction.unit != unit_valu and not _is_memory(instruction):
        return False
    if gfx_level > cdna1:
        return _later_early(history, wave, instruction, gfx_level, finding)
    if opcode == <uint32_t>op_v_accvgpr_read_b32 or opcode == <uint32_t>op_v_accvgpr_write_b32:
        return _move_early(history, wave, instruction, finding)
    return _is_memory(instruction) and _address_early(history, wave, instruction, finding)


# -------------------------------------------------------------------------------------------------------------- accounting
cdef void matrix_account(History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                         const Event *event) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t slot = _sum_slot(instruction)
    cdef uint32_t first, i
    cdef uint32_t classes = isa_hazards(gfx_level, opcode)
    cdef Event product = event[0]
    if opcode == <uint32_t>op_v_accvgpr_read_b32 or opcode == <uint32_t>op_v_accvgpr_write_b32:
        history.moved = event[0]
    product.unit = _matrix_unit(classes)
    if not product.unit:
        return
    product.passes = <uint8_t>matrix_passes(instruction, gfx_level)
    product.first = first = instruction.decoded.destination[0] >> 2
    product.count = register_count(wave, instruction.decoded.destination[0], instruction.decoded.destination_bytes[0])
    for i in range(product.count):
        history.matrix_write[first + i] = product
    if product.unit == matrix_double:
        history.double_product = product
        return
    if gfx_level >= cdna3 and product.unit != matrix_narrow:
        return
    first = instruction.decoded.source[slot] >> 2
    if first < first_vgpr:
        return
    for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
        history.matrix_sum[first + i] = product
