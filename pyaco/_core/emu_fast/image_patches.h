// Patches: the texels of lanes that lie in the level as in a workgroup, four lines of eight columns, each a texel from the next; eight lines for the two
// rows of a wave at once.
//
// Kernels that work on pictures mostly have such lanes. Their texels are named by the first of them alone, and where a surface keeps two lines of two
// columns side by side, 16 bytes, as tiled ones of four bytes a texel do, they come from memory by such quads: those of eight columns make two lines.
// A filter's lanes may also be *spread*: their first texels are those of a patch, in any order of its columns and lines.
#pragma once
#include "image_rows.h"

enum { patch_columns = 8, patch_lines = 4, wave_lines = 8, patch_quads = 5, patch_pairs = 3 };

// Whether an entry of a column, or of a line, and the one that follows are those of a quad.
static inline bool is_pair(const uint32_t *entry, uint32_t distance) {
    return (entry[0] & (15 | image_outside)) == 0 && entry[1] == (entry[0] | distance);
}

// Find the entries of an axis, around its first texel, that belong to quads; `distance`: bytes between the two of a pair.
static inline void find_pairs(ImageAxis &axis, uint32_t distance) {
    const uint32_t *entry = axis.entry - axis.first;
    axis.paired_first = axis.paired_end = 0;
    while (axis.paired_first - 2 >= axis.first && is_pair(entry + axis.paired_first - 2, distance))
        axis.paired_first -= 2;
    while (axis.paired_end + 1 <= axis.last + 1 && is_pair(entry + axis.paired_end, distance))
        axis.paired_end += 2;
}

#if defined(__AVX2__)
// The values of 32 or 64 lanes as four or eight lines of eight, if they are that: of the same columns, and of one line each.
template <int count> struct GridOf {
    __m256i columns, lines;           // the values of four lines twice
    bool found;

    __attribute__((always_inline)) GridOf(const void *across, const void *down) {
        const uint32_t *x = (const uint32_t *)across, *y = (const uint32_t *)down;
        __m256i line[count], differs = _mm256_setzero_si256();
        columns = chunk_of(x);
#pragma GCC unroll 8
        for (int number = 0; number < count; ++number) {
            const int lane = image_chunk * number;
            line[number] = everywhere(y + lane);
            differs = _mm256_or_si256(differs, _mm256_xor_si256(chunk_of(x + lane), columns));
            differs = _mm256_or_si256(differs, _mm256_xor_si256(chunk_of(y + lane), line[number]));
        }
        lines = four_lines(line);
        if (count == wave_lines)
            lines = _mm256_blend_epi32(lines, four_lines(line + count - patch_lines), 0xf0);
        found = is_zero(differs);
    }

    __attribute__((always_inline)) static __m256i four_lines(const __m256i *line) {
        return _mm256_blend_epi32(_mm256_blend_epi32(line[0], line[1], 0x22), _mm256_blend_epi32(line[2], line[3], 0x88), 0xcc);
    }
};

#if defined(__AVX512F__)
template <> struct GridOf<wave_lines> {
    __m256i columns, lines;
    bool found;

    __attribute__((always_inline)) GridOf(const void *across, const void *down) {
        const uint32_t *x = (const uint32_t *)across, *y = (const uint32_t *)down;
        const __m512i first_of_line = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8);
        const __m512i four_firsts = _mm512_setr_epi32(0, 8, 16, 24, 0, 8, 16, 24, 0, 0, 0, 0, 0, 0, 0, 0);
        columns = chunk_of(x);
        const __m512i twice = _mm512_broadcast_i64x4(columns);
        __m512i two[wave_lines / 2], differs = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (int pair = 0; pair < wave_lines / 2; ++pair) {
            const int lane = 2 * image_chunk * pair;
            two[pair] = _mm512_loadu_si512(y + lane);
            differs = _mm512_or_si512(differs, _mm512_xor_si512(_mm512_loadu_si512(x + lane), twice));
            differs = _mm512_or_si512(differs, _mm512_xor_si512(_mm512_permutexvar_epi32(first_of_line, two[pair]), two[pair]));
        }
        lines = _mm256_blend_epi32(_mm512_castsi512_si256(_mm512_permutex2var_epi32(two[0], four_firsts, two[1])),
                                   _mm512_castsi512_si256(_mm512_permutex2var_epi32(two[2], four_firsts, two[3])), 0xf0);
        found = _mm512_test_epi32_mask(differs, differs) == 0;
    }
};
#endif

