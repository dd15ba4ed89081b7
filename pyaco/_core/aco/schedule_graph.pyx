"""Dependencies between the instructions of one block, before register allocation.

An edge goes from an instruction to one that must stay behind it:

- from the definition of a temp to its uses;
- between accesses to SCC, VCC, M0 and exec. A value in one of them is not moved over another value that is read from the same register;
  registers that are overwritten without being read later (an addition whose carry nobody wants) keep out of such a value's way, but not out of
  each other's. Vector instructions read exec;
- between memory operations that may touch the same bytes: a storage class in common and, where both name the same address registers,
  constant offsets that overlap. Read-only loads (``semantic_can_reorder``, and scalar loads
  without a storage class: descriptors) depend on nothing; volatile and atomic operations, and those
  that acquire or release, keep their order with all others of their storage classes; barriers with all, samples of textures among them;
- between instructions that name linear VGPRs, in which they may compute.

Nothing passes an instruction that is not known to be harmless: branches, the ends of the logical part of a block, writes to MODE, messages,
exports, reads of clocks.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from isa_opcodes cimport (
    op_ds_bpermute_b32, op_ds_permute_b32, op_ds_swizzle_b32, op_p_as_uniform, op_p_constaddr, op_p_create_vector, op_p_extract,
    op_p_extract_vector, op_p_insert, op_p_parallelcopy, op_p_reload, op_p_spill, op_p_split_vector, op_p_start_linear_vgpr,
)
from isa_tables cimport is_atomic, opcode_flag_two_offsets, opcode_flags
from modifiers cimport modifier_lds, modifier_semantics, modifier_storage
from pyaco._core.aco.live_variables cimport needs_vcc
from pyaco._core.aco.queries cimport operand_equal
from pyaco._core.common.bits cimport trailing_zeros32
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, OperandRow, ProgramData, TempId, class_bytes, class_is_linear_vgpr, class_is_vgpr, definition_fixed, definition_kill,
    format_ds, format_is_flat_like, format_is_valu, format_is_vmem, format_mimg, format_mtbuf, format_mubuf, format_pseudo,
    format_pseudo_barrier, format_pseudo_reduction, format_smem, format_sop1, format_sop2, format_sopc, operand_at, operand_fixed, operand_temp,
    register_exec, register_exec_hi, register_m0, register_scc, register_vcc, register_vcc_hi, semantic_acqrel, semantic_atomic,
    semantic_can_reorder, semantic_rmw, semantic_volatile,
)

cdef enum:                            # what is tracked besides temps: bits
    tracked_scc = 1
    tracked_vcc = 2
    tracked_m0 = 4
    tracked_exec = 8
    tracked_linear = 16               # linear VGPRs, all alike
    tracked_count = 5
    # Readers that one overwriting instruction is kept behind; with more it counts as the register's next value. It bounds the edges.
    most_readers = 8
    # Memory operations of a storage class that each next one is compared with; then a write is kept behind all of them and stands for them.
    most_accesses = 32
    every_storage = 0x1ff
    sampled = 0x100                   # beside the storage classes: images that are read through a texture descriptor


cdef inline uint8_t _tracked(uint16_t reg) noexcept nogil:
    if reg == register_scc:
        return tracked_scc
    if reg == register_vcc or reg == register_vcc_hi:
        return tracked_vcc
    if reg == register_m0:
        return tracked_m0
    if reg == register_exec or reg == register_exec_hi:
        return tracked_exec
    return 0


cdef inline uint8_t _definition_register(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil:
    """The tracked register that definition `k` ends up in."""
    cdef uint32_t row = p.instructions.definition_first[i] + k
    if class_is_linear_vgpr(p.definitions.register_class[row]):
        return tracked_linear
    if p.definitions.flags[row] & definition_fixed:
        return _tracked(p.definitions.reg[row])
    if not class_is_vgpr(p.definitions.register_class[row]) and needs_vcc(p, i):
        return tracked_vcc
    return 0


cdef int graph_builder_init(GraphBuilder *g, const ProgramData *p) except -1 nogil:
    cdef BlockId b
    cdef uint32_t k
    cdef uint32_t j
    cdef InstructionId i
    g.register_of.assign(p.temps.table.count, 0)
    g.defined_at.assign(p.temps.table.count, 0)
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            for j in range(p.instructions.definition_count[i]):
                g.register_of[p.definitions.temp[p.instructions.definition_first[i] + j]] = _definition_register(p, i, j)
    return 0


cdef bint is_barrier(const ProgramData *p, InstructionId i) noexcept nogil:
    return p.instructions.format[i] == format_pseudo_barrier


cdef bint is_boundary(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    if format == format_pseudo:
        return opcode not in (op_p_as_uniform, op_p_constaddr, op_p_create_vector, op_p_extract, op_p_extract_vector, op_p_insert,
                              op_p_parallelcopy, op_p_reload, op_p_spill, op_p_split_vector, op_p_start_linear_vgpr)
    if format_is_valu(format) or format in (format_sop2, format_sopc, format_ds, format_mtbuf, format_mimg, format_pseudo_barrier,
                                            format_pseudo_reduction) or format_is_flat_like(format):
        return False
    if format == format_mubuf:
        return p.instructions.operand_count[i] < 3 or modifier_lds(p.instructions.modifiers[i])
    if format == format_smem:
        # Cache invalidation, clocks, scalar stores.
        return p.instructions.operand_count[i] == 0 or p.instructions.definition_count[i] == 0
    if format == format_sop1:
        # Jumps, code addresses, relative moves.
        return p.instructions.operand_count[i] == 0 or p.instructions.definition_count[i] == 0
    # SOPK is for MODE and other hardware registers here: the short forms of arithmetic are chosen by the allocator.
    return True


cdef inline int _edge(Graph *graph, uint32_t before, uint32_t after) except -1 nogil:
    cdef Edge edge
    edge.next = graph.nodes[before].edge_first
    if before == after or (edge.next != no_edge and graph.edges[edge.next].to == after):
        return 0
    edge.to = after
    graph.nodes[before].edge_first = <uint32_t>graph.edges.size()
    graph.edges.push_back(edge)
    graph.nodes[after].waits_for += 1
    graph.chained += before + 1 == after
    return 0


cdef int _reads(Graph *graph, Register *r, uint32_t place) except -1 nogil:
    if r.value:
        _edge(graph, r.value - 1, place)
    r.readers.push_back(place)
    return 0


cdef int _overwrites(Graph *graph, Register *r, uint32_t place) except -1 nogil:
    cdef uint32_t k
    for k in range(<uint32_t>r.readers.size()):
        _edge(graph, r.readers[k], place)
    r.overwritten.push_back(place)
    return 0


cdef int _writes(Graph *graph, Register *r, uint32_t place) except -1 nogil:
    cdef uint32_t k
    if r.value:
        _edge(graph, r.value - 1, place)
    for k in range(<uint32_t>r.readers.size()):
        _edge(graph, r.readers[k], place)
    for k in range(<uint32_t>r.overwritten.size()):
        _edge(graph, r.overwritten[k], place)
    r.readers.clear()
    r.overwritten.clear()
    r.value = place + 1
    return 0


cdef uint32_t _reads_of(const GraphBuilder *g, const ProgramData *p, Graph *graph, uint32_t place, uint32_t *written) except? 0xffffffff nogil:
    """Stay behind what an instruction reads; returns the tracked registers among it. Those into which a value must be copied are `written`."""
    cdef InstructionId i = graph.instruction[place]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef OperandRow end = row + p.instructions.operand_count[i]
    cdef uint32_t reads = 0
    cdef uint32_t own
    cdef uint32_t fixed
    cdef uint16_t flags
    cdef uint8_t register_class
    cdef TempId temp
    while row < end:
        flags = p.operands.flags[row]
        fixed = _tracked(p.operands.reg[row]) if flags & operand_fixed else 0
        reads |= fixed
        if flags & operand_temp:
            temp = p.operands.data[row]
            if g.defined_at[temp]:
                _edge(graph, g.defined_at[temp] - 1, place)
            own = g.register_of[temp]
            reads |= own
            written[0] |= fixed & ~own
            register_class = p.operands.register_class[row]
            if class_is_vgpr(register_class):
                reads |= tracked_exec
            if class_is_linear_vgpr(register_class):
                written[0] |= tracked_linear
        row += 1
    return reads


cdef inline bint _is_by_lane(uint16_t format) noexcept nogil:
    return format_is_valu(format) or format in (format_ds, format_mtbuf, format_mubuf, format_mimg) or format_is_flat_like(format)


cdef int _values(GraphBuilder *g, const ProgramData *p, Graph *graph, uint32_t place) except -1 nogil:
    """What is read and defined: temps, and tracked registers."""
    cdef InstructionId i = graph.instruction[place]
    cdef uint32_t first = p.instructions.definition_first[i]
    cdef uint32_t written = 0
    cdef uint32_t dead = 0
    cdef uint32_t reads = _reads_of(g, p, graph, place, &written)
    cdef uint32_t named
    cdef uint32_t k
    cdef uint32_t bit
    cdef Register *r
    cdef TempId temp
    if _is_by_lane(p.instructions.format[i]):
        reads |= tracked_exec
    for k in range(p.instructions.definition_count[i]):
        temp = p.definitions.temp[first + k]
        bit = g.register_of[temp] if temp else _definition_register(p, i, k)
        if class_is_vgpr(p.definitions.register_class[first + k]):
            reads |= tracked_exec
        # Instructions read exec without naming it, so a write to it is never in vain.
        if p.definitions.flags[first + k] & definition_kill and not bit & (tracked_exec | tracked_linear):
            dead |= bit
        else:
            written |= bit
        g.defined_at[temp] = place + 1
    g.defined_at[0] = 0
    named = reads | written | dead
    while named:
        k = trailing_zeros32(named)
        bit = 1 << k
        named &= named - 1
        r = &g.registers[k]
        if written & bit or (dead & bit and r.readers.size() > most_readers):
            _writes(graph, r, place)
            continue
        if dead & bit:
            _overwrites(graph, r, place)
        if reads & bit:
            _reads(graph, r, place)
    return 0


cdef Access _access(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef Access a
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t semantics
    a.orders = a.writes = a.all_addresses = False
    a.storage = every_storage
    if format == format_pseudo_barrier:
        a.orders = a.writes = a.all_addresses = True
        return a
    if format != format_ds and format != format_smem and not format_is_vmem(format) and not format_is_flat_like(format):
        return a
    if opcode == op_ds_bpermute_b32 or opcode == op_ds_permute_b32 or opcode == op_ds_swizzle_b32:
        return a
    semantics = modifier_semantics(p.instructions.modifiers[i])
    a.all_addresses = is_atomic(opcode) or (semantics & (semantic_acqrel | semantic_volatile | semantic_atomic | semantic_rmw)) != 0
    a.writes = a.all_addresses or p.instructions.definition_count[i] == 0
    a.orders = a.writes or not semantics & semantic_can_reorder
    if modifier_storage(p.instructions.modifiers[i]):
        a.storage = modifier_storage(p.instructions.modifiers[i])
    elif format == format_smem:
        # Descriptors, constants: memory that shaders do not write.
        a.orders = a.writes
    elif format == format_mimg and not a.writes:
        # Only after a barrier may texels be those that a store of the shader wrote.
        a.storage = sampled
    return a


cdef int _data_operand(const ProgramData *p, InstructionId i) noexcept nogil:
    """The operand after those of the address, or -1 where addresses are not compared."""
    cdef uint16_t format = p.instructions.format[i]
    if format == format_mubuf:
        return 3
    if format_is_flat_like(format):
        return 2
    if format == format_ds and not opcode_flags[p.instructions.opcode[i]] & opcode_flag_two_offsets:
        return 1
    return -1


cdef int64_t _bytes_accessed(const ProgramData *p, InstructionId i, uint32_t data) noexcept nogil:
    """At most so many."""
    if p.instructions.definition_count[i]:
        return class_bytes(p.definitions.register_class[p.instructions.definition_first[i]])
    if data < p.instructions.operand_count[i]:
        return class_bytes(p.operands.register_class[p.instructions.operand_first[i] + data])
    return 0xffffffffU


cdef bint _disjoint(const ProgramData *p, InstructionId a, InstructionId b) noexcept nogil:
    """The same address registers, and constant offsets that keep the accesses apart."""
    cdef int data = _data_operand(p, a)
    cdef OperandRow x = p.instructions.operand_first[a]
    cdef OperandRow y = p.instructions.operand_first[b]
    cdef int64_t from_a = <int32_t>p.instructions.immediate[a]
    cdef int64_t from_b = <int32_t>p.instructions.immediate[b]
    cdef int k
    if data < 0 or p.instructions.format[a] != p.instructions.format[b] or _data_operand(p, b) != data \
            or p.instructions.operand_count[a] < data or p.instructions.operand_count[b] < data:
        return False
    for k in range(data):
        if not operand_equal(operand_at(p, x + k), operand_at(p, y + k)):
            return False
    # Offsets count in the same way: bits 5 to 7 are whether a buffer's address has an offset or an index.
    if p.instructions.format[a] == format_mubuf and (p.instructions.modifiers[a] ^ p.instructions.modifiers[b]) & 0x3e0:
        return False
    return from_a + _bytes_accessed(p, a, data) <= from_b or from_b + _bytes_accessed(p, b, data) <= from_a


cdef inline bint _conflict(const ProgramData *p, const Access *x, InstructionId a, const Access *y, InstructionId b) noexcept nogil:
    if not x.storage & y.storage or not (x.writes or y.writes):
        return False
    return x.all_addresses or y.all_addresses or not _disjoint(p, a, b)


cdef int _access_class(Memory *memory, const ProgramData *p, Graph *graph, const Access *access) except -1 nogil:
    """Order an access behind those of one storage class."""
    cdef uint32_t place = access.place
    cdef InstructionId i = graph.instruction[place]
    cdef bint full = memory.accesses.size() >= most_accesses
    cdef bint stands_for_all = is_barrier(p, i) or (full and access.writes)
    cdef uint32_t k
    if memory.floor:
        _edge(graph, memory.floor - 1, place)
    for k in range(<uint32_t>memory.accesses.size()):
        if stands_for_all or _conflict(p, &memory.accesses[k], graph.instruction[memory.accesses[k].place], access, i):
            _edge(graph, memory.accesses[k].place, place)
    if stands_for_all:
        for k in range(<uint32_t>memory.further_reads.size()):
            _edge(graph, memory.further_reads[k], place)
        memory.accesses.clear()
        memory.further_reads.clear()
        memory.floor = place + 1
    elif full:
        memory.further_reads.push_back(place)
    else:
        memory.accesses.push_back(access[0])
    return 0


cdef int _memory(GraphBuilder *g, const ProgramData *p, Graph *graph, uint32_t place) except -1 nogil:
    cdef Access access = _access(p, graph.instruction[place])
    cdef uint32_t classes = access.storage
    access.place = place
    while access.orders and classes:
        _access_class(&g.memory[trailing_zeros32(classes)], p, graph, &access)
        classes &= classes - 1
    return 0


cdef int graph_build(GraphBuilder *g, const ProgramData *p, Graph *graph) except -1 nogil:
    cdef Node alone
    cdef uint32_t count = <uint32_t>graph.instruction.size()
    cdef uint32_t place
    cdef uint32_t row
    cdef InstructionId i
    cdef int k
    for k in range(<int>tracked_count):
        g.registers[k].value = 0
        g.registers[k].readers.clear()
        g.registers[k].overwritten.clear()
    for k in range(<int>storage_classes):
        g.memory[k].floor = 0
        g.memory[k].accesses.clear()
        g.memory[k].further_reads.clear()
    alone.waits_for = 0
    alone.edge_first = no_edge
    graph.nodes.assign(count, alone)
    graph.edges.clear()
    graph.chained = 0
    for place in range(count):
        _values(g, p, graph, place)
        _memory(g, p, graph, place)
    for place in range(count):
        i = graph.instruction[place]
        for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
            g.defined_at[p.definitions.temp[row]] = 0
    return 0
