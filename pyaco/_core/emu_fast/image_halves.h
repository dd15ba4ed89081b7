// Elements of four halves whose lanes lie as in a workgroup: patches that are filtered.
//
// A patch has 45 texels for the 128 corners of its 32 lanes: each is converted once, and mixed with its neighbour along x once for both lines that it counts
// in. The reference engine adds four products instead. Both are exact, and so the same, where halves are less than 2^13: these are multiples of 2^-24, and
// with shares of 2^16 in all their sums have at most 53 bits.
#pragma once
#include "image_grids.h"

#if defined(__AVX2__)
static inline __m128i two_texels(const uint8_t *host, uint32_t first, uint32_t second) {
    return _mm_unpacklo_epi64(pair_of_words(host, first), pair_of_words(host, second));
}

// The texels of a patch with a column and a line more, and their weights.
struct HalvesPatch {
    enum { columns = patch_columns + 1, lines = patch_lines + 1 };
    alignas(32) uint16_t texel[lines][columns + 1][4];        // the last one of a line is none
    alignas(32) double right[patch_columns], left[patch_columns], lower[patch_lines], upper[patch_lines];

    // False: the lanes lie otherwise, or some half is too large.
    __attribute__((always_inline)) bool find(const ImageTexels &level, const float *const *coordinate) {
        const Grid grid(coordinate[0], coordinate[1]);
        if (!grid.found)
            return false;
        __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
        const __m256i across = find_places_exactly<image_linear>(ExactAxis(level.axis[0]), _mm256_castsi256_ps(grid.columns), all);
        const __m256i down = find_places_exactly<image_linear>(ExactAxis(level.axis[1]), _mm256_castsi256_ps(grid.lines), all);
        const __m256i column = _mm256_srai_epi32(across, 9), line = _mm256_srai_epi32(down, 9);
        if (_mm256_movemask_ps(all) != 0xff || !is_patch(column, line) || !load(level, first_lane(column), first_lane(line)))
            return false;
        const __m256d whole = _mm256_set1_pd(256.0);
        const __m256i along = weight_of_place(across);
        put_doubles(low_doubles(along), high_doubles(along), right);
        put_doubles(_mm256_sub_pd(whole, low_doubles(along)), _mm256_sub_pd(whole, high_doubles(along)), left);
        const __m256d below = low_doubles(weight_of_place(down)), unit = _mm256_set1_pd(0x1p-16);
        _mm256_store_pd(lower, _mm256_mul_pd(below, unit));
        _mm256_store_pd(upper, _mm256_mul_pd(_mm256_sub_pd(whole, below), unit));
        return true;
    }

    __attribute__((always_inline)) bool load(const ImageTexels &level, int32_t column, int32_t line) {
        const ImageAxis &x = level.axis[0], &y = level.axis[1];
        if (column < x.first || column + patch_columns > x.last + 1 || line < y.first || line + patch_lines > y.last + 1)
            return false;
        const OffsetBits bits = offset_bits(level);
        const uint32_t *entry = entries_of(level, 0) + column, *down = entries_of(level, 1) + line;
        const __m256i near = chunk_of(entry), far = everywhere(entry + patch_columns);
        const OffsetParts first = bits.of(near), last = bits.of(far);
        alignas(32) uint32_t offset[lines][2 * image_chunk];  // of which the last are all the same
        __m256i outside = _mm256_or_si256(near, far);
#pragma GCC unroll 5
        for (int number = 0; number < lines; ++number) {
            const __m256i below = everywhere(down + number);
            outside = _mm256_or_si256(outside, below);
            put_offset(first, bits.of(below), offset[number]);
            put_offset(last, bits.of(below), offset[number] + image_chunk);
        }
        if (_mm256_movemask_ps(_mm256_castsi256_ps(outside)))
            return false;
        return read(level.host, offset);
    }

