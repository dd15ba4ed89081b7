from pyaco._core.emu_fast.step cimport StepFunction

# The step of a scalar operation on integers; NULL: there is none.
cdef StepFunction scalar_step_of(unsigned int opcode) noexcept nogil
