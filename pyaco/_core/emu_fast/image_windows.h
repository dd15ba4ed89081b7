// Windows: the texels around all places of a wave, where 16 x 16 of a level in squares (image_squares.h) hold them, as of a picture that is turned.
//
// They are copied to lines once, sixteen squares in all. A place is then one number for its four texels, and two texels beside each other come by one
// load.
#pragma once
#include "image_corners.h"
#include "image_gathers.h"
#include "image_squares.h"

enum { window_edge = 16 };

struct TexelWindow {
    alignas(64) uint32_t texel[window_edge][window_edge];
    alignas(64) uint32_t offset[2 * image_row];       // bytes from the first texel to a lane's first one
};

#if defined(__AVX512F__)
// The least of the lanes at the corners of a workgroup of eight columns: of places that a plane gives the least of all.
__attribute__((always_inline)) static inline int32_t least_corner(__m512i first, __m512i last) {
    const __m512i lanes = _mm512_castsi128_si512(_mm_setr_epi32(0, 7, 24, 31));
    const __m128i corners = _mm512_castsi512_si128(_mm512_permutex2var_epi32(first, lanes, last));
    const __m128i two = _mm_min_epi32(corners, _mm_unpackhi_epi64(corners, corners));
    return _mm_cvtsi128_si32(_mm_min_epi32(two, _mm_shuffle_epi32(two, 1)));
}

// Where a window begins along an axis, and the furthest first texel from there that has a second one. False: before the level.
__attribute__((always_inline)) static inline bool open_window_axis(const ImageAxis &axis, uint32_t end, int32_t least, int32_t &begin, uint32_t &furthest) {
    begin = least & ~(square_edge - 1);
    if (!axis.repeats && (least < 0 || (uint32_t)least + 2 > end))
        return false;
    const uint32_t room = axis.repeats ? window_edge : end - (uint32_t)begin;
    furthest = (room < window_edge ? room : window_edge) - 2;
    return true;
}

// The entry of a square of a window; those behind the level's end, which nobody reads, are its last.
static inline uint32_t square_entry(const ImageAxis &axis, uint32_t end, int32_t begin, int number) {
    const uint32_t texel = (uint32_t)(begin + square_edge * number), last = end - square_edge;
    return (axis.entry - axis.first)[axis.repeats ? texel & (axis.size - 1) : texel < last ? texel : last];
}

// Copy the squares of a window to lines.
__attribute__((always_inline)) static inline void copy_squares(const ImageTexels &level, const int32_t *begin, TexelWindow &window) {
    const TexelSquares &squares = *level.squares;
    const __m512i upper = _mm512_load_si512(squares.dword[0]), lower = _mm512_xor_si512(upper, _mm512_set1_epi32((int)squares.line[2]));
    const uint8_t *host = level.host;
    uint32_t column[window_edge / square_edge];
    for (int number = 0; number < window_edge / square_edge; ++number)
        column[number] = square_entry(level.axis[0], squares.end_column, begin[0], number);
#pragma GCC unroll 4
    for (int number = 0; number < window_edge / square_edge; ++number) {
        const uint32_t line = square_entry(level.axis[1], squares.end_line, begin[1], number);
        const auto at = [=](uint32_t across) __attribute__((always_inline)) { return _mm512_loadu_si512(host + (across ^ line)); };
        const __m512i first = at(column[0]), second = at(column[1]), third = at(column[2]), fourth = at(column[3]);
        const auto put = [&](int down, __m512i dword) __attribute__((always_inline)) {
            const __m512i left = _mm512_permutex2var_epi32(first, dword, second), right = _mm512_permutex2var_epi32(third, dword, fourth);
            _mm512_store_si512(window.texel[square_edge * number + down], _mm512_inserti64x4(left, _mm512_castsi512_si256(right), 1));
            _mm512_store_si512(window.texel[square_edge * number + down + 1], _mm512_shuffle_i64x2(left, right, 0xee));
        };
        put(0, upper);
        put(2, lower);
    }
}

// First texels of a wave along an axis; the weights of the second ones go to the wave's rows.
template <int count, bool repeats>
__attribute__((always_inline)) static inline void find_window_texels(const ImageAxis &axis, int number, const float *coordinate, ImageRow *row,
                                                                     __m512i *texel, FetchLanes &known) {
#pragma GCC unroll 4
    for (int part = 0; part < count; ++part) {
        const FetchWords place = filtered_places_by<repeats>(axis, singles_of(coordinate + fetch_lanes * part), known);
        texel[part] = shifted_places(place);
        put_fetched(row[part / 2].weight[number] + fetch_lanes * (part % 2), words_and(words_shifted(place, 1), fetch_all(255)));
    }
}

