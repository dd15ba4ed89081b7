// Products of blocks in double precision: the part of matrix instructions that takes their time.
//
// Elements lie in natural order: 64 lanes of the first element that a lane holds, then of the second, and so on. A strip is a row of a result, or
// one number k of a column of A or a row of B: consecutive lanes. Tables say where each begins.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "host.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct Strips {
    const double *left, *right;        // of a block
    const uint16_t *left_at, *right_at; // by k
    unsigned depth;
};

// Vectors of doubles, and how many rows of a result are made at once: eight sums, because one takes four cycles and two begin in each.
#if defined(__AVX512F__)
typedef __m512d Doubles;
enum { doubles_count = 8, rows_at_once = 4 };
static ALWAYS_INLINE Doubles doubles_at(const double *from) { return _mm512_loadu_pd(from); }
static ALWAYS_INLINE Doubles doubles_at(const float *from) { return _mm512_cvtps_pd(_mm256_loadu_ps(from)); }
static ALWAYS_INLINE void put_doubles(double *to, Doubles values) { _mm512_storeu_pd(to, values); }
static ALWAYS_INLINE void put_doubles(float *to, Doubles values) { _mm256_storeu_ps(to, _mm512_cvtpd_ps(values)); }
static ALWAYS_INLINE Doubles same_doubles(double value) { return _mm512_set1_pd(value); }
static ALWAYS_INLINE Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__AVX2__) && defined(__FMA__)
typedef __m256d Doubles;
enum { doubles_count = 4, rows_at_once = 2 };
static ALWAYS_INLINE Doubles doubles_at(const double *from) { return _mm256_loadu_pd(from); }
static ALWAYS_INLINE Doubles doubles_at(const float *from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
static ALWAYS_INLINE void put_doubles(double *to, Doubles values) { _mm256_storeu_pd(to, values); }
static ALWAYS_INLINE void put_doubles(float *to, Doubles values) { _mm_storeu_ps(to, _mm256_cvtpd_ps(values)); }
static ALWAYS_INLINE Doubles same_doubles(double value) { return _mm256_set1_pd(value); }
static ALWAYS_INLINE Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(a, b, c); }
#else
typedef double Doubles;
enum { doubles_count = 1, rows_at_once = 1 };
template <class Number> static ALWAYS_INLINE Doubles doubles_at(const Number *from) { return *from; }
template <class Number> static ALWAYS_INLINE void put_doubles(Number *to, Doubles value) { *to = (Number)value; }
static ALWAYS_INLINE Doubles same_doubles(double value) { return value; }
static ALWAYS_INLINE Doubles fused(Doubles a, Doubles b, Doubles c) { return std::fma(a, b, c); }
#endif

// Sums of 16 columns of some rows, added in the order of k and rounded once. Products of anything but doubles are exact in double precision, so that
// a fused addition is the plain one; those of doubles are meant to be fused.
template <class Number>
static ALWAYS_INLINE void add_columns(Number *sums, const Number *addends, const uint16_t *at, unsigned rows, unsigned first, const Strips *strips) {
    enum { vectors = 16 / doubles_count };
    for (unsigned row = 0; row < rows; row += rows_at_once) {
        Doubles sum[rows_at_once][vectors];
        for (int r = 0; r < rows_at_once; ++r)
            for (int v = 0; v < vectors; ++v)
                sum[r][v] = doubles_at(addends + at[row + r] + first + v * doubles_count);
        for (unsigned k = 0; k < strips->depth; ++k) {
            const double *left = strips->left + strips->left_at[k] + row, *right = strips->right + strips->right_at[k] + first;
            Doubles columns[vectors];
            for (int v = 0; v < vectors; ++v)
                columns[v] = doubles_at(right + v * doubles_count);
            for (int r = 0; r < rows_at_once; ++r) {
                Doubles one = same_doubles(left[r]);
                for (int v = 0; v < vectors; ++v)
                    sum[r][v] = fused(one, columns[v], sum[r][v]);
            }
        }
        for (int r = 0; r < rows_at_once; ++r)
            for (int v = 0; v < vectors; ++v)
                put_doubles(sums + at[row + r] + first + v * doubles_count, sum[r][v]);
    }
}

// A block of 4 x 4.
template <class Number>
static ALWAYS_INLINE void add_four_columns(Number *sums, const Number *addends, const uint16_t *at, const Strips *strips) {
    double sum[4][4];
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 4; ++column)
            sum[row][column] = (double)addends[at[row] + column];
    for (unsigned k = 0; k < strips->depth; ++k) {
        const double *left = strips->left + strips->left_at[k], *right = strips->right + strips->right_at[k];
        for (int row = 0; row < 4; ++row)
            for (int column = 0; column < 4; ++column)
                sum[row][column] = std::fma(left[row], right[column], sum[row][column]);
    }
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 4; ++column)
            sums[at[row] + column] = (Number)sum[row][column];
}

// A block of `size` rows and columns: sums = addends + left right, the rows of sums and addends beginning where `at` says.
template <class Number>
static ALWAYS_INLINE void add_block(Number *sums, const Number *addends, const uint16_t *at, unsigned size, const Strips *strips) {
    if (size == 4)
        return add_four_columns(sums, addends, at, strips);
    for (unsigned first = 0; first < size; first += 16)
        add_columns(sums, addends, at, size, first, strips);
}

// The low and the high halves of 16 lanes as doubles, their bits changed by `flip`.
#if defined(__AVX2__) && defined(__F16C__)
static ALWAYS_INLINE void eight_halves_to_doubles(__m128i halves, double *values) {
    __m256 singles = _mm256_cvtph_ps(halves);
    _mm256_storeu_pd(values, _mm256_cvtps_pd(_mm256_castps256_ps128(singles)));
    _mm256_storeu_pd(values + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(singles, 1)));
}

static ALWAYS_INLINE void halves_to_doubles(const uint32_t *row, uint32_t flip, double *low, double *high) {
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    for (int lane = 0; lane < 16; lane += 8) {
        __m256i words = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(row + lane)), _mm256_set1_epi32((int)flip));
        words = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(words, order), 0xd8);
        eight_halves_to_doubles(_mm256_castsi256_si128(words), low + lane);
        eight_halves_to_doubles(_mm256_extracti128_si256(words, 1), high + lane);
    }
}
#else
static ALWAYS_INLINE void halves_to_doubles(const uint32_t *row, uint32_t flip, double *low, double *high) {
    uint32_t words[32] = {};
    float singles[2][32];
    for (int lane = 0; lane < 16; ++lane)
        words[lane] = row[lane] ^ flip;
    halves_to_singles(words, 0, singles[0]);
    halves_to_singles(words, 16, singles[1]);
    for (int lane = 0; lane < 16; ++lane) {
        low[lane] = singles[0][lane];
        high[lane] = singles[1][lane];
    }
}
#endif
