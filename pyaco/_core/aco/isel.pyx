"""Instruction selection: NIR to ACO IR with a logical and a linear control-flow graph.

Needs: NIR as the contract in ``docs/nir.md`` describes it (no derefs, scalar ALU, divergence known, arguments
declared). Guarantees: ACO IR in SSA form; every block of the logical CFG is in the linear one, which has the extra blocks that
keep its edges uncritical; branches name their targets; phis are the first instructions of a block, in the order of its edges.

Uniform control flow has one CFG. A divergent if is laid out as

    logical:  if -> then -> endif,  if -> else -> endif
    linear:   if -> then, then' -> invert -> else, else' -> endif     (then', else': empty, taken when no lane is active)

In the linear CFG, a divergent break or continue leads to a helper block. A loop that may still run when no lane is active ends with a
block that either continues or breaks.

The source of these shapes: Mesa's ACO (``README.md`` and ``aco_instruction_selection.cpp``: visit_if, visit_loop). Here, edges
are made to labels and phis are filled in at the end, when the whole graph is known.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_p_branch, op_p_cbranch_z, op_p_create_vector, op_p_init_scratch, op_p_linear_phi, op_p_logical_end,
    op_p_logical_start, op_p_parallelcopy, op_p_phi, op_p_startpgm, op_s_add_f32, op_s_endpgm,
)
from isa_tables cimport isa_opcode_number, opcode_format
from modifiers cimport modifier_set_branch_target1
from pyaco._core.aco.build cimport make, mask_constant
from pyaco._core.aco.isel_alu cimport select_alu
from pyaco._core.aco.isel_classes cimport choose_classes
from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.isel_control_flow cimport *
from pyaco._core.aco.isel_intrinsics cimport select_intrinsic
from pyaco._core.aco.isel_older cimport emit_older
from pyaco._core.aco.isel_textures cimport select_texture
from pyaco._core.common.table cimport table_append_many, table_truncate
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, Blocks, Definition, InstructionId, Operand, OrderRow, Program, ProgramData, TempId, block_loop_exit, block_loop_header,
    block_loop_preheader, block_merge, block_top_level, block_uniform, class_bytes, class_is_linear, class_s1, class_s2, class_s4,
    definition_of, definition_of_fixed, edge_add, edges_finish, format_pseudo_branch, gfx10_3, gfx6, gfx9, operand_put,
    operand_undefined, progress_after_isel, register_scc, register_vgpr0, fp_care_about_round16_64, fp_care_about_round32,
    fp_must_flush_denorms16_64, fp_must_flush_denorms32, fp_preserve_signed_zero_inf_nan16_64, fp_preserve_signed_zero_inf_nan32,
)
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, argument_scratch_address, argument_scratch_wave_offset, constant_bits, flush_denorms16,
    flush_denorms32, flush_denorms64, jump_break, jump_continue, mode_of_float_controls, nir_alu, nir_intrinsic, nir_jump, nir_load_const,
    nir_phi, nir_tex, nir_undef, node_block, node_if, node_loop, preserve_special16, preserve_special32, preserve_special64,
    round_even16, round_even32, round_even64, round_zero16, round_zero32, round_zero64, source_swizzle, source_value, stage_compute,
    stage_kernel, value_is_constant,
)
from pyaco._core.ir.translation cimport Translation
from pyaco._core.ir.source_lines cimport CurrentLine, LineHeirs, heirs_begin, heirs_of_block, line_begin, line_unknown
from pyaco._core.ir.range_analysis cimport ranges_begin

from pyaco.errors import InputError, UnsupportedError

cdef enum:                        # room that lists begin with, so that small shaders need no more
    some_instructions = 32
    some_blocks = 8


# ---------------------------------------------------------------------------------------------------------------- blocks
cdef bint _list_ends(Isel *c, NodeId first) noexcept nogil:
    """Whether control never reaches the end of a list of nodes."""
    while first:
        if c.node_ends[first]:
            return True
        first = c.s.nodes.next[first]
    return False


cdef void _find_ends(Isel *c, NodeId first) noexcept nogil:
    """Fill node_ends of a list and of the lists nested in it."""
    cdef ValueId last
    while first:
        if c.s.nodes.kind[first] == node_if:
            _find_ends(c, c.s.nodes.first0[first])
            _find_ends(c, c.s.nodes.first1[first])
            c.node_ends[first] = _list_ends(c, c.s.nodes.first0[first]) and _list_ends(c, c.s.nodes.first1[first])
        elif c.s.nodes.kind[first] == node_loop:
            _find_ends(c, c.s.nodes.first0[first])
        elif c.s.nodes.order_count[first]:
            last = c.s.order.instruction[c.s.nodes.order_first[first] + c.s.nodes.order_count[first] - 1]
            c.node_ends[first] = c.s.instructions.kind[last] == nir_jump
        first = c.s.nodes.next[first]


cdef int _select_constant(Isel *c, ValueId value) except -1 nogil:
    cdef uint32_t components = c.s.instructions.components[value]
    cdef uint32_t bits = c.s.instructions.bit_size[value]
    cdef TempId dst = value_temp(c, value)
    cdef uint64_t[16] words
    cdef Operand[32] o
    cdef uint32_t i
    cdef uint64_t word
    cdef uint32_t dwords = 0
    if bits == 1:
        copy(c, dst, 0, mask_constant(c.p, constant_bits(c.s, value, 0) != 0))
        return 0
    if bits == 64:
        for i in range(components):
            word = constant_bits(c.s, value, i)
            o[2 * i] = K(<uint32_t>word)
            o[2 * i + 1] = K(<uint32_t>(word >> 32))
        dwords = 2 * components
    else:
        for i in range((components * bits + 31) // 32):
            words[i] = 0
        for i in range(components):
            word = constant_bits(c.s, value, i)
            if components == 1 and bits == 16:
                word = <uint32_t><short>word      # so that s_movk_i32 can hold it
            words[i * bits // 32] |= word << (i * bits % 32)
        dwords = (components * bits + 31) // 32
        for i in range(dwords):
            o[i] = K(<uint32_t>words[i])
    if dwords == 1:
        copy(c, dst, 0, o[0])
    else:
        emit_raw(c, op_p_create_vector, dst, o, dwords)
    return 0


cdef int _select_undefined(Isel *c, uint32_t value) except -1 nogil:
    cdef Operand o = operand_undefined(c.value_class[value])
    copy(c, value_temp(c, value), 0, o)
    return 0


cdef int _select_phi(Isel *c, ValueId value, uint32_t node) except -1 nogil:
    """A phi without operands yet, or a copy where only one value arrives."""
    cdef PendingPhi pending
    cdef Definition d
    cdef TempId dst = value_temp(c, value)
    cdef bint linear = class_is_linear(class_of(c, dst))
    cdef bint logical = not linear or value_divergent(c, value) or (c.p.blocks.kind[c.block] & block_merge) != 0
    cdef ValueId only = _only_source(c, value)
    cdef uint32_t opcode = op_p_linear_phi
    if c.node_copies[node] or (only and not c.p.blocks.kind[c.block] & (block_loop_header | block_loop_exit)):
        if only == 0:
            with gil:
                raise InputError("NIR: a phi after an if of which one side jumps away has no source from the other side")
        return _copy_value(c, dst, value_temp(c, only))
    if logical:
        opcode = op_p_phi
    d = definition_of(c.p, dst)
    pending.value = value
    pending.block = c.block
    pending.instruction = make(c.p, opcode, &d, 1, NULL, 0)
    c.phis.push_back(pending)
    _append_front(c, c.block, pending.instruction)
    return 0


cdef int _copy_value(Isel *c, TempId dst, TempId temp) except -1 nogil:
    if is_vgpr(c, dst) and not is_vgpr(c, temp):
        temp = as_vgpr_bytes(c, temp, class_bytes(class_of(c, dst)))
    elif is_vgpr(c, temp) and not is_vgpr(c, dst):
        as_uniform(c, dst, temp)
        return 0
    copy(c, dst, 0, T(c, temp))
    return 0


cdef ValueId _only_source(Isel *c, ValueId phi) noexcept nogil:
    """The one value that reaches a phi from blocks selected so far; 0: none or several."""
    cdef ValueId only = 0
    cdef uint32_t i
    cdef ValueId value
    for i in range(c.s.instructions.source_count[phi]):
        if c.node_block[<uint32_t>source_swizzle(c.s, phi, i)] == no_block:
            continue
        value = source_value(c.s, phi, i)
        if only and only != value:
            return 0
        only = value
    return only


cdef int _append_front(Isel *c, uint32_t block, uint32_t instruction) except -1 nogil:
    cdef SelectedInstruction entry
    entry.block = block
    entry.instruction = instruction
    c.selected_front.push_back(entry)
    return 0


cdef int _select_block(Isel *c, NodeId node) except -1 nogil:
    cdef uint32_t position
    cdef ValueId i
    cdef uint8_t kind
    for position in range(c.s.nodes.order_first[node], c.s.nodes.order_first[node] + c.s.nodes.order_count[node]):
        i = c.s.order.instruction[position]
        if i < c.s.lines.table.count:
            line_begin(&c.p.lines, &c.line, c.p.instructions.table.count, c.s.lines.file[i], c.s.lines.line[i])
        kind = c.s.instructions.kind[i]
        if kind == nir_alu:
            select_alu(c, i)
        elif kind == nir_intrinsic:
            select_intrinsic(c, i)
        elif kind == nir_load_const:
            _select_constant(c, i)
        elif kind == nir_undef:
            _select_undefined(c, i)
        elif kind == nir_phi:
            _select_phi(c, i, node)
        elif kind == nir_jump:
            c.node_block[node] = c.block
            if c.s.instructions.opcode[i] == jump_break or c.s.instructions.opcode[i] == jump_continue:
                return jump(c, c.s.instructions.opcode[i] == jump_break)
            return unsupported(c, b"jump", b"return or halt inside control flow")
        elif kind == nir_tex:
            select_texture(c, i)
        else:
            return unsupported(c, b"NIR instruction kind", b"deref: derefs must be lowered first")
    c.node_block[node] = c.block
    return 0


cdef int _select_list(Isel *c, NodeId first) except -1 nogil:
    cdef bint ends
    while first:
        ends = c.node_ends[first]
        if c.s.nodes.kind[first] == node_block:
            _select_block(c, first)
        elif c.s.nodes.kind[first] == node_if:
            _select_if(c, first)
        else:
            _select_loop(c, first)
        if ends:
            return 0
        first = c.s.nodes.next[first]
    return 0


# ------------------------------------------------------------------------------------------------------- ifs and loops
cdef bint _list_is_empty(Isel *c, NodeId first) noexcept nogil:
    return c.s.nodes.kind[first] == node_block and c.s.nodes.next[first] == 0 and c.s.nodes.order_count[first] == 0


cdef int _select_if(Isel *c, NodeId node) except -1 nogil:
    """An if. Where one side always jumps away, the code of the other side is put after the if: what it defines must reach the code
    that follows through the linear CFG too."""
    cdef IfState state
    cdef TempId condition = value_temp(c, c.s.nodes.condition[node])
    cdef bint divergent = value_divergent(c, c.s.nodes.condition[node])
    cdef NodeId first_then = c.s.nodes.first0[node]
    cdef NodeId first_else = c.s.nodes.first1[node]
    cdef bint then_ends = _list_ends(c, first_then)
    cdef bint else_ends = _list_ends(c, first_else)
    cdef NodeId after_if = 0
    if then_ends and not else_ends and not _list_is_empty(c, first_else):
        after_if = first_else
        first_else = 0
    elif else_ends and not then_ends and not _list_is_empty(c, first_then):
        after_if = first_then
        first_then = 0
    if divergent:
        divergent_then(c, &state, condition)
    else:
        uniform_then(c, &state, mask_to_scc(c, condition))
    if first_then:
        _select_list(c, first_then)
    if divergent:
        divergent_else(c, &state)
    else:
        uniform_else(c, &state)
    if first_else:
        _select_list(c, first_else)
    if divergent:
        divergent_end(c, &state)
    else:
        uniform_end(c, &state)
    if after_if:
        c.node_copies[c.s.nodes.next[node]] = 1
        _select_list(c, after_if)
    return 0


cdef int _select_loop(Isel *c, NodeId node) except -1 nogil:
    cdef FlowState before
    cdef IfState never
    cdef uint32_t exit_kind = block_loop_exit | top_level(c, c.block)
    cdef uint32_t first_edge = c.edges.size()
    cdef uint32_t exit_label
    cdef TempId scc
    marker(c, op_p_logical_end)
    mark(c, block_loop_preheader | block_uniform)
    branch(c, op_p_branch, NULL)
    before = c.flow
    c.flow.loop_header_label = label_new(c)
    c.flow.loop_exit_label = label_new(c)
    c.flow.loop_divergent_continue = False
    c.flow.loop_divergent_branch = False
    c.flow.divergent_if = False
    c.flow.has_branch = False
    edges_to(c, c.block, c.flow.loop_header_label)
    c.flow.loop_depth += 1
    bind_label(c, c.flow.loop_header_label, block_loop_header)
    marker(c, op_p_logical_start)
    _select_list(c, c.s.nodes.first0[node])
    if not has_edge_to(c, c.flow.loop_exit_label, first_edge):
        # A loop without a break: the code after it must be reachable all the same.
        if c.flow.has_branch or c.flow.loop_divergent_branch:
            return unsupported(c, b"a loop", b"without an exit")
        scc = new_temp(c, class_s1)
        append_instruction(c, _copy_to_scc(c, scc))
        uniform_then(c, &never, scc)
        jump(c, True)
        uniform_else(c, &never)
        uniform_end(c, &never)
    loop_end(c)
    before.exec_may_be_empty = before.exec_may_be_empty or c.flow.exec_may_be_empty
    before.exec_empty_depth = min(before.exec_empty_depth, c.flow.exec_empty_depth)
    exit_label = c.flow.loop_exit_label
    c.flow = before
    bind_label(c, exit_label, exit_kind)
    marker(c, op_p_logical_start)
    if not c.flow.divergent_if and c.flow.loop_depth == 0:
        c.flow.exec_may_be_empty = False
        c.flow.exec_empty_depth = 0xffff
    return 0


cdef InstructionId _copy_to_scc(Isel *c, TempId temp) except 0 nogil:
    cdef Definition d = definition_of_fixed(c.p, temp, register_scc)
    cdef Operand zero = K(0)
    return make(c.p, op_p_parallelcopy, &d, 1, &zero, 1)


# ------------------------------------------------------------------------------------------------------------------ phis
cdef Operand _phi_operand(Isel *c, ValueId value, uint8_t register_class, bint logical) noexcept nogil:
    """A source of a phi. Undefined values and constant lane masks stay recognizable: lowering makes use of that."""
    if c.s.instructions.kind[value] == nir_undef or c.value_temp[value] == 0:
        return operand_undefined(register_class)
    if logical and c.s.instructions.bit_size[value] == 1 and value_is_constant(c.s, value):
        return mask_constant(c.p, constant_bits(c.s, value, 0) != 0)
    return T(c, c.value_temp[value])


cdef ValueId _source_from(Isel *c, ValueId phi, uint32_t block) noexcept nogil:
    """The NIR value that a phi takes when control comes from an ACO block; 0: none."""
    cdef uint32_t i
    for i in range(c.s.instructions.source_count[phi]):
        if c.node_block[<uint32_t>source_swizzle(c.s, phi, i)] == block:
            return source_value(c.s, phi, i)
    return 0


cdef int _set_operands(Isel *c, InstructionId instruction, vector[Operand] &operands) except -1 nogil:
    cdef uint32_t first = table_append_many(&c.p.operands.table, operands.size())
    cdef uint32_t i
    for i in range(operands.size()):
        operand_put(c.p, first + i, operands[i])
    c.p.instructions.operand_first[instruction] = first
    c.p.instructions.operand_count[instruction] = <uint16_t>operands.size()
    return 0


cdef int _fill_logical(Isel *c, PendingPhi *phi) except -1 nogil:
    cdef vector[Operand] operands
    cdef uint8_t register_class = c.value_class[phi.value]
    cdef uint32_t first = c.p.blocks.logical_pred_first[phi.block]
    cdef uint32_t count = c.p.blocks.logical_pred_count[phi.block]
    cdef uint32_t defined = 0
    cdef uint32_t last_defined = 0
    cdef uint32_t i
    cdef ValueId value
    for i in range(count):
        value = _source_from(c, phi.value, c.p.edge_lists.block[first + i])
        operands.push_back(_phi_operand(c, value, register_class, True) if value else operand_undefined(register_class))
        if value and c.s.instructions.kind[value] != nir_undef:
            defined += 1
            last_defined = i
    if class_is_linear(register_class) and c.p.blocks.kind[phi.block] & block_merge and defined <= 1:
        return _fill_single(c, phi, operands, last_defined)
    return _set_operands(c, phi.instruction, operands)


cdef int _fill_single(Isel *c, PendingPhi *phi, vector[Operand] &operands, uint32_t index) except -1 nogil:
    """An SGPR that one side of a divergent if defines: a linear phi where that side's code meets the way around it."""
    cdef Blocks *blocks = &c.p.blocks
    cdef uint32_t *lists = c.p.edge_lists.block
    cdef BlockId around_else = lists[blocks.linear_pred_first[phi.block] + 1]
    cdef BlockId invert = lists[blocks.linear_pred_first[around_else]]
    cdef uint32_t then_end = lists[blocks.linear_pred_first[invert]]
    cdef vector[Operand] pair
    cdef BlockId target = phi.block
    cdef uint32_t i
    pair.push_back(operands[index] if operands.size() else operand_undefined(c.value_class[phi.value]))
    pair.push_back(operand_undefined(c.value_class[phi.value]))
    if operands.size() and lists[blocks.logical_pred_first[phi.block] + index] == then_end:
        target = invert
    c.p.instructions.opcode[phi.instruction] = op_p_linear_phi
    for i in range(c.selected_front.size()):
        if c.selected_front[i].instruction == phi.instruction:
            c.selected_front[i].block = target
    return _set_operands(c, phi.instruction, pair)


