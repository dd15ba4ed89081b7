"""NIR as text, in the form of Mesa's ``nir_print`` (24.3).

What Mesa leaves out of its text and a reader needs is added in the same style: ``decl_struct`` lines give the members of
structs with their offsets, types carry their layout in parentheses (``float[](stride=4)``), ``decl_argument`` lines list the
arguments of the ABI. Names of variables and structs are made unique with ``@`` and their row. Everything after ``//``,
and the parenthesised values after operands that are constants, is comment.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import (
    Access,
    ArgumentKind,
    AtomicOperation,
    BaseType,
    Deref,
    DescriptorKind,
    Interpolation,
    Jump,
    LoopControl,
    NirFlag,
    NirKind,
    NirScope,
    NirSemantic,
    NodeKind,
    Stage,
    VariableFlag,
    VariableMode,
)
from pyaco._core.nir import build
from pyaco.arguments import checked
from pyaco.nir.text_texture import IMAGE_INDICES, KINDS, TEX_NAMES, Texture, image_type, image_types, texture_text, unpacked_offsets

__all__ = ["print_shader"]

MODES = VariableMode.names()
ACCESS = tuple(Access.bits().values())
SCOPES = NirScope.names()
SEMANTICS = tuple(NirSemantic.bits().values())
QUALIFIERS = {flag: flag.text for flag in VariableFlag.members() if flag != VariableFlag.ALIVE}
INDEX_NAMES = {
    "write_mask": "wrmask", "execution_scope": "exec_scope", "memory_scope": "mem_scope",
    "memory_semantics": "mem_semantics", "memory_modes": "mem_modes",
}
LETTERS = "xyzw"
WIDE_LETTERS = "abcdefghijklmnop"
IDENTITY = 0xFEDCBA9876543210
ALU_NAMES = {number: name for name, number in build.ALU.items()}
INTRINSIC_NAMES = {number: name for name, number in build.INTRINSICS.items()}
FLOATS = {16: "<e", 32: "<f", 64: "<d"}
#: Names of a scalar and of vectors by base type and bits.
SCALARS = {
    (int(base), bits): names
    for base, bits, names in (
        (BaseType.INT, 8, ("int8_t", "i8vec")), (BaseType.INT, 16, ("int16_t", "i16vec")), (BaseType.INT, 32, ("int", "ivec")),
        (BaseType.INT, 64, ("int64_t", "i64vec")), (BaseType.UINT, 8, ("uint8_t", "u8vec")), (BaseType.UINT, 16, ("uint16_t", "u16vec")),
        (BaseType.UINT, 32, ("uint", "uvec")), (BaseType.UINT, 64, ("uint64_t", "u64vec")), (BaseType.FLOAT, 16, ("float16_t", "f16vec")),
        (BaseType.FLOAT, 32, ("float", "vec")), (BaseType.FLOAT, 64, ("double", "dvec")), (BaseType.BOOL, 1, ("bool", "bvec")),
    )
}
#: Stages whose workgroup has a size.
WITH_WORKGROUP = (Stage.COMPUTE, Stage.KERNEL, Stage.TASK, Stage.MESH)


class _Columns:
    """The columns of a shader as Python lists (indexing NumPy element by element is slow)."""

    def __init__(self, shader: Shader) -> None:
        for table, columns in {
            "instructions": ("kind", "components", "bit_size", "opcode", "flags", "source_first", "source_count", "data",
                             "type", "mode"),
            "sources": ("value", "swizzle"),
            "constants": ("value",),
            "indices": ("value",),
            "nodes": ("kind", "parent", "next", "first0", "first1", "last0", "condition", "control", "order_first",
                      "order_count"),
            "order": ("instruction",),
            "types": ("base", "bit_size", "components", "row_major", "element", "length", "stride", "member_first",
                      "member_count", "image_dim", "image_flags"),
            "members": ("type", "offset", "access"),
            "variables": ("mode", "type", "set", "binding", "location", "builtin", "access", "initializer", "flags",
                          "interpolation", "component", "driver_location"),
            "textures": ("base", "dim", "image_flags", "flags", "component", "texture_index", "sampler_index", "offsets"),
            "arguments": ("kind", "detail", "first", "count", "is_vgpr"),
        }.items():
            view = getattr(shader, table)
            for column in columns:
                setattr(self, f"{table}_{column}", getattr(view, column).tolist())

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _identifier(name: str) -> str:
    """A name that text can hold, or nothing."""
    kept = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)
    return kept if kept and not kept[0].isdigit() else ""


class _Printer:
    def __init__(self, shader: Shader) -> None:
        self.shader = shader
        self.c = _Columns(shader)
        self.lines: list[str] = []
        self.structs: dict[int, str] = {}
        self.type_texts: dict[int, str] = {}
        self.variables: dict[int, str] = {}
        self.block_numbers: dict[int, int] = {}
        self.predecessors: dict[int, list[int]] = {}
        self.successors: dict[int, list[int]] = {}
        self.show_divergence = bool(shader.info["divergence_valid"])
        self.width = len(str(max(1, len(self.c.instructions_kind) - 1))) + 1

    # ------------------------------------------------------------------------------------------------------- types
    def struct_name(self, row: int) -> str:
        if row not in self.structs:
            name = _identifier(getattr(self.shader, "type_names", {}).get(row, "")) or "struct"
            taken = name in self.structs.values() or name == "struct" or any(name in pair for pair in SCALARS.values())
            taken = taken or name in image_types() or name in ("void", "opaque", "sampler")
            self.structs[row] = f"{name}@{row}" if taken else name
        return self.structs[row]

    def type(self, row: int) -> str:
        """The text of a type."""
        if row not in self.type_texts:
            self.type_texts[row] = self._type(row)
        return self.type_texts[row]

    def _type(self, row: int) -> str:
        c = self.c
        base, components, stride = c.types_base[row], c.types_components[row], c.types_stride[row]
        if base == BaseType.VOID:
            return "void"
        if base == BaseType.STRUCT:
            return self.struct_name(row)
        if base in KINDS:
            element = c.types_element[row]
            sampled = c.types_base[element], c.types_bit_size[element]
            return image_type(base, sampled, c.types_image_dim[row], c.types_image_flags[row])
        if base == BaseType.ARRAY:
            length = c.types_length[row] or ""
            return f"{self.type(c.types_element[row])}[{length}]" + (f"(stride={stride})" if stride else "")
        if base == BaseType.POINTER:
            element = c.types_element[row]
            # A pointer may lead back to the struct that holds it.
            return (self.struct_name(element) if c.types_base[element] == BaseType.STRUCT else self.type(element)) + "*"
        if base == BaseType.MATRIX:
            column = self.type(c.types_element[row]).split("(")[0]
            order = ", row_major" if c.types_row_major[row] else ""
            return f"mat{c.types_length[row]}x{column}" + (f"(stride={stride}{order})" if stride else "")
        if base in (BaseType.OPAQUE, BaseType.SAMPLER):
            return BaseType.names()[base]
        scalar, vector = SCALARS[base, c.types_bit_size[row]]
        text = scalar if components <= 1 else f"{vector}{components}"
        return f"{text}(stride={stride})" if stride else text

    def reachable_structs(self) -> list[int]:
        """Structs that variables and derefs name, inner ones first."""
        c = self.c
        wanted = [type for mode, type, flags in zip(c.variables_mode, c.variables_type, c.variables_flags, strict=True)
                  if flags & VariableFlag.ALIVE]
        wanted += [c.instructions_type[row] for row in c.order_instruction if c.instructions_kind[row] == NirKind.DEREF]
        seen: dict[int, bool] = {}
        done: list[int] = []
        stack = [(type, False) for type in reversed(wanted)]
        while stack:
            row, finished = stack.pop()
            if finished:
                done.append(row)
                continue
            if seen.get(row):
                continue
            seen[row] = True
            base = c.types_base[row]
            if base == BaseType.STRUCT:
                stack.append((row, True))
                first = c.types_member_first[row]
                stack += [(c.members_type[first + i], False) for i in reversed(range(c.types_member_count[row]))]
            elif base in (BaseType.ARRAY, BaseType.POINTER, BaseType.MATRIX):
                stack.append((c.types_element[row], False))
        return done

    def member_name(self, row: int, member: int) -> str:
        return _identifier(self.shader.member_names.get((row, member), "")) or f"field{member}"

    def declare_struct(self, row: int) -> None:
        c = self.c
        members = []
        names: set[str] = set()
        for i in range(c.types_member_count[row]):
            member = c.types_member_first[row] + i
            name = self.member_name(row, i)
            if name in names:
                name = f"{name}@{i}"
            names.add(name)
            facts = [] if c.members_offset[member] == 0xFFFFFFFF else [f"offset={c.members_offset[member]}"]
            if c.members_access[member]:
                facts.append(f"access={self.flags(c.members_access[member], ACCESS)}")
            members.append(f"{self.type(c.members_type[member])} {name}" + (f" ({', '.join(facts)})" if facts else ""))
        self.lines.append(f"decl_struct {self.struct_name(row)} {{ {'; '.join(members)} }}")

    # --------------------------------------------------------------------------------------------------- variables
    def variable(self, row: int) -> str:
        if row not in self.variables:
            name = _identifier(self.shader.variable_names.get(row, ""))
            if not name or name in self.variables.values():
                name = f"{name}@{row}"
            self.variables[row] = name
        return self.variables[row]

    def declare_variable(self, row: int, indent: str) -> None:
        c = self.c
        facts = [
            f"{name}={getattr(c, 'variables_' + name)[row]}"
            for name in ("set", "binding", "location", "builtin", "component", "driver_location")
            if getattr(c, "variables_" + name)[row]
        ]
        access = self.flags(c.variables_access[row], ACCESS, " ") if c.variables_access[row] else ""
        qualifiers = "".join(f"{name} " for flag, name in QUALIFIERS.items() if c.variables_flags[row] & flag)
        text = (
            f"{indent}decl_var {qualifiers}{MODES.get(c.variables_mode[row], c.variables_mode[row])}"
            f" {Interpolation.names().get(c.variables_interpolation[row], c.variables_interpolation[row])}"
            f" {access or 'none'} {self.type(c.variables_type[row])} {self.variable(row)}"
        )
        if facts:
            text += f" ({', '.join(facts)})"
        if c.variables_initializer[row]:
            first = c.variables_initializer[row] - 1
            count = self.leaf_count(c.variables_type[row])
            text += " = { " + ", ".join(f"{value:#x}" for value in c.constants_value[first : first + count]) + " }"
        self.lines.append(text)

    def leaf_count(self, row: int) -> int:
        """Scalars in a type."""
        c = self.c
        base = c.types_base[row]
        if base == BaseType.STRUCT:
            first = c.types_member_first[row]
            return sum(self.leaf_count(c.members_type[first + i]) for i in range(c.types_member_count[row]))
        if base in (BaseType.ARRAY, BaseType.MATRIX):
            return int(c.types_length[row]) * self.leaf_count(c.types_element[row])
        return int(c.types_components[row])

    # ------------------------------------------------------------------------------------------------ instructions
    @staticmethod
    def flags(value: int, names: tuple[str, ...], separator: str = "|") -> str:
        """Set bits by name."""
        return separator.join(name for bit, name in enumerate(names) if value >> bit & 1) or "none"

    def constant_text(self, row: int, picked: list[int] | None, is_float: bool) -> str:
        """The comment after an operand that is a constant."""
        c = self.c
        if c.instructions_kind[row] != NirKind.LOAD_CONST:
            return ""
        bits = c.instructions_bit_size[row]
        first = c.instructions_data[row]
        components = picked if picked is not None else range(c.instructions_components[row])
        texts = [self.literal(c.constants_value[first + i], bits, is_float) for i in components]
        return f" ({', '.join(texts)})"

    @staticmethod
    def literal(value: int, bits: int, is_float: bool) -> str:
        if bits == 1:
            return "true" if value else "false"
        if is_float and bits in FLOATS:
            return f"{struct.unpack(FLOATS[bits], value.to_bytes(bits // 8, 'little'))[0]:f}"
        return f"{value:#x}"

    def source(self, row: int) -> str:
        value = self.c.sources_value[row]
        return f"%{value}{self.constant_text(value, None, False)}"

    def alu_source(self, row: int, wanted: int, is_float: bool) -> str:
        c = self.c
        value, swizzle = c.sources_value[row], c.sources_swizzle[row]
        available = c.instructions_components[value]
        picked = [swizzle >> 4 * i & 15 for i in range(wanted)]
        text = f"%{value}"
        if picked != list(range(available)):
            letters = LETTERS if available <= 4 else WIDE_LETTERS
            text += "." + "".join(letters[i] if i < len(letters) else "?" for i in picked)
        inside = all(i < available for i in picked)
        return text + (self.constant_text(value, picked, is_float) if inside else "")

    def alu(self, row: int) -> str:
        c = self.c
        name = ALU_NAMES[c.instructions_opcode[row]]
        flags = c.instructions_flags[row]
        mnemonic = name + ("!" if flags & NirFlag.EXACT else "")
        mnemonic += (".nsw" if flags & NirFlag.NO_SIGNED_WRAP else "") + (".nuw" if flags & NirFlag.NO_UNSIGNED_WRAP else "")
        sizes = build.ALU_INPUT_SIZES[name]
        is_float = name[0] == "f" and name not in ("find_lsb", "frexp_exp")
        sources = [
            self.alu_source(c.instructions_source_first[row] + i, size or c.instructions_components[row], is_float)
            for i, size in enumerate(sizes)
        ]
        return f"{mnemonic} {', '.join(sources)}"

    def deref(self, row: int) -> str:
        c = self.c
        kind, first = c.instructions_opcode[row], c.instructions_source_first[row]
        suffix = f"({MODES.get(c.instructions_mode[row], c.instructions_mode[row])} {self.type(c.instructions_type[row])})"
        if kind == Deref.VAR:
            return f"deref_var &{self.variable(c.instructions_data[row])} {suffix}"
        parent = c.sources_value[first]
        if kind == Deref.ARRAY:
            return f"deref_array &(*%{parent})[{self.source(first + 1)}] {suffix}"
        if kind == Deref.ARRAY_WILDCARD:
            return f"deref_array_wildcard &(*%{parent})[*] {suffix}"
        if kind == Deref.PTR_AS_ARRAY:
            return f"deref_ptr_as_array &%{parent}[{self.source(first + 1)}] {suffix}"
        if kind == Deref.STRUCT:
            member = c.instructions_data[row]
            return f"deref_struct &%{parent}->{self.member_name(c.instructions_type[parent], member)} {suffix}"
        return (
            f"deref_cast ({self.type(c.instructions_type[row])} *){self.source(first)} {suffix}"
            f" (ptr_stride={c.instructions_data[row]})"
        )

    def index(self, name: str, value: int, row: int) -> str:
        """One index of an intrinsic."""
        shown = INDEX_NAMES.get(name, name)
        text: Any = value
        if name == "write_mask":
            text = "".join(WIDE_LETTERS[i] if value >> 4 else LETTERS[i] for i in range(16) if value >> i & 1)
        elif name in ("access", "dst_access", "src_access"):
            text = self.flags(value, ACCESS)
        elif name == "desc_type":
            text = DescriptorKind.names().get(value, value)
        elif name == "atomic_op":
            text = AtomicOperation.names().get(value, value)
        elif name == "reduction_op":
            text = ALU_NAMES.get(value, value)
        elif name in ("execution_scope", "memory_scope"):
            text = SCOPES.get(value, value)
        elif name == "memory_semantics":
            text = self.flags(value, SEMANTICS).replace("none", "NONE")
        elif name == "memory_modes":
            text = "|".join(mode for bit, mode in MODES.items() if value & bit) or "none"
        elif name in IMAGE_INDICES:
            text = IMAGE_INDICES[name].get(value, value)
        return f"{shown}={text}"

    def intrinsic(self, row: int) -> str:
        c = self.c
        name = INTRINSIC_NAMES[c.instructions_opcode[row]]
        first = c.instructions_source_first[row]
        sources = ", ".join(self.source(first + i) for i in range(c.instructions_source_count[row]))
        indices = [
            self.index(index, c.indices_value[c.instructions_data[row] + i], row)
            for i, index in enumerate(build.INTRINSIC_INDICES[name])
            # Few modules state an alignment at the access itself.
            if not (index.startswith("align_") and name.endswith("_deref") and not c.indices_value[c.instructions_data[row] + i])
        ]
        return f"@{name}" + (f" ({sources})" if sources else "") + (f" ({', '.join(indices)})" if indices else "")

    def tex(self, row: int) -> str:
        c = self.c
        texture = c.instructions_data[row]
        first = c.instructions_source_first[row]
        sources = [(c.sources_swizzle[i], self.source(i)) for i in range(first, first + c.instructions_source_count[row])]
        facts = {name: getattr(c, f"textures_{name}")[texture]
                 for name in ("base", "dim", "image_flags", "flags", "component", "texture_index", "sampler_index")}
        return texture_text(Texture(TEX_NAMES[c.instructions_opcode[row]], bits=c.instructions_bit_size[row], sources=sources,
                                    offsets=unpacked_offsets(c.textures_offsets[texture]), **facts))

    def load_const(self, row: int) -> str:
        c = self.c
        bits, first = c.instructions_bit_size[row], c.instructions_data[row]
        values = c.constants_value[first : first + c.instructions_components[row]]
        if bits == 1:
            return f"load_const ({', '.join('true' if value else 'false' for value in values)})"
        texts = [f"0x{value:0{bits // 4}x}" for value in values]
        if len(values) == 1 and values[0]:
            value = values[0]
            if bits in FLOATS:
                texts[0] += f" = {self.literal(value, bits, True)}"
            signed = value - (1 << bits) if value >> bits - 1 else value
            texts[0] += f" = {signed}" + (f" = {value}" if signed < 0 else "")
        return f"load_const ({', '.join(texts)})"

    def phi(self, row: int) -> str:
        c = self.c
        first = c.instructions_source_first[row]
        sources = sorted(
            range(first, first + c.instructions_source_count[row]),
            key=lambda source: self.block_numbers.get(c.sources_swizzle[source], -1),
        )
        return "phi " + ", ".join(
            f"b{self.block_numbers.get(c.sources_swizzle[source], '?')}: {self.source(source)}" for source in sources
        )

    def instruction(self, row: int, indent: str) -> None:
        c = self.c
        kind = c.instructions_kind[row]
        if kind == NirKind.ALU:
            text = self.alu(row)
        elif kind == NirKind.DEREF:
            text = self.deref(row)
        elif kind == NirKind.LOAD_CONST:
            text = self.load_const(row)
        elif kind == NirKind.UNDEF:
            text = "undefined"
        elif kind == NirKind.PHI:
            text = self.phi(row)
        elif kind == NirKind.INTRINSIC:
            text = self.intrinsic(row)
        elif kind == NirKind.TEX:
            text = self.tex(row)
        else:
            text = Jump.names()[c.instructions_opcode[row]]
        components = c.instructions_components[row]
        prefix = ""
        if self.show_divergence:
            prefix = "div " if c.instructions_flags[row] & NirFlag.DIVERGENT else "con "
        if components:
            size = f"{c.instructions_bit_size[row]}" + (f"x{components}" if components > 1 else "")
            result = f"%{row}"
            self.lines.append(f"{indent}{prefix}{size:<5} {result:>{self.width}} = {text}")
        else:
            self.lines.append(f"{indent}{' ' * (len(prefix) + 6 + self.width + 3)}{text}")

    # ------------------------------------------------------------------------------------------------ control flow
    def number_blocks(self) -> None:
        """Number the blocks in program order and find their neighbours."""
        c = self.c
        order: list[int] = []
        node = c.nodes_first0[1]
        while node:
            if c.nodes_kind[node] == NodeKind.BLOCK:
                self.block_numbers[node] = len(order)
                order.append(node)
            node = self.following(node)
        for block in order:
            self.successors[block] = self.block_successors(block)
            for target in self.successors[block]:
                self.predecessors.setdefault(target, []).append(block)

    def following(self, node: int) -> int:
        """The next node of the walk over all nodes."""
        c = self.c
        if c.nodes_first0[node]:
            return int(c.nodes_first0[node])
        while node:
            if c.nodes_next[node]:
                return int(c.nodes_next[node])
            parent = c.nodes_parent[node]
            if parent and c.nodes_kind[parent] == NodeKind.IF and c.nodes_last0[parent] == node:
                return int(c.nodes_first1[parent])
            node = parent
        return 0

    def block_successors(self, block: int) -> list[int]:
        c = self.c
        count = c.nodes_order_count[block]
        last = c.order_instruction[c.nodes_order_first[block] + count - 1] if count else 0
        if last and c.instructions_kind[last] == NirKind.JUMP:
            loop = c.nodes_parent[block]
            while loop and c.nodes_kind[loop] != NodeKind.LOOP:
                loop = c.nodes_parent[loop]
            if not loop or c.instructions_opcode[last] not in (Jump.BREAK, Jump.CONTINUE):
                return []
            return [c.nodes_next[loop] if c.instructions_opcode[last] == Jump.BREAK else c.nodes_first0[loop]]
        following, parent = c.nodes_next[block], c.nodes_parent[block]
        if following:
            if c.nodes_kind[following] == NodeKind.IF:
                return [c.nodes_first0[following], c.nodes_first1[following]]
            return [c.nodes_first0[following]]
        if c.nodes_kind[parent] == NodeKind.LOOP:
            return [c.nodes_first0[parent]]
        return [c.nodes_next[parent]] if c.nodes_kind[parent] == NodeKind.IF else []

    def block(self, node: int, indent: str) -> None:
        c = self.c
        numbers = " ".join(f"b{self.block_numbers[block]}" for block in self.predecessors.get(node, []))
        self.lines.append(f"{indent}block b{self.block_numbers[node]}:{'':<4}// preds: {numbers}".rstrip())
        first = c.nodes_order_first[node]
        for row in c.order_instruction[first : first + c.nodes_order_count[node]]:
            self.instruction(row, indent)
        numbers = " ".join(f"b{self.block_numbers[block]}" for block in self.successors[node])
        self.lines.append(f"{indent}{' ' * 11}// succs: {numbers}".rstrip())

    def body(self) -> None:
        """The nodes of the function, without recursion: shaders may nest deep."""
        c = self.c
        stack: list[tuple[str, int, str]] = [("list", c.nodes_first0[1], "    ")]
        while stack:
            what, node, indent = stack.pop()
            if what == "text":
                self.lines.append(indent)
                continue
            if not node:
                continue
            stack.append(("list", c.nodes_next[node], indent))
            kind = c.nodes_kind[node]
            if kind == NodeKind.BLOCK:
                self.block(node, indent)
            elif kind == NodeKind.IF:
                condition = c.nodes_condition[node]
                self.lines.append(f"{indent}if %{condition}{self.constant_text(condition, None, False)} {{")
                stack.append(("text", 0, f"{indent}}}"))
                stack.append(("list", c.nodes_first1[node], indent + "    "))
                stack.append(("text", 0, f"{indent}}} else {{"))
                stack.append(("list", c.nodes_first0[node], indent + "    "))
            else:
                self.lines.append(f"{indent}{self.loop_text(node)} {{")
                stack.append(("text", 0, f"{indent}}}"))
                stack.append(("list", c.nodes_first0[node], indent + "    "))

    def loop_text(self, node: int) -> str:
        """``loop``, and what its author asks for."""
        control = self.c.nodes_control[node]
        return f"loop {LoopControl.names()[control]}" if control else "loop"

    def header(self) -> None:
        info = self.shader.info
        self.lines.append(f"shader: MESA_SHADER_{Stage.names().get(info['stage'], 'none').upper()}")
        metadata = self.shader.metadata
        if "entry" in metadata:
            self.lines.append(f"entry: {metadata['entry']}")
        if "source" in metadata:
            self.lines.append(f"source_sha1: {hashlib.sha1(metadata['source']).hexdigest()}")
        elif "source_sha1" in metadata:
            self.lines.append(f"source_sha1: {metadata['source_sha1']}")
        if info["stage"] in WITH_WORKGROUP:
            self.lines.append(f"workgroup_size: {', '.join(str(size) for size in info['workgroup_size'])}")
        self.lines += [f"{key}: {value}" for key, value in info.items() if key not in ("stage", "workgroup_size") and value]
        data = self.shader.constant_data.byte.tobytes()
        self.lines += [f"constant_data: {data[at : at + 32].hex()}" for at in range(0, len(data), 32)]

    def declarations(self) -> None:
        c = self.c
        for row in self.reachable_structs():
            self.declare_struct(row)
        for row, kind in enumerate(c.arguments_kind):
            name = ArgumentKind.names().get(kind, str(kind))
            self.lines.append(
                f"decl_argument {row} {name} {'vgpr' if c.arguments_is_vgpr[row] else 'sgpr'}"
                f" (detail={c.arguments_detail[row]}, first={c.arguments_first[row]}, count={c.arguments_count[row]})"
            )
        for row, mode in enumerate(c.variables_mode):
            if c.variables_flags[row] & VariableFlag.ALIVE and mode != VariableMode.FUNCTION_TEMP:
                self.declare_variable(row, "")

    def print(self) -> str:
        """The whole text."""
        c = self.c
        entry = _identifier(str(self.shader.metadata.get("entry", "main"))) or "main"
        self.header()
        self.declarations()
        self.lines += [f"decl_function {entry} (0 params) (entrypoint)", "", f"impl {entry} {{"]
        for row, mode in enumerate(c.variables_mode):
            if c.variables_flags[row] & VariableFlag.ALIVE and mode == VariableMode.FUNCTION_TEMP:
                self.declare_variable(row, "    ")
        self.number_blocks()
        self.body()
        self.lines += ["}", ""]
        return "\n".join(self.lines)


@checked
def print_shader(shader: Shader) -> str:
    """Return the text of a shader.

    Parameters
    ----------
    shader : Shader
        At any stage.

    Returns
    -------
    str
        Text in the form of Mesa's ``nir_print``; values keep their ids.
    """
    return _Printer(shader).print()
