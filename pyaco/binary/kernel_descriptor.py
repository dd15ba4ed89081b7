"""Kernel descriptors: the 64 bytes that tell the command processor how to launch an HSA kernel.

Source: LLVM's "User Guide for AMDGPU Backend", sections "Kernel Descriptor" and ".amdhsa_kernel".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.isa.processors import assembly_target
from pyaco.targets.target_id import supports_xnack

__all__ = ["KernelDescriptor", "kernel_descriptor"]

_LAYOUT = struct.Struct("<IIIIq20xIIIHHI")
_GFX90A_FAMILY = (92, 94, 95)
_GFX12_5 = (125, 126)
# Levels with a sixth bit of the number of user SGPRs, and named barriers.
_SINCE_GFX12_5 = (*_GFX12_5, 130)
_NEWEST = 1000
_FIXED_SGPRS = 96


@dataclass(frozen=True)
class _Field:
    """A field of the descriptor that a directive sets to its value.

    `word` is an attribute of ``KernelDescriptor``; `levels` the first and the last gfx level that have it; `sgprs` how many
    user SGPRs it asks for; `scratch` whether it needs flat scratch to be architected (True) or not (False); `family` the only levels that have it,
    `lacking` levels that do not.
    """

    word: str
    shift: int
    bits: int
    levels: tuple[int, int] = (0, _NEWEST)
    default: int = 0
    sgprs: int = 0
    scratch: bool | None = None
    family: tuple[int, ...] | None = None
    lacking: tuple[int, ...] = ()

    def exists(self, level: int) -> bool:
        if (self.family is not None and level not in self.family) or level in self.lacking:
            return False
        if self.scratch is not None and self.scratch != architected_flat_scratch(level):
            return False
        return self.levels[0] <= level <= self.levels[1]

    def of(self, descriptor: KernelDescriptor) -> int:
        return int(getattr(descriptor, self.word)) >> self.shift & ((1 << self.bits) - 1)


# By directive without ".amdhsa_", in the order in which user SGPRs are filled.
_FIELDS = {
    "group_segment_fixed_size": _Field("group_segment_fixed_size", 0, 32),
    "private_segment_fixed_size": _Field("private_segment_fixed_size", 0, 32),
    "kernarg_size": _Field("kernarg_size", 0, 32),
    "user_sgpr_private_segment_buffer": _Field("properties", 0, 1, sgprs=4, scratch=False),
    "user_sgpr_dispatch_ptr": _Field("properties", 1, 1, sgprs=2),
    "user_sgpr_queue_ptr": _Field("properties", 2, 1, sgprs=2),
    "user_sgpr_kernarg_segment_ptr": _Field("properties", 3, 1, sgprs=2),
    "user_sgpr_dispatch_id": _Field("properties", 4, 1, sgprs=2),
    "user_sgpr_flat_scratch_init": _Field("properties", 5, 1, sgprs=2, scratch=False),
    "user_sgpr_private_segment_size": _Field("properties", 6, 1, sgprs=1),
    # its value is the number of SGPRs
    "user_sgpr_kernarg_preload_length": _Field("preload", 0, 7, family=(*_GFX90A_FAMILY, *_GFX12_5)),
    "user_sgpr_kernarg_preload_offset": _Field("preload", 7, 9, family=(*_GFX90A_FAMILY, *_GFX12_5)),
    "wavefront_size32": _Field("properties", 10, 1, (100, _NEWEST)),
    "uses_dynamic_stack": _Field("properties", 11, 1),
    "system_sgpr_private_segment_wavefront_offset": _Field("rsrc2", 0, 1, scratch=False),
    "enable_private_segment": _Field("rsrc2", 0, 1, scratch=True),
    "system_sgpr_workgroup_id_x": _Field("rsrc2", 7, 1, default=1),
    "system_sgpr_workgroup_id_y": _Field("rsrc2", 8, 1),
    "system_sgpr_workgroup_id_z": _Field("rsrc2", 9, 1),
    "system_sgpr_workgroup_info": _Field("rsrc2", 10, 1),
    "system_vgpr_workitem_id": _Field("rsrc2", 11, 2),
    "exception_fp_ieee_invalid_op": _Field("rsrc2", 24, 1),
    "exception_fp_denorm_src": _Field("rsrc2", 25, 1),
    "exception_fp_ieee_div_zero": _Field("rsrc2", 26, 1),
    "exception_fp_ieee_overflow": _Field("rsrc2", 27, 1),
    "exception_fp_ieee_underflow": _Field("rsrc2", 28, 1),
    "exception_fp_ieee_inexact": _Field("rsrc2", 29, 1),
    "exception_int_div_zero": _Field("rsrc2", 30, 1),
    "float_round_mode_32": _Field("rsrc1", 12, 2),
    "float_round_mode_16_64": _Field("rsrc1", 14, 2),
    "float_denorm_mode_32": _Field("rsrc1", 16, 2),
    "float_denorm_mode_16_64": _Field("rsrc1", 18, 2, default=3),
    "dx10_clamp": _Field("rsrc1", 21, 1, (0, 119), default=1),
    "round_robin_scheduling": _Field("rsrc1", 21, 1, (120, _NEWEST)),
    "ieee_mode": _Field("rsrc1", 23, 1, (0, 119), default=1),
    "fp16_overflow": _Field("rsrc1", 26, 1, (90, _NEWEST)),
    "workgroup_processor_mode": _Field("rsrc1", 29, 1, (100, _NEWEST), default=1, lacking=_GFX12_5),
    "memory_ordered": _Field("rsrc1", 30, 1, (100, _NEWEST), default=1),
    "forward_progress": _Field("rsrc1", 31, 1, (100, _NEWEST), default=1),
    "tg_split": _Field("rsrc3", 16, 1, family=_GFX90A_FAMILY),
    "shared_vgpr_count": _Field("rsrc3", 0, 4, (100, 119)),
    "named_barrier_count": _Field("rsrc3", 14, 3, family=_SINCE_GFX12_5),
    "inst_pref_size": _Field("rsrc3", 4, 6, (110, 119)),
}
# GFX12's field of the same name is wider.
_INST_PREF_SIZE_GFX12 = _Field("rsrc3", 4, 8, (120, _NEWEST))
# Directives that set a field together with others.
_COMBINED = {
    "next_free_vgpr", "next_free_sgpr", "user_sgpr_count", "accum_offset", "reserve_vcc", "reserve_flat_scratch",
    "reserve_xnack_mask",
}  # fmt: skip


def architected_flat_scratch(level: int) -> bool:
    """Whether FLAT_SCRATCH is a register that the hardware sets, so that no SGPRs are passed for it."""
    return level in (94, 95) or level >= 110


def _fields(level: int) -> dict[str, _Field]:
    fields = {name: field for name, field in _FIELDS.items() if field.exists(level)}
    if level >= 120:
        fields["inst_pref_size"] = _INST_PREF_SIZE_GFX12
    return fields


@checked
@dataclass(frozen=True)
class KernelDescriptor:
    """A kernel descriptor, word by word.

    Attributes
    ----------
    group_segment_fixed_size, private_segment_fixed_size, kernarg_size
        Bytes of LDS of a workgroup, of scratch of a lane, of arguments.
    entry_offset
        Bytes from the descriptor to the first instruction.
    rsrc1, rsrc2, rsrc3
        ``COMPUTE_PGM_RSRC1`` to ``3``.
    properties
        16 bits: the user SGPRs that are enabled, wave size, dynamic stack.
    preload
        16 bits: which dwords of the arguments are preloaded into user SGPRs (gfx90a and its descendants).
    """

    group_segment_fixed_size: int = 0
    private_segment_fixed_size: int = 0
    kernarg_size: int = 0
    entry_offset: int = 0
    rsrc1: int = 0
    rsrc2: int = 0
    rsrc3: int = 0
    properties: int = 0
    preload: int = 0

    @classmethod
    def from_bytes(cls, data: bytes) -> KernelDescriptor:
        """Read the 64 bytes; reserved ones are ignored."""
        if len(data) < _LAYOUT.size:
            raise InputError(f"a kernel descriptor of {len(data)} bytes, not {_LAYOUT.size}")
        lds, scratch, arguments, _, entry, rsrc3, rsrc1, rsrc2, properties, preload, _ = _LAYOUT.unpack_from(data)
        return cls(lds, scratch, arguments, entry, rsrc1, rsrc2, rsrc3, properties, preload)

    def to_bytes(self) -> bytes:
        """The 64 bytes."""
        return _LAYOUT.pack(
            self.group_segment_fixed_size, self.private_segment_fixed_size, self.kernarg_size, 0, self.entry_offset,
            self.rsrc3, self.rsrc1, self.rsrc2, self.properties, self.preload, 0,
        )  # fmt: skip

    @property
    def user_sgpr_count(self) -> int:
        """SGPRs that the packet processor fills, counted from s0.

        GFX12.5 and GFX13 have a sixth bit; it is where others have the trap handler's, which a descriptor may not set.
        """
        return self.rsrc2 >> 1 & 63

    @property
    def wave_size(self) -> int:
        """Lanes of a wave."""
        return 32 if self.properties >> 10 & 1 else 64

    @property
    def float_mode(self) -> int:
        """Rounding and denormals: the 8 bits of MODE at the start of a wave."""
        return self.rsrc1 >> 12 & 0xFF

    @property
    def workgroup_ids(self) -> tuple[bool, bool, bool]:
        """Which of the workgroup's ids are passed in SGPRs."""
        return bool(self.rsrc2 >> 7 & 1), bool(self.rsrc2 >> 8 & 1), bool(self.rsrc2 >> 9 & 1)

    @property
    def workitem_id_components(self) -> int:
        """How many of the lanes' ids are passed in VGPRs, 1 to 3."""
        return min(self.rsrc2 >> 11 & 3, 2) + 1

    @property
    def uses_scratch(self) -> bool:
        """Whether scratch is set up: its wave offset in an SGPR, or the FLAT_SCRATCH register."""
        return bool(self.rsrc2 & 1)

    def user_sgprs(self) -> list[tuple[str, int]]:
        """What the user SGPRs hold, in their order, with the number of SGPRs.

        Names are those of the directives: ``private_segment_buffer``, ``dispatch_ptr``, ``queue_ptr``, ``kernarg_segment_ptr``,
        ``dispatch_id``, ``flat_scratch_init``, ``private_segment_size``, ``kernarg_preload``.
        """
        asked = [
            (name.removeprefix("user_sgpr_"), field.sgprs) for name, field in _FIELDS.items() if field.sgprs and field.of(self)
        ]
        length = _FIELDS["user_sgpr_kernarg_preload_length"].of(self)
        return [*asked, ("kernarg_preload", length)] if length else asked

    def directives(self, target: str) -> dict[str, int]:
        """The directives of an ``.amdhsa_kernel`` block that gives this descriptor.

        Parameters
        ----------
        target
            A gfx name, chip name or product name.

        Returns
        -------
        dict
            Values by directive, without ``.amdhsa_``. The numbers of registers are the largest with the same number of blocks.
        """
        name, level = assembly_target(target)
        values = {directive: field.of(self) for directive, field in _fields(level).items()}
        values["next_free_vgpr"] = ((self.rsrc1 & 63) + 1) * vgpr_granule(level, self.wave_size)
        values["next_free_sgpr"] = 0
        if level < 100:
            extra = extra_sgprs(name, level, True, True)
            count = 8 * ((self.rsrc1 >> 6 & 15) + 1) - extra
            values["next_free_sgpr"] = max(0, min(count, sgpr_limit(name, level, extra)))
        if level in _GFX90A_FAMILY:
            values["accum_offset"] = ((self.rsrc3 & 63) + 1) * 4
        values["user_sgpr_count"] = self.rsrc2 >> 1 & user_sgpr_mask(level)
        return values


