"""Malformed modules: an error that names a word, or valid NIR; never a crash or a hang."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from pyaco import InputError, UnsupportedError, spirv
from pyaco._core.nir import validate

SHADERS = sorted((Path(__file__).parents[1] / "shaders").glob("*.spv"))
HEADER_WORDS = 5


def instruction_starts(words: list[int]) -> list[int]:
    """Word offsets of the instructions of a sound module."""
    starts, at = [], HEADER_WORDS
    while at < len(words):
        starts.append(at)
        at += max(1, words[at] >> 16)
    return starts


def mutate(data: bytes, random_source: random.Random) -> bytes:
    """One to three random changes."""
    words = list(struct.unpack(f"<{len(data) // 4}I", data))
    for _ in range(random_source.choice((1, 1, 1, 2, 3))):
        starts = instruction_starts(words)
        if not starts:
            break
        kind = random_source.randrange(9)
        at = random_source.randrange(HEADER_WORDS, len(words))
        other = random_source.randrange(HEADER_WORDS, len(words))
        start = random_source.choice(starts)
        length = max(1, words[start] >> 16)
        if kind == 0:
            words[at] ^= 1 << random_source.randrange(32)
        elif kind == 1:
            words[at], words[other] = words[other], words[at]
        elif kind == 2:
            del words[start : start + length]
        elif kind == 3:
            words = words[:at]
        elif kind == 4:                        # another id of the module as an operand
            if length > 1:
                words[min(len(words) - 1, start + random_source.randrange(1, length))] = random_source.randrange(1, words[3] + 1)
        elif kind == 5:                        # another opcode of the same length
            words[start] = words[start] & 0xFFFF0000 | random_source.randrange(0, 420)
        elif kind == 6:                        # an instruction twice, somewhere
            words[other:other] = words[start : start + length]
        elif kind == 7:                        # two instructions in the other order
            second = random_source.choice(starts)
            if start + length <= second:
                size = max(1, words[second] >> 16)
                words = (
                    words[:start] + words[second : second + size] + words[start + length : second]
                    + words[start : start + length] + words[second + size :]
                )
        else:
            words[at] = random_source.choice((0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x10000, words[at] + 1 & 0xFFFFFFFF))
    return struct.pack(f"<{len(words)}I", *words)


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


@pytest.mark.parametrize("path", SHADERS[::7], ids=lambda path: path.stem)
def test_every_truncation_is_refused(path: Path) -> None:
    data = path.read_bytes()
    step = max(4, len(data) // 150 // 4 * 4)
    for size in range(0, len(data), step):
        with pytest.raises((InputError, UnsupportedError)):
            spirv.read(data[:size])
