// Vector code for a row of 32 lanes that the compiler does not find by itself, and the control word of the host's vector unit.
#pragma once
#include <cstdint>
#include <cstring>

// Steps are compiled without other inlining: a form for rare cases must not make the usual one save the registers that it needs.
#define ALWAYS_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#include <immintrin.h>

static ALWAYS_INLINE unsigned host_control(void) { return _mm_getcsr(); }
static ALWAYS_INLINE void set_host_control(unsigned value) { _mm_setcsr(value); }
#else
static ALWAYS_INLINE unsigned host_control(void) { return 0; }
static ALWAYS_INLINE void set_host_control(unsigned value) { (void)value; }
#endif

// A row of 32 lanes, copied in parts that the compiler keeps in registers: memcpy of a row that has just been computed would go through memory.
#if defined(__AVX512F__)
typedef uint32_t row_part __attribute__((vector_size(64), aligned(4), may_alias));
#else
typedef uint32_t row_part __attribute__((vector_size(32), aligned(4), may_alias));
#endif

static ALWAYS_INLINE void copy_row(uint32_t *to, const uint32_t *from) {
    for (unsigned part = 0; part < 128 / sizeof(row_part); ++part)
        reinterpret_cast<row_part *>(to)[part] = reinterpret_cast<const row_part *>(from)[part];
}

// The source of an operation on singles. Modules for the wider vectors leave it to the host to take denormals for zeros; others cannot ask for that, or
// would have their results flushed as well, before they are rounded.
#if defined(__AVX2__)
static ALWAYS_INLINE uint32_t host_source(uint32_t value, uint32_t) { return value; }
#else
static ALWAYS_INLINE uint32_t host_source(uint32_t value, uint32_t keep) {
    return value & (0x80000000u | keep | (value & 0x7f800000 ? 0xffffffffu : 0));
}
#endif

// Two dwords, each loaded by itself: the host hands on what was stored as a dword to a load of that dword, but makes a load of both wait until the stores
// have reached its cache, and EXEC is read right after it is written.
static ALWAYS_INLINE uint64_t load_pair(const uint32_t *pair) {
    const volatile uint32_t *each = pair;
    const uint32_t low = each[0];
    return low | (uint64_t)each[1] << 32;
}

static ALWAYS_INLINE void store_pair(uint32_t *pair, uint64_t value) { memcpy(pair, &value, sizeof(value)); }

static ALWAYS_INLINE uint64_t load_again(const uint64_t *value) { return *(const volatile uint64_t *)value; }

// The pattern of the addresses of 16 lanes: consecutive dwords, all the same, or any other. Those that wrap at 2^32 are not consecutive.
enum { chunk_any = 0, chunk_sequence = 1, chunk_same = 2 };

static ALWAYS_INLINE int sequence_from(uint32_t first) { return first <= 0xffffffffu - 60 ? chunk_sequence : chunk_any; }

static ALWAYS_INLINE bool row_has_nan16(const uint32_t *values) {
    uint32_t found = 0;
    for (int lane = 0; lane < 32; ++lane)
        found |= (values[lane] & 0x7fff) > 0x7c00 ? 1 : 0;
    return found != 0;
}

static ALWAYS_INLINE bool row_has_nan64(const uint64_t *values) {
    uint64_t found = 0;
    for (int lane = 0; lane < 32; ++lane)
        found |= (values[lane] & 0x7fffffffffffffff) > 0x7ff0000000000000 ? 1 : 0;
    return found != 0;
}

// halves_to_singles: 16 bits of every lane, from bit `shift` on. gather_row: `row` by index; an index of all ones reads any lane.
#if defined(__AVX512F__)
static ALWAYS_INLINE void halves_to_singles(const uint32_t *row, uint32_t shift, float *singles) {
    for (int lane = 0; lane < 32; lane += 16) {
        __m512i words = _mm512_srl_epi32(_mm512_loadu_si512(row + lane), _mm_cvtsi32_si128((int)shift));
        _mm512_storeu_ps(singles + lane, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)));
    }
}

