"""Vector and scalar ALU instructions of the table of semantics: sources, modifiers, lanes, results.

A source passes these steps: the register or constant; DPP or SDWA selection, or the half of a register; abs, neg and the
flush of denormals by MODE. A result passes: canonical NaN, flush, omod, clamp, and the write to the lanes of EXEC.

Sources: AMD "RDNA 2" and "RDNA3" ISA documents, chapter "Vector ALU Operations"; "Vega" ISA document for SDWA.
"""
from libc.stdint cimport int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from features cimport has_cmpx_without_vcc, has_fnuz_floats
from modifiers cimport *
from pyaco._core.common.floats cimport (bits_double, bits_float, double_bits, double_to_half, float_bits, half_to_double,
                                        round_saturate)
from pyaco._core.emu.lane_selection cimport dpp_select, quad_select
from pyaco._core.emu.numbers cimport flush32, small_fnuz, small_saturates
from pyaco._core.emu.wave cimport *
from pyaco._core.common.machine cimport (format_dpp8, format_dpp16, format_sdwa, format_vinterp_inreg, format_vop3, format_vop3p, register_none,
                                         register_scc)

cdef extern from "<fenv.h>" nogil:
    int fesetround(int)
    int FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO

cdef enum:
    mode_flush_in32 = 0x10            # set: denormal sources are kept
    mode_flush_out32 = 0x20           # set: denormal results are kept
    mode_flush_in64 = 0x40
    mode_flush_out64 = 0x80
    literal_code = 255                # of a source: a literal has halves, as a register
    mode_fp16_overflow = 0x800000


cdef uint32_t read_scalar(const Wave *wave, uint32_t index) noexcept nogil:
    if index < 128:
        return wave.sgpr[index]
    if index == 251:
        return wave_mask(wave, sgpr_vcc) == 0
    if index == 252:
        return wave_exec(wave) == 0
    if index == register_scc >> 2:
        return wave.scc
    if index == 231:                                        # GFX12.5: where the wave's scratch begins among flat addresses; the low half is 0
        return <uint32_t>(scratch_base(wave) >> 32)
    return 0


cdef inline uint64_t _read_scalar64(const Wave *wave, uint32_t index) noexcept nogil:
    """A pair of SGPRs, or a 64-bit special source: apertures, null."""
    if index == 235:                                        # shared base, limit; private base, limit
        return 0x0001000000000000ULL
    if index == 236:
        return 0x00010000ffffffffULL
    if index == 237:
        return 0x0002000000000000ULL
    if index == 238:
        return 0x00020000ffffffffULL
    if index == sgpr_null:
        return 0
    return read_scalar(wave, index) | (<uint64_t>read_scalar(wave, index + 1) << 32)


cdef uint32_t _flush_in(const Wave *wave, uint8_t kind) noexcept nogil:
    """Whether MODE flushes denormal sources of a type."""
    if kind == type_f32:
        return (wave.mode & mode_flush_in32) == 0
    if kind == type_f16 or kind == type_f64:
        return (wave.mode & mode_flush_in64) == 0
    return 0


# ---------------------------------------------------------------------------------------------------------------- sources
cdef inline uint32_t _sdwa_extract(uint32_t value, uint32_t selection) noexcept nogil:
    cdef uint32_t size = selection & 3
    value >>= 8 * ((selection >> 2) & 3)
    if size == 0:
        return <uint32_t><int8_t>value if selection & 16 else value & 0xff
    if size == 1:
        return <uint32_t><int16_t>value if selection & 16 else value & 0xffff
    return value


cdef struct Modifiers:
    uint32_t neg
    uint32_t absolute


cdef void _modify_narrow(uint32_t *values, uint32_t count, uint8_t kind, Modifiers modify, bint flush) noexcept nogil:
    cdef uint32_t lane
    cdef uint32_t sign = 0x8000 if kind == type_f16 or kind == type_r16 else 0x80000000U
    cdef uint32_t exponent = 0x7c00 if kind == type_f16 or kind == type_r16 else 0x7f800000
    if modify.absolute:
        for lane in range(count):
            values[lane] &= ~sign
    if modify.neg:
        for lane in range(count):
            values[lane] ^= sign
    if flush:
        for lane in range(count):
            if (values[lane] & exponent) == 0:
                values[lane] &= sign


cdef inline uint32_t _scalar_value(const Wave *wave, const Source *source) noexcept nogil:
    if source.kind == operand_value:
        return <uint32_t>source.value
    if source.kind == operand_special and 235 <= source.index <= 238:
        return <uint32_t>_read_scalar64(wave, source.index)
    return read_scalar(wave, source.index)


