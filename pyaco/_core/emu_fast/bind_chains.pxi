# Chains of steps whose results stay in the host's registers (chain_steps.h); part of block.pyx.
#
# Instructions of a shader are ordered for hardware that has several in flight, so that a result is rarely what the next one reads. Within a run of
# steps that only read and write rows of registers, a step is moved up to right behind the one whose result it takes, where nothing in between writes
# what it reads, or reads or writes what it writes. A result that is replaced before anything else reads it is not stored. One that such steps alone
# read until it is replaced gets a row of the pool: its register does not stand in the way of others then, and there are no idle lanes to be kept.

cdef extern from "chain_steps.h" nogil:
    enum:
        chain_none, chain_add, chain_subtract, chain_subtract_from, chain_multiply, chain_multiply_add, chain_multiply_last_add, chain_root
        chain_reciprocal, chain_floor, chain_ceiling, chain_truncate, chain_round, chain_minimum, chain_maximum, chain_minimum3, chain_maximum3
        chain_change, chain_move, chain_select, chain_single_of_unsigned, chain_single_of_signed, chain_not, chain_and, chain_or, chain_xor
        chain_and_or, chain_or3, chain_xor3, chain_bit_select, chain_add_words, chain_subtract_words, chain_subtract_words_from, chain_add3
        chain_multiply_words, chain_minimum_unsigned, chain_maximum_unsigned, chain_minimum_signed, chain_maximum_signed, chain_shift_left
        chain_shift_right, chain_shift_right_signed, chain_shift_left_add, chain_shift_left_or, chain_add_shift_left, chain_xor_add
        chain_align_bits, chain_square, chain_square_add, chain_scale_add_first, chain_scale_add, chain_shift_by_add, chain_add_magnitude
        chain_multiply_subtract, chain_subtract_product, chain_extract_bits, chain_multiply24, chain_multiply24_add
        chain_compare, chain_compare_signed, chain_compare_unsigned, chain_forms
        chain_stores, chain_wave32, chain_flushes, chain_uniform

cdef enum:
    chain_window = 32                 # steps among which the next of a chain is looked for
    chain_reach = 64                  # steps within which a result must be replaced not to be stored
    no_row = 0xffffffff