static ALWAYS_INLINE void singles_to_halves(const float *singles, uint32_t *row) {
    for (int lane = 0; lane < 32; lane += 16) {
        __m256i halves = _mm512_cvtps_ph(_mm512_loadu_ps(singles + lane), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm512_storeu_si512(row + lane, _mm512_cvtepu16_epi32(halves));
    }
}

static ALWAYS_INLINE void gather_row(const uint32_t *row, const uint32_t *index, uint32_t *values) {
    // permutations, because gathers are slow on hosts that are guarded against data sampling
    __m512i first = _mm512_loadu_si512(row), second = _mm512_loadu_si512(row + 16);
    __m512i third = _mm512_loadu_si512(row + 32), fourth = _mm512_loadu_si512(row + 48);
    __m512i low[2], high[2];
    __mmask16 upper[2];
    for (int part = 0; part < 2; ++part) {
        __m512i indices = _mm512_loadu_si512(index + 16 * part);
        upper[part] = _mm512_test_epi32_mask(indices, _mm512_set1_epi32(32));
        low[part] = _mm512_permutex2var_epi32(first, indices, second);
        high[part] = _mm512_permutex2var_epi32(third, indices, fourth);
    }
    for (int part = 0; part < 2; ++part)
        _mm512_storeu_si512(values + 16 * part, _mm512_mask_blend_epi32(upper[part], low[part], high[part]));
}

static ALWAYS_INLINE int chunk_kind(const uint32_t *offset) {
    __m512i first = _mm512_set1_epi32((int)offset[0]), all = _mm512_loadu_si512(offset);
    __m512i indices = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);
    if (_mm512_cmpneq_epi32_mask(all, _mm512_add_epi32(first, indices)) == 0)
        return sequence_from(offset[0]);
    return _mm512_cmpneq_epi32_mask(all, first) == 0 ? chunk_same : chunk_any;
}

static ALWAYS_INLINE void chunk_bounds(const uint32_t *offset, uint32_t *lowest, uint32_t *highest) {
    const __m512i all = _mm512_loadu_si512(offset);
    *lowest = _mm512_reduce_min_epu32(all);
    *highest = _mm512_reduce_max_epu32(all);
}

static ALWAYS_INLINE bool row_has_nan(const uint32_t *values) {
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(values), _mm512_loadu_ps(values + 16), _CMP_UNORD_Q) != 0;
}

static ALWAYS_INLINE void flush_singles(const uint32_t *values, uint32_t *flushed) {
    __m512 one = _mm512_set1_ps(1.0f);
    __asm__("" : "+v"(one));
    for (int lane = 0; lane < 32; lane += 16)
        _mm512_storeu_ps(flushed + lane, _mm512_mul_ps(_mm512_loadu_ps(values + lane), one));
}

static ALWAYS_INLINE uint32_t chunk_nans(const uint32_t *values) {
    __m512 all = _mm512_loadu_ps(values);
    return _mm512_cmp_ps_mask(all, all, _CMP_UNORD_Q);
}

static ALWAYS_INLINE uint32_t row_nans(const uint32_t *values) { return chunk_nans(values) | chunk_nans(values + 16) << 16; }

// What a row keeps is loaded and stored again: the host hands on what a store has written to the next load of it, but not from a store under a mask, which
// the compiler would make of this if it saw where the words come from.
static ALWAYS_INLINE __m512i loaded_words(const uint32_t *row) {
    __m512i words = _mm512_loadu_si512(row);
    __asm__("" : "+v"(words));
    return words;
}

static ALWAYS_INLINE void put_lanes(uint32_t *row, const uint32_t *values, uint32_t bits, const uint32_t *) {
    _mm512_storeu_si512(row, _mm512_mask_blend_epi32((__mmask16)bits, loaded_words(row), _mm512_loadu_si512(values)));
}

static ALWAYS_INLINE void put_lane(uint32_t *row, uint32_t lane, uint32_t value) {
    _mm512_storeu_si512(row, _mm512_mask_set1_epi32(loaded_words(row), (__mmask16)(1u << lane), (int)value));
}

static ALWAYS_INLINE void spread_bits(uint64_t bits, uint32_t *lanes) {
    for (int lane = 0; lane < 64; lane += 16)
        _mm512_storeu_si512(lanes + lane, _mm512_maskz_set1_epi32((__mmask16)(bits >> lane), -1));
}

static ALWAYS_INLINE uint32_t row_low_bits(const uint32_t *values) {
    __m512i one = _mm512_set1_epi32(1);
    return _mm512_test_epi32_mask(_mm512_loadu_si512(values), one)
         | (uint32_t)_mm512_test_epi32_mask(_mm512_loadu_si512(values + 16), one) << 16;
}
#elif defined(__AVX2__)
static ALWAYS_INLINE void halves_to_singles(const uint32_t *row, uint32_t shift, float *singles) {
    for (int lane = 0; lane < 32; lane += 8) {
        __m256i words = _mm256_srl_epi32(_mm256_loadu_si256((const __m256i *)(row + lane)), _mm_cvtsi32_si128((int)shift));
        words = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
        words = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08);
        _mm256_storeu_ps(singles + lane, _mm256_cvtph_ps(_mm256_castsi256_si128(words)));
    }
}

