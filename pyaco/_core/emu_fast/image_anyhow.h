// Filters of whole waves whose lanes lie anyhow, of elements of four 8-bit channels: corners by digits (image_corners.h), texels as image_gathers.h has
// them. All lanes are placed before a register is written, which may hold coordinates.
#pragma once
#include "image_corners.h"
#include "image_gathers.h"

#if defined(__AVX512F__)
// Weights of sixteen lanes along both axes.
struct AnyhowLanes {
    FetchWords across, down;
};

// What places lanes of coordinates of up to `digits` in a slice, by its entry.
template <int digits> struct AnyhowPlaces {
    const ImageTexels &level;
    const float *x, *y;
    DigitTables<digits> columns, lines;
    FetchLanes known = lanes_by_bits(fetch_chunk_mask);       // all of a vector: all places were exact
    FetchWords beyond = fetch_all(0);                         // no bits: all texels were in the level

    __attribute__((always_inline)) AnyhowPlaces(const ImageTexels &given, const float *const *coordinate, uint32_t slice)
        : level(given), x(coordinate[0]), y(coordinate[1]), columns(*given.digits, 0), lines(*given.digits, 1) {
        lines.of[0] = words_xor(lines.of[0], fetch_all(slice));
    }

    __attribute__((always_inline)) AnyhowLanes place(int lane, uint32_t (*offset)[image_row]) {
        CornersAlong<digits, false> across, down;
        across.find(level.axis[0], columns, x + lane, beyond, known, beyond);
        down.find(level.axis[1], lines, y + lane, beyond, known, beyond);
        uint32_t (*const to)[image_row] = (uint32_t (*)[image_row])(offset[0] + lane % image_row);
        put_fetched(to[0], words_xor(across.first.low, down.first.low));
        put_fetched(to[1], words_xor(across.second.low, down.first.low));
        put_fetched(to[2], words_xor(across.first.low, down.second.low));
        put_fetched(to[3], words_xor(across.second.low, down.second.low));
        return {across.weight, down.weight};
    }

    bool are_found() const { return bits_of_lanes(lanes_within(beyond, fetch_all(0), known)) == fetch_chunk_mask; }
};

// Whether the first lanes are neighbours, whose texels come by pairs where gathers are slow.
static inline bool are_neighbours(const uint32_t (*offset)[image_row]) {
    return !fast_gathers && (offset[0][1] == offset[1][0] || offset[0][1] == offset[0][0] + 4);
}

template <int rows, int digits>
__attribute__((noinline)) static bool filter_anyhow_by(const ImageTexels &level, const float *const *coordinate, uint32_t slice, const RowsOf<float> &to) {
    const RowsOf<float> out = to;
    alignas(64) uint32_t offset[rows][4][image_row];
    AnyhowLanes lanes[rows * image_row / wide_lanes];
    AnyhowPlaces<digits> places(level, coordinate, slice);
#pragma GCC unroll 1
    for (int lane = 0; lane < rows * image_row; lane += wide_lanes)
        lanes[lane / wide_lanes] = places.place(lane, offset[lane / image_row]);
    if (!places.are_found() || are_neighbours(offset[0]))
        return false;
#pragma GCC unroll 1
    for (int lane = 0; lane < rows * image_row; lane += wide_lanes) {
        const uint32_t *from = offset[lane / image_row][0] + lane % image_row;
        const WideSums sums = WideSums::of_corners<image_row>(level.host, from, lanes[lane / wide_lanes].across);
        put_wide_bytes(sums, lanes[lane / wide_lanes].down, out, lane);
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

// Whether the second lane of a wave is two columns from the first, and the second of its lines of eight two lines: no other way to read has less to do then.
static inline bool is_far_apart(const ImageTexels &level, const float *const *coordinate) {
    const float columns = std::fabs(coordinate[0][1] - coordinate[0][0]), lines = std::fabs(coordinate[1][image_chunk] - coordinate[1][0]);
    return columns * level.axis[0].exact_scale >= 2 * 512.0f && lines * level.axis[1].exact_scale >= 2 * 512.0f;
}
#else
static inline bool is_far_apart(const ImageTexels &, const float *const *) { return false; }
static inline bool filter_anyhow(const ImageTexels &, unsigned, const float *const *, uint32_t, const RowsOf<float> &) { return false; }
#endif
