"""Values of ids, pointers, and loads and stores through them.

Pointers follow Mesa's Vulkan path (``vtn_variables.c``): a buffer variable is ``vulkan_resource_index`` and ``load_vulkan_descriptor``, cast to
its block type; from there a chain of derefs leads to the memory, over types that have the memory layout. Built-ins are read directly with
their intrinsics.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *


# ---------------------------------------------------------------------------------------------------------------- values
cdef TreeId tree_new(Reader r, uint32_t count) except? 0xffffffffU nogil:
    cdef TreeId first = <uint32_t>r.trees.size()
    if r.trees.size() + count > 16 * <uint64_t>maximum_instructions:
        unsupported(r, r.word, "composite values of more than 64 million elements in all")
    r.trees.resize(first + count)
    return first


cdef AnyValue undefined_value(Reader r, TypeId type) except? 0xffffffffU nogil:
    return _constant_value(r, add_constant(r, type, constant_undef, 0))


cdef AnyValue null_value(Reader r, TypeId type) except? 0xffffffffU nogil:
    return _constant_value(r, add_constant(r, type, constant_null, 0))


cdef ValueId _leaf_constant(Reader r, ConstantId constant) except 0 nogil:
    """A scalar, vector or pointer constant as a NIR value."""
    cdef TypeId type = r.constants[constant].type
    cdef int components = r.s.types.components[type]
    cdef int bit_size = r.s.types.bit_size[type]
    cdef uint64_t[16] bits
    cdef int i
    if r.s.types.base[type] == type_pointer:
        _pointer_shape(_mode_of_class(r, r.types[type].storage_class, r.s.types.element[type]), &components, &bit_size)
    if r.constants[constant].kind == constant_undef:
        return undefined(&r.nir, components, bit_size)
    for i in range(components):
        bits[i] = 0 if r.constants[constant].kind == constant_null else constant_component(r, constant, i)
    return constant_vector(&r.nir, bits, components, bit_size)


cdef AnyValue _constant_value(Reader r, ConstantId constant) except? 0xffffffffU nogil:
    cdef TypeId type = r.constants[constant].type
    cdef uint32_t count
    cdef AnyValue value
    cdef AnyValue element
    cdef uint32_t i
    if r.constants[constant].built_value:
        return r.constants[constant].built_value - 1
    check_value_type(r, type)
    if not is_composite(r, type):
        value = _leaf_constant(r, constant)
    else:
        count = element_count(r, type)
        value = tree_new(r, count)
        for i in range(count):
            element = _constant_value(r, constant_child(r, constant, i))
            r.trees[value + i] = element
    r.constants[constant].built_value = value + 1
    return value


cdef TypeId value_type(Reader r, SpirvId id) except 0xffffffffU nogil:
    cdef SpirvId type = result_type_of(r, id)
    if type == 0:
        fail(r, r.word, "id %u has no type", id)
    return type_of_id(r, type)


cdef AnyValue value_of(Reader r, SpirvId id) except? 0xffffffffU nogil:
    cdef uint8_t kind = r.kind[id]
    if kind == kind_ssa or kind == kind_tree:
        return r.payload[id]
    if kind == kind_constant:
        return _constant_value(r, r.payload[id])
    if kind == kind_variable or kind == kind_buffer or kind == kind_builtin:
        return pointer_of(r, id)
    if kind == kind_none:
        if r.offset[id] == 0:
            fail(r, r.word, "id %u is not defined", id)
        fail(r, r.word, "id %u is used before it is defined", id)
    if kind == kind_opaque:
        unsupported(r, r.word, "values of an opaque type")
    fail(r, r.word, "id %u is not a value", id)
    return 0


cdef ValueId ssa(Reader r, SpirvId id) except 0 nogil:
    cdef AnyValue value
    if r.kind[id] == kind_ssa:
        return r.payload[id]
    value = value_of(r, id)
    if r.kind[id] == kind_tree or (r.kind[id] == kind_constant and is_composite(r, r.constants[r.payload[id]].type)):
        fail(r, r.word, "id %u is a composite, not a scalar or vector", id)
    return value


cdef ValueId index_value(Reader r, SpirvId id) except 0 nogil:
    cdef ValueId value = ssa(r, id)
    if components_of(r, value) != 1 or bits_of(r, value) < 8:
        fail(r, r.word, "an index that is not an integer")
    return value


cdef int set_value(Reader r, SpirvId id, TypeId type, AnyValue value) except -1 nogil:
    r.kind[id] = kind_tree if is_composite(r, type) else kind_ssa
    r.payload[id] = value
    return 0


# --------------------------------------------------------------------------------------------------------------- derefs
cdef uint32_t _mode_of_class(Reader r, uint32_t storage_class, TypeId pointee) except 0 nogil:
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
    if storage_class == StorageClass_UniformConstant:
        return mode_image if _innermost(r, pointee) == type_image else mode_uniform
    if storage_class == StorageClass_Image:
        unsupported(r, r.word, "pointers to texels other than in atomics")
    unsupported_enumerant(r, r.word, "the storage class ", spirv_kind_StorageClass, storage_class)
    return 0


cdef int _innermost(Reader r, TypeId type) noexcept nogil:
    """The base type of what arrays hold."""
    while r.s.types.base[type] == type_array:
        type = r.s.types.element[type]
    return r.s.types.base[type]


cdef bint _is_buffer_block(Reader r, TypeId type) noexcept nogil:
    while r.s.types.base[type] == type_array:
        type = r.s.types.element[type]
    return r.types[type].block_decoration == decorated_buffer_block


cdef int _pointer_shape(uint32_t mode, int *components, int *bit_size) noexcept nogil:
    components[0] = 3 if mode & (mode_ubo | mode_ssbo) else 1
    bit_size[0] = 64 if mode == mode_global else 32
    return 0


cdef ValueId _deref(Reader r, int opcode, uint32_t mode, TypeId type, uint32_t sources) except 0 nogil:
    cdef int components
    cdef int bit_size
    cdef ValueId row
    _pointer_shape(mode, &components, &bit_size)
    row = nir_deref_new(r.s, opcode, components, bit_size, sources, mode, type, 0)
    if row >= r.deref_access.size():
        r.deref_access.resize(2 * row + 256)
    r.deref_access[row] = 0
    return row


cdef ValueId _variable_deref(Reader r, uint32_t mode, TypeId type) except 0 nogil:
    cdef VariableId variable = variable_new(r.s, mode, type)
    cdef ValueId row = _deref(r, deref_var, mode, type, 0)
    r.s.instructions.data[row] = variable
    return emit_early(&r.nir, row)


cdef TypeId stored_type(Reader r, TypeId type) except 0xffffffffU nogil:
    cdef int components
    cdef int bit_size
    if r.s.types.base[type] != type_pointer or r.types[type].storage_class == StorageClass_PhysicalStorageBuffer:
        return type
    _pointer_shape(_mode_of_class(r, r.types[type].storage_class, r.s.types.element[type]), &components, &bit_size)
    if components == 1:
        return r.uint_type
    return r.uint3_type


cdef ValueId local_variable(Reader r, TypeId type) except 0 nogil:
    cdef TypeId stored = stored_type(r, type)
    return _variable_deref(r, mode_function_temp, stored)


cdef ValueId _deref_cast_of(Reader r, ValueId value, uint32_t mode, TypeId type, uint32_t stride) except 0 nogil:
    cdef ValueId row = _deref(r, deref_cast, mode, type, 1)
    if (r.s.instructions.components[row] != r.s.instructions.components[value]
            or r.s.instructions.bit_size[row] != r.s.instructions.bit_size[value]):
        fail(r, r.word, "a pointer into a different storage class is expected")
    source_set(r.s, row, 0, value)
    r.s.instructions.data[row] = stride
    return row


cdef ValueId deref_element(Reader r, ValueId deref, uint32_t index) except 0 nogil:
    """Deref of a struct member, or of an array element, matrix column or vector component with a constant index."""
    cdef TypeId type = r.s.instructions.type[deref]
    cdef uint32_t mode = r.s.instructions.mode[deref]
    cdef ValueId row
    if r.s.types.base[type] != type_struct:
        return deref_indexed(r, deref, integer(r, index, 64 if mode == mode_global else 32))
    row = _deref(r, deref_struct, mode, element_type(r, type, index), 1)
    source_set(r.s, row, 0, deref)
    r.s.instructions.data[row] = index
    r.deref_access[row] = <uint8_t>(r.deref_access[deref]
                                    | r.s.members.access[r.s.types.member_first[type] + index])
    return emit(&r.nir, row)


cdef ValueId deref_indexed(Reader r, ValueId deref, ValueId position) except 0 nogil:
    cdef TypeId inner = element_type(r, r.s.instructions.type[deref], 0)
    cdef ValueId index = resize_integer(r, position, 64 if r.s.instructions.mode[deref] == mode_global else 32, True)
    cdef ValueId row = _deref(r, deref_array, r.s.instructions.mode[deref], inner, 2)
    source_set(r.s, row, 0, deref)
    source_set(r.s, row, 1, index)
    r.deref_access[row] = r.deref_access[deref]
    return emit(&r.nir, row)


# ------------------------------------------------------------------------------------------------- module-scope variables
cdef uint32_t _variable_access(Reader r, SpirvId id) noexcept nogil:
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


cdef uint32_t _resource_access(Reader r, SpirvId id, uint32_t mode) noexcept nogil:
    """Access of a buffer or image: no other variable is the same memory, unless it says so (SPIR-V, "Aliasing").

    Only OpenCL's memory model lets variables alias that say nothing.
    """
    cdef uint32_t access = _variable_access(r, id)
    if decoration_of(r, id, no_member, Decoration_Aliased):
        return access & ~<uint32_t>access_restrict
    if mode & (mode_ssbo | mode_image) and r.memory_model != MemoryModel_OpenCL:
        access |= access_restrict
    return access


cdef int _buffer_variable(Reader r, SpirvId id, TypeId type) except -1 nogil:
    """A uniform or storage buffer, or an array of them."""
    cdef BufferPointer row
    cdef uint32_t set_word = decoration_of(r, id, no_member, Decoration_DescriptorSet)
    cdef uint32_t binding_word = decoration_of(r, id, no_member, Decoration_Binding)
    cdef TypeId block = type
    cdef uint64_t count = 1
    cdef uint32_t mode
    while r.s.types.base[block] == type_array:
        count *= r.s.types.length[block]
        block = r.s.types.element[block]
    if is_opaque(r, block):
        check_value_type(r, block)
    if r.s.types.base[block] != type_struct or r.types[block].block_decoration == 0:
        fail(r, r.offset[id], "a buffer variable whose type is not a Block")
    if count >= 0x7fffffff:
        fail(r, r.offset[id], "an array of more than 2**31 descriptors")
    row.variable = id
    row.type = type
    row.index = 0
    mode = _mode_of_class(r, r.words[r.offset[id] + 3], type)
    row.access = _resource_access(r, id, mode)
    r.buffer_pointers.push_back(row)
    r.kind[id] = kind_buffer
    r.payload[id] = <uint32_t>(r.buffer_pointers.size() - 1)
    r.bindings.push_back(ReflectedBinding(
        r.words[set_word] if set_word else 0, r.words[binding_word] if binding_word else 0,
        1 << (descriptor_kind_ssbo if mode == mode_ssbo else descriptor_kind_ubo), <uint32_t>count))
    return 0


cdef uint32_t _descriptor_kind(int base, int dim) noexcept nogil:
    """What an image, texture or sampler takes of a descriptor set."""
    if base == type_sampler:
        return descriptor_kind_sampler
    if dim == image_buffer:
        return descriptor_kind_texture_buffer if base == type_texture else descriptor_kind_image_buffer
    if base == type_texture:
        return descriptor_kind_texture
    return descriptor_kind_sampled_image if base == type_sampled_image else descriptor_kind_image


cdef int _handle_variable(Reader r, SpirvId id, TypeId type) except -1 nogil:
    """A texture, sampler, sampled image or storage image, or an array of them."""
    cdef uint32_t set_word = decoration_of(r, id, no_member, Decoration_DescriptorSet)
    cdef uint32_t binding_word = decoration_of(r, id, no_member, Decoration_Binding)
    cdef TypeId inner = type
    cdef uint64_t count = 1
    cdef ValueId deref
    cdef VariableId variable
    cdef int base, dim
    while r.s.types.base[inner] == type_array:
        count *= r.s.types.length[inner]
        inner = r.s.types.element[inner]
    base = r.s.types.base[inner]
    dim = r.s.types.image_dim[inner]
    if not type_sampler <= base <= type_image:
        r.kind[id] = kind_opaque
        check_value_type(r, type)
        unsupported(r, r.offset[id], "variables of storage class UniformConstant that are no images or samplers")
    if count >= 0x7fffffff:
        fail(r, r.offset[id], "an array of more than 2**31 descriptors")
    deref = _variable_deref(r, mode_image if base == type_image else mode_uniform, type)
    variable = r.s.instructions.data[deref]
    r.s.variables.set[variable] = r.words[set_word] if set_word else 0
    r.s.variables.binding[variable] = r.words[binding_word] if binding_word else 0
    r.s.variables.access[variable] = _resource_access(r, id, mode_image if base == type_image else mode_uniform)
    r.deref_access[deref] = <uint8_t>r.s.variables.access[variable]
    r.kind[id] = kind_ssa
    r.payload[id] = deref
    r.named_variables.push_back(NamedVariable(variable, id))
    r.bindings.push_back(ReflectedBinding(r.s.variables.set[variable], r.s.variables.binding[variable], 1 << _descriptor_kind(base, dim),
                                          <uint32_t>count))
    return 0


cdef int _check_variable_type(Reader r, TypeId type) except -1 nogil:
    cdef TypeId inner = type
    while r.s.types.base[inner] == type_array:
        inner = r.s.types.element[inner]
    if is_opaque(r, inner):
        check_value_type(r, inner)                 # raises an error that has its name
    if r.types[type].leaves > maximum_instructions:
        unsupported(r, r.word, "a variable of more than four million elements, or with pointers to buffers or members of an opaque type in it")
    return 0


cdef int _plain_variable(Reader r, SpirvId id, uint32_t mode, TypeId type) except -1 nogil:
    """A Private, Workgroup or push-constant variable."""
    cdef uint32_t word = r.offset[id]
    cdef uint32_t initializer = word + (5 if opcode_at(r, word) == OpUntypedVariableKHR else 4)
    cdef ValueId deref
    cdef VariableId variable
    cdef NodeId block = r.nir.block
    cdef AnyValue initial
    _check_variable_type(r, type)
    deref = _variable_deref(r, mode, stored_type(r, type))
    variable = r.s.instructions.data[deref]
    r.s.variables.access[variable] = _variable_access(r, id)
    r.deref_access[deref] = <uint8_t>r.s.variables.access[variable]
    r.kind[id] = kind_ssa
    r.payload[id] = deref
    r.named_variables.push_back(NamedVariable(variable, id))
    if initializer < word + length_at(r, word):
        if mode == mode_push_constant:
            fail(r, word, "a push constant with an initializer")
        if not same_shape(r, value_type(r, r.words[initializer]), type) and r.types[type].leaves <= maximum_leaves:
            fail(r, word, "the initializer has the wrong type")
        if mode == mode_shared:
            if r.kind[r.words[initializer]] != kind_constant or \
                    r.constants[r.payload[r.words[initializer]]].kind != constant_null:
                fail(r, word, "a Workgroup initializer other than null")
            r.zeroed_workgroup.push_back(id)
        else:
            initial = value_of(r, r.words[initializer])
            r.nir.block = 0                        # the prologue runs once, before everything
            store_value(r, deref, stored_type(r, type), initial, 0)
            r.nir.block = block
    return 0


cdef TypeId _variable_type(Reader r, SpirvId id) except 0xffffffffU nogil:
    """The type of what a module-scope variable holds."""
    cdef uint32_t word = r.offset[id]
    if opcode_at(r, word) != OpUntypedVariableKHR:
        return r.s.types.element[type_of_id(r, r.words[word + 1])]
    if length_at(r, word) < 5:
        unsupported(r, word, "untyped variables without a data type")
    return type_of_id(r, r.words[word + 4])


cdef SpirvId _workgroup_block(Reader r) except 0xffffffffU nogil:
    """The largest Workgroup variable of a Block type; all of them share its memory."""
    cdef uint32_t i
    cdef SpirvId id
    cdef TypeId type
    cdef SpirvId best = 0
    cdef uint64_t end
    cdef uint64_t best_end = 0
    for i in range(<uint32_t>r.module_variables.size()):
        id = r.module_variables[i]
        if r.words[r.offset[id] + 3] != StorageClass_Workgroup:
            continue
        type = _variable_type(r, id)
        end = end_of_type(r, type)
        if r.types[type].block_decoration and (best == 0 or end > best_end):
            best = id
            best_end = end
    return best


cdef int _aliased_block(Reader r, SpirvId id, TypeId type) except -1 nogil:
    """A Workgroup variable of a Block type (SPV_KHR_workgroup_memory_explicit_layout): a cast of the largest one."""
    cdef SpirvId owner = _workgroup_block(r)
    cdef ValueId value
    if owner == id:
        return _plain_variable(r, id, mode_shared, type)
    if r.kind[owner] == kind_variable:
        module_variable(r, owner)
    value = _deref_cast_of(r, r.payload[owner], mode_shared, type, 0)
    r.deref_access[value] = <uint8_t>_variable_access(r, id)
    r.kind[id] = kind_ssa
    r.payload[id] = emit_early(&r.nir, value)
    return 0


cdef int module_variable(Reader r, SpirvId id) except -1 nogil:
    """Give a module-scope variable its deref, buffer pointer or built-in, at its first use."""
    cdef uint32_t word = r.offset[id]
    cdef TypeId type = _variable_type(r, id)
    cdef uint32_t storage = r.words[word + 3]
    cdef uint32_t builtin
    if storage == StorageClass_Uniform or storage == StorageClass_StorageBuffer:
        return _buffer_variable(r, id, type)
    if storage == StorageClass_Input:
        builtin = decoration_of(r, id, no_member, Decoration_BuiltIn)
        if builtin == 0:
            unsupported(r, word, "inputs other than built-ins in compute shaders")
        if r.words[builtin] >= 0x10000:
            fail(r, word, "unknown built-in %u", r.words[builtin])
        r.kind[id] = kind_builtin
        r.payload[id] = r.words[builtin]
        return 0
    if storage == StorageClass_UniformConstant:
        return _handle_variable(r, id, type)
    if storage == StorageClass_Workgroup and r.types[type].block_decoration:
        return _aliased_block(r, id, type)
    return _plain_variable(r, id, _mode_of_class(r, storage, type), type)


cdef int function_variable(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef TypeId pointer = type_of_id(r, r.words[word + 1])
    cdef TypeId type
    cdef ValueId deref
    if r.s.types.base[pointer] != type_pointer or r.words[word + 3] != StorageClass_Function or \
            r.types[pointer].storage_class != StorageClass_Function:
        fail(r, word, "a variable in a function whose storage class is not Function")
    type = r.s.types.element[pointer]
    if r.s.types.base[type] == type_void:
        fail(r, word, "a variable of type void")
    _check_variable_type(r, type)
    deref = local_variable(r, type)
    r.named_variables.push_back(NamedVariable(r.s.instructions.data[deref], r.words[word + 2]))
    if end - word > 4:
        if not same_shape(r, value_type(r, r.words[word + 4]), type):
            fail(r, word, "the initializer has the wrong type")
        store_value(r, deref, stored_type(r, type), value_of(r, r.words[word + 4]), 0)
    r.kind[r.words[word + 2]] = kind_ssa
    r.payload[r.words[word + 2]] = deref
    return 0


# ------------------------------------------------------------------------------------------------------------- builtins
cdef int _builtin_row(uint32_t builtin) noexcept nogil:
    """The row of a built-in in spirv_builtins, -1 for those that compute shaders do not have."""
    cdef int i
    for i in range(spirv_builtin_count):
        if spirv_builtins[i] == builtin:
            return i
    return -1


cdef ValueId load_builtin(Reader r, uint32_t payload, TypeId type) except 0 nogil:
    cdef uint32_t builtin = payload & 0xffff
    cdef uint32_t selected = payload >> 16     # component + 1, 0: all
    cdef int row = _builtin_row(builtin)
    cdef int components = 1
    cdef uint32_t i
    cdef ValueId value = 0
    if row >= 0:
        components = spirv_builtin_components[row]
    elif builtin == BuiltIn_DeviceIndex:
        value = integer(r, 0, 32)
    else:
        unsupported_enumerant(r, r.word, "the built-in ", spirv_kind_BuiltIn, builtin)
    for i in range(r.builtin_values.size()):
        if r.builtin_values[i].builtin == builtin:
            value = r.builtin_values[i].value
    if value == 0:
        value = emit_early(&r.nir, nir_intrinsic_new(r.s, spirv_builtin_intrinsics[row], components, 32, NULL))
        r.builtin_values.push_back(BuiltinValue(builtin, value))
    if selected:
        if selected > <uint32_t>components:
            fail(r, r.word, "the built-in has no component %u", selected - 1)
        value = component(&r.nir, value, selected - 1)
        components = 1
    if (r.s.types.base[type] != type_int and r.s.types.base[type] != type_uint) or \
            r.s.types.components[type] > components:
        fail(r, r.word, "a built-in of the wrong type")
    if r.s.types.components[type] < components:
        value = _first_components(r, value, r.s.types.components[type])
    return resize_integer(r, value, r.s.types.bit_size[type], False)


cdef ValueId _first_components(Reader r, ValueId value, uint32_t count) except 0 nogil:
    return swizzled(&r.nir, value, identity_swizzle, count)


# ------------------------------------------------------------------------------------------------------ pointers by id
cdef ValueId _buffer_deref(Reader r, uint32_t buffer_pointer) except 0 nogil:
    """Deref of the block that the chosen descriptor points to."""
    cdef BufferPointer pointer = r.buffer_pointers[buffer_pointer]
    cdef SpirvId id = pointer.variable
    cdef uint32_t set_word = decoration_of(r, id, no_member, Decoration_DescriptorSet)
    cdef uint32_t binding_word = decoration_of(r, id, no_member, Decoration_Binding)
    cdef uint32_t mode
    cdef NodeId block = r.nir.block
    cdef ValueId index
    cdef ValueId value
    cdef uint32_t descriptor
    if r.s.types.base[pointer.type] != type_struct:
        fail(r, r.word, "an array of buffers used as one buffer")
    if pointer.index == 0 and r.deref_of[id]:
        return r.deref_of[id]
    mode = _mode_of_class(r, r.words[r.offset[id] + 3], pointer.type)
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
    value = _deref_cast_of(r, value, mode, pointer.type, 0)
    r.deref_access[value] = <uint8_t>pointer.access
    emit(&r.nir, value)
    if pointer.index == 0:
        r.nir.block = block
        r.deref_of[id] = value
    return value


cdef TypeId pointee_type(Reader r, SpirvId id) except 0xffffffffU nogil:
    cdef TypeId pointer = value_type(r, id)
    if r.s.types.base[pointer] != type_pointer:
        fail(r, r.word, "id %u is not a pointer", id)
    return r.s.types.element[pointer]


cdef ValueId pointer_of(Reader r, SpirvId id) except 0 nogil:
    """The deref of a pointer; the bits of an address are cast to one."""
    cdef TypeId pointer = value_type(r, id)
    cdef TypeId type
    cdef ValueId value
    cdef uint32_t mode
    cdef uint32_t stride
    if r.s.types.base[pointer] != type_pointer:
        fail(r, r.word, "id %u is not a pointer", id)
    type = r.s.types.element[pointer]
    if r.kind[id] == kind_variable:
        module_variable(r, id)
    if r.kind[id] == kind_buffer:
        return _buffer_deref(r, r.payload[id])
    if r.kind[id] == kind_builtin:
        unsupported(r, r.word, "pointers to built-ins other than in loads")
    if r.kind[id] == kind_texel:
        unsupported(r, r.word, "pointers to texels other than in atomics")
    if r.kind[id] != kind_ssa and r.kind[id] != kind_constant:
        return value_of(r, id)                 # raises
    value = value_of(r, id)
    mode = _mode_of_class(r, r.types[pointer].storage_class, type)
    if mode == mode_ubo and r.s.instructions.kind[value] == nir_deref and r.s.instructions.mode[value] == mode_ssbo:
        mode = mode_ssbo                       # inside a BufferBlock, of storage class Uniform
    if r.s.instructions.kind[value] == nir_deref and r.s.instructions.mode[value] == mode and \
            (r.types[pointer].untyped or r.s.instructions.type[value] == type
             or _is_stored_as(r, r.s.instructions.type[value], type)):
        return value
    stride = decoration_of(r, r.types[pointer].id, no_member, Decoration_ArrayStride)
    value = _deref_cast_of(r, value, mode, type, r.words[stride] if stride else 0)
    if decoration_of(r, id, no_member, Decoration_NonUniform):
        r.deref_access[value] |= access_non_uniform
    return emit(&r.nir, value)


cdef bint is_untyped(Reader r, SpirvId id) noexcept nogil:
    cdef SpirvId type = result_type_of(r, id)
    return type != 0 and r.kind[type] == kind_type and r.types[r.payload[type]].untyped


cdef ValueId pointer_to(Reader r, SpirvId id, TypeId type) except 0 nogil:
    cdef ValueId deref = pointer_of(r, id)
    if not is_untyped(r, id) or r.s.instructions.type[deref] == type:
        return deref
    return deref_cast_to(r, deref, type, 0)


cdef bint _is_stored_as(Reader r, TypeId stored, TypeId type) noexcept nogil:
    """Whether memory of type `stored` holds values of `type`: its copy with a memory layout, or the bits of a pointer."""
    if r.s.types.base[type] == type_pointer:
        return True
    return same_shape(r, stored, type)


cdef int _choose_descriptor(Reader r, SpirvId id, uint32_t first, uint32_t end, SpirvId result) except -1 nogil:
    """Read the indices into an array of descriptors at the start of an access chain; returns how many there are.

    What they lead to is appended to Reader.buffer_pointers.
    """
    cdef BufferPointer pointer = r.buffer_pointers[r.payload[id]]
    cdef uint32_t cursor = first
    cdef ValueId index
    while cursor < end and r.s.types.base[pointer.type] == type_array:
        index = resize_integer(r, index_value(r, r.words[cursor]), 32, False)
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
    r.buffer_pointers.push_back(pointer)
    return cursor - first


cdef ValueId _chain_index(Reader r, ValueId deref, SpirvId id) except 0 nogil:
    """One step of an access chain."""
    cdef TypeId type = r.s.instructions.type[deref]
    cdef uint64_t constant
    if r.s.types.base[type] == type_struct:
        constant = integer_constant(r, id)
        if constant >= r.s.types.member_count[type]:
            fail(r, r.word, "the struct has no such member")
        return deref_element(r, deref, <uint32_t>constant)
    if is_opaque(r, type):
        check_value_type(r, type)
    return deref_indexed(r, deref, index_value(r, id))


cdef ValueId deref_cast_to(Reader r, ValueId deref, TypeId type, uint32_t stride) except 0 nogil:
    cdef ValueId row = _deref_cast_of(r, deref, r.s.instructions.mode[deref], type, stride)
    r.deref_access[row] = r.deref_access[deref]
    return emit(&r.nir, row)


cdef ValueId deref_step(Reader r, ValueId cast, ValueId index) except 0 nogil:
    cdef uint32_t mode = r.s.instructions.mode[cast]
    cdef ValueId row = _deref(r, deref_ptr_as_array, mode, r.s.instructions.type[cast], 2)
    source_set(r.s, row, 0, cast)
    index = resize_integer(r, index, 64 if mode == mode_global else 32, True)
    source_set(r.s, row, 1, index)
    r.deref_access[row] = r.deref_access[cast]
    return emit(&r.nir, row)


cdef ValueId _untyped_step(Reader r, TypeId pointer, ValueId deref, SpirvId index_id) except 0 nogil:
    """The element step of OpUntypedPtrAccessChainKHR: by the result's ArrayStride, else by the size of the base type."""
    cdef uint32_t stride = decoration_of(r, r.types[pointer].id, no_member, Decoration_ArrayStride)
    cdef TypeId type = r.s.instructions.type[deref]
    cdef uint64_t bytes = r.words[stride] if stride else end_of_type(r, type)
    if bytes == 0 or bytes > 0x7fffffff:
        unsupported(r, r.word, "steps along elements of a type without a size")
    return deref_step(r, deref_cast_to(r, deref, type, <uint32_t>bytes), index_value(r, index_id))


