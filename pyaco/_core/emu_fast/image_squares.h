// Squares: 4 x 4 texels of four bytes that lie side by side in 64 bytes, as tiled surfaces keep them.
//
// Lanes that lie in the level as in a workgroup, and that no filter mixes, get their texels from memory by squares: wherever they begin, eight columns of
// four lines lie in three of them, sixteen columns in five, and permutations put them in the lanes' order. All texels of these squares are in the level.
#pragma once
#include "image_chunks.h"
#include "image_digits.h"

enum { square_edge = 4, square_bytes = 64 };

struct TexelSquares {
    // By the column of its square that the first lane has, for the lanes of two lines of eight from the square's first line on: the dword in two squares
    // beside each other, or in the one behind these.
    alignas(64) uint32_t dword[square_edge][16];
    uint16_t behind[square_edge];     // lanes that have one of the square behind
    uint32_t line[square_edge];       // what a line's dwords differ in from those of the first
    uint32_t end_column, end_line;    // behind the last square of which all texels are in the level
};

// Whether an axis gives squares: multiples of 64 bytes to every fourth texel, and the same dwords of them to those behind it.
static inline bool gives_squares(const uint32_t *entry, uint32_t size) {
    if (size < square_edge)
        return false;
    for (uint32_t texel = 0; texel < size; ++texel) {
        const uint32_t first = entry[texel & ~(square_edge - 1u)], inner = entry[texel] ^ first;
        if (first & (square_bytes - 1) || inner & ~(square_bytes - 4u) || inner != (entry[texel & (square_edge - 1u)] ^ entry[0]))
            return false;
    }
    return true;
}

// Make the tables of a level of elements of four bytes. False: its texels do not lie so, or what axes give is not joined by xor alone.
static inline bool find_squares(const ImageTexels &level, TexelSquares &squares) {
    const uint32_t *x = level.axis[0].entry - level.axis[0].first, *y = level.axis[1].entry - level.axis[1].first;
    if (!level.digits->fours[1] || level.digits->carries[1] || !gives_squares(x, level.axis[0].size) || !gives_squares(y, level.axis[1].size))
        return false;
    squares.end_column = level.axis[0].size & ~(square_edge - 1u);
    squares.end_line = level.axis[1].size & ~(square_edge - 1u);
    for (uint32_t line = 0; line < square_edge; ++line)
        squares.line[line] = (y[line] ^ y[0]) / 4;
    if ((squares.line[1] ^ squares.line[2]) != squares.line[3])
        return false;
    for (uint32_t first = 0; first < square_edge; ++first) {
        squares.behind[first] = 0;
        for (uint32_t lane = 0; lane < 2 * patch_columns; ++lane) {
            const uint32_t column = first + lane % patch_columns, square = column / square_edge;
            squares.dword[first][lane] = (x[column % square_edge] ^ x[0]) / 4 ^ squares.line[lane / patch_columns] ^ (square == 1 ? 16 : 0);
            squares.behind[first] |= (uint16_t)((square == 2 ? 1 : 0) << lane);
        }
    }
    return true;
}

#if defined(__AVX512F__)
// Whether texels from one on lie before an end.
static inline bool has_room(uint32_t first, uint32_t count, uint32_t end) { return first < end && end - first >= count; }

