"""NIR's ALU opcodes as Mesa has them: the table ``nir_op_infos`` and ``nir_eval_const_opcode`` of the package ``tinymesa`` (NIR of Mesa 25.2.7).

``python tests/oracle/mesa_opcodes.py`` writes the sample of values with which ``tests/nir/test_opcodes.py`` does without the package.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from opcode_rules import NOT_COMPARED, agree, is_defined

from pyaco._core.nir import evaluate
from pyaco.nir.opcodes import ALU_INFOS, AluInfo

SAMPLE = Path(__file__).parents[1] / "nir" / "opcode_values.txt"
RECORD, OPCODES = 56, 489
BASES = {2: "int", 4: "uint", 6: "bool", 128: "float"}
EVALUATE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p, ctypes.c_uint)


class MesaInfo(NamedTuple):
    """A row of ``nir_op_infos``."""

    number: int
    output_size: int
    output_type: str
    input_sizes: tuple[int, ...]
    input_types: tuple[str, ...]
    properties: int               # 1 commutative, 2 associative, 4 selection
    is_conversion: bool


def _type(number: int) -> str:
    size = number & 0x79
    return BASES[number & 0x86] + (str(size) if size else "")


class Mesa:
    """The library, and its table by name."""

    def __init__(self) -> None:
        spec = importlib.util.find_spec("tinymesa")
        assert spec is not None and spec.origin is not None
        self.library = ctypes.CDLL(str(Path(spec.origin).parent / "libtinymesa.so"))
        self.function = EVALUATE(("nir_eval_const_opcode", self.library))
        table = ctypes.addressof(ctypes.c_char.in_dll(self.library, "nir_op_infos"))
        self.infos: dict[str, MesaInfo] = {}
        for number in range(OPCODES):
            raw = ctypes.string_at(table + RECORD * number, RECORD)
            name = ctypes.string_at(int.from_bytes(raw[:8], "little")).decode()
            count = raw[8]
            self.infos[name] = MesaInfo(number, raw[9], _type(raw[10]), tuple(raw[11 : 11 + count]), tuple(map(_type, raw[27 : 27 + count])),
                                        int.from_bytes(raw[44:48], "little"), bool(raw[48]))
        self.storage = [(ctypes.c_uint64 * 16)() for _ in range(17)]
        self.pointers = (ctypes.c_void_p * 16)(*map(ctypes.addressof, self.storage[:16]))

    def value(self, name: str, bits: int, components: int, operands: list[list[int]]) -> list[int]:
        """Sixteen components of the result; those that the opcode does not have are anything."""
        for store, operand in zip(self.storage, operands, strict=False):
            for i, component in enumerate(operand):
                store[i] = component
        result = self.storage[16]
        self.function(self.infos[name].number, ctypes.addressof(result), components, bits, ctypes.addressof(self.pointers), 0)
        return list(result)


# ------------------------------------------------------------------------------------------------------------ operands
def _floats(bits: int) -> list[int]:
    """Zeros, denormals, ones, what halves, bfloats and 8-bit floats round and overflow at, infinities, NaNs."""
    layout = {16: "<e", 32: "<f", 64: "<d"}[bits]
    numbers = [0.0, 1.0, 1.5, 0.1, 1 / 3, 2.5, 3.0, 255.5, 448.0, 464.0, 465.0, 57344.0, 61440.0, 65504.0]
    if bits > 16:
        numbers += [65519.0, 65520.0, 2.0**31, 2.0**32, 2.0**-14, 2.0**-25, 2.0**-9 * 1.5, 2.0**-17]
    patterns = [int.from_bytes(struct.pack(layout, number), "little") for number in numbers]
    mantissa = {16: 10, 32: 23, 64: 52}[bits]
    infinity = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    patterns += [1, (1 << mantissa) - 1, 1 << mantissa, infinity - 1, infinity, infinity | 1 << (mantissa - 1), infinity | 1]
    return patterns + [pattern | 1 << (bits - 1) for pattern in patterns]


def _integers(bits: int) -> list[int]:
    mask = (1 << bits) - 1
    numbers = (0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 255, 256, 0x7FFF, 0x8000, 0xFFFFFF, -1, -2, mask >> 1, (mask >> 1) + 1)
    return [number & mask for number in numbers]


SPECIAL = {("float", bits): _floats(bits) for bits in (16, 32, 64)} | {("int", bits): _integers(bits) for bits in (1, 8, 16, 32, 64)}


def _random(random: np.random.Generator, base: str, bits: int, count: int) -> list[int]:
    """Operands of a type: specials, all bits at random, numbers of usual size."""
    mask = (1 << bits) - 1
    if base == "bool":
        return [mask * int(value) for value in random.integers(0, 2, count)]
    wild = random.integers(0, 1 << 64, count, np.uint64, endpoint=False)
    kind = random.integers(0, 4, count)
    if base == "bfloat":
        return [value >> 16 for value in _random(random, "float", 32, count)]
    special = SPECIAL["float" if base == "float" else "int", bits]
    picks = random.integers(0, len(special), count)
    if base == "float":
        scale = np.array([1.0, 50.0, 3e4])[random.integers(0, 3, count)]
        usual = (random.normal(0, 1, count) * scale).clip(-6e4, 6e4).astype(f"<f{bits // 8}").view(f"<u{bits // 8}")
    else:
        usual = random.integers(0, 64, count) >> random.integers(0, 6, count)
    return [special[p] if k == 0 else int(w) & mask if k == 1 else int(u) & mask
            for k, p, w, u in zip(kind.tolist(), picks.tolist(), wild.tolist(), usual.tolist(), strict=True)]


def operands_of(info: AluInfo, bits: int, count: int, seed: int) -> Iterator[list[list[int]]]:
    """Operands for `count` evaluations of an opcode."""
    random = np.random.default_rng((info.number, bits, seed))
    columns = []
    for operand, (type, size) in enumerate(zip(info.input_types, info.input_sizes, strict=True)):
        width = max(size, 1)
        base = "bfloat" if re.match("bf(2f|dot|fma|mul)", info.name) else type.rstrip("0123456789")
        values = _random(random, base, info.input_bits(operand, bits), count * width)
        columns.append([values[i * width : (i + 1) * width] for i in range(count)])
    return map(list, zip(*columns, strict=True))


def sizes_of(info: AluInfo) -> tuple[int, ...]:
    """Bit sizes to try: 32 where the opcode has none to choose."""
    return info.bit_sizes or (32,)


# ---------------------------------------------------------------------------------------------------------- comparison
class Difference(Exception):
    """A value that is another one than Mesa's, and no rule says why."""


