"""ACO IR as text: printer and reader.

The form is ACO's own (``aco_print_ir``), so that programs can be compared with its dumps line by line. What ACO leaves out of the
text and a program needs is printed as additions that the reader takes and ACO's form never has: ``/ mode: 0xf0`` and ``/ depth: 1``
in the comment of a block, ``vop3`` after an instruction whose encoding is longer than it must be.

One line of the grammar::

    [definitions "="] opcode [operands] suffixes
    definition   class ":" flags "%" id [":" register]
    operand      ["-"] ["|"] ["lo(" | "hi("] flags (("%" id [":" register]) | constant | class " undef") ...
    register     vcc m0 null exec scc | s[4] s[4-7] v[0] v[0-1], then [lo:hi] for part of a dword
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pyaco import targets
from pyaco._core.aco import build
from pyaco._core.common.vocabulary import Format, Register
from pyaco._core.ir.shader import check_invocations
from pyaco._core.ir.vocabulary import BlockKind, DefinitionFlag, HardwareStage, OperandFlag, Progress, SoftwareStage
from pyaco.aco.text_suffixes import InstructionText, full_mask, read_message, read_suffix, set_defaults, suffix_texts, wait_for_nothing
from pyaco.aco.text_words import (
    HEADERS,
    INLINE_F16,
    INLINE_F32,
    INLINE_F64,
    INLINE_FLOATS,
    KINDS,
    MIX,
    SPECIAL,
    VALU_FORMATS,
    class_bytes,
    class_name,
    constant_text,
    flag_names,
    get,
    parse_class,
    parse_register,
    register_name,
)
from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.isa import names as isa_names
from pyaco.isa import opcodes

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["Notes", "annotated_text", "format_block", "format_instruction", "format_program", "instruction_texts", "parse_program"]

_UNKNOWN_SIZE = 0xFFFFFFFF               # of a workgroup
# Flags that stand in parentheses before a temp. ACO's own text has had both spellings of the late kill.
_OPERAND_FLAGS = {flag.text: int(flag) for flag in (OperandFlag.LATE_KILL, OperandFlag.OPERAND_16BIT, OperandFlag.OPERAND_24BIT, OperandFlag.KILL)}
_OPERAND_FLAGS["lateKill"] = int(OperandFlag.LATE_KILL)
_DEFINITION_FLAGS = {flag.text: int(flag) for flag in (DefinitionFlag.PRECISE, DefinitionFlag.NUW, DefinitionFlag.NO_CSE, DefinitionFlag.KILL)}
_DEFINITION = re.compile(r"\s*(s\d+|l?v\d+b?): ((?:\(\w+\))*)%(\d+)(?::(\S+))?\Z")
_OPERAND = re.compile(r"((?:\(\w+\))*)%(\d+)(?::(\S+))?\Z")
_UNDEF = re.compile(r"(s\d+|l?v\d+b?):? undef\Z")
_NEXT_OPERAND = re.compile(
    r"\s*(-?\|?-?(?:lo\(|hi\()?-?\(?(?:(?:s\d+|l?v\d+b?):? undef|1/\(2\*PI\)[|)]*(?:\.[xy]{2})?(?:\*\[-?1,-?1\])?"
    r"|[^\s,]+\[[^\s\]]*\][^\s,]*|[^\s,]+))")  # fmt: skip
_SWIZZLE = re.compile(r"(.*?)(?:\.([xy])([xy]))?(?:\*\[(-?1),(-?1)\])?\Z")
_BLOCK = re.compile(r"/\* logical preds: ((?:BB\d+, )*)/ linear preds: ((?:BB\d+, )*)/ kind: ((?:[\w-]+, )*)((?:/ \w+: \w+ )*)\*/\Z")


# ---------------------------------------------------------------------------------------------------------------- printing
def _operand_text(data: int, reg: int, register_class: int, flags: int, kills: bool) -> str:
    if flags & OperandFlag.CONSTANT:
        return constant_text(data, reg, 1 << ((flags >> 10) & 3))
    if flags & OperandFlag.UNDEF:
        return f" {class_name(register_class)}: undef"
    text = "(latekill)" if flags & OperandFlag.LATE_KILL else ""
    text += ("(is16bit)" if flags & OperandFlag.OPERAND_16BIT else "") + ("(is24bit)" if flags & OperandFlag.OPERAND_24BIT else "")
    text += "(kill)" if kills and flags & OperandFlag.KILL else ""
    text += f"%{data if flags & OperandFlag.TEMP else 0}"
    return text + (f":{register_name(reg, class_bytes(register_class))}" if flags & OperandFlag.FIXED else "")


def _definition_text(temp: int, reg: int, register_class: int, flags: int, kills: bool) -> str:
    text = f" {class_name(register_class)}: "
    text += ("(precise)" if flags & DefinitionFlag.PRECISE else "") + ("(nuw)" if flags & DefinitionFlag.NUW else "")
    text += ("(noCSE)" if flags & DefinitionFlag.NO_CSE else "") + ("(kill)" if kills and flags & DefinitionFlag.KILL else "")
    return text + f"%{temp}" + (f":{register_name(reg, class_bytes(register_class))}" if flags & DefinitionFlag.FIXED else "")


def _modified_operand(text: str, index: int, name: str, format_: int, word: int) -> str:
    """Wrap an operand in the input modifiers of its instruction."""
    if not (format_ & VALU_FORMATS or format_ == Format.VINTERP_INREG):
        return text
    packed, mix = bool(format_ & Format.VOP3P), name in MIX
    negative = opsel = absolute = half = 0
    if index < 3:
        if mix:
            negative, absolute = get(word, "neg") >> index & 1, get(word, "neg_hi") >> index & 1
            half = get(word, "opsel_hi") >> index & 1
            opsel = half and get(word, "opsel") >> index & 1
        elif not packed:
            negative, absolute = get(word, "neg") >> index & 1, get(word, "abs") >> index & 1
            opsel = get(word, "opsel") >> index & 1
    literal_sign = negative and not (absolute or opsel or half) and text[:1] not in "% (" and text != "0"
    out = ("-(" if literal_sign else "-" if negative else "") + ("|" if absolute else "")
    out += "hi(" if opsel else "lo(" if half else ""
    out += text + (")" if opsel or half else "") + ("|" if absolute else "") + (")" if literal_sign else "")
    if packed and not mix and index < 3:
        low, high = get(word, "opsel") >> index & 1, get(word, "opsel_hi") >> index & 1
        out += f".{'xy'[low]}{'xy'[high]}" if low or not high else ""
        signs = get(word, "neg") >> index & 1, get(word, "neg_hi") >> index & 1
        out += f"*[{'-1' if signs[0] else '1'},{'-1' if signs[1] else '1'}]" if any(signs) else ""
    return out


def _must_be_vop3(name: str, word: int, definitions: list[Any], operands: list[Any], gfx: int, native: int) -> bool:
    """Whether a VOP1, VOP2 or VOPC opcode cannot be said in its short encoding."""
    if any(get(word, field) for field in ("neg", "abs", "opsel", "omod", "clamp")):
        return True
    for index, (_, reg, register_class, flags) in enumerate(operands):
        constant = flags & OperandFlag.CONSTANT
        scalar = not register_class & 0x20 and not flags & OperandFlag.UNDEF
        takes_scalar = name.startswith(("v_readlane", "v_writelane")) or name.endswith(("mk_f32", "mk_f16"))
        if index == 1 and native != Format.VOP1 and (constant or scalar) and not takes_scalar:
            return True
        if index == 2 and scalar and not constant and flags & OperandFlag.FIXED and reg != SPECIAL["vcc"] * 4:
            return True
    return bool(any(not rc & 0x20 and flags & DefinitionFlag.FIXED and reg != SPECIAL["vcc"] * 4
                    for _, reg, rc, flags in definitions) and native in (Format.VOP2, Format.VOPC)
                and not name.startswith(("v_cmpx", "v_readlane")))  # fmt: skip


def _expected_format(name: str, word: int, definitions: list[Any], operands: list[Any], gfx: int, encoding: int) -> int:
    """The format that the reader gives an instruction that says no more than the text does."""
    native = opcodes.FORMATS[opcodes.row(name).format]
    if not native & (Format.VOP1 | Format.VOP2 | Format.VOPC):
        return native | encoding
    if encoding & Format.SDWA:
        return native | encoding
    if encoding:
        plain = not any(get(word, field) for field in ("opsel", "omod", "clamp"))
        placed = [(reg, rc) for _, reg, rc, flags in operands[1:] if flags & OperandFlag.FIXED]
        placed += [(reg, rc) for _, reg, rc, flags in definitions if flags & DefinitionFlag.FIXED]
        vop3 = not plain or any(not rc & 0x20 and reg != SPECIAL["vcc"] * 4 for reg, rc in placed)
        return native | encoding | (Format.VOP3 if vop3 else 0)
    return native | (Format.VOP3 if _must_be_vop3(name, word, definitions, operands, gfx, native) else 0)


class _Columns:
    """Plain Python lists of a program's columns: quicker to walk than NumPy scalars."""

    def __init__(self, program: Program) -> None:
        instructions, operands, definitions = program.instructions, program.operands, program.definitions
        self.gfx = program.gfx_level
        self.names = opcodes.names()
        self.opcode = instructions.opcode.tolist()
        self.format = instructions.format.tolist()
        self.modifiers = instructions.modifiers.tolist()
        self.immediate = instructions.immediate.tolist()
        self.spans = list(zip(instructions.definition_first.tolist(), instructions.definition_count.tolist(),
                              instructions.operand_first.tolist(), instructions.operand_count.tolist(), strict=True))  # fmt: skip
        self.operands = list(zip(operands.data.tolist(), operands.reg.tolist(), operands.register_class.tolist(),
                                 operands.flags.tolist(), strict=True))  # fmt: skip
        self.definitions = list(zip(definitions.temp.tolist(), definitions.reg.tolist(), definitions.register_class.tolist(),
                                    definitions.flags.tolist(), strict=True))  # fmt: skip

    def text(self, row: int, kills: bool) -> str:
        """One instruction."""
        name, format_, word = self.names[self.opcode[row]], self.format[row], self.modifiers[row]
        first_definition, definition_count, first_operand, operand_count = self.spans[row]
        definitions = self.definitions[first_definition : first_definition + definition_count]
        operands = self.operands[first_operand : first_operand + operand_count]
        if format_ == Format.VOPD:
            return self._dual_text(name, word, definitions, operands, kills)
        out = ", ".join(_definition_text(*definition, kills) for definition in definitions) + (" = " if definitions else "")
        out += name
        if operands:
            texts = (_modified_operand(_operand_text(*operand, kills), index, name, format_, word)
                     for index, operand in enumerate(operands))  # fmt: skip
            out += " " + ", ".join(texts)
        full = full_mask(definitions)
        for suffix in suffix_texts(name, format_, word, self.immediate[row], self.gfx, operand_count, full):
            out += " " + suffix
        if format_ & Format.VOP3:
            encoding = format_ & (Format.SDWA | Format.DPP16 | Format.DPP8)
            if _expected_format(name, word, definitions, operands, self.gfx, encoding) != format_:
                out += " vop3"
        return out

    def _dual_text(self, name: str, word: int, definitions: list[Any], operands: list[Any], kills: bool) -> str:
        second = self.names[get(word, "vopd_opcode_y")]
        count = len(opcodes.row(name).operands)
        if name in ("v_dual_fmaak_f32", "v_dual_fmamk_f32", "v_dual_fmac_f32"):
            count = 3
        halves: list[tuple[str, list[Any], list[Any]]] = [
            (name, definitions[:1], operands[:count]), (second, definitions[1:], operands[count:]),
        ]
        texts = []
        for half, results, sources in halves:
            text = ", ".join(_definition_text(t, reg, class_, flags, kills) for t, reg, class_, flags in results) + f" = {half} "
            texts.append(text + ", ".join(_operand_text(data, reg, class_, flags, kills) for data, reg, class_, flags in sources))
        return " ::".join(texts)


