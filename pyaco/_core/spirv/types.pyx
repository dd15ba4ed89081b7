"""Types, constants and specialization of a SPIR-V module (the SPIR-V specification, sections 3.42.6, 3.42.7 and 2.9).

Each type of the module is a row of the shader's Types; a matrix type has another row for each memory layout that members of structs give it.
Each constant is a row of ``Reader.constants``, specialization constants too: their values are known before they are read, and OpSpecConstantOp
is evaluated here.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from spirv_tables cimport *
from pyaco._core.common.bits cimport low_bits, sign_extended
from pyaco._core.common.floats cimport float_from_bits, float_to_bits, quantized_to_half
from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.module cimport *

from pyaco.errors import InputError

cdef enum:
    first_extension_opcode = 4096      # SPIR-V's registry gives lower numbers to the core alone


# ----------------------------------------------------------------------------------------------------------------- types
cdef TypeId add_type(Reader r, int base, int bit_size, int components) except 0xffffffffU nogil:
    cdef TypeId row = type_new(r.s, base, bit_size, components)
    cdef TypeFacts facts
    memset(&facts, 0, sizeof(facts))
    facts.leaves = 1
    facts.depth = 1
    while r.types.size() <= row:
        r.types.push_back(facts)
    return row


cdef bint _is_wide_pointer(Reader r, TypeId type) noexcept nogil:
    """Whether a pointer is three words, which have no place in arrays and structs."""
    return r.s.types.base[type] == type_pointer and r.types[type].storage_class in (StorageClass_Uniform, StorageClass_StorageBuffer)


cdef TypeId _add_array_type(Reader r, TypeId element, uint32_t length) except 0xffffffffU nogil:
    cdef TypeId row = add_type(r, type_array, 0, 0)
    cdef uint64_t leaves = unbounded_leaves if length == 0 or _is_wide_pointer(r, element) else r.types[element].leaves * length
    r.s.types.element[row] = element
    r.s.types.length[row] = length
    r.types[row].leaves = leaves if leaves < unbounded_leaves else unbounded_leaves
    r.types[row].depth = r.types[element].depth + 1
    if r.types[row].depth > maximum_type_depth:
        fail(r, r.word, "types nest deeper than %u levels", maximum_type_depth)
    return row


cdef TypeId _opaque(Reader r) except 0xffffffffU nogil:
    cdef TypeId row = add_type(r, type_opaque, 0, 0)
    r.types[row].leaves = unbounded_leaves
    return row


cdef TypeId _scalar(Reader r, uint32_t word, uint32_t opcode) except 0xffffffffU nogil:
    cdef uint32_t width = r.words[word + 2] if opcode != OpTypeBool else 1
    if opcode == OpTypeBool:
        return add_type(r, type_bool, 1, 1)
    if width != 16 and width != 32 and width != 64 and not (width == 8 and opcode == OpTypeInt):
        fail(r, word, "a scalar type of %u bits", width)
    if opcode == OpTypeFloat:
        return add_type(r, type_float, width, 1)
    if r.words[word + 3] > 1:
        fail(r, word, "signedness %u", r.words[word + 3])
    return add_type(r, type_int if r.words[word + 3] else type_uint, width, 1)


cdef TypeId _vector(Reader r, uint32_t word) except 0xffffffffU nogil:
    cdef TypeId scalar = type_of_id(r, r.words[word + 2])
    cdef uint32_t count = r.words[word + 3]
    cdef TypeId row
    if not is_vector_or_scalar(r, scalar) or r.s.types.components[scalar] != 1:
        fail(r, word, "a vector whose components are not scalars")
    if count != 2 and count != 3 and count != 4 and count != 8 and count != 16:
        fail(r, word, "a vector of %u components", count)
    row = add_type(r, r.s.types.base[scalar], r.s.types.bit_size[scalar], count)
    r.s.types.element[row] = scalar
    return row


cdef TypeId _matrix(Reader r, uint32_t word) except 0xffffffffU nogil:
    cdef TypeId column = type_of_id(r, r.words[word + 2])
    cdef uint32_t count = r.words[word + 3]
    cdef TypeId row
    if (r.s.types.base[column] != type_float or r.s.types.components[column] < 2
            or r.s.types.components[column] > 4):
        fail(r, word, "a matrix whose columns are not vectors of floats")
    if count < 2 or count > 4:
        fail(r, word, "a matrix of %u columns", count)
    row = add_type(r, type_matrix, r.s.types.bit_size[column], 0)
    r.s.types.element[row] = column
    r.s.types.length[row] = count
    r.types[row].leaves = count
    r.types[row].depth = 2
    return row


cdef TypeId _array(Reader r, uint32_t word, uint32_t opcode) except 0xffffffffU nogil:
    cdef TypeId element = type_of_id(r, r.words[word + 2])
    cdef uint64_t length = 0
    cdef TypeId row
    cdef uint32_t stride
    if r.s.types.base[element] == type_void:
        fail(r, word, "an array of void")
    if opcode == OpTypeArray:
        length = integer_constant(r, r.words[word + 3])
        if length == 0 or length >= 0x7fffffff:
            fail(r, word, "an array length outside 1 to 2**31 - 2")
    row = _add_array_type(r, element, <uint32_t>length)
    stride = decoration_of(r, r.words[word + 1], no_member, Decoration_ArrayStride)
    if stride:
        r.s.types.stride[row] = r.words[stride]
    return row


cdef TypeId _with_matrix_layout(Reader r, TypeId type, uint32_t stride, bint row_major) except 0xffffffffU nogil:
    """A copy of a matrix type, or of a type of arrays of matrices, with the layout that a struct's member has."""
    cdef TypeId row
    cdef TypeId inner
    cdef TypeFacts facts
    if r.s.types.base[type] == type_array:
        inner = _with_matrix_layout(r, r.s.types.element[type], stride, row_major)
        if inner == r.s.types.element[type]:
            return type
        row = _add_array_type(r, inner, r.s.types.length[type])
        r.s.types.stride[row] = r.s.types.stride[type]
        return row
    if r.s.types.base[type] != type_matrix:
        return type
    inner = r.s.types.element[type]
    if row_major:
        row = add_type(r, type_float, r.s.types.bit_size[inner], r.s.types.components[inner])
        r.s.types.element[row] = r.s.types.element[inner]
        r.s.types.stride[row] = stride         # between the components of a column
        inner = row
    row = add_type(r, type_matrix, r.s.types.bit_size[type], 0)
    r.s.types.element[row] = inner
    r.s.types.length[row] = r.s.types.length[type]
    r.s.types.stride[row] = stride
    r.s.types.row_major[row] = row_major
    facts = r.types[type]
    r.types[row] = facts
    return row