cdef uint8_t chain_operations[<int>op_count]
memset(chain_operations, 0, sizeof(chain_operations))
for _kind, _opcodes in (
    (chain_add, (op_v_add_f32, op_v_dual_add_f32)), (chain_subtract, (op_v_sub_f32, op_v_dual_sub_f32)),
    (chain_subtract_from, (op_v_subrev_f32, op_v_dual_subrev_f32)), (chain_multiply, (op_v_mul_f32, op_v_dual_mul_f32)),
    (chain_multiply_add, (op_v_fma_f32, op_v_dual_fma_f32, op_v_fmac_f32, op_v_dual_fmac_f32, op_v_fmaak_f32, op_v_dual_fmaak_f32)),
    (chain_multiply_last_add, (op_v_fmamk_f32, op_v_dual_fmamk_f32)), (chain_minimum, (op_v_min_f32, op_v_dual_min_f32)),
    (chain_maximum, (op_v_max_f32, op_v_dual_max_f32)), (chain_minimum3, (op_v_min3_f32,)), (chain_maximum3, (op_v_max3_f32,)),
    (chain_root, (op_v_sqrt_f32,)), (chain_reciprocal, (op_v_rcp_f32,)), (chain_floor, (op_v_floor_f32,)), (chain_ceiling, (op_v_ceil_f32,)),
    (chain_truncate, (op_v_trunc_f32,)), (chain_round, (op_v_rndne_f32,)), (chain_move, (op_v_mov_b32, op_v_dual_mov_b32)),
    (chain_select, (op_v_cndmask_b32, op_v_dual_cndmask_b32)), (chain_single_of_unsigned, (op_v_cvt_f32_u32,)),
    (chain_single_of_signed, (op_v_cvt_f32_i32,)), (chain_not, (op_v_not_b32,)), (chain_and, (op_v_and_b32, op_v_dual_and_b32)),
    (chain_or, (op_v_or_b32,)), (chain_xor, (op_v_xor_b32,)), (chain_and_or, (op_v_and_or_b32,)), (chain_or3, (op_v_or3_b32,)),
    (chain_xor3, (op_v_xor3_b32,)), (chain_bit_select, (op_v_bfi_b32,)), (chain_add_words, (op_v_add_u32, op_v_dual_add_nc_u32)),
    (chain_subtract_words, (op_v_sub_u32, op_v_dual_sub_nc_u32)), (chain_subtract_words_from, (op_v_subrev_u32,)), (chain_add3, (op_v_add3_u32,)),
    (chain_multiply_words, (op_v_mul_lo_u32, op_v_mul_lo_i32)), (chain_minimum_unsigned, (op_v_min_u32,)), (chain_maximum_unsigned, (op_v_max_u32,)),
    (chain_minimum_signed, (op_v_min_i32, op_v_dual_min_i32)), (chain_maximum_signed, (op_v_max_i32, op_v_dual_max_i32)),
    (chain_shift_left, (op_v_lshlrev_b32, op_v_dual_lshlrev_b32)), (chain_shift_right, (op_v_lshrrev_b32, op_v_dual_lshrrev_b32)),
    (chain_shift_right_signed, (op_v_ashrrev_i32, op_v_dual_ashrrev_i32)), (chain_shift_left_add, (op_v_lshl_add_u32,)),
    (chain_shift_left_or, (op_v_lshl_or_b32,)), (chain_add_shift_left, (op_v_add_lshl_u32,)), (chain_xor_add, (op_v_xad_u32,)),
    (chain_align_bits, (op_v_alignbit_b32,)), (chain_extract_bits, (op_v_bfe_u32,)), (chain_multiply24, (op_v_mul_u32_u24,)),
    (chain_multiply24_add, (op_v_mad_u32_u24,)),
    # and the host's predicates of comparisons
    (chain_compare + 0, (op_v_cmp_eq_f32, op_v_cmpx_eq_f32)), (chain_compare + 17, (op_v_cmp_lt_f32, op_v_cmpx_lt_f32)),
    (chain_compare + 18, (op_v_cmp_le_f32, op_v_cmpx_le_f32)), (chain_compare + 3, (op_v_cmp_u_f32, op_v_cmpx_u_f32)),
    (chain_compare + 4, (op_v_cmp_neq_f32, op_v_cmpx_neq_f32)), (chain_compare + 21, (op_v_cmp_nlt_f32, op_v_cmpx_nlt_f32)),
    (chain_compare + 22, (op_v_cmp_nle_f32, op_v_cmpx_nle_f32)), (chain_compare + 7, (op_v_cmp_o_f32, op_v_cmpx_o_f32)),
    (chain_compare + 8, (op_v_cmp_nlg_f32, op_v_cmpx_nlg_f32)), (chain_compare + 25, (op_v_cmp_nge_f32, op_v_cmpx_nge_f32)),
    (chain_compare + 26, (op_v_cmp_ngt_f32, op_v_cmpx_ngt_f32)), (chain_compare + 12, (op_v_cmp_lg_f32, op_v_cmpx_lg_f32)),
    (chain_compare + 29, (op_v_cmp_ge_f32, op_v_cmpx_ge_f32)), (chain_compare + 30, (op_v_cmp_gt_f32, op_v_cmpx_gt_f32)),
    (chain_compare_signed + 0, (op_v_cmp_eq_i32, op_v_cmpx_eq_i32)), (chain_compare_signed + 1, (op_v_cmp_lt_i32, op_v_cmpx_lt_i32)),
    (chain_compare_signed + 2, (op_v_cmp_le_i32, op_v_cmpx_le_i32)), (chain_compare_signed + 4, (op_v_cmp_lg_i32, op_v_cmpx_lg_i32)),
    (chain_compare_signed + 5, (op_v_cmp_ge_i32, op_v_cmpx_ge_i32)), (chain_compare_signed + 6, (op_v_cmp_gt_i32, op_v_cmpx_gt_i32)),
    (chain_compare_unsigned + 0, (op_v_cmp_eq_u32, op_v_cmpx_eq_u32)), (chain_compare_unsigned + 1, (op_v_cmp_lt_u32, op_v_cmpx_lt_u32)),
    (chain_compare_unsigned + 2, (op_v_cmp_le_u32, op_v_cmpx_le_u32)), (chain_compare_unsigned + 4, (op_v_cmp_lg_u32, op_v_cmpx_lg_u32)),
    (chain_compare_unsigned + 5, (op_v_cmp_ge_u32, op_v_cmpx_ge_u32)), (chain_compare_unsigned + 6, (op_v_cmp_gt_u32, op_v_cmpx_gt_u32)),
):
    for _opcode in _opcodes:
        chain_operations[<int>_opcode] = <uint8_t>_kind


