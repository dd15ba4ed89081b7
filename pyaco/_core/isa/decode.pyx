"""Machine code to ``Decoded``: one instruction at a time, for GFX6 to GFX12.

The six top bits of the first dword choose the encoding; the opcode number chooses the row of the table, and the row says
which fields hold operands. Field positions: AMD "Southern Islands", "Sea Islands", "Vega", "RDNA 2", "RDNA 3" and "RDNA 4" ISA documents, chapter
"Microcode formats". Reserved bits are ignored here; the disassembler compares with the encoder where they matter.
"""

from isa_decode_tables cimport *
from isa_opcodes cimport *
from isa_tables cimport (image_flag_atomic, image_flag_bias, image_flag_bvh, image_flag_compare, image_flag_gather,
                         image_flag_gradients, image_flag_half_gradients, image_flag_load, image_flag_lod, image_flag_offset,
                         image_flag_sample, image_flag_sampler, image_flag_tensor, isa_generation, opcode_definition_classes,
                         opcode_definition_count, opcode_flag_atomic, opcode_flag_interpolation, opcode_flag_literal, opcode_flag_matrix,
                         opcode_flag_no_address, opcode_flag_tied, opcode_flag_two_offsets, opcode_flags, opcode_format, opcode_image,
                         opcode_implicit_definitions, implicit_exec,
                         opcode_mask_class, opcode_max_definitions, opcode_max_operands, opcode_operand_classes,
                         opcode_operand_count)
from modifiers cimport *
from pyaco._core.common.bits cimport sign_extended
from pyaco._core.common.machine cimport *


# What every step of one decode shares.
cdef struct Reader:
    const uint32_t *words
    uint32_t available
    uint32_t level
    uint32_t generation
    uint32_t length               # dwords consumed so far
    Decoded *out


cdef inline uint32_t bits(uint32_t word, uint32_t first, uint32_t width) noexcept nogil:
    return (word >> first) & ((1U << width) - 1)


cdef inline bint plain_layout(const Reader *r) noexcept nogil:
    """GFX6, GFX7 and GFX10 to GFX11.5 share the positions of several fields that GFX8 and GFX9 moved."""
    return r.level < gfx8 or r.level >= gfx10


cdef inline uint16_t address_of(const Reader *r, uint32_t code) noexcept nogil:
    """Byte address of a 7- to 9-bit operand code."""
    return <uint16_t>(exchanged_code(r.level, code) * 4)


cdef inline uint16_t vgpr(uint32_t number) noexcept nogil:
    return <uint16_t>(register_vgpr0 + number * 4)


cdef inline uint16_t agpr(uint32_t number) noexcept nogil:
    return <uint16_t>(register_agpr0 + number * 4)


cdef inline uint16_t vector_register(uint32_t number, bint accumulation) noexcept nogil:
    return agpr(number) if accumulation else vgpr(number)


cdef inline uint8_t bytes_of(uint8_t register_class) noexcept nogil:
    if register_class == opcode_mask_class:
        return 0
    # the class of a block load, 32 dwords, wraps to 0 (it has the VGPR bit alone)
    return <uint8_t>class_bytes(register_class) if class_bytes(register_class) else 128


cdef inline void add_source(Reader *r, uint16_t address, uint8_t size) noexcept nogil:
    cdef Decoded *out = r.out
    out.source[out.source_count] = address
    out.source_bytes[out.source_count] = size
    out.source_count += 1


cdef inline void add_destination(Reader *r, uint16_t address, uint8_t size) noexcept nogil:
    cdef Decoded *out = r.out
    out.destination[out.destination_count] = address
    out.destination_bytes[out.destination_count] = size
    out.destination_count += 1


cdef inline uint8_t operand_class(const Reader *r, uint32_t position) noexcept nogil:
    return opcode_operand_classes[<uint32_t>r.out.opcode * opcode_max_operands + position]


cdef inline uint8_t operand_size(const Reader *r, uint32_t position) noexcept nogil:
    return bytes_of(operand_class(r, position))


