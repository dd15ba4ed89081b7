"""Zero initialization of workgroup memory (SPV_KHR_zero_initialize_workgroup_memory: a Workgroup variable with a null initializer)."""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *


cdef int _zero_workgroup_variable(Reader r, SpirvId id) except -1 nogil:
    """Null initializer of a Workgroup variable; of an array, each invocation clears some elements."""
    cdef ValueId deref = r.payload[id]
    cdef TypeId type = r.s.instructions.type[deref]
    cdef uint32_t size = r.s.info.workgroup_size[0] * r.s.info.workgroup_size[1] * r.s.info.workgroup_size[2]
    cdef uint32_t length = r.s.types.length[type]
    cdef ValueId index
    cdef ValueId local
    cdef uint32_t k
    cdef AnyValue zero = null_value(r, r.s.types.element[type] if r.s.types.base[type] == type_array else type)
    if r.s.types.base[type] != type_array:
        return store_value(r, deref, type, zero, 0)
    local = intrinsic0(&r.nir, intrinsic_load_local_invocation_index, 1, 32)
    for k in range((length + size - 1) // size):
        index = alu2(&r.nir, alu_iadd, local, integer(r, <uint64_t>k * size, 32))
        if (k + 1) * size > length:            # invocations past the end clear the last element again
            index = alu2(&r.nir, alu_umin, index, integer(r, length - 1, 32))
        store_value(r, deref_indexed(r, deref, index), r.s.types.element[type], zero, 0)
    return 0


cdef int zero_workgroup_memory(Reader r) except -1 nogil:
    """At the end of the prologue: clear the variables that start as zero, and wait until all invocations have done so."""
    cdef uint32_t i
    cdef ValueId row
    if r.zeroed_workgroup.empty():
        return 0
    r.nir.block = 0
    for i in range(<uint32_t>r.zeroed_workgroup.size()):
        _zero_workgroup_variable(r, r.zeroed_workgroup[i])
    row = intrinsic0(&r.nir, intrinsic_barrier, 0, 0)
    intrinsic_set_index(r.s, row, index_execution_scope, nir_scope_workgroup)
    intrinsic_set_index(r.s, row, index_memory_scope, nir_scope_workgroup)
    intrinsic_set_index(r.s, row, index_memory_semantics, nir_semantic_acquire | nir_semantic_release)
    intrinsic_set_index(r.s, row, index_memory_modes, mode_shared)
    return 0
