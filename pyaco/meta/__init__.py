"""Meta operations: copies, blits, clears, mip chains and resolves of images, fills and updates of buffers, as drivers have them.

Each is a compute shader, built as NIR, compiled for the chip and run on the emulator, directly or through the packets of a compute queue;
where the DMA engine has a packet for it, by that (``docs/meta.md``).
"""

from __future__ import annotations

from pyaco.meta.blits import blit_image, generate_mipmaps, resolve_image
from pyaco.meta.buffers import copy_buffer, fill_buffer, update_buffer
from pyaco.meta.clears import clear_color_image, clear_depth_stencil_image
from pyaco.meta.copies import copy_buffer_to_image, copy_image, copy_image_to_buffer
from pyaco.meta.queues import QUEUES
from pyaco.meta.regions import BufferCopy, BufferImageCopy, ImageBlit, ImageCopy, SubresourceLayers

__all__ = ["QUEUES", "BufferCopy", "BufferImageCopy", "ImageBlit", "ImageCopy", "SubresourceLayers", "blit_image", "clear_color_image",
           "clear_depth_stencil_image", "copy_buffer", "copy_buffer_to_image", "copy_image", "copy_image_to_buffer", "fill_buffer",
           "generate_mipmaps", "resolve_image", "update_buffer"]
