// Nearest texels: what samplers that do not filter name, as integers for the fetches of a wave (image_fetches.h).
//
// Places are those of `find_texels`: in single precision where nothing is rounded, else in double precision.
#pragma once
#include "image_grids.h"
#include "image_lines.h"

// The coordinates of a wave. Of levels of slices that no sampler addresses `layer` names each lane's.
struct NearestPlaces {
    const float *coordinate[3];
    const uint32_t *layer;            // NULL: there is one slice, or `coordinate` names it
    uint64_t active;
    unsigned rows, axes;
    uint8_t truncates;
};

#if defined(__AVX2__)
#if defined(__AVX512F__)
typedef __m512 FetchSingles;
static inline FetchSingles singles_of(const float *values) { return _mm512_loadu_ps(values); }
static inline FetchSingles singles_all(float value) { return _mm512_set1_ps(value); }
static inline FetchSingles singles_sum(FetchSingles one, FetchSingles other) { return _mm512_add_ps(one, other); }
static inline FetchSingles singles_less(FetchSingles one, FetchSingles other) { return _mm512_sub_ps(one, other); }
static inline FetchSingles singles_product(FetchSingles one, FetchSingles other) { return _mm512_mul_ps(one, other); }
static inline FetchSingles singles_down(FetchSingles values) { return _mm512_roundscale_ps(values, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
static inline FetchLanes same_singles(FetchSingles one, FetchSingles other) { return _mm512_cmp_ps_mask(one, other, _CMP_EQ_OQ); }
static inline FetchLanes small_singles(FetchSingles values, float limit) {
    return _mm512_cmp_ps_mask(_mm512_abs_ps(values), _mm512_set1_ps(limit), _CMP_LT_OQ);
}
static inline FetchLanes both_lanes(FetchLanes one, FetchLanes other) { return one & other; }
static inline FetchWords whole_singles(FetchSingles values) { return _mm512_cvttps_epi32(values); }
static inline FetchWords shifted_places(FetchWords places) { return _mm512_srai_epi32(places, 9); }
static inline FetchWords words_less(FetchWords one, FetchWords other) { return _mm512_sub_epi32(one, other); }
static inline FetchWords words_least(FetchWords one, FetchWords other) { return _mm512_min_epi32(one, other); }
static inline FetchWords words_most(FetchWords one, FetchWords other) { return _mm512_max_epi32(one, other); }
static inline FetchWords words_least_unsigned(FetchWords one, FetchWords other) { return _mm512_min_epu32(one, other); }

struct FetchDoubles {
    __m512d part[2];
};
static inline FetchDoubles doubles_of(FetchSingles values) {
    return {{_mm512_cvtps_pd(_mm512_castps512_ps256(values)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(values, 1))}};
}
static inline __m512d double_all(double value) { return _mm512_set1_pd(value); }
static inline __m512d double_sum(__m512d one, __m512d other) { return _mm512_add_pd(one, other); }
static inline __m512d double_less(__m512d one, __m512d other) { return _mm512_sub_pd(one, other); }
static inline __m512d double_product(__m512d one, __m512d other) { return _mm512_mul_pd(one, other); }
static inline __m512d double_down(__m512d values) { return _mm512_roundscale_pd(values, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
static inline uint32_t small_doubles(__m512d values, double limit) {
    return _mm512_cmp_pd_mask(_mm512_abs_pd(values), _mm512_set1_pd(limit), _CMP_LT_OQ);
}
static inline FetchWords whole_doubles(const FetchDoubles &values) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvttpd_epi32(values.part[0])), _mm512_cvttpd_epi32(values.part[1]), 1);
}
#else
typedef __m256 FetchSingles;
static inline FetchSingles singles_of(const float *values) { return _mm256_loadu_ps(values); }
static inline FetchSingles singles_all(float value) { return _mm256_set1_ps(value); }
static inline FetchSingles singles_sum(FetchSingles one, FetchSingles other) { return _mm256_add_ps(one, other); }
static inline FetchSingles singles_less(FetchSingles one, FetchSingles other) { return _mm256_sub_ps(one, other); }
static inline FetchSingles singles_product(FetchSingles one, FetchSingles other) { return _mm256_mul_ps(one, other); }
static inline FetchSingles singles_down(FetchSingles values) { return _mm256_floor_ps(values); }
static inline FetchLanes same_singles(FetchSingles one, FetchSingles other) { return _mm256_castps_si256(_mm256_cmp_ps(one, other, _CMP_EQ_OQ)); }
static inline FetchLanes small_singles(FetchSingles values, float limit) {
    return _mm256_castps_si256(_mm256_cmp_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), values), _mm256_set1_ps(limit), _CMP_LT_OQ));
}
static inline FetchLanes both_lanes(FetchLanes one, FetchLanes other) { return _mm256_and_si256(one, other); }
static inline FetchWords whole_singles(FetchSingles values) { return _mm256_cvttps_epi32(values); }
static inline FetchWords shifted_places(FetchWords places) { return _mm256_srai_epi32(places, 9); }
static inline FetchWords words_less(FetchWords one, FetchWords other) { return _mm256_sub_epi32(one, other); }
static inline FetchWords words_least(FetchWords one, FetchWords other) { return _mm256_min_epi32(one, other); }
static inline FetchWords words_most(FetchWords one, FetchWords other) { return _mm256_max_epi32(one, other); }
static inline FetchWords words_least_unsigned(FetchWords one, FetchWords other) { return _mm256_min_epu32(one, other); }

