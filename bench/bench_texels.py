"""Blocks of compressed texels decoded in a second, beside the decoders of the package index, on one core.

``blocks_per_second`` in the extra information: ours and each peer's, the best of several rounds taken in turns. Peers give other texels than ours in
places (``tests/oracle/texel_peers.py``); some write fewer channels than our four. Blocks are encoders' where there is one, else random.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from pyaco.formats import pixel_format
from pyaco.texels import decode

texel_peers = pytest.importorskip("texel_peers")

BLOCKS = 20_000
ROUNDS = 5
NAMES = [name for name in texel_peers.COMPARISONS if "ASTC" not in name or name.endswith(("ASTC_4x4", "ASTC_6x6", "ASTC_12x12"))]


@pytest.mark.parametrize("name", NAMES)
def test_decode(name: str, benchmark: BenchmarkFixture) -> None:
    comparison = texel_peers.COMPARISONS[name]
    across, down, _ = pixel_format(comparison.format).block
    if comparison.format in texel_peers.ENCODERS or "ASTC" in comparison.format:
        blocks = np.tile(texel_peers.encoded_blocks(comparison.format, BLOCKS // 20), (20, 1))
    else:
        blocks = texel_peers.random_blocks(comparison.format, BLOCKS)
    data = blocks.tobytes()
    width, height = across * texel_peers.COLUMNS, down * BLOCKS // texel_peers.COLUMNS
    contest: dict[str, Callable[[], object]] = {
        "ours": lambda: decode(data, comparison.format, width, height), comparison.peer: lambda: comparison.theirs(data, width, height),
    }  # fmt: skip
    best = dict.fromkeys(contest, 0.0)

    def take_turns() -> None:
        for who, run in contest.items():
            start = time.process_time()
            run()
            best[who] = max(best[who], BLOCKS / (time.process_time() - start))

    benchmark.pedantic(take_turns, rounds=ROUNDS)
    benchmark.extra_info["blocks_per_second"] = best
    print(f"{name}: " + ", ".join(f"{who} {rate / 1e6:.2f} M blocks/s" for who, rate in best.items()))
