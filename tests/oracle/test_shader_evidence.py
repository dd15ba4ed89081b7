"""What ``run_shaders.py`` finds with: comparisons, other ways to run a dispatch, and modules as lavapipe can take them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from equivalent_modules import Renumbered, with_constants, with_own_bindings, without_contraction
from shader_differences import Tolerance, differences
from shader_evidence import Judgement, asks_for_order
from shader_inputs import GeneratedInputs, generate
from shader_runs import Groups, Racing, Reordered, Rounded, access_fault, run_interpreted, run_ours, run_peer
from vulkan_peer import find_icd

import pyaco
from pyaco import spirv
from pyaco.nir.interpreter import Interpreter

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")]
needs_lavapipe = pytest.mark.skipif(find_icd("lvp") is None, reason="the Vulkan driver 'lvp' of Mesa is not installed")
HEAD = """#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer B { float number[]; };
layout(set = 0, binding = 1) buffer C { uint whole[]; };
"""


def dispatch(body: str, folder: Path, declared: str = "") -> tuple[bytes, GeneratedInputs]:
    """A module, and small values for one workgroup."""
    source, target = folder / "shader.comp", folder / "shader.spv"
    source.write_text(f"{HEAD}{declared}\nvoid main() {{ uint i = gl_LocalInvocationIndex; {body} }}\n")
    done = subprocess.run(["glslangValidator", "--target-env", "vulkan1.2", "-o", str(target), str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    module = target.read_bytes()
    return module, generate(module, spirv.reflect(module, "main")["descriptor_sets"], 64, 1, "small")


@pytest.mark.parametrize(("ours", "theirs"), [(2.0, 1.0), (np.nan, 0.0), (0.5, 0.75)])
def test_floats_that_have_the_lowest_byte_in_common(ours: float, theirs: float) -> None:
    """The lowest byte says nothing about a float."""
    inputs = GeneratedInputs(buffers={(0, 0): np.zeros(8, np.uint8)}, floats={(0, 0): np.array([4, 0, 0, 0, 0, 0, 0, 0], np.uint8)})
    found, expected = ({(0, 0): np.array([each, 1.0], np.float32).view(np.uint8)} for each in (ours, theirs))
    assert differences(expected, found, inputs, Tolerance(1e-5, 1e-6))[0] == "differs"
    assert differences(found, found, inputs, Tolerance(1e-5, 1e-6))[0] == "equal"


@needs_lavapipe
def test_arrays_of_descriptors_without_a_length(tmp_path: Path) -> None:
    """Lavapipe has the images behind them."""
    module, inputs = dispatch("if (i < 4) whole[i] = imageAtomicAdd(im[i], ivec2(0), 7u + i) + imageSize(im[i]).x;", tmp_path,
                              "layout(set = 0, binding = 2, r32ui) uniform uimage2D im[];")
    ours = run_ours(pyaco.compile(module, target="gfx1100"), inputs, (1, 1, 1))
    assert differences(run_peer(module, "main", inputs, (1, 1, 1)), ours, inputs, Tolerance.of(module, inputs)) == ("equal", "")


def test_sums_of_products_are_fused_with_odd_seeds(tmp_path: Path) -> None:
    """The product overflows unless the sum is one operation; NoContraction keeps it apart."""
    body = "{} float r = (number[0] + 1e38) * 4.0 - 3e38; whole[i] = floatBitsToUint(r);"
    for qualifier, seed, is_finite in (("", 0, False), ("", 1, True), ("precise", 1, False)):
        module, inputs = dispatch(body.replace("{}", qualifier), tmp_path)
        found = run_interpreted(module, "main", inputs, (1, 1, 1), 64, kind=Rounded, seed=seed)
        assert np.isfinite(found[0, 1].view(np.float32)[0]) == is_finite, (qualifier, seed)


@needs_lavapipe
def test_arithmetic_that_may_be_rearranged(tmp_path: Path) -> None:
    """A product that overflows unless its sum is one operation: NoContraction makes ours what lavapipe gives."""
    module, inputs = dispatch("whole[i] = floatBitsToUint((number[0] + 1e38) * 4.0 - 3e38);", tmp_path)
    exact = without_contraction(module)
    fused, apart = (run_ours(pyaco.compile(each, target="gfx1100"), inputs, (1, 1, 1))[0, 1].view(np.float32)[:64] for each in (module, exact))
    assert np.isfinite(fused).all() and np.isinf(apart).all()
    np.testing.assert_array_equal(run_peer(exact, "main", inputs, (1, 1, 1))[0, 1].view(np.float32)[:64], apart)


def test_weights_of_filters_have_eight_bits(tmp_path: Path) -> None:
    """Where a filter is used, another rounding moves what it gives by no more than a texel's difference / 256."""
    module, inputs = dispatch("whole[i] = floatBitsToUint(textureLod(t, vec2((i + 0.37) / 64, 0.4), 0).x);", tmp_path,
                              "layout(set = 0, binding = 2) uniform sampler2D t;")
    plain, other = (run_interpreted(module, "main", inputs, (1, 1, 1), 64, kind=kind)[0, 1].view(np.float32)[:64] for kind in (Interpreter, Rounded))
    assert 0 < np.abs(plain - other).max() < 0.4 / 256