typedef GridOf<patch_lines> Grid;

static inline int32_t first_lane(__m256i chunk) { return _mm_cvtsi128_si32(_mm256_castsi256_si128(chunk)); }

// Whether lanes have the same first column in the second line as in the first: most that lie otherwise have not.
static inline bool may_be_grid(const float *const *coordinate) { return !std::memcmp(coordinate[0], coordinate[0] + image_chunk, sizeof(float)); }

// Whether texels follow each other: eight columns, and four or eight lines.
template <int count = patch_lines> static inline bool is_patch(__m256i column, __m256i line) {
    const __m256i columns = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), lines = count == wave_lines ? columns : _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3);
    const __m256i first_column = _mm256_broadcastd_epi32(_mm256_castsi256_si128(column));
    const __m256i first_line = _mm256_broadcastd_epi32(_mm256_castsi256_si128(line));
    return is_zero(_mm256_or_si256(_mm256_xor_si256(_mm256_sub_epi32(column, columns), first_column),
                                   _mm256_xor_si256(_mm256_sub_epi32(line, lines), first_line)));
}

// Find the quads of a patch, or of one that has a column and a line more (`further` 1), in a slice. False: some texels do not lie in quads.
template <int count = patch_lines>
__attribute__((always_inline)) static inline bool open_quads(const ImageTexels &level, int32_t column, int32_t line, uint32_t slice, int further,
                                                             ImagePatch &patch) {
    const ImageAxis &x = level.axis[0], &y = level.axis[1];
    if (column < x.paired_first || column + patch_columns + further > x.paired_end || line < y.paired_first || line + count + further > y.paired_end)
        return false;
    patch.odd_column = (uint8_t)(column & 1);
    patch.odd_line = (uint8_t)(line & 1);
    const uint32_t *across = x.entry - x.first + (column & ~1), *down = y.entry - y.first + (line & ~1);
    const int last = patch.odd_column | further ? patch_columns : 0, pairs = count / 2 + (patch.odd_line | further);
    const __m256i low = _mm256_set1_epi32((int)level.low), other = _mm256_set1_epi32((int)slice);
    const __m256i evens = _mm256_permutevar8x32_epi32(chunk_of(across), _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0));
    const __m256i columns = _mm256_blend_epi32(evens, everywhere(across + last), 0xf0), mixed = _mm256_xor_si256(columns, other);
    const __m256i added = _mm256_add_epi32(_mm256_andnot_si256(low, columns), _mm256_andnot_si256(low, other));
#pragma GCC unroll 5
    for (int pair = 0; pair < pairs; ++pair) {
        const __m256i entry = everywhere(down + 2 * pair);
        put_chunk(patch.offset[pair], _mm256_or_si256(_mm256_and_si256(_mm256_xor_si256(entry, mixed), low),
                                                      _mm256_add_epi32(_mm256_andnot_si256(low, entry), added)));
    }
    return true;
}

// The same, if the texels of lanes are a patch.
template <int count = patch_lines>
__attribute__((always_inline)) static inline bool open_patch(const ImageTexels &level, __m256i columns, __m256i lines, uint32_t slice, int further,
                                                             ImagePatch &patch) {
    return is_patch<count>(columns, lines) && open_quads<count>(level, first_lane(columns), first_lane(lines), slice, further, patch);
}

