"""Compare layouts of descriptor sets, and what user SGPRs hold, with RADV on its null winsys, on random layouts.

``python tests/oracle/compare_descriptor_layouts.py [SUPPORT [COMPILED [WRITTEN [SEED]]]]`` prints one JSON object with three counts:

* ``support``: layouts whose last binding is variable; the driver says how many elements it may have, which gives away where the
  binding begins (exactly for an inline uniform block, to 16 bytes for a buffer).
* ``compiled``: a shader reads every buffer of random sets; its NIR tells set, offset and place of each descriptor, and in which
  order the shader's arguments come.
* ``written``: buffers, samplers and inline blocks are written into sets by the driver and by us; every dword that we wrote must be
  the driver's (what neither wrote is undefined there).

The installed driver is RADV of Mesa 22.3, which does not group bindings by alignment yet.
Known difference: the driver's *support* query takes combined image samplers for 64 bytes (its layouts have 96), so layouts with
these are asked for with `compiled` only.
"""

from __future__ import annotations

import json
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vulkan_peer import Radv

from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.layout import Binding, PipelineLayout, SetLayout
from pyaco.descriptors.sets import DescriptorSet
from pyaco.descriptors.types import DescriptorType, is_dynamic
from pyaco.descriptors.user_data import assign_user_data

T = DescriptorType
NUMBERS = {**{kind: number for number, kind in enumerate(list(T)[:11])}, T.INLINE_UNIFORM_BLOCK: 1000138000,
           T.ACCELERATION_STRUCTURE: 1000150000, T.MUTABLE: 1000351000}
MUTABLE = [T.SAMPLED_IMAGE, T.STORAGE_IMAGE, T.UNIFORM_TEXEL_BUFFER, T.STORAGE_TEXEL_BUFFER, T.UNIFORM_BUFFER, T.STORAGE_BUFFER]
BUFFERS = {T.UNIFORM_BUFFER: "uniform", T.UNIFORM_BUFFER_DYNAMIC: "uniform", T.INLINE_UNIFORM_BLOCK: "uniform",
           T.STORAGE_BUFFER: "buffer", T.STORAGE_BUFFER_DYNAMIC: "buffer"}
RING_OFFSETS = 2                      # user SGPRs that RADV's shaders always have
GROUPED = False                       # RADV of Mesa 22.3 places bindings in order; later ones group them


def random_binding(rng: random.Random, number: int, kinds: Sequence[DescriptorType]) -> Binding:
    kind = rng.choice(kinds)
    if kind == T.INLINE_UNIFORM_BLOCK:
        return Binding(number, kind, 4 * rng.randint(1, 64))
    mutable = tuple(rng.sample(MUTABLE, rng.randint(1, 4))) if kind == T.MUTABLE else ()
    count = rng.choice((1, 1, 2, 3, 7))
    samplers: tuple[Any, ...] = ()
    if kind in (T.SAMPLER, T.COMBINED_IMAGE_SAMPLER) and rng.random() < 0.5:
        lods = [rng.randint(0, 1) for _ in range(count)] if rng.random() < 0.5 else [1] * count
        samplers = tuple((lod, 0, 0, 0) for lod in lods)
    return Binding(number, kind, count, mutable, samplers)


def as_request(bindings: list[Binding]) -> list[dict[str, Any]]:
    return [{"number": b.number, "type": NUMBERS[b.type], "count": b.count, "samplers": [words[0] for words in b.samplers],
             "mutable": [NUMBERS[kind] for kind in b.mutable], "variable": b.variable} for b in bindings]


def support(radv: Radv, count: int, rng: random.Random) -> dict[str, Any]:
    """Ask where the last binding of random layouts begins."""
    kinds = [kind for kind in T if kind != T.COMBINED_IMAGE_SAMPLER]
    last = [T.INLINE_UNIFORM_BLOCK, T.UNIFORM_BUFFER, T.STORAGE_BUFFER, T.SAMPLED_IMAGE, T.STORAGE_IMAGE, T.MUTABLE]
    layouts = []
    for _ in range(count):
        bindings = [random_binding(rng, number, kinds) for number in range(rng.randint(0, 8))]
        bindings = [Binding(b.number, b.type, b.count, b.mutable) if b.samplers else b for b in bindings]
        end = random_binding(rng, len(bindings), last)
        layouts.append([*bindings, Binding(end.number, end.type, end.count, end.mutable, variable=True)])
    theirs = radv.layout_support([as_request(bindings) for bindings in layouts])
    different = []
    for bindings, found in zip(layouts, theirs, strict=True):
        # The query counts a sampler without immutable ones as 16 bytes, like the layout.
        ours = SetLayout(bindings, grouped=GROUPED).most_elements()
        if found != (True, ours):
            different.append({"bindings": repr(bindings), "ours": ours, "theirs": found})
    return {"tried": count, "agreed": count - len(different), "first_differences": different[:3]}


