// Grids: lanes of four lines of eight, whose texels have the same columns in every line, and one line of the level each, in any order.
//
// A grid's offsets are those of eight columns and four lines: each is looked up once, however far apart they are. A grid whose texels
// are neighbours as well is a patch (image_patches.h).
#pragma once
#include "image_chunks.h"

#if defined(__AVX2__)
// Lanes of a sample whose places are lines of eight columns that lie anyhow, apart as in a picture that is made smaller or together as in one made larger.
template <int count> struct SampledGrid {
    alignas(32) uint32_t upper[image_chunk], lower[image_chunk];      // entries of the lines, and of those below them
    alignas(32) uint32_t offset[count][4][image_chunk];               // of left and right texels in the line, and in the one below it

    // False: some texel is outside.
    template <int filter> __attribute__((always_inline)) bool open(const ImageTexels &level, const WavePatch<count> &wave, uint32_t slice) {
        const ExactAxis x(level.axis[0]), y(level.axis[1]);
        const Entries columns = look_up_pairs(x.entry, x.limit(wave.column)), lines = look_up_pairs(y.entry, y.limit(wave.line));
        __m256i any = _mm256_or_si256(columns.first, lines.first);
        if (filter == image_linear)
            any = _mm256_or_si256(any, _mm256_or_si256(columns.second, lines.second));
        if (_mm256_movemask_ps(_mm256_castsi256_ps(any)))
            return false;
        put_chunk(upper, lines.first);
        put_chunk(lower, lines.second);
        const OffsetBits bits = offset_bits(level);
        const OffsetParts of_slice = bits.of(_mm256_set1_epi32((int)slice));
        const OffsetParts left = join_parts(bits.of(columns.first), of_slice), right = join_parts(bits.of(columns.second), of_slice);
#pragma GCC unroll 1
        for (int line = 0; line < count; ++line) {
            const OffsetParts above = bits.of(everywhere(upper + line)), below = bits.of(everywhere(lower + line));
            put_offset(left, above, offset[line][0]);
            if (filter != image_linear)
                continue;
            put_offset(right, above, offset[line][1]);
            put_offset(left, below, offset[line][2]);
            put_offset(right, below, offset[line][3]);
        }
        return true;
    }

    __attribute__((always_inline)) void pass(const uint8_t *host, const RowsOf<float> &rows) const {
#pragma GCC unroll 1
        for (int line = 0; line < count; ++line)
            put_bytes<4>(words_at(host, offset[line][0]), rows, image_chunk * line);
    }

    // As `gather_patch`.
    __attribute__((always_inline)) void gather(const uint8_t *host, unsigned byte, const RowsOf<float> &rows) const {
        static const int row_of[4] = {3, 2, 0, 1};
        const __m128i shift = _mm_cvtsi32_si128(8 * (int)byte);
#pragma GCC unroll 1
        for (int line = 0; line < count; ++line)
#pragma GCC unroll 4
            for (int corner = 0; corner < 4; ++corner) {
                const __m256i words = _mm256_srl_epi32(words_at(host, offset[line][corner]), shift);
                _mm256_storeu_ps(rows.row[row_of[corner]] + image_chunk * line, unorm8_chunk(byte_of(words, 0)));
            }
    }

    // A line of texels is mixed along x once, where the next lane's line is below it, or the same.
    __attribute__((always_inline)) void filter(const uint8_t *host, const WavePatch<count> &wave, const RowsOf<float> &rows) const {
        const __m256i share = _mm256_or_si256(wave.across, _mm256_slli_epi32(wave.across, 16)), rest = _mm256_sub_epi16(_mm256_set1_epi16(256), share);
        alignas(32) int32_t weight[image_chunk];
        put_chunk(weight, _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(256), wave.down), _mm256_slli_epi32(wave.down, 16)));
        ByteSums sums = {};
#pragma GCC unroll 1
        for (int line = 0; line < count; ++line) {
            if (line == 0 || upper[line] != upper[line - 1]) {
                if (line && upper[line] == lower[line - 1]) {
                    sums.upper_even = sums.lower_even;
                    sums.upper_odd = sums.lower_odd;
                } else {
                    sum_two_bytes(words_at(host, offset[line][0]), words_at(host, offset[line][1]), rest, share, sums.upper_even, sums.upper_odd);
                }
            }
            if (line == 0 || lower[line] != lower[line - 1])
                sum_two_bytes(words_at(host, offset[line][2]), words_at(host, offset[line][3]), rest, share, sums.lower_even, sums.lower_odd);
            const __m256i of_lines = everywhere(weight + line);
#pragma GCC unroll 4
            for (int byte = 0; byte < 4; ++byte)
                if (rows.row[byte])
                    put_byte_sums(sum_of_byte(sums, byte, of_lines), rows.row[byte] + image_chunk * line);
        }
    }
};