cdef const uint32_t *_fetch_narrow(Wave *wave, const Instruction *instruction, uint32_t slot, uint8_t kind,
                                   uint32_t half, Modifiers modify, const int8_t *selected,
                                   uint32_t *buffer) noexcept nogil:
    """A source of up to 32 bits: the register row itself, or a modified copy in `buffer`."""
    cdef const Source *source = &instruction.source[slot]
    cdef uint32_t lane, value
    cdef uint32_t lanes = wave.lanes
    cdef uint64_t mask
    cdef bint flush = _flush_in(wave, kind) != 0
    cdef bint sixteen = type_u16 <= kind <= type_r16
    cdef bint is_float = kind == type_f32 or kind == type_r32 or kind == type_f16 or kind == type_r16
    cdef uint32_t selection
    cdef const uint32_t *row
    if kind == type_mask:
        if source.kind == operand_value:
            mask = source.value
        else:
            mask = wave_mask(wave, source.index) if source.index < 128 else read_scalar(wave, source.index)
        for lane in range(lanes):
            buffer[lane] = <uint32_t>(mask >> lane) & 1
        return buffer
    if source.kind == operand_vgpr:
        row = wave_vgpr(wave, source.index)
        if selected != NULL:
            for lane in range(lanes):
                buffer[lane] = row[selected[lane]] if selected[lane] >= 0 else 0
            row = buffer
    else:
        value = _scalar_value(wave, source)
        for lane in range(lanes):
            buffer[lane] = value
        row = buffer
    if instruction.decoded.format & format_sdwa and slot < 2:
        selection = (modifier_sdwa_sel1(instruction.decoded.modifiers) if slot
                     else modifier_sdwa_sel0(instruction.decoded.modifiers))
        for lane in range(lanes):
            buffer[lane] = _sdwa_extract(row[lane], selection)
        if sixteen:
            for lane in range(lanes):
                buffer[lane] &= 0xffff
        row = buffer
    elif sixteen:
        if half:
            for lane in range(lanes):
                buffer[lane] = row[lane] >> 16
        else:
            for lane in range(lanes):
                buffer[lane] = row[lane] & 0xffff
        row = buffer
    if is_float and (flush or modify.neg or modify.absolute):
        if row != buffer:
            memcpy(buffer, row, lanes * 4)
        _modify_narrow(buffer, lanes, kind, modify, flush)
        row = buffer
    return row


cdef const uint64_t *_fetch_wide(Wave *wave, const Instruction *instruction, uint32_t slot, uint8_t kind,
                                 Modifiers modify, const int8_t *selected, uint64_t *buffer) noexcept nogil:
    cdef const Source *source = &instruction.source[slot]
    cdef uint32_t lane
    cdef uint32_t lanes = wave.lanes
    cdef uint64_t value
    cdef const uint32_t *low
    cdef const uint32_t *high
    cdef uint64_t sign = <uint64_t>1 << 63
    if source.kind == operand_vgpr:
        low = wave_vgpr(wave, source.index)
        high = wave_vgpr(wave, source.index + 1)
        if selected != NULL:
            for lane in range(lanes):
                buffer[lane] = 0
                if selected[lane] >= 0:
                    buffer[lane] = low[selected[lane]] | (<uint64_t>high[selected[lane]] << 32)
        else:
            for lane in range(lanes):
                buffer[lane] = low[lane] | (<uint64_t>high[lane] << 32)
    else:
        value = source.value if source.kind == operand_value else _read_scalar64(wave, source.index)
        for lane in range(lanes):
            buffer[lane] = value
    if kind == type_f64 or kind == type_r64:
        if modify.absolute:
            for lane in range(lanes):
                buffer[lane] &= ~sign
        if modify.neg:
            for lane in range(lanes):
                buffer[lane] ^= sign
        if _flush_in(wave, kind):
            for lane in range(lanes):
                if (buffer[lane] & 0x7ff0000000000000ULL) == 0:
                    buffer[lane] &= sign
    return buffer


cdef inline uint32_t _lane_value(const uint32_t *row, uint32_t same, const int8_t *selected, uint32_t lane) noexcept nogil:
    """A lane's source: from a register, by DPP where `selected` is given, or from a scalar (`row` is NULL)."""
    if row == NULL:
        return same
    if selected == NULL:
        return row[lane]
    return row[selected[lane]] if selected[lane] >= 0 else 0


