"""NIR's ALU opcodes: records, values of which Mesa's are known, the interpreter beside constant folding, and compiled code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from mesa_opcodes import operands_of, sizes_of
from opcode_rules import NOT_OF_ONE_BIT, agree
from opcode_shaders import buffer

import pyaco
from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import NirFlag
from pyaco._core.nir import build
from pyaco.cli import main
from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import ALU_INFOS, AluInfo, interpreter_alu, interpreter_opcodes
from pyaco.nir.builder import Builder
from pyaco.nir.parse import parse_shader
from pyaco.nir.text import print_shader

SAMPLE = [line for line in (Path(__file__).parent / "opcode_values.txt").read_text().splitlines() if not line.startswith("#")]
UINT = {1: np.uint32, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
#: Opcodes that NIR has for other hardware and wider booleans.
FURTHER = [name for name in interpreter_opcodes.OPERATIONS if name not in interpreter_alu.OPERATIONS]
#: What no instruction selection has and no rule lowers.
NOT_COMPILED = {"interleave_agx", "prmt_nv", "pack_32_to_r11g11b10_v3d"}
#: Compiled code converts what does not fit in another way than constant folding: undefined in SPIR-V.
NOT_SATURATED = {"f2imp", "f2ump"}


# -------------------------------------------------------------------------------------------------------------- records
def test_records() -> None:
    assert list(ALU_INFOS) == list(build.ALU)
    assert len(ALU_INFOS) == 511
    fadd = ALU_INFOS["fadd"]
    assert (fadd.num_inputs, fadd.output_size, fadd.output_type, fadd.input_sizes, fadd.input_types) == (2, 0, "float", (0, 0), ("float", "float"))
    assert fadd.algebraic_properties == ("2src_commutative", "inexact_associative") and not fadd.is_conversion and not fadd.is_selection
    assert ALU_INFOS["b32csel"].is_selection and ALU_INFOS["b32csel"].input_types == ("bool32", "uint", "uint")
    assert ALU_INFOS["f2bf"].is_conversion and ALU_INFOS["f2bf"].bit_sizes == ()
    assert ALU_INFOS["ldexp"].bit_sizes == (16, 32, 64)
    for info in ALU_INFOS.values():
        assert build.ALU[info.name] == info.number and len(info.input_sizes) == info.num_inputs
        assert info.is_selection == (info.name.endswith(("csel", "csel_ge", "csel_gt", "csel_eqz", "csel_mdg")))


def test_values_from_python() -> None:
    assert ALU_INFOS["fadd"].evaluate(0x3F800000, 0x40000000) == 0x40400000
    assert ALU_INFOS["iadd"].evaluate([1, 2], [3, -1], bit_size=8) == [4, 1]
    assert ALU_INFOS["vec3"].evaluate(1, 2, 3) == [1, 2, 3]
    assert ALU_INFOS["fdot2"].evaluate([0x3F800000, 0x40000000], [0x3F800000, 0x40000000]) == 0x40A00000
    for operands, bits, message in (
        ((1,), 32, "takes 2 operands"), ((1, 2), 8, "operands of 16, 32, 64 bits"), (([1, 2], [1]), 32, "operand 1 has 1 components"),
        ((1, 1 << 32), 32, "does not fit in 32 bits"),
    ):
        with pytest.raises(InputError, match=message):
            ALU_INFOS["fadd"].evaluate(*operands, bit_size=bits)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nir", "ops"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(ALU_INFOS)
    assert main(["nir", "ops", "bffma"]) == 0
    assert "bffma(a, b, c) => f2bf(ffma(bf2f(a), bf2f(b), bf2f(c)))" in capsys.readouterr().out
    assert main(["nir", "ops", "fdot2", "0x3f800000,0x40000000", "0x3f800000,0x40000000"]) == 0
    assert capsys.readouterr().out.endswith("value: 0x40a00000\n")
    assert main(["nir", "ops", "iadd3", "1", "2", "3", "--bits", "16", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["value"], facts["input_types"], facts["algebraic_properties"]) == (6, ["int"] * 3, ["2src_commutative", "associative"])
    assert main(["nir", "ops", "fad"]) == 2
    assert "no ALU opcode fad; fadd" in capsys.readouterr().err
    assert main(["nir", "ops", "fadd", "x"]) == 2


# --------------------------------------------------------------------------------------------------------------- values
def test_values_that_mesa_has() -> None:
    assert len(SAMPLE) > 1400
    for line in SAMPLE:
        name, bits, *words = line.split()
        *operands, _, result = [[int(part, 16) for part in word.split(",")] if word != "=" else [] for word in words]
        info = ALU_INFOS[name]
        found = info.evaluate(*operands, bit_size=int(bits))
        found = found if isinstance(found, list) else [found]
        # Which of two NaNs a sum passes on is the compiler's choice of operands: such results agree without equal bits.
        assert found == result or all(
            agree(name, info.output_bits(int(bits)), info.output_type.startswith("float"), *pair) for pair in zip(found, result, strict=True)
        ), line


def arrays(info: AluInfo, bits: int, operands: list[list[list[int]]]) -> list[np.ndarray]:
    """Operands of many evaluations as the interpreter has them: components, then lanes."""
    found = []
    for i, columns in enumerate(zip(*operands, strict=True)):
        width = info.input_bits(i, bits)
        array = np.array(columns, np.uint64).T.astype(UINT[width])
        found.append(array != 0 if width == 1 else array)
    return found


def differences(info: AluInfo, bits: int, found: np.ndarray, operands: list[list[list[int]]], limit: float = 0.0) -> list[str]:
    """Lanes of `found` (components, lanes) that are not what constant folding has."""
    result_bits = info.output_bits(bits)
    wrong = []
    for lane, values in enumerate(operands):
        wanted = info.evaluate(*values, bit_size=bits)
        for mine, other in zip(found[:, lane].tolist(), wanted if isinstance(wanted, list) else [wanted], strict=True):
            if int(mine) != other and not agree(info.name, result_bits, info.output_type.startswith("float"), int(mine), other):
                wrong.append(f"{info.name}, {bits} bits, {values}: {int(mine):#x}, not {other:#x}")
    return wrong


def is_defined(info: AluInfo, values: list[list[int]]) -> bool:
    """Whether the operands are in the range of the opcode."""
    if info.name == "umad24_relaxed":
        return all(value[0] < 1 << 24 for value in values[:2])
    return info.name not in NOT_SATURATED


@pytest.mark.parametrize("name", FURTHER)
def test_the_interpreter_has_the_values_of_constant_folding(name: str) -> None:
    info = ALU_INFOS[name]
    for bits in sizes_of(info):
        if bits == 1 and NOT_OF_ONE_BIT.fullmatch(name):
            continue
        operands = [values for values in operands_of(info, bits, 60, 3) if is_defined(info, values)]
        if operands:
            found = interpreter_opcodes.evaluate(name, arrays(info, bits, operands))
            assert found.dtype == (np.bool_ if info.output_bits(bits) == 1 else UINT[info.output_bits(bits)]), bits
            assert not differences(info, bits, found, operands)


# -------------------------------------------------------------------------------------------------------- compiled code
def shader_of(info: AluInfo, bits: int, lanes: int) -> Shader:
    """A shader in which each lane computes the opcode on its operands from buffers, as it is: no product and sum become one."""
    b = Builder(workgroup_size=(lanes, 1, 1))
    lane = b.load_local_invocation_index()

    def place(source: int, width: int, position: int, count: int) -> int:
        index = b.iadd(b.imul(lane, b.imm(count)), b.imm(position))
        return b.deref_array(buffer(b, source, max(width, 32 if width == 1 else 8)), index)

    operands = []
    for i, size in enumerate(info.input_sizes):
        width = info.input_bits(i, bits)
        parts = [b.load(place(i, width, k, max(size, 1))) for k in range(max(size, 1))]
        operands.append(b.vec(*(b.ine(part, b.imm(0)) if width == 1 else part for part in parts)))
    count, width = info.output_size or 1, info.output_bits(bits)
    result = b.alu(info.name, *operands, components=count, bit_size=width, flags=NirFlag.EXACT)
    for k in range(count):
        value = b.component(result, k) if count > 1 else result
        b.store(place(len(operands), width, k, count), b.b2i32(value) if width == 1 else value)
    return b.finish()


def is_plain(info: AluInfo, bits: int, values: list[list[int]]) -> bool:
    """Whether no operand is a denormal float, which MODE makes a zero."""
    for i, vector in enumerate(values):
        layout = "bfloat" if info.name.startswith("bf") and i < 3 else info.input_types[i].rstrip("0123456789")
        if layout == "bfloat" and any(0 < value & 0x7FFF < 0x2000 for value in vector):
            return False
        width = info.input_bits(i, bits)
        least = {16: 0x400, 32: 0x800000, 64: 1 << 52}.get(width, 0)
        if layout == "float" and any(0 < value & ((1 << (width - 1)) - 1) < least for value in vector):
            return False
    return is_defined(info, values)


def emulated(info: AluInfo, bits: int, operands: list[list[list[int]]], target: str) -> np.ndarray:
    """What compiled code computes: components, then lanes."""
    lanes, count, device = len(operands), info.output_size or 1, Device(target)
    code = pyaco.compile(shader_of(info, bits, lanes), target)
    buffers = {}
    for i in range(info.num_inputs):
        values = [value for lane in operands for value in lane[i]]
        buffers[0, i] = device.buffer(np.array(values, np.uint64).astype(UINT[info.input_bits(i, bits)]))
    buffers[0, info.num_inputs] = result = device.buffer(np.zeros(lanes * count, UINT[info.output_bits(bits)]))
    device.dispatch(code, (1, 1, 1), buffers=buffers)
    return np.asarray(result.numpy()).view(UINT[info.output_bits(bits)]).reshape(lanes, count).T


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", pytest.param("gfx1100", marks=pytest.mark.slow), "gfx1200"])
@pytest.mark.parametrize("name", [name for name in [*FURTHER, "msad_4x8", "b2i32", "b2f16"] if name not in NOT_COMPILED | NOT_SATURATED])
def test_compiled_code_has_the_values_of_constant_folding(name: str, target: str) -> None:
    info = ALU_INFOS[name]
    sizes = [bits for bits in sizes_of(info) if bits > 1]
    if name.startswith(("fsin", "fcos")):
        sizes.remove(64)                                          # no chip has them
    if name.startswith("fsum"):
        sizes.remove(16)                                          # folding rounds the sum once
    for bits in sizes if target == "gfx1200" else sizes[-1:]:
        operands = [values for values in operands_of(info, bits, 48, 4) if is_plain(info, bits, values)][:32]
        assert not differences(info, bits, emulated(info, bits, operands, target), operands)


@pytest.mark.parametrize("name", sorted(NOT_COMPILED))
def test_what_no_chip_computes_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=name):
        pyaco.compile(shader_of(ALU_INFOS[name], 32, 64), "gfx1100")


def test_every_opcode_is_printed_read_and_validated() -> None:
    from pyaco._core.nir import validate

    for info in ALU_INFOS.values():
        for bits in sizes_of(info)[-1:]:
            shader = shader_of(info, bits, 64)
            validate.run(shader)
            text = print_shader(parse_shader(print_shader(shader)))
            assert f"= {info.name}! " in text                     # an exact one
            assert print_shader(parse_shader(text)) == text