cdef uint8_t _chain_of(const Builder *builder, uint32_t opcode) noexcept nogil:
    """The kind of chained step of an operation, if MODE is such that it would run."""
    cdef uint8_t kind = chain_operations[opcode]
    cdef uint32_t mode = builder.blocks.mode
    if <uint8_t>chain_add <= kind <= <uint8_t>chain_maximum3 and mode & (mode_keep_in32 | mode_keep_out32):
        return <uint8_t>chain_none
    if <uint8_t>chain_minimum <= kind <= <uint8_t>chain_maximum3 and mode & mode_ieee:
        return <uint8_t>chain_none
    return kind


cdef void _describe_source_step(Builder *builder, Draft *made) noexcept nogil:
    """Note what a step that makes a source reads, for `_bind_chains`."""
    cdef const RowSteps *rows = builder.blocks.kernels.rows
    cdef const Change *change = &made.rest.change
    made.rows = made.hot.function != rows.select
    made.takes_sgpr = made.hot.function == rows.broadcast
    made.row_slots = 0 if made.takes_sgpr else 1
    if made.hot.function == rows.change and change.shift == 0 and change.mask == all_bits and change.sign == 0:
        made.chain = <uint8_t>chain_change


cdef void _describe_step(const Builder *builder, Draft *step, uint32_t opcode) noexcept nogil:
    """The same of the step of a vector operation."""
    cdef const LaneOperation *operation = step.rest.operation
    cdef uint32_t slot
    step.makes_mask = operation.result_type[0] == type_mask
    step.rows = (operation.result_count == 1 and not is_wide(operation.result_type[0]) and not step.hot.post_steps
                 and (step.hot.mask_destination + 1 < sgpr_null or step.hot.mask_destination == sgpr_exec or not step.makes_mask))
    for slot in range(operation.source_count):
        if operation.source_type[slot] & ~type_old == type_mask:
            step.takes_mask = True
        elif is_wide(operation.source_type[slot]):
            step.rows = False
        else:
            step.row_slots |= 1 << slot
    if step.rows and not step.hot.clamp and not step.rest.omod:
        step.chain = _chain_of(builder, opcode)
    step.takes_sgpr = step.chain == <uint8_t>chain_none     # the reference engine's function may be called, which reads the instruction's own sources


cdef uint8_t _kind_with_sign(uint8_t kind, uint32_t slot, const Change *change) noexcept nogil:
    """The kind of chained step that takes a source's magnitude or negative itself; `chain_none`: there is none."""
    if kind == <uint8_t>chain_add and slot == 1 and change.keep == <uint32_t>~sign_bit and change.flip == 0:
        return <uint8_t>chain_add_magnitude
    if kind == <uint8_t>chain_multiply_add and change.keep == all_bits and change.flip == sign_bit:
        return <uint8_t>chain_multiply_subtract if slot == 2 else <uint8_t>chain_subtract_product
    return <uint8_t>chain_none


cdef uint32_t _source_made_by(const Draft *draft, const Draft *made) noexcept nogil:
    """The slot of the one source of a step that the step before has changed; `no_row`: it is not so."""
    cdef uint32_t row = _result_row(made)
    cdef uint32_t taken = _taken_slots(made, draft)
    if made.chain != <uint8_t>chain_change or not row & 1 or row >> 1 >= <uint32_t>result_row or taken not in (1, 2, 4):
        return <uint32_t>no_row
    return taken >> 1


