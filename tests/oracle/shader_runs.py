"""Run a module with generated inputs: on lavapipe, on a device of ours, on the NIR interpreter."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from equivalent_modules import with_lengths
from judge import arrange
from numpy.typing import NDArray
from shader_inputs import RUNTIME_DESCRIPTORS, GeneratedInputs
from spirv_reflection import reflect
from vulkan_peer import Lavapipe

from pyaco import emu, spirv
from pyaco._core.ir.vocabulary import NirFlag, NirKind
from pyaco.descriptors.sampler import Sampler
from pyaco.emu.buffers import TexelBuffer
from pyaco.emu.images import SampledImage
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import images as nir_images
from pyaco.nir.interpreter import Interpreter
from pyaco.nir.interpreter_alu import floating
from pyaco.nir.interpreter_subgroup import ALU_NAMES

PEER_SECONDS, EMULATOR_SECONDS, BUDGET = 30.0, 20.0, 1 << 24
#: subTexelPrecisionBits of lavapipe and of AMD's drivers; Vulkan asks for four.
WEIGHT_BITS = 8
#: maxTexelOffset of both, as of the limit for gathering; minTexelOffset is one more below zero.
MOST_OFFSET = 31
OUR_CLAMPS = {0: 0, 1: 1, 2: 2, 3: 6}
Groups = tuple[int, int, int]
Written = dict[Any, NDArray[np.uint8]]
"""Bytes of buffers by their keys, and of the images that can be written, by "image" and their keys."""


def our_sampler(asked: dict[str, Any]) -> Sampler:
    """A sampler from the fields of VkSamplerCreateInfo."""
    clamp = OUR_CLAMPS[asked.get("addressModeU", 0)]
    return Sampler((clamp,) * 3, asked["magFilter"], asked["minFilter"], 1 + asked["mipmapMode"], truncate=not asked["magFilter"],
                   compare=asked.get("compareOp", 0))


def image_on(device: emu.Device, asked: dict[str, Any]) -> tuple[Any, Any]:
    """An image, and what is bound of it."""
    width, height, depth = asked["extent"]
    name, layers = asked["type"], asked["layers"]
    shape = {"depth": depth} if name == "3d" else {"cube": True} if name == "cube" else {"layers": layers}
    image = device.image(format=asked["name"], width=width, height=height, mips=len(asked["levels"]), **shape)
    for mip, raw in enumerate(asked["levels"]):
        level = image.numpy(mip)
        image.write(np.frombuffer(raw, level.dtype).reshape(level.shape), mip)
    view = image.view("2d_array" if asked["storage"] and name.startswith("cube") else name, storage=asked["storage"])
    return image, SampledImage(view, our_sampler(asked["sampler"])) if "sampler" in asked else view


def run_ours(shader: Any, inputs: GeneratedInputs, groups: tuple[int, int, int], engine: str = "fast", check: str = "", guard: int = 0,
             same_values: bool = False) -> Written:
    """Run a compiled shader on a device of ours.

    Parameters
    ----------
    guard : int
        So many random bytes behind each buffer can be reached.
    same_values : bool
        Stores of one value by several waves make a race, too.
    """
    device = emu.Device(shader.target, check=check, report_same_value=same_values) if check else emu.Device(shader.target, engine, threads=1)
    beyond = np.random.default_rng(guard).integers(1, 256, guard, np.uint8)
    handles: dict[Any, Any] = {key: device.buffer(np.concatenate([data, beyond])) for key, data in inputs.buffers.items()}
    push = bytearray(inputs.push)
    for (place, offset), name in inputs.references.items():
        address = int(handles[name].address).to_bytes(8, "little")
        if place == "push":
            push[offset : offset + 8] = address
        else:
            handles[place].write(address, offset)
    bound, images, texels = dict(handles), {}, {}
    for key, asked in inputs.images.items():
        if asked["type"] == "sampler":
            bound[key] = our_sampler(asked["sampler"])
        elif asked["type"] == "buffer":
            texels[key] = device.buffer(np.frombuffer(asked["levels"][0], np.uint8))
            bound[key] = TexelBuffer(texels[key], asked["name"])
        else:
            images[key], bound[key] = image_on(device, asked)
    device.dispatch(shader, groups=groups, buffers=arrange(bound), push=bytes(push), budget=BUDGET, time_budget=EMULATOR_SECONDS)
    found = {key: handles[key].numpy()[: data.size].copy() for key, data in inputs.buffers.items()}
    restore(found, inputs)
    for key, asked in inputs.images.items():
        if asked["storage"]:
            raw = texels[key].numpy().tobytes() if key in texels else np.ascontiguousarray(images[key].numpy()).tobytes()
            found["image", *key] = np.frombuffer(raw, np.uint8)
    return found


#: What a device must have for a capability: the bit of an operation of subgroups, or an extension.
_OPERATIONS = {62: 2, 63: 4, 64: 8, 65: 16, 66: 32, 67: 64, 68: 128}
_EXTENSIONS = {18: "VK_AMD_shader_ballot", 5288: "VK_NV_compute_shader_derivatives", 5350: "VK_NV_compute_shader_derivatives"}


def peer_lacks(module: bytes) -> str:
    """What lavapipe does not have of what a module's capabilities ask for: it takes the module, and computes anything."""
    offers = _offers()
    for capability in reflect(module).capabilities:
        if capability in _OPERATIONS and not offers["subgroup_operations"] & _OPERATIONS[capability]:
            return f"capability {capability}, an operation of subgroups that it does not have"
        if capability in _EXTENSIONS and _EXTENSIONS[capability] not in offers["offered"]:
            return f"capability {capability}, without {_EXTENSIONS[capability]}"
    return ""