cdef inline uint8_t definition_class(const Reader *r, uint32_t position) noexcept nogil:
    return opcode_definition_classes[<uint32_t>r.out.opcode * opcode_max_definitions + position]


cdef inline uint8_t definition_size(const Reader *r, uint32_t position) noexcept nogil:
    return bytes_of(definition_class(r, position))


cdef int invalid(Reader *r) noexcept nogil:
    r.out.opcode = op_invalid
    r.out.format = 0
    r.out.dwords = 1
    r.out.source_count = 0
    r.out.destination_count = 0
    r.out.has_literal = 0
    r.out.modifiers = 0
    r.out.immediate = 0
    r.out.literal = 0
    return 1


cdef bint _take_wide_literal(Reader *r, uint32_t position) noexcept nogil:
    """Read the two literal dwords that follow; sources of 64 bits have them, which the long forms of vector instructions cannot name."""
    if r.out.source_bytes[position] != 8 or r.out.format & (format_vop3 | format_vop3p):
        return False
    if r.out.has_literal:
        return True
    if r.length + 2 > r.available:
        return False
    r.out.literal = r.words[r.length]
    r.out.immediate = r.words[r.length + 1]
    r.out.has_literal = 1
    r.length += 2
    return True


# Reads the literal dword that follows the encoding; 0 when it is missing.
cdef bint take_literal(Reader *r) noexcept nogil:
    if r.out.has_literal:
        return True
    if r.length >= r.available:
        return False
    r.out.literal = r.words[r.length]
    r.out.has_literal = 1
    r.length += 1
    return True


cdef int finish(Reader *r) noexcept nogil:
    """Takes the literal if a source names it, and closes the instruction."""
    cdef uint32_t i
    for i in range(r.out.source_count):
        if r.out.source[i] == literal_code * 4 and not take_literal(r):
            return invalid(r)
        if r.out.source[i] == wide_literal_code * 4 and r.level >= gfx12_5 and not _take_wide_literal(r, i):
            return invalid(r)
        if r.out.source[i] == 248 * 4 and r.level < gfx8:
            # 1/(2 pi) came with GFX8
            return invalid(r)
    r.out.dwords = <uint8_t>r.length
    return <int>r.length


cdef inline bint has_no_operands(uint32_t opcode) noexcept nogil:
    return opcode_operand_count[opcode] == 0 and opcode_definition_count[opcode] == 0


cdef inline bint begin(Reader *r, uint16_t opcode, uint16_t format, uint32_t length) noexcept nogil:
    if opcode == op_invalid or length > r.available:
        return False
    r.out.opcode = opcode
    r.out.format = format
    r.length = length
    return True


include "decode_scalar.pxi"
include "decode_vector.pxi"
include "decode_memory.pxi"


