"""The column storage under both IRs: growth, views, the order of a rewrite."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy
import pytest
from cases import CASES
from hypothesis import given, settings
from hypothesis import strategies as st

import pyaco
from pyaco import spirv
from pyaco._core.aco import build
from pyaco._core.common import table
from pyaco._core.ir.program import Program
from pyaco._core.ir.shader import Shader
from pyaco.nir.passes import run


def program_with(instructions: int) -> Program:
    program = build.new_program(103, 64)
    build.add_temps(program, [0x21] * instructions)
    block = build.add_block(program, 1, 0)
    for temp in range(1, instructions + 1):
        build.add_instruction(program, block, temp % 100, 0x80, [(temp, 0xFFFF, 0x21, 1)], [(temp - 1, 0xFFFF, 0x21, 1)])
    return program


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3000))
def test_rows_survive_growth(count: int) -> None:
    program = program_with(count)
    order = program.order.instruction
    assert len(order) == count
    assert (program.instructions.opcode[order] == numpy.arange(1, count + 1) % 100).all()
    first = program.instructions.definition_first[order]
    assert (program.definitions.temp[first] == numpy.arange(1, count + 1)).all()
    assert (program.operands.data[program.instructions.operand_first[order]] == numpy.arange(count)).all()


@pytest.mark.skipif(not table.keeps_memory, reason="tables that move at every append take too long for so many rows")
def test_rows_survive_the_growth_of_large_tables() -> None:
    """From 8 MiB on, allocations are mappings: into one, in it, and with nothing left of it in the next table."""
    pattern = bytes([0x21, 1, 2])
    for _ in range(2):
        program = build.new_program(103, 64)
        for count in (1 << 18, 5 << 20, 4 << 20):
            build.add_temps(program, pattern * (count // 3))
        classes = program.temps.register_class[1:]
        assert classes.size == sum(count // 3 * 3 for count in (1 << 18, 5 << 20, 4 << 20))
        assert (classes.reshape(-1, 3) == list(pattern)).all()
        del classes, program


def test_views_share_the_storage_and_are_read_only() -> None:
    program = program_with(4)
    opcode = program.instructions.opcode
    with pytest.raises(ValueError, match="read-only"):
        opcode[1] = 7
    with program.edit():
        program.instructions.opcode[1] = 7
    assert opcode[1] == 7


def test_a_table_with_live_views_refuses_to_grow() -> None:
    program = program_with(4)
    view = program.temps.register_class
    with pytest.raises(BufferError, match="views"):
        build.add_temps(program, [0x21] * 100000)
    assert len(view) == 5
    assert len(program.temps) < 1000
    del view
    gc.collect()
    build.add_temps(program, [0x21] * 100000)
    assert len(program.temps) >= 100005


def test_views_outlive_the_program_object() -> None:
    opcode = program_with(300).instructions.opcode
    gc.collect()
    assert (opcode[1:] == numpy.arange(1, 301) % 100).all()


def test_a_new_shader_is_one_function_with_one_empty_block() -> None:
    shader = Shader()
    assert list(shader.nodes.kind) == [0, 1, 2]
    assert shader.nodes.first0[1] == shader.nodes.last0[1] == 2
    assert len(shader.order) == 0


def test_unknown_columns_and_facts_are_named() -> None:
    shader = Shader()
    with pytest.raises(AttributeError, match="colour"):
        _ = shader.instructions.colour
    with pytest.raises(AttributeError, match="colour"):
        shader.set_info(colour=1)


def test_no_kernel_gives_none_away() -> None:
    """Importing a kernel takes and releases None about as often: a deficit ends in an abort when the interpreter does."""
    script = """
import importlib, pkgutil, sys
import pyaco._core
for module in pkgutil.walk_packages(pyaco._core.__path__, "pyaco._core."):
    if module.name.endswith(("256", "512")):    # made for one processor
        continue
    before = sys.getrefcount(None)
    importlib.import_module(module.name)
    if before - sys.getrefcount(None) > 250:
        print(module.name, before - sys.getrefcount(None))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_memory_of_freed_tables_is_kept_zeroed() -> None:
    for _ in range(2):
        for case in list(CASES.values())[:12]:
            pyaco.compile(case.spirv)
    gc.collect()
    zero, total = table.kept_memory_is_zero()
    assert zero
    assert (0 < total < 4 << 20) if table.keeps_memory else total == 0


def test_rows_that_were_truncated_are_cleared_too() -> None:
    program = build.new_program(103, 64)
    build.set_constant_data(program, b"\xff" * 400)
    build.set_constant_data(program, b"")
    del program
    zero, _ = table.kept_memory_is_zero()
    assert zero


def test_metadata_and_names_are_made_once_and_are_ones_own() -> None:
    case = CASES["saxpy"]
    first, second = spirv.read(case.spirv.read_bytes()), spirv.read(case.spirv.read_bytes())
    metadata = first.metadata
    assert metadata is first.metadata
    assert metadata["descriptor_sets"]
    metadata["descriptor_sets"].clear()
    first.variable_names[1000] = "mine"
    assert first.variable_names[1000] == "mine"
    assert 1000 not in second.variable_names
    assert second.copy().variable_names == second.variable_names
    assert second.metadata["descriptor_sets"]


def test_abis_of_shaders_that_are_alike_are_ones_own() -> None:
    case = CASES["saxpy"]
    shaders = []
    for _ in range(3):
        shader = spirv.read(case.spirv.read_bytes())
        shader.set_target(103, 64, 0xFFFF8000)
        run(shader)
        shaders.append(shader)
    first, second, third = (shader.metadata["abi"] for shader in shaders)
    assert first == second == third
    first["user_sgprs"].clear()
    next(iter(second["descriptor_sets"].values()))["bindings"].clear()
    again = shaders[2].copy().metadata["abi"]
    assert again == third
    assert again["user_sgprs"]
    assert next(iter(again["descriptor_sets"].values()))["bindings"]


def test_what_was_changed_in_the_metadata_of_a_module_counts() -> None:
    case = CASES["saxpy"]
    plain = pyaco.compile(case.spirv, "gfx1030")
    shader = spirv.read(case.spirv.read_bytes())
    for bindings in shader.metadata["descriptor_sets"].values():
        bindings[7] = {"type": "ubo", "count": 1}
    changed = pyaco.compile(shader, "gfx1030")
    number = next(iter(shader.metadata["descriptor_sets"]))
    assert changed.abi is not None
    assert plain.abi is not None
    assert 7 in changed.abi.descriptor_sets[number].bindings
    assert 7 not in plain.abi.descriptor_sets[number].bindings
