"""Hazards of GFX12.5. The contract is in ``coexecution.pxd``."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from features cimport has_slow_matrices
from isa_opcodes cimport *
from isa_tables cimport hazard_transcendental, hazard_wave_matrix, implicit_exec, implicit_vcc, isa_hazards, opcode_implicit_definitions
from wait_tables cimport depctr_sa_sdst, depctr_va_sdst, depctr_vm_vsrc
from pyaco._core.common.machine cimport (
    format_dpp16, format_dpp8, format_ds, format_is_flat_like, format_is_salu, format_is_valu, format_is_vmem, format_vopd,
    register_none,
)
from pyaco._core.common.waitcnt cimport depctr_get
from pyaco._core.emu.cycles cimport pipelined_matrix_cycles
from pyaco._core.emu.wave cimport Instruction, Wave, adds_to_result
from pyaco._core.emu_inspect.waits cimport Finding, register_limit

cdef enum:
    hwreg_flat_scratch_lo = 20
    scratch_base = 230                # its low half as a source
    base_registers = 102              # s102 and s103
    base_expiry = 10                  # SGPR writes after which a write of s102 or s103 has arrived
    longest_wait = 17                 # vector instructions that a matrix operation may have to be kept away
    first_constant = 512              # address of what is no register: constants and special sources, up to 1024
    first_vector = 1024
    all_open = 0xffff                 # s_wait_alu that waits for nothing


# ------------------------------------------------------------------------------------------------------------------ registers
cdef inline Registers _no_registers() noexcept nogil:
    return Registers(register_none, 0)


cdef inline Registers _registers_of(const Wave *wave, uint16_t address, uint32_t bytes) noexcept nogil:
    """The bytes of an operand; none where it is no register."""
    if address == register_none or first_constant <= address < first_vector:
        return _no_registers()
    return Registers(address, address + (bytes if bytes else wave.lanes // 8))


cdef inline Registers _source_of(const Wave *wave, const Instruction *instruction, uint32_t slot) noexcept nogil:
    return _registers_of(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])


cdef inline Registers _result_of(const Wave *wave, const Instruction *instruction, uint32_t slot) noexcept nogil:
    return _registers_of(wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot])


cdef inline bint _overlap(const Registers *one, const Registers *other) noexcept nogil:
    return one.first < other.end and other.first < one.end


cdef bint _keeps_result(const Instruction *instruction) noexcept nogil:
    """Whether it reads what it writes: accumulating operations, and DPP, which leaves lanes as they were."""
    if instruction.decoded.format & (format_dpp16 | format_dpp8):
        return True
    return (instruction.decoded.opcode in (op_v_writelane_b32, op_v_writelane_b32_e64)
            or (instruction.operation != NULL and instruction.decoded.format & 0x7f != format_vopd and adds_to_result(instruction)))


cdef uint32_t _read_overlap(const Wave *wave, const Instruction *instruction, const Registers *written) noexcept nogil:
    """The first register of those that an instruction reads which is among others; `register_limit`: none."""
    cdef Registers one
    cdef uint32_t slot
    for slot in range(instruction.decoded.source_count):
        one = _source_of(wave, instruction, slot)
        if _overlap(&one, written):
            return max(one.first, written.first) >> 2
    if instruction.decoded.destination_count and _keeps_result(instruction):
        one = _result_of(wave, instruction, 0)
        if _overlap(&one, written):
            return max(one.first, written.first) >> 2
    return register_limit


# ------------------------------------------------------------------------------------------------------------------ reporting
cdef bint _found(Finding *finding, uint8_t hazard, uint64_t pc, uint16_t opcode, uint32_t reg, bint write) noexcept nogil:
    finding.hazard = hazard
    finding.reg = <uint16_t>reg
    finding.counters = 0
    finding.states = 0
    finding.write = write
    finding.opcode = opcode
    finding.pc = pc
    return True


cdef inline Early _early(const Instruction *instruction) noexcept nogil:
    return Early(instruction.pc, instruction.decoded.opcode)


# -------------------------------------------------------------------------------------------------------------------- classes
cdef inline bint _is_valu(const Instruction *instruction) noexcept nogil:
    return format_is_valu(instruction.decoded.format)


cdef inline bint _is_matrix(const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    return isa_hazards(gfx_level, instruction.decoded.opcode) & hazard_wave_matrix != 0


cdef inline bint _is_sparse(const Instruction *instruction) noexcept nogil:
    """SWMMAC: its third source is the index, and what it adds to is the destination."""
    return instruction.decoded.source_count == 4 and instruction.decoded.source[3] == instruction.decoded.destination[0]


cdef inline bint _is_memory(const Instruction *instruction) noexcept nogil:
    cdef uint16_t base = instruction.decoded.format & 0x7f
    return not _is_valu(instruction) and (format_is_vmem(base) or format_is_flat_like(base) or base == format_ds)


cdef bint _writes_sgpr(const Instruction *instruction) noexcept nogil:
    cdef uint32_t slot
    for slot in range(instruction.decoded.destination_count):
        if instruction.decoded.destination[slot] < first_constant:
            return True
    return opcode_implicit_definitions[instruction.decoded.opcode] & (implicit_vcc | implicit_exec) != 0


# -------------------------------------------------------------------------------------------------------------- vector instructions
cdef bint _transcendental_check(const Coexecution *state, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    cdef Registers result
    cdef uint32_t i
    cdef uint32_t reg = _read_overlap(wave, instruction, &state.transcendental_result)
    if reg != register_limit:
        return _found(finding, rule_trans_coexecution, state.transcendental.pc, state.transcendental.opcode, reg, False)
    if instruction.decoded.destination_count == 0 or instruction.decoded.format & 0x7f == format_vopd:
        return False                                        # of dual instructions LLVM looks at sources alone
    result = _result_of(wave, instruction, 0)
    for i in range(4):
        if _overlap(&result, &state.transcendental_read[i]):
            return _found(finding, rule_trans_coexecution, state.transcendental.pc, state.transcendental.opcode, result.first >> 2, True)
    return False


cdef uint32_t _matrix_reads(const Wave *wave, const Instruction *instruction, const Product *product) noexcept nogil:
    """The register of a product's result that a matrix operation reads as A, B or index; `register_limit`: none."""
    cdef Registers one
    cdef uint32_t slot
    for slot in range(3 if _is_sparse(instruction) else 2):
        one = _source_of(wave, instruction, slot)
        if _overlap(&one, &product.result):
            return max(one.first, product.result.first) >> 2
    return register_limit