cdef int _member_decorations(Reader r, SpirvId id, MemberRow first, uint32_t count) except -1 nogil:
    """Read the offsets, access and matrix layouts of a struct's members in one walk over its decorations."""
    cdef vector[uint32_t] matrix_stride
    cdef vector[uint8_t] row_major
    cdef uint32_t row = r.decorations[id]
    cdef uint32_t member
    cdef uint32_t word
    cdef TypeId type
    cdef Decoration decoration
    matrix_stride.resize(count)
    row_major.resize(count)
    while row:
        decoration = r.decoration_rows[row - 1]
        row = decoration.next
        member = decoration.member
        if member >= count:
            if member != no_member and decoration.group == 0:
                fail(r, r.word, "a decoration of member %u, which the struct does not have", member)
            continue
        if decoration.group:
            word = decoration_of(r, decoration.group, no_member, Decoration_Offset)
            if word:
                r.s.members.offset[first + member] = r.words[word]
            continue
        word = decoration.word
        if r.words[word] == Decoration_Offset:
            r.s.members.offset[first + member] = r.words[word + 1]
        elif r.words[word] == Decoration_MatrixStride:
            matrix_stride[member] = r.words[word + 1]
        elif r.words[word] == Decoration_RowMajor:
            row_major[member] = 1
        elif r.words[word] == Decoration_NonWritable:
            r.s.members.access[first + member] |= access_non_writeable
        elif r.words[word] == Decoration_NonReadable:
            r.s.members.access[first + member] |= access_non_readable
        elif r.words[word] == Decoration_Coherent:
            r.s.members.access[first + member] |= access_coherent
        elif r.words[word] == Decoration_Volatile:
            r.s.members.access[first + member] |= access_volatile
        elif r.words[word] == Decoration_Restrict:
            r.s.members.access[first + member] |= access_restrict
    for member in range(count):
        if matrix_stride[member]:
            type = _with_matrix_layout(r, r.s.members.type[first + member], matrix_stride[member], row_major[member])
            r.s.members.type[first + member] = type
    return 0


cdef TypeId _struct(Reader r, uint32_t word, uint32_t end) except 0xffffffffU nogil:
    cdef SpirvId id = r.words[word + 1]
    cdef uint32_t count = end - word - 2
    cdef TypeId row = add_type(r, type_struct, 0, 0)
    cdef MemberRow first = table_append_many(&r.s.members.table, count)
    cdef uint64_t leaves = 0
    cdef uint32_t depth = 0
    cdef TypeId member
    cdef uint32_t i
    for i in range(count):
        member = type_of_id(r, r.words[word + 2 + i])
        if r.s.types.base[member] == type_void:
            fail(r, word, "a member of type void")
        r.s.members.type[first + i] = member
        r.s.members.offset[first + i] = 0xffffffffU
        leaves += unbounded_leaves if _is_wide_pointer(r, member) else r.types[member].leaves
        if r.types[member].depth > depth:
            depth = r.types[member].depth
    r.s.types.member_first[row] = first
    r.s.types.member_count[row] = count
    r.types[row].leaves = leaves if leaves < unbounded_leaves else unbounded_leaves
    r.types[row].depth = depth + 1
    if depth + 1 > maximum_type_depth:
        fail(r, word, "types nest deeper than %u levels", maximum_type_depth)
    if decoration_of(r, id, no_member, Decoration_Block):
        r.types[row].block_decoration = decorated_block
    elif decoration_of(r, id, no_member, Decoration_BufferBlock):
        r.types[row].block_decoration = decorated_buffer_block
    _member_decorations(r, id, first, count)
    return row


