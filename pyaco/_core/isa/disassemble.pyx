"""Text of machine code in LLVM's assembly syntax, written into one buffer without Python.

Every line that this makes assembles to an instruction that does the same. Where bits that mean nothing are set, which text has no way to
write (compilers leave 0x80 in fields of sources that an opcode does not have), a remark behind the instruction has the words. What
the syntax cannot say at all (registers that do not exist, modifiers that the opcode does not take) is ``.long``, with text as a comment where
there is some; so are, if the caller asks for lines that assemble to the same words, instructions with such bits.

The complete way to a line is to decode, to print and to encode again. Code has few forms of instructions, though, and where one is met
often, it gets a plan: the bits of its words that all lines of the form share, the characters that they share, and between these the
places of the values, which are bits of the words each. A plan is made of a line that the complete way has printed, whose printer noted the
values (``instruction_text.pxd``); which bits are theirs is seen by decoding the words with each bit changed. It prints values of the kinds
for which it was seen to give the same line as the complete way, and leaves all others to that.

One pass prints; where a branch's target belongs it leaves a gap. When all targets are known, the text is moved apart,
from its end on, and the labels put in. It is written where the caller gets it, into a str.
"""
cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memmove, memset
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from isa_opcodes cimport op_invalid
from pyaco._core.common.machine cimport *
from pyaco._core.isa.decode cimport Decoded, decode, synchronises_globally
from pyaco._core.isa.encode cimport encode, encode_limit, form_error, scalar_reads_fit
from pyaco._core.isa.instruction_text cimport *
from pyaco._core.isa.text_tables cimport *

cdef enum:
    line_limit = 1024                 # longest line, generously
    form_dwords = 3                   # of a plan's words, without the literal
    readable_dwords = 4               # what looking for a plan may read
    dwords_of_meeting = 512           # code of fewer for each meeting that plans wait for takes longer with plans than without
    plan_limit = 8192
    hole_limit = 32768
    character_limit = 1 << 19         # of all plans
    table_limit = 16
    operand_codes = 768               # SGPRs and constants, VGPRs, AGPRs
    bucket_count = 1216 + 16 * 1024
    tries_limit = 12                  # plans of one bucket, those that were given up included

# Kinds of values that printing treats alike; a plan has a bit set of those that it prints.
cdef enum:
    kind_unknown = 0                  # the operand's text has not been made yet
    kind_sgpr = 1                     # those that all generations have; every other scalar register is a kind of its own
    kind_zero = 28
    kind_integer
    kind_float
    kind_vgpr
    kind_agpr
    kind_none = 63                    # left to the complete way
    # of immediates and literals
    kind_nothing = 1
    kind_positive
    kind_negative

cdef enum:
    scalar_kinds = (1 << kind_zero) - 1

cdef struct OperandText:
    char text[14]
    uint8_t length
    uint8_t kind

# The texts of operands of one size by their code.
cdef struct OperandTable:
    uint32_t size
    bint wide_null
    OperandText *texts

# A value between the characters of a plan.
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

cdef struct Plan:
    uint64_t mask                     # bits that are the same in all words of the form
    uint64_t bits
    uint32_t third_mask
    uint32_t third_bits
    uint32_t scalar_limit             # scalar reads that fit in any case
    uint16_t next                     # another plan of the bucket, 0 if there is none
    uint16_t first_hole
    uint16_t rules                    # the instruction that is to be looked at as a whole with these values, 0 if there is none
    uint8_t holes
    uint8_t dwords
    Span before                       # the characters up to the first value

# Plans of the words whose first word has some bits in common, among them those of the opcode.
cdef struct Bucket:
    uint16_t plan                     # 0: none
    uint8_t meetings                  # since the last plan
    uint8_t tries

# The number of a bucket.
cdef struct Selector:
    uint16_t base
    uint16_t mask
    uint8_t shift

# The bits of a value: those of `mask` after turning the word right.
cdef struct Place:
    uint32_t mask
    uint32_t sign
    uint8_t word
    uint8_t rotation

cdef struct Line:
    uint16_t characters
    uint16_t dwords

# A branch whose text waits for its target.
cdef struct Branch:
    size_t place                      # in the text
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


cdef Fidelity fidelity(const Decoded *d, uint32_t level, const uint32_t *words) noexcept nogil:
    """What of an instruction's words its text keeps."""
    cdef uint32_t again[encode_limit + 2]
    cdef Decoded other
    if encode(d, level, again) != d.dwords:
        return other_instruction
    if memcmp(again, words, d.dwords * 4) == 0:
        return same_words
    decode(again, d.dwords, level, &other)
    return same_instruction if same_form(d, &other) and same_values(d, &other) else other_instruction