// The first texels of a wave of `count` times sixteen lanes, counted from where a window begins.
template <int count> struct WindowPlaces {
    int32_t begin[2];
    __m512i texel[2][count];

    // The weights of the places go to the wave's rows. False: no window holds them, or some place is not exact.
    __attribute__((always_inline)) bool find(const ImageTexels &level, uint32_t end_column, uint32_t end_line, const float *const *coordinate,
                                             ImageRow *row) {
        FetchLanes known = lanes_by_bits(fetch_chunk_mask);
#pragma GCC unroll 2
        for (int number = 0; number < 2; ++number) {
            const ImageAxis &axis = level.axis[number];
            if (axis.repeats)
                find_window_texels<count, true>(axis, number, coordinate[number], row, texel[number], known);
            else
                find_window_texels<count, false>(axis, number, coordinate[number], row, texel[number], known);
            uint32_t furthest;
            const int32_t least = least_corner(texel[number][0], texel[number][count - 1]);
            if (!open_window_axis(axis, number ? end_line : end_column, least, begin[number], furthest))
                return false;
#pragma GCC unroll 4
            for (int part = 0; part < count; ++part) {
                texel[number][part] = _mm512_sub_epi32(texel[number][part], fetch_all((uint32_t)begin[number]));
                known = lanes_within(texel[number][part], fetch_all(furthest), known);
            }
        }
        return bits_of_lanes(known) == fetch_chunk_mask;
    }
};

// Open the window of a wave.
template <int count>
__attribute__((noinline)) static bool open_window_of(const ImageTexels &level, const float *const *coordinate, ImageRow *row, TexelWindow &window) {
    WindowPlaces<count> places;
    if (!places.find(level, level.squares->end_column, level.squares->end_line, coordinate, row))
        return false;
    copy_squares(level, places.begin, window);
#pragma GCC unroll 4
    for (int part = 0; part < count; ++part)
        put_fetched(window.offset + fetch_lanes * part,
                    _mm512_or_si512(_mm512_slli_epi32(places.texel[0][part], 2), _mm512_slli_epi32(places.texel[1][part], 6)));
    return true;
}

// Whether the lanes at the corners of a workgroup of eight columns are near each other: others are told apart before all are placed.
static inline bool may_be_window(const ImageTexels &level, const float *const *coordinate, int lanes) {
    for (int axis = 0; axis < 2; ++axis) {
        const float *const given = coordinate[axis];
        const float line = std::fabs(given[7] - given[0]), down = std::fabs(given[lanes - 8] - given[0]);
        if (!has_corners_by_digits(level.axis[axis]) || !((line + down) * level.axis[axis].exact_scale < 512.0f * window_edge))
            return false;
    }
    return true;
}

// The same of a level in squares, in a slice.
static inline bool may_be_window(const ImageTexels &level, const float *const *coordinate, uint32_t slice, unsigned rows) {
    return level.squares && !(slice & (square_bytes - 1)) && may_be_window(level, coordinate, (int)rows * image_row);
}

static inline bool open_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, ImageRow *row, TexelWindow &window) {
    if (!may_be_window(level, coordinate, 0, rows))
        return false;
    return rows == 2 ? open_window_of<4>(level, coordinate, row, window) : open_window_of<2>(level, coordinate, row, window);
}

// Two texels beside each other, of a line or of the one below, for the lanes 0, 1, 4, 5 and so on from one on.
__attribute__((always_inline)) static inline __m512i window_pairs(const TexelWindow &window, int lane, int down) {
    const uint8_t *from = (const uint8_t *)window.texel[down];
    const uint32_t *offset = window.offset + lane;
    return _mm512_inserti64x4(_mm512_castsi256_si512(four_pairs(from, offset[0], offset[1], offset[4], offset[5])),
                              four_pairs(from, offset[8], offset[9], offset[12], offset[13]), 1);
}

// The left dwords of pairs, or the right ones, in the order of the lanes; `second` has those of the lanes 2, 3, 6, 7 and so on.
template <int side> __attribute__((always_inline)) static inline __m512i of_pairs(__m512i first, __m512i second) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(first), _mm512_castsi512_ps(second), side ? 0xdd : 0x88));
}

// The corners of sixteen lanes.
struct WindowCorners {
    __m512i of[4];

    __attribute__((always_inline)) WindowCorners(const TexelWindow &window, int lane) {
#pragma GCC unroll 2
        for (int down = 0; down < 2; ++down) {
            const __m512i first = window_pairs(window, lane, down), second = window_pairs(window, lane + 2, down);
            of[2 * down] = of_pairs<0>(first, second);
            of[2 * down + 1] = of_pairs<1>(first, second);
        }
    }
};

