"""Words of ACO IR's text: what numbers are called, fields of the modifier word, register classes, registers, constants.

What the data sheets name comes from ``_core/ir/vocabulary.py``, what assembly spells alike from ``isa/names.py``; the tables here are names that
only this text has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from pyaco._core.common.vocabulary import Format, Register
from pyaco._core.ir.vocabulary import BlockKind, MemorySemantic, Progress, StorageClass, SyncScope
from pyaco.errors import InputError
from pyaco.isa import names as assembly

#: Formats of the vector ALU, which combine.
VALU_FORMATS = Format.VOP1 | Format.VOP2 | Format.VOPC | Format.VOP3 | Format.VOP3P
KINDS = tuple(BlockKind.bits().values())
STORAGE = tuple(StorageClass.bits().values())
SEMANTICS = tuple(MemorySemantic.bits().values())
SCOPES = tuple(SyncScope.names().values())
HEADERS = tuple(Progress.names().values())[:3]
#: Registers that have a name, by number.
SPECIAL_NAMES = {register >> 2: register.text for register in (Register.VCC, Register.M0, Register.NULL, Register.EXEC, Register.SCC)}
SPECIAL = {name: number for number, name in SPECIAL_NAMES.items()}
_HALVES = {"vcc_lo": Register.VCC, "vcc_hi": Register.VCC_HI, "exec_lo": Register.EXEC, "exec_hi": Register.EXEC_HI}
DIMENSIONS = ("1d", "2d", "3d", "cube", "1darray", "2darray", "2dmsaa", "2darraymsaa")
DATA_FORMATS = ("invalid", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8",
                "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "reserved15")  # fmt: skip
NUMBER_FORMATS = ("unorm", "snorm", "uscaled", "sscaled", "uint", "sint", "snorm_ogl", "float")
_REDUCTION_WIDTHS = (("iadd", (8, 16, 32, 64)), ("imul", (8, 16, 32, 64)), ("fadd", (16, 32, 64)), ("fmul", (16, 32, 64)),
                     ("imin", (8, 16, 32, 64)), ("imax", (8, 16, 32, 64)), ("umin", (8, 16, 32, 64)), ("umax", (8, 16, 32, 64)),
                     ("fmin", (16, 32, 64)), ("fmax", (16, 32, 64)), ("iand", (8, 16, 32, 64)), ("ior", (8, 16, 32, 64)),
                     ("ixor", (8, 16, 32, 64)))  # fmt: skip
#: Reduction operations by number (``reduce_operation`` of the modifiers).
REDUCTIONS = tuple(f"{name}{bits}" for name, widths in _REDUCTION_WIDTHS for bits in widths)
TEMPORAL_LOAD = ("", "non_temporal", "high_temporal", "last_use_discard", "near_non_temporal_far_regular_temporal",
                 "near_regular_temporal_far_non_temporal", "near_non_temporal_far_high_temporal", "reserved7")  # fmt: skip
CACHE_SCOPES = ("", "se", "device", "memory")
ATOMIC_HINTS = ("atomic_return", "non_temporal", "accum_deferred_scope")
INLINE_FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "1/(2*PI)")
INLINE_F32 = (0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983)
INLINE_F16 = (0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118)
INLINE_F64 = (0x3FE0000000000000, 0xBFE0000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x4000000000000000,
              0xC000000000000000, 0x4010000000000000, 0xC010000000000000, 0x3FC45F306DC9C882)  # fmt: skip
MIX = ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16", "v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16")
BRANCHES = ("s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz",
            "s_cbranch_execnz", "s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
            "s_cbranch_cdbgsys_and_user", "s_cbranch_i_fork", "s_cbranch_join", "s_call_b64",
            "s_subvector_loop_begin", "s_subvector_loop_end")  # fmt: skip
DELAYS = ("", *(name.lower() for name in assembly.DELAYS[1:]))
MESSAGES = {"save_wave": 4, "stall_wave_gen": 5, "halt_waves": 6, "ordered_ps_done": 7, "early_prim_dealloc": 8,
            "gs_alloc_req": 9, "get_doorbell": 10, "get_ddid": 11}  # fmt: skip
#: Waits for two counters of six bits: the lowest bit of each.
DOUBLE_WAITS = {"s_wait_loadcnt_dscnt": {"dscnt": 0, "loadcnt": 8}, "s_wait_storecnt_dscnt": {"dscnt": 0, "storecnt": 8}}
#: Opcodes whose source field holds the number of a message; text has the inline constant of the same code, which is the number less 128.
RETURNING_MESSAGES = ("s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64")
DPP_FIXED = assembly.DPP_WAVES | assembly.DPP_MIRRORS
DPP_RANGES = tuple((name, number) for number, name in (assembly.DPP_SHIFTS | assembly.DPP_SHARES).items())
_CLASS = re.compile(r"(s|v|lv)(\d+)(b?)\Z")
_REGISTER = re.compile(r"([sv])\[?(\d+)(?:-(\d+))?\]?(?:\[(\d+):(\d+)\])?\Z")


@cache
def fields() -> dict[str, tuple[int, int]]:
    """First bit and width of every field of the modifier column."""
    text = resources.files("pyaco.isa").joinpath("data/modifiers.txt").read_text()
    rows = (line.split("#")[0].split() for line in text.splitlines())
    return {words[0]: (int(words[1]), int(words[2])) for words in rows if words}


def get(word: int, name: str) -> int:
    """Field `name` of a modifier word."""
    first, width = fields()[name]
    return (word >> first) & ((1 << width) - 1)


def put(word: int, name: str, value: int) -> int:
    """A modifier word with field `name` set."""
    first, width = fields()[name]
    mask = (1 << width) - 1
    if value & ~mask:
        raise InputError(f"{name}: {value} does not fit {width} bits")
    return (word & ~(mask << first)) | (value << first)


def class_name(register_class: int) -> str:
    """The text of a register class: s2, v1, v2b, lv1."""
    size = register_class & 0x1F
    if register_class & 0x40:
        return f"v{size}b"
    if register_class & 0x20:
        return f"{'l' if register_class & 0x80 else ''}v{size}"
    return f"s{size or 32}"


def class_bytes(register_class: int) -> int:
    """Bytes that a register class holds."""
    size = register_class & 0x1F
    return size if register_class & 0x40 else size * 4


def parse_class(text: str) -> int:
    """Return the register class that a text such as ``v2b`` names."""
    match = _CLASS.match(text)
    if not match:
        raise InputError(f"no register class: {text!r}")
    file, size, sub = match[1], int(match[2]), match[3]
    if not 1 <= size <= 32 or (sub and file != "v"):
        raise InputError(f"no register class: {text!r}")
    if sub:
        return 0x60 | size
    return (size & 0x1F) | {"s": 0, "v": 0x20, "lv": 0xA0}[file]


def register_name(address: int, size: int) -> str:
    """The text of `size` bytes of registers from a byte address on."""
    number, byte = address >> 2, address & 3
    if number in SPECIAL_NAMES:
        return SPECIAL_NAMES[number]
    last = number + (size + 3) // 4 - 1
    index = number & 255
    text = f"{'v' if number >= 256 else 's'}[{index}" + (f"-{last & 255}]" if last > number else "]")
    return text + (f"[{byte * 8}:{(byte + size) * 8}]" if byte or size & 3 else "")


def parse_register(text: str, mask_bytes: int) -> tuple[int, int]:
    """Return (byte address, bytes) of a register."""
    if text in SPECIAL:
        return SPECIAL[text] * 4, mask_bytes if text in ("vcc", "exec") else 4
    if text in _HALVES:
        return int(_HALVES[text]), 4
    match = _REGISTER.match(text)
    if not match:
        raise InputError(f"no register: {text!r}")
    first = int(match[2])
    last = int(match[3]) if match[3] else first
    if last < first or last > 255:
        raise InputError(f"no register: {text!r}")
    base = (256 + first if match[1] == "v" else first) * 4
    if match[4] is None:
        return base, (last - first + 1) * 4
    low, high = int(match[4]), int(match[5])
    if low % 8 or high % 8 or high <= low:
        raise InputError(f"no part of a register: {text!r}")
    return base + low // 8, (high - low) // 8


def constant_text(data: int, reg: int, size: int) -> str:
    """The text of a constant operand."""
    code = reg >> 2
    if size == 1:
        return f"0x{data & 0xFF:02x}"
    if code == 255:
        return f"0x{data:04x}" if size == 2 else f"0x{data:x}"
    if code <= 192:
        return str(code - 128)
    return str(192 - code) if code <= 208 else INLINE_FLOATS[code - 240]


def flag_names(value: int, names: Iterable[str]) -> list[str]:
    """Names of the bits that are set."""
    return [name for bit, name in enumerate(names) if value >> bit & 1]


def bits_of(values: str, names: Iterable[str], what: str) -> int:
    """Bits of the names in a list with commas."""
    table = {name: 1 << bit for bit, name in enumerate(names)}
    total = 0
    for value in values.split(","):
        if value not in table:
            raise InputError(f"no {what}: {value!r}")
        total |= table[value]
    return total


def index_of(value: str, names: tuple[str, ...], what: str) -> int:
    """Place of a name among `names`."""
    if value not in names:
        raise InputError(f"no {what}: {value!r}")
    return names.index(value)


def number(text: str) -> int:
    """A number as Python writes them."""
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(f"no number: {text!r}") from None
