"""Instruction selection of buffers by descriptor: load_buffer_amd, store_buffer_amd, load_typed_buffer_amd.

Unlike storage buffers, whose address is an offset, these have three parts that the descriptor treats differently: a vector offset, which
range checks and swizzling look at, a scalar offset, which they do not, and the number of an element, which is multiplied by the stride. So
each keeps its place in the instruction. Of a swizzled buffer every dword of a lane may lie elsewhere, so no access is wider.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3, RDNA 4), "Buffer Addressing"; NIR's intrinsics (Mesa ``nir_intrinsics.py``); ACO's
``visit_load_buffer`` for the index that swizzled buffers need from GFX11 on.
"""
import re

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from isa_opcodes cimport *
from modifiers cimport modifier_set_format
from nir_opcodes cimport *
from pyaco._core.aco.isel_address cimport (
    Access, begin_access, by_buffer, legalize_address, memory_instruction, memory_ordering, read_alignment, read_offset,
)
from pyaco._core.aco.isel_cache cimport access_semantics, load_cache, store_cache
from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.isel_images cimport texel_load_opcode
from pyaco._core.aco.isel_memory cimport assemble_value, load_value, store_value
from pyaco._core.ir.program cimport TempId, class_v1, gfx10, gfx11, gfx9, storage_buffer
from pyaco._core.ir.shader cimport (
    ValueId, access_is_swizzled_amd, access_uses_format_amd, constant_bits, intrinsic_index, source_value, value_is_constant,
)

from pyaco._core.ir.vocabulary import ImageFormat
from pyaco.isa import names

cdef enum:
    no_format = 0xff

# Formats of typed instructions, by their numbering (up to GFX9, GFX10, from GFX11 on) and ImageFormat.
cdef uint8_t[3][64] _format_numbers
memset(_format_numbers, no_format, sizeof(_format_numbers))
for _number, _name in ImageFormat.names().items():
    # The hardware's names begin with the highest bits.
    _layout = "_".join(reversed(re.findall("[rgba]([0-9]+)", _name)))
    if _layout in names.DATA_FORMATS:                # texels of 64-bit components are none of its
        _split = names.DATA_FORMATS.index(_layout) | names.NUMBER_FORMATS.index(_name.rpartition("_")[2].upper()) << 4
        for _numbering, _level in enumerate((90, 100, 110)):
            _joined = names.join_format(_split, _level)
            if _joined is not None:
                _format_numbers[_numbering][_number] = _joined

# Typed loads, by size of a component (32, 16 bits) and number of components less one.
cdef uint16_t[2][4] _typed_loads
for _table, _opcodes in enumerate((
    (op_tbuffer_load_format_x, op_tbuffer_load_format_xy, op_tbuffer_load_format_xyz, op_tbuffer_load_format_xyzw),
    (op_tbuffer_load_format_d16_x, op_tbuffer_load_format_d16_xy, op_tbuffer_load_format_d16_xyz, op_tbuffer_load_format_d16_xyzw),
)):
    for _count in range(4):
        _typed_loads[_table][_count] = _opcodes[_count]


cdef inline bint _is_zero(Isel *c, ValueId value) noexcept nogil:
    return value_is_constant(c.s, value) and constant_bits(c.s, value, 0) == 0


cdef int _structured_access(Isel *c, ValueId i, Access *a, uint32_t first, uint32_t element) except -1 nogil:
    """The access whose descriptor is source `first`: offset, scalar offset and index follow it."""
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef bint swizzled = access & access_is_swizzled_amd != 0
    begin_access(a, by_buffer, source_whole(c, i, first))
    a.structured = True
    a.constant = intrinsic_index(c.s, i, index_base)
    if swizzled:
        a.largest_piece = 4
    read_offset(c, i, a, first + 1)
    if not _is_zero(c, source_value(c.s, i, first + 2)):
        a.scalar_offset = as_uniform(c, 0, source_whole(c, i, first + 2))
    if not _is_zero(c, source_value(c.s, i, first + 3)):
        a.index = as_vgpr(c, source_whole(c, i, first + 3))
    elif swizzled and c.gfx >= gfx11:
        a.index = copy(c, 0, class_v1, K(0))
    read_alignment(c, i, a, element)
    a.modifiers = memory_ordering(storage_buffer, access_semantics(access))
    return 0


