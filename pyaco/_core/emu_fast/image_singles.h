// Elements of one float whose lanes are a wave's patch (image_patches.h): filtered, or compared with references.
//
// A float's sum is rounded in double precision, so corners are added one after the other, as the reference engine does; what the lanes of a column, of a
// line, or of two lines have in common is worked out once. Shares of what passes a comparison are integers, and mixed along x first.
#pragma once
#include "image_chunks.h"

#if defined(__AVX2__)
template <int count> static inline bool filter_single_patch_of(const ImageTexels &level, const float *const *coordinate, float *to) {
    WavePatch<count> wave;
    if (!wave.template find_patch<image_linear>(level, coordinate))
        return false;
    PatchLines<count> lines;
    read_patch<true>(level.host, wave.patch, lines);
    const __m256i whole = _mm256_set1_epi32(256);
    const EightDoubles right = EightDoubles::of(wave.across), left = EightDoubles::of(_mm256_sub_epi32(whole, wave.across));
    const EightDoubles unit = EightDoubles::everywhere(0x1p-16), zero = EightDoubles::everywhere(0.0);
    alignas(64) double upper[image_chunk], lower[image_chunk];
    EightDoubles::of(_mm256_sub_epi32(whole, wave.down)).times(unit).put(upper);
    EightDoubles::of(wave.down).times(unit).put(lower);
    const int first = wave.patch.odd_line;
    EightDoubles above_left = EightDoubles::of((const float *)lines.left[first]).times(left);
    EightDoubles above_right = EightDoubles::of((const float *)lines.right[first]).times(right);
    __m256 strange = _mm256_setzero_ps();
#pragma GCC unroll 1
    for (int line = 0; line < count; ++line) {
        const EightDoubles below_left = EightDoubles::of((const float *)lines.left[first + line + 1]).times(left);
        const EightDoubles below_right = EightDoubles::of((const float *)lines.right[first + line + 1]).times(right);
        const EightDoubles near = EightDoubles::everywhere(upper[line]), far = EightDoubles::everywhere(lower[line]);
        EightDoubles sum = above_left.times_plus(near, zero);    // zeros are positive
        sum = above_right.times_plus(near, sum);
        sum = below_left.times_plus(far, sum);
        sum = below_right.times_plus(far, sum);
        const __m256 single = sum.rounded();
        strange = _mm256_or_ps(strange, _mm256_cmp_ps(single, single, _CMP_UNORD_Q));
        _mm256_storeu_ps(to + image_chunk * line, single);
        above_left = below_left;
        above_right = below_right;
    }
    return _mm256_movemask_ps(strange) == 0;
}

// Filter elements of one float for the rows of a wave, from a level of two axes that are exact. False: the lanes are no patch, or some sum is no number.
static inline bool filter_single_patch(const ImageTexels &level, unsigned rows, const float *const *coordinate, float *to) {
    return rows == 2 ? filter_single_patch_of<wave_lines>(level, coordinate, to) : filter_single_patch_of<patch_lines>(level, coordinate, to);
}

template <int count, int predicate>
static inline void compare_patch_by(const PatchLines<count> &lines, const WavePatch<count> &wave, const float *reference, float *to) {
    const __m256i whole = _mm256_set1_epi32(256), right = wave.across, left = _mm256_sub_epi32(whole, right);
    alignas(32) int32_t weight[image_chunk];
    put_chunk(weight, _mm256_or_si256(_mm256_sub_epi32(whole, wave.down), _mm256_slli_epi32(wave.down, 16)));
    const int first = wave.patch.odd_line;
    const auto share = [&](__m256 given, int line) __attribute__((always_inline)) {
        const __m256 passes_left = _mm256_cmp_ps(given, _mm256_loadu_ps((const float *)lines.left[line]), predicate);
        const __m256 passes_right = _mm256_cmp_ps(given, _mm256_loadu_ps((const float *)lines.right[line]), predicate);
        return _mm256_add_epi32(_mm256_and_si256(_mm256_castps_si256(passes_left), left), _mm256_and_si256(_mm256_castps_si256(passes_right), right));
    };
#pragma GCC unroll 2
    for (int line = 0; line < count; ++line) {
        const __m256 given = _mm256_loadu_ps(reference + image_chunk * line);
        const __m256i both = _mm256_or_si256(share(given, first + line), _mm256_slli_epi32(share(given, first + line + 1), 16));
        const __m256i sum = _mm256_madd_epi16(both, everywhere(weight + line));
        _mm256_storeu_ps(to + image_chunk * line, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(0x1p-16f)));
    }
}

template <int count>
static inline bool compare_single_patch_of(const ImageTexels &level, const float *const *coordinate, unsigned function, const float *reference, float *to) {
    typedef void (*Compare)(const PatchLines<count> &, const WavePatch<count> &, const float *, float *);
    static const Compare by_function[8] = {
        compare_patch_by<count, _CMP_FALSE_OQ>, compare_patch_by<count, _CMP_LT_OQ>, compare_patch_by<count, _CMP_EQ_OQ>,
        compare_patch_by<count, _CMP_LE_OQ>, compare_patch_by<count, _CMP_GT_OQ>, compare_patch_by<count, _CMP_NEQ_OQ>,
        compare_patch_by<count, _CMP_GE_OQ>, compare_patch_by<count, _CMP_TRUE_UQ>,
    };
    WavePatch<count> wave;
    if (!wave.template find_patch<image_linear>(level, coordinate))
        return false;
    PatchLines<count> lines;
    read_patch<true>(level.host, wave.patch, lines);
    by_function[function & 7](lines, wave, reference, to);
    return true;
}

// The share of the texels that each lane's reference passes the comparison with; `function` as for `filter_compared`.
static inline bool compare_single_patch(const ImageTexels &level, unsigned rows, const float *const *coordinate, unsigned function, const float *reference,
                                        float *to) {
    return rows == 2 ? compare_single_patch_of<wave_lines>(level, coordinate, function, reference, to)
                     : compare_single_patch_of<patch_lines>(level, coordinate, function, reference, to);
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline bool filter_single_patch(const ImageTexels &, unsigned, const float *const *, float *) { return false; }
static inline bool compare_single_patch(const ImageTexels &, unsigned, const float *const *, unsigned, const float *, float *) { return false; }
#endif
