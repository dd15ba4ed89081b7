"""The ABI between compiler and launcher: how the arguments of a compute shader reach the registers of its waves.

The compiler makes the record (``CompiledShader.abi``); the emulator and whoever writes launch packets read it. What stands in which register
is told in ``docs/architecture.md``, "ABI between compiler and emulator".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from operator import index
from typing import Any, TypeVar

from pyaco.errors import InputError, UnsupportedError

_Record = TypeVar("_Record", "UserSgprs", "BindingLayout", "DynamicBuffers")

__all__ = ["Abi", "BindingLayout", "DescriptorSetLayout", "DynamicBuffers", "UserSgprs"]

_ADDRESS32_HI = 0xFFFF8000
_MAX_USER_SGPRS = 32
_MAX_PUSH_BYTES = 256
_MAX_SETS = 32
_MAX_SET_BYTES = (1 << 31) - 1
_MAX_DYNAMIC = 1 << 10
_DESCRIPTOR_BYTES = 16
_TEXTS = ("kind", "type")
_OPTIONAL = ("set", "dword")
#: SGPRs of each kind of argument.
_SGPRS_BY_KIND = {
    "scratch_address": 2, "descriptor_set": 1, "descriptor_set_table": 1, "push_constants": 1, "inline_push_constant": 1, "num_workgroups": 3,
}


@dataclass(frozen=True)
class UserSgprs:
    """One argument in user SGPRs.

    Attributes
    ----------
    kind : str
        ``scratch_address`` (up to GFX8 the first half of a buffer descriptor, swizzled), ``descriptor_set``,
        ``descriptor_set_table``, ``push_constants``, ``inline_push_constant`` or ``num_workgroups``.
    first, count : int
        The SGPRs that hold it.
    set : int or None
        Which descriptor set; only of ``descriptor_set``.
    dword : int or None
        Which dword of the push constants; only of ``inline_push_constant``.
    """

    kind: str
    first: int
    count: int
    set: int | None = None
    dword: int | None = None


@dataclass(frozen=True)
class BindingLayout:
    """Where the descriptors of a binding are.

    Attributes
    ----------
    offset : int
        Byte offset in the set; of dynamic buffers in the block of push constants.
    stride : int
        Bytes from one element to the next.
    count : int
        Elements; 0 where the set chooses.
    type : str
        As ``pyaco.descriptors.types.DescriptorType`` spells it.
    """

    offset: int
    stride: int
    count: int
    type: str


@dataclass(frozen=True)
class DescriptorSetLayout:
    """A descriptor set: its size in bytes, and its bindings by number."""

    size: int
    bindings: Mapping[int, BindingLayout]


@dataclass(frozen=True)
class DynamicBuffers:
    """Descriptors of dynamic buffers, 16 bytes each, behind the push constants: byte offset of the first, and how many there are."""

    offset: int
    count: int


@dataclass(frozen=True, kw_only=True)
class Abi:
    """How arguments reach registers, and what a wave needs.

    Attributes
    ----------
    user_sgprs : tuple of UserSgprs
        In the order of registers, from s0 on.
    user_sgpr_count : int
        SGPRs that they take.
    workgroup_id_mask : int
        A bit for each dimension whose workgroup id the shader reads.
    scratch_wave_offset : bool
        An SGPR behind the workgroup ids has the wave's scratch offset (GFX6 to GFX10).
    local_id_components : int
        1 to 3: components of the local invocation id in VGPRs, where these are not packed into one.
    wave_size : int
        Lanes of a wave, 32 or 64.
    workgroup_size : tuple of int
        Invocations in x, y, z.
    float_mode : int
        The low 8 bits of MODE at the start: rounding and denormals.
    lds_bytes : int
        Of a workgroup.
    scratch_bytes_per_lane : int
    num_sgprs, num_vgprs : int
        Registers of a wave; 0 until register allocation has run.
    push_constant_bytes : int
        The block of push constants that the shader reads.
    address32_hi : int
        The high half of 32-bit addresses.
    descriptor_sets : mapping of int to DescriptorSetLayout
        Of the pipeline's layout, by set number.
    dynamic_buffers : DynamicBuffers or None
    num_shared_vgprs : int
        wave64 on GFX10: VGPRs that both halves share; they follow the others, whose number is rounded up to 4.
    wgp_mode : bool
        The waves of a workgroup may run on both compute units of a pair.
    """

    user_sgprs: tuple[UserSgprs, ...]
    user_sgpr_count: int
    workgroup_id_mask: int
    scratch_wave_offset: bool
    local_id_components: int
    wave_size: int
    workgroup_size: tuple[int, int, int]
    float_mode: int
    lds_bytes: int
    scratch_bytes_per_lane: int
    num_sgprs: int = 0
    num_vgprs: int = 0
    push_constant_bytes: int = 0
    address32_hi: int = _ADDRESS32_HI
    descriptor_sets: Mapping[int, DescriptorSetLayout] = field(default_factory=dict)
    dynamic_buffers: DynamicBuffers | None = None
    num_shared_vgprs: int = 0
    wgp_mode: bool = False

    @classmethod
    def of(cls, abi: Abi | Mapping[str, Any] | None) -> Abi:
        """Return an ABI that is a record or still a mapping.

        Raises
        ------
        InputError
            A mapping that is no ABI, or None: the compilation was stopped before there was one.
        """
        if isinstance(abi, cls):
            return abi
        if abi is None:
            raise InputError("the shader has no ABI: its compilation was stopped early")
        return cls.from_dict(abi)  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Abi:
        """Read what `as_dict` returns, or the same from JSON, where numbers of sets and bindings are text.

        Raises
        ------
        InputError
            A field is missing, or is not what it should be.
        """
        if not isinstance(facts, Mapping):
            raise InputError(f"an ABI is a mapping of its fields, not {facts!r:.60}")
        values: dict[str, Any] = {}
        for each in fields(cls):
            if each.name in facts:
                try:
                    values[each.name] = _READERS.get(each.name, index)(facts[each.name])
                except (TypeError, ValueError, AttributeError, KeyError) as error:
                    raise InputError(f"ABI: {each.name} is {facts[each.name]!r:.80} ({type(error).__name__}: {error})") from None
            elif each.default is MISSING and each.default_factory is MISSING:
                raise InputError(f"ABI: {each.name} is missing")
        return cls(**values)._checked()

    @property
    def dynamic_count(self) -> int:
        """Dynamic buffers of the pipeline's layout, whether the shader uses them or not."""
        bindings = (bound for layout in self.descriptor_sets.values() for bound in layout.bindings.values())
        return sum(bound.count for bound in bindings if bound.type.endswith("_dynamic"))

    def _checked(self) -> Abi:
        """The ABI, where registers and sets are such that a launcher can fill them."""
        if not 0 <= self.user_sgpr_count <= _MAX_USER_SGPRS or not 0 <= self.push_constant_bytes <= _MAX_PUSH_BYTES:
            raise InputError(f"ABI: {self.user_sgpr_count} user SGPRs and {self.push_constant_bytes} bytes of push constants: there are up to "
                             f"{_MAX_USER_SGPRS} and {_MAX_PUSH_BYTES}")  # fmt: skip
        for argument in self.user_sgprs:
            count = _SGPRS_BY_KIND.get(argument.kind)
            if count is None:
                raise UnsupportedError(f"user SGPRs of kind {argument.kind!r}; there are {', '.join(_SGPRS_BY_KIND)}")
            if argument.count != count or not 0 <= argument.first <= self.user_sgpr_count - count:
                raise InputError(f"ABI: {argument.kind} in {argument.count} SGPRs from s{argument.first} on, of {self.user_sgpr_count}")
            if argument.kind == "descriptor_set" and argument.set not in self.descriptor_sets:
                raise InputError(f"ABI: descriptor set {argument.set} is in s{argument.first}, and not among descriptor_sets")
            if argument.kind == "inline_push_constant" and (argument.dword is None or not 0 <= 4 * argument.dword < self.push_constant_bytes):
                raise InputError(f"ABI: dword {argument.dword} of {self.push_constant_bytes} bytes of push constants is in s{argument.first}")
        self._check_sets()
        return self

    def _check_sets(self) -> None:
        dynamic = self.dynamic_buffers
        if dynamic is not None and not (0 <= dynamic.offset <= _MAX_PUSH_BYTES and 0 <= dynamic.count <= _MAX_DYNAMIC):
            raise InputError(f"ABI: {dynamic.count} dynamic buffers at byte {dynamic.offset} of the push constants")
        block_end = 0 if dynamic is None else dynamic.offset + _DESCRIPTOR_BYTES * dynamic.count
        if dynamic is not None and dynamic.count != self.dynamic_count:
            raise InputError(f"ABI: {dynamic.count} dynamic buffers, and bindings for {self.dynamic_count}")
        for number, layout in self.descriptor_sets.items():
            if not 0 <= number < _MAX_SETS or not 0 <= layout.size <= _MAX_SET_BYTES:
                raise InputError(f"ABI: descriptor set {number} of {layout.size} bytes")
            for binding, bound in layout.bindings.items():
                first, end = 0, layout.size
                if bound.type.endswith("_dynamic"):
                    if dynamic is None:
                        continue                                     # of a set that the shader does not use
                    first, end = dynamic.offset, block_end
                if bound.stride < 0 or bound.count < 0 or not first <= bound.offset <= bound.offset + bound.stride * bound.count <= end:
                    raise InputError(f"ABI: binding {binding} of set {number}: {bound.count} elements of {bound.stride} bytes at {bound.offset}")

    def as_dict(self) -> dict[str, Any]:
        """Return the ABI as plain data for JSON; fields that most shaders do not have (dynamic buffers, shared VGPRs, WGP mode) only where set."""
        found: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        found["user_sgprs"] = [_present(argument) for argument in self.user_sgprs]
        found["workgroup_size"] = list(self.workgroup_size)
        found["descriptor_sets"] = {
            number: {"size": layout.size, "bindings": {binding: _present(bound) for binding, bound in layout.bindings.items()}}
            for number, layout in self.descriptor_sets.items()
        }
        for name in ("dynamic_buffers", "num_shared_vgprs", "wgp_mode"):
            if not found[name]:
                del found[name]
        if self.dynamic_buffers is not None:
            found["dynamic_buffers"] = _present(self.dynamic_buffers)
        return found


