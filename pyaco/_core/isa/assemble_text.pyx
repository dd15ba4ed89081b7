"""Assembly text in LLVM's syntax to machine code, in one pass over the source without Python.

``statement.pyx`` reads mnemonic, operands and modifiers; this module finds the opcode in the hash table of its gfx level,
fills ``Decoded`` and lets the encoder make the words. A vector instruction takes its shortest encoding unless its suffix
names one. Expressions whose symbols come later are kept as fixups, evaluated at the end. Syntax: "Syntax of AMDGPU
Instruction Operands" and "... Modifiers" of the LLVM manual.
"""
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport strtod
from libc.string cimport memcmp, memcpy, memset, strlen
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from isa_opcodes cimport *
from isa_tables cimport (image_flag_bvh, image_flag_gather, image_flag_sampler, image_flag_store, is_atomic,
                         opcode_definition_classes, opcode_definition_count, opcode_flag_interpolation, opcode_flag_literal,
                         opcode_flag_matrix, opcode_image,
                         opcode_flag_no_address, opcode_flag_tied, opcode_flag_two_offsets, opcode_flags, opcode_format,
                         opcode_mask_class, opcode_max_definitions, opcode_max_operands, opcode_number_y,
                         opcode_operand_classes, opcode_operand_count)
from modifiers cimport *
from pyaco._core.common.machine cimport *
from pyaco._core.isa.decode cimport decoded_source_limit, image_address_dwords
from pyaco._core.isa.encode cimport encode, encode_bad_bus, encode_error, form_error, form_has_clamp, form_has_omod, scalar_reads_fit
from pyaco._core.isa.text_tables cimport *
from pyaco._core.isa.statement cimport *
from pyaco._core.isa.text_facts cimport *

cdef enum:
    literal_address = 255 * 4
    valu_one_dword = format_vop1 | format_vop2 | format_vopc

#: Facts by name, for whoever fills the table of facts.
FACTS = {
    "packed": fact_packed, "scalar_half": fact_scalar_half, "floating": fact_floating,
    "multiply_constant": fact_multiply_constant, "swaps": fact_swaps, "mixes": fact_mixes, "branch": fact_branch,
    "cmpx": fact_cmpx, "setreg": fact_setreg, "getreg": fact_getreg, "message": fact_message, "immediate": fact_immediate,
    "optional": fact_optional, "prefetch": fact_prefetch, "compare_swap": fact_compare_swap, "loads": fact_loads,
    "absent": fact_absent,
    "waits_with_register": fact_waits_with_register, "signed": fact_signed,
    "opsel_lanes": fact_opsel_lanes, "opsel_other": fact_opsel_other, "without_opsel_12": fact_without_opsel_12,
    "plain_dot": fact_plain_dot, "double_matrix": fact_double_matrix, "scope_alone": fact_scope_alone,
    "writes_byte": fact_writes_byte, "bfloat": fact_bfloat, "wave_matrix": fact_wave_matrix,
    "typed_matrix": fact_typed_matrix,
    "global_wave_sync": fact_global_wave_sync,
    "unpacked": fact_unpacked,
}
#: Directives by name.
DIRECTIVES = {
    ".byte": directive_byte, ".short": directive_short, ".hword": directive_short, ".2byte": directive_short,
    ".long": directive_long, ".int": directive_long, ".4byte": directive_long, ".quad": directive_quad,
    ".8byte": directive_quad, ".set": directive_set, ".equ": directive_set, ".equiv": directive_set, ".uleb128": directive_uleb,
    ".sleb128": directive_sleb, ".zero": directive_zero, ".skip": directive_zero,
    ".space": directive_zero, ".fill": directive_fill, ".p2align": directive_p2align, ".balign": directive_balign,
    ".p2alignl": directive_p2alignl,
    ".align": directive_balign, ".ascii": directive_ascii, ".asciz": directive_asciz, ".string": directive_asciz,
    ".float": directive_float, ".single": directive_float, ".double": directive_double,
    ".text": directive_text, ".data": directive_data, ".bss": directive_data, ".rodata": directive_rodata, ".section": directive_section,
    ".amdgpu_metadata": directive_metadata, ".amd_amdgpu_hsa_metadata": directive_metadata,
    ".amdgpu_pal_metadata": directive_metadata, ".amdhsa_kernel": directive_kernel,
}
DIRECTIVES |= dict.fromkeys(
    (".file", ".loc", ".addrsig", ".addrsig_sym"), directive_ignored)
DIRECTIVES |= dict.fromkeys(
    (".globl", ".global", ".weak", ".local", ".hidden", ".protected", ".internal", ".type", ".size", ".ident", ".amdgpu_lds", ".amdgcn_target",
     ".amdhsa_code_object_version"), directive_declaration)


# -------------------------------------------------------------------------------------------------------------- constants
cdef extern from *:
    """
    #include <string.h>
    #include <math.h>
    static inline uint32_t pyaco_float_bits(double value) { float f = (float)value; uint32_t b; memcpy(&b, &f, 4); return b; }
    static inline uint64_t pyaco_double_bits(double value) { uint64_t b; memcpy(&b, &value, 8); return b; }
    static inline int pyaco_float_overflows(double value) { return isfinite(value) && !isfinite((float)value); }
    /* binary64 to binary16, round to nearest even; 0xffffffff on overflow */
    static inline uint32_t pyaco_half_bits(double value) {
      uint64_t b = pyaco_double_bits(value);
      uint32_t sign = (uint32_t)(b >> 48) & 0x8000;
      double scaled = fabs(value), step;
      int exponent;
      if (scaled == 0) return sign;
      frexp(scaled, &exponent);
      step = ldexp(1.0, (exponent < -13 ? -13 : exponent) - 11);
      scaled = nearbyint(scaled / step);
      if (scaled * step >= 65520) return 0xffffffff;
      return sign + (uint32_t)((exponent < -13 ? 0 : exponent + 13) * 1024) + (uint32_t)scaled;
    }
    """
    uint32_t float_bits "pyaco_float_bits"(double) noexcept nogil
    uint64_t double_bits "pyaco_double_bits"(double) noexcept nogil
    uint32_t half_bits "pyaco_half_bits"(double) noexcept nogil
    bint float_overflows "pyaco_float_overflows"(double) noexcept nogil


cdef uint32_t inline_code(uint64_t pattern, uint32_t bits, bint has_inverse_pi) noexcept nogil:
    """Operand code of an inline floating-point constant, 0 if the bit pattern is none."""
    cdef uint64_t magnitude
    cdef uint32_t sign = <uint32_t>(pattern >> (bits - 1)) & 1
    cdef uint32_t i
    magnitude = pattern & ((<uint64_t>1 << (bits - 1)) - 1)
    cdef uint64_t inverse_two_pi = 0x3fc45f306dc9c882ULL
    if bits == 16:
        inverse_two_pi = 0x3118
    elif bits == 32:
        inverse_two_pi = 0x3e22f983
    if has_inverse_pi and pattern == inverse_two_pi:
        return 248
    # 0.5, 1, 2, 4: exponents one apart, no mantissa
    for i in range(4):
        if bits == 16 and magnitude == 0x3800 + 0x400 * i:
            return 240 + 2 * i + sign
        if bits == 32 and magnitude == 0x3f000000U + 0x800000U * i:
            return 240 + 2 * i + sign
        if bits == 64 and magnitude == 0x3fe0000000000000ULL + 0x10000000000000ULL * i:
            return 240 + 2 * i + sign
    return 0


cdef uint64_t float_pattern(Job *j, const Operand *o, uint32_t bits) noexcept nogil:
    """Bits of a floating-point number; bfloat16 is the upper half of binary32, rounded to even."""
    cdef uint32_t half
    if bits == 16 and j.facts[j.d.opcode] & fact_bfloat:
        half = float_bits(o.number)
        return (half + 0x7fff + (half >> 16 & 1)) >> 16
    if bits == 64:
        return double_bits(o.number)
    if bits == 32:
        if float_overflows(o.number):
            fail(&j.c, o.begin, b"% is beyond 32-bit floating point", o.begin, o.end)
        return float_bits(o.number)
    half = half_bits(o.number)
    if half == 0xffffffffU:
        fail(&j.c, o.begin, b"% is beyond 16-bit floating point", o.begin, o.end)
    return half & 0xffff


cdef uint16_t put_literal(Job *j, const Operand *o, uint32_t value) noexcept nogil:
    if j.d.has_literal and (j.d.literal != value or j.literal_expression != NULL):
        fail_plain(&j.c, o.begin, b"two different literals")
    j.d.has_literal = 1
    j.d.literal = value
    return literal_address


cdef uint16_t put_later(Job *j, const Operand *o) noexcept nogil:
    """A literal whose value the end of the source tells."""
    if j.d.has_literal:
        fail_plain(&j.c, o.begin, b"two different literals")
    j.d.has_literal = 1
    j.d.literal = 0
    j.literal_expression = o.inner
    return literal_address


cdef inline uint32_t width_of_pattern(const Job *j, uint32_t bits) noexcept nogil:
    return 32 if bits == 16 and j.facts[j.d.opcode] & fact_bfloat else bits


cdef inline uint64_t widened(const Job *j, uint64_t pattern, uint32_t bits) noexcept nogil:
    """A bfloat16 as the binary32 that it abbreviates; 1/(2 pi) is 0x3e22 there."""
    if bits != 16 or not j.facts[j.d.opcode] & fact_bfloat:
        return pattern
    return 0x3e22f983 if pattern == 0x3e22 else pattern << 16


cdef inline bint takes_inline(const Job *j, uint32_t code) noexcept nogil:
    """Whether an inline constant is one: GFX11 has no floating-point ones in this opcode."""
    return code < 240 or j.d.opcode != op_v_pk_fmac_f16 or j.c.level < gfx11


cdef inline bint is_addend(const Job *j) noexcept nogil:
    """Whether the next source is the third one of a dot product of pairs."""
    return j.d.source_count == 2 and (j.d.opcode == op_v_dot2_f16_f16 or j.d.opcode == op_v_dot2_f32_f16 or j.d.opcode == op_v_dot2_bf16_bf16)


cdef inline bint is_pair(const Job *j) noexcept nogil:
    """Whether the next source is two halves, of which a floating-point constant is the low one; an integer is both, 32 bits of it."""
    return (j.facts[j.d.opcode] & (fact_packed | fact_bfloat) != 0 and j.d.opcode != op_v_cvt_f32_bf16
            and not is_addend(j) and not takes_half_matrix(j))


cdef inline bint takes_half_matrix(const Job *j) noexcept nogil:
    """Whether what a matrix operation adds to has 16 bits, and constants of that size (GFX12; LLVM takes no integers on GFX11)."""
    return j.d.opcode == op_v_wmma_f16_16x16x16_f16_gfx12 or j.d.opcode == op_v_wmma_bf16_16x16x16_bf16_gfx12


cdef uint16_t constant(Job *j, const Operand *o, uint32_t bits, bint floating) noexcept nogil:
    """Address of a constant: an inline code, else the literal."""
    cdef uint64_t pattern, mask
    cdef int64_t value = o.integer
    cdef int64_t small
    cdef uint32_t code
    cdef uint32_t whole = 32 if bits == 16 and is_pair(j) else bits                 # of an integer
    cdef bint has_inverse_pi = j.c.level >= gfx8
    if o.kind == operand_symbol:
        return put_later(j, o)
    if o.kind == operand_float and bits == 16 and not floating and half_bits(o.number) == 0xffffffffU:
        return put_literal(j, o, <uint32_t>float_pattern(j, o, 32))
    if o.kind == operand_float:
        pattern = float_pattern(j, o, bits)
        if pattern == 0 and o.number != 0:
            fail(&j.c, o.begin, b"% is too small for a number of this size", o.begin, o.end)
        if width_of_pattern(j, bits) != bits and float_bits(o.number) == 0x3e22f983:
            # as a bfloat16 constant it is truncated, not rounded
            pattern = 0x3e22
        code = 128 if pattern == 0 else inline_code(widened(j, pattern, bits), width_of_pattern(j, bits), has_inverse_pi)
        if code and not o.is_literal and takes_inline(j, code):
            return <uint16_t>(code * 4)
        if bits == 16 and not floating:
            # 16-bit integers take the literal for one of 32 bits
            pattern = float_pattern(j, o, 32)
        if bits == 64 and not floating:
            fail(&j.c, o.begin, b"% is no 64-bit integer, and no inline constant", o.begin, o.end)
        return put_literal(j, o, <uint32_t>(pattern >> 32) if bits == 64 else <uint32_t>pattern)
    if not o.is_literal:
        small = value - (<int64_t>1 << whole) if whole < 64 and (<uint64_t>value >> (whole - 1)) == 1 else value
        if 0 <= small <= 64:
            return <uint16_t>((128 + small) * 4)
        if -16 <= small < 0:
            return <uint16_t>((192 - small) * 4)
        # 16-bit integer operands take no bit patterns of floating-point constants
        mask = 0xffffffffffffffffULL if bits == 64 else (<uint64_t>1 << bits) - 1
        if (bits != 16 or floating) and (value >= 0 or bits == 64) and <uint64_t>value & ~mask == 0:
            code = inline_code(widened(j, <uint64_t>value, bits), width_of_pattern(j, bits), has_inverse_pi)
            if code and takes_inline(j, code):
                return <uint16_t>(code * 4)
    if whole == 16 and -0x8000 <= value < 0:
        value &= 0xffff
    if not -0x80000000LL <= value <= 0xffffffffLL:
        if bits == 64 and floating and value & 0xffffffffLL == 0:
            return put_literal(j, o, <uint32_t>(<uint64_t>value >> 32))
        fail(&j.c, o.begin, b"% does not fit 32 bits", o.begin, o.end)
    if whole == 16 and not -0x8000 <= value <= 0xffff and not j.facts[j.d.opcode] & fact_mixes:
        # mixed operations have binary32 as well, which LLVM does not take
        fail(&j.c, o.begin, b"% does not fit 16 bits", o.begin, o.end)
    return put_literal(j, o, <uint32_t>value)


cdef uint16_t literal_operand(Job *j, const Operand *o, uint32_t bits) noexcept nogil:
    """A constant that is always a literal."""
    if o.kind == operand_symbol:
        return put_later(j, o)
    if o.kind == operand_float:
        return put_literal(j, o, <uint32_t>float_pattern(j, o, bits))
    if o.kind != operand_integer or not -0x80000000LL <= o.integer <= 0xffffffffLL:
        fail(&j.c, o.begin, b"% is not a 32-bit constant", o.begin, o.end)
    return put_literal(j, o, <uint32_t>o.integer & (0xffff if bits == 16 and o.integer < 0 else 0xffffffffU))


# --------------------------------------------------------------------------------------------------------------- operands
cdef inline uint8_t definition_class(const Job *j, uint32_t position) noexcept nogil:
    return opcode_definition_classes[<uint32_t>j.d.opcode * opcode_max_definitions + position]


cdef inline uint8_t operand_class(const Job *j, uint32_t position) noexcept nogil:
    return opcode_operand_classes[<uint32_t>j.d.opcode * opcode_max_operands + position]


cdef inline uint32_t class_dwords_of(const Job *j, uint8_t register_class) noexcept nogil:
    if register_class == opcode_mask_class:
        return j.c.wave_dwords
    if register_class & 0x40:
        return 1
    # 32 dwords wrap to 0
    return register_class & 0x1f if register_class & 0x1f else 32


