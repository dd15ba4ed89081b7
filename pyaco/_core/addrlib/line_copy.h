// Texels between tiled memory and rows, by lines.
//
// A line is 64 aligned bytes of memory: a rectangle of texels, 2 to 8 rows high in the modes that there are. As many of them side by side as a
// line has rows are a cell: its rows are 64 bytes too, and it moves with one load and one store a line in both places, every store a whole cache
// line.
//
// What counts beside that is the order. Rows of texels may be a power of two of bytes apart, so that their lines fall into the same few sets of
// the caches: bands of few rows move in chunks of some lines. Large pictures are written past the caches, which would read each line before it is
// written, and what is to be read is prefetched into the second cache, which has room for more to be under way than the first; that is how reading
// and writing overlap. Small pictures are written through the caches: what is to be written is prefetched too, as the processor by itself foresees
// neither where lines of memory follow one another nor so many rows of texels.
#pragma once
#include <stdint.h>
#include <string.h>
#include <algorithm>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define PYACO_HAS_X86 1
#else
#define PYACO_HAS_X86 0
#endif

enum : int64_t { line_bytes = 64, band_rows = 64, chunk_bytes = 512, piece_chunk_bytes = 1024, bytes_ahead = 1 << 16 };

struct LineCopy {
    uint8_t *memory, *texels;                // the texels of the first line
    const int64_t *columns, *rows;           // where lines begin, by column and by row of lines
    int64_t wide, high;                      // columns and rows of lines
    int64_t low, base;                       // bits of an address that are xored, the others are added; what all addresses have
    int64_t pitch;                           // bytes from one row of texels to the next
    int height_log2;                         // of a line
    int piece;                               // bytes that lie side by side in a line and in its rows
    const uint8_t *offsets;                  // where in a line its pieces are, row by row
    const int32_t *network;                  // how vectors of 512 bits transpose cells, in this direction; null: not by words of 4 bytes
    bool shuffles_bytes;                     // whether 16 bytes of memory are shuffled besides
    const struct HalfNetwork *halves;        // how vectors of 256 bits do; null: not
    bool past_caches;
    int64_t run, run_wide, run_high;         // bytes of memory in a row that are a rectangle, its columns and rows: to be written so; else 0
    uint8_t *buffer;                         // aligned, of buffer_bytes(copy)

    int64_t width() const { return line_bytes >> height_log2; }
    int64_t height() const { return 1 << height_log2; }
    uint8_t *texels_of(int64_t row, int64_t column) const { return texels + row * height() * pitch + column * width(); }
};

// Where the lines of a row lie.
struct LineRow {
    const int64_t *columns;
    int64_t start, flip;

    LineRow(const LineCopy &copy, int64_t row)
        : columns(copy.columns), start((copy.base & ~copy.low) + (copy.rows[row] & ~copy.low)), flip((copy.base ^ copy.rows[row]) & copy.low) {}
    int64_t operator[](int64_t column) const { return start + (columns[column] ^ flip); }
};

struct LineRectangle { int64_t left, right, top, bottom; };

// Rectangles of lines, from left to right and from top to bottom.
struct LineGrid {
    int64_t columns, rows, across, count, end, bottom;

    LineGrid(int64_t columns, int64_t rows, int64_t end, int64_t bottom)
        : columns(columns), rows(rows), across((end + columns - 1) / columns), count(across * ((bottom + rows - 1) / rows)), end(end),
          bottom(bottom) {}
    // Behind the last one: an empty one.
    LineRectangle operator[](int64_t i) const {
        const int64_t left = i % across * columns, top = std::min(i / across * rows, bottom);
        return {left, std::min(left + columns, end), top, std::min(top + rows, bottom)};
    }
};

// Runs, or chunks of bands, of so many bytes of a row: of the first `end` columns.
static inline LineGrid chunks_of(const LineCopy &copy, int64_t end, int64_t bytes) {
    if (copy.run)
        return LineGrid(copy.run_wide, copy.run_high, end, copy.high);
    return LineGrid(bytes / copy.width(), std::max<int64_t>(band_rows >> copy.height_log2, 1), end, copy.high);
}

// How many of them to look ahead.
static inline int64_t chunks_ahead(const LineGrid &grid) {
    return std::max<int64_t>(bytes_ahead / (grid.columns * grid.rows * line_bytes), 2);
}

// Prefetch what is read for a row of lines of a rectangle, and what is written through the caches: lines of memory, if not past them (rows of texels
// are prefetched where cells are moved), and those at both ends of its texels' rows, which are not written whole: stores that wait for them would
// make all others wait. (Always inline: GCC leaves out calls of functions that do nothing but prefetch.)
template <bool TO_MEMORY>
__attribute__((always_inline)) static inline void ask_for_row(const LineCopy &copy, const LineRectangle &lines, int64_t row) {
    if (row >= lines.bottom)
        return;
    const LineRow line(copy, row);
    if (TO_MEMORY) {
        const uint8_t *texels = copy.texels_of(row, lines.left);
        const int64_t height = copy.height(), bytes = (lines.right - lines.left) * copy.width(), pitch = copy.pitch;
        for (int64_t y = 0; y < height; y++, texels += pitch)
            for (int64_t x = 0; x < bytes; x += line_bytes)
                __builtin_prefetch(texels + x, 0, 2);
        for (int64_t column = lines.left; column < lines.right && !copy.past_caches; column++)
            __builtin_prefetch(copy.memory + line[column], 1, 2);
    } else {
        for (int64_t column = lines.left; column < lines.right; column++)
            __builtin_prefetch(copy.memory + line[column], 0, 2);
        for (int64_t y = 0; y < copy.height(); y++) {
            const uint8_t *texels = copy.texels_of(row, 0) + y * copy.pitch;
            if (lines.left == 0)
                __builtin_prefetch(texels, 1, 2);
            if (lines.right == copy.wide)
                __builtin_prefetch(texels + copy.wide * copy.width() - 1, 1, 2);
        }
    }
}

// What waits to be written: a run; what is left of each row of a chunk.
static inline int64_t buffer_bytes(const LineCopy &copy, bool to_memory) {
    return to_memory ? copy.run : band_rows * line_bytes;
}

// Call `move(row, row in the run or chunk, left, right)` for all rows of lines in the order that suits the caches.
template <bool TO_MEMORY, class Move>
static inline void in_chunks(const LineCopy &copy, int64_t end, Move move, int64_t bytes = chunk_bytes) {
    const LineGrid grid = chunks_of(copy, end, bytes);
    const int64_t ahead = chunks_ahead(grid);
    for (int64_t i = 0; i < grid.count; i++) {
        const LineRectangle lines = grid[i], coming = grid[i + ahead];
        for (int64_t row = lines.top; row < lines.bottom; row++) {
            ask_for_row<TO_MEMORY>(copy, coming, row - lines.top + coming.top);
            move(row, row - lines.top, lines.left, lines.right);
        }
    }
}
