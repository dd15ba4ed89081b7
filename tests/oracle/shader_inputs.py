"""Inputs for any compute shader, generated from what its SPIR-V declares: buffers, push constants, images, samplers, texel buffers.

Three kinds of values: ``small`` (integers from 0 to 3, floats from 0 to 1), with which shaders that take indices from buffers mostly stay within
them, ``wide`` (any integers, finite floats of either sign), and ``exact`` (integers from 0 to 3, floats that are integers from -2 to 2), of which
sums of products are the same bits in any order, fused or not, as halves up to 512 of them. Sampled float images are smooth, so that a weight which
is rounded otherwise changes little; exact ones are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import spirv_reflection as declared
from numpy.typing import NDArray
from spirv_reflection import Module
from vulkan_images import KINDS

OP_TYPE_FUNCTION, OP_FUNCTION_PARAMETER, OP_LOAD, OP_ACCESS_CHAIN, OP_IN_BOUNDS_ACCESS_CHAIN, OP_COPY_OBJECT = 33, 55, 61, 65, 66, 83
OP_IMAGE_TEXEL_POINTER, OP_SAMPLED_IMAGE, OP_IMAGE = 60, 86, 100
COMPARING = (89, 90, 93, 94, 97, 307, 308, 311, 312, 315)
ROW_MAJOR, MATRIX_STRIDE, PHYSICAL_STORAGE = 4, 7, 5349
DIM_1D, DIM_3D, DIM_CUBE, DIM_BUFFER, DIM_SUBPASS = 0, 2, 3, 5, 6
#: VkFormat and the name in this package, by SPIR-V's image format.
FORMATS: dict[int, tuple[int, str]] = {
    1: (109, "R32G32B32A32_FLOAT"), 2: (97, "R16G16B16A16_FLOAT"), 3: (100, "R32_FLOAT"), 4: (37, "R8G8B8A8_UNORM"), 5: (38, "R8G8B8A8_SNORM"),
    6: (103, "R32G32_FLOAT"), 7: (83, "R16G16_FLOAT"), 8: (122, "R11G11B10_FLOAT"), 9: (76, "R16_FLOAT"), 10: (91, "R16G16B16A16_UNORM"),
    11: (64, "R10G10B10A2_UNORM"), 12: (77, "R16G16_UNORM"), 13: (16, "R8G8_UNORM"), 14: (70, "R16_UNORM"), 15: (9, "R8_UNORM"),
    16: (92, "R16G16B16A16_SNORM"), 17: (78, "R16G16_SNORM"), 18: (17, "R8G8_SNORM"), 19: (71, "R16_SNORM"), 20: (10, "R8_SNORM"),
    21: (108, "R32G32B32A32_SINT"), 22: (96, "R16G16B16A16_SINT"), 23: (42, "R8G8B8A8_SINT"), 24: (99, "R32_SINT"), 25: (102, "R32G32_SINT"),
    26: (82, "R16G16_SINT"), 27: (21, "R8G8_SINT"), 28: (75, "R16_SINT"), 29: (14, "R8_SINT"), 30: (107, "R32G32B32A32_UINT"),
    31: (95, "R16G16B16A16_UINT"), 32: (41, "R8G8B8A8_UINT"), 33: (98, "R32_UINT"), 34: (68, "R10G10B10A2_UINT"), 35: (101, "R32G32_UINT"),
    36: (81, "R16G16_UINT"), 37: (20, "R8G8_UINT"), 38: (74, "R16_UINT"), 39: (13, "R8_UINT"), 40: (110, "R64_UINT"), 41: (111, "R64_SINT"),
}
#: SPIR-V's format for images that declare none: by the kind of components, and those that atomics reach.
_PLAIN, _ATOMIC = {"float": 1, "int": 21, "uint": 30}, {"float": 3, "int": 24, "uint": 33}
DEPTH = (126, "Z32_FLOAT")
RUNTIME_DESCRIPTORS, MOST_BYTES, MOST_RUNTIME_BYTES, LARGE_IMAGE = 4, 1 << 24, 1 << 16, (64, 256, 1)
#: Capabilities: Float16; StorageBuffer16BitAccess, UniformAndStorageBuffer16BitAccess.
FLOAT16, STORAGE16 = 9, {4433, 4434}
LINEAR = {"magFilter": 1, "minFilter": 1, "mipmapMode": 1, "minLod": 0.0, "maxLod": 15.0}
NEAREST = {"magFilter": 0, "minFilter": 0, "mipmapMode": 0, "minLod": 0.0, "maxLod": 15.0}
LESS = 1                                   # VkCompareOp


class CannotDrive(Exception):
    """What the shader declares cannot be given to it; the message says what."""


@dataclass
class GeneratedInputs:
    """What a dispatch is given.

    Attributes
    ----------
    layouts : list
        Bindings of each set, as ``vulkan_worker`` takes them.
    buffers : dict
        Bytes by (set, binding), with the element of a descriptor array, or by the name of a buffer that is reached by address.
    floats : dict
        For each buffer, the size of the float that starts at each byte, or 0.
    images : dict
        Images, samplers and texel buffers, as ``vulkan_images`` takes them, with ``name``, this package's name of the format, and ``kind``.
    references : dict
        (key of a buffer or "push", byte) to the name of a buffer, whose address is to be put there.
    """

    layouts: list[list[dict[str, Any]]] = field(default_factory=list)
    buffers: dict[Any, NDArray[np.uint8]] = field(default_factory=dict)
    floats: dict[Any, NDArray[np.uint8]] = field(default_factory=dict)
    images: dict[Any, dict[str, Any]] = field(default_factory=dict)
    push: bytes = b""
    references: dict[tuple[Any, int], str] = field(default_factory=dict)


class Declarations(Module):
    """A module's declarations, with how matrices are laid out, and which images and samplers are compared with or reached by atomics."""

    def __init__(self, spirv: bytes) -> None:
        self.member_layouts: dict[tuple[int, int], dict[int, int]] = {}
        super().__init__(spirv)
        self.compared: set[int] = set()
        self.atomics: set[int] = set()
        self._trace(np.frombuffer(spirv[: len(spirv) // 4 * 4], np.uint32).tolist())
        capabilities = set(self.result.capabilities)
        self.reads_pairs_of_halves = FLOAT16 in capabilities and not STORAGE16 & capabilities     # in words: memory has no halves of its own

    def _declaration(self, opcode: int, operands: tuple[int, ...]) -> None:
        if opcode == declared.OP_MEMBER_DECORATE and operands[2] in (ROW_MAJOR, MATRIX_STRIDE):
            self.member_layouts.setdefault((operands[0], operands[1]), {})[operands[2]] = operands[3] if len(operands) > 3 else 1
        super()._declaration(opcode, operands)

    def _trace(self, words: list[int]) -> None:
        """Find the variables behind operations that compare, and behind texel pointers."""
        come_from: dict[int, tuple[int, ...]] = {}
        position = 5
        while position < len(words):
            length, opcode = words[position] >> 16, words[position] & 0xFFFF
            operands = words[position + 1 : position + length]
            position += max(length, 1)
            if opcode in (OP_LOAD, OP_ACCESS_CHAIN, OP_IN_BOUNDS_ACCESS_CHAIN, OP_COPY_OBJECT, OP_IMAGE):
                come_from[operands[1]] = (operands[2],)
            elif opcode == OP_SAMPLED_IMAGE:
                come_from[operands[1]] = (operands[2], operands[3])
            elif opcode in COMPARING:
                self.compared |= _roots(come_from, operands[2])
            elif opcode == OP_IMAGE_TEXEL_POINTER:
                self.atomics |= _roots(come_from, operands[2])

    def bytes_of(self, type_id: int, runtime: int = 1) -> int:
        """Bytes of a type as it lies in memory; runtime arrays have so many elements."""
        opcode, operands = self.types[type_id]
        if opcode in (declared.OP_TYPE_INT, declared.OP_TYPE_FLOAT):
            return operands[0] // 8
        if opcode in (declared.OP_TYPE_VECTOR, declared.OP_TYPE_MATRIX):
            return self.bytes_of(operands[0]) * operands[1]
        if opcode in (declared.OP_TYPE_ARRAY, declared.OP_TYPE_RUNTIME_ARRAY):
            return self.stride(type_id) * (self.constants[operands[1]][0] if opcode == declared.OP_TYPE_ARRAY else runtime)
        if opcode == declared.OP_TYPE_STRUCT:
            return max((self.member_offsets.get(type_id, {}).get(k, 0) + self._member_bytes(type_id, k, runtime) for k in range(len(operands))),
                       default=0)
        if opcode == declared.OP_TYPE_POINTER:
            return 8
        raise CannotDrive(f"a type in memory with the opcode {opcode}")

    def _member_bytes(self, type_id: int, member: int, runtime: int) -> int:
        inner = self.types[type_id][1][member]
        layout = self.member_layouts.get((type_id, member), {})
        matrix, count = inner, 1
        while self.types[matrix][0] == declared.OP_TYPE_ARRAY:
            count *= self.constants[self.types[matrix][1][1]][0]
            matrix = self.types[matrix][1][0]
        if self.types[matrix][0] == declared.OP_TYPE_MATRIX and inner == matrix:
            return self._matrix(matrix, layout)[0]
        return self.bytes_of(inner, runtime)

    def _matrix(self, type_id: int, layout: Mapping[int, int]) -> tuple[int, list[int]]:
        """Bytes of a matrix, and where its scalars stand."""
        column, columns = self.types[type_id][1][:2]
        scalar, rows = self.types[column][1][:2]
        size = self.bytes_of(scalar)
        stride = layout.get(MATRIX_STRIDE, rows * size)
        if layout.get(ROW_MAJOR):
            return rows * stride, [r * stride + c * size for r in range(rows) for c in range(columns)]
        return columns * stride, [c * stride + r * size for c in range(columns) for r in range(rows)]

    def stride(self, type_id: int) -> int:
        """Bytes from one element of an array to the next."""
        told = self.decorations.get(type_id, {}).get(declared.DECORATION_ARRAY_STRIDE)
        return told[0] if told else self.bytes_of(self.types[type_id][1][0])


def _roots(come_from: Mapping[int, tuple[int, ...]], start: int) -> set[int]:
    found, open_ = set(), [start]
    while open_:
        each = open_.pop()
        if each in come_from:
            open_ += come_from[each]
        else:
            found.add(each)
    return found


class Filler:
    """Fills memory by types with random values."""

    def __init__(self, module: Declarations, random: np.random.Generator, values: str, runtime: int, inputs: GeneratedInputs,
                 runtime_bytes: int) -> None:  # fmt: skip
        self.module, self.random, self.values, self.runtime, self.inputs = module, random, values, runtime, inputs
        self.runtime_bytes = runtime_bytes
        self.pointees: dict[int, str] = {}

    def buffer(self, key: Any, type_id: int) -> None:
        """Make a buffer of a type."""
        size = self.module.bytes_of(type_id, self._elements(type_id))
        if size > MOST_BYTES:
            raise CannotDrive(f"a buffer of {size} bytes")
        memory, floats = np.zeros(max(-(-size // 4) * 4, 4), np.uint8), np.zeros(max(-(-size // 4) * 4, 4), np.uint8)
        self.inputs.buffers[key], self.inputs.floats[key] = memory, floats
        self._fill(key, memory, floats, type_id, np.zeros(1, np.int64), {}, self._elements(type_id))

    def push(self, type_id: int) -> None:
        """Make the block of push constants."""
        size = -(-self.module.bytes_of(type_id) // 4) * 4
        memory = np.zeros(size, np.uint8)
        self._fill("push", memory, np.zeros(size, np.uint8), type_id, np.zeros(1, np.int64), {}, 1)
        self.inputs.push = memory.tobytes()

    def _elements(self, type_id: int) -> int:
        """Elements of the runtime array at the end of a type."""
        opcode, operands = self.module.types[type_id]
        while opcode == declared.OP_TYPE_STRUCT and operands:
            type_id = operands[-1]
            opcode, operands = self.module.types[type_id]
        if opcode != declared.OP_TYPE_RUNTIME_ARRAY:
            return 1
        stride = max(self.module.stride(type_id), 1)
        if self.runtime_bytes:
            return self.runtime_bytes // stride
        return int(np.clip(self.runtime, 1, max(MOST_RUNTIME_BYTES // stride, 16)))

    def _fill(self, key: Any, memory: NDArray[np.uint8], floats: NDArray[np.uint8], type_id: int, at: NDArray[np.int64],
              layout: Mapping[int, int], runtime: int) -> None:  # fmt: skip
        opcode, operands = self.module.types[type_id]
        if opcode in (declared.OP_TYPE_INT, declared.OP_TYPE_FLOAT):
            self._scalars(memory, floats, opcode == declared.OP_TYPE_FLOAT, operands[0] // 8, at)
        elif opcode == declared.OP_TYPE_VECTOR:
            steps = np.arange(operands[1]) * self.module.bytes_of(operands[0])
            self._fill(key, memory, floats, operands[0], (at[:, None] + steps).ravel(), {}, runtime)
        elif opcode == declared.OP_TYPE_MATRIX:
            scalar = self.module.types[operands[0]][1][0]
            self._fill(key, memory, floats, scalar, (at[:, None] + np.array(self.module._matrix(type_id, layout)[1])).ravel(), {}, runtime)
        elif opcode in (declared.OP_TYPE_ARRAY, declared.OP_TYPE_RUNTIME_ARRAY):
            count = self.module.constants[operands[1]][0] if opcode == declared.OP_TYPE_ARRAY else runtime
            self._fill(key, memory, floats, operands[0], (at[:, None] + np.arange(count) * self.module.stride(type_id)).ravel(), layout, runtime)
        elif opcode == declared.OP_TYPE_STRUCT:
            for member, inner in enumerate(operands):
                offset = self.module.member_offsets.get(type_id, {}).get(member, 0)
                self._fill(key, memory, floats, inner, at + offset, self.module.member_layouts.get((type_id, member), {}), runtime)
        elif opcode == declared.OP_TYPE_POINTER:
            name = self._pointee(operands[1])
            self.inputs.references |= {(key, int(place)): name for place in at}

    def _pointee(self, type_id: int) -> str:
        """The buffer that pointers to a type lead to: one for each type, so that chains end."""
        if type_id not in self.pointees:
            self.pointees[type_id] = f"pointee{type_id}"
            self.buffer(self.pointees[type_id], type_id)
        return self.pointees[type_id]

    def _scalars(self, memory: NDArray[np.uint8], floats: NDArray[np.uint8], is_float: bool, size: int, at: NDArray[np.int64]) -> None:
        at = at[at + size <= memory.size]
        values = self.floats(at.size, size) if is_float else self.integers(at.size, size)
        memory[at[:, None] + np.arange(size)] = values.view(np.uint8).reshape(-1, size)
        floats[at] = size if is_float else 0

    def floats(self, count: int, size: int) -> NDArray[Any]:
        """Random floats of 2, 4 or 8 bytes."""
        if self.values == "exact" and size == 4 and self.module.reads_pairs_of_halves:
            return self.floats(2 * count, 2).view("f4")
        if self.values == "exact":
            return self.random.integers(-2, 3, count).astype(f"f{size}")
        if self.values == "small":
            return self.random.random(count).astype(f"f{size}")
        values = self.random.standard_normal(count) * 4
        some = self.random.random(count) < 0.1
        values[some] = self.random.choice([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 100.0, -37.5], int(some.sum()))
        return values.astype(f"f{size}")

    def integers(self, count: int, size: int) -> NDArray[Any]:
        """Random integers of 1, 2, 4 or 8 bytes."""
        if self.values != "wide":
            return self.random.integers(0, 4, count).astype(f"u{size}")
        values = self.random.integers(0, 1 << 62, count, np.uint64) * np.uint64(5) >> self.random.integers(0, 8 * size, count, np.uint64)
        some = self.random.random(count) < 0.2
        values[some] = self.random.choice(np.array([0, 1, (1 << 64) - 1, 1 << (8 * size - 1), (1 << (8 * size - 1)) - 1], np.uint64), int(some.sum()))
        return values.astype(f"u{size}")


class ImageMaker:
    """Images, samplers and texel buffers for declared types."""

    def __init__(self, module: Declarations, filler: Filler) -> None:
        self.module, self.filler = module, filler
        kinds = [self._kind(operands) for opcode, operands in module.types.values() if opcode == declared.OP_TYPE_IMAGE and operands[5] == 1]
        self.plain_sampler = NEAREST if any(kind != "float" for kind in kinds) else LINEAR

    def _kind(self, operands: tuple[int, ...]) -> str:
        opcode, inner = self.module.types[operands[0]]
        return "float" if opcode == declared.OP_TYPE_FLOAT else "int" if inner[1] else "uint"

    def sampler(self, variable: int) -> dict[str, Any]:
        """A sampler of its own."""
        compared = {"compareEnable": 1, "compareOp": LESS} if variable in self.module.compared else {}
        return {"type": "sampler", "sampler": {**self.plain_sampler, **compared}, "storage": False}

    def image(self, type_id: int, variable: int, combined: bool) -> dict[str, Any]:
        """What a variable of an image type is given."""
        operands = self.module.types[type_id][1]
        _, dimension, depth, arrayed, multisampled, sampled, number = operands[:7]
        kind, storage = self._kind(operands), sampled == 2
        if multisampled or dimension == DIM_SUBPASS:
            raise CannotDrive("multisampled images" if multisampled else "subpass inputs")
        if number not in FORMATS:
            number = (_ATOMIC if variable in self.module.atomics else _PLAIN)[kind]
        form = FORMATS[number]
        if dimension == DIM_BUFFER:
            return {"type": "buffer", "format": form[0], "name": form[1], "kind": kind, "storage": storage,
                    "levels": [self._texels(form[1], 256).tobytes()]}
        compared = variable in self.module.compared or depth == 1
        if compared:
            form = DEPTH
        return self._with_texels(_dimension_name(dimension, bool(arrayed)), form, kind, storage, compared, combined)

    def _with_texels(self, name: str, form: tuple[int, str], kind: str, storage: bool, compared: bool, combined: bool) -> dict[str, Any]:
        extent = {"1d": (32, 1, 1), "3d": (16, 8, 8)}.get(name.removesuffix("_array"), (16, 16, 1))
        if self.filler.runtime_bytes and name == "2d" and not storage:
            extent = LARGE_IMAGE
        layers = (12 if "array" in name else 6) if "cube" in name else 3 if "array" in name else 1
        asked: dict[str, Any] = {"type": name, "format": form[0], "name": form[1], "kind": kind, "storage": storage, "extent": extent,
                                 "layers": layers, "aspect": 2 if form is DEPTH else 1}
        asked["levels"] = []
        # the layout of AMD's library that is followed for GFX12 lets levels of 3D mip tails overlap
        for level in range(1 if storage or name == "3d" else 3):
            width, height, depth = (max(length >> level, 1) for length in extent)
            if kind == "float" and not storage and self.filler.values != "exact":
                asked["levels"].append(_smooth(layers * depth, height, width, 1 if form is DEPTH else 4, level).tobytes())
            else:
                asked["levels"].append(self._texels(form[1], layers * depth * height * width).tobytes())
        if combined:
            state = LINEAR if kind == "float" else NEAREST
            asked["sampler"] = {**state, **({"compareEnable": 1, "compareOp": LESS} if compared else {})}
        return asked

    def _texels(self, name: str, count: int) -> NDArray[Any]:
        """Random elements of a format."""
        fill = self.filler
        if name == "R11G11B10_FLOAT":
            return fill.random.integers(0, 1 << 32, count, np.uint32) & np.uint32(0x1DFBBF7F)     # without infinities and NaNs
        if name.startswith("R10"):
            return fill.random.integers(0, 1 << 32, count, np.uint32)
        channels, kind = name.split("_")
        size = int(channels[1:].split("G")[0]) // 8
        total = count * sum(channels.count(letter) for letter in "RGBA")
        if kind == "FLOAT":
            return fill.floats(total, size)
        return fill.integers(total, size) if kind in ("UINT", "SINT") else fill.random.integers(0, 256, total * size, np.uint8)


def _dimension_name(dimension: int, arrayed: bool) -> str:
    name = {DIM_1D: "1d", DIM_3D: "3d", DIM_CUBE: "cube"}.get(dimension, "2d")
    return name + ("_array" if arrayed else "")


def _smooth(slices: int, height: int, width: int, channels: int, level: int) -> NDArray[np.float32]:
    """Texels between 0 and 1 that differ little from their neighbours; the same picture in all levels, a little darker in each."""
    z, y, x, c = np.meshgrid(np.arange(slices), (np.arange(height) + 0.5) / height, (np.arange(width) + 0.5) / width, np.arange(channels),
                             indexing="ij")
    wave = np.sin(2 * np.pi * x + c + 0.3 * z) * np.cos(2 * np.pi * y + 0.7 * c)
    return (0.5 + 0.4 * wave - 0.02 * level).astype(np.float32)


def descriptor(number: int, kind: str, count: int) -> dict[str, Any]:
    """A binding of a set's layout, as ``vulkan_worker`` takes it."""
    types = [KINDS[{"ssbo": "storage_buffer", "ubo": "uniform_buffer"}.get(name, name)] for name in kind.split("|")]
    several = len(types) > 1
    return {"number": number, "type": KINDS["mutable"] if several else types[0], "count": count, "samplers": [],
            "mutable": types if several else [], "variable": False}  # fmt: skip


def generate(spirv: bytes, used: Mapping[int, Mapping[int, Mapping[str, Any]]], invocations: int, seed: int, values: str,
             runtime_bytes: int = 0) -> GeneratedInputs:  # fmt: skip
    """Make inputs of an entry point.

    Parameters
    ----------
    spirv : bytes
    used : mapping
        The bindings that the entry point uses, as `pyaco.spirv.reflect` names them under ``descriptor_sets``.
    invocations : int
        Of the dispatch: runtime arrays have elements for each, in up to 64 KiB.
    seed : int
    values : str
        ``small``, ``wide`` or ``exact``.
    runtime_bytes : int
        Runtime arrays have so many bytes instead, and sampled 2D images are `LARGE_IMAGE`; 0: as said.

    Raises
    ------
    CannotDrive
        Something that it declares is not generated here.
    """
    module = Declarations(spirv)
    inputs = GeneratedInputs()
    filler = Filler(module, np.random.default_rng(seed), values, max(64, 4 * invocations), inputs, runtime_bytes)
    maker = ImageMaker(module, filler)
    inputs.layouts = [[] for _ in range(max(used, default=-1) + 1)]
    variables = _variables(module)
    for number, bindings in sorted(used.items()):
        for binding, facts in sorted(bindings.items()):
            _bind(inputs, filler, maker, (number, binding), facts, variables.get((number, binding), []))
    for _, pointer, storage in module.variables:
        if storage == declared.STORAGE_PUSH_CONSTANT:
            filler.push(module.types[pointer][1][1])
    return inputs


def _variables(module: Declarations) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Variables and their types, without arrays of descriptors, by set and binding."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for identity, pointer, _ in module.variables:
        told = module.decorations.get(identity, {})
        if declared.DECORATION_BINDING in told:
            pointee = module.types[pointer][1][1]
            while module.types.get(pointee, (0,))[0] in (declared.OP_TYPE_ARRAY, declared.OP_TYPE_RUNTIME_ARRAY):
                pointee = module.types[pointee][1][0]
            key = told.get(declared.DECORATION_DESCRIPTOR_SET, (0,))[0], told[declared.DECORATION_BINDING][0]
            found.setdefault(key, []).append((identity, pointee))
    return found


def _bind(inputs: GeneratedInputs, filler: Filler, maker: ImageMaker, key: tuple[int, int], facts: Mapping[str, Any],
          variables: list[tuple[int, int]]) -> None:  # fmt: skip
    """Give a binding what its type asks for."""
    module, kind, count = filler.module, facts["type"], facts["count"] or RUNTIME_DESCRIPTORS
    if "|" in kind or count > 256:
        raise CannotDrive(f"a binding of {count} {kind}")
    wanted = {"ssbo": (declared.OP_TYPE_STRUCT,), "ubo": (declared.OP_TYPE_STRUCT,), "sampler": (declared.OP_TYPE_SAMPLER,),
              "combined_image_sampler": (declared.OP_TYPE_SAMPLED_IMAGE,)}.get(kind, (declared.OP_TYPE_IMAGE,))  # fmt: skip
    chosen = [(identity, type_id) for identity, type_id in variables if module.types.get(type_id, (0,))[0] in wanted]
    if not chosen:
        raise CannotDrive(f"a binding of type {kind} that no variable declares")
    inputs.layouts[key[0]].append(descriptor(key[1], kind, count))
    for element in range(count):
        place = key if count == 1 else (*key, element)
        if kind in ("ssbo", "ubo"):
            # of several views of one buffer, the largest
            filler.buffer(place, max((type_id for _, type_id in chosen), key=lambda each: module.bytes_of(each, filler.runtime)))
        elif kind == "sampler":
            inputs.images[place] = maker.sampler(chosen[0][0])
        else:
            type_id = chosen[0][1]
            if len({each for _, each in chosen}) > 1:
                raise CannotDrive("a binding that variables declare as images of several types")
            inner = module.types[type_id][1][0] if kind == "combined_image_sampler" else type_id
            inputs.images[place] = maker.image(inner, chosen[0][0], kind == "combined_image_sampler")