cdef void _fetch_mixed(Wave *wave, const Instruction *instruction, uint32_t slot, bint of_bfloats, const int8_t *selected,
                       uint32_t *buffer) noexcept nogil:
    """A source of V_FMA_MIX: single, or a half of the register, or a bfloat in it, widened to single."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef const Source *source = &instruction.source[slot]
    cdef bint is_half = (modifier_opsel_hi(modifiers) >> slot) & 1
    cdef uint32_t shift = 16 if (modifier_opsel(modifiers) >> slot) & 1 else 0
    cdef uint32_t lane, value
    cdef uint32_t lanes = wave.lanes
    cdef const uint32_t *row = wave_vgpr(wave, source.index) if source.kind == operand_vgpr else NULL
    cdef uint32_t same = 0 if row != NULL else _scalar_value(wave, source)
    for lane in range(lanes):
        value = _lane_value(row, same, selected, lane)
        if is_half:
            if source.kind != operand_value or (source.index == literal_code and not of_bfloats):
                value = (value >> shift) & 0xffff
            value = value << 16 if of_bfloats else float_bits(<float>half_to_double(value & 0xffff))
        elif (wave.mode & mode_flush_in32) == 0:
            value = float_bits(flush32(bits_float(value)))
        if (modifier_neg_hi(modifiers) >> slot) & 1:        # abs of the mixed-precision forms
            value &= 0x7fffffff
        if (modifier_neg(modifiers) >> slot) & 1:
            value ^= 0x80000000U
        buffer[lane] = value


cdef void _fetch_packed(Wave *wave, const Instruction *instruction, uint32_t slot, bint is_float, const int8_t *selected,
                        uint32_t *buffer) noexcept nogil:
    """Both halves of a source of a dot product, chosen by opsel and opsel_hi."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef const Source *source = &instruction.source[slot]
    cdef uint32_t low = 16 if (modifier_opsel(modifiers) >> slot) & 1 else 0
    cdef uint32_t high = 16 if (modifier_opsel_hi(modifiers) >> slot) & 1 else 0
    cdef uint32_t flip = 0
    cdef uint32_t lane, value
    cdef const uint32_t *row = wave_vgpr(wave, source.index) if source.kind == operand_vgpr else NULL
    cdef uint32_t same = 0 if row != NULL else _scalar_value(wave, source)
    if is_float:
        flip = (0x8000 if (modifier_neg(modifiers) >> slot) & 1 else 0) | (
            0x80000000U if (modifier_neg_hi(modifiers) >> slot) & 1 else 0)
        if source.kind == operand_value:
            same = (same & 0xffff) | (same << 16) if same >> 16 == 0 else same
    for lane in range(wave.lanes):
        value = _lane_value(row, same, selected, lane)
        buffer[lane] = (((value >> low) & 0xffff) | (((value >> high) & 0xffff) << 16)) ^ flip


# ---------------------------------------------------------------------------------------------------------------- results
cdef uint64_t _nan_of(const LaneOperation *operation, const Lanes *lanes, uint32_t lane, uint8_t kind,
                      uint64_t computed) noexcept nogil:
    """The quiet NaN that an operation returns: its first NaN source, or the default NaN where no source is one."""
    cdef uint32_t slot
    cdef uint64_t value
    cdef bint converted = False
    for slot in range(operation.source_count):
        if operation.source_type[slot] & ~type_old == kind:
            value = lanes.wide[slot][lane] if kind == type_f64 else lanes.narrow[slot][lane]
            if is_nan(kind, value):
                return quiet(kind, value)
        else:
            converted = converted or operation.source_type[slot] != type_mask
    if converted:
        return computed
    if kind == type_f16:
        return 0x7e00
    return 0x7fc00000 if kind == type_f32 else 0x7ff8000000000000ULL


cdef inline uint64_t _source_bits(const LaneOperation *operation, const Lanes *lanes, uint32_t slot, uint32_t lane) noexcept nogil:
    return lanes.wide[slot][lane] if operation.source_type[slot] == type_f64 else lanes.narrow[slot][lane]


cdef uint64_t _selected_nan(const LaneOperation *operation, const Lanes *lanes, uint32_t lane, uint64_t computed) noexcept nogil:
    """What min, max, median and pairs of them return in IEEE mode: a signalling NaN of the first two sources, made quiet; against the third
    source that counts as any quiet NaN, unless the third signals too (AMD, "RDNA3" ISA, V_MIN_F32, V_MIN3_F32, V_MED3_F32)."""
    cdef uint8_t kind = operation.result_type[0]
    cdef uint64_t found = computed
    cdef bint signals = False
    cdef uint64_t value
    cdef uint32_t slot
    for slot in range(2):
        value = _source_bits(operation, lanes, slot, lane)
        if is_signalling(kind, value):
            found = quiet(kind, value)
            signals = True
            break
    if operation.source_count == 3:
        value = _source_bits(operation, lanes, 2, lane)
        if is_signalling(kind, value):
            return quiet(kind, value)
        if signals and not is_nan(kind, value):
            return value
    return found


cdef double _output_scale(uint32_t omod) noexcept nogil:
    return 2.0 if omod == 1 else (4.0 if omod == 2 else (0.5 if omod == 3 else 1.0))


