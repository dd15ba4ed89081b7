"""Lane loops of integer vector instructions, generated from ``pyaco/emu/data/semantics.txt``."""
from pyaco._core.emu.numbers cimport *
from pyaco._core.emu.transcendental cimport *
from pyaco._core.emu.wave cimport *

include "emulator_integer.pxi"