// Filter elements of one float, in the order of the corners as their sums are rounded. False: some sum is no number.
static inline bool filter_singles_in_window(const TexelWindow &window, unsigned rows, const ImageRow *row, float *to) {
    const __m512d whole = _mm512_set1_pd(256.0), unit = _mm512_set1_pd(0x1p-16), zero = _mm512_setzero_pd();
    const auto eight_from = [&](int lane) __attribute__((always_inline)) {
        const uint32_t *offset = window.offset + lane;
        const __m512d right = _mm512_cvtepi32_pd(chunk_of(row[lane / image_row].weight[0] + lane % image_row));
        const __m512d left = _mm512_sub_pd(whole, right);
        const __m512d y = _mm512_cvtepi32_pd(chunk_of(row[lane / image_row].weight[1] + lane % image_row));
        const __m512d share[2] = {_mm512_mul_pd(_mm512_sub_pd(whole, y), unit), _mm512_mul_pd(y, unit)};
        __m512d sum = zero;           // zeros are positive
#pragma GCC unroll 2
        for (int down = 0; down < 2; ++down) {
            const uint8_t *from = (const uint8_t *)window.texel[down];
            const __m256 first = _mm256_castsi256_ps(four_pairs(from, offset[0], offset[1], offset[4], offset[5]));
            const __m256 second = _mm256_castsi256_ps(four_pairs(from, offset[2], offset[3], offset[6], offset[7]));
            sum = _mm512_fmadd_pd(_mm512_mul_pd(_mm512_cvtps_pd(_mm256_shuffle_ps(first, second, 0x88)), left), share[down], sum);
            sum = _mm512_fmadd_pd(_mm512_mul_pd(_mm512_cvtps_pd(_mm256_shuffle_ps(first, second, 0xdd)), right), share[down], sum);
        }
        return _mm512_cvtpd_ps(sum);
    };
    unsigned strange = 0;
#pragma GCC unroll 1
    for (int lane = 0; lane < (int)rows * image_row; lane += fetch_lanes) {
        const __m256 first = eight_from(lane);
        const __m512 singles = _mm512_insertf32x8(_mm512_castps256_ps512(first), eight_from(lane + image_chunk), 1);
        strange |= _mm512_cmp_ps_mask(singles, singles, _CMP_UNORD_Q);
        _mm512_storeu_ps(to + lane, singles);
    }
    return strange == 0;
}

template <int predicate>
static inline void compare_in_window_by(const TexelWindow &window, unsigned rows, const ImageRow *row, const float *reference, float *to) {
#pragma GCC unroll 1
    for (int lane = 0; lane < (int)rows * image_row; lane += fetch_lanes) {
        const __m512i right = wide_of(row[lane / image_row].weight[0] + lane % image_row);
        const __m512i left = _mm512_sub_epi32(_mm512_set1_epi32(256), right);
        const __m512i y = wide_of(row[lane / image_row].weight[1] + lane % image_row);
        const __m512i down = _mm512_or_si512(_mm512_sub_epi32(_mm512_set1_epi32(256), y), _mm512_slli_epi32(y, 16));
        const __m512 given = _mm512_loadu_ps(reference + lane);
        const WindowCorners corners(window, lane);
        const auto share = [=](__m512i near, __m512i far) __attribute__((always_inline)) {
            const __m512i passes_left = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(given, _mm512_castsi512_ps(near), predicate), left);
            return _mm512_mask_add_epi32(passes_left, _mm512_cmp_ps_mask(given, _mm512_castsi512_ps(far), predicate), passes_left, right);
        };
        const __m512i above = share(corners.of[0], corners.of[1]), below = share(corners.of[2], corners.of[3]);
        const __m512i sum = _mm512_madd_epi16(_mm512_or_si512(above, _mm512_slli_epi32(below, 16)), down);
        _mm512_storeu_ps(to + lane, _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(0x1p-16f)));
    }
}

// The share of the texels that each lane's reference passes the comparison with; `function` as for `filter_compared`.
static inline void compare_in_window(const TexelWindow &window, unsigned rows, const ImageRow *row, unsigned function, const float *reference,
                                     float *to) {
    typedef void (*Compare)(const TexelWindow &, unsigned, const ImageRow *, const float *, float *);
    static const Compare by_function[8] = {
        compare_in_window_by<_CMP_FALSE_OQ>, compare_in_window_by<_CMP_LT_OQ>, compare_in_window_by<_CMP_EQ_OQ>, compare_in_window_by<_CMP_LE_OQ>,
        compare_in_window_by<_CMP_GT_OQ>, compare_in_window_by<_CMP_NEQ_OQ>, compare_in_window_by<_CMP_GE_OQ>, compare_in_window_by<_CMP_TRUE_UQ>,
    };
    by_function[function & 7](window, rows, row, reference, to);
}
#else
static inline bool open_window(const ImageTexels &, unsigned, const float *const *, ImageRow *, TexelWindow &) { return false; }
static inline bool filter_singles_in_window(const TexelWindow &, unsigned, const ImageRow *, float *) { return false; }
static inline void compare_in_window(const TexelWindow &, unsigned, const ImageRow *, unsigned, const float *, float *) {}
#endif
