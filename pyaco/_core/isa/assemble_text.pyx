"""Assembly text in LLVM's syntax to machine code, in one pass over the source without Python.

``statement.pyx`` reads mnemonic, operands and modifiers; this module finds the opcode in the hash table of its gfx level,
fills ``Decoded`` and lets the encoder make the words. A vector instruction takes its shortest encoding unless its suffix
names one. Expressions whose symbols come later are kept as fixups, evaluated at the end. Syntax: "Syntax of AMDGPU
Instruction Operands" and "... Modifiers" of the LLVM manual.
"""
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport strtod
from libc.string cimport memcmp, memcpy, memset, strlen
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from isa_opcodes cimport *
from isa_tables cimport (can_use_input_modifiers, image_flag_bvh, image_flag_gather, image_flag_sampler, image_flag_store, image_flag_tensor,
                         is_atomic, isa_opcode_number, isa_variant, variant_e64,
                         opcode_definition_classes, opcode_definition_count, opcode_flag_interpolation, opcode_flag_literal,
                         opcode_flag_matrix, opcode_image,
                         opcode_flag_no_address, opcode_flag_tied, opcode_flag_two_offsets, opcode_flags, opcode_format,
                         opcode_mask_class, opcode_max_definitions, opcode_max_operands, opcode_number_wide, opcode_number_y,
                         opcode_operand_classes, opcode_operand_count)
from modifiers cimport *
from wait_tables cimport depctr_none
from pyaco._core.common.floats cimport float_bits, float_to_bits, half_overflows, single_overflows, to_bfloat
from pyaco._core.common.machine cimport *
from pyaco._core.common.waitcnt cimport depctr_get, depctr_set, waitcnt_limit, waitcnt_none, waitcnt_set
from pyaco._core.isa.decode cimport (adds_to_result, aligns_vectors, chooses_element_type, decoded_source_limit, exchanged_code,
                                     image_address_dwords, unaligned_result, wave_matrix_bytes, wide_literal_code)
from pyaco._core.isa.encode cimport (encode, encode_bad_bus, encode_error, exec_is_no_base, form_error, form_has_clamp, form_has_omod,
                                     scalar_reads_fit, takes_scale_offset)
from pyaco._core.isa.text_tables cimport *
from pyaco._core.isa.statement cimport *
from pyaco._core.isa.text_facts cimport *

cdef enum:
    literal_address = 255 * 4
    valu_one_dword = format_vop1 | format_vop2 | format_vopc

#: Facts by name, for whoever fills the table of facts.
FACTS = {
    "packed": fact_packed, "scalar_half": fact_scalar_half, "floating": fact_floating,
    "multiply_constant": fact_multiply_constant, "swaps": fact_swaps, "mixes": fact_mixes, "branch": fact_branch,
    "cmpx": fact_cmpx, "setreg": fact_setreg, "getreg": fact_getreg, "message": fact_message, "immediate": fact_immediate,
    "optional": fact_optional, "prefetch": fact_prefetch, "compare_swap": fact_compare_swap, "loads": fact_loads,
    "absent": fact_absent, "wave32": fact_wave32,
    "waits_with_register": fact_waits_with_register, "signed": fact_signed,
    "opsel_lanes": fact_opsel_lanes, "opsel_other": fact_opsel_other, "without_opsel_12": fact_without_opsel_12,
    "plain_dot": fact_plain_dot, "double_matrix": fact_double_matrix, "scope_alone": fact_scope_alone,
    "writes_byte": fact_writes_byte, "bfloat": fact_bfloat, "wave_matrix": fact_wave_matrix,
    "typed_matrix": fact_typed_matrix,
    "global_wave_sync": fact_global_wave_sync,
    "unpacked": fact_unpacked,
}
#: Directives by name.
DIRECTIVES = {
    ".byte": directive_byte, ".short": directive_short, ".hword": directive_short, ".2byte": directive_short,
    ".long": directive_long, ".int": directive_long, ".4byte": directive_long, ".quad": directive_quad,
    ".8byte": directive_quad, ".set": directive_set, ".equ": directive_set, ".equiv": directive_set, ".uleb128": directive_uleb,
    ".sleb128": directive_sleb, ".zero": directive_zero, ".skip": directive_zero,
    ".space": directive_zero, ".fill": directive_fill, ".p2align": directive_p2align, ".balign": directive_balign,
    ".p2alignl": directive_p2alignl,
    ".align": directive_balign, ".ascii": directive_ascii, ".asciz": directive_asciz, ".string": directive_asciz,
    ".float": directive_float, ".single": directive_float, ".double": directive_double,
    ".text": directive_text, ".data": directive_data, ".bss": directive_data, ".rodata": directive_rodata, ".section": directive_section,
    ".amdgpu_metadata": directive_metadata, ".amd_amdgpu_hsa_metadata": directive_metadata,
    ".amdgpu_pal_metadata": directive_metadata, ".amdhsa_kernel": directive_kernel,
}
DIRECTIVES |= dict.fromkeys(
    (".file", ".loc", ".addrsig", ".addrsig_sym"), directive_ignored)
