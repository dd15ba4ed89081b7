// Lines piece by piece: on processors without vectors of half a line, and where no whole cell is left.
//
// Pieces are gathered in a register, so that every store is a vector of 8 or 16 bytes.
#pragma once
#include "line_copy.h"

template <int SIZE, class Offset>
static inline uint64_t gathered_word(const uint8_t *from, const Offset *offset) {
    uint64_t word = 0;
    for (int i = 0; i < 8 / SIZE; i++) {
        uint64_t piece = 0;                                         // little-endian, as everything here
        memcpy(&piece, from + offset[i], SIZE);
        word |= piece << (8 * SIZE * i) % 64;
    }
    return word;
}

template <int SIZE, int VECTOR, bool PAST_CACHES, class Offset>
static inline void put_vector(uint8_t *to, const uint8_t *from, const Offset *offset) {
    uint64_t words[2];
    if (SIZE == 16)
        memcpy(words, from + offset[0], 16);
    else
        for (int i = 0; i < VECTOR / 8; i++)
            words[i] = gathered_word<SIZE < 8 ? SIZE : 8>(from, offset + i * 8 / SIZE);
#if PYACO_HAS_X86
    if (VECTOR == 16) {
        const __m128i vector = _mm_set_epi64x(words[1], words[0]);
        if (PAST_CACHES)
            _mm_stream_si128((__m128i *)to, vector);
        else
            _mm_storeu_si128((__m128i *)to, vector);
        return;
    }
#endif
    memcpy(to, words, VECTOR);
}

// Columns [left, right) of a row of lines to texels, row after row of them.
template <int SIZE, int VECTOR, bool PAST_CACHES>
static void detile_pieces(const LineCopy &copy, const uint8_t *memory, int64_t row, int64_t left, int64_t right) {
    const LineRow line(copy, row);
    const int64_t width = copy.width();
    const uint8_t *offset = copy.offsets;
    for (int64_t y = 0; y < copy.height(); y++, offset += width / SIZE) {
        uint8_t *to = copy.texels_of(row, left) + y * copy.pitch;
        for (int64_t column = left; column < right; column++, to += width)
            for (int64_t i = 0; i < width; i += VECTOR)
                put_vector<SIZE, VECTOR, PAST_CACHES>(to + i, memory + line[column], offset + i / SIZE);
    }
}

// The same in the other direction, line after line.
template <int SIZE, bool PAST_CACHES>
static void tile_pieces(const LineCopy &copy, const uint8_t *memory, int64_t row, int64_t left, int64_t right) {
    const LineRow line(copy, row);
    const int64_t width = copy.width();
    int64_t place[line_bytes / SIZE];
    for (int64_t i = 0; i < line_bytes / SIZE; i++)
        place[copy.offsets[i] / SIZE] = i * SIZE / width * copy.pitch + i * SIZE % width;
    for (int64_t column = left; column < right; column++) {
        const uint8_t *from = copy.texels_of(row, column);
        uint8_t *to = const_cast<uint8_t *>(memory) + line[column];
        for (int64_t i = 0; i < line_bytes; i += 16)
            put_vector<SIZE, 16, PAST_CACHES>(to + i, from, place + i / SIZE);
    }
}

// Moves columns of a row of lines from or to `memory`, which is the tiled memory or a buffer for a part of it.
typedef void (*PieceMover)(const LineCopy &copy, const uint8_t *memory, int64_t row, int64_t left, int64_t right);

template <int SIZE, bool TO_MEMORY>
static inline PieceMover piece_mover_of(int64_t width, bool past_caches) {
    if (TO_MEMORY)
        return past_caches ? tile_pieces<SIZE, true> : tile_pieces<SIZE, false>;
    if (width < 16)
        return detile_pieces<SIZE < 16 ? SIZE : 8, 8, false>;
    return past_caches ? detile_pieces<SIZE, 16, true> : detile_pieces<SIZE, 16, false>;
}

template <bool TO_MEMORY>
static inline PieceMover piece_mover(const LineCopy &copy, bool past_caches) {
    switch (copy.piece) {
    case 1: return piece_mover_of<1, TO_MEMORY>(copy.width(), past_caches);
    case 2: return piece_mover_of<2, TO_MEMORY>(copy.width(), past_caches);
    case 4: return piece_mover_of<4, TO_MEMORY>(copy.width(), past_caches);
    case 8: return piece_mover_of<8, TO_MEMORY>(copy.width(), past_caches);
    default: return piece_mover_of<16, TO_MEMORY>(copy.width(), past_caches);
    }
}

// A run of memory that waits in a buffer to be written.
struct WaitingRun {
    uint8_t *to;
    const uint8_t *from;
    int64_t lines;

    // The lines at both ends, which belong to neighbours too, are written through the caches at once.
    void begin(uint8_t *target, const uint8_t *buffer, int64_t bytes) {
        const int64_t head = -(uintptr_t)target % line_bytes, tail = (bytes - head) % line_bytes;
        memcpy(target, buffer, head);
        memcpy(target + bytes - tail, buffer + bytes - tail, tail);
        to = target + head;
        from = buffer + head;
        lines = (bytes - head) / line_bytes;
    }
    template <bool PAST_CACHES>
    __attribute__((always_inline)) void write_one() {
        if (!lines)
            return;
        for (int i = 0; i < line_bytes; i += 16) {
            const int64_t same = i;
            put_vector<16, 16, PAST_CACHES>(to + i, from, &same);
        }
        to += line_bytes;
        from += line_bytes;
        lines--;
    }
};

// Columns that are left of all lines; memory that begins inside of a cache line is written by runs where all lines are in such.
template <bool TO_MEMORY>
static void move_pieces(const LineCopy &copy) {
    const uintptr_t places = TO_MEMORY ? (uintptr_t)copy.memory % line_bytes : ((uintptr_t)copy.texels | (uintptr_t)copy.pitch) % 16;
    const bool in_runs = TO_MEMORY && copy.run && places;
    const PieceMover move = piece_mover<TO_MEMORY>(copy, copy.past_caches && !places && !in_runs);
    if (!in_runs) {
        in_chunks<TO_MEMORY>(copy, copy.wide, [&](int64_t row, int64_t, int64_t left, int64_t right) { move(copy, copy.memory, row, left, right); });
        return;
    }
    const LineGrid grid = chunks_of(copy, copy.wide);
    const int64_t ahead = chunks_ahead(grid);
    for (int64_t i = 0; i < grid.count; i++) {
        const LineRectangle lines = grid[i], coming = grid[i + ahead];
        const int64_t first = LineRow(copy, lines.top)[lines.left] & -copy.run;
        for (int64_t row = lines.top; row < lines.bottom; row++) {
            ask_for_row<true>(copy, coming, row - lines.top + coming.top);
            move(copy, copy.buffer - first, row, lines.left, lines.right);
        }
        WaitingRun waiting;
        waiting.begin(copy.memory + first, copy.buffer, copy.run);
        while (waiting.lines)
            waiting.write_one<true>();
    }
}
