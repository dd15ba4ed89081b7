"""A sample of the image matrix: operations, formats, dimensions, swizzle modes and samplers crossed pairwise (`image_matrix` runs them all)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from image_matrix import ALL_STATES, MODES, OPERATIONS, TARGETS, Crossing, crossings, format_class, formats_of, run, table, whole_product
from image_reference import Reference, decoded, encoded
from image_shaders import FORMATS, ImageCase, inputs_of, texels_of
from vulkan_peer import Lavapipe

pytest.importorskip("vulkan")
pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def matrix(lavapipe: Lavapipe) -> list[Crossing]:
    return crossings(formats_of(lavapipe))


def test_pairs_meet(matrix: list[Crossing]) -> None:
    """Every operation meets every swizzle mode's place, and so does every format; no case is drawn twice."""
    assert len(matrix) == len(set(matrix)) > 1000
    pairs = {pair for each in matrix for pair in each.pairs()}
    for factor in ("operation", "format", "state", "dimension"):
        for value in {getattr(each, factor) for each in matrix}:
            assert all((factor, value, "mode", mode) in pairs for mode in range(MODES)), (factor, value)


@pytest.mark.parametrize(("state", "other"), [
    ("nearest_repeat", "nearest_mirror"), ("nearest_edge", "nearest_mirror_edge"), ("nearest_border", "nearest_black"),
    ("nearest_repeat", "nearest_bias"), ("linear_repeat", "nearest_repeat"), ("linear_edge", "linear_mirror"), ("linear_repeat", "linear_bias"),
    ("linear_one_level", "linear_repeat"),
])  # fmt: skip
@pytest.mark.parametrize("operation", ["lod", "grad_offset", "half_lod"])
def test_reference_tells_samplers_apart(state: str, other: str, operation: str) -> None:
    """What one sampler gives is allowed with that, and not with another one; nor are another layer's texels."""
    case = ImageCase(operation, "2d_array", "R8G8B8A8_UNORM")
    random = np.random.default_rng(4)
    inputs, texels = inputs_of(case, random, 3), texels_of(case, random, 3, 4)
    mine, others = (Reference(case, ALL_STATES[each], texels, inputs) for each in (state, other))
    found = next(iter(mine.candidates()))[0].astype(np.float32).view(np.uint32)
    assert mine.allows(found).all() and not others.allows(found).all(1).all()
    shifted = inputs.copy()
    shifted[:, 0, 2] += 1
    assert not Reference(case, ALL_STATES[state], texels, shifted).allows(found).all(1).all()


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("step", [90, pytest.param(1, marks=pytest.mark.slow)])
def test_compiled_code(matrix: list[Crossing], step: int, engine: str, lavapipe: Lavapipe) -> None:
    """One of so many cases, others on each engine."""
    chosen = matrix[len(engine) % step :: step]
    outcomes = [each for crossing in chosen for each in run(crossing, TARGETS, lavapipe, engine)]
    bad = [fault for each in outcomes for fault in each.faults]
    assert len(outcomes) == len(TARGETS) * len(chosen) > 0
    assert not bad, "\n".join((*bad, table(outcomes)))


def test_whole_product(lavapipe: Lavapipe) -> None:
    """Every combination is there once; some of them in every swizzle mode."""
    cases = whole_product(formats_of(lavapipe))
    kinds = {(each.operation, format_class(each.format), each.dimension, each.state) for each in cases}
    assert len(kinds) == len(cases) > 10000
    assert {each.operation for each in cases} == set(OPERATIONS)
    outcomes = [each for crossing in cases[::1500] for each in run(crossing, ("gfx900", "gfx1100"), lavapipe, every_mode=True)]
    assert len({each.mode for each in outcomes if each.target == "gfx1100"}) > 5
    assert not [fault for each in outcomes for fault in each.faults]


@pytest.mark.parametrize("name", ["R8G8B8A8_UNORM", "R16G16_SNORM", "R8_UINT", "R16G16B16A16_SINT", "R16_FLOAT", "R32G32_FLOAT", "R10G10B10A2_UNORM",
                                  "R10G10B10A2_UINT", "R11G11B10_FLOAT"])  # fmt: skip
def test_encoded_is_the_reverse_of_decoded(name: str) -> None:
    """Elements that are decoded and stored again are what they were, and values between two numbers of a format become one of them."""
    random = np.random.default_rng(6)
    element = sum(int(size) for size in re.findall(r"[RGBA](\d+)", name)) // 8
    values = decoded(name, texels_of(ImageCase("load", "2d", name), random, 1, element)[0])
    kinds = {"float": np.float32, "int": np.int32, "uint": np.uint32}
    again = encoded(name, values.astype(np.int64 if FORMATS[name][2] != "float" else np.float32).astype(kinds[FORMATS[name][2]]))
    assert np.array_equal(decoded(name, packed(name, again)), values)


def packed(name: str, channels: np.ndarray) -> bytes:
    """Elements of their channels."""
    sizes = [int(size) for size in re.findall(r"[RGBA](\d+)", name)]
    if len(set(sizes)) == 1:
        return channels.astype(f"<u{sizes[0] // 8}").tobytes()
    firsts = np.cumsum([0, *sizes[:-1]])
    return np.bitwise_or.reduce(channels << firsts, axis=1).astype("<u4").tobytes()


@pytest.mark.parametrize(("operation", "state"), [("fetch", "nearest_repeat"), ("half_fetch", "nearest_repeat"), ("gather", "nearest_mirror"),
                                                  ("lod", "nearest_edge")])  # fmt: skip
def test_exact_is_to_the_bit(operation: str, state: str) -> None:
    """A last bit less in one component is not exact, though it is allowed where places have a reach; filtered results are never exact."""
    case = ImageCase(operation, "2d", "R16G16B16A16_SNORM")
    random = np.random.default_rng(8)
    inputs, texels = inputs_of(case, random, 3), texels_of(case, random, 3, 8)
    reference = Reference(case, ALL_STATES[state], texels, inputs)
    values = next(iter(reference.exact_results()))
    found = (values.astype(np.float16) if operation.startswith("half_") else values).astype(np.float32).view(np.uint32)
    assert reference.is_exact(found).all() and reference.allows(found).all()
    row = int(np.flatnonzero(np.abs(values[:, 0]) > 0.01)[0])
    found[row, 0] -= 1
    assert np.argwhere(~reference.is_exact(found)).tolist() == [[row, 0]]
    filtered = Reference(ImageCase("lod", "2d", "R16G16B16A16_SNORM"), ALL_STATES["linear_edge"], texels, inputs)
    assert not filtered.is_exact(found).any()
