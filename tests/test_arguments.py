"""Whatever a public function is given, the answer is a result or an error of ours: each good argument, replaced in turn by bad ones.

`calls` is the table of the public surface; a test holds that no public function is missing.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from bundles import bundle_of

import pyaco
from pyaco import addrlib, binary, emu, isa, meta, nir, pm4, registers, spirv, targets, texels, texture_files
from pyaco.aco import format_program, parse_program, pass_names, register_pass, registered, run_passes, unregister_pass
from pyaco.addrlib.block_plot import block_order
from pyaco.addrlib.driver import modifiers
from pyaco.addrlib.driver import queries as driver
from pyaco.addrlib.driver import records as driver_records
from pyaco.addrlib.v1.queries import surface_info as v1_surface_info
from pyaco.addrlib.v3.queries import surface3_info
from pyaco.arguments import checked
from pyaco.descriptors import buffer, color_surface, decode, depth_surface, image, intel, layout, sampler, sets, types, user_data
from pyaco.formats import pixel_format
from pyaco.metadata import cmask, colors, dcc, dcc_codes, fmask, htile, resolve
from pyaco.nir.builder import Builder
from pyaco.nir.interpreter import run as interpret
from pyaco.nir.parse import parse_shader
from pyaco.nir.passes import run as run_nir_passes
from pyaco.nir.text import print_shader
from pyaco.passes import Pipeline
from pyaco.pipelines.nir_passes import NIR_PASSES
from pyaco.targets import database, figures, memory, product_names, queues, virtual_addresses

MATMUL = Path(__file__).parents[1] / "examples" / "matmul.spv"
HUGE = 1 << 70
BAD: dict[str, Any] = {
    "None": None, "text": "8", "empty text": "", "a chip's name": "navi21", "1.5": 1.5, "NaN": float("nan"), "-1": -1, "0": 0, "2**70": HUGE,
    "2**40": 1 << 40, "[]": [], "[1]": [1], "[None]": [None], "{}": {}, "{1: 2}": {1: 2}, "bytes": b"\1", "an object": object(), "dots": ...,
    "an array": np.zeros((3, 0, 2)), "an array of objects": np.array([None, "x"]), "a path that is not": "no/such/file.spv", "true": True,
    "a zero byte": "a\0b", "half a character": "\udcff",
    "an older chip": addrlib.gpu_config("tonga"), "a newer chip": addrlib.gpu_config("gfx1201"),
}  # fmt: skip
KERNEL = ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 8\n.end_amdhsa_kernel\nk:\ns_endpgm"
ACO = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n\ts_endpgm\n"
CODE = "v_add_f32 v0, v1, v2\ns_endpgm"

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Call:
    """A function with good arguments."""
    return function, arguments, named


class Things:
    """What functions take: made once."""

    def __init__(self) -> None:
        self.code = isa.assemble(CODE, "gfx1100")
        self.shader = pyaco.compile(MATMUL, target="gfx1100", wave=32)
        self.device = emu.Device("gfx1100")
        self.buffers = {(0, binding): self.device.buffer(np.ones((16, 16), np.float32)) for binding in range(3)}
        self.push = np.array([16, 16, 16], np.uint32).tobytes()
        self.config = addrlib.gpu_config("navi21")
        self.request = driver_records.SurfaceRequest(width=64, height=32, bpe=4)
        self.surface = driver.compute_surface(self.config, self.request)
        self.formatted = addrlib.Surface("navi21", width=64, height=32)
        self.tiled = self.formatted.tile(np.zeros((32, 64, 4), np.uint8))
        self.words = pm4.packet("NOP", 0) + pm4.packet("WRITE_DATA", 0, 0, 0, 0)
        self.packets = pm4.parse(self.words, 110)
        self.object = binary.assemble_code_object(KERNEL, "gfx1100")
        self.sets = layout.SetLayout([layout.Binding(0, types.DescriptorType.UNIFORM_BUFFER), layout.Binding(1, types.DescriptorType.SAMPLER)])
        builder = Builder()
        builder.load_local_invocation_index()
        self.nir = builder.finish()
        self.text = print_shader(self.nir)


def isa_calls(t: Things) -> Iterator[Call]:
    yield call(isa.assemble, CODE, "gfx1100", wave_size=32)
    yield call(isa.disassemble, t.code, "gfx1100", wave_size=32)
    yield call(isa.disassemble_lines, t.code, "gfx1100", wave_size=32)
    yield call(isa.instructions, t.code, "gfx1100", wave_size=32)
    yield call(isa.decode, t.code, "gfx1100")
    yield call(isa.encode, isa.decode(t.code, "gfx1100"), "gfx1100")
    yield call(isa.Program, "gfx1100", wave_size=32)
    program = isa.Program("gfx1100")
    yield call(program.emit, "v_add_f32", 1, 2, 3, clamp=True)
    yield call(program.label, "here")
    yield call(program.data, b"1234")
    yield call(program.extend, isa.instructions(t.code, "gfx1100"))
    yield call(program.dual, ("v_dual_mul_f32", 1, 2, 3), ("v_dual_add_f32", 1, 2, 3))
    yield call(isa.Operand, address=4, dwords=1)
    yield call(isa.Operand, value=4, literal=True)
    yield call(lambda *fields: isa.Label(*fields) and isa.Program("gfx1100").extend([isa.Label(*fields)]).code(), "x")
    first = isa.instructions(t.code, "gfx1100")[0]
    assert isinstance(first, isa.Instruction)
    yield call(first.text, "gfx1100")


def compiler_calls(t: Things) -> Iterator[Call]:
    yield call(pyaco.compile, MATMUL, "gfx1100", stage="compute", entry="main", wave=32, spec={}, layout=None, validate=False, dump_after="",
               stop_after="spirv.read", disable="", debug="", explain_pressure=False)  # fmt: skip
    yield call(t.shader.ir, "all")
    yield call(pyaco.ShaderModule, MATMUL)
    yield call(pyaco.Pipeline, pyaco.ShaderModule(MATMUL), "gfx1100", stage="compute", entry="main", specialization={}, layout=None, wave=32,
               disable=(), debug=(), cache=None, capture=False)  # fmt: skip
    yield call(pyaco.PipelineCache, None, 1 << 20)
    yield call(spirv.read, MATMUL.read_bytes(), entry="main", specialization={}, stage="compute")
    yield call(spirv.reflect, MATMUL.read_bytes(), entry="main", specialization={}, stage="compute")
    yield call(spirv.entry_points, MATMUL.read_bytes())
    yield call(parse_shader, t.text, "name")
    yield call(print_shader, t.nir)
    yield call(run_nir_passes, pyaco.spirv.read(MATMUL.read_bytes()), options=None, on_pass=None)
    yield call(interpret, t.nir, (1, 1, 1), {}, push=b"", wave=64)
    yield call(Builder, gfx_level=103, wave_size=64, workgroup_size=(64, 1, 1))
    yield call(parse_program, ACO, 110, 64, workgroup_size=64, wgp_mode=False)
    yield call(format_program, parse_program(ACO, 110), None)
    yield call(run_passes, parse_program(ACO, 110), None, None)
    yield call(pass_names)
    yield call(unregister_pass, "nothing")

    def register(*arguments: Any, **named: Any) -> None:
        unregister_pass(register_pass(*arguments, **named))

    def with_registered(*arguments: Any, **named: Any) -> None:
        with registered(*arguments, **named):
            pass

    yield call(register, "spill", print, name="mine")
    yield call(with_registered, "spill", print, name="mine")
    yield call(nir.unregister_pass, "nothing")
    yield call(lambda *arguments, **named: nir.unregister_pass(nir.register_pass(*arguments, **named)), "dce", print, name="mine")
    dce = NIR_PASSES["dce"]
    yield call(dce.values, {})
    yield call(dce.run, t.nir, {})
    yield call(Pipeline("nir", "compute", (dce,)).with_options, dce)


def emulator_calls(t: Things) -> Iterator[Call]:
    yield call(emu.Device, "gfx1100", "reference", None, check_waits=False, check_races=False, check=(), report_same_value=False, profile=False,
               trace=0, seed=None)  # fmt: skip
    yield call(emu.Device, "gfx1100", "fast", 1)
    device = t.device
    yield call(device.buffer, b"123")
    yield call(device.share, np.zeros(8, np.uint8))
    yield call(device.zeros, 8)
    yield call(device.image, np.zeros((8, 8, 4), np.uint8), format="R8G8B8A8_UNORM", width=8, height=8, name="Image")
    image = device.image(format="R32_FLOAT", width=8, height=8, mips=2)
    yield call(image.view, "2d", format="R32_UINT", levels=(0, 1), layers=(0, 1), swizzle=(0, 1, 2, 3), storage=False, stencil=False, min_lod=0.0)
    yield call(image.write, np.zeros((8, 8), np.float32), 0)
    yield call(t.buffers[0, 0].write, b"1234", offset=4)
    yield call(device.dispatch, t.shader, (1, 1, 1), t.buffers, t.push, 1 << 20, sets=None, dynamic_offsets=(), time_budget=None)
    yield call(device.place, t.shader, (1, 1, 1), t.buffers, t.push, sets=None, dynamic_offsets=())
    yield call(device.debug, t.shader, (1, 1, 1), t.buffers, t.push, 1 << 20, sets=None, dynamic_offsets=(), seed=None)
    yield call(device.submit, t.words[:2], 1 << 20, time_budget=None)
    entry = device.space.map(np.frombuffer(t.code, np.uint8).copy())
    whole: dict[str, Any] = {"entry": entry, "code_bytes": len(t.code), "groups": (1, 1, 1), "size": (32, 1, 1), "wave_size": 32}
    launch = emu.Launch._field_defaults | whole
    yield call(device.launch, emu.Launch(**whole), budget=1 << 20, time_budget=None)
    yield call(lambda **fields: device.launch(emu.Launch(**fields), budget=1 << 20), **launch)
    yield call(device.run, t.code, (1, 1, 1), (32, 1, 1), user_sgprs=(), wave_size=32, workgroup_ids=(False,) * 3, workgroup_info=False,
               scratch_offset=False, local_id_components=3, packed_ids=None, float_mode=192, lds_bytes=0, scratch_bytes_per_lane=0, shared_vgpr=0,
               budget=1 << 20, time_budget=None)  # fmt: skip
    yield call(device.load, t.object, symbols=None)
    loaded = device.load(t.object)
    yield call(loaded.kernel, "k")
    yield call(loaded.dispatch, "k", (32, 1, 1), (32, 1, 1), (), group_segment_size=0, private_segment_size=0, cluster=(1, 1, 1))
    yield call(device.dispatch_packet, bytes(64), 1 << 20, time_budget=None)
    yield call(emu.survey, t.code, "gfx1100")
    yield call(emu.kernel_occupancy, t.object, "k", 256, dynamic_lds=0)
    space = virtual_addresses.VirtualAddresses()
    yield call(space.allocate, 4096, 4096, "general")
    yield call(space.reserve, 1 << 20, 4096)
    yield call(space.free, 1 << 20)
    yield call(space.size, 1 << 20)
    yield call(space.free_bytes, "general")
    yield call(virtual_addresses.canonical, 1 << 47)


def metadata_calls(t: Things) -> Iterator[Call]:
    config, many = t.config, addrlib.Surface("navi21", width=256, height=256, samples=4)
    flat = addrlib.Surface("navi21", width=256, height=256)
    deep = addrlib.Surface("navi21", format="Z32_FLOAT_S8X24_UINT", width=256, height=256, samples=4)
    memory = np.zeros(max(surface.total_size for surface in (many, flat, deep)), np.uint8)
    codes, words = np.full((1, 32, 32), 0xE, np.uint8), np.full((1, 256, 256), 0xE4, np.uint8)
    yield call(colors.pack_color, "R8G8B8A8_UNORM", (1, 0, 0, 1))
    yield call(colors.encode_texels, "R8G8B8A8_UNORM", np.zeros((3, 4)))
    yield call(colors.decode_texels, "R8G8B8A8_UNORM", np.zeros((3, 4), np.uint8))
    yield call(colors.color_format, "R8G8B8A8_UNORM")
    yield call(dcc_codes.clear_code, config, "R8G8B8A8_UNORM", (1, 0, 0, 1), single=None, reinterpreted=False)
    yield call(dcc_codes.color_of_code, config, "R8G8B8A8_UNORM", 0x40)
    yield call(dcc_codes.register_words, "R8G8B8A8_UNORM", (1, 0, 0, 1))
    yield call(dcc.blocks, flat, 0, 0)
    yield call(dcc.initialize, flat, memory)
    yield call(dcc.fast_clear, flat, memory, (1, 1, 1, 1), mips=0, layers=0, single=None)
    yield call(dcc.read_codes, flat, memory, 0, 0)
    yield call(dcc.eliminate, flat, memory, (1, 1, 1, 1), mips=0, layers=0)
    yield call(dcc.decompress, flat, memory, (1, 1, 1, 1), mips=0, layers=0)
    yield call(cmask.initialize, many, memory, cmask=None)
    yield call(cmask.write_codes, many, memory, codes, cmask=None)
    yield call(cmask.read_codes, many, memory, cmask=None)
    yield call(cmask.expanded_code, 4, 4)
    yield call(cmask.fast_clear_code, many)
    yield call(cmask.fast_clear, many, memory, layers=0, cmask=None)
    yield call(cmask.eliminate, many, memory, (1, 1, 1, 1), cmask=None)
    yield call(cmask.effective_words, many, memory)
    yield call(cmask.decompress_fmask, many, memory, (1, 1, 1, 1))
    yield call(fmask.identity_word, 4, 4)
    yield call(fmask.encode_words, [0, 1, 2, 3], 4)
    yield call(fmask.decode_words, [0xE4], 4, 4)
    yield call(fmask.initialize, many, memory)
    yield call(fmask.write_words, many, memory, words)
    yield call(fmask.fetch_samples, many, memory, words)
    yield call(fmask.compress, many, memory)
    yield call(fmask.expand, many, memory)
    yield call(resolve.resolve_color, many, memory, mode="average", words=None)
    yield call(resolve.resolve_into, many, memory, flat, memory.copy(), mode="average")
    yield call(htile.clear_word, 1.0, stencil=True, shading_rates=False)
    yield call(htile.decode_words, [0], stencil=True, base_is_greatest=True)
    yield call(htile.initialize, deep, memory)
    yield call(htile.read_words, deep, memory, 0)
    yield call(htile.write_words, deep, memory, np.full((1, 32, 32), 0xFFFFF3FF, np.uint32), 0)
    yield call(htile.ranges, deep, memory, 0)
    yield call(htile.resummarize, deep, memory, mips=0, exact=False)
    yield call(htile.fast_clear, deep, memory, depth=1.0, stencil=0, mips=0, layers=0)
    yield call(htile.expand, deep, memory, depth=1.0, stencil=0, mips=0)
    yield call(resolve.resolve_depth, deep, memory, "min")
    yield call(resolve.resolve_stencil, deep, memory, "min")


def addrlib_calls(t: Things) -> Iterator[Call]:
    config, surface = t.config, t.surface
    yield call(addrlib.gpu_config, "navi21")
    yield call(addrlib.gpu_configs)
    yield call(addrlib.Surface, "navi21", format="R8G8B8A8_UNORM", width=64, height=32, depth=0, layers=1, mips=1, samples=1, cube=False,
               linear=False, use=driver_records.SurfaceUse(0), swizzle_mode=None)  # fmt: skip
    yield call(addrlib.surface_request, "R8G8B8A8_UNORM", 64, 32, depth=0, layers=1, mips=1, samples=1, cube=False, linear=False,
               use=driver_records.SurfaceUse(0), swizzle_mode=None)  # fmt: skip
    yield call(addrlib.plane_surfaces, "navi21", format="NV12", width=64, height=32)
    formatted = t.formatted
    yield call(formatted.address, 1, 2, 0, 0, 0, stencil=False)
    yield call(formatted.coordinates, [0, 4], stencil=False)
    yield call(formatted.level_shape, 0)
    yield call(formatted.tile, np.zeros((32, 64, 4), np.uint8), np.zeros_like(t.tiled), mip=0, threads=1, stencil=False)
    yield call(formatted.detile, t.tiled, mip=0, threads=1, stencil=False)
    yield call(formatted.tiled.detile, t.tiled, mip=0, region=None, out=None, threads=1)
    yield call(formatted.tiled.addresses, 1, 2, 0, 0, 0)
    yield call(formatted.tiled.coordinates, [0, 4])
    yield call(block_order, formatted, width=8, height=8)
    yield call(addrlib.plot, formatted, None, width=8, height=8)
    yield call(addrlib.TiledSurface, config, width=64, height=32, bpp=32, swizzle_mode=9, resource_type=1, flags=0, num_slices=1, num_mip_levels=1,
               num_samples=1, pitch_in_element=0, pipe_bank_xor=0, level_extents=None)  # fmt: skip
    yield call(addrlib.surface_info, config, width=64, height=32, swizzle_mode=9, bpp=32, format=0, resource_type=1, num_slices=1, num_mip_levels=1,
               num_samples=1, num_frags=0, flags=0, pitch_in_element=0, slice_align=0)  # fmt: skip
    yield call(surface3_info, addrlib.gpu_config("gfx1201"), width=64, height=32, swizzle_mode=3, bpp=32)
    yield call(v1_surface_info, addrlib.gpu_config("tonga"), tile_mode=4, width=64, height=32, bpp=32, info=None)
    yield call(addrlib.surface_infos, config, 2, width=64, height=32, swizzle_mode=9, bpp=32)
    yield call(addrlib.fmask_info, config, swizzle_mode=24, width=64, height=32, num_slices=1, num_samples=4, num_frags=4)
    yield call(lambda config, *fields: addrlib.htile_info(config, addrlib.HtileRequest(*fields)), config, 24, 64, 32)
    yield call(lambda config, *fields: addrlib.cmask_info(config, addrlib.CmaskRequest(*fields)), config, 27, 64, 32)
    yield call(lambda config, *fields: addrlib.dcc_info(config, addrlib.DccRequest(*fields)), config, 27, 64, 32)
    yield call(addrlib.htile_info, config, addrlib.HtileRequest(addrlib.SwizzleMode(24), 64, 32))
    yield call(addrlib.cmask_info, config, addrlib.CmaskRequest(addrlib.SwizzleMode(27), 64, 32))
    yield call(addrlib.dcc_info, config, addrlib.DccRequest(addrlib.SwizzleMode(27), 64, 32))
    yield call(addrlib.dcc_info(config, addrlib.DccRequest(addrlib.SwizzleMode(27), 64, 32)).address, 1, 2, 0, 0, 0)
    yield call(addrlib.dcc_info(config, addrlib.DccRequest(addrlib.SwizzleMode(27), 64, 32)).layout, samples=1, element_bits=32)
    yield call(driver.compute_surface, config, t.request)
    yield call(lambda config, **fields: driver.compute_surface(config, driver_records.SurfaceRequest(**fields)), config, width=64, height=32, bpe=4)
    yield call(driver.surface_addresses, config, surface, 0, 1, 2, 0, 0)
    yield call(driver.surface_address, config, surface, 0, 1, 2, 0, 0)
    yield call(driver.tiled_surface, config, surface, stencil=False)
    yield call(driver.planes, config, surface)
    yield call(driver.bo_metadata, config, surface)
    yield call(driver.stencil_offset, config, surface)
    yield call(driver.import_surface, config, t.request, driver.bo_metadata(config, surface))
    yield call(driver.non_block_compressed_view, config, surface, 0, 0)
    yield call(driver.override_offset_and_pitch, config, surface, 0, 0)
    yield call(modifiers.decode_modifier, 0)
    yield call(modifiers.supported_modifiers, config, 32, planes=1, dcc=True, retile=True)
    yield call(modifiers.is_modifier_supported, config, 0, 32, planes=1, dcc=True, retile=True)
    yield call(modifiers.maximum_extent, config, 0)
    yield call(modifiers.modifier_swizzle_mode, config, 0)
    yield call(modifiers.supports_dcc_image_stores, config, 0)
    yield call(modifiers.has_dcc, 0)
    yield call(modifiers.has_dcc_retile, 0)
    yield call(modifiers.is_amd, 0)


def descriptor_calls(t: Things) -> Iterator[Call]:
    yield call(texels.decode, bytes(8), "bc1", 4, 4, 1, interpolation="exact", astc_mode="unorm8")
    config, surface = t.config, t.surface
    yield call(pixel_format, "R8G8B8A8_UNORM")
    yield call(buffer.raw_buffer, 4096, 16, 110)
    yield call(buffer.buffer_descriptor, 4096, 16, "R32_FLOAT", 110, swizzle=(0, 1, 2, 3), stride=4, swizzle_enable=0, element_size=0, index_stride=0,
               add_thread_id=False, out_of_bounds=3)  # fmt: skip
    yield call(buffer.attribute_ring, 1 << 16, 4096, 16, 110)
    yield call(sampler.sampler_descriptor, sampler.Sampler(), 110)
    yield call(lambda **fields: sampler.sampler_descriptor(sampler.Sampler(**fields), 110), **vars(sampler.Sampler()))
    view = image.ImageView(1 << 20, "R8G8B8A8_UNORM", 64, 32, 0, 9)
    yield call(image.image_descriptor, config, surface, view)
    yield call(lambda **fields: image.image_descriptor(config, surface, image.ImageView(**fields)), **vars(view))
    yield call(image.fmask_descriptor, config, surface, view)
    color = color_surface.ColorView(1 << 20, "R8G8B8A8_UNORM", 64, 32)
    yield call(color_surface.color_surface, config, surface, color)
    yield call(lambda **fields: color_surface.color_surface(config, surface, color_surface.ColorView(**fields)), **vars(color))
    depth = depth_surface.DepthView(1 << 20, "Z32_FLOAT", 64, 32)
    yield call(depth_surface.depth_surface, config, surface, depth)
    yield call(lambda **fields: depth_surface.depth_surface(config, surface, depth_surface.DepthView(**fields)), **vars(depth))
    yield call(decode.decode, "buffer", (0, 0, 0, 0), 110)
    kind = types.DescriptorType.UNIFORM_BUFFER
    yield call(types.contents, kind, (kind,))
    yield call(types.is_dynamic, kind)
    yield call(intel.intel_contents, kind, indirect=True, mutable=())
    yield call(intel.compare)
    yield call(intel.intel_words, kind, {"address": 64})
    yield call(intel.intel_fields, kind, [64, 0, 16, 0])
    yield call(intel.surface_handle, 64, extended=False)
    yield call(lambda **fields: layout.SetLayout([layout.Binding(**fields)]), **vars(layout.Binding(0, kind)))
    yield call(layout.SetLayout, [layout.Binding(0, kind)], keep_samplers=False, grouped=True)
    yield call(t.sets.allocated_size, None)
    yield call(layout.PipelineLayout, {0: t.sets})
    yield call(lambda *fields: layout.PipelineLayout(*fields).push_constant_size, {0: t.sets})
    yield call(layout.PipelineLayout({0: t.sets}).dynamic_start, 0)
    yield call(sets.DescriptorSet, t.sets, None)
    yield call(sets.DescriptorSet(t.sets).write, 0, {"buffer": (0, 0, 0, 0)}, 0, kind=kind)
    yield call(sets.DescriptorSet(t.sets).write_data, 0, b"1234", 0)
    yield call(sets.DescriptorSet(t.sets).read, 110, None)
    yield call(sets.DescriptorSet(t.sets).elements, 0)
    yield call(user_data.assign_user_data, (0, 1), (), other_push_uses=False, dynamic_buffers=False, others=0)


def target_calls(t: Things) -> Iterator[Call]:
    yield call(targets.chip, "gfx1100")
    yield call(targets.chips)
    yield call(targets.wave_limits, "gfx1100", 32)
    yield call(targets.occupancy, "gfx1100", wave=32, vgprs=96, sgprs=32, lds_bytes=0, workgroup_size=64, wgp_mode=False)
    yield call(targets.occupancy_limits, "gfx1100", wave=32, vgprs=96, sgprs=32, lds_bytes=0, workgroup_size=64, wgp_mode=True)
    yield call(database.find_product, "RX 7900 XTX")
    yield call(database.pci_chip, 0x744C)
    product = database.find_product("RX 7900 XTX")
    yield call(figures.peaks, product)
    yield call(figures.structure, product.die)
    yield call(product_names.decode_name, "RX 7900 XTX")
    yield call(product_names.order_names, ["RX 7900 XTX", "RX 7900 XT"])
    yield call(database.find_code_names, "Navi 3x")
    yield call(queues.queues, product.die)
    yield call(memory.memory_heaps, 110, 1 << 30, 1 << 28, 1 << 30, dedicated=True)
    _, kinds = memory.memory_heaps(110, 1 << 30, 1 << 28, 1 << 30)
    yield call(memory.choose_memory_type, kinds, memory.MemoryProperty(0), memory.MemoryProperty(0))
    yield call(registers.registers, 110)
    yield call(registers.program_registers, t.shader.abi, 110)
    found = registers.registers(110)
    register = found["COMPUTE_PGM_RSRC1"]
    yield call(found.at, 0xB848)
    yield call(found.dword, 0)
    yield call(found.__getitem__, "COMPUTE_PGM_RSRC1")
    yield call(register.decode, 5)
    yield call(register.encode, VGPRS=5)
    yield call(register.field, "VGPRS")
    yield call(register.field("VGPRS").put, 5)
    yield call(register.field("VGPRS").get, 5)


def packet_calls(t: Things) -> Iterator[Call]:
    yield call(pm4.packet, "NOP", 0, compute=False, predicated=False)
    yield call(pm4.register_packet, 0xB848, 1)
    yield call(pm4.named_packet, "WRITE_DATA", 110, False, False, **pm4.named_values(t.packets[1]))
    yield call(pm4.named_values, t.packets[1])
    yield call(pm4.parse, t.words, 110, None, None)
    yield call(pm4.format_packets, t.packets)
    yield call(pm4.format_html, t.packets, "title")
    yield call(pm4.facts, t.packets)
    yield call(pm4.annotate, t.packets, "gfx1100", pm4.pieces({}))
    yield call(pm4.pieces, {4096: b"1234"})
    yield call(pm4.sdma_packet, "FENCE", 110, addr=4096, data=1)
    yield call(pm4.parse_sdma, [0, 0], 110, None)
    yield call(pm4.Stream, 110)
    yield call(pm4.Stream(110).add, "NOP", 0, compute=False, predicated=False)
    yield call(pm4.Stream(110).set, "COMPUTE_PGM_RSRC1", 5)
    yield call(pm4.Stream(110).set, "COMPUTE_PGM_RSRC1", VGPRS=5)
    yield call(pm4.Stream(110).write, 0xB848, 5)
    yield call(pm4.DispatchStream, t.device, t.shader, (1, 1, 1), t.buffers, t.push, sets=None, dynamic_offsets=())
    yield call(pm4.CommandProcessor, t.device, 1 << 20, "graphics", 100, None)
    yield call(pm4.CommandProcessor(t.device).submit, t.words[:2])
    yield call(pm4.submit, t.device, t.words[:2], 1 << 20, time_budget=None)
    yield call(pm4.SdmaEngine, t.device, 100)
    yield call(pm4.SdmaEngine(t.device).submit, [0])
    yield call(pm4.Ring, t.device, 1 << 8, 1 << 20, "graphics")
    yield call(pm4.Ring(t.device).write, t.words[:2])
    yield call(pm4.run_rings, [pm4.Ring(t.device)])


def binary_calls(t: Things) -> Iterator[Call]:
    yield call(binary.assemble_code_object, "s_endpgm", "gfx1100", wave_size=32, version=5, metadata=None)
    yield call(binary.read_code_object, t.object, target="gfx1100", kernel="k")
    bundle = bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx1100": t.object})
    yield call(binary.offload_entries, bundle)
    yield call(binary.read_code_object, bundle, target="gfx1100", kernel="k")
    yield call(binary.read_radv_shaders, t.object)
    yield call(targets.TargetId.parse, "gfx942:xnack-")
    yield call(binary.link_code_object, t.object)
    yield call(binary.write_elf, t.shader)
    yield call(binary.write_radv_shader, t.shader, b"")
    yield call(binary.kernel_descriptor, {"next_free_vgpr": 4, "next_free_sgpr": 8}, "gfx1100", wave_size=32)
    yield call(binary.KernelDescriptor.from_bytes, bytes(64))
    found = binary.read_code_object(t.object)
    yield call(found.load, 4096, None)
    yield call(found.code, "k")
    yield call(found.kernel, "k")
    yield call(found.kernels["k"].descriptor.directives, "gfx1100")


def compression_calls(t: Things) -> Iterator[Call]:
    flat, depth = t.device.image(width=256, height=256, compressed=True), t.device.image(width=64, height=64, format="Z32_FLOAT", compressed=True)
    older = emu.Device("gfx1030", threads=1)
    many = older.image(width=16, height=16, samples=4, compressed=True)
    cmask.initialize(many.surface, many.memory)
    display = t.device.image(width=64, height=64, compressed=True, use=addrlib.SurfaceUse.SCANOUT)
    yield call(meta.fast_clear_dcc, t.device, flat, (1, 1, 1, 1), mips=0, layers=0, single=None, queue="direct")
    yield call(meta.eliminate_dcc, t.device, flat, (1, 1, 1, 1), mips=0, layers=0, queue="direct")
    yield call(meta.decompress_dcc, t.device, flat, (1, 1, 1, 1), mips=0, layers=0, queue="direct")
    yield call(meta.retile_dcc, t.device, display, queue="direct")
    yield call(meta.fast_clear_cmask, older, many, layers=0, cmask=None, queue="direct")
    yield call(meta.eliminate_cmask, older, many, (1, 1, 1, 1), cmask=None, queue="direct")
    yield call(meta.expand_fmask, older, many, queue="direct")
    yield call(meta.fast_clear_htile, t.device, depth, depth=0.5, stencil=None, mips=0, layers=0, queue="direct")
    yield call(meta.expand_htile, t.device, depth, depth=0.5, stencil=None, mips=0, queue="direct")
    yield call(dcc.clear_plan, flat.surface, (1, 1, 1, 1), mips=0, layers=0, single=None)
    yield call(dcc.cleared_blocks, flat.surface, flat.memory, (1, 1, 1, 1), mips=0, layers=0, everything=False)
    yield call(cmask.places_of, many.surface, 0)
    yield call(cmask.part_of_surface, many.surface)
    yield call(htile.clear_plan, depth.surface, depth=0.5, stencil=None, mips=0, layers=0)
    yield call(htile.cleared_tiles, depth.surface, depth.memory, depth=0.5, stencil=None, mips=0)
    yield call(htile.places_of, depth.surface, 0, 0)


def meta_calls(t: Things) -> Iterator[Call]:
    image, other, scaled = (t.device.image(width=8, height=8, mips=2), t.device.image(width=8, height=8, mips=2),
                            t.device.image(width=4, height=5, format="R16G16B16A16_FLOAT"))
    many, depth = t.device.image(width=8, height=8, samples=4), t.device.image(width=8, height=8, format="Z32_FLOAT")
    buffer, second = t.device.zeros(512), t.device.zeros(512)
    layers = meta.SubresourceLayers(1, 0, 1, "color")
    place = meta.BufferImageCopy(16, 4, 4, layers, (0, 0, 0), (2, 2, 1))
    copy, blit = meta.ImageCopy(layers, (0, 0, 0), layers, (1, 1, 0), (2, 2, 1)), meta.ImageBlit(layers, ((0, 0, 0), (4, 4, 1)))
    yield call(meta.copy_buffer_to_image, t.device, buffer, image, [place], queue="direct")
    yield call(meta.copy_image_to_buffer, t.device, image, buffer, [place], queue="compute")
    yield call(meta.copy_image, t.device, image, other, [copy], queue="direct")
    yield call(meta.blit_image, t.device, image, scaled, [blit], "linear", queue="direct")
    yield call(meta.resolve_image, t.device, many, other, [meta.ImageCopy()], queue="direct")
    yield call(meta.generate_mipmaps, t.device, image, "linear", queue="direct")
    yield call(meta.clear_color_image, t.device, image, (0.5, 1.0, 0.0, 1.0), [layers], queue="direct")
    yield call(meta.clear_depth_stencil_image, t.device, depth, 0.5, 1, [meta.SubresourceLayers()], queue="direct")
    yield call(meta.copy_buffer, t.device, buffer, second, [meta.BufferCopy(0, 4, 16)], queue="dma")
    yield call(meta.fill_buffer, t.device, buffer, 7, 0, 16, queue="direct")
    yield call(meta.update_buffer, t.device, buffer, b"1234", 8, queue="compute")
    texture = texture_files.Texture(texture_files.TextureShape("R8G8B8A8_UNORM", 4, 2), (bytes(32),))
    yield call(texture_files.TextureShape, "R8G8B8A8_UNORM", 4, 2, 0, 1, False, 1)
    yield call(texture_files.Texture, texture.shape, texture.levels)
    for write, read in ((texture_files.write_dds, texture_files.read_dds), (texture_files.write_ktx2, texture_files.read_ktx2)):
        yield call(write, texture)
        yield call(read, write(texture))


ROOMS = [
    isa_calls, compiler_calls, emulator_calls, addrlib_calls, metadata_calls, descriptor_calls, target_calls, packet_calls, binary_calls, meta_calls,
    compression_calls,
]  # fmt: skip


@pytest.fixture(scope="module")
def things() -> Things:
    return Things()


def too_long(_signal: int, _frame: FrameType | None) -> None:
    raise AssertionError("no answer within 10 seconds")


def answer(ask: Callable[[], Any]) -> str:
    """How a call ends: nothing, or what it raised that is no error of ours."""
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(10)
    try:
        ask()
    except pyaco.PyacoError as error:
        return "" if str(error) else "an error without words"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return ""


def wrong_calls(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls with one argument replaced."""
    for word, bad in BAD.items():
        for place in range(len(arguments)):
            yield f"argument {place} is {word}", partial(function, *arguments[:place], bad, *arguments[place + 1:], **named)
        for name in named:
            yield f"{name} is {word}", partial(function, *arguments, **{**named, name: bad})


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_every_answer_is_a_result_or_an_error_of_ours(room: Callable[[Things], Iterator[Call]], things: Things) -> None:
    wrong = []
    for function, arguments, named in room(things):
        name = getattr(function, "__qualname__", repr(function))
        for word, ask in wrong_calls(function, arguments, named):
            if said := answer(ask):
                wrong.append(f"{name}: {word}: {said}")
    assert not wrong, f"{len(wrong)} answers\n" + "\n".join(wrong)


