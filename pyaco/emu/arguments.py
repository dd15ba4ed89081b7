"""A shader's arguments in device memory: code, descriptor sets and push constants, and the user SGPRs that lead to them.

As in Vulkan, what is bound may be more than the shader uses: bindings that it does not have and push constants beyond its block are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy

from pyaco.abi import Abi, BindingLayout
from pyaco.descriptors.layout import MAX_PUSH_BYTES, MAX_SETS
from pyaco.descriptors.sets import DescriptorSet
from pyaco.descriptors.types import PLANES, DescriptorType, contents
from pyaco.emu.buffers import Buffer, BufferPlace, Buffers, Element, descriptor_parts, elements_of
from pyaco.emu.launch import Extent
from pyaco.emu.origins import Origin
from pyaco.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = ["Arguments", "LowMemory", "Shader", "padded_code"]

_ADDRESS32_HI = 0xFFFF8000
_MAX_BINDING = (1 << 32) - 1
_DESCRIPTOR_BYTES = 16
#: What a set is given: its contents, or where in memory it stands.
Sets = Mapping[int, DescriptorSet | BufferPlace]
# What messages call a dispatch's own memory.
_CODE, _SET, _TABLE, _PUSH = map(Origin, ("shader's code and constant data", "descriptor set", "table of descriptor sets", "push constants"))
_SCRATCH = Origin("scratch memory")
# Command streams count scratch of a wave in 1024 bytes: of a lane in 16.
_SCRATCH_GRANULE = 16
# Word 1 of a buffer descriptor, GFX6 to GFX9.
_SWIZZLE_ENABLE = 1 << 31


class Shader(Protocol):
    """What ``Device.dispatch`` needs of a compiled shader."""

    @property
    def code(self) -> bytes:
        """The machine code."""
        ...

    @property
    def constant_data(self) -> bytes:
        """What follows the code, which is padded to 64 bytes."""
        ...

    @property
    def abi(self) -> Abi | Mapping[str, Any] | None:
        """How arguments reach registers, as a record or as the plain data that it stands for."""
        ...


class LowMemory:
    """Short-lived allocations in the 32-bit region."""

    def __init__(self, space: AddressSpace) -> None:
        self._space = space
        self._addresses: list[int] = []

    def allocate(self, data: bytes, alignment: int, origin: Origin | None = None) -> int:
        """Copy `data` into memory and return its address."""
        # in blocks of 64 bytes, because compilers load a few dwords more than they use
        padded = bytearray(data.ljust(-(-max(len(data), 1) // 64) * 64, b"\0"))
        address: int = self._space.map(padded, True, alignment, origin)
        self._addresses.append(address)
        return address

    def release(self) -> None:
        """Free the allocations."""
        for address in self._addresses:
            self._space.release(address)


class Arguments:
    """A shader and its arguments in device memory.

    Attributes
    ----------
    entry : int
        Address of the code.
    code_bytes : int
    groups : tuple of int
        Workgroups in x, y, z.
    abi : Abi
        Of the shader.
    user_sgprs : list of int
        What s0, s1 ... hold.
    unused_bindings : tuple of (int, int)
        Set and binding of what was given and the shader does not have.
    scratch : tuple of int
        Address and bytes of device memory for scratch; zeros where it needs none.
    scratch_slots : int
        Workgroups that may run at once in it.
    """

    def __init__(
        self, space: AddressSpace, gfx_level: int, shader: Shader, groups: Extent, buffers: Buffers, push: bytes,
        sets: Sets, dynamic_offsets: Sequence[int],
    ) -> None:  # fmt: skip
        self.groups = groups
        self.code_bytes = len(shader.code)
        self.scratch, self.scratch_slots = (0, 0), 0
        self._memory = LowMemory(space)
        try:
            self.entry = self._memory.allocate(padded_code(shader.code, shader.constant_data), 256, _CODE)
            self.abi = Abi.of(shader.abi)
            given = _Given(self.abi, buffers, push, sets, dynamic_offsets, gfx_level)
            self.unused_bindings = given.unused_bindings
            self.user_sgprs = _user_sgprs(given, self._memory, groups)
        except BaseException:
            self._memory.release()
            raise

    def place_scratch(self, waves: int, slots: int) -> None:
        """Make memory for the scratch of so many workgroups at once, of so many waves, on levels where it is a buffer."""
        lane_bytes = -(-self.abi.scratch_bytes_per_lane // _SCRATCH_GRANULE) * _SCRATCH_GRANULE
        size = lane_bytes * self.abi.wave_size * waves * slots
        address = self._memory.allocate(bytes(size), 256, _SCRATCH)
        self.scratch, self.scratch_slots = (address, size), slots
        for argument in self.abi.user_sgprs:
            if argument.kind == "scratch_address":
                self.user_sgprs[argument.first : argument.first + 2] = [address & 0xFFFFFFFF, (address >> 32 & 0xFFFF) | _SWIZZLE_ENABLE]

    def release(self) -> None:
        """Free the memory."""
        self._memory.release()


class _Given:
    """What a dispatch is given, checked against the shader's ABI, and as bytes of memory."""

    def __init__(self, abi: Abi, buffers: Buffers, push: bytes, sets: Sets, dynamic_offsets: Sequence[int],
                 gfx_level: int) -> None:  # fmt: skip
        if abi.address32_hi != _ADDRESS32_HI:
            raise UnsupportedError(f"32-bit addresses with high half {abi.address32_hi:#x}")
        if len(push) > MAX_PUSH_BYTES:
            raise InputError(f"{len(push)} bytes of push constants: a pipeline has up to {MAX_PUSH_BYTES}")
        self.abi, self.buffers, self.gfx_level = abi, buffers, gfx_level
        self.sets = sets
        self.unused_bindings = tuple(key for key in buffers if self._is_unused(*key))
        for number, given in sets.items():
            if not 0 <= number < MAX_SETS:
                raise InputError(f"descriptor set {number}: a pipeline has the sets 0 to {MAX_SETS - 1}")
            if isinstance(given, DescriptorSet):
                self._check_set(number, given)
        self.push = push[: abi.push_constant_bytes].ljust(abi.push_constant_bytes, b"\0")
        self.block = self._push_block(dynamic_offsets)

    def _is_unused(self, number: int, binding: int) -> bool:
        if number in self.abi.descriptor_sets and binding in self.abi.descriptor_sets[number].bindings:
            return False
        if not (0 <= number < MAX_SETS and 0 <= binding <= _MAX_BINDING):
            raise InputError(f"binding {binding} of descriptor set {number}: a pipeline has the sets 0 to {MAX_SETS - 1}, bindings have 32 bits")
        return self.buffers[number, binding] is not None

    def _check_set(self, number: int, given: DescriptorSet) -> None:
        wanted = self.abi.descriptor_sets[number].bindings if number in self.abi.descriptor_sets else {}
        for binding, bound in wanted.items():
            placed = given.layout.bindings.get(binding)
            if placed is None or bound.type != placed.binding.type.value or (
                    placed.dynamic is None and (bound.offset, bound.stride) != (placed.offset, placed.stride)):
                raise InputError(f"descriptor set {number}: binding {binding} is laid out otherwise than the shader was compiled for")

    def _elements(self, number: int, binding: int, bound: BindingLayout) -> Sequence[Element]:
        """What is bound to a binding."""
        given = self.buffers.get((number, binding))
        if isinstance(given, bytes):
            raise InputError(f"bytes for binding {binding} of set {number}, which is no inline uniform block")
        elements = elements_of(given)
        if bound.count and len(elements) > bound.count:
            raise InputError(f"{len(elements)} buffers for binding {binding} of set {number}, which has {bound.count} elements")
        return elements

    def _push_block(self, dynamic_offsets: Sequence[int]) -> bytes:
        """Push constants, and behind them the descriptors of dynamic buffers."""
        dynamic = self.abi.dynamic_buffers
        if dynamic is None and not dynamic_offsets:
            return self.push
        count = self.abi.dynamic_count
        if len(dynamic_offsets) > count:
            raise InputError(f"{len(dynamic_offsets)} dynamic offsets: the pipeline has {count} dynamic buffers")
        if dynamic is None:
            return self.push
        block = bytearray(max(len(self.push), dynamic.offset + _DESCRIPTOR_BYTES * count))
        block[: len(self.push)] = self.push
        moves = [*dynamic_offsets, *[0] * (count - len(dynamic_offsets))]
        for number, layout in self.abi.descriptor_sets.items():
            for binding, bound in layout.bindings.items():
                if bound.type.endswith("_dynamic"):
                    first = (bound.offset - dynamic.offset) // _DESCRIPTOR_BYTES
                    for element, buffer in enumerate(self._elements(number, binding, bound)):
                        at = bound.offset + _DESCRIPTOR_BYTES * element
                        self._put(block, at, bound, buffer, moves[first + element])
        return bytes(block)

    def descriptor_set(self, number: int, low: LowMemory) -> int:
        """The low half of a set's address; it is put into `low` unless it stands in a descriptor buffer."""
        given = self.sets.get(number)
        if given is None or isinstance(given, DescriptorSet):
            return low.allocate(self._set_bytes(number, given), 64, _SET) & 0xFFFFFFFF
        buffer, offset = (given, 0) if isinstance(given, Buffer) else (given.buffer, given.offset)
        if buffer.address >> 32 != _ADDRESS32_HI:
            raise InputError(f"descriptor set {number}: the buffer is not one of Device.descriptor_buffer, whose addresses shaders can name")
        if offset % 4 or not 0 <= offset < buffer.size:
            raise InputError(f"descriptor set {number}: offset {offset} in a buffer of {buffer.size} bytes; sets begin at multiples of 4")
        return buffer.address + offset & 0xFFFFFFFF

    def _set_bytes(self, number: int, given: DescriptorSet | None) -> bytes:
        """One set as it stands in memory."""
        if given is not None:
            return bytes(given.memory)
        layout = self.abi.descriptor_sets[number]
        block = bytearray(layout.size)
        for binding, bound in layout.bindings.items():
            if bound.type.endswith("_dynamic"):
                continue
            if bound.type == "inline_uniform_block":
                data = self._inline_block(number, binding, bound)
                block[bound.offset : bound.offset + len(data)] = data
                continue
            elements = self._elements(number, binding, bound)
            block.extend(bytes(max(0, bound.offset + bound.stride * len(elements) - len(block))))
            for number_of_element, element in enumerate(elements):
                self._put(block, bound.offset + bound.stride * number_of_element, bound, element)
        return bytes(block)

    def _put(self, block: bytearray, at: int, bound: BindingLayout, element: Element, moved: int = 0) -> None:
        """Write an element's descriptors where its type has them."""
        places = descriptor_places(bound.type)
        for kind, words in descriptor_parts(element, self.gfx_level, moved).items():
            if kind not in places:
                raise InputError(f"a descriptor of kind {kind} for a binding of type {bound.type}, which holds {' and '.join(places)}")
            if kind.startswith("plane") and places[kind] + 4 * len(words) > bound.stride:
                raise InputError("an image of more planes than the pipeline layout has room for")
            if bound.type == DescriptorType.MUTABLE and places[kind] + 4 * len(words) > bound.stride:
                raise InputError(f"a descriptor of kind {kind} for a mutable one that has no room for it")
            first = at + places[kind]
            # of a combined image sampler whose sampler is immutable, nothing but the image is there
            if kind != "sampler" or places[kind] + 16 <= bound.stride:
                block[first : first + 4 * len(words)] = numpy.array(words, numpy.uint32).tobytes()

    def _inline_block(self, number: int, binding: int, bound: BindingLayout) -> bytes:
        given = self.buffers.get((number, binding))
        data = given if isinstance(given, bytes) else b""
        if (given is not None and not isinstance(given, bytes)) or len(data) > bound.stride:
            raise InputError(f"binding {binding} of set {number} is an inline uniform block of {bound.stride} bytes")
        return data


