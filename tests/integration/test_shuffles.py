"""Shuffles by constants: what lanes receive, and that no loop over lanes is made of them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pyaco
from pyaco.nir import interpreter
from pyaco.pm4.build import DispatchStream

MASKS = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 21, 31)
BODY = """#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A {{ uint a[]; }};
layout(set = 0, binding = 1) buffer B {{ uint b[]; }};
void main() {{ uint i = gl_LocalInvocationIndex; uint v = a[i];
{} }}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslangValidator is not installed")
    source: Path = tmp_path_factory.mktemp("shuffles") / "shuffle.comp"
    lines = [f"b[{64 * place}u + i] = subgroupShuffleXor(v, {mask}u);" for place, mask in enumerate(MASKS)]
    source.write_text(BODY.format("\n".join(lines)))
    output = source.with_suffix(".spv")
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(output), str(source)], check=True, capture_output=True)
    return output.read_bytes()


@pytest.mark.parametrize(("target", "wave"), [("gfx900", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 64)])
def test_exclusive_or_of_lane_numbers(module: bytes, target: str, wave: int) -> None:
    shader = pyaco.compile(module, target=target, wave=wave)
    assert "v_readlane" not in shader.disassembly and "s_cbranch" not in shader.disassembly
    device = pyaco.emu.Device(target)
    values = np.random.default_rng(3).integers(0, 1 << 32, 64, np.uint32)
    a, b = device.buffer(values), device.buffer(np.zeros(64 * len(MASKS), np.uint32))
    device.dispatch(shader, groups=(1, 1, 1), buffers={(0, 0): a, (0, 1): b})
    lanes = np.arange(64)
    expected = np.concatenate([values[lanes ^ mask] for mask in MASKS])
    assert np.array_equal(b.numpy().view(np.uint32).ravel(), expected)


