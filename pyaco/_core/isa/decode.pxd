"""One instruction in the vocabulary of ACO IR, decoded from machine code or about to be encoded.

Registers are byte addresses as in ``common/machine.pxd``: SGPR n at 4n, VGPR n at 4(256 + n), + 2 for the high half of a 16-bit
operand, constants as their source code * 4 (128..208 integers, 240..248 floats, 255 a literal). ``m0`` and
``null`` are always ``register_m0`` and ``register_null``, whatever the generation. An operand that the instruction does not use
("off") is ``register_none``.

Order of the sources:

- scalar and vector ALU: ACO's operands without implicit scc, vcc, exec and m0; a destination that is read too (``v_fmac``,
  ``s_addk``, ``v_writelane``) is a source too, at its position in ACO's order; lane masks are sources and destinations even where the
  encoding implies vcc (``v_cndmask``, ``v_addc_co_u32``, VOPC). A literal of ``v_fmaak``/``v_fmamk`` is the last source (255 * 4).
- SMEM: base, offset register (none), data of a store or atomic. MUBUF, MTBUF: resource, vaddr (none), soffset, data.
- FLAT, GLOBAL, SCRATCH: vaddr (none), saddr (none), data. DS: those of addr, data0, data1 that the opcode has.
- MIMG: resource, sampler (none), data of a store or atomic (none), then the addresses: one register of all dwords (their
  number is not known before GFX10), or several where the words name them one by one ("NSA", and always on GFX12): their last
  may have several dwords, those of a ray are one vector each from GFX11 on. EXP: four values.
- Interpolation in VOP3: the sources without the attribute; bit 0 of ``neg`` and ``abs`` is that of the first.
- VOPD: src0, src1 (none) of the first half, then of the second; the destinations are those of the halves.

A 16-bit operand in the high half of its register has bit 1 of its address set, and its bit of the ``opsel`` modifier; both
say the same. In VOP3P the opsel modifiers choose halves for the two lanes of packed operations and addresses stay whole.

``immediate``: SOPK and SOPP simm16 (zero-extended), memory offsets in bytes (sign-extended to 32 bits; on GFX7 a long
scalar one is also the literal, in dwords), DS offset0 in bits
0-15 and offset1 in bits 16-23.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.common.machine cimport gfx11, register_m0, register_null

cdef inline uint32_t exchanged_code(uint32_t level, uint32_t code) noexcept nogil:
    """The operand code in the words of a level for the number of a register, or back: GFX11 exchanged the codes of m0 and null."""
    return code ^ 1 if level >= gfx11 and (code == register_m0 >> 2 or code == register_null >> 2) else code

cdef enum:
    no_address_code = 0x7f            # of a scalar address, where there is none: before GFX10, and of scratch without any address on GFX10

cdef enum:
    decoded_source_limit = 18

cdef struct Decoded:
    uint16_t opcode                   # op_*; 0xffff: not an instruction of this gfx level
    uint16_t format                   # format_* bits as the words have it (VOP3, DPP and SDWA bits included)
    uint8_t dwords                    # length; 1 where opcode is 0xffff
    uint8_t source_count
    uint8_t destination_count
    uint8_t has_literal
    uint16_t source[decoded_source_limit]
    uint8_t source_bytes[decoded_source_limit]  # 0: a lane mask, as wide as the wave
    uint16_t destination[3]
    uint8_t destination_bytes[3]      # 0: a lane mask
    uint32_t literal                  # value of source 255 * 4
    uint32_t immediate
    uint64_t modifiers                # modifier_* of modifiers.pxd

# Decodes the instruction at `words`, of which `available` dwords may be read (at least one). Never reads beyond them and
# accepts any bit pattern. Returns the length in dwords.
cdef int decode(const uint32_t *words, uint32_t available, uint32_t gfx_level, Decoded *out) noexcept nogil

# Dwords of the addresses of an image access, 0 before GFX10, whose words do not tell the dimensions.
cdef uint32_t image_address_dwords(uint32_t opcode, uint32_t dim, bint a16, uint32_t gfx_level) noexcept nogil

# Whether an LDS opcode has data and no address: its register may be an AGPR.
cdef bint synchronises_globally(uint32_t opcode) noexcept nogil
