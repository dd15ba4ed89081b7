"""Text of machine code in LLVM's assembly syntax, written into one buffer without Python.

Every line that this makes assembles to an instruction that does the same. Where bits that mean nothing are set, which text has no way to
write (compilers leave 0x80 in fields of sources that an opcode does not have), a remark behind the instruction has the words. What
the syntax cannot say at all (registers that do not exist, modifiers that the opcode does not take) is ``.long``, with text as a comment where
there is some; so are, if the caller asks for lines that assemble to the same words, instructions with such bits.

The slow path to a line is to decode, to print and to encode again. Code has few forms of instructions, though, and one that occurs
often gets a template: the bits of its words that all lines of the form share, the characters that they share, and between these the
positions of the values, each of which is some bits of the words. A template is made of a line that the slow path has printed, whose printer noted the
values (``instruction_text.pxd``); which bits are theirs is seen by decoding the words with each bit changed. It prints values of the kinds
for which it was seen to give the same line as the slow path, and leaves all others to that.

One pass prints; where a branch's target belongs it leaves a gap. When all targets are known, the text is moved apart,
from its end on, and the labels put in. It is written into the memory of the str that the caller gets, or into huge pages where bytes are wanted.
"""
cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memmove, memset
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from isa_opcodes cimport *
from isa_tables cimport (can_use_input_modifiers, image_flag_bvh, image_flag_bias, image_flag_compare, image_flag_gradients, image_flag_offset,
                         image_flag_tensor,
                         implicit_exec, is_atomic, opcode_definition_count, opcode_flag_interpolation, opcode_flag_literal, opcode_flag_matrix,
                         opcode_image, opcode_flag_neg0, opcode_flag_neg1, opcode_flag_neg2, opcode_flag_no_address, opcode_flag_one_form,
                         opcode_flag_opsel, opcode_flag_tied, opcode_flag_two_offsets, opcode_flags, opcode_format, opcode_implicit_definitions,
                         opcode_operand_count)
from modifiers cimport *
from wait_tables cimport depctr_none, waitcnt_counters
from pyaco._core.common.machine cimport *
from pyaco._core.common.waitcnt cimport depctr_get, depctr_mask, waitcnt_get, waitcnt_limit, waitcnt_set
from pyaco._core.isa.decode cimport (Decoded, aligns_vectors, chooses_element_type, decode, exchanged_code, synchronises_globally,
                                     unaligned_result, wide_literal_code)
from pyaco._core.isa.encode cimport (encode, encode_limit, exec_is_no_base, form_error, keeps_words, scalar_reads_fit, takes_any_source,
                                     takes_scale_offset)
from pyaco._core.isa.instruction_text cimport *
from pyaco._core.isa.text_facts cimport *
from pyaco._core.isa.text_tables cimport *

include "instruction_text.pxi"
include "print_operands.pxi"
include "print_scalar.pxi"
include "print_vector.pxi"
include "print_memory.pxi"
include "kept_operands.pxi"


cdef enum:
    line_bits = 11
    line_limit = 1 << line_bits       # longer than any line
    form_dwords = 3                   # of a template's words, without the literal
    readable_dwords = 4               # what looking for a template may read
    dwords_per_line_seen = 512        # for each line that templates wait for: shorter code takes longer with templates than without
    usual_wait = 16                   # lines of a form before it gets a template
    # Credit for templates: making one takes as long as 40 lines of the slow path, each of which pays a 32nd part of a line, so that no more than
    # about a twentieth of the time goes to templates that print nothing; a line of a template pays for two. There is some to start with.
    template_cost = 40 * 32
    credit_of_line = 1
    credit_of_template = 64
    dwords_per_credit = 16            # few: where no two lines are alike, templates are in vain
    template_limit = 8192
    hole_limit = 32768
    character_limit = 1 << 19         # of all templates
    bucket_count = 1216 + 16 * 1024
    tries_limit = 12                  # templates of one bucket, those that were given up included
    plain_wait = 1                    # lines of a plain form before it gets a template, which takes as long as a few
    plain_tried = 255
    tailed_limit = 12                 # templates of one bucket that take any lane control: for each kind of it, and destination of a comparison
    unlimited_credit = 0x7fffffff     # for as much code as there can be