def compare(mesa: Mesa, name: str, bits: int, count: int, seed: int = 0, keep: Callable[..., Any] | None = None) -> tuple[int, int]:
    """How many evaluations were made, and how many of them a rule left out; raises at the first difference."""
    info = ALU_INFOS[name]
    result_bits = info.output_bits(bits)
    mask = (1 << result_bits) - 1
    is_float = info.output_type.startswith("float")
    left_out = 0
    for operands in operands_of(info, bits, count, seed):
        if name in NOT_COMPARED or not is_defined(name, bits, operands):
            left_out += 1
            continue
        mine = evaluate.alu(info.number, bits, result_bits, 1, operands)
        if mine is None:
            raise Difference(f"{name} has no value for {bits} bits")
        mesas = [value & mask for value in mesa.value(name, bits, 1, operands)[: len(mine)]]
        if mine != mesas and not all(agree(name, result_bits, is_float, *pair) for pair in zip(mine, mesas, strict=True)):
            raise Difference(f"{name}, {bits} bits, {[[hex(x) for x in operand] for operand in operands]}: "
                             f"{[hex(x) for x in mine]}, Mesa {[hex(x) for x in mesas]}")
        if keep is not None and mine == mesas:
            keep(name, bits, operands, mine)
    return count, left_out


def write_sample() -> None:
    """Write values on which both agree: one of each opcode and size."""
    mesa = Mesa()
    lines = ["# Values of ALU opcodes on which Mesa 25.2.7 (nir_eval_const_opcode) and pyaco agree: name, bits of unsized operands, operands, =,",
             "# result; components are separated by commas. Written by tests/oracle/mesa_opcodes.py."]

    for name, info in ALU_INFOS.items():
        for bits in sizes_of(info) if name in mesa.infos else ():
            rows: list[str] = []

            def keep(name: str, bits: int, operands: list[list[int]], result: list[int], rows: list[str] = rows) -> None:
                words = [",".join(f"{x:x}" for x in vector) for vector in [*operands, result]]
                rows.append(f"{name} {bits} {' '.join(words[:-1])} = {words[-1]}")

            compare(mesa, name, bits, 40, 7, keep)
            # The longest result says most.
            lines += sorted(rows, key=lambda row: len(row.split("=")[1]))[-1:]
    SAMPLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_sample()
