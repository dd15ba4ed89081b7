"""``pyaco surface``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyaco.cli import main


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["surface", "navi31", "1920x1080", "--scanout"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "swizzle mode: 256KB_R_X" in lines
    assert "displayable DCC: offset 10485760, size 49152, alignment 4096" in lines
    assert "  0: offset 0, stride 8192, size 10485760" in lines


def test_json_of_depth_on_gfx12(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["surface", "gfx1201", "1920x1080", "--format", "d32s8", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["stencil"] == {"offset": 8847360, "swizzle_mode": "64KB_2D"}
    assert facts["HiZ"]["tiles"] == [240, 136]


@pytest.mark.parametrize("chip", ["tonga", "vega10", "navi21", "navi31", "gfx1201"])
def test_explain_names_the_first_bits(chip: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["surface", chip, "640x480", "--levels", "1", "--explain"]) == 0
    text = capsys.readouterr().out
    assert "byte offset in a block:\nbit  0: 0\nbit  1: 0\nbit  2: x0\n" in text


def test_modifiers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["surface", "gfx1201", "--modifiers"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "0x0200000000042305  AMD GFX12 64KB_2D dcc=1 dcc_max_compressed_block=1"
    assert main(["surface", "navi31", "--modifiers", "--format", "bc7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_planes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["surface", "navi21", "101x75", "--format", "NV12"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("plane: 0\nstarts at: 0\n")
    assert "\nplane: 1\nstarts at: " in text
    assert main(["surface", "navi21", "101x75", "--format", "NV12", "--json", "--explain"]) == 0
    assert [plane["plane"] for plane in json.loads(capsys.readouterr().out)] == [0, 1]
    assert main(["surface", "navi21", "--format", "NV12", "--modifiers"]) == 0
    assert "dcc=1" not in capsys.readouterr().out


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["surface", "list", "--json"]) == 0
    assert {"navi31", "tahiti", "gfx1201"} <= {row["name"] for row in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize(("words", "status"), [
    (["navi99", "1x1"], 2), (["navi31"], 2), (["navi31", "64"], 2), (["navi31", "64x64", "--format", "rgb9"], 2),
    (["navi31", "0x64"], 2), (["vega10", "64x64", "--swizzle-mode", "9"], 2), (["navi31", "64x64", "--modifier", "what"], 2),
    (["navi31", "64x64", "--linear", "--samples", "4"], 2), (["navi31", "64x64", "--swizzle-mode", "64KB_Z", "--format", "bc7"], 2),
    (["gfx1201", "64x64", "--modifier", "0x200000000001f04"], 3),
])
def test_refusals(words: Any, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["surface", *words]) == status
    assert capsys.readouterr().err.startswith("pyaco: ")
