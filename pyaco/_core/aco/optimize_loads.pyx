"""The optimizer: bytes and halves that are extended as they are loaded: see ``optimize.pyx``."""
from libc.stdint cimport uint16_t, uint32_t
from libc.string cimport memset

from isa_opcodes cimport *
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.ir.program cimport *

from pyaco.isa import opcodes

cdef struct ExtendedLoad:
    uint16_t zeros                   # the opcode that fills a dword with zeros, 0 where a load has none
    uint16_t signs                   # ... with copies of the sign
    uint32_t bits                    # that are loaded

cdef ExtendedLoad[op_count] _extended


def _fill():
    numbers = opcodes.numbers()
    names = {8: ("ubyte", "sbyte"), 16: ("ushort", "sshort")}
    for space in ("buffer", "flat", "global", "scratch"):
        for bits, (zeros, signs) in names.items():
            low_half = {8: ("ubyte_d16", "sbyte_d16"), 16: ("short_d16",)}[bits]
            for name in (zeros, signs, *low_half):
                _set(numbers[f"{space}_load_{name}"], numbers[f"{space}_load_{zeros}"], numbers[f"{space}_load_{signs}"], bits)
    for bits in (8, 16):
        for name in (f"u{bits}", f"i{bits}", f"u{bits}_d16", *([f"i{bits}_d16"] if bits == 8 else [])):
            _set(numbers[f"ds_read_{name}"], numbers[f"ds_read_u{bits}"], numbers[f"ds_read_i{bits}"], bits)


def _set(uint16_t opcode, uint16_t zeros, uint16_t signs, uint32_t bits):
    _extended[opcode].zeros = zeros
    _extended[opcode].signs = signs
    _extended[opcode].bits = bits


memset(_extended, 0, sizeof(_extended))
_fill()


cdef bint combine_short_load(Context *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Operand o = source_at(p, i, 0)
    cdef InstructionId q = producer_of(c, o)
    cdef uint16_t load = p.instructions.opcode[q]
    cdef bint is_half = load == op_s_load_u16 or load == op_s_buffer_load_u16
    if q == 0 or not (is_half or load == op_s_load_u8 or load == op_s_buffer_load_u8) or not scc_unused(c, i):
        return False
    if opcode == op_s_bfe_u32:
        if not is_constant(source_at(p, i, 1), 0x100000 if is_half else 0x80000):
            return False
    elif c.uses[o.data] != 1 or opcode != (op_s_sext_i32_i16 if is_half else op_s_sext_i32_i8):
        return False
    elif is_half:
        p.instructions.opcode[q] = op_s_load_i16 if load == op_s_load_u16 else op_s_buffer_load_i16
    else:
        p.instructions.opcode[q] = op_s_load_i8 if load == op_s_load_u8 else op_s_buffer_load_i8
    p.instructions.definition_count[i] = 1
    become(c, i, op_p_parallelcopy, format_pseudo, &o, 1)
    return True


cdef bint combine_extended_load(Context *c, InstructionId i) except -1 nogil:
    """The load writes the dword that the extension would make of its result, which nothing else reads."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, 0)
    cdef InstructionId q = producer_of(c, o)
    cdef DefinitionRow extension = p.instructions.definition_first[i]
    cdef DefinitionRow load
    cdef const ExtendedLoad *extended
    cdef TempId dword
    if q == 0 or p.instructions.definition_count[i] != 1 or p.definitions.register_class[extension] != class_v1:
        return False
    extended = &_extended[p.instructions.opcode[q]]
    if extended.bits == 0 or c.uses[o.data] != 1 or not is_constant(source_at(p, i, 1), 0) \
            or not is_constant(source_at(p, i, 2), extended.bits) or p.instructions.definition_count[q] != 1:
        return False
    load = p.instructions.definition_first[q]
    dword = p.definitions.temp[extension]
    if not class_is_subdword(p.definitions.register_class[load]) or p.definitions.flags[load] & definition_fixed:
        return False
    p.instructions.opcode[q] = extended.zeros if is_constant(source_at(p, i, 3), 0) else extended.signs
    p.definitions.temp[load] = dword
    p.definitions.register_class[load] = class_v1
    p.definitions.temp[extension] = o.data
    p.definitions.register_class[extension] = o.register_class
    c.parent[dword] = q
    c.home[dword] = c.home[o.data]
    c.place[dword] = c.place[o.data]
    c.parent[o.data] = 0
    o = operand_c16(0) if class_bytes(o.register_class) == 2 else operand_c8(0)
    become(c, i, op_p_parallelcopy, format_pseudo, &o, 1)
    return True
