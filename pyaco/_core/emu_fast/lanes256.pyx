"""Steps over rows of lanes in vectors of 256 bits (AVX2, FMA): compiled for such hosts, so import it only there."""
include "pyaco/_core/emu_fast/lanes.pxi"
