"""The cases: realistic inputs for each shader of this folder, few workgroups each.

Tolerances follow the Vulkan specification, "Precision and Operation of SPIR-V Instructions": add, subtract and
multiply are correctly rounded but may be contracted into fused multiply-adds; division is within 2.5 ULP, inverse
square root 2 ULP, exp2 3 + 2|x| ULP, sine and cosine 2^-11 absolute.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import models
from case import CASES, Buffer, Case, Close, Exact, Inputs, case, float32, pack, rounding, uint32

__all__ = ["CASES", "Buffer", "Case", "Close", "Exact", "Inputs"]


@case(groups=4)
def saxpy(random: np.random.Generator) -> Inputs:
    return Inputs(
        {(0, 0): Buffer(float32(random, 256)), (0, 1): Buffer(float32(random, 256), rounding(2, 8.0))},
        pack("If", 250, 2.5),
    )


@case(groups=(3, 3, 2))
def strided_copy(random: np.random.Generator) -> Inputs:
    layout = np.array([[19, 11, 3, 0], [1, 20, 240, 0], [33, 3, 1, 0], [5, 2, 0, 0]], np.uint32)
    return Inputs(
        {
            (0, 0): Buffer(uint32(random, 800)),
            (0, 1): Buffer(np.zeros(800, np.uint32)),
            (1, 0): Buffer(layout, uniform=True),
        }
    )


@case(groups=(2, 2, 1))
def matmul_f32(random: np.random.Generator) -> Inputs:
    m, n, k = 29, 32, 40
    return Inputs(
        {
            (0, 0): Buffer(float32(random, m, k)),
            (0, 1): Buffer(float32(random, k, n)),
            (0, 2): Buffer(np.zeros((m, n), np.float32), rounding(2 * k, 16.0)),
        },
        pack("III", m, n, k),
    )


@case(groups=2)
def reduction(random: np.random.Generator) -> Inputs:
    values = random.integers(-(1 << 31), 1 << 31, 1000, dtype=np.int32)
    return Inputs({(0, 0): Buffer(values), (0, 1): Buffer(np.zeros((2, 4), np.int32))}, pack("I", 1000))


@case(groups=2)
def histogram(random: np.random.Generator) -> Inputs:
    words = random.normal(128, 30, 4 * 1200).clip(0, 255).astype(np.uint8).view(np.uint32)
    return Inputs({(0, 0): Buffer(words), (0, 1): Buffer(np.arange(256, dtype=np.uint32))}, pack("I", 1200))


@case(groups=(2, 2, 1), spec={0: 8})
def matmul_f16(random: np.random.Generator) -> Inputs:
    m, n, k = 30, 27, 40
    # Products below 4, at most 8 terms accumulated in half precision before single precision takes over.
    return Inputs(
        {
            (0, 0): Buffer((float32(random, m, k) / 2).astype(np.float16)),
            (0, 1): Buffer((float32(random, n, k) / 2).astype(np.float16)),
            (0, 2): Buffer(np.zeros((m, n), np.float16), Close(2.0**-10, 12 * 4.0 * 2.0**-11)),
        },
        pack("III", m, n, k),
    )


@case(groups=(2, 2, 1))
def matmul_int8(random: np.random.Generator) -> Inputs:
    m, n, k = 13, 16, 44
    return Inputs(
        {
            (0, 0): Buffer(random.integers(-128, 128, (m, k), dtype=np.int8)),
            (0, 1): Buffer(random.integers(0, 256, (n, k), dtype=np.uint8)),
            (0, 2): Buffer(np.zeros((m, n), np.int32)),
            (0, 3): Buffer(np.zeros((m, n), np.int8)),
            (0, 4): Buffer(random.integers(6, 12, (4, 4), dtype=np.int32), uniform=True),
        },
        pack("III", m, n, k),
    )


@case(groups=2)
def bitonic_sort(random: np.random.Generator) -> Inputs:
    keys = np.round(float32(random, 512) * 20) / 4
    return Inputs({(0, 0): Buffer(keys.astype(np.float32)), (0, 1): Buffer(np.zeros(512, np.uint32))}, pack("I", 1))


@case(groups=2)
def radix_sort(random: np.random.Generator) -> Inputs:
    return Inputs(
        {(0, 0): Buffer(uint32(random, 512, high=1 << 20)), (0, 1): Buffer(np.arange(512, dtype=np.uint32))},
        pack("II", 4, 16),
    )


@case(groups=(3, 2, 1))
def transpose(random: np.random.Generator) -> Inputs:
    return Inputs(
        {(0, 0): Buffer(uint32(random, 30, 45)), (0, 1): Buffer(np.zeros((45, 30), np.uint32))}, pack("II", 45, 30)
    )


@case(groups=(2, 2, 1), spec={0: 1})
def convolution(random: np.random.Generator) -> Inputs:
    return Inputs(
        {
            (0, 0): Buffer(float32(random, 15, 30)),
            (0, 1): Buffer(float32(random, 13, 4), uniform=True),
            (0, 2): Buffer(np.zeros((15, 30), np.float32), rounding(2 * 10, 16.0)),
        },
        pack("iif", 30, 15, 0.25),
    )


@case(groups=2)
def fft(random: np.random.Generator) -> Inputs:
    # Twiddle factors within 2^-11 of the circle (sine and cosine of the specification), four stages, sums up to 64.
    return Inputs({(0, 0): Buffer(float32(random, 512, 2), Close(absolute=3 * 2.0**-11 * 64))}, pack("f", -1.0))


@case(groups=6)
def softmax(random: np.random.Generator) -> Inputs:
    # exp(x) is exp2(1.44 x): relative error 3 + 2 |x| units in the last place, |x| below 20; division 2.5 more.
    return Inputs(
        {
            (0, 0): Buffer(float32(random, 6, 100) * 4),
            (0, 1): Buffer(np.zeros((6, 100), np.float32), Close(200 * 2.0**-23, 1e-30)),
        },
        pack("If", 100, 0.7),
    )


@case(groups=(1, 3, 1))
def layer_norm(random: np.random.Generator) -> Inputs:
    affine = np.stack([float32(random, 24, 4), float32(random, 24, 4)])
    return Inputs(
        {
            (0, 0): Buffer(float32(random, 5, 96)),
            (0, 1): Buffer(float32(random, 5, 96)),
            (0, 2): Buffer(affine, uniform=True),
            (0, 3): Buffer(np.zeros((5, 96), np.float32), Close(absolute=64 * 8 * 2.0**-24)),
        },
        pack("IIfI", 24, 5, 1e-5, 1),
    )


@case(groups=(2, 3, 1))
def rope(random: np.random.Generator) -> Inputs:
    # Angles stay within [-pi, pi], where sine and cosine are within 2^-11 absolutely.
    return Inputs(
        {
            (0, 0): Buffer(float32(random, 6, 2, 48), Close(absolute=2 * 5 * 2.0**-11)),
            (0, 1): Buffer(random.integers(0, 60, 6, dtype=np.int32)),
        },
        pack("IIIffI", 2, 48, 40, 13.2877, 0.05, 1),
    )


@case(groups=5)
def quantized_matvec(random: np.random.Generator) -> Inputs:
    rows, columns = 5, 320
    blocks = np.zeros((rows, columns // 32), np.dtype([("scale", "<f2"), ("quants", "u1", 16)]))
    blocks["scale"] = (0.1 * random.random(blocks.shape) + 0.01).astype(np.float16)
    blocks["quants"] = random.integers(0, 256, (*blocks.shape, 16), dtype=np.uint8)
    return Inputs(
        {
            (0, 0): Buffer(blocks),
            (0, 1): Buffer(float32(random, columns)),
            (0, 2): Buffer(np.zeros(rows, np.float32), rounding(2 * columns, 4.0)),
        },
        pack("I", columns),
    )


@case(groups=2)
def attention(random: np.random.Generator) -> Inputs:
    length = 29
    return Inputs(
        {
            (0, 0): Buffer(float32(random, length, 16)),
            (0, 1): Buffer(float32(random, length, 16)),
            (0, 2): Buffer(float32(random, length, 16)),
            (0, 3): Buffer(np.zeros((length, 16), np.float32), Close(absolute=4 * 200 * 2.0**-23)),
        },
        pack("IfI", length, 0.25, 20),
    )


@case(groups=2)
def nbody(random: np.random.Generator) -> Inputs:
    count = 100
    bodies = float32(random, count, 8)
    bodies[:, 3] = random.random(count, dtype=np.float32)
    constants = np.array([0.01, 0.1, 0.0, 0.0], np.float32)
    constants.view(np.uint32)[2] = count
    # 100 forces of up to 1000 (softening 0.1), each within 8 units in the last place, times the step.
    return Inputs(
        {
            (0, 0): Buffer(bodies),
            (0, 1): Buffer(np.zeros_like(bodies), Close(2.0**-20, 1e-4)),
            (0, 2): Buffer(constants, uniform=True),
        }
    )


@case(groups=2)
def sha256(random: np.random.Generator) -> Inputs:
    return Inputs(
        {(0, 0): Buffer(uint32(random, 40, 2, 16)), (0, 1): Buffer(np.zeros((40, 8), np.uint32))}, pack("II", 2, 40)
    )


@case(groups=2)
def philox(random: np.random.Generator) -> Inputs:
    # log within 3 units, square root by its inverse; radius up to 5.8, sine and cosine within 2^-11.
    return Inputs(
        {
            (0, 0): Buffer(np.zeros((128, 4), np.uint32)),
            (0, 1): Buffer(np.zeros((128, 4), np.float32), Close(absolute=5.8 * 2.0**-11)),
        },
        pack("III", 0x12345678, 0x9ABCDEF0, 7),
    )


@case(groups=(3, 2, 1))
def mandelbrot(random: np.random.Generator) -> Inputs:
    return Inputs({(0, 0): Buffer(np.zeros((16, 24), np.uint32))}, pack("fffII", -1.6, -0.7, 0.09, 24, 60))


@case(groups=(2, 2, 1))
def ray_march(random: np.random.Generator) -> Inputs:
    camera = np.array(
        [[0.3, 0.8, -4.0, 0], [1, 0, 0, 0], [0, 1, 0.1, 0], [0, -0.15, 1.4, 0], [0.51, 0.72, -0.47, 0]], np.float32
    )
    # The march stops within 0.001 of a surface: an allowed difference of that order, tripled by the normal's slope.
    return Inputs(
        {(0, 0): Buffer(np.zeros((16, 16, 4), np.float32), Close(1e-3, 4e-3)), (0, 1): Buffer(camera, uniform=True)},
        pack("II", 16, 16),
    )


@case(groups=(1, 2, 2))
def perlin_noise(random: np.random.Generator) -> Inputs:
    return Inputs(
        {
            (0, 0): Buffer(np.zeros((4, 8, 8), np.float32), rounding(200, 4.0)),
            (0, 1): Buffer(random.permutation(256).astype(np.uint32)),
        },
        pack("fiII", 0.3, 4, 8, 8),
    )


@case(groups=2)
def sparse_matvec(random: np.random.Generator) -> Inputs:
    rows, columns = 50, 200
    lengths = random.integers(0, 10, rows)
    lengths[[3, 17, 40]] = [90, 64, 131]
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    return Inputs(
        {
            (0, 0): Buffer(first),
            (0, 1): Buffer(uint32(random, int(first[-1]), high=columns)),
            (0, 2): Buffer(float32(random, int(first[-1]))),
            (0, 3): Buffer(float32(random, columns)),
            (0, 4): Buffer(np.zeros(rows, np.float32), rounding(2 * 131, 32.0)),
        },
        pack("II", rows, 33),
    )


@case(groups=2)
def bfs_step(random: np.random.Generator) -> Inputs:
    nodes, frontier = 300, 90
    degrees = random.integers(0, 9, nodes)
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint32)
    visited = random.permutation(nodes)
    levels = np.full(nodes, 0xFFFFFFFF, np.uint32)
    levels[visited[:frontier]] = 3
    return Inputs(
        {
            (0, 0): Buffer(offsets),
            (0, 1): Buffer(uint32(random, int(offsets[-1]), high=nodes)),
            (0, 2): Buffer(np.concatenate([[frontier], visited[:frontier]]).astype(np.uint32)),
            (0, 3): Buffer(levels),
            (0, 4): Buffer(np.zeros(nodes, np.uint32), Exact(unordered=True)),
            (0, 5): Buffer(np.zeros(3, np.uint32)),
        },
        pack("I", 4),
    )


@case(groups=1, spec={3: 5})
def game_of_life(random: np.random.Generator) -> Inputs:
    return Inputs({(0, 0): Buffer(uint32(random, 32, 4)), (0, 1): Buffer(np.zeros(5, np.uint32))})


@case(groups=(2, 2, 2))
def marching_cubes(random: np.random.Generator) -> Inputs:
    cells = 7 * 7 * 6
    return Inputs(
        {
            (0, 0): Buffer(float32(random, 7, 8, 8)),
            (0, 1): Buffer(np.zeros(cells, np.uint32)),
            (0, 2): Buffer(np.zeros(cells, np.uint32), Exact(unordered=True)),
            (0, 3): Buffer(np.zeros(2, np.uint32)),
        },
        pack("IIIf", 8, 8, 7, 1.2),
    )


@case(groups=2)
def bit_tricks(random: np.random.Generator) -> Inputs:
    pairs = uint32(random, 128, 2) >> uint32(random, 128, 2, high=32)
    pairs[:4] = [[0, 0], [0xFFFFFFFF, 1], [0x80000000, 0xFFFFFFFF], [1, 0x80000000]]
    return Inputs({(0, 0): Buffer(pairs), (0, 1): Buffer(np.zeros((128, 32), np.uint32))})


@case(groups=2, model=models.scan_subgroups)
def scan_subgroups(random: np.random.Generator) -> Inputs:
    return Inputs({(0, 0): Buffer(uint32(random, 512)), (0, 1): Buffer(np.zeros(128, np.uint32))})


@case(groups=2, model=models.subgroup_reductions)
def subgroup_reductions(random: np.random.Generator) -> Inputs:
    return Inputs(
        {
            (0, 0): Buffer(uint32(random, 128)),
            (0, 1): Buffer(np.zeros((128, 20), np.uint32)),
            (0, 2): Buffer(np.zeros((128, 6), np.float32), rounding(64, 1024.0)),
        }
    )


@case(groups=2, model=models.subgroup_ballot_vote)
def subgroup_ballot_vote(random: np.random.Generator) -> Inputs:
    values = uint32(random, 256, high=0x70000001)
    values[5] |= 1 << 31
    values[64:128] = 0x12345
    return Inputs(
        {
            (0, 0): Buffer(values),
            (0, 1): Buffer(np.zeros((256, 16), np.uint32)),
            (0, 2): Buffer(np.zeros(2, np.uint32)),
            (0, 3): Buffer(np.zeros(256, np.uint32), Exact(unordered=True)),
        }
    )


@case(groups=2, model=models.subgroup_shuffle)
def subgroup_shuffle(random: np.random.Generator) -> Inputs:
    return Inputs(
        {
            (0, 0): Buffer(uint32(random, 128)),
            (0, 1): Buffer(np.zeros((128, 12), np.uint32)),
            (0, 2): Buffer(np.zeros((128, 2), np.float32)),
        },
        pack("I", 5),
    )


@case(groups=2)
def int64_arithmetic(random: np.random.Generator) -> Inputs:
    words = random.integers(0, 1 << 64, (64, 2), dtype=np.uint64) >> random.integers(0, 60, (64, 2), dtype=np.uint64)
    words[:3] = [[0, 1 << 63], [(1 << 64) - 1, (1 << 64) - 1], [1 << 63, 1]]
    return Inputs({(0, 0): Buffer(words), (0, 1): Buffer(np.zeros((64, 16), np.uint64))}, pack("Q", 0x7FFF_FFED))


@case(groups=2)
def double_arithmetic(random: np.random.Generator) -> Inputs:
    values = random.standard_normal((64, 2)) * 100
    values[:2] = [[1.0, 1.0], [-2.5, 4.0]]
    # Division, square root: 2.5 and a few units of 2^-53; the largest intermediate is of the order of 1e4.
    return Inputs(
        {
            (0, 0): Buffer(values),
            (0, 1): Buffer(np.zeros((64, 16), np.float64), Close(4 * 2.0**-52, 8 * 1e4 * 2.0**-53)),
            (0, 2): Buffer(np.zeros(64, np.uint32)),
        }
    )


@case(groups=2)
def divergent_switch(random: np.random.Generator) -> Inputs:
    operands = random.integers(-100, 100, (128, 16), dtype=np.int32)
    programs = (operands << 8) | random.integers(0, 11, (128, 16), dtype=np.int32)
    programs[random.random((128, 16)) < 0.03] = 15
    return Inputs({(0, 0): Buffer(programs), (0, 1): Buffer(np.zeros((128, 2), np.int32))})


@case(groups=2)
def early_return(random: np.random.Generator) -> Inputs:
    table = np.sort(uint32(random, 100, high=2000))
    wanted = np.where(random.random(128) < 0.4, random.choice(table, 128), uint32(random, 128, high=2200))
    wanted[::17] = 0
    return Inputs({(0, 0): Buffer(table), (0, 1): Buffer(wanted.astype(np.uint32))}, pack("II", 120, 100))


@case(groups=2)
def function_calls(random: np.random.Generator) -> Inputs:
    rays = float32(random, 64, 6)
    rays[:, 2] -= 4
    rays[:, 5] = np.abs(rays[:, 5]) + 1
    spheres = [[0, 0, 1, 1.0], [1.5, 0.4, 0, 0.8], [-1.2, -0.5, 0.3, 0.7], [0, 1.4, 2, 0.9]]
    planes = [[0, 1, 0, 2.0], [0, 0, -1, 6.0]]
    scene = np.array(spheres + planes, np.float32)
    # The root of a discriminant that may be near zero: square root of an error of 64 units.
    return Inputs(
        {
            (0, 0): Buffer(rays),
            (0, 1): Buffer(np.zeros((64, 4), np.float32), Close(1e-4, 1e-4)),
            (0, 2): Buffer(np.zeros(64, np.int32)),
            (0, 3): Buffer(scene, uniform=True),
        }
    )


def _spec_constants(random: np.random.Generator) -> Inputs:
    return Inputs(
        {
            (0, 0): Buffer(float32(random, 300)),
            (0, 1): Buffer(np.zeros(256, np.float32), rounding(30, 16.0)),
            (0, 2): Buffer(np.zeros(256, np.uint32)),
        }
    )


@case(groups=(3, 2, 1))
def spec_constants(random: np.random.Generator) -> Inputs:
    return _spec_constants(random)


@case(groups=(2, 2, 1), shader="spec_constants", spec={0: 16, 1: 3, 2: 5, 3: 0.75, 4: 1, 5: 0xFFF0})
def spec_constants_set(random: np.random.Generator) -> Inputs:
    return _spec_constants(random)


@case(groups=2)
def push_constants(random: np.random.Generator) -> Inputs:
    # Scalar members, a uint64 at 8, columns of vec3 at 16 (16 bytes each), three items of 16 bytes, words, bytes.
    push = bytearray(random.integers(0, 256, 120, dtype=np.uint8).tobytes())
    push[0:8] = pack("If", 100, 1.25)
    push[16:48] = float32(random, 8).tobytes()
    return Inputs(
        {
            (0, 0): Buffer(np.zeros(128, np.uint32)),
            (0, 1): Buffer(np.zeros((128, 4), np.float32), rounding(3, 512.0)),
        },
        bytes(push),
    )


@case(groups=2)
def buffer_references(random: np.random.Generator) -> Inputs:
    count = 60
    nodes = np.stack([random.permutation(64).astype(np.uint32), uint32(random, 64, high=1000)], axis=1)
    nodes[::5, 0] = 0xFFFFFFFF
    return Inputs(
        {
            "nodes": Buffer(nodes),
            "vectors": Buffer(float32(random, 64, 4)),
            "triples": Buffer(float32(random, 7, 3)),
            "result": Buffer(np.zeros((64, 4), np.float32), rounding(1, 16384.0)),
            "counters": Buffer(np.zeros(4 + 64, np.uint32)),
        },
        pack("QQQQQI", 0, 0, 0, 0, 0, count),
        {("push", 8 * i): name for i, name in enumerate(["nodes", "vectors", "triples", "result", "counters"])},
    )


@case(groups=2)
def descriptor_arrays(random: np.random.Generator) -> Inputs:
    return Inputs(
        {
            (0, 0, 0): Buffer(uint32(random, 64)),
            (0, 0, 1): Buffer(uint32(random, 70)),
            (0, 0, 2): Buffer(uint32(random, 80)),
            (0, 2, 0): Buffer(uint32(random, 4), uniform=True),
            (0, 2, 1): Buffer(uint32(random, 4), uniform=True),
            (2, 1, 0): Buffer(np.zeros(65, np.uint32)),
            (2, 1, 1): Buffer(np.zeros(50, np.uint32)),
        },
        pack("I", 1),
    )


@case(groups=1)
def scratch_array(random: np.random.Generator) -> Inputs:
    return Inputs({(0, 0): Buffer(uint32(random, 288 * 64)), (0, 1): Buffer(np.zeros(64, np.uint32))}, pack("II", 64, 3))


@case(groups=1)
def vector_pressure(random: np.random.Generator) -> Inputs:
    return Inputs({(0, 0): Buffer(uint32(random, 288 * 64)), (0, 1): Buffer(np.zeros(64, np.uint32))}, pack("II", 64, 3))


@case(groups=2)
def scalar_pressure(random: np.random.Generator) -> Inputs:
    return Inputs(
        {(0, 0): Buffer(uint32(random, 36, 4), uniform=True), (0, 1): Buffer(uint32(random, 64))}, pack("I", 5)
    )


@case(groups=2)
def constant_tables(random: np.random.Generator) -> Inputs:
    return Inputs(
        {
            (0, 0): Buffer(uint32(random, 128, 4)),
            (0, 1): Buffer(np.zeros(256, np.uint32)),
            (0, 2): Buffer(np.zeros(128, np.float32), rounding(80, 1.0)),
        }
    )


@case(groups=2)
def small_types(random: np.random.Generator) -> Inputs:
    count = 128
    return Inputs(
        {
            (0, 0): Buffer(random.integers(-128, 128, 2 * count, dtype=np.int8)),
            (0, 1): Buffer(random.integers(0, 1 << 16, (count, 2), dtype=np.uint16)),
            (0, 2): Buffer(random.integers(0, 256, (count, 10), dtype=np.uint8)),
            (0, 3): Buffer(np.zeros((count, 12), np.uint16)),
            (0, 4): Buffer(np.zeros((count, 4), np.uint8)),
            (0, 5): Buffer(np.zeros((count, 2), np.float16), Close(2.0**-9, 2.0**-9)),
        }
    )


@case(groups=2)
def matrix_types(random: np.random.Generator) -> Inputs:
    matrices = float32(random, 64, 4, 4) + 3 * np.eye(4, dtype=np.float32)
    # Row-major mat3x4 is four rows of three, each 16 bytes; mat2 two rows of two.
    uniform = float32(random, 6, 4)
    # Inverses of well-conditioned matrices: a few hundred rounded operations on values of order 100.
    return Inputs(
        {
            (0, 0): Buffer(matrices),
            (0, 1): Buffer(uniform, uniform=True),
            (0, 2): Buffer(np.zeros((64, 4, 4), np.float32), Close(2e-3, 2e-2)),
            (0, 3): Buffer(np.zeros((64, 3, 4), np.float32), Close(1e-3, 1e-3)),
            (0, 4): Buffer(np.zeros((64, 4), np.float32), Close(1e-4, 1e-3)),
        }
    )


@case(groups=2)
def atomics(random: np.random.Generator) -> Inputs:
    words = np.zeros(16, np.uint32)
    words[[1, 3]] = 0xFFFFFFFF
    wide = np.zeros(8, np.uint64)
    wide[2] = 0xFFFFFFFFFFFFFFFF
    slots = np.zeros(400, np.uint32)
    slots[:256] = uint32(random, 256, high=4)
    return Inputs(
        {
            (0, 0): Buffer(uint32(random, 128)),
            (0, 1): Buffer(words),
            (0, 2): Buffer(wide),
            (0, 3): Buffer(slots),
        }
    )


@case(groups=2)
def uniform_control_flow(random: np.random.Generator) -> Inputs:
    commands = np.zeros((20, 4), np.uint32)
    commands[:, 0] = uint32(random, 20, high=6)
    commands[:, 1] = uint32(random, 20, high=3)
    commands[:, 2] = uint32(random, 20, high=1 << 20)
    commands[:, 3] = uint32(random, 20, high=8)
    commands[17, 3] = 0xFF
    return Inputs(
        {
            (0, 0): Buffer(commands),
            (0, 1): Buffer(random.integers(-1000, 1000, 128, dtype=np.int32)),
            (0, 2): Buffer(np.zeros(4, np.uint32)),
        },
        pack("Ii", 20, -77),
    )


@case(groups=2)
def nested_loops(random: np.random.Generator) -> Inputs:
    return Inputs({(0, 0): Buffer(uint32(random, 128)), (0, 1): Buffer(np.zeros((128, 4), np.uint32))})


@case(groups=2, model=models.private_arrays)
def private_arrays(random: np.random.Generator) -> Inputs:
    return Inputs({(0, 0): Buffer(uint32(random, 64, 16)), (0, 1): Buffer(np.zeros((64, 4), np.uint32))}, pack("I", 13))


@case(groups=2)
def transcendentals(random: np.random.Generator) -> Inputs:
    count = 64
    inputs = np.empty((count, 4), np.float32)
    inputs[:, 0] = random.uniform(-3.1, 3.1, count)
    inputs[:, 1] = random.uniform(0.01, 20, count)
    inputs[:, 2] = random.uniform(-0.95, 0.95, count)
    inputs[:, 3] = random.uniform(-12, 12, count)
    # Inverse trigonometric and hyperbolic functions: 2^-11 absolutely, or inherited from exp and log (4096 units).
    return Inputs(
        {
            (0, 0): Buffer(inputs),
            (0, 1): Buffer(np.zeros((count, 16), np.float32), Close(2.0**-10, 2.0**-10)),
            (0, 2): Buffer(np.zeros((count, 16), np.float32), Close(32 * 2.0**-22, 2.0**-18)),
            (0, 3): Buffer(np.zeros((count, 16), np.float32)),
        }
    )


@case(groups=3)
def culling(random: np.random.Generator) -> Inputs:
    count = 48
    spheres = np.concatenate([float32(random, count, 3) * 2, random.random((count, 1), np.float32)], axis=1)
    axes = np.eye(3, dtype=np.float32)
    planes = np.concatenate([np.concatenate([axes, -axes]), np.full((6, 1), 1.5, np.float32)], axis=1)
    levels = np.zeros((5, 4), np.uint32)
    levels[:, :2] = uint32(random, 5, 2, high=1000)
    levels[:, 2] = np.linspace(1.0, 4.5, 5, dtype=np.float32).view(np.uint32)
    view = np.concatenate([planes.view(np.uint32), np.array([[0.2, 0.1, -2.0, 0]], np.float32).view(np.uint32), levels])
    return Inputs(
        {
            (0, 0): Buffer(spheres),
            (0, 1): Buffer(np.full((count, 4), 9, np.uint32)),
            (0, 2): Buffer(view, uniform=True),
            (0, 3): Buffer(np.zeros(7, np.uint32)),
        }
    )