# -------------------------------------------------------------------------------------------------------------- dispatch
cdef int _decode_vector(Reader *r) noexcept nogil:
    """Words that start with a zero bit: VOP2, and VOPC and VOP1 in its two last opcodes."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t number = bits(word, 25, 6)
    if number == 62:
        return decode_vop_short(r, decode_vopc[r.generation * decode_vopc_width + bits(word, 17, 8)], format_vopc)
    if number == 63:
        return decode_vop_short(r, decode_vop1[r.generation * decode_vop1_width + bits(word, 9, 8)], format_vop1)
    return decode_vop_short(r, decode_vop2[r.generation * decode_vop2_width + number], format_vop2)


cdef int _decode_mubuf_words(Reader *r) noexcept nogil:
    return decode_buffer_words(r, False)


cdef int _decode_mtbuf_words(Reader *r) noexcept nogil:
    return decode_buffer_words(r, True)


cdef int _decode_buffer_12(Reader *r) noexcept nogil:
    """A bit says that an access is typed, in GFX13 the last opcode numbers."""
    if r.level >= gfx13:
        return decode_buffer_words(r, bits(r.words[0], 14, 8) >= first_typed_number)
    return decode_buffer_words(r, bits(r.words[0], 21, 1) != 0)


cdef int _decode_vimage_words(Reader *r) noexcept nogil:
    return decode_mimg_12(r, False)


cdef int _decode_vsample_words(Reader *r) noexcept nogil:
    return decode_mimg_12(r, True)


cdef int _decode_vop3_9(Reader *r) noexcept nogil:
    """GFX8 and GFX9: packed operations lie among the others."""
    return decode_vop3p_words(r) if r.words[0] >> 23 == 0x1a7 and r.level >= gfx9 else decode_vop3_words(r)


cdef int _decode_packed_10(Reader *r) noexcept nogil:
    return decode_vop3p_words(r) if r.words[0] >> 24 == 0xcc else invalid(r)


cdef int _decode_packed_11(Reader *r) noexcept nogil:
    """From GFX11 on, interpolation and parameter loads are beside packed operations."""
    cdef uint32_t top = r.words[0] >> 24
    if top == 0xcd:
        return decode_vinterp_words(r)
    if top == 0xcf and r.level >= gfx12_5:
        return decode_vopd3_words(r)
    return decode_ldsdir_word(r) if top == 0xce else _decode_packed_10(r)


ctypedef int (*WordsDecoder)(Reader *r) noexcept nogil
# By layout (GFX6, GFX8, GFX10, GFX11, GFX12) and the four bits after the first two, which are set: all but vector and scalar ALU.
cdef WordsDecoder wide_words[5][16]


cdef void _fill_wide_words() noexcept nogil:
    cdef uint32_t layout, code
    cdef WordsDecoder *decoders
    for layout in range(5):
        decoders = wide_words[layout]
        for code in range(16):
            decoders[code] = invalid
        decoders[0x6] = decode_ds_words
        decoders[0x7] = decode_flat_words
        decoders[0x8] = _decode_mubuf_words
        decoders[0xa] = _decode_mtbuf_words
        decoders[0xc] = decode_mimg_words
        decoders[0x2] = decode_vintrp_word
    wide_words[0][0x0] = wide_words[0][0x1] = decode_smrd_word
    wide_words[0][0x4] = decode_vop3_words
    wide_words[0][0xe] = decode_exp_words
    decoders = wide_words[1]
    decoders[0x0] = decode_smem_words
    decoders[0x1] = decode_exp_words
    decoders[0x2] = invalid
    decoders[0x4] = _decode_vop3_9
    decoders[0x5] = decode_vintrp_word
    for layout in range(2, 5):
        decoders = wide_words[layout]
        decoders[0x5] = decode_vop3_words
        decoders[0xd] = decode_smem_words
        decoders[0xe] = decode_exp_words
    wide_words[2][0x3] = _decode_packed_10
    wide_words[3][0x3] = wide_words[4][0x3] = _decode_packed_11
    wide_words[3][0x2] = wide_words[4][0x2] = decode_vopd_words
    decoders = wide_words[4]
    decoders[0x7] = decoders[0x8] = decoders[0xa] = decoders[0xc] = invalid
    decoders[0x1] = _decode_buffer_12
    decoders[0x4] = _decode_vimage_words
    decoders[0x9] = _decode_vsample_words
    decoders[0xb] = decode_flat_words

_fill_wide_words()


cdef inline uint32_t _layout_of(uint32_t gfx_level) noexcept nogil:
    return (gfx_level >= gfx8) + (gfx_level >= gfx10) + (gfx_level >= gfx11) + (gfx_level >= gfx12)


cdef int decode(const uint32_t *words, uint32_t available, uint32_t gfx_level, Decoded *out) noexcept nogil:
    cdef Reader r
    cdef uint32_t head = words[0] >> 26
    r.words = words
    r.available = available
    r.level = gfx_level
    r.generation = isa_generation(gfx_level)
    r.length = 1
    r.out = out
    out.source_count = 0
    out.destination_count = 0
    out.has_literal = 0
    out.literal = 0
    out.immediate = 0
    out.modifiers = 0
    if head < 0x20:
        return _decode_vector(&r)
    if head < 0x30:
        return decode_scalar(&r)
    return wide_words[_layout_of(gfx_level)][head & 15](&r)
