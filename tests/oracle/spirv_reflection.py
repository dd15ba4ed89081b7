"""What a driver of a compute shader must know of its SPIR-V: bindings, push constants, workgroup size, capabilities.

Independent of pyaco's own reader on purpose: it also judges it. Source: the SPIR-V specification, sections 2.3 and
3.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

MAGIC = 0x07230203

OP_ENTRY_POINT, OP_EXECUTION_MODE, OP_CAPABILITY, OP_EXTENSION = 15, 16, 17, 10
OP_TYPE_BOOL, OP_TYPE_INT, OP_TYPE_FLOAT, OP_TYPE_VECTOR, OP_TYPE_MATRIX = 20, 21, 22, 23, 24
OP_TYPE_IMAGE, OP_TYPE_SAMPLER, OP_TYPE_SAMPLED_IMAGE, OP_TYPE_ARRAY, OP_TYPE_RUNTIME_ARRAY = 25, 26, 27, 28, 29
OP_TYPE_STRUCT, OP_TYPE_POINTER = 30, 32
OP_CONSTANT, OP_CONSTANT_COMPOSITE = 43, 44
OP_SPEC_CONSTANT_TRUE, OP_SPEC_CONSTANT_FALSE, OP_SPEC_CONSTANT, OP_SPEC_CONSTANT_COMPOSITE = 48, 49, 50, 51
OP_SPEC_CONSTANT_OP, OP_VARIABLE, OP_DECORATE, OP_MEMBER_DECORATE, OP_EXECUTION_MODE_ID = 52, 59, 71, 72, 331
OP_FUNCTION = 54
DECORATION_SPEC_ID, DECORATION_BUFFER_BLOCK, DECORATION_ARRAY_STRIDE, DECORATION_BUILTIN = 1, 3, 6, 11
DECORATION_BINDING, DECORATION_DESCRIPTOR_SET, DECORATION_OFFSET = 33, 34, 35
MODE_LOCAL_SIZE, MODE_LOCAL_SIZE_ID = 17, 38
BUILTIN_WORKGROUP_SIZE = 25
STORAGE_UNIFORM, STORAGE_PUSH_CONSTANT, STORAGE_UNIFORM_CONSTANT, STORAGE_BUFFER = 2, 9, 0, 12


@dataclass(frozen=True)
class Binding:
    """One descriptor binding: ``kind`` is "storage", "uniform" or "image"; ``count`` 0 is a runtime-sized array."""

    set: int
    binding: int
    kind: str
    count: int
    type: int


@dataclass
class Reflection:
    bindings: list[Binding] = field(default_factory=list)
    push_size: int = 0
    local_size: tuple[int, int, int] = (1, 1, 1)
    capabilities: list[int] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    entries: list[tuple[int, str]] = field(default_factory=list)
    spec_types: dict[int, tuple[str, int]] = field(default_factory=dict)
    instruction_count: int = 0


class Module:
    """The declarations of a module, by id."""

    def __init__(self, spirv: bytes, spec: Mapping[int, int | float] | None = None) -> None:
        words = struct.unpack(f"<{len(spirv) // 4}I", spirv[: len(spirv) // 4 * 4])
        if len(words) < 5 or words[0] != MAGIC:
            raise ValueError("not SPIR-V")
        self.types: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.constants: dict[int, tuple[int, ...]] = {}
        self.constant_types: dict[int, int] = {}
        self.decorations: dict[int, dict[int, tuple[int, ...]]] = {}
        self.member_offsets: dict[int, dict[int, int]] = {}
        self.variables: list[tuple[int, int, int]] = []
        self.modes: list[tuple[int, tuple[int, ...]]] = []
        self.result = Reflection()
        self.spec = dict(spec or {})
        self._scan(words)

    def _scan(self, words: tuple[int, ...]) -> None:
        position = 5
        in_functions = False
        while position < len(words):
            length, opcode = words[position] >> 16, words[position] & 0xFFFF
            if length == 0 or position + length > len(words):
                raise ValueError(f"malformed instruction at word {position}")
            operands = words[position + 1 : position + length]
            position += length
            self.result.instruction_count += 1
            in_functions |= opcode == OP_FUNCTION
            if not in_functions:
                self._declaration(opcode, operands)

    def _declaration(self, opcode: int, operands: tuple[int, ...]) -> None:
        if opcode == OP_CAPABILITY:
            self.result.capabilities.append(operands[0])
        elif opcode == OP_EXTENSION:
            self.result.extensions.append(_text(operands))
        elif opcode == OP_ENTRY_POINT:
            self.result.entries.append((operands[0], _text(operands[2:])))
        elif opcode in (OP_EXECUTION_MODE, OP_EXECUTION_MODE_ID):
            self.modes.append((operands[1], operands[2:]))
        elif opcode == OP_DECORATE:
            self.decorations.setdefault(operands[0], {})[operands[1]] = operands[2:]
        elif opcode == OP_MEMBER_DECORATE and operands[2] == DECORATION_OFFSET:
            self.member_offsets.setdefault(operands[0], {})[operands[1]] = operands[3]
        elif OP_TYPE_BOOL <= opcode <= OP_TYPE_STRUCT or opcode == OP_TYPE_POINTER:
            self.types[operands[0]] = (opcode, operands[1:])
        elif opcode in (OP_CONSTANT, OP_CONSTANT_COMPOSITE, OP_SPEC_CONSTANT_COMPOSITE):
            self.constants[operands[1]] = operands[2:]
            self.constant_types[operands[1]] = operands[0]
        elif opcode in (OP_SPEC_CONSTANT, OP_SPEC_CONSTANT_TRUE, OP_SPEC_CONSTANT_FALSE, OP_SPEC_CONSTANT_OP):
            self._specialisable(opcode, operands)
        elif opcode == OP_VARIABLE:
            self.variables.append((operands[1], operands[0], operands[2]))

    def _specialisable(self, opcode: int, operands: tuple[int, ...]) -> None:
        type_id, identity = operands[:2]
        self.constant_types[identity] = type_id
        if opcode == OP_SPEC_CONSTANT_OP:
            self.constants[identity] = (self._operation(operands[2], operands[3:]),)
            return
        default = operands[2:] if opcode == OP_SPEC_CONSTANT else (int(opcode == OP_SPEC_CONSTANT_TRUE),)
        number = self.decorations.get(identity, {}).get(DECORATION_SPEC_ID)
        if number is not None:
            kind, parameters = self.types[type_id]
            name = {OP_TYPE_BOOL: "bool", OP_TYPE_INT: "int", OP_TYPE_FLOAT: "float"}[kind]
            self.result.spec_types[number[0]] = (name, parameters[0] if parameters else 32)
            if number[0] in self.spec:
                default = (int(self.spec[number[0]]) & 0xFFFFFFFF,)
        self.constants[identity] = default

    def _operation(self, opcode: int, operands: tuple[int, ...]) -> int:
        """The integer operations that array lengths use; 0 for all others."""
        values = [self.constants.get(operand, (0,))[0] for operand in operands]
        table: dict[int, Callable[[int, int], int]] = {
            128: lambda a, b: a + b, 130: lambda a, b: a - b, 132: lambda a, b: a * b,
            134: lambda a, b: a // b if b else 0, 135: lambda a, b: a // b if b else 0,
            137: lambda a, b: a % b if b else 0, 194: lambda a, b: a >> b, 196: lambda a, b: a << b,
            197: lambda a, b: a | b, 199: lambda a, b: a & b,
        }  # fmt: skip
        return table[opcode](*values) & 0xFFFFFFFF if opcode in table and len(values) == 2 else 0

    def size(self, type_id: int) -> int:
        """Bytes of an explicitly laid out type, counting a runtime array as one element."""
        opcode, operands = self.types[type_id]
        if opcode in (OP_TYPE_INT, OP_TYPE_FLOAT):
            return operands[0] // 8
        if opcode in (OP_TYPE_VECTOR, OP_TYPE_MATRIX):
            return self.size(operands[0]) * operands[1]
        if opcode in (OP_TYPE_ARRAY, OP_TYPE_RUNTIME_ARRAY):
            stride = self.decorations.get(type_id, {}).get(DECORATION_ARRAY_STRIDE, (self.size(operands[0]),))[0]
            return stride * (self.constants[operands[1]][0] if opcode == OP_TYPE_ARRAY else 1)
        if opcode == OP_TYPE_STRUCT:
            offsets = self.member_offsets.get(type_id, {})
            ends = [offsets.get(index, 0) + max(self.size(member), 0) for index, member in enumerate(operands)]
            return max(ends, default=0)
        return 8 if opcode == OP_TYPE_POINTER else 4

    def reflect(self) -> Reflection:
        for identity, pointer, storage in self.variables:
            pointee = self.types[pointer][1][1]
            decorations = self.decorations.get(identity, {})
            if storage == STORAGE_PUSH_CONSTANT:
                self.result.push_size = max(self.result.push_size, self.size(pointee))
            elif DECORATION_BINDING in decorations:
                self.result.bindings.append(self._binding(decorations, storage, pointee))
        self._local_size()
        return self.result

    def _binding(self, decorations: Mapping[int, tuple[int, ...]], storage: int, pointee: int) -> Binding:
        count = 1
        opcode, operands = self.types.get(pointee, (0, ()))       # none: a tensor or an acceleration structure
        if opcode in (OP_TYPE_ARRAY, OP_TYPE_RUNTIME_ARRAY):
            count = self.constants[operands[1]][0] if opcode == OP_TYPE_ARRAY else 0
            pointee = operands[0]
        if storage == STORAGE_UNIFORM_CONSTANT:
            kind = "image"
        elif storage == STORAGE_BUFFER or DECORATION_BUFFER_BLOCK in self.decorations.get(pointee, {}):
            kind = "storage"
        else:
            kind = "uniform"
        number = decorations.get(DECORATION_DESCRIPTOR_SET, (0,))[0]
        return Binding(number, decorations[DECORATION_BINDING][0], kind, count, pointee)

    def _local_size(self) -> None:
        for mode, operands in self.modes:
            if mode == MODE_LOCAL_SIZE:
                self.result.local_size = (operands[0], operands[1], operands[2])
            elif mode == MODE_LOCAL_SIZE_ID:
                x, y, z = (self.constants[operand][0] for operand in operands)
                self.result.local_size = (x, y, z)
        for identity, decorations in self.decorations.items():
            if decorations.get(DECORATION_BUILTIN) == (BUILTIN_WORKGROUP_SIZE,) and identity in self.constants:
                x, y, z = (self.constants[part][0] for part in self.constants[identity])
                self.result.local_size = (x, y, z)


def _text(words: tuple[int, ...]) -> str:
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode("utf-8", "replace")


def reflect(spirv: bytes, spec: Mapping[int, int | float] | None = None) -> Reflection:
    """Read the declarations of a SPIR-V module, with specialization constants given by number."""
    return Module(spirv, spec).reflect()
