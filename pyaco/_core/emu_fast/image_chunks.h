// Eight lanes of an image instruction at a time, in registers: from texels to offsets, from offsets to filtered components.
//
// Results are those of the reference engine bit for bit: sums of 8-bit components are integers and exact; others are sums in double precision, in the
// order of the corners, of products that are exact, and are rounded once. Shares are integers (256 an axis): what they are too large by is a power of two,
// which the sum is divided by.
#pragma once
#include "image_patches.h"

// Rows by the byte, or half, of an element that they are for; NULL: nobody wants it.
template <class Number> struct RowsOf {
    Number *row[4];
};

struct FloatRows : RowsOf<float> {};
struct DoubleRows : RowsOf<double> {};

#if defined(__AVX2__)
// -------------------------------------------------------------------------------------------------------------- offsets
// What an axis or several give to an offset.
struct OffsetParts {
    __m256i low, high;
};

struct OffsetBits {
    __m256i low, high;

    OffsetParts of(__m256i entry) const { return {_mm256_and_si256(entry, low), _mm256_and_si256(entry, high)}; }
};

static inline OffsetBits offset_bits(const ImageTexels &level) {
    return {_mm256_set1_epi32((int)level.low), _mm256_set1_epi32((int)(~level.low & ~image_outside))};
}

static inline OffsetParts join_parts(const OffsetParts &one, const OffsetParts &other) {
    return {_mm256_xor_si256(one.low, other.low), _mm256_add_epi32(one.high, other.high)};
}

static inline void put_offset(const OffsetParts &one, const OffsetParts &other, uint32_t *offset) {
    const OffsetParts both = join_parts(one, other);
    put_chunk(offset, _mm256_or_si256(both.low, both.high));
}

// Lanes with an entry outside, as bits from `lane` on.
static inline uint32_t outside_lanes(__m256i entries, int lane) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(entries)) << lane; }

static inline const uint32_t *entries_of(const ImageTexels &level, unsigned axis) { return level.axis[axis].entry - level.axis[axis].first; }

// Offsets of the texels of a row, in several slices or in one; returns the lanes that have one outside.
static inline uint32_t place_nearest(const ImageTexels &level, bool several, ImageRow &row) {
    const OffsetBits bits = offset_bits(level);
    uint32_t outside = 0;
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        const __m256i x = look_up(entries_of(level, 0), chunk_of(row.texel[0] + lane));
        const __m256i y = look_up(entries_of(level, 1), chunk_of(row.texel[1] + lane));
        OffsetParts yz = bits.of(y);
        __m256i any = _mm256_or_si256(x, y);
        if (several) {
            const __m256i z = look_up(entries_of(level, 2), chunk_of(row.texel[2] + lane));
            any = _mm256_or_si256(any, z);
            yz = join_parts(yz, bits.of(z));
        }
        outside |= outside_lanes(any, lane);
        put_offset(bits.of(x), yz, row.offset[0] + lane);
    }
    return outside;
}

// Offsets of the corners around the places of a row. `both` has a bit for each axis whose second neighbours count; `slices`: 0 where there is one slice only,
// 1 where each lane has one, 2 where it has two neighbours.
template <int slices> static inline uint32_t place_corners_in(const ImageTexels &level, unsigned both, ImageRow &row) {
    const OffsetBits bits = offset_bits(level);
    __m256i counts[3];
    uint32_t outside = 0;
    for (int axis = 0; axis < 3; ++axis)
        counts[axis] = _mm256_set1_epi32(both >> axis & 1 ? -1 : 0);
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        const Entries x = look_up_pairs(entries_of(level, 0), chunk_of(row.texel[0] + lane));
        const Entries y = look_up_pairs(entries_of(level, 1), chunk_of(row.texel[1] + lane));
        __m256i any = _mm256_or_si256(x.first, y.first);
        any = _mm256_or_si256(any, _mm256_or_si256(_mm256_and_si256(x.second, counts[0]), _mm256_and_si256(y.second, counts[1])));
        OffsetParts z[2] = {};
        if (slices) {
            const Entries entries = look_up_pairs(entries_of(level, 2), chunk_of(row.texel[2] + lane));
            any = _mm256_or_si256(any, entries.first);
            z[0] = bits.of(entries.first);
            if (slices == 2) {
                any = _mm256_or_si256(any, _mm256_and_si256(entries.second, counts[2]));
                z[1] = bits.of(entries.second);
            }
        }
        outside |= outside_lanes(any, lane);
        const OffsetParts left = bits.of(x.first), right = bits.of(x.second), upper = bits.of(y.first), lower = bits.of(y.second);
        for (int slice = 0; slice < (slices == 2 ? 2 : 1); ++slice) {
            const OffsetParts above = slices ? join_parts(upper, z[slice]) : upper, below = slices ? join_parts(lower, z[slice]) : lower;
            put_offset(left, above, row.offset[4 * slice] + lane);
            put_offset(right, above, row.offset[4 * slice + 1] + lane);
            put_offset(left, below, row.offset[4 * slice + 2] + lane);
            put_offset(right, below, row.offset[4 * slice + 3] + lane);
        }
    }
    return outside;
}

static inline uint32_t place_corners(const ImageTexels &level, unsigned slices, unsigned both, ImageRow &row) {
    return slices == 0 ? place_corners_in<0>(level, both, row)
         : slices == 1 ? place_corners_in<1>(level, both, row)
                       : place_corners_in<2>(level, both, row);
}