cdef bint _copies_itself(const Instruction *instruction) noexcept nogil:
    """A copy of a register to itself, which LLVM puts before a permlane: who reads the register late reads what stood there."""
    return (instruction.decoded.opcode == <uint16_t>op_v_mov_b32 and instruction.decoded.source[0] == instruction.decoded.destination[0]
            and not instruction.decoded.format & (format_dpp16 | format_dpp8))


cdef uint32_t _vector_writes(const Wave *wave, const Instruction *instruction, const Product *product) noexcept nogil:
    """The register of a matrix operation that a vector instruction writes; `register_limit`: none."""
    cdef Registers result
    cdef uint32_t slot, i
    cdef uint32_t factors = 0 if _copies_itself(instruction) else 3
    for slot in range(instruction.decoded.destination_count):
        result = _result_of(wave, instruction, slot)
        if _overlap(&result, &product.result):
            return result.first >> 2
        for i in range(factors):
            if _overlap(&result, &product.read[i]):
                return result.first >> 2
    return register_limit


cdef bint _product_check(const Coexecution *state, const Wave *wave, const Instruction *instruction, bint matrix, bint pipelined,
                         Finding *finding) noexcept nogil:
    """Whether fewer vector instructions than needed lie behind the last matrix operation that this instruction clashes with."""
    cdef const Product *product
    cdef uint32_t number, reg
    cdef int32_t between
    cdef bint write
    for number in range(1, min(state.products, <uint32_t>product_count) + 1):
        product = &state.product[(state.products - number) % product_count]
        between = state.valu - product.time
        write = False
        if between >= longest_wait:
            return False
        if not product.to_matrix or (matrix and not pipelined):
            reg = _matrix_reads(wave, instruction, product) if matrix and between == 0 else <uint32_t>register_limit
            if reg != register_limit:
                return _found(finding, rule_product, product.pc, product.opcode, reg, False)
            continue
        reg = _matrix_reads(wave, instruction, product) if matrix else _read_overlap(wave, instruction, &product.result)
        if reg == register_limit and not matrix:
            reg = _vector_writes(wave, instruction, product)
            write = True
        if reg != register_limit:
            return between < (product.to_matrix if matrix else product.to_vector) and _found(
                finding, rule_wmma_coexecution, product.pc, product.opcode, reg, write)
    return False


