"""Which descriptors machine code uses: scalar registers followed from the user SGPRs through loads from memory.

The code is read once, in its order. What registers hold is exact: where paths meet, a register is known if all of them agree, and
what a loop writes is not known in it. A register that is not known only means that a descriptor made from it is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyaco import isa
from pyaco.descriptors.decode import KINDS
from pyaco.isa import opcodes
from pyaco.isa.opcodes import FORMATS
from pyaco.pm4.memory import Memory, canonical

__all__ = ["ENDS", "Instruction", "Use", "branch_target", "follow", "instructions"]

ENDS = ("s_endpgm", "s_setpc_b64")
"""Behind these the code does not go on."""

_NO_REGISTER = 0xFFFF
_LITERAL = 255
_SCC = -1
_SGPRS = 128
_FORMAT_BITS = 0x7F
_BUFFER_FORMATS = (FORMATS["mubuf"], FORMATS["mtbuf"])
_MASK = 0xFFFFFFFF


class Instruction(NamedTuple):
    """One element of what ``pyaco.isa.decode`` returns, with the instruction's name: empty where it is none."""

    name: str
    offset: int
    opcode: int
    format: int
    sources: list[int]
    destinations: list[int]
    destination_bytes: list[int]
    literal: int
    immediate: int


def instructions(code: bytes, target: str) -> list[Instruction]:
    """Return the instructions of machine code."""
    decoded, known = isa.decode(code, target), opcodes.names()
    columns = [decoded[name].tolist() for name in ("offset", "opcode", "format", "source_count", "sources", "destination_count",
                                                   "destinations", "destination_bytes", "literal", "immediate")]  # fmt: skip
    return [Instruction(known[opcode] if opcode < len(known) else "", offset, opcode, form & _FORMAT_BITS, sources[:read],
                        destinations[:written], sizes, literal, immediate)
            for offset, opcode, form, read, sources, written, destinations, sizes, literal, immediate in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Known:
    """A scalar register's value, and the address from which it was loaded."""

    value: int
    address: int | None = None


@dataclass(frozen=True)
class Use:
    """A descriptor that an instruction uses, or what a scalar load reads.

    Attributes
    ----------
    kind : str
        ``buffer``, ``image``, ``sampler``, or ``load``.
    offset : int
        Of the first instruction that uses it, in bytes.
    words : tuple of int
    address : int or None
        Where it lies in memory; None where its words come from several places.
    """

    kind: str
    offset: int
    words: tuple[int, ...]
    address: int | None


State = dict[int, Known]


def branch_target(instruction: Instruction) -> int | None:
    """Return the byte offset that a branch goes to, or None for other instructions."""
    if not instruction.name.startswith(("s_branch", "s_cbranch_")) or instruction.format != FORMATS["sopp"]:
        return None
    distance = instruction.immediate & 0xFFFF
    return instruction.offset + 4 + 4 * (distance - (distance >> 15 << 16))


def follow(code: Sequence[Instruction], entry: int, user_sgprs: Sequence[int], memory: Memory) -> list[Use]:
    """Return the descriptors that code uses and what its scalar loads read.

    Parameters
    ----------
    code : sequence of Instruction
    entry : int
        Address of the code.
    user_sgprs : sequence of int
        What s0, s1 ... hold at its start.
    memory : callable
        Gives dwords at an address.
    """
    return _Follower(entry, memory, {k: Known(value) for k, value in enumerate(user_sgprs)}).run(code)


@dataclass
class _Follower:
    entry: int
    memory: Memory
    state: State
    waiting: dict[int, State] = field(default_factory=dict)       # what branches bring to places ahead
    uses: dict[tuple[str, tuple[int, ...], int | None], Use] = field(default_factory=dict)

    def run(self, code: Sequence[Instruction]) -> list[Use]:
        loops = _loop_writes(code)
        reached = True
        for instruction in code:
            place = instruction.offset
            if place in self.waiting:
                arrived = self.waiting.pop(place)
                self.state = _meet(self.state, arrived) if reached else arrived
                reached = True
            for register in loops.get(place, ()):
                self.state.pop(register, None)
            self._one(instruction)
            target = branch_target(instruction)
            if target is not None and target > place:
                self.waiting[target] = _meet(self.waiting[target], self.state) if target in self.waiting else dict(self.state)
            if instruction.name in ENDS or instruction.name == "s_branch":
                reached, self.state = False, {}
        return list(self.uses.values())

    # ------------------------------------------------------------------------------------------------------ instructions
    def _one(self, instruction: Instruction) -> None:
        if instruction.format in _BUFFER_FORMATS or instruction.name.startswith("s_buffer_load"):
            self._found("buffer", instruction, 0)
        elif instruction.format == FORMATS["mimg"]:
            self._found("image", instruction, 0)
            self._found("sampler", instruction, 1)
        results = self._results(instruction)
        for register in written(instruction):
            self.state.pop(register, None)
        self.state.update(results)

    def _operand(self, instruction: Instruction, number: int, half: int = 0) -> Known | None:
        """A source's dword `half`."""
        register = _source(instruction, number)
        if register is None or register < _SGPRS:
            return None if register is None else self.state.get(register + half)
        if register == _LITERAL:
            return Known(instruction.literal if half == 0 else 0)
        if register <= 192:
            return Known(register - 128 if half == 0 else 0)
        return Known((192 - register) & _MASK) if register <= 208 else None

    def _results(self, instruction: Instruction) -> State:
        """What an instruction writes, as far as it is known."""
        name = instruction.name
        if name.startswith(("s_load_dword", "s_load_b96", "s_buffer_load_dword", "s_buffer_load_b96")):
            return self._load(instruction)
        first = instruction.destinations[0] // 4 if instruction.destinations else _SGPRS
        if name in ("s_mov_b32", "s_mov_b64"):
            halves = instruction.destination_bytes[0] // 4
            found = {first + half: self._operand(instruction, 0, half) for half in range(halves)}
            return {register: known for register, known in found.items() if known is not None}
        if name == "s_getpc_b64":
            counter = self.entry + instruction.offset + 4
            return {first: Known(counter & _MASK), first + 1: Known(counter >> 32 & _MASK)}
        if name == "s_movk_i32":
            return {first: Known((instruction.immediate & 0xFFFF ^ 0x8000) - 0x8000 & _MASK)}
        operation = _OPERATIONS.get(name)
        if operation is None:
            return {}
        one, two = self._operand(instruction, 0), self._operand(instruction, 1)
        carry = self.state.get(_SCC) if name == "s_addc_u32" else Known(0)
        if one is None or two is None or carry is None:
            return {}
        value = operation(one.value, two.value, carry.value)
        condition = value >> 32 & 1 if name.startswith("s_add") else int(bool(value & _MASK))
        return {first: Known(value & _MASK), _SCC: Known(condition)}

    def _load(self, instruction: Instruction) -> State:
        low, high = self._operand(instruction, 0), self._operand(instruction, 0, 1)
        register = Known(0) if _source(instruction, 1) is None else self._operand(instruction, 1)
        if low is None or high is None or register is None:
            return {}
        of_buffer = instruction.name.startswith("s_buffer")
        base = low.value | (high.value & 0xFFFF if of_buffer else high.value) << 32
        offset = instruction.immediate - (instruction.immediate >> 31 << 32) + register.value
        address = canonical(base + offset) & ~3
        words = self.memory(address, instruction.destination_bytes[0] // 4)
        if words is None:
            return {}
        if not of_buffer:
            self._use("load", instruction, tuple(words), address)
        first = instruction.destinations[0] // 4
        return {first + k: Known(word, address + 4 * k) for k, word in enumerate(words)}

    def _found(self, kind: str, instruction: Instruction, number: int) -> None:
        first = _source(instruction, number)
        if first is None or first >= _SGPRS:
            return
        known = [self.state.get(first + k) for k in range(KINDS[kind][1])]
        held = [each for each in known if each is not None]
        if len(held) < len(known):
            return
        start = held[0].address
        together = start is not None and all(each.address == start + 4 * k for k, each in enumerate(held))
        self._use(kind, instruction, tuple(each.value for each in held), start if together else None)

    def _use(self, kind: str, instruction: Instruction, words: tuple[int, ...], address: int | None) -> None:
        self.uses.setdefault((kind, words, address), Use(kind, instruction.offset, words, address))


_OPERATIONS: Mapping[str, Callable[[int, int, int], int]] = {
    "s_add_u32": lambda a, b, carry: a + b,
    "s_addc_u32": lambda a, b, carry: a + b + carry,
    "s_and_b32": lambda a, b, carry: a & b,
    "s_or_b32": lambda a, b, carry: a | b,
    "s_lshl_b32": lambda a, b, carry: a << (b & 31) & _MASK,
    "s_lshr_b32": lambda a, b, carry: a >> (b & 31),
}


def _source(instruction: Instruction, number: int) -> int | None:
    """A source's register, or None where the instruction has no such source."""
    if number >= len(instruction.sources) or instruction.sources[number] == _NO_REGISTER:
        return None
    return instruction.sources[number] // 4


def written(instruction: Instruction) -> Iterator[int]:
    """Yield the scalar registers that an instruction writes; a lane mask counts as two."""
    for destination, size in zip(instruction.destinations, instruction.destination_bytes, strict=False):
        if destination // 4 < _SGPRS:
            yield from range(destination // 4, destination // 4 + ((size or 8) + 3) // 4)
    if instruction.name and "scc" in opcodes.rows()[instruction.opcode].definitions:
        yield _SCC


def _loop_writes(code: Sequence[Instruction]) -> dict[int, set[int]]:
    """The registers that each loop writes, by the offset of its first instruction."""
    loops: dict[int, set[int]] = {}
    for instruction in code:
        target = branch_target(instruction)
        if target is not None and target <= instruction.offset:
            inside = (other for other in code if target <= other.offset <= instruction.offset)
            loops.setdefault(target, set()).update(register for other in inside for register in written(other))
    return loops


def _meet(first: State, second: State) -> State:
    return {register: known for register, known in first.items() if second.get(register) == known}
