"""Assembly text in LLVM's syntax to machine code.

Two steps: ``statements.py`` splits a line into mnemonic, operands and modifiers; this module finds the opcode, fills
the fields of ``Decoded`` and lets the encoder of the kernels make the words. A vector instruction takes its shortest
encoding unless its suffix names one. Syntax: "Syntax of AMDGPU Instruction Operands" and "... Modifiers" of the LLVM
manual.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pyaco._core.isa.encode import encode_fields, error_text
from pyaco.errors import InputError
from pyaco.isa import names, opcodes
from pyaco.isa.disassembler import default_wave_size, target_level
from pyaco.isa.statements import Operand, Statement, TextError, parse_line

__all__ = ["assemble"]

NONE = 0xFFFF
VCC, NULL, EXEC, LITERAL, VGPR0 = 106 * 4, 125 * 4, 126 * 4, 255 * 4, 256 * 4
VOP1, VOP2, VOPC, VOP3, VOP3P, SDWA, DPP16, DPP8 = 0x80, 0x100, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000
ONE_DWORD = VOP1 | VOP2 | VOPC
BRANCHES = frozenset(
    (
        "s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz",
        "s_cbranch_execnz", "s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
        "s_cbranch_cdbgsys_and_user",
    )
)  # fmt: skip
BRANCHES_K = frozenset(["s_call_b64", "s_subvector_loop_begin", "s_subvector_loop_end", "s_cbranch_i_fork"])
SWAPS = frozenset(["v_swap_b32", "v_swap_b16", "v_swaprel_b32"])
#: D = src0 * K + src1: text has the literal between the sources.
MULTIPLY_CONSTANT = frozenset(["v_madmk_f32", "v_madmk_f16", "v_fmamk_f32", "v_fmamk_f16", "s_fmamk_f32"])
MIXES = frozenset(["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"])
SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp")
# Inline constants by the bit pattern of each width; code minus 240.
FLOATS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
INVERSE_TWO_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}


@cache
def field_bits() -> dict[str, tuple[int, int]]:
    """First bit and width of the packed modifiers (``data/modifiers.txt``)."""
    from importlib import resources

    text = (resources.files("pyaco.isa") / "data/modifiers.txt").read_text()
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return {words[0]: (int(words[1]), int(words[2])) for words in lines if words}


@cache
def inline_patterns(bits: int) -> dict[int, int]:
    """Code of an inline constant by its bit pattern."""
    kind = {16: "<e", 32: "<f", 64: "<d"}[bits]
    patterns = {int.from_bytes(struct.pack(kind, value), "little"): 240 + i for i, value in enumerate(FLOATS)}
    patterns[INVERSE_TWO_PI[bits]] = 248
    return patterns


@dataclass
class Fields:
    """What the encoder needs; the same names as ``Decoded``."""

    opcode: int
    format: int
    sources: list[int] = field(default_factory=list)
    destinations: list[int] = field(default_factory=list)
    literal: int | None = None
    immediate: int = 0
    modifiers: int = 0

    def set(self, name: str, value: int) -> None:
        """Put a packed modifier."""
        first, width = field_bits()[name]
        if value >> width:
            raise TextError(f"{value} does not fit {name}")
        self.modifiers = self.modifiers & ~(((1 << width) - 1) << first) | value << first

    def as_dict(self) -> dict[str, Any]:
        """The dict that the encoder takes."""
        return vars(self)


class Mnemonics:
    """Opcodes of one gfx level by what text calls them: LLVM's spelling, then ACO's and those of other generations."""

    def __init__(self, level: int) -> None:
        generation = opcodes.generation_of(level)
        self.opcodes: dict[str, int] = {}
        here = [
            (number, row)
            for number, row in enumerate(opcodes.rows())
            if generation in row.numbers or (row.second_half >= 0 and level >= 110)
        ]
        preferred = [pair for pair in here if "encode_only" not in pair[1].flags]
        for number, row in preferred:
            self.opcodes.setdefault(row.spelling(generation), number)
        for number, row in here:
            for name in (row.name, row.name.removesuffix("_e64"), *row.spellings.values()):
                self.opcodes.setdefault(name, number)
            if row.format == "ldsdir" and level >= 120:
                self.opcodes.setdefault(row.name.replace("lds_", "ds_"), number)

    def find(self, mnemonic: str) -> tuple[int, str]:
        """Opcode and encoding suffix of a mnemonic."""
        if mnemonic in self.opcodes:
            return self.opcodes[mnemonic], ""
        for suffix in SUFFIXES:
            if mnemonic.endswith(suffix) and mnemonic.removesuffix(suffix) in self.opcodes:
                return self.opcodes[mnemonic.removesuffix(suffix)], suffix
        raise TextError(f"unknown instruction {mnemonic}")


@cache
def mnemonics(level: int) -> Mnemonics:
    """The mnemonics of a gfx level."""
    return Mnemonics(level)


class Encoder:
    """Turns statements into words. ``labels`` is filled by a first pass over the text."""

    def __init__(self, level: int, wave_size: int) -> None:
        self.level = level
        self.wave_size = wave_size
        self.generation = opcodes.generation_of(level)
        self.labels: dict[str, int] = {}
        self.strict = False
        self.position = 0
        self.handlers: dict[str, Callable[[Statement, opcodes.Row, Fields], Fields]] = {
            "sop1": self.salu, "sop2": self.salu, "sopc": self.salu, "sopk": self.sopk, "sopp": self.sopp,
            "smem": self.smem, "vop3p": self.vop3p, "ds": self.ds, "mubuf": self.buffer, "mtbuf": self.buffer,
            "flat": self.flat, "global": self.flat, "scratch": self.flat, "exp": self.export, "ldsdir": self.ldsdir,
            "vintrp": self.vintrp, "vinterp_inreg": self.vinterp,
        }  # fmt: skip

    # ------------------------------------------------------------------------------------------------------- operands
    def bits_of(self, row: opcodes.Row, token: str) -> int:
        """Width of the value that a constant in this place stands for."""
        if row.format == "vop3p":
            return 16 if row.name.startswith("v_pk_") else 32
        if token == "v2b" or (row.format.startswith("sop") and row.name.endswith("_f16")):
            return 16
        return 64 if token in ("s2", "v2") else 32

    def constant(self, fields: Fields, operand: Operand, bits: int, floating: bool) -> int:
        """Address of a constant: an inline code, else the literal."""
        value = operand.value
        if isinstance(value, float):
            pattern = self.float_pattern(value, bits)
            code = inline_patterns(bits).get(pattern)
            if value == 0.15915494:
                code = 248
            if value == 0 and pattern == 0:
                code = 128
            if code is not None and not operand.is_literal:
                return code * 4
            return self.put_literal(fields, pattern >> 32 if bits == 64 else pattern)
        assert isinstance(value, int)
        if not operand.is_literal:
            mask = (1 << bits) - 1
            signed = value - (1 << bits) if value >> (bits - 1) == 1 else value
            if 0 <= signed <= 64:
                return (128 + signed) * 4
            if -16 <= signed < 0:
                return (192 - signed) * 4
            # 16-bit integer operands take no bit patterns of floating-point constants
            code = inline_patterns(bits).get(value & mask) if bits != 16 or floating else None
            if code is not None and value >= 0:
                return code * 4
        if bits == 16 and -0x8000 <= value < 0:
            value &= 0xFFFF
        if not -0x80000000 <= value <= 0xFFFFFFFF:
            if bits == 64 and floating and value & 0xFFFFFFFF == 0:
                return self.put_literal(fields, value >> 32 & 0xFFFFFFFF)
            raise TextError(f"{operand.text} does not fit 32 bits", operand.column)
        return self.put_literal(fields, value & 0xFFFFFFFF)

    def float_pattern(self, value: float, bits: int) -> int:
        """Bits of a floating-point number."""
        try:
            return int.from_bytes(struct.pack({16: "<e", 32: "<f", 64: "<d"}[bits], value), "little")
        except OverflowError:
            raise TextError(f"{value} is beyond {bits}-bit floating point") from None

    def put_literal(self, fields: Fields, value: int) -> int:
        if fields.literal is not None and fields.literal != value:
            raise TextError("two different literals")
        fields.literal = value
        return LITERAL

    def address(self, fields: Fields, operand: Operand, row: opcodes.Row, token: str) -> int:
        """Address of a source or destination of class `token`."""
        if operand.value is not None:
            return self.constant(fields, operand, self.bits_of(row, token), has_floating_operands(row))
        if operand.register is None:
            raise TextError(f"{operand.text} is not a register or constant", operand.column)
        self.check_size(operand, token)
        return operand.register

    def check_size(self, operand: Operand, token: str) -> None:
        expected = self.wave_size // 32 if token == "mask" else 1 if token == "v2b" else int(token[1:])
        special = operand.register is not None and operand.register >= 128 * 4 and operand.register < VGPR0
        if operand.dwords != expected and not special and operand.register != NULL:
            raise TextError(f"{operand.text} is {operand.dwords} dwords wide, not {expected}", operand.column)
        if operand.half is not None and token != "v2b":
            raise TextError(f"{operand.text} is half a register where a whole one belongs", operand.column)

    def number(self, operand: Operand, low: int, high: int) -> int:
        """A plain integer in a range."""
        if not isinstance(operand.value, int) or not low <= operand.value <= high:
            raise TextError(f"{operand.text} is not a number from {low} to {high}", operand.column)
        return operand.value

    # ---------------------------------------------------------------------------------------------------- scalar ALU
    def expect(self, statement: Statement, count: int) -> list[Operand]:
        if len(statement.operands) != count:
            raise TextError(f"{statement.mnemonic} takes {count} operands, not {len(statement.operands)}")
        return statement.operands

    def salu(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        definitions = explicit(row.definitions)
        operands = explicit(row.operands)
        if "tied" in row.flags:
            operands = operands[:-1]
        immediate = "imm" in row.operands
        given = self.expect(statement, len(definitions) + len(operands) + immediate)
        for token, operand in zip(definitions, given, strict=False):
            fields.destinations.append(self.address(fields, operand, row, token))
        tail = given[len(definitions) :]
        if row.name in MULTIPLY_CONSTANT:
            tail = [tail[0], tail[2], tail[1]]
        for i, (token, operand) in enumerate(zip(operands, tail, strict=False)):
            if "literal" in row.flags and i == 2:
                fields.sources.append(self.put_literal(fields, self.literal_value(operand, 32)))
            else:
                fields.sources.append(self.address(fields, operand, row, token))
        if "tied" in row.flags:
            fields.sources.append(fields.destinations[0])
        if immediate:
            operand = given[-1]
            fields.immediate = self.message(operand) if "sendmsg" in row.name else self.index_mode(operand)
        return fields

    def literal_value(self, operand: Operand, bits: int) -> int:
        """A constant that is always a literal."""
        if isinstance(operand.value, float):
            return self.float_pattern(operand.value, bits)
        if not isinstance(operand.value, int) or not -0x80000000 <= operand.value <= 0xFFFFFFFF:
            raise TextError(f"{operand.text} is not a 32-bit constant", operand.column)
        return operand.value & (0xFFFF if bits == 16 and operand.value < 0 else 0xFFFFFFFF)

    def sopk(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        if row.name == "s_version":
            fields.immediate = self.number(self.expect(statement, 1)[0], 0, 0xFFFF)
            return fields
        first, second = self.expect(statement, 2)
        if row.name in ("s_setreg_b32", "s_setreg_imm32_b32"):
            first, second = second, first
        if row.name == "s_setreg_imm32_b32":
            fields.sources.append(self.put_literal(fields, self.literal_value(first, 32)))
        else:
            token = (explicit(row.definitions) or explicit(row.operands))[0]
            where = fields.destinations if explicit(row.definitions) else fields.sources
            where.append(self.address(fields, first, row, token))
            if "tied" in row.flags:
                fields.sources.append(fields.destinations[0])
        if "reg" in row.name and row.name.startswith(("s_setreg", "s_getreg")):
            fields.immediate = self.hardware_register(second)
        elif row.name in BRANCHES_K:
            fields.immediate = self.distance(second)
        else:
            fields.immediate = self.number(second, -0x8000, 0xFFFF) & 0xFFFF
        return fields

    def sopp(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        if "imm" not in row.operands or (row.name == "s_endpgm" and not statement.operands):
            self.expect(statement, 0)
            return fields
        if row.name == "s_waitcnt":
            fields.immediate = self.wait_counters(statement)
            return fields
        if row.name == "s_delay_alu":
            fields.immediate = self.delay(statement)
            return fields
        if row.name == "s_waitcnt_depctr" and "(" in statement.raw:
            fields.immediate = self.dependencies(statement)
            return fields
        operand = self.expect(statement, 1)[0]
        if row.name in BRANCHES:
            fields.immediate = self.distance(operand)
        elif row.name.startswith("s_sendmsg"):
            fields.immediate = self.message(operand)
        elif row.name == "s_set_gpr_idx_mode":
            fields.immediate = self.index_mode(operand)
        else:
            fields.immediate = self.number(operand, -0x8000, 0xFFFF) & 0xFFFF
        return fields

    def distance(self, operand: Operand) -> int:
        """The 16-bit distance of a branch in dwords."""
        if operand.symbol is None:
            return self.number(operand, -0x8000, 0xFFFF) & 0xFFFF
        if operand.symbol not in self.labels:
            if self.strict:
                raise TextError(f"no label {operand.symbol}")
            return 0
        # SOPP and the branches of SOPK are one dword long
        distance = self.labels[operand.symbol] - self.position - 1
        if not -0x8000 <= distance <= 0x7FFF:
            raise TextError(f"label {operand.symbol} is {distance} dwords away, beyond 16 bits")
        return distance & 0xFFFF

    def wait_counters(self, statement: Statement) -> int:
        if len(statement.operands) == 1 and isinstance(statement.operands[0].value, int):
            return self.number(statement.operands[0], 0, 0xFFFF)
        layout = names.wait_fields(self.level)
        value = sum(((1 << width) - 1) << first for pieces in layout.values() for first, width in pieces)
        for name, arguments in statement.calls():
            if name.removesuffix("_sat") not in layout:
                raise TextError(f"no counter {name}")
            pieces = layout[name.removesuffix("_sat")]
            count = parse_integer(arguments[0]) if len(arguments) == 1 else -1
            limit = (1 << sum(width for _, width in pieces)) - 1
            if name.endswith("_sat"):
                count = min(count, limit)
            if not 0 <= count <= limit:
                raise TextError(f"{name} goes from 0 to {limit}")
            for first, width in pieces:
                mask = (1 << width) - 1
                value = value & ~(mask << first) | (count & mask) << first
                count >>= width
        return value

    def dependencies(self, statement: Statement) -> int:
        value = names.NO_DEPENDENCY
        for name, arguments in statement.calls():
            if name.removeprefix("depctr_") not in names.DEPENDENCIES or len(arguments) != 1:
                raise TextError(f"no counter {name}")
            first, width = names.DEPENDENCIES[name.removeprefix("depctr_")]
            count = parse_integer(arguments[0])
            if not 0 <= count < 1 << width:
                raise TextError(f"{name} goes from 0 to {(1 << width) - 1}")
            value = value & ~(((1 << width) - 1) << first) | count << first
        return value

    def delay(self, statement: Statement) -> int:
        if len(statement.operands) == 1 and isinstance(statement.operands[0].value, int):
            return self.number(statement.operands[0], 0, 0xFFFF)
        places = {"instid0": (0, names.DELAYS), "instskip": (4, names.SKIPS), "instid1": (7, names.DELAYS)}
        value = 0
        for name, arguments in statement.calls():
            if name not in places or len(arguments) != 1 or arguments[0] not in places[name][1]:
                raise TextError(f"{name}({', '.join(arguments)}) is not a part of s_delay_alu")
            value |= places[name][1].index(arguments[0]) << places[name][0]
        return value

    def message(self, operand: Operand) -> int:
        if operand.call is None:
            return self.number(operand, 0, 0xFFFF)
        name, arguments = operand.call
        if name != "sendmsg" or not 1 <= len(arguments) <= 3:
            raise TextError(f"{operand.text} is not a message", operand.column)
        known = {text: number for number, text in names.messages(self.level).items()}
        number = known[arguments[0]] if arguments[0] in known else parse_integer(arguments[0])
        operations = {text: i for i, text in enumerate(names.GS_OPERATIONS)}
        operations |= {text: i for i, text in names.SYSTEM_OPERATIONS.items()}
        operation = stream = 0
        if len(arguments) > 1:
            operation = operations[arguments[1]] if arguments[1] in operations else parse_integer(arguments[1])
        if len(arguments) > 2:
            stream = parse_integer(arguments[2])
        return number | operation << 4 | stream << 8

    def index_mode(self, operand: Operand) -> int:
        if operand.call is None:
            return self.number(operand, 0, 0xFFFF)
        name, arguments = operand.call
        if name != "gpr_idx" or any(argument not in names.INDEX_MODES for argument in arguments):
            raise TextError(f"{operand.text} is not an index mode", operand.column)
        return sum(1 << names.INDEX_MODES.index(argument) for argument in arguments)

    def hardware_register(self, operand: Operand) -> int:
        if operand.call is None:
            return self.number(operand, -0x8000, 0xFFFF) & 0xFFFF
        name, arguments = operand.call
        if name != "hwreg" or len(arguments) not in (1, 3):
            raise TextError(f"{operand.text} is not a hardware register", operand.column)
        known = {text: number for number, text in names.hardware_registers(self.level).items()}
        number = known[arguments[0]] if arguments[0] in known else parse_integer(arguments[0])
        offset, size = (parse_integer(arguments[1]), parse_integer(arguments[2])) if len(arguments) == 3 else (0, 32)
        if not (0 <= number < 64 and 0 <= offset < 32 and 1 <= size <= 32):
            raise TextError(f"{operand.text}: a field of a hardware register is out of range", operand.column)
        return number | offset << 6 | (size - 1) << 11

    # ------------------------------------------------------------------------------------------------- scalar memory
    def smem(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        definitions, operands = explicit(row.definitions), explicit(row.operands)
        given = list(statement.operands)
        if "prefetch" in row.name:
            return self.prefetch(statement, row, fields)
        if not operands:
            self.expect(statement, len(definitions))
            fields.destinations += [self.address(fields, given[0], row, definitions[0])] if definitions else []
            return fields
        if row.name.startswith("s_dcache_discard"):
            self.expect(statement, 2)
            data = 0
        else:
            first = self.expect(statement, 3)[0]
            given = given[1:]
            if row.name.startswith("s_atc_probe"):
                data = self.number(first, 0, 127) * 4
                if self.level >= 110 and data in (124 * 4, 125 * 4):
                    data ^= 4
            elif definitions:
                fields.destinations.append(self.address(fields, first, row, definitions[0]))
                data = None
            else:
                data = self.address(fields, first, row, operands[2])
        fields.sources.append(self.address(fields, given[0], row, operands[0]))
        fields.sources.append(self.scalar_offset(fields, given[1], statement))
        if data is not None:
            fields.sources.append(data)
        self.cache(statement, row, fields)
        if "atomic" in row.flags and self.level < 120 and fields.modifiers & 1:
            fields.destinations.append(fields.sources[2])
        return fields

    def scalar_offset(self, fields: Fields, operand: Operand, statement: Statement) -> int:
        offset = statement.take_number("offset", -(1 << 23), (1 << 23) - 1)
        if isinstance(operand.value, int):
            if offset is not None:
                raise TextError("two immediate offsets")
            fields.immediate = operand.value & 0xFFFFFFFF
            return NONE
        if operand.register is None or operand.register >= 128 * 4:
            raise TextError(f"{operand.text} is not an offset", operand.column)
        fields.immediate = (offset or 0) & 0xFFFFFFFF
        return NONE if operand.register == NULL else operand.register

    def prefetch(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        relative = row.name.endswith("pc_rel")
        given = list(self.expect(statement, 3 if relative else 4))
        fields.sources.append(NONE if relative else self.address(fields, given.pop(0), row, explicit(row.operands)[0]))
        fields.immediate = self.number(given[0], -(1 << 23), (1 << 23) - 1) & 0xFFFFFFFF
        if given[1].register is None:
            raise TextError(f"{given[1].text} is not a register", given[1].column)
        fields.sources.append(NONE if given[1].register == NULL else given[1].register)
        fields.sources.append(self.number(given[2], 0, 127) * 4)
        return fields

    def cache(self, statement: Statement, row: opcodes.Row, fields: Fields) -> None:
        """Cache policy modifiers."""
        if self.level < 120:
            for name in ("glc", "slc", "dlc"):
                if statement.take_flag(name):
                    fields.set(f"cache_{name}", 1)
            return
        hint, scope = statement.take("th"), statement.take("scope")
        if scope is not None:
            if scope not in names.SCOPES:
                raise TextError(f"no scope {scope}")
            fields.set("cache_scope", names.SCOPES.index(scope))
        if hint is not None:
            kind = "ATOMIC" if "atomic" in row.flags else "LOAD" if explicit(row.definitions) else "STORE"
            policies = names.cache_policies(kind)
            if hint in policies:
                fields.set("cache_temporal_hint", policies[hint])
            else:
                fields.set("cache_temporal_hint", parse_integer(hint))

    # ---------------------------------------------------------------------------------------------------- vector ALU
    def forms(self, row: opcodes.Row, suffix: str, statement: Statement) -> Iterator[int]:
        """Formats to try, shortest first."""
        native = opcodes.FORMATS[row.format]
        short = native & ONE_DWORD
        if self.generation in row.second:
            short = opcodes.FORMATS[row.second[self.generation][0]]
        lanes = DPP8 if statement.has("dpp8") else DPP16 if statement.has_lane_control(self.level) else 0
        if suffix == "_sdwa" or (not suffix and statement.has("src0_sel")):
            yield short | SDWA
            return
        if short and suffix in ("", "_e32", "_dpp"):
            yield short | lanes
        if suffix in ("", "_e64", "_e64_dpp") and "literal" not in row.flags:
            yield short | VOP3 | lanes if short else native | lanes

    def vop(self, statement: Statement, row: opcodes.Row, fields: Fields, suffix: str) -> list[int]:
        """Words of a vector instruction in the first form that can hold it."""
        error: Exception = TextError(f"{statement.mnemonic} has no such encoding")
        for form in self.forms(row, suffix, statement):
            trial = Fields(fields.opcode, form)
            copy = statement.copy()
            try:
                self.vop_fields(copy, row, trial)
                copy.finish()
                words = self.encode(trial)
            except TextError as problem:
                error = problem
                continue
            return words
        raise error

    def vop_fields(self, statement: Statement, row: opcodes.Row, fields: Fields) -> None:
        definitions, operands = list(explicit(row.definitions)), list(explicit(row.operands))
        writes_exec_alone = row.name.startswith("v_cmpx") and self.level >= 100
        if writes_exec_alone:
            definitions = []
            fields.destinations.append(EXEC)
        swaps = row.name in SWAPS
        if "tied" in row.flags or swaps:
            operands = operands[:-1]
        if swaps:
            definitions = definitions[:1]
        given = self.expect(statement, len(definitions) + len(operands))
        opsel = self.destination_fields(fields, row, definitions, given)
        tail = given[len(definitions) :]
        if row.name in MULTIPLY_CONSTANT:
            tail = [tail[0], tail[2], tail[1]]
        neg = magnitude = 0
        for i, (token, operand) in enumerate(zip(operands, tail, strict=True)):
            if "literal" in row.flags and i == 2:
                fields.sources.append(self.put_literal(fields, self.literal_value(operand, self.bits_of(row, token))))
                continue
            address = self.address(fields, operand, row, token)
            if operand.half:
                address += 2
                opsel |= 1 << i
            self.check_source(fields, row, token, i, address)
            neg |= operand.negative << i
            magnitude |= operand.magnitude << i
            if operand.sign_extended:
                if not fields.format & SDWA or i > 1:
                    raise TextError("sext is an SDWA modifier")
                fields.set(f"sdwa_sel{i}", 0x10)
            fields.sources.append(address)
        if (neg or magnitude) and not fields.format & (VOP3 | SDWA | DPP16):
            raise TextError("source modifiers need VOP3, SDWA or DPP")
        if "tied" in row.flags or swaps:
            fields.sources.append(fields.destinations[0])
        if swaps:
            fields.destinations.append(fields.sources[0])
        fields.set("neg", neg)
        fields.set("abs", magnitude)
        self.vop_modifiers(statement, row, fields, opsel)

    def destination_fields(self, fields: Fields, row: opcodes.Row, definitions: list[str], given: list[Operand]) -> int:
        """Fill the destinations; returns the op_sel bit of a high half."""
        opsel = 0
        for i, (token, operand) in enumerate(zip(definitions, given, strict=False)):
            if operand.register is None or operand.value is not None:
                raise TextError(f"{operand.text} is not a register", operand.column)
            address = self.address(fields, operand, row, token)
            if (address >= VGPR0) != (token[0] == "v"):
                raise TextError(f"{operand.text} is the wrong kind of register for a result", operand.column)
            if token == "mask" and address != VCC and not fields.format & (VOP3 | SDWA):
                raise TextError(f"{operand.text}: this encoding writes vcc", operand.column)
            if token == "mask" and address != VCC and fields.format & SDWA and not row.format == "vopc":
                raise TextError(f"{operand.text}: this encoding writes vcc", operand.column)
            if operand.half and i == 0:
                address += 2
                opsel |= 8
            fields.destinations.append(address)
        return opsel

    def check_source(self, fields: Fields, row: opcodes.Row, token: str, position: int, address: int) -> None:
        """Rules of the one-dword encodings that the encoder cannot see."""
        if fields.format & VOP3:
            return
        if token == "mask" and address != VCC:
            raise TextError("this encoding reads vcc")
        if position == 1 and token != "mask" and address < VGPR0 and not fields.format & SDWA:
            raise TextError("the second source of this encoding is a VGPR")

    def vop_modifiers(self, statement: Statement, row: opcodes.Row, fields: Fields, opsel: int) -> None:
        if statement.take_flag("clamp"):
            fields.set("clamp", 1)
        omod = {("mul", "2"): 1, ("mul", "4"): 2, ("div", "2"): 3}
        for name in ("mul", "div"):
            value = statement.take(name)
            if value is not None:
                if (name, value) not in omod:
                    raise TextError(f"no output modifier {name}:{value}")
                fields.set("omod", omod[name, value])
        values = statement.take_list("op_sel")
        if values is not None:
            sources = len(explicit(row.operands))
            for i, bit in enumerate(values):
                opsel |= bit << (3 if i == sources else i)
            if not fields.format & VOP3:
                raise TextError("op_sel needs VOP3")
        fields.set("opsel", opsel)
        if fields.format & SDWA:
            self.sdwa(statement, row, fields)
        self.lanes(statement, fields)

    def sdwa(self, statement: Statement, row: opcodes.Row, fields: Fields) -> None:
        names_of = {f"BYTE_{i}": i << 2 for i in range(4)} | {f"WORD_{i}": 1 | i << 3 for i in range(2)} | {"DWORD": 2}
        for name, place in (("src0_sel", "sdwa_sel0"), ("src1_sel", "sdwa_sel1"), ("dst_sel", "sdwa_dst_sel")):
            value = statement.take(name) or "DWORD"
            if value not in names_of:
                raise TextError(f"no selection {value}")
            first, _ = field_bits()[place]
            fields.set(place, fields.modifiers >> first & 0x10 | names_of[value])
        unused = statement.take("dst_unused")
        if unused is not None:
            if unused not in ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"):
                raise TextError(f"no dst_unused {unused}")
            if unused == "UNUSED_PRESERVE":
                first, _ = field_bits()["sdwa_dst_sel"]
                fields.set("sdwa_dst_sel", fields.modifiers >> first & 15 | 0x10)
            elif unused == "UNUSED_SEXT":
                fields.set("sdwa_dst_sext", 1)
        if row.format == "vopc" or not fields.destinations:
            fields.set("sdwa_dst_sel", 0)
        if row.format == "vop1":
            fields.set("sdwa_sel1", 0)

    def lanes(self, statement: Statement, fields: Fields) -> None:
        if fields.format & DPP8:
            lanes = statement.take_list("dpp8")
            if lanes is None or len(lanes) != 8 or max(lanes) > 7:
                raise TextError("dpp8 takes eight lanes from 0 to 7")
            fields.set("dpp8_lane_sel", sum(lane << 3 * i for i, lane in enumerate(lanes)))
            fields.set("dpp8_fetch_inactive", statement.take_number("fi", 0, 1) or 0)
            return
        if not fields.format & DPP16:
            return
        quad = statement.take_list("quad_perm")
        if quad is not None:
            if len(quad) != 4 or max(quad) > 3:
                raise TextError("quad_perm takes four lanes from 0 to 3")
            fields.set("dpp_ctrl", sum(lane << 2 * i for i, lane in enumerate(quad)))
        else:
            fields.set("dpp_ctrl", statement.take_lane_control(self.level))
        for name, place in (("row_mask", "dpp_row_mask"), ("bank_mask", "dpp_bank_mask")):
            value = statement.take_number(name, 0, 15)
            fields.set(place, 15 if value is None else value)
        bound = statement.take_number("bound_ctrl", 0, 1)
        # bound_ctrl:0 is an old spelling of 1
        fields.set("dpp_bound_ctrl", int(bound is not None))
        fields.set("dpp_fetch_inactive", statement.take_number("fi", 0, 1) or 0)

    def vop3p(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        operands = explicit(row.operands)
        given = self.expect(statement, 1 + len(operands))
        mixes = row.name in MIXES
        lanes = DPP8 if statement.has("dpp8") else DPP16 if statement.has_lane_control(self.level) else 0
        fields.format |= lanes
        fields.destinations.append(self.address(fields, given[0], row, explicit(row.definitions)[0]))
        neg = high = 0
        for i, (token, operand) in enumerate(zip(operands, given[1:], strict=True)):
            fields.sources.append(self.address(fields, operand, row, token))
            neg |= operand.negative << i
            high |= operand.magnitude << i
        if (neg or high) and not mixes:
            raise TextError("this instruction takes neg_lo and neg_hi")
        if not mixes:
            neg, high = self.bit_list(statement, "neg_lo", 0), self.bit_list(statement, "neg_hi", 0)
        fields.set("neg", neg)
        fields.set("neg_hi", high)
        fields.set("opsel", self.bit_list(statement, "op_sel", 0))
        default = 0 if mixes else (1 << len(operands)) - 1
        if not mixes and len(operands) < 3:
            default |= 4
        given_high = statement.has("op_sel_hi")
        bits = self.bit_list(statement, "op_sel_hi", default)
        fields.set("opsel_hi", bits | 4 if given_high and not mixes and len(operands) < 3 else bits)
        if statement.take_flag("clamp"):
            fields.set("clamp", 1)
        self.lanes(statement, fields)
        return fields

    def bit_list(self, statement: Statement, name: str, default: int) -> int:
        values = statement.take_list(name)
        if values is None:
            return default
        if len(values) > 4 or any(value not in (0, 1) for value in values):
            raise TextError(f"{name} takes bits")
        return sum(bit << i for i, bit in enumerate(values))

    def vopd(self, first: Statement, second: Statement) -> list[int]:
        """Two halves of a dual instruction."""
        table = mnemonics(self.level)
        numbers = [table.find(half.mnemonic)[0] for half in (first, second)]
        rows = [opcodes.rows()[number] for number in numbers]
        if any(row.format != "vopd" for row in rows) or rows[1].second_half < 0:
            raise TextError("only v_dual_* instructions go in pairs")
        fields = Fields(numbers[0], opcodes.FORMATS["vopd"])
        fields.set("vopd_opcode_y", numbers[1])
        for half, row in ((first, rows[0]), (second, rows[1])):
            multiply = row.name == "v_dual_fmamk_f32"
            literal = multiply or row.name == "v_dual_fmaak_f32"
            sources = 1 if row.name == "v_dual_mov_b32" else 3 if literal else 2
            given = half.operands
            if row.name == "v_dual_cndmask_b32" and len(given) == 4 and given[3].register == VCC:
                given = given[:3]
            if len(given) != 1 + sources:
                raise TextError(f"{half.mnemonic} takes {1 + sources} operands, not {len(given)}")
            fields.destinations.append(self.address(fields, given[0], row, "v1"))
            fields.sources.append(self.address(fields, given[1], row, "v1"))
            constant = given[2 if multiply else 3] if literal else None
            if constant is not None:
                self.put_literal(fields, self.literal_value(constant, 32))
            other = given[3 if multiply else 2] if sources > 1 else None
            fields.sources.append(self.address(fields, other, row, "v1") if other else NONE)
            half.finish()
        return self.encode(fields)

    # -------------------------------------------------------------------------------------------------------- memory
    def ds(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        definitions, operands = explicit(row.definitions), explicit(row.operands)
        given = self.expect(statement, len(definitions) + len(operands))
        for token, operand in zip(definitions, given, strict=False):
            fields.destinations.append(self.vector(fields, operand, row, token))
        for token, operand in zip(operands, given[len(definitions) :], strict=True):
            fields.sources.append(self.vector(fields, operand, row, token))
        if "two_offsets" in row.flags:
            first = statement.take_number("offset0", 0, 255) or 0
            fields.immediate = first | (statement.take_number("offset1", 0, 255) or 0) << 16
        else:
            fields.immediate = statement.take_number("offset", 0, 0xFFFF) or 0
        if statement.take_flag("gds"):
            fields.set("gds", 1)
        return fields

    def vector(self, fields: Fields, operand: Operand, row: opcodes.Row, token: str) -> int:
        """A VGPR of a memory access."""
        address = self.address(fields, operand, row, token)
        if address < VGPR0:
            raise TextError(f"{operand.text} is not a VGPR", operand.column)
        return address

    def memory_shape(self, statement: Statement, row: opcodes.Row, fixed: int) -> tuple[Operand | None, list[Operand]]:
        """The result operand, if the statement names one, and the rest."""
        given = statement.operands
        atomic = "atomic" in row.flags
        if explicit(row.definitions) or (atomic and len(given) > fixed + 1):
            if not given:
                raise TextError("operands are missing")
            return given[0], given[1:]
        return None, given

    def data_token(self, row: opcodes.Row, returned: bool, extra: int) -> str:
        token = explicit(row.definitions)[0] if explicit(row.definitions) else explicit(row.operands)[-1]
        dwords = int(token[1:])
        if returned and "cmpswap" in row.name:
            dwords //= 2
        return f"v{dwords + extra}"

    def buffer(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        if not explicit(row.operands):
            self.expect(statement, 0)
            return fields
        for name in ("offen", "idxen"):
            if statement.take_flag(name):
                fields.set(name, 1)
        fields.immediate = statement.take_number("offset", 0, (1 << 23) - 1) or 0
        self.cache(statement, row, fields)
        extra = int(statement.take_flag("tfe"))
        fields.set("tfe", extra)
        lds = statement.take_flag("lds")
        fields.set("lds", int(lds))
        if row.format == "mtbuf":
            fields.set("format", self.buffer_format(statement))
        loads, stores = explicit(row.definitions), len(explicit(row.operands)) > 3
        given = self.expect(statement, 3 + int(bool((loads or stores) and not lds)))
        data = given[0] if len(given) == 4 else None
        vaddr, resource, soffset = given[-3:]
        both = statement_bit(fields, "offen") + statement_bit(fields, "idxen")
        fields.sources.append(self.address(fields, resource, row, "s4"))
        if vaddr.is_off != (both == 0):
            raise TextError("vaddr is given with offen or idxen, off otherwise")
        fields.sources.append(NONE if vaddr.is_off else self.vector(fields, vaddr, row, f"v{both}"))
        fields.sources.append(self.address(fields, soffset, row, "s1"))
        if data is None:
            return fields
        returns = "atomic" in row.flags and self.returns(fields)
        if loads:
            fields.destinations.append(self.vector(fields, data, row, self.data_token(row, False, extra)))
        else:
            address = self.vector(fields, data, row, self.data_token(row, False, extra if returns else 0))
            fields.sources.append(address)
            if returns:
                fields.destinations.append(address)
        return fields

    def returns(self, fields: Fields) -> bool:
        return bool(statement_bit(fields, "cache_temporal_hint" if self.level >= 120 else "cache_glc") & 1)

    def buffer_format(self, statement: Statement) -> int:
        value = statement.take("format")
        if value is None:
            return 1
        if value.startswith("["):
            number = names.buffer_format_number(value, self.level)
            if number is None:
                raise TextError(f"no buffer format {value}")
            return number
        return parse_integer(value)

    def flat(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        fields.immediate = (statement.take_number("offset", -(1 << 23), (1 << 23) - 1) or 0) & 0xFFFFFFFF
        self.cache(statement, row, fields)
        lds = statement.take_flag("lds")
        if lds:
            fields.set("lds", 1)
        operands = explicit(row.operands)
        if not operands:
            self.expect(statement, 0)
            return fields
        loads = bool(explicit(row.definitions))
        stores = len(operands) > (1 if row.format == "flat" else 2)
        address = "no_address" not in row.flags
        returns = "atomic" in row.flags and self.returns(fields)
        based = row.format != "flat"
        given = list(self.expect(statement, (loads and not lds) + returns + address + stores + based))
        result = given.pop(0) if (loads and not lds) or returns else None
        if not address and stores:
            given.insert(0, Operand("off", is_off=True))
            given[0], given[1] = given[0], given[1]
        vaddr = given.pop(0) if address or stores else Operand("off", is_off=True)
        data = given.pop(0) if stores else None
        base = given.pop(0) if based else None
        fields.sources.append(self.flat_address(fields, row, vaddr, base))
        if base is None or base.is_off:
            fields.sources.append(NONE)
        else:
            fields.sources.append(self.address(fields, base, row, "s2" if row.format == "global" else "s1"))
        if data is not None:
            fields.sources.append(self.vector(fields, data, row, operands[-1]))
        if result is not None:
            token = explicit(row.definitions)[0] if loads else self.data_token(row, True, 0)
            fields.destinations.append(self.vector(fields, result, row, token))
        return fields

    def flat_address(self, fields: Fields, row: opcodes.Row, vaddr: Operand, base: Operand | None) -> int:
        if vaddr.is_off:
            return NONE
        wide = row.format == "flat" or (row.format == "global" and base is not None and base.is_off)
        return self.vector(fields, vaddr, row, "v2" if wide else "v1")

    def export(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        given = self.expect(statement, 5)
        targets = {}
        for number in range(64):
            try:
                targets[names.export_target(number, self.level)] = number
            except ValueError:
                continue
        if given[0].text not in targets:
            raise TextError(f"no export target {given[0].text}")
        fields.set("exp_target", targets[given[0].text])
        compressed = statement.take_flag("compr")
        if compressed:
            # two registers of packed halves, named twice in text; the first of each pair counts
            mask = 3 * (not given[1].is_off) | 12 * (not given[3].is_off)
        else:
            mask = sum((not operand.is_off) << i for i, operand in enumerate(given[1:]))
        fields.set("exp_enabled_mask", mask)
        values = [VGPR0 if operand.is_off else self.vector(fields, operand, row, "v1") for operand in given[1:]]
        fields.sources = [values[0], values[2], VGPR0, VGPR0] if compressed else values
        for flag, place in (("done", "exp_done"), ("vm", "exp_valid_mask"), ("row_en", "exp_row")):
            if statement.take_flag(flag):
                fields.set(place, 1)
        fields.set("exp_compressed", int(compressed))
        return fields

    # ------------------------------------------------------------------------------------------------- interpolation
    def attribute(self, fields: Fields, operand: Operand) -> None:
        """An input attribute such as ``attr3.y``."""
        match = re.match(r"attr(\d+)\.([xyzw])$", operand.text)
        if match is None or int(match[1]) > 32:
            raise TextError(f"{operand.text} is not an attribute from attr0 to attr32", operand.column)
        fields.set("ldsdir_attr", int(match[1]))
        fields.set("ldsdir_channel", "xyzw".index(match[2]))

    def ldsdir(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        reads_attribute = "param" in row.name
        given = self.expect(statement, 1 + reads_attribute)
        fields.destinations.append(self.vector(fields, given[0], row, "v1"))
        if reads_attribute:
            self.attribute(fields, given[1])
        wait = statement.take_number("wait_va_vdst" if self.level >= 120 else "wait_vdst", 0, 15)
        fields.set("wait_vdst", 0 if wait is None else wait)
        if self.level >= 120:
            fields.set("wait_vsrc", statement.take_number("wait_vm_vsrc", 0, 1) or 0)
        return fields

    def vintrp(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        result, source, attribute = self.expect(statement, 3)
        fields.destinations.append(self.vector(fields, result, row, "v1"))
        if row.name == "v_interp_mov_f32":
            if source.text not in ("p10", "p20", "p0"):
                raise TextError(f"{source.text} is not p10, p20 or p0", source.column)
            fields.immediate = ("p10", "p20", "p0").index(source.text)
        else:
            fields.sources.append(self.vector(fields, source, row, "v1"))
        self.attribute(fields, attribute)
        return fields

    def vinterp(self, statement: Statement, row: opcodes.Row, fields: Fields) -> Fields:
        tokens = (*explicit(row.definitions), *explicit(row.operands))
        given = self.expect(statement, len(tokens))
        opsel = self.bit_list(statement, "op_sel", 0)
        neg = 0
        for i, (token, operand) in enumerate(zip(tokens, given, strict=True)):
            address = self.vector(fields, operand, row, token)
            if operand.half:
                address += 2
                opsel |= 8 if i == 0 else 1 << i - 1
            (fields.sources if i else fields.destinations).append(address)
            neg |= operand.negative << i >> 1
        fields.set("neg", neg)
        fields.set("opsel", opsel)
        fields.set("clamp", int(statement.take_flag("clamp")))
        fields.set("wait_exp", statement.take_number("wait_exp", 0, 7) or 0)
        return fields

    # ------------------------------------------------------------------------------------------------------ dispatch
    def encode(self, fields: Fields) -> list[int]:
        result = encode_fields(fields.as_dict(), self.level)
        if isinstance(result, int):
            raise TextError(error_text(result))
        return result

    def words(self, statement: Statement) -> list[int]:
        """Words of one statement."""
        if statement.second is not None:
            return self.vopd(statement, statement.second)
        number, suffix = mnemonics(self.level).find(statement.mnemonic)
        row = opcodes.rows()[number]
        fields = Fields(number, opcodes.FORMATS[row.format])
        if row.format in ("vop1", "vop2", "vopc", "vop3"):
            return self.vop(statement, row, fields, suffix)
        handler = self.handlers.get(row.format)
        if handler is None:
            raise TextError(f"{statement.mnemonic}: the text form of this instruction is not supported")
        fields = handler(statement, row, fields)
        statement.finish()
        return self.encode(fields)


def statement_bit(fields: Fields, name: str) -> int:
    """A packed modifier that is set already."""
    first, width = field_bits()[name]
    return fields.modifiers >> first & (1 << width) - 1


@cache
def explicit(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Tokens that text and encoding hold as registers."""
    return tuple(token for token in tokens if token not in opcodes.IMPLICIT and token != "imm")