// The same for lanes whose texels are of a patch in any order, as those of a magnified image are.
__attribute__((always_inline)) static inline bool open_spread(const ImageTexels &level, __m256i columns, __m256i lines, ImagePatch &patch) {
    const __m256i column = least_end(columns), line = least_end(lines);
    const __m256i across = _mm256_sub_epi32(columns, column), down = _mm256_sub_epi32(lines, line);
    const __m256i beyond = _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(patch_columns - 1), across),
                                           _mm256_andnot_si256(_mm256_set1_epi32(patch_lines - 1), down));
    if (!is_zero(beyond) || !open_quads(level, first_lane(column), first_lane(line), 0, 1, patch))
        return false;
    patch.spread = true;
    put_chunk(patch.column, across);
    _mm_store_si128((__m128i *)patch.line, _mm256_castsi256_si128(down));
    return true;
}

// Lines of a patch of `count` lines: those of columns from the first on, and those from the next on.
template <int count = patch_lines> struct PatchLines {
    alignas(32) uint32_t left[count + 2][image_chunk], right[count + 2][image_chunk];
};

static inline __m128i quad_at(const uint8_t *host, uint32_t offset) { return _mm_loadu_si128((const __m128i *)(host + offset)); }

// `line` are eight columns from an even one on, `beyond` the two that follow.
template <bool odd, bool both>
__attribute__((always_inline)) static inline void put_line(__m256i line, __m256i beyond, uint32_t *left, uint32_t *right) {
    const __m256i next = _mm256_permutevar8x32_epi32(_mm256_blend_epi32(line, beyond, 0x01), _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0));
    put_chunk(left, odd ? next : line);
    if (both)
        put_chunk(right, odd ? _mm256_permute4x64_epi64(_mm256_blend_epi32(line, beyond, 0x03), 0x39) : next);
}

template <bool odd, bool both, int count> static inline void read_patch_by(const uint8_t *host, const ImagePatch &patch, PatchLines<count> &lines) {
    const int pairs = count / 2 + (patch.odd_line | (both ? 1 : 0));
#pragma GCC unroll 1
    for (int pair = 0; pair < pairs; ++pair) {
        const uint32_t *offset = patch.offset[pair];
        const __m256i even = join_chunk(quad_at(host, offset[0]), quad_at(host, offset[2]));
        const __m256i others = join_chunk(quad_at(host, offset[1]), quad_at(host, offset[3]));
        const __m256i beyond = odd || both ? _mm256_castsi128_si256(quad_at(host, offset[4])) : even;
        put_line<odd, both>(_mm256_unpacklo_epi64(even, others), beyond, lines.left[2 * pair], lines.right[2 * pair]);
        put_line<odd, both>(_mm256_unpackhi_epi64(even, others), _mm256_bsrli_epi128(beyond, 8), lines.left[2 * pair + 1], lines.right[2 * pair + 1]);
    }
}

template <bool both, int count> static inline void read_patch(const uint8_t *host, const ImagePatch &patch, PatchLines<count> &lines) {
    if (patch.odd_column)
        read_patch_by<true, both>(host, patch, lines);
    else
        read_patch_by<false, both>(host, patch, lines);
}

// The elements of a patch, eight lanes at a time.
struct PatchElements {
    PatchLines<> lines;
    const uint32_t (*line)[image_chunk];

    PatchElements(const uint8_t *host, const ImagePatch &patch) : line(lines.left + patch.odd_line) { read_patch<false>(host, patch, lines); }

    __m256i at(int lane) const { return chunk_of(line[lane / image_chunk]); }
};

// What `put` makes of them, without a way through memory: it is called with a lane and the elements from it on, as many as fill a vector.
#if defined(__AVX512F__)
// Four quads: two lines of eight columns.
__attribute__((always_inline)) static inline void read_quads(const uint8_t *host, const uint32_t *offset, __m512i &quads) {
    quads = _mm512_castsi128_si512(quad_at(host, offset[0]));
    quads = _mm512_inserti32x4(quads, quad_at(host, offset[1]), 1);
    quads = _mm512_inserti32x4(quads, quad_at(host, offset[2]), 2);
    quads = _mm512_inserti32x4(quads, quad_at(host, offset[3]), 3);
}

