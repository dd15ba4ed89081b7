# What a module of chained steps consists of, whatever its vectors: chains256.pyx and chains512.pyx.
from libc.stdint cimport uint64_t

from pyaco._core.emu_fast.step cimport *

cdef extern from "chain_steps.h" nogil:
    enum:
        chain_last
        chain_forms
        chain_supported
    void fill_chains(StepFunction *table)

cdef StepFunction steps[<int>chain_last * <int>chain_forms]
fill_chains(steps)


def table():
    """Address of the table of forms by operation; 0 where functions do not take vectors in registers."""
    return <uint64_t>&steps if chain_supported else 0
