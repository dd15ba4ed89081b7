"""Code objects: machine code in the files that loaders and tools read."""

from __future__ import annotations

from pyaco.binary.assemble import assemble_code_object
from pyaco.binary.code_object import CodeObject, Kernel, read_code_object
from pyaco.binary.kernel_descriptor import KernelDescriptor, kernel_descriptor
from pyaco.binary.link import link_code_object
from pyaco.binary.offload import OffloadEntry, offload_entries
from pyaco.binary.pal import write_elf
from pyaco.binary.radv import RadvShader, read_radv_shaders, write_radv_shader

__all__ = ["CodeObject", "Kernel", "KernelDescriptor", "OffloadEntry", "RadvShader", "assemble_code_object", "kernel_descriptor", "link_code_object",
           "offload_entries", "read_code_object", "read_radv_shaders", "write_elf", "write_radv_shader"]  # fmt: skip
