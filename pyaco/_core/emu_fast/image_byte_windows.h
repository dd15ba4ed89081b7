// Windows (image_windows.h) of elements of four bytes on hosts that look bytes up in tables (AVX512_VBMI): each byte of the elements is a plane of 256
// values, in which a permutation finds the texels of all lanes of a wave. Filters, gathers, and filters of bytes that a table gives the meaning of.
//
// Vectors of 64 bytes have the lanes in the order in which four vectors of dwords are packed: in each sixteen bytes, four lanes of each of them. Unpacking
// gives these back as they were.
#pragma once
#include "image_fours.h"
#include "image_planes.h"
#include "image_windows.h"

#if defined(__AVX512F__)
// By byte of an element and line of squares: four squares beside each other, with the lines of a square one after the other.
struct ByteWindow {
    alignas(64) uint8_t plane[4][window_edge / square_edge][64];
};

// Where a wave's texels lie in a plane: corners, in their order, with the weights along x in bytes.
struct ByteCorners {
    __m512i index[4];
    __m512i near, far;                // of the left texel and of the right one: 256 in all
};

// The squares of a line of squares, as bytes in the order of planes.
LOOKS_UP_BYTES void read_planes(const ImageTexels &level, const uint32_t *column, uint32_t line, __m512i turned, __m512i *square) {
    const __m512i order = _mm512_load_si512(level.squares->byte);
    for (int number = 0; number < window_edge / square_edge; ++number) {
        const __m512i found = _mm512_loadu_si512(level.host + (column[number] ^ line));
        square[number] = _mm512_xor_si512(_mm512_permutexvar_epi8(order, found), turned);
    }
}

// Copy a window's squares to planes; `turned` has the bits that are to be inverted.
LOOKS_UP_BYTES void copy_planes(const ImageTexels &level, const int32_t *begin, uint32_t slice, __m512i turned, ByteWindow &window) {
    uint32_t column[window_edge / square_edge];
    for (int number = 0; number < window_edge / square_edge; ++number)
        column[number] = square_entry(level.axis[0], level.squares->end_column, begin[0], number) ^ slice;
#pragma GCC unroll 4
    for (int number = 0; number < window_edge / square_edge; ++number) {
        __m512i square[window_edge / square_edge];
        read_planes(level, column, square_entry(level.axis[1], level.squares->end_line, begin[1], number), turned, square);
        const __m512i low = _mm512_shuffle_i32x4(square[0], square[1], 0x44), high = _mm512_shuffle_i32x4(square[0], square[1], 0xee);
        const __m512i next_low = _mm512_shuffle_i32x4(square[2], square[3], 0x44), next_high = _mm512_shuffle_i32x4(square[2], square[3], 0xee);
        _mm512_store_si512(window.plane[0][number], _mm512_shuffle_i32x4(low, next_low, 0x88));
        _mm512_store_si512(window.plane[1][number], _mm512_shuffle_i32x4(low, next_low, 0xdd));
        _mm512_store_si512(window.plane[2][number], _mm512_shuffle_i32x4(high, next_high, 0x88));
        _mm512_store_si512(window.plane[3][number], _mm512_shuffle_i32x4(high, next_high, 0xdd));
    }
}

// Dwords of less than 256 of `count` times sixteen lanes, as bytes.
template <int count> LOOKS_UP_BYTES __m512i packed_bytes(const __m512i *words) {
    const __m512i first = _mm512_packus_epi32(words[0], words[1]);
    return _mm512_packus_epi16(first, count == 4 ? _mm512_packus_epi32(words[count - 2], words[count - 1]) : _mm512_setzero_si512());
}

// What the texels of an axis give to the places in a plane.
LOOKS_UP_BYTES __m512i along_columns(__m512i texel) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51)), texel);
}

LOOKS_UP_BYTES __m512i along_lines(__m512i texel) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 64, 68, 72, 76, -128, -124, -120, -116, -64, -60, -56, -52)), texel);
}

