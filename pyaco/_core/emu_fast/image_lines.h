// Texels of four bytes for sixteen lanes at a time, in levels that lie in squares (image_squares.h): columns of a line come by halves of squares, texels
// that lie anyhow by gathers.
//
// The texels of a wave are read before any register is written, which may hold coordinates.
#pragma once
#include "image_fetches.h"
#include "image_squares.h"

#if defined(__AVX512F__)
// Sixteen columns of a line, which lie in four halves of squares or five.
__attribute__((always_inline)) static inline __m512i line_by_squares(const ImageTexels &level, uint32_t column, uint32_t line) {
    const TexelSquares &squares = *level.squares;
    const uint32_t first = column % square_edge, first_line = line % square_edge;
    const uint32_t *x = level.axis[0].entry - level.axis[0].first + (column - first);
    const uint8_t *host = level.host;
    const uint32_t above = (level.axis[1].entry - level.axis[1].first)[line - first_line] ^ squares.half[first_line];
    const auto at = [=](uint32_t number) __attribute__((always_inline)) { return chunk_of(host + (x[square_edge * number] ^ above)); };
    const __m512i low = _mm512_inserti64x4(_mm512_castsi256_si512(at(0)), at(1), 1), high = _mm512_inserti64x4(_mm512_castsi256_si512(at(2)), at(3), 1);
    const __m512i dword = _mm512_xor_si512(_mm512_load_si512(squares.column[first]), _mm512_set1_epi32((int)squares.in_half[first_line]));
    const __m512i words = _mm512_permutex2var_epi32(low, dword, high);
    return _mm512_mask_permutexvar_epi32(words, squares.fifth[first], dword, _mm512_castsi256_si512(at(first ? 4 : 0)));
}

// Whether some of sixteen lanes are columns of a line, of which the first lane has the first.
__attribute__((always_inline)) static inline bool is_line(const ImageTexels &level, __m512i x, __m512i y, uint32_t column, uint32_t line, __mmask16 some) {
    const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i columns = _mm512_add_epi32(fetch_all(column), numbers);
    const __m512i differs = _mm512_ternarylogic_epi32(_mm512_xor_si512(x, columns), y, fetch_all(line), 0xf6);
    return !_mm512_mask_test_epi32_mask(some, differs, differs) && has_room(column, fetch_lanes, level.squares->end_column) &&
           line < level.squares->end_line;
}

// Offsets of texels of some lanes that lie anyhow; other lanes have the level's first.
__attribute__((always_inline)) static inline __m512i offsets_anyhow(const ImageTexels &level, __m512i x, __m512i y, __mmask16 some) {
    const TexelDigits &digits = *level.digits;
    __m512i offset = _mm512_xor_si512(look_up_digits(digits, 0, 0, x), look_up_digits(digits, 1, 0, y));
#pragma GCC unroll 1
    for (int number = 1; number < digits.fours[0]; ++number) {
        x = _mm512_srli_epi32(x, 4);
        y = _mm512_srli_epi32(y, 4);
        offset = _mm512_ternarylogic_epi32(offset, look_up_digits(digits, 0, number, x), look_up_digits(digits, 1, number, y), 0x96);
    }
    return _mm512_maskz_mov_epi32(some, offset);
}

__attribute__((always_inline)) static inline __m512i words_anyhow(const ImageTexels &level, __m512i x, __m512i y, __mmask16 some) {
    alignas(64) uint32_t offsets[fetch_lanes];
    put_fetched(offsets, offsets_anyhow(level, x, y, some));
    return gather_words(level.host, offsets);
}

__attribute__((noinline)) static void put_four_of_some(__m512i words, const RowsOf<float> &rows, int lane, __mmask16 some, __mmask16 there) {
    for (int byte = 0; byte < 4; ++byte)
        _mm512_mask_storeu_ps(rows.row[byte] + lane, some, _mm512_maskz_mov_ps(there, unorm8_of(words, byte)));
}

