"""Modules that mean the same: with lengths for arrays of descriptors, with arithmetic that is not rearranged, with invocations numbered otherwise.

And modules with other values of specialization constants, with a set for each kind of resource, and with variables that begin with something.

Lavapipe of Mesa 22.3 counts an array's descriptors by its declared length, and so has no images behind one without a length: stores and atomics do
nothing, sizes are zero, or the process dies. With the length declared, it gives what the other implementations give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import spirv_reflection as declared

OP_NAME, OP_CONSTANT, OP_DECORATE, FIRST_TYPE, LAST_TYPE, NO_CONTRACTION = 5, 43, 71, 19, 39, 42
OP_LOAD, OP_ACCESS_CHAIN, OP_IN_BOUNDS_ACCESS_CHAIN, OP_ISUB = 61, 65, 66, 130
OP_CONSTANT_TRUE, STORAGE_FUNCTION, MOST_ELEMENTS = 41, 7, 1024
#: OpFunctionCall, OpStore, OpCopyMemory, OpCopyMemorySized, OpCopyObject, OpSelect, OpPhi: other uses of a pointer.
OTHER_USES = {57, 62, 63, 64, 83, 169, 245}
#: OpFNegate, OpFAdd, OpFSub, OpFMul, OpFDiv, OpFRem, OpFMod, OpVectorTimesScalar to OpDot.
ARITHMETIC = {127, 129, 131, 133, 136, 140, 141, *range(142, 149)}


def with_lengths(spirv: bytes, length: int) -> bytes:
    """The module with `length` elements in each array of descriptors that has no length of its own."""
    module = declared.Module(spirv)
    pointees = {module.types[pointer][1][1] for _, pointer, storage in module.variables if storage != declared.STORAGE_PUSH_CONSTANT}
    arrays = {each for each in pointees if module.types.get(each, (0,))[0] == declared.OP_TYPE_RUNTIME_ARRAY}
    if not arrays:
        return spirv
    words = np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).tolist()
    number = next((each for each, (opcode, operands) in module.types.items() if opcode == declared.OP_TYPE_INT and operands == (32, 0)), 0)
    head, position, done = words[:5], 5, False
    head[3] += 2
    integer, constant = number or words[3], words[3] + 1
    while position < len(words):
        size, opcode = words[position] >> 16, words[position] & 0xFFFF
        found = words[position : position + size]
        position += max(size, 1)
        if FIRST_TYPE <= opcode <= LAST_TYPE and not done:
            head += [4 << 16 | declared.OP_TYPE_INT, integer, 32, 0, 4 << 16 | OP_CONSTANT, integer, constant, length]
            done = True
        if opcode == declared.OP_TYPE_INT and found[1] == number:
            continue                          # it stands before the first type now
        if opcode == declared.OP_TYPE_RUNTIME_ARRAY and found[1] in arrays:
            found = [4 << 16 | declared.OP_TYPE_ARRAY, found[1], found[2], constant]
        head += found
    return np.array(head, np.uint32).tobytes()


def without_contraction(spirv: bytes) -> bytes:
    """The module with NoContraction on all arithmetic of floats: what it may compute is part of what it might before."""
    words = np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).tolist()
    position, first, decorations = 5, 0, []
    while position < len(words):
        opcode = words[position] & 0xFFFF
        if FIRST_TYPE <= opcode <= LAST_TYPE and not first:
            first = position
        if opcode in ARITHMETIC:
            decorations += [3 << 16 | OP_DECORATE, words[position + 2], NO_CONTRACTION]
        position += max(words[position] >> 16, 1)
    return np.array(words[:first] + decorations + words[first:], np.uint32).tobytes()


def with_constants(spirv: bytes, values: Mapping[str, int]) -> bytes:
    """The module with other values of those specialization constants of 32 bits whose names are among `values`."""
    words = np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).copy()
    position, named = 5, dict[int, set[str]]()
    while position < len(words):
        length, opcode = int(words[position]) >> 16, int(words[position]) & 0xFFFF
        if opcode == OP_NAME:
            name = words[position + 2 : position + length].tobytes().split(b"\0")[0].decode()
            named.setdefault(int(words[position + 1]), set()).add(name)
        elif opcode == declared.OP_SPEC_CONSTANT and length == 4:
            for name in named.get(int(words[position + 2]), set()) & values.keys():
                words[position + 3] = values[name]
        position += max(length, 1)
    return words.tobytes()


def with_own_bindings(spirv: bytes) -> bytes:
    """The module with a set for each further kind of resource, where variables of several kinds share a binding: one of them can be bound."""
    module, numbers = declared.Module(spirv), dict[int, int]()
    kinds = dict[tuple[int, ...], dict[object, int]]()           # by place: the set of each kind
    free = 1 + max((each[declared.DECORATION_DESCRIPTOR_SET][0] for each in module.decorations.values()
                    if declared.DECORATION_DESCRIPTOR_SET in each), default=0)
    for variable, pointer, storage in module.variables:
        decorations = module.decorations.get(variable, {})
        if not {declared.DECORATION_DESCRIPTOR_SET, declared.DECORATION_BINDING} <= decorations.keys():
            continue
        place = *decorations[declared.DECORATION_DESCRIPTOR_SET], *decorations[declared.DECORATION_BINDING]
        known, kind = kinds.setdefault(place, {}), _kind(module, pointer, storage)
        if kind not in known:
            known[kind] = free if known else place[0]
            free += bool(len(known) - 1)
        numbers[variable] = known[kind]
    words, position = np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).copy(), 5
    while position < len(words):
        if words[position] & 0xFFFF == OP_DECORATE and words[position + 2] == declared.DECORATION_DESCRIPTOR_SET:
            words[position + 3] = numbers.get(int(words[position + 1]), words[position + 3])
        position += max(int(words[position]) >> 16, 1)
    return words.tobytes()


def _kind(module: declared.Module, pointer: int, storage: int) -> object:
    """What all variables of a binding must agree in: whether they are storage or uniform buffers; of others the type."""
    type_id = module.types[pointer][1][1]
    while module.types.get(type_id, (0,))[0] in (declared.OP_TYPE_ARRAY, declared.OP_TYPE_RUNTIME_ARRAY):
        type_id = module.types[type_id][1][0]
    if module.types.get(type_id, (0,))[0] == declared.OP_TYPE_STRUCT:
        storage_buffer = storage == declared.STORAGE_BUFFER or declared.DECORATION_BUFFER_BLOCK in module.decorations.get(type_id, {})
        return "storage" if storage_buffer else "uniform"
    return type_id


class Initialized:
    """A module whose variables of functions begin with something, where they began with anything: what it gives is one of the things that may be.

    Parameters
    ----------
    spirv : bytes
    """

    def __init__(self, spirv: bytes) -> None:
        self.module, self.words = declared.Module(spirv), np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).tolist()
        self.bound, self.constants, self.made = self.words[3], dict[int, int](), list[int]()

    def spirv(self) -> bytes:
        """The module."""
        position, declarations, body = 5, list[int](), list[int]()
        while position < len(self.words):
            length = max(self.words[position] >> 16, 1)
            found = self.words[position : position + length]
            if found[0] == 4 << 16 | declared.OP_VARIABLE and found[3] == STORAGE_FUNCTION:
                constant = self._constant(self.module.types[found[1]][1][1])
                found = [5 << 16 | declared.OP_VARIABLE, *found[1:], constant] if constant else found
            (body if body or found[0] & 0xFFFF == declared.OP_FUNCTION else declarations).extend(found)
            position += length
        return np.array([*self.words[:3], self.bound, 0, *declarations, *self.made, *body], np.uint32).tobytes()

    def _constant(self, type_id: int) -> int:
        """A constant with 42, 1.5 or true in each place, or 0 for other types."""
        if type_id in self.constants:
            return self.constants[type_id]
        opcode, operands = self.module.types.get(type_id, (0, ()))
        words: list[int] = []
        if opcode == declared.OP_TYPE_BOOL:
            words = [OP_CONSTANT_TRUE]
        elif opcode == declared.OP_TYPE_INT:
            words = [OP_CONSTANT, 42, 0] if operands[0] == 64 else [OP_CONSTANT, 42]
        elif opcode == declared.OP_TYPE_FLOAT:
            words = [OP_CONSTANT, *{16: (0x3E00,), 32: (0x3FC00000,), 64: (0, 0x3FF80000)}[operands[0]]]
        elif parts := self._parts(opcode, operands):
            inner = [self._constant(each) for each in parts]
            words = [declared.OP_CONSTANT_COMPOSITE, *inner] if all(inner) else []
        self.constants[type_id] = self.bound if words else 0
        if words:
            self.made += [(len(words) + 2) << 16 | words[0], type_id, self.bound, *words[1:]]
            self.bound += 1
        return self.constants[type_id]

    def _parts(self, opcode: int, operands: Sequence[int]) -> Sequence[int]:
        """Types of a composite's parts; none of one of very many."""
        if opcode in (declared.OP_TYPE_VECTOR, declared.OP_TYPE_MATRIX):
            return [operands[0]] * operands[1]
        if opcode == declared.OP_TYPE_ARRAY and self.module.constants[operands[1]][0] <= MOST_ELEMENTS:
            return [operands[0]] * self.module.constants[operands[1]][0]
        return operands if opcode == declared.OP_TYPE_STRUCT else []