// The places of eight lanes along an axis, and what they give to offsets.
template <int filter> struct ExactPlaces {
    __m256i given, texel, weight;
    Entries entries;                  // the second ones only for the linear filter

    ExactPlaces(const ExactAxis &axis, const float *coordinate, __m256 &all) { find_new(axis, chunk_of(coordinate), all); }

    // Rows of a workgroup mostly have the same columns, whose places are then kept.
    __attribute__((always_inline)) void find(const ExactAxis &axis, const float *coordinate, __m256 &all) {
        const __m256i wanted = chunk_of(coordinate);
        if (!is_zero(_mm256_xor_si256(wanted, given)))
            find_new(axis, wanted, all);
    }

    __attribute__((always_inline)) void find_new(const ExactAxis &axis, __m256i wanted, __m256 &all) {
        const __m256i place = find_places_exactly<filter>(axis, _mm256_castsi256_ps(wanted), all);
        given = wanted;
        texel = axis.limit(_mm256_srai_epi32(place, 9));
        weight = weight_of_place(place);
        if (filter == image_linear)
            entries = look_up_pairs(axis.entry, texel);
        else
            entries = {look_up(axis.entry, texel), _mm256_setzero_si256()};
    }

    __m256i any() const { return _mm256_or_si256(entries.first, entries.second); }
};

// From coordinates to offsets at once, in images of two axes, where nothing is rounded. `layer` names each lane's slice; NULL: all have the one with the entry
// `only`. False: some lane's place is not exact, or no number. `outside` gets the lanes that have a texel outside.
template <int filter>
static inline bool place_exactly_by(const ImageTexels &level, const float *const *coordinate, const int32_t *layer, uint32_t only, ImageRow &row,
                                    uint32_t &outside) {
    const ExactAxis x(level.axis[0]), y(level.axis[1]);
    const OffsetBits bits = offset_bits(level);
    const uint32_t *slices = entries_of(level, 2);
    __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    uint32_t found = 0;
    ExactPlaces<filter> across(x, coordinate[0], all);
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        across.find(x, coordinate[0] + lane, all);
        const ExactPlaces<filter> down(y, coordinate[1] + lane, all);
        const __m256i slice = layer ? look_up(slices, chunk_of(layer + lane)) : _mm256_set1_epi32((int)only);
        found |= outside_lanes(_mm256_or_si256(_mm256_or_si256(across.any(), down.any()), slice), lane);
        const OffsetParts left = bits.of(across.entries.first), above = join_parts(bits.of(down.entries.first), bits.of(slice));
        put_offset(left, above, row.offset[0] + lane);
        if (filter != image_linear)
            continue;
        put_chunk(row.texel[0] + lane, across.texel);
        put_chunk(row.texel[1] + lane, down.texel);
        put_chunk(row.weight[0] + lane, across.weight);
        put_chunk(row.weight[1] + lane, down.weight);
        const OffsetParts right = bits.of(across.entries.second), below = join_parts(bits.of(down.entries.second), bits.of(slice));
        put_offset(right, above, row.offset[1] + lane);
        put_offset(left, below, row.offset[2] + lane);
        put_offset(right, below, row.offset[3] + lane);
    }
    outside = found;
    return _mm256_movemask_ps(all) == 0xff;
}

static inline bool is_exact(const ImageAxis &axis) { return axis.exact && (axis.repeats || !axis.period); }

static inline bool place_exactly(const ImageTexels &level, const float *const *coordinate, const int32_t *layer, uint32_t only, int filter, ImageRow &row,
                                 uint32_t &outside) {
    if (!is_exact(level.axis[0]) || !is_exact(level.axis[1]))
        return false;
    return filter == image_linear    ? place_exactly_by<image_linear>(level, coordinate, layer, only, row, outside)
         : filter == image_truncates ? place_exactly_by<image_truncates>(level, coordinate, layer, only, row, outside)
                                     : place_exactly_by<image_nearest>(level, coordinate, layer, only, row, outside);
}

// The same for the two neighbours along each of three axes.
static inline bool place_volume(const ImageTexels &level, const float *const *coordinate, ImageRow &row, uint32_t &outside) {
    const ExactAxis x(level.axis[0]), y(level.axis[1]), z(level.axis[2]);
    const OffsetBits bits = offset_bits(level);
    __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    uint32_t found = 0;
    ExactPlaces<image_linear> across(x, coordinate[0], all), down(y, coordinate[1], all), deep(z, coordinate[2], all);
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        across.find(x, coordinate[0] + lane, all);
        down.find(y, coordinate[1] + lane, all);
        deep.find(z, coordinate[2] + lane, all);
        found |= outside_lanes(_mm256_or_si256(_mm256_or_si256(across.any(), down.any()), deep.any()), lane);
        put_chunk(row.weight[0] + lane, across.weight);
        put_chunk(row.weight[1] + lane, down.weight);
        put_chunk(row.weight[2] + lane, deep.weight);
        const OffsetParts left = bits.of(across.entries.first), right = bits.of(across.entries.second);
        const OffsetParts upper = bits.of(down.entries.first), lower = bits.of(down.entries.second);
        const OffsetParts slices[2] = {bits.of(deep.entries.first), bits.of(deep.entries.second)};
#pragma GCC unroll 2
        for (int slice = 0; slice < 2; ++slice) {
            const OffsetParts above = join_parts(upper, slices[slice]), below = join_parts(lower, slices[slice]);
            put_offset(left, above, row.offset[4 * slice] + lane);
            put_offset(right, above, row.offset[4 * slice + 1] + lane);
            put_offset(left, below, row.offset[4 * slice + 2] + lane);
            put_offset(right, below, row.offset[4 * slice + 3] + lane);
        }
    }
    outside = found;
    return _mm256_movemask_ps(all) == 0xff;
}

// An axis whose texels are named by number: those outside have the entry of the last.
struct NumberedAxis {
    const uint32_t *entry;            // by texel
    __m256i last;

    NumberedAxis(const ImageTexels &level, unsigned axis)
        : entry(entries_of(level, axis)), last(_mm256_set1_epi32((int)level.axis[axis].size - 1)) {}

