// Look-ups for rows of 32 lanes, eight at a time: entries of tables by index, elements by offset.
//
// Lanes that are neighbours mostly want neighbours: where the indices of eight lanes lie within eight of each other, whatever their order, one load and a
// permutation serve them all, and what one lane finds beside its texel may be what the next lane found at its own. Other lanes are loaded one by one, and put
// together in registers: a vector that is read from where eight lanes have just been written would wait for them. Gathers of the host are not used: they
// are no faster, and slow on hosts that are guarded against data sampling. Loops over chunks are not unrolled: the compiler would move all their loads
// to the beginning, and run out of registers.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { image_row = 32, image_chunk = 8, image_corners = 8 };

// Dwords behind a table that a look-up may read.
enum { image_table_margin = image_chunk };

#if defined(__AVX2__)
static inline __m256i chunk_of(const void *words) { return _mm256_loadu_si256((const __m256i *)words); }
static inline void put_chunk(void *words, __m256i chunk) { _mm256_storeu_si256((__m256i *)words, chunk); }
static inline __m256i join_chunk(__m128i low, __m128i high) { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }
static inline bool is_zero(__m256i chunk) { return _mm256_testz_si256(chunk, chunk); }

static inline __m128i pair_at(const uint32_t *words) { return _mm_loadl_epi64((const __m128i *)words); }

// An element, zeros above it.
template <class Word> static inline __m128i element_at(const uint8_t *host, uint32_t offset) {
    Word word;
    std::memcpy(&word, host + offset, sizeof(Word));
    return _mm_cvtsi32_si128((int)word);
}

template <> inline __m128i element_at<uint32_t>(const uint8_t *host, uint32_t offset) {
    return _mm_castps_si128(_mm_load_ss((const float *)(host + offset)));
}

template <class Word> static inline __m128i elements_at(const uint8_t *host, const uint32_t *offset) {
    return _mm_unpacklo_epi64(_mm_unpacklo_epi32(element_at<Word>(host, offset[0]), element_at<Word>(host, offset[1])),
                              _mm_unpacklo_epi32(element_at<Word>(host, offset[2]), element_at<Word>(host, offset[3])));
}

template <class Word> static inline __m256i chunk_at(const uint8_t *host, const uint32_t *offset) {
    return join_chunk(elements_at<Word>(host, offset), elements_at<Word>(host, offset + 4));
}

static inline __m128i pair_of_words(const uint8_t *host, uint32_t offset) { return _mm_loadl_epi64((const __m128i *)(host + offset)); }

static inline __m256i four_pairs(const uint8_t *host, uint32_t first, uint32_t second, uint32_t third, uint32_t fourth) {
    return join_chunk(_mm_unpacklo_epi64(pair_of_words(host, first), pair_of_words(host, second)),
                      _mm_unpacklo_epi64(pair_of_words(host, third), pair_of_words(host, fourth)));
}

