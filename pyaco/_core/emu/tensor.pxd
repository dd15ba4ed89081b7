"""Tensors of GFX12.5: tiles that one instruction moves between memory and LDS, as a descriptor in SGPRs says. The contract of ``tensor.pyx``."""
from pyaco._core.emu.wave cimport Handler

cdef void fill_tensor(Handler *table) noexcept nogil
