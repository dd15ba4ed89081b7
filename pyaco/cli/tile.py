"""``pyaco tile``."""

from __future__ import annotations

import math

from pyaco.cli.command_line import CommandLine, Options
from pyaco.cli.surface import add_tiling_arguments
from pyaco.errors import InputError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    add_tiling_arguments(parser, "texels: .npy, .png, or raw bytes", "tiled memory: .npy or raw bytes")
    parser.add_argument("--into", metavar="FILE", help="tiled memory to start from (.npy or raw), for instance with other levels; zeros without")


def run(options: Options) -> None:
    """Put texels into tiled memory."""
    import numpy as np

    from pyaco.cli.arrays import read_array, write_array
    from pyaco.cli.texels import open_surface, read_picture, say

    surface, start, size = open_surface(options)
    if options.input.endswith(".png"):
        texels = read_picture(options.input, surface.format)
    else:
        texels = read_array(options.input)
        if not options.input.endswith(".npy"):
            shape, element = surface.level_shape(options.level), 1 if options.stencil else surface.element_bytes
            if texels.size != math.prod(shape) * element:
                raise InputError(f"{options.input}: {texels.size} bytes; level {options.level} is {shape} of {element} bytes each")
            texels = texels.reshape(*shape, element)
    memory = np.zeros(size, np.uint8) if options.into is None else read_array(options.into).reshape(-1).view(np.uint8).copy()
    if len(memory) < size:
        raise InputError(f"{options.into}: {len(memory)} bytes, the surface has {size}")
    surface.tile(texels, memory[start:], mip=options.level, threads=options.threads, stencil=options.stencil)
    write_array(options.output, memory)
    say(options, surface)
