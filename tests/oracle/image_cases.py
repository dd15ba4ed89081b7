"""Shaders with images prepared for a comparison with lavapipe: texels, inputs, samplers, lavapipe's results, and how near ours must be.

Atomics and queries give what lavapipe gives; fetches, loads and stores the nearest numbers, to the bit; samples and gathers what `image_reference`
allows. Lavapipe's results are looked at beside that.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import numpy as np
from image_reference import JUDGED, WITHOUT_REACH, Reference, encoded, lavapipe_slack
from image_shaders import ALL_DIMENSIONS, DIMENSIONS, FORMATS, INVOCATIONS, SAMPLES_OF_TEXEL, SOME_FORMATS, ImageCase, inputs_of, texels_of
from numpy.typing import NDArray
from vulkan_peer import Lavapipe

from pyaco import compile
from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import Device
from pyaco.emu.images import SampledImage

GFX9, LOW = 90, 0x10000
LEVELS = 3
#: Names of Vulkan's addressing modes, with SQ_TEX_CLAMP.
CLAMPS = {0: 0, 1: 1, 2: 2, 3: 6, 4: 3}
SAMPLERS: dict[str, dict[str, Any]] = {
    "nearest_repeat": {"magFilter": 0, "minFilter": 0, "mipmapMode": 0, "address": 0},
    "nearest_border": {"magFilter": 0, "minFilter": 0, "mipmapMode": 0, "address": 3, "borderColor": 4},
    "linear_mirror": {"magFilter": 1, "minFilter": 1, "mipmapMode": 1, "address": 1},
    "linear_edge": {"magFilter": 1, "minFilter": 1, "mipmapMode": 1, "address": 2},
    "linear_border": {"magFilter": 1, "minFilter": 1, "mipmapMode": 0, "address": 3, "borderColor": 2},
}
_OURS = {"R16G16_SFLOAT": "R16G16_FLOAT"}
_INTEGER_BORDER = {4: 5, 2: 3, 0: 1}


def vulkan_sampler(state: dict[str, Any], integer: bool) -> dict[str, Any]:
    """The fields of VkSamplerCreateInfo; an addressing mode may be one for each axis.

    Without anisotropy, which changes nothing where the level is given: llvmpipe of Mesa 22.3 ends in a segmentation fault.
    """
    fields = {name: value for name, value in state.items() if name not in ("address", "compare", "anisotropy", "unnormalized")}
    fields |= dict(zip(("addressModeU", "addressModeV", "addressModeW"), _modes(state), strict=True))
    if "compare" in state:
        fields |= {"compareEnable": 1, "compareOp": state["compare"]}
    if "unnormalized" in state:
        return fields | {"unnormalizedCoordinates": 1, "minLod": 0.0, "maxLod": 0.0}
    if integer and "borderColor" in fields:
        fields["borderColor"] = _INTEGER_BORDER[fields["borderColor"]]
    return {"minLod": 0.0, "maxLod": 15.0} | fields


def _modes(state: dict[str, Any]) -> tuple[int, ...]:
    address = state["address"]
    return address if isinstance(address, tuple) else (address,) * 3


def our_sampler(state: dict[str, Any]) -> Sampler:
    """The same sampler in the hardware's numbers."""
    x, y, z = (CLAMPS[mode] for mode in _modes(state))
    anisotropy = state.get("anisotropy", 1).bit_length() - 1
    several = 2 if anisotropy else 0
    return Sampler((x, y, z), state["magFilter"] | several, state["minFilter"] | several, 1 + state["mipmapMode"], anisotropy,
                   state.get("compare", 0), unnormalized="unnormalized" in state, truncate=not state["magFilter"] and not state["minFilter"],
                   border_color_type={0: 0, 2: 1, 4: 2}[state.get("borderColor", 0)], lod_bias=state.get("mipLodBias", 0.0),
                   min_lod=state.get("minLod", 0.0), max_lod=state.get("maxLod", 15.0))


