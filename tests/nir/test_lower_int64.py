"""Every option of ``lower_int64``: alone and with all others, the interpreter computes what it did before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from opcode_shaders import compare, interesting, opcode_body

import pyaco
from pyaco._core.ir.shader import Shader
from pyaco._core.nir import build, lower_int64, validate
from pyaco.errors import InputError
from pyaco.nir import passes
from pyaco.nir.builder import Builder
from pyaco.targets.lowering import AMD_DOUBLES, AMD_INT64, DoublesLowering, Int64Lowering, doubles_lowering, int64_lowering, spelled

COUNT = 192

Body = Callable[..., int]


def inputs(*sizes: int) -> list[np.ndarray]:
    """Random operands of these sizes with the edges among them."""
    return [interesting(bits, COUNT, seed) for seed, bits in enumerate(sizes)]


def _divisors() -> list[np.ndarray]:
    n, d = inputs(64, 64)
    d[d == 0] = 3
    d[(n == 1 << 63) & (d == (1 << 64) - 1)] = 3
    return [n, d]


def _near() -> list[np.ndarray]:
    """Operands that are often equal, or equal in one half."""
    x, y, choice = inputs(64, 64, 32)
    low = np.uint64(0xFFFFFFFF)
    y = np.select([choice % 4 == 0, choice % 4 == 1, choice % 4 == 2], [x, (x & low) | (y & ~low), (y & low) | (x & ~low)], y)
    return [x, y]


def _fields() -> tuple[np.ndarray, np.ndarray]:
    offset = inputs(32)[0] % 64
    width = (interesting(32, COUNT, 9) % (65 - offset)).astype(np.uint32)
    offset[:3], width[:3] = [0, 0, 63], [64, 0, 1]
    return offset.astype(np.uint32), width


def _indices(pieces: int) -> list[np.ndarray]:
    x, index = inputs(64, 64)
    return [x, index % np.uint64(pieces)]


def _floats() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    return [(random.uniform(1, 2, COUNT) * 2.0 ** random.integers(-3, 62, COUNT)).astype(np.float32).view(np.uint32)]


def _scan(name: str, operation: str, **facts: int) -> Body:
    return lambda b, x: b.intrinsic(name, x, bit_size=64, reduction_op=build.ALU[operation], **facts)


def _move(name: str, operand: Callable[[Builder], tuple[int, ...]] = lambda b: (), **facts: int) -> Body:
    return lambda b, x: b.intrinsic(name, x, *operand(b), bit_size=64, **facts)


def _lane(b: Builder) -> tuple[int, ...]:
    return (b.ixor(b.load_subgroup_invocation(), b.imm(5)),)


_Case = tuple[str, str, Body, Callable[[], list[np.ndarray]], int]


def _cases() -> list[_Case]:
    """Option, name, body, operands, bits of the result."""
    cases: list[_Case] = []

    def add(option: str, names: str, operands: Callable[[], list[np.ndarray]], result: int = 64) -> None:
        cases.extend((option, name, opcode_body(name), operands, result) for name in names.split())

    def two() -> list[np.ndarray]:
        return inputs(64, 64)

    def three() -> list[np.ndarray]:
        return inputs(64, 64, 64)

    add("imul64", "imul", two)
    add("imul_high64", "imul_high umul_high", two)
    add("imul_2x32_64", "imul_2x32_64 umul_2x32_64", lambda: inputs(32, 32))
    add("divmod64", "udiv idiv umod imod irem", _divisors)
    add("iadd64", "iadd isub", two)
    add("iadd3_64", "iadd3", three)
    add("logic64", "iand ior ixor", two)
    add("logic64", "inot", lambda: inputs(64))
    add("logic64", "bitfield_select", three)
    add("logic64", "bitz bitnz", lambda: inputs(64, 32), 32)
    add("shift64", "ishl ishr ushr urol uror", lambda: inputs(64, 32))
    add("icmp64", "ieq ine ilt ige ult uge", _near, 32)
    add("minmax64", "imin imax umin umax", two)
    add("minmax64", "imin3 imax3 imed3 umin3 umax3 umed3", three)
    add("iadd_sat64", "iadd_sat isub_sat", two)
    add("uadd_sat64", "uadd_sat uadd_carry", two)
    add("usub_sat64", "usub_sat usub_borrow", two)
    for name in ("iabs", "isign", "ineg", "bitfield_reverse"):
        add(f"{name}64", name, lambda: inputs(64))
    add("bit_count64", "bit_count", lambda: inputs(64), 32)
    add("find_lsb64", "find_lsb", lambda: inputs(64), 32)
    add("ufind_msb64", "ufind_msb ufind_msb_rev", lambda: inputs(64), 32)
    add("extract64", "extract_u8 extract_i8 insert_u8", lambda: _indices(8))
    add("extract64", "extract_u16 extract_i16 insert_u16", lambda: _indices(4))
    add("bitfield_extract64", "ubitfield_extract ibitfield_extract", lambda: [*inputs(64), *_fields()])
    add("bitfield_extract64", "bitfield_insert", lambda: [*inputs(64, 64), *_fields()])
    for bits in (16, 32, 64):
        add("conv64", f"i2f{bits} u2f{bits}", lambda: inputs(64), bits)
    add("conv64", "f2i64 f2u64", _floats)
    for bits in (8, 16, 32):
        add("mov64", f"i2i{bits} u2u{bits}", lambda: inputs(64), bits)
        add("mov64", "i2i64 u2u64", partial(inputs, bits))
    cases.append(("mov64", "b2i64", lambda b, x, y: b.b2i64(b.ilt(x, y)), lambda: inputs(32, 32), 64))
    cases.append(("bcsel64", "bcsel", lambda b, x, y, z: b.bcsel(b.ilt(z, b.imm(0)), x, y), lambda: inputs(64, 64, 32), 64))

    def one() -> list[np.ndarray]:
        return inputs(64)

    for name in ("reduce", "inclusive_scan", "exclusive_scan"):
        for operation in ("iand", "ior", "ixor"):
            cases.append(("scan_reduce_bitwise64", f"{name} {operation}", _scan(name, operation), one, 64))
        cases.append(("scan_reduce_iadd64", f"{name} iadd", _scan(name, "iadd"), one, 64))
    cases.append(("scan_reduce_iadd64", "reduce of 8", _scan("reduce", "iadd", cluster_size=8), one, 64))
    cases.append(("vote_ieq64", "vote_ieq", lambda b, x: b.b2i32(b.vote_ieq(b.umin(x, b.imm(0, 64)))), one, 32))
    cases.append(("vote_ieq64", "vote_ieq of others", lambda b, x: b.b2i32(b.vote_ieq(x)), one, 32))
    for name in ("read_first_invocation", "quad_swap_horizontal", "quad_swap_vertical", "quad_swap_diagonal"):
        cases.append(("subgroup_shuffle64", name, _move(name), one, 64))
    for name in ("shuffle", "shuffle_xor"):
        cases.append(("subgroup_shuffle64", name, _move(name, _lane if name == "shuffle" else lambda b: (b.imm(3),)), one, 64))
    for name in ("read_invocation", "quad_broadcast"):
        cases.append(("subgroup_shuffle64", name, _move(name, lambda b: (b.imm(2),)), one, 64))
    return cases


CASES = _cases()


@pytest.mark.parametrize("together", [False, True], ids=["alone", "all"])
@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[1].replace(' ', '_')}-{i}" for i, case in enumerate(CASES)])
def test_each_option(case: _Case, together: bool) -> None:
    option, _, body, operands, result = case
    lower = "all" if together else option

    def run(shader: Shader) -> None:
        assert lower_int64.remaining(shader, option), "the case has nothing of its option"
        assert lower_int64.run(shader, {"lower": lower})
        validate.run(shader)
        assert lower_int64.remaining(shader, lower) == []

    before, after = compare(body, operands(), result, run)
    np.testing.assert_array_equal(before, after)


def test_every_option_has_a_case() -> None:
    assert {case[0] for case in CASES} == {option.name.lower() for option in Int64Lowering if option.name}


def test_only_chosen_options_are_lowered() -> None:
    shader = product_shader()
    assert set(lower_int64.remaining(shader, "all")) >= {"imul", "iadd", "ushr"}
    lower_int64.run(shader, {"lower": "imul64"})
    left = lower_int64.remaining(shader, "all")
    assert "imul" not in left and {"iadd", "ushr"} <= set(left)
    assert lower_int64.run(shader, {"lower": "none"}) is False


# ----------------------------------------------------------------------------------------------------------- whole pipelines
def product_shader() -> Shader:
    """A shader with products, quotients, shifts and comparisons of 64 bits."""
    from opcode_shaders import lanes_shader

    def body(b: Builder, x: int, y: int) -> int:
        total = b.iadd(b.imul(x, y), b.ushr(x, b.imm(7)))
        return b.bcsel(b.ult(total, y), b.udiv(total, b.ior(y, b.imm(1, 64))), b.ixor(total, x))

    return lanes_shader(body, [64, 64], 64, 64)


def run_compiled(engine: str, **options: Any) -> np.ndarray:
    """What machine code of `product_shader` computes on the emulator."""
    from pyaco.emu import Device

    shader = pyaco.compile(product_shader(), "gfx1030", validate=True, **options)
    device = Device("gfx1030", engine=engine)
    x, y = inputs(64, 64)
    out = device.buffer(np.zeros(64, np.uint64))
    device.dispatch(shader, (1,), buffers={(0, 0): device.buffer(x[:64].copy()), (0, 1): device.buffer(y[:64].copy()), (0, 2): out})
    return out.numpy()


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_machine_code_computes_the_same_with_all_lowered(engine: str) -> None:
    x, y = (values[:64] for values in inputs(64, 64))
    total = x * y + (x >> np.uint64(7))
    expected = np.where(total < y, total // (y | np.uint64(1)), total ^ x)
    for int64 in ("hardware", "all", "iadd64+shift64", Int64Lowering.LOGIC64):
        np.testing.assert_array_equal(run_compiled(engine, int64=int64), expected)


def test_no_64_bit_alu_is_left_behind_the_last_pass() -> None:
    shader = product_shader()
    kept = []
    with passes.registered("last_shape", lambda shader: kept.append(lower_int64.remaining(shader)), "kept"):
        pyaco.compile(shader, "gfx1030", int64="all", fp64="software")
    assert kept == [[]]


# ----------------------------------------------------------------------------------------------------------------- choices
def test_choices() -> None:
    assert int64_lowering(103) == AMD_INT64
    assert doubles_lowering(103) == AMD_DOUBLES
    assert int64_lowering(103, "all") == sum(Int64Lowering)
    assert int64_lowering(103, "iadd64+shift64") == Int64Lowering.IADD64 | Int64Lowering.SHIFT64
    assert doubles_lowering(103, "software") & DoublesLowering.FP64_FULL_SOFTWARE
    assert not doubles_lowering(103, "lowered") & DoublesLowering.FP64_FULL_SOFTWARE
    assert int64_lowering(103, spelled(AMD_INT64)) == AMD_INT64
    assert spelled(Int64Lowering(0)) == "none"


def test_a_chip_that_has_neither_gets_both_lowered() -> None:
    """Levels below 60 stand for no chip of the tables: of what the table of features does not name, nothing is in hardware."""
    assert int64_lowering(50) == int64_lowering(50, "all")
    assert doubles_lowering(50) == doubles_lowering(50, "software")


@pytest.mark.parametrize("options", [{"int64": "imul65"}, {"fp64": "soft"}, {"int64": ""}])
def test_unknown_options(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="has no option"):
        pyaco.compile(product_shader(), "gfx1030", **options)


