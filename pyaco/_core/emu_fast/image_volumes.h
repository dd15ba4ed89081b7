// Volumes: lines of eight lanes that have the same columns and slices, lane by lane, and one y each.
//
// Kernels that walk through a volume slice by slice, or along a slope, have such lanes. A line of texels is read and mixed along x and z once, for the lanes
// above it and those below, and for all lines of lanes between the same two lines of texels, as those of a magnified volume are. The sums are integers
// of at most 32 bits, and exact, in any order.
#pragma once
#include "image_chunks.h"

#if defined(__AVX2__)
template <int count> struct LinesInVolume {
    OffsetBits bits;
    OffsetParts corner[4];            // of eight columns: left and right in the nearer slice and in the farther
    __m256i left, right, slices;      // weights along x in both halves of a dword, those along z in its halves
    alignas(32) uint32_t upper[image_chunk], lower[image_chunk];  // entries of the lines
    alignas(64) double weight[image_chunk];                       // of the lower

    // False: the lanes lie otherwise, or some place is not exact or has a texel outside.
    __attribute__((always_inline)) bool find(const ImageTexels &level, const float *const *coordinate) {
        const GridOf<count> grid(coordinate[0], coordinate[1]);
        if (!grid.found || !is_same_in_lines(coordinate[2]))
            return false;
        alignas(32) float line[image_chunk];
        put_chunk(line, grid.lines);
        __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
        const ExactPlaces<image_linear> across(ExactAxis(level.axis[0]), coordinate[0], all), down(ExactAxis(level.axis[1]), line, all);
        const ExactPlaces<image_linear> deep(ExactAxis(level.axis[2]), coordinate[2], all);
        const __m256i outside = _mm256_or_si256(_mm256_or_si256(across.any(), down.any()), deep.any());
        if (_mm256_movemask_ps(all) != 0xff || _mm256_movemask_ps(_mm256_castsi256_ps(outside)))
            return false;
        bits = offset_bits(level);
        const OffsetParts near = bits.of(deep.entries.first), far = bits.of(deep.entries.second);
        const OffsetParts first = bits.of(across.entries.first), second = bits.of(across.entries.second);
        corner[0] = join_parts(first, near);
        corner[1] = join_parts(second, near);
        corner[2] = join_parts(first, far);
        corner[3] = join_parts(second, far);
        right = _mm256_or_si256(across.weight, _mm256_slli_epi32(across.weight, 16));
        left = _mm256_sub_epi16(_mm256_set1_epi16(256), right);
        slices = _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(256), deep.weight), _mm256_slli_epi32(deep.weight, 16));
        put_chunk(upper, down.entries.first);
        put_chunk(lower, down.entries.second);
        EightDoubles::of(down.weight).put(weight);
        return true;
    }

    __attribute__((always_inline)) static bool is_same_in_lines(const float *row) {
        const __m256i first = chunk_of(row);
        __m256i differs = _mm256_setzero_si256();
#pragma GCC unroll 8
        for (int line = 1; line < count; ++line)
            differs = _mm256_or_si256(differs, _mm256_xor_si256(chunk_of(row + image_chunk * line), first));
        return is_zero(differs);
    }

    // Bytes of the line of texels that an entry names, mixed along x and z: sums with weights of 65536 in all.
    __attribute__((noinline)) void mix_line(const uint8_t *host, const uint32_t *entry, double (*mixed)[image_chunk]) const {
        const OffsetParts of_line = bits.of(everywhere(entry));
        __m256i words[4];
#pragma GCC unroll 4
        for (int number = 0; number < 4; ++number) {
            alignas(32) uint32_t offset[image_chunk];
            put_offset(corner[number], of_line, offset);
            words[number] = words_at(host, offset);
        }
        ByteSums sums;
        sum_two_bytes(words[0], words[1], left, right, sums.upper_even, sums.upper_odd);
        sum_two_bytes(words[2], words[3], left, right, sums.lower_even, sums.lower_odd);
#pragma GCC unroll 4
        for (int byte = 0; byte < 4; ++byte)
            EightDoubles::of(sum_of_byte(sums, byte, slices)).put(mixed[byte]);
    }

    __attribute__((always_inline)) void filter(const uint8_t *host, const RowsOf<float> &rows) const {
        alignas(64) double mixed[2][4][image_chunk], base[4][image_chunk], step[4][image_chunk];
        const EightDoubles unit = EightDoubles::everywhere(1.0 / (255.0 * 65536 * 256)), whole = EightDoubles::everywhere(256.0);
        int above = 0;
#pragma GCC unroll 1
        for (int line = 0; line < count; ++line) {
            if (line == 0 || upper[line] != upper[line - 1] || lower[line] != lower[line - 1]) {
                if (line && upper[line] == lower[line - 1])
                    above ^= 1;
                else
                    mix_line(host, upper + line, mixed[above]);
                mix_line(host, lower + line, mixed[above ^ 1]);
#pragma GCC unroll 4
                for (int byte = 0; byte < 4; ++byte) {
                    const EightDoubles first = EightDoubles::of(mixed[above][byte]);
                    first.times(whole).put(base[byte]);
                    EightDoubles::of(mixed[above ^ 1][byte]).minus(first).put(step[byte]);
                }
            }
            const EightDoubles share = EightDoubles::everywhere(weight[line]);
#pragma GCC unroll 4
            for (int byte = 0; byte < 4; ++byte)
                if (rows.row[byte])
                    EightDoubles::of(step[byte]).times_plus(share, EightDoubles::of(base[byte])).times(unit).put(rows.row[byte] + image_chunk * line);
        }
    }
};

template <int count> static inline bool filter_volume_of(const ImageTexels &level, const float *const *coordinate, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    LinesInVolume<count> lines;
    if (!lines.find(level, coordinate))
        return false;
    lines.filter(level.host, rows);
    return true;
}

// Filter elements of four 8-bit channels for the rows of a wave, from a volume whose axes are exact. False: the lanes lie otherwise, and nothing was written.
static inline bool filter_volume(const ImageTexels &level, unsigned rows, const float *const *coordinate, const RowsOf<float> &to) {
    return rows == 2 ? filter_volume_of<wave_lines>(level, coordinate, to) : filter_volume_of<patch_lines>(level, coordinate, to);
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline bool filter_volume(const ImageTexels &, unsigned, const float *const *, const RowsOf<float> &) { return false; }
#endif
