# Templates of lines: how forms that code has often are printed.
# ------------------------------------------------------------------------------------------------------ printing by a template
cdef inline char *_copy_span(char *p, Span span) noexcept nogil:
    """Put a span at `p`, and more behind it; returns where it ends."""
    cdef uint32_t done = 0
    while True:
        memcpy(p + done, span.text + done, span_padding)
        done += span_padding
        if done >= span.length:
            return p + span.length


include "line_tails.pxi"


cdef inline bint _has_form(const Template *template, const uint32_t *words) noexcept nogil:
    cdef uint64_t low
    memcpy(&low, words, 8)
    return low & template.mask == template.bits and words[2] & template.third_mask == template.third_bits


cdef inline uint32_t _value_of(const Hole *hole, const uint32_t *words) noexcept nogil:
    return turned_right(words[hole.word], hole.rotation) & hole.mask


cdef uint32_t _kind_of(const Hole *hole, uint32_t value) noexcept nogil:
    if hole.kind == value_operand:
        return hole.texts[value].kind
    if value == 0 or hole.kind == value_literal or hole.kind == value_plain_literal:
        return kind_nothing
    return kind_negative if value & hole.sign else kind_positive


cdef bint _put_value(Printer *t, const Hole *hole, uint32_t value) noexcept nogil:
    """Print a value that is not an operand; returns whether there is text for it."""
    cdef int32_t number = <int32_t>((value ^ hole.sign) - hole.sign)
    if not hole.accepted >> _kind_of(hole, value) & 1:
        return False
    if hole.kind == value_scalar:
        t.has_no_syntax = False
        sopp_operand(t, hole.number, value)
        return not t.has_no_syntax
    if hole.kind == value_tail:
        return put_tail(t, value | <uint32_t>hole.number << 24)
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


cdef inline bint _print_values(Printer *t, const Template *template, const Hole *holes, const uint32_t *words) noexcept nogil:
    """Print the line of a template; returns whether it has one for these values."""
    cdef const OperandText *operand
    cdef const Hole *hole
    cdef uint32_t value, i
    cdef uint64_t scalars = 0
    cdef char *p = _copy_span(t.p, template.before)
    t.gap = NULL
    for i in range(template.holes):
        hole = &holes[i]
        value = _value_of(hole, words)
        if hole.kind == value_operand:
            operand = &hole.texts[value]
            if not hole.accepted >> operand.kind & 1:
                return False
            scalars += hole.scalar >> operand.kind & 1
            memcpy(p, operand.text, sizeof(OperandText))
            p += operand.length
        else:
            t.p = p
            if not _put_value(t, hole, value):
                return False
            p = t.p
        p = _copy_span(p, hole.after)
    t.p = p
    return scalars <= template.scalar_limit


cdef inline uint16_t *_operand_at(Decoded *d, uint32_t slot) noexcept nogil:
    return &d.source[slot] if slot < d.source_count else &d.destination[slot - d.source_count]


cdef bint _form_holds(const Template *template, const Hole *holes, const Decoded *form, const uint32_t *words, uint32_t level) noexcept nogil:
    """Whether the values go with each other."""
    cdef Decoded d = form[0]
    cdef uint32_t i
    for i in range(template.holes):
        if holes[i].kind == value_operand:
            _operand_at(&d, holes[i].slot)[0] = <uint16_t>_exchanged(4 * (holes[i].number + _value_of(&holes[i], words)), level)
    return form_error(&d, level, False) == NULL


# --------------------------------------------------------------------------------------------------------- making of templates
cdef bint same_form(const Decoded *d, const Decoded *e) noexcept nogil:
    """Whether two instructions differ in values alone."""
    return (d.opcode == e.opcode and d.format == e.format and d.dwords == e.dwords and d.modifiers == e.modifiers
            and d.has_literal == e.has_literal and d.source_count == e.source_count and d.destination_count == e.destination_count
            and memcmp(d.source_bytes, e.source_bytes, d.source_count) == 0
            and memcmp(d.destination_bytes, e.destination_bytes, d.destination_count) == 0)


cdef inline uint32_t _slot_of(const Decoded *d, const uint16_t *slot) noexcept nogil:
    """The number of an operand: sources, then destinations."""
    if slot >= d.destination:
        return d.source_count + <uint32_t>(slot - d.destination)
    return <uint32_t>(slot - d.source)


