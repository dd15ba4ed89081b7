"""Cooperative matrices (SPV_KHR_cooperative_matrix, and the conversions of SPV_NV_cooperative_matrix2).

A matrix is an array of the elements that a lane has, tile by tile in order of rows; ``ir/cooperative_matrix.pxd`` says which these are. So all
that takes composites takes matrices: variables, phis, calls, extraction and insertion of elements. Here is what does not look at elements alone:
loads and stores, which work out where each lane's elements are, multiplications, which become ``cmat_muladd_pyaco`` of tiles, arithmetic of
all elements, and conversions from one use to another.

Eight elements of a lane follow each other in a row of A, and in a column of other matrices: where memory has them in that order, they are
loaded and stored as words, because Vulkan asks for rows (or columns) that begin at multiples of 16 bytes, or of their size
(VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986).
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.cooperative_matrix cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.alu cimport bitcast
from pyaco._core.spirv.conversions cimport converted
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.memory cimport memory_operands
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *

cdef struct Shape:
    TypeId type
    TypeId element
    uint32_t rows                 # in tiles
    uint32_t columns
    uint32_t use                  # CooperativeMatrixUse_*

cdef struct MatrixMemory:
    Shape shape
    ValueId base                  # deref of what the pointer points to, of which there is one every `unit` bytes
    ValueId stride                # in units, between rows (columns, where column_major)
    bint column_major
    ValueId lane                  # 0 to 15
    ValueId half                  # 8 in the upper half of 32 lanes, else 0
    MemoryOperands operands


cdef int _shape(Reader r, TypeId type, Shape *shape) except -1 nogil:
    if r.types[type].matrix_rows == 0:
        if is_opaque(r, type):
            refuse_opaque(r, type)
        fail(r, r.word, "what is not a cooperative matrix")
    shape.type = type
    shape.element = r.s.types.element[type]
    shape.rows = r.types[type].matrix_rows // cmat_tile
    shape.columns = r.types[type].matrix_columns // cmat_tile
    shape.use = r.types[type].matrix_use
    return 0


# ------------------------------------------------------------------------------------------------------------------ memory
cdef int _memory(Reader r, MatrixMemory *m, SpirvId pointer, uint32_t cursor, uint32_t end) except -1 nogil:
    """Read the operands of a load or store from its layout, at `cursor`, on."""
    cdef ValueId deref = pointer_to(r, pointer, m.shape.element)
    cdef TypeId pointee = r.s.instructions.type[deref]
    cdef uint64_t layout = integer_constant(r, r.words[cursor])
    cdef uint32_t bits = r.s.instructions.mode[deref]
    cdef ValueId lane
    if not is_vector_or_scalar(r, pointee) or r.s.types.bit_size[pointee] < 8:
        fail(r, r.word, "a cooperative matrix in memory that holds no numbers")
    if r.s.types.components[pointee] == 3:
        unsupported(r, r.word, "cooperative matrices in arrays of vectors of three components")
    if layout != CooperativeMatrixLayout_RowMajorKHR and layout != CooperativeMatrixLayout_ColumnMajorKHR:
        unsupported_enumerant(r, r.word, "the layout of cooperative matrices ", spirv_kind_CooperativeMatrixLayout, <uint32_t>layout)
    if end - cursor < 2:
        fail(r, r.word, "a cooperative matrix in memory without a stride")
    memory_operands(r, pointer, cursor + 2, end, &m.operands)
    bits = 64 if bits == mode_global else 32
    m.base = deref_cast_to(r, deref, pointee, r.s.types.components[pointee] * r.s.types.bit_size[pointee] // 8)
    m.stride = resize_integer(r, index_value(r, r.words[cursor + 1]), bits, True)
    m.column_major = layout == CooperativeMatrixLayout_ColumnMajorKHR
    lane = intrinsic0(&r.nir, intrinsic_load_subgroup_invocation, 1, 32)
    m.lane = resize_integer(r, alu2_constant(&r.nir, alu_iand, lane, 15), bits, False)
    m.half = alu2_constant(&r.nir, alu_iand, alu2_constant(&r.nir, alu_ushr, lane, 1), 8)
    m.half = resize_integer(r, m.half, bits, False)
    return 0


cdef bint _is_along_memory(const MatrixMemory *m) noexcept nogil:
    """Whether a lane's eight elements of a tile follow each other in memory."""
    return m.column_major == (m.shape.use != CooperativeMatrixUse_MatrixAKHR)


