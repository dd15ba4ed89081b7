// What a texel's coordinates give to its offset, digit by digit: a permutation of a vector looks up sixteen digits of four bits, or eight of three, at once.
//
// The tables of a level's axes (`ImageAxis`) come from equations that are linear in the bits of a coordinate, so an entry is joined from entries for
// its digits: by xor in the bits `low`, by addition above. An axis that is not like that (a view whose first slice splits a digit) says so.
#pragma once
#include "image_rows.h"

enum { digits_of_four = 5, digits_of_three = 7 };

struct TexelDigits {
    alignas(64) uint32_t four[3][digits_of_four][16];        // by axis, digit from the lowest on, and value
    alignas(32) uint32_t three[3][digits_of_three][8];
    // By whether the third axis counts: how many digits the longest coordinate has (0: some axis' entries are not joined from those of digits), and whether
    // parts above `low` have bits in common.
    uint8_t fours[2], threes[2], carries[2];
};

// What joins two parts of an offset.
static inline uint32_t join_entries(uint32_t one, uint32_t other, uint32_t low) {
    return ((one & ~low) + (other & ~low)) | ((one ^ other) & low);
}

// What a digit changes of the first entry; digits that no texel has change nothing.
static inline uint32_t digit_entry(const uint32_t *entry, uint32_t size, uint32_t texel, uint32_t low) {
    if (texel >= size)
        return 0;
    return ((entry[texel] & ~low) - (entry[0] & ~low)) | ((entry[texel] ^ entry[0]) & low);
}

template <int bits, int count>
static inline void fill_digits(const uint32_t *entry, uint32_t size, uint32_t low, uint32_t (*digit)[1 << bits]) {
    for (int number = 0; number < count; ++number)
        for (uint32_t value = 0; value < 1u << bits; ++value)
            digit[number][value] = digit_entry(entry, size, value << (bits * number), low);
    for (uint32_t value = 0; value < 1u << bits; ++value)
        digit[0][value] = join_entries(digit[0][value], entry[0], low);
}

template <int bits, int count>
static inline bool are_digits(const uint32_t *entry, uint32_t size, uint32_t low, const uint32_t (*digit)[1 << bits]) {
    for (uint32_t texel = 0; texel < size; ++texel) {
        uint32_t joined = 0;
        for (int number = 0; number < count; ++number)
            joined = join_entries(joined, digit[number][texel >> (bits * number) & ((1 << bits) - 1)], low);
        if (joined != entry[texel])
            return false;
    }
    return true;
}

// The bits above `low` that an axis' digits may set; `carries`: whether two of them may set the same, or one of `taken`.
template <int bits, int count>
static inline uint32_t bits_of_digits(const uint32_t (*digit)[1 << bits], uint32_t low, uint32_t taken, bool &carries) {
    for (int number = 0; number < count; ++number) {
        uint32_t found = 0;
        for (uint32_t value = 0; value < 1u << bits; ++value)
            found |= digit[number][value] & ~low;
        carries = carries || (found & taken);
        taken |= found;
    }
    return taken;
}

// Make the tables of a level whose axes have theirs.
static inline void find_digits(const ImageTexels &level, TexelDigits &digits) {
    uint32_t taken_by_fours = 0, taken_by_threes = 0, bits = 1;
    bool carries = false, separable = true;
    for (int axis = 0; axis < 3; ++axis) {
        const uint32_t *entry = level.axis[axis].entry - level.axis[axis].first, size = level.axis[axis].size, low = level.low;
        const uint32_t own_bits = size > 1 ? 32 - __builtin_clz(size - 1) : 0;
        bits = own_bits > bits ? own_bits : bits;
        fill_digits<4, digits_of_four>(entry, size, low, digits.four[axis]);
        fill_digits<3, digits_of_three>(entry, size, low, digits.three[axis]);
        taken_by_fours = bits_of_digits<4, digits_of_four>(digits.four[axis], low, taken_by_fours, carries);
        taken_by_threes = bits_of_digits<3, digits_of_three>(digits.three[axis], low, taken_by_threes, carries);
        separable = separable && are_digits<4, digits_of_four>(entry, size, low, digits.four[axis]) &&
                    are_digits<3, digits_of_three>(entry, size, low, digits.three[axis]);
        if (axis == 0)
            continue;
        digits.fours[axis - 1] = (uint8_t)(separable ? (bits + 3) / 4 : 0);
        digits.threes[axis - 1] = (uint8_t)(separable ? (bits + 2) / 3 : 0);
        digits.carries[axis - 1] = carries;
    }
}
