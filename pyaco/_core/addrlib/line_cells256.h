// Cells in vectors of 256 bits, for processors that have no wider ones: a vector holds half a line.
//
// Bits of a byte's place in a vector become bits of the vector's number. AVX2 exchanges two of them in one step each: bit 3, by interleaving words of
// 8 bytes of two vectors, and bit 4, by joining halves of two. What is to be exchanged is brought there before (and to its place in memory after),
// within each vector, by a permutation of words of 4 bytes and a shuffle of 16 bytes. So no more than four vectors have to do with one another.
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

    HalfPlaces(const HalfNetwork &network, int64_t count, const int64_t *rows) {
        for (int64_t i = 0; i < count; i++) {
            column[i] = network.in_memory[i] / 2;
            in_line[i] = network.in_memory[i] % 2 * (line_bytes / 2);
            in_rows[i] = rows[network.in_texels[i] / 2] + network.in_texels[i] % 2 * (line_bytes / 2);
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

// The cells of columns [left, right) to rows of texels, which begin at `texels` and `rows`.
template <int HEIGHT_LOG2, bool PAST_CACHES>
IN_HALVES static void detile_halves(const LineCopy &copy, int64_t row, int64_t left, int64_t right, uint8_t *texels, const int64_t *rows) {
    enum { lines = 1 << HEIGHT_LOG2 };
    HalfSteps<false> steps;
    steps.load(steps, *copy.halves);
    const HalfPlaces places(*copy.halves, 2 * lines, rows);
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
            for (int k = 0; k < 4; k++) {
                store_half<PAST_CACHES>(texels + places.in_rows[i + k], vectors[k]);
                if (!PAST_CACHES)
                    __builtin_prefetch(texels + places.in_rows[i + k] + chunk_bytes, 1, 2);     // of the next chunk
            }
        }
}

// Whole cache lines, past the caches.
IN_HALVES static void stream_halves(uint8_t *to, const uint8_t *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += line_bytes / 2)
        store_half<true>(to + i, _mm256_loadu_si256((const __m256i *)(from + i)));
}

// A part of the bytes of each row of the cell at `column`, which is made beside.
template <int HEIGHT_LOG2>
static void detile_part(const LineCopy &copy, int64_t row, int64_t column, int64_t begin, int64_t end) {
    enum { lines = 1 << HEIGHT_LOG2, width = line_bytes >> HEIGHT_LOG2 };
    alignas(line_bytes) uint8_t made[lines][line_bytes];
    int64_t rows[lines];
    for (int64_t y = 0; y < lines; y++)
        rows[y] = y * line_bytes;
    detile_halves<HEIGHT_LOG2, false>(copy, row, column, column + lines, made[0], rows);
    uint8_t *texels = copy.texels_of(row, column);
    for (int64_t y = 0; y < lines; y++)
        for (int64_t x = begin; x < end; x += width)
            memcpy(texels + y * copy.pitch + x, made[y] + x, width);
}

// Past the caches, rows of texels are written one after the other, by cache lines whatever they begin with: a part of them is made beside. What is
// left of each row waits in `rests` for what comes next.
template <int HEIGHT_LOG2>
static void detile_by_rows(const LineCopy &copy, int64_t row, int64_t left, int64_t right, uint8_t *rests) {
    enum { lines = 1 << HEIGHT_LOG2, width = line_bytes >> HEIGHT_LOG2, part_columns = chunk_bytes / width, margin = line_bytes };
    alignas(line_bytes) uint8_t made[lines][margin + line_bytes + chunk_bytes];
    uint8_t *to[lines];
    int64_t behind[lines], begin[lines];
    for (int64_t y = 0; y < lines; y++) {
        to[y] = copy.texels_of(row, left) + y * copy.pitch;
        behind[y] = (uintptr_t)to[y] % line_bytes;
        to[y] -= behind[y];
        begin[y] = y * (int64_t)sizeof made[0] + margin + behind[y];
        memcpy(made[y] + margin, rests + y * line_bytes, line_bytes);
    }
    for (int64_t column = left; column < right; column += part_columns) {
        const int64_t end = std::min<int64_t>(column + part_columns, right), bytes = (end - column) * width;
        detile_halves<HEIGHT_LOG2, false>(copy, row, column, end - (end - column) % lines, made[0], begin);
        if ((end - column) % lines)                                 // with columns before, which are there again
            detile_halves<HEIGHT_LOG2, false>(copy, row, end - lines, end, made[0] + (end - lines - column) * width, begin);
        for (int64_t y = 0; y < lines; y++) {
            const int64_t head = column == 0 && behind[y] ? line_bytes : 0, whole = (behind[y] + bytes) & -line_bytes;
            uint8_t *const from = made[y] + margin;
            if (head)
                memcpy(to[y] + behind[y], from + behind[y], line_bytes - behind[y]);
            stream_halves(to[y] + head, from + head, whole - head);
            to[y] += whole;
            if (end == copy.wide)
                memcpy(to[y], from + whole, (behind[y] + bytes) % line_bytes);
            else
                memcpy(from, from + whole, line_bytes);
        }
    }
    for (int64_t y = 0; y < lines; y++)
        memcpy(rests + y * line_bytes, made[y] + margin, line_bytes);
}

