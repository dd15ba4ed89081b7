"""Every scalar ALU instruction of every generation: result, SCC and EXEC against models on Python integers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import alu_models
import numpy as np
import pytest
from alu_models import M32, MODELS, Model, signed
from exact_floats import FORMATS, encode, is_nan
from machine_code import assemble_each
from test_alu_values import GCN, TARGETS, value

from pyaco.emu import Device
from pyaco.isa import opcodes

CASES = 48
IMM = -31453                          # of the SOPK forms: 0x8523


def field(value: int, first: int, width: int) -> int:
    return value >> first & (1 << width) - 1


def signed_field(value: int, first: int, width: int, bits: int) -> int:
    part = field(signed(value, bits), first, width)
    return signed(part, width) if width else 0


def quads(value: int, bits: int) -> int:
    return sum(15 << 4 * i for i in range(bits // 4) if value >> 4 * i & 15)


def fits(value: int) -> bool:
    return -(1 << 31) <= value < 1 << 31


Scalar = Callable[..., tuple[int, int | None]]
# name -> (kinds of sources, bits of the result (0: none), function of a, b, old, scc -> (result, SCC or None where it stays))
SCALARS: dict[str, tuple[str, int, Any]] = {}


def define(name: str, sources: str, bits: int, function: Scalar | tuple[str, Callable[[int, int], int]]) -> None:
    SCALARS[name] = (sources, bits, function)


def nonzero(function: Callable[..., int], bits: int) -> Scalar:
    mask = (1 << bits) - 1
    return lambda a, b, old, scc: (function(a, b) & mask, int(function(a, b) & mask != 0))


def plain(function: Callable[..., int]) -> Scalar:
    return lambda a, b, old, scc: (function(a, b), None)


define("s_add_u32", "u32 u32", 32, lambda a, b, old, scc: (a + b, a + b >> 32))
define("s_sub_u32", "u32 u32", 32, lambda a, b, old, scc: (a - b, int(b > a)))
define("s_add_i32", "i32 i32", 32, lambda a, b, old, scc: (a + b, int(not fits(a + b))))
define("s_sub_i32", "i32 i32", 32, lambda a, b, old, scc: (a - b, int(not fits(a - b))))
define("s_addc_u32", "u32 u32", 32, lambda a, b, old, scc: (a + b + scc, a + b + scc >> 32))
define("s_subb_u32", "u32 u32", 32, lambda a, b, old, scc: (a - b - scc, int(b + scc > a)))
define("s_add_nc_u64", "u64 u64", 64, plain(lambda a, b: a + b))
define("s_sub_nc_u64", "u64 u64", 64, plain(lambda a, b: a - b))
define("s_mul_u64", "u64 u64", 64, plain(lambda a, b: a * b))
for sign in "iu":
    define(f"s_min_{sign}32", f"{sign}32 {sign}32", 32, lambda a, b, old, scc: (min(a, b), int(a < b)))
    define(f"s_max_{sign}32", f"{sign}32 {sign}32", 32, lambda a, b, old, scc: (max(a, b), int(a > b)))
for bits in (32, 64):
    kind, pair = f"u{bits}", f"u{bits} u{bits}"
    define(f"s_cselect_b{bits}", pair, bits, lambda a, b, old, scc: (a if scc else b, None))
    define(f"s_cmov_b{bits}", kind, bits, lambda a, b, old, scc: (a if scc else old, None))
    define(f"s_mov_b{bits}", kind, bits, plain(lambda a, b: a))
    logic = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "andn2": lambda a, b: a & ~b,
             "orn2": lambda a, b: a | ~b, "nand": lambda a, b: ~(a & b), "nor": lambda a, b: ~(a | b), "xnor": lambda a, b: ~(a ^ b),
             "andn1": lambda a, b: ~a & b, "orn1": lambda a, b: ~a | b}  # fmt: skip
    for name, function in logic.items():
        if name not in ("andn1", "orn1"):
            define(f"s_{name}_b{bits}", pair, bits, nonzero(function, bits))
        define(f"s_{name}_saveexec_b{bits}", kind, bits, ("save", function))
        define(f"s_{name}_wrexec_b{bits}", kind, bits, ("write", function))
    define(f"s_not_b{bits}", kind, bits, nonzero(lambda a, b: ~a, bits))
    define(f"s_wqm_b{bits}", kind, bits, nonzero(lambda a, b, bits=bits: quads(a, bits), bits))
    define(f"s_quadmask_b{bits}", kind, bits, nonzero(lambda a, b, bits=bits: sum(1 << i for i in range(bits // 4) if a >> 4 * i & 15), bits))
    define(f"s_bcnt0_i32_b{bits}", kind, 32, nonzero(lambda a, b, bits=bits: bits - a.bit_count(), 32))
    define(f"s_bcnt1_i32_b{bits}", kind, 32, nonzero(lambda a, b: a.bit_count(), 32))
    define(f"s_bitset0_b{bits}", "u32", bits, lambda a, b, old, scc, bits=bits: (old & ~(1 << (a & bits - 1)), None))
    define(f"s_bitset1_b{bits}", "u32", bits, lambda a, b, old, scc, bits=bits: (old | 1 << (a & bits - 1), None))
    define(f"s_lshl_b{bits}", f"{kind} u32", bits, nonzero(lambda a, b, bits=bits: a << (b & bits - 1), bits))
    define(f"s_lshr_b{bits}", f"{kind} u32", bits, nonzero(lambda a, b, bits=bits: a >> (b & bits - 1), bits))
    define(f"s_ashr_i{bits}", f"i{bits} u32", bits, nonzero(lambda a, b, bits=bits: a >> (b & bits - 1), bits))
    define(f"s_bfm_b{bits}", "u32 u32", bits, plain(lambda a, b, bits=bits: ((1 << (a & bits - 1)) - 1) << (b & bits - 1)))
    define(f"s_bfe_u{bits}", f"{kind} u32", bits, nonzero(lambda a, b, bits=bits: field(a, b & bits - 1, b >> 16 & 127), bits))
    define(f"s_bfe_i{bits}", f"{kind} u32", bits,
           nonzero(lambda a, b, bits=bits: signed_field(a, b & bits - 1, min(b >> 16 & 127, bits), bits), bits))
    define(f"s_bitcmp0_b{bits}", f"{kind} u32", 0, lambda a, b, old, scc, bits=bits: (0, 1 - (a >> (b & bits - 1) & 1)))
    define(f"s_bitcmp1_b{bits}", f"{kind} u32", 0, lambda a, b, old, scc, bits=bits: (0, a >> (b & bits - 1) & 1))
define("s_mul_i32", "u32 u32", 32, plain(lambda a, b: a * b))
define("s_mul_hi_u32", "u32 u32", 32, plain(lambda a, b: a * b >> 32))
define("s_mul_hi_i32", "i32 i32", 32, plain(lambda a, b: a * b >> 32))
define("s_absdiff_i32", "u32 u32", 32, nonzero(lambda a, b: abs(signed(a - b)), 32))
define("s_abs_i32", "i32", 32, nonzero(lambda a, b: abs(a), 32))
define("s_sext_i32_i8", "u32", 32, plain(lambda a, b: signed(a, 8)))
define("s_sext_i32_i16", "u32", 32, plain(lambda a, b: signed(a, 16)))
define("s_bitreplicate_b64_b32", "u32", 64, plain(lambda a, b: sum(3 << 2 * i for i in range(32) if a >> i & 1)))
for amount in range(1, 5):
    define(f"s_lshl{amount}_add_u32", "u32 u32", 32, lambda a, b, old, scc, n=amount: ((a << n) + b, int((a << n) + b > M32)))
define("s_pack_ll_b32_b16", "u32 u32", 32, plain(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16))
define("s_pack_lh_b32_b16", "u32 u32", 32, plain(lambda a, b: a & 0xFFFF | b & 0xFFFF0000))
define("s_pack_hh_b32_b16", "u32 u32", 32, plain(lambda a, b: a >> 16 | b & 0xFFFF0000))
define("s_pack_hl_b32_b16", "u32 u32", 32, plain(lambda a, b: a >> 16 | (b & 0xFFFF) << 16))
define("s_movk_i32", "", 32, lambda a, b, old, scc: (IMM, None))
define("s_cmovk_i32", "", 32, lambda a, b, old, scc: (IMM if scc else old, None))
define("s_addk_i32", "", 32, lambda a, b, old, scc: (old + IMM, int(not fits(signed(old) + IMM))))
define("s_mulk_i32", "", 32, lambda a, b, old, scc: (old * IMM, None))
RELATIONS = {"eq": lambda a, b: a == b, "lg": lambda a, b: a != b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
             "lt": lambda a, b: a < b, "le": lambda a, b: a <= b}  # fmt: skip
for relation, function in RELATIONS.items():
    define(f"s_cmpk_{relation}_i32", "i32", 0, lambda a, b, old, scc, f=function: (0, int(f(a, IMM))))
    define(f"s_cmpk_{relation}_u32", "u32", 0, lambda a, b, old, scc, f=function: (0, int(f(a, IMM & 0xFFFF))))


def rows_of(target: str) -> list[tuple[str, str]]:
    generation = TARGETS[target]
    return [(row.spelling(generation), row.name) for row in opcodes.rows()
            if row.name.startswith("s_") and (row.name in SCALARS or row.name in MODELS) and generation in row.numbers]


def register(first: int, bits: int) -> str:
    return f"s[{first}:{first + 1}]" if bits == 64 else f"s{first}"


def kinds_of(name: str) -> tuple[list[str], int, Model | None]:
    if name in SCALARS:
        sources, bits, _ = SCALARS[name]
        return sources.split(), bits, None
    model = MODELS[name]
    bits = 0 if model.results[0] == "scc" else 64 if model.results[0].endswith("64") else 32
    return [kind for kind in model.sources if not kind.startswith("old_")], bits, model


def text_of(mnemonic: str, name: str) -> str:
    """SCC from bit 0 of s12; old value s[12:13]; operands s[8:9], s[10:11]; EXEC is s[10:11] for what reads it."""
    kinds, bits, model = kinds_of(name)
    operands = [register(8 + 2 * slot, 64 if kind.endswith("64") else 32) for slot, kind in enumerate(kinds)]
    lines = ["s_mov_b64 s[20:21], s[12:13]", "s_bitcmp1_b32 s12, 0"]
    if "exec" in name:
        lines.insert(0, "s_mov_b64 exec, s[10:11]")
    place = [register(20, bits)] if bits else []
    if model is not None and model.text:
        lines.append(f"{mnemonic} " + model.text.format(d=place[0], a=operands[0], b=operands[1], c=""))
    else:
        constant = [f"{IMM & 0xFFFF:#x}"] if name.startswith(("s_movk", "s_cmovk", "s_addk", "s_mulk", "s_cmpk")) else []
        lines.append(f"{mnemonic} {', '.join(place + operands + constant)}")
    lines += ["s_cselect_b32 s22, 1, 0", "s_mov_b64 s[24:25], exec", "s_mov_b64 exec, -1"]
    lines += [f"v_mov_b32 v{4 + i}, s{s}" for i, s in enumerate((20, 21, 22, 24, 25))]
    return "\n".join(lines)


@cache
def operands() -> list[list[int]]:
    random = np.random.default_rng(3)
    cases = []
    for case in range(CASES):
        values = [int(value) for value in random.integers(0, 1 << 64, 3, dtype=np.uint64)]
        for slot in range(2):
            if case < 12:
                values[slot] = int(np.float32(random.standard_normal() * 20).view(np.uint32)) | values[slot] & ~M32
            elif case < 20:
                values[slot] = values[slot] & ~0xFFFF | int(np.float16(random.standard_normal() * 9).view(np.uint16))
            elif case < 36:
                special = (0, 1, M32, 0x80000000, 0x7FFFFFFF, 31, 0x00100004, 0x7F800000, 0x7FC00000, 0x00000007, 0x80000001, 0x7C00)
                values[slot] = special[(case * (slot + 1) + slot) % len(special)] | (values[slot] & ~M32 if case % 2 else 0)
        if case in (40, 41):
            values[0] = values[1]
        cases.append(values)
    return cases


def run(target: str, mode: int) -> tuple[list[tuple[str, str]], np.ndarray, dict[str, str]]:
    """The instructions, the words [case][instruction][8] that each gives, and what LLVM refuses."""
    rows = rows_of(target)
    codes, refused = assemble_each([text_of(mnemonic, name) for mnemonic, name in rows], target, 64)
    kept = [index for index in range(len(rows)) if index not in refused]
    late = target not in (*GCN, "gfx1010", "gfx1030")
    load, store, one = (("s_load_b64", "global_store_b128", "global_store_b32") if late
                        else ("s_load_dwordx2", "global_store_dwordx4", "global_store_dword"))
    add = "v_add_u32" if target in GCN else "v_add_nc_u32"
    group = "ttmp9" if target == "gfx1200" else "s4"
    size = len(kept) * 32
    head = [f"s_mul_i32 s5, {group}, 24", "s_add_u32 s0, s0, s5", "s_addc_u32 s1, s1, 0", f"s_mul_i32 s5, {group}, {size}", "v_mov_b32 v0, s5"]
    head += [f"{load} s[{8 + 2 * i}:{9 + 2 * i}], s[0:1], {8 * i:#x}" for i in range(3)]
    head.append("s_wait_kmcnt 0x0" if target == "gfx1200" else "s_waitcnt lgkmcnt(0)")
    tail = [f"{store} v0, v[4:7], s[2:3]", f"{one} v0, v8, s[2:3] offset:16", f"{add} v0, 32, v0"]
    (prologue, between, end), errors = assemble_each(["\n".join(head), "\n".join(tail), "s_endpgm"], target, 64)
    assert not errors, errors
    device = Device(target, "reference")
    source = device.buffer(np.array(operands(), np.uint64))
    results = device.buffer(np.zeros((CASES, len(kept), 8), np.uint32))
    user = [word for buffer in (source, results) for word in (buffer.address & M32, buffer.address >> 32)]
    device.run(prologue + b"".join(codes[index] + between for index in kept) + end, (CASES, 1, 1), (64, 1, 1), user_sgprs=user,
               wave_size=64, workgroup_ids=(True, False, False), float_mode=mode)
    return [rows[index] for index in kept], results.numpy(), {rows[number][0]: text for number, text in refused.items()}


def failures(target: str, mode: int, floats: bool) -> list[str]:
    """What differs from the models, of all instructions or of those on floats."""
    alu_models.mode = mode
    rows, results, refused = run(target, mode)
    wrong, count = [], 0
    for position, (mnemonic, name) in enumerate(rows):
        if floats and not re.search(r"_f(16|32)", name):
            continue
        count += 1
        for case, (a, b, old) in enumerate(operands()):
            words = [int(word) for word in results[case, position]]
            problem = difference(name, a, b, old, words, mode)
            if problem:
                wrong.append(f"{mnemonic} {a:#x} {b:#x} {old:#x}: {[hex(word) for word in words[:5]]}, expected {problem}")
                break
    print(f"{target} MODE {mode:#04x}: {count} scalar mnemonics")
    assert count and not refused, refused
    return wrong


@pytest.mark.parametrize("target", TARGETS)
def test_values(target: str) -> None:
    wrong = failures(target, 0xF0, floats=False)
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("mode", [0x00, 0xC0, 0x30, 0xD0, 0xE0, 0x70, 0xB0, 0xF5, 0xFA, 0xFF, 0xF9])
@pytest.mark.parametrize("target", ["gfx1150", "gfx1200"])
def test_mode(target: str, mode: int) -> None:
    """Scalar floats round and flush as MODE says."""
    wrong = failures(target, mode, floats=True)
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:40])


def difference(name: str, a: int, b: int, old: int, words: list[int], mode: int) -> str:
    """What was expected, where a case differs from it."""
    scc = old & 1
    kinds, bits, model = kinds_of(name)
    got = words[0] | words[1] << 32
    exec_after = words[3] | words[4] << 32
    if model is not None:
        flush = not mode & 0x10, not mode & 0x40
        kind = model.results[0]
        rounding = mode >> 2 & 3 if kind == "f16" else mode & 3
        values = [value(kind, bits_, *flush) for kind, bits_ in zip(model.sources, (a, b), strict=False)]
        if model.sources[-1].startswith("old_"):
            values = [*values[: len(kinds)], value(model.sources[-1], old, *flush)]
        wanted = model.function(*values, *([rounding] if model.uses_rounding else []))
        if kind == "scc":
            return "" if words[2] == int(wanted) else f"SCC {wanted}"
        if kind == "f16x2":
            pairs = [(got >> s & 0xFFFF, wanted >> s & 0xFFFF) for s in (0, 16)]
            return "" if all(x == y or (is_nan("f16", x) and is_nan("f16", y)) for x, y in pairs) else hex(wanted)
        if kind in FORMATS:
            got &= (1 << int(kind[1:])) - 1
            wanted = encode(kind, wanted, rounding, not mode & (0x20 if kind == "f32" else 0x80))
            return "" if got == wanted or (is_nan(kind, got) and is_nan(kind, wanted)) else hex(wanted)
        mask = (1 << int(kind[1:])) - 1
        return "" if got & mask == int(wanted) & mask else hex(int(wanted) & mask)
    function = SCALARS[name][2]
    mask = (1 << bits) - 1
    if isinstance(function, tuple):                         # operations with EXEC
        before = b
        fresh = function[1](a & mask, b & mask) & mask
        wanted_exec = before & ~mask | fresh
        wanted = before & mask if function[0] == "save" else fresh
        after = int(fresh != 0)
        return "" if (got & mask, exec_after, words[2]) == (wanted, wanted_exec, after) else f"{wanted:#x} EXEC {wanted_exec:#x} SCC {after}"
    values = [value(kind, word, False, False) for kind, word in zip(kinds, (a, b), strict=False)]
    values += [0] * (2 - len(values))
    wanted, after = function(*values, old & mask if bits else old, scc)
    after = scc if after is None else after
    return "" if (got & mask, words[2]) == (wanted & mask, after) else f"{wanted & mask:#x} SCC {after}"