// Load for the active lanes of a wave of `count` times sixteen. Texels outside are zeros.
template <int count>
__attribute__((noinline)) static void fetch_sixteens(const ImageTexels &level, const uint32_t *x, const uint32_t *y, uint64_t active,
                                                     const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    const __m512i last_column = fetch_all(level.axis[0].size - 1), last_line = fetch_all(level.axis[1].size - 1);
    alignas(64) uint32_t texel[count][fetch_lanes];               // what lines have, or offsets
    unsigned lines_of = 0;
    uint64_t inside = active;
#pragma GCC unroll 4
    for (int number = 0; number < count; ++number) {
        const __mmask16 some = (__mmask16)(active >> (fetch_lanes * number));
        const __m512i columns = fetch_words(x + fetch_lanes * number), lines = fetch_words(y + fetch_lanes * number);
        const uint32_t column = x[fetch_lanes * number], line = y[fetch_lanes * number];
        if (is_line(level, columns, lines, column, line, some)) {
            put_fetched(texel[number], line_by_squares(level, column, line));
            lines_of |= 1u << number;
            continue;
        }
        const __mmask16 there = lanes_within(lines, last_line, lanes_within(columns, last_column, some));
        inside ^= (uint64_t)(uint16_t)(some ^ there) << (fetch_lanes * number);
        put_fetched(texel[number], offsets_anyhow(level, columns, lines, there));
    }
#pragma GCC unroll 4
    for (int number = 0; number < count; ++number, active >>= fetch_lanes, inside >>= fetch_lanes) {
        const __m512i words = lines_of >> number & 1 ? fetch_words(texel[number]) : gather_words(level.host, texel[number]);
        if ((inside & fetch_chunk_mask) == fetch_chunk_mask)
            put_four_bytes(words, rows, fetch_lanes * number);
        else if (active & fetch_chunk_mask)
            put_four_of_some(words, rows, fetch_lanes * number, (__mmask16)active, (__mmask16)inside);
    }
}

// The same for all lanes of a wave of `count` times sixteen, whose coordinates have up to `digits`. False: some texel is outside, and nothing was written.
template <int count, int digits>
__attribute__((noinline)) static bool fetch_anyhow(const ImageTexels &level, const uint32_t *x, const uint32_t *y, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    const __m512i last_column = fetch_all(level.axis[0].size - 1), last_line = fetch_all(level.axis[1].size - 1), zero = fetch_all(0);
    alignas(64) uint32_t offset[count][fetch_lanes];
    FetchLanes inside = lanes_by_bits(fetch_chunk_mask);
#pragma GCC unroll 4
    for (int number = 0; number < count; ++number) {
        const __m512i columns = fetch_words(x + fetch_lanes * number), lines = fetch_words(y + fetch_lanes * number);
        JoinedEntries<false> joined = {zero, zero};
        add_axis<digits>(level, 0, columns, inside, zero, joined);
        add_axis<digits>(level, 1, lines, inside, zero, joined);
        put_fetched(offset[number], joined.low);
        inside = lanes_within(lines, last_line, lanes_within(columns, last_column, inside));
    }
    if (bits_of_lanes(inside) != fetch_chunk_mask)
        return false;
    __asm__("" : "+m"(offset));       // read from memory two by two: the compiler would take them out of the vectors, which takes half as long again
#pragma GCC unroll 4
    for (int number = 0; number < count; ++number)
        put_four_bytes(gather_words(level.host, offset[number]), rows, fetch_lanes * number);
    return true;
}

// The same, where the lanes do not begin a line.
__attribute__((always_inline)) static inline bool fetch_all_anyhow(const ImageTexels &level, const uint32_t *x, const uint32_t *y, unsigned rows,
                                                                   const RowsOf<float> &to) {
    const int digits = level.digits->fours[0];
    if (x[1] == x[0] + 1 || digits > 3)
        return false;
    return rows == 2 ? digits == 3 ? fetch_anyhow<4, 3>(level, x, y, to) : fetch_anyhow<4, 2>(level, x, y, to)
                     : digits == 3 ? fetch_anyhow<2, 3>(level, x, y, to) : fetch_anyhow<2, 2>(level, x, y, to);
}

// The same where the lanes may be a patch.
__attribute__((always_inline)) static inline void fetch_by_squares(const ImageTexels &level, const uint32_t *x, const uint32_t *y, uint64_t active,
                                                                   unsigned rows, const RowsOf<float> &to) {
    if (are_all_lanes(active, rows) && ((rows == 2 ? fetch_patch<wave_lines>(level, x, y, to) : fetch_patch<patch_lines>(level, x, y, to)) ||
                                        fetch_all_anyhow(level, x, y, rows, to)))
        return;
    if (active >> image_row)
        fetch_sixteens<4>(level, x, y, active, to);
    else if (active >> fetch_lanes)
        fetch_sixteens<2>(level, x, y, active, to);
    else
        fetch_sixteens<1>(level, x, y, active, to);
}
#else
static inline void fetch_by_squares(const ImageTexels &level, const uint32_t *x, const uint32_t *y, uint64_t active, unsigned rows, const RowsOf<float> &to) {
    fetch_four_bytes(level, {x, y, nullptr, active, rows}, to);
}
#endif
