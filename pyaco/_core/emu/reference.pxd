"""The reference engine and what the other engines share with it: the launch of a dispatch, and the memory of one workgroup's waves.

The fast engine (``emu_fast``) takes these over: it decodes with ``fetch`` (``code.pxd``), and executes with ``run_wave`` what has
no fast path.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from pyaco._core.emu.code cimport Code
from pyaco._core.emu.image_view cimport Descriptors
from pyaco._core.emu.memory cimport AddressSpace
from pyaco._core.emu.wave cimport Instruction, Machine, NamedBarrier, Wave, named_barriers, stop_barrier, stop_sync

cdef enum:                            # what comes next in a dispatch
    next_none = 0
    next_starts = 1
    next_resumes = 2
    next_deadlock = 3

cdef enum:
    slice_instructions = 65536        # a wave's turn
    short_slice = 8192                # where workgroups take turns too: most of them may do no more than ask whether the others are there
    start_rows = 3                    # VGPRs that hold local ids when a wave starts
    resident_wave_limit = 4096        # of workgroups that wait for others
    line_pair = 128                   # hosts load cache lines in pairs: two threads must not write to the same pair

cdef struct Launch:
    uint64_t entry
    uint64_t entry_bytes              # with host addresses: how far code may be read
    uint32_t groups[3]
    uint32_t start[3]                 # the first workgroup's ids
    uint32_t size[3]
    uint32_t last[3]                  # size of the last workgroups of each dimension, which may be partial
    uint32_t cluster[3]               # workgroups of a cluster; all 1: they are in none
    uint32_t waves                    # of a whole workgroup
    uint32_t wave_size
    uint32_t user_count
    uint32_t user[32]
    uint32_t id_mask
    uint32_t ids_in_ttmp
    uint32_t packed_ids               # v0 = x | y << 10 | z << 20
    uint32_t local_components
    uint32_t workgroup_info           # an SGPR has the wave's number in the workgroup
    uint32_t scratch_offset           # an SGPR has the wave's scratch offset
    uint32_t scratch_slots            # how many workgroups' scratch the memory has that it is in
    uint32_t mode
    uint32_t fill                     # what undefined registers hold

cdef struct Resident:                 # a workgroup that is suspended: the memory of its waves
    uint64_t number                   # of the workgroup
    uint32_t count                    # of waves
    uint32_t scratch_slot
    uint32_t group[3]
    NamedBarrier named[named_barriers + 1]
    Wave *waves
    uint32_t *registers               # [count][vgpr_rows][max_lanes], aligned to 64 bytes
    uint8_t *scratch
    uint8_t *lds
    Resident *next                    # by number

cdef struct Workspace:
    Machine machine                   # its `lds` belongs to the workspace
    Code code
    uint64_t number                   # of the workgroup that runs
    uint32_t count                    # its waves
    uint32_t faulty                   # the wave that stopped the dispatch
    uint32_t group[3]                 # the workgroup that runs
    Wave *waves
    uint32_t *registers               # as in Resident
    uint8_t *scratch
    uint32_t wave_capacity            # what there is memory for; all 0: unknown
    uint64_t scratch_capacity         # bytes
    uint64_t lds_capacity
    uint32_t fill                     # what rows of registers hold that no instruction of the code writes
    Resident *residents               # workgroups whose waves wait for those of others
    uint32_t resident_waves
    uint64_t started                  # workgroups
    uint64_t cooperating              # workgroups that take turns, because they may wait for each other's stores; 0: one after the other

# Forget the code of a workspace that runs other code next.
cdef void forget_code(Workspace *space) noexcept nogil
# How many invocations the workgroup has in each dimension; whether it is a whole one.
cdef bint size_of(const Launch *launch, const uint32_t *group, uint32_t *size) noexcept nogil
# Count of waves, LDS, scratch and registers as the workgroup `space.group` finds them.
cdef void start_workgroup(Workspace *space, const Launch *launch) noexcept nogil
# Bytes of a wave's scratch: whole dwords of each lane.
cdef inline uint64_t scratch_of_wave(const Machine *machine, uint32_t wave_size) noexcept nogil:
    return <uint64_t>wave_size * ((machine.scratch_bytes + 3) & ~<uint32_t>3)

# Run a wave for at most `turns` instructions; returns why it stopped (stop_running: the turns).
cdef int run_wave(Code *code, Machine *machine, Wave *wave, uint32_t turns) noexcept nogil
# Whether the dispatch's time is over; looks at the clock once in `slice_instructions`.
# What an instruction wrote to shared VGPRs with these lanes active becomes what both halves of the wave see.
cdef void share_halves(const Machine *machine, Wave *wave, const Instruction *instruction, uint64_t active) noexcept nogil
cdef bint is_out_of_time(Machine *machine) noexcept nogil
# Records the next instruction of a wave as the one where the dispatch stopped; returns `why`.
cdef int stop_before(Code *code, Machine *machine, const Wave *wave, int why) noexcept nogil
# Memory aligned to `line_pair` bytes and a multiple of them, for `free`.
cdef void *aligned_bytes(uint64_t bytes) noexcept nogil
cdef void *aligned_zeros(uint64_t bytes) noexcept nogil
# What runs next: `next_starts`, a workgroup that has to be started; `next_resumes`, one that was suspended; `next_none`; `next_deadlock`: all wait.
cdef int next_workgroup(Workspace *space, const Launch *launch) noexcept nogil
# Suspend the workgroup that runs, which waits for waves of others, so that the workspace is free for another. stop_running, or why that fails.
cdef int suspend_workgroup(Workspace *space, const Launch *launch) noexcept nogil
# Records a wave that waits for ever; returns stop_deadlock.
cdef int deadlock(Workspace *space) noexcept nogil
# Whether a wave waits for others.
cdef inline bint waits(const Wave *wave) noexcept nogil:
    return wave.stop == stop_barrier or wave.stop == stop_sync
# How many instructions a wave's turn has.
cdef inline uint32_t turn_of(const Workspace *space) noexcept nogil:
    return short_slice if space.cooperating else slice_instructions
# Whether a workgroup whose waves have had a turn each makes room for others.
cdef inline bint makes_room(const Workspace *space) noexcept nogil:
    return space.started < space.cooperating or (space.cooperating != 0 and space.residents != NULL)
# After a round of turns: stop_running, stop_end (all waves have ended), stop_sync (no wave can run before other workgroups do), or stop_deadlock.
cdef int end_round(Workspace *space) noexcept nogil
# Memory for the waves of one workgroup, which the workspace may have already; False: out of memory.
cdef bint open_workspace(Workspace *space, const Launch *launch) noexcept nogil
# Bytes that a workspace holds.
cdef uint64_t workspace_bytes(const Workspace *space) noexcept nogil
# Drop suspended workgroups, and start counting from the first.
cdef void empty_workspace(Workspace *space) noexcept nogil
cdef void close_workspace(Workspace *space) noexcept nogil
# The ids of a workgroup by its number: x fastest, or cluster after cluster.
cdef void group_of(const Launch *launch, uint64_t number, uint32_t *group) noexcept nogil
# Write the workgroup's ids to the registers that have them; returns the SGPR that follows.
cdef uint32_t put_workgroup_ids(const Launch *launch, uint32_t *sgpr, const uint32_t *group) noexcept nogil
cdef void fill_words(uint32_t *words, uint64_t count, uint32_t value) noexcept nogil
# Set the registers of a wave; of its VGPRs the first `start_rows`.
cdef void start_wave(const Machine *machine, const Launch *launch, Wave *wave, uint32_t index, const uint32_t *size,
                     const uint32_t *group) noexcept nogil


cdef class Engine:
    cdef Workspace work
    cdef Launch launch
    cdef readonly AddressSpace space
    cdef readonly Descriptors descriptors   # of images and samplers that dispatches have met
    cdef public object interrupt
    # Runs every workgroup; returns stop_end, or why the dispatch stopped: `work` says where.
    cdef int execute(self, const Launch *launch) except -1
    # Decide which code is valid, before the dispatch starts.
    cdef int prepare_code(self, const Launch *launch) except -1
    cdef int _reset(self, uint32_t wave_size, uint32_t lds_bytes, uint32_t scratch_bytes, uint32_t waves,
                    uint64_t budget) except -1
    # The result of a run.
    cdef dict outcome(self, int stop)
    cdef dict _counters(self)
    cdef dict _fault(self, int stop)
    cdef list _waiting(self)
