// Inner loops of image instructions over rows of 32 lanes: from coordinates to texels, from texels to offsets, from texels to filtered components.
//
// The order and precision of every operation are those of the reference engine (image_sample.pyx), so that results are the same bit for bit: products of
// weights (8 bits an axis) and components (24 bits) are exact in double precision, and sums are rounded once.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "image_lookups.h"

static const uint32_t image_outside = 0x80000000u;

// One axis of a level as a sampler addresses it. Entries are bytes from the level's origin, or `image_outside`.
struct ImageAxis {
    const uint32_t *entry;            // by texel, from `first` to `last` + 1; beyond them lies what these have
    int32_t first, last;
    int32_t period;                   // texels after which it repeats; 0: it does not
    uint32_t size;                    // texels
    double scale;                     // from a coordinate to 256ths of a texel
    double shift;                     // of the coordinate, before all
    uint8_t repeats;                  // only the coordinate's fraction counts
    uint8_t exact;                    // `scale` is a power of two
};

// The texels of a level: what the axes give is xored in the bits `low`, with those of the base, and added above.
struct ImageTexels {
    ImageAxis axis[3];
    uint32_t low, base;
    uint8_t *host;                    // the level's origin
};

// Where the lanes of a row sample one level.
struct ImageRow {
    int32_t texel[3][image_row];      // the first neighbour along each axis; for levels of layers the last is the layer
    int32_t weight[3][image_row];     // of the second, in 1/256
    uint32_t first[3][image_row];     // entries of the two neighbours
    uint32_t second[3][image_row];
    uint32_t offset[image_corners][image_row];
    double share[image_corners][image_row];
};

enum { image_truncates = 0, image_nearest = 1, image_linear = 2 };

static inline uint32_t lanes_of(const int32_t *found) {
    uint32_t mask = 0;
    for (int lane = 0; lane < image_row; ++lane)
        mask |= (found[lane] != 0 ? 1u : 0u) << lane;
    return mask;
}

