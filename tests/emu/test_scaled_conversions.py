"""CDNA 4's conversions with a scale or a random number, V_BITOP3 and V_PRNG, against tables of every number of the narrow formats."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from exact_floats import decode, encode
from machine_code import assemble_text

from pyaco.emu import Device
from pyaco.isa import opcodes

TARGET, LANES = "gfx950", 64
M32 = 0xFFFFFFFF
#: bits of exponent and mantissa, and the bias
SMALL = {"fp8": (4, 3, 7), "bf8": (5, 2, 15), "fp6": (2, 3, 1), "bf6": (3, 2, 3), "fp4": (2, 1, 1)}
WIDTH = {"f32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}
NAN = {"f16": 0x7E00, "bf16": 0x7FC0, "fp8": 0x7F, "bf8": 0x7F, "fp6": 0x1F, "bf6": 0x1F, "fp4": 7}
NAMES = [row.name for row in opcodes.rows() if "cdna4" in row.numbers and re.match(r"v_cvt_(scalef32|sr_b?f16)", row.name)]
MNEMONICS = (*NAMES, "v_bitop3_b32", "v_bitop3_b16", "v_prng_b32", "v_permlane16_swap_b32", "v_permlane32_swap_b32")


@cache
def magnitudes(kind: str) -> list[Fraction]:
    """Every finite magnitude of a format, by its code."""
    if kind in ("f16", "bf16"):
        values = [decode(kind, bits) for bits in range(1 << 15)]
        return [Fraction(value) for value in values if not math.isnan(value) and not math.isinf(value)]
    exponents, mantissa, bias = SMALL[kind]
    top = {"fp8": 0x7F, "bf8": 0x7C}.get(kind, 1 << exponents + mantissa)
    found = []
    for code in range(top):
        exponent, rest = code >> mantissa, code & (1 << mantissa) - 1
        found.append(Fraction(rest + ((1 << mantissa) if exponent else 0), 1 << mantissa) * Fraction(2) ** (max(exponent, 1) - bias))
    return found


def value_of(kind: str, bits: int) -> float:
    if kind in ("f32", "f16", "bf16"):
        return decode(kind, bits)
    top = 1 << WIDTH[kind] - 1
    code = bits & top - 1
    sign = -1.0 if bits & top else 1.0
    if (kind == "fp8" and code == 0x7F) or (kind == "bf8" and code > 0x7C):
        return math.nan
    return sign * (math.inf if kind == "bf8" and code == 0x7C else float(magnitudes(kind)[code]))


def narrow(kind: str, value: float, scale: Fraction | None, random: int | None) -> int:
    """The code of a number: the nearest, ties to even, or the one below or above it by chance."""
    sign = (math.copysign(1, value) < 0) << WIDTH[kind] - 1
    infinite = {"f16": 0x7C00, "bf16": 0x7F80, "fp8": 0x7F, "bf8": 0x7C}.get(kind, len(magnitudes(kind)) - 1)
    if math.isnan(value) or scale is None:
        return NAN[kind]
    if math.isinf(value):
        return sign | infinite
    table = magnitudes(kind)
    size = abs(Fraction(value)) / scale
    step = table[-1] - table[-2]
    below = bisect_right(table, size) - 1
    if size >= table[-1]:                                   # as if the format went on
        below += int((size - table[-1]) // step)
        low, high = table[-1] + step * (below - len(table) + 1), table[-1] + step * (below - len(table) + 2)
    else:
        low, high = table[below], table[below + 1]
    share = (size - low) / (high - low)
    if random is not None:
        code = below + (share + Fraction(random, 1 << 32) >= 1)
    else:
        code = below + (share > Fraction(1, 2) or (share == Fraction(1, 2) and below % 2))
    return sign | (code if code < len(table) else infinite)


def prng(value: int) -> int:
    return (value << 1 & M32) ^ (197 if value >> 31 else 0)


class Conversion:
    """What a name says."""

    def __init__(self, name: str) -> None:
        match = re.fullmatch(r"v_cvt_(scalef32_)?(sr_)?(pk_|pk8_|pk16_|pk32_|2xpk16_)?(\w+)_(\w+)", name)
        assert match is not None
        self.scaled, self.random, self.target, self.source = bool(match[1]), bool(match[2]), match[4], match[5]
        self.count = {None: 1, "pk_": 2, "pk8_": 8, "pk16_": 16}.get(match[3], 32)
        self.interleaved = match[3] == "2xpk16_"
        self.widens = WIDTH[self.target] > WIDTH[self.source]
        self.pair = self.count == 2 and self.source == "f32" and not (self.random and self.scaled)

    def registers(self, kind: str) -> int:
        return -(-self.count * WIDTH[kind] // 32)


def fields(words: list[int], width: int, count: int, first: int = 0) -> list[int]:
    whole = sum(word << 32 * i for i, word in enumerate(words)) >> first
    return [whole >> width * i & (1 << width) - 1 for i in range(count)]


def expected(kind: Conversion, operands: list[list[int]], old: list[int], opsel: int, sign: tuple[int, int]) -> list[int]:
    """The destination's registers of one lane."""
    scale = None
    if kind.scaled:
        exponent = operands[-1][0] >> 23 & 255
        scale = Fraction(2) ** (exponent - 127) if exponent < 255 else None
    read, written = kind.count * WIDTH[kind.source], kind.count * WIDTH[kind.target]
    start = {8: 8 * (opsel & 3), 16: 16 * (opsel & 1)}.get(read, 0) if kind.widens else 0
    place = {8: 8 * (opsel >> 2), 16: 16 * (opsel >> 3)}.get(written, 0)
    if kind.interleaved:
        left, right = (fields(words, 32, 16) for words in operands[:2])
        bits = [code for both in zip(left, right, strict=True) for code in both]
    elif kind.pair:
        bits = [operands[0][0], operands[1][0]]
    else:
        bits = fields(operands[0], WIDTH[kind.source], kind.count, start)
    random = operands[-1 - kind.scaled][0] if kind.random else None
    result = sum(word << 32 * i for i, word in enumerate(old))
    for i, code in enumerate(bits):
        value = value_of(kind.source, code)
        if not (kind.pair and i):                           # the sign is on the first operand
            value = abs(value) if sign[0] else value
            value = -value if sign[1] else value
        if not kind.widens:
            new = narrow(kind.target, value, scale if kind.scaled else Fraction(1), random)
            random = None if random is None else prng(random)
        elif scale is None or math.isnan(value):
            new = {"f32": 0x7FC00000}.get(kind.target) or NAN[kind.target]
        else:
            new = encode(kind.target, value if math.isinf(value) or value == 0 else Fraction(value) * scale)
        width = WIDTH[kind.target]
        result = result & ~((1 << width) - 1 << place + i * width) | new << place + i * width
    return [result >> 32 * i & M32 for i in range(len(old))]