def empty_image(device: Device, dimension: str, name: str, levels: int, **more: Any) -> Any:
    """An image as a dimension of cases has it; `more` goes to `Device.image`."""
    _, _, (width, height, depth), layers = ALL_DIMENSIONS[dimension]
    cube = dimension.startswith("cube") and layers == 6
    shape: dict[str, Any] = {"depth": depth} if dimension == "3d" else {"cube": True} if cube else {"layers": layers}
    if "ms" in dimension:
        shape["samples"] = SAMPLES_OF_TEXEL
    return device.image(format=_OURS.get(name, name), width=width, height=height, mips=levels, **shape, **more)


class Prepared:
    """A case with its texels, inputs, and lavapipe's results."""

    def __init__(self, case: ImageCase, state: dict[str, Any], lavapipe: Lavapipe, levels: int = LEVELS, seed: int = 0) -> None:
        random = np.random.default_rng([seed, *map(ord, case.operation + case.dimension + case.format)])
        self.case, self.state = case, state
        self.levels = 1 if case.storage or "unnormalized" in state or "ms" in case.dimension else levels
        self.inputs = inputs_of(case, random, self.levels)
        probe = Device("gfx1030").image(format=_OURS.get(case.format, case.format), width=4, height=4)
        self.texels = texels_of(case, random, self.levels, probe.surface.element_bytes)
        _, _, extent, layers = ALL_DIMENSIONS[case.dimension]
        self.expected: NDArray[np.uint32] | None = None
        self.expected_texels = b""
        self._judged: dict[bytes, tuple[str, list[str]]] = {}
        self._compiled: dict[str, Any] = {}
        # lavapipe has no derivatives in compute shaders, and no such extensions; samples cannot be copied to it
        if case.operation == "bias" or case.base == "fetch_sample" or case.operation.startswith(("sparse_", "clamped_")):
            return
        asked: dict[str, Any] = {"type": case.dimension, "format": FORMATS[case.format][0], "extent": extent, "layers": layers,
                                 "levels": self.texels, "storage": case.storage}
        if case.format.startswith("Z"):
            asked["aspect"] = 2
        if not case.storage:
            asked["sampler"] = vulkan_sampler(state, case.kind != "float")
        buffers = {(0, 0): np.zeros((INVOCATIONS, 4), np.uint32), (0, 1): self.inputs}
        found, images = lavapipe.run_with_images(case.spirv(), (INVOCATIONS // 64, 1, 1), case.layouts, buffers, {(0, 2): asked})
        self.expected = found[0, 0]
        if case.storage:
            self.expected_texels = images[0, 2][0]

    def image_on(self, device: Device, **more: Any) -> Any:
        """The image on a device, with its texels."""
        image = empty_image(device, self.case.dimension, self.case.format, self.levels, **more)
        for mip, raw in enumerate(self.texels):
            level = image.numpy(mip)
            image.write(np.frombuffer(raw, level.dtype).reshape(level.shape), mip)
        return image

    def view_of(self, image: Any) -> Any:
        """The view that the shader gets: storage images of cubes are arrays."""
        kind = "2d_array" if self.case.storage and self.case.dimension.startswith("cube") else self.case.dimension.replace("_ms", "_msaa")
        return image.view(kind, storage=self.case.storage)

    def run_compiled(self, device: Device, image: Any) -> NDArray[np.uint32]:
        """Run what our compiler makes of the shader."""
        target, source, view = device.zeros(INVOCATIONS * 16), device.buffer(self.inputs), self.view_of(image)
        bound = view if self.case.storage else SampledImage(view, our_sampler(self.state))
        if device.target not in self._compiled:
            self._compiled[device.target] = compile(self.case.spirv(), target=device.target)
        device.dispatch(self._compiled[device.target], groups=(INVOCATIONS // 64, 1, 1),
                        buffers={(0, 0): target, (0, 1): source, (0, 2): bound})
        return target.numpy().view(np.uint32).reshape(INVOCATIONS, 4).copy()

    def run_radv(self, device: Device, code: bytes, image: Any) -> NDArray[np.uint32]:
        """Run RADV's code: the set's address is in s2, the workgroup's number in s3."""
        target = device.zeros(INVOCATIONS * 16)
        source = device.buffer(self.inputs)
        block = np.zeros(32, np.uint32)
        block[0:4] = raw_buffer(target.address, target.accessible, device.gfx_level)
        block[4:8] = raw_buffer(source.address, source.accessible, device.gfx_level)
        block[8:16] = self.view_of(image).words
        block[28:32] = sampler_descriptor(our_sampler(self.state), device.gfx_level)
        memory = bytearray(block.tobytes())
        if device.gfx_level < GFX9:
            place = LOW                         # RADV's 32-bit addresses have no high half there
            device.space.map_at(place, memory)
        else:
            place = device.space.map(memory, True, 64)
        device.run(code, (INVOCATIONS // 64, 1, 1), (64, 1, 1), user_sgprs=[0, 0, place & 0xFFFFFFFF], wave_size=64,
                   workgroup_ids=(True, False, False), local_id_components=1)
        device.space.release(place)
        source.release()
        return target.numpy().view(np.uint32).reshape(INVOCATIONS, 4).copy()

    @cached_property
    def reference(self) -> Reference | None:
        """What the results may be; None where they are lavapipe's, exactly: of queries and atomics, and of stores, which have none."""
        return Reference(self.case, self.state, self.texels, self.inputs) if self.case.base in JUDGED else None

    def wrong(self, found: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which components are not what they may be."""
        if self.reference is None:
            return np.asarray(found != self.expected)
        return ~(self.reference.is_exact(found) if self.case.base in WITHOUT_REACH else self.reference.allows(found))

    def judged(self, image: Any, found: NDArray[np.uint32]) -> tuple[str, list[str]]:
        """How results are beside lavapipe's, and what is wrong.

        ``equal``, or else ``exact`` (just what the rules say), ``within`` what is allowed, as lavapipe's are, ``alone`` in that, ``unpaired`` where
        lavapipe has no such operation, or ``failed``.
        """
        key = found.tobytes() + (texels_in(image) if self.case.storage else b"")
        if key not in self._judged:
            faults = self.faults(image, found)
            self._judged[key] = "failed" if faults else self._verdict(image, found), faults
        return self._judged[key]

    def _verdict(self, image: Any, found: NDArray[np.uint32]) -> str:
        if self.case.operation == "store":
            return self._verdict_of_texels(image)
        if self.expected is not None and np.array_equal(found, self.expected):
            return "equal"
        if self.reference is None or self.reference.is_exact(found).all():
            return "exact"
        if self.expected is None:
            return "unpaired"
        return "within" if self.reference.allows(self.expected, lavapipe_slack(self.case.format)).all() else "alone"

    def _verdict_of_texels(self, image: Any) -> str:
        """That of a store whose texels are the nearest ones. Vulkan lets numbers be rounded either way, and llvmpipe truncates floats."""
        ours, theirs = (channels(self.case.format, raw) for raw in (texels_in(image), self.expected_texels))
        if np.array_equal(ours, theirs):
            return "equal"
        near = 1 if self.case.kind == "float" and "32" not in self.case.format else 0
        return "exact" if (np.abs(ours - theirs) <= near).all() else "alone"

    def faults(self, image: Any, found: NDArray[np.uint32]) -> list[str]:
        """What differs after a run, in words."""
        case, place = self.case, f"{self.case} {image.surface.swizzle_mode}"
        if case.operation == "store":
            wrong = int((channels(case.format, texels_in(image)) != self.stored).sum())
            return [f"{place}: {wrong} channels of the image"] if wrong else []
        faults, bad = [], self.wrong(found)
        if bad.any():
            row = int(np.flatnonzero(bad.any(1))[0])
            other = "allowed" if self.expected is None else f"{self.expected[row].tolist()}"
            faults.append(f"{place}: {int(bad.any(1).sum())} invocations, first {row} {self.inputs[row].tolist()}: {found[row].tolist()} not {other}")
        if case.operation.startswith("atomic") and texels_in(image) != self.expected_texels:
            faults.append(f"{place}: the image after the atomics")
        return faults

    @cached_property
    def stored(self) -> NDArray[np.int64]:
        """The channels of the image that a store leaves: texels as they were, and the nearest numbers where invocations stored."""
        _, count, (width, height, depth), layers = ALL_DIMENSIONS[self.case.dimension]
        found = channels(self.case.format, self.texels[0]).copy()
        at, element = self.inputs[:, 0].astype(np.int64), np.zeros(INVOCATIONS, np.int64)
        lengths = [width, *([] if "1d" in self.case.dimension else [height]), depth * layers][: min(count, 3)]
        for axis in reversed(range(len(lengths))):
            element = element * lengths[axis] + at[:, axis]
        inside = (at[:, : len(lengths)] < lengths).all(1)
        given = self.inputs[inside, 1]
        values = given if self.case.kind == "float" else given.copy().view(np.uint32)
        found[element[inside]] = encoded(self.case.format, values)
        return found


def texels_in(image: Any) -> bytes:
    """The elements of an image's first level, all layers."""
    return np.ascontiguousarray(image.numpy()).tobytes()


def channels(name: str, raw: bytes) -> NDArray[np.int64]:
    """The channels of each element as unsigned integers."""
    sizes = [int(size) for size in re.findall(r"[RGBAZ](\d+)", name)]
    if len(set(sizes)) == 1:
        return np.frombuffer(raw, f"u{sizes[0] // 8}").astype(np.int64).reshape(-1, len(sizes))
    words, firsts = np.frombuffer(raw, np.uint32), np.cumsum([0, *sizes[:-1]])
    return np.stack([words >> first & (1 << size) - 1 for first, size in zip(firsts, sizes, strict=True)], 1).astype(np.int64)


def cases() -> list[tuple[ImageCase, str]]:
    """Operations, formats, dimensions, samplers."""
    found: list[tuple[ImageCase, str]] = []
    classes = {"float": "R8G8B8A8_UNORM", "int": "R8G8B8A8_SINT", "uint": "R32_UINT"}
    for dimension in DIMENSIONS:
        for kind, name in classes.items():
            if "cube" not in dimension:
                found.append((ImageCase("fetch", dimension, name), "nearest_repeat"))
            found += [(ImageCase(operation, dimension, name), "nearest_repeat") for operation in ("size", "levels", "image_size")]
            found += [(ImageCase(operation, dimension, name), "nearest_repeat") for operation in ("load", "store")]
            if kind != "float":
                found += [(ImageCase("lod", dimension, name), state) for state in ("nearest_repeat", "nearest_border")]
        found += [(ImageCase("lod", dimension, "R8G8B8A8_UNORM"), state) for state in SAMPLERS]
        if "cube" not in dimension:
            found += [(ImageCase("grad", dimension, "R16G16B16A16_FLOAT"), state) for state in ("linear_mirror", "linear_edge")]
        if dimension in ("2d", "2d_array"):
            found += [(ImageCase(operation, dimension, name), state) for operation in ("gather", "gather_offset", "gather_offsets")
                      for name in classes.values() for state in ("nearest_repeat", "nearest_border")]
        if "cube" not in dimension:
            found += [(ImageCase("lod_offset", dimension, "R32G32B32A32_FLOAT"), state) for state in ("nearest_repeat", "linear_mirror")]
            found += [(ImageCase("grad_offset", dimension, "R16G16B16A16_FLOAT"), state) for state in ("linear_mirror", "linear_edge")]
        if dimension == "2d":
            found += [(ImageCase(operation, dimension, "R16G16B16A16_FLOAT"), state) for operation in ("projective", "projective_grad")
                      for state in ("linear_edge", "linear_mirror")]
        for operation in ("add", "min", "max", "and", "or", "xor", "swap", "compare"):
            found.append((ImageCase(f"atomic_{operation}", dimension, "R32_UINT"), "nearest_repeat"))
    for name in SOME_FORMATS:
        found.append((ImageCase("fetch", "2d", name), "nearest_repeat"))
        if FORMATS[name][2] == "float":
            found.append((ImageCase("lod", "2d", name), "linear_mirror"))
        if FORMATS[name][1]:
            found += [(ImageCase(operation, "2d", name), "nearest_repeat") for operation in ("load", "store")]
    return list(dict.fromkeys(found))