// Find the corners of a wave. `halved`: of a lane whose right texel does not count the left one is taken twice, with half the weight, as 256 is no byte.
template <int count, bool halved>
LOOKS_UP_BYTES void find_byte_corners(const WindowPlaces<count> &places, const ImageRow *row, ByteCorners &corners) {
    const __m512i one = _mm512_set1_epi8(1), x = packed_bytes<count>(places.texel[0]), y = packed_bytes<count>(places.texel[1]);
    __m512i weight[count], beside = _mm512_add_epi8(x, one);
    for (int part = 0; part < count; ++part)
        weight[part] = wide_of(row[part / 2].weight[0] + fetch_lanes * (part % 2));
    if (halved) {
        const __m512i half = _mm512_set1_epi8(-128);
        corners.far = packed_bytes<count>(weight);
        const __mmask64 only = _mm512_testn_epi8_mask(corners.far, corners.far);
        beside = _mm512_mask_mov_epi8(beside, only, x);
        corners.far = _mm512_mask_mov_epi8(corners.far, only, half);
        corners.near = _mm512_sub_epi8(_mm512_setzero_si512(), corners.far);
    }
    const __m512i upper = along_lines(y), lower = along_lines(_mm512_add_epi8(y, one)), left = along_columns(x), right = along_columns(beside);
    corners.index[0] = _mm512_or_si512(upper, left);
    corners.index[1] = _mm512_or_si512(upper, right);
    corners.index[2] = _mm512_or_si512(lower, left);
    corners.index[3] = _mm512_or_si512(lower, right);
}

// What 256 values have at places, or what two halves of them are.
struct ByteTable {
    __m512i part[4];
};

LOOKS_UP_BYTES ByteTable byte_table(const void *bytes) {
    const uint8_t *from = (const uint8_t *)bytes;
    return {{_mm512_load_si512(from), _mm512_load_si512(from + 64), _mm512_load_si512(from + 128), _mm512_load_si512(from + 192)}};
}

LOOKS_UP_BYTES __m512i look_up_bytes(const ByteTable &table, __m512i index) {
    const __m512i first = _mm512_permutex2var_epi8(table.part[0], index, table.part[1]);
    return _mm512_mask_mov_epi8(first, _mm512_movepi8_mask(index), _mm512_permutex2var_epi8(table.part[2], index, table.part[3]));
}

// Four vectors of dwords of pairs of words, the first of which are the lower halves.
LOOKS_UP_BYTES FourCorners paired_words(__m512i low, __m512i high, __m512i next_low, __m512i next_high) {
    return {{_mm512_unpacklo_epi16(low, next_low), _mm512_unpackhi_epi16(low, next_low), _mm512_unpacklo_epi16(high, next_high),
             _mm512_unpackhi_epi16(high, next_high)}};
}

// The words of two lines, mixed along x, of bytes less 128.
LOOKS_UP_BYTES FourCorners mixed_along_x(const ByteTable &table, const ByteCorners &corners, __m512i low_weights, __m512i high_weights) {
    __m512i low[2], high[2];
    for (int line = 0; line < 2; ++line) {
        const __m512i left = look_up_bytes(table, corners.index[2 * line]), right = look_up_bytes(table, corners.index[2 * line + 1]);
        low[line] = _mm512_maddubs_epi16(low_weights, _mm512_unpacklo_epi8(left, right));
        high[line] = _mm512_maddubs_epi16(high_weights, _mm512_unpackhi_epi8(left, right));
    }
    return paired_words(low[0], high[0], low[1], high[1]);
}

// Find the places of a wave's filter in a window.
template <int count>
__attribute__((always_inline)) static inline bool find_in_window(const ImageTexels &level, const float *const *coordinate, ImageRow *row,
                                                                 WindowPlaces<count> &places) {
    return places.find(level, level.squares->end_column, level.squares->end_line, coordinate, row);
}

