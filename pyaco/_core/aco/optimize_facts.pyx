"""Facts about opcodes that the optimizer needs beside the ISA table: commuted and inverted forms, fused pairs, canonical results.

Filled once, by name, when the module is loaded.
"""
import re

from libc.stdint cimport uint16_t, uint32_t, uint8_t
from libc.string cimport memset

from isa_opcodes cimport op_count, op_v_cvt_f16_f32, op_v_cvt_f32_f16
from pyaco._core.ir.program cimport gfx9

from pyaco.isa import opcodes

cdef uint16_t[4096] _commuted
cdef uint16_t[4096] _inverse
cdef uint16_t[4096] _exec_compare
cdef Fusion[64] _fusions
cdef uint8_t[4096] _first_fusion
cdef uint8_t[4096] _fusion_count
cdef uint8_t[4096] _float_bits
cdef uint8_t[4096] _read_bits
cdef uint8_t[4096] _made_bits
cdef uint8_t[4096] _selects_a_source
cdef uint8_t[4096] _is_shift64
cdef uint8_t[4096] _is_packed

if op_count > 4096:
    raise ImportError("the tables of optimize_facts are too small")


cdef uint16_t commuted_opcode(uint16_t opcode) noexcept nogil:
    return _commuted[opcode]


cdef uint16_t inverse_compare(uint16_t opcode) noexcept nogil:
    return _inverse[opcode]


cdef uint16_t exec_compare(uint16_t opcode) noexcept nogil:
    return _exec_compare[opcode]


cdef uint32_t float_bits(uint16_t opcode) noexcept nogil:
    return _float_bits[opcode]


cdef uint32_t flushed_bits(uint16_t opcode, uint32_t gfx_level) noexcept nogil:
    return 0 if gfx_level < gfx9 and _selects_a_source[opcode] else _float_bits[opcode]


cdef uint32_t converted_bits(uint16_t opcode) noexcept nogil:
    return 16 if opcode == op_v_cvt_f32_f16 else 32 if opcode == op_v_cvt_f16_f32 else 0


cdef bint is_packed(uint16_t opcode) noexcept nogil:
    return _is_packed[opcode] != 0


cdef uint32_t read_bits(uint16_t opcode) noexcept nogil:
    return _read_bits[opcode]


cdef uint32_t result_bits(uint16_t opcode) noexcept nogil:
    return 48 - converted_bits(opcode) if converted_bits(opcode) else max(_made_bits[opcode], _float_bits[opcode])


cdef uint32_t made_bits(uint16_t opcode) noexcept nogil:
    return _made_bits[opcode]


cdef const Fusion *fusions_of(uint16_t opcode, uint32_t *count) noexcept nogil:
    count[0] = _fusion_count[opcode]
    return &_fusions[_first_fusion[opcode]]


cdef bint has_one_scalar_source(uint16_t opcode) noexcept nogil:
    return _is_shift64[opcode] != 0


_SELF = """v_add_f32 v_add_f16 v_add_f64 v_mul_f32 v_mul_f16 v_mul_f64 v_mul_legacy_f32 v_min_f32 v_max_f32 v_min_f16 v_max_f16
v_min_i32 v_max_i32 v_min_u32 v_max_u32 v_and_b32 v_or_b32 v_xor_b32 v_xnor_b32 v_add_u32 v_add_co_u32 v_add_co_u32_e64
v_add_u16 v_add_u16_e64 v_mul_lo_u16 v_mul_lo_u16_e64 v_min_i16 v_max_i16 v_min_u16 v_max_u16 v_mul_u32_u24 v_mul_i32_i24
v_mul_hi_u32_u24 v_mul_hi_i32_i24 v_mul_lo_u32 v_mul_hi_u32 v_mul_hi_i32 v_min_f64 v_max_f64 v_addc_co_u32""".split()
_PAIRS = """v_sub_f32 v_subrev_f32, v_sub_f16 v_subrev_f16, v_sub_u32 v_subrev_u32, v_sub_co_u32 v_subrev_co_u32,
v_subb_co_u32 v_subbrev_co_u32, v_sub_u16 v_subrev_u16"""
_COMPARES = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "lg": "lg", "neq": "neq", "nge": "nle", "nle": "nge",
             "ngt": "nlt", "nlt": "ngt", "nlg": "nlg", "o": "o", "u": "u"}
