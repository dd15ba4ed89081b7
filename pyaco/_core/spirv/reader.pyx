"""Reading a SPIR-V module: the order of the steps, entry points, execution modes, specialization, reflection.

The result is a Shader that the NIR validator accepts, with derefs and variables still in it (``docs/nir.md``).
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport strcmp
from libcpp.algorithm cimport stable_sort
from libcpp.vector cimport vector

from spirv_tables cimport *
from pyaco._core.common.bits cimport align_up
from pyaco._core.ir.compilation cimport Compilation, Reading
from pyaco._core.ir.metadata cimport ModuleFacts
from pyaco._core.ir.shader cimport *
from pyaco._core.ir.source_lines cimport line_unknown
from pyaco._core.spirv.constants cimport declare
from pyaco._core.spirv.control_flow cimport read_entry
from pyaco._core.spirv.emission cimport lists_begin
from pyaco._core.spirv.float_controls cimport float_control_mode
from pyaco._core.spirv.lines cimport SourceFile, find_source_files, line_of_source
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.repair cimport Repair, finish, new_repair
from pyaco._core.spirv.types cimport *

from pyaco.errors import InputError, UnsupportedError


cdef enum:
    most_invocations = 1024           # of a workgroup

cdef dict _MODEL_NAMES = {0: "vertex", 1: "tess_control", 2: "tess_eval", 3: "geometry", 4: "fragment", 5: "compute",
                          6: "kernel", 5267: "task", 5268: "mesh", 5364: "task", 5365: "mesh"}


cdef list _entry_points(Reader r):
    cdef size_t i
    return [(string_at(r, r.entries[i].name), _MODEL_NAMES.get(r.entries[i].model, f"model {r.entries[i].model}"))
            for i in range(r.entries.size())]


cdef object _entry(Reader r, object entry, str stage):
    """The row and name of the entry point of a name and stage, or of the only one of the stage."""
    cdef size_t i
    found = []
    for i in range(r.entries.size()):
        name = string_at(r, r.entries[i].name)
        if _MODEL_NAMES.get(r.entries[i].model) == stage and (entry is None or entry == name):
            found.append((i, name))
    if len(found) == 1:
        return found[0]
    names = [f"{name} ({model})" for name, model in _entry_points(r)]
    if len(found) > 1 and entry is None:
        found = [pair for pair in found if pair[1] == "main"] or found
    if not found:
        wanted = f"entry point {entry!r}" if entry is not None else "an entry point"
        others = [name for name in names if entry is None or name.rpartition(" (")[0] == entry]
        if stage == "compute" and others:
            other_stage = others[0].rpartition(" (")[2].removesuffix(")")
            raise UnsupportedError(f"{other_stage} shaders: the module has no compute entry point, it has: {', '.join(others)}")
        raise InputError(f"the module has no {stage} shader {wanted}; it has: {', '.join(names) or 'none'}")
    if len(found) > 1:
        raise InputError(f"the module has several {stage} entry points, name one: {', '.join(names)}")
    return found[0]


cdef uint32_t _id_constant(Reader r, uint32_t word, uint32_t cursor, uint32_t end) except? 0xffffffffU nogil:
    """The value of the integer constant whose id is the operand at `cursor`."""
    if cursor >= end:
        fail(r, word, "too few operands")
    if r.words[cursor] >= r.bound:
        fail(r, word, "operand id %u is outside the id bound", r.words[cursor])
    r.word = word
    return <uint32_t>integer_constant(r, r.words[cursor])


cdef int _execution_mode(Reader r, uint32_t word) except -1 nogil:
    cdef uint32_t end = word + length_at(r, word)
    cdef uint32_t mode = r.words[word + 2]
    cdef int i
    if mode == ExecutionMode_LocalSize:
        if end - word < 6:
            fail(r, word, "too few operands")
        for i in range(3):
            r.s.info.workgroup_size[i] = r.words[word + 3 + i]
    elif mode == ExecutionMode_LocalSizeId:
        for i in range(3):
            r.s.info.workgroup_size[i] = _id_constant(r, word, word + 3 + i, end)
    elif float_control_mode(r, word):
        pass
    elif mode == ExecutionMode_DerivativeGroupQuadsNV:
        r.s.info.derivative_group = derivatives_quads
    elif mode == ExecutionMode_DerivativeGroupLinearNV:
        r.s.info.derivative_group = derivatives_linear
    return 0


cdef int _refuse_workgroup_size(Reader r, uint64_t total) except -1:
    size = list(r.s.info.workgroup_size)
    if total == 0:
        raise InputError(f"a workgroup size of {size}: LocalSize is missing or out of range")
    if total > most_invocations:
        raise UnsupportedError(f"a workgroup of {size} = {total} invocations (at most {most_invocations})")
    if r.s.info.derivative_group == derivatives_quads:
        raise InputError(f"a workgroup size of {size}: DerivativeGroupQuads takes even numbers of rows and columns")
    raise InputError(f"a workgroup size of {size}: DerivativeGroupLinear takes multiples of four invocations")


cdef int _check_workgroup_size(Reader r) except -1 nogil:
    cdef const uint32_t *size = r.s.info.workgroup_size
    cdef uint64_t total = 1
    cdef int k
    for k in range(3):
        total *= size[k] if size[k] <= 65535 else 0
    if total == 0 or total > most_invocations or (r.s.info.derivative_group == derivatives_quads and (size[0] | size[1]) & 1) \
            or (r.s.info.derivative_group == derivatives_linear and total & 3):
        with gil:
            _refuse_workgroup_size(r, total)
    return 0


cdef int _execution_modes(Reader r, SpirvId function) except -1 nogil:
    cdef size_t i
    cdef int k
    cdef ConstantId row
    for i in range(3):
        r.s.info.workgroup_size[i] = 0
    for i in range(r.execution_modes.size()):
        if r.words[r.execution_modes[i] + 1] == function:
            _execution_mode(r, r.execution_modes[i])
    if r.workgroup_constant:
        row = r.payload[r.workgroup_constant]
        if not is_vector_or_scalar(r, r.constants[row].type) or r.s.types.components[r.constants[row].type] != 3:
            fail(r, r.offset[r.workgroup_constant], "a workgroup size that is not a vector of three integers")
        for k in range(3):
            r.s.info.workgroup_size[k] = <uint32_t>constant_component(r, row, k)
    return _check_workgroup_size(r)


cdef object _number(uint8_t base, int width, object bits):
    """Bits of a scalar type as a Python number."""
    import struct
    if base == type_bool:
        return bool(bits)
    if base == type_float:
        return struct.unpack({16: "<e", 32: "<f", 64: "<d"}[width], bits.to_bytes(width // 8, "little"))[0]
    if base == type_int and bits >> (width - 1):
        bits -= int(1) << width
    return bits


cdef uint64_t _default(Reader r, SpirvId id) noexcept nogil:
    """The value that a specialization constant has in the module."""
    cdef uint32_t word = r.offset[id]
    cdef uint64_t bits
    if opcode_at(r, word) != OpSpecConstant:
        return opcode_at(r, word) == OpSpecConstantTrue
    bits = r.words[word + 3]
    if length_at(r, word) > 4:
        return bits | <uint64_t>r.words[word + 4] << 32
    cdef uint32_t width = r.s.types.bit_size[r.constants[r.payload[id]].type]
    return bits & ((<uint64_t>1 << width) - 1)


cdef struct SpecRow:              # a specialization constant
    uint32_t number               # SpecId
    uint32_t name                 # word of its name, 0 none
    uint8_t base                  # type_* of a scalar
    uint8_t bit_size
    uint64_t default
    uint64_t bits                 # the value in use


cdef int _find_spec_constants(Reader r, vector[SpecRow] &rows) except -1 nogil:
    cdef size_t i
    cdef uint32_t word
    cdef SpirvId id
    cdef Constant *constant
    for i in range(r.spec_constants.size()):
        id = r.spec_constants[i]
        word = decoration_of(r, id, no_member, Decoration_SpecId)
        if word == 0 or r.kind[id] != kind_constant:
            continue
        constant = &r.constants[r.payload[id]]
        rows.push_back(SpecRow(r.words[word], r.name[id], r.s.types.base[constant.type], r.s.types.bit_size[constant.type], _default(r, id),
                               constant.bits))
    return 0


cdef dict _KINDS = {type_int: "int", type_uint: "uint", type_float: "float"}


cdef enum:                        # what a name is of
    name_of_variable, name_of_member, name_of_type

cdef struct NameRow:
    uint32_t what                 # name_of_*
    uint32_t row                  # VariableId or TypeId
    uint32_t member
    uint32_t word                 # of the name

cdef tuple _DESCRIPTOR_TYPES = ("ubo", "ssbo", "sampler", "sampled_image", "combined_image_sampler", "storage_image", "uniform_texel_buffer",
                                "storage_texel_buffer")    # by descriptor_kind_*


cdef class _Module(ModuleFacts):
    """What the module says of itself, and its names."""
    cdef bytes words
    cdef vector[NameRow] rows
    cdef vector[SpecRow] spec_constants
    cdef uint32_t version
    cdef uint32_t push_constant_bytes
    cdef uint32_t[3] workgroup_size

    cdef dict metadata(self):
        cdef const ReflectedBinding *rows = <const ReflectedBinding *>PyBytes_AS_STRING(self.bindings)
        cdef size_t i
        sets = {}
        for i in range(PyBytes_GET_SIZE(self.bindings) // sizeof(ReflectedBinding)):
            types = sorted(name for kind, name in enumerate(_DESCRIPTOR_TYPES) if rows[i].kinds >> kind & 1)
            sets.setdefault(rows[i].set, {})[rows[i].binding] = {"type": "|".join(types), "count": rows[i].count}
        return {
            "workgroup_size": list(self.workgroup_size), "descriptor_sets": sets, "push_constant_bytes": self.push_constant_bytes,
            "spec_constants": self.specialization(), "spirv_version": f"{self.version >> 16}.{self.version >> 8 & 0xff}",
        }

    cdef dict specialization(self):
        """Name, type, default and value in use of each specialization constant, by SpecId."""
        cdef SpecRow row
        found = {}
        for row in self.spec_constants:
            found[row.number] = {
                "name": string_in(self.words, row.name) if row.name else "",
                "type": "bool" if row.base == type_bool else f"{_KINDS[row.base]}{row.bit_size}",
                "default": _number(row.base, row.bit_size, row.default), "value": _number(row.base, row.bit_size, row.bits),
            }
        return found

    cdef int names(self, dict variables, dict members, dict types) except -1:
        cdef size_t i
        for i in range(self.rows.size()):
            name = string_in(self.words, self.rows[i].word)
            if self.rows[i].what == name_of_variable:
                variables[self.rows[i].row] = name
            elif self.rows[i].what == name_of_member:
                members[(self.rows[i].row, self.rows[i].member)] = name
            else:
                types[self.rows[i].row] = name
        return 0


cdef int _find_names(Reader r, vector[NameRow] &rows) except -1 nogil:
    """The names of types, members and variables of the shader."""
    cdef size_t i
    cdef uint32_t word
    cdef SpirvId id
    rows.reserve(r.names.size() + r.named_variables.size())
    for i in range(r.names.size()):
        word = r.names[i]
        id = r.words[word + 1]
        if id >= r.bound or r.kind[id] != kind_type:
            continue
        if opcode_at(r, word) == OpMemberName:
            rows.push_back(NameRow(name_of_member, r.payload[id], r.words[word + 2], word + 3))
        else:
            rows.push_back(NameRow(name_of_type, r.payload[id], 0, word + 2))
    for i in range(r.named_variables.size()):
        word = r.name[r.named_variables[i].id]
        if word:
            rows.push_back(NameRow(name_of_variable, r.named_variables[i].variable, 0, word))
    return 0


cdef bint _comes_before(const ReflectedBinding &a, const ReflectedBinding &b) noexcept nogil:
    return a.set < b.set or (a.set == b.set and a.binding < b.binding)


cdef int _sort_bindings(Reader r) except -1 nogil:
    """Put the bindings in order, each once: variables that share one may have it as several types, and one may name no count."""
    cdef size_t kept = 0
    cdef size_t i
    cdef ReflectedBinding *last
    stable_sort(r.bindings.begin(), r.bindings.end(), &_comes_before)
    for i in range(r.bindings.size()):
        last = &r.bindings[kept - 1]
        if kept and not _comes_before(last[0], r.bindings[i]):
            last.kinds |= r.bindings[i].kinds
            last.count = max(last.count, r.bindings[i].count) if last.count and r.bindings[i].count else 0
        else:
            r.bindings[kept] = r.bindings[i]
            kept += 1
    r.bindings.resize(kept)
    return 0


cdef uint32_t _push_constant_bytes(Reader r) except? 0xffffffffU nogil:
    cdef VariableId row
    cdef uint64_t size = 0
    for row in range(r.s.variables.table.count):
        if r.s.variables.mode[row] == mode_push_constant:
            size = max(size, end_of_type(r, r.s.variables.type[row]))
    if size > 0x10000:
        with gil:
            raise InputError(f"push constants of {size} bytes")
    return <uint32_t>align_up(size, 4)


cdef int _begin(Reader r) except -1 nogil:
    lists_begin(&r.nir, r.s)
    r.fast_math[0] = r.fast_math[1] = r.fast_math[2] = -1
    r.uint_type = add_type(r, type_uint, 32, 1)
    r.uint3_type = add_type(r, type_uint, 32, 3)
    r.s.types.element[r.uint3_type] = r.uint_type
    r.bool_type = add_type(r, type_bool, 1, 1)
    # of most modules; a vector that grows from nothing is allocated five times before
    r.names.reserve(32)
    r.decoration_rows.reserve(32)
    r.types.reserve(32)
    r.constants.reserve(32)
    return scan_words(r, declare)


# With the interpreter's lock that would be done where the reader is freed; and passes have use for the memory.
cdef extern from *:
    """
    template<class... Vectors> static inline void give_back(Vectors &... vectors) { (Vectors().swap(vectors), ...); }
    """
    void give_back(...) noexcept nogil


cdef void _give_back(Reader r, Repair repair) noexcept nogil:
    """Free what reading needed and nobody else does."""
    free(r.offset)
    r.offset = NULL
    give_back(r.decoration_rows, r.types, r.constants, r.constant_children, r.trees, r.buffer_pointers, r.texels, r.functions, r.parameters,
              r.blocks, r.joins, r.entries, r.execution_modes, r.names, r.module_variables, r.spec_constants, r.exits, r.labels, r.scratch,
              r.case_serial, r.case_of_block, r.builtin_values, r.deref_access, r.named_variables, r.zeroed_workgroup)
    give_back(r.nir.next_instruction, r.nir.block_head, r.nir.block_tail)
    give_back(repair.variable, repair.vector_types, repair.dominance.blocks, repair.dominance.position, repair.dominance.idom,
              repair.dominance.enter, repair.dominance.size, repair.dominance.ending)


cdef class _ModuleReading(Reading):
    cdef Reader r
    cdef Repair repair
    cdef _Module module
    cdef str stage
    cdef str entry                    # None: the only one of the stage
    cdef bytes entry_bytes
    cdef const char *entry_text       # of these; NULL: the only one of the stage
    cdef bint is_plain                # found by comparing these
    cdef size_t row                   # of Reader.entries
    cdef uint32_t name                # word of its name
    cdef vector[SourceFile] files

    cdef int read(self, Compilation *compilation) except -1 nogil:
        cdef SpirvId function
        _begin(self.r)
        self.choose_entry()
        if self.r.specialization is not None:
            self.check_specialization()
        function = self.r.entries[self.row].function
        if self.r.kind[function] != kind_function:
            fail(self.r, self.r.entries[self.row].word, "id %u is not a function", function)
        _execution_modes(self.r, function)
        read_entry(self.r, self.r.payload[function])
        line_of_source(self.r, 0, line_unknown)
        finish(self.r, self.repair)
        _find_names(self.r, self.module.rows)
        _find_spec_constants(self.r, self.module.spec_constants)
        find_source_files(self.r, self.files)
        self.r.s.info.push_constant_bytes = self.module.push_constant_bytes = _push_constant_bytes(self.r)
        _sort_bindings(self.r)
        compilation.reflected = <const char *>self.r.bindings.data()
        compilation.reflected_bytes = self.r.bindings.size() * sizeof(ReflectedBinding)
        compilation.has_matrices = self.r.has_matrices
        self.name = self.r.entries[self.row].name
        _give_back(self.r, self.repair)
        return 0

    cdef int choose_entry(self) except -1 nogil:
        """Without the interpreter where there is only one that it could be."""
        cdef size_t i
        cdef size_t found = 0
        for i in range(self.r.entries.size()):
            if self.r.entries[i].model == ExecutionModel_GLCompute and (
                    self.entry_text == NULL or strcmp(<const char *>&self.r.words[self.r.entries[i].name], self.entry_text) == 0):
                self.row = i
                found += 1
        if found != 1 or not self.is_plain:
            with gil:
                self.row, _ = _entry(self.r, self.entry, self.stage)
                if self.stage != "compute":
                    raise UnsupportedError(f"{self.stage} shaders")
        return 0

    cdef int check_specialization(self) except -1 with gil:
        unknown = set(self.r.specialization) - self.r.specialization_used
        if unknown:
            raise InputError(f"the module has no specialization constants {sorted(unknown)}")
        return 0

    cdef int report(self) except -1:
        cdef Reader r = self.r
        cdef dict known = r.shader.facts.known
        cdef _Module module = self.module
        module.words = r.owner
        module.version = r.version
        module.workgroup_size = r.s.info.workgroup_size
        module.bindings = PyBytes_FromStringAndSize(<const char *>r.bindings.data(), r.bindings.size() * sizeof(ReflectedBinding))
        known["entry"] = string_at(r, self.name)
        known["stage"] = self.stage
        known["source"] = r.owner
        if r.has_matrices:
            known["cooperative_matrices"] = True
        if self.files.size():
            known["source_files"] = {file.id: string_at(r, file.word) for file in self.files}
        r.shader.facts.module = module
        r.shader.unnamed = module
        return 0


def begin_reading(bytes source not None, str entry, dict specialization, str stage="compute"):
    """What reads one entry point of a module into ``shader``; the arguments are those of ``pyaco.spirv.read``."""
    cdef _ModuleReading reading = _ModuleReading()
    reading.r = Reader(source)
    reading.r.specialization = specialization
    reading.repair = new_repair()
    reading.module = _Module()
    reading.shader = reading.r.shader
    reading.stage, reading.entry = stage, entry
    reading.is_plain = stage == "compute" and (entry is None or "\0" not in entry)
    if entry is not None:
        reading.entry_bytes = entry.encode("utf-8", "replace")
        reading.entry_text = PyBytes_AS_STRING(reading.entry_bytes)
    return reading


def entry_points(bytes source not None):
    """Name and stage of every entry point of a module."""
    cdef Reader r = Reader(source)
    with nogil:
        _begin(r)
    return _entry_points(r)
