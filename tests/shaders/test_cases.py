"""The common measure itself: every shader has a case, sources and SPIR-V agree, rules can fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import CASES, Case, Close, Exact

HERE = Path(__file__).resolve().parent


def test_every_shader_has_source_spirv_and_case() -> None:
    sources = {path.stem for path in HERE.glob("*.comp")} | {path.stem for path in HERE.glob("*.spvasm")}
    assert sources == {path.stem for path in HERE.glob("*.spv")} == {case.shader for case in CASES.values()}
    assert len(sources) >= 40


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_inputs_are_reproducible(case: Case) -> None:
    first, second = case.inputs(), case.inputs()
    assert first.push == second.push and first.buffers.keys() == second.buffers.keys()
    for key, buffer in first.buffers.items():
        assert buffer.data.tobytes() == second.buffers[key].data.tobytes()
        assert buffer.data.nbytes % 4 == 0


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.model], ids=lambda case: case.name)
@pytest.mark.parametrize("wave", [32, 64])
def test_models_fit_their_buffers(case: Case, wave: int) -> None:
    assert case.model is not None
    inputs = case.inputs()
    for key, expected in case.model(inputs, wave).items():
        assert expected.dtype == inputs.buffers[key].data.dtype and expected.size == inputs.buffers[key].data.size


def test_exact_sees_one_bit() -> None:
    values = np.array([1.0, -0.0, np.nan], np.float32)
    other = np.array([1.0, 0.0, np.nan], np.float32)
    assert Exact().difference(values, other).tolist() == [False, True, False]
    assert not Exact(unordered=True).difference(np.array([3, 1, 2]), np.array([1, 2, 3])).any()
    assert Exact(unordered=True).difference(np.array([3, 1, 2]), np.array([1, 1, 3])).any()


def test_close_holds_special_values_apart() -> None:
    expected = np.array([np.inf, np.nan, 1.0, 1.0], np.float32)
    actual = np.array([-np.inf, np.nan, 1.001, 1.1], np.float32)
    assert Close(relative=0.01).difference(expected, actual).tolist() == [True, False, False, True]


@pytest.mark.oracle
def test_committed_spirv_is_what_the_sources_compile_to() -> None:
    if not shutil.which("glslangValidator") or not shutil.which("spirv-val"):
        pytest.skip("glslangValidator or spirv-val is not installed")
    version = subprocess.run(["glslangValidator", "--version"], capture_output=True, text=True, check=False).stdout
    if "Glslang Version: 11:12.0.0" not in version:
        pytest.skip("another version of glslangValidator makes other words")
    subprocess.run([sys.executable, str(HERE / "build.py"), "--check"], check=True)
