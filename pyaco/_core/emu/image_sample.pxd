"""Sampling: coordinates and level of detail to filtered components."""
from libc.stdint cimport uint32_t

from pyaco._core.emu.image_operands cimport ImageOperands
from pyaco._core.emu.image_view cimport ImageView, Sampler
from pyaco._core.emu.wave cimport Instruction, Machine, Wave

# The four components that a lane's sample, gather or query of the level of detail gives; integers where the format is one of integers.
cdef int sample_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                     const Sampler *sampler, uint32_t lane, uint32_t *result) noexcept nogil