cdef bint same_values(const Decoded *d, const Decoded *e) noexcept nogil:
    """Whether two instructions of the same form are the same."""
    return (d.immediate == e.immediate and d.literal == e.literal
            and memcmp(d.source, e.source, d.source_count * sizeof(uint16_t)) == 0
            and memcmp(d.destination, e.destination, d.destination_count * sizeof(uint16_t)) == 0)


# ------------------------------------------------------------------------------------------------------ printing by a plan
cdef inline char *copied(char *p, Span span) noexcept nogil:
    """Put a span at `p`, and more behind it; where it ends."""
    cdef uint32_t done = 0
    while True:
        memcpy(p + done, span.text + done, span_padding)
        done += span_padding
        if done >= span.length:
            return p + span.length


cdef inline bint has_form(const Plan *plan, const uint32_t *words) noexcept nogil:
    cdef uint64_t low
    memcpy(&low, words, 8)
    return low & plan.mask == plan.bits and words[2] & plan.third_mask == plan.third_bits


cdef inline uint32_t value_of(const Hole *hole, const uint32_t *words) noexcept nogil:
    return turned_right(words[hole.word], hole.rotation) & hole.mask


cdef uint32_t kind_of(const Hole *hole, uint32_t value) noexcept nogil:
    if hole.kind == value_operand:
        return hole.texts[value].kind
    if value == 0 or hole.kind == value_literal or hole.kind == value_plain_literal:
        return kind_nothing
    return kind_negative if value & hole.sign else kind_positive


cdef bint put_value(Printer *t, const Hole *hole, uint32_t value) noexcept nogil:
    """A value that is no operand; whether there is text for it."""
    cdef int32_t number = <int32_t>((value ^ hole.sign) - hole.sign)
    if not hole.accepted >> kind_of(hole, value) & 1:
        return False
    if hole.kind == value_scalar:
        t.unsayable = False
        sopp_operand(t, hole.number, value)
        return not t.unsayable
    if hole.kind == value_offset:
        if number:
            put_text(t, hole.name)
            put_signed(t, number)
    elif hole.kind == value_hexadecimal:
        put_signed_hex(t, number)
    elif hole.kind == value_literal and is_inline_value(value):
        return False
    else:
        put_hex(t, value)
    return True


cdef inline bint print_values(Printer *t, const Plan *plan, const Hole *holes, const uint32_t *words) noexcept nogil:
    """The line of a plan; whether it has one for these values."""
    cdef const OperandText *operand
    cdef const Hole *hole
    cdef uint32_t value, i
    cdef uint64_t scalars = 0
    cdef char *p = copied(t.p, plan.before)
    t.gap = NULL
    for i in range(plan.holes):
        hole = &holes[i]
        value = value_of(hole, words)
        if hole.kind == value_operand:
            operand = &hole.texts[value]
            if not hole.accepted >> operand.kind & 1:
                return False
            scalars += hole.scalar >> operand.kind & 1
            memcpy(p, operand.text, sizeof(OperandText))
            p += operand.length
        else:
            t.p = p
            if not put_value(t, hole, value):
                return False
            p = t.p
        p = copied(p, hole.after)
    t.p = p
    return scalars <= plan.scalar_limit


cdef inline uint16_t *operand_at(Decoded *d, uint32_t slot) noexcept nogil:
    return &d.source[slot] if slot < d.source_count else &d.destination[slot - d.source_count]


cdef inline uint32_t exchanged(uint32_t address, uint32_t level) noexcept nogil:
    """The address of an operand as the words number it, or the other way round: GFX11 exchanged the codes of m0 and null."""
    return address ^ 4 if level >= gfx11 and (address == register_m0 or address == register_null) else address


cdef bint form_holds(const Plan *plan, const Hole *holes, const Decoded *form, const uint32_t *words, uint32_t level) noexcept nogil:
    """Whether the values go with each other."""
    cdef Decoded d = form[0]
    cdef uint32_t i
    for i in range(plan.holes):
        if holes[i].kind == value_operand:
            operand_at(&d, holes[i].slot)[0] = <uint16_t>exchanged(4 * (holes[i].number + value_of(&holes[i], words)), level)
    return form_error(&d, level, False) == NULL


# --------------------------------------------------------------------------------------------------------- making of plans
cdef bint same_form(const Decoded *d, const Decoded *e) noexcept nogil:
    """Whether two instructions differ in values alone."""
    return (d.opcode == e.opcode and d.format == e.format and d.dwords == e.dwords and d.modifiers == e.modifiers
            and d.has_literal == e.has_literal and d.source_count == e.source_count and d.destination_count == e.destination_count
            and memcmp(d.source_bytes, e.source_bytes, d.source_count) == 0
            and memcmp(d.destination_bytes, e.destination_bytes, d.destination_count) == 0)


