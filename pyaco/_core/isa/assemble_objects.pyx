"""Instructions given as Python objects to machine code, and statements of text as Python objects.

The statement that text would become is filled from the objects, and the assembler's own functions make words of it. Strings
are read as text is: names of registers, labels and other symbols, messages, attributes. Positions of errors mean nothing in a statement
of objects; for the message, the caller has the same statement read as text.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from isa_tables cimport opcode_format
from pyaco._core.common.machine cimport format_sopp, gfx12_5, gfx13
from pyaco._core.isa.assemble_text cimport *
from pyaco._core.isa.text_tables cimport domain_modifier, find_name
from pyaco._core.isa.operand cimport Operand as PythonOperand, register_operand
from pyaco._core.isa.statement cimport *
from pyaco._core.isa.statement import MODIFIERS, MODIFIERS_12_5, MODIFIERS_13
from pyaco.errors import InputError

cdef const char *nowhere = b""


cdef list _names_of(dict later):
    """Names of modifiers by number, on a level that has `later` in the places of others."""
    cdef list names = [""] * modifier_count
    for name, number in (*MODIFIERS.items(), *later.items()):
        if name != "inst_offset":
            names[number] = name
    names[given_dpp_ctrl] = "dpp_ctrl"
    return names

cdef list modifier_names = _names_of({})
cdef list modifier_names_12_5 = _names_of(MODIFIERS_12_5)
cdef list modifier_names_13 = _names_of(MODIFIERS_13)


cdef class ObjectAssembler(Assembler):
    """Assembles instructions one by one; ``code`` has the bytes once ``close`` has filled in the labels."""

    cdef list kept                    # bytes that statements and fixups point into
    cdef list owners                  # (bytes, what the caller calls the instruction) of fixups

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.kept = []
        self.owners = []
        self.j.c.start = nowhere

    def knows(self, str mnemonic):
        """Whether the target has an instruction of this name, with or without a suffix."""
        cdef Job *j = &self.j
        self.point_at(&j.s, mnemonic)
        cdef bint known = find_opcode(j) >= 0
        j.c.failed = False
        return known

    def add(self, str mnemonic, operands, dict modifiers, second=None, owner=None):
        """Append an instruction. Returns None, or what is wrong with it.

        `second` is (mnemonic, operands) of the other half of a dual instruction; `owner` comes back from ``close`` when a symbol
        of the instruction has no value.
        """
        cdef Job *j = &self.j
        cdef Cursor *c = &j.c
        cdef int32_t found
        cdef int length = 0
        cdef Py_ssize_t before = len(self.kept)
        c.p = nowhere
        c.here = self.here()
        c.failed = False
        self.point_at(&j.s, mnemonic)
        found = find_opcode(j)
        if found >= 0:
            clear_instruction(j, <uint16_t>(found & 0xffff), opcode_format[found & 0xffff])
            if not operands and modifiers and opcode_format[found & 0xffff] == format_sopp:
                length = self.call_list(modifiers)
            else:
                self.fill_statement(&j.s, operands, modifiers)
                if second is not None and not c.failed:
                    self.point_at(&j.second, second[0])
                    self.fill_statement(&j.second, second[1], None)
                c.p = nowhere
                if not c.failed:
                    length = statement_words(j, <uint16_t>(found & 0xffff)) if second is None else vopd(j, <uint16_t>(found & 0xffff))
        if c.failed:
            del self.kept[before:]
            return (<bytes>c.message).decode(errors="replace")
        self.emit(length)
        if j.branch_expression == NULL and j.literal_expression == NULL:
            del self.kept[before:]
        else:
            self.owners += [(entry, owner) for entry in self.kept[before:]]
        return None

    def label(self, str name):
        """Define a label here. Returns None, or what is wrong."""
        cdef bytes text = name.encode()
        cdef const char *begin = text
        self.j.c.failed = False
        self.define(begin, begin + len(text), self.here(), self.j.c.section, True)
        return (<bytes>self.j.c.message).decode(errors="replace") if self.j.c.failed else None

    def append(self, const unsigned char[::1] bytes_):
        """Append bytes as they are."""
        cdef Py_ssize_t i
        for i in range(bytes_.shape[0]):
            self.put(bytes_[i], 1)

    def close(self):
        """Fill in symbols. Returns None, or (owner of the instruction, what is wrong)."""
        cdef const char *at
        cdef bytes entry
        self.j.c.failed = False
        self.resolve()
        if not self.j.c.failed:
            return None
        message = (<bytes>self.j.c.message).decode(errors="replace")
        at = self.j.c.failed_at
        for entry, owner in self.owners:
            if PyBytes_AS_STRING(entry) <= at <= PyBytes_AS_STRING(entry) + PyBytes_GET_SIZE(entry):
                return owner, message
        return None, message

    cdef void point_at(self, Statement *s, str mnemonic):
        cdef Py_ssize_t size
        s.mnemonic = PyUnicode_AsUTF8AndSize(mnemonic, &size)
        s.mnemonic_length = <uint32_t>size

    cdef const char *keep(self, str text):
        cdef bytes encoded = text.encode().replace(b"\0", b"?").replace(b"\n", b"?")
        self.kept.append(encoded)
        return encoded

    cdef int call_list(self, dict modifiers):
        """``s_waitcnt(vmcnt=0)``: the list of calls that text writes."""
        self.j.c.p = self.keep(" & ".join(f"{name}({value})" for name, value in modifiers.items()))
        if not is_call_list(&self.j, self.j.d.opcode):
            self.fill_statement(&self.j.s, (), modifiers)
            self.j.c.p = nowhere
            return 0 if self.j.c.failed else statement_words(&self.j, self.j.d.opcode)
        call_list(&self.j)
        return 0 if self.j.c.failed else encode_job(&self.j)

    cdef void fill_statement(self, Statement *s, operands, dict modifiers):
        """Fill a statement but for its mnemonic."""
        clear_statement(s)
        for value in operands:
            if isinstance(value, (list, tuple)):
                if s.list_count:
                    fail_plain(&self.j.c, nowhere, b"a second list of registers")
                s.list_first = s.count
                for part in value:
                    self.operand(s, part)
                s.list_count = s.count - s.list_first
            else:
                self.operand(s, value)
        if modifiers is not None:
            for name, value in modifiers.items():
                self.modifier(s, name, value)

    cdef void operand(self, Statement *s, value):
        cdef Cursor *c = &self.j.c
        cdef Operand *o
        cdef PythonOperand given
        cdef const char *end
        if s.count >= operand_limit:
            fail_plain(c, nowhere, b"too many operands")
            return
        o = &s.operands[s.count]
        s.count += 1
        clear_operand(o, nowhere)
        c.p = nowhere
        if type(value) is PythonOperand:
            given = <PythonOperand>value
            if given.value is None:
                o.kind = operand_register
                o.address = given.address
                o.dwords = given.dwords
                o.half = given.half
                check_register(c, o)
            else:
                self.constant(o, given.value)
            o.is_literal = given.literal
            o.negative = given.negative
            o.magnitude = given.magnitude
            o.sign_extended = given.sign_extended
            note_signs(s, o)
        elif isinstance(value, str):
            c.p = self.keep(value)
            end = c.p + PyBytes_GET_SIZE(self.kept[len(self.kept) - 1])
            if s.count == 1 and starts_with(s.mnemonic, b"exp"):
                # the target of exp is a word, whatever else it names
                o.begin = c.p
                o.end = end
                c.p = nowhere
                return
            parse_operand(c, o)
            note_signs(s, o)
            if not c.failed and c.p != end:
                fail(c, c.p, b"% is not an operand", o.begin, end)
        else:
            self.constant(o, value)

    cdef void constant(self, Operand *o, value):
        cdef int overflow = 0
        if isinstance(value, float):
            o.kind = operand_float
            o.number = value
            return
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            fail_plain(&self.j.c, nowhere, b"an operand is a register, a number or text")
            return
        value = value.__index__()
        o.kind = operand_integer
        o.integer = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            if not 0 < value < 1 << 64:
                fail_plain(&self.j.c, nowhere, b"a number beyond 64 bits")
            else:
                o.integer = <int64_t><uint64_t>value

    cdef void modifier(self, Statement *s, str name, value):
        """A modifier from its name and value; a value that is a string is read as text is."""
        cdef Cursor *c = &self.j.c
        cdef Py_ssize_t size
        cdef const char *text = PyUnicode_AsUTF8AndSize(name, &size)
        cdef int32_t number = find_name(c.names, domain_modifier, text, <uint32_t>size)
        cdef uint32_t kind
        if name == "dpp_ctrl":
            number = given_dpp_ctrl
        if number < 0 or isinstance(value, str) or (number < modifier_count and value_kind(number) == value_later):
            self.modifier_text(s, name, value)
            return
        kind = value_kind(number & 0xff)
        if kind == value_flag:
            if not isinstance(value, (bool, int)):
                fail_plain(c, nowhere, b"a modifier without a value is True or False")
            else:
                give(c, s, number & 0xff, bool(value) != (number >= 0x100), nowhere)
        elif kind == value_bits or kind == value_lanes:
            give(c, s, number, self.list_value(number, kind, value), nowhere)
        elif not hasattr(type(value), "__index__") or not -1 << 63 <= value < 1 << 63:
            fail_plain(c, nowhere, b"the value of this modifier is a number")
        else:
            give(c, s, number, value, nowhere)
            s.value_positions[number] = nowhere

    cdef void modifier_text(self, Statement *s, str name, value):
        cdef Cursor *c = &self.j.c
        cdef const char *end
        text = name if value is True else f"{name}:{value}"
        c.p = self.keep(text)
        end = c.p + PyBytes_GET_SIZE(self.kept[len(self.kept) - 1])
        if not parse_modifier(c, s) and not c.failed:
            fail(c, c.p, b"this instruction has no modifier %", c.p, end)
        elif not c.failed and c.p != end:
            fail(c, c.p, b"% is not a value of a modifier", c.p, end)
        c.p = nowhere

    cdef int64_t list_value(self, int32_t number, uint32_t kind, value):
        """A list of bits with their count from bit 8, or of lanes."""
        cdef uint32_t width = 1 if kind == value_bits else 3 if number == given_dpp8 else 2
        cdef int64_t packed = 0
        cdef uint32_t count = 0
        cdef uint32_t expected = 0 if kind == value_bits else 8 if number == given_dpp8 else 4
        if not isinstance(value, (list, tuple)) or (len(value) != expected if expected else not 1 <= len(value) <= 4):
            fail_plain(&self.j.c, nowhere, b"the value of this modifier is a list: of up to four bits, or of four or eight lanes")
            return 0
        for entry in value:
            if not hasattr(type(entry), "__index__") or not 0 <= entry < 1 << width:
                fail_plain(&self.j.c, nowhere, b"an entry of this modifier's list is out of range")
                return 0
            packed |= <int64_t>entry << (width * count)
            count += 1
        return packed | <int64_t>count << 8 if kind == value_bits else packed

    # ---------------------------------------------------------------------------------------------- text to objects
    def statement(self, str line):
        """(mnemonic, operands, modifiers, second half or None) of a line of text that is an instruction."""
        cdef Job *j = &self.j
        cdef Cursor *c = &j.c
        cdef int32_t found
        cdef bytes text = line.encode()
        cdef const char *begin = text
        c.p = begin
        c.failed = False
        skip_blanks(c)
        j.s.mnemonic = c.p
        c.p = word_end(c.p)
        j.s.mnemonic_length = <uint32_t>(c.p - j.s.mnemonic)
        mnemonic = j.s.mnemonic[:j.s.mnemonic_length].decode()
        found = find_opcode(j)
        result = None
        if found >= 0:
            clear_instruction(j, <uint16_t>(found & 0xffff), opcode_format[found & 0xffff])
            skip_blanks(c)
            if opcode_format[found & 0xffff] == format_sopp and is_call_list(j, j.d.opcode):
                call_list(j)
                result = (mnemonic, (j.d.immediate,), {}, None)
            else:
                parse_statement(c, &j.s)
                second = None
                if not c.failed and c.p[0] == c':':
                    parse_second(j)
                    second = (j.second.mnemonic[:j.second.mnemonic_length].decode(), _operand_objects(&j.second))
                result = (mnemonic, _operand_objects(&j.s), _modifier_objects(&j.s, c.level), second)
        if c.failed:
            message = (<bytes>c.message).decode(errors="replace")
            c.failed = False
            raise InputError(f"column {c.failed_at - begin + 1}: {message}")
        return result


cdef tuple _operand_objects(const Statement *s):
    cdef list made = [_operand_object(&s.operands[i]) for i in range(s.count)]
    if s.list_count:
        made[s.list_first:s.list_first + s.list_count] = [tuple(made[s.list_first:s.list_first + s.list_count])]
    return tuple(made)


cdef object _operand_object(const Operand *o):
    cdef PythonOperand made
    if o.kind == operand_register:
        made = register_operand(o.address, o.dwords, o.half)
    elif o.kind == operand_integer or o.kind == operand_float:
        value = <object>o.integer if o.kind == operand_integer else <object>o.number
        if not (o.is_literal or o.negative or o.magnitude or o.sign_extended):
            return value
        made = register_operand(0, 1, -1)
        made.value = value
    else:
        return o.begin[:o.end - o.begin].decode()
    made.literal = o.is_literal
    made.negative = o.negative
    made.magnitude = o.magnitude
    made.sign_extended = o.sign_extended
    return made


cdef dict _modifier_objects(const Statement *s, uint32_t level):
    cdef dict made = {}
    cdef list names = modifier_names_13 if level >= gfx13 else modifier_names_12_5 if level >= gfx12_5 else modifier_names
    cdef int number
    cdef uint32_t i
    cdef int64_t value
    for number in range(modifier_count):
        if not s.given >> number & 1:
            continue
        value = s.values[number]
        kind = value_kind(number)
        if kind == value_flag:
            entry = value != 0
        elif kind == value_bits:
            entry = tuple([value >> i & 1 for i in range(<uint32_t>(value >> 8))])
        elif number == given_dpp8:
            entry = tuple([value >> 3 * i & 7 for i in range(8)])
        elif number == given_quad_perm:
            entry = tuple([value >> 2 * i & 3 for i in range(4)])
        elif kind == value_later:
            entry = _later_text(s.value_positions[number])
        else:
            entry = value
        made[names[number]] = entry
    return made


cdef str _later_text(const char *begin):
    cdef const char *end = word_end(begin)
    if begin[0] == c'[':
        while end[0] and end[0] != c'\n' and end[0] != c']':
            end += 1
        end += end[0] == c']'
    return begin[:end - begin].decode()
