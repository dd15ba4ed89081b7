# Lane control of short encodings: the dword behind the first one, and what a line says of it behind its operands.
#
# Lines with DPP and SDWA that are all different have few lane controls and few opcodes, in many combinations. The template of an opcode's form
# takes any lane control that some line of the encoding has had, whatever its opcode: where no source has a sign or another size than its
# register's, and nothing changes the result, only the encoding decides whether there is text for it.
cdef enum:
    lane_control = format_sdwa | format_dpp16 | format_dpp8


cdef bint _has_tail(const Decoded *d, uint32_t level, uint32_t control) noexcept nogil:
    """Whether an instruction has nothing but registers and such a lane control: the dword `control`."""
    cdef uint32_t other                # bits that make it more than a lane control
    if d.format & lane_control == 0 or d.format & ~<uint32_t>(valu_one_dword | lane_control) or d.destination_count != 1:
        return False
    if (gfx90a <= level < gfx10) or level == gfx12_51 or unaligned_result(d.opcode) or d.opcode == op_v_pk_fmac_f16 or _converts_byte(d.opcode):
        # 64-bit operations of these generations take some lane controls alone
        return False
    other = 0 if d.format & format_dpp8 else 0xf00000 if d.format & format_dpp16 else 0xf8f80000 if d.format & format_vopc else 0xf8f8e000
    if control & other or (d.format & format_vopc and level == gfx8 and control & 0x2000):
        return False
    return _has_whole_registers(d, level) and takes_any_source(d)


cdef inline uint32_t _tail_class(const Decoded *d) noexcept nogil:
    """The encoding, never 0."""
    return d.format >> 7 & 7 | d.format >> 9 & 0x38 | <uint32_t>(modifier_dpp8_fetch_inactive(d.modifiers) if d.format & format_dpp8 else 0) << 6


cdef inline void _tail_bits(const Decoded *d, uint32_t level, ValueBits *bits) noexcept nogil:
    """The bits of the control: all but the first source and, of comparisons with SDWA, the destination."""
    cdef uint32_t first = 16 if d.format & format_sdwa and d.format & format_vopc and level >= gfx9 else 8
    bits.word = 1
    bits.rotation = <uint8_t>first
    bits.mask = 0xffffffffU >> first


cdef inline uint32_t _tail_slot(const Tails *tails, uint32_t key) noexcept nogil:
    """The slot of a key, or the empty one where it belongs."""
    cdef uint32_t slot = key * 0x9e3779b1U >> 22
    while tails.slots[slot] and tails.items[tails.slots[slot] - 1].key != key:
        slot = (slot + 1) & (tail_slots - 1)
    return slot


cdef inline bint put_tail(Printer *t, uint32_t key) noexcept nogil:
    """Print a lane control; returns whether it is known."""
    cdef uint32_t number = t.tails.slots[_tail_slot(t.tails, key)]
    if number == 0:
        return False
    t.p = _copy_span(t.p, t.tails.items[number - 1].text)
    return True