    __m256i look_up_inside(__m256i texel, __m256i &inside) const {
        const __m256i within = _mm256_min_epu32(texel, last);
        inside = _mm256_and_si256(inside, _mm256_cmpeq_epi32(within, texel));
        return look_up(entry, within);
    }
};

// Offsets of eight lanes' texels after each other. Rows of a workgroup mostly have the same columns, whose part is then kept.
struct NumberedTexels {
    const OffsetBits bits;
    const NumberedAxis columns, lines, slices;
    const uint32_t *const x, *const y, *const z;
    __m256i last_column;
    OffsetParts along;
    __m256i inside_columns;

    // `z` is NULL where there is one slice only.
    NumberedTexels(const ImageTexels &level, const uint32_t *x_row, const uint32_t *y_row, const uint32_t *z_row)
        : bits(offset_bits(level)), columns(level, 0), lines(level, 1), slices(level, 2), x(x_row), y(y_row), z(z_row) {
        find_columns(chunk_of(x));
    }

    __attribute__((always_inline)) void find_columns(__m256i column) {
        last_column = column;
        inside_columns = _mm256_set1_epi32(-1);
        along = bits.of(columns.look_up_inside(column, inside_columns));
    }

    // Returns the lanes whose texels are in the level.
    __attribute__((always_inline)) uint32_t place(int lane, uint32_t *offset) {
        const __m256i column = chunk_of(x + lane);
        if (!is_zero(_mm256_xor_si256(column, last_column)))
            find_columns(column);
        __m256i inside = inside_columns;
        OffsetParts yz = bits.of(lines.look_up_inside(chunk_of(y + lane), inside));
        if (z)
            yz = join_parts(yz, bits.of(slices.look_up_inside(chunk_of(z + lane), inside)));
        put_offset(along, yz, offset);
        return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(inside)) << lane;
    }
};

// Offsets of texels that are named by integers. Returns the lanes whose texels are not in the level.
static inline uint32_t place_texels(const ImageTexels &level, const uint32_t *x, const uint32_t *y, const uint32_t *z, uint32_t *offset) {
    NumberedTexels texels(level, x, y, z);
    uint32_t inside = 0;
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk)
        inside |= texels.place(lane, offset + lane);
    return ~inside;
}

// --------------------------------------------------------------------------------------------------------- 8-bit unorm
// k / 255, correctly rounded for k from 0 to 255 (see `unorm8`).
static inline __m256 unorm8_chunk(__m256i byte) {
    const __m256 value = _mm256_cvtepi32_ps(byte);
    return _mm256_fmadd_ps(value, _mm256_set1_ps(0x1.010102p-8f), _mm256_mul_ps(value, _mm256_set1_ps(-0x1.fdfdfep-33f)));
}

// A byte of every dword.
static inline __m256i byte_of(__m256i words, int byte) {
    if (byte == 0)
        return _mm256_and_si256(words, _mm256_set1_epi32(255));
    if (byte == 3)
        return _mm256_srli_epi32(words, 24);
    const int one = (int)0x80808000u + byte;
    return _mm256_shuffle_epi8(words, _mm256_setr_epi32(one, one + 4, one + 8, one + 12, one, one + 4, one + 8, one + 12));
}

template <int bytes> __attribute__((always_inline)) static inline void put_bytes(__m256i words, const RowsOf<float> &rows, int lane) {
#pragma GCC unroll 4
    for (int byte = 0; byte < bytes; ++byte)
        if (rows.row[byte])
            _mm256_storeu_ps(rows.row[byte] + lane, unorm8_chunk(byte_of(words, byte)));
}

__attribute__((always_inline)) static inline void put_four_bytes(__m256i words, const RowsOf<float> &rows, int lane) {
#pragma GCC unroll 4
    for (int byte = 0; byte < 4; ++byte)
        _mm256_storeu_ps(rows.row[byte] + lane, unorm8_chunk(byte_of(words, byte)));
}

#if defined(__AVX512F__)
// A byte of every dword as k / 255. In base 256 that is 0.kkkk..., of which 32 bits are converted: what is cut off, and what does not fit 24 bits, is never
// zero unless k is, and never more than one in the last place that is kept, so that rounding up gives the nearest single.
__attribute__((always_inline)) static inline __m512 unorm8_of_repeated(__m512i repeated) {
    return _mm512_mul_ps(_mm512_cvt_roundepu32_ps(repeated, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC), _mm512_set1_ps(0x1p-32f));
}

__attribute__((always_inline)) static inline __m512 unorm8_of(__m512i words, int byte) {
    const int four = 0x01010101 * byte, next = 0x04040404;
    const __m128i of_four = _mm_setr_epi32(four, four + next, four + 2 * next, four + 3 * next);
    return unorm8_of_repeated(_mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(of_four)));
}

template <int bytes> __attribute__((always_inline)) static inline void put_bytes(__m512i words, const RowsOf<float> &rows, int lane) {
#pragma GCC unroll 4
    for (int byte = 0; byte < bytes; ++byte)
        if (rows.row[byte])
            _mm512_storeu_ps(rows.row[byte] + lane, unorm8_of(words, byte));
}

__attribute__((always_inline)) static inline void put_four_bytes(__m512i words, const RowsOf<float> &rows, int lane) {
#pragma GCC unroll 4
    for (int byte = 0; byte < 4; ++byte)
        _mm512_storeu_ps(rows.row[byte] + lane, unorm8_of(words, byte));
}
#endif

template <class Word> static inline void pass_bytes_of(const uint8_t *host, const uint32_t *offset, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk)
        put_bytes<sizeof(Word)>(chunk_at<Word>(host, offset + lane), rows, lane);
}

template <int count> static inline void pass_patch_of(const uint8_t *host, const ImagePatch &patch, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    if (rows.row[0] && rows.row[1] && rows.row[2] && rows.row[3])
        for_patch<count>(host, patch, [rows](int lane, auto words) __attribute__((always_inline)) { put_four_bytes(words, rows, lane); });
    else
        for_patch<count>(host, patch, [rows](int lane, auto words) __attribute__((always_inline)) { put_bytes<4>(words, rows, lane); });
}