def has_floating_operands(row: opcodes.Row) -> bool:
    """Whether constants of an instruction are floating-point numbers: the last type in its name."""
    if not row.format.startswith("vop"):
        return "f64" in row.name
    kinds = [word for word in row.name.split("_") if word in ("f16", "f32", "f64") or word[1:] in ("16", "32", "64")]
    return not kinds or kinds[-1].startswith("f")


def parse_integer(text: str) -> int:
    """An integer of any usual base."""
    try:
        return int(text, 0)
    except ValueError:
        raise TextError(f"{text} is not a number") from None


def assemble(text: str, target: str, *, wave_size: int | None = None) -> bytes:
    """Assemble text in LLVM's syntax to machine code.

    Parameters
    ----------
    text
        One instruction, label (``name:``) or ``.long`` directive per line; ``;`` and ``//`` begin comments.
    target
        A gfx name, chip name or product name.
    wave_size
        32 or 64: the width of lane masks; by default 64 on GFX9 and 32 later.

    Returns
    -------
    bytes
        The machine code.

    Raises
    ------
    InputError
        The text is wrong; the message has line and column.
    """
    level = target_level(target)
    encoder = Encoder(level, default_wave_size(level, wave_size))
    lines = []
    words: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            label, parsed = parse_line(line, level)
            if label is not None:
                if label in encoder.labels:
                    raise TextError(f"label {label} is defined twice")
                encoder.labels[label] = len(words)
            if parsed is None:
                continue
            encoded = parsed if isinstance(parsed, list) else encoder.words(parsed.copy())
        except TextError as error:
            raise InputError(f"line {number}, column {error.column or first_column(line)}: {error}") from None
        if not isinstance(parsed, list) and parsed.names_label():
            lines.append((number, line, parsed, len(words)))
        words += encoded
    encoder.strict = True
    for number, line, parsed, position in lines:
        encoder.position = position
        try:
            encoded = encoder.words(parsed.copy())
        except TextError as error:
            raise InputError(f"line {number}, column {error.column or first_column(line)}: {error}") from None
        words[position : position + len(encoded)] = encoded
    return struct.pack(f"<{len(words)}I", *words)


def first_column(line: str) -> int:
    """Where a line's text begins, counted from 1."""
    return len(line) - len(line.lstrip()) + 1
