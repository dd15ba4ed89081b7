// Look-ups for rows of 32 lanes, eight at a time: entries of tables by index, elements by offset.
//
// Lanes that are neighbours mostly want neighbours: where the indices of eight lanes lie within eight of each other, whatever their order, one load and a
// permutation serve them all, and what one lane finds beside its texel may be what the next lane found at its own. Other lanes are loaded one by one, and put
// together in registers: a vector that is read from where eight lanes have just been written would wait for them. Gathers of the host are not used: they
// are no faster, and slow on hosts that are guarded against data sampling.
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

static inline __m128i pair_at(const uint32_t *words) { return _mm_loadl_epi64((const __m128i *)words); }

static inline __m128i dword_at(const uint8_t *host, uint32_t offset) { return _mm_castps_si128(_mm_load_ss((const float *)(host + offset))); }

static inline __m128i dwords_at(const uint8_t *host, const uint32_t *offset) {
    return _mm_unpacklo_epi64(_mm_unpacklo_epi32(dword_at(host, offset[0]), dword_at(host, offset[1])),
                              _mm_unpacklo_epi32(dword_at(host, offset[2]), dword_at(host, offset[3])));
}

static inline __m256i chunk_at(const uint8_t *host, const uint32_t *offset) {
    return join_chunk(dwords_at(host, offset), dwords_at(host, offset + 4));
}

// The entries that eight lanes name, and those that follow them.
static inline void entries_at(const uint32_t *entry, const int32_t *index, __m256i &first, __m256i &second) {
    __m128i low[2], high[2];
    for (int half = 0; half < 2; ++half, index += 4) {
        const __m128i left = _mm_unpacklo_epi32(pair_at(entry + index[0]), pair_at(entry + index[1]));
        const __m128i right = _mm_unpacklo_epi32(pair_at(entry + index[2]), pair_at(entry + index[3]));
        low[half] = _mm_unpacklo_epi64(left, right);
        high[half] = _mm_unpackhi_epi64(left, right);
    }
    first = join_chunk(low[0], low[1]);
    second = join_chunk(high[0], high[1]);
}

// Entries by index, and those that follow them; returns all bits that any of them has.
static inline uint32_t look_up_pairs(const uint32_t *entry, const int32_t *index, uint32_t *first, uint32_t *second) {
    __m256i any = _mm256_setzero_si256();
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        const int32_t least = index[lane] < index[lane + 7] ? index[lane] : index[lane + 7];
        const __m256i place = _mm256_sub_epi32(chunk_of(index + lane), _mm256_set1_epi32(least));
        __m256i here, next;
        if (_mm256_testz_si256(place, _mm256_set1_epi32(~7))) {
            here = _mm256_permutevar8x32_epi32(chunk_of(entry + least), place);
            next = _mm256_permutevar8x32_epi32(chunk_of(entry + least + 1), place);
        } else {
            entries_at(entry, index + lane, here, next);
        }
        put_chunk(first + lane, here);
        put_chunk(second + lane, next);
        any = _mm256_or_si256(any, _mm256_or_si256(here, next));
    }
    const __m128i half = _mm_or_si128(_mm256_castsi256_si128(any), _mm256_extracti128_si256(any, 1));
    const uint64_t both = (uint64_t)_mm_cvtsi128_si64(half) | (uint64_t)_mm_extract_epi64(half, 1);
    return (uint32_t)both | (uint32_t)(both >> 32);
}

// Entries by index.
static inline void look_up(const uint32_t *entry, const int32_t *index, uint32_t *found) {
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        const int32_t least = index[lane] < index[lane + 7] ? index[lane] : index[lane + 7];
        const __m256i place = _mm256_sub_epi32(chunk_of(index + lane), _mm256_set1_epi32(least));
        __m256i here, next;
        if (_mm256_testz_si256(place, _mm256_set1_epi32(~7)))
            here = _mm256_permutevar8x32_epi32(chunk_of(entry + least), place);
        else
            entries_at(entry, index + lane, here, next);
        put_chunk(found + lane, here);
    }
}

static inline void load_dwords(const uint8_t *host, const uint32_t *offset, uint32_t *words) {
    for (int lane = 0; lane < image_row; lane += image_chunk)
        put_chunk(words + lane, chunk_at(host, offset + lane));
}