cdef int _fill_linear(Isel *c, PendingPhi *phi) except -1 nogil:
    cdef vector[Operand] operands
    cdef Operand operand
    cdef uint8_t register_class = c.value_class[phi.value]
    cdef uint32_t first = c.p.blocks.linear_pred_first[phi.block]
    cdef uint32_t i
    cdef BlockId block
    cdef ValueId value
    for i in range(c.p.blocks.linear_pred_count[phi.block]):
        block = c.p.edge_lists.block[first + i]
        value = _source_from(c, phi.value, block)
        if value == 0 and c.p.blocks.logical_pred_count[block] == 0 and c.p.blocks.linear_pred_count[block] == 1:
            # through the helper block of a divergent jump
            value = _source_from(c, phi.value, c.p.edge_lists.block[c.p.blocks.linear_pred_first[block]])
        if value:
            operands.push_back(_phi_operand(c, value, register_class, False))
        elif c.p.blocks.kind[phi.block] & block_loop_header:
            _value_on_linear_path(c, phi, block, &operand)
            operands.push_back(operand)
        else:
            operands.push_back(operand_undefined(register_class))
    return _set_operands(c, phi.instruction, operands)


cdef int _value_on_linear_path(Isel *c, PendingPhi *phi, uint32_t last, Operand *result) except -1 nogil:
    """What a uniform loop-header phi must take from a block that loops back in the linear CFG only: lanes that continued
    earlier in the loop are among those that arrive there. Their values are merged along the linear CFG."""
    cdef BlockId header = phi.block
    cdef uint8_t register_class = c.value_class[phi.value]
    cdef vector[Operand] values
    cdef vector[Operand] merged
    cdef Definition d
    cdef BlockId block
    cdef ValueId value
    cdef uint32_t i
    cdef uint32_t first
    cdef TempId temp
    cdef InstructionId linear_phi
    cdef bint same
    values.resize(last - header + 1)
    values[0] = T(c, c.value_temp[phi.value])
    for block in range(header + 1, last + 1):
        if c.p.blocks.loop_depth[block] != c.p.blocks.loop_depth[header]:
            values[block - header] = values[block - header - 1]
            continue
        value = _source_from(c, phi.value, block)
        if value:
            values[block - header] = _phi_operand(c, value, register_class, False)
            continue
        merged.clear()
        same = True
        first = c.p.blocks.linear_pred_first[block]
        for i in range(c.p.blocks.linear_pred_count[block]):
            merged.push_back(values[c.p.edge_lists.block[first + i] - header])
            same = same and merged[i].data == merged[0].data and merged[i].flags == merged[0].flags
        if same:
            values[block - header] = merged[0]
            continue
        temp = new_temp(c, register_class)
        d = definition_of(c.p, temp)
        linear_phi = make(c.p, op_p_linear_phi, &d, 1, merged.data(), merged.size())
        _append_front(c, block, linear_phi)
        values[block - header] = T(c, temp)
    result[0] = values[last - header]
    return 0


