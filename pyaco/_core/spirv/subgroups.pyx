"""Group operations and derivatives (the SPIR-V specification, sections 3.42.16, 3.42.21 and 3.42.24, SPV_KHR_shader_ballot,
SPV_KHR_subgroup_vote, SPV_KHR_compute_shader_derivatives).

Vectors are taken component by component, so that the passes after the reader see scalars.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.alu cimport require_vector_type, set_checked
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.memory cimport scope_of
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *


cdef int _require_subgroup(Reader r, SpirvId id) except -1 nogil:
    if scope_of(r, id) != nir_scope_subgroup:
        unsupported(r, r.word, "group operations of a scope other than Subgroup")
    return 0


cdef ValueId number_operand(Reader r, SpirvId id) except 0 nogil:
    cdef ValueId value = ssa(r, id)
    if r.s.instructions.kind[value] == nir_deref:
        fail(r, r.word, "a pointer where a number is expected")
    return value


cdef ValueId _scalar_bool(Reader r, SpirvId id) except 0 nogil:
    cdef ValueId value = ssa(r, id)
    if bits_of(r, value) != 1 or components_of(r, value) != 1:
        fail(r, r.word, "an operand that is not boolean")
    return value


cdef ValueId _index_operand(Reader r, SpirvId id) except 0 nogil:
    return resize_integer(r, index_value(r, id), 32, False)


cdef ValueId _mask_operand(Reader r, SpirvId id) except 0 nogil:
    cdef ValueId value = ssa(r, id)
    if bits_of(r, value) != 32 or components_of(r, value) != 4:
        fail(r, r.word, "a ballot that is not a vector of four 32-bit integers")
    return value


cdef ValueId each_component(Reader r, int opcode, ValueId value, ValueId index, int op=0, int cluster=0) except 0 nogil:
    """An intrinsic on each component of a value; of `index`, `op` and `cluster` it takes those that it has."""
    cdef ValueId[16] parts
    cdef ValueId[2] sources
    cdef uint32_t i
    sources[1] = index
    for i in range(components_of(r, value)):
        sources[0] = component(&r.nir, value, i)
        parts[i] = intrinsic_n(&r.nir, opcode, 1, bits_of(r, value), sources)
        intrinsic_set_index(r.s, parts[i], index_reduction_op, op)
        intrinsic_set_index(r.s, parts[i], index_execution_scope, nir_scope_subgroup)
        intrinsic_set_index(r.s, parts[i], index_cluster_size, cluster)
    return vector_of(&r.nir, parts, components_of(r, value))


cdef int _vote(Reader r, uint32_t word, uint32_t opcode, SpirvId id) except -1 nogil:
    cdef ValueId value
    cdef ValueId all_equal = 0
    cdef ValueId part
    cdef uint32_t i
    cdef int vote = intrinsic_vote_ieq
    if opcode == OpGroupNonUniformAllEqual or opcode == OpSubgroupAllEqualKHR:
        value = number_operand(r, id)
        if r.s.types.base[value_type(r, id)] == type_float:
            vote = intrinsic_vote_feq
        for i in range(components_of(r, value)):
            part = component(&r.nir, value, i)
            part = intrinsic_n(&r.nir, vote, 1, 1, &part)
            all_equal = alu2(&r.nir, alu_iand, all_equal, part) if i else part
        return set_checked(r, word, all_equal)
    value = _scalar_bool(r, id)
    if opcode == OpGroupNonUniformQuadAllKHR or opcode == OpGroupNonUniformQuadAnyKHR:
        # not of swaps: invocations that are not active have no say
        return set_checked(r, word, each_component(r, intrinsic_reduce, value, 0, alu_iand if opcode == OpGroupNonUniformQuadAllKHR else alu_ior, 4))
    if opcode == OpGroupNonUniformAll or opcode == OpSubgroupAllKHR or opcode == OpGroupAll:
        return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_vote_all, 1, 1, &value))
    return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_vote_any, 1, 1, &value))


cdef int _ballot(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    cdef ValueId[2] sources
    cdef int kind
    if opcode == OpGroupNonUniformBallot or opcode == OpSubgroupBallotKHR:
        sources[0] = _scalar_bool(r, r.words[word + (4 if opcode == OpGroupNonUniformBallot else 3)])
        return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_ballot, 4, 32, sources))
    if opcode == OpGroupNonUniformBallotBitCount:
        sources[0] = _mask_operand(r, r.words[word + 5])
        if r.words[word + 4] == GroupOperation_Reduce:
            kind = intrinsic_ballot_bit_count_reduce
        elif r.words[word + 4] == GroupOperation_InclusiveScan:
            kind = intrinsic_ballot_bit_count_inclusive
        elif r.words[word + 4] == GroupOperation_ExclusiveScan:
            kind = intrinsic_ballot_bit_count_exclusive
        else:
            return unsupported(r, word, "group operations on a ballot other than Reduce, InclusiveScan and ExclusiveScan")
        return set_checked(r, word, intrinsic_n(&r.nir, kind, 1, 32, sources))
    sources[0] = _mask_operand(r, r.words[word + 4])
    if opcode == OpGroupNonUniformInverseBallot:
        return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_inverse_ballot, 1, 1, sources))
    if opcode == OpGroupNonUniformBallotBitExtract:
        sources[1] = _index_operand(r, r.words[word + 5])
        return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_ballot_bitfield_extract, 1, 1, sources))
    if opcode == OpGroupNonUniformBallotFindLSB:
        return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_ballot_find_lsb, 1, 32, sources))
    return set_checked(r, word, intrinsic_n(&r.nir, intrinsic_ballot_find_msb, 1, 32, sources))


cdef int _exchange(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    """Values from other lanes: broadcasts, shuffles, quad operations, rotations."""
    cdef ValueId value
    cdef ValueId index = 0
    cdef uint64_t direction
    cdef int kind
    if opcode == OpSubgroupReadInvocationKHR or opcode == OpSubgroupFirstInvocationKHR:
        value = number_operand(r, r.words[word + 3])
        if opcode == OpSubgroupReadInvocationKHR:
            index = _index_operand(r, r.words[word + 4])
            return set_checked(r, word, each_component(r, intrinsic_read_invocation, value, index))
        return set_checked(r, word, each_component(r, intrinsic_read_first_invocation, value, 0))
    value = number_operand(r, r.words[word + 4])
    if opcode == OpGroupNonUniformBroadcastFirst:
        return set_checked(r, word, each_component(r, intrinsic_read_first_invocation, value, 0))
    if opcode == OpGroupNonUniformQuadSwap:
        direction = integer_constant(r, r.words[word + 5])
        if direction > 2:
            fail(r, word, "a quad direction that is not 0, 1 or 2")
        kind = intrinsic_quad_swap_horizontal
        if direction == 1:
            kind = intrinsic_quad_swap_vertical
        elif direction == 2:
            kind = intrinsic_quad_swap_diagonal
        return set_checked(r, word, each_component(r, kind, value, 0))
    index = _index_operand(r, r.words[word + 5])
    if opcode == OpGroupNonUniformBroadcast or opcode == OpGroupBroadcast:
        kind = intrinsic_read_invocation
    elif opcode == OpGroupNonUniformShuffle:
        kind = intrinsic_shuffle
    elif opcode == OpGroupNonUniformShuffleXor:
        kind = intrinsic_shuffle_xor
    elif opcode == OpGroupNonUniformShuffleUp:
        kind = intrinsic_shuffle_up
    elif opcode == OpGroupNonUniformShuffleDown:
        kind = intrinsic_shuffle_down
    elif opcode == OpGroupNonUniformQuadBroadcast:
        kind = intrinsic_quad_broadcast
    else:
        return _rotate(r, word, end, value, index)
    return set_checked(r, word, each_component(r, kind, value, index))


cdef uint32_t _cluster_size(Reader r, SpirvId id) except? 0xffffffffU nogil:
    cdef uint64_t size = integer_constant(r, id)
    if size == 0 or size > 128 or size & (size - 1):
        fail(r, r.word, "a cluster size that is not a power of two")
    return <uint32_t>size


cdef int _rotate(Reader r, uint32_t word, uint32_t end, ValueId value, ValueId delta) except -1 nogil:
    cdef uint32_t cluster = _cluster_size(r, r.words[word + 6]) if end - word > 6 else 0
    return set_checked(r, word, each_component(r, intrinsic_rotate, value, delta, 0, cluster))


# ----------------------------------------------------------------------------------------- SPV_NV_shader_subgroup_partitioned
cdef NodeId _begin_loop(Reader r) except 0 nogil:
    """A loop after the current block, whose body becomes the current one; returns the block after it."""
    cdef NodeId node = node_new(r.s, node_loop)
    cdef NodeId after = node_new(r.s, node_block)
    node_insert_after(r.s, node, r.nir.block)
    node_insert_after(r.s, after, node)
    r.nir.block = r.s.nodes.first0[node]
    return after


cdef NodeId _begin_if(Reader r, ValueId condition) except 0 nogil:
    """An if after the current block, whose first branch becomes the current one."""
    cdef NodeId node = node_new(r.s, node_if)
    node_insert_after(r.s, node, r.nir.block)
    node_insert_after(r.s, node_new(r.s, node_block), node)
    r.s.nodes.condition[node] = condition
    r.nir.block = r.s.nodes.first0[node]
    return node


cdef ValueId _without_sign_of_zero(Reader r, ValueId value, TypeId type) except 0 nogil:
    """A float whose zeros, which are equal, have the same bits."""
    cdef bint exact = r.nir.exact
    cdef ValueId zero
    if r.s.types.base[type] != type_float:
        return value
    zero = constant(&r.nir, 0, bits_of(r, value))
    r.nir.exact = True
    value = alu3(&r.nir, alu_bcsel, alu2(&r.nir, alu_feq, value, zero), zero, value)
    r.nir.exact = exact
    return value


cdef int _partition(Reader r, uint32_t word) except -1 nogil:
    """OpGroupNonUniformPartitionNV: loop { first = read_first(value); same = ballot(value == first); if (value == first) break }."""
    cdef ValueId value = number_operand(r, r.words[word + 3])
    cdef TypeId type = value_type(r, r.words[word + 3])
    cdef ValueId[16] parts
    cdef ValueId is_same = 0
    cdef ValueId mask, part
    cdef NodeId after
    cdef uint32_t i
    for i in range(components_of(r, value)):
        parts[i] = component(&r.nir, value, i)
        parts[i] = alu1(&r.nir, alu_b2i32, parts[i]) if bits_of(r, value) == 1 else _without_sign_of_zero(r, parts[i], type)
    after = _begin_loop(r)
    for i in range(components_of(r, value)):
        part = intrinsic_n(&r.nir, intrinsic_read_first_invocation, 1, bits_of(r, parts[i]), &parts[i])
        part = alu2(&r.nir, alu_ieq, parts[i], part)
        is_same = alu2(&r.nir, alu_iand, is_same, part) if i else part
    mask = intrinsic_n(&r.nir, intrinsic_ballot, 4, 32, &is_same)
    _begin_if(r, is_same)
    jump(&r.nir, jump_break)
    r.nir.block = after
    return set_checked(r, word, mask)


cdef ValueId _partitioned(Reader r, int kind, ValueId value, int op, ValueId mask) except 0 nogil:
    """A reduction or scan of each partition by itself: loop { if (the first lane's mask has this lane) { reduce; break } }."""
    cdef ValueId first, is_in
    cdef NodeId after = _begin_loop(r)
    first = each_component(r, intrinsic_read_first_invocation, mask, 0)
    is_in = intrinsic_n(&r.nir, intrinsic_inverse_ballot, 1, 1, &first)
    _begin_if(r, is_in)
    value = each_component(r, kind, value, 0, op)
    jump(&r.nir, jump_break)
    r.nir.block = after
    return value


cdef int _reduction(Reader r, uint32_t word, uint32_t end, int op) except -1 nogil:
    cdef uint32_t operation = r.words[word + 4]
    cdef ValueId value = number_operand(r, r.words[word + 5])
    cdef uint32_t cluster = 0
    cdef int kind = intrinsic_reduce
    cdef bint is_float = op == alu_fadd or op == alu_fmul or op == alu_fmin or op == alu_fmax
    if (r.s.types.base[require_vector_type(r, r.words[word + 1])] == type_float) != is_float:
        fail(r, word, "a floating-point operation on integers, or an integer operation on floats")
    if bits_of(r, value) == 1 and op != alu_iand and op != alu_ior and op != alu_ixor:
        fail(r, word, "arithmetic on booleans")
    if operation == GroupOperation_InclusiveScan:
        kind = intrinsic_inclusive_scan
    elif operation == GroupOperation_ExclusiveScan:
        kind = intrinsic_exclusive_scan
    elif operation == GroupOperation_ClusteredReduce:
        if end - word < 7:
            fail(r, word, "a clustered reduction without a cluster size")
        cluster = _cluster_size(r, r.words[word + 6])
    elif GroupOperation_PartitionedReduceNV <= operation <= GroupOperation_PartitionedExclusiveScanNV:
        if end - word < 7:
            fail(r, word, "a partitioned operation without a ballot")
        if operation == GroupOperation_PartitionedInclusiveScanNV:
            kind = intrinsic_inclusive_scan
        elif operation == GroupOperation_PartitionedExclusiveScanNV:
            kind = intrinsic_exclusive_scan
        return set_checked(r, word, _partitioned(r, kind, value, op, _mask_operand(r, r.words[word + 6])))
    elif operation != GroupOperation_Reduce:
        unsupported_enumerant(r, word, "the group operation ", spirv_kind_GroupOperation, operation)
    return set_checked(r, word, each_component(r, kind, value, 0, op, cluster))


# ----------------------------------------------------------------------------------------------------------- derivatives
cdef int _derivative(Reader r, uint32_t word, uint32_t opcode) except -1 nogil:
    """OpDPdx to OpFwidthCoarse: three opcodes without a choice of precision, three fine ones, three coarse ones."""
    cdef ValueId value, x, y
    cdef int[6] opcodes
    cdef uint32_t form
    if r.s.info.derivative_group == derivatives_none:
        fail(r, word, "derivatives where the entry point has no derivative group")
    value = number_operand(r, r.words[word + 3])
    if r.s.types.base[require_vector_type(r, r.words[word + 1])] != type_float or bits_of(r, value) != 32:
        fail(r, word, "the derivative of what is not a 32-bit float")
    opcodes[:] = [alu_fddx, alu_fddy, alu_fddx_fine, alu_fddy_fine, alu_fddx_coarse, alu_fddy_coarse]
    form = (opcode - OpDPdx) // 3 * 2
    x = alu1(&r.nir, opcodes[form], value)
    y = alu1(&r.nir, opcodes[form + 1], value)
    if opcode in (OpFwidth, OpFwidthFine, OpFwidthCoarse):
        return set_checked(r, word, alu2(&r.nir, alu_fadd, alu1(&r.nir, alu_fabs, x), alu1(&r.nir, alu_fabs, y)))
    return set_checked(r, word, x if opcode in (OpDPdx, OpDPdxFine, OpDPdxCoarse) else y)


cdef int subgroup_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil:
    cdef int op
    if OpDPdx <= opcode <= OpFwidthCoarse:
        _derivative(r, word, opcode)
        return 1
    if opcode in (OpSubgroupBallotKHR, OpSubgroupFirstInvocationKHR, OpSubgroupAllKHR, OpSubgroupAnyKHR, OpSubgroupAllEqualKHR,
                  OpSubgroupReadInvocationKHR, OpGroupNonUniformQuadAllKHR, OpGroupNonUniformQuadAnyKHR):
        if opcode == OpSubgroupBallotKHR:
            _ballot(r, word, opcode)
        elif opcode == OpSubgroupFirstInvocationKHR or opcode == OpSubgroupReadInvocationKHR:
            _exchange(r, word, end, opcode)
        else:
            _vote(r, word, opcode, r.words[word + 3])
        return 1
    if opcode == OpGroupNonUniformPartitionNV:
        _partition(r, word)
        return 1
    op = spirv_group_alu[opcode]
    if op < 0 and not (OpGroupNonUniformElect <= opcode <= OpGroupNonUniformQuadSwap
                       or OpGroupAll <= opcode <= OpGroupBroadcast or opcode == OpGroupNonUniformRotateKHR):
        return 0
    _require_subgroup(r, r.words[word + 3])
    if op >= 0:
        _reduction(r, word, end, op)
    elif opcode == OpGroupNonUniformElect:
        set_checked(r, word, intrinsic0(&r.nir, intrinsic_elect, 1, 1))
    elif opcode <= OpGroupNonUniformAllEqual and (opcode >= OpGroupNonUniformAll or opcode <= OpGroupAny):
        _vote(r, word, opcode, r.words[word + 4])
    elif OpGroupNonUniformBallot <= opcode <= OpGroupNonUniformBallotFindMSB:
        _ballot(r, word, opcode)
    else:
        _exchange(r, word, end, opcode)
    return 1