static ALWAYS_INLINE void singles_to_halves(const float *singles, uint32_t *row) {
    for (int lane = 0; lane < 32; lane += 8) {
        __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(singles + lane), _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_si256((__m256i *)(row + lane), _mm256_cvtepu16_epi32(halves));
    }
}

static ALWAYS_INLINE void gather_row(const uint32_t *row, const uint32_t *index, uint32_t *values) {
    for (int lane = 0; lane < 32; ++lane)
        values[lane] = row[index[lane] & 63];
}

static ALWAYS_INLINE int chunk_kind(const uint32_t *offset) {
    __m256i first = _mm256_set1_epi32((int)offset[0]);
    __m256i low = _mm256_loadu_si256((const __m256i *)offset), high = _mm256_loadu_si256((const __m256i *)(offset + 8));
    __m256i low_indices = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28), high_indices = _mm256_setr_epi32(32, 36, 40, 44, 48, 52, 56, 60);
    __m256i differs = _mm256_or_si256(_mm256_xor_si256(low, _mm256_add_epi32(first, low_indices)),
                                      _mm256_xor_si256(high, _mm256_add_epi32(first, high_indices)));
    if (_mm256_testz_si256(differs, differs))
        return sequence_from(offset[0]);
    differs = _mm256_or_si256(_mm256_xor_si256(low, first), _mm256_xor_si256(high, first));
    return _mm256_testz_si256(differs, differs) ? chunk_same : chunk_any;
}

static ALWAYS_INLINE void chunk_bounds(const uint32_t *offset, uint32_t *lowest, uint32_t *highest) {
    const __m256i low = _mm256_loadu_si256((const __m256i *)offset), high = _mm256_loadu_si256((const __m256i *)(offset + 8));
    const __m256i least = _mm256_min_epu32(low, high), most = _mm256_max_epu32(low, high);
    __m128i four_least = _mm_min_epu32(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
    __m128i four_most = _mm_max_epu32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    four_least = _mm_min_epu32(four_least, _mm_shuffle_epi32(four_least, 0x4e));
    four_most = _mm_max_epu32(four_most, _mm_shuffle_epi32(four_most, 0x4e));
    *lowest = (uint32_t)_mm_cvtsi128_si32(_mm_min_epu32(four_least, _mm_shuffle_epi32(four_least, 0xb1)));
    *highest = (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(four_most, _mm_shuffle_epi32(four_most, 0xb1)));
}

static ALWAYS_INLINE bool row_has_nan(const uint32_t *values) {
    const float *singles = (const float *)values;          // a comparison finds the NaNs of two vectors
    const __m256 low = _mm256_cmp_ps(_mm256_loadu_ps(singles), _mm256_loadu_ps(singles + 8), _CMP_UNORD_Q);
    const __m256 high = _mm256_cmp_ps(_mm256_loadu_ps(singles + 16), _mm256_loadu_ps(singles + 24), _CMP_UNORD_Q);
    return _mm256_movemask_ps(_mm256_or_ps(low, high)) != 0;
}

// Singles, denormals as zeros of their sign: only while the host takes them for zeros.
static ALWAYS_INLINE void flush_singles(const uint32_t *values, uint32_t *flushed) {
    __m256 one = _mm256_set1_ps(1.0f);
    __asm__("" : "+x"(one));          // or the compiler would take the product for its factor
    for (int lane = 0; lane < 32; lane += 8)
        _mm256_storeu_ps((float *)flushed + lane, _mm256_mul_ps(_mm256_loadu_ps((const float *)values + lane), one));
}

static ALWAYS_INLINE uint32_t chunk_nans(const uint32_t *values) {
    const float *singles = (const float *)values;
    const __m256 low = _mm256_loadu_ps(singles), high = _mm256_loadu_ps(singles + 8);
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(low, low, _CMP_UNORD_Q))
         | (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(high, high, _CMP_UNORD_Q)) << 8;
}

static ALWAYS_INLINE uint32_t row_nans(const uint32_t *values) { return chunk_nans(values) | chunk_nans(values + 16) << 16; }

