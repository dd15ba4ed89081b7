"""Values of ids, pointers, and what is loaded from and stored to them.

Pointers follow Mesa's Vulkan path (``vtn_variables.c``): a buffer variable is ``vulkan_resource_index`` and
``load_vulkan_descriptor`` with a cast to its block type, everything below a chain of derefs over types that carry the
memory layout. System values are read by their intrinsics at once.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *


# ---------------------------------------------------------------------------------------------------------------- values
cdef uint32_t tree_new(Reader r, uint32_t count) except? 0xffffffffU nogil:
    cdef uint32_t first = <uint32_t>r.trees.size()
    if r.trees.size() + count > 16 * <uint64_t>maximum_instructions:
        unsupported(r, r.word, "composites of more than 64 million elements together")
    r.trees.resize(first + count)
    return first


cdef uint32_t undefined_value(Reader r, uint32_t type) except? 0xffffffffU nogil:
    return constant_value(r, _undefined_constant(r, type))


cdef uint32_t _undefined_constant(Reader r, uint32_t type) except? 0xffffffffU nogil:
    cdef ConstantRow row
    memset(&row, 0, sizeof(row))
    row.type = type
    row.kind = constant_undef
    r.constants.push_back(row)
    return <uint32_t>(r.constants.size() - 1)


cdef uint32_t _leaf_constant(Reader r, uint32_t constant) except 0 nogil:
    """A scalar, vector or pointer constant as a NIR value."""
    cdef uint32_t type = r.constants[constant].type
    cdef int components = r.s.types.components[type]
    cdef int bit_size = r.s.types.bit_size[type]
    cdef uint64_t[16] bits
    cdef int i
    if r.s.types.base[type] == type_pointer:
        pointer_shape(mode_of_class(r, r.types[type].storage_class, r.s.types.element[type]), &components, &bit_size)
    if r.constants[constant].kind == constant_undef:
        return undefined(&r.nir, components, bit_size)
    for i in range(components):
        bits[i] = 0 if r.constants[constant].kind == constant_null else constant_component(r, constant, i)
    return constant_vector(&r.nir, bits, components, bit_size)


cdef uint32_t constant_value(Reader r, uint32_t constant) except? 0xffffffffU nogil:
    cdef uint32_t type = r.constants[constant].type
    cdef uint32_t count
    cdef uint32_t first
    cdef uint32_t child
    cdef uint32_t i
    if r.constants[constant].value:
        return r.constants[constant].value - 1
    check_value_type(r, type)
    if not is_composite(r, type):
        first = _leaf_constant(r, constant)
    else:
        count = element_count(r, type)
        first = tree_new(r, count)
        for i in range(count):
            child = constant_child(r, constant, i)
            child = constant_value(r, child)
            r.trees[first + i] = child
    r.constants[constant].value = first + 1
    return first


cdef uint32_t value_type(Reader r, uint32_t id) except 0xffffffffU nogil:
    cdef uint32_t type = type_id_of(r, id)
    if type == 0:
        fail(r, r.word, "id %u has no type", id)
    return type_row(r, type)


cdef uint32_t value_of(Reader r, uint32_t id) except? 0xffffffffU nogil:
    cdef uint8_t kind = r.kind[id]
    if kind == kind_ssa or kind == kind_tree:
        return r.payload[id]
    if kind == kind_constant:
        return constant_value(r, r.payload[id])
    if kind == kind_variable or kind == kind_blocks or kind == kind_builtin:
        return pointer_of(r, id)
    if kind == kind_none:
        if r.offset[id] == 0:
            fail(r, r.word, "id %u is not defined", id)
        fail(r, r.word, "id %u is used before it is defined", id)
    if kind == kind_opaque:
        unsupported(r, r.word, "images and samplers")
    fail(r, r.word, "id %u is not a value", id)
    return 0


cdef uint32_t ssa(Reader r, uint32_t id) except 0 nogil:
    cdef uint32_t value
    if r.kind[id] == kind_ssa:
        return r.payload[id]
    value = value_of(r, id)
    if r.kind[id] == kind_tree or (r.kind[id] == kind_constant and is_composite(r, r.constants[r.payload[id]].type)):
        fail(r, r.word, "id %u is neither scalar nor vector", id)
    return value


cdef int set_value(Reader r, uint32_t id, uint32_t type, uint32_t value) except -1 nogil:
    r.kind[id] = kind_tree if is_composite(r, type) else kind_ssa
    r.payload[id] = value
    return 0


# --------------------------------------------------------------------------------------------------------------- derefs
cdef uint32_t mode_of_class(Reader r, uint32_t storage_class, uint32_t pointee) except 0 nogil:
    if storage_class == StorageClass_Function:
        return mode_function_temp
    if storage_class == StorageClass_StorageBuffer:
        return mode_ssbo
    if storage_class == StorageClass_Uniform:
        return mode_ssbo if _is_buffer_block(r, pointee) else mode_ubo
    if storage_class == StorageClass_PushConstant:
        return mode_push_constant
    if storage_class == StorageClass_Workgroup:
        return mode_shared
    if storage_class == StorageClass_Private:
        return mode_shader_temp
    if storage_class == StorageClass_PhysicalStorageBuffer:
        return mode_global
    if storage_class == StorageClass_Input:
        return mode_system_value
    if storage_class == StorageClass_UniformConstant or storage_class == StorageClass_Image:
        unsupported(r, r.word, "images and samplers")
    unsupported_enumerant(r, r.word, "the storage class ", spirv_kind_StorageClass, storage_class)
    return 0


cdef bint _is_buffer_block(Reader r, uint32_t type) noexcept nogil:
    while r.s.types.base[type] == type_array:
        type = r.s.types.element[type]
    return r.types[type].is_block == 2


cdef int pointer_shape(uint32_t mode, int *components, int *bit_size) noexcept nogil:
    components[0] = 3 if mode & (mode_ubo | mode_ssbo) else 1
    bit_size[0] = 64 if mode == mode_global else 32
    return 0


cdef uint32_t _deref(Reader r, int opcode, uint32_t mode, uint32_t type, uint32_t sources) except 0 nogil:
    cdef int components
    cdef int bit_size
    cdef ValueId row
    pointer_shape(mode, &components, &bit_size)
    row = nir_deref_new(r.s, opcode, components, bit_size, sources, mode, type, 0)
    if row >= r.deref_access.size():
        r.deref_access.resize(2 * row + 256)
    r.deref_access[row] = 0
    return row


cdef uint32_t _variable_deref(Reader r, uint32_t mode, uint32_t type) except 0 nogil:
    cdef uint32_t variable = variable_new(r.s, mode, type)
    cdef uint32_t row = _deref(r, deref_var, mode, type, 0)
    r.s.instructions.data[row] = variable
    return emit_early(&r.nir, row)


cdef uint32_t stored_type(Reader r, uint32_t type) except 0xffffffffU nogil:
    cdef int components
    cdef int bit_size
    if r.s.types.base[type] != type_pointer or r.types[type].storage_class == StorageClass_PhysicalStorageBuffer:
        return type
    pointer_shape(mode_of_class(r, r.types[type].storage_class, r.s.types.element[type]), &components, &bit_size)
    if components == 1:
        return r.uint_type
    return r.uint3_type


cdef uint32_t local_variable(Reader r, uint32_t type) except 0 nogil:
    cdef uint32_t stored = stored_type(r, type)
    return _variable_deref(r, mode_function_temp, stored)


cdef uint32_t deref_cast_of(Reader r, uint32_t value, uint32_t mode, uint32_t type, uint32_t stride) except 0 nogil:
    cdef uint32_t row = _deref(r, deref_cast, mode, type, 1)
    if (r.s.instructions.components[row] != r.s.instructions.components[value]
            or r.s.instructions.bit_size[row] != r.s.instructions.bit_size[value]):
        fail(r, r.word, "a pointer into another storage class is expected")
    source_set(r.s, row, 0, value)
    r.s.instructions.data[row] = stride
    return row


cdef uint32_t deref_element(Reader r, uint32_t deref, uint32_t index) except 0 nogil:
    """Deref of a struct member, or of an array element, matrix column or vector component with a constant index."""
    cdef uint32_t type = r.s.instructions.type[deref]
    cdef uint32_t row
    cdef uint32_t inner
    if r.s.types.base[type] != type_struct:
        inner = integer(r, index, 64 if r.s.instructions.mode[deref] == mode_global else 32)
        return deref_indexed(r, deref, inner)
    inner = element_type(r, type, index)
    row = _deref(r, deref_struct, r.s.instructions.mode[deref], inner, 1)
    source_set(r.s, row, 0, deref)
    r.s.instructions.data[row] = index
    r.deref_access[row] = <uint8_t>(r.deref_access[deref]
                                    | r.s.members.access[r.s.types.member_first[type] + index])
    return emit(&r.nir, row)


cdef uint32_t deref_indexed(Reader r, uint32_t deref, uint32_t index_value) except 0 nogil:
    cdef uint32_t inner = element_type(r, r.s.instructions.type[deref], 0)
    cdef uint32_t index = resize_integer(r, index_value, 64 if r.s.instructions.mode[deref] == mode_global else 32, True)
    cdef uint32_t row = _deref(r, deref_array, r.s.instructions.mode[deref], inner, 2)
    source_set(r.s, row, 0, deref)
    source_set(r.s, row, 1, index)
    r.deref_access[row] = r.deref_access[deref]
    return emit(&r.nir, row)


# ------------------------------------------------------------------------------------------------- module-scope variables
cdef uint32_t _variable_access(Reader r, uint32_t id) noexcept nogil:
    cdef uint32_t access = 0
    if decoration_of(r, id, no_member, Decoration_NonWritable):
        access |= access_non_writeable
    if decoration_of(r, id, no_member, Decoration_NonReadable):
        access |= access_non_readable
    if decoration_of(r, id, no_member, Decoration_Coherent):
        access |= access_coherent
    if decoration_of(r, id, no_member, Decoration_Volatile):
        access |= access_volatile
    if decoration_of(r, id, no_member, Decoration_Restrict):
        access |= access_restrict
    return access


cdef int _buffer_variable(Reader r, uint32_t id, uint32_t type) except -1 nogil:
    """A uniform or storage buffer, or an array of them."""
    cdef BlockPointer row
    cdef uint32_t set_word = decoration_of(r, id, no_member, Decoration_DescriptorSet)
    cdef uint32_t binding_word = decoration_of(r, id, no_member, Decoration_Binding)
    cdef uint32_t block = type
    cdef uint64_t count = 1
    cdef uint32_t descriptor
    while r.s.types.base[block] == type_array:
        count *= r.s.types.length[block]
        block = r.s.types.element[block]
    if r.s.types.base[block] == type_opaque:
        check_value_type(r, block)
    if r.s.types.base[block] != type_struct or r.types[block].is_block == 0:
        fail(r, r.offset[id], "a buffer variable whose type is no Block")
    if count >= 0x7fffffff:
        fail(r, r.offset[id], "an array of more than 2**31 descriptors")
    row.variable = id
    row.type = type
    row.index = 0
    row.access = _variable_access(r, id)
    r.block_pointers.push_back(row)
    r.kind[id] = kind_blocks
    r.payload[id] = <uint32_t>(r.block_pointers.size() - 1)
    descriptor = mode_of_class(r, r.words[r.offset[id] + 3], type)
    with gil:
        key = (r.words[set_word] if set_word else 0, r.words[binding_word] if binding_word else 0)
        r.bindings[key] = ("ssbo" if descriptor == mode_ssbo else "ubo", count)
    return 0


cdef int _check_variable_type(Reader r, uint32_t type) except -1 nogil:
    cdef uint32_t inner = type
    while r.s.types.base[inner] == type_array:
        inner = r.s.types.element[inner]
    if r.s.types.base[inner] == type_opaque:
        check_value_type(r, inner)                 # names it
    if r.types[type].leaves > maximum_instructions:
        unsupported(r, r.word, "a variable of more than four million elements, or with members of an opaque type")
    return 0


cdef int _plain_variable(Reader r, uint32_t id, uint32_t mode, uint32_t type) except -1 nogil:
    """A Private, Workgroup or push-constant variable."""
    cdef uint32_t word = r.offset[id]
    cdef uint32_t deref
    cdef uint32_t variable
    cdef uint32_t block = r.nir.block
    cdef uint32_t initial
    _check_variable_type(r, type)
    deref = _variable_deref(r, mode, type)
    variable = r.s.instructions.data[deref]
    r.s.variables.access[variable] = _variable_access(r, id)
    r.deref_access[deref] = <uint8_t>r.s.variables.access[variable]
    r.kind[id] = kind_ssa
    r.payload[id] = deref
    r.variable_ids.push_back(variable)
    r.variable_ids.push_back(id)
    if length_at(r, word) > 4:
        if mode == mode_push_constant:
            fail(r, word, "a push constant with an initializer")
        if not same_shape(r, value_type(r, r.words[word + 4]), type) and r.types[type].leaves <= maximum_leaves:
            fail(r, word, "the initializer has another type")
        if mode == mode_shared:
            if r.kind[r.words[word + 4]] != kind_constant or \
                    r.constants[r.payload[r.words[word + 4]]].kind != constant_null:
                fail(r, word, "a Workgroup initializer other than null")
            r.zeroed_workgroup.push_back(id)
        else:
            initial = value_of(r, r.words[word + 4])
            r.nir.block = 0                        # the prologue runs once, before everything
            store_value(r, deref, type, initial, 0)
            r.nir.block = block
    return 0


cdef uint32_t _workgroup_block(Reader r) except 0xffffffffU nogil:
    """The Workgroup variable of Block type that reaches farthest; all of them share its memory."""
    cdef uint32_t i
    cdef uint32_t id
    cdef uint32_t type
    cdef uint32_t best = 0
    cdef uint64_t end
    cdef uint64_t best_end = 0
    for i in range(<uint32_t>r.module_variables.size()):
        id = r.module_variables[i]
        if r.words[r.offset[id] + 3] != StorageClass_Workgroup:
            continue
        type = r.s.types.element[type_row(r, r.words[r.offset[id] + 1])]
        end = end_of_type(r, type)
        if r.types[type].is_block and (best == 0 or end > best_end):
            best = id
            best_end = end
    return best


cdef int _aliased_block(Reader r, uint32_t id, uint32_t type) except -1 nogil:
    """A Workgroup Block (SPV_KHR_workgroup_memory_explicit_layout): a cast of the variable that stands for all of them."""
    cdef uint32_t owner = _workgroup_block(r)
    cdef uint32_t value
    if owner == id:
        return _plain_variable(r, id, mode_shared, type)
    if r.kind[owner] == kind_variable:
        module_variable(r, owner)
    value = deref_cast_of(r, r.payload[owner], mode_shared, type, 0)
    r.deref_access[value] = <uint8_t>_variable_access(r, id)
    r.kind[id] = kind_ssa
    r.payload[id] = emit_early(&r.nir, value)
    return 0


cdef int module_variable(Reader r, uint32_t id) except -1 nogil:
    """Make what stands for a module-scope variable, at its first use."""
    cdef uint32_t word = r.offset[id]
    cdef uint32_t pointer = type_row(r, r.words[word + 1])
    cdef uint32_t type = r.s.types.element[pointer]
    cdef uint32_t storage = r.words[word + 3]
    cdef uint32_t builtin
    if storage == StorageClass_Uniform or storage == StorageClass_StorageBuffer:
        return _buffer_variable(r, id, type)
    if storage == StorageClass_Input:
        builtin = decoration_of(r, id, no_member, Decoration_BuiltIn)
        if builtin == 0:
            unsupported(r, word, "inputs other than built-ins in compute shaders")
        if r.words[builtin] >= 0x10000:
            fail(r, word, "built-in %u", r.words[builtin])
        r.kind[id] = kind_builtin
        r.payload[id] = r.words[builtin]
        return 0
    if storage == StorageClass_UniformConstant:
        r.kind[id] = kind_opaque
        check_value_type(r, type)
        unsupported(r, word, "images and samplers")
    if storage == StorageClass_Workgroup and r.types[type].is_block:
        return _aliased_block(r, id, type)
    return _plain_variable(r, id, mode_of_class(r, storage, type), type)


cdef int function_variable(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef uint32_t pointer = type_row(r, r.words[word + 1])
    cdef uint32_t type
    cdef uint32_t deref
    if r.s.types.base[pointer] != type_pointer or r.words[word + 3] != StorageClass_Function or \
            r.types[pointer].storage_class != StorageClass_Function:
        fail(r, word, "a variable inside a function that is no Function variable")
    type = r.s.types.element[pointer]
    if r.s.types.base[type] == type_void:
        fail(r, word, "a variable of type void")
    _check_variable_type(r, type)
    deref = local_variable(r, type)
    r.variable_ids.push_back(r.s.instructions.data[deref])
    r.variable_ids.push_back(r.words[word + 2])
    if end - word > 4:
        if not same_shape(r, value_type(r, r.words[word + 4]), type):
            fail(r, word, "the initializer has another type")
        store_value(r, deref, stored_type(r, type), value_of(r, r.words[word + 4]), 0)
    r.kind[r.words[word + 2]] = kind_ssa
    r.payload[r.words[word + 2]] = deref
    return 0


# ------------------------------------------------------------------------------------------------------------- builtins
cdef int _builtin_intrinsic(uint32_t builtin, int *components) noexcept nogil:
    """The intrinsic of a compute built-in, -1 for none."""
    components[0] = 1
    if builtin == BuiltIn_LocalInvocationIndex:
        return intrinsic_load_local_invocation_index
    if builtin == BuiltIn_SubgroupSize:
        return intrinsic_load_subgroup_size
    if builtin == BuiltIn_NumSubgroups:
        return intrinsic_load_num_subgroups
    if builtin == BuiltIn_SubgroupId:
        return intrinsic_load_subgroup_id
    if builtin == BuiltIn_SubgroupLocalInvocationId:
        return intrinsic_load_subgroup_invocation
    components[0] = 3
    if builtin == BuiltIn_NumWorkgroups:
        return intrinsic_load_num_workgroups
    if builtin == BuiltIn_WorkgroupSize:
        return intrinsic_load_workgroup_size
    if builtin == BuiltIn_WorkgroupId:
        return intrinsic_load_workgroup_id
    if builtin == BuiltIn_LocalInvocationId:
        return intrinsic_load_local_invocation_id
    if builtin == BuiltIn_GlobalInvocationId:
        return intrinsic_load_global_invocation_id
    components[0] = 4
    if builtin == BuiltIn_SubgroupEqMask:
        return intrinsic_load_subgroup_eq_mask
    if builtin == BuiltIn_SubgroupGeMask:
        return intrinsic_load_subgroup_ge_mask
    if builtin == BuiltIn_SubgroupGtMask:
        return intrinsic_load_subgroup_gt_mask
    if builtin == BuiltIn_SubgroupLeMask:
        return intrinsic_load_subgroup_le_mask
    if builtin == BuiltIn_SubgroupLtMask:
        return intrinsic_load_subgroup_lt_mask
    return -1


cdef uint32_t load_builtin(Reader r, uint32_t payload, uint32_t type) except 0 nogil:
    cdef uint32_t builtin = payload & 0xffff
    cdef uint32_t place = payload >> 16
    cdef int components = 1
    cdef int opcode = _builtin_intrinsic(builtin, &components)
    cdef uint32_t i
    cdef uint32_t value = 0
    if builtin == BuiltIn_DeviceIndex:
        value = integer(r, 0, 32)
    elif opcode < 0:
        unsupported_enumerant(r, r.word, "the built-in ", spirv_kind_BuiltIn, builtin)
    for i in range(r.builtin_values.size() // 2):
        if r.builtin_values[2 * i] == builtin:
            value = r.builtin_values[2 * i + 1]
    if value == 0:
        value = emit_early(&r.nir, nir_intrinsic_new(r.s, opcode, components, 32, NULL))
        r.builtin_values.push_back(builtin)
        r.builtin_values.push_back(value)
    if place:
        if place > <uint32_t>components:
            fail(r, r.word, "component %u of a built-in", place - 1)
        value = component(&r.nir, value, place - 1)
        components = 1
    if (r.s.types.base[type] != type_int and r.s.types.base[type] != type_uint) or \
            r.s.types.components[type] > components:
        fail(r, r.word, "a built-in of another type")
    if r.s.types.components[type] < components:
        value = _shrink(r, value, r.s.types.components[type])
    return resize_integer(r, value, r.s.types.bit_size[type], False)


cdef uint32_t _shrink(Reader r, uint32_t value, uint32_t count) except 0 nogil:
    """The first components of a vector."""
    return swizzled(&r.nir, value, identity_swizzle, count)


# ------------------------------------------------------------------------------------------------------ pointers by id
cdef uint32_t _resolve_blocks(Reader r, uint32_t row) except 0 nogil:
    """Deref of the block that a descriptor names."""
    cdef BlockPointer pointer = r.block_pointers[row]
    cdef uint32_t id = pointer.variable
    cdef uint32_t set_word = decoration_of(r, id, no_member, Decoration_DescriptorSet)
    cdef uint32_t binding_word = decoration_of(r, id, no_member, Decoration_Binding)
    cdef uint32_t mode
    cdef uint32_t block = r.nir.block
    cdef uint32_t index
    cdef uint32_t value
    cdef uint32_t descriptor
    if r.s.types.base[pointer.type] != type_struct:
        fail(r, r.word, "an array of buffers as one value")
    if pointer.index == 0 and r.phi_variable[id]:
        return r.phi_variable[id]
    mode = mode_of_class(r, r.words[r.offset[id] + 3], pointer.type)
    descriptor = descriptor_ssbo if mode == mode_ssbo else descriptor_ubo
    if pointer.index == 0:
        r.nir.block = 0
    index = pointer.index if pointer.index else integer(r, 0, 32)
    value = intrinsic_n(&r.nir, intrinsic_vulkan_resource_index, 3, 32, &index)
    intrinsic_set_index(r.s, value, index_desc_set, r.words[set_word] if set_word else 0)
    intrinsic_set_index(r.s, value, index_binding, r.words[binding_word] if binding_word else 0)
    intrinsic_set_index(r.s, value, index_desc_type, descriptor)
    value = intrinsic_n(&r.nir, intrinsic_load_vulkan_descriptor, 3, 32, &value)
    intrinsic_set_index(r.s, value, index_desc_type, descriptor)
    value = deref_cast_of(r, value, mode, pointer.type, 0)
    r.deref_access[value] = <uint8_t>pointer.access
    emit(&r.nir, value)
    if pointer.index == 0:
        r.nir.block = block
        r.phi_variable[id] = value
    return value


cdef uint32_t pointee_type(Reader r, uint32_t id) except 0xffffffffU nogil:
    cdef uint32_t pointer = value_type(r, id)
    if r.s.types.base[pointer] != type_pointer:
        fail(r, r.word, "id %u is not a pointer", id)
    return r.s.types.element[pointer]


cdef uint32_t pointer_of(Reader r, uint32_t id) except 0 nogil:
    """The deref that an id of pointer type stands for; bits of an address are cast first."""
    cdef uint32_t pointer = value_type(r, id)
    cdef uint32_t type
    cdef uint32_t value
    cdef uint32_t mode
    cdef uint32_t stride
    if r.s.types.base[pointer] != type_pointer:
        fail(r, r.word, "id %u is not a pointer", id)
    type = r.s.types.element[pointer]
    if r.kind[id] == kind_variable:
        module_variable(r, id)
    if r.kind[id] == kind_blocks:
        return _resolve_blocks(r, r.payload[id])
    if r.kind[id] == kind_builtin:
        unsupported(r, r.word, "pointers to built-ins other than in loads")
    if r.kind[id] != kind_ssa and r.kind[id] != kind_constant:
        return value_of(r, id)                 # raises
    value = value_of(r, id)
    mode = mode_of_class(r, r.types[pointer].storage_class, type)
    if mode == mode_ubo and r.s.instructions.kind[value] == nir_deref and r.s.instructions.mode[value] == mode_ssbo:
        mode = mode_ssbo                       # inside a BufferBlock, of storage class Uniform
    if r.s.instructions.kind[value] == nir_deref and r.s.instructions.mode[value] == mode and \
            (r.s.instructions.type[value] == type or _same_stored(r, r.s.instructions.type[value], type)):
        return value
    stride = decoration_of(r, r.types[pointer].id, no_member, Decoration_ArrayStride)
    value = deref_cast_of(r, value, mode, type, r.words[stride] if stride else 0)
    emit(&r.nir, value)
    # From here on the id is the deref, so that it is cast once per place only where values are not shared.
    return value


cdef bint _same_stored(Reader r, uint32_t stored, uint32_t type) noexcept nogil:
    """Whether a deref of a laid-out copy of `type`, or of the bits of a pointer, serves for `type`."""
    if r.s.types.base[type] == type_pointer:
        return True
    return same_shape(r, stored, type)


cdef int _chain_through_blocks(Reader r, uint32_t id, uint32_t place, uint32_t end, uint32_t result) except -1 nogil:
    """Leading indices that choose a descriptor; returns how many words they take, and sets `result` when none remain."""
    cdef BlockPointer pointer = r.block_pointers[r.payload[id]]
    cdef uint32_t cursor = place
    cdef uint32_t index
    while cursor < end and r.s.types.base[pointer.type] == type_array:
        index = ssa(r, r.words[cursor])
        if components_of(r, index) != 1 or bits_of(r, index) < 8:
            fail(r, r.word, "an index that is no integer")
        index = resize_integer(r, index, 32, False)
        if pointer.index:
            pointer.index = alu2(&r.nir, alu_iadd, alu2(&r.nir, alu_imul, pointer.index,
                                                        integer(r, r.s.types.length[pointer.type], 32)), index)
        else:
            pointer.index = index
        if decoration_of(r, r.words[cursor], no_member, Decoration_NonUniform):
            pointer.access |= access_non_uniform
        pointer.type = r.s.types.element[pointer.type]
        cursor += 1
    if decoration_of(r, result, no_member, Decoration_NonUniform):
        pointer.access |= access_non_uniform
    r.block_pointers.push_back(pointer)
    return cursor - place


cdef uint32_t _chain_index(Reader r, uint32_t deref, uint32_t id) except 0 nogil:
    """One step of an access chain."""
    cdef uint32_t type = r.s.instructions.type[deref]
    cdef uint64_t constant
    cdef uint32_t value
    if r.s.types.base[type] == type_struct:
        constant = integer_constant(r, id)
        if constant >= r.s.types.member_count[type]:
            fail(r, r.word, "a member that does not exist")
        return deref_element(r, deref, <uint32_t>constant)
    if r.s.types.base[type] == type_opaque:
        check_value_type(r, type)
    value = ssa(r, id)
    if components_of(r, value) != 1 or bits_of(r, value) < 8:
        fail(r, r.word, "an index that is no integer")
    return deref_indexed(r, deref, value)


cdef uint32_t _pointer_step(Reader r, uint32_t base, uint32_t deref, uint32_t index_id) except 0 nogil:
    """The element step of OpPtrAccessChain."""
    cdef uint32_t pointer = value_type(r, base)
    cdef uint32_t stride = decoration_of(r, r.types[pointer].id, no_member, Decoration_ArrayStride)
    cdef uint32_t mode = r.s.instructions.mode[deref]
    cdef uint32_t type = r.s.instructions.type[deref]
    cdef uint32_t index = ssa(r, index_id)
    cdef uint32_t row
    cdef uint32_t parent = deref
    if components_of(r, index) != 1 or bits_of(r, index) < 8:
        fail(r, r.word, "an index that is no integer")
    if r.s.instructions.opcode[deref] == deref_array and stride == 0:
        # A pointer to an array element: step along the same array.
        index = resize_integer(r, index, bits_of(r, source_value(r.s, deref, 1)), True)
        index = alu2(&r.nir, alu_iadd, source_value(r.s, deref, 1), index)
        return deref_indexed(r, source_value(r.s, deref, 0), index)
    if stride == 0:
        if mode == mode_shared or mode == mode_function_temp:
            unsupported(r, r.word, "pointer arithmetic on pointers without a stride")
        fail(r, r.word, "a pointer type without ArrayStride")
    if r.s.instructions.opcode[deref] != deref_cast or r.s.instructions.data[deref] != r.words[stride]:
        parent = deref_cast_of(r, deref, mode, type, r.words[stride])
        r.deref_access[parent] = r.deref_access[deref]
        emit(&r.nir, parent)
    row = _deref(r, deref_ptr_as_array, mode, type, 2)
    source_set(r.s, row, 0, parent)
    index = resize_integer(r, index, 64 if mode == mode_global else 32, True)
    source_set(r.s, row, 1, index)
    r.deref_access[row] = r.deref_access[parent]
    return emit(&r.nir, row)


cdef int access_chain(Reader r, uint32_t word, uint32_t end, bint pointer_chain) except -1 nogil:
    cdef uint32_t id = r.words[word + 2]
    cdef uint32_t base = r.words[word + 3]
    cdef uint32_t result_type = type_row(r, r.words[word + 1])
    cdef uint32_t place = word + 4
    cdef uint32_t deref
    cdef uint32_t row
    if r.s.types.base[result_type] != type_pointer:
        fail(r, word, "the result is not a pointer")
    if r.kind[base] == kind_variable:
        module_variable(r, base)
    if r.kind[base] == kind_builtin:
        if end - place != 1:
            fail(r, word, "more than one index into a built-in")
        r.kind[id] = kind_builtin
        r.payload[id] = r.payload[base] + ((<uint32_t>(integer_constant(r, r.words[place]) & 15) + 1) << 16)
        return 0
    if r.kind[base] == kind_blocks and not pointer_chain:
        place += _chain_through_blocks(r, base, place, end, id)
        row = <uint32_t>(r.block_pointers.size() - 1)
        if place == end:
            r.kind[id] = kind_blocks
            r.payload[id] = row
            return 0
        deref = _resolve_blocks(r, row)
    else:
        deref = pointer_of(r, base)
    if pointer_chain:
        deref = _pointer_step(r, base, deref, r.words[place])
        place += 1
    if end - place > maximum_type_depth:
        fail(r, word, "more indices than types nest")
    while place < end:
        deref = _chain_index(r, deref, r.words[place])
        place += 1
    if decoration_of(r, id, no_member, Decoration_NonUniform):
        r.deref_access[deref] |= access_non_uniform
    if not _same_stored(r, r.s.instructions.type[deref], r.s.types.element[result_type]) and \
            r.types[r.s.instructions.type[deref]].leaves <= maximum_leaves:
        fail(r, word, "the result points to another type")
    r.kind[id] = kind_ssa
    r.payload[id] = deref
    return 0


# ---------------------------------------------------------------------------------------------------------- load, store
cdef uint32_t vector_extract_dynamic(Reader r, uint32_t vector, uint32_t index) except 0 nogil:
    """A component chosen at run time: a chain of selections."""
    cdef uint32_t value = component(&r.nir, vector, 0)
    cdef uint32_t i
    for i in range(1, components_of(r, vector)):
        value = alu3(&r.nir, alu_bcsel, alu2(&r.nir, alu_ieq, index, integer(r, i, bits_of(r, index))),
                     component(&r.nir, vector, i), value)
    return value


cdef uint32_t vector_insert_dynamic(Reader r, uint32_t vector, uint32_t scalar, uint32_t index) except 0 nogil:
    cdef uint32_t[16] values
    cdef uint32_t i
    for i in range(components_of(r, vector)):
        values[i] = alu3(&r.nir, alu_bcsel, alu2(&r.nir, alu_ieq, index, integer(r, i, bits_of(r, index))), scalar,
                         component(&r.nir, vector, i))
    return vector_of(&r.nir, values, components_of(r, vector))


cdef bint _is_component_of_temporary(Reader r, uint32_t deref) noexcept nogil:
    cdef uint32_t parent
    if r.s.instructions.opcode[deref] != deref_array or \
            not r.s.instructions.mode[deref] & (mode_function_temp | mode_shader_temp):
        return False
    parent = source_value(r.s, deref, 0)
    return r.s.instructions.kind[parent] == nir_deref and is_vector_or_scalar(r, r.s.instructions.type[parent])


cdef int leaf_shape(Reader r, uint32_t type, int *components, int *bit_size) except -1 nogil:
    components[0] = r.s.types.components[type]
    bit_size[0] = r.s.types.bit_size[type]
    if r.s.types.base[type] == type_pointer:
        pointer_shape(mode_of_class(r, r.types[type].storage_class, r.s.types.element[type]), components, bit_size)
    return 0


cdef int _set_access(Reader r, uint32_t row, uint32_t deref, const MemoryOperands *operands, uint64_t position) except -1 nogil:
    """The memory operands of an instruction on one of its loads or stores, `position` bytes behind its pointer."""
    intrinsic_set_index(r.s, row, index_access, operands.access | r.deref_access[deref])
    if operands.align_mul:
        intrinsic_set_index(r.s, row, index_align_mul, operands.align_mul)
        intrinsic_set_index(r.s, row, index_align_offset, <int>(position % operands.align_mul))
    return 0


cdef uint32_t _load_leaf(Reader r, uint32_t deref, uint32_t type, const MemoryOperands *operands, uint64_t position) except \
        0 nogil:
    cdef int components
    cdef int bit_size
    cdef uint32_t row
    cdef uint32_t index
    if _is_component_of_temporary(r, deref):
        index = source_value(r.s, deref, 1)
        deref = source_value(r.s, deref, 0)
        row = _load_leaf(r, deref, r.s.instructions.type[deref], operands, 0)
        if not value_is_constant(r.s, index):
            return vector_extract_dynamic(r, row, index)
        if constant_bits(r.s, index, 0) >= components_of(r, row):
            return undefined(&r.nir, 1, bits_of(r, row))
        return component(&r.nir, row, <uint32_t>constant_bits(r.s, index, 0))
    leaf_shape(r, type, &components, &bit_size)
    row = intrinsic_n(&r.nir, intrinsic_load_deref, components, bit_size, &deref)
    _set_access(r, row, deref, operands, position)
    return row


cdef uint32_t load_value(Reader r, uint32_t deref, uint32_t type, uint32_t access) except? 0xffffffffU nogil:
    cdef MemoryOperands operands
    operands.access = access
    operands.align_mul = 0
    return load_at(r, deref, type, &operands, 0)


cdef uint32_t load_at(Reader r, uint32_t deref, uint32_t type, const MemoryOperands *operands, uint64_t position) except? \
        0xffffffffU nogil:
    cdef uint32_t count
    cdef uint32_t first
    cdef uint32_t i
    cdef uint32_t child
    if not is_composite(r, type):
        return _load_leaf(r, deref, type, operands, position)
    count = element_count(r, type)
    first = tree_new(r, count)
    for i in range(count):
        child = deref_element(r, deref, i)
        child = load_at(r, child, element_type(r, type, i), operands, position + element_offset(r, type, i))
        r.trees[first + i] = child
    return first


cdef int _store_leaf(Reader r, uint32_t deref, uint32_t value, const MemoryOperands *operands, uint64_t position) except \
        -1 nogil:
    cdef uint32_t[2] sources
    cdef uint32_t row
    cdef uint32_t index
    cdef uint32_t mask
    if _is_component_of_temporary(r, deref):
        index = source_value(r.s, deref, 1)
        deref = source_value(r.s, deref, 0)
        row = _load_leaf(r, deref, r.s.instructions.type[deref], operands, 0)
        value = vector_insert_dynamic(r, row, value, index) if not value_is_constant(r.s, index) else \
            _insert_component(r, row, value, constant_bits(r.s, index, 0))
    mask = (<uint32_t>1 << components_of(r, value)) - 1
    sources[0] = deref
    sources[1] = value
    row = intrinsic_n(&r.nir, intrinsic_store_deref, 0, 0, sources)
    intrinsic_set_index(r.s, row, index_write_mask, mask)
    return _set_access(r, row, deref, operands, position)


cdef uint32_t _insert_component(Reader r, uint32_t vector, uint32_t scalar, uint64_t index) except 0 nogil:
    cdef uint32_t[16] values
    cdef uint32_t count = components_of(r, vector)
    cdef uint32_t i
    if index >= count:
        return vector
    for i in range(count):
        values[i] = scalar if i == index else component(&r.nir, vector, i)
    return vector_of(&r.nir, values, count)


cdef int store_value(Reader r, uint32_t deref, uint32_t type, uint32_t value, uint32_t access) except -1 nogil:
    cdef MemoryOperands operands
    operands.access = access
    operands.align_mul = 0
    return store_at(r, deref, type, value, &operands, 0)


cdef int store_at(Reader r, uint32_t deref, uint32_t type, uint32_t value, const MemoryOperands *operands,
                  uint64_t position) except -1 nogil:
    cdef uint32_t i
    cdef uint32_t child
    if not is_composite(r, type):
        return _store_leaf(r, deref, value, operands, position)
    for i in range(element_count(r, type)):
        child = deref_element(r, deref, i)
        store_at(r, child, element_type(r, type, i), r.trees[value + i], operands, position + element_offset(r, type, i))
    return 0
