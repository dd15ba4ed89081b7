"""Lowers ALU opcodes that instruction selection does not have to those that it has.

Two parts: vector packing and unpacking, and booleans wider than one bit, here; and the rules of ``pyaco/nir/data/lower_alu.txt``. Needs: scalar ALU
(``lower_alu_to_scalar``). Guarantees: none of the left-hand sides of the table and no pack or unpack of normalised or
half-float vectors is left. Dot products of bytes and halves stay where the chip has them.

Sources: GLSL specification, section 8.4 "Floating-Point Pack and Unpack Functions"; LLVM's AMDGPU feature list for the
dot-product instructions of each generation.
"""
from libc.stdint cimport uint32_t, uint64_t

from algebraic_tables cimport rules_define, rules_lower, rules_lower_dot_2x16, rules_lower_dot_4x8, rules_lower_sudot
from nir_opcodes cimport (
    alu_b2b1, alu_extract_i16, alu_extract_i8, alu_extract_u16, alu_extract_u8, alu_f2i32, alu_f2u32, alu_fmax, alu_fmin,
    alu_fmul, alu_fround_even, alu_fsat, alu_i2f32, alu_iand, alu_imax, alu_imin, alu_input_count, alu_input_types_flat, alu_ior, alu_ishl,
    alu_max_inputs, alu_mqsad_4x8, alu_msad_4x8, alu_one_bit,
    alu_pack_32_2x16, alu_pack_32_2x16_split, alu_pack_64_2x32, alu_pack_64_2x32_split, alu_pack_64_4x16,
    alu_pack_half_2x16, alu_pack_half_2x16_split, alu_pack_sint_2x16, alu_pack_snorm_2x16, alu_pack_snorm_4x8,
    alu_pack_uint_2x16, alu_pack_unorm_2x16, alu_pack_unorm_4x8, alu_properties, alu_property_selection, alu_shfr,
    alu_u2f32, alu_umin, alu_unpack_32_2x16,
    alu_unpack_32_2x16_split_x, alu_unpack_32_2x16_split_y, alu_unpack_64_2x32, alu_unpack_64_2x32_split_x,
    alu_unpack_64_2x32_split_y, alu_unpack_64_4x16, alu_unpack_double_2x32_dxil, alu_unpack_half_2x16, alu_unpack_half_2x16_split_x,
    alu_unpack_half_2x16_split_y, alu_unpack_snorm_2x16, alu_unpack_snorm_4x8, alu_unpack_unorm_2x16,
    alu_unpack_unorm_4x8,
)
from pyaco._core.ir.pass_runner cimport kernel_changed, native_kernel
from pyaco._core.ir.program cimport gfx10_3, gfx11, gfx7
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, alu_n, alu_source, constant, vector_of
from pyaco._core.ir.shader cimport Shader, ShaderData, ValueId, nir_alu, nir_exact, source_value, type_bool
from pyaco._core.nir.algebraic cimport algebraic_run
from pyaco._core.nir.lowering cimport Lowering, constant_float, lower_alu, lower_keep, lowering_run, wide_boolean

cdef enum:
    maximum_sweeps = 16


cdef ValueId _normalise(Lowering *b, ValueId x, int bits, bint is_signed) except? 0xffffffffU nogil:
    """A float as a normalised integer in the low bits of a word."""
    cdef double scale = <double>((1 << (bits - 1)) - 1) if is_signed else <double>((1 << bits) - 1)
    if is_signed:
        x = alu2(b, alu_fmin, alu2(b, alu_fmax, x, constant_float(b, -1.0, 32)), constant_float(b, 1.0, 32))
    else:
        x = alu1(b, alu_fsat, x)
    x = alu1(b, alu_fround_even, alu2(b, alu_fmul, x, constant_float(b, scale, 32)))
    if not is_signed:
        return alu1(b, alu_f2u32, x)
    return alu2_constant(b, alu_iand, alu1(b, alu_f2i32, x), (<uint64_t>1 << bits) - 1)