cdef inline uint32_t slot_of(const Decoded *d, const uint16_t *slot) noexcept nogil:
    """The number of an operand: sources, then destinations."""
    if slot >= d.destination:
        return d.source_count + <uint32_t>(slot - d.destination)
    return <uint32_t>(slot - d.source)


cdef int changed_value(const Values *values, const Decoded *origin, Decoded *d, Decoded *e, uint32_t level, int32_t *change) noexcept nogil:
    """The one value that differs between `d` and `e`, and how much more it is in `e`; -1 if that is not all that differs.

    The values are those of `origin`, an instruction of the same form.
    """
    cdef uint32_t slot, i
    cdef int32_t other
    cdef int found = -1
    change[0] = 0
    for slot in range(<uint32_t>d.source_count + d.destination_count):
        other = <int32_t>exchanged(operand_at(e, slot)[0], level) - <int32_t>exchanged(operand_at(d, slot)[0], level)
        if other == 0:
            continue
        if other & 3 or (change[0] and change[0] != other):
            return -1
        change[0] = other
        for i in range(values.count):
            if values.items[i].kind == value_operand and slot_of(origin, values.items[i].slot) == slot:
                if found >= 0:
                    return -1
                found = <int>i
    if d.immediate == e.immediate:
        # registers are 4 apart
        change[0] >>= 2
        return found
    if change[0]:
        return -1
    for i in range(values.count):
        if values.items[i].kind >= value_offset and (e.immediate ^ d.immediate) & ~values.items[i].bits == 0:
            change[0] = <int32_t>(e.immediate - d.immediate) >> values.items[i].shift
            return <int>i
    return -1


cdef void find_places(const Values *values, const Decoded *origin, uint32_t level, uint32_t *words, Place *places) noexcept nogil:
    """The bits of each value, seen by changing each bit of `words`, which are of the form of `origin`."""
    cdef Decoded d, e
    cdef Place *place
    cdef uint32_t word, bit, power
    cdef int32_t change
    cdef int found
    cdef bint negative
    memset(places, 0, value_limit * sizeof(Place))
    decode(words, origin.dwords, level, &d)
    if not same_form(origin, &d):
        return
    for word in range(<uint32_t>origin.dwords - origin.has_literal):
        for bit in range(32):
            words[word] ^= 1U << bit
            decode(words, origin.dwords, level, &e)
            words[word] ^= 1U << bit
            if not same_form(&d, &e):
                continue
            found = changed_value(values, origin, &d, &e, level, &change)
            if words[word] >> bit & 1:
                change = -change
            negative = change < 0
            power = <uint32_t>(-change if negative else change)
            if found < 0 or power == 0 or power & (power - 1) or (negative and values.items[found].kind == value_operand):
                continue
            place = &places[found]
            if place.mask == 0:
                place.word = <uint8_t>word
                place.rotation = <uint8_t>((bit - exponent(power)) & 31)
            if place.word == word and place.rotation == (bit - exponent(power) & 31):
                place.mask |= power
                place.sign |= power if negative else 0


cdef inline uint32_t kind_of_code(uint32_t code) noexcept nogil:
    """The kind of an operand; those that depend on more than their code have none."""
    if code >= 512:
        return kind_agpr
    if code >= 256:
        return kind_vgpr
    if code < 128:
        return kind_sgpr if code < 102 else kind_sgpr + code - 101
    if code <= 208:
        return kind_integer if code > 128 else kind_zero
    return kind_float if 240 <= code <= 247 else kind_none


cdef void make_operand(const Printer *t, const OperandTable *table, uint32_t code) noexcept nogil:
    """The text of an operand, as the complete printer has it."""
    cdef OperandText *text = &table.texts[code]
    cdef char characters[64]
    cdef Printer printer = t[0]
    cdef Decoded d
    text.kind = <uint8_t>kind_of_code(code)
    if text.kind == kind_none:
        return
    memset(&d, 0, sizeof(d))
    d.source_count = 1
    d.source[0] = <uint16_t>exchanged(4 * code, t.level)
    d.source_bytes[0] = <uint8_t>table.size
    printer.p = characters
    printer.values = NULL
    printer.unsayable = False
    printer.wide_null = table.wide_null
    operand_text(&printer, &d, 0)
    text.length = <uint8_t>(printer.p - characters)
    if printer.unsayable or text.length > sizeof(text.text):
        text.kind = kind_none
        return
    memcpy(text.text, characters, text.length)


