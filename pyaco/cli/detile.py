"""``pyaco detile``."""

from __future__ import annotations

from pyaco.cli.command_line import CommandLine, Options
from pyaco.cli.surface import add_tiling_arguments

__all__ = ["add_arguments", "run"]


def add_arguments(parser: CommandLine) -> None:
    """Describe the command line of this verb."""
    add_tiling_arguments(parser, "tiled memory: .npy or raw bytes", "texels: .npy, .png, or raw bytes")


def run(options: Options) -> None:
    """Take texels out of tiled memory."""
    import numpy as np

    from pyaco.cli.arrays import read_array, write_array
    from pyaco.cli.texels import open_surface, say, write_picture

    surface, start, _ = open_surface(options)
    memory = read_array(options.input).reshape(-1).view(np.uint8)[start:]
    texels = surface.detile(memory, mip=options.level, threads=options.threads, stencil=options.stencil)
    if options.output.endswith(".png"):
        write_picture(options.output, texels, surface.format)
    else:
        write_array(options.output, texels)
    say(options, surface)
