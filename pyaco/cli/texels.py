"""Files of texels and of tiled memory, as ``pyaco tile`` and ``pyaco detile`` read and write them."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyaco.cli.command_line import Options, read_bytes, write_bytes, write_text
from pyaco.cli.surface import surface_options
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import ONE, PixelFormat

if TYPE_CHECKING:
    from pyaco.addrlib.formatted import Surface

__all__ = ["open_surface", "read_picture", "say", "write_picture"]

_ALPHA = 3


def open_surface(options: Options) -> tuple[Surface, int, int]:
    """Return the surface that the command line describes, where it starts in memory, and the bytes of the memory."""
    from pyaco.addrlib import gpu_config, plane_surfaces

    config = gpu_config(options.chip)
    picture = plane_surfaces(config, **surface_options(options, config.level))
    if not 0 <= options.plane < len(picture.planes):
        raise InputError(f"plane {options.plane} of a picture of {len(picture.planes)}")
    plane = picture.planes[options.plane]
    return plane.surface, plane.offset, plane.surface.size if len(picture.planes) == 1 else picture.total_size


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError("PNG files without Pillow: pip install pyaco[plot]") from None
    return Image


def _check_picture(form: PixelFormat) -> None:
    if form.layout != "plain" or form.color_space == "zs" or any(channel.size != 8 for channel in form.channels):
        raise UnsupportedError(f"PNG of {form.name}: only of colours with channels of 8 bits")


def read_picture(path: str, form: PixelFormat) -> NDArray[np.uint8]:
    """Return the pixels of a picture in the channels of a format: (height, width, channels)."""
    _check_picture(form)
    pillow, file = _pillow(), io.BytesIO(read_bytes(path))
    try:
        with pillow.open(file) as picture:
            colors = np.asarray(picture.convert("RGBA"))
    except Exception as error:  # of a damaged file Pillow raises SyntaxError, IndexError, ValueError and more, of a huge one an error of its own
        raise InputError(f"{path}: {error}") from None
    pixels = np.zeros((*colors.shape[:2], len(form.channels)), np.uint8)
    for component, channel in reversed(list(enumerate(form.swizzle))):
        if channel < len(form.channels):
            pixels[..., channel] = colors[..., component]
    return pixels


def write_picture(path: str, texels: NDArray[Any], form: PixelFormat) -> None:
    """Write texels (height, width, channels) as a picture; colours that the format has not are 0, alpha 255."""
    _check_picture(form)
    pixels = texels.view(np.uint8).reshape(*texels.shape[:2], -1)
    if texels.ndim > 3 or pixels.shape[2] != len(form.channels):
        raise InputError(f"a picture shows one slice and sample, not {texels.shape}")
    colors = np.zeros((*pixels.shape[:2], 4), np.uint8)
    for component, channel in enumerate(form.swizzle):
        colors[..., component] = pixels[..., channel] if channel < len(form.channels) else 255 if channel == ONE or component == _ALPHA else 0
    file = io.BytesIO()
    _pillow().fromarray(colors, "RGBA").save(file, "PNG")
    write_bytes(path, file.getvalue())


def say(options: Options, surface: Surface) -> None:
    """Print what was done, if asked to."""
    if options.json:
        write_text(None, json.dumps({
            "chip": surface.config.name, "format": surface.format.name, "swizzle_mode": surface.swizzle_mode, "size": surface.size,
            "level": options.level, "shape": list(surface.level_shape(options.level)), "plane": options.plane, "stencil": options.stencil,
            "input": options.input, "output": options.output}))
