// Elements of one float whose lanes are a wave's patch or grid (image_patches.h, image_grids.h): filtered, or compared with references.
//
// A float's sum is rounded in double precision, so corners are added one after the other, as the reference engine does; a float times 16 bits is exact. What
// the lanes of a column, or of a line, have in common is worked out once. Shares of what passes a comparison are integers, and mixed along x first.
#pragma once
#include "image_grids.h"

#if defined(__AVX2__)
// The corners of the places of eight lanes in a line.
struct SinglesOfLine {
    __m256 left, right, lower_left, lower_right;
};

// Lines of a wave's patch, or of a grid.
template <int count> struct PatchSingles {
    enum { shares = 1 };              // what is below a line is the next one
    PatchLines<count> lines;
    int first;

    PatchSingles(const uint8_t *host, const ImagePatch &patch) : first(patch.odd_line) { read_patch<true>(host, patch, lines); }

    __attribute__((always_inline)) SinglesOfLine of(int line) const {
        const int above = first + line;
        return {single(lines.left[above]), single(lines.right[above]), single(lines.left[above + 1]), single(lines.right[above + 1])};
    }

    __attribute__((always_inline)) static __m256 single(const uint32_t *words) { return _mm256_loadu_ps((const float *)words); }
};

template <int count> struct GridSingles {
    enum { shares = 0 };
    const uint8_t *host;
    const SampledGrid<count> &grid;

    __attribute__((always_inline)) SinglesOfLine of(int line) const {
        return {single(grid.offset[line][0]), single(grid.offset[line][1]), single(grid.offset[line][2]), single(grid.offset[line][3])};
    }

    __attribute__((always_inline)) __m256 single(const uint32_t *offset) const { return _mm256_castsi256_ps(words_at(host, offset)); }
};

// False: some sum is no number.
template <int count, class Source> static inline bool filter_lines(const Source &source, const WavePatch<count> &wave, float *to) {
    const __m256i whole = _mm256_set1_epi32(256);
    const EightDoubles right = EightDoubles::of(wave.across), left = EightDoubles::of(_mm256_sub_epi32(whole, wave.across));
    const EightDoubles unit = EightDoubles::everywhere(0x1p-16), zero = EightDoubles::everywhere(0.0);
    alignas(64) double upper[image_chunk], lower[image_chunk];
    EightDoubles::of(_mm256_sub_epi32(whole, wave.down)).times(unit).put(upper);
    EightDoubles::of(wave.down).times(unit).put(lower);
    __m256 strange = _mm256_setzero_ps();
    EightDoubles below_left = zero, below_right = zero;
#pragma GCC unroll 8
    for (int line = 0; line < count; ++line) {
        const SinglesOfLine of = source.of(line);
        const bool kept = Source::shares && line;
        const EightDoubles above_left = kept ? below_left : EightDoubles::of(of.left).times(left);
        const EightDoubles above_right = kept ? below_right : EightDoubles::of(of.right).times(right);
        below_left = EightDoubles::of(of.lower_left).times(left);
        below_right = EightDoubles::of(of.lower_right).times(right);
        const EightDoubles near = EightDoubles::everywhere(upper[line]), far = EightDoubles::everywhere(lower[line]);
        EightDoubles sum = above_left.times_plus(near, zero);    // zeros are positive
        sum = above_right.times_plus(near, sum);
        sum = below_left.times_plus(far, sum);
        sum = below_right.times_plus(far, sum);
        const __m256 single = sum.rounded();
        strange = _mm256_or_ps(strange, _mm256_cmp_ps(single, single, _CMP_UNORD_Q));
        _mm256_storeu_ps(to + image_chunk * line, single);
    }
    return _mm256_movemask_ps(strange) == 0;
}

