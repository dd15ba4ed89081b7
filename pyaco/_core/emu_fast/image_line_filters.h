// Filters of sixteen lanes that are columns of a line, as of a workgroup of one line: the texels of a level in squares come by halves of these
// (image_lines.h), those of the second columns and lines like the first.
#pragma once
#include "image_corners.h"
#include "image_gathers.h"

#if defined(__AVX512F__)
// The places of sixteen lanes, if they are columns of a line with one more behind them and a line below.
struct FilteredLine {
    uint32_t column, line;
    __m512i across, down;             // weights

    __attribute__((always_inline)) bool find(const ImageTexels &level, const float *x, const float *y) {
        FetchLanes known = lanes_by_bits(fetch_chunk_mask);
        const FetchWords columns = filtered_places(level.axis[0], singles_of(x), known);
        const FetchWords lines = filtered_places(level.axis[1], singles_of(y), known);
        const FetchWords first = shifted_places(columns), upper = shifted_places(lines);
        column = (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(first));
        line = (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(upper));
        across = words_and(words_shifted(columns, 1), fetch_all(255));
        down = words_and(words_shifted(lines, 1), fetch_all(255));
        return is_line(level, first, upper, column, line, (__mmask16)fetch_chunk_mask) && bits_of_lanes(known) == fetch_chunk_mask &&
               has_room(column + 1, fetch_lanes, level.squares->end_column) && has_room(line, 2, level.squares->end_line);
    }

    __attribute__((always_inline)) WideSums sums(const ImageTexels &level) const {
        const __m512i upper = line_by_squares(level, column, line), lower = line_by_squares(level, column, line + 1);
        return WideSums(upper, moved_on(level, upper, line), lower, moved_on(level, lower, line + 1), across);
    }

    // The texels of the second columns: those of the next lanes, and one.
    __attribute__((always_inline)) __m512i moved_on(const ImageTexels &level, __m512i words, uint32_t at) const {
        const uint32_t last = entries_of(level, 0)[column + fetch_lanes] ^ entries_of(level, 1)[at];
        return _mm512_alignr_epi32(_mm512_castsi256_si512(everywhere(level.host + last)), words, 1);
    }
};

template <int count>
__attribute__((noinline)) static bool filter_lines_of(const ImageTexels &level, const float *const *coordinate, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    FilteredLine line[count];
#pragma GCC unroll 4
    for (int number = 0; number < count; ++number)
        if (!line[number].find(level, coordinate[0] + fetch_lanes * number, coordinate[1] + fetch_lanes * number))
            return false;
#pragma GCC unroll 1
    for (int number = 0; number < count; ++number)
        put_wide_bytes(line[number].sums(level), line[number].down, rows, fetch_lanes * number);
    return true;
}

// Filter elements of four 8-bit channels for the first one, two or four sixteens of a wave. False: they lie otherwise, and nothing was written.
static inline bool filter_by_lines(const ImageTexels &level, unsigned sixteens, const float *const *coordinate, const RowsOf<float> &to) {
    if (!level.squares || !has_corners_by_digits(level.axis[0]) || !has_corners_by_digits(level.axis[1]) ||
        coordinate[1][fetch_lanes - 1] != coordinate[1][0])       // most lanes that lie otherwise
        return false;
    return sixteens == 4 ? filter_lines_of<4>(level, coordinate, to)
         : sixteens == 2 ? filter_lines_of<2>(level, coordinate, to) : filter_lines_of<1>(level, coordinate, to);
}
#else
static inline bool filter_by_lines(const ImageTexels &, unsigned, const float *const *, const RowsOf<float> &) { return false; }
#endif
