"""Samples with a YCbCr conversion, compiled and run, equal lavapipe's samples of the planes with the specification's arithmetic by hand."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from image_cases import vulkan_sampler
from numpy.typing import NDArray
from vulkan_images import KINDS
from vulkan_peer import Lavapipe, Radv, find_icd
from ycbcr_cases import HEIGHT, INVOCATIONS, OWN, PLANES, WIDTH, YcbcrCase, cases, radv_has, radv_sampler, spirv

from pyaco import compile
from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.sampler import sampler_descriptor
from pyaco.descriptors.sets import DescriptorSet
from pyaco.descriptors.ycbcr import ChromaFilter
from pyaco.emu import Device
from pyaco.nir import passes
from pyaco.nir.images import Image, SampledImage
from pyaco.nir.interpreter import run
from pyaco.spirv import read

pytest.importorskip("vulkan")
pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")]

RADV_TARGETS = ("gfx900", "gfx1030", "gfx1100")
TARGETS = ("gfx900", "gfx1030", "gfx1100", "gfx1200")
Floats = NDArray[np.float32]


def expected(case: YcbcrCase, lavapipe: Lavapipe) -> Floats:
    """What lavapipe computes by hand."""
    buffers = {(0, 0): np.zeros((INVOCATIONS, 4), np.float32), (0, 1): case.coordinates()}
    kinds = [KINDS["storage_buffer"]] * 2 + [KINDS["combined_image_sampler"]] * len(case.conversion.planes)
    layouts = [[{"number": n, "type": kind, "count": 1, "samplers": [], "mutable": [], "variable": False} for n, kind in enumerate(kinds)]]
    images = {}
    for k, (plane, texels) in enumerate(zip(case.conversion.planes, case.texels(), strict=True)):
        reduced = k > 0 and any(case.conversion.reduced)
        linear = case.conversion.chroma_filter == ChromaFilter.LINEAR if reduced else case.linear
        state = {"magFilter": int(linear), "minFilter": int(linear), "mipmapMode": 0, "address": 2}
        images[0, 2 + k] = {
            "type": "2d", "format": PLANES[plane.format][0], "extent": (WIDTH // plane.width_divisor, HEIGHT // plane.height_divisor, 1),
            "layers": 1, "levels": [texels.tobytes()], "storage": False, "sampler": vulkan_sampler(state, False)}
    found, _ = lavapipe.run_with_images(spirv(case.by_hand()), (INVOCATIONS // 64, 1, 1), layouts, buffers, images)
    return found[0, 0]


def compiled(case: YcbcrCase, target: str, keep_samplers: bool = False) -> Floats:
    """What our code computes; with its sampler in the set, or in the code."""
    device = Device(target, threads=1)
    result, given, planes = device.zeros(INVOCATIONS * 16), device.buffer(case.coordinates()), case.planes_on(device)
    layout = case.layout(device.gfx_level, keep_samplers)
    shader = compile(spirv(OWN), target=target, layout=layout)
    if keep_samplers:
        written = DescriptorSet(layout.sets[0])
        for binding, buffer in ((0, result), (1, given)):
            written.write(binding, {"buffer": raw_buffer(buffer.address, buffer.accessible, device.gfx_level)})
        written.write(2, planes.parts(device.gfx_level))
        device.dispatch(shader, groups=(INVOCATIONS // 64, 1, 1), sets={0: written})
    else:
        device.dispatch(shader, groups=(INVOCATIONS // 64, 1, 1), buffers={(0, 0): result, (0, 1): given, (0, 2): planes})
    return result.numpy().view(np.float32).reshape(INVOCATIONS, 4).copy()


@pytest.mark.parametrize("number", range(4))
def test_compiled_conversions(number: int, lavapipe: Lavapipe) -> None:
    faults = []
    every = cases()[number::4]
    for case in every:
        wanted = expected(case, lavapipe)
        for target in TARGETS:
            apart = np.abs(compiled(case, target) - wanted).max()
            if not apart <= case.bound():
                faults.append(f"{target} {case}: {apart:.5f} apart, {case.bound():.5f} allowed")
    assert len(every) > 15 and not faults, "\n".join(faults)


def test_samplers_in_the_set(lavapipe: Lavapipe) -> None:
    for number, case in enumerate(cases()[1::7]):
        apart = np.abs(compiled(case, TARGETS[number % 4], keep_samplers=True) - expected(case, lavapipe)).max()
        assert apart <= case.bound(), case


def of_radv(case: YcbcrCase, target: str) -> Floats:
    """What RADV's code computes on our engine: the set's address is in s2, the workgroup's number in s3."""
    device = Device(target, threads=1)
    result, given = device.zeros(INVOCATIONS * 16), device.buffer(case.coordinates())
    types = [KINDS["storage_buffer"], KINDS["storage_buffer"], KINDS["combined_image_sampler"]]
    layouts = [[{"number": n, "type": kind, "count": 1, "samplers": [radv_sampler(case)] if n == 2 else [], "mutable": [], "variable": False}
                for n, kind in enumerate(types)]]
    code = Radv(target).compile(spirv(OWN), wave=None if target == "gfx900" else 64, layouts=layouts).code
    block = np.zeros(32, np.uint32)
    block[0:4], block[4:8] = (raw_buffer(each.address, each.accessible, device.gfx_level) for each in (result, given))
    planes = case.planes_on(device)
    for name, first in (("image", 8), ("plane1", 16), ("plane2", 24)):
        words = planes.parts(device.gfx_level).get(name, ())
        block[first : first + len(words)] = words
    place = device.space.map(bytearray(block.tobytes()), True, 64)
    device.run(code, (INVOCATIONS // 64, 1, 1), (64, 1, 1), user_sgprs=[0, 0, place & 0xFFFFFFFF], wave_size=64,
               workgroup_ids=(True, False, False), local_id_components=1)
    return result.numpy().view(np.float32).reshape(INVOCATIONS, 4).copy()


@pytest.mark.parametrize("target", RADV_TARGETS)
def test_radv_converts_as_we_do(target: str) -> None:
    if find_icd("radeon") is None:
        pytest.skip("the Vulkan driver 'radeon' of Mesa is not installed")
    every = [case for case in cases() if radv_has(case)]
    faults = []
    for case in every[::2]:
        apart = np.abs(of_radv(case, target) - compiled(case, target)).max()
        if not apart <= 2e-5:
            faults.append(f"{case}: {apart:.6f} apart")
    assert len(every) > 20 and not faults, "\n".join(faults)


def interpreted(case: YcbcrCase, gfx_level: int, stop_after: str | None) -> Floats:
    """What the NIR interpreter computes, of derefs or of descriptors."""
    shader = read(spirv(OWN))
    shader.set_info(gfx_level=gfx_level, wave_size=64, address32_hi=0xFFFF8000)
    shader.metadata["pipeline_layout"] = case.layout(gfx_level)
    passes.run(shader, {"validate": True, "stop_after": stop_after})
    result, planes = np.zeros((INVOCATIONS, 4), np.float32), []
    for texels in case.texels():
        texels = texels / np.iinfo(texels.dtype).max
        texels = np.concatenate([texels, np.zeros((*texels.shape[:2], 3 - min(texels.shape[2], 3)))], 2)
        planes.append(Image([texels[None, None, :, :, None]]))
    image = SampledImage(tuple(planes) if len(planes) > 1 else planes[0], case.sampler)
    run(shader, (INVOCATIONS // 64, 1, 1), {(0, 0): result, (0, 1): case.coordinates(), (0, 2): image})
    return result


@pytest.mark.parametrize("stop_after", ["lower_tex", None])
def test_interpreted_conversions(stop_after: str | None, lavapipe: Lavapipe) -> None:
    every = cases()[2::5]
    for number, case in enumerate(every):
        np.testing.assert_allclose(interpreted(case, (90, 103, 110, 120)[number % 4], stop_after), expected(case, lavapipe), rtol=0, atol=1e-3)
    assert len(every) > 15


@pytest.mark.parametrize("level", [80, 90, 103, 110, 120])
def test_samplers_of_chroma(level: int) -> None:
    for case in cases():
        clear, chroma = case.conversion.chroma_sampler_bits(level)
        words = sampler_descriptor(case.sampler, level)
        found = tuple(word & ~less | more for word, less, more in zip(words, clear, chroma, strict=True))
        assert found == sampler_descriptor(case.conversion.chroma_sampler(case.sampler), level)
