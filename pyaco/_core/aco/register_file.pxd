"""The register file during allocation: who owns which byte, seen before and after one instruction.

An instruction splits time in two: its operands are read from the *before* view, its definitions are written into the
*after* view. A value that lives through the instruction owns its registers in both, a killed operand only before, a
definition only after. Each view is a column of owners by dword register (SGPR n at n, VGPR n at 256 + n) plus one busy bit
per register, so that gaps are found with bit operations. A dword shared by sub-dword values has the owner
``owner_partial`` and its four bytes are in ``bytes``.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from pyaco._core.common.bits cimport align_up, trailing_zeros64

cdef enum:
    file_size = 512
    view_before = 0
    view_after = 1
    in_before = 1
    in_after = 2
    in_both = 3
    owner_partial = 0xfffffffe
    owner_blocked = 0xffffffff        # taken for this instruction by something that is no temp

cdef struct RegisterFile:
    uint32_t owner[2][512]
    uint32_t bytes[2][512][4]
    uint64_t busy[2][8]

cdef inline void file_clear_all(RegisterFile *f) noexcept nogil:
    # `bytes` of a register are cleared when it gets its first owner of less than a dword.
    memset(f.owner, 0, sizeof(f.owner))
    memset(f.busy, 0, sizeof(f.busy))

cdef inline void file_put_bytes(RegisterFile *f, int view, uint32_t address, uint32_t size, uint32_t id) noexcept nogil:
    """Give parts of registers to `id`."""
    cdef uint32_t i
    cdef uint32_t r
    for i in range(address, address + size):
        r = i >> 2
        if f.owner[view][r] != <uint32_t>owner_partial:
            memset(f.bytes[view][r], 0, 16)
            f.owner[view][r] = <uint32_t>owner_partial
            f.busy[view][r >> 6] |= <uint64_t>1 << (r & 63)
        f.bytes[view][r][i & 3] = id
        if not id and not (f.bytes[view][r][0] | f.bytes[view][r][1] | f.bytes[view][r][2] | f.bytes[view][r][3]):
            f.owner[view][r] = 0
            f.busy[view][r >> 6] &= ~(<uint64_t>1 << (r & 63))

cdef inline void file_put_register(RegisterFile *f, int view, uint32_t r, uint32_t id) noexcept nogil:
    cdef uint64_t bit = <uint64_t>1 << (r & 63)
    f.owner[view][r] = id
    f.busy[view][r >> 6] = (f.busy[view][r >> 6] | bit) ^ (0 if id else bit)

cdef inline void file_put_any(RegisterFile *f, int views, uint32_t address, uint32_t size, uint32_t id) noexcept nogil:
    cdef uint32_t r
    if (address | size) & 3:
        if views & in_before:
            file_put_bytes(f, view_before, address, size, id)
        if views & in_after:
            file_put_bytes(f, view_after, address, size, id)
        return
    for r in range(address >> 2, (address + size) >> 2):
        if views & in_before:
            file_put_register(f, view_before, r, id)
        if views & in_after:
            file_put_register(f, view_after, r, id)

cdef inline void file_put(RegisterFile *f, int views, uint32_t address, uint32_t size, uint32_t id) noexcept nogil:
    """Give `size` bytes from byte address `address` to `id` in some views; 0 frees them."""
    if size != 4 or address & 3:
        file_put_any(f, views, address, size, id)
        return
    if views & in_before:
        file_put_register(f, view_before, address >> 2, id)
    if views & in_after:
        file_put_register(f, view_after, address >> 2, id)

cdef inline bint file_taken_view(const RegisterFile *f, int view, uint32_t address, uint32_t size) noexcept nogil:
    cdef uint32_t i
    cdef uint32_t r = address >> 2
    cdef uint32_t last = (address + size - 1) >> 2
    while r <= last:
        if f.owner[view][r]:
            if f.owner[view][r] != <uint32_t>owner_partial:
                return True
            for i in range(4):
                if f.bytes[view][r][i] and address <= r * 4 + i < address + size:
                    return True
        r += 1
    return False

cdef inline bint file_taken(const RegisterFile *f, int views, uint32_t address, uint32_t size) noexcept nogil:
    if views & in_before and file_taken_view(f, view_before, address, size):
        return True
    return (views & in_after) != 0 and file_taken_view(f, view_after, address, size)

# First bit at or after `position` that is set in `words` (of 512 bits, each XORed with `flip`), or `limit`.
cdef inline uint32_t bits_next(const uint64_t *words, uint64_t flip, uint32_t position, uint32_t limit) noexcept nogil:
    cdef uint64_t word
    while position < limit:
        word = (words[position >> 6] ^ flip) >> (position & 63)
        if word:
            position += trailing_zeros64(word)
            return position if position < limit else limit
        position = (position | 63) + 1
    return limit

# The first bit of [low, high) that is set in `free` with neighbours that are not, or -1; beyond that range none is set.
cdef inline int bits_lonely(const uint64_t *free, uint32_t low, uint32_t high) noexcept nogil:
    cdef uint32_t w
    cdef uint64_t word
    cdef uint64_t before = 0
    cdef uint64_t after
    cdef uint32_t end = (high + 63) >> 6
    for w in range(low >> 6, end):
        word = free[w]
        after = free[w + 1] << 63 if w + 1 < end else 0
        after = word & ~(word << 1 | before | word >> 1 | after)
        if after:
            return <int>(w * 64 + trailing_zeros64(after))
        before = word >> 63
    return -1

# The smallest gap of `free` in [low, high) that holds `size` registers at a multiple of `align`: its position or -1.
cdef inline int bits_best_gap(const uint64_t *free, uint32_t low, uint32_t high, uint32_t size, uint32_t align) noexcept nogil:
    cdef int best = -1
    cdef uint32_t best_size = 0xffffffffU
    cdef uint32_t start = bits_next(free, 0, low, high)
    cdef uint32_t end
    cdef uint32_t aligned
    while start < high:
        end = bits_next(free, 0xffffffffffffffffULL, start, high)
        aligned = <uint32_t>align_up(start, align)
        if aligned + size <= end and end - start < best_size:
            best = <int>aligned
            best_size = end - start
            if best_size == size:
                return best
        start = bits_next(free, 0, end, high)
    return best
