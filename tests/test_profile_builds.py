"""Profile-guided builds: what CMake refuses, that one folder's profiles serve another, that the tool that trains loads what it has built."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import machine_code_hashes
import pytest

import pyaco._core.common as room

ROOT = Path(__file__).parents[1]
CMAKE = shutil.which("cmake", path=f"{Path(sys.executable).parent}") or shutil.which("cmake")
needs_cmake = pytest.mark.skipif(CMAKE is None, reason="cmake is not installed")
#: A function that no other file sees has no name of its own: profiles once were not found for those, which kernels are made of.
PROGRAM = """
static __attribute__((noinline)) int half(int x) { return x / 2; }
int main(int count, char **) { return half(count - 1); }
"""


def configure(build: Path, profile: str, profiles: Path) -> subprocess.CompletedProcess[str]:
    """Run CMake with an option."""
    settings = [f"-DPYACO_PROFILE={profile}", f"-DPYACO_PROFILES={profiles}", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=None",
                "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]  # fmt: skip
    return subprocess.run([str(CMAKE), "-S", str(ROOT), "-B", str(build), *settings], capture_output=True, text=True)


def compile_program(build: Path, *arguments: str) -> None:
    """Compile `PROGRAM` as a build compiles a kernel that is trained."""
    commands = json.loads((build / "compile_commands.json").read_text())
    words = shlex.split(next(each["command"] for each in commands if each["file"].endswith("_core/common/table.cxx")))
    (build / "program.cxx").write_text(PROGRAM)
    subprocess.run([*words[: words.index("-o")], *arguments, "-o", "program.o", "-c", str(build / "program.cxx")], cwd=build, check=True)


@needs_cmake
@pytest.mark.slow
def test_profiles_of_one_folder_serve_another(tmp_path: Path) -> None:
    trained, used, profiles = tmp_path / "trained", tmp_path / "used", tmp_path / "profiles"
    if "needs GCC" in configure(trained, "GENERATE", profiles).stderr:
        pytest.skip("only GCC has profiles")
    compile_program(trained)
    subprocess.run(["g++", "-fprofile-generate", "program.o", "-o", "program"], cwd=trained, check=True)
    subprocess.run([str(trained / "program")], check=True)
    (profiles / "trained").touch()
    configure(used, "USE", profiles)
    compile_program(used, "-Werror=missing-profile")
    next(profiles.glob("*.gcda")).unlink()
    with pytest.raises(subprocess.CalledProcessError):
        compile_program(used, "-Werror=missing-profile")


@needs_cmake
@pytest.mark.parametrize(("profile", "complaint"), [("ON", "OFF, GENERATE or USE, not ON"), ("USE", "tools/train_profile.py makes them")])
def test_cmake_takes_no_profile_that_is_not_there(tmp_path: Path, profile: str, complaint: str) -> None:
    result = configure(tmp_path / "build", profile, tmp_path)
    assert result.returncode
    assert complaint in " ".join(result.stderr.split())


def test_kernels_of_a_build_are_found_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = tmp_path / "pyaco/_core/common"
    built.mkdir(parents=True)
    monkeypatch.setattr(room, "__path__", list(room.__path__))
    machine_code_hashes.use_kernels(tmp_path)
    assert room.__path__[0] == str(built)
    assert Path(room.__path__[1]) == ROOT / "pyaco/_core/common"
