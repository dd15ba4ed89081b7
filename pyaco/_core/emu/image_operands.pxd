"""Operands of image instructions: which registers hold which part of the address, and how results are written.

The order of the address: offset, bias, comparison value, gradients, coordinates, level (or its clamp). 16-bit coordinates lie in pairs,
16-bit gradients in pairs for each direction. Sources: AMD "RDNA 2", "RDNA3" and "RDNA4" ISA documents, "Image Instructions".
"""
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from isa_tables cimport (image_flag_bias, image_flag_compare, image_flag_gradients, image_flag_half_gradients, image_flag_lod,
                         image_flag_offset, opcode_image)
from modifiers cimport modifier_a16, modifier_d16, modifier_da, modifier_dim, modifier_dmask, modifier_image_tfe
from pyaco._core.common.floats cimport bits_float, double_to_half, float_bits, half_to_double
from pyaco._core.emu.image_view cimport (ImageView, image_1d, image_1d_array, image_2d, image_2d_array, image_2d_msaa, image_2d_msaa_array,
                                         image_3d, image_cube)
from pyaco._core.emu.texels cimport TexelFormat, texel_sint
from pyaco._core.emu.wave cimport Instruction, Wave, wave_vgpr

cdef struct ImageOperands:
    uint32_t flags                    # image_flag_*
    uint32_t spatial                  # coordinates that address texels of a layer: 1 to 3
    uint32_t coordinates              # with layer or face, and sample
    bint layered                      # a coordinate is a layer or face
    bint sampled                      # the last coordinate is a sample
    bint narrow                       # coordinates have 16 bits
    bint narrow_gradients
    uint32_t offset_at                # dwords of the address
    uint32_t bias_at
    uint32_t compare_at
    uint32_t gradients_at
    uint32_t coordinates_at
    uint32_t mask                     # components that are moved
    bint halves                       # data has 16 bits
    bint packed                       # two of them in a register

cdef inline uint32_t *address_row(const Wave *wave, const Instruction *instruction, uint32_t dword) noexcept nogil:
    """The register that holds a dword of the address: one for each, or several in the last."""
    cdef uint32_t last = instruction.decoded.source_count - 4
    cdef uint32_t step = min(dword, last)
    return wave_vgpr(wave, (instruction.decoded.source[3 + step] >> 2) - 256 + dword - step)

cdef inline uint32_t type_of_dim(uint32_t dim) noexcept nogil:
    """DIM of GFX10 and later as a type of resources: 1D, 2D, 3D, cube, their arrays, multisampled ones."""
    return image_1d + dim

cdef inline void count_coordinates(ImageOperands *o, uint32_t type_) noexcept nogil:
    o.spatial = 1 if type_ == image_1d or type_ == image_1d_array else (3 if type_ == image_3d else 2)
    o.layered = type_ == image_cube or type_ == image_1d_array or type_ == image_2d_array or type_ == image_2d_msaa_array
    o.sampled = type_ == image_2d_msaa or type_ == image_2d_msaa_array

