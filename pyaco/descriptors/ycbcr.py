"""Y'CbCr conversions of immutable samplers: what they compute, as numbers that a compiler writes into code.

An image of such a sampler has its brightness (G) and its two differences of colour (B and R) in one to three planes, each a surface and a
descriptor of its own. Chroma may have half as many texels as brightness in x, or in x and y.

Sources: the Vulkan specification, "Sampler Y'CBCR Conversion" (order of the steps), "Chroma Reconstruction", "Sampler Y'CBCR Range Expansion"
and "Sampler Y'CBCR Model Conversion"; ITU-R BT.601, BT.709 and BT.2020 for the weights of red and blue in the brightness.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from pyaco.arguments import checked
from pyaco.descriptors.sampler import Sampler
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import PixelFormat, pixel_format
from pyaco.registers import registers

__all__ = ["ChromaFilter", "ChromaLocation", "Component", "Plane", "YcbcrConversion", "YcbcrModel", "YcbcrRange", "planes_of"]

_ZERO, _ONE = 4, 5                      # of a swizzle
_POINT, _BILINEAR = 0, 1                # SQ_TEX_XY_FILTER


class YcbcrModel(StrEnum):
    """How brightness and chroma become red, green and blue."""

    RGB_IDENTITY = "rgb_identity"
    YCBCR_IDENTITY = "ycbcr_identity"
    YCBCR_709 = "709"
    YCBCR_601 = "601"
    YCBCR_2020 = "2020"


class YcbcrRange(StrEnum):
    """Whether a component has all numbers of its bits, or those of ITU's narrow range (16 to 235 and 16 to 240 of 8 bits)."""

    FULL = "full"
    NARROW = "narrow"


class ChromaLocation(StrEnum):
    """Where a chroma texel lies among the two texels of brightness that share it."""

    COSITED_EVEN = "cosited_even"
    MIDPOINT = "midpoint"


class ChromaFilter(StrEnum):
    """How chroma between its texels is found."""

    NEAREST = "nearest"
    LINEAR = "linear"


_RED_AND_BLUE = {YcbcrModel.YCBCR_709: (0.2126, 0.0722), YcbcrModel.YCBCR_601: (0.299, 0.114), YcbcrModel.YCBCR_2020: (0.2627, 0.0593)}
_REDUCTIONS = {"420": (2, 2), "422": (2, 1), "444": (1, 1)}
#: Bits that texels of 16 bits have; the others are the low ones, and zero.
_BITS = {"8": 8, "10X6": 10, "12X4": 12, "16": 16}
_PACKED = frozenset(f"{name}_422_UNORM{suffix}" for depth, suffix in (("8", ""), ("10X6", "_4PACK16"), ("12X4", "_4PACK16"), ("16", ""))
                    for name in (f"G{depth}B{depth}G{depth}R{depth}", f"B{depth}G{depth}R{depth}G{depth}"))


@dataclass(frozen=True)
class Plane:
    """One plane of a format.

    Attributes
    ----------
    format : str
        Pixel format of the plane's surface and of the view of it.
    width_divisor, height_divisor : int
        Texels of brightness for each texel of the plane.
    """

    format: str
    width_divisor: int = 1
    height_divisor: int = 1


@dataclass(frozen=True)
class Component:
    """Where a component comes from.

    Attributes
    ----------
    plane : int
        -1: from nowhere; it is `constant`.
    channel : int
        Component of the plane's view.
    bits : int
        What a texel's number has at most is 2**bits - 1.
    scale : float
        What a sample of the plane is multiplied with to be 1 at that number.
    constant : float
    """

    plane: int
    channel: int
    bits: int
    scale: float = 1.0
    constant: float = 0.0


@dataclass(frozen=True)
class _Layout:
    planes: tuple[Plane, ...]
    components: tuple[Component, Component, Component, Component]