@dataclass
class Program:
    """A shader that reads a dword of each buffer at a place of its own, and push constants."""

    layouts: dict[int, list[Binding]]
    push: list[int]
    push_indexed: bool
    places: dict[int, tuple[int, Binding, int]] = field(default_factory=dict)   # byte offset of the access: set, binding, element

    def source(self) -> str:
        lines = ["#version 450", "layout(local_size_x = 64) in;"]
        terms = []
        for number, bindings in self.layouts.items():
            for b in bindings:
                keyword = BUFFERS.get(b.type)
                if keyword is None:
                    continue
                element = b.count - 1 if b.type != T.INLINE_UNIFORM_BLOCK else 0
                place = len(self.places) % 4 if b.type == T.INLINE_UNIFORM_BLOCK else len(self.places)
                name, at = f"b{number}_{b.number}", len(self.places)
                array = f"[{b.count}]" if b.type != T.INLINE_UNIFORM_BLOCK and b.count > 1 else ""
                layout = "std430, " if keyword == "buffer" else "std140, "
                index = f"[{element}]" if array else ""
                if b.type == T.INLINE_UNIFORM_BLOCK:
                    continue
                if keyword == "uniform":
                    body, use = "uvec4 v[64];", f"{name}{index}.v[{place // 4}][{place % 4}]"
                else:
                    body, use = "uint v[];", f"{name}{index}.v[{place}]"
                lines.append(f"layout({layout}set = {number}, binding = {b.number}) {keyword} B{name} {{ {body} }} {name}{array};")
                self.places[4 * at] = (number, b, element)
                terms.append(use)
        lines.append("layout(push_constant) uniform P { uint p[64]; };" if self.push or self.push_indexed else "")
        terms += [f"p[{dword}]" for dword in self.push]
        if self.push_indexed:
            terms.append("p[gl_WorkGroupID.x & 3u]")
        lines.append("layout(std430, set = 0, binding = 0) buffer Out { uint result[]; };")
        lines.append("void main() { uint x = 0;" + "".join(f" x = x * 3u + {term};" for term in terms) +
                     " result[gl_GlobalInvocationID.x + 256] = x; }")
        return "\n".join(lines)


def spirv(source: str, folder: Path) -> bytes:
    (folder / "shader.comp").write_text(source)
    subprocess.run(["glslangValidator", "-V", "--quiet", str(folder / "shader.comp"), "-o", str(folder / "shader.spv")], check=True)
    return (folder / "shader.spv").read_bytes()


