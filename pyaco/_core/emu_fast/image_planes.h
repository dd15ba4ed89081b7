// Filters of channels of eight bits that a table gives the meaning of, as sRGB has, for hosts that look bytes up in tables (AVX512_VBMI).
//
// A table of singles lies in four planes: the lowest byte of each, then the second of each, and so on. The four corners of sixteen lanes are 64 values, of
// which a plane's bytes are looked up at once; unpacking planes gives the singles of a corner after the other, in the order of the lanes.
#pragma once
#include "image_chunks.h"

struct BytePlanes {
    alignas(64) uint8_t byte[4][256];
};

// By byte of an element; NULL: nobody wants it.
struct PlanesOf {
    const BytePlanes *byte[4];
};

static inline void fill_planes(const uint32_t *meaning, BytePlanes &planes) {
    for (int value = 0; value < 256; ++value)
        for (int plane = 0; plane < 4; ++plane)
            planes.byte[plane][value] = (uint8_t)(meaning[value] >> (8 * plane));
}

#if defined(__AVX512F__)
#define LOOKS_UP_BYTES __attribute__((target("avx512vbmi"), always_inline)) static inline

static inline bool has_byte_look_ups() {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 1 & 1);        // AVX512_VBMI
}

static const bool byte_look_ups = has_byte_look_ups();

// The dwords of four corners, for sixteen lanes.
struct FourCorners {
    __m512i of[4];
};

// For each byte of the dwords its values: in each sixteen bytes those of the first corner for four lanes, then those of the second, and so on.
LOOKS_UP_BYTES FourCorners values_by_byte(const FourCorners &words) {
    const __m512i by_byte = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m512i four[4];
    for (int corner = 0; corner < 4; ++corner)
        four[corner] = _mm512_shuffle_epi8(words.of[corner], by_byte);
    const __m512i upper = _mm512_unpacklo_epi32(four[0], four[1]), lower = _mm512_unpacklo_epi32(four[2], four[3]);
    const __m512i upper_high = _mm512_unpackhi_epi32(four[0], four[1]), lower_high = _mm512_unpackhi_epi32(four[2], four[3]);
    return {{_mm512_unpacklo_epi64(upper, lower), _mm512_unpackhi_epi64(upper, lower), _mm512_unpacklo_epi64(upper_high, lower_high),
             _mm512_unpackhi_epi64(upper_high, lower_high)}};
}

// The singles of which planes have a byte each.
LOOKS_UP_BYTES FourCorners singles_of_planes(const __m512i *found) {
    const __m512i low = _mm512_unpacklo_epi8(found[0], found[1]), low_high = _mm512_unpacklo_epi8(found[2], found[3]);
    const __m512i next = _mm512_unpackhi_epi8(found[0], found[1]), next_high = _mm512_unpackhi_epi8(found[2], found[3]);
    return {{_mm512_unpacklo_epi16(low, low_high), _mm512_unpackhi_epi16(low, low_high), _mm512_unpacklo_epi16(next, next_high),
             _mm512_unpackhi_epi16(next, next_high)}};
}

// The singles that values mean, by corner.
LOOKS_UP_BYTES FourCorners singles_of_values(const BytePlanes &planes, __m512i values) {
    const __mmask64 high = _mm512_movepi8_mask(values);
    __m512i found[4];
    for (int plane = 0; plane < 4; ++plane) {
        const uint8_t *byte = planes.byte[plane];
        const __m512i first = _mm512_permutex2var_epi8(_mm512_load_si512(byte), values, _mm512_load_si512(byte + 64));
        const __m512i last = _mm512_permutex2var_epi8(_mm512_load_si512(byte + 128), values, _mm512_load_si512(byte + 192));
        found[plane] = _mm512_mask_blend_epi8(high, first, last);
    }
    return singles_of_planes(found);
}

// The dwords of corners in rows, `stride` dwords apart.
struct CornersInRows {
    const uint32_t *words;
    unsigned stride;

    __attribute__((always_inline)) FourCorners of(int slice, int lane) const {
        FourCorners found;
        for (int corner = 0; corner < 4; ++corner)
            found.of[corner] = _mm512_loadu_si512(words + (4 * slice + corner) * stride + lane);
        return found;
    }
};

// As `filter_singles_in`.
template <int slices, class Number>
__attribute__((target("avx512vbmi"), noinline)) static void filter_planes_in(const CornersInRows &corners, const ImageRow &row, const PlanesOf &planes,
                                                                             const RowsOf<Number> &to) {
    const __m512d unit = _mm512_set1_pd(slices == 2 ? 0x1p-24 : 0x1p-16);
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += 2 * image_chunk) {
        const Shares<slices> first = shares_of<slices>(row, lane), last = shares_of<slices>(row, lane + image_chunk);
        __m512d low_share[4 * slices], high_share[4 * slices];
        FourCorners values[slices];
        for (int slice = 0; slice < slices; ++slice) {
            for (int corner = 0; corner < 4; ++corner) {
                low_share[4 * slice + corner] = _mm512_cvtepi32_pd(first.of[4 * slice + corner]);
                high_share[4 * slice + corner] = _mm512_cvtepi32_pd(last.of[4 * slice + corner]);
            }
            values[slice] = values_by_byte(corners.of(slice, lane));
        }
#pragma GCC unroll 4
        for (int byte = 0; byte < 4; ++byte) {
            if (!to.row[byte])
                continue;
            __m512d low = _mm512_setzero_pd(), high = low;
            for (int slice = 0; slice < slices; ++slice) {
                const FourCorners singles = singles_of_values(*planes.byte[byte], values[slice].of[byte]);
                for (int corner = 0; corner < 4; ++corner) {
                    const __m512 single = _mm512_castsi512_ps(singles.of[corner]);
                    low = _mm512_fmadd_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(single)), low_share[4 * slice + corner], low);
                    high = _mm512_fmadd_pd(_mm512_cvtps_pd(_mm512_extractf32x8_ps(single, 1)), high_share[4 * slice + corner], high);
                }
            }
            put_doubles(_mm512_mul_pd(low, unit), to.row[byte] + lane);
            put_doubles(_mm512_mul_pd(high, unit), to.row[byte] + lane + image_chunk);
        }
    }
}

// `words` has a row for each corner, `stride` dwords apart.
template <class Number>
static inline void filter_planes(const uint32_t *words, unsigned stride, const ImageRow &row, unsigned slices, const PlanesOf &planes,
                                 const RowsOf<Number> &to) {
    if (slices == 1)
        filter_planes_in<1>(CornersInRows{words, stride}, row, planes, to);
    else
        filter_planes_in<2>(CornersInRows{words, stride}, row, planes, to);
}

#else
static const bool byte_look_ups = false;
template <class Number>
static inline void filter_planes(const uint32_t *, unsigned, const ImageRow &, unsigned, const PlanesOf &, const RowsOf<Number> &) {}
#endif
