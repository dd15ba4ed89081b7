// Filters of whole waves whose lanes lie anyhow, of elements of four 8-bit channels: corners by digits (image_corners.h), texels as image_gathers.h has
// them. All lanes are placed before a register is written, which may hold coordinates.
#pragma once
#include "image_corners.h"
#include "image_gathers.h"

#if defined(__AVX512F__)
// Where the lanes of `rows` rows have their corners.
template <int rows> struct AnyhowCorners {
    alignas(64) uint32_t weight[rows][2][image_row];
    alignas(64) uint32_t offset[rows][image_corners / 2][image_row];

    // In a slice, by its entry. False: some place is not exact, or some texel is outside.
    template <int digits> __attribute__((always_inline)) bool find(const ImageTexels &level, const float *const *coordinate, uint32_t slice) {
        const FetchWords zero = fetch_all(0);
        const DigitTables<digits> x(*level.digits, 0);
        DigitTables<digits> y(*level.digits, 1);
        y.of[0] = words_xor(y.of[0], fetch_all(slice));
        FetchLanes known = lanes_by_bits(fetch_chunk_mask);
        FetchWords beyond = zero;
#pragma GCC unroll 1
        for (int lane = 0; lane < rows * image_row; lane += fetch_lanes) {
            const int row = lane / image_row, at = lane % image_row;
            CornersAlong<digits, false> across, down;
            across.find(level.axis[0], x, coordinate[0] + lane, zero, known, beyond);
            down.find(level.axis[1], y, coordinate[1] + lane, zero, known, beyond);
            put_fetched(weight[row][0] + at, across.weight);
            put_fetched(weight[row][1] + at, down.weight);
            put_fetched(offset[row][0] + at, words_xor(across.first.low, down.first.low));
            put_fetched(offset[row][1] + at, words_xor(across.second.low, down.first.low));
            put_fetched(offset[row][2] + at, words_xor(across.first.low, down.second.low));
            put_fetched(offset[row][3] + at, words_xor(across.second.low, down.second.low));
        }
        return bits_of_lanes(lanes_within(beyond, zero, known)) == fetch_chunk_mask;
    }

    // Whether the first lanes are neighbours, whose texels come by pairs where gathers are slow.
    bool are_neighbours() const {
        const uint32_t second = offset[0][0][1];
        return !fast_gathers && (second == offset[0][1][0] || second == offset[0][0][0] + 4);
    }
};

template <int rows, int digits>
__attribute__((noinline)) static bool filter_anyhow_by(const ImageTexels &level, const float *const *coordinate, uint32_t slice, const RowsOf<float> &to) {
    const RowsOf<float> out = to;
    AnyhowCorners<rows> corners;
    if (!corners.template find<digits>(level, coordinate, slice) || corners.are_neighbours())
        return false;
    const uint8_t *host = level.host;
#pragma GCC unroll 1
    for (int lane = 0; lane < rows * image_row; lane += wide_lanes) {
        const int row = lane / image_row, at = lane % image_row;
        const WideSums sums(host, corners.offset[row], at, wide_of(corners.weight[row][0] + at));
        put_wide_bytes(sums, wide_of(corners.weight[row][1] + at), out, lane);
    }
    return true;
}

// Filter for a wave of rows, in a slice by its entry. False: some lane has to be looked at, or neighbours are read otherwise; nothing was written.
static inline bool filter_anyhow(const ImageTexels &level, unsigned rows, const float *const *coordinate, uint32_t slice, const RowsOf<float> &to) {
    const int deep = slice != 0, digits = level.digits->fours[deep];
    if (!digits || digits > 3 || level.digits->carries[deep] || !has_corners_by_digits(level.axis[0]) || !has_corners_by_digits(level.axis[1]))
        return false;
    return rows == 2 ? digits == 3 ? filter_anyhow_by<2, 3>(level, coordinate, slice, to) : filter_anyhow_by<2, 2>(level, coordinate, slice, to)
                     : digits == 3 ? filter_anyhow_by<1, 3>(level, coordinate, slice, to) : filter_anyhow_by<1, 2>(level, coordinate, slice, to);
}
#else
static inline bool filter_anyhow(const ImageTexels &, unsigned, const float *const *, uint32_t, const RowsOf<float> &) { return false; }
#endif
