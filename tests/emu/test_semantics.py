"""The table of instruction semantics: its names, its types, and what of the ISA it leaves out."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pyaco._core.emu.code import supported_opcodes
from pyaco.isa import opcodes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    specification = importlib.util.spec_from_file_location("generate_emulator", ROOT / "tools/generate_emulator.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["generate_emulator"] = module
    specification.loader.exec_module(module)
    return module


def test_every_name_is_an_opcode(generator: ModuleType) -> None:
    """A misspelt line would be left out of the kernels without a word. Comparisons are made for all types at once."""
    known = generator.opcode_names(ROOT)
    named = {
        name for operation in generator.read_semantics(ROOT) if operation.group != "compare" for name in operation.names
    }
    assert named <= known, sorted(named - known)


def test_types_and_counts_agree_with_the_isa(generator: ModuleType) -> None:
    """As many vector sources and results as the ISA table says the encoding has."""
    rows = {row.name: row for row in opcodes.rows()}
    implied = {"scc", "exec", "vcc", "m0"}
    for operation in generator.read_semantics(ROOT):
        kinds = [kind.removeprefix("old_") for kind in operation.sources + operation.results]
        assert set(kinds) <= set(generator.TYPES), operation.names
        if operation.scalar or operation.group == "compare":
            continue
        for name in operation.names:
            row = rows[name]
            assert len(operation.results) == len([word for word in row.definitions if word not in implied]), name
            encoded = [word for word in row.operands if word not in implied]
            # an old value that the table does not name as an operand is the destination's own
            sources = [kind for kind in operation.sources if kind != "mask"]
            if name == "v_dual_bitop2_b32":
                sources.pop()                               # its truth table is an immediate
            if len(sources) > len([word for word in encoded if word != "mask"]) and sources[-1].startswith("old_"):
                sources.pop()
            assert len(sources) == len([word for word in encoded if word != "mask"]), name


def test_what_is_missing_is_known() -> None:
    """No vector or scalar ALU instruction of GFX9 to GFX12.5 is missing but these."""
    supported = set(supported_opcodes())
    missing = {
        row.name
        for number, row in enumerate(opcodes.rows())
        if number not in supported
        and row.format in ("sop1", "sop2", "sopc", "sopk", "vop1", "vop2", "vopc", "vop3")
        and any(row.numbers.get(generation, -1) not in (-1, None) for generation in ("9", "10.3", "11", "12", "12.5"))
    }
    assert missing == {
        "s_rfe_b64", "s_rfe_restore_b64", "v_interp_p1ll_f16", "v_interp_p1lv_f16",
        "v_interp_p2_f16", "v_interp_p2_legacy_f16", "v_screen_partition_4se_b32",
    }  # fmt: skip
