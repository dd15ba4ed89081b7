// Elements of four components, filtered a lane after the other with its components side by side: halves, singles, 16-bit norms, texels of blocks.
//
// Corners are added in the reference engine's order. Their products are exact: components have 24 bits, shares 24 at most.
#pragma once
#include "image_chunks.h"

// Blocks of 4 x 4 texels that have been decoded, by their bits: whatever stores to memory, what is found is what those bits say. A place is that of the
// block in its level, so that neighbours have several.
enum { block_slots = 4096, block_texels = 16, block_part_bits = 4 };

struct DecodedBlocks {
    struct Key {
        uint64_t bits[2];
        uint64_t form;                // 0: nothing is there
    } key[block_slots];
    float texel[block_slots][block_texels][4];
};

// How the blocks of an image are decoded. Offsets of their texels count 16 bytes for each block, and name the texel in their last bits.
struct BlockSource {
    DecodedBlocks *decoded;
    const void *format;               // TexelFormat
    void (*decode)(const void *format, const uint8_t *block, float *texels);
    uint64_t form;                    // a number for what `decode` makes of bits
    uint32_t bytes;                   // of a block: 8 or 16

    // Where a block is decoded; `changed` becomes true where something else was.
    __attribute__((always_inline)) uint32_t slot_of(const uint8_t *host, uint32_t number, bool &changed) const {
        const uint32_t slot = number % block_slots;
        const uint8_t *block = host + (uint64_t)number * bytes;
        uint64_t low, high = 0;
        std::memcpy(&low, block, sizeof(low));
        if (bytes == 16)
            std::memcpy(&high, block + 8, sizeof(high));
        DecodedBlocks::Key &key = decoded->key[slot];
        if (__builtin_expect((key.bits[0] ^ low) | (key.bits[1] ^ high) | (key.form ^ form), 0)) {
            decode(format, block, decoded->texel[slot][0]);
            key = {{low, high}, form};
            changed = true;
        }
        return slot;
    }

    const float *at(const uint8_t *host, uint32_t offset) const {
        bool changed;
        return decoded->texel[slot_of(host, offset >> block_part_bits, changed)][offset % block_texels];
    }
};

// The components of the first lanes' texels, to a row each.
static inline void load_blocks(const BlockSource &source, const uint8_t *host, const uint32_t *offset, int lanes, uint32_t (*words)[image_row]) {
    for (int lane = 0; lane < lanes; ++lane) {
        uint32_t texel[4];
        std::memcpy(texel, source.at(host, offset[lane]), sizeof(texel));
        for (int channel = 0; channel < 4; ++channel)
            words[channel][lane] = texel[channel];
    }
}

// Norms of 16 bits, as the reference engine's quotients of doubles, rounded to singles: no quotient is near the middle of two.
static inline void decode_norm16(const uint32_t *words, unsigned shift, bool is_signed, uint32_t *component) {
    float *values = (float *)component;
    if (is_signed) {
        for (int lane = 0; lane < image_row; ++lane) {
            const float value = (float)(int16_t)(words[lane] >> shift) / 32767.0f;
            values[lane] = value < -1.0f ? -1.0f : value;
        }
        return;
    }
    for (int lane = 0; lane < image_row; ++lane)
        values[lane] = (float)(int32_t)(words[lane] >> shift & 0xffff) / 65535.0f;
}

enum { no_fours = 0, four_halves = 1, four_singles = 2, four_unorms = 3, four_snorms = 4, four_of_block = 5 };

#if defined(__AVX2__)
// A source has the components of a texel.
struct FourHalves {
    typedef uint64_t Eight __attribute__((may_alias, aligned(1)));
    const uint8_t *host;
    __m128 at(uint32_t offset) const {
        __m128 found;                 // converted as they are loaded, which the compiler would do in two steps
        __asm__("vcvtph2ps %1, %0" : "=x"(found) : "m"(*(const Eight *)(host + offset)));
        return found;
    }
};

struct FourSingles {
    const uint8_t *host;
    __m128 at(uint32_t offset) const { return _mm_loadu_ps((const float *)(host + offset)); }
};

struct FourUnorms {
    const uint8_t *host;
    __m128 at(uint32_t offset) const {
        const __m128i words = _mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(host + offset)));
        return _mm_div_ps(_mm_cvtepi32_ps(words), _mm_set1_ps(65535.0f));
    }
};

