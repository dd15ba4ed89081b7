// Texels that integers name, and nearest texels, wherever the lanes of a wave have them: offsets by digits (image_digits.h), elements by gathers of the
// host where these are fast, else lane by lane. No texel is read that is not there: lanes that are idle or outside take the level's first bytes.
//
// A wave is placed as a whole before its texels are read, since its coordinates may lie in the registers of the result.
#pragma once
#include "image_chunks.h"
#include "image_digits.h"

enum { wave_most = 2 * image_row };

// What becomes of a channel: a dword as it is, an integer, a fraction of the largest number, a half, what a table says, or a number of nine bits with the
// exponent that is in the five highest.
enum {
    fetch_constant = 0, fetch_dword = 1, fetch_unsigned = 2, fetch_signed = 3, fetch_unorm8 = 4, fetch_unorm = 5, fetch_snorm = 6, fetch_half = 7,
    fetch_table = 8, fetch_shared_exponent = 9, fetch_unknown = 10,
};

// A component of the result: what becomes of `bits` bits of a dword of a texel, from `shift` on.
struct FetchedComponent {
    const uint32_t *meaning;          // fetch_table: by value
    uint32_t at;                      // its register, as dwords of all registers
    uint32_t value;                   // fetch_constant
    uint8_t kind, dword, shift, bits;
    uint8_t everywhere;               // also of a texel that is outside
};

// Texels of a wave: rows of 32 lanes of each coordinate; `z` is NULL where there is one slice only.
struct WaveTexels {
    const uint32_t *x, *y, *z;
    uint64_t active;
    unsigned rows;
};

#if defined(__AVX2__)
#if defined(__AVX512F__)
enum { fetch_lanes = 16, fetch_digit_bits = 4, fetch_digits = digits_of_four };
typedef __m512i FetchWords;
typedef __mmask16 FetchLanes;

static inline FetchLanes lanes_by_bits(uint32_t bits) { return (FetchLanes)bits; }
static inline uint32_t bits_of_lanes(FetchLanes lanes) { return lanes; }
static inline FetchWords fetch_words(const void *words) { return _mm512_loadu_si512(words); }
static inline FetchWords fetch_all(uint32_t word) { return _mm512_set1_epi32((int)word); }
static inline void put_fetched(void *to, FetchWords words) { _mm512_storeu_si512(to, words); }
static inline void put_fetched_lanes(void *to, FetchWords words, FetchLanes lanes) { _mm512_mask_storeu_epi32(to, lanes, words); }
static inline FetchWords only_lanes(FetchWords words, FetchLanes lanes) { return _mm512_maskz_mov_epi32(lanes, words); }
static inline FetchLanes lanes_within(FetchWords words, FetchWords last, FetchLanes lanes) { return _mm512_mask_cmple_epu32_mask(lanes, words, last); }
static inline FetchWords words_and(FetchWords one, FetchWords other) { return _mm512_and_si512(one, other); }
static inline FetchWords words_and_not(FetchWords no, FetchWords other) { return _mm512_andnot_si512(no, other); }
static inline FetchWords words_or(FetchWords one, FetchWords other) { return _mm512_or_si512(one, other); }
static inline FetchWords words_xor(FetchWords one, FetchWords other) { return _mm512_xor_si512(one, other); }
static inline FetchWords words_sum(FetchWords one, FetchWords other) { return _mm512_add_epi32(one, other); }
static inline FetchWords words_shifted(FetchWords words, int bits) { return _mm512_srli_epi32(words, (unsigned)bits); }
static inline FetchWords words_shifted(FetchWords words, FetchWords bits) { return _mm512_srlv_epi32(words, bits); }
static inline FetchWords words_eight_times(FetchWords words) { return _mm512_slli_epi32(words, 3); }
static inline FetchWords digit_table(const TexelDigits &digits, int axis, int number) { return fetch_words(digits.four[axis][number]); }
static inline FetchWords look_up_digit(FetchWords table, FetchWords texel) { return _mm512_permutexvar_epi32(texel, table); }
__attribute__((always_inline)) static inline FetchWords gather_words(const uint8_t *host, const uint32_t *offset) {
    if (fast_gathers)
        return _mm512_i32gather_epi32(fetch_words(offset), host, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(words_at(host, offset)), words_at(host, offset + image_chunk), 1);
}
static inline FetchWords gather_entries(const uint32_t *entry, FetchWords index) { return _mm512_i32gather_epi32(index, entry, 4); }