_INVERSES_FLOAT = {"lt": "nlt", "gt": "ngt", "le": "nle", "ge": "nge", "eq": "neq", "lg": "nlg", "o": "u"}
_INVERSES_INTEGER = {"lt": "ge", "gt": "le", "eq": "lg"}
# Results that the hardware flushes (or keeps) by the mode's denormal bits.
_CANONICAL = """add sub subrev mul mul_legacy fma fmac mad mac rcp rsq sqrt exp log sin cos min max min3 max3 med3 floor ceil trunc
rndne fract ldexp cvt frexp_mant fmaak fmamk madak madmk div_fixup div_fmas""".split()
# Of these, what passes denormals through before GFX9 (Mesa, `does_fp_op_flush_denorms`).
_SELECTIONS = "min max min3 max3 med3".split()
# What compares floats or converts them.
_READS_FLOATS = re.compile(r"v_(?:cmp_(?!class)\w+|cvt_\w+)_f(16|32)(?:_e64)?")
_MAKES_FLOATS = re.compile(r"v_cvt_f(16|32)_(?:[iu]\d+|ubyte\d)")
# Instruction, producer of its source 0 or 1, fused instruction, and the sources of that: x and y are the producer's, z the instruction's other
# one, 0 and 1 constants without bits and with all. Rows of one instruction stand together and are tried from the top.
_FUSIONS = """
v_add_u32       01  v_bcnt_u32_b32  v_bcnt_u32_b32    x z
v_add_u32       01  v_mul_u32_u24   v_mad_u32_u24     x y z
v_add_u32       01  v_mul_i32_i24   v_mad_i32_i24     x y z
v_add_u32       01  v_xor_b32       v_xad_u32         x y z
v_add_u32       01  v_add_u32       v_add3_u32        z x y
v_add_u32       01  v_lshlrev_b32   v_lshl_add_u32    y x z
v_or_b32        01  v_or_b32        v_or3_b32         z x y
v_or_b32        01  v_and_b32       v_and_or_b32      x y z
v_or_b32        01  v_lshlrev_b32   v_lshl_or_b32     y x z
v_or_b32        01  s_or_b32        v_or3_b32         z x y
v_or_b32        01  v_not_b32       v_bfi_b32         x z 1
v_and_b32       01  v_not_b32       v_bfi_b32         x 0 z
v_xor_b32       01  v_xor_b32       v_xor3_b32        z x y
v_xor_b32       01  v_not_b32       v_xnor_b32        z x
v_not_b32       0   v_xor_b32       v_xnor_b32        x y
v_lshlrev_b32   1   v_add_u32       v_add_lshl_u32    x y z
v_min_f32       01  v_min_f32       v_min3_f32        x y z
v_min_f32       01  v_max_f32       v_maxmin_f32      x y z
v_max_f32       01  v_max_f32       v_max3_f32        x y z
v_max_f32       01  v_min_f32       v_minmax_f32      x y z
v_min_f16       01  v_min_f16       v_min3_f16        x y z
v_min_f16       01  v_max_f16       v_maxmin_f16      x y z
v_max_f16       01  v_max_f16       v_max3_f16        x y z
v_max_f16       01  v_min_f16       v_minmax_f16      x y z
v_min_u32       01  v_min_u32       v_min3_u32        x y z
v_min_u32       01  v_max_u32       v_maxmin_u32      x y z
v_max_u32       01  v_max_u32       v_max3_u32        x y z
v_max_u32       01  v_min_u32       v_minmax_u32      x y z
v_min_i32       01  v_min_i32       v_min3_i32        x y z
v_min_i32       01  v_max_i32       v_maxmin_i32      x y z
v_max_i32       01  v_max_i32       v_max3_i32        x y z
v_max_i32       01  v_min_i32       v_minmax_i32      x y z
v_add_u16       01  v_mul_lo_u16     v_mad_u16     x y z
v_add_u16_e64   01  v_mul_lo_u16_e64 v_mad_u16     x y z
v_min_i16       01  v_min_i16       v_min3_i16    x y z
v_max_i16       01  v_max_i16       v_max3_i16    x y z
v_min_u16       01  v_min_u16       v_min3_u16    x y z
v_max_u16       01  v_max_u16       v_max3_u16    x y z
v_min_i16_e64   01  v_min_i16_e64   v_min3_i16    x y z
v_max_i16_e64   01  v_max_i16_e64   v_max3_i16    x y z
v_min_u16_e64   01  v_min_u16_e64   v_min3_u16    x y z
v_max_u16_e64   01  v_max_u16_e64   v_max3_u16    x y z
"""


