"""Buffers by their descriptors in the NIR interpreter: elements with a stride, swizzled ones, offsets of the vector and of the scalar unit.

Addresses and range checks as the ISA documents (Vega, RDNA 2, RDNA 3, RDNA 4) have them under "Buffer Addressing".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyaco._core.ir.vocabulary import Access
from pyaco.errors import UnsupportedError
from pyaco.nir.interpreter_memory import Memory
from pyaco.nir.interpreter_state import UINT, Array
from pyaco.targets.features import has_oob_select, has_records_in_bytes, has_strict_structures

__all__ = ["DescribedBuffers"]

DWORD = 4
BY_INDEX, IF_ANY, IN_BYTES = 1, 2, 3  # OOB_SELECT


@dataclass(frozen=True)
class Descriptor:
    """What the four dwords of a buffer's descriptor say.

    Attributes
    ----------
    base, stride, records : int
    swizzle : int
        Bytes of a swizzled buffer that stay together; 0: it is not swizzled.
    together : int
        Elements whose dwords alternate.
    check : int
        OOB_SELECT.
    level : int
        Hardware level times ten.
    """

    base: int
    stride: int
    records: int
    swizzle: int
    together: int
    check: int
    level: int

    @classmethod
    def of_words(cls, words: tuple[int, int, int, int], level: int) -> Descriptor:
        """Decode the descriptor."""
        if level >= 110:
            swizzle = 2 << (words[1] >> 30) if words[1] >> 30 else 0
        else:
            swizzle = (DWORD if level >= 100 else 2 << (words[3] >> 19 & 3)) if words[1] >> 31 else 0
        return cls(words[0] | (words[1] & 0xFFFF) << 32, words[1] >> 16 & 0x3FFF, words[2], swizzle, 8 << (words[3] >> 21 & 3),
                   words[3] >> 28 & 3, level)

    def address(self, index: int, offset: int, scalar: int) -> int:
        """Return where a byte of an element is."""
        if not self.swizzle:
            return self.base + scalar + index * self.stride + offset
        block = index // self.together * self.stride * self.together + offset // self.swizzle * self.together * self.swizzle
        return self.base + scalar + block + index % self.together * self.swizzle + offset % self.swizzle

    def holds(self, index: int, offset: int, scalar: int, size: int, indexed: bool) -> bool:
        """Whether an access is in range."""
        if has_oob_select(self.level) and self.check == IF_ANY:
            return self.records != 0
        if has_oob_select(self.level) and self.check != IN_BYTES:
            return index < self.records and (self.check == BY_INDEX or offset + size <= self.stride)
        if not has_oob_select(self.level) and self.stride and indexed and not has_records_in_bytes(self.level):
            return index < self.records and (offset < self.stride or not (self.swizzle or has_strict_structures(self.level)))
        if self.swizzle and self.stride:
            records = self.records // self.stride if has_oob_select(self.level) else self.records
            return index < records and offset < self.stride
        return index * self.stride + offset + (0 if has_strict_structures(self.level) else scalar) + size <= self.records


class DescribedBuffers(Memory):
    """Loads and stores that name element, vector offset and scalar offset."""

    def _reach(self, i: int, sources: tuple[Array, ...], lane: int, step: int, size: int) -> tuple[Array, int] | None:
        """The region and place of `size` bytes of a lane, `step` bytes behind its first; None: out of range."""
        words, vector, scalar, index = sources
        w0, w1, w2, w3 = (int(word[lane]) for word in words)
        descriptor = Descriptor.of_words((w0, w1, w2, w3), self.shader.info["gfx_level"])
        place = int(index[0, lane]), int(vector[0, lane]) + self._index(i, "base") + step, int(scalar[0, lane])
        indexed = bool(self._index(i, "access") & Access.IS_SWIZZLED_AMD) or bool(index.any())
        if not descriptor.holds(*place, size, indexed):
            return None
        return self.memory.find(descriptor.address(*place), size)

    def _do_load_buffer_amd(self, i: int, mask: Array, *sources: Array) -> Array:
        if self._index(i, "access") & Access.USES_FORMAT_AMD:
            raise UnsupportedError("the NIR interpreter has no formats of buffers")
        out = self._zero(i)
        size = self.bit_size[i] // 8
        raw = np.zeros((self.padded, self.components[i] * size), np.uint8)
        for lane in np.flatnonzero(mask):
            for step in range(0, raw.shape[1], min(size, DWORD)):
                found = self._reach(i, sources, int(lane), step, min(size, DWORD))
                if found is not None:
                    region, at = found
                    raw[lane, step : step + min(size, DWORD)] = region[at : at + min(size, DWORD)]
        out[:] = raw.view(UINT[self.bit_size[i]]).T
        return out

    def _do_store_buffer_amd(self, i: int, mask: Array, value: Array, *sources: Array) -> None:
        size = value.dtype.itemsize
        raw = np.ascontiguousarray(value.T).view(np.uint8)
        for lane in np.flatnonzero(mask):
            for step in range(0, raw.shape[1], min(size, DWORD)):
                found = self._reach(i, sources, int(lane), step, min(size, DWORD))
                if found is not None and self._index(i, "write_mask") >> step // size & 1:
                    region, at = found
                    region[at : at + min(size, DWORD)] = raw[lane, step : step + min(size, DWORD)]
