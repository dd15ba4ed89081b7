"""Texture instructions, types of images, variables of all modes and stages: what the builder makes is valid, and printing and parsing keep it.

Generated from ``nir/data/texture.txt``: every opcode with every source that it takes, in all dimensions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from pyaco import compile
from pyaco._core.aco import isel
from pyaco._core.common.vocabulary import Word
from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import BaseType, ImageDim, Interpolation, Stage, TextureFlag, VariableFlag, VariableMode
from pyaco._core.nir import build, validate
from pyaco.errors import InputError, UnsupportedError
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder
from pyaco.nir.parse import parse_shader
from pyaco.nir.text import print_shader
from pyaco.nir.text_texture import image_type, image_types

ARRAYS, SHADOWS = 1, 2
SAMPLER, NO_LAYER, COMPARES = 1, 2, 4
#: Sources of which an instruction has one at most.
TEXTURES = ("texture_deref", "texture_handle", "texture_offset")
SAMPLERS = ("sampler_deref", "sampler_handle", "sampler_offset")
SHAPES = [(dim, array, shadow) for dim, (*_, flags) in build.IMAGE_DIMS.items()
          for array in (False, True)[: 1 + (flags & ARRAYS)] for shadow in (False, True)[: 1 + (flags & SHADOWS) // SHADOWS]]  # fmt: skip


def columns(shader: Shader) -> dict[str, list[int]]:
    """Everything that texture instructions store."""
    tables = {"instructions": ("kind", "components", "bit_size", "opcode", "source_count"), "sources": ("value", "swizzle"),
              "textures": ("base", "dim", "image_flags", "flags", "component", "texture_index", "sampler_index", "offsets")}  # fmt: skip
    return {f"{table}.{column}": getattr(getattr(shader, table), column).tolist() for table, names in tables.items() for column in names}


def source(b: Builder, kind: str, opcode: str, dim: str, array: bool) -> int:
    """A value that fits as this source."""
    shape = build.TEX_SOURCE_SHAPES[kind]
    if shape == "deref":
        base = BaseType.TEXTURE if kind == "texture_deref" else BaseType.SAMPLER
        facts = {"element": b.scalar("float"), "image_dim": build.IMAGE_DIMS[dim][0], "image_flags": int(array)} if kind == "texture_deref" else {}
        return b.deref_var(b.variable("uniform", b.type(base, **facts), binding=3))
    coordinates = build.IMAGE_DIMS[dim][1]
    layered = array and not build.TEX_SHAPES[opcode][3] & NO_LAYER
    components = {"coordinate": coordinates + layered, "dimensions": coordinates, "any": 8}.get(shape, shape)
    return b.undef(components) if components > 1 else b.fimm(0.5)


def add_texture(b: Builder, opcode: str, dim: str, array: bool, shadow: bool, kinds: tuple[str, ...], **facts: Any) -> int:
    values: dict[str, Any] = {kind: source(b, kind, opcode, dim, array) for kind in kinds}
    base, bits = ("bool", 1) if opcode == "samples_identical" else ("float", 32)
    return b.tex(opcode, dim, base, bits, array=array, shadow=shadow, **facts, **values)


def texture(opcode: str, dim: str, array: bool, shadow: bool, kinds: tuple[str, ...], **facts: Any) -> Shader:
    """A shader of one texture instruction, the last."""
    b = Builder(103)
    add_texture(b, opcode, dim, array, shadow, kinds, **facts)
    return b.finish()


def needed(opcode: str, shadow: bool) -> tuple[str, ...]:
    _, sources, _, flags = build.TEX_SHAPES[opcode]
    return sources + (("comparator",) if shadow and flags & COMPARES else ())


def source_sets(opcode: str, shadow: bool) -> Iterator[tuple[str, ...]]:
    """What is needed alone, with each other source, with each pair of texture and sampler, and with all that go together."""
    least = needed(opcode, shadow)
    others = [kind for kind in build.TEX_SHAPES[opcode][2] if kind not in least and (kind != "comparator" or shadow)]
    yield least
    for kind in others:
        yield (*least, kind)
    plain = tuple(kind for kind in others if kind not in TEXTURES + SAMPLERS)
    with_sampler = [kind for kind in SAMPLERS if kind in others] or [""]
    for image, sampler in itertools.product(TEXTURES, with_sampler):
        yield (image, *((sampler,) if sampler else ()), *least, *plain)


def survives_text(shader: Shader) -> str:
    validate.run(shader)
    shader.metadata["entry"] = "main"
    text = print_shader(shader)
    again = parse_shader(text)
    assert print_shader(again) == text
    assert columns(again) == columns(shader)
    return text


@pytest.mark.parametrize("opcode", build.TEX)
def test_every_source_set_in_every_shape(opcode: str) -> None:
    b = Builder(103)
    made = {add_texture(b, opcode, dim, array, shadow, kinds): kinds for dim, array, shadow in SHAPES for kinds in source_sets(opcode, shadow)}
    lines = {int(number): line for number, line in re.findall(r"%(\d+) = (.*)", survives_text(b.finish()))}
    for row, kinds in made.items():
        assert re.findall(r"%\d+ (?:\(0x3f000000\) )?\((\w+)\)", lines[row]) == list(kinds) and f"){opcode} " in lines[row]


@pytest.mark.parametrize("opcode", build.TEX)
def test_flags_and_numbers(opcode: str) -> None:
    sampler = build.TEX_SHAPES[opcode][3] & SAMPLER
    texels = build.TEX_SHAPES[opcode][0] == "texel" or opcode == "tg4"
    flags = TextureFlag.NON_UNIFORM | (TextureFlag.SAMPLER_NON_UNIFORM if sampler else 0) | (TextureFlag.IS_SPARSE if texels else 0)
    kinds = needed(opcode, False)
    text = survives_text(texture(opcode, "2d", True, False, kinds, flags=flags, texture_index=7, sampler_index=9 if sampler else 0))
    assert "7 (texture)" in text and ("9 (sampler)" in text) == bool(sampler)
    assert "texture non-uniform" in text and ("sampler non-uniform" in text) == bool(sampler) and ("sparse" in text) == texels


def test_gathers() -> None:
    for component, implicit in itertools.product(range(4), (0, TextureFlag.IMPLICIT_LOD)):
        offsets = [(-128, 127), (1, -2), (0, 0), (3, component)]
        text = survives_text(texture("tg4", "cube", True, False, ("coord",), component=component, offsets=offsets, flags=implicit))
        assert f"{component} (gather_component), {{ (-128, 127), (1, -2), (0, 0), (3, {component}) }} (offsets)" in text
        assert ("implicit lod" in text) == bool(implicit)


def test_a_comparison_may_give_one_component() -> None:
    text = survives_text(texture("txl", "2d", True, True, ("coord", "lod", "comparator"), flags=TextureFlag.SHADOW_SCALAR))
    assert "2d array shadow scalar (dim)" in text and re.search(r"32 +%4 = \(float32\)txl ", text)


# ------------------------------------------------------------------------------------------------------------ what is refused
def refused(shader: Shader, reason: str) -> None:
    with pytest.raises(validate.ValidationError, match=reason):
        validate.run(shader)


@pytest.mark.parametrize("opcode", build.TEX)
def test_missing_strange_and_repeated_sources(opcode: str) -> None:
    least = needed(opcode, False)
    _, sources, optional, flags = build.TEX_SHAPES[opcode]
    for kind in least:
        refused(texture(opcode, "2d", False, False, tuple(other for other in least if other != kind)), "lacks a source")
    for kind in set(build.TEX_SOURCES) - set(sources) - set(optional):
        refused(texture(opcode, "2d", False, False, (*least, kind)), "does not take")
    if "comparator" in optional:
        refused(texture(opcode, "2d", False, False, (*least, "comparator")), "no shadow")
        refused(texture(opcode, "2d", False, True, least), "without a reference")
    refused(texture(opcode, "2d", False, False, (*least, "texture_handle", "texture_offset")), "in two ways")
    if flags & SAMPLER:
        refused(texture(opcode, "2d", False, False, (*least, "sampler_handle", "sampler_offset")), "in two ways")
    repeated = texture(opcode, "2d", False, False, (*least, "backend1", "backend2"))
    with repeated.edit():
        repeated.sources.swizzle[-1] = build.TEX_SOURCES["backend1"]
    refused(repeated, "two sources of one kind")
    with repeated.edit():
        repeated.sources.swizzle[-1] = 99
    refused(repeated, "unknown kind")


@pytest.mark.parametrize("kind", [kind for kind, shape in build.TEX_SOURCE_SHAPES.items() if shape not in ("any", "deref")])
def test_components_of_sources(kind: str) -> None:
    opcode = next(name for name, (_, needs, takes, _) in build.TEX_SHAPES.items() if kind in needs + takes)
    shadow = kind == "comparator"
    kinds = tuple(dict.fromkeys((*needed(opcode, shadow), kind)))
    b = Builder(103)
    dim = "2d" if shadow else "3d"
    values: dict[str, Any] = {other: b.undef(5) if other == kind else source(b, other, opcode, dim, False) for other in kinds}
    b.tex(opcode, dim, shadow=shadow, **values)
    refused(b.finish(), "another number of components")


def test_derefs_and_booleans() -> None:
    for kind in ("texture_deref", "sampler_deref"):
        b = Builder(103)
        not_a_deref: dict[str, Any] = {kind: b.imm(1)}
        b.tex("tex", "2d", coord=b.undef(2), **not_a_deref)
        refused(b.finish(), "no deref")
    b = Builder(103)
    b.tex("txl", "2d", coord=b.undef(2), lod=b.imm(1, 1))
    refused(b.finish(), "boolean source")


@pytest.mark.parametrize(("column", "value", "reason"), [
    ("dim", 10, "unknown dimensions"), ("image_flags", 1, "array of dimensions that have none"), ("image_flags", 2, "no comparison"),
    ("flags", TextureFlag.SHADOW_SCALAR, "without comparing"), ("component", 1, "only gathers"), ("offsets", 1, "only gathers"),
    ("flags", TextureFlag.IMPLICIT_LOD, "only gathers"), ("base", BaseType.BOOL, "another type than its bit size"), ("base", 9, "another type"),
])  # fmt: skip
def test_columns(column: str, value: int, reason: str) -> None:
    shader = texture("tex", "3d", False, False, ("coord",))
    validate.run(shader)
    with shader.edit():
        getattr(shader.textures, column)[0] = value
    refused(shader, reason)


def test_more_columns() -> None:
    gather = texture("tg4", "2d", False, False, ("coord",))
    with gather.edit():
        gather.textures.component[0] = 4
    refused(gather, "component that texels do not have")
    for column, value in (("sampler_index", 1), ("flags", TextureFlag.SAMPLER_NON_UNIFORM)):
        fetch = texture("txf", "2d", False, False, ("coord",))
        with fetch.edit():
            getattr(fetch.textures, column)[0] = value
        refused(fetch, "sampler that its opcode does not use")
    query = texture("txs", "2d", False, False, ())
    with query.edit():
        query.textures.flags[0] = TextureFlag.IS_SPARSE
    refused(query, "residency")
    for column, value, reason in (("opcode", 99, "unknown opcode"), ("data", 5, "outside the table"), ("components", 3, "number of components")):
        shader = texture("tex", "2d", False, False, ("coord",))
        with shader.edit():
            getattr(shader.instructions, column)[-1] = value
        refused(shader, reason)


@pytest.mark.parametrize(("old", "new", "reason"), [
    ("(coord)", "(place)", "source place"), (")tex ", ")texel ", "texture instruction texel"), ("(float32)", "(half)", "cannot read"),
    ("2d (dim)", "4d (dim)", "no dimensions"), ("2d (dim)", "2d wide (dim)", "no property"), (", 2d (dim)", "", "nothing of its dimensions"),
    ("0 (sampler)", "0 (samplers)", "cannot read"), ("0 (texture)", "99999999999 (texture)", "cannot read"), ("(float32)", "(float16)", "32 bits"),
    ("%1 (coord)", "%9 (coord)", "never defined"), ("0 (texture)", "texture", "cannot read"),
    ("0 (texture)", "{ (1, 2) } (offsets), 0 (texture)", "four offsets"), ("0 (texture)", "4 (gather_component), 0 (texture)", "no component 4"),
])  # fmt: skip
def test_text_that_is_wrong(old: str, new: str, reason: str) -> None:
    text = print_shader(texture("tex", "2d", False, False, ("coord",)))
    assert old in text
    with pytest.raises((InputError, UnsupportedError), match=reason):
        parse_shader(text.replace(old, new))


def test_nothing_runs_or_selects_them() -> None:
    for opcode in build.TEX:
        shader = texture(opcode, "2d", False, False, needed(opcode, False))
        with pytest.raises(UnsupportedError, match=rf"texture instruction {opcode}\b"):
            interpreter.run(shader, (1, 1, 1), {})
        with pytest.raises(UnsupportedError, match=rf"texture instruction.*{opcode}\b"):
            isel.run(shader)


# ---------------------------------------------------------------------------------------------------- types, variables, stages
def test_every_type_of_image() -> None:
    b = Builder(103)
    for name, (base, (sampled, bits), dim, flags) in image_types().items():
        assert image_type(base, (sampled, bits), dim, flags) == name
        element = b.type(sampled, bit_size=bits, components=1) if sampled else 0
        b.variable("image" if base == BaseType.IMAGE else "uniform", b.type(base, element=element, image_dim=dim, image_flags=flags))
    b.variable("uniform", b.array(b.type("sampler"), 4), binding=2)
    text = survives_text(b.finish())
    assert all(f" {name} @" in text for name in image_types()) and "sampler[4] @" in text
    assert {"texture2D", "utexture2DMSArray", "sampler2DShadow", "image3D", "iimageBuffer", "subpassInputMS", "vimageCubeArray"} <= set(image_types())


@pytest.mark.parametrize("mode", VariableMode.members(), ids=lambda mode: mode.text)
def test_variables_of_every_mode(mode: Word) -> None:
    b = Builder(103)
    flags = [flag for flag in VariableFlag.members() if flag != VariableFlag.ALIVE]
    sets = [0, *flags, sum(flags)]
    for location, (interpolation, qualifiers) in enumerate(itertools.product(Interpolation.members(), sets)):
        b.variable(mode.name.lower(), b.vector(4, "float"), interpolation=interpolation, flags=qualifiers, location=location, component=location % 4,
                   driver_location=2 * location)
    shader = b.finish()
    text = survives_text(shader)
    assert text.count(f" {mode.text} INTERP_MODE_") == len(Interpolation.members()) * len(sets)
    again = parse_shader(text)
    for column in ("mode", "flags", "interpolation", "location", "component", "driver_location"):
        assert getattr(again.variables, column).tolist() == getattr(shader.variables, column).tolist()
    b.variable(mode.text, b.vector(4, "float"))


@pytest.mark.parametrize(("column", "value", "reason"), [
    ("mode", 0, "one mode"), ("mode", 3, "one mode"), ("mode", 0x10000, "one mode"), ("type", 99, "does not exist"),
    ("interpolation", 5, "unknown interpolation"),
])  # fmt: skip
def test_variables_that_are_wrong(column: str, value: int, reason: str) -> None:
    b = Builder(103)
    b.variable("shader_in", b.vector(4, "float"))
    shader = b.finish()
    with shader.edit():
        getattr(shader.variables, column)[0] = value
    refused(shader, reason)


@pytest.mark.parametrize("stage", Stage.members(), ids=lambda stage: stage.text)
def test_every_stage_prints_and_parses_and_only_compute_compiles(stage: Word) -> None:
    shader = Builder(103).finish()
    shader.set_info(stage=stage)
    shader.metadata["entry"] = "main"
    text = print_shader(shader)
    assert text.startswith(f"shader: MESA_SHADER_{stage.name}\n")
    again = parse_shader(text)
    assert again.info["stage"] == stage and print_shader(again) == text
    if stage not in (Stage.COMPUTE, Stage.KERNEL):
        with pytest.raises(UnsupportedError, match=f"shader stage '{stage.text}'"):
            compile(text.encode(), target="gfx1030")
        with pytest.raises(UnsupportedError, match=f"shader stage '{stage.text}'"):
            isel.run(shader)


def test_unknown_stages_are_refused() -> None:
    with pytest.raises(InputError, match="unknown shader stage 'pixel'"):
        parse_shader("shader: MESA_SHADER_PIXEL\ndecl_function main (0 params) (entrypoint)\n\nimpl main {\n    block b0:\n}\n")


def test_shadow_array_dimensions_are_those_of_the_table() -> None:
    assert set(ImageDim.names().values()) == set(build.IMAGE_DIMS)
    assert len(SHAPES) == 10 + 6 + 4 + 3
