// Cells in vectors of 256 bits, for processors that have no wider ones: a vector holds half a line.
//
// Bits of a byte's place in a vector become bits of the vector's number. AVX2 exchanges two of them in one step: bit 3, by interleaving words of 8 bytes of
// two vectors, and bit 4, by joining halves of them. Whatever else has to be among the bits of a place is brought there before, within a vector:
// by a permutation of words of 4 bytes and a shuffle of each 16 bytes. That is why no more than four vectors have to do with one another.
#pragma once
#include "line_pieces.h"

// `line_order.py` makes it, for one direction.
struct HalfNetwork {
    int32_t words[8];                        // which words of 4 bytes a permutation takes
    uint8_t bytes[32];                       // which bytes of 16 a shuffle takes
    int32_t in_memory[16], in_texels[16];    // of each half line: twice the number of its line or row, and which half it is
    int32_t permutes, shuffles;              // whether there is such a step
    int32_t exchanges_8, exchanges_16;       // whether bits of places of 8 and 16 bytes are exchanged with bits 0 and 1 of numbers
};

#if PYACO_HAS_X86
#define IN_HALVES __attribute__((target("avx2")))
#define INLINE_IN_HALVES IN_HALVES __attribute__((always_inline)) static inline

enum HalfStore { halves_unaligned, halves_past_caches, halves_realigned };         // the last ones past the caches too

template <bool TO_MEMORY>
struct HalfSteps {
    __m256i words, bytes;
    bool permutes, shuffles, exchanges_8, exchanges_16;

    INLINE_IN_HALVES void load(HalfSteps &steps, const HalfNetwork &network) {
        steps.words = _mm256_loadu_si256((const __m256i *)network.words);
        steps.bytes = _mm256_loadu_si256((const __m256i *)network.bytes);
        steps.permutes = network.permutes;
        steps.shuffles = network.shuffles;
        steps.exchanges_8 = network.exchanges_8;
        steps.exchanges_16 = network.exchanges_16;
    }

    INLINE_IN_HALVES void permute(const HalfSteps &steps, __m256i *vectors) {
        if (steps.permutes)
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                vectors[i] = _mm256_permutevar8x32_epi32(vectors[i], steps.words);
    }

    INLINE_IN_HALVES void shuffle(const HalfSteps &steps, __m256i *vectors) {
        if (steps.shuffles)
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                vectors[i] = _mm256_shuffle_epi8(vectors[i], steps.bytes);
    }

    INLINE_IN_HALVES void exchange(const HalfSteps &steps, __m256i *vectors) {
        if (steps.exchanges_8)
#pragma GCC unroll 2
            for (int i = 0; i < 4; i += 2) {
                const __m256i first = vectors[i], second = vectors[i + 1];
                vectors[i] = _mm256_unpacklo_epi64(first, second);
                vectors[i + 1] = _mm256_unpackhi_epi64(first, second);
            }
        if (steps.exchanges_16)
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                const __m256i first = vectors[i], second = vectors[i + 2];
                vectors[i] = _mm256_permute2x128_si256(first, second, 0x20);
                vectors[i + 2] = _mm256_permute2x128_si256(first, second, 0x31);
            }
    }

    INLINE_IN_HALVES void apply(const HalfSteps &steps, __m256i *vectors) {
        if (!TO_MEMORY) {
            permute(steps, vectors);
            shuffle(steps, vectors);
        }
        exchange(steps, vectors);
        if (TO_MEMORY) {
            shuffle(steps, vectors);
            permute(steps, vectors);
        }
    }
};

// Where the halves of the lines of cells and of their rows are, in the order of the vectors.
struct HalfPlaces {
    int64_t column[16], in_line[16], in_rows[16];

    HalfPlaces(const HalfNetwork &network, int64_t count, int64_t pitch) {
        for (int64_t i = 0; i < count; i++) {
            column[i] = network.in_memory[i] / 2;
            in_line[i] = network.in_memory[i] % 2 * (line_bytes / 2);
            in_rows[i] = network.in_texels[i] / 2 * pitch + network.in_texels[i] % 2 * (line_bytes / 2);
        }
    }
};

template <bool PAST_CACHES>
INLINE_IN_HALVES void store_half(uint8_t *to, __m256i vector) {
    if (PAST_CACHES)
        _mm256_stream_si256((__m256i *)to, vector);
    else
        _mm256_storeu_si256((__m256i *)to, vector);
}