def format_instruction(program: Program, row: int, kills: bool = False) -> str:
    """Return the text of one instruction."""
    return _Columns(program).text(row, kills)


def instruction_texts(program: Program) -> Callable[[int], str]:
    """Return a function from instructions to their texts: for many of one program."""
    columns = _Columns(program)
    return lambda row: columns.text(row, False).strip()


def format_block(program: Program, block: int, kills: bool = False) -> str:
    """Return the text of one block."""
    return "\n".join(_block_lines(program, block, _Columns(program), kills, 0xC0)) + "\n"


class Notes(NamedTuple):
    """What stands beside the text of a program: lines at the head of a block, and in front of the instruction in a row of the order."""

    block: Callable[[int], list[str]]
    instruction: Callable[[int], str]


def _block_lines(program: Program, block: int, columns: _Columns, kills: bool, mode: int, notes: Notes | None = None) -> list[str]:
    blocks, lists = program.blocks, program.edge_lists.block
    edges = []
    for kind in ("logical", "linear"):
        first = getattr(blocks, f"{kind}_pred_first")[block]
        count = getattr(blocks, f"{kind}_pred_count")[block]
        edges.append("".join(f"BB{pred}, " for pred in lists[first : first + count].tolist()))
    kinds = "".join(f"{name}, " for name in flag_names(int(blocks.kind[block]), KINDS))
    extra = "" if blocks.fp_mode[block] == mode else f"/ mode: 0x{int(blocks.fp_mode[block]):x} "
    extra += f"/ depth: {blocks.loop_depth[block]} " if blocks.loop_depth[block] else ""
    lines = [f"BB{block}", f"/* logical preds: {edges[0]}/ linear preds: {edges[1]}/ kind: {kinds}{extra}*/"]
    first, count = int(blocks.order_first[block]), int(blocks.order_count[block])
    rows = program.order.instruction[first : first + count].tolist()
    if notes is None:
        return lines + ["\t" + columns.text(row, kills) for row in rows]
    lines += ["\t" + line for line in notes.block(block)]
    return lines + [f"\t{notes.instruction(first + k)}{columns.text(row, kills)}" for k, row in enumerate(rows)]


