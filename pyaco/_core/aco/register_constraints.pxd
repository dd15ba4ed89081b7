"""What an encoding demands of the registers of its operands and definitions: see ``register_constraints.pyx``."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from pyaco._core.ir.program cimport InstructionId, ProgramData

cdef struct Placement:
    uint8_t register_class
    uint8_t dwords                # size, rounded up
    uint8_t align                 # first register must be a multiple
    uint8_t stride                # sub-dword values: byte offsets allowed within the register
    uint8_t written               # bytes that the instruction overwrites (at least the size)
    bint bytewise                 # sub-dword

# For copies, phis and whatever demands no particular register.
cdef Placement pseudo_placement(const ProgramData *p, uint8_t register_class) noexcept nogil
cdef Placement definition_placement(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil
cdef Placement operand_placement(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil
# Whether an instruction, encoded as it is, leaves the bytes of a register alone that its small result does not have.
cdef bint keeps_other_bytes(const ProgramData *p, InstructionId i) noexcept nogil
# Whether operand k can be read from this byte address.
cdef bint operand_fits(const ProgramData *p, InstructionId i, uint32_t k, uint32_t address) noexcept nogil
# Before registers are chosen: shorter encodings, operands that some encodings fix to VCC or m0.
cdef void prepare_encoding(ProgramData *p, InstructionId i) noexcept nogil
# After registers are chosen: VOP3 where VCC was not free. True: a literal must move into a register (GFX9 and older).
cdef bint encode_for_registers(ProgramData *p, InstructionId i) noexcept nogil
# Make the encoding name a sub-dword part that is not (or not alone) in the low bits of its register.
cdef void select_subdword_definition(ProgramData *p, InstructionId i, uint32_t k, uint32_t address) noexcept nogil
cdef void select_subdword_operand(ProgramData *p, InstructionId i, uint32_t k, uint32_t address) noexcept nogil
# SDWA can express the instruction as it is after register allocation.
cdef bint can_use_sdwa(const ProgramData *p, InstructionId i) noexcept nogil
# Operand k (-1: the definition) can name the high half through opsel.
cdef bint can_use_opsel(const ProgramData *p, InstructionId i, int k) noexcept nogil
