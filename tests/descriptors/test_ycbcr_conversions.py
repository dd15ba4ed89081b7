"""YCbCr conversions as plain values: the numbers of the standards, formats, layouts, and what is refused."""

from __future__ import annotations

import pytest

from pyaco.descriptors.layout import Binding, SetLayout
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.descriptors.sets import DescriptorSet
from pyaco.descriptors.types import DescriptorType
from pyaco.descriptors.ycbcr import ChromaLocation, Plane, YcbcrConversion, YcbcrModel, YcbcrRange, planes_of
from pyaco.errors import InputError, UnsupportedError

WORDS = sampler_descriptor(Sampler(), 103)
FORMAT = "G8_B8_R8_3PLANE_420_UNORM"


def converted(conversion: YcbcrConversion, y: float, cb: float, cr: float) -> list[float]:
    given = (cr, y, cb, 1.0)
    return [sum(factor * value for factor, value in zip(row, given, strict=False)) + row[4] for row in conversion.rows()]


@pytest.mark.parametrize("bits", [8, 10, 12, 16])
@pytest.mark.parametrize("model", ["709", "601", "2020"])
def test_white_black_and_grey_of_the_narrow_range(model: str, bits: int) -> None:
    name = {8: FORMAT, 10: "G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16", 12: "G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16",
            16: "G16_B16_R16_3PLANE_420_UNORM"}[bits]
    conversion = YcbcrConversion(name, YcbcrModel(model), YcbcrRange.NARROW)
    storage = 255 if bits == 8 else 65535
    unit = (1 << bits - 8) << (0 if bits == 8 else 16 - bits)         # a step of 8 bits, in the numbers of a texel
    for brightness, wanted in ((16, 0.0), (235, 1.0)):
        found = converted(conversion, brightness * unit / storage, 128 * unit / storage, 128 * unit / storage)
        assert found == pytest.approx([wanted, wanted, wanted, 1.0], abs=1e-9)


def test_red_of_bt_709() -> None:
    found = converted(YcbcrConversion(FORMAT, YcbcrModel.YCBCR_709), 0.2126, 128 / 255 - 0.2126 / 1.8556, 128 / 255 + 0.5)
    assert found == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=1e-9)


def test_planes_of_formats() -> None:
    assert planes_of("G8_B8R8_2PLANE_422_UNORM") == (Plane("R8_UNORM"), Plane("R8G8_UNORM", 2, 1))
    assert planes_of("G16_B16_R16_3PLANE_420_UNORM") == (Plane("R16_UNORM"), Plane("R16_UNORM", 2, 2), Plane("R16_UNORM", 2, 2))
    assert planes_of("B8G8R8A8_UNORM") == (Plane("B8G8R8A8_UNORM"),)


def test_sets_hold_a_descriptor_for_each_plane() -> None:
    binding = Binding(0, DescriptorType.COMBINED_IMAGE_SAMPLER, samplers=(WORDS,), conversion=YcbcrConversion(FORMAT))
    held = DescriptorSet(SetLayout([binding]))
    held.write(0, {"image": range(8), "plane1": range(10, 18), "plane2": range(20, 24)})
    assert binding.planes == 3 and [held.memory[4 * k] for k in range(20)] == [*range(8), *range(10, 18), *range(20, 24)]
    with pytest.raises(InputError, match="fmask"):
        held.write(0, {"fmask": range(8)})


def test_what_is_refused() -> None:
    for packed in ("G8B8G8R8_422_UNORM", "B8G8R8G8_422_UNORM", "G10X6B10X6G10X6R10X6_422_UNORM_4PACK16", "B16G16R16G16_422_UNORM"):
        with pytest.raises(UnsupportedError, match=packed):
            YcbcrConversion(packed)
    for name in ("R8_UNORM", "R8G8B8A8_UINT", "BC1_RGB"):
        with pytest.raises((UnsupportedError, InputError)):
            YcbcrConversion(name)
    with pytest.raises(InputError, match="swizzle"):
        YcbcrConversion(FORMAT, swizzle=(0, 1, 2, 6))
    with pytest.raises(InputError, match="ChromaLocation"):
        YcbcrConversion(FORMAT, chroma_location=("left", ChromaLocation.MIDPOINT))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="immutable samplers"):
        Binding(0, DescriptorType.COMBINED_IMAGE_SAMPLER, conversion=YcbcrConversion(FORMAT))