static ALWAYS_INLINE void put_lanes(uint32_t *row, const uint32_t *values, uint32_t, const uint32_t *mask) {
    for (int lane = 0; lane < 16; lane += 8) {
        __m256i written = _mm256_loadu_si256((const __m256i *)(mask + lane)), *kept = (__m256i *)(row + lane);
        _mm256_storeu_si256(kept, _mm256_blendv_epi8(_mm256_loadu_si256(kept), _mm256_loadu_si256((const __m256i *)(values + lane)), written));
    }
}

static ALWAYS_INLINE void put_lane(uint32_t *row, uint32_t lane, uint32_t value) {
    __m256i *const kept = (__m256i *)(row + (lane & 8));
    const __m256i own = _mm256_cmpeq_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)(lane & 7)));
    _mm256_storeu_si256(kept, _mm256_blendv_epi8(_mm256_loadu_si256(kept), _mm256_set1_epi32((int)value), own));
}

static ALWAYS_INLINE void spread_bits(uint64_t bits, uint32_t *lanes) {
    const __m256i own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (int lane = 0; lane < 64; lane += 8) {
        __m256i some = _mm256_and_si256(_mm256_set1_epi32((int)(bits >> lane)), own);
        _mm256_storeu_si256((__m256i *)(lanes + lane), _mm256_cmpeq_epi32(some, own));
    }
}

static ALWAYS_INLINE uint32_t row_low_bits(const uint32_t *values) {
    uint32_t mask = 0;
    for (int lane = 0; lane < 32; lane += 8) {
        __m256i some = _mm256_loadu_si256((const __m256i *)(values + lane));
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(some, 31))) << lane;
    }
    return mask;
}
#else
// Halves: the exponent is moved by a product, which is exact and makes the denormals normal.
static ALWAYS_INLINE void halves_to_singles(const uint32_t *row, uint32_t shift, float *singles) {
    for (int lane = 0; lane < 32; ++lane) {
        const uint32_t half = row[lane] >> shift, magnitude = half & 0x7fff;
        const uint32_t bits = magnitude << 13;
        float value;
        memcpy(&value, &bits, 4);
        value *= 0x1p112f;
        uint32_t scaled;
        memcpy(&scaled, &value, 4);
        const uint32_t special = bits | 0x7f800000 | (magnitude > 0x7c00 ? 0x400000 : 0);       // an infinity, or a NaN made quiet
        const uint32_t result = (magnitude >= 0x7c00 ? special : scaled) | (half & 0x8000) << 16;
        memcpy(singles + lane, &result, 4);
    }
}

// To nearest even. Below the normal halves the sum with one half has the fraction's bits where the half has them, rounded by the sum.
static ALWAYS_INLINE void singles_to_halves(const float *singles, uint32_t *row) {
    for (int lane = 0; lane < 32; ++lane) {
        uint32_t bits, sum;
        memcpy(&bits, singles + lane, 4);
        const uint32_t magnitude = bits & 0x7fffffff;
        float value;
        memcpy(&value, &magnitude, 4);
        value += 0.5f;
        memcpy(&sum, &value, 4);
        const uint32_t denormal = sum - 0x3f000000;
        const uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
        const uint32_t finite = magnitude < 0x38800000 ? denormal : magnitude < 0x477ff000 ? normal : 0x7c00;
        const uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
        row[lane] = (magnitude > 0x7f800000 ? nan : finite) | (bits >> 16 & 0x8000);
    }
}

static ALWAYS_INLINE void gather_row(const uint32_t *row, const uint32_t *index, uint32_t *values) {
    for (int lane = 0; lane < 32; ++lane)
        values[lane] = row[index[lane] & 63];
}

static ALWAYS_INLINE void flush_singles(const uint32_t *values, uint32_t *flushed) {
    for (int lane = 0; lane < 32; ++lane)
        flushed[lane] = host_source(values[lane], 0);
}

static ALWAYS_INLINE void spread_bits(uint64_t bits, uint32_t *lanes) {
    for (int lane = 0; lane < 64; ++lane)
        lanes[lane] = -(uint32_t)(bits >> lane & 1);
}

static ALWAYS_INLINE uint32_t row_nans(const uint32_t *values) {
    uint32_t nans = 0;
    for (int lane = 0; lane < 32; ++lane)
        nans |= (uint32_t)((values[lane] & 0x7fffffff) > 0x7f800000) << lane;
    return nans;
}

static ALWAYS_INLINE void put_lanes(uint32_t *row, const uint32_t *values, uint32_t, const uint32_t *mask) {
    for (int lane = 0; lane < 16; ++lane)
        row[lane] = (values[lane] & mask[lane]) | (row[lane] & ~mask[lane]);
}

