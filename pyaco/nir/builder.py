"""Builds NIR in Python, for tests and examples.

>>> b = Builder(wave_size=64, workgroup_size=(64, 1, 1))
>>> x = b.load_local_invocation_index()
>>> with b.if_(b.ult(x, b.imm(7))):
...     ...
>>> shader = b.finish()

Values are plain integers, the ids of NIR instructions. ALU opcodes and intrinsics are methods, named as in NIR.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import BaseType, Deref, ImageFlag, Jump, LoopControl, NirKind, TextureFlag, VariableMode
from pyaco._core.nir import build
from pyaco.arguments import checked

__all__ = ["DEREFS", "JUMPS", "MODES", "TYPES", "Builder", "Swizzled"]

TYPES = BaseType.numbers()
MODES = VariableMode.numbers()
JUMPS = Jump.numbers()
DEREFS = Deref.numbers()
_FLOAT_FORMATS = {16: "<e", 32: "<f", 64: "<d"}


class Swizzled(tuple[int, tuple[int, ...]]):
    """An ALU operand with a swizzle: ``(value, component numbers)``."""


class Builder:
    """Appends instructions to a new shader.

    Parameters
    ----------
    gfx_level : int
        As in ``ShaderInfo``: 90 for GFX9, 103 for GFX10.3, 110 for GFX11.
    wave_size : int
        32 or 64.
    workgroup_size : tuple of int
        Invocations per workgroup in each dimension.
    """

    @checked
    def __init__(self, gfx_level: int = 103, wave_size: int = 64, workgroup_size: tuple[int, int, int] = (64, 1, 1)):
        self.shader = Shader()
        info = self.shader.info
        self.shader.set_info(gfx_level=gfx_level, wave_size=wave_size, address32_hi=0xFFFF8000)
        assert "workgroup_size" in info
        self.shader.set_info(workgroup_size=list(workgroup_size))
        self.block = int(self.shader.nodes.first0[1])
        self.lists: dict[int, list[int]] = {self.block: []}

    # --------------------------------------------------------------------------------------------- instructions
    def emit(self, instruction: int) -> int:
        """Append an existing instruction to the current block."""
        self.lists[self.block].append(instruction)
        return instruction

    def components(self, value: int) -> int:
        """Components of a value."""
        return int(self.shader.instructions.components[value])

    def bit_size(self, value: int) -> int:
        """Bits of each component of a value."""
        return int(self.shader.instructions.bit_size[value])

    def alu(self, name: str, *operands: int | Swizzled, components: int = 0, bit_size: int = 0, flags: int = 0) -> int:
        """Append an ALU instruction."""
        values = [operand[0] if isinstance(operand, tuple) else operand for operand in operands]
        swizzles = [operand[1] if isinstance(operand, tuple) else None for operand in operands]
        row = build.alu(self.shader, build.ALU[name], values, swizzles, components, bit_size)
        if flags:
            build.set_flags(self.shader, row, flags)
        return self.emit(row)

    def intrinsic(self, name: str, *sources: int, components: int = 0, bit_size: int = 0, **indices: int) -> int:
        """Append an intrinsic; indices are keywords."""
        has_result, fixed, _ = build.INTRINSIC_SHAPES[name]
        if has_result and not fixed and not components:
            components = self.components(sources[0]) if sources else 1
        if has_result and not bit_size:
            bit_size = 32
        numbers = {build.INDICES[key]: value for key, value in indices.items()}
        return self.emit(build.intrinsic(self.shader, build.INTRINSICS[name], sources, components, bit_size, numbers))

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name.rstrip("_") in build.ALU:
            return lambda *operands, **facts: self.alu(name.rstrip("_"), *operands, **facts)
        if name in build.INTRINSICS:
            return lambda *sources, **facts: self.intrinsic(name, *sources, **facts)
        raise AttributeError(name)

    def tex(self, name: str, dim: str, base: str = "float", bit_size: int = 32, *, array: bool = False, shadow: bool = False,
            flags: int = 0, component: int = 0, texture_index: int = 0, sampler_index: int = 0,
            offsets: Sequence[tuple[int, int]] = (), **sources: int) -> int:
        """Append a texture instruction.

        Parameters
        ----------
        name : str
            Opcode, as ``tex`` or ``txf_ms``.
        dim : str
            Dimensions, as ``2d`` or ``cube``.
        base : str
            What the result is: ``float``, ``int``, ``uint`` or ``bool``.
        bit_size : int
            Bits of each component of the result.
        array : bool
            Whether the texture has layers.
        shadow : bool
            Whether the texture compares with a reference.
        flags : int
            Bits of ``TextureFlag``.
        component : int
            Which component a gather takes of each texel.
        texture_index, sampler_index : int
            Which texture and sampler, where no source names them.
        offsets : sequence of pairs
            x and y of the four texels of a gather.
        **sources : int
            Values by the kind of source: ``coord``, ``lod``, ``texture_deref`` ...
        """
        image_flags = (ImageFlag.ARRAY if array else 0) | (ImageFlag.SHADOW if shadow else 0)
        number, _, size, _, _ = build.IMAGE_DIMS[dim]
        row = build.texture(self.shader, TYPES[base], number, image_flags, flags, component, texture_index, sampler_index, offsets)
        texel = 1 if flags & TextureFlag.SHADOW_SCALAR else 4
        result = build.TEX_SHAPES[name][0]
        components = {"texel": texel, "size": size + array, "descriptor": 4 if dim == "buf" else 8}.get(result, result)
        components += 1 if flags & TextureFlag.IS_SPARSE else 0
        kinds = [build.TEX_SOURCES[kind] for kind in sources]
        return self.emit(build.raw(self.shader, NirKind.TEX, build.TEX[name], components, bit_size, list(sources.values()), kinds, data=row))

    def imm(self, value: int, bit_size: int = 32) -> int:
        """Append an integer (or, with a bit size of 1, boolean) constant."""
        return self.const([value], bit_size)

    def fimm(self, value: float, bit_size: int = 32) -> int:
        """Append a floating-point constant."""
        bits = struct.pack(_FLOAT_FORMATS[bit_size], value)
        return self.const([int.from_bytes(bits, "little")], bit_size)

    def const(self, values: Sequence[int], bit_size: int = 32) -> int:
        """Append a constant vector of raw bits."""
        mask = (1 << bit_size) - 1
        return self.emit(build.constant(self.shader, [value & mask for value in values], bit_size))

    def undef(self, components: int = 1, bit_size: int = 32) -> int:
        """Append an undefined value."""
        return self.emit(build.undefined(self.shader, components, bit_size))

    def component(self, value: int, index: int) -> int:
        """Append a mov of one component."""
        return self.alu("mov", Swizzled((value, (index,))), components=1)

    def vec(self, *values: int) -> int:
        """Append a vector of scalars."""
        if len(values) == 1:
            return values[0]
        return self.alu(f"vec{len(values)}", *values)

    def phi(self, *operands: tuple[int, int]) -> int:
        """Append a phi of ``(value, predecessor block)`` pairs."""
        values = [value for value, _ in operands]
        first = next(value for value in values if value)
        return self.emit(build.phi(self.shader, values, [block for _, block in operands], self.components(first),
                                   self.bit_size(first)))

    def set_source(self, instruction: int, source: int, value: int) -> None:
        """Change a source, for the back edge of a phi."""
        build.set_source(self.shader, instruction, source, value)

    def jump(self, kind: str) -> int:
        """Append a jump."""
        return self.emit(build.jump(self.shader, JUMPS[kind]))

    # --------------------------------------------------------------------------------------------- derefs
    def variable(self, mode: str, type: int, initializer: Sequence[int] | None = None, **facts: Any) -> int:
        """Make a variable and return its row."""
        return build.variable(self.shader, MODES[mode], type, initializer, **facts)

    def _deref(self, kind: str, sources: list[int], type: int, mode: int, data: int, like: int | None) -> int:
        components, bit_size = (self.components(like), self.bit_size(like)) if like is not None else (1, 32)
        return self.emit(build.deref(self.shader, DEREFS[kind], sources, type, mode, data, components, bit_size))

    def deref_var(self, variable: int) -> int:
        """Append a deref of a variable."""
        mode = int(self.shader.variables.mode[variable])
        return self._deref("var", [], int(self.shader.variables.type[variable]), mode, variable, None)

    def deref_array(self, parent: int, index: int) -> int:
        """Append a deref of an array element, matrix column or vector component."""
        type = int(self.shader.instructions.type[parent])
        base = int(self.shader.types.base[type])
        if base in (TYPES["array"], TYPES["matrix"]):
            element = int(self.shader.types.element[type])
        else:
            element = self.type(base, bit_size=int(self.shader.types.bit_size[type]), components=1)
        return self._deref("array", [parent, index], element, int(self.shader.instructions.mode[parent]), 0, parent)

    def deref_struct(self, parent: int, member: int) -> int:
        """Append a deref of a struct member."""
        type = int(self.shader.instructions.type[parent])
        element = int(self.shader.members.type[int(self.shader.types.member_first[type]) + member])
        return self._deref("struct", [parent], element, int(self.shader.instructions.mode[parent]), member, parent)

    def deref_cast(self, value: int, type: int, mode: str, stride: int = 0) -> int:
        """Append a cast of a pointer value to a deref."""
        return self._deref("cast", [value], type, MODES[mode], stride, value)

    def deref_ptr_as_array(self, parent: int, index: int) -> int:
        """Append pointer arithmetic."""
        type = int(self.shader.instructions.type[parent])
        return self._deref("ptr_as_array", [parent, index], type, int(self.shader.instructions.mode[parent]), 0, parent)

    def load(self, deref: int, access: int = 0) -> int:
        """Append a load of the scalar or vector that a deref points to."""
        type = int(self.shader.instructions.type[deref])
        return self.intrinsic("load_deref", deref, components=max(1, int(self.shader.types.components[type])),
                              bit_size=int(self.shader.types.bit_size[type]), access=access)

    def store(self, deref: int, value: int, write_mask: int | None = None, access: int = 0) -> int:
        """Append a store."""
        mask = (1 << self.components(value)) - 1 if write_mask is None else write_mask
        return self.intrinsic("store_deref", deref, value, write_mask=mask, access=access)

    # --------------------------------------------------------------------------------------------- types
    def type(self, base: int | str, **facts: Any) -> int:
        """Make a type; see ``pyaco._core.nir.build.type_of``."""
        return build.type_of(self.shader, TYPES[base] if isinstance(base, str) else base, **facts)

    def scalar(self, base: str = "uint", bit_size: int = 32) -> int:
        """Make a scalar type."""
        return self.type(base, bit_size=bit_size, components=1)

    def vector(self, components: int, base: str = "uint", bit_size: int = 32) -> int:
        """Make a vector type."""
        return self.type(base, bit_size=bit_size, components=components)

    def array(self, element: int, length: int, stride: int = 0) -> int:
        """Make an array type; length 0 is a runtime-sized one."""
        return self.type("array", element=element, length=length, stride=stride)

    def struct(self, *members: tuple[int, int | None]) -> int:
        """Make a struct type of ``(type, offset)`` members."""
        return self.type("struct", members=members)

    # --------------------------------------------------------------------------------------------- control flow
    def _open(self, block: int) -> None:
        self.block = block
        self.lists.setdefault(block, [])

    def _node(self, kind: str, condition: int = 0, control: int = 0) -> tuple[int, int]:
        node = build.node(self.shader, kind, self.block, condition, control)
        after = build.node(self.shader, "block", node)
        return node, after

    @contextmanager
    def if_(self, condition: int) -> Iterator[int]:
        """Write the then-list of a new if; yields its node, which ``else_`` takes."""
        node, after = self._node("if", condition)
        self._open(int(self.shader.nodes.first0[node]))
        self._open_else(node)
        self._open(int(self.shader.nodes.first0[node]))
        yield node
        self._open(after)

    def _open_else(self, node: int) -> None:
        self._open(int(self.shader.nodes.first1[node]))

    @contextmanager
    def else_(self, node: int) -> Iterator[int]:
        """Write the else-list of an if."""
        self._open_else(node)
        yield node
        self._open(int(self.shader.nodes.next[node]))

    @contextmanager
    def loop(self, control: int = LoopControl.NONE) -> Iterator[int]:
        """Write the body of a new loop; yields its node. `control` is what its author asks for."""
        node, after = self._node("loop", control=control)
        self._open(int(self.shader.nodes.first0[node]))
        yield node
        self._open(after)

    def finish(self) -> Shader:
        """Write the blocks and return the shader."""
        build.write_blocks(self.shader, self.lists)
        return self.shader
