"""Instructions as Python objects: to machine code without text, and back; the work is in ``_core/isa/assemble_objects.pyx``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyaco._core.isa.operand import Operand, RegisterFile
from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.isa import names
from pyaco.isa.lines import disassemble_lines
from pyaco.isa.processors import assembly_target
from pyaco.isa.text_tables import default_wave_size

if TYPE_CHECKING:
    from pyaco._core.isa.assemble_objects import ObjectAssembler

__all__ = ["Instruction", "Label", "Operand", "Program", "a", "exec_", "exec_hi", "exec_lo", "instructions", "lit", "m0", "null", "s",
           "scc", "v", "vcc", "vcc_hi", "vcc_lo"]  # fmt: skip

#: Registers: ``v[3]`` is one, ``v[4:7]`` are four, the last included as in text.
vcc, vcc_lo, vcc_hi, exec_, exec_lo, exec_hi, m0, null, scc = (
    Operand(address=4 * (names.registers(120)[name] & 0xFFFF), dwords=names.registers(120)[name] >> 16)
    for name in ("vcc", "vcc_lo", "vcc_hi", "exec", "exec_lo", "exec_hi", "m0", "null", "scc")
)
s, v, a = RegisterFile("s", 0, vcc.address // 4), RegisterFile("v", 256, 256), RegisterFile("a", 512, 256)


def lit(value: int | float) -> Operand:
    """A constant that is encoded as a literal even where an inline constant exists."""
    return Operand(value=value, literal=True)


@dataclass(frozen=True)
class Label:
    """A position in the code, which branches refer to by a string.

    Attributes
    ----------
    name
        As text has it, without the colon.
    """

    name: str


@dataclass(frozen=True)
class Instruction:
    """An instruction.

    Attributes
    ----------
    mnemonic
        LLVM's name of it, with a suffix (``_e64``, ``_dpp`` ...) where a form is asked for. ``.long`` stands for words that are not an
        instruction; its operands are these words.
    operands
        In the order of text: ``Operand`` (registers, or constants with a sign), int, float, a tuple of registers (the separate
        addresses of an image), or a string for what has a name in text: ``"off"``, ``"vcc"``, ``"loop"`` (a label),
        ``"attr0.x"``, ``"sendmsg(MSG_INTERRUPT)"``.
    modifiers
        By name: True or False for single words, numbers, tuples for lists (``op_sel``, ``quad_perm``), strings for names
        (``th="TH_LOAD_NT"``). Without operands, those of ``s_waitcnt``, ``s_waitcnt_depctr`` and ``s_delay_alu`` are counters.
    second
        The other half of a dual instruction.
    """

    mnemonic: str
    operands: tuple[Any, ...] = ()
    modifiers: dict[str, Any] = field(default_factory=dict)
    second: Instruction | None = None

    @checked
    def text(self, target: str) -> str:
        """The instruction as text in LLVM's syntax."""
        level = assembly_target(target)[1]
        first = _statement_text(self, level)
        return f"{first} :: {_statement_text(self.second, level)}" if self.second else first


class Program:
    """Machine code that is built instruction by instruction.

    Each instruction of the target is a method: ``program.v_add_f32(v[0], -v[1], abs(s[2]), clamp=True)``.

    Parameters
    ----------
    target
        A gfx name, chip name or product name.
    wave_size
        32 or 64: the width of lane masks; by default 64 up to GFX9 and 32 later.

    Attributes
    ----------
    target
        The target as it was given.

    Raises
    ------
    InputError
        Of every method: an instruction is wrong. The message has its number, its text and what was expected.
    """

    @checked
    def __init__(self, target: str, *, wave_size: int | None = None) -> None:
        self.target = target
        self._assembler = _object_assembler(target, wave_size)
        self._wave_size = wave_size
        self._count = 0

    def __getattr__(self, name: str) -> Callable[..., Program]:
        if name.startswith("__") or not self._assembler.knows(name):
            raise AttributeError(f"{self.target} has no instruction {name!r}")
        return lambda *operands, **modifiers: self.emit(name, *operands, **modifiers)

    def emit(self, mnemonic: str, *operands: Any, **modifiers: Any) -> Program:
        """Append the instruction `mnemonic`."""
        return self._append(Instruction(mnemonic, operands, modifiers))

    def dual(self, first: Sequence[Any], second: Sequence[Any]) -> Program:
        """Append a dual instruction of two sequences: mnemonic, then operands."""
        if not all(isinstance(half, (list, tuple)) and half for half in (first, second)):
            raise InputError(f"halves of a dual instruction are sequences of a mnemonic and operands, not {first!r} and {second!r}")
        halves = [Instruction(half[0], tuple(half[1:])) for half in (first, second)]
        return self._append(Instruction(halves[0].mnemonic, halves[0].operands, {}, halves[1]))

    @checked
    def label(self, name: str) -> Program:
        """Define a label here."""
        message = self._assembler.label(name)
        if message is not None:
            raise InputError(message)
        return self

    @checked
    def data(self, contents: bytes) -> Program:
        """Append bytes as they are."""
        self._assembler.append(contents)
        return self

    @checked
    def extend(self, items: Iterable[Instruction | Label]) -> Program:
        """Append instructions and labels."""
        for item in items:
            if isinstance(item, Label):
                self.label(item.name)
            elif isinstance(item, Instruction):
                self._append(item)
            else:
                raise InputError(f"instruction {self._count}: an Instruction or a Label is expected, not {type(item).__name__}")
        return self

    def code(self) -> bytes:
        """The machine code so far, as bytes in memory order; every label that is used must be defined by now."""
        problem = self._assembler.close()
        if problem is not None:
            owner, message = problem
            raise InputError(f"instruction {owner[0]} ({owner[1].text(self.target)}): {message}")
        return self._assembler.code()

    def _repr_html_(self) -> str:
        from pyaco.isa.disassembler import disassemble
        from pyaco.notebook import folded

        try:
            text = disassemble(self.code(), self.target, wave_size=self._wave_size)
        except InputError as error:  # labels are missing as yet
            text = str(error)
        return folded(f"{self._count} instructions for {self.target}", text)

    def _append(self, item: Instruction) -> Program:
        message = None
        try:
            if item.mnemonic == ".long":
                self.data(b"".join(word.to_bytes(4, "little") for word in item.operands))
            else:
                second = (item.second.mnemonic, item.second.operands) if item.second else None
                message = self._assembler.add(item.mnemonic, item.operands, item.modifiers, second, (self._count, item))
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            raise InputError(f"instruction {self._count}: {item!r} has parts that an instruction cannot have: {error}") from error
        if message is not None:
            raise InputError(self._explain(item, message))
        self._count += 1
        return self

    def _explain(self, item: Instruction, message: str) -> str:
        """The message with the instruction's text, whose own error message, if it has one, is more exact."""
        text = item.text(self.target)
        if "an operand is a register" in message:
            return f"instruction {self._count} ({text}): {message}"
        probe = _object_assembler(self.target, self._wave_size)
        error = probe.assemble(text.encode() + b"\n")
        return f"instruction {self._count} ({text}): {error[1] if error and 'no label' not in error[1] else message}"