cdef inline uint64_t scalar_kinds() noexcept nogil:
    """The kinds of operands that count as scalar reads, or may."""
    return (1ULL << kind_zero) - 1 | 127ULL << kind_aperture


# A value between the characters of a template.
cdef struct Hole:
    const OperandText *texts          # of the operand whose bits are zero
    uint64_t accepted                 # kinds of values
    uint64_t scalar                   # kinds of values that count as a scalar read of a vector instruction
    uint32_t mask                     # of the bits, the word turned right
    uint32_t sign                     # the highest bit of a signed immediate, else 0
    Span after                        # the characters up to the next value
    const char *name                  # before an offset
    uint16_t number                   # the opcode; of an operand, the code whose bits are zero
    uint8_t kind                      # value_*
    uint8_t slot                      # of an operand
    uint8_t word
    uint8_t rotation

cdef struct Template:
    uint64_t mask                     # bits that are the same in all words of the form
    uint64_t bits
    uint32_t third_mask
    uint32_t third_bits
    uint32_t scalar_limit             # scalar reads that fit in any case
    uint16_t next                     # another template of the bucket, 0 if there is none
    uint16_t first_hole
    uint16_t rules                    # the instruction that is to be looked at as a whole with these values, 0 if there is none
    uint8_t holes
    uint8_t dwords
    uint8_t credit                    # what a line that it prints pays for other templates
    Span before                       # the characters up to the first value

# Templates of the words whose first word has some bits in common, among them those of the opcode.
cdef struct Bucket:
    uint16_t first_template                     # 0: none
    uint8_t seen                      # lines, since the last template
    uint8_t tries
    uint8_t plain                     # lines of the plain form; plain_tried: it has a template, or cannot have one
    uint8_t tailed                    # templates that take any lane control
    uint8_t learns                    # whether there is a template that is not plain, and may come to accept more

# The number of a bucket.
cdef struct Selector:
    uint16_t base
    uint16_t mask
    uint8_t shift

# The bits of a value: those of `mask` after turning the word right.
cdef struct ValueBits:
    uint32_t mask
    uint32_t sign
    uint8_t word
    uint8_t rotation

# A branch whose text waits for its target.
cdef struct Branch:
    size_t offset                     # in the text
    int64_t target                    # dword
    uint32_t distance                 # as the instruction has it


cdef inline uint32_t turned_right(uint32_t word, uint32_t count) noexcept nogil:
    return word >> (count & 31) | word << (-<int32_t>count & 31)


cdef inline uint32_t turned_left(uint32_t word, uint32_t count) noexcept nogil:
    return turned_right(word, 32 - count)


cdef inline uint32_t exponent(uint32_t power) noexcept nogil:
    """Of a power of two."""
    cdef uint32_t count = 0
    while power > 1:
        power >>= 1
        count += 1
    return count


cdef enum Fidelity:
    other_instruction                 # what text says is encoded to something else
    same_instruction                  # to other words, which mean the same
    same_words


cdef Fidelity _fidelity(const Decoded *d, uint32_t level, const uint32_t *words) noexcept nogil:
    """What of an instruction's words its text keeps."""
    cdef uint32_t again[encode_limit + 2]
    cdef Decoded other
    cdef uint32_t i
    if keeps_words(d, level, words):
        return same_words
    if encode(d, level, again) != d.dwords:
        return other_instruction
    for i in range(d.dwords):
        if again[i] != words[i]:
            break
    else:
        return same_words
    decode(again, d.dwords, level, &other)
    return same_instruction if same_form(d, &other) and _same_values(d, &other) else other_instruction


cdef bint _same_values(const Decoded *d, const Decoded *e) noexcept nogil:
    """Whether two instructions of the same form are the same."""
    return (d.immediate == e.immediate and d.literal == e.literal
            and memcmp(d.source, e.source, d.source_count * sizeof(uint16_t)) == 0
            and memcmp(d.destination, e.destination, d.destination_count * sizeof(uint16_t)) == 0)


include "line_templates.pxi"


# ---------------------------------------------------------------------------------------------------------------- listing
cdef extern from "Python.h":
    PyObject *PyUnicode_New(Py_ssize_t length, Py_UCS4 largest) except NULL
    int PyUnicode_Resize(PyObject **text, Py_ssize_t length) except -1
    void *PyUnicode_DATA(PyObject *text) nogil


