# Transcendental operations on singles and halves. Those on singles work out all of their rows before they write one, and leave them to the step that
# is made of the table of semantics where a result is too near to halfway between two singles.
from isa_opcodes cimport (op_v_cos_f16, op_v_cos_f32, op_v_exp_f16, op_v_exp_f32, op_v_exp_legacy_f32, op_v_log_f16, op_v_log_f32,
                          op_v_log_legacy_f32, op_v_rsq_f32, op_v_sin_f16, op_v_sin_f32)

cdef extern from "transcendental_rows.h" nogil:
    bint exp2_row(const uint32_t *source, uint32_t *result)
    bint log2_row(const uint32_t *source, uint32_t *result)
    bint sine_row(const uint32_t *source, uint32_t *result)
    bint cosine_row(const uint32_t *source, uint32_t *result)
    bint rsq_row(const uint32_t *source, uint32_t *result)
    void exp2_odd_row(const uint32_t *source, uint32_t *result)          # singles that are rounded to odd
    void log2_odd_row(const uint32_t *source, uint32_t *result)
    void sine_odd_row(const uint32_t *source, uint32_t *result)
    void cosine_odd_row(const uint32_t *source, uint32_t *result)


cdef inline int _after(Core *core, const Step *step, uint32_t specials) noexcept nogil:
    if specials:
        return finish_specials(core, step, specials)
    return next_step(core, step)


cdef inline int _put_singles(Core *core, const Step *step, const uint32_t *values) noexcept nogil:
    cdef uint32_t specials = 0
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        specials |= put_single(core, step, half, values + row_lanes * half)
    return _after(core, step, specials)


cdef inline uint32_t _put_narrowed(Core *core, const Step *step, uint32_t half, const uint32_t *values) noexcept nogil:
    """Singles that are rounded to odd, as halves."""
    cdef uint32_t halves[row_lanes]
    singles_to_halves(<const float *>values, halves)
    return put_half(core, step, half, halves)


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


cdef int _step_rsq(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t values[max_lanes]
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        if not rsq_row(source_row(core, step, 0, half), values + row_lanes * half):
            return _step_v_rsq_f32(core, step)
    return _put_singles(core, step, values)


cdef int _step_exp2_half(Core *core, const Step *step) noexcept nogil:
    cdef float singles[row_lanes]
    cdef uint32_t results[row_lanes]
    cdef uint32_t specials = 0
    cdef uint32_t half
    if core.round64:
        return step_fallback(core, step)
    for half in range(core.first_half, core.end_half):
        read_halves(core, source_row(core, step, 0, half), 0, singles)
        exp2_odd_row(<const uint32_t *>singles, results)
        specials |= _put_narrowed(core, step, half, results)
    return _after(core, step, specials)


cdef int _step_log2_half(Core *core, const Step *step) noexcept nogil:
    cdef float singles[row_lanes]
    cdef uint32_t results[row_lanes]
    cdef uint32_t specials = 0
    cdef uint32_t half
    if core.round64:
        return step_fallback(core, step)
    for half in range(core.first_half, core.end_half):
        read_halves(core, source_row(core, step, 0, half), 0, singles)
        log2_odd_row(<const uint32_t *>singles, results)
        specials |= _put_narrowed(core, step, half, results)
    return _after(core, step, specials)


cdef int _step_sine_half(Core *core, const Step *step) noexcept nogil:
    cdef float singles[row_lanes]
    cdef uint32_t results[row_lanes]
    cdef uint32_t specials = 0
    cdef uint32_t half
    if core.round64:
        return step_fallback(core, step)
    for half in range(core.first_half, core.end_half):
        read_halves(core, source_row(core, step, 0, half), 0, singles)
        sine_odd_row(<const uint32_t *>singles, results)
        specials |= _put_narrowed(core, step, half, results)
    return _after(core, step, specials)


cdef int _step_cosine_half(Core *core, const Step *step) noexcept nogil:
    cdef float singles[row_lanes]
    cdef uint32_t results[row_lanes]
    cdef uint32_t specials = 0
    cdef uint32_t half
    if core.round64:
        return step_fallback(core, step)
    for half in range(core.first_half, core.end_half):
        read_halves(core, source_row(core, step, 0, half), 0, singles)
        cosine_odd_row(<const uint32_t *>singles, results)
        specials |= _put_narrowed(core, step, half, results)
    return _after(core, step, specials)


cdef void fill_transcendental_steps(StepFunction *table) noexcept nogil:
    """In place of those that are made of the table of semantics."""
    table[<int>op_v_exp_f32] = table[<int>op_v_exp_legacy_f32] = _step_exp2
    table[<int>op_v_log_f32] = table[<int>op_v_log_legacy_f32] = _step_log2
    table[<int>op_v_sin_f32] = _step_sine
    table[<int>op_v_cos_f32] = _step_cosine
    table[<int>op_v_rsq_f32] = _step_rsq
    table[<int>op_v_exp_f16] = _step_exp2_half
    table[<int>op_v_log_f16] = _step_log2_half
    table[<int>op_v_sin_f16] = _step_sine_half
    table[<int>op_v_cos_f16] = _step_cosine_half