cdef inline double _clamped(double value, bint keeps_nan) noexcept nogil:
    """Clamp to [0, 1]; a NaN becomes 0 unless it is kept, -0 becomes +0."""
    if keeps_nan and value != value:
        return value
    return (1.0 if value > 1 else value) if value > 0 else 0.0


cdef inline uint32_t _scaled_single(uint32_t bits, const Wave *wave, float scale, bint clamp) noexcept nogil:
    """A result after omod, which works only where denormal results are flushed, and clamp."""
    if scale != 1 and (wave.mode & mode_flush_out32) == 0:
        bits = float_bits(flush32(bits_float(bits) * scale))
    if clamp:
        bits = float_bits(<float>_clamped(bits_float(bits), (wave.mode & mode_dx10_clamp) == 0))
    return bits


cdef inline uint32_t _scaled_half(uint32_t bits, const Wave *wave, double scale, bint clamp, uint32_t rounding) noexcept nogil:
    if scale != 1 and (wave.mode & mode_flush_out64) == 0:
        bits = double_to_half(half_to_double(bits) * scale, rounding)
        if (bits & 0x7c00) == 0:
            bits &= 0x8000
    if clamp:
        bits = double_to_half(_clamped(half_to_double(bits), (wave.mode & mode_dx10_clamp) == 0), 0)
    return bits


cdef inline uint64_t _scaled_double(uint64_t bits, const Wave *wave, double scale, bint clamp) noexcept nogil:
    if scale != 1 and (wave.mode & mode_flush_out64) == 0:
        bits = double_bits(bits_double(bits) * scale)
        if (bits & 0x7ff0000000000000ULL) == 0:
            bits &= <uint64_t>1 << 63
    if clamp:
        bits = double_bits(_clamped(bits_double(bits), (wave.mode & mode_dx10_clamp) == 0))
    return bits


cdef void _finish_single(const LaneOperation *operation, const Lanes *lanes, uint32_t *values, const Wave *wave,
                         uint32_t omod, bint clamp) noexcept nogil:
    cdef uint32_t lane
    cdef uint32_t count = lanes.count
    cdef float scale = <float>_output_scale(omod)
    cdef bint flush = (wave.mode & mode_flush_out32) == 0
    cdef bint signals = operation.prefers_number_over_nan and wave.mode & mode_ieee
    if not operation.final_bits:
        for lane in range(count):
            if is_nan(type_f32, values[lane]):
                values[lane] = <uint32_t>_nan_of(operation, lanes, lane, type_f32, values[lane])
            if signals:
                values[lane] = <uint32_t>_selected_nan(operation, lanes, lane, values[lane])
        if flush:
            for lane in range(count):
                if (values[lane] & 0x7f800000) == 0:
                    values[lane] &= 0x80000000U
    if (flush and omod) or clamp:
        for lane in range(count):
            values[lane] = _scaled_single(values[lane], wave, scale, clamp)


cdef void _finish_half(const LaneOperation *operation, const Lanes *lanes, uint32_t *values, const Wave *wave,
                       uint32_t omod, bint clamp) noexcept nogil:
    cdef uint32_t lane
    cdef double scale = _output_scale(omod)
    cdef bint flush = (wave.mode & mode_flush_out64) == 0
    cdef bint signals = operation.prefers_number_over_nan and wave.mode & mode_ieee
    if not operation.final_bits:
        for lane in range(lanes.count):
            if is_nan(type_f16, values[lane]):
                values[lane] = <uint32_t>_nan_of(operation, lanes, lane, type_f16, values[lane])
            if signals:
                values[lane] = <uint32_t>_selected_nan(operation, lanes, lane, values[lane])
            if flush and (values[lane] & 0x7c00) == 0:
                values[lane] &= 0x8000
    if (flush and omod) or clamp:
        for lane in range(lanes.count):
            values[lane] = _scaled_half(values[lane], wave, scale, clamp, lanes.rounding)


cdef void _finish_double(const LaneOperation *operation, const Lanes *lanes, uint64_t *values, const Wave *wave,
                         uint32_t omod, bint clamp) noexcept nogil:
    cdef uint32_t lane
    cdef double scale = _output_scale(omod)
    cdef bint flush = (wave.mode & mode_flush_out64) == 0
    cdef bint signals = operation.prefers_number_over_nan and wave.mode & mode_ieee
    if not operation.final_bits:
        for lane in range(lanes.count):
            if is_nan(type_f64, values[lane]):
                values[lane] = _nan_of(operation, lanes, lane, type_f64, values[lane])
            if signals:
                values[lane] = _selected_nan(operation, lanes, lane, values[lane])
            if flush and (values[lane] & 0x7ff0000000000000ULL) == 0:
                values[lane] &= <uint64_t>1 << 63
    if (flush and omod) or clamp:
        for lane in range(lanes.count):
            values[lane] = _scaled_double(values[lane], wave, scale, clamp)