// Neighbours along x lie side by side in memory two by two: those of the lanes 0 and 1, or 1 and 2, and so on, are loaded together.
template <> inline __m256i chunk_at<uint32_t>(const uint8_t *host, const uint32_t *offset) {
    const __m256i offsets = chunk_of(offset), next_lane = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    const __m256i beside = _mm256_cmpeq_epi32(_mm256_add_epi32(offsets, _mm256_set1_epi32(4)), _mm256_permutevar8x32_epi32(offsets, next_lane));
    const int lanes = _mm256_movemask_ps(_mm256_castsi256_ps(beside));
    if ((lanes & 0x55) == 0x55)
        return four_pairs(host, offset[0], offset[2], offset[4], offset[6]);
    if ((lanes & 0x2a) == 0x2a) {
        const __m128i first = element_at<uint32_t>(host, offset[0]), last = element_at<uint32_t>(host, offset[7]);
        const __m256i others = join_chunk(_mm_unpacklo_epi64(pair_of_words(host, offset[1]), pair_of_words(host, offset[3])),
                                          _mm_unpacklo_epi64(pair_of_words(host, offset[5]), last));
        const __m256i moved = _mm256_permutevar8x32_epi32(others, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
        return _mm256_blend_epi32(moved, _mm256_castsi128_si256(first), 1);
    }
    return join_chunk(elements_at<uint32_t>(host, offset), elements_at<uint32_t>(host, offset + 4));
}

// The entries that eight lanes name, and those that follow them.
struct Entries {
    __m256i first, second;
};

static inline Entries entries_at(const uint32_t *entry, __m256i indices) {
    alignas(32) int32_t index[image_chunk];
    __m128i low[2], high[2];
    _mm256_store_si256((__m256i *)index, indices);
    for (int half = 0; half < 2; ++half) {
        const int32_t *four = index + 4 * half;
        const __m128i left = _mm_unpacklo_epi32(pair_at(entry + four[0]), pair_at(entry + four[1]));
        const __m128i right = _mm_unpacklo_epi32(pair_at(entry + four[2]), pair_at(entry + four[3]));
        low[half] = _mm_unpacklo_epi64(left, right);
        high[half] = _mm_unpackhi_epi64(left, right);
    }
    return {join_chunk(low[0], low[1]), join_chunk(high[0], high[1])};
}

// The smaller of the first and the last lane, in all of them.
static inline __m256i least_end(__m256i index) {
    return _mm256_min_epi32(_mm256_broadcastd_epi32(_mm256_castsi256_si128(index)), _mm256_permutevar8x32_epi32(index, _mm256_set1_epi32(7)));
}

static inline Entries look_up_pairs(const uint32_t *entry, __m256i index) {
    const __m256i least = least_end(index), place = _mm256_sub_epi32(index, least);
    if (!_mm256_testz_si256(place, _mm256_set1_epi32(~7)))
        return entries_at(entry, index);
    const uint32_t *from = entry + _mm_cvtsi128_si32(_mm256_castsi256_si128(least));
    return {_mm256_permutevar8x32_epi32(chunk_of(from), place), _mm256_permutevar8x32_epi32(chunk_of(from + 1), place)};
}

static inline __m256i look_up(const uint32_t *entry, __m256i index) {
    const __m256i least = least_end(index), place = _mm256_sub_epi32(index, least);
    if (!_mm256_testz_si256(place, _mm256_set1_epi32(~7)))
        return entries_at(entry, index).first;
    return _mm256_permutevar8x32_epi32(chunk_of(entry + _mm_cvtsi128_si32(_mm256_castsi256_si128(least))), place);
}

// Elements at the second neighbours along x of eight lanes whose first ones have been loaded.
template <class Word> static inline __m256i chunk_beside(const uint8_t *host, const uint32_t *offset, __m256i words, const uint32_t *second) {
    const __m256i next_lane = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    const __m256i same = _mm256_cmpeq_epi32(_mm256_permutevar8x32_epi32(chunk_of(offset), next_lane), chunk_of(second));
    if ((~_mm256_movemask_ps(_mm256_castsi256_ps(same)) & 0x7f) != 0)
        return chunk_at<Word>(host, second);
    const __m256i last = _mm256_broadcastd_epi32(element_at<Word>(host, second[7]));
    return _mm256_blend_epi32(_mm256_permutevar8x32_epi32(words, next_lane), last, 0x80);
}

// Elements around the places of eight lanes in a slice: left and right, upper and lower. Chunks are loaded from the last to the first: what lies below one
// may be what lies at the next, which is still there. (Always inline: a structure that is handed over goes through memory in parts, and is waited for.)
struct Corners {
    __m256i left, right, lower_left, lower_right;
};

template <class Word>
__attribute__((always_inline)) static inline void load_corners_at(const uint8_t *host, const uint32_t (*offset)[image_row], int lane, Corners &found) {
    bool below_is_next = false;
    if (lane + image_chunk < image_row) {
        const __m256i left = _mm256_xor_si256(chunk_of(offset[2] + lane), chunk_of(offset[0] + lane + image_chunk));
        const __m256i right = _mm256_xor_si256(chunk_of(offset[3] + lane), chunk_of(offset[1] + lane + image_chunk));
        below_is_next = is_zero(_mm256_or_si256(left, right));
    }
    if (below_is_next) {
        found.lower_left = found.left;
        found.lower_right = found.right;
    } else {
        found.lower_left = chunk_at<Word>(host, offset[2] + lane);
        found.lower_right = chunk_beside<Word>(host, offset[2] + lane, found.lower_left, offset[3] + lane);
    }
    found.left = chunk_at<Word>(host, offset[0] + lane);
    found.right = chunk_beside<Word>(host, offset[0] + lane, found.left, offset[1] + lane);
}

// Elements of a row, by offset.
template <class Word> static inline void load_elements(const uint8_t *host, const uint32_t *offset, uint32_t *words) {
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk)
        put_chunk(words + lane, chunk_at<Word>(host, offset + lane));
}

