"""Endpoints of ASTC's colours (`astc.pyx` names the specification), from the two to eight numbers that a colour endpoint mode takes.

Two values of each channel, or a value and a signed offset from it, or one colour and how dark its other end is. High dynamic range is not decoded.
"""
from libc.stdint cimport uint8_t, uint32_t

from pyaco._core.texels.block cimport clamped

cdef enum:
    form_direct
    form_offset
    form_scale
    form_high_dynamic_range

cdef uint8_t[16] _forms = [
    form_direct, form_offset, form_high_dynamic_range, form_high_dynamic_range,          # luminance
    form_direct, form_offset, form_scale, form_high_dynamic_range,                       # luminance and alpha; colour
    form_direct, form_offset, form_scale, form_high_dynamic_range,                       # colour; with two alphas
    form_direct, form_offset, form_high_dynamic_range, form_high_dynamic_range,          # colour and alpha
]


cdef inline void _contract_blue(int *color) noexcept nogil:
    color[0] = (color[0] + color[2]) >> 1
    color[1] = (color[1] + color[2]) >> 1


cdef void _read_channels(int[4] *ends, uint32_t count, bint is_offset, const uint8_t *values) noexcept nogil:
    """Read neighbouring pairs of values. The darker end of a colour first, or blue is half the others' business (blue contraction)."""
    cdef uint32_t channel
    cdef int first, second
    cdef int rise = 0
    for channel in range(count):
        first = values[2 * channel]
        second = values[2 * channel + 1]
        if is_offset:                 # its top bit is the value's, whose lowest is given up
            first = first >> 1 | second & 0x80
            second = ((second >> 1 & 0x3f) ^ 0x20) - 0x20
        if channel < 3:
            rise += second if is_offset else second - first
        ends[0][channel] = first
        ends[1][channel] = first + second if is_offset else second
    if count >= 3 and rise < 0:
        for channel in range(4):
            first = ends[0][channel]
            ends[0][channel] = ends[1][channel]
            ends[1][channel] = first
        _contract_blue(ends[0])
        _contract_blue(ends[1])


cdef inline void _spread_luminance(int *color, uint32_t count) noexcept nogil:
    color[3] = color[1] if count == 2 else 255
    color[1] = color[2] = color[0]


cdef void read_endpoints(Endpoints *endpoints, uint32_t mode, const uint8_t *values) noexcept nogil:
    """Read 2 * (mode // 4 + 1) values."""
    cdef uint32_t count = (mode >> 2) + 1                     # channels, or what stands for them
    cdef uint32_t form = _forms[mode]
    cdef uint32_t end, channel
    cdef int base
    cdef int[4] *ends = endpoints.colors
    endpoints.is_valid = form != form_high_dynamic_range
    if form == form_high_dynamic_range:
        return
    ends[0][3] = ends[1][3] = 255
    if form == form_scale:
        for channel in range(3):
            ends[0][channel] = values[channel] * values[3] >> 8
            ends[1][channel] = values[channel]
        if count == 3:
            ends[0][3] = values[4]
            ends[1][3] = values[5]
        return
    if mode == 1:                     # luminance with an offset that is not signed
        base = values[0] >> 2 | values[1] & 0xc0
        ends[0][0] = base
        ends[1][0] = base + (values[1] & 0x3f)
    else:
        _read_channels(ends, count, form == form_offset, values)
    for end in range(2):
        if count < 3:
            _spread_luminance(ends[end], count)
        for channel in range(4):
            ends[end][channel] = clamped(ends[end][channel])