cdef void _scale_pairs(const Lanes *lanes, uint8_t kind, uint32_t *values, uint64_t *wide_values, const Wave *wave, uint32_t omod,
                       bint clamp) noexcept nogil:
    """Omod and clamp of two floats in each lane, which the lane function has rounded and flushed."""
    cdef double scale = _output_scale(omod)
    cdef uint32_t lane
    for lane in range(lanes.count):
        if kind == type_f16x2:
            values[lane] = (_scaled_half(values[lane] & 0xffff, wave, scale, clamp, lanes.rounding)
                            | (_scaled_half(values[lane] >> 16, wave, scale, clamp, lanes.rounding) << 16))
        elif kind == type_bf16x2:                           # as singles, of which they are the upper half
            values[lane] = ((_scaled_single(values[lane] << 16, wave, <float>scale, clamp) >> 16)
                            | (_scaled_single(values[lane] & 0xffff0000U, wave, <float>scale, clamp) & 0xffff0000U))
        else:
            wide_values[lane] = (_scaled_single(<uint32_t>wide_values[lane], wave, <float>scale, clamp)
                                 | (<uint64_t>_scaled_single(<uint32_t>(wide_values[lane] >> 32), wave, <float>scale, clamp) << 32))


cdef void _write_narrow(Wave *wave, uint32_t index, const uint32_t *values, uint64_t written) noexcept nogil:
    cdef uint32_t *row = wave_vgpr(wave, index)
    cdef uint32_t lane
    cdef uint64_t all_lanes = 0xffffffffU if wave.lanes == 32 else ~(<uint64_t>0)
    if written & all_lanes == all_lanes:
        memcpy(row, values, wave.lanes * 4)
        return
    for lane in range(wave.lanes):
        if (written >> lane) & 1:
            row[lane] = values[lane]


cdef void _write_half(Wave *wave, uint32_t index, bint high, bint zero_high, const uint32_t *values,
                      uint64_t written) noexcept nogil:
    cdef uint32_t *row = wave_vgpr(wave, index)
    cdef uint32_t lane
    for lane in range(wave.lanes):
        if (written >> lane) & 1:
            if high:
                row[lane] = (row[lane] & 0xffff) | (values[lane] << 16)
            elif zero_high:
                row[lane] = values[lane] & 0xffff
            else:
                row[lane] = (row[lane] & 0xffff0000U) | (values[lane] & 0xffff)


cdef void _write_sdwa(Wave *wave, uint32_t index, uint32_t selection, bint extend, const uint32_t *values,
                      uint64_t written) noexcept nogil:
    """Write part of a register; the rest is kept or cleared, or the bits above become the sign."""
    cdef uint32_t *row = wave_vgpr(wave, index)
    cdef uint32_t size = selection & 3
    cdef uint32_t shift = 8 * ((selection >> 2) & 3)
    cdef uint32_t mask = 0xff if size == 0 else (0xffff if size == 1 else 0xffffffffU)
    cdef uint32_t keep = ~(mask << shift) if selection & 16 else 0
    cdef uint32_t lane, value
    for lane in range(wave.lanes):
        if (written >> lane) & 1:
            value = values[lane] & mask
            if extend and size < 2:
                value = <uint32_t><int8_t>value if size == 0 else <uint32_t><int16_t>value
            row[lane] = (row[lane] & keep) | (value << shift)


cdef void _write_wide(Wave *wave, uint32_t index, const uint64_t *values, uint64_t written) noexcept nogil:
    cdef uint32_t *low = wave_vgpr(wave, index)
    cdef uint32_t *high = wave_vgpr(wave, index + 1)
    cdef uint32_t lane
    for lane in range(wave.lanes):
        if (written >> lane) & 1:
            low[lane] = <uint32_t>values[lane]
            high[lane] = <uint32_t>(values[lane] >> 32)


cdef void _write_mask(Machine *machine, Wave *wave, const Instruction *instruction, uint16_t destination,
                      const uint32_t *values, uint64_t written) noexcept nogil:
    """Write a bit per lane; inactive lanes give zero. V_CMPX writes EXEC, on GFX9 the SGPRs as well."""
    cdef uint64_t mask = 0
    cdef uint32_t lane
    for lane in range(wave.lanes):
        mask |= <uint64_t>(values[lane] & 1) << lane
    mask &= written
    if instruction.operation.writes_exec:
        wave_put_mask(wave, sgpr_exec, mask)
        if has_cmpx_without_vcc(machine.gfx_level):
            return
    wave_put_mask(wave, destination >> 2, mask)


# ------------------------------------------------------------------------------------------------------- whole instructions
cdef void _set_host_rounding(uint32_t rounding) noexcept nogil:
    fesetround(FE_TONEAREST if rounding == 0 else (FE_UPWARD if rounding == 1 else
               (FE_DOWNWARD if rounding == 2 else FE_TOWARDZERO)))