def user_sgpr_mask(level: int) -> int:
    """The bits of the number of user SGPRs."""
    return 63 if level in _SINCE_GFX12_5 else 31


def most_user_sgprs(level: int) -> int:
    """The largest number of user SGPRs: what the descriptor can hold; GFX13 has 32."""
    return 32 if level == 130 else user_sgpr_mask(level)


def vgpr_granule(level: int, wave_size: int) -> int:
    """VGPRs of a block, as the descriptor counts them."""
    if level in _GFX12_5:
        return 16 if wave_size == 32 else 8
    return 8 if level in _GFX90A_FAMILY or wave_size == 32 else 4


def extra_sgprs(target: str, level: int, vcc: bool, flat_scratch: bool) -> int:
    """SGPRs at the end of a wave's allocation for VCC, FLAT_SCRATCH and XNACK_MASK; each includes room for those before it."""
    if level < 80:
        return 4 if flat_scratch else 2 if vcc else 0
    if flat_scratch or architected_flat_scratch(level):
        return 6
    return 4 if supports_xnack(target) else 2 if vcc else 0


def sgpr_limit(target: str, level: int, extra: int) -> int:
    """The largest ``.amdhsa_next_free_sgpr`` up to GFX9, with `extra` SGPRs after them."""
    if has_fixed_sgprs(target):
        return _FIXED_SGPRS - extra
    return 102 if level >= 80 else 104 - extra


