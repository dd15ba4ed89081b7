"""Chained steps in vectors of 512 bits: compiled for such hosts; others cannot import it (lanes_guard.c)."""
include "pyaco/_core/emu_fast/chains.pxi"
