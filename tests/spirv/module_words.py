"""SPIR-V modules put together word by word, for tests that generate many of them."""

from __future__ import annotations

import struct
from importlib import resources
from typing import Any

import numpy as np


def _numbers(file: str, key: int, value: int) -> dict[str, int]:
    rows = (line.split("#")[0].split() for line in (resources.files("pyaco.spirv") / "data" / file).read_text().splitlines())
    return {row[key] if file == "opcodes.txt" else f"{row[0]} {row[key]}": int(row[value]) for row in rows if row}


OPCODES = _numbers("opcodes.txt", 1, 0)
ENUMERANTS = _numbers("enumerants.txt", 1, 2)


def enumerant(kind: str, *names: str) -> int:
    """Return the value of an enumerant, or of the union of several."""
    return sum(ENUMERANTS[f"{kind} {name}"] for name in names)


def text(value: str) -> list[int]:
    """Return a literal string as words."""
    raw = value.encode() + b"\0"
    return list(struct.unpack(f"<{-(-len(raw) // 4)}I", raw.ljust(-(-len(raw) // 4) * 4, b"\0")))


class Module:
    """A compute module with one function ``main``; every method that names a result returns its id.

    Types and constants are made once for each set of operands. What a method appends goes to its own section, so that a module can be
    written in the order in which it is thought of.
    """

    def __init__(self, local_size: tuple[int, int, int], *capabilities: str, addressing: str = "Logical") -> None:
        self.bound = 1
        self.head: list[int] = []
        self.annotations: list[int] = []
        self.globals: list[int] = []
        self.variables: list[int] = []
        self.body: list[int] = []
        self.interface: list[int] = []
        self.known: dict[tuple[Any, ...], int] = {}
        self.main, self.local_size = self.id(), local_size
        for name in ("Shader", *capabilities):
            self.emit(self.head, "Capability", enumerant("Capability", name))
        self.memory_model = [enumerant("AddressingModel", addressing), enumerant("MemoryModel", "GLSL450")]

    def id(self) -> int:
        """Return a new id."""
        self.bound += 1
        return self.bound - 1

    def emit(self, section: list[int], opcode: str, *operands: int) -> None:
        """Append an instruction."""
        section += [len(operands) + 1 << 16 | OPCODES[opcode], *operands]

    def decorate(self, target: int, name: str, *operands: int, member: int | None = None) -> None:
        """Decorate an id, or a member of a struct."""
        decorated = (target,) if member is None else (target, member)
        self.emit(self.annotations, "Decorate" if member is None else "MemberDecorate", *decorated, enumerant("Decoration", name), *operands)

    def type(self, opcode: str, *operands: int, fresh: bool = False) -> int:
        """Return a type; `fresh` one that is no other's, to be decorated."""
        key = (opcode, *operands)
        if fresh or key not in self.known:
            self.known[key] = self.id()
            self.emit(self.globals, f"Type{opcode}", self.known[key], *operands)
        return self.known[key]

    def uint(self, bits: int = 32, components: int = 1) -> int:
        """Return the type of an unsigned integer or a vector of them."""
        scalar = self.type("Int", bits, 0)
        return scalar if components == 1 else self.type("Vector", scalar, components)

    def constant(self, value: int, bits: int = 32) -> int:
        """Return an unsigned constant."""
        key = ("constant", value, bits)
        if key not in self.known:
            scalar = self.uint(bits)
            self.known[key] = self.id()
            words = [value & 0xFFFFFFFF, value >> 32] if bits == 64 else [value]
            self.emit(self.globals, "Constant", scalar, self.known[key], *words)
        return self.known[key]

    def array(self, element: int, stride: int, length: int = 0) -> int:
        """Return a laid-out array type; length 0 for one that the buffer's size ends."""
        array = self.type("RuntimeArray", element, fresh=True) if length == 0 else \
            self.type("Array", element, self.constant(length), fresh=True)
        self.decorate(array, "ArrayStride", stride)
        return array

    def struct(self, *members: tuple[int, int], block: bool = True) -> int:
        """Return a struct of (type, offset)."""
        struct = self.type("Struct", *(member for member, _ in members), fresh=True)
        for i, (_, offset) in enumerate(members):
            self.decorate(struct, "Offset", offset, member=i)
        if block:
            self.decorate(struct, "Block")
        return struct

    def pointer(self, storage: str, pointee: int) -> int:
        """Return a pointer type."""
        return self.type("Pointer", enumerant("StorageClass", storage), pointee)

    def variable(self, storage: str, pointee: int, binding: int | None = None) -> int:
        """Return a variable, at module scope but for storage class Function."""
        pointer, variable = self.pointer(storage, pointee), self.id()
        section = self.variables if storage == "Function" else self.globals
        self.emit(section, "Variable", pointer, variable, enumerant("StorageClass", storage))
        if binding is not None:
            self.decorate(variable, "DescriptorSet", 0)
            self.decorate(variable, "Binding", binding)
        return variable

    def builtin(self, name: str) -> int:
        """Load the first component of a built-in vector."""
        variable = self.variable("Input", self.uint(32, 3))
        self.decorate(variable, "BuiltIn", enumerant("BuiltIn", name))
        self.interface.append(variable)
        return self.op("CompositeExtract", self.uint(), self.op("Load", self.uint(32, 3), variable), 0)

    def op(self, opcode: str, type: int, *operands: int) -> int:
        """Append an instruction with a result."""
        result = self.id()
        self.emit(self.body, opcode, type, result, *operands)
        return result

    def glsl(self, number: int, type: int, *operands: int) -> int:
        """Append an instruction of GLSL.std.450."""
        if ("glsl",) not in self.known:
            self.known["glsl",] = self.id()
            self.emit(self.head, "ExtInstImport", self.known["glsl",], *text("GLSL.std.450"))
        return self.op("ExtInst", type, self.known["glsl",], number, *operands)

    def access_chain(self, storage: str, pointee: int, base: int, *indices: int) -> int:
        """Append an access chain."""
        return self.op("AccessChain", self.pointer(storage, pointee), base, *indices)

    def load(self, type: int, pointer: int, aligned: int | None = None) -> int:
        """Append a load, with an Aligned operand where `aligned` is given."""
        return self.op("Load", type, pointer, *((enumerant("MemoryAccess", "Aligned"), aligned) if aligned is not None else ()))

    def store(self, pointer: int, value: int, aligned: int | None = None) -> None:
        """Append a store."""
        self.emit(self.body, "Store", pointer, value, *((enumerant("MemoryAccess", "Aligned"), aligned) if aligned is not None else ()))

    def words(self, model: str = "GLCompute") -> bytes:
        """Return the module, its entry point of an execution model."""
        void = self.type("Void")
        function, label = self.type("Function", void), self.id()
        head = list(self.head)
        self.emit(head, "MemoryModel", *self.memory_model)
        self.emit(head, "EntryPoint", enumerant("ExecutionModel", model), self.main, *text("main"), *self.interface)
        self.emit(head, "ExecutionMode", self.main, enumerant("ExecutionMode", "LocalSize"), *self.local_size)
        code: list[int] = []
        self.emit(code, "Function", void, self.main, 0, function)
        self.emit(code, "Label", label)
        code += self.variables + self.body
        self.emit(code, "Return")
        self.emit(code, "FunctionEnd")
        words = [0x07230203, 0x10400, 0, self.bound, 0, *head, *self.annotations, *self.globals, *code]
        return np.array(words, "<u4").tobytes()
