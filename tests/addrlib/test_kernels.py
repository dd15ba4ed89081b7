"""Machine code of kernels on disk: it is used again, and not after a source of the package has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyaco

PROBE = '''
from pyaco.addrlib.arithmetic import align
from pyaco.addrlib.kernels import kernel


@kernel
def padded(value: int) -> int:
    """A kernel whose machine code holds that of another file's."""
    return align(value, 4)
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's Python files, with a kernel of its own."""
    folder = tmp_path / "pyaco"
    shutil.copytree(Path(pyaco.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__", "*.so", "_core", "generated"))
    (folder / "addrlib" / "probe.py").write_text(PROBE)
    return folder


def answer(package: Path) -> tuple[int, int]:
    """Return what the kernel gives for 5, and how many kernels were loaded from disk instead of being compiled."""
    code = "from pyaco.addrlib.probe import padded; print(padded(5), sum(padded.stats.cache_hits.values()))"
    found = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(package.parent)}, capture_output=True, text=True,
                           check=True, cwd=package.parent)
    value, hits = found.stdout.split()
    return int(value), int(hits)


def test_machine_code_is_kept_until_a_callee_changes(package: Path) -> None:
    assert answer(package) == (8, 0)
    assert answer(package) == (8, 1)
    source = package / "addrlib" / "arithmetic.py"
    text = source.read_text()
    assert "(value + alignment - 1) & -alignment" in text
    source.write_text(text.replace("(value + alignment - 1) & -alignment", "((value + alignment - 1) & -alignment) + 1"))
    assert answer(package) == (9, 0)


def test_rules_are_plain_functions_that_kernels_call() -> None:
    """A rule of GFX6 to GFX8 runs without numba, and over arrays gives the same."""
    code = """if True:
        import sys
        from pyaco.addrlib import gpu_config
        from pyaco.addrlib.v1.queries import surface_info
        surface_info(gpu_config("tonga"), tile_mode=4, width=100, height=50, bpp=32)
        assert "numba" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)
