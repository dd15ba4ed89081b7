"""Pointers become byte offsets: every deref of memory turns into intrinsics with explicit addresses.

Needs: copies split (``lower_var_copies``), local variables that can be values promoted (``vars_to_ssa``).
Guarantees: no derefs of ubo, ssbo, push_constant, shared, global, constant, function_temp or shader_temp variables are
left, and none of those variables is alive. Shared variables are laid out (``info.shared_bytes``), remaining local
variables live in scratch (``info.scratch_bytes``), and the alignment known of every access is in its indices.

An address is kept in parts while a chain is walked: a resource or 64-bit base, a run-time byte offset and a constant
one. A pointer that is used as a value (phi, selection, stored physical pointer) is materialised in the form that its
mode has as a value: ubo and ssbo three words (two name the descriptor, one the offset), shared and scratch a 32-bit
offset, global a 64-bit address; ``deref_cast`` takes the same forms back. Workgroup variables with a (null) initial value
are zeroed by all invocations at the start, before a barrier. Layout rules: Vulkan specification, "Offset
and stride assignment"; booleans take 32 bits in memory. Vectors of three are aligned to 16 bytes, which one access may ask for, but to their
components where a workgroup takes less shared memory then, of which the hardware gives out units.

Alignment is what the module guarantees, of the offset for buffers, shared and scratch memory, of the address for global memory:
constant offsets are known to the byte, a run-time index leaves what its stride has. Nothing is known of where a physical pointer
points but what the access itself says (SPIR-V's ``Aligned``), or else that it is a multiple of the scalars that are accessed
(VUID-RuntimeSpirv-PhysicalStorageBuffer64-06314). A buffer starts at a multiple of four bytes, whatever alignment its offsets
have (RADV's minStorageBufferOffsetAlignment and minUniformBufferOffsetAlignment).
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_b2i32, alu_i2i32, alu_i2i64, alu_iadd, alu_imul, alu_ine, alu_udiv, alu_usub_sat, alu_ult, index_access, index_align_mul,
    index_align_offset, index_atomic_op, index_base, index_binding, index_desc_set, index_desc_type, index_execution_scope,
    index_memory_modes, index_memory_scope, index_memory_semantics, index_range, index_write_mask, intrinsic_barrier,
    intrinsic_deref_atomic, intrinsic_deref_atomic_swap, intrinsic_deref_buffer_array_length, intrinsic_get_ssbo_size,
    intrinsic_global_atomic_amd, intrinsic_global_atomic_swap_amd, intrinsic_load_constant, intrinsic_load_deref,
    intrinsic_load_global_amd, intrinsic_load_local_invocation_index, intrinsic_load_push_constant, intrinsic_load_scratch,
    intrinsic_load_shared, intrinsic_load_ssbo, intrinsic_load_ubo, intrinsic_load_vulkan_descriptor, intrinsic_shared_atomic,
    intrinsic_shared_atomic_swap, intrinsic_ssbo_atomic, intrinsic_ssbo_atomic_swap, intrinsic_store_deref,
    intrinsic_store_global_amd, intrinsic_store_scratch, intrinsic_store_shared, intrinsic_store_ssbo,
    intrinsic_vulkan_resource_index,
)
from pyaco._core.common.bits cimport align_up, lowest_bit, sign_extended
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport (
    alu1, alu2, alu2_constant, component, constant, intrinsic0, intrinsic1, intrinsic2, intrinsic3, intrinsic4, vector_of,
)
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, TypeId, ValueId, VariableId, constant_bits, deref_array, deref_cast, deref_ptr_as_array, deref_struct,
    deref_var, descriptor_ssbo, descriptor_ubo, intrinsic_index, intrinsic_set_index, mode_constant, mode_function_temp, mode_global,
    mode_push_constant, mode_shader_temp, mode_shared, mode_ssbo, mode_ubo, nir_alu, nir_deref, nir_intrinsic, nir_scope_workgroup,
    nir_semantic_acquire, nir_semantic_release, source_swizzle, source_value, swizzle_component, type_array, type_float, type_int, type_matrix,
    type_struct, value_is_constant, variable_alive,
)
from pyaco._core.nir.lowering cimport (
    Lowering, lower_derefs, lower_if_begin, lower_if_else, lower_if_end, lower_intrinsics, lower_keep, lower_remove, lowering_run_from,
)
from pyaco._core.nir.types cimport component_bytes, member_offset, type_align, type_bytes, type_slots, type_stride

from pyaco.errors import UnsupportedError

cdef enum:
    mode_buffer = mode_ubo | mode_ssbo
    mode_scratch = mode_function_temp | mode_shader_temp
    mode_memory = (mode_buffer | mode_scratch | mode_push_constant | mode_shared | mode_global | mode_constant)
    largest_alignment = 1 << 30    # of an address that is known to the byte
    wide_alignment = 16            # of the start of the push constants and of the constant data
    vector_limit = 4               # components of one access
    shared_unit = 512              # bytes of shared memory that are given out together (GFX6: 256)

cdef struct Address:
    uint32_t mode                  # 0: not lowered by this pass
    ValueId base                   # buffer: value whose first two words name the descriptor; global: 64-bit address
    ValueId offset                 # value: run-time offset (64 bits wide for global), 0 none
    int64_t fixed                  # constant offset
    int64_t index_constants        # constants taken out of run-time indices: only `offset` with them added wraps as the index does
    uint32_t align_mul
    uint32_t align_offset
    uint32_t component_stride      # of the vector pointed to, 0: packed (columns of row-major matrices are not)
    uint32_t row_stride            # deref of a row-major matrix: its stride, else 0
    uint32_t pending               # buffer variable + 1 whose descriptor array still needs an index

cdef struct Context:
    uint32_t modes
    Zeroed[uint32_t] address_of    # by instruction: row in `addresses`; row 0 is that of none
    SmallVector[Address] addresses
    Zeroed[ValueId] pointers       # by instruction: its first source before any was lowered; a deref that is used as a value has no type afterwards
    Zeroed[uint8_t] as_value       # by instruction: the pointer itself is used


# --------------------------------------------------------------------------------------------------------------- addresses
cdef void _add_constant(Address *a, int64_t bytes) noexcept nogil:
    """Add a constant offset in bytes."""
    a.fixed += bytes
    a.align_offset = <uint32_t>(<uint64_t>(a.align_offset + bytes) % a.align_mul)


cdef ValueId _without_constant(const ShaderData *s, ValueId index, int64_t *number) noexcept nogil:
    """The value x of an index x + constant; the constant is added to `number`."""
    cdef uint32_t side, picked
    cdef ValueId other
    cdef bint found = True
    cdef int bits = s.instructions.bit_size[index]
    while found:
        found = False
        if s.instructions.kind[index] != nir_alu or s.instructions.opcode[index] != alu_iadd:
            break
        for side in range(2):
            other = source_value(s, index, side)
            if value_is_constant(s, other) and s.instructions.components[source_value(s, index, 1 - side)] == 1:
                picked = swizzle_component(source_swizzle(s, index, side), 0)
                number[0] += sign_extended(constant_bits(s, other, picked), bits)
                index = source_value(s, index, 1 - side)
                found = True
                break
    return index


cdef int _step(Lowering *b, Address *a, ValueId index, uint32_t stride) except -1 nogil:
    """Add index * stride."""
    cdef ShaderData *s = b.s
    cdef int width = 64 if a.mode == mode_global else 32
    cdef int bits = s.instructions.bit_size[index]
    cdef int64_t number = 0
    cdef uint32_t lowest = <uint32_t>lowest_bit(stride)
    if value_is_constant(s, index):
        number = sign_extended(constant_bits(s, index, 0), bits)
        _add_constant(a, number * stride)
        return 0
    # An index as wide as the address wraps in the same way, so x + c can be split.
    if bits == width:
        index = _without_constant(s, index, &number)
        a.index_constants += number * stride
        a.align_offset = <uint32_t>(<uint64_t>(a.align_offset + number * stride) % a.align_mul)
    else:
        index = alu1(b, alu_i2i64 if width == 64 else alu_i2i32, index)
    if stride != 1:
        index = alu2_constant(b, alu_imul, index, stride)
    a.offset = alu2(b, alu_iadd, a.offset, index) if a.offset else index
    if lowest and lowest < a.align_mul:
        a.align_mul = lowest
        a.align_offset %= lowest
    return 0


cdef uint32_t _scalar_align(const ShaderData *s, TypeId type) noexcept nogil:
    cdef uint32_t best = 1
    cdef uint32_t i, part
    if s.types.base[type] == type_struct:
        for i in range(s.types.member_count[type]):
            part = _scalar_align(s, s.members.type[s.types.member_first[type] + i])
            best = part if part > best else best
        return best
    if s.types.base[type] == type_array or s.types.base[type] == type_matrix:
        return _scalar_align(s, s.types.element[type])
    part = component_bytes(s, type)
    return part if part else 1


cdef int _resource(Lowering *b, Address *a, VariableId variable, ValueId index) except -1 nogil:
    """Point an address at the start of a buffer variable (element `index` of a descriptor array)."""
    cdef ShaderData *s = b.s
    cdef int kind = descriptor_ubo if a.mode == mode_ubo else descriptor_ssbo
    cdef ValueId value = intrinsic1(b, intrinsic_vulkan_resource_index, 3, 32, index)
    intrinsic_set_index(s, value, index_desc_set, s.variables.set[variable])
    intrinsic_set_index(s, value, index_binding, s.variables.binding[variable])
    intrinsic_set_index(s, value, index_desc_type, kind)
    a.base = intrinsic1(b, intrinsic_load_vulkan_descriptor, 3, 32, value)
    intrinsic_set_index(s, a.base, index_desc_type, kind)
    a.pending = 0
    return 0


cdef int _start_variable(Lowering *b, Address *a, ValueId deref) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef VariableId variable = s.instructions.data[deref]
    a.align_mul = wide_alignment if a.mode & (mode_push_constant | mode_constant) else largest_alignment
    if a.mode & mode_buffer:
        if s.types.base[s.variables.type[variable]] == type_array:
            a.pending = variable + 1
        else:
            _resource(b, a, variable, constant(b, 0, 32))
    elif a.mode & (mode_shared | mode_scratch | mode_constant):
        _add_constant(a, s.variables.location[variable])
    elif a.mode == mode_global:
        with gil:
            raise UnsupportedError("a variable in the PhysicalStorageBuffer storage class")
    return 0


cdef int _start_cast(Lowering *b, Address *a, ValueId deref) except -1 nogil:
    """An address from a pointer value."""
    cdef ShaderData *s = b.s
    cdef ValueId value = source_value(s, deref, 0)
    a.align_mul = _scalar_align(s, s.instructions.type[deref])
    if a.mode & mode_buffer:
        a.base = value
        if s.instructions.kind[value] == nir_intrinsic and \
                s.instructions.opcode[value] == intrinsic_load_vulkan_descriptor:
            a.align_mul = largest_alignment
        else:
            a.offset = component(b, value, 2)
    elif a.mode == mode_global:
        a.align_mul = 1
        a.base = value
    elif a.mode & mode_push_constant:
        with gil:
            raise UnsupportedError("a push-constant pointer as a value")
    else:
        a.offset = value
    return 0


cdef uint32_t _pointer_stride(const ShaderData *s, const Context *c, ValueId deref) noexcept nogil:
    """Byte stride of pointer arithmetic on this deref."""
    cdef TypeId parent
    if s.instructions.opcode[deref] == deref_cast and s.instructions.data[deref]:
        return s.instructions.data[deref]
    if s.instructions.opcode[deref] == deref_ptr_as_array:
        return _pointer_stride(s, c, c.pointers[deref])
    if s.instructions.opcode[deref] == deref_array:
        parent = s.instructions.type[c.pointers[deref]]
        if s.types.base[parent] == type_array or s.types.base[parent] == type_matrix:
            return type_stride(s, parent)
    return type_bytes(s, s.instructions.type[deref])


cdef int _index_array(Lowering *b, Address *a, TypeId type, ValueId index) except -1 nogil:
    """Step into an array, a matrix column or a vector component."""
    cdef ShaderData *s = b.s
    cdef int base = s.types.base[type]
    if a.pending:
        return _resource(b, a, a.pending - 1, index)
    if base == type_array:
        return _step(b, a, index, type_stride(s, type))
    if base == type_matrix:
        if s.types.row_major[type]:
            a.component_stride = type_stride(s, type)
            return _step(b, a, index, component_bytes(s, s.types.element[type]))
        return _step(b, a, index, type_stride(s, type))
    return _step(b, a, index, a.component_stride if a.component_stride else component_bytes(s, type))


cdef int _find_address(Lowering *b, Context *c, ValueId deref) except -1 nogil:
    """Compute the address of a deref."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[deref]
    cdef ValueId parent = c.pointers[deref]
    cdef bint from_deref = opcode != deref_var and c.address_of[parent] != 0
    cdef Address a
    a.mode = a.base = a.offset = 0
    a.fixed = a.index_constants = 0
    a.align_mul = 1
    a.align_offset = a.component_stride = a.row_stride = a.pending = 0
    if from_deref:
        a = c.addresses[c.address_of[parent]]
    else:
        a.mode = s.instructions.mode[deref]
    if opcode == deref_var:
        _start_variable(b, &a, deref)
    elif opcode == deref_cast:
        if not from_deref:
            _start_cast(b, &a, deref)
    elif not from_deref:
        with gil:
            raise UnsupportedError("a deref whose parent is not a deref")
    elif opcode == deref_struct:
        if a.pending:
            with gil:
                raise UnsupportedError("an array of buffers used without an index")
        _add_constant(&a, member_offset(s, s.instructions.type[parent], s.instructions.data[deref]))
    elif opcode == deref_array:
        _index_array(b, &a, s.instructions.type[parent], source_value(s, deref, 1))
    elif opcode == deref_ptr_as_array:
        _step(b, &a, source_value(s, deref, 1), _pointer_stride(s, c, parent))
    else:
        with gil:
            raise UnsupportedError("array wildcards in explicit memory")
    c.address_of[deref] = <uint32_t>c.addresses.size()
    c.addresses.push_back(a)
    return 0


