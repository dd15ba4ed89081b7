"""FMASK of GFX6, 7 and 8 as memory: one word for each pixel, which lies as a texel of a single-sampled texture does.

AMD's address library has no addresses for it (`pyaco.addrlib.v1.metadata.fmask_address`). What is known is how drivers let shaders read and
write it: through a descriptor of a 2D texture with the FMASK's tile index and pitch, and a format of 8 to 64 bits. The addresses here are
those of that texture.

Sources: Mesa's ``ac_descriptors.c`` (FMASK descriptors of GFX6 to GFX9), PAL's ``gfx6MaskRam.cpp`` (bits per pixel).
"""

from __future__ import annotations

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.v1 import modes
from pyaco.addrlib.v1.chip import chip_of
from pyaco.addrlib.v1.layout import Layout
from pyaco.addrlib.v1.metadata import fmask_layout
from pyaco.errors import InputError

__all__ = ["fmask_texture"]


def fmask_texture(
    config: GpuConfig, *, tile_mode: int, pitch: int, height: int, num_slices: int = 1, num_samples: int, num_frags: int = 0,
) -> Layout:
    """Return the layout of FMASK as a texture of one sample: what `SurfaceAddresses` takes, for addresses and coordinates.

    Parameters
    ----------
    config : GpuConfig
        A chip of GFX6, 7 or 8.
    tile_mode : int
        That of the colour surface.
    pitch, height, num_slices : int
        Padded pixels of a row of the colour surface; its rows and slices.
    num_samples, num_frags : int
        Samples, and how many of them colour is stored for (0: all).

    Raises
    ------
    InputError
        A surface that has no FMASK.
    """
    fmask = fmask_layout(chip_of(config), tile_mode, pitch, height, num_slices, num_samples, num_frags, False)
    if fmask.status:
        raise InputError(f"no FMASK for {num_samples} samples of {num_frags or num_samples} fragments in tile mode {tile_mode}")
    bits, info = fmask.bits * fmask.samples, fmask.info
    fields = dict.fromkeys(Layout._fields, 0) | {
        "pitch": fmask.pitch, "height": fmask.height, "depth": fmask.slices, "surface_bytes": fmask.bytes, "tile_mode": tile_mode,
        "base_align": fmask.base_align, "pitch_align": fmask.pitch_align, "height_align": fmask.height_align, "depth_align": 1, "bits": bits,
        "pixel_pitch": fmask.pitch, "pixel_height": fmask.height, "pixel_bits": bits, "slice_bytes": fmask.slice_bytes, "samples": 1,
        "tile_type": modes.NON_DISPLAYABLE, "tile_index": fmask.tile_index, "macro_mode_index": fmask.macro_mode_index, "banks": info.banks,
        "bank_width": info.bank_width, "bank_height": info.bank_height, "macro_aspect_ratio": info.macro_aspect_ratio,
        "tile_split_bytes": info.tile_split_bytes, "pipe_config": info.pipe_config}
    return Layout(**fields)