struct FourSnorms {
    const uint8_t *host;
    __m128 at(uint32_t offset) const {
        const __m128i words = _mm_cvtepi16_epi32(_mm_loadl_epi64((const __m128i *)(host + offset)));
        return _mm_max_ps(_mm_div_ps(_mm_cvtepi32_ps(words), _mm_set1_ps(32767.0f)), _mm_set1_ps(-1.0f));
    }
};

struct FourOfBlock {
    const uint8_t *host;
    const BlockSource source;
    __m128 at(uint32_t offset) const { return _mm_loadu_ps(source.at(host, offset)); }
};

// The components of eight lanes, to a row each.
static inline void put_fours(const __m256d *sum, const RowsOf<float> &to, int lane) {
    __m128 low[4], high[4];
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
        low[part] = _mm256_cvtpd_ps(sum[part]);
        high[part] = _mm256_cvtpd_ps(sum[part + 4]);
    }
    _MM_TRANSPOSE4_PS(low[0], low[1], low[2], low[3]);
    _MM_TRANSPOSE4_PS(high[0], high[1], high[2], high[3]);
#pragma GCC unroll 4
    for (int index = 0; index < 4; ++index)
        if (to.row[index])
            _mm256_storeu_ps(to.row[index] + lane, _mm256_set_m128(high[index], low[index]));
}

static inline void put_fours(const __m256d *sum, const RowsOf<double> &to, int lane) {
    for (int part = 0; part < image_chunk; ++part) {
        alignas(32) double found[4];
        _mm256_store_pd(found, sum[part]);
        for (int index = 0; index < 4; ++index)
            if (to.row[index])
                to.row[index][lane + part] = found[index];
    }
}

// The corners' shares of a sum for eight lanes: products of weights and a power of two, which are exact.
template <int slices> static inline void put_shares(const ImageRow &row, int lane, double (*share)[image_chunk]) {
    const EightDoubles whole = EightDoubles::everywhere(256.0), unit = EightDoubles::everywhere(slices == 2 ? 0x1p-24 : 0x1p-16);
    const EightDoubles right = EightDoubles::of(chunk_of(row.weight[0] + lane)), y = EightDoubles::of(chunk_of(row.weight[1] + lane));
    const EightDoubles left = whole.minus(right), upper = whole.minus(y).times(unit), lower = y.times(unit);
    const EightDoubles flat[4] = {left.times(upper), right.times(upper), left.times(lower), right.times(lower)};
    if (slices == 1) {
#pragma GCC unroll 4
        for (int corner = 0; corner < 4; ++corner)
            flat[corner].put(share[corner]);
        return;
    }
    const EightDoubles far = EightDoubles::of(chunk_of(row.weight[2] + lane)), near = whole.minus(far);
#pragma GCC unroll 4
    for (int corner = 0; corner < 4; ++corner) {
        flat[corner].times(near).put(share[corner]);
        flat[corner].times(far).put(share[4 * (slices - 1) + corner]);
    }
}

#if defined(__AVX512F__)
// The corners' shares for eight lanes.
struct EightShares {
    __m512d of[4];

    __attribute__((always_inline)) EightShares(const ImageRow &row, int lane)
        : EightShares(chunk_of(row.weight[0] + lane), chunk_of(row.weight[1] + lane)) {}

    __attribute__((always_inline)) EightShares(__m256i across, __m256i down) {
        const __m512d whole = _mm512_set1_pd(256.0), unit = _mm512_set1_pd(0x1p-16);
        const __m512d right = _mm512_cvtepi32_pd(across), y = _mm512_cvtepi32_pd(down);
        const __m512d left = _mm512_sub_pd(whole, right), upper = _mm512_mul_pd(_mm512_sub_pd(whole, y), unit), lower = _mm512_mul_pd(y, unit);
        of[0] = _mm512_mul_pd(left, upper);
        of[1] = _mm512_mul_pd(right, upper);
        of[2] = _mm512_mul_pd(left, lower);
        of[3] = _mm512_mul_pd(right, lower);
    }
};

// The corners' shares for sixteen lanes.
struct SixteenShares {
    double of[4][2 * image_chunk];

