// Cells in vectors of 512 bits.
//
// Bits of a byte's place in a line become bits of its row: an exchange for each, of a bit of the vectors' numbers with a bit of the place in them,
// made by two permutations of each pair of vectors. Pieces of less than 4 bytes are joined by a shuffle of 16 bytes at the side of memory.
#pragma once
#include "line_pieces.h"

#if PYACO_HAS_X86
#define IN_LINES __attribute__((target("avx512f,avx512bw")))
#define INLINE_IN_LINES IN_LINES __attribute__((always_inline)) static inline

enum LineStore { store_unaligned, store_aligned, store_past_caches };

template <int HEIGHT_LOG2, bool SHUFFLES, bool TO_MEMORY>
struct CellNetwork {
    enum { lines = 1 << HEIGHT_LOG2 };
    __m512i shuffle, step[HEIGHT_LOG2][2];

    INLINE_IN_LINES void load(CellNetwork &network, const int32_t *table) {
        network.shuffle = _mm512_loadu_si512(table);
#pragma GCC unroll 8
        for (int i = 0; i < 2 * HEIGHT_LOG2; i++)
            network.step[i / 2][i % 2] = _mm512_loadu_si512(table + 16 * (i + 1));
    }

    INLINE_IN_LINES void apply(const CellNetwork &network, __m512i *vectors) {
#pragma GCC unroll 8
        for (int i = 0; i < lines && SHUFFLES && !TO_MEMORY; i++)
            vectors[i] = _mm512_shuffle_epi8(vectors[i], network.shuffle);
#pragma GCC unroll 4
        for (int k = 0; k < HEIGHT_LOG2; k++)
#pragma GCC unroll 8
            for (int i = 0; i < lines; i++)
                if (!(i >> k & 1)) {
                    const __m512i first = vectors[i], second = vectors[i | 1 << k];
                    vectors[i] = _mm512_permutex2var_epi32(first, network.step[k][0], second);
                    vectors[i | 1 << k] = _mm512_permutex2var_epi32(first, network.step[k][1], second);
                }
#pragma GCC unroll 8
        for (int i = 0; i < lines && SHUFFLES && TO_MEMORY; i++)
            vectors[i] = _mm512_shuffle_epi8(vectors[i], network.shuffle);
    }
};

// Some bytes of a vector.
IN_LINES static void store_part(uint8_t *to, __m512i vector, int begin, int end) {
    alignas(line_bytes) uint8_t bytes[line_bytes];
    _mm512_store_si512(bytes, vector);
    memcpy(to + begin, bytes + begin, end - begin);
}

// Rows of texels that do not begin with a cache line are written by cache lines all the same: what is left of each row waits in `rests` for what
// comes next.
template <int HEIGHT_LOG2, bool SHUFFLES, LineStore STORE>
IN_LINES static void detile_cells(
    const LineCopy &copy, int64_t row, int64_t left, int64_t right, int64_t end, uint8_t *rests) {
    enum { lines = 1 << HEIGHT_LOG2 };
    CellNetwork<HEIGHT_LOG2, SHUFFLES, false> network;
    network.load(network, copy.network);
    const LineRow line(copy, row);
    const uint8_t *const memory = copy.memory;
    const __m512i words = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    uint8_t *to[lines];
    __m512i before[lines], moved[lines];
    int behind[lines];
#pragma GCC unroll 8
    for (int i = 0; i < lines; i++) {
        to[i] = copy.texels_of(row, left) + i * copy.pitch;
        behind[i] = STORE == store_unaligned ? 0 : (int)((uintptr_t)to[i] % line_bytes);
        to[i] -= behind[i];
        moved[i] = _mm512_add_epi32(words, _mm512_set1_epi32(16 - behind[i] / 4));
        before[i] = _mm512_load_si512(rests + i * line_bytes);
    }
    for (int64_t column = left; column < right; column += lines) {
        __m512i vectors[lines];
#pragma GCC unroll 8
        for (int i = 0; i < lines; i++)
            vectors[i] = _mm512_loadu_si512(memory + line[column + i]);
#pragma GCC unroll 8
        for (int i = 0; i < lines && STORE != store_past_caches; i++)
            __builtin_prefetch(to[i] + chunk_bytes, 1, 2);          // of the next chunk
        network.apply(network, vectors);
#pragma GCC unroll 8
        for (int i = 0; i < lines; i++, to[i - 1] += line_bytes) {
            if (STORE == store_unaligned) {
                _mm512_storeu_si512(to[i], vectors[i]);
                continue;
            }
            const __m512i whole = _mm512_permutex2var_epi32(before[i], moved[i], vectors[i]);
            before[i] = vectors[i];
            if (column == 0 && behind[i])
                store_part(to[i], whole, behind[i], line_bytes);
            else if (STORE == store_aligned)
                _mm512_store_si512(to[i], whole);
            else
                _mm512_stream_si512((__m512i *)to[i], whole);
        }
    }
    if (STORE == store_unaligned)
        return;
#pragma GCC unroll 8
    for (int i = 0; i < lines; i++)
        if (right < end)
            _mm512_store_si512(rests + i * line_bytes, before[i]);
        else
            store_part(to[i], _mm512_permutex2var_epi32(before[i], moved[i], before[i]), 0, behind[i]);
}

