// Squares: 4 x 4 texels of four bytes that lie side by side in 64 bytes, as tiled surfaces keep them.
//
// The texels of a patch (image_patches.h) that no filter mixes come from memory by squares: wherever it begins, eight columns of four lines lie in three of
// them, or in six, and permutations put two lines in the lanes' order. All texels of these squares are in the level.
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
    // By the column of its square that the first lane has, for sixteen columns of a square's first line: the dword in four halves beside each other, or in
    // the fifth, which lanes have that `fifth` has. Other lines lie in the half from `half` bytes on, and differ in the bits `in_half`.
    alignas(64) uint32_t column[square_edge][16];
    uint16_t fifth[square_edge];
    uint32_t half[square_edge], in_half[square_edge];
    // The bytes of a square by their place in an element, those of the first of all texels first, each in lines.
    alignas(64) uint8_t byte[square_bytes];
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

// What lines of sixteen columns are read by. False: they do not lie in halves of squares.
static inline bool find_square_lines(const uint32_t *x, TexelSquares &squares) {
    enum { half_dwords = 8 };
    for (uint32_t first = 0; first < square_edge; ++first) {
        squares.half[first] = (squares.line[first] & half_dwords) * 4;
        squares.in_half[first] = squares.line[first] & (half_dwords - 1);
        squares.fifth[first] = 0;
        if ((x[first] ^ x[0]) / 4 >= half_dwords)
            return false;
        for (uint32_t lane = 0; lane < 16; ++lane) {
            const uint32_t column = first + lane, square = column / square_edge;
            squares.column[first][lane] = half_dwords * square + (x[column % square_edge] ^ x[0]) / 4;
            squares.fifth[first] |= (uint16_t)((square == 4 ? 1 : 0) << lane);
        }
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
    for (uint32_t number = 0; number < square_bytes; ++number) {
        const uint32_t texel = number % (square_edge * square_edge), column = (x[texel % square_edge] ^ x[0]) / 4;
        squares.byte[number] = (uint8_t)(4 * (column ^ squares.line[texel / square_edge]) + number / (square_edge * square_edge));
    }
    return find_square_lines(x, squares);
}

#if defined(__AVX512F__)
// Whether texels from one on lie before an end.
static inline bool has_room(uint32_t first, uint32_t count, uint32_t end) { return first < end && end - first >= count; }

// The squares of a patch. Where its first texel begins one, there is one less, and the first stands for it.
template <int lines> struct SquarePatch {
    const TexelSquares *squares;
    const uint8_t *host;
    const uint32_t *x, *y;            // entries of the first square
    uint32_t first_column, first_line;      // in that
    uint32_t last_column, last_line;        // of the last square

    // False: some square is not there.
    __attribute__((always_inline)) bool open(const ImageTexels &level, uint32_t column, uint32_t line) {
        squares = level.squares;
        if (!has_room(column, patch_columns, squares->end_column) || !has_room(line, lines, squares->end_line))
            return false;
        host = level.host;
        first_column = column % square_edge;
        first_line = line % square_edge;
        x = level.axis[0].entry - level.axis[0].first + (column - first_column);
        y = level.axis[1].entry - level.axis[1].first + (line - first_line);
        last_column = first_column ? patch_columns : 0;
        last_line = first_line ? lines : 0;
        return true;
    }

    __attribute__((always_inline)) __m512i at(int row, int number) const {
        const uint32_t column = x[number < patch_columns / square_edge ? (uint32_t)(square_edge * number) : last_column];
        const uint32_t line = y[row < lines / square_edge ? (uint32_t)(square_edge * row) : last_line];
        return _mm512_loadu_si512(host + (column ^ line));
    }
};

// Which dwords of three squares beside each other lanes have.
struct SquareLanes {
    __m512i dword;
    __mmask16 behind;

    __attribute__((always_inline)) __m512i of(__m512i first, __m512i second, __m512i third) const {
        return _mm512_mask_permutexvar_epi32(_mm512_permutex2var_epi32(first, dword, second), behind, dword, third);
    }
};

// Those of two lines of eight: the first and second of a square, or the third and fourth.
struct SquareColumns {
    SquareLanes half[2];

    __attribute__((always_inline)) SquareColumns(const TexelSquares &squares, uint32_t first_column) {
        half[0] = {_mm512_load_si512(squares.dword[first_column]), squares.behind[first_column]};
        half[1] = {_mm512_xor_si512(half[0].dword, _mm512_set1_epi32((int)squares.line[2])), half[0].behind};
    }
};

// Call `put` with the first lane of each two lines of a patch, and their texels.
template <int lines, int first_line, class Put>
__attribute__((always_inline)) static inline void for_squares_by(const SquarePatch<lines> &patch, Put put) {
    const SquareColumns columns(*patch.squares, patch.first_column);
    __m512i square[3] = {}, before = {};
#pragma GCC unroll 5
    for (int pair = 0; pair < lines / 2 + (first_line & 1); ++pair) {
        const int line = (first_line & 2) + 2 * pair;
        if (pair == 0 || line % square_edge == 0)
            for (int number = 0; number < 3; ++number)
                square[number] = patch.at(line / square_edge, number);
        const __m512i two = columns.half[line / 2 & 1].of(square[0], square[1], square[2]);
        if (!(first_line & 1))
            put(2 * patch_columns * pair, two);
        else if (pair)
            put(2 * patch_columns * (pair - 1), _mm512_alignr_epi64(two, before, 4));
        before = two;
    }
}

template <int lines, class Put> __attribute__((always_inline)) static inline void for_squares(const SquarePatch<lines> &patch, Put put) {
    switch (patch.first_line) {
    case 0: return for_squares_by<lines, 0>(patch, put);
    case 1: return for_squares_by<lines, 1>(patch, put);
    case 2: return for_squares_by<lines, 2>(patch, put);
    default: return for_squares_by<lines, 3>(patch, put);
    }
}

// Put all four components of 8-bit unorm of lines of columns. False: they are no patch that lies in squares, and nothing was written.
template <int lines>
__attribute__((always_inline)) static inline bool pass_squares(const ImageTexels &level, __m256i column, __m256i line, const RowsOf<float> &rows) {
    SquarePatch<lines> patch;
    if (!is_patch<lines>(column, line) || !patch.open(level, (uint32_t)first_lane(column), (uint32_t)first_lane(line)))
        return false;
    for_squares<lines>(patch, [rows](int lane, __m512i words) __attribute__((always_inline)) { put_four_bytes(words, rows, lane); });
    return true;
}

// The same for texels that integers name.
template <int lines>
__attribute__((always_inline)) static inline bool fetch_patch(const ImageTexels &level, const uint32_t *x, const uint32_t *y,
                                                              const RowsOf<float> &rows) {
    if (x[patch_columns] != x[0] || x[1] != x[0] + 1)     // most lanes that lie otherwise
        return false;
    const __m512i eight = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i two = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i column = _mm512_add_epi32(_mm512_set1_epi32((int)x[0]), eight);
    __m512i line = _mm512_add_epi32(_mm512_set1_epi32((int)y[0]), two), differs = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int lane = 0; lane < patch_columns * lines; lane += 2 * patch_columns) {
        differs = _mm512_ternarylogic_epi32(differs, column, _mm512_loadu_si512(x + lane), 0xf6);
        differs = _mm512_ternarylogic_epi32(differs, line, _mm512_loadu_si512(y + lane), 0xf6);
        line = _mm512_add_epi32(line, _mm512_set1_epi32(2));
    }
    SquarePatch<lines> patch;
    if (_mm512_test_epi32_mask(differs, differs) || !patch.open(level, x[0], y[0]))
        return false;
    for_squares<lines>(patch, [rows](int lane, __m512i words) __attribute__((always_inline)) { put_four_bytes(words, rows, lane); });
    return true;
}
#endif
