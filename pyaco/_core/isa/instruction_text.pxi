# Text of one instruction, whichever.
#
# An instruction that the syntax cannot say (registers that do not exist, bits that no modifier names) sets ``Printer.has_no_syntax``.
# Syntax: "Syntax of AMDGPU Instruction Operands" and "Syntax of AMDGPU Instruction Modifiers" of the LLVM manual. Names come from
# ``text_tables.pxd``.
cdef enum:
    valu_one_dword = format_vop1 | format_vop2 | format_vopc


# --------------------------------------------------------------------------------------------------------------- dispatch
cdef void instruction(Printer *t, const Decoded *d) noexcept nogil:
    """Text of an instruction. Sets `has_no_syntax` where there is none that assemblers take; `gap` and `target` of a branch."""
    cdef uint32_t format = d.format
    t.has_no_syntax = False
    t.gap = NULL
    t.wide_null = (format & (valu_one_dword | format_vop3)) != 0
    t.any_register = False
    t.kept = NULL
    t.tail = NULL
    if t.operands != NULL:
        t.kept = t.operands.of_size[t.wide_null]
    if not scalar_reads_fit(d, t.level) or form_error(d, t.level, t.true16) != NULL or t.facts[d.opcode] & fact_absent \
            or (t.facts[d.opcode] & fact_wave32 and t.mask_dwords != 1):
        t.has_no_syntax = True
        return
    if format & format_vop3 and (opcode_flags[d.opcode] & opcode_flag_interpolation or opcode_format[d.opcode] == format_vintrp):
        vop3_interpolation(t, d)
    elif format & (valu_one_dword | format_vop3) and format & format_base_mask != format_vopd:
        vop(t, d)
    elif format & format_vop3p:
        vop3p(t, d)
    elif format == format_sopk:
        sopk(t, d)
    elif format == format_sopp:
        sopp(t, d)
    elif format_sop1 <= format <= format_sopc:
        salu(t, d)
    elif format == format_smem:
        smem(t, d)
    elif format == format_ds:
        ds(t, d)
    elif format == format_mubuf or format == format_mtbuf:
        buffer(t, d)
    elif format_flat <= format <= format_scratch:
        flat(t, d)
    elif format == format_mimg:
        if opcode_image[d.opcode] & image_flag_tensor:
            tensor(t, d)
        else:
            image(t, d)
    elif format == format_vopd:
        vopd(t, d)
    elif format == (format_vopd | format_vop3):
        vopd3(t, d)
    elif format == format_exp:
        export(t, d)
    elif format == format_vinterp_inreg:
        parameter_interpolation(t, d)
    elif format == format_ldsdir:
        ldsdir(t, d)
    elif format == format_vintrp:
        vintrp(t, d)
    else:
        t.has_no_syntax = True


cdef void put_words(Printer *t, const uint32_t *words, uint32_t count) noexcept nogil:
    """The words of an instruction, as a remark behind it."""
    put_text(t, b"  ; words")
    _word_list(t, words, count)


cdef void _data_words(Printer *t, const uint32_t *words, uint32_t count) noexcept nogil:
    put_text(t, b".long")
    _word_list(t, words, count)


cdef void _word_list(Printer *t, const uint32_t *words, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        separate(t, i)
        put_word(t, words[i])


cdef void raw_words(Printer *t, const Decoded *d, const uint32_t *words) noexcept nogil:
    """``.long``, with the instruction as a comment where it has text that assemblers do not take as these words."""
    cdef char *begin
    cdef OperandTables *operands = t.operands
    _data_words(t, words, d.dwords)
    if d.opcode == op_invalid:
        return
    begin = t.p
    put_text(t, b"  ; ")
    instruction(t, d)
    if t.has_no_syntax and t.level >= gfx12 and not t.true16:
        # halves of registers have names, but assemblers do not take them by default
        t.true16 = True
        t.operands = NULL
        t.p = begin + 4
        instruction(t, d)
        t.operands = operands
        t.true16 = False
        t.wants_halves = t.wants_halves or not t.has_no_syntax
    if t.has_no_syntax:
        t.p = begin
    elif t.gap != NULL:
        put_number(t, d.immediate)
