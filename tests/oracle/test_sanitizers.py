"""Planted defects in kernels that clang compiles: each check finds its own, and names kernel and line; clean kernels are left in peace."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hsa_launch import compile_kernels

from pyaco import emu
from pyaco.binary import CodeObject
from pyaco.cli import main
from pyaco.emu import Device, LocalMemory
from pyaco.emu.checks import CHECKS
from pyaco.errors import InputError

pytestmark = pytest.mark.oracle
SOURCE = Path(__file__).with_name("defective_kernels.cl")
LINES = {line.split()[-1]: number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if "// DEFECT" in line}
TARGETS = {"gfx900": 64, "gfx942": 64, "gfx1030": 32, "gfx1100": 32, "gfx1201": 32}
ZEROS = np.zeros(1024, np.uint32)
# The check that finds a defect (none: it stops a dispatch without any), the error, and the kernel's arguments.
DEFECTS: dict[str, tuple[str, type[emu.EmulationError], Callable[[], list[object]]]] = {
    "stray": ("", emu.MemoryFault, lambda: [ZEROS.copy(), ZEROS.copy()]),
    "beyond_lds": ("memory", emu.MemoryFault, lambda: [ZEROS.copy(), LocalMemory(1024)]),
    "misaligned": ("memory", emu.MemoryFault, lambda: [ZEROS.copy()]),
    "race_in_lds": ("races", emu.RaceError, lambda: [ZEROS.copy()]),
    "race_in_memory": ("races", emu.RaceError, lambda: [ZEROS.copy()]),
    "unwritten_lds": ("uninitialized", emu.UninitializedError, lambda: [ZEROS.copy(), 100]),
    "unwritten_stack": ("uninitialized", emu.UninitializedError, lambda: [ZEROS.copy(), 9]),
    "lost_wave": ("barriers", emu.BarrierError, lambda: [ZEROS.copy(), 64]),
}
CLEAN: dict[str, Callable[[], list[object]]] = {
    "clean": lambda: [ZEROS.copy(), LocalMemory(1024)], "same_value": lambda: [ZEROS.copy()], "lost_wave": lambda: [ZEROS.copy(), 256],
    "unwritten_lds": lambda: [ZEROS.copy(), 256], "unwritten_stack": lambda: [ZEROS.copy(), 16],
}  # fmt: skip
Build = Callable[[str], CodeObject]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("defective")
    return cache(lambda target: compile_kernels(SOURCE, target, TARGETS[target], "-O2", folder, "-g"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", DEFECTS)
def test_planted(name: str, target: str, build: Build) -> None:
    """The defect is found by its check and by all of them, and by no other."""
    pytest.importorskip("elftools")
    check, kind, arguments = DEFECTS[name]
    code = build(target)
    for checks in {check, "memory,waits,races,barriers" if check != "uninitialized" else "waits,uninitialized"}:
        with pytest.raises(kind) as caught:
            Device(target, check=checks).load(code)[name]((2,), (256,), *arguments())  # type: ignore[arg-type]
        place = caught.value.place
        lines = {place["source"], place.get("earlier", place)["source"]}
        assert place["kernel"] == name and (SOURCE.name, LINES[name]) in lines, place
        assert all(f"{file}:{line}" in str(caught.value) for file, line in lines)
        assert f"kernel {name}: " in str(caught.value) and place["instruction"].split()[0] in str(caught.value)
        assert json.loads(json.dumps(caught.value.to_dict()))["kind"] == (check or "memory")
    if check:
        # a wave that does not wait for another's store reads what nobody has written
        others = CHECKS.keys() - ({check, "uninitialized"} if name == "race_in_lds" else {check})
        Device(target, check=others).load(code)[name]((2,), (256,), *arguments())  # type: ignore[arg-type]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CLEAN)
def test_clean(name: str, target: str, build: Build) -> None:
    Device(target, check=CHECKS).load(build(target))[name]((1,), (256,), *CLEAN[name]())  # type: ignore[arg-type]


@pytest.mark.parametrize("target", TARGETS)
def test_stores_of_the_same_value(target: str, build: Build) -> None:
    """Waves that store the same value to the same place are counted, and reported where that is asked for."""
    code = build(target)
    report = Device(target, check="races").load(code)["same_value"]((2,), (128,), ZEROS.copy())
    assert report.same_value_stores == 2 * 128 - 64 and report.to_dict()["same_value_stores"] == 192
    with pytest.raises(emu.RaceError, match="nothing orders them"):
        Device(target, check="races", report_same_value=True).load(code)["same_value"]((2,), (128,), ZEROS.copy())


def test_command(build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text on standard error, JSON on standard output, and an exit status for CI."""
    path = tmp_path / "defective.hsaco"
    build("gfx1100")
    path.write_bytes(build("gfx1100")._data)
    command = ["run", str(path), "--kernel", "race_in_memory", "--grid", "256", "--workgroup", "256", "--arg", "zeros:4096"]
    assert main(command) == 0
    assert main([*command, "--check", "memory, waits"]) == 0
    assert main([*command, "--check", "memory,races", "--json"]) == 1
    output = capsys.readouterr()
    error = json.loads(output.out)["error"]
    assert error["kind"] == "races" and error["kernel"] == "race_in_memory" and error["earlier"]["wave"] != error["wave"]
    assert "race at memory" in output.err and error["message"] in output.err
    assert main([*command, "--check", "rases"]) == 2
    assert "no check 'rases': there are memory, waits, races, barriers, uninitialized" in capsys.readouterr().err
    assert main([*command[:3], "same_value", *command[4:], "--check", "races", "--report-same-value"]) == 1


def test_names() -> None:
    assert Device("gfx1100", check=["races", "waits"]).checks == {"races", "waits"}
    assert Device("gfx1100", check_waits=True, check=" memory,, ").checks == {"memory", "waits"}
    assert not Device("gfx1100").checks
    with pytest.raises(InputError, match="no check 'wait'"):
        Device("gfx1100", check="races,wait")
