"""Code objects: machine code in the files that loaders and tools read."""

from __future__ import annotations

from pyaco.binary.code_object import CodeObject, Kernel, read_code_object
from pyaco.binary.kernel_descriptor import KernelDescriptor, kernel_descriptor
from pyaco.binary.pal import write_elf

__all__ = ["CodeObject", "Kernel", "KernelDescriptor", "kernel_descriptor", "read_code_object", "write_elf"]
