"""The steps for the vectors that every processor has, on a processor that has wider ones too: tests of both engines once more, with these steps."""

from __future__ import annotations

import pytest
from test_engines import test_special_values, test_vector_alu  # noqa: F401  (collected here, where the fixture holds)
from test_lane_steps import test_engines_agree  # noqa: F401
from test_lds_engines import *  # noqa: F403
from test_matrix_engines import test_blocks, test_mixed_blocks, test_wave_matrices  # noqa: F401
from test_memory_values import *  # noqa: F403

from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu_fast import engine


@pytest.fixture(autouse=True)
def portable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make fast engines have these steps."""
    fast = engine.FastEngine

    def make(space: AddressSpace, gfx_level: int, threads: int = 1) -> engine.FastEngine:
        return fast(space, gfx_level, threads, 128)

    monkeypatch.setattr(engine, "FastEngine", make)