cdef ValueId _offset_value(Lowering *b, const Address *a, int64_t extra) except? 0xffffffffU nogil:
    """The byte offset as a value; `extra` bytes are added."""
    cdef int64_t fixed = a.fixed + a.index_constants + extra
    if not a.offset:
        return constant(b, <uint64_t>fixed, 32)
    if fixed == 0:
        return a.offset
    return alu2_constant(b, alu_iadd, a.offset, <uint64_t>fixed)


cdef ValueId _materialise(Lowering *b, const Address *a) except? 0xffffffffU nogil:
    """The pointer as a value."""
    cdef ValueId[3] words
    cdef ValueId value
    if a.mode & mode_buffer:
        words[0] = component(b, a.base, 0)
        words[1] = component(b, a.base, 1)
        words[2] = _offset_value(b, a, 0)
        return vector_of(b, words, 3)
    if a.mode == mode_global:
        value = alu2(b, alu_iadd, a.base, a.offset) if a.offset else a.base
        return alu2_constant(b, alu_iadd, value, <uint64_t>(a.fixed + a.index_constants)) if a.fixed + a.index_constants else value
    return _offset_value(b, a, 0)


# ---------------------------------------------------------------------------------------------------------------- accesses
cdef void _set_alignment(ShaderData *s, ValueId instruction, const Address *a, int64_t extra) noexcept nogil:
    intrinsic_set_index(s, instruction, index_align_mul, a.align_mul)
    intrinsic_set_index(s, instruction, index_align_offset,
                        <int>(<uint64_t>(a.align_offset + extra) % a.align_mul))