// The squares in which texels from one on lie: `across` of `columns` columns, `down` of `lines` lines. What lies in less squares has the first one again.
template <int columns, int lines> struct SquareGrid {
    const TexelSquares *squares;
    const uint8_t *host;
    uint32_t across[columns / square_edge + 1], down[lines / square_edge + 1];
    uint32_t first_column, first_line;      // in the first square

    // In a slice by its entry. False: they do not lie so.
    __attribute__((always_inline)) bool open(const ImageTexels &level, uint32_t column, uint32_t line, uint32_t slice) {
        squares = level.squares;
        if (!squares || slice & (square_bytes - 1) || !has_room(column, columns, squares->end_column) || !has_room(line, lines, squares->end_line))
            return false;
        host = level.host;
        first_column = column % square_edge;
        first_line = line % square_edge;
        const uint32_t *x = level.axis[0].entry - level.axis[0].first + (column - first_column);
        const uint32_t *y = level.axis[1].entry - level.axis[1].first + (line - first_line);
        for (int number = 0; number < columns / square_edge; ++number)
            across[number] = x[square_edge * number] ^ slice;
        across[columns / square_edge] = x[first_column ? columns : 0] ^ slice;
        down[0] = y[0];
        for (int number = 1; number < lines / square_edge; ++number)
            down[number] = y[square_edge * number];
        if (lines >= square_edge)
            down[lines / square_edge] = y[first_line ? lines : 0];
        return true;
    }

    __m512i at(int row, int number) const { return _mm512_loadu_si512(host + (down[row] ^ across[number])); }

    // What lanes have of three squares beside each other.
    __attribute__((always_inline)) __m512i lanes_of(__m512i dword, __m512i first, __m512i second, __m512i third) const {
        return _mm512_mask_permutexvar_epi32(_mm512_permutex2var_epi32(first, dword, second), squares->behind[first_column], dword, third);
    }
};

typedef SquareGrid<2 * patch_columns, 1> SquareLine;

// Call `put` with the first lane of each two lines of a patch, and their texels.
template <int lines, int first_line, class Put>
__attribute__((always_inline)) static inline void for_squares_by(const SquareGrid<patch_columns, lines> &grid, Put put) {
    const __m512i upper = _mm512_load_si512(grid.squares->dword[grid.first_column]);
    const __m512i lower = _mm512_xor_si512(upper, _mm512_set1_epi32((int)grid.squares->line[2]));
    __m512i square[3] = {}, before = upper;
#pragma GCC unroll 5
    for (int pair = 0; pair < lines / 2 + (first_line & 1); ++pair) {
        const int line = (first_line & 2) + 2 * pair;
        if (pair == 0 || line % square_edge == 0)
            for (int number = 0; number < 3; ++number)
                square[number] = grid.at(line / square_edge, number);
        const __m512i two = grid.lanes_of(line & 2 ? lower : upper, square[0], square[1], square[2]);
        if (!(first_line & 1))
            put(2 * patch_columns * pair, two);
        else if (pair)
            put(2 * patch_columns * (pair - 1), _mm512_alignr_epi64(two, before, 4));
        before = two;
    }
}

template <int lines, class Put> static inline void for_squares(const SquareGrid<patch_columns, lines> &grid, Put put) {
    switch (grid.first_line) {
    case 0: return for_squares_by<lines, 0>(grid, put);
    case 1: return for_squares_by<lines, 1>(grid, put);
    case 2: return for_squares_by<lines, 2>(grid, put);
    default: return for_squares_by<lines, 3>(grid, put);
    }
}

// All four components of 8-bit unorm.
template <int lines> __attribute__((noinline)) static void put_squares(const SquareGrid<patch_columns, lines> &grid, const RowsOf<float> &to) {
    const RowsOf<float> rows = to;
    for_squares<lines>(grid, [rows](int lane, __m512i words) __attribute__((always_inline)) { put_four_bytes(words, rows, lane); });
}

// The same for lines of columns, in a slice. False: they are no patch that lies in squares, or a component is not wanted, and nothing was written.
template <int lines>
static inline bool pass_squares(const ImageTexels &level, __m256i column, __m256i line, uint32_t slice, const RowsOf<float> &to) {
    SquareGrid<patch_columns, lines> grid;
    if (!(to.row[0] && to.row[1] && to.row[2] && to.row[3]) || !is_patch<lines>(column, line) ||
        !grid.open(level, (uint32_t)first_lane(column), (uint32_t)first_lane(line), slice))
        return false;
    put_squares<lines>(grid, to);
    return true;
}

