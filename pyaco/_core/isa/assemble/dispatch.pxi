# From a mnemonic to its opcode, and from a statement to the words of an instruction.
cdef bint _takes_suffix(const Job *j, uint16_t op, uint32_t suffix) noexcept nogil:
    """Whether instructions of this opcode's format have an encoding of that name; which a vector opcode has, ``vop`` sees."""
    cdef uint32_t format = opcode_format[op]
    if format & format_vop3p:
        return suffix == suffix_e64 or (suffix == suffix_e64_dpp and not opcode_flags[op] & opcode_flag_matrix
                                        and not j.facts[op] & fact_wave_matrix)
    if format == format_vintrp:
        return suffix == suffix_e32 or suffix == suffix_e64
    if opcode_flags[op] & opcode_flag_interpolation:
        return suffix == suffix_e64
    if format & (valu_one_dword | format_vop3):
        return True
    # what has one encoding is taken for a short one, but for halves of dual instructions and what vector instructions have as VINTERP
    return suffix == suffix_e32 and format & format_base_mask != format_vopd and format != format_vinterp_inreg


cdef int32_t _named(Job *j, int32_t found) noexcept nogil:
    """The opcode that a name has been found to be of; the job gets what the name says besides."""
    j.signed_alias = found & alias_signed != 0
    if found & alias_long and j.suffix == 0:
        j.suffix = suffix_e64
    return found & 0xffff


cdef int32_t find_opcode(Job *j) noexcept nogil:
    """Opcode of the mnemonic; its suffix goes to the job."""
    cdef Cursor *c = &j.c
    cdef const char *begin = j.s.mnemonic
    cdef uint32_t length = j.s.mnemonic_length
    cdef uint32_t cut = 0
    cdef int32_t found = -1
    cdef bint suffixed = length > 5 and begin[length - 4] == c'_'
    j.suffix = 0
    if not (suffixed and memcmp(begin + length - 3, b"e32", 3) == 0):
        # names of some opcodes end in _e64
        found = find_name(c.names, domain_mnemonic, begin, length)
        if found >= 0:
            if suffixed and memcmp(begin + length - 3, b"e64", 3) == 0:
                j.suffix = suffix_e64
            return _named(j, found)
    if suffixed and memcmp(begin + length - 3, b"dpp", 3) == 0:
        cut = 4
        j.suffix = suffix_dpp
        if length > 9 and memcmp(begin + length - 8, b"_e64", 4) == 0:
            cut = 8
            j.suffix = suffix_e64_dpp
    elif suffixed and memcmp(begin + length - 3, b"e32", 3) == 0:
        cut = 4
        j.suffix = suffix_e32
    elif suffixed and memcmp(begin + length - 3, b"e64", 3) == 0:
        cut = 4
        j.suffix = suffix_e64
    elif length > 6 and memcmp(begin + length - 5, b"_sdwa", 5) == 0:
        cut = 5
        j.suffix = suffix_sdwa
    if cut:
        found = find_name(c.names, domain_mnemonic, begin, length - cut)
        if found >= 0 and (not _takes_suffix(j, <uint16_t>(found & 0xffff), j.suffix) or (found & alias_long and j.suffix != suffix_e64)):
            found = -1
    if found < 0:
        fail(c, begin, b"unknown instruction %", begin, begin + length)
        return found
    return _named(j, found)


cdef int instruction(Job *j) noexcept nogil:
    """Words of the statement whose mnemonic the cursor is behind; 0 with an error."""
    cdef int32_t found = find_opcode(j)
    cdef uint16_t op
    if found < 0:
        return 0
    op = <uint16_t>(found & 0xffff)
    skip_blanks(&j.c)
    if opcode_format[op] == format_sopp and is_call_list(j, op):
        clear_instruction(j, op, format_sopp)
        call_list(j)
        return 0 if j.c.failed else encode_job(j)
    parse_statement(&j.c, &j.s)
    if j.c.failed:
        return 0
    if j.c.p[0] == c':':
        parse_second(j)
        return 0 if j.c.failed else vopd(j, op)
    return statement_words(j, op)


cdef int statement_words(Job *j, uint16_t op) noexcept nogil:
    """Words of the job's statement, an instruction that is not dual; 0 with an error."""
    cdef uint32_t format = opcode_format[op]
    if j.facts[op] & fact_wave32 and j.c.wave_dwords != 1:
        fail(&j.c, j.s.mnemonic, b"% needs waves of 32 lanes", j.s.mnemonic, j.s.mnemonic + j.s.mnemonic_length)
        return 0
    if format & (valu_one_dword | format_vop3) and not opcode_flags[op] & opcode_flag_interpolation:
        return vop(j, op)
    clear_instruction(j, op, format)
    if opcode_flags[op] & opcode_flag_interpolation or (format == format_vintrp and needs_vop3(j)):
        j.d.format |= format_vop3
        vop3_interpolation(j)
    elif format & format_vop3p:
        vop3p(j)
    elif format == format_sopk:
        sopk(j)
    elif format == format_sopp:
        sopp(j)
    elif format_sop1 <= format <= format_sopc:
        salu(j)
    elif format == format_smem:
        smem(j)
    elif format == format_ds:
        ds(j)
    elif format == format_mubuf or format == format_mtbuf:
        buffer(j)
    elif format_flat <= format <= format_scratch:
        flat(j)
    elif format == format_mimg:
        if opcode_image[op] & image_flag_tensor:
            tensor(j)
        else:
            image(j)
    elif format == format_exp:
        export(j)
    elif format == format_ldsdir:
        ldsdir(j)
    elif format == format_vintrp:
        vintrp(j)
    elif format == format_vinterp_inreg:
        vinterp(j)
    else:
        fail(&j.c, j.s.mnemonic, b"%: this instruction stands in pairs only", j.s.mnemonic, j.s.mnemonic + j.s.mnemonic_length)
    if not j.c.failed:
        finish(j)
    return 0 if j.c.failed else encode_job(j)
