"""``pyaco copy``."""

from __future__ import annotations

import json

from pyaco.cli.command_line import CommandLine, Options
from pyaco.cli.textures import image_of_shape, read_texture, shape_of_image, texture_kind, tiling_options, write_texture
from pyaco.errors import InputError
from pyaco.formats import pixel_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyaco.emu import Device
    from pyaco.emu.images import Image
    from pyaco.texture_files import Texture, TextureShape

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("chip", help="a chip, gfx name or product that the emulator runs and the compiler compiles for, such as navi31 or gfx1030")
    parser.add_argument("input", metavar="IN", help=".png, .dds, .ktx2, or the raw memory of a surface that --size and the options with it describe")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help=".png, .dds, .ktx2, or raw memory")
    parser.add_argument("--size", metavar="WxH[xD]", help="of raw memory: pixels of level 0; with a depth it is 3D")
    parser.add_argument("--format", help="of raw memory, or what the pixels of a PNG file become (rgba8)")
    parser.add_argument("--levels", type=int, default=1, help="of raw memory: mip levels")
    parser.add_argument("--layers", type=int, default=1, help="of raw memory: array layers")
    parser.add_argument("--cube", action="store_true", help="of raw memory: a cube, six faces")
    parser.add_argument("--linear", action="store_true", help="of raw memory: rows of pixels, no tiles")
    parser.add_argument("--swizzle-mode", help="of raw memory: its swizzle mode, by number or by a name such as 64KB_S_X")
    parser.add_argument("--to-format", help="convert to a pixel format, by a blit")
    parser.add_argument("--to-linear", action="store_true", help="the output's image has no tiles")
    parser.add_argument("--to-swizzle-mode", help="swizzle mode of the output's image")
    parser.add_argument("--mips", action="store_true", help="make a whole mip chain of level 0")
    parser.add_argument("--filter", choices=("nearest", "linear"), default="linear", help="of the mip chain")
    parser.add_argument("--queue", choices=("direct", "compute", "dma"), default="direct",
                        help="what copies: compute shaders, the same through the packets of a compute queue, or packets of the DMA engine")
    parser.add_argument("--json", action="store_true", help="print one JSON object that says what was done")


def run(options: Options) -> None:
    """Copy a texture through the emulated memory of a chip."""
    from pyaco import meta
    from pyaco.cli.command_line import write_text
    from pyaco.emu import Device

    device = Device(options.chip, threads=1)
    texture = _read(options) if texture_kind(options.input) else None
    shape = texture.shape if texture else _described(options)
    levels = max(shape.width, shape.height, shape.depth).bit_length() if options.mips else shape.level_count
    name = pixel_format(shape.format if options.to_format is None else options.to_format).name
    target = image_of_shape(device, shape, name, levels, **tiling_options(device, options.to_linear, options.to_swizzle_mode))
    moved = 1 if options.mips else levels
    if texture and name == shape.format:
        _load(device, texture, target, moved, options.queue)
    else:
        if texture:
            source = image_of_shape(device, shape, shape.format, shape.level_count)
            _load(device, texture, source, moved, options.queue)
        else:
            source = _raw(device, shape, options)
        for level in range(moved):
            layers = meta.SubresourceLayers(level, 0, shape.layers)
            if name == shape.format:
                meta.copy_image(device, source, target, [meta.ImageCopy(layers, destination=layers)], queue=options.queue)
            else:
                meta.blit_image(device, source, target, [meta.ImageBlit(layers, None, layers)], queue=options.queue)
    if options.mips:
        meta.generate_mipmaps(device, target, options.filter, queue=options.queue)
    _save(device, target, options)
    if options.json:
        write_text(None, json.dumps({
            "chip": target.surface.config.name, "input": options.input, "output": options.output, "format": name, "width": shape.width,
            "height": shape.height, "depth": shape.depth, "layers": shape.layers, "levels": levels, "swizzle_mode": target.surface.swizzle_mode,
            "size": target.surface.size, "queue": options.queue}))


# ------------------------------------------------------------------------------------------------------------------ input
def _read(options: Options) -> Texture:
    """Return what a file holds."""
    picture = texture_kind(options.input) == ".png"
    for name in ("size", "swizzle_mode", "cube", "linear", *(() if picture else ("format",))):
        if getattr(options, name) not in (None, False):
            raise InputError(f"--{name.replace('_', '-')} describes raw memory; {options.input} says itself what it is")
    return read_texture(options.input, "" if options.format is None else pixel_format(options.format).name)


def _load(device: Device, texture: Texture, image: Image, levels: int, queue: str) -> None:
    """Copy the first levels of a texture into an image."""
    from pyaco import meta

    for level, data in enumerate(texture.levels[:levels]):
        staging = device.buffer(data)
        layers = meta.SubresourceLayers(level, 0, texture.shape.layers)
        meta.copy_buffer_to_image(device, staging, image, [meta.BufferImageCopy(subresource=layers)], queue=queue)
        staging.release()


def _described(options: Options) -> TextureShape:
    """Return the shape of raw memory, which the options describe."""
    from pyaco.cli.surface import extent_of
    from pyaco.texture_files import TextureShape

    if not options.size:
        raise InputError(f"{options.input} is raw memory: say its --size, --format and tiling")
    width, height, depth = extent_of(options.size)
    form = pixel_format("rgba8" if options.format is None else options.format).name
    return TextureShape(form, width, height, depth, 6 if options.cube else options.layers, options.cube, options.levels)


def _raw(device: Device, shape: TextureShape, options: Options) -> Image:
    """Return the image whose memory a file is."""
    import numpy as np

    from pyaco.cli.command_line import read_bytes

    image = image_of_shape(device, shape, shape.format, shape.level_count, **tiling_options(device, options.linear, options.swizzle_mode))
    data = np.frombuffer(read_bytes(options.input), np.uint8)
    if len(data) < image.surface.size:
        raise InputError(f"{options.input}: {len(data)} bytes, the surface has {image.surface.size}")
    image.memory[: image.surface.size] = data[: image.surface.size]
    return image


# ----------------------------------------------------------------------------------------------------------------- output
def _save(device: Device, image: Image, options: Options) -> None:
    """Write the output."""
    from pyaco.cli.command_line import write_bytes

    if texture_kind(options.output):
        write_texture(options.output, _to_texture(device, image, options.queue))
    else:
        write_bytes(options.output, image.memory[: image.surface.size].tobytes())


def _to_texture(device: Device, image: Image, queue: str) -> Texture:
    from pyaco import meta
    from pyaco.texture_files import Texture

    shape, levels = shape_of_image(image), []
    for level in range(shape.level_count):
        buffer = device.zeros(shape.level_bytes(level))
        layers = meta.SubresourceLayers(level, 0, shape.layers)
        meta.copy_image_to_buffer(device, image, buffer, [meta.BufferImageCopy(subresource=layers)], queue=queue)
        levels.append(buffer.numpy().tobytes())
        buffer.release()
    return Texture(shape, tuple(levels))
