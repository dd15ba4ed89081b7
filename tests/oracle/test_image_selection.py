"""Selection of images and textures beside LLVM, which must read the code as we do, and beside RADV, which must choose the same instructions."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from image_selection_kernels import COORDINATES, TARGETS, Image, Sample, compiled, images, samples
from test_isel_images import facts, operands, registers
from vulkan_peer import Radv, find_icd

from pyaco import isa

pytestmark = pytest.mark.oracle
#: VkDescriptorType.
COMBINED, STORAGE_IMAGE, STORAGE_TEXELS, STORAGE_BUFFER = 1, 3, 5, 7
ATOMICS = {0: "Add", 2: "Min", 4: "Max", 5: "And", 6: "Or", 7: "Xor", 8: "Exchange"}
HEAD = """#version 460
#extension GL_EXT_shader_image_int64 : enable
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : enable
layout(local_size_x = 64) in;
layout(std430, binding = 1) buffer Results { float f[]; } r;
"""


@pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_llvm_reads_them(target: str) -> None:
    """LLVM assembles the text of every image instruction to the bytes that we encode."""
    cases: list[Sample | Image] = [*samples(), *images()]
    lines = [line for case in cases for line in compiled(target, case.build)[1]]
    command = ["llvm-mc-22", "-arch=amdgcn", f"-mcpu={target}", "-show-encoding", *([] if target == "gfx900" else ["-mattr=+wavefrontsize64"])]
    answer = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    theirs = [bytes(int(byte, 16) for byte in found.split(",")) for found in re.findall(r"encoding: \[([0-9a-fx,]+)\]", answer.stdout)]
    assert len(theirs) == len(lines) > 1500
    assert theirs == [isa.assemble(line, target, wave_size=64) for line in lines]


def vector(kind: str, count: int, first: int = 0) -> str:
    """A GLSL vector that differs between lanes."""
    name = {"float": ("float", "vec"), "int": ("int", "ivec")}[kind]
    parts = ", ".join(f"{name[0]}(gl_LocalInvocationIndex) + {first + k}" for k in range(count))
    return f"{name[1]}{count}({parts})" if count > 1 else parts


def sample_glsl(case: Sample) -> str:
    """The case as a shader."""
    name = {"1d": "1D", "2d": "2D", "3d": "3D", "cube": "Cube"}[case.dim] + ("Array" if case.array else "") + ("Shadow" if case.shadow else "")
    dimensions = COORDINATES[case.dim]
    gathers = case.opcode == "tg4"
    count = dimensions + case.array
    if case.shadow and not gathers:
        # 1D comparisons have an unused component.
        count = max(count, 2) + 1
    arguments = ["t", vector("float", count)]
    arguments += [vector("float", 1, 9)] if case.shadow and gathers else []
    if case.level == "gradients":
        arguments += [vector("float", dimensions, 10 + 4 * k) for k in range(2)]
    elif case.level:
        arguments.append("0.0" if case.level == "zero" else vector("float", 1, 8))
    if case.offset:
        arguments.append(vector("int", dimensions) if gathers else "1" if dimensions == 1 else f"ivec{dimensions}(1, 2{', 3' * (dimensions - 2)})")
    arguments += [str(case.component)] if gathers and not case.shadow else []
    function = {"tg4": "textureGather", "txl": "textureLod", "txd": "textureGrad"}[case.opcode] + ("Offset" if case.offset else "")
    call = f"{function}({', '.join(arguments)})"
    used = [f"r.f[gl_LocalInvocationIndex * 4 + {k}] = v.{'xyzw'[k]};" for k in case.used]
    body = f"vec4 v = {call}; {' '.join(used)}" if gathers or not case.shadow else f"r.f[gl_LocalInvocationIndex] = {call};"
    return f"{HEAD}layout(binding = 0) uniform sampler{name} t;\nvoid main() {{ {body} }}\n"


def sample_cases() -> Iterator[Sample]:
    """What GLSL can say in a compute shader."""
    levels = [("txl", "lod"), ("txl", "zero"), ("txd", "gradients")]
    for (opcode, level), dim, array, shadow, offset in product(levels, ("1d", "2d", "3d", "cube"), (False, True), (False, True), (False, True)):
        comparable = dim in ("1d", "2d") and (opcode == "txd" or (dim, array) != ("2d", True))
        if (array and dim in ("3d", "cube")) or (shadow and not comparable) or (dim == "cube" and (offset or opcode == "txd")):
            continue
        yield Sample(opcode, dim, level, array, shadow, offset)
    for array, shadow, offset, component in product((False, True), (False, True), (False, True), (0, 2)):
        if not (shadow and component):
            yield Sample("tg4", "2d", "", array, shadow, offset, component=component)
    yield Sample("tg4", "cube", component=1)
    yield from (Sample("txl", "2d", "lod", used=used) for used in ((0,), (1, 3), (2,)))


def image_glsl(case: Image) -> str:
    """The case as a shader."""
    atomic = case.operation.startswith("atomic")
    name = {"1d": "1D", "2d": "2D", "3d": "3D", "cube": "Cube", "ms": "2DMS", "buf": "Buffer"}[case.dim] + ("Array" if case.array else "")
    layout, kind = ("r64ui", "u64image") if case.bits == 64 else ("r32ui", "uimage") if atomic else ("rgba32f", "image")
    words = {1: "coherent ", 4: "volatile ", 8: "writeonly "}.get(case.access, "")
    place = vector("int", (1 if case.dim == "buf" else COORDINATES[case.dim]) + case.array) + (", 2" if case.dim == "ms" else "")
    if atomic:
        integer = "uint64_t" if case.bits == 64 else "uint"
        data = ", ".join(f"{integer}(gl_LocalInvocationIndex + {40 + k})" for k in range(2 if case.operation == "atomic_swap" else 1))
        call = f"imageAtomic{ATOMICS.get(case.atomic, 'CompSwap')}(t, {place}, {data})"
        body = f"r.f[gl_LocalInvocationIndex] = float(uint({call}));" if case.returns else f"{call};"
    elif case.operation == "store":
        body = f"imageStore(t, {place}, {vector('float', 4, 30)});"
    else:
        used = [f"r.f[gl_LocalInvocationIndex * 4 + {k}] = v.{'xyzw'[k]};" for k in case.used]
        body = f"vec4 v = imageLoad(t, {place}); {' '.join(used)}"
    return f"{HEAD}layout(binding = 0, {layout}) uniform {words}{kind}{name} t;\nvoid main() {{ {body} }}\n"


def image_cases() -> Iterator[Image]:
    """Loads, stores and atomics of every dimension."""
    shapes = [("1d", False), ("1d", True), ("2d", False), ("2d", True), ("3d", False), ("cube", False), ("ms", False), ("ms", True), ("buf", False)]
    for dim, array in shapes:
        yield from (Image("load", dim, array, used=used) for used in ((0, 1, 2, 3), (1,), (0, 2)))
        # RADV marks images that nothing reads.
        yield Image("store", dim, array, access=8)
        yield from (Image(operation, dim, array, access=access) for operation, access in product(("load", "store"), (1, 4)))
        if dim == "ms":
            continue
        yield from (Image("atomic", dim, array, atomic=atomic, returns=returns) for atomic, returns in product(ATOMICS, (False, True)))
        yield from (Image("atomic_swap", dim, array, atomic=12, bits=bits) for bits in (32, 64))
        yield Image("atomic", dim, array, atomic=0, bits=64)


def instructions(lines: list[str], level: int) -> list[tuple[object, ...]]:
    """What is compared: name, mask, dimensions, flags, registers of result or data, and how many dwords an address has."""
    found: list[tuple[object, ...]] = []
    for line in lines:
        data, place, *_ = operands(line)
        counted = registers(place) if level >= 100 else 0
        found.append((*facts(line), registers(data), counted))
    return found


@pytest.mark.skipif(find_icd("radeon") is None or shutil.which("glslangValidator") is None, reason="RADV or glslangValidator is missing")
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", ["gfx900", "gfx1010", "gfx1030", "gfx1100"])
def test_radv_chooses_the_same(target: str, step: int, tmp_path: Path) -> None:
    """The same image instructions as RADV, for every case that GLSL can say in a compute shader (or one of so many)."""
    radv = Radv(target)
    level = TARGETS[target]
    different = []
    cases: list[tuple[Sample | Image, str, int]] = [
        *((case, sample_glsl(case), COMBINED) for case in sample_cases()),
        *((case, image_glsl(case), STORAGE_TEXELS if case.dim == "buf" else STORAGE_IMAGE) for case in image_cases()),
    ]  # fmt: skip
    assert len(cases) > 200
    for case, source, kind in cases[::step]:
        (tmp_path / "shader.comp").write_text(source)
        built = subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.2", str(tmp_path / "shader.comp"), "-o", str(tmp_path / "spv")],
                               capture_output=True, text=True)  # fmt: skip
        assert built.returncode == 0, (case, built.stdout)
        layout = [{"number": number, "type": each, "count": 1, "variable": False, "samplers": [], "mutable": []}
                  for number, each in enumerate((kind, STORAGE_BUFFER))]  # fmt: skip
        pipeline = radv.compile((tmp_path / "spv").read_bytes(), wave=None if level < 100 else 64, layouts=[layout])
        text = isa.disassemble(pipeline.code, target, wave_size=64).splitlines()
        pattern = r"\s*(image_|buffer_atomic|buffer_\w+_format)"
        theirs = [line.strip() for line in text if re.match(pattern, line)]
        text = isa.disassemble(compiled(target, case.build)[0], target, wave_size=64).splitlines()
        ours = [line.strip() for line in text if re.match(pattern, line)]
        if instructions(ours, level) != instructions(theirs, level):
            different.append((case, ours, theirs))
    assert not different, "\n".join(map(str, (len(different), *different[:20])))
