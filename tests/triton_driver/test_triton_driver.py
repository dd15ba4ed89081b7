"""Triton kernels, compiled by Triton's AMD backend, on the emulator; NumPy arrays are enough for them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy.typing import NDArray

from pyaco.emu import MemoryFault
from pyaco.errors import InputError, UnsupportedError

pytest.importorskip("triton", reason="Triton is not installed")
import driver_kernels as kernels

from pyaco import triton as emulated
from pyaco.triton import Array

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1150", "gfx1200", "gfx1201")


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with emulated.activate(request.param):
        yield request.param


@pytest.fixture
def gfx942() -> Iterator[str]:
    with emulated.activate("gfx942"):
        yield "gfx942"


def random(*shape: int, dtype: Any = numpy.float32) -> NDArray[Any]:
    return numpy.random.default_rng(1).standard_normal(shape).astype(dtype)


def test_vector_add(target: str) -> None:
    x, y, out = random(1000), random(2000)[1000:], numpy.zeros(1000, numpy.float32)
    kernels.add[(4,)](Array(x), Array(y), Array(out), 1000, BLOCK=256)
    numpy.testing.assert_array_equal(out, x + y)


def test_a_grid_strides_over_rows(target: str) -> None:
    """``tl.num_programs`` is read from hidden arguments."""
    x, out = random(7, 90), numpy.zeros((7, 90), numpy.float32)
    kernels.softmax[(3,)](Array(x), Array(out), 7, 90, BLOCK=128)
    raised = numpy.exp(x - x.max(1, keepdims=True))
    numpy.testing.assert_allclose(out, raised / raised.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("warps", [1, 4])
def test_matrix_product(target: str, warps: int) -> None:
    """Matrix instructions, and tiles in dynamic LDS."""
    a, b, out = random(64, 128, dtype=numpy.float16), random(128, 64, dtype=numpy.float16), numpy.zeros((64, 64), numpy.float32)
    compiled = kernels.product[(1,)](Array(a), Array(b), Array(out), 64, 64, 128, 64, num_warps=warps)
    assert compiled.metadata.shared > 0
    numpy.testing.assert_allclose(out, a.astype(numpy.float32) @ b.astype(numpy.float32), atol=1e-3)


def test_scan_across_waves(target: str) -> None:
    x, out = numpy.arange(512, dtype=numpy.int32), numpy.zeros(512, numpy.int32)
    kernels.reverse_sum[(1,)](Array(x), Array(out), BLOCK=512)
    numpy.testing.assert_array_equal(out, numpy.cumsum(x[::-1]))


@pytest.mark.parametrize(("dtype", "name", "one"), [
    (numpy.int32, None, 1), (numpy.int64, None, 1), (numpy.float32, None, 0x3F800000), (numpy.float16, None, 0x3C00),
    (numpy.uint16, "bfloat16", 0x3F80),
])  # fmt: skip
def test_atomics(target: str, dtype: Any, name: str | None, one: int) -> None:
    out = numpy.zeros(8, dtype)
    kernels.count[(1,)](Array(out, name), 1)
    assert out.tobytes() == numpy.full(8, one, f"u{out.itemsize}").tobytes()


def test_an_atomic_at_the_end_of_an_odd_array(gfx942: str) -> None:
    """It works on the dword around the element, half of which is behind the array."""
    memory = bytearray(128)
    whole, owner = numpy.frombuffer(memory, numpy.uint16), numpy.frombuffer(memoryview(memory)[:18], numpy.uint16)
    kernels.count[(1,)](Array(owner[1:], "bfloat16"), 1)
    assert whole.tolist() == [0] + [0x3F80] * 8 + [0] * 55


def test_every_type_of_scalar(gfx942: str) -> None:
    out = numpy.zeros(7)
    values = (0.5, 1.25, 1e300, 1.5, 200, True, 1 << 40)
    kernels.types[(1,)](Array(out), *values)
    assert out.tolist() == [0.5, 1.25, numpy.inf, 1.5, 200, 1, 1 << 40]     # Python's floats are singles to Triton


def test_tuples_are_arguments(gfx942: str) -> None:
    x, out = random(64), numpy.zeros(64, numpy.float32)
    kernels.scale[(1,)](Array(x), Array(out), (2.0, 3), BLOCK=64)
    numpy.testing.assert_array_equal(out, x * 2 + 3)


# ------------------------------------------------------------------------------------------------------------- memory
def test_a_load_behind_an_array_is_a_fault_that_names_the_kernel(target: str) -> None:
    x, out = random(1000), numpy.zeros(1000, numpy.float32)
    with pytest.raises(MemoryFault, match=r"kernel add: .*load of 4 bytes.*right behind the end of the 4000-byte allocation"):
        kernels.add[(4,)](Array(x), Array(x), Array(out), 1001, BLOCK=256)


def test_nothing_stays_mapped_after_a_launch(gfx942: str) -> None:
    x, out = random(64), numpy.zeros(64, numpy.float32)
    arguments = numpy.array([Array(x).data_ptr()], numpy.int64)
    kernels.add[(1,)](Array(x), Array(x), Array(out), 64, BLOCK=64)
    with pytest.raises(MemoryFault):
        kernels.through_address[(1,)](Array(arguments), Array(out), BLOCK=64)


def test_shared_arrays_are_reached_through_addresses_in_memory(gfx942: str) -> None:
    x, out = random(64), numpy.zeros(64, numpy.float32)
    emulated.share(Array(x))
    try:
        kernels.through_address[(1,)](Array(numpy.array([Array(x).data_ptr()], numpy.int64)), Array(out), BLOCK=64)
        numpy.testing.assert_array_equal(out, x)
    finally:
        emulated.unshare(Array(x))
    with pytest.raises(InputError, match="not shared"):
        emulated.unshare(Array(x))


# ------------------------------------------------------------------------------------------------- devices and Triton
def test_one_kernel_on_several_devices() -> None:
    x, results = random(256), {}
    for name in ("gfx942", "gfx1100", "gfx942"):
        out = numpy.zeros(256, numpy.float32)
        with emulated.activate(name):
            compiled = kernels.add[(1,)](Array(x), Array(x), Array(out), 256, BLOCK=256)
        results[name] = compiled.metadata.target.arch
        numpy.testing.assert_array_equal(out, x + x)
    assert results == {"gfx942": "gfx942", "gfx1100": "gfx1100"}


def test_triton_finds_the_device_active_until_the_end() -> None:
    from triton.backends.amd.driver import HIPDriver
    from triton.runtime import driver

    before = HIPDriver.is_active()
    with emulated.activate("gfx942"):
        with emulated.activate("gfx1201"):
            assert driver.active.get_current_target().arch == "gfx1201"
        assert driver.active.get_current_target().arch == "gfx942"
        assert HIPDriver.is_active()
        driver.reset_active()
        assert driver.active.get_current_target().arch == "gfx942"
    assert HIPDriver.is_active() == before


def test_more_lds_than_the_chip_has_is_refused_by_triton(gfx942: str) -> None:
    from triton.runtime.errors import OutOfResources

    a, out = numpy.zeros((256, 256), numpy.float32), numpy.zeros((256, 256), numpy.float32)
    with pytest.raises(OutOfResources, match="65536"):
        kernels.product[(1,)](Array(a), Array(a), Array(out), 256, 256, 256, 256, num_warps=8)


def test_options_of_the_device_are_passed_on() -> None:
    x, out = random(64), numpy.zeros(64, numpy.float32)
    with emulated.activate("gfx942", profile=True):
        kernels.add[(1,)](Array(x), Array(x), Array(out), 64, BLOCK=64)
        report = emulated.last_report()
    assert report is not None and report.profile is not None


def test_a_launch_costs_little(gfx942: str) -> None:
    """About 0.06 ms on an idle machine, half of it Triton's own; ten times that is a mistake."""
    x, out = random(64), numpy.zeros(64, numpy.float32)
    arguments = Array(x), Array(x), Array(out), 64
    kernels.add[(1,)](*arguments, BLOCK=64)
    best = 1.0
    for _ in range(20):
        start = time.process_time()
        for _ in range(10):
            kernels.add[(1,)](*arguments, BLOCK=64)
        best = min(best, (time.process_time() - start) / 10)
    assert best < 5e-4


