"""The NIR interpreter's texture instructions and image intrinsics, on images given as arrays (``nir/images.py``).

A shader names images by derefs of variables or, once descriptors are lowered, by their words. Descriptor sets hold words of which the first
dword is the number of an image, and the others say what a chip's descriptor says of its size, so that lowered queries find it; samplers have
the words that a chip has. Instructions with an implicit level of detail read level 0 where the shader has no derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyaco._core.ir.vocabulary import Deref, DerivativeGroup, ImageDim, ImageFlag, NirKind, Stage, TextureFlag, VariableMode
from pyaco._core.nir import build
from pyaco._core.nir.lower_image_queries import FIELDS
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import images, interpreter_alu
from pyaco.nir.images import Image, Place, SampledImage
from pyaco.nir.interpreter_buffers import DescribedBuffers
from pyaco.nir.interpreter_state import UINT, Array
from pyaco.targets.features import has_records_in_bytes

TEX_NAMES = {number: name for name, number in build.TEX.items()}
TEX_SOURCES = {number: name for name, number in build.TEX_SOURCES.items()}
IMAGE_MODES = VariableMode.UNIFORM | VariableMode.IMAGE
SAMPLES_IN_ORDER = 0x76543210
AXES: dict[int, int] = {ImageDim.IMAGE_1D: 1, ImageDim.BUFFER: 1, ImageDim.IMAGE_3D: 3}
CUBE_FACES = 6
PLANE_BYTES = 32                # between the descriptors of planes


def image_words(image: Image | None, number: int, gfx_level: int, texel_buffer: bool) -> list[int]:
    """The words of an image's descriptor: its number, and its sizes where the chip has them."""
    if image is None:
        return [0] * (4 if texel_buffer else 8)
    layers, depth, height, width, samples, _ = image.levels[0].shape
    if texel_buffer:
        return [number, int(has_records_in_bytes(gfx_level)) << 16, width, 1]         # elements, or bytes of elements of one
    last = samples.bit_length() - 1 if samples > 1 else len(image.levels) - 1
    fields = FIELDS[(gfx_level >= 90) + (gfx_level >= 100) + (gfx_level >= 120)]
    low_bits = fields[0][2] if fields[1][2] else 32
    values = ((width - 1) & (1 << low_bits) - 1, width - 1 >> low_bits, height - 1, max(depth, layers) - 1, 0, 0, last, max(depth, layers) - 1)
    words = [number, 0, 0, 8 << 28, 0, 0, 0, 0]
    for (word, first, bits), value in zip(fields, values, strict=True):
        words[word] |= value << first if bits else 0
    return words


def numbers(value: Array) -> Array:
    """Floats of any size, in double precision."""
    return np.asarray(interpreter_alu.floating(value).astype(np.float64))


def integers(value: Array) -> Array:
    """Signed integers of any size, in 64 bits."""
    return np.asarray(interpreter_alu.signed(value).astype(np.int64))


