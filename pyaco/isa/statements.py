"""Lines of assembly text, split into mnemonic, operands and modifiers; no knowledge of opcodes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from pyaco.isa import names

__all__ = ["Operand", "Statement", "TextError", "parse_line", "parse_operand"]

#: Modifiers that are single words.
FLAGS = frozenset(
    ("glc", "slc", "dlc", "offen", "idxen", "lds", "tfe", "gds", "clamp", "done", "vm", "compr", "row_en", "row_mirror",
     "row_half_mirror")
)  # fmt: skip
#: Instructions whose operand is a list of calls without commas.
COUNTED = ("s_waitcnt", "s_delay_alu", "s_waitcnt_depctr", "s_wait_alu")
_LANE_WORDS = ("row_shl", "row_shr", "row_ror", "row_share", "row_xmask", "row_bcast", "wave_shl", "wave_shr",
               "wave_rol", "wave_ror")  # fmt: skip
_SPECIAL = {
    "vcc": (106, 2), "vcc_lo": (106, 1), "vcc_hi": (107, 1), "exec": (126, 2), "exec_lo": (126, 1), "exec_hi": (127, 1),
    "m0": (124, 1), "null": (125, 1), "src_shared_base": (235, 1), "src_shared_limit": (236, 1),
    "src_private_base": (237, 1), "src_private_limit": (238, 1), "src_pops_exiting_wave_id": (239, 1),
    "src_vccz": (251, 1), "vccz": (251, 1), "src_execz": (252, 1), "execz": (252, 1), "src_scc": (253, 1),
    "scc": (253, 1), "src_lds_direct": (254, 1), "lds_direct": (254, 1),
}  # fmt: skip
_SPECIAL_9 = {
    "flat_scratch": (102, 2), "flat_scratch_lo": (102, 1), "flat_scratch_hi": (103, 1), "xnack_mask": (104, 2),
    "xnack_mask_lo": (104, 1), "xnack_mask_hi": (105, 1),
}  # fmt: skip
_REGISTER = re.compile(r"(v|s|ttmp)(?:(\d+)(\.[lh])?|\[(\d+)(?::(\d+))?\])$")
_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9]\d*)$")
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$|[+-]?\d+[eE][+-]?\d+$")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\((.*)\)$")
_FIRST_WORD = re.compile(r"(\S+)\s*")
_MODIFIER = re.compile(r"\w+:")
_WORD = re.compile(r"\w+$")
_WRAPPER = re.compile(r"(sext|neg)\s*\((.*)\)$")
_MAGNITUDE = re.compile(r"abs\s*\((.*)\)$")
_LITERAL = re.compile(r"lit\s*\((.*)\)$")
_OCTAL = re.compile(r"[+-]?0[0-7]+$")
_LABEL = re.compile(r"([A-Za-z_.$][\w.$@]*)\s*:(?!:)")
_NAME = re.compile(r"[A-Za-z_.$][\w.$@]*$")


class TextError(ValueError):
    """What is wrong with a line, and at which column (from 1) if that is known."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


@dataclass(slots=True)
class Operand:
    """One operand: a register, a constant, a symbol, a call such as ``hwreg(...)``, or ``off``."""

    text: str
    column: int = 1
    register: int | None = None
    dwords: int = 0
    half: bool | None = None
    value: int | float | None = None
    is_literal: bool = False
    negative: bool = False
    magnitude: bool = False
    sign_extended: bool = False
    symbol: str | None = None
    call: tuple[str, list[str]] | None = None
    is_off: bool = False


def _split(text: str, separator: str) -> list[tuple[str, int]]:
    """Pieces of `text` between separators outside brackets, with their positions."""
    pieces, depth, start = [], 0, 0
    if "(" not in text and "[" not in text and ")" not in text and "]" not in text:
        for piece in text.split(separator):
            pieces.append((piece.strip(), start + len(piece) - len(piece.lstrip())))
            start += len(piece) + 1
        return pieces
    for i, character in enumerate(text):
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
            if depth < 0:
                raise TextError("unbalanced bracket", i + 1)
        elif depth == 0 and character == separator:
            pieces.append((text[start:i], start))
            start = i + 1
    if depth:
        raise TextError("unbalanced bracket", start + 1)
    pieces.append((text[start:], start))
    return [(piece.strip(), at + len(piece) - len(piece.lstrip())) for piece, at in pieces]


