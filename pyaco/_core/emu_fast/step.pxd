"""What the fast engine executes: steps, made from decoded instructions, in blocks.

A block is a run of instructions in which neither EXEC nor MODE can change, with one entry and its exits at the end. Each of its
instructions becomes a few steps; a step's function ends in a tail call of the next step's function. Operands are resolved when
the block is made: a source is a row of lanes (32 or 64 dwords) at an offset from one of a few base addresses, so a lane loop reads a
VGPR, a constant and a broadcast SGPR alike.

Arithmetic in single precision runs with the host's denormals-are-zero set where MODE flushes denormal sources, which has the same effect; in the
modules for every host, steps flush them.
Denormal results are flushed by the step: the host's own flush looks at the result before it is rounded to a denormal, MODE's after.

Thread safety: a core, its blocks and its pool belong to one thread.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.emu.access cimport MemoryOperation
from pyaco._core.emu_fast.matrix_plan cimport MatrixPlan
from pyaco._core.common.bits cimport popcount
from pyaco._core.emu.wave cimport (Instruction, LaneOperation, Machine, Wave, is_signalling, sgpr_exec, sgpr_null, stop_running, type_f16, type_f32,
                                   type_f64)

cdef extern from "order.h" nogil:
    cdef cppclass Order:
        @staticmethod
        Order *open(uint64_t first, uint64_t groups, unsigned int threads, uint64_t executed, uint64_t budget)
        bint claim(unsigned int thread, uint64_t *group, uint64_t executed)
        bint wait(uint64_t group, uint64_t *executed)
        void fail(uint64_t group)
        uint64_t first_failed()
        void start(void (*body)(void *, unsigned int) noexcept nogil, void *data)
        void join()

cdef extern from "host.h" nogil:
    void copy_row(uint32_t *destination, const uint32_t *row)
    unsigned int host_control()
    void set_host_control(unsigned int value)
    int chunk_kind(const uint32_t *offset)                   # of 16 lanes: chunk_*
    int chunk_any, chunk_sequence, chunk_same
    void chunk_bounds(const uint32_t *offset, uint32_t *lowest, uint32_t *highest)
    bint row_has_nan(const uint32_t *values)                 # singles
    void flush_singles(const uint32_t *values, uint32_t *flushed)
    uint32_t host_source(uint32_t value, uint32_t keep)      # a denormal becomes zero, unless the host takes it for one or `keep` is all ones
    bint row_has_nan16(const uint32_t *values)               # halves, in the low 16 bits
    bint row_has_nan64(const uint64_t *values)               # doubles
    void halves_to_singles(const uint32_t *row, uint32_t shift, float *singles)
    void singles_to_halves(const float *singles, uint32_t *row)
    void gather_row(const uint32_t *row, const uint32_t *index, uint32_t *values)
    uint32_t row_low_bits(const uint32_t *values)            # the lowest bit of every lane
    uint32_t row_nans(const uint32_t *values)                # a bit for each lane with a single that is a NaN
    void put_lanes(uint32_t *row, const uint32_t *values, uint32_t bits, const uint32_t *mask)      # those of 16 that have a bit and a mask
    void put_lane(uint32_t *row, uint32_t lane, uint32_t value)                                     # of 16
    uint64_t load_pair(const uint32_t *pair)                 # of dwords
    void store_pair(uint32_t *pair, uint64_t value)
    uint64_t load_again(const uint64_t *value)               # from memory, whatever the compiler knows of it
    void spread_bits(uint64_t bits, uint32_t *lanes)         # all ones where a bit is set, of 64
    void load_quads(const uint8_t *host, const uint32_t *offset, uint32_t *row)         # four dwords of each of 16 lanes
    void store_quads(uint8_t *host, const uint32_t *offset, const uint32_t *row)
    bint __builtin_expect(bint condition, bint expected)

cdef enum:
    row_lanes = 32                    # a step works on rows of 32 lanes; a wave64 has two of them
    row_bytes = 256                   # from one register to the next, and from one row of the pool to the next
    control_default = 0x1f80          # MXCSR: nothing trapped, round to nearest even

cdef enum:                            # indices into Core.base
    base_vgpr = 0
    base_pool = 1                    # constants and scratch rows of the steps
    base_sgpr = 2
    base_active = 3                  # all ones in active lanes

cdef enum:                            # of MODE
    mode_keep_in32 = 0x10
    mode_keep_out32 = 0x20

ctypedef int (*StepFunction)(Core *core, const Step *step) noexcept nogil

# A modification of a source: ((((value >> shift) & mask) ^ sign) - sign) & keep) ^ flip
cdef struct Change:
    uint32_t shift
    uint32_t mask
    uint32_t sign
    uint32_t keep
    uint32_t flip

# A step fills a line of the host's cache: blocks are long, and a wave goes through them once.
cdef struct Step:
    StepFunction function
    const Instruction *instruction
    const StepRest *rest
    uint32_t offset[4]                # of the sources: bytes from Core.base[base]
    uint8_t base[4]                   # base_*
    uint32_t destination              # bytes from base[destination_base], or number of an SGPR
    uint32_t immediate                # memory: offset; scalar: the 16 bits, extended. Chained: row for a source whose sign it changes; 0: none
    uint32_t allocation               # memory: the allocation that it accessed last; images: the ImageWork. Chained: the slot of that source
    uint16_t sgpr                     # memory: first SGPR of the base or the descriptor, or none; a sampler's is `mask_source`. Chained: first lane
    uint8_t destination_base
    uint8_t mask_source               # SGPR of a source that is a lane mask
    uint8_t mask_destination
    uint8_t wide_address              # memory: address_*. Chained: the result is stored
    uint8_t post_steps                # how many of the following steps process its result
    uint8_t clamp                     # modifiers that the operation itself reads; more of them in `rest`

# What only some kinds of steps read.
cdef struct StepRest:
    const LaneOperation *operation
    const MemoryOperation *memory
    const MatrixPlan *matrix
    Block *block
    StepFunction plain                # of a chained step: the form that has its rows in memory
    uint32_t chain_form               # of a chained step: its place in the table of forms; else 0
    Block *successor[2]               # of the step that ends a block: not taken, taken; NULL: not known yet
    Change change                     # steps that make a row, or change a source's sign themselves
    uint8_t neg
    uint8_t opsel
    uint8_t omod
    uint8_t lane_group_mask           # permutations: lanes that can read each other, less one
    uint8_t reads_inactive            # ... whether they read inactive lanes
    uint8_t returns                   # atomics: the old value

# Loads and stores by the memory they access.
cdef struct Transfers:
    StepFunction global_load
    StepFunction global_store
    StepFunction buffer_load
    StepFunction buffer_store
    StepFunction lds_load
    StepFunction lds_store

cdef struct MemorySteps:
    Transfers general
    Transfers dword                   # of one dword a lane
    StepFunction lds_store_pair
    StepFunction lds_atomic
    StepFunction lds_transpose16      # DS_READ_B64_TR_B16
    StepFunction lds_transpose8
    StepFunction global_to_lds
    StepFunction buffer_to_lds
    StepFunction permute              # DS_BPERMUTE, DS_SWIZZLE
    StepFunction push                 # DS_PERMUTE
    StepFunction global_atomic
    StepFunction buffer_atomic
    StepFunction scratch_load
    StepFunction scratch_store
    StepFunction scalar_load

cdef enum:
    cached_works = 128                # of image instructions (image_cache.pxd): each step has one of them, in turn

cdef struct ImageSteps:
    StepFunction load
    StepFunction store
    StepFunction sample

# Steps that make rows of the pool, or write them to registers.
cdef struct RowSteps:
    StepFunction broadcast            # an SGPR to a row of the pool
    StepFunction change               # a row, changed, to a row of the pool
    StepFunction arrange              # halves of a row, chosen (first bits: shift and mask) and with signs changed (flip)
    StepFunction widen                # halves of a row to singles
    StepFunction select               # the lanes that DPP reads, and those that it writes
    StepFunction copy                 # a row of the pool to a VGPR
    StepFunction scale                # omod and clamp of singles
    StepFunction merge                # part of a register, in the lanes of a mask
    void (*set_active)(Core *core, uint64_t active) noexcept nogil
    int (*enter)(Core *core, Block **successor, uint64_t active) noexcept nogil
    StepFunction swap                 # two VGPRs
    StepFunction permute16            # V_PERMLANE16, V_PERMLANEX16

cdef enum:
    first_write_words = 4             # a bit for each VGPR

cdef enum:                            # what the VGPRs of a global access are
    address_offset = 0                # from an SGPR
    address_pair = 1                  # addresses
    address_signed_offset = 2         # GFX12.5

cdef enum:                            # which halves of a wave have active lanes
    shape_whole = 0                   # both, or none, or the wave is of one half
    shape_low = 1
    shape_high = 2
    shape_count = 3

cdef struct Block:
    Step *steps[shape_count]          # NULL: not made yet, by `shaped_steps`
    Step *idle                        # what is left of them where no lane is active: scalar steps and the end; NULL: others act as well
    StepRest *rests
    const Instruction **instructions
    uint32_t count                    # instructions
    uint32_t step_count
    uint64_t pc                       # of the first
    uint64_t end                      # of the one that follows
    uint64_t executions
    uint64_t lane_executions          # active lanes, summed over the executions
    uint32_t copied_exec              # where lanes leave a loop (leaving.pxi), or `register_none`: the SGPR that EXEC has been copied to
    uint32_t narrowed                 # the mask from which lanes are taken that leave
    uint32_t restored                 # the SGPR that is copied to EXEC
    uint32_t passed                   # instructions of the two blocks that do nothing where no lane leaves
    Block *leaving[2]                 # those blocks, and the one behind; NULL: not found yet
    Block *staying
    uint64_t passages                 # how often they were passed
    uint32_t modes                    # bits of MODE that its steps are made for: those of `step_modes`
    uint32_t banks                    # of VGPR numbers at the first instruction, as `wave_banks` has them
    bint searched                     # by `find_first_writes`
    bint reads_lane_mask              # some step may, also where no lane is active
    uint64_t written_first[first_write_words]    # VGPRs that a full wave which begins here writes before it reads them, as bits

cdef struct Core:
    uint32_t lane_mask[64]            # all ones in active lanes
    uint32_t special[128]             # results that `step_specials` completes: two rows of dwords for each 32 lanes
    uint8_t *base[4]                  # base_*
    Wave *wave
    Machine *machine
    uint64_t active                   # EXEC of this block
    uint64_t spread                   # EXEC that `lane_mask` holds: that of the block, or where that is 0 any
    uint32_t active_count
    uint32_t full                     # every lane is active
    uint32_t partial[2]               # by the base of a row, base_vgpr or base_pool: what is written keeps the values of idle lanes
    uint32_t shape                    # shape_*
    uint32_t halves                   # rows of a wave: 1 or 2
    uint32_t keep_in32                # all ones: denormal sources are kept; 0: flushed
    uint32_t flush_out32              # denormal results are flushed
    uint32_t usual32                  # every lane is active, and denormals are flushed in sources and results
    uint32_t flushes32                # denormals are flushed so, whatever lanes are active
    uint32_t usual_choice32           # as these two, and min, max and median take signalling NaNs as others
    uint32_t flushes_choice32
    uint32_t first_half               # the rows that have active lanes: none in a wave that has none
    uint32_t end_half
    uint32_t keep_in64                # the same for halves and doubles
    uint32_t flush_out64
    uint32_t round64                  # how halves and doubles are rounded
    uint32_t ieee                     # MODE's bits of these names
    uint32_t clamps_nan
    uint32_t control                  # MXCSR of the steps
    uint32_t control_zeros            # as in Kernels
    uint32_t mask_result[2]
    uint32_t mode                     # MODE when it was looked at last
    uint64_t slice_end                # `machine.executed` where the wave's turn is over
    uint64_t chain_end                # the same, or the budget, or where the engine looks around: until there a block may go on with the next
    uint64_t first_executed           # and where its workgroup began
    uint64_t group                    # number of the workgroup
    Block *block                      # the one that runs
    Block **next_block                # where the following block is remembered, or to be remembered; NULL: it is to be looked for
    void (*set_active)(Core *core, uint64_t active) noexcept nogil      # sets what depends on EXEC
    int (*enter)(Core *core, Block **successor, uint64_t active) noexcept nogil      # the same, and runs the block
    const Step *stopped               # the step that stopped the wave
    Order *order                      # makes workgroups wait for earlier ones; NULL: one thread
    void *images                      # the ImageCache of the thread

# Steps that are the same on every host.
cdef int step_reference(Core *core, const Step *step) noexcept nogil          # the reference engine's function
cdef int step_shared(Core *core, const Step *step) noexcept nogil             # the same, for what both halves of the wave share
cdef int step_fallback(Core *core, const Step *step) noexcept nogil           # the same, and skips the steps that would process its result
cdef int step_ordered(Core *core, const Step *step) noexcept nogil            # the same, after all earlier workgroups
cdef int step_leave(Core *core, const Step *step) noexcept nogil              # the same, at the end of a block: pc and EXEC may change
cdef int step_leave_ordered(Core *core, const Step *step) noexcept nogil
cdef int step_banks(Core *core, const Step *step) noexcept nogil              # S_SET_VGPR_MSB, which changes MODE
cdef int step_end(Core *core, const Step *step) noexcept nogil                # from one block to the next
cdef int step_end_exec(Core *core, const Step *step, uint64_t active) noexcept nogil      # the same behind a step that hands EXEC on
cdef int step_end_leaving(Core *core, const Step *step, uint64_t active) noexcept nogil   # the same where lanes leave a loop
cdef int step_save_exec(Core *core, const Step *step) noexcept nogil          # S_MOV_B64 from EXEC
cdef int step_copy_mask(Core *core, const Step *step) noexcept nogil          # the result of a comparison, to another SGPR
cdef StepFunction branch_step(uint32_t opcode) noexcept nogil                 # NULL: not a direct branch
# Wait until all earlier workgroups have ended, and set the clock to what they have executed; False: one of them failed.
cdef bint wait_for_turn(Core *core) noexcept nogil
# Completes and writes results that a step has left in `core.special`: NaNs become those that the hardware gives, denormals are flushed. `halves`
# has a bit for each 32 lanes.
cdef int step_specials(Core *core, const Step *step, uint32_t halves) noexcept nogil

cdef inline int next_step(Core *core, const Step *step) noexcept nogil:
    return step[1].function(core, step + 1)

# A step that may write EXEC hands it on in an argument, for `step_end_exec`: what was just stored is not waited for, nor taken by the host for what
# the same load found before. Other steps do not look at it.
ctypedef int (*ExecStepFunction)(Core *core, const Step *step, uint64_t active) noexcept nogil

cdef inline int hand_exec(Core *core, const Step *step, uint64_t active) noexcept nogil:
    return (<ExecStepFunction>step[1].function)(core, step + 1, active)

cdef inline void note_active(Core *core, uint64_t active) noexcept nogil:
    """Set what steps read instead of EXEC, but for `lane_mask`."""
    core.active = active
    core.active_count = popcount(active)
    core.full = core.active_count == row_lanes * core.halves
    core.usual32 = core.full and core.flushes32
    core.usual_choice32 = core.full and core.flushes_choice32
    core.first_half = 0 if <uint32_t>active else 1
    core.end_half = 2 if active >> row_lanes else 1
    core.partial[<int>base_vgpr] = not core.full
    core.shape = shape_whole
    if core.halves == 2 and core.end_half - core.first_half == 1:
        core.shape = shape_high if core.first_half else (shape_low if core.active_count else shape_whole)

# As `wave_mask` and `wave_exec`, soon after a step has written them.
cdef inline uint64_t mask_of(const Wave *wave, uint32_t sgpr) noexcept nogil:
    return wave.sgpr[sgpr] if wave.lanes == 32 else load_pair(&wave.sgpr[sgpr])

cdef inline int leave_chain(Core *core, Block **successor, uint64_t pc) noexcept nogil:
    """Return to the engine's loop, which goes on with the block at a pc."""
    core.next_block = successor
    core.wave.pc = pc
    return stop_running