// Columns [left, right) to `memory`; of less than a cell, those before are moved with them.
template <int HEIGHT_LOG2, bool PAST_CACHES>
IN_HALVES static void tile_halves(const LineCopy &copy, uint8_t *memory, int64_t row, int64_t left, int64_t right) {
    enum { lines = 1 << HEIGHT_LOG2 };
    HalfSteps<true> steps;
    steps.load(steps, *copy.halves);
    int64_t rows[lines];
    for (int64_t y = 0; y < lines; y++)
        rows[y] = y * copy.pitch;
    const HalfPlaces places(*copy.halves, 2 * lines, rows);
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

template <int HEIGHT_LOG2>
struct Cells256 {
    enum { lines = 1 << HEIGHT_LOG2, width = line_bytes >> HEIGHT_LOG2 };

    // Cells are any lines side by side: they begin with column `lead`, where rows of texels begin with a cache line.
    template <bool PAST_CACHES>
    static void detile_all(const LineCopy &copy, int64_t lead) {
        const int64_t end = lead + ((copy.wide - lead) >> HEIGHT_LOG2 << HEIGHT_LOG2);
        int64_t rows[lines];
        for (int64_t y = 0; y < lines; y++)
            rows[y] = y * copy.pitch;
        in_chunks<false>(copy, copy.wide, [&](int64_t row, int64_t, int64_t left, int64_t right) {
            const int64_t first = left + lead, last = right == copy.wide ? end : std::min(right + lead, end);
            if (left == 0 && lead)
                detile_part<HEIGHT_LOG2>(copy, row, 0, 0, lead * width);
            detile_halves<HEIGHT_LOG2, PAST_CACHES>(copy, row, first, last, copy.texels_of(row, first), rows);
            if (right == copy.wide && end < copy.wide)
                detile_part<HEIGHT_LOG2>(copy, row, copy.wide - lines, line_bytes - (copy.wide - end) * width, line_bytes);
        });
    }

    // Return how many columns have been moved: all, but of less than a cell, or where pieces of 16 bytes are as fast.
    static int64_t detile(const LineCopy &copy) {
        const int64_t before = -(uintptr_t)copy.texels % line_bytes;
        const bool aligns = copy.pitch % line_bytes == 0 && before % width == 0;
        if (copy.wide < lines || (HEIGHT_LOG2 == 1 && copy.past_caches && !aligns))
            return 0;
        if (!copy.past_caches)
            detile_all<false>(copy, aligns ? before / width : 0);
        else if (aligns)
            detile_all<true>(copy, before / width);
        else
            in_chunks<false>(copy, copy.wide, [&](int64_t row, int64_t inside, int64_t left, int64_t right) {
                detile_by_rows<HEIGHT_LOG2>(copy, row, left, right, copy.buffer + (inside << HEIGHT_LOG2) * line_bytes);
            });
        return copy.wide;
    }

    // Pieces of 16 bytes are as fast.
    static int64_t columns_to_tile(const LineCopy &copy) { return copy.wide < lines || copy.piece == 16 ? 0 : copy.wide; }

    static void stream_lines(uint8_t *to, const uint8_t *from, int64_t bytes) { stream_halves(to, from, bytes); }

    template <bool PAST_CACHES>
    static void tile(const LineCopy &copy, uint8_t *memory, int64_t row, int64_t left, int64_t right) {
        tile_halves<HEIGHT_LOG2, PAST_CACHES>(copy, memory, row, left, right);
    }
};
#endif
