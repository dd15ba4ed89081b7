"""What lower_tex makes of coordinates, against the Vulkan specification's rules, in numbers.

Texture instructions give what they are asked for: an interpreter that returns a source of them in place of a texel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco._core.ir.vocabulary import NirKind, TextureFlag
from pyaco._core.nir import build, lower_tex, validate
from pyaco.nir.builder import Builder
from pyaco.nir.interpreter import Interpreter

LANES = 64
Floats = NDArray[np.float32]


class Sources(Interpreter):
    """Keeps the sources of every texture instruction, in order."""

    seen: list[dict[str, Any]]

    def _execute(self, instruction: int, mask: Any) -> Any:
        if self.kind[instruction] != NirKind.TEX:
            return super()._execute(instruction, mask)
        names = {number: name for name, number in build.TEX_SOURCES.items()}
        self.seen.append({names[kind]: self.values[value].copy()
                          for kind, value in zip(self._swizzles(instruction), self._sources(instruction), strict=True)})
        return self._zero(instruction)


def sources_after(opcode: str, dim: str, inputs: dict[str, Floats], *, array: bool = False, shadow: bool = False, base: str = "float",
                  **facts: Any) -> list[dict[str, Any]]:
    """The sources that texture instructions have after the pass; inputs are components by lanes."""
    b = Builder(103, workgroup_size=(LANES, 1, 1))
    buffer = b.intrinsic("load_vulkan_descriptor", b.intrinsic("vulkan_resource_index", b.imm(0), components=3, bit_size=32),
                         components=3, bit_size=32)
    lane = b.intrinsic("load_local_invocation_index", bit_size=32)
    texture = b.deref_var(b.variable("uniform", b.type("texture", element=b.scalar("float"), image_dim=build.IMAGE_DIMS[dim][0],
                                                       image_flags=int(array))))
    data = np.concatenate(list(inputs.values())).view(np.uint32)
    values: dict[str, Any] = {}
    row = 0
    for name, components in inputs.items():
        parts = []
        for _ in components:
            offset = b.iadd(b.imul(lane, b.imm(4)), b.imm(4 * LANES * row))
            parts.append(b.intrinsic("load_ssbo", buffer, offset, components=1, bit_size=32, align_mul=4))
            row += 1
        values[name] = b.vec(*parts) if len(parts) > 1 else parts[0]
    b.tex(opcode, dim, base, array=array, shadow=shadow, texture_deref=texture, **values, **facts)
    shader = b.finish()
    validate.run(shader)
    lower_tex.run(shader)
    validate.run(shader)
    machine = Sources(shader, (1, 1, 1), {(0, 0): data})
    machine.seen = []
    machine.run()
    return machine.seen


def random(components: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).uniform(-4, 4, (components, LANES)).astype(np.float32)


def floats(value: Any) -> Floats:
    return np.asarray(value).view(np.float32)


def face(direction: Any) -> tuple[int, float, float]:
    """Face, s and t of the table "Cube map face and coordinate selection" of the Vulkan specification."""
    x, y, z = (float(value) for value in direction)
    axis = max((2, 1, 0), key=lambda i: abs((x, y, z)[i]))
    negative = (x, y, z)[axis] < 0
    sc, tc = {0: (z if negative else -z, -y), 1: (x, -z if negative else z), 2: (-x if negative else x, -y)}[axis]
    r = abs((x, y, z)[axis])
    return 2 * axis + negative, (sc / r + 1) / 2, (tc / r + 1) / 2


@pytest.mark.parametrize("array", [False, True])
def test_faces_of_cubes(array: bool) -> None:
    direction = random(4 if array else 3)
    (seen,) = sources_after("txl", "cube", {"coord": direction, "lod": random(1)}, array=array)
    s, t, found = floats(seen["coord"])
    wanted = [face(direction[:3, lane]) for lane in range(LANES)]
    assert {number for number, _, _ in wanted} == set(range(6))
    layers = np.rint(direction[3]) if array else np.zeros(LANES)
    np.testing.assert_array_equal(found, np.array([number for number, _, _ in wanted]) + 8 * layers)
    np.testing.assert_allclose(s, [1 + value for _, value, _ in wanted], rtol=1e-6)
    np.testing.assert_allclose(t, [1 + value for _, _, value in wanted], rtol=1e-6)


def test_derivatives_of_cubes() -> None:
    direction = random(3)
    derivatives = {name: random(3, seed) for seed, name in enumerate(("ddx", "ddy"), 2)}
    (seen,) = sources_after("txd", "cube", {"coord": direction, **derivatives})
    step = 1e-6
    for name, derivative in derivatives.items():
        found = floats(seen[name])
        assert found.shape == (2, LANES)
        for lane in range(LANES):
            at = direction[:, lane].astype(np.float64)
            ahead, behind = face(at + step * derivative[:, lane]), face(at - step * derivative[:, lane])
            if ahead[0] == behind[0]:
                slope = [(ahead[i] - behind[i]) / (2 * step) for i in (1, 2)]
                np.testing.assert_allclose(found[:, lane], slope, rtol=2e-4, atol=1e-4)


def test_projection_divides_coordinates_and_reference() -> None:
    coordinate, divisor, reference = random(2), random(1, 2), random(1, 3)
    inputs = {"coord": coordinate, "projector": divisor, "comparator": reference, "lod": random(1, 4)}
    (seen,) = sources_after("txl", "2d", inputs, shadow=True)
    assert "projector" not in seen
    np.testing.assert_array_equal(floats(seen["coord"]), coordinate / divisor)
    np.testing.assert_array_equal(floats(seen["comparator"]), reference / divisor)


@pytest.mark.parametrize("dim", ["1d", "2d"])
def test_layers_are_rounded_to_even(dim: str) -> None:
    coordinate = random(2 if dim == "1d" else 3)
    coordinate[-1] = np.arange(LANES) / 2 - 4
    (seen,) = sources_after("txl", dim, {"coord": coordinate, "lod": random(1)}, array=True)
    np.testing.assert_array_equal(floats(seen["coord"])[:-1], coordinate[:-1])
    np.testing.assert_array_equal(floats(seen["coord"])[-1], np.rint(coordinate[-1]))


def test_layers_of_fetches_stay_and_offsets_are_added() -> None:
    coordinate = np.arange(3 * LANES, dtype=np.int32).reshape(3, LANES)
    offset = np.arange(2 * LANES, dtype=np.int32).reshape(2, LANES) - 70
    (seen,) = sources_after("txf", "2d", {"coord": coordinate.view(np.float32), "offset": offset.view(np.float32)}, array=True)
    assert "offset" not in seen
    found = np.asarray(seen["coord"]).view(np.int32)
    np.testing.assert_array_equal(found[:2], coordinate[:2] + offset)
    np.testing.assert_array_equal(found[2], coordinate[2])


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("opcode", ["tex", "txb"])
def test_implicit_levels_are_level_zero(opcode: str, least: bool) -> None:
    inputs = {"coord": random(2)} | ({"bias": random(1, 2)} if opcode == "txb" else {}) | ({"min_lod": random(1, 3)} if least else {})
    (seen,) = sources_after(opcode, "2d", inputs)
    assert set(seen) == {"texture_deref", "coord", "lod"}
    np.testing.assert_array_equal(floats(seen["lod"])[0], inputs["min_lod"][0] if least else 0)


def test_four_offsets_are_four_gathers() -> None:
    offsets = [(1, 2), (-1, 0), (0, 0), (-128, 127)]
    seen = sources_after("tg4", "2d", {"coord": random(2)}, offsets=offsets)
    assert [tuple(np.asarray(each["offset"]).view(np.int32)[:, 0].tolist()) for each in seen] == offsets
    sparse = sources_after("tg4", "2d", {"coord": random(2)}, offsets=offsets, flags=int(TextureFlag.IS_SPARSE))
    assert [each["offset"].tolist() for each in sparse] == [each["offset"].tolist() for each in seen]