cdef ValueId _pointer_step(Reader r, SpirvId base, ValueId deref, SpirvId index_id) except 0 nogil:
    """The element step of OpPtrAccessChain."""
    cdef TypeId pointer = value_type(r, base)
    cdef uint32_t stride = decoration_of(r, r.types[pointer].id, no_member, Decoration_ArrayStride)
    cdef uint32_t mode = r.s.instructions.mode[deref]
    cdef TypeId type = r.s.instructions.type[deref]
    cdef ValueId index = index_value(r, index_id)
    cdef ValueId parent = deref
    if r.s.instructions.opcode[deref] == deref_array and stride == 0:
        # A pointer to an array element: step along that array.
        index = resize_integer(r, index, bits_of(r, source_value(r.s, deref, 1)), True)
        index = alu2(&r.nir, alu_iadd, source_value(r.s, deref, 1), index)
        return deref_indexed(r, source_value(r.s, deref, 0), index)
    if stride == 0:
        if mode == mode_shared or mode == mode_function_temp:
            unsupported(r, r.word, "pointer arithmetic without ArrayStride, other than on an array's elements")
        fail(r, r.word, "a pointer type without ArrayStride")
    if r.s.instructions.opcode[deref] != deref_cast or r.s.instructions.data[deref] != r.words[stride]:
        parent = deref_cast_to(r, deref, type, r.words[stride])
    return deref_step(r, parent, index)