    __attribute__((always_inline)) void find(const ImageRow &row, int lane) {
        const EightShares low(row, lane), high(row, lane + image_chunk);
#pragma GCC unroll 4
        for (int corner = 0; corner < 4; ++corner) {
            _mm512_store_pd(of[corner], low.of[corner]);
            _mm512_store_pd(of[corner] + image_chunk, high.of[corner]);
        }
    }
};

// The components of a lane and of the one behind it, whose offsets come by one load, into sixteen bytes each. Four doubles are
// converted as they are loaded; eight, of two lanes, would have to be put together first.
template <int lane, class Source>
__attribute__((always_inline)) static inline void filter_two_fours(const Source &source, const uint32_t *offset, const SixteenShares &shares,
                                                                   __m128 *to) {
    __m256d first = _mm256_setzero_pd(), second = first;      // zeros are positive
#pragma GCC unroll 4
    for (int corner = 0; corner < 4; ++corner) {
        const double *const share = shares.of[corner] + lane;
        uint64_t two;
        std::memcpy(&two, offset + image_row * corner + lane, sizeof(two));
        __asm__("" : "+r"(two));      // or the compiler would load the second one by itself
        first = _mm256_fmadd_pd(_mm256_broadcast_sd(share), _mm256_cvtps_pd(source.at((uint32_t)two)), first);
        second = _mm256_fmadd_pd(_mm256_broadcast_sd(share + 1), _mm256_cvtps_pd(source.at((uint32_t)(two >> 32))), second);
    }
    to[0] = _mm256_cvtpd_ps(first);
    to[1] = _mm256_cvtpd_ps(second);
}

__attribute__((always_inline)) static inline __m512 four_quarters(__m128 first, __m128 second, __m128 third, __m128 fourth) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_set_m128(second, first)), _mm256_set_m128(fourth, third), 1);
}

// Every fourth lane from `lane` on, and from the next one.
template <int lane, class Source>
__attribute__((always_inline)) static inline void filter_eight_fours(const Source &source, const uint32_t *offset, const SixteenShares &shares,
                                                                     __m512 *to) {
    __m128 sum[4][2];
    filter_two_fours<lane>(source, offset, shares, sum[0]);
    filter_two_fours<lane + 4>(source, offset, shares, sum[1]);
    filter_two_fours<lane + 8>(source, offset, shares, sum[2]);
    filter_two_fours<lane + 12>(source, offset, shares, sum[3]);
    to[0] = four_quarters(sum[0][0], sum[1][0], sum[2][0], sum[3][0]);
    to[1] = four_quarters(sum[0][1], sum[1][1], sum[2][1], sum[3][1]);
}

// Sixteen lanes at a time; returns those that have a component that is a NaN. Texels are asked for while the shares are found: a level of such elements
// is seldom in the nearest cache. Two opposite corners by turns touch about all lines that the four of all lanes lie in.
template <class Source> static inline uint32_t filter_fours_widely(const Source &source, const ImageRow &row, const RowsOf<float> &to) {
    const RowsOf<float> out = to;
    alignas(64) SixteenShares shares[image_row / (2 * image_chunk)];
    uint32_t strange = 0;
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += 2 * image_chunk) {
        shares[lane / (2 * image_chunk)].find(row, lane);
#pragma GCC unroll 16
        for (int part = 0; part < 2 * image_chunk; ++part)
            __builtin_prefetch(source.host + row.offset[part & 1 ? 3 : 0][lane + part]);
    }
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += 2 * image_chunk) {
        const SixteenShares *share = &shares[lane / (2 * image_chunk)];
        const uint32_t *offset = row.offset[0] + lane;
        __asm__("" : "+r"(offset), "+r"(share));      // one address each, which the compiler would else keep one of for each corner
        __m512 lanes[4];
        filter_eight_fours<0>(source, offset, *share, lanes);
        filter_eight_fours<2>(source, offset, *share, lanes + 2);
        const __m512d left = _mm512_castps_pd(_mm512_unpacklo_ps(lanes[0], lanes[1]));
        const __m512d right = _mm512_castps_pd(_mm512_unpacklo_ps(lanes[2], lanes[3]));
        const __m512d left_high = _mm512_castps_pd(_mm512_unpackhi_ps(lanes[0], lanes[1]));
        const __m512d right_high = _mm512_castps_pd(_mm512_unpackhi_ps(lanes[2], lanes[3]));
        const __m512d component[4] = {_mm512_unpacklo_pd(left, right), _mm512_unpackhi_pd(left, right), _mm512_unpacklo_pd(left_high, right_high),
                                      _mm512_unpackhi_pd(left_high, right_high)};
#pragma GCC unroll 4
        for (int index = 0; index < 4; ++index) {
            if (!out.row[index])
                continue;
            const __m512 values = _mm512_castpd_ps(component[index]);
            _mm512_storeu_ps(out.row[index] + lane, values);
            strange |= (uint32_t)_mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q) << lane;
        }
    }
    return strange;
}
#endif