class Images(DescribedBuffers):
    """Everything that reads or writes images."""

    # --------------------------------------------------------------------------------------------------------- handles
    def _deref(self, instruction: int) -> Array:
        """Derefs of images are followed where they are used: they lead to no memory."""
        return self._zero(instruction) if self.mode[instruction] & IMAGE_MODES else super()._deref(instruction)

    def _name_samplers(self) -> None:
        """Samplers by their words, those also that a pipeline layout fixes and no set holds."""
        level = self.shader.info["gfx_level"]
        every = [(key, resource) for key, resources in self.images.items() for resource in resources]
        samplers = [(key, resource.sampler if isinstance(resource, SampledImage) else resource) for key, resource in every]
        every_one = [one for key, sampler in samplers if isinstance(sampler, Sampler) for one in (sampler, self._chroma_sampler(key, sampler))]
        self.samplers = {sampler_descriptor(sampler, level): sampler for sampler in every_one if level}

    def _chroma_sampler(self, key: tuple[int, int], sampler: Sampler) -> Sampler:
        """The sampler of planes after the first."""
        layout = self.shader.metadata.get("pipeline_layout")
        conversion = layout.sets[key[0]].bindings[key[1]].binding.conversion if layout is not None else None
        return sampler if conversion is None else conversion.chroma_sampler(sampler)

    def _image_words_of(self, facts: dict[str, Any], resource: Any) -> list[tuple[int, list[int]]]:
        level = self.shader.info["gfx_level"]
        image, sampler = (resource.image, resource.sampler) if isinstance(resource, SampledImage) else (
            (None, resource) if isinstance(resource, Sampler) else (resource, None))
        words = []
        planes = image if isinstance(image, tuple) else (image,)
        if facts["type"] != "sampler":
            for number, plane in enumerate(planes):
                if plane is not None:
                    self.numbered.append(plane)
                found = image_words(plane, len(self.numbered), level, facts["type"].endswith("texel_buffer"))
                words.append((PLANE_BYTES * number, found if number < 2 else found[:4]))
        end = words[-1][0] + 4 * len(words[-1][1]) if words else 0
        if sampler is not None and (facts["type"] == "sampler" or facts["stride"] - 16 >= end):    # else the layout has it
            words.append((0 if facts["type"] == "sampler" else facts["stride"] - 16, list(sampler_descriptor(sampler, level))))
        return words

    def _by_deref(self, deref: int, mask: Array) -> list[tuple[Any, Array]]:
        """What a deref names, with the lanes for which it does."""
        index, stride = np.zeros(self.padded, np.int64), 1
        while self.opcode[deref] == Deref.ARRAY:
            parent, value = self._sources(deref)
            index = index + integers(self.values[value])[0] * stride
            stride *= self.types["length"][self.type[parent]]
            deref = parent
        key = self._key(deref)
        if key not in self.images:
            raise InputError(f"no image or sampler is given for set {key[0]}, binding {key[1]}")
        known = self.images[key]
        found = []
        for element in np.unique(index[mask]):
            if not 0 <= element < len(known):
                raise InputError(f"set {key[0]}, binding {key[1]} has no element {element}")
            found.append((known[element], np.flatnonzero(mask & (index == element))))
        return found

    def _key(self, deref: int) -> tuple[int, int]:
        """Set and binding of the variable that a deref leads to."""
        while self.opcode[deref] == Deref.ARRAY:
            deref = self._sources(deref)[0]
        return self.variables["set"][self.data[deref]], self.variables["binding"][self.data[deref]]

    def _by_words(self, words: Array, mask: Array) -> list[tuple[Any, Array]]:
        """The images or samplers (of 4 dwords) whose descriptors lanes have."""
        found = []
        active = np.flatnonzero(mask)
        for row in np.unique(words[:, active].T, axis=0):
            lanes = active[(row == words[:, active].T).all(1)]
            found.append((row.tolist(), lanes))
        return found

    def _images_of(self, value: int, mask: Array, plane: int = 0) -> list[tuple[Image | None, Array]]:
        """Image of each lane by the value that names it; None: a null descriptor."""
        if self.kind[value] == NirKind.DEREF:
            images = [(found.image if isinstance(found, SampledImage) else found, lanes) for found, lanes in self._by_deref(value, mask)]
            return [(image[plane] if isinstance(image, tuple) else image, lanes) for image, lanes in images]
        result = []
        for words, lanes in self._by_words(self.values[value], mask):
            if words[0] > len(self.numbered):
                raise InputError(f"no image has the descriptor {words}")
            result.append((self.numbered[words[0] - 1] if words[0] else None, lanes))
        return result

    def _samplers_of(self, value: int, mask: Array, plane: int) -> list[tuple[Sampler, Array]]:
        if self.kind[value] == NirKind.DEREF:
            samplers = [(found.sampler if isinstance(found, SampledImage) else found, lanes) for found, lanes in self._by_deref(value, mask)]
            return [(self._chroma_sampler(self._key(value), sampler) if plane else sampler, lanes) for sampler, lanes in samplers]
        result = []
        for words, lanes in self._by_words(self.values[value], mask):
            if tuple(words) not in self.samplers:
                raise InputError(f"no sampler that is given has the descriptor {words}")
            result.append((self.samplers[tuple(words)], lanes))
        return result

    # ------------------------------------------------------------------------------------------------------ results
    def _texels(self, found: Array, bits: int) -> Array:
        """Texels as the bits of a result."""
        if found.dtype.kind == "f":
            return found.astype(interpreter_alu.FLOAT[bits]).view(UINT[bits])
        return found.astype(np.int64 if found.dtype.kind == "i" else np.uint64).astype(UINT[bits])

    def _has_derivatives(self) -> bool:
        info = self.shader.info
        return bool(info["stage"] == Stage.FRAGMENT or info["derivative_group"] != DerivativeGroup.NONE)

    def _quad_differences(self, value: Array) -> tuple[Array, Array]:
        """The differences in x and y between the first lane of a quad and its neighbours, for all lanes of the quad."""
        quads = value.reshape(len(value), -1, 4)
        ddx, ddy = quads[:, :, 1] - quads[:, :, 0], quads[:, :, 2] - quads[:, :, 0]
        return np.repeat(ddx, 4, 1), np.repeat(ddy, 4, 1)

    # ---------------------------------------------------------------------------------------------------- textures
    def _texture(self, i: int, mask: Array) -> Array:
        """Any texture instruction."""
        name, row = TEX_NAMES[self.opcode[i]], self.data[i]
        values = {TEX_SOURCES[kind]: value for kind, value in zip(self._swizzles(i), self._sources(i), strict=True)}
        sources = {kind: self.values[value] for kind, value in values.items()}
        texture = values.get("texture_handle", values.get("texture_deref", 0))
        if not texture or name in ("descriptor_amd", "sampler_descriptor_amd", "samples_identical"):
            raise UnsupportedError(f"the NIR interpreter has no texture instruction {name} of this form")
        facts = self.shader.textures
        self.dim, self.flags_of_dim = int(facts.dim[row]), int(facts.image_flags[row])
        self.texture_flags = int(facts.flags[row])
        out = self._zero(i)
        sparse = bool(self.texture_flags & TextureFlag.IS_SPARSE)
        texel = out[:-1] if sparse else out
        plane = int(sources["plane"][0, 0]) if "plane" in sources else 0
        for image, lanes in self._images_of(texture, mask, plane):
            if name in ("txs", "query_levels", "texture_samples"):
                texel[:, lanes] = self._query(name, image, sources.get("lod"), len(texel))[:, lanes]
            elif name == "fragment_mask_fetch_amd":
                texel[:, lanes] = SAMPLES_IN_ORDER
            elif image is None:
                continue
            elif name in ("txf", "txf_ms", "fragment_fetch_amd"):
                texel[:, lanes] = self._texels(self._fetch(image, sources), self.bit_size[i])[: len(texel), lanes]
            else:
                for sampler, served in self._samplers_of(values.get("sampler_handle", values.get("sampler_deref", 0)), mask, plane):
                    both = np.intersect1d(lanes, served)
                    found = self._sampled(i, name, image, sampler, sources)
                    texel[:, both] = self._texels(found, self.bit_size[i])[: len(texel), both]
        return out

    def _query(self, name: str, image: Image | None, lod: Array | None, components: int) -> Array:
        out = np.zeros((components, self.padded), np.uint32)
        if image is None:
            return out
        if name != "txs":
            out[:] = len(image.levels) if name == "query_levels" else image.levels[0].shape[4]
            return out
        level = np.zeros(self.padded, np.int64) if lod is None else integers(lod)[0]
        layered = bool(self.flags_of_dim & ImageFlag.ARRAY)
        size = image.size(level)
        axes = components - layered
        out[:axes] = size[:axes]
        if layered:
            out[axes] = image.levels[0].shape[0] // (CUBE_FACES if self.dim == ImageDim.CUBE else 1)
        return out

    def _whole(self, coordinate: Array, axes: int) -> tuple[Array, Array]:
        """Coordinates of texels (x, y, z) and layer."""
        at = np.zeros((3, self.padded), np.int64)
        at[:axes] = coordinate[:axes]
        layer = coordinate[axes] if self.flags_of_dim & ImageFlag.ARRAY else np.zeros(self.padded, np.int64)
        return at, layer

    def _fetch(self, image: Image, sources: dict[str, Array]) -> Array:
        at, layer = self._whole(integers(sources["coord"]), AXES.get(self.dim, 2))
        if "offset" in sources:
            offset = integers(sources["offset"])
            at[: len(offset)] += offset
        level = integers(sources["lod"])[0] if "lod" in sources else np.zeros(self.padded, np.int64)
        return image.read(level, layer, at, integers(sources["ms_index"])[0] if "ms_index" in sources else 0)

    def _place(self, image: Image, sources: dict[str, Array]) -> Place:
        """Where an instruction samples; divides by a projector, picks faces of cubes, rounds layers."""
        coordinate = numbers(sources["coord"])
        reference = numbers(sources["comparator"])[0] if "comparator" in sources else None
        axes = 3 if self.dim == ImageDim.CUBE else AXES.get(self.dim, 2)
        layers = image.levels[0].shape[0]
        if "projector" in sources:
            divisor = numbers(sources["projector"])[0]
            coordinate[:axes] /= divisor
            reference = None if reference is None else reference / divisor
        layer = np.zeros(self.padded, np.int64)
        cube = self.dim == ImageDim.CUBE
        layered = self.flags_of_dim & ImageFlag.ARRAY and len(coordinate) > axes
        if layered:
            layer = np.clip(np.rint(coordinate[axes]), 0, layers // (CUBE_FACES if cube else 1) - 1).astype(np.int64)
        if cube and self.texture_flags & TextureFlag.CUBE_FACE:
            number = np.rint(coordinate[2]).astype(np.int64)
            layer = np.clip(number >> 3, 0, layers // CUBE_FACES - 1) * CUBE_FACES + (number & 7)
            at = coordinate[:2] - 1
        elif cube:
            face, s, t = images.cube_face(coordinate[:3])
            layer, at = layer * CUBE_FACES + face, np.stack([s, t])
        else:
            at = coordinate[:axes]
        offset = integers(sources["offset"]) if "offset" in sources else np.zeros((len(at), self.padded), np.int64)
        return Place(at, layer, cube, offset, reference)

    def _gradients(self, place: Place, sources: dict[str, Array]) -> tuple[Array, Array]:
        """Derivatives of the coordinates, of cubes those of s and t."""
        if "ddx" not in sources:
            return self._quad_differences(place.at)
        ddx, ddy = numbers(sources["ddx"]), numbers(sources["ddy"])
        if not place.cube or self.texture_flags & TextureFlag.CUBE_FACE:
            return ddx, ddy
        # the same face's s and t a little further along the derivative
        direction = numbers(sources["coord"])[:3]
        direction = direction / abs(direction).max(0)
        scale = abs(numbers(sources["coord"])[:3]).max(0)
        face = place.layer % CUBE_FACES
        found = []
        for derivative in (ddx, ddy):
            step = 1e-5 / np.maximum(abs(derivative / scale).max(0), 1e-30)
            moved = [self._on_face(face, direction + sign * step * derivative / scale) for sign in (1, -1)]
            found.append((moved[0] - moved[1]) / (2 * step))
        return found[0], found[1]

    def _on_face(self, face: Array, direction: Array) -> Array:
        """s and t of directions on given faces."""
        middle = images.direction_of(face, np.full(self.padded, 0.5), np.full(self.padded, 0.5))
        right = images.direction_of(face, np.ones(self.padded), np.full(self.padded, 0.5)) - middle
        down = images.direction_of(face, np.full(self.padded, 0.5), np.ones(self.padded)) - middle
        major = (middle * direction).sum(0)
        return np.stack([(right * direction).sum(0) / major / 2 + 0.5, (down * direction).sum(0) / major / 2 + 0.5])

    def _base_lod(self, name: str, image: Image, place: Place, sources: dict[str, Array]) -> Array:
        if "lod" in sources:
            return np.asarray(numbers(sources["lod"])[0])
        implicit = name in ("tex", "txb", "lod") or (name == "tg4" and self.texture_flags & TextureFlag.IMPLICIT_LOD)
        if name == "txd" or (implicit and self._has_derivatives()):
            return images.lod_of(image, *self._gradients(place, sources))
        return np.zeros(self.padded)

    def _sampled(self, i: int, name: str, image: Image, sampler: Sampler, sources: dict[str, Array]) -> Array:
        place = self._place(image, sources)
        bias: Array | float = numbers(sources["bias"])[0] if "bias" in sources and self._has_derivatives() else 0.0
        least: Array | float = numbers(sources["min_lod"])[0] if "min_lod" in sources else 0.0
        lod = self._base_lod(name, image, place, sources)
        if name == "lod" and not self._has_derivatives():
            return np.zeros((2, self.padded))
        if name == "tg4" and "lod" not in sources and not self.texture_flags & TextureFlag.IMPLICIT_LOD:
            return self._gathered(i, image, sampler, place, np.zeros(self.padded, np.int64))    # the base level, whatever the sampler's limits
        biased, lod = images.clamped_lod(sampler, lod, bias, least)
        if name == "lod":
            level = np.clip(lod, 0, len(image.levels) - 1)
            return np.stack([level if sampler.mip_filter == 2 else np.ceil(level - 0.5), biased])
        if name == "tg4":
            return self._gathered(i, image, sampler, place, images.nearest_level(image, sampler, lod))
        found = images.sample(image, sampler, lod, place)
        if place.reference is not None and not self.texture_flags & TextureFlag.SHADOW_SCALAR:
            raise UnsupportedError("the NIR interpreter has no comparisons with four components")
        return found

    def _gathered(self, i: int, image: Image, sampler: Sampler, place: Place, level: Array) -> Array:
        component, packed = int(self.shader.textures.component[self.data[i]]), int(self.shader.textures.offsets[self.data[i]])
        component = 0 if place.reference is not None else component
        if not packed:
            return images.gather(image, sampler, level, place, component)
        parts = []
        for texel in range(4):
            x, y = (((packed >> 16 * texel + 8 * axis & 255) ^ 128) - 128 for axis in range(2))
            moved = Place(place.at, place.layer, place.cube, np.array([[x], [y]]) + np.zeros_like(place.offset), place.reference)
            parts.append(images.gather(image, sampler, level, moved, component)[3])
        return np.stack(parts)

    # --------------------------------------------------------------------------------------------- image intrinsics
    def _image_place(self, i: int, coordinate: Array) -> tuple[Array, Array]:
        """Coordinates of texels and layer; faces of cubes count as layers."""
        self.dim, array = self._index(i, "image_dim"), bool(self._index(i, "image_array")) or self._index(i, "image_dim") == ImageDim.CUBE
        self.flags_of_dim = ImageFlag.ARRAY if array else 0
        return self._whole(integers(coordinate), AXES.get(self.dim, 2))

    def _sample_index(self, sample: Array) -> Array | int:
        return integers(sample)[0] if self.dim in (ImageDim.MS, ImageDim.SUBPASS_MS) else 0

    def _do_image_deref_load(self, i: int, mask: Array, handle: Array, coordinate: Array, sample: Array, lod: Array) -> Array:
        at, layer = self._image_place(i, coordinate)
        out = self._zero(i)
        for image, lanes in self._images_of(self._sources(i)[0], mask):
            if image is not None:
                found = image.read(integers(lod)[0], layer, at, self._sample_index(sample))
                out[:4, lanes] = self._texels(found, self.bit_size[i])[:, lanes]
        return out

    _do_image_deref_sparse_load = _do_bindless_image_load = _do_bindless_image_sparse_load = _do_image_deref_load

    def _targets(self, i: int, mask: Array, at: Array, layer: Array, sample: Array | int, level: Array) -> Any:
        """Yield each lane that is inside of its image, with that image's array and the texel's index; lanes in order."""
        sample = np.broadcast_to(sample, layer.shape)
        found = [(int(lane), image) for image, lanes in self._images_of(self._sources(i)[0], mask) for lane in lanes if image is not None]
        for lane, image in sorted(found, key=lambda pair: pair[0]):
            place = (layer[lane], *at[::-1, lane], sample[lane])
            if 0 <= level[lane] < len(image.levels):
                array = image.levels[level[lane]]
                if all(0 <= index < length for index, length in zip(place, array.shape, strict=False)):
                    yield lane, array, place

    def _do_image_deref_store(self, i: int, mask: Array, handle: Array, coordinate: Array, sample: Array, value: Array, lod: Array) -> None:
        at, layer = self._image_place(i, coordinate)
        for lane, array, place in self._targets(i, mask, at, layer, self._sample_index(sample), integers(lod)[0]):
            if array.dtype.kind == "f":
                array[place] = interpreter_alu.floating(value)[: array.shape[5], lane]
            else:
                array[place] = value[: array.shape[5], lane].astype(array.dtype)

    _do_bindless_image_store = _do_image_deref_store

    def _do_image_deref_atomic(self, i: int, mask: Array, handle: Array, coordinate: Array, sample: Array, value: Array,
                               second: Array | None = None) -> Array:
        at, layer = self._image_place(i, coordinate)
        out, bits = self._zero(i), self.bit_size[i]
        level = np.zeros(self.padded, np.int64)
        for lane, array, place in self._targets(i, mask, at, layer, self._sample_index(sample), level):
            if array.dtype.itemsize * 8 != bits:
                raise InputError(f"an atomic of {bits} bits on texels of {array.dtype}")
            memory = array[(*place, slice(0, 1))].copy().view(np.uint8)
            out[0, lane] = self._atomic(self._index(i, "atomic_op"), memory, 0, bits, value[0, lane],
                                        None if second is None else second[0, lane])
            array[(*place, slice(0, 1))] = memory.view(array.dtype)
        return out

    _do_image_deref_atomic_swap = _do_bindless_image_atomic = _do_bindless_image_atomic_swap = _do_image_deref_atomic

    def _image_query(self, i: int, mask: Array, name: str, lod: Array | None = None) -> Array:
        self.dim = self._index(i, "image_dim")
        self.flags_of_dim = ImageFlag.ARRAY if self._index(i, "image_array") else 0
        out = self._zero(i)
        for image, lanes in self._images_of(self._sources(i)[0], mask):
            out[:, lanes] = self._query(name, image, lod, len(out))[:, lanes]
        return out

    def _do_image_deref_size(self, i: int, mask: Array, handle: Array, lod: Array) -> Array:
        return self._image_query(i, mask, "txs", lod)

    def _do_image_deref_levels(self, i: int, mask: Array, handle: Array) -> Array:
        return self._image_query(i, mask, "query_levels")

    def _do_image_deref_samples(self, i: int, mask: Array, handle: Array) -> Array:
        return self._image_query(i, mask, "texture_samples")

    _do_bindless_image_size, _do_bindless_image_levels = _do_image_deref_size, _do_image_deref_levels
    _do_bindless_image_samples = _do_image_deref_samples

    def _do_image_deref_fragment_mask_load_amd(self, i: int, mask: Array, handle: Array, coordinate: Array) -> Array:
        out = self._zero(i)
        out[:] = SAMPLES_IN_ORDER
        return out

    _do_bindless_image_fragment_mask_load_amd = _do_image_deref_fragment_mask_load_amd

    def _do_is_sparse_texels_resident(self, i: int, mask: Array, code: Array) -> Array:
        return np.asarray(code == 0)