cdef inline int run_block(Core *core, Block **successor) noexcept nogil:
    """Run a block whose EXEC is set."""
    cdef Block *block = successor[0]
    cdef const Step *steps = block.steps[core.shape]
    if steps == NULL:
        return leave_chain(core, successor, block.pc)
    core.machine.executed += block.count
    block.executions += 1
    block.lane_executions += core.active_count
    core.block = block
    return steps.function(core, steps)

cdef inline int run_idle(Core *core, Block *block) noexcept nogil:
    """Run a block in which vector steps have nothing to do. They are left out, so that what they read instead of EXEC may stay as it is."""
    core.machine.executed += block.count
    block.executions += 1
    core.block = block
    return block.idle.function(core, block.idle)

cdef inline int follow(Core *core, const Step *step, uint32_t taken) noexcept nogil:
    """Go on with the block that follows."""
    return follow_with(core, step, taken, mask_of(core.wave, sgpr_exec))

cdef inline int follow_with(Core *core, const Step *step, uint32_t taken, uint64_t active) noexcept nogil:
    """The same where EXEC is known, as the engine's loop would, which does it where something is to be looked at before."""
    cdef Block **successor = <Block **>&step.rest.successor[taken]
    cdef Block *block = successor[0]
    if block == NULL:
        return leave_chain(core, successor, step.rest.block.end + (<uint64_t>(<int64_t><int16_t>step.immediate * 4) if taken else 0))
    if core.machine.executed + block.count > core.chain_end:
        return leave_chain(core, successor, block.pc)
    if active == 0 and block.idle != NULL:
        return run_idle(core, block)
    if active != core.active or (active == 0 and block.reads_lane_mask):
        return core.enter(core, successor, active)
    return run_block(core, successor)

