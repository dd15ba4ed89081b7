// Idle lanes that stand by for active ones while an instruction is executed for a whole wave: they get the coordinates of active lanes, and then what
// they had.
#pragma once
#include "image_fetches.h"

// Lanes of a register, as they were.
struct LentRow {
    uint32_t *row;
    alignas(64) uint32_t kept[wave_most];
};

#if defined(__AVX2__)
__attribute__((always_inline)) static inline FetchWords chosen_words(FetchWords own, FetchWords other, uint32_t some) {
    return words_or(only_lanes(own, lanes_by_bits(some)), only_lanes(other, lanes_by_bits(fetch_chunk_mask & ~some)));
}

// Call `body` with the first lane of each vector that has idle ones, and its active lanes.
template <class Body> __attribute__((always_inline)) static inline void for_idle(uint64_t active, unsigned rows, Body body) {
    for (int lane = 0; lane < (int)(image_row * rows); lane += fetch_lanes)
        if (const uint32_t some = chunk_of_lanes(active, lane); some != fetch_chunk_mask)
            body(lane, some);
}

static inline void keep_row(LentRow &lent, uint32_t *row, uint64_t active, unsigned rows) {
    lent.row = row;
    for_idle(active, rows, [&](int lane, uint32_t) { put_fetched(lent.kept + lane, fetch_words(row + lane)); });
}

// Give idle lanes what active ones have: in a vector that has active lanes the first of these, else the lanes of the first that has some, which may lie in
// a line.
static inline void lend_lanes(const LentRow &lent, uint64_t active, unsigned rows) {
    uint32_t *const row = lent.row;
    const FetchWords first = fetch_all(row[__builtin_ctzll(active)]);
    const int lender = __builtin_ctzll(active) / fetch_lanes * fetch_lanes;
    const FetchWords others = chosen_words(fetch_words(row + lender), first, chunk_of_lanes(active, lender));
    for_idle(active, rows, [&](int lane, uint32_t some) {
        put_fetched(row + lane, some ? chosen_words(fetch_words(row + lane), first, some) : others);
    });
}

static inline void give_back_lanes(const LentRow &lent, uint64_t active, unsigned rows) {
    for_idle(active, rows, [&](int lane, uint32_t some) {
        put_fetched(lent.row + lane, chosen_words(fetch_words(lent.row + lane), fetch_words(lent.kept + lane), some));
    });
}
#else
// Only for the compiler: hosts without such vectors have no steps.
static inline void keep_row(LentRow &, uint32_t *, uint64_t, unsigned) {}
static inline void lend_lanes(const LentRow &, uint64_t, unsigned) {}
static inline void give_back_lanes(const LentRow &, uint64_t, unsigned) {}
#endif
