// Windows (image_windows.h) of elements of four bytes on hosts that look bytes up in tables (AVX512_VBMI): each byte of the elements is a plane of 256
// values, in which a permutation finds the texels of all lanes of a wave. Filters, gathers, comparisons, and filters of bytes that a table gives the
// meaning of.
//
// Vectors of 64 bytes have the lanes in the order in which four vectors of dwords are packed: in each sixteen bytes, four lanes of each of them. Unpacking
// gives these back as they were.
#pragma once
#include "image_fours.h"
#include "image_planes.h"
#include "image_windows.h"

#if defined(__AVX512F__)
#define LOOKS_UP_MEMBER __attribute__((target("avx512vbmi"), always_inline)) inline

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

// Copy a window's squares to planes, by byte of an element: lines of four squares, a square after the other, in lines. `turned` has the bits that are to be
// inverted.
LOOKS_UP_BYTES void copy_planes(const ImageTexels &level, const int32_t *begin, uint32_t slice, __m512i turned, BytePlanes &window) {
    uint32_t column[window_edge / square_edge];
    for (int number = 0; number < window_edge / square_edge; ++number)
        column[number] = square_entry(level.axis[0], level.squares->end_column, begin[0], number) ^ slice;
#pragma GCC unroll 4
    for (int number = 0; number < window_edge / square_edge; ++number) {
        __m512i square[window_edge / square_edge];
        read_planes(level, column, square_entry(level.axis[1], level.squares->end_line, begin[1], number), turned, square);
        const __m512i low = _mm512_shuffle_i32x4(square[0], square[1], 0x44), high = _mm512_shuffle_i32x4(square[0], square[1], 0xee);
        const __m512i next_low = _mm512_shuffle_i32x4(square[2], square[3], 0x44), next_high = _mm512_shuffle_i32x4(square[2], square[3], 0xee);
        _mm512_store_si512(window.byte[0] + 64 * number, _mm512_shuffle_i32x4(low, next_low, 0x88));
        _mm512_store_si512(window.byte[1] + 64 * number, _mm512_shuffle_i32x4(low, next_low, 0xdd));
        _mm512_store_si512(window.byte[2] + 64 * number, _mm512_shuffle_i32x4(high, next_high, 0x88));
        _mm512_store_si512(window.byte[3] + 64 * number, _mm512_shuffle_i32x4(high, next_high, 0xdd));
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

// A window, and a wave's places in it; their weights go to its rows.
template <int count, bool halved> struct OpenByteWindow {
    BytePlanes planes;
    ByteCorners corners;
    ImageRow row[2];

    // False: no window holds them, or some place is not exact.
    LOOKS_UP_MEMBER bool open(const ImageTexels &level, const float *const *coordinate, uint32_t slice, __m512i turned) {
        WindowPlaces<count> places;
        if (!places.find(level, level.squares->end_column, level.squares->end_line, coordinate, row))
            return false;
        copy_planes(level, places.begin, slice, turned, planes);
        find_byte_corners<count, halved>(places, row, corners);
        return true;
    }

    LOOKS_UP_MEMBER __m512i weight(int axis, int part) const { return wide_of(row[part / 2].weight[axis] + fetch_lanes * (part % 2)); }
};

template <int count, class Number>
__attribute__((target("avx512vbmi"), noinline)) static bool filter_byte_window_of(const ImageTexels &level, const float *const *coordinate, uint32_t slice,
                                                                                  const RowsOf<Number> &to) {
    const RowsOf<Number> out = to;
    OpenByteWindow<count, true> window;
    if (!window.open(level, coordinate, slice, _mm512_set1_epi8(-128)))
        return false;
    const ByteCorners corners = window.corners;
    const __m512i low = _mm512_unpacklo_epi8(corners.near, corners.far), high = _mm512_unpackhi_epi8(corners.near, corners.far);
    __m512i down[count];
    for (int part = 0; part < count; ++part) {
        const __m512i y = window.weight(1, part);
        down[part] = _mm512_or_si512(_mm512_sub_epi32(_mm512_set1_epi32(256), y), _mm512_slli_epi32(y, 16));
    }
#pragma GCC unroll 1
    for (int byte = 0; byte < 4; ++byte) {
        if (!out.row[byte])
            continue;
        const FourCorners mixed = mixed_along_x(byte_table(window.planes.byte[byte]), corners, low, high);
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
    OpenByteWindow<count, false> window;
    if (!window.open(level, coordinate, 0, _mm512_setzero_si512()))
        return false;
    const ByteTable table = byte_table(window.planes.byte[byte]);
#pragma GCC unroll 4
    for (int corner = 0; corner < 4; ++corner) {
        const __m512i found = look_up_bytes(table, window.corners.index[corner]);
        const __m512i low = _mm512_unpacklo_epi8(found, found), high = _mm512_unpackhi_epi8(found, found);
        const FourCorners repeated = paired_words(low, high, low, high);
#pragma GCC unroll 4
        for (int part = 0; part < count; ++part)
            _mm512_storeu_ps(out.row[row_of[corner]] + fetch_lanes * part, unorm8_of_repeated(repeated.of[part]));
    }
    return true;
}

// The singles that planes have at the places of a wave's corners.
struct WaveSinglesOfCorners {
    FourCorners of[4];
};

LOOKS_UP_BYTES WaveSinglesOfCorners look_up_singles(const BytePlanes &planes, const __m512i *index) {
    __m512i found[4][4];
    for (int plane = 0; plane < 4; ++plane) {
        const ByteTable table = byte_table(planes.byte[plane]);
        for (int corner = 0; corner < 4; ++corner)
            found[corner][plane] = look_up_bytes(table, index[corner]);
    }
    return {{singles_of_planes(found[0]), singles_of_planes(found[1]), singles_of_planes(found[2]), singles_of_planes(found[3])}};
}

template <int half> LOOKS_UP_BYTES __m512d doubles_of_half(__m512i singles) {
    return _mm512_cvtps_pd(half ? _mm512_extractf32x8_ps(_mm512_castsi512_ps(singles), 1) : _mm512_castps512_ps256(_mm512_castsi512_ps(singles)));
}

LOOKS_UP_BYTES __m512 rounded_halves(__m512d low, __m512d high) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

// Shares of the second texels along the axes, for a wave.
struct WaveShares {
    alignas(64) double of[2][2 * image_row];

    __attribute__((always_inline)) WaveShares(const ImageRow *row, int lanes) {
#pragma GCC unroll 1
        for (int lane = 0; lane < lanes; lane += image_chunk)
            for (int axis = 0; axis < 2; ++axis) {
                const __m256i weight = chunk_of(row[lane / image_row].weight[axis] + lane % image_row);
                _mm512_store_pd(of[axis] + lane, _mm512_mul_pd(_mm512_cvtepi32_pd(weight), _mm512_set1_pd(0x1p-8)));
            }
    }
};

// The sums of eight lanes, mixed along x and then along y: of singles that are multiples of 2^-35 up to 1, or integers up to 255, which all steps leave exact.
template <int half> LOOKS_UP_BYTES __m512d mixed_exactly(const WaveSinglesOfCorners &singles, int part, const WaveShares &shares) {
    const int lane = fetch_lanes * part + image_chunk * half;
    const __m512d x = _mm512_load_pd(shares.of[0] + lane), y = _mm512_load_pd(shares.of[1] + lane);
    const __m512d left = doubles_of_half<half>(singles.of[0].of[part]), lower_left = doubles_of_half<half>(singles.of[2].of[part]);
    const __m512d upper = _mm512_fmadd_pd(_mm512_sub_pd(doubles_of_half<half>(singles.of[1].of[part]), left), x, left);
    const __m512d lower = _mm512_fmadd_pd(_mm512_sub_pd(doubles_of_half<half>(singles.of[3].of[part]), lower_left), x, lower_left);
    return _mm512_fmadd_pd(_mm512_sub_pd(lower, upper), y, upper);
}

template <int count>
__attribute__((target("avx512vbmi"), noinline)) static bool filter_meanings_in_window_of(const ImageTexels &level, const float *const *coordinate,
                                                                                         const PlanesOf &planes, const RowsOf<float> &to) {
    const RowsOf<float> out = to;
    OpenByteWindow<count, false> window;
    if (!window.open(level, coordinate, 0, _mm512_setzero_si512()))
        return false;
    const WaveShares shares(window.row, count * fetch_lanes);
#pragma GCC unroll 1
    for (int byte = 0; byte < 4; ++byte) {
        if (!out.row[byte])
            continue;
        const ByteTable table = byte_table(window.planes.byte[byte]);
        __m512i value[4];
        for (int corner = 0; corner < 4; ++corner)
            value[corner] = look_up_bytes(table, window.corners.index[corner]);
        const WaveSinglesOfCorners singles = look_up_singles(*planes.byte[byte], value);
#pragma GCC unroll 4
        for (int part = 0; part < count; ++part)
            _mm512_storeu_ps(out.row[byte] + fetch_lanes * part,
                             rounded_halves(mixed_exactly<0>(singles, part, shares), mixed_exactly<1>(singles, part, shares)));
    }
    return true;
}

// The sums of eight lanes in the order of the corners, as they may be rounded.
template <int half> LOOKS_UP_BYTES __m512d mixed_in_order(const WaveSinglesOfCorners &singles, int part, const EightShares &shares) {
    __m512d sum = _mm512_setzero_pd();        // zeros are positive
    for (int corner = 0; corner < 4; ++corner)
        sum = _mm512_fmadd_pd(doubles_of_half<half>(singles.of[corner].of[part]), shares.of[corner], sum);
    return sum;
}

template <int count>
__attribute__((target("avx512vbmi"), noinline)) static bool filter_singles_in_window_of(const ImageTexels &level, const float *const *coordinate, float *to) {
    OpenByteWindow<count, false> window;
    if (!window.open(level, coordinate, 0, _mm512_setzero_si512()))
        return false;
    const WaveSinglesOfCorners singles = look_up_singles(window.planes, window.corners.index);
    unsigned strange = 0;
#pragma GCC unroll 4
    for (int part = 0; part < count; ++part) {
        const ImageRow &row = window.row[part / 2];
        const EightShares low(row, fetch_lanes * (part % 2)), high(row, fetch_lanes * (part % 2) + image_chunk);
        const __m512 sum = rounded_halves(mixed_in_order<0>(singles, part, low), mixed_in_order<1>(singles, part, high));
        strange |= _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
        _mm512_storeu_ps(to + fetch_lanes * part, sum);
    }
    return strange == 0;
}

// The elements of a wave's corners, and the weights of its places.
template <int count> struct ComparedCorners {
    __m512i of[4][count], right[count], down[count];
};

template <int count>
__attribute__((target("avx512vbmi"), noinline)) static bool find_compared_corners(const ImageTexels &level, const float *const *coordinate,
                                                                                  ComparedCorners<count> &found) {
    OpenByteWindow<count, false> window;
    if (!window.open(level, coordinate, 0, _mm512_setzero_si512()))
        return false;
    const WaveSinglesOfCorners singles = look_up_singles(window.planes, window.corners.index);
    for (int part = 0; part < count; ++part) {
        for (int corner = 0; corner < 4; ++corner)
            found.of[corner][part] = singles.of[corner].of[part];
        found.right[part] = window.weight(0, part);
        found.down[part] = window.weight(1, part);
    }
    return true;
}
#undef LOOKS_UP_MEMBER
#undef LOOKS_UP_BYTES

template <int predicate, int count>
static inline void compare_corners_by(const ComparedCorners<count> &corners, const float *reference, float *to) {
#pragma GCC unroll 1
    for (int part = 0; part < count; ++part) {
        const __m512i right = corners.right[part], left = _mm512_sub_epi32(_mm512_set1_epi32(256), right), y = corners.down[part];
        const __m512i down = _mm512_or_si512(_mm512_sub_epi32(_mm512_set1_epi32(256), y), _mm512_slli_epi32(y, 16));
        const __m512 given = _mm512_loadu_ps(reference + fetch_lanes * part);
        const auto share = [=](__m512i near, __m512i far) __attribute__((always_inline)) {
            const __m512i passes_left = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(given, _mm512_castsi512_ps(near), predicate), left);
            return _mm512_mask_add_epi32(passes_left, _mm512_cmp_ps_mask(given, _mm512_castsi512_ps(far), predicate), passes_left, right);
        };
        const __m512i above = share(corners.of[0][part], corners.of[1][part]), below = share(corners.of[2][part], corners.of[3][part]);
        const __m512i sum = _mm512_madd_epi16(_mm512_or_si512(above, _mm512_slli_epi32(below, 16)), down);
        _mm512_storeu_ps(to + fetch_lanes * part, _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(0x1p-16f)));
    }
}

template <int count>
static inline bool compare_in_window_of(const ImageTexels &level, const float *const *coordinate, unsigned function, const float *reference, float *to) {
    typedef void (*Compare)(const ComparedCorners<count> &, const float *, float *);
    static const Compare by_function[8] = {
        compare_corners_by<_CMP_FALSE_OQ, count>, compare_corners_by<_CMP_LT_OQ, count>, compare_corners_by<_CMP_EQ_OQ, count>,
        compare_corners_by<_CMP_LE_OQ, count>, compare_corners_by<_CMP_GT_OQ, count>, compare_corners_by<_CMP_NEQ_OQ, count>,
        compare_corners_by<_CMP_GE_OQ, count>, compare_corners_by<_CMP_TRUE_UQ, count>,
    };
    ComparedCorners<count> corners;
    if (!find_compared_corners(level, coordinate, corners))
        return false;
    by_function[function & 7](corners, reference, to);
    return true;
}

// Whether the places of a wave may lie in a window whose bytes are looked up, in a slice by its entry.
static inline bool may_be_byte_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, uint32_t slice) {
    return byte_look_ups && level.squares && !(slice & (square_bytes - 1)) && may_be_window(level, coordinate, (int)rows * image_row);
}