// A byte of the corners (0, 1), (1, 1), (1, 0), (0, 0), to a row each.
template <class Source> static inline void gather_bytes_of(const Source &source, int lanes, unsigned byte, const RowsOf<float> &to) {
    const __m128i shift = _mm_cvtsi32_si128(8 * (int)byte);
    Corners found = {};
#pragma GCC unroll 1
    for (int lane = lanes - image_chunk; lane >= 0; lane -= image_chunk) {
        source.load(lane, found);
        _mm256_storeu_ps(to.row[0] + lane, unorm8_chunk(byte_of(_mm256_srl_epi32(found.lower_left, shift), 0)));
        _mm256_storeu_ps(to.row[1] + lane, unorm8_chunk(byte_of(_mm256_srl_epi32(found.lower_right, shift), 0)));
        _mm256_storeu_ps(to.row[2] + lane, unorm8_chunk(byte_of(_mm256_srl_epi32(found.right, shift), 0)));
        _mm256_storeu_ps(to.row[3] + lane, unorm8_chunk(byte_of(_mm256_srl_epi32(found.left, shift), 0)));
    }
}

// Sums of bytes in a slice, with weights of 256 along x, in the halves of dwords, less 2^15: those of even bytes and of odd ones, for two rows.
struct ByteSums {
    __m256i upper_even, upper_odd, lower_even, lower_odd;
};

// `right` and `left` are weights in both halves of a dword.
__attribute__((always_inline)) static inline void sum_two_bytes(__m256i first, __m256i second, __m256i left, __m256i right, __m256i &even, __m256i &odd) {
    const __m256i bytes = _mm256_set1_epi32(0x00ff00ff), bias = _mm256_set1_epi16(-0x8000);
    even = _mm256_add_epi16(_mm256_mullo_epi16(_mm256_and_si256(first, bytes), left), _mm256_mullo_epi16(_mm256_and_si256(second, bytes), right));
    odd = _mm256_add_epi16(_mm256_mullo_epi16(_mm256_srli_epi16(first, 8), left), _mm256_mullo_epi16(_mm256_srli_epi16(second, 8), right));
    even = _mm256_xor_si256(even, bias);
    odd = _mm256_xor_si256(odd, bias);
}

__attribute__((always_inline)) static inline void sum_along_x(const Corners &corners, __m256i weight, ByteSums &sums) {
    const __m256i right = _mm256_or_si256(weight, _mm256_slli_epi32(weight, 16)), left = _mm256_sub_epi16(_mm256_set1_epi16(256), right);
    sum_two_bytes(corners.left, corners.right, left, right, sums.upper_even, sums.upper_odd);
    sum_two_bytes(corners.lower_left, corners.lower_right, left, right, sums.lower_even, sums.lower_odd);
}

// The sum of a byte, with weights of 65536 in all; `weight`: of the two rows, in the halves of dwords.
__attribute__((always_inline)) static inline __m256i sum_of_byte(const ByteSums &sums, int byte, __m256i weight) {
    const __m256i upper = byte & 1 ? sums.upper_odd : sums.upper_even, lower = byte & 1 ? sums.lower_odd : sums.lower_even;
    const __m256i pairs = byte & 2 ? _mm256_blend_epi16(_mm256_srli_epi32(upper, 16), lower, 0xaa)
                                   : _mm256_blend_epi16(upper, _mm256_slli_epi32(lower, 16), 0xaa);
    return _mm256_add_epi32(_mm256_madd_epi16(pairs, weight), _mm256_set1_epi32(256 << 15));
}

static inline void put_doubles(__m256d low, __m256d high, double *to) {
    _mm256_storeu_pd(to, low);
    _mm256_storeu_pd(to + 4, high);
}

static inline void put_doubles(__m256d low, __m256d high, float *to) {
    _mm256_storeu_ps(to, _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)));
}

#if defined(__AVX512F__)
static inline void put_doubles(__m512d doubles, double *to) { _mm512_storeu_pd(to, doubles); }
static inline void put_doubles(__m512d doubles, float *to) { _mm256_storeu_ps(to, _mm512_cvtpd_ps(doubles)); }
#endif

static inline __m256d low_doubles(__m256i integers) { return _mm256_cvtepi32_pd(_mm256_castsi256_si128(integers)); }
static inline __m256d high_doubles(__m256i integers) { return _mm256_cvtepi32_pd(_mm256_extracti128_si256(integers, 1)); }

// Eight lanes in double precision.
#if defined(__AVX512F__)
struct EightDoubles {
    __m512d all;

    static EightDoubles of(__m256i integers) { return {_mm512_cvtepi32_pd(integers)}; }
    static EightDoubles of(const float *singles) { return {_mm512_cvtps_pd(_mm256_loadu_ps(singles))}; }
    static EightDoubles of(const double *doubles) { return {_mm512_loadu_pd(doubles)}; }
    static EightDoubles of(__m256 singles) { return {_mm512_cvtps_pd(singles)}; }
    static EightDoubles everywhere(double value) { return {_mm512_set1_pd(value)}; }
    EightDoubles plus(const EightDoubles &other) const { return {_mm512_add_pd(all, other.all)}; }
    EightDoubles minus(const EightDoubles &other) const { return {_mm512_sub_pd(all, other.all)}; }
    EightDoubles times(const EightDoubles &other) const { return {_mm512_mul_pd(all, other.all)}; }
    EightDoubles times_plus(const EightDoubles &factor, const EightDoubles &term) const { return {_mm512_fmadd_pd(all, factor.all, term.all)}; }
    __m256 rounded() const { return _mm512_cvtpd_ps(all); }
    template <class Number> void put(Number *to) const { put_doubles(all, to); }
};
#else
struct EightDoubles {
    __m256d low, high;

