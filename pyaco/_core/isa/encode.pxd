"""``Decoded`` to machine code, for GFX6 to GFX12: the inverse of ``decode.pxd``."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from isa_tables cimport (is_atomic, opcode_definition_classes, opcode_max_definitions, opcode_max_operands, opcode_operand_classes,
                         opcode_operand_count)
from pyaco._core.common.machine cimport class_dwords, format_flat, format_scratch, format_smem, register_none
from pyaco._core.isa.decode cimport Decoded

cdef enum:
    # Undefined operands of ACO IR have the code of the constant 0; fields that do not count keep its low bits.
    absent = 128 * 4
    # longest instruction: a GFX10 image instruction with twelve separate address registers
    encode_limit = 6
    encode_no_opcode = -1             # this gfx level lacks the opcode
    encode_bad_operand = -2           # a register or constant that its field cannot hold
    encode_bad_offset = -3            # an immediate out of range
    encode_bad_literal = -4           # two different literals, or one where none can be
    encode_bad_modifier = -5          # a modifier that the format or the gfx level lacks
    encode_bad_format = -6            # a format that the opcode or the gfx level lacks
    encode_bad_bus = -7               # more scalar sources than a vector instruction can read

# Writes the words of `instruction` to `out` (room for encode_limit dwords) and returns their number, or one of the codes
# above. The opcode and format decide the encoding; fields of `Decoded` are read as `decode` writes them.
cdef int encode(const Decoded *instruction, uint32_t gfx_level, uint32_t *out) noexcept nogil

# The same; with `stray_bits`, fields that do not count hold what ACO's assembler leaves in them.
cdef int encode_in_context(const Decoded *instruction, uint32_t gfx_level, uint32_t *out, bint stray_bits) noexcept nogil

# Whether `encode` gives the `words` that `decode` has made `instruction` of. False does not say that it gives others.
cdef bint keeps_words(const Decoded *instruction, uint32_t gfx_level, const uint32_t *words) noexcept nogil

# Whether a vector instruction reads no more scalars (SGPRs and the literal) than the gfx level allows: one before GFX10
# and for 64-bit shifts, two later. True for everything else.
cdef bint scalar_reads_fit(const Decoded *instruction, uint32_t gfx_level) noexcept nogil

# Why the opcode does not have the form, sources or modifiers of `instruction` in the syntax of assemblers, although the words may exist without a
# meaning (data/opcodes_variants.txt); NULL if it has. With `halves`, whatever halves of registers it selects.
cdef const char *form_error(const Decoded *instruction, uint32_t gfx_level, bint halves) noexcept nogil

# Whether an instruction of the ALU, without literals and lane control, takes any register and constant as any of its sources.
cdef bint takes_any_source(const Decoded *instruction) noexcept nogil

# Whether the form of a vector instruction has clamp or an output modifier in assemblers' syntax, even one without effect (mul:1).
cdef bint form_has_clamp(const Decoded *instruction, uint32_t gfx_level) noexcept nogil
cdef bint form_has_omod(const Decoded *instruction, uint32_t gfx_level) noexcept nogil

# What an error code means.
cdef const char *encode_error(int code) noexcept nogil


# The register class of an operand or definition that the opcode table has at a position; opcode_mask_class: a lane mask.
cdef inline uint8_t operand_class(uint32_t opcode, uint32_t position) noexcept nogil:
    return opcode_operand_classes[opcode * opcode_max_operands + position]


cdef inline uint8_t definition_class(uint32_t opcode, uint32_t position) noexcept nogil:
    return opcode_definition_classes[opcode * opcode_max_definitions + position]


cdef inline bint takes_scale_offset(const Decoded *d) noexcept nogil:
    """Whether a memory access of GFX12.5 has an offset to scale: in a VGPR, beside a base but for scratch, or in scalar memory but for buffers."""
    if d.format == format_smem:
        return opcode_operand_count[d.opcode] != 0 and class_dwords(operand_class(d.opcode, 0)) != 4
    if d.source_count < 2 or d.source[0] == register_none:
        return False
    return d.format == format_scratch or d.source[1] != register_none


cdef inline bint exec_is_no_base(const Decoded *d) noexcept nogil:
    """Whether exec cannot be the base of an access of GFX12.5: of flat loads and stores, while atomics take it (LLVM 22)."""
    return d.format == format_flat and not is_atomic(d.opcode)