cdef int _changed_value(const Values *values, const Decoded *origin, Decoded *d, Decoded *e, uint32_t level, int32_t *change) noexcept nogil:
    """The one value that differs between `d` and `e`, and how much more it is in `e`; -1 if that is not all that differs.

    The values are those of `origin`, an instruction of the same form.
    """
    cdef uint32_t slot, i
    cdef int32_t other
    cdef int found = -1
    change[0] = 0
    for slot in range(<uint32_t>d.source_count + d.destination_count):
        other = <int32_t>_exchanged(_operand_at(e, slot)[0], level) - <int32_t>_exchanged(_operand_at(d, slot)[0], level)
        if other == 0:
            continue
        if other & 3 or (change[0] and change[0] != other):
            return -1
        change[0] = other
        for i in range(values.count):
            if values.items[i].kind == value_operand and _slot_of(origin, values.items[i].slot) == slot:
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


cdef void _find_value_bits(const Values *values, const Decoded *origin, uint32_t level, uint32_t key, uint32_t *words,
                           ValueBits *value_bits) noexcept nogil:
    """The bits of each value, seen by changing each bit of `words`, which are of the form of `origin`, but those of the first word in `key`."""
    cdef Decoded d, e
    cdef ValueBits *bits
    cdef uint32_t word, bit, power
    cdef int32_t change
    cdef int found
    cdef bint negative
    memset(value_bits, 0, value_limit * sizeof(ValueBits))
    decode(words, origin.dwords, level, &d)
    if not same_form(origin, &d):
        return
    for word in range(<uint32_t>origin.dwords - origin.has_literal):
        for bit in range(32):
            if word == 0 and key >> bit & 1:
                continue
            words[word] ^= 1U << bit
            decode(words, origin.dwords, level, &e)
            words[word] ^= 1U << bit
            if not same_form(&d, &e):
                continue
            found = _changed_value(values, origin, &d, &e, level, &change)
            if words[word] >> bit & 1:
                change = -change
            negative = change < 0
            power = <uint32_t>(-change if negative else change)
            if found < 0 or power == 0 or power & (power - 1) or (negative and values.items[found].kind == value_operand):
                continue
            bits = &value_bits[found]
            if bits.mask == 0:
                bits.word = <uint8_t>word
                bits.rotation = <uint8_t>((bit - exponent(power)) & 31)
            if bits.word == word and bits.rotation == (bit - exponent(power) & 31):
                bits.mask |= power
                bits.sign |= power if negative else 0


cdef bint _is_plain(const Decoded *d, uint32_t level) noexcept nogil:
    """Whether an instruction is of the ALU, in a form whose lines differ in the names of registers and constants alone.

    It has no modifiers, and no operand that an opcode takes only of some kinds or prints otherwise than others do.
    """
    if d.modifiers != 0 or d.has_literal or d.destination_count > 1 or level < gfx7:
        return False
    if d.format == format_sop1 or d.format == format_sop2 or d.format == format_sopc:
        return d.source_count <= (1 if d.format == format_sop1 else 2) and takes_any_source(d)
    if d.format == 0 or d.format & ~<uint32_t>(valu_one_dword | format_vop3) or unaligned_result(d.opcode) or d.opcode == op_v_pk_fmac_f16:
        return False
    return _has_whole_registers(d, level) and takes_any_source(d)


cdef bint _has_whole_registers(const Decoded *d, uint32_t level) noexcept nogil:
    """Whether no operand may be half a register, which is in the upper half of a short form's numbers, or a long tuple, which takes no scalars."""
    cdef uint32_t i
    for i in range(d.source_count):
        if d.source_bytes[i] >= 24 or (d.source_bytes[i] == 2 and level >= gfx11):
            return False
    return not (d.destination_count and d.destination_bytes[0] == 2 and level >= gfx11)


cdef void _plain_field(const Decoded *d, uint32_t slot, ValueBits *bits) noexcept nogil:
    """The bits of an operand of a plain form, or of one with lane control; none if it has no field."""
    cdef bint is_source = slot < d.source_count
    cdef bint scalar = format_sop1 <= d.format <= format_sopc
    if d.format & format_vop3 and not scalar:
        bits.word = is_source
        bits.rotation = <uint8_t>(9 * slot if is_source else 0)
        bits.mask = 0x1ff if is_source else 0x7f if d.format & format_vopc else 0xff
    elif scalar:
        bits.rotation = <uint8_t>(8 * slot if is_source else 16)
        bits.mask = 0xff if is_source else 0x7f
    elif is_source:
        bits.word = slot == 0 and d.format & lane_control != 0
        bits.rotation = <uint8_t>(9 * slot)
        bits.mask = 0xff if slot or d.format & lane_control else 0x1ff
    elif not d.format & format_vopc:
        bits.rotation = 17
        bits.mask = 0xff


