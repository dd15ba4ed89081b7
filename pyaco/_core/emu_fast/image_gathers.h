// Lanes that lie anyhow, sixteen at a time: filters of elements of four bytes. Elements come by the host's gathers where these are fast, else lane by
// lane (`gather_words`).
#pragma once
#include "image_fetches.h"

// A channel that is a dword of its own, or bits of one that a table says the meaning of.
struct WideChannel {
    const uint32_t *meaning;          // NULL: the dword is a single
    uint32_t shift, mask, dword;
};

#if defined(__AVX512F__)
enum { wide_lanes = 16 };

static inline __m512i wide_of(const void *words) { return _mm512_loadu_si512(words); }

// Whether lanes are to be taken so: not where gathers are slow and lanes are neighbours, whose texels come by pairs (image_lookups.h).
static inline bool lies_widely(const ImageRow &row, unsigned bytes) {
    return !row.patch.used && bytes >= 4 && (fast_gathers || (row.offset[0][1] != row.offset[1][0] && row.offset[0][1] != row.offset[0][0] + 4));
}

// Sums along x of the bytes of four corners, as `ByteSums`, for sixteen lanes.
struct WideSums {
    __m512i upper_even, upper_odd, lower_even, lower_odd;

    __attribute__((always_inline)) static void sum(__m512i first, __m512i second, __m512i left, __m512i right, __m512i &even, __m512i &odd) {
        const __m512i bytes = _mm512_set1_epi32(0x00ff00ff), bias = _mm512_set1_epi16(-0x8000);
        even = _mm512_add_epi16(_mm512_mullo_epi16(_mm512_and_si512(first, bytes), left), _mm512_mullo_epi16(_mm512_and_si512(second, bytes), right));
        odd = _mm512_add_epi16(_mm512_mullo_epi16(_mm512_srli_epi16(first, 8), left), _mm512_mullo_epi16(_mm512_srli_epi16(second, 8), right));
        even = _mm512_xor_si512(even, bias);
        odd = _mm512_xor_si512(odd, bias);
    }

    __attribute__((always_inline)) WideSums(__m512i left, __m512i right, __m512i lower_left, __m512i lower_right, __m512i weight) {
        const __m512i share = _mm512_or_si512(weight, _mm512_slli_epi32(weight, 16)), rest = _mm512_sub_epi16(_mm512_set1_epi16(256), share);
        sum(left, right, rest, share, upper_even, upper_odd);
        sum(lower_left, lower_right, rest, share, lower_even, lower_odd);
    }

    // Of texels by the offsets of their corners from an address on, which are `stride` apart.
    template <int stride> __attribute__((always_inline)) static WideSums of_corners(const uint8_t *host, const uint32_t *offset, __m512i weight) {
        __asm__("" : "+r"(offset));   // one address, which the compiler would else keep one of for each corner
        return WideSums(gather_words(host, offset), gather_words(host, offset + stride), gather_words(host, offset + 2 * stride),
                        gather_words(host, offset + 3 * stride), weight);
    }

    // As `sum_of_byte`.
    template <int byte> __attribute__((always_inline)) __m512i of_byte(__m512i rows) const {
        const __m512i upper = byte & 1 ? upper_odd : upper_even, lower = byte & 1 ? lower_odd : lower_even;
        const __m512i high = _mm512_set1_epi32((int)0xffff0000u), first = byte & 2 ? _mm512_srli_epi32(upper, 16) : upper;
        const __m512i pairs = _mm512_ternarylogic_epi32(high, byte & 2 ? lower : _mm512_slli_epi32(lower, 16), first, 0xca);
        return _mm512_add_epi32(_mm512_madd_epi16(pairs, rows), _mm512_set1_epi32(256 << 15));
    }
};

static inline __m256i half_of(__m512i words, int half) { return half ? _mm512_extracti64x4_epi64(words, 1) : _mm512_castsi512_si256(words); }

static inline void put_wide_sums(__m512i sums, float *to) {
    const __m512 value = _mm512_cvtepi32_ps(sums);
    _mm512_storeu_ps(to, _mm512_fmadd_ps(value, _mm512_set1_ps(0x1.010102p-24f), _mm512_mul_ps(value, _mm512_set1_ps(-0x1.fdfdfep-49f))));
}

