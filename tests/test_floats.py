"""Conversions of halves: every way into the package's one function gives what NumPy gives.

The numbers are all halves, their neighbours among doubles, and the midpoints between halves with their neighbours: wherever a conversion can
go wrong by a bit. NumPy converts doubles to halves with one rounding to nearest even, and keeps denormals.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from module_words import OPCODES, Module

from pyaco import InputError, isa, spirv
from pyaco._core.nir import evaluate
from pyaco.emu import Device
from pyaco.nir import interpreter

ROWS = [line.split("#")[0].split() for line in (Path(isa.__file__).parents[1] / "nir/data/alu.txt").read_text().splitlines()]
NUMBERS = {row[0]: number for number, row in enumerate(row for row in ROWS if row)}
HALVES = np.arange(1 << 16, dtype=np.uint16)


@cache
def numbers() -> np.ndarray:
    """Return the doubles to convert, finite ones and infinities, both signs."""
    finite = np.sort(HALVES[:0x7C00].view(np.float16).astype(np.float64))
    ends = np.append(finite, 65536.0)
    points = np.concatenate([ends, (ends[1:] + ends[:-1]) / 2, [5e-324, 2.0**-1022, 1e300, np.inf]])
    positive = np.concatenate([points, np.nextafter(points, 0), np.nextafter(points, np.inf)])
    return np.unique(np.concatenate([positive, -positive]).view(np.uint64)).view(np.float64)


@cache
def singles() -> np.ndarray:
    """Return the same points among singles."""
    finite = np.sort(HALVES[:0x7C00].view(np.float16).astype(np.float32))
    ends = np.append(finite, np.float32(65536))
    points = np.concatenate([ends, (ends[1:] + ends[:-1]) / 2])
    positive = np.concatenate([points, np.nextafter(points, np.float32(0)), np.nextafter(points, np.float32(np.inf))])
    found: np.ndarray = np.unique(np.concatenate([positive, -positive]).view(np.uint32)).view(np.float32)
    return found


def nearest(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).view(np.uint16)


def directed(values: np.ndarray, towards: float | None) -> np.ndarray:
    """Round to halves towards infinity, minus infinity or (None) zero, from the nearest ones."""
    near = nearest(values).view(np.float16)
    exact = near.astype(np.float64)
    goal = np.where(values > 0, -np.inf, np.inf) if towards is None else np.full(len(values), towards)
    wrong = np.where(goal < 0, exact > values, exact < values)
    with np.errstate(over="ignore"):
        return np.where(wrong, np.nextafter(near, goal.astype(np.float16)), near).view(np.uint16)


def folded(name: str, values: np.ndarray, bits: int, result_bits: int) -> np.ndarray:
    """What constant folding makes of each number."""
    found = []
    for value in values:
        result = evaluate.alu(NUMBERS[name], bits, result_bits, 1, [[int(value)]])
        assert result is not None
        found.append(result[0])
    return np.array(found)


def test_folding_of_doubles_to_halves() -> None:
    assert np.array_equal(folded("f2f16", numbers().view(np.uint64), 64, 16), nearest(numbers()))
    assert np.array_equal(folded("f2f16_rtne", numbers()[::11].view(np.uint64), 64, 16), nearest(numbers()[::11]))
    finite = numbers()[np.isfinite(numbers())]
    assert np.array_equal(folded("f2f16_rtz", finite.view(np.uint64), 64, 16), directed(finite, None))


def test_folding_of_halves() -> None:
    """Each half as a double and as a single; NaNs keep sign and payload."""
    for bits, kind, unsigned in ((64, np.float64, np.uint64), (32, np.float32, np.uint32)):
        wide = folded(f"f2f{bits}", HALVES, 16, bits).astype(unsigned).view(kind)
        number = ~np.isnan(HALVES.view(np.float16))
        assert np.array_equal(wide[number].view(unsigned), HALVES[number].view(np.float16).astype(kind).view(unsigned))
        assert np.isnan(wide[~number]).all() and np.array_equal(np.signbit(wide), HALVES >> 15 != 0)
    back = folded("f2f16", folded("f2f64", HALVES, 16, 64), 64, 16)
    assert np.array_equal(back, np.where(number, HALVES, HALVES | 0x200))


def test_literals_of_the_assembler() -> None:
    """A number is the half nearest to it; zeros that were none, and what overflows, are errors."""
    values = numbers()[np.isfinite(numbers())]
    halves = nearest(values)
    kept = (halves & 0x7FFF != 0) & (halves & 0x7FFF != 0x7C00)
    code = isa.assemble("\n".join(f"v_add_f16 v0, lit({value!r}), v1" for value in values[kept].tolist()), "gfx1030")
    assert np.array_equal(np.frombuffer(code, np.uint32).reshape(-1, 2)[:, 1], halves[kept])
    for value in values[~kept & (values != 0)][:: 1000].tolist():
        with pytest.raises(InputError, match=r"too small|beyond"):
            isa.assemble(f"v_add_f16 v0, {value!r}, v1", "gfx1030")


def test_constants_of_spirv() -> None:
    """OpSpecConstantOp FConvert: denormals stay, as Mesa keeps those of constants."""
    every = numbers()[np.isfinite(numbers())]
    values = np.concatenate([every[np.abs(every) < 2.0**-13][:: 41], every[::997]])
    assert np.array_equal(specialized("FConvert", values), nearest(values))


def test_quantized_constants_of_spirv() -> None:
    """OpQuantizeToF16 flushes what lies below the least normal half before it rounds, for constants as for what NIR folds."""
    every = singles().astype(np.float64)
    values = np.concatenate([every[(np.abs(every) < 2.0**-13) & (np.abs(every) > 2.0**-15)][:: 37], every[::997], [2.0**-14 - 2.0**-38, 2.0**-14]])
    with np.errstate(over="ignore"):
        expected = np.where(np.abs(values) < 2.0**-14, np.copysign(0, values), values.astype(np.float16)).astype(np.float32).view(np.uint32)
    assert np.array_equal(folded("fquantize2f16", values.astype(np.float32).view(np.uint32), 32, 32), expected)
    assert np.array_equal(specialized("QuantizeToF16", values), expected)


def specialized(operation: str, values: np.ndarray) -> np.ndarray:
    """Return what a module's operation on specialization constants gives, executed by the NIR interpreter."""
    m = Module((1, 1, 1), "Float16", "Float64", "Int16")
    source_bits, bits = (64, 16) if operation == "FConvert" else (32, 32)
    source, result = m.type("Float", source_bits), m.type("Float", bits)
    block = m.variable("StorageBuffer", m.struct((m.array(m.uint(), 4), 0)), 0)
    for index, value in enumerate(values):
        constant, converted = m.id(), m.id()
        words = np.array([value], np.float64 if source_bits == 64 else np.float32).view(np.uint32).tolist()
        m.emit(m.globals, "SpecConstant", source, constant, *words)
        m.emit(m.globals, "SpecConstantOp", result, converted, OPCODES[operation], constant)
        stored = m.op("Bitcast", m.uint(bits), converted)
        wide = m.op("UConvert", m.uint(), stored) if bits == 16 else stored
        m.store(m.access_chain("StorageBuffer", m.uint(), block, m.constant(0), m.constant(index)), wide)
    memory = np.zeros(len(values), np.uint32)
    buffers = {(0, 0): memory}
    interpreter.run(spirv.read(m.words()), (1, 1, 1), buffers)
    return buffers[0, 0]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("rounding", range(4))
