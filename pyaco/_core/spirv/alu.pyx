"""Arithmetic, conversions, composites and selection (the SPIR-V specification, sections 3.42.11 to 3.42.15).

Instructions that are one NIR instruction come from the table ``pyaco/spirv/data/alu.txt``; the others are built here.
"""
from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.ir.cooperative_matrix cimport cmat_bf16
from pyaco._core.ir.small_floats cimport single_from, single_to
from pyaco._core.nir.lowering cimport constant_float
from pyaco._core.spirv.conversions cimport converted
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *


# --------------------------------------------------------------------------------------------------------------- checks
cdef int _check_operands(Reader r, int opcode, const ValueId *values, uint32_t count) except -1 nogil:
    cdef uint32_t components = 0
    cdef uint32_t bits = 0
    cdef uint32_t wanted
    cdef uint32_t i
    for i in range(count):
        if opcode != alu_bcsel and r.s.instructions.kind[values[i]] == nir_deref:
            fail(r, r.word, "a pointer where a number is expected")
        wanted = alu_input_types_flat[opcode * alu_max_inputs + i] & 0xff
        if wanted == 0:
            if bits == 0:
                bits = bits_of(r, values[i])
            wanted = bits
        if bits_of(r, values[i]) != wanted:
            fail(r, r.word, "an operand of %u bits does not match", bits_of(r, values[i]))
        if (alu_input_types_flat[opcode * alu_max_inputs + i] >> 8) == type_float and wanted < 16:
            fail(r, r.word, "an operand of %u bits is not a float", wanted)
        wanted = alu_input_sizes_flat[opcode * alu_max_inputs + i]
        if wanted == 0:
            if components_of(r, values[i]) == 1 and count > 1:
                continue
            if components == 0:
                components = components_of(r, values[i])
            wanted = components
        if components_of(r, values[i]) != wanted:
            fail(r, r.word, "an operand of %u components does not match", components_of(r, values[i]))
    return 0


cdef ValueId checked_alu(Reader r, int opcode, const ValueId *values, uint32_t count) except 0 nogil:
    if count != alu_input_count[opcode]:
        fail(r, r.word, "%u operands do not match", count)
    _check_operands(r, opcode, values, count)
    return alu_n(&r.nir, opcode, values, count)


cdef bint has_shape(Reader r, ValueId value, TypeId type) noexcept nogil:
    return (is_vector_or_scalar(r, type) and r.s.types.components[type] == components_of(r, value)
            and r.s.types.bit_size[type] == bits_of(r, value))


cdef int set_checked(Reader r, uint32_t word, ValueId value) except -1 nogil:
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    if not has_shape(r, value, type):
        if not (r.s.types.base[type] == type_pointer and bits_of(r, value) == 64 and components_of(r, value) == 1
                and r.types[type].storage_class == StorageClass_PhysicalStorageBuffer):
            fail(r, word, "the operands do not match the result type")
    return set_value(r, r.words[word + 2], type, value)


cdef int set_pair(Reader r, uint32_t word, ValueId first, ValueId second) except -1 nogil:
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef TreeId tree
    if r.s.types.base[type] != type_struct or r.s.types.member_count[type] != 2:
        fail(r, word, "the result is not a struct of two members")
    if not has_shape(r, first, element_type(r, type, 0)):
        fail(r, word, "member %u of the result has the wrong type", 0)
    if not has_shape(r, second, element_type(r, type, 1)):
        fail(r, word, "member %u of the result has the wrong type", 1)
    tree = tree_new(r, 2)
    r.trees[tree] = first
    r.trees[tree + 1] = second
    return set_value(r, r.words[word + 2], type, tree)


cdef TypeId require_vector_type(Reader r, SpirvId id) except 0xffffffffU nogil:
    cdef TypeId type = type_of_id(r, id)
    if not is_vector_or_scalar(r, type):
        fail(r, r.word, "id %u is not a scalar or vector type", id)
    return type


cdef ValueId replicate(Reader r, ValueId scalar, uint32_t count) except 0 nogil:
    cdef ValueId[16] values
    cdef uint32_t i
    for i in range(count):
        values[i] = scalar
    return vector_of(&r.nir, values, count)


# -------------------------------------------------------------------------------------- instructions of the table, comparisons
cdef int _refuse_small_floats(Reader r, uint32_t word) except -1 nogil:
    """Floats of SPV_KHR_bfloat16 and SPV_EXT_float8 are integers in NIR; only conversions and products know what they mean."""
    if r.types[value_type(r, r.words[word + 3])].float_encoding:
        unsupported(r, word, "arithmetic on bfloat16 and float8 numbers other than conversions, dot products and cooperative matrices")
    return 0


