"""What instructions cost: how often each ran and with how many lanes, bytes, cache lines, passes over the banks of LDS, cycles.

Counts are kept by instruction (`Row`), in the order in which instructions first ran.

Cache lines: those that the lanes of one instruction reach, each counted once (64 bytes on GFX8, GFX9 and CDNA, 128 from GFX10 on). Distinct bytes
over the bytes of those lines is how well an access is coalesced.

LDS has 32 banks of a dword, 64 on CDNA 4; each half of the LDS of an RDNA pair has 32, in both modes. An access is served in phases of as
many lanes as fill 32 dwords (64 on CDNA 4): 32 lanes of a dword, 16 of two, 8 of three or four, neighbours each; of the 16-byte loads of
CDNA 1 to 3 a phase has 8 lanes that are not neighbours. In a pass each bank serves one dword, to all lanes that access it, or to one lane of
an atomic: a phase takes as many passes as its busiest bank has dwords; those beyond one are conflicts. The numbers of banks and the lanes of
CDNA's 16-byte accesses are documented, the rest is a model.

Sources: AMD "Vega", "RDNA 2" and "CDNA 3" ISA documents, "Local Data Share"; Composable Kernel's documentation, "Understanding AMD GPU LDS and
Bank Conflicts", for 64 banks and lanes of a phase of b128; GPUOpen's "RDNA Performance Guide" for its 32 banks; cache lines: ISA documents.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from pyaco._core.emu.wave cimport AccessLog, Instruction, Machine, Wave
from pyaco._core.emu_inspect.wave_clock cimport WaveClock

cdef enum:
    space_count = 4
    access_kind_count = 3
    word_limit = 5                    # dwords of an instruction; longer ones are cut
    recent_rows = 4096

cdef packed struct Row:               # of one instruction; the columns of `ROWS` in ``engine.pyx``
    uint64_t pc
    uint64_t executions
    uint64_t lanes                    # active, summed over the executions
    uint64_t partial                  # executions with some of the wave's lanes off
    uint64_t idle                     # executions without any active lane
    uint64_t taken                    # executions after which another instruction than the next came
    uint64_t requests                 # executions that reached device memory
    uint64_t bytes                    # of memory that lanes accessed
    uint64_t distinct                 # the same, what several lanes of an execution accessed counted once
    uint64_t lines                    # cache lines
    uint64_t scratch_bytes
    uint64_t lds_requests             # executions that reached LDS
    uint64_t lds_bytes
    uint64_t lds_passes
    uint64_t lds_conflicts            # passes beyond one for each phase
    uint64_t issue                    # cycles in which it was issued
    uint64_t stall                    # cycles that its wave waited before
    uint64_t busy0                    # cycles for which it kept its units busy
    uint64_t busy1
    uint32_t opcode
    uint32_t words[word_limit]
    uint8_t dwords
    uint8_t unit0                     # resource_*
    uint8_t unit1
    uint8_t operation                 # 1 + access_kind_* of what it did to memory or LDS last; 0: nothing

cdef packed struct Span:              # an execution in the timeline
    uint32_t workgroup
    uint32_t wave
    uint32_t row
    uint32_t stall                    # cycles that the wave waited before `start`
    uint64_t start                    # cycle of the wave's workgroup
    uint32_t issue

cdef struct Interval:
    uint64_t first
    uint64_t end

cdef cppclass Profile:
    vector[Row] rows
    unordered_map[uint64_t, uint32_t] by_pc
    uint64_t recent_pc[recent_rows]   # a cache of `by_pc`
    uint32_t recent_row[recent_rows]
    uint64_t accesses[4][3]           # of lanes, by space and kind
    uint64_t bytes[4][3]
    uint64_t span_limit
    vector[Span] spans
    vector[WaveClock] clocks          # by wave of the workgroup that runs
    uint64_t arrivals[2]              # latest arrival of its waves at barriers of odd and even number
    uint64_t cycles                   # of all waves, summed
    uint64_t longest                  # of one wave
    vector[Interval] intervals        # of the access that is counted
    uint32_t line_bytes
    uint32_t banks
    uint32_t gfx_level
    bint wgp_mode

cdef void profile_open(Profile *profile, const Machine *machine, bint wgp_mode, uint64_t span_limit) noexcept nogil
# A workgroup of so many waves starts.
cdef void profile_start_group(Profile *profile, uint32_t waves) noexcept nogil
# Count an instruction that has executed: `active` is EXEC before, `log` what it accessed.
cdef void profile_add(Profile *profile, const Machine *machine, uint32_t workgroup, uint32_t index, const Wave *wave,
                      const Instruction *instruction, uint64_t active, const AccessLog *log) noexcept nogil
# A wave goes on behind a barrier that all have reached.
cdef void profile_leave(Profile *profile, uint32_t index) noexcept nogil
