"""Random instruction streams; ``fuzz.py`` runs as many as one likes."""

from __future__ import annotations

import pytest
from fuzz import TARGETS, Streams


@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_few_streams(target, wave):
    streams = Streams(target, wave, 11)
    for _ in range(120):
        streams.check()
    assert streams.ended > 5
    assert len(streams.seen) > 60


# Known defect: on GFX9 the engines part ways in stream 2069, where a jump leaves the code: the reference engine stops with an illegal
# instruction, the fast one goes on.
GFX9_JUMP = pytest.mark.xfail(strict=True, raises=AssertionError, reason="GFX9: a jump out of the code ends differently in the two engines")


@pytest.mark.slow
@pytest.mark.parametrize(("target", "wave"), [pytest.param(*one, marks=GFX9_JUMP if one[0] == "gfx900" else ()) for one in TARGETS])
def test_many_streams(target, wave):
    streams = Streams(target, wave, 12)
    for _ in range(5000):
        streams.check()
    assert len(streams.seen) > 300
