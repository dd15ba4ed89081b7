# What a module of image steps consists of, whatever its vectors: images256.pyx and images512.pyx.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t  # no-cython-lint: for what is included
from libc.string cimport memcpy, memset  # no-cython-lint

from isa_tables cimport *
from modifiers cimport *
from pyaco._core.common.bits cimport popcount, trailing_zeros64  # no-cython-lint
from pyaco._core.common.machine cimport gfx9, gfx12  # no-cython-lint
from pyaco._core.emu.access cimport level_clamped, level_given, level_zero  # no-cython-lint
from pyaco._core.emu.global_memory cimport memory_operation  # no-cython-lint
from pyaco._core.emu.image_operands cimport *
from pyaco._core.emu.image_sample cimport *
from pyaco._core.emu.image_view cimport *
from pyaco._core.emu.texels cimport *  # no-cython-lint
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_fast.image_cache cimport *
from pyaco._core.emu_fast.step cimport *

include "pyaco/_core/emu_fast/image_steps.pxi"
include "pyaco/_core/emu_fast/image_sample_steps.pxi"
include "pyaco/_core/emu_fast/image_wave_steps.pxi"

cdef ImageSteps steps
fill_image_steps(&steps)


def table():
    """Address of the table of steps."""
    return <uint64_t>&steps