// Filter elements of four 8-bit channels for a wave, in a slice by its entry. False: no window holds the places, or the host does not look bytes up.
template <class Number>
static inline bool filter_in_byte_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, uint32_t slice,
                                         const RowsOf<Number> &to) {
    if (!may_be_byte_window(level, rows, coordinate, slice))
        return false;
    return rows == 2 ? filter_byte_window_of<4>(level, coordinate, slice, to) : filter_byte_window_of<2>(level, coordinate, slice, to);
}

// As `gather_bytes`, for a wave.
static inline bool gather_in_byte_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, unsigned byte,
                                         const RowsOf<float> &to) {
    if (!may_be_byte_window(level, rows, coordinate, 0))
        return false;
    return rows == 2 ? gather_byte_window_of<4>(level, coordinate, byte, to) : gather_byte_window_of<2>(level, coordinate, byte, to);
}

// Filter channels of eight bits that tables give the meaning of.
static inline bool filter_meanings_in_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, const PlanesOf &planes,
                                             const RowsOf<float> &to) {
    if (!may_be_byte_window(level, rows, coordinate, 0))
        return false;
    return rows == 2 ? filter_meanings_in_window_of<4>(level, coordinate, planes, to) : filter_meanings_in_window_of<2>(level, coordinate, planes, to);
}

