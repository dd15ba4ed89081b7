"""Descriptors as fields: what each dword says, by the names of the register database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.registers import registers

__all__ = ["KINDS", "DescriptorWord", "decode"]

KINDS = {"buffer": ("SQ_BUF_RSRC_WORD", 4), "image": ("SQ_IMG_RSRC_WORD", 8), "sampler": ("SQ_IMG_SAMP_WORD", 4)}
"""Kinds of descriptors: their registers, and how many dwords they have."""


@dataclass(frozen=True)
class DescriptorWord:
    """One dword of a descriptor.

    Attributes
    ----------
    name : str
    value : int
    fields : dict
        Names of fields to their numbers, or to the names of their values; empty where the dword is one number.
    """

    name: str
    value: int
    fields: dict[str, int | str]


@checked
def decode(kind: str, words: Sequence[int], gfx_level: int) -> tuple[DescriptorWord, ...]:
    """Return what each dword of a descriptor says.

    Parameters
    ----------
    kind : str
        ``buffer``, ``image`` or ``sampler``.
    words : sequence of int
    gfx_level : int
        Hardware level times ten.

    Raises
    ------
    InputError
        No such kind, a wrong number of dwords, or a number that is no dword.
    """
    if kind not in KINDS:
        raise InputError(f"no descriptors are called {kind!r}; kinds: {', '.join(KINDS)}")
    prefix, count = KINDS[kind]
    if len(words) != count:
        raise InputError(f"a descriptor of kind {kind} has {count} dwords, not {len(words)}")
    known = registers(gfx_level)
    found = []
    for number, word in enumerate(words):
        if not 0 <= word < 1 << 32:
            raise InputError(f"dword {number}: {word} is no dword")
        register = known[f"{prefix}{number}"]
        found.append(DescriptorWord(register.name, word, register.decode(word)))
    return tuple(found)
