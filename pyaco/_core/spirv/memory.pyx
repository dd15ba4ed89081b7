"""Atomics, barriers, clocks (the SPIR-V specification, sections 3.42.18, 3.42.20, 3.25 and 3.27).

An atomic whose semantics ask for acquire or release gets a barrier behind or before it, as Mesa builds it; atomics
themselves are relaxed.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.alu cimport bitcast, set_checked
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *


# ------------------------------------------------------------------------------------------------------------- barriers
cdef int scope_of(Reader r, uint32_t id) except -1 nogil:
    cdef uint64_t scope = integer_constant(r, id)
    if scope == Scope_CrossDevice or scope == Scope_Device:
        return nir_scope_device
    if scope == Scope_QueueFamily:
        return nir_scope_queue_family
    if scope == Scope_Workgroup:
        return nir_scope_workgroup
    if scope == Scope_Subgroup:
        return nir_scope_subgroup
    if scope == Scope_Invocation:
        return nir_scope_invocation
    unsupported(r, r.word, "scopes of ray tracing")
    return 0


cdef int _nir_semantics(uint64_t semantics) noexcept nogil:
    cdef int result = 0
    if semantics & (MemorySemantics_Acquire | MemorySemantics_AcquireRelease
                    | MemorySemantics_SequentiallyConsistent):
        result |= nir_semantic_acquire
    if semantics & (MemorySemantics_Release | MemorySemantics_AcquireRelease
                    | MemorySemantics_SequentiallyConsistent):
        result |= nir_semantic_release
    return result


cdef int _nir_modes(uint64_t semantics) noexcept nogil:
    cdef int modes = 0
    if semantics & MemorySemantics_UniformMemory:
        modes |= mode_ssbo | mode_global
    if semantics & MemorySemantics_WorkgroupMemory:
        modes |= mode_shared
    return modes


cdef int _barrier(Reader r, int execution, int memory, int semantics, int modes) except -1 nogil:
    cdef uint32_t[1] none
    cdef uint32_t row = intrinsic(r, intrinsic_barrier, 0, 0, none)
    intrinsic_set_index(r.s, row, index_execution_scope, execution)
    intrinsic_set_index(r.s, row, index_memory_scope, memory)
    intrinsic_set_index(r.s, row, index_memory_semantics, semantics)
    intrinsic_set_index(r.s, row, index_memory_modes, modes)
    return 0


cdef int _barrier_instruction(Reader r, uint32_t word, bint control) except -1 nogil:
    cdef int execution = scope_of(r, r.words[word + 1]) if control else nir_scope_none
    cdef uint32_t place = word + 2 if control else word + 1
    cdef int memory = scope_of(r, r.words[place])
    cdef uint64_t bits = integer_constant(r, r.words[place + 1])
    cdef int semantics = _nir_semantics(bits)
    cdef int modes = _nir_modes(bits)
    if semantics == 0 or modes == 0 or memory <= nir_scope_invocation:
        semantics = 0
        modes = 0
        memory = nir_scope_none
    if execution <= nir_scope_invocation and semantics == 0:
        return 0
    return _barrier(r, execution, memory, semantics, modes)


# --------------------------------------------------------------------------------------------------------------- atomics
cdef int _atomic_op(uint32_t opcode) noexcept nogil:
    if opcode == OpAtomicExchange:
        return atomic_xchg
    if opcode == OpAtomicIIncrement or opcode == OpAtomicIDecrement or opcode == OpAtomicIAdd or opcode == OpAtomicISub:
        return atomic_iadd
    if opcode == OpAtomicSMin:
        return atomic_imin
    if opcode == OpAtomicUMin:
        return atomic_umin
    if opcode == OpAtomicSMax:
        return atomic_imax
    if opcode == OpAtomicUMax:
        return atomic_umax
    if opcode == OpAtomicAnd:
        return atomic_iand
    if opcode == OpAtomicOr:
        return atomic_ior
    if opcode == OpAtomicXor:
        return atomic_ixor
    if opcode == OpAtomicFAddEXT:
        return atomic_fadd
    if opcode == OpAtomicFMinEXT:
        return atomic_fmin
    if opcode == OpAtomicFMaxEXT:
        return atomic_fmax
    return atomic_cmpxchg


cdef bint _is_float_atomic(int op) noexcept nogil:
    return atomic_fadd <= op <= atomic_fmax


cdef int _check_operand(Reader r, uint32_t type, uint32_t value) except -1 nogil:
    if components_of(r, value) != 1 or bits_of(r, value) != r.s.types.bit_size[type]:
        fail(r, r.word, "an operand of another type than the memory")
    return 0


cdef uint32_t _place(Reader r, uint32_t pointer) except 0 nogil:
    """The deref of an atomic's memory: a scalar that has an address."""
    cdef uint32_t deref = pointer_of(r, pointer)
    cdef uint32_t type = r.s.instructions.type[deref]
    cdef uint32_t mode = r.s.instructions.mode[deref]
    if not is_vector_or_scalar(r, type) or r.s.types.components[type] != 1 or r.s.types.bit_size[type] < 16:
        fail(r, r.word, "an atomic on something that is no number")
    if not mode & (mode_ssbo | mode_shared | mode_global):
        if mode & (mode_function_temp | mode_shader_temp):
            unsupported(r, r.word, "atomics on variables of one invocation")
        fail(r, r.word, "an atomic on read-only memory")
    return deref


