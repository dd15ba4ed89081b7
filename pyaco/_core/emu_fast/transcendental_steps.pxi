# Transcendental operations on singles. Each works out all of its rows before it writes one, and leaves them to the step that is made of the table of
# semantics where a result is too near to halfway between two singles.
from isa_opcodes cimport op_v_cos_f32, op_v_exp_f32, op_v_exp_legacy_f32, op_v_log_f32, op_v_log_legacy_f32, op_v_sin_f32

cdef extern from "transcendental_rows.h" nogil:
    bint exp2_row(const uint32_t *source, uint32_t *result)
    bint log2_row(const uint32_t *source, uint32_t *result)
    bint sine_row(const uint32_t *source, uint32_t *result)
    bint cosine_row(const uint32_t *source, uint32_t *result)


cdef inline int _put_singles(Core *core, const Step *step, const uint32_t *values) noexcept nogil:
    cdef uint32_t specials = 0
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        specials |= put_single(core, step, half, values + row_lanes * half)
    if specials:
        return finish_specials(core, step, specials)
    return next_step(core, step)


cdef int _step_exp2(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t values[max_lanes]
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        if not exp2_row(source_row(core, step, 0, half), values + row_lanes * half):
            return _step_v_exp_f32(core, step)
    return _put_singles(core, step, values)


cdef int _step_log2(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t values[max_lanes]
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        if not log2_row(source_row(core, step, 0, half), values + row_lanes * half):
            return _step_v_log_f32(core, step)
    return _put_singles(core, step, values)


cdef int _step_sine(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t values[max_lanes]
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        if not sine_row(source_row(core, step, 0, half), values + row_lanes * half):
            return _step_v_sin_f32(core, step)
    return _put_singles(core, step, values)


cdef int _step_cosine(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t values[max_lanes]
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        if not cosine_row(source_row(core, step, 0, half), values + row_lanes * half):
            return _step_v_cos_f32(core, step)
    return _put_singles(core, step, values)


cdef void fill_transcendental_steps(StepFunction *table) noexcept nogil:
    """In place of those that are made of the table of semantics."""
    table[<int>op_v_exp_f32] = table[<int>op_v_exp_legacy_f32] = _step_exp2
    table[<int>op_v_log_f32] = table[<int>op_v_log_legacy_f32] = _step_log2
    table[<int>op_v_sin_f32] = _step_sine
    table[<int>op_v_cos_f32] = _step_cosine