cdef void _note_product(Coexecution *state, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t cycles = pipelined_matrix_cycles(instruction, gfx_level)
    cdef Product *product = &state.product[state.products % product_count]
    cdef bint sparse = _is_sparse(instruction)
    cdef uint32_t i
    state.products += 1
    product.pc = instruction.pc
    product.opcode = instruction.decoded.opcode
    product.time = state.valu
    product.to_vector = <uint8_t>(cycles // 4 if sparse and not has_slow_matrices(gfx_level) else cycles // 2)
    product.to_matrix = <uint8_t>(product.to_vector + 1 if cycles else 0)
    product.result = _result_of(wave, instruction, 0)
    for i in range(3):
        product.read[i] = _source_of(wave, instruction, i) if i < 2 or sparse else _no_registers()


cdef void _note_vector(Coexecution *state, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t i
    state.valu += 1
    state.transcendental.pc = 0
    if isa_hazards(gfx_level, instruction.decoded.opcode) & hazard_transcendental:
        state.transcendental = _early(instruction)
        state.transcendental_result = _result_of(wave, instruction, 0)
        for i in range(4):
            state.transcendental_read[i] = _source_of(wave, instruction, i) if i < instruction.decoded.source_count else _no_registers()
    if _is_matrix(instruction, gfx_level):
        _note_product(state, wave, instruction, gfx_level)


# ------------------------------------------------------------------------------------------------------------- the base of scratch
cdef bint _base_check(const Coexecution *state, const Instruction *instruction, Finding *finding) noexcept nogil:
    cdef uint32_t halves = 0
    cdef uint32_t slot, i, code, number
    for slot in range(instruction.decoded.source_count):
        code = instruction.decoded.source[slot] >> 2
        if code == scratch_base:
            halves |= 3 if instruction.decoded.source_bytes[slot] > 4 else 1
        elif code == scratch_base + 1:
            halves |= 2
    if instruction.decoded.opcode == <uint16_t>op_s_getreg_b32:
        number = instruction.decoded.immediate & 63
        if hwreg_flat_scratch_lo <= number <= hwreg_flat_scratch_lo + 1:
            halves |= 1 << (number - hwreg_flat_scratch_lo)
    for i in range(2):
        if halves >> i & 1 and state.base_write[i].pc and state.base_age[i] < base_expiry:
            return _found(finding, rule_scratch_base, state.base_write[i].pc, state.base_write[i].opcode, register_limit, False)
    return False


cdef void _note_scalar_writes(Coexecution *state, const Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef Registers result, base
    cdef uint32_t slot, i
    if not _writes_sgpr(instruction) or not (_is_valu(instruction) or format_is_salu(instruction.decoded.format)):
        return
    for i in range(2):
        state.base_age[i] += 1
        base = Registers(4 * (base_registers + i), 4 * (base_registers + i) + 4)
        for slot in range(instruction.decoded.destination_count):
            result = _result_of(wave, instruction, slot)
            if _overlap(&result, &base):
                state.base_write[i] = _early(instruction)
                state.base_age[i] = 0


# ------------------------------------------------------------------------------------------------------------------------ all
cdef bint coexecution_check(const Coexecution *state, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                            Finding *finding) noexcept nogil:
    cdef uint16_t opcode = instruction.decoded.opcode
    cdef bint matrix
    if _base_check(state, instruction, finding):
        return True
    if _is_valu(instruction):
        matrix = _is_matrix(instruction, gfx_level)
        if state.transcendental.pc and not isa_hazards(gfx_level, opcode) & hazard_transcendental and _transcendental_check(
                state, wave, instruction, finding):
            return True
        return state.products != 0 and _product_check(state, wave, instruction, matrix, pipelined_matrix_cycles(instruction, gfx_level) != 0, finding)
    if _is_memory(instruction):
        if state.arrival.pc:
            return _found(finding, rule_async_barrier_arrive, state.arrival.pc, state.arrival.opcode, register_limit, False)
        if opcode == <uint16_t>op_ds_atomic_async_barrier_arrive_b64 and state.memory.pc:
            return _found(finding, rule_async_barrier_arrive, state.memory.pc, state.memory.opcode, register_limit, False)
    return False


cdef void coexecution_account(Coexecution *state, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef uint16_t opcode = instruction.decoded.opcode
    cdef uint32_t wait = instruction.decoded.immediate if opcode == <uint16_t>op_s_waitcnt_depctr else <uint32_t>all_open
    if opcode in (op_s_setpc_b64, op_s_swappc_b64, op_s_call_b64):
        memset(state, 0, sizeof(Coexecution))
        return
    if _is_valu(instruction):
        _note_vector(state, wave, instruction, gfx_level)
    elif _is_memory(instruction):
        state.memory = _early(instruction)
        if opcode == <uint16_t>op_ds_atomic_async_barrier_arrive_b64:
            state.arrival = state.memory
    elif depctr_get(wait, depctr_vm_vsrc) == 0:
        state.memory.pc = state.arrival.pc = 0
    if depctr_get(wait, depctr_sa_sdst) == 0 and depctr_get(wait, depctr_va_sdst) == 0:
        state.base_write[0].pc = state.base_write[1].pc = 0
    _note_scalar_writes(state, wave, instruction)
