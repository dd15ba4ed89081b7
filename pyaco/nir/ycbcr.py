"""YCbCr conversions of a pipeline's layout, for the pass ``lower_ycbcr``; ``_core/nir/lower_ycbcr`` does the work.

Needs: ``metadata["pipeline_layout"]`` where there are conversions. The option ``conversion`` is for shaders without a layout: the format of all
combined image samplers and, behind slashes, model, range, chroma location in x and in y, chroma filter, ``explicit`` or ``implicit``
(``G8_B8R8_2PLANE_420_UNORM/709/narrow/cosited_even/midpoint/linear/implicit``), as many as there are; explicit reconstruction is
that of samplers which interpolate brightness.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import lower_ycbcr
from pyaco.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from pyaco.descriptors.layout import Binding, PipelineLayout
    from pyaco.descriptors.ycbcr import YcbcrConversion

__all__ = ["compilation_kernel", "conversion_of_text", "run"]

compilation_kernel = lower_ycbcr.compilation_kernel

_AT_COORDINATES, _AT_NEAREST_TEXEL, _BETWEEN_TEXELS = range(3)


def conversion_of_text(text: str) -> YcbcrConversion:
    """Return the conversion that the option says.

    Raises
    ------
    InputError
        Text that is no conversion.
    UnsupportedError
        A format that no conversion takes.
    """
    from pyaco.descriptors.ycbcr import ChromaFilter, ChromaLocation, YcbcrConversion, YcbcrModel, YcbcrRange

    words = text.split("/")
    defaults = ["", "rgb_identity", "full", "midpoint", "midpoint", "linear", "implicit"]
    if len(words) > len(defaults):
        raise InputError(f"{text!r}: a YCbCr conversion has up to {len(defaults)} words")
    name, model, extent, x, y, filtered, reconstruction = [*words, *defaults[len(words) :]]
    if reconstruction not in ("explicit", "implicit"):
        raise InputError(f"{text!r}: reconstruction is explicit or implicit")
    try:
        return YcbcrConversion(name, YcbcrModel(model), YcbcrRange(extent), (ChromaLocation(x), ChromaLocation(y)), ChromaFilter(filtered),
                               explicit_reconstruction=reconstruction == "explicit")
    except ValueError as error:
        raise InputError(f"{text!r}: {error}") from None


def _is_linear(binding: Binding, gfx_level: int) -> bool:
    """Whether the samplers of a binding interpolate brightness."""
    from pyaco.descriptors.sampler import texel_filters

    filters = {number & 1 for words in binding.samplers for number in texel_filters(words, gfx_level)}
    if len(filters) > 1:
        raise UnsupportedError(f"explicit reconstruction of chroma in binding {binding.number}, whose samplers have two filters")
    return filters == {1}


def _numbers(conversion: YcbcrConversion, linear: bool) -> Any:
    """A conversion as the kernel takes it."""
    reduced = any(conversion.reduced)
    components = tuple((source.plane, source.channel, source.constant) for source in conversion.sources())
    explicit = conversion.explicit_reconstruction and reduced
    reconstruction = _AT_COORDINATES if not explicit else _BETWEEN_TEXELS if linear else _AT_NEAREST_TEXEL
    return components, conversion.rows(), len(conversion.planes), reduced, conversion.shift(), reconstruction


def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool:
    """Lower samples of images with a conversion.

    Raises
    ------
    InputError
        An option that says no conversion.
    UnsupportedError
        Samples that such images do not take; explicit reconstruction with a sampler that has two filters.
    """
    layout: PipelineLayout | None = shader.facts.known.get("pipeline_layout")
    text = (options or {}).get("conversion", "")
    if layout is None and not text:
        return False
    level = shader.gfx_level
    conversions = {} if layout is None else {
        (number, binding): _numbers(each.binding.conversion, each.binding.conversion.explicit_reconstruction and _is_linear(each.binding, level))
        for number, held in layout.sets.items() for binding, each in held.bindings.items() if each.binding.conversion is not None}
    if not conversions and not text:
        return False
    return lower_ycbcr.run(shader, conversions, _numbers(conversion_of_text(text), linear=True) if text else None)
