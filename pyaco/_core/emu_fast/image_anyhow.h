// Filters of whole waves whose lanes lie anyhow, of elements of four 8-bit channels: corners by digits (image_corners.h), texels as image_gathers.h has
// them. All lanes are placed before a register is written, which may hold coordinates.
#pragma once
#include "image_corners.h"
#include "image_gathers.h"

#if defined(__AVX512F__)
// The slices of a wave: one for all, by its entry, or those that `layer` names.
struct AnyhowSlices {
    uint32_t entry;
    const float *layer;               // NULL: one for all
    uint32_t last;                    // layer, or cube
    bool cube;

    // As `find_layer`, of which `known` loses the lanes that name none.
    __attribute__((always_inline)) FetchWords layers(int lane, FetchLanes &known) const {
        const FetchSingles given = singles_of(layer + lane);
        known = both_lanes(known, small_singles(given, 1e6f));
        const FetchWords whole = _mm512_cvtps_epi32(given), number = cube ? _mm512_srai_epi32(whole, 3) : whole;
        const FetchWords found = words_least(words_most(number, fetch_all(0)), fetch_all(last));
        if (!cube)
            return found;
        const FetchWords twice = words_sum(found, found), face = words_least(words_and(whole, fetch_all(7)), fetch_all(5));
        return words_sum(words_sum(twice, words_sum(twice, twice)), face);
    }
};

// Where the lanes of `rows` rows have their corners.
template <int rows> struct AnyhowCorners {
    enum { lanes = rows * image_row };
    alignas(64) uint32_t weight[2][lanes];
    alignas(64) uint32_t offset[4][lanes];
    alignas(64) uint32_t texel[3][lanes];     // the first one, and the layer, where faces of cubes continue each other
    uint64_t outside;                         // lanes that have a texel that is not in the level

    // False: some place is not exact, or names no layer.
    template <int digits, bool layered>
    __attribute__((always_inline)) bool find(const ImageTexels &level, const float *const *coordinate, const AnyhowSlices &given) {
        const FetchWords zero = fetch_all(0);
        const AnyhowSlices slices = given;
        const DigitTables<digits> columns(*level.digits, 0);
        DigitTables<digits> lines(*level.digits, 1);
        if (!layered)
            lines.of[0] = words_xor(lines.of[0], fetch_all(slices.entry));
        FetchLanes known = lanes_by_bits(fetch_chunk_mask);
        outside = 0;
#pragma GCC unroll 1
        for (int lane = 0; lane < lanes; lane += fetch_lanes) {
            FetchWords beyond = zero;
            CornersAlong<digits, false> across, down;
            across.find(level.axis[0], columns, coordinate[0] + lane, zero, known, beyond);
            down.find(level.axis[1], lines, coordinate[1] + lane, zero, known, beyond);
            put_fetched(weight[0] + lane, across.weight);
            put_fetched(weight[1] + lane, down.weight);
            JoinedEntries<false> upper = down.first, lower = down.second;
            if (layered) {
                const FetchWords layer = slices.layers(lane, known);
                JoinedEntries<false> slice = {zero, zero};
                add_axis<digits>(level, 2, layer, known, zero, slice);
                upper = joined(upper, slice);
                lower = joined(lower, slice);
                put_fetched(texel[0] + lane, across.texel);
                put_fetched(texel[1] + lane, down.texel);
                put_fetched(texel[2] + lane, layer);
            }
            put_fetched(offset[0] + lane, joined(across.first, upper).low);
            put_fetched(offset[1] + lane, joined(across.second, upper).low);
            put_fetched(offset[2] + lane, joined(across.first, lower).low);
            put_fetched(offset[3] + lane, joined(across.second, lower).low);
            outside |= (uint64_t)_mm512_test_epi32_mask(beyond, beyond) << lane;
        }
        return bits_of_lanes(known) == fetch_chunk_mask;
    }

    // Find the corners beyond the edges of faces. False: some are not to be found so.
    bool cross(const ImageTexels &level) {
        if (!level.beyond)
            return false;
        for (; outside; outside &= outside - 1) {
            const int lane = __builtin_ctzll(outside);
            if (!cross_edge(level, (int32_t)texel[0][lane], (int32_t)texel[1][lane], (int32_t)texel[2][lane], offset[0] + lane, lanes))
                return false;
        }
        return true;
    }

    // Whether the first lanes are neighbours, whose texels come by pairs where gathers are slow.
    bool are_neighbours() const { return !fast_gathers && (offset[0][1] == offset[1][0] || offset[0][1] == offset[0][0] + 4); }
};