cdef Address _accessed(const ShaderData *s, const Address *pointer, ValueId instruction, ValueId value) noexcept nogil:
    """The address of an access, with the alignment that the access states or implies; `value` is what it loads or stores."""
    cdef Address a = pointer[0]
    cdef uint32_t stated = intrinsic_index(s, instruction, index_align_mul)
    cdef uint32_t known = <uint32_t>lowest_bit(a.align_offset) if a.align_offset else a.align_mul
    if stated == 0 and a.mode == mode_global:
        stated = s.instructions.bit_size[value] // 8 if s.instructions.bit_size[value] > 1 else 4
    if stated and (a.mode == mode_global or stated > known):
        a.align_mul = stated
        a.align_offset = intrinsic_index(s, instruction, index_align_offset) & (stated - 1)
    return a


cdef ValueId _global_base(Lowering *b, const Address *a, int64_t fixed, int *base) except? 0xffffffffU nogil:
    """The 64-bit address of a global access; the constant part goes to the index `base` where it fits."""
    cdef ValueId value = alu2(b, alu_iadd, a.base, a.offset) if a.offset else a.base
    base[0] = 0
    if 0 <= fixed < 0x7fffffff:
        base[0] = <int>fixed
        return value
    return alu2_constant(b, alu_iadd, value, <uint64_t>fixed)