cdef uint32_t _emit_atomic(Reader r, uint32_t deref, int op, uint32_t data) except 0 nogil:
    cdef uint32_t[2] sources
    cdef uint32_t row
    sources[0] = deref
    sources[1] = data
    row = intrinsic(r, intrinsic_deref_atomic, 1, bits_of(r, data), sources)
    intrinsic_set_index(r.s, row, index_atomic_op, op)
    intrinsic_set_index(r.s, row, index_access, access_coherent | r.deref_access[deref])
    return row


cdef uint32_t _emit_swap(Reader r, uint32_t deref, uint32_t compare, uint32_t data) except 0 nogil:
    cdef uint32_t[3] sources
    cdef uint32_t row
    sources[0] = deref
    sources[1] = compare
    sources[2] = data
    row = intrinsic(r, intrinsic_deref_atomic_swap, 1, bits_of(r, data), sources)
    intrinsic_set_index(r.s, row, index_atomic_op, atomic_cmpxchg)
    intrinsic_set_index(r.s, row, index_access, access_coherent | r.deref_access[deref])
    return row


cdef uint32_t _access_atomically(Reader r, uint32_t word, uint32_t opcode, uint32_t deref, uint32_t place) except \
        0 nogil:
    """The atomic itself; `place` is the word of the pointer operand. Returns the old value (of a store: any value)."""
    cdef uint32_t type = r.s.instructions.type[deref]
    cdef uint32_t bits = r.s.types.bit_size[type]
    cdef uint32_t data
    cdef uint32_t access = access_coherent | r.deref_access[deref]
    cdef int op = _atomic_op(opcode)
    if opcode == OpAtomicLoad:
        return load_value(r, deref, type, access)
    if opcode == OpAtomicStore:
        data = ssa(r, r.words[place + 3])
        _check_operand(r, type, data)
        store_value(r, deref, type, data, access)
        return data
    if (r.s.types.base[type] == type_float) != _is_float_atomic(op) and op != atomic_xchg:
        fail(r, word, "an atomic of another kind of number than the memory's")
    if opcode == OpAtomicCompareExchange or opcode == OpAtomicCompareExchangeWeak:
        data = ssa(r, r.words[place + 4])
        _check_operand(r, type, data)
        _check_operand(r, type, ssa(r, r.words[place + 5]))
        return _emit_swap(r, deref, ssa(r, r.words[place + 5]), data)
    if opcode == OpAtomicIIncrement:
        data = integer(r, 1, bits)
    elif opcode == OpAtomicIDecrement:
        data = integer(r, 0xffffffffffffffffULL, bits)
    else:
        data = ssa(r, r.words[place + 3])
        _check_operand(r, type, data)
        if opcode == OpAtomicISub:
            data = alu1(r, alu_ineg, data)
    return _emit_atomic(r, deref, op, data)


cdef int _atomic(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef uint32_t place = word + 1 if opcode == OpAtomicStore or opcode == OpAtomicFlagClear else word + 3
    cdef uint32_t deref = _place(r, r.words[place])
    cdef uint64_t bits = integer_constant(r, r.words[place + 2])
    cdef int scope = scope_of(r, r.words[place + 1])
    cdef int semantics = _nir_semantics(bits)
    cdef int modes = _nir_modes(bits)
    cdef uint32_t value
    cdef bint ordered = semantics != 0 and modes != 0 and scope > nir_scope_invocation
    if ordered and semantics & nir_semantic_release:
        _barrier(r, nir_scope_none, scope, nir_semantic_release, modes)
    if opcode == OpAtomicFlagTestAndSet:
        value = _emit_swap(r, deref, integer(r, 0, 32), integer(r, 1, 32)) if \
            r.s.types.bit_size[r.s.instructions.type[deref]] == 32 else 0
        if value == 0:
            fail(r, word, "a flag that is no 32-bit integer")
        value = alu2(r, alu_ine, value, integer(r, 0, 32))
    elif opcode == OpAtomicFlagClear:
        if r.s.types.bit_size[r.s.instructions.type[deref]] != 32:
            fail(r, word, "a flag that is no 32-bit integer")
        store_value(r, deref, r.s.instructions.type[deref], integer(r, 0, 32), access_coherent)
        value = 0
    else:
        value = _access_atomically(r, word, opcode, deref, place)
    if ordered and semantics & nir_semantic_acquire:
        _barrier(r, nir_scope_none, scope, nir_semantic_acquire, modes)
    if opcode == OpAtomicStore or opcode == OpAtomicFlagClear:
        return 0
    return set_checked(r, word, value)


cdef int _clock(Reader r, uint32_t word) except -1 nogil:
    cdef uint32_t[1] none
    cdef uint32_t type = type_row(r, r.words[word + 1])
    cdef uint32_t value = intrinsic(r, intrinsic_shader_clock, 2, 32, none)
    intrinsic_set_index(r.s, value, index_memory_scope, scope_of(r, r.words[word + 3]))
    if r.s.types.components[type] == 1:
        value = bitcast(r, value, 1, 64)
    return set_checked(r, word, value)


cdef int memory_instruction(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    if (OpAtomicLoad <= opcode <= OpAtomicXor or opcode == OpAtomicFlagTestAndSet or opcode == OpAtomicFlagClear
            or opcode == OpAtomicFMinEXT or opcode == OpAtomicFMaxEXT or opcode == OpAtomicFAddEXT):
        _atomic(r, word, opcode)
    elif opcode == OpControlBarrier:
        _barrier_instruction(r, word, True)
    elif opcode == OpMemoryBarrier:
        _barrier_instruction(r, word, False)
    elif opcode == OpReadClockKHR:
        _clock(r, word)
    else:
        return 0
    return 1
