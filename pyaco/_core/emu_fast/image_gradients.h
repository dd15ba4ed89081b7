// Levels of detail by derivatives, for rows of 32 lanes, a vector of doubles at a time.
//
// What the reference engine rounds to 256ths is log2 of the longer derivative; here it is worked out nearly as exactly, and where it lies so near to the
// middle between two of these that the error could count, the lane is left over.
#pragma once
#include "image_levels.h"
#include "image_rows.h"

// Derivatives of a row's coordinates along x and y, by axis.
struct ImageGradients {
    const float *of[2][3];            // a value for each lane, or, if `by_quad`, the coordinates themselves
    double scale[3];                  // texels of the first level
    const float *bias;                // added; NULL: nothing
    double limit;                     // the greatest ratio of an anisotropic filter; 0: none
    uint32_t axes;
    uint8_t by_quad;                  // differences within a quad of lanes
};

// Derivatives that all lanes of a row had, and what was found for them; `known`: they are there.
struct SameGradients {
    float of[2][3];
    int32_t detail, probes;
    uint8_t known;
};

// The samples of an anisotropic filter: evenly along the longer derivative, in normalised coordinates.
struct alignas(64) ImageProbes {
    int32_t count[image_row];
    int32_t most;                     // of the lanes
    uint8_t halves;                   // all counts are powers of two, so that quotients by them are products
    double part[image_row];           // of a sample in the mean, where that is exact
    double centre[3][image_row], step[3][image_row], place[3][image_row];
};

// Texels along an axis in a direction, by lane.
static inline void find_gradients(const ImageGradients &given, unsigned direction, unsigned axis, double *gradient) {
    const float *row = given.of[direction][axis];
    const double scale = given.scale[axis];
    if (given.by_quad)
        for (int lane = 0; lane < image_row; ++lane)
            gradient[lane] = scale * ((double)row[(lane & ~3) + (1 << direction)] - row[lane & ~3]);
    else
        for (int lane = 0; lane < image_row; ++lane)
            gradient[lane] = row[lane] * scale;
}

// Whether the second of two lengths is the longer, by their squares. Roots are rounded, and may be equal only where squares are nearly so.
static inline void find_longer(const double *first, const double *second, int32_t *longer) {
    int32_t near = 0;
    for (int lane = 0; lane < image_row; ++lane) {
        longer[lane] = first[lane] >= second[lane] ? 0 : 1;
        near |= first[lane] >= second[lane] * (1 - 0x1p-50) ? longer[lane] : 0;
    }
    for (int lane = 0; near && lane < image_row; ++lane)
        longer[lane] = std::sqrt(first[lane]) >= std::sqrt(second[lane]) ? 0 : 1;
}

// A lane's place in the middle of those of all samples, and how far these reach.
static inline void open_probes(const ImageGradients &given, const float *const *coordinate, const double *shift, ImageProbes &probes) {
    double gradient[2][3][image_row], square[2][image_row] = {};
    int32_t most = 1, odd = 0;
    for (unsigned direction = 0; direction < 2; ++direction)
        for (unsigned axis = 0; axis < given.axes; ++axis) {
            find_gradients(given, direction, axis, gradient[direction][axis]);
            for (int lane = 0; lane < image_row; ++lane)
                square[direction][lane] += gradient[direction][axis][lane] * gradient[direction][axis][lane];
        }
    int32_t second[image_row];
    find_longer(square[0], square[1], second);
    for (unsigned axis = 0; axis < given.axes; ++axis) {
        const double less = shift[axis], scale = given.scale[axis];
        for (int lane = 0; lane < image_row; ++lane) {
            probes.centre[axis][lane] = coordinate[axis][lane] - less;
            probes.step[axis][lane] = (second[lane] ? gradient[1][axis][lane] : gradient[0][axis][lane]) / scale;
        }
    }
    for (int lane = 0; lane < image_row; ++lane) {
        most = probes.count[lane] > most ? probes.count[lane] : most;
        odd |= probes.count[lane] & (probes.count[lane] - 1);
        probes.part[lane] = 1.0 / probes.count[lane];
    }
    probes.most = most;
    probes.halves = odd == 0;
}

