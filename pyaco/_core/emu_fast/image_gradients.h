// Levels of detail by derivatives, for rows of 32 lanes, four at a time.
//
// What the reference engine rounds to 256ths is log2 of the longer derivative; here it is worked out nearly as exactly, and where it lies so near to the
// middle between two of these that the error could count, the lane is left over.
#pragma once
#include "image_levels.h"

// Derivatives of a row's coordinates along x and y, by axis.
struct ImageGradients {
    const float *of[2][3];            // a value for each lane, or, if `by_quad`, the coordinates themselves
    double scale[3];                  // texels of the first level
    const float *bias;                // added; NULL: nothing
    double limit;                     // the greatest ratio of an anisotropic filter; 0: none
    uint32_t axes;
    uint8_t by_quad;                  // differences within a quad of lanes
};

// The samples of an anisotropic filter: evenly along the longer derivative, in normalised coordinates.
struct ImageProbes {
    int32_t count[image_row];
    int32_t most;                     // of the lanes
    double centre[3][image_row], step[3][image_row], place[3][image_row];
};

// A lane's place in the middle of those of all samples, and how far these reach.
static inline void open_probes(const ImageGradients &given, const float *const *coordinate, const double *shift, ImageProbes &probes) {
    probes.most = 1;
    for (int lane = 0; lane < image_row; ++lane) {
        const int base = given.by_quad ? lane & ~3 : lane;
        double gradient[2][3], square[2] = {0.0, 0.0};
        for (unsigned direction = 0; direction < 2; ++direction)
            for (unsigned axis = 0; axis < given.axes; ++axis) {
                const float *row = given.of[direction][axis];
                const double part = given.by_quad ? given.scale[axis] * ((double)row[base + (1 << direction)] - row[base]) : row[lane] * given.scale[axis];
                gradient[direction][axis] = part;
                square[direction] += part * part;
            }
        const int direction = std::sqrt(square[0]) >= std::sqrt(square[1]) ? 0 : 1;
        for (unsigned axis = 0; axis < given.axes; ++axis) {
            probes.centre[axis][lane] = coordinate[axis][lane] - shift[axis];
            probes.step[axis][lane] = gradient[direction][axis] / given.scale[axis];
        }
        probes.most = probes.count[lane] > probes.most ? probes.count[lane] : probes.most;
    }
}

static inline void place_probes(unsigned axes, int number, ImageProbes &probes) {
    for (unsigned axis = 0; axis < axes; ++axis)
        for (int lane = 0; lane < image_row; ++lane)
            probes.place[axis][lane] = probes.centre[axis][lane] + probes.step[axis][lane] * ((number + 0.5) / probes.count[lane] - 0.5);
}

// Add a sample's part of the mean, for some lanes that have such a sample.
static inline void add_probes(const ImageProbes &probes, int number, uint32_t lanes, const double *found, double *sum) {
    for (int lane = 0; lane < image_row; ++lane) {
        const double part = found[lane] / probes.count[lane];
        sum[lane] = (lanes >> lane & 1) && number < probes.count[lane] ? sum[lane] + part : sum[lane];
    }
}

// Round sums that may be wrong by a little; returns the lanes of which it counts.
static inline uint32_t round_nearly(const double *sum, float *component) {
    int32_t strange[image_row];
    for (int lane = 0; lane < image_row; ++lane) {
        component[lane] = (float)sum[lane];
        strange[lane] = (float)(sum[lane] * (1 - 0x1p-46)) != (float)(sum[lane] * (1 + 0x1p-46));
    }
    return lanes_of(strange);
}

#if defined(__AVX2__)
// log2 of finite positive normal numbers, with an error of less than 2^-38.
static inline __m256d nearly_log2(__m256d value) {
    const __m256i bits = _mm256_castpd_si256(value), mantissa = _mm256_set1_epi64x(0xfffffffffffffLL), one = _mm256_set1_epi64x(0x3ff0000000000000LL);
    // an exponent in the last bits of 2^52 + 2^51, less that: as a double
    const __m256i exponent = _mm256_srli_epi64(bits, 52), magic = _mm256_set1_epi64x(0x4338000000000000LL);
    __m256d whole = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(exponent, magic)), _mm256_set1_pd(0x1.8p52 + 1023.0));
    __m256d part = _mm256_castsi256_pd(_mm256_or_si256(_mm256_and_si256(bits, mantissa), one));
    const __m256d large = _mm256_cmp_pd(part, _mm256_set1_pd(1.4142135623730951), _CMP_GT_OQ);
    part = _mm256_blendv_pd(part, _mm256_mul_pd(part, _mm256_set1_pd(0.5)), large);
    whole = _mm256_add_pd(whole, _mm256_and_pd(large, _mm256_set1_pd(1.0)));
    // 2 / ln 2 times atanh s, of which s is at most 0.172
    const __m256d s = _mm256_div_pd(_mm256_sub_pd(part, _mm256_set1_pd(1.0)), _mm256_add_pd(part, _mm256_set1_pd(1.0))), square = _mm256_mul_pd(s, s);
    __m256d sum = _mm256_set1_pd(1.0 / 15);
    for (int term = 13; term > 0; term -= 2)
        sum = _mm256_fmadd_pd(sum, square, _mm256_set1_pd(1.0 / term));
    return _mm256_fmadd_pd(_mm256_mul_pd(sum, s), _mm256_set1_pd(2.8853900817779268), whole);
}

