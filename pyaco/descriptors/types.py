"""What a descriptor of each Vulkan type consists of on AMD hardware: one table.

Source: Mesa's RADV (``radv_descriptor_set.c``): which hardware descriptors stand in a set, where, and how they are aligned.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pyaco.arguments import checked
from pyaco.errors import UnsupportedError

__all__ = ["AMD_CONTENTS", "PLANES", "Contents", "DescriptorType", "Part", "contents", "is_dynamic"]


class DescriptorType(StrEnum):
    """Vulkan's descriptor types."""

    SAMPLER = "sampler"
    COMBINED_IMAGE_SAMPLER = "combined_image_sampler"
    SAMPLED_IMAGE = "sampled_image"
    STORAGE_IMAGE = "storage_image"
    UNIFORM_TEXEL_BUFFER = "uniform_texel_buffer"
    STORAGE_TEXEL_BUFFER = "storage_texel_buffer"
    UNIFORM_BUFFER = "uniform_buffer"
    STORAGE_BUFFER = "storage_buffer"
    UNIFORM_BUFFER_DYNAMIC = "uniform_buffer_dynamic"
    STORAGE_BUFFER_DYNAMIC = "storage_buffer_dynamic"
    INPUT_ATTACHMENT = "input_attachment"
    INLINE_UNIFORM_BLOCK = "inline_uniform_block"
    ACCELERATION_STRUCTURE = "acceleration_structure"
    MUTABLE = "mutable"


@dataclass(frozen=True)
class Part:
    """One piece of a descriptor.

    Attributes
    ----------
    kind : str
        ``buffer``, ``image``, ``fmask``, ``plane1``, ``plane2``, ``sampler`` (hardware descriptors), ``address`` or ``data``.
    offset, size : int
        Bytes.
    """

    kind: str
    offset: int
    size: int


@dataclass(frozen=True)
class Contents:
    """A descriptor in a set.

    Attributes
    ----------
    size, alignment : int
        Bytes that an element takes in the set, which parts need not fill.
    parts : tuple of Part
    """

    size: int
    alignment: int
    parts: tuple[Part, ...]


_BUFFER = Contents(16, 16, (Part("buffer", 0, 16),))
_IMAGE_TO_SAMPLE = Contents(64, 32, (Part("image", 0, 32), Part("fmask", 32, 32)))
# A dynamic buffer takes no space in the set; its descriptor, with the offset added, is stored after the push constants.
_DYNAMIC = Contents(0, 1, ())

#: Further planes of an image with a YCbCr conversion. The third is as the second but for its address: the set has its first half.
PLANES = (Part("plane1", 32, 32), Part("plane2", 64, 16))

AMD_CONTENTS: dict[DescriptorType, Contents] = {
    DescriptorType.SAMPLER: Contents(16, 16, (Part("sampler", 0, 16),)),
    # The sampler stands at the end: a third plane of a YCbCr image may take 16 bytes before it.
    DescriptorType.COMBINED_IMAGE_SAMPLER: Contents(96, 32, (*_IMAGE_TO_SAMPLE.parts, Part("sampler", 80, 16))),
    DescriptorType.SAMPLED_IMAGE: _IMAGE_TO_SAMPLE,
    DescriptorType.STORAGE_IMAGE: Contents(32, 32, (Part("image", 0, 32),)),
    DescriptorType.UNIFORM_TEXEL_BUFFER: _BUFFER,
    DescriptorType.STORAGE_TEXEL_BUFFER: _BUFFER,
    DescriptorType.UNIFORM_BUFFER: _BUFFER,
    DescriptorType.STORAGE_BUFFER: _BUFFER,
    DescriptorType.UNIFORM_BUFFER_DYNAMIC: _DYNAMIC,
    DescriptorType.STORAGE_BUFFER_DYNAMIC: _DYNAMIC,
    DescriptorType.INPUT_ATTACHMENT: _IMAGE_TO_SAMPLE,
    # The block itself, one element as large as the binding says.
    DescriptorType.INLINE_UNIFORM_BLOCK: Contents(1, 16, (Part("data", 0, 1),)),
    DescriptorType.ACCELERATION_STRUCTURE: Contents(16, 16, (Part("address", 0, 8),)),
}
"""What stands in a set for one element of each type but ``mutable``, which is as large as the largest of its types."""

_MUTABLE = (
    DescriptorType.SAMPLER, DescriptorType.SAMPLED_IMAGE, DescriptorType.STORAGE_IMAGE, DescriptorType.UNIFORM_TEXEL_BUFFER,
    DescriptorType.STORAGE_TEXEL_BUFFER, DescriptorType.UNIFORM_BUFFER, DescriptorType.STORAGE_BUFFER,
)


@checked
def is_dynamic(kind: DescriptorType) -> bool:
    """Whether the descriptor's offset is given when the set is bound."""
    return kind in (DescriptorType.UNIFORM_BUFFER_DYNAMIC, DescriptorType.STORAGE_BUFFER_DYNAMIC)


@checked
def contents(kind: DescriptorType, mutable: tuple[DescriptorType, ...] = ()) -> Contents:
    """Return what a descriptor consists of.

    Parameters
    ----------
    kind : DescriptorType
    mutable : tuple of DescriptorType
        For ``mutable``: the types that it may have.

    Raises
    ------
    UnsupportedError
        A mutable descriptor of no type, or of one that drivers do not let it have.
    """
    if kind != DescriptorType.MUTABLE:
        return AMD_CONTENTS[kind]
    strangers = [each.value for each in mutable if each not in _MUTABLE]
    if strangers or not mutable:
        raise UnsupportedError(f"a mutable descriptor of {'types ' + ', '.join(strangers) if strangers else 'no type'}")
    known = [AMD_CONTENTS[each] for each in mutable]
    return Contents(max(each.size for each in known), max(each.alignment for each in known), ())
