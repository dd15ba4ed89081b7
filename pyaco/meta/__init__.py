"""Meta operations: copies, blits, clears, mip chains and resolves of images, their metadata, fills and updates of buffers, as drivers have them.

Each is a compute shader, built as NIR, compiled for the chip and run on the emulator, directly or through the packets of a compute queue;
where the DMA engine has a packet for it, by that (``docs/meta.md``).
"""

from __future__ import annotations

from pyaco.meta.blits import blit_image, generate_mipmaps, resolve_image
from pyaco.meta.buffers import copy_buffer, fill_buffer, update_buffer
from pyaco.meta.clears import clear_color_image, clear_depth_stencil_image
from pyaco.meta.compression import (
    decompress_dcc,
    eliminate_cmask,
    eliminate_dcc,
    expand_fmask,
    expand_htile,
    fast_clear_cmask,
    fast_clear_dcc,
    fast_clear_htile,
    retile_dcc,
)
from pyaco.meta.copies import copy_buffer_to_image, copy_image, copy_image_to_buffer
from pyaco.meta.queues import QUEUES
from pyaco.meta.regions import BufferCopy, BufferImageCopy, ImageBlit, ImageCopy, SubresourceLayers

__all__ = ["QUEUES", "BufferCopy", "BufferImageCopy", "ImageBlit", "ImageCopy", "SubresourceLayers", "blit_image", "clear_color_image",
           "clear_depth_stencil_image", "copy_buffer", "copy_buffer_to_image", "copy_image", "copy_image_to_buffer", "decompress_dcc",
           "eliminate_cmask", "eliminate_dcc", "expand_fmask", "expand_htile", "fast_clear_cmask", "fast_clear_dcc", "fast_clear_htile",
           "fill_buffer", "generate_mipmaps", "resolve_image", "retile_dcc", "update_buffer"]