@lru_cache(maxsize=4096)
def _plain_register(text: str, level: int) -> tuple[int, int, bool | None] | None:
    """Address, dwords and half of a register in its plain spelling; None for anything else and for bad registers."""
    operand = Operand(text)
    try:
        found = _parse_register(operand, text, level)
    except TextError:
        return None
    return (operand.register, operand.dwords, operand.half) if found and operand.register is not None else None


def _parse_register(operand: Operand, text: str, level: int) -> bool:
    special = _SPECIAL.get(text) or (_SPECIAL_9.get(text) if level < 100 else None)
    if special is not None:
        if text == "null" and level < 100:
            raise TextError("null is no register on this target", operand.column)
        operand.register, operand.dwords = special[0] * 4, special[1]
        return True
    match = _REGISTER.match(text)
    if match is None:
        return False
    kind, single, half, first, last = match.groups()
    number = int(single if single is not None else first)
    operand.dwords = int(last) - number + 1 if last is not None else 1
    if operand.dwords < 1:
        raise TextError(f"{text}: registers in the wrong order", operand.column)
    base, count = {"v": (256, 256), "s": (0, 102 if level < 100 else 106), "ttmp": (108, 16)}[kind]
    if number + operand.dwords > count:
        raise TextError(f"{text}: no such register on this target", operand.column)
    if kind != "v" and operand.dwords > 1 and number % min(operand.dwords, 4) and not operand.dwords == 3:
        raise TextError(f"{text}: the registers are not aligned", operand.column)
    if half is not None:
        if kind != "v" or level < 110:
            raise TextError(f"{text}: halves of registers have no name here", operand.column)
        operand.half = half == ".h"
    operand.register = (base + number) * 4
    return True


def parse_operand(text: str, column: int, level: int) -> Operand:
    """One operand with its sign, magnitude and extension wrappers."""
    known = _plain_register(text, level)
    if known is not None:
        return Operand(text, column, known[0], known[1], known[2])
    operand = Operand(text, column)
    inner = text
    if not inner:
        raise TextError("an operand is missing", column)
    match = _WRAPPER.match(inner)
    if match is not None:
        operand.sign_extended, operand.negative = match[1] == "sext", match[1] == "neg"
        inner = match[2].strip()
    if inner.startswith("-") and not _INTEGER.match(inner) and not _FLOAT.match(inner):
        operand.negative = not operand.negative
        inner = inner[1:].strip()
    if len(inner) > 2 and inner[0] == inner[-1] == "|":
        operand.magnitude, inner = True, inner[1:-1].strip()
    elif match := _MAGNITUDE.match(inner):
        operand.magnitude, inner = True, match[1].strip()
    if match := _LITERAL.match(inner):
        operand.is_literal, inner = True, match[1].strip()
    if inner == "off":
        operand.is_off = True
    elif _INTEGER.match(inner):
        operand.value = int(inner, 8) if _OCTAL.match(inner) else int(inner, 0)
    elif _FLOAT.match(inner):
        operand.value = float(inner)
    elif _parse_register(operand, inner, level):
        pass
    elif match := _CALL.match(inner):
        operand.call = (match[1], [argument for argument, _ in _split(match[2], ",") if argument])
    elif _NAME.match(inner):
        operand.symbol = inner
    else:
        raise TextError(f"{text} is not an operand", column)
    if operand.is_literal and operand.value is None:
        raise TextError(f"{text}: a literal is a number", column)
    return operand