@cython.final
cdef class Plans:
    """The plans of one listing.

    ``learn_after`` is how often a form is met before it gets a plan: making one takes as long as some lines do.
    """

    cdef Selector selectors[512]      # by the nine highest bits of the first word
    cdef vector[Bucket] buckets
    cdef vector[Plan] plans           # the first one is none
    cdef vector[Hole] holes
    cdef vector[char] characters
    cdef vector[Decoded] forms        # of dual instructions, whose halves may not read the same banks of registers; the first is none
    cdef OperandTable tables[table_limit]
    cdef uint32_t table_count
    cdef uint32_t learn_after
    cdef Values values                # of the last line that the complete way printed

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.table_count):
            free(self.tables[i].texts)

    cdef int start(self, uint32_t level, uint32_t learn_after) except -1:
        self.learn_after = learn_after
        self.set_selectors(level)
        self.buckets.resize(bucket_count)
        # what does not move may be pointed to
        self.plans.reserve(plan_limit)
        self.plans.resize(1)
        self.forms.resize(1)
        self.holes.reserve(hole_limit)
        self.characters.reserve(character_limit)
        return 0

    cdef void set_selectors(self, uint32_t level) noexcept nogil:
        """Where the opcode stands in the first word. A choice of too many bits would only cost plans."""
        cdef uint32_t head, base, mask, shift
        for head in range(512):
            if head < 0xf8:
                base, mask, shift = 0, 0x3f, 25
            elif head < 0xfc:
                base, mask, shift = 64, 0xff, 17
            elif head < 0x100:
                base, mask, shift = 320, 0xff, 9
            elif head == 0x17d:
                base, mask, shift = 576, 0xff, 8
            elif head == 0x17e or head == 0x17f:
                base, mask, shift = (832 if head == 0x17e else 960), 0x7f, 16
            elif head < 0x180:
                base, mask, shift = 1088, 0x7f, 23
            else:
                base, mask, shift = 1216 + ((head >> 3) - 0x30) * 1024, 0x3ff, 16
                if level < gfx8 and head < 0x190:
                    mask, shift = 0xf, 22
                elif level >= gfx11 and head >> 3 == 0x32:
                    mask, shift = 0x1ff, 17
                elif level >= gfx12 and head >> 3 == 0x3d:
                    mask, shift = 0x3f, 13
                elif level >= gfx12 and (head >> 3 == 0x31 or head >> 3 == 0x3b):
                    mask, shift = 0xff, 14
            self.selectors[head].base = <uint16_t>base
            self.selectors[head].mask = <uint16_t>mask
            self.selectors[head].shift = <uint8_t>shift

    cdef inline Bucket *bucket_of(self, uint32_t word) noexcept nogil:
        cdef const Selector *selector = &self.selectors[word >> 23]
        return &self.buckets[selector.base + (word >> selector.shift & selector.mask)]

    cdef inline const Plan *first_match(self, uint32_t place, const uint32_t *words) noexcept nogil:
        """The first plan from `place` on whose form the words are of; NULL if there is none."""
        cdef const Plan *plan
        while place:
            plan = &self.plans[place]
            if has_form(plan, words):
                return plan
            place = plan.next
        return NULL

    cdef inline uint32_t print_line(self, Printer *t, const uint32_t *words) noexcept nogil:
        """Print the instruction at `words`, of which some dwords can be read; its length, 0 if no plan does."""
        cdef char *begin = t.p
        cdef const Hole *holes
        cdef const Plan *plan = self.first_match(self.bucket_of(words[0]).plan, words)
        while plan != NULL:
            holes = &self.holes[plan.first_hole]
            if print_values(t, plan, holes, words) and (plan.rules == 0 or form_holds(plan, holes, &self.forms[plan.rules], words, t.level)):
                return plan.dwords
            t.p = begin
            plan = self.first_match(plan.next, words)
        return 0

    cdef void learn(self, Printer *t, const uint32_t *words, const Decoded *d, const char *begin) noexcept nogil:
        """Of a line that the complete way has printed from `begin` on: new kinds of values of a plan, or a new plan."""
        cdef Bucket *bucket = self.bucket_of(words[0])
        cdef const Plan *plan = self.first_match(bucket.plan, words)
        while plan != NULL:
            if self.accept(t, plan, words, begin):
                return
            plan = self.first_match(plan.next, words)
        if bucket.tries == tries_limit:
            return
        bucket.meetings += 1
        if bucket.meetings >= self.learn_after:
            bucket.meetings = 0
            bucket.tries += 1
            self.make(t, words, d, begin)

    cdef bint accept(self, Printer *t, const Plan *plan, const uint32_t *words, const char *begin) noexcept nogil:
        """Let a plan print the kinds of values that it has here, if that makes the line that stands at `begin`."""
        cdef Hole trial[value_limit]
        cdef char line[line_limit]
        cdef Printer printer = t[0]
        cdef uint32_t i, kind
        cdef size_t length
        memcpy(trial, &self.holes[plan.first_hole], plan.holes * sizeof(Hole))
        for i in range(plan.holes):
            kind = self.kind_here(t, &trial[i], words)
            if kind == kind_none:
                return False
            trial[i].accepted |= 1ULL << kind
        printer.p = line
        if not print_values(&printer, plan, trial, words):
            return False
        length = <size_t>(printer.p - line)
        if length != <size_t>(t.p - begin) or memcmp(line, begin, length) != 0:
            return False
        memcpy(&self.holes[plan.first_hole], trial, plan.holes * sizeof(Hole))
        return True

    cdef uint32_t kind_here(self, const Printer *t, const Hole *hole, const uint32_t *words) noexcept nogil:
        """The kind of the value that `words` have; an operand's text is made where there is none."""
        cdef uint32_t value = value_of(hole, words)
        cdef uint32_t i
        if hole.kind == value_operand and hole.texts[value].kind == kind_unknown:
            for i in range(self.table_count):
                if self.tables[i].texts <= hole.texts < self.tables[i].texts + operand_codes:
                    make_operand(t, &self.tables[i], <uint32_t>(hole.texts + value - self.tables[i].texts))
        return kind_of(hole, value)

    cdef OperandTable *table_of(self, uint32_t size, bint wide_null) noexcept nogil:
        """The texts of operands of a size; NULL if there is no room for them."""
        cdef OperandTable *table
        cdef uint32_t i
        for i in range(self.table_count):
            if self.tables[i].size == size and self.tables[i].wide_null == wide_null:
                return &self.tables[i]
        if self.table_count == table_limit:
            return NULL
        table = &self.tables[self.table_count]
        table.size = size
        table.wide_null = wide_null
        table.texts = <OperandText *>calloc(operand_codes, sizeof(OperandText))
        if table.texts == NULL:
            return NULL
        self.table_count += 1
        return table

    cdef void make(self, Printer *t, const uint32_t *words, const Decoded *d, const char *begin) noexcept nogil:
        """A plan of the form of `words`."""
        cdef Place places[value_limit]
        cdef Place others[value_limit]
        cdef uint32_t plain[readable_dwords]
        cdef uint32_t vectors[readable_dwords]
        cdef Decoded zero
        cdef Plan plan
        cdef uint32_t i
        if not self.can_plan(t, d):
            return
        memcpy(plain, words, sizeof(plain))
        # values of zero are those whose bits can be changed one by one: others have neighbours that mean something else
        find_places(&self.values, d, t.level, plain, places)
        for i in range(self.values.count):
            plain[places[i].word] &= ~turned_left(places[i].mask, places[i].rotation)
        find_places(&self.values, d, t.level, plain, places)
        # a bit may mean something else among vector registers: the half of one, beside a constant
        memcpy(vectors, plain, sizeof(plain))
        for i in range(self.values.count):
            vectors[places[i].word] |= turned_left(places[i].mask & 256, places[i].rotation)
        find_places(&self.values, d, t.level, vectors, others)
        for i in range(self.values.count):
            if places[i].mask & 256:
                places[i].mask &= others[i].mask
        decode(plain, d.dwords, t.level, &zero)
        if not same_form(d, &zero):
            return
        memset(&plan, 0, sizeof(plan))
        plan.dwords = d.dwords
        plan.first_hole = <uint16_t>self.holes.size()
        for i in range(self.values.count):
            if self.values.items[i].kind == value_literal or self.values.items[i].kind == value_plain_literal:
                places[i].mask = 0xffffffffU
                places[i].word = d.dwords - 1
        if self.set_fixed_bits(&plan, plain, d, places) and has_form(&plan, words) and self.add_holes(t, &plan, plain, d, &zero, places, begin):
            plan.scalar_limit = self.scalar_limit(&zero, d, t.level, places)
            if self.accept(t, &plan, words, begin):
                self.add_plan(&plan, &zero, words[0])
                return
        self.holes.resize(plan.first_hole)

    cdef bint can_plan(self, const Printer *t, const Decoded *d) noexcept nogil:
        """Whether the values of an instruction can be printed without looking at each other, and there is room for another plan."""
        cdef bint literal = False
        cdef bint branch = False
        cdef uint32_t i
        if self.values.count > value_limit or self.plans.size() == plan_limit or self.holes.size() + value_limit > hole_limit \
                or self.characters.size() + line_limit > character_limit or d.dwords - d.has_literal > form_dwords or t.any_register:
            return False
        if (d.format == format_mimg and t.level >= gfx12) or synchronises_globally(d.opcode):
            return False
        for i in range(self.values.count):
            if self.values.items[i].kind == value_half_literal:
                return False
            literal = literal or self.values.items[i].kind == value_literal or self.values.items[i].kind == value_plain_literal
            branch = branch or self.values.items[i].kind == value_scalar
        return literal == (d.has_literal != 0) and (branch or t.gap == NULL)

    cdef bint set_fixed_bits(self, Plan *plan, const uint32_t *words, const Decoded *d, const Place *places) noexcept nogil:
        """The bits outside of all values; whether those that choose the bucket are among them."""
        cdef const Selector *selector = &self.selectors[words[0] >> 23]
        cdef uint32_t fixed[form_dwords]
        cdef uint32_t key = 0xfc000000U | <uint32_t>selector.mask << selector.shift
        cdef uint32_t i
        for i in range(form_dwords):
            fixed[i] = 0xffffffffU if i < <uint32_t>d.dwords - d.has_literal else 0
        for i in range(self.values.count):
            if places[i].word < form_dwords:
                fixed[places[i].word] &= ~turned_left(places[i].mask, places[i].rotation)
        plan.mask = fixed[0] | <uint64_t>fixed[1] << 32
        memcpy(&plan.bits, words, 8)
        plan.bits &= plan.mask
        plan.third_mask = fixed[2]
        plan.third_bits = words[2] & fixed[2]
        return fixed[0] & key == key

    cdef bint add_holes(self, const Printer *t, Plan *plan, const uint32_t *plain, const Decoded *d, Decoded *zero,
                        const Place *places, const char *begin) noexcept nogil:
        """The values that have bits, and the characters before and behind each."""
        cdef const char *done = begin
        cdef const Value *value
        cdef Hole hole
        cdef uint32_t i
        for i in range(self.values.count):
            if places[i].mask == 0:
                continue
            value = &self.values.items[i]
            memset(&hole, 0, sizeof(hole))
            hole.kind = <uint8_t>value.kind
            hole.word = places[i].word
            hole.rotation = places[i].rotation
            hole.mask = places[i].mask
            hole.sign = places[i].sign
            hole.name = value.name
            hole.number = d.opcode
            if value.kind == value_operand and not self.set_texts(t, &hole, value, zero, slot_of(d, value.slot), plain):
                return False
            self.end_piece(plan, done, value.begin)
            done = value.end
            self.holes.push_back(hole)
            plan.holes += 1
        self.end_piece(plan, done, t.p)
        return True

    cdef bint set_texts(self, const Printer *t, Hole *hole, const Value *value, Decoded *zero, uint32_t slot, const uint32_t *plain) noexcept nogil:
        cdef OperandTable *table = self.table_of(value.size, t.wide_null)
        cdef uint32_t address = exchanged(operand_at(zero, slot)[0], t.level)
        cdef int32_t first = <int32_t>(address >> 2) - <int32_t>value_of(hole, plain)
        if table == NULL or address & 3 or first < 0 or first + hole.mask >= operand_codes:
            return False
        hole.texts = table.texts + first
        hole.number = <uint16_t>first
        hole.slot = <uint8_t>slot
        if slot < zero.source_count:
            hole.scalar = scalar_kinds
        return True

    cdef void end_piece(self, Plan *plan, const char *begin, const char *end) noexcept nogil:
        """The characters behind the last hole, or before the first."""
        cdef Span span
        cdef size_t used = self.characters.size()
        span.length = <uint32_t>(end - begin)
        self.characters.resize(used + span.length + span_padding)
        memcpy(&self.characters[used], begin, span.length)
        span.text = &self.characters[used]
        if plan.holes:
            self.holes.back().after = span
        else:
            plan.before = span

    cdef uint32_t scalar_limit(self, const Decoded *zero, const Decoded *d, uint32_t level, const Place *places) noexcept nogil:
        """How many of the sources can be scalar registers, all different."""
        cdef Decoded trial = zero[0]
        cdef uint32_t slots[value_limit]
        cdef uint32_t count = 0
        cdef uint32_t i
        for i in range(self.values.count):
            if places[i].mask and self.values.items[i].kind == value_operand:
                slots[count] = slot_of(d, self.values.items[i].slot)
                if slots[count] < d.source_count:
                    trial.source[slots[count]] = register_vgpr0
                    count += 1
        for i in range(count):
            trial.source[slots[i]] = <uint16_t>(8 * i)
            if not scalar_reads_fit(&trial, level):
                return i
        return count

    cdef void add_plan(self, const Plan *plan, const Decoded *form, uint32_t word) noexcept nogil:
        cdef Bucket *bucket = self.bucket_of(word)
        self.plans.push_back(plan[0])
        if form.format == format_vopd:
            self.plans.back().rules = <uint16_t>self.forms.size()
            self.forms.push_back(form[0])
        self.plans.back().next = bucket.plan
        bucket.plan = <uint16_t>(self.plans.size() - 1)


