"""Buffers by their descriptors, from NIR to results: strides, swizzled elements, offsets of vector and scalar unit, formats."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import numpy as np
import pytest
from execution import Array, Kernel, compile_nir

from pyaco import emu, isa, targets
from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import Access, ImageFormat, VariableMode
from pyaco.compiler import CompiledShader
from pyaco.descriptors.buffer import OutOfBounds, buffer_descriptor
from pyaco.errors import UnsupportedError
from pyaco.nir import interpreter, passes
from pyaco.nir.interpreter_state import HEAP
from pyaco.targets.features import has_records_in_bytes

TARGETS = (("gfx600", 64), ("gfx803", 64), ("gfx900", 64), ("gfx1010", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1200", 64))
LANES = 64
STRIDE = 32
RECORDS = 2 * LANES
Build = Callable[[Kernel, int], object]


def descriptor(address: int, level: int, stride: int, swizzled: bool, format_name: str = "R32_FLOAT") -> bytes:
    """Return the four dwords for `RECORDS` elements, or as many bytes as they would have."""
    in_bytes = stride == 0 or (has_records_in_bytes(level) and not swizzled)
    return struct.pack("<4I", *buffer_descriptor(
        address, RECORDS * STRIDE if in_bytes else RECORDS, format_name, level, stride=stride, swizzle_enable=int(swizzled), element_size=1,
        out_of_bounds=OutOfBounds.STRUCTURED if stride else OutOfBounds.RAW))


def shader_of(build: Build, level: int, wave: int) -> tuple[Shader, int]:
    """Return lowered NIR whose descriptor stands in push constants, and how many results it has."""
    kernel = Kernel(level, wave, LANES)
    words = kernel.load_push_constant(kernel.imm(0), components=4, bit_size=32, base=0, range=16, align_mul=4)
    kernel.shader.set_info(push_constant_bytes=16)
    build(kernel, words)
    shader = kernel.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    passes.run(shader)
    return shader, kernel.results


def on_emulator(shader: CompiledShader, target: str, data: Array, results: int, stride: int, swizzled: bool, name: str) -> tuple[Array, Array]:
    """Return the results and what the buffer holds in the end."""
    device = emu.Device(target)
    source, result = device.buffer(data.copy()), device.buffer(np.zeros(results * LANES, np.uint32))
    push = descriptor(source.address, targets.chip(target).level, stride, swizzled, name)
    device.dispatch(shader, (1, 1, 1), {(0, 0): source, (0, 1): result}, push)
    return result.numpy().view(np.uint32).reshape(-1, LANES), source.numpy().view(np.uint8)


def load(b: Kernel, words: int, vector: int, scalar: int, index: int, components: int = 1, bit_size: int = 32, base: int = 0,
         access: int = 0) -> None:  # fmt: skip
    b.output(b.load_buffer_amd(words, vector, scalar, index, components=components, bit_size=bit_size, base=base,
                               memory_modes=VariableMode.SSBO, access=access, align_mul=bit_size // 8))


def offsets(b: Kernel, words: int) -> None:
    """All three parts of an address, beyond the largest immediate too, and lanes that are out of range."""
    zero, scalar = b.imm(0), b.iand(b.input(32, True), b.imm(0x3C))
    for components, bits in ((1, 32), (2, 32), (3, 32), (4, 32), (1, 16), (2, 16), (1, 8), (3, 8), (1, 64), (2, 64)):
        vector = b.ishl(b.lane, b.imm(4))
        load(b, words, vector, zero, zero, components, bits)
        load(b, words, vector, scalar, zero, components, bits, base=16)
    load(b, words, b.ishl(b.lane, b.imm(5)), scalar, zero, 4, base=4088)
    load(b, words, b.ishl(b.lane, b.imm(9)), zero, zero, 4)
    load(b, words, scalar, zero, zero, 2, base=8)


def elements(access: int) -> Build:
    """Elements by number: with and without an offset, the same one in all lanes, and numbers out of range."""
    def build(b: Kernel, words: int) -> None:
        zero, scalar = b.imm(0), b.iand(b.input(32, True), b.imm(0x1C))
        inside = b.iand(b.input(32), b.imm(0xC))
        for components, bits in ((1, 32), (4, 32), (2, 16), (1, 8), (2, 64)):
            load(b, words, zero, zero, b.lane, components, bits, access=access)
            load(b, words, inside, zero, b.lane, components, bits, base=16 if bits * components < 128 else 0, access=access)
            load(b, words, inside, scalar, b.iadd(b.lane, b.imm(5)), components, bits, access=access)
        load(b, words, zero, zero, b.ishl(b.lane, b.imm(2)), 3, access=access)
        load(b, words, zero, zero, scalar, 3, base=8, access=access)
    return build


def stores(access: int) -> Build:
    """Stores of some components, from registers of both files."""
    def build(b: Kernel, words: int) -> None:
        zero, modes = b.imm(0), VariableMode.SSBO
        values = [b.input(32, False, 0, 4), b.input(16, False, 1, 2), b.input(32, True, 2, 2)]
        b.barrier(execution_scope=4, memory_scope=4, memory_semantics=3, memory_modes=VariableMode.SSBO)
        for value, mask, index, base in zip(values, (0b1011, 0b11, 0b10), (b.lane, b.lane, b.iadd(b.lane, b.imm(LANES))), (0, 16, 4), strict=True):
            b.store_buffer_amd(value, words, zero, zero, index, base=base, write_mask=mask, memory_modes=modes, access=access,
                               align_mul=b.bit_size(value) // 8)
        b.output(b.lane)
    return build


CASES = {
    "offsets": (offsets, 0, False), "elements": (elements(0), STRIDE, False), "stores": (stores(0), STRIDE, False),
    "swizzled": (elements(Access.IS_SWIZZLED_AMD), STRIDE, True), "swizzled_stores": (stores(Access.IS_SWIZZLED_AMD), STRIDE, True),
}  # fmt: skip


@pytest.mark.parametrize(("target", "wave"), TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_as_the_interpreter(case: str, target: str, wave: int) -> None:
    build, stride, swizzled = CASES[case]
    level = targets.chip(target).level
    data = np.random.default_rng(7).integers(0, 256, 8 * LANES * STRIDE, dtype=np.uint8)
    shader, results = shader_of(build, level, wave)
    wanted, memory = np.zeros(results * LANES, np.uint32), data.copy()
    interpreter.run(shader, (1, 1, 1), {(0, 0): memory, (0, 1): wanted.view(np.uint8)}, push=descriptor(HEAP, level, stride, swizzled), wave=wave)
    for optimize in (False, True):
        found, left = on_emulator(compile_nir(shader, target, wave, optimize), target, data, results, stride, swizzled, "R32_FLOAT")
        np.testing.assert_array_equal(found, wanted.reshape(-1, LANES))
        np.testing.assert_array_equal(left, memory)
    assert len(np.unique(wanted)) > 10 * ("stores" not in case)
    assert ("stores" in case) == (memory != data).any()


def formats(b: Kernel, words: int) -> None:
    """Each lane's texel by formats of the instruction, and of the descriptor."""
    for name, components, bits in (("r8g8b8a8_unorm", 4, 32), ("r16g16_sint", 2, 32), ("r10g10b10a2_uint", 4, 32), ("r32g32_float", 2, 32),
                                   ("r8g8b8a8_unorm", 3, 16)):  # fmt: skip
        b.output(b.load_typed_buffer_amd(words, b.imm(0), b.imm(0), b.lane, components=components, bit_size=bits, base=4,
                                         memory_modes=VariableMode.SSBO, format=ImageFormat.numbers()[name], align_mul=4))
    load(b, words, b.imm(0), b.imm(0), b.lane, 4, base=4, access=Access.USES_FORMAT_AMD)
    load(b, words, b.imm(0), b.imm(0), b.imm(3), 2, base=4, access=Access.USES_FORMAT_AMD)