cdef ValueId _element_deref(Reader r, const MatrixMemory *m, ValueId major, ValueId minor) except 0 nogil:
    """The deref of an element: `major` rows, or columns, from the start, and `minor` elements in it."""
    cdef ValueId deref = deref_step(r, m.base, alu2(&r.nir, alu_imul, major, m.stride))
    deref = deref_cast_to(r, deref, m.shape.element, r.s.types.bit_size[m.shape.element] // 8)
    return deref_step(r, deref, minor)


cdef ValueId _run_deref(Reader r, const MatrixMemory *m, uint32_t row, uint32_t column) except 0 nogil:
    """The deref of a lane's first element of a tile, where the others follow it."""
    cdef uint32_t major = column if m.column_major else row
    cdef uint32_t minor = row if m.column_major else column
    return _element_deref(r, m, alu2_constant(&r.nir, alu_iadd, m.lane, cmat_tile * major),
                          alu2_constant(&r.nir, alu_iadd, m.half, cmat_tile * minor))


cdef ValueId _apart_deref(Reader r, const MatrixMemory *m, uint32_t row, uint32_t column, uint32_t i) except 0 nogil:
    """The deref of a lane's element `i` of a tile, where they are in different rows (columns) of memory."""
    cdef uint32_t major = column if m.column_major else row
    cdef uint32_t minor = row if m.column_major else column
    return _element_deref(r, m, alu2_constant(&r.nir, alu_iadd, m.half, cmat_tile * major + i),
                          alu2_constant(&r.nir, alu_iadd, m.lane, cmat_tile * minor))


cdef uint32_t _words_of_run(Reader r, MatrixMemory *m, ValueId *deref) except 0 nogil:
    """Makes the deref of a run one of up to four words; returns how many."""
    cdef uint32_t words = cmat_elements * r.s.types.bit_size[m.shape.element] // 32
    if words > 4:
        words = 4
    deref[0] = deref_cast_to(r, deref[0], word_vector(r, words), 4 * words)
    m.operands.align_mul = 4 * words
    return words


cdef int _load_run(Reader r, MatrixMemory *m, ValueId deref, TreeId tree) except -1 nogil:
    cdef uint32_t bits = r.s.types.bit_size[m.shape.element]
    cdef uint32_t words = _words_of_run(r, m, &deref)
    cdef uint32_t count = 32 * words // bits
    cdef ValueId value
    cdef ValueId part
    cdef uint32_t i
    cdef uint32_t k
    for i in range(cmat_elements // count):
        value = deref_step(r, deref, integer(r, i, 32)) if i else deref
        value = load_at(r, value, word_vector(r, words), &m.operands, 0)
        value = bitcast(r, value, count, bits)
        for k in range(count):
            part = component(&r.nir, value, k)
            r.trees[tree + count * i + k] = part
    return 0


cdef int _store_run(Reader r, MatrixMemory *m, ValueId deref, TreeId tree) except -1 nogil:
    cdef uint32_t bits = r.s.types.bit_size[m.shape.element]
    cdef uint32_t words = _words_of_run(r, m, &deref)
    cdef uint32_t count = 32 * words // bits
    cdef ValueId[16] parts
    cdef ValueId target
    cdef uint32_t i
    cdef uint32_t k
    for i in range(cmat_elements // count):
        for k in range(count):
            parts[k] = r.trees[tree + count * i + k]
        target = deref_step(r, deref, integer(r, i, 32)) if i else deref
        store_at(r, target, word_vector(r, words), bitcast(r, vector_of(&r.nir, parts, count), words, 32), &m.operands, 0)
    return 0


cdef int _access(Reader r, MatrixMemory *m, TreeId tree, bint store) except -1 nogil:
    cdef uint32_t row, column, i
    cdef TreeId first
    cdef ValueId deref
    cdef AnyValue value
    for row in range(m.shape.rows):
        for column in range(m.shape.columns):
            first = tree + cmat_elements * (row * m.shape.columns + column)
            if _is_along_memory(m):
                deref = _run_deref(r, m, row, column)
                if store:
                    _store_run(r, m, deref, first)
                else:
                    _load_run(r, m, deref, first)
                continue
            m.operands.align_mul = r.s.types.bit_size[m.shape.element] // 8
            for i in range(<uint32_t>cmat_elements):
                deref = _apart_deref(r, m, row, column, i)
                if store:
                    store_at(r, deref, m.shape.element, r.trees[first + i], &m.operands, 0)
                else:
                    value = load_at(r, deref, m.shape.element, &m.operands, 0)
                    r.trees[first + i] = value
    return 0


cdef int _load(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef MatrixMemory m
    cdef TreeId tree
    _shape(r, type_of_id(r, r.words[word + 1]), &m.shape)
    _memory(r, &m, r.words[word + 3], word + 4, end)
    tree = tree_new(r, element_count(r, m.shape.type))
    _access(r, &m, tree, False)
    return set_value(r, r.words[word + 2], m.shape.type, tree)


cdef int _store(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef MatrixMemory m
    _shape(r, value_type(r, r.words[word + 2]), &m.shape)
    _memory(r, &m, r.words[word + 1], word + 3, end)
    return _access(r, &m, value_of(r, r.words[word + 2]), True)


# ---------------------------------------------------------------------------------------------------------------- products
cdef int _element_type(Reader r, const Shape *shape) noexcept nogil:
    """The type of a matrix's elements as multiplications have it, -1 for others."""
    cdef uint32_t bits = r.s.types.bit_size[shape.element]
    if r.types[shape.element].float_encoding:
        return <int>r.types[shape.element].float_encoding - 1
    if r.s.types.base[shape.element] == type_float:
        return cmat_f16 if bits == 16 else (cmat_f32 if bits == 32 else -1)
    return cmat_i8 if bits == 8 else (cmat_i32 if bits == 32 else -1)


cdef bint _are_multiplied(int a, int b, int c) noexcept nogil:
    """Whether matrices of these elements can be multiplied and added."""
    if a == cmat_e4m3 or a == cmat_e5m2:
        return (b == cmat_e4m3 or b == cmat_e5m2) and c == cmat_f32
    if a == cmat_f16 or a == cmat_bf16:
        return b == a and (c == a or c == cmat_f32)
    return a == cmat_i8 and b == cmat_i8 and c == cmat_i32


cdef ValueId _tile(Reader r, TreeId tree, const Shape *shape, uint32_t row, uint32_t column) except 0 nogil:
    cdef ValueId[8] parts
    cdef uint32_t i
    for i in range(<uint32_t>cmat_elements):
        parts[i] = r.trees[tree + cmat_elements * (row * shape.columns + column) + i]
    return vector_of(&r.nir, parts, cmat_elements)


cdef int _multiply(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef Shape[4] shapes              # of A, B, C and the result
    cdef AnyValue[4] trees
    cdef int[3] types
    cdef int operands = <int>r.words[word + 6] if end - word > 6 else 0
    cdef uint32_t i, j, k
    cdef ValueId sum
    cdef ValueId part
    for i in range(3):
        _shape(r, value_type(r, r.words[word + 3 + i]), &shapes[i])
        types[i] = _element_type(r, &shapes[i])
        trees[i] = value_of(r, r.words[word + 3 + i])
        if shapes[i].use != i:
            fail(r, word, "operand %u is a matrix of another use", r.words[word + 3 + i])
    _shape(r, type_of_id(r, r.words[word + 1]), &shapes[3])
    if (shapes[0].columns != shapes[1].rows or shapes[2].rows != shapes[0].rows or shapes[2].columns != shapes[1].columns
            or not same_shape(r, shapes[2].type, shapes[3].type) or shapes[3].rows != shapes[2].rows or shapes[3].use != 2):
        fail(r, word, "matrices whose sizes or types do not match")
    if operands & ~31:
        unsupported(r, word, "cooperative matrix operands other than signedness and saturation")
    if not _are_multiplied(types[0], types[1], types[2]) or _element_type(r, &shapes[3]) != types[2]:
        unsupported(r, word, "products of cooperative matrices of these types (16-bit floats into themselves or 32-bit ones, float8 "
                             "into 32-bit floats, 8-bit integers into 32-bit ones)")
    trees[3] = tree_new(r, element_count(r, shapes[3].type))
    for i in range(shapes[3].rows):
        for j in range(shapes[3].columns):
            sum = _tile(r, trees[2], &shapes[2], i, j)
            for k in range(shapes[1].rows):
                sum = intrinsic3(&r.nir, intrinsic_cmat_muladd_pyaco, cmat_elements, bits_of(r, sum), _tile(r, trees[0], &shapes[0], i, k),
                                 _tile(r, trees[1], &shapes[1], k, j), sum)
                intrinsic_set_index(r.s, sum, index_cmat_types, types[0] | types[1] << 4 | types[2] << 8)
                intrinsic_set_index(r.s, sum, index_cmat_operands, operands)
            for k in range(<uint32_t>cmat_elements):
                part = component(&r.nir, sum, k)
                r.trees[trees[3] + cmat_elements * (i * shapes[3].columns + j) + k] = part
    return set_value(r, r.words[word + 2], shapes[3].type, trees[3])


# ---------------------------------------------------------------------------------------------------------------- elements
cdef bint _is_conversion(uint32_t opcode) noexcept nogil:
    return OpConvertFToU <= opcode <= OpFConvert or opcode == OpBitcast


cdef bint _is_elementwise(uint32_t opcode) noexcept nogil:
    return _is_conversion(opcode) or opcode in (OpSNegate, OpFNegate, OpIAdd, OpFAdd, OpISub, OpFSub, OpIMul, OpFMul, OpFDiv, OpSDiv, OpUDiv,
                                                OpMatrixTimesScalar)


cdef int _arithmetic_opcode(Reader r, uint32_t opcode, const Shape *shape) except -1 nogil:
    """The NIR opcode of an instruction on all elements."""
    cdef bint on_floats = opcode in (OpFNegate, OpFAdd, OpFSub, OpFMul, OpFDiv)
    cdef bint is_float = r.s.types.base[shape.element] == type_float
    if r.types[shape.element].float_encoding:
        unsupported(r, r.word, "arithmetic on bfloat16 and float8 numbers other than conversions, dot products and cooperative matrices")
    if opcode == OpMatrixTimesScalar:
        return alu_fmul if is_float else alu_imul
    if on_floats != is_float:
        fail(r, r.word, "a floating-point operation on integers, or an integer operation on floats")
    return spirv_alu[opcode]


cdef ValueId _converted_element(Reader r, uint32_t opcode, ValueId value, const Shape *source, const Shape *target) except 0 nogil:
    if opcode == OpBitcast:
        return bitcast(r, value, 1, r.s.types.bit_size[target.element])
    return converted(r, opcode, value, source.element, target.element)


cdef int _elementwise(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    cdef Shape shape
    cdef Shape source
    cdef AnyValue[2] operands
    cdef ValueId[2] values
    cdef uint32_t count = end - word - 3
    cdef uint32_t i, k
    cdef int alu = -1
    cdef TreeId tree
    cdef ValueId value
    _shape(r, type_of_id(r, r.words[word + 1]), &shape)
    _shape(r, value_type(r, r.words[word + 3]), &source)
    if source.rows != shape.rows or source.columns != shape.columns:
        fail(r, word, "matrices of different sizes")
    if not _is_conversion(opcode):
        alu = _arithmetic_opcode(r, opcode, &shape)
    for k in range(count):
        operands[k] = value_of(r, r.words[word + 3 + k])
        if alu >= 0 and not same_shape(r, value_type(r, r.words[word + 3 + k]), shape.element if k and opcode == OpMatrixTimesScalar else shape.type):
            fail(r, word, "operand %u has another type than the result", r.words[word + 3 + k])
    tree = tree_new(r, element_count(r, shape.type))
    for i in range(element_count(r, shape.type)):
        values[0] = r.trees[operands[0] + i]
        if count > 1:
            values[1] = operands[1] if opcode == OpMatrixTimesScalar else r.trees[operands[1] + i]
        value = alu_n(&r.nir, alu, values, count) if alu >= 0 else _converted_element(r, opcode, values[0], &source, &shape)
        r.trees[tree + i] = value
    return set_value(r, r.words[word + 2], shape.type, _with_use(r, tree, &source, &shape, False))


# ------------------------------------------------------------------------------------------------------------------- uses
cdef ValueId _lane_of_column(Reader r, uint32_t step) except 0 nogil:
    """Of the 32 lanes: the one that has, in a tile that is to be transposed, what this lane takes in a step."""
    cdef ValueId lane = intrinsic0(&r.nir, intrinsic_load_subgroup_invocation, 1, 32)
    cdef ValueId half = alu2_constant(&r.nir, alu_iand, alu2_constant(&r.nir, alu_ushr, lane, 1), 8)
    cdef ValueId source = alu2_constant(&r.nir, alu_iand, alu2_constant(&r.nir, alu_iadd, lane, step), 7)
    source = alu2(&r.nir, alu_ior, source, half)
    half = alu2_constant(&r.nir, alu_iand, alu2_constant(&r.nir, alu_ishl, lane, 1), 16)
    return alu2(&r.nir, alu_ior, alu2(&r.nir, alu_ior, source, half), alu2_constant(&r.nir, alu_iand, lane, 32))


cdef int _transpose_tile(Reader r, TreeId source, TreeId target) except -1 nogil:
    """Transpose the elements of a tile in the lanes that have them.

    In step s, lane n takes its element (n + s) & 7 from the lane that has it, which gives the element (its own number - s) & 7: all lanes that
    read a lane want the same of it.
    """
    cdef ValueId lane = alu2_constant(&r.nir, alu_iand, intrinsic0(&r.nir, intrinsic_load_subgroup_invocation, 1, 32), 7)
    cdef ValueId[8] parts
    cdef ValueId value, given, taken
    cdef uint32_t step, i
    for i in range(<uint32_t>cmat_elements):
        parts[i] = r.trees[source + i]
    value = vector_of(&r.nir, parts, cmat_elements)
    for i in range(<uint32_t>cmat_elements):
        parts[i] = 0
    for step in range(<uint32_t>cmat_elements):
        given = alu2_constant(&r.nir, alu_iand, alu2_constant(&r.nir, alu_isub, lane, step), 7)
        given = vector_extract_dynamic(r, value, given)
        given = intrinsic2(&r.nir, intrinsic_shuffle, 1, bits_of(r, given), given, _lane_of_column(r, step))
        taken = alu2_constant(&r.nir, alu_iand, alu2_constant(&r.nir, alu_iadd, lane, step), 7)
        for i in range(<uint32_t>cmat_elements):
            parts[i] = given if step == 0 else alu3(&r.nir, alu_bcsel, alu2_constant(&r.nir, alu_ieq, taken, i), given, parts[i])
    for i in range(<uint32_t>cmat_elements):
        r.trees[target + i] = parts[i]
    return 0


cdef AnyValue _with_use(Reader r, TreeId tree, const Shape *source, const Shape *target, bint transposed) except? 0xffffffffU nogil:
    """The elements of a matrix where those of another use, or of the transposed matrix, are."""
    cdef bint moves = ((source.use == CooperativeMatrixUse_MatrixAKHR) != (target.use == CooperativeMatrixUse_MatrixAKHR)) != transposed
    cdef uint32_t row, column
    cdef TreeId to, first, result
    cdef uint32_t i
    if not moves and not transposed:
        return tree
    result = tree_new(r, element_count(r, target.type))
    for row in range(target.rows):
        for column in range(target.columns):
            to = result + cmat_elements * (row * target.columns + column)
            first = tree + cmat_elements * (column * source.columns + row if transposed else row * source.columns + column)
            if moves:
                _transpose_tile(r, first, to)
                continue
            for i in range(<uint32_t>cmat_elements):
                r.trees[to + i] = r.trees[first + i]
    return result


cdef int _convert(Reader r, uint32_t word, bint transposed) except -1 nogil:
    """OpCooperativeMatrixConvertNV and OpCooperativeMatrixTransposeNV: the same elements in a matrix of another use."""
    cdef Shape shape
    cdef Shape source
    _shape(r, type_of_id(r, r.words[word + 1]), &shape)
    _shape(r, value_type(r, r.words[word + 3]), &source)
    if not same_shape(r, shape.element, source.element) or shape.rows != (source.columns if transposed else source.rows) or \
            shape.columns != (source.rows if transposed else source.columns):
        fail(r, word, "a matrix of another size or type than the result")
    return set_value(r, r.words[word + 2], shape.type, _with_use(r, value_of(r, r.words[word + 3]), &source, &shape, transposed))


cdef int _length(Reader r, uint32_t word) except -1 nogil:
    cdef Shape shape
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    _shape(r, type_of_id(r, r.words[word + 3]), &shape)
    if not type_int <= r.s.types.base[type] <= type_uint or r.s.types.components[type] != 1:
        fail(r, word, "a length that is not an integer")
    return set_value(r, r.words[word + 2], type, integer(r, element_count(r, shape.type), r.s.types.bit_size[type]))


cdef int matrix_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    if opcode == OpCooperativeMatrixLoadKHR:
        _load(r, word, end)
    elif opcode == OpCooperativeMatrixStoreKHR:
        _store(r, word, end)
    elif opcode == OpCooperativeMatrixMulAddKHR:
        _multiply(r, word, end)
    elif opcode == OpCooperativeMatrixLengthKHR:
        _length(r, word)
    elif opcode == OpCooperativeMatrixConvertNV or opcode == OpCooperativeMatrixTransposeNV:
        _convert(r, word, opcode == OpCooperativeMatrixTransposeNV)
    elif _is_elementwise(opcode) and r.types[type_of_id(r, r.words[word + 1])].matrix_rows:
        _elementwise(r, word, end, opcode)
    else:
        return 0
    return 1
