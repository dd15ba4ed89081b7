"""What matrix instructions multiply, by opcode: the part of the table that both engines read."""
from libc.stdint cimport uint8_t, uint32_t

cdef enum:                            # of an element
    kind_none, kind_f16, kind_bf16, kind_fp8, kind_bf8, kind_i8, kind_iu8, kind_iu4, kind_f32, kind_xf32, kind_i32, kind_f64
    kind_f8f6f4                       # one of fp8, bf8 and these, by CBSZ or BLGP
    kind_fp6, kind_bf6, kind_fp4

cdef struct MatrixShape:
    uint8_t size                      # rows and columns of a block
    uint8_t depth                     # the inner dimension
    uint8_t blocks
    uint8_t left                      # kind_* of A, B, and of C and D
    uint8_t right
    uint8_t sum
    uint8_t sparse                    # A holds two of every four elements

cdef inline uint32_t kind_width(uint8_t kind) noexcept nogil:
    """Bits of an element."""
    if kind == kind_f64:
        return 64
    if kind == kind_f32 or kind == kind_xf32 or kind == kind_i32:
        return 32
    if kind == kind_f16 or kind == kind_bf16:
        return 16
    if kind == kind_fp6 or kind == kind_bf6:
        return 6
    return 4 if kind == kind_iu4 or kind == kind_fp4 else 8


cdef inline bint has_crossed_index(const MatrixShape *shape) noexcept nogil:
    """GFX12.5's sparse operations of its own: `crossed_index` finds the index of an element, which lies in A's own lane otherwise."""
    return shape.sparse and kind_width(shape.left) * shape.depth == 1024


cdef inline uint32_t crossed_index(const uint32_t *indices, uint32_t lane, uint32_t position, uint32_t elements) noexcept nogil:
    """Which of four elements of a row one of the `elements` of A in a lane is. A register holds sixteen entries in each of 64 lanes."""
    cdef uint32_t half = elements >> 1
    cdef uint32_t entry = half * (lane >> 4) + position % half
    return (indices[64 * (entry >> 4) + (lane & 15) + 16 * (position // half)] >> (2 * (entry & 15))) & 3