static ALWAYS_INLINE void put_lane(uint32_t *row, uint32_t lane, uint32_t value) { row[lane] = value; }

static ALWAYS_INLINE int chunk_kind(const uint32_t *offset) {
    uint32_t differs = 0, moved = 0;
    for (uint32_t lane = 0; lane < 16; ++lane) {
        differs |= offset[lane] ^ (offset[0] + 4 * lane);
        moved |= offset[lane] ^ offset[0];
    }
    return differs == 0 ? sequence_from(offset[0]) : moved == 0 ? chunk_same : chunk_any;
}

static ALWAYS_INLINE void chunk_bounds(const uint32_t *offset, uint32_t *lowest, uint32_t *highest) {
    *lowest = *highest = offset[0];
    for (int lane = 1; lane < 16; ++lane) {
        *lowest = offset[lane] < *lowest ? offset[lane] : *lowest;
        *highest = offset[lane] > *highest ? offset[lane] : *highest;
    }
}

static ALWAYS_INLINE bool row_has_nan(const uint32_t *values) {
    uint32_t found = 0;
    for (int lane = 0; lane < 32; ++lane)
        found |= (values[lane] & 0x7fffffff) > 0x7f800000 ? 1 : 0;
    return found != 0;
}

static ALWAYS_INLINE uint32_t row_low_bits(const uint32_t *values) {
    uint32_t mask = 0;
    for (int lane = 0; lane < 32; ++lane)
        mask |= (values[lane] & 1) << lane;
    return mask;
}
#endif

// V_PERM_B32: bytes of the 64 bits of `high` and `low` by the four bytes of a selector, where none of these is 8 or more; else false.
#if defined(__AVX2__)
static ALWAYS_INLINE bool permute_row(const uint32_t *high, const uint32_t *low, const uint32_t *selectors, uint32_t *values) {
    const __m256i odd = _mm256_set1_epi64x(0x0808080800000000);                         // a lane of two begins at byte 8 of its 16
    const __m256i *h = (const __m256i *)high, *l = (const __m256i *)low, *s = (const __m256i *)selectors;
    __m256i all = _mm256_or_si256(_mm256_or_si256(_mm256_loadu_si256(s), _mm256_loadu_si256(s + 1)),
                                  _mm256_or_si256(_mm256_loadu_si256(s + 2), _mm256_loadu_si256(s + 3)));
    if (!_mm256_testz_si256(all, _mm256_set1_epi8((char)0xf8)))
        return false;
    for (int part = 0; part < 4; ++part) {
        __m256i first = _mm256_loadu_si256(l + part), second = _mm256_loadu_si256(h + part);
        __m256i places = _mm256_or_si256(_mm256_loadu_si256(s + part), odd);
        __m256i lower_lanes = _mm256_shuffle_epi8(_mm256_unpacklo_epi32(first, second), places);    // of lanes 0 and 1 of each four
        __m256i upper_lanes = _mm256_shuffle_epi8(_mm256_unpackhi_epi32(first, second), places);     // of lanes 2 and 3
        _mm256_storeu_si256((__m256i *)values + part, _mm256_blend_epi32(lower_lanes, upper_lanes, 0xcc));
    }
    return true;
}
#else
static ALWAYS_INLINE bool permute_row(const uint32_t *, const uint32_t *, const uint32_t *, uint32_t *) { return false; }
#endif

// Sums of singles; false where one is a NaN, which depends on the order of the operands.
static ALWAYS_INLINE bool add_sixteen(const uint32_t *a, const uint32_t *b, uint32_t *sums) {
    typedef float four_singles __attribute__((vector_size(16), aligned(4), may_alias));
    typedef int32_t four_words __attribute__((vector_size(16)));
    four_words nans = {};
    for (int lane = 0; lane < 16; lane += 4) {
        const four_singles sum = *(const four_singles *)(a + lane) + *(const four_singles *)(b + lane);
        nans |= (four_words)(sum != sum);
        *(four_singles *)(sums + lane) = sum;
    }
    return (nans[0] | nans[1] | nans[2] | nans[3]) == 0;
}