cdef int _table_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    cdef ValueId[3] values
    cdef uint32_t count = end - word - 3
    cdef TypeId type = require_vector_type(r, r.words[word + 1])
    cdef uint8_t flags = spirv_alu_flags[opcode]
    cdef bint exact = r.nir.exact
    cdef ValueId value
    if count > 3:
        fail(r, word, "too many operands")
    values[0] = ssa(r, r.words[word + 3])
    if r.has_small_floats:
        _refuse_small_floats(r, word)
    if count == 2:
        if flags & spirv_alu_swap:
            values[1] = values[0]
            values[0] = ssa(r, r.words[word + 4])
        else:
            values[1] = ssa(r, r.words[word + 4])
    elif count == 3:
        values[1], values[2] = ssa(r, r.words[word + 4]), ssa(r, r.words[word + 5])
    if flags & spirv_alu_exact:
        r.nir.exact = True
    if components_of(r, values[0]) != r.s.types.components[type]:
        fail(r, word, "an operand of %u components does not match", components_of(r, values[0]))
    value = checked_alu(r, spirv_alu[opcode], values, count)
    if flags & spirv_alu_not:
        value = alu1(&r.nir, alu_inot, value)
    r.nir.exact = exact
    if opcode == OpUCountTrailingZerosINTEL:
        value = alu2(&r.nir, alu_umin, value, integer(r, bits_of(r, values[0]), 32))      # find_lsb(0) is -1
    if bits_of(r, value) != r.s.types.bit_size[type] and (opcode == OpBitCount or opcode == OpUCountTrailingZerosINTEL):
        value = resize_integer(r, value, r.s.types.bit_size[type], False)
    return set_checked(r, word, value)