@cache
def _multi_planar() -> dict[str, _Layout]:
    """Vulkan's formats of two and three planes."""
    found = {}
    for depth, bits in _BITS.items():
        one, two = ("R8_UNORM", "R8G8_UNORM") if bits == 8 else ("R16_UNORM", "R16G16_UNORM")
        suffix = "_3PACK16" if "X" in depth else ""
        scale = 65535 / (((1 << bits) - 1) << 16 - bits) if "X" in depth else 1.0
        for reduction, divisors in _REDUCTIONS.items():
            g, alpha = Component(0, 0, bits, scale), Component(-1, 0, bits, constant=1.0)
            found[f"G{depth}_B{depth}_R{depth}_3PLANE_{reduction}_UNORM{suffix}"] = _Layout(
                (Plane(one), Plane(one, *divisors), Plane(one, *divisors)),
                (Component(2, 0, bits, scale), g, Component(1, 0, bits, scale), alpha))
            found[f"G{depth}_B{depth}R{depth}_2PLANE_{reduction}_UNORM{suffix}"] = _Layout(
                (Plane(one), Plane(two, *divisors)), (Component(1, 1, bits, scale), g, Component(1, 0, bits, scale), alpha))
    return found


def _single_plane(known: PixelFormat) -> _Layout:
    if known.layout != "plain" or known.color_space != "rgb" or any(c.type != "void" and not (c.type == "unsigned" and c.normalized)
                                                                   for c in known.channels):  # fmt: skip
        raise UnsupportedError(f"a YCbCr conversion of {known.name}, whose components are no unsigned fractions")
    sizes = [known.channels[place].size if place < _ZERO else 0 for place in known.swizzle]
    if not sizes[1]:
        raise UnsupportedError(f"a YCbCr conversion of {known.name}, which has no green")
    # Views put the channels of the memory in order.
    r, g, b, a = (Component(0, place, size or sizes[1]) for place, size in enumerate(sizes))
    return _Layout((Plane(known.name),), (r, g, b, a))


@cache
def _layout(name: str) -> _Layout:
    if name in _PACKED:
        raise UnsupportedError(f"the packed format {name}: its texels share chroma inside of one plane")
    return _multi_planar()[name] if name in _multi_planar() else _single_plane(pixel_format(name))


@checked
def planes_of(format: str) -> tuple[Plane, ...]:
    """Return the planes of a format: one of Vulkan's of several planes, such as ``G8_B8R8_2PLANE_420_UNORM``, or a pixel format.

    Raises
    ------
    InputError
        No such format.
    UnsupportedError
        A format that no conversion takes, packed ones such as ``G8B8G8R8_422_UNORM`` among them.
    """
    return _layout(format).planes