static inline void place_probes(unsigned axes, int number, ImageProbes &probes) {
    double along[image_row];
    for (int lane = 0; lane < image_row; ++lane)
        along[lane] = probes.halves ? (number + 0.5) * probes.part[lane] : (number + 0.5) / probes.count[lane];
    for (unsigned axis = 0; axis < axes; ++axis)
        for (int lane = 0; lane < image_row; ++lane)
            probes.place[axis][lane] = probes.centre[axis][lane] + probes.step[axis][lane] * (along[lane] - 0.5);
}

// Add a sample's part of the mean, for some lanes that have such a sample.
template <bool halves> static inline void add_probes_by(const ImageProbes &probes, int number, uint32_t lanes, const double *found, double *sum) {
    for (int lane = 0; lane < image_row; ++lane) {
        const double part = halves ? found[lane] * probes.part[lane] : found[lane] / probes.count[lane];
        sum[lane] = (lanes >> lane & 1) && number < probes.count[lane] ? sum[lane] + part : sum[lane];
    }
}

static inline void add_probes(const ImageProbes &probes, int number, uint32_t lanes, const double *found, double *sum) {
    if (probes.halves)
        add_probes_by<true>(probes, number, lanes, found, sum);
    else
        add_probes_by<false>(probes, number, lanes, found, sum);
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
#if defined(__AVX512F__)
enum { gradient_lanes = 8 };
typedef __m512d GradientVector;
typedef __m512i GradientBits;
static inline GradientVector gradients_from(const double *values) { return _mm512_load_pd(values); }
static inline GradientVector root_of(GradientVector values) { return _mm512_sqrt_pd(values); }
static inline GradientVector whole_below(GradientVector values) { return _mm512_roundscale_pd(values, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
static inline GradientVector product_sum(GradientVector one, GradientVector other, GradientVector sum) { return _mm512_fmadd_pd(one, other, sum); }
static inline uint32_t lanes_where(GradientBits found) { return _mm512_movepi64_mask(found); }
static inline void put_whole(int32_t *to, GradientVector values) { _mm256_storeu_si256((__m256i *)to, _mm512_cvttpd_epi32(values)); }
#else
enum { gradient_lanes = 4 };
typedef __m256d GradientVector;
typedef __m256i GradientBits;
static inline GradientVector gradients_from(const double *values) { return _mm256_load_pd(values); }
static inline GradientVector root_of(GradientVector values) { return _mm256_sqrt_pd(values); }
static inline GradientVector whole_below(GradientVector values) { return _mm256_floor_pd(values); }
static inline GradientVector product_sum(GradientVector one, GradientVector other, GradientVector sum) { return _mm256_fmadd_pd(one, other, sum); }
static inline uint32_t lanes_where(GradientBits found) { return (uint32_t)_mm256_movemask_pd((GradientVector)found); }
static inline void put_whole(int32_t *to, GradientVector values) { _mm_storeu_si128((__m128i *)to, _mm256_cvttpd_epi32(values)); }
#endif

static inline GradientVector gradient_all(double value) { return GradientVector{} + value; }
static inline GradientVector lesser(GradientVector one, GradientVector other) { return one < other ? one : other; }
static inline GradientVector greater(GradientVector one, GradientVector other) { return one > other ? one : other; }

// log2 of finite positive normal numbers, with an error of less than 2^-38.
static inline GradientVector nearly_log2(GradientVector value) {
    const GradientBits bits = (GradientBits)value;
    // an exponent in the last bits of 2^52 + 2^51, less that: as a double
    GradientVector whole = (GradientVector)((bits >> 52) + 0x4338000000000000LL) - (0x1.8p52 + 1023.0);
    GradientVector part = (GradientVector)((bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL);
    const GradientBits large = (GradientBits)(part > 1.4142135623730951);
    part = large ? part * 0.5 : part;
    whole = large ? whole + 1.0 : whole;
    // 2 / ln 2 times atanh s, of which s is at most 0.172
    const GradientVector s = (part - 1.0) / (part + 1.0), square = s * s;
    GradientVector sum = gradient_all(1.0 / 15);
    for (int term = 13; term > 0; term -= 2)
        sum = product_sum(sum, square, gradient_all(1.0 / term));
    return product_sum(sum * s, gradient_all(2.8853900817779268), whole);
}

// Groups of lanes that have the same derivatives: lanes, quads, or all of a row, of which gradient_lanes are worked out.
struct GradientGroups {
    unsigned shift, count;            // a lane's group is its number without so many bits
    alignas(64) double square[2][image_row];      // of the lengths of the derivatives, by direction
    alignas(64) double lod[image_row], probes[image_row];
    uint32_t strange;                 // groups that are left over

    GradientGroups(const ImageGradients &given, bool same) {
        shift = given.by_quad ? 2 : same ? 5 : 0;
        count = shift == 5 ? gradient_lanes : image_row >> shift;
        const unsigned stride = given.by_quad ? 4 : 1;
        strange = 0;
        for (unsigned direction = 0; direction < 2; ++direction)
            for (unsigned axis = 0; axis < given.axes; ++axis) {
                const float *first = given.of[direction][axis], *next = first + (1 << direction);
                const double scale = given.scale[axis];
                for (unsigned group = 0; group < count; ++group) {
                    const unsigned lane = stride * group;
                    const double part = given.by_quad ? scale * ((double)next[lane] - first[lane]) : first[lane] * scale, before = square[direction][group];
                    square[direction][group] = axis == 0 ? part * part : before + part * part;
                }
            }
    }

    // What is no number, infinite or nearly zero is left over.
    void find_levels(double limit) {
#pragma GCC unroll 1
        for (unsigned group = 0; group < count; group += gradient_lanes) {
            const GradientVector x = gradients_from(square[0] + group), y = gradients_from(square[1] + group), longer = greater(x, y);
            const GradientBits sure = (GradientBits)(x == x) & (GradientBits)(y == y) & (GradientBits)(longer > 0x1p-200) & (GradientBits)(longer < 0x1p200);
            strange |= (lanes_where(~sure) & ((1u << gradient_lanes) - 1)) << group;
            GradientVector found = nearly_log2(longer) * 0.5, number = gradient_all(1.0);
            if (limit != 0.0) {
                number = probes_of(root_of(longer), root_of(lesser(x, y)), limit);
                found -= nearly_log2(number);
            }
            std::memcpy(lod + group, &found, sizeof(found));
            std::memcpy(probes + group, &number, sizeof(number));
        }
    }

    static GradientVector probes_of(GradientVector longer, GradientVector shorter, double limit) {
        const GradientVector ratio = shorter > 0.0 ? lesser(longer / shorter, gradient_all(limit)) : gradient_all(limit);
        return greater(-whole_below(-ratio), gradient_all(1.0));
    }

    // From groups to lanes.
    void spread() {
        for (int lane = image_row - 1; lane >= 0; --lane) {
            lod[lane] = lod[lane >> shift];
            probes[lane] = probes[lane >> shift];
        }
        strange = lanes_of_groups(strange);
        shift = 0;
        count = image_row;
    }

    // From groups to lanes, of what has been worked out for each group.
    void put(const int32_t *of_group, int32_t *row) const {
        if (shift == 5)
            return fill_row((uint32_t *)row, (uint32_t)*of_group);
        if (shift == 0)
            return (void)std::memcpy(row, of_group, sizeof(int32_t) * image_row);
        for (int lane = 0; lane < image_row; ++lane)
            row[lane] = of_group[lane >> 2];
    }

    uint32_t lanes_of_groups(uint32_t groups) const {
        if (shift == 5)
            return groups & 1 ? 0xffffffff : 0;
        uint32_t lanes = shift == 0 ? groups : 0;
        for (uint32_t left = shift == 2 ? groups : 0; left; left &= left - 1)
            lanes |= 15u << 4 * __builtin_ctz(left);
        return lanes;
    }

    // The levels as 256ths, of which those are left over that lie so near the middle of two that the error could count.
    void round(int32_t *fixed) {
#pragma GCC unroll 1
        for (unsigned group = 0; group < count; group += gradient_lanes) {
            const GradientVector level = gradients_from(lod + group), within = greater(lesser(level, gradient_all(64.0)), gradient_all(-64.0));
            const GradientVector place = within * 256.0 + 0.5, whole = whole_below(place), rest = place - whole;
            const GradientBits sure = (GradientBits)(level == level) & (GradientBits)(rest > 0x1p-24) & (GradientBits)(rest < 1.0 - 0x1p-24);
            strange |= (lanes_where(~sure) & ((1u << gradient_lanes) - 1)) << group;
            put_whole(fixed + group, whole);
        }
    }
};

// Whether all lanes have the derivatives that those of a row had before, by their bits.
static inline bool are_known_gradients(const SameGradients &before, const ImageGradients &given) {
    uint32_t differs = !before.known;
    for (unsigned direction = 0; direction < 2; ++direction)
        for (unsigned axis = 0; axis < given.axes; ++axis) {
            uint32_t bits[2];
            std::memcpy(bits, given.of[direction][axis], 4);
            std::memcpy(bits + 1, &before.of[direction][axis], 4);
            differs |= bits[0] ^ bits[1];
        }
    return differs == 0;
}

static inline bool are_same_gradients(const ImageGradients &given) {
    __m256i differs = _mm256_setzero_si256();
    for (unsigned direction = 0; direction < 2; ++direction)
        for (unsigned axis = 0; axis < given.axes; ++axis) {
            const float *row = given.of[direction][axis];
            for (int lane = 0; lane < image_row; lane += image_chunk)
                differs = _mm256_or_si256(differs, _mm256_xor_si256(chunk_of(row + lane), everywhere(row)));
        }
    return is_zero(differs);
}

// Levels of detail, as `find_details` gives them; `probes` gets the samples that an anisotropic filter takes. Returns the lanes that are left over.
// `before` is of the same instruction and descriptors.
__attribute__((noinline)) static uint32_t find_gradient_details(const ImageDetail &kept, const ImageGradients &given, int32_t *detail, int32_t *probes,
                                                                SameGradients &before) {
    const bool same = !given.by_quad && are_same_gradients(given), keeps = same && !given.bias;
    if (keeps && are_known_gradients(before, given)) {
        fill_row((uint32_t *)detail, (uint32_t)before.detail);
        fill_row((uint32_t *)probes, (uint32_t)before.probes);
        return 0;
    }
    const ImageDetail of = kept;      // not reloaded for each lane
    int32_t fixed[image_row], number[image_row];
    GradientGroups groups(given, same);
    groups.find_levels(given.limit);
    if (given.bias) {
        groups.spread();
        for (int lane = 0; lane < image_row; ++lane)
            groups.lod[lane] += given.bias[lane];
    }
    groups.round(fixed);
    for (unsigned group = 0; group < groups.count; ++group) {
        const int32_t biased = fixed[group] + of.bias, above = biased > of.least ? biased : of.least;
        const int32_t within = above < of.most ? above : of.most;
        fixed[group] = within > of.floor ? within : of.floor;
        number[group] = (int32_t)groups.probes[group];
    }
    groups.put(fixed, detail);
    groups.put(number, probes);
    const uint32_t strange = groups.lanes_of_groups(groups.strange);
    if (keeps && !strange) {
        before.detail = *fixed;
        before.probes = *number;
        before.known = 1;
        for (unsigned direction = 0; direction < 2; ++direction)
            for (unsigned axis = 0; axis < given.axes; ++axis)
                before.of[direction][axis] = *given.of[direction][axis];
    }
    return strange;
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline uint32_t find_gradient_details(const ImageDetail &, const ImageGradients &, int32_t *, int32_t *, SameGradients &) { return 0xffffffff; }
#endif