cdef inline void open_operands(ImageOperands *o, const Instruction *instruction, const ImageView *view, uint32_t gfx_level) noexcept nogil:
    cdef uint64_t m = instruction.decoded.modifiers
    cdef uint32_t at = 0
    cdef uint32_t derivatives
    o.flags = opcode_image[instruction.decoded.opcode]
    if gfx_level >= 100:
        count_coordinates(o, type_of_dim(modifier_dim(m)))
    else:
        count_coordinates(o, view.type)
        # before GFX10 the instruction says whether it has a layer, the descriptor how many coordinates there are
        o.layered = modifier_da(m) and view.type != image_3d
    o.coordinates = o.spatial + o.layered + o.sampled
    o.narrow = modifier_a16(m)
    o.narrow_gradients = (o.flags & image_flag_half_gradients) != 0 or (o.narrow and gfx_level < 100)
    o.offset_at = at
    at += (o.flags & image_flag_offset) != 0
    o.bias_at = at
    at += (o.flags & image_flag_bias) != 0
    o.compare_at = at
    at += (o.flags & image_flag_compare) != 0
    o.gradients_at = at
    if o.flags & image_flag_gradients:
        derivatives = 2 * o.spatial
        at += (derivatives // 2 + 1) & ~<uint32_t>1 if o.narrow_gradients else derivatives
    o.coordinates_at = at
    o.mask = modifier_dmask(m)
    if o.mask == 0:
        o.mask = 1
    o.halves = modifier_d16(m)
    o.packed = o.halves and gfx_level > 80

cdef inline uint32_t address_word(const Wave *wave, const Instruction *instruction, const ImageOperands *o, uint32_t position,
                                  uint32_t lane) noexcept nogil:
    """A coordinate as an integer; behind them lies the level."""
    cdef uint32_t word
    if not o.narrow:
        return address_row(wave, instruction, o.coordinates_at + position)[lane]
    word = address_row(wave, instruction, o.coordinates_at + position // 2)[lane]
    return word >> 16 if position & 1 else word & 0xffff

cdef inline double address_number(const Wave *wave, const Instruction *instruction, const ImageOperands *o, uint32_t position,
                                  uint32_t lane) noexcept nogil:
    """A coordinate as a number."""
    cdef uint32_t word = address_word(wave, instruction, o, position, lane)
    return half_to_double(word) if o.narrow else bits_float(word)

cdef inline double address_gradient(const Wave *wave, const Instruction *instruction, const ImageOperands *o, uint32_t direction,
                                    uint32_t position, uint32_t lane) noexcept nogil:
    """The derivative of a coordinate in x (direction 0) or y."""
    cdef uint32_t word
    if not o.narrow_gradients:
        return bits_float(address_row(wave, instruction, o.gradients_at + direction * o.spatial + position)[lane])
    word = address_row(wave, instruction, o.gradients_at + direction * ((o.spatial + 1) // 2) + position // 2)[lane]
    return half_to_double(word >> 16 if position & 1 else word & 0xffff)

cdef inline uint32_t *data_row(const Wave *wave, uint16_t register_, uint32_t dword) noexcept nogil:
    return wave_vgpr(wave, (register_ >> 2) - 256 + dword)

cdef inline void put_data(const Wave *wave, const Instruction *instruction, const ImageOperands *o, uint32_t position, bint integer,
                          uint32_t value, uint32_t lane) noexcept nogil:
    """Write the component that is the `position`th of the result."""
    cdef uint32_t *row
    if o.halves:
        value = value & 0xffff if integer else double_to_half(bits_float(value), 0)
    if not o.packed:
        data_row(wave, instruction.decoded.destination[0], position)[lane] = value
        return
    row = &data_row(wave, instruction.decoded.destination[0], position // 2)[lane]
    # a result of one component keeps the other half
    row[0] = (row[0] & 0xffff) | value << 16 if position & 1 else (row[0] & 0xffff0000U) | value

cdef inline uint32_t get_data(const Wave *wave, const Instruction *instruction, const ImageOperands *o, uint32_t position,
                              const TexelFormat *form, uint32_t lane) noexcept nogil:
    """The component that is the `position`th of what is stored; from 16 bits it is widened as the format's kind says."""
    cdef uint16_t register_ = instruction.decoded.source[2]
    cdef uint32_t value
    if not o.halves:
        return data_row(wave, register_, position)[lane]
    value = data_row(wave, register_, position // 2 if o.packed else position)[lane]
    if o.packed and position & 1:
        value >>= 16
    value &= 0xffff
    if form.kind[0] == texel_sint:
        return <uint32_t><int16_t>value
    return value if form.integer else float_bits(<float>half_to_double(value))

cdef inline void put_residency(const Wave *wave, const Instruction *instruction, uint32_t missing, uint32_t lane) noexcept nogil:
    """The register behind the data is 0 if all texels lie in pages that are mapped."""
    if modifier_image_tfe(instruction.decoded.modifiers) and instruction.decoded.destination_count:
        data_row(wave, instruction.decoded.destination[0], instruction.decoded.destination_bytes[0] // 4 - 1)[lane] = missing != 0
