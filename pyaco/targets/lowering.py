"""Which operations on 64-bit integers and doubles are lowered: Mesa's options, their sets by target, and how they are written.

Sources: the names and their order are those of Mesa's ``nir_lower_int64_options`` and ``nir_lower_doubles_options``
(``nir_shader_compiler_options.h``); ``MOV64`` is older than these and has a bit of its own here. What RADV lowers for AMD's chips, and ANV where a
chip has neither 64-bit integers nor doubles, is in Mesa's ``radv_physical_device.c`` and ``brw_compiler.c``.
"""

from __future__ import annotations

from enum import IntFlag, auto
from functools import lru_cache
from typing import TypeVar

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.targets import features

__all__ = ["DoublesLowering", "Int64Lowering", "doubles_lowering", "int64_lowering", "spelled"]


class Int64Lowering(IntFlag):
    """Options of the pass ``lower_int64``: operations on 64-bit integers that become operations on 32-bit halves."""

    IMUL64 = auto()
    ISIGN64 = auto()
    DIVMOD64 = auto()
    IMUL_HIGH64 = auto()
    BCSEL64 = auto()
    ICMP64 = auto()
    IADD64 = auto()
    IABS64 = auto()
    INEG64 = auto()
    LOGIC64 = auto()
    MINMAX64 = auto()
    SHIFT64 = auto()
    IMUL_2X32_64 = auto()
    EXTRACT64 = auto()
    UFIND_MSB64 = auto()
    BIT_COUNT64 = auto()
    SUBGROUP_SHUFFLE64 = auto()
    SCAN_REDUCE_BITWISE64 = auto()
    SCAN_REDUCE_IADD64 = auto()
    VOTE_IEQ64 = auto()
    USUB_SAT64 = auto()
    IADD_SAT64 = auto()
    FIND_LSB64 = auto()
    CONV64 = auto()
    UADD_SAT64 = auto()
    IADD3_64 = auto()
    BITFIELD_REVERSE64 = auto()
    BITFIELD_EXTRACT64 = auto()
    MOV64 = auto()


class DoublesLowering(IntFlag):
    """Options of the pass ``lower_doubles``: operations on 64-bit floats that become additions, products and integer operations.

    With ``FP64_FULL_SOFTWARE`` no operation on a 64-bit float is left.
    """

    DRCP = auto()
    DSQRT = auto()
    DRSQ = auto()
    DTRUNC = auto()
    DFLOOR = auto()
    DCEIL = auto()
    DFRACT = auto()
    DROUND_EVEN = auto()
    DMOD = auto()
    DSUB = auto()
    DDIV = auto()
    DSIGN = auto()
    DMINMAX = auto()
    DSAT = auto()
    FP64_FULL_SOFTWARE = auto()


_I, _D = Int64Lowering, DoublesLowering

#: What RADV asks for on AMD's chips; besides, what instruction selection here has no rows for: reversed bits and bit fields of 64 bits.
AMD_INT64 = (_I.IMUL64 | _I.IMUL_HIGH64 | _I.IMUL_2X32_64 | _I.DIVMOD64 | _I.MINMAX64 | _I.IABS64 | _I.IADD_SAT64 | _I.CONV64
             | _I.BITFIELD_REVERSE64 | _I.BITFIELD_EXTRACT64)  # fmt: skip
AMD_DOUBLES = _D.DRCP | _D.DSQRT | _D.DRSQ | _D.DDIV
#: And on GFX6, whose V_FRACT_F64 is not exact enough to make the others of.
GFX6_DOUBLES = AMD_DOUBLES | _D.DTRUNC | _D.DFLOOR | _D.DCEIL | _D.DFRACT | _D.DROUND_EVEN

_Flag = TypeVar("_Flag", Int64Lowering, DoublesLowering)


def _named(kind: type[_Flag], words: str, sets: dict[str, _Flag]) -> _Flag:
    """The options that words joined by ``+`` name."""
    known = sets | {name.lower(): option for name, option in kind.__members__.items()}
    result = kind(0)
    for word in words.split("+"):
        if word not in known:
            raise InputError(f"{kind.__name__} has no option {word!r}; there are: {', '.join(known)} (several are joined by +)")
        result |= known[word]
    return result


def _all(kind: type[_Flag]) -> _Flag:
    result = kind(0)
    for option in kind:
        result |= option
    return result


@checked
def int64_lowering(level: int, choice: str | Int64Lowering = "hardware") -> Int64Lowering:
    """Return the options of ``lower_int64`` that a choice stands for.

    Parameters
    ----------
    level : int
        gfx level, such as 103.
    choice : str or Int64Lowering
        ``hardware``: what the chips of this level lack, as RADV has it; ``all``: everything, as ANV has it; ``none``; names of options in lower
        case. Several are joined by ``+``.

    Returns
    -------
    Int64Lowering

    Raises
    ------
    InputError
        There is no such option.
    """
    if isinstance(choice, Int64Lowering):
        return choice
    return _int64_named(level, choice)


@lru_cache(maxsize=1024)
def _int64_named(level: int, choice: str) -> Int64Lowering:
    everything = _all(Int64Lowering)
    return _named(Int64Lowering, choice, {"hardware": AMD_INT64 if features.has_int64(level) else everything,
                                         "all": everything, "none": Int64Lowering(0)})  # fmt: skip


@checked
def doubles_lowering(level: int, choice: str | DoublesLowering = "hardware") -> DoublesLowering:
    """Return the options of ``lower_doubles`` that a choice stands for.

    Parameters
    ----------
    level : int
        gfx level, such as 103.
    choice : str or DoublesLowering
        ``hardware``: what the chips of this level lack, as RADV has it; ``lowered``: everything but addition, products and comparison;
        ``software``: no double is left, as ANV has it on chips without them; ``none``; names of options in lower case. Several are joined by ``+``.

    Returns
    -------
    DoublesLowering

    Raises
    ------
    InputError
        There is no such option.
    """
    if isinstance(choice, DoublesLowering):
        return choice
    return _doubles_named(level, choice)


@lru_cache(maxsize=1024)
def _doubles_named(level: int, choice: str) -> DoublesLowering:
    everything = _all(DoublesLowering)
    hardware = AMD_DOUBLES if features.has_fp64_rounding(level) else GFX6_DOUBLES if features.has_fp64(level) else everything
    return _named(DoublesLowering, choice, {"hardware": hardware,
                                            "lowered": everything ^ DoublesLowering.FP64_FULL_SOFTWARE, "software": everything,
                                            "none": DoublesLowering(0)})  # fmt: skip


@checked
def spelled(options: Int64Lowering | DoublesLowering) -> str:
    """Return options as the passes take them: names joined by ``+``, or ``none``.

    Parameters
    ----------
    options : Int64Lowering or DoublesLowering

    Returns
    -------
    str
    """
    return "+".join(str(option.name).lower() for option in type(options) if option in options) or "none"
