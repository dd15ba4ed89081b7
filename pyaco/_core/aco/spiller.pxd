"""The state of spilling: see ``spill.pyx``."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.aco.live_set cimport LiveSet
from pyaco._core.aco.live_variables cimport Demand
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport (
    DefinitionRow, InstructionId, Operand, ProgramData, Rewrite, TempId, class_dwords, class_is_vgpr, definition_temp,
)


cdef enum:
    file_sgpr = 0
    file_vgpr = 1
    no_slot = 0xffffffff


cdef struct SlotMove:                 # at the end of a block: `to` gets what `from_` or the operand holds
    uint32_t to                       # slot
    uint32_t from_                    # slot, no_slot: the operand
    TempId temp                       # whose value it is, 0: a constant
    uint8_t register_class
    bint done
    Operand operand


cdef struct Cached:                   # a spilled value that is in a register as well
    TempId temp
    uint32_t name                     # the temp that holds it


cdef cppclass Spiller:
    ProgramData *p
    Rewrite out
    int32_t limit[2]
    vector[float] cost
    vector[float] relief              # by temp: instructions with too high a demand that would have its registers
    bint counts_relief
    vector[uint32_t] live_from        # by temp: of these instructions in the block, those behind its last use
    vector[uint32_t] web              # phis and their operands
    vector[uint8_t] web_spilled
    vector[uint8_t] spillable
    vector[uint8_t] spilled
    vector[uint64_t] spilled_bits     # the same by bits, of the temps that live sets have
    SmallVector[Demand] of_lists           # by block: registers of what is live at its start (``live_variables.pxd``)
    vector[uint32_t] constant         # the instruction that makes a constant, 0: none
    vector[uint32_t] slot
    LiveSet live
    vector[TempId] candidates         # what the block at hand may spill: live values that are not spilled, and some that no longer are
    vector[uint8_t] is_candidate      # by temp: whether it is among them
    SmallVector[uint64_t] linear           # temps that live through linear edges
    vector[uint32_t] mark             # stamps: operands and definitions of the instruction at hand
    uint32_t stamp
    vector[uint32_t] slot_size        # by slot: dwords
    vector[uint8_t] slot_file
    vector[uint32_t] slot_position    # by slot: lane (SGPR) or byte offset (VGPR)
    vector[uint32_t] lanes            # temps of the linear VGPRs
    vector[int32_t] base[2]           # demand by position in the block
    vector[int32_t] after_instruction[2]   # the part of it after the instruction
    int32_t after_definitions[2]
    vector[Cached] cached
    vector[uint32_t] remaining        # by temp: uses left in the block
    vector[SlotMove] moves
    vector[uint32_t] late_stores      # VGPRs defined before scratch is initialised
    bint scratch_ready
    uint32_t scratch_base
    TempId scratch_resource           # GFX6 to GFX8: the descriptor of scratch, 0: none


cdef inline int file_of(uint8_t register_class) noexcept nogil:
    return file_vgpr if class_is_vgpr(register_class) else file_sgpr


cdef inline uint8_t class_of_value(Spiller *s, TempId temp) noexcept nogil:
    return s.p.temps.register_class[temp]


cdef inline int32_t size_of_value(Spiller *s, TempId temp) noexcept nogil:
    return <int32_t>class_dwords(s.p.temps.register_class[temp])


cdef inline bint phi_is_spilled(Spiller *s, InstructionId i) noexcept nogil:
    cdef DefinitionRow row = s.p.instructions.definition_first[i]
    return (s.p.definitions.flags[row] & definition_temp) != 0 and s.spilled[s.p.definitions.temp[row]] != 0


cdef inline int extend_columns(Spiller *s) except -1 nogil:
    while s.spilled.size() < s.p.temps.table.count:
        s.spilled.push_back(0)
        s.remaining.push_back(0)
        s.slot.push_back(<uint32_t>no_slot)
        s.constant.push_back(0)
    return 0
