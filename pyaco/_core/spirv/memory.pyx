"""Loads, stores and copies, atomics, barriers, clocks (the SPIR-V specification, sections 3.42.8, 3.42.18, 3.42.20, 3.25 and 3.27).

An atomic whose semantics ask for acquire or release gets a barrier after or before it, as in Mesa; atomics
themselves are relaxed.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.alu cimport bitcast, set_checked
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.images cimport load_handle, texel_atomic, texel_load, texel_store
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *

cdef enum:
    maximum_alignment = 1 << 30   # the largest power of two that an index of an intrinsic can hold


# --------------------------------------------------------------------------------------------------------- load and store
cdef uint32_t _power_of_two(Reader r, uint64_t alignment) except 0 nogil:
    if alignment == 0 or alignment & (alignment - 1) or alignment > maximum_alignment:
        fail(r, r.word, "an alignment that is not a power of two up to 2**30")
    return <uint32_t>alignment


cdef uint32_t _decorated_alignment(Reader r, SpirvId pointer) except? 0xffffffffU nogil:
    """The alignment that a pointer's decorations state, 0 without them."""
    cdef uint32_t word = decoration_of(r, pointer, no_member, Decoration_Alignment)
    if word:
        return _power_of_two(r, r.words[word])
    word = decoration_of(r, pointer, no_member, Decoration_AlignmentId)
    if word == 0:
        return 0
    if r.words[word] >= r.bound:
        fail(r, r.word, "operand id %u is outside the id bound", r.words[word])
    return _power_of_two(r, integer_constant(r, r.words[word]))


cdef uint32_t memory_operands(Reader r, SpirvId pointer, uint32_t word, uint32_t end, MemoryOperands *operands) except 0 nogil:
    """Read the memory operands at `word`, if there are any, of an access through `pointer`; returns the word after them.

    Coherent access gives all the availability and visibility that operands may ask for.
    """
    cdef uint32_t mask
    cdef uint32_t alignment
    operands.access = 0
    operands.align_mul = _decorated_alignment(r, pointer)
    if word >= end:
        return word
    mask = r.words[word]
    word += 1
    if mask & MemoryAccess_Volatile:
        operands.access |= access_volatile
    if mask & MemoryAccess_Nontemporal:
        operands.access |= access_non_temporal
    if mask & (MemoryAccess_MakePointerAvailable | MemoryAccess_MakePointerVisible | MemoryAccess_NonPrivatePointer):
        operands.access |= access_coherent
    if mask & MemoryAccess_Aligned:
        alignment = _power_of_two(r, r.words[word])
        operands.align_mul = max(operands.align_mul, alignment)
        word += 1
    return word + ((mask & MemoryAccess_MakePointerAvailable) != 0) + ((mask & MemoryAccess_MakePointerVisible) != 0)


