"""Layouts of descriptor sets and pipelines, user SGPRs, the bytes of sets, and Intel's table."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import descriptor_fuzz
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.intel import INTEL_CLASSES, INTEL_FIELDS, IntelClass, compare, intel_contents, intel_fields, intel_words, surface_handle
from pyaco.descriptors.layout import Binding, PipelineLayout, SetLayout
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.descriptors.sets import DescriptorSet
from pyaco.descriptors.types import AMD_CONTENTS, DescriptorType, contents
from pyaco.descriptors.user_data import USER_SGPRS, assign_user_data
from pyaco.errors import InputError, UnsupportedError

T = DescriptorType
IN_SETS = [kind for kind in T if kind != T.MUTABLE]
MUTABLE = (T.SAMPLED_IMAGE, T.STORAGE_IMAGE, T.UNIFORM_BUFFER, T.STORAGE_BUFFER, T.SAMPLER)
S0, S1 = (1, 2, 3, 4), (5, 6, 7, 8)


@st.composite
def binding_lists(draw: Any) -> Any:
    found = []
    for number in draw(st.lists(st.integers(0, 40), unique=True, max_size=8)):
        kind = draw(st.sampled_from(list(T)))
        count = draw(st.integers(0, 9)) * (4 if kind == T.INLINE_UNIFORM_BLOCK else 1)
        types = tuple(draw(st.lists(st.sampled_from(MUTABLE), min_size=1, unique=True))) if kind == T.MUTABLE else ()
        samplers = ()
        if kind in (T.SAMPLER, T.COMBINED_IMAGE_SAMPLER) and draw(st.booleans()):
            samplers = tuple(draw(st.lists(st.sampled_from((S0, S1)), min_size=count, max_size=count)))
        found.append(Binding(number, kind, count, types, samplers))
    return found


@given(bindings=binding_lists(), grouped=st.booleans())
def test_bindings_are_aligned_and_do_not_overlap(bindings: Any, grouped: Any) -> None:
    layout = SetLayout(bindings, grouped=grouped)
    taken = []
    for binding in bindings:
        placed = layout.bindings[binding.number]
        known = contents(binding.type, binding.mutable)
        if placed.dynamic is None:
            assert placed.offset % known.alignment == 0
        taken.append((placed.offset, placed.offset + placed.stride * placed.elements))
    taken = sorted(span for span in taken if span[0] < span[1])
    assert all(before[1] <= after[0] for before, after in pairwise(taken))
    assert layout.size >= max([end for _, end in taken], default=0)
    gaps = sum(after[0] > before[1] for before, after in pairwise(taken))
    blocks = sum(binding.type == T.INLINE_UNIFORM_BLOCK for binding in bindings)
    assert not grouped or gaps <= 1 + blocks
    assert layout.dynamic_count == sum(b.count for b in bindings if b.type.value.endswith("_dynamic"))
    assert layout.allocated_size() % 32 == 0


@given(bindings=binding_lists(), count=st.integers(0, 1000))
def test_the_variable_binding_ends_the_set(bindings: Any, count: Any) -> None:
    last = Binding(50, T.STORAGE_BUFFER, 4, variable=True)
    layout = SetLayout([*bindings, last])
    placed = layout.bindings[50]
    assert placed.offset + 16 * placed.elements == layout.size
    assert layout.allocated_size(count) == -(-(placed.offset + 16 * count) // 32) * 32
    made = DescriptorSet(layout, count)
    assert len(made.memory) == layout.allocated_size(count) and made.elements(50) == count


# Sizes and alignments of Mesa's RADV.
@pytest.mark.parametrize(("kind", "size", "alignment"), [
    (T.SAMPLER, 16, 16), (T.COMBINED_IMAGE_SAMPLER, 96, 32), (T.SAMPLED_IMAGE, 64, 32), (T.STORAGE_IMAGE, 32, 32),
    (T.UNIFORM_TEXEL_BUFFER, 16, 16), (T.UNIFORM_BUFFER, 16, 16), (T.STORAGE_BUFFER, 16, 16), (T.INPUT_ATTACHMENT, 64, 32),
    (T.ACCELERATION_STRUCTURE, 16, 16), (T.UNIFORM_BUFFER_DYNAMIC, 0, 1),
])  # fmt: skip
def test_table_of_types(kind: Any, size: int, alignment: int) -> None:
    found = contents(kind)
    assert (found.size, found.alignment) == (size, alignment)
    assert all(part.offset + part.size <= size for part in found.parts)


def test_grouping_by_alignment() -> None:
    buffers, images = Binding(0, T.UNIFORM_BUFFER), Binding(1, T.STORAGE_IMAGE)
    last = SetLayout([buffers, images, Binding(2, T.STORAGE_BUFFER, 3)])
    assert [last.bindings[k].offset for k in range(3)] == [32, 0, 48] and last.size == 96
    in_order = SetLayout([buffers, images, Binding(2, T.STORAGE_BUFFER, 3)], grouped=False)
    assert [in_order.bindings[k].offset for k in range(3)] == [0, 32, 64] and in_order.size == 112
    assert [SetLayout([buffers, images]).bindings[k].offset for k in range(2)] == [0, 32]


def test_immutable_samplers() -> None:
    equal = SetLayout([Binding(0, T.COMBINED_IMAGE_SAMPLER, 2, samplers=(S0, S0)), Binding(1, T.SAMPLER, 2, samplers=(S1, S1))])
    assert (equal.bindings[0].stride, equal.bindings[1].stride, equal.bindings[0].sampler_offset()) == (64, 0, None)
    planes = SetLayout([Binding(0, T.COMBINED_IMAGE_SAMPLER, 1, samplers=(S0,), planes=3)])
    assert planes.bindings[0].stride == 96
    different = DescriptorSet(SetLayout([Binding(0, T.COMBINED_IMAGE_SAMPLER, 2, samplers=(S0, S1))]))
    assert [int.from_bytes(different.memory[at : at + 4], "little") for at in (80, 92, 176, 188)] == [1, 4, 5, 8]
    kept = SetLayout([Binding(0, T.SAMPLER, 1, samplers=(S0,))], keep_samplers=True)
    assert kept.size == 16
    with pytest.raises(InputError, match="immutable samplers"):
        different.write(0, {"sampler": S0})


def test_mutable_bindings() -> None:
    layout = SetLayout([Binding(0, T.MUTABLE, 2, (T.UNIFORM_BUFFER, T.STORAGE_IMAGE))])
    assert (layout.bindings[0].stride, layout.size) == (32, 64)
    made = DescriptorSet(layout)
    made.write(0, {"buffer": raw_buffer(0x1000, 64, 103)}, 1, kind=T.UNIFORM_BUFFER)
    found = list(made.read(103, {0: T.UNIFORM_BUFFER}))
    assert found[1].offset == 32 and found[1].words[2].value == 64
    with pytest.raises(InputError, match="one of uniform_buffer, storage_image"):
        made.write(0, {"buffer": (0, 0, 0, 0)})
    with pytest.raises(UnsupportedError, match="inline_uniform_block"):
        contents(T.MUTABLE, (T.INLINE_UNIFORM_BLOCK,))


@pytest.mark.parametrize("level", (60, 80, 90, 103, 110, 120))
def test_what_is_written_is_read(level: int) -> None:
    layout = SetLayout([Binding(0, T.COMBINED_IMAGE_SAMPLER, 3), Binding(1, T.STORAGE_BUFFER, 2), Binding(2, T.INLINE_UNIFORM_BLOCK, 8)])
    made = DescriptorSet(layout)
    made.write(0, {"image": range(8), "sampler": sampler_descriptor(Sampler(max_lod=4), level)}, 2)
    made.write(1, {"buffer": raw_buffer(0x123400, 48, level)}, 1)
    made.write_data(2, b"abcd", 4)
    found = {(d.binding, d.element, d.kind): d for d in made.read(level)}
    assert [word.value for word in found[0, 2, "image"].words] == list(range(8))
    assert [word.value for word in found[0, 2, "fmask"].words] == [0] * 8
    assert found[0, 2, "sampler"].words[1].fields["MAX_LOD"] == 4 * 256
    assert found[1, 1, "buffer"].words[2].value == 48 and found[1, 0, "buffer"].words[2].value == 0
    assert bytes(made.memory[layout.bindings[2].offset :][:8]) == b"\0\0\0\0abcd"
    assert len(found) == 3 * 3 + 2 + 1


def test_dynamic_buffers_stand_behind_push_constants() -> None:
    first = SetLayout([Binding(0, T.UNIFORM_BUFFER_DYNAMIC, 2), Binding(1, T.STORAGE_BUFFER_DYNAMIC)])
    second = SetLayout([Binding(4, T.STORAGE_BUFFER_DYNAMIC, 3)])
    layout = PipelineLayout({0: first, 3: second}, 20)
    assert (layout.push_constant_size, layout.dynamic_count, layout.dynamic_start(3)) == (32, 6, 3)
    assert layout.dynamic_offset(0, first.bindings[1]) == 64 and layout.dynamic_offset(3, second.bindings[4]) == 80


@given(sets=st.sets(st.integers(0, 31)), dwords=st.sets(st.integers(0, 63)), others=st.integers(0, 5), more=st.booleans(), moved=st.booleans())
def test_user_registers_are_never_too_few(sets: Any, dwords: Any, others: Any, more: Any, moved: Any) -> None:
    found = assign_user_data(sets, dwords, other_push_uses=more, dynamic_buffers=moved, others=others)
    used = others + (1 if found.table_of_sets else len(sets)) + found.push_pointer + len(found.inline_dwords)
    assert used <= USER_SGPRS
    assert set(found.inline_dwords) <= dwords and list(found.inline_dwords) == sorted(found.inline_dwords)
    # What no register holds is reached through the pointer.
    assert found.push_pointer or (set(found.inline_dwords) == dwords and not more and not moved)


def test_facts_of_user_registers() -> None:
    assert assign_user_data({0}, range(4), others=2).inline_dwords == (0, 1, 2, 3)
    assert not assign_user_data({0}, range(13), others=2).push_pointer
    assert assign_user_data({0}, range(14), others=2).inline_dwords == tuple(range(8))
    assert assign_user_data(range(15), (), others=2).table_of_sets and not assign_user_data(range(14), (), others=2).table_of_sets


@pytest.mark.parametrize(("bindings", "message"), [
    ([Binding(0, T.SAMPLER), Binding(0, T.SAMPLER)], "one number"),
    ([Binding(0, T.SAMPLER, variable=True), Binding(1, T.SAMPLER)], "not the last"),
    ([Binding(0, T.SAMPLED_IMAGE, 1 << 26)], "largest"),
])  # fmt: skip
def test_bad_layouts(bindings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SetLayout(bindings)


def test_bad_writes() -> None:
    made = DescriptorSet(SetLayout([Binding(0, T.STORAGE_BUFFER, 2)]))
    for action, message in ((lambda: made.write(1, {}), "no binding 1"), (lambda: made.write(0, {}, 2), "no element 2"),
                            (lambda: made.write(0, {"image": range(8)}), "no image"), (lambda: made.write(0, {"buffer": (1,)}), "4 dwords"),
                            (lambda: made.write_data(0, b"x"), "no inline uniform block")):
        with pytest.raises(InputError, match=message):
            action()  # type: ignore[no-untyped-call]
    with pytest.raises(InputError, match="multiple of 4"):
        Binding(0, T.INLINE_UNIFORM_BLOCK, 5)
    with pytest.raises(InputError, match="variable"):
        DescriptorSet(SetLayout([Binding(0, T.STORAGE_BUFFER)]), 3)


def test_both_vendors_have_every_type() -> None:
    assert set(INTEL_CLASSES) == set(AMD_CONTENTS) == set(IN_SETS)
    rows = {row.type: row for row in compare()}
    # Facts of Mesa's ANV: handles of 8 bytes, address ranges of 16, states of 64 and 32.
    assert rows[T.SAMPLED_IMAGE].intel_indirect_size == 8 and rows[T.STORAGE_BUFFER].intel_indirect_size == 16
    assert (rows[T.COMBINED_IMAGE_SAMPLER].intel_direct_size, rows[T.COMBINED_IMAGE_SAMPLER].intel_direct_sampler_size) == (64, 32)
    assert IntelClass.BUFFER_VIEW in intel_contents(T.UNIFORM_BUFFER).classes
    assert intel_contents(T.MUTABLE, mutable=(T.STORAGE_BUFFER, T.SAMPLED_IMAGE)).size == 16


# The structures of anv_private.h, which are what a set holds.
@pytest.mark.parametrize(("kind", "values", "words"), [
    (T.SAMPLED_IMAGE, {"image": 0x12345000}, (0x12345000, 0)), (T.SAMPLER, {"sampler": 0x60}, (0, 0x60)),
    (T.COMBINED_IMAGE_SAMPLER, {"image": 0x1000, "sampler": 0x20}, (0x1000, 0x20)), (T.STORAGE_IMAGE, {"vanilla": 0x2000, "depth": 7}, (0x2000, 7)),
    (T.STORAGE_BUFFER, {"address": 0xFFFF_8001_0000_0040, "range": 256}, (0x00000040, 0xFFFF8001, 256, 0)),
    (T.ACCELERATION_STRUCTURE, {"address": 1 << 32, "range": 0xFFFFFFFF, "zero": 0}, (0, 1, 0xFFFFFFFF, 0)),
])  # fmt: skip
def test_fields_of_intel(kind: T, values: dict[str, int], words: tuple[int, ...]) -> None:
    assert intel_words(kind, values) == words and len(words) * 4 == intel_contents(kind).size
    assert {name: value for name, value in intel_fields(kind, words).items() if value} == {name: value for name, value in values.items() if value}


def test_what_intel_refuses() -> None:
    for fields in INTEL_FIELDS.values():
        assert sum(field.bits for field in fields) == 32 * (fields[-1].word + fields[-1].bits // 32)
    for action, message in ((lambda: intel_words(T.SAMPLED_IMAGE, {"depth": 1}), "no field 'depth'; there are: image, sampler"),
                            (lambda: intel_words(T.STORAGE_BUFFER, {"range": 1 << 32}), "32 bits"),
                            (lambda: intel_words(T.STORAGE_BUFFER, {"zero": 1}), "expected 0"),
                            (lambda: intel_words(T.INLINE_UNIFORM_BLOCK, {}), "no fields"),
                            (lambda: intel_fields(T.MUTABLE, (0, 0)), "at the time"),
                            (lambda: intel_fields(T.STORAGE_BUFFER, (0, 0)), "4 dwords"), (lambda: surface_handle(32, extended=True), "multiple"),
                            (lambda: surface_handle(1 << 26, extended=False), "26 bits")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            action()
    # Bits 25 to 6 of the offset are the handle's bits 31 to 12.
    assert surface_handle(0x3FFFFC0, extended=False) == 0xFFFFF000 and surface_handle(1 << 26, extended=True) == 1 << 26


def test_mutated_descriptors() -> None:
    found = descriptor_fuzz.run(3000, 1)
    assert found["decoded"] > 1500 and found["refused"] > 100 and found["decoded"] + found["refused"] + found["sets read"] == 3000
