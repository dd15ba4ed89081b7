"""The NIR validator finds what is broken on purpose, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import build, validate
from pyaco.nir.builder import Builder, Swizzled


def valid_shader() -> tuple[Builder, dict[str, int]]:
    """A loop around an if, with memory, a phi and a break; the names of its values."""
    b = Builder()
    v: dict[str, int] = {}
    v["index"] = b.load_local_invocation_index()
    v["one"] = b.imm(1)
    v["flag"] = b.ult(v["index"], v["one"])
    v["variable"] = b.deref_var(b.variable("function_temp", b.array(b.vector(2, "float"), 4)))
    v["element"] = b.deref_array(v["variable"], v["index"])
    v["loaded"] = b.load(v["element"])
    v["stored"] = b.store(v["element"], v["loaded"])
    with b.loop():
        v["inside"] = b.iadd(v["index"], v["one"])
        with b.if_(v["flag"]) as node:
            v["then"] = b.imul(v["inside"], v["inside"])
            v["then_block"] = b.block
        with b.else_(node):
            v["break"] = b.jump("break")
    v["after"] = b.iadd(v["one"], v["one"])
    return b, v


def test_sound_shader_passes() -> None:
    b, _ = valid_shader()
    assert validate.run(b.finish()) is False


def test_phi_is_accepted() -> None:
    b = Builder()
    x = b.load_local_invocation_index()
    condition = b.ult(x, b.imm(3))
    with b.if_(condition) as node:
        first, first_block = b.iadd(x, x), b.block
    with b.else_(node):
        second, second_block = b.imul(x, x), b.block
    b.phi((first, first_block), (second, second_block))
    validate.run(b.finish())


def set_column(table: str, column: str, row: int, value: int) -> Callable[[Shader], None]:
    def change(shader: Shader) -> None:
        with shader.edit():
            getattr(getattr(shader, table), column)[row] = value

    return change


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("bit size", "operand of another bit size|result of another bit size"),
        ("components", "another shape than its deref's type"),
        ("operand", "is in no block"),
        ("later", "does not dominate it|before it is defined"),
        ("swizzle", "reads a component"),
        ("deref type", "another type than its parent's elements"),
        ("deref mode", "no deref of its mode|disagrees with its variable"),
        ("write mask", "write mask"),
        ("condition", "not boolean"),
        ("block", "another block recorded"),
        ("links", "links disagree"),
        ("opcode", "another number of operands"),
    ],
)
def test_what_is_broken_is_found(what: str, message: str) -> None:
    b, v = valid_shader()
    shader = b.finish()
    first = shader.instructions.source_first[v["inside"]]
    node = int(shader.nodes.parent[v["then_block"]])
    changes = {
        "bit size": set_column("instructions", "bit_size", v["inside"], 64),
        "components": set_column("instructions", "components", v["loaded"], 3),
        "operand": set_column("sources", "value", first, 0),
        "later": set_column("sources", "value", first, v["then"]),
        "swizzle": set_column("sources", "swizzle", first, 3),
        "deref type": set_column("instructions", "type", v["element"], int(shader.instructions.type[v["variable"]])),
        "deref mode": set_column("instructions", "mode", v["variable"], 2),
        "write mask": set_column("indices", "value", int(shader.instructions.data[v["stored"]]), 7),
        "condition": set_column("nodes", "condition", node, v["inside"]),
        "block": set_column("instructions", "block", v["inside"], v["then_block"]),
        "links": set_column("nodes", "previous", node, 0),
        "opcode": set_column("instructions", "opcode", v["inside"], build.ALU["bcsel"]),
    }
    changes[what](shader)
    with pytest.raises(validate.ValidationError, match=message):
        validate.run(shader)


def test_phi_without_its_predecessors_is_found() -> None:
    b = Builder()
    x = b.load_local_invocation_index()
    with b.if_(b.ult(x, b.imm(3))) as node:
        value, block = b.iadd(x, x), b.block
    with b.else_(node):
        pass
    b.phi((value, block))
    with pytest.raises(validate.ValidationError, match="a source for each predecessor"):
        validate.run(b.finish())


def test_jump_in_the_middle_is_found() -> None:
    b = Builder()
    with b.loop():
        b.jump("break")
        b.imm(1)
    with pytest.raises(validate.ValidationError, match="not the last of its block"):
        validate.run(b.finish())


def test_jump_outside_loops_is_found() -> None:
    b = Builder()
    b.jump("break")
    with pytest.raises(validate.ValidationError, match="outside loops"):
        validate.run(b.finish())


def test_swizzled_operand_passes() -> None:
    b = Builder()
    ids = b.load_local_invocation_id()
    b.iadd(Swizzled((ids, (2, 1))), Swizzled((ids, (0, 0))))
    b2 = b.finish()
    with b2.edit():
        b2.instructions.components[len(b2.instructions) - 1] = 2
    validate.run(b2)
