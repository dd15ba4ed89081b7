// Inner loops of image instructions over rows of 32 lanes: from coordinates to texels, from texels to offsets, from texels to filtered components.
//
// The order and precision of every operation are those of the reference engine (image_sample.pyx), so that results are the same bit for bit: products of
// weights (8 bits an axis) and components (24 bits) are exact in double precision, and sums are rounded once.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "image_lookups.h"

// A function that is not to become part of the one that ends in calling it, and would save registers for its sake.
template <class Function> static inline Function *apart(Function *function) {
    __asm__("" : "+r"(function));
    return function;
}

static const uint32_t image_outside = 0x80000000u;

// How an axis goes on beyond its ends: its texels come again, the last one stays, there is a border, or otherwise.
enum { address_repeat = 0, address_clamp = 1, address_border = 2, address_else = 3 };

// One axis of a level as a sampler addresses it. Entries are bytes from the level's origin, or `image_outside`.
struct ImageAxis {
    const uint32_t *entry;            // by texel, from `first` to `last` + 1; beyond them lies what these have
    int32_t first, last;
    int32_t period;                   // texels after which it repeats; 0: it does not
    int32_t paired_first, paired_end; // texels that lie in quads, both of them even (image_patches.h)
    uint32_t size;                    // texels
    double scale;                     // from a coordinate to 256ths of a texel
    double shift;                     // of the coordinate, before all
    float exact_scale, exact_shift;   // from a coordinate to 512ths of a texel, where that is exact
    uint8_t repeats;                  // only the coordinate's fraction counts
    uint8_t exact;                    // `scale` is a power of two
    uint8_t addressing;               // address_*
};

// A texel of a cube: what continues a face beyond an edge.
struct CubeTexel {
    uint16_t x, y, face;
};

// The texels of a level: what the axes give is xored in the bits `low` and added above. The second axis has the base's bits, and the first slice's entry,
// which the third counts from.
struct ImageTexels {
    ImageAxis axis[3];
    uint32_t low;
    const CubeTexel *beyond;          // by face, edge (x below 0, x beyond, y below 0, y beyond) and texel along the edge; NULL: faces end there
    uint8_t *host;                    // the level's origin
    const struct TexelDigits *digits; // image_digits.h
    const struct TexelSquares *squares;     // image_squares.h; NULL: texels do not lie so
};

// Quads of 2 x 2 texels that hold those of a row's lanes (image_patches.h).
struct ImagePatch {
    bool used;                        // else the texels are found by their offsets
    uint8_t odd_column, odd_line;     // whether the first texel is the second one of its quad
    bool spread;                      // of a filter: lanes have these columns and lines after the first ones
    alignas(32) uint32_t offset[5][8];    // of five quads in three pairs of lines, or in five where a patch is that of two rows
    alignas(32) int32_t column[8], line[8];
};

// Rows of a step, in whole lines of the host's cache: a vector that lies in two of them takes twice as long.
struct alignas(64) FourRows {
    uint32_t of[4][image_row];
};

struct alignas(64) FourSums {
    double of[4][image_row];
};

struct alignas(64) WaveSingles {
    float of[2 * image_row];
};

struct alignas(64) WaveSums {
    double of[4][2 * image_row];
};

// The elements of a row: dwords, or components where each is decoded by itself.
struct alignas(64) Elements {
    uint32_t words[4][image_row];
};

// Where the lanes of a row sample one level.
struct alignas(64) ImageRow {
    ImagePatch patch;
    int32_t texel[3][image_row];      // the first neighbour along each axis; for levels of layers the last is the layer
    int32_t weight[3][image_row];     // of the second, in 1/256
    uint32_t offset[image_corners][image_row];
    int lanes = image_row;            // filters look at, and make, these from the first on
};

enum { image_truncates = 0, image_nearest = 1, image_linear = 2 };

static inline uint32_t lanes_of(const int32_t *found) {
    uint32_t mask = 0;
    for (int lane = 0; lane < image_row; ++lane)
        mask |= (found[lane] != 0 ? 1u : 0u) << lane;
    return mask;
}