@checked
@dataclass(frozen=True)
class YcbcrConversion:
    """What VkSamplerYcbcrConversionCreateInfo says.

    Attributes
    ----------
    format : str
        One of Vulkan's formats of several planes, such as ``G8_B8R8_2PLANE_420_UNORM``, or a pixel format.
    model : YcbcrModel
    range : YcbcrRange
    chroma_location : tuple of ChromaLocation
        In x and y.
    chroma_filter : ChromaFilter
        Of planes with fewer texels; others are filtered as the sampler says.
    swizzle : tuple of int
        For the components r, g, b and a, before range and model: the component of the format, or 4 for zero and 5 for one.
    explicit_reconstruction : bool
        Whether chroma is found at each texel of brightness first, and filtered as brightness is, instead of at the coordinates alone.

    Raises
    ------
    InputError
        A format that does not exist, or numbers that are no swizzle.
    UnsupportedError
        A format that no conversion takes.
    """

    format: str
    model: YcbcrModel = YcbcrModel.RGB_IDENTITY
    range: YcbcrRange = YcbcrRange.FULL
    chroma_location: tuple[ChromaLocation, ChromaLocation] = (ChromaLocation.MIDPOINT, ChromaLocation.MIDPOINT)
    chroma_filter: ChromaFilter = ChromaFilter.LINEAR
    swizzle: tuple[int, int, int, int] = (0, 1, 2, 3)
    explicit_reconstruction: bool = False

    def __post_init__(self) -> None:
        for name, kind in (("model", YcbcrModel), ("range", YcbcrRange), ("chroma_filter", ChromaFilter)):
            object.__setattr__(self, name, _member(kind, getattr(self, name)))
        object.__setattr__(self, "chroma_location", tuple(_member(ChromaLocation, each) for each in self.chroma_location))
        if len(self.chroma_location) != 2 or len(self.swizzle) != 4 or any(entry not in range(6) for entry in self.swizzle):
            raise InputError(f"a YCbCr conversion with chroma at {self.chroma_location} and a swizzle of {self.swizzle}")
        _layout(self.format)

    @property
    def planes(self) -> tuple[Plane, ...]:
        """The planes, in the order of their descriptors."""
        return _layout(self.format).planes

    @property
    def reduced(self) -> tuple[bool, bool]:
        """Whether chroma has half as many texels, in x and y."""
        return self.planes[-1].width_divisor > 1, self.planes[-1].height_divisor > 1

    def sources(self) -> tuple[Component, Component, Component, Component]:
        """Return where r, g, b and a come from, after the swizzle."""
        own = _layout(self.format).components
        bits = own[1].bits
        r, g, b, a = (own[entry] if entry < _ZERO else Component(-1, 0, bits, constant=float(entry == _ONE)) for entry in self.swizzle)
        return r, g, b, a

    def rows(self) -> tuple[tuple[float, ...], ...]:
        """Return what each component of the result is: a factor for each component that is sampled, and what is added."""
        sources = self.sources()
        expanded = [self._expansion(place, source) for place, source in enumerate(sources)]
        found = []
        for weights in (*self._model(), (0.0, 0.0, 0.0, 1.0)):
            terms = [(weight * factor, weight * offset) for weight, (factor, offset) in zip(weights, expanded, strict=True)]
            found.append((*(factor for factor, _ in terms), sum(offset for _, offset in terms)))
        return tuple(found)

    def _expansion(self, place: int, source: Component) -> tuple[float, float]:
        """Factor and summand of a component by range."""
        scale, last = source.scale, float((1 << source.bits) - 1)
        if self.model == YcbcrModel.RGB_IDENTITY or place == 3:
            return scale, 0.0
        unit = float(1 << source.bits) / 256
        if self.range == YcbcrRange.FULL:
            return scale, 0.0 if place == 1 else -128 * unit / last
        return (scale * last / (219 * unit), -16 / 219) if place == 1 else (scale * last / (224 * unit), -128 / 224)

    def _model(self) -> tuple[tuple[float, ...], ...]:
        """Weights of Cr, Y, Cb and alpha in red, green and blue."""
        if self.model not in _RED_AND_BLUE:
            return (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)
        red, blue = _RED_AND_BLUE[self.model]
        green = 1 - red - blue
        return ((2 * (1 - red), 1.0, 0.0, 0.0), (-2 * red * (1 - red) / green, 1.0, -2 * blue * (1 - blue) / green, 0.0),
                (0.0, 1.0, 2 * (1 - blue), 0.0))

    def shift(self) -> tuple[float, float]:
        """Return what is added, in texels of brightness, to the coordinates of chroma.

        Chroma that is not filtered is, where it is reconstructed explicitly, that of the texel over a texel of brightness, wherever it lies.
        """
        counts = not self.explicit_reconstruction or self.chroma_filter == ChromaFilter.LINEAR
        moves = [counts and reduced and location == ChromaLocation.COSITED_EVEN
                 for reduced, location in zip(self.reduced, self.chroma_location, strict=True)]
        return 0.5 * moves[0], 0.5 * moves[1]

    def chroma_sampler(self, sampler: Sampler) -> Sampler:
        """Return the sampler of planes with fewer texels."""
        if not any(self.reduced):
            return sampler
        linear = self.chroma_filter == ChromaFilter.LINEAR
        number = _BILINEAR if linear else _POINT
        return replace(sampler, mag_filter=number, min_filter=number, truncate=not linear)

    def chroma_sampler_bits(self, gfx_level: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return which bits of a sampler's dwords are other ones for planes with fewer texels, and what they are."""
        if not any(self.reduced):
            return (0,) * 4, (0,) * 4
        first, third = registers(gfx_level)["SQ_IMG_SAMP_WORD0"], registers(gfx_level)["SQ_IMG_SAMP_WORD2"]
        linear = self.chroma_filter == ChromaFilter.LINEAR
        truncated, filtered = first.encode(TRUNC_COORD=1), third.encode(XY_MAG_FILTER=_BILINEAR, XY_MIN_FILTER=_BILINEAR)
        clear = third.encode(XY_MAG_FILTER=3, XY_MIN_FILTER=3)
        return (truncated, 0, clear, 0), (0 if linear else truncated, 0, filtered if linear else 0, 0)


def _member(kind: type[StrEnum], value: str) -> StrEnum:
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{kind.__name__} {value!r}; there are {', '.join(kind)}") from None