cdef TypeId _pointer(Reader r, uint32_t word) except 0xffffffffU nogil:
    cdef SpirvId id = r.words[word + 1]
    cdef uint32_t storage = r.words[word + 2]
    cdef TypeId pointee = type_of_id(r, r.words[word + 3])
    cdef TypeId row
    if r.kind[id] == kind_type:                # declared by OpTypeForwardPointer
        row = r.payload[id]
        if r.types[row].storage_class != storage:
            fail(r, word, "the forward declaration has a different storage class")
    else:
        row = add_type(r, type_pointer, 64, 1)
    r.types[row].storage_class = storage
    r.s.types.element[row] = pointee
    return row


cdef int _image_dim(Reader r, uint32_t word) except -1 nogil:
    """The dimensions of an image type as NIR has them."""
    cdef uint32_t dim = r.words[word + 3]
    cdef bint samples = r.words[word + 6] != 0
    if samples and dim != Dim_2D and dim != Dim_SubpassData:
        fail(r, word, "a multisampled image that is not two-dimensional")
    if dim == Dim_1D:
        return image_1d
    if dim == Dim_2D:
        return image_ms if samples else image_2d
    if dim == Dim_3D:
        return image_3d
    if dim == Dim_Cube:
        return image_cube
    if dim == Dim_Rect:
        return image_rect
    if dim == Dim_Buffer:
        return image_buffer
    if dim == Dim_SubpassData:
        return image_subpass_ms if samples else image_subpass
    unsupported_enumerant(r, word, "the image dimensions ", spirv_kind_Dim, dim)
    return 0


cdef TypeId _image(Reader r, uint32_t word) except 0xffffffffU nogil:
    """OpTypeImage. Sampled says whether the image is sampled (1) or a storage image (2); 0, of OpenCL, leaves it to the run time."""
    cdef TypeId texel = type_of_id(r, r.words[word + 2])
    cdef int dim = _image_dim(r, word)
    cdef bint layers = r.words[word + 5] != 0
    cdef TypeId row
    if r.words[word + 7] == 0:
        return _opaque(r)
    if r.words[word + 7] > 2 or r.words[word + 8] > image_format_r64i:
        fail(r, word, "an image type of unknown use or format")
    if r.s.types.base[texel] != type_void and not type_int <= r.s.types.base[texel] <= type_float:
        fail(r, word, "an image whose texels are not numbers")
    if layers and dim not in (image_1d, image_2d, image_cube, image_ms):
        fail(r, word, "an array of images of dimensions that have none")
    row = add_type(r, type_texture if r.words[word + 7] == 1 and dim < image_subpass else type_image, 0, 0)
    r.s.types.element[row] = texel
    r.s.types.image_dim[row] = <uint8_t>dim
    r.s.types.image_flags[row] = image_is_array if layers else 0
    r.types[row].image_format = r.words[word + 8]
    return row


cdef TypeId _sampled_image(Reader r, uint32_t word) except 0xffffffffU nogil:
    cdef TypeId texture = type_of_id(r, r.words[word + 2])
    cdef TypeId row
    if r.s.types.base[texture] == type_opaque:
        return _opaque(r)
    if r.s.types.base[texture] != type_texture:
        fail(r, word, "a sampled image of what cannot be sampled")
    # Until SPIR-V 1.6 there are those of texel buffers, without a sampler; only OpImage takes them.
    if r.s.types.image_dim[texture] == image_buffer:
        return texture
    row = add_type(r, type_sampled_image, 0, 0)
    r.s.types.element[row] = r.s.types.element[texture]
    r.s.types.image_dim[row] = r.s.types.image_dim[texture]
    r.s.types.image_flags[row] = r.s.types.image_flags[texture]
    return row


