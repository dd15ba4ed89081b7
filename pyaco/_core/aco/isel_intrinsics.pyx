"""Instruction selection of NIR's intrinsics: arguments, barriers, clocks, sleeps; memory and subgroups have files of their own.

Sources: NIR's intrinsics (Mesa ``nir_intrinsics.py``); AMD ISA documents for the clocks; ACO for ``p_barrier``.
"""
from libc.stdint cimport uint32_t, uint64_t

from isa_opcodes cimport *

from modifiers cimport modifier_set_execution_scope, modifier_set_scope, modifier_set_semantics, modifier_set_storage
from nir_opcodes cimport *
from pyaco._core.aco.build cimport make
from pyaco._core.aco.isel_atomics cimport fill_atomics
from pyaco._core.aco.isel_buffer cimport fill_buffer
from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.isel_images cimport fill_images
from pyaco._core.aco.isel_matrix cimport fill_matrix
from pyaco._core.aco.isel_memory cimport fill_memory
from pyaco._core.aco.isel_subgroup cimport fill_subgroup
from pyaco._core.ir.program cimport (
    Definition, TempId, class_bytes, class_s1, definition_of, gfx10_3, gfx11, gfx12, scope_device, scope_invocation, scope_queuefamily,
    scope_subgroup, scope_workgroup, semantic_acquire, semantic_release, storage_buffer, storage_image, storage_shared,
)
from pyaco._core.ir.shader cimport (
    ValueId, intrinsic_index, mode_global, mode_shared, mode_ssbo, mode_uniform, nir_scope_device, nir_scope_queue_family,
    nir_scope_subgroup, nir_scope_workgroup, nir_semantic_acquire, nir_semantic_release,
)

from pyaco.errors import InputError


