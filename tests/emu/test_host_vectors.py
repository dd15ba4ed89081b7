"""Modules of steps for wide vectors: those that this processor has, and an ImportError instead of a dead process for those that it lacks."""

from __future__ import annotations

import importlib
import platform
import shutil
import subprocess
import sys

import pytest

from pyaco._core.emu_fast.engine import vector_bits

WIDTHS = (128, 256, 512)


@pytest.mark.parametrize("bits", WIDTHS)
def test_import(bits: int) -> None:
    name = f"pyaco._core.emu_fast.lanes{bits}"
    if vector_bits() >= bits:
        assert all(importlib.import_module(name).tables())
    else:
        with pytest.raises(ImportError, match=f"steps for vectors of {bits} bits"):
            importlib.import_module(name)


@pytest.mark.oracle
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None or platform.machine() != "x86_64",
                    reason="qemu-x86_64 is not installed, or this is another processor")
@pytest.mark.parametrize("processor, bits", [("max", 512), ("Nehalem", 512), ("Nehalem", 256)])
def test_import_on_processors_without(processor: str, bits: int) -> None:
    """As emulated processors see it: ``max`` has AVX2 at most, Nehalem neither."""
    code = f"import pyaco._core.emu_fast.lanes{bits}"
    result = subprocess.run(["qemu-x86_64", "-cpu", processor, sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert f"ImportError: steps for vectors of {bits} bits, on a processor without such vectors" in result.stderr