// Two dwords of eight lanes.
static inline __m512i pairs_at(const uint8_t *host, const uint32_t *offset) {
    if (fast_gathers)
        return _mm512_i32gather_epi64(chunk_of(offset), host, 1);
    const __m256i low = four_pairs(host, offset[0], offset[1], offset[2], offset[3]);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), four_pairs(host, offset[4], offset[5], offset[6], offset[7]), 1);
}

// Those of all lanes.
static inline void gather_pairs(const uint8_t *host, const uint32_t *offset, FetchWords &first, FetchWords &second) {
    const __m512i low = pairs_at(host, offset), high = pairs_at(host, offset + image_chunk);
    first = _mm512_permutex2var_epi32(low, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), high);
    second = _mm512_permutex2var_epi32(low, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), high);
}

// Integers as quotients of a number, which both are exact as singles.
static inline FetchWords quotients_of(FetchWords words, uint32_t largest) {
    return _mm512_castps_si512(_mm512_div_ps(_mm512_cvtepi32_ps(words), _mm512_set1_ps((float)largest)));
}

static inline FetchWords not_below(FetchWords singles, float least) {
    return _mm512_castps_si512(_mm512_max_ps(_mm512_castsi512_ps(singles), _mm512_set1_ps(least)));
}

static inline FetchWords product_words(FetchWords integers, FetchWords single) {
    return _mm512_castps_si512(_mm512_mul_ps(_mm512_cvtepi32_ps(integers), _mm512_castsi512_ps(single)));
}

static inline FetchWords words_raised(FetchWords words, int bits) { return _mm512_sll_epi32(words, _mm_cvtsi32_si128(bits)); }
static inline FetchWords words_shifted_signed(FetchWords words, int bits) { return _mm512_sra_epi32(words, _mm_cvtsi32_si128(bits)); }
static inline FetchWords unorm8_words(FetchWords words, int byte) { return _mm512_castps_si512(unorm8_of(words, byte)); }
static inline FetchWords half_words(FetchWords words) { return _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(words))); }
#else
enum { fetch_lanes = 8, fetch_digit_bits = 3, fetch_digits = digits_of_three };
typedef __m256i FetchWords;
typedef __m256i FetchLanes;

static inline FetchLanes lanes_by_bits(uint32_t bits) {
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit);
}
static inline uint32_t bits_of_lanes(FetchLanes lanes) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(lanes)); }
static inline FetchWords fetch_words(const void *words) { return chunk_of(words); }
static inline FetchWords fetch_all(uint32_t word) { return _mm256_set1_epi32((int)word); }
static inline void put_fetched(void *to, FetchWords words) { put_chunk(to, words); }
static inline void put_fetched_lanes(void *to, FetchWords words, FetchLanes lanes) { _mm256_maskstore_epi32((int *)to, lanes, words); }
static inline FetchWords only_lanes(FetchWords words, FetchLanes lanes) { return _mm256_and_si256(words, lanes); }
static inline FetchLanes lanes_within(FetchWords words, FetchWords last, FetchLanes lanes) {
    return _mm256_and_si256(_mm256_cmpeq_epi32(_mm256_min_epu32(words, last), words), lanes);
}
static inline FetchWords words_and(FetchWords one, FetchWords other) { return _mm256_and_si256(one, other); }
static inline FetchWords words_and_not(FetchWords no, FetchWords other) { return _mm256_andnot_si256(no, other); }
static inline FetchWords words_or(FetchWords one, FetchWords other) { return _mm256_or_si256(one, other); }
static inline FetchWords words_xor(FetchWords one, FetchWords other) { return _mm256_xor_si256(one, other); }
static inline FetchWords words_sum(FetchWords one, FetchWords other) { return _mm256_add_epi32(one, other); }
static inline FetchWords words_shifted(FetchWords words, int bits) { return _mm256_srli_epi32(words, bits); }
static inline FetchWords words_shifted(FetchWords words, FetchWords bits) { return _mm256_srlv_epi32(words, bits); }
static inline FetchWords words_eight_times(FetchWords words) { return _mm256_slli_epi32(words, 3); }
static inline FetchWords digit_table(const TexelDigits &digits, int axis, int number) { return fetch_words(digits.three[axis][number]); }
static inline FetchWords look_up_digit(FetchWords table, FetchWords texel) { return _mm256_permutevar8x32_epi32(table, texel); }
static inline FetchWords gather_words(const uint8_t *host, const uint32_t *offset) { return words_at(host, offset); }
static inline FetchWords gather_entries(const uint32_t *entry, FetchWords index) { return _mm256_i32gather_epi32((const int *)entry, index, 4); }