@cache
def descriptor_places(kind: str) -> dict[str, int]:
    """Return where each hardware descriptor of a type stands."""
    if kind.endswith("_dynamic"):
        return {"buffer": 0}
    if kind == DescriptorType.MUTABLE:     # each of the types that it may have begins where the descriptor does
        return {"buffer": 0, "sampler": 0, **descriptor_places(DescriptorType.SAMPLED_IMAGE.value)}
    planes = PLANES if kind == DescriptorType.COMBINED_IMAGE_SAMPLER else ()
    return {part.kind: part.offset for part in (*contents(DescriptorType(kind)).parts, *planes)}


def _user_sgprs(given: _Given, low: LowMemory, groups: Extent) -> list[int]:
    """What user SGPRs hold; sets and push constants go to memory."""
    user = [0] * given.abi.user_sgpr_count
    for argument in given.abi.user_sgprs:
        kind, first = argument.kind, argument.first
        if kind == "descriptor_set" and argument.set is not None:
            user[first] = given.descriptor_set(argument.set, low)
        elif kind == "descriptor_set_table":
            table = numpy.zeros(max(given.abi.descriptor_sets) + 1, numpy.uint32)
            for number in given.abi.descriptor_sets:
                table[number] = given.descriptor_set(number, low)
            user[first] = low.allocate(table.tobytes(), 64, _TABLE) & 0xFFFFFFFF
        elif kind == "push_constants":
            user[first] = low.allocate(given.block, 64, _PUSH) & 0xFFFFFFFF
        elif kind == "inline_push_constant" and argument.dword is not None:
            user[first] = int.from_bytes(given.push[4 * argument.dword : 4 * argument.dword + 4], "little")
        elif kind == "num_workgroups":
            user[first : first + 3] = groups
        elif kind == "scratch_address":
            user[first : first + 2] = [0, 0]
        else:
            raise UnsupportedError(f"user SGPRs of kind {kind!r}")
    return user


def padded_code(code: bytes, constant_data: bytes) -> bytes:
    """Code, padded to 64 bytes where data follows.

    Raises
    ------
    InputError
        Bytes that are no machine code.
    """
    if not code or len(code) % 4:
        raise InputError(f"{len(code)} bytes are not machine code: instructions are dwords")
    return code.ljust(-(-len(code) // 64) * 64, b"\0") + constant_data if constant_data else code