# ---------------------------------------------------------------------------------------------------------------- listing
cdef extern from "Python.h":
    PyObject *PyUnicode_New(Py_ssize_t length, Py_UCS4 largest) except NULL
    int PyUnicode_Resize(PyObject **text, Py_ssize_t length) except -1
    void *PyUnicode_DATA(PyObject *text) nogil


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


cdef uint32_t print_completely(Plans plans, bint learning, Printer *t, const uint32_t *words, uint32_t available) noexcept nogil:
    """Print the instruction at `words`, whichever, or ``.long``; its length. The plans may learn of it."""
    cdef Decoded d
    cdef Fidelity kept
    cdef char *begin = t.p
    put(t, c'\t')
    t.unsayable = True
    t.gap = NULL
    decode(words, available, t.level, &d)
    if d.opcode != op_invalid:
        plans.values.count = 0
        t.values = &plans.values if learning else NULL
        instruction(t, &d)
        t.values = NULL
    kept = other_instruction if t.unsayable else fidelity(&d, t.level, words)
    if kept == same_words:
        if learning:
            plans.learn(t, words, &d, begin)
    elif kept == same_instruction and not t.exact:
        put_words(t, words, d.dwords)
    else:
        t.p = begin + 1
        raw_words(t, &d, words)
        t.gap = NULL
    return d.dwords