    // False: some half is 2^13 or more, or no number.
    __attribute__((always_inline)) bool read(const uint8_t *host, const uint32_t (*offset)[2 * image_chunk]) {
        __m128i most = _mm_setzero_si128();
#pragma GCC unroll 1
        for (int number = 0; number < lines; ++number)
#pragma GCC unroll 5
            for (int part = 0; part < columns; part += 2) {
                const __m128i two = two_texels(host, offset[number][part], offset[number][part + 1]);
                most = _mm_max_epu16(most, _mm_slli_epi16(two, 1));
                _mm_store_si128((__m128i *)texel[number][part], two);
            }
        const __m128i limit = _mm_set1_epi16((short)0xdfff);  // the half before 2^13, without its sign
        return _mm_movemask_epi8(_mm_cmpeq_epi16(_mm_max_epu16(most, limit), limit)) == 0xffff;
    }

    __attribute__((always_inline)) __m256d at(int line, int column) const {
        return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)texel[line][column])));
    }

    // The texels of a line, mixed with their neighbours along x.
    __attribute__((always_inline)) void mix_line(int line, __m256d *mixed) const {
        __m256d texel_here = at(line, 0);
#pragma GCC unroll 8
        for (int column = 0; column < patch_columns; ++column) {
            const __m256d next = at(line, column + 1);
            const __m256d part = _mm256_mul_pd(texel_here, _mm256_broadcast_sd(left + column));
            mixed[column] = _mm256_fmadd_pd(next, _mm256_broadcast_sd(right + column), part);
            texel_here = next;
        }
    }

    __attribute__((always_inline)) void filter(const RowsOf<float> &rows, int first) const {
        __m256d mixed[2][patch_columns];
        mix_line(0, mixed[0]);
#pragma GCC unroll 4
        for (int line = 0; line < patch_lines; ++line) {
            const __m256d *above = mixed[line & 1], *below = mixed[(line + 1) & 1];
            mix_line(line + 1, mixed[(line + 1) & 1]);
            const __m256d from_upper = _mm256_broadcast_sd(upper + line), from_lower = _mm256_broadcast_sd(lower + line);
            __m128 sum[patch_columns];
#pragma GCC unroll 8
            for (int column = 0; column < patch_columns; ++column) {
                // zeros are positive
                const __m256d part = _mm256_fmadd_pd(above[column], from_upper, _mm256_setzero_pd());
                sum[column] = _mm256_cvtpd_ps(_mm256_fmadd_pd(below[column], from_lower, part));
            }
            put(sum, rows, first + image_chunk * line);
        }
    }

    // Eight texels' components, to a row each.
    __attribute__((always_inline)) static void put(const __m128 *sum, const RowsOf<float> &rows, int lane) {
        __m256 four[4];
#pragma GCC unroll 4
        for (int column = 0; column < 4; ++column)
            four[column] = _mm256_set_m128(sum[column + 4], sum[column]);
        const __m256 low = _mm256_unpacklo_ps(four[0], four[1]), high = _mm256_unpackhi_ps(four[0], four[1]);
        const __m256 next_low = _mm256_unpacklo_ps(four[2], four[3]), next_high = _mm256_unpackhi_ps(four[2], four[3]);
        _mm256_storeu_ps(rows.row[0] + lane, _mm256_shuffle_ps(low, next_low, 0x44));
        _mm256_storeu_ps(rows.row[1] + lane, _mm256_shuffle_ps(low, next_low, 0xee));
        _mm256_storeu_ps(rows.row[2] + lane, _mm256_shuffle_ps(high, next_high, 0x44));
        _mm256_storeu_ps(rows.row[3] + lane, _mm256_shuffle_ps(high, next_high, 0xee));
    }
};

// Filter all four components for a row, between two neighbours on both axes. False: the lanes lie otherwise, and nothing was written.
static inline bool filter_halves_patch(const ImageTexels &level, const float *const *coordinate, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    HalvesPatch patch;
    if (!patch.find(level, coordinate))
        return false;
    patch.filter(rows, 0);
    return true;
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline bool filter_halves_patch(const ImageTexels &, const float *const *, const RowsOf<float> &) { return false; }
#endif
