"""The ABI: which arguments a compute shader gets, in which registers, and the layout of its descriptor sets.

Needs what ``_core/nir/declare_arguments`` needs. Guarantees: ``shader.arguments`` and ``shader.metadata["abi"]`` as
docs/architecture.md describes them. Descriptor sets follow ``metadata["pipeline_layout"]`` (a ``PipelineLayout``) where it is given, else
the shader's own bindings (types "ubo", "ssbo"), or those that ``metadata["descriptor_layout"]`` gives as ``{set: {binding: (type,
count)}}``. ``assign_user_data`` decides which push constants are in registers, and whether sets are reached through a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import declare_arguments
from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.layout import MAX_SETS, Binding, PipelineLayout, SetLayout
from pyaco.descriptors.types import DescriptorType, is_dynamic
from pyaco.descriptors.user_data import UserData, assign_user_data
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.limits import lds_limits

__all__ = ["own_layout", "run"]

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


def _reflected_bindings(shader: Shader) -> Sets:
    """What the reader reflected, and buffer variables and descriptors of instructions (NIR text has no reflection)."""
    sets: dict[int, dict[int, tuple[str, int]]] = {
        number: {binding: (facts["type"], facts["count"]) for binding, facts in bindings.items()}
        for number, bindings in shader.metadata.get("descriptor_sets", {}).items()
    }
    for number, binding, uniform, count in declare_arguments.buffer_variables(shader):
        bindings = sets.setdefault(number, {})
        known = bindings.get(binding)
        if known is None or (known[1] and known[1] < count):
            bindings[binding] = ("ubo" if uniform else "ssbo", count)
    found: dict[tuple[int, int], tuple[str, int]] = {}
    for number, binding, uniform, element in declare_arguments.resources(shader):
        kind, count = "ubo" if uniform else "ssbo", element + 1     # an array indexed at run time has no known end
        first, earlier = found.get((number, binding), sets.get(number, {}).get(binding, (kind, count)))
        kind = _shared_kind(number, binding, first, kind)
        found[number, binding] = (kind, max(earlier, count) if earlier and count else 0)
    for (number, binding), (kind, count) in found.items():
        bindings = sets.setdefault(number, {})
        bindings[binding] = (kind, bindings[binding][1] if binding in bindings else count)     # a declared count stands
    for number, binding, kind, count in declare_arguments.handles(shader):
        known = sets.setdefault(number, {}).get(binding)
        if known is not None:
            kind = _shared_kind(number, binding, known[0], kind)
        sets[number][binding] = (kind, max(known[1], count) if known and known[1] and count else count)
    return sets


def _shared_kind(number: int, binding: int, first: str, second: str) -> str:
    """Return the type of a binding that the shader has as two: a combined image sampler, or a mutable descriptor of all of them."""
    kinds = {*first.split("|"), second}
    if len(kinds) == 1:
        return first
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


#: Sets of bindings as a tuple: ((set, ((binding, (type, count)), ...)), ...).
_SetsKey = tuple[tuple[int, tuple[tuple[int, tuple[str, int]], ...]], ...]


@lru_cache(maxsize=256)
def _kept_layout(sets: _SetsKey, push_bytes: int) -> tuple[PipelineLayout, dict[int, dict[str, Any]]]:
    """What `own_layout` returns, and the ABI's sets: most shaders have the bindings of another one."""
    layout = own_layout({number: dict(bindings) for number, bindings in sets}, push_bytes)
    return layout, _described(layout)


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


def _described(layout: PipelineLayout) -> dict[int, dict[str, Any]]:
    """The sets of a pipeline's layout as the ABI has them."""
    return {number: _described_set(layout, number) for number in sorted(layout.sets)}


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


def _check_workgroup_memory(shader: Shader) -> None:
    used, level = shader.info["shared_bytes"], shader.gfx_level       # 0: passes run for no chip
    if level and used > lds_limits(level).limit:
        raise UnsupportedError(f"workgroup memory of {used} bytes (at most {lds_limits(level).limit} on this gfx level)")


def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool:
    """Declare the arguments.

    Raises
    ------
    InputError
        A wave size that is not 32 or 64, or a pipeline layout that lacks what the shader uses.
    UnsupportedError
        Bindings that no layout can hold, or more workgroup memory than the chip has.
    """
    _check_workgroup_memory(shader)
    uses = declare_arguments.uses(shader)
    layout = shader.metadata.get("pipeline_layout")
    if layout is None and not shader.metadata.get("descriptor_layout"):
        sets = _reflected_bindings(shader)
        layout, kept = _kept_layout(tuple([(number, tuple(bindings.items())) for number, bindings in sets.items()]), uses["push_block_bytes"])
        described = {number: {"size": facts["size"], "bindings": {binding: {**each} for binding, each in facts["bindings"].items()}}
                     for number, facts in kept.items()}
    else:
        layout = layout or own_layout(shader.metadata["descriptor_layout"], uses["push_block_bytes"])
        described = _described(layout)
        _check_layout(shader, layout)
    dynamic = any([layout.sets[number].dynamic_count for number in uses["sets"]])
    data = _user_data(tuple(uses["sets"]), tuple(uses["push_dwords"]), uses["other_push_uses"], dynamic, uses["other_user_sgprs"])
    abi = declare_arguments.declare(shader, uses["sets"], data.table_of_sets, data.push_pointer, data.inline_dwords)
    abi |= {
        "num_sgprs": 0,
        "num_vgprs": 0,
        "push_constant_bytes": uses["push_constant_bytes"],
        "descriptor_sets": described,
    }
    if dynamic:
        abi["dynamic_buffers"] = {"offset": layout.push_constant_size, "count": layout.dynamic_count}
    shader.metadata["abi"] = abi
    shader.metadata["known_samplers"] = {(number, binding): placed.binding.samplers[0] for number, each in layout.sets.items()
                                         for binding, placed in each.bindings.items() if placed.samplers_known}
    # Of planes with less chroma: which bits of a sampler's dwords are other ones, and what they are.
    shader.metadata["chroma_sampler_bits"] = {
        (number, binding): placed.binding.conversion.chroma_sampler_bits(shader.gfx_level) for number, each in layout.sets.items()
        for binding, placed in each.bindings.items() if placed.binding.conversion is not None}
    # The descriptor of an inline uniform block at the start of the 32-bit region; the block's address is added to it.
    shader.metadata["inline_block_descriptor"] = _inline_block_descriptor(abi["address32_hi"], shader.gfx_level)
    return True
