"""A NIR interpreter: the judge of NIR passes.

Executes a shader as it stands after the reader (derefs) or after any pass, for whole workgroups. All lanes of a workgroup
run in lockstep under a mask, so barriers need no work; a structured list of nodes is run once for all its lanes. Values
are NumPy arrays of shape (components, lanes). Written for obvious correctness, not for speed.

Memory: buffers, descriptor sets and push constants stand in one 64-bit address space with bounds. Accesses of buffers
past their end read zero and write nothing, as the hardware's range check does; any other stray access raises
``InputError``.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import build
from pyaco._core.nir import types as nir_types
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import interpreter_alu

__all__ = ["Interpreter", "run"]

Array = NDArray[Any]
Buffers = Mapping[tuple[int, int], Any]

UINT = interpreter_alu.UINT
ALU_NAMES = {number: name for name, number in build.ALU.items()}
INTRINSIC_NAMES = {number: name for name, number in build.INTRINSICS.items()}
ALU, DEREF, LOAD_CONST, UNDEF, PHI, INTRINSIC, JUMP = range(1, 8)
BLOCK, IF, LOOP = 2, 3, 4
DIVERGENT = 2
STRUCT, ARRAY, POINTER, MATRIX = 5, 6, 7, 8
FUNCTION_TEMP, SHADER_TEMP, SHARED, UBO, SSBO, PUSH, GLOBAL, SYSTEM, CONSTANT = (1 << i for i in range(9))
LOCAL = FUNCTION_TEMP | SHADER_TEMP
BUFFER = UBO | SSBO
HEAP = 0x1_0000_0000
PUSH_ADDRESS = 0x0800_0000
SET_ADDRESS = 0x1000_0000
TABLE_ADDRESS = 0x0C00_0000
TABLE_OF_SETS = 0x7FFFFFFF                     # detail of the argument that points to a table of sets
MAXIMUM_TRIPS = 1 << 20
ATOMICS = ("iadd", "imin", "umin", "imax", "umax", "iand", "ior", "ixor", "xchg", "fadd", "fmin", "fmax", "cmpxchg")
SYSTEM_VALUES = {
    24: "load_num_workgroups", 25: "load_workgroup_size", 26: "load_workgroup_id", 27: "load_local_invocation_id",
    28: "load_global_invocation_id", 29: "load_local_invocation_index", 36: "load_subgroup_size",
    38: "load_num_subgroups", 40: "load_subgroup_id", 41: "load_subgroup_invocation",
    4416: "load_subgroup_eq_mask", 4417: "load_subgroup_ge_mask", 4418: "load_subgroup_gt_mask",
    4419: "load_subgroup_le_mask", 4420: "load_subgroup_lt_mask",
}


class _Memory:
    """Regions of bytes in one address space."""

    def __init__(self) -> None:
        self.bases: list[int] = []
        self.regions: list[Array] = []

    def add(self, base: int, data: Array) -> None:
        place = bisect.bisect(self.bases, base)
        self.bases.insert(place, base)
        self.regions.insert(place, data)

    def find(self, address: int, size: int) -> tuple[Array, int]:
        place = bisect.bisect(self.bases, address) - 1
        if place < 0 or address + size > self.bases[place] + len(self.regions[place]):
            raise InputError(f"access of {size} bytes at address {address:#x}, where nothing is")
        return self.regions[place], address - self.bases[place]


class Interpreter:
    """One dispatch.

    Parameters
    ----------
    shader : Shader
        At any stage.
    groups : tuple of int
        Workgroups in each dimension.
    buffers : mapping
        ``{(set, binding): array}``, or a list of arrays for a descriptor array. Arrays are written in place.
    push : bytes
        Push constants.
    wave : int, optional
        Lanes of a subgroup; the shader's own wave size by default.
    check_divergence : bool
        Raise when a value that divergence analysis calls uniform differs between active lanes of a wave.
    """

    source_value: list[int]
    source_swizzle: list[int]
    kind: list[int]
    components: list[int]
    bit_size: list[int]
    opcode: list[int]
    data: list[int]
    type: list[int]
    mode: list[int]
    flags: list[int]
    source_first: list[int]
    source_count: list[int]

    def __init__(self, shader: Shader, groups: Sequence[int], buffers: Buffers, push: bytes = b"",
                 wave: int | None = None, check_divergence: bool = False) -> None:
        self.shader = shader
        self.check_divergence = check_divergence
        #: What uninitialised scratch and shared memory holds.
        self.garbage = 0
        self.groups = [*groups, 1, 1, 1][:3]
        self.wave = wave or shader.info["wave_size"] or 64
        if self.wave not in (32, 64):
            raise InputError(f"waves of {self.wave} lanes")
        self.size = [max(1, int(n)) for n in shader.info["workgroup_size"]]
        self.lanes = self.size[0] * self.size[1] * self.size[2]
        self.padded = -(-self.lanes // self.wave) * self.wave
        self.high = (shader.info["address32_hi"] or 0xFFFF8000) << 32
        self._read_tables()
        self.memory = _Memory()
        self.push = np.frombuffer(bytes(push).ljust(256, b"\0") + bytes(64), np.uint8).copy()
        self.memory.add(self.high | PUSH_ADDRESS, self.push)
        self._place_buffers(buffers)
        self._place_variables()

    # --------------------------------------------------------------------------------------------------------- set-up
    def _read_tables(self) -> None:
        s = self.shader
        for column in ("kind", "components", "bit_size", "opcode", "data", "type", "mode", "source_first",
                       "source_count", "flags"):
            setattr(self, column, getattr(s.instructions, column).tolist())
        self.source_value = s.sources.value.tolist()
        self.source_swizzle = s.sources.swizzle.tolist()
        self.constants = s.constants.value.tolist()
        self.indices = s.indices.value.tolist()
        self.order = s.order.instruction.tolist()
        self.nodes = {column: getattr(s.nodes, column).tolist()
                      for column in ("kind", "next", "first0", "first1", "condition", "order_first", "order_count")}
        self.types = {column: getattr(s.types, column).tolist()
                      for column in ("base", "bit_size", "components", "row_major", "element", "length")}
        self.variables = {column: getattr(s.variables, column).tolist()
                          for column in ("mode", "type", "set", "binding", "builtin", "initializer", "flags")}
        self.constant_data = s.constant_data.byte.copy() if len(s.constant_data) else np.zeros(0, np.uint8)

    def _place_buffers(self, buffers: Buffers) -> None:
        """Give every buffer an address, and write descriptor sets by the layout of the ABI, if it is known."""
        self.buffers: dict[tuple[int, int], list[tuple[int, Array]]] = {}
        address = HEAP
        for key, value in buffers.items():
            entries = []
            for array in value if isinstance(value, (list, tuple)) else [value]:
                data = array.reshape(-1).view(np.uint8)
                self.memory.add(address, data)
                entries.append((address, data))
                address = (address + len(data) + 0xFFF) // 0x1000 * 0x1000 + 0x1000
            self.buffers[key] = entries
        self.set_addresses: dict[int, int] = {}
        layouts = self.shader.metadata.get("abi", {}).get("descriptor_sets", {})
        for set_number, layout in layouts.items():
            words = np.zeros(layout["size"] + 16 * 1024, np.uint8)
            for number, facts in layout["bindings"].items():
                if facts["type"] not in ("uniform_buffer", "storage_buffer", "mutable"):
                    if (set_number, number) in self.buffers:
                        raise UnsupportedError(f"the NIR interpreter has no descriptors of type {facts['type']}")
                    continue
                for place, (base, data) in enumerate(self.buffers.get((set_number, number), [])):
                    at = facts["offset"] + place * facts["stride"]
                    descriptor = np.array([base & 0xFFFFFFFF, base >> 32, len(data), 0], np.uint32)
                    words[at : at + 16] = descriptor.view(np.uint8)
            self.set_addresses[set_number] = SET_ADDRESS + 0x100000 * set_number
            self.memory.add(self.high | self.set_addresses[set_number], words)
        table = np.array([self.set_addresses.get(number, 0) for number in range(max(layouts, default=0) + 1)], np.uint32)
        self.memory.add(self.high | TABLE_ADDRESS, table.view(np.uint8))

    def _place_variables(self) -> None:
        """Lay out local and shared variables behind what explicit I/O has laid out already."""
        self.locations: dict[int, int] = {}
        local = self.shader.info["scratch_bytes"]
        shared = self.shader.info["shared_bytes"]
        for row, (mode, type) in enumerate(zip(self.variables["mode"], self.variables["type"], strict=True)):
            if not mode & (LOCAL | SHARED) or not self.variables["flags"][row] & 1:
                continue
            size, _ = nir_types.layout(self.shader, type)
            if mode & LOCAL:
                self.locations[row], local = local, (local + size + 15) // 16 * 16
            else:
                self.locations[row], shared = shared, (shared + size + 15) // 16 * 16
        self.local_bytes, self.shared_bytes = local + 16, shared + 16

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
        self.index = lanes.astype(np.uint32)
        self.local_id = np.stack([lanes % self.size[0], lanes // self.size[0] % self.size[1],
                                  lanes // (self.size[0] * self.size[1])]).astype(np.uint32)
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
                                self.shared if self.variables["mode"][row] == SHARED else self.local, location)

    def _initial_value(self, type: int, row: int, memory: Array, offset: int) -> int:
        base = self.types["base"][type]
        if base == STRUCT:
            first = int(self.shader.types.member_first[type])
            for member in range(int(self.shader.types.member_count[type])):
                row = self._initial_value(int(self.shader.members.type[first + member]), row, memory,
                                          offset + nir_types.offset_of_member(self.shader, type, member))
            return row
        if base in (ARRAY, MATRIX):
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
            if kind == BLOCK:
                mask = self._block(node, mask)
            elif kind == IF:
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
        for _ in range(MAXIMUM_TRIPS):
            self.continues.append(np.zeros_like(mask))
            mask = self._list(self.nodes["first0"][node], mask)
            mask = mask | self.continues.pop()
            if not mask.any():
                return self.breaks.pop()
        raise InputError(f"a loop ran more than {MAXIMUM_TRIPS} times")

    def _block(self, block: int, mask: Array) -> Array:
        first = self.nodes["order_first"][block]
        instructions = self.order[first : first + self.nodes["order_count"][block]]
        phis = []
        for instruction in instructions:
            if self.kind[instruction] != PHI:
                break
            phis.append((instruction, self._phi(instruction, mask)))
        for instruction, value in phis:
            self._set(instruction, value, mask)
        jumped = mask
        for instruction in instructions[len(phis) :]:
            if self.kind[instruction] == JUMP:
                jumped = self._jump(instruction, mask)
            else:
                result = self._execute(instruction, mask)
                if result is not None:
                    self._set(instruction, result, mask)
        self.predecessor[mask] = block
        return jumped

    def _jump(self, instruction: int, mask: Array) -> Array:
        if self.opcode[instruction] == 2:
            self.breaks[-1] |= mask
        elif self.opcode[instruction] == 3:
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

    def _zero(self, instruction: int) -> Array:
        bits = self.bit_size[instruction]
        return np.zeros((self.components[instruction], self.padded), np.bool_ if bits == 1 else UINT[bits])

    def _set(self, instruction: int, value: Array, mask: Array) -> None:
        old = self.values.get(instruction)
        if self.check_divergence and not self.flags[instruction] & DIVERGENT and self.kind[instruction] not in (
                UNDEF, DEREF):
            self._require_uniform(instruction, mask, value)
        if value.shape != (self.components[instruction], self.padded):
            raise InputError(f"%{instruction}: a value of shape {value.shape}")
        self.values[instruction] = value if old is None else np.where(mask, value, old)

    # ---------------------------------------------------------------------------------------------------- instructions
    def _sources(self, instruction: int) -> list[int]:
        first = self.source_first[instruction]
        return self.source_value[first : first + self.source_count[instruction]]

    def _swizzles(self, instruction: int) -> list[int]:
        first = self.source_first[instruction]
        return self.source_swizzle[first : first + self.source_count[instruction]]

    def _index(self, instruction: int, name: str, default: int = 0) -> int:
        opcode = INTRINSIC_NAMES[self.opcode[instruction]]
        names = build.INTRINSIC_INDICES[opcode]
        return self.indices[self.data[instruction] + names.index(name)] if name in names else default

    def _execute(self, instruction: int, mask: Array) -> Array | None:
        kind = self.kind[instruction]
        if kind == ALU:
            return self._alu(instruction)
        if kind == LOAD_CONST:
            value = self._zero(instruction)
            for i in range(len(value)):
                value[i] = self.constants[self.data[instruction] + i]
            return value
        if kind == UNDEF:
            return self._zero(instruction)
        if kind == DEREF:
            return self._deref(instruction)
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
        for place, (source, swizzle) in enumerate(zip(self._sources(instruction), self._swizzles(instruction),
                                                      strict=True)):
            width = widths[place] or components
            rows = [swizzle >> (4 * i) & 15 for i in range(width)]
            operands.append(self.values[source][rows])
        return interpreter_alu.evaluate(name, operands)

    # --------------------------------------------------------------------------------------------------------- pointers
    def _deref(self, instruction: int) -> Array:
        """Pointers: an offset, three words for buffers, a 64-bit address; columns of row-major matrices keep a stride."""
        opcode = self.opcode[instruction]
        sources = self._sources(instruction)
        if opcode == 0:
            return self._variable(instruction)
        parent = self.values[sources[0]]
        if opcode == 5:
            return parent
        parent_type = self.type[sources[0]]
        if opcode == 4:
            return self._advance(instruction, parent,
                                 nir_types.offset_of_member(self.shader, parent_type, self.data[instruction]))
        index = interpreter_alu.signed(self.values[sources[1]][0]).astype(np.int64)
        stride = self._pointer_stride(sources[0]) if opcode == 3 else self._element_stride(sources[0])
        return self._advance(instruction, parent, index * stride)

    def _variable(self, instruction: int) -> Array:
        row = self.data[instruction]
        mode = self.mode[instruction]
        value = self._zero(instruction)
        if mode & (LOCAL | SHARED):
            value[0] = self.locations[row]
        elif mode & BUFFER:
            raise UnsupportedError("a deref of a buffer variable without a descriptor")
        elif mode == SYSTEM:
            value[0] = row
        return value

    def _advance(self, instruction: int, pointer: Array, step: Any) -> Array:
        """Add bytes to the offset that a pointer ends with."""
        out = pointer.copy()
        steps = np.asarray(np.broadcast_to(step, out[-1].shape), np.int64)
        out[-1] = (out[-1].astype(np.int64) + steps).astype(np.uint64).astype(out.dtype)
        return out

    def _component_stride(self, deref: int) -> int:
        """Bytes between the components of the vector that a deref points to."""
        if self.kind[deref] == DEREF and self.opcode[deref] == 1:
            parent = self._sources(deref)[0]
            type = self.type[parent]
            if self.types["base"][type] == MATRIX and self.types["row_major"][type]:
                return nir_types.stride_of(self.shader, type)
        bits = self.types["bit_size"][self.type[deref]]
        if self.types["base"][self.type[deref]] == POINTER:
            return 8
        return 4 if bits == 1 else bits // 8

    def _element_stride(self, parent: int) -> int:
        type = self.type[parent]
        if self.mode[parent] == SYSTEM:
            return 0x10000
        if self.types["base"][type] == MATRIX and self.types["row_major"][type]:
            bits = self.types["bit_size"][self.types["element"][type]]
            return 4 if bits == 1 else bits // 8
        if self.types["base"][type] in (ARRAY, MATRIX):
            return nir_types.stride_of(self.shader, type)
        return self._component_stride(parent)

    def _pointer_stride(self, deref: int) -> int:
        if self.opcode[deref] == 5 and self.data[deref]:
            return self.data[deref]
        if self.opcode[deref] == 3:
            return self._pointer_stride(self._sources(deref)[0])
        if self.opcode[deref] == 1:
            return self._element_stride(self._sources(deref)[0])
        return nir_types.layout(self.shader, self.type[deref])[0]

    def _load_through(self, deref: int, pointer: Array, components: int, bits: int, mask: Array) -> Array:
        mode = self.mode[deref]
        if mode == SYSTEM:
            return self._system_value(pointer, components)
        stored = 32 if bits == 1 else bits
        stride = self._component_stride(deref)
        rows = [self._load_mode(mode, self._shifted(pointer, i * stride), 1, stored, mask)[0]
                for i in range(components)]
        value = np.stack(rows)
        return value != 0 if bits == 1 else value

    def _shifted(self, pointer: Array, step: int) -> Array:
        out = pointer.copy()
        out[-1] = out[-1] + out.dtype.type(step)
        return out

    def _system_value(self, pointer: Array, components: int) -> Array:
        row = int(pointer[0][0]) & 0xFFFF
        name = SYSTEM_VALUES.get(self.variables["builtin"][row])
        if name is None:
            raise UnsupportedError(f"BuiltIn {self.variables['builtin'][row]}")
        value: Array = self._lane_mask(name, 4, 32) if name.endswith("_mask") else getattr(self, f"_do_{name}")(0, None)
        if components == 1 and len(value) > 1:
            part = (pointer[0] >> np.uint32(16)).astype(np.int64)
            return np.asarray(value[part, np.arange(self.padded)][None])
        return value

    def _load_mode(self, mode: int, pointer: Array, components: int, bits: int, mask: Array) -> Array:
        if mode & LOCAL:
            return self._read_rows(self.local, pointer[0].astype(np.int64), components, bits, mask)
        if mode & SHARED:
            return self._read(self.shared, pointer[0].astype(np.int64), components, bits, mask)
        if mode & PUSH:
            return self._read(self.push, pointer[0].astype(np.int64), components, bits, mask)
        if mode & BUFFER:
            return self._load_buffer(pointer, pointer[2], components, bits, mask)
        if mode & GLOBAL:
            return self._load_address(pointer[0], components, bits, mask)
        raise UnsupportedError(f"the NIR interpreter has no loads of mode {mode:#x}")

    # ----------------------------------------------------------------------------------------------------------- memory
    def _read(self, memory: Array, offset: Array, components: int, bits: int, mask: Array) -> Array:
        size = components * bits // 8
        out = np.zeros((self.padded, size), np.uint8)
        lanes = np.flatnonzero(mask)
        if len(lanes) and ((offset[lanes] < 0).any() or (offset[lanes] + size > len(memory)).any()):
            raise InputError(f"an access past the end of {len(memory)} bytes")
        out[lanes] = memory[offset[lanes][:, None] + np.arange(size)]
        return out.view(UINT[bits]).T.copy()

    def _read_rows(self, memory: Array, offset: Array, components: int, bits: int, mask: Array) -> Array:
        size = components * bits // 8
        out = np.zeros((self.padded, size), np.uint8)
        lanes = np.flatnonzero(mask)
        if len(lanes) and (offset[lanes] + size > memory.shape[1]).any():
            raise InputError("an access past the end of scratch")
        out[lanes] = memory[lanes[:, None], offset[lanes][:, None] + np.arange(size)]
        return out.view(UINT[bits]).T.copy()

    def _buffer_of(self, base: Array, lane: int) -> tuple[Array, int]:
        """The bytes that a descriptor or a buffer pointer names in one lane, and its address."""
        if len(base) == 4:
            address = int(base[0][lane]) | (int(base[1][lane]) & 0xFFFF) << 32
            size = int(base[2][lane])
            if size == 0:
                return np.zeros(0, np.uint8), 0
            region, start = self.memory.find(address, size)
            return region[start : start + size], address
        number = int(base[0][lane])
        entries = self.buffers.get((number >> 16, number & 0xFFFF))
        place = int(base[1][lane])
        if entries is None or place >= len(entries):
            raise InputError(f"no buffer is bound to set {number >> 16}, binding {number & 0xFFFF}, element {place}")
        return entries[place][1], entries[place][0]

    def _by_buffer(self, base: Array, mask: Array) -> list[tuple[Array, Array]]:
        """Pairs of a buffer and the lanes that name it."""
        lanes = np.flatnonzero(mask)
        words = 3 if len(base) == 4 else 2
        groups: dict[tuple[int, ...], list[int]] = {}
        for lane in lanes:
            groups.setdefault(tuple(int(base[i][lane]) for i in range(words)), []).append(int(lane))
        return [(self._buffer_of(base, members[0])[0], np.array(members)) for members in groups.values()]

    def _load_buffer(self, base: Array, offset: Array, components: int, bits: int, mask: Array) -> Array:
        size = bits // 8
        out = np.zeros((components, self.padded), UINT[bits])
        for data, lanes in self._by_buffer(base, mask):
            for i in range(components):
                at = offset[lanes].astype(np.int64) + i * size
                inside = at + size <= len(data)
                rows = data[at[inside][:, None] + np.arange(size)]
                out[i, lanes[inside]] = rows.view(UINT[bits])[:, 0] if len(rows) else 0
        return out

    def _store_buffer(self, value: Array, base: Array, offset: Array, write_mask: int, mask: Array) -> None:
        size = value.dtype.itemsize
        for data, lanes in self._by_buffer(base, mask):
            for i in range(len(value)):
                if not write_mask >> i & 1:
                    continue
                for lane in lanes:
                    at = int(offset[lane]) + i * size
                    if at + size <= len(data):
                        data[at : at + size] = value[i, lane : lane + 1].view(np.uint8)

    def _load_address(self, address: Array, components: int, bits: int, mask: Array) -> Array:
        out = np.zeros((components, self.padded), UINT[bits])
        size = components * bits // 8
        for lane in np.flatnonzero(mask):
            region, at = self.memory.find(int(address[lane]), size)
            out[:, lane] = region[at : at + size].copy().view(UINT[bits])
        return out

    def _store_address(self, value: Array, address: Array, write_mask: int, mask: Array) -> None:
        size = value.dtype.itemsize
        for lane in np.flatnonzero(mask):
            for i in range(len(value)):
                if write_mask >> i & 1:
                    region, at = self.memory.find(int(address[lane]) + i * size, size)
                    region[at : at + size] = value[i, lane : lane + 1].view(np.uint8)

    def _store_shared(self, value: Array, offset: Array, write_mask: int, mask: Array) -> None:
        size = value.dtype.itemsize
        for lane in np.flatnonzero(mask):
            for i in range(len(value)):
                if write_mask >> i & 1:
                    at = int(offset[lane]) + i * size
                    if at + size > len(self.shared):
                        raise InputError("a store past the end of shared memory")
                    self.shared[at : at + size] = value[i, lane : lane + 1].view(np.uint8)

    def _store_local(self, value: Array, offset: Array, write_mask: int, mask: Array) -> None:
        size = value.dtype.itemsize
        lanes = np.flatnonzero(mask)
        for i in range(len(value)):
            if write_mask >> i & 1:
                at = offset[lanes].astype(np.int64) + i * size
                if len(at) and (at + size > self.local_bytes).any():
                    raise InputError("a store past the end of scratch")
                rows = value[i, lanes].copy().view(np.uint8).reshape(len(lanes), size)
                self.local[lanes[:, None], at[:, None] + np.arange(size)] = rows

    def _store_through(self, deref: int, pointer: Array, value: Array, write_mask: int, mask: Array) -> None:
        mode = self.mode[deref]
        if value.dtype == np.bool_:
            value = value.astype(np.uint32)
        stride = self._component_stride(deref)
        for i in range(len(value)):
            if not write_mask >> i & 1:
                continue
            part, at = value[i : i + 1], self._shifted(pointer, i * stride)
            if mode & LOCAL:
                self._store_local(part, at[0], 1, mask)
            elif mode & SHARED:
                self._store_shared(part, at[0], 1, mask)
            elif mode & BUFFER:
                self._store_buffer(part, at, at[2], 1, mask)
            elif mode & GLOBAL:
                self._store_address(part, at[0], 1, mask)
            else:
                raise UnsupportedError(f"the NIR interpreter has no stores of mode {mode:#x}")

    def _atomic(self, name: int, memory: Array, at: int, bits: int, operand: Any, second: Any = None) -> int:
        """One atomic; returns the old bits."""
        size = bits // 8
        if at < 0 or at + size > len(memory):
            return 0
        old = memory[at : at + size].copy().view(UINT[bits])
        new = np.array([operand], UINT[bits])
        operation = ATOMICS[name]
        if operation == "cmpxchg":
            result = np.array([second], UINT[bits]) if int(old[0]) == int(operand) else old
        elif operation == "xchg":
            result = new
        else:
            result = interpreter_alu.evaluate(operation, [old[None], new[None]])[0]
        memory[at : at + size] = np.ascontiguousarray(result).view(np.uint8)
        return int(old[0])

    # ------------------------------------------------------------------------------------------ intrinsics: derefs
    def _do_load_deref(self, i: int, mask: Array, pointer: Array) -> Array:
        return self._load_through(self._sources(i)[0], pointer, self.components[i], self.bit_size[i], mask)

    def _do_store_deref(self, i: int, mask: Array, pointer: Array, value: Array) -> None:
        self._store_through(self._sources(i)[0], pointer, value, self._index(i, "write_mask"), mask)

    def _do_copy_deref(self, i: int, mask: Array, target: Array, origin: Array) -> None:
        sources = self._sources(i)
        self._copy(sources[0], target, sources[1], origin, self.type[sources[0]], self.type[sources[1]], mask)

    def _copy(self, target: int, to: Array, origin: int, at: Array, to_type: int, at_type: int, mask: Array) -> None:
        base = self.types["base"][at_type]
        if base == STRUCT:
            members = [(int(self.shader.members.type[int(self.shader.types.member_first[t]) + m]))
                       for t in (to_type, at_type) for m in range(int(self.shader.types.member_count[t]))]
            half = len(members) // 2
            for m in range(half):
                self._copy(target, self._shifted(to, nir_types.offset_of_member(self.shader, to_type, m)), origin,
                           self._shifted(at, nir_types.offset_of_member(self.shader, at_type, m)), members[m],
                           members[half + m], mask)
            return
        if base == ARRAY:
            for n in range(self.types["length"][at_type]):
                self._copy(target, self._shifted(to, n * nir_types.stride_of(self.shader, to_type)), origin,
                           self._shifted(at, n * nir_types.stride_of(self.shader, at_type)),
                           self.types["element"][to_type], self.types["element"][at_type], mask)
            return
        columns = self.types["length"][at_type] if base == MATRIX else 1
        vector = self.types["element"][at_type] if base == MATRIX else at_type
        bits = self.types["bit_size"][vector]
        stored = 32 if bits == 1 else bits
        for column in range(columns):
            for component in range(max(1, self.types["components"][vector])):
                value = self._load_mode(self.mode[origin], self._shifted(
                    at, self._place_in(at_type, column, component)), 1, stored, mask)
                where = self._shifted(to, self._place_in(to_type, column, component))
                self._store_mode(self.mode[target], where, value, mask)

    def _place_in(self, type: int, column: int, component: int) -> int:
        if self.types["base"][type] != MATRIX:
            bits = self.types["bit_size"][type]
            return component * (4 if bits == 1 else bits // 8)
        size = self.types["bit_size"][self.types["element"][type]] // 8
        stride = nir_types.stride_of(self.shader, type)
        if self.types["row_major"][type]:
            return int(component * stride + column * size)
        return int(column * stride + component * size)

    def _store_mode(self, mode: int, pointer: Array, value: Array, mask: Array) -> None:
        if mode & LOCAL:
            self._store_local(value, pointer[0], 1, mask)
        elif mode & SHARED:
            self._store_shared(value, pointer[0], 1, mask)
        elif mode & BUFFER:
            self._store_buffer(value, pointer, pointer[2], 1, mask)
        else:
            self._store_address(value, pointer[0], 1, mask)

    def _do_deref_atomic(self, i: int, mask: Array, pointer: Array, value: Array, second: Array | None = None) -> Array:
        mode = self.mode[self._sources(i)[0]]
        if mode & SHARED:
            return self._shared_atomic(i, mask, pointer[0], value, second)
        if mode & BUFFER:
            return self._buffer_atomic(i, mask, pointer, pointer[2], value, second)
        return self._global_atomic(i, mask, pointer[0], value, second)

    _do_deref_atomic_swap = _do_deref_atomic

    def _shared_atomic(self, i: int, mask: Array, at: Array, value: Array, second: Array | None) -> Array:
        out, operation = self._zero(i), self._index(i, "atomic_op")
        for lane in np.flatnonzero(mask):
            out[0, lane] = self._atomic(operation, self.shared, int(at[lane]), self.bit_size[i], value[0, lane],
                                        None if second is None else second[0, lane])
        return out

    def _buffer_atomic(self, i: int, mask: Array, base: Array, offset: Array, value: Array,
                       second: Array | None) -> Array:
        out, operation = self._zero(i), self._index(i, "atomic_op")
        for lane in np.flatnonzero(mask):
            data, _ = self._buffer_of(base, int(lane))
            out[0, lane] = self._atomic(operation, data, int(offset[lane]), self.bit_size[i], value[0, lane],
                                        None if second is None else second[0, lane])
        return out

    def _global_atomic(self, i: int, mask: Array, address: Array, value: Array, second: Array | None) -> Array:
        out, operation = self._zero(i), self._index(i, "atomic_op")
        for lane in np.flatnonzero(mask):
            region, at = self.memory.find(int(address[lane]), self.bit_size[i] // 8)
            out[0, lane] = self._atomic(operation, region, at, self.bit_size[i], value[0, lane],
                                        None if second is None else second[0, lane])
        return out

    def _do_deref_buffer_array_length(self, i: int, mask: Array, pointer: Array) -> Array:
        deref = self._sources(i)[0]
        type, offset = self.type[deref], pointer[2].astype(np.int64)
        if self.types["base"][type] == STRUCT:
            last = int(self.shader.types.member_count[type]) - 1
            offset = offset + nir_types.offset_of_member(self.shader, type, last)
            type = int(self.shader.members.type[int(self.shader.types.member_first[type]) + last])
        size = self._do_get_ssbo_size(i, mask, pointer)[0].astype(np.int64)
        count = np.maximum(size - offset, 0) // nir_types.stride_of(self.shader, type)
        return np.asarray(count.astype(np.uint32)[None])

    # ------------------------------------------------------------------------------------------ intrinsics: memory
    def _do_vulkan_resource_index(self, i: int, mask: Array, index: Array) -> Array:
        value = self._zero(i)
        value[0] = self._index(i, "desc_set") << 16 | self._index(i, "binding")
        value[1] = index[0]
        return value

    def _do_vulkan_resource_reindex(self, i: int, mask: Array, base: Array, index: Array) -> Array:
        value = base.copy()
        value[1] += index[0].astype(np.uint32)
        return value

    def _do_load_vulkan_descriptor(self, i: int, mask: Array, base: Array) -> Array:
        value = base.copy()
        value[2] = 0
        return value

    def _do_get_ssbo_size(self, i: int, mask: Array, base: Array) -> Array:
        value = np.zeros((1, self.padded), np.uint32)
        for data, lanes in self._by_buffer(base, mask):
            value[0, lanes] = len(data)
        return value

    def _do_load_ubo(self, i: int, mask: Array, base: Array, offset: Array) -> Array:
        return self._load_buffer(base, offset[0], self.components[i], self.bit_size[i], mask)

    _do_load_ssbo = _do_load_ubo

    def _do_store_ssbo(self, i: int, mask: Array, value: Array, base: Array, offset: Array) -> None:
        self._store_buffer(value, base, offset[0], self._index(i, "write_mask"), mask)

    def _do_ssbo_atomic(self, i: int, mask: Array, base: Array, offset: Array, value: Array,
                        second: Array | None = None) -> Array:
        return self._buffer_atomic(i, mask, base, offset[0], value, second)

    _do_ssbo_atomic_swap = _do_ssbo_atomic

    def _based(self, i: int, offset: Array) -> Array:
        return np.asarray(offset[0].astype(np.int64) + self._index(i, "base"))

    def _do_load_push_constant(self, i: int, mask: Array, offset: Array) -> Array:
        return self._read(self.push, self._based(i, offset), self.components[i], self.bit_size[i], mask)

    def _do_load_shared(self, i: int, mask: Array, offset: Array) -> Array:
        at = (self._based(i, offset) & 0xFFFFFFFF).astype(np.int64)
        return self._read(self.shared, at, self.components[i], self.bit_size[i], mask)

    def _do_store_shared(self, i: int, mask: Array, value: Array, offset: Array) -> None:
        at = self._based(i, offset) & 0xFFFFFFFF
        self._store_shared(value, at, self._index(i, "write_mask"), mask)

    def _do_shared_atomic(self, i: int, mask: Array, offset: Array, value: Array,
                          second: Array | None = None) -> Array:
        return self._shared_atomic(i, mask, self._based(i, offset) & 0xFFFFFFFF, value, second)

    _do_shared_atomic_swap = _do_shared_atomic

    def _do_load_scratch(self, i: int, mask: Array, offset: Array) -> Array:
        return self._read_rows(self.local, offset[0].astype(np.int64), self.components[i], self.bit_size[i], mask)

    def _do_store_scratch(self, i: int, mask: Array, value: Array, offset: Array) -> None:
        self._store_local(value, offset[0], self._index(i, "write_mask"), mask)

    def _do_load_constant(self, i: int, mask: Array, offset: Array) -> Array:
        return self._read(self.constant_data, self._based(i, offset), self.components[i], self.bit_size[i], mask)

    def _address(self, i: int, base: Array, offset: Array) -> Array:
        constant = np.uint64(self._index(i, "base") & 0xFFFFFFFFFFFFFFFF)
        return np.asarray(base[0] + offset[0].astype(np.uint64) + constant)

    def _do_load_global(self, i: int, mask: Array, address: Array) -> Array:
        return self._load_address(address[0], self.components[i], self.bit_size[i], mask)

    _do_load_global_constant = _do_load_global

    def _do_store_global(self, i: int, mask: Array, value: Array, address: Array) -> None:
        self._store_address(value, address[0], self._index(i, "write_mask"), mask)

    def _do_load_global_amd(self, i: int, mask: Array, base: Array, offset: Array) -> Array:
        return self._load_address(self._address(i, base, offset), self.components[i], self.bit_size[i], mask)

    def _do_store_global_amd(self, i: int, mask: Array, value: Array, base: Array, offset: Array) -> None:
        self._store_address(value, self._address(i, base, offset), self._index(i, "write_mask"), mask)

    def _do_global_atomic_amd(self, i: int, mask: Array, base: Array, value: Array, offset: Array) -> Array:
        return self._global_atomic(i, mask, self._address(i, base, offset), value, None)

    def _do_global_atomic_swap_amd(self, i: int, mask: Array, base: Array, compare: Array, value: Array,
                                   offset: Array) -> Array:
        return self._global_atomic(i, mask, self._address(i, base, offset), compare, value)

    def _do_load_smem_amd(self, i: int, mask: Array, base: Array, offset: Array) -> Array:
        self._require_uniform(i, mask, base)
        self._require_uniform(i, mask, offset)
        return self._load_address(base[0] + offset[0].astype(np.uint64), self.components[i], self.bit_size[i], mask)

    def _require_uniform(self, i: int, mask: Array, value: Array) -> None:
        for row in value.reshape(len(value), -1, self.wave):
            for lanes, active in zip(row, mask.reshape(-1, self.wave), strict=True):
                if active.any() and (lanes[active] != lanes[active][0]).any():
                    raise InputError(f"%{i}: a value that must be uniform differs between lanes")

    # ------------------------------------------------------------------------------------------ intrinsics: inputs
    def _do_load_scalar_arg_amd(self, i: int, mask: Array) -> Array:
        row = self._index(i, "base")
        kind = int(self.shader.arguments.kind[row])
        detail = int(self.shader.arguments.detail[row])
        value = self._zero(i)
        if kind == 1:
            value[0] = TABLE_ADDRESS if detail == TABLE_OF_SETS else self.set_addresses[detail]
        elif kind == 2:
            value[0] = PUSH_ADDRESS
        elif kind == 7:
            value[0] = self.push[4 * detail : 4 * detail + 4].view(np.uint32)[0]
        elif kind == 3:
            value[:] = np.array(self.groups, np.uint32)[:, None]
        elif kind == 4:
            packed = self.shader.info["gfx_level"] >= 120 and detail > 0
            value[0] = self.group[1] | self.group[2] << 16 if packed else self.group[detail]
        else:
            raise UnsupportedError(f"the NIR interpreter has no argument of kind {kind}")
        return value

    def _do_load_vector_arg_amd(self, i: int, mask: Array) -> Array:
        row = self._index(i, "base")
        if int(self.shader.arguments.detail[row]) & 1:
            x, y, z = self.local_id
            return np.asarray((x | y << np.uint32(10) | z << np.uint32(20))[None])
        return self.local_id[: self.components[i]].copy()

    def _same(self, values: Sequence[int]) -> Array:
        return np.repeat(np.array(values, np.uint32)[:, None], self.padded, 1)

    def _do_load_workgroup_id(self, i: int, mask: Any) -> Array:
        return self._same(self.group)

    def _do_load_base_workgroup_id(self, i: int, mask: Any) -> Array:
        return self._same((0, 0, 0))

    def _do_load_num_workgroups(self, i: int, mask: Any) -> Array:
        return self._same(self.groups)

    def _do_load_workgroup_size(self, i: int, mask: Any) -> Array:
        return self._same(self.size)

    def _do_load_local_invocation_id(self, i: int, mask: Any) -> Array:
        return self.local_id.copy()

    def _do_load_local_invocation_index(self, i: int, mask: Any) -> Array:
        return self.index[None].copy()

    def _do_load_global_invocation_id(self, i: int, mask: Any) -> Array:
        return self._same(self.group) * self._same(self.size) + self.local_id

    def _do_load_subgroup_id(self, i: int, mask: Any) -> Array:
        return (self.index // np.uint32(self.wave))[None]

    def _do_load_num_subgroups(self, i: int, mask: Any) -> Array:
        return self._same([self.padded // self.wave])

    def _do_load_subgroup_size(self, i: int, mask: Any) -> Array:
        return self._same([self.wave])

    def _do_load_subgroup_invocation(self, i: int, mask: Any) -> Array:
        return self.lane[None].copy()

    def _lane_mask(self, name: str, components: int, bits: int) -> Array:
        kind = name.split("_")[2]
        full = (1 << self.wave) - 1
        masks = []
        for lane in self.lane.tolist():
            one = 1 << lane
            masks.append({"eq": one, "lt": one - 1, "le": one * 2 - 1, "gt": full & ~(one * 2 - 1),
                          "ge": full & ~(one - 1)}[kind])
        word = (1 << bits) - 1
        return np.array([[m >> (bits * i) & word for m in masks] for i in range(components)], UINT[bits])

    def _do_mask(self, i: int, mask: Any) -> Array:
        return self._lane_mask(INTRINSIC_NAMES[self.opcode[i]], self.components[i], self.bit_size[i])

    _do_load_subgroup_eq_mask = _do_load_subgroup_ge_mask = _do_load_subgroup_gt_mask = _do_mask
    _do_load_subgroup_le_mask = _do_load_subgroup_lt_mask = _do_mask

    # --------------------------------------------------------------------------------------- intrinsics: subgroups
    def _waves(self, mask: Array) -> list[tuple[Array, Array]]:
        """Pairs per subgroup: all its lanes, and those that are active."""
        all_lanes = np.arange(self.padded).reshape(-1, self.wave)
        return [(lanes, lanes[mask[lanes]]) for lanes in all_lanes]

    def _do_barrier(self, i: int, mask: Array) -> None:
        return None

    def _ballot_words(self, i: int, per_lane: Array) -> Array:
        """An integer per lane, spread over the components of a result."""
        bits = self.bit_size[i]
        word = (1 << bits) - 1
        rows = [[int(v) >> (bits * c) & word for v in per_lane] for c in range(self.components[i])]
        return np.array(rows, dtype=object).astype(UINT[bits])

    def _do_ballot(self, i: int, mask: Array, value: Array) -> Array:
        out = np.zeros(self.padded, object)
        for lanes, active in self._waves(mask):
            out[lanes] = sum(1 << int(lane % self.wave) for lane in active if value[0, lane])
        return self._ballot_words(i, out)

    def _mask_of(self, value: Array, lane: int) -> int:
        """The integer that a ballot's components hold in one lane."""
        bits = interpreter_alu.bits_of(value)
        return sum(int(value[c, lane]) << (bits * c) for c in range(len(value))) & ((1 << self.wave) - 1)

    def _per_lane(self, i: int, function: Any) -> Array:
        value = self._zero(i)
        value[0] = [function(lane) for lane in range(self.padded)]
        return value

    def _do_inverse_ballot(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: bool(self._mask_of(value, n) >> int(self.lane[n]) & 1))

    def _do_ballot_bitfield_extract(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._per_lane(i, lambda n: bool(self._mask_of(value, n) >> int(index[0, n]) & 1))

    def _do_ballot_bit_count_reduce(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: self._mask_of(value, n).bit_count())

    def _do_ballot_bit_count_inclusive(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: (self._mask_of(value, n) & ((2 << int(self.lane[n])) - 1)).bit_count())

    def _do_ballot_bit_count_exclusive(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: (self._mask_of(value, n) & ((1 << int(self.lane[n])) - 1)).bit_count())

    def _do_ballot_find_lsb(self, i: int, mask: Array, value: Array) -> Array:
        def lowest(n: int) -> int:
            m = self._mask_of(value, n)
            return ((m & -m).bit_length() - 1) & 0xFFFFFFFF

        return self._per_lane(i, lowest)

    def _do_ballot_find_msb(self, i: int, mask: Array, value: Array) -> Array:
        return self._per_lane(i, lambda n: (self._mask_of(value, n).bit_length() - 1) & 0xFFFFFFFF)

    def _broadcast(self, i: int, mask: Array, function: Any) -> Array:
        """`function(active lanes)` for every subgroup, the same in all its lanes."""
        out = self._zero(i)
        for lanes, active in self._waves(mask):
            if len(active):
                out[:, lanes] = np.asarray(function(active)).reshape(-1, 1)
        return out

    def _do_elect(self, i: int, mask: Array) -> Array:
        out = self._zero(i)
        for _, active in self._waves(mask):
            out[0, active[:1]] = True
        return out

    def _do_first_invocation(self, i: int, mask: Array) -> Array:
        return self._broadcast(i, mask, lambda active: active[0] % self.wave)

    def _do_last_invocation(self, i: int, mask: Array) -> Array:
        return self._broadcast(i, mask, lambda active: active[-1] % self.wave)

    def _do_vote_any(self, i: int, mask: Array, value: Array) -> Array:
        return self._broadcast(i, mask, lambda active: value[0, active].any())

    def _do_vote_all(self, i: int, mask: Array, value: Array) -> Array:
        return self._broadcast(i, mask, lambda active: value[0, active].all())

    def _do_vote_ieq(self, i: int, mask: Array, value: Array) -> Array:
        return self._broadcast(i, mask, lambda active: (value[:, active] == value[:, active[:1]]).all())

    def _do_vote_feq(self, i: int, mask: Array, value: Array) -> Array:
        number = interpreter_alu.floating(value)
        return self._broadcast(i, mask, lambda active: (number[:, active] == number[:, active[:1]]).all())

    def _do_read_first_invocation(self, i: int, mask: Array, value: Array) -> Array:
        return self._broadcast(i, mask, lambda active: value[:, active[0]])

    def _do_as_uniform(self, i: int, mask: Array, value: Array) -> Array:
        self._require_uniform(i, mask, value)
        return value.copy()

    def _do_read_invocation(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        start = np.arange(self.padded) // self.wave * self.wave
        return value[:, start + index[0].astype(np.int64) % self.wave]

    def _do_shuffle(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._do_read_invocation(i, mask, value, index)

    def _moved(self, value: Array, lane: Array) -> Array:
        start = np.arange(self.padded) // self.wave * self.wave
        return value[:, start + lane.astype(np.int64) % self.wave]

    def _do_shuffle_xor(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._moved(value, self.lane ^ index[0].astype(np.uint32))

    def _do_shuffle_up(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._moved(value, self.lane - index[0].astype(np.uint32))

    def _do_shuffle_down(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._moved(value, self.lane + index[0].astype(np.uint32))

    def _do_rotate(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        cluster = self._index(i, "cluster_size") or self.wave
        within = (self.lane + index[0].astype(np.uint32)) % np.uint32(cluster)
        return self._moved(value, self.lane // np.uint32(cluster) * np.uint32(cluster) + within)

    def _do_write_invocation_amd(self, i: int, mask: Array, value: Array, other: Array, index: Array) -> Array:
        return np.where(self.lane == index[0], other, value)

    def _reduced(self, i: int, value: Array, lanes: Array) -> Array:
        name = ALU_NAMES[self._index(i, "reduction_op")]
        total = value[:, lanes[0] : lanes[0] + 1]
        for lane in lanes[1:]:
            total = interpreter_alu.evaluate(name, [total, value[:, lane : lane + 1]])
        return total

    def _do_reduce(self, i: int, mask: Array, value: Array) -> Array:
        out = self._zero(i)
        cluster = self._index(i, "cluster_size") or self.wave
        for lanes in np.arange(self.padded).reshape(-1, min(cluster, self.wave)):
            active = lanes[mask[lanes]]
            if len(active):
                out[:, lanes] = self._reduced(i, value, active)
        return out

    def _scan(self, i: int, mask: Array, value: Array, inclusive: bool) -> Array:
        out = self._zero(i)
        for _, active in self._waves(mask):
            for place, lane in enumerate(active):
                before = active[: place + inclusive]
                if len(before):
                    out[:, lane : lane + 1] = self._reduced(i, value, before)
                else:
                    out[:, lane] = self._identity(i)
        return out

    def _identity(self, i: int) -> int:
        name, bits = ALU_NAMES[self._index(i, "reduction_op")], self.bit_size[i]
        ones = (1 << bits) - 1
        if name in ("fmul", "fmin", "fmax"):
            number = {"fmul": 1.0, "fmin": np.inf, "fmax": -np.inf}[name]
            return int(np.array([number], interpreter_alu.FLOAT[bits]).view(UINT[bits])[0])
        return {"imul": 1, "imin": ones >> 1, "umin": ones, "imax": 1 << (bits - 1), "iand": ones}.get(name, 0)

    def _do_inclusive_scan(self, i: int, mask: Array, value: Array) -> Array:
        return self._scan(i, mask, value, True)

    def _do_exclusive_scan(self, i: int, mask: Array, value: Array) -> Array:
        return self._scan(i, mask, value, False)

    def _do_quad_broadcast(self, i: int, mask: Array, value: Array, index: Array) -> Array:
        return self._moved(value, (self.lane & ~np.uint32(3)) + index[0].astype(np.uint32))

    def _do_quad_swap_horizontal(self, i: int, mask: Array, value: Array) -> Array:
        return self._moved(value, self.lane ^ np.uint32(1))

    def _do_quad_swap_vertical(self, i: int, mask: Array, value: Array) -> Array:
        return self._moved(value, self.lane ^ np.uint32(2))

    def _do_quad_swap_diagonal(self, i: int, mask: Array, value: Array) -> Array:
        return self._moved(value, self.lane ^ np.uint32(3))

    def _do_quad_swizzle_amd(self, i: int, mask: Array, value: Array) -> Array:
        pattern = self._index(i, "swizzle_mask")
        picked = np.array([pattern >> (2 * k) & 3 for k in range(4)], np.uint32)
        return self._moved(value, (self.lane & ~np.uint32(3)) + picked[self.lane & np.uint32(3)])

    def _do_masked_swizzle_amd(self, i: int, mask: Array, value: Array) -> Array:
        pattern = self._index(i, "swizzle_mask")
        and_mask, or_mask, xor_mask = (np.uint32(pattern >> (5 * k) & 31) for k in range(3))
        within = ((self.lane & np.uint32(31) & and_mask) | or_mask) ^ xor_mask
        return self._moved(value, (self.lane & ~np.uint32(31)) + within)

    def _do_mbcnt_amd(self, i: int, mask: Array, value: Array, add: Array) -> Array:
        below = self._per_lane(i, lambda n: (self._mask_of(value, n) & ((1 << int(self.lane[n])) - 1)).bit_count())
        return below + add

    def _do_shader_clock(self, i: int, mask: Array) -> Array:
        return self._zero(i)


@checked
def run(shader: Shader, groups: Sequence[int], buffers: Buffers, push: bytes = b"", wave: int | None = None) -> None:
    """Execute a dispatch; buffers are written in place.

    Parameters
    ----------
    shader : Shader
        After the reader or after any NIR pass.
    groups : sequence of int
        Workgroups in each dimension.
    buffers : mapping
        ``{(set, binding): array or list of arrays}``.
    push : bytes
        Push constants.
    wave : int, optional
        Lanes of a subgroup.
    """
    Interpreter(shader, groups, buffers, push, wave).run()
