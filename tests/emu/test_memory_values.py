"""Every memory instruction of every generation: what it leaves in registers and in memory, against models by its name."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from alu_models import least, most, signed
from exact_floats import decode, encode, total
from machine_code import EARLY, assemble_each
from test_alu_values import GCN, TARGETS

from pyaco.emu import Device
from pyaco.isa import opcodes

LANES, SLOT = 32, 64                  # bytes of memory for each lane
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
WIDTHS = {"ubyte": (1, False), "sbyte": (1, True), "byte": (1, False), "ushort": (2, False), "sshort": (2, True), "short": (2, False),
          "u8": (1, False), "i8": (1, True), "b8": (1, False), "u16": (2, False), "i16": (2, True), "b16": (2, False)}  # fmt: skip


# the new value from the old one, the datum, and a second datum
Atomic = Callable[[int, int, int], int]


def float_atomic(kind: str, function: Callable[[float, float], Any]) -> Atomic:
    return lambda old, data, other: encode(kind, function(decode(kind, old), decode(kind, data)))


def packed_atomic(kind: str) -> Atomic:
    def add(old: int, data: int, other: int) -> int:
        parts = [encode(kind, total([(decode(kind, old >> s & 0xFFFF), 1.0), (decode(kind, data >> s & 0xFFFF), 1.0)])) for s in (0, 16)]
        return parts[0] | parts[1] << 16
    return add


def atomic_model(operation: str, bits: int) -> Atomic | None:
    """The new value from the old one, the datum, and a second datum."""
    mask = (1 << bits) - 1

    def number(value: int) -> int:
        return signed(value, bits)

    def same(old: int, other: int) -> bool:
        return decode(f"f{bits}", old) == decode(f"f{bits}", other)

    models: dict[str, Atomic] = {
        "add": lambda old, data, other: old + data & mask, "sub": lambda old, data, other: old - data & mask,
        "rsub": lambda old, data, other: data - old & mask, "inc": lambda old, data, other: 0 if old >= data else old + 1,
        "dec": lambda old, data, other: data if old == 0 or old > data else old - 1,
        "smin": lambda old, data, other: min(old, data, key=number), "smax": lambda old, data, other: max(old, data, key=number),
        "umin": lambda old, data, other: min(old, data), "umax": lambda old, data, other: max(old, data),
        "and": lambda old, data, other: old & data, "or": lambda old, data, other: old | data, "xor": lambda old, data, other: old ^ data,
        "swap": lambda old, data, other: data, "cmpswap": lambda old, data, other: data if old == other else old,
        "fcmpswap": lambda old, data, other: data if same(old, other) else old,
        "mskor": lambda old, data, other: old & ~data & mask | other, "wrap": lambda old, data, other: old - data if old >= data else
        old + other & mask, "csub": lambda old, data, other: max(old - data, 0), "sub_clamp": lambda old, data, other: max(old - data, 0),
        "cond_sub_u32": lambda old, data, other: old - data if old >= data else old,
        "fmin": float_atomic(f"f{bits}", least), "fmax": float_atomic(f"f{bits}", most),
        "fadd": float_atomic(f"f{bits}", lambda a, b: total([(a, 1.0), (b, 1.0)])),
        "pk_add_f16": packed_atomic("f16"), "pk_add_bf16": packed_atomic("bf16"),
        "ordered_add_b64": lambda old, data, other: ((old >> 32) + (data >> 32) & M32) << 32 | (old + 1 & M32) if (old ^ data) & M32 == 0 else old,
    }  # fmt: skip
    return models.get(operation)


class Access:
    """What the name of an instruction says."""

    def __init__(self, name: str) -> None:
        self.kind, self.width, self.signed, self.count, self.half, self.operation = "", 4, False, 1, "", ""
        self.pair, self.returns, self.format, self.second = 0, False, False, False
        family, rest = name.split("_", 1)
        rest = re.sub(r"^buffer_", "", rest) if family == "s" else rest
        rest = re.sub(r"^scratch_", "", rest) if family == "s" else rest
        if match := re.fullmatch(r"atomic_(.*?)(_x2)?", rest):
            self.kind, self.operation, self.width = "atomic", match[1], 8 if match[2] or match[1].endswith("64") else 4
            self.operation = {"add_f32": "fadd", "add_f64": "fadd", "min_f64": "fmin", "max_f64": "fmax"}.get(self.operation, self.operation)
        elif family == "ds":
            self.lds(rest)
        elif match := re.fullmatch(r"(load|store)_format_(d16_)?(hi_)?(x|xy|xyz|xyzw)", rest):
            self.kind, self.format, self.count = match[1], True, len(match[4])
            self.half = "" if not match[2] else "high" if match[3] else "packed"
        elif match := re.fullmatch(r"(load|store)_(\w+)", rest):
            self.kind = match[1]
            self.data(match[2])

    def data(self, what: str) -> None:
        self.half = "high" if what.endswith("_d16_hi") else "low" if what.endswith("_d16") else ""
        what = re.sub(r"_d16(_hi)?$", "", what)
        if match := re.fullmatch(r"dword(?:x(\d+))?|b(32|64|96|128)", what):
            self.count = int(match[2]) // 32 if match[2] else int(match[1] or 1)
        elif what in WIDTHS:
            self.width, self.signed = WIDTHS[what]
        else:
            self.kind = ""

    def lds(self, rest: str) -> None:
        if match := re.fullmatch(r"(read|write)2(st64)?_b(32|64)", rest):
            self.kind, self.pair, self.count = match[1], 64 if match[2] else 1, int(match[3]) // 32
        elif match := re.fullmatch(r"(read|write)_(?!addtid|src2)(\w+)", rest):
            self.kind = match[1]
            self.data(match[2])
        elif match := re.fullmatch(r"(\w+?)(2st64|2)?(_src2)?(_rtn)?_([biuf])(f16|16|32|64)", rest):
            stem, kind = match[1], match[5]
            self.kind, self.width = "atomic", 8 if match[6] == "64" else 4
            self.pair = {"2": 1, "2st64": 64}.get(match[2] or "", 0)
            self.second, self.returns = bool(match[3]), bool(match[4])
            if stem in ("min", "max"):
                stem = {"i": "s", "u": "u", "f": "f"}[kind] + stem
            if stem == "pk_add":
                stem = f"pk_add_{kind}{match[6]}"
            names = {"wrxchg": "swap", "cmpst": "fcmpswap" if kind == "f" else "cmpswap", "write": "swap",
                     "cond_sub": "cond_sub_u32", "add": "fadd" if kind == "f" else "add"}  # fmt: skip
            self.operation = names.get(stem, stem)
        self.kind = {"read": "load", "write": "store"}.get(self.kind, self.kind)


def registers(first: int, count: int, letter: str = "v") -> str:
    return f"{letter}{first}" if count == 1 else f"{letter}[{first}:{first + count - 1}]"


def text_of(mnemonic: str, name: str, access: Access, target: str) -> str:
    """Data come from v8 on, results go to v20 on; s[4:5] is the memory, s[8:11] a descriptor of it."""
    family = name.split("_")[0]
    count = (access.count + 1) // 2 if access.half == "packed" else access.count
    count = access.width // 4 if access.kind == "atomic" else count
    two = access.operation in ("cmpswap", "fcmpswap")
    data = registers(8, 2 * count if two else count)
    result = registers(20, count)
    returns = {"gfx1200": " th:TH_ATOMIC_RETURN", "gfx942": " sc0", "gfx950": " sc0"}.get(target, " glc")
    if family == "ds":
        return lds_text(mnemonic, access, count)
    where = {"global": ("v1", "s[4:5]"), "flat": ("v[2:3]", ""), "scratch": ("v31", "off"),
             "buffer": ("v1", "s[8:11], " + ("null" if target == "gfx1200" else "0")),
             "tbuffer": ("v1", "s[8:11], " + ("null" if target == "gfx1200" else "0"))}[family]  # fmt: skip
    if family in ("buffer", "tbuffer"):
        form = "" if family == "buffer" else tbuffer_format(access, target)
        flags = (f" {form}" if form else "") + " offen" + (returns if access.kind == "atomic" else "")
        if access.kind == "atomic":                         # gives the old value back where the datum was
            result = registers(20, 2 * count if two else count)
        return f"{mnemonic} {data if access.kind == 'store' else result}, {where[0]}, {where[1]}{flags}"
    tail = f", {where[1]}" if where[1] else ""
    if access.kind == "load":
        return f"{mnemonic} {result}, {where[0]}{tail}"
    if access.kind == "store":
        return f"{mnemonic} {where[0]}, {data}{tail}"
    return f"{mnemonic} {result}, {where[0]}, {data}{tail}{returns}"


def tbuffer_format(access: Access, target: str) -> str:
    """Whole dwords, or halves where the registers hold halves."""
    size = "16" if access.half else "32"
    parts = "_".join([size] * (4 if access.count == 3 and size == "16" else access.count))
    if target in GCN:
        return f"format:[BUF_DATA_FORMAT_{parts},BUF_NUM_FORMAT_{'FLOAT' if access.half else 'UINT'}]"
    return f"format:[BUF_FMT_{parts}_{'FLOAT' if access.half else 'UINT'}]"


def lds_text(mnemonic: str, access: Access, count: int) -> str:
    data, second = registers(8, count), registers(12, count)
    if access.kind == "load":
        return f"{mnemonic} {registers(20, 2 * count if access.pair else count)}, v1" + (" offset0:1 offset1:0" if access.pair else " offset:4")
    if access.second:
        return f"{mnemonic} v1 offset:2"
    operands = ["v1", data]
    if access.pair or access.operation in ("cmpswap", "fcmpswap", "mskor", "wrap"):
        operands.append(second)
    if access.returns:
        operands.insert(0, registers(20, 2 * count if access.pair else count))
    return f"{mnemonic} {', '.join(operands)}" + (" offset0:1 offset1:0" if access.pair else " offset:4")


@cache
def rows_of(target: str) -> list[tuple[str, str, Access]]:
    generation, found = TARGETS[target], []
    for row in opcodes.rows():
        if generation not in row.numbers or row.format not in ("mubuf", "mtbuf", "flat", "global", "scratch", "ds"):
            continue
        access = Access(row.name)
        known = access.kind in ("load", "store") or (access.kind == "atomic" and atomic_model(access.operation, 8 * access.width))
        if known and "lds" not in row.name:
            found.append((row.spelling(generation), row.name, access))
    return found


@cache
def format_bits(text: str, target: str) -> int:
    """The number of a format where a descriptor has it, from LLVM's encoding of an instruction that has it too."""
    offset = "null" if target == "gfx1200" else "0"
    (code,), errors = assemble_each([f"tbuffer_load_format_x v0, off, s[0:3], {offset} {text}"], target)
    assert not errors, errors
    words = struct.unpack_from("<2I", code)
    if target in GCN:
        return (words[0] >> 23 & 7) << 12 | (words[0] >> 19 & 15) << 15
    return (words[1] >> 23 & 127 if target == "gfx1200" else words[0] >> 19 & 127) << 12


