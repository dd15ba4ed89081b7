"""Textures in files, and images of their shape, as ``pyaco copy`` and ``pyaco run`` take them."""

from __future__ import annotations

from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import pixel_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyaco.emu import Device
    from pyaco.emu.images import Image
    from pyaco.texture_files import Texture, TextureShape

__all__ = ["TEXTURE_FILES", "image_of_shape", "read_texture", "shape_of_image", "texture_kind", "tiling_options", "write_texture"]

TEXTURE_FILES = (".png", ".dds", ".ktx2")
_LINEAR_BITS = 96
"""Elements of this size are never tiled."""


def texture_kind(path: str) -> str:
    """Return the suffix of a file of a texture, in lower case; empty for others."""
    return next((kind for kind in TEXTURE_FILES if path.lower().endswith(kind)), "")


def read_texture(path: str, format: str = "") -> Texture:
    """Return what a file of a texture holds; `format` is what the pixels of a PNG file become (rgba8)."""
    from pyaco.cli.command_line import read_bytes
    from pyaco.cli.texels import read_picture
    from pyaco.texture_files import Texture, TextureShape, read_dds, read_ktx2

    kind = texture_kind(path)
    if kind == ".png":
        form = pixel_format(format or "rgba8")
        pixels = read_picture(path, form)
        return Texture(TextureShape(form.name, pixels.shape[1], pixels.shape[0]), (pixels.tobytes(),))
    try:
        return (read_dds if kind == ".dds" else read_ktx2)(read_bytes(path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_texture(path: str, texture: Texture) -> None:
    """Write a file of a texture; a PNG file shows level 0 of one that is a single picture."""
    import numpy as np

    from pyaco.cli.command_line import write_bytes
    from pyaco.cli.texels import write_picture
    from pyaco.texture_files import write_dds, write_ktx2

    kind = texture_kind(path)
    if kind != ".png":
        write_bytes(path, (write_dds if kind == ".dds" else write_ktx2)(texture))
        return
    if texture.shape.slices(0) > 1:
        raise InputError(f"{path}: a picture shows one slice or layer, not {texture.shape.slices(0)}")
    pixels = np.frombuffer(texture.levels[0], np.uint8).reshape(texture.shape.height, texture.shape.width, -1)
    write_picture(path, pixels, texture.shape.pixel_format)


def image_of_shape(device: Device, shape: TextureShape, name: str, levels: int, **tiling: Any) -> Image:
    """Return an image of a texture's shape."""
    kind: dict[str, Any] = {"depth": shape.depth} if shape.depth else {"cube": True} if shape.cube and shape.layers == 6 else {"layers": shape.layers}
    if pixel_format(name).bits == _LINEAR_BITS:
        tiling = tiling | {"linear": True}
    image = device.image(format=name, width=shape.width, height=shape.height, mips=levels, **kind, **tiling)
    layout: Any = image.surface.layout
    mode = tiling.get("swizzle_mode")
    if mode is not None and mode != layout.texel_swizzle_mode:
        raise UnsupportedError(f"swizzle mode {mode} of {image!r}: drivers lay it out as {image.surface.swizzle_mode}")
    return image


def shape_of_image(image: Any) -> TextureShape:
    """Return the shape of the texture that an image is."""
    from pyaco.texture_files import TextureShape

    request = image.surface.request
    return TextureShape(image.format.name, request.width, request.height, request.depth if request.is_3d else 0,
                        1 if request.is_3d else request.array_size, bool(request.is_cube), request.levels)


def tiling_options(device: Device, linear: bool, mode: str | None) -> dict[str, Any]:
    """Return the options of an image that ask for a tiling."""
    from pyaco.cli.surface import swizzle_mode
    from pyaco.targets import features

    if not mode:
        return {"linear": linear}
    if not features.has_swizzle_mode_choice(device.gfx_level):
        raise InputError("swizzle modes can be demanded from GFX10 on")
    return {"linear": linear, "swizzle_mode": swizzle_mode(mode, device.gfx_level)}