@cython.final
cdef class Listing:
    """Text of machine code, and columns that say how long each line is and for how many words it stands.

    As a buffer it has the bytes of the text.

    Attributes
    ----------
    planned
        How many lines a plan has printed.
    """

    cdef readonly uint32_t planned
    cdef PyObject *kept               # the text: a str that nobody else has as long as it is written
    cdef char *begin                  # its characters
    cdef size_t limit                 # how many there may be
    cdef size_t used
    cdef vector[Line] lines           # without labels
    cdef vector[Branch] branches
    cdef vector[uint32_t] targets     # labelled dwords, ascending
    cdef vector[size_t] label_places  # where each label belongs in the text without labels

    def __cinit__(self):
        self.kept = PyUnicode_New(0, 127)
        self.begin = <char *>PyUnicode_DATA(self.kept)

    def __dealloc__(self):
        Py_XDECREF(self.kept)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.begin, <Py_ssize_t>self.used, True, flags)

    cdef int resize(self, size_t limit) except -1:
        PyUnicode_Resize(&self.kept, <Py_ssize_t>limit)
        self.begin = <char *>PyUnicode_DATA(self.kept)
        self.limit = limit
        # the first touch of memory page by page would take longer than the copying of all text
        use_huge_pages(self.begin, limit)
        return 0

    cdef int print_all(self, Plans plans, Printer *t, const uint32_t *words, uint32_t count) except -1 nogil:
        cdef uint32_t position = 0
        cdef uint32_t dwords
        cdef uint32_t plannable = count if plans.learn_after else 0
        cdef bint planned
        cdef char *begin
        self.lines.reserve(count)
        while position < count:
            if self.used + line_limit > self.limit:
                with gil:
                    self.resize(2 * self.limit + 2 * line_limit)
            begin = self.begin + self.used
            t.p = begin
            planned = position + readable_dwords <= plannable
            dwords = plans.print_line(t, words + position) if planned else 0
            if dwords:
                self.planned += 1
            else:
                dwords = print_completely(plans, planned, t, words + position, count - position)
            if t.gap != NULL:
                self.add_branch(t, position, words[position])
            put(t, c'\n')
            self.add_line(<uint32_t>(t.p - begin), dwords)
            position += dwords
        return 0

    cdef void add_branch(self, const Printer *t, uint32_t position, uint32_t word) noexcept nogil:
        cdef Branch branch
        branch.place = <size_t>(t.gap - self.begin)
        branch.target = position + t.target
        branch.distance = word & 0xffff
        self.branches.push_back(branch)

    cdef inline void add_line(self, uint32_t characters, uint32_t dwords) noexcept nogil:
        cdef Line line
        line.characters = <uint16_t>characters
        line.dwords = <uint16_t>dwords
        self.lines.push_back(line)
        self.used += characters

    cdef void find_targets(self, uint32_t count) noexcept nogil:
        """Only starts of lines, and the end, are places that branches go to."""
        cdef vector[uint32_t] wanted
        cdef size_t i
        cdef size_t line = 0
        cdef size_t place = 0
        cdef uint32_t position = 0
        for i in range(self.branches.size()):
            if 0 <= self.branches[i].target <= count:
                wanted.push_back(<uint32_t>self.branches[i].target)
        sort(wanted.begin(), wanted.end())
        for i in range(wanted.size()):
            while position < wanted[i]:
                place += self.lines[line].characters
                position += self.lines[line].dwords
                line += 1
            if position == wanted[i] and (self.targets.empty() or self.targets.back() != wanted[i]):
                self.targets.push_back(wanted[i])
                self.label_places.push_back(place)

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

    cdef size_t open_gap(self, size_t end, size_t place, size_t width) noexcept nogil:
        """Move the text from `place` on to where it ends at `end`, and leave room before it; where the room begins.

        ``used`` is the end of what has not been moved yet.
        """
        end -= self.used - place
        memmove(self.begin + end, self.begin + place, self.used - place)
        self.used = place
        return end - width

    cdef void put_labels(self, size_t end) noexcept nogil:
        """Put label lines and branch targets in, the last one first; `end` is the length that the text gets."""
        cdef Printer t
        cdef size_t label = self.targets.size()
        cdef size_t branch = self.branches.size()
        cdef size_t length = end
        cdef int64_t number
        while label or branch:
            if label and (branch == 0 or self.label_places[label - 1] > self.branches[branch - 1].place):
                label -= 1
                end = self.open_gap(end, self.label_places[label], 3 + digits(<uint32_t>label))
                t.p = self.begin + end
                put(&t, c'L')
                put_number(&t, <uint32_t>label)
                put_text(&t, b":\n")
            else:
                branch -= 1
                number = self.label_of(self.branches[branch].target)
                end = self.open_gap(end, self.branches[branch].place,
                                    1 + digits(<uint32_t>number) if number >= 0 else digits(self.branches[branch].distance))
                t.p = self.begin + end
                if number >= 0:
                    put(&t, c'L')
                put_number(&t, <uint32_t>number if number >= 0 else self.branches[branch].distance)
        self.used = length

    def text(self):
        """The whole listing."""
        return <str>self.kept

    def rows(self):
        """(text, byte offset, bytes) of every line."""
        cdef size_t line, label = 0
        cdef uint32_t position = 0
        cdef list rows = []
        texts = iter(self.text().splitlines())
        for line in range(self.lines.size() + 1):
            if label < self.targets.size() and self.targets[label] == position:
                rows.append((next(texts), position * 4, 0))
                label += 1
            if line < self.lines.size():
                rows.append((next(texts).strip(), position * 4, self.lines[line].dwords * 4))
                position += self.lines[line].dwords
        return rows