// Dwords at the second neighbours along x of lanes whose first ones have been loaded.
static inline void load_beside(const uint8_t *host, const uint32_t *offset, const uint32_t *words, const uint32_t *second, uint32_t *beside) {
    const __m256i next_lane = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        const __m256i next = _mm256_permutevar8x32_epi32(chunk_of(offset + lane), next_lane);
        const __m256i same = _mm256_cmpeq_epi32(next, chunk_of(second + lane));
        if ((~_mm256_movemask_ps(_mm256_castsi256_ps(same)) & 0x7f) != 0) {
            put_chunk(beside + lane, chunk_at(host, second + lane));
            continue;
        }
        int32_t last;
        std::memcpy(&last, host + second[lane + 7], 4);
        const __m256i moved = _mm256_permutevar8x32_epi32(chunk_of(words + lane), next_lane);
        put_chunk(beside + lane, _mm256_blend_epi32(moved, _mm256_set1_epi32(last), 0x80));
    }
}

// Dwords at the second neighbours along y: the next eight lanes may have them.
static inline void load_below(const uint8_t *host, const uint32_t *offset, const uint32_t *words, const uint32_t *second, uint32_t *below) {
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        const int next = (lane + image_chunk) % image_row;
        const __m256i differs = _mm256_xor_si256(chunk_of(second + lane), chunk_of(offset + next));
        put_chunk(below + lane, _mm256_testz_si256(differs, differs) ? chunk_of(words + next) : chunk_at(host, second + lane));
    }
}
#else
// For the compiler, and for what only makes the tables: hosts without such vectors have no steps.
static inline void load_dwords(const uint8_t *host, const uint32_t *offset, uint32_t *words) {
    for (int lane = 0; lane < image_row; ++lane)
        std::memcpy(words + lane, host + offset[lane], 4);
}

static inline void look_up(const uint32_t *entry, const int32_t *index, uint32_t *found) {
    for (int lane = 0; lane < image_row; ++lane)
        found[lane] = entry[index[lane]];
}

static inline uint32_t look_up_pairs(const uint32_t *entry, const int32_t *index, uint32_t *first, uint32_t *second) {
    uint32_t any = 0;
    look_up(entry, index, first);
    look_up(entry + 1, index, second);
    for (int lane = 0; lane < image_row; ++lane)
        any |= first[lane] | second[lane];
    return any;
}

static inline void load_beside(const uint8_t *host, const uint32_t *, const uint32_t *, const uint32_t *second, uint32_t *beside) {
    load_dwords(host, second, beside);
}

static inline void load_below(const uint8_t *host, const uint32_t *, const uint32_t *, const uint32_t *second, uint32_t *below) {
    load_dwords(host, second, below);
}
#endif

// Elements of one or two bytes.
template <class Word> static inline void load_small(const uint8_t *host, const uint32_t *offset, uint32_t *words) {
    for (int lane = 0; lane < image_row; ++lane) {
        Word word;
        std::memcpy(&word, host + offset[lane], sizeof(Word));
        uint32_t wide = word;
#if defined(__GNUC__)
        __asm__("" : "+r"(wide));     // or the compiler would take vectors apart and put others together for these loads
#endif
        words[lane] = wide;
    }
}

// A dword of elements of `bytes` bytes.
static inline void load_words(const uint8_t *host, const uint32_t *offset, unsigned bytes, unsigned dword, uint32_t *words) {
    if (bytes == 1)
        load_small<uint8_t>(host, offset, words);
    else if (bytes == 2)
        load_small<uint16_t>(host, offset, words);
    else
        load_dwords(host + 4 * dword, offset, words);
}

// The same for the corners around each lane's place, by number: bit 0 for x, bit 1 for y, bit 2 for z. `words` are rows `stride` dwords apart.
static inline void load_corners(const uint8_t *host, const uint32_t (*offset)[image_row], unsigned bytes, unsigned dword, unsigned axes,
                                uint32_t *words, unsigned stride) {
    for (unsigned corner = 0; corner < 1u << axes; corner += 2, words += 2 * stride) {
        if (bytes < 4) {
            load_words(host, offset[corner], bytes, dword, words);
            load_words(host, offset[corner + 1], bytes, dword, words + stride);
            continue;
        }
        const uint8_t *from = host + 4 * dword;
        if (corner & 2)
            load_below(from, offset[corner - 2], words - 2 * stride, offset[corner], words);
        else
            load_dwords(from, offset[corner], words);
        load_beside(from, offset[corner], words, offset[corner + 1], words + stride);
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
