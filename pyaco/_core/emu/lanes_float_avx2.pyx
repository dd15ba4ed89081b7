"""Lane loops of float instructions for hosts with AVX2 and FMA: the same statements as ``lanes_float``, so the same results."""
from pyaco._core.emu.numbers cimport *
from pyaco._core.emu.wave cimport *

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    #pragma GCC target("avx2,fma")
    #endif
    """

include "emulator_float.pxi"
