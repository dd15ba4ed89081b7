"""Instruction selection of images: addresses, results and descriptors of image instructions, and what storage images do.

An image instruction reads an address of up to 13 dwords, in an order that the opcode decides: from GFX10 on in registers anywhere
(non-sequential addresses, NSA) as far as its encoding has fields, before in registers that follow each other. It moves only the
components that its mask names, so loads ask for those that are read, and their results are put back in place. Buffers of texels are reached
by the formatted loads and stores of buffers, whose index is the element.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3, RDNA 4): order of addresses, DIM, DA, UNRM, A16, D16, TFE, components that a store
leaves out (zero, from GFX12 on the first one), limits of NSA; ACO's ``visit_image_*`` for operand order and workarounds: GFX9 has no 1D
surfaces and takes 2D coordinates.
"""
import re

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from features cimport has_fmask, has_surfaces_1d
from isa_opcodes cimport *
from isa_tables cimport isa_opcode_number, opcode_format, opcode_name
from modifiers cimport (
    modifier_set_a16, modifier_set_d16, modifier_set_da, modifier_set_dim, modifier_set_disable_wqm, modifier_set_dmask,
    modifier_set_idxen, modifier_set_image_disable_wqm, modifier_set_image_tfe, modifier_set_r128, modifier_set_tfe, modifier_set_unrm,
)
from nir_opcodes cimport *

from pyaco._core.aco.build cimport make
from pyaco._core.aco.isel_address cimport memory_ordering
from pyaco._core.aco.isel_atomics cimport buffer_atomic_opcode
from pyaco._core.aco.isel_cache cimport access_semantics, atomic_cache, load_cache, store_cache
from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.queries cimport separate_addresses
from pyaco._core.ir.program cimport (
    Definition, InstructionId, Operand, TempId, class_bytes, class_dwords, class_s1, class_s4, class_v1, class_v2b, definition_no_cse,
    definition_of, gfx10, gfx11, gfx12, gfx9, operand_c16, operand_register, operand_undefined, register_null, semantic_atomicrmw,
    storage_image,
)
from pyaco._core.ir.shader cimport (
    ValueId, alu_is_vector, atomic_cmpxchg, atomic_fadd, atomic_fmax, atomic_fmin, atomic_iadd, atomic_iand, atomic_imax, atomic_imin,
    atomic_ior, atomic_ixor, atomic_umax, atomic_umin, atomic_xchg, constant_bits, image_1d, image_2d, image_3d, image_buffer,
    image_cube, image_external, image_ms, image_rect, image_subpass, image_subpass_ms, intrinsic_index, nir_alu, nir_tex, nir_undef,
    type_float, type_int,
    source_swizzle, source_value, swizzle_component, value_is_constant,
)

from pyaco._core.ir.vocabulary import ImageFormat
from pyaco.errors import InputError

cdef enum:                        # DIM of image instructions
    dim_1d = 0
    dim_2d = 1
    dim_3d = 2
    dim_cube = 3
    dim_1d_array = 4
    dim_2d_array = 5
    dim_2d_msaa = 6
    dim_2d_msaa_array = 7

cdef enum:
    has_several_samples = 4       # in image_dim_flags
    whole_fragment_mask = 0x76543210

# By dimensions of NIR, without and with layers. Input attachments have a layer.
cdef uint8_t[10][2] _dims
for _dim, _pair in {
    image_1d: (dim_1d, dim_1d_array), image_2d: (dim_2d, dim_2d_array), image_3d: (dim_3d, dim_3d), image_cube: (dim_cube, dim_cube),
    image_rect: (dim_2d, dim_2d_array), image_external: (dim_2d, dim_2d_array), image_ms: (dim_2d_msaa, dim_2d_msaa_array),
    image_subpass: (dim_2d_array, dim_2d_array), image_subpass_ms: (dim_2d_msaa_array, dim_2d_msaa_array),
}.items():
    _dims[_dim][0], _dims[_dim][1] = _pair

# Formatted loads and stores of buffers, by size of a component (32, 16 bits) and number of components less one.
cdef uint16_t[2][4] _texel_loads
cdef uint16_t[2][4] _texel_stores
for _table, _names in ((0, (op_buffer_load_format_x, op_buffer_load_format_xy, op_buffer_load_format_xyz, op_buffer_load_format_xyzw)),
                       (1, (op_buffer_load_format_d16_x, op_buffer_load_format_d16_xy, op_buffer_load_format_d16_xyz,
                            op_buffer_load_format_d16_xyzw))):
    for _count in range(4):
        _texel_loads[_table][_count] = _names[_count]
