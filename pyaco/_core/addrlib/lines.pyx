"""Lines of texels between tiled memory and rows (line_copy.h says what a line is)."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free

cdef extern from "line_cells.h" nogil:
    int64_t line_bytes
    cdef cppclass HalfNetwork:
        pass
    cdef cppclass LineCopy:
        uint8_t *memory
        uint8_t *texels
        const int64_t *columns
        const int64_t *rows
        int64_t wide, high, low, base, pitch
        int height_log2, piece
        const uint8_t *offsets
        const int32_t *network
        bint shuffles_bytes, past_caches
        const HalfNetwork *halves
        int64_t run, run_wide, run_high
        uint8_t *buffer
    int64_t buffer_bytes(const LineCopy &copy, bint to_memory)
    void detile "move_lines<false>" (const LineCopy &copy, int vector_bits)
    void tile "move_lines<true>" (const LineCopy &copy, int vector_bits)
    int widest_vectors()

VECTOR_BITS = widest_vectors()


def move_lines(
    const uint8_t[::1] memory, const uint8_t[::1] texels, const int64_t[::1] columns, const int64_t[::1] rows, int64_t low, int64_t base,
    int64_t place, int64_t pitch, order, bint to_memory, bint past_caches, run, int vector_bits,
):
    """Move lines between memory and texels: the line of (row, column) begins at `columns[column]`, `rows[row]` and `base`, xored in the bits of `low`
    and added in the others; its texels at byte `place`, whose rows are `pitch` bytes apart.

    `order` is a `LineOrder`; `run` says (bytes, columns, rows) of memory in a row that is a rectangle of lines, if all lines are in such, else
    (0, 0, 0): how memory that begins inside of a cache line is written past the caches; `vector_bits` are at most `VECTOR_BITS`, 0: none.
    """
    cdef LineCopy copy
    cdef const uint8_t[::1] offsets = order.offsets
    cdef const int32_t[:, :, ::1] network = order.network
    cdef const int32_t[:, ::1] halves = order.halves
    if not len(columns) or not len(rows):
        return
    copy.memory, copy.texels = <uint8_t *>&memory[0], <uint8_t *>&texels[place]
    copy.columns, copy.rows, copy.wide, copy.high = &columns[0], &rows[0], len(columns), len(rows)
    copy.low, copy.base, copy.pitch = low, base, pitch
    copy.height_log2, copy.piece, copy.shuffles_bytes, copy.past_caches = order.height_log2, order.piece, order.shuffles_bytes, past_caches
    copy.offsets = &offsets[0]
    copy.network = &network[to_memory, 0, 0] if len(network) else NULL
    copy.halves = <const HalfNetwork *>&halves[to_memory, 0] if len(halves) else NULL
    copy.run, copy.run_wide, copy.run_high = run if to_memory and <uintptr_t>copy.memory % <uintptr_t>line_bytes else (0, 0, 0)
    cdef uint8_t *buffer = <uint8_t *>calloc(<size_t>(buffer_bytes(copy, to_memory) + line_bytes), 1)
    if not buffer:
        raise MemoryError
    copy.buffer = buffer + -<uintptr_t>buffer % <uintptr_t>line_bytes
    with nogil:
        if to_memory:
            tile(copy, vector_bits)
        else:
            detile(copy, vector_bits)
    free(buffer)