@pytest.mark.parametrize(("body", "reason"), [
    ("whole[0] = i;", "another result where subgroups, or lanes that store to one place, take another turn"),
    ("whole[i] = 1; number[2 * i] = 1.5;", ""),
    ("whole[1] = uint(-1.5 - number[0]);", "another result with other values of undefined quotients and conversions"),
])  # fmt: skip
def test_other_turns(body: str, reason: str, tmp_path: Path) -> None:
    """A dispatch whose result depends on who comes last is told; one in which nobody shares a place is not, whatever differs."""
    module, inputs = dispatch(body, tmp_path)
    assert judged(module, inputs) == reason


def judged(module: bytes, inputs: GeneratedInputs, groups: Groups = (1, 1, 1)) -> str:
    """The evidence, where another implementation is said to have written one word otherwise."""
    return judgement(module, inputs, groups).reason()


def judgement(module: bytes, inputs: GeneratedInputs, groups: Groups) -> Judgement:
    """A dispatch of which another implementation is said to have written one word otherwise."""
    shader = pyaco.compile(module, target="gfx900")
    ours = run_ours(shader, inputs, groups)
    theirs: dict[Any, Any] = {key: data.copy() for key, data in ours.items()}
    theirs[0, 1].view(np.uint32)[1] ^= 0x40000000
    return Judgement(module, "main", inputs, groups, shader, ours, theirs, {})


@needs_lavapipe
def test_subgroups_of_another_size_that_write_to_an_image(tmp_path: Path) -> None:
    declared = "#extension GL_KHR_shader_subgroup_basic : require\nlayout(set = 0, binding = 2, r32ui) uniform uimageBuffer image;"
    module, inputs = dispatch("imageStore(image, int(i), uvec4(gl_SubgroupInvocationID));", tmp_path, declared)
    shader = pyaco.compile(module, target="gfx900")
    ours, theirs = run_ours(shader, inputs, (1, 1, 1)), run_interpreted(module, "main", inputs, (1, 1, 1), 8)
    reason = "the NIR interpreter gives ours with subgroups of 64, and lavapipe's with 8"
    assert Judgement(module, "main", inputs, (1, 1, 1), shader, ours, theirs, {}).reason() == reason


@pytest.mark.parametrize("body", [
    "whole[gl_GlobalInvocationID.x] = {0};", "uvec3 at = gl_LocalInvocationID; whole[64 * gl_WorkGroupID[0] + at.x] = {0};"])  # fmt: skip