cdef inline const uint32_t *source_row(const Core *core, const Step *step, uint32_t slot, uint32_t half) noexcept nogil:
    return <const uint32_t *>(core.base[step.base[slot]] + step.offset[slot]) + row_lanes * half

cdef inline uint32_t source_mask(const Core *core, const Step *step, uint32_t half) noexcept nogil:
    return core.wave.sgpr[step.mask_source + half]

cdef inline uint32_t *destination_row(const Core *core, const Step *step) noexcept nogil:
    return <uint32_t *>(core.base[step.destination_base] + step.destination)

cdef inline void put_row(Core *core, const Step *step, uint32_t half, const uint32_t *values) noexcept nogil:
    put_row_at(core, destination_row(core, step) + row_lanes * half, half, values)

cdef inline void put_row_at(Core *core, uint32_t *row, uint32_t half, const uint32_t *values) noexcept nogil:
    """Write the active lanes."""
    cdef const uint32_t *mask = &core.lane_mask[row_lanes * half]
    cdef uint32_t kept[row_lanes]
    cdef uint32_t lane
    if __builtin_expect(core.full, True):
        copy_row(row, values)
        return
    for lane in range(<uint32_t>row_lanes):
        kept[lane] = (values[lane] & mask[lane]) | (row[lane] & ~mask[lane])
    copy_row(row, kept)

