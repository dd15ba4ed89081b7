"""Small integer functions of the addressing kernels."""

from __future__ import annotations

from pyaco.addrlib.kernels import kernel

__all__ = ["align", "ceil_div", "fmask_bpp", "log2", "reverse_bits", "shift_ceil"]


@kernel
def align(value: int, alignment: int) -> int:
    """Round up to a multiple of a power of two."""
    return (value + alignment - 1) & -alignment


@kernel
def ceil_div(value: int, divisor: int) -> int:
    """Divide, rounding up."""
    return (value + divisor - 1) // divisor


@kernel
def shift_ceil(value: int, bits: int) -> int:
    """Divide by a power of two, rounding up."""
    return (value + (1 << bits) - 1) >> bits


@kernel
def log2(value: int) -> int:
    """Return the position of the highest bit set; 0 for 0."""
    result = 0
    while value > 1:
        value >>= 1
        result += 1
    return result


@kernel
def reverse_bits(value: int, number: int) -> int:
    """Mirror the lowest `number` bits."""
    result = 0
    for i in range(number):
        result |= ((value >> (number - 1 - i)) & 1) << i
    return result


@kernel
def fmask_bpp(num_samples: int, num_frags: int) -> int:
    """Return bits per element of an FMASK: a fragment index per sample, plus one code for unknown when samples exceed fragments."""
    samples = max(num_samples, 1)
    frags = num_frags if num_frags else samples
    bits = log2(frags) + (1 if samples > frags else 0)
    if bits == 3:
        bits = 4
    return max(8, bits * samples)
