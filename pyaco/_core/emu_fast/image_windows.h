// Windows: the texels around all places of a wave, where 16 x 16 of a level hold them, as of a picture that is turned. What is looked up by texel is then
// looked up for a vector of lanes by one permutation: entries of the axes here, bytes of elements in image_byte_windows.h, blocks in image_block_windows.h.
#pragma once
#include "image_corners.h"
#include "image_gathers.h"
#include "image_squares.h"

enum { window_edge = 16 };

#if defined(__AVX512F__)
// The least and the greatest of the lanes at the corners of a workgroup of eight columns: of places that a plane gives those of all.
struct CornerRange {
    int32_t least, most;

    __attribute__((always_inline)) CornerRange(__m512i first, __m512i last) {
        const __m512i lanes = _mm512_castsi128_si512(_mm_setr_epi32(0, 7, 24, 31));
        const __m128i corners = _mm512_castsi512_si128(_mm512_permutex2var_epi32(first, lanes, last)), further = _mm_unpackhi_epi64(corners, corners);
        const __m128i low = _mm_min_epi32(corners, further), high = _mm_max_epi32(corners, further);
        least = _mm_cvtsi128_si32(_mm_min_epi32(low, _mm_shuffle_epi32(low, 1)));
        most = _mm_cvtsi128_si32(_mm_max_epi32(high, _mm_shuffle_epi32(high, 1)));
    }
};

// Whether some lanes of an axis that repeats are before its end and others behind.
__attribute__((always_inline)) static inline bool crosses_end(const ImageAxis &axis, const CornerRange &range) {
    return axis.repeats && (uint32_t)(range.most - range.least) > axis.size / 2;
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
            CornerRange range(texel[number][0], texel[number][count - 1]);
            if (crosses_end(axis, range)) {
                for (int part = 0; part < count; ++part) {
                    const __mmask16 behind = _mm512_cmplt_epi32_mask(texel[number][part], fetch_all(axis.size / 2));
                    texel[number][part] = _mm512_mask_add_epi32(texel[number][part], behind, texel[number][part], fetch_all(axis.size));
                }
                range = CornerRange(texel[number][0], texel[number][count - 1]);
            }
            if (!open_window_axis(axis, number ? end_line : end_column, range.least, begin[number], furthest))
                return false;
            __m512i most = fetch_all(0);
#pragma GCC unroll 4
            for (int part = 0; part < count; ++part) {
                texel[number][part] = _mm512_sub_epi32(texel[number][part], fetch_all((uint32_t)begin[number]));
                most = _mm512_max_epu32(most, texel[number][part]);
            }
            known = lanes_within(most, fetch_all(furthest), known);
        }
        return bits_of_lanes(known) == fetch_chunk_mask;
    }
};

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

// The entries of the columns or lines of a window. False: the axis' table ends before.
static inline bool window_entries(const ImageAxis &axis, int32_t begin, __m512i &entries) {
    if (begin < axis.first || begin + window_edge > axis.last + 2 + image_table_margin)
        return false;
    entries = fetch_words(axis.entry - axis.first + begin);
    return true;
}

// The corners of a wave's places go to the offsets of its rows, and the places' weights.
template <int count, bool carries>
__attribute__((noinline)) static bool place_by_window_of(const ImageTexels &level, const float *const *coordinate, ImageRow *row) {
    WindowPlaces<count> places;
    __m512i entries[2];
    if (!places.find(level, level.axis[0].size, level.axis[1].size, coordinate, row) ||
        !window_entries(level.axis[0], places.begin[0], entries[0]) || !window_entries(level.axis[1], places.begin[1], entries[1]))
        return false;
    const __m512i above = fetch_all(~level.low), one = fetch_all(1), zero = fetch_all(0);
#pragma GCC unroll 4
    for (int part = 0; part < count; ++part) {
        JoinedEntries<carries> found[2][2];
#pragma GCC unroll 2
        for (int axis = 0; axis < 2; ++axis) {
            found[axis][0] = found[axis][1] = {zero, zero};
            found[axis][0].add(_mm512_permutexvar_epi32(places.texel[axis][part], entries[axis]), above);
            found[axis][1].add(_mm512_permutexvar_epi32(words_sum(places.texel[axis][part], one), entries[axis]), above);
        }
#pragma GCC unroll 4
        for (int corner = 0; corner < 4; ++corner)
            put_fetched(row[part / 2].offset[corner] + fetch_lanes * (part % 2), joined(found[0][corner & 1], found[1][corner >> 1]).offset(above));
    }
    return true;
}

// Find the corners of a wave of which more than the first sixteen lanes are active in a level of two axes, in the first slice. False: they lie otherwise.
static inline bool place_by_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, ImageRow *row) {
    if (!may_be_window(level, coordinate, (int)rows * image_row))
        return false;
    if (level.digits->carries[0])
        return rows == 2 ? place_by_window_of<4, true>(level, coordinate, row) : place_by_window_of<2, true>(level, coordinate, row);
    return rows == 2 ? place_by_window_of<4, false>(level, coordinate, row) : place_by_window_of<2, false>(level, coordinate, row);
}
#else
static inline bool may_be_window(const ImageTexels &, const float *const *, int) { return false; }
static inline bool place_by_window(const ImageTexels &, unsigned, const float *const *, ImageRow *) { return false; }
#endif