static inline void gather_pairs(const uint8_t *host, const uint32_t *offset, FetchWords &first, FetchWords &second) {
    const __m256i low = four_pairs(host, offset[0], offset[1], offset[4], offset[5]), high = four_pairs(host, offset[2], offset[3], offset[6], offset[7]);
    first = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88));
    second = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0xdd));
}

static inline FetchWords quotients_of(FetchWords words, uint32_t largest) {
    return _mm256_castps_si256(_mm256_div_ps(_mm256_cvtepi32_ps(words), _mm256_set1_ps((float)largest)));
}

static inline FetchWords not_below(FetchWords singles, float least) {
    return _mm256_castps_si256(_mm256_max_ps(_mm256_castsi256_ps(singles), _mm256_set1_ps(least)));
}

static inline FetchWords product_words(FetchWords integers, FetchWords single) {
    return _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(integers), _mm256_castsi256_ps(single)));
}

static inline FetchWords words_raised(FetchWords words, int bits) { return _mm256_sll_epi32(words, _mm_cvtsi32_si128(bits)); }
static inline FetchWords words_shifted_signed(FetchWords words, int bits) { return _mm256_sra_epi32(words, _mm_cvtsi32_si128(bits)); }
static inline FetchWords unorm8_words(FetchWords words, int byte) { return _mm256_castps_si256(unorm8_chunk(byte_of(words, byte))); }
static inline FetchWords half_words(FetchWords words) {
    const __m256i halves = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
    return _mm256_castps_si256(_mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), 0x08))));
}
#endif

static const uint32_t fetch_chunk_mask = (1u << fetch_lanes) - 1;

// Those of `lanes` from a lane on that a vector holds.
static inline uint32_t chunk_of_lanes(uint64_t lanes, int lane) { return (uint32_t)(lanes >> lane) & fetch_chunk_mask; }

static inline bool are_all_lanes(uint64_t lanes, unsigned rows) { return lanes == (rows == 2 ? ~(uint64_t)0 : (uint64_t)0xffffffff); }

// Call `body` with the first lane of each vector that has active ones, and with these; where all are active, that is known as it is compiled.
template <class Body> __attribute__((always_inline)) static inline void for_chunks(uint64_t active, unsigned rows, Body body) {
    if (are_all_lanes(active, rows)) {
#pragma GCC unroll 2
        for (int lane = 0; lane < (int)(image_row * rows); lane += fetch_lanes)
            body(lane, fetch_chunk_mask);
        return;
    }
#pragma GCC unroll 1
    for (int lane = 0; lane < (int)(image_row * rows); lane += fetch_lanes)
        if (const uint32_t some = chunk_of_lanes(active, lane))
            body(lane, some);
}

// --------------------------------------------------------------------------------------------------------------- places
// Parts of offsets, joined: all bits by xor where no sum carries, else only the low ones.
template <bool carries> struct JoinedEntries {
    FetchWords low, high;             // `low` is all of it where nothing carries

    void add(FetchWords entry, FetchWords above) {
        low = words_xor(low, entry);
        if (carries)
            high = words_sum(high, words_and(entry, above));
    }

    FetchWords offset(FetchWords above) const { return carries ? words_or(words_and_not(above, low), high) : low; }
};

