"""Reader of NIR text: the form that ``pyaco.nir.text`` prints, which is Mesa's ``nir_print`` with additions.

Values keep their ids where the text names them, so printing what was read gives the same text again. What the header
does not say (wave size, gfx level) stays unset, for the compile driver to fill in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import (
    Access,
    ArgumentKind,
    AtomicOperation,
    BaseType,
    Deref,
    DescriptorKind,
    ImageDim,
    Interpolation,
    Jump,
    LoopControl,
    NirFlag,
    NirKind,
    NirScope,
    NirSemantic,
    Stage,
    VariableMode,
)
from pyaco._core.nir import build
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import text as form
from pyaco.nir.text_texture import IMAGE_INDICES, image_types, parse_texture

__all__ = ["parse_shader"]

MODE_NUMBERS = VariableMode.numbers()
ACCESS_NUMBERS = Access.numbers()
SCALARS = {name: (base, bits) for (base, bits), (name, _) in form.SCALARS.items()}
VECTORS = {name: (base, bits) for (base, bits), (_, name) in form.SCALARS.items()}
INDEX_NAMES = {shown: name for name, shown in form.INDEX_NAMES.items()}
#: Derivatives are opcodes here, as they were in Mesa until 24.3; since then they are intrinsics.
_DERIVATIVE = re.compile(r"@(dd[xy](?:_coarse|_fine)?) \(([^(),]+)\)")
JUMPS = Jump.numbers()
ARGUMENTS = ArgumentKind.numbers()
# Numbers that indices of intrinsics have names for.
INDEX_WORDS = {
    "desc_type": DescriptorKind.numbers(), "atomic_op": AtomicOperation.numbers(), "reduction_op": build.ALU,
    "execution_scope": NirScope.numbers(), "memory_scope": NirScope.numbers(),
    **{name: {word: number for number, word in words.items()} for name, words in IMAGE_INDICES.items()},
}
# Mesa writes dimensions with capital letters.
INDEX_WORDS["image_dim"] |= {name.upper(): number for name, number in INDEX_WORDS["image_dim"].items()} | {
    "Cube": ImageDim.CUBE, "Rect": ImageDim.RECT, "Buf": ImageDim.BUFFER, "2D-MSAA": ImageDim.MS, "Subpass": ImageDim.SUBPASS,
    "Subpass-MSAA": ImageDim.SUBPASS_MS}  # fmt: skip
# The same, several of them with bars between.
# Mesa's AVAILABLE and VISIBLE say what acquire and release mean for accesses that are not coherent; here these are.
INDEX_FLAGS = {"memory_semantics": NirSemantic.numbers() | {"NONE": 0, "AVAILABLE": 0, "VISIBLE": 0}, "memory_modes": MODE_NUMBERS | {"none": 0}}
VARIABLE = re.compile(rf"decl_var ((?:(?:{'|'.join(form.QUALIFIERS.values())}) )*)(\w+) (INTERP_MODE_\w+) (.*?) ([\w@]+)"
                      r"(?: \(((?:\w+=\d+(?:, )?)+)\))?$")
VARIABLE_FACTS = ("set", "binding", "location", "builtin", "component", "driver_location")
LITERAL = r"(?:-?(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)|true|false)"
COMMENT = re.compile(rf"(%\d+(?:\.[a-pw-z]+)?) \({LITERAL}(?:, {LITERAL})*\)")
INSTRUCTION = re.compile(r"(?:(?:con|div) )?\s*(?:(\d+)(?:x(\d+))?\s+(?:con |div )?\s*%(\d+) = )?\s*(.*)")
MATRIX = re.compile(r"mat(\d+)x([a-z0-9]+?vec)(\d)(?:\(stride=(\d+)(, row_major)?\))?$")
# Mesa says of blocks and loops, too, whether lanes diverge in them, and of ifs what the author wants of them.
BLOCK = re.compile(r"(?:con |div )?block b(\d+):")
IF = re.compile(r"if %(\d+)(?: \([^()]*\))?(?:\s+// [\w' ]+?)? \{$")
LOOP = re.compile(r"(?:con |div )?loop (?:(\w+) )?\{$")
# What Mesa says of accesses beyond `Access`: leave to speculate, to stay in bounds or to choose scalar loads, which nothing here depends on.
HINTS = frozenset(("speculatable", "in-bounds", "keep-scalar", "smem-amd", "include-helpers"))
NOT_OURS = frozenset(("fmask-lowered-amd", "cp-ge-coherent-amd"))
OF_BUFFERS = frozenset(("is-swizzled-amd", "uses-format-amd"))
MATRIX_FLOAT = re.compile(r"mat(\d+)x(vec)(\d)(?:\(stride=(\d+)(, row_major)?\))?$")


# What Mesa writes for the mask of masked_swizzle_amd.
MASKS = re.compile(r"\(\(id & (\d+)\) \| (\d+)\) \^ (\d+)")


def _mask_number(match: re.Match[str]) -> str:
    """The mask of masked_swizzle_amd as a number."""
    return str(int(match[1]) | int(match[2]) << 5 | int(match[3]) << 10)


@dataclass
class _Line:
    """An instruction before it becomes columns."""

    number: int
    block: int
    body: str
    bits: int = 0
    components: int = 0
    flags: int = 0
    id: int = 0


@dataclass
class _Frame:
    """A list of nodes being read: the node that it belongs to, which of its lists, and its last node so far."""

    node: int
    which: int
    last: int = 0
    inner: list[int] = field(default_factory=list)


class _Parser:
    def __init__(self, source: str, name: str) -> None:
        self.name = name
        self.lines = source.splitlines()
        self.at = 0
        self.shader = Shader()
        self.types: dict[str, int] = {}
        self.structs: dict[str, int] = {}
        self.members: dict[int, list[str]] = {}
        self.variables: dict[str, int] = {}
        self.instructions: list[_Line] = []
        self.blocks: dict[int, int] = {}
        self.block_order: list[int] = []
        self.conditions: dict[int, int] = {}
        self.frames: list[_Frame] = []
        self.pointers: list[tuple[int, str, int]] = []
        # Mesa counts values from 0, which is no value here: all ids are one more then.
        self.first_id = int(re.search(r"^[^/]*%0 = ", source, re.MULTILINE) is not None)

    def fail(self, reason: str, line: int | None = None) -> InputError:
        return InputError(f"{self.name}:{(self.at if line is None else line) + 1}: {reason}")

    # ----------------------------------------------------------------------------------------------------------- types
    def type(self, text: str) -> int:
        """Row of a type by its text."""
        text = text.strip()
        if text not in self.types:
            self.types[text] = self._type(text)
        return self.types[text]

    def _type(self, text: str) -> int:
        if text in self.structs:
            return self.structs[text]
        if text == "void":
            return 0
        if text in ("opaque", "sampler"):
            return self._new_type(BaseType.OPAQUE if text == "opaque" else BaseType.SAMPLER)
        if text in image_types():
            base, (sampled, bits), dim, flags = image_types()[text]
            element = self._new_type(sampled, bit_size=bits, components=1) if sampled else 0
            return self._new_type(base, element=element, image_dim=dim, image_flags=flags)
        if match := MATRIX_FLOAT.match(text) or MATRIX.match(text):
            column = self.type(match[2] + match[3])
            return self._new_type(BaseType.MATRIX, element=column, length=int(match[1]), stride=int(match[4] or 0),
                                  row_major=bool(match[5]))
        if text.endswith("*"):
            # Structs may point to structs that are declared later, or to themselves.
            row = self._new_type(BaseType.POINTER, bit_size=64, components=1)
            self.pointers.append((row, text[:-1], self.at))
            return row
        if match := re.match(r"(.*)\[(\d*)\](?:\(stride=(\d+)\))?$", text):
            return self._new_type(BaseType.ARRAY, element=self.type(match[1]), length=int(match[2] or 0), stride=int(match[3] or 0))
        match = re.match(r"(\w+?)(?:\(stride=(\d+)\))?$", text)
        if match is None:
            raise self.fail(f"cannot read the type {text!r}")
        stride = int(match[2] or 0)
        if match[1] in SCALARS:
            base, bits = SCALARS[match[1]]
            return self._new_type(base, bit_size=bits, components=1, stride=stride)
        if match[1][:-1] in VECTORS and match[1][-1].isdigit():
            base, bits = VECTORS[match[1][:-1]]
            return self._new_type(base, bit_size=bits, components=int(match[1][-1]), stride=stride)
        vector = re.match(r"([a-z0-9]*vec)(\d+)$", match[1])
        if vector and vector[1] in VECTORS:
            base, bits = VECTORS[vector[1]]
            return self._new_type(base, bit_size=bits, components=int(vector[2]), stride=stride)
        raise self.fail(f"unknown type {text!r}")

    def _new_type(self, base: int, **facts: Any) -> int:
        return build.type_of(self.shader, base, **facts)

    def access(self, text: str) -> int:
        total = 0
        for word in re.split(r"[| ]+", text.strip()):
            if word != "none" and word not in HINTS:
                if word in NOT_OURS or (word in OF_BUFFERS and "_buffer_amd " not in self.lines[self.at]):
                    raise UnsupportedError(f"{self.name}:{self.at + 1}: NIR accesses that are {word}")
                if word not in ACCESS_NUMBERS:
                    raise self.fail(f"unknown access {word!r}")
                total |= ACCESS_NUMBERS[word]
        return total

    # ---------------------------------------------------------------------------------------------------- declarations
    def header(self) -> None:
        """Lines before the first declaration."""
        constant_data = b""
        facts: dict[str, Any] = {}
        metadata = self.shader.metadata
        known = set(self.shader.info)
        while self.at < len(self.lines) and not re.match(r"\s*(decl_|impl )", self.lines[self.at]):
            key, _, value = self.lines[self.at].partition(":")
            key, value = key.strip(), value.strip()
            try:
                if key == "shader":
                    metadata["stage"] = value.removeprefix("MESA_SHADER_").lower()
                    facts["stage"] = self.stage(metadata["stage"])
                elif key in ("entry", "source_sha1"):
                    metadata[key] = value
                elif key == "workgroup_size":
                    facts[key] = [int(part) for part in value.split(",")]
                    if len(facts[key]) != 3 or min(facts[key]) < 1:
                        raise self.fail("workgroup_size takes three positive numbers")
                elif key == "constant_data":
                    constant_data += bytes.fromhex(value)
                elif key in known and key != "stage":
                    facts[key] = int(value)
            except (ValueError, OverflowError) as error:
                raise self.fail(f"cannot read {key}: {error}") from error
            self.at += 1
        metadata.setdefault("stage", "compute")
        self.shader.set_info(**facts)
        metadata["workgroup_size"] = list(self.shader.info["workgroup_size"])
        build.append_constant_data(self.shader, constant_data)

    def stage(self, name: str) -> int:
        """Number of a stage of the API."""
        numbers = {text: number for number, text in Stage.names().items()}
        if name not in numbers:
            raise self.fail(f"unknown shader stage {name!r}")
        return numbers[name]

    def declaration(self, line: str) -> None:
        if match := re.match(r"decl_struct (\S+) \{(.*)\}$", line):
            self.declare_struct(match[1], match[2])
        elif match := re.match(r"decl_argument \d+ (\w+) (vgpr|sgpr) \(detail=(\d+), first=(\d+), count=(\d+)\)", line):
            if match[1] not in ARGUMENTS:
                raise self.fail(f"unknown argument {match[1]!r}")
            build.argument(self.shader, ARGUMENTS[match[1]], int(match[3]), int(match[4]), int(match[5]),
                           match[2] == "vgpr")
        elif line.startswith("decl_var "):
            self.declare_variable(line)
        elif line.startswith("decl_function "):
            self.shader.metadata.setdefault("entry", line.split()[1])
        else:
            raise self.fail(f"cannot read the declaration {line!r}")

    def declare_struct(self, name: str, body: str) -> None:
        members: list[tuple[int, int | None]] = []
        names: list[str] = []
        accesses = []
        for part in filter(None, (piece.strip() for piece in body.split("; "))):
            match = re.match(r"(.+?) ([\w@]+)(?: \(((?:offset|access)=[^()]*)\))?$", part)
            if match is None:
                raise self.fail(f"cannot read the member {part!r}")
            facts = dict(pair.split("=", 1) for pair in match[3].split(", ")) if match[3] else {}
            members.append((self.type(match[1]), int(facts["offset"]) if "offset" in facts else None))
            names.append(match[2])
            accesses.append(self.access(facts.get("access", "none")))
        row = self._new_type(BaseType.STRUCT, members=members)
        for member, (shown, access) in enumerate(zip(names, accesses, strict=True)):
            plain = shown.partition("@")[0]
            if not re.fullmatch(r"field\d+", plain):
                self.shader.member_names[row, member] = plain
            if access:
                build.set_member_access(self.shader, row, member, access)
        self.structs[name] = row
        self.members[row] = names
        if hasattr(self.shader, "type_names") and name.partition("@")[0] != "struct":
            self.shader.type_names[row] = name.partition("@")[0]

    def declare_variable(self, line: str) -> None:
        line, _, initial = line.partition(" = {")
        match = VARIABLE.match(line.strip())
        if match is None:
            raise self.fail("cannot read the variable")
        qualifiers, mode, interpolation, declared, name, facts = match.groups()
        words = declared.split(" ")
        count = 0
        while count < len(words) - 1 and (words[count] == "none" or words[count] in ACCESS_NUMBERS):
            count += 1
        type = self.type(" ".join(words[count:]))
        values = [int(value, 16) for value in initial.rstrip(" }").split(",")] if initial else None
        if mode not in MODE_NUMBERS:
            raise self.fail(f"unknown variable mode {mode!r}")
        if interpolation not in Interpolation.numbers():
            raise self.fail(f"unknown interpolation {interpolation!r}")
        numbers = dict(pair.split("=") for pair in filter(None, (facts or "").split(", ")))
        if unknown := set(numbers) - set(VARIABLE_FACTS):
            raise self.fail(f"variables have no {sorted(unknown)[0]}")
        row = build.variable(self.shader, MODE_NUMBERS[mode], type, values, access=self.access(" ".join(words[:count]) or "none"),
                             flags=sum(flag for flag, text in form.QUALIFIERS.items() if text in qualifiers.split()),
                             interpolation=Interpolation.numbers()[interpolation],
                             **{key: int(value) for key, value in numbers.items()})
        if shown := name.partition("@")[0]:
            self.shader.variable_names[row] = shown
        self.variables[name] = row

    # ---------------------------------------------------------------------------------------------------- control flow
    def open_block(self, number: int) -> None:
        frame = self.frames[-1]
        if frame.last == 0:
            column = self.shader.nodes.first1 if frame.which else self.shader.nodes.first0
            node = int(column[frame.node])
            del column
        else:
            node = build.node(self.shader, "block", frame.last)
        if number in self.blocks:
            raise self.fail(f"block b{number} is defined twice")
        frame.last = self.blocks[number] = node
        self.block_order.append(node)

    def is_end_block(self) -> bool:
        """Whether a block is the one that Mesa prints behind the function's last: it has nothing, and no predecessors are listed."""
        following = next((line.strip() for line in self.lines[self.at + 1 :] if line.strip()), "")
        return len(self.frames) == 1 and self.frames[0].last in self.blocks.values() and following == "}"

    def loop_control(self, name: str) -> int:
        """What the author of a loop asks for, by its name."""
        for value, text in LoopControl.names().items():
            if text == name:
                return value
        raise self.fail(f"a loop cannot ask for {name}")

    def open_node(self, kind: str, condition: int, control: int = 0) -> None:
        frame = self.frames[-1]
        if frame.last == 0:
            raise self.fail(f"{kind} before the first block of its list")
        node = build.node(self.shader, kind, frame.last, condition, control)
        frame.last = node
        self.frames.append(_Frame(node, 0))

    def close_list(self, begin_else: bool) -> None:
        frame = self.frames.pop()
        if frame.last == 0:
            raise self.fail("a list without a block")
        if begin_else:
            self.frames.append(_Frame(frame.node, 1))

    def statement(self, line: str) -> bool:
        """Read a line of the function's body; True at its end."""
        if match := BLOCK.match(line):
            if self.is_end_block():
                return False
            self.open_block(int(match[1]))
        elif match := IF.match(line):
            self.open_node("if", int(match[1]) + self.first_id)
            self.conditions[self.frames[-1].node] = self.at
        elif match := LOOP.match(line):
            self.open_node("loop", 0, self.loop_control(match[1] or "none"))
        elif line == "} continue {":
            raise UnsupportedError(f"{self.name}:{self.at + 1}: continue constructs of NIR loops")
        elif line == "} else {":
            if len(self.frames) < 2:
                raise self.fail("else without if")
            self.close_list(True)
        elif line == "}":
            self.close_list(False)
            return not self.frames
        elif line.startswith("decl_var "):
            self.declare_variable(line)
        else:
            self.instruction(line)
        return False

    def instruction(self, line: str) -> None:
        match = INSTRUCTION.fullmatch(line)
        if match is None or not match[4]:
            raise self.fail(f"cannot read {line!r}")
        if not self.frames or self.frames[-1].last == 0 or self.frames[-1].last not in self.blocks.values():
            raise self.fail("an instruction outside a block")
        entry = _Line(self.at, self.frames[-1].last, COMMENT.sub(r"\1", match[4]))
        if match[3]:
            entry.bits, entry.components, entry.id = int(match[1]), int(match[2] or 1), int(match[3]) + self.first_id
            if entry.id == 0 or entry.id > 4_000_000:
                raise self.fail(f"%{entry.id} is out of range: ids are 1 to 4000000")
        entry.flags = NirFlag.DIVERGENT if line.startswith("div ") else 0
        self.instructions.append(entry)

    # ---------------------------------------------------------------------------------------------------- instructions
    def make_instructions(self) -> None:
        """Make the rows in order of their ids; those without a result fill gaps."""
        by_id: dict[int, _Line] = {}
        without_result = []
        for entry in self.instructions:
            if not entry.id:
                without_result.append(entry)
            elif entry.id in by_id:
                raise self.fail(f"%{entry.id} is defined twice", entry.number)
            else:
                by_id[entry.id] = entry
        self.defined = by_id
        last = max(by_id, default=0)
        rows: dict[int, list[int]] = {node: [] for node in self.block_order}
        made: dict[int, int] = {}
        waiting = iter(without_result)
        for id in range(1, last + 1):
            filler = by_id.get(id) or next(waiting, None)
            if filler is None:
                build.raw(self.shader, NirKind.UNDEF, 0, 1, 32)
            else:
                made[filler.number] = self.make(filler)
        for entry in waiting:
            made[entry.number] = self.make(entry)
        for entry in self.instructions:
            rows[entry.block].append(made[entry.number])
        build.write_blocks(self.shader, rows)

    def value(self, text: str, entry: _Line) -> int:
        match = re.fullmatch(r"%(\d+)", text.strip())
        if match is None:
            raise self.fail(f"cannot read the operand {text!r}", entry.number)
        value = int(match[1]) + self.first_id
        if value not in self.defined:
            raise self.fail(f"%{match[1]} is never defined", entry.number)
        return value

    def make(self, entry: _Line) -> int:
        body = entry.body
        word = body.split(" ", 1)[0]
        if word == "phi":
            return self.make_phi(entry)
        if word == "load_const":
            return self.make_constant(entry)
        if word in ("undefined", "undef"):
            return build.raw(self.shader, NirKind.UNDEF, 0, entry.components, entry.bits, flags=entry.flags)
        if word.startswith("deref_"):
            return self.make_deref(entry)
        if word.startswith("@"):
            if match := _DERIVATIVE.fullmatch(body):
                return self.make_alu(replace(entry, body=f"f{match[1]} {match[2]}"))
            return self.make_intrinsic(entry)
        if word.startswith("("):
            return self.make_texture(entry)
        if word in JUMPS and word == body:
            return build.raw(self.shader, NirKind.JUMP, JUMPS[word], 0, 0)
        return self.make_alu(entry)

    def make_phi(self, entry: _Line) -> int:
        values, blocks = [], []
        for part in filter(None, entry.body.removeprefix("phi").split(",")):
            match = re.fullmatch(r"\s*b(\d+): (%\d+)", part)
            if match is None or int(match[1]) not in self.blocks:
                raise self.fail(f"cannot read the phi operand {part.strip()!r}", entry.number)
            values.append(self.value(match[2], entry))
            blocks.append(self.blocks[int(match[1])])
        return build.raw(self.shader, NirKind.PHI, 0, entry.components, entry.bits, values, blocks, flags=entry.flags)

    def make_constant(self, entry: _Line) -> int:
        match = re.fullmatch(r"load_const \(([^()]*)\).*", entry.body)
        values = []
        for part in match[1].split(",") if match else []:
            text = part.split("=")[0].strip()
            try:
                values.append({"true": 1, "false": 0}.get(text, -1) if text in ("true", "false") else int(text, 16))
            except ValueError as error:
                raise self.fail(f"cannot read the constant {text!r}", entry.number) from error
            if values[-1] >> entry.bits:
                raise self.fail(f"{text} does not fit {entry.bits} bits", entry.number)
        if len(values) != entry.components:
            raise self.fail(f"{len(values)} constants for {entry.components} components", entry.number)
        return build.raw(self.shader, NirKind.LOAD_CONST, 0, entry.components, entry.bits, constants=values,
                         flags=entry.flags)

    def make_deref(self, entry: _Line) -> int:
        match = re.match(r"deref_(\w+) (.*?) \((\w+) ([^()]*(?:\([^()]*\)[^()]*)*)\)(?: \(ptr_stride=(\d+).*\))?$", entry.body)
        if match is None or match[3] not in MODE_NUMBERS:
            raise self.fail(f"cannot read the deref {entry.body!r}", entry.number)
        kind, what = match[1], match[2]
        kinds = Deref.numbers()
        if kind not in kinds:
            raise self.fail(f"unknown deref {kind!r}", entry.number)
        values: list[int] = []
        data = 0
        if kind == "var":
            if what[1:] not in self.variables:
                raise self.fail(f"unknown variable {what[1:]!r}", entry.number)
            data = self.variables[what[1:]]
        elif kind == "struct":
            parts = re.fullmatch(r"&(?:\(\*)?(%\d+)\)?(?:->|\.)([\w@]+)", what)
            if parts is None:
                raise self.fail(f"cannot read the deref {entry.body!r}", entry.number)
            values = [self.value(parts[1], entry)]
            data = self.member_of(values[0], parts[2], entry)
        elif kind == "cast":
            parts = re.fullmatch(r"\(.*\*\)(%\d+)", what)
            if parts is None:
                raise self.fail(f"cannot read the deref {entry.body!r}", entry.number)
            values, data = [self.value(parts[1], entry)], int(match[5] or 0)
        else:
            parts = re.fullmatch(r"&(?:\(\*)?(%\d+)\)?\[(%\d+|\*)\]", what)
            if parts is None:
                raise self.fail(f"cannot read the deref {entry.body!r}", entry.number)
            values = [self.value(part, entry) for part in parts.groups() if part != "*"]
        self.at = entry.number
        return build.raw(self.shader, NirKind.DEREF, kinds[kind], entry.components, entry.bits, values, data=data,
                         type=self.type(match[4]), mode=MODE_NUMBERS[match[3]], flags=entry.flags)

    def member_of(self, parent: int, name: str, entry: _Line) -> int:
        """Number of a member; the parent's type is in its own line."""
        match = re.search(r" \(\w+ ([^()]*(?:\([^()]*\)[^()]*)*)\)(?: \(ptr_stride=.*\))?$", self.defined[parent].body)
        struct = self.structs.get(match[1].strip()) if match else None
        if struct is None or name not in self.members[struct]:
            raise self.fail(f"%{parent} has no member {name!r}", entry.number)
        return self.members[struct].index(name)

    def make_intrinsic(self, entry: _Line) -> int:
        match = re.fullmatch(r"@(\w+)((?: \([^()]*\))*)", MASKS.sub(_mask_number, entry.body))
        if match is None:
            raise self.fail(f"cannot read the intrinsic {entry.body!r}", entry.number)
        name = match[1]
        if name not in build.INTRINSICS:
            raise UnsupportedError(f"{self.name}:{entry.number + 1}: the NIR intrinsic {name}")
        groups = re.findall(r"\(([^()]*)\)", match[2])
        has_result, fixed, count = build.INTRINSIC_SHAPES[name]
        sources = groups.pop(0).split(",") if count and groups else []
        if len(sources) != count or has_result != bool(entry.id) or (fixed and entry.components != fixed):
            raise self.fail(f"{name} takes {count} sources and gives {fixed if has_result else 0} components "
                            "(0: any)", entry.number)
        given: dict[str, str] = {}
        for pair in filter(None, (piece.strip() for group in groups for piece in group.split(","))):
            key, _, value = pair.partition("=")
            given[INDEX_NAMES.get(key, key)] = value
        names = build.INTRINSIC_INDICES[name]
        indices = [self.index(key, given.pop(key, "0"), entry) for key in names]
        if unknown := given.keys() - {"access"}:        # Mesa's load_constant has one, of memory that is never written
            raise UnsupportedError(f"{self.name}:{entry.number + 1}: {min(unknown)} of the NIR intrinsic {name}")
        return build.raw(self.shader, NirKind.INTRINSIC, build.INTRINSICS[name], entry.components, entry.bits,
                         [self.value(source, entry) for source in sources], indices=indices, flags=entry.flags)

    def make_texture(self, entry: _Line) -> int:
        self.at = entry.number
        try:
            texture = parse_texture(entry.body)
        except InputError as error:
            raise self.fail(str(error)) from None
        if texture.bits != entry.bits:
            raise self.fail(f"a result of {entry.bits} bits is not {texture.bits} bits wide")
        row = build.texture(self.shader, texture.base, texture.dim, texture.image_flags, texture.flags, texture.component,
                            texture.texture_index, texture.sampler_index, texture.offsets)
        values = [self.value(text, entry) for _, text in texture.sources]
        return build.raw(self.shader, NirKind.TEX, build.TEX[texture.opcode], entry.components, entry.bits, values,
                         [kind for kind, _ in texture.sources], data=row, flags=entry.flags)

    def index(self, name: str, text: str, entry: _Line) -> int:
        """Number of an index from its text."""
        self.at = entry.number
        try:
            if name == "write_mask":
                letters = form.LETTERS if set(text) <= set(form.LETTERS) else form.WIDE_LETTERS
                return sum(1 << letters.index(letter) for letter in text) if not text.isdigit() else int(text)
            if name == "swizzle_mask" and re.fullmatch(r"[0-3]{4}", text):      # Mesa's quad_swizzle_amd: a lane for each of four
                return sum(int(lane) << 2 * position for position, lane in enumerate(text))
            if re.fullmatch(r"-?\d+", text):
                return int(text)
            if name in ("access", "dst_access", "src_access"):
                return self.access(text)
            if name in INDEX_WORDS:
                return int(INDEX_WORDS[name][text])
            if name in INDEX_FLAGS:
                return sum(INDEX_FLAGS[name][word] for word in text.split("|"))
            return int(text, 0)
        except (KeyError, ValueError) as error:
            raise self.fail(f"cannot read {name}={text}", entry.number) from error

    def make_alu(self, entry: _Line) -> int:
        match = re.fullmatch(r"(\w+)(!?)((?:\.nsw|\.nuw)*) (.*)", entry.body)
        if match is None:
            raise self.fail(f"cannot read {entry.body!r}", entry.number)
        name = match[1]
        if name not in build.ALU:
            raise UnsupportedError(f"{self.name}:{entry.number + 1}: the NIR opcode {name}")
        operands = [operand.strip() for operand in match[4].split(",")]
        sizes = build.ALU_INPUT_SIZES[name]
        if len(operands) != len(sizes) or not entry.id:
            raise self.fail(f"{name} takes {len(sizes)} operands and has a result", entry.number)
        flags = entry.flags | (NirFlag.EXACT if match[2] else 0) | (NirFlag.NO_SIGNED_WRAP if ".nsw" in match[3] else 0)
        flags |= NirFlag.NO_UNSIGNED_WRAP if ".nuw" in match[3] else 0
        values, swizzles = [], []
        for operand, size in zip(operands, sizes, strict=True):
            value, _, letters = operand.partition(".")
            values.append(self.value(value, entry))
            swizzles.append(self.swizzle(values[-1], letters, size or entry.components, entry))
        return build.raw(self.shader, NirKind.ALU, build.ALU[name], entry.components, entry.bits, values, swizzles,
                         flags=flags)

    def swizzle(self, value: int, letters: str, wanted: int, entry: _Line) -> int:
        available = self.defined[value].components
        if not letters:
            if wanted > available:
                raise self.fail(f"%{value} has {available} components, not {wanted}", entry.number)
            return int(form.IDENTITY)
        names = form.LETTERS if available <= 4 else form.WIDE_LETTERS
        picked = [names.find(letter) for letter in letters]
        if len(picked) != wanted or min(picked) < 0 or max(picked) >= available:
            raise self.fail(f"the swizzle .{letters} does not fit %{value}", entry.number)
        return sum(number << 4 * position for position, number in enumerate(picked))

    # -------------------------------------------------------------------------------------------------------------- all
    def parse(self) -> Shader:
        self.header()
        finished = False
        while self.at < len(self.lines) and not finished:
            line = self.lines[self.at].strip()
            if not IF.match(line):
                line = line.split("//")[0].strip()
            if not line:
                pass
            elif self.frames:
                finished = self.statement(line)
            elif line.startswith("impl "):
                self.frames.append(_Frame(1, 0))
            else:
                try:
                    self.declaration(line)
                except (ValueError, OverflowError) as error:
                    raise self.fail(f"cannot read the declaration {line!r}: {error}") from error
            self.at += 1
        if not finished:
            raise self.fail("the function does not end" if self.frames else "there is no function")
        self.make_instructions()
        while self.pointers:
            row, pointee, self.at = self.pointers.pop()
            element = self.type(pointee)
            with self.shader.edit():
                self.shader.types.element[row] = element
        for node, at in self.conditions.items():
            condition = int(self.shader.nodes.condition[node])
            entry = self.defined.get(condition)
            if entry is None or entry.bits != 1 or entry.components != 1:
                raise self.fail(f"%{condition} is no boolean", at)
        return self.shader


@checked
def parse_shader(text: str, name: str = "<nir>") -> Shader:
    """Read a shader from NIR text.

    Parameters
    ----------
    text : str
        What ``pyaco.nir.text.print_shader`` prints.
    name : str
        Name of the file, for messages.

    Raises
    ------
    InputError
        The text is malformed; the message says the line and why.
    UnsupportedError
        An opcode or intrinsic that pyaco does not have.
    """
    from pyaco._core.nir import validate

    shader = _Parser(text, name).parse()
    try:
        validate.run(shader)
    except validate.ValidationError as error:
        raise InputError(f"{name}: {error}") from error
    return shader