for _table, _names in ((0, (op_buffer_store_format_x, op_buffer_store_format_xy, op_buffer_store_format_xyz, op_buffer_store_format_xyzw)),
                       (1, (op_buffer_store_format_d16_x, op_buffer_store_format_d16_xy, op_buffer_store_format_d16_xyz,
                            op_buffer_store_format_d16_xyzw))):
    for _count in range(4):
        _texel_stores[_table][_count] = _names[_count]

cdef uint16_t[13] _image_atomics
for _operation, _opcode in {
    atomic_iadd: op_image_atomic_add, atomic_imin: op_image_atomic_smin, atomic_umin: op_image_atomic_umin,
    atomic_imax: op_image_atomic_smax, atomic_umax: op_image_atomic_umax, atomic_iand: op_image_atomic_and,
    atomic_ior: op_image_atomic_or, atomic_ixor: op_image_atomic_xor, atomic_xchg: op_image_atomic_swap,
    atomic_fadd: op_image_atomic_add_f32, atomic_fmin: op_image_atomic_fmin, atomic_fmax: op_image_atomic_fmax,
    atomic_cmpxchg: op_image_atomic_cmpswap,
}.items():
    _image_atomics[_operation] = _opcode


# Channels of the formats that shaders declare; 0: the format is the descriptor's.
cdef uint8_t[64] _format_channels
memset(_format_channels, 0, sizeof(_format_channels))
for _number, _format_name in ImageFormat.names().items():
    if _number:
        _format_channels[_number] = len(re.findall("[rgba][0-9]+", _format_name))


cdef uint16_t texel_load_opcode(uint32_t bytes, uint32_t components) noexcept nogil:
    return _texel_loads[bytes == 2][components - 1]


cdef inline const char *_name(Isel *c, ValueId i) noexcept nogil:
    cdef uint16_t opcode = c.s.instructions.opcode[i]
    return tex_names[opcode] if c.s.instructions.kind[i] == nir_tex else intrinsic_names[opcode]


# ------------------------------------------------------------------------------------------------------- NIR values
cdef TempId image_handle(Isel *c, ValueId i, uint32_t index) except 0 nogil:
    cdef ValueId value = source_value(c.s, i, index)
    cdef TempId temp = value_temp(c, value)
    if value_divergent(c, value):
        unsupported(c, b"a descriptor that differs between lanes, which must be made uniform before,", _name(c, i))
    if c.s.instructions.bit_size[value] != 32 or (c.s.instructions.components[value] != 4 and c.s.instructions.components[value] != 8):
        with gil:
            raise InputError(f"NIR: a descriptor of {_name(c, i).decode()} has neither 8 nor 4 dwords")
    return as_uniform(c, 0, temp)


cdef void resolve_component(Isel *c, ValueId *value, uint32_t *component) noexcept nogil:
    cdef uint16_t opcode
    cdef uint32_t source
    cdef uint32_t place
    while c.s.instructions.kind[value[0]] == nir_alu:
        opcode = c.s.instructions.opcode[value[0]]
        if opcode == alu_mov:
            source, place = 0, component[0]
        elif alu_is_vector(opcode):
            source, place = component[0], 0
        else:
            return
        component[0] = swizzle_component(source_swizzle(c.s, value[0], source), place)
        value[0] = source_value(c.s, value[0], source)


cdef uint32_t components_read(Isel *c, ValueId value, uint32_t components) noexcept nogil:
    cdef uint32_t mask = c.value_components[value] & ((1 << components) - 1)
    return mask if mask else 1


cdef bint _is_zero(Isel *c, ValueId value) noexcept nogil:
    return value_is_constant(c.s, value) and constant_bits(c.s, value, 0) == 0


# -------------------------------------------------------------------------------------------------------- addresses
cdef AddressPart value_part(ValueId value, uint32_t first, uint32_t count) noexcept nogil:
    return AddressPart(value, first, count, 0)


cdef AddressPart constant_part(uint32_t bits) noexcept nogil:
    return AddressPart(0, 0, 1, bits)


