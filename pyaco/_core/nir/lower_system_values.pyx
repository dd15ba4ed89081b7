"""Lowers built-in inputs, such as the ids of an invocation, to the few values that the hardware provides.

Two entries. ``run`` with option ``stage`` "inputs" turns loads of system-value variables into ``load_*`` intrinsics (as
Mesa's nir_lower_system_values); sizes are constants from there on, which branches and loops may depend on. The second,
"arguments" (default), runs after the ABI is declared by ``lower_descriptors`` and turns these into arguments and arithmetic:

- local id: v0 .. v2, or packed x | y << 10 | z << 20 in v0 on GFX11+;
- workgroup id and number of workgroups: scalar arguments; workgroup size: constants;
- local index: x + sx * (y + sy * z); global id: workgroup id * size + local id;
- in shaders whose derivative groups are quads, the local ids of each two rows are dealt out again, so that every four lanes that follow
  each other are two by two invocations;
- subgroup: lanes are numbered by local index, so the subgroup is index / wave size and the lane is ``mbcnt_amd``
  (``load_subgroup_invocation`` here).

Sources: AMD RDNA2 and RDNA3 ISA documents, "Initial wave state"; Vulkan specification, "Built-In Variables".
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport (
    alu_bcsel, alu_iadd, alu_iand, alu_imul, alu_inot, alu_ior, alu_ishl, alu_ubfe, alu_uge, alu_ushr, index_base,
    intrinsic_load_base_workgroup_id, intrinsic_load_deref, intrinsic_load_global_invocation_id, intrinsic_load_global_invocation_index,
    intrinsic_load_local_invocation_id, intrinsic_load_local_invocation_index, intrinsic_load_num_subgroups,
    intrinsic_load_num_workgroups, intrinsic_load_scalar_arg_amd, intrinsic_load_subgroup_eq_mask, intrinsic_load_subgroup_ge_mask,
    intrinsic_load_subgroup_gt_mask, intrinsic_load_subgroup_id, intrinsic_load_subgroup_invocation, intrinsic_load_subgroup_le_mask,
    intrinsic_load_subgroup_lt_mask, intrinsic_load_subgroup_size, intrinsic_load_vector_arg_amd, intrinsic_load_workgroup_id,
    intrinsic_load_workgroup_size, intrinsic_read_first_invocation,
)
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx12
from pyaco._core.ir.emitter cimport (
    alu1, alu2, alu2_constant, alu3, component, constant, intrinsic0, intrinsic1, vector_of,
)
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, VariableId, argument_local_ids, argument_num_workgroups, argument_workgroup_id, deref_array, deref_var,
    derivatives_quads, intrinsic_set_index, mode_system_value, nir_deref, nir_intrinsic, source_value,
)
from pyaco._core.nir.lowering cimport (
    Lowering, lane_mask_words, lower_intrinsics, lower_keep, lowering_run, lowering_run_from, subgroup_invocation,
)

from pyaco.errors import UnsupportedError

cdef struct BuiltIn:
    uint32_t number                # SPIR-V BuiltIn
    int intrinsic
    int components

cdef enum:
    built_in_count = 16

cdef BuiltIn[built_in_count] built_ins
built_ins[0] = BuiltIn(24, intrinsic_load_num_workgroups, 3)
built_ins[1] = BuiltIn(25, intrinsic_load_workgroup_size, 3)
built_ins[2] = BuiltIn(26, intrinsic_load_workgroup_id, 3)
built_ins[3] = BuiltIn(27, intrinsic_load_local_invocation_id, 3)
built_ins[4] = BuiltIn(28, intrinsic_load_global_invocation_id, 3)
built_ins[5] = BuiltIn(29, intrinsic_load_local_invocation_index, 1)
built_ins[6] = BuiltIn(36, intrinsic_load_subgroup_size, 1)
built_ins[7] = BuiltIn(38, intrinsic_load_num_subgroups, 1)
built_ins[8] = BuiltIn(40, intrinsic_load_subgroup_id, 1)
built_ins[9] = BuiltIn(41, intrinsic_load_subgroup_invocation, 1)
built_ins[10] = BuiltIn(4416, intrinsic_load_subgroup_eq_mask, 4)
built_ins[11] = BuiltIn(4417, intrinsic_load_subgroup_ge_mask, 4)
built_ins[12] = BuiltIn(4418, intrinsic_load_subgroup_gt_mask, 4)
built_ins[13] = BuiltIn(4419, intrinsic_load_subgroup_le_mask, 4)
built_ins[14] = BuiltIn(4420, intrinsic_load_subgroup_lt_mask, 4)
built_ins[15] = BuiltIn(34, intrinsic_load_global_invocation_index, 1)


# ------------------------------------------------------------------------------------------------------------- constants
cdef ValueId _known(Lowering *b, int opcode) except? 0xffffffffU nogil:
    """What follows from the sizes of workgroup and wave; 0: it does not."""
    cdef const uint32_t *size = b.s.info.workgroup_size
    cdef uint32_t total = size[0] * size[1] * size[2]
    cdef uint32_t wave = b.s.info.wave_size
    cdef ValueId[3] values
    cdef int i
    if total == 0 or wave == 0:
        return 0
    if opcode == intrinsic_load_workgroup_size:
        for i in range(3):
            values[i] = constant(b, size[i], 32)
        return vector_of(b, values, 3)
    if opcode == intrinsic_load_subgroup_size:
        return constant(b, wave, 32)
    if opcode == intrinsic_load_num_subgroups:
        return constant(b, (total + wave - 1) // wave, 32)
    if opcode == intrinsic_load_subgroup_id and total <= wave:
        return constant(b, 0, 32)
    return 0


# ---------------------------------------------------------------------------------------------------------------- inputs
cdef ValueId _load_input(Lowering *b, ValueId load) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId deref = source_value(s, load, 0)
    cdef ValueId index = 0
    cdef uint32_t number
    cdef ValueId value, picked
    cdef int i, k
    if s.instructions.kind[deref] != nir_deref or s.instructions.mode[deref] != mode_system_value:
        return lower_keep
    if s.instructions.opcode[deref] == deref_array:
        index = source_value(s, deref, 1)
        deref = source_value(s, deref, 0)
    if s.instructions.opcode[deref] != deref_var:
        with gil:
            raise UnsupportedError("a pointer to a built-in input")
    number = s.variables.builtin[s.instructions.data[deref]]
    for i in range(built_in_count):
        if built_ins[i].number != number:
            continue
        value = intrinsic0(b, built_ins[i].intrinsic, built_ins[i].components, 32)
        if not index:
            return value
        picked = component(b, value, 0)
        for k in range(1, built_ins[i].components):
            picked = alu3(b, alu_bcsel, alu2_constant(b, alu_uge, index, k), component(b, value, k), picked)
        return picked
    with gil:
        raise UnsupportedError(f"SPIR-V BuiltIn {number}")


cdef ValueId _lower_input(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId known
    if s.instructions.kind[instruction] != nir_intrinsic:
        return lower_keep
    if s.instructions.opcode[instruction] == intrinsic_load_deref:
        return _load_input(b, instruction)
    known = _known(b, s.instructions.opcode[instruction])
    return known if known else <ValueId>lower_keep


cdef bint _has_inputs(const ShaderData *s) noexcept nogil:
    cdef VariableId variable
    cdef uint32_t i
    for variable in range(s.variables.table.count):
        if s.variables.mode[variable] == mode_system_value:
            return True
    for i in range(s.order.table.count):
        if s.instructions.kind[s.order.instruction[i]] == nir_intrinsic and s.instructions.opcode[s.order.instruction[i]] in (
                intrinsic_load_workgroup_size, intrinsic_load_subgroup_size, intrinsic_load_num_subgroups, intrinsic_load_subgroup_id):
            return True
    return False


# ------------------------------------------------------------------------------------------------------------- arguments
cdef struct Context:
    ValueId[3] local_id            # values, made in the first block
    ValueId local_index
    ValueId lane_index             # the number of the lane in its workgroup
    bint wants_id
    bint wants_index


cdef uint32_t _argument(const ShaderData *s, uint32_t kind, uint32_t detail) noexcept nogil:
    """Row of an argument; 0xffffffff when it was not declared."""
    cdef uint32_t row
    for row in range(s.arguments.table.count):
        if s.arguments.kind[row] == kind and (kind != argument_workgroup_id or s.arguments.detail[row] == detail):
            return row
        # GFX12 packs y and z in one register, which is one argument.
        if s.arguments.kind[row] == kind and s.info.gfx_level >= gfx12 and detail and s.arguments.detail[row]:
            return row
    return 0xffffffffU


cdef ValueId _load_argument(Lowering *b, uint32_t kind, uint32_t detail, int opcode,
                            int components) except? 0xffffffffU nogil:
    cdef uint32_t row = _argument(b.s, kind, detail)
    cdef ValueId value
    if row == 0xffffffffU:
        return constant(b, 0, 32) if components == 1 else 0
    value = intrinsic0(b, opcode, components, 32)
    intrinsic_set_index(b.s, value, index_base, <int>row)
    return value


cdef int _local_ids(Lowering *b) except -1 nogil:
    """Compute the local ids once, at the start of the function, so that v0 need not stay live."""
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef uint32_t row = _argument(s, argument_local_ids, 0)
    cdef ValueId packed
    cdef int i
    if not c.wants_id and not c.wants_index:
        return 0
    if row == 0xffffffffU:
        for i in range(3):
            c.local_id[i] = constant(b, 0, 32)
    else:
        packed = intrinsic0(b, intrinsic_load_vector_arg_amd, s.arguments.count[row], 32)
        intrinsic_set_index(s, packed, index_base, <int>row)
        for i in range(3):
            if s.info.workgroup_size[i] == 1:
                c.local_id[i] = constant(b, 0, 32)
            elif s.arguments.detail[row] & 1:
                c.local_id[i] = _packed_id(b, packed, i)
            elif i < <int>s.arguments.count[row]:
                c.local_id[i] = component(b, packed, i)
            else:
                c.local_id[i] = constant(b, 0, 32)
    if c.wants_index:
        c.lane_index = c.local_index = _index_of(b, c)
    if s.info.derivative_group == derivatives_quads:
        _deal_out_quads(b, c)
        if c.wants_index:
            c.local_index = _index_of(b, c)
    return 0


cdef int _deal_out_quads(Lowering *b, Context *c) except -1 nogil:
    """Of two rows, the lanes' numbers from the left: bit 0 is that of x, bit 1 that of y, those above are the rest of x."""
    cdef ValueId x = c.local_id[0]
    cdef ValueId y = c.local_id[1]
    cdef ValueId lower_row = alu2_constant(b, alu_iand, y, 1)
    cdef ValueId number = alu2(b, alu_iadd, x, alu2_constant(b, alu_imul, lower_row, b.s.info.workgroup_size[0]))
    cdef ValueId pair = alu2_constant(b, alu_ishl, alu2_constant(b, alu_ushr, number, 2), 1)
    c.local_id[0] = alu2(b, alu_ior, pair, alu2_constant(b, alu_iand, number, 1))
    lower_row = alu2_constant(b, alu_iand, alu2_constant(b, alu_ushr, number, 1), 1)
    c.local_id[1] = alu2(b, alu_ior, alu2_constant(b, alu_iand, y, 0xfffffffeU), lower_row)
    return 0


