"""Random instruction streams; ``fuzz.py`` runs as many as one likes."""

from __future__ import annotations

import pytest
from fuzz import TARGETS, Streams


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_few_streams(target: str, wave: int) -> None:
    streams = Streams(target, wave, 11)
    for _ in range(120):
        streams.check()
    assert streams.ended > 5
    assert len(streams.seen) > 60


@pytest.mark.slow
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_many_streams(target: str, wave: int) -> None:
    streams = Streams(target, wave, 12)
    for _ in range(4000):
        streams.check()
    assert len(streams.seen) > 300
