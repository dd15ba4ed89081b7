"""Image instructions: loads, stores, atomics and queries here, samples and gathers in ``image_sample``."""
from pyaco._core.emu.wave cimport Instruction, Machine, Wave

# The handler of all of them.
cdef int execute_image(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
