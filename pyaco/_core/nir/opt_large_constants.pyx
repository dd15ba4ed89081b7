"""Local arrays that only ever hold constants move to the constant data after the code.

Needs: constants folded. Guarantees: a variable whose every store writes a constant at a constant offset, all stores in one block that
comes before all loads, and that some load indexes at run time, has mode ``constant``, its offset in ``shader.constant_data`` as
location, and no stores. Equal tables share their bytes. Without an index that is known at run time alone (unrolling may have made all of them
constant) the variable is left to ``vars_to_ssa``.

As Mesa's nir_opt_large_constants. Tables of up to `threshold` bytes are not worth a load: 16 are RADV's.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy
from libcpp.vector cimport vector

from nir_opcodes cimport index_write_mask, intrinsic_load_deref, intrinsic_store_deref
from pyaco._core.common.bits cimport align_up
from pyaco._core.common.table cimport table_append_many
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    BlockNumber, NodeId, Shader, ShaderData, TypeId, ValueId, VariableId, constant_bits, deref_array, deref_struct, deref_var,
    intrinsic_index, mode_constant, mode_function_temp, mode_shader_temp, nir_deref, nir_intrinsic, source_value, type_array, type_matrix,
    value_is_constant, variable_alive,
)
from pyaco._core.nir.dominance cimport Cfg, cfg_build, cfg_dominance, cfg_dominates
from pyaco._core.nir.lowering cimport Lowering, lower_derefs, lower_intrinsics, lower_keep, lower_remove, lowering_run
from pyaco._core.nir.types cimport component_bytes, member_offset, type_bytes, type_stride

cdef enum:
    no_variable = 0xffffffff
    limit = 1 << 16                # bytes of one table

cdef struct Path:                  # of a deref
    VariableId variable
    uint32_t offset
    bint dynamic

cdef struct Candidate:             # by variable
    bint possible
    BlockNumber block              # number of the block of the stores; 0xffffffff none yet
    bint loaded
    bint indexed                   # at run time
    vector[uint8_t] data
    vector[uint8_t] written

cdef struct Context:
    ShaderData *s
    Cfg cfg
    Zeroed[uint32_t] path_of       # by instruction: row in `paths`; row 0 is that of none
    vector[Path] paths
    vector[Candidate] candidates
    vector[uint8_t] moved          # by variable
    uint32_t threshold             # bytes that are not worth a load


cdef inline const Path *_path(const Context *c, ValueId deref) noexcept nogil:
    return &c.paths[c.path_of[deref]]


cdef void _find_path(Context *c, ValueId deref) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef Path path
    cdef ValueId parent, index
    cdef TypeId type
    cdef uint32_t stride, length
    cdef int opcode = s.instructions.opcode[deref]
    path.variable = <uint32_t>no_variable
    path.offset = 0
    path.dynamic = False
    if opcode == deref_var:
        path.variable = s.instructions.data[deref]
    elif opcode == deref_struct or opcode == deref_array:
        parent = source_value(s, deref, 0)
        type = s.instructions.type[parent]
        path = _path(c, parent)[0]
        if path.variable == <uint32_t>no_variable:
            pass
        elif opcode == deref_struct:
            path.offset += member_offset(s, type, s.instructions.data[deref])
        else:
            index = source_value(s, deref, 1)
            if s.types.base[type] == type_array or s.types.base[type] == type_matrix:
                stride = type_stride(s, type)
                length = s.types.length[type]
            else:
                stride = component_bytes(s, type)
                length = s.types.components[type]
            if not value_is_constant(s, index) or constant_bits(s, index, 0) >= length:
                path.dynamic = True
            else:
                path.offset += <uint32_t>constant_bits(s, index, 0) * stride
    if path.variable != <uint32_t>no_variable:
        c.path_of[deref] = <uint32_t>c.paths.size()
        c.paths.push_back(path)


cdef void _reject(Context *c, VariableId variable) noexcept nogil:
    if variable != <uint32_t>no_variable:
        c.candidates[variable].possible = False


cdef void _note_store(Context *c, ValueId store, BlockNumber number) noexcept nogil:
    """Record the constants that a store writes, or reject the variable."""
    cdef ShaderData *s = c.s
    cdef Path path = _path(c, source_value(s, store, 0))[0]
    cdef ValueId value = source_value(s, store, 1)
    cdef uint32_t mask = intrinsic_index(s, store, index_write_mask)
    cdef uint32_t size, i, k, at
    cdef uint64_t bits
    cdef Candidate *candidate
    if path.variable == <uint32_t>no_variable:
        return
    candidate = &c.candidates[path.variable]
    if candidate.block == 0xffffffffU:
        candidate.block = number
    if not candidate.possible or path.dynamic or not value_is_constant(s, value) or candidate.loaded \
            or candidate.block != number:
        candidate.possible = False
        return
    size = 4 if s.instructions.bit_size[value] == 1 else s.instructions.bit_size[value] // 8
    for i in range(s.instructions.components[value]):
        if not mask >> i & 1:
            continue
        bits = constant_bits(s, value, i)
        for k in range(size):
            at = path.offset + i * size + k
            if at >= candidate.data.size() or (candidate.written[at] and candidate.data[at] != <uint8_t>(bits >> 8 * k)):
                candidate.possible = False
                return
            candidate.data[at] = <uint8_t>(bits >> 8 * k)
            candidate.written[at] = 1


cdef void _note_load(Context *c, ValueId load, BlockNumber number) noexcept nogil:
    """A load must come after the stores."""
    cdef VariableId variable = _path(c, source_value(c.s, load, 0)).variable
    cdef Candidate *candidate
    if variable == <uint32_t>no_variable:
        return
    candidate = &c.candidates[variable]
    candidate.loaded = True
    candidate.indexed = candidate.indexed or _path(c, source_value(c.s, load, 0)).dynamic
    if candidate.block == 0xffffffffU or not cfg_dominates(&c.cfg, candidate.block, number):
        candidate.possible = False


cdef void _find_candidates(Context *c) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef VariableId variable
    cdef uint32_t size
    c.candidates.resize(s.variables.table.count)
    c.moved.assign(s.variables.table.count, 0)
    for variable in range(s.variables.table.count):
        c.candidates[variable].possible = False
        c.candidates[variable].loaded = c.candidates[variable].indexed = False
        c.candidates[variable].block = 0xffffffffU
        if not s.variables.flags[variable] & variable_alive or s.variables.initializer[variable]:
            continue
        if not s.variables.mode[variable] & (mode_function_temp | mode_shader_temp):
            continue
        size = type_bytes(s, s.variables.type[variable])
        if c.threshold < size <= limit:
            c.candidates[variable].possible = True
            c.candidates[variable].data.assign(size, 0)
            c.candidates[variable].written.assign(size, 0)


cdef void _collect_uses(Context *c) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef Path none
    cdef BlockNumber number
    cdef NodeId block
    cdef uint32_t i, k
    cdef ValueId instruction, value
    cdef int kind, opcode
    none.variable = <uint32_t>no_variable
    none.offset = 0
    none.dynamic = False
    c.path_of.assign(s.instructions.table.count)
    c.paths.assign(1, none)
    for number in range(c.cfg.blocks.size()):
        block = c.cfg.blocks[number]
        for i in range(s.nodes.order_count[block]):
            instruction = s.order.instruction[s.nodes.order_first[block] + i]
            kind = s.instructions.kind[instruction]
            opcode = s.instructions.opcode[instruction]
            if kind == nir_deref:
                _find_path(c, instruction)
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
                    _reject(c, _path(c, value).variable)


cdef uint32_t _find_or_append(ShaderData *s, const vector[uint8_t] *data) except? 0xffffffffU nogil:
    """Offset of these bytes in the constant data, where they are appended, 16-byte aligned, unless they are there already."""
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


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """Remove the stores; derefs now point to constant memory."""
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef ValueId deref
    if s.instructions.kind[instruction] == nir_deref:
        if c.path_of[instruction] and c.moved[_path(c, instruction).variable]:
            s.instructions.mode[instruction] = mode_constant
        return lower_keep
    if s.instructions.kind[instruction] != nir_intrinsic or \
            s.instructions.opcode[instruction] != intrinsic_store_deref:
        return lower_keep
    deref = source_value(s, instruction, 0)
    if c.path_of[deref] and c.moved[_path(c, deref).variable]:
        return <uint32_t>lower_remove
    return lower_keep


cdef bint opt_large_constants_run(ShaderData *s, uint32_t threshold) except -1 nogil:
    cdef Context c
    cdef VariableId variable
    cdef bint progress = False
    c.s = s
    c.threshold = threshold
    cfg_build(&c.cfg, s)
    cfg_dominance(&c.cfg, s)
    _find_candidates(&c)
    _collect_uses(&c)
    for variable in range(s.variables.table.count):
        if c.candidates[variable].possible and c.candidates[variable].indexed:
            s.variables.location[variable] = _find_or_append(s, &c.candidates[variable].data)
            s.variables.mode[variable] = mode_constant
            c.moved[variable] = 1
            progress = True
    if progress:
        lowering_run(s, lower_derefs | lower_intrinsics, _lower, &c)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_large_constants_run(<ShaderData *>ir, option)


kernel = native_kernel(_kernel, lambda options, level: options["threshold"])


def run(Shader shader not None, options=None):
    """Move constant tables to the constant data; option ``threshold``: bytes that are not worth a load (16)."""
    cdef uint32_t threshold = (options or {}).get("threshold", 16)
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, threshold)
    return progress