// Texels along one axis, with their weights; returns the lanes whose coordinates are no numbers or far outside, and which are to be done otherwise.
template <int filter, bool repeats, class Number>
static inline uint32_t find_texels(const ImageAxis &axis, const Number *coordinate, double shift, int32_t *texel, int32_t *weight) {
    int32_t strange[image_row];
    int32_t any = 0;
    const double scale = axis.scale;
    for (int lane = 0; lane < image_row; ++lane) {
        double u = (double)coordinate[lane] - shift;
        if (repeats)
            u -= std::floor(u);
        const double place = u * scale;
        const bool known = std::fabs(place) < 0x1p30;
        const double fixed = known ? place : 0.0;
        const int32_t whole = (int32_t)std::floor(filter == image_truncates ? fixed * 0x1p-8 : fixed + 0.5);
        strange[lane] = known ? 0 : 1;
        any |= strange[lane];
        texel[lane] = filter == image_truncates ? whole : (filter == image_linear ? whole - 128 : whole) >> 8;
        weight[lane] = filter == image_linear ? (whole - 128) & 255 : 0;
    }
    return any ? lanes_of(strange) : 0;
}

// The same in single precision where nothing is rounded: the level's extent is a power of two. False: some lane's fraction is not exact, or no number.
// With the place in 512ths rounded down, adding what half a 256th is, or a texel less half of it, leaves only shifts.
#if defined(__AVX2__)
struct ExactAxis {
    __m256 scale, shift;
    __m256i first, last;
    const uint32_t *entry;            // by texel
    bool repeats;

    explicit ExactAxis(const ImageAxis &axis)
        : scale(_mm256_set1_ps(axis.exact_scale)), shift(_mm256_set1_ps(axis.exact_shift)), first(_mm256_set1_epi32(axis.first)),
          last(_mm256_set1_epi32(axis.last)), entry(axis.entry - axis.first), repeats(axis.repeats) {}

    // Texels as indices of the axis' table.
    __m256i limit(__m256i texel) const { return repeats ? texel : _mm256_min_epi32(_mm256_max_epi32(texel, first), last); }
};

// The places of eight lanes in 512ths, moved by what the filter wants; `all` loses the lanes that are not exact.
template <int filter>
__attribute__((always_inline)) static inline __m256i find_places_exactly(const ExactAxis &axis, __m256 given, __m256 &all) {
    const __m256i further = _mm256_set1_epi32(filter == image_truncates ? 0 : filter == image_nearest ? 1 : 1 - 256);
    const __m256 sign = _mm256_set1_ps(-0.0f), limit = _mm256_set1_ps(0x1p23f);
    __m256 place, exact;
    if (axis.repeats) {               // never shifted: only faces of cubes are
        const __m256 down = _mm256_floor_ps(given), rest = _mm256_sub_ps(given, down), sum = _mm256_add_ps(rest, down);
        if (filter == image_truncates) {
            exact = _mm256_cmp_ps(sum, given, _CMP_EQ_OQ);
            place = _mm256_mul_ps(rest, axis.scale);
        } else {
            // Only what is a little less than zero has a rounded fraction, whose sum with -1 is exact. The fraction below it has the same place in 512ths,
            // of which there are 2^24 at most.
            const __m256i above = _mm256_castps_si256(_mm256_cmp_ps(sum, given, _CMP_GT_OQ));
            exact = _mm256_cmp_ps(rest, rest, _CMP_ORD_Q);
            place = _mm256_mul_ps(_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(rest), above)), axis.scale);
        }
    } else {
        const __m256 u = _mm256_sub_ps(given, axis.shift);
        place = _mm256_floor_ps(_mm256_mul_ps(u, axis.scale));
        exact = _mm256_and_ps(_mm256_cmp_ps(_mm256_andnot_ps(sign, place), limit, _CMP_LT_OQ),
                              _mm256_cmp_ps(_mm256_add_ps(u, axis.shift), given, _CMP_EQ_OQ));
    }
    all = _mm256_and_ps(all, exact);
    return _mm256_add_epi32(_mm256_cvttps_epi32(_mm256_and_ps(place, exact)), further);
}

static inline __m256i weight_of_place(__m256i place) { return _mm256_and_si256(_mm256_srli_epi32(place, 1), _mm256_set1_epi32(255)); }

template <int filter> static inline bool find_texels_exactly(const ImageAxis &axis, const float *coordinate, int32_t *texel, int32_t *weight) {
    const ExactAxis exact(axis);
    __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
#pragma GCC unroll 1
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        const __m256i place = find_places_exactly<filter>(exact, _mm256_loadu_ps(coordinate + lane), all);
        put_chunk(texel + lane, _mm256_srai_epi32(place, 9));
        put_chunk(weight + lane, filter == image_linear ? weight_of_place(place) : _mm256_setzero_si256());
    }
    return _mm256_movemask_ps(all) == 0xff;
}
#else
template <int filter> static inline bool find_texels_exactly(const ImageAxis &, const float *, int32_t *, int32_t *) { return false; }
#endif