    static EightDoubles of(__m256i integers) { return {low_doubles(integers), high_doubles(integers)}; }
    static EightDoubles of(const float *singles) { return {_mm256_cvtps_pd(_mm_loadu_ps(singles)), _mm256_cvtps_pd(_mm_loadu_ps(singles + 4))}; }
    static EightDoubles of(const double *doubles) { return {_mm256_loadu_pd(doubles), _mm256_loadu_pd(doubles + 4)}; }
    static EightDoubles of(__m256 singles) { return {_mm256_cvtps_pd(_mm256_castps256_ps128(singles)), _mm256_cvtps_pd(_mm256_extractf128_ps(singles, 1))}; }
    static EightDoubles everywhere(double value) { return {_mm256_set1_pd(value), _mm256_set1_pd(value)}; }
    EightDoubles plus(const EightDoubles &other) const { return {_mm256_add_pd(low, other.low), _mm256_add_pd(high, other.high)}; }
    EightDoubles minus(const EightDoubles &other) const { return {_mm256_sub_pd(low, other.low), _mm256_sub_pd(high, other.high)}; }
    EightDoubles times(const EightDoubles &other) const { return {_mm256_mul_pd(low, other.low), _mm256_mul_pd(high, other.high)}; }
    EightDoubles times_plus(const EightDoubles &factor, const EightDoubles &term) const {
        return {_mm256_fmadd_pd(low, factor.low, term.low), _mm256_fmadd_pd(high, factor.high, term.high)};
    }
    __m256 rounded() const { return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)); }
    template <class Number> void put(Number *to) const { put_doubles(low, high, to); }
};
#endif

// Sums as fractions: sum / (255 * 65536), correctly rounded.
static inline void put_byte_sums(__m256i sums, float *to) {
    const __m256 value = _mm256_cvtepi32_ps(sums);
    _mm256_storeu_ps(to, _mm256_fmadd_ps(value, _mm256_set1_ps(0x1.010102p-24f), _mm256_mul_ps(value, _mm256_set1_ps(-0x1.fdfdfep-49f))));
}

static inline void put_byte_sums(__m256i sums, double *to) {
    EightDoubles::of(sums).times(EightDoubles::everywhere(1.0 / (255 * 65536))).put(to);
}

// Those of two slices, which fill 32 bits.
template <class Number> static inline void put_byte_sums(__m256i first, __m256i second, __m256i weight, Number *to) {
    const __m256i rest = _mm256_sub_epi32(_mm256_set1_epi32(256), weight);
    const __m256i sum = _mm256_add_epi32(_mm256_mullo_epi32(first, rest), _mm256_mullo_epi32(second, weight));
#if defined(__AVX512F__)
    put_doubles(_mm512_mul_pd(_mm512_cvtepu32_pd(sum), _mm512_set1_pd(1.0 / (255.0 * 65536 * 256))), to);
#else
    const __m256i less = _mm256_xor_si256(sum, _mm256_set1_epi32((int)0x80000000u));
    const __m256d unit = _mm256_set1_pd(1.0 / (255.0 * 65536 * 256)), lacks = _mm256_set1_pd(0x1p31);
    put_doubles(_mm256_mul_pd(_mm256_add_pd(low_doubles(less), lacks), unit), _mm256_mul_pd(_mm256_add_pd(high_doubles(less), lacks), unit), to);
#endif
}

// Whether eight lanes of two slices sample the same texels as the next eight, with the same weights along x, as those of a magnified image do: a lane's
// first and last corner name all of them.
static inline bool is_as_next(const ImageRow &row, int lane) {
    if (lane + image_chunk == row.lanes)
        return false;
    const auto differs = [lane](const void *of_row) __attribute__((always_inline)) {
        const uint32_t *words = (const uint32_t *)of_row + lane;
        return _mm256_xor_si256(chunk_of(words), chunk_of(words + image_chunk));
    };
    return is_zero(_mm256_or_si256(_mm256_or_si256(differs(row.offset[0]), differs(row.offset[image_corners - 1])), differs(row.weight[0])));
}

// `second` are the corners in the second slice, if there are two.
template <int bytes, int slices, class Source, class Number>
static inline void filter_bytes_in(const Source &first, const Source &second, const ImageRow &row, const RowsOf<Number> &to) {
    Corners near = {}, far = {};
    ByteSums sums = {}, more = {};
#pragma GCC unroll 1
    for (int lane = row.lanes - image_chunk; lane >= 0; lane -= image_chunk) {
        const __m256i x = chunk_of(row.weight[0] + lane), y = chunk_of(row.weight[1] + lane);
        const __m256i rows = _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(256), y), _mm256_slli_epi32(y, 16));
        if (slices == 1 || !is_as_next(row, lane)) {
            first.load(lane, near);
            sum_along_x(near, x, sums);
            if (slices == 2) {
                second.load(lane, far);
                sum_along_x(far, x, more);
            }
        }
#pragma GCC unroll 4
        for (int byte = 0; byte < bytes; ++byte) {
            if (!to.row[byte])
                continue;
            const __m256i sum = sum_of_byte(sums, byte, rows);
            if (slices == 1)
                put_byte_sums(sum, to.row[byte] + lane);
            else
                put_byte_sums(sum, sum_of_byte(more, byte, rows), chunk_of(row.weight[2] + lane), to.row[byte] + lane);
        }
    }
}

