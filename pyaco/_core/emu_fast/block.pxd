"""Blocks of steps, made from decoded instructions on first use and found by pc."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from pyaco._core.emu.code cimport Code
from pyaco._core.emu.wave cimport Instruction, Machine
from pyaco._core.emu_fast.matrix_plan cimport MatrixPlan
from pyaco._core.emu_fast.step cimport Block, ImageSteps, MemorySteps, RowSteps, Step, StepFunction

cdef enum:
    block_limit = 128                 # instructions
    pool_rows = 1024
    recent_blocks = 64

cdef struct Kernels:                  # steps for the host's vectors
    const StepFunction *vector
    const MemorySteps *memory
    const RowSteps *rows
    StepFunction matrix
    const StepFunction *chains        # forms of steps that hand their results on (chain_steps.h); NULL: none
    const ImageSteps *image           # NULL: the reference engine executes image instructions
    uint32_t control_zeros            # what is set in MXCSR where denormal sources are zeros; 0: steps flush them

# Workgroups that follow each other in x and run as the lanes of one wave (joining.pxi).
cdef struct Joined:
    uint32_t count                    # 1: each has waves of its own
    uint32_t lanes                    # of each
    uint32_t wave_size
    uint32_t sgpr                     # that the first component of their ids starts in, or register_none
    uint64_t entry
    uint64_t first_read               # instructions from the one to the other find it there
    uint64_t last_read

cdef struct Blocks:
    Kernels kernels
    Joined joined
    Code *code
    Machine *machine
    uint32_t mode                     # MODE of the wave for which blocks are made
    uint8_t *pool                     # scratch rows of the steps, then constants
    uint32_t pool_count
    Block *recent[recent_blocks]      # by pc modulo its size: a cache
    unordered_map[uint64_t, Block *] *by_pc
    unordered_map[uint64_t, uint32_t] *constants      # low and high half of a value to its row; narrow ones have equal halves
    uint32_t image_steps              # modulo `cached_works`: the next one's number
    vector[MatrixPlan *] *plans       # of matrix instructions
    unordered_map[uint64_t, uint32_t] *selections     # modifiers of DPP to the first of two rows

cdef bint open_blocks(Blocks *blocks, Kernels kernels, Code *code, Machine *machine) noexcept nogil
cdef void close_blocks(Blocks *blocks) noexcept nogil
# The block at a pc. A block without instructions: the reference engine stops or executes what is there.
cdef Block *block_at(Blocks *blocks, uint64_t pc, uint32_t banks) noexcept nogil
# The steps of a block for waves whose active lanes lie so (shape_*). NULL: out of memory.
cdef const Step *shaped_steps(const Blocks *blocks, Block *block, uint32_t shape) noexcept nogil
# Looks for what a wave that begins with the block writes before it reads it.
cdef void find_first_writes(Blocks *blocks, Block *block) noexcept nogil
# Whether an instruction runs without the reference engine.
cdef bint has_own_steps(const Block *block, const Instruction *instruction) noexcept nogil
# Whether the code from `joined.entry` on may run for joined workgroups; finds where it reads their ids.
cdef bint can_join(Code *code, Machine *machine, const Kernels *kernels, Joined *joined) noexcept nogil
# A dword for each lane: the first component of its workgroup's id, where workgroups are joined.
cdef uint32_t *row_of_ids(const Blocks *blocks) noexcept nogil
# Adds what the blocks executed to the counters of the machine.
cdef void count_blocks(Blocks *blocks) noexcept nogil
# Corrects the counters for a block that stopped at a step: counts the instructions up to there instead of the whole block.
cdef void count_part(Blocks *blocks, Block *block, const Step *last, uint64_t active) noexcept nogil