def is_called(thing: object) -> bool:
    """Whether a public name is a function, or a class that is more than a record, a set of numbers or an error."""
    if inspect.isclass(thing):
        return not (issubclass(thing, (Enum, BaseException, tuple)) or dataclasses.is_dataclass(thing))
    return inspect.isfunction(thing)


@pytest.mark.parametrize("room", ["aco", "addrlib", "binary", "emu", "isa", "meta", "pm4", "registers", "spirv", "targets", "texels", "texture_files",
                                  ""])
def test_no_public_function_is_missing(room: str) -> None:
    module = importlib.import_module(f"pyaco.{room}".rstrip("."))
    parts: tuple[Callable[..., object], ...] = (*ROOMS, Things)
    asked = "".join(inspect.getsource(part) for part in parts)
    missing = [name for name in module.__all__ if is_called(getattr(module, name)) and not re.search(rf"\b{name}\b", asked)]
    # what these are given is made by the room itself, or is a host address that nothing checks, or nothing at all
    assert sorted(set(missing) - {"Buffer", "CodeObject", "Registers", "Report", "get_include", "run_asm"}) == []


@checked
def takes(count: int, names: Sequence[str] = (), place: tuple[int, int] | None = None, **sizes: int) -> None:
    """A function with a bug of its own, which is found only with good arguments."""
    raise KeyError("a bug")