class Renumbered:
    """A module in which the last invocation does what the first did: in the group, and the groups in the dispatch.

    What a dispatch of it gives is the same, unless invocations depend on each other's order, which nothing promises; subgroups would be others.

    Parameters
    ----------
    spirv : bytes
    size, groups : sequence of int
        Of the workgroup, and of the dispatch.

    Raises
    ------
    ValueError
        Where a number of an invocation is read in a way that is not followed.
    """

    def __init__(self, spirv: bytes, size: Sequence[int], groups: Sequence[int]) -> None:
        self.module = declared.Module(spirv)
        whole = [a * b for a, b in zip(size, groups, strict=True)]
        self.last = {26: [each - 1 for each in groups], 27: [each - 1 for each in size], 28: [each - 1 for each in whole],
                     29: [size[0] * size[1] * size[2] - 1]}      # WorkgroupId, LocalInvocationId, GlobalInvocationId, LocalInvocationIndex
        self.places: dict[int, list[int]] = {}                   # the last number of each component, by pointer
        for variable, _, _ in self.module.variables:
            number = self.module.decorations.get(variable, {}).get(declared.DECORATION_BUILTIN, (0,))[0]
            if number in self.last:
                self.places[variable] = self.last[number]
        self.words = np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).tolist()
        self.bound, self.constants = self.words[3], dict[tuple[int, ...], tuple[int, list[int]]]()

    def spirv(self) -> bytes:
        """The module."""
        position, declarations, body = 5, list[int](), list[int]()
        while position < len(self.words):
            length = self.words[position] >> 16
            found = self.words[position : position + length]
            (body if body or found[0] & 0xFFFF == declared.OP_FUNCTION else declarations).extend(self._followed(found))
            position += max(length, 1)
        new = [word for _, words in self.constants.values() for word in words]
        return np.array([*self.words[:3], self.bound, 0, *declarations, *new, *body], np.uint32).tobytes()

    def _followed(self, words: list[int]) -> list[int]:
        opcode = words[0] & 0xFFFF
        if opcode in OTHER_USES and self.places.keys() & set(words[1:]):
            raise ValueError("a number of an invocation that another instruction than a load reads")
        if opcode in (OP_ACCESS_CHAIN, OP_IN_BOUNDS_ACCESS_CHAIN) and words[3] in self.places:
            if len(words) != 5 or words[4] not in self.module.constants:
                raise ValueError("a component of an invocation's number that differs")
            self.places[words[2]] = [self.places[words[3]][self.module.constants[words[4]][0]]]
        if opcode == OP_LOAD and words[3] in self.places:
            last = self._constant(words[1], self.places[words[3]])
            read, self.bound = self.bound, self.bound + 1
            return [words[0], words[1], read, *words[3:], 5 << 16 | OP_ISUB, words[1], words[2], last, read]
        return words

    def _constant(self, type_id: int, values: list[int]) -> int:
        """A constant of a scalar or a vector."""
        key = (type_id, *values)
        if key not in self.constants:
            if len(values) > 1:
                inner = [self._constant(self.module.types[type_id][1][0], [each]) for each in values]
                words = [(3 + len(values)) << 16 | declared.OP_CONSTANT_COMPOSITE, type_id, self.bound, *inner]
            else:
                words = [4 << 16 | OP_CONSTANT, type_id, self.bound, values[0]]
            self.constants[key] = self.bound, words
            self.bound += 1
        return self.constants[key][0]
