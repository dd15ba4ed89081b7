"""The ABI: which arguments a compute shader gets, in which registers, and the layout of its descriptor sets.

Needs what ``_core/nir/declare_arguments`` needs. Guarantees: ``shader.arguments`` and ``shader.metadata["abi"]`` as
docs/architecture.md describes them. Descriptor sets follow ``metadata["pipeline_layout"]`` (a ``PipelineLayout``) where it is given, else
the shader's own bindings (types "ubo", "ssbo"), or those that ``metadata["descriptor_layout"]`` gives as ``{set: {binding: (type,
count)}}``. ``assign_user_data`` decides which push constants are in registers, and whether sets are reached through a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import declare_arguments
from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.layout import MAX_SETS, Binding, PipelineLayout, SetLayout
from pyaco.descriptors.types import DescriptorType, is_dynamic
from pyaco.descriptors.user_data import UserData, assign_user_data
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.limits import lds_limits

if TYPE_CHECKING:
    from pyaco.descriptors.ycbcr import YcbcrConversion

__all__ = ["compilation_kernel", "own_layout", "run"]

#: Bindings of sets: {set: {binding: (type, count)}}; a count of 0 is a runtime-sized array.
Sets = Mapping[int, Mapping[int, tuple[str, int]]]

#: Types that only instructions with handles read: they bear the names of DescriptorType.
_IMAGES = ("sampler", "sampled_image", "combined_image_sampler", "storage_image", "uniform_texel_buffer", "storage_texel_buffer")
_TYPES = {"ubo": DescriptorType.UNIFORM_BUFFER, "ssbo": DescriptorType.STORAGE_BUFFER} | {name: DescriptorType(name) for name in _IMAGES}
# Descriptors that a shader's buffer may have.
_ALLOWED = {
    "ubo": (DescriptorType.UNIFORM_BUFFER, DescriptorType.UNIFORM_BUFFER_DYNAMIC, DescriptorType.INLINE_UNIFORM_BLOCK),
    "ssbo": (DescriptorType.STORAGE_BUFFER, DescriptorType.STORAGE_BUFFER_DYNAMIC),
    **{name: (DescriptorType(name),) for name in _IMAGES},
    "sampler": (DescriptorType.SAMPLER, DescriptorType.COMBINED_IMAGE_SAMPLER),
    "sampled_image": (DescriptorType.SAMPLED_IMAGE, DescriptorType.COMBINED_IMAGE_SAMPLER),
}


#: What the reader reflected: ((set, ((binding, (type, count)), ...)), ...).
_Reflected = tuple[tuple[int, tuple[tuple[int, tuple[str, int]], ...]], ...]


class _Bindings(NamedTuple):
    """What tells the bindings of a shader: what the reader reflected (NIR text has no reflection), and variables and instructions."""

    reflected: _Reflected
    variables: tuple[tuple[int, int, bool, int], ...]
    resources: tuple[tuple[int, int, bool, int], ...]
    handles: tuple[tuple[int, int, str, int], ...]


def _bindings(shader: Shader) -> _Bindings:
    reflected = tuple([(number, tuple([(binding, (facts["type"], facts["count"])) for binding, facts in bindings.items()]))
                       for number, bindings in shader.metadata.get("descriptor_sets", {}).items()])
    return _Bindings(reflected, declare_arguments.buffer_variables(shader), declare_arguments.resources(shader),
                     declare_arguments.handles(shader))


def _sets_of(known_bindings: _Bindings) -> Sets:
    """The bindings of each set."""
    sets: dict[int, dict[int, tuple[str, int]]] = {
        number: {binding: (_shared_kind(number, binding, kind), count) for binding, (kind, count) in bindings}
        for number, bindings in known_bindings.reflected
    }
    for number, binding, uniform, count in known_bindings.variables:
        bindings = sets.setdefault(number, {})
        known = bindings.get(binding)
        if known is None or (known[1] and known[1] < count):
            bindings[binding] = ("ubo" if uniform else "ssbo", count)
    found: dict[tuple[int, int], tuple[str, int]] = {}
    for number, binding, uniform, element in known_bindings.resources:
        kind, count = "ubo" if uniform else "ssbo", element + 1     # an array indexed at run time has no known end
        first, earlier = found.get((number, binding), sets.get(number, {}).get(binding, (kind, count)))
        kind = _shared_kind(number, binding, first, kind)
        found[number, binding] = (kind, max(earlier, count) if earlier and count else 0)
    for (number, binding), (kind, count) in found.items():
        bindings = sets.setdefault(number, {})
        bindings[binding] = (kind, bindings[binding][1] if binding in bindings else count)     # a declared count stands
    for number, binding, kind, count in known_bindings.handles:
        known = sets.setdefault(number, {}).get(binding)
        if known is not None:
            kind = _shared_kind(number, binding, known[0], kind)
        sets[number][binding] = (kind, max(known[1], count) if known and known[1] and count else count)
    return sets


def _shared_kind(number: int, binding: int, *types: str) -> str:
    """Return the type of a binding that the shader has as several: a combined image sampler, or a mutable descriptor of all of them."""
    kinds = {kind for each in types for kind in each.split("|")}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {DescriptorType.SAMPLER, DescriptorType.SAMPLED_IMAGE, DescriptorType.COMBINED_IMAGE_SAMPLER}:
        return DescriptorType.COMBINED_IMAGE_SAMPLER.value
    if DescriptorType.COMBINED_IMAGE_SAMPLER in kinds:
        raise UnsupportedError(f"binding {binding} of descriptor set {number} is a {' and a '.join(sorted(kinds))}: "
                               "mutable descriptors are no combined image samplers")
    return "|".join(sorted(kinds))


def own_layout(sets: Sets, push_bytes: int = 0) -> PipelineLayout:
    """Return the layout of a pipeline whose sets are those of a shader.

    Parameters
    ----------
    sets
        ``{set: {binding: (type, count)}}``; a count of 0 is a runtime-sized array, which must be the last binding of its set. Several types,
        with ``|`` between them, are a mutable descriptor that may have each (VK_EXT_mutable_descriptor_type).
    push_bytes
        Bytes of push constants.

    Raises
    ------
    UnsupportedError
        A type that no buffer has, a runtime-sized array that is not last, or more sets than there are.
    """
    layouts = {}
    for number, bindings in sets.items():
        if number >= MAX_SETS:
            raise UnsupportedError(f"descriptor set {number}: there are {MAX_SETS}")
        found = []
        for binding, (kind, count) in sorted(bindings.items()):
            types = kind.split("|")
            for each in types:
                if each not in _TYPES:
                    raise UnsupportedError(f"descriptors of type {each}")
            mutable = tuple(_TYPES[each] for each in types) if len(types) > 1 else ()
            if count == 0 and binding != max(bindings):
                raise UnsupportedError(f"binding {binding} is a runtime-sized descriptor array and not the last of its set")
            found.append(Binding(binding, DescriptorType.MUTABLE if mutable else _TYPES[kind], count, mutable=mutable, variable=count == 0))
        layouts[number] = SetLayout(found)
    return PipelineLayout(layouts, push_bytes)


class _Layout(NamedTuple):
    """A pipeline's layout, the sets as the ABI has them, samplers that are fixed by set and binding, and YCbCr conversions."""

    layout: PipelineLayout
    sets: dict[int, dict[str, Any]]
    known_samplers: dict[tuple[int, int], tuple[int, ...]]
    conversions: tuple[tuple[int, int, YcbcrConversion], ...]


