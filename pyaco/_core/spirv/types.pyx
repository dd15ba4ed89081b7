"""Types of a SPIR-V module, and the rows of its constants (the SPIR-V specification, sections 3.42.6 and 3.42.7).

Each type of the module is a row of the shader's Types; a matrix type has another row for each memory layout that members of structs give it.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from spirv_tables cimport *
from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.cooperative_matrix cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.module cimport *


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


cdef TypeId _encoded_float(Reader r, uint32_t word, uint32_t width) except 0xffffffffU nogil:
    """A float whose encoding is not IEEE 754's: in NIR an integer."""
    cdef uint32_t encoding = r.words[word + 3]
    cdef TypeId row = add_type(r, type_uint, width, 1)
    if width != (16 if encoding == FPEncoding_BFloat16KHR else 8):
        fail(r, word, "a scalar type of %u bits", width)
    if encoding == FPEncoding_BFloat16KHR:
        r.types[row].float_encoding = cmat_bf16 + 1
    elif encoding == FPEncoding_Float8E4M3EXT:
        r.types[row].float_encoding = cmat_e4m3 + 1
    elif encoding == FPEncoding_Float8E5M2EXT:
        r.types[row].float_encoding = cmat_e5m2 + 1
    else:
        unsupported_enumerant(r, word, "the float encoding ", spirv_kind_FPEncoding, encoding)
    r.has_small_floats = True
    return row


cdef TypeId _cooperative_matrix(Reader r, uint32_t word) except 0xffffffffU nogil:
    """OpTypeCooperativeMatrixKHR: an array of the elements that a lane has (ir/cooperative_matrix.pxd), tile by tile, in order of rows."""
    cdef TypeId element = type_of_id(r, r.words[word + 2])
    cdef uint64_t scope = integer_constant(r, r.words[word + 3])
    cdef uint64_t rows = integer_constant(r, r.words[word + 4])
    cdef uint64_t columns = integer_constant(r, r.words[word + 5])
    cdef uint64_t use = integer_constant(r, r.words[word + 6])
    cdef TypeId row
    if not type_int <= r.s.types.base[element] <= type_float or r.s.types.components[element] != 1:
        fail(r, word, "a cooperative matrix whose elements are not numbers")
    if rows == 0 or columns == 0 or use > CooperativeMatrixUse_MatrixAccumulatorKHR:
        fail(r, word, "a cooperative matrix without elements, or of unknown use")
    r.has_matrices = True
    if scope != Scope_Subgroup or rows % cmat_tile or columns % cmat_tile or rows * columns > 65536:
        return _opaque(r)
    row = _add_array_type(r, element, <uint32_t>(rows * columns // (cmat_tile * cmat_tile) * cmat_elements))
    r.types[row].matrix_rows = <uint32_t>rows
    r.types[row].matrix_columns = <uint32_t>columns
    r.types[row].matrix_use = <uint32_t>use
    return row


cdef TypeId _scalar(Reader r, uint32_t word, uint32_t opcode) except 0xffffffffU nogil:
    cdef uint32_t width = r.words[word + 2] if opcode != OpTypeBool else 1
    if opcode == OpTypeBool:
        return add_type(r, type_bool, 1, 1)
    if width != 16 and width != 32 and width != 64 and not (width == 8 and opcode == OpTypeInt):
        if not (width == 8 and opcode == OpTypeFloat and length_at(r, word) > 3):
            fail(r, word, "a scalar type of %u bits", width)
    if opcode == OpTypeFloat and length_at(r, word) > 3:
        return _encoded_float(r, word, width)
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
    r.types[row].float_encoding = r.types[scalar].float_encoding
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


cdef TypeId _untyped_pointer(Reader r, uint32_t word) except 0xffffffffU nogil:
    """OpTypeUntypedPointerKHR, as a pointer to bytes."""
    cdef TypeId row
    if r.byte_type == 0:
        r.byte_type = add_type(r, type_uint, 8, 1)
    row = add_type(r, type_pointer, 64, 1)
    r.types[row].storage_class = r.words[word + 2]
    r.types[row].untyped = 1
    r.s.types.element[row] = r.byte_type
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


cdef int declare_type(Reader r, uint32_t word, uint32_t end) except -1 nogil:
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
    elif opcode == OpTypeUntypedPointerKHR:
        row = _untyped_pointer(r, word)
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
    elif opcode == OpTypeCooperativeMatrixKHR:
        row = _cooperative_matrix(r, word)
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


cdef TypeId word_vector(Reader r, uint32_t components) except 0xffffffffU nogil:
    cdef TypeId row
    if components == 1:
        return r.uint_type
    if r.word_vectors[components] == 0:
        row = add_type(r, type_uint, 32, components)
        r.s.types.element[row] = r.uint_type
        r.word_vectors[components] = row
    return r.word_vectors[components]


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
        refuse_opaque(r, inner)
    if r.types[type].leaves > maximum_leaves:
        unsupported(r, r.word, "a value that is a runtime array, has more than 65536 elements, or pointers to buffers in it")
    return 0


cdef int refuse_opaque(Reader r, TypeId type) except -1 nogil:
    cdef uint32_t word = r.offset[r.types[type].id] if r.types[type].id else 0
    if word and opcode_at(r, word) == OpTypeCooperativeMatrixKHR:
        unsupported(r, r.word, "cooperative matrices other than of scope Subgroup and of multiples of 16 rows and columns")
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