# --------------------------------------------------------------------------------------------------------- program start
cdef uint32_t _argument_in_same_register(Isel *c, uint32_t argument) noexcept nogil:
    """The temp of an earlier argument in the same register: on GFX12 two workgroup ids share one."""
    cdef uint32_t other
    for other in range(argument):
        if (c.s.arguments.first[other] == c.s.arguments.first[argument] and c.s.arguments.count[other] == c.s.arguments.count[argument]
                and c.s.arguments.is_vgpr[other] == c.s.arguments.is_vgpr[argument]):
            return c.argument_temp[other]
    return 0


cdef int _start(Isel *c) except -1 nogil:
    """p_startpgm defines the arguments in their registers. Misaligned SGPR tuples are defined dword by dword."""
    cdef vector[Definition] definitions
    cdef vector[uint32_t] pieces
    cdef vector[Operand] operands
    cdef uint32_t count
    cdef uint32_t alignment
    cdef uint32_t argument
    cdef uint32_t i
    cdef TempId temp
    cdef TempId address = 0
    cdef TempId offset = 0
    cdef Operand[2] o
    cdef Definition[2] d
    c.argument_temp.assign(c.s.arguments.table.count, 0)
    for argument in range(c.s.arguments.table.count):
        count = c.s.arguments.count[argument]
        alignment = 1 if count == 1 else (2 if count == 2 else 4)
        temp = _argument_in_same_register(c, argument)
        if temp:
            pass
        elif c.s.arguments.is_vgpr[argument]:
            temp = new_temp(c, vgpr_class(4 * count))
            definitions.push_back(definition_of_fixed(c.p, temp, <uint16_t>(register_vgpr0 + 4 * c.s.arguments.first[argument])))
        elif c.s.arguments.first[argument] % alignment == 0:
            temp = new_temp(c, sgpr_class(4 * count))
            definitions.push_back(definition_of_fixed(c.p, temp, <uint16_t>(4 * c.s.arguments.first[argument])))
        else:
            for i in range(count):
                temp = new_temp(c, class_s1)
                definitions.push_back(definition_of_fixed(c.p, temp, <uint16_t>(4 * (c.s.arguments.first[argument] + i))))
                pieces.push_back(temp)
            temp = 0
        c.argument_temp[argument] = temp
    append_instruction(c, make(c.p, op_p_startpgm, definitions.data(), definitions.size(), NULL, 0))
    marker(c, op_p_logical_start)
    i = 0
    for argument in range(c.s.arguments.table.count):
        count = c.s.arguments.count[argument]
        if c.argument_temp[argument] == 0:
            operands.clear()
            for _ in range(count):
                operands.push_back(T(c, pieces[i]))
                i += 1
            c.argument_temp[argument] = create_vector(c, 0, sgpr_class(4 * count), operands.data(), count)
        elif count > 1:
            split(c, c.argument_temp[argument], 4)
        if c.s.arguments.kind[argument] == argument_scratch_address:
            address = c.argument_temp[argument]
        elif c.s.arguments.kind[argument] == argument_scratch_wave_offset:
            offset = c.argument_temp[argument]
    if address and offset and c.gfx <= gfx10_3:
        o[0] = T(c, address)
        o[1] = T(c, offset)
        if c.gfx < gfx9:
            c.scratch = new_temp(c, class_s4)
        d[0] = definition_of(c.p, c.scratch if c.scratch else new_temp(c, class_s2))
        d[1] = definition_of_fixed(c.p, new_temp(c, class_s1), register_scc)
        append_instruction(c, make(c.p, op_p_init_scratch, d, 2, o, 2))
    return 0


