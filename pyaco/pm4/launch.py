"""A dispatch from registers: what the hardware reads of them when a dispatch packet comes.

Sources: LLVM's AMDGPU user guide (COMPUTE_PGM_RSRC1 to 3), the register headers of the Linux kernel's amdgpu driver; Mesa's
``radv_emit_dispatch_packets`` for partial workgroups, and that a packet's dimensions are ends where a dispatch starts elsewhere than at 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyaco.emu.launch import Extent, Launch, initial_mode
from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4.memory import canonical
from pyaco.registers import registers
from pyaco.targets import features, lds_limits

__all__ = ["border_colors_from_registers", "launch_from_registers"]

_CODE_BYTES = 1 << 20


def launch_from_registers(level: int, written: Mapping[int, int], dimensions: Extent, initiator: int) -> Launch | None:
    """Return the launch of a dispatch, or None where the initiator enables no shader.

    Parameters
    ----------
    level : int
        Hardware level times ten.
    written : mapping of int to int
        Registers by byte offset; those that are missing are zero.
    dimensions : tuple of int
        The packet's x, y, z: where the grid ends, in workgroups or with USE_THREAD_DIMENSIONS in invocations.
    initiator : int
        COMPUTE_DISPATCH_INITIATOR.

    Raises
    ------
    UnsupportedError
        An ordered dispatch.
    InputError
        A workgroup without invocations.
    """
    state = _Registers(level, written, initiator)
    if not state.starts("COMPUTE_SHADER_EN"):
        return None
    if state.starts("ORDERED_APPEND_ENBL"):
        raise UnsupportedError("dispatches with ORDERED_APPEND_ENBL")
    size = state.extent("COMPUTE_NUM_THREAD_{}", "NUM_THREAD_FULL")
    if min(size) < 1:
        raise InputError(f"a workgroup of {size} invocations")
    first, groups = _grid(state, dimensions, size)
    wave = 32 if features.has_wave32(level) and state.starts("CS_W32_EN") else 64
    uses_scratch = bool(state.field("COMPUTE_PGM_RSRC2", "SCRATCH_EN"))
    granule = 256 if features.has_scratch_granule_256(level) else 1024
    shares_vgprs = features.has_shared_vgprs(level) and state.field("COMPUTE_PGM_RSRC3", "SHARED_VGPR_CNT")
    user = state.known["COMPUTE_USER_DATA_0"].offset
    return Launch(
        entry=canonical(state.value("COMPUTE_PGM_LO") << 8 | state.field("COMPUTE_PGM_HI", "DATA") << 40), code_bytes=_CODE_BYTES,
        groups=groups, size=size, first_group=first,
        last_size=state.extent("COMPUTE_NUM_THREAD_{}", "NUM_THREAD_PARTIAL") if state.starts("PARTIAL_TG_EN") else None,
        wave_size=wave, user_sgprs=[written.get(user + 4 * k, 0) for k in range(state.field("COMPUTE_PGM_RSRC2", "USER_SGPR"))],
        workgroup_id_mask=sum(state.field("COMPUTE_PGM_RSRC2", f"TGID_{axis}_EN") << k for k, axis in enumerate("XYZ")),
        ids_in_ttmp=features.has_workgroup_ids_in_ttmp(level), workgroup_info=bool(state.field("COMPUTE_PGM_RSRC2", "TG_SIZE_EN")),
        scratch_offset=uses_scratch and not features.has_architected_flat_scratch(level),
        packed_ids=features.has_packed_ids(level), local_id_components=state.field("COMPUTE_PGM_RSRC2", "TIDIG_COMP_CNT") + 1,
        shared_vgpr=(state.field("COMPUTE_PGM_RSRC1", "VGPRS") + 1) * 4 if shares_vgprs else 0, mode=_mode(state),
        lds_bytes=lds_limits(level).decode(state.field("COMPUTE_PGM_RSRC2", "LDS_SIZE")),
        scratch_bytes=state.field("COMPUTE_TMPRING_SIZE", "WAVESIZE") * granule // wave if uses_scratch else 0,
        wgp_mode=features.has_wgp_mode(level) and bool(state.field("COMPUTE_PGM_RSRC1", "WGP_MODE")),
    )  # fmt: skip


def border_colors_from_registers(level: int, written: Mapping[int, int]) -> int | None:
    """Return the address of the table of border colours that TA_CS_BC_BASE_ADDR names, or None where nobody wrote it (or could)."""
    known = registers(level)
    if "TA_CS_BC_BASE_ADDR" not in known or known["TA_CS_BC_BASE_ADDR"].offset not in written:
        return None
    address = written[known["TA_CS_BC_BASE_ADDR"].offset] << 8
    if "TA_CS_BC_BASE_ADDR_HI" in known:               # not on GFX6, whose addresses have 40 bits
        high = known["TA_CS_BC_BASE_ADDR_HI"]
        address |= high.field("ADDRESS").get(written.get(high.offset, 0)) << 40
    return canonical(address)


class _Registers:
    """Registers by name, as a dispatch finds them."""

    def __init__(self, level: int, written: Mapping[int, int], initiator: int) -> None:
        self.level, self.known = level, registers(level)
        self._written, self._initiator = written, initiator

    def value(self, register: str) -> int:
        """A register, zero where nothing was written."""
        return self._written.get(self.known[register].offset, 0)

    def field(self, register: str, name: str) -> int:
        """A field of a register."""
        return self.known[register].field(name).get(self.value(register))

    def has_field(self, register: str, name: str) -> bool:
        """Whether the register of this level has such a field."""
        return any(each.name == name for each in self.known[register].fields)

    def starts(self, name: str) -> int:
        """A field of COMPUTE_DISPATCH_INITIATOR."""
        return self.known["COMPUTE_DISPATCH_INITIATOR"].field(name).get(self._initiator)

    def extent(self, register: str, name: str) -> Extent:
        """A field that three registers have, one for each axis."""
        return _extent(self.field(register.format(axis), name) for axis in "XYZ")


def _grid(state: _Registers, dimensions: Extent, size: Extent) -> tuple[Extent, Extent]:
    """The first workgroup, and how many there are."""
    ends = dimensions
    if state.starts("USE_THREAD_DIMENSIONS"):
        ends = _extent(-(-end // whole) for end, whole in zip(dimensions, size, strict=True))
    first = (0, 0, 0)
    if not state.starts("FORCE_START_AT_000"):
        first = _extent(state.value(f"COMPUTE_START_{axis}") for axis in "XYZ")
    return first, _extent(max(0, end - start) for end, start in zip(ends, first, strict=True))


def _mode(state: _Registers) -> int:
    def is_set(name: str) -> bool:
        return state.has_field("COMPUTE_PGM_RSRC1", name) and bool(state.field("COMPUTE_PGM_RSRC1", name))

    return initial_mode(state.level, state.field("COMPUTE_PGM_RSRC1", "FLOAT_MODE"), dx10_clamp=is_set("DX10_CLAMP"), ieee=is_set("IEEE_MODE"),
                        fp16_overflow=is_set("FP16_OVFL"))  # fmt: skip


def _extent(numbers: Iterable[int]) -> Extent:
    x, y, z = numbers
    return x, y, z
