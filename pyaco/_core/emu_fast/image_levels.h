// Levels of detail of rows of 32 lanes, and which levels of a surface they stand for. As in the reference engine (image_sample.pxd) they have 8 fraction bits.
#pragma once
#include <cmath>
#include <cstdint>

#include "image_lookups.h"

// What a sampler and a view make of levels of detail.
struct ImageDetail {
    int32_t bias, least, most, floor;     // added; limits of the sampler; of the view, which counts more
    int32_t first, last;                  // levels of the surface
    uint8_t magnified, minified;          // whether the filters of details up to 0 and beyond are linear
    uint8_t mixes;                        // two levels are mixed; else `nearest` is added before the fraction is dropped
    uint8_t perf_mip;
    int32_t nearest;
};

// The levels of a row.
struct alignas(64) ImageLevels {
    int32_t detail[image_row];
    int32_t level[image_row];
    int32_t linear[image_row];            // 0 or 1
    double share[image_row];              // of the level that follows
};

// Levels of detail that lanes give, rounded to nearest; no number is 0.
static inline void find_details(const ImageDetail &of, const float *given, int32_t *detail) {
    for (int lane = 0; lane < image_row; ++lane) {
        float lod = given[lane] == given[lane] ? given[lane] : 0.0f;
        lod = lod > -64.0f ? lod : -64.0f;
        lod = lod < 64.0f ? lod : 64.0f;
        const int32_t fixed = (((int32_t)std::floor(lod * 512.0f) + 1) >> 1) + of.bias;
        const int32_t above = fixed > of.least ? fixed : of.least, within = above < of.most ? above : of.most;
        detail[lane] = within > of.floor ? within : of.floor;
    }
}

// PERF_MIP keeps to one level for longer.
static inline double steeper_share(double share) {
    const double steeper = 1.25 * share - 0.125, below = steeper < 1.0 ? steeper : 1.0;
    return below > 0.0 ? below : 0.0;
}

// The level, or two, of each level of detail; returns whether some lane takes two.
static inline bool find_levels(const ImageDetail &kept, ImageLevels &row) {
    const ImageDetail of = kept;      // not reloaded for each lane
    const int32_t end = (of.last - of.first) << 8;
    int32_t fraction[image_row];
    int32_t any = 0;
    for (int lane = 0; lane < image_row; ++lane) {
        const int32_t detail = row.detail[lane], above = detail > 0 ? detail : 0, within = above < end ? above : end;
        row.linear[lane] = detail > 0 ? of.minified : of.magnified;
        row.level[lane] = of.first + ((within + of.nearest) >> 8);
        fraction[lane] = within & 255;
    }
    if (!of.mixes)
        return false;
    for (int lane = 0; lane < image_row; ++lane) {
        const double share = fraction[lane] * (1.0 / 256);
        row.share[lane] = of.perf_mip ? steeper_share(share) : share;
        any |= row.share[lane] != 0.0 ? 1 : 0;
    }
    return any != 0;
}

// Lanes that have the level and the filter of one of them.
static inline uint32_t lanes_like(const ImageLevels &row, unsigned which) {
    const int32_t level = row.level[which], linear = row.linear[which];
    uint32_t mask = 0;
    for (int lane = 0; lane < image_row; ++lane) {
        // a variable: with UndefinedBehaviorSanitizer, GCC 12 takes the index of an element within a comparison from an unset copy
        const int32_t differs = (row.level[lane] ^ level) | (row.linear[lane] ^ linear);
        mask |= (differs == 0 ? 1u : 0u) << lane;
    }
    return mask;
}