cdef ValueId _packed_id(Lowering *b, ValueId packed, int dimension) except? 0xffffffffU nogil:
    """One of the ids that v0 packs, ten bits each; x is all of v0 if the other dimensions have size one."""
    cdef ShaderData *s = b.s
    cdef bint only_dimension = True
    cdef int i
    for i in range(3):
        if i != dimension and s.info.workgroup_size[i] != 1:
            only_dimension = False
    if dimension == 0 and only_dimension:
        return packed
    return alu3(b, alu_ubfe, packed, constant(b, 10 * dimension, 32), constant(b, 10, 32))


cdef ValueId _index_of(Lowering *b, const Context *c) except? 0xffffffffU nogil:
    cdef const uint32_t *size = b.s.info.workgroup_size
    cdef ValueId index = 0
    if size[2] > 1:
        index = alu2_constant(b, alu_imul, c.local_id[2], size[1])
    if size[1] > 1 or size[2] > 1:
        index = alu2(b, alu_iadd, index, c.local_id[1]) if index else c.local_id[1]
        index = alu2_constant(b, alu_imul, index, size[0])
        return alu2(b, alu_iadd, index, c.local_id[0])
    return c.local_id[0]


cdef ValueId _workgroup_id_component(Lowering *b, int dimension) except? 0xffffffffU nogil:
    """One workgroup id; GFX12 packs y and z."""
    cdef ValueId value = _load_argument(b, argument_workgroup_id, dimension, intrinsic_load_scalar_arg_amd, 1)
    if b.s.info.gfx_level < gfx12 or dimension == 0 or \
            _argument(b.s, argument_workgroup_id, dimension) == 0xffffffffU:
        return value
    if dimension == 1:
        return alu2_constant(b, alu_iand, value, 0xffff)
    return alu2_constant(b, alu_ushr, value, 16)