cdef ValueId _shared_offset(Lowering *b, const Address *a, int64_t extra, int *base) except? 0xffffffffU nogil:
    """Run-time offset of shared and constant memory; the constant part goes to the index `base`."""
    cdef int64_t fixed = a.fixed + extra
    if a.offset and 0 <= fixed < 0x7fffffff:
        base[0] = <int>fixed
        return alu2_constant(b, alu_iadd, a.offset, <uint64_t>a.index_constants) if a.index_constants else a.offset
    if not a.offset and 0 <= fixed < 0x7fffffff:
        base[0] = <int>fixed
        return constant(b, 0, 32)
    base[0] = 0
    return _offset_value(b, a, extra)


cdef ValueId _load_part(Lowering *b, const Address *a, int64_t extra, int components, int bit_size,
                        int access) except? 0xffffffffU nogil:
    """One load of up to four components, `extra` bytes after the address."""
    cdef ShaderData *s = b.s
    cdef int base = 0
    cdef ValueId value
    if a.mode & mode_buffer:
        value = intrinsic2(b, intrinsic_load_ubo if a.mode == mode_ubo else intrinsic_load_ssbo, components, bit_size,
                           a.base, _offset_value(b, a, extra))
        if a.mode == mode_ubo:
            intrinsic_set_index(s, value, index_range, -1)
    elif a.mode == mode_global:
        value = _global_base(b, a, a.fixed + a.index_constants + extra, &base)
        value = intrinsic2(b, intrinsic_load_global_amd, components, bit_size, value, constant(b, 0, 32))
    elif a.mode & mode_push_constant:
        value = _shared_offset(b, a, extra, &base)
        value = intrinsic1(b, intrinsic_load_push_constant, components, bit_size, value)
        intrinsic_set_index(s, value, index_range, -1)
    elif a.mode == mode_shared:
        value = _shared_offset(b, a, extra, &base)
        value = intrinsic1(b, intrinsic_load_shared, components, bit_size, value)
    elif a.mode == mode_constant:
        value = _shared_offset(b, a, extra, &base)
        value = intrinsic1(b, intrinsic_load_constant, components, bit_size, value)
        intrinsic_set_index(s, value, index_range, -1)
    else:
        value = intrinsic1(b, intrinsic_load_scratch, components, bit_size, _offset_value(b, a, extra))
    intrinsic_set_index(s, value, index_base, base)
    intrinsic_set_index(s, value, index_access, access)
    _set_alignment(s, value, a, extra)
    return value


