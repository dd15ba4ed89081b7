"""Processors that code can be assembled for: the chips of ``pyaco.targets``, and others of which pyaco knows only the instruction set.

Source: LLVM's "User Guide for AMDGPU Backend", processor table.
"""

from __future__ import annotations

from pyaco.errors import InputError
from pyaco.targets import chip, chips
from pyaco.targets.target_id import generic_members, generic_processors

__all__ = ["assembly_target", "processor", "processors"]

#: Code names by gfx name and gfx level, for processors that ``pyaco.targets`` does not list.
_OTHERS: dict[tuple[str, int], tuple[str, ...]] = {
    ("gfx600", 60): ("tahiti",), ("gfx601", 60): ("pitcairn", "verde"), ("gfx602", 60): ("hainan", "oland"),
    ("gfx700", 70): ("kaveri",), ("gfx701", 70): ("hawaii",), ("gfx702", 70): (), ("gfx703", 70): ("kabini", "mullins"),
    ("gfx704", 70): ("bonaire",), ("gfx705", 70): (),
    ("gfx801", 80): ("carrizo",), ("gfx802", 80): ("iceland", "tonga"), ("gfx803", 80): ("fiji", "polaris10", "polaris11"),
    ("gfx805", 80): ("tongapro",), ("gfx810", 80): ("stoney",),
    ("gfx904", 90): ("vega12",), ("gfx909", 90): (),
    ("gfx1010", 100): ("navi10",), ("gfx1011", 100): ("navi12",), ("gfx1012", 100): ("navi14",), ("gfx1013", 100): (),
    ("gfx1150", 115): ("strix",), ("gfx1151", 115): ("strix_halo",), ("gfx1152", 115): ("krackan",), ("gfx1153", 115): (),
    ("gfx1154", 115): (), ("gfx1170", 117): (), ("gfx1171", 117): (), ("gfx1172", 117): (),
    ("gfx1250", 125): (), ("gfx1251", 126): (), ("gfx1310", 130): (),
}  # fmt: skip
_BY_NAME = {name: key for key, names in _OTHERS.items() for name in (key[0], *names)}


def processors() -> list[str]:
    """The gfx names of all processors."""
    return [name for name, _ in _OTHERS] + [found.target for found in chips() if found.target not in _BY_NAME]


def processor(name: str) -> tuple[str, int]:
    """The gfx name and gfx level of a target.

    Parameters
    ----------
    name
        A gfx name, chip name or product name.

    Raises
    ------
    InputError
        No such target.
    UnsupportedError
        A generic one (``gfx11-generic``), of which there is no hardware.
    """
    if name.lower() in _BY_NAME:
        return _BY_NAME[name.lower()]
    try:
        found = chip(name)
    except InputError as error:
        raise InputError(f"{error}; to assemble and disassemble also {', '.join(key[0] for key in _OTHERS)}") from None
    return found.target, found.level


def assembly_target(name: str) -> tuple[str, int]:
    """The gfx name and gfx level of what text is for: a processor, or what the members of a generic one have in common, at their lowest level.

    Parameters
    ----------
    name
        A gfx name, the name of a generic processor, a chip name or product name.

    Raises
    ------
    InputError
        No such target.
    """
    generic = name.lower()
    return (generic, processor(generic_members(generic)[0])[1]) if generic in generic_processors() else processor(name)
