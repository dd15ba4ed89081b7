"""A pytest plugin that puts pyaco in the place of tinygrad's own emulator.

From a checkout of tinygrad, with pyaco on the path::

    python -m pytest -p tests.oracle.pyaco_as_tinygrad_emulator test/amd/hw

Its instruction tests compare with values seen on hardware. tinygrad: https://github.com/tinygrad/tinygrad (MIT licence).
"""

from __future__ import annotations

import test.mockgpu.amd.emu as tinygrad_emulator

from pyaco import emu

tinygrad_emulator.run_asm = emu.run_asm