static inline FetchWords look_up_digits(const TexelDigits &digits, int axis, int number, FetchWords texel) {
    return look_up_digit(digit_table(digits, axis, number), texel);
}

// What an axis gives to the offsets of texels; `count`: digits, 0 where its table is looked up as a whole, which has all texels of `inside`.
template <int count, bool carries>
__attribute__((always_inline)) static inline void add_axis(const ImageTexels &level, int axis, FetchWords texel, FetchLanes inside, FetchWords above,
                                                           JoinedEntries<carries> &joined) {
    if (count == 0)
        return joined.add(gather_entries(entries_of(level, (unsigned)axis), only_lanes(texel, inside)), above);
#pragma GCC unroll 8
    for (int number = 0; number < count; ++number) {
        joined.add(look_up_digits(*level.digits, axis, number, texel), above);
        texel = words_shifted(texel, fetch_digit_bits);
    }
}

// Offsets of the active lanes' texels; returns the lanes whose texels are in the level. Those of other lanes are 0, or undefined where a vector has no
// active lane.
template <int count, bool carries, bool deep>
__attribute__((noinline)) static uint64_t place_wave_by(const ImageTexels &level, const WaveTexels &texels, uint32_t *offset) {
    const FetchWords above = fetch_all(~level.low), last_column = fetch_all(level.axis[0].size - 1), last_line = fetch_all(level.axis[1].size - 1);
    const FetchWords last_slice = fetch_all(level.axis[2].size - 1);
    uint64_t found = 0;
    for_chunks(texels.active, texels.rows, [&](int lane, uint32_t some) __attribute__((always_inline)) {
        const FetchWords x = fetch_words(texels.x + lane), y = fetch_words(texels.y + lane);
        FetchLanes inside = lanes_within(y, last_line, lanes_within(x, last_column, lanes_by_bits(some)));
        JoinedEntries<carries> joined = {fetch_all(0), fetch_all(0)};
        if (deep) {
            const FetchWords z = fetch_words(texels.z + lane);
            inside = lanes_within(z, last_slice, inside);
            add_axis<count>(level, 2, z, inside, above, joined);
        }
        add_axis<count>(level, 0, x, inside, above, joined);
        add_axis<count>(level, 1, y, inside, above, joined);
        put_fetched(offset + lane, only_lanes(joined.offset(above), inside));
        found |= (uint64_t)bits_of_lanes(inside) << lane;
    });
    return found;
}

template <bool carries, bool deep> static inline uint64_t place_wave_in(const ImageTexels &level, const WaveTexels &texels, uint32_t *offset) {
    const int count = fetch_digit_bits == 4 ? level.digits->fours[deep] : level.digits->threes[deep];
    return count == 0 ? place_wave_by<0, true, deep>(level, texels, offset)
         : count <= 2 ? place_wave_by<2, carries, deep>(level, texels, offset)
         : count == 3 ? place_wave_by<3, carries, deep>(level, texels, offset)
                      : place_wave_by<fetch_digits, carries, deep>(level, texels, offset);
}

static inline uint64_t place_wave(const ImageTexels &level, const WaveTexels &texels, uint32_t *offset) {
    if (texels.z)
        return level.digits->carries[1] ? place_wave_in<true, true>(level, texels, offset) : place_wave_in<false, true>(level, texels, offset);
    return level.digits->carries[0] ? place_wave_in<true, false>(level, texels, offset) : place_wave_in<false, false>(level, texels, offset);
}

// -------------------------------------------------------------------------------------------------------------- reading
// Elements of less than a dword: the dword that they lie in, which is aligned, as the level's origin is.
template <int bytes> __attribute__((always_inline)) static inline FetchWords gather_elements(const uint8_t *host, const uint32_t *offset) {
    if (bytes >= 4)
        return gather_words(host, offset);
    alignas(64) uint32_t whole[fetch_lanes];
    put_fetched(whole, words_and(fetch_words(offset), fetch_all(~3u)));
    const FetchWords words = gather_words(host, whole);
    const FetchWords shift = words_eight_times(words_and(fetch_words(offset), fetch_all(3)));
    return words_and(words_shifted(words, shift), fetch_all(bytes == 1 ? 0xff : 0xffff));
}