def has_fixed_sgprs(target: str) -> bool:
    """Whether waves must have a fixed number of SGPRs, because with others their initial contents are wrong."""
    return target in ("gfx802", "gfx805")


@checked
def kernel_descriptor(directives: Mapping[str, int], target: str, *, wave_size: int | None = None) -> KernelDescriptor:
    """The descriptor that an ``.amdhsa_kernel`` block describes.

    Parameters
    ----------
    directives
        Values by directive, without ``.amdhsa_``; ``next_free_vgpr`` and ``next_free_sgpr`` are needed, on gfx90a and its
        descendants ``accum_offset`` too.
    target
        A gfx name, chip name or product name.
    wave_size
        32 or 64 where ``wavefront_size32`` is not given; by default 64 up to GFX9 and 32 later.

    Raises
    ------
    InputError
        A directive is unknown, absent from the target, missing, out of range, or contradicts another.
    """
    name, level = assembly_target(target)
    fields = _fields(level)
    for directive, value in directives.items():
        _check(directive, value, name, level, fields)
    for needed in ("next_free_vgpr", "next_free_sgpr", *(("accum_offset",) if level in _GFX90A_FAMILY else ())):
        if needed not in directives:
            raise InputError(f".amdhsa_{needed} is required on {name}")
    values = {directive: field.default for directive, field in fields.items()} | dict(directives)
    if level >= 100 and "wavefront_size32" not in directives:
        values["wavefront_size32"] = int(wave_size != 64)
    words = dict.fromkeys(("group_segment_fixed_size", "private_segment_fixed_size", "kernarg_size", "rsrc1", "rsrc2", "rsrc3",
                           "properties", "preload"), 0)  # fmt: skip
    for directive, field in fields.items():
        words[field.word] |= values[directive] << field.shift
    vgpr_blocks = _vgpr_blocks(values, level)
    user_sgprs = _user_sgpr_count(values, fields, most_user_sgprs(level))
    words["rsrc1"] |= vgpr_blocks | _sgpr_blocks(values, name, level, user_sgprs) << 6
    words["rsrc2"] |= user_sgprs << 1
    if level in _GFX90A_FAMILY:
        words["rsrc3"] |= _accum_offset(values) // 4 - 1
    _check_shared_vgprs(directives, vgpr_blocks)
    _check_preload(values, 32 if level in _GFX12_5 else 16)
    return KernelDescriptor(**words)