@dataclasses.dataclass
class Extent:
    """A record."""

    width: int


@checked
def covers(extent: Extent) -> int:
    """A function of a record."""
    return 1 // extent.width


def test_the_argument_at_fault_is_named() -> None:
    for wrong, words in (((1.5,), "count takes int, not 1.5"), (("8",), "count takes int"), ((1, "name"), "names takes Sequence"),
                         ((1, ["a", None]), r"names takes Sequence\[str\], not \['a', None\]"), ((1, (), (1, 2, 3)), "place takes tuple"),
                         ((True,), "count takes int")):  # fmt: skip
        with pytest.raises(pyaco.InputError, match=f"takes: {words}"):
            takes(*wrong)
    with pytest.raises(pyaco.InputError, match="sizes takes"):
        takes(1, width="8")  # type: ignore[arg-type]
    with pytest.raises(pyaco.InputError, match=r"covers: extent.width takes int, not '8'"):
        covers(Extent("8"))  # type: ignore[arg-type]


def test_bugs_stay_bugs() -> None:
    with pytest.raises(KeyError, match="a bug"):
        takes(1, ["a"], (1, 2), width=3)
    with pytest.raises(TypeError, match="positional"):
        takes()  # type: ignore[call-arg]
    with pytest.raises(ZeroDivisionError):
        covers(Extent(0))
