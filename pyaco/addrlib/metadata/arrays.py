"""Addresses of many metadata elements from the tables of an equation, which say what each coordinate flips."""

from __future__ import annotations

from typing import Any

from pyaco.addrlib.kernels import kernel

__all__ = ["nibble_addresses"]


@kernel
def nibble_addresses(
    xs: Any, ys: Any, zs: Any, samples: Any, of_x: Any, of_y: Any, of_z: Any, of_s: Any, of_m_low: Any, of_m_high: Any, shape: Any, flip: Any,
    out: Any,
) -> None:
    """Fill in addresses in nibbles; `m` is the index of the meta block, whose halves have a table each."""
    for i in range(out.size):
        x, y, z = xs[i], ys[i], zs[i]
        m = (z >> shape[2]) * shape[4] + (y >> shape[1]) * shape[3] + (x >> shape[0])
        out[i] = of_x[x] ^ of_y[y] ^ of_z[z] ^ of_s[samples[i]] ^ of_m_low[m & 0xFFFF] ^ of_m_high[(m >> 16) & 0xFFFF] ^ flip
