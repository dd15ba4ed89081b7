"""A NIR interpreter: the reference that NIR passes are tested against.

Executes a shader as it is after the reader (derefs) or after any pass, for whole workgroups. All lanes of a workgroup
run in lockstep under a mask, so barriers do nothing; a structured list of nodes is run once for all its lanes. Values
are NumPy arrays of shape (components, lanes). Written for obvious correctness, not for speed.

Memory: buffers, descriptor sets and push constants are in one 64-bit address space with bounds. Accesses of buffers
past their end read zero and write nothing, as the hardware's range check does; any other stray access raises
``InputError``. Images are arrays of texels (``nir/images.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import BaseType, Jump, NirFlag, NirKind, NodeKind, VariableMode
from pyaco._core.nir import build
from pyaco._core.nir import types as nir_types
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import interpreter_opcodes
from pyaco.nir.interpreter_images import Images
from pyaco.nir.interpreter_state import INTRINSIC_NAMES, Array, Buffers
from pyaco.nir.interpreter_subgroup import ALU_NAMES, Subgroups

__all__ = ["Interpreter", "run"]

#: Instructions of a dispatch by default, each of which all lanes of a workgroup execute at once.
BUDGET = 1 << 24


class Interpreter(Images, Subgroups):
    """One dispatch.

    Parameters
    ----------
    shader : Shader
        At any stage.
    groups : tuple of int
        Workgroups in each dimension.
    buffers : mapping
        ``{(set, binding): array}``, or a list of arrays for a descriptor array. Arrays are written in place. Bindings of images have
        an ``Image`` (None: a null descriptor), a ``Sampler`` or, where they are combined, a ``SampledImage``.
    push : bytes
        Push constants.
    wave : int, optional
        Lanes of a subgroup; the shader's own wave size by default.
    check_divergence : bool
        Raise when a value that divergence analysis calls uniform differs between active lanes of a wave.
    """

    #: Instructions that may still be executed.
    budget = BUDGET

    # ------------------------------------------------------------------------------------------------------ workgroups
    def run(self) -> None:
        """Execute every workgroup."""
        for z in range(self.groups[2]):
            for y in range(self.groups[1]):
                for x in range(self.groups[0]):
                    self._workgroup((x, y, z))

    def _workgroup(self, group: tuple[int, int, int]) -> None:
        self.group = group
        lanes = np.arange(self.padded)
        self.hardware_id = np.stack([lanes % self.size[0], lanes // self.size[0] % self.size[1],
                                     lanes // (self.size[0] * self.size[1])]).astype(np.uint32)
        self.local_id = self._dealt_out_ids()
        x, y, z = self.local_id
        self.index = (x + np.uint32(self.size[0]) * (y + np.uint32(self.size[1]) * z)).astype(np.uint32)
        self.lane = (lanes % self.wave).astype(np.uint32)
        self.values: dict[int, Array] = {}
        self.local = np.full((self.padded, self.local_bytes), self.garbage, np.uint8)
        self.shared = np.full(self.shared_bytes, self.garbage, np.uint8)
        self.predecessor = np.zeros(self.padded, np.int64)
        self.breaks: list[Array] = []
        self.continues: list[Array] = []
        self._initialise()
        self._list(self.nodes["first0"][1], lanes < self.lanes)

    def _initialise(self) -> None:
        for row, location in self.locations.items():
            first = self.variables["initializer"][row]
            if first == 0:
                continue
            self._initial_value(self.variables["type"][row], first - 1,
                                self.shared if self.variables["mode"][row] == VariableMode.SHARED else self.local, location)

    def _initial_value(self, type: int, row: int, memory: Array, offset: int) -> int:
        base = self.types["base"][type]
        if base == BaseType.STRUCT:
            first = int(self.shader.types.member_first[type])
            for member in range(int(self.shader.types.member_count[type])):
                row = self._initial_value(int(self.shader.members.type[first + member]), row, memory,
                                          offset + nir_types.offset_of_member(self.shader, type, member))
            return row
        if base in (BaseType.ARRAY, BaseType.MATRIX):
            for element in range(self.types["length"][type]):
                row = self._initial_value(self.types["element"][type], row, memory,
                                          offset + element * nir_types.stride_of(self.shader, type))
            return row
        size = max(4 if self.types["bit_size"][type] == 1 else self.types["bit_size"][type] // 8, 1)
        for component in range(max(1, self.types["components"][type])):
            data = np.frombuffer(int(self.constants[row]).to_bytes(8, "little"), np.uint8)[:size]
            memory[..., offset + component * size : offset + (component + 1) * size] = data
            row += 1
        return row

    # ---------------------------------------------------------------------------------------------------- control flow
    def _list(self, node: int, mask: Array) -> Array:
        """Run a list of nodes; returns the lanes that reach its end."""
        while node and mask.any():
            kind = self.nodes["kind"][node]
            if kind == NodeKind.BLOCK:
                mask = self._block(node, mask)
            elif kind == NodeKind.IF:
                condition = self.values[self.nodes["condition"][node]][0]
                taken = self._list(self.nodes["first0"][node], mask & condition)
                other = self._list(self.nodes["first1"][node], mask & ~condition)
                mask = taken | other
            else:
                mask = self._loop(node, mask)
            node = self.nodes["next"][node]
        return mask

    def _loop(self, node: int, mask: Array) -> Array:
        self.breaks.append(np.zeros_like(mask))
        while True:
            self._spend(1)
            self.continues.append(np.zeros_like(mask))
            mask = self._list(self.nodes["first0"][node], mask)
            mask = mask | self.continues.pop()
            if not mask.any():
                return self.breaks.pop()

    def _spend(self, instructions: int) -> None:
        """Count what is executed; loops may have no end."""
        self.budget -= instructions
        if self.budget < 0:
            raise InputError("the budget of instructions is spent: a loop may have no end (the interpreter's budget=)")

    def _block(self, block: int, mask: Array) -> Array:
        first = self.nodes["order_first"][block]
        instructions = self.order[first : first + self.nodes["order_count"][block]]
        self._spend(len(instructions))
        phis = []
        for instruction in instructions:
            if self.kind[instruction] != NirKind.PHI:
                break
            phis.append((instruction, self._phi(instruction, mask)))
        for instruction, value in phis:
            self._set(instruction, value, mask)
        jumped = mask
        for instruction in instructions[len(phis) :]:
            if self.kind[instruction] == NirKind.JUMP:
                jumped = self._jump(instruction, mask)
            else:
                result = self._execute(instruction, mask)
                if result is not None:
                    self._set(instruction, result, mask)
        self.predecessor[mask] = block
        return jumped

    def _jump(self, instruction: int, mask: Array) -> Array:
        if self.opcode[instruction] == Jump.BREAK:
            self.breaks[-1] |= mask
        elif self.opcode[instruction] == Jump.CONTINUE:
            self.continues[-1] |= mask
        return np.zeros_like(mask)

    def _phi(self, instruction: int, mask: Array) -> Array:
        value = self._zero(instruction)
        if instruction in self.values:
            value = self.values[instruction].copy()
        found = ~mask
        for source, block in zip(self._sources(instruction), self._swizzles(instruction), strict=True):
            lanes = mask & (self.predecessor == block)
            if lanes.any():
                value[:, lanes] = self.values[source][:, lanes]
                found |= lanes
        if not found.all():
            raise InputError(f"phi %{instruction} has no operand for a predecessor")
        return value

    def _set(self, instruction: int, value: Array, mask: Array) -> None:
        old = self.values.get(instruction)
        if self.check_divergence and not self.flags[instruction] & NirFlag.DIVERGENT and self.kind[instruction] not in (
                NirKind.UNDEF, NirKind.DEREF):
            self._require_uniform(instruction, mask, value)
        if value.shape != (self.components[instruction], self.padded):
            raise InputError(f"%{instruction}: a value of shape {value.shape}")
        self.values[instruction] = value if old is None else np.where(mask, value, old)

    # ---------------------------------------------------------------------------------------------------- instructions
    def _execute(self, instruction: int, mask: Array) -> Array | None:
        kind = self.kind[instruction]
        if kind == NirKind.ALU:
            return self._alu(instruction)
        if kind == NirKind.LOAD_CONST:
            value = self._zero(instruction)
            for i in range(len(value)):
                value[i] = self.constants[self.data[instruction] + i]
            return value
        if kind == NirKind.UNDEF:
            return self._zero(instruction)
        if kind == NirKind.DEREF:
            return self._deref(instruction)
        if kind == NirKind.TEX:
            return self._texture(instruction, mask)
        name = INTRINSIC_NAMES[self.opcode[instruction]]
        method = getattr(self, f"_do_{name}", None)
        if method is None:
            raise UnsupportedError(f"the NIR interpreter has no intrinsic {name}")
        sources = [self.values[source] for source in self._sources(instruction)]
        result: Array | None = method(instruction, mask, *sources)
        return result

    def _alu(self, instruction: int) -> Array:
        name = ALU_NAMES[self.opcode[instruction]]
        components = self.components[instruction]
        operands = []
        widths = build.ALU_INPUT_SIZES[name]
        for operand, (source, swizzle) in enumerate(zip(self._sources(instruction), self._swizzles(instruction), strict=True)):
            width = widths[operand] or components
            picked = [swizzle >> (4 * i) & 15 for i in range(width)]
            operands.append(self.values[source][picked])
        if name.startswith(("fddx", "fddy")):
            return self._derivative(name, operands[0])
        found = interpreter_opcodes.evaluate(name, operands)
        return np.repeat(found, components, 0) if len(found) < components else found

    # ------------------------------------------------------------------------------------------ intrinsics: the rest
    def _do_barrier(self, i: int, mask: Array) -> None:
        return None

    def _do_shader_clock(self, i: int, mask: Array) -> Array:
        return self._zero(i)



@checked
def run(shader: Shader, groups: Sequence[int], buffers: Buffers, push: bytes = b"", wave: int | None = None, budget: int = BUDGET) -> None:
    """Execute a dispatch; buffers are written in place.

    Parameters
    ----------
    shader : Shader
        After the reader or after any NIR pass.
    groups : sequence of int
        Workgroups in each dimension.
    buffers : mapping
        ``{(set, binding): array or list of arrays}``; of images an ``Image``, ``Sampler`` or ``SampledImage``, or a list of them.
    push : bytes
        Push constants.
    wave : int, optional
        Lanes of a subgroup.
    budget : int
        Instructions after which the dispatch is given up, each of which all lanes of a workgroup execute at once.

    Raises
    ------
    InputError
        The budget is spent, or the shader does what has no meaning, such as a stray access.
    """
    machine = Interpreter(shader, groups, buffers, push, wave)
    machine.budget = budget
    machine.run()
