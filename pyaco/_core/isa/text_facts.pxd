"""What text needs to know of opcodes, suffixes, directives and counters beyond the opcode table."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from isa_opcodes cimport *

# Facts of an opcode; ``isa/text_tables.py`` fills them.
cdef enum:
    fact_packed = 1                   # constants stand for 16-bit values in both halves
    fact_scalar_half = 2              # a scalar operation on 16 bits
    fact_floating = 4                 # constants are floating-point numbers
    fact_multiply_constant = 8        # D = src0 * K + src1: text has the literal between the sources
    fact_swaps = 0x10
    fact_mixes = 0x20
    fact_branch = 0x40
    fact_cmpx = 0x80
    fact_setreg = 0x100
    fact_getreg = 0x200
    fact_message = 0x400
    fact_immediate = 0x800
    fact_optional = 0x1000            # the immediate may be left out
    fact_prefetch = 0x2000
    fact_compare_swap = 0x4000
    fact_loads = 0x8000               # memory to register: whose temporal hints are those of loads
    fact_absent = 0x10000             # this chip has no such opcode although its generation has
    fact_wave32 = 0x80000             # waves of 64 lanes lack it on this chip
    fact_waits_with_register = 0x100000  # waits of SOPK, whose register has to be null
    fact_signed = 0x200000            # source modifiers that the compiler does not use, but the hardware has
    fact_opsel_lanes = 0x400000       # op_sel bits of VOP3 that are no halves of registers
    fact_opsel_other = 0x800000       # the same, among operands of 32 bits
    fact_without_opsel_12 = 0x1000000  # 16-bit integer operations that GFX12's default syntax gives no op_sel
    fact_plain_dot = 0x2000000        # dot products without op_sel and clamp
    fact_double_matrix = 0x4000000
    fact_scope_alone = 0x8000000      # cache control with a scope but no temporal hint
    fact_bfloat = 0x20000000          # 16-bit constants are bfloat16
    fact_wave_matrix = 0x40000000     # matrix operations of GFX11 and later, whose registers depend on the wave size
    fact_unpacked = 0x80000000        # GFX8 before gfx810: a 16-bit channel takes a whole register
    fact_writes_byte = 0x10000000     # before GFX12, all four bits of op_sel count, whatever the number of sources
    fact_global_wave_sync = 0x20000   # LDS instructions that keep gds where data shares have lost it
    fact_typed_matrix = 0x40000       # cbsz and blgp are the element types of A and B

# What a name says beside its opcode; ``isa/text_facts.py`` has the same.
cdef enum:
    alias_signed = 0x10000            # a dot product of signed numbers, whose opcode leaves signs to neg_lo
    alias_long = 0x20000              # the long form

cdef enum:
    suffix_e32 = 1
    suffix_e64
    suffix_sdwa
    suffix_dpp
    suffix_e64_dpp

# Directives; those of data are their size.
cdef enum:
    directive_ignored
    directive_byte = 1
    directive_short = 2
    directive_long = 4
    directive_quad = 8
    directive_set = 16
    directive_uleb                    # LEB128
    directive_sleb
    directive_float
    directive_double
    directive_zero
    directive_fill
    directive_p2align
    directive_p2alignl                # filled with a value of four bytes
    directive_balign
    directive_ascii
    directive_asciz
    directive_text
    directive_data
    directive_rodata
    directive_section
    directive_metadata
    directive_kernel
    directive_declaration             # of a symbol, or of the target: kept for whoever writes an object file

cdef inline uint32_t unpacked_dwords(uint32_t opcode) noexcept nogil:
    """Registers of a buffer access with 16-bit channels where each takes one."""
    if opcode == op_buffer_load_format_d16_x or opcode == op_buffer_store_format_d16_x \
            or opcode == op_tbuffer_load_format_d16_x or opcode == op_tbuffer_store_format_d16_x:
        return 1
    if opcode == op_buffer_load_format_d16_xy or opcode == op_buffer_store_format_d16_xy \
            or opcode == op_tbuffer_load_format_d16_xy or opcode == op_tbuffer_store_format_d16_xy:
        return 2
    if opcode == op_buffer_load_format_d16_xyz or opcode == op_buffer_store_format_d16_xyz \
            or opcode == op_tbuffer_load_format_d16_xyz or opcode == op_tbuffer_store_format_d16_xyz:
        return 3
    return 4


cdef inline uint32_t index_limit(uint32_t opcode, uint32_t wave) noexcept nogil:
    """Largest index_key of a sparse matrix operation: which part of the index register it reads."""
    if opcode == op_v_swmmac_i32_16x16x64_iu4:
        return wave - 1
    return 1 if wave == 1 or opcode == op_v_swmmac_i32_16x16x32_iu4 else 3


cdef inline bint selects_byte_and_half(uint32_t opcode) noexcept nogil:
    """Conversions between 8 and 16 bits of GFX12.5: op_sel has a byte of one operand and a half of another."""
    return opcode == op_v_cvt_f16_fp8 or opcode == op_v_cvt_f16_bf8 or opcode == op_v_cvt_sr_fp8_f16 or opcode == op_v_cvt_sr_bf8_f16


cdef inline bint reads_again(uint32_t opcode) noexcept nogil:
    """Whether a wave matrix operation of GFX12.5 can keep its operands for the next one: all but those of GFX12 and one of 4 bits."""
    return opcode != op_v_wmma_f32_32x16x128_f4 and not op_v_wmma_f32_16x16x16_f16_gfx12 <= opcode <= op_v_swmmac_f32_16x16x32_bf8_bf8


cdef inline bint loads_scales(uint32_t opcode) noexcept nogil:
    """Whether the words of an instruction are those of a scaled matrix operation if a matrix operation follows."""
    return opcode == op_v_wmma_ld_scale_paired_b32 or opcode == op_v_wmma_ld_scale16_paired_b64 or opcode == op_v_mfma_ld_scale_b32


cdef inline bint takes_doubles(uint32_t opcode) noexcept nogil:
    """Packed and matrix operations of gfx1251 whose elements, and constants, have 64 bits."""
    return op_v_pk_fma_f64 <= opcode <= op_v_wmma_f64_16x16x4_f64


cdef inline bint selects_scale(uint32_t opcode) noexcept nogil:
    """Scaled conversions of GFX12.5 to wider types: op_sel is the number of a scale."""
    return op_v_cvt_scale_pk8_f16_fp4 <= opcode <= op_v_cvt_scale_pk8_f32_bf8 \
        or op_v_cvt_scale_pk16_f16_fp6 <= opcode <= op_v_cvt_scale_pk16_f32_bf6 \
        or op_v_cvt_scale_pk32_bf16_bf6 <= opcode <= op_v_cvt_scale_pk32_f32_fp6


cdef inline bint is_wide_inline(uint64_t value) noexcept nogil:
    """Whether a constant of 64 bits has an inline code."""
    cdef uint64_t magnitude = value & 0x7fffffffffffffffULL
    if value <= 64 or value >= <uint64_t>-16 or value == 0x3fc45f306dc9c882ULL:
        return True
    return magnitude & 0xfffffffffffffULL == 0 and 0x3fe <= (magnitude >> 52) <= 0x401


cdef inline bint shorter_literal(int64_t value, bint floating) noexcept nogil:
    """Whether a value of 64 bits has an inline code, or a literal of one dword: the high half of a floating-point number, else a positive number.

    Of a floating-point number, an integer that one dword can have is the high half.
    """
    if is_wide_inline(<uint64_t>value):
        return True
    if floating:
        return -0x80000000LL <= value <= 0xffffffffLL or value & 0xffffffffLL == 0
    return 0 <= value <= 0x7fffffffLL


cdef inline uint32_t transposed_dwords(uint32_t opcode, uint32_t wave, uint32_t dwords) noexcept nogil:
    """Dwords that a transposing load of GFX12 gives each lane: half as many in a wave of twice as many lanes."""
    return dwords >> 1 if wave == 2 and (opcode == op_global_load_tr_b128 or opcode == op_global_load_tr_b64) else dwords


cdef inline uint32_t wave_dwords(uint32_t facts, uint32_t level, uint32_t wave, uint32_t position, uint32_t dwords) noexcept nogil:
    """Dwords of an operand (3: the result) of a matrix operation; those of wave64 (`wave` 2) hold half as much a lane.

    Before GFX11.7 A and B are repeated in both halves of the wave, so that only C and D shrink.
    """
    if not facts & fact_wave_matrix or wave != 2 or dwords == 1 or (level < 117 and position < 2):
        return dwords
    return dwords >> 1