cdef uint32_t _host_rounding(const Wave *wave, const LaneOperation *operation) noexcept nogil:
    """The rounding that the host must use; halves are rounded in software."""
    if operation.result_type[0] == type_f32:
        return 0 if operation.rounds_single else wave.mode & 3
    if operation.result_type[0] == type_f64:
        return (wave.mode >> 2) & 3
    return 0


cdef void _run_lanes(const Wave *wave, const LaneOperation *operation, Lanes *lanes) noexcept nogil:
    cdef uint32_t rounding = _host_rounding(wave, operation)
    lanes.rounding = wave.mode & 3 if operation.rounds_single else (wave.mode >> 2) & 3
    if wave.mode & mode_fp16_overflow:
        lanes.rounding |= 0 if operation.rounds_single else round_saturate
        lanes.small |= small_saturates
    if rounding == 0:
        operation.function(lanes)
        return
    _set_host_rounding(rounding)
    operation.function(lanes)
    _set_host_rounding(0)


cdef void finish(const Wave *wave, const LaneOperation *operation, Lanes *lanes, uint64_t modifiers) noexcept nogil:
    """Result modifiers of every float result."""
    cdef uint32_t index
    # IEEE mode has no output scale
    cdef uint32_t omod = 0 if wave.mode & mode_ieee else modifier_omod(modifiers)
    cdef bint clamp = modifier_clamp(modifiers)
    cdef uint8_t kind
    for index in range(operation.result_count):
        kind = operation.result_type[index]
        if kind == type_f32:
            _finish_single(operation, lanes, lanes.result[index], wave, omod, clamp)
        elif kind == type_f16:
            _finish_half(operation, lanes, lanes.result[index], wave, omod, clamp)
        elif kind == type_f64:
            _finish_double(operation, lanes, lanes.wide_result[index], wave, omod, clamp)
        elif type_f16x2 <= kind <= type_f32x2 and (omod or clamp):
            _scale_pairs(lanes, kind, lanes.result[index], lanes.wide_result[index], wave, omod, clamp)


include "pyaco/_core/emu/packed.pxi"


cdef struct LaneBuffers:              # of sources and results of an instruction
    uint32_t narrow[4][max_lanes]
    uint64_t wide[4][max_lanes]
    uint32_t result[3][max_lanes]
    uint64_t wide_result[2][max_lanes]


cdef inline void _fetch_source(Wave *wave, const Instruction *instruction, uint32_t slot, const int8_t *selected, LaneBuffers *buffers,
                               Lanes *lanes) noexcept nogil:
    """A source of a vector instruction, with its modifiers."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t absolute = 0 if instruction.decoded.format & format_vop3p else modifier_abs(modifiers)
    cdef Modifiers modify = Modifiers((modifier_neg(modifiers) >> slot) & 1, (absolute >> slot) & 1)
    cdef uint32_t half = instruction.source[slot].half | ((modifier_opsel(modifiers) >> slot) & 1)
    cdef uint8_t kind = instruction.operation.source_type[slot] & ~type_old
    if is_wide(kind):
        lanes.wide[slot] = _fetch_wide(wave, instruction, slot, kind, modify, selected, buffers.wide[slot])
    elif kind == type_mix or kind == type_mix_bf:
        _fetch_mixed(wave, instruction, slot, kind == type_mix_bf, selected, buffers.narrow[slot])
        lanes.narrow[slot] = buffers.narrow[slot]
    elif kind == type_packed or kind == type_packed_f:
        _fetch_packed(wave, instruction, slot, kind == type_packed_f, selected, buffers.narrow[slot])
        lanes.narrow[slot] = buffers.narrow[slot]
    else:
        lanes.narrow[slot] = _fetch_narrow(wave, instruction, slot, kind, half, modify, selected, buffers.narrow[slot])


cdef inline void _write_result(Machine *machine, Wave *wave, const Instruction *instruction, uint32_t index, const LaneBuffers *buffers,
                               uint64_t written) noexcept nogil:
    """A result of a vector instruction, in the lanes that are written."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint8_t kind = instruction.operation.result_type[index]
    cdef uint16_t destination = instruction.decoded.destination[index]
    cdef uint32_t row = (destination >> 2) - 256
    cdef bint high
    if kind == type_mask:
        _write_mask(machine, wave, instruction, destination, buffers.result[index], written)
    elif destination < 1024:                                # pseudo-scalar transcendentals of GFX12
        wave_put(wave, destination >> 2, buffers.result[index][0])
    elif is_wide(kind):
        _write_wide(wave, row, buffers.wide_result[index & 1], written)
    elif instruction.decoded.format & format_sdwa:
        _write_sdwa(wave, row, modifier_sdwa_dst_sel(modifiers), modifier_sdwa_dst_sext(modifiers), buffers.result[index], written)
    elif type_u16 <= kind <= type_r16:
        high = ((destination >> 1) & 1) | ((modifier_opsel(modifiers) >> 3) & 1)
        _write_half(wave, row, high or instruction.writes_high_zero == 2, instruction.writes_high_zero == 1, buffers.result[index], written)
    else:
        _write_narrow(wave, row, buffers.result[index], written)