// What sixteen lanes differ in from `first` and `steps`, and what has differed before.
__attribute__((always_inline)) static inline __m512i differs_from_steps(const uint32_t *texel, uint32_t first, __m512i steps, __m512i before) {
    return _mm512_ternarylogic_epi32(before, _mm512_add_epi32(_mm512_set1_epi32((int)first), steps), _mm512_loadu_si512(texel), 0xf6);
}

// The same for texels that integers name.
template <int lines> static inline bool fetch_patch(const ImageTexels &level, const uint32_t *x, const uint32_t *y, const RowsOf<float> &to) {
    const __m512i eight = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i two = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    __m512i differs = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int line = 0; line < lines; line += 2) {
        differs = differs_from_steps(x + patch_columns * line, x[0], eight, differs);
        differs = differs_from_steps(y + patch_columns * line, y[0] + line, two, differs);
    }
    SquareGrid<patch_columns, lines> grid;
    if (_mm512_test_epi32_mask(differs, differs) || !grid.open(level, x[0], y[0], 0))
        return false;
    put_squares<lines>(grid, to);
    return true;
}

// A line of sixteen columns, put in the lanes' order.
__attribute__((always_inline)) static inline __m512i sixteen_of_line(const SquareLine &line) {
    const __m512i dword = _mm512_broadcast_i64x4(_mm512_castsi512_si256(_mm512_load_si512(line.squares->dword[line.first_column])));
    const __m512i of_line = _mm512_xor_si512(dword, _mm512_set1_epi32((int)line.squares->line[line.first_line]));
    const __m512i middle = line.at(0, 2), left = line.lanes_of(of_line, line.at(0, 0), line.at(0, 1), middle);
    return _mm512_mask_blend_epi32(0xff00, left, line.lanes_of(of_line, middle, line.at(0, 3), line.at(0, 4)));
}

// The same for lines of sixteen columns that lie anyhow: those of the vectors that have active lanes.
static inline bool fetch_lines(const ImageTexels &level, const uint32_t *x, const uint32_t *y, uint64_t active, const RowsOf<float> &to) {
    const __m512i sixteen = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), same = _mm512_setzero_si512();
    const RowsOf<float> rows = to;
    SquareLine line[2 * image_row / 16];
#pragma GCC unroll 1
    for (int lane = 0; lane < 2 * image_row; lane += 16) {
        const uint32_t some = (uint32_t)(active >> lane) & 0xffff;
        if (!some)
            continue;
        const __m512i differs = differs_from_steps(x + lane, x[lane], sixteen, differs_from_steps(y + lane, y[lane], same, same));
        if (some != 0xffff || _mm512_test_epi32_mask(differs, differs) || !line[lane / 16].open(level, x[lane], y[lane], 0))
            return false;
    }
#pragma GCC unroll 1
    for (int lane = 0; lane < 2 * image_row; lane += 16)
        if (active >> lane & 1)
            put_four_bytes(sixteen_of_line(line[lane / 16]), rows, lane);
    return true;
}

// The same for either; `active`: lanes of a wave.
static inline bool fetch_squares(const ImageTexels &level, const uint32_t *x, const uint32_t *y, uint64_t active, unsigned rows, const RowsOf<float> &to) {
    if (!level.squares)
        return false;
    if (rows == 2 ? ~active == 0 && fetch_patch<wave_lines>(level, x, y, to) : active == 0xffffffff && fetch_patch<patch_lines>(level, x, y, to))
        return true;
    return fetch_lines(level, x, y, active, to);
}
#elif defined(__AVX2__)
template <int lines> static inline bool pass_squares(const ImageTexels &, __m256i, __m256i, uint32_t, const RowsOf<float> &) { return false; }
static inline bool fetch_squares(const ImageTexels &, const uint32_t *, const uint32_t *, uint64_t, unsigned, const RowsOf<float> &) { return false; }
#endif
