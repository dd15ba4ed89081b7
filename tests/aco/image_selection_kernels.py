"""Kernels of one image or texture instruction, for tests of the backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from execution import Kernel

from pyaco import isa, targets
from pyaco._core.aco import assemble, isel
from pyaco._core.ir.program import Program
from pyaco._core.ir.vocabulary import ImageDim, TextureFlag
from pyaco.aco import Options, run_passes
from pyaco.nir import passes
from pyaco.passes import Group, Pass, Pipeline, Run, Step
from pyaco.pipelines import compute
from pyaco.pipelines.nir_passes import lower_tex

TARGETS = {"gfx900": 90, "gfx1010": 100, "gfx1030": 103, "gfx1100": 110, "gfx1150": 115, "gfx1200": 120}
COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "cube": 3, "rect": 2, "ms": 2}


class ImageKernel(Kernel):
    """A kernel with values that differ between lanes, and with descriptors at a constant address."""

    def handle(self, dwords: int = 8, place: int = 0) -> int:
        """Append the load of a descriptor."""
        address = self.pack_64_2x32_split(self.imm(0x10000), self.imm(0x7F00))
        return self.load_smem_amd(address, self.imm(64 * place), components=dwords, align_mul=32)

    def varying(self, components: int, bits: int = 32, first: int = 0) -> int:
        """Append a vector of floats that no other value equals."""
        parts = [self.fadd(self.u2f32(self.lane), self.fimm(16.0 * (first + k) + 0.5)) for k in range(components)]
        if bits == 16:
            parts = [self.f2f16(part) for part in parts]
        return self.vec(*parts) if components > 1 else parts[0]

    def texels(self, components: int, bits: int = 32, first: int = 0) -> int:
        """Append a vector of integers that no other value equals."""
        parts = [self.iadd(self.lane, self.imm(first + k)) for k in range(components)]
        if bits == 16:
            parts = [self.u2u16(part) for part in parts]
        return self.vec(*parts) if components > 1 else parts[0]


@dataclass(frozen=True)
class Sample:
    """A texture instruction: how it chooses its level, and what it has besides."""

    opcode: str
    dim: str
    level: str = ""
    array: bool = False
    shadow: bool = False
    offset: bool = False
    min_lod: bool = False
    half_address: bool = False
    half_result: bool = False
    sparse: bool = False
    component: int = 0
    used: tuple[int, ...] = (0, 1, 2, 3)
    def build(self, k: ImageKernel) -> None:
        """Append the instruction, and stores of what is used of its result."""
        bits = 16 if self.half_address else 32
        dimensions = 2 if self.dim == "cube" else COORDINATES[self.dim]
        sources: dict[str, Any] = {"texture_handle": k.handle(), "sampler_handle": k.handle(4, 2)}
        sources["coord"] = k.varying(COORDINATES[self.dim] + (self.array and self.opcode != "lod"), bits)
        if self.level == "zero":
            sources["lod"] = k.fimm(0.0) if bits == 32 else k.imm(0, 16)
        elif self.level == "gradients":
            sources["ddx"], sources["ddy"] = (k.varying(dimensions, bits, 8 + 4 * place) for place in range(2))
        elif self.level:
            sources[self.level] = k.varying(1, bits, 4)
        if self.shadow:
            sources["comparator"] = k.varying(1, 32, 5)
        if self.offset:
            sources["offset"] = k.texels(dimensions, first=20)
        if self.min_lod:
            sources["min_lod"] = k.varying(1, bits, 6)
        flags = (TextureFlag.SHADOW_SCALAR if self.shadow and self.opcode != "tg4" else 0) | (TextureFlag.IS_SPARSE if self.sparse else 0)
        value = k.tex(self.opcode, self.dim, "float", 16 if self.half_result else 32, array=self.array, shadow=self.shadow, flags=flags,
                      component=self.component, **sources)  # fmt: skip
        components = k.components(value)
        used = [place for place in self.used if place < components - self.sparse] + ([components - 1] if self.sparse else [])
        for place in used:
            k.output(k.component(value, place) if components > 1 else value)


def without(members: Sequence[Pass | Step | Group], left_out: Pass) -> tuple[Pass | Step | Group, ...]:
    """Members of a pipeline but for a pass."""
    kept = (Group(member.name, without(member.members, left_out), member.repeats) if isinstance(member, Group) else member for member in members)
    return tuple(member for member in kept if member is not left_out)


#: Texture instructions come as `lower_tex` leaves them.
AFTER_LOWER_TEX = Pipeline(compute.NIR.ir, compute.NIR.stage, without(compute.NIR.members, lower_tex))


def compiled(target: str, build: Callable[[ImageKernel], object], wave: int = 64) -> tuple[bytes, list[str]]:
    """Machine code, with all passes validated, and its lines of assembly about images and buffers of texels."""
    chip = targets.chip(target)
    kernel = ImageKernel(chip.level, wave)
    build(kernel)
    shader = kernel.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    passes.mark_lowered(shader)
    Run(validate=True).run(passes.NIR, AFTER_LOWER_TEX, shader, chip.level)
    program = Program()
    program.configure(gfx_level=chip.level, wave_size=wave, workgroup_size=64, limits=targets.wave_limits(chip, wave).as_dict(), wgp_mode=False)
    isel.run(shader, program)
    run_passes(program, Options(validate=True))
    assemble.run(program)
    lines = isa.disassemble(program.code, target, wave_size=wave).splitlines()
    return program.code, [line.strip() for line in lines if line.strip().startswith("image_") or "_format" in line]


def samples() -> Iterator[Sample]:
    """Every kind of sample in every dimension."""
    for (opcode, level), dim, array, shadow, offset in product(
        [("tex", ""), ("txb", "bias"), ("txl", "lod"), ("txl", "zero"), ("txd", "gradients"), ("tg4", ""), ("lod", "")],
        ["1d", "2d", "3d", "cube", "rect"], [False, True], [False, True], [False, True],
    ):  # fmt: skip
        if (array and dim in ("3d", "rect", "cube")) or (shadow and dim == "3d") or (opcode == "lod" and (array or shadow or offset)):
            continue
        if (opcode == "tg4" and dim not in ("2d", "cube")) or (dim == "cube" and (offset or opcode == "txd")):
            continue
        yield Sample(opcode, dim, level, array, shadow, offset)
        yield Sample(opcode, dim, level, array, shadow, offset, half_address=True)
        if opcode in ("tex", "txb", "txd"):
            yield Sample(opcode, dim, level, array, shadow, offset, min_lod=True)
        if dim == "2d":
            plain = Sample(opcode, dim, level, array, shadow, offset)
            if opcode != "lod":
                yield replace(plain, half_result=True)
                yield replace(plain, sparse=True)
                yield replace(plain, sparse=True, used=())
            if not shadow:
                uses = ((0,), (1,)) if opcode == "lod" else ((0,), (1, 3), (2,))
                yield from (replace(plain, used=used, component=1 if opcode == "tg4" else 0) for used in uses)


@dataclass(frozen=True)
class Image:
    """An access to a storage image or a buffer of texels."""

    operation: str
    dim: str = "2d"
    array: bool = False
    level: int | None = 0
    bits: int = 32
    half_address: bool = False
    access: int = 0
    atomic: int = 0
    used: tuple[int, ...] = (0, 1, 2, 3)
    constants: tuple[int | None, ...] = (None, None, None, None)
    returns: bool = True

    def build(self, k: ImageKernel) -> None:
        """Append the instruction, and stores of what is used of its result."""
        bits = 16 if self.half_address else 32
        facts = {"image_dim": ImageDim.numbers()[self.dim], "image_array": int(self.array), "access": self.access}
        place = (k.handle(4 if self.dim == "buf" else 8), k.texels(4, bits), k.texels(1, bits, 9) if "ms" in self.dim else k.imm(0, bits))
        level = k.texels(1, bits, 11) if self.level is None else k.imm(self.level, bits)
        if self.operation == "store":
            kinds = {16: lambda n: k.varying(1, 16, n), 32: lambda n: k.varying(1, 32, n), 64: lambda n: k.u2u64(k.texels(1, 32, n))}
            parts = [kinds[self.bits](30 + n) if value is None else k.imm(value, self.bits) for n, value in enumerate(self.constants)]
            k.bindless_image_store(*place, k.vec(*parts), level, **facts)
            return
        if self.operation.startswith("atomic"):
            data = [k.texels(1, 32, 40), k.texels(1, 32, 41)][: 2 if self.operation == "atomic_swap" else 1]
            data = [k.u2u64(value) for value in data] if self.bits == 64 else data
            value = k.intrinsic(f"bindless_image_{self.operation}", *place, *data, bit_size=self.bits, atomic_op=self.atomic, **facts)
            if self.returns:
                k.output(value)
            return
        sparse = self.operation == "sparse_load"
        value = k.intrinsic(f"bindless_image_{self.operation}", *place, level, components=4 + sparse, bit_size=self.bits, **facts)
        for part in (*self.used, *([4] if sparse else [])):
            k.output(k.component(value, part))


def images() -> Iterator[Image]:
    """Every kind of access to every kind of image."""
    shapes = [("1d", False), ("1d", True), ("2d", False), ("2d", True), ("3d", False), ("cube", False), ("ms", False), ("ms", True), ("buf", False)]
    for (dim, array), half_address in product(shapes, [False, True]):
        if half_address and dim == "buf":
            continue
        for operation in ("load", "store", "sparse_load"):
            plain = Image(operation, dim, array, half_address=half_address)
            yield plain
            if dim not in ("ms", "buf"):
                yield from (replace(plain, level=level) for level in (1, None))
            if dim != "buf":
                yield replace(plain, bits=64)
            if operation != "sparse_load":
                yield replace(plain, bits=16)
            if operation != "store":
                yield from (replace(plain, used=used) for used in ((0,), (1, 3), (2,), ()) if used or operation == "sparse_load")
            yield from (replace(plain, access=access) for access in (1, 4, 0x80))
            if operation == "store":
                for constants in ((None, 0, 0, 0), (None, 0, None, 0), (0, 0, 0, 0), (None, None, None, 7)):
                    yield from (replace(plain, constants=constants, bits=bits) for bits in (16, 32))
        for atomic, bits, returns in product(range(9), (32, 64), (False, True)):
            yield Image("atomic", dim, array, bits=bits, half_address=half_address, atomic=atomic, returns=returns)
        for bits, returns in product((32, 64), (False, True)):
            yield Image("atomic_swap", dim, array, bits=bits, half_address=half_address, atomic=12, returns=returns)
