"""Subgroup operations whose results are put together become one operation that gives what comes out.

    exclusive_scan(x) + x                          ->     inclusive_scan(x)         where nothing else reads the scan
    c ? shuffle(x, i) : shuffle(x, j)              ->     shuffle(x, c ? i : j)     where nothing else reads the shuffles
    b of lane 0 | of lane 1 | of lane 2 | of 3     ->     quad_vote_any(b)          likewise quad_vote_all for &, in any order

Shuffles and reads of a quad stand in the block of what joins them, so that the same lanes take part. Minima and maxima of floats stay scans: what the
first lane gets for a NaN is another number.

Shuffles by functions of the lane's number are cheaper than others: they are for ``opt_tid_function`` first.

Needs: movs propagated. Guarantees: valid NIR. The patterns are those of Mesa's ``nir_opt_intrinsics`` that concern compute shaders.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_bcsel, alu_fmax, alu_fmin, alu_iand, alu_ior, alu_mov, alu_output_type, index_reduction_op, index_swizzle_mask, intrinsic_exclusive_scan,
    intrinsic_inclusive_scan, intrinsic_quad_broadcast, intrinsic_quad_swap_diagonal, intrinsic_quad_swap_horizontal,
    intrinsic_quad_swap_vertical, intrinsic_quad_swizzle_amd, intrinsic_quad_vote_all, intrinsic_quad_vote_any, intrinsic_shuffle,
)
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport alu3, intrinsic1, intrinsic2
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, RowRange, Shader, ShaderData, ValueId, constant_bits, intrinsic_index, nir_alu, nir_exact, nir_intrinsic, node_walk_next,
    source_value, sources_of, type_float, value_is_constant,
)
from pyaco._core.nir.lowering cimport Lowering, lower_alu, lower_keep, lowering_run

cdef enum:
    lanes_of_quad = 4
    no_lane = 0xff

cdef enum:                        # ScanState
    stays = 1                     # something but its own operation with its own operand reads it
    includes = 2                  # it has become an inclusive one

cdef struct Context:
    ShaderData *s
    vector[ValueId] scans         # exclusive ones
    Zeroed[uint32_t] uses         # by value
    Zeroed[uint8_t] state         # by value: ScanState
    bint shuffles                 # are looked at
    bint others                   # a shuffle, or a read of a quad


cdef inline bint _is_intrinsic(const ShaderData *s, ValueId i, int opcode) noexcept nogil:
    return s.instructions.kind[i] == nir_intrinsic and s.instructions.opcode[i] == opcode


cdef bint _reads_quad(const ShaderData *s, ValueId i) noexcept nogil:
    return s.instructions.kind[i] == nir_intrinsic and s.instructions.opcode[i] in (
        intrinsic_quad_broadcast, intrinsic_quad_swap_horizontal, intrinsic_quad_swap_vertical, intrinsic_quad_swap_diagonal,
        intrinsic_quad_swizzle_amd)


# --------------------------------------------------------------------------------------------------------------------- scans
cdef bint _includes(const ShaderData *s, ValueId i, ValueId scan) noexcept nogil:
    """Whether an instruction joins a scan and what it scans, as the scan joins."""
    cdef int opcode = s.instructions.opcode[i]
    cdef uint32_t k
    if (s.instructions.kind[i] != nir_alu or s.instructions.components[i] != 1
            or <uint32_t>opcode != <uint32_t>intrinsic_index(s, scan, index_reduction_op) or opcode == alu_fmin or opcode == alu_fmax):
        return False
    if alu_output_type[opcode] >> 8 == type_float and s.instructions.flags[i] & nir_exact:
        return False
    k = 1 if source_value(s, i, 0) == scan else 0
    return (source_value(s, i, k) == source_value(s, scan, 0) and s.instructions.components[source_value(s, i, k)] == 1
            and source_value(s, i, 1 - k) == scan)


cdef int _count(Context *c) except -1 nogil:
    """Count the uses of each value, and look at the readers of the exclusive scans."""
    cdef ShaderData *s = c.s
    cdef OrderRow row
    cdef NodeId node = 1
    cdef RowRange sources
    cdef ValueId i, value
    cdef uint32_t k
    c.uses.assign(s.instructions.table.count)
    c.state.assign(s.instructions.table.count)
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        sources = sources_of(s, i)
        for k in range(sources.first, sources.first + sources.count):
            value = s.sources.value[k]
            c.uses[value] += 1
            if _is_intrinsic(s, value, intrinsic_exclusive_scan) and not _includes(s, i, value):
                c.state[value] = stays
    while node:
        c.uses[s.nodes.condition[node]] += 1
        c.state[s.nodes.condition[node]] = stays
        node = node_walk_next(s, node)
    return 0


cdef bint _include_operands(Context *c) except -1 nogil:
    """Let exclusive scans that are only joined with their own operands be inclusive ones."""
    cdef ShaderData *s = c.s
    cdef OrderRow row
    cdef ValueId i, value
    cdef size_t k
    cdef uint32_t source
    cdef bint progress = False
    for k in range(c.scans.size()):
        if c.uses[c.scans[k]] and c.state[c.scans[k]] != stays:
            s.instructions.opcode[c.scans[k]] = intrinsic_inclusive_scan
            c.state[c.scans[k]] = includes
            progress = True
    for row in range(s.order.table.count if progress else 0):
        i = s.order.instruction[row]
        if s.instructions.kind[i] != nir_alu:
            continue
        for source in range(s.instructions.source_count[i]):
            value = source_value(s, i, source)
            if c.state[value] != includes:
                continue
            s.instructions.opcode[i] = alu_mov
            s.instructions.source_count[i] = 1
            s.sources.value[s.instructions.source_first[i]] = value
            s.sources.swizzle[s.instructions.source_first[i]] = 0
            break
    return progress


# -------------------------------------------------------------------------------------------------------------------- quads
cdef uint32_t _lane_read(const ShaderData *s, ValueId i, uint32_t lane) noexcept nogil:
    """Which lane of its quad a lane reads."""
    cdef int opcode = s.instructions.opcode[i]
    if opcode == intrinsic_quad_broadcast:
        if not value_is_constant(s, source_value(s, i, 1)):
            return no_lane
        return <uint32_t>constant_bits(s, source_value(s, i, 1), 0) & 3
    if opcode == intrinsic_quad_swizzle_amd:
        return <uint32_t>intrinsic_index(s, i, index_swizzle_mask) >> (2 * lane) & 3
    return lane ^ (1 if opcode == intrinsic_quad_swap_horizontal else 2 if opcode == intrinsic_quad_swap_vertical else 3)


cdef uint32_t _gather(const ShaderData *s, ValueId root, ValueId *parts) noexcept nogil:
    """The operands of a tree of one operation on booleans, if there are four; else another number."""
    cdef ValueId[2 * lanes_of_quad] stack
    cdef ValueId i
    cdef uint32_t depth = 1
    cdef uint32_t count = 0
    stack[0] = root
    while depth:
        depth -= 1
        i = stack[depth]
        if s.instructions.components[i] != 1 or count + depth >= lanes_of_quad:
            return 0
        if s.instructions.kind[i] == nir_alu and s.instructions.opcode[i] == s.instructions.opcode[root]:
            stack[depth], stack[depth + 1] = source_value(s, i, 0), source_value(s, i, 1)
            depth += 2
        else:
            parts[count] = i
            count += 1
    return count


cdef ValueId _quad_vote(Lowering *b, ValueId root) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId[lanes_of_quad] parts
    cdef ValueId value = 0
    cdef uint32_t read = 0
    cdef uint32_t lane, other, k
    if s.instructions.bit_size[root] != 1 or _gather(s, root, parts) != lanes_of_quad:
        return lower_keep
    for k in range(<uint32_t>lanes_of_quad):
        if _reads_quad(s, parts[k]):
            value = source_value(s, parts[k], 0)
    for k in range(<uint32_t>lanes_of_quad):
        if parts[k] != value and not (_reads_quad(s, parts[k]) and source_value(s, parts[k], 0) == value
                                      and s.instructions.block[parts[k]] == s.instructions.block[root]):
            return lower_keep
        for lane in range(<uint32_t>lanes_of_quad):
            other = lane if parts[k] == value else _lane_read(s, parts[k], lane)
            if other == no_lane:
                return lower_keep
            read |= <uint32_t>1 << (4 * lane + other)
    if value == 0 or read != 0xffff:
        return lower_keep
    return intrinsic1(b, intrinsic_quad_vote_all if s.instructions.opcode[root] == alu_iand else intrinsic_quad_vote_any, 1, 1, value)


# ------------------------------------------------------------------------------------------------------------------ shuffles
cdef bint _is_choosable(const Context *c, ValueId selection, uint32_t source) noexcept nogil:
    cdef const ShaderData *s = c.s
    cdef ValueId shuffle = source_value(s, selection, source)
    return (shuffle < c.uses.size() and _is_intrinsic(s, shuffle, intrinsic_shuffle) and c.uses[shuffle] == 1
            and s.instructions.components[shuffle] == 1 and s.instructions.block[shuffle] == s.instructions.block[selection]
            and s.instructions.components[source_value(s, shuffle, 1)] == 1)


cdef ValueId _choose_index(Lowering *b, ValueId i) except? 0xffffffffU nogil:
    cdef Context *c = <Context *>b.context
    cdef ShaderData *s = b.s
    cdef ValueId first, second, condition
    if s.instructions.components[i] != 1 or not _is_choosable(c, i, 1) or not _is_choosable(c, i, 2):
        return lower_keep
    condition, first, second = source_value(s, i, 0), source_value(s, i, 1), source_value(s, i, 2)
    if (first == second or source_value(s, first, 0) != source_value(s, second, 0) or s.instructions.components[condition] != 1
            or s.instructions.bit_size[source_value(s, first, 1)] != s.instructions.bit_size[source_value(s, second, 1)]):
        return lower_keep
    return intrinsic2(b, intrinsic_shuffle, 1, s.instructions.bit_size[i], source_value(s, first, 0),
                      alu3(b, alu_bcsel, condition, source_value(s, first, 1), source_value(s, second, 1)))


cdef ValueId _lower(Lowering *b, ValueId i) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[i]
    if opcode == alu_bcsel and (<Context *>b.context).shuffles:
        return _choose_index(b, i)
    if opcode == alu_iand or opcode == alu_ior:
        return _quad_vote(b, i)
    return lower_keep


cdef bint opt_intrinsics_run(ShaderData *s, bint shuffles) except -1 nogil:
    cdef Context c
    cdef OrderRow row
    cdef ValueId i
    cdef bint progress = False
    c.s = s
    c.shuffles = shuffles
    c.others = False
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        if s.instructions.kind[i] != nir_intrinsic:
            continue
        if s.instructions.opcode[i] == intrinsic_exclusive_scan and s.instructions.components[i] == 1:
            c.scans.push_back(i)
        c.others = c.others or s.instructions.opcode[i] == intrinsic_shuffle or _reads_quad(s, i)
    if c.scans.empty() and not c.others:
        return False
    _count(&c)
    if not c.scans.empty():
        progress = _include_operands(&c)
    if c.others:
        progress |= lowering_run(s, lower_alu, _lower, &c)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_intrinsics_run(<ShaderData *>ir, option != 0)


kernel = native_kernel(_kernel, lambda options, level: options["shuffles"])


def run(Shader shader not None, options=None):
    """Join subgroup operations, shuffles too with option ``shuffles`` (True); True when some were."""
    cdef bint shuffles = (options or {}).get("shuffles", True)
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, shuffles)
    return progress
