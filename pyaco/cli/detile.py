"""``pyaco detile``."""

from __future__ import annotations

import argparse

from pyaco.cli.surface import add_tiling_arguments

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of this verb."""
    add_tiling_arguments(parser, "tiled memory: .npy or raw bytes", "texels: .npy, .png, or raw bytes")


def run(options: argparse.Namespace) -> None:
    """Take texels out of tiled memory."""
    from pyaco.cli.texels import open_surface, read_array, say, write_array, write_picture

    surface = open_surface(options)
    texels = surface.detile(read_array(options.input), mip=options.level, threads=options.threads)
    if options.output.endswith(".png"):
        write_picture(options.output, texels, surface.format)
    else:
        write_array(options.output, texels)
    say(options, surface)
