"""Steps over rows of lanes in the vectors that every host of the architecture has, NEON and SSE2 among them."""
include "pyaco/_core/emu_fast/lanes.pxi"