cdef int _store_part(Lowering *b, const Address *a, int64_t extra, ValueId value, uint32_t mask,
                     int access) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef int base = 0
    cdef ValueId store, address
    if a.mode == mode_ssbo:
        store = intrinsic3(b, intrinsic_store_ssbo, 0, 0, value, a.base, _offset_value(b, a, extra))
    elif a.mode == mode_global:
        address = _global_base(b, a, a.fixed + a.index_constants + extra, &base)
        store = intrinsic3(b, intrinsic_store_global_amd, 0, 0, value, address, constant(b, 0, 32))
    elif a.mode == mode_shared:
        address = _shared_offset(b, a, extra, &base)
        store = intrinsic2(b, intrinsic_store_shared, 0, 0, value, address)
    elif a.mode & mode_scratch:
        store = intrinsic2(b, intrinsic_store_scratch, 0, 0, value, _offset_value(b, a, extra))
    else:
        with gil:
            raise UnsupportedError("a store to read-only memory")
    intrinsic_set_index(s, store, index_base, base)
    intrinsic_set_index(s, store, index_access, access)
    intrinsic_set_index(s, store, index_write_mask, mask)
    _set_alignment(s, store, a, extra)
    return 0


cdef ValueId _load(Lowering *b, const Address *pointer, ValueId load) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Address accessed = _accessed(s, pointer, load, load)
    cdef const Address *a = &accessed
    cdef int components = s.instructions.components[load]
    cdef int bit_size = s.instructions.bit_size[load]
    cdef int access = intrinsic_index(s, load, index_access)
    cdef int stored_bits = 32 if bit_size == 1 else bit_size
    cdef int group = 1 if a.component_stride else vector_limit
    cdef int64_t stride = a.component_stride if a.component_stride else stored_bits // 8
    cdef ValueId[16] values
    cdef ValueId part = 0
    cdef int i, k, count
    i = 0
    while i < components:
        count = components - i if components - i < group else group
        part = _load_part(b, a, i * stride, count, stored_bits, access)
        if count == components and bit_size != 1:
            return part
        for k in range(count):
            values[i + k] = component(b, part, k)
            if bit_size == 1:
                values[i + k] = alu2_constant(b, alu_ine, values[i + k], 0)
        i += count
    return vector_of(b, values, components)


