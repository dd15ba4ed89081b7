"""``tl.device_print`` and ``tl.device_assert``: what a runtime on hardware prints, and an error that says where an assertion does not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from pyaco.emu import KernelAssertionError

pytest.importorskip("triton", reason="Triton is not installed")
import driver_kernels as kernels

from pyaco import triton as emulated

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1150", "gfx1200", "gfx1201")
LONG = "nothing else, and a long text with more than fifty-six characters in its format"


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with emulated.activate(request.param):
        yield request.param


def test_every_thread_prints_its_elements(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Threads that hold the same element each print it, so lines repeat equally often."""
    single, half, wide = numpy.arange(64) - 7.25, numpy.arange(64), numpy.arange(64) << 33
    kernels.say_all[(1, 2)](single.astype(numpy.float32), half.astype(numpy.float16), wide, BLOCK=64)
    lines = Counter(capsys.readouterr().out.splitlines())
    expected = {f"pid (0, {group}, 0) idx ({index:2}) {text}" for group in range(2) for index in range(64)
                for text in (f"single: {single[index]:f}", f"half: {half[index]:f}", f"wide: 0x{wide[index]:016x}")}  # fmt: skip
    expected |= {f"pid (0, {group}, 0) idx () {LONG}: {group}" for group in range(2)}
    assert set(lines) == expected
    warp = 64 if target.startswith("gfx9") else 32
    assert {count for line, count in lines.items() if "idx ()" in line} == {4 * warp}
    assert {count for line, count in lines.items() if "idx ()" not in line} == {4 * warp // 64}


def test_programs_print_in_order(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On one thread or several: calls of the host wait for earlier programs, as atomics do."""
    x = numpy.zeros(1, numpy.float32)
    kernels.say[(300,)](x, BLOCK=1, num_warps=1)
    programs = [int(line.split("(")[1].split(",")[0]) for line in capsys.readouterr().out.splitlines()]
    assert programs == sorted(programs) and set(programs) == set(range(300))


def test_an_assertion_that_does_not_hold(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    x, out = numpy.ones(384, numpy.float32), numpy.zeros(384, numpy.float32)
    kernels.insist[(3,)](x, out, BLOCK=128, debug=True)
    assert out.all() and not capsys.readouterr().err
    x[200:204] = -1
    with pytest.raises(KernelAssertionError) as raised:
        kernels.insist[(3,)](x, out, BLOCK=128, debug=True)
    source = Path(kernels.__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "tl.device_assert" in text)
    message = f"device assertion failed: 'must be positive', in unknown at {kernels.__file__}:{line}"
    place = raised.value.place
    assert place["assertion"] == message and place["kernel"] == "insist" and place["workgroup"] == (1, 0, 0)
    assert set(range(72, 76)) <= set(place["invocations"]) and {number % 128 for number in place["invocations"]} == set(range(72, 76))
    for part in ("kernel insist: device assertion failed: 'must be positive'", "(workgroup (1, 0, 0), invocations 72-75"):
        assert part in str(raised.value)
    assert isinstance(raised.value, RuntimeError)
    assert capsys.readouterr().err == (message + "\n") * len(place["invocations"])
    x[:] = 2
    kernels.insist[(3,)](x, out, BLOCK=128, debug=True)             # the device goes on
    assert (out == 2).all()


def test_assertions_are_off_without_debug(target: str) -> None:
    x, out = numpy.full(128, -1, numpy.float32), numpy.zeros(128, numpy.float32)
    kernels.insist[(1,)](x, out, BLOCK=128)
    assert (out == -1).all()


@pytest.mark.parametrize("name", TARGETS)
def test_printing_passes_the_checks(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with emulated.activate(name, check="memory,waits,races,barriers,uninitialized"):
        kernels.say[(2,)](numpy.zeros(64, numpy.float32), BLOCK=64)
    assert capsys.readouterr().out.count("operand 0") >= 128