struct FetchDoubles {
    __m256d part[2];
};
static inline FetchDoubles doubles_of(FetchSingles values) {
    return {{_mm256_cvtps_pd(_mm256_castps256_ps128(values)), _mm256_cvtps_pd(_mm256_extractf128_ps(values, 1))}};
}
static inline __m256d double_all(double value) { return _mm256_set1_pd(value); }
static inline __m256d double_sum(__m256d one, __m256d other) { return _mm256_add_pd(one, other); }
static inline __m256d double_less(__m256d one, __m256d other) { return _mm256_sub_pd(one, other); }
static inline __m256d double_product(__m256d one, __m256d other) { return _mm256_mul_pd(one, other); }
static inline __m256d double_down(__m256d values) { return _mm256_floor_pd(values); }
static inline uint32_t small_doubles(__m256d values, double limit) {
    return (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), values), _mm256_set1_pd(limit), _CMP_LT_OQ));
}
static inline FetchWords whole_doubles(const FetchDoubles &values) {
    return join_chunk(_mm256_cvttpd_epi32(values.part[0]), _mm256_cvttpd_epi32(values.part[1]));
}
#endif

// Texels before they are brought into the level, in single precision; `known` gets the lanes whose places are exact.
template <bool repeats, bool truncates>
__attribute__((always_inline)) static inline FetchWords nearest_exactly(const ImageAxis &axis, FetchSingles given, uint32_t &known) {
    FetchSingles place;
    FetchLanes exact;
    if (repeats) {                    // never shifted: only faces of cubes are
        const FetchSingles down = singles_down(given), rest = singles_less(given, down);
        exact = same_singles(singles_sum(rest, down), given);
        place = singles_product(rest, singles_all(axis.exact_scale));
    } else {
        const FetchSingles shift = singles_all(axis.exact_shift), u = singles_less(given, shift);
        place = singles_down(singles_product(u, singles_all(axis.exact_scale)));
        exact = both_lanes(small_singles(place, 0x1p23f), same_singles(singles_sum(u, shift), given));
    }
    known = bits_of_lanes(exact);
    return shifted_places(words_sum(whole_singles(place), fetch_all(truncates ? 0 : 1)));
}

// Bring texels into the level, as the axis is addressed; `known` loses the lanes that are at a border.
__attribute__((always_inline)) static inline FetchWords nearest_inside(const ImageAxis &axis, int addressing, FetchWords found, uint32_t &known) {
    const FetchWords last = fetch_all(axis.size - 1);
    if (addressing == address_repeat) // the texel behind the last is the first
        return words_least_unsigned(found, words_less(found, fetch_all(axis.size)));
    if (addressing == address_clamp)
        return words_least(words_most(found, fetch_all(0)), last);
    known &= bits_of_lanes(lanes_within(found, last, lanes_by_bits(fetch_chunk_mask)));
    return found;
}

#if defined(__AVX512F__)
template <bool truncates>
__attribute__((always_inline)) static inline FetchWords nearest_of(const ImageAxis &axis, FetchSingles given, uint32_t &known) {
    return axis.repeats ? nearest_exactly<true, truncates>(axis, given, known) : nearest_exactly<false, truncates>(axis, given, known);
}

