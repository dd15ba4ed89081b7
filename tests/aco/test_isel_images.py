"""Images and textures from NIR to machine code: what each instruction says, on every level that compiles, with all validators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from image_selection_kernels import COORDINATES, TARGETS, Image, ImageKernel, Sample, compiled, images, samples

from pyaco import isa
from pyaco._core.aco import validate_ir
from pyaco.aco.text import parse_program
from pyaco.errors import InputError, UnsupportedError

FLAGS = ("unorm", "unrm", "glc", "slc", "dlc", "a16", "d16", "tfe", "da", "th:TH_LOAD_NT_RT", "th:TH_STORE_NT_RT", "th:TH_ATOMIC_RETURN",
         "scope:SCOPE_DEV", "idxen")  # fmt: skip
DIMS = {"1d": "1D", "2d": "2D", "rect": "2D", "3d": "3D", "cube": "CUBE", "ms": "2D_MSAA"}
ATOMICS = ("add", "smin", "umin", "smax", "umax", "and", "or", "xor", "swap", "", "", "", "cmpswap")
ATOMICS_12 = {"add": "add_uint", "smin": "min_int", "umin": "min_uint", "smax": "max_int", "umax": "max_uint"}


def registers(text: str) -> int:
    """How many registers an operand names."""
    if text.startswith("["):
        return sum(registers(part.strip()) for part in text[1:-1].split(","))
    match = re.fullmatch(r"[vs]\[(\d+):(\d+)\]", text)
    return int(match[2]) - int(match[1]) + 1 if match else 1


def operands(line: str) -> list[str]:
    """Operands of a line of assembly."""
    return re.findall(r"\[(?:v\d+|v\[\d+:\d+\])(?:, (?:v\d+|v\[\d+:\d+\]))*\]|[vs]\[\d+:\d+\]|\bv\d+\b|\boff\b", line)


def facts(line: str) -> tuple[str, int, str, set[str]]:
    """Name, mask, dimensions and flags of a line."""
    mask, dim = re.search(r"dmask:0x([0-9a-f]+)", line), re.search(r"dim:SQ_RSRC_IMG_(\w+)", line)
    return line.split()[0], int(mask[1], 16) if mask else 0, dim[1] if dim else "", set(line.split()) & set(FLAGS)


def bits_of(components: tuple[int, ...]) -> int:
    return sum(1 << k for k in components)


def words(components: int, half: bool) -> int:
    """Dwords of some components of an address."""
    return (components + 1) // 2 if half else components


def shape_of(dim: str, array: bool, level: int, storage: bool = False) -> tuple[str, bool]:
    """DIM and DA."""
    name = DIMS["2d" if dim == "1d" and level == 90 else dim]
    array = array or (dim == "cube" and storage)
    if array:
        name = "2D_ARRAY" if dim == "cube" else name + "_ARRAY"
    return name, dim == "cube" or array


def sample_facts(case: Sample, level: int) -> tuple[str, int, str, set[str], int, int]:
    """What a texture instruction must become: name, mask, dimensions, flags, dwords of address and result."""
    suffixes = [("_c", case.shadow), ("_d", case.level == "gradients"), ("_l", case.level == "lod"), ("_b", case.level == "bias"),
                ("_lz", case.level == "zero" or (case.opcode == "tg4" and not case.level)), ("_cl", case.min_lod), ("_o", case.offset),
                ("_g16", case.level == "gradients" and case.half_address and level >= 100)]  # fmt: skip
    name = "image_get_lod" if case.opcode == "lod" else ("image_gather4" if case.opcode == "tg4" else "image_sample") + "".join(
        text for text, present in suffixes if present
    )
    dim, da = shape_of(case.dim, case.array, level)
    flags = {text for text, present in (("unorm", case.dim == "rect"), ("a16", case.half_address), ("d16", case.half_result),
                                        ("tfe", case.sparse), ("da", da and level == 90)) if present}  # fmt: skip
    texel = 2 if case.opcode == "lod" else 1 if case.shadow else 4
    used = tuple(k for k in case.used if k < texel) or (0,)
    mask = (1 if case.shadow else 1 << case.component) if case.opcode == "tg4" else bits_of(used)
    loaded = 4 if case.opcode == "tg4" else len(used)
    widened = level == 90 and case.dim == "1d"
    coordinates = COORDINATES[case.dim] + case.array + (case.level == "lod") + case.min_lod + widened
    dimensions = 2 if widened else COORDINATES[case.dim]
    address = case.offset + (case.level == "bias") + case.shadow + words(coordinates, case.half_address)
    address += 2 * words(dimensions, case.half_address) if case.level == "gradients" else 0
    return name, mask, dim, flags, address, (words(loaded, True) if case.half_result else loaded) + case.sparse


#: One case of so many: all of them take a minute and a half.
STEPS = [13, pytest.param(1, marks=pytest.mark.slow)]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("target", TARGETS)
def test_textures(target: str, step: int) -> None:
    """Opcode, mask, dimensions, flags and number of addresses of every kind of sample; the text is that of the code."""
    level = TARGETS[target]
    for case in islice(samples(), 0, None, step):
        code, lines = compiled(target, case.build)
        name, mask, dim, flags, address, result = sample_facts(case, level)
        assert len(lines) == 1, (case, lines)
        found = facts(lines[0])
        assert found == (name, mask, dim if level >= 100 else "", flags), (case, lines)
        data, place, *_ = operands(lines[0])
        # Assembly of GFX9 and contiguous addresses name the whole tuple where LLVM knows its size.
        if level >= 100:
            assert registers(place) == address, (case, lines)
        assert registers(data) == result, (case, lines)
        assert isa.assemble(isa.disassemble(code, target, wave_size=64), target, wave_size=64) == code, case


def image_facts(case: Image, level: int) -> tuple[str, int, str, set[str]]:
    """What an access must become: name, mask, dimensions, flags."""
    in_buffer = case.dim == "buf"
    store, atomic = case.operation == "store", case.operation.startswith("atomic")
    kept = tuple(k for k, value in enumerate(case.constants) if value != 0)
    if level >= 120:
        # What the first component of the mask equals is left out, and no longer zeros.
        kept = (0,) if case.constants == (0, 0, 0, 0) else (0, 1, 2, 3)
    used = (kept or (0,)) if store else tuple(case.used) or (0,)
    mask = bits_of(used)
    if in_buffer:
        mask = (1 << mask.bit_length()) - 1
    if case.bits == 64:
        mask = 3 if store or atomic or 3 not in used else 15
    dim, da = ("", False) if in_buffer else shape_of(case.dim, case.array, level, True)
    flags = {"a16"} if case.half_address else set()
    flags |= {"idxen"} if in_buffer else {"unorm"} if level < 120 else set()
    flags |= {"da"} if da and level == 90 else set()
    if atomic:
        name = ATOMICS[case.atomic]
        mask = (3 if case.bits == 32 else 15) if name == "cmpswap" else (1 if case.bits == 32 else 3)
        if case.returns:
            flags |= {"glc"} if level < 120 else {"th:TH_ATOMIC_RETURN"}
        flags |= {"scope:SCOPE_DEV"} if level >= 120 else set()
        return name, mask, dim, flags
    flags |= {"d16"} if case.bits == 16 and not in_buffer else set()
    flags |= {"tfe"} if case.operation == "sparse_load" else set()
    if case.access & 5:
        flags |= {"scope:SCOPE_DEV"} if level >= 120 else set() if store and level >= 110 else {"glc"}
        flags |= {"dlc"} if 100 <= level < 110 and not store else set()
    if case.access & 0x80:
        flags |= {"slc"} if level < 120 else {"th:TH_STORE_NT_RT" if store else "th:TH_LOAD_NT_RT"}
    if not in_buffer:
        return ("image_store" if store else "image_load") + ("" if case.level == 0 else "_mip"), mask, dim, flags
    letters = "xyzw"[: mask.bit_length()]
    half = ("d16_format_" if level >= 110 else "format_d16_") if case.bits == 16 else "format_"
    return ("buffer_store_" if store else "buffer_load_") + half + letters, 0, dim, flags


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("target", TARGETS)
def test_images(target: str, step: int) -> None:
    """The same for loads, stores and atomics."""
    level = TARGETS[target]
    for case in islice(images(), 0, None, step):
        code, lines = compiled(target, case.build)
        name, mask, dim, flags = image_facts(case, level)
        assert isa.assemble(isa.disassemble(code, target, wave_size=64), target, wave_size=64) == code, case
        if case.operation.startswith("atomic") and case.dim == "buf":
            continue
        assert len(lines) == 1, (case, lines)
        found = facts(lines[0])
        if case.operation.startswith("atomic"):
            name = "image_atomic_" + (ATOMICS_12.get(name, name) if level >= 120 else name)
        assert found == (name, mask, dim if level >= 100 else "", flags), (case, lines)


def texture(opcode: str = "tex", **changes: Any) -> Callable[[ImageKernel], None]:
    """Build a sample of a 2D texture, with sources replaced (None: left out)."""

    def build(k: ImageKernel) -> None:
        sources: dict[str, Any] = {"texture_handle": k.handle(), "sampler_handle": k.handle(4, 2), "coord": k.varying(2)}
        for name, make in changes.items():
            if make is None:
                del sources[name]
            else:
                sources[name] = make(k)
        k.output(k.tex(opcode, "2d", **sources))

    return build


def divergent_handle(k: ImageKernel) -> int:
    return k.vec(*(k.iadd(k.lane, k.imm(n)) for n in range(8)))


def refused() -> Iterator[tuple[str, Callable[[ImageKernel], None], str]]:
    """What is not selected: a name, a kernel, and what the error must name."""
    yield "divergent texture", texture(texture_handle=divergent_handle), "differs between lanes"
    yield "no texture", texture(texture_handle=None), "not lowered"
    yield "projector", texture(projector=lambda k: k.varying(1, first=9)), "projector"
    yield "no sampler", texture(sampler_handle=None), "no sampler"
    yield "mixed sizes", texture("txb", bias=lambda k: k.varying(1, 16, 9)), "other sizes"

    def wide_sparse(k: ImageKernel) -> None:
        value = k.bindless_image_sparse_load(k.handle(), k.texels(4), k.imm(0), k.imm(0), components=5, bit_size=16, image_dim=1)
        k.output(k.component(value, 4))

    yield "sparse halves", wide_sparse, "of this size"
    yield "LOD in halves", lambda k: k.output(k.tex("lod", "2d", bit_size=16, texture_handle=k.handle(), sampler_handle=k.handle(4, 2),
                                                    coord=k.varying(2))), "of this size"  # fmt: skip
    yield "four offsets", lambda k: k.output(k.tex("tg4", "2d", texture_handle=k.handle(), sampler_handle=k.handle(4, 2), coord=k.varying(2),
                                                   offsets=[(1, 0), (0, 1), (1, 1), (2, 2)])), "offset for each texel"  # fmt: skip
    yield "float atomic", lambda k: k.output(k.bindless_image_atomic(k.handle(), k.texels(4), k.imm(0), k.varying(1), image_dim=1,
                                                                     atomic_op=9)), "image_atomic"  # fmt: skip


@pytest.mark.parametrize(("name", "build", "reason"), list(refused()), ids=lambda value: value if isinstance(value, str) else "")
def test_refused(name: str, build: Callable[[ImageKernel], None], reason: str) -> None:
    """What has no instruction is named."""
    with pytest.raises(UnsupportedError, match=reason):
        compiled("gfx1030", build)


def test_short_descriptors() -> None:
    """A descriptor of three dwords is no descriptor."""

    def build(k: ImageKernel) -> None:
        handle = k.vec(*(k.imm(n) for n in range(3)))
        k.output(k.bindless_image_load(handle, k.texels(4), k.imm(0), k.imm(0), components=4, image_dim=1))

    with pytest.raises(InputError, match="neither 8 nor 4"):
        compiled("gfx1030", build)


def test_uniform_results() -> None:
    """What is the same for all lanes is read into SGPRs, only as far as it is used."""

    def build(k: ImageKernel) -> None:
        value = k.bindless_image_load(k.handle(), k.vec(*(k.imm(n) for n in range(4))), k.imm(0), k.imm(0), components=4, image_dim=1)
        k.output(k.iadd(k.component(value, 2), k.imm(1)))

    code, lines = compiled("gfx1100", build)
    assert "dmask:0x4" in lines[0]
    assert isa.disassemble(code, "gfx1100").count("v_readfirstlane_b32") == 1


SAMPLE = """ACO shader stage: SW (CS), HW (COMPUTE_SHADER)
BB0
/* logical preds: / linear preds: / kind: uniform, top-level, */
\t s8: %1,  s4: %2,  v1: %3,  v1: %4,  v2: %5 = p_startpgm
\t v4: %6 = image_sample_lz %1, %2,  v1: undef, %3, %4 2d
\ts_endpgm
"""


@pytest.mark.parametrize(
    ("level", "old", "new", "message"),
    [
        (103, "", "", ""),
        (103, "%1, %2,", "%3, %2,", "the descriptor must be an s8 or s4"),
        (103, "%1, %2,", "%2, %1,", "the sampler must be an s4"),
        (103, "v1: undef", "%2", "the data must be a VGPR"),
        (103, "v1: undef", "%5", "data and result share their registers"),
        (103, "%3, %4 2d", "%3, %2 2d", "the address must be in VGPRs"),
        (103, "%3, %4 2d", "%5, %4 2d", "only the last register of an address may begin several dwords"),
        (90, "", "", "before GFX10 addresses are in registers that follow each other"),
        (90, "%3, %4 2d", "%5 2d", ""),
        (103, ", %3, %4 2d", " 2d", "image instructions have at least four operands"),
        (103, " v4: %6 = image_sample_lz", "image_store", "image instructions without a result have data"),
    ],
)
def test_validator(level: int, old: str, new: str, message: str) -> None:
    """The validator finds operands that no image instruction has."""
    found = [finding[2] for finding in validate_ir.check(parse_program(SAMPLE.replace(old, new) if old else SAMPLE, level))]
    assert message in found if message else not found
