// Grids: lanes of four lines of eight, whose texels have the same columns in every line, and one line of the level each, in any order.
//
// A grid's offsets are those of eight columns and four lines: each is looked up once, however far apart they are. A grid whose texels
// are neighbours as well is a patch (image_patches.h).
#pragma once
#include "image_chunks.h"

#if defined(__AVX2__)
// Eight entries one by one.
static inline __m256i entries_by_lane(const uint32_t *entry, const uint32_t *index) {
    return _mm256_setr_epi32((int)entry[index[0]], (int)entry[index[1]], (int)entry[index[2]], (int)entry[index[3]], (int)entry[index[4]],
                             (int)entry[index[5]], (int)entry[index[6]], (int)entry[index[7]]);
}

// Lanes whose texels are named by integers, as a grid inside a level.
struct TexelGrid {
    ImagePatch patch;
    alignas(32) uint32_t offset[patch_lines][image_chunk];    // if it is no patch

    // False: they are no grid, or some texel is outside.
    __attribute__((always_inline)) bool find(const ImageTexels &level, const uint32_t *x, const uint32_t *y) {
        const Grid grid(x, y);
        const __m256i last_column = _mm256_set1_epi32((int)level.axis[0].size - 1), last_line = _mm256_set1_epi32((int)level.axis[1].size - 1);
        const __m256i columns = _mm256_xor_si256(_mm256_min_epu32(grid.columns, last_column), grid.columns);
        const __m256i beyond = _mm256_or_si256(columns, _mm256_xor_si256(_mm256_min_epu32(grid.lines, last_line), grid.lines));
        if (!grid.found || !is_zero(beyond))
            return false;
        patch.used = open_patch(level, grid.columns, grid.lines, 0, 0, patch);
        if (!patch.used)
            place(level, x, y);
        return true;
    }

    __attribute__((always_inline)) void place(const ImageTexels &level, const uint32_t *x, const uint32_t *y) {
        const OffsetBits bits = offset_bits(level);
        const OffsetParts across = bits.of(entries_by_lane(entries_of(level, 0), x));
        const uint32_t *entry = entries_of(level, 1);
#pragma GCC unroll 4
        for (int line = 0; line < patch_lines; ++line)
            put_offset(across, bits.of(everywhere(entry + y[image_chunk * line])), offset[line]);
    }

    // Components of 8-bit unorm of elements of four bytes.
    __attribute__((always_inline)) void load_bytes(const uint8_t *host, const RowsOf<float> &to) const {
        const RowsOf<float> rows = to;
        if (patch.used)
            return pass_patch(host, patch, rows);
#pragma GCC unroll 1
        for (int line = 0; line < patch_lines; ++line)
            put_four_bytes(join_chunk(elements_at<uint32_t>(host, offset[line]), elements_at<uint32_t>(host, offset[line] + 4)), rows,
                           image_chunk * line);
    }
};

// All four components of 8-bit unorm of texels that integers name, for the rows of a wave. False: some row's lanes are no grid, or a texel is
// outside; then nothing was written. All rows are placed before the first is loaded, so that loads do not wait for offsets.
static inline bool load_bytes_by_grid(const ImageTexels &level, unsigned rows, const uint32_t *x, const uint32_t *y, const RowsOf<float> &to) {
    TexelGrid grid[2];
    for (unsigned row = 0; row < rows; ++row)
        if (!grid[row].find(level, x + image_row * row, y + image_row * row))
            return false;
    for (unsigned row = 0; row < rows; ++row) {
        RowsOf<float> part;
        for (int byte = 0; byte < 4; ++byte)
            part.row[byte] = to.row[byte] + image_row * row;
        grid[row].load_bytes(level.host, part);
    }
    return true;
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline bool load_bytes_by_grid(const ImageTexels &, unsigned, const uint32_t *, const uint32_t *, const RowsOf<float> &) { return false; }
#endif