// The cells of columns [left, right) to rows of texels at `texels`, `pitch` bytes apart.
template <int HEIGHT_LOG2, bool PAST_CACHES>
IN_HALVES static void detile_halves(const LineCopy &copy, int64_t row, int64_t left, int64_t right, uint8_t *texels, int64_t pitch) {
    enum { lines = 1 << HEIGHT_LOG2 };
    HalfSteps<false> steps;
    steps.load(steps, *copy.halves);
    const HalfPlaces places(*copy.halves, 2 * lines, pitch);
    const LineRow line(copy, row);
    const uint8_t *const memory = copy.memory;
    for (int64_t column = left; column < right; column += lines, texels += line_bytes)
#pragma GCC unroll 4
        for (int i = 0; i < 2 * lines; i += 4) {
            __m256i vectors[4];
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                vectors[k] = _mm256_loadu_si256((const __m256i *)(memory + line[column + places.column[i + k]] + places.in_line[i + k]));
            steps.apply(steps, vectors);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                store_half<PAST_CACHES>(texels + places.in_rows[i + k], vectors[k]);
        }
}

// How rows of texels are realigned, which begin inside of half a cache line: what is left of each waits in `rests` for what comes next.
template <int HEIGHT_LOG2>
struct HalfShifts {
    enum { lines = 1 << HEIGHT_LOG2 };
    alignas(32) int32_t words[lines][8], is_of_next[lines][8];
    int behind[lines];

    HalfShifts(const uint8_t *texels, int64_t pitch) {
        for (int y = 0; y < lines; y++) {
            behind[y] = (uintptr_t)(texels + y * pitch) % (line_bytes / 2);
            for (int i = 0; i < 8; i++) {
                words[y][i] = (i - behind[y] / 4) & 7;
                is_of_next[y][i] = i < behind[y] / 4 ? 0 : -1;
            }
        }
    }
};

template <int HEIGHT_LOG2>
IN_HALVES static void detile_realigned(const LineCopy &copy, int64_t row, int64_t left, int64_t right, bool begins, bool ends, uint8_t *rests) {
    enum { lines = 1 << HEIGHT_LOG2, half_bytes = line_bytes / 2 };
    HalfSteps<false> steps;
    steps.load(steps, *copy.halves);
    const HalfNetwork network = *copy.halves;
    const HalfPlaces places(network, 2 * lines, copy.pitch);
    uint8_t *texels = copy.texels_of(row, left);
    const HalfShifts<HEIGHT_LOG2> shifts(texels, copy.pitch);
    const LineRow line(copy, row);
    const uint8_t *const memory = copy.memory;
    for (int64_t column = left; column < right; column += lines, texels += line_bytes, begins = false)
#pragma GCC unroll 4
        for (int i = 0; i < 2 * lines; i += 4) {
            __m256i vectors[4];
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                vectors[k] = _mm256_loadu_si256((const __m256i *)(memory + line[column + places.column[i + k]] + places.in_line[i + k]));
            steps.apply(steps, vectors);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                const int y = network.in_texels[i + k] / 2, behind = shifts.behind[y];
                __m256i *const rest = (__m256i *)(rests + y * half_bytes);
                const __m256i moved = _mm256_permutevar8x32_epi32(vectors[k], *(const __m256i *)shifts.words[y]);
                const __m256i whole = _mm256_blendv_epi8(*rest, moved, *(const __m256i *)shifts.is_of_next[y]);
                *rest = moved;
                uint8_t *to = texels + places.in_rows[i + k];
                if (begins && behind && network.in_texels[i + k] % 2 == 0)
                    memcpy(to, (const uint8_t *)rest + behind, half_bytes - behind);
                else
                    _mm256_stream_si256((__m256i *)(to - behind), whole);
            }
        }
    for (int y = 0; y < lines && ends; y++)
        memcpy(texels + y * copy.pitch - shifts.behind[y], rests + y * half_bytes, shifts.behind[y]);
}