cdef ValueId _pack_normalised(Lowering *b, ValueId instruction, int bits, bint is_signed) except? 0xffffffffU nogil:
    cdef ValueId total = 0
    cdef ValueId part
    cdef int i
    for i in range(32 // bits):
        part = _normalise(b, alu_source(b, instruction, 0, i), bits, is_signed)
        if i:
            part = alu2_constant(b, alu_ishl, part, i * bits)
        total = alu2(b, alu_ior, total, part) if i else part
    return total


cdef ValueId _unpack_normalised(Lowering *b, ValueId instruction, int bits,
                                bint is_signed) except? 0xffffffffU nogil:
    cdef double scale = <double>((1 << (bits - 1)) - 1) if is_signed else <double>((1 << bits) - 1)
    cdef int extract
    cdef ValueId word = alu_source(b, instruction, 0, 0)
    cdef ValueId[4] parts
    cdef ValueId part
    cdef int i
    if is_signed:
        extract = alu_extract_i8 if bits == 8 else alu_extract_i16
    else:
        extract = alu_extract_u8 if bits == 8 else alu_extract_u16
    for i in range(32 // bits):
        part = alu1(b, alu_i2f32 if is_signed else alu_u2f32, alu2_constant(b, extract, word, i))
        part = alu2(b, alu_fmul, part, constant_float(b, 1.0 / scale, 32))
        if is_signed:
            part = alu2(b, alu_fmin, alu2(b, alu_fmax, part, constant_float(b, -1.0, 32)),
                        constant_float(b, 1.0, 32))
        parts[i] = part
    return vector_of(b, parts, 32 // bits)


cdef ValueId _pack_clamped(Lowering *b, ValueId instruction, bint is_signed) except? 0xffffffffU nogil:
    """Two integers clamped to 16 bits."""
    cdef ValueId[2] parts
    cdef int i
    for i in range(2):
        parts[i] = alu_source(b, instruction, 0, i)
        if is_signed:
            parts[i] = alu2_constant(b, alu_imin, alu2_constant(b, alu_imax, parts[i], 0xffff8000U), 0x7fff)
            parts[i] = alu2_constant(b, alu_iand, parts[i], 0xffff)
        else:
            parts[i] = alu2_constant(b, alu_umin, parts[i], 0xffff)
    return alu2(b, alu_ior, parts[0], alu2_constant(b, alu_ishl, parts[1], 16))


cdef ValueId _halves(Lowering *b, ValueId instruction, int low, int high) except? 0xffffffffU nogil:
    """Both halves of a scalar as a vector."""
    cdef ValueId[2] parts
    cdef ValueId value = alu_source(b, instruction, 0, 0)
    parts[0] = alu1(b, low, value)
    parts[1] = alu1(b, high, value)
    return vector_of(b, parts, 2)


cdef ValueId _pair(Lowering *b, ValueId instruction, int opcode) except? 0xffffffffU nogil:
    """Both components of a vector, packed by a split opcode."""
    return alu2(b, opcode, alu_source(b, instruction, 0, 0), alu_source(b, instruction, 0, 1))


cdef ValueId _quarters(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """unpack_64_4x16."""
    cdef ValueId value = alu_source(b, instruction, 0, 0)
    cdef ValueId[2] words
    cdef ValueId[4] parts
    cdef int i
    words[0] = alu1(b, alu_unpack_64_2x32_split_x, value)
    words[1] = alu1(b, alu_unpack_64_2x32_split_y, value)
    for i in range(2):
        parts[2 * i] = alu1(b, alu_unpack_32_2x16_split_x, words[i])
        parts[2 * i + 1] = alu1(b, alu_unpack_32_2x16_split_y, words[i])
    return vector_of(b, parts, 4)


cdef ValueId _sums_of_differences(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """mqsad_4x8: msad_4x8 of the reference and the bytes from each of four places on."""
    cdef ValueId reference = alu_source(b, instruction, 0, 0)
    cdef ValueId low = alu_source(b, instruction, 1, 0)
    cdef ValueId high = alu_source(b, instruction, 1, 1)
    cdef ValueId[4] sums
    cdef ValueId window
    cdef int i
    for i in range(4):
        window = alu3(b, alu_shfr, high, low, constant(b, 8 * i, 32)) if i else low
        sums[i] = alu3(b, alu_msad_4x8, reference, window, alu_source(b, instruction, 2, i))
    return vector_of(b, sums, 4)


cdef ValueId _with_one_bit(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """An opcode whose booleans are integers or floats, by the one with 1-bit booleans."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef bint is_selection = alu_properties[opcode] & alu_property_selection
    cdef ValueId[16] values
    cdef ValueId result
    cdef uint32_t i
    for i in range(alu_input_count[opcode]):
        values[i] = alu_source(b, instruction, i, 0)
    if is_selection:
        values[0] = alu1(b, alu_b2b1, values[0])
    b.exact = (s.instructions.flags[instruction] & nir_exact) != 0
    result = alu_n(b, alu_one_bit[opcode], values, alu_input_count[opcode])
    b.exact = False
    return result if is_selection else wide_boolean(b, opcode, s.instructions.bit_size[instruction], result)


cdef bint _converts_wide_boolean(const ShaderData *s, ValueId instruction) noexcept nogil:
    """Whether the operand is a boolean of any size, and has more than one bit."""
    cdef int opcode = s.instructions.opcode[instruction]
    return (alu_input_types_flat[opcode * alu_max_inputs] == type_bool << 8 and opcode != alu_b2b1
            and s.instructions.bit_size[source_value(s, instruction, 0)] > 1)


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId low, high
    if b.s.instructions.kind[instruction] != nir_alu:
        return lower_keep
    if alu_one_bit[opcode] != opcode:
        return _with_one_bit(b, instruction)
    if _converts_wide_boolean(b.s, instruction):
        return alu1(b, opcode, alu1(b, alu_b2b1, alu_source(b, instruction, 0, 0)))
    if opcode == alu_mqsad_4x8 and b.s.info.gfx_level < gfx7:
        return _sums_of_differences(b, instruction)
    if opcode == alu_pack_32_2x16:
        return _pair(b, instruction, alu_pack_32_2x16_split)
    if opcode == alu_pack_64_2x32:
        return _pair(b, instruction, alu_pack_64_2x32_split)
    if opcode == alu_pack_half_2x16:
        return _pair(b, instruction, alu_pack_half_2x16_split)
    if opcode == alu_pack_64_4x16:
        low = alu2(b, alu_pack_32_2x16_split, alu_source(b, instruction, 0, 0), alu_source(b, instruction, 0, 1))
        high = alu2(b, alu_pack_32_2x16_split, alu_source(b, instruction, 0, 2), alu_source(b, instruction, 0, 3))
        return alu2(b, alu_pack_64_2x32_split, low, high)
    if opcode == alu_unpack_32_2x16:
        return _halves(b, instruction, alu_unpack_32_2x16_split_x, alu_unpack_32_2x16_split_y)
    if opcode == alu_unpack_64_2x32 or opcode == alu_unpack_double_2x32_dxil:
        return _halves(b, instruction, alu_unpack_64_2x32_split_x, alu_unpack_64_2x32_split_y)
    if opcode == alu_unpack_half_2x16:
        return _halves(b, instruction, alu_unpack_half_2x16_split_x, alu_unpack_half_2x16_split_y)
    if opcode == alu_unpack_64_4x16:
        return _quarters(b, instruction)
    if opcode == alu_pack_unorm_2x16 or opcode == alu_pack_snorm_2x16:
        return _pack_normalised(b, instruction, 16, opcode == alu_pack_snorm_2x16)
    if opcode == alu_pack_unorm_4x8 or opcode == alu_pack_snorm_4x8:
        return _pack_normalised(b, instruction, 8, opcode == alu_pack_snorm_4x8)
    if opcode == alu_unpack_unorm_2x16 or opcode == alu_unpack_snorm_2x16:
        return _unpack_normalised(b, instruction, 16, opcode == alu_unpack_snorm_2x16)
    if opcode == alu_unpack_unorm_4x8 or opcode == alu_unpack_snorm_4x8:
        return _unpack_normalised(b, instruction, 8, opcode == alu_unpack_snorm_4x8)
    if opcode == alu_pack_uint_2x16 or opcode == alu_pack_sint_2x16:
        return _pack_clamped(b, instruction, opcode == alu_pack_sint_2x16)
    return lower_keep


cdef bint _rules(ShaderData *s, int group) except -1 nogil:
    """Apply a group of rules until none matches: a rule may match the replacement of another."""
    cdef bint progress = False
    for _ in range(maximum_sweeps):
        if not algebraic_run(s, group) & kernel_changed:
            break
        progress = True
    return progress


cdef bint lower_alu_run(ShaderData *s) except -1 nogil:
    cdef bint progress = lowering_run(s, lower_alu, _lower, NULL)
    progress |= _rules(s, rules_define)
    progress |= _rules(s, rules_lower)
    if s.info.gfx_level < gfx10_3:
        progress |= _rules(s, rules_lower_dot_4x8)
    if s.info.gfx_level < gfx11:
        progress |= _rules(s, rules_lower_sudot)
    if s.info.gfx_level != gfx10_3:
        progress |= _rules(s, rules_lower_dot_2x16)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return lower_alu_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Lower ALU opcodes."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
