"""Speed of image instructions, beside lavapipe on the same SPIR-V in the same run.

Each invocation does 16 operations on a tiled image of 256 x 256 texels and adds up what it gets; neighbouring invocations read neighbouring texels,
except where the case is called scattered.
Times are CPU time of one thread, warm, the least of several runs, ours and lavapipe's by turns, so that a host that is busy for a while slows both.
lavapipe takes its usual shortcuts in sampling.

``python bench/bench_images.py`` prints the comparison, with ``--shape 32x1`` that in workgroups of 32 x 1, with ``--bits 256`` that of a host without
AVX-512, with ``--shapes`` how much longer other workgroups take than those of 8 x 8; pytest runs the same measurements.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "oracle"))

from pyaco import compile
from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu_fast import engine
from pyaco.descriptors.sampler import Sampler
from pyaco.emu import Device
from pyaco.emu.device import DEFAULT_BUDGET
from pyaco.emu.images import SampledImage
from pyaco.emu.launch import Launch

pytestmark = pytest.mark.benchmark(timer=time.process_time)
TARGET = "gfx1100"
EDGE = 256
SIDE = 256                            # invocations along x and along y
BY_TURNS = 4
TURNS = 16
OPERATIONS = SIDE * SIDE * TURNS
#: VkFormat, GLSL's layout, and this package's name.
FORMATS = {"rgba8": (37, "R8G8B8A8_UNORM"), "r32f": (100, "R32_FLOAT"), "rgba16f": (97, "R16G16B16A16_FLOAT"),
           "d32": (126, "Z32_FLOAT"), "srgb": (43, "R8G8B8A8_SRGB"), "rgba32f": (109, "R32G32B32A32_FLOAT"), "bc1": (133, "bc1")}


class Case(NamedTuple):
    """One operation: GLSL's type of the image, an expression for each turn, and the state of the sampler."""

    image: str
    expression: str
    format: str = "rgba8"
    dimension: str = "2d"
    linear: bool = False
    levels: int = 1
    compare: int = 0                  # VkCompareOp
    anisotropy: int = 0               # logarithm of the greatest ratio

    @property
    def storage(self) -> bool:
        return "image" in self.image

    @property
    def extent(self) -> tuple[int, int, int]:
        """Width, height and depth."""
        return (32, 32, 32) if self.dimension == "3d" else (EDGE // 2, EDGE // 2, 1) if self.dimension == "cube" else (EDGE, EDGE, 1)

    def source(self, shape: tuple[int, int]) -> str:
        """The shader in GLSL, for workgroups of a shape."""
        layout = f"set = 0, binding = 1{', ' + self.format if self.storage else ''}"
        body = self.expression if self.expression.startswith("imageStore") else f"sum += {self.expression}"
        return f"""#version 450
layout(local_size_x = {shape[0]}, local_size_y = {shape[1]}) in;
layout(set = 0, binding = 0) buffer Out {{ vec4 result[]; }};
layout({layout}) uniform {self.image} image;
void main() {{
    vec2 place = (vec2(gl_GlobalInvocationID.xy) + 0.37) / {SIDE}.0;
    ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
    vec4 sum = vec4(0);
    for (int turn = 0; turn < {TURNS}; ++turn) {{
        vec2 at = place + turn * vec2(0.061, 0.027);
        ivec2 whole = (texel + turn * ivec2(13, 7)) & {EDGE - 1};
        {body};
    }}
    result[gl_GlobalInvocationID.y * {SIDE} + gl_GlobalInvocationID.x] = sum;
}}
"""


LOD0 = "textureLod(image, at, 0.0)"
#: A picture that is turned, and places without an order: no lanes lie in lines.
ROTATED = "mat2(0.8, 0.6, -0.6, 0.8) * at"
RANDOM = ("vec2(uvec2(uint(texel.x) * 2654435761u + uint(texel.y) * 2654486847u + uint(turn) * 2246822519u, "
          "uint(texel.x) * 3266489917u ^ uint(texel.y) * 668265263u + uint(turn) * 374761393u) >> 8u) / 16777216.0")
STEEP = "vec2(0.016, 0.002), vec2(-0.002, 0.004)"
CASES = {
    "fetch": Case("sampler2D", "texelFetch(image, whole, 0)"),
    "load": Case("image2D", "imageLoad(image, whole)"),
    "store": Case("image2D", "imageStore(image, whole, vec4(at, 0.5, 1.0))"),
    "point": Case("sampler2D", LOD0),
    "bilinear": Case("sampler2D", LOD0, linear=True),
    "trilinear": Case("sampler2D", "textureLod(image, at, at.x + 0.3)", linear=True, levels=9),
    "gather": Case("sampler2D", "textureGather(image, at, 1)", linear=True),
    "shadow": Case("sampler2DShadow", "vec4(textureLod(image, vec3(at, 0.5), 0.0))", "d32", linear=True, compare=1),
    "fetch_r32f": Case("sampler2D", "texelFetch(image, whole, 0)", "r32f"),
    "bilinear_r32f": Case("sampler2D", LOD0, "r32f", linear=True),
    "fetch_rgba16f": Case("sampler2D", "texelFetch(image, whole, 0)", "rgba16f"),
    "bilinear_rgba16f": Case("sampler2D", LOD0, "rgba16f", linear=True),
    "fetch_scattered": Case("sampler2D", f"texelFetch(image, (whole * ivec2(37, 101)) & {EDGE - 1}, 0)"),
    "bilinear_scattered": Case("sampler2D", "textureLod(image, at * vec2(37.3, 101.7), 0.0)", linear=True),
    "linear_3d": Case("sampler3D", "textureLod(image, vec3(at, at.x * 0.7), 0.0)", dimension="3d", linear=True),
    "linear_cube": Case("samplerCube", "textureLod(image, vec3(at - 0.5, 0.6), 0.0)", dimension="cube", linear=True),
    "rotated": Case("sampler2D", f"textureLod(image, {ROTATED}, 0.0)", linear=True),
    "rotated_r32f": Case("sampler2D", f"textureLod(image, {ROTATED}, 0.0)", "r32f", linear=True),
    "rotated_rgba16f": Case("sampler2D", f"textureLod(image, {ROTATED}, 0.0)", "rgba16f", linear=True),
    "rotated_rgba32f": Case("sampler2D", f"textureLod(image, {ROTATED}, 0.0)", "rgba32f", linear=True),
    "rotated_srgb": Case("sampler2D", f"textureLod(image, {ROTATED}, 0.0)", "srgb", linear=True),
    "rotated_bc1": Case("sampler2D", f"textureLod(image, {ROTATED}, 0.0)", "bc1", linear=True),
    "rotated_gather": Case("sampler2D", f"textureGather(image, {ROTATED}, 1)", linear=True),
    "rotated_shadow": Case("sampler2DShadow", f"vec4(textureLod(image, vec3({ROTATED}, 0.5), 0.0))", "d32", linear=True, compare=1),
    "random": Case("sampler2D", f"textureLod(image, {RANDOM}, 0.0)", linear=True),
    "random_cube": Case("samplerCube", f"textureLod(image, vec3({RANDOM}, 0.3) - 0.5, 0.0)", dimension="cube", linear=True),
    "ray_3d": Case("sampler3D", "textureLod(image, vec3(0.5, 0.4, 0.1) + normalize(vec3(place - 0.5, 0.7)) * (turn * 0.06), 0.0)", dimension="3d",
                   linear=True),
    "gradients": Case("sampler2D", f"textureGrad(image, {ROTATED}, {STEEP})", linear=True, levels=9),
    "anisotropic": Case("sampler2D", f"textureGrad(image, {ROTATED}, {STEEP})", linear=True, levels=9, anisotropy=2),
}
#: Operations a second that one core has to do, and how many times lavapipe's CPU time they may take.
LEAST = {"bilinear": 100e6, "fetch": 150e6}
SLOWER = {"fetch_rgba16f": 1.25, "bilinear": 1.75, "bilinear_rgba16f": 1.75, "fetch_r32f": 2.0, "store": 2.0, "trilinear": 1.5, "gather": 1.75,
          "shadow": 1.5, "bilinear_scattered": 2.0, "linear_3d": 1.5, "linear_cube": 2.0}
SLOWER_ELSE = 2.5
#: Workgroups; of the first two kinds of the others several share a wave. And how much longer than in the first kind an operation may take.
SQUARE = (8, 8)
SHAPES = {(16, 1): 2.5, (32, 1): 2.5, (64, 1): 2.5, (16, 4): 2.5, (16, 16): 2.5}


@cache
def spirv_of(name: str, shape: tuple[int, int] = SQUARE) -> bytes:
    """Return the shader as glslangValidator compiles it."""
    return subprocess.run(
        ["glslangValidator", "--stdin", "-S", "comp", "-V", "--target-env", "vulkan1.2", "-o", "/dev/stdout", "--quiet"],
        input=CASES[name].source(shape).encode(), capture_output=True, check=True,
    ).stdout  # fmt: skip


@cache
def texels_of(name: str) -> tuple[bytes, ...]:
    """Return the texels of every level."""
    case, random = CASES[name], np.random.default_rng(1)
    layers = 6 if case.dimension == "cube" else 1
    levels = []
    for level in range(case.levels):
        count = int(np.prod([max(size >> level, 1) for size in case.extent])) * layers
        if case.format == "bc1":
            levels.append(random.integers(0, 1 << 32, count // 8, dtype=np.uint32).tobytes())
        elif case.format in ("rgba8", "srgb"):
            levels.append(random.integers(0, 1 << 32, count, dtype=np.uint32).tobytes())
        else:
            levels.append(random.random(count * (4 if "rgba" in case.format else 1)).astype("f2" if case.format == "rgba16f" else "f4").tobytes())
    return tuple(levels)


class Prepared:
    """A case with its image on a device."""

    def __init__(self, name: str, engine: str = "fast", shape: tuple[int, int] = SQUARE) -> None:
        case = CASES[name]
        width, height, depth = case.extent
        self.device = Device(TARGET, engine, 1)
        extra: dict[str, Any] = {"depth": depth} if case.dimension == "3d" else {"cube": True} if case.dimension == "cube" else {}
        self.image = self.device.image(format=FORMATS[case.format][1], width=width, height=height, mips=case.levels, **extra)
        for mip, raw in enumerate(texels_of(name)):
            level = self.image.numpy(mip)
            self.image.write(np.frombuffer(raw, level.dtype).reshape(level.shape), mip)
        self.result = self.device.zeros(SIDE * SIDE * 16)
        view = self.image.view(case.dimension, storage=case.storage)
        filter_ = int(case.linear) + (2 if case.anisotropy else 0)
        sampler = Sampler((0, 0, 0), filter_, filter_, 2 if case.levels > 1 else 1, truncate=not case.linear, compare=case.compare,
                          max_anisotropy=case.anisotropy)
        buffers = {(0, 0): self.result, (0, 1): view if case.storage else SampledImage(view, sampler)}
        placed = self.device.place(compile(spirv_of(name, shape), target=TARGET), (SIDE // shape[0], SIDE // shape[1], 1), buffers)
        launch = Launch.from_abi(placed.abi, self.device.gfx_level, entry=placed.entry, code_bytes=placed.code_bytes, groups=placed.groups,
                                 user_sgprs=placed.user_sgprs)
        self.user_sgprs, self.launch = placed.user_sgprs, self.device.prepare(launch)

    def run(self) -> None:
        """Run once what is prepared, as a command buffer is that has been recorded."""
        self.launch.run(self.user_sgprs, DEFAULT_BUDGET)


def best(run: Callable[[], object], repetitions: int = 25) -> float:
    """Return the least CPU time of several runs, after one to warm up."""
    run()
    times = []
    for _ in range(repetitions):
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return min(times)


def times_by_turns(name: str, shape: tuple[int, int] = SQUARE) -> tuple[float, float | None]:
    """Return our CPU time and lavapipe's; None where it is not there."""
    prepared = Prepared(name, shape=shape)
    turns = [(best(prepared.run), lavapipe_time(name, shape)) for _ in range(BY_TURNS)]
    theirs = [each for _, each in turns if each is not None]
    return min(ours for ours, _ in turns), min(theirs, default=None)


def lavapipe_time(name: str, shape: tuple[int, int] = SQUARE) -> float | None:
    """Return lavapipe's CPU time for the same shader; None where it is not there."""
    try:
        from vulkan_images import KINDS
        from vulkan_peer import Lavapipe, PeerError
    except ImportError:
        return None
    case = CASES[name]
    kinds = [KINDS["storage_buffer"], KINDS["storage_image" if case.storage else "combined_image_sampler"]]
    layouts = [[{"number": n, "type": t, "count": 1, "samplers": [], "mutable": [], "variable": False} for n, t in enumerate(kinds)]]
    image = {"type": case.dimension, "format": FORMATS[case.format][0], "extent": case.extent, "layers": 6 if case.dimension == "cube" else 1,
             "levels": list(texels_of(name)), "storage": case.storage, "aspect": 2 if case.format == "d32" else 1}
    if not case.storage:
        image["sampler"] = {"magFilter": int(case.linear), "minFilter": int(case.linear), "mipmapMode": int(case.levels > 1), "minLod": 0.0,
                            "maxLod": 15.0, "compareEnable": int(case.compare > 0), "compareOp": case.compare,
                            "anisotropyEnable": int(case.anisotropy > 0), "maxAnisotropy": float(1 << case.anisotropy)}
    try:
        return min(Lavapipe(exact=False).time(spirv_of(name, shape), (SIDE // shape[0], SIDE // shape[1], 1),
                                              {(0, 0): np.zeros(SIDE * SIDE * 4, np.float32)}, 25, layouts, {(0, 1): image}))
    except PeerError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None


# ----------------------------------------------------------------------------------------------------------------- tests
@pytest.mark.parametrize("name", list(CASES))
def test_operation(benchmark: BenchmarkFixture, name: str) -> None:
    """Operations a second of CPU time on one thread."""
    prepared = Prepared(name)
    prepared.run()
    benchmark.pedantic(prepared.run, rounds=5)
    assert benchmark.stats is not None
    rate = OPERATIONS / benchmark.stats.stats.min
    benchmark.extra_info["operations_per_second"] = rate
    assert rate >= LEAST.get(name, 0)


@pytest.mark.parametrize("name", list(CASES))
def test_images_against_lavapipe(name: str) -> None:
    """Not many times slower than a compiler for the host."""
    ours, theirs = times_by_turns(name)
    if theirs is None:
        pytest.skip("lavapipe is not there")
    ratio = ours / theirs
    print(f"{name}: {ratio:.2f} times lavapipe's CPU time")
    assert ratio <= SLOWER.get(name, SLOWER_ELSE)


@pytest.mark.parametrize("shape", list(SHAPES), ids="{0[0]}x{0[1]}".format)
@pytest.mark.parametrize("name", ["fetch", "bilinear", "bilinear_scattered"])
def test_shapes(name: str, shape: tuple[int, int]) -> None:
    """Lanes that lie otherwise than in squares do not take many times longer."""
    assert best(Prepared(name, shape=shape).run) <= SHAPES[shape] * best(Prepared(name).run)


def take_vectors(bits: int) -> None:
    """Let devices take vectors of so many bits of the host."""
    fast = engine.FastEngine

    def make(space: AddressSpace, gfx_level: int, threads: int = 1) -> engine.FastEngine:
        return fast(space, gfx_level, threads, bits)

    engine.FastEngine = make  # type: ignore[misc, assignment]


def print_shapes(names: list[str]) -> None:
    """Print how many times as long an operation takes in other workgroups than in those of 8 x 8."""
    print(f"{'':18}" + "".join(f"{f'{width}x{height}':>8}" for width, height in SHAPES))
    for name in names:
        square = best(Prepared(name).run)
        print(f"{name:18}" + "".join(f"{best(Prepared(name, shape=shape).run) / square:8.2f}" for shape in SHAPES), flush=True)


def workgroup(text: str) -> tuple[int, int]:
    """Return width and height of workgroups."""
    width, _, height = text.partition("x")
    return int(width), int(height)


def main() -> None:
    """Print millions of operations a second, and the ratio to lavapipe's CPU time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--shape", type=workgroup, default=SQUARE, help="workgroups, instead of 8x8")
    parser.add_argument("--bits", type=int, choices=[bits for bits in (256, 512) if bits <= engine.vector_bits()], help="of the host's vectors")
    parser.add_argument("--shapes", action="store_true")
    options = parser.parse_args()
    if options.bits:
        take_vectors(options.bits)
    names = options.names or list(CASES)
    if options.shapes:
        print_shapes(names)
        return
    print(f"{'':18}{'M/s':>10}{'lavapipe':>10}{'ratio':>8}")
    for name in names:
        ours, theirs = times_by_turns(name, options.shape)
        peer = f"{OPERATIONS / theirs / 1e6:10.1f}{ours / theirs:8.2f}" if theirs else ""
        print(f"{name:18}{OPERATIONS / ours / 1e6:10.1f}{peer}", flush=True)


if __name__ == "__main__":
    main()