// Four dwords of each of 16 lanes, into rows of 64.
#if defined(__AVX2__)
static ALWAYS_INLINE void load_quads(const uint8_t *host, const uint32_t *offset, uint32_t *row) {
    for (int lane = 0; lane < 16; lane += 4) {
        __m128 a = _mm_loadu_ps((const float *)(host + offset[lane])), b = _mm_loadu_ps((const float *)(host + offset[lane + 1]));
        __m128 c = _mm_loadu_ps((const float *)(host + offset[lane + 2])), d = _mm_loadu_ps((const float *)(host + offset[lane + 3]));
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps((float *)row + lane, a);
        _mm_storeu_ps((float *)row + 64 + lane, b);
        _mm_storeu_ps((float *)row + 128 + lane, c);
        _mm_storeu_ps((float *)row + 192 + lane, d);
    }
}

#if defined(__AVX512F__)
// Whether each four lanes have quads beside each other.
static ALWAYS_INLINE bool are_quads_of_four(const uint32_t *offset) {
    const __m512i all = _mm512_loadu_si512(offset), first = _mm512_shuffle_epi32(all, _MM_PERM_AAAA);
    return _mm512_cmpneq_epi32_mask(_mm512_sub_epi32(all, first), _mm512_broadcast_i32x4(_mm_setr_epi32(0, 16, 32, 48))) == 0;
}

// Where they have: four of them fill a vector.
static ALWAYS_INLINE void store_fours(uint8_t *host, const uint32_t *offset, const uint32_t *row) {
    const __m512 a = _mm512_loadu_ps(row), b = _mm512_loadu_ps(row + 64), c = _mm512_loadu_ps(row + 128), d = _mm512_loadu_ps(row + 192);
    const __m512d low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)), next_low = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
    const __m512d high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b)), next_high = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
    // the quads of every fourth lane
    const __m512d first = _mm512_unpacklo_pd(low, next_low), second = _mm512_unpackhi_pd(low, next_low);
    const __m512d third = _mm512_unpacklo_pd(high, next_high), fourth = _mm512_unpackhi_pd(high, next_high);
    const __m512d even = _mm512_shuffle_f64x2(first, second, 0x88), next_even = _mm512_shuffle_f64x2(third, fourth, 0x88);
    const __m512d odd = _mm512_shuffle_f64x2(first, second, 0xdd), next_odd = _mm512_shuffle_f64x2(third, fourth, 0xdd);
    // of first and second: lanes 0, 8, 1, 9; of the others 2, 10, 3, 11; those of odd ones are four further
    _mm512_storeu_pd(host + offset[0], _mm512_shuffle_f64x2(even, next_even, 0x88));
    _mm512_storeu_pd(host + offset[4], _mm512_shuffle_f64x2(odd, next_odd, 0x88));
    _mm512_storeu_pd(host + offset[8], _mm512_shuffle_f64x2(even, next_even, 0xdd));
    _mm512_storeu_pd(host + offset[12], _mm512_shuffle_f64x2(odd, next_odd, 0xdd));
}
#else
static ALWAYS_INLINE bool are_quads_of_four(const uint32_t *) { return false; }
static ALWAYS_INLINE void store_fours(uint8_t *, const uint32_t *, const uint32_t *) {}
#endif

static ALWAYS_INLINE void store_quads(uint8_t *host, const uint32_t *offset, const uint32_t *row) {
    if (are_quads_of_four(offset))
        return store_fours(host, offset, row);
    for (int lane = 0; lane < 16; lane += 4) {
        __m128 a = _mm_loadu_ps((const float *)row + lane), b = _mm_loadu_ps((const float *)row + 64 + lane);
        __m128 c = _mm_loadu_ps((const float *)row + 128 + lane), d = _mm_loadu_ps((const float *)row + 192 + lane);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps((float *)(host + offset[lane]), a);
        _mm_storeu_ps((float *)(host + offset[lane + 1]), b);
        _mm_storeu_ps((float *)(host + offset[lane + 2]), c);
        _mm_storeu_ps((float *)(host + offset[lane + 3]), d);
    }
}
#else
static ALWAYS_INLINE void load_quads(const uint8_t *host, const uint32_t *offset, uint32_t *row) {
    uint32_t quad[4];
    for (int lane = 0; lane < 16; ++lane) {
        memcpy(quad, host + offset[lane], sizeof quad);
        for (int part = 0; part < 4; ++part)
            row[64 * part + lane] = quad[part];
    }
}

static ALWAYS_INLINE void store_quads(uint8_t *host, const uint32_t *offset, const uint32_t *row) {
    for (int lane = 0; lane < 16; ++lane) {
        const uint32_t quad[4] = {row[lane], row[64 + lane], row[128 + lane], row[192 + lane]};
        memcpy(host + offset[lane], quad, sizeof quad);
    }
}
#endif