cdef int _argument(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef uint32_t argument = <uint32_t>intrinsic_index(c.s, i, index_base)
    cdef TempId dst = value_temp(c, i)
    if argument >= c.argument_temp.size() or class_bytes(class_of(c, c.argument_temp[argument])) != class_bytes(class_of(c, dst)):
        with gil:
            raise InputError(f"NIR: argument {argument} does not exist or has another size")
    if is_vgpr(c, c.argument_temp[argument]) != is_vgpr(c, dst):
        with gil:
            raise InputError(f"NIR: argument {argument} is in the other register file")
    copy(c, dst, 0, T(c, c.argument_temp[argument]))
    if c.s.instructions.components[i] > 1:
        split(c, dst, 4)
    return 0


cdef uint32_t _scope(Isel *c, uint32_t scope) noexcept nogil:
    """A NIR scope as a scope of ACO IR; a workgroup of one wave is a subgroup."""
    if scope == nir_scope_device:
        return scope_device
    if scope == nir_scope_queue_family:
        return scope_queuefamily
    if scope == nir_scope_workgroup:
        return scope_subgroup if c.p.workgroup_size <= c.p.wave_size else scope_workgroup
    return scope_subgroup if scope == nir_scope_subgroup else scope_invocation


cdef int _barrier(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef uint32_t modes = intrinsic_index(c.s, i, index_memory_modes)
    cdef uint32_t requested = intrinsic_index(c.s, i, index_memory_semantics)
    cdef uint32_t memory = _scope(c, intrinsic_index(c.s, i, index_memory_scope))
    cdef uint32_t execution = _scope(c, intrinsic_index(c.s, i, index_execution_scope))
    cdef uint32_t storage = 0
    cdef uint32_t semantics = 0
    cdef uint64_t *word
    if modes & (mode_ssbo | mode_global):
        storage |= storage_buffer
    if modes & mode_uniform:
        storage |= storage_image
    if modes & mode_shared:
        storage |= storage_shared
    if requested & nir_semantic_acquire:
        semantics |= semantic_acquire
    if requested & nir_semantic_release:
        semantics |= semantic_release
    emit_raw(c, op_p_barrier, 0, NULL, 0)
    word = modifiers_of_last(c)
    word[0] = modifier_set_scope(modifier_set_semantics(modifier_set_storage(0, storage), semantics), memory)
    word[0] = modifier_set_execution_scope(word[0], execution)
    return 0


cdef int _cycles(Isel *c, TempId dst) except -1 nogil:
    """The counter's high half is read before and behind the low one: where it has changed between, the low one was zero in the meantime."""
    cdef TempId[3] read              # high, low, high
    cdef Definition[3] d
    cdef TempId low
    cdef uint32_t k
    for k in range(3):
        read[k] = new_temp(c, class_s1)
        d[k] = definition_of(c.p, read[k])
    append_instruction(c, make(c.p, op_p_shader_cycles_hi_lo_hi, d, 3, NULL, 0))
    low = emit2(c, op_s_cmp_eq_u32, 0, T(c, read[0]), T(c, read[2]))
    low = emit3(c, op_s_cselect_b32, 0, T(c, read[1]), K(0), scc_operand(c, low))
    pair(c, dst, 0, T(c, low), T(c, read[2]))
    return 0


cdef int _clock(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    """shader_clock: the real-time counter of the device, or the cycle counter of the shader engine."""
    cdef bint real_time = intrinsic_index(c.s, i, index_memory_scope) == nir_scope_device
    cdef TempId dst = value_temp(c, i)
    cdef TempId low
    if real_time:
        if c.gfx >= gfx11:
            # message RTN_GET_REALTIME
            emit_raw(c, op_s_sendmsg_rtn_b64, dst, NULL, 0)
            c.p.instructions.immediate[c.last] = 0x83
        else:
            emit_raw(c, op_s_memrealtime, dst, NULL, 0)
    elif c.gfx >= gfx12:
        return _cycles(c, dst)
    elif c.gfx >= gfx10_3:
        # hardware register SHADER_CYCLES (29), 20 bits
        low = new_temp(c, class_s1)
        emit_raw(c, op_s_getreg_b32, low, NULL, 0)
        c.p.instructions.immediate[c.last] = (20 - 1) << 11 | 29
        pair(c, dst, 0, T(c, low), K(0))
        return 0
    else:
        emit_raw(c, op_s_memtime, dst, NULL, 0)
    return split(c, dst, 4)


cdef int _wait(Isel *c, ValueId i, uint64_t opcode) except -1 nogil:
    """sleep_amd, nop_amd: an instruction whose immediate says how long."""
    emit_raw(c, <uint32_t>opcode, 0, NULL, 0)
    c.p.instructions.immediate[c.last] = intrinsic_index(c.s, i, index_base)
    return 0


cdef IntrinsicSelection[intrinsic_count] _selections
fill_buffer(_selections)
fill_memory(_selections)
fill_atomics(_selections)
fill_images(_selections)
fill_matrix(_selections)
fill_subgroup(_selections)
_selections[<int>intrinsic_load_scalar_arg_amd] = IntrinsicSelection(_argument, 0)
_selections[<int>intrinsic_load_vector_arg_amd] = IntrinsicSelection(_argument, 0)
_selections[<int>intrinsic_barrier] = IntrinsicSelection(_barrier, 0)
_selections[<int>intrinsic_shader_clock] = IntrinsicSelection(_clock, 0)
_selections[<int>intrinsic_sleep_amd] = IntrinsicSelection(_wait, op_s_sleep)
_selections[<int>intrinsic_nop_amd] = IntrinsicSelection(_wait, op_s_nop)


cdef int select_intrinsic(Isel *c, ValueId i) except -1 nogil:
    cdef const IntrinsicSelection *selection = &_selections[c.s.instructions.opcode[i]]
    if selection.select == NULL:
        return unsupported(c, b"intrinsic", intrinsic_names[c.s.instructions.opcode[i]])
    return selection.select(c, i, selection.argument)