// Columns [left, right) to `memory`; of less than a cell, those before are moved with them.
template <int HEIGHT_LOG2, bool PAST_CACHES>
IN_HALVES static void tile_halves(const LineCopy &copy, uint8_t *memory, int64_t row, int64_t left, int64_t right) {
    enum { lines = 1 << HEIGHT_LOG2 };
    HalfSteps<true> steps;
    steps.load(steps, *copy.halves);
    const HalfPlaces places(*copy.halves, 2 * lines, copy.pitch);
    const LineRow line(copy, row);
    for (int64_t column = left; column < right; column += lines) {
        const int64_t first = std::min(column, right - lines);
        const uint8_t *texels = copy.texels_of(row, first);
#pragma GCC unroll 4
        for (int i = 0; i < 2 * lines; i += 4) {
            __m256i vectors[4];
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                vectors[k] = _mm256_loadu_si256((const __m256i *)(texels + places.in_rows[i + k]));
            steps.apply(steps, vectors);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                store_half<PAST_CACHES>(memory + line[first + places.column[i + k]] + places.in_line[i + k], vectors[k]);
        }
    }
}

// A part of the bytes of each row of the cell at `column`, which is made beside.
template <int HEIGHT_LOG2>
static void detile_part(const LineCopy &copy, int64_t row, int64_t column, int64_t begin, int64_t end) {
    alignas(line_bytes) uint8_t cell[line_bytes << HEIGHT_LOG2];
    detile_halves<HEIGHT_LOG2, false>(copy, row, column, column + 1, cell, line_bytes);
    uint8_t *texels = copy.texels_of(row, column);
    for (int64_t y = 0; y < 1 << HEIGHT_LOG2; y++)
        for (int64_t x = begin; x < end; x += line_bytes >> HEIGHT_LOG2)
            memcpy(texels + y * copy.pitch + x, cell + y * line_bytes + x, line_bytes >> HEIGHT_LOG2);
}

// Cells are any lines side by side: they begin at a column where rows of texels begin with a cache line, or behind its first bytes, if all are alike.
template <int HEIGHT_LOG2>
struct Cells256 {
    enum { lines = 1 << HEIGHT_LOG2, width = line_bytes >> HEIGHT_LOG2 };

    template <HalfStore STORE>
    static void detile_all(const LineCopy &copy, int64_t lead) {
        const int64_t end = lead + ((copy.wide - lead) >> HEIGHT_LOG2 << HEIGHT_LOG2);
        in_chunks<false>(copy, copy.wide, [&](int64_t row, int64_t inside, int64_t left, int64_t right) {
            const bool begins = left == 0, ends = right == copy.wide;
            const int64_t first = std::min(left + lead, end), last = ends ? end : std::min(right + lead, end);
            if (begins && lead)
                detile_part<HEIGHT_LOG2>(copy, row, 0, 0, lead * width);
            if (STORE == halves_realigned)
                detile_realigned<HEIGHT_LOG2>(copy, row, first, last, begins, ends, copy.buffer + (inside << HEIGHT_LOG2) * (line_bytes / 2));
            else
                detile_halves<HEIGHT_LOG2, STORE == halves_past_caches>(copy, row, first, last, copy.texels_of(row, first), copy.pitch);
            if (ends && end < copy.wide)
                detile_part<HEIGHT_LOG2>(copy, row, copy.wide - lines, line_bytes - (copy.wide - end) * width, line_bytes);
        });
    }

    // Return how many columns have been moved: all, but of less than a cell.
    static int64_t detile(const LineCopy &copy) {
        if (copy.wide < lines)
            return 0;
        const int64_t before = -(uintptr_t)copy.texels % line_bytes;
        const int64_t lead = copy.pitch % line_bytes == 0 && copy.wide >= 2 * lines ? (before + width - 1) / width : 0;
        if (!copy.past_caches || ((uintptr_t)copy.texels | (uintptr_t)copy.pitch) % 4)
            detile_all<halves_unaligned>(copy, lead);
        else if (copy.pitch % line_bytes == 0 && lead * width == before)
            detile_all<halves_past_caches>(copy, lead);
        else
            detile_all<halves_realigned>(copy, lead);
        return copy.wide;
    }

    static int64_t columns_to_tile(const LineCopy &copy) { return copy.wide < lines ? 0 : copy.wide; }

    template <bool PAST_CACHES>
    static void tile(const LineCopy &copy, uint8_t *memory, int64_t row, int64_t left, int64_t right) {
        tile_halves<HEIGHT_LOG2, PAST_CACHES>(copy, memory, row, left, right);
    }
};
#endif