@cache
def _offers() -> dict[str, Any]:
    return Lavapipe().worker.ask({"operation": "describe"})


def restore(found: Written, inputs: GeneratedInputs) -> None:
    """Put back what buffers held where addresses were written."""
    for place, offset in inputs.references:
        if place != "push":
            found[place][offset : offset + 8] = inputs.buffers[place][offset : offset + 8]


def run_peer(module: bytes, entry: str, inputs: GeneratedInputs, groups: tuple[int, int, int]) -> Written:
    """Run the module on lavapipe, which has nothing behind arrays of descriptors without a length."""
    buffers, images = Lavapipe().run_with_images(
        with_lengths(module, RUNTIME_DESCRIPTORS), groups, inputs.layouts, inputs.buffers, inputs.images, PEER_SECONDS,
        push=inputs.push, entry=entry, references=inputs.references)  # fmt: skip
    return {**buffers, **{("image", *key): np.frombuffer(levels[0], np.uint8) for key, levels in images.items()}}




# ---------------------------------------------------------------------------------------------------------- the NIR interpreter
class Reordered(Interpreter):
    """The last workgroup first, and in a workgroup the last invocation first.

    `alone` runs one invocation after the other, from the last (1) or first (-1) on.
    """

    alone = 0

    def run(self) -> None:
        """Execute every workgroup."""
        x, y, z = self.groups
        for number in reversed(range(x * y * z)):
            self._workgroup((number % x, number // x % y, number // (x * y)))

    def _dealt_out_ids(self) -> Any:
        found = super()._dealt_out_ids()
        return np.concatenate([found[:, : self.lanes][:, ::-1], found[:, self.lanes :]], 1)

    def _list(self, node: int, mask: Any) -> Any:
        if not self.alone or node != self.nodes["first0"][1]:
            return super()._list(node, mask)
        direction, self.alone = self.alone, 0
        for lane in np.flatnonzero(mask)[::direction]:
            super()._list(node, np.arange(self.padded) == lane)
        self.alone = direction
        return mask


class Racing(Interpreter):
    """The same subgroups, but the last one first where `alone`, and of lanes that store to one place at once, the first has its way."""

    alone = 0

    def _list(self, node: int, mask: Any) -> Any:
        if not self.alone or node != self.nodes["first0"][1]:
            return super()._list(node, mask)
        self.alone = 0
        for first in reversed(range(0, self.padded, self.wave)):
            super()._list(node, mask & (np.arange(self.padded) // self.wave == first // self.wave))
        self.alone = 1
        return mask

    def _lanes_by_buffer(self, base: Any, mask: Any) -> Any:
        return [(data, lanes[::-1]) for data, lanes in super()._lanes_by_buffer(base, mask)]

    def _store_address(self, value: Any, address: Any, write_mask: int, mask: Any) -> None:
        for lane in np.flatnonzero(mask)[::-1]:
            super()._store_address(value, address, write_mask, np.arange(self.padded) == lane)

    def _store_shared(self, value: Any, offset: Any, write_mask: int, mask: Any) -> None:
        for lane in np.flatnonzero(mask)[::-1]:
            super()._store_shared(value, offset, write_mask, np.arange(self.padded) == lane)

    def _targets(self, *arguments: Any) -> Any:
        return reversed(list(super()._targets(*arguments)))


class Rounded(Interpreter):
    """Floats are rounded as another implementation of Vulkan may: each of `APPROXIMATE` is off at random by up to so many units in the last place.

    Sines and cosines are off by as much as 2**-11. Singles that are too small to be normal are zero, before and after each operation. With odd seeds,
    sums of products that are not NoContraction are one operation, which rounds once and cannot overflow in between. Linear filters have weights of
    eight bits. Source: the Vulkan specification, appendix "Precision and Operation of SPIR-V Instructions".
    """

    APPROXIMATE: ClassVar = {"fmul": 1, "fdot2": 4, "fdot3": 4, "fdot4": 4, "flrp": 4, "fdiv": 2.5, "frcp": 2.5, "fsqrt": 3, "frsq": 2, "fexp2": 16,
                             "flog2": 16, "fpow": 64, "fmod": 4, "frem": 4}
    seed = 0
    moves: int = 0                            # the instruction whose filter's place is moved

    def _product(self, value: int, swizzle: Sequence[int]) -> Any:
        """What a value is as a product that is not rounded, perhaps negated; None where it is none."""
        negated = self.kind[value] == NirKind.ALU and ALU_NAMES[self.opcode[value]] == "fneg"
        if negated:
            inner, order = self._sources(value)[0], self._swizzles(value)[0]
            value, swizzle = inner, [order >> (4 * i) & 15 for i in swizzle]
        if self.kind[value] != NirKind.ALU or ALU_NAMES[self.opcode[value]] != "fmul" or self.flags[value] & NirFlag.EXACT:
            return None
        with np.errstate(all="ignore"):
            factors = [floating(self.values[source][[order >> (4 * i) & 15 for i in swizzle]]).astype(np.float64)
                       for source, order in zip(self._sources(value), self._swizzles(value), strict=True)]
            return factors[0] * factors[1] * (-1 if negated else 1)

    def _contracted(self, instruction: int, found: Any) -> Any:
        """A sum with one of its operands as a product that is not rounded."""
        swizzles = [[order >> (4 * i) & 15 for i in range(self.components[instruction])] for order in self._swizzles(instruction)]
        sources, signs = self._sources(instruction), (1, -1 if ALU_NAMES[self.opcode[instruction]] == "fsub" else 1)
        for fused in (self.seed >> 1 & 1, ~self.seed >> 1 & 1):
            product = self._product(sources[fused], swizzles[fused])
            if product is not None:
                with np.errstate(all="ignore"):
                    other = floating(self.values[sources[1 - fused]][swizzles[1 - fused]]).astype(np.float64)
                    return np.ascontiguousarray(signs[fused] * product + signs[1 - fused] * other).astype(floating(found).dtype).view(found.dtype)
        return found

    def _alu(self, instruction: int) -> Any:
        found = super()._alu(instruction)
        name, bits = ALU_NAMES[self.opcode[instruction]], 8 * found.dtype.itemsize
        if name in ("fadd", "fsub") and self.seed & 1 and bits in (16, 32) and not self.flags[instruction] & NirFlag.EXACT:
            found = self._contracted(instruction, found)
        if bits not in (16, 32) or not name.startswith(("f", "ldexp")) or name.startswith(("find", "f2i", "f2u", "frexp_exp")):
            return found
        values: NDArray[Any] = found.view(np.float32 if bits == 32 else np.float16).copy()
        random = np.random.default_rng((self.seed, instruction)).uniform(-1, 1, values.shape)
        with np.errstate(all="ignore"):
            if name in ("fsin", "fcos"):
                values += (random * 2**-11).astype(values.dtype)
            elif name in self.APPROXIMATE:
                values += (np.spacing(values) * np.rint(random * self.APPROXIMATE[name])).astype(values.dtype)
            if bits == 32:
                values[np.abs(values) < np.finfo(np.float32).tiny] = 0
        return values.view(found.dtype)

    def _sampled(self, i: int, name: str, image: nir_images.Image, sampler: Sampler, sources: dict[str, Any]) -> Any:
        self.moves = i if name != "tg4" and sampler.mag_filter & sampler.min_filter & 1 else 0
        return super()._sampled(i, name, image, sampler, sources)

    def _place(self, image: nir_images.Image, sources: dict[str, Any]) -> nir_images.Place:
        place = super()._place(image, sources)
        if self.moves:
            size = image.size(np.zeros(place.at.shape[1], np.int64))[: len(place.at)]
            place.at = place.at + np.random.default_rng((self.seed, self.moves)).uniform(-1, 1, place.at.shape) * 2.0**-WEIGHT_BITS / size
        return place


class Undefined(Interpreter):
    """What SPIR-V leaves undefined is something else: quotients and remainders of zero, and integers of floats that they cannot hold."""

    DIVISIONS: ClassVar = {"idiv", "udiv", "irem", "imod", "umod"}

    def _alu(self, instruction: int) -> Any:
        found = super()._alu(instruction)
        name = ALU_NAMES[self.opcode[instruction]]
        if name in self.DIVISIONS:
            undefined = self._operand(instruction, 1) == 0
        elif name.startswith(("f2i", "f2u")):
            value = self._operand(instruction, 0)
            with np.errstate(invalid="ignore"):
                value = np.trunc(value.view(f"f{value.dtype.itemsize}").astype(np.float64))
                bits, signed = 8 * found.dtype.itemsize, name.startswith("f2i")
                undefined = ~((value >= (-(2.0 ** (bits - 1)) if signed else 0)) & (value < 2.0 ** (bits - signed)))
        else:
            return found
        return np.where(undefined, ~found, found)

    def _operand(self, instruction: int, operand: int) -> Any:
        source, swizzle = (each(instruction)[operand] for each in (self._sources, self._swizzles))
        return self.values[source][[swizzle >> (4 * i) & 15 for i in range(self.components[instruction])]]


class Watched(Interpreter):
    """Says what descriptors or offsets of texels a dispatch asks for that it must not."""

    fault = ""
    active: Any = None                        # lanes of the texture instruction

    def _texture(self, i: int, mask: Any) -> Any:
        self.active = mask
        return super()._texture(i, mask)

    def _sampled(self, i: int, name: str, image: nir_images.Image, sampler: Sampler, sources: dict[str, Any]) -> Any:
        self._watch_offset(sources)
        return super()._sampled(i, name, image, sampler, sources)

    def _fetch(self, image: nir_images.Image, sources: dict[str, Any]) -> Any:
        self._watch_offset(sources)
        return super()._fetch(image, sources)

    def _watch_offset(self, sources: dict[str, Any]) -> None:
        if "offset" in sources:
            asked = sources["offset"].view(np.int32)[:, self.active]
            beyond = asked[(asked < -MOST_OFFSET - 1) | (asked > MOST_OFFSET)]
            if beyond.size:
                self.fault = f"an offset of {beyond[0]} texels, beyond minTexelOffset and maxTexelOffset"

    def _do_vulkan_resource_index(self, i: int, mask: Any, index: Any) -> Any:
        key = self._index(i, "desc_set"), self._index(i, "binding")
        for lanes, active in zip(index[0].reshape(-1, self.wave), mask.reshape(-1, self.wave), strict=True):
            if active.any() and lanes[active].max() >= len(self.buffers.get(key, [0])):
                self.fault = f"element {lanes[active].max()} of the descriptors of binding {key}"
            elif active.any() and lanes[active].min() != lanes[active].max() and not self.fault:
                self.fault = f"an index of descriptors that differs in a wave, of binding {key}"
        return super()._do_vulkan_resource_index(i, mask, index)

    def _by_deref(self, deref: int, mask: Any) -> Any:
        try:
            found = super()._by_deref(deref, mask)
        except InputError as error:
            self.fault = str(error)
            raise
        waves = [wave for _, lanes in found for wave in np.unique(lanes // self.wave)]
        if len(waves) > len(set(waves)) and not self.fault:
            self.fault = f"an index of descriptors that differs in a wave, of binding {self._key(deref)}"
        return found


def access_fault(module: bytes, entry: str, inputs: GeneratedInputs, groups: Groups, wave: int) -> str:
    """What is wrong with what a dispatch asks for: descriptors beyond an array, or by an index that is not uniform, offsets of texels; or nothing."""
    found: list[Watched] = []

    def make(*arguments: Any) -> Watched:
        found.append(Watched(*arguments))
        return found[0]

    with contextlib.suppress(LookupError, InputError):      # it stops at such an element
        run_interpreted(module, entry, inputs, groups, wave, kind=make)
    return found[0].fault if found else ""


def run_interpreted(
    module: bytes, entry: str, inputs: GeneratedInputs, groups: Groups, wave: int, *, kind: Callable[..., Interpreter] = Interpreter,
    alone: int = 0, garbage: int = 0, seed: int = 0,
) -> Written:
    """Execute what the reader makes of a module, before any pass.

    Parameters
    ----------
    wave : int
        Lanes of a subgroup, also 8.
    kind, alone
        `Reordered` or `Racing` for another order.
    garbage : int
        What memory holds that nobody wrote.
    seed : int
        Of `Rounded`.
    """
    shader = spirv.read(module, entry)
    shader.set_info(gfx_level=110, wave_size=max(wave, 32), address32_hi=0xFFFF8000)
    found = {key: data.copy() for key, data in inputs.buffers.items()}
    levels: dict[Any, Any] = {}
    bound: dict[Any, Any] = dict(found)
    for key, asked in inputs.images.items():
        bound[key] = our_sampler(asked["sampler"]) if asked["type"] == "sampler" else nir_images.Image(decoded(asked))
        if asked["type"] != "sampler":
            levels[key] = bound[key].levels
            if "sampler" in asked:
                bound[key] = nir_images.SampledImage(bound[key], our_sampler(asked["sampler"]))
    machine = kind(shader, groups, arrange(bound), inputs.push, max(wave, 32))
    machine.wave, machine.padded, machine.garbage = wave, -(-machine.lanes // wave) * wave, garbage
    if isinstance(machine, Reordered | Racing):
        machine.alone = alone
    if isinstance(machine, Rounded):
        machine.seed = seed
    addresses = {name: 0x2_0000_0000 + 0x100_0000 * i for i, name in enumerate(key for key in found if isinstance(key, str))}
    for name, address in addresses.items():
        machine.memory.add(address, found[name])
    for (place, offset), name in inputs.references.items():
        target = machine.push if place == "push" else found[place]
        target[offset : offset + 8] = np.frombuffer(addresses[name].to_bytes(8, "little"), np.uint8)
    machine.run()
    restore(found, inputs)
    return {**found, **{("image", *key): np.ascontiguousarray(levels[key][0]).view(np.uint8).ravel()
                        for key, asked in inputs.images.items() if asked["storage"]}}


def decoded(asked: dict[str, Any]) -> list[NDArray[Any]]:
    """Levels as the interpreter takes them: numbers, of shape (layers, depth, height, width, samples, components)."""
    name, found = asked["name"], []
    if name.startswith(("R10", "R11", "R64")):
        raise UnsupportedError(f"the NIR interpreter with {asked['type']} of the format {name}")
    channels, kind = name.split("_")
    size, count = int(channels[1:].split("G")[0]) // 8, sum(channels.count(letter) for letter in "RGBAZ")
    width, height, depth = asked.get("extent", (len(asked["levels"][0]) // (size * count), 1, 1))
    for level, raw in enumerate(asked["levels"]):
        texels = np.frombuffer(raw, f"{'f' if kind == 'FLOAT' else 'i' if kind[0] == 'S' else 'u'}{size}")
        if kind.endswith("NORM"):
            texels = np.maximum(texels / np.iinfo(texels.dtype).max, -1)
        texels = texels.astype({"float": np.float32, "int": np.int32, "uint": np.uint32}[asked["kind"]])
        found.append(texels.reshape(asked.get("layers", 1), max(depth >> level, 1), max(height >> level, 1), max(width >> level, 1), 1, count))
    return found
