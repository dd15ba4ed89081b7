"""``pyaco tile``."""

from __future__ import annotations

import argparse
import math

from pyaco.cli.surface import add_tiling_arguments
from pyaco.errors import InputError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of this verb."""
    add_tiling_arguments(parser, "texels: .npy, .png, or raw bytes", "tiled memory: .npy or raw bytes")
    parser.add_argument("--into", metavar="FILE", help="tiled memory to start from (.npy or raw), for instance with other levels; zeros without")


def run(options: argparse.Namespace) -> None:
    """Put texels into tiled memory."""
    from pyaco.cli.texels import open_surface, read_array, read_picture, say, write_array

    surface = open_surface(options)
    if options.input.endswith(".png"):
        texels = read_picture(options.input, surface.format)
    else:
        texels = read_array(options.input)
        if not options.input.endswith(".npy"):
            shape = surface.level_shape(options.level)
            if texels.size != math.prod(shape) * surface.element_bytes:
                raise InputError(f"{options.input}: {texels.size} bytes; level {options.level} is {shape} of {surface.element_bytes} bytes each")
            texels = texels.reshape(*shape, surface.element_bytes)
    memory = None if options.into is None else read_array(options.into).copy()
    write_array(options.output, surface.tile(texels, memory, mip=options.level, threads=options.threads))
    say(options, surface)