cdef int execute_vector(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef LaneBuffers buffers
    cdef int8_t selection[max_lanes]
    cdef const int8_t *selected = NULL
    cdef Lanes lanes
    cdef uint64_t written = wave_exec(wave)
    cdef uint32_t slot, index
    cdef bint interpolates = instruction.decoded.format & 0x7f == format_vinterp_inreg
    if operation.packed == packed_halves:
        return _execute_packed(machine, wave, instruction)
    if operation.packed == packed_registers:
        return _execute_pair(machine, wave, instruction)
    if operation.packed == packed_pairs:
        return _execute_wide_pair(machine, wave, instruction)
    if instruction.decoded.format & (format_dpp16 | format_dpp8):
        written &= dpp_select(machine, wave, instruction, selection)
        selected = selection
    elif interpolates:
        selected = selection
    lanes.small = small_fnuz if has_fnuz_floats(machine.gfx_level) else 0
    lanes.count = wave.lanes
    lanes.clamp = modifier_clamp(modifiers)
    lanes.neg = modifier_neg(modifiers)
    lanes.opsel = modifier_opsel(modifiers)
    for slot in range(operation.source_count):
        if interpolates:
            quad_select(instruction, wave, slot, selection)
        elif slot == 1:                                     # DPP is for the first source
            selected = NULL
        _fetch_source(wave, instruction, slot, selected, &buffers, &lanes)
    for index in range(operation.result_count):
        lanes.result[index] = buffers.result[index]
        lanes.wide_result[index] = buffers.wide_result[index & 1]
    _run_lanes(wave, operation, &lanes)
    finish(wave, operation, &lanes, modifiers)
    for index in range(operation.result_count):
        _write_result(machine, wave, instruction, index, &buffers, written)
    return 0


cdef void _run_half_of_dual(Wave *wave, const Instruction *instruction, const LaneOperation *operation,
                            uint32_t first_source, uint16_t destination, uint32_t *results, uint64_t *wide_results) noexcept nogil:
    """One half of VOPD: two sources of its own, three in the long form; then the destination's old value, VCC, the literal, or a truth table."""
    cdef uint32_t buffers[4][max_lanes]
    cdef Lanes lanes
    cdef Instruction view
    cdef Modifiers modify
    cdef uint64_t wide_buffers[3][max_lanes]
    cdef uint32_t slot
    cdef uint32_t encoded = 3 if instruction.decoded.format & format_vop3 else 2
    cdef uint32_t negative = 0
    cdef uint8_t kind
    if encoded == 3:
        negative = modifier_neg_hi(instruction.decoded.modifiers) if first_source else modifier_neg(instruction.decoded.modifiers)
    modify.neg = 0
    modify.absolute = 0
    view.decoded.format = 0
    view.decoded.modifiers = 0
    lanes.count = wave.lanes
    lanes.clamp = 0
    lanes.neg = 0
    lanes.opsel = 0
    lanes.small = 0
    lanes.result[0] = results
    lanes.wide_result[0] = wide_results
    for slot in range(operation.source_count):
        kind = operation.source_type[slot]
        modify.neg = (negative >> slot) & 1
        if slot < encoded and not kind & type_old and instruction.decoded.source[first_source + slot] != register_none:
            view.source[slot] = instruction.source[first_source + slot]
        elif kind & type_old:
            view.source[slot].kind = operand_vgpr
            view.source[slot].half = 0
            view.source[slot].index = (destination >> 2) - 256
        elif kind == type_mask:
            view.source[slot].kind = operand_sgpr
            view.source[slot].index = sgpr_vcc
        else:
            view.source[slot].kind = operand_value
            view.source[slot].half = 0
            view.source[slot].value = instruction.decoded.immediate if encoded == 3 else instruction.decoded.literal
        if is_wide(kind):
            lanes.wide[slot] = _fetch_wide(wave, &view, slot, kind & ~type_old, modify, NULL, wide_buffers[slot])
        else:
            lanes.narrow[slot] = _fetch_narrow(wave, &view, slot, kind & ~type_old, 0, modify, NULL, buffers[slot])
    _run_lanes(wave, operation, &lanes)
    finish(wave, operation, &lanes, 0)


cdef int execute_dual(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """VOPD: both halves read their sources before either writes."""
    cdef uint32_t first[max_lanes]
    cdef uint32_t second[max_lanes]
    cdef uint64_t wide_first[max_lanes]
    cdef uint64_t wide_second[max_lanes]
    cdef uint64_t written = wave_exec(wave)
    _run_half_of_dual(wave, instruction, instruction.operation, 0, instruction.decoded.destination[0], first, wide_first)
    _run_half_of_dual(wave, instruction, instruction.operation_y, 3 if instruction.decoded.format & format_vop3 else 2,
                      instruction.decoded.destination[1], second, wide_second)
    _write_half_of_dual(wave, instruction.operation, instruction.decoded.destination[0], first, wide_first, written)
    _write_half_of_dual(wave, instruction.operation_y, instruction.decoded.destination[1], second, wide_second, written)
    return 0


cdef void _write_half_of_dual(Wave *wave, const LaneOperation *operation, uint16_t destination, const uint32_t *results,
                              const uint64_t *wide_results, uint64_t written) noexcept nogil:
    if is_wide(operation.result_type[0]):
        _write_wide(wave, (destination >> 2) - 256, wide_results, written)
    else:
        _write_narrow(wave, (destination >> 2) - 256, results, written)


cdef inline void _fetch_scalar_source(Wave *wave, const Source *source, uint8_t kind, uint32_t *narrow, uint64_t *wide) noexcept nogil:
    if is_wide(kind):
        wide[0] = source.value if source.kind == operand_value else _read_scalar64(wave, source.index)
        return
    narrow[0] = _scalar_value(wave, source)
    if kind == type_f32 and _flush_in(wave, kind):
        _modify_narrow(narrow, 1, kind, Modifiers(0, 0), True)
    elif kind == type_f16:
        narrow[0] &= 0xffff
        _modify_narrow(narrow, 1, kind, Modifiers(0, 0), _flush_in(wave, kind) != 0)


cdef inline void _fetch_scalar_sources(Wave *wave, const Instruction *instruction, uint32_t *narrow, uint64_t *wide) noexcept nogil:
    """What a scalar operation reads; SCC, EXEC and the immediate are not among the instruction's operands."""
    cdef const LaneOperation *operation = instruction.operation
    cdef uint32_t next_source = 0
    cdef uint32_t slot
    cdef uint8_t kind
    for slot in range(operation.source_count):
        kind = operation.source_type[slot] & ~type_old
        if kind == type_scc:
            narrow[slot] = wave.scc
        elif kind == type_exec32:
            narrow[slot] = wave.sgpr[sgpr_exec]
        elif kind == type_exec64:
            wide[slot] = wave.sgpr[sgpr_exec] | (<uint64_t>wave.sgpr[sgpr_exec + 1] << 32)
        elif kind == type_imm:
            narrow[slot] = <uint32_t><int16_t>instruction.decoded.immediate
        else:
            _fetch_scalar_source(wave, &instruction.source[next_source], kind, &narrow[slot], &wide[slot])
            next_source += 1


cdef inline void _write_scalar_results(Wave *wave, const Instruction *instruction, const uint32_t *results,
                                       const uint64_t *wide_results) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint32_t next_destination = 0
    cdef uint32_t index
    cdef uint16_t destination
    cdef uint8_t kind
    for index in range(operation.result_count):
        kind = operation.result_type[index]
        if kind == type_scc:
            wave.scc = results[index]
        elif kind == type_exec32:
            wave.sgpr[sgpr_exec] = results[index]
        elif kind == type_exec64:
            wave_put64(wave, sgpr_exec, wide_results[index])
        else:
            destination = instruction.decoded.destination[next_destination] >> 2
            next_destination += 1
            if is_wide(kind):
                wave_put64(wave, destination, wide_results[index])
            else:
                wave_put(wave, destination, results[index])


cdef int execute_scalar(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """A scalar ALU instruction is a lane loop over one lane."""
    cdef const LaneOperation *operation = instruction.operation
    cdef uint32_t narrow[4]
    cdef uint64_t wide[4]
    cdef uint32_t results[3]
    cdef uint64_t wide_results[3]
    cdef Lanes lanes
    cdef uint32_t slot
    memset(&lanes, 0, sizeof(lanes))
    lanes.count = 1
    for slot in range(operation.source_count):
        lanes.narrow[slot] = &narrow[slot]
        lanes.wide[slot] = &wide[slot]
    for slot in range(operation.result_count):
        lanes.result[slot] = &results[slot]
        lanes.wide_result[slot] = &wide_results[slot]
    _fetch_scalar_sources(wave, instruction, narrow, wide)
    _run_lanes(wave, operation, &lanes)
    finish(wave, operation, &lanes, 0)
    _write_scalar_results(wave, instruction, results, wide_results)
    return 0
