"""Intel's answer to what a descriptor of each type consists of, as a second table beside AMD's.

Intel's hardware reads surfaces and samplers as state objects of 64 and 32 bytes. Where a driver cannot put all of them within reach
of a shader's bindless heaps, a set holds handles to them instead (indirect descriptors); otherwise the state itself stands in the
set (direct), samplers in a memory of their own. Either way an entry of a shader's binding table may point there too.

Source: Mesa's ANV (``anv_descriptor_set.c``: ``anv_descriptor_data_for_type``, ``anv_descriptor_data_size``; sizes of
``anv_private.h``), as of 2025.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto

from pyaco.arguments import checked
from pyaco.descriptors.types import AMD_CONTENTS, DescriptorType, contents
from pyaco.errors import InputError

__all__ = ["INTEL_CLASSES", "Comparison", "IntelClass", "IntelContents", "compare", "intel_contents"]


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
    intel_indirect_size, intel_direct_size, intel_direct_sampler_size : int
    """

    type: DescriptorType
    amd: str
    amd_size: int
    amd_alignment: int
    intel_indirect: str
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
        rows.append(Comparison(kind, parts, amd.size, amd.alignment, _names(indirect.classes), indirect.size, _names(direct.classes),
                               direct.size, direct.sampler_size))
    return tuple(rows)