cdef ValueId _workgroup_id(Lowering *b) except? 0xffffffffU nogil:
    cdef ValueId[3] ids
    cdef int i
    for i in range(3):
        ids[i] = _workgroup_id_component(b, i)
    return vector_of(b, ids, 3)


cdef ValueId _global_id(Lowering *b, Context *c) except? 0xffffffffU nogil:
    cdef ValueId[3] ids
    cdef int i
    for i in range(3):
        ids[i] = alu2_constant(b, alu_imul, _workgroup_id_component(b, i), b.s.info.workgroup_size[i])
        ids[i] = alu2(b, alu_iadd, ids[i], c.local_id[i])
    return vector_of(b, ids, 3)


cdef ValueId _subgroup_mask(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """The mask of the lanes before, at or after this one, as wide as the wave."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int wave = s.info.wave_size
    cdef ValueId lane = subgroup_invocation(b)
    cdef ValueId one = constant(b, 1, wave)
    cdef ValueId ones = constant(b, 0xffffffffffffffffULL, wave)
    cdef ValueId mask
    if opcode == intrinsic_load_subgroup_eq_mask:
        mask = alu2(b, alu_ishl, one, lane)
    elif opcode == intrinsic_load_subgroup_ge_mask:
        mask = alu2(b, alu_ishl, ones, lane)
    elif opcode == intrinsic_load_subgroup_gt_mask:
        mask = alu2(b, alu_ishl, constant(b, 0xfffffffffffffffeULL, wave), lane)
    elif opcode == intrinsic_load_subgroup_le_mask:
        mask = alu1(b, alu_inot, alu2(b, alu_ishl, constant(b, 0xfffffffffffffffeULL, wave), lane))
    else:
        mask = alu1(b, alu_inot, alu2(b, alu_ishl, ones, lane))
    return lane_mask_words(b, mask, s.instructions.components[instruction], s.instructions.bit_size[instruction])


cdef ValueId _lower_argument(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef int opcode = s.instructions.opcode[instruction]
    cdef ValueId known
    cdef ValueId[3] values
    cdef uint32_t shift = 5 if s.info.wave_size == 32 else 6
    if s.instructions.kind[instruction] != nir_intrinsic:
        return lower_keep
    known = _known(b, opcode)
    if known:
        return known
    if opcode == intrinsic_load_workgroup_id:
        return _workgroup_id(b)
    if opcode == intrinsic_load_num_workgroups:
        return _load_argument(b, argument_num_workgroups, 0, intrinsic_load_scalar_arg_amd, 3)
    if opcode == intrinsic_load_base_workgroup_id:
        values[0] = values[1] = values[2] = constant(b, 0, 32)
        return vector_of(b, values, 3)
    if opcode == intrinsic_load_local_invocation_id:
        return vector_of(b, c.local_id, 3)
    if opcode == intrinsic_load_local_invocation_index:
        return c.local_index
    if opcode == intrinsic_load_global_invocation_id:
        return _global_id(b, c)
    if opcode == intrinsic_load_subgroup_id:
        values[0] = alu2_constant(b, alu_ushr, c.lane_index, shift)
        return intrinsic1(b, intrinsic_read_first_invocation, 1, 32, values[0])
    if opcode == intrinsic_load_subgroup_invocation:
        return subgroup_invocation(b)
    if opcode in (intrinsic_load_subgroup_eq_mask, intrinsic_load_subgroup_ge_mask, intrinsic_load_subgroup_gt_mask,
                  intrinsic_load_subgroup_le_mask, intrinsic_load_subgroup_lt_mask):
        return _subgroup_mask(b, instruction)
    return lower_keep


cdef void _find_uses(const ShaderData *s, Context *c) noexcept nogil:
    cdef uint32_t i
    cdef ValueId instruction
    cdef int opcode
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        opcode = s.instructions.opcode[instruction]
        if s.instructions.kind[instruction] != nir_intrinsic:
            continue
        if opcode == intrinsic_load_local_invocation_id or opcode == intrinsic_load_global_invocation_id:
            c.wants_id = True
        elif opcode == intrinsic_load_local_invocation_index or opcode == intrinsic_load_subgroup_id:
            c.wants_index = True


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef ShaderData *s = <ShaderData *>ir
    cdef Context c
    if option:
        return _has_inputs(s) and lowering_run(s, lower_intrinsics, _lower_input, NULL)
    c.wants_id = c.wants_index = False
    _find_uses(s, &c)
    return lowering_run_from(s, _local_ids, lower_intrinsics, _lower_argument, &c)


kernel = native_kernel(_kernel, lambda options, level: options["stage"] == "inputs")


def run(Shader shader not None, options=None):
    """Lower system values; option ``stage``: "inputs" or "arguments" (default)."""
    cdef bint progress
    cdef bint inputs = (options or {}).get("stage") == "inputs"
    with nogil:
        progress = _kernel(&shader.data, inputs)
    return progress