@dataclass
class Statement:
    """An instruction in text; ``take_*`` remove modifiers, ``finish`` complains about those that are left."""

    mnemonic: str
    operands: list[Operand] = field(default_factory=list)
    modifiers: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    raw: str = ""
    second: Statement | None = None

    def copy(self) -> Statement:
        """The same statement, with its own modifiers."""
        return Statement(self.mnemonic, self.operands, dict(self.modifiers), self.raw, self.second)

    def has(self, name: str) -> bool:
        """Whether modifier `name` is given."""
        return name in self.modifiers

    def take(self, name: str) -> str | None:
        """The value of modifier ``name:value``."""
        found = self.modifiers.pop(name, None)
        if found is None:
            return None
        if found[0] is None:
            raise TextError(f"{name} takes a value", found[1])
        return found[0]

    def take_flag(self, name: str) -> bool:
        """Whether the single word `name` is given."""
        found = self.modifiers.pop(name, None)
        if found is not None and found[0] is not None:
            raise TextError(f"{name} takes no value", found[1])
        return found is not None

    def take_number(self, name: str, low: int, high: int) -> int | None:
        """The value of a numeric modifier."""
        column = self.modifiers.get(name, (None, 1))[1]
        text = self.take(name)
        if text is None:
            return None
        value = swizzle(text) if text.startswith("swizzle") else None
        if value is None:
            if not _INTEGER.match(text):
                raise TextError(f"{name}:{text} is not a number", column)
            value = int(text, 0)
        if not low <= value <= high:
            raise TextError(f"{name}:{text} is not from {low} to {high}", column)
        return value

    def take_list(self, name: str) -> list[int] | None:
        """The numbers of ``name:[a,b,...]``."""
        column = self.modifiers.get(name, (None, 1))[1]
        text = self.take(name)
        if text is None:
            return None
        if not re.match(r"\[\s*\d+\s*(,\s*\d+\s*)*\]$", text):
            raise TextError(f"{name}:{text} is not a list of numbers", column)
        return [int(word) for word in text[1:-1].split(",")]

    def has_lane_control(self, level: int) -> bool:
        """Whether a DPP16 control is given."""
        return self.has("quad_perm") or any(name in self.modifiers for name in self._lane_words())

    def _lane_words(self) -> tuple[str, ...]:
        return (*_LANE_WORDS, "row_mirror", "row_half_mirror")

    def take_lane_control(self, level: int) -> int:
        """The DPP16 control other than quad_perm."""
        controls = names.lane_controls(level)
        for name in self._lane_words():
            if name in self.modifiers:
                value, column = self.modifiers.pop(name)
                text = name if value is None else f"{name}:{value}"
                if text not in controls:
                    raise TextError(f"no lane control {text} on this target", column)
                return controls[text]
        # all lanes stay where they are
        return 0xE4

    def calls(self) -> list[tuple[str, list[str]]]:
        """Calls of operands that are joined by spaces, ``&`` or ``|``: counters and delays."""
        found = re.findall(r"([A-Za-z_]\w*)\s*\(([^()]*)\)", self.raw)
        rest = re.sub(r"[A-Za-z_]\w*\s*\([^()]*\)|[\s|&,]", "", self.raw)
        if rest or not found:
            raise TextError(f"{self.raw} is not a list of counters")
        return [(name, [argument.strip() for argument in arguments.split(",")]) for name, arguments in found]

    def names_label(self) -> bool:
        """Whether an operand is a symbol, which a later line may define."""
        return any(operand.symbol is not None for operand in self.operands)

    def finish(self) -> None:
        """Raise for a modifier that nobody took."""
        for name, (_, column) in self.modifiers.items():
            raise TextError(f"{self.mnemonic} has no modifier {name} here", column)


def swizzle(text: str) -> int:
    """The offset of ds_swizzle_b32 from ``swizzle(MODE, ...)``."""
    match = re.match(r"swizzle\s*\(\s*(\w+)\s*(?:,(.*))?\)$", text)
    if match is None:
        raise TextError(f"{text} is not a swizzle")
    mode, words = match[1], [word.strip() for word in (match[2] or "").split(",") if word.strip()]
    if mode == "BITMASK_PERM" and len(words) == 1 and re.match(r'"[01pi]{5}"$', words[0]):
        keep = force = flip = 0
        for letter in words[0][1:-1]:
            keep, force, flip = (
                keep << 1 | (letter in "pi"), force << 1 | (letter == "1"), flip << 1 | (letter == "i"),
            )  # fmt: skip
        return keep | force << 5 | flip << 10
    if not all(_INTEGER.match(word) for word in words):
        raise TextError(f"{text}: numbers expected")
    numbers = [int(word, 0) for word in words]
    if mode == "QUAD_PERM" and len(numbers) == 4 and all(0 <= number < 4 for number in numbers):
        return 0x8000 | sum(number << 2 * i for i, number in enumerate(numbers))
    if numbers and numbers[0] in (1, 2, 4, 8, 16, 32):
        group = numbers[0]
        if mode == "BROADCAST" and len(numbers) == 2 and group > 1 and 0 <= numbers[1] < group:
            return 0x1F & ~(group - 1) | numbers[1] << 5
        if mode == "SWAP" and len(numbers) == 1 and group <= 16:
            return 0x1F | group << 10
        if mode == "REVERSE" and len(numbers) == 1 and group > 1:
            return 0x1F | (group - 1) << 10
    raise TextError(f"{text} is not a swizzle that this assembler knows")


