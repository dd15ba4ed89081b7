"""The tables that the build makes for the text kernels: they are there, they are those of the sources, and no others are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyaco import isa
from pyaco.isa import text_tables
from pyaco.isa.processors import processor, processors


@pytest.fixture
def none_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "_loaded", {})


def test_every_processor_has_tables() -> None:
    assert not [name for name in processors() if not text_tables._kept_tables(name)], "build the room isa"
    assert not text_tables._kept_tables("gfx9999") and not text_tables._kept_tables("../isa/generated/gfx900")


@pytest.mark.parametrize("name", ["gfx810", "gfx950", "gfx1030", "gfx1200"])
def test_kept_tables_are_those_of_the_sources(name: str) -> None:
    assert bytes(text_tables._kept_tables(name)).startswith(text_tables.compute_tables(*processor(name)))


def test_tables_of_other_sources_are_not_used(none_loaded: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "_KEPT", str(tmp_path))
    other = text_tables.compute_tables(*processor("gfx803"))
    (tmp_path / "gfx900.tables").write_bytes(other + b"[(1, 2)]")
    assert isa.disassemble(isa.assemble("ds_read_addtid_b32 v0", "gfx900"), "gfx900") == "\tds_read_addtid_b32 v0\n"
    assert text_tables.text_tables("gfx900").target == "gfx900"
    text_tables._loaded.clear()
    dates, _, contents = text_tables.sources().partition(b"\n")
    (tmp_path / "gfx900.tables").write_bytes(other + dates + b"\n" + contents)
    assert text_tables.text_tables("gfx900").target == "gfx803"
    text_tables._loaded.clear()
    (tmp_path / "gfx900.tables").write_bytes(other + b"other dates\n" + contents)  # git changes times alone
    assert text_tables.text_tables("gfx900").target == "gfx803"
    text_tables._loaded.clear()
    (tmp_path / "gfx900.tables").write_bytes(other + b"other dates\n" + contents + b" ")
    assert text_tables.text_tables("gfx900").target == "gfx900"


def test_current_tables_are_known_by_the_dates_of_their_sources(none_loaded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "_contents", lambda: pytest.fail("read"))
    assert text_tables.text_tables("gfx900").target == "gfx900"


def test_tables_of_an_installation_need_no_sources(none_loaded: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "_KEPT", str(tmp_path))
    monkeypatch.setattr(text_tables, "sources", lambda: pytest.fail("looked at"))
    (tmp_path / "gfx900.tables").write_bytes(text_tables.compute_tables("gfx900", 90))
    assert text_tables.text_tables("vega10").target == "gfx900"


# The last begins with v_cndmask_b32 v0, s0, v0, and as records of RADV do.
@pytest.mark.parametrize(("verb", "data"), [("asm", b"s_endpgm\n"), ("disasm", b"\0\0\x81\xbf"), ("disasm", b"\0\0\0\0\0\0\x81\xbf")])
def test_a_command_loads_what_it_needs(verb: str, data: bytes, tmp_path: Path) -> None:
    """Start-up is most of what a short command takes: neither the opcode table nor the IR, and little of Python's library."""
    (tmp_path / "in").write_bytes(data)
    code = f"import os, sys; before = set(sys.modules); from pyaco.cli import main; main(['{verb}', '--target', 'gfx900', 'in', '-o', 'out'])"
    # kernels with sanitizers need their library
    environment = {name: os.environ[name] for name in ("LD_PRELOAD", "ASAN_OPTIONS") if name in os.environ}
    environment["PYTHONPATH"] = str(Path(isa.__file__).parents[2])
    code += "; print(*(sys.modules.keys() - before))"
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    loaded = set(found.stdout.split())
    assert {name for name in loaded if not name.startswith(("pyaco", "_cython", "cython_runtime"))} == ({"__future__"} if verb == "asm" else set())
    assert not loaded & {"pyaco.targets", "pyaco._core.ir", "pyaco._core.common", "pyaco.isa.opcodes"}