// Eight columns of two lines, from the quads' first column on, or from the next or the one after it, for which the fifth quad has the last.
template <int first> __attribute__((always_inline)) static inline __m512i columns_of_quads(__m512i quads, __m512i beyond) {
    if (first == 0)
        return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15), quads);
    if (first == 1)
        return _mm512_permutex2var_epi32(quads, _mm512_setr_epi32(1, 4, 5, 8, 9, 12, 13, 16, 3, 6, 7, 10, 11, 14, 15, 18), beyond);
    return _mm512_permutex2var_epi32(quads, _mm512_setr_epi32(4, 5, 8, 9, 12, 13, 16, 17, 6, 7, 10, 11, 14, 15, 18, 19), beyond);
}

// Two lines of eight columns from an even one on, or from an odd one.
template <bool odd_column> __attribute__((always_inline)) static inline __m512i two_lines(const uint8_t *host, const uint32_t *offset) {
    __m512i quads;
    read_quads(host, offset, quads);
    return columns_of_quads<odd_column ? 1 : 0>(quads, odd_column ? _mm512_castsi128_si512(quad_at(host, offset[4])) : quads);
}

template <int count, bool odd_column, bool odd_line, class Put>
__attribute__((always_inline)) static inline void for_patch_by(const uint8_t *host, const ImagePatch &patch, Put put) {
    __m512i before = two_lines<odd_column>(host, patch.offset[0]);
#pragma GCC unroll 5
    for (int pair = 0; pair < count / 2; ++pair) {
        __m512i lines = before;
        if (odd_line) {
            before = two_lines<odd_column>(host, patch.offset[pair + 1]);
            lines = _mm512_alignr_epi64(before, lines, 4);
        } else if (pair) {
            lines = two_lines<odd_column>(host, patch.offset[pair]);
        }
        put(2 * image_chunk * pair, lines);
    }
}
#else
template <int count, bool odd_column, bool odd_line, class Put>
__attribute__((always_inline)) static inline void for_patch_by(const uint8_t *host, const ImagePatch &patch, Put put) {
#pragma GCC unroll 5
    for (int pair = 0; pair < count / 2 + (odd_line ? 1 : 0); ++pair) {
        const uint32_t *offset = patch.offset[pair];
        const __m256i even = join_chunk(quad_at(host, offset[0]), quad_at(host, offset[2]));
        const __m256i others = join_chunk(quad_at(host, offset[1]), quad_at(host, offset[3]));
        __m256i upper = _mm256_unpacklo_epi64(even, others), lower = _mm256_unpackhi_epi64(even, others);
        if (odd_column) {
            const __m256i beyond = _mm256_castsi128_si256(quad_at(host, offset[4])), next = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
            upper = _mm256_permutevar8x32_epi32(_mm256_blend_epi32(upper, beyond, 0x01), next);
            lower = _mm256_permutevar8x32_epi32(_mm256_blend_epi32(lower, _mm256_bsrli_epi128(beyond, 8), 0x01), next);
        }
        if (!odd_line || pair)
            put(image_chunk * (2 * pair - odd_line), upper);
        if (!odd_line || pair < count / 2)
            put(image_chunk * (2 * pair - odd_line + 1), lower);
    }
}
#endif

template <int count, class Put> static inline void for_patch(const uint8_t *host, const ImagePatch &patch, Put put) {
    if (patch.odd_column) {
        if (patch.odd_line)
            return for_patch_by<count, true, true>(host, patch, put);
        return for_patch_by<count, true, false>(host, patch, put);
    }
    if (patch.odd_line)
        return for_patch_by<count, false, true>(host, patch, put);
    for_patch_by<count, false, false>(host, patch, put);
}

struct PatchCorners {
    PatchLines<> lines;
    const ImagePatch &patch;

    PatchCorners(const uint8_t *host, const ImagePatch &given) : patch(given) { read_patch<true>(host, patch, lines); }

    __attribute__((always_inline)) void load(int lane, Corners &found) const {
        const int line = patch.odd_line + (patch.spread ? patch.line[lane / image_chunk] : lane / image_chunk);
        found = {chunk_of(lines.left[line]), chunk_of(lines.right[line]), chunk_of(lines.left[line + 1]), chunk_of(lines.right[line + 1])};
        if (!patch.spread)
            return;
        const __m256i column = chunk_of(patch.column);
        found = {_mm256_permutevar8x32_epi32(found.left, column), _mm256_permutevar8x32_epi32(found.right, column),
                 _mm256_permutevar8x32_epi32(found.lower_left, column), _mm256_permutevar8x32_epi32(found.lower_right, column)};
    }
};

