"""RADV's last NIR through this package's backend: what separates the losses of NIR passes from those of the backend.

RADV prints the NIR that its backend reads. `nir.parse` reads that text; what it leaves out (the gfx level, the wave size, where arguments stand)
is put before it here, so that instruction selection can have it as it is: no pass of ours improves it.

Arguments are named by number in RADV's text. Their order is RADV's: two registers for scratch, one for each descriptor set that is used, one that
points to push constants, push constants in registers, the number of workgroups, workgroup ids, what the hardware says of the workgroup, the wave's
scratch offset up to GFX10.3; then local ids (``radv_shader_args.c`` of Mesa 25.2). Which of them a shader has, our own compilation decides by
the same rules; the registers that ``p_startpgm`` of RADV's ACO IR defines must be as many, else the shader is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spirv_reflection import OP_TYPE_IMAGE, Module

from pyaco import targets
from pyaco._core.ir.vocabulary import ImageDim
from pyaco.abi import Abi, DescriptorSetLayout, UserSgprs
from pyaco.descriptors.types import DescriptorType, contents, is_dynamic
from pyaco.errors import UnsupportedError
from pyaco.nir.parse import parse_shader
from pyaco.targets import features

ADDRESS32_HI = 0xFFFF8000
#: Trap temporaries, in which workgroup ids are on GFX12: y and z, and x.
_TTMP7, _TTMP9 = 115, 117
_SCRATCH = UserSgprs("scratch_address", 0, 2)
_IMAGES_TO_SAMPLE = (DescriptorType.SAMPLED_IMAGE, DescriptorType.INPUT_ATTACHMENT)
#: Bits of Mesa's float_controls_execution_mode, and of ours.
_FLOAT_CONTROLS = {**{1 << bit: 1 << bit for bit in range(6)}, **{1 << bit: 1 << 6 + (bit - 6) % 3 for bit in range(6, 15)},
                   **{1 << bit: 1 << bit - 6 for bit in range(15, 21)}}  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """An argument of RADV's: ``decl_argument`` of NIR text."""

    kind: str
    first: int
    count: int = 1
    detail: int = 0
    vector: bool = False


@dataclass(frozen=True)
class Arguments:
    """A shader's arguments in RADV's order, the ABI that says so, and whether a register has the hardware's word about the workgroup.

    `packed_ids` is the number of the argument that has all three local ids where the chip does not pack them: RADV's null winsys has no graphics
    queue, and RADV takes every chip without one from CDNA 2 on for one that packs them (``radv_shader_args.c`` of Mesa 25.2).
    """

    rows: tuple[Argument, ...]
    abi: Abi
    workgroup_info: bool
    packed_ids: int | None = None


def scalar_registers(ir: str) -> int:
    """How many SGPRs RADV's ACO IR defines at the start, trap temporaries aside."""
    match = re.search(r"^.*= p_startpgm\b.*$", ir, re.MULTILINE)
    if match is None:
        raise UnsupportedError("RADV's ACO IR has no p_startpgm")
    last = [int(end or first) for first, end in re.findall(r":s\[(\d+)(?:-(\d+))?\]", match[0])]
    return max((each for each in last if each < _TTMP7), default=-1) + 1


def vector_registers(ir: str) -> int:
    """How many VGPRs RADV's ACO IR defines at the start."""
    match = re.search(r"^.*= p_startpgm\b.*$", ir, re.MULTILINE)
    return len(re.findall(r":v\[\d+\]", match[0])) if match else 0