// The same of a wave's patch: each line is mixed along x once, for the lanes above it and those below.
template <int count> static inline void filter_wave_patch(const uint8_t *host, const WavePatch<count> &wave, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    PatchLines<count> lines;
    read_patch<true>(host, wave.patch, lines);
    const __m256i right = _mm256_or_si256(wave.across, _mm256_slli_epi32(wave.across, 16)), left = _mm256_sub_epi16(_mm256_set1_epi16(256), right);
    alignas(32) int32_t weight[image_chunk];
    put_chunk(weight, _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(256), wave.down), _mm256_slli_epi32(wave.down, 16)));
    const int first = wave.patch.odd_line;
    ByteSums sums;
    sum_two_bytes(chunk_of(lines.left[first]), chunk_of(lines.right[first]), left, right, sums.upper_even, sums.upper_odd);
#pragma GCC unroll 1
    for (int line = 0; line < count; ++line) {
        const int below = first + line + 1;
        sum_two_bytes(chunk_of(lines.left[below]), chunk_of(lines.right[below]), left, right, sums.lower_even, sums.lower_odd);
        const __m256i of_lines = everywhere(weight + line);
#pragma GCC unroll 4
        for (int byte = 0; byte < 4; ++byte)
            if (rows.row[byte])
                put_byte_sums(sum_of_byte(sums, byte, of_lines), rows.row[byte] + image_chunk * line);
        sums.upper_even = sums.lower_even;
        sums.upper_odd = sums.lower_odd;
    }
}

// A byte of the corners (0, 1), (1, 1), (1, 0), (0, 0) of the places of a wave's patch, to a row each: a line is above some lanes, and below others.
#if defined(__AVX512F__)
template <int count, bool odd_column, bool odd_line>
static inline void gather_patch_by(const uint8_t *host, const ImagePatch &patch, unsigned byte, const RowsOf<float> &rows) {
    __m512 left = _mm512_setzero_ps(), right = left;              // two lines of the texels that the patch's quads have
#pragma GCC unroll 5
    for (int pair = 0; pair <= count / 2; ++pair) {
        const __m512 left_before = left, right_before = right;
        __m512i quads, beyond;
        const uint32_t *offset = patch.offset[pair];
        read_quads(host, offset, quads);
        beyond = _mm512_castsi128_si512(quad_at(host, offset[4]));
        left = unorm8_of(columns_of_quads<odd_column ? 1 : 0>(quads, beyond), (int)byte);
        right = unorm8_of(columns_of_quads<odd_column ? 2 : 1>(quads, beyond), (int)byte);
        const int lane = 2 * image_chunk * (pair - 1);
        if (pair) {
            const __m512i all_left = _mm512_alignr_epi64(_mm512_castps_si512(left), _mm512_castps_si512(left_before), 4);
            const __m512i all_right = _mm512_alignr_epi64(_mm512_castps_si512(right), _mm512_castps_si512(right_before), 4);
            _mm512_storeu_si512(rows.row[odd_line ? 3 : 0] + lane, all_left);
            _mm512_storeu_si512(rows.row[odd_line ? 2 : 1] + lane, all_right);
        }
        if (odd_line ? pair > 0 : pair < count / 2) {
            const int here = odd_line ? lane : lane + 2 * image_chunk;
            _mm512_storeu_ps(rows.row[odd_line ? 0 : 3] + here, left);
            _mm512_storeu_ps(rows.row[odd_line ? 1 : 2] + here, right);
        }
    }
}

template <int count> static inline void gather_patch(const uint8_t *host, const ImagePatch &patch, unsigned byte, const RowsOf<float> &rows) {
    if (patch.odd_column) {
        if (patch.odd_line)
            return gather_patch_by<count, true, true>(host, patch, byte, rows);
        return gather_patch_by<count, true, false>(host, patch, byte, rows);
    }
    if (patch.odd_line)
        return gather_patch_by<count, false, true>(host, patch, byte, rows);
    gather_patch_by<count, false, false>(host, patch, byte, rows);
}
#else
template <int count> static inline void gather_patch(const uint8_t *host, const ImagePatch &patch, unsigned byte, const RowsOf<float> &rows) {
    PatchLines<count> lines;
    read_patch<true>(host, patch, lines);
    const __m128i shift = _mm_cvtsi32_si128(8 * (int)byte);
#pragma GCC unroll 1
    for (int number = 0; number <= count; ++number) {
        const int line = number + patch.odd_line, lane = image_chunk * number;
        const __m256 left = unorm8_chunk(byte_of(_mm256_srl_epi32(chunk_of(lines.left[line]), shift), 0));
        const __m256 right = unorm8_chunk(byte_of(_mm256_srl_epi32(chunk_of(lines.right[line]), shift), 0));
        if (number > 0) {
            _mm256_storeu_ps(rows.row[0] + lane - image_chunk, left);
            _mm256_storeu_ps(rows.row[1] + lane - image_chunk, right);
        }
        if (number < count) {
            _mm256_storeu_ps(rows.row[2] + lane, right);
            _mm256_storeu_ps(rows.row[3] + lane, left);
        }
    }
}
#endif

// -------------------------------------------------------------------------------------------------------------- singles
// The corners' shares in the sum, 256 an axis.
template <int slices> struct Shares {
    __m256i of[4 * slices];
};

template <int slices> static inline Shares<slices> shares_of(const ImageRow &row, int lane) {
    const __m256i x = chunk_of(row.weight[0] + lane), y = chunk_of(row.weight[1] + lane);
    const __m256i both = _mm256_mullo_epi16(x, y), right = _mm256_slli_epi32(x, 8), lower = _mm256_slli_epi32(y, 8);
    const __m256i right_only = _mm256_sub_epi32(right, both), lower_only = _mm256_sub_epi32(lower, both);
    const __m256i flat[4] = {_mm256_sub_epi32(_mm256_set1_epi32(1 << 16), _mm256_add_epi32(right, lower_only)), right_only, lower_only, both};
    Shares<slices> shares;
    for (int corner = 0; corner < 4; ++corner) {
        shares.of[corner] = flat[corner];
        if (slices == 2) {
            const __m256i z = chunk_of(row.weight[2] + lane);
            shares.of[corner] = _mm256_mullo_epi32(flat[corner], _mm256_sub_epi32(_mm256_set1_epi32(256), z));
            shares.of[4 * (slices - 1) + corner] = _mm256_mullo_epi32(flat[corner], z);
        }
    }
    return shares;
}