def descriptor(address: int, size: int, target: str, access: Access) -> list[int]:
    """A raw buffer of bytes, with a format for the instructions that take it from there."""
    word3 = 4 | 5 << 3 | 6 << 6 | 7 << 9 | (0 if target in GCN else 3 << 28)
    word3 |= format_bits(tbuffer_format(access if access.format else Access("buffer_load_format_x"), target), target)
    return [address & M32, address >> 32 & 0xFFFF, size, word3]


def frame(target: str, family: str) -> tuple[str, str]:
    """Loads of the data and the old contents; stores of v20 to v27, and of the memory that is not device memory."""
    late, twelve = target not in (*GCN, "gfx1010", "gfx1030"), target == "gfx1200"
    load, store = ("global_load_b128", "global_store_b128") if late else ("global_load_dwordx4", "global_store_dwordx4")
    wait = "s_wait_idle" if twelve else "s_waitcnt vmcnt(0) lgkmcnt(0)"
    carry = "vcc" if target in GCN else "vcc_lo"
    add, with_carry = ("v_add_co_u32", "v_addc_co_u32") if target in GCN else ("v_add_co_u32", "v_add_co_ci_u32")
    head = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 6, v0", "v_mov_b32 v31, 16",
            f"{add} v2, {carry}, s4, v1", "v_mov_b32 v3, s5", f"{with_carry} v3, {carry}, 0, v3, {carry}"]  # fmt: skip
    head += [f"{load} v[{8 + 4 * i}:{11 + 4 * i}], v1, s[6:7] offset:{16 * i}" for i in range(2)]
    head += [f"{load} v[{20 + 4 * i}:{23 + 4 * i}], v1, s[6:7] offset:{32 + 16 * i}" for i in range(2)]
    head.append(wait)
    tail = [wait]
    tail += [f"{store} v1, v[{20 + 4 * i}:{23 + 4 * i}], s[12:13] offset:{16 * i}" for i in range(2)]
    lds_write, lds_read = ("ds_store_b32", "ds_load_b32") if late else ("ds_write_b32", "ds_read_b32")
    part = ("scratch_store_b32", "scratch_load_b32") if late else ("scratch_store_dword", "scratch_load_dword")
    if family in ("ds", "scratch"):
        # the memory's own contents, from device memory, and back
        for i in range(4):
            head.append(f"{load} v[{40 + 4 * i}:{43 + 4 * i}], v1, s[4:5] offset:{16 * i}")
        head += [wait, "v_mov_b32 v32, 0"]
        for i in range(16):
            head.append(f"{lds_write} v1, v{40 + i} offset:{4 * i}" if family == "ds" else f"{part[0]} v32, v{40 + i}, off offset:{4 * i}")
            tail.append(f"{lds_read} v{40 + i}, v1 offset:{4 * i}" if family == "ds" else f"{part[1]} v{40 + i}, v32, off offset:{4 * i}")
        head.append(wait)
        tail.append(wait)
        tail += [f"{store} v1, v[{40 + 4 * i}:{43 + 4 * i}], s[4:5] offset:{16 * i}" for i in range(4)]
    return "\n".join(head), "\n".join([*tail, "s_endpgm"])


