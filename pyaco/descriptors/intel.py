"""Intel's answer to what a descriptor of each type consists of, as a second table beside AMD's.

Intel's hardware reads surfaces and samplers as state objects of 64 and 32 bytes. Where a driver cannot put all of them within reach
of a shader's bindless heaps, a set holds handles to them instead (indirect descriptors); otherwise the state itself stands in the
set (direct), samplers in a memory of their own. Either way an entry of a shader's binding table may point there too.

Of what a set holds with indirect descriptors the fields are here too: `intel_words` and `intel_fields`. A handle is what a message to the sampler or
the data port takes, made of where the state lies (`surface_handle`).

Source: Mesa's ANV (``anv_descriptor_set.c``: ``anv_descriptor_data_for_type``, ``anv_descriptor_data_size``, ``anv_surface_state_to_handle``; sizes
and fields of ``anv_private.h``), as of 2025.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto

from pyaco.arguments import checked
from pyaco.descriptors.types import AMD_CONTENTS, DescriptorType, contents
from pyaco.errors import InputError

__all__ = [
    "INTEL_CLASSES", "INTEL_FIELDS", "Comparison", "IntelClass", "IntelContents", "IntelField", "compare", "intel_contents", "intel_fields",
    "intel_words", "surface_handle",
]  # fmt: skip


class IntelClass(Flag):
    """Classes of data that a descriptor may consist of."""

    SURFACE_BINDING = auto()
    """An entry of the binding table for a surface."""
    SAMPLER_BINDING = auto()
    """An entry of the binding table for a sampler."""
    INLINE_UNIFORM = auto()
    """The data itself."""
    SAMPLED_IMAGE_HANDLES = auto()
    """Handles of a surface and of a sampler."""
    STORAGE_IMAGE_HANDLES = auto()
    """Handle of a surface that is written."""
    ADDRESS_RANGE = auto()
    """Address and size of a buffer, for accesses without a surface."""
    BUFFER_VIEW = auto()
    """A surface state that the driver keeps outside the set."""
    SURFACE = auto()
    """A surface state in the set."""
    SAMPLER = auto()
    """A sampler state."""


_C, _T = IntelClass, DescriptorType
_SAMPLED = _C.SURFACE_BINDING | _C.SAMPLED_IMAGE_HANDLES
_STORAGE = _C.SURFACE_BINDING | _C.STORAGE_IMAGE_HANDLES
_BUFFER = _C.SURFACE_BINDING | _C.BUFFER_VIEW | _C.ADDRESS_RANGE
_DYNAMIC = _C.SURFACE_BINDING | _C.ADDRESS_RANGE
_SURFACE = _C.SURFACE_BINDING | _C.SURFACE
_SAMPLER = _C.SAMPLER_BINDING | _C.SAMPLER

INTEL_CLASSES: dict[DescriptorType, tuple[IntelClass, IntelClass]] = {
    _T.SAMPLER: (_C.SAMPLER_BINDING | _C.SAMPLED_IMAGE_HANDLES, _SAMPLER),
    _T.COMBINED_IMAGE_SAMPLER: (_SAMPLED | _C.SAMPLER_BINDING, _SURFACE | _SAMPLER),
    _T.SAMPLED_IMAGE: (_SAMPLED, _SURFACE),
    _T.STORAGE_IMAGE: (_STORAGE, _SURFACE),
    _T.UNIFORM_TEXEL_BUFFER: (_SAMPLED, _SURFACE),
    _T.STORAGE_TEXEL_BUFFER: (_STORAGE, _SURFACE),
    _T.UNIFORM_BUFFER: (_BUFFER, _SURFACE),
    _T.STORAGE_BUFFER: (_BUFFER, _SURFACE),
    _T.UNIFORM_BUFFER_DYNAMIC: (_DYNAMIC, _SURFACE),
    _T.STORAGE_BUFFER_DYNAMIC: (_DYNAMIC, _SURFACE),
    _T.INPUT_ATTACHMENT: (_SAMPLED, _SURFACE),
    _T.INLINE_UNIFORM_BLOCK: (_C.INLINE_UNIFORM, _C.INLINE_UNIFORM),
    _T.ACCELERATION_STRUCTURE: (_C.ADDRESS_RANGE, _C.ADDRESS_RANGE),
}
"""Classes of each type: with indirect descriptors, and with direct ones."""

# Bytes in the set, bytes in the memory of samplers, alignment in the set.
_SIZES = {
    _C.INLINE_UNIFORM: (1, 0, 64), _C.SAMPLED_IMAGE_HANDLES: (8, 0, 8), _C.STORAGE_IMAGE_HANDLES: (8, 0, 8),
    _C.ADDRESS_RANGE: (16, 0, 8), _C.SURFACE: (64, 0, 64), _C.SAMPLER: (0, 32, 1),
}


@dataclass(frozen=True)
class IntelField:
    """A field of what a set holds.

    Attributes
    ----------
    name : str
    word, bits : int
        The dword where it begins, and its size: 32 or 64.
    meaning : str
    """

    name: str
    word: int
    bits: int
    meaning: str


INTEL_FIELDS: dict[IntelClass, tuple[IntelField, ...]] = {
    _C.SAMPLED_IMAGE_HANDLES: (IntelField("image", 0, 32, "handle of the surface"),
                               IntelField("sampler", 1, 32, "where the sampler's state lies, from the base of these states on")),
    _C.STORAGE_IMAGE_HANDLES: (IntelField("vanilla", 0, 32, "handle of the surface"),
                               IntelField("depth", 1, 32, "slices of a view of a 3D image, which the hardware does not say")),
    _C.ADDRESS_RANGE: (IntelField("address", 0, 64, "where the buffer begins"), IntelField("range", 2, 32, "its bytes"),
                       IntelField("zero", 3, 32, "the offset of a pointer to its start, so that the descriptor is such a pointer")),
}
"""Fields of the classes that stand in a set with indirect descriptors."""


@dataclass(frozen=True)
class IntelContents:
    """A descriptor of an Intel set.

    Attributes
    ----------
    classes : IntelClass
    size, sampler_size : int
        Bytes in the set, and in the memory of samplers.
    alignment : int
        In the set.
    """

    classes: IntelClass
    size: int
    sampler_size: int
    alignment: int


@checked
def intel_contents(kind: DescriptorType, *, indirect: bool = True, mutable: tuple[DescriptorType, ...] = ()) -> IntelContents:
    """Return what a descriptor consists of on Intel.

    Parameters
    ----------
    kind : DescriptorType
    indirect : bool
        The set holds handles (hardware before Xe HPG), not states.
    mutable : tuple of DescriptorType
        For ``mutable``: the types that it may have.

    Raises
    ------
    InputError
        A mutable descriptor of no type.
    """
    if kind == _T.MUTABLE:
        known = [intel_contents(each, indirect=indirect) for each in mutable]
        if not known:
            raise InputError("a mutable descriptor of no type")
        classes = IntelClass(0)
        for each in known:
            classes |= each.classes
        return IntelContents(classes, max(each.size for each in known), max(each.sampler_size for each in known),
                             max(each.alignment for each in known))
    classes = INTEL_CLASSES[kind][0 if indirect else 1]
    sizes = [size for each, size in _SIZES.items() if each in classes]
    return IntelContents(classes, sum(size[0] for size in sizes), sum(size[1] for size in sizes), max((size[2] for size in sizes), default=1))


def _fields_of(kind: DescriptorType) -> tuple[IntelField, ...]:
    """The fields of an indirect descriptor."""
    if kind == _T.MUTABLE:
        raise InputError("a mutable descriptor has the fields of the type that it has at the time")
    found = next((fields for each, fields in INTEL_FIELDS.items() if each in INTEL_CLASSES[kind][0]), ())
    if not found:
        raise InputError(f"a descriptor of type {kind.value} has no fields: it is the data itself")
    return found


@checked
def intel_words(kind: DescriptorType, values: Mapping[str, int]) -> tuple[int, ...]:
    """Return the dwords of an indirect descriptor.

    Parameters
    ----------
    kind : DescriptorType
    values : mapping from str to int
        By the names of `INTEL_FIELDS`; what is left out is 0.

    Raises
    ------
    InputError
        A field that the descriptor does not have, a value that does not fit, or a type without fields.
    """
    fields = {field.name: field for field in _fields_of(kind)}
    words = [0] * (intel_contents(kind).size // 4)
    for name, value in values.items():
        if name not in fields:
            raise InputError(f"a descriptor of type {kind.value} has no field {name!r}; there are: {', '.join(fields)}")
        field = fields[name]
        if not 0 <= value < 1 << field.bits or (name == "zero" and value):
            raise InputError(f"{name} = {value}: expected {0 if name == 'zero' else f'{field.bits} bits'}")
        for part in range(field.bits // 32):
            words[field.word + part] = value >> 32 * part & 0xFFFFFFFF
    return tuple(words)


@checked
def intel_fields(kind: DescriptorType, words: Sequence[int]) -> dict[str, int]:
    """Return the values of an indirect descriptor's fields: the inverse of `intel_words`.

    Raises
    ------
    InputError
        Another number of dwords than the descriptor has, or a type without fields.
    """
    fields = _fields_of(kind)
    expected = intel_contents(kind).size // 4
    if len(words) != expected or any(not 0 <= word < 1 << 32 for word in words):
        raise InputError(f"a descriptor of type {kind.value} has {expected} dwords")
    return {field.name: sum(words[field.word + part] << 32 * part for part in range(field.bits // 32)) for field in fields}


@checked
def surface_handle(offset: int, *, extended: bool) -> int:
    """Return the handle of a surface state, from where it lies behind the base of surface states.

    Parameters
    ----------
    offset : int
        Bytes, a multiple of 64.
    extended : bool
        The hardware (Xe HPG and later) takes offsets of 32 bits; before, of 26, of which bits 6 to 25 stand in bits 12 to 31 of the handle.

    Raises
    ------
    InputError
        An offset that no handle names.
    """
    if offset % 64 or not 0 <= offset < 1 << (32 if extended else 26):
        raise InputError(f"a surface state at {offset}: expected a multiple of 64 of {32 if extended else 26} bits")
    return offset if extended else offset << 6


@dataclass(frozen=True)
class Comparison:
    """A descriptor type on both.

    Attributes
    ----------
    type : DescriptorType
    amd : str
        Parts with their sizes.
    amd_size, amd_alignment : int
    intel_indirect, intel_direct : str
        Names of the classes.
    intel_indirect_fields : str
        Fields of what stands in the set, with their bits.
    intel_indirect_size, intel_direct_size, intel_direct_sampler_size : int
    """

    type: DescriptorType
    amd: str
    amd_size: int
    amd_alignment: int
    intel_indirect: str
    intel_indirect_fields: str
    intel_indirect_size: int
    intel_direct: str
    intel_direct_size: int
    intel_direct_sampler_size: int


def _names(classes: IntelClass) -> str:
    return ", ".join((each.name or "").lower().replace("_", " ") for each in classes)


def compare() -> tuple[Comparison, ...]:
    """Return every descriptor type with its contents on AMD and on Intel."""
    rows = []
    for kind in AMD_CONTENTS:
        amd, indirect, direct = contents(kind), intel_contents(kind), intel_contents(kind, indirect=False)
        parts = ", ".join(f"{part.kind} ({part.size})" for part in amd.parts) or "behind the push constants"
        fields = next((each for name, each in INTEL_FIELDS.items() if name in indirect.classes), ())
        words = ", ".join(f"{field.name} ({field.bits})" for field in fields)
        rows.append(Comparison(kind, parts, amd.size, amd.alignment, _names(indirect.classes), words, indirect.size, _names(direct.classes),
                               direct.size, direct.sampler_size))
    return tuple(rows)
