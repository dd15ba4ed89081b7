// Corners of a filter, wherever the lanes of a row have their places: texels in single precision, where that is exact, and their offsets by digits
// (image_digits.h), as many lanes at a time as a vector holds. No table of an axis is read, in which lanes that lie anyhow are far from each other.
//
// For axes that repeat, or end at the last texel or a border.
#pragma once
#include "image_nearest.h"

#if defined(__AVX2__)
#if defined(__AVX512F__)
// What coordinates have beyond the next lower integer, rounded down.
static inline FetchSingles fraction_down(FetchSingles given) {
    return _mm512_sub_round_ps(given, singles_down(given), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
#else
static inline FetchSingles fraction_down(FetchSingles given) {
    const FetchSingles down = singles_down(given), rest = singles_less(given, down);       // rounded up, their sum is what shows it
    const FetchWords above = _mm256_castps_si256(_mm256_cmp_ps(singles_sum(rest, down), given, _CMP_GT_OQ));
    return _mm256_castsi256_ps(words_sum(_mm256_castps_si256(rest), above));
}
#endif

// Places of a filter in 512ths, as `find_places_exactly` has them; `known` loses the lanes that are not exact.
template <bool repeats>
__attribute__((always_inline)) static inline FetchWords filtered_places_by(const ImageAxis &axis, FetchSingles given, FetchLanes &known) {
    FetchSingles place;
    if (repeats) {
        const FetchSingles rest = fraction_down(given);
        place = singles_product(rest, singles_all(axis.exact_scale));
        known = both_lanes(known, same_singles(rest, rest));
    } else {
        const FetchSingles shift = singles_all(axis.exact_shift), u = singles_less(given, shift);
        place = singles_down(singles_product(u, singles_all(axis.exact_scale)));
        known = both_lanes(known, both_lanes(small_singles(place, 0x1p23f), same_singles(singles_sum(u, shift), given)));
    }
    return words_sum(whole_singles(place), fetch_all(1 - 256));
}

__attribute__((always_inline)) static inline FetchWords filtered_places(const ImageAxis &axis, FetchSingles given, FetchLanes &known) {
    return axis.repeats ? filtered_places_by<true>(axis, given, known) : filtered_places_by<false>(axis, given, known);
}

// What the digits of an axis' texels give to offsets. (Loops read it once: what they write may, for all that the compiler knows, be a level's table.)
template <int count> struct DigitTables {
    FetchWords of[count];

    DigitTables() = default;
    __attribute__((always_inline)) DigitTables(const TexelDigits &digits, int axis) {
#pragma GCC unroll 8
        for (int number = 0; number < count; ++number)
            of[number] = digit_table(digits, axis, number);
    }

    template <bool carries> __attribute__((always_inline)) JoinedEntries<carries> look_up(FetchWords texel, FetchWords above) const {
        JoinedEntries<carries> joined = {fetch_all(0), fetch_all(0)};
#pragma GCC unroll 8
        for (int number = 0; number < count; ++number) {
            joined.add(look_up_digit(of[number], texel), above);
            texel = words_shifted(texel, fetch_digit_bits);
        }
        return joined;
    }
};

// What the lanes of a vector have along an axis.
template <int count, bool carries> struct CornersAlong {
    FetchWords texel, weight;
    JoinedEntries<carries> first, second;

    // `beyond` gets bits in lanes that have a texel behind a border.
    __attribute__((always_inline)) void find(const ImageAxis &axis, const DigitTables<count> &digits, const float *coordinate, FetchWords above,
                                             FetchLanes &known, FetchWords &beyond) {
        const FetchWords last = fetch_all(axis.size - 1), zero = fetch_all(0), one = fetch_all(1);
        const FetchWords place = filtered_places(axis, singles_of(coordinate), known);
        weight = words_and(words_shifted(place, 1), fetch_all(255));
        texel = shifted_places(place);
        FetchWords own = words_and(texel, last), next = words_and(words_sum(texel, one), last);
        if (!axis.repeats) {
            texel = words_most(words_least(texel, fetch_all((uint32_t)axis.last)), fetch_all((uint32_t)axis.first));
            own = words_least(words_most(texel, zero), last);
            next = words_least(words_most(words_sum(texel, one), zero), last);
        }
        if (axis.addressing == address_border)
            beyond = words_or(beyond, words_or(words_xor(own, texel), words_xor(next, words_sum(texel, one))));
        first = digits.template look_up<carries>(own, above);
        second = digits.template look_up<carries>(next, above);
    }
};

template <bool carries> static inline JoinedEntries<carries> joined(const JoinedEntries<carries> &one, const JoinedEntries<carries> &other) {
    return {words_xor(one.low, other.low), carries ? words_sum(one.high, other.high) : one.high};
}

// Of the first lanes of a row, as `place_exactly` (axes: 2) and `place_volume` (3).
template <int axes, int count, bool carries>
__attribute__((noinline)) static bool place_corners_by(const ImageTexels &level, const float *const *coordinate, const int32_t *layer, uint32_t only,
                                                       ImageRow &row, uint32_t &outside) {
    const FetchWords above = fetch_all(~level.low), zero = fetch_all(0);
    FetchLanes known = lanes_by_bits(fetch_chunk_mask);
    uint32_t found = 0;
    DigitTables<count> digits[axes];
    for (int axis = 0; axis < axes; ++axis)
        digits[axis] = DigitTables<count>(*level.digits, axis);
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += fetch_lanes) {
        FetchWords beyond = zero;
        CornersAlong<count, carries> along[axes];
#pragma GCC unroll 3
        for (int axis = 0; axis < axes; ++axis) {
            along[axis].find(level.axis[axis], digits[axis], coordinate[axis] + lane, above, known, beyond);
            put_fetched(row.weight[axis] + lane, along[axis].weight);
            if (axes == 2 && level.beyond)
                put_fetched(row.texel[axis] + lane, along[axis].texel);
        }
        JoinedEntries<carries> slice = {zero, zero};
        if (axes == 2 && layer)
            add_axis<count>(level, 2, fetch_words(layer + lane), known, above, slice);
        else if (axes == 2)
            slice.add(fetch_all(only), above);
#pragma GCC unroll 2
        for (int deep = 0; deep < axes - 1; ++deep) {
            const JoinedEntries<carries> of_slice = axes == 2 ? slice : deep ? along[axes - 1].second : along[axes - 1].first;
            const JoinedEntries<carries> upper = joined(along[1].first, of_slice), lower = joined(along[1].second, of_slice);
            put_fetched(row.offset[4 * deep] + lane, joined(along[0].first, upper).offset(above));
            put_fetched(row.offset[4 * deep + 1] + lane, joined(along[0].second, upper).offset(above));
            put_fetched(row.offset[4 * deep + 2] + lane, joined(along[0].first, lower).offset(above));
            put_fetched(row.offset[4 * deep + 3] + lane, joined(along[0].second, lower).offset(above));
        }
        found |= (fetch_chunk_mask ^ bits_of_lanes(lanes_within(beyond, zero, lanes_by_bits(fetch_chunk_mask)))) << lane;
    }
    outside = found;
    return bits_of_lanes(known) == fetch_chunk_mask;
}

static inline bool has_corners_by_digits(const ImageAxis &axis) { return axis.exact && axis.addressing != address_else; }

template <int axes>
static inline bool place_by_digits(const ImageTexels &level, const float *const *coordinate, const int32_t *layer, uint32_t only, ImageRow &row,
                                   uint32_t &outside) {
    const int deep = axes == 3 || layer || only, count = fetch_digit_bits == 4 ? level.digits->fours[deep] : level.digits->threes[deep];
    if (!count || !has_corners_by_digits(level.axis[0]) || !has_corners_by_digits(level.axis[1]) || (axes == 3 && !has_corners_by_digits(level.axis[2])))
        return false;
    return level.digits->carries[deep] ? place_corners_by<axes, fetch_digits, true>(level, coordinate, layer, only, row, outside)
         : count <= 2                  ? place_corners_by<axes, 2, false>(level, coordinate, layer, only, row, outside)
         : count == 3                  ? place_corners_by<axes, 3, false>(level, coordinate, layer, only, row, outside)
                                       : place_corners_by<axes, fetch_digits, false>(level, coordinate, layer, only, row, outside);
}
#else
// Only for the compiler: hosts without such vectors have no steps.
template <int axes>
static inline bool place_by_digits(const ImageTexels &, const float *const *, const int32_t *, uint32_t, ImageRow &, uint32_t &) { return false; }
#endif

// The corners around the places of a row in two axes. `layer` names each lane's slice; NULL: all have the one with the entry `only`. False: some lane's place is not
// exact, or no number. `outside` gets the lanes that have a texel outside.
static inline bool place_lanes(const ImageTexels &level, const float *const *coordinate, const int32_t *layer, uint32_t only, int filter, ImageRow &row,
                               uint32_t &outside) {
    return (filter == image_linear && place_by_digits<2>(level, coordinate, layer, only, row, outside)) ||
           place_exactly(level, coordinate, layer, only, filter, row, outside);
}

// The same in three axes.
static inline bool place_in_volume(const ImageTexels &level, const float *const *coordinate, ImageRow &row, uint32_t &outside) {
    return place_by_digits<3>(level, coordinate, nullptr, 0, row, outside) || place_volume(level, coordinate, row, outside);
}
