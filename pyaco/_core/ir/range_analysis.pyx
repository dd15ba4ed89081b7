"""Range analysis: the largest value that an unsigned integer can have.

A bound follows from the opcode and the bounds of its operands; what is not known can be anything of its size. Values are looked at
once each; a phi that is reached again, through the loop that it belongs to, can be anything, as can what lies too deep.
As Mesa's nir_unsigned_upper_bound in purpose. Needs: scalar ALU for anything to be found.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_b2i32, alu_bcsel, alu_bit_count, alu_extract_u16, alu_extract_u8, alu_iadd, alu_iand, alu_imax, alu_imin, alu_imul,
    alu_ior, alu_ishl, alu_ishr, alu_ixor, alu_mov, alu_u2u16, alu_u2u32, alu_u2u8, alu_ubfe, alu_udiv, alu_umax, alu_umin, alu_umod,
    alu_umul24, alu_ushr, index_arg_upper_bound_u32_amd, index_base, intrinsic_load_local_invocation_id, intrinsic_load_local_invocation_index,
    intrinsic_load_num_subgroups, intrinsic_load_scalar_arg_amd, intrinsic_load_subgroup_id, intrinsic_load_subgroup_invocation,
    intrinsic_load_vector_arg_amd,
    intrinsic_mbcnt_amd, intrinsic_read_first_invocation,
)
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, alu_is_vector, argument_local_ids, constant_bits, intrinsic_index, nir_alu, nir_intrinsic, nir_phi,
    source_swizzle, source_value, swizzle_component, value_is_constant,
)

cdef enum:
    deepest = 32                  # nested operations that are looked through
    anything = 0xffffffffU


cdef int ranges_begin(Ranges *ranges, const ShaderData *s) except -1 nogil:
    ranges.s = s
    ranges.known.assign(s.instructions.table.count)
    return 0


cdef inline uint32_t _largest(const ShaderData *s, ValueId value) noexcept nogil:
    cdef uint32_t bits = s.instructions.bit_size[value]
    return anything if bits >= 32 else (1U << bits) - 1


cdef inline uint32_t _ones(uint32_t bound) noexcept nogil:
    """All bits up to the highest of a bound."""
    bound |= bound >> 1
    bound |= bound >> 2
    bound |= bound >> 4
    bound |= bound >> 8
    return bound | bound >> 16


cdef inline uint32_t _fitting(uint64_t bound, uint32_t largest) noexcept nogil:
    """A bound of a result that wraps if it does not fit."""
    return <uint32_t>bound if bound <= largest else largest


cdef uint32_t _operand(Ranges *r, ValueId value, uint32_t k, uint32_t depth) noexcept nogil:
    return _bound(r, source_value(r.s, value, k), swizzle_component(source_swizzle(r.s, value, k), 0), depth)


cdef bint _constant_operand(const ShaderData *s, ValueId value, uint32_t k, uint64_t *number) noexcept nogil:
    cdef ValueId operand = source_value(s, value, k)
    if not value_is_constant(s, operand):
        return False
    number[0] = constant_bits(s, operand, swizzle_component(source_swizzle(s, value, k), 0))
    return True


cdef uint32_t _of_sum(Ranges *r, ValueId value, uint32_t largest, uint32_t depth) noexcept nogil:
    return _fitting(<uint64_t>_operand(r, value, 0, depth) + _operand(r, value, 1, depth), largest)


cdef uint32_t _of_shift(Ranges *r, ValueId value, uint32_t largest, uint32_t depth) noexcept nogil:
    cdef uint64_t count = 0
    cdef int opcode = r.s.instructions.opcode[value]
    cdef bint right = opcode != alu_ishl
    cdef uint32_t bound
    if right:
        bound = _operand(r, value, 0, depth)
        if opcode == alu_ishr and bound > largest >> 1:        # may be negative
            return largest
        return bound >> (count & (r.s.instructions.bit_size[value] - 1)) if _constant_operand(r.s, value, 1, &count) else bound
    if not _constant_operand(r.s, value, 1, &count):
        return largest
    return _fitting(<uint64_t>_operand(r, value, 0, depth) << (count & (r.s.instructions.bit_size[value] - 1)), largest)


cdef uint32_t _of_signed(Ranges *r, ValueId value, uint32_t largest, uint32_t depth) noexcept nogil:
    """Signed minimum and maximum: of numbers that are not negative as the unsigned ones."""
    cdef uint32_t a = _operand(r, value, 0, depth)
    cdef uint32_t b = _operand(r, value, 1, depth)
    if a > largest >> 1 or b > largest >> 1:
        return largest
    return min(a, b) if r.s.instructions.opcode[value] == alu_imin else max(a, b)


cdef uint32_t _of_division(Ranges *r, ValueId value, uint32_t depth) noexcept nogil:
    cdef uint64_t divisor = 0
    cdef uint32_t bound = _operand(r, value, 0, depth)
    cdef bint divides = r.s.instructions.opcode[value] == alu_udiv
    if not _constant_operand(r.s, value, 1, &divisor) or divisor == 0:
        return bound
    return bound // <uint32_t>divisor if divides else min(bound, <uint32_t>divisor - 1)


cdef uint32_t _of_alu(Ranges *r, ValueId value, uint32_t depth) noexcept nogil:
    cdef const ShaderData *s = r.s
    cdef int opcode = s.instructions.opcode[value]
    cdef uint32_t largest = _largest(s, value)
    cdef uint64_t number = 0
    if opcode == alu_iadd:
        return _of_sum(r, value, largest, depth)
    if opcode == alu_imul or opcode == alu_umul24:
        return _fitting(<uint64_t>_operand(r, value, 0, depth) * _operand(r, value, 1, depth), largest)
    if opcode == alu_ishl or opcode == alu_ushr or opcode == alu_ishr:
        return _of_shift(r, value, largest, depth)
    if opcode == alu_iand or opcode == alu_umin:
        return min(_operand(r, value, 0, depth), _operand(r, value, 1, depth))
    if opcode == alu_ior or opcode == alu_ixor:
        return _ones(_operand(r, value, 0, depth) | _operand(r, value, 1, depth))
    if opcode == alu_umax:
        return max(_operand(r, value, 0, depth), _operand(r, value, 1, depth))
    if opcode == alu_imin or opcode == alu_imax:
        return _of_signed(r, value, largest, depth)
    if opcode == alu_bcsel:
        return max(_operand(r, value, 1, depth), _operand(r, value, 2, depth))
    if opcode == alu_udiv or opcode == alu_umod:
        return _of_division(r, value, depth)
    if opcode == alu_u2u8 or opcode == alu_u2u16 or opcode == alu_u2u32:
        # From a wider integer the low bits, which a bound says nothing of unless it fits.
        if s.instructions.bit_size[source_value(s, value, 0)] > 32:
            return largest
        return _fitting(_operand(r, value, 0, depth), largest)
    if opcode == alu_ubfe and _constant_operand(s, value, 2, &number) and number & 31:
        return (1U << (number & 31)) - 1
    if opcode == alu_extract_u8:
        return 0xff
    if opcode == alu_extract_u16:
        return 0xffff
    if opcode == alu_b2i32:
        return 1
    if opcode == alu_bit_count:
        return s.instructions.bit_size[source_value(s, value, 0)]
    return largest


cdef uint32_t _of_arguments(const ShaderData *s, ValueId value, uint32_t component) noexcept nogil:
    """What the argument says of itself. Local ids, in a register each, or ten bits each in one; a single dimension has the register for itself."""
    cdef uint32_t row = intrinsic_index(s, value, index_base)
    cdef uint32_t i
    cdef uint32_t others = 1
    cdef uint32_t given = intrinsic_index(s, value, index_arg_upper_bound_u32_amd)
    if given:
        return given
    if row >= s.arguments.table.count or s.arguments.kind[row] != argument_local_ids:
        return anything
    if not s.arguments.detail[row] & 1:
        return s.info.workgroup_size[component] - 1 if component < 3 else anything
    for i in range(1, 3):
        others = max(others, s.info.workgroup_size[i])
    return s.info.workgroup_size[0] - 1 if others == 1 else 0x3fffffff


cdef uint32_t _of_intrinsic(Ranges *r, ValueId value, uint32_t component, uint32_t depth) noexcept nogil:
    cdef const ShaderData *s = r.s
    cdef int opcode = s.instructions.opcode[value]
    cdef uint32_t invocations = s.info.workgroup_size[0] * s.info.workgroup_size[1] * s.info.workgroup_size[2]
    if opcode == intrinsic_load_vector_arg_amd or opcode == intrinsic_load_scalar_arg_amd:
        return _of_arguments(s, value, component)
    if opcode == intrinsic_load_local_invocation_id and component < 3:
        return s.info.workgroup_size[component] - 1
    if opcode in (intrinsic_load_local_invocation_index, intrinsic_load_subgroup_id):
        return invocations - 1
    if opcode == intrinsic_load_num_subgroups:
        return invocations
    if opcode == intrinsic_load_subgroup_invocation:
        return s.info.wave_size - 1
    if opcode == intrinsic_mbcnt_amd:
        return _fitting(<uint64_t>s.info.wave_size + _bound(r, source_value(s, value, 1), 0, depth), anything)
    if opcode == intrinsic_read_first_invocation:
        return _bound(r, source_value(s, value, 0), component, depth)
    return _largest(s, value)


cdef uint32_t _of_phi(Ranges *r, ValueId value, uint32_t component, uint32_t depth) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t bound = 0
    # What comes round a loop finds this.
    r.known[value] = <uint64_t>_largest(r.s, value) + 1
    for k in range(r.s.instructions.source_count[value]):
        bound = max(bound, _bound(r, source_value(r.s, value, k), component, depth))
    return bound


cdef uint32_t _bound(Ranges *r, ValueId value, uint32_t component, uint32_t depth) noexcept nogil:
    cdef const ShaderData *s = r.s
    cdef uint32_t bound
    cdef bint scalar = s.instructions.components[value] == 1
    cdef uint8_t kind = s.instructions.kind[value]
    if value_is_constant(s, value):
        return <uint32_t>min(constant_bits(s, value, component), <uint64_t>anything)
    if value < r.known.size() and r.known[value] and scalar:
        return <uint32_t>(r.known[value] - 1)
    if depth == 0 or value >= r.known.size() or s.instructions.bit_size[value] > 32:
        return _largest(s, value)
    if kind == nir_alu and s.instructions.opcode[value] == alu_mov:
        return _bound(r, source_value(s, value, 0), swizzle_component(source_swizzle(s, value, 0), component), depth - 1)
    if kind == nir_alu and alu_is_vector(s.instructions.opcode[value]):
        return _operand(r, value, component, depth - 1)
    if kind == nir_alu and scalar:
        bound = _of_alu(r, value, depth - 1)
    elif kind == nir_phi and scalar:
        bound = _of_phi(r, value, component, depth - 1)
    elif kind == nir_intrinsic:
        bound = _of_intrinsic(r, value, component, depth - 1)
    else:
        bound = _largest(s, value)
    if scalar:
        r.known[value] = <uint64_t>bound + 1
    return bound


cdef uint32_t unsigned_upper_bound(Ranges *ranges, ValueId value, uint32_t component) noexcept nogil:
    return _bound(ranges, value, component, deepest)


cdef bint sum_does_not_wrap(Ranges *ranges, ValueId value, uint32_t component, uint32_t constant) noexcept nogil:
    return <uint64_t>unsigned_upper_bound(ranges, value, component) + constant <= anything


def bounds(Shader shader not None):
    """The upper bound of every scalar of 1 to 32 bits, by value; of what is no such scalar the largest number of 32 bits."""
    cdef Ranges ranges
    cdef ValueId value
    ranges_begin(&ranges, &shader.data)
    result = [0xffffffff] * shader.data.instructions.table.count
    for value in range(1, shader.data.instructions.table.count):
        if shader.data.instructions.components[value] == 1 and shader.data.instructions.bit_size[value] <= 32:
            result[value] = unsigned_upper_bound(&ranges, value, 0)
    return result