static inline void put_wide_sums(__m512i sums, double *to) {
    put_byte_sums(half_of(sums, 0), to);
    put_byte_sums(half_of(sums, 1), to + image_chunk);
}

template <int byte, class Number>
__attribute__((always_inline)) static inline void put_wide_byte(const WideSums &near, const WideSums *far, __m512i rows, const int32_t *deep, Number *to) {
    if (!to)
        return;
    const __m512i sum = near.of_byte<byte>(rows);
    if (!far) {
        put_wide_sums(sum, to);
        return;
    }
    const __m512i more = far->of_byte<byte>(rows);
    put_byte_sums(half_of(sum, 0), half_of(more, 0), chunk_of(deep), to);
    put_byte_sums(half_of(sum, 1), half_of(more, 1), chunk_of(deep + image_chunk), to + image_chunk);
}

// The bytes of sixteen lanes from one on; `y`, `deep`: weights of the second line, and of the second slice, whose sums are `far`.
template <class Number>
__attribute__((always_inline)) static inline void put_wide_bytes(const WideSums &near, __m512i y, const RowsOf<Number> &to, int lane,
                                                                 const WideSums *far = nullptr, const int32_t *deep = nullptr) {
    const __m512i rows = _mm512_or_si512(_mm512_sub_epi32(_mm512_set1_epi32(256), y), _mm512_slli_epi32(y, 16));
    put_wide_byte<0>(near, far, rows, deep, to.row[0] ? to.row[0] + lane : nullptr);
    put_wide_byte<1>(near, far, rows, deep, to.row[1] ? to.row[1] + lane : nullptr);
    put_wide_byte<2>(near, far, rows, deep, to.row[2] ? to.row[2] + lane : nullptr);
    put_wide_byte<3>(near, far, rows, deep, to.row[3] ? to.row[3] + lane : nullptr);
}

template <int slices, class Number> static inline void filter_bytes_widely(const uint8_t *host, const ImageRow &row, const RowsOf<Number> &to) {
    const RowsOf<Number> out = to;
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += wide_lanes) {
        const __m512i x = wide_of(row.weight[0] + lane), y = wide_of(row.weight[1] + lane);
        const WideSums near = WideSums::of_corners<image_row>(host, row.offset[0] + lane, x);
        if (slices == 1) {
            put_wide_bytes(near, y, out, lane);
        } else {
            const WideSums far = WideSums::of_corners<image_row>(host, row.offset[4] + lane, x);
            put_wide_bytes(near, y, out, lane, &far, row.weight[2] + lane);
        }
    }
}

// Filter channels, as `filter_singles`. A lane's words stay in registers for the channels that lie in them.
template <int slices, class Number>
static inline void filter_channels_in(const uint8_t *host, const ImageRow &row, const WideChannel *channels, unsigned count, Number *const *to) {
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += wide_lanes) {
        const Shares<slices> first = shares_of<slices>(row, lane), last = shares_of<slices>(row, lane + image_chunk);
        __m512i words[4 * slices] = {};
        uint32_t dword = 0xffffffff;
#pragma GCC unroll 1
        for (unsigned number = 0; number < count; ++number) {
            const WideChannel &channel = channels[number];
            const __m128i shift = _mm_cvtsi32_si128((int)channel.shift);
            const __m512i mask = _mm512_set1_epi32((int)channel.mask);
            EightDoubles low = EightDoubles::everywhere(0.0), high = low;
            const bool kept = dword == channel.dword;
            dword = channel.dword;
#pragma GCC unroll 8
            for (int corner = 0; corner < 4 * slices; ++corner) {
                if (!kept)
                    words[corner] = gather_words(host + 4 * channel.dword, row.offset[corner] + lane);
                __m512i component = words[corner];
                if (channel.meaning)
                    component = _mm512_i32gather_epi32(_mm512_and_si512(_mm512_srl_epi32(component, shift), mask), channel.meaning, 4);
                low = EightDoubles::of(_mm256_castsi256_ps(half_of(component, 0))).times_plus(EightDoubles::of(first.of[corner]), low);
                high = EightDoubles::of(_mm256_castsi256_ps(half_of(component, 1))).times_plus(EightDoubles::of(last.of[corner]), high);
            }
            const EightDoubles unit = EightDoubles::everywhere(slices == 2 ? 0x1p-24 : 0x1p-16);
            low.times(unit).put(to[number] + lane);
            high.times(unit).put(to[number] + lane + image_chunk);
        }
    }
}