// A texel without a share does not count: what is not finite there makes a NaN, and its lane is done otherwise. `component` has a row for each corner.
template <int slices, class Number>
static inline void filter_singles_in(const uint32_t *const *component, const ImageRow &row, Number *to) {
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += image_chunk) {
        const Shares<slices> shares = shares_of<slices>(row, lane);
        EightDoubles sum = EightDoubles::everywhere(0.0);
#pragma GCC unroll 8
        for (int corner = 0; corner < 4 * slices; ++corner)
            sum = EightDoubles::of((const float *)component[corner] + lane).times_plus(EightDoubles::of(shares.of[corner]), sum);
        sum.times(EightDoubles::everywhere(slices == 2 ? 0x1p-24 : 0x1p-16)).put(to + lane);
    }
}

// The share of the texels that a reference passes the comparison with.
template <int slices, int predicate>
static inline void filter_compared_by(const uint32_t *const *component, const ImageRow &row, const float *reference, float *to) {
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += image_chunk) {
        const Shares<slices> shares = shares_of<slices>(row, lane);
        const __m256 given = _mm256_loadu_ps(reference + lane);
        __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
        for (int corner = 0; corner < 4 * slices; ++corner) {
            const __m256 passes = _mm256_cmp_ps(given, _mm256_loadu_ps((const float *)component[corner] + lane), predicate);
            sum = _mm256_add_epi32(sum, _mm256_and_si256(_mm256_castps_si256(passes), shares.of[corner]));
        }
        _mm256_storeu_ps(to + lane, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(slices == 2 ? 0x1p-24f : 0x1p-16f)));
    }
}