static inline __m256d gradients_of(const ImageGradients &given, unsigned direction, unsigned axis, int lane) {
    const __m128 first = _mm_loadu_ps(given.of[direction][axis] + lane);
    const __m256d scale = _mm256_set1_pd(given.scale[axis]);
    if (!given.by_quad)
        return _mm256_mul_pd(_mm256_cvtps_pd(first), scale);
    const __m128 next = direction ? _mm_permute_ps(first, 0xaa) : _mm_permute_ps(first, 0x55);
    return _mm256_mul_pd(scale, _mm256_sub_pd(_mm256_cvtps_pd(next), _mm256_cvtps_pd(_mm_permute_ps(first, 0))));
}

static inline __m256d gradient_length(const ImageGradients &given, unsigned direction, int lane) {
    __m256d sum = _mm256_setzero_pd();
    for (unsigned axis = 0; axis < given.axes; ++axis) {
        const __m256d part = gradients_of(given, direction, axis, lane), square = _mm256_mul_pd(part, part);
        sum = _mm256_add_pd(sum, square);
    }
    return _mm256_sqrt_pd(sum);
}

// Levels of detail, as `find_details` gives them; `probes` gets the samples that an anisotropic filter takes. Returns the lanes that are left over.
static inline uint32_t find_gradient_details(const ImageDetail &of, const ImageGradients &given, int32_t *detail, int32_t *probes) {
    const __m256d limit = _mm256_set1_pd(given.limit), one = _mm256_set1_pd(1.0);
    uint32_t left = 0;
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += 4) {
        const __m256d x = gradient_length(given, 0, lane), y = gradient_length(given, 1, lane);
        const __m256d longer = _mm256_max_pd(x, y), shorter = _mm256_min_pd(x, y);
        __m256d count = one;
        if (given.limit != 0.0) {
            const __m256d some = _mm256_cmp_pd(shorter, _mm256_setzero_pd(), _CMP_GT_OQ);
            const __m256d ratio = _mm256_blendv_pd(limit, _mm256_min_pd(_mm256_div_pd(longer, shorter), limit), some);
            count = _mm256_max_pd(_mm256_ceil_pd(ratio), one);
        }
        __m256d lod = nearly_log2(_mm256_div_pd(longer, count));
        if (given.bias)
            lod = _mm256_add_pd(lod, _mm256_cvtps_pd(_mm_loadu_ps(given.bias + lane)));
        const __m256d numbers = _mm256_and_pd(_mm256_cmp_pd(x, y, _CMP_ORD_Q), _mm256_cmp_pd(lod, lod, _CMP_ORD_Q));
        lod = _mm256_max_pd(_mm256_min_pd(lod, _mm256_set1_pd(64.0)), _mm256_set1_pd(-64.0));
        const __m256d place = _mm256_add_pd(_mm256_mul_pd(lod, _mm256_set1_pd(256.0)), _mm256_set1_pd(0.5)), fixed = _mm256_floor_pd(place);
        const __m256d rest = _mm256_sub_pd(place, fixed), margin = _mm256_set1_pd(0x1p-24);
        // neither is what is no number, infinite or nearly zero
        __m256d sure = _mm256_and_pd(_mm256_cmp_pd(rest, margin, _CMP_GT_OQ), _mm256_cmp_pd(rest, _mm256_sub_pd(one, margin), _CMP_LT_OQ));
        sure = _mm256_and_pd(sure, _mm256_and_pd(_mm256_cmp_pd(longer, _mm256_set1_pd(0x1p-100), _CMP_GT_OQ),
                                                 _mm256_cmp_pd(longer, _mm256_set1_pd(0x1p100), _CMP_LT_OQ)));
        sure = _mm256_and_pd(sure, numbers);
        left |= (uint32_t)(~_mm256_movemask_pd(sure) & 15) << lane;
        _mm_storeu_si128((__m128i *)(probes + lane), _mm256_cvttpd_epi32(count));
        const __m128i biased = _mm_add_epi32(_mm256_cvttpd_epi32(fixed), _mm_set1_epi32(of.bias));
        const __m128i within = _mm_min_epi32(_mm_max_epi32(biased, _mm_set1_epi32(of.least)), _mm_set1_epi32(of.most));
        _mm_storeu_si128((__m128i *)(detail + lane), _mm_max_epi32(within, _mm_set1_epi32(of.floor)));
    }
    return left;
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline uint32_t find_gradient_details(const ImageDetail &, const ImageGradients &, int32_t *, int32_t *) { return 0xffffffff; }
#endif