def test_instructions(engine: str, rounding: int) -> None:
    """V_CVT_F16_F32 in all rounding modes, denormals kept."""
    values = np.resize(singles(), -(-len(singles()) // 64) * 64)
    code = isa.assemble(
        """
        v_lshl_or_b32 v0, s4, 6, v0
        v_lshlrev_b32 v0, 2, v0
        global_load_dword v1, v0, s[0:1]
        s_waitcnt vmcnt(0)
        v_cvt_f16_f32 v1, v1
        global_store_dword v0, v1, s[2:3]
        s_endpgm
        """, "gfx1030")  # fmt: skip
    device = Device("gfx1030", engine)
    source, target = device.buffer(values), device.buffer(np.zeros(len(values), np.uint32))
    user = [word for buffer in (source, target) for word in (buffer.address & 0xFFFFFFFF, buffer.address >> 32)]
    device.run(code, (len(values) // 64, 1, 1), (64, 1, 1), user_sgprs=user, wave_size=64,
               workgroup_ids=(True, False, False), float_mode=0xF0 | rounding << 2)
    wide = values.astype(np.float64)
    expected = nearest(wide) if rounding == 0 else directed(wide, (None, np.inf, -np.inf, None)[rounding])
    assert np.array_equal(target.numpy() & 0xFFFF, expected)