cdef uint16_t _float_mode(const ShaderData *s) noexcept nogil:
    """The float mode that the program asks for: MODE's bits, and what the passes must keep."""
    cdef uint32_t controls = s.info.float_controls
    cdef uint32_t mode = mode_of_float_controls(controls)
    if controls & preserve_special32:
        mode |= fp_preserve_signed_zero_inf_nan32
    if controls & (preserve_special16 | preserve_special64):
        mode |= fp_preserve_signed_zero_inf_nan16_64
    if controls & flush_denorms32:
        mode |= fp_must_flush_denorms32
    if controls & (flush_denorms16 | flush_denorms64):
        mode |= fp_must_flush_denorms16_64
    if controls & (round_even32 | round_zero32):
        mode |= fp_care_about_round32
    if controls & (round_even16 | round_even64 | round_zero16 | round_zero64):
        mode |= fp_care_about_round16_64
    return <uint16_t>mode


# ---------------------------------------------------------------------------------------- putting the program together
cdef int _finish_edges(Isel *c) except -1 nogil:
    cdef uint32_t i
    for i in range(c.edges.size()):
        if c.label_block[c.edges[i].label] != no_block:
            edge_add(c.p, c.edges[i].kind, c.edges[i].predecessor, c.label_block[c.edges[i].label])
    return edges_finish(c.p)