template <int HEIGHT_LOG2, bool SHUFFLES, bool PAST_CACHES>
IN_LINES static void tile_cells(const LineCopy &copy, uint8_t *memory, int64_t row, int64_t left, int64_t right) {
    enum { lines = 1 << HEIGHT_LOG2 };
    CellNetwork<HEIGHT_LOG2, SHUFFLES, true> network;
    network.load(network, copy.network);
    const LineRow line(copy, row);
    const int64_t pitch = copy.pitch;
    const uint8_t *from = copy.texels_of(row, left);
    for (int64_t column = left; column < right; column += lines, from += line_bytes) {
        __m512i vectors[lines];
#pragma GCC unroll 8
        for (int i = 0; i < lines; i++)
            vectors[i] = _mm512_loadu_si512(from + i * pitch);
        network.apply(network, vectors);
#pragma GCC unroll 8
        for (int i = 0; i < lines; i++) {
            uint8_t *to = memory + line[column + i];
            if (PAST_CACHES)
                _mm512_stream_si512((__m512i *)to, vectors[i]);
            else
                _mm512_storeu_si512(to, vectors[i]);
        }
    }
}

template <int HEIGHT_LOG2, bool SHUFFLES>
struct Cells512 {
    template <LineStore STORE>
    static void detile_all(const LineCopy &copy, int64_t end) {
        in_chunks<false>(copy, end, [&](int64_t row, int64_t inside, int64_t left, int64_t right) {
            detile_cells<HEIGHT_LOG2, SHUFFLES, STORE>(copy, row, left, right, end, copy.buffer + (inside << HEIGHT_LOG2) * line_bytes);
        });
    }

    // Return how many columns have been moved: all whole cells.
    static int64_t detile(const LineCopy &copy) {
        const int64_t end = columns_to_tile(copy);
        if (((uintptr_t)copy.texels | (uintptr_t)copy.pitch) % 4)
            detile_all<store_unaligned>(copy, end);
        else if (copy.past_caches)
            detile_all<store_past_caches>(copy, end);
        else
            detile_all<store_aligned>(copy, end);
        return end;
    }

    static int64_t columns_to_tile(const LineCopy &copy) { return copy.wide >> HEIGHT_LOG2 << HEIGHT_LOG2; }

    // Whole cache lines, past the caches.
    IN_LINES static void stream_lines(uint8_t *to, const uint8_t *from, int64_t bytes) {
        for (int64_t i = 0; i < bytes; i += line_bytes)
            _mm512_stream_si512((__m512i *)(to + i), _mm512_loadu_si512(from + i));
    }

    template <bool PAST_CACHES>
    static void tile(const LineCopy &copy, uint8_t *memory, int64_t row, int64_t left, int64_t right) {
        tile_cells<HEIGHT_LOG2, SHUFFLES, PAST_CACHES>(copy, memory, row, left, right);
    }
};
#endif