@pytest.mark.parametrize(("target", "wave"), [chip for chip in TARGETS if chip[0] not in ("gfx600", "gfx803")])
def test_formats(target: str, wave: int) -> None:
    data = np.random.default_rng(9).integers(0, 256, RECORDS * STRIDE, dtype=np.uint8)
    shader, results = shader_of(formats, targets.chip(target).level, wave)
    found, _ = on_emulator(compile_nir(shader, target, wave, True), target, data, results, STRIDE, False, "R8G8_UNORM")
    texels = data.reshape(RECORDS, STRIDE)[:LANES, 4:12]
    unorm = (texels / np.float64(255)).astype(np.float32)
    words, halves = np.ascontiguousarray(texels).view(np.uint32), np.ascontiguousarray(texels).view(np.int16)
    zero, one = np.zeros(LANES, np.float32), np.ones(LANES, np.float32)
    wanted = [*unorm[:, :4].T.view(np.uint32), *halves[:, :2].T.astype(np.int32).view(np.uint32),
              words[:, 0] & 0x3FF, words[:, 0] >> 10 & 0x3FF, words[:, 0] >> 20 & 0x3FF, words[:, 0] >> 30, *words.T,
              *unorm[:, :3].T.astype(np.float16).view(np.uint16),
              *(column.view(np.uint32) for column in (*unorm[:, :2].T.copy(), zero, one)),
              *np.broadcast_to(unorm[3, :2].view(np.uint32)[:, None], (2, LANES))]
    np.testing.assert_array_equal(found, np.array(wanted))


def test_each_part_keeps_its_place() -> None:
    def build(b: Kernel, words: int) -> None:
        load(b, words, b.ishl(b.lane, b.imm(2)), b.input(32, True), b.lane, 4, base=8)
    shader, _ = shader_of(build, 103, 64)
    text = isa.disassemble(compile_nir(shader, "gfx1030", 64, True).code, "gfx1030")
    assert re.search(r"buffer_load_dwordx4 v\[\d+:\d+\], v\[\d+:\d+\], s\[\d+:\d+\], s\d+ idxen offen offset:8", text), text


@pytest.mark.parametrize(("target", "wanted"), [("gfx1030", "off"), ("gfx1100", "idxen")])
def test_swizzled_buffers_have_an_index_from_gfx11_on(target: str, wanted: str) -> None:
    def build(b: Kernel, words: int) -> None:
        load(b, words, b.imm(0), b.imm(0), b.imm(0), 2, access=Access.IS_SWIZZLED_AMD)
    shader, _ = shader_of(build, targets.chip(target).level, 64)
    loads = re.findall(r"buffer_load_.*", isa.disassemble(compile_nir(shader, target, 64, True).code, target))
    assert len(loads) == 2 and all(wanted in line for line in loads), loads


@pytest.mark.parametrize(("access", "bits", "name"), [
    (Access.USES_FORMAT_AMD, 64, "components of formatted load_buffer_amd"),
    (Access.USES_FORMAT_AMD | Access.IS_SWIZZLED_AMD, 32, "swizzled formatted load_buffer_amd"),
])  # fmt: skip
def test_what_has_no_instruction_is_refused(access: int, bits: int, name: str) -> None:
    def build(b: Kernel, words: int) -> None:
        load(b, words, b.imm(0), b.imm(0), b.lane, 1, bits, access=access)
    shader, _ = shader_of(build, 103, 64)
    with pytest.raises(UnsupportedError, match=name):
        compile_nir(shader, "gfx1030", 64, False)
