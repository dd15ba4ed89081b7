"""A launch: machine code in device memory, the grid that runs it, and the state that every wave of the grid starts in.

It is made from a compiled shader's ABI (here), from a kernel descriptor and an AQL packet (`pyaco.emu.hsa`), or from the registers that a
command stream has written (`pyaco.pm4.launch`).

Sources: LLVM's "User Guide for AMDGPU Backend", "Initial Kernel Execution State" (user SGPRs, workgroup ids, work-item ids, scratch), AMD's
ISA documents (MODE, TTMP registers).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pyaco.errors import InputError, UnsupportedError
from pyaco.targets import features, lds_limits

if TYPE_CHECKING:
    from pyaco.abi import Abi

__all__ = ["CLUSTER_LIMIT", "DEFAULT_BUDGET", "RESIDENT_WAVES", "Extent", "Launch", "extent", "initial_mode"]

#: Wave instructions that a dispatch may execute unless it says otherwise.
DEFAULT_BUDGET = 1 << 36
#: The most waves that the engines keep where workgroups wait for each other.
RESIDENT_WAVES = 4096
#: The most workgroups of a cluster.
CLUSTER_LIMIT = 16

Extent: TypeAlias = tuple[int, int, int]
"""Counts in x, y, z."""

_DX10_CLAMP = 0x100
_IEEE = 0x200
_FP16_OVFL = 0x800000
_MAX_COUNT = (1 << 32) - 1
_MAX_INVOCATIONS = 1024
_MAX_USER_SGPRS = 32


class Launch(NamedTuple):
    """What runs, and the state of its waves at the start.

    A named tuple because a small dispatch costs little more than its record, and a frozen dataclass takes four times as long to make.

    Attributes
    ----------
    entry : int
        Address of the first instruction.
    code_bytes : int
        Bytes of the code.
    groups : tuple of int
        Workgroups in x, y, z.
    size : tuple of int
        Invocations of a workgroup.
    wave_size : int
        Lanes of a wave, 32 or 64.
    code_start : int or None
        Where the code begins, if not at `entry`; offsets in errors and traces count from there.
    last_size : tuple of int or None
        Invocations of the last workgroup of each dimension, where it is partial.
    first_group : tuple of int
        The workgroup that the grid starts at.
    user_sgprs : sequence of int
        What s0, s1 ... hold.
    workgroup_id_mask : int
        A bit for each dimension whose workgroup id stands in an SGPR behind them.
    ids_in_ttmp : bool
        Workgroup ids stand in TTMP7 and TTMP9 instead.
    workgroup_info : bool
        An SGPR behind the ids has the number of waves (bits 0-5), this wave's index (6-11, from GFX10.3 on 20-24 too), and bit 31 in the first
        wave.
    scratch_offset : bool
        The next SGPR has the wave's scratch offset.
    packed_ids : bool
        v0 has the local ids as x | y << 10 | z << 20.
    local_id_components : int
        VGPRs with local ids, where they are not packed.
    shared_vgpr : int
        The first VGPR that both halves of a wave64 share, 0 where there is none.
    mode : int
        MODE.
    lds_bytes : int
        LDS of a workgroup.
    lds_used : int or None
        What was asked for, where `lds_bytes` are that rounded up, for the memory check.
    scratch_bytes : int
        Scratch of a lane.
    scratch_slots : int or None
        Workgroups that scratch in device memory has room for at once; None where there is no such limit.
    private : tuple of int
        Address and size of memory in which each wave has a part of its own, for the race detector.
    wgp_mode : bool
        The waves of a workgroup do not share a first-level cache (GFX10 and later), for the wait checker.
    cooperative : bool
        All workgroups are there at once and take turns, because they may wait for each other by looking at memory.
    cluster : tuple of int
        Workgroups of a cluster (GFX12.5), whose waves may meet at its barrier; (1, 1, 1) where there are none.
    """

    entry: int
    code_bytes: int
    groups: Extent
    size: Extent
    wave_size: int
    code_start: int | None = None
    last_size: Extent | None = None
    first_group: Extent = (0, 0, 0)
    user_sgprs: Sequence[int] = ()
    workgroup_id_mask: int = 0
    ids_in_ttmp: bool = False
    workgroup_info: bool = False
    scratch_offset: bool = False
    packed_ids: bool = False
    local_id_components: int = 1
    shared_vgpr: int = 0
    mode: int = 0x1C0
    lds_bytes: int = 0
    lds_used: int | None = None
    scratch_bytes: int = 0
    scratch_slots: int | None = None
    private: tuple[int, int] = (0, 0)
    wgp_mode: bool = False
    cooperative: bool = False
    cluster: Extent = (1, 1, 1)

    @classmethod
    def from_abi(cls, abi: Abi, gfx_level: int, *, entry: int, code_bytes: int, groups: Extent, user_sgprs: Sequence[int]) -> Launch:
        """Return the launch of a compiled shader that lies at `entry`, its arguments in `user_sgprs`."""
        return cls(
            entry=entry, code_bytes=code_bytes, groups=groups, size=abi.workgroup_size, wave_size=abi.wave_size, user_sgprs=user_sgprs,
            workgroup_id_mask=abi.workgroup_id_mask, ids_in_ttmp=features.has_workgroup_ids_in_ttmp(gfx_level),
            scratch_offset=abi.scratch_wave_offset and not features.has_architected_flat_scratch(gfx_level),
            packed_ids=features.has_packed_ids(gfx_level), local_id_components=abi.local_id_components,
            shared_vgpr=-(-abi.num_vgprs // 4) * 4 if abi.num_shared_vgprs else 0, mode=initial_mode(gfx_level, abi.float_mode),
            lds_bytes=abi.lds_bytes, scratch_bytes=abi.scratch_bytes_per_lane, wgp_mode=abi.wgp_mode,
        )  # fmt: skip

    @property
    def code_base(self) -> int:
        """Address that offsets in the code count from."""
        return self.entry if self.code_start is None else self.code_start

    @property
    def workgroups(self) -> int:
        """Workgroups of the grid."""
        return prod(self.groups)

    @property
    def waves(self) -> int:
        """Waves of the grid: in each dimension those of all workgroups but the last, and of the last."""
        last = self.last_size or self.size
        if last == self.size:
            return self.workgroups * -(-prod(self.size) // self.wave_size)
        axes = [((count - 1, whole), (1, part)) for count, whole, part in zip(self.groups, self.size, last, strict=True) if count]
        chosen = product(*axes) if len(axes) == 3 else ()
        return sum(prod(count for count, _ in kinds) * -(-prod(items for _, items in kinds) // self.wave_size) for kinds in chosen)

    @property
    def invocations(self) -> int:
        """Invocations of the grid."""
        last = self.last_size or self.size
        return prod(whole * max(0, count - 1) + part * (count > 0) for count, whole, part in zip(self.groups, self.size, last, strict=True))

    def check(self, target: str, gfx_level: int) -> None:
        """Raise where no hardware of the target could run this.

        Raises
        ------
        InputError
            A grid, a wave size, a workgroup, a cluster, an amount of LDS or a number of user SGPRs that there is not.
        UnsupportedError
            A cooperative launch of more waves than the engines keep.
        """
        self._check_extents()
        has = {32: features.has_wave32, 64: features.has_wave64}.get(self.wave_size)
        if has is None or not has(gfx_level):
            raise InputError(f"{target} has no waves of {self.wave_size} lanes")
        if not 1 <= prod(self.size) <= _MAX_INVOCATIONS:
            raise InputError(f"a workgroup of {prod(self.size)} invocations: hardware has 1 to {_MAX_INVOCATIONS}")
        if len(self.user_sgprs) > _MAX_USER_SGPRS:
            raise InputError(f"{len(self.user_sgprs)} user SGPRs: hardware has up to {_MAX_USER_SGPRS}")
        most = lds_limits(gfx_level).limit
        if not 0 <= self.lds_bytes <= most:
            raise InputError(f"{self.lds_bytes} bytes of LDS: a workgroup of {target} has up to {most}")
        if self.last_size is not None and any(not 1 <= part <= whole for part, whole in zip(self.last_size, self.size, strict=True)):
            raise InputError(f"last workgroups of {self.last_size} invocations where the others have {self.size}")
        if self.workgroups >= 1 << 63:
            raise InputError(f"a grid of {self.workgroups} workgroups")
        if self.cluster != (1, 1, 1):
            self._check_clusters(target, gfx_level)
        if self.cooperative and self.waves > RESIDENT_WAVES:
            raise UnsupportedError(f"a cooperative launch of {self.waves} waves: the emulator keeps up to {RESIDENT_WAVES}")

    def _check_clusters(self, target: str, gfx_level: int) -> None:
        if not features.has_clusters(gfx_level):
            raise InputError(f"{target} has no clusters of workgroups")
        if not _is_extent(self.cluster) or not 1 <= prod(self.cluster) <= CLUSTER_LIMIT:
            raise InputError(f"clusters of {self.cluster!r:.80} workgroups: hardware has up to {CLUSTER_LIMIT}")
        for counts in (self.groups, self.first_group):
            if any(count % size for count, size in zip(counts, self.cluster, strict=True)):
                raise InputError(f"clusters of {self.cluster} workgroups do not fill a grid of {self.groups} from {self.first_group} on")

    def _check_extents(self) -> None:
        given = (self.groups, self.size) if self.last_size is None else (self.groups, self.size, self.last_size)
        for counts in given if self.first_group == (0, 0, 0) else (*given, self.first_group):
            if not _is_extent(counts):
                raise InputError(f"{counts!r:.80} in a launch: expected counts in x, y, z")

    def engine_arguments(self) -> dict[str, Any]:
        """Return the launch as the engines take it, behind entry, workgroups and size."""
        return {
            "wave_size": self.wave_size, "user_sgprs": self.user_sgprs, "workgroup_id_mask": self.workgroup_id_mask,
            "ids_in_ttmp": self.ids_in_ttmp, "packed_ids": self.packed_ids, "local_id_components": self.local_id_components,
            "workgroup_info": self.workgroup_info, "scratch_offset": self.scratch_offset, "mode": self.mode, "lds_bytes": self.lds_bytes,
            "scratch_bytes": self.scratch_bytes, "shared_vgpr": self.shared_vgpr, "last_size": self.last_size, "first_group": self.first_group,
            "scratch_slots": 0xFFFFFFFF if self.scratch_slots is None else self.scratch_slots, "cooperative": self.cooperative,
            "cluster": self.cluster,
        }  # fmt: skip


def _is_extent(counts: object) -> bool:
    if not isinstance(counts, (tuple, list)) or len(counts) != 3:
        return False
    x, y, z = counts
    return 0 <= x <= _MAX_COUNT and 0 <= y <= _MAX_COUNT and 0 <= z <= _MAX_COUNT


def initial_mode(gfx_level: int, float_mode: int, *, dx10_clamp: bool = True, ieee: bool = False, fp16_overflow: bool = False) -> int:
    """Return what MODE holds at the start of a wave.

    Parameters
    ----------
    gfx_level : int
    float_mode : int
        The low 8 bits: rounding and denormals.
    dx10_clamp, ieee : bool
        Of COMPUTE_PGM_RSRC1; levels whose MODE does not have these bits always clamp NaN to 0, and are never in IEEE mode.
    fp16_overflow : bool
        FP16_OVFL.
    """
    clamps = dx10_clamp or not features.has_dx10_clamp_mode(gfx_level)
    return (float_mode & 0xFF | (_DX10_CLAMP if clamps else 0) | (_IEEE if ieee and features.has_ieee_mode(gfx_level) else 0)
            | (_FP16_OVFL if fp16_overflow else 0))  # fmt: skip


def extent(values: Sequence[int], what: str) -> Extent:
    """Return up to three counts as x, y, z, those that are missing as 1.

    Raises
    ------
    InputError
        Others than up to three counts.
    """
    numbers = [int(value) for value in values]
    if len(numbers) < 3:
        numbers += [1] * (3 - len(numbers))
    if len(numbers) != 3 or min(numbers) < 0 or max(numbers) >= 1 << 31:
        raise InputError(f"{what} {tuple(values)}: expected up to three counts")
    return numbers[0], numbers[1], numbers[2]
