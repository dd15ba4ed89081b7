"""Local arrays that only ever hold constants move to the constant data behind the code.

Needs: ``vars_to_ssa`` (what is left is indexed at run time), constants folded. Guarantees: a variable whose every store
writes a constant to a constant place, all stores in one block that comes before all loads, has mode ``constant``, its
offset in ``shader.constant_data`` as location, and no stores. Equal tables share their bytes.

As Mesa's nir_opt_large_constants with RADV's threshold of 16 bytes.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy
from libcpp.vector cimport vector

from nir_opcodes cimport index_write_mask, intrinsic_load_deref, intrinsic_store_deref
from pyaco._core.common.bits cimport align_up
from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, constant_bits, deref_array, deref_struct, deref_var, intrinsic_index, mode_constant,
    mode_function_temp, mode_shader_temp, nir_deref, nir_intrinsic, source_value, type_array, type_matrix,
    value_is_constant,
)
from pyaco._core.nir.dominance cimport Cfg, cfg_build, cfg_dominance, cfg_dominates
from pyaco._core.nir.lowering cimport Lowering, lower_keep, lower_remove, lowering_run
from pyaco._core.nir.types cimport component_bytes, member_offset, type_bytes, type_stride

cdef enum:
    no_variable = 0xffffffff
    threshold = 16                 # bytes that are not worth a load
    limit = 1 << 16                # bytes of one table

cdef struct Place:                 # of a deref
    uint32_t variable
    uint32_t offset
    bint dynamic

cdef struct Candidate:             # by variable
    bint possible
    uint32_t block                 # number of the block of the stores; 0xffffffff none yet
    bint loaded
    vector[uint8_t] data
    vector[uint8_t] written

cdef struct Context:
    ShaderData *s
    Cfg cfg
    vector[Place] places           # by instruction
    vector[Candidate] candidates
    vector[uint8_t] moved          # by variable


cdef void _trace(Context *c, uint32_t deref) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef Place place
    cdef uint32_t parent, type, index, stride, length
    cdef int opcode = s.instructions.opcode[deref]
    place.variable = <uint32_t>no_variable
    place.offset = 0
    place.dynamic = False
    if opcode == deref_var:
        place.variable = s.instructions.data[deref]
    elif opcode == deref_struct or opcode == deref_array:
        parent = source_value(s, deref, 0)
        type = s.instructions.type[parent]
        place = c.places[parent]
        if place.variable == <uint32_t>no_variable:
            pass
        elif opcode == deref_struct:
            place.offset += member_offset(s, type, s.instructions.data[deref])
        else:
            index = source_value(s, deref, 1)
            if s.types.base[type] == type_array or s.types.base[type] == type_matrix:
                stride = type_stride(s, type)
                length = s.types.length[type]
            else:
                stride = component_bytes(s, type)
                length = s.types.components[type]
            if not value_is_constant(s, index) or constant_bits(s, index, 0) >= length:
                place.dynamic = True
            else:
                place.offset += <uint32_t>constant_bits(s, index, 0) * stride
    c.places[deref] = place


cdef void _refuse(Context *c, uint32_t variable) noexcept nogil:
    if variable != <uint32_t>no_variable:
        c.candidates[variable].possible = False


cdef void _note_store(Context *c, uint32_t store, uint32_t number) noexcept nogil:
    """Record the constants that a store writes, or give the variable up."""
    cdef ShaderData *s = c.s
    cdef Place place = c.places[source_value(s, store, 0)]
    cdef uint32_t value = source_value(s, store, 1)
    cdef uint32_t mask = intrinsic_index(s, store, index_write_mask)
    cdef uint32_t size, i, k, at
    cdef uint64_t bits
    cdef Candidate *candidate
    if place.variable == <uint32_t>no_variable:
        return
    candidate = &c.candidates[place.variable]
    if candidate.block == 0xffffffffU:
        candidate.block = number
    if not candidate.possible or place.dynamic or not value_is_constant(s, value) or candidate.loaded \
            or candidate.block != number:
        candidate.possible = False
        return
    size = 4 if s.instructions.bit_size[value] == 1 else s.instructions.bit_size[value] // 8
    for i in range(s.instructions.components[value]):
        if not mask >> i & 1:
            continue
        bits = constant_bits(s, value, i)
        for k in range(size):
            at = place.offset + i * size + k
            if at >= candidate.data.size() or (candidate.written[at] and candidate.data[at] != <uint8_t>(bits >> 8 * k)):
                candidate.possible = False
                return
            candidate.data[at] = <uint8_t>(bits >> 8 * k)
            candidate.written[at] = 1


cdef void _note_load(Context *c, uint32_t load, uint32_t number) noexcept nogil:
    """A load must come after the stores."""
    cdef uint32_t variable = c.places[source_value(c.s, load, 0)].variable
    cdef Candidate *candidate
    if variable == <uint32_t>no_variable:
        return
    candidate = &c.candidates[variable]
    candidate.loaded = True
    if candidate.block == 0xffffffffU or not cfg_dominates(&c.cfg, candidate.block, number):
        candidate.possible = False


cdef void _start(Context *c) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef uint32_t variable, size
    c.candidates.resize(s.variables.table.count)
    c.moved.assign(s.variables.table.count, 0)
    for variable in range(s.variables.table.count):
        c.candidates[variable].possible = False
        c.candidates[variable].loaded = False
        c.candidates[variable].block = 0xffffffffU
        if not s.variables.flags[variable] & 1 or s.variables.initializer[variable]:
            continue
        if not s.variables.mode[variable] & (mode_function_temp | mode_shader_temp):
            continue
        size = type_bytes(s, s.variables.type[variable])
        if threshold < size <= limit:
            c.candidates[variable].possible = True
            c.candidates[variable].data.assign(size, 0)
            c.candidates[variable].written.assign(size, 0)


cdef void _collect(Context *c) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef Place none
    cdef uint32_t number, block, i, k, instruction, value
    cdef int kind, opcode
    none.variable = <uint32_t>no_variable
    none.offset = 0
    none.dynamic = False
    c.places.assign(s.instructions.table.count, none)
    for number in range(c.cfg.blocks.size()):
        block = c.cfg.blocks[number]
        for i in range(s.nodes.order_count[block]):
            instruction = s.order.instruction[s.nodes.order_first[block] + i]
            kind = s.instructions.kind[instruction]
            opcode = s.instructions.opcode[instruction]
            if kind == nir_deref:
                _trace(c, instruction)
            for k in range(s.instructions.source_count[instruction]):
                value = source_value(s, instruction, k)
                if s.instructions.kind[value] != nir_deref:
                    continue
                if kind == nir_deref and k == 0 and (opcode == deref_array or opcode == deref_struct):
                    continue
                if kind == nir_intrinsic and k == 0 and opcode == intrinsic_store_deref:
                    _note_store(c, instruction, number)
                elif kind == nir_intrinsic and k == 0 and opcode == intrinsic_load_deref:
                    _note_load(c, instruction, number)
                else:
                    _refuse(c, c.places[value].variable)


cdef uint32_t _place_data(ShaderData *s, const vector[uint8_t] *data) except? 0xffffffffU nogil:
    """Offset of these bytes in the constant data, 16-byte aligned; equal bytes are found again."""
    cdef uint32_t size = <uint32_t>data.size()
    cdef uint32_t end = s.constant_data.table.count
    cdef uint32_t at = 0
    while at + size <= end:
        if memcmp(s.constant_data.byte + at, data.data(), size) == 0:
            return at
        at += 16
    at = <uint32_t>align_up(end, 16)
    table_append_many(&s.constant_data.table, at + size - end)
    memcpy(s.constant_data.byte + at, data.data(), size)
    return at


cdef uint32_t _lower(Lowering *b, uint32_t instruction) except? 0xffffffffU nogil:
    """Drop the stores, turn the derefs over to constant memory."""
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef uint32_t deref
    if s.instructions.kind[instruction] == nir_deref:
        if c.places[instruction].variable != <uint32_t>no_variable and c.moved[c.places[instruction].variable]:
            s.instructions.mode[instruction] = mode_constant
        return lower_keep
    if s.instructions.kind[instruction] != nir_intrinsic or \
            s.instructions.opcode[instruction] != intrinsic_store_deref:
        return lower_keep
    deref = source_value(s, instruction, 0)
    if c.places[deref].variable != <uint32_t>no_variable and c.moved[c.places[deref].variable]:
        return <uint32_t>lower_remove
    return lower_keep


cdef bint opt_large_constants_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef uint32_t variable
    cdef bint progress = False
    c.s = s
    cfg_build(&c.cfg, s)
    cfg_dominance(&c.cfg, s)
    _start(&c)
    _collect(&c)
    for variable in range(s.variables.table.count):
        if c.candidates[variable].possible and c.candidates[variable].loaded:
            s.variables.location[variable] = _place_data(s, &c.candidates[variable].data)
            s.variables.mode[variable] = mode_constant
            c.moved[variable] = 1
            progress = True
    if progress:
        lowering_run(s, _lower, &c)
    return progress


def run(Shader shader not None, options=None):
    """Move constant tables to the constant data."""
    cdef bint progress
    with nogil:
        progress = opt_large_constants_run(&shader.data)
    return progress