cdef uint32_t constant_bits(const Job *j, uint8_t register_class) noexcept nogil:
    """Width of the value that a constant in this place stands for."""
    cdef uint32_t facts = j.facts[j.d.opcode]
    if (facts & fact_packed and not is_addend(j)) or facts & fact_mixes or (facts & fact_bfloat and j.d.source_count < 2):
        return 16
    if j.d.format & format_vop3p:
        return 16 if takes_half_matrix(j) else 32
    if j.c.level < gfx12 and (j.d.opcode == op_v_cvt_pk_f32_fp8 or j.d.opcode == op_v_cvt_pk_f32_bf8):
        return 32
    if register_class == 0x62 or facts & fact_scalar_half:
        return 16
    return 64 if register_class == 2 or register_class == 0x22 else 32


cdef inline void check_width(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    if o.dwords != dwords or (dwords > 1 and gfx90a <= j.c.level < gfx10):
        check_tuple(j, o, dwords)


cdef void check_tuple(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    cdef char text[64]
    if gfx90a <= j.c.level < gfx10 and o.dwords > 1 and o.address >= register_vgpr0 and o.address & 4 and j.d.opcode != op_ds_read_b96_tr_b6:
        fail(&j.c, o.begin, b"%: vector registers start at an even number here", o.begin, o.end)
    cdef bint special = 128 * 4 <= o.address < register_vgpr0 or o.address == register_null
    if o.dwords != dwords and not special and not j.c.failed:
        snprintf(text, 64, b"%% is %u dwords wide, not %u", <uint32_t>o.dwords, dwords)
        fail(&j.c, o.begin, text, o.begin, o.end)


cdef uint16_t register_of(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    """Address of a register of `dwords` dwords."""
    if o.kind != operand_register:
        fail(&j.c, o.begin, b"% is not a register", o.begin, o.end)
        return 0
    check_width(j, o, dwords)
    if o.half >= 0:
        fail(&j.c, o.begin, b"% is half a register where a whole one belongs", o.begin, o.end)
    return o.address


cdef inline bint names_written_half(const Job *j, const Operand *o) noexcept nogil:
    """GFX12: whether the operand is the result of a conversion whose op_sel says which half of the register it writes."""
    return (j.c.level >= gfx12 and o == &j.s.operands[0]
            and (j.d.opcode == op_v_cvt_pk_fp8_f32 or j.d.opcode == op_v_cvt_pk_bf8_f32))


cdef uint16_t address(Job *j, const Operand *o, uint8_t register_class) noexcept nogil:
    """Address of a source or destination of a register class."""
    if operand_integer <= o.kind <= operand_symbol:
        return constant(j, o, constant_bits(j, register_class), (j.facts[j.d.opcode] & fact_floating) != 0)
    if o.kind != operand_register:
        fail(&j.c, o.begin, b"% is not a register or constant", o.begin, o.end)
        return 0
    check_width(j, o, class_dwords_of(j, register_class))
    if o.half >= 0 and register_class != 0x62 and not names_written_half(j, o):
        fail(&j.c, o.begin, b"% is half a register where a whole one belongs", o.begin, o.end)
    return o.address


cdef uint16_t vector_register(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    """A VGPR of a memory access."""
    cdef uint16_t result = register_of(j, o, dwords)
    if result < register_vgpr0 or result >= register_agpr0:
        fail(&j.c, o.begin, b"% is not a VGPR", o.begin, o.end)
    return result


cdef uint16_t memory_register(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    """The data of a memory access: VGPRs, or AGPRs from CDNA 2 on."""
    cdef uint16_t result = register_of(j, o, dwords)
    if result < register_vgpr0 or (result >= register_agpr0 and not gfx90a <= j.c.level < gfx10):
        fail(&j.c, o.begin, b"% is not a VGPR", o.begin, o.end)
    return result


cdef int64_t plain_number(Job *j, const Operand *o, int64_t low, int64_t high) noexcept nogil:
    if o.kind != operand_integer or not low <= o.integer <= high:
        fail_range(&j.c, o.begin, o.begin, o.end, low, high)
        return 0
    return o.integer


cdef inline void add_source(Job *j, uint16_t source, uint32_t dwords) noexcept nogil:
    j.d.source[j.d.source_count] = source
    j.d.source_bytes[j.d.source_count] = <uint8_t>(4 * dwords)
    j.d.source_count += 1


cdef inline void add_class_source(Job *j, uint16_t source, uint8_t register_class) noexcept nogil:
    add_source(j, source, class_dwords_of(j, register_class))
    if register_class == opcode_mask_class:
        j.d.source_bytes[j.d.source_count - 1] = 0
    elif register_class == 0x62:
        j.d.source_bytes[j.d.source_count - 1] = 2


cdef inline void add_destination(Job *j, uint16_t destination) noexcept nogil:
    j.d.destination[j.d.destination_count] = destination
    j.d.destination_bytes[j.d.destination_count] = 4
    j.d.destination_count += 1


cdef bint expect_count(Job *j, uint32_t count) noexcept nogil:
    cdef char text[64]
    if j.s.count == count:
        return True
    if not j.c.failed:
        snprintf(text, 64, b"%% takes %u operands, not %u", count, j.s.count)
        fail(&j.c, j.s.mnemonic, text, j.s.mnemonic, j.s.mnemonic + j.s.mnemonic_length)
    return False


# -------------------------------------------------------------------------------------------------------------- modifiers
cdef inline bint given(const Job *j, uint32_t number) noexcept nogil:
    return (j.s.given >> number & 1) != 0


cdef inline bint flag(Job *j, uint32_t number) noexcept nogil:
    """Whether a single word is given; takes it."""
    j.s.taken |= <uint64_t>1 << number
    return (j.s.given >> number & 1) != 0 and j.s.values[number] != 0


cdef inline int64_t taken(Job *j, uint32_t number, int64_t default) noexcept nogil:
    """The value of a modifier; takes it."""
    j.s.taken |= <uint64_t>1 << number
    return j.s.values[number] if j.s.given >> number & 1 else default


cdef int64_t ranged(Job *j, uint32_t number, int64_t low, int64_t high, int64_t default) noexcept nogil:
    """The value of a numeric modifier."""
    cdef int64_t value = taken(j, number, default)
    cdef const char *end
    if given(j, number) and not low <= value <= high:
        end = j.s.value_places[number]
        while end[0] and end[0] not in (c' ', c',', c'\n', c';'):
            end += 1
        fail_range(&j.c, j.s.places[number], j.s.places[number], end, low, high)
        return 0
    return value


cdef uint32_t bit_list(Job *j, uint32_t number, uint32_t default) noexcept nogil:
    return <uint32_t>taken(j, number, default) & 0xff


cdef inline uint32_t negation(Job *j, const Operand *o) noexcept nogil:
    """Whether an operand of the job's statement is negated; takes it."""
    if o.negative:
        j.s.negations_taken |= 1U << (o - j.s.operands)
    return o.negative


cdef inline uint32_t magnitude_of(Job *j, const Operand *o) noexcept nogil:
    if o.magnitude:
        j.s.magnitudes_taken |= 1U << (o - j.s.operands)
    return o.magnitude


cdef inline bint extension(Job *j, const Operand *o) noexcept nogil:
    if o.sign_extended:
        j.s.extensions_taken |= 1U << (o - j.s.operands)
    return o.sign_extended


cdef inline void give_back(Job *j) noexcept nogil:
    """Forget what was taken, for another try."""
    j.s.taken = 0
    j.s.negations_taken = 0
    j.s.magnitudes_taken = 0
    j.s.extensions_taken = 0


cdef void check_signs(Job *j, const Statement *s) noexcept nogil:
    """Complains about a sign that nobody took."""
    cdef const Operand *o
    cdef uint32_t i
    for i in range(s.count):
        o = &s.operands[i]
        if (o.negative and not s.negations_taken >> i & 1) or (o.magnitude and not s.magnitudes_taken >> i & 1) \
                or (o.sign_extended and not s.extensions_taken >> i & 1):
            fail(&j.c, o.begin, b"%: this operand takes no such sign modifier", o.begin, o.end)


cdef void finish(Job *j) noexcept nogil:
    """Complains about a modifier, or a sign of an operand, that nobody took."""
    cdef uint64_t rest = j.s.given & ~j.s.taken
    cdef uint32_t number = 0
    if j.s.has_signs:
        check_signs(j, &j.s)
    if rest == 0:
        return
    while not rest >> number & 1:
        number += 1
    fail(&j.c, j.s.places[number], b"this instruction has no modifier % here", j.s.places[number], word_end(j.s.places[number]))


# ------------------------------------------------------------------------------------------------------------- scalar ALU
cdef void salu(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef uint32_t operands = opcode_operand_count[op]
    cdef bint tied = (opcode_flags[op] & opcode_flag_tied) != 0
    cdef bint immediate = (j.facts[op] & fact_immediate) != 0
    cdef uint32_t i, place
    cdef Operand *o
    if tied:
        operands -= 1
    if not expect_count(j, definitions + operands + immediate):
        return
    for i in range(definitions):
        o = &j.s.operands[i]
        if o.kind != operand_register:
            fail(&j.c, o.begin, b"% is not a register", o.begin, o.end)
        add_destination(j, address(j, o, definition_class(j, i)))
    for i in range(operands):
        place = 3 - i if j.facts[op] & fact_multiply_constant and i else i
        o = &j.s.operands[definitions + place]
        if opcode_flags[op] & opcode_flag_literal and i == 2:
            add_source(j, literal_operand(j, o, 32), 1)
        else:
            add_class_source(j, address(j, o, operand_class(j, i)), operand_class(j, i))
    if tied:
        add_class_source(j, j.d.destination[0], definition_class(j, 0))
    if immediate:
        o = &j.s.operands[j.s.count - 1]
        j.d.immediate = message(j, o) if j.facts[op] & fact_message else index_mode(j, o)


cdef void sopk(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t facts = j.facts[op]
    cdef Operand *first = &j.s.operands[0]
    cdef Operand *second = &j.s.operands[1]
    cdef uint16_t register
    if op == op_s_version:
        if expect_count(j, 1):
            j.d.immediate = <uint32_t>plain_number(j, first, 0, 0xffff)
        return
    if not expect_count(j, 2):
        return
    if facts & fact_setreg:
        first, second = second, first
    if op == op_s_setreg_imm32_b32:
        add_source(j, literal_operand(j, first, 32), 1)
    elif opcode_definition_count[op]:
        register = register_of(j, first, class_dwords_of(j, definition_class(j, 0)))
        add_destination(j, register)
        if opcode_flags[op] & opcode_flag_tied:
            add_source(j, register, first.dwords)
    else:
        add_source(j, register_of(j, first, class_dwords_of(j, operand_class(j, 0))), first.dwords)
    if facts & fact_waits_with_register and j.c.level >= gfx11 and first.address != register_null:
        fail(&j.c, first.begin, b"%: the register of a wait is null", first.begin, first.end)
    if facts & (fact_setreg | fact_getreg):
        j.d.immediate = hardware_register(j, second)
    elif facts & fact_branch:
        branch_target(j, second)
    else:
        j.d.immediate = <uint32_t>plain_number(j, second, 0 if compares_unsigned(op) else -0x8000, 0xffff) & 0xffff


cdef inline bint compares_unsigned(uint32_t op) noexcept nogil:
    return (op == op_s_cmpk_eq_u32 or op == op_s_cmpk_lg_u32 or op == op_s_cmpk_gt_u32 or op == op_s_cmpk_ge_u32
            or op == op_s_cmpk_lt_u32 or op == op_s_cmpk_le_u32)


cdef void sopp(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef Operand *o = &j.s.operands[0]
    if not j.facts[op] & fact_immediate or (j.s.count == 0 and j.facts[op] & fact_optional):
        expect_count(j, 0)
        return
    if not expect_count(j, 1):
        return
    if j.facts[op] & fact_branch:
        branch_target(j, o)
    elif j.facts[op] & fact_message:
        j.d.immediate = message(j, o)
    elif op == op_s_set_gpr_idx_mode:
        j.d.immediate = index_mode(j, o)
    else:
        j.d.immediate = <uint32_t>plain_number(j, o, -0x8000, 0xffff) & 0xffff


cdef void branch_target(Job *j, const Operand *o) noexcept nogil:
    """The 16-bit distance of a branch in dwords; that of a symbol is a fixup."""
    if o.kind == operand_symbol or (o.kind == operand_word and o.end > o.begin):
        j.branch_expression = o.begin
    else:
        j.d.immediate = <uint32_t>plain_number(j, o, -0x8000, 0xffff) & 0xffff


# Operands of SOPP that are lists of calls, such as ``vmcnt(0) & lgkmcnt(1)``: read from the cursor directly.
cdef bint is_call_list(Job *j, uint32_t op) noexcept nogil:
    cdef const char *p
    if op != op_s_waitcnt and op != op_s_delay_alu and op != op_s_waitcnt_depctr:
        return False
    p = word_end(j.c.p)
    while p[0] == c' ':
        p += 1
    return p[0] == c'('


cdef void call_list(Job *j) noexcept nogil:
    cdef Cursor *c = &j.c
    cdef const char *name
    cdef const char *end
    cdef uint32_t value = 0
    cdef uint32_t seen = 0
    cdef int32_t place
    cdef uint32_t op = j.d.opcode
    if op == op_s_waitcnt:
        value = wait_none(c.level)
    elif op == op_s_waitcnt_depctr:
        value = no_dependency(c.level)
    while not at_line_end(c) and not c.failed:
        name = c.p
        end = word_end(name)
        if end == name:
            fail_plain(c, c.p, b"the name of a counter is expected")
            return
        c.p = end
        expect(c, c'(')
        if op == op_s_waitcnt:
            value = wait_counter(j, name, end, value)
        elif op == op_s_delay_alu:
            value = delay_part(j, name, end, value)
        else:
            place = find_name(c.names, domain_dependency, name, <uint32_t>(end - name))
            if place >= 0 and seen >> (place & 0x1f) & 1:
                fail(c, name, b"% is named twice", name, end)
            seen |= 1U << (place & 0x1f)
            value = dependency(j, name, end, value)
        expect(c, c')')
        if c.p[0] == c'&' or c.p[0] == c'|' or c.p[0] == c',':
            c.p += 1
            skip_blanks(c)
            if at_line_end(c):
                fail_plain(c, c.p, b"the name of a counter is expected")
    j.d.immediate = value


cdef uint32_t wait_counter(Job *j, const char *name, const char *end, uint32_t value) noexcept nogil:
    cdef bint saturates = end - name > 4 and memcmp(end - 4, b"_sat", 4) == 0
    cdef int32_t index = find_name(j.c.names, domain_wait, name, <uint32_t>(end - name) - (4 if saturates else 0))
    cdef const char *begin = j.c.p
    cdef int64_t count
    cdef uint32_t limit
    if index < 0:
        fail(&j.c, name, b"no counter %", name, end)
        return value
    count = number_expression(&j.c)
    limit = wait_limit(j.c.level, <uint32_t>index)
    if saturates and count > limit:
        count = limit
    if not 0 <= count <= limit:
        fail_range(&j.c, begin, begin, j.c.p, 0, limit)
        return value
    return set_wait(value, j.c.level, <uint32_t>index, <uint32_t>count)


cdef uint32_t dependency(Job *j, const char *name, const char *end, uint32_t value) noexcept nogil:
    cdef int32_t place = find_name(j.c.names, domain_dependency, name, <uint32_t>(end - name))
    cdef const char *begin = j.c.p
    cdef int64_t count
    cdef uint32_t limit
    if place < 0:
        fail(&j.c, name, b"no counter %", name, end)
        return value
    count = number_expression(&j.c)
    limit = (1U << (place >> 8)) - 1
    if not 0 <= count <= limit:
        fail_range(&j.c, begin, begin, j.c.p, 0, limit)
        return value
    return value & ~(limit << (place & 0xff)) | <uint32_t>count << (place & 0xff)


cdef uint32_t delay_part(Job *j, const char *name, const char *end, uint32_t value) noexcept nogil:
    cdef uint32_t length = <uint32_t>(end - name)
    cdef uint32_t shift
    cdef int32_t number
    cdef const char *word = j.c.p
    if length == 7 and memcmp(name, b"instid0", 7) == 0:
        shift = 0
    elif length == 8 and memcmp(name, b"instskip", 8) == 0:
        shift = 4
    elif length == 7 and memcmp(name, b"instid1", 7) == 0:
        shift = 7
    else:
        fail(&j.c, name, b"% is not a part of s_delay_alu", name, end)
        return value
    j.c.p = word_end(word)
    number = find_name(j.c.names, domain_skip if shift == 4 else domain_delay, word, <uint32_t>(j.c.p - word))
    if number < 0:
        fail(&j.c, word, b"no such dependency: %", word, j.c.p)
        return value
    return value | <uint32_t>number << shift


cdef bint enter_call(Job *j, const Operand *o, const char *name, Cursor *inside) noexcept nogil:
    """A cursor behind ``name(`` of an operand that has to be such a call."""
    cdef size_t length = strlen(name)
    inside[0] = j.c
    if o.kind != operand_call or memcmp(o.inner, name, length) != 0 or word_end(o.inner) - o.inner != <long>length:
        fail(&j.c, o.begin, b"% is not what belongs here", o.begin, o.end)
        return False
    inside.p = o.inner + length
    return accept(inside, c'(')


cdef void leave_call(Job *j, Cursor *inside) noexcept nogil:
    expect(inside, c')')
    if inside.failed and not j.c.failed:
        j.c.failed = True
        j.c.failed_at = inside.failed_at
        memcpy(j.c.message, inside.message, message_limit)


cdef uint32_t message(Job *j, const Operand *o) noexcept nogil:
    cdef Cursor inside
    cdef int64_t number, operation = 0, stream = 0
    cdef uint32_t parts = 1
    cdef bint named
    if o.kind != operand_call:
        return <uint32_t>plain_number(j, o, -0x8000, 0xffff) & 0xffff
    if not enter_call(j, o, b"sendmsg", &inside):
        return 0
    named = inside.p[0] > c'9'
    number = name_or_number(&inside, domain_message)
    if accept(&inside, c','):
        parts = 2
        operation = name_or_number(&inside, domain_system_operation if number == 15 and j.c.level < gfx11 else domain_gs_operation)
        if accept(&inside, c','):
            parts = 3
            stream = number_expression(&inside)
    if not inside.failed:
        check_message(j, o, number, operation, stream, parts if named else 0)
    leave_call(j, &inside)
    return <uint32_t>(number | operation << 4 | stream << 8) & 0xffff


cdef void check_message(Job *j, const Operand *o, int64_t number, int64_t operation, int64_t stream, uint32_t parts) noexcept nogil:
    """Ranges, and of messages with a name (`parts` not 0) which operations and streams they have."""
    cdef bint geometry = j.c.level < gfx11 and (number == 2 or number == 3)
    cdef bint system = j.c.level < gfx11 and number == 15
    if not 0 <= number <= (255 if j.c.level >= gfx11 else 15):
        fail(&j.c, o.begin, b"%: no such message", o.begin, o.end)
    elif not 0 <= operation <= 7:
        fail(&j.c, o.begin, b"%: an operation is from 0 to 7", o.begin, o.end)
    elif not 0 <= stream <= 3:
        fail(&j.c, o.begin, b"%: a stream is from 0 to 3", o.begin, o.end)
    elif parts == 0:
        return
    elif not geometry and not system:
        if parts > 1:
            fail(&j.c, o.begin, b"%: this message has no operations", o.begin, o.end)
    elif parts == 1:
        fail(&j.c, o.begin, b"%: this message needs an operation", o.begin, o.end)
    elif system:
        if parts == 3:
            fail(&j.c, o.begin, b"%: this message has no streams", o.begin, o.end)
        elif not 1 <= operation <= 4 or (operation == 3 and j.c.level >= gfx9):
            fail(&j.c, o.begin, b"%: no such operation", o.begin, o.end)
    elif operation > 3 or (operation == 0 and number == 2):
        fail(&j.c, o.begin, b"%: no such operation", o.begin, o.end)
    elif operation == 0 and parts == 3:
        fail(&j.c, o.begin, b"%: this operation has no streams", o.begin, o.end)


cdef uint32_t index_mode(Job *j, const Operand *o) noexcept nogil:
    cdef Cursor inside
    cdef uint32_t mode = 0, bit
    if o.kind != operand_call:
        return <uint32_t>plain_number(j, o, 0, 15)
    if not enter_call(j, o, b"gpr_idx", &inside):
        return 0
    while inside.p[0] != c')' and not inside.failed:
        bit = 1U << (<uint32_t>name_or_number(&inside, domain_index_mode) & 15)
        if mode & bit:
            fail_plain(&inside, inside.p, b"a mode is named twice")
        mode |= bit
        if not accept(&inside, c','):
            break
    leave_call(j, &inside)
    return mode & 15


cdef uint32_t hardware_register(Job *j, const Operand *o) noexcept nogil:
    cdef Cursor inside
    cdef int64_t number, offset = 0, size = 32
    if o.kind != operand_call:
        return <uint32_t>plain_number(j, o, -0x8000, 0xffff) & 0xffff
    if o.inner[0] == c'{':
        return register_structure(j, o)
    if not enter_call(j, o, b"hwreg", &inside):
        return 0
    number = name_or_number(&inside, domain_hardware_register)
    if accept(&inside, c','):
        offset = number_expression(&inside)
        expect(&inside, c',')
        size = number_expression(&inside)
    if not inside.failed and not (0 <= number < 64 and 0 <= offset < 32 and 1 <= size <= 32):
        fail(&j.c, o.begin, b"%: a field of a hardware register is out of range", o.begin, o.end)
    leave_call(j, &inside)
    return <uint32_t>(number | offset << 6 | (size - 1) << 11)


cdef uint32_t register_structure(Job *j, const Operand *o) noexcept nogil:
    """``{id: 1, offset: 0, size: 32}``, in any order."""
    cdef Cursor inside = j.c
    cdef int64_t number = 0, offset = 0, size = 32
    cdef uint32_t seen = 0
    cdef const char *name
    inside.p = o.inner
    expect(&inside, c'{')
    while not inside.failed and inside.p[0] != c'}':
        name = inside.p
        if seen >> (name[0] & 31) & 1:
            fail_plain(&inside, name, b"a field is named twice")
        seen |= 1U << (name[0] & 31)
        inside.p = word_end(name)
        expect(&inside, c':')
        if name[0] == c'i':
            number = name_or_number(&inside, domain_hardware_register)
        elif name[0] == c'o':
            offset = number_expression(&inside)
        elif name[0] == c's':
            size = number_expression(&inside)
        else:
            fail_plain(&inside, name, b"id, offset or size is expected")
        if not accept(&inside, c','):
            break
    expect(&inside, c'}')
    if not inside.failed and not (0 <= number < 64 and 0 <= offset < 32 and 1 <= size <= 32):
        fail(&j.c, o.begin, b"%: a field of a hardware register is out of range", o.begin, o.end)
    if inside.failed and not j.c.failed:
        j.c.failed = True
        j.c.failed_at = inside.failed_at
        memcpy(j.c.message, inside.message, message_limit)
    return <uint32_t>(number | offset << 6 | (size - 1) << 11)


# ---------------------------------------------------------------------------------------------------------- scalar memory
cdef void smem(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef Operand *o = &j.s.operands[0]
    cdef int64_t data = -1
    cdef uint32_t dwords = 1
    if j.facts[op] & fact_prefetch:
        prefetch(j)
        return
    if opcode_operand_count[op] == 0:
        if expect_count(j, definitions) and definitions:
            add_destination(j, register_of(j, o, class_dwords_of(j, definition_class(j, 0))))
        return
    if op == op_s_dcache_discard or op == op_s_dcache_discard_x2:
        if not expect_count(j, 2):
            return
        data = 0
    else:
        if j.s.count != 2 and not expect_count(j, 3):
            return
        if op == op_s_atc_probe or op == op_s_atc_probe_buffer:
            data = plain_number(j, o, 0, 127) * 4
            if j.c.level >= gfx11 and (data == 124 * 4 or data == 125 * 4):
                data ^= 4
        elif definitions:
            add_destination(j, register_of(j, o, class_dwords_of(j, definition_class(j, 0))))
        else:
            dwords = class_dwords_of(j, operand_class(j, 2))
            data = register_of(j, o, dwords)
        o += 1
    add_source(j, register_of(j, o, class_dwords_of(j, operand_class(j, 0))), class_dwords_of(j, operand_class(j, 0)))
    if o + 1 < &j.s.operands[j.s.count]:
        scalar_offset(j, o + 1)
    else:
        add_source(j, register_none, 1)
    if data >= 0:
        add_source(j, <uint16_t>data, dwords)
    cache_policy(j)
    if is_atomic(op) and returns(j) and definitions == 0:
        add_destination(j, j.d.source[2])


cdef void scalar_offset(Job *j, const Operand *o) noexcept nogil:
    """An immediate, a register, or a register and ``offset:``; GFX6 and GFX7 count dwords."""
    cdef bint both = given(j, given_offset)
    # buffers have no negative offsets
    cdef int64_t lowest = 0 if operand_class(j, 0) == 4 else -(1 << 23)
    cdef int64_t offset = ranged(j, given_offset, lowest, (1 << 23) - 1, 0)
    cdef uint16_t register
    if operand_integer == o.kind:
        if both:
            fail_plain(&j.c, o.begin, b"two immediate offsets")
        if j.c.level < gfx8:
            if not 0 <= o.integer <= 0xffffffffLL:
                fail_range(&j.c, o.begin, o.begin, o.end, 0, 0xffffffffLL)
            offset = o.integer * 4
            if o.integer > 255 and j.c.level >= gfx7:
                j.d.literal = <uint32_t>o.integer
                j.d.has_literal = 1
        else:
            if not lowest <= o.integer < 1 << 23:
                fail_range(&j.c, o.begin, o.begin, o.end, lowest, (1 << 23) - 1)
            offset = o.integer
        j.d.immediate = <uint32_t>offset
        add_source(j, register_none, 1)
        return
    register = register_of(j, o, 1)
    if register >= 128 * 4:
        fail(&j.c, o.begin, b"% is not an offset", o.begin, o.end)
    j.d.immediate = <uint32_t>offset
    if both and offset == 0 and gfx9 <= j.c.level < gfx10:
        # an immediate of zero is encoded all the same
        j.d.modifiers = modifier_set_offen(j.d.modifiers, 1)
    add_source(j, <uint16_t>register_none if register == register_null else register, 1)


cdef void prefetch(Job *j) noexcept nogil:
    cdef bint relative = j.d.opcode == op_s_prefetch_inst_pc_rel or j.d.opcode == op_s_prefetch_data_pc_rel
    cdef Operand *o = &j.s.operands[0]
    cdef uint16_t register
    if not expect_count(j, 3 if relative else 4):
        return
    if relative:
        add_source(j, register_none, 2)
    else:
        add_source(j, register_of(j, o, class_dwords_of(j, operand_class(j, 0))), class_dwords_of(j, operand_class(j, 0)))
        o += 1
    j.d.immediate = <uint32_t>plain_number(j, o, -(1 << 23), (1 << 23) - 1)
    register = register_of(j, o + 1, 1)
    add_source(j, <uint16_t>register_none if register == register_null else register, 1)
    add_source(j, <uint16_t>(plain_number(j, o + 2, 0, 127) * 4), 1)


cdef uint32_t policy_domain(const Job *j) noexcept nogil:
    if is_atomic(j.d.opcode):
        return domain_hint_atomic
    return domain_hint_load if j.facts[j.d.opcode] & fact_loads else domain_hint_store


cdef void cache_policy(Job *j) noexcept nogil:
    """Cache policy modifiers."""
    cdef uint64_t m = j.d.modifiers
    cdef const char *begin
    cdef int32_t hint
    if gfx942 <= j.c.level < gfx10 and j.d.format != format_smem:
        m = modifier_set_cache_glc(m, flag(j, given_sc0))
        m = modifier_set_cache_slc(m, flag(j, given_nt))
        j.d.modifiers = modifier_set_cache_sc1(m, flag(j, given_sc1))
        return
    if j.c.level < gfx12 and j.d.format == format_smem:
        # GFX6 and GFX7 have no policy here, and nobody has slc
        if j.c.level >= gfx8:
            m = modifier_set_cache_glc(m, flag(j, given_glc))
        if j.c.level >= gfx10:
            m = modifier_set_cache_dlc(m, flag(j, given_dlc))
        j.d.modifiers = m
        return
    if j.c.level < gfx12:
        m = modifier_set_cache_glc(m, flag(j, given_glc))
        m = modifier_set_cache_slc(m, flag(j, given_slc))
        if gfx90a <= j.c.level < gfx942:
            m = modifier_set_cache_sc1(m, flag(j, given_scc))
        if j.c.level >= gfx10:
            m = modifier_set_cache_dlc(m, flag(j, given_dlc))
        j.d.modifiers = m
        return
    m = modifier_set_cache_scope(m, <uint64_t>ranged(j, given_scope, 0, 3, 0))
    if given(j, given_th):
        taken(j, given_th, 0)
        begin = j.s.value_places[given_th]
        hint = find_name(j.c.names, policy_domain(j), begin, <uint32_t>(word_end(begin) - begin))
        if hint < 0:
            fail(&j.c, j.s.places[given_th], b"no such temporal hint here: %", begin, word_end(begin))
        m = modifier_set_cache_temporal_hint(m, <uint64_t>hint & 7)
        check_hint(j, <uint32_t>hint, modifier_cache_scope(m))
    j.d.modifiers = m


cdef void check_hint(Job *j, uint32_t hint, uint32_t scope) noexcept nogil:
    """Temporal hints that go with some scopes alone ("RDNA 4 ISA", cache policies)."""
    cdef const char *begin = j.s.value_places[given_th]
    cdef const char *end = word_end(begin)
    cdef bint bypass = end - begin > 7 and memcmp(end - 6, b"BYPASS", 6) == 0
    if j.d.format == format_smem and hint > 3:
        fail(&j.c, begin, b"% is no hint of scalar memory", begin, end)
    elif is_atomic(j.d.opcode):
        if hint >= 4 and scope < 2:
            fail(&j.c, begin, b"% goes with SCOPE_DEV or SCOPE_SYS", begin, end)
        elif hint == 3 and scope == 3:
            fail(&j.c, begin, b"% does not go with SCOPE_SYS", begin, end)
    elif hint == 3 and bypass != (scope == 3):
        fail(&j.c, begin, b"BYPASS goes with SCOPE_SYS, and SCOPE_SYS with no other hint of this number: %", begin, end)


cdef inline bint returns(const Job *j) noexcept nogil:
    """Whether an atomic gives the value from before."""
    if j.c.level >= gfx12:
        return modifier_cache_temporal_hint(j.d.modifiers) & 1
    return modifier_cache_glc(j.d.modifiers)


# ------------------------------------------------------------------------------------------------------------- vector ALU
cdef uint32_t lanes_format(Job *j) noexcept nogil:
    if j.suffix == suffix_e32 or j.suffix == suffix_e64:
        return 0
    if given(j, given_dpp8):
        return format_dpp8
    if given(j, given_quad_perm) or given(j, given_dpp_ctrl):
        return format_dpp16
    if j.suffix == suffix_dpp or j.suffix == suffix_e64_dpp:
        fail_plain(&j.c, j.s.mnemonic, b"this encoding needs dpp8, quad_perm or another lane control")
    return 0


cdef int encode_job(Job *j) noexcept nogil:
    """Words of the instruction; 0 and an error if there are none."""
    cdef int length = encode(&j.d, j.c.level, j.words)
    cdef const char *error
    if length > 0 and not scalar_reads_fit(&j.d, j.c.level):
        length = encode_bad_bus
    if length < 0:
        error = encode_error(length)
    else:
        error = form_error(&j.d, j.c.level, j.c.level >= gfx11)
    if error != NULL:
        fail_plain(&j.c, j.s.mnemonic, error)
        return 0
    return length


cdef void clear_instruction(Job *j, uint16_t opcode, uint32_t format) noexcept nogil:
    j.d.opcode = opcode
    j.d.format = <uint16_t>format
    j.d.source_count = 0
    j.d.destination_count = 0
    j.d.has_literal = 0
    j.d.literal = 0
    j.d.immediate = 0
    j.d.modifiers = 0
    j.literal_expression = NULL
    j.branch_expression = NULL


cdef bint selects_parts(const Job *j) noexcept nogil:
    """Whether the modifiers are those of SDWA."""
    cdef uint32_t i
    if given(j, given_src0_sel) or given(j, given_src1_sel) or given(j, given_dst_sel) or given(j, given_dst_unused):
        return True
    for i in range(j.s.count):
        if j.s.operands[i].sign_extended:
            return True
    return False


cdef int vop(Job *j, uint16_t op) noexcept nogil:
    """Words of a vector instruction in the first form that can hold it."""
    cdef uint32_t short_format = j.short_formats[op]
    cdef uint32_t lanes = lanes_format(j)
    cdef uint32_t forms[2]
    cdef uint32_t count = 0
    cdef uint32_t i
    cdef int length
    if j.c.failed:
        return 0
    if j.suffix == suffix_sdwa or (j.suffix == 0 and selects_parts(j)):
        if short_format:
            forms[count] = short_format | format_sdwa
            count += 1
    else:
        if short_format and (j.suffix == 0 or j.suffix == suffix_e32 or j.suffix == suffix_dpp):
            forms[count] = short_format | lanes
            count += 1
        if (j.suffix == 0 or j.suffix == suffix_e64 or j.suffix == suffix_e64_dpp) and not opcode_flags[op] & opcode_flag_literal:
            forms[count] = (short_format | format_vop3 if short_format else opcode_format[op]) | lanes
            count += 1
    if count == 0:
        fail(&j.c, j.s.mnemonic, b"% has no such encoding", j.s.mnemonic, j.s.mnemonic + j.s.mnemonic_length)
        return 0
    for i in range(count):
        j.c.failed = False
        clear_instruction(j, op, forms[i])
        give_back(j)
        vop_fields(j)
        if not j.c.failed:
            finish(j)
        if j.c.failed:
            continue
        length = encode_job(j)
        if length:
            return length
    return 0


cdef void vop_fields(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t facts = j.facts[op]
    cdef uint32_t flags = opcode_flags[op]
    cdef uint32_t format = j.d.format
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef uint32_t operands = opcode_operand_count[op]
    cdef uint32_t neg = 0, magnitude = 0, opsel = 0
    cdef uint32_t i, place
    cdef uint16_t where
    cdef uint8_t kind
    cdef Operand *o
    if facts & fact_cmpx and j.c.level >= gfx10:
        definitions = 0
        add_destination(j, register_exec)
    if flags & opcode_flag_tied or facts & fact_swaps:
        operands -= 1
    if facts & fact_swaps:
        definitions = 1
    if not expect_count(j, definitions + operands):
        return
    opsel = destination_fields(j, definitions)
    for i in range(operands):
        place = 3 - i if facts & fact_multiply_constant and i else i
        o = &j.s.operands[definitions + place]
        kind = operand_class(j, i)
        if o.kind != operand_register and (op == op_v_readfirstlane_b32 or (format & format_vop3 and kind & 0x20 and class_dwords_of(j, kind) > 2)):
            fail_plain(&j.c, o.begin, b"a vector register is expected")
        if flags & opcode_flag_literal and i == 2:
            add_source(j, literal_operand(j, o, constant_bits(j, kind)), 1)
            continue
        where = address(j, o, kind)
        if o.half == 1:
            where += 2
            opsel |= 1U << i
        check_source(j, o, kind, i, where)
        neg |= negation(j, o) << i
        magnitude |= magnitude_of(j, o) << i
        if extension(j, o):
            if not format & format_sdwa or i > 1:
                fail_plain(&j.c, o.begin, b"sext is an SDWA modifier")
            if i == 0:
                j.d.modifiers = modifier_set_sdwa_sel0(j.d.modifiers, 0x10)
            else:
                j.d.modifiers = modifier_set_sdwa_sel1(j.d.modifiers, 0x10)
        add_class_source(j, where, kind)
    if (neg or magnitude) and not format & (format_vop3 | format_sdwa | format_dpp16):
        fail_plain(&j.c, j.s.mnemonic, b"source modifiers need VOP3, SDWA or DPP")
    if flags & opcode_flag_tied or facts & fact_swaps:
        add_source(j, j.d.destination[0], 1)
    if facts & fact_swaps:
        add_destination(j, j.d.source[0])
    j.d.modifiers = modifier_set_neg(j.d.modifiers, neg)
    j.d.modifiers = modifier_set_abs(j.d.modifiers, magnitude)
    vop_modifiers(j, opsel, operands)


cdef uint32_t destination_fields(Job *j, uint32_t definitions) noexcept nogil:
    """Fill the destinations; returns the op_sel bit of a high half."""
    cdef uint32_t opsel = 0
    cdef uint32_t format = j.d.format
    cdef uint32_t i
    cdef uint16_t where
    cdef uint8_t kind
    cdef Operand *o
    for i in range(definitions):
        o = &j.s.operands[i]
        kind = definition_class(j, i)
        if o.kind != operand_register:
            fail(&j.c, o.begin, b"% is not a register", o.begin, o.end)
            return 0
        where = address(j, o, kind)
        if (where >= register_vgpr0) != (kind != opcode_mask_class and (kind & 0x20) != 0):
            fail(&j.c, o.begin, b"% is the wrong kind of register for a result", o.begin, o.end)
        if kind == opcode_mask_class and where != register_vcc and not format & format_vop3 \
                and not (format & format_sdwa and format & format_vopc and j.c.level >= gfx9):
            fail(&j.c, o.begin, b"%: this encoding writes vcc", o.begin, o.end)
        if o.half == 1 and i == 0:
            where += 2 if kind == 0x62 else 0
            opsel |= 8
        add_destination(j, where)
    return opsel


cdef void check_source(Job *j, const Operand *o, uint8_t kind, uint32_t position, uint16_t where) noexcept nogil:
    """Rules of the one-dword encodings that the encoder cannot see."""
    if j.d.format & format_vop3 or not j.d.format & valu_one_dword:
        return
    if kind == opcode_mask_class:
        if where != register_vcc:
            fail_plain(&j.c, o.begin, b"this encoding reads vcc")
    elif position == 1 and where < register_vgpr0 and not j.d.format & format_sdwa and kind & 0x20:
        fail_plain(&j.c, o.begin, b"the second source of this encoding is a VGPR")


cdef uint64_t output_modifiers(Job *j, uint64_t m) noexcept nogil:
    """The modifiers with clamp, mul and div."""
    cdef int64_t factor
    cdef uint32_t i
    if given(j, given_clamp) and not form_has_clamp(&j.d, j.c.level):
        fail_plain(&j.c, j.s.places[given_clamp], b"this encoding has no clamp")
    if given(j, given_mul) or given(j, given_div):
        i = given_mul if given(j, given_mul) else given_div
        if not form_has_omod(&j.d, j.c.level):
            fail_plain(&j.c, j.s.places[i], b"this encoding has no output modifier")
    if given(j, given_mul) and given(j, given_div):
        fail_plain(&j.c, j.s.places[given_div], b"there is one output modifier, mul or div")
    if flag(j, given_clamp):
        m = modifier_set_clamp(m, 1)
    if given(j, given_mul):
        factor = taken(j, given_mul, 0)
        if factor != 2 and factor != 4 and factor != 1:
            fail_plain(&j.c, j.s.places[given_mul], b"output modifiers are mul:2, mul:4 and div:2")
        m = modifier_set_omod(m, <uint64_t>(factor >> 1) & 3)
    if given(j, given_div):
        factor = taken(j, given_div, 0)
        if factor != 2 and factor != 1:
            fail_plain(&j.c, j.s.places[given_div], b"output modifiers are mul:2, mul:4 and div:2")
        m = modifier_set_omod(m, 3 if factor == 2 else 0)
    return m


cdef inline uint32_t halves_count(const Job *j, uint32_t operands) noexcept nogil:
    """Bits that op_sel may have."""
    if j.facts[j.d.opcode] & fact_writes_byte:
        return 4
    return operands + (opcode_definition_count[j.d.opcode] != 0 and definition_class(j, 0) != opcode_mask_class)


cdef void check_halves(Job *j, uint32_t opsel, uint32_t operands) noexcept nogil:
    """Whether `opsel`, as op_sel gives it, says of each half that has a name what the name says."""
    cdef uint32_t definitions = j.s.count - operands
    cdef uint32_t i, bit
    for i in range(j.s.count):
        bit = 3 if i < definitions else i - definitions
        if j.s.operands[i].half >= 0 and <int>(opsel >> bit & 1) != j.s.operands[i].half:
            fail(&j.c, j.s.places[given_op_sel], b"op_sel and % name different halves", j.s.operands[i].begin, j.s.operands[i].end)


cdef uint32_t given_halves(Job *j, uint32_t operands) noexcept nogil:
    """The op_sel bits that modifiers give."""
    cdef uint32_t opsel = 0
    cdef uint32_t bits, count
    if given(j, given_op_sel):
        bits = <uint32_t>taken(j, given_op_sel, 0)
        count = bits >> 8
        bits &= 0xff
        if not j.d.format & format_vop3:
            fail_plain(&j.c, j.s.places[given_op_sel], b"op_sel needs VOP3")
        if j.facts[j.d.opcode] & fact_opsel_lanes and bits > 3:
            fail_plain(&j.c, j.s.places[given_op_sel], b"op_sel has two bits here, fi and bound_ctrl")
        if opcode_flags[j.d.opcode] & opcode_flag_tied and count == operands + 2:
            # behind the bits of the sources, one for the source that is the result
            bits = bits & ((1U << operands) - 1) | bits >> (operands + 1) << operands
            count -= 1
        if bits >> halves_count(j, operands) and not opcode_flags[j.d.opcode] & opcode_flag_interpolation:
            fail_plain(&j.c, j.s.places[given_op_sel], b"op_sel has a bit for which there is no operand")
        # behind the bits of the sources comes that of the result
        if opcode_flags[j.d.opcode] & opcode_flag_interpolation or (j.c.level < gfx10 and j.facts[j.d.opcode] & fact_writes_byte):
            opsel |= bits
        elif count > operands and opcode_definition_count[j.d.opcode]:
            opsel |= bits & ((1U << operands) - 1) | (bits >> operands & 1) << 3
        else:
            opsel |= bits
        check_halves(j, opsel, operands)
    if given(j, given_byte_sel):
        opsel |= byte_selection(j)
    return opsel


cdef void vop_modifiers(Job *j, uint32_t opsel, uint32_t operands) noexcept nogil:
    cdef uint64_t m = j.d.modifiers
    cdef uint32_t bits
    if j.s.given:
        m = output_modifiers(j, m)
        opsel |= given_halves(j, operands)
    m = modifier_set_opsel(m, opsel)
    if j.d.opcode == op_v_bitop3_b32 or j.d.opcode == op_v_bitop3_b16:
        # the truth table lies where other instructions have neg, abs and omod
        if modifier_neg(m) or modifier_abs(m) or modifier_omod(m):
            fail_plain(&j.c, j.s.mnemonic, b"this instruction takes no sign and no output modifiers")
        bits = <uint32_t>ranged(j, given_bitop3, 0, 255, 0)
        m = modifier_set_omod(modifier_set_abs(modifier_set_neg(m, bits & 7), bits >> 3 & 7), bits >> 6)
    elif (j.d.opcode == op_v_permlane16_swap_b32 or j.d.opcode == op_v_permlane32_swap_b32) and j.d.format & format_vop3:
        bits = <uint32_t>ranged(j, given_fi, 0, 1, 0) | <uint32_t>ranged(j, given_bound_ctrl, 0, 1, 0) << 1
        m = modifier_set_opsel(m, bits)
    j.d.modifiers = m
    if j.d.format & format_sdwa:
        sdwa(j)
    lanes(j)


cdef uint32_t byte_selection(Job *j) noexcept nogil:
    """``byte_sel`` of conversions from and to 8-bit floats on GFX12: op_sel bits 1 and 0, or 2 and 3 where it is the result's."""
    cdef uint32_t byte = <uint32_t>ranged(j, given_byte_sel, 0, 3, 0)
    if not j.facts[j.d.opcode] & fact_opsel_other or not j.d.format & format_vop3 or j.c.level < gfx12:
        fail_plain(&j.c, j.s.places[given_byte_sel], b"this instruction has no modifier byte_sel here")
    if opcode_operand_count[j.d.opcode] > 1:
        return byte << 2
    return byte >> 1 | (byte & 1) << 1


cdef inline bint converts_byte(uint32_t opcode) noexcept nogil:
    """These have no selection of the result, which they write whole."""
    return (opcode == op_v_cvt_f32_fp8 or opcode == op_v_cvt_f32_bf8 or opcode == op_v_cvt_pk_f32_fp8
            or opcode == op_v_cvt_pk_f32_bf8)


cdef void sdwa(Job *j) noexcept nogil:
    cdef uint64_t m = j.d.modifiers
    cdef uint32_t dst = <uint32_t>taken(j, given_dst_sel, 2)
    cdef int64_t unused
    m = modifier_set_sdwa_sel0(m, modifier_sdwa_sel0(m) & 0x10 | <uint64_t>taken(j, given_src0_sel, 2))
    if j.d.format & format_vop1 and given(j, given_src1_sel):
        fail_plain(&j.c, j.s.places[given_src1_sel], b"there is no second source")
    if (j.d.format & format_vopc or j.d.destination_count == 0) and (given(j, given_dst_sel) or given(j, given_dst_unused)):
        fail_plain(&j.c, j.s.mnemonic, b"this instruction has no result whose part could be selected")
    m = modifier_set_sdwa_sel1(m, modifier_sdwa_sel1(m) & 0x10 | <uint64_t>taken(j, given_src1_sel, 2))
    # what is not written stays as it is unless text says otherwise
    unused = taken(j, given_dst_unused, 0 if converts_byte(j.d.opcode) else 2)
    if unused == 2:
        dst |= 0x10
    m = modifier_set_sdwa_dst_sext(m, unused == 1)
    if j.d.format & format_vopc or j.d.destination_count == 0:
        dst = 0
    if j.d.format & format_vop1:
        m = modifier_set_sdwa_sel1(m, 0)
    j.d.modifiers = modifier_set_sdwa_dst_sel(m, dst)


cdef void lanes(Job *j) noexcept nogil:
    cdef uint64_t m = j.d.modifiers
    if j.d.format & format_dpp8:
        m = modifier_set_dpp8_lane_sel(m, <uint64_t>taken(j, given_dpp8, 0))
        m = modifier_set_dpp8_fetch_inactive(m, <uint64_t>ranged(j, given_fi, 0, 1, 0))
    elif j.d.format & format_dpp16:
        # without a control all lanes stay where they are
        m = modifier_set_dpp_ctrl(m, <uint64_t>(taken(j, given_dpp_ctrl, 0) if given(j, given_dpp_ctrl)
                                                else taken(j, given_quad_perm, 0xe4)))
        m = modifier_set_dpp_row_mask(m, <uint64_t>ranged(j, given_row_mask, 0, 15, 15))
        m = modifier_set_dpp_bank_mask(m, <uint64_t>ranged(j, given_bank_mask, 0, 15, 15))
        # bound_ctrl:0 is an old spelling of 1
        if ranged(j, given_bound_ctrl, 0, 1, 0) or (given(j, given_bound_ctrl) and j.c.level < gfx11):
            m = modifier_set_dpp_bound_ctrl(m, 1)
        m = modifier_set_dpp_fetch_inactive(m, <uint64_t>ranged(j, given_fi, 0, 1, 0))
    j.d.modifiers = m


cdef void vop3p(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef bint tied = (opcode_flags[op] & opcode_flag_tied) != 0
    cdef uint32_t operands = opcode_operand_count[op] - tied
    cdef bint mixes = (j.facts[op] & fact_mixes) != 0
    cdef uint32_t neg = 0, high = 0, default, bits, i
    cdef uint64_t m
    cdef Operand *o
    cdef uint32_t definitions = opcode_definition_count[op]
    if opcode_flags[op] & opcode_flag_matrix:
        matrix(j)
        return
    if not expect_count(j, definitions + operands):
        return
    j.d.format |= lanes_format(j)
    if definitions:
        o = &j.s.operands[0]
        add_destination(j, register_of(j, o, wave_dwords(j.facts[op], j.c.level, j.c.wave_dwords, 3, class_dwords_of(j, definition_class(j, 0)))))
    for i in range(operands):
        o = &j.s.operands[definitions + i]
        if j.facts[op] & fact_wave_matrix and o.kind == operand_register:
            add_class_source(j, register_of(j, o, wave_dwords(j.facts[op], j.c.level, j.c.wave_dwords, i, class_dwords_of(j, operand_class(j, i)))),
                             operand_class(j, i))
        else:
            add_class_source(j, address(j, o, operand_class(j, i)), operand_class(j, i))
        if mixes:
            neg |= negation(j, o) << i
            high |= magnitude_of(j, o) << i
    if tied:
        add_class_source(j, j.d.destination[0], definition_class(j, 0))
    if not mixes:
        neg, high = bit_list(j, given_neg_lo, 3 if j.signed_alias else 0), bit_list(j, given_neg_hi, 0)
    m = modifier_set_neg(j.d.modifiers, neg)
    m = modifier_set_neg_hi(m, high)
    if j.facts[op] & fact_wave_matrix and j.c.level >= gfx12 and (given(j, given_op_sel) or given(j, given_op_sel_hi)):
        # bits of it are index_key
        fail_plain(&j.c, j.s.mnemonic, b"matrix operations take no op_sel on this target")
    if given(j, given_index_key) and j.facts[op] & fact_wave_matrix:
        m = modifier_set_opsel(m, <uint64_t>ranged(j, given_index_key, 0, index_limit(op, j.c.wave_dwords), 0))
    else:
        m = modifier_set_opsel(m, bit_list(j, given_op_sel, 0))
    default = 0 if mixes else (1U << operands) - 1
    bits = bit_list(j, given_op_sel_hi, default)
    if not mixes:
        bits |= 7 & ~((1U << operands) - 1)
    m = modifier_set_opsel_hi(m, bits)
    m = modifier_set_clamp(m, flag(j, given_clamp))
    j.d.modifiers = m
    lanes(j)


# ------------------------------------------------------------------------------------------------ matrix operations of CDNA
cdef uint32_t element_dwords(uint32_t type_code) noexcept nogil:
    """Registers of A or B of f8f6f4: elements of 8 (0, 1), 6 (2, 3) or 4 bits (4)."""
    if type_code == 2 or type_code == 3:
        return 6
    return 4 if type_code == 4 else 8


cdef void matrix(Job *j) noexcept nogil:
    """D, A, B, C (of sparse operations an index), and the scales of scaled ones."""
    cdef uint32_t op = j.d.opcode
    cdef uint32_t operands = opcode_operand_count[op]
    cdef bint sparse = (opcode_flags[op] & opcode_flag_tied) != 0
    cdef bint scaled = operands == 5
    cdef bint typed = (j.facts[op] & fact_typed_matrix) != 0
    cdef uint32_t i, dwords
    cdef uint32_t types[2]
    cdef uint64_t m = 0
    cdef Operand *o
    if sparse:
        operands -= 1
    if not expect_count(j, 1 + operands):
        return
    types[0] = <uint32_t>ranged(j, given_cbsz, 0, 7, 0)
    types[1] = <uint32_t>ranged(j, given_blgp, 0, 7, 0)
    m = modifier_set_blgp(modifier_set_cbsz(m, types[0]), types[1])
    if not typed:
        m = modifier_set_abid(m, <uint64_t>ranged(j, given_abid, 0, 15, 0))
    if given(j, given_neg) and j.facts[op] & fact_double_matrix:
        m = modifier_set_blgp(m, bit_list(j, given_neg, 0) & 7)
    if scaled:
        m = modifier_set_opsel(m, bit_list(j, given_op_sel, 0) & 3)
        m = modifier_set_opsel_hi(m, bit_list(j, given_op_sel_hi, 0) & 3)
    j.d.modifiers = m
    dwords = class_dwords_of(j, definition_class(j, 0))
    add_destination(j, register_of(j, &j.s.operands[0], dwords))
    for i in range(2):
        dwords = element_dwords(types[i]) if typed else class_dwords_of(j, operand_class(j, i))
        add_source(j, register_of(j, &j.s.operands[1 + i], dwords), dwords)
    o = &j.s.operands[3]
    if not operand_integer <= o.kind <= operand_symbol:
        dwords = class_dwords_of(j, operand_class(j, 2))
        add_source(j, register_of(j, o, dwords), dwords)
    else:
        add_source(j, constant(j, o, 64 if j.facts[op] & fact_double_matrix else 32, True), 1)
        if j.d.has_literal:
            fail(&j.c, o.begin, b"% is no inline constant", o.begin, o.end)
    if sparse:
        add_source(j, j.d.destination[0], 1)
    for i in range(3, operands):
        add_source(j, vector_register(j, &j.s.operands[1 + i], 1), 1)


# ------------------------------------------------------------------------------------------------------------------- VOPD
cdef void vopd_half(Job *j, uint16_t opcode, Statement *s) noexcept nogil:
    cdef bint multiply = opcode == op_v_dual_fmamk_f32
    cdef bint literal = multiply or opcode == op_v_dual_fmaak_f32
    cdef uint32_t sources = 1 if opcode == op_v_dual_mov_b32 else 3 if literal else 2
    cdef uint32_t count = s.count
    cdef char text[64]
    j.d.opcode = opcode
    if opcode == op_v_dual_cndmask_b32 and count == 4 and s.operands[3].address == register_vcc:
        count = 3
    if count != 1 + sources:
        snprintf(text, 64, b"%% takes %u operands, not %u", 1 + sources, count)
        fail(&j.c, s.mnemonic, text, s.mnemonic, s.mnemonic + s.mnemonic_length)
        return
    add_destination(j, vector_register(j, &s.operands[0], 1))
    add_source(j, dual_source(j, &s.operands[1]), 1)
    if literal:
        literal_operand(j, &s.operands[2 if multiply else 3], 32)
    add_source(j, dual_source(j, &s.operands[3 if multiply else 2]) if sources > 1 else <uint16_t>register_none, 1)
    if s.given:
        fail_plain(&j.c, s.mnemonic, b"halves of dual instructions take no modifiers")
    check_signs(j, s)


cdef uint16_t dual_source(Job *j, const Operand *o) noexcept nogil:
    if operand_integer <= o.kind <= operand_symbol:
        return constant(j, o, 16 if j.facts[j.d.opcode] & (fact_packed | fact_bfloat) else 32, True)
    return register_of(j, o, 1)


cdef void parse_second(Job *j) noexcept nogil:
    """The second half of a dual instruction, behind ``::``."""
    cdef Cursor *c = &j.c
    if c.wave_dwords != 1:
        fail_plain(c, j.s.mnemonic, b"dual instructions need wave32")
        return
    c.p += 2
    skip_blanks(c)
    if at_line_end(c):
        fail_plain(c, c.p, b"the second half is missing")
        return
    j.second.mnemonic = c.p
    c.p = word_end(c.p)
    j.second.mnemonic_length = <uint32_t>(c.p - j.second.mnemonic)
    parse_statement(c, &j.second)


cdef int vopd(Job *j, uint16_t first) noexcept nogil:
    """Words of a dual instruction; its halves are the job's statements."""
    cdef Cursor *c = &j.c
    cdef int32_t found = find_name(c.names, domain_mnemonic, j.second.mnemonic, j.second.mnemonic_length)
    cdef uint16_t second = <uint16_t>(found & 0xffff)
    if found < 0 or opcode_format[first] != format_vopd or opcode_format[second] != format_vopd or opcode_number_y[second] < 0:
        fail_plain(c, j.second.mnemonic if found < 0 else j.s.mnemonic, b"only v_dual_* instructions go in pairs")
        return 0
    clear_instruction(j, first, format_vopd)
    j.d.modifiers = modifier_set_vopd_opcode_y(0, second)
    vopd_half(j, first, &j.s)
    if not c.failed:
        vopd_half(j, second, &j.second)
    j.d.opcode = first
    return 0 if c.failed else encode_job(j)


# -------------------------------------------------------------------------------------------------------------------- LDS
cdef void ds(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef uint32_t operands = opcode_operand_count[op]
    cdef uint32_t i
    if not expect_count(j, definitions + operands):
        return
    for i in range(definitions):
        add_destination(j, memory_register(j, &j.s.operands[i], class_dwords_of(j, definition_class(j, i))))
    for i in range(operands):
        add_class_source(j, memory_register(j, &j.s.operands[definitions + i], class_dwords_of(j, operand_class(j, i))), operand_class(j, i))
    if opcode_flags[op] & opcode_flag_two_offsets:
        j.d.immediate = <uint32_t>ranged(j, given_offset0, 0, 255, 0)
        j.d.immediate |= <uint32_t>ranged(j, given_offset1, 0, 255, 0) << 16
    else:
        j.d.immediate = <uint32_t>ranged(j, given_offset, 0, 0xffff, 0)
    j.d.modifiers = modifier_set_gds(j.d.modifiers, flag(j, given_gds))


# ---------------------------------------------------------------------------------------------------------------- buffers
cdef void buffer_scalar_offset(Job *j, const Operand *o) noexcept nogil:
    if j.c.level >= gfx12 and o.kind != operand_register:
        fail(&j.c, o.begin, b"% is no scalar register, which the offset is here (null for none)", o.begin, o.end)
    add_source(j, address(j, o, 1), 1)


cdef void buffer_modifiers(Job *j) noexcept nogil:
    cdef uint64_t m
    j.d.immediate = <uint32_t>ranged(j, given_offset, 0, (1 << 23) - 1, 0)
    cache_policy(j)
    m = j.d.modifiers
    m = modifier_set_offen(m, flag(j, given_offen))
    m = modifier_set_idxen(m, flag(j, given_idxen))
    if j.c.level < gfx8:
        m = modifier_set_addr64(m, flag(j, given_addr64))
    m = modifier_set_tfe(m, flag(j, given_tfe))
    m = modifier_set_lds(m, flag(j, given_lds) or j.d.opcode == op_buffer_store_lds_dword)
    if j.d.format == format_mtbuf:
        m = modifier_set_format(m, buffer_format(j))
    j.d.modifiers = m


cdef void buffer_data(Job *j) noexcept nogil:
    """The first operand: what is loaded, stored, or both."""
    cdef uint32_t op = j.d.opcode
    cdef uint32_t extra = modifier_tfe(j.d.modifiers)
    cdef bint loads = opcode_definition_count[op] != 0
    cdef uint32_t dwords = class_dwords_of(j, definition_class(j, 0) if loads else operand_class(j, 3))
    cdef uint16_t where
    if j.facts[op] & fact_unpacked:
        dwords = unpacked_dwords(op)
    if loads or is_atomic(op):
        dwords += extra
    where = memory_register(j, &j.s.operands[0], dwords)
    if loads:
        add_destination(j, where)
        return
    add_source(j, where, dwords)
    if is_atomic(op) and returns(j):
        add_destination(j, where)


cdef void buffer(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint64_t m
    cdef uint32_t address
    cdef bint has_data
    cdef Operand *o
    if opcode_operand_count[op] == 0:
        expect_count(j, 0)
        if gfx942 <= j.c.level < gfx10:
            cache_policy(j)
        return
    buffer_modifiers(j)
    m = j.d.modifiers
    if op == op_buffer_store_lds_dword:
        # a resource and an offset alone, and always lds
        if expect_count(j, 2):
            add_source(j, register_of(j, &j.s.operands[0], 4), 4)
            add_source(j, register_none, 0)
            buffer_scalar_offset(j, &j.s.operands[1])
        return
    has_data = (opcode_definition_count[op] or opcode_operand_count[op] > 3) and not modifier_lds(m)
    if not expect_count(j, 3 + has_data):
        return
    o = &j.s.operands[1 if has_data else 0]
    add_source(j, register_of(j, o + 1, 4), 4)
    address = modifier_offen(m) + modifier_idxen(m) + 2 * modifier_addr64(m)
    if (o.kind == operand_off) != (address == 0):
        fail_plain(&j.c, o.begin, b"vaddr is given with offen or idxen, off otherwise")
        return
    add_source(j, <uint16_t>register_none if address == 0 else vector_register(j, o, address), address)
    buffer_scalar_offset(j, o + 2)
    if has_data:
        buffer_data(j)


cdef uint32_t buffer_format(Job *j) noexcept nogil:
    """The number of ``[NAME]`` or ``[DATA,NUMBER]``."""
    cdef Cursor inside
    cdef int64_t data = -1, number = -1, unified = -1
    cdef int32_t value
    cdef uint32_t named = 0
    cdef const char *end
    if given(j, given_dfmt) or given(j, given_nfmt):
        unified = ranged(j, given_dfmt, 0, 15, 1) | ranged(j, given_nfmt, 0, 7, 0) << 4
        return <uint32_t>(j.unified[unified] if j.c.level >= gfx10 else unified) & 127
    if not given(j, given_format):
        return 1
    taken(j, given_format, 0)
    inside = j.c
    inside.p = j.s.value_places[given_format]
    if not accept(&inside, c'['):
        unified = number_expression(&inside)
    while unified < 0 and not inside.failed:
        end = word_end(inside.p)
        value = find_name(inside.names, domain_format, inside.p, <uint32_t>(end - inside.p))
        if value >= 0:
            unified = value
        else:
            value = find_name(inside.names, domain_data_format, inside.p, <uint32_t>(end - inside.p))
            if value >= 0:
                data = value
            else:
                value = find_name(inside.names, domain_number_format, inside.p, <uint32_t>(end - inside.p))
                number = value
            if value < 0:
                fail(&j.c, inside.p, b"no buffer format %", inside.p, end)
                return 1
        inside.p = end
        named += 1
        if named == (1 if unified >= 0 else 2) or not accept(&inside, c','):
            expect(&inside, c']')
            break
    if not inside.failed and named == 2 and (data < 0 or number < 0):
        fail_plain(&j.c, j.s.value_places[given_format], b"a format has one data format and one number format")
    if unified < 0:
        unified = (data if data >= 0 else 1) | (number if number >= 0 else 0) << 4
        if j.c.level >= gfx10:
            unified = j.unified[unified & 127]
    if inside.failed or not 0 <= unified < 128:
        fail(&j.c, j.s.places[given_format], b"no buffer format %", j.s.value_places[given_format], word_end(j.s.value_places[given_format]))
        return 1
    return <uint32_t>unified


# ------------------------------------------------------------------------------------------------------------ flat memory
cdef void flat(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t operands = opcode_operand_count[op]
    cdef bint loads = opcode_definition_count[op] != 0
    cdef bint based = j.d.format != format_flat
    cdef bint stores = operands > (2 if based else 1)
    cdef bint addressed = not opcode_flags[op] & opcode_flag_no_address
    cdef bint result, lds
    cdef uint32_t count = 0
    cdef uint32_t dwords
    cdef Operand *o = &j.s.operands[0]
    cdef Operand *base = &j.s.operands[0]
    cdef Operand *vaddr = NULL
    cdef Operand *data = NULL
    j.d.immediate = <uint32_t>ranged(j, given_offset, -(1 << 23), (1 << 23) - 1, 0)
    cache_policy(j)
    lds = flag(j, given_lds)
    if lds:
        j.d.modifiers = modifier_set_lds(j.d.modifiers, 1)
    if operands == 0:
        expect_count(j, 0)
        return
    result = (loads and not lds) or (is_atomic(op) and returns(j) and not loads)
    if not expect_count(j, result + addressed + stores + based):
        return
    count = result
    if addressed:
        vaddr = o + count
        count += 1
    if stores:
        data = o + count
        count += 1
    if based:
        base = o + count
    if vaddr == NULL or vaddr.kind == operand_off:
        add_source(j, register_none, 1)
    else:
        dwords = 2 if not based or (j.d.format == format_global and base.kind == operand_off) else 1
        add_source(j, vector_register(j, vaddr, dwords), dwords)
    if not based or base.kind == operand_off:
        add_source(j, register_none, 1)
    else:
        dwords = 2 if j.d.format == format_global else 1
        add_source(j, register_of(j, base, dwords), dwords)
    if stores:
        dwords = class_dwords_of(j, operand_class(j, operands - 1))
        add_source(j, memory_register(j, data, dwords), dwords)
    if result:
        dwords = class_dwords_of(j, definition_class(j, 0) if loads else operand_class(j, operands - 1))
        if not loads and j.facts[op] & fact_compare_swap:
            dwords >>= 1
        dwords = transposed_dwords(op, j.c.wave_dwords, dwords)
        add_destination(j, memory_register(j, o, dwords))


# ----------------------------------------------------------------------------------------------------------------- images
cdef void image(Job *j) noexcept nogil:
    """Data, addresses (one register, or a list), resource and sampler."""
    cdef uint32_t op = j.d.opcode
    cdef uint32_t flags = opcode_image[op]
    cdef uint64_t m
    cdef uint32_t i, last, resource
    cdef bint sampled = (flags & image_flag_sampler) != 0
    cdef bint ray = (flags & image_flag_bvh) != 0
    cdef uint16_t data
    cdef Operand *o
    cache_policy(j)
    m = image_modifiers(j, ray)
    last = 1 + (j.s.list_count if j.s.list_count else 1)
    if j.s.list_count and j.s.list_first != 1:
        fail_plain(&j.c, j.s.operands[0].begin, b"a register of the data is expected before the addresses")
        return
    if not expect_count(j, last + 1 + sampled):
        return
    resource = 4 if ray or modifier_r128(m) else 8
    if not ray and resource == 4 and j.s.operands[last].dwords == 8:
        resource = 8
    add_source(j, register_of(j, &j.s.operands[last], resource), resource)
    add_source(j, register_of(j, &j.s.operands[last + 1], 4) if sampled else <uint16_t>register_none, 4)
    o = &j.s.operands[0]
    data = memory_register(j, o, o.dwords)
    if not ray:
        check_image_data(j, o, m)
    if flags & image_flag_store or is_atomic(op):
        add_source(j, data, o.dwords)
    else:
        add_source(j, register_none, 0)
    if not flags & image_flag_store and (not is_atomic(op) or returns(j)):
        add_destination(j, data)
    check_addresses(j, last, m)
    if ray:
        check_width(j, o, 10 if op == op_image_bvh_dual_intersect_ray or op == op_image_bvh8_intersect_ray else 4)
    for i in range(1, last):
        if j.d.source_count >= decoded_source_limit:
            fail_plain(&j.c, j.s.operands[i].begin, b"too many address registers")
            return
        o = &j.s.operands[i]
        add_source(j, vector_register(j, o, o.dwords), o.dwords)
    j.d.modifiers = m


cdef void check_addresses(Job *j, uint32_t last, uint64_t m) noexcept nogil:
    """From GFX10 on the modifiers tell how many address registers there are; one tuple may be of eight for five and more, or of sixteen."""
    cdef uint32_t expected = image_address_dwords(j.d.opcode, modifier_dim(m), modifier_a16(m), j.c.level)
    cdef uint32_t count = 0
    cdef uint32_t i
    cdef char text[80]
    if j.c.level < gfx10 or j.d.opcode == op_image_bvh_dual_intersect_ray or j.d.opcode == op_image_bvh8_intersect_ray:
        return
    for i in range(1, last):
        count += j.s.operands[i].dwords
    if count == expected or (last == 2 and ((count == 8 and 5 <= expected <= 7) or (count == 16 and expected > 12))):
        return
    snprintf(text, 80, b"the address of this opcode, dim and a16 has %u dwords, not %u", expected, count)
    fail_plain(&j.c, j.s.operands[1].begin, text)


cdef uint64_t image_modifiers(Job *j, bint ray) noexcept nogil:
    cdef uint64_t m = j.d.modifiers
    m = modifier_set_dmask(m, <uint64_t>ranged(j, given_dmask, 0, 15, 15 if ray else 0))
    m = modifier_set_unrm(m, flag(j, given_unorm) or (ray and j.c.level < gfx12))
    m = modifier_set_lwe(m, flag(j, given_lwe))
    m = modifier_set_image_tfe(m, flag(j, given_tfe))
    if j.c.level < gfx9 or j.c.level >= gfx10:
        m = modifier_set_r128(m, flag(j, given_r128) or ray)
    if j.c.level >= gfx9:
        m = modifier_set_a16(m, flag(j, given_a16))
    if j.c.level >= gfx8:
        m = modifier_set_d16(m, flag(j, given_d16))
    if j.c.level < gfx10:
        return modifier_set_da(m, flag(j, given_da))
    if given(j, given_dim):
        return modifier_set_dim(m, <uint64_t>ranged(j, given_dim, 0, 7, 0))
    if not ray:
        fail_plain(&j.c, j.s.mnemonic, b"an image instruction needs dim:")
    return m


cdef void check_image_data(Job *j, const Operand *o, uint64_t m) noexcept nogil:
    """The data has a register for each channel of dmask, or half of one, and one for a residency result."""
    cdef uint32_t mask = modifier_dmask(m)
    cdef uint32_t channels = (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)
    if is_atomic(j.d.opcode):
        channels = max(channels, <uint32_t>1)
    if opcode_image[j.d.opcode] & image_flag_gather or (j.d.opcode == op_image_msaa_load and j.c.level >= gfx11):
        channels = 4
    if channels == 0:
        channels = 1
    # most chips of GFX8 do not pack 16-bit channels
    if modifier_d16(m) and not j.facts[j.d.opcode] & fact_unpacked:
        channels = (channels + 1) >> 1
    check_width(j, o, channels + modifier_image_tfe(m))


# ------------------------------------------------------------------------------------------------- exports, interpolation
cdef void export(Job *j) noexcept nogil:
    cdef uint64_t m = 0
    cdef uint32_t mask = 0
    cdef uint32_t i
    cdef int32_t target
    cdef uint16_t values[4]
    cdef bint compressed
    cdef Operand *o = &j.s.operands[0]
    if not expect_count(j, 5):
        return
    target = find_name(j.c.names, domain_export, o.begin, <uint32_t>(o.end - o.begin))
    if target < 0:
        fail(&j.c, o.begin, b"no export target %", o.begin, o.end)
        return
    compressed = j.c.level < gfx11 and flag(j, given_compr)
    for i in range(4):
        o = &j.s.operands[1 + i]
        mask |= <uint32_t>(o.kind != operand_off) << i
        values[i] = <uint16_t>register_vgpr0 if o.kind == operand_off else vector_register(j, o, 1)
    if compressed:
        # two registers of packed halves, named twice in text; the first of each pair counts
        mask = 3 * (mask & 1) | 12 * (mask >> 2 & 1)
        values[1] = values[2]
        values[2] = register_vgpr0
        values[3] = register_vgpr0
    for i in range(4):
        add_source(j, values[i], 1)
    m = modifier_set_exp_target(m, target)
    m = modifier_set_exp_enabled_mask(m, mask)
    m = modifier_set_exp_compressed(m, compressed)
    m = modifier_set_exp_done(m, flag(j, given_done))
    if j.c.level < gfx11:
        m = modifier_set_exp_valid_mask(m, flag(j, given_vm))
    else:
        m = modifier_set_exp_row(m, flag(j, given_row_en))
    j.d.modifiers = m


cdef void attribute(Job *j, const Operand *o) noexcept nogil:
    """An input attribute such as ``attr3.y``."""
    cdef const char *p = o.begin
    cdef uint32_t number = 0
    cdef uint32_t digits = 0
    cdef uint32_t channel = 0
    cdef const char *names = b"xyzw"
    cdef bint good = o.end - p > 4 and memcmp(p, b"attr", 4) == 0
    if good:
        p += 4
        while c'0' <= p[0] <= c'9' and digits < 3:
            number = number * 10 + <uint32_t>(p[0] - c'0')
            digits += 1
            p += 1
        good = digits > 0 and number <= 32 and p[0] == c'.' and o.end - p == 2
    if good:
        while channel < 4 and names[channel] != p[1]:
            channel += 1
    if not good or channel == 4:
        fail(&j.c, o.begin, b"% is not an attribute from attr0 to attr32", o.begin, o.end)
        return
    j.d.modifiers = modifier_set_ldsdir_attr(j.d.modifiers, number)
    j.d.modifiers = modifier_set_ldsdir_channel(j.d.modifiers, channel)


cdef void ldsdir(Job *j) noexcept nogil:
    cdef bint parameter = j.d.opcode == op_lds_param_load
    if not expect_count(j, 1 + parameter):
        return
    add_destination(j, vector_register(j, &j.s.operands[0], 1))
    if parameter:
        attribute(j, &j.s.operands[1])
    if j.c.level >= gfx12:
        j.d.modifiers = modifier_set_wait_vdst(j.d.modifiers, <uint64_t>ranged(j, given_wait_va_vdst, 0, 15, 0))
        j.d.modifiers = modifier_set_wait_vsrc(j.d.modifiers, <uint64_t>ranged(j, given_wait_vm_vsrc, 0, 1, 0))
    else:
        j.d.modifiers = modifier_set_wait_vdst(j.d.modifiers, <uint64_t>ranged(j, given_wait_vdst, 0, 15, 0))


cdef void vintrp(Job *j) noexcept nogil:
    cdef Operand *o = &j.s.operands[1]
    if not expect_count(j, 3):
        return
    add_destination(j, vector_register(j, &j.s.operands[0], 1))
    if j.d.opcode == op_v_interp_mov_f32:
        j.d.immediate = parameter(j, o)
    else:
        add_source(j, vector_register(j, o, 1), 1)
    attribute(j, &j.s.operands[2])


cdef void vop3_interpolation(Job *j) noexcept nogil:
    """``v_interp_p2_f16 v5, v2, attr0.x, v3 high``: VOP3 with an attribute behind the first source."""
    cdef uint32_t sources = opcode_operand_count[j.d.opcode]
    cdef uint32_t neg = 0, magnitude = 0
    cdef uint32_t i
    cdef uint64_t m
    cdef Operand *o
    if not expect_count(j, 3 if j.d.opcode == op_v_interp_mov_f32 else 2 + sources):
        return
    add_destination(j, vector_register(j, &j.s.operands[0], class_dwords_of(j, definition_class(j, 0))))
    attribute(j, &j.s.operands[2])
    if j.d.opcode == op_v_interp_mov_f32:
        j.d.immediate = parameter(j, &j.s.operands[1])
    else:
        for i in range(sources):
            o = &j.s.operands[3 if i else 1]
            add_class_source(j, address(j, o, operand_class(j, i)), operand_class(j, i))
            neg |= negation(j, o) << i
            magnitude |= magnitude_of(j, o) << i
    m = modifier_set_interp_high(j.d.modifiers, flag(j, given_high))
    m = modifier_set_neg(m, neg)
    m = modifier_set_abs(m, magnitude)
    j.d.modifiers = m
    vop_modifiers(j, 0, sources)


cdef bint needs_vop3(const Job *j) noexcept nogil:
    """Whether an interpolation has what its short encoding lacks."""
    cdef uint32_t i
    if j.suffix == suffix_e32:
        return False
    if j.suffix == suffix_e64 or given(j, given_high) or given(j, given_clamp) or given(j, given_mul) or given(j, given_div):
        return True
    for i in range(j.s.count):
        if j.s.operands[i].negative or j.s.operands[i].magnitude:
            return True
    return False


cdef uint32_t parameter(Job *j, const Operand *o) noexcept nogil:
    cdef int32_t number = find_name(j.c.names, domain_parameter, o.begin, <uint32_t>(o.end - o.begin))
    if number < 0:
        fail(&j.c, o.begin, b"% is not p10, p20 or p0", o.begin, o.end)
        return 0
    return <uint32_t>number


cdef void vinterp(Job *j) noexcept nogil:
    cdef uint32_t operands = opcode_operand_count[j.d.opcode]
    cdef uint32_t opsel, neg = 0
    cdef uint32_t i
    cdef uint16_t where
    cdef Operand *o
    if not expect_count(j, 1 + operands):
        return
    opsel = bit_list(j, given_op_sel, 0)
    if given(j, given_op_sel):
        check_halves(j, opsel, operands)
    for i in range(1 + operands):
        o = &j.s.operands[i]
        where = address(j, o, operand_class(j, i - 1) if i else definition_class(j, 0))
        if where < register_vgpr0:
            fail(&j.c, o.begin, b"% is not a VGPR", o.begin, o.end)
        if o.half == 1:
            where += 2
            opsel |= 1U << (i - 1) if i else 8
        if i:
            add_source(j, where, 1)
            neg |= negation(j, o) << (i - 1)
        else:
            add_destination(j, where)
    j.d.modifiers = modifier_set_neg(j.d.modifiers, neg)
    j.d.modifiers = modifier_set_opsel(j.d.modifiers, opsel)
    j.d.modifiers = modifier_set_clamp(j.d.modifiers, flag(j, given_clamp))
    j.d.modifiers = modifier_set_wait_exp(j.d.modifiers, <uint64_t>ranged(j, given_wait_exp, 0, 7, 0))


# --------------------------------------------------------------------------------------------------------------- dispatch
cdef bint takes_suffix(uint16_t op, uint32_t suffix) noexcept nogil:
    """Whether instructions of this opcode's format have an encoding of that name; which a vector opcode has, ``vop`` sees."""
    cdef uint32_t format = opcode_format[op]
    if format & format_vop3p:
        return suffix == suffix_e64 or (suffix == suffix_e64_dpp and not opcode_flags[op] & opcode_flag_matrix)
    if format == format_vintrp:
        return suffix == suffix_e32 or suffix == suffix_e64
    if opcode_flags[op] & opcode_flag_interpolation:
        return suffix == suffix_e64
    return format & (valu_one_dword | format_vop3) != 0


cdef int32_t find_opcode(Job *j) noexcept nogil:
    """Opcode of the mnemonic; its suffix goes to the job."""
    cdef Cursor *c = &j.c
    cdef const char *begin = j.s.mnemonic
    cdef uint32_t length = j.s.mnemonic_length
    cdef uint32_t cut = 0
    cdef int32_t found = -1
    j.suffix = 0
    j.signed_alias = False
    if length <= 5 or memcmp(begin + length - 4, b"_e32", 4):
        # names of some opcodes end in _e64
        found = find_name(c.names, domain_mnemonic, begin, length)
        if found >= 0:
            j.signed_alias = found >> 16 != 0
            if length > 5 and memcmp(begin + length - 4, b"_e64", 4) == 0:
                j.suffix = suffix_e64
            return found
    if length > 5 and begin[length - 4] == c'_' and memcmp(begin + length - 3, b"dpp", 3) == 0:
        cut = 4
        j.suffix = suffix_dpp
        if length > 9 and memcmp(begin + length - 8, b"_e64", 4) == 0:
            cut = 8
            j.suffix = suffix_e64_dpp
    elif length > 5 and memcmp(begin + length - 4, b"_e32", 4) == 0:
        cut = 4
        j.suffix = suffix_e32
    elif length > 5 and memcmp(begin + length - 4, b"_e64", 4) == 0:
        cut = 4
        j.suffix = suffix_e64
    elif length > 6 and memcmp(begin + length - 5, b"_sdwa", 5) == 0:
        cut = 5
        j.suffix = suffix_sdwa
    if cut:
        found = find_name(c.names, domain_mnemonic, begin, length - cut)
        if found >= 0 and not takes_suffix(<uint16_t>(found & 0xffff), j.suffix):
            found = -1
    if found < 0:
        fail(c, begin, b"unknown instruction %", begin, begin + length)
        return found
    j.signed_alias = found >> 16 != 0
    return found


cdef int instruction(Job *j) noexcept nogil:
    """Words of the statement whose mnemonic the cursor is behind; 0 with an error."""
    cdef int32_t found = find_opcode(j)
    cdef uint16_t op
    if found < 0:
        return 0
    op = <uint16_t>(found & 0xffff)
    skip_blanks(&j.c)
    if opcode_format[op] == format_sopp and is_call_list(j, op):
        clear_instruction(j, op, format_sopp)
        call_list(j)
        return 0 if j.c.failed else encode_job(j)
    parse_statement(&j.c, &j.s)
    if j.c.failed:
        return 0
    if j.c.p[0] == c':':
        parse_second(j)
        return 0 if j.c.failed else vopd(j, op)
    return statement_words(j, op)


cdef int statement_words(Job *j, uint16_t op) noexcept nogil:
    """Words of the job's statement, an instruction that is not dual; 0 with an error."""
    cdef uint32_t format = opcode_format[op]
    if format & (valu_one_dword | format_vop3) and not opcode_flags[op] & opcode_flag_interpolation:
        return vop(j, op)
    clear_instruction(j, op, format)
    if opcode_flags[op] & opcode_flag_interpolation or (format == format_vintrp and needs_vop3(j)):
        j.d.format |= format_vop3
        vop3_interpolation(j)
    elif format & format_vop3p:
        vop3p(j)
    elif format == format_sopk:
        sopk(j)
    elif format == format_sopp:
        sopp(j)
    elif format_sop1 <= format <= format_sopc:
        salu(j)
    elif format == format_smem:
        smem(j)
    elif format == format_ds:
        ds(j)
    elif format == format_mubuf or format == format_mtbuf:
        buffer(j)
    elif format_flat <= format <= format_scratch:
        flat(j)
    elif format == format_mimg:
        image(j)
    elif format == format_exp:
        export(j)
    elif format == format_ldsdir:
        ldsdir(j)
    elif format == format_vintrp:
        vintrp(j)
    elif format == format_vinterp_inreg:
        vinterp(j)
    else:
        fail(&j.c, j.s.mnemonic, b"%: this instruction stands in pairs only", j.s.mnemonic, j.s.mnemonic + j.s.mnemonic_length)
    if not j.c.failed:
        finish(j)
    return 0 if j.c.failed else encode_job(j)


# ------------------------------------------------------------------------------------------------------------ relocations
cdef enum:
    # LLVM's "User Guide for AMDGPU Backend", "Relocation Records"
    relocation_abs64 = 3
    relocation_rel32 = 4
    relocation_rel64 = 5
    relocation_abs32 = 6
    relocation_rel32_low = 10
    relocation_rel32_high = 11
    specifier_count = 9

#: Relocation types by what stands behind a symbol.
cdef const char *specifiers[specifier_count]
cdef uint32_t specifier_types[specifier_count]
specifiers[:] = [b"@rel32@lo", b"@rel32@hi", b"@gotpcrel32@lo", b"@gotpcrel32@hi", b"@abs32@lo", b"@abs32@hi", b"@rel64", b"@abs64", b"@gotpcrel"]
specifier_types[:] = [relocation_rel32_low, relocation_rel32_high, 8, 9, 1, 2, relocation_rel64, relocation_abs64, 7]


cdef uint32_t specifier_of(const char *symbol, const char *end) noexcept nogil:
    """The relocation type that a symbol's specifier asks for, 0 if there is none."""
    cdef uint32_t i
    cdef size_t length
    for i in range(specifier_count):
        length = strlen(specifiers[i])
        if <size_t>(end - symbol) > length and memcmp(end - length, specifiers[i], length) == 0:
            return specifier_types[i]
    return 0


# ---------------------------------------------------------------------------------------------------------------- program
cdef int64_t escaped(Cursor *c) noexcept nogil:
    """The character that stands behind a backslash in quoted text: C's letters, or up to three octal digits."""
    cdef const char *letters = b"b\bf\fn\nr\rt\t\"\"\\\\''"
    cdef int64_t value = 0
    cdef uint32_t digits = 0
    while c'0' <= c.p[0] <= c'7' and digits < 3:
        value = 8 * value + (c.p[0] - c'0')
        c.p += 1
        digits += 1
    if digits:
        return value & 0xff
    while letters[0]:
        if letters[0] == c.p[0]:
            c.p += 1
            return letters[1]
        letters += 2
    fail_plain(c, c.p, b"no such escape in quoted text")
    return 0


cdef class Assembler:
    """Assembles one source for one gfx level."""

    def __init__(self, TextTables tables not None, uint32_t wave_size):
        self.tables = tables
        self.kernels = []
        self.later_values = []
        self.relocations = []
        self.section_words = {}
        self.declarations = []
        memset(&self.j, 0, sizeof(Job))
        self.j.facts = tables.facts
        self.j.short_formats = tables.short_formats
        self.j.unified = tables.unified
        self.j.c.names = &tables.names
        self.j.c.symbols = &self.symbols
        self.j.c.local_labels = &self.local_labels
        self.j.c.level = tables.level
        self.j.c.wave_dwords = wave_size >> 5
        self.section_names.push_back(b".text")

    def assemble(self, bytes source, bint linkable=False):
        """Assemble `source`. Returns None, or (offset of the error or -1, message)."""
        cdef Cursor *c = &self.j.c
        self.linkable = linkable
        self.source = source
        c.start = self.source
        c.p = c.start
        self.end = c.start + len(source)
        # text is rarely shorter than five times its code
        self.sections[0].reserve(len(source) // 5)
        with nogil:
            self.run()
            if not c.failed:
                self.resolve()
        self.resolve_values()
        if c.failed:
            return (c.failed_at - c.start, (<bytes>c.message).decode(errors="replace"))
        return None

    def __getbuffer__(self, Py_buffer *view, int flags):
        """The bytes of ``.text``, as they are until the next source."""
        PyBuffer_FillInfo(view, self, self.sections[0].data(), <Py_ssize_t>self.sections[0].size(), True, flags)

    def code(self, str section=".text"):
        """Bytes of a section."""
        cdef size_t i
        for i in range(self.section_names.size()):
            if self.section_names[i] == section.encode():
                return PyBytes_FromStringAndSize(<const char *>self.sections[i].data(), <Py_ssize_t>self.sections[i].size())
        return b""

    def labels(self):
        """{name: (section, offset)} of every label, and of symbols that were set to one; the section of a number is empty."""
        return {
            entry.first.decode(): (self.section_names[entry.second.section].decode() if entry.second.section >= 0 else "", entry.second.value)
            for entry in self.symbols if entry.second.defined
        }

    cdef void run(self) noexcept nogil:
        cdef Job *j = &self.j
        cdef Cursor *c = &j.c
        cdef const char *begin
        cdef const char *end
        cdef int length
        while not c.failed:
            skip_blanks(c)
            while c.p[0] == c'\n':
                c.p += 1
                skip_blanks(c)
            if c.p[0] == 0:
                if c.p != self.end:
                    fail_plain(c, c.p, b"a zero byte")
                return
            if c.p[0] == c'#':
                # a comment, or a preprocessor's note of a line
                self.skip_line()
                continue
            begin = c.p
            end = symbol_end(begin)
            if end == begin:
                fail_plain(c, begin, b"an instruction, a label or a directive is expected")
                return
            c.p = end
            skip_blanks(c)
            if c.p[0] == c':' and c.p[1] != c':':
                c.p += 1
                if is_digit(begin[0]):
                    self.local_label(begin)
                else:
                    self.define(begin, end, self.here(), c.section, True)
                continue
            if c.p[0] == c'=' and c.p[1] != c'=':
                c.p += 1
                self.assign(begin, end)
            elif begin[0] == c'.':
                self.directive(begin, end)
            else:
                c.p = end
                j.s.mnemonic = begin
                j.s.mnemonic_length = <uint32_t>(end - begin)
                c.here = self.here()
                length = instruction(j)
                if c.failed:
                    return
                self.emit(length)
            skip_blanks(c)
            if not at_line_end(c):
                fail_plain(c, c.p, b"the end of the line is expected")

    cdef int64_t here(self) noexcept nogil:
        return <int64_t>self.sections[self.j.c.section].size()

    cdef void emit(self, int length) noexcept nogil:
        """Append the words of an instruction, and remember what to fill in later."""
        cdef Job *j = &self.j
        cdef vector[uint8_t] *code = &self.sections[j.c.section]
        cdef Fixup later
        cdef size_t place = code.size()
        code.insert(code.end(), <const uint8_t *>j.words, <const uint8_t *>(j.words + length))
        if j.branch_expression == NULL and j.literal_expression == NULL:
            return
        later.section = j.c.section
        later.origin = <int64_t>place
        later.size = 4
        if j.branch_expression != NULL:
            later.kind = fixup_branch
            later.place = <int64_t>place
            later.expression = j.branch_expression
        else:
            later.kind = fixup_literal
            later.place = <int64_t>place + 4 * (length - 1)
            later.expression = j.literal_expression
        self.fixups.push_back(later)

    cdef void define(self, const char *begin, const char *end, int64_t value, int32_t section, bint is_label) noexcept nogil:
        cdef string name
        cdef Symbol *symbol
        name.assign(begin, <size_t>(end - begin))
        symbol = &self.symbols[name]
        if (symbol.defined or symbol.expression != NULL) and (is_label or symbol.is_label):
            fail(&self.j.c, begin, b"label % is defined twice", begin, end)
            return
        symbol.value = value
        symbol.section = section
        symbol.defined = True
        symbol.expression = NULL
        symbol.is_label = is_label
        if begin[0] == c'.' and not is_label and section == -1:
            if name == b".amdgcn.next_free_vgpr":
                self.j.c.next_vgpr = value
            elif name == b".amdgcn.next_free_sgpr":
                self.j.c.next_sgpr = value

    cdef void assign(self, const char *begin, const char *end) noexcept nogil:
        """``name = expression``; one whose value is not known yet is kept."""
        cdef Cursor *c = &self.j.c
        cdef const char *place
        cdef Value v
        cdef string name
        cdef Symbol *symbol
        c.here = self.here()
        skip_blanks(c)
        place = c.p
        v = expression(c)
        if c.failed:
            return
        self.define(begin, end, v.number, v.section, False)
        if v.section < -1:
            name.assign(begin, <size_t>(end - begin))
            symbol = &self.symbols[name]
            symbol.defined = False
            symbol.expression = place
            symbol.origin = c.here
            symbol.origin_section = c.section

    cdef void local_label(self, const char *begin) noexcept nogil:
        """``1:``, which may be there many times."""
        cdef Cursor *c = &self.j.c
        cdef const char *end
        cdef int64_t number = label_number(begin, &end)
        if symbol_end(end) != end:
            fail(c, begin, b"% is no name of a label", begin, symbol_end(end))
            return
        self.local_labels[local_key(number, c.section)].push_back(self.here())

    # ------------------------------------------------------------------------------------------------------ directives
    cdef void directive(self, const char *begin, const char *end) noexcept nogil:
        cdef Cursor *c = &self.j.c
        cdef int32_t number = find_name(c.names, domain_directive, begin, <uint32_t>(end - begin))
        c.here = self.here()
        if number == directive_ignored or memcmp(begin, b".cfi_", 5) == 0:
            self.skip_line()
        elif number == directive_byte or number == directive_short or number == directive_long or number == directive_quad:
            self.data(<uint32_t>number)
        elif number == directive_float or number == directive_double:
            self.floats(number == directive_double)
        elif number == directive_uleb or number == directive_sleb:
            self.variable_length(number == directive_sleb)
        elif number == directive_set:
            self.set_symbol()
        elif number == directive_zero:
            self.zeros()
        elif number == directive_fill:
            self.fill()
        elif directive_p2align <= number <= directive_balign:
            self.align(number != directive_balign, 4 if number == directive_p2alignl else 1)
        elif number == directive_ascii or number == directive_asciz:
            self.characters(number == directive_asciz)
        elif number == directive_text or number == directive_data or number == directive_rodata:
            self.enter_section(begin, end)
        elif number == directive_section:
            self.section()
        elif number == directive_metadata:
            self.skip_metadata()
        elif number == directive_kernel:
            with gil:
                self.kernel()
        elif number == directive_declaration:
            with gil:
                self.declare(begin, end)
        else:
            fail(c, begin, b"directive % is not supported", begin, end)

    cdef void section(self) noexcept nogil:
        """``.section name, "flags", @type``; the name may be quoted."""
        cdef Cursor *c = &self.j.c
        cdef bint quoted = c.p[0] == c'"'
        cdef const char *begin = c.p + quoted
        cdef const char *end
        c.p = begin
        while c.p[0] and c.p[0] != c'\n' and (c.p[0] != c'"' if quoted else c.p[0] not in (c' ', c',', c'\t', c';')):
            c.p += 1
        end = c.p
        self.skip_line()
        self.enter_section(begin, end)
        with gil:
            self.section_words.setdefault((<bytes>begin[:end - begin]).decode(errors="replace"), (<bytes>end[:c.p - end]).decode(errors="replace"))

    cdef void skip_line(self) noexcept nogil:
        cdef Cursor *c = &self.j.c
        while c.p[0] and c.p[0] != c'\n':
            c.p += 1

    cdef void skip_metadata(self) noexcept nogil:
        """Metadata is no part of the code: it ends at the line that begins with ``.end_``."""
        cdef Cursor *c = &self.j.c
        cdef const char *begin = c.p
        cdef const char *line
        while c.p[0]:
            self.skip_line()
            line = c.p
            skip_blanks(c)
            while c.p[0] == c'\n':
                c.p += 1
                line = c.p
                skip_blanks(c)
            if memcmp(c.p, b".end_amd", 8) == 0:
                with gil:
                    self.metadata = (<bytes>begin[:line - begin]).decode(errors="replace")
                self.skip_line()
                return
        fail_plain(c, begin, b"the metadata has no end")

    cdef void put(self, int64_t value, uint32_t size) noexcept nogil:
        cdef vector[uint8_t] *code = &self.sections[self.j.c.section]
        cdef uint32_t i
        for i in range(size):
            code.push_back(<uint8_t>(<uint64_t>value >> (8 * i)))

    cdef void data(self, uint32_t size) noexcept nogil:
        """``.long 1, 2``: expressions of `size` bytes."""
        cdef Cursor *c = &self.j.c
        cdef const char *begin
        cdef Value v
        cdef Fixup later
        while not c.failed:
            skip_blanks(c)
            begin = c.p
            c.here = self.here()
            v = expression(c)
            if c.failed:
                return
            if v.section == -1:
                self.check_data(begin, v.number, size)
            else:
                later.kind = fixup_data
                later.size = size
                later.section = c.section
                later.place = self.here()
                later.origin = later.place
                later.expression = begin
                self.fixups.push_back(later)
            self.put(v.number if v.section == -1 else 0, size)
            if not accept(c, c','):
                return

    cdef void floats(self, bint is_double) noexcept nogil:
        """``.float 1.5, -2``: numbers of 32 or 64 bits."""
        cdef Cursor *c = &self.j.c
        cdef char *end
        cdef double value
        while not c.failed:
            skip_blanks(c)
            end = <char *>c.p
            value = 0 if at_line_end(c) else strtod(c.p, &end)
            if end == c.p:
                fail_plain(c, c.p, b"a floating-point number is expected")
                return
            c.p = end
            self.put(<int64_t>double_bits(value) if is_double else <int64_t>float_bits(value), 8 if is_double else 4)
            if not accept(c, c','):
                return

    cdef void variable_length(self, bint is_signed) noexcept nogil:
        """Numbers in groups of seven bits, the lowest first (LEB128 of the DWARF standard); their sizes must be known at once."""
        cdef Cursor *c = &self.j.c
        cdef int64_t value
        cdef int64_t group
        cdef bint more
        while not c.failed:
            value = number_expression(c)
            while not c.failed:
                group = value & 0x7f
                value = value >> 7 if is_signed else <int64_t>(<uint64_t>value >> 7)
                more = value != (-1 if is_signed and group & 0x40 else 0)
                self.put(group | (0x80 if more else 0), 1)
                if not more:
                    break
            if not accept(c, c','):
                return

    cdef void check_data(self, const char *begin, int64_t value, uint32_t size) noexcept nogil:
        if size < 8 and not -(<int64_t>1 << (8 * size - 1)) <= value < <int64_t>1 << (8 * size):
            fail_range(&self.j.c, begin, begin, self.j.c.p, -(<int64_t>1 << (8 * size - 1)), (<int64_t>1 << (8 * size)) - 1)

    cdef void set_symbol(self) noexcept nogil:
        cdef Cursor *c = &self.j.c
        cdef const char *begin = c.p
        cdef const char *end = begin
        while word_end(end) != end or end[0] == c'.' or end[0] == c'$':
            end += 1
        c.p = end
        if end == begin:
            fail_plain(c, begin, b"the name of a symbol is expected")
        expect(c, c',')
        if not c.failed:
            self.assign(begin, end)

    cdef void repeat(self, int64_t count, int64_t value, uint32_t size) noexcept nogil:
        if not 0 <= count * size <= 1 << 28:
            fail_plain(&self.j.c, self.j.c.p, b"too many bytes")
            return
        while count:
            self.put(value, size)
            count -= 1

    cdef void zeros(self) noexcept nogil:
        """``.zero count[, value]``"""
        cdef Cursor *c = &self.j.c
        cdef int64_t count = number_expression(c)
        cdef int64_t value = number_expression(c) if accept(c, c',') else 0
        if not c.failed:
            self.repeat(min(max(count, <int64_t>-1), <int64_t>1 << 30), value, 1)

    cdef void fill(self) noexcept nogil:
        """``.fill count[, size[, value]]``"""
        cdef Cursor *c = &self.j.c
        cdef int64_t count = number_expression(c)
        cdef int64_t size = 1
        cdef int64_t value = 0
        if accept(c, c','):
            size = number_expression(c)
            if accept(c, c','):
                value = number_expression(c)
        if not 1 <= size <= 8:
            fail_plain(c, c.p, b"a size from 1 to 8 is expected")
        if not c.failed:
            self.repeat(min(max(count, <int64_t>-1), <int64_t>1 << 30), value, <uint32_t>size)

    cdef void align(self, bint power, uint32_t unit) noexcept nogil:
        """Pad to a multiple with a value of `unit` bytes; code is filled with s_nop, as LLVM does, if no value is given."""
        cdef Cursor *c = &self.j.c
        cdef int64_t size = number_expression(c)
        cdef int64_t value = -1
        if accept(c, c',') and not at_line_end(c) and c.p[0] != c',':
            value = number_expression(c)
        self.skip_line()
        if power:
            size = <int64_t>1 << size if 0 <= size <= 16 else -1
        if size < 0 or size > 1 << 16 or size & (size - 1):
            fail_plain(c, c.p, b"an alignment is a power of two up to 65536")
        if c.failed or size < 2:
            return
        while self.here() & (size - 1):
            if value < 0 and c.section == 0 and self.here() & 3 == 0:
                self.put(0xbf800000U, 4)
            elif self.here() & (unit - 1):
                self.put(0, 1)
            else:
                self.put(max(value, <int64_t>0), unit)

    cdef void characters(self, bint terminated) noexcept nogil:
        """Quoted text; escapes are those of C."""
        cdef Cursor *c = &self.j.c
        cdef char character
        while not c.failed:
            if c.p[0] != c'"':
                fail_plain(c, c.p, b"quoted text is expected")
                return
            c.p += 1
            while c.p[0] != c'"':
                character = c.p[0]
                if character == 0 or character == c'\n':
                    fail_plain(c, c.p, b"the text has no end")
                    return
                c.p += 1
                self.put(escaped(c) if character == c'\\' else character, 1)
            c.p += 1
            if terminated:
                self.put(0, 1)
            if not accept(c, c','):
                return

    cdef void enter_section(self, const char *begin, const char *end) noexcept nogil:
        cdef string name
        cdef size_t i
        name.assign(begin, <size_t>(end - begin))
        for i in range(self.section_names.size()):
            if self.section_names[i] == name:
                self.j.c.section = <int32_t>i
                return
        if self.section_names.size() == section_limit:
            fail_plain(&self.j.c, begin, b"too many sections")
            return
        self.j.c.section = <int32_t>self.section_names.size()
        self.section_names.push_back(name)

    cdef void declare(self, const char *begin, const char *end) noexcept:
        """Keep a declaration: what it is, its words, and what its ``.`` means."""
        cdef Cursor *c = &self.j.c
        cdef const char *text
        skip_blanks(c)
        text = c.p
        while c.p[0] and c.p[0] != c'\n' and c.p[0] != c';' and not (c.p[0] == c'/' and c.p[1] == c'/'):
            c.p += 1
        words = (<bytes>text[:c.p - text]).decode(errors="replace").strip()
        self.declarations.append(((<bytes>begin[:end - begin]).decode(), words, c.section, self.here()))

    def number(self, str text, int section, int64_t here):
        """The value of an expression once the source is assembled, None if it has none that is known."""
        cdef Cursor *c = &self.j.c
        cdef bytes source = text.encode()
        cdef Value v
        c.p = source
        c.section = section
        c.here = here
        v = expression(c)
        known = not c.failed and v.section == -1 and c.p[0] == 0
        c.failed = False
        return v.number if known else None

    def section_contents(self):
        """{name: bytes} of every section, ``.text`` first."""
        return {name.decode(): self.code(name.decode()) for name in self.section_names}

    cdef void count_registers(self) noexcept:
        """Give the symbols that stand for the registers named so far their values."""
        cdef bytes name
        for name, count in ((b".amdgcn.next_free_vgpr", self.j.c.next_vgpr), (b".amdgcn.next_free_sgpr", self.j.c.next_sgpr)):
            self.symbols[name].value = count
            self.symbols[name].section = -1
            self.symbols[name].defined = True

    cdef void kernel(self) noexcept:
        """``.amdhsa_kernel name`` to ``.end_amdhsa_kernel``: one value a line; the descriptor's bytes are left zero."""
        cdef Cursor *c = &self.j.c
        cdef const char *begin = c.p
        cdef const char *end = begin
        while word_end(end) != end or end[0] == c'.' or end[0] == c'$' or end[0] == c'@':
            end += 1
        name = (<bytes>begin[:end - begin]).decode(errors="replace")
        values = {}
        self.count_registers()
        c.p = end
        while not c.failed:
            self.skip_line()
            while c.p[0] == c'\n':
                c.p += 1
                skip_blanks(c)
            begin = c.p
            end = begin
            while word_end(end) != end or end[0] == c'.':
                end += 1
            word = (<bytes>begin[:end - begin]).decode(errors="replace")
            c.p = end
            skip_blanks(c)
            if word == ".end_amdhsa_kernel":
                self.kernels.append((name, values, self.section_names[c.section].decode(), self.here()))
                self.repeat(64, 0, 1)
                return
            if not word.startswith(".amdhsa_"):
                fail_plain(c, begin, b"a directive that begins with .amdhsa_ is expected")
                return
            if word.removeprefix(".amdhsa_") in values:
                fail(c, begin, b"% is given twice", begin, end)
                return
            self.kernel_value(values, word.removeprefix(".amdhsa_"))
            if not at_line_end(c):
                fail_plain(c, c.p, b"the end of the line is expected")

    cdef void kernel_value(self, dict values, str directive) noexcept:
        cdef Cursor *c = &self.j.c
        cdef const char *begin = c.p
        cdef Value v
        c.here = self.here()
        v = expression(c)
        values[directive] = v.number
        if v.section < -1 and v.symbol != NULL:
            self.later_values.append((values, directive, begin - c.start, c.section, c.here))
        elif v.section != -1:
            fail(c, begin, b"% is no number", begin, c.p)

    cdef void resolve_values(self) noexcept:
        """The values of symbols and of kernels' directives that stood before the symbols that they need."""
        cdef Cursor *c = &self.j.c
        for name in [entry.first for entry in self.symbols if entry.second.expression != NULL]:
            c.blocked = False
            set_value(c, &self.symbols[name])
        for values, directive, offset, section, here in self.later_values:
            if c.failed:
                return
            c.p = c.start + <int64_t>offset
            c.section = section
            c.here = here
            values[directive] = number_expression(c)

    # ---------------------------------------------------------------------------------------------------------- fixups
    cdef void resolve(self) noexcept nogil:
        cdef size_t i
        for i in range(self.fixups.size()):
            self.resolve_one(self.fixups[i])
            if self.j.c.failed:
                return

    cdef void resolve_one(self, Fixup later) noexcept nogil:
        cdef Cursor *c = &self.j.c
        cdef Value v
        c.p = later.expression
        c.here = later.origin
        c.section = later.section
        v = expression(c)
        if c.failed:
            return
        if later.kind == fixup_branch:
            self.resolve_branch(&later, &v)
        elif v.section != -1:
            self.relocate(&later, &v)
        elif later.kind == fixup_literal and not -0x80000000LL <= v.number <= 0xffffffffLL:
            fail(c, later.expression, b"% does not fit 32 bits", later.expression, c.p)
        else:
            if later.kind == fixup_data:
                self.check_data(later.expression, v.number, later.size)
            self.fill_bytes(&later, v.number)

    cdef void fill_bytes(self, const Fixup *later, int64_t value) noexcept nogil:
        cdef uint8_t *place = self.sections[later.section].data() + later.place
        cdef uint32_t i
        for i in range(later.size):
            place[i] = <uint8_t>(<uint64_t>value >> (8 * i))

    cdef void resolve_branch(self, const Fixup *later, const Value *v) noexcept nogil:
        cdef Cursor *c = &self.j.c
        cdef uint8_t *place = self.sections[later.section].data() + later.place
        cdef int64_t distance
        cdef char text[96]
        if v.section == -3:
            self.fail_symbol(later, v)
            return
        if v.section != later.section:
            fail(c, later.expression, b"% is not a place in this section", later.expression, c.p)
            return
        distance = (v.number - later.origin - 4) // 4
        if v.number & 3 != later.origin & 3:
            fail(c, later.expression, b"% is not a multiple of four bytes away", later.expression, c.p)
        elif not -0x8000 <= distance <= 0x7fff:
            snprintf(text, 96, b"label %% is %lld dwords away, beyond 16 bits", <long long>distance)
            fail(c, later.expression, text, later.expression, c.p)
        else:
            place[0] = <uint8_t>distance
            place[1] = <uint8_t>(distance >> 8)

    cdef void fail_symbol(self, const Fixup *later, const Value *v) noexcept nogil:
        """Says what of a symbol is missing: the label, or a linker."""
        cdef Cursor *c = &self.j.c
        cdef const char *end = symbol_end(v.symbol)
        cdef string name
        name.assign(v.symbol, <size_t>(end - v.symbol))
        if v.section == -3 and self.symbols.count(name) == 0 and specifier_of(v.symbol, end) == 0:
            fail(c, later.expression, b"no label %", v.symbol, end)
        else:
            fail(c, later.expression, b"% is an address, which only a linker knows", later.expression, c.p)

    cdef void relocate(self, const Fixup *later, const Value *v) noexcept nogil:
        """An address: a distance in this section is known, the rest is left to a linker, if there will be one."""
        cdef Cursor *c = &self.j.c
        cdef uint32_t kind = 0
        cdef int64_t value
        if v.symbol == NULL or v.section == -2:
            fail(c, later.expression, b"% is an address, which only a linker knows", later.expression, c.p)
            return
        if v.section == -3:
            kind = specifier_of(v.symbol, symbol_end(v.symbol))
        if kind == 0:
            # a literal is the distance to the symbol, as LLVM has it
            kind = relocation_rel32 if later.kind == fixup_literal else relocation_abs64 if later.size == 8 else relocation_abs32
        if self.linkable:
            if later.size == (8 if kind == relocation_rel64 or kind == relocation_abs64 else 4):
                with gil:
                    self.record(later, v, kind)
            else:
                fail(c, later.expression, b"% has another size", later.expression, c.p)
            return
        value = self.symbol_here(v, later.section) - later.place
        if c.failed or (kind != relocation_rel32_low and kind != relocation_rel32_high and kind != relocation_rel64):
            c.failed = False
            self.fail_symbol(later, v)
            return
        self.fill_bytes(later, value >> 32 if kind == relocation_rel32_high else value)

    cdef int64_t symbol_here(self, const Value *v, int32_t section) noexcept nogil:
        """Offset of a symbol of this section, with what is added to it; the cursor fails if it is none."""
        cdef const char *end = v.symbol
        cdef string name
        cdef unordered_map[string, Symbol].iterator found
        while end[0] != c'@' and symbol_end(end) != end:
            end += 1
        name.assign(v.symbol, <size_t>(end - v.symbol))
        found = self.symbols.find(name)
        if found == self.symbols.end() or not self.symbols[name].is_label or self.symbols[name].section != section:
            self.j.c.failed = True
            return 0
        return self.symbols[name].value + v.number

    cdef void record(self, const Fixup *later, const Value *v, uint32_t kind) noexcept:
        cdef const char *end = symbol_end(v.symbol)
        name = (<bytes>v.symbol[:end - v.symbol]).decode(errors="replace").partition("@")[0]
        self.relocations.append((later.section, later.place, kind, name, v.section if v.section >= 0 else -1, v.number))
