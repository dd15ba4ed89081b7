"""What machine code and ACO IR share: registers, register classes, formats and gfx levels. Kept apart from the IR, so that codecs need not
cimport it.

The comment of an enum gives its name in Python, where ``tools/write_vocabulary.py`` writes it to ``vocabulary.py``.
"""
from libc.stdint cimport uint16_t, uint32_t, uint8_t

# ---------------------------------------------------------------------------------------------------------- registers
# A physical register is a byte address: SGPR n at 4n, VGPR n at 4(256 + n).
cdef enum:                        # Register: byte addresses of the special ones
    register_vcc = 106 * 4
    register_vcc_hi = 107 * 4
    register_m0 = 124 * 4         # the assembler swaps m0 and null on GFX11+
    register_null = 125 * 4
    register_exec = 126 * 4
    register_exec_hi = 127 * 4
    register_scc = 253 * 4
    register_vgpr0 = 256 * 4
    register_agpr0 = 512 * 4      # accumulation registers of CDNA
    register_none = 0xffff

# ---------------------------------------------------------------------------------------------------- register classes
# Bits 0-4 size (dwords, or bytes when bit 6 is set), bit 5 VGPR, bit 6 sub-dword, bit 7 linear (lives through linear
# edges; SGPRs always do). s1 = 1, v1 = 0x21, v2b = 0x62, linear v1 = 0xa1.
cdef enum:                        # RegisterClass: those that ACO IR is built with
    class_s1 = 1
    class_s2 = 2
    class_s3 = 3
    class_s4 = 4
    class_s8 = 8
    class_s16 = 16
    class_v1 = 0x21
    class_v2 = 0x22
    class_v3 = 0x23
    class_v4 = 0x24
    class_v1b = 0x61
    class_v2b = 0x62
    class_v3b = 0x63
    class_v1_linear = 0xa1

cdef inline bint class_is_vgpr(uint8_t register_class) noexcept nogil:
    return (register_class & 0x20) != 0

cdef inline bint class_is_subdword(uint8_t register_class) noexcept nogil:
    return (register_class & 0x40) != 0

# True for SGPRs and linear VGPRs: live through the linear CFG.
cdef inline bint class_is_linear(uint8_t register_class) noexcept nogil:
    return (register_class & 0x80) != 0 or (register_class & 0x20) == 0

cdef inline bint class_is_linear_vgpr(uint8_t register_class) noexcept nogil:
    return (register_class & 0x80) != 0

cdef inline uint32_t class_bytes(uint8_t register_class) noexcept nogil:
    return (register_class & 0x1f) if register_class & 0x40 else <uint32_t>(register_class & 0x1f) * 4

# Size in dwords, sub-dword classes rounded up.
cdef inline uint32_t class_dwords(uint8_t register_class) noexcept nogil:
    return (class_bytes(register_class) + 3) >> 2

# The class of `bytes` bytes of a VGPR (sub-dword when not a multiple of four) or an SGPR.
cdef inline uint8_t class_of_bytes(bint vgpr, uint32_t bytes) noexcept nogil:
    if not vgpr:
        return <uint8_t>((bytes + 3) >> 2)
    return <uint8_t>(0x60 | bytes) if bytes & 3 else <uint8_t>(0x20 | (bytes >> 2))

# -------------------------------------------------------------------------------------------------------------- formats
cdef enum:                        # Format: of an instruction's encoding
    format_pseudo = 0
    format_pseudo_branch = 1
    format_pseudo_barrier = 2
    format_pseudo_reduction = 3
    format_sop1 = 4
    format_sop2 = 5
    format_sopk = 6
    format_sopp = 7
    format_sopc = 8
    format_smem = 9
    format_ds = 10
    format_ldsdir = 11
    format_mtbuf = 12
    format_mubuf = 13
    format_mimg = 14
    format_exp = 15
    format_flat = 16
    format_global = 17
    format_scratch = 18
    format_vintrp = 19
    format_vinterp_inreg = 20
    format_vopd = 21
    format_base_mask = 0x7f
    # vector ALU formats: bits that combine (a VOP2 instruction in VOP3 encoding has both)
    format_vop1 = 0x80
    format_vop2 = 0x100
    format_vopc = 0x200
    format_vop3 = 0x400
    format_vop3p = 0x800
    format_sdwa = 0x1000
    format_dpp16 = 0x2000
    format_dpp8 = 0x4000

cdef inline bint format_is_valu(uint16_t format) noexcept nogil:
    return (format & 0xf80) != 0 or format == format_vinterp_inreg or format == format_vopd

cdef inline bint format_is_salu(uint16_t format) noexcept nogil:
    return format_sop1 <= format <= format_sopc

cdef inline bint format_is_flat_like(uint16_t format) noexcept nogil:
    return format_flat <= format <= format_scratch

cdef inline bint format_is_vmem(uint16_t format) noexcept nogil:
    return format == format_mtbuf or format == format_mubuf or format == format_mimg

cdef inline bint format_is_pseudo(uint16_t format) noexcept nogil:
    return format <= format_pseudo_reduction

# ---------------------------------------------------------------------------------------------------------- gfx levels
cdef enum:                        # GfxLevel: values of gfx_level; comparisons by order are meaningful
    gfx6 = 60
    gfx7 = 70
    gfx8 = 80
    gfx9 = 90
    gfx908 = 91                   # CDNA 1 to 4 descend from GFX9
    gfx90a = 92
    gfx942 = 94
    gfx950 = 95
    gfx10 = 100
    gfx10_3 = 103
    gfx11 = 110
    gfx11_5 = 115
    gfx11_7 = 117
    gfx12 = 120
    gfx12_5 = 125
    gfx12_51 = 126
    gfx13 = 130
