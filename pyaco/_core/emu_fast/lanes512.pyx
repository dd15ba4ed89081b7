"""Steps over rows of lanes in vectors of 512 bits (AVX-512): compiled for such hosts; others cannot import it (lanes_guard.c)."""
include "pyaco/_core/emu_fast/lanes.pxi"