cdef int _comparison(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    """Comparisons that take several NIR instructions."""
    cdef ValueId a = ssa(r, r.words[word + 3])
    cdef ValueId b = ssa(r, r.words[word + 4]) if length_at(r, word) > 4 else a
    cdef ValueId value
    cdef bint exact = r.nir.exact
    cdef ValueId[2] values
    values[0] = a
    values[1] = b
    _check_operands(r, alu_feq, values, 2)
    if components_of(r, a) != components_of(r, b):
        fail(r, word, "operands with different numbers of components")
    r.nir.exact = True
    if opcode == OpIsNan:
        value = alu2(&r.nir, alu_fneu, a, a)
    elif opcode == OpIsInf:
        value = alu2(&r.nir, alu_feq, alu1(&r.nir, alu_fabs, a), constant_float(&r.nir, INFINITY, bits_of(r, a)))
    elif opcode == OpOrdered:
        value = alu2(&r.nir, alu_iand, alu2(&r.nir, alu_feq, a, a), alu2(&r.nir, alu_feq, b, b))
    elif opcode == OpUnordered:
        value = alu2(&r.nir, alu_ior, alu2(&r.nir, alu_fneu, a, a), alu2(&r.nir, alu_fneu, b, b))
    else:
        value = alu2(&r.nir, alu_ior, alu2(&r.nir, alu_flt, a, b), alu2(&r.nir, alu_flt, b, a))
        if opcode == OpFUnordEqual:
            value = alu1(&r.nir, alu_inot, value)
    r.nir.exact = exact
    return set_checked(r, word, value)


cdef int _shift(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef ValueId base = ssa(r, r.words[word + 3])
    cdef ValueId amount = ssa(r, r.words[word + 4])
    cdef ValueId[2] values
    if bits_of(r, base) < 8 or bits_of(r, amount) < 8 or components_of(r, base) != components_of(r, amount):
        fail(r, word, "operands that are not integers with the same number of components")
    values[0] = base
    values[1] = resize_integer(r, amount, 32, False)
    if opcode == OpShiftLeftLogical:
        return set_checked(r, word, checked_alu(r, alu_ishl, values, 2))
    if opcode == OpShiftRightLogical:
        return set_checked(r, word, checked_alu(r, alu_ushr, values, 2))
    return set_checked(r, word, checked_alu(r, alu_ishr, values, 2))


cdef int _any_all(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef ValueId vector = ssa(r, r.words[word + 3])
    cdef ValueId value = component(&r.nir, vector, 0)
    cdef uint32_t i
    if bits_of(r, vector) != 1:
        fail(r, word, "an operand that is not boolean")
    for i in range(1, components_of(r, vector)):
        value = alu2(&r.nir, alu_ior if opcode == OpAny else alu_iand, value, component(&r.nir, vector, i))
    return set_checked(r, word, value)


# ----------------------------------------------------------------------------------------------------------- conversions
cdef int _conversion(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef TypeId type = require_vector_type(r, r.words[word + 1])
    cdef TypeId source = require_vector_type(r, result_type_of(r, r.words[word + 3]))
    return set_checked(r, word, converted(r, opcode, ssa(r, r.words[word + 3]), source, type))


cdef ValueId _pack_pair(Reader r, ValueId low, ValueId high) except 0 nogil:
    """Two integers as one of twice the width."""
    cdef uint32_t bits = bits_of(r, low)
    if bits == 32:
        return alu2(&r.nir, alu_pack_64_2x32_split, low, high)
    if bits == 16:
        return alu2(&r.nir, alu_pack_32_2x16_split, low, high)
    return alu2(&r.nir, alu_ior, alu1(&r.nir, alu_u2u16, low),
                alu2(&r.nir, alu_ishl, alu1(&r.nir, alu_u2u16, high), integer(r, 8, 32)))


cdef ValueId _half_of(Reader r, ValueId value, bint high) except 0 nogil:
    cdef uint32_t bits = bits_of(r, value)
    if bits == 64:
        return alu1(&r.nir, alu_unpack_64_2x32_split_y if high else alu_unpack_64_2x32_split_x, value)
    if bits == 32:
        return alu1(&r.nir, alu_unpack_32_2x16_split_y if high else alu_unpack_32_2x16_split_x, value)
    if high:
        value = alu2(&r.nir, alu_ushr, value, integer(r, 8, 32))
    return alu1(&r.nir, alu_u2u8, value)


cdef ValueId bitcast(Reader r, ValueId value, uint32_t components, uint32_t bit_size) except 0 nogil:
    """The same bits in components of another width; the lowest component holds the lowest bits."""
    cdef ValueId[128] parts
    cdef uint32_t count = components_of(r, value)
    cdef uint32_t bits = bits_of(r, value)
    cdef uint32_t i
    if bits == bit_size and count == components:
        return value
    if bits < 8 or bit_size < 8 or bits * count != bit_size * components:
        fail(r, r.word, "a bit cast between types of different sizes")
    for i in range(count):
        parts[i] = component(&r.nir, value, i)
    while bits < bit_size:
        count //= 2
        for i in range(count):
            parts[i] = _pack_pair(r, parts[2 * i], parts[2 * i + 1])
        bits *= 2
    while bits > bit_size:
        for i in range(count, 0, -1):
            parts[2 * i - 1] = _half_of(r, parts[i - 1], True)
            parts[2 * i - 2] = _half_of(r, parts[i - 1], False)
        count *= 2
        bits //= 2
    return vector_of(&r.nir, parts, count)


cdef int _bitcast_instruction(Reader r, uint32_t word) except -1 nogil:
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef ValueId value = ssa(r, r.words[word + 3])
    if r.s.types.base[type] == type_pointer:
        if r.types[type].storage_class != StorageClass_PhysicalStorageBuffer:
            if components_of(r, value) == 3 or bits_of(r, value) != 64:
                return set_value(r, r.words[word + 2], type, value)
        return set_checked(r, word, bitcast(r, value, 1, 64))
    if not is_vector_or_scalar(r, type):
        fail(r, word, "a bit cast to a composite")
    return set_checked(r, word, bitcast(r, value, r.s.types.components[type], r.s.types.bit_size[type]))


cdef int _pointer_conversion(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    """OpConvertPtrToU and OpConvertUToPtr: physical addresses."""
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef ValueId value = ssa(r, r.words[word + 3])
    if components_of(r, value) != 1 or bits_of(r, value) < 8:
        fail(r, word, "an operand that is not an address")
    if opcode == OpConvertPtrToU:
        if bits_of(r, value) != 64:
            fail(r, word, "a pointer that is not physical")
        return set_checked(r, word, resize_integer(r, value, r.s.types.bit_size[type], False))
    return set_checked(r, word, resize_integer(r, value, 64, False))


# ------------------------------------------------------------------------------------------------------- linear algebra
cdef ValueId dot(Reader r, ValueId a, ValueId b) except 0 nogil:
    cdef ValueId value = alu2(&r.nir, alu_fmul, component(&r.nir, a, 0), component(&r.nir, b, 0))
    cdef uint32_t i
    for i in range(1, components_of(r, a)):
        value = alu2(&r.nir, alu_fadd, value, alu2(&r.nir, alu_fmul, component(&r.nir, a, i), component(&r.nir, b, i)))
    return value


cdef int _require_shape(Reader r, ValueId value, uint32_t components, uint32_t bits) except -1 nogil:
    if components_of(r, value) != components or bits_of(r, value) != bits:
        fail(r, r.word, "an operand of %u components does not match", components_of(r, value))
    return 0


cdef struct Matrix:
    TypeId type
    uint32_t columns
    uint32_t rows
    uint32_t bits
    TreeId tree                     # its columns


cdef int _matrix(Reader r, SpirvId id, Matrix *m) except -1 nogil:
    """A value that must be a matrix."""
    m.type = value_type(r, id)
    if r.s.types.base[m.type] != type_matrix:
        fail(r, r.word, "id %u is not a matrix", id)
    m.columns = r.s.types.length[m.type]
    m.rows = r.s.types.components[r.s.types.element[m.type]]
    m.bits = r.s.types.bit_size[m.type]
    m.tree = value_of(r, id)
    return 0


cdef ValueId _times_vector(Reader r, const Matrix *m, ValueId vector) except 0 nogil:
    """The product of a matrix and a vector: the sum of the columns, each times a component."""
    cdef ValueId value = 0
    cdef ValueId term
    cdef uint32_t i
    for i in range(m.columns):
        term = alu2(&r.nir, alu_fmul, r.trees[m.tree + i], component(&r.nir, vector, i))
        value = term if i == 0 else alu2(&r.nir, alu_fadd, value, term)
    return value


cdef TreeId _result_tree(Reader r, uint32_t word, TypeId result, uint32_t bits) except? 0xffffffffU nogil:
    """A composite for the columns of the result, whose type must be a matrix."""
    if r.s.types.base[result] != type_matrix or r.s.types.bit_size[result] != bits:
        fail(r, word, "the result is not a matrix of %u-bit floats", bits)
    return tree_new(r, r.s.types.length[result])


cdef int _vector_times_scalar(Reader r, uint32_t word) except -1 nogil:
    cdef ValueId[2] values
    values[0] = ssa(r, r.words[word + 3])
    values[1] = ssa(r, r.words[word + 4])
    if components_of(r, values[1]) != 1:
        fail(r, word, "the second operand is not a scalar")
    return set_checked(r, word, checked_alu(r, alu_fmul, values, 2))


cdef int _dot_instruction(Reader r, uint32_t word) except -1 nogil:
    cdef ValueId a = ssa(r, r.words[word + 3])
    cdef ValueId b = ssa(r, r.words[word + 4])
    _require_shape(r, b, components_of(r, a), bits_of(r, a))
    if bits_of(r, a) < 16:
        fail(r, word, "operands that are not floats")
    if r.types[value_type(r, r.words[word + 3])].float_encoding == cmat_bf16 + 1:
        return set_checked(r, word, single_to(&r.nir, dot(r, single_from(&r.nir, a, cmat_bf16), single_from(&r.nir, b, cmat_bf16)), cmat_bf16, False))
    return set_checked(r, word, dot(r, a, b))


cdef int _outer_product(Reader r, uint32_t word) except -1 nogil:
    cdef TypeId result = type_of_id(r, r.words[word + 1])
    cdef ValueId a
    cdef ValueId b
    cdef TreeId tree
    cdef ValueId child
    cdef uint32_t i
    if r.s.types.base[result] != type_matrix:
        fail(r, word, "the result is not a matrix")
    a = ssa(r, r.words[word + 3])
    b = ssa(r, r.words[word + 4])
    _require_shape(r, a, r.s.types.components[r.s.types.element[result]], r.s.types.bit_size[result])
    _require_shape(r, b, r.s.types.length[result], r.s.types.bit_size[result])
    tree = tree_new(r, r.s.types.length[result])
    for i in range(r.s.types.length[result]):
        child = alu2(&r.nir, alu_fmul, a, component(&r.nir, b, i))
        r.trees[tree + i] = child
    return set_value(r, r.words[word + 2], result, tree)


cdef int _vector_times_matrix(Reader r, uint32_t word) except -1 nogil:
    cdef Matrix m
    cdef ValueId vector
    cdef uint32_t i
    cdef ValueId[4] values
    _matrix(r, r.words[word + 4], &m)
    vector = ssa(r, r.words[word + 3])
    _require_shape(r, vector, m.rows, m.bits)
    for i in range(m.columns):
        values[i] = dot(r, r.trees[m.tree + i], vector)
    return set_checked(r, word, vector_of(&r.nir, values, m.columns))


cdef int _matrix_times_vector(Reader r, uint32_t word) except -1 nogil:
    cdef Matrix m
    cdef ValueId vector
    _matrix(r, r.words[word + 3], &m)
    vector = ssa(r, r.words[word + 4])
    _require_shape(r, vector, m.columns, m.bits)
    return set_checked(r, word, _times_vector(r, &m, vector))


cdef int _matrix_times_scalar(Reader r, uint32_t word, TypeId result, const Matrix *m, TreeId tree) except -1 nogil:
    cdef ValueId scalar = ssa(r, r.words[word + 4])
    cdef ValueId child
    cdef uint32_t i
    _require_shape(r, scalar, 1, m.bits)
    if not same_shape(r, result, m.type):
        fail(r, word, "the result has the wrong type")
    for i in range(m.columns):
        child = alu2(&r.nir, alu_fmul, r.trees[m.tree + i], scalar)
        r.trees[tree + i] = child
    return 0


cdef int _transpose(Reader r, uint32_t word, TypeId result, const Matrix *m, TreeId tree) except -1 nogil:
    cdef ValueId child
    cdef uint32_t i
    cdef uint32_t j
    cdef ValueId[4] values
    if r.s.types.length[result] != m.rows or r.s.types.components[r.s.types.element[result]] != m.columns:
        fail(r, word, "the result has the wrong type")
    for i in range(m.rows):
        for j in range(m.columns):
            values[j] = component(&r.nir, r.trees[m.tree + j], i)
        child = vector_of(&r.nir, values, m.columns)
        r.trees[tree + i] = child
    return 0


cdef int _matrix_times_matrix(Reader r, uint32_t word, TypeId result, const Matrix *m, TreeId tree) except -1 nogil:
    cdef Matrix n
    cdef ValueId child
    cdef uint32_t i
    _matrix(r, r.words[word + 4], &n)
    if (n.rows != m.columns or n.bits != m.bits or n.columns != r.s.types.length[result]
            or r.s.types.components[r.s.types.element[result]] != m.rows):
        fail(r, word, "matrices whose sizes do not match")
    for i in range(n.columns):
        child = _times_vector(r, m, r.trees[n.tree + i])
        r.trees[tree + i] = child
    return 0


cdef int _matrix_result(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    """Instructions with a matrix as operand and as result."""
    cdef TypeId result = type_of_id(r, r.words[word + 1])
    cdef TreeId tree
    cdef Matrix m
    _matrix(r, r.words[word + 3], &m)
    tree = _result_tree(r, word, result, m.bits)
    if opcode == OpMatrixTimesScalar:
        _matrix_times_scalar(r, word, result, &m, tree)
    elif opcode == OpMatrixTimesMatrix:
        _matrix_times_matrix(r, word, result, &m, tree)
    else:
        _transpose(r, word, result, &m, tree)
    return set_value(r, r.words[word + 2], result, tree)


cdef int _matrix_instruction(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    if opcode == OpVectorTimesScalar:
        return _vector_times_scalar(r, word)
    if opcode == OpVectorTimesMatrix:
        return _vector_times_matrix(r, word)
    if opcode == OpMatrixTimesVector:
        return _matrix_times_vector(r, word)
    if opcode == OpOuterProduct:
        return _outer_product(r, word)
    if opcode == OpDot:
        return _dot_instruction(r, word)
    return _matrix_result(r, word, opcode)


# ------------------------------------------------------------------------------------------- two results, bit fields
cdef int _two_results(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    """Carry, borrow and wide multiplication, whose result is a struct of two."""
    cdef ValueId[2] values
    cdef ValueId first
    cdef ValueId second
    values[0] = ssa(r, r.words[word + 3])
    values[1] = ssa(r, r.words[word + 4])
    if bits_of(r, values[0]) < 8:
        fail(r, word, "operands that are not integers")
    if opcode == OpIAddCarry:
        first = checked_alu(r, alu_iadd, values, 2)
        second = checked_alu(r, alu_uadd_carry, values, 2)
    elif opcode == OpISubBorrow:
        first = checked_alu(r, alu_isub, values, 2)
        second = checked_alu(r, alu_usub_borrow, values, 2)
    else:
        first = checked_alu(r, alu_imul, values, 2)
        second = checked_alu(r, alu_umul_high if opcode == OpUMulExtended else alu_imul_high, values, 2)
    return set_pair(r, word, first, second)


cdef int _bit_field(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef ValueId[4] values
    cdef uint32_t count = 4 if opcode == OpBitFieldInsert else 3
    cdef uint32_t i
    for i in range(count):
        values[i] = ssa(r, r.words[word + 3 + i])
        if bits_of(r, values[i]) < 8:
            fail(r, word, "an operand that is not an integer")
        if i >= count - 2:
            values[i] = resize_integer(r, values[i], 32, False)
    if opcode == OpBitFieldInsert:
        return set_checked(r, word, checked_alu(r, alu_bitfield_insert, values, 4))
    if opcode == OpBitFieldSExtract:
        return set_checked(r, word, checked_alu(r, alu_ibitfield_extract, values, 3))
    return set_checked(r, word, checked_alu(r, alu_ubitfield_extract, values, 3))


# ---------------------------------------------------------------------------------------------------------- integer dot
cdef uint32_t _packed_opcode(uint32_t opcode, uint32_t bits) noexcept nogil:
    """The NIR opcode of a dot product of packed integers, of `bits` bits each; alu_mov when there is none."""
    cdef bint saturate = opcode >= OpSDotAccSat
    if bits == 8:
        if opcode == OpSDot or opcode == OpSDotAccSat:
            return alu_sdot_4x8_iadd_sat if saturate else alu_sdot_4x8_iadd
        if opcode == OpUDot or opcode == OpUDotAccSat:
            return alu_udot_4x8_uadd_sat if saturate else alu_udot_4x8_uadd
        return alu_sudot_4x8_iadd_sat if saturate else alu_sudot_4x8_iadd
    if opcode == OpSDot or opcode == OpSDotAccSat:
        return alu_sdot_2x16_iadd_sat if saturate else alu_sdot_2x16_iadd
    if opcode == OpUDot or opcode == OpUDotAccSat:
        return alu_udot_2x16_uadd_sat if saturate else alu_udot_2x16_uadd
    return alu_mov


cdef int _integer_dot(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    cdef TypeId type = require_vector_type(r, r.words[word + 1])
    cdef bint accumulate = opcode >= OpSDotAccSat
    cdef bint signed_a = opcode != OpUDot and opcode != OpUDotAccSat
    cdef bint signed_b = opcode == OpSDot or opcode == OpSDotAccSat
    cdef ValueId a = ssa(r, r.words[word + 3])
    cdef ValueId b = ssa(r, r.words[word + 4])
    cdef ValueId accumulator
    cdef uint32_t width = r.s.types.bit_size[type]
    cdef uint32_t packed
    cdef ValueId sum = 0
    cdef ValueId term
    cdef uint32_t i
    if components_of(r, a) != components_of(r, b) or bits_of(r, a) != bits_of(r, b) or width < 8 or bits_of(r, a) < 8 \
            or r.s.types.components[type] != 1:
        fail(r, word, "operands that do not match")
    accumulator = ssa(r, r.words[word + 5]) if accumulate else integer(r, 0, width)
    if components_of(r, accumulator) != 1 or bits_of(r, accumulator) != width:
        fail(r, word, "an accumulator of a different type from the result")
    if components_of(r, a) == 1:
        if bits_of(r, a) != 32:
            fail(r, word, "a packed vector that is not a 32-bit integer")
        if width != 32:
            a = bitcast(r, a, 4, 8)
            b = bitcast(r, b, 4, 8)
        else:
            return set_checked(r, word, alu3(&r.nir, _packed_opcode(opcode, 8), a, b, accumulator))
    packed = _packed_opcode(opcode, bits_of(r, a))
    if width == 32 and components_of(r, a) * bits_of(r, a) == 32 and packed != alu_mov:
        a = alu1(&r.nir, alu_pack_32_4x8 if components_of(r, a) == 4 else alu_pack_32_2x16, a)
        b = alu1(&r.nir, alu_pack_32_4x8 if components_of(r, b) == 4 else alu_pack_32_2x16, b)
        return set_checked(r, word, alu3(&r.nir, packed, a, b, accumulator))
    for i in range(components_of(r, a)):
        term = alu2(&r.nir, alu_imul, resize_integer(r, component(&r.nir, a, i), width, signed_a),
                    resize_integer(r, component(&r.nir, b, i), width, signed_b))
        sum = term if i == 0 else alu2(&r.nir, alu_iadd, sum, term)
    if accumulate:
        sum = alu2(&r.nir, alu_iadd_sat if signed_a else alu_uadd_sat, sum, accumulator)
    return set_checked(r, word, sum)


# ------------------------------------------------------------------------------------------------------------- selection
cdef AnyValue _select_value(Reader r, TypeId type, ValueId condition, AnyValue a, AnyValue b) except? \
        0xffffffffU nogil:
    cdef TreeId tree
    cdef uint32_t count
    cdef AnyValue child
    cdef uint32_t i
    cdef ValueId[3] values
    if a == b:
        return a
    if not is_composite(r, type):
        values[0] = condition
        values[1] = a
        values[2] = b
        return checked_alu(r, alu_bcsel, values, 3)
    count = element_count(r, type)
    tree = tree_new(r, count)
    for i in range(count):
        child = _select_value(r, element_type(r, type, i), condition, r.trees[a + i], r.trees[b + i])
        r.trees[tree + i] = child
    return tree


cdef int _select(Reader r, uint32_t word) except -1 nogil:
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef ValueId condition = ssa(r, r.words[word + 3])
    cdef AnyValue a
    cdef AnyValue b
    check_value_type(r, type)
    if not same_shape(r, value_type(r, r.words[word + 4]), type) or not same_shape(r, value_type(r, r.words[word + 5]),
                                                                                   type):
        fail(r, word, "operands whose types differ from the result's")
    if bits_of(r, condition) != 1 or (components_of(r, condition) != 1 and (
            not is_vector_or_scalar(r, type) or components_of(r, condition) != r.s.types.components[type])):
        fail(r, word, "a condition that is not boolean or has another number of components")
    a = value_of(r, r.words[word + 4])
    b = value_of(r, r.words[word + 5])
    return set_value(r, r.words[word + 2], type, _select_value(r, type, condition, a, b))


cdef int _pointer_compare(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef ValueId a = pointer_of(r, r.words[word + 3])
    cdef ValueId b = pointer_of(r, r.words[word + 4])
    cdef TypeId pointer = value_type(r, r.words[word + 3])
    cdef uint32_t stride = decoration_of(r, r.types[pointer].id, no_member, Decoration_ArrayStride)
    cdef ValueId value = 0
    cdef ValueId equal
    cdef uint32_t i
    if components_of(r, a) != components_of(r, b) or bits_of(r, a) != bits_of(r, b):
        fail(r, word, "pointers into different storage classes")
    if opcode == OpPtrDiff:
        if stride == 0 or r.words[stride] == 0:
            unsupported(r, word, "the difference of pointers without ArrayStride")
        i = components_of(r, a) - 1
        value = alu2(&r.nir, alu_isub, component(&r.nir, a, i), component(&r.nir, b, i))
        value = alu2(&r.nir, alu_idiv, value, integer(r, r.words[stride], bits_of(r, value)))
        return set_checked(r, word, resize_integer(r, value, r.s.types.bit_size[require_vector_type(r, r.words[word + 1])], True))
    for i in range(components_of(r, a)):
        equal = alu2(&r.nir, alu_ieq, component(&r.nir, a, i), component(&r.nir, b, i))
        value = equal if i == 0 else alu2(&r.nir, alu_iand, value, equal)
    if opcode == OpPtrNotEqual:
        value = alu1(&r.nir, alu_inot, value)
    return set_checked(r, word, value)


cdef int arithmetic(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    if spirv_alu[opcode] >= 0:
        _table_instruction(r, word, end, opcode)
    elif (opcode == OpIsNan or opcode == OpIsInf or opcode == OpOrdered or opcode == OpUnordered
            or opcode == OpFOrdNotEqual or opcode == OpFUnordEqual or opcode == OpLessOrGreater):
        _comparison(r, word, opcode)
    elif opcode == OpShiftLeftLogical or opcode == OpShiftRightLogical or opcode == OpShiftRightArithmetic:
        _shift(r, word, opcode)
    elif OpConvertFToU <= opcode <= OpFConvert:
        _conversion(r, word, opcode)
    elif opcode == OpBitcast:
        _bitcast_instruction(r, word)
    elif opcode == OpSelect:
        _select(r, word)
    elif OpVectorTimesScalar <= opcode <= OpDot or opcode == OpTranspose:
        _matrix_instruction(r, word, opcode)
    elif opcode == OpAny or opcode == OpAll:
        _any_all(r, word, opcode)
    elif OpIAddCarry <= opcode <= OpSMulExtended:
        _two_results(r, word, opcode)
    elif OpBitFieldInsert <= opcode <= OpBitFieldUExtract:
        _bit_field(r, word, opcode)
    elif OpSDot <= opcode <= OpSUDotAccSat:
        _integer_dot(r, word, end, opcode)
    elif opcode == OpConvertPtrToU or opcode == OpConvertUToPtr:
        _pointer_conversion(r, word, opcode)
    elif OpPtrEqual <= opcode <= OpPtrDiff:
        _pointer_compare(r, word, opcode)
    else:
        return 0
    return 1


# ------------------------------------------------------------------------------------------------------------ composites
cdef int _construct(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef ValueId[16] values
    cdef uint32_t count = 0
    cdef AnyValue value
    cdef TreeId tree
    cdef uint32_t i
    cdef uint32_t j
    check_value_type(r, type)
    if not is_composite(r, type):
        for i in range(word + 3, end):
            value = ssa(r, r.words[i])
            for j in range(components_of(r, value)):
                if count == 16:
                    fail(r, word, "too many components")
                values[count] = component(&r.nir, value, j)
                count += 1
                if bits_of(r, value) != r.s.types.bit_size[type]:
                    fail(r, word, "a constituent of the wrong type")
        if count != r.s.types.components[type] or count < 2:
            fail(r, word, "%u components do not match the type", count)
        return set_checked(r, word, vector_of(&r.nir, values, count))
    count = element_count(r, type)
    if end - word - 3 != count:
        fail(r, word, "%u constituents do not match the type", end - word - 3)
    tree = tree_new(r, count)
    for i in range(count):
        if not same_shape(r, value_type(r, r.words[word + 3 + i]), element_type(r, type, i)):
            fail(r, word, "constituent %u has the wrong type", r.words[word + 3 + i])
        value = value_of(r, r.words[word + 3 + i])
        r.trees[tree + i] = value
    return set_value(r, r.words[word + 2], type, tree)


cdef int _replicate(Reader r, uint32_t word) except -1 nogil:
    """OpCompositeConstructReplicateEXT, and constructing a cooperative matrix: all elements are the same value."""
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef SpirvId id = r.words[word + 3]
    cdef uint32_t count = element_count(r, type)
    cdef AnyValue value = value_of(r, id)
    cdef TreeId tree
    cdef uint32_t i
    check_value_type(r, type)
    if not same_shape(r, value_type(r, id), element_type(r, type, 0)):
        fail(r, word, "constituent %u has the wrong type", id)
    if not is_composite(r, type):
        return set_checked(r, word, replicate(r, value, count))
    tree = tree_new(r, count)
    for i in range(count):
        if not same_shape(r, element_type(r, type, i), element_type(r, type, 0)):
            fail(r, word, "a replicated constituent of members of different types")
        r.trees[tree + i] = value
    return set_value(r, r.words[word + 2], type, tree)


cdef int _extract(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef SpirvId id = r.words[word + 3]
    cdef TypeId type = value_type(r, id)
    cdef AnyValue value = value_of(r, id)
    cdef uint32_t cursor
    cdef uint32_t index
    if end - word - 4 > maximum_type_depth:
        fail(r, word, "more indices than the depth to which types may nest")
    for cursor in range(word + 4, end):
        index = r.words[cursor]
        if index >= element_count(r, type):
            fail(r, word, "element %u does not exist", index)
        value = r.trees[value + index] if is_composite(r, type) else component(&r.nir, value, index)
        type = element_type(r, type, index)
    if not same_shape(r, type, type_of_id(r, r.words[word + 1])):
        fail(r, word, "the result has a different type from the element")
    return set_value(r, r.words[word + 2], type, value)


cdef AnyValue _insert_into(Reader r, TypeId type, AnyValue value, uint32_t cursor, uint32_t end, AnyValue object_value,
                           TypeId object_type) except? 0xffffffffU nogil:
    cdef ValueId[16] values
    cdef uint32_t count = element_count(r, type)
    cdef TreeId tree
    cdef AnyValue child
    cdef uint32_t i
    if cursor == end:
        if not same_shape(r, type, object_type):
            fail(r, r.word, "the object has a different type from the element")
        return object_value
    if r.words[cursor] >= count:
        fail(r, r.word, "element %u does not exist", r.words[cursor])
    if is_composite(r, type):
        child = _insert_into(r, element_type(r, type, r.words[cursor]), r.trees[value + r.words[cursor]], cursor + 1, end,
                             object_value, object_type)
        tree = tree_new(r, count)
        for i in range(count):
            r.trees[tree + i] = child if i == r.words[cursor] else r.trees[value + i]
        return tree
    child = _insert_into(r, element_type(r, type, 0), value, cursor + 1, end, object_value, object_type)
    for i in range(count):
        values[i] = child if i == r.words[cursor] else component(&r.nir, value, i)
    return vector_of(&r.nir, values, count)


cdef int _insert(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef SpirvId id = r.words[word + 4]
    cdef TypeId type = value_type(r, id)
    cdef AnyValue value = value_of(r, id)
    if end - word - 5 > maximum_type_depth:
        fail(r, word, "more indices than the depth to which types may nest")
    if not same_shape(r, type, type_of_id(r, r.words[word + 1])):
        fail(r, word, "the result has a different type from the composite")
    value = _insert_into(r, type, value, word + 5, end, value_of(r, r.words[word + 3]),
                         value_type(r, r.words[word + 3]))
    return set_value(r, r.words[word + 2], type, value)


cdef int _shuffle(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef ValueId a = ssa(r, r.words[word + 3])
    cdef ValueId b = ssa(r, r.words[word + 4])
    cdef uint32_t count = end - word - 5
    cdef ValueId[16] values
    cdef uint32_t index
    cdef uint64_t swizzle = 0
    cdef bint one_source = True
    cdef uint32_t i
    if count < 2 or count > 16 or bits_of(r, a) != bits_of(r, b):
        fail(r, word, "vectors that do not match")
    for i in range(count):
        index = r.words[word + 5 + i]
        if index != 0xffffffffU and index >= components_of(r, a) + components_of(r, b):
            fail(r, word, "component %u does not exist", index)
        if index == 0xffffffffU:
            index = 0
        if index >= components_of(r, a):
            one_source = False
        swizzle |= <uint64_t>index << (4 * i) if index < 16 else 0
    if one_source:
        return set_checked(r, word, swizzled(&r.nir, a, swizzle, count))
    for i in range(count):
        index = r.words[word + 5 + i]
        if index == 0xffffffffU:
            values[i] = undefined(&r.nir, 1, bits_of(r, a))
        elif index < components_of(r, a):
            values[i] = component(&r.nir, a, index)
        else:
            values[i] = component(&r.nir, b, index - components_of(r, a))
    return set_checked(r, word, vector_of(&r.nir, values, count))


cdef int _dynamic_component(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef ValueId vector = ssa(r, r.words[word + 3])
    cdef ValueId index = index_value(r, r.words[word + (4 if opcode == OpVectorExtractDynamic else 5)])
    cdef ValueId scalar
    if opcode == OpVectorExtractDynamic:
        return set_checked(r, word, vector_extract_dynamic(r, vector, index))
    scalar = ssa(r, r.words[word + 4])
    if components_of(r, scalar) != 1 or bits_of(r, scalar) != bits_of(r, vector):
        fail(r, word, "a component of the wrong type")
    return set_checked(r, word, vector_insert_dynamic(r, vector, scalar, index))


cdef int _copy(Reader r, uint32_t word) except -1 nogil:
    cdef SpirvId id = r.words[word + 3]
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    if not same_shape(r, type, value_type(r, id)):
        fail(r, word, "the result has a different type from the operand")
    if r.kind[id] == kind_variable:
        module_variable(r, id)
    if r.kind[id] == kind_none:
        value_of(r, id)
    r.kind[r.words[word + 2]] = r.kind[id]
    r.payload[r.words[word + 2]] = r.payload[id]
    return 0


cdef int composite(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    cdef TypeId type
    if opcode == OpCompositeExtract:
        _extract(r, word, end)
    elif opcode == OpCompositeConstructReplicateEXT or (opcode == OpCompositeConstruct and end - word == 4 and r.has_matrices
                                                        and r.types[type_of_id(r, r.words[word + 1])].matrix_rows):
        _replicate(r, word)
    elif opcode == OpCompositeConstruct:
        _construct(r, word, end)
    elif opcode == OpCompositeInsert:
        _insert(r, word, end)
    elif opcode == OpVectorShuffle:
        _shuffle(r, word, end)
    elif opcode == OpVectorExtractDynamic or opcode == OpVectorInsertDynamic:
        _dynamic_component(r, word, opcode)
    elif opcode == OpCopyObject or opcode == OpCopyLogical or opcode == OpExpectKHR:
        _copy(r, word)
    elif opcode == OpUndef:
        type = type_of_id(r, r.words[word + 1])
        set_value(r, r.words[word + 2], type, undefined_value(r, type))
    else:
        return 0
    return 1
