from libc.stdint cimport uint8_t, uint16_t, uint32_t

from pyaco._core.emu.wave cimport Instruction, Source

cdef enum:
    natural_elements = 2048           # most elements of an operand: 32 in each of 64 lanes
    sparse_elements = 1024            # of a sparse A
    natural_lanes = 64                # from one element of a lane to its next
    chunk_lanes = 16

# A, or B.
cdef struct MatrixOperand:
    uint32_t first                    # dwords from the wave's registers
    uint8_t kind
    uint8_t positions                 # elements that a lane's registers hold
    uint8_t chunks                    # of 16 lanes, of which the elements are
    uint8_t chunk_from[4]             # the chunk that each is read from
    uint8_t has_sign                  # integers
    uint8_t fnuz                      # 8-bit floats as CDNA 3 has them
    uint8_t scaled
    uint8_t scale_shift               # of the scale's bits
    uint32_t flip                     # signs of elements of 16 bits, in pairs
    Source scale
    uint16_t at[128]                  # where strip k begins, in natural order

# A matrix instruction with everything worked out that does not change. Elements in natural order: those that the lanes hold first, then their
# second ones, and so on. A strip is one row of a block, or one number k of a column of A or a row of B: lanes that follow each other.
cdef struct MatrixPlan:
    MatrixOperand left
    MatrixOperand right
    uint8_t sum_kind
    uint8_t size                      # rows and columns of a block
    uint8_t depth
    uint8_t blocks
    uint8_t sparse                    # A holds two of every four elements
    uint8_t index_shift               # of the bits that say which
    uint8_t crossed_index             # ... which lie where `crossed_index` says
    uint8_t paired                    # 16-bit elements of C and D lie two to a register
    uint8_t sum_shift                 # ... else in this half
    uint8_t sum_positions             # elements of C and D in a lane
    uint8_t chunks                    # of 16 lanes in a wave
    uint8_t has_constant              # C is `constant`
    uint8_t absolute                  # modifiers of C
    uint8_t negative
    uint8_t negative_left
    uint8_t clamp
    uint32_t index                    # of A, dwords from the wave's registers
    uint32_t addend
    uint32_t destination
    double constant
    uint16_t left_block[16]           # what a block adds to `left.at`
    uint16_t sum_at[64]               # where a row of a block of C and D begins, by block and row

# What a matrix instruction is for waves of some lanes, to be freed. NULL: another instruction, or operands that are left to the reference engine.
cdef MatrixPlan *new_matrix_plan(const Instruction *instruction, uint32_t gfx_level, uint32_t lanes) noexcept nogil