cdef int _finish_order(Isel *c) except -1 nogil:
    """Put every instruction in its block: a counting sort."""
    cdef ProgramData *p = c.p
    cdef vector[uint32_t] next
    cdef BlockId block
    cdef uint32_t total = c.selected.size() + c.selected_front.size()
    cdef OrderRow row = 0
    cdef size_t i
    next.assign(p.blocks.table.count + 1, 0)
    for i in range(c.selected.size()):
        next[c.selected[i].block] += 1
    for i in range(c.selected_front.size()):
        next[c.selected_front[i].block] += 1
    table_truncate(&p.order.table, 0)
    table_append_many(&p.order.table, total)
    for block in range(p.blocks.table.count):
        p.blocks.order_first[block] = row
        p.blocks.order_count[block] = next[block]
        next[block] = row
        row += p.blocks.order_count[block]
    for i in range(c.selected_front.size()):
        block = c.selected_front[i].block
        p.order.instruction[next[block]] = c.selected_front[i].instruction
        next[block] += 1
    for i in range(c.selected.size()):
        block = c.selected[i].block
        p.order.instruction[next[block]] = c.selected[i].instruction
        next[block] += 1
    return 0


cdef int _finish_lines(Isel *c) except -1 nogil:
    """What stands between instructions of known lines, such as jumps and phis, is given theirs."""
    cdef LineHeirs heirs
    cdef BlockId block
    cdef ProgramData *p = c.p
    if c.s.lines.table.count == 0:
        return 0
    line_begin(&p.lines, &c.line, p.instructions.table.count, 0, line_unknown)
    heirs_begin(&heirs, &p.lines, p.instructions.table.count, NULL, 0)
    for block in range(p.blocks.table.count):
        heirs_of_block(&heirs, 0, 0, p.order.instruction + p.blocks.order_first[block], p.blocks.order_count[block])
    return 0