// `function` has bits for <, == and >; 0 and 7 are never and always.
template <int slices>
static inline void filter_compared_in(const uint32_t *const *component, const ImageRow &row, unsigned function, const float *reference, float *to) {
    typedef void (*Filter)(const uint32_t *const *, const ImageRow &, const float *, float *);
    static const Filter by_function[8] = {
        filter_compared_by<slices, _CMP_FALSE_OQ>, filter_compared_by<slices, _CMP_LT_OQ>, filter_compared_by<slices, _CMP_EQ_OQ>,
        filter_compared_by<slices, _CMP_LE_OQ>, filter_compared_by<slices, _CMP_GT_OQ>, filter_compared_by<slices, _CMP_NEQ_OQ>,
        filter_compared_by<slices, _CMP_GE_OQ>, filter_compared_by<slices, _CMP_TRUE_UQ>,
    };
    by_function[function & 7](component, row, reference, to);
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline uint32_t place_nearest(const ImageTexels &, bool, ImageRow &) { return 0; }
static inline uint32_t place_corners(const ImageTexels &, unsigned, unsigned, ImageRow &) { return 0; }
static inline bool place_exactly(const ImageTexels &, const float *const *, const int32_t *, uint32_t, int, ImageRow &, uint32_t &) { return false; }
static inline bool place_volume(const ImageTexels &, const float *const *, ImageRow &, uint32_t &) { return false; }
static inline uint32_t place_texels(const ImageTexels &, const uint32_t *, const uint32_t *, const uint32_t *, uint32_t *) { return 0; }
template <class Word> static inline void pass_bytes_of(const uint8_t *, const uint32_t *, const RowsOf<float> &) {}
template <int count> static inline void pass_patch_of(const uint8_t *, const ImagePatch &, const RowsOf<float> &) {}
template <class Source> static inline void gather_bytes_of(const Source &, int, unsigned, const RowsOf<float> &) {}
template <int bytes, int slices, class Source, class Number>
static inline void filter_bytes_in(const Source &, const Source &, const ImageRow &, const RowsOf<Number> &) {}
template <int slices, class Number> static inline void filter_singles_in(const uint32_t *const *, const ImageRow &, Number *) {}
template <int slices>
static inline void filter_compared_in(const uint32_t *const *, const ImageRow &, unsigned, const float *, float *) {}
#endif

// ------------------------------------------------------------------------------------------ by size of elements and slices
// A dword of a row's elements of `bytes` bytes.
static inline void load_words(const uint8_t *host, const ImageRow &row, unsigned bytes, unsigned dword, uint32_t *words) {
    if (row.patch.used)
        load_elements(PatchElements(host, row.patch), words);
    else if (bytes == 1)
        load_elements(PlacedElements<uint8_t>{host, row.offset[0]}, words);
    else if (bytes == 2)
        load_elements(PlacedElements<uint16_t>{host, row.offset[0]}, words);
    else
        load_elements(PlacedElements<uint32_t>{host + 4 * dword, row.offset[0]}, words);
}

// The same for the corners around each lane's place in one slice or two: bit 0 for x, bit 1 for y, bit 2 for z.
static inline void load_corners(const uint8_t *host, const ImageRow &row, unsigned bytes, unsigned dword, unsigned slices, uint32_t *words,
                                unsigned stride) {
    if (row.patch.used)
        return load_corner_elements(PatchCorners(host, row.patch), image_row, words, stride);
    for (unsigned slice = 0; slice < slices; ++slice, words += 4 * stride) {
        const uint32_t(*offset)[image_row] = row.offset + 4 * slice;
        if (bytes == 1)
            load_corner_elements(PlacedCorners<uint8_t>{host, offset, row.lanes}, row.lanes, words, stride);
        else if (bytes == 2)
            load_corner_elements(PlacedCorners<uint16_t>{host, offset, row.lanes}, row.lanes, words, stride);
        else
            load_corner_elements(PlacedCorners<uint32_t>{host + 4 * dword, offset, row.lanes}, row.lanes, words, stride);
    }
}

static inline void pass_bytes(const uint8_t *host, const ImageRow &row, unsigned bytes, const RowsOf<float> &to) {
    if (row.patch.used)
        pass_patch_of<patch_lines>(host, row.patch, to);
    else if (bytes == 1)
        pass_bytes_of<uint8_t>(host, row.offset[0], to);
    else if (bytes == 2)
        pass_bytes_of<uint16_t>(host, row.offset[0], to);
    else
        pass_bytes_of<uint32_t>(host, row.offset[0], to);
}

static inline void gather_bytes(const uint8_t *host, const ImageRow &row, unsigned bytes, unsigned byte, const RowsOf<float> &to) {
    if (row.patch.used)
        gather_bytes_of(PatchCorners(host, row.patch), image_row, byte, to);
    else if (bytes == 1)
        gather_bytes_of(PlacedCorners<uint8_t>{host, row.offset, row.lanes}, row.lanes, byte, to);
    else if (bytes == 2)
        gather_bytes_of(PlacedCorners<uint16_t>{host, row.offset, row.lanes}, row.lanes, byte, to);
    else
        gather_bytes_of(PlacedCorners<uint32_t>{host, row.offset, row.lanes}, row.lanes, byte, to);
}

template <class Word, int slices, class Number>
static inline void filter_placed_bytes(const uint8_t *host, const ImageRow &row, const RowsOf<Number> &to) {
    const PlacedCorners<Word> near{host, row.offset, row.lanes}, far{host, row.offset + 4, row.lanes};
    filter_bytes_in<sizeof(Word), slices>(near, far, row, to);
}

template <int slices, class Number>
static inline void filter_bytes_of(const uint8_t *host, const ImageRow &row, unsigned bytes, const RowsOf<Number> &to) {
    if (bytes == 1)
        filter_placed_bytes<uint8_t, slices>(host, row, to);
    else if (bytes == 2)
        filter_placed_bytes<uint16_t, slices>(host, row, to);
    else
        filter_placed_bytes<uint32_t, slices>(host, row, to);
}

template <class Number> static inline void filter_patch(const uint8_t *host, const ImageRow &row, const RowsOf<Number> &to) {
    const PatchCorners corners(host, row.patch);
    filter_bytes_in<4, 1>(corners, corners, row, to);
}

template <class Number> static inline void filter_bytes(const uint8_t *host, const ImageRow &row, unsigned bytes, unsigned slices, const RowsOf<Number> &to) {
    if (row.patch.used)
        filter_patch(host, row, to);
    else if (slices == 1)
        filter_bytes_of<1>(host, row, bytes, to);
    else
        filter_bytes_of<2>(host, row, bytes, to);
}

template <class Number> static inline void filter_singles(const uint32_t *const *component, const ImageRow &row, unsigned slices, Number *to) {
    if (slices == 1)
        filter_singles_in<1>(component, row, to);
    else
        filter_singles_in<2>(component, row, to);
}

static inline void filter_compared(const uint32_t *const *component, const ImageRow &row, unsigned slices, unsigned function, const float *reference,
                                   float *to) {
    if (slices == 1)
        filter_compared_in<1>(component, row, function, reference, to);
    else
        filter_compared_in<2>(component, row, function, reference, to);
}

// ---------------------------------------------------------------------------------------------------------- edges of cubes
static inline uint32_t offset_of_texel(const ImageTexels &level, uint32_t x, uint32_t y, uint32_t layer) {
    const ImageAxis *axis = level.axis;
    const uint32_t along = axis[0].entry[(int32_t)x - axis[0].first], down = axis[1].entry[(int32_t)y - axis[1].first];
    const uint32_t slice = axis[2].entry[(int32_t)layer - axis[2].first], low = level.low;
    return ((along & ~low) + (down & ~low) + (slice & ~low)) | ((along ^ down ^ slice) & low);
}

// The edge of a face that a texel lies beyond, and how far along it; -1: it is on the face, -2: beyond two edges, or by more than a texel.
static inline int32_t edge_beyond(int32_t x, int32_t y, int32_t size, int32_t &along) {
    const bool x_inside = x >= 0 && x < size, y_inside = y >= 0 && y < size;
    if (x_inside && y_inside)
        return -1;
    along = x_inside ? x : y;
    if (x_inside == y_inside || x < -1 || x > size || y < -1 || y > size)
        return -2;
    return x_inside ? (y < 0 ? 2 : 3) : (x < 0 ? 0 : 1);
}

// Find the offsets of a place's corners, `stride` apart, that lie beyond one edge of a cube's face; the layer is 6 * cube + face. False: some lie beyond two.
static inline bool cross_edge(const ImageTexels &level, int32_t x, int32_t y, int32_t layer, uint32_t *offset, int stride) {
    const int32_t size = (int32_t)level.axis[0].size, face = layer % 6;
    for (int corner = 0; corner < 4; ++corner) {
        int32_t along = 0;
        const int32_t edge = edge_beyond(x + (corner & 1), y + (corner >> 1), size, along);
        if (edge == -1)
            continue;
        if (edge == -2)
            return false;
        const CubeTexel &there = level.beyond[(4 * face + edge) * size + along];
        offset[corner * stride] = offset_of_texel(level, there.x, there.y, (uint32_t)(layer - face) + there.face);
    }
    return true;
}

// The same for some lanes of a row; returns those that have others.
static inline uint32_t cross_edges(const ImageTexels &level, uint32_t lanes, ImageRow &row) {
    uint32_t left = 0;
    for (; lanes; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        if (!cross_edge(level, row.texel[0][lane], row.texel[1][lane], row.texel[2][lane], row.offset[0] + lane, image_row))
            left |= 1u << lane;
    }
    return left;
}
