"""A slice of the hostile streams; ``fuzz.py`` runs as many as are asked for."""

from __future__ import annotations

import fuzz


def test_hostile_streams_end_with_a_place():
    said = fuzz.run(0, 1500, [fuzz.Ground(target) for target in fuzz.TARGETS])
    assert sum(said["ends"].values()) == 1500
    assert said["ends"]["executed"] > 100 and said["decoded"] > 500
    assert said["longest"]["seconds"] < 10