@cache
def contents() -> tuple[np.ndarray, np.ndarray]:
    """Memory, and the registers v8 to v15 and v20 to v27, by lane; some lanes hold equal words, and floats."""
    random = np.random.default_rng(77)
    memory, data = (random.integers(0, 1 << 32, (LANES, 16), dtype=np.uint64).astype(np.uint32) for _ in range(2))
    for lane in range(0, LANES, 2):
        memory[lane] = random.standard_normal(16).astype(np.float32).view(np.uint32)
        data[lane] = random.standard_normal(16).astype(np.float32).view(np.uint32)
    for lane in range(0, LANES, 5):
        data[lane, :8] = np.tile(memory[lane, :2], 4)
        data[lane + 1, :8] = np.tile(memory[lane + 1, 1:3], 4)
        data[lane + 1, 2:6] = np.tile(memory[lane + 1, 1:3], 2) if lane % 2 else np.tile(memory[lane + 1, 4:6], 2)
    memory[7, :], data[7, :] = 5, 9
    return memory, data


def expected_of(access: Access, family: str, memory: bytearray, base: int, data: list[int], target: str) -> list[int]:
    """Changes the memory of all lanes for the one whose slot is at `base`; returns what its v20 to v27 hold."""
    result = list(data[8:])
    start = base + {"scratch": 16, "ds": 4}.get(family, 0)
    if access.format:
        return expected_of_format(access, memory, base, data, result, target)
    if access.kind == "atomic":
        bits, dwords = 8 * access.width, access.width // 4
        pieces = [(start, 0)] if not access.pair else [(base + access.width * access.pair, 0), (base, 4)]
        if access.second:
            pieces = [(base, 0)]
        model = atomic_model(access.operation, bits)
        for number, (offset, first) in enumerate(pieces):
            if offset + access.width > len(memory):         # LDS out of range: the old value is zero, nothing is stored
                result[number * dwords : (number + 1) * dwords] = [0] * dwords if access.returns else result[:dwords]
                continue
            old = int.from_bytes(memory[offset : offset + access.width], "little")
            held = data[8:] if family == "buffer" else data
            words = held[first : first + dwords]
            value = sum(word << 32 * i for i, word in enumerate(words))
            follow = 4 if family == "ds" else dwords
            other = sum(word << 32 * i for i, word in enumerate(held[follow : follow + dwords]))
            if family == "ds" and "cmpswap" in access.operation and target in (*GCN, "gfx1010", "gfx1030"):
                value, other = other, value
            if access.second:
                value = int.from_bytes(memory[base + 8 : base + 8 + access.width], "little")
            assert model is not None, access.operation
            fresh = model(old, value, other)
            memory[offset : offset + access.width] = fresh.to_bytes(access.width, "little")
            if access.returns or family != "ds":
                for i in range(dwords):
                    result[number * dwords + i] = old >> 32 * i & M32
        return result
    pieces = [(start, 0)] if not access.pair else [(base + 4 * access.count * access.pair, 0), (base, 4)]
    for number, (offset, first) in enumerate(pieces):
        for i in range(access.count):
            at = offset + 4 * i
            if at + access.width > len(memory):
                if access.kind == "load":
                    result[number * access.count + i] = 0
                continue
            if access.kind == "store":
                word = data[first + i] >> (16 if access.half == "high" else 0)
                memory[at : at + access.width] = (word & (1 << 8 * access.width) - 1).to_bytes(access.width, "little")
                continue
            word = int.from_bytes(memory[at : at + access.width], "little", signed=access.signed) & M32
            place = number * access.count + i
            old = result[place]
            result[place] = {"": word, "low": old & 0xFFFF0000 | word & 0xFFFF, "high": old & 0xFFFF | (word & 0xFFFF) << 16}[access.half]
    return result