DIRECTIVES |= dict.fromkeys(
    (".globl", ".global", ".weak", ".local", ".hidden", ".protected", ".internal", ".type", ".size", ".ident", ".amdgpu_lds", ".amdgcn_target",
     ".amdhsa_code_object_version"), directive_declaration)


include "assemble/constants.pxi"
include "assemble/operands.pxi"
include "assemble/scalar.pxi"
include "assemble/memory.pxi"
include "assemble/vector.pxi"
include "assemble/matrix.pxi"
include "assemble/image.pxi"
include "assemble/interpolation.pxi"
include "assemble/dispatch.pxi"


# ------------------------------------------------------------------------------------------------------------ relocations
cdef enum:
    # LLVM's "User Guide for AMDGPU Backend", "Relocation Records"
    relocation_abs64 = 3
    relocation_rel32 = 4
    relocation_rel64 = 5
    relocation_abs32 = 6
    relocation_rel32_low = 10
    relocation_rel32_high = 11
    specifier_count = 9

#: Relocation types by what stands behind a symbol.
cdef const char *specifiers[specifier_count]
cdef uint32_t specifier_types[specifier_count]
specifiers[:] = [b"@rel32@lo", b"@rel32@hi", b"@gotpcrel32@lo", b"@gotpcrel32@hi", b"@abs32@lo", b"@abs32@hi", b"@rel64", b"@abs64", b"@gotpcrel"]
specifier_types[:] = [relocation_rel32_low, relocation_rel32_high, 8, 9, 1, 2, relocation_rel64, relocation_abs64, 7]


cdef uint32_t specifier_of(const char *symbol, const char *end) noexcept nogil:
    """The relocation type that a symbol's specifier asks for, 0 if there is none."""
    cdef int i
    cdef size_t length
    for i in range(specifier_count):
        length = strlen(specifiers[i])
        if <size_t>(end - symbol) > length and memcmp(end - length, specifiers[i], length) == 0:
            return specifier_types[i]
    return 0


# ---------------------------------------------------------------------------------------------------------------- program
cdef int64_t escaped(Cursor *c) noexcept nogil:
    """The character that stands behind a backslash in quoted text: C's letters, or up to three octal digits."""
    cdef const char *letters = b"b\bf\fn\nr\rt\t\"\"\\\\''"
    cdef int64_t value = 0
    cdef uint32_t digits = 0
    while c'0' <= c.p[0] <= c'7' and digits < 3:
        value = 8 * value + (c.p[0] - c'0')
        c.p += 1
        digits += 1
    if digits:
        return value & 0xff
    while letters[0]:
        if letters[0] == c.p[0]:
            c.p += 1
            return letters[1]
        letters += 2
    fail_plain(c, c.p, b"no such escape in quoted text")
    return 0


