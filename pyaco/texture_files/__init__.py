"""Files of textures: DDS and KTX2 containers, read and written; elements stay as they are, compressed or not."""

from __future__ import annotations

from pyaco.texture_files.dds import read_dds, write_dds
from pyaco.texture_files.ktx2 import read_ktx2, write_ktx2
from pyaco.texture_files.texture import Texture, TextureShape

__all__ = ["Texture", "TextureShape", "read_dds", "read_ktx2", "write_dds", "write_ktx2"]