cdef void _fold_signs(vector[Draft] *drafts) noexcept nogil:
    """Leave out steps that change signs where the next one does it itself; its plain form finds what to change in `rest.change`."""
    cdef vector[Draft] folded
    cdef Draft *draft
    cdef Draft *made
    cdef size_t index
    cdef uint32_t slot
    cdef uint8_t kind
    for index in range(drafts.size()):
        folded.push_back(drafts[0][index])
        if folded.size() < 2:
            continue
        draft = &folded[folded.size() - 1]
        made = &folded[folded.size() - 2]
        slot = _source_made_by(draft, made)
        kind = _kind_with_sign(draft.chain, slot, &made.rest.change) if slot != <uint32_t>no_row else <uint8_t>chain_none
        if kind == <uint8_t>chain_none:
            continue
        draft.chain = kind
        draft.hot.base[slot] = made.hot.base[0]
        draft.hot.offset[slot] = made.hot.offset[0]
        draft.hot.immediate = <uint32_t>changed_row * row_bytes
        draft.hot.allocation = slot
        draft.rest.change = made.rest.change
        made[0] = draft[0]
        folded.pop_back()
    drafts.swap(folded)


cdef inline uint32_t _row_of(uint8_t base, uint32_t offset) noexcept nogil:
    """A number for a row of registers or of the pool."""
    return (offset // row_bytes) << 1 | (1 if base == base_pool else 0)


cdef inline uint32_t _result_row(const Draft *draft) noexcept nogil:
    """The row that a step writes, or `no_row`."""
    return no_row if draft.makes_mask else _row_of(draft.hot.destination_base, draft.hot.destination)


cdef inline bint _takes_row(const Draft *draft, uint32_t slot, uint32_t row) noexcept nogil:
    return (draft.row_slots >> slot) & 1 and _row_of(draft.hot.base[slot], draft.hot.offset[slot]) == row


cdef bint _reads_row(const Draft *draft, uint32_t row) noexcept nogil:
    cdef const Instruction *instruction = draft.hot.instruction
    cdef uint32_t slot
    for slot in range(4):
        if _takes_row(draft, slot, row):
            return True
    if draft.chain or row & 1:
        return False
    for slot in range(instruction.decoded.source_count):    # the reference engine's function may read these
        if instruction.source[slot].kind == operand_vgpr and instruction.source[slot].index == row >> 1:
            return True
    return False


cdef bint _must_follow(const Draft *draft, const Draft *earlier) noexcept nogil:
    """Whether a step of rows cannot come before one that stands before it."""
    cdef uint32_t written = _result_row(earlier)
    cdef uint32_t own = _result_row(draft)
    if (own != no_row and (own == written or _reads_row(earlier, own))) or (written != no_row and _reads_row(draft, written)):
        return True
    if draft.makes_mask:
        return earlier.makes_mask or earlier.takes_mask or earlier.takes_sgpr
    return draft.takes_mask and earlier.makes_mask


cdef bint _links(const Draft *earlier, const Draft *draft) noexcept nogil:
    """Whether the one may take its source from the other, right behind it."""
    cdef uint32_t slot
    cdef uint32_t row = _result_row(earlier)
    if not earlier.chain or not draft.chain or row == no_row:
        return False
    for slot in range(3):
        if _takes_row(draft, slot, row):
            return True
    return False


cdef size_t _replacement(const vector[Draft] *drafts, size_t maker, size_t *last_reader) noexcept nogil:
    """The step of the run that replaces the result of one, if only chained steps read it before; else 0."""
    cdef uint32_t row = _result_row(&drafts[0][maker])
    cdef size_t index
    cdef const Draft *draft
    last_reader[0] = maker
    for index in range(maker + 1, min(drafts.size(), maker + <size_t>chain_reach)):
        draft = &drafts[0][index]
        if draft.scalar:
            continue
        if not draft.rows:
            return 0
        if _reads_row(draft, row):
            if not draft.chain:
                return 0
            last_reader[0] = index
        if _result_row(draft) == row:
            return index
    return 0


cdef void _rename_results(vector[Draft] *drafts) noexcept nogil:
    cdef size_t busy_until[renamed_rows]
    cdef uint32_t number = 0
    cdef uint32_t slot, row
    cdef size_t maker, index
    cdef size_t last_reader = 0
    memset(busy_until, 0, sizeof(busy_until))
    for maker in range(drafts.size()):
        row = _result_row(&drafts[0][maker])
        if not drafts[0][maker].chain or row == no_row or row & 1 or busy_until[number] > maker or not _replacement(drafts, maker, &last_reader):
            continue
        for index in range(maker + 1, last_reader + 1):
            for slot in range(4):
                if _takes_row(&drafts[0][index], slot, row):
                    drafts[0][index].hot.base[slot] = base_pool
                    drafts[0][index].hot.offset[slot] = (<uint32_t>renamed_row + number) * row_bytes
        drafts[0][maker].hot.destination_base = base_pool
        drafts[0][maker].hot.destination = (<uint32_t>renamed_row + number) * row_bytes
        busy_until[number] = last_reader + 1
        number = (number + 1) % <uint32_t>renamed_rows


cdef size_t _next_of_chain(const vector[Draft] *drafts, const vector[uint8_t] *placed, size_t current, size_t begin, size_t end) noexcept nogil:
    """The step that is to come right behind `current`; `end`: none."""
    cdef size_t candidate, index
    for candidate in range(begin, min(end, begin + <size_t>chain_window)):
        if placed[0][candidate] or not _links(&drafts[0][current], &drafts[0][candidate]):
            continue
        for index in range(begin, candidate):
            if not placed[0][index] and _must_follow(&drafts[0][candidate], &drafts[0][index]):
                break
        else:
            return candidate
    return end


cdef void _order_run(vector[Draft] *drafts, size_t begin, size_t end, vector[Draft] *ordered) noexcept nogil:
    """Order a run of steps of rows, each of which does nothing else."""
    cdef vector[uint8_t] placed
    cdef size_t current
    placed.resize(end, 0)
    while begin < end:
        current = begin
        while current < end:
            ordered.push_back(drafts[0][current])
            placed[current] = 1
            while begin < end and placed[begin]:
                begin += 1
            current = _next_of_chain(drafts, &placed, current, begin, end)


cdef void _lift_scalars(vector[Draft] *drafts) noexcept nogil:
    """Put scalar steps before the steps of rows that stand in front of them, but for those that have to do with SGPRs."""
    cdef vector[Draft] lifted
    cdef vector[Draft] waiting
    cdef size_t index, other
    cdef Draft *draft
    for index in range(drafts.size()):
        draft = &drafts[0][index]
        if draft.rows and not (draft.takes_sgpr or draft.takes_mask or draft.makes_mask):
            waiting.push_back(draft[0])
            continue
        if not draft.scalar or draft.sets_exec:
            for other in range(waiting.size()):
                lifted.push_back(waiting[other])
            waiting.clear()
        lifted.push_back(draft[0])
    for other in range(waiting.size()):
        lifted.push_back(waiting[other])
    drafts.swap(lifted)


cdef bint _is_replaced(const vector[Draft] *drafts, size_t maker) noexcept nogil:
    """Whether the result of a step is read by none but the next one, right behind it.

    Scratch rows are read for the same instruction alone, rows for renamed results in the same run.
    """
    cdef uint32_t row = _result_row(&drafts[0][maker])
    cdef bint scratch = row & 1 and (row >> 1 <= <uint32_t>result_row or <uint32_t>renamed_row <= row >> 1 < <uint32_t>first_constant)
    cdef size_t index
    cdef const Draft *draft
    for index in range(maker + 1, min(drafts.size(), maker + <size_t>chain_reach)):
        draft = &drafts[0][index]
        if draft.rows:
            if index > maker + 1 and _reads_row(draft, row):
                return False
            if _result_row(draft) == row:
                return True
        elif not draft.scalar:
            return scratch and draft.hot.instruction != drafts[0][maker].hot.instruction
    return scratch and drafts.size() <= maker + <size_t>chain_reach


cdef bint _flushes_sources(const Draft *draft, uint32_t taken) noexcept nogil:
    """Whether a step takes denormals for zeros in sources that are handed on. Signs are changed for one instruction, which may do so."""
    cdef const LaneOperation *operation = draft.rest.operation
    cdef uint32_t slot
    if operation == NULL:
        return False                                        # the copy behind a dual instruction
    for slot in range(operation.source_count):
        if (taken >> slot & 1 or draft.chain == <uint8_t>chain_change) and operation.source_type[slot] & ~type_old != type_f32:
            return False
    return True


cdef uint32_t _taken_slots(const Draft *maker, const Draft *draft) noexcept nogil:
    cdef uint32_t row = _result_row(maker)
    cdef uint32_t taken = 0
    cdef uint32_t slot
    for slot in range(3):
        taken |= <uint32_t>_takes_row(draft, slot, row) << slot
    return taken


cdef bint _is_uniform(const Draft *draft, uint32_t slot) noexcept nogil:
    """Whether all lanes of a source's row are the same: it holds a constant, or an SGPR that the block has broadcast."""
    cdef uint32_t row = draft.hot.offset[slot] // row_bytes
    return (draft.row_slots >> slot & 1 and draft.hot.base[slot] == base_pool
            and (row >= <uint32_t>first_constant or <uint32_t>kept_row <= row < <uint32_t>kept_row + <uint32_t>kept_rows))


cdef uint8_t _kind_by_factors(const Draft *draft, uint32_t taken) noexcept nogil:
    """The kind of chained step that loads less: of a square the row once, of a factor, or a shift, that all lanes share one lane."""
    if draft.hot.base[0] == draft.hot.base[1] and draft.hot.offset[0] == draft.hot.offset[1]:
        if draft.chain == <uint8_t>chain_multiply:
            return <uint8_t>chain_square
        if draft.chain == <uint8_t>chain_multiply_add:
            return <uint8_t>chain_square_add
    if draft.chain == <uint8_t>chain_multiply_add:
        if not taken & 1 and _is_uniform(draft, 0):
            return <uint8_t>chain_scale_add_first
        if not taken & 2 and _is_uniform(draft, 1):
            return <uint8_t>chain_scale_add
    if draft.chain == <uint8_t>chain_shift_left_add and not taken & 2 and _is_uniform(draft, 1):
        return <uint8_t>chain_shift_by_add
    return draft.chain


cdef void _bind_chains(Builder *builder) noexcept nogil:
    """Order a block's steps, and choose forms for those that hand their results on."""
    cdef const StepFunction *forms = builder.blocks.kernels.chains
    cdef vector[Draft] ordered
    cdef vector[Draft] *drafts = builder.steps
    cdef Draft *draft
    cdef uint32_t taken, form, slot
    cdef uint32_t size = chain_wave32 if builder.blocks.machine.wave_size == 32 else 0
    cdef size_t index = 0
    cdef size_t begin
    cdef bint hands = False
    if forms == NULL:
        return
    _fold_signs(drafts)
    _lift_scalars(drafts)
    _rename_results(drafts)
    while index < drafts.size():
        begin = index
        while index < drafts.size() and drafts[0][index].rows:
            index += 1
        _order_run(drafts, begin, index, &ordered)
        if index < drafts.size():
            ordered.push_back(drafts[0][index])
            index += 1
    for index in range(ordered.size()):
        draft = &ordered[index]
        taken = _taken_slots(&ordered[index - 1], draft) if hands else 0
        hands = index + 1 < ordered.size() and _links(draft, &ordered[index + 1])
        if not draft.chain:
            continue
        form = taken | size
        if not draft.makes_mask and not (hands and _is_replaced(&ordered, index)):
            form |= chain_stores
            draft.hot.wide_address = True                   # see `chain_is_stored`
        if hands and not _flushes_sources(&ordered[index + 1], _taken_slots(draft, &ordered[index + 1])):
            form |= chain_flushes
        draft.chain = _kind_by_factors(draft, taken)
        if not draft.makes_mask and draft.rest.operation != NULL:
            slot = 2 if draft.rest.operation.source_count > 2 else 0
            if not taken >> slot & 1 and _is_uniform(draft, slot):
                form |= chain_uniform
        draft.hands_exec = draft.makes_mask and draft.hot.mask_destination == sgpr_exec
        draft.rest.plain = draft.hot.function
        draft.rest.chain_form = draft.chain * <uint32_t>chain_forms + form
        draft.hot.function = forms[draft.rest.chain_form]
    drafts.swap(ordered)
