// Lines in cells: as many of them as a line has rows, transposed in vectors as wide as the processor has, in an order that suits the caches.
#pragma once
#include "line_cells256.h"
#include "line_cells512.h"

#if PYACO_HAS_X86
template <class Cells, bool PAST_CACHES>
static void tile_all(const LineCopy &copy, int64_t end) {
    WaitingRun none = {};
    in_chunks<true>(copy, end, [&](int64_t row, int64_t, int64_t left, int64_t right) {
        Cells::template tile<PAST_CACHES, false>(copy, copy.memory, row, left, right, none);
    });
}

// Memory that does not begin with a cache line: a run is made in a buffer while the one before is written, realigned.
template <class Cells>
static void tile_in_runs(const LineCopy &copy) {
    WaitingRun waiting = {};
    const LineGrid grid(copy.run_wide, copy.run_high, copy.wide, copy.high);
    uint8_t *buffer = copy.buffer, *other = buffer + copy.run;
    for (int64_t i = 0; i < grid.count; i++) {
        const LineRectangle lines = grid[i], coming = grid[i + chunks_ahead(grid)];
        const int64_t first = LineRow(copy, lines.top)[lines.left] & -copy.run;
        __builtin_prefetch(copy.memory + first, 1, 2);
        __builtin_prefetch(copy.memory + first + copy.run - 1, 1, 2);
        for (int64_t row = lines.top; row < lines.bottom; row++) {
            ask_for_row<true>(copy, coming, row - lines.top + coming.top);
            Cells::template tile<true, true>(copy, buffer - first, row, lines.left, lines.right, waiting);
        }
        waiting.begin(copy.memory + first, buffer, copy.run);
        std::swap(buffer, other);
    }
    while (waiting.lines)
        waiting.write_one<true>();
}

// Move all whole cells; return how many columns they are.
template <class Cells, bool TO_MEMORY>
static int64_t move_cells(const LineCopy &copy) {
    int64_t end;
    if (TO_MEMORY) {
        end = Cells::columns_to_tile(copy);
        if (copy.run && (uintptr_t)copy.memory % line_bytes)
            tile_in_runs<Cells>(copy);
        else if (copy.past_caches && (uintptr_t)copy.memory % line_bytes == 0)
            tile_all<Cells, true>(copy, end);
        else
            tile_all<Cells, false>(copy, end);
    } else {
        end = Cells::detile(copy);
    }
    if (copy.past_caches)
        _mm_sfence();
    return end;
}

template <bool TO_MEMORY>
static int64_t move_in_vectors(const LineCopy &copy, int vector_bits) {
    if (vector_bits == 512 && copy.network)
        switch (copy.height_log2 * 2 + copy.shuffles_bytes) {
        case 2: return move_cells<Cells512<1, false>, TO_MEMORY>(copy);
        case 3: return move_cells<Cells512<1, true>, TO_MEMORY>(copy);
        case 4: return move_cells<Cells512<2, false>, TO_MEMORY>(copy);
        case 5: return move_cells<Cells512<2, true>, TO_MEMORY>(copy);
        case 6: return move_cells<Cells512<3, false>, TO_MEMORY>(copy);
        case 7: return move_cells<Cells512<3, true>, TO_MEMORY>(copy);
        }
    if (vector_bits == 256 && copy.halves)
        switch (copy.height_log2) {
        case 1: return move_cells<Cells256<1>, TO_MEMORY>(copy);
        case 2: return move_cells<Cells256<2>, TO_MEMORY>(copy);
        case 3: return move_cells<Cells256<3>, TO_MEMORY>(copy);
        }
    return 0;
}
#endif

// Move all lines, cells in vectors of so many bits where the mode allows it.
template <bool TO_MEMORY>
static void move_lines(const LineCopy &copy, int vector_bits) {
    int64_t done = 0;
#if PYACO_HAS_X86
    done = move_in_vectors<TO_MEMORY>(copy, vector_bits);
#endif
    if (done == copy.wide)
        return;
    LineCopy rest = copy;                                           // the columns that are left
    rest.columns += done;
    rest.texels += done * copy.width();
    rest.wide -= done;
    move_pieces<TO_MEMORY>(rest);
#if PYACO_HAS_X86
    if (copy.past_caches)
        _mm_sfence();
#endif
}

// Bits of the widest vectors that the processor has and there is a form for.
static inline int widest_vectors() {
#if PYACO_HAS_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        return 512;
    if (__builtin_cpu_supports("avx2"))
        return 256;
#endif
    return 0;
}