def _fill_fusions(numbers):
    rows = [line.split() for line in _FUSIONS.strip().splitlines()]
    for index, (user, positions, producer, fused, *sources) in enumerate(rows):
        number = numbers[user]
        if _fusion_count[number] == 0:
            _first_fusion[number] = index
        _fusion_count[number] += 1
        _fusions[index].producer = numbers[producer]
        _fusions[index].fused = numbers[fused]
        _fusions[index].positions = sum(1 << int(position) for position in positions)
        _fusions[index].source_count = len(sources)
        for k, source in enumerate(sources):
            _fusions[index].sources[k] = "xyz01".index(source)


def _fill():
    numbers = opcodes.numbers()
    _fill_fusions(numbers)

    def link(table, a, b):
        if a in numbers and b in numbers:
            if table == 0:
                _commuted[numbers[a]] = numbers[b]
            else:
                _inverse[numbers[a]] = numbers[b]

    for name in _SELF:
        link(0, name, name)
    for pair in _PAIRS.replace("\n", " ").split(","):
        a, b = pair.split()
        link(0, a, b)
        link(0, b, a)
    for size in ("16", "32", "64"):
        for kind in ("f", "i", "u"):
            for a, b in _COMPARES.items():
                link(0, f"v_cmp_{a}_{kind}{size}", f"v_cmp_{b}_{kind}{size}")
            inverses = _INVERSES_FLOAT if kind == "f" else _INVERSES_INTEGER
            for a, b in inverses.items():
                for x, y in ((a, b), (b, a)):
                    link(1, f"v_cmp_{x}_{kind}{size}", f"v_cmp_{y}_{kind}{size}")
    for name, number in numbers.items():
        if name.startswith("v_cmp_") and "_e64" not in name and name.replace("v_cmp_", "v_cmpx_") in numbers:
            _exec_compare[number] = numbers[name.replace("v_cmp_", "v_cmpx_")]
        if name.startswith("v_") and "_" in name:
            for size in (16, 32, 64):
                if name.removeprefix("v_").removesuffix("_e64").removesuffix(f"_f{size}") in _CANONICAL \
                        and name.removesuffix("_e64").endswith(f"_f{size}"):
                    _float_bits[number] = size
                    _selects_a_source[number] = name.split("_")[1] in _SELECTIONS
        if read := _READS_FLOATS.fullmatch(name):
            _read_bits[number] = int(read[1])
        if made := _MAKES_FLOATS.fullmatch(name):
            _made_bits[number] = int(made[1])
        _is_packed[number] = name.startswith("v_pk_") and name.endswith("16")
        if name in ("v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64", "v_lshlrev_b64_e64"):
            _is_shift64[number] = 1


memset(_commuted, 0xff, sizeof(_commuted))
memset(_inverse, 0xff, sizeof(_inverse))
memset(_exec_compare, 0xff, sizeof(_exec_compare))
_fill()