cdef int _load(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef SpirvId pointer = r.words[word + 3]
    cdef ValueId deref
    cdef AnyValue value
    cdef MemoryOperands operands
    if r.kind[pointer] == kind_variable:
        module_variable(r, pointer)
    if r.kind[pointer] == kind_builtin:
        value = load_builtin(r, r.payload[pointer], type)
        return set_value(r, r.words[word + 2], type, value)
    if type_sampler <= r.s.types.base[type] <= type_image:
        return load_handle(r, word, type, pointer)
    check_value_type(r, type)
    if not is_untyped(r, pointer) and not same_shape(r, pointee_type(r, pointer), type) and r.s.types.base[type] != type_pointer:
        fail(r, word, "the result has a different type from what the pointer points to")
    deref = pointer_to(r, pointer, type)
    if not same_shape(r, r.s.instructions.type[deref], type) and r.s.types.base[type] != type_pointer:
        fail(r, word, "the pointer points to something of another type")
    memory_operands(r, pointer, word + 4, end, &operands)
    value = load_at(r, deref, r.s.instructions.type[deref], &operands, 0)
    if r.s.types.base[type] == type_pointer:
        _check_address(r, type, value)
    return set_value(r, r.words[word + 2], type, value)


cdef int _check_address(Reader r, TypeId type, ValueId value) except -1 nogil:
    """Raise an error unless a value has the shape of pointers of type `type`."""
    cdef int components
    cdef int bit_size
    leaf_shape(r, type, &components, &bit_size)
    if components_of(r, value) != <uint32_t>components or bits_of(r, value) != <uint32_t>bit_size:
        fail(r, r.word, "a pointer of a different storage class is expected")
    return 0


cdef int _store(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef SpirvId pointer = r.words[word + 1]
    cdef SpirvId object_id = r.words[word + 2]
    cdef TypeId type = value_type(r, object_id)
    cdef ValueId deref
    cdef AnyValue value
    cdef MemoryOperands operands
    check_value_type(r, type)
    if not is_untyped(r, pointer) and not same_shape(r, pointee_type(r, pointer), type):
        fail(r, word, "the object has a different type from what the pointer points to")
    value = value_of(r, object_id)
    deref = pointer_to(r, pointer, type)
    if r.s.types.base[type] == type_pointer:
        _check_address(r, type, value)
    if not same_shape(r, r.s.instructions.type[deref], type) and r.s.types.base[type] != type_pointer:
        fail(r, word, "the object has a different type from what the pointer points to")
    memory_operands(r, pointer, word + 3, end, &operands)
    return store_at(r, deref, r.s.instructions.type[deref], value, &operands, 0)


cdef int _copy_memory(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    """OpCopyMemory: the first memory operands are the target's; without second ones they are the source's too."""
    cdef TypeId type = pointee_type(r, r.words[word + 1 if is_untyped(r, r.words[word + 2]) else word + 2])
    cdef ValueId source
    cdef ValueId target
    cdef AnyValue value
    cdef uint32_t second
    cdef MemoryOperands target_operands
    cdef MemoryOperands source_operands
    check_value_type(r, type)
    if not is_untyped(r, r.words[word + 1]) and not same_shape(r, pointee_type(r, r.words[word + 1]), type):
        fail(r, word, "the two pointers point to different types")
    source = pointer_to(r, r.words[word + 2], type)
    target = pointer_to(r, r.words[word + 1], type)
    if not same_shape(r, r.s.instructions.type[source], r.s.instructions.type[target]):
        fail(r, word, "the two pointers point to different types")
    second = memory_operands(r, r.words[word + 1], word + 3, end, &target_operands)
    memory_operands(r, r.words[word + 2], second if second < end else word + 3, end, &source_operands)
    value = load_at(r, source, r.s.instructions.type[source], &source_operands, 0)
    return store_at(r, target, r.s.instructions.type[target], value, &target_operands, 0)


cdef int _copy_sized(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    """OpCopyMemorySized of untyped pointers: as words where both are aligned to them, else as bytes."""
    cdef uint64_t size = integer_constant(r, r.words[word + 3])
    cdef MemoryOperands[2] operands
    cdef ValueId[2] derefs
    cdef ValueId[2] at
    cdef AnyValue value
    cdef TypeId type = r.byte_type
    cdef uint32_t second, unit = 1
    cdef uint32_t i, k
    second = memory_operands(r, r.words[word + 1], word + 4, end, &operands[0])
    memory_operands(r, r.words[word + 2], second if second < end else word + 4, end, &operands[1])
    if operands[0].align_mul % 4 == 0 and operands[1].align_mul % 4 == 0 and operands[0].align_mul and operands[1].align_mul \
            and size % 4 == 0:
        type = r.uint_type
        unit = 4
    if not is_untyped(r, r.words[word + 1]) or not is_untyped(r, r.words[word + 2]):
        unsupported(r, word, "copies of a size through typed pointers")
    if size // unit > maximum_leaves:
        unsupported(r, word, "copies of more than 65536 elements")
    for k in range(2):
        derefs[k] = deref_cast_to(r, pointer_of(r, r.words[word + 1 + k]), type, unit)
    for i in range(<uint32_t>size // unit):
        for k in range(2):
            at[k] = deref_step(r, derefs[k], integer(r, i, 32))
        value = load_at(r, at[1], type, &operands[1], unit * i)
        store_at(r, at[0], type, value, &operands[0], unit * i)
    return 0


cdef int _array_length(Reader r, uint32_t word, SpirvId pointer, uint32_t member, TypeId block) except -1 nogil:
    """The length of the runtime array `member` of the struct `block` that a pointer points to."""
    cdef ValueId deref = pointer_to(r, pointer, block)
    cdef TypeId type = r.s.instructions.type[deref]
    cdef TypeId result = type_of_id(r, r.words[word + 1])
    cdef ValueId value
    if r.s.types.base[type] != type_struct or member + 1 != r.s.types.member_count[type]:
        fail(r, word, "an array that is not the last member of a block")
    if r.s.instructions.mode[deref] != mode_ssbo:
        fail(r, word, "the length of an array that is not in a storage buffer")
    deref = deref_element(r, deref, member)
    type = r.s.instructions.type[deref]
    if r.s.types.base[type] != type_array or r.s.types.length[type] != 0:
        fail(r, word, "an array that is not a runtime array")
    if r.s.types.base[result] > type_uint or r.s.types.bit_size[result] != 32 or r.s.types.components[result] != 1:
        fail(r, word, "a length that is not a 32-bit integer")
    value = intrinsic_n(&r.nir, intrinsic_deref_buffer_array_length, 1, 32, &deref)
    intrinsic_set_index(r.s, value, index_access, r.deref_access[deref])
    return set_value(r, r.words[word + 2], result, value)


# ------------------------------------------------------------------------------------------------------------- barriers
cdef int scope_of(Reader r, SpirvId id) except -1 nogil:
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
    unsupported_enumerant(r, r.word, "the scope ", spirv_kind_Scope, <uint32_t>scope)
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
    if semantics & MemorySemantics_ImageMemory:
        modes |= mode_image
    return modes


cdef int _barrier(Reader r, int execution, int memory, int semantics, int modes) except -1 nogil:
    cdef ValueId row = intrinsic0(&r.nir, intrinsic_barrier, 0, 0)
    intrinsic_set_index(r.s, row, index_execution_scope, execution)
    intrinsic_set_index(r.s, row, index_memory_scope, memory)
    intrinsic_set_index(r.s, row, index_memory_semantics, semantics)
    intrinsic_set_index(r.s, row, index_memory_modes, modes)
    return 0


cdef int _barrier_instruction(Reader r, uint32_t word, uint32_t cursor, int execution) except -1 nogil:
    """A barrier of an execution scope; `cursor` is the word of its memory scope."""
    cdef int memory = scope_of(r, r.words[cursor])
    cdef uint64_t bits = integer_constant(r, r.words[cursor + 1])
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


cdef int _check_operand(Reader r, TypeId type, ValueId value) except -1 nogil:
    if components_of(r, value) != 1 or bits_of(r, value) != r.s.types.bit_size[type]:
        fail(r, r.word, "an operand of a different type from the memory")
    return 0


cdef ValueId _atomic_deref(Reader r, uint32_t word, SpirvId pointer, uint32_t opcode) except 0 nogil:
    """The deref of the memory that an atomic accesses, which must be a scalar that can be written.

    What an untyped pointer points to is of the type of the result, or of what is stored.
    """
    cdef TypeId accessed = r.uint_type
    if is_untyped(r, pointer) and opcode != OpAtomicFlagTestAndSet and opcode != OpAtomicFlagClear:
        accessed = value_type(r, r.words[word + 4]) if opcode == OpAtomicStore else type_of_id(r, r.words[word + 1])
    cdef ValueId deref = pointer_to(r, pointer, accessed)
    cdef TypeId type = r.s.instructions.type[deref]
    cdef uint32_t mode = r.s.instructions.mode[deref]
    if not is_vector_or_scalar(r, type) or r.s.types.components[type] != 1 or r.s.types.bit_size[type] < 16:
        fail(r, r.word, "an atomic on memory whose type is not a number")
    if not mode & (mode_ssbo | mode_shared | mode_global):
        if mode & (mode_function_temp | mode_shader_temp):
            unsupported(r, r.word, "atomics on Function and Private variables")
        fail(r, r.word, "an atomic on read-only memory")
    return deref


cdef ValueId _emit_atomic(Reader r, ValueId deref, const Texel *texel, int op, ValueId compare, ValueId data) except 0 nogil:
    """A NIR atomic; `compare` is what a compare-and-exchange expects in memory, 0 for other operations."""
    if texel != NULL:
        return texel_atomic(r, texel, op, compare, data)
    cdef int opcode = intrinsic_deref_atomic_swap if compare else intrinsic_deref_atomic
    cdef ValueId[3] sources
    cdef ValueId row
    sources[0] = deref
    sources[1] = compare if compare else data
    sources[2] = data
    row = intrinsic_n(&r.nir, opcode, 1, bits_of(r, data), sources)
    intrinsic_set_index(r.s, row, index_atomic_op, op)
    intrinsic_set_index(r.s, row, index_access, access_coherent | r.deref_access[deref])
    return row


cdef ValueId _atomic_access(Reader r, uint32_t word, uint32_t opcode, ValueId deref, const Texel *texel, uint32_t cursor) except \
        0 nogil:
    """An atomic without its barriers, on memory or on a texel (else NULL); `cursor` is the word of the pointer operand.

    Returns the old value (for a store, any value).
    """
    cdef TypeId type = r.s.instructions.type[deref] if texel == NULL else texel.type
    cdef uint32_t bits = r.s.types.bit_size[type]
    cdef ValueId data
    cdef uint32_t access = access_coherent | access_atomic | r.deref_access[deref]
    cdef int op = _atomic_op(opcode)
    if opcode == OpAtomicLoad and texel != NULL:
        return texel_load(r, texel, access)
    if opcode == OpAtomicLoad:
        return load_value(r, deref, type, access)
    if opcode == OpAtomicStore:
        data = ssa(r, r.words[cursor + 3])
        _check_operand(r, type, data)
        if texel != NULL:
            texel_store(r, texel, data, access)
        else:
            store_value(r, deref, type, data, access)
        return data
    if (r.s.types.base[type] == type_float) != _is_float_atomic(op) and op != atomic_xchg:
        fail(r, word, "a floating-point atomic on integers, or an integer atomic on floats")
    if opcode == OpAtomicCompareExchange or opcode == OpAtomicCompareExchangeWeak:
        data = ssa(r, r.words[cursor + 4])
        _check_operand(r, type, data)
        _check_operand(r, type, ssa(r, r.words[cursor + 5]))
        return _emit_atomic(r, deref, texel, op, ssa(r, r.words[cursor + 5]), data)
    if opcode == OpAtomicIIncrement:
        data = integer(r, 1, bits)
    elif opcode == OpAtomicIDecrement:
        data = integer(r, 0xffffffffffffffffULL, bits)
    else:
        data = ssa(r, r.words[cursor + 3])
        _check_operand(r, type, data)
        if opcode == OpAtomicISub:
            data = alu1(&r.nir, alu_ineg, data)
    return _emit_atomic(r, deref, texel, op, 0, data)


cdef int _atomic(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef uint32_t cursor = word + 1 if opcode == OpAtomicStore or opcode == OpAtomicFlagClear else word + 3
    cdef Texel row
    cdef const Texel *texel = NULL
    cdef ValueId deref
    cdef uint64_t bits = integer_constant(r, r.words[cursor + 2])
    cdef int scope = scope_of(r, r.words[cursor + 1])
    cdef int semantics = _nir_semantics(bits)
    cdef int modes = _nir_modes(bits)
    cdef ValueId value
    cdef bint ordered = semantics != 0 and modes != 0 and scope > nir_scope_invocation
    if r.kind[r.words[cursor]] == kind_texel:
        row = r.texels[r.payload[r.words[cursor]]]
        texel = &row
        deref = row.image
        if opcode == OpAtomicFlagTestAndSet or opcode == OpAtomicFlagClear:
            fail(r, word, "a flag in an image")
    else:
        deref = _atomic_deref(r, word, r.words[cursor], opcode)
    if ordered and semantics & nir_semantic_release:
        _barrier(r, nir_scope_none, scope, nir_semantic_release, modes)
    if opcode == OpAtomicFlagTestAndSet or opcode == OpAtomicFlagClear:
        if r.s.types.bit_size[r.s.instructions.type[deref]] != 32:
            fail(r, word, "a flag that is not a 32-bit integer")
    if opcode == OpAtomicFlagTestAndSet:
        value = _emit_atomic(r, deref, NULL, atomic_cmpxchg, integer(r, 0, 32), integer(r, 1, 32))
        value = alu2(&r.nir, alu_ine, value, integer(r, 0, 32))
    elif opcode == OpAtomicFlagClear:
        store_value(r, deref, r.s.instructions.type[deref], integer(r, 0, 32), access_coherent | access_atomic)
        value = 0
    else:
        value = _atomic_access(r, word, opcode, deref, texel, cursor)
    if ordered and semantics & nir_semantic_acquire:
        _barrier(r, nir_scope_none, scope, nir_semantic_acquire, modes)
    if opcode == OpAtomicStore or opcode == OpAtomicFlagClear:
        return 0
    return set_checked(r, word, value)


cdef int _clock(Reader r, uint32_t word) except -1 nogil:
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef ValueId value = intrinsic0(&r.nir, intrinsic_shader_clock, 2, 32)
    intrinsic_set_index(r.s, value, index_memory_scope, scope_of(r, r.words[word + 3]))
    if r.s.types.components[type] == 1:
        value = bitcast(r, value, 1, 64)
    return set_checked(r, word, value)


cdef int memory_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    if opcode == OpLoad:
        _load(r, word, end)
    elif opcode == OpStore:
        _store(r, word, end)
    elif opcode == OpCopyMemory:
        _copy_memory(r, word, end)
    elif opcode == OpArrayLength:
        _array_length(r, word, r.words[word + 3], r.words[word + 4], pointee_type(r, r.words[word + 3]))
    elif opcode == OpUntypedArrayLengthKHR:
        _array_length(r, word, r.words[word + 4], r.words[word + 5], type_of_id(r, r.words[word + 3]))
    elif opcode == OpCopyMemorySized:
        _copy_sized(r, word, end)
    elif (OpAtomicLoad <= opcode <= OpAtomicXor or opcode == OpAtomicFlagTestAndSet or opcode == OpAtomicFlagClear
            or opcode == OpAtomicFMinEXT or opcode == OpAtomicFMaxEXT or opcode == OpAtomicFAddEXT):
        _atomic(r, word, opcode)
    elif opcode == OpControlBarrier or opcode == OpControlBarrierWaitINTEL:
        _barrier_instruction(r, word, word + 2, scope_of(r, r.words[word + 1]))
    elif opcode == OpMemoryBarrier:
        _barrier_instruction(r, word, word + 1, nir_scope_none)
    elif opcode == OpControlBarrierArriveINTEL:            # all wait where the barrier ends: until then memory has to be ordered
        _barrier_instruction(r, word, word + 2, nir_scope_none)
    elif opcode == OpReadClockKHR:
        _clock(r, word)
    else:
        return 0
    return 1