def _check(directive: str, value: int, target: str, level: int, fields: Mapping[str, _Field]) -> None:
    name = f".amdhsa_{directive}"
    if directive not in _FIELDS and directive not in _COMBINED:
        raise InputError(f"{name}: no such directive")
    absent = (
        (directive in _FIELDS and directive not in fields)
        or (directive == "accum_offset" and level not in _GFX90A_FAMILY)
        or (directive == "reserve_flat_scratch" and (level < 70 or architected_flat_scratch(level)))
        or (directive == "reserve_xnack_mask" and level < 80)
    )
    if absent:
        raise InputError(f"{name}: {target} has no such field")
    if directive == "reserve_xnack_mask" and value != int(supports_xnack(target)):
        raise InputError(f"{name}: {int(supports_xnack(target))} is expected on {target}, not {value}")
    bits = fields[directive].bits if directive in fields else 1 if directive.startswith("reserve_") else 32
    if not 0 <= value < 1 << bits:
        raise InputError(f"{name}: {value} is not in 0 to {(1 << bits) - 1}")


def _vgpr_blocks(values: Mapping[str, int], level: int) -> int:
    granule = vgpr_granule(level, 32 if values.get("wavefront_size32") else 64)
    blocks = -(-max(values["next_free_vgpr"], 1) // granule) - 1
    if blocks > 63:
        raise InputError(f".amdhsa_next_free_vgpr: {values['next_free_vgpr']} is beyond {64 * granule}")
    return blocks


def _sgpr_blocks(values: Mapping[str, int], target: str, level: int, user_sgprs: int) -> int:
    if level >= 100:
        return 0
    count = values["next_free_sgpr"]
    if values.get("user_sgpr_kernarg_preload_length"):
        # arguments are written to SGPRs even where the code names none of them (LLVM, AMDGPUAsmParser.cpp)
        count = max(count, user_sgprs)
    extra = extra_sgprs(target, level, bool(values.get("reserve_vcc", 1)), bool(values.get("reserve_flat_scratch", 1)))
    if count > sgpr_limit(target, level, extra):
        raise InputError(f".amdhsa_next_free_sgpr: {count} is beyond {sgpr_limit(target, level, extra)}")
    return -(-max(_FIXED_SGPRS if has_fixed_sgprs(target) else count + extra, 1) // 8) - 1


def _user_sgpr_count(values: Mapping[str, int], fields: Mapping[str, _Field], limit: int) -> int:
    implied = sum(field.sgprs * values[directive] for directive, field in fields.items() if field.sgprs)
    implied += values.get("user_sgpr_kernarg_preload_length", 0)
    count = values.get("user_sgpr_count", implied)
    if count < implied:
        raise InputError(f".amdhsa_user_sgpr_count: {count}, but {implied} user SGPRs are enabled")
    if count > limit:
        raise InputError(f".amdhsa_user_sgpr_count: {count} user SGPRs, beyond {limit}")
    return count


def _accum_offset(values: Mapping[str, int]) -> int:
    offset = values["accum_offset"]
    if not 4 <= offset <= 256 or offset % 4:
        raise InputError(f".amdhsa_accum_offset: {offset} is not a multiple of 4 in 4 to 256")
    if offset > -(-max(values["next_free_vgpr"], 1) // 4) * 4:
        raise InputError(f".amdhsa_accum_offset: {offset} is beyond .amdhsa_next_free_vgpr {values['next_free_vgpr']}")
    return offset


def _check_shared_vgprs(directives: Mapping[str, int], vgpr_blocks: int) -> None:
    shared = directives.get("shared_vgpr_count", 0)
    # as LLVM does: the directive alone counts, not the default wave size
    if shared and directives.get("wavefront_size32"):
        raise InputError(".amdhsa_shared_vgpr_count: waves of 32 lanes share no VGPRs")
    if 2 * shared + vgpr_blocks > 63:
        raise InputError(f".amdhsa_shared_vgpr_count: {shared} with {vgpr_blocks + 1} blocks of VGPRs is beyond the register file")


def _check_preload(values: Mapping[str, int], limit: int) -> None:
    length, offset = values.get("user_sgpr_kernarg_preload_length", 0), values.get("user_sgpr_kernarg_preload_offset", 0)
    if length > limit:
        raise InputError(f".amdhsa_user_sgpr_kernarg_preload_length: {length} is beyond the {limit} user SGPRs")
    if length and values["kernarg_size"] and 4 * (length + offset) > values["kernarg_size"]:
        raise InputError(f".amdhsa_user_sgpr_kernarg_preload_length: {length} dwords from {offset} are beyond .amdhsa_kernarg_size")