cdef int _type(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef uint32_t opcode = opcode_at(r, word)
    cdef SpirvId id = r.words[word + 1]
    cdef TypeId row
    if opcode == OpTypeVoid:
        row = add_type(r, type_void, 0, 0)
    elif opcode == OpTypeBool or opcode == OpTypeInt or opcode == OpTypeFloat:
        row = _scalar(r, word, opcode)
    elif opcode == OpTypeVector:
        row = _vector(r, word)
    elif opcode == OpTypeMatrix:
        row = _matrix(r, word)
    elif opcode == OpTypeArray or opcode == OpTypeRuntimeArray:
        row = _array(r, word, opcode)
    elif opcode == OpTypeStruct:
        row = _struct(r, word, end)
    elif opcode == OpTypePointer:
        row = _pointer(r, word)
    elif opcode == OpTypeForwardPointer:
        if r.kind[id] != kind_none:
            fail(r, word, "id %u is declared already", id)
        row = add_type(r, type_pointer, 64, 1)
        r.types[row].storage_class = r.words[word + 2]
    elif opcode == OpTypeImage:
        row = _image(r, word)
    elif opcode == OpTypeSampler:
        row = add_type(r, type_sampler, 0, 0)
    elif opcode == OpTypeSampledImage:
        row = _sampled_image(r, word)
    else:
        row = _opaque(r)
    r.kind[id] = kind_type
    r.payload[id] = row
    r.types[row].id = id
    return 0


cdef bint is_vector_or_scalar(Reader r, TypeId type) noexcept nogil:
    return type_int <= r.s.types.base[type] <= type_bool


cdef bint is_opaque(Reader r, TypeId type) noexcept nogil:
    return type_opaque <= r.s.types.base[type] <= type_image


cdef bint is_composite(Reader r, TypeId type) noexcept nogil:
    cdef uint8_t base = r.s.types.base[type]
    return base == type_struct or base == type_array or base == type_matrix


cdef uint32_t element_count(Reader r, TypeId type) noexcept nogil:
    cdef uint8_t base = r.s.types.base[type]
    if base == type_struct:
        return r.s.types.member_count[type]
    if base == type_array or base == type_matrix:
        return r.s.types.length[type]
    return r.s.types.components[type] if type_int <= base <= type_bool and r.s.types.components[type] > 1 else 0


cdef TypeId element_type(Reader r, TypeId type, uint32_t index) except 0xffffffffU nogil:
    cdef uint8_t base = r.s.types.base[type]
    if base == type_struct:
        if index >= r.s.types.member_count[type]:
            fail(r, r.word, "member %u does not exist", index)
        return r.s.members.type[r.s.types.member_first[type] + index]
    if base == type_array or base == type_matrix:
        return r.s.types.element[type]
    if type_int <= base <= type_bool and r.s.types.components[type] > 1:
        return r.s.types.element[type]
    fail(r, r.word, "an index into a type that has no elements")
    return 0xffffffffU


cdef bint same_shape(Reader r, TypeId a, TypeId b) noexcept nogil:
    cdef uint32_t i
    if a == b:
        return True
    if r.types[a].leaves > maximum_leaves:      # keeps the comparison near-linear; no value may be so large
        return False
    if (r.s.types.base[a] != r.s.types.base[b] or r.s.types.bit_size[a] != r.s.types.bit_size[b]
            or r.s.types.components[a] != r.s.types.components[b] or r.types[a].leaves != r.types[b].leaves
            or r.types[a].depth != r.types[b].depth):
        if not (is_vector_or_scalar(r, a) and is_vector_or_scalar(r, b)):
            return False
        # int and uint hold the same bits
        return (r.s.types.bit_size[a] == r.s.types.bit_size[b] and r.s.types.components[a] == r.s.types.components[b]
                and r.s.types.base[a] <= type_uint and r.s.types.base[b] <= type_uint)
    if is_opaque(r, a):                         # each is declared once
        return False
    if r.s.types.base[a] == type_array or r.s.types.base[a] == type_matrix:
        return r.s.types.length[a] == r.s.types.length[b] and same_shape(r, r.s.types.element[a], r.s.types.element[b])
    if r.s.types.base[a] == type_struct:
        if r.s.types.member_count[a] != r.s.types.member_count[b]:
            return False
        for i in range(r.s.types.member_count[a]):
            if not same_shape(r, r.s.members.type[r.s.types.member_first[a] + i],
                              r.s.members.type[r.s.types.member_first[b] + i]):
                return False
    return True


cdef uint64_t element_offset(Reader r, TypeId type, uint32_t index) noexcept nogil:
    cdef uint32_t member
    if r.s.types.base[type] == type_struct:
        member = r.s.members.offset[r.s.types.member_first[type] + index]
        return member if member != 0xffffffffU else 0
    if r.s.types.base[type] == type_matrix and r.s.types.row_major[type]:
        return <uint64_t>index * (r.s.types.bit_size[type] // 8)
    return <uint64_t>index * r.s.types.stride[type]


cdef uint64_t end_of_type(Reader r, TypeId type) noexcept nogil:
    cdef uint64_t end = 0
    cdef uint64_t member
    cdef uint32_t i
    cdef MemberRow first = r.s.types.member_first[type]
    cdef uint8_t base = r.s.types.base[type]
    if base == type_struct:
        for i in range(r.s.types.member_count[type]):
            if r.s.members.offset[first + i] != 0xffffffffU:
                member = r.s.members.offset[first + i] + end_of_type(r, r.s.members.type[first + i])
                if member > end:
                    end = member
        return end
    if base == type_array:
        if r.s.types.length[type] == 0:
            return 0
        return (<uint64_t>r.s.types.length[type] - 1) * r.s.types.stride[type] + \
            end_of_type(r, r.s.types.element[type])
    if base == type_matrix:
        if r.s.types.row_major[type]:
            i = r.s.types.components[r.s.types.element[type]]
            return (<uint64_t>i - 1) * r.s.types.stride[type] + r.s.types.length[type] * r.s.types.bit_size[type] // 8
        return (<uint64_t>r.s.types.length[type] - 1) * r.s.types.stride[type] + \
            r.s.types.components[r.s.types.element[type]] * r.s.types.bit_size[type] // 8
    if base == type_pointer:
        return 8
    return r.s.types.components[type] * r.s.types.bit_size[type] // 8


cdef int check_value_type(Reader r, TypeId type) except -1 nogil:
    if r.s.types.base[type] == type_void:
        fail(r, r.word, "a value of type void")
    cdef TypeId inner = type
    while r.s.types.base[inner] == type_array:
        inner = r.s.types.element[inner]
    if is_opaque(r, inner):
        _refuse_opaque(r, inner)
    if r.types[type].leaves > maximum_leaves:
        unsupported(r, r.word, "a value that is a runtime array, has more than 65536 elements, or pointers to buffers in it")
    return 0


cdef int _refuse_opaque(Reader r, TypeId type) except -1 nogil:
    cdef uint32_t word = r.offset[r.types[type].id] if r.types[type].id else 0
    if word:
        unsupported(r, r.word, "values of type ", spirv_names[opcode_at(r, word)])
    return unsupported(r, r.word, "values of an opaque type")


# ------------------------------------------------------------------------------------------------------------- constants
cdef ConstantId add_constant(Reader r, TypeId type, int kind, uint64_t bits) except 0xffffffffU nogil:
    cdef Constant row
    memset(&row, 0, sizeof(row))
    row.type = type
    row.kind = kind
    row.bits = bits
    r.constants.push_back(row)
    return <uint32_t>(r.constants.size() - 1)


cdef ConstantId constant_child(Reader r, ConstantId constant, uint32_t index) except 0xffffffffU nogil:
    cdef uint32_t kind = r.constants[constant].kind
    cdef TypeId type = element_type(r, r.constants[constant].type, index)
    if index >= element_count(r, r.constants[constant].type):
        fail(r, r.word, "element %u of a constant does not exist", index)
    if kind == constant_composite:
        return r.constant_children[r.constants[constant].first + index]
    return add_constant(r, type, kind, 0)


cdef uint64_t constant_component(Reader r, ConstantId constant, uint32_t index) noexcept nogil:
    if r.constants[constant].kind == constant_composite:
        return r.constants[r.constant_children[r.constants[constant].first + index]].bits
    return r.constants[constant].bits


cdef uint64_t integer_constant(Reader r, SpirvId id) except? 0xfffffffffffffffeULL nogil:
    cdef ConstantId row
    if r.kind[id] != kind_constant:
        fail(r, r.word, "id %u is not a constant", id)
    row = r.payload[id]
    if r.s.types.base[r.constants[row].type] > type_uint or r.s.types.components[r.constants[row].type] != 1:
        fail(r, r.word, "id %u is not an integer constant", id)
    return r.constants[row].bits


cdef uint64_t _specialized(Reader r, SpirvId id, TypeId type, uint64_t bits) except? 0xfffffffffffffffeULL nogil:
    """The value that the user gives the specialization constant `id`, or `bits`, its default."""
    cdef uint32_t word = decoration_of(r, id, no_member, Decoration_SpecId)
    r.spec_constants.push_back(id)
    if word == 0:
        return bits
    with gil:
        number = r.words[word]
        if r.specialization is None or number not in r.specialization:
            return bits
        r.specialization_used.add(number)
        return _bits_of(r, number, r.specialization[number], type)


cdef uint64_t _bits_of(Reader r, object number, object value, TypeId type) except? 0xfffffffffffffffeULL:
    import struct
    width = int(r.s.types.bit_size[type])      # a Python integer, since shifts by it must not wrap
    one = int(1)
    if r.s.types.base[type] == type_float:
        letters = {16: "e", 32: "f", 64: "d"}[width]
        try:
            return int.from_bytes(struct.pack("<" + letters, float(value)), "little")
        except (OverflowError, ValueError, TypeError) as error:
            raise InputError(f"specialization constant {number}: {value!r} is not a {width}-bit float") from error
    if r.s.types.base[type] == type_bool:
        return 1 if value else 0
    if isinstance(value, float) and not value.is_integer():
        raise InputError(f"specialization constant {number}: {value!r} is not an integer")
    integer = int(value)
    if not -(one << (width - 1)) <= integer < one << width:
        raise InputError(f"specialization constant {number}: {value!r} does not fit {width} bits")
    return integer & ((one << width) - 1)


cdef ConstantId _literal(Reader r, uint32_t word, uint32_t end, TypeId type) except 0xffffffffU nogil:
    cdef uint32_t width = r.s.types.bit_size[type]
    cdef uint64_t bits
    if r.s.types.base[type] > type_float or r.s.types.base[type] == type_void or r.s.types.components[type] != 1:
        fail(r, word, "a literal whose type is not a number")
    if end - word != <uint32_t>(5 if width == 64 else 4):
        fail(r, word, "a literal whose width differs from that of its type")
    bits = r.words[word + 3]
    if width == 64:
        bits |= <uint64_t>r.words[word + 4] << 32
    bits = low_bits(bits, width)
    if opcode_at(r, word) == OpSpecConstant:
        bits = _specialized(r, r.words[word + 2], type, bits)
    return add_constant(r, type, constant_scalar, bits)


cdef ConstantId _composite(Reader r, uint32_t word, uint32_t end, TypeId type) except 0xffffffffU nogil:
    cdef uint32_t count = element_count(r, type)
    cdef ConstantId row
    cdef ConstantId child
    cdef uint32_t first = <uint32_t>r.constant_children.size()
    cdef uint32_t i
    if (not is_composite(r, type) and count == 0) or count != end - word - 3:
        fail(r, word, "%u constituents do not match the type", end - word - 3)
    for i in range(count):
        if r.kind[r.words[word + 3 + i]] != kind_constant:
            fail(r, word, "constituent %u is not a constant", r.words[word + 3 + i])
        child = r.payload[r.words[word + 3 + i]]
        if not same_shape(r, r.constants[child].type, element_type(r, type, i)):
            fail(r, word, "constituent %u has the wrong type", r.words[word + 3 + i])
        r.constant_children.push_back(child)
    row = add_constant(r, type, constant_composite, 0)
    r.constants[row].first = first
    return row


cdef int _constant(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef uint32_t opcode = opcode_at(r, word)
    cdef SpirvId id = r.words[word + 2]
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef uint32_t builtin
    cdef uint64_t bits
    cdef ConstantId row
    if r.s.types.base[type] == type_void or is_opaque(r, type):
        _refuse_opaque(r, type)
    if OpConstantTrue <= opcode <= OpConstantFalse or OpSpecConstantTrue <= opcode <= OpSpecConstantFalse:
        if r.s.types.base[type] != type_bool or r.s.types.components[type] != 1:
            fail(r, word, "a boolean constant whose type is not boolean")
        bits = opcode == OpConstantTrue or opcode == OpSpecConstantTrue
        if opcode >= OpSpecConstantTrue:
            bits = _specialized(r, id, type, bits)
        row = add_constant(r, type, constant_scalar, bits)
    elif opcode == OpConstant or opcode == OpSpecConstant:
        row = _literal(r, word, end, type)
    elif opcode == OpConstantComposite or opcode == OpSpecConstantComposite:
        row = _composite(r, word, end, type)
    elif opcode == OpConstantNull:
        row = add_constant(r, type, constant_null, 0)
    elif opcode == OpUndef:
        row = add_constant(r, type, constant_undef, 0)
    else:
        row = _spec_constant_op(r, word, end, type)
    r.kind[id] = kind_constant
    r.payload[id] = row
    builtin = decoration_of(r, id, no_member, Decoration_BuiltIn)
    if builtin and r.words[builtin] == BuiltIn_WorkgroupSize:
        r.workgroup_constant = id
    return 0


# ------------------------------------------------------------------------------------------- specialization constant ops
cdef uint64_t _divide(uint32_t opcode, uint64_t a, uint64_t b, uint32_t width) noexcept nogil:
    """Integer division and remainders; division by zero is undefined and gives zero here."""
    cdef int64_t x = sign_extended(a, width)
    cdef int64_t y = sign_extended(b, width)
    cdef int64_t remainder
    if b == 0:
        return 0
    if opcode == OpUDiv:
        return a / b
    if opcode == OpUMod:
        return a % b
    if y == -1:
        return <uint64_t>0 - a if opcode == OpSDiv else 0
    if opcode == OpSDiv:
        return <uint64_t>(x / y)
    remainder = x % y
    if opcode == OpSMod and remainder != 0 and (remainder < 0) != (y < 0):
        remainder += y
    return <uint64_t>remainder


cdef uint64_t _compare(uint32_t opcode, uint64_t a, uint64_t b, uint32_t width) noexcept nogil:
    cdef int64_t x = sign_extended(a, width)
    cdef int64_t y = sign_extended(b, width)
    if opcode == OpIEqual or opcode == OpLogicalEqual:
        return a == b
    if opcode == OpINotEqual or opcode == OpLogicalNotEqual:
        return a != b
    if opcode == OpULessThan:
        return a < b
    if opcode == OpSLessThan:
        return x < y
    if opcode == OpUGreaterThan:
        return a > b
    if opcode == OpSGreaterThan:
        return x > y
    if opcode == OpULessThanEqual:
        return a <= b
    if opcode == OpSLessThanEqual:
        return x <= y
    if opcode == OpUGreaterThanEqual:
        return a >= b
    return x >= y


cdef uint64_t _evaluate(Reader r, uint32_t opcode, uint64_t a, uint64_t b, uint32_t width, uint32_t from_width) except? \
        0xfffffffffffffffeULL nogil:
    """One component of an OpSpecConstantOp; `from_width` is the width of the first operand."""
    if opcode == OpSConvert:
        return <uint64_t>sign_extended(a, from_width)
    if opcode == OpUConvert or opcode == OpBitcast:
        return a
    if opcode == OpFConvert:
        return float_to_bits(float_from_bits(a, from_width), width)
    if opcode == OpQuantizeToF16:
        return float_to_bits(quantized_to_half(float_from_bits(a, from_width)), width)
    if opcode == OpSNegate:
        return <uint64_t>0 - a
    if opcode == OpNot:
        return ~a
    if opcode == OpLogicalNot:
        return a ^ 1
    if opcode == OpIAdd:
        return a + b
    if opcode == OpISub:
        return a - b
    if opcode == OpIMul:
        return a * b
    if opcode == OpUDiv or opcode == OpUMod or opcode == OpSDiv or opcode == OpSRem or opcode == OpSMod:
        return _divide(opcode, a, b, width)
    if opcode == OpShiftRightLogical:
        return a >> b if b < width else 0
    if opcode == OpShiftRightArithmetic:
        return <uint64_t>(sign_extended(a, width) >> (b if b < width else 63))
    if opcode == OpShiftLeftLogical:
        return a << b if b < width else 0
    if opcode == OpBitwiseOr or opcode == OpLogicalOr:
        return a | b
    if opcode == OpBitwiseXor:
        return a ^ b
    if opcode == OpBitwiseAnd or opcode == OpLogicalAnd:
        return a & b
    return _compare(opcode, a, b, from_width)


cdef ConstantId _operand_constant(Reader r, uint32_t cursor, uint32_t end) except 0xffffffffU nogil:
    cdef SpirvId id
    if cursor >= end:
        fail(r, r.word, "too few operands")
    id = r.words[cursor]
    if id >= r.bound or r.kind[id] != kind_constant:
        fail(r, r.word, "operand %u is not a constant", id)
    return r.payload[id]


cdef ConstantId _from_components(Reader r, TypeId type, const uint64_t *bits) except 0xffffffffU nogil:
    """A constant scalar or vector of the given components."""
    cdef uint32_t count = r.s.types.components[type]
    cdef ConstantId[16] children
    cdef ConstantId row
    cdef uint32_t i
    if count == 1:
        return add_constant(r, type, constant_scalar, low_bits(bits[0], r.s.types.bit_size[type]))
    for i in range(count):
        children[i] = add_constant(r, r.s.types.element[type], constant_scalar,
                                   low_bits(bits[i], r.s.types.bit_size[type]))
    row = add_constant(r, type, constant_composite, 0)
    r.constants[row].first = <uint32_t>r.constant_children.size()
    for i in range(count):
        r.constant_children.push_back(children[i])
    return row


cdef ConstantId _componentwise(Reader r, uint32_t opcode, uint32_t cursor, uint32_t end, TypeId type) except \
        0xffffffffU nogil:
    cdef ConstantId a = _operand_constant(r, cursor, end)
    cdef ConstantId b = a
    cdef uint32_t count = r.s.types.components[type]
    cdef uint32_t from_width = r.s.types.bit_size[r.constants[a].type]
    cdef uint64_t[16] bits
    cdef uint32_t i
    if end - cursor > 1:
        b = _operand_constant(r, cursor + 1, end)
    if (not is_vector_or_scalar(r, type) or not is_vector_or_scalar(r, r.constants[a].type)
            or not is_vector_or_scalar(r, r.constants[b].type)
            or r.s.types.components[r.constants[a].type] != count
            or r.s.types.components[r.constants[b].type] != count):
        fail(r, r.word, "operands whose shapes differ from the result's")
    if opcode == OpFConvert or opcode == OpQuantizeToF16:
        if r.s.types.base[type] != type_float or r.s.types.base[r.constants[a].type] != type_float:
            fail(r, r.word, "operands that are not floats")
    elif r.s.types.bit_size[type] != from_width and opcode != OpSConvert and opcode != OpUConvert and \
            r.s.types.base[type] != type_bool:
        fail(r, r.word, "operands whose width differs from the result's")
    for i in range(count):
        bits[i] = _evaluate(r, opcode, constant_component(r, a, i), constant_component(r, b, i),
                            r.s.types.bit_size[type], from_width)
    return _from_components(r, type, bits)


cdef ConstantId _select(Reader r, uint32_t cursor, uint32_t end, TypeId type) except 0xffffffffU nogil:
    cdef ConstantId condition = _operand_constant(r, cursor, end)
    cdef ConstantId a = _operand_constant(r, cursor + 1, end)
    cdef ConstantId b = _operand_constant(r, cursor + 2, end)
    cdef TypeId condition_type = r.constants[condition].type
    cdef uint64_t[16] bits
    cdef uint32_t i
    if (r.s.types.base[condition_type] != type_bool or not same_shape(r, r.constants[a].type, type)
            or not same_shape(r, r.constants[b].type, type)):
        fail(r, r.word, "operands whose types differ from the result's")
    if r.s.types.components[condition_type] == 1:
        return a if constant_component(r, condition, 0) else b
    if not is_vector_or_scalar(r, type) or r.s.types.components[type] != r.s.types.components[condition_type]:
        fail(r, r.word, "operands whose shapes differ from the result's")
    for i in range(r.s.types.components[type]):
        bits[i] = constant_component(r, a if constant_component(r, condition, i) else b, i)
    return _from_components(r, type, bits)


cdef ConstantId _shuffle(Reader r, uint32_t cursor, uint32_t end, TypeId type) except 0xffffffffU nogil:
    cdef ConstantId a = _operand_constant(r, cursor, end)
    cdef ConstantId b = _operand_constant(r, cursor + 1, end)
    cdef uint32_t count = r.s.types.components[r.constants[a].type]
    cdef uint64_t[16] bits
    cdef uint32_t i
    cdef uint32_t index
    if (not is_vector_or_scalar(r, type) or end - cursor - 2 != r.s.types.components[type]
            or not is_vector_or_scalar(r, r.constants[a].type) or not is_vector_or_scalar(r, r.constants[b].type)
            or r.s.types.bit_size[r.constants[a].type] != r.s.types.bit_size[type]
            or r.s.types.bit_size[r.constants[b].type] != r.s.types.bit_size[type]):
        fail(r, r.word, "operands whose shapes differ from the result's")
    for i in range(end - cursor - 2):
        index = r.words[cursor + 2 + i]
        bits[i] = 0
        if index != 0xffffffffU and index >= count + r.s.types.components[r.constants[b].type]:
            fail(r, r.word, "component %u does not exist", index)
        if index < count:
            bits[i] = constant_component(r, a, index)
        elif index != 0xffffffffU:
            bits[i] = constant_component(r, b, index - count)
    return _from_components(r, type, bits)


cdef ConstantId _insert(Reader r, ConstantId object_constant, ConstantId into, uint32_t cursor, uint32_t end) except \
        0xffffffffU nogil:
    """A copy of the constant `into` whose element at the indices from `cursor` on is `object_constant`."""
    cdef TypeId type = r.constants[into].type
    cdef uint32_t count
    cdef uint32_t first
    cdef ConstantId row
    cdef ConstantId child
    cdef uint32_t i
    if cursor == end:
        if not same_shape(r, r.constants[object_constant].type, type):
            fail(r, r.word, "the type of the object differs from the element's")
        return object_constant
    check_value_type(r, type)
    count = element_count(r, type)
    if r.words[cursor] >= count:
        fail(r, r.word, "element %u does not exist", r.words[cursor])
    row = _insert(r, object_constant, constant_child(r, into, r.words[cursor]), cursor + 1, end)
    r.scratch.clear()
    for i in range(count):
        child = row if i == r.words[cursor] else constant_child(r, into, i)
        r.scratch.push_back(child)
    first = <uint32_t>r.constant_children.size()
    r.constant_children.insert(r.constant_children.end(), r.scratch.begin(), r.scratch.end())
    row = add_constant(r, type, constant_composite, 0)
    r.constants[row].first = first
    return row


cdef bint _is_evaluated(uint32_t opcode) noexcept nogil:
    """Whether OpSpecConstantOp can have this opcode, of those that act on the components of one or two constants."""
    return (opcode in (OpSConvert, OpUConvert, OpBitcast, OpFConvert, OpQuantizeToF16, OpSNegate, OpNot, OpLogicalNot, OpIAdd, OpISub,
                       OpIMul, OpUDiv, OpUMod, OpSDiv, OpSRem, OpSMod, OpShiftRightLogical, OpShiftRightArithmetic,
                       OpShiftLeftLogical, OpBitwiseOr, OpLogicalOr, OpBitwiseXor, OpBitwiseAnd, OpLogicalAnd, OpLogicalEqual,
                       OpLogicalNotEqual)
            or OpIEqual <= opcode <= OpSLessThanEqual)


cdef ConstantId _spec_constant_op(Reader r, uint32_t word, uint32_t end, TypeId type) except 0xffffffffU nogil:
    cdef uint32_t opcode = r.words[word + 3]
    cdef uint32_t first = word + 4
    cdef uint32_t cursor
    cdef ConstantId row
    if opcode >= spirv_opcode_count or spirv_names[opcode] == NULL:
        fail(r, word, "unknown opcode %u", opcode)
    if opcode == OpSelect:
        row = _select(r, first, end, type)
    elif opcode == OpVectorShuffle:
        row = _shuffle(r, first, end, type)
    elif opcode == OpCompositeExtract:
        row = _operand_constant(r, first, end)
        for cursor in range(first + 1, end):
            row = constant_child(r, row, r.words[cursor])
    elif opcode == OpCompositeInsert:
        row = _operand_constant(r, first + 1, end)
        if end - first - 2 > maximum_type_depth:
            fail(r, word, "more indices than the depth to which types may nest")
        row = _insert(r, _operand_constant(r, first, end), row, first + 2, end)
    elif opcode == OpCopyLogical or opcode == OpCopyObject:
        row = _operand_constant(r, first, end)
    elif _is_evaluated(opcode):
        row = _componentwise(r, opcode, first, end, type)
    else:
        unsupported(r, word, "the specialization constant operation ", spirv_names[opcode])
        return 0
    if not same_shape(r, r.constants[row].type, type):
        fail(r, word, "the operation gives a value of the wrong type")
    return row


# ------------------------------------------------------------------------------------------------------------- variables
cdef int _variable(Reader r, uint32_t word) except -1 nogil:
    cdef SpirvId id = r.words[word + 2]
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    if r.s.types.base[type] != type_pointer or r.types[type].storage_class != r.words[word + 3]:
        fail(r, word, "a variable whose type is not a pointer into its storage class")
    if r.words[word + 3] == StorageClass_Function:
        fail(r, word, "a Function variable outside functions")
    r.kind[id] = kind_variable
    r.module_variables.push_back(id)
    return 0


cdef int declare(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef uint32_t opcode = opcode_at(r, word)
    if OpTypeVoid <= opcode <= OpTypeForwardPointer or (spirv_shapes[opcode][0] == c'R'):
        return _type(r, word, end)
    if (OpConstantTrue <= opcode <= OpSpecConstantOp) or opcode == OpUndef:
        if opcode == OpConstantSampler:
            unsupported(r, word, "samplers")
        return _constant(r, word, end)
    if opcode == OpVariable:
        return _variable(r, word)
    if is_non_semantic(r, word):
        r.kind[r.words[word + 2]] = kind_void
        return 0
    if opcode >= first_extension_opcode or opcode == OpConstantPipeStorage:
        return unsupported(r, word, "the instruction ", spirv_names[opcode])
    fail(r, word, "an instruction that is allowed only in functions")
    return 0
