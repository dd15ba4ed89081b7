"""Descriptor sets: the bytes that a set is in memory, written binding by binding and read back.

Sources: as ``layout``; Vulkan's ``vkUpdateDescriptorSets`` for what may be written where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyaco.arguments import checked
from pyaco.descriptors.decode import DescriptorWord, decode
from pyaco.descriptors.layout import PlacedBinding, SetLayout
from pyaco.descriptors.types import PLANES, DescriptorType, Part, contents
from pyaco.errors import InputError

__all__ = ["DescriptorSet", "WrittenDescriptor"]

_DECODED = {"buffer": "buffer", "image": "image", "fmask": "image", "plane1": "image", "sampler": "sampler"}


@dataclass(frozen=True)
class WrittenDescriptor:
    """A hardware descriptor in a set.

    Attributes
    ----------
    binding, element : int
    kind : str
        As ``Part.kind``.
    offset : int
        Byte offset in the set.
    words : tuple of DescriptorWord
        Empty for what is no hardware descriptor.
    """

    binding: int
    element: int
    kind: str
    offset: int
    words: tuple[DescriptorWord, ...]


@checked
class DescriptorSet:
    """A set of a layout: null descriptors at first, immutable samplers in their places.

    Parameters
    ----------
    layout : SetLayout
    variable_count : int, optional
        Elements (bytes of an inline uniform block) of the variable binding; by default as many as the binding says.

    Attributes
    ----------
    memory : bytearray
        What stands in memory.

    Raises
    ------
    InputError
        A count for a set without a variable binding.
    """

    def __init__(self, layout: SetLayout, variable_count: int | None = None) -> None:
        self.layout = layout
        self.variable_count = variable_count
        self.memory = bytearray(layout.allocated_size(variable_count))
        for number, placed in layout.bindings.items():
            if placed.binding.samplers and not placed.samplers_known:
                for element, words in enumerate(placed.binding.samplers):
                    self._put(self._part(number, element, "sampler"), words)

    def elements(self, number: int) -> int:
        """Return how many elements binding `number` has in this set.

        Raises
        ------
        InputError
            No such binding.
        """
        placed = self._placed(number)
        return self.variable_count if placed.binding.variable and self.variable_count is not None else placed.elements

    def write(
        self, number: int, parts: Mapping[str, Sequence[int]], element: int = 0, *, kind: DescriptorType | None = None
    ) -> None:
        """Write a descriptor; parts that are not given become null.

        Parameters
        ----------
        number : int
            Of the binding.
        parts : mapping of str to sequence of int
            Dwords of each part: ``buffer``, ``image``, ``fmask``, ``plane1``, ``plane2`` (the first four), ``sampler``; ``address`` is two dwords.
        element : int
        kind : DescriptorType, optional
            Which of its types a mutable descriptor has now.

        Raises
        ------
        InputError
            No such binding, element or part, a wrong number of dwords, or a sampler where an immutable one is.
        """
        placed = self._placed(number)
        available = {part.kind: part for part in self._parts(placed, kind)}
        for name, words in parts.items():
            if name not in available:
                raise InputError(f"binding {number} is a {placed.binding.type.value} and holds {', '.join(available) or 'no part'}, no {name}")
            if name == "sampler" and placed.binding.samplers:
                raise InputError(f"binding {number} has immutable samplers")
            if len(words) * 4 != available[name].size or any(not 0 <= word < 1 << 32 for word in words):
                raise InputError(f"binding {number}: a part of kind {name} is {available[name].size // 4} dwords, not {list(words)}")
        for name, part in available.items():
            if name != "sampler" or not placed.binding.samplers:
                self._put(self._within(placed, element, part), parts.get(name, (0,) * (part.size // 4)))

    def write_data(self, number: int, data: bytes, offset: int = 0) -> None:
        """Write into an inline uniform block.

        Raises
        ------
        InputError
            No such binding, one of another type, or data that does not fit.
        """
        placed = self._placed(number)
        if placed.binding.type != DescriptorType.INLINE_UNIFORM_BLOCK:
            raise InputError(f"binding {number} is a {placed.binding.type.value}, no inline uniform block")
        size = placed.stride if self.variable_count is None or not placed.binding.variable else self.variable_count
        if offset < 0 or offset + len(data) > size:
            raise InputError(f"{len(data)} bytes at offset {offset} do not fit binding {number}, a block of {size} bytes")
        self.memory[placed.offset + offset : placed.offset + offset + len(data)] = data

    def read(self, gfx_level: int, kinds: Mapping[int, DescriptorType] | None = None) -> Iterator[WrittenDescriptor]:
        """Yield every descriptor of the set with its fields.

        Parameters
        ----------
        gfx_level : int
            Hardware level times ten.
        kinds : mapping of int to DescriptorType, optional
            Which of its types each mutable binding has.
        """
        for number, placed in self.layout.bindings.items():
            kind = (kinds or {}).get(number)
            if placed.binding.type == DescriptorType.MUTABLE and kind is None:
                continue
            for element in range(self.elements(number) if placed.binding.type != DescriptorType.INLINE_UNIFORM_BLOCK else 1):
                for part in self._parts(placed, kind):
                    offset = self._within(placed, element, part)
                    raw = self.memory[offset : offset + part.size]
                    words = [int.from_bytes(raw[k : k + 4], "little") for k in range(0, len(raw), 4)]
                    found = decode(_DECODED[part.kind], words, gfx_level) if part.kind in _DECODED else ()
                    yield WrittenDescriptor(number, element, part.kind, offset, found)

    def _placed(self, number: int) -> PlacedBinding:
        if number not in self.layout.bindings:
            raise InputError(f"the set has no binding {number}; bindings: {', '.join(map(str, self.layout.bindings)) or 'none'}")
        return self.layout.bindings[number]

    def _parts(self, placed: PlacedBinding, kind: DescriptorType | None) -> list[Part]:
        binding = placed.binding
        if binding.type == DescriptorType.MUTABLE:
            if kind is None or kind not in binding.mutable:
                raise InputError(f"binding {binding.number} is mutable: one of {', '.join(binding.mutable)} must be named")
            return list(contents(kind).parts)
        if binding.type == DescriptorType.INLINE_UNIFORM_BLOCK:
            return [Part("data", 0, placed.stride)]
        parts = list(contents(binding.type).parts)
        if binding.planes > 1 and binding.type == DescriptorType.COMBINED_IMAGE_SAMPLER:
            parts = [part for part in parts if part.kind != "fmask"] + list(PLANES[: binding.planes - 1])
        sampler = placed.sampler_offset()
        return [part if part.kind != "sampler" or sampler is None else Part("sampler", sampler, 16) for part in parts
                if part.kind != "sampler" or sampler is not None]

    def _part(self, number: int, element: int, name: str) -> int:
        placed = self._placed(number)
        return self._within(placed, element, next(part for part in self._parts(placed, None) if part.kind == name))

    def _within(self, placed: PlacedBinding, element: int, part: Part) -> int:
        count = self.elements(placed.binding.number)
        if not 0 <= element < count:
            raise InputError(f"binding {placed.binding.number} has {count} elements, no element {element}")
        return placed.offset + placed.stride * element + part.offset

    def _put(self, offset: int, words: Sequence[int]) -> None:
        for place, word in enumerate(words):
            self.memory[offset + 4 * place : offset + 4 * place + 4] = word.to_bytes(4, "little")
