"""How deep blocks stand in loops and ifs, read off the text of a program: as instruction selection counted it."""

from __future__ import annotations

import pytest
from cases import CASES
from radv_cycles import Nesting, read_blocks

from pyaco import spirv
from pyaco._core.aco import isel
from pyaco.aco import format_program
from pyaco.nir import passes


@pytest.mark.parametrize("level", [110, pytest.param(90, marks=pytest.mark.slow)])
def test_depths_are_those_of_instruction_selection(level: int) -> None:
    deepest = [0, 0, 0]
    for case in CASES.values():
        shader = spirv.read(case.spirv.read_bytes(), case.entry, case.spec)
        shader.set_info(gfx_level=level, wave_size=64, address32_hi=0xFFFF8000)
        passes.run(shader)
        program = isel.run(shader)
        nesting = Nesting(read_blocks(format_program(program)))
        for place, (found, column) in enumerate(zip((nesting.loops, nesting.uniform, nesting.divergent),
                                                    ("loop_depth", "uniform_if_depth", "divergent_if_depth"), strict=True)):
            depths = getattr(program.blocks, column).tolist()
            assert found == depths, (case.name, column)
            deepest[place] = max(deepest[place], *depths)
    assert min(deepest) >= 2
