"""Images in the NIR interpreter: what sampling gives, and that no pass changes it.

Each shader has one operation, whose sources it loads from a buffer, lane by lane, and whose result it stores. It is executed as it is built
and after all passes of a chip, where images are descriptors and queries read their words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco._core.ir.vocabulary import AtomicOperation, BaseType, TextureFlag
from pyaco._core.nir import build, validate
from pyaco.descriptors.sampler import Sampler
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import passes
from pyaco.nir.builder import Builder
from pyaco.nir.images import Image, SampledImage
from pyaco.nir.interpreter import Interpreter

Array = NDArray[Any]
LANES = 64
LEVELS = (80, 90, 103, 110, 120)
#: Axes of coordinates, and width, height, depth and layers of the first level.
DIMS: dict[str, tuple[int, tuple[int, int, int, int]]] = {
    "1d": (1, (16, 1, 1, 3)), "2d": (2, (16, 8, 1, 3)), "3d": (3, (8, 8, 4, 1)), "cube": (3, (8, 8, 1, 12)), "ms": (2, (8, 8, 1, 3)),
    "buf": (1, (16, 1, 1, 1)), "rect": (2, (16, 8, 1, 1)),
}
SAMPLERS = {
    "nearest": Sampler((0, 1, 2)), "linear": Sampler((0, 1, 2), 1, 1, 2), "border": Sampler((6, 6, 6), 1, 1, 1, border_color_type=2),
    "compare": Sampler((2, 2, 2), compare=3), "linear_compare": Sampler((2, 2, 2), 1, 1, 1, compare=4),
}


def image_of(dim: str, array: bool, kind: str = "float32", mips: int = 3, components: int = 4, seed: int = 5) -> Image:
    """Random texels."""
    random = np.random.default_rng(seed)
    width, height, depth, layers = DIMS[dim][1]
    layers = layers if array else 6 if dim == "cube" else 1
    levels = []
    for level in range(1 if dim in ("ms", "buf", "rect") else mips):
        shape = (layers, *(max(1, size >> level) for size in (depth, height, width)), 4 if dim == "ms" else 1, components)
        values = random.integers(-1000, 1000, shape) if kind.startswith("int") else random.integers(0, 1000, shape)
        levels.append((random.uniform(0, 1, shape) if kind.startswith("float") else values).astype(kind))
    return Image(levels)


class Shader:
    """One operation by lane; `inputs` are loaded, its result is in ``result``."""

    def __init__(self, level: int, inputs: dict[str, Array], components: int, bits: int = 32) -> None:
        self.b = Builder(level, workgroup_size=(LANES, 1, 1))
        self.inputs = {name: np.atleast_2d(value) for name, value in inputs.items()}
        self.data = np.concatenate([value.view(np.uint32) for value in self.inputs.values()]) if inputs else np.zeros((1, LANES), np.uint32)
        self.out = np.zeros((LANES, 8), np.uint32)
        self.components, self.bits = components, bits
        self.lane = self.b.intrinsic("load_local_invocation_index", bit_size=32)
        self.values: dict[str, Any] = {}
        row = 0
        for name, value in self.inputs.items():
            parts = [self._load(row + i) for i in range(len(value))]
            self.values[name] = self.b.vec(*parts) if len(parts) > 1 else parts[0]
            row += len(value)

    def _buffer(self, binding: int) -> int:
        index = self.b.intrinsic("vulkan_resource_index", self.b.imm(0), components=3, bit_size=32, binding=binding)
        return self.b.intrinsic("load_vulkan_descriptor", index, components=3, bit_size=32)

    def _load(self, row: int) -> int:
        offset = self.b.iadd(self.b.imul(self.lane, self.b.imm(4)), self.b.imm(4 * LANES * row))
        return self.b.intrinsic("load_ssbo", self._buffer(0), offset, components=1, bit_size=32, align_mul=4)

    def variable(self, mode: str, base: str, dim: str = "", array: bool = False, binding: int = 2) -> int:
        """Append the deref of an image or sampler."""
        if base == "sampler":
            type = self.b.type("sampler")
        else:
            type = self.b.type(base, element=self.b.scalar("float"), image_dim=build.IMAGE_DIMS[dim][0], image_flags=int(array))
        return self.b.deref_var(self.b.variable(mode, type, set=0, binding=binding))

    def keep(self, value: int) -> None:
        """Append the store of the result."""
        offset = self.b.imul(self.lane, self.b.imm(32))
        self.b.intrinsic("store_ssbo", value, self._buffer(1), offset, write_mask=(1 << self.components) - 1, align_mul=4)

    def run(self, bound: dict[tuple[int, int], Any], lower: bool) -> Array:
        """Execute, after all passes if `lower` says so."""
        shader = self.b.finish()
        validate.run(shader)
        if lower:
            passes.run(shader, on_pass=lambda name, shader, seconds: validate.run(shader))
        Interpreter(shader, (1, 1, 1), {(0, 0): self.data, (0, 1): self.out, **bound}).run()
        return self.out[:, : self.components].T.copy()


def coordinates(dim: str, array: bool, seed: int = 1) -> Array:
    """Places within texels, away from where another texel or face begins; layers up to one outside."""
    random = np.random.default_rng(seed)
    axes, (width, height, depth, layers) = DIMS[dim]
    if dim == "cube":
        at = random.uniform(-1, 1, (3, LANES))
    else:
        whole = random.integers(-20, 40, (axes, LANES)) + random.uniform(0.1, 0.4, (axes, LANES)) + random.integers(0, 2, (axes, LANES)) / 2
        at = whole / np.array([width, height, depth])[:axes, None]
    if array:
        at = np.vstack([at, random.integers(-1, layers // (6 if dim == "cube" else 1) + 1, LANES) + 0.1])
    return at.astype(np.float32)


def levels(seed: int = 2) -> Array:
    random = np.random.default_rng(seed)
    return (random.integers(-1, 3, LANES) + random.uniform(0.05, 0.45, LANES)).astype(np.float32)


def sampled(opcode: str, dim: str, array: bool, sampler: str, level: int, *, lower: bool, combined: bool = False, **more: Any) -> Array:
    """The result of a sample."""
    inputs = {"coord": coordinates(dim, array)}
    axes = DIMS[dim][0]
    random = np.random.default_rng(10)
    if opcode == "txl":
        inputs["lod"] = levels()
    if opcode == "txd":
        inputs |= {name: random.uniform(-0.2, 0.2, (axes, LANES)).astype(np.float32) for name in ("ddx", "ddy")}
    if more.get("shadow"):
        inputs["comparator"] = random.uniform(0, 1, LANES).astype(np.float32)
        more["flags"] = int(TextureFlag.SHADOW_SCALAR) if opcode != "tg4" else 0
    inputs |= more.pop("inputs", {})
    image = image_of(dim, array, more.pop("kind", "float32"))
    shader = Shader(level, inputs, 1 if more.get("shadow") and opcode != "tg4" else 4)
    bound: dict[tuple[int, int], Any]
    handles: dict[str, Any]
    if combined:
        both = shader.variable("uniform", "sampled_image", dim, array)
        handles = {"texture_deref": both, "sampler_deref": both}
        bound = {(0, 2): SampledImage(image, SAMPLERS[sampler])}
    else:
        handles = {"texture_deref": shader.variable("uniform", "texture", dim, array),
                   "sampler_deref": shader.variable("uniform", "sampler", binding=3)}
        bound = {(0, 2): image, (0, 3): SAMPLERS[sampler]}
    base = "int" if image.levels[0].dtype.kind == "i" else "float"
    shader.keep(shader.b.tex(opcode, dim, base, array=array, **handles, **shader.values, **more))
    return shader.run(bound, lower)


SHAPES = [(dim, array) for dim in ("1d", "2d", "3d", "cube") for array in (False, True) if not (array and dim == "3d")]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("dim", "array"), SHAPES)
def test_passes_keep_samples(dim: str, array: bool, level: int) -> None:
    compared = 0
    for opcode in ("txl", "txd", "tex"):
        for number, sampler in enumerate(("nearest", "linear", "border")):
            before, after = (sampled(opcode, dim, array, sampler, level, lower=lower, combined=bool(number % 2)).view(np.float32)
                             for lower in (False, True))
            assert np.ptp(before) > 0.1
            np.testing.assert_allclose(after, before, rtol=0, atol=2e-4, err_msg=f"{opcode} {sampler}")
            compared += 1
    assert compared == 9


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("dim", "array"), [shape for shape in SHAPES if shape[0] in ("2d", "cube")])
def test_passes_keep_comparisons_and_gathers(dim: str, array: bool, level: int) -> None:
    cases: list[dict[str, Any]] = [
        {"opcode": "txl", "sampler": "compare", "shadow": True}, {"opcode": "txl", "sampler": "linear_compare", "shadow": True},
        {"opcode": "tg4", "sampler": "nearest", "component": 2}, {"opcode": "tg4", "sampler": "compare", "shadow": True},
    ]
    if dim == "2d":
        cases += [{"opcode": "tg4", "sampler": "border", "offsets": [(1, 2), (-3, 0), (0, 0), (5, -5)]},
                  {"opcode": "txl", "sampler": "linear", "inputs": {"offset": np.random.default_rng(3).integers(-8, 8, (2, LANES), np.int32)}},
                  {"opcode": "txl", "sampler": "nearest", "kind": "int32"},
                  {"opcode": "tex", "sampler": "linear", "inputs": {"projector": np.random.default_rng(4).uniform(1, 2, LANES).astype("f4")}}]
    for case in cases:
        before, after = (sampled(dim=dim, array=array, level=level, lower=lower, **dict(case)) for lower in (False, True))
        if case.get("kind") == "int32":
            np.testing.assert_array_equal(after, before)
        elif "projector" in case.get("inputs", {}):
            assert (np.abs(after.view(np.float32) - before.view(np.float32)) < 1e-3).mean() > 0.95       # it may cross a texel's edge
        else:
            np.testing.assert_allclose(after.view(np.float32), before.view(np.float32), rtol=0, atol=2e-4, err_msg=str(case))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("dim", "array"), [*(shape for shape in SHAPES if shape[0] != "cube"), ("ms", False), ("ms", True), ("buf", False),
                                            ("rect", False)])
def test_passes_keep_fetches_and_queries(dim: str, array: bool, level: int) -> None:
    image, random = image_of(dim, array, "int32"), np.random.default_rng(3)
    axes, (width, height, depth, layers) = DIMS[dim]
    sizes = [*(width, height, depth)[:axes], *([layers] if array else [])]
    at = np.array([random.integers(-1, size + 1, LANES) for size in sizes], np.int32)
    inputs: dict[str, Array] = {"coord": at}
    number = random.integers(0, 4, LANES, np.int32)
    if dim == "ms":
        inputs["ms_index"] = number
    elif dim not in ("buf", "rect"):
        inputs |= {"lod": number, "offset": random.integers(-2, 3, (axes, LANES), np.int32)}
    found = []
    for lower in (False, True):
        shader = Shader(level, inputs, 4)
        texture = shader.variable("uniform", "texture", dim, array)
        shader.keep(shader.b.tex("txf_ms" if dim == "ms" else "txf", dim, "int", array=array, texture_deref=texture, **shader.values))
        found.append(shader.run({(0, 2): image}, lower).view(np.int32))
    for lane in range(LANES):
        place = at[:, lane] + (np.append(inputs["offset"][:, lane], [0] * array) if "offset" in inputs else 0)
        mip = int(inputs["lod"][lane]) if "lod" in inputs else 0
        texel = np.zeros(4, np.int32)
        if mip < len(image.levels):
            whole = (int(place[axis]) if axis < axes else 0 for axis in (2, 1, 0))
            index = [int(place[-1]) if array else 0, *whole, int(number[lane]) * (dim == "ms")]
            if all(0 <= i < size for i, size in zip(index, image.levels[mip].shape, strict=False)):
                texel = image.levels[mip][tuple(index)]
        np.testing.assert_array_equal(found[0][:, lane], texel)
    np.testing.assert_array_equal(found[1], found[0])
    queried(dim, array, level, image, len(sizes))


def queried(dim: str, array: bool, level: int, image: Image, count: int) -> None:
    """Compare size, levels and samples, of the image and of a null descriptor."""
    mips = np.arange(LANES, dtype=np.int32) // 22
    for opcode, components in (("txs", count), ("query_levels", 1), ("texture_samples", 1)):
        if (opcode == "texture_samples") != (dim == "ms") and opcode != "txs":
            continue
        for given in (image, None):
            shader = Shader(level, {"lod": mips} if opcode == "txs" and dim not in ("ms", "buf", "rect") else {}, components)
            sources = shader.values | {"texture_deref": shader.variable("uniform", "texture", dim, array)}
            shader.keep(shader.b.tex(opcode, dim, "int", array=array, **sources))
            found = shader.run({(0, 2): given}, True)
            wanted = np.zeros_like(found)
            if given is not None and opcode == "txs":
                for lane in range(LANES):
                    a = given.levels[mips[lane] if len(given.levels) > 1 else 0]
                    wanted[:, lane] = [*(a.shape[3], a.shape[2], a.shape[1])[: count - array], *([a.shape[0]] if array else [])]
            elif given is not None:
                wanted[:] = len(given.levels) if opcode == "query_levels" else 4
            np.testing.assert_array_equal(found, wanted, err_msg=f"{opcode} {given}")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("dim", "array"), [("1d", False), ("2d", True), ("3d", False), ("cube", True), ("ms", False), ("buf", False)])
def test_passes_keep_loads_stores_and_atomics(dim: str, array: bool, level: int) -> None:
    random = np.random.default_rng(8)
    axes, (width, height, depth, layers) = DIMS[dim]
    sizes = [width, height, depth][: 2 if dim == "cube" else axes] + ([layers] if array else [])
    at = np.array([random.integers(-1, size + 1, LANES) for size in [*sizes, 1, 1, 1][:4]], np.int32)
    inputs = {"coord": at, "value": random.integers(0, 1 << 31, (4, LANES), np.uint32), "sample": random.integers(0, 4, LANES, np.int32)}
    facts = {"image_dim": build.IMAGE_DIMS[dim][0], "image_array": int(array)}
    results = {}
    for operation in ("load", "store", "atomic", "atomic_swap"):
        for lower in (False, True):
            image = image_of(dim, array, "uint32", mips=1)
            shader = Shader(level, inputs, 4 if operation == "load" else 1)
            b, given, zero = shader.b, shader.values, shader.b.imm(0)
            sources = [shader.variable("image", "image", dim, array), given["coord"], given["sample"]]
            part = b.component(given["value"], 0)
            if operation == "load":
                shader.keep(b.intrinsic("image_deref_load", *sources, zero, components=4, bit_size=32, dest_type=BaseType.UINT << 8 | 32, **facts))
            elif operation == "store":
                b.intrinsic("image_deref_store", *sources, given["value"], zero, src_type=BaseType.UINT << 8 | 32, **facts)
                shader.keep(zero)
            elif operation == "atomic":
                shader.keep(b.intrinsic("image_deref_atomic", *sources, part, components=1, bit_size=32, atomic_op=AtomicOperation.IADD, **facts))
            else:
                old = b.component(given["value"], 1)
                shader.keep(b.intrinsic("image_deref_atomic_swap", *sources, old, part, components=1, bit_size=32,
                                        atomic_op=AtomicOperation.CMPXCHG, **facts))
            results[operation, lower] = shader.run({(0, 2): image}, lower), image.levels[0]
        np.testing.assert_array_equal(results[operation, False][0], results[operation, True][0])
        np.testing.assert_array_equal(results[operation, False][1], results[operation, True][1])
    original = image_of(dim, array, "uint32", mips=1).levels[0]
    assert (results["store", True][1] != original).any() and (results["atomic", True][1] != original).any()
    total = (results["atomic", True][1].astype(np.uint64) - original).sum() & 0xFFFFFFFF
    inside = np.all([(row >= 0) & (row < size) for row, size in zip(at, sizes, strict=False)], 0)
    assert total == inputs["value"][0, inside].astype(np.uint64).sum() & 0xFFFFFFFF


# ----------------------------------------------------------------------------------------- what sampling gives, in numbers
def one(sampler: Sampler, image: Image, at: list[float], dim: str = "2d", lod: float = 0.0) -> list[float]:
    """A sample of the same place by all lanes."""
    inputs = {"coord": np.repeat(np.array(at, np.float32)[:, None], LANES, 1), "lod": np.full(LANES, lod, np.float32)}
    shader = Shader(103, inputs, 4)
    texture, state = shader.variable("uniform", "texture", dim), shader.variable("uniform", "sampler", binding=3)
    shader.keep(shader.b.tex("txl", dim, texture_deref=texture, sampler_deref=state, **shader.values))
    return list(map(float, shader.run({(0, 2): image, (0, 3): sampler}, False).view(np.float32)[:, 0]))


def plane(values: list[list[float]], smaller: float | None = None) -> Image:
    """A two-dimensional image of one component, and perhaps a second level of one texel."""
    first = np.array(values, np.float32)[None, None, :, :, None, None]
    return Image([first] if smaller is None else [first, np.full((1, 1, 1, 1, 1, 1), smaller, np.float32)])


def test_filters() -> None:
    image = plane([[0, 1], [2, 3]], 9)
    assert one(Sampler((2, 2, 2)), image, [0.75, 0.25]) == [1, 0, 0, 1]            # the absent alpha is one
    assert one(Sampler((2, 2, 2), 1, 1), image, [0.5, 0.5])[0] == 1.5
    assert one(Sampler((2, 2, 2), 1, 1), image, [0.375, 0.25])[0] == 0.25
    assert one(Sampler((2, 2, 2), 1, 1, 2), image, [0.25, 0.25], lod=0.25)[0] == 9 / 4
    assert one(Sampler((2, 2, 2), 0, 0, 1), image, [0.25, 0.25], lod=0.5)[0] == 0      # half-way belongs to the larger level
    assert one(Sampler((2, 2, 2), 0, 0, 1), image, [0.25, 0.25], lod=0.51)[0] == 9
    assert one(Sampler((2, 2, 2), 0, 0, 1, max_lod=0.0), image, [0.25, 0.25], lod=5)[0] == 0
    assert one(Sampler((2, 2, 2), 0, 0, 1, lod_bias=1.0), image, [0.25, 0.25])[0] == 9


@pytest.mark.parametrize(("mode", "row"), [(0, [2, 3, 0, 1, 2, 3, 0, 1]), (1, [1, 0, 0, 1, 2, 3, 3, 2]), (2, [0, 0, 0, 1, 2, 3, 3, 3]),
                                           (3, [1, 0, 0, 1, 2, 3, 3, 3]), (6, [1, 1, 0, 1, 2, 3, 1, 1])])
def test_addressing_modes(mode: int, row: list[float]) -> None:
    found = [one(Sampler((mode,) * 3, border_color_type=2), plane([[0, 1, 2, 3]]), [(x + 0.5) / 4, 0.5])[0] for x in range(-2, 6)]
    assert found == row


def test_faces_of_cubes_meet() -> None:
    """Filtered samples along a great circle change by no more than a texel's share from step to step; and each face's middle is its own."""
    size, count = 8, 720
    random = np.random.default_rng(0)
    image = Image([random.uniform(0, 1, (6, 1, size, size, 1, 1)).astype(np.float32)])
    for face, direction in enumerate(([1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1])):
        wanted = image.levels[0][face, 0, size // 2 - 1 : size // 2 + 1, size // 2 - 1 : size // 2 + 1].mean()
        assert one(Sampler((2, 2, 2), 1, 1), image, list(map(float, direction)), "cube")[0] == pytest.approx(wanted, abs=1e-6)
    for axis in range(3):
        found: list[float] = []
        for start in range(0, count, LANES):
            angle = 2 * np.pi * (start + np.arange(LANES)) / count
            circle = np.roll(np.array([np.cos(angle), np.sin(angle), np.full(LANES, 0.3)]), axis, 0).astype(np.float32)
            shader = Shader(103, {"coord": circle, "lod": np.zeros(LANES, np.float32)}, 4)
            cube, sampler = shader.variable("uniform", "texture", "cube"), shader.variable("uniform", "sampler", binding=3)
            shader.keep(shader.b.tex("txl", "cube", texture_deref=cube, sampler_deref=sampler, **shader.values))
            found += shader.run({(0, 2): image, (0, 3): Sampler((2, 2, 2), 1, 1)}, False).view(np.float32)[0].tolist()
        assert np.abs(np.diff(found)).max() < 0.12 < np.ptp(found)


def test_gathers_read_the_base_level() -> None:
    """Limits and bias of the sampler do not count."""
    image = plane([[0, 1], [2, 3]], 9)
    for state in (Sampler((2, 2, 2), mip_filter=1, min_lod=1.0), Sampler((2, 2, 2), mip_filter=1, lod_bias=1.0)):
        shader = Shader(103, {"coord": np.full((2, LANES), 0.5, np.float32)}, 4)
        texture, sampler = shader.variable("uniform", "texture", "2d"), shader.variable("uniform", "sampler", binding=3)
        shader.keep(shader.b.tex("tg4", "2d", texture_deref=texture, sampler_deref=sampler, **shader.values))
        assert shader.run({(0, 2): image, (0, 3): state}, False).view(np.float32)[:, 0].tolist() == [2, 3, 1, 0]


def test_what_the_interpreter_does_not_sample() -> None:
    with pytest.raises(UnsupportedError, match="anisotropy"):
        one(Sampler(max_anisotropy=2), plane([[0, 1]]), [0.5, 0.5])
    with pytest.raises(UnsupportedError, match="border colours"):
        one(Sampler((6, 6, 6), border_color_type=3), plane([[0, 1]]), [5, 0.5])
    with pytest.raises(UnsupportedError, match="addressing mode 4"):
        one(Sampler((4, 4, 4)), plane([[0, 1]]), [5, 0.5])
    with pytest.raises(InputError, match="no image or sampler is given for set 0, binding 2"):
        shader = Shader(103, {}, 1)
        shader.keep(shader.b.tex("query_levels", "2d", "int", texture_deref=shader.variable("uniform", "texture", "2d")))
        shader.run({}, False)
    with pytest.raises(InputError, match="have the shape"):
        Image([np.zeros((4, 4))])