template <int count, int filter>
__attribute__((noinline)) static bool sample_apart(const ImageTexels &level, const WavePatch<count> &wave, uint32_t slice, const RowsOf<float> &rows) {
    SampledGrid<count> grid;
    if (!grid.template open<filter>(level, wave, slice))
        return false;
    if (filter == image_linear)
        grid.filter(level.host, wave, rows);
    else
        grid.pass(level.host, rows);
    return true;
}

template <int count, int filter>
static inline bool sample_grid_by(const ImageTexels &level, const float *const *coordinate, uint32_t slice, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    WavePatch<count> wave;
    if (!wave.template find<filter>(level, coordinate))
        return false;
    if (slice & 15 || !wave.template open<filter>(level, slice))
        return sample_apart<count, filter>(level, wave, slice, rows);
    if (filter == image_linear)
        filter_wave_patch<count>(level.host, wave, rows);
    else
        pass_patch_of<count>(level.host, wave.patch, rows);
    return true;
}

template <int count>
static inline bool sample_grid_of(const ImageTexels &level, const float *const *coordinate, uint32_t slice, int filter, const RowsOf<float> &to) {
    return filter == image_linear    ? sample_grid_by<count, image_linear>(level, coordinate, slice, to)
         : filter == image_truncates ? sample_grid_by<count, image_truncates>(level, coordinate, slice, to)
                                     : sample_grid_by<count, image_nearest>(level, coordinate, slice, to);
}

// Sample elements of four 8-bit channels for the rows of a wave, from a slice (by its entry) of a level of two axes that are exact. False: the lanes are no
// grid, or some texel is outside, and nothing was written.
static inline bool sample_by_grid(const ImageTexels &level, unsigned rows, const float *const *coordinate, uint32_t slice, int filter,
                                  const RowsOf<float> &to) {
    return !may_be_grid(coordinate) ? false
         : rows == 2 ? sample_grid_of<wave_lines>(level, coordinate, slice, filter, to)
                     : sample_grid_of<patch_lines>(level, coordinate, slice, filter, to);
}

template <int count>
__attribute__((noinline)) static bool gather_apart(const ImageTexels &level, const WavePatch<count> &wave, unsigned byte, const RowsOf<float> &rows) {
    SampledGrid<count> grid;
    if (!grid.template open<image_linear>(level, wave, 0))
        return false;
    grid.gather(level.host, byte, rows);
    return true;
}

template <int count>
static inline bool gather_grid_of(const ImageTexels &level, const float *const *coordinate, unsigned byte, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    WavePatch<count> wave;
    if (!wave.template find<image_linear>(level, coordinate))
        return false;
    if (!wave.template open<image_linear>(level))
        return gather_apart<count>(level, wave, byte, rows);
    gather_patch<count>(level.host, wave.patch, byte, rows);
    return true;
}

// A byte of the corners (0, 1), (1, 1), (1, 0), (0, 0) of a wave's places, to a row each. False: the lanes are no grid, or some texel is outside, and
// nothing was written.
static inline bool gather_by_grid(const ImageTexels &level, unsigned rows, const float *const *coordinate, unsigned byte, const RowsOf<float> &to) {
    return !may_be_grid(coordinate) ? false
         : rows == 2 ? gather_grid_of<wave_lines>(level, coordinate, byte, to) : gather_grid_of<patch_lines>(level, coordinate, byte, to);
}

// The entry of the slice that the first lanes of a wave name. False: they name several, or none.
static inline bool find_slice(const ImageTexels &level, unsigned lanes, const float *coordinate, uint32_t layers, bool cube, uint32_t &slice) {
    const __m256i first = everywhere(coordinate);
    __m256i differs = _mm256_setzero_si256();
    for (unsigned lane = 0; lane < lanes; lane += image_chunk)
        differs = _mm256_or_si256(differs, _mm256_xor_si256(chunk_of(coordinate + lane), first));
    int32_t layer;
    if (!is_zero(differs) || !find_layer(*coordinate, layers, cube, layer))
        return false;
    slice = entries_of(level, 2)[layer];
    return !(slice & image_outside);
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline bool sample_by_grid(const ImageTexels &, unsigned, const float *const *, uint32_t, int, const RowsOf<float> &) { return false; }
static inline bool gather_by_grid(const ImageTexels &, unsigned, const float *const *, unsigned, const RowsOf<float> &) { return false; }
static inline bool find_slice(const ImageTexels &, unsigned, const float *, uint32_t, bool, uint32_t &) { return false; }
#endif
