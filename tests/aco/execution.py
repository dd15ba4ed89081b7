"""Running hand-written NIR twice: by the NIR interpreter, and compiled on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco import emu, targets
from pyaco._core.aco import assemble, isel
from pyaco._core.ir.program import Program
from pyaco.abi import Abi
from pyaco.aco import Options, run_passes
from pyaco.compiler import CompiledShader
from pyaco.nir import interpreter
from pyaco.nir import passes as nir_passes
from pyaco.nir.builder import Builder

LANES = 64
Array = NDArray[Any]


class Kernel(Builder):
    """A builder of a kernel that reads binding 0 and writes binding 1, an array of dwords per result."""

    def __init__(self, gfx_level: int, wave_size: int, lanes: int = LANES) -> None:
        super().__init__(gfx_level=gfx_level, wave_size=wave_size, workgroup_size=(lanes, 1, 1))
        self.lanes = lanes
        self.lane = self.load_local_invocation_index()
        self.results = 0
        self.source, self.target = (self.descriptor(binding) for binding in range(2))

    def descriptor(self, binding: int) -> int:
        """Append the descriptor of a storage buffer."""
        index = self.vulkan_resource_index(self.imm(0), desc_set=0, binding=binding, desc_type=7, components=4)
        return self.load_vulkan_descriptor(index, desc_type=7, components=4)

    def input(self, bit_size: int = 32, uniform: bool = False, place: int = 0, components: int = 1) -> int:
        """Append a load: every lane its own 16 bytes of row `place`, or all lanes the first."""
        element = bit_size // 8
        base = self.imm(place * self.lanes * 16)
        offset = base if uniform else self.iadd(self.ishl(self.lane, self.imm(4)), base)
        return self.load_ssbo(self.source, offset, components=components, bit_size=bit_size, align_mul=max(element, 4),
                              access=0x50)

    def output(self, value: int) -> None:
        """Append stores of every component, widened to dwords."""
        for index in range(self.components(value)):
            part = self.component(value, index) if self.components(value) > 1 else value
            bits = self.bit_size(part)
            if bits == 1:
                words = [self.b2i32(part)]
            elif bits < 32:
                words = [self.u2u32(part)]
            elif bits == 64:
                words = [self.unpack_64_2x32_split_x(part), self.unpack_64_2x32_split_y(part)]
            else:
                words = [part]
            for word in words:
                offset = self.iadd(self.ishl(self.lane, self.imm(2)), self.imm(self.results * 4 * self.lanes))
                self.store_ssbo(word, self.target, offset, write_mask=1, align_mul=4)
                self.results += 1


def run_both(
    build: Callable[[Kernel], object], data: Array, target: str = "gfx1030", wave: int = 64, lanes: int = LANES,
    optimize: bool = False,
) -> tuple[Array, Array]:
    """Return what the interpreter and the compiled code write, one row of dwords per output."""
    chip = targets.chip(target)
    kernel = Kernel(chip.level, wave, lanes)
    build(kernel)
    shader = kernel.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    nir_passes.run(shader)
    size = kernel.results * lanes
    wanted = np.zeros(size, np.uint32)
    source = np.frombuffer(data.tobytes(), np.uint8).copy()
    interpreter.run(shader, (1, 1, 1), {(0, 0): source, (0, 1): wanted.view(np.uint8)}, wave=wave)
    device = emu.Device(target)
    result = device.buffer(np.zeros(size, np.uint32))
    device.dispatch(compile_nir(shader, target, wave, optimize), (1, 1, 1),
                    {(0, 0): device.buffer(source), (0, 1): result})
    return wanted.reshape(-1, lanes), result.numpy().view(np.uint32).reshape(-1, lanes)


def compile_nir(shader: Any, target: str, wave: int, optimize: bool) -> CompiledShader:
    """Compile lowered NIR, without the optimizations of the backend unless they are wanted."""
    chip = targets.chip(target)
    x, y, z = shader.info["workgroup_size"]
    program = Program()
    program.configure(gfx_level=chip.level, wave_size=wave, workgroup_size=x * y * z,
                      limits=targets.wave_limits(chip, wave).as_dict(), wgp_mode=False)
    isel.run(shader, program)
    run_passes(program, Options(optimize=optimize))
    assemble.run(program)
    facts = dict(shader.metadata["abi"])
    for name in ("num_sgprs", "num_vgprs", "num_shared_vgprs", "lds_bytes", "scratch_bytes_per_lane", "float_mode"):
        facts[name] = program.config[name]
    return CompiledShader(target=chip.target, stage="compute", entry="main", wave=wave, code=program.code,
                          constant_data=program.constant_data, abi=Abi.from_dict(facts), stats={})


def seed_data(lanes: int = LANES, places: int = 4, seed: int = 1) -> Array:
    """Return random bytes with small numbers and zeros among them."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 2**32, (places, lanes, 4), dtype=np.uint32)
    data[:, ::4] >>= rng.integers(0, 32, data[:, ::4].shape, dtype=np.uint32)
    data[:, 1::8] = 0
    data[:, 2::8] = 0xFFFFFFFF
    return data