def _object_assembler(target: str, wave_size: int | None) -> ObjectAssembler:
    from pyaco._core.isa.assemble_objects import ObjectAssembler
    from pyaco.isa.text_tables import text_tables

    tables = text_tables(target)
    return ObjectAssembler(tables, default_wave_size(tables.level, wave_size))


@checked
def instructions(code: bytes, target: str, *, wave_size: int | None = None) -> list[Instruction | Label]:
    """Disassemble `code` to objects that ``assemble`` takes.

    Parameters
    ----------
    code
        Machine code, a multiple of four bytes.
    target, wave_size
        As for ``disassemble``.

    Returns
    -------
    list
        Instructions and, where branches lead, labels. Words that are not an instruction are ``Instruction(".long", (word,))``.

    Raises
    ------
    InputError
        The length is not a multiple of four, or the target is unknown.
    """
    reader = _object_assembler(target, wave_size)
    made: list[Instruction | Label] = []
    for line in disassemble_lines(code, target, wave_size=wave_size):
        if not line.size:
            made.append(Label(line.text.removesuffix(":")))
        elif line.text.startswith(".long"):
            words = code[line.offset : line.offset + line.size]
            made.append(Instruction(".long", tuple(int.from_bytes(words[i : i + 4], "little") for i in range(0, len(words), 4))))
        else:
            mnemonic, operands, modifiers, second = reader.statement(line.text)
            made.append(Instruction(mnemonic, operands, modifiers, Instruction(*second) if second else None))
    return made


# --------------------------------------------------------------------------------------------------------- objects to text
def _statement_text(item: Instruction, level: int) -> str:
    words = [_operand_text(value, level) for value in item.operands]
    modifiers = [_modifier_text(name, value) for name, value in item.modifiers.items()]
    if not words and item.mnemonic in ("s_waitcnt", "s_waitcnt_depctr", "s_wait_alu", "s_delay_alu"):
        modifiers = [" & ".join(f"{name}({value})" for name, value in item.modifiers.items())]
    return " ".join(part for part in (item.mnemonic, ", ".join(words), *modifiers) if part)


def _operand_text(value: Any, level: int) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_operand_text(part, level) for part in value)}]"
    if not isinstance(value, Operand):
        return str(value)
    text = _register_text(value, level) if value.value is None else f"lit({value.value})" if value.literal else str(value.value)
    text = f"|{text}|" if value.magnitude else text
    text = f"sext({text})" if value.sign_extended else text
    if not value.negative:
        return text
    return f"neg({text})" if value.value is not None else f"-{text}"


def _register_text(register: Operand, level: int) -> str:
    code, count = register.address >> 2, register.dwords
    for known, number in names.registers(level).items():
        if number == (code | count << 16):
            return known
    kind, first = ("a", 512) if code >= 512 else ("v", 256) if code >= 256 else ("s", 0)
    if code < 256 and code >= 108:
        kind, first = "ttmp", 108 if level >= 90 else 112
    half = {-1: "", 0: ".l", 1: ".h"}[register.half]
    return f"{kind}{code - first}{half}" if count == 1 else f"{kind}[{code - first}:{code - first + count - 1}]"


def _modifier_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return name if value else f"no{name}"
    if isinstance(value, (list, tuple)):
        return f"{name}:[{','.join(map(str, value))}]"
    return f"{name}:{value}"
