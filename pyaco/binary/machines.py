"""Processors in the ``e_flags`` of code objects.

Source: LLVM's "User Guide for AMDGPU Backend", tables of ``EF_AMDGPU_MACH``, of ``EF_AMDGPU_FEATURE_*_V4``, and of processors.
"""

from __future__ import annotations

from pyaco.errors import UnsupportedError
from pyaco.targets.target_id import supports_sramecc, supports_xnack

__all__ = ["feature_setting", "machine_flags", "target_of_flags"]

MACHINES = {
    "gfx600": 0x20, "gfx601": 0x21, "gfx602": 0x3A, "gfx700": 0x22, "gfx701": 0x23, "gfx702": 0x24, "gfx703": 0x25,
    "gfx704": 0x26, "gfx705": 0x3B, "gfx801": 0x28, "gfx802": 0x29, "gfx803": 0x2A, "gfx805": 0x3C, "gfx810": 0x2B,
    "gfx900": 0x2C, "gfx902": 0x2D, "gfx904": 0x2E, "gfx906": 0x2F, "gfx908": 0x30, "gfx909": 0x31, "gfx90a": 0x3F,
    "gfx90c": 0x32, "gfx942": 0x4C, "gfx950": 0x4F, "gfx1010": 0x33, "gfx1011": 0x34, "gfx1012": 0x35, "gfx1013": 0x42,
    "gfx1030": 0x36, "gfx1031": 0x37, "gfx1032": 0x38, "gfx1033": 0x39, "gfx1034": 0x3E, "gfx1035": 0x3D, "gfx1036": 0x45,
    "gfx1100": 0x41, "gfx1101": 0x46, "gfx1102": 0x47, "gfx1103": 0x44, "gfx1150": 0x43, "gfx1151": 0x4A, "gfx1152": 0x55,
    "gfx1153": 0x58, "gfx1154": 0x57, "gfx1170": 0x5D, "gfx1171": 0x5E, "gfx1172": 0x5C,
    "gfx1200": 0x48, "gfx1201": 0x4E, "gfx1250": 0x49, "gfx1251": 0x5A, "gfx1310": 0x50,
}  # fmt: skip
# What code for several processors says, which has to be of version 6.
_GENERIC = {
    "gfx9-generic": 0x51, "gfx10-1-generic": 0x52, "gfx10-3-generic": 0x53, "gfx11-generic": 0x54, "gfx12-generic": 0x59,
    "gfx9-4-generic": 0x5F, "gfx12-5-generic": 0x5B, "gfx11-7-generic": 0x62, "gfx13-generic": 0x63,
}  # fmt: skip
_TARGETS = {number: target for target, number in (MACHINES | _GENERIC).items()}
_XNACK_SHIFT, _SRAMECC_SHIFT = 8, 10
_GENERIC_VERSION = 1 << 24  # of what the members have in common, so far the first
_SETTINGS = ("unsupported", "any", "off", "on")


def machine_flags(target: str, settings: dict[str, bool] | None = None) -> int:
    """``e_flags`` of a gfx name or a generic processor's; `settings` fixes ``xnack`` and ``sramecc``, which are "any" otherwise."""
    if target not in MACHINES | _GENERIC:
        raise UnsupportedError(f"code objects for {target}")
    flags = MACHINES[target] if target in MACHINES else _GENERIC[target] | _GENERIC_VERSION
    for name, supported, shift in (
        ("xnack", supports_xnack(target), _XNACK_SHIFT), ("sramecc", supports_sramecc(target), _SRAMECC_SHIFT)
    ):  # fmt: skip
        value = (settings or {}).get(name)
        if value is not None and not supported:
            raise UnsupportedError(f"{name} on {target}")
        if supported:
            flags |= (1 if value is None else 3 if value else 2) << shift
    return flags


def target_of_flags(flags: int) -> str:
    """The gfx name that ``e_flags`` mean, or the name of a generic processor."""
    if flags & 0xFF not in _TARGETS:
        raise UnsupportedError(f"code objects of machine {flags & 0xFF:#x}")
    return _TARGETS[flags & 0xFF]


def feature_setting(flags: int, feature: str) -> str:
    """``unsupported``, ``any``, ``off`` or ``on``: what ``e_flags`` say of ``xnack`` or ``sramecc`` (code object version 4 on)."""
    return _SETTINGS[flags >> (_XNACK_SHIFT if feature == "xnack" else _SRAMECC_SHIFT) & 3]
