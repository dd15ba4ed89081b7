"""Doubles in software: compiled, and run on the emulator, beside the host's IEEE arithmetic, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from double_cases import EDGES, SIGN, Operation, exact_fma, operations
from numpy.typing import NDArray
from opcode_shaders import UINT, buffer, lanes_shader, opcode_body, run_lanes

import pyaco
from pyaco._core.ir.shader import Shader
from pyaco._core.nir import build, lower_doubles, lower_int64, validate
from pyaco.compiler import CompiledShader
from pyaco.emu import Device
from pyaco.errors import UnsupportedError
from pyaco.nir.builder import Builder

OPERATIONS = operations()
NAMES = [f"{operation.name}-{operation.operands[0]}" for operation in OPERATIONS]
TARGET = "gfx1030"
WORKGROUP = 64
# Ten million cases an operation if PYACO_EXHAUSTIVE is set, else a million.
CHUNK = 1 << 20
CHUNKS = 10 if os.environ.get("PYACO_EXHAUSTIVE") else 1


def body_of(operation: Operation) -> Callable[..., int]:
    """The opcode, of a boolean where it takes one."""
    if operation.operands == ("b",):
        return lambda b, x: b.alu(operation.name, b.ine(x, b.imm(0)))
    return opcode_body(operation.name)


def many_lanes(body: Callable[..., int], sizes: Sequence[int], result_size: int) -> Shader:
    """A shader that stores body(builder, elements) for every invocation of any number of workgroups."""
    b = Builder(workgroup_size=(WORKGROUP, 1, 1))
    first = b.imul(b.component(b.load_workgroup_id(), 0), b.imm(WORKGROUP))
    index = b.iadd(first, b.load_local_invocation_index())
    inputs = [b.load(b.deref_array(buffer(b, i, size), index)) for i, size in enumerate(sizes)]
    value = body(b, *inputs)
    if b.bit_size(value) == 1:
        value = b.b2i32(value)
    b.store(b.deref_array(buffer(b, len(sizes), result_size), index), value)
    return b.finish()


@cache
def compiled(index: int, int64: str) -> CompiledShader:
    """Machine code of an operation in software."""
    operation = OPERATIONS[index]
    shader = many_lanes(body_of(operation), operation.sizes(), operation.result)
    return pyaco.compile(shader, TARGET, int64=int64, fp64="software", validate=True)


def dispatch(shader: CompiledShader, device: Device, inputs: Sequence[NDArray[Any]], result: int) -> NDArray[Any]:
    """What the machine code stores for these operands, whose number is a multiple of the workgroup's size."""
    buffers = [device.buffer(data) for data in [*inputs, np.zeros(len(inputs[0]), UINT[result])]]
    device.dispatch(shader, (len(inputs[0]) // WORKGROUP,), buffers={(0, i): buffer for i, buffer in enumerate(buffers)})
    out = buffers[-1].numpy().copy()
    for each in buffers:
        each.release()
    return out


def assert_same(operation: Operation, inputs: Sequence[NDArray[Any]], got: NDArray[Any]) -> None:
    """All bits as expected, or a message with the first operands for which they are not."""
    expected = operation.expected(*inputs)
    bad = np.flatnonzero(got != expected)
    cases = [([hex(int(data[i])) for data in inputs], hex(int(expected[i])), hex(int(got[i]))) for i in bad[:5]]
    assert not len(bad), f"{operation.name}: {len(bad)} of {len(got)} differ (operands, expected, got): {cases}"


def edges(operation: Operation) -> list[NDArray[Any]]:
    """Every pair of edges with every sign; for operations of one or three operands the same in other places."""
    values = np.concatenate([EDGES, EDGES | SIGN])
    x, y = (np.ascontiguousarray(side.ravel()) for side in np.meshgrid(values, values))
    size = -(-len(x) // WORKGROUP) * WORKGROUP
    x, y = np.resize(x, size), np.resize(y, size)
    return [x, y, np.roll(x, 37)][: len(operation.operands)]


@pytest.mark.parametrize("int64", ["hardware", "all"])
@pytest.mark.parametrize("index", range(len(OPERATIONS)), ids=NAMES)
def test_compiled(index: int, int64: str) -> None:
    operation = OPERATIONS[index]
    device = Device(TARGET)
    inputs = operation.inputs(1 << 13, np.random.default_rng(index))
    assert_same(operation, inputs, dispatch(compiled(index, int64), device, inputs, operation.result))
    if set(operation.operands) == {"d"}:
        inputs = edges(operation)
        assert_same(operation, inputs, dispatch(compiled(index, int64), device, inputs, operation.result))


@pytest.mark.parametrize("index", range(len(OPERATIONS)), ids=NAMES)
def test_reference_engine(index: int) -> None:
    operation = OPERATIONS[index]
    inputs = operation.inputs(4 * WORKGROUP, np.random.default_rng(index))
    assert_same(operation, inputs, dispatch(compiled(index, "hardware"), Device(TARGET, engine="reference"), inputs, operation.result))


@pytest.mark.parametrize("index", range(len(OPERATIONS)), ids=NAMES)
def test_interpreted(index: int) -> None:
    """The pass by itself, and with all 64-bit integers lowered behind it."""
    operation = OPERATIONS[index]
    inputs = operation.inputs(256, np.random.default_rng(index))
    shader = lanes_shader(body_of(operation), operation.sizes(), operation.result, 256)
    assert lower_doubles.run(shader, {"lower": "software"})
    validate.run(shader)
    assert lower_doubles.remaining(shader) == []
    assert_same(operation, inputs, run_lanes(shader, inputs, operation.result))
    lower_int64.run(shader, {"lower": "all"})
    validate.run(shader)
    assert lower_int64.remaining(shader) == []
    assert_same(operation, inputs, run_lanes(shader, inputs, operation.result))


def test_fused_multiply_add_in_rational_arithmetic() -> None:
    """The host's fma, which judges the others, and ours."""
    index = NAMES.index("ffma-d")
    inputs = OPERATIONS[index].inputs(1 << 13, np.random.default_rng(5))
    expected = exact_fma(*inputs)
    np.testing.assert_array_equal(OPERATIONS[index].expected(*inputs), expected)
    np.testing.assert_array_equal(dispatch(compiled(index, "hardware"), Device(TARGET), inputs, 64), expected)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(OPERATIONS)), ids=NAMES)
def test_millions_of_cases(index: int) -> None:
    operation = OPERATIONS[index]
    device = Device(TARGET)
    random = np.random.default_rng(1000 + index)
    for _ in range(CHUNKS):
        inputs = operation.inputs(CHUNK, random)
        assert_same(operation, inputs, dispatch(compiled(index, "hardware"), device, inputs, operation.result))


# ------------------------------------------------------------------------------------------------------- options, refusals
LOWERED = {"dtrunc": "ftrunc", "dfloor": "ffloor", "dceil": "fceil", "dround_even": "fround_even", "dsign": "fsign", "dsat": "fsat",
           "dminmax": "fmin fmax", "dsub": "fsub", "dfract": "ffract", "dmod": "fmod frem"}  # fmt: skip


@pytest.mark.parametrize(("option", "name"), [(option, name) for option, names in LOWERED.items() for name in names.split()])
def test_options_that_round_as_hardware(option: str, name: str) -> None:
    """Alone and with all others; quotients under fmod and frem may then be wrong in the last place, which test_lower_arithmetic looks at."""
    operation = OPERATIONS[NAMES.index(f"{name}-d")]
    inputs = operation.inputs(256, np.random.default_rng(3))
    for lower in (option, "lowered") if option != "dmod" else (option,):
        shader = lanes_shader(body_of(operation), operation.sizes(), 64, 256)
        assert lower_doubles.remaining(shader, option) == [name]
        assert lower_doubles.run(shader, {"lower": lower})
        validate.run(shader)
        assert lower_doubles.remaining(shader, lower) == []
        got, expected = run_lanes(shader, inputs, 64), operation.expected(*inputs)
        nan = np.isnan(expected.view(np.float64))
        np.testing.assert_array_equal(np.isnan(got.view(np.float64)), nan)
        np.testing.assert_array_equal(np.where(nan, 0, got), np.where(nan, 0, expected))


@pytest.mark.parametrize(("option", "name"), [("drcp", "frcp"), ("ddiv", "fdiv"), ("dsqrt", "fsqrt"), ("drsq", "frsq")])
def test_options_of_quotients_and_roots(option: str, name: str) -> None:
    operation = OPERATIONS[NAMES.index(f"{name}-d")]
    inputs = operation.inputs(256, np.random.default_rng(3))
    others = "+".join(each for each in ("drcp", "ddiv", "dsqrt", "drsq") if each != option)
    shader = lanes_shader(body_of(operation), operation.sizes(), 64, 256)
    assert not lower_doubles.run(shader, {"lower": others})
    assert lower_doubles.run(shader, {"lower": option})
    got, expected = run_lanes(shader, inputs, 64), operation.expected(*inputs)
    nan = np.isnan(expected.view(np.float64))
    np.testing.assert_array_equal(np.isnan(got.view(np.float64)), nan)
    apart = np.where(nan, 0, np.abs(got.view(np.int64) - expected.view(np.int64)))
    # What is expected of frsq has itself been rounded twice.
    assert apart.max() <= (2 if name == "frsq" else 1)


def test_what_software_does_not_do_is_refused() -> None:
    shader = lanes_shader(lambda b, x: b.intrinsic("reduce", x, bit_size=64, reduction_op=build.ALU["fadd"]), [64], 64, 64)
    with pytest.raises(UnsupportedError, match="software fp64: reduce of doubles"):
        pyaco.compile(shader, TARGET, fp64="software")
    shader = lanes_shader(lambda b, x: b.alu("ball_fequal2", b.vec(x, x), b.vec(x, x)), [64], 32, 64)
    with pytest.raises(UnsupportedError, match="software fp64: ball_fequal2 of 64 bits"):
        lower_doubles.run(shader, {"lower": "software"})
    shader = lanes_shader(opcode_body("fadd"), [64, 64], 64, 64)
    shader.set_info(float_controls=0x4000)
    with pytest.raises(UnsupportedError, match="rounded toward zero"):
        pyaco.compile(shader, TARGET, fp64="software")


# --------------------------------------------------------------------------------------------------------- a shader of GLSL
def run_shader(target: str, **options: Any) -> list[NDArray[Any]]:
    """The buffers of tests/shaders/double_arithmetic after a dispatch."""
    from cases import CASES

    case = CASES["double_arithmetic"]
    inputs = case.inputs()
    shader = pyaco.compile(case.spirv, target, validate=True, **options)
    device = Device(target)
    buffers: dict[Any, Any] = {key: device.buffer(each.data.copy()) for key, each in inputs.buffers.items()}
    device.dispatch(shader, case.groups, buffers=buffers, push=inputs.push)
    return [each.numpy().copy() for each in buffers.values()]


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx1200"])
def test_a_shader_in_software(target: str) -> None:
    """Quotients and roots of hardware may be wrong in the last place, and so what is made of them."""
    hardware = run_shader(target)
    choices: list[dict[str, Any]] = [{"fp64": "software"}, {"fp64": "software", "int64": "all"}, {"fp64": "lowered"}]
    for options in choices:
        for expected, got in zip(hardware, run_shader(target, **options), strict=True):
            np.testing.assert_allclose(got, expected, rtol=8 * 2.0**-52, atol=1e4 * 2.0**-50)
