"""Facts about types. The contract is in ``types.pxd``."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.common.bits cimport align_up
from pyaco._core.ir.shader cimport Shader, ShaderData, TypeId, type_array, type_matrix, type_pointer, type_struct, type_void

cdef enum:
    too_many = 0xffffffff
    slot_limit = 1 << 24


cdef uint32_t type_slots(const ShaderData *s, TypeId type) noexcept nogil:
    cdef int base = s.types.base[type]
    cdef uint64_t total = 0
    cdef uint32_t i, part
    if base == type_struct:
        for i in range(s.types.member_count[type]):
            part = type_slots(s, s.members.type[s.types.member_first[type] + i])
            if part == <uint32_t>too_many:
                return part
            total += part
    elif base == type_array or base == type_matrix:
        part = type_slots(s, s.types.element[type])
        if part == <uint32_t>too_many or s.types.length[type] == 0:
            return <uint32_t>too_many
        total = <uint64_t>part * s.types.length[type]
    elif base == type_void:
        total = 0
    else:
        total = s.types.components[type] if s.types.components[type] else 1
    return <uint32_t>total if total <= slot_limit else <uint32_t>too_many


cdef uint32_t member_slots(const ShaderData *s, TypeId type, uint32_t member) noexcept nogil:
    cdef uint32_t total = 0
    cdef uint32_t i
    for i in range(member):
        total += type_slots(s, s.members.type[s.types.member_first[type] + i])
    return total


cdef uint32_t component_bytes(const ShaderData *s, TypeId type) noexcept nogil:
    if s.types.base[type] == type_pointer:
        return 8
    return 4 if s.types.bit_size[type] == 1 else s.types.bit_size[type] // 8


cdef uint32_t type_align(const ShaderData *s, TypeId type) noexcept nogil:
    cdef int base = s.types.base[type]
    cdef uint32_t best = 1
    cdef uint32_t i, part
    if base == type_struct:
        for i in range(s.types.member_count[type]):
            part = type_align(s, s.members.type[s.types.member_first[type] + i])
            best = part if part > best else best
        return best
    if base == type_array or base == type_matrix:
        return type_align(s, s.types.element[type])
    part = s.types.components[type]
    if s.types.stride[type] == component_bytes(s, type):
        part = 1
    return component_bytes(s, type) * (4 if part > 2 else 2 if part == 2 else 1)


cdef uint32_t type_stride(const ShaderData *s, TypeId type) noexcept nogil:
    if s.types.stride[type]:
        return s.types.stride[type]
    return <uint32_t>align_up(type_bytes(s, s.types.element[type]), type_align(s, s.types.element[type]))


cdef uint32_t member_offset(const ShaderData *s, TypeId type, uint32_t member) noexcept nogil:
    cdef uint32_t first = s.types.member_first[type]
    cdef uint32_t offset = 0
    cdef uint32_t i
    if s.members.offset[first + member] != 0xffffffffU:
        return s.members.offset[first + member]
    for i in range(member):
        offset = <uint32_t>align_up(offset, type_align(s, s.members.type[first + i])) + type_bytes(s, s.members.type[first + i])
    return <uint32_t>align_up(offset, type_align(s, s.members.type[first + member]))


cdef uint32_t type_bytes(const ShaderData *s, TypeId type) noexcept nogil:
    cdef int base = s.types.base[type]
    cdef uint32_t last, end, i, best
    if base == type_struct:
        best = 0
        for i in range(s.types.member_count[type]):
            last = s.types.member_first[type] + i
            end = member_offset(s, type, i) + type_bytes(s, s.members.type[last])
            best = end if end > best else best
        return <uint32_t>align_up(best, type_align(s, type))
    if base == type_matrix and s.types.row_major[type] and s.types.stride[type]:
        return s.types.stride[type] * s.types.components[s.types.element[type]]
    if base == type_array or base == type_matrix:
        return type_stride(s, type) * s.types.length[type]
    if base == type_void:
        return 0
    last = s.types.components[type] if s.types.components[type] else 1
    return component_bytes(s, type) * last


def layout(Shader shader not None, TypeId type):
    """``(bytes, alignment)`` of a type in memory."""
    return type_bytes(&shader.data, type), type_align(&shader.data, type)


def offset_of_member(Shader shader not None, TypeId type, uint32_t member):
    """Byte offset of a struct member."""
    return member_offset(&shader.data, type, member)


def stride_of(Shader shader not None, TypeId type):
    """Byte stride of an array or matrix."""
    return type_stride(&shader.data, type)


def slots(Shader shader not None, TypeId type):
    """Scalar components of a type."""
    return type_slots(&shader.data, type)