def arguments(ours: Abi, level: int, ir: str) -> Arguments:
    """RADV's arguments of a shader that our compilation gives `ours`.

    Raises
    ------
    UnsupportedError
        RADV has other arguments.
    """
    given = [argument for argument in ours.user_sgprs if argument.kind != _SCRATCH.kind]
    user, first = [_SCRATCH], 2
    for each in given:
        user.append(replace(each, first=first))
        first += each.count
    rows = [Argument(each.kind, each.first, each.count, each.set or 0) for each in user]
    position = first
    if not features.has_workgroup_ids_in_ttmp(level):
        for dimension in range(3):
            if ours.workgroup_id_mask >> dimension & 1:
                rows.append(Argument("workgroup_id", position, detail=dimension))
                position += 1
    scratch_offset = not features.has_architected_flat_scratch(level)
    extra = scalar_registers(ir) - position - scratch_offset
    if extra not in (0, 1):
        raise UnsupportedError(f"RADV has {scalar_registers(ir)} SGPRs of arguments, where ours has {position + scratch_offset}")
    if extra:
        # Text has no word for it; like a fourth id, it is one register behind the others. On GFX12 any id but the first is that of y and z.
        kind = "scratch_wave_offset" if features.has_workgroup_ids_in_ttmp(level) else "workgroup_id"
        rows.append(Argument(kind, position, detail=3))
        position += 1
    if scratch_offset:
        rows.append(Argument("scratch_wave_offset", position))
    packed = None
    if features.has_packed_ids(level):
        rows.append(Argument("local_ids", 0, detail=1, vector=True))
    else:
        packed = len(rows) if vector_registers(ir) == 1 else None
        rows += [Argument("local_ids", dimension, vector=True) for dimension in range(3)]
    if features.has_workgroup_ids_in_ttmp(level):
        # No arguments of RADV's: they come behind what has a number.
        rows += [Argument("workgroup_id", _TTMP9 if dimension == 0 else _TTMP7, detail=dimension) for dimension in _ids_in_ttmp(ours)]
    sets = ours.descriptor_sets if features.has_fmask(level) else {number: _without_fmask(each) for number, each in ours.descriptor_sets.items()}
    abi = replace(ours, user_sgprs=tuple(user), user_sgpr_count=first, scratch_wave_offset=scratch_offset, local_id_components=3,
                  descriptor_sets=sets)  # fmt: skip
    return Arguments(tuple(rows), abi, bool(extra), packed)


def _ids_in_ttmp(ours: Abi) -> Iterator[int]:
    """Dimensions of the workgroup ids that are arguments: one stands for y and z, which share a register."""
    mask = ours.workgroup_id_mask
    yield from (dimension for dimension in range(3) if mask >> dimension & 1 and not (dimension == 2 and mask & 2))


