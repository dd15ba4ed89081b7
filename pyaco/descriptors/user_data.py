"""What a compute shader's user SGPRs hold: pointers to sets, push constants, or a pointer to them.

Hardware loads up to 16 registers before a wave starts. A descriptor set takes one (the low half of its address; the high half of
the 32-bit region is known), or, where there are too many sets, one register points to a table of them. Push constants that are read
at constant offsets stand in registers as long as there is room; what is read otherwise is reached through a pointer.

Source: Mesa's RADV (``radv_shader_args.c``: ``allocate_inline_push_consts`` and its callers).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyaco.arguments import checked

__all__ = ["USER_SGPRS", "UserData", "assign_user_data"]

USER_SGPRS = 16
"""User SGPRs of a compute shader."""
_MOST_INLINE = 32
_MOST_INLINE_BESIDE_POINTER = 8


@dataclass(frozen=True)
class UserData:
    """What user SGPRs hold, in this order.

    Attributes
    ----------
    table_of_sets : bool
        One register points to a table with a dword for each set; otherwise each set has its own.
    push_pointer : bool
        A register points to push constants and dynamic buffers.
    inline_dwords : tuple of int
        Dwords of push constants that stand in registers, ascending.
    """

    table_of_sets: bool
    push_pointer: bool
    inline_dwords: tuple[int, ...]


@checked
def assign_user_data(
    sets: Collection[int], push_dwords: Collection[int], *, other_push_uses: bool = False, dynamic_buffers: bool = False, others: int = 0
) -> UserData:
    """Decide what reaches a compute shader through user SGPRs.

    Parameters
    ----------
    sets : collection of int
        Descriptor sets that the shader uses.
    push_dwords : collection of int
        Dwords of push constants that it reads at constant offsets.
    other_push_uses : bool
        It reads push constants in other ways too.
    dynamic_buffers : bool
        It has dynamic buffers, which are reached through the pointer.
    others : int
        User SGPRs that other arguments take.
    """
    loads = bool(push_dwords) or other_push_uses or dynamic_buffers
    free = USER_SGPRS - others - loads
    table = free < len(sets)
    free -= 1 if table else len(sets)
    dwords = sorted(push_dwords)
    if dwords and not other_push_uses and not dynamic_buffers and len(dwords) <= min(free + 1, _MOST_INLINE):
        return UserData(table, False, tuple(dwords))
    kept = dwords[: max(min(free, _MOST_INLINE_BESIDE_POINTER), 0)]
    return UserData(table, loads, tuple(kept))