// Elements of the corners of a slice, as rows `stride` dwords apart.
template <class Word>
static inline void load_corner_elements(const uint8_t *host, const uint32_t (*offset)[image_row], uint32_t *words, unsigned stride) {
    Corners found = {};
#pragma GCC unroll 1
    for (int lane = image_row - image_chunk; lane >= 0; lane -= image_chunk) {
        load_corners_at<Word>(host, offset, lane, found);
        put_chunk(words + lane, found.left);
        put_chunk(words + stride + lane, found.right);
        put_chunk(words + 2 * stride + lane, found.lower_left);
        put_chunk(words + 3 * stride + lane, found.lower_right);
    }
}
#else
// For the compiler, and for what only makes the tables: hosts without such vectors have no steps.
template <class Word> static inline void load_elements(const uint8_t *, const uint32_t *, uint32_t *) {}
template <class Word> static inline void load_corner_elements(const uint8_t *, const uint32_t (*)[image_row], uint32_t *, unsigned) {}
#endif

// A dword of elements of `bytes` bytes.
static inline void load_words(const uint8_t *host, const uint32_t *offset, unsigned bytes, unsigned dword, uint32_t *words) {
    if (bytes == 1)
        load_elements<uint8_t>(host, offset, words);
    else if (bytes == 2)
        load_elements<uint16_t>(host, offset, words);
    else
        load_elements<uint32_t>(host + 4 * dword, offset, words);
}

// The same for the corners around each lane's place in one slice or two: bit 0 for x, bit 1 for y, bit 2 for z.
static inline void load_corners(const uint8_t *host, const uint32_t (*offset)[image_row], unsigned bytes, unsigned dword, unsigned slices,
                                uint32_t *words, unsigned stride) {
    for (unsigned slice = 0; slice < slices; ++slice, offset += 4, words += 4 * stride) {
        if (bytes == 1)
            load_corner_elements<uint8_t>(host, offset, words, stride);
        else if (bytes == 2)
            load_corner_elements<uint16_t>(host, offset, words, stride);
        else
            load_corner_elements<uint32_t>(host + 4 * dword, offset, words, stride);
    }
}

template <class Word> static inline void store_elements(uint8_t *host, const uint32_t *offset, uint32_t lanes, const uint32_t *words) {
    if (lanes == 0xffffffff) {
#pragma GCC unroll 8
        for (int lane = 0; lane < image_row; ++lane) {
            const Word word = (Word)words[lane];
            std::memcpy(host + offset[lane], &word, sizeof(Word));
        }
        return;
    }
    for (; lanes; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        const Word word = (Word)words[lane];
        std::memcpy(host + offset[lane], &word, sizeof(Word));
    }
}

// Elements of one, two or four bytes of some lanes, in the order of the lanes.
static inline void store_words(uint8_t *host, const uint32_t *offset, unsigned bytes, uint32_t lanes, const uint32_t *words) {
    if (bytes == 1)
        store_elements<uint8_t>(host, offset, lanes, words);
    else if (bytes == 2)
        store_elements<uint16_t>(host, offset, lanes, words);
    else
        store_elements<uint32_t>(host, offset, lanes, words);
}