// The nearest texels of a whole wave, as `fetch_sixteens`, in a level of two axes that are exact. False: some lane is to be looked at by itself, and
// nothing was written.
template <int count, bool truncates>
__attribute__((noinline)) static bool sample_sixteens(const ImageTexels &level, const float *const *coordinate, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    const ImageAxis &columns = level.axis[0], &lines = level.axis[1];
    __m512i words[count];
#pragma GCC unroll 4
    for (int number = 0; number < count; ++number) {
        uint32_t known[2] = {};
        FetchWords x = nearest_of<truncates>(columns, singles_of(coordinate[0] + fetch_lanes * number), known[0]);
        FetchWords y = nearest_of<truncates>(lines, singles_of(coordinate[1] + fetch_lanes * number), known[1]);
        const uint32_t column = (uint32_t)_mm512_cvtsi512_si32(x), line = (uint32_t)_mm512_cvtsi512_si32(y);
        const bool in_line = is_line(level, x, y, column, line, fetch_chunk_mask);
        if (!in_line) {
            x = nearest_inside(columns, columns.addressing, x, known[0]);
            y = nearest_inside(lines, lines.addressing, y, known[1]);
        }
        if ((known[0] & known[1]) != fetch_chunk_mask)
            return false;
        words[number] = in_line ? line_by_squares(level, column, line) : words_anyhow(level, x, y, fetch_chunk_mask);
    }
#pragma GCC unroll 4
    for (int number = 0; number < count; ++number)
        put_four_bytes(words[number], rows, fetch_lanes * number);
    return true;
}

// The same where the lanes may be a patch, or a grid.
template <int lines, int filter>
__attribute__((always_inline)) static inline bool sample_squares_by(const ImageTexels &level, const float *const *coordinate, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    WavePatch<lines> wave;
    if (!wave.template find<filter>(level, coordinate))
        return sample_sixteens<lines / 2, filter == image_truncates>(level, coordinate, rows);
    return pass_squares<lines>(level, wave.column, wave.line, rows) || sample_apart<lines, filter>(level, wave, 0, rows);
}

template <int filter>
__attribute__((always_inline)) static inline bool sample_squares_of(const ImageTexels &level, unsigned sixteens, const float *const *coordinate,
                                                                    const RowsOf<float> &to) {
    return sixteens == 4 ? sample_squares_by<wave_lines, filter>(level, coordinate, to)
         : sixteens == 2 ? sample_squares_by<patch_lines, filter>(level, coordinate, to)
                         : sample_sixteens<1, filter == image_truncates>(level, coordinate, to);
}

// For the first one, two or four sixteens of a wave.
__attribute__((always_inline)) static inline bool sample_by_squares(const ImageTexels &level, unsigned sixteens, const float *const *coordinate, int filter,
                                                                    const RowsOf<float> &to) {
    return filter == image_truncates ? sample_squares_of<image_truncates>(level, sixteens, coordinate, to)
                                     : sample_squares_of<image_nearest>(level, sixteens, coordinate, to);
}
#else
static inline bool sample_by_squares(const ImageTexels &, unsigned, const float *const *, int, const RowsOf<float> &) { return false; }
#endif

// The same in double precision; `known`: the lanes whose coordinates are numbers that are not far outside.
template <bool repeats, bool truncates>
__attribute__((always_inline)) static inline FetchWords nearest_doubles(const ImageAxis &axis, FetchSingles given, uint32_t &known) {
    FetchDoubles doubles = doubles_of(given);
    known = 0;
#pragma GCC unroll 2
    for (int part = 0; part < 2; ++part) {
        auto u = double_less(doubles.part[part], double_all(axis.shift));
        if (repeats)
            u = double_less(u, double_down(u));
        const auto place = double_product(u, double_all(axis.scale));
        known |= small_doubles(place, 0x1p30) << (fetch_lanes / 2 * part);
        // what is rounded to 256ths, in 256ths rounded down
        const auto whole = truncates ? place : double_down(double_sum(place, double_all(0.5)));
        doubles.part[part] = double_down(double_product(whole, double_all(0x1p-8)));
    }
    return whole_doubles(doubles);
}

// The texels of a wave along an axis. False: some active lane's coordinate is no number, far outside, or at a border, or is not exact where it has to be.
template <int addressing, bool truncates, bool exactly>
__attribute__((noinline)) static bool nearest_texels_in(const ImageAxis &axis, const float *coordinate, uint64_t active, unsigned rows, uint32_t *texel) {
    constexpr bool repeats = addressing == address_repeat;
    uint32_t strange = 0;
    for_chunks(active, rows, [&](int lane, uint32_t some) __attribute__((always_inline)) {
        const FetchSingles given = singles_of(coordinate + lane);
        uint32_t known = 0;
        FetchWords found = {};
        if (exactly)
            found = nearest_exactly<repeats, truncates>(axis, given, known);
        else
            found = nearest_doubles<repeats, truncates>(axis, given, known);
        found = nearest_inside(axis, addressing, found, known);
        strange |= some & ~known;
        put_fetched(texel + lane, found);
    });
    return !strange;
}

template <int addressing, bool truncates>
static inline bool nearest_texels_by(const ImageAxis &axis, const float *coordinate, uint64_t active, unsigned rows, uint32_t *texel) {
    return (axis.exact && nearest_texels_in<addressing, truncates, true>(axis, coordinate, active, rows, texel)) ||
           nearest_texels_in<addressing, truncates, false>(axis, coordinate, active, rows, texel);
}