// What the lanes of a wave have got, put where a component lies.
struct WaveLanes {
    uint64_t active, inside;
    unsigned rows;
};

// Put a vector of a component; texels outside are zeros.
__attribute__((always_inline)) static inline void put_component(uint32_t *row, int lane, FetchWords words, uint32_t some, uint32_t there) {
    if (there == fetch_chunk_mask)
        return put_fetched(row + lane, words);
    put_fetched_lanes(row + lane, only_lanes(words, lanes_by_bits(there)), lanes_by_bits(some));
}

// Call `put` with the first lane of each vector, its active lanes, and those whose texels are there; where these are all, that is known as it is compiled.
template <class Put> __attribute__((always_inline)) static inline void for_fetched(const WaveLanes &lanes, Put put) {
    if (are_all_lanes(lanes.inside, lanes.rows))
        for_chunks(lanes.inside, lanes.rows, [&](int lane, uint32_t some) __attribute__((always_inline)) { put(lane, some, some); });
    else
        for_chunks(lanes.active, lanes.rows, [&](int lane, uint32_t some) __attribute__((always_inline)) {
            put(lane, some, chunk_of_lanes(lanes.inside, lane));
        });
}

template <class Component>
__attribute__((always_inline)) static inline void put_components(uint32_t *row, const WaveLanes &lanes, bool everywhere, Component component) {
    for_fetched({lanes.active, everywhere ? lanes.active : lanes.inside, lanes.rows}, [&](int lane, uint32_t some, uint32_t there)
        __attribute__((always_inline)) { put_component(row, lane, component(lane), some, there); });
}

// All four components of 8-bit unorm, where elements have four bytes.
static inline void put_four_of_wave(const uint8_t *host, const uint32_t *offset, const WaveLanes &lanes, const RowsOf<float> &to) {
    float *const rows[4] = {to.row[0], to.row[1], to.row[2], to.row[3]};
    for_fetched(lanes, [&](int lane, uint32_t some, uint32_t there) __attribute__((always_inline)) {
        const FetchWords words = gather_words(host, offset + lane);
#pragma GCC unroll 4
        for (int byte = 0; byte < 4; ++byte)
            put_component((uint32_t *)rows[byte], lane, unorm8_words(words, byte), some, there);
    });
}

// The dwords of a wave's elements, of those that `wanted` has a bit for.
template <int bytes> struct WaveElements {
    alignas(64) uint32_t words[(bytes + 3) / 4][wave_most];

    __attribute__((always_inline)) void read(const uint8_t *host, const uint32_t *offset, const WaveLanes &lanes, uint32_t wanted) {
        for_chunks(lanes.active, lanes.rows, [&](int lane, uint32_t) __attribute__((always_inline)) {
            if (bytes <= 4)
                put_fetched(words[0] + lane, gather_elements<bytes>(host, offset + lane));
#pragma GCC unroll 2
            for (int pair = 0; pair < bytes / 8; ++pair) {
                if (!(wanted >> (2 * pair) & 3))
                    continue;
                FetchWords first, second;
                gather_pairs(host + 8 * pair, offset + lane, first, second);
                put_fetched(words[2 * pair] + lane, first);
                put_fetched(words[2 * pair + 1] + lane, second);
            }
        });
    }
};

// A channel of elements whose dwords are `words`, as integers.
struct FetchedChannel {
    int shift, bits;

    FetchWords unsigned_of(FetchWords words) const { return words_and(words_shifted(words, shift), fetch_all(mask())); }
    FetchWords signed_of(FetchWords words) const { return words_shifted_signed(words_raised(words, 32 - bits - shift), 32 - bits); }
    uint32_t mask() const { return ((uint32_t)1 << bits) - 1; }
};