def _present(record: UserSgprs | BindingLayout | DynamicBuffers) -> dict[str, Any]:
    """The fields of a record that are given."""
    return {name: value for name, value in vars(record).items() if value is not None}


def _workgroup_size(sizes: Any) -> tuple[int, int, int]:
    numbers = [*(index(size) for size in sizes), 1, 1]
    if not 3 <= len(numbers) <= 5 or min(numbers) < 0:
        raise ValueError("expected up to three sizes")
    return numbers[0], numbers[1], numbers[2]


def _record(kind: type[_Record], entry: Any) -> _Record:
    """A record of integers, and of texts where it has some."""
    values: dict[str, Any] = {}
    for name, value in entry.items():
        if name in _TEXTS and not isinstance(value, str):
            raise TypeError(f"{name} is a text, not {value!r:.40}")
        values[name] = value if name in _TEXTS or (value is None and name in _OPTIONAL) else index(value)
    return kind(**values)


def _user_sgprs(entries: Any) -> tuple[UserSgprs, ...]:
    return tuple(_record(UserSgprs, entry) for entry in entries)


def _sets(entries: Any) -> dict[int, DescriptorSetLayout]:
    return {int(number): _set(entry) for number, entry in entries.items()}


def _set(entry: Any) -> DescriptorSetLayout:
    return DescriptorSetLayout(index(entry["size"]), {int(number): _record(BindingLayout, bound) for number, bound in entry["bindings"].items()})


def _dynamic_buffers(entry: Any) -> DynamicBuffers | None:
    return None if entry is None else _record(DynamicBuffers, entry)


_READERS: dict[str, Any] = {
    "user_sgprs": _user_sgprs, "scratch_wave_offset": bool, "workgroup_size": _workgroup_size, "descriptor_sets": _sets,
    "dynamic_buffers": _dynamic_buffers, "wgp_mode": bool,
}  # fmt: skip