cdef int _store(Lowering *b, const Address *pointer, ValueId store) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef ValueId value = source_value(s, store, 1)
    cdef Address accessed = _accessed(s, pointer, store, value)
    cdef const Address *a = &accessed
    cdef int components = s.instructions.components[value]
    cdef uint32_t mask = intrinsic_index(s, store, index_write_mask) & ((1 << components) - 1)
    cdef int access = intrinsic_index(s, store, index_access)
    cdef int group = 1 if a.component_stride else vector_limit
    cdef ValueId[16] parts
    cdef int64_t stride
    cdef int i, k, count
    if s.instructions.bit_size[value] == 1:
        value = alu1(b, alu_b2i32, value)
    stride = a.component_stride if a.component_stride else s.instructions.bit_size[value] // 8
    if components <= group:
        return _store_part(b, a, 0, value, mask, access)
    i = 0
    while i < components:
        count = components - i if components - i < group else group
        if mask >> i & ((1 << count) - 1):
            for k in range(count):
                parts[k] = component(b, value, i + k)
            _store_part(b, a, i * stride, vector_of(b, parts, count), mask >> i & ((1 << count) - 1), access)
        i += count
    return 0


cdef ValueId _atomic(Lowering *b, const Address *a, ValueId atomic) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef bint swap = s.instructions.opcode[atomic] == intrinsic_deref_atomic_swap
    cdef int bits = s.instructions.bit_size[atomic]
    cdef ValueId first = source_value(s, atomic, 1)
    cdef ValueId second = source_value(s, atomic, 2) if swap else 0
    cdef int base = 0
    cdef ValueId value, address
    if a.mode == mode_ssbo:
        address = _offset_value(b, a, 0)
        value = intrinsic4(b, intrinsic_ssbo_atomic_swap if swap else intrinsic_ssbo_atomic, 1, bits, a.base, address,
                           first, second)
    elif a.mode == mode_shared:
        address = _shared_offset(b, a, 0, &base)
        value = intrinsic3(b, intrinsic_shared_atomic_swap if swap else intrinsic_shared_atomic, 1, bits, address,
                           first, second)
    elif a.mode == mode_global:
        address = _global_base(b, a, a.fixed + a.index_constants, &base)
        value = constant(b, 0, 32)
        if swap:
            value = intrinsic4(b, intrinsic_global_atomic_swap_amd, 1, bits, address, first, second, value)
        else:
            value = intrinsic3(b, intrinsic_global_atomic_amd, 1, bits, address, first, value)
    else:
        with gil:
            raise UnsupportedError("an atomic on memory that is not shared between invocations")
    intrinsic_set_index(s, value, index_base, base)
    intrinsic_set_index(s, value, index_access, intrinsic_index(s, atomic, index_access))
    intrinsic_set_index(s, value, index_atomic_op, intrinsic_index(s, atomic, index_atomic_op))
    return value


