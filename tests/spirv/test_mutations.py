"""Malformed modules: an error that names a word, or valid NIR; never a crash or a hang."""

from __future__ import annotations

import os
import random
import signal
import zlib
from pathlib import Path

import mutated_modules
import pytest
from mutated_modules import SHADERS, mutate

from pyaco import InputError, UnsupportedError, spirv
from pyaco._core.nir import validate


def check(data: bytes) -> str:
    """Read a module; what comes out must be valid, and errors must say where."""
    try:
        shader = spirv.read(data)
    except InputError as error:
        assert str(error)
        return "input"
    except UnsupportedError:
        return "unsupported"
    validate.run(shader)
    return "read"


def run(first: int, count: int) -> dict[str, int]:
    outcomes = {"read": 0, "input": 0, "unsupported": 0}
    for seed in range(first, first + count):
        random_source = random.Random(seed)
        data = random_source.choice(SHADERS).read_bytes()
        outcomes[check(mutate(data, random_source))] += 1
    return outcomes


def test_mutated_modules() -> None:
    outcomes = run(0, 2000)
    assert sum(outcomes.values()) == 2000
    # The mutations bite, and not every one of them is fatal.
    assert outcomes["input"] > 800
    assert outcomes["read"] > 50


@pytest.mark.slow
def test_many_mutated_modules() -> None:
    run(100_000, 50_000)


@pytest.mark.slow
def test_mutated_modules_compile_or_are_refused(tmp_path: Path) -> None:
    """A part of what ``mutated_modules.py`` does at length: to machine code, in workers with limits of time and memory."""
    report = mutated_modules.run(range(20_000), mutated_modules.projects(None), tmp_path, workers=2)
    assert report.count == 20_000
    assert report.findings == []
    assert report.outcomes["shader"] > 4_000


def faulty(data: bytes, target: str) -> str:
    """A compiler that fails in every way, by what the module is."""
    kind = zlib.crc32(data) % 12
    if kind == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    while kind == 1:
        pass
    if kind == 2:
        raise KeyError(target)
    if kind == 3:
        bytearray(2 * mutated_modules.MEMORY)
    return "input"


def test_the_runner_sees_crashes_hangs_and_other_exceptions(tmp_path: Path) -> None:
    modules = mutated_modules.projects(None)
    report = mutated_modules.run(range(40), modules, tmp_path, judge=faulty, seconds=0.5)
    texts = {0: "worker ended: SIGSEGV", 1: "worker ended: SIGPROF", 2: "KeyError: ", 3: "MemoryError"}
    expected = {seed: texts[kind] for seed in range(40) if (kind := zlib.crc32(mutated_modules.module_of(seed, modules)[0]) % 12) in texts}
    assert set(texts.values()) == set(expected.values())
    assert report.count == 40
    found = dict(report.findings)
    assert found.keys() == expected.keys()
    assert {seed: found[seed][: len(text)] for seed, text in expected.items()} == expected
    assert report.outcomes["finding"] == len(expected)
    assert len(list(tmp_path.glob("*.spv"))) == len(expected)


@pytest.mark.parametrize("path", SHADERS[::7], ids=lambda path: path.stem)
def test_every_truncation_is_refused(path: Path) -> None:
    data = path.read_bytes()
    step = max(4, len(data) // 150 // 4 * 4)
    for size in range(0, len(data), step):
        with pytest.raises((InputError, UnsupportedError)):
            spirv.read(data[:size])