def _strip_comment(line: str) -> str:
    for mark in (";", "//"):
        at = line.find(mark)
        if at >= 0:
            line = line[:at]
    return line


def _parse_modifiers(words: list[tuple[str, int]], statement: Statement, base: int) -> None:
    for word, at in words:
        if not word:
            continue
        name, colon, value = word.partition(":")
        if not _WORD.match(name):
            raise TextError(f"{word} is not a modifier", base + at + 1)
        if name in statement.modifiers:
            raise TextError(f"{name} is given twice", base + at + 1)
        statement.modifiers[name] = (value if colon else None, base + at + 1)


def _parse_statement(text: str, base: int, level: int) -> Statement:
    """`text` starts at column ``base + 1`` of its line."""
    match = _FIRST_WORD.match(text)
    assert match is not None
    statement = Statement(match[1])
    rest = text[match.end() :]
    base += match.end()
    statement.raw = rest.strip()
    if not statement.raw:
        return statement
    if statement.mnemonic in COUNTED and "(" in rest:
        statement.operands.append(Operand(statement.raw, base + 1))
        return statement
    if statement.mnemonic in ("exp", "export"):
        target, _, rest = rest.partition(" ")
        statement.operands.append(Operand(target, base + 1))
        base += len(target) + 1
    chunks = _split(rest, ",")
    for chunk, at in chunks[:-1]:
        statement.operands.append(parse_operand(chunk, base + at + 1, level))
    chunk, at = chunks[-1]
    words = _split(chunk, " ")
    first = words[0][0]
    if len(chunks) > 1 or not (first in FLAGS or _MODIFIER.match(first)):
        statement.operands.append(parse_operand(first, base + at + 1, level))
        words = words[1:]
    _parse_modifiers(words, statement, base + at)
    return statement


def _parse_directive(text: str, base: int) -> list[int]:
    name, _, rest = text.partition(" ")
    if name in (".text", ".globl", ".p2align", ".amdgcn_target"):
        return []
    if name != ".long":
        raise TextError(f"directive {name} is not supported", base + 1)
    words = []
    for word, at in _split(rest, ","):
        if not _INTEGER.match(word) or not -0x80000000 <= int(word, 0) <= 0xFFFFFFFF:
            raise TextError(f"{word} is not a 32-bit number", base + len(name) + at + 2)
        words.append(int(word, 0) & 0xFFFFFFFF)
    return words


def parse_line(line: str, level: int) -> tuple[str | None, Statement | list[int] | None]:
    """The label of a line and its statement, data words, or nothing.

    Parameters
    ----------
    line
        Text without the line break.
    level
        Gfx level, which decides what registers exist.
    """
    text = _strip_comment(line).replace("\t", " ").rstrip()
    label = None
    base = 0
    if match := _LABEL.match(text.lstrip()):
        label = match[1]
        base = len(text) - len(text.lstrip()) + match.end()
    body = text[base:]
    base += len(body) - len(body.lstrip())
    body = body.strip()
    if not body:
        return label, None
    if body.startswith("."):
        return label, _parse_directive(body, base)
    if "::" in body:
        first, _, second = body.partition("::")
        statement = _parse_statement(first.rstrip(), base, level)
        offset = len(first) + 2 + len(second) - len(second.lstrip())
        if not second.strip():
            raise TextError("the second half is missing", base + len(first) + 1)
        statement.second = _parse_statement(second.strip(), base + offset, level)
        return label, statement
    return label, _parse_statement(body, base, level)
