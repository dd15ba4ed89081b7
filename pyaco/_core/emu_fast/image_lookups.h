// Look-ups for rows of 32 lanes, eight at a time: entries of tables by index, elements by offset.
//
// Lanes that are neighbours mostly want neighbours: where the indices of eight lanes lie within eight of each other, whatever their order, one load and a
// permutation serve them all, and what one lane finds beside its texel may be what the next lane found at its own. Other lanes are loaded one by one, and put
// together in registers: a vector that is read from where eight lanes have just been written would wait for them. Gathers of the host are used where they
// are fast. Loops over chunks are not unrolled: the compiler would move all their loads
// to the beginning, and run out of registers.
#pragma once
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__)
#include <cpuid.h>
#endif

enum { image_row = 32, image_chunk = 8, image_corners = 8 };

// Dwords behind a table that a look-up may read.
enum { image_table_margin = image_chunk };

#if defined(__AVX2__)
static inline __m256i chunk_of(const void *words) { return _mm256_loadu_si256((const __m256i *)words); }
static inline void put_chunk(void *words, __m256i chunk) { _mm256_storeu_si256((__m256i *)words, chunk); }
static inline __m256i join_chunk(__m128i low, __m128i high) { return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1); }
static inline bool is_zero(__m256i chunk) { return _mm256_testz_si256(chunk, chunk); }

// Whether the host's gathers are faster than loads of single lanes. Those of hosts that have half floats in vectors are; older ones may be guarded against
// data sampling (Intel, "Gather Data Sampling"), and Zen 4 takes half as long again.
#if defined(__AVX512F__)
static inline bool has_fast_gathers() {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 23 & 1);       // AVX512_FP16
}

static const bool fast_gathers = has_fast_gathers();
#else
static const bool fast_gathers = false;
#endif

// Whether eight words, and four others if there are any, are those that follow each other at `kept`.
static inline bool has_words(const uint32_t *kept, const uint32_t *eight, const uint32_t *four) {
    const __m256i differs = _mm256_xor_si256(chunk_of(kept), chunk_of(eight));
    if (!four)
        return is_zero(differs);
    const __m128i others = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(kept + 8)), _mm_loadu_si128((const __m128i *)four));
    return is_zero(_mm256_or_si256(differs, _mm256_zextsi128_si256(others)));
}

static inline __m256i everywhere(const void *word) { return _mm256_castps_si256(_mm256_broadcast_ss((const float *)word)); }

// Eight words: loads that fill a vector, and blends, which any of the host's vector units does, unlike shuffles. Offsets come by two, as loads are what
// the host does least of at a time.
#if defined(__AVX512F__)
static inline __m128 word_by(const uint8_t *host, uint64_t offset) { return _mm_load_ss((const float *)(host + offset)); }

// Four of them, in both halves: blended as they are loaded.
__attribute__((always_inline)) static inline __m256 four_words_at(const uint8_t *host, const uint32_t *offset) {
    uint64_t first, second;
    std::memcpy(&first, offset, sizeof(first));
    std::memcpy(&second, offset + 2, sizeof(second));
    __asm__("" : "+r"(first), "+r"(second));      // or the compiler would load the second of each by itself
    const __m256 one = _mm256_broadcastss_ps(word_by(host, (uint32_t)first)), two = _mm256_mask_broadcastss_ps(one, 0x22, word_by(host, first >> 32));
    return _mm256_mask_broadcastss_ps(_mm256_mask_broadcastss_ps(two, 0x44, word_by(host, (uint32_t)second)), 0x88, word_by(host, second >> 32));
}

__attribute__((always_inline)) static inline __m256i words_at(const uint8_t *host, const uint32_t *offset) {
    return _mm256_castps_si256(_mm256_blend_ps(four_words_at(host, offset), four_words_at(host, offset + 4), 0xf0));
}
#else
__attribute__((always_inline)) static inline __m256i words_at(const uint8_t *host, const uint32_t *offset) {
    __m256i word[image_chunk];
#pragma GCC unroll 4
    for (int lane = 0; lane < image_chunk; lane += 2) {
        uint64_t two;
        std::memcpy(&two, offset + lane, sizeof(two));
        __asm__("" : "+r"(two));      // or the compiler would load the second one by itself
        word[lane] = everywhere(host + (uint32_t)two);
        word[lane + 1] = everywhere(host + (two >> 32));
    }
    const __m256i first = _mm256_blend_epi32(_mm256_blend_epi32(word[0], word[1], 0xaa), _mm256_blend_epi32(word[2], word[3], 0xaa), 0xcc);
    const __m256i second = _mm256_blend_epi32(_mm256_blend_epi32(word[4], word[5], 0xaa), _mm256_blend_epi32(word[6], word[7], 0xaa), 0xcc);
    return _mm256_blend_epi32(first, second, 0xf0);
}
#endif

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