cdef void _finish_branches(ProgramData *p) noexcept nogil:
    """Fill in branch targets: a conditional branch goes to the second successor when it is taken."""
    cdef BlockId block
    cdef InstructionId i
    cdef uint32_t *successors
    cdef uint32_t count
    for block in range(p.blocks.table.count):
        if p.blocks.order_count[block] == 0:
            continue
        i = p.order.instruction[p.blocks.order_first[block] + p.blocks.order_count[block] - 1]
        if p.instructions.format[i] != format_pseudo_branch:
            continue
        successors = p.edge_lists.block + p.blocks.linear_succ_first[block]
        count = p.blocks.linear_succ_count[block]
        if count == 2 and p.instructions.opcode[i] == op_p_cbranch_z:
            p.instructions.immediate[i] = successors[1]
            p.instructions.modifiers[i] = modifier_set_branch_target1(p.instructions.modifiers[i], successors[0])
        elif count:
            p.instructions.immediate[i] = successors[0]
            p.instructions.modifiers[i] = modifier_set_branch_target1(p.instructions.modifiers[i], successors[count - 1])


cdef int _finish(Isel *c) except -1 nogil:
    cdef size_t i
    cdef uint32_t count = c.s.constant_data.table.count
    cdef PendingPhi phi
    _finish_edges(c)
    for i in range(c.phis.size()):
        phi = c.phis[i]
        if c.p.instructions.opcode[phi.instruction] == op_p_linear_phi:
            _fill_linear(c, &phi)
        else:
            _fill_logical(c, &phi)
    _finish_order(c)
    _finish_lines(c)
    _finish_branches(c.p)
    if count:
        table_append_many(&c.p.constant_data.table, (count + 3) // 4 * 4)
        memcpy(c.p.constant_data.byte, c.s.constant_data.byte, count)
    return 0


cdef int _select(Isel *c) except -1 nogil:
    cdef uint32_t label
    c.mask = class_s2 if c.wave64 else class_s1
    c.value_temp.assign(c.s.instructions.table.count, 0)
    c.node_block.assign(c.s.nodes.table.count, no_block)
    c.node_ends.assign(c.s.nodes.table.count, 0)
    c.node_copies.assign(c.s.nodes.table.count, 0)
    c.flow.exec_empty_depth = 0xffff
    c.fp_mode = _float_mode(c.s)
    # Most instructions become one or two.
    c.selected.reserve(2 * c.s.order.table.count + some_instructions)
    c.label_block.reserve(c.s.nodes.table.count + some_blocks)
    c.edges.reserve(2 * c.s.nodes.table.count + some_blocks)
    c.parts.reserve(some_instructions)
    choose_classes(c)
    c.halved = 0
    ranges_begin(&c.ranges, c.s)
    _find_ends(c, c.s.nodes.first0[1])
    c.label_block.push_back(no_block)       # label 0: none
    label = label_new(c)
    bind_label(c, label, block_top_level)
    _start(c)
    _select_list(c, c.s.nodes.first0[1])
    marker(c, op_p_logical_end)
    mark(c, block_uniform)
    emit_raw(c, op_s_endpgm, 0, NULL, 0)
    return _finish(c)


cdef int _refuse(const ShaderData *s, const ProgramData *p) except -1 with gil:
    """Apart from its only caller: a function with objects of Python's among its variables takes the lock at every call."""
    if p.blocks.table.count:
        raise InputError("instruction selection writes into an empty program")
    if s.info.stage != stage_compute and s.info.stage != stage_kernel:
        from pyaco._core.ir.vocabulary import Stage
        raise UnsupportedError(f"instruction selection: shader stage {Stage.names().get(s.info.stage, s.info.stage)!r} (only compute)")
    if s.info.gfx_level < gfx6:
        raise UnsupportedError(f"instruction selection: gfx level {s.info.gfx_level // 10} (GFX6 and later are supported)")
    raise UnsupportedError(f"instruction selection: wave size {s.info.wave_size} on gfx level {s.info.gfx_level // 10}")


cdef int _run(ShaderData *s, ProgramData *p) except -1 nogil:
    cdef Isel c
    if p.blocks.table.count or (s.info.stage != stage_compute and s.info.stage != stage_kernel) or s.info.gfx_level < gfx6 \
            or (s.info.wave_size != 64 and (s.info.wave_size != 32 or s.info.gfx_level < 100)):
        _refuse(s, p)
    p.gfx_level = s.info.gfx_level
    p.wave_size = s.info.wave_size
    p.lane_mask = class_s2 if s.info.wave_size == 64 else class_s1
    p.workgroup_size = s.info.workgroup_size[0] * s.info.workgroup_size[1] * s.info.workgroup_size[2]
    p.address32_hi = s.info.address32_hi
    p.progress = progress_after_isel
    p.config.lds_bytes = s.info.shared_bytes
    p.config.scratch_bytes_per_lane = s.info.scratch_bytes
    p.config.uses_scratch = s.info.scratch_bytes != 0
    c.p = p
    c.s = s
    c.gfx = s.info.gfx_level
    c.wave64 = s.info.wave_size == 64
    c.block = c.last = c.scc = c.second = 0
    c.precise = c.no_unsigned_wrap = False
    c.scalar_floats = isa_opcode_number(c.gfx, op_s_add_f32, opcode_format[op_s_add_f32]) >= 0
    c.slow_fma = c.gfx < gfx9 and p.device.physical_vgprs and not p.device.has_fast_fma32
    c.emit_older = emit_older
    c.scratch = 0
    memset(&c.line, 0, sizeof(CurrentLine))
    memset(&c.flow, 0, sizeof(FlowState))
    _select(&c)
    p.config.float_mode = c.fp_mode & 0xff
    return 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef Translation *translation = <Translation *>ir
    _run(<ShaderData *>translation.source, <ProgramData *>translation.result)
    return 1


kernel = native_kernel(_kernel)


def run(Shader shader not None, Program program=None):
    """Select ACO IR for a shader.

    Parameters
    ----------
    shader : Shader
        NIR after all lowering; ``shader.info`` names gfx level and wave size.
    program : Program, optional
        An empty program with its device facts filled in; made when absent.

    Returns
    -------
    Program
        The same program, or the new one.
    """
    if program is None:
        program = Program()
    with nogil:
        _run(&shader.data, &program.data)
    program.facts = shader.facts.copy()
    return program