cdef class Assembler:
    """Assembles one source for one gfx level."""

    def __init__(self, TextTables tables not None, uint32_t wave_size):
        self.tables = tables
        self.kernels = []
        self.later_values = []
        self.relocations = []
        self.section_words = {}
        self.declarations = []
        memset(&self.j, 0, sizeof(Job))
        self.j.facts = tables.facts
        self.j.short_formats = tables.short_formats
        self.j.unified = tables.unified
        self.j.c.names = &tables.names
        self.j.c.symbols = &self.symbols
        self.j.c.local_labels = &self.local_labels
        self.j.c.level = tables.level
        self.j.c.wave_dwords = wave_size >> 5
        self.section_names.push_back(b".text")

    def assemble(self, bytes source, bint linkable=False):
        """Assemble `source`. Returns None, or (offset of the error or -1, message)."""
        cdef Cursor *c = &self.j.c
        self.linkable = linkable
        self.source = source
        c.start = self.source
        c.p = c.start
        self.end = c.start + len(source)
        # text is rarely shorter than five times its code
        self.sections[0].reserve(len(source) // 5)
        with nogil:
            self.run()
            if not c.failed:
                self.resolve()
        _resolve_values(self)
        if c.failed:
            return (c.failed_at - c.start, (<bytes>c.message).decode(errors="replace"))
        return None

    def __getbuffer__(self, Py_buffer *view, int flags):
        """The bytes of ``.text``, as they are until the next source."""
        PyBuffer_FillInfo(view, self, self.sections[0].data(), <Py_ssize_t>self.sections[0].size(), True, flags)

    def code(self, str section=".text"):
        """Bytes of a section."""
        cdef size_t i
        for i in range(self.section_names.size()):
            if self.section_names[i] == section.encode():
                return PyBytes_FromStringAndSize(<const char *>self.sections[i].data(), <Py_ssize_t>self.sections[i].size())
        return b""

    def labels(self):
        """{name: (section, offset)} of every label, and of symbols that were set to one; the section of a number is empty."""
        return {
            entry.first.decode(): (self.section_names[entry.second.section].decode() if entry.second.section >= 0 else "", entry.second.value)
            for entry in self.symbols if entry.second.defined
        }

    cdef int run(self) except -1 nogil:
        cdef Job *j = &self.j
        cdef Cursor *c = &j.c
        cdef const char *begin
        cdef const char *end
        cdef int length
        while not c.failed:
            skip_blanks(c)
            while c.p[0] == c'\n':
                c.p += 1
                skip_blanks(c)
            if c.p[0] == 0:
                if c.p != self.end:
                    fail_plain(c, c.p, b"a zero byte")
                return 0
            if c.p[0] == c'#':
                # a comment, or a preprocessor's note of a line
                self.skip_line()
                continue
            begin = c.p
            end = symbol_end(begin)
            if end == begin:
                fail_plain(c, begin, b"an instruction, a label or a directive is expected")
                return 0
            c.p = end
            skip_blanks(c)
            if c.p[0] == c':' and c.p[1] != c':':
                c.p += 1
                if is_digit(begin[0]):
                    self.local_label(begin)
                else:
                    self.define(begin, end, self.here(), c.section, True)
                continue
            if c.p[0] == c'=' and c.p[1] != c'=':
                c.p += 1
                self.assign(begin, end)
            elif begin[0] == c'.':
                _directive(self, begin, end)
            else:
                c.p = end
                j.s.mnemonic = begin
                j.s.mnemonic_length = <uint32_t>(end - begin)
                c.here = self.here()
                length = instruction(j)
                if c.failed:
                    return 0
                self.emit(length)
            skip_blanks(c)
            if not at_line_end(c):
                fail_plain(c, c.p, b"the end of the line is expected")

    cdef int64_t here(self) noexcept nogil:
        return <int64_t>self.sections[self.j.c.section].size()

    cdef void emit(self, int length) noexcept nogil:
        """Append the words of an instruction, and remember what to fill in later."""
        cdef Job *j = &self.j
        cdef vector[uint8_t] *code = &self.sections[j.c.section]
        cdef Fixup later
        cdef size_t offset = code.size()
        code.insert(code.end(), <const uint8_t *>j.words, <const uint8_t *>(j.words + length))
        if j.branch_expression == NULL and j.literal_expression == NULL:
            return
        later.section = j.c.section
        later.origin = <int64_t>offset
        later.size = 4
        if j.branch_expression != NULL:
            later.kind = fixup_branch
            later.offset = <int64_t>offset
            later.expression = j.branch_expression
        else:
            later.kind = fixup_literal
            later.offset = <int64_t>offset + 4 * (length - 1)
            later.bits = j.literal_bits
            later.expression = j.literal_expression
        self.fixups.push_back(later)

    cdef void define(self, const char *begin, const char *end, int64_t value, int32_t section, bint is_label) noexcept nogil:
        cdef string name
        cdef Symbol *symbol
        name.assign(begin, <size_t>(end - begin))
        symbol = &self.symbols[name]
        if (symbol.defined or symbol.expression != NULL) and (is_label or symbol.is_label):
            fail(&self.j.c, begin, b"label % is defined twice", begin, end)
            return
        symbol.value = value
        symbol.section = section
        symbol.defined = True
        symbol.expression = NULL
        symbol.is_label = is_label
        if begin[0] == c'.' and not is_label and section == -1:
            if name == b".amdgcn.next_free_vgpr":
                self.j.c.next_vgpr = value
            elif name == b".amdgcn.next_free_sgpr":
                self.j.c.next_sgpr = value

    cdef void assign(self, const char *begin, const char *end) noexcept nogil:
        """``name = expression``; one whose value is not known yet is kept."""
        cdef Cursor *c = &self.j.c
        cdef const char *start
        cdef Value v
        cdef string name
        cdef Symbol *symbol
        c.here = self.here()
        skip_blanks(c)
        start = c.p
        v = expression(c)
        if c.failed:
            return
        self.define(begin, end, v.number, v.section, False)
        if v.section < -1:
            name.assign(begin, <size_t>(end - begin))
            symbol = &self.symbols[name]
            symbol.defined = False
            symbol.expression = start
            symbol.origin = c.here
            symbol.origin_section = c.section

    cdef void local_label(self, const char *begin) noexcept nogil:
        """``1:``, which may be there many times."""
        cdef Cursor *c = &self.j.c
        cdef const char *end
        cdef int64_t number = label_number(begin, &end)
        if symbol_end(end) != end:
            fail(c, begin, b"% is no name of a label", begin, symbol_end(end))
            return
        self.local_labels[local_key(number, c.section)].push_back(self.here())

    cdef void skip_line(self) noexcept nogil:
        cdef Cursor *c = &self.j.c
        while c.p[0] and c.p[0] != c'\n':
            c.p += 1

    cdef void put(self, int64_t value, uint32_t size) noexcept nogil:
        cdef vector[uint8_t] *code = &self.sections[self.j.c.section]
        cdef uint32_t i
        for i in range(size):
            code.push_back(<uint8_t>(<uint64_t>value >> (8 * i)))

    def number(self, str text, int section, int64_t here):
        """The value of an expression once the source is assembled, None if it has none that is known."""
        cdef Cursor *c = &self.j.c
        cdef bytes source = text.encode()
        cdef Value v
        c.p = source
        c.section = section
        c.here = here
        v = expression(c)
        known = not c.failed and v.section == -1 and c.p[0] == 0
        c.failed = False
        return v.number if known else None

    def section_contents(self):
        """{name: bytes} of every section, ``.text`` first."""
        return {name.decode(): self.code(name.decode()) for name in self.section_names}

    cdef int resolve(self) except -1 nogil:
        cdef size_t i
        for i in range(self.fixups.size()):
            _resolve_one(self, self.fixups[i])
            if self.j.c.failed:
                return 0


include "assemble/directives.pxi"
include "assemble/fixups.pxi"
