# The steps of blocks for waves of which a part is idle; part of block.pyx.
#
# A wave64 often has all its active lanes in one half: chained steps are then those of a wave32, on the rows of that half. Such steps are made when
# the engine first meets a wave that needs them. Where no lane is active, what only writes rows does nothing, and is left out.
from libc.string cimport memcpy


cdef void _free_steps(Block *block) noexcept nogil:
    cdef uint32_t shape
    for shape in range(1, <uint32_t>shape_count):
        if block.steps[shape] != block.steps[0]:
            free(block.steps[shape])
    free(block.steps[0])


cdef void _keep_idle_steps(Block *block, const vector[Draft] *steps) noexcept nogil:
    """Put the scalar steps and the end of a block behind its steps, once more."""
    cdef Step *idle = block.steps[0] + block.step_count
    cdef uint32_t index
    block.idle = idle
    for index in range(block.step_count):
        if steps[0][index].scalar or steps[0][index].leaves:
            idle[0] = block.steps[0][index]
            idle += 1


cdef const Step *shaped_steps(const Blocks *blocks, Block *block, uint32_t shape) noexcept nogil:
    """The steps for a shape; NULL: out of memory."""
    cdef uint32_t first = row_lanes if shape == shape_high else 0
    cdef uint32_t index, slot
    cdef Step *step
    if block.steps[shape] != NULL:
        return block.steps[shape]
    step = <Step *>aligned_bytes(block.step_count * sizeof(Step))
    if step == NULL:
        return NULL
    memcpy(step, block.steps[0], block.step_count * sizeof(Step))
    block.steps[shape] = step
    for index in range(block.step_count):
        if block.rests[index].chain_form:
            step.function = blocks.kernels.chains[block.rests[index].chain_form + <uint32_t>chain_wave32]
            step.sgpr = <uint16_t>first
            for slot in range(3):
                step.offset[slot] += 4 * first
            step.destination += 4 * first
            step.mask_source += <uint8_t>(first // row_lanes)
        step += 1
    return block.steps[shape]