// Call `put` with what makes a component's words of an element's. Fractions of up to 24 bits are the same in single precision as in double.
template <class Put> __attribute__((always_inline)) static inline void with_decoder(const FetchedComponent &component, Put put) {
    const FetchedChannel channel = {component.shift, component.bits};
    const uint32_t *meaning = component.meaning;
    const FetchWords value = fetch_all(component.value);
    switch (component.kind) {
    case fetch_constant: return put([=](FetchWords) __attribute__((always_inline)) { return value; });
    case fetch_dword: return put([](FetchWords words) __attribute__((always_inline)) { return words; });
    case fetch_unsigned: return put([=](FetchWords words) __attribute__((always_inline)) { return channel.unsigned_of(words); });
    case fetch_signed: return put([=](FetchWords words) __attribute__((always_inline)) { return channel.signed_of(words); });
    case fetch_unorm8: return put([=](FetchWords words) __attribute__((always_inline)) { return unorm8_words(words_shifted(words, channel.shift), 0); });
    case fetch_unorm:
        return put([=](FetchWords words) __attribute__((always_inline)) { return quotients_of(channel.unsigned_of(words), channel.mask()); });
    case fetch_snorm:
        return put([=](FetchWords words) __attribute__((always_inline)) {
            return not_below(quotients_of(channel.signed_of(words), channel.mask() >> 1), -1.0f);
        });
    case fetch_half: return put([=](FetchWords words) __attribute__((always_inline)) { return half_words(words_shifted(words, channel.shift)); });
    case fetch_shared_exponent:
        return put([=](FetchWords words) __attribute__((always_inline)) {
            const FetchWords power = words_raised(words_sum(words_shifted(words, 27), fetch_all(127 - 24)), 23);
            return product_words(channel.unsigned_of(words), power);
        });
    default: return put([=](FetchWords words) __attribute__((always_inline)) { return gather_entries(meaning, channel.unsigned_of(words)); });
    }
}

static inline void put_component_of(const FetchedComponent &component, const uint32_t *words, const WaveLanes &lanes, uint32_t *row) {
    const bool everywhere = component.everywhere;
    with_decoder(component, [&](auto decode) __attribute__((always_inline)) {
        put_components(row, lanes, everywhere, [&](int lane) __attribute__((always_inline)) { return decode(fetch_words(words + lane)); });
    });
}

template <int bytes>
__attribute__((noinline)) static void fetch_elements(const uint8_t *host, const uint32_t *offset, const WaveLanes &lanes,
                                                     const FetchedComponent *component, unsigned count, uint32_t *registers) {
    WaveElements<bytes> elements;
    uint32_t wanted = 0;
    for (unsigned number = 0; number < count; ++number)
        wanted |= component[number].kind == fetch_constant ? 0 : 1u << component[number].dword;
    elements.read(host, offset, lanes, wanted);
    for (unsigned number = 0; number < count; ++number)
        put_component_of(component[number], elements.words[component[number].dword], lanes, registers + component[number].at);
}

// Load all four components of 8-bit unorm of elements of four bytes for the active lanes of a wave.
static inline void fetch_four_bytes(const ImageTexels &level, const WaveTexels &texels, const RowsOf<float> &to) {
    alignas(64) uint32_t offset[wave_most];
    const uint64_t inside = place_wave(level, texels, offset);
    put_four_of_wave(level.host, offset, {texels.active, inside, texels.rows}, to);
}

// Load components of elements of any size.
static inline void fetch_components(const ImageTexels &level, const WaveTexels &texels, unsigned bytes, const FetchedComponent *component,
                                    unsigned count, uint32_t *registers) {
    alignas(64) uint32_t offset[wave_most];
    const WaveLanes lanes = {texels.active, place_wave(level, texels, offset), texels.rows};
    return bytes == 1 ? fetch_elements<1>(level.host, offset, lanes, component, count, registers)
         : bytes == 2 ? fetch_elements<2>(level.host, offset, lanes, component, count, registers)
         : bytes == 4 ? fetch_elements<4>(level.host, offset, lanes, component, count, registers)
         : bytes == 8 ? fetch_elements<8>(level.host, offset, lanes, component, count, registers)
                      : fetch_elements<16>(level.host, offset, lanes, component, count, registers);
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline void fetch_four_bytes(const ImageTexels &, const WaveTexels &, const RowsOf<float> &) {}
static inline void fetch_components(const ImageTexels &, const WaveTexels &, unsigned, const FetchedComponent *, unsigned, uint32_t *) {}
#endif