class Foreign:
    """A pointer that does not say how large its memory is."""

    dtype = "float32"

    def data_ptr(self) -> int:
        return 1 << 20


def test_what_is_refused(gfx942: str) -> None:
    with pytest.raises(UnsupportedError, match="emulat"):
        emulated.activate("gfx600")
    with pytest.raises(UnsupportedError, match="expected a tensor"):
        kernels.add[(1,)](Array(random(64)), Array(random(64)), Foreign(), 64, BLOCK=64)


# ------------------------------------------------------------------------------------------------ command and plugin
SCRIPT = """
import sys
import numpy, driver_kernels, triton
from pyaco.triton import Array
x, out = numpy.ones(64, numpy.float32), numpy.zeros(64, numpy.float32)
driver_kernels.add[(1,)](Array(x), Array(x), Array(out), 64, BLOCK=64)
print(triton.runtime.driver.active.get_current_target().arch, out.sum(), sys.argv[1:])
"""
PYTEST = """
import numpy, driver_kernels
from pyaco.triton import Array
def test_it():
    x, out = numpy.ones(64, numpy.float32), numpy.zeros(64, numpy.float32)
    driver_kernels.add[(1,)](Array(x), Array(x), Array(out), 64, BLOCK=64)
    assert out.sum() == 128
"""


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    path = os.pathsep.join((str(root), str(Path(__file__).parent)))
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path} | environment)


