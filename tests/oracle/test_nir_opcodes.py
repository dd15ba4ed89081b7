"""The ALU opcodes against Mesa's own table and constant expressions, which the package ``tinymesa`` exports (NIR of Mesa 25.2.7)."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import numpy as np
import pytest

import pyaco
from pyaco._core.nir import evaluate

tinymesa = pytest.importorskip("tinymesa", reason="needs the package tinymesa")
LIBRARY = ctypes.CDLL(str(Path(tinymesa.__file__).parent / "libtinymesa.so"))
ROWS = [row for row in (line.split("#")[0].split() for line in (Path(pyaco.__file__).parent / "nir/data/alu.txt").read_text().splitlines()) if row]
NUMBERS = {row[0]: number for number, row in enumerate(ROWS)}
RECORD, OPCODES = 56, 489
BASES = {2: "int", 4: "uint", 6: "bool", 128: "float"}
COMMUTATIVE, ASSOCIATIVE = 1, 2
#: Undefined in NIR where the operands are out of range, or computed by other library functions than ours. Mesa's C overflows in
#: iadd_sat and isub_sat, and takes the last operand of udot_*_sat as signed, which SPIR-V's OpUDotAccSat does not.
UNDEFINED = {"iadd_sat", "isub_sat", "udot_2x16_uadd_sat", "udot_4x8_uadd_sat", "imul24_relaxed", "umul24_relaxed", "extract_u8", "extract_i8",
             "extract_u16", "extract_i16", "insert_u8", "insert_u16",
             "ubitfield_extract", "ibitfield_extract", "bitfield_insert", "ubfe", "ibfe", "bfm", "fexp2", "flog2", "fpow", "fsin", "fcos",
             "fsin_amd", "fcos_amd", "frexp_sig", "frexp_exp", "ldexp", "fsat", "fsign", "fmin", "fmax", "frsq", "fquantize2f16"}


def _type(number: int) -> str:
    size = number & 0x79
    return BASES[number & 0x86] + (str(size) if size else "")


def _mesa() -> dict[str, tuple[int, int, str, list[tuple[str, int]], int]]:
    """Number, result components, result type, operands (type, components), algebraic properties by name."""
    table = ctypes.addressof(ctypes.c_char.in_dll(LIBRARY, "nir_op_infos"))
    found = {}
    for number in range(OPCODES):
        raw = ctypes.string_at(table + RECORD * number, RECORD)
        name = ctypes.string_at(int.from_bytes(raw[:8], "little")).decode()
        operands = [(_type(raw[27 + i]), raw[11 + i]) for i in range(raw[8])]
        found[name] = number, raw[9], _type(raw[10]), operands, int.from_bytes(raw[44:48], "little")
    return found


MESA = _mesa()
SHARED = [row for row in ROWS if row[0] in MESA]


@pytest.mark.parametrize("row", SHARED, ids=lambda row: row[0])
def test_shapes_and_properties(row: list[str]) -> None:
    _, components, result, operands, properties = MESA[row[0]]
    assert (int(row[1]), row[2]) == (components, result)
    assert [tuple(operand.split(":")) for operand in row[4:]] == [(type, str(size)) for type, size in operands]
    assert ("c" in row[3]) == bool(properties & COMMUTATIVE)
    # NIR has one property; here "i" says that rounding differs.
    assert ("a" in row[3] or "i" in row[3]) == bool(properties & ASSOCIATIVE)


def _operand(random: np.random.Generator, type: str, bits: int) -> int:
    if type.startswith("float"):
        number = random.choice([0.0, -0.0, 1.0, -2.5, 0.1, 3e4, *random.normal(0, 50, 4)])
        return int.from_bytes(np.array(number, f"<f{bits // 8}").tobytes(), "little")
    chosen = int(random.integers(0, 1 << min(bits, 63)))
    return int(random.choice([chosen & ((1 << bits) - 1), 0, 1, chosen & 31 & ((1 << bits) - 1)]))


def _mesa_value(name: str, bits: int, components: int, operands: list[list[int]]) -> list[int]:
    arrays = [(ctypes.c_uint64 * 16)(*operand) for operand in operands]
    pointers = (ctypes.c_void_p * len(arrays))(*(ctypes.addressof(array) for array in arrays))
    result = (ctypes.c_uint64 * 16)()
    LIBRARY.nir_eval_const_opcode(MESA[name][0], result, components, bits, pointers, 0)
    return list(result)


def _sizes(row: list[str]) -> list[int]:
    unsized = [operand.split(":")[0] for operand in row[4:] if not operand.split(":")[0][-1].isdigit()]
    if not unsized:
        return [32]
    return [16, 32, 64] if "float" in unsized else [8, 16, 32, 64] if "bool" not in unsized else [1]


def _size_of(type: str, bits: int) -> int:
    digits = type.lstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits) if digits else bits


@pytest.mark.parametrize("row", [row for row in SHARED if row[0] not in UNDEFINED and "v" not in row[3]], ids=lambda row: row[0])
def test_constant_expressions(row: list[str]) -> None:
    name, random = row[0], np.random.default_rng(NUMBERS[row[0]])
    for bits in _sizes(row):
        # NIR computes halves as floats and rounds them at the end; these three follow what they are lowered to.
        if bits == 16 and name in ("fmod", "frem", "flrp"):
            continue
        # C's promotion to int loses the carry, and Mesa counts from bit 31 whatever the size.
        if (bits < 32 and name == "uadd_carry") or (bits != 32 and name == "ufind_msb_rev"):
            continue
        result_bits = _size_of(row[2], bits)
        for _ in range(60):
            operands = [[_operand(random, type, _size_of(type, bits)) for _ in range(max(1, int(size)))]
                        for type, size in (operand.split(":") for operand in row[4:])]
            if name in ("idiv", "irem", "imod") and operands[1][0] == (1 << bits) - 1:
                continue                    # the quotient may overflow, which stops Mesa
            found = evaluate.alu(NUMBERS[name], bits, result_bits, 1, operands)
            if found is None:
                return
            wanted = _mesa_value(name, bits, 1, operands)
            for mine, mesas in zip(found, wanted, strict=False):
                mesas &= (1 << result_bits) - 1
                if row[2].startswith("float"):
                    pair = [np.frombuffer(number.to_bytes(result_bits // 8, "little"), f"<f{result_bits // 8}")[0] for number in (mine, mesas)]
                    if all(math.isnan(number) for number in pair):
                        continue
                assert mine == mesas, (bits, [[hex(x) for x in operand] for operand in operands])