// As `gather_bytes`.
static inline void gather_bytes_widely(const uint8_t *host, const ImageRow &row, unsigned byte, const RowsOf<float> &to) {
    static const int corner_of[4] = {2, 3, 1, 0};
    const __m128i shift = _mm_cvtsi32_si128(8 * (int)byte);
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += wide_lanes)
#pragma GCC unroll 4
        for (int index = 0; index < 4; ++index) {
            const __m512i words = _mm512_srl_epi32(gather_words(host, row.offset[corner_of[index]] + lane), shift);
            _mm512_storeu_ps(to.row[index] + lane, unorm8_of(words, 0));
        }
}

// As `load_corner_elements`, of dwords.
static inline void load_corners_widely(const uint8_t *host, const uint32_t (*offset)[image_row], int lanes, uint32_t *words, unsigned stride) {
#pragma GCC unroll 1
    for (int lane = 0; lane < lanes; lane += wide_lanes)
#pragma GCC unroll 4
        for (int corner = 0; corner < 4; ++corner)
            _mm512_storeu_si512(words + corner * stride + lane, gather_words(host, offset[corner] + lane));
}
#else
static inline bool lies_widely(const ImageRow &, unsigned) { return false; }
template <int slices, class Number> static inline void filter_bytes_widely(const uint8_t *, const ImageRow &, const RowsOf<Number> &) {}
template <int slices, class Number>
static inline void filter_channels_in(const uint8_t *, const ImageRow &, const WideChannel *, unsigned, Number *const *) {}
static inline void gather_bytes_widely(const uint8_t *, const ImageRow &, unsigned, const RowsOf<float> &) {}
static inline void load_corners_widely(const uint8_t *, const uint32_t (*)[image_row], int, uint32_t *, unsigned) {}
#endif

// ---------------------------------------------------------------------------------------------- by what the host is good at
template <class Number> static inline void filter_lanes(const uint8_t *host, const ImageRow &row, unsigned bytes, unsigned slices, const RowsOf<Number> &to) {
    if (!lies_widely(row, bytes))
        filter_bytes(host, row, bytes, slices, to);
    else if (slices == 1)
        filter_bytes_widely<1>(host, row, to);
    else
        filter_bytes_widely<2>(host, row, to);
}

static inline void gather_lanes(const uint8_t *host, const ImageRow &row, unsigned bytes, unsigned byte, const RowsOf<float> &to) {
    if (!lies_widely(row, bytes))
        gather_bytes(host, row, bytes, byte, to);
    else
        gather_bytes_widely(host, row, byte, to);
}

static inline void load_lanes(const uint8_t *host, const ImageRow &row, unsigned bytes, unsigned dword, unsigned slices, uint32_t *words, unsigned stride) {
    if (!lies_widely(row, bytes))
        return load_corners(host, row, bytes, dword, slices, words, stride);
    for (unsigned slice = 0; slice < slices; ++slice)
        load_corners_widely(host + 4 * dword, row.offset + 4 * slice, row.lanes, words + 4 * stride * slice, stride);
}

// Filter channels of elements of four bytes and more. False: the host has no fast gathers, or the lanes are a patch, and nothing was written.
template <class Number>
static inline bool filter_channels(const uint8_t *host, const ImageRow &row, unsigned slices, const WideChannel *channels, unsigned count, Number **to) {
    if (!fast_gathers || row.patch.used)
        return false;
    if (slices == 1)
        filter_channels_in<1>(host, row, channels, count, to);
    else
        filter_channels_in<2>(host, row, channels, count, to);
    return true;
}