@checked
def format_program(program: Program, kills: bool | None = None) -> str:
    """Return a program as text.

    Parameters
    ----------
    program : Program
        Any stage of the backend.
    kills : bool, optional
        Mark killed operands and unused definitions; by default after spilling, as ACO does.
    """
    return annotated_text(program, build.progress(program) == Progress.SPILLING if kills is None else kills, None)


def annotated_text(program: Program, kills: bool, notes: Notes | None) -> str:
    """Return a program as text, with notes beside it, which no reader takes."""
    progress = build.progress(program)
    lines = [HEADERS[min(progress, Progress.RA)], _stage_text(*build.stage(program))]
    columns = _Columns(program)
    for block in range(len(program.blocks)):
        lines += _block_lines(program, block, columns, kills, 0xC0, notes)
    if data := program.constant_data:
        lines += ["", "/* constant data */"]
        for start in range(0, len(data), 32):
            words = (data[at : at + 4] for at in range(start, min(start + 32, len(data)), 4))
            lines.append(f"[{start:06d}] " + " ".join(f"{int.from_bytes(word, 'little'):08x}" for word in words))
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------------------------------------ reading
class _Reader:
    """State of reading one program."""

    def __init__(self, gfx: int, wave: int) -> None:
        self.gfx = gfx
        self.mask_bytes = 4 if wave == 32 else 8
        self.classes: dict[int, int] = {}

    # --- operands
    def definition(self, text: str) -> tuple[int, int, int, int]:
        """One definition."""
        match = _DEFINITION.match(text)
        if not match:
            raise InputError(f"no definition: {text.strip()!r}")
        register_class, temp = parse_class(match[1]), _temp(match[3])
        flags = DefinitionFlag.TEMP if temp else 0
        for flag in re.findall(r"\((\w+)\)", match[2]):
            if flag not in _DEFINITION_FLAGS:
                raise InputError(f"no flag of a definition: {flag!r}")
            flags |= _DEFINITION_FLAGS[flag]
        reg = int(Register.NONE)
        if match[4]:
            reg, _ = parse_register(match[4], self.mask_bytes)
            flags |= DefinitionFlag.FIXED
            if temp:                                         # ACO's own text has other registers where no temp is meant
                _check_file(register_class, reg, text)
        elif not temp:
            raise InputError("a definition needs a temp or a register")
        if temp:
            self.classes.setdefault(temp, register_class)
        return temp, reg, register_class, flags

    def constant(self, text: str, size: int) -> tuple[int, int, int, int] | None:
        """A constant operand of `size` bytes, or None."""
        if text in INLINE_FLOATS:
            index = INLINE_FLOATS.index(text)
            values = INLINE_F16 if size == 2 else INLINE_F64 if size == 8 else INLINE_F32
            return build.constant(values[index], 4 if size == 1 else size)
        if re.fullmatch(r"0x[0-9a-f]+", text):
            value = int(text, 16)
            if value >> 32:
                raise InputError(f"{text}: a literal has 32 bits")
            return build.constant(value, size, size != 1)
        if re.fullmatch(r"-?\d+", text):
            value = int(text)
            if not -16 <= value <= 64:
                raise InputError(f"{text}: inline integers go from -16 to 64; write a literal in hexadecimal")
            return build.constant(value & (1 << 8 * size) - 1, size)
        return None

    def operand(self, text: str, size: int) -> tuple[int, int, int, int]:
        """One operand without its modifiers."""
        text = text.strip()
        if match := _UNDEF.match(text):
            return 0, Register.NONE, parse_class(match[1]), OperandFlag.UNDEF
        constant = self.constant(text, size)
        if constant is not None:
            return constant
        match = _OPERAND.match(text)
        if not match:
            raise InputError(f"no operand: {text!r}")
        temp = _temp(match[2])
        flags = OperandFlag.TEMP if temp else 0
        for flag in re.findall(r"\((\w+)\)", match[1]):
            if flag not in _OPERAND_FLAGS:
                raise InputError(f"no flag of an operand: {flag!r}")
            flags |= _OPERAND_FLAGS[flag]
        reg, register_class = int(Register.NONE), self.classes.get(temp, 0)
        if match[3]:
            reg, bytes_ = parse_register(match[3], self.mask_bytes)
            flags |= OperandFlag.FIXED
            if not register_class:
                vector = reg >= Register.VGPR0
                register_class = (0x60 | bytes_ if bytes_ & 3 else 0x20 | bytes_ // 4) if vector else (bytes_ + 3) // 4
                if temp:
                    self.classes[temp] = register_class
            if temp:
                _check_file(register_class, reg, text)
        if not register_class:
            raise InputError(f"%{temp} is not defined")
        return temp, reg, register_class, flags


def _temp(digits: str) -> int:
    """The number of a temp."""
    temp = int(digits)
    if temp >= 1 << 24:
        raise InputError(f"temp %{temp} is too large")
    return temp


def _check_file(register_class: int, reg: int, text: str) -> None:
    """A value of VGPRs is in VGPRs that there are, one of SGPRs in others."""
    in_vgpr = reg >= Register.VGPR0
    if (register_class & 0x20 != 0) != in_vgpr or reg + class_bytes(register_class) > (2 if in_vgpr else 1) * Register.VGPR0:
        raise InputError(f"{text.strip()!r}: a value of class {class_name(register_class)} cannot be in this register")
    if (not in_vgpr and register_class & 0x1F == 2 and reg & 7) or (reg == Register.SCC and register_class != 1):
        raise InputError(f"{text.strip()!r}: a value of class {class_name(register_class)} cannot begin with this register")


def _split_line(line: str) -> tuple[str, str]:
    """Definitions and the rest."""
    depth = line.split(" = ", 1)
    return (depth[0], depth[1]) if len(depth) == 2 else ("", depth[0])


def _constant_size(name: str, index: int, results: list[Any]) -> int:
    """Bytes that a constant operand stands for."""
    row = opcodes.row(name)
    if row.format.startswith("pseudo"):
        if name in ("p_linear_phi", "p_phi", "p_parallelcopy") and results:
            size = class_bytes(results[0 if "phi" in name else min(index, len(results) - 1)][2])
            return size if size in (2, 8) else 4
        return 4
    tokens = [token for token in row.operands if token not in ("scc", "vcc", "exec", "m0")]
    token = tokens[index] if index < len(tokens) else "v1"
    if token in ("s2", "v2"):
        return 8
    if token == "v2b" or (re.search(r"(_f16|_u16|_i16|_b16)$", name) and row.format.startswith("vop") and "v_cvt" not in name):
        return 2 if row.format != "vop3p" else 4
    return 4


def _modified(item: InstructionText, text: str, index: int) -> str:
    """Take the input modifiers off an operand."""
    text = text.strip()
    packed, mix = bool(item.format & Format.VOP3P), item.name in MIX
    if packed and not mix:
        match = _SWIZZLE.match(text)
        assert match is not None
        text = match[1]
        if match[2]:
            item.set("opsel", get(item.word, "opsel") | "xy".index(match[2]) << index)
            high = get(item.word, "opsel_hi") & ~(1 << index)
            item.set("opsel_hi", high | "xy".index(match[3]) << index)
        for field, sign in (("neg", match[4]), ("neg_hi", match[5])):
            if sign == "-1":
                item.set(field, get(item.word, field) | 1 << index)
        return text
    if text.startswith("-") and (not re.fullmatch(r"-(\d+(\.\d+)?|1/\(2\*PI\))", text) or text == "-0"):
        item.set("neg", get(item.word, "neg") | 1 << index)
        text = text[1:]
        if text.startswith("(") and not re.match(r"\((is16bit|is24bit|kill|latekill)\)", text):
            text = text[1:-1]
    if text.startswith("|"):
        field = "neg_hi" if mix else "abs"
        item.set(field, get(item.word, field) | 1 << index)
        text = text[1:-1]
    if text.startswith(("lo(", "hi(")):
        if text.startswith("hi("):
            item.set("opsel", get(item.word, "opsel") | 1 << index)
        if mix:
            item.set("opsel_hi", get(item.word, "opsel_hi") | 1 << index)
        text = text[3:-1]
    return text


def _split_operands(text: str) -> tuple[list[str], list[str]]:
    """Split what follows an opcode into operands (separated by commas) and suffixes (by blanks)."""
    operands: list[str] = []
    rest = text
    while True:
        match = _NEXT_OPERAND.match(rest)
        if not match or not _is_operand(match[1]):
            return operands, rest.split()
        operands.append(match[1])
        rest = rest[match.end() :]
        if not rest.startswith(","):
            return operands, rest.split()
        rest = rest[1:]


def _is_operand(text: str) -> bool:
    bare = text.lstrip("-|(")
    return bool(re.match(r"(?:(?:lo|hi)\()?[-|]*(?:\((?:is16bit|is24bit|kill|latekill|lateKill)\))*(%|0x|\d+\b(?!d)|1/\(|[slv]+\d+b?:? undef)",
                         bare) or re.match(r"(is16bit|is24bit|kill|latekill|lateKill)\)", bare))  # fmt: skip


def _stage_text(software: int, hardware: int) -> str:
    """The line that names the stage; as ACO does, each of several software stages is followed by a plus."""
    names = flag_names(software, SoftwareStage.bits().values())
    joined = names[0] if len(names) == 1 else "".join(f"{name}+" for name in names)
    return f"ACO shader stage: SW ({joined}), HW ({HardwareStage.names()[hardware]})"


def _parse_stage(line: str) -> tuple[int, int]:
    """Return software and hardware stage."""
    match = re.fullmatch(r"ACO shader stage: SW \(((?:\w+\+)*\w*)\), HW \((\w+)\)", line.strip())
    if not match:
        raise InputError(f"no shader stage: {line!r}")
    numbers = {name: bit for bit, name in SoftwareStage.bits().items()}
    software = 0
    for name in filter(None, match[1].split("+")):
        if name not in numbers or software & numbers[name]:
            raise InputError(f"no software stage: {match[1]!r}")
        software |= numbers[name]
    hardware = {name: number for number, name in HardwareStage.names().items()}
    if software not in SoftwareStage.names():
        raise InputError(f"no software stage, nor a pair that is merged: {match[1]!r}")
    if match[2] not in hardware:
        raise InputError(f"no hardware stage: {match[2]!r}")
    return software, hardware[match[2]]


def _parse_half(reader: _Reader, line: str) -> tuple[InstructionText, list[Any], list[Any]]:
    results, rest = _split_line(line)
    definitions = [reader.definition(part) for part in results.split(",")] if results.strip() else []
    name, _, rest = rest.strip().partition(" ")
    if name not in opcodes.numbers():
        raise InputError(f"no opcode: {name!r}")
    item = InstructionText(name, opcodes.FORMATS[opcodes.row(name).format])
    set_defaults(item)
    if name == "s_waitcnt":
        item.immediate = wait_for_nothing(reader.gfx)
    operand_texts, suffixes = _split_operands(rest)
    operands = []
    valu = bool(item.format & VALU_FORMATS) or item.format == Format.VINTERP_INREG
    for index, text in enumerate(operand_texts):
        bare = _modified(item, text, index) if valu else text
        size = _constant_size(name, index, definitions)
        if item.format <= Format.PSEUDO_REDUCTION and (match := re.fullmatch(r"0x([0-9a-f]+)", bare.strip())):
            size = {2: 1, 4: 2}.get(len(match[1]), size if size == 8 else 4)
        operands.append(reader.operand(bare, size))
    read_message(item, operands)
    for suffix in suffixes:
        read_suffix(item, suffix, reader.gfx)
    return item, definitions, operands


def _complete_memory(item: InstructionText, definitions: list[Any], line: str, gfx: int) -> None:
    """Modifiers that the text leaves to the result's size or to the gfx level."""
    if item.format == Format.MTBUF:
        number = isa_names.join_format(get(item.word, "format"), gfx)
        if number is None:
            raise InputError("no such buffer format on this gfx level")
        item.set("format", number)
    elif item.format == Format.MIMG and definitions and "dmask:" not in line and "atomic" not in item.name:
        item.set("dmask", (1 << min(4, definitions[0][2] & 0x1F)) - 1)


def _parse_instruction(reader: _Reader, line: str) -> tuple[InstructionText, list[Any], list[Any]]:
    if " :: " not in line:
        item, definitions, operands = _parse_half(reader, line)
        _complete_memory(item, definitions, line, reader.gfx)
        encoding = item.format & (Format.SDWA | Format.DPP16 | Format.DPP8)
        if item.format & (Format.VOP1 | Format.VOP2 | Format.VOPC):
            item.format = _expected_format(item.name, item.word, definitions, operands, reader.gfx, encoding)
            item.format |= Format.VOP3 if item.long else 0
        return item, definitions, operands
    first, second = line.split(" :: ", 1)
    item, definitions, operands = _parse_half(reader, first)
    other, more_definitions, more_operands = _parse_half(reader, second)
    item.set("vopd_opcode_y", opcodes.numbers()[other.name])
    return item, definitions + more_definitions, operands + more_operands


def _lines(text: str, each: Callable[[int, str], None]) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            each(number, line)
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None


def _collect_classes(text: str, reader: _Reader) -> None:
    """Phis and loops use temps before their definition is read."""
    def each(number: int, line: str) -> None:
        for half in line.split(" :: ") if line.startswith("\t") else ():
            results = _split_line(half)[0]
            for part in results.split(",") if results.strip() else ():
                reader.definition(part)
    _lines(text, each)


class _ProgramReader:
    """Reads a program line by line."""

    def __init__(self, program: Program, reader: _Reader) -> None:
        self.program = program
        self.reader = reader
        #: Whether linear, predecessor, successor.
        self.edges: list[tuple[bool, int, int]] = []
        self.block = -1
        self.depth = 0
        self.expects_comment = False
        self.data = bytearray()

    def line(self, _: int, line: str) -> None:
        """Read one line."""
        if self.expects_comment:
            self.expects_comment = False
            self.block_comment(line)
        elif match := re.fullmatch(r"BB(\d+)", line.strip()):
            self.block += 1
            if int(match[1]) != self.block:
                raise InputError(f"expected BB{self.block}, not {line.strip()}")
            self.expects_comment = True
        elif line.startswith("\t"):
            if self.block < 0:
                raise InputError("an instruction stands before the first block")
            item, definitions, operands = _parse_instruction(self.reader, line[1:])
            build.add_instruction(self.program, self.block, opcodes.numbers()[item.name], item.format, definitions, operands,
                                  item.word, item.immediate)  # fmt: skip
        elif line in HEADERS:
            build.set_progress(self.program, HEADERS.index(line))
        elif line.startswith("ACO shader stage:"):
            build.set_stage(self.program, *_parse_stage(line))
        elif match := re.match(r"\[(\d{6})\] ([0-9a-f ]+)$", line):
            for word in match[2].split():
                self.data.extend(int(word, 16).to_bytes(4, "little"))
        elif line.strip() and not line.startswith("/* constant data */"):
            raise InputError(f"not understood: {line!r}")

    def block_comment(self, line: str) -> None:
        """Read what stands under the name of a block: its predecessors and its kind."""
        match = _BLOCK.match(line.strip())
        if not match:
            raise InputError(f"no block comment: {line!r}")
        for linear, group in ((False, match[1]), (True, match[2])):
            self.edges.extend((linear, int(predecessor), self.block) for predecessor in re.findall(r"BB(\d+)", group))
        kinds = [KINDS.index(kind) if kind in KINDS else -1 for kind in re.findall(r"([\w-]+),", match[3])]
        if -1 in kinds:
            raise InputError(f"no block kind in: {match[3]!r}")
        extra = dict(re.findall(r"/ (\w+): (\w+)", match[4]))
        kind = sum(1 << bit for bit in kinds)
        self.depth += 1 if kind & BlockKind.LOOP_HEADER else 0
        self.depth -= 1 if kind & BlockKind.LOOP_EXIT and self.depth else 0
        mode, depth = extra.get("mode", "0xc0"), extra.get("depth", str(self.depth))
        if not re.fullmatch(r"0x[0-9a-f]{1,4}", mode) or not re.fullmatch(r"\d{1,4}", depth):
            raise InputError(f"no mode or depth in: {match[4].strip()!r}")
        build.add_block(self.program, kind, int(mode, 16), int(depth))

    def finish(self) -> None:
        """Add what only the whole text tells: temps, edges, constant data; and the limits of the device."""
        if self.block < 0:
            raise InputError("the text has no block")
        program = self.program
        highest = max(self.reader.classes, default=0)
        build.add_temps(program, [self.reader.classes.get(temp, 0) for temp in range(1, highest + 1)])
        for linear, predecessor, successor in self.edges:
            if predecessor > self.block:
                raise InputError(f"BB{successor}: predecessor BB{predecessor} does not exist")
            build.add_edge(program, linear, predecessor, successor)
        build.finish_edges(program)
        build.set_constant_data(program, bytes(self.data))
        levels = {chip.level: chip for chip in reversed(targets.chips())}
        if program.gfx_level in levels:
            build.set_device(program, **targets.wave_limits(levels[program.gfx_level], program.wave_size).as_dict())


@checked
def parse_program(text: str, gfx_level: int, wave_size: int = 64, *, workgroup_size: int = _UNKNOWN_SIZE,
                  wgp_mode: bool = False) -> Program:  # fmt: skip
    """Return the program that a text in ACO's form describes.

    Parameters
    ----------
    text : str
        What :func:`format_program` or ACO prints.
    gfx_level : int
        Hardware level times ten, as in ``pyaco.targets.Chip.level``.
    wave_size : int
        32 or 64.
    workgroup_size : int
        Invocations, where known.
    wgp_mode : bool
        Whether workgroups run in workgroup-processor mode.

    Raises
    ------
    InputError
        Naming the line.
    """
    if workgroup_size != _UNKNOWN_SIZE:
        check_invocations(workgroup_size)
    reader = _Reader(gfx_level, wave_size)
    _collect_classes(text, reader)
    whole = _ProgramReader(build.new_program(gfx_level, wave_size, workgroup_size, wgp_mode), reader)
    _lines(text, whole.line)
    whole.finish()
    return whole.program
