// Lines in cells: as many of them as a line has rows, transposed in vectors as wide as the processor has, in an order that suits the caches.
#pragma once
#include "line_cells256.h"
#include "line_cells512.h"

#if PYACO_HAS_X86
template <class Cells, bool PAST_CACHES>
static void tile_all(const LineCopy &copy, int64_t end) {
    in_chunks<true>(copy, end, [&](int64_t row, int64_t, int64_t left, int64_t right) {
        Cells::template tile<PAST_CACHES>(copy, copy.memory, row, left, right);
    });
}

// Move all whole cells; return how many columns they are.
template <class Cells, bool TO_MEMORY>
static int64_t move_cells(const LineCopy &copy) {
    if (!TO_MEMORY)
        return Cells::detile(copy);
    const int64_t end = Cells::columns_to_tile(copy);
    if (end == 0)
        return 0;
    if (copy.run)
        in_runs(copy, Cells::stream_lines, [&](uint8_t *memory, int64_t row, int64_t left, int64_t right) {
            Cells::template tile<false>(copy, memory, row, left, right);
        });
    else if (copy.past_caches && (uintptr_t)copy.memory % line_bytes == 0)
        tile_all<Cells, true>(copy, end);
    else
        tile_all<Cells, false>(copy, end);
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
    if (vector_bits == 256 && copy.halves && (copy.halves->exchanges_8 || copy.halves->exchanges_16))       // else pieces of half a line
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
    if (done < copy.wide) {
        LineCopy rest = copy;                                       // the columns that are left
        rest.columns += done;
        rest.texels += done * copy.width();
        rest.wide -= done;
        move_pieces<TO_MEMORY>(rest);
    }
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
