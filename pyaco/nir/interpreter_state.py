"""The state of the NIR interpreter: the shader's tables, memory, buffers, the lanes of a workgroup."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import VariableMode
from pyaco._core.nir import build
from pyaco._core.nir import types as nir_types
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import interpreter_alu

Array = NDArray[Any]
Buffers = Mapping[tuple[int, int], Any]

UINT = interpreter_alu.UINT
INTRINSIC_NAMES = {number: name for name, number in build.INTRINSICS.items()}
#: Modes of memory that each lane has for itself, and of buffers with descriptors.
LOCAL = VariableMode.FUNCTION_TEMP | VariableMode.SHADER_TEMP
BUFFER = VariableMode.UBO | VariableMode.SSBO
HEAP = 0x1_0000_0000
PUSH_ADDRESS = 0x0800_0000
SET_ADDRESS = 0x1000_0000
TABLE_ADDRESS = 0x0C00_0000


class AddressSpace:
    """Regions of bytes in one address space."""

    def __init__(self) -> None:
        self.bases: list[int] = []
        self.regions: list[Array] = []

    def add(self, base: int, data: Array) -> None:
        position = bisect.bisect(self.bases, base)
        self.bases.insert(position, base)
        self.regions.insert(position, data)

    def find(self, address: int, size: int) -> tuple[Array, int]:
        position = bisect.bisect(self.bases, address) - 1
        if position < 0 or address + size > self.bases[position] + len(self.regions[position]):
            raise InputError(f"an access of {size} bytes at address {address:#x}, where no memory is mapped")
        return self.regions[position], address - self.bases[position]


class InterpreterState:
    """Tables, memory and lanes, and the functions that all instructions need."""

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

    values: dict[int, Array]
    #: Workgroup that runs; of each lane: index and ids in the workgroup, number in its subgroup.
    group: tuple[int, int, int]
    index: Array
    local_id: Array
    #: Local ids in the order in which the hardware numbers lanes.
    hardware_id: Array
    lane: Array
    #: Scratch by lane, and shared memory.
    local: Array
    shared: Array

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
        self.memory = AddressSpace()
        self.push = np.frombuffer(bytes(push).ljust(256, b"\0") + bytes(64), np.uint8).copy()
        self.memory.add(self.high | PUSH_ADDRESS, self.push)
        self._lay_out_buffers(buffers)
        self._lay_out_variables()

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

    def _lay_out_buffers(self, buffers: Buffers) -> None:
        """Give every buffer an address, and write descriptor sets by the layout of the ABI, if it is known."""
        self.buffers: dict[tuple[int, int], list[tuple[int, Array]]] = {}
        self.images: dict[tuple[int, int], list[Any]] = {}
        self.numbered: list[Any] = []
        address = HEAP
        for key, value in buffers.items():
            entries = []
            every = value if isinstance(value, (list, tuple)) else [value]
            if not any(isinstance(one, np.ndarray) for one in every):
                self.images[key] = list(every)
                continue
            for array in every:
                data = array.reshape(-1).view(np.uint8)
                self.memory.add(address, data)
                entries.append((address, data))
                address = (address + len(data) + 0xFFF) // 0x1000 * 0x1000 + 0x1000
            self.buffers[key] = entries
        self._name_samplers()
        self.set_addresses: dict[int, int] = {}
        layouts = self.shader.metadata.get("abi", {}).get("descriptor_sets", {})
        for set_number, layout in layouts.items():
            words = np.zeros(layout["size"] + 16 * 1024, np.uint8)
            for number, facts in layout["bindings"].items():
                for element, descriptor in enumerate(self._descriptors(facts, (set_number, number))):
                    for place, dwords in descriptor:
                        at = facts["offset"] + element * facts["stride"] + place
                        words[at : at + 4 * len(dwords)] = np.array(dwords, np.uint32).view(np.uint8)
            self.set_addresses[set_number] = SET_ADDRESS + 0x100000 * set_number
            self.memory.add(self.high | self.set_addresses[set_number], words)
        table = np.array([self.set_addresses.get(number, 0) for number in range(max(layouts, default=0) + 1)], np.uint32)
        self.memory.add(self.high | TABLE_ADDRESS, table.view(np.uint8))

    def _descriptors(self, facts: dict[str, Any], key: tuple[int, int]) -> list[list[tuple[int, list[int]]]]:
        """The descriptors of a binding: of each element pieces of it, byte offset and dwords."""
        if key in self.images:
            return [self._image_words_of(facts, resource) for resource in self.images[key]]
        if key in self.buffers and facts["type"] not in ("uniform_buffer", "storage_buffer", "mutable"):
            raise UnsupportedError(f"the NIR interpreter has no descriptors of type {facts['type']}")
        return [[(0, [base & 0xFFFFFFFF, base >> 32, len(data), 0])] for base, data in self.buffers.get(key, [])]

    def _name_samplers(self) -> None:
        """Make samplers known by their descriptors."""
        raise NotImplementedError

    def _image_words_of(self, facts: dict[str, Any], resource: Any) -> list[tuple[int, list[int]]]:
        """Pieces of the descriptor of an image, a sampler or both."""
        raise NotImplementedError

    def _lay_out_variables(self) -> None:
        """Lay out local and shared variables after those that lower_explicit_io has laid out."""
        self.locations: dict[int, int] = {}
        local = self.shader.info["scratch_bytes"]
        shared = self.shader.info["shared_bytes"]
        for row, (mode, type) in enumerate(zip(self.variables["mode"], self.variables["type"], strict=True)):
            if not mode & (LOCAL | VariableMode.SHARED) or not self.variables["flags"][row] & 1:
                continue
            size, _ = nir_types.layout(self.shader, type)
            if mode & LOCAL:
                self.locations[row], local = local, (local + size + 15) // 16 * 16
            else:
                self.locations[row], shared = shared, (shared + size + 15) // 16 * 16
        self.local_bytes, self.shared_bytes = local + 16, shared + 16

    # ------------------------------------------------------------------------------------------------- of instructions
    def _zero(self, instruction: int) -> Array:
        bits = self.bit_size[instruction]
        return np.zeros((self.components[instruction], self.padded), np.bool_ if bits == 1 else UINT[bits])

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

    def _require_uniform(self, i: int, mask: Array, value: Array) -> None:
        for component in value.reshape(len(value), -1, self.wave):
            for lanes, active in zip(component, mask.reshape(-1, self.wave), strict=True):
                if active.any() and (lanes[active] != lanes[active][0]).any():
                    raise InputError(f"%{i}: a value that must be uniform differs between lanes")
