"""How close results are to those of hardware, instruction by instruction.

Most instructions are defined bit for bit. The transcendental unit is not: it is documented to be within 1 ulp in single precision and
0.51 ulp in half (LLVM, "User Guide for AMDGPU Backend", intrinsics ``llvm.amdgcn.sqrt``, ``log``, ``exp2``; the OpenCL conformance of
``native_`` functions for the others), and its double-precision reciprocals are seeds good to 2**29 ulp. The emulator gives the correctly
rounded value there, so hardware's is within that many units of ours. Sums of products whose order of additions hardware leaves open
are rounded once here: each addition of hardware may differ by a rounding. Which bits of its random number a stochastic rounding takes
is not documented.
"""

from __future__ import annotations

import re
from functools import cache

import numpy

from pyaco import isa
from pyaco._core.emu.code import supported_opcodes
from pyaco.arguments import checked
from pyaco.isa import opcodes

__all__ = ["exactness", "survey"]

_FUNCTION = r"(exp|log|rcp|rsq|sqrt|exp_legacy|log_legacy|rcp_iflag|rcp_clamp|rsq_clamp|rcp_legacy|rsq_legacy)"
# The first pattern that matches the name of an opcode has its bound.
_BOUNDS = (
    (rf"v_(s_)?{_FUNCTION}_f32", "within 1 ulp"),
    (rf"v_(s_)?{_FUNCTION}_f16", "within 1 ulp"),
    (rf"v_{_FUNCTION}_f64", "within 2**29 ulp"),
    (r"v_(sin|cos)_f(32|16)", "within 2**-11 absolute"),
    (r"v_(dual_)?dot\d\w*_(f32|f16|bf16|bf8|fp8)\w*", "within 1 ulp"),
    (r"v_cvt_(scalef32_sr_\w+|sr_(pk_)?b?f16_f32)", "within 1 ulp"),
    (r"v_s?wmmac?_(f32|f16|bf16)_16x16x(\d+)\w*", "within {} ulp"),
)


@cache
def exactness(name: str) -> str:
    """Return ``exact``, ``within N ulp`` or ``unsupported`` for an opcode by name (the table's, such as ``v_rcp_f32``).

    A bound is on the difference between hardware's result and the emulator's; where terms cancel it counts in units of the largest
    term. Sines and cosines have an absolute bound: no source gives one in units.
    """
    if opcodes.numbers().get(name) not in _supported():
        return "unsupported"
    for pattern, bound in _BOUNDS:
        match = re.fullmatch(pattern, name)
        if match:
            return bound.format(match.groups()[-1])
    return "exact"


@cache
def _supported() -> frozenset[int]:
    return frozenset(supported_opcodes())


@checked
def survey(code: bytes, target: str) -> dict[str, str]:
    """Return the exactness of every opcode in machine code, executed or not, by name.

    Parameters
    ----------
    code : bytes
        Machine code; what is no instruction of the target is passed over, as data between instructions is.
    target : str
        A gfx name.
    """
    numbers = numpy.unique(isa.decode(code, target)["opcode"])
    names = opcodes.names()
    return {names[number]: exactness(names[number]) for number in numbers.tolist() if number < len(names)}
