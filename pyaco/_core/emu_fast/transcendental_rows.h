// exp2, log2, sine, cosine and reciprocal square root of a row of 32 singles, the first four of halves as well, rounded to nearest: the same bits as
// those of the reference engine.
//
// A double that is wrong by at most 2^-37 of it, from a polynomial with as many terms as that takes, says what the single is, unless it lies nearly
// halfway between two: then, of one row in some hundred, these return false, and the caller works the row out as the reference engine does. Nothing
// here depends on how the host treats denormals or on whether it fuses products with sums. The polynomials are those through the values at
// Chebyshev's nodes.
#pragma once
#include "host.h"

#if defined(__AVX512F__)
enum { transcendental_width = 8 };                          // lanes
#else
enum { transcendental_width = 4 };
#endif
typedef float FloatLanes __attribute__((vector_size(4 * transcendental_width)));
typedef uint32_t WordLanes __attribute__((vector_size(4 * transcendental_width)));
typedef int32_t SignedLanes __attribute__((vector_size(4 * transcendental_width)));
typedef double DoubleLanes __attribute__((vector_size(8 * transcendental_width)));
typedef uint64_t WideLanes __attribute__((vector_size(8 * transcendental_width)));

static ALWAYS_INLINE FloatLanes all_singles(float value) { return FloatLanes{} + value; }
static ALWAYS_INLINE DoubleLanes all_doubles(double value) { return DoubleLanes{} + value; }

// The compiler makes two conversions of one to eight doubles.
static ALWAYS_INLINE DoubleLanes widened(FloatLanes value) {
#if defined(__AVX512F__)
    return (DoubleLanes)_mm512_cvtps_pd((__m256)value);
#else
    return __builtin_convertvector(value, DoubleLanes);
#endif
}

static ALWAYS_INLINE DoubleLanes widened_integer(SignedLanes value) {
#if defined(__AVX512F__)
    return (DoubleLanes)_mm512_cvtepi32_pd((__m256i)value);
#else
    return __builtin_convertvector(value, DoubleLanes);
#endif
}

// From `low` to `high`; a NaN stays one.
static ALWAYS_INLINE FloatLanes limited(FloatLanes value, float low, float high) {
    const FloatLanes lowest = all_singles(low), highest = all_singles(high);
#if defined(__AVX512F__)
    return (FloatLanes)_mm256_min_ps((__m256)highest, _mm256_max_ps((__m256)lowest, (__m256)value));
#elif defined(__AVX2__)
    return (FloatLanes)_mm_min_ps((__m128)highest, _mm_max_ps((__m128)lowest, (__m128)value));
#else
    const FloatLanes above = value < lowest ? lowest : value;
    return above > highest ? highest : above;
#endif
}

// a * b + c; the host may round the product.
static ALWAYS_INLINE DoubleLanes multiply_add(DoubleLanes a, DoubleLanes b, DoubleLanes c) {
#if defined(__AVX512F__)
    return (DoubleLanes)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    return (DoubleLanes)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return a * b + c;
#endif
}