template <bool truncates>
static inline bool nearest_texels_of(const ImageAxis &axis, const float *coordinate, uint64_t active, unsigned rows, uint32_t *texel) {
    return axis.addressing == address_repeat  ? nearest_texels_by<address_repeat, truncates>(axis, coordinate, active, rows, texel)
         : axis.addressing == address_clamp   ? nearest_texels_by<address_clamp, truncates>(axis, coordinate, active, rows, texel)
                                              : nearest_texels_by<address_border, truncates>(axis, coordinate, active, rows, texel);
}

// The texels of all axes.
struct NearestTexels {
    alignas(64) uint32_t axis[3][wave_most];

    // False: some active lane is to be looked at by itself.
    bool find(const ImageTexels &level, const NearestPlaces &places, WaveTexels &texels) {
        for (unsigned number = 0; number < places.axes; ++number) {
            const ImageAxis &of = level.axis[number];
            const bool known = places.truncates
                ? nearest_texels_of<true>(of, places.coordinate[number], places.active, places.rows, axis[number])
                : nearest_texels_of<false>(of, places.coordinate[number], places.active, places.rows, axis[number]);
            if (!known)
                return false;
        }
        if (places.axes == 1)
            std::memset(axis[1], 0, sizeof(axis[1]));
        texels = {axis[0], axis[1], places.axes == 3 ? axis[2] : places.layer, places.active, places.rows};
        return true;
    }
};

// All four components of 8-bit unorm of elements of four bytes. False: some lane is to be looked at by itself, and nothing was written.
static inline bool nearest_four_bytes(const ImageTexels &level, const NearestPlaces &places, const RowsOf<float> &to) {
    NearestTexels nearest;
    WaveTexels texels;
    if (!nearest.find(level, places, texels))
        return false;
    if (level.squares && !texels.z)
        fetch_by_squares(level, texels.x, texels.y, texels.active, texels.rows, to);
    else
        fetch_four_bytes(level, texels, to);
    return true;
}

// Bring floats into the form in which a filter leaves them, zeros positive. False: some lane has a NaN, which is the reference engine's to choose.
static inline bool finish_floats(uint32_t *values, const WaveTexels &texels) {
    uint32_t strange = 0;
    for_chunks(texels.active, texels.rows, [&](int lane, uint32_t some) __attribute__((always_inline)) {
        const FetchWords words = fetch_words(values + lane), magnitude = words_and(words, fetch_all(0x7fffffff));
        strange |= some & ~bits_of_lanes(lanes_within(magnitude, fetch_all(0x7f800000), lanes_by_bits(fetch_chunk_mask)));
        const FetchLanes zeros = lanes_within(magnitude, fetch_all(0), lanes_by_bits(fetch_chunk_mask));
        put_fetched(values + lane, words_and_not(only_lanes(fetch_all(0x80000000u), zeros), words));
    });
    return !strange;
}

// Components of any elements; `floats`: some of them may be NaNs, or negative zeros.
static inline bool nearest_components(const ImageTexels &level, const NearestPlaces &places, unsigned bytes, const FetchedComponent *component,
                                      unsigned count, bool floats, uint32_t *registers) {
    NearestTexels nearest;
    WaveTexels texels;
    if (!nearest.find(level, places, texels))
        return false;
    if (!floats) {
        fetch_components(level, texels, bytes, component, count, registers);
        return true;
    }
    alignas(64) uint32_t found[4][wave_most];
    FetchedComponent aside[4] = {};
    for (unsigned number = 0; number < count; ++number) {
        aside[number] = component[number];
        aside[number].at = wave_most * number;
    }
    fetch_components(level, texels, bytes, aside, count, found[0]);
    for (unsigned number = 0; number < count; ++number)
        if (component[number].kind != fetch_constant && !finish_floats(found[number], texels))
            return false;
    const WaveLanes lanes = {texels.active, texels.active, texels.rows};
    for (unsigned number = 0; number < count; ++number)
        put_components(registers + component[number].at, lanes, true, [&](int lane) __attribute__((always_inline)) {
            return fetch_words(found[number] + lane);
        });
    return true;
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline bool sample_by_squares(const ImageTexels &, unsigned, const float *const *, int, const RowsOf<float> &) { return false; }
static inline bool nearest_four_bytes(const ImageTexels &, const NearestPlaces &, const RowsOf<float> &) { return false; }
static inline bool nearest_components(const ImageTexels &, const NearestPlaces &, unsigned, const FetchedComponent *, unsigned, bool, uint32_t *) {
    return false;
}
#endif