@cython.final
cdef class Templates:
    """The templates of one listing.

    ``learn_after`` is how many lines of a form are printed before it gets a template: making one takes as long as some lines do. Code whose
    lines are all different would get templates that print next to nothing. So they are paid for: by a credit to start with, in
    proportion to the code, by every line a little, and by those that templates print.
    """

    cdef Selector selectors[512]      # by the nine highest bits of the first word
    cdef Bucket *buckets              # zeros, of whose pages few are touched
    cdef vector[Template] templates           # the first one is none
    cdef vector[Hole] holes
    cdef vector[char] characters
    cdef Span comma                   # what stands between most values
    cdef vector[Decoded] forms        # of dual instructions, whose halves may not read the same banks of registers; the first is none
    cdef OperandTables operands
    cdef Tails tails
    cdef uint32_t learn_after
    cdef int64_t credit               # while it pays for a template, lines of the slow path are learnt from
    cdef Values values                # of the last line that the slow path printed

    def __dealloc__(self):
        cdef uint32_t i
        free(self.buckets)
        for i in range(self.operands.count):
            free(self.operands.items[i].texts)

    cdef int start(self, uint32_t level, uint32_t learn_after, int64_t credit) except -1:
        self.learn_after = learn_after
        self.credit = credit
        self.set_selectors(level)
        self.buckets = <Bucket *>calloc(bucket_count, sizeof(Bucket))
        if self.buckets == NULL:
            raise MemoryError
        # what does not move may be pointed to
        self.templates.reserve(template_limit)
        self.templates.resize(1)
        self.forms.resize(1)
        self.holes.reserve(hole_limit)
        self.characters.reserve(character_limit)
        self.comma = self.kept_span(b", ", <const char *>b", " + 2)
        return 0

    cdef void set_selectors(self, uint32_t level) noexcept nogil:
        """Where the opcode stands in the first word. A choice of too many bits would only cost templates."""
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

    cdef inline uint32_t key_of(self, uint32_t word) noexcept nogil:
        """The bits of a first word that choose its encoding and bucket, which all lines of a template share."""
        cdef const Selector *selector = &self.selectors[word >> 23]
        return 0xfc000000U | <uint32_t>selector.mask << selector.shift

    cdef inline const Template *first_match(self, uint32_t index, const uint32_t *words) noexcept nogil:
        """The first template from `index` on whose form the words are of; NULL if there is none."""
        cdef const Template *template
        while index:
            template = &self.templates[index]
            if _has_form(template, words):
                return template
            index = template.next
        return NULL

    cdef inline uint32_t print_line(self, Printer *t, const uint32_t *words) noexcept nogil:
        """Print the instruction at `words`, of which some dwords can be read; its length, 0 if no template does."""
        cdef char *begin = t.p
        cdef const Hole *holes
        cdef const Template *template = self.first_match(self.bucket_of(words[0]).first_template, words)
        while template != NULL:
            holes = &self.holes[template.first_hole]
            if _print_values(t, template, holes, words) \
                    and (template.rules == 0 or _form_holds(template, holes, &self.forms[template.rules], words, t.level)):
                self.credit += template.credit
                return template.dwords
            t.p = begin
            template = self.first_match(template.next, words)
        return 0

    cdef inline bint wants(self, uint32_t word) noexcept nogil:
        """Whether to learn from the line that begins with `word`: where it may be worth a template, if that can be paid, or its bucket has one."""
        cdef Bucket *bucket = self.bucket_of(word)
        if self.credit < template_cost:
            return False
        bucket.seen += bucket.seen < self.learn_after
        return bucket.learns or (bucket.seen == self.learn_after and bucket.tries < tries_limit)

    cdef void learn(self, Printer *t, const uint32_t *words, const Decoded *d, const char *begin) noexcept nogil:
        """Of a line that the slow path has printed from `begin` on: new kinds of values of a template, or a new template."""
        cdef Bucket *bucket = self.bucket_of(words[0])
        cdef const Template *template = self.first_match(bucket.first_template, words)
        while template != NULL:
            if self.accept(t, template, words, begin):
                return
            template = self.first_match(template.next, words)
        if bucket.seen == self.learn_after and bucket.tries < tries_limit:
            self.credit -= template_cost
            bucket.seen = 0
            bucket.tries += 1
            self.make(t, words, d, begin)

    cdef bint accept(self, Printer *t, const Template *template, const uint32_t *words, const char *begin) noexcept nogil:
        """Let a template print the kinds of values that it has here, if that makes the line that stands at `begin`."""
        cdef Hole trial[value_limit]
        cdef char line[line_limit]
        cdef Printer printer = t[0]
        cdef uint32_t i, kind
        cdef size_t length
        memcpy(trial, &self.holes[template.first_hole], template.holes * sizeof(Hole))
        for i in range(template.holes):
            kind = self.kind_here(t, &trial[i], words)
            if kind == kind_none:
                return False
            trial[i].accepted |= 1ULL << kind
        printer.p = line
        if not _print_values(&printer, template, trial, words):
            return False
        length = <size_t>(printer.p - line)
        if length != <size_t>(t.p - begin) or memcmp(line, begin, length) != 0:
            return False
        memcpy(&self.holes[template.first_hole], trial, template.holes * sizeof(Hole))
        return True

    cdef uint32_t kind_here(self, const Printer *t, const Hole *hole, const uint32_t *words) noexcept nogil:
        """The kind of the value that `words` have; an operand's text is made where there is none."""
        cdef uint32_t value = _value_of(hole, words)
        cdef uint32_t i
        if hole.kind == value_operand and hole.texts[value].kind == kind_unknown:
            for i in range(self.operands.count):
                if self.operands.items[i].texts <= hole.texts < self.operands.items[i].texts + operand_codes:
                    make_operand(t, &self.operands.items[i], <uint32_t>(hole.texts + value - self.operands.items[i].texts))
        return _kind_of(hole, value)

    cdef void make(self, Printer *t, const uint32_t *words, const Decoded *d, const char *begin) noexcept nogil:
        """A template of the form of `words`."""
        cdef ValueBits value_bits[value_limit]
        cdef ValueBits others[value_limit]
        cdef uint32_t plain[readable_dwords]
        cdef uint32_t vectors[readable_dwords]
        cdef Decoded zero
        cdef Template template
        cdef uint32_t key = self.key_of(words[0])
        cdef uint32_t vector_bits = 0
        cdef uint32_t i
        if not self.can_make(t, d):
            return
        memcpy(plain, words, sizeof(plain))
        # values of zero are those whose bits can be changed one by one: others have neighbours that mean something else
        _find_value_bits(&self.values, d, t.level, key, plain, value_bits)
        for i in range(self.values.count):
            plain[value_bits[i].word] &= ~turned_left(value_bits[i].mask, value_bits[i].rotation)
        _find_value_bits(&self.values, d, t.level, key, plain, value_bits)
        # a bit may mean something else among vector registers: the half of one, beside a constant
        memcpy(vectors, plain, sizeof(plain))
        for i in range(self.values.count):
            vectors[value_bits[i].word] |= turned_left(value_bits[i].mask & 256, value_bits[i].rotation)
            vector_bits |= value_bits[i].mask & 256
        if vector_bits:
            _find_value_bits(&self.values, d, t.level, key, vectors, others)
        for i in range(self.values.count):
            if value_bits[i].mask & 256:
                value_bits[i].mask &= others[i].mask
        decode(plain, d.dwords, t.level, &zero)
        if not same_form(d, &zero):
            return
        memset(&template, 0, sizeof(template))
        template.dwords = d.dwords
        template.first_hole = <uint16_t>self.holes.size()
        for i in range(self.values.count):
            if self.values.items[i].kind == value_literal or self.values.items[i].kind == value_plain_literal:
                value_bits[i].mask = 0xffffffffU
                value_bits[i].word = d.dwords - 1
        self.set_fixed_bits(&template, plain, d, value_bits)
        if _has_form(&template, words) and self.add_holes(t, &template, plain, d, &zero, value_bits, begin):
            template.scalar_limit = self.scalar_limit(&zero, d, t.level, value_bits)
            template.credit = credit_of_template
            if self.accept(t, &template, words, begin):
                self.add_template(&template, &zero, words[0])
                self.bucket_of(words[0]).learns = True
                return
        self.holes.resize(template.first_hole)

    cdef inline bint wants_plain(self, const Printer *t, const uint32_t *words, const Decoded *d) noexcept nogil:
        """Whether to make the template of a plain form: once for each opcode, when a few lines have it."""
        cdef Bucket *bucket = self.bucket_of(words[0])
        if d.format & lane_control:
            return bucket.tailed < tailed_limit and _has_tail(d, t.level, words[1]) and not self.takes_tails(bucket, words)
        if not _is_plain(d, t.level):
            return False
        if bucket.plain == plain_tried:
            return False
        bucket.plain += 1
        if bucket.plain <= plain_wait:
            return False
        bucket.plain = plain_tried
        return keeps_words(d, t.level, words)

    cdef bint takes_tails(self, const Bucket *bucket, const uint32_t *words) noexcept nogil:
        """Whether a template has the form of `words` with any lane control."""
        cdef const Template *template = self.first_match(bucket.first_template, words)
        while template != NULL:
            if template.holes and self.holes[template.first_hole + template.holes - 1].kind == value_tail:
                return True
            template = self.first_match(template.next, words)
        return False

    cdef void keep_tail(self, const Printer *t, const uint32_t *words, const Decoded *d) noexcept nogil:
        """Keep the lane control of a line that has just been printed, if templates may print it."""
        cdef ValueBits bits
        cdef Tail *tail
        cdef uint32_t key, slot
        if self.tails.count == tail_limit or self.characters.size() + line_limit > character_limit or not _has_tail(d, t.level, words[1]):
            return
        _tail_bits(d, t.level, &bits)
        key = words[1] >> bits.rotation | _tail_class(d) << 24
        slot = _tail_slot(&self.tails, key)
        if self.tails.slots[slot]:
            return
        tail = &self.tails.items[self.tails.count]
        self.tails.count += 1
        self.tails.slots[slot] = <uint16_t>self.tails.count
        tail.key = key
        tail.text = self.kept_span(t.tail, t.p)

    cdef void make_plain(self, Printer *t, const uint32_t *words, const Decoded *d, const char *begin) noexcept nogil:
        """A template of a form whose fields are known, and take every operand that has a text."""
        cdef ValueBits value_bits[value_limit]
        cdef Template template
        cdef Decoded form = d[0]
        cdef uint32_t i
        if not self.can_make(t, d):
            return
        memset(&template, 0, sizeof(template))
        template.dwords = d.dwords
        template.credit = credit_of_line
        template.first_hole = <uint16_t>self.holes.size()
        memset(value_bits, 0, self.values.count * sizeof(ValueBits))
        for i in range(self.values.count):
            if self.values.items[i].kind == value_operand:
                _plain_field(d, _slot_of(d, self.values.items[i].slot), &value_bits[i])
            elif self.values.items[i].kind == value_tail:
                _tail_bits(d, t.level, &value_bits[i])
                self.bucket_of(words[0]).tailed += 1
        self.set_fixed_bits(&template, words, d, value_bits)
        if self.add_holes(t, &template, words, d, &form, value_bits, begin):
            template.scalar_limit = self.scalar_limit(&form, d, t.level, value_bits)
            if self.accept(t, &template, words, begin):
                for i in range(template.holes):
                    self.holes[template.first_hole + i].accepted = ~(1ULL << kind_none | 1ULL << kind_unknown)
                self.add_template(&template, &form, words[0])
                return
        self.holes.resize(template.first_hole)

    cdef bint can_make(self, const Printer *t, const Decoded *d) noexcept nogil:
        """Whether the values of an instruction can be printed without looking at each other, and there is room for another template."""
        cdef bint literal = False
        cdef bint branch = False
        cdef uint32_t i
        if self.values.count > value_limit or self.templates.size() == template_limit or self.holes.size() + value_limit > hole_limit \
                or self.characters.size() + line_limit > character_limit or d.dwords - d.has_literal > form_dwords or t.any_register:
            return False
        if (d.format == format_mimg and t.level >= gfx12) or d.format == (format_vopd | format_vop3) or synchronises_globally(d.opcode) \
                or loads_scales(d.opcode):
            return False
        for i in range(self.values.count):
            if self.values.items[i].kind == value_half_literal:
                return False
            literal = literal or self.values.items[i].kind == value_literal or self.values.items[i].kind == value_plain_literal
            branch = branch or self.values.items[i].kind == value_scalar
        return literal == (d.has_literal != 0) and (branch or t.gap == NULL)

    cdef void set_fixed_bits(self, Template *template, const uint32_t *words, const Decoded *d, const ValueBits *value_bits) noexcept nogil:
        """The bits outside of all values."""
        cdef uint32_t fixed[form_dwords]
        cdef uint32_t i
        cdef int word
        for word in range(form_dwords):
            fixed[word] = 0xffffffffU if word < d.dwords - d.has_literal else 0
        for i in range(self.values.count):
            if value_bits[i].word < form_dwords:
                fixed[value_bits[i].word] &= ~turned_left(value_bits[i].mask, value_bits[i].rotation)
        template.mask = fixed[0] | <uint64_t>fixed[1] << 32
        memcpy(&template.bits, words, 8)
        template.bits &= template.mask
        template.third_mask = fixed[2]
        template.third_bits = words[2] & fixed[2]

    cdef bint add_holes(self, const Printer *t, Template *template, const uint32_t *plain, const Decoded *d, Decoded *zero,
                        const ValueBits *value_bits, const char *begin) noexcept nogil:
        """The values that have bits, and the characters before and behind each."""
        cdef const char *done = begin
        cdef const Value *value
        cdef Hole hole
        cdef uint32_t i
        for i in range(self.values.count):
            if value_bits[i].mask == 0:
                continue
            value = &self.values.items[i]
            memset(&hole, 0, sizeof(hole))
            hole.kind = <uint8_t>value.kind
            hole.word = value_bits[i].word
            hole.rotation = value_bits[i].rotation
            hole.mask = value_bits[i].mask
            hole.sign = value_bits[i].sign
            hole.name = value.name
            hole.number = <uint16_t>_tail_class(d) if value.kind == value_tail else d.opcode
            if value.kind == value_operand and not self.set_texts(t, &hole, value, zero, _slot_of(d, value.slot), plain):
                return False
            self.end_piece(template, done, value.begin)
            done = value.end
            self.holes.push_back(hole)
            template.holes += 1
        self.end_piece(template, done, t.p)
        return True

    cdef bint set_texts(self, const Printer *t, Hole *hole, const Value *value, Decoded *zero, uint32_t slot, const uint32_t *plain) noexcept nogil:
        cdef OperandTable *table = table_of(&self.operands, value.size, t.wide_null)
        cdef uint32_t address = _exchanged(_operand_at(zero, slot)[0], t.level)
        cdef int32_t first = <int32_t>(address >> 2) - <int32_t>_value_of(hole, plain)
        if table == NULL or address & 3 or first < 0 or first + hole.mask >= operand_codes:
            return False
        hole.texts = table.texts + first
        hole.number = <uint16_t>first
        hole.slot = <uint8_t>slot
        if slot < zero.source_count:
            hole.scalar = scalar_kinds()
        return True

    cdef Span kept_span(self, const char *begin, const char *end) noexcept nogil:
        """A copy of characters, for which there is room."""
        cdef Span span
        cdef size_t used = self.characters.size()
        span.length = <uint32_t>(end - begin)
        self.characters.resize(used + span.length + span_padding)
        memcpy(&self.characters[used], begin, span.length)
        span.text = &self.characters[used]
        return span

    cdef void end_piece(self, Template *template, const char *begin, const char *end) noexcept nogil:
        """The characters behind the last hole, or before the first."""
        cdef bint is_comma = end - begin == 2 and begin[0] == c',' and begin[1] == c' '
        cdef Span span = self.comma if is_comma else self.kept_span(begin, end)
        if template.holes:
            self.holes.back().after = span
        else:
            template.before = span

    cdef uint32_t scalar_limit(self, const Decoded *zero, const Decoded *d, uint32_t level, const ValueBits *value_bits) noexcept nogil:
        """How many of the sources can be scalar registers, all different."""
        cdef Decoded trial = zero[0]
        cdef uint32_t slots[value_limit]
        cdef uint32_t count = 0
        cdef uint32_t i
        for i in range(self.values.count):
            if value_bits[i].mask and self.values.items[i].kind == value_operand:
                slots[count] = _slot_of(d, self.values.items[i].slot)
                if slots[count] < d.source_count:
                    trial.source[slots[count]] = register_vgpr0
                    count += 1
        for i in range(count):
            trial.source[slots[i]] = <uint16_t>(8 * i)
            if not scalar_reads_fit(&trial, level):
                return i
        return count

    cdef void add_template(self, const Template *template, const Decoded *form, uint32_t word) noexcept nogil:
        cdef Bucket *bucket = self.bucket_of(word)
        self.templates.push_back(template[0])
        if form.format == format_vopd:
            self.templates.back().rules = <uint16_t>self.forms.size()
            self.forms.push_back(form[0])
        self.templates.back().next = bucket.first_template
        bucket.first_template = <uint16_t>(self.templates.size() - 1)