// Texels along one axis, with their weights; returns the lanes whose coordinates are no numbers or far outside, and which are to be done otherwise.
template <int filter, bool repeats>
static inline uint32_t find_texels(const ImageAxis &axis, const float *coordinate, int32_t *texel, int32_t *weight) {
    int32_t strange[image_row];
    int32_t any = 0;
    const double scale = axis.scale, shift = axis.shift;
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
template <int filter, bool repeats> static inline bool find_texels_exactly(const ImageAxis &axis, const float *coordinate, int32_t *texel, int32_t *weight) {
    const float scale = 2.0f * (float)axis.scale, shift = (float)axis.shift;
    const int32_t further = filter == image_truncates ? 0 : filter == image_nearest ? 1 : 1 - 256;
    uint32_t inexact = 0;
    for (int lane = 0; lane < image_row; ++lane) {
        float place;
        bool exact;
        if (repeats) {                // never shifted: only faces of cubes are
            const float down = std::floor(coordinate[lane]), rest = coordinate[lane] - down;
            exact = rest + down == coordinate[lane];
            place = exact ? rest * scale : 0.0f;
        } else {
            const float u = coordinate[lane] - shift, below = std::floor(u * scale);
            const uint32_t known = std::fabs(below) < 0x1p23f ? 1 : 0, same = u + shift == coordinate[lane] ? 1 : 0;
            exact = known & same;
            place = exact ? below : 0.0f;
        }
        inexact |= exact ? 0u : 1u;
        const int32_t moved = (int32_t)place + further;
        texel[lane] = moved >> 9;
        weight[lane] = filter == image_linear ? moved >> 1 & 255 : 0;
    }
    return inexact == 0;
}

template <int filter> static inline uint32_t find_texels_of(const ImageAxis &axis, const float *coordinate, int32_t *texel, int32_t *weight) {
    if (axis.repeats) {
        if (axis.exact && find_texels_exactly<filter, true>(axis, coordinate, texel, weight))
            return 0;
        return find_texels<filter, true>(axis, coordinate, texel, weight);
    }
    if (axis.exact && find_texels_exactly<filter, false>(axis, coordinate, texel, weight))
        return 0;
    return find_texels<filter, false>(axis, coordinate, texel, weight);
}

static inline uint32_t find_texels_by(const ImageAxis &axis, const float *coordinate, int filter, int32_t *texel, int32_t *weight) {
    return filter == image_linear ? find_texels_of<image_linear>(axis, coordinate, texel, weight)
         : filter == image_nearest ? find_texels_of<image_nearest>(axis, coordinate, texel, weight)
                                   : find_texels_of<image_truncates>(axis, coordinate, texel, weight);
}

static inline void find_indices(const ImageAxis &axis, const int32_t *texel, int32_t *index) {
    if (axis.period) {
        const double period = axis.period;
        for (int lane = 0; lane < image_row; ++lane)
            index[lane] = texel[lane] - axis.period * (int32_t)std::floor(texel[lane] / period) - axis.first;
        return;
    }
    const int32_t first = axis.first, last = axis.last;
    for (int lane = 0; lane < image_row; ++lane) {
        const int32_t least = texel[lane] < first ? first : texel[lane];
        index[lane] = (least > last ? last : least) - first;
    }
}

// Entries of texels and of those that follow them; without `both` the latter do not count. Returns the lanes that have one outside.
static inline uint32_t find_entries(const ImageAxis &axis, const int32_t *texel, bool both, uint32_t *first, uint32_t *second) {
    int32_t index[image_row], outside[image_row];
    uint32_t any;
    if (axis.repeats) {               // with its margin the table has every texel that there can be
        any = look_up_pairs(axis.entry - axis.first, texel, first, second);
    } else {
        find_indices(axis, texel, index);
        any = look_up_pairs(axis.entry, index, first, second);
    }
    if (!(any & image_outside))
        return 0;
    const uint32_t follows = both ? image_outside : 0;
    for (int lane = 0; lane < image_row; ++lane) {
        outside[lane] = (int32_t)((first[lane] & image_outside) | (second[lane] & follows));
        first[lane] = first[lane] & image_outside ? 0 : first[lane];
        second[lane] = second[lane] & image_outside ? 0 : second[lane];
    }
    return lanes_of(outside);
}

// Layers of an array, or layers and faces of cubes (8 * layer + face), and their entries; returns the lanes whose coordinates are no numbers.
static inline uint32_t find_layers(const float *coordinate, uint32_t layers, bool cube, int32_t *layer) {
    int32_t strange[image_row], any = 0;
    const int32_t last = (int32_t)(cube ? (layers < 12 ? 1 : layers / 6) : layers) - 1;
    for (int lane = 0; lane < image_row; ++lane) {
        const float given = coordinate[lane];
        strange[lane] = std::fabs(given) < 1e6f ? 0 : 1;
        any |= strange[lane];
        const int32_t whole = (int32_t)std::nearbyint(strange[lane] ? 0.0f : given);
        const int32_t number = cube ? whole >> 3 : whole, face = (whole & 7) < 5 ? whole & 7 : 5;
        const int32_t least = number < 0 ? 0 : number, found = least > last ? last : least;
        layer[lane] = cube ? 6 * found + face : found;
    }
    return any ? lanes_of(strange) : 0;
}

static inline void look_up_layers(const ImageAxis &axis, const int32_t *layer, uint32_t *entry) {
    for (int lane = 0; lane < image_row; ++lane)
        entry[lane] = axis.entry[layer[lane] - axis.first];
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

// Entries of texels inside of the level; of those outside, of which bits are returned, any.
static inline uint32_t look_up_inside(const ImageAxis &axis, const uint32_t *texel, uint32_t *first) {
    int32_t outside[image_row], index[image_row];
    int32_t any = 0;
    for (int lane = 0; lane < image_row; ++lane) {
        outside[lane] = texel[lane] >= axis.size ? 1 : 0;
        any |= outside[lane];
        index[lane] = (outside[lane] ? 0 : (int32_t)texel[lane]) - axis.first;
    }
    look_up(axis.entry, index, first);
    return any ? lanes_of(outside) : 0;
}

// Offsets of texels, each from its entries along the axes.
static inline void join_entries(const ImageTexels &level, const uint32_t *x, const uint32_t *y, const uint32_t *z, uint32_t *offset) {
    const uint32_t low = level.low, base = level.base;
    for (int lane = 0; lane < image_row; ++lane) {
        const uint32_t high = (x[lane] & ~low) + (y[lane] & ~low) + (z[lane] & ~low);
        offset[lane] = high | ((x[lane] ^ y[lane] ^ z[lane] ^ base) & low);
    }
}

// Offsets of the four corners around each lane's place in a slice.
static inline void join_corners(const ImageTexels &level, const ImageRow &row, const uint32_t *z, uint32_t (*offset)[image_row]) {
    const uint32_t low = level.low, base = level.base;
    for (int lane = 0; lane < image_row; ++lane) {
        const uint32_t slice_low = (z[lane] ^ base) & low, slice = z[lane] & ~low;
        const uint32_t left = row.first[0][lane], right = row.second[0][lane], upper = row.first[1][lane], lower = row.second[1][lane];
        const uint32_t left_low = left & low, right_low = right & low, left_high = left & ~low, right_high = right & ~low;
        const uint32_t upper_low = (upper & low) ^ slice_low, lower_low = (lower & low) ^ slice_low;
        const uint32_t upper_high = (upper & ~low) + slice, lower_high = (lower & ~low) + slice;
        offset[0][lane] = (left_high + upper_high) | (left_low ^ upper_low);
        offset[1][lane] = (right_high + upper_high) | (right_low ^ upper_low);
        offset[2][lane] = (left_high + lower_high) | (left_low ^ lower_low);
        offset[3][lane] = (right_high + lower_high) | (right_low ^ lower_low);
    }
}

// Offsets of all corners: a bit of the corner's number for each axis chooses the second neighbour. The last row of entries stands for a layer where the
// level has fewer axes.
static inline void find_corners(const ImageTexels &level, unsigned axes, ImageRow &row) {
    if (axes == 1) {
        join_entries(level, row.first[0], row.first[1], row.first[2], row.offset[0]);
        join_entries(level, row.second[0], row.first[1], row.first[2], row.offset[1]);
        return;
    }
    join_corners(level, row, row.first[2], row.offset);
    if (axes == 3)
        join_corners(level, row, row.second[2], row.offset + 4);
}

// The corners' shares in the result.
template <int axes> static inline void find_shares(ImageRow &row) {
    const double unit = 1.0 / (1 << 8 * axes);
    for (int corner = 0; corner < 1 << axes; ++corner)
        for (int lane = 0; lane < image_row; ++lane) {
            int32_t share = 1;
            for (int axis = 0; axis < axes; ++axis)
                share *= corner >> axis & 1 ? row.weight[axis][lane] : 256 - row.weight[axis][lane];
            row.share[corner][lane] = share * unit;
        }
}

static inline void find_shares_of(unsigned axes, ImageRow &row) {
    if (axes == 1)
        find_shares<1>(row);
    else if (axes == 2)
        find_shares<2>(row);
    else
        find_shares<3>(row);
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
// Sums of 8-bit unorm components are those of integers, which are exact: two components in each dword's halves along x, then each by itself.
struct ByteSums {
    uint32_t even[2][image_row], odd[2][image_row];
};

static inline void filter_bytes_along_x(const uint32_t (*words)[image_row], const int32_t *weight, unsigned rows, ByteSums &sums) {
    const uint32_t bytes = 0x00ff00ff;
    for (unsigned row = 0; row < rows; ++row) {
        const uint32_t *first = words[2 * row], *second = words[2 * row + 1];
        for (int lane = 0; lane < image_row; ++lane) {
            const uint32_t right = (uint32_t)weight[lane], left = 256 - right;
            sums.even[row][lane] = (first[lane] & bytes) * left + (second[lane] & bytes) * right;
            sums.odd[row][lane] = (first[lane] >> 8 & bytes) * left + (second[lane] >> 8 & bytes) * right;
        }
    }
}

// The sum of a component with a weight of 65536 in all.
static inline int32_t sum_of_bytes(const uint32_t (*rows)[image_row], unsigned shift, const int32_t *weight, int lane) {
    const int32_t lower = weight[lane], upper = 256 - lower;
    return (int32_t)(rows[0][lane] >> shift & 0xffff) * upper + (int32_t)(rows[1][lane] >> shift & 0xffff) * lower;
}

static inline void round_byte_sums(const ByteSums &sums, unsigned position, const int32_t *weight, float *component) {
    const uint32_t(*rows)[image_row] = position & 8 ? sums.odd : sums.even;
    const unsigned shift = position & 16;
    for (int lane = 0; lane < image_row; ++lane) {
        const float sum = (float)sum_of_bytes(rows, shift, weight, lane);
        component[lane] = std::fma(sum, 0x1.010102p-24f, sum * -0x1.fdfdfep-49f);       // sum / (255 * 65536), correctly rounded
    }
}

static inline void scale_byte_sums(const ByteSums &sums, unsigned position, const int32_t *weight, double *component) {
    const uint32_t(*rows)[image_row] = position & 8 ? sums.odd : sums.even;
    const unsigned shift = position & 16;
    for (int lane = 0; lane < image_row; ++lane)
        component[lane] = sum_of_bytes(rows, shift, weight, lane) * (1.0 / (255 * 65536));
}

static inline void widen_bytes(const uint32_t *words, unsigned position, double *component) {
    for (int lane = 0; lane < image_row; ++lane)
        component[lane] = (int32_t)(words[lane] >> position & 255) * (1.0 / 255);
}

static inline void mix_slices(double *component, const double *next, const int32_t *weight) {
    for (int lane = 0; lane < image_row; ++lane)
        component[lane] = (component[lane] * (256 - weight[lane]) + next[lane] * weight[lane]) * (1.0 / 256);
}

// A texel without a share does not count: what is not finite there makes a NaN, and its lane is done otherwise.
template <int corners, class Number>
static inline void filter_singles(const float (*component)[image_row], const double (*share)[image_row], Number *sums) {
    for (int lane = 0; lane < image_row; ++lane) {
        double sum = 0;
#pragma GCC unroll 8
        for (int corner = 0; corner < corners; ++corner)
            sum = std::fma(share[corner][lane], (double)component[corner][lane], sum);
        sums[lane] = (Number)sum;
    }
}

template <class Number>
static inline void filter_singles_of(const uint32_t (*component)[image_row], const double (*share)[image_row], unsigned axes, Number *sums) {
    const float(*singles)[image_row] = (const float(*)[image_row])component;
    if (axes == 1)
        filter_singles<2, Number>(singles, share, sums);
    else if (axes == 2)
        filter_singles<4, Number>(singles, share, sums);
    else
        filter_singles<8, Number>(singles, share, sums);
}

// The level that follows, mixed in. Neither difference nor product is exact: the order is the reference engine's.
static inline void mix_levels(double *sums, const double *next, const double *share) {
    for (int lane = 0; lane < image_row; ++lane) {
        const double difference = next[lane] - sums[lane];
        const double part = share[lane] * difference;
        sums[lane] = share[lane] == 0 ? sums[lane] : sums[lane] + part;
    }
}

static inline void round_sums(const double *sums, float *component) {
    for (int lane = 0; lane < image_row; ++lane)
        component[lane] = (float)sums[lane];
}

// What the nearest texel's component becomes in a filter: NaNs quiet, zeros positive.
static inline void pass_singles(uint32_t *component) {
    float *values = (float *)component;
    for (int lane = 0; lane < image_row; ++lane)
        values[lane] = values[lane] + 0.0f;
}

// One or zero, whether a reference is <, == or > a texel, by the bits of `function`; functions 0 and 7 are never and always.
static inline void compare_row(unsigned function, bool clamped, const float *reference, uint32_t *component) {
    const uint32_t less = function & 1, equal = function >> 1 & 1, greater = function >> 2 & 1, always = function == 7;
    for (int lane = 0; lane < image_row; ++lane) {
        float given = reference[lane], texel;
        std::memcpy(&texel, component + lane, 4);
        if (clamped) {
            given = given < 0.0f ? 0.0f : given;
            given = given > 1.0f ? 1.0f : given;
        }
        const uint32_t passes = (given < texel ? less : 0) | (given == texel ? equal : 0) | (given > texel ? greater : 0) | always;
        component[lane] = passes ? 0x3f800000 : 0;
    }
}

static inline uint32_t nan_lanes(const float *values) {
    int32_t found[image_row], any = 0;
    for (int lane = 0; lane < image_row; ++lane) {
        found[lane] = values[lane] != values[lane] ? 1 : 0;
        any |= found[lane];
    }
    return any ? lanes_of(found) : 0;
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