// Filter elements of one float. False also where some sum is no number.
static inline bool filter_singles_in_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, float *to) {
    if (!may_be_byte_window(level, rows, coordinate, 0))
        return false;
    return rows == 2 ? filter_singles_in_window_of<4>(level, coordinate, to) : filter_singles_in_window_of<2>(level, coordinate, to);
}

// The share of the texels that each lane's reference passes the comparison with; `function` as for `filter_compared`.
static inline bool compare_in_window(const ImageTexels &level, unsigned rows, const float *const *coordinate, unsigned function, const float *reference,
                                     float *to) {
    if (!may_be_byte_window(level, rows, coordinate, 0))
        return false;
    return rows == 2 ? compare_in_window_of<4>(level, coordinate, function, reference, to)
                     : compare_in_window_of<2>(level, coordinate, function, reference, to);
}
#else
template <class Number>
static inline bool filter_in_byte_window(const ImageTexels &, unsigned, const float *const *, uint32_t, const RowsOf<Number> &) { return false; }
static inline bool gather_in_byte_window(const ImageTexels &, unsigned, const float *const *, unsigned, const RowsOf<float> &) { return false; }
static inline bool filter_meanings_in_window(const ImageTexels &, unsigned, const float *const *, const PlanesOf &, const RowsOf<float> &) { return false; }
static inline bool filter_singles_in_window(const ImageTexels &, unsigned, const float *const *, float *) { return false; }
static inline bool compare_in_window(const ImageTexels &, unsigned, const float *const *, unsigned, const float *, float *) { return false; }
#endif