template <int count, class Source, int predicate>
static inline void compare_lines_by(const Source &source, const WavePatch<count> &wave, const float *reference, float *to) {
    const __m256i whole = _mm256_set1_epi32(256), right = wave.across, left = _mm256_sub_epi32(whole, right);
    alignas(32) int32_t weight[image_chunk];
    put_chunk(weight, _mm256_or_si256(_mm256_sub_epi32(whole, wave.down), _mm256_slli_epi32(wave.down, 16)));
    const auto share = [&](__m256 given, __m256 near, __m256 far) __attribute__((always_inline)) {
        const __m256i passes_left = _mm256_castps_si256(_mm256_cmp_ps(given, near, predicate));
        const __m256i passes_right = _mm256_castps_si256(_mm256_cmp_ps(given, far, predicate));
        return _mm256_add_epi32(_mm256_and_si256(passes_left, left), _mm256_and_si256(passes_right, right));
    };
#pragma GCC unroll 2
    for (int line = 0; line < count; ++line) {
        const __m256 given = _mm256_loadu_ps(reference + image_chunk * line);
        const SinglesOfLine of = source.of(line);
        const __m256i above = share(given, of.left, of.right), below = share(given, of.lower_left, of.lower_right);
        const __m256i sum = _mm256_madd_epi16(_mm256_or_si256(above, _mm256_slli_epi32(below, 16)), everywhere(weight + line));
        _mm256_storeu_ps(to + image_chunk * line, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(0x1p-16f)));
    }
}

template <int count, class Source>
static inline void compare_lines(const Source &source, const WavePatch<count> &wave, unsigned function, const float *reference, float *to) {
    typedef void (*Compare)(const Source &, const WavePatch<count> &, const float *, float *);
    static const Compare by_function[8] = {
        compare_lines_by<count, Source, _CMP_FALSE_OQ>, compare_lines_by<count, Source, _CMP_LT_OQ>, compare_lines_by<count, Source, _CMP_EQ_OQ>,
        compare_lines_by<count, Source, _CMP_LE_OQ>, compare_lines_by<count, Source, _CMP_GT_OQ>, compare_lines_by<count, Source, _CMP_NEQ_OQ>,
        compare_lines_by<count, Source, _CMP_GE_OQ>, compare_lines_by<count, Source, _CMP_TRUE_UQ>,
    };
    by_function[function & 7](source, wave, reference, to);
}

// `use` the corners' singles: it is called with a source of lines and the wave's places. False: the lanes are no grid, or some texel is outside, or so it says.
template <int count, class Use> static inline bool use_singles(const ImageTexels &level, const float *const *coordinate, Use use) {
    WavePatch<count> wave;
    if (!may_be_grid(coordinate) || !wave.template find<image_linear>(level, coordinate))
        return false;
    if (wave.template open<image_linear>(level))
        return use(PatchSingles<count>(level.host, wave.patch), wave);
    SampledGrid<count> grid;
    return grid.template open<image_linear>(level, wave, 0) && use(GridSingles<count>{level.host, grid}, wave);
}

template <int count> static inline bool filter_singles_of(const ImageTexels &level, const float *const *coordinate, float *to) {
    return use_singles<count>(level, coordinate, [to](const auto &source, const auto &wave) { return filter_lines<count>(source, wave, to); });
}

template <int count>
static inline bool compare_singles_of(const ImageTexels &level, const float *const *coordinate, unsigned function, const float *reference, float *to) {
    return use_singles<count>(level, coordinate, [=](const auto &source, const auto &wave) {
        compare_lines<count>(source, wave, function, reference, to);
        return true;
    });
}

// Filter elements of one float for the rows of a wave, from a level of two axes that are exact. False: the lanes are no grid, some texel is outside, or some
// sum is no number.
static inline bool filter_singles_by_grid(const ImageTexels &level, unsigned rows, const float *const *coordinate, float *to) {
    return rows == 2 ? filter_singles_of<wave_lines>(level, coordinate, to) : filter_singles_of<patch_lines>(level, coordinate, to);
}

// The share of the texels that each lane's reference passes the comparison with; `function` as for `filter_compared`.
static inline bool compare_singles_by_grid(const ImageTexels &level, unsigned rows, const float *const *coordinate, unsigned function,
                                           const float *reference, float *to) {
    return rows == 2 ? compare_singles_of<wave_lines>(level, coordinate, function, reference, to)
                     : compare_singles_of<patch_lines>(level, coordinate, function, reference, to);
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline bool filter_singles_by_grid(const ImageTexels &, unsigned, const float *const *, float *) { return false; }
static inline bool compare_singles_by_grid(const ImageTexels &, unsigned, const float *const *, unsigned, const float *, float *) { return false; }
#endif