template <int rows, int digits, bool layered>
__attribute__((noinline)) static bool filter_anyhow_by(const ImageTexels &level, const float *const *coordinate, const AnyhowSlices &slices,
                                                       const RowsOf<float> &to) {
    const RowsOf<float> out = to;
    AnyhowCorners<rows> corners;
    if (!corners.template find<digits, layered>(level, coordinate, slices) || (corners.outside && !(layered && corners.cross(level))) ||
        corners.are_neighbours())
        return false;
#pragma GCC unroll 1
    for (int lane = 0; lane < rows * image_row; lane += wide_lanes) {
        const WideSums sums = WideSums::of_corners<rows * image_row>(level.host, corners.offset[0] + lane, wide_of(corners.weight[0] + lane));
        put_wide_bytes(sums, wide_of(corners.weight[1] + lane), out, lane);
    }
    return true;
}

template <bool layered>
static inline bool filter_slices_anyhow(const ImageTexels &level, unsigned rows, const float *const *coordinate, const AnyhowSlices &slices,
                                        const RowsOf<float> &to) {
    const int deep = layered || slices.entry, digits = level.digits->fours[deep];
    if (!digits || digits > 3 || level.digits->carries[deep] || !has_corners_by_digits(level.axis[0]) || !has_corners_by_digits(level.axis[1]))
        return false;
    return rows == 2 ? digits == 3 ? filter_anyhow_by<2, 3, layered>(level, coordinate, slices, to)
                                   : filter_anyhow_by<2, 2, layered>(level, coordinate, slices, to)
                     : digits == 3 ? filter_anyhow_by<1, 3, layered>(level, coordinate, slices, to)
                                   : filter_anyhow_by<1, 2, layered>(level, coordinate, slices, to);
}

// Filter for a wave of rows, in a slice by its entry. False: some lane has to be looked at, or neighbours are read otherwise; nothing was written.
static inline bool filter_anyhow(const ImageTexels &level, unsigned rows, const float *const *coordinate, uint32_t slice, const RowsOf<float> &to) {
    return filter_slices_anyhow<false>(level, rows, coordinate, {slice, nullptr, 0, false}, to);
}

// The same where the third coordinate names a layer, or a cube and a face.
static inline bool filter_layers_anyhow(const ImageTexels &level, unsigned rows, const float *const *coordinate, uint32_t layers, bool cube,
                                        const RowsOf<float> &to) {
    const uint32_t count = cube ? (layers < 12 ? 1 : layers / 6) : layers;
    return filter_slices_anyhow<true>(level, rows, coordinate, {0, coordinate[2], count - 1, cube}, to);
}

// Whether the second lane of a wave is two columns from the first, and the second of its lines of eight two lines: no other way to read has less to do then.
static inline bool is_far_apart(const ImageTexels &level, const float *const *coordinate) {
    const float columns = std::fabs(coordinate[0][1] - coordinate[0][0]), lines = std::fabs(coordinate[1][image_chunk] - coordinate[1][0]);
    return columns * level.axis[0].exact_scale >= 2 * 512.0f && lines * level.axis[1].exact_scale >= 2 * 512.0f;
}
#else
static inline bool filter_layers_anyhow(const ImageTexels &, unsigned, const float *const *, uint32_t, bool, const RowsOf<float> &) { return false; }
static inline bool is_far_apart(const ImageTexels &, const float *const *) { return false; }
static inline bool filter_anyhow(const ImageTexels &, unsigned, const float *const *, uint32_t, const RowsOf<float> &) { return false; }
#endif