cdef int _formatted_load(Isel *c, ValueId i, Access *a, uint32_t opcode) except -1 nogil:
    """One instruction, which converts: as many components as are wanted, of 32 bits or packed halves."""
    cdef uint32_t components = c.s.instructions.components[i]
    cdef uint32_t bytes = c.s.instructions.bit_size[i] // 8
    cdef TempId dst = value_temp(c, i)
    cdef TempId loaded = dst
    cdef vector[uint32_t] pieces
    cdef uint32_t k
    if not is_vgpr(c, dst) or components * bytes % 4:
        loaded = new_temp(c, vgpr_class((components * bytes + 3) & ~3))
    legalize_address(c, a, 4 * bytes)
    memory_instruction(c, a, opcode, loaded, NULL, 0, a.constant)
    if loaded == dst:
        return split(c, dst, bytes)
    for k in range(components):
        pieces.push_back(part(c, loaded, k, bytes))
    return assemble_value(c, dst, pieces, components * bytes, bytes)


cdef int _check_formatted(Isel *c, ValueId i) except -1 nogil:
    cdef uint32_t bits = c.s.instructions.bit_size[i]
    if c.s.instructions.components[i] > 4 or (bits != 32 and bits != 16) or (bits == 16 and c.gfx < gfx9):
        return unsupported(c, b"number or size of components of formatted", intrinsic_names[c.s.instructions.opcode[i]])
    if intrinsic_index(c.s, i, index_access) & access_is_swizzled_amd:
        return unsupported(c, b"swizzled formatted", intrinsic_names[c.s.instructions.opcode[i]])
    return 0


cdef int _load(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef uint32_t bytes = c.s.instructions.bit_size[i] // 8
    _structured_access(c, i, &a, 0, bytes)
    a.modifiers = load_cache(c, a.modifiers, access)
    if access & access_uses_format_amd:
        _check_formatted(c, i)
        return _formatted_load(c, i, &a, texel_load_opcode(bytes, c.s.instructions.components[i]))
    return load_value(c, i, &a)


cdef int _typed_load(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef Access a
    cdef uint32_t bytes = c.s.instructions.bit_size[i] // 8
    cdef uint32_t format = intrinsic_index(c.s, i, index_format)
    cdef uint32_t numbering = 0 if c.gfx < gfx10 else 1 if c.gfx < gfx11 else 2
    _check_formatted(c, i)
    if format >= 64 or _format_numbers[numbering][format] == no_format:
        return unsupported(c, b"format of", b"load_typed_buffer_amd")
    _structured_access(c, i, &a, 0, bytes)
    a.modifiers = modifier_set_format(load_cache(c, a.modifiers, intrinsic_index(c.s, i, index_access)), _format_numbers[numbering][format])
    return _formatted_load(c, i, &a, _typed_loads[bytes == 2][c.s.instructions.components[i] - 1])


cdef int _store(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef Access a
    cdef uint32_t access = intrinsic_index(c.s, i, index_access)
    cdef ValueId value = source_value(c.s, i, 0)
    if access & access_uses_format_amd:
        return unsupported(c, b"formatted", b"store_buffer_amd")
    _structured_access(c, i, &a, 1, c.s.instructions.bit_size[value] // 8)
    a.modifiers = store_cache(c, a.modifiers, access)
    return store_value(c, &a, value, intrinsic_index(c.s, i, index_write_mask))


cdef void fill_buffer(IntrinsicSelection *table) noexcept nogil:
    table[<int>intrinsic_load_buffer_amd] = IntrinsicSelection(_load, 0)
    table[<int>intrinsic_store_buffer_amd] = IntrinsicSelection(_store, 0)
    table[<int>intrinsic_load_typed_buffer_amd] = IntrinsicSelection(_typed_load, 0)