def expected_of_format(access: Access, memory: bytearray, base: int, data: list[int], result: list[int], target: str) -> list[int]:
    size = 2 if access.half else 4
    missing = data[0] & 0xFFFF if target.startswith("gfx12") else 0    # LLVM: hasDefaultComponentBroadcast
    stored = 4 if access.half and access.count == 3 else access.count  # there is no format of three halves
    for i in range(stored):
        if access.half and i < access.count:
            register, shift = (0, 16) if access.half == "high" else (i // 2, 16 * (i % 2))
        else:
            register, shift = i, 0
        at = base + i * size
        if access.kind == "store":
            word = data[register] >> shift & (1 << 8 * size) - 1 if i < access.count else missing
            memory[at : at + size] = word.to_bytes(size, "little")
        elif i < access.count:
            word = int.from_bytes(memory[at : at + size], "little")
            if access.half:
                word = result[register] & ~(0xFFFF << shift) | word << shift
            result[register] = word
    return result


def same_words(left: list[int], right: list[int], halves: bool) -> bool:
    """Equal, or NaNs of halves, which conversions quiet."""
    for a, b in zip(left, right, strict=True):
        for shift in (0, 16) if halves else ():
            x, y = a >> shift & 0xFFFF, b >> shift & 0xFFFF
            if x & 0x7FFF > 0x7C00 and y & 0x7FFF > 0x7C00:
                a, b = a & ~(0xFFFF << shift), b & ~(0xFFFF << shift)
        if a != b and not (a & 0x7FFFFFFF > 0x7F800000 and b & 0x7FFFFFFF > 0x7F800000):
            return False
    return True


@pytest.mark.parametrize("target", TARGETS)
def test_values(target: str) -> None:
    rows = rows_of(target)
    codes, refused = assemble_each([text_of(mnemonic, name, access, target) for mnemonic, name, access in rows], target)
    families = ("ds", "scratch", "global") if target not in EARLY else ("ds", "global", "global")
    frames, errors = assemble_each([text for family in families for text in frame(target, family)], target)
    assert not errors, errors
    device = Device(target, "reference")
    memory, data = contents()
    wrong = []
    for number, (mnemonic, name, access) in enumerate(rows):
        if number in refused:
            continue
        family = name.split("_")[0]
        place = families.index(family) if family in families else 2
        contents_, values = device.buffer(memory), device.buffer(data)
        results = device.buffer(np.zeros((LANES, 16), np.uint32))
        user = [0] * 14
        for first, buffer in ((4, contents_), (6, values), (12, results)):
            user[first], user[first + 1] = buffer.address & M32, buffer.address >> 32
        user[8:12] = descriptor(contents_.address, contents_.size, target, access)
        size = 64 if target in GCN else 32
        device.run(frames[2 * place] + codes[number] + frames[2 * place + 1], (1, 1, 1), (LANES, 1, 1), user_sgprs=user, wave_size=size,
                   lds_bytes=LANES * SLOT, scratch_bytes_per_lane=SLOT, float_mode=0xF0)
        image = bytearray(memory.tobytes())
        halves = bool(access.half and access.format) or access.operation.startswith("pk_")
        wanted = [expected_of(access, family, image, lane * SLOT, [int(word) for word in data[lane]], target) for lane in range(LANES)]
        for lane in range(LANES):
            got = [int(word) for word in results.numpy()[lane, :8]]
            after = [int(word) for word in contents_.numpy()[lane]]
            there = list(struct.unpack_from("<16I", image, lane * SLOT))
            if not same_words(got, wanted[lane], halves) or not same_words(after, there, halves):
                shown = [[hex(word) for word in words] for words in (got, wanted[lane], after, there)]
                wrong.append(f"{mnemonic} lane {lane}: registers {shown[0]}, expected {shown[1]}; memory {shown[2]}, expected {shown[3]}")
                break
    print(f"{target}: {len(rows) - len(refused)} memory mnemonics")
    assert not wrong, f"{len(wrong)} of {len(rows)}\n" + "\n".join(wrong[:30])
    # LLVM has neither GFX6's subtraction with its operands exchanged nor RDNA 3.5's flat_atomic_csub_u32
    assert not {rows[number][0]: text for number, text in refused.items() if not re.search("_rsub|flat_atomic_csub", rows[number][0])}