cdef extern from "<stdlib.h>" nogil:
    void *aligned_alloc(size_t alignment, size_t size)


cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif
    static inline void pyaco_use_huge_pages(const char *begin, size_t size) {
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
      const uintptr_t page = 2u << 20;
      uintptr_t first = ((uintptr_t)begin + page - 1) & ~(page - 1), last = ((uintptr_t)begin + size) & ~(page - 1);
      if (first < last) madvise((void *)first, last - first, MADV_HUGEPAGE);
    #endif
    }
    """
    void use_huge_pages "pyaco_use_huge_pages"(const char *begin, size_t size) nogil


cdef uint32_t _print_slowly(Templates templates, bint learning, Printer *t, const uint32_t *words, uint32_t available) noexcept nogil:
    """Print the instruction at `words`, whichever, or ``.long``; its length. The templates may learn of it."""
    cdef Decoded d
    cdef Fidelity kept
    cdef char *begin = t.p
    cdef bint plain = False
    put(t, c'\t')
    t.has_no_syntax = True
    t.gap = NULL
    decode(words, available, t.level, &d)
    if d.opcode != op_invalid:
        templates.values.count = 0
        if learning:
            plain = templates.wants_plain(t, words, &d)
            learning = plain or templates.wants(words[0])
        t.values = &templates.values if learning else NULL
        instruction(t, &d)
        t.values = NULL
    kept = other_instruction if t.has_no_syntax else _fidelity(&d, t.level, words)
    if kept == same_words:
        if t.tail != NULL and templates.learn_after:
            templates.keep_tail(t, words, &d)
        if plain:
            templates.make_plain(t, words, &d, begin)
        elif learning:
            templates.learn(t, words, &d, begin)
    elif kept == same_instruction and not t.exact:
        put_words(t, words, d.dwords)
    else:
        t.p = begin + 1
        raw_words(t, &d, words)
        t.gap = NULL
    return d.dwords


cdef enum:
    huge_page = 2 << 20


@cython.final
cdef class Listing:
    """Text of machine code, and columns that say how long each line is and for how many words it stands.

    As a buffer it has the bytes of the text.

    Attributes
    ----------
    from_templates
        How many lines a template has printed.
    """

    cdef readonly uint32_t from_templates
    cdef PyObject *kept               # the text: a str that nobody else has as long as it is written; NULL: memory of its own
    cdef char *begin                  # its characters
    cdef size_t limit                 # how many there may be
    cdef size_t used
    cdef vector[uint16_t] lines       # without labels: characters | dwords << line_bits
    cdef vector[Branch] branches
    cdef vector[uint32_t] targets     # labelled dwords, ascending
    cdef vector[size_t] label_offsets  # where each label belongs in the text without labels

    def __cinit__(self, bint as_text):
        if as_text:
            self.kept = PyUnicode_New(0, 127)
            self.begin = <char *>PyUnicode_DATA(self.kept)

    def __dealloc__(self):
        if self.kept == NULL:
            free(self.begin)
        Py_XDECREF(self.kept)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.begin, <Py_ssize_t>self.used, True, flags)

    cdef int resize(self, size_t limit) except -1:
        # the first touch of memory page by page would take longer than the copying of all text
        if self.kept != NULL:
            PyUnicode_Resize(&self.kept, <Py_ssize_t>limit)
            self.begin = <char *>PyUnicode_DATA(self.kept)
            use_huge_pages(self.begin, limit)
        elif limit > self.limit:
            self.move_to(limit)
        self.limit = limit
        return 0

    cdef int move_to(self, size_t limit) except -1:
        """Memory of its own, with room for so many characters: huge pages from the first one on, which a str begins with a small one."""
        cdef size_t page = huge_page if limit > huge_page // 2 else 64
        cdef size_t size = (limit + page - 1) // page * page
        cdef char *begin = <char *>aligned_alloc(page, size)
        if begin == NULL:
            raise MemoryError
        use_huge_pages(begin, size)
        if self.used:
            memcpy(begin, self.begin, self.used)
        free(self.begin)
        self.begin = begin
        return 0

    cdef bint print_all(self, Templates templates, Printer *t, const uint32_t *words, uint32_t count, bint tentative) except -1 nogil:
        """Print all lines; `tentative`: only as long as none wants names of halves of registers. Returns whether all are printed."""
        cdef uint32_t position = 0
        cdef uint32_t dwords
        cdef uint32_t by_templates = count if templates.learn_after else 0
        cdef bint by_template
        cdef char *begin
        self.lines.reserve(count)
        while position < count:
            if self.used + line_limit > self.limit:
                with gil:
                    self.resize(2 * self.limit + 2 * line_limit)
            begin = self.begin + self.used
            t.p = begin
            by_template = position + readable_dwords <= by_templates
            dwords = templates.print_line(t, words + position) if by_template else 0
            if dwords:
                self.from_templates += 1
            else:
                templates.credit += credit_of_line
                dwords = _print_slowly(templates, by_template, t, words + position, count - position)
                if tentative and t.wants_halves:
                    return False
            if t.gap != NULL:
                self.add_branch(t, position, words[position])
            put(t, c'\n')
            self.add_line(<uint32_t>(t.p - begin), dwords)
            position += dwords
        return True

    cdef void add_branch(self, const Printer *t, uint32_t position, uint32_t word) noexcept nogil:
        cdef Branch branch
        branch.offset = <size_t>(t.gap - self.begin)
        branch.target = position + t.target
        branch.distance = word & 0xffff
        self.branches.push_back(branch)

    cdef inline void add_line(self, uint32_t characters, uint32_t dwords) noexcept nogil:
        self.lines.push_back(<uint16_t>(characters | dwords << line_bits))
        self.used += characters

    cdef void find_targets(self, uint32_t count) noexcept nogil:
        """Labels of the branch targets that are the start of a line, or the end."""
        cdef vector[uint32_t] wanted
        cdef size_t i
        cdef size_t line = 0
        cdef size_t offset = 0
        cdef uint32_t position = 0
        for i in range(self.branches.size()):
            if 0 <= self.branches[i].target <= count:
                wanted.push_back(<uint32_t>self.branches[i].target)
        sort(wanted.begin(), wanted.end())
        for i in range(wanted.size()):
            while position < wanted[i]:
                offset += self.lines[line] & (1 << line_bits) - 1
                position += self.lines[line] >> line_bits
                line += 1
            if position == wanted[i] and (self.targets.empty() or self.targets.back() != wanted[i]):
                self.targets.push_back(wanted[i])
                self.label_offsets.push_back(offset)

    cdef int64_t label_of(self, int64_t target) noexcept nogil:
        """The number of a label, -1 if there is none."""
        cdef size_t low = 0
        cdef size_t high = self.targets.size()
        cdef size_t middle
        while low < high:
            middle = (low + high) // 2
            if self.targets[middle] < target:
                low = middle + 1
            else:
                high = middle
        return <int64_t>low if low < self.targets.size() and self.targets[low] == target else -1

    cdef size_t length(self) noexcept nogil:
        """Characters of the text with labels: ``L0:`` and a line break for each, and what fills the gaps."""
        cdef size_t total = self.used
        cdef size_t i
        cdef int64_t number
        for i in range(self.targets.size()):
            total += 3 + digits(<uint32_t>i)
        for i in range(self.branches.size()):
            number = self.label_of(self.branches[i].target)
            total += 1 + digits(<uint32_t>number) if number >= 0 else digits(self.branches[i].distance)
        return total

    cdef size_t open_gap(self, size_t end, size_t offset, size_t width) noexcept nogil:
        """Move the text from `offset` on, so that it ends at `end`, and leave room before it; returns where the room begins.

        ``used`` is the end of what has not been moved yet.
        """
        end -= self.used - offset
        memmove(self.begin + end, self.begin + offset, self.used - offset)
        self.used = offset
        return end - width

    cdef void put_labels(self, size_t end) noexcept nogil:
        """Put label lines and branch targets in, the last one first; `end` is the length that the text gets."""
        cdef Printer t
        cdef size_t label = self.targets.size()
        cdef size_t branch = self.branches.size()
        cdef size_t length = end
        cdef int64_t number
        while label or branch:
            if label and (branch == 0 or self.label_offsets[label - 1] > self.branches[branch - 1].offset):
                label -= 1
                end = self.open_gap(end, self.label_offsets[label], 3 + digits(<uint32_t>label))
                t.p = self.begin + end
                put(&t, c'L')
                put_number(&t, <uint32_t>label)
                put_text(&t, b":\n")
            else:
                branch -= 1
                number = self.label_of(self.branches[branch].target)
                end = self.open_gap(end, self.branches[branch].offset,
                                    1 + digits(<uint32_t>number) if number >= 0 else digits(self.branches[branch].distance))
                t.p = self.begin + end
                if number >= 0:
                    put(&t, c'L')
                put_number(&t, <uint32_t>number if number >= 0 else self.branches[branch].distance)
        self.used = length

    def text(self):
        """The whole listing."""
        return (<bytes>self.begin[:self.used]).decode() if self.kept == NULL else <str>self.kept

    def entries(self):
        """(text, byte offset, bytes) of every line."""
        cdef size_t line, label = 0
        cdef uint32_t position = 0
        cdef list found = []
        texts = iter(self.text().splitlines())
        for line in range(self.lines.size() + 1):
            if label < self.targets.size() and self.targets[label] == position:
                found.append((next(texts), position * 4, 0))
                label += 1
            if line < self.lines.size():
                found.append((next(texts).strip(), position * 4, (self.lines[line] >> line_bits) * 4))
                position += self.lines[line] >> line_bits
        return found


cdef Listing _make_listing(const uint32_t *words, uint32_t count, Printer *t, int learn_after, bint tentative, bint as_text):
    """The listing of `words` by a printer that knows its target; None where it is `tentative` and wants names of halves of registers."""
    cdef Listing listing = Listing(as_text)
    cdef Templates templates = Templates()
    cdef uint32_t wait = usual_wait if learn_after < 0 else <uint32_t>learn_after
    cdef bint complete
    if wait and count >= dwords_per_line_seen * wait:
        templates.start(t.level, wait, count // dwords_per_credit if learn_after < 0 else unlimited_credit)
    t.operands = &templates.operands if templates.learn_after else NULL
    t.tails = &templates.tails
    listing.resize(<size_t>count * 32 + 2 * line_limit)
    with nogil:
        complete = listing.print_all(templates, t, words, count, tentative)
        if complete:
            listing.find_targets(count)
    if not complete:
        return None
    listing.resize(listing.length())
    with nogil:
        listing.put_labels(listing.limit)
    return listing


def disassemble_words(code not None, uint32_t wave_size, TextTables tables not None, learn_after=None, halves=None, bint exact=False,
                      bint as_text=True):
    """Lines of text of machine code.

    Parameters
    ----------
    code
        Machine code, a buffer that begins at a multiple of four (bytes do); a rest of less than four bytes is left out.
    wave_size
        32 or 64: how lane masks are written.
    tables
        Of ``pyaco.isa.text_tables``.
    learn_after
        How many lines of a form are printed by the slow path before a template prints them; 0: all. None: some, and no more templates are made
        than pay. Short code has no templates.
    halves
        Whether 16-bit operands are written v0.l and v0.h on GFX12; None: if the code has an instruction that cannot do without.
        GFX11 always has these names, and earlier generations never.
    exact
        Whether every line has to assemble to the same words: instructions with bits that mean nothing stand as ``.long`` then.
    as_text
        Whether the text will be wanted as a str; it can be written sooner where the listing is used as a buffer alone.

    Returns
    -------
    Listing
        Words that are no instruction, or one that text cannot say, stand as ``.long``; labels are lines of no bytes.
    """
    cdef Listing listing
    cdef Printer t
    cdef Py_buffer view
    cdef const uint32_t *words
    cdef uint32_t count
    cdef int wait
    t.level = tables.level
    t.mask_dwords = wave_size >> 5
    t.true16 = gfx11 <= t.level < gfx12 or (t.level >= gfx12 and halves is True)
    t.wants_halves = False
    t.exact = exact
    t.names = &tables.names
    t.facts = tables.facts
    t.values = NULL
    t.operands = NULL
    t.tail = NULL
    list_dependencies(&t)
    wait = -1 if learn_after is None else <uint8_t>learn_after
    PyObject_GetBuffer(code, &view, PyBUF_SIMPLE)
    try:
        words = <const uint32_t *>view.buf
        count = <uint32_t>(view.len // 4)
        listing = _make_listing(words, count, &t, wait, halves is None and not t.true16, as_text)
        if listing is None:
            t.true16 = True
            listing = _make_listing(words, count, &t, wait, False, as_text)
    finally:
        PyBuffer_Release(&view)
    return listing