template <int count>
__attribute__((target("avx512vbmi"), noinline)) static bool filter_byte_window_of(const ImageTexels &level, const float *const *coordinate, uint32_t slice,
                                                                                  const RowsOf<float> &to) {
    const RowsOf<float> out = to;
    ImageRow row[2];
    WindowPlaces<count> places;
    if (!find_in_window(level, coordinate, row, places))
        return false;
    ByteWindow window;
    ByteCorners corners;
    copy_planes(level, places.begin, slice, _mm512_set1_epi8(-128), window);
    find_byte_corners<count, true>(places, row, corners);
    const __m512i low = _mm512_unpacklo_epi8(corners.near, corners.far), high = _mm512_unpackhi_epi8(corners.near, corners.far);
    __m512i down[count];
    for (int part = 0; part < count; ++part) {
        const __m512i y = wide_of(row[part / 2].weight[1] + fetch_lanes * (part % 2));
        down[part] = _mm512_or_si512(_mm512_sub_epi32(_mm512_set1_epi32(256), y), _mm512_slli_epi32(y, 16));
    }
#pragma GCC unroll 1
    for (int byte = 0; byte < 4; ++byte) {
        if (!out.row[byte])
            continue;
        const FourCorners mixed = mixed_along_x(byte_table(window.plane[byte]), corners, low, high);
#pragma GCC unroll 4
        for (int part = 0; part < count; ++part)
            put_wide_sums(_mm512_add_epi32(_mm512_madd_epi16(mixed.of[part], down[part]), _mm512_set1_epi32(128 << 16)),
                          out.row[byte] + fetch_lanes * part);
    }
    return true;
}

template <int count>
__attribute__((target("avx512vbmi"), noinline)) static bool gather_byte_window_of(const ImageTexels &level, const float *const *coordinate, unsigned byte,
                                                                                  const RowsOf<float> &to) {
    static const int row_of[4] = {3, 2, 0, 1};
    const RowsOf<float> out = to;
    ImageRow row[2];
    WindowPlaces<count> places;
    if (!find_in_window(level, coordinate, row, places))
        return false;
    ByteWindow window;
    ByteCorners corners;
    copy_planes(level, places.begin, 0, _mm512_setzero_si512(), window);
    find_byte_corners<count, false>(places, row, corners);
    const ByteTable table = byte_table(window.plane[byte]);
#pragma GCC unroll 4
    for (int corner = 0; corner < 4; ++corner) {
        const __m512i found = look_up_bytes(table, corners.index[corner]);
        const __m512i low = _mm512_unpacklo_epi8(found, found), high = _mm512_unpackhi_epi8(found, found);
        const FourCorners repeated = paired_words(low, high, low, high);
#pragma GCC unroll 4
        for (int part = 0; part < count; ++part)
            _mm512_storeu_ps(out.row[row_of[corner]] + fetch_lanes * part, unorm8_of_repeated(repeated.of[part]));
    }
    return true;
}

// The singles that values of the four corners mean, mixed, for a wave.
template <int count>
LOOKS_UP_BYTES void filter_meanings(const BytePlanes &planes, const FourCorners &values, const double (*share)[2 * image_row], float *to) {
    __m512i found[4][4];
    for (int plane = 0; plane < 4; ++plane) {
        const ByteTable table = byte_table(planes.byte[plane]);
        for (int corner = 0; corner < 4; ++corner)
            found[corner][plane] = look_up_bytes(table, values.of[corner]);
    }
    __m512d sum[2 * count];
    for (int corner = 0; corner < 4; ++corner) {
        const FourCorners singles = singles_of_planes(found[corner]);
        for (int part = 0; part < count; ++part) {
            const __m512 single = _mm512_castsi512_ps(singles.of[part]);
            const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(single)), high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(single, 1));
            const double *of_part = share[corner] + fetch_lanes * part;
            const __m512d share_low = _mm512_load_pd(of_part), share_high = _mm512_load_pd(of_part + image_chunk);
            sum[2 * part] = corner ? _mm512_fmadd_pd(low, share_low, sum[2 * part]) : _mm512_mul_pd(low, share_low);
            sum[2 * part + 1] = corner ? _mm512_fmadd_pd(high, share_high, sum[2 * part + 1]) : _mm512_mul_pd(high, share_high);
        }
    }
    for (int part = 0; part < 2 * count; ++part)
        put_doubles(sum[part], to + image_chunk * part);
}

