"""Layouts of descriptor sets, and of the sets and push constants of a pipeline, as RADV makes them.

A set is a block of memory in the 32-bit region. Bindings of one alignment come first, so that at most one gap arises, and the
last binding's alignment comes last, because its size may be chosen when the set is made. Older drivers place bindings in the order
of their numbers.

Source: Mesa's RADV (``radv_descriptor_set.c`` of 24.3 and of 22.3), compared with the driver by
``tests/oracle/compare_descriptor_layouts.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyaco.arguments import checked
from pyaco.descriptors.types import Contents, DescriptorType, contents, is_dynamic
from pyaco.descriptors.ycbcr import YcbcrConversion
from pyaco.errors import InputError

__all__ = ["MAX_PUSH_BYTES", "MAX_SETS", "Binding", "PipelineLayout", "PlacedBinding", "SetLayout"]

_SET_ALIGNMENT = 32
_LARGEST_SET = (1 << 31) - 1
MAX_SETS = 32
"""Descriptor sets of a pipeline."""
MAX_PUSH_BYTES = 256
"""Push constants of a pipeline."""
_DYNAMIC_BYTES = 16
_IMAGE_WITH_FMASK = 64
_PLANES = 3

SamplerWords = tuple[int, int, int, int]


@checked
@dataclass(frozen=True)
class Binding:
    """A binding as an application describes it.

    Attributes
    ----------
    number : int
    type : DescriptorType
    count : int
        Elements; for an inline uniform block its bytes. The most that a variable binding may have (0: no limit given).
    mutable : tuple of DescriptorType
        The types that a mutable descriptor may have.
    samplers : tuple of four dwords each
        Immutable samplers, one for each element.
    planes : int
        Most planes of the immutable samplers' YCbCr formats; where `conversion` is given, those of its format.
    variable : bool
        The number of elements is chosen with the set; only for the last binding.
    conversion : YcbcrConversion, optional
        Of all immutable samplers of a combined image sampler.
    """

    number: int
    type: DescriptorType
    count: int = 1
    mutable: tuple[DescriptorType, ...] = ()
    samplers: tuple[SamplerWords, ...] = ()
    planes: int = 1
    variable: bool = False
    conversion: YcbcrConversion | None = None

    def __post_init__(self) -> None:
        if self.conversion is not None:
            if self.type != DescriptorType.COMBINED_IMAGE_SAMPLER or not self.samplers:
                raise InputError(f"binding {self.number}: a YCbCr conversion is of the immutable samplers of combined image samplers")
            object.__setattr__(self, "planes", len(self.conversion.planes))
        if self.number < 0 or self.count < 0:
            raise InputError(f"binding {self.number} of {self.count} elements")
        if not 1 <= self.planes <= _PLANES:
            raise InputError(f"binding {self.number}: formats have 1 to 3 planes, not {self.planes}")
        if self.type == DescriptorType.INLINE_UNIFORM_BLOCK and self.count % 4:
            raise InputError(f"binding {self.number}: an inline uniform block has a multiple of 4 bytes, not {self.count}")
        if self.samplers and self.type not in (DescriptorType.SAMPLER, DescriptorType.COMBINED_IMAGE_SAMPLER):
            raise InputError(f"binding {self.number}: immutable samplers of a {self.type.value}")
        if self.samplers and (len(self.samplers) != self.count or self.variable):
            raise InputError(f"binding {self.number}: {len(self.samplers)} immutable samplers of {self.count} elements")


@dataclass(frozen=True)
class PlacedBinding:
    """Where a binding stands in its set.

    Attributes
    ----------
    binding : Binding
    offset : int
        Byte offset in the set; of a dynamic buffer none.
    stride : int
        Bytes from one element to the next; of an inline uniform block its size.
    elements : int
    dynamic : int or None
        Of dynamic buffers the number of the first among those of the set.
    samplers_known : bool
        All immutable samplers are equal, so that the compiler writes them into the code and the set does not hold them.
    """

    binding: Binding
    offset: int
    stride: int
    elements: int
    dynamic: int | None = None
    samplers_known: bool = False

    def sampler_offset(self) -> int | None:
        """Byte offset of the sampler in an element that holds one."""
        kind = self.binding.type
        if self.samplers_known or kind not in (DescriptorType.SAMPLER, DescriptorType.COMBINED_IMAGE_SAMPLER):
            return None
        return self.stride - 16


def _stride(binding: Binding, known: Contents, samplers_known: bool) -> int:
    if binding.type == DescriptorType.INLINE_UNIFORM_BLOCK:
        return binding.count
    if not samplers_known:
        return known.size
    if binding.type == DescriptorType.SAMPLER:
        return 0
    # A third plane needs the sampler's place.
    return _IMAGE_WITH_FMASK if binding.planes < _PLANES else known.size


@checked
class SetLayout:
    """The layout of one descriptor set.

    Parameters
    ----------
    bindings : sequence of Binding
        In any order.
    keep_samplers : bool
        Equal immutable samplers stand in the set all the same (layouts of descriptor buffers).
    grouped : bool
        Bindings are grouped by alignment, as drivers do from Mesa 24 on; False: they stand in the order of their numbers.

    Attributes
    ----------
    bindings : dict of int to PlacedBinding
        By number.
    size : int
        Bytes, with the counts that the bindings name.
    dynamic_count : int
        Dynamic buffers.

    Raises
    ------
    InputError
        Two bindings of one number, a variable binding that is not the last, or a set beyond 2 GiB.
    UnsupportedError
        A mutable binding of types that it cannot have.
    """

    def __init__(self, bindings: Sequence[Binding], *, keep_samplers: bool = False, grouped: bool = True) -> None:
        ordered = sorted(bindings, key=lambda binding: binding.number)
        numbers = [binding.number for binding in ordered]
        if len(set(numbers)) != len(numbers):
            raise InputError(f"two bindings have one number: {numbers}")
        for binding in ordered[:-1]:
            if binding.variable:
                raise InputError(f"binding {binding.number} has a variable count and is not the last of its set")
        self.size = 0
        self.dynamic_count = 0
        self.bindings: dict[int, PlacedBinding] = {}
        known = [(binding, contents(binding.type, binding.mutable)) for binding in ordered]
        if known and grouped:
            first = 16 if known[-1][1].alignment == 32 else 32
            known.sort(key=lambda pair: pair[1].alignment != first)
        for binding, each in known:
            self._place(binding, each, keep_samplers)
        self.bindings = {number: self.bindings[number] for number in numbers}
        if self.size > _LARGEST_SET:
            raise InputError(f"a descriptor set of {self.size} bytes: the largest has {_LARGEST_SET}")

    def _place(self, binding: Binding, known: Contents, keep_samplers: bool) -> None:
        samplers_known = bool(binding.samplers) and not keep_samplers and len(set(binding.samplers)) == 1
        elements = 1 if binding.type == DescriptorType.INLINE_UNIFORM_BLOCK else binding.count
        stride = _stride(binding, known, samplers_known)
        self.size = -(-self.size // known.alignment) * known.alignment
        dynamic = self.dynamic_count if is_dynamic(binding.type) else None
        self.bindings[binding.number] = PlacedBinding(binding, self.size, stride, elements, dynamic, samplers_known)
        self.size += elements * stride
        if dynamic is not None:
            self.dynamic_count += elements

    def allocated_size(self, variable_count: int | None = None) -> int:
        """Return the bytes of a set that is made with `variable_count` elements (or bytes) in its variable binding.

        Raises
        ------
        InputError
            A count for a set that has no variable binding, or a negative one.
        """
        size = self.size
        if variable_count is not None:
            last = self.bindings[max(self.bindings)] if self.bindings else None
            if last is None or not last.binding.variable or variable_count < 0:
                raise InputError(f"{variable_count} elements of a variable binding that the set does not have")
            stride = 1 if last.binding.type == DescriptorType.INLINE_UNIFORM_BLOCK else last.stride
            size = last.offset + variable_count * stride
        return -(-size // _SET_ALIGNMENT) * _SET_ALIGNMENT

    def most_elements(self) -> int:
        """Return how many elements (bytes of an inline uniform block) the last binding could have, were it variable."""
        if not self.bindings:
            return 0
        last = self.bindings[max(self.bindings)]
        stride = 1 if last.binding.type == DescriptorType.INLINE_UNIFORM_BLOCK else last.stride
        return (_LARGEST_SET - last.offset) // stride if stride else _LARGEST_SET


@checked
@dataclass(frozen=True)
class PipelineLayout:
    """Descriptor sets by number, and push constants.

    The block that a shader reaches through its push constant pointer holds the push constants, rounded up to 16 bytes, and behind
    them the descriptors of all dynamic buffers, set by set.

    Attributes
    ----------
    sets : mapping of int to SetLayout
    push_bytes : int
        End of the last range of push constants.
    fragment_masks : bool
        Multisampled images that are sampled have FMASK (chips up to GFX10.3; later ones have none): a fetch of a sample reads its descriptor,
        the part ``fmask`` of the set, to find the fragment. A null descriptor there says that every sample is a fragment of its own.
    """

    sets: Mapping[int, SetLayout] = field(default_factory=dict)
    push_bytes: int = 0
    fragment_masks: bool = False

    def __post_init__(self) -> None:
        for number in self.sets:
            if not 0 <= number < MAX_SETS:
                raise InputError(f"descriptor set {number}: there are {MAX_SETS}")
        if not 0 <= self.push_bytes <= MAX_PUSH_BYTES:
            raise InputError(f"{self.push_bytes} bytes of push constants: there are up to {MAX_PUSH_BYTES}")

    @property
    def push_constant_size(self) -> int:
        """Bytes of push constants, rounded up: where dynamic buffers begin."""
        return -(-self.push_bytes // 16) * 16

    def dynamic_start(self, number: int) -> int:
        """Return the number, among all dynamic buffers, of the first of set `number`."""
        return sum(layout.dynamic_count for other, layout in self.sets.items() if other < number)

    @property
    def dynamic_count(self) -> int:
        """Dynamic buffers of all sets."""
        return sum(layout.dynamic_count for layout in self.sets.values())

    def dynamic_offset(self, number: int, placed: PlacedBinding) -> int:
        """Return the byte offset of a dynamic binding's first descriptor in the block of push constants."""
        if placed.dynamic is None:
            raise InputError(f"binding {placed.binding.number} of set {number} is not dynamic")
        return self.push_constant_size + _DYNAMIC_BYTES * (self.dynamic_start(number) + placed.dynamic)