static inline __m256i pair_everywhere(const void *words) { return _mm256_castpd_si256(_mm256_broadcast_sd((const double *)words)); }

static inline __m256i join_pairs(const void *first, const void *second, const void *third, const void *fourth) {
    return _mm256_blend_epi32(_mm256_blend_epi32(pair_everywhere(first), pair_everywhere(second), 0xcc),
                              _mm256_blend_epi32(pair_everywhere(third), pair_everywhere(fourth), 0xcc), 0xf0);
}

static inline __m256i four_pairs(const uint8_t *host, uint32_t first, uint32_t second, uint32_t third, uint32_t fourth) {
    return join_pairs(host + first, host + second, host + third, host + fourth);
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
    return words_at(host, offset);
}

// The entries that eight lanes name, and those that follow them.
struct Entries {
    __m256i first, second;
};

__attribute__((noinline)) static Entries entries_at(const uint32_t *entry, __m256i indices) {
    alignas(32) int32_t index[image_chunk];
    _mm256_store_si256((__m256i *)index, indices);
    const __m256i outer = join_pairs(entry + index[0], entry + index[1], entry + index[4], entry + index[5]);
    const __m256i inner = join_pairs(entry + index[2], entry + index[3], entry + index[6], entry + index[7]);
    const __m256 first = _mm256_shuffle_ps(_mm256_castsi256_ps(outer), _mm256_castsi256_ps(inner), 0x88);
    return {_mm256_castps_si256(first), _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(outer), _mm256_castsi256_ps(inner), 0xdd))};
}

// The smaller of the first and the last lane, in all of them.
static inline __m256i least_end(__m256i index) {
    return _mm256_min_epi32(_mm256_broadcastd_epi32(_mm256_castsi256_si128(index)), _mm256_permutevar8x32_epi32(index, _mm256_set1_epi32(7)));
}

__attribute__((always_inline)) static inline Entries look_up_pairs(const uint32_t *entry, __m256i index) {
    const __m256i least = least_end(index), place = _mm256_sub_epi32(index, least);
    if (!_mm256_testz_si256(place, _mm256_set1_epi32(~7)))
        return entries_at(entry, index);
    const uint32_t *from = entry + _mm_cvtsi128_si32(_mm256_castsi256_si128(least));
    return {_mm256_permutevar8x32_epi32(chunk_of(from), place), _mm256_permutevar8x32_epi32(chunk_of(from + 1), place)};
}

__attribute__((always_inline)) static inline __m256i look_up(const uint32_t *entry, __m256i index) {
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
__attribute__((always_inline)) static inline void load_corners_at(const uint8_t *host, const uint32_t (*offset)[image_row], int lanes, int lane,
                                                                  Corners &found) {
    bool below_is_next = false;
    if (lane + image_chunk < lanes) {
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

// Elements by offset, eight lanes at a time.
template <class Word> struct PlacedElements {
    const uint8_t *host;
    const uint32_t *offset;

    __m256i at(int lane) const { return chunk_at<Word>(host, offset + lane); }
};

// Those of the corners of a slice, for the first lanes; chunks are asked for from the last to the first.
template <class Word> struct PlacedCorners {
    const uint8_t *host;
    const uint32_t (*offset)[image_row];
    int lanes;

    __attribute__((always_inline)) void load(int lane, Corners &found) const { load_corners_at<Word>(host, offset, lanes, lane, found); }
};

template <class Elements> static inline void load_elements(const Elements &elements, uint32_t *words) {
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk)
        put_chunk(words + lane, elements.at(lane));
}

// Elements of the corners of a slice, as rows `stride` dwords apart.
template <class Source> static inline void load_corner_elements(const Source &source, int lanes, uint32_t *words, unsigned stride) {
    Corners found = {};
#pragma GCC unroll 1
    for (int lane = lanes - image_chunk; lane >= 0; lane -= image_chunk) {
        source.load(lane, found);
        put_chunk(words + lane, found.left);
        put_chunk(words + stride + lane, found.right);
        put_chunk(words + 2 * stride + lane, found.lower_left);
        put_chunk(words + 3 * stride + lane, found.lower_right);
    }
}
#else
// For the compiler, and for what only makes the tables: hosts without such vectors have no steps.
static const bool fast_gathers = false;
static inline bool has_words(const uint32_t *, const uint32_t *, const uint32_t *) { return false; }
struct Corners {};
template <class Word> struct PlacedElements {
    const uint8_t *host;
    const uint32_t *offset;
};
template <class Word> struct PlacedCorners {
    const uint8_t *host;
    const uint32_t (*offset)[image_row];
    int lanes;
};
template <class Elements> static inline void load_elements(const Elements &, uint32_t *) {}
template <class Source> static inline void load_corner_elements(const Source &, int, uint32_t *, unsigned) {}
#endif

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