def _laid_out(layout: PipelineLayout) -> _Layout:
    placed = [(number, binding, each) for number, members in layout.sets.items() for binding, each in members.bindings.items()]
    return _Layout(
        layout, {number: _described_set(layout, number) for number in sorted(layout.sets)},
        {(number, binding): each.binding.samplers[0] for number, binding, each in placed if each.samplers_known},
        tuple((number, binding, each.binding.conversion) for number, binding, each in placed if each.binding.conversion is not None),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _kept_layout(bindings: _Bindings, push_bytes: int) -> _Layout:
    """The layout of a shader's own bindings: most shaders have those of another one."""
    return _laid_out(own_layout(_sets_of(bindings), push_bytes))


def _check_layout(shader: Shader, layout: PipelineLayout) -> None:
    """Raise InputError for descriptors that a pipeline's layout lacks, or has as descriptors of another type."""
    used = [(number, binding, "ubo" if uniform else "ssbo") for number, binding, uniform, _ in declare_arguments.resources(shader)]
    used += [(number, binding, kind) for number, binding, kind, _ in declare_arguments.handles(shader)]
    for number, binding, kind in used:
        if number not in layout.sets or binding not in layout.sets[number].bindings:
            raise InputError(f"the pipeline layout has no binding {binding} in descriptor set {number}, which the shader uses")
        held = layout.sets[number].bindings[binding].binding
        mutable = held.type == DescriptorType.MUTABLE
        if not set(held.mutable if mutable else (held.type,)) & set(_ALLOWED[kind]):
            raise InputError(f"binding {binding} of descriptor set {number} is a {held.type.value}, and the shader reads a {kind}")


def _described_set(layout: PipelineLayout, number: int) -> dict[str, Any]:
    bindings = {}
    for binding, placed in layout.sets[number].bindings.items():
        dynamic = is_dynamic(placed.binding.type)
        bindings[binding] = {
            "offset": layout.dynamic_offset(number, placed) if dynamic else placed.offset,
            "stride": 16 if dynamic else placed.stride,
            "count": 0 if placed.binding.variable else placed.elements,
            "type": placed.binding.type.value,
        }
    return {"size": layout.sets[number].size, "bindings": bindings}


@lru_cache(maxsize=1024)
def _user_data(sets: tuple[int, ...], push_dwords: tuple[int, ...], other_push_uses: bool, dynamic: bool, others: int) -> UserData:
    return assign_user_data(sets, push_dwords, other_push_uses=other_push_uses, dynamic_buffers=dynamic, others=others)


@lru_cache(maxsize=64)
def _inline_block_descriptor(address32_hi: int, gfx_level: int) -> tuple[int, int, int, int]:
    return raw_buffer(address32_hi << 32, 0, gfx_level)


def _check_workgroup_memory(used: int, level: int) -> None:
    if used and level and used > lds_limits(level).limit:       # level 0: passes run for no chip
        raise UnsupportedError(f"workgroup memory of {used} bytes (at most {lds_limits(level).limit} on this gfx level)")


compilation_kernel = declare_arguments.compilation_kernel


def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool:
    """Declare the arguments.

    Raises
    ------
    InputError
        A wave size that is not 32 or 64, or a pipeline layout that lacks what the shader uses.
    UnsupportedError
        Bindings that no layout can hold, or more workgroup memory than the chip has.
    """
    known = shader.facts.known
    layout = known.get("pipeline_layout")
    if layout is not None or known.get("descriptor_layout"):
        uses = declare_arguments.uses(shader)
        laid_out = _laid_out(layout or own_layout(known["descriptor_layout"], uses["push_block_bytes"]))
        _check_layout(shader, laid_out.layout)
        known.update(_declare(shader, uses, laid_out))
        return True
    key = declare_arguments.declare_alike(shader)
    if key is not None:
        uses = declare_arguments.uses(shader)
        declare_arguments.keep(shader, key, _declare(shader, uses, _kept_layout(_bindings(shader), uses["push_block_bytes"])))
    return True


def _declare(shader: Shader, uses: Mapping[str, Any], laid_out: _Layout) -> dict[str, Any]:
    """Fill ``shader.arguments``; returns what its metadata get."""
    layout, described, known_samplers, conversions = laid_out
    level, sets = shader.gfx_level, uses["sets"]
    _check_workgroup_memory(uses["shared_bytes"], level)
    dynamic = any([layout.sets[number].dynamic_count for number in sets])
    data = _user_data(sets, uses["push_dwords"], uses["other_push_uses"], dynamic, uses["other_user_sgprs"])
    abi = declare_arguments.declare(shader, sets, data.table_of_sets, data.push_pointer, data.inline_dwords)
    abi["num_sgprs"] = abi["num_vgprs"] = 0
    abi["push_constant_bytes"] = uses["push_constant_bytes"]
    abi["descriptor_sets"] = described
    if dynamic:
        abi["dynamic_buffers"] = {"offset": layout.push_constant_size, "count": layout.dynamic_count}
    return {
        "abi": abi, "known_samplers": {**known_samplers},
        # Of planes with less chroma: which bits of a sampler's dwords are other ones, and what they are.
        "chroma_sampler_bits": {(number, binding): conversion.chroma_sampler_bits(level) for number, binding, conversion in conversions},
        # The descriptor of an inline uniform block at the start of the 32-bit region; the block's address is added to it.
        "inline_block_descriptor": _inline_block_descriptor(abi["address32_hi"], level),
    }