template <int filter> static inline uint32_t find_texels_of(const ImageAxis &axis, const float *coordinate, int32_t *texel, int32_t *weight) {
    if (axis.exact && find_texels_exactly<filter>(axis, coordinate, texel, weight))
        return 0;
    return axis.repeats ? find_texels<filter, true>(axis, coordinate, axis.shift, texel, weight)
                        : find_texels<filter, false>(axis, coordinate, axis.shift, texel, weight);
}

// From coordinates in double precision, from which the axis' shift has been taken.
template <int filter> static inline uint32_t find_texels_of(const ImageAxis &axis, const double *coordinate, int32_t *texel, int32_t *weight) {
    return axis.repeats ? find_texels<filter, true>(axis, coordinate, 0.0, texel, weight) : find_texels<filter, false>(axis, coordinate, 0.0, texel, weight);
}

template <class Number>
static inline uint32_t find_texels_by(const ImageAxis &axis, const Number *coordinate, int filter, int32_t *texel, int32_t *weight) {
    return filter == image_linear ? find_texels_of<image_linear>(axis, coordinate, texel, weight)
         : filter == image_nearest ? find_texels_of<image_nearest>(axis, coordinate, texel, weight)
                                   : find_texels_of<image_truncates>(axis, coordinate, texel, weight);
}

// Texels as indices of the axis' table.
static inline void limit_texels(const ImageAxis &axis, int32_t *texel) {
    if (axis.repeats)                 // with its margin the table has every texel that there can be
        return;
    if (axis.period) {
        const double period = axis.period;
        for (int lane = 0; lane < image_row; ++lane)
            texel[lane] -= axis.period * (int32_t)std::floor(texel[lane] / period);
        return;
    }
    const int32_t first = axis.first, last = axis.last;
    for (int lane = 0; lane < image_row; ++lane) {
        const int32_t least = texel[lane] < first ? first : texel[lane];
        texel[lane] = least > last ? last : least;
    }
}

// A layer of an array, or a layer and a face of cubes (8 * layer + face). False: the coordinate is no number.
static inline bool find_layer(float given, uint32_t layers, bool cube, int32_t &layer) {
    const int32_t last = (int32_t)(cube ? (layers < 12 ? 1 : layers / 6) : layers) - 1;
    const bool known = std::fabs(given) < 1e6f;
    const int32_t whole = (int32_t)std::nearbyint(known ? given : 0.0f);
    const int32_t number = cube ? whole >> 3 : whole, face = (whole & 7) < 5 ? whole & 7 : 5;
    const int32_t least = number < 0 ? 0 : number, found = least > last ? last : least;
    layer = cube ? 6 * found + face : found;
    return known;
}

// Those of a row; returns the lanes whose coordinates are no numbers.
static inline uint32_t find_layers(const float *coordinate, uint32_t layers, bool cube, int32_t *layer) {
    int32_t strange[image_row], any = 0;
    for (int lane = 0; lane < image_row; ++lane) {
        strange[lane] = find_layer(coordinate[lane], layers, cube, layer[lane]) ? 0 : 1;
        any |= strange[lane];
    }
    return any ? lanes_of(strange) : 0;
}

static inline void fill_row(uint32_t *row, uint32_t value) {
    for (int lane = 0; lane < image_row; ++lane)
        row[lane] = value;
}

// Lanes of `mask` from one row, the others from another.
static inline void take_lanes(uint32_t mask, const uint32_t *from, uint32_t *row) {
    for (int lane = 0; lane < image_row; ++lane)
        row[lane] = mask >> lane & 1 ? from[lane] : row[lane];
}

static inline void add_offsets(const uint32_t *packed, unsigned axis, int32_t *texel) {
    for (int lane = 0; lane < image_row; ++lane)
        texel[lane] += (int32_t)(packed[lane] << (26 - 8 * axis)) >> 26;
}

// ------------------------------------------------------------------------------------------------------------- elements
// k / 255 in single precision, correctly rounded for k from 0 to 255: the reciprocal and what it lacks.
static inline float unorm8(uint32_t word, unsigned shift) {
    const float value = (float)(int32_t)(word >> shift & 255);
    return std::fma(value, 0x1.010102p-8f, value * -0x1.fdfdfep-33f);
}

static inline void decode_unorm8(const uint32_t *words, unsigned shift, uint32_t *component) {
    float *values = (float *)component;
    for (int lane = 0; lane < image_row; ++lane)
        values[lane] = unorm8(words[lane], shift);
}

