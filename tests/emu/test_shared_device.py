"""Python threads, and handlers of signals, that use one device."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from machine_code import Assemble

from pyaco.emu import Device
from pyaco.emu.device import ENGINES
from pyaco.errors import InputError

FILL = """
    v_and_b32 v0, 0x3ff, v0
    v_lshl_add_u32 v0, s3, 6, v0
    v_lshlrev_b32 v1, 2, v0
    v_add_nc_u32 v0, s2, v0
    global_store_b32 v1, v0, s[0:1]
    s_endpgm
"""
GROUPS = 40


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_share_a_device(assemble: Assemble, engine: str) -> None:
    """Each makes buffers, dispatches, checks what it gets, and releases them."""
    device = Device("gfx1100", engine, 2 if engine == "fast" else None)
    code = assemble(FILL, "gfx1100")

    def use(seed: int) -> bool:
        right = True
        for turn in range(12):
            results = device.buffer(np.zeros(64 * GROUPS, np.uint32))
            start = 1000 * seed + turn
            device.run(code, (GROUPS, 1, 1), (64, 1, 1), user_sgprs=(results.address & 0xFFFFFFFF, results.address >> 32, start),
                       workgroup_ids=(True, False, False))  # fmt: skip
            right &= bool((results.numpy() == start + np.arange(64 * GROUPS)).all())
            results.release()
        return right

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(use, range(4)))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_interrupts_a_dispatch_cannot_use_the_device(assemble: Assemble, engine: str) -> None:
    """A handler runs in the middle of a dispatch: what it asked for would change the memory under it."""
    device = Device("gfx1100", engine)
    code = assemble("here:\n s_branch here\n", "gfx1100")

    def interrupt(*_: object) -> None:
        device.zeros(64)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(InputError, match="at work"):
            device.run(code)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert device.zeros(64).size == 64
