"""Copies of whole variables, structs, arrays and matrices become loads and stores; initial values become stores.

Guarantees: no copy_deref is left; no live function_temp or shader_temp variable has an initializer (their stores are
at the start of the function; a function's own variables get theirs from the reader when it inlines the function).
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    index_access, index_dst_access, index_src_access, index_write_mask, intrinsic_copy_deref, intrinsic_load_deref,
    intrinsic_store_deref,
)
from pyaco._core.ir.emitter cimport constant, constant_vector, emit, intrinsic1, intrinsic2
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, TypeId, ValueId, VariableId, deref_array, deref_struct, deref_var, intrinsic_index, intrinsic_set_index,
    mode_function_temp, mode_shader_temp, nir_deref_new, nir_intrinsic, source_set, source_value, type_array, type_matrix, type_pointer,
    type_struct, variable_alive,
)
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lower_remove, lowering_run_from
from pyaco._core.nir.types cimport type_slots

from pyaco.errors import UnsupportedError

cdef enum:
    copy_limit = 1 << 16           # components of one copy


cdef ValueId _child(Lowering *b, ValueId parent, int opcode, uint32_t number) except 0 nogil:
    """The deref of a struct member or array element."""
    cdef ShaderData *s = b.s
    cdef TypeId type = s.instructions.type[parent]
    cdef int components = s.instructions.components[parent]
    cdef int bit_size = s.instructions.bit_size[parent]
    cdef uint32_t mode = s.instructions.mode[parent]
    cdef ValueId row, index
    if opcode == deref_array:
        index = constant(b, number, 32)
        row = nir_deref_new(s, opcode, components, bit_size, 2, mode, s.types.element[type], 0)
        source_set(s, row, 1, index)
    else:
        row = nir_deref_new(s, opcode, components, bit_size, 1, mode, s.members.type[s.types.member_first[type] + number], number)
    source_set(s, row, 0, parent)
    return emit(b, row)


cdef int _children(const ShaderData *s, TypeId type, int *opcode) noexcept nogil:
    """How many parts a type has, 0 for scalars and vectors."""
    if s.types.base[type] == type_struct:
        opcode[0] = deref_struct
        return s.types.member_count[type]
    if s.types.base[type] == type_array or s.types.base[type] == type_matrix:
        opcode[0] = deref_array
        return s.types.length[type]
    return 0


cdef int _bits(const ShaderData *s, TypeId type) noexcept nogil:
    """Bit size of a scalar, vector or physical pointer."""
    return 64 if s.types.base[type] == type_pointer else s.types.bit_size[type]


cdef int _copy(Lowering *b, ValueId target, ValueId origin, ValueId copy) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef TypeId type = s.instructions.type[origin]
    cdef int opcode = 0
    cdef int parts = _children(s, type, &opcode)
    cdef int i
    cdef ValueId value, store
    cdef uint32_t components
    if parts:
        for i in range(parts):
            _copy(b, _child(b, target, opcode, i), _child(b, origin, opcode, i), copy)
        return 0
    if s.types.base[type] == type_struct:
        return 0
    components = s.types.components[type] if s.types.components[type] else 1
    value = intrinsic1(b, intrinsic_load_deref, components, _bits(s, type), origin)
    intrinsic_set_index(s, value, index_access, intrinsic_index(s, copy, index_src_access))
    store = intrinsic2(b, intrinsic_store_deref, 0, 0, target, value)
    intrinsic_set_index(s, store, index_write_mask, (1 << components) - 1)
    intrinsic_set_index(s, store, index_access, intrinsic_index(s, copy, index_dst_access))
    return 0


cdef ValueId _lower_copy(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId origin
    cdef uint32_t slots
    if s.instructions.kind[instruction] != nir_intrinsic or s.instructions.opcode[instruction] != intrinsic_copy_deref:
        return lower_keep
    origin = source_value(s, instruction, 1)
    slots = type_slots(s, s.instructions.type[origin])
    if slots > copy_limit:
        with gil:
            raise UnsupportedError("a copy of more than 65536 components at once")
    _copy(b, source_value(s, instruction, 0), origin, instruction)
    return <uint32_t>lower_remove


# --------------------------------------------------------------------------------------------------------- initial values
cdef uint32_t _initialise(Lowering *b, ValueId deref, uint32_t row) except 0xffffffffU nogil:
    """Store the constants that begin at `row` to what a deref points to; returns the row after them."""
    cdef ShaderData *s = b.s
    cdef TypeId type = s.instructions.type[deref]
    cdef int opcode = 0
    cdef int parts = _children(s, type, &opcode)
    cdef int components, i
    cdef ValueId value, store
    cdef uint64_t[16] bits
    if parts or s.types.base[type] == type_struct:
        for i in range(parts):
            row = _initialise(b, _child(b, deref, opcode, i), row)
        return row
    components = s.types.components[type] if s.types.components[type] else 1
    for i in range(components):
        bits[i] = s.constants.value[row + i]
    value = constant_vector(b, bits, components, _bits(s, type))
    store = intrinsic2(b, intrinsic_store_deref, 0, 0, deref, value)
    intrinsic_set_index(s, store, index_write_mask, (1 << components) - 1)
    return row + components


cdef int _initialise_variables(Lowering *b) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef VariableId variable
    cdef ValueId deref
    for variable in range(s.variables.table.count):
        if not s.variables.flags[variable] & variable_alive or s.variables.initializer[variable] == 0:
            continue
        if not s.variables.mode[variable] & (mode_function_temp | mode_shader_temp):
            continue
        deref = emit(b, nir_deref_new(s, deref_var, 1, 32, 0, s.variables.mode[variable], s.variables.type[variable], variable))
        _initialise(b, deref, s.variables.initializer[variable] - 1)
        s.variables.initializer[variable] = 0
        b.progress = True
    return 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    return lowering_run_from(<ShaderData *>ir, _initialise_variables, lower_intrinsics, _lower_copy, NULL)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Lower copies and initial values."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
