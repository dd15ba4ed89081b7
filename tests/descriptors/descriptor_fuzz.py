"""Mutated descriptors: ``python tests/descriptors/descriptor_fuzz.py [COUNT [SEED]]`` decodes COUNT of them and prints one JSON object.

Descriptors that drivers would write, of every kind and hardware level, get bits flipped, words swapped, cut, repeated, or made numbers that
are no dwords. Decoding must name every field, so that the fields put the words together again, or refuse with an ``InputError``.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from typing import Any

from pyaco.descriptors.buffer import buffer_descriptor
from pyaco.descriptors.decode import KINDS, decode
from pyaco.descriptors.layout import Binding, SetLayout
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.descriptors.sets import DescriptorSet
from pyaco.descriptors.types import DescriptorType
from pyaco.errors import InputError
from pyaco.registers import registers
from pyaco.registers.database import LEVELS

PLAIN_LEVELS = tuple(level for level in LEVELS if level not in (81, 94))


def seeds(level: int, rng: random.Random) -> dict[str, tuple[int, ...]]:
    buffer = buffer_descriptor(rng.getrandbits(48), rng.getrandbits(32), "R32G32_FLOAT", level, stride=rng.getrandbits(14))
    sampler = sampler_descriptor(Sampler(max_lod=rng.uniform(0, 15), lod_bias=rng.uniform(-16, 16)), level)
    return {"buffer": buffer, "sampler": sampler, "image": tuple(rng.getrandbits(32) for _ in range(8))}


def mutate(words: tuple[int, ...], rng: random.Random) -> list[int]:
    found = list(words)
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if not found or kind < 0.7:
            if found:
                found[rng.randrange(len(found))] ^= 1 << rng.randrange(32)
        elif kind < 0.8:
            found[rng.randrange(len(found))] = rng.choice((0, 0xFFFFFFFF, rng.getrandbits(32)))
        elif kind < 0.85:
            rng.shuffle(found)
        elif kind < 0.9:
            found = found[: rng.randint(0, len(found))]
        elif kind < 0.95:
            found += found[: rng.randint(1, len(found))]
        else:
            found[rng.randrange(len(found))] = rng.choice((-1, 1 << 32, 1 << 80, -(1 << 40)))
    return found


def check(kind: str, words: list[int], level: int) -> str:
    """Decode and say what came of it; raises AssertionError where the answer is wrong."""
    prefix, count = KINDS[kind]
    good = len(words) == count and all(0 <= word < 1 << 32 for word in words)
    try:
        found = decode(kind, words, level)
    except InputError:
        assert not good
        return "refused"
    assert good and len(found) == count
    known = registers(level)
    for number, word in enumerate(found):
        register = known[f"{prefix}{number}"]
        mask = sum({field.mask for field in register.fields}) if register.fields else 0
        together = 0
        for field in register.fields:
            together |= field.put(word.fields[field.name])
        assert word.value == words[number] and together == word.value & (mask if mask < 1 << 32 else together)
    return "decoded"


def whole_set(level: int, rng: random.Random) -> str:
    """Garbage in the memory of a set, read as what its layout says."""
    kinds = [kind for kind in DescriptorType if kind not in (DescriptorType.MUTABLE, DescriptorType.INLINE_UNIFORM_BLOCK)]
    made = DescriptorSet(SetLayout([Binding(number, rng.choice(kinds), rng.randint(0, 3)) for number in range(rng.randint(1, 5))]))
    made.memory[:] = rng.randbytes(len(made.memory))
    for _ in made.read(level):
        pass
    return "sets read"


def run(count: int, seed: int) -> dict[str, Any]:
    """Fuzz and count."""
    rng = random.Random(seed)
    results: Counter[str] = Counter()
    start = time.process_time()
    slowest = 0.0
    for number in range(count):
        level = PLAIN_LEVELS[number % len(PLAIN_LEVELS)]
        if number % 64 < len(PLAIN_LEVELS):
            sources = seeds(level, rng)
        kind = rng.choice(tuple(sources))
        before = time.process_time()
        if number % 50 == 0:
            results[whole_set(level, rng)] += 1
        else:
            results[check(kind, mutate(sources[kind], rng), level)] += 1
        slowest = max(slowest, time.process_time() - before)
    return {"tried": count, **results, "seconds": round(time.process_time() - start, 1), "slowest_milliseconds": round(slowest * 1000, 1)}


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]] + [500_000, 0][len(sys.argv) - 1 :]
    print(json.dumps(run(numbers[0], numbers[1]), indent=1))