# What each lane receives from `index`, a number of its own below 64, in a wave of `size` lanes.
LANES = np.arange(64)
MOVES: dict[str, tuple[str, Callable[[np.ndarray, int], np.ndarray]]] = {
    "shuffle": ("subgroupShuffle(v, n & (gl_SubgroupSize - 1u))", lambda n, size: LANES // size * size + n % size),
    "xor": ("subgroupShuffleXor(v, n & (gl_SubgroupSize - 1u))", lambda n, size: LANES ^ n % size),
    "up": ("subgroupShuffleUp(v, n % (gl_SubgroupInvocationID + 1u))", lambda n, size: LANES - n % (LANES % size + 1)),
    "down": ("subgroupShuffleDown(v, n % (gl_SubgroupSize - gl_SubgroupInvocationID))", lambda n, size: LANES + n % (size - LANES % size)),
    "rotate": ("subgroupShuffle(v, c)", lambda n, size: LANES // size * size + (LANES + 37) % size),
    "rotate 32": ("subgroupShuffle(v, c)", lambda n, size: LANES // 32 * 32 + (LANES + 37) % 32),
    "rotate 8": ("subgroupShuffle(v, c)", lambda n, size: LANES // 8 * 8 + (LANES + 37) % 8),
    "xor half": ("subgroupShuffleXor(v, gl_SubgroupSize / 2u)", lambda n, size: LANES ^ size // 2),
    "rotate half": ("subgroupShuffle(v, gl_SubgroupSize / 2u)", lambda n, size: LANES ^ size // 2),
    "pair": ("uint(subgroupShuffle(u64vec2(v, v * 3ul), n & (gl_SubgroupSize - 1u)).y >> 16)", lambda n, size: LANES // size * size + n % size),
    "bool": ("uint(subgroupShuffle((v & 1u) != 0u, n & (gl_SubgroupSize - 1u)))", lambda n, size: LANES // size * size + n % size),
    "short": ("uint(subgroupShuffle(uint16_t(v), n & (gl_SubgroupSize - 1u)))", lambda n, size: LANES // size * size + n % size),
}
RECEIVED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "pair": lambda v: v.astype(np.uint64) * np.uint64(3) >> np.uint64(16), "bool": lambda v: v & 1, "short": lambda v: v & 0xFFFF,
}
MASKED = """#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_subgroup_extended_types_int16 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A {{ uint a[]; }};
layout(set = 0, binding = 1) buffer B {{ uint b[]; }};
layout(push_constant) uniform P {{ uint c; }};
void main() {{
    uint i = gl_LocalInvocationIndex, v = a[i], n = a[64u + i], kept = v * 8u + 32u, found = 0xdeadu;
    if (a[128u + i] != 0u) found = {};
    b[i] = found; b[64u + i] = kept;
}}
"""


def _with_rotations(module: bytes, cluster: int) -> bytes:
    """Return the module with rotations (which not every glslangValidator knows) in place of shuffles; cluster 0: of the whole subgroup."""
    words = np.frombuffer(module, np.uint32)
    changed, at = [words[:5]], 5
    size: list[int] = []
    while at < len(words):
        length, opcode = int(words[at] >> 16), int(words[at] & 0xFFFF)
        instruction = words[at : at + length]
        if opcode == 43 and cluster and instruction[3] == cluster:  # OpConstant
            size = [int(instruction[2])]
        if opcode == 345:  # OpGroupNonUniformShuffle, to OpGroupNonUniformRotateKHR
            instruction = np.array([length + len(size) << 16 | 4431, *instruction[1:], *size], np.uint32)
        changed.append(instruction)
        at += length
    return np.concatenate(changed).tobytes()


def _module(path: Path, text: str) -> bytes:
    path.write_text(text)
    output = path.with_suffix(".spv")
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.3", "-o", str(output), str(path)], check=True, capture_output=True)
    return output.read_bytes()


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A module for each of the moves."""
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslangValidator is not installed")
    folder: Path = tmp_path_factory.mktemp("moves")
    modules = {name: _module(folder / f"{name.replace(' ', '_')}.comp", MASKED.format(text)) for name, (text, _) in MOVES.items()}
    clusters = {"rotate": 0, "rotate half": 0, "rotate 32": 32, "rotate 8": 8}
    return modules | {name: _with_rotations(modules[name], size) for name, size in clusters.items()}


EVERYWHERE = [("gfx900", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1200", 64)]


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize(("target", "wave"), EVERYWHERE)
def test_indices_of_each_lane_under_random_masks(moving: dict[str, bytes], move: str, target: str, wave: int) -> None:
    """Lanes that run get what an active lane has, in a straight line; values of lanes that do not run stay; the interpreter agrees."""
    shader = pyaco.compile(moving[move], target=target, wave=wave, validate=True)
    assert "v_readlane" not in shader.disassembly and shader.stats["branches"] <= 1
    if move.endswith("half"):  # lanes are named where 32 others lie between them and no instruction exchanges halves
        assert ("ds_bpermute_b32" in shader.disassembly) == (wave == 64 and target in ("gfx900", "gfx1030"))
    random = np.random.default_rng(7)
    for engine in ("reference", "fast"):
        device = pyaco.emu.Device(target, engine)
        for density in (1.0, 0.7, 0.3, 0.05):
            active = random.random(64) < density
            values, lanes = random.integers(0, 1 << 32, 64, np.uint32), random.integers(0, 64, 64, np.uint32)
            source = MOVES[move][1](lanes.astype(np.int64), wave)
            given = np.concatenate([values, lanes, active.astype(np.uint32)])
            a, b = device.buffer(given), device.buffer(np.zeros(128, np.uint32))
            device.dispatch(shader, groups=(1, 1, 1), buffers={(0, 0): a, (0, 1): b}, push=np.uint32(37).tobytes())
            found = b.numpy().view(np.uint32).ravel()
            judged = np.zeros(128, np.uint32)
            _interpret(moving[move], wave, given, judged)
            received = (RECEIVED[move](values) if move in RECEIVED else values).astype(np.uint32)
            defined = active & active[source]
            assert np.array_equal(found[:64][defined], received[source][defined])
            assert np.array_equal(found[:64][defined], judged[:64][defined])
            assert (found[:64][~active] == 0xDEAD).all() and np.array_equal(found[64:], judged[64:])


def _interpret(module: bytes, wave: int, given: np.ndarray, results: np.ndarray) -> None:
    interpreter.run(pyaco.spirv.read(module), (1, 1, 1), {(0, 0): given, (0, 1): results}, push=np.uint32(37).tobytes(), wave=wave)


@pytest.mark.parametrize(("target", "wave"), EVERYWHERE)
def test_shuffles_in_a_command_stream(moving: dict[str, bytes], target: str, wave: int) -> None:
    """The registers of the stream say how many VGPRs both halves of a wave share."""
    shader = pyaco.compile(moving["shuffle"], target=target, wave=wave)
    assert shader.abi is not None
    assert (shader.abi.num_shared_vgprs > 0) == (target == "gfx1030" and wave == 64)
    halves = wave == 64 and target in ("gfx1030", "gfx1100")  # one permute moves values among 32 lanes there, else among all
    assert (shader.disassembly.count("ds_bpermute_b32") > 1) == halves
    random = np.random.default_rng(11)
    values, lanes = random.integers(0, 1 << 32, 64, np.uint32), random.integers(0, 64, 64, np.uint32)
    device = pyaco.emu.Device(target)
    a, b = device.buffer(np.concatenate([values, lanes, np.ones(64, np.uint32)])), device.buffer(np.zeros(128, np.uint32))
    with DispatchStream(device, shader, (1, 1, 1), buffers={(0, 0): a, (0, 1): b}, push=bytes(4)) as stream:
        device.submit(stream.words)
    assert np.array_equal(b.numpy().view(np.uint32).ravel()[:64], values[MOVES["shuffle"][1](lanes.astype(np.int64), wave)])


WIDENED = """#version 450
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() { uint i = gl_LocalInvocationIndex;
uint64_t t = subgroupShuffle(uint64_t(a[i] * 3u), a[64u + i] & (gl_SubgroupSize - 1u));
b[i] = uint(t) ^ uint(t >> 32); }
"""


@pytest.mark.parametrize(("target", "wave"), [("gfx600", 64), ("gfx700", 64), *EVERYWHERE])
def test_halves_of_a_value_are_read_late(tmp_path: Path, target: str, wave: int) -> None:
    """What is shuffled is read after the first result has been written, also where it has the name of half a vector."""
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslangValidator is not installed")
    (source := tmp_path / "widened.comp").write_text(WIDENED)
    module = tmp_path / "widened.spv"
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(module), str(source)], check=True, capture_output=True)
    random = np.random.default_rng(5)
    values, lanes = random.integers(0, 1 << 32, 64, np.uint32), random.integers(0, 64, 64, np.uint32)
    device = pyaco.emu.Device(target)
    a, b = device.buffer(np.concatenate([values, lanes])), device.buffer(np.zeros(64, np.uint32))
    device.dispatch(pyaco.compile(module, target=target, wave=wave), groups=(1, 1, 1), buffers={(0, 0): a, (0, 1): b})
    assert np.array_equal(b.numpy().view(np.uint32).ravel(), 3 * values[LANES // wave * wave + lanes % wave])