cdef ValueId _array_length(Lowering *b, const Address *a, ValueId instruction, ValueId deref) except? 0xffffffffU nogil:
    """Elements of the runtime-sized array that a deref points to (or that ends the struct it points to)."""
    cdef ShaderData *s = b.s
    cdef TypeId type = s.instructions.type[deref]
    cdef Address array = a[0]
    cdef ValueId size
    cdef uint32_t stride
    if s.types.base[type] == type_struct and s.types.member_count[type]:
        _add_constant(&array, member_offset(s, type, s.types.member_count[type] - 1))
        type = s.members.type[s.types.member_first[type] + s.types.member_count[type] - 1]
    if a.mode != mode_ssbo or s.types.base[type] != type_array:
        with gil:
            raise UnsupportedError("the length of an array that is not the end of a storage buffer")
    stride = type_stride(s, type)
    size = intrinsic1(b, intrinsic_get_ssbo_size, 1, 32, a.base)
    intrinsic_set_index(s, size, index_access, intrinsic_index(s, instruction, index_access))
    if array.fixed or array.offset:
        size = alu2(b, alu_usub_sat, size, _offset_value(b, &array, 0))
    return alu2_constant(b, alu_udiv, size, stride) if stride != 1 else size


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef int opcode = s.instructions.opcode[instruction]
    cdef ValueId deref
    if s.instructions.kind[instruction] == nir_deref:
        if not s.instructions.mode[instruction] & c.modes:
            return lower_keep
        _find_address(b, c, instruction)
        if c.as_value[instruction]:
            return _materialise(b, &c.addresses[c.address_of[instruction]])
        return <uint32_t>lower_remove
    if s.instructions.kind[instruction] != nir_intrinsic:
        return lower_keep
    if opcode not in (intrinsic_load_deref, intrinsic_store_deref, intrinsic_deref_atomic, intrinsic_deref_atomic_swap,
                      intrinsic_deref_buffer_array_length):
        return lower_keep
    deref = c.pointers[instruction]
    if c.address_of[deref] == 0:
        return lower_keep
    if opcode == intrinsic_load_deref:
        return _load(b, &c.addresses[c.address_of[deref]], instruction)
    if opcode == intrinsic_store_deref:
        _store(b, &c.addresses[c.address_of[deref]], instruction)
        return <uint32_t>lower_remove
    if opcode == intrinsic_deref_buffer_array_length:
        return _array_length(b, &c.addresses[c.address_of[deref]], instruction, deref)
    return _atomic(b, &c.addresses[c.address_of[deref]], instruction)


# ------------------------------------------------------------------------------------------------------ zeroed workgroup memory
cdef int _require_zero(const ShaderData *s, VariableId variable) except -1 nogil:
    cdef uint32_t i
    for i in range(type_slots(s, s.variables.type[variable])):
        if s.constants.value[s.variables.initializer[variable] - 1 + i]:
            with gil:
                raise UnsupportedError("a workgroup variable with an initial value other than null")
    return 0


cdef int _zero_range(Lowering *b, ValueId lane, uint32_t first, uint32_t bytes) except -1 nogil:
    """Invocation i stores zero to the dwords i, i + n, i + 2n ... of a range."""
    cdef ShaderData *s = b.s
    cdef uint32_t invocations = s.info.workgroup_size[0] * s.info.workgroup_size[1] * s.info.workgroup_size[2]
    cdef uint32_t dwords = (bytes + 3) // 4
    cdef uint32_t step = 0
    cdef NodeId branch = 0
    cdef ValueId address, store
    while step < dwords:
        if dwords - step < invocations:
            branch = lower_if_begin(b, alu2_constant(b, alu_ult, lane, dwords - step))
        address = alu2_constant(b, alu_imul, lane, 4)
        store = intrinsic2(b, intrinsic_store_shared, 0, 0, constant(b, 0, 32), address)
        intrinsic_set_index(s, store, index_base, <int>(first + 4 * step))
        intrinsic_set_index(s, store, index_write_mask, 1)
        intrinsic_set_index(s, store, index_align_mul, 4)
        if branch:
            lower_if_else(b, branch)
            lower_if_end(b, branch)
        step += invocations
    return 0


cdef int _zero_shared(Lowering *b) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef VariableId variable
    cdef ValueId barrier
    cdef ValueId lane = 0
    for variable in range(s.variables.table.count):
        if not s.variables.flags[variable] & variable_alive or s.variables.mode[variable] != mode_shared:
            continue
        if s.variables.initializer[variable] == 0:
            continue
        _require_zero(s, variable)
        if not lane:
            lane = intrinsic0(b, intrinsic_load_local_invocation_index, 1, 32)
        _zero_range(b, lane, s.variables.location[variable], type_bytes(s, s.variables.type[variable]))
    if lane:
        barrier = intrinsic0(b, intrinsic_barrier, 0, 0)
        intrinsic_set_index(s, barrier, index_execution_scope, nir_scope_workgroup)
        intrinsic_set_index(s, barrier, index_memory_scope, nir_scope_workgroup)
        intrinsic_set_index(s, barrier, index_memory_semantics, nir_semantic_acquire | nir_semantic_release)
        intrinsic_set_index(s, barrier, index_memory_modes, mode_shared)
        b.progress = True
    return 0


