"""Constants, specialization and module-scope declarations of a SPIR-V module (the SPIR-V specification, sections 3.42.7, 2.9 and 3.42.8).

Each constant is a row of ``Reader.constants``, specialization constants too: their values are known before they are read, and OpSpecConstantOp
is evaluated here.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from spirv_tables cimport *
from pyaco._core.common.bits cimport low_bits, sign_extended
from pyaco._core.common.floats cimport float_from_bits, float_to_bits, quantized_to_half
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *

from pyaco.errors import InputError, UnsupportedError

cdef enum:
    first_extension_opcode = 4096      # SPIR-V's registry gives lower numbers to the core alone


cdef uint64_t _specialized(Reader r, SpirvId id, TypeId type, uint64_t bits) except? 0xfffffffffffffffeULL nogil:
    """The value that the user gives the specialization constant `id`, or `bits`, its default."""
    cdef uint32_t word = decoration_of(r, id, no_member, Decoration_SpecId)
    r.spec_constants.push_back(id)
    if word == 0 or r.specialization is None:
        return bits
    with gil:
        number = r.words[word]
        if number not in r.specialization:
            return bits
        if r.types[type].float_encoding:
            raise UnsupportedError(f"values for the specialization constant {number}, a float of SPV_KHR_bfloat16 or SPV_EXT_float8")
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
    cdef uint32_t opcode = opcode_at(r, word)
    cdef bint replicated = (opcode == OpConstantCompositeReplicateEXT or opcode == OpSpecConstantCompositeReplicateEXT
                            or r.types[type].matrix_rows != 0)
    cdef uint32_t given = end - word - 3
    cdef uint32_t count = element_count(r, type)
    cdef ConstantId row
    cdef ConstantId child
    cdef uint32_t first = <uint32_t>r.constant_children.size()
    cdef uint32_t i
    cdef SpirvId id
    if (not is_composite(r, type) and count == 0) or (count != given and not (replicated and given == 1)):
        fail(r, word, "%u constituents do not match the type", given)
    check_value_type(r, type)
    for i in range(count):
        id = r.words[word + 3 + (0 if replicated else i)]
        if r.kind[id] != kind_constant:
            fail(r, word, "constituent %u is not a constant", id)
        child = r.payload[id]
        if not same_shape(r, r.constants[child].type, element_type(r, type, i)):
            fail(r, word, "constituent %u has the wrong type", id)
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
        refuse_opaque(r, type)
    if OpConstantTrue <= opcode <= OpConstantFalse or OpSpecConstantTrue <= opcode <= OpSpecConstantFalse:
        if r.s.types.base[type] != type_bool or r.s.types.components[type] != 1:
            fail(r, word, "a boolean constant whose type is not boolean")
        bits = opcode == OpConstantTrue or opcode == OpSpecConstantTrue
        if opcode >= OpSpecConstantTrue:
            bits = _specialized(r, id, type, bits)
        row = add_constant(r, type, constant_scalar, bits)
    elif opcode == OpConstant or opcode == OpSpecConstant:
        row = _literal(r, word, end, type)
    elif opcode in (OpConstantComposite, OpSpecConstantComposite, OpConstantCompositeReplicateEXT, OpSpecConstantCompositeReplicateEXT):
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


cdef inline bint _is_integer(Reader r, TypeId type) noexcept nogil:
    return r.s.types.base[type] == type_int or r.s.types.base[type] == type_uint


cdef int _check_kinds(Reader r, uint32_t opcode, TypeId type, TypeId a, TypeId b) except -1 nogil:
    """Operations on integers, their comparisons, and operations on booleans take and give nothing else."""
    cdef bint compares = OpIEqual <= opcode <= OpSLessThanEqual
    cdef bint shifts = opcode in (OpShiftRightLogical, OpShiftRightArithmetic, OpShiftLeftLogical)
    cdef bint counts = opcode in (OpSNegate, OpNot, OpIAdd, OpISub, OpIMul, OpUDiv, OpUMod, OpSDiv, OpSRem, OpSMod, OpBitwiseOr, OpBitwiseXor,
                                  OpBitwiseAnd)
    if opcode in (OpLogicalNot, OpLogicalOr, OpLogicalAnd, OpLogicalEqual, OpLogicalNotEqual):
        if r.s.types.base[type] != type_bool or r.s.types.base[a] != type_bool or r.s.types.base[b] != type_bool:
            fail(r, r.word, "operands or a result that are not boolean")
    if compares and r.s.types.base[type] != type_bool:
        fail(r, r.word, "a comparison whose result is not boolean")
    if (compares or shifts or counts) and not (_is_integer(r, a) and _is_integer(r, b)):
        fail(r, r.word, "operands that are not integers")
    if (shifts or counts or opcode == OpSConvert or opcode == OpUConvert) and not _is_integer(r, type):
        fail(r, r.word, "a result that is not an integer")
    if (compares or counts) and r.s.types.bit_size[a] != r.s.types.bit_size[b]:
        fail(r, r.word, "operands of different widths")
    return 0


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
    _check_kinds(r, opcode, type, r.constants[a].type, r.constants[b].type)
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
    elif opcode == OpCooperativeMatrixLengthKHR and end - first == 1:
        if not r.types[type_of_id(r, r.words[first])].matrix_rows:
            refuse_opaque(r, type_of_id(r, r.words[first]))
        row = add_constant(r, type, constant_scalar, element_count(r, type_of_id(r, r.words[first])))
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
        return declare_type(r, word, end)
    if (OpConstantTrue <= opcode <= OpSpecConstantOp) or opcode in (OpUndef, OpConstantCompositeReplicateEXT,
                                                                    OpSpecConstantCompositeReplicateEXT):
        if opcode == OpConstantSampler:
            unsupported(r, word, "samplers")
        return _constant(r, word, end)
    if opcode == OpVariable or opcode == OpUntypedVariableKHR:
        return _variable(r, word)
    if is_non_semantic(r, word):
        r.kind[r.words[word + 2]] = kind_void
        return 0
    if opcode >= first_extension_opcode or opcode == OpConstantPipeStorage:
        return unsupported(r, word, "the instruction ", spirv_names[opcode])
    fail(r, word, "an instruction that is allowed only in functions")
    return 0
