"""A dispatch from registers: what the hardware reads of them when a dispatch packet comes.

Sources: LLVM's AMDGPU user guide (COMPUTE_PGM_RSRC1 to 3), the register headers of the Linux kernel's amdgpu driver; Mesa's
``radv_emit_dispatch_packets`` for partial workgroups, and that a packet's dimensions are ends where a dispatch starts elsewhere than at 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4.memory import canonical
from pyaco.registers import registers

if TYPE_CHECKING:
    from pyaco.emu.device import Device
    from pyaco.emu.report import Report

__all__ = ["launch"]

_MOST_CODE = 1 << 20


def launch(
    device: Device, written: Mapping[int, int], dimensions: tuple[int, int, int], initiator: int, **budgets: Any
) -> tuple[Report, int] | None:
    """Run a dispatch.

    Parameters
    ----------
    device : Device
    written : mapping of int to int
        Registers by byte offset; those that are missing are zero.
    dimensions : tuple of int
        The packet's x, y, z: where the grid ends, in workgroups or with USE_THREAD_DIMENSIONS in invocations.
    initiator : int
        COMPUTE_DISPATCH_INITIATOR.
    **budgets
        ``budget``, ``time_budget``: as for ``Device.dispatch``.

    Returns
    -------
    tuple of Report and int, or None
        The report and how many invocations ran; None where the initiator enables no shader.
    """
    level, known = device.gfx_level, registers(device.gfx_level)

    def value(register: str) -> int:
        return written.get(known[register].offset, 0)

    def field(register: str, name: str) -> int:
        return known[register].field(name).get(value(register))

    starts = known["COMPUTE_DISPATCH_INITIATOR"]
    if not starts.field("COMPUTE_SHADER_EN").get(initiator):
        return None
    def threads(name: str) -> tuple[int, int, int]:
        x, y, z = (field(f"COMPUTE_NUM_THREAD_{axis}", name) for axis in "XYZ")
        return x, y, z

    if starts.field("ORDERED_APPEND_ENBL").get(initiator):
        raise UnsupportedError("dispatches with ORDERED_APPEND_ENBL")
    size = threads("NUM_THREAD_FULL")
    last = threads("NUM_THREAD_PARTIAL") if starts.field("PARTIAL_TG_EN").get(initiator) else size
    if min(size) < 1:
        raise InputError(f"a workgroup of {size} invocations")
    ends = dimensions
    if starts.field("USE_THREAD_DIMENSIONS").get(initiator):
        ends = _three(-(-end // whole) for end, whole in zip(dimensions, size, strict=True))
    first = (0, 0, 0)
    if not starts.field("FORCE_START_AT_000").get(initiator):
        first = _three(value(f"COMPUTE_START_{axis}") for axis in "XYZ")
    groups = _three(max(0, end - start) for end, start in zip(ends, first, strict=True))
    wave = 32 if level >= 100 and starts.field("CS_W32_EN").get(initiator) else 64
    user = known["COMPUTE_USER_DATA_0"].offset
    granule = 256 if level >= 110 else 1024
    scratch = field("COMPUTE_TMPRING_SIZE", "WAVESIZE") * granule // wave if field("COMPUTE_PGM_RSRC2", "SCRATCH_EN") else 0
    shared = field("COMPUTE_PGM_RSRC3", "SHARED_VGPR_CNT") if level >= 100 else 0
    report = device.launch(
        canonical(value("COMPUTE_PGM_LO") << 8 | field("COMPUTE_PGM_HI", "DATA") << 40), _MOST_CODE, groups, size, last_size=last, first_group=first,
        wave_size=wave,
        user_sgprs=[written.get(user + 4 * k, 0) for k in range(field("COMPUTE_PGM_RSRC2", "USER_SGPR"))],
        workgroup_id_mask=sum(field("COMPUTE_PGM_RSRC2", f"TGID_{axis}_EN") << k for k, axis in enumerate("XYZ")),
        workgroup_info=bool(field("COMPUTE_PGM_RSRC2", "TG_SIZE_EN")), ids_in_ttmp=level >= 120, packed_ids=level >= 110,
        local_id_components=field("COMPUTE_PGM_RSRC2", "TIDIG_COMP_CNT") + 1,
        scratch_offset=bool(field("COMPUTE_PGM_RSRC2", "SCRATCH_EN")) and level < 110,
        mode=field("COMPUTE_PGM_RSRC1", "FLOAT_MODE") | (0x100 if level >= 120 else field("COMPUTE_PGM_RSRC1", "DX10_CLAMP") << 8),
        lds_bytes=field("COMPUTE_PGM_RSRC2", "LDS_SIZE") * 512, scratch_bytes=scratch,
        shared_vgpr=(field("COMPUTE_PGM_RSRC1", "VGPRS") + 1) * 4 if shared else 0, **budgets,
    )  # fmt: skip
    return report, prod(whole * max(0, count - 1) + part * (count > 0) for count, whole, part in zip(groups, size, last, strict=True))


def _three(numbers: Iterable[int]) -> tuple[int, int, int]:
    x, y, z = numbers
    return x, y, z
