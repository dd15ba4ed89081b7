"""A slice of the hostile streams; ``fuzz_streams.py`` runs as many as are asked for."""

from __future__ import annotations

import fuzz_streams


def test_hostile_streams_end_with_a_place() -> None:
    said = fuzz_streams.run(0, 1500, [fuzz_streams.Ground(target) for target in fuzz_streams.TARGETS])
    assert sum(said["ends"].values()) == 1500
    assert said["ends"]["executed"] > 100 and said["decoded"] > 500
    assert said["longest"]["seconds"] < 10