cdef int access_chain(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    cdef bint untyped = OpUntypedAccessChainKHR <= opcode <= OpUntypedInBoundsPtrAccessChainKHR
    cdef bint pointer_chain = opcode in (OpPtrAccessChain, OpInBoundsPtrAccessChain, OpUntypedPtrAccessChainKHR, OpUntypedInBoundsPtrAccessChainKHR)
    cdef SpirvId id = r.words[word + 2]
    cdef SpirvId base = r.words[word + 3 + untyped]
    cdef TypeId result_type = type_of_id(r, r.words[word + 1])
    cdef uint32_t cursor = word + 4 + untyped
    cdef ValueId deref
    cdef SpirvId index
    cdef uint32_t row
    if r.s.types.base[result_type] != type_pointer:
        fail(r, word, "the result is not a pointer")
    if r.kind[base] == kind_variable:
        module_variable(r, base)
    if r.kind[base] == kind_builtin:
        r.kind[id] = kind_builtin
        if end == cursor:
            r.payload[id] = r.payload[base]
            return 0
        if end - cursor != 1 or r.payload[base] >> 16:
            fail(r, word, "a built-in takes one index")
        r.payload[id] = r.payload[base] + ((<uint32_t>(integer_constant(r, r.words[cursor]) & 15) + 1) << 16)
        return 0
    if r.kind[base] == kind_buffer and not pointer_chain:
        cursor += _choose_descriptor(r, base, cursor, end, id)
        row = <uint32_t>(r.buffer_pointers.size() - 1)
        if cursor == end:
            r.kind[id] = kind_buffer
            r.payload[id] = row
            return 0
        deref = _buffer_deref(r, row)
    else:
        deref = pointer_of(r, base)
    if untyped and cursor == word + 5 and r.s.instructions.type[deref] != type_of_id(r, r.words[word + 3]):
        deref = deref_cast_to(r, deref, type_of_id(r, r.words[word + 3]), 0)
    if pointer_chain:
        deref = _untyped_step(r, result_type, deref, r.words[cursor]) if untyped else _pointer_step(r, base, deref, r.words[cursor])
        cursor += 1
    if end - cursor > maximum_type_depth:
        fail(r, word, "more indices than the depth to which types may nest")
    while cursor < end:
        index = r.words[cursor]
        deref = _chain_index(r, deref, index)
        if r.s.instructions.mode[deref] & (mode_uniform | mode_image) and decoration_of(r, index, no_member, Decoration_NonUniform):
            r.deref_access[deref] |= access_non_uniform
        cursor += 1
    if decoration_of(r, id, no_member, Decoration_NonUniform):
        r.deref_access[deref] |= access_non_uniform
    if not untyped and not _is_stored_as(r, r.s.instructions.type[deref], r.s.types.element[result_type]) and \
            r.types[r.s.instructions.type[deref]].leaves <= maximum_leaves:
        fail(r, word, "the result points to the wrong type")
    r.kind[id] = kind_ssa
    r.payload[id] = deref
    return 0


# ---------------------------------------------------------------------------------------------------------- load, store
cdef ValueId vector_extract_dynamic(Reader r, ValueId vector, ValueId index) except 0 nogil:
    """A component chosen at run time, by a chain of selections."""
    cdef ValueId value = component(&r.nir, vector, 0)
    cdef uint32_t i
    for i in range(1, components_of(r, vector)):
        value = alu3(&r.nir, alu_bcsel, alu2(&r.nir, alu_ieq, index, integer(r, i, bits_of(r, index))),
                     component(&r.nir, vector, i), value)
    return value


cdef ValueId vector_insert_dynamic(Reader r, ValueId vector, ValueId scalar, ValueId index) except 0 nogil:
    cdef ValueId[16] values
    cdef uint32_t i
    for i in range(components_of(r, vector)):
        values[i] = alu3(&r.nir, alu_bcsel, alu2(&r.nir, alu_ieq, index, integer(r, i, bits_of(r, index))), scalar,
                         component(&r.nir, vector, i))
    return vector_of(&r.nir, values, components_of(r, vector))


cdef bint _is_component_of_temporary(Reader r, ValueId deref) noexcept nogil:
    cdef ValueId parent
    if r.s.instructions.opcode[deref] != deref_array or \
            not r.s.instructions.mode[deref] & (mode_function_temp | mode_shader_temp):
        return False
    parent = source_value(r.s, deref, 0)
    return r.s.instructions.kind[parent] == nir_deref and is_vector_or_scalar(r, r.s.instructions.type[parent])


cdef int leaf_shape(Reader r, TypeId type, int *components, int *bit_size) except -1 nogil:
    components[0] = r.s.types.components[type]
    bit_size[0] = r.s.types.bit_size[type]
    if r.s.types.base[type] == type_pointer:
        _pointer_shape(_mode_of_class(r, r.types[type].storage_class, r.s.types.element[type]), components, bit_size)
    return 0


cdef int _set_access(Reader r, ValueId row, ValueId deref, const MemoryOperands *operands, uint64_t position) except -1 nogil:
    """Give a load or store its access and alignment, from the memory operands of the instruction that it is a part of."""
    intrinsic_set_index(r.s, row, index_access, operands.access | r.deref_access[deref])
    if operands.align_mul:
        intrinsic_set_index(r.s, row, index_align_mul, operands.align_mul)
        intrinsic_set_index(r.s, row, index_align_offset, <int>(position % operands.align_mul))
    return 0


cdef ValueId _load_leaf(Reader r, ValueId deref, TypeId type, const MemoryOperands *operands, uint64_t position) except \
        0 nogil:
    cdef int components
    cdef int bit_size
    cdef ValueId row
    cdef ValueId index
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


cdef AnyValue load_value(Reader r, ValueId deref, TypeId type, uint32_t access) except? 0xffffffffU nogil:
    cdef MemoryOperands operands
    operands.access = access
    operands.align_mul = 0
    return load_at(r, deref, type, &operands, 0)


cdef AnyValue load_at(Reader r, ValueId deref, TypeId type, const MemoryOperands *operands, uint64_t position) except? \
        0xffffffffU nogil:
    cdef uint32_t count
    cdef TreeId tree
    cdef uint32_t i
    cdef AnyValue element
    if not is_composite(r, type):
        return _load_leaf(r, deref, type, operands, position)
    count = element_count(r, type)
    tree = tree_new(r, count)
    for i in range(count):
        element = load_at(r, deref_element(r, deref, i), element_type(r, type, i), operands, position + element_offset(r, type, i))
        r.trees[tree + i] = element
    return tree


cdef int _store_leaf(Reader r, ValueId deref, ValueId value, const MemoryOperands *operands, uint64_t position) except \
        -1 nogil:
    cdef ValueId[2] sources
    cdef ValueId row
    cdef ValueId index
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


cdef ValueId _insert_component(Reader r, ValueId vector, ValueId scalar, uint64_t index) except 0 nogil:
    cdef ValueId[16] values
    cdef uint32_t count = components_of(r, vector)
    cdef uint32_t i
    if index >= count:
        return vector
    for i in range(count):
        values[i] = scalar if i == index else component(&r.nir, vector, i)
    return vector_of(&r.nir, values, count)


cdef int store_value(Reader r, ValueId deref, TypeId type, AnyValue value, uint32_t access) except -1 nogil:
    cdef MemoryOperands operands
    operands.access = access
    operands.align_mul = 0
    return store_at(r, deref, type, value, &operands, 0)


cdef int store_at(Reader r, ValueId deref, TypeId type, AnyValue value, const MemoryOperands *operands,
                  uint64_t position) except -1 nogil:
    cdef uint32_t i
    if not is_composite(r, type):
        return _store_leaf(r, deref, value, operands, position)
    for i in range(element_count(r, type)):
        store_at(r, deref_element(r, deref, i), element_type(r, type, i), r.trees[value + i], operands,
                 position + element_offset(r, type, i))
    return 0