cdef TempId _half(Isel *c, const AddressPart *part_of, uint32_t place) except 0 nogil:
    """A component of 16 bits, in a VGPR."""
    if part_of.value == 0:
        return copy(c, 0, class_v2b, operand_c16(part_of.constant))
    return part(c, as_vgpr(c, value_temp(c, part_of.value)), part_of.first + place, 2)


cdef int _pack_halves(Isel *c, const AddressPart *parts, uint32_t count, vector[Operand] &address) except -1 nogil:
    """Two components in a dword; those that stand so already are taken as they are."""
    cdef vector[Operand] halves
    cdef uint32_t i
    cdef uint32_t k
    for i in range(count):
        k = 0
        while k < parts[i].count:
            if halves.size() == 0 and parts[i].value and (parts[i].first + k) % 2 == 0 and k + 1 < parts[i].count:
                address.push_back(T(c, part(c, as_vgpr(c, value_temp(c, parts[i].value)), (parts[i].first + k) // 2, 4)))
                k += 2
                continue
            halves.push_back(T(c, _half(c, &parts[i], k)))
            if halves.size() == 2:
                address.push_back(T(c, pair(c, 0, class_v1, halves[0], halves[1])))
                halves.clear()
            k += 1
    if halves.size():
        address.push_back(T(c, pair(c, 0, class_v1, halves[0], operand_undefined(class_v2b))))
    return 0


cdef int pack_address(Isel *c, const AddressPart *parts, uint32_t count, uint32_t bits, vector[Operand] &address) except -1 nogil:
    cdef uint32_t i
    cdef uint32_t k
    if bits == 16:
        return _pack_halves(c, parts, count, address)
    for i in range(count):
        for k in range(parts[i].count):
            if parts[i].value:
                address.push_back(T(c, part(c, value_temp(c, parts[i].value), parts[i].first + k, 4)))
            else:
                address.push_back(K(parts[i].constant))
    return 0


cdef uint64_t image_shape(Isel *c, uint64_t word, TempId resource, uint8_t dim, bint is_array, bint storage) except? 0xffffffffffffffffULL nogil:
    """Shaders write the faces of a cube as layers."""
    cdef uint32_t shape = _dims[dim][is_array]
    if dim == image_1d and not has_surfaces_1d(c.gfx):
        shape = dim_2d_array if is_array else dim_2d
    if storage and shape == dim_cube:
        shape = dim_2d_array
    word = modifier_set_dim(word, shape)
    if class_dwords(class_of(c, resource)) == 4:
        if c.gfx < gfx10:
            unsupported(c, b"on this gfx level, an image descriptor", b"of 4 dwords")
        word = modifier_set_r128(word, 1)
    return modifier_set_da(word, shape == dim_cube or shape == dim_1d_array or shape == dim_2d_array or shape == dim_2d_msaa_array)


cdef InstructionId image_instruction(Isel *c, uint32_t opcode, TempId dst, TempId resource, TempId sampler, Operand data,
                                     vector[Operand] &address, uint64_t modifiers) except 0 nogil:
    cdef Operand[18] o
    cdef uint32_t separate = separate_addresses(c.gfx, sampler != 0)
    cdef uint32_t total = <uint32_t>address.size()
    cdef uint32_t count = 3
    cdef uint32_t i
    if isa_opcode_number(c.gfx, opcode, opcode_format[opcode]) < 0:
        unsupported(c, b"on this gfx level,", opcode_name[opcode])
    if total > 13:
        unsupported(c, b"an address of more than 13 dwords for", opcode_name[opcode])
    if c.gfx < gfx11 and total > separate:
        separate = 0
    if separate + 1 >= total:
        separate = total
    o[0] = T(c, resource)
    o[1] = T(c, sampler) if sampler else operand_undefined(class_s4)
    o[2] = data
    for i in range(separate):
        o[count] = T(c, _in_vgpr(c, address[i]))
        count += 1
    if separate < total:
        o[count] = T(c, create_vector(c, 0, vgpr_class(4 * (total - separate)), address.data() + separate, total - separate))
        count += 1
    i = emit_raw(c, opcode, dst, o, count)
    modifiers_of_last(c)[0] = modifiers
    return i


cdef TempId _in_vgpr(Isel *c, Operand o) except 0 nogil:
    if o.data and o.register_class == class_v1 and class_of(c, o.data) == class_v1:
        return o.data
    return copy(c, 0, class_v1, o)


# ---------------------------------------------------------------------------------------------------------- results
cdef uint32_t _bits_set(uint32_t mask) noexcept nogil:
    cdef uint32_t count = 0
    while mask:
        count += mask & 1
        mask >>= 1
    return count


cdef inline uint32_t _loaded_bytes(const Isel *c, const ImageResult *result) noexcept nogil:
    return 4 if result.bytes == 2 and c.gfx < gfx9 else result.bytes


cdef TempId _loaded(Isel *c, const ImageResult *result, uint32_t position) except 0 nogil:
    """A component that was loaded, in its size."""
    cdef TempId dword
    if _loaded_bytes(c, result) == result.bytes:
        return part(c, result.temp, position, result.bytes)
    dword = part(c, result.temp, position, 4)
    return emit1(c, op_v_cvt_f16_f32, 0, T(c, dword)) if result.is_float else part(c, dword, 0, 2)


cdef TempId begin_result(Isel *c, ImageResult *result, Operand *data) except 0 nogil:
    cdef TempId dst = value_temp(c, result.value)
    cdef uint32_t bytes = (_bits_set(result.mask) * _loaded_bytes(c, result) + 3) // 4 * 4 + 4 * result.sparse
    cdef vector[Operand] zeros
    cdef Definition d
    cdef TempId before
    if result.temp:
        pass
    elif class_of(c, dst) == vgpr_class(bytes) and _bits_set(result.mask) == result.components:
        result.temp = dst
    else:
        result.temp = new_temp(c, vgpr_class(bytes))
    data[0] = operand_undefined(class_v1)
    if result.sparse:
        # Where texels are absent nothing is written, but Vulkan wants zeros. A shared vector of zeros would only have to be copied.
        before = new_temp(c, class_of(c, result.temp))
        zeros.assign(class_dwords(class_of(c, before)), K(0))
        d = definition_of(c.p, before)
        d.flags |= definition_no_cse
        append_instruction(c, make(c.p, op_p_create_vector, &d, 1, zeros.data(), zeros.size()))
        data[0] = T(c, before)
    return result.temp


cdef int finish_result(Isel *c, ImageResult *result) except -1 nogil:
    """Put the components that were loaded in their places. Nothing reads the others, which hold whatever stands there, but texels of 64 bits
    have zeros in the middle."""
    cdef TempId dst = value_temp(c, result.value)
    cdef uint32_t total = result.components + result.sparse
    cdef vector[Operand] o
    cdef uint32_t[16] temps
    cdef uint32_t position = 0
    cdef uint32_t k
    cdef TempId whole = dst
    cdef bint single_words = not is_vgpr(c, dst) and result.bytes >= 4
    if result.temp == dst:
        return split(c, dst, result.bytes)
    if total == 1 and class_bytes(class_of(c, result.temp)) == class_bytes(class_of(c, dst)) and _loaded_bytes(c, result) == result.bytes:
        return _copy_result(c, dst, result.temp)
    split(c, result.temp, min(_loaded_bytes(c, result), 4U))
    for k in range(total):
        temps[k] = 0
        if k == result.components:
            temps[k] = _residency(c, result)
        elif result.mask >> k & 1:
            temps[k] = _loaded(c, result, position)
            position += 1
        elif result.bytes == 8:
            temps[k] = pair(c, 0, vgpr_class(8), K(0), K(0))
        if temps[k] and single_words:
            temps[k] = as_uniform(c, 0, temps[k])
        if temps[k]:
            o.push_back(T(c, temps[k]))
        else:
            o.push_back(operand_undefined(sgpr_class(result.bytes) if single_words else vgpr_class(result.bytes)))
    if total == 1:
        return _copy_result(c, dst, temps[0])
    if not is_vgpr(c, dst) and not single_words:
        if total * result.bytes % 4:
            o.push_back(operand_undefined(class_v2b))
        whole = new_temp(c, vgpr_class(class_bytes(class_of(c, dst))))
    emit_raw(c, op_p_create_vector, whole, o.data(), o.size())
    if whole != dst:
        as_uniform(c, dst, whole)
        return 0
    for k in range(total):
        # A part that nothing reads must be called something.
        if temps[k] == 0:
            temps[k] = o[_lowest(result.mask)].data
    return remember_parts(c, dst, temps, total)


cdef uint32_t _lowest(uint32_t mask) noexcept nogil:
    cdef uint32_t k = 0
    while not mask >> k & 1:
        k += 1
    return k


cdef int _copy_result(Isel *c, TempId dst, TempId loaded) except -1 nogil:
    if is_vgpr(c, dst):
        copy(c, dst, 0, T(c, loaded))
    else:
        uniform_dwords(c, dst, loaded)
    return 0


cdef TempId _residency(Isel *c, ImageResult *result) except 0 nogil:
    """The last dword, widened to the size of the components."""
    cdef TempId code = part(c, result.temp, class_dwords(class_of(c, result.temp)) - 1, 4)
    return code if result.bytes == 4 else pair(c, 0, vgpr_class(8), T(c, code), K(0))


# ------------------------------------------------------------------------------------------------- buffers of texels
cdef int _texel_instruction(Isel *c, uint32_t opcode, TempId dst, TempId resource, TempId index, const Operand *data,
                            uint64_t modifiers) except -1 nogil:
    cdef Operand[4] o
    if class_dwords(class_of(c, resource)) != 4:
        with gil:
            raise InputError("NIR: the descriptor of a buffer of texels has not 4 dwords")
    if isa_opcode_number(c.gfx, opcode, opcode_format[opcode]) < 0:
        unsupported(c, b"on this gfx level,", opcode_name[opcode])
    o[0] = T(c, resource)
    o[1] = T(c, as_vgpr(c, index))
    o[2] = operand_register(register_null, class_s1) if c.gfx >= gfx12 else K(0)
    if data:
        o[3] = data[0]
    emit_raw(c, opcode, dst, o, 4 if data else 3)
    modifiers_of_last(c)[0] = modifier_set_idxen(modifiers, 1)
    return 0


cdef int texel_load(Isel *c, ImageResult *result, TempId resource, TempId index, uint64_t modifiers) except -1 nogil:
    cdef Operand data
    cdef uint32_t count = 1
    cdef uint32_t opcode
    cdef TempId dst
    # What is loaded begins with the first component.
    while result.mask >> count:
        count += 1
    result.mask = (1 << count) - 1
    dst = begin_result(c, result, &data)
    modifiers = modifier_set_tfe(modifiers, result.sparse)
    opcode = texel_load_opcode(2 if narrow_data(c, 8 * result.bytes) else 4, count * result.bytes // 4 if result.bytes == 8 else count)
    _texel_instruction(c, opcode, dst, resource, index, &data if result.sparse else NULL, modifiers)
    return finish_result(c, result)


# ------------------------------------------------------------------------------------------------ intrinsics: addresses
cdef TempId _element(Isel *c, ValueId i) except 0 nogil:
    """The index into a buffer of texels."""
    cdef ValueId coordinates = source_value(c.s, i, 1)
    if c.s.instructions.bit_size[coordinates] != 32:
        unsupported(c, b"indices that do not have 32 bits in", _name(c, i))
    return part(c, value_temp(c, coordinates), 0, 4)


cdef int _coordinates(Isel *c, ValueId i, uint32_t lod, vector[Operand] &address) except -1 nogil:
    """The address of an image intrinsic; `lod`: the source with the level, 0 none."""
    cdef AddressPart[4] parts
    cdef uint32_t dim = intrinsic_index(c.s, i, index_image_dim)
    cdef bint is_array = intrinsic_index(c.s, i, index_image_array) and dim != image_cube
    cdef ValueId coordinates = source_value(c.s, i, 1)
    cdef uint32_t bits = c.s.instructions.bit_size[coordinates]
    cdef uint32_t count = 1
    cdef uint32_t k
    parts[0] = value_part(coordinates, 0, image_coordinates[dim] + is_array)
    if dim == image_1d and not has_surfaces_1d(c.gfx):
        parts[0].count = 1
        parts[1] = constant_part(0)
        count = 2
        if is_array:
            parts[2] = value_part(coordinates, 1, 1)
            count = 3
    if image_dim_flags[dim] & has_several_samples and c.s.instructions.opcode[i] != intrinsic_bindless_image_fragment_mask_load_amd:
        parts[count] = value_part(source_value(c.s, i, 2), 0, 1)
        count += 1
    if lod and not _is_zero(c, source_value(c.s, i, lod)):
        parts[count] = value_part(source_value(c.s, i, lod), 0, 1)
        count += 1
    for k in range(count):
        if parts[k].value and c.s.instructions.bit_size[parts[k].value] != bits:
            unsupported(c, b"coordinates, samples and levels of different sizes in", _name(c, i))
    if bits != 16 and bits != 32:
        unsupported(c, b"coordinates that have neither 16 nor 32 bits in", _name(c, i))
    return pack_address(c, parts, count, bits, address)


cdef uint64_t _modifiers(Isel *c, ValueId i, TempId resource, uint64_t word, uint32_t dmask) except? 0xffffffffffffffffULL nogil:
    cdef uint32_t dim = intrinsic_index(c.s, i, index_image_dim)
    word = image_shape(c, word, resource, <uint8_t>dim, intrinsic_index(c.s, i, index_image_array) != 0, True)
    word = modifier_set_a16(word, c.s.instructions.bit_size[source_value(c.s, i, 1)] == 16)
    return modifier_set_unrm(modifier_set_dmask(word, dmask), 1)


cdef int _read_dim(Isel *c, ValueId i) except -1 nogil:
    cdef int32_t dim = intrinsic_index(c.s, i, index_image_dim)
    if not 0 <= dim < <int32_t>image_dim_count:
        with gil:
            raise InputError(f"NIR: {_name(c, i).decode()} has no dimensions {dim}")
    return dim


# ---------------------------------------------------------------------------------------------------- intrinsics: loads
cdef int _load(Isel *c, ValueId i, uint64_t sparse) except -1 nogil:
    cdef ImageResult result
    cdef vector[Operand] address
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef uint32_t bits = c.s.instructions.bit_size[i]
    cdef uint64_t word = load_cache(c, memory_ordering(storage_image, access_semantics(access)), access)
    cdef TempId resource = image_handle(c, i, 0)
    cdef TempId dst
    cdef Operand data
    cdef bint base_level = _is_zero(c, source_value(c.s, i, 3))
    cdef uint32_t dmask
    if bits < 16 or (bits == 16 and sparse):
        unsupported(c, b"results of this size from", _name(c, i))
    result.value = i
    result.temp = 0
    result.components = c.s.instructions.components[i] - <uint32_t>sparse
    result.mask = components_read(c, i, result.components)
    result.bytes = bits // 8
    result.is_float = intrinsic_index(c.s, i, index_dest_type) >> 8 == type_float
    result.sparse = sparse
    dmask = result.mask
    if bits == 64:
        # Texels of 64 bits have one component, in the first two dwords, and an alpha of one in the others.
        result.mask = 1 | (result.mask & 8)
        dmask = 0xf if result.mask & 8 else 3
    if _read_dim(c, i) == image_buffer:
        if bits == 64:
            unsupported(c, b"texels of 64 bits in a buffer from", _name(c, i))
        return texel_load(c, &result, resource, _element(c, i), word)
    _coordinates(c, i, 3, address)
    dst = begin_result(c, &result, &data)
    word = modifier_set_image_tfe(modifier_set_d16(_modifiers(c, i, resource, word, dmask), narrow_data(c, bits)), result.sparse)
    image_instruction(c, op_image_load if base_level else op_image_load_mip, dst, resource, 0, data, address, word)
    return finish_result(c, &result)


cdef int finish_fragment_mask(Isel *c, ValueId i, TempId resource, TempId loaded) except -1 nogil:
    cdef TempId dst = value_temp(c, i)
    cdef TempId present = emit2(c, op_s_cmp_lg_u32, 0, T(c, part(c, resource, 1, 4)), K(0))
    if not is_vgpr(c, dst):
        emit3(c, op_s_cselect_b32, dst, T(c, as_uniform(c, 0, loaded)), K(whole_fragment_mask), scc_operand(c, present))
    else:
        emit3(c, op_v_cndmask_b32, dst, K(whole_fragment_mask), T(c, loaded), T(c, scc_to_mask(c, 0, present)))
    return 0


cdef int _load_fragment_mask(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef vector[Operand] address
    cdef TempId resource = image_handle(c, i, 0)
    cdef TempId loaded = new_temp(c, class_v1)
    cdef bint is_array = intrinsic_index(c.s, i, index_image_array) != 0
    cdef uint64_t word
    if not has_fmask(c.gfx):
        unsupported(c, b"on this gfx level,", _name(c, i))
    _read_dim(c, i)
    _coordinates(c, i, 0, address)
    word = modifier_set_dim(_modifiers(c, i, resource, 0, 1), dim_2d_array if is_array else dim_2d)
    image_instruction(c, op_image_load, loaded, resource, 0, operand_undefined(class_v1), address, word)
    return finish_fragment_mask(c, i, resource, loaded)


# --------------------------------------------------------------------------------------------------- intrinsics: stores
cdef bint _same(Isel *c, ValueId a, uint32_t a_component, ValueId b, uint32_t b_component) noexcept nogil:
    if value_is_constant(c.s, a) and value_is_constant(c.s, b):
        return constant_bits(c.s, a, a_component) == constant_bits(c.s, b, b_component)
    return a == b and a_component == b_component


cdef uint32_t _store_mask(Isel *c, ValueId value, uint32_t components, bint from_first) noexcept nogil:
    """Components that must be stored. Those that the mask leaves out become zero, from GFX12 on equal to the first in the mask."""
    cdef uint32_t mask = (1 << components) - 1
    cdef ValueId first = 0
    cdef uint32_t first_component = 0
    cdef ValueId source
    cdef uint32_t component
    cdef uint32_t k
    for k in range(components):
        source, component = value, k
        resolve_component(c, &source, &component)
        if c.s.instructions.kind[source] == nir_undef:
            mask &= ~(1U << k)
        elif c.gfx < gfx12:
            if value_is_constant(c.s, source) and constant_bits(c.s, source, component) == 0:
                mask &= ~(1U << k)
        elif first and _same(c, source, component, first, first_component):
            mask &= ~(1U << k)
        elif first == 0 and (k == 0 or not from_first):
            first, first_component = source, component
    return mask if mask else 1


cdef TempId _widened(Isel *c, ValueId store, TempId half) except 0 nogil:
    """A component of 16 bits that is stored as one of 32."""
    cdef uint32_t base = intrinsic_index(c.s, store, index_src_type) >> 8
    if base == type_float:
        return emit1(c, op_v_cvt_f32_f16, 0, T(c, half))
    return as_vgpr(c, convert_integer(c, 0, half, 16, 32, base == type_int))


cdef TempId _stored(Isel *c, ValueId store, ValueId value, uint32_t mask, uint32_t bytes) except 0 nogil:
    """The components of `mask`, one after the other in VGPRs."""
    cdef vector[Operand] o
    cdef TempId temp = value_temp(c, value)
    cdef uint32_t size = _bits_set(mask) * bytes
    cdef uint32_t k = 0
    if bytes == 2 and c.gfx < gfx9:
        temp = as_vgpr(c, temp)
        while mask >> k:
            if mask >> k & 1:
                o.push_back(T(c, _widened(c, store, part(c, temp, k, 2))))
            k += 1
        return o[0].data if o.size() == 1 else create_vector(c, 0, vgpr_class(4 * <uint32_t>o.size()), o.data(), <uint32_t>o.size())
    if bytes == 2 or mask == (1U << c.s.instructions.components[value]) - 1:
        temp = as_vgpr(c, temp)
        if class_bytes(class_of(c, temp)) == size and size % 4 == 0:
            return temp
    while mask >> k:
        if mask >> k & 1:
            o.push_back(T(c, part(c, temp, k, bytes)))
        k += 1
    if size % 4:
        o.push_back(operand_undefined(class_v2b))
    if o.size() == 1:
        return as_vgpr(c, o[0].data)
    return create_vector(c, 0, vgpr_class((size + 3) & ~3U), o.data(), <uint32_t>o.size())


cdef int _store(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef vector[Operand] address
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef ValueId value = source_value(c.s, i, 3)
    cdef uint32_t bits = c.s.instructions.bit_size[value]
    cdef uint64_t word = store_cache(c, memory_ordering(storage_image, access_semantics(access)), access)
    cdef TempId resource = image_handle(c, i, 0)
    cdef bint in_buffer = _read_dim(c, i) == image_buffer
    cdef bint base_level = _is_zero(c, source_value(c.s, i, 4))
    cdef uint32_t components = c.s.instructions.components[value]
    cdef uint32_t mask = 1
    cdef uint32_t channels
    cdef Operand data
    if bits < 16 or components > 4 or (bits == 64 and in_buffer):
        unsupported(c, b"data of this size for", _name(c, i))
    if bits < 64:
        # Channels that the format lacks need no data (Mesa: nir_opt_shrink_stores).
        channels = _format_channels[intrinsic_index(c.s, i, index_format) & 63]
        mask = _store_mask(c, value, min(channels, components) if channels else components, in_buffer)
    if in_buffer:
        while mask & (mask + 1):
            mask |= mask >> 1
        data = T(c, _stored(c, i, value, mask, bits // 8))
        return _texel_instruction(c, _texel_stores[narrow_data(c, bits)][_bits_set(mask) - 1], 0, resource, _element(c, i), &data,
                                  modifier_set_disable_wqm(word, 1))
    _coordinates(c, i, 4, address)
    data = T(c, _stored(c, i, value, mask, bits // 8))
    word = _modifiers(c, i, resource, word, 3 if bits == 64 else mask)
    word = modifier_set_image_disable_wqm(modifier_set_d16(word, narrow_data(c, bits)), 1)
    image_instruction(c, op_image_store if base_level else op_image_store_mip, 0, resource, 0, data, address, word)
    return 0


# -------------------------------------------------------------------------------------------------- intrinsics: atomics
cdef int _atomic(Isel *c, ValueId i, uint64_t swap) except -1 nogil:
    cdef vector[Operand] address
    cdef uint32_t operation = atomic_cmpxchg if swap else <uint32_t>intrinsic_index(c.s, i, index_atomic_op)
    cdef uint32_t bits = c.s.instructions.bit_size[source_value(c.s, i, 3)]
    cdef bint returns = c.value_used[i] != 0
    cdef TempId resource = image_handle(c, i, 0)
    cdef TempId data = as_vgpr(c, source_whole(c, i, 3))
    cdef TempId old = value_temp(c, i) if returns else 0
    cdef uint64_t word = atomic_cache(c, memory_ordering(storage_image, semantic_atomicrmw), returns)
    cdef bint in_buffer = _read_dim(c, i) == image_buffer
    cdef Operand stored
    cdef Operand[2] o
    if bits < 32 or operation > atomic_cmpxchg or (not swap and operation == atomic_cmpxchg):
        unsupported(c, b"this size or operation of", _name(c, i))
    if swap:
        data = pair(c, 0, vgpr_class(bits // 4), T(c, as_vgpr(c, source_whole(c, i, 4))), T(c, data))
        old = new_temp(c, class_of(c, data)) if returns else 0
    stored = T(c, data)
    if in_buffer:
        if buffer_atomic_opcode(operation, bits == 64) == op_invalid:
            unsupported(c, b"on this gfx level, the float operation of", _name(c, i))
        _texel_instruction(c, buffer_atomic_opcode(operation, bits == 64), old, resource, _element(c, i), &stored,
                           modifier_set_disable_wqm(word, 1))
    else:
        if bits == 64 and atomic_fadd <= operation <= atomic_fmax:
            unsupported(c, b"64-bit float operations of", _name(c, i))
        _coordinates(c, i, 0, address)
        word = modifier_set_image_disable_wqm(_modifiers(c, i, resource, word, (1U << class_dwords(class_of(c, data))) - 1), 1)
        image_instruction(c, _image_atomics[operation], old, resource, 0, stored, address, word)
    if swap and returns:
        o[0] = T(c, old)
        o[1] = K(0)
        emit_raw(c, op_p_extract_vector, value_temp(c, i), o, 2)
    return 0


cdef void fill_images(IntrinsicSelection *table) noexcept nogil:
    table[<int>intrinsic_bindless_image_load] = IntrinsicSelection(_load, False)
    table[<int>intrinsic_bindless_image_sparse_load] = IntrinsicSelection(_load, True)
    table[<int>intrinsic_bindless_image_store] = IntrinsicSelection(_store, 0)
    table[<int>intrinsic_bindless_image_atomic] = IntrinsicSelection(_atomic, False)
    table[<int>intrinsic_bindless_image_atomic_swap] = IntrinsicSelection(_atomic, True)
    table[<int>intrinsic_bindless_image_fragment_mask_load_amd] = IntrinsicSelection(_load_fragment_mask, 0)