def test_invocations_numbered_the_other_way_round(body: str, tmp_path: Path) -> None:
    """All numbers of an invocation still belong together."""
    numbers = "gl_GlobalInvocationID.x + 1000 * gl_WorkGroupID.x + 10000 * gl_LocalInvocationIndex + 1000000 * gl_LocalInvocationID.x"
    module, inputs = dispatch(body.replace("{0}", numbers), tmp_path)
    other = Renumbered(module, (64, 1, 1), (2, 1, 1)).spirv()
    first, second = (run_ours(pyaco.compile(each, target="gfx1030"), inputs, (2, 1, 1))[0, 1] for each in (module, other))
    np.testing.assert_array_equal(first, second)
    assert first.view(np.uint32)[[1, 127]].tolist() == [1010001, 63631127]


@needs_lavapipe
@pytest.mark.parametrize(("body", "explained"), [
    ("float[3] a; mat2 m; bool b; if (i < 3) { a[i] = i; b = true; } whole[i] = uint(a[1] + m[1].x) + uint(b);", True),
    ("uint[3] a; a[i % 3] = i; whole[i] = a[i % 3]; if (i == 2) whole[64] = a[1];", False),
])  # fmt: skip
def test_variables_that_nobody_writes(body: str, explained: bool, tmp_path: Path) -> None:
    """Another variable that is read before it is written explains no word of its own."""
    module, inputs = dispatch(body, tmp_path)
    assert judgement(module, inputs, (1, 1, 1)).differs_initialized() == explained


def test_who_comes_last_where_the_first_does_what_the_last_did(tmp_path: Path) -> None:
    module, inputs = dispatch("whole[i / 2] = gl_GlobalInvocationID.x;", tmp_path)
    other = Renumbered(module, (64, 1, 1), (2, 1, 1)).spirv()
    first, second = (run_ours(pyaco.compile(each, target="gfx1030"), inputs, (2, 1, 1))[0, 1].view(np.uint32)[:32] for each in (module, other))
    np.testing.assert_array_equal(first, 64 + 2 * np.arange(32) + 1)
    np.testing.assert_array_equal(second, 2 * np.arange(32))


@needs_lavapipe
@pytest.mark.parametrize(("body", "reason"), [
    ("whole[i / 2] = i;", "every word that differs is another where the invocations are numbered the other way round"),
    ("whole[i] = i; if (i != 1) whole[63] = i;", "another result where subgroups, or lanes that store to one place, take another turn"),
])  # fmt: skip
def test_each_word_that_differs_must_be_another(body: str, reason: str, tmp_path: Path) -> None:
    """A race elsewhere does not explain a word by this evidence."""
    assert judged(*dispatch(body, tmp_path)) == reason


@pytest.mark.parametrize(("body", "order"), [
    ("whole[i] = 1; atomicAdd(whole[0], 2u);", False),
    ("whole[i] = 1; atomicCompSwap(whole[0], 2u, 3u);", False),
    ("whole[i] = 1; atomicAdd(whole[0], 2u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);", True),
    ("atomicStore(whole[0], 2u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);", True),
    ("whole[i] = 1; memoryBarrierBuffer(); atomicAdd(whole[0], 2u);", True),
    ("whole[i] = 1; barrier(); whole[63 - i] = 2;", True),
])  # fmt: skip
def test_modules_that_ask_for_an_order(body: str, order: bool, tmp_path: Path) -> None:
    module, _ = dispatch(body, tmp_path, "#extension GL_KHR_memory_scope_semantics : require")
    assert asks_for_order(module) == order


def test_other_constants(tmp_path: Path) -> None:
    declared = "layout(constant_id = 3) const uint SIZE = 1; layout(constant_id = 4) const uint OTHER = 5; const uint TWICE = 2 * SIZE;"
    module, inputs = dispatch("whole[0] = SIZE; whole[1] = OTHER; whole[2] = TWICE;", tmp_path, declared)
    shader = pyaco.compile(with_constants(module, {"SIZE": 77, "MISSING": 3}), target="gfx1030")
    assert run_ours(shader, inputs, (1, 1, 1))[0, 1].view(np.uint32)[:3].tolist() == [77, 5, 154]