template <int count>
__attribute__((target("avx512vbmi"), noinline)) static bool filter_meanings_in_window_of(const ImageTexels &level, const float *const *coordinate,
                                                                                         const PlanesOf &planes, const RowsOf<float> &to) {
    const RowsOf<float> out = to;
    ImageRow row[2];
    WindowPlaces<count> places;
    if (!find_in_window(level, coordinate, row, places))
        return false;
    ByteWindow window;
    ByteCorners corners;
    alignas(64) double share[4][2 * image_row];
    copy_planes(level, places.begin, 0, _mm512_setzero_si512(), window);
    find_byte_corners<count, false>(places, row, corners);
#pragma GCC unroll 1
    for (int lane = 0; lane < count * fetch_lanes; lane += image_chunk) {
        const EightShares shares(row[lane / image_row], lane % image_row);
        for (int corner = 0; corner < 4; ++corner)
            _mm512_store_pd(share[corner] + lane, shares.of[corner]);
    }
#pragma GCC unroll 1
    for (int byte = 0; byte < 4; ++byte) {
        if (!out.row[byte])
            continue;
        const ByteTable table = byte_table(window.plane[byte]);
        FourCorners values;
        for (int corner = 0; corner < 4; ++corner)
            values.of[corner] = look_up_bytes(table, corners.index[corner]);
        filter_meanings<count>(*planes.byte[byte], values, share, out.row[byte]);
    }
    return true;
}
#undef LOOKS_UP_BYTES

// Filter elements of four 8-bit channels for a wave, in a slice by its entry. False: no window holds the places, or the host does not look bytes up.
static inline bool filter_in_byte_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, uint32_t slice,
                                         const RowsOf<float> &to) {
    if (!byte_look_ups || !may_be_window(level, coordinate, slice, rows))
        return false;
    return rows == 2 ? filter_byte_window_of<4>(level, coordinate, slice, to) : filter_byte_window_of<2>(level, coordinate, slice, to);
}

// As `gather_bytes`, for a wave.
static inline bool gather_in_byte_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, unsigned byte,
                                         const RowsOf<float> &to) {
    if (!byte_look_ups || !may_be_window(level, coordinate, 0, rows))
        return false;
    return rows == 2 ? gather_byte_window_of<4>(level, coordinate, byte, to) : gather_byte_window_of<2>(level, coordinate, byte, to);
}

// Filter channels of eight bits that tables give the meaning of.
static inline bool filter_meanings_in_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, const PlanesOf &planes,
                                             const RowsOf<float> &to) {
    if (!may_be_window(level, coordinate, 0, rows))
        return false;
    return rows == 2 ? filter_meanings_in_window_of<4>(level, coordinate, planes, to) : filter_meanings_in_window_of<2>(level, coordinate, planes, to);
}
#else
static inline bool filter_in_byte_window(const ImageTexels &, unsigned, const float *const *, uint32_t, const RowsOf<float> &) { return false; }
static inline bool gather_in_byte_window(const ImageTexels &, unsigned, const float *const *, unsigned, const RowsOf<float> &) { return false; }
static inline bool filter_meanings_in_window(const ImageTexels &, unsigned, const float *const *, const PlanesOf &, const RowsOf<float> &) { return false; }
#endif
