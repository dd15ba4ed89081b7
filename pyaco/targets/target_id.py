"""Target IDs, such as ``gfx942:sramecc+:xnack-``: a processor, or several by a generic name, and the settings that code is made for.

Source: LLVM's "User Guide for AMDGPU Backend", "Target ID" and tables of processors and of generic processors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["TargetId", "generic_members", "generic_processors", "supports_sramecc", "supports_xnack"]

#: Processors that run code for a generic one; the first, of the lowest gfx level, stands for it where code is only read.
_MEMBERS = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
                      "gfx1154"),
    "gfx11-7-generic": ("gfx1170", "gfx1171", "gfx1172"),
    "gfx12-generic": ("gfx1200", "gfx1201"),
    "gfx12-5-generic": ("gfx1250", "gfx1251"),
    "gfx13-generic": ("gfx1310",),
}
_ID = re.compile(r"([^:]+)((?::[^:]+)*)")
# Where an ID leaves a setting open, the better of two codes is that for what hardware does unless it is told otherwise.
_PREFERENCE = {"xnack": {False: 0, None: 1, True: 2}, "sramecc": {True: 0, None: 1, False: 2}}


def supports_xnack(target: str) -> bool:
    """Whether page faults can be replayed, a setting of code."""
    target = generic_members(target)[0]
    return target in ("gfx801", "gfx810", "gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1250", "gfx1251") or target.startswith("gfx9")


def supports_sramecc(target: str) -> bool:
    """Whether error correction of registers is a setting of code."""
    return target in ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4-generic", "gfx1250", "gfx1251")


def generic_processors() -> tuple[str, ...]:
    """Return the names of all generic processors."""
    return tuple(_MEMBERS)


def generic_members(name: str) -> tuple[str, ...]:
    """Return the processors that run code for `name`: those of a generic one, else itself alone."""
    return _MEMBERS.get(name, (name,))


@dataclass(frozen=True)
class TargetId:
    """A processor with settings.

    Attributes
    ----------
    processor : str
        A gfx name, or a generic one such as ``gfx11-generic``.
    xnack, sramecc : bool, optional
        What is fixed; None is any.
    """

    processor: str
    xnack: bool | None = None
    sramecc: bool | None = None

    @classmethod
    @checked
    def parse(cls, text: str) -> TargetId:
        """Read an ID.

        Parameters
        ----------
        text : str
            Such as ``gfx90a:xnack+``; what stands for the processor is not looked at.

        Raises
        ------
        InputError
            A setting that does not exist, is given twice, or that the processor lacks.
        """
        found = _ID.fullmatch(text)
        if found is None:
            raise InputError(f"target {text!r}: expected a processor and settings, such as gfx942:sramecc+:xnack-")
        settings: dict[str, bool] = {}
        for word in found[2].split(":")[1:]:
            name = word[:-1]
            if name not in _PREFERENCE or word[-1] not in "+-" or name in settings:
                raise InputError(f"target {text!r}: {word!r} is no setting; there are xnack+, xnack-, sramecc+ and sramecc-, each once")
            settings[name] = word[-1] == "+"
        return cls(found[1], **settings)

    def on(self, processor: str) -> TargetId:
        """Return the settings with the gfx name that the processor's name means; it has to have them."""
        for name, value, supported in (("xnack", self.xnack, supports_xnack), ("sramecc", self.sramecc, supports_sramecc)):
            if value is not None and not supported(processor):
                raise InputError(f"target {self}: {processor} has no setting {name}")
        return replace(self, processor=processor)

    def __str__(self) -> str:
        settings = (("sramecc", self.sramecc), ("xnack", self.xnack))
        return self.processor + "".join(f":{name}{'+' if value else '-'}" for name, value in settings if value is not None)

    def runs_on(self, device: TargetId) -> bool:
        """Whether code for this target runs on a device: its processor is among those meant, and no setting of both differs."""
        ours, theirs = (self.xnack, self.sramecc), (device.xnack, device.sramecc)
        agree = all(one is None or other is None or one == other for one, other in zip(ours, theirs, strict=True))
        return agree and device.processor in (self.processor, *generic_members(self.processor))

    def preference(self) -> tuple[bool, int, int]:
        """Sort key among codes that all run: those for the processor itself before generic ones, then what hardware usually is set to."""
        return (self.processor in _MEMBERS, _PREFERENCE["xnack"][self.xnack], _PREFERENCE["sramecc"][self.sramecc])