def execute(text: str, rows: np.ndarray, results: int, engine: str) -> np.ndarray:
    """v16 on come from `rows`, v100 on are stored; all but lane 63 are active."""
    device = Device(TARGET, engine, 1)
    source, output = device.buffer(rows), device.zeros(results * LANES * 4)
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v0, 2, v0"]
    for row in range(len(rows)):
        lines += [f"s_add_u32 s10, s0, {row * 4 * LANES}", "s_addc_u32 s11, s1, 0", f"global_load_dword v{16 + row}, v0, s[10:11]"]
    lines += ["s_waitcnt vmcnt(0)", *(f"v_mov_b32 v{100 + row}, v{16 + row}" for row in range(results)),
              "s_mov_b64 s[12:13], exec", "s_bitset0_b64 exec, 63", text, "s_mov_b64 exec, s[12:13]"]
    for row in range(results):
        lines += [f"s_add_u32 s10, s2, {row * 4 * LANES}", "s_addc_u32 s11, s3, 0", f"global_store_dword v0, v{100 + row}, s[10:11]"]
    user = [word for buffer in (source, output) for word in (buffer.address & M32, buffer.address >> 32)]
    device.run(assemble_text("\n".join([*lines, "s_endpgm"]), TARGET), (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=64, float_mode=0xF0)
    return output.numpy().view(np.uint32).reshape(results, LANES)


def inputs(kind: Conversion, rows: int) -> np.ndarray:
    """Numbers around the target's range, every code, infinities, NaNs; the scale comes last."""
    random = np.random.default_rng(len(kind.source) * 7 + rows)
    values = random.integers(0, 1 << 32, (rows, LANES), dtype=np.uint64).astype(np.uint32)
    if kind.source in ("f32", "f16", "bf16"):
        some = (random.standard_normal((rows, LANES)) * 2.0 ** random.integers(-9, 9, (rows, LANES))).astype(np.float32)
        words = some.view(np.uint32)
        if kind.source != "f32":
            halves = some.astype(np.float16).view(np.uint16).astype(np.uint32) if kind.source == "f16" else words >> 16
            words = (halves | np.roll(halves, 1, 1) << 16).astype(np.uint32)
        values = np.where(random.random((rows, LANES)) < 0.8, words, values)
        ties = {"f32": [0x3F800000, 0x3FC00000, 0x3FA00000, 0x40A00000, 0x3E800000, 0x7F800000, 0xFF800001, 0x80000000, 1],
                "f16": [0x3E003C00, 0x7C00BE00, 0x7C013D00, 0x00018000, 0x42003400, 0x41004300, 0xFC00FE00, 0x7BFF0400, 0x2E003000],
                "bf16": [0x3FC03F80, 0x7F80BFC0, 0x7F813FA0, 0x00018000, 0x40404080, 0x40204060, 0xFF80FFC0, 0x7F7F0080, 0x3E403E80]}[kind.source]
        values[:, 40 : 40 + len(ties)] = ties
    return values


def span(first: int, count: int) -> str:
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


def case(name: str, opsel: int, engine: str, sign: tuple[int, int] = (0, 0)) -> None:
    kind = Conversion(name)
    counts = [16, 16] if kind.interleaved else [1, 1] if kind.pair else [kind.registers(kind.source)]
    extra = [1] * (kind.random + kind.scaled)
    rows = inputs(kind, sum(counts) + len(extra))
    if kind.random:
        rows[-1 - kind.scaled] = np.random.default_rng(3).integers(0, 1 << 32, LANES, dtype=np.uint64)
    if kind.scaled:
        rows[-1] = [(127 if lane % 3 else (lane * 5 + 90) & 255) << 23 | lane for lane in range(LANES)]
        rows[-1, 9], rows[-1, 10] = 0x7F800000, 0x00400000
    firsts = [16 + sum((counts + extra)[:i]) for i in range(len(counts + extra))]
    texts = [span(first, count) for first, count in zip(firsts, counts + extra, strict=True)]
    texts[0] = f"{'-' if sign[1] else ''}{'|' if sign[0] else ''}{texts[0]}{'|' if sign[0] else ''}"
    results = kind.registers(kind.target)
    row = {row.name: row for row in opcodes.rows()}[name]
    count = len(counts + extra)
    chosen = [opsel >> i & 1 for i in range(max(3, count))] + [opsel >> 3 & 1]
    if count == 2 and kind.count * WIDTH[kind.target] != 8:     # a third field is the destination's
        chosen = [opsel & 1, opsel >> 1 & 1, opsel >> 3 & 1]
    text = f"{row.spelling('cdna4')} {span(100, results)}, {', '.join(texts)}" + (f" op_sel:[{','.join(map(str, chosen))}]" if opsel else "")
    actual = execute(text, rows, results, engine)
    old = rows[:results] if results <= len(rows) else np.zeros((results, LANES), np.uint32)
    for lane in range(LANES):
        operands = [[int(word) for word in rows[first - 16 : first - 16 + n, lane]] for first, n in zip(firsts, counts + extra, strict=True)]
        before = [int(word) for word in old[:, lane]]
        wanted = expected(kind, operands, before, opsel, sign) if lane < 63 else before
        got = [int(word) for word in actual[:, lane]]
        if results > len(rows) and lane == 63:
            continue
        shown = [[hex(word) for word in words[:8]] for words in (*operands, got, wanted)]
        assert same(kind, got, wanted), (text, lane, shown)


def same(kind: Conversion, got: list[int], wanted: list[int]) -> bool:
    """Equal, or NaNs of either sign."""
    if got == wanted:
        return True
    width = WIDTH[kind.target]
    pairs = zip(fields(got, width, len(got) * 32 // width), fields(wanted, width, len(got) * 32 // width), strict=True)
    top = 1 << width - 1
    return all(a == b or (kind.target not in ("fp6", "bf6", "fp4") and math.isnan(value_of(kind.target, a)) and math.isnan(value_of(kind.target, b)))
               or (kind.target in ("fp6", "bf6", "fp4") and a & ~top == b & ~top == NAN[kind.target]) for a, b in pairs)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    case(name, 0, "reference")
    kind = Conversion(name)
    read, written = kind.count * WIDTH[kind.source], kind.count * WIDTH[kind.target]
    if kind.widens and read in (8, 16):
        for opsel in range(1, 4 if read == 8 else 2):
            case(name, opsel, "fast")
    if written in (8, 16):
        for opsel in (4, 8, 12) if written == 8 else (8,):
            case(name, opsel, "fast")
    if not kind.widens and kind.count < 32:
        case(name, 0, "fast", (0, 1))
        case(name, 0, "reference", (1, 1))


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_bits_by_a_truth_table(engine: str) -> None:
    rows = np.random.default_rng(4).integers(0, 1 << 32, (3, LANES), dtype=np.uint64).astype(np.uint32)
    for table in (0, 0xFF, 0xCA, 0x96, 0xE8, 0x01, 0x80, 0x35):
        a, b, c = (row.astype(np.uint64) for row in rows)
        wanted = np.zeros(LANES, np.uint64)
        for bit in range(32):
            entry = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)
            wanted |= (np.uint64(table) >> entry & 1) << np.uint64(bit)
        actual = execute(f"v_bitop3_b32 v100, v16, v17, v18 bitop3:{table:#x}", rows, 1, engine)
        assert (actual[0, :63] == wanted[:63]).all() and actual[0, 63] == rows[0, 63]
        low = execute(f"v_bitop3_b16 v100, v16, v17, v18 bitop3:{table:#x}", rows, 1, engine)
        assert (low[0, :63] == (rows[0, :63] & 0xFFFF0000 | wanted[:63].astype(np.uint32) & 0xFFFF)).all()
        high = execute(f"v_bitop3_b16 v100, v16, v17, v18 bitop3:{table:#x} op_sel:[1,1,1,1]", rows, 1, engine)
        assert (high[0, :63] == (wanted[:63].astype(np.uint32) & 0xFFFF0000 | rows[0, :63] & 0xFFFF)).all()


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_random_numbers_and_swaps_of_lanes(engine: str) -> None:
    rows = np.random.default_rng(6).integers(0, 1 << 32, (2, LANES), dtype=np.uint64).astype(np.uint32)
    actual = execute("v_prng_b32 v100, v17", rows, 1, engine)
    assert [int(word) for word in actual[0, :63]] == [prng(int(word)) for word in rows[1, :63]]
    for width in (16, 32):                                  # the last lane is off, and its partner with it
        both = execute(f"v_permlane{width}_swap_b32 v100, v101", rows, 2, engine)
        wanted = rows.copy()
        for lane in range(LANES):
            if not lane & width and lane + width != 63:
                wanted[0, lane + width], wanted[1, lane] = rows[1, lane], rows[0, lane + width]
        assert (both == wanted).all()