def accesses(nir: str) -> dict[int, tuple[int, int]]:
    """Byte offset of each buffer access, to the argument that its descriptor is reached from and the offset there."""
    constant = {name: int(value, 16) for name, value in re.findall(r"vec1 32 \w+ (ssa_\d+) = load_const \(0x([0-9a-f]+)", nir)}
    argument = {name: int(base) for name, base in re.findall(r"(ssa_\d+) = intrinsic load_scalar_arg_amd \(\) \(base=(\d+)", nir)}
    address = dict(re.findall(r"(ssa_\d+) = pack_64_2x32_split (ssa_\d+), ", nir))
    loads = {name: (base, offset) for name, base, offset in re.findall(
        r"(ssa_\d+) = intrinsic load_smem_amd \((ssa_\d+), (ssa_\d+)\)", nir)}
    found = {}
    for descriptor, offset in re.findall(r"intrinsic load_(?:ubo|ssbo) \((ssa_\d+), (ssa_\d+)\)", nir):
        if offset not in constant or descriptor not in loads:
            continue
        base, place = loads[descriptor]
        low = address[base]
        if low in loads:                                  # an entry of the table of sets: its number in place of an argument
            found[constant[offset]] = (-1 - constant[loads[low][1]] // 4, constant[place])
        else:
            found[constant[offset]] = (argument[low], constant[place])
    return found


def random_program(rng: random.Random) -> Program:
    layouts: dict[int, list[Binding]] = {}
    few = rng.random() < 0.7
    dynamic = rng.random() < 0.3
    kinds = [kind for kind in T if kind != T.ACCELERATION_STRUCTURE and (dynamic or not is_dynamic(kind))]
    for number in range(rng.randint(1, 4) if few else rng.randint(8, 20)):
        bindings = [random_binding(rng, place, kinds) for place in range(rng.randint(1, 6 if few else 3))]
        layouts[number] = [Binding(0, T.STORAGE_BUFFER), *(Binding(b.number + 1, b.type, b.count, b.mutable, b.samplers) for b in bindings)]
    push = sorted(rng.sample(range(64 if rng.random() < 0.3 else 16), rng.choice((0, 0, 1, 3, 5, 8, 12))))
    return Program(layouts, push, rng.random() < 0.2)


def check_program(radv: Radv, program: Program, folder: Path) -> list[str]:
    source = program.source()
    push_bytes = 256 if program.push or program.push_indexed else 0
    layout = PipelineLayout({number: SetLayout(bindings, grouped=GROUPED) for number, bindings in program.layouts.items()}, push_bytes)
    found = radv.compile(spirv(source, folder), layouts=[as_request(bindings) for bindings in program.layouts.values()],
                         push_bytes=push_bytes)
    # Set 0 holds the buffer that is written.
    used = sorted({0} | {number for number, b, _ in program.places.values() if not is_dynamic(b.type)} |
                  {number for number, b, _ in program.places.values() if is_dynamic(b.type)})
    dynamic = any(layout.sets[number].dynamic_count for number in layout.sets)
    data = assign_user_data(used, program.push, other_push_uses=program.push_indexed, dynamic_buffers=dynamic, others=RING_OFFSETS)
    seen = accesses(found.nir)
    wrong = []
    for at, (number, b, element) in program.places.items():
        placed = layout.sets[number].bindings[b.number]
        if is_dynamic(b.type):
            ours = (1 + (1 if data.table_of_sets else len(used)), layout.dynamic_offset(number, placed) + 16 * element)
        else:
            pointer = -1 - number if data.table_of_sets else 1 + used.index(number)
            ours = (pointer, placed.offset + placed.stride * element)
        if seen.get(at) != ours:
            wrong.append(f"set {number} binding {b.number} {b.type} at {at}: ours {ours}, theirs {seen.get(at)}")
    inline = len(re.findall(r"intrinsic load_push_constant", found.nir))
    count = (1 if data.table_of_sets else len(used)) + data.push_pointer + len(data.inline_dwords) + RING_OFFSETS
    start = re.search(r"^\s*(.*) = p_startpgm", found.ir, re.MULTILINE)
    assert start is not None
    theirs = sum(int(size) for size in re.findall(r"\bs(\d+): ", start[1]))
    # behind the user SGPRs: workgroup id x, scratch offset (before GFX11)
    if theirs - 2 != count:
        wrong.append(f"user SGPRs: ours {count} ({data}), theirs {theirs - 2}; {inline} loads of push constants")
    return wrong


def compiled(radv: Radv, count: int, rng: random.Random) -> dict[str, Any]:
    """Compile shaders for random sets and see where they look for their descriptors."""
    agreed = descriptors = 0
    different: list[Any] = []
    with tempfile.TemporaryDirectory() as name:
        for _ in range(count):
            program = random_program(rng)
            wrong = check_program(radv, program, Path(name))
            descriptors += len(program.places)
            agreed += not wrong
            if wrong and len(different) < 3:
                different.append({"layouts": repr(program.layouts), "push": program.push, "wrong": wrong[:4]})
    return {"tried": count, "agreed": agreed, "descriptors": descriptors, "first_differences": different}


WRITTEN = [T.UNIFORM_BUFFER, T.STORAGE_BUFFER, T.SAMPLER, T.COMBINED_IMAGE_SAMPLER, T.INLINE_UNIFORM_BLOCK, T.MUTABLE, T.SAMPLED_IMAGE]
BUFFER_BYTES = 4096
TARGETS = {"gfx803": 80, "gfx900": 90, "gfx1030": 103, "gfx1100": 110}
MARK = bytes(range(101, 117))


def sampler_words(radv: Radv, lod: int) -> tuple[int, int, int, int]:
    """A sampler as the driver makes it."""
    layout = [Binding(0, T.INLINE_UNIFORM_BLOCK, 16), Binding(1, T.SAMPLER)]
    memory = radv.set_memory(layout=as_request(layout), size=32, mark=MARK, mark_at=0, bytes=64, writes=[
        {"number": 0, "element": 0, "type": NUMBERS[T.INLINE_UNIFORM_BLOCK], "data": MARK},
        {"number": 1, "element": 0, "type": NUMBERS[T.SAMPLER], "sampler": lod}])
    first, second, third, fourth = struct.unpack("<4I", memory[16:])
    return first, second, third, fourth


def random_writes(rng: random.Random, bindings: list[Binding]) -> list[dict[str, Any]]:
    """Writes of some elements, each of what its binding may hold."""
    found = []
    for b in bindings:
        for element in range(b.count if b.type != T.INLINE_UNIFORM_BLOCK else 1):
            write: dict[str, Any] = {"number": b.number, "element": element, "type": NUMBERS[b.type]}
            kinds = [kind for kind in b.mutable if kind in (T.UNIFORM_BUFFER, T.STORAGE_BUFFER)] if b.type == T.MUTABLE else [b.type]
            if rng.random() < 0.3 or not kinds:
                continue
            if kinds[0] in (T.UNIFORM_BUFFER, T.STORAGE_BUFFER):
                offset = 4 * rng.randrange(BUFFER_BYTES // 8)
                found.append(write | {"type": NUMBERS[kinds[0]], "buffer": (offset, rng.randint(1, BUFFER_BYTES - offset)), "kind": kinds[0]})
            elif b.type == T.SAMPLER and not b.samplers:
                found.append(write | {"sampler": rng.randint(0, 1)})
            elif b.type == T.INLINE_UNIFORM_BLOCK:
                found.append(write | {"data": rng.randbytes(b.count)})
    return found


def ours_after(made: DescriptorSet, writes: list[dict[str, Any]], samplers: list[tuple[int, int, int, int]], level: int) -> bytes:
    for write in writes:
        if "data" in write:
            made.write_data(write["number"], write["data"])
        elif "sampler" in write:
            made.write(write["number"], {"sampler": samplers[write["sampler"]]}, write["element"])
        else:
            offset, size = write["buffer"]
            # The driver rounds sizes up to dwords.
            words = raw_buffer(offset, -(-size // 4) * 4, level)
            kind = write["kind"] if made.layout.bindings[write["number"]].binding.type == T.MUTABLE else None
            made.write(write["number"], {"buffer": words}, write["element"], kind=kind)
    return bytes(made.memory)


def written(radv: Radv, count: int, rng: random.Random, level: int) -> dict[str, Any]:
    """Write random sets and compare every byte that either side wrote."""
    samplers = [sampler_words(radv, lod) for lod in (0, 1)]
    agreed = size = 0
    different: list[Any] = []
    for _ in range(count):
        bindings = [Binding(0, T.INLINE_UNIFORM_BLOCK, 16), *(random_binding(rng, number + 1, WRITTEN) for number in range(rng.randint(1, 6)))]
        known = [Binding(b.number, b.type, b.count, b.mutable, tuple(samplers[words[0]] for words in b.samplers)) for b in bindings]
        made = DescriptorSet(SetLayout(known, grouped=GROUPED))
        writes = [{"number": 0, "element": 0, "type": NUMBERS[T.INLINE_UNIFORM_BLOCK], "data": MARK}, *random_writes(rng, bindings[1:])]
        asked = [{name: value for name, value in write.items() if name != "kind"} for write in writes]
        memory = radv.set_memory(layout=as_request(bindings), size=len(made.memory), mark=MARK,
                                          mark_at=made.layout.bindings[0].offset, bytes=BUFFER_BYTES, writes=asked)
        ours = ours_after(made, writes, samplers, level)
        # What nobody wrote is whatever the driver's memory held.
        wrong = [at for at in range(0, len(ours), 4) if ours[at : at + 4] != memory[at : at + 4] and any(ours[at : at + 4])]
        size += len(ours)
        agreed += not wrong
        if wrong and len(different) < 3:
            different.append({"bindings": repr(known), "at": wrong[:8]})
    return {"tried": count, "agreed": agreed, "bytes": size, "first_differences": different}


def main() -> None:
    """Compare as many layouts as the command line says."""
    numbers = [int(word) for word in sys.argv[1:]] + [20000, 300, 300, 0][len(sys.argv) - 1 :]
    radv, rng = Radv("gfx1030"), random.Random(numbers[3])
    print(json.dumps({"support": support(radv, numbers[0], rng), "compiled": compiled(radv, numbers[1], rng),
                      "written": {target: written(Radv(target), numbers[2], rng, level) for target, level in TARGETS.items()}}, indent=1))


if __name__ == "__main__":
    main()