// --------------------------------------------------------------------------------------------------------------- places
template <int filter>
static inline bool place_patch_by(const ImageTexels &level, const float *const *coordinate, ImageRow &row) {
    const Grid grid(coordinate[0], coordinate[1]);
    if (!grid.found)
        return false;
    const ExactAxis x(level.axis[0]), y(level.axis[1]);
    __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    const __m256i across = find_places_exactly<filter>(x, _mm256_castsi256_ps(grid.columns), all);
    const __m256i down = find_places_exactly<filter>(y, _mm256_castsi256_ps(grid.lines), all);
    if (_mm256_movemask_ps(all) != 0xff)
        return false;
    const __m256i column = _mm256_srai_epi32(across, 9), line = _mm256_srai_epi32(down, 9);
    row.patch.spread = false;
    if (!open_patch(level, column, line, 0, filter == image_linear ? 1 : 0, row.patch) &&
        !(filter == image_linear && open_spread(level, column, line, row.patch)))
        return false;
    if (filter == image_linear) {
        const __m256i columns = weight_of_place(across), lines = weight_of_place(down);
#pragma GCC unroll 4
        for (int line = 0; line < patch_lines; ++line) {
            put_chunk(row.weight[0] + image_chunk * line, columns);
            put_chunk(row.weight[1] + image_chunk * line, _mm256_permutevar8x32_epi32(lines, _mm256_set1_epi32(line)));
        }
    }
    return true;
}

// From coordinates to a patch of a level whose axes are exact. False: the lanes lie otherwise.
static inline bool place_patch(const ImageTexels &level, const float *const *coordinate, int filter, ImageRow &row) {
    return !may_be_grid(coordinate)  ? false
         : filter == image_linear    ? place_patch_by<image_linear>(level, coordinate, row)
         : filter == image_truncates ? place_patch_by<image_truncates>(level, coordinate, row)
                                     : place_patch_by<image_nearest>(level, coordinate, row);
}

// The places of the lanes of a wave as lines of eight, in a level whose axes are exact, and the patch that they are, or not.
template <int count> struct WavePatch {
    ImagePatch patch;
    __m256i column, line;             // texels
    __m256i across, down;             // weights of the columns and of the lines

    // False: they are no such lines, or some place is not exact.
    template <int filter> __attribute__((always_inline)) bool find(const ImageTexels &level, const float *const *coordinate) {
        const GridOf<count> grid(coordinate[0], coordinate[1]);
        if (!grid.found)
            return false;
        __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
        const __m256i columns = find_places_exactly<filter>(ExactAxis(level.axis[0]), _mm256_castsi256_ps(grid.columns), all);
        const __m256i lines = find_places_exactly<filter>(ExactAxis(level.axis[1]), _mm256_castsi256_ps(grid.lines), all);
        column = _mm256_srai_epi32(columns, 9);
        line = _mm256_srai_epi32(lines, 9);
        across = weight_of_place(columns);
        down = weight_of_place(lines);
        return _mm256_movemask_ps(all) == 0xff;
    }

    template <int filter> __attribute__((always_inline)) bool open(const ImageTexels &level, uint32_t slice = 0) {
        return open_patch<count>(level, column, line, slice, filter == image_linear ? 1 : 0, patch);
    }

    template <int filter> __attribute__((always_inline)) bool find_patch(const ImageTexels &level, const float *const *coordinate) {
        return find<filter>(level, coordinate) && open<filter>(level);
    }
};
#else
// Only for the compiler: hosts without such vectors have no steps.
struct PatchElements {
    PatchElements(const uint8_t *, const ImagePatch &) {}
};
struct PatchCorners {
    PatchCorners(const uint8_t *, const ImagePatch &) {}
};
static inline bool place_patch(const ImageTexels &, const float *const *, int, ImageRow &) { return false; }
#endif