cdef Listing make_listing(bytes code, Printer *t, uint8_t learn_after):
    """The listing of `code` by a printer that knows its target."""
    cdef Listing listing = Listing()
    cdef Plans plans = Plans()
    cdef uint32_t count = <uint32_t>(len(code) // 4)
    # bytes begin at a multiple of four
    cdef const uint32_t *words = <const uint32_t *><const char *>code
    if learn_after and count >= dwords_of_meeting * learn_after:
        plans.start(t.level, learn_after)
    listing.resize(<size_t>count * 32 + 2 * line_limit)
    with nogil:
        listing.print_all(plans, t, words, count)
        listing.find_targets(count)
    listing.resize(listing.length())
    with nogil:
        listing.put_labels(listing.limit)
    return listing


def disassemble_words(bytes code not None, uint32_t wave_size, TextTables tables not None, uint8_t learn_after=16, halves=None, bint exact=False):
    """Lines of text of machine code.

    Parameters
    ----------
    code
        Machine code; a rest of less than four bytes is left out.
    wave_size
        32 or 64: how lane masks are written.
    tables
        Of ``pyaco.isa.text_tables``.
    learn_after
        How many lines of a form are printed the complete way before a plan prints them; 0: all. Short code has no plans.
    halves
        Whether 16-bit operands are written v0.l and v0.h on GFX12; None: if the code has an instruction that cannot do without.
        GFX11 always has these names, and earlier generations never.
    exact
        Whether every line has to assemble to the same words: instructions with bits that mean nothing stand as ``.long`` then.

    Returns
    -------
    Listing
        Words that are no instruction, or one that text cannot say, stand as ``.long``; labels are lines of no bytes.
    """
    cdef Listing listing
    cdef Printer t
    t.level = tables.level
    t.mask_dwords = wave_size >> 5
    t.true16 = gfx11 <= t.level < gfx12 or (t.level >= gfx12 and halves is True)
    t.wants_halves = False
    t.exact = exact
    t.names = &tables.names
    t.facts = tables.facts
    t.values = NULL
    list_dependencies(&t)
    listing = make_listing(code, &t, learn_after)
    if t.wants_halves and halves is None:
        t.true16 = True
        listing = make_listing(code, &t, learn_after)
    return listing