def test_a_set_for_each_kind_of_resource(tmp_path: Path) -> None:
    """Of two buffers, an image and a sampler of one binding; buffers of one kind stay together."""
    declared = ("layout(set = 0, binding = 1) buffer D { uint again[]; }; layout(set = 0, binding = 1) uniform sampler s;"
                "layout(set = 0, binding = 1) uniform texture2D t; layout(set = 0, binding = 1) uniform U { uint once; };")
    source, target = tmp_path / "shader.comp", tmp_path / "shader.spv"
    source.write_text(f"{HEAD}{declared}\nvoid main() {{ whole[0] = once; again[1] = uint(texture(sampler2D(t, s), vec2(0)).x); }}\n")
    subprocess.run(["glslangValidator", "--target-env", "vulkan1.2", "-o", str(target), str(source)], check=True, capture_output=True)
    sets = spirv.reflect(with_own_bindings(target.read_bytes()), "main")["descriptor_sets"]
    assert sets[0][1]["type"] == "ssbo" and {*sets} == {0, 1, 2, 3}
    assert sorted(sets[number][1]["type"] for number in (1, 2, 3)) == ["sampled_image", "sampler", "ubo"]


def test_sums_of_exact_values_in_any_order(tmp_path: Path) -> None:
    """Also of halves that a module takes from words; runtime arrays are as large as asked for."""
    sum_of = ("float16_t s = float16_t(0.0); for (uint k = 0; k < 256; k++) s += float16_t({0}.x) * float16_t({0}.y);"
              "whole[i] = floatBitsToUint(float(s));")
    halves = "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require"
    terms = [sum_of.format(f"unpackFloat2x16(floatBitsToUint(number[{k}]))") for k in ("k", "255 - k")]
    found = []
    for body in terms:
        module, _ = dispatch(body, tmp_path, halves)
        inputs = generate(module, spirv.reflect(module, "main")["descriptor_sets"], 64, 1, "exact", 4096)
        assert inputs.buffers[0, 0].size == 4096
        assert set(inputs.buffers[0, 0].view(np.float16).tolist()) == {-2.0, -1.0, 0.0, 1.0, 2.0}
        found.append(run_ours(pyaco.compile(module, target="gfx1030"), inputs, (1, 1, 1))[0, 1][:256])
    assert np.array_equal(found[0], found[1]) and found[0].any()


def test_two_views_of_a_buffer(tmp_path: Path) -> None:
    """Where invocations store to what others read by another view: each turn gives something else, also within a wave."""
    module, inputs = dispatch("number[i] = 0.25; wide[i] = vec2(i, i);", tmp_path, "layout(set = 0, binding = 0) buffer D { vec2 wide[]; };")
    last, first = (run_interpreted(module, "main", inputs, (1, 1, 1), 64, kind=Reordered, alone=turn)[0, 0] for turn in (1, -1))
    assert not np.array_equal(last, first)
    lockstep = run_interpreted(module, "main", inputs, (1, 1, 1), 64, kind=Racing)[0, 0].view(np.float32)[:128]
    np.testing.assert_array_equal(lockstep, np.repeat(np.arange(64, dtype=np.float32), 2))


@pytest.mark.parametrize(("body", "declared", "fault"), [
    ("whole[i] = imageLoad(im[whole[0] + 3u], ivec2(0)).x;", "layout(set = 0, binding = 2, r32ui) uniform uimage2D im[2];", "has no element"),
    ("whole[i] = imageLoad(im[i & 1u], ivec2(0)).x;", "layout(set = 0, binding = 2, r32ui) uniform uimage2D im[2];", "differs in a wave"),
    ("whole[i] = imageLoad(im[1], ivec2(0)).x;", "layout(set = 0, binding = 2, r32ui) uniform uimage2D im[2];", ""),
])  # fmt: skip
def test_descriptors_that_must_not_be_asked_for(body: str, declared: str, fault: str, tmp_path: Path) -> None:
    module, inputs = dispatch(body, tmp_path, declared)
    said = access_fault(module, "main", inputs, (1, 1, 1), 64)
    assert fault in said and bool(said) == bool(fault)
