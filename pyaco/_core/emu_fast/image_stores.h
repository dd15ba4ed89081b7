// Stores of a wave's texels: components become elements by loops over its lanes, which are vectors, and elements go to memory in the order of the lanes.
#pragma once
#include "host.h"
#include "image_fetches.h"

// What becomes of a component: a dword as it is, an integer that saturates, a fraction of the largest number, or a half.
enum { store_dword = 0, store_unsigned = 1, store_signed = 2, store_unorm = 3, store_snorm = 4, store_half = 5, store_unknown = 6 };

// A channel of an element: `bits` bits of a dword, from `shift` on, and the register of its component as dwords of all registers.
struct StoredChannel {
    uint32_t at;
    uint8_t kind, dword, shift, bits;
};

#if defined(__AVX2__)
// Fractions in double precision, where products with up to 24 bits are exact; the sum with 1.5 * 2^52 rounds to nearest, even.
static inline uint32_t rounded_product(double value, double largest) {
    const double rounded = value * largest + 0x1.8p52;
    uint64_t bits;
    std::memcpy(&bits, &rounded, 8);
    return (uint32_t)bits;
}

static inline double between(double value, double least, double most) {
    const double number = value == value ? value : 0.0, above = number > least ? number : least;
    return above < most ? above : most;
}

template <class Encode>
__attribute__((always_inline)) static inline void encode_lanes(int lanes, const uint32_t *row, unsigned shift, uint32_t *words, Encode encode) {
    for (int lane = 0; lane < lanes; ++lane)
        words[lane] |= encode(row[lane]) << shift;
}

static inline float single_of(uint32_t word) {
    float value;
    std::memcpy(&value, &word, 4);
    return value;
}

static void encode_channel(const StoredChannel &channel, int lanes, const uint32_t *row, uint32_t *words) {
    const uint32_t mask = channel.bits < 32 ? ((uint32_t)1 << channel.bits) - 1 : ~(uint32_t)0;
    const int32_t most = (int32_t)(mask >> 1);
    const double largest = channel.kind == store_unorm ? mask : most;
    const unsigned shift = channel.shift;
    switch (channel.kind) {
    case store_dword: return encode_lanes(lanes, row, shift, words, [](uint32_t word) { return word; });
    case store_unsigned: return encode_lanes(lanes, row, shift, words, [=](uint32_t word) { return word < mask ? word : mask; });
    case store_signed:
        return encode_lanes(lanes, row, shift, words, [=](uint32_t word) {
            const int32_t value = (int32_t)word, below = value < most ? value : most;
            return (uint32_t)(below > -most - 1 ? below : -most - 1) & mask;
        });
    case store_unorm:
        if (channel.bits == 8) {
            for (int lane = 0; lane < lanes; lane += image_row)
                encode_unorm8(row + lane, shift, words + lane);
            return;
        }
        return encode_lanes(lanes, row, shift, words, [=](uint32_t word) { return rounded_product(between(single_of(word), 0.0, 1.0), largest); });
    case store_snorm:
        return encode_lanes(lanes, row, shift, words, [=](uint32_t word) { return rounded_product(between(single_of(word), -1.0, 1.0), largest) & mask; });
    default:
        for (int lane = 0; lane < lanes; lane += image_row) {
            uint32_t halves[image_row];
            singles_to_halves((const float *)row + lane, halves);
            encode_lanes(image_row, halves, shift, words + lane, [](uint32_t half) { return half; });
        }
    }
}

template <int dwords>
static inline void store_lanes(uint8_t *host, const uint32_t *offset, uint64_t lanes, const uint32_t (*words)[wave_most]) {
    for (; lanes; lanes &= lanes - 1) {
        const int lane = __builtin_ctzll(lanes);
        uint32_t element[dwords];
        for (int dword = 0; dword < dwords; ++dword)
            element[dword] = words[dword][lane];
        std::memcpy(host + offset[lane], element, sizeof(element));
    }
}

// Four dwords a lane, sixteen lanes at a time.
static inline void store_wide(uint8_t *host, const uint32_t *offset, uint64_t lanes, const uint32_t (*words)[wave_most]) {
    for (int lane = 0; lane < wave_most; lane += 16) {
        if ((lanes >> lane & 0xffff) == 0xffff)
            store_quads(host, offset + lane, words[0] + lane);
        else
            store_lanes<4>(host, offset, lanes & (uint64_t)0xffff << lane, words);
    }
}

// Store for the active lanes of a wave whose texels are in the level.
static void store_wave(const ImageTexels &level, const WaveTexels &texels, unsigned bytes, const StoredChannel *channel, unsigned count,
                       const uint32_t *registers) {
    alignas(64) uint32_t offset[wave_most], words[4][wave_most];
    const uint64_t inside = place_wave(level, texels, offset);
    std::memset(words, 0, (bytes + 3) / 4 * sizeof(words[0]));
    for (unsigned number = 0; number < count; ++number)
        encode_channel(channel[number], (int)(image_row * texels.rows), registers + channel[number].at, words[channel[number].dword]);
    if (bytes == 16)
        return store_wide(level.host, offset, inside, words);
    if (bytes == 8)
        return store_lanes<2>(level.host, offset, inside, words);
    for (unsigned row = 0; row < texels.rows; ++row)
        store_words(level.host, offset + image_row * row, bytes, (uint32_t)(inside >> (image_row * row)), words[0] + image_row * row);
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline void store_wave(const ImageTexels &, const WaveTexels &, unsigned, const StoredChannel *, unsigned, const uint32_t *) {}
#endif
