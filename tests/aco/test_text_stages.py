"""The stage of a program in ACO IR's text: every software stage and merged pair on every hardware stage."""

from __future__ import annotations

import itertools

import pytest

from pyaco._core.aco import build
from pyaco._core.common.vocabulary import Word
from pyaco._core.ir.vocabulary import HardwareStage, SoftwareStage
from pyaco.aco.text import format_program, parse_program
from pyaco.errors import InputError

BODY = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n\ts_endpgm\n"


def with_stage(stage: str) -> str:
    return f"After Instruction Selection:\nACO shader stage: {stage}\n{BODY}"


def shown(software: Word) -> str:
    # As ACO prints it: the parts of a merged stage in the order of their bits, each with a plus behind.
    parts = [part.text for part in SoftwareStage.members() if software & part and not part & (part - 1)]
    return parts[0] if len(parts) == 1 else "".join(f"{part}+" for part in parts)


@pytest.mark.parametrize(("software", "hardware"), list(itertools.product(SoftwareStage.members(), HardwareStage.members())))
def test_every_stage_prints_and_parses(software: Word, hardware: Word) -> None:
    text = with_stage(f"SW ({shown(software)}), HW ({hardware.text})")
    program = parse_program(text, 103)
    assert build.stage(program) == (software, hardware)
    assert format_program(program) == text


def test_merged_stages_are_read_without_the_last_plus_too() -> None:
    program = parse_program(with_stage("SW (VS+GS), HW (LEGACY_GEOMETRY_SHADER)"), 103)
    assert build.stage(program) == (SoftwareStage.VS_GS, HardwareStage.LEGACY_GEOMETRY)
    assert "SW (VS+GS+), HW (LEGACY_GEOMETRY_SHADER)" in format_program(program)


def test_a_program_is_a_compute_shader_until_it_is_said_otherwise() -> None:
    assert build.stage(build.new_program(103, 64)) == (SoftwareStage.CS, HardwareStage.COMPUTE)
    assert build.stage(parse_program(BODY, 103)) == (SoftwareStage.CS, HardwareStage.COMPUTE)


@pytest.mark.parametrize("stage", [
    "SW (), HW (PIXEL_SHADER)", "SW (XS), HW (PIXEL_SHADER)", "SW (VS+VS), HW (PIXEL_SHADER)", "SW (VS+FS+), HW (PIXEL_SHADER)",
    "SW (FS), HW (SHADER)", "SW (FS), HW ()", "SW (FS)", "SW FS, HW PIXEL_SHADER", "",
])  # fmt: skip
def test_other_stages_are_refused(stage: str) -> None:
    with pytest.raises(InputError, match=r"line 2: .*stage"):
        parse_program(with_stage(stage), 103)