# ------------------------------------------------------------------------------------------------------------------ layout
cdef uint32_t _lay_out(ShaderData *s, uint32_t modes, uint32_t start) noexcept nogil:
    """Assign byte offsets to the variables of some modes; returns the end."""
    cdef VariableId variable
    cdef uint32_t alignment, size
    for variable in range(s.variables.table.count):
        if not s.variables.flags[variable] & variable_alive or not s.variables.mode[variable] & modes:
            continue
        size = type_bytes(s, s.variables.type[variable])
        alignment = 16 if size >= 16 else type_align(s, s.variables.type[variable])
        alignment = 4 if alignment < 4 else alignment
        start = <uint32_t>align_up(start, alignment)
        s.variables.location[variable] = start
        start += size
    return <uint32_t>align_up(start, 4)


cdef void _set_packed(ShaderData *s, bint packed) noexcept nogil:
    """Whether vectors of three that have no layout yet are aligned to their components."""
    cdef TypeId type
    for type in range(s.types.table.count):
        if type_int <= s.types.base[type] <= type_float and s.types.components[type] == 3 and s.types.stride[type] in (0, component_bytes(s, type)):
            s.types.stride[type] = component_bytes(s, type) if packed else 0


cdef void _lay_out_shared(ShaderData *s) noexcept nogil:
    """Lay out shared variables, with packed vectors where that takes fewer units of memory."""
    cdef uint32_t start = s.info.shared_bytes
    cdef uint32_t end = _lay_out(s, mode_shared, start)
    if end != start:
        _set_packed(s, True)
        if align_up(_lay_out(s, mode_shared, start), shared_unit) == align_up(end, shared_unit):
            _set_packed(s, False)
        end = _lay_out(s, mode_shared, start)
    s.info.shared_bytes = end


cdef int _find_dead_variables(ShaderData *s) except -1 nogil:
    """Shared and local variables that no deref names for anything but derefs are dead."""
    cdef uint32_t i, k
    cdef ValueId instruction
    cdef VariableId variable
    cdef bint is_deref
    cdef Zeroed[uint8_t] named, used
    named.assign(s.variables.table.count)
    used.assign(s.instructions.table.count)
    for i in range(s.order.table.count, 0, -1):        # a deref stands behind those that it comes from
        instruction = s.order.instruction[i - 1]
        is_deref = s.instructions.kind[instruction] == nir_deref
        if is_deref and not used[instruction]:
            continue
        if is_deref and s.instructions.opcode[instruction] == deref_var:
            named[s.instructions.data[instruction]] = 1
        for k in range(s.instructions.source_count[instruction]):
            used[source_value(s, instruction, k)] = 1
    for variable in range(s.variables.table.count):
        if not named[variable] and s.variables.mode[variable] & (mode_shared | mode_scratch):
            s.variables.flags[variable] &= ~<uint32_t>variable_alive
    return 0


cdef void _find_values(ShaderData *s, Context *c) noexcept nogil:
    """Note first sources, and mark derefs that are used as values."""
    cdef uint32_t i, k
    cdef ValueId instruction, value
    cdef bint is_address
    c.as_value.assign(s.instructions.table.count)
    c.pointers.assign(s.instructions.table.count)
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        if s.instructions.source_count[instruction]:
            c.pointers[instruction] = source_value(s, instruction, 0)
        for k in range(s.instructions.source_count[instruction]):
            value = source_value(s, instruction, k)
            if s.instructions.kind[value] != nir_deref:
                continue
            is_address = k == 0 and s.instructions.kind[instruction] in (nir_deref, nir_intrinsic)
            if not is_address:
                c.as_value[value] = 1


cdef void _mark_dead(ShaderData *s, uint32_t modes) noexcept nogil:
    cdef VariableId variable
    for variable in range(s.variables.table.count):
        if s.variables.mode[variable] & modes:
            s.variables.flags[variable] &= ~<uint32_t>variable_alive


cdef bint lower_explicit_io_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef bint progress
    c.modes = mode_memory
    _find_dead_variables(s)
    _find_values(s, &c)
    c.address_of.assign(s.instructions.table.count)
    c.addresses.resize(1)
    _lay_out_shared(s)
    s.info.scratch_bytes = _lay_out(s, mode_scratch, s.info.scratch_bytes)
    progress = lowering_run_from(s, _zero_shared, lower_derefs | lower_intrinsics, _lower, &c)
    _mark_dead(s, mode_memory)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return lower_explicit_io_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Lower derefs of memory to explicit addresses."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
