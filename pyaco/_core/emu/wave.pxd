"""State of the emulator: waves, workgroups, decoded instructions, and the types of the functions that execute them.

Nothing here allocates. A ``Machine`` runs one dispatch at a time on one thread.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from features cimport has_dx10_clamp_mode, has_lds_bound, has_vgpr_banks
from pyaco._core.common.machine cimport register_exec, register_m0, register_null, register_vcc
from pyaco._core.emu.image_view cimport DescriptorTable
from pyaco._core.emu.memory cimport Memory
from pyaco._core.isa.decode cimport Decoded

cdef enum:
    max_lanes = 64
    vgpr_rows = 512 + 36              # CDNA's AGPRs follow v255; an instruction may name registers past them, which are storage without meaning
    vgpr_rows_of_banks = 1024 + 36    # GFX12.5
    sgpr_words = 160

cdef enum:                            # indices into Wave.sgpr
    sgpr_flat_scratch_gfx7 = 104
    sgpr_flat_scratch = 102           # GFX8, GFX9; from GFX10 on it is hidden, see Wave.flat_scratch
    sgpr_vcc = register_vcc >> 2
    sgpr_ttmp0 = sgpr_vcc + 2
    sgpr_m0 = register_m0 >> 2
    sgpr_null = register_null >> 2
    sgpr_exec = register_exec >> 2

# Types of sources and results in the table of semantics.
cdef enum:
    type_none = 0
    type_u16, type_i16, type_f16, type_r16
    type_u32, type_i32, type_f32, type_r32
    type_u64, type_i64, type_f64, type_r64
    type_mask
    type_scc, type_exec32, type_exec64, type_imm
    type_mix, type_packed, type_packed_f
    type_f16x2, type_bf16x2, type_f32x2   # results only
    type_mix_bf                       # as type_mix, of bfloats
    type_old = 32                     # added to a type: the destination's old value

cdef inline bint is_wide(uint8_t kind) noexcept nogil:
    """Whether a type has 64 bits."""
    kind &= ~type_old
    return type_u64 <= kind <= type_r64 or kind == type_exec64 or kind == type_f32x2

cdef enum:                            # VOP3P: an operation is executed for each ...
    packed_halves = 1                 # half of a register
    packed_registers                  # register of a pair
    packed_pairs                      # pair of registers of four

# What a lane function sees: arrays by lane, sources already selected, modified and flushed.
cdef struct Lanes:
    uint32_t count
    uint32_t clamp
    uint32_t neg
    uint32_t opsel
    uint32_t rounding                 # round_*, round_saturate, of halves and of what `rounds_single`; else results round in the host's mode
    uint32_t small                    # small_*: how 8-bit floats are
    const uint32_t *narrow[4]         # sources of up to 32 bits; masks as 0 or 1
    const uint64_t *wide[4]           # 64-bit sources
    uint32_t *result[3]
    uint64_t *wide_result[3]

ctypedef void (*LaneFunction)(Lanes *lanes) noexcept nogil

cdef struct LaneOperation:
    LaneFunction function             # NULL: none
    uint8_t packed                    # packed_*
    uint8_t writes_exec               # v_cmpx
    uint8_t prefers_number_over_nan   # min, max, median
    uint8_t final_bits                # float results are neither flushed nor made canonical NaNs
    uint8_t rounds_single             # the function itself rounds its single-precision result
    uint8_t source_count
    uint8_t result_count
    uint8_t source_type[4]
    uint8_t result_type[3]

# Floats by their type: type_f16 (in the low bits), type_f32 or type_f64.
cdef inline uint64_t quiet(uint8_t kind, uint64_t bits) noexcept nogil:
    """A NaN with the highest bit of its fraction set."""
    return bits | (0x200 if kind == type_f16 else (0x400000 if kind == type_f32 else 0x8000000000000ULL))

cdef inline bint is_nan(uint8_t kind, uint64_t bits) noexcept nogil:
    if kind == type_f16:
        return (bits & 0x7fff) > 0x7c00
    if kind == type_f32:
        return (bits & 0x7fffffff) > 0x7f800000U
    return (bits & 0x7fffffffffffffffULL) > 0x7ff0000000000000ULL

cdef inline bint is_signalling(uint8_t kind, uint64_t bits) noexcept nogil:
    return is_nan(kind, bits) and quiet(kind, bits) != bits

cdef enum:                            # why a wave or a dispatch stopped
    stop_running = 0
    stop_end = 1                      # s_endpgm
    stop_barrier = 2
    stop_memory_fault = 3
    stop_unsupported = 4
    stop_illegal = 5                  # not an instruction
    stop_fetch_fault = 6              # pc outside memory
    stop_budget = 7
    stop_trap = 8
    stop_misaligned = 9
    stop_deadlock = 10
    stop_time = 11                    # the dispatch's time is over
    stop_sync = 12                    # waits for waves of the whole dispatch
    stop_residents = 13               # more waves wait for others than can be kept
    stop_host = 14                    # the host did not serve what a wave asked of it
    stop_descriptor = 15              # the words of a descriptor make no sense: `fault_bytes` is the number of the error

cdef struct Wave:
    uint32_t sgpr[sgpr_words]
    uint32_t scc
    uint32_t lanes                    # 32 or 64
    uint32_t mode                     # the MODE register
    uint32_t stop                     # stop_*
    uint64_t pc
    uint64_t flat_scratch
    uint32_t index                    # within the workgroup
    uint32_t first_lane               # local invocation index of lane 0
    uint32_t barrier_signalled        # GFX12's split barrier: this wave has signalled, not all have
    uint32_t barrier_complete         # all have signalled, and this wave has not waited yet
    uint32_t joined                   # GFX12: the named barrier that this wave is a member of, 0 none
    uint32_t named_complete           # that barrier has completed, and this wave has not waited yet
    uint32_t waits_named              # it waits at that barrier, not at the workgroup's
    uint64_t waits_at                 # address of the instruction that it waits at
    Wave *next_waiting                # at the same resource, in the order of arrival
    uint8_t *scratch                  # dword 0 of every lane, then dword 1, and so on
    uint32_t *vgpr                    # [rows_of(gfx_level)][max_lanes]

cdef enum:                            # bits of MODE until GFX11.5; on GFX12 NaNs are clamped and there is no IEEE mode
    mode_dx10_clamp = 0x100           # clamp turns a NaN into 0
    mode_ieee = 0x200                 # no omod; min, max and median return a signalling NaN among their sources, made quiet

cdef inline uint32_t mode_of(uint32_t gfx_level, uint32_t bits) noexcept nogil:
    """MODE as a generation's waves have it."""
    return bits if has_dx10_clamp_mode(gfx_level) else (bits | mode_dx10_clamp) & ~<uint32_t>mode_ieee

