"""What packets run: a shader, and the descriptors that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyaco.descriptors.decode import DescriptorWord
    from pyaco.isa.lines import Line
    from pyaco.pm4.scalars import Use

__all__ = ["Descriptor", "ShaderUse"]


@dataclass(frozen=True)
class Descriptor:
    """A descriptor that a shader uses.

    Attributes
    ----------
    kind : str
        ``buffer``, ``image`` or ``sampler``.
    offset : int
        Of the first instruction that uses it, in bytes from the shader's start.
    address : int or None
        Where it lies in memory; None where the shader puts it together.
    words : tuple of DescriptorWord
    """

    kind: str
    offset: int
    address: int | None
    words: tuple[DescriptorWord, ...]


@dataclass(frozen=True)
class ShaderUse:
    """A shader that a packet runs.

    Attributes
    ----------
    stage : str
        ``CS``, or the stage of the register that points to it.
    address : int
    wave_size : int
    user_sgprs : tuple of int
        What the stream put into user SGPRs; empty for stages of draws.
    lines : tuple of Line
        The disassembly; empty where the memory is not given.
    descriptors : tuple of Descriptor
    loads : tuple of Use
        What its scalar loads read.
    """

    stage: str
    address: int
    wave_size: int
    user_sgprs: tuple[int, ...]
    lines: tuple[Line, ...]
    descriptors: tuple[Descriptor, ...]
    loads: tuple[Use, ...]