cdef inline void put_wide(Core *core, const Step *step, uint32_t half, const uint64_t *values) noexcept nogil:
    """Write the active lanes of two registers."""
    cdef uint32_t *row = <uint32_t *>(core.base[step.destination_base] + step.destination) + row_lanes * half
    cdef uint32_t part[row_lanes]
    cdef uint32_t lane
    for lane in range(<uint32_t>row_lanes):
        part[lane] = <uint32_t>values[lane]
    put_row_at(core, row, half, part)
    for lane in range(<uint32_t>row_lanes):
        part[lane] = <uint32_t>(values[lane] >> 32)
    put_row_at(core, row + row_bytes // 4, half, part)

# These write rows of floats, except those that are left to `step_specials`, for which a bit is returned: rows with NaNs, doubles or pairs that
# are to be flushed, or sources with a signalling NaN in IEEE mode. A step that calls no function except at its end saves no registers.
cdef inline uint32_t *special_row(Core *core, uint32_t half) noexcept nogil:
    return &core.special[2 * row_lanes * half]

cdef inline uint32_t put_special(Core *core, uint32_t half, const uint32_t *values) noexcept nogil:
    copy_row(special_row(core, half), values)
    return 1 << half

cdef inline uint32_t put_two_special(Core *core, uint32_t half, const uint32_t *first, const uint32_t *second) noexcept nogil:
    copy_row(special_row(core, half), first)
    copy_row(special_row(core, half) + row_lanes, second)
    return 1 << half

cdef inline bint finds_nan(const Core *core, uint32_t half, const uint32_t *values) noexcept nogil:
    """Whether an active lane has one: what others have is not written."""
    return row_has_nan(values) and (core.full or row_nans(values) & <uint32_t>(core.active >> (row_lanes * half)))

cdef inline void put_part(const Core *core, uint32_t *row, uint32_t half, const uint32_t *values) noexcept nogil:
    """Write the active lanes of half of the register at `row`, some of which are idle."""
    cdef uint32_t bits = <uint32_t>(core.active >> (row_lanes * half))
    put_lanes(row + row_lanes * half, values, bits & 0xffff, core.lane_mask + row_lanes * half)
    put_lanes(row + row_lanes * half + 16, values + 16, bits >> 16, core.lane_mask + row_lanes * half + 16)

cdef inline uint32_t put_partial_single(Core *core, uint32_t *row, uint32_t half, const uint32_t *values) noexcept nogil:
    """The same of singles where `core.flushes32`."""
    cdef uint32_t flushed[row_lanes]
    if __builtin_expect(row_has_nan(values), False) and row_nans(values) & <uint32_t>(core.active >> (row_lanes * half)):
        return put_special(core, half, values)
    flush_singles(values, flushed)
    put_part(core, row, half, flushed)
    return 0

cdef inline uint32_t put_single(Core *core, const Step *step, uint32_t half, const uint32_t *values) noexcept nogil:
    """Write a row of single-precision results, while MXCSR is `core.control`."""
    cdef uint32_t flushed[row_lanes]
    if __builtin_expect(finds_nan(core, half, values), False):
        return put_special(core, half, values)
    if core.flush_out32:
        if core.keep_in32:
            flush_single_bits(values, flushed)
        else:
            flush_singles(values, flushed)
        put_row(core, step, half, flushed)
        return 0
    put_row(core, step, half, values)
    return 0

cdef inline uint32_t put_usual_single(Core *core, uint32_t *row, uint32_t half, const uint32_t *values) noexcept nogil:
    """The same where `core.usual32`, to a half of the register at `row`: nothing lies in memory in between."""
    if __builtin_expect(row_has_nan(values), False):
        return put_special(core, half, values)
    flush_singles(values, row + row_lanes * half)
    return 0

cdef inline uint32_t put_guarded_single(Core *core, const Step *step, uint32_t half, const uint32_t *values) noexcept nogil:
    """The same while MXCSR is `control_default`."""
    cdef uint32_t flushed[row_lanes]
    if __builtin_expect(finds_nan(core, half, values), False):
        return put_special(core, half, values)
    if core.flush_out32:
        flush_single_bits(values, flushed)
        put_row(core, step, half, flushed)
        return 0
    put_row(core, step, half, values)
    return 0

cdef inline void flush_single_bits(const uint32_t *values, uint32_t *flushed) noexcept nogil:
    cdef uint32_t lane
    for lane in range(<uint32_t>row_lanes):
        flushed[lane] = values[lane] if values[lane] & 0x7f800000 else values[lane] & 0x80000000U

cdef inline uint32_t put_half(Core *core, const Step *step, uint32_t half, const uint32_t *values) noexcept nogil:
    """Write a row of half-precision results, zeros above them."""
    cdef uint32_t flushed[row_lanes]
    cdef uint32_t lane
    if __builtin_expect(row_has_nan16(values), False):
        return put_special(core, half, values)
    if core.flush_out64:
        for lane in range(<uint32_t>row_lanes):
            flushed[lane] = values[lane] if values[lane] & 0x7c00 else values[lane] & 0x8000
        put_row(core, step, half, flushed)
        return 0
    put_row(core, step, half, values)
    return 0

cdef inline void put_pairs(Core *core, const Step *step, uint32_t half, const uint32_t *low, const uint32_t *high) noexcept nogil:
    """Write a row of pairs of 16-bit results."""
    cdef uint32_t values[row_lanes]
    cdef uint32_t lane
    for lane in range(<uint32_t>row_lanes):
        values[lane] = (low[lane] & 0xffff) | (high[lane] << 16)
    put_row(core, step, half, values)

cdef inline uint32_t put_float_pairs(Core *core, const Step *step, uint32_t half, const uint32_t *low, const uint32_t *high) noexcept nogil:
    """Write a row of pairs of half-precision results."""
    if __builtin_expect(core.flush_out64 or row_has_nan16(low) or row_has_nan16(high), False):
        return put_two_special(core, half, low, high)
    put_pairs(core, step, half, low, high)
    return 0

cdef inline uint32_t put_double(Core *core, const Step *step, uint32_t half, const uint64_t *values) noexcept nogil:
    """Write a row of double-precision results."""
    if __builtin_expect(core.flush_out64 or row_has_nan64(values), False):
        return put_two_special(core, half, <const uint32_t *>values, <const uint32_t *>values + row_lanes)
    put_wide(core, step, half, values)
    return 0

# Results of min, max and median, which IEEE mode changes where they find a signalling NaN.
cdef inline bint finds_signalling(const Core *core, const Step *step, uint32_t half, uint8_t kind, bint packed) noexcept nogil:
    """Whether a source has one in some lane."""
    cdef const uint32_t *row
    cdef uint32_t slot, lane
    cdef uint32_t found = 0
    if not core.ieee:
        return False
    for slot in range(step.rest.operation.source_count):
        row = source_row(core, step, slot, half)
        for lane in range(<uint32_t>row_lanes):
            found |= is_signalling(kind, row[lane] | (<uint64_t>row[lane + row_bytes // 4] << 32) if kind == type_f64 else row[lane])
            if packed:
                found |= is_signalling(kind, row[lane] >> 16)
    return found != 0

cdef inline uint32_t put_selected_single(Core *core, const Step *step, uint32_t half, const uint32_t *values) noexcept nogil:
    return put_special(core, half, values) if finds_signalling(core, step, half, type_f32, False) else put_single(core, step, half, values)

cdef inline uint32_t put_selected_half(Core *core, const Step *step, uint32_t half, const uint32_t *values) noexcept nogil:
    return put_special(core, half, values) if finds_signalling(core, step, half, type_f16, False) else put_half(core, step, half, values)

cdef inline uint32_t put_selected_double(Core *core, const Step *step, uint32_t half, const uint64_t *values) noexcept nogil:
    if finds_signalling(core, step, half, type_f64, False):
        return put_two_special(core, half, <const uint32_t *>values, <const uint32_t *>values + row_lanes)
    return put_double(core, step, half, values)

cdef inline uint32_t put_selected_float_pairs(Core *core, const Step *step, uint32_t half, const uint32_t *low,
                                              const uint32_t *high) noexcept nogil:
    if finds_signalling(core, step, half, type_f16, True):
        return put_two_special(core, half, low, high)
    return put_float_pairs(core, step, half, low, high)

cdef inline void note_mask(Core *core, uint32_t half, const uint32_t *values) noexcept nogil:
    """A result bit per lane."""
    core.mask_result[half] = row_low_bits(values) & <uint32_t>(core.active >> (row_lanes * half))

cdef inline void put_mask(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t index = step.mask_destination
    if index < 128 and index != sgpr_null:
        core.wave.sgpr[index] = core.mask_result[0]
    if core.halves == 2 and index + 1 < 128 and index + 1 != sgpr_null and index != sgpr_null:
        core.wave.sgpr[index + 1] = core.mask_result[1]

# A denormal becomes a zero of its sign where `keep` is 0.
cdef inline uint32_t flushed_source(uint32_t value, uint32_t keep) noexcept nogil:
    return value & (0x80000000U | keep | (0xffffffffU if value & 0x7f800000 else 0))

cdef inline uint32_t flushed_half(uint32_t value, uint32_t keep) noexcept nogil:
    return value & (0xffff8000U | keep | (0xffffffffU if value & 0x7c00 else 0))

cdef inline uint64_t flushed_wide(uint64_t value, uint32_t keep) noexcept nogil:
    cdef uint64_t magnitude = ~(<uint64_t>0) if value & 0x7ff0000000000000ULL else 0
    return value & ((<uint64_t>1 << 63) | <uint64_t><int64_t><int32_t>keep | magnitude)

cdef inline uint32_t changed(uint32_t value, const Change *change) noexcept nogil:
    return (((((value >> change.shift) & change.mask) ^ change.sign) - change.sign) & change.keep) ^ change.flip
