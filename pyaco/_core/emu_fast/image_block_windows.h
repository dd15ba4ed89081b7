// Blocks of texels around all places of a wave, where 4 x 4 of a level hold them (image_windows.h): each is looked for, or decoded, once, and corners
// are found by a permutation.
#pragma once
#include "image_fours.h"
#include "image_windows.h"

static inline const uint8_t *decoded_texels(const BlockSource &source) { return (const uint8_t *)source.decoded->texel; }

#if defined(__AVX512F__)
enum { window_blocks = window_edge / square_edge };

// Where the blocks of a window have been decoded, as bytes behind the first of all decoded texels. False: two of them want one slot.
static inline bool decode_window(const ImageTexels &level, const BlockSource &source, const int32_t *begin, const uint32_t *end, uint32_t *first) {
    const uint32_t low = level.low;
    for (int attempt = 0; attempt < 2; ++attempt) {
        bool decoded = false;
        for (int line = 0; line < window_blocks; ++line) {
            const uint32_t down = square_entry(level.axis[1], end[1], begin[1], line);
            for (int column = 0; column < window_blocks; ++column) {
                const uint32_t offset = join_entries(square_entry(level.axis[0], end[0], begin[0], column), down, low);
                const uint32_t slot = source.slot_of(level.host, offset >> block_part_bits, decoded);
                first[window_blocks * line + column] = (uint32_t)sizeof(source.decoded->texel[0]) * slot;
            }
        }
        if (!decoded)
            return true;
    }
    return false;
}

// The corners of a wave's places, as bytes behind the first of all decoded texels, go to the offsets of its rows, and the places' weights.
template <int count>
__attribute__((noinline)) static bool place_decoded_of(const ImageTexels &level, const BlockSource &source, const float *const *coordinate,
                                                       ImageRow *row) {
    const uint32_t inner = square_edge - 1, end[2] = {(level.axis[0].size + inner) & ~inner, (level.axis[1].size + inner) & ~inner};
    alignas(64) uint32_t first[window_blocks * window_blocks];
    WindowPlaces<count> places;
    if (!places.find(level, level.axis[0].size, level.axis[1].size, coordinate, row) || !decode_window(level, source, places.begin, end, first))
        return false;
    const __m512i blocks = _mm512_load_si512(first), inside = fetch_all(inner);
    for (int part = 0; part < count; ++part)
#pragma GCC unroll 4
        for (int corner = 0; corner < 4; ++corner) {
            const __m512i x = words_sum(places.texel[0][part], fetch_all(corner & 1)), y = words_sum(places.texel[1][part], fetch_all(corner >> 1));
            const __m512i block = words_or(_mm512_andnot_si512(inside, y), words_shifted(x, 2));
            const __m512i texel = words_or(_mm512_slli_epi32(words_and(y, inside), 2), words_and(x, inside));
            put_fetched(row[part / 2].offset[corner] + fetch_lanes * (part % 2),
                        words_sum(_mm512_permutexvar_epi32(block, blocks), _mm512_slli_epi32(texel, 4)));
        }
    return true;
}

static inline bool place_decoded(const ImageTexels &level, unsigned rows, const BlockSource &source, const float *const *coordinate, ImageRow *row) {
    if (level.axis[0].size < square_edge || level.axis[1].size < square_edge || !may_be_window(level, coordinate, (int)rows * image_row))
        return false;
    return rows == 2 ? place_decoded_of<4>(level, source, coordinate, row) : place_decoded_of<2>(level, source, coordinate, row);
}
#else
static inline bool place_decoded(const ImageTexels &, unsigned, const BlockSource &, const float *const *, ImageRow *) { return false; }
#endif
