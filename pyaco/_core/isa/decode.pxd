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
- VOPD: src0, src1 (none) of the first half, then of the second; the destinations are those of the halves. VOPD3 (format_vopd | format_vop3) has
  three sources a half; the truth table of ``v_dual_bitop2_b32`` is the immediate.
- A scaled matrix operation of GFX12.5: A, B, C and the scales of A and B. Tensors: four groups of scalar registers, the last two may be none.

A 16-bit operand in the high half of its register has bit 1 of its address set, and its bit of the ``opsel`` modifier; both
say the same. In VOP3P the opsel modifiers choose halves for the two lanes of packed operations and addresses stay whole.

``immediate``: SOPK and SOPP simm16 (zero-extended), memory offsets in bytes (sign-extended to 32 bits; on GFX7 a long
scalar one is also the literal, in dwords), the high half of a literal of 64 bits, DS offset0 in bits
0-15 and offset1 in bits 16-23.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from modifiers cimport modifier_opsel, modifier_opsel_hi
from pyaco._core.common.machine cimport gfx10, gfx11, gfx12_5, gfx13, gfx90a, register_m0, register_null

cdef inline uint32_t exchanged_code(uint32_t level, uint32_t code) noexcept nogil:
    """The operand code in the words of a level for the number of a register, or back: GFX11 exchanged the codes of m0 and null."""
    return code ^ 1 if level >= gfx11 and (code == register_m0 >> 2 or code == register_null >> 2) else code

cdef enum:
    no_address_code = 0x7f            # of a scalar address, where there is none: before GFX10, and of scratch without any address on GFX10

cdef enum:
    literal_code = 255
    wide_literal_code = 254           # GFX12.5: a literal of two dwords; before GFX11 LDS at m0
    decoded_source_limit = 18
    first_typed_number = 0xe0         # of buffers, in GFX13, whose typed accesses have no encoding of their own

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
    uint32_t literal                  # value of source 255 * 4, or the low half of that of source 254 * 4 (the immediate is the high one)
    uint32_t immediate
    uint64_t modifiers                # modifier_* of modifiers.pxd

# Decodes the instruction at `words`, of which `available` dwords may be read (at least one). Never reads beyond them and
# accepts any bit pattern. Returns the length in dwords.
cdef int decode(const uint32_t *words, uint32_t available, uint32_t gfx_level, Decoded *out) noexcept nogil

# Dwords of the addresses of an image access, 0 before GFX10, whose words do not tell the dimensions.
cdef uint32_t image_address_dwords(uint32_t opcode, uint32_t dim, bint a16, uint32_t gfx_level) noexcept nogil

# Whether an LDS opcode has data and no address: its register may be an AGPR.
cdef bint synchronises_globally(uint32_t opcode) noexcept nogil


cdef inline bint adds_to_result(uint32_t opcode) noexcept nogil:
    """Halves of dual instructions whose last operand is the result."""
    return opcode == op_v_dual_fmac_f32 or opcode == op_v_dual_dot2acc_f32_f16 or opcode == op_v_dual_dot2acc_f32_bf16


cdef inline bint chooses_element_type(uint32_t opcode) noexcept nogil:
    """Wave matrix operations of GFX12.5 whose op_sel and op_sel_hi are the types of the elements of A and B."""
    return (opcode == op_v_wmma_f32_16x16x128_f8f6f4 or opcode == op_v_wmma_scale_f32_16x16x128_f8f6f4
            or opcode == op_v_wmma_scale16_f32_16x16x128_f8f6f4)


cdef inline uint8_t wave_matrix_bytes(const Decoded *d, uint32_t position, uint8_t widest) noexcept nogil:
    """Size of a source of a wave matrix operation: elements of 8 (0, 1), 6 (2, 3) or 4 bits (4), if there is a choice."""
    cdef uint32_t type_code
    if position > 1 or not chooses_element_type(d.opcode):
        return widest
    type_code = <uint32_t>(modifier_opsel_hi(d.modifiers) if position else modifier_opsel(d.modifiers)) & 7
    if type_code == 2 or type_code == 3:
        return 48
    return 32 if type_code == 4 else widest


cdef inline bint aligns_vectors(uint32_t level) noexcept nogil:
    """Whether tuples of vector registers start at an even number."""
    return gfx90a <= level < gfx10 or gfx12_5 <= level < gfx13


cdef inline bint unaligned_result(uint32_t opcode) noexcept nogil:
    """Transposing loads of three dwords, whose result alone starts anywhere."""
    return opcode == op_ds_read_b96_tr_b6 or opcode == op_ds_load_tr6_b96 or opcode == op_global_load_tr6_b96
