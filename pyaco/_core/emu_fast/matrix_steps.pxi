# Matrix instructions: A and B become doubles, blocks are multiplied (matrix_products.h), and D is written once all of it is known. Results are
# the reference engine's to the bit: sums are made in the same order in double precision. Which NaN a sum becomes depends on the order of a
# host instruction's operands; what has one is left to the reference engine, before anything is written.
from pyaco._core.emu.matrix_shapes cimport *
from pyaco._core.emu.scaled cimport exponent_value
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu_fast.matrix_plan cimport *

cdef extern from "matrix_products.h" nogil:
    cdef struct Strips:
        const double *left
        const double *right
        const uint16_t *left_at
        const uint16_t *right_at
        unsigned int depth
    void add_block[Number](Number *sums, const Number *addends, const uint16_t *at, unsigned int size, const Strips *strips)
    void halves_to_doubles(const uint32_t *row, uint32_t flip, double *low, double *high)

ctypedef void (*Unpack)(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil
ctypedef bint (*Multiply)(Wave *wave, const MatrixPlan *plan, const double *left, const double *right) noexcept nogil

# Called through pointers, so that the compiler moves no arithmetic across the change of the host's control word.
cdef Unpack unpack_of[<int>kind_fp4 + 1]
cdef Multiply multiply_of[<int>kind_fp4 + 1]


# -------------------------------------------------------------------------------------------------------------- elements
cdef inline float _small_single(uint32_t bits, uint32_t width, uint32_t mantissa, uint32_t bias) noexcept nogil:
    """A float of a few bits without infinity or NaN; exact, denormals included."""
    cdef uint32_t magnitude = bits & ((<uint32_t>1 << (width - 1)) - 1)
    cdef float scaled = bits_float(magnitude << (23 - mantissa)) * bits_float((254 - bias) << 23)      # 2 ** (127 - bias)
    return bits_float(float_bits(scaled) | ((bits >> (width - 1)) << 31))


cdef inline float _integer_single(uint32_t bits, uint32_t sign) noexcept nogil:
    return <float>(<int32_t>(bits ^ sign) - <int32_t>sign)


cdef inline float _single_of(uint8_t kind, uint32_t bits, uint32_t flip, bint fnuz, bint has_sign) noexcept nogil:
    """An element, which may have other bits above it, as a single. `kind` is a constant wherever this is called."""
    cdef uint32_t rounded, special
    if kind == kind_bf16:
        return bits_float((bits << 16) ^ flip)
    if kind == kind_xf32:
        rounded = bits + 0xfff + ((bits >> 13) & 1)
        return bits_float((bits if (bits & 0x7f800000) == 0x7f800000 else rounded) & 0xffffe000U)
    if kind == kind_i8 or kind == kind_iu8:
        return _integer_single(bits & 0xff, 0x80 if has_sign else 0)
    if kind == kind_iu4:
        return _integer_single(bits & 15, 8 if has_sign else 0)
    if kind == kind_fp8:
        bits &= 0xff
        if fnuz:
            return bits_float(float_bits(_small_single(bits, 8, 3, 8)) | (0x7fc00000 if bits == 0x80 else 0))
        return bits_float(float_bits(_small_single(bits, 8, 3, 7)) | (0x7fc00000 if bits & 0x7f == 0x7f else 0))
    if kind == kind_bf8:
        bits &= 0xff
        if fnuz:
            return bits_float(float_bits(_small_single(bits, 8, 2, 16)) | (0x7fc00000 if bits == 0x80 else 0))
        special = 0x7f800000 if bits & 0x7c == 0x7c else 0
        return bits_float(float_bits(_small_single(bits, 8, 2, 15)) | special)
    if kind == kind_fp6:
        return _small_single(bits & 0x3f, 6, 3, 1)
    if kind == kind_bf6:
        return _small_single(bits & 0x3f, 6, 2, 3)
    if kind == kind_fp4:
        return _small_single(bits & 15, 4, 1, 1)
    return bits_float(bits)


cdef inline void _unpack(uint8_t kind, const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    """Elements of up to 32 bits in natural order."""
    cdef uint32_t width = kind_width(kind)
    cdef uint32_t words[chunk_lanes]
    cdef const uint32_t *row
    cdef double *target
    cdef uint32_t position, chunk, lane, shift, flip
    cdef bint fnuz = operand.fnuz
    cdef bint has_sign = operand.has_sign
    for position in range(operand.positions):
        shift = (position * width) & 31
        flip = (operand.flip if position & 1 else operand.flip << 16) & 0x80000000U
        for chunk in range(operand.chunks):
            row = registers + (position * width >> 5) * max_lanes + chunk_lanes * operand.chunk_from[chunk]
            target = elements + position * natural_lanes + chunk_lanes * chunk
            for lane in range(<uint32_t>chunk_lanes):
                words[lane] = row[lane] >> shift
            if shift + width > 32:
                for lane in range(<uint32_t>chunk_lanes):
                    words[lane] |= row[max_lanes + lane] << (32 - shift)
            for lane in range(<uint32_t>chunk_lanes):
                target[lane] = _single_of(kind, words[lane], flip, fnuz, has_sign)


cdef void _unpack_f16(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    cdef uint32_t position, chunk
    cdef double *target
    cdef double unused[chunk_lanes]
    for position from 0 <= position < operand.positions by 2:
        for chunk in range(operand.chunks):
            target = elements + position * natural_lanes + chunk_lanes * chunk
            halves_to_doubles(registers + (position >> 1) * max_lanes + chunk_lanes * operand.chunk_from[chunk], operand.flip, target,
                              target + natural_lanes if position + 1 < operand.positions else unused)


cdef void _unpack_f64(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    cdef uint32_t position, chunk, lane
    cdef const uint32_t *row
    for position in range(operand.positions):
        for chunk in range(operand.chunks):
            row = registers + 2 * position * max_lanes + chunk_lanes * operand.chunk_from[chunk]
            for lane in range(<uint32_t>chunk_lanes):
                elements[position * natural_lanes + chunk_lanes * chunk + lane] = bits_double(row[lane] | (<uint64_t>row[max_lanes + lane] << 32))


cdef void _unpack_bf16(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_bf16, operand, registers, elements)


cdef void _unpack_f32(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_f32, operand, registers, elements)


cdef void _unpack_xf32(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_xf32, operand, registers, elements)


cdef void _unpack_i8(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_i8, operand, registers, elements)


cdef void _unpack_iu4(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_iu4, operand, registers, elements)


cdef void _unpack_fp8(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_fp8, operand, registers, elements)


cdef void _unpack_bf8(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_bf8, operand, registers, elements)


cdef void _unpack_fp6(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_fp6, operand, registers, elements)


cdef void _unpack_bf6(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_bf6, operand, registers, elements)


cdef void _unpack_fp4(const MatrixOperand *operand, const uint32_t *registers, double *elements) noexcept nogil:
    _unpack(kind_fp4, operand, registers, elements)


cdef void _scale_elements(const Wave *wave, const MatrixPlan *plan, const MatrixOperand *operand, double *elements) noexcept nogil:
    """Every 32 in sequence times their power of two: those of group k / 32 by the scale of lanes from `size` (k / 32) on."""
    cdef double scales[natural_lanes]
    cdef uint32_t lane, k, i, word
    for lane in range(<uint32_t>natural_lanes):
        if operand.scale.kind == operand_vgpr:
            word = wave_vgpr(wave, operand.scale.index)[lane]
        else:
            word = <uint32_t>operand.scale.value if operand.scale.kind == operand_value else read_scalar(wave, operand.scale.index)
        scales[lane] = exponent_value((word >> operand.scale_shift) & 0xff)
    for k in range(plan.depth):
        for i in range(plan.size):
            elements[operand.at[k] + i] *= scales[plan.size * (k // 32) + i]


cdef void _spread_sparse(const Wave *wave, const MatrixPlan *plan, const double *elements, double *left) noexcept nogil:
    """Rows of a sparse A with their zeros."""
    cdef const uint32_t *indices = wave.vgpr + plan.index
    cdef uint32_t position, lane, kept
    memset(left, 0, 2 * plan.left.positions * natural_lanes * sizeof(double))
    for position in range(plan.left.positions):
        for lane in range(chunk_lanes * <uint32_t>plan.left.chunks):
            kept = (crossed_index(indices, lane, position, plan.left.positions) if plan.crossed_index
                    else (indices[lane] >> (plan.index_shift + 2 * position)) & 3)
            left[(4 * (position >> 1) + kept) * natural_lanes + lane] += elements[position * natural_lanes + lane]


# ------------------------------------------------------------------------------------------------------------------ sums
cdef inline Strips _strips_of(const MatrixPlan *plan, uint32_t block, const double *left, const double *right) noexcept nogil:
    cdef Strips strips
    strips.left = left + plan.left_block[block]
    strips.right = right + plan.size * block
    strips.left_at = &plan.left.at[0]
    strips.right_at = &plan.right.at[0]
    strips.depth = plan.depth
    return strips


cdef inline void _add_blocks(const MatrixPlan *plan, const double *left, const double *right, double *sums) noexcept nogil:
    """Add the products to C in `sums`."""
    cdef Strips strips
    cdef uint32_t block
    for block in range(plan.blocks):
        strips = _strips_of(plan, block, left, right)
        add_block[double](sums, sums, &plan.sum_at[plan.size * block], plan.size, &strips)


cdef inline double _modified(const MatrixPlan *plan, double addend) noexcept nogil:
    cdef double magnitude = fabs(addend) if plan.absolute else addend
    return -magnitude if plan.negative else magnitude


cdef bint _multiply_singles(Wave *wave, const MatrixPlan *plan, const double *left, const double *right) noexcept nogil:
    cdef float sums[natural_elements]
    cdef float changed[natural_elements]
    cdef const float *addends = <const float *>(wave.vgpr + plan.addend)
    cdef uint32_t lanes = chunk_lanes * plan.chunks
    cdef uint32_t number, lane, half, block
    cdef uint32_t *row
    cdef Strips strips
    if plan.has_constant or plan.absolute or plan.negative:
        for number in range(plan.sum_positions):
            for lane in range(lanes):
                changed[number * natural_lanes + lane] = <float>_modified(
                    plan, plan.constant if plan.has_constant else addends[number * natural_lanes + lane])
        addends = changed
    for block in range(plan.blocks):
        strips = _strips_of(plan, block, left, right)
        add_block[float](sums, addends, &plan.sum_at[plan.size * block], plan.size, &strips)
    for number in range(plan.sum_positions):
        for half in range(lanes // row_lanes):
            if __builtin_expect(row_has_nan(<uint32_t *>sums + number * natural_lanes + row_lanes * half), False):
                return False
    for number in range(plan.sum_positions):
        row = wave.vgpr + plan.destination + number * max_lanes
        memcpy(row, &sums[number * natural_lanes], 4 * lanes)
    return True


cdef inline bint _has_nan(const MatrixPlan *plan, const double *sums) noexcept nogil:
    cdef uint32_t number, half
    for number in range(plan.sum_positions):
        for half in range(<uint32_t>plan.chunks // chunks):
            if row_has_nan64(<const uint64_t *>sums + number * natural_lanes + row_lanes * half):
                return True
    return False


cdef bint _multiply_doubles(Wave *wave, const MatrixPlan *plan, const double *left, const double *right) noexcept nogil:
    cdef double sums[natural_elements]
    cdef double signed_left[natural_elements]
    cdef const uint32_t *addends = wave.vgpr + plan.addend
    cdef uint32_t *row
    cdef uint32_t number, lane
    cdef double value
    for number in range(plan.sum_positions):
        for lane in range(<uint32_t>natural_lanes):
            value = plan.constant
            if not plan.has_constant:
                value = bits_double(addends[2 * number * max_lanes + lane] | (<uint64_t>addends[(2 * number + 1) * max_lanes + lane] << 32))
            sums[number * natural_lanes + lane] = -value if plan.negative else value
    if plan.negative_left:
        for lane in range(natural_lanes * <uint32_t>plan.left.positions):
            signed_left[lane] = -left[lane]
        left = signed_left
    _add_blocks(plan, left, right, sums)
    if _has_nan(plan, sums):
        return False
    for number in range(plan.sum_positions):
        row = wave.vgpr + plan.destination + 2 * number * max_lanes
        for lane in range(<uint32_t>natural_lanes):
            row[lane] = <uint32_t>double_bits(sums[number * natural_lanes + lane])
        for lane in range(<uint32_t>natural_lanes):
            row[max_lanes + lane] = <uint32_t>(double_bits(sums[number * natural_lanes + lane]) >> 32)
    return True


cdef inline int32_t _saturated_sum(int32_t a, int32_t b) noexcept nogil:
    cdef int32_t total = a + b
    cdef int32_t limit = 0x7fffffff ^ (a >> 31)
    return limit if ((total ^ a) & (total ^ b)) < 0 else total


cdef bint _multiply_integers(Wave *wave, const MatrixPlan *plan, const double *left, const double *right) noexcept nogil:
    """Sums of products are below 2 ** 24; C is added to them, with or without saturation."""
    cdef double sums[natural_elements]
    cdef int32_t addends[max_lanes]
    cdef int32_t products[natural_elements]
    cdef int32_t *row
    cdef uint32_t number, lane
    memset(sums, 0, plan.sum_positions * natural_lanes * sizeof(double))
    _add_blocks(plan, left, right, sums)
    for lane in range(<uint32_t>max_lanes):
        addends[lane] = <int32_t>plan.constant
    for number in range(plan.sum_positions):
        if not plan.has_constant:
            memcpy(addends, wave.vgpr + plan.addend + number * max_lanes, sizeof(addends))
        row = products + number * natural_lanes
        for lane in range(<uint32_t>max_lanes):
            row[lane] = <int32_t>sums[number * natural_lanes + lane]
        if plan.clamp:
            for lane in range(<uint32_t>max_lanes):
                row[lane] = _saturated_sum(addends[lane], row[lane])
        else:
            for lane in range(<uint32_t>max_lanes):
                row[lane] += addends[lane]
    for number in range(plan.sum_positions):                # C and D may have registers in common
        memcpy(wave.vgpr + plan.destination + number * max_lanes, products + number * natural_lanes, 4 * chunk_lanes * plan.chunks)
    return True


cdef inline double _to_odd(double value) noexcept nogil:
    """Rounded to odd in single precision, for one correct rounding to a half after it (Boldo, Melquiond 2008)."""
    cdef uint64_t bits = double_bits(value)
    cdef uint64_t rest = 0x20000000 if bits & 0x1fffffff else 0
    return bits_double((bits & ~<uint64_t>0x1fffffff) | rest)


cdef inline void _load_shorts(const Wave *wave, const MatrixPlan *plan, double *sums) noexcept nogil:
    """C of 16 bits."""
    cdef const uint32_t *row
    cdef uint32_t number, lane, shift
    cdef double values[max_lanes]
    for lane in range(<uint32_t>max_lanes):
        values[lane] = plan.constant
    for number in range(plan.sum_positions):
        row = wave.vgpr + plan.addend + (number >> plan.paired) * max_lanes
        shift = 16 * (number & 1) if plan.paired else plan.sum_shift
        if plan.has_constant:
            pass
        elif plan.sum_kind == kind_f16:
            for lane in range(<uint32_t>max_lanes):
                values[lane] = half_to_single(row[lane] >> shift)
        else:
            for lane in range(<uint32_t>max_lanes):
                values[lane] = bits_bfloat(row[lane] >> shift)
        for lane in range(<uint32_t>max_lanes):
            sums[number * natural_lanes + lane] = _modified(plan, values[lane])


cdef inline void _round_shorts(uint8_t kind, bint saturates, const double *sums, uint32_t *words) noexcept nogil:
    """Sums of 64 lanes to 16 bits."""
    cdef float singles[max_lanes]
    cdef uint32_t lane
    if kind == kind_bf16:
        for lane in range(<uint32_t>max_lanes):
            words[lane] = to_bfloat(<float>sums[lane])
        return
    for lane in range(<uint32_t>max_lanes):
        singles[lane] = <float>_to_odd(sums[lane])
    singles_to_halves(singles, words)
    singles_to_halves(singles + row_lanes, words + row_lanes)
    if saturates:                                           # a sum that does not fit is the largest half, one that is infinite stays so
        for lane in range(<uint32_t>max_lanes):
            if (words[lane] & 0x7fff) == 0x7c00 and (float_bits(singles[lane]) & 0x7fffffff) != 0x7f800000:
                words[lane] -= 1


cdef bint _multiply_shorts(Wave *wave, const MatrixPlan *plan, const double *left, const double *right) noexcept nogil:
    cdef double sums[natural_elements]
    cdef uint32_t words[max_lanes]
    cdef uint32_t *row
    cdef uint32_t number, lane, shift
    cdef uint32_t lanes = chunk_lanes * plan.chunks
    _load_shorts(wave, plan, sums)
    _add_blocks(plan, left, right, sums)
    if _has_nan(plan, sums):
        return False
    for number in range(plan.sum_positions):
        row = wave.vgpr + plan.destination + (number >> plan.paired) * max_lanes
        shift = 16 * (number & 1) if plan.paired else plan.sum_shift
        _round_shorts(plan.sum_kind, wave.mode & 0x800000 != 0, &sums[number * natural_lanes], words)
        for lane in range(lanes):
            row[lane] = (row[lane] & ~(<uint32_t>0xffff << shift)) | (words[lane] << shift)
    return True


# ------------------------------------------------------------------------------------------------------------------ step
cdef bint _multiply(Wave *wave, const MatrixPlan *plan) noexcept nogil:
    """False: a result is a NaN, and nothing was written."""
    cdef double left[natural_elements]
    cdef double right[natural_elements]
    cdef double packed_left[sparse_elements]
    unpack_of[plan.right.kind](&plan.right, wave.vgpr + plan.right.first, right)
    if plan.sparse:
        unpack_of[plan.left.kind](&plan.left, wave.vgpr + plan.left.first, packed_left)
        _spread_sparse(wave, plan, packed_left, left)
    else:
        unpack_of[plan.left.kind](&plan.left, wave.vgpr + plan.left.first, left)
    if plan.left.scaled:
        _scale_elements(wave, plan, &plan.left, left)
        _scale_elements(wave, plan, &plan.right, right)
    return multiply_of[plan.sum_kind](wave, plan, left, right)


cdef int _step_matrix(Core *core, const Step *step) noexcept nogil:
    cdef bint done
    if core.control != control_default:
        set_host_control(control_default)
    done = _multiply(core.wave, step.rest.matrix)
    if core.control != control_default:
        set_host_control(core.control)
    return next_step(core, step) if done else step_reference(core, step)


cdef StepFunction matrix_step() noexcept nogil:
    """The step of every matrix instruction."""
    unpack_of[<int>kind_f16] = _unpack_f16
    unpack_of[<int>kind_bf16] = _unpack_bf16
    unpack_of[<int>kind_fp8] = _unpack_fp8
    unpack_of[<int>kind_bf8] = _unpack_bf8
    unpack_of[<int>kind_i8] = _unpack_i8
    unpack_of[<int>kind_iu8] = _unpack_i8
    unpack_of[<int>kind_iu4] = _unpack_iu4
    unpack_of[<int>kind_f32] = _unpack_f32
    unpack_of[<int>kind_xf32] = _unpack_xf32
    unpack_of[<int>kind_f64] = _unpack_f64
    unpack_of[<int>kind_fp6] = _unpack_fp6
    unpack_of[<int>kind_bf6] = _unpack_bf6
    unpack_of[<int>kind_fp4] = _unpack_fp4
    multiply_of[<int>kind_f32] = _multiply_singles
    multiply_of[<int>kind_f64] = _multiply_doubles
    multiply_of[<int>kind_i32] = _multiply_integers
    multiply_of[<int>kind_f16] = _multiply_shorts
    multiply_of[<int>kind_bf16] = _multiply_shorts
    return _step_matrix