def _without_fmask(layout: DescriptorSetLayout) -> DescriptorSetLayout:
    """A set as RADV lays it out from GFX11 on (``radv_get_sampled_image_desc_size``): an image to sample has no place for FMASK's descriptor."""
    end = 0
    placed = {}
    for number, bound in sorted(layout.bindings.items(), key=lambda pair: pair[1].offset):
        kind = DescriptorType(bound.type)
        if is_dynamic(kind):
            placed[number] = bound
            continue
        if kind == DescriptorType.MUTABLE:
            raise UnsupportedError("mutable descriptors: the ABI does not say of which types")
        stride = 32 if kind in _IMAGES_TO_SAMPLE else bound.stride
        alignment = contents(kind).alignment
        placed[number] = replace(bound, offset=-(-end // alignment) * alignment, stride=stride)
        end = placed[number].offset + stride * bound.count
    return replace(layout, size=end, bindings={number: placed[number] for number in layout.bindings})


def texture_shapes(module: bytes) -> dict[int, str]:
    """Dimensions of a module's sampled images, as our text has them, by how many coordinates they take; nothing where several take as many.

    Mesa's text does not say what a texture instruction with a descriptor samples.
    """
    found: dict[int, set[str]] = {}
    names = ImageDim.names()
    dimensions: Mapping[object, int] = {ImageDim.IMAGE_1D: 1, ImageDim.BUFFER: 1, ImageDim.IMAGE_3D: 3, ImageDim.CUBE: 3}
    for opcode, operands in Module(module).types.values():
        if opcode != OP_TYPE_IMAGE or operands[5] != 1:
            continue
        dim, arrayed, multisampled = operands[1], operands[3], operands[4]
        # Layers of cubes are counted in faces.
        count = dimensions.get(dim, 2) + (arrayed and dim != ImageDim.CUBE)
        found.setdefault(count, set()).add(names[ImageDim.MS if multisampled else dim] + (" array" if arrayed else ""))
    if len(all_shapes := set().union(*found.values())) == 1:
        return dict.fromkeys(range(1, 5), all_shapes.pop())
    return {count: shapes.pop() for count, shapes in found.items() if len(shapes) == 1}


def constant_bytes(text: str) -> int:
    """How many bytes of constant data a shader has, of which Mesa's text has nothing else."""
    match = re.search(r"^constants: (\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else 0


#: What takes packed local ids apart: an opcode, its constants, the id, and the constants for the id in a register of its own.
_TAKEN_APART = (
    (r"iand {ids}, (%\d+ \(0x[0-9a-f]{{1,2}}\)|%\d+ \(0x[123][0-9a-f]{{2}}\))", "iand {x}, {0}"),
    (r"ubfe {ids}, %\d+ \(0xa\), (%\d+ \(0x[0-9a]\))", "ubfe {y}, {zero}, {0}"),
    (r"ushr {ids}, %\d+ \(0x14\)", "ushr {z}, {zero}"),
)
_SECOND_OF_TWO = (r"ushr {ids}, %\d+ \(0xa\)", "ushr {y}, {zero}")


def unpacked_ids(text: str, packed: int | None) -> str:
    """The text with the local ids of a chip that does not pack them.

    What takes them apart does as much to the register of the id that it wants, so that it costs what it does in RADV's code. Where anything
    else reads them, they are put together; those of a single dimension are the first.
    """
    size = re.search(r"^workgroup_size: (\d+), (\d+), (\d+)$", text, re.MULTILINE)
    match = re.search(rf"^(\s*)div 32 +(%\d+) = @load_vector_arg_amd \(base={packed}\b.*$", text, re.MULTILINE)
    if packed is None or match is None or (size and size[2] == size[3] == "1"):
        return text
    fresh = max(int(number) for number in re.findall(r"%(\d+)", text)) + 1
    x, y, z, zero, ten, twenty, high, higher, two = (f"%{fresh + k}" for k in range(9))
    rules = _TAKEN_APART + ((_SECOND_OF_TWO,) if size and size[3] == "1" else ())
    for pattern, replacement in rules:
        text = re.sub(pattern.format(ids=match[2]), lambda found: replacement.format(*found.groups(), x=x, y=y, z=z, zero=zero), text)  # noqa: B023
    made = [*(f"div 32 {name} = @load_vector_arg_amd (base={packed + k})" for k, name in enumerate((x, y, z))),
            f"con 32 {zero} = load_const (0x00000000)"]  # fmt: skip
    if len(re.findall(rf"{match[2]}\b", text)) > 1:
        made += [f"con 32 {ten} = load_const (0x0000000a)", f"con 32 {twenty} = load_const (0x00000014)", f"div 32 {high} = ishl {y}, {ten}",
                 f"div 32 {higher} = ishl {z}, {twenty}", f"div 32 {two} = ior {x}, {high}", f"div 32 {match[2]} = ior {two}, {higher}"]  # fmt: skip
    return text.replace(match[0], "\n".join(match[1].strip("\n") + line for line in made))


def adapted(text: str, level: int, wave: int, found: Arguments, shapes: Mapping[int, str], constants: bytes = b"") -> str:
    """RADV's text with the header that our reader needs; declarations of variables go: none is left, and their types are not printed.

    Raises
    ------
    UnsupportedError
        What is not printed: dimensions of textures, where several take as many coordinates; how a dispatch numbers invocations.
    """
    # What the relaxed one gives for lanes that do not run is left open; here these are zeros.
    if "@dd" in text and "derivative_group: 1" in text:
        raise UnsupportedError("derivatives of quads: RADV leaves it to the dispatch to number invocations by quads")
    text = unpacked_ids(text.replace("@ballot_relaxed ", "@ballot "), found.packed_ids)
    lines = list(_adapted_lines(text, level, wave, found.rows, constants))
    for number, line in enumerate(lines):
        if re.search(r" = \(\w+\)\w+ .*\(texture\)", line):
            coordinates = re.search(r"(%\d+)(?: \(0x[0-9a-f]+\))? \((?:coord|backend1)\)", line)
            made = coordinates and re.search(rf"\d+(?:x(\d+))?\s+{coordinates[1]} = ", text)
            shape = shapes.get(int(made[1] or 1)) if made else None
            if shape is None:
                raise UnsupportedError("textures of several kinds: Mesa's text does not tell which one an instruction reads")
            compared = "(comparator)" in line
            scalar = compared and re.match(r"\s*(?:con|div)?\s*\d+ +%", line)
            lines[number] = f"{line}, {shape}{' shadow' if compared else ''}{' scalar' if scalar else ''} (dim)"
    return "\n".join(lines) + "\n"


def _adapted_lines(text: str, level: int, wave: int, rows: tuple[Argument, ...], constants: bytes) -> Iterator[str]:
    yield from (f"gfx_level: {level}", f"wave_size: {wave}", f"address32_hi: {ADDRESS32_HI}")
    for line in text.splitlines():
        word = line.split(" ")[0]
        if match := re.match(r"float_controls_execution_mode: (0x[0-9a-f]+)", line):
            asked = int(match[1], 16)
            bits = 0
            for theirs, our in _FLOAT_CONTROLS.items():
                bits |= our if asked & theirs else 0
            yield f"float_controls: {bits}"
        elif match := re.match(r"shared_size: (\d+)", line):
            yield f"shared_bytes: {match[1]}"
        elif match := re.match(r"scratch: (\d+)", line):
            yield f"scratch_bytes: {match[1]}"
        elif word == "constants:":
            yield from (f"constant_data: {constants[at : at + 32].hex()}" for at in range(0, len(constants), 32))
        elif word == "decl_function":
            for number, row in enumerate(rows):
                file = "vgpr" if row.vector else "sgpr"
                yield f"decl_argument {number} {row.kind} {file} (detail={row.detail}, first={row.first}, count={row.count})"
            yield line
        elif not line.lstrip().startswith("decl_var "):
            yield line


def compile_text(text: str, target: str, found: Arguments, run: Any) -> Any:
    """Compile adapted text: what instruction selection needs of passes (no more), selection, the backend.

    `run` is a ``pyaco.passes.Run``. Returns a ``CompiledShader``.
    """
    from pyaco import compiler
    from pyaco._core.aco import isel
    from pyaco._core.ir.program import Program
    from pyaco.aco.passes import ACO
    from pyaco.nir.passes import NIR
    from pyaco.passes import Pipeline
    from pyaco.pipelines import compute
    from pyaco.pipelines.nir_passes import copy_propagation, dce, divergence, lcssa, lower_alu, lower_subgroups, lower_system_values
    from pyaco.pipelines.properties import NIR_PROPERTIES

    chip = targets.chip(target)
    shader = parse_shader(text, "radv.nir")
    shader.metadata["abi"] = found.abi.as_dict()
    # What reads workgroup ids becomes a read of arguments, which RADV leaves to its backend.
    # Derivatives are differences in a quad, which RADV makes of them in its instruction selection.
    steps = (lower_system_values, *((lower_subgroups,) if "@dd" in text else ()), lower_alu, copy_propagation, dce, lcssa, divergence)
    needed = Pipeline("nir", compute.STAGE, steps, given=tuple(NIR_PROPERTIES))
    run.run(NIR, needed, shader, chip.level)
    x, y, z = shader.workgroup_size
    # RADV's dispatches run in WGP mode wherever there is one; ours in CU mode. What fits side by side, and what is waited for, depends on that.
    program = Program()
    program.configure(gfx_level=chip.level, wave_size=found.abi.wave_size, workgroup_size=x * y * z,
                      limits=targets.wave_limits(chip, found.abi.wave_size).as_dict(),
                      wgp_mode=features.has_wgp_mode(chip.level))  # fmt: skip
    isel.run(shader, program)
    run.run(ACO, compute.ACO, program, chip.level)
    run.run(ACO, compute.ASSEMBLER, program, chip.level)
    return compiler._result(shader, program, chip, found.abi.wave_size, run)