// Channels of few bits by a table of what each of their values means.
static inline void decode_by_table(const uint32_t *words, unsigned shift, uint32_t mask, const uint32_t *meaning, uint32_t *component) {
    for (int lane = 0; lane < image_row; ++lane)
        component[lane] = meaning[words[lane] >> shift & mask];
}

// Halves, NaNs made quiet.
static inline void decode_halves(const uint32_t *words, unsigned shift, uint32_t *component) {
#if defined(__F16C__)
    for (int lane = 0; lane < image_row; lane += 8) {
        __m256i halves = _mm256_srl_epi32(_mm256_loadu_si256((const __m256i *)(words + lane)), _mm_cvtsi32_si128((int)shift));
        halves = _mm256_and_si256(halves, _mm256_set1_epi32(0xffff));
        halves = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), 0x08);
        _mm256_storeu_ps((float *)component + lane, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
    }
#else
    (void)words, (void)shift, (void)component;      // only for the compiler: such hosts have no steps
#endif
}

// -------------------------------------------------------------------------------------------------------------- filters
static inline void widen_bytes(const uint32_t *words, unsigned position, double *component) {
    for (int lane = 0; lane < image_row; ++lane)
        component[lane] = (int32_t)(words[lane] >> position & 255) * (1.0 / 255);
}

// The level that follows, mixed in. Neither difference nor product is exact: the order is the reference engine's.
static inline double mixed_level(double sum, double next, double share) {
    const double difference = next - sum, part = share * difference;
    return share == 0 ? sum : sum + part;
}

static inline void mix_levels(double *sums, const double *next, const double *share) {
    for (int lane = 0; lane < image_row; ++lane)
        sums[lane] = mixed_level(sums[lane], next[lane], share[lane]);
}

static inline void round_sums(const double *sums, float *component) {
    for (int lane = 0; lane < image_row; ++lane)
        component[lane] = (float)sums[lane];
}

// A level with the one that follows mixed in, rounded.
static inline void round_mixed(const double *sums, const double *next, const double *share, float *component) {
    for (int lane = 0; lane < image_row; ++lane)
        component[lane] = (float)mixed_level(sums[lane], next[lane], share[lane]);
}

// What the nearest texel's component becomes in a filter: NaNs quiet, zeros positive.
static inline void pass_singles(uint32_t *component) {
    float *values = (float *)component;
    for (int lane = 0; lane < image_row; ++lane)
        values[lane] = values[lane] + 0.0f;
}

// References to compare depth with that lies between 0 and 1.
static inline void limit_references(const float *reference, float *limited) {
    for (int lane = 0; lane < image_row; ++lane) {
        const float given = reference[lane] < 0.0f ? 0.0f : reference[lane];
        limited[lane] = given > 1.0f ? 1.0f : given;
    }
}

// One or zero, whether a reference is <, == or > a texel, by the bits of `function`; functions 0 and 7 are never and always.
static inline void compare_row(unsigned function, const float *reference, uint32_t *component) {
    const uint32_t less = function & 1, equal = function >> 1 & 1, greater = function >> 2 & 1, always = function == 7;
    for (int lane = 0; lane < image_row; ++lane) {
        const float given = reference[lane];
        float texel;
        std::memcpy(&texel, component + lane, 4);
        const uint32_t passes = (given < texel ? less : 0) | (given == texel ? equal : 0) | (given > texel ? greater : 0) | always;
        component[lane] = passes ? 0x3f800000 : 0;
    }
}

static inline uint32_t nan_lanes(const float *values) {
    uint32_t found = 0;
#if defined(__AVX2__)
    for (int lane = 0; lane < image_row; lane += image_chunk) {
        const __m256 value = _mm256_loadu_ps(values + lane);
        found |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)) << lane;
    }
#else
    (void)values;                     // only for the compiler: such hosts have no steps
#endif
    return found;
}

// --------------------------------------------------------------------------------------------------------------- stores
// Components as 8-bit unorm into a byte of each element: NaNs are 0, halves go to even.
static inline void encode_unorm8(const uint32_t *component, unsigned shift, uint32_t *words) {
    const float *values = (const float *)component;
    for (int lane = 0; lane < image_row; ++lane) {
        float value = values[lane] > 0.0f ? values[lane] : 0.0f;
        value = value > 1.0f ? 1.0f : value;
        const float rounded = std::fma(value, 255.0f, 0x1.8p23f);         // once: units are the lowest bit here
        uint32_t bits;
        std::memcpy(&bits, &rounded, 4);
        words[lane] |= (bits & 255) << shift;
    }
}
