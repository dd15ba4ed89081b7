"""What an entry point and decorations say of floats: SPV_KHR_float_controls, SPV_KHR_float_controls2, NoContraction.

NIR knows two kinds of instructions: those that may be rewritten as numbers, and exact ones. A fast math mode makes an instruction exact
unless it allows all that rewrites do.
"""
from libc.stdint cimport int32_t, uint32_t

from spirv_tables cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *

cdef enum:                        # FPFastMathMode_* that a rewritten instruction needs; AllowContract and AllowReassoc among them
    allows_rewrites = 1 | 2 | 4 | 0x10000 | 0x20000 | 0x40000
    all_of_them = 16              # Fast


cdef int _float_control(Reader r, uint32_t word, uint32_t end, uint32_t first) except -1 nogil:
    """Set the bit of ShaderInfo.float_controls for a mode and the width that it names; `first` is the mode's bit for 16-bit floats."""
    cdef uint32_t width
    if end - word < 4:
        fail(r, word, "too few operands")
    width = r.words[word + 3]
    if width != 16 and width != 32 and width != 64:
        fail(r, word, "a float width of %u bits", width)
    r.s.info.float_controls |= first * (1 if width == 16 else (2 if width == 32 else 4))
    return 0


cdef int _fast_math_default(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef TypeId type
    if end - word < 5:
        fail(r, word, "too few operands")
    r.word = word
    type = type_of_id(r, r.words[word + 3])
    if r.s.types.base[type] != type_float or r.s.types.components[type] != 1 or r.words[word + 4] >= r.bound:
        fail(r, word, "a default of fast math for what is no float type")
    r.fast_math[r.s.types.bit_size[type] >> 5] = <int32_t>integer_constant(r, r.words[word + 4])
    return 0


cdef bint float_control_mode(Reader r, uint32_t word) except -1 nogil:
    cdef uint32_t end = word + length_at(r, word)
    cdef uint32_t mode = r.words[word + 2]
    if mode == ExecutionMode_DenormPreserve:
        _float_control(r, word, end, preserve_denorms16)
    elif mode == ExecutionMode_DenormFlushToZero:
        _float_control(r, word, end, flush_denorms16)
    elif mode == ExecutionMode_SignedZeroInfNanPreserve:
        _float_control(r, word, end, preserve_special16)
    elif mode == ExecutionMode_RoundingModeRTE:
        _float_control(r, word, end, round_even16)
    elif mode == ExecutionMode_RoundingModeRTZ:
        _float_control(r, word, end, round_zero16)
    elif mode == ExecutionMode_FPFastMathDefault:
        _fast_math_default(r, word, end)
    else:
        return False
    return True


cdef bint is_exact(Reader r, uint32_t word) noexcept nogil:
    cdef SpirvId id
    cdef SpirvId type_id
    cdef TypeId type
    cdef uint32_t decoration
    cdef int32_t flags = -1
    if spirv_shapes[opcode_at(r, word)][0] != c'T':
        return False
    id = r.words[word + 2]
    type_id = r.words[word + 1]
    if r.kind[type_id] == kind_type:
        type = r.payload[type_id]
        if r.s.types.base[type] == type_float:
            flags = r.fast_math[r.s.types.bit_size[type] >> 5]
    if r.decorations[id]:
        if decoration_of(r, id, no_member, Decoration_NoContraction):
            return True
        decoration = decoration_of(r, id, no_member, Decoration_FPFastMathMode)
        if decoration:
            flags = <int32_t>r.words[decoration]
    return flags >= 0 and not flags & all_of_them and (flags & allows_rewrites) != allows_rewrites
