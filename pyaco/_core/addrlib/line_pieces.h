// Lines piece by piece: on processors without vectors of half a line, where no whole cell is left, and pieces that are as fast as vectors.
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

// Whole cache lines, past the caches.
static inline void stream_lines(uint8_t *to, const uint8_t *from, int64_t bytes) {
    const int64_t same = 0;
    for (int64_t i = 0; i < bytes; i += 16)
        put_vector<16, 16, true>(to + i, from + i, &same);
}

// Write a run of memory from a buffer, by cache lines whatever it begins with. The lines at both ends belong to neighbours too: through the caches.
template <class Stream>
static inline void write_run(uint8_t *to, const uint8_t *buffer, int64_t bytes, Stream stream) {
    const int64_t head = -(uintptr_t)to % line_bytes, end = bytes - (bytes - head) % line_bytes;
    memcpy(to, buffer, head);
    memcpy(to + end, buffer + end, bytes - end);
    stream(to + head, buffer + head, end - head);
}

// Memory that begins inside of a cache line, where all lines are in runs: call `move(memory, row, left, right)` for the rows of lines of each, to
// make it in a buffer, and `stream(to, from, bytes)` for its cache lines.
template <class Stream, class Move>
static inline void in_runs(const LineCopy &copy, Stream stream, Move move) {
    const LineGrid grid = chunks_of(copy, copy.wide, chunk_bytes);
    const int64_t ahead = chunks_ahead(grid);
    for (int64_t i = 0; i < grid.count; i++) {
        const LineRectangle lines = grid[i], coming = grid[i + ahead];
        const int64_t first = LineRow(copy, lines.top)[lines.left] & -copy.run;
        __builtin_prefetch(copy.memory + first, 1, 2);
        __builtin_prefetch(copy.memory + first + copy.run - 1, 1, 2);
        for (int64_t row = lines.top; row < lines.bottom; row++) {
            ask_for_row<true>(copy, coming, row - lines.top + coming.top);
            move(copy.buffer - first, row, lines.left, lines.right);
        }
        write_run(copy.memory + first, copy.buffer, copy.run, stream);
    }
}

// Columns that are left of all lines.
template <bool TO_MEMORY>
static void move_pieces(const LineCopy &copy) {
    const uintptr_t places = TO_MEMORY ? (uintptr_t)copy.memory % line_bytes : ((uintptr_t)copy.texels | (uintptr_t)copy.pitch) % 16;
    const PieceMover move = piece_mover<TO_MEMORY>(copy, copy.past_caches && !places);
    if (TO_MEMORY && copy.run)
        in_runs(copy, stream_lines, [&](uint8_t *memory, int64_t row, int64_t left, int64_t right) { move(copy, memory, row, left, right); });
    else
        in_chunks<TO_MEMORY>(
            copy, copy.wide, [&](int64_t row, int64_t, int64_t left, int64_t right) { move(copy, copy.memory, row, left, right); }, piece_chunk_bytes);
}