def test_scripts_run_on_a_device(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = run_python("-m", "pyaco.triton", "--device", "gfx1100", str(script), "--device", "a")
    assert ran.stdout == "gfx1100 128.0 ['--device', 'a']\n", ran.stderr
    ran = run_python("-m", "pyaco.triton", str(script), PYACO_TRITON="gfx942")
    assert ran.stdout == "gfx942 128.0 []\n", ran.stderr
    ran = run_python("-m", "pyaco.triton", "--device", "gfx600", str(script))
    assert ran.returncode == 3 and "gfx600" in ran.stderr
    assert run_python("-m", "pyaco.triton", str(script), PYACO_TRITON="").returncode == 2


def test_the_example_of_the_documents_runs(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "triton.md").read_text()
    lines = text[text.index("    import numpy, triton") :].split("\n\n`activate`")[0].splitlines()
    script = tmp_path / "example.py"
    script.write_text("\n".join(line[4:] for line in lines))
    ran = run_python(str(script))
    assert ran.stdout.startswith("2000.0 "), ran.stderr


def test_pytest_runs_on_a_device(tmp_path: Path) -> None:
    (tmp_path / "test_kernels.py").write_text(PYTEST)
    plugin = ["-p", "pyaco.triton.pytest_plugin", "-p", "no:cacheprovider"]
    ran = run_python("-m", "pytest", *plugin, "--pyaco-device", "gfx1200", str(tmp_path))
    assert ran.returncode == 0 and "emulated gfx1200" in ran.stdout, ran.stdout
    assert run_python("-m", "pytest", *plugin, str(tmp_path)).returncode == 1


RACE = """
import numpy, defective_triton_kernels
from pyaco.triton import Array
def test_it():
    defective_triton_kernels.lost_update[(4,)](Array(numpy.zeros(1, numpy.int32)))
"""


def test_pytest_runs_with_checks(tmp_path: Path) -> None:
    (tmp_path / "test_kernels.py").write_text(RACE)
    command = ["-m", "pytest", "-p", "pyaco.triton.pytest_plugin", "-p", "no:cacheprovider", str(tmp_path)]
    ran = run_python(*command, "--pyaco-device", "gfx1200", "--pyaco-check", "memory,waits")
    assert ran.returncode == 0 and "emulated gfx1200 with the checks memory,waits" in ran.stdout, ran.stdout
    ran = run_python(*command, "--pyaco-device", "gfx1200", "--pyaco-check", "races")
    assert ran.returncode == 1 and "kernel lost_update: race at memory" in ran.stdout, ran.stdout
    for options, expected in (
        (["--pyaco-device", "gfx1200", "--pyaco-check", "rases"], "no check 'rases'"),
        (["--pyaco-device", "gfx600"], "gfx600"),
        (["--pyaco-check", "races"], "which GPU?"),
    ):
        ran = run_python(*command, *options)
        assert ran.returncode == 4 and expected in ran.stderr and "Traceback" not in ran.stderr, ran.stderr