template <int slices, class Source, class Number>
static inline void filter_fours_in(const Source &source, const ImageRow &row, const RowsOf<Number> &to) {
#pragma GCC unroll 1
    for (int lane = 0; lane < row.lanes; lane += image_chunk) {
        alignas(64) double share[4 * slices][image_chunk];
        put_shares<slices>(row, lane, share);
        const double(*of)[image_chunk] = share;
        __asm__("" : "+r"(of));       // one address, which the compiler would else keep one of for each share
        __m256d sum[image_chunk];
#pragma GCC unroll 8
        for (int part = 0; part < image_chunk; ++part) {
            sum[part] = _mm256_setzero_pd();
#pragma GCC unroll 8
            for (int corner = 0; corner < 4 * slices; ++corner) {
                const __m256d texel = _mm256_cvtps_pd(source.at(row.offset[corner][lane + part]));
                sum[part] = _mm256_fmadd_pd(_mm256_broadcast_sd(&of[corner][part]), texel, sum[part]);
            }
        }
        put_fours(sum, to, lane);
    }
}
#else
// Only for the compiler: hosts without such vectors have no steps.
struct FourHalves { const uint8_t *host; };
struct FourSingles { const uint8_t *host; };
struct FourUnorms { const uint8_t *host; };
struct FourSnorms { const uint8_t *host; };
struct FourOfBlock {
    const uint8_t *host;
    const BlockSource source;
};
template <int slices, class Source, class Number> static inline void filter_fours_in(const Source &, const ImageRow &, const RowsOf<Number> &) {}
#endif

// Filter elements of four components; `to` has a row for each of them in the order of memory.
template <class Source, class Number>
static inline void filter_fours_by(const Source &source, const ImageRow &row, unsigned slices, const RowsOf<Number> &to) {
    if (slices == 1)
        filter_fours_in<1>(source, row, to);
    else
        filter_fours_in<2>(source, row, to);
}

template <class Number>
static inline void filter_fours(int kind, const BlockSource &blocks, const uint8_t *host, const ImageRow &row, unsigned slices, const RowsOf<Number> &to) {
    if (kind == four_halves)
        filter_fours_by(FourHalves{host}, row, slices, to);
    else if (kind == four_singles)
        filter_fours_by(FourSingles{host}, row, slices, to);
    else if (kind == four_unorms)
        filter_fours_by(FourUnorms{host}, row, slices, to);
    else if (kind == four_snorms)
        filter_fours_by(FourSnorms{host}, row, slices, to);
    else
        filter_fours_by(FourOfBlock{host, blocks}, row, slices, to);
}

// The same in one slice; returns the lanes that have a component that is a NaN.
template <class Source> __attribute__((noinline)) static uint32_t filter_flat_fours_by(const Source &source, const ImageRow &row, const RowsOf<float> &to) {
#if defined(__AVX512F__)
    return filter_fours_widely(source, row, to);
#else
    uint32_t strange = 0;
    filter_fours_in<1>(source, row, to);
    for (int index = 0; index < 4; ++index)
        if (to.row[index])
            strange |= nan_lanes(to.row[index]);
    return strange;
#endif
}

static inline uint32_t filter_flat_fours(int kind, const BlockSource &blocks, const uint8_t *host, const ImageRow &row, const RowsOf<float> &to) {
    if (kind == four_halves)
        return filter_flat_fours_by(FourHalves{host}, row, to);
    if (kind == four_singles)
        return filter_flat_fours_by(FourSingles{host}, row, to);
    if (kind == four_unorms)
        return filter_flat_fours_by(FourUnorms{host}, row, to);
    if (kind == four_snorms)
        return filter_flat_fours_by(FourSnorms{host}, row, to);
    return filter_flat_fours_by(FourOfBlock{host, blocks}, row, to);
}
