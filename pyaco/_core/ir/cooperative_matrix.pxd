"""Cooperative matrices in NIR: where the elements of a tile are, and what its multiplications say of them.

A matrix consists of tiles of 16 rows by 16 columns, and a lane has eight elements of each. In every half of 32 lanes, lane n holds, with h the
bit 4 of n and i from 0 to 7:

- of A: row n & 15, columns 8 * h + i;
- of B, C and the result: column n & 15, rows 8 * h + i.

A wave of 64 lanes has each tile twice. These are the registers of the matrix instructions of GFX12 in waves of 32 lanes (RDNA 4 ISA, "WMMA Data
Layout"), so that there nothing has to move.

``cmat_types`` of an intrinsic has the type of A in its lowest four bits, then that of B, then that of C and the result. ``cmat_operands`` is
SPIR-V's mask of cooperative matrix operands.
"""
cdef enum:                        # types of elements
    cmat_f16 = 0
    cmat_bf16 = 1
    cmat_e4m3 = 2
    cmat_e5m2 = 3
    cmat_f32 = 4
    cmat_i8 = 5
    cmat_i32 = 6

cdef enum:                        # bits of cmat_operands
    cmat_a_signed = 1
    cmat_b_signed = 2
    cmat_c_signed = 4
    cmat_result_signed = 8
    cmat_saturating = 16

cdef enum:
    cmat_tile = 16                # rows and columns of a tile
    cmat_elements = 8             # of a tile, in a lane

cdef inline int cmat_type_of(int types, int operand) noexcept nogil:
    return types >> (4 * operand) & 15