// To the nearest even integer.
static ALWAYS_INLINE FloatLanes nearest_integer(FloatLanes value) {
#if defined(__AVX512F__)
    return (FloatLanes)_mm256_round_ps((__m256)value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
    return (FloatLanes)_mm_round_ps((__m128)value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    const FloatLanes size = (FloatLanes)((WordLanes)value & 0x7fffffff), shift = all_singles(8388608.0f);
    const FloatLanes whole = size < shift ? (size + shift) - shift : size;
    return (FloatLanes)((WordLanes)whole | ((WordLanes)value & 0x80000000));
#endif
}

static ALWAYS_INLINE FloatLanes load_singles(const uint32_t *row) {
    FloatLanes value;
    memcpy(&value, row, sizeof value);
    return value;
}

static ALWAYS_INLINE void store_words(uint32_t *row, WordLanes value) { memcpy(row, &value, sizeof value); }

// Lanes that a row has no result for yet: the host's masks, where it has such.
#if defined(__AVX512F__)
typedef __mmask8 DoubtfulLanes;
static ALWAYS_INLINE bool any_doubtful(DoubtfulLanes lanes) { return lanes != 0; }
static ALWAYS_INLINE DoubtfulLanes either(DoubtfulLanes a, DoubtfulLanes b) { return _kor_mask8(a, b); }
static ALWAYS_INLINE DoubtfulLanes doubtful_words(WordLanes lanes) { return _mm256_movepi32_mask((__m256i)lanes); }
#else
typedef WideLanes DoubtfulLanes;
static ALWAYS_INLINE bool any_doubtful(DoubtfulLanes lanes) {
    uint64_t found = 0;
    for (int lane = 0; lane < transcendental_width; ++lane)
        found |= lanes[lane];
    return found != 0;
}
static ALWAYS_INLINE DoubtfulLanes either(DoubtfulLanes a, DoubtfulLanes b) { return a | b; }
static ALWAYS_INLINE DoubtfulLanes doubtful_words(WordLanes lanes) { return __builtin_convertvector(lanes, WideLanes); }
#endif

// Of the 29 bits that a single does not have: whether they are within 2^-13 of half of the last one that it has.
static ALWAYS_INLINE DoubtfulLanes near_halfway(DoubleLanes value) {
    const WideLanes moved = (WideLanes)value + ((1u << 28) + (1u << 15)), bits = WideLanes{} + 0x1fff0000;
#if defined(__AVX512F__)
    return _mm512_testn_epi64_mask((__m512i)moved, (__m512i)bits);
#else
    return (WideLanes)((moved & bits) == 0);
#endif
}

// `odd`: rounded to odd, for halves that are rounded after it. All of them are tried by a test: none needs a better double.
template <bool odd> static ALWAYS_INLINE FloatLanes narrowed(DoubleLanes value, DoubtfulLanes *doubtful) {
    if (odd) {
        const WideLanes bits = (WideLanes)value, rest = bits & 0x1fffffff;
        value = (DoubleLanes)((bits ^ rest) | ((rest + 0x1fffffff) & 0x20000000));
    } else {
        *doubtful = either(*doubtful, near_halfway(value));
    }
    return __builtin_convertvector(value, FloatLanes);
}

// Results that are denormals are zeros.
template <bool odd> static ALWAYS_INLINE WordLanes exp2_lanes(FloatLanes value, DoubtfulLanes *doubtful) {
    const FloatLanes shift = all_singles(12582912.0f);      // 1.5 * 2^23: the sum ends in the bits of an integer
    const FloatLanes power = limited(value, -127.0f, 128.0f), moved = power + shift;
    const DoubleLanes rest = widened(power - (moved - shift));
    DoubleLanes sum = multiply_add(rest, all_doubles(1.3255224878668817e-06), all_doubles(1.5310079402249296e-05));
    sum = multiply_add(rest, sum, all_doubles(0.00015403455852453838));
    sum = multiply_add(rest, sum, all_doubles(0.0013333450568000645));
    sum = multiply_add(rest, sum, all_doubles(0.009618129159402558));
    sum = multiply_add(rest, sum, all_doubles(0.05550410941205933));
    sum = multiply_add(rest, sum, all_doubles(0.2402265069581299));
    sum = multiply_add(rest, sum, all_doubles(0.6931471805459335));
    sum = multiply_add(rest, sum, all_doubles(1.0));
    const WordLanes scaled = (WordLanes)narrowed<odd>(sum, doubtful) + ((WordLanes)moved << 23);
    const WordLanes normal = value >= -126.0f ? scaled : WordLanes{};
    return value == value ? normal : (WordLanes)value;
}

// By intervals whose middle's reciprocal has few bits, and the middle's logarithm: an eighth of each octave of [0.703125, 1.40625) to a sixteenth.
alignas(64) static const double middle_reciprocal[16] = {
    1.0, 0.9411764144897461, 0.8888893127441406, 0.8421049118041992, 0.8000001907348633, 0.7619047164916992, 0.7272729873657227,
    1.3913040161132812, 1.3333330154418945, 1.2799997329711914, 1.230769157409668, 1.185185432434082, 1.142857551574707, 1.1034479141235352,
    1.066666603088379, 1.0322580337524414,
};
alignas(64) static const double middle_logarithm[16] = {
    0.0, 0.0874629272416674, 0.16992431351187293, 0.2479281153829891, 0.32192775092210163, 0.3923175087700883, 0.45943110268943693,
    -0.4764376999776444, -0.4150371553135011, -0.3561435092556049, -0.29956019586757987, -0.24511279880613907, -0.19264559389025623,
    -0.14201853192006048, -0.09310931840015348, -0.04580364661746143,
};

// By the lowest four bits of an index.
static ALWAYS_INLINE DoubleLanes look_up_sixteen(const double *table, WideLanes index) {
#if defined(__AVX512F__)
    return (DoubleLanes)_mm512_permutex2var_pd(_mm512_load_pd(table), (__m512i)index, _mm512_load_pd(table + 8));
#else
    DoubleLanes value;
    for (int lane = 0; lane < transcendental_width; ++lane)
        value[lane] = table[index[lane] & 15];
    return value;
#endif
}

// What is no positive normal number: an infinity, or a NaN.
static ALWAYS_INLINE WordLanes log2_of_special(WordLanes bits, WordLanes result) {
    const WordLanes size = bits & 0x7fffffff;
    const WordLanes negative = WordLanes{} + 0x7fc00000, lowest = WordLanes{} + 0xff800000;
    result = (SignedLanes)bits < 0 ? negative : result;
    result = size < 0x00800000 ? lowest : result;
    result = bits == 0x7f800000 ? bits : result;
    return size > 0x7f800000 ? bits : result;
}

// Denormals count as zeros.
template <bool odd> static ALWAYS_INLINE WordLanes log2_lanes(FloatLanes value, DoubtfulLanes *doubtful, DoubtfulLanes *special) {
    const WordLanes bits = (WordLanes)value;
    const SignedLanes exponent = (SignedLanes)(bits - 0x3f340000) >> 23;
    const DoubleLanes fraction = widened((FloatLanes)(bits - ((WordLanes)exponent << 23)));
    const WideLanes index = ((WideLanes)fraction + (1ull << 47)) >> 48;
    const DoubleLanes rest = multiply_add(fraction, look_up_sixteen(middle_reciprocal, index), all_doubles(-1.0));
    DoubleLanes sum = multiply_add(rest, all_doubles(-0.24071463078578387), all_doubles(0.28884238051416816));
    sum = multiply_add(rest, sum, all_doubles(-0.36067366259516737));
    sum = multiply_add(rest, sum, all_doubles(0.4808982353927022));
    sum = multiply_add(rest, sum, all_doubles(-0.7213475204497998));
    sum = multiply_add(rest, sum, all_doubles(1.442695040895041));
    const DoubleLanes whole = widened_integer(exponent) + look_up_sixteen(middle_logarithm, index);
    *special = either(*special, doubtful_words((WordLanes)(bits - 0x00800000 >= 0x7f000000)));
    return (WordLanes)narrowed<odd>(multiply_add(rest, sum, whole), doubtful);
}

// The sine of a quarter of a turn at most.
template <bool odd> static ALWAYS_INLINE FloatLanes sine_of_part(DoubleLanes turns, DoubtfulLanes *doubtful) {
    const DoubleLanes square = turns * turns;
    DoubleLanes sum = multiply_add(square, all_doubles(3.6658551595639612), all_doubles(-15.081483206893));
    sum = multiply_add(square, sum, all_doubles(42.058134871372054));
    sum = multiply_add(square, sum, all_doubles(-76.70584754377326));
    sum = multiply_add(square, sum, all_doubles(81.60524914901583));
    sum = multiply_add(square, sum, all_doubles(-41.341702239903675));
    sum = multiply_add(square, sum, all_doubles(6.28318530717927));
    return narrowed<odd>(turns * sum, doubtful);
}

template <bool odd> static ALWAYS_INLINE WordLanes sine_lanes(FloatLanes turns, DoubtfulLanes *doubtful) {
    const FloatLanes fraction = turns - nearest_integer(turns), shift = all_singles(12582912.0f);
    const FloatLanes moved = 2.0f * fraction + shift;       // ends in the bits of the number of half turns
    const FloatLanes rest = fraction - 0.5f * (moved - shift);
    const WordLanes result = (WordLanes)sine_of_part<odd>(widened(rest), doubtful) ^ ((WordLanes)moved << 31);
    const WordLanes size = (WordLanes)turns & 0x7fffffff;
    // a product with 2 pi that may be a denormal has fewer bits
    *doubtful = either(*doubtful, doubtful_words((WordLanes)(size - 1 < 0x01000000 - 1)));
    return size == 0 ? (WordLanes)turns : result;
}

template <bool odd> static ALWAYS_INLINE WordLanes cosine_lanes(FloatLanes turns, DoubtfulLanes *doubtful) {
    const FloatLanes fraction = turns - nearest_integer(turns);
    const DoubleLanes size = widened((FloatLanes)((WordLanes)fraction & 0x7fffffff));
    const WordLanes result = (WordLanes)sine_of_part<odd>(0.25 - size, doubtful);
    return result == 0 ? ~(WordLanes)fraction & 0x80000000 : result;
}

// The reciprocal square root, from a guess of the host's that 2^-10 of it is wrong at most; denormals count as zeros.
#if defined(__AVX2__)
static ALWAYS_INLINE WordLanes rsq_lanes(FloatLanes value, DoubtfulLanes *doubtful, DoubtfulLanes *special) {
#if defined(__AVX512F__)
    const DoubleLanes guess = widened((FloatLanes)_mm256_rsqrt14_ps((__m256)value));
#else
    const DoubleLanes guess = widened((FloatLanes)_mm_rsqrt_ps((__m128)value));
#endif
    const DoubleLanes error = multiply_add(-(guess * widened(value)), guess, all_doubles(1.0));
    DoubleLanes sum = multiply_add(error, all_doubles(0.3125), all_doubles(0.375));
    sum = multiply_add(error, sum, all_doubles(0.5));
    *special = either(*special, doubtful_words((WordLanes)((WordLanes)value - 0x00800000 >= 0x7f000000)));
    return (WordLanes)narrowed<false>(multiply_add(guess * error, sum, guess), doubtful);
}

static ALWAYS_INLINE WordLanes rsq_of_special(WordLanes bits, WordLanes result) {
    const WordLanes size = bits & 0x7fffffff;
    result = (SignedLanes)bits < 0 ? WordLanes{} + 0x7fc00000 : result;
    result = size < 0x00800000 ? (bits & 0x80000000) | 0x7f800000 : result;
    result = bits == 0x7f800000 ? WordLanes{} : result;
    return size > 0x7f800000 ? bits : result;
}

static ALWAYS_INLINE bool rsq_row(const uint32_t *source, uint32_t *result) {
    DoubtfulLanes doubtful = {}, special = {};
    for (int lane = 0; lane < 32; lane += transcendental_width)
        store_words(result + lane, rsq_lanes(load_singles(source + lane), &doubtful, &special));
    if (any_doubtful(special))
        for (int lane = 0; lane < 32; lane += transcendental_width)
            store_words(result + lane, rsq_of_special((WordLanes)load_singles(source + lane), (WordLanes)load_singles(result + lane)));
    return !any_doubtful(doubtful);
}
#else
static ALWAYS_INLINE bool rsq_row(const uint32_t *, uint32_t *) { return false; }
#endif

// These give singles that are rounded to nearest, or to odd, which are never doubtful.
template <bool odd> static ALWAYS_INLINE bool exp2_of_row(const uint32_t *source, uint32_t *result) {
    DoubtfulLanes doubtful = {};
    for (int lane = 0; lane < 32; lane += transcendental_width)
        store_words(result + lane, exp2_lanes<odd>(load_singles(source + lane), &doubtful));
    return !any_doubtful(doubtful);
}

template <bool odd> static ALWAYS_INLINE bool log2_of_row(const uint32_t *source, uint32_t *result) {
    DoubtfulLanes doubtful = {}, special = {};
    for (int lane = 0; lane < 32; lane += transcendental_width)
        store_words(result + lane, log2_lanes<odd>(load_singles(source + lane), &doubtful, &special));
    if (any_doubtful(special))
        for (int lane = 0; lane < 32; lane += transcendental_width)
            store_words(result + lane, log2_of_special((WordLanes)load_singles(source + lane), (WordLanes)load_singles(result + lane)));
    return !any_doubtful(doubtful);
}

template <bool odd> static ALWAYS_INLINE bool sine_of_row(const uint32_t *source, uint32_t *result) {
    DoubtfulLanes doubtful = {};
    for (int lane = 0; lane < 32; lane += transcendental_width)
        store_words(result + lane, sine_lanes<odd>(load_singles(source + lane), &doubtful));
    return !any_doubtful(doubtful);
}

template <bool odd> static ALWAYS_INLINE bool cosine_of_row(const uint32_t *source, uint32_t *result) {
    DoubtfulLanes doubtful = {};
    for (int lane = 0; lane < 32; lane += transcendental_width)
        store_words(result + lane, cosine_lanes<odd>(load_singles(source + lane), &doubtful));
    return !any_doubtful(doubtful);
}

static ALWAYS_INLINE bool exp2_row(const uint32_t *source, uint32_t *result) { return exp2_of_row<false>(source, result); }
static ALWAYS_INLINE bool log2_row(const uint32_t *source, uint32_t *result) { return log2_of_row<false>(source, result); }
static ALWAYS_INLINE bool sine_row(const uint32_t *source, uint32_t *result) { return sine_of_row<false>(source, result); }
static ALWAYS_INLINE bool cosine_row(const uint32_t *source, uint32_t *result) { return cosine_of_row<false>(source, result); }
static ALWAYS_INLINE void exp2_odd_row(const uint32_t *source, uint32_t *result) { exp2_of_row<true>(source, result); }
static ALWAYS_INLINE void log2_odd_row(const uint32_t *source, uint32_t *result) { log2_of_row<true>(source, result); }
static ALWAYS_INLINE void sine_odd_row(const uint32_t *source, uint32_t *result) { sine_of_row<true>(source, result); }
static ALWAYS_INLINE void cosine_odd_row(const uint32_t *source, uint32_t *result) { cosine_of_row<true>(source, result); }
