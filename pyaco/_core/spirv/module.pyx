"""The words of a SPIR-V module as columns by id.

One pass over the words checks what can be checked without knowing what instructions mean: their lengths, the shapes of their operands (from
the table ``pyaco/spirv/data/opcodes.txt``), id bounds, single definitions, literal strings. Source: the SPIR-V specification 1.6, sections 2.3,
2.4 and 3.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memset, strcmp, strncmp

from spirv_tables cimport *
from pyaco._core.common.bits cimport lowest_bit
from pyaco._core.ir.shader cimport Shader, TypeId

from pyaco.errors import InputError, UnsupportedError

cdef enum:
    known_memory_operands = (MemoryAccess_Volatile | MemoryAccess_Aligned | MemoryAccess_Nontemporal | MemoryAccess_MakePointerAvailable
                             | MemoryAccess_MakePointerVisible | MemoryAccess_NonPrivatePointer)
    capability_gather_levels = 5009   # ImageGatherBiasLodAMD


cdef int fail(Reader r, uint32_t word, const char *text, uint32_t value=0) except -1 nogil:
    with gil:
        message = text.decode("utf-8", "replace")
        if "%u" in message:
            message = message.replace("%u", str(value))
        raise InputError(f"SPIR-V word {word}: {message}{_instruction_suffix(r, word)}")


cdef int unsupported(Reader r, uint32_t word, const char *text, const char *detail="") except -1 nogil:
    with gil:
        words = text.decode("utf-8", "replace") + detail.decode("utf-8", "replace")
        raise UnsupportedError(f"SPIR-V word {word}: {words}{_instruction_suffix(r, word)}")


cdef const char *_enumerant_name(int kind, uint32_t value) noexcept nogil:
    """The name of an enumerant of a kind (spirv_kind_*); NULL where none has that value."""
    cdef uint32_t first = 0
    cdef uint32_t end = spirv_named_count
    cdef uint32_t i
    while first < end:
        i = (first + end) // 2
        if spirv_named_kinds[i] < kind or (spirv_named_kinds[i] == kind and spirv_named_values[i] < value):
            first = i + 1
        else:
            end = i
    if first == spirv_named_count or spirv_named_kinds[first] != kind or spirv_named_values[first] != value:
        return NULL
    return spirv_named_names[first]


cdef int unsupported_enumerant(Reader r, uint32_t word, const char *text, int kind, uint32_t value) except -1 nogil:
    cdef const char *name = _enumerant_name(kind, value)
    if name == NULL:
        return fail(r, word, "unknown enumerant %u", value)
    return unsupported(r, word, text, name)


cdef str _instruction_suffix(Reader r, uint32_t word):
    cdef uint32_t opcode
    if word < 5 or word >= r.word_count:
        return ""
    opcode = r.words[word] & 0xffff
    if opcode >= spirv_opcode_count or spirv_names[opcode] == NULL:
        return ""
    return f" ({spirv_names[opcode].decode()})"


cdef class Reader:
    def __cinit__(self, bytes source):
        self.owner = source
        self.shader = Shader()
        self.s = &self.shader.data
        self.specialization_used = set()
        if PyBytes_GET_SIZE(source) < 20 or PyBytes_GET_SIZE(source) % 4:
            raise InputError(f"not a SPIR-V module: {PyBytes_GET_SIZE(source)} bytes (whole words, at least five)")
        if PyBytes_GET_SIZE(source) >= 1 << 30:
            raise InputError("a SPIR-V module of 1 GiB or more")
        self.words = <const uint32_t *>PyBytes_AS_STRING(source)
        self.word_count = <uint32_t>(PyBytes_GET_SIZE(source) // 4)
        if self.words[0] == 0x03022307:
            import numpy
            self.owner = numpy.frombuffer(source, "u4").byteswap().tobytes()
            self.words = <const uint32_t *>PyBytes_AS_STRING(self.owner)
        if self.words[0] != 0x07230203:
            raise InputError(f"not a SPIR-V module: word 0 is 0x{self.words[0]:08x} (0x07230203 expected)")
        self.version = self.words[1]
        if self.version < 0x10000 or self.version > 0x10600 or self.version & 0xff:
            raise InputError(f"SPIR-V word 1: version 0x{self.version:08x} (1.0 to 1.6 are known)")
        self.bound = self.words[3]
        if self.bound == 0 or self.bound > maximum_bound:
            raise InputError(f"SPIR-V word 3: an id bound of {self.bound} (1 to {maximum_bound})")
        if self.words[4] != 0:
            raise InputError(f"SPIR-V word 4: schema {self.words[4]} (0 expected)")
        # one allocation: five columns of words, one of bytes
        self.offset = <uint32_t *>calloc(self.bound, 5 * 4 + 1)
        if self.offset == NULL:
            raise MemoryError(f"columns for {self.bound} SPIR-V ids")
        self.payload = self.offset + self.bound
        self.decorations = self.payload + self.bound
        self.name = self.decorations + self.bound
        self.deref_of = self.name + self.bound
        self.kind = <uint8_t *>(self.deref_of + self.bound)

    def __dealloc__(self):
        free(self.offset)


cdef SpirvId result_type_of(Reader r, SpirvId id) noexcept nogil:
    cdef uint32_t word = r.offset[id]
    if word == 0 or spirv_shapes[r.words[word] & 0xffff][0] != c'T':
        return 0
    return r.words[word + 1]


cdef TypeId type_of_id(Reader r, SpirvId id) except 0xffffffffU nogil:
    if id >= r.bound or r.kind[id] != kind_type:
        fail(r, r.word, "id %u is not a type", id)
    return r.payload[id]


cdef uint32_t decoration_of(Reader r, SpirvId id, uint32_t member, uint32_t decoration) noexcept nogil:
    cdef uint32_t row = r.decorations[id]
    cdef uint32_t found
    while row:
        if r.decoration_rows[row - 1].group:
            if r.kind[id] != kind_group and r.decoration_rows[row - 1].member == member:
                found = decoration_of(r, r.decoration_rows[row - 1].group, no_member, decoration)
                if found:
                    return found
        elif (r.decoration_rows[row - 1].member == member
                and r.words[r.decoration_rows[row - 1].word] == decoration):
            return r.decoration_rows[row - 1].word + 1
        row = r.decoration_rows[row - 1].next
    return 0


cdef str string_at(Reader r, uint32_t word):
    return string_in(r.owner, word)


cdef str string_in(bytes words, uint32_t word):
    cdef const char *text = PyBytes_AS_STRING(words) + <size_t>word * 4
    cdef const void *end = memchr(text, 0, PyBytes_GET_SIZE(words) - <size_t>word * 4)
    if end == NULL:
        raise InputError(f"SPIR-V word {word}: a literal string without an end")
    return text[:<const char *>end - text].decode("utf-8", "replace")


# ----------------------------------------------------------------------------------------------------------- shape check
cdef uint32_t _string_words(Reader r, uint32_t word, uint32_t available) noexcept nogil:
    """How many words the literal string at `word` takes; 0 when it does not end within `available` words."""
    cdef uint32_t i
    cdef uint32_t bits
    for i in range(available):
        bits = r.words[word + i]
        if not (bits & 0xff and bits & 0xff00 and bits & 0xff0000 and bits & 0xff000000U):
            return i + 1
    return 0


cdef int _memory_operand_words(Reader r, uint32_t word, uint32_t cursor, uint32_t end) except -1 nogil:
    """How many words the memory operands at `cursor` take (section 3.26)."""
    cdef uint32_t mask = r.words[cursor]
    cdef uint32_t length = 1
    if mask & MemoryAccess_Aligned:
        length += 1
    if mask & MemoryAccess_MakePointerAvailable:
        length += 1
    if mask & MemoryAccess_MakePointerVisible:
        length += 1
    if mask & ~<uint32_t>known_memory_operands:
        unsupported_enumerant(r, word, "the memory operand ", spirv_kind_MemoryAccess,
                              <uint32_t>lowest_bit(mask & ~<uint32_t>known_memory_operands))
    if length > end - cursor:
        fail(r, word, "the mask of memory operands, %u, asks for more words than the instruction has", mask)
    return length


cdef inline int _check_id(Reader r, uint32_t word, uint32_t cursor) except -1 nogil:
    if r.words[cursor] == 0 or r.words[cursor] >= r.bound:
        fail(r, word, "operand id %u is outside the id bound", r.words[cursor])
    return 0


cdef int _check_ids(Reader r, uint32_t word, uint32_t first, uint32_t end) except -1 nogil:
    """The words from `first` to the end of an instruction, which are ids but in debug information of the older kind."""
    cdef uint32_t cursor
    if r.words[word] & 0xffff == OpExtInst and r.payload[r.words[word + 3]] == instruction_set_literals \
            and r.kind[r.words[word + 3]] == kind_instruction_set:
        return 0
    for cursor in range(first, end):
        _check_id(r, word, cursor)
    return 0


cdef int _check_pair(Reader r, uint32_t word, uint32_t cursor, uint32_t end, char letter) except -1 nogil:
    """Two operands, P, Q or U; returns the word behind them."""
    if letter == c'P' and r.words[word] & 0xffff == OpSwitch:
        return <int>end                   # the width of its literals depends on the selector: checked where it is read
    if cursor + 2 > end:
        fail(r, word, "an operand without the other of its pair")
    if letter != c'P':
        _check_id(r, word, cursor)
    if letter != c'U':
        _check_id(r, word, cursor + 1)
    return <int>(cursor + 2)


cdef int _check_shape(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    """Compare the operands of an instruction with its row of the table, and note where its result id is defined."""
    cdef uint32_t opcode = r.words[word] & 0xffff
    cdef const char *shape = spirv_shapes[opcode]
    cdef uint32_t cursor = word + 1
    cdef uint32_t count
    cdef char letter
    cdef char mark
    while shape[0]:
        letter = shape[0]
        mark = shape[1]
        if cursor >= end:
            if mark == c'?' or mark == c'*' or letter == c'A':
                break
            fail(r, word, "too few operands")
        if letter == c'T' or letter == c'I':
            if mark == c'*':
                return _check_ids(r, word, cursor, end)
            _check_id(r, word, cursor)
            cursor += 1
        elif letter == c'R':
            _check_id(r, word, cursor)
            if r.offset[r.words[cursor]]:
                fail(r, word, "id %u is defined twice", r.words[cursor])
            r.offset[r.words[cursor]] = word
            cursor += 1
        elif letter == c'L' or letter == c'E':
            cursor += 1
        elif letter == c'S':
            count = _string_words(r, cursor, end - cursor)
            if count == 0:
                fail(r, word, "a literal string without an end")
            cursor += count
        elif letter == c'M':
            cursor += _memory_operand_words(r, word, cursor, end)
        elif letter == c'P' or letter == c'Q' or letter == c'U':
            cursor = _check_pair(r, word, cursor, end, letter)
        else:                             # N, D, A: checked where they are read
            cursor = end
        if mark == c'*':
            continue
        shape += 2 if mark == c'?' else 1
    if cursor < end:
        fail(r, word, "too many operands")
    return 0


# ---------------------------------------------------------------------------------------------------------- declarations
cdef int _decorate(Reader r, SpirvId target, uint32_t member, uint32_t word, SpirvId group) except -1 nogil:
    cdef Decoration row
    row.word = word
    row.member = member
    row.group = group
    row.next = r.decorations[target]
    r.decoration_rows.push_back(row)
    r.decorations[target] = <uint32_t>r.decoration_rows.size()
    return 0


cdef int _check_decoration(Reader r, uint32_t word, uint32_t cursor, uint32_t end) except -1 nogil:
    """Check that the decoration at `cursor` has the operand that the reader relies on."""
    cdef uint32_t decoration = r.words[cursor]
    if (decoration == Decoration_SpecId or decoration == Decoration_ArrayStride or decoration == Decoration_Offset
            or decoration == Decoration_MatrixStride or decoration == Decoration_BuiltIn
            or decoration == Decoration_Binding or decoration == Decoration_DescriptorSet
            or decoration == Decoration_FPRoundingMode or decoration == Decoration_FPFastMathMode or decoration == Decoration_Alignment
            or decoration == Decoration_AlignmentId):
        if end - cursor < 2:
            fail(r, word, "a decoration without its operand")
    return 0


cdef int _annotation(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef uint32_t opcode = r.words[word] & 0xffff
    cdef uint32_t i
    if opcode == OpDecorate or opcode == OpDecorateId or opcode == OpDecorateString:
        if end - word < 3:
            fail(r, word, "too few operands")
        _check_decoration(r, word, word + 2, end)
        _decorate(r, r.words[word + 1], no_member, word + 2, 0)
    elif opcode == OpMemberDecorate or opcode == OpMemberDecorateString:
        if end - word < 4:
            fail(r, word, "too few operands")
        _check_decoration(r, word, word + 3, end)
        _decorate(r, r.words[word + 1], r.words[word + 2], word + 3, 0)
    elif opcode == OpGroupDecorate:
        for i in range(word + 2, end):
            _decorate(r, r.words[i], no_member, word, r.words[word + 1])
    elif opcode == OpGroupMemberDecorate:
        for i in range(word + 2, end - 1, 2):
            _decorate(r, r.words[i], r.words[i + 1], word, r.words[word + 1])
    return 0


cdef int _entry_point(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    cdef EntryPoint row
    row.word = word
    row.model = r.words[word + 1]
    row.function = r.words[word + 2]
    row.name = word + 3
    r.entries.push_back(row)
    return 0


cdef int _import(Reader r, uint32_t word) except -1 nogil:
    cdef SpirvId id = r.words[word + 1]
    cdef const char *name = <const char *>&r.words[word + 2]
    r.kind[id] = kind_instruction_set
    if strcmp(name, "GLSL.std.450") == 0:
        r.payload[id] = instruction_set_glsl
    elif strcmp(name, "NonSemantic.Shader.DebugInfo.100") == 0:
        r.payload[id] = instruction_set_debug
    elif strcmp(name, "SPV_AMD_shader_trinary_minmax") == 0:
        r.payload[id] = instruction_set_trinary
    elif strcmp(name, "SPV_AMD_gcn_shader") == 0:
        r.payload[id] = instruction_set_gcn
    elif strcmp(name, "SPV_AMD_shader_ballot") == 0:
        r.payload[id] = instruction_set_ballot
    elif strcmp(name, "DebugInfo") == 0 or strcmp(name, "OpenCL.DebugInfo.100") == 0:
        r.payload[id] = instruction_set_literals
    elif strncmp(name, "NonSemantic.", 12) == 0:
        r.payload[id] = instruction_set_ignored
    else:
        r.payload[id] = instruction_set_other
    return 0


cdef bint is_non_semantic(Reader r, uint32_t word) noexcept nogil:
    cdef uint32_t opcode = r.words[word] & 0xffff
    if opcode != OpExtInst and opcode != OpExtInstWithForwardRefsKHR:
        return False
    return r.kind[r.words[word + 3]] == kind_instruction_set and \
        r.payload[r.words[word + 3]] in (instruction_set_ignored, instruction_set_debug, instruction_set_literals)


# -------------------------------------------------------------------------------------------------------------- functions
cdef inline bint _is_terminator(uint32_t opcode) noexcept nogil:
    return (OpBranch <= opcode <= OpUnreachable or opcode == OpTerminateInvocation or opcode == OpIgnoreIntersectionKHR
            or opcode == OpTerminateRayKHR or opcode == OpEmitMeshTasksEXT)


cdef struct Scan:                 # what the instruction being scanned is in
    uint32_t function             # FunctionId + 1, 0: outside functions
    uint32_t block                # BlockId + 1, 0: between blocks


cdef int _begin_function(Reader r, Scan *scan, uint32_t word) except -1 nogil:
    cdef Function row
    if scan.function:
        fail(r, word, "a function inside a function")
    memset(&row, 0, sizeof(row))
    row.id = r.words[word + 2]
    row.word = word
    row.first_block = <uint32_t>r.blocks.size()
    row.first_parameter = <uint32_t>r.parameters.size()
    r.functions.push_back(row)
    scan.function = <uint32_t>r.functions.size()
    r.kind[row.id] = kind_function
    r.payload[row.id] = scan.function - 1
    return 0


cdef int _begin_block(Reader r, Scan *scan, uint32_t word) except -1 nogil:
    cdef Block row
    if scan.block:
        fail(r, word, "the previous block has no terminator")
    memset(&row, 0, sizeof(row))
    row.id = r.words[word + 1]
    row.word = word + 2
    row.function = scan.function - 1
    r.blocks.push_back(row)
    scan.block = <uint32_t>r.blocks.size()
    r.functions[scan.function - 1].block_count += 1
    r.kind[row.id] = kind_label
    r.payload[row.id] = scan.block - 1
    return 0


cdef int _function_instruction(Reader r, Scan *scan, uint32_t word) except -1 nogil:
    """An instruction between OpFunction and OpFunctionEnd."""
    cdef uint32_t opcode = r.words[word] & 0xffff
    if opcode == OpFunctionParameter:
        if r.functions[scan.function - 1].block_count:
            fail(r, word, "a parameter after the first block")
        r.parameters.push_back(r.words[word + 2])
        r.functions[scan.function - 1].parameter_count += 1
    elif opcode == OpFunctionEnd:
        if scan.block:
            fail(r, word, "the previous block has no terminator")
        scan.function = 0
    elif opcode == OpLabel:
        _begin_block(r, scan, word)
    elif opcode == OpLine or opcode == OpNoLine or (scan.block == 0 and is_non_semantic(r, word)):
        pass                              # DXC writes DebugNoScope behind the last terminator
    elif not scan.block:
        fail(r, word, "an instruction outside a block")
    elif opcode == OpSelectionMerge or opcode == OpLoopMerge:
        if r.blocks[scan.block - 1].merge:
            fail(r, word, "a second merge instruction in a block")
        r.blocks[scan.block - 1].merge = word
    elif opcode == OpPhi:
        r.blocks[scan.block - 1].has_phi = 1
    elif _is_terminator(opcode):
        r.blocks[scan.block - 1].terminator = word
        if opcode == OpReturnValue:
            r.functions[scan.function - 1].return_values += 1
        scan.block = 0
    return 0


cdef int _module_instruction(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    """Read an instruction outside functions that declares no type, constant or variable; returns 0 for one that does."""
    cdef uint32_t opcode = r.words[word] & 0xffff
    if OpDecorate <= opcode <= OpGroupMemberDecorate and opcode != OpDecorationGroup:
        _annotation(r, word, end)
    elif opcode == OpDecorationGroup:
        r.kind[r.words[word + 1]] = kind_group
    elif opcode == OpDecorateId or opcode == OpDecorateString or opcode == OpMemberDecorateString:
        _annotation(r, word, end)
    elif opcode == OpName:
        r.names.push_back(word)
        r.name[r.words[word + 1]] = word + 2
    elif opcode == OpMemberName:
        r.names.push_back(word)
    elif opcode == OpExtInstImport:
        _import(r, word)
    elif opcode == OpEntryPoint:
        _entry_point(r, word, end)
    elif opcode == OpExecutionMode or opcode == OpExecutionModeId:
        if end - word < 3:
            fail(r, word, "too few operands")
        r.execution_modes.push_back(word)
    elif opcode == OpCapability:
        if _enumerant_name(spirv_kind_Capability, r.words[word + 1]) == NULL:
            fail(r, word, "unknown capability %u", r.words[word + 1])
        if r.words[word + 1] == capability_gather_levels:
            r.gathers_have_levels = True
    elif opcode == OpString:
        r.kind[r.words[word + 1]] = kind_string
    elif opcode == OpMemoryModel:
        if r.words[word + 1] == AddressingModel_Physical32 or r.words[word + 1] == AddressingModel_Physical64:
            unsupported_enumerant(r, word, "the addressing model ", spirv_kind_AddressingModel, r.words[word + 1])
        r.memory_model = r.words[word + 2]
    elif (opcode == OpNop or OpSourceContinued <= opcode <= OpSourceExtension or opcode == OpExtension
            or opcode == OpLine or opcode == OpNoLine or opcode == OpModuleProcessed):
        pass
    else:
        return 0
    return 1


cdef int scan_words(Reader r, Declare declare) except -1 nogil:
    cdef uint32_t word = 5
    cdef uint32_t length
    cdef uint32_t opcode
    cdef Scan state
    memset(&state, 0, sizeof(state))
    while word < r.word_count:
        opcode = r.words[word] & 0xffff
        length = r.words[word] >> 16
        if length == 0 or length > r.word_count - word:
            fail(r, word, "an instruction of %u words reaches beyond the module", length)
        if opcode >= spirv_opcode_count or spirv_shapes[opcode] == NULL:
            fail(r, word, "unknown opcode %u", opcode)
        r.word = word
        _check_shape(r, word, word + length)
        if opcode == OpFunction:
            _begin_function(r, &state, word)
        elif state.function:
            _function_instruction(r, &state, word)
        elif not _module_instruction(r, word, word + length):
            declare(r, word, word + length)
        word += length
    if state.function:
        fail(r, r.word, "the module ends inside a function")
    return 0