cdef enum:                            # GFX12.5: two bits each for the result and three sources
    mode_banks_shift = 12
    mode_banks = 0xff << mode_banks_shift

cdef enum:                            # GFX8, GFX9: bits of MODE
    mode_index_registers = 0x08000000  # s_set_gpr_idx_on; index in m0 bits 0-7, which operands in bits 12-15
    mode_skip_vector = 0x10000000     # s_setvskip
    mode_fork_depth_shift = 29        # s_cbranch_*_fork: entries of four SGPRs on the stack

ctypedef int (*Handler)(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
# What a wave's interrupt calls: serves what the wave asks of the host, and returns False where that ends the dispatch.
ctypedef bint (*Interrupt)(void *host, const Wave *wave) noexcept nogil

cdef enum:
    operand_vgpr = 0
    operand_sgpr = 1
    operand_value = 2                 # a constant, in `value` with the type of the operand
    operand_special = 3               # vccz, execz, scc, apertures

cdef struct Source:
    uint8_t kind                      # operand_*
    uint8_t half                      # the high half of a 32-bit register
    uint16_t index
    uint64_t value

# A decoded instruction with what can be worked out once.
cdef struct Instruction:
    Decoded decoded
    Handler handler
    const LaneOperation *operation
    const LaneOperation *operation_y  # second half of VOPD
    uint64_t pc
    uint32_t valid
    uint32_t unit                     # unit_*
    Source source[8]
    uint8_t writes_high_zero          # 16-bit result clears the high half (GFX9)
    uint8_t banks                     # the upper bits of VGPR numbers that it was decoded for, as MODE has them
    Instruction *other                # the same address, decoded for other banks
    Instruction *next_owned           # all such of a region

cdef inline bint adds_to_result(const Instruction *instruction) noexcept nogil:
    """V_FMAC and its like: the destination is a source that is not among the sources."""
    cdef uint32_t slot
    for slot in range(instruction.decoded.source_count, instruction.operation.source_count):
        if instruction.operation.source_type[slot] & type_old:
            return True
    return False

cdef enum:                            # classes of the counters
    unit_salu = 0
    unit_valu = 1
    unit_smem = 2
    unit_vmem = 3
    unit_flat = 4                     # flat, global, scratch
    unit_lds = 5
    unit_branch = 6
    unit_wait = 7
    unit_other = 8
    unit_count = 9

cdef enum:                            # the memory that an access reached, and how
    space_global = 0
    space_lds = 1
    space_scratch = 2
    space_gds = 3
    access_kind_load = 0
    access_kind_store = 1
    access_kind_atomic = 2
    access_limit = 16384              # most that one instruction can do: 64 lanes, 16 anisotropic samples of 16 texels (two levels of a 3D image)

cdef struct Access:                   # of one lane
    uint64_t address                  # in device memory, or from the start of the space
    uint32_t bytes
    uint8_t space
    uint8_t access_kind
    uint8_t lane

cdef struct AccessLog:
    uint32_t count
    Access entries[access_limit]

cdef enum:
    named_barriers = 16

cdef struct NamedBarrier:
    uint32_t members                  # signals that complete it; 0: not initialised
    uint32_t signals

cdef enum:
    sync_resources = 64

cdef struct SyncResource:             # where waves of all workgroups of a dispatch synchronise
    uint32_t counter                  # of a semaphore; of a barrier: how many waves have yet to arrive before the last
    Wave *first                       # waiting waves, in the order of their arrival
    Wave *last

cdef struct WaveSync:
    SyncResource resource[sync_resources]
    SyncResource ordered              # waves that wait for their turn at ordered counts; `counter` is the position whose turn it is

cdef struct Machine:
    Memory *memory
    WaveSync *sync                    # NULL where workgroups run on several threads
    AccessLog *log                    # records what memory instructions access; NULL: nothing is recorded
    Interrupt interrupt               # NULL: nobody listens
    void *host                        # its first argument
    uint32_t gfx_level
    uint32_t wave_size
    uint8_t *lds
    uint8_t *gds
    uint32_t lds_bytes
    uint32_t gds_bytes
    uint32_t scratch_bytes            # per lane
    uint32_t scratch_slot             # number of this workgroup among those that run at once
    uint32_t wave_count               # of the workgroup
    Wave *waves                       # the workgroup that runs
    NamedBarrier named[named_barriers + 1]
    uint64_t executed                 # wave instructions of the dispatch
    uint64_t budget
    uint64_t deadline                 # nanoseconds of the steady clock; 0: none
    uint64_t clock_due                # `executed` at the next look at the clock
    uint32_t shared_vgpr              # first VGPR that both halves of a wave64 share (GFX10), 0 none
    uint32_t touched_vgprs            # VGPRs that a decoded instruction may write; those above still hold their fill
    # what went wrong
    uint32_t fault_lane
    uint32_t fault_bytes
    uint64_t fault_address
    uint64_t fault_pc
    uint32_t fault_store
    uint32_t fault_opcode
    uint64_t counter[unit_count]
    uint64_t lane_counter[unit_count]
    uint64_t *opcode_counter          # by opcode, or NULL
    uint64_t lds_out_of_bounds        # accesses of a lane that reach beyond `lds_bytes`
    uint64_t lds_out_of_bounds_pc     # lowest address of an instruction that made one
    DescriptorTable *descriptors      # of images and samplers
    uint32_t missing_texels           # texels of the lane at work whose page is not mapped: of sparse images
    uint32_t lane_number_mask         # of a lane's number, what is its number in its own wave: all, but where workgroups lie side by side in one

# An access of a lane to LDS that ends at `end`: beyond the allocation, loads give zero and stores are dropped, which is seldom meant.
cdef inline void note_lds_bounds(Machine *machine, const Instruction *instruction, uint64_t end) noexcept nogil:
    note_beyond(machine, instruction, end, machine.lds_bytes)

# The same where only the first `reach` bytes can be reached.
cdef inline void note_beyond(Machine *machine, const Instruction *instruction, uint64_t end, uint64_t reach) noexcept nogil:
    if end <= reach:
        return
    if machine.lds_out_of_bounds == 0 or instruction.pc < machine.lds_out_of_bounds_pc:
        machine.lds_out_of_bounds_pc = instruction.pc
    machine.lds_out_of_bounds += 1

cdef inline uint64_t lds_reach(const Machine *machine, const Wave *wave) noexcept nogil:
    """Bytes of LDS that the addresses of a wave's LDS instructions reach."""
    return min(<uint64_t>machine.lds_bytes, <uint64_t>wave.sgpr[sgpr_m0]) if has_lds_bound(machine.gfx_level) else machine.lds_bytes

cdef inline uint64_t wave_exec(const Wave *wave) noexcept nogil:
    if wave.lanes == 32:
        return wave.sgpr[sgpr_exec]
    return wave.sgpr[sgpr_exec] | (<uint64_t>wave.sgpr[sgpr_exec + 1] << 32)

cdef inline uint32_t wave_banks(const Machine *machine, const Wave *wave) noexcept nogil:
    """The upper bits of VGPR numbers."""
    return (wave.mode & mode_banks) >> mode_banks_shift if has_vgpr_banks(machine.gfx_level) else 0

cdef enum:
    scratch_aperture_shift = 58       # GFX12.5: what is above these bits tells that a flat address is one of scratch
    scratch_lane_shift = 52
    scratch_wave_shift = 40           # our choice: a wave's base has its number in the workgroup here

cdef inline uint64_t scratch_base(const Wave *wave) noexcept nogil:
    """FLAT_SCRATCH_BASE of GFX12.5, to which code adds the number of a lane and an address in its scratch."""
    return (<uint64_t>1 << scratch_aperture_shift) | (<uint64_t>wave.index << scratch_wave_shift)

cdef inline bint is_flat_scratch(uint64_t address) noexcept nogil:
    """Whether it names scratch of a lane so."""
    return address >> scratch_aperture_shift == 1

cdef inline uint32_t wave_of_scratch(uint64_t address) noexcept nogil:
    return <uint32_t>(address >> scratch_wave_shift) & ((1 << (scratch_lane_shift - scratch_wave_shift)) - 1)

cdef inline uint32_t lane_of_scratch(uint64_t address) noexcept nogil:
    return <uint32_t>(address >> scratch_lane_shift) & ((1 << (scratch_aperture_shift - scratch_lane_shift)) - 1)

cdef inline uint32_t vgprs_of(uint32_t gfx_level) noexcept nogil:
    """VGPRs, and AGPRs, that instructions name."""
    return 1024 if has_vgpr_banks(gfx_level) else 512

cdef inline uint32_t rows_of(uint32_t gfx_level) noexcept nogil:
    """Rows of a wave's vector registers."""
    return vgpr_rows_of_banks if has_vgpr_banks(gfx_level) else vgpr_rows

# A lane mask in an SGPR or SGPR pair, as the wave size has it.
cdef inline uint64_t wave_mask(const Wave *wave, uint32_t sgpr) noexcept nogil:
    if wave.lanes == 32:
        return wave.sgpr[sgpr]
    return wave.sgpr[sgpr] | (<uint64_t>wave.sgpr[sgpr + 1] << 32)

cdef inline void wave_put(Wave *wave, uint32_t sgpr, uint32_t value) noexcept nogil:
    if sgpr != sgpr_null and sgpr < 128:
        wave.sgpr[sgpr] = value

cdef inline void wave_put64(Wave *wave, uint32_t sgpr, uint64_t value) noexcept nogil:
    if sgpr != sgpr_null:
        wave_put(wave, sgpr, <uint32_t>value)
        wave_put(wave, sgpr + 1, <uint32_t>(value >> 32))

cdef inline void wave_put_mask(Wave *wave, uint32_t sgpr, uint64_t value) noexcept nogil:
    if wave.lanes == 32:
        wave_put(wave, sgpr, <uint32_t>value)
    else:
        wave_put64(wave, sgpr, value)

cdef inline uint32_t *wave_vgpr(const Wave *wave, uint32_t index) noexcept nogil:
    return wave.vgpr + <uint64_t>index * max_lanes
