"""Sets of temps as bits, with two summaries of the words that are not zero: clearing and walking a set cost what is in it, not the program's size.

Per block a set is kept as a list of words that are not zero, in ascending order: rows ``blocks.live_in_first`` and on of the table
``live_in``.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.common.bits cimport popcount, trailing_zeros64
from pyaco._core.ir.program cimport BlockId, ProgramData

cdef enum:
    no_temp = 0xffffffff

cdef cppclass LiveSet:
    vector[uint64_t] bits            # by temp id
    vector[uint64_t] used            # by word of `bits`: it is not zero
    vector[uint64_t] top             # by word of `used`: it is not zero. Of a million temps it has four words

cdef inline bint bit_test(const uint64_t *row, uint32_t index) noexcept nogil:
    return (row[index >> 6] >> (index & 63)) & 1

cdef inline void bit_insert(uint64_t *row, uint32_t index) noexcept nogil:
    row[index >> 6] |= <uint64_t>1 << (index & 63)

cdef inline void bit_erase(uint64_t *row, uint32_t index) noexcept nogil:
    row[index >> 6] &= ~(<uint64_t>1 << (index & 63))

cdef inline int live_set_init(LiveSet *s, uint32_t temps) except -1 nogil:
    """An empty set for ids below `temps`."""
    s.bits.assign((temps + 63) >> 6, 0)
    s.used.assign((s.bits.size() + 63) >> 6, 0)
    s.top.assign((s.used.size() + 63) >> 6, 0)
    return 0

cdef inline void live_set_clear(LiveSet *s) noexcept nogil:
    cdef uint32_t t, u
    cdef uint64_t parts, words
    for t in range(<uint32_t>s.top.size()):
        parts = s.top[t]
        while parts:
            u = t * 64 + trailing_zeros64(parts)
            words = s.used[u]
            while words:
                s.bits[u * 64 + trailing_zeros64(words)] = 0
                words &= words - 1
            s.used[u] = 0
            parts &= parts - 1
        s.top[t] = 0

cdef inline bint live_test(const LiveSet *s, uint32_t temp) noexcept nogil:
    return bit_test(s.bits.data(), temp)

cdef inline void live_add_word(LiveSet *s, uint32_t word, uint64_t bits) noexcept nogil:
    """Add the temps of a word; `bits` is not zero."""
    if s.bits[word] == 0:
        s.used[word >> 6] |= <uint64_t>1 << (word & 63)
        s.top[word >> 12] |= <uint64_t>1 << (word >> 6 & 63)
    s.bits[word] |= bits

cdef inline void live_insert(LiveSet *s, uint32_t temp) noexcept nogil:
    live_add_word(s, temp >> 6, <uint64_t>1 << (temp & 63))

cdef inline void live_erase(LiveSet *s, uint32_t temp) noexcept nogil:
    cdef uint32_t word = temp >> 6
    bit_erase(s.bits.data(), temp)
    if s.bits[word] == 0:
        bit_erase(s.used.data(), word)
        if s.used[word >> 6] == 0:
            bit_erase(s.top.data(), word >> 6)

cdef inline uint32_t live_word_count(const LiveSet *s) noexcept nogil:
    """How many words are not zero."""
    cdef uint32_t t
    cdef uint32_t count = 0
    cdef uint64_t parts
    for t in range(<uint32_t>s.top.size()):
        parts = s.top[t]
        while parts:
            count += popcount(s.used[t * 64 + trailing_zeros64(parts)])
            parts &= parts - 1
    return count

cdef inline void live_words(const LiveSet *s, uint32_t *word, uint64_t *bits) noexcept nogil:
    """The words that are not zero, in ascending order, of which there are `live_word_count`."""
    cdef uint32_t t, u
    cdef uint64_t parts, words
    for t in range(<uint32_t>s.top.size()):
        parts = s.top[t]
        while parts:
            u = t * 64 + trailing_zeros64(parts)
            words = s.used[u]
            while words:
                word[0] = u * 64 + trailing_zeros64(words)
                bits[0] = s.bits[word[0]]
                word += 1
                bits += 1
                words &= words - 1
            parts &= parts - 1

cdef inline uint32_t live_next_word(const LiveSet *s, uint32_t word) noexcept nogil:
    """The first word from `word` on that is not zero, or no_temp."""
    cdef uint32_t u = word >> 6
    cdef uint32_t t
    cdef uint64_t words
    if u >= s.used.size():
        return no_temp
    words = s.used[u] >> (word & 63) << (word & 63)
    if words:
        return u * 64 + trailing_zeros64(words)
    u += 1
    t = u >> 6
    if t >= s.top.size():
        return no_temp
    words = s.top[t] >> (u & 63) << (u & 63)
    while not words:
        t += 1
        if t >= s.top.size():
            return no_temp
        words = s.top[t]
    u = t * 64 + trailing_zeros64(words)
    return u * 64 + trailing_zeros64(s.used[u])

cdef inline uint32_t live_next(const LiveSet *s, uint32_t temp) noexcept nogil:
    """The first temp from `temp` on that is in the set, or no_temp."""
    cdef uint32_t word = temp >> 6
    cdef uint64_t bits
    if word >= s.bits.size():
        return no_temp
    bits = s.bits[word] >> (temp & 63) << (temp & 63)
    if not bits:
        word = live_next_word(s, word + 1)
        if word == no_temp:
            return no_temp
        bits = s.bits[word]
    return word * 64 + trailing_zeros64(bits)

cdef inline void live_add_row(LiveSet *s, const ProgramData *p, BlockId block) noexcept nogil:
    """Add the temps that are live at the start of a block."""
    cdef uint32_t k
    for k in range(p.blocks.live_in_first[block], p.blocks.live_in_first[block] + p.blocks.live_in_count[block]):
        live_add_word(s, p.live_in.word[k], p.live_in.bits[k])

cdef inline uint32_t live_count(const ProgramData *p, BlockId block) noexcept nogil:
    """How many temps are live at the start of a block."""
    cdef uint32_t k
    cdef uint32_t count = 0
    for k in range(p.blocks.live_in_first[block], p.blocks.live_in_first[block] + p.blocks.live_in_count[block]):
        count += popcount(p.live_in.bits[k])
    return count
