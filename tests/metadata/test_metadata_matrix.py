"""What works of metadata, by gfx level, kind and shape of surface: layout, addresses and contents, or a refusal by name.

`test_document` writes the table of ``docs/metadata.md`` anew from what chips do, so that the document says nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyaco.addrlib import Surface, gpu_configs
from pyaco.addrlib.driver.metadata_addresses import HIERARCHICAL, metadata_levels, metadata_part
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata import cmask, dcc, fmask, hierarchical, htile
from pyaco.metadata.dcc_codes import UNCOMPRESSED, clear_code
from pyaco.metadata.depths import encode_depth, pack_depth
from pyaco.metadata.memory import part_of, raw_texels, write_raw_texels

DOCUMENT = Path(__file__).parents[2] / "docs/metadata.md"
COLOR, DEPTH = "R8G8B8A8_UNORM", "Z32_FLOAT_S8X24_UINT"
BLACK, WHITE = (0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0)
WORKS, ALIKE, NONE = "yes", "alike", "-"

SHAPES: dict[str, dict[str, int]] = {
    "1": {}, "levels": {"mips": 4}, "layers": {"layers": 3}, "levels, layers": {"mips": 3, "layers": 2}, "samples": {"samples": 4},
    "samples, layers": {"samples": 2, "layers": 2}, "8 samples": {"samples": 8}, "3D": {"depth": 6}, "3D levels": {"depth": 6, "mips": 3}}
"""The columns of the table."""

EXTENTS = ((512, 512), (640, 640))
"""Of the table: of one level, and of several, of which DCC of GFX9 needs larger ones."""

FMASK_EXTENT = (200, 120)
"""FMASK works at any extent, and takes long."""

SHARED = "vega12"
"""The chip whose equations in addrlib give different blocks the same address."""

Memory = NDArray[np.uint8]
Random = np.random.Generator


class SharedPlaceError(Exception):
    """Elements have the same place: what addrlib's equations of one chip say (`SHARED`)."""


def _distinct(places: list[NDArray[np.int64]], size: int) -> None:
    """No two elements, of whatever level, have the same place, and none lies outside."""
    flat = np.concatenate([place.ravel() for place in places])
    assert flat.min() >= 0 and flat.max() < size
    if len(np.unique(flat)) != len(flat):
        raise SharedPlaceError


def _dcc(surface: Surface, memory: Memory, random: Random) -> None:
    """Some blocks are cleared and some not, in every level; after decompression the first are the colour, and all else is what it was."""
    code = clear_code(surface.config, surface.format.name, BLACK)
    assert not (code.needs_elimination or code.is_single) and code.code != UNCOMPRESSED
    dcc.initialize(surface, memory)
    offset, size = metadata_part(surface.config, surface.layout, "dcc")
    expected, places = memory.copy(), []
    written = {}
    for mip in range(metadata_levels(surface.layout, "dcc")):
        blocks = dcc.blocks(surface, mip)
        places.append(blocks.codes - offset)
        written[mip] = random.choice(np.array([code.code, UNCOMPRESSED], np.uint8), len(blocks.codes))
        memory[blocks.codes] = written[mip]
        expected.reshape(-1, 256)[blocks.texels[written[mip] == code.code] // 256] = 0
    _distinct(places, size)
    for mip, codes in written.items():
        np.testing.assert_array_equal(dcc.read_codes(surface, memory, mip), codes)
    assert dcc.decompress(surface, memory) == sum(int((codes == code.code).sum()) for codes in written.values())
    for mip in written:
        expected[dcc.blocks(surface, mip).codes] = UNCOMPRESSED
    data = surface.tiled.size
    np.testing.assert_array_equal(memory[:data], expected[:data])


def _dcc_alike(surface: Surface, memory: Memory) -> None:
    dcc.initialize(surface, memory)
    levels = range(metadata_levels(surface.layout, "dcc"))
    dcc.fast_clear(surface, memory, WHITE, mips=None if len(levels) == surface.request.levels else levels)
    assert dcc.decompress(surface, memory) > 0
    for mip in levels:
        assert (raw_texels(surface, memory, mip)[..., 0, :] == 255).all()


def _own_cmask(surface: Surface) -> Memory | None:
    return np.zeros(surface.layout.cmask_size, np.uint8) if surface.request.samples == 1 else None


def _cmask(surface: Surface, memory: Memory, random: Random) -> None:
    """Some tiles are cleared and some not: eliminated, or with FMASK decompressed, the first are the colour in all samples, and others as before."""
    own, samples = _own_cmask(surface), surface.request.samples
    _distinct([cmask.places_of(surface)], 2 * cmask.part_of_surface(surface)[1])
    cmask.initialize(surface, memory, cmask=own)
    if samples > 1:
        fmask.initialize(surface, memory)
    untouched = raw_texels(surface, memory)
    expanded = cmask.expanded_code(samples, samples) if samples > 1 else cmask.NOT_CLEARED
    codes = random.choice(np.array([cmask.CLEARED, expanded], np.uint8), cmask.read_codes(surface, memory, cmask=own).shape)
    cmask.write_codes(surface, memory, codes, cmask=own)
    np.testing.assert_array_equal(cmask.read_codes(surface, memory, cmask=own), codes)
    if samples > 1:
        cmask.decompress_fmask(surface, memory, WHITE)
        texels, known = fmask.fetch_samples(surface, memory)
        assert known.all()
    else:
        assert cmask.eliminate(surface, memory, WHITE, cmask=own) == int((codes == cmask.CLEARED).sum())
        texels = raw_texels(surface, memory)
    _, height, width = untouched.shape[:3]
    cleared = (codes == cmask.CLEARED).repeat(8, 1).repeat(8, 2)[:, :height, :width]
    assert (texels[cleared] == 255).all()
    np.testing.assert_array_equal(texels[~cleared], untouched[~cleared])


def _cmask_alike(surface: Surface, memory: Memory) -> None:
    own = _own_cmask(surface)
    # `cmask.fast_clear` leaves clearing to DCC where there is DCC
    (part_of(surface, memory, "cmask") if own is None else own)[:] = 0x11 * cmask.CLEARED
    cmask.eliminate(surface, memory, WHITE, cmask=own)
    texels = raw_texels(surface, memory)
    assert ((texels if surface.request.samples == 1 else texels[:, :, :, 0]) == 255).all()


def _fmask(surface: Surface, memory: Memory, random: Random) -> None:
    """Any words are read as written; a surface that is compressed, and expanded again, has the same samples."""
    samples = surface.request.samples
    texels = random.integers(0, 3, raw_texels(surface, memory).shape, np.uint8)
    write_raw_texels(surface, memory, texels)
    maps = random.integers(0, samples, texels.shape[:4])
    words = fmask.encode_words(maps, samples)
    fmask.write_words(surface, memory, words)
    np.testing.assert_array_equal(fmask.read_words(surface, memory), words)
    np.testing.assert_array_equal(fmask.decode_words(words, samples, samples), maps)
    wanted = np.take_along_axis(texels, maps[..., None], 3)
    for change in (lambda *_: None, fmask.compress, fmask.expand):
        change(surface, memory)
        np.testing.assert_array_equal(fmask.fetch_samples(surface, memory)[0], wanted)
    np.testing.assert_array_equal(raw_texels(surface, memory), wanted)


def _plain_depths(surface: Surface, memory: Memory, random: Random) -> None:
    for mip in range(surface.request.levels):
        shape = surface.tiled.level_shape(mip)
        write_raw_texels(surface, memory, encode_depth(surface.format, random.random(shape)), mip)
        write_raw_texels(surface, memory, random.integers(0, 256, (*shape, 1), np.uint8), mip, True)


def _htile(surface: Surface, memory: Memory, random: Random) -> None:
    """Some tiles are cleared, in every level: expanded, they have depth and stencil of the clear, and other texels are what they were."""
    offset, size = metadata_part(surface.config, surface.layout, "htile")
    _plain_depths(surface, memory, random)
    htile.initialize(surface, memory)
    stencil = htile.has_tile_stencil(surface)
    kinds = np.array([htile.clear_word(1.0, stencil=stencil), htile.initial_word(stencil=stencil)], np.uint32)
    levels = range(metadata_levels(surface.layout, "htile"))
    before = {mip: (raw_texels(surface, memory, mip), raw_texels(surface, memory, mip, True)) for mip in levels}
    words = {mip: random.choice(kinds, htile.read_words(surface, memory, mip).shape) for mip in levels}
    _distinct([htile.places_of(surface, mip) - offset // 4 for mip in levels], size // 4)
    for mip in levels:
        htile.write_words(surface, memory, words[mip], mip)
    for mip in levels:
        np.testing.assert_array_equal(htile.read_words(surface, memory, mip), words[mip])
    htile.expand(surface, memory, depth=1.0, stencil=0)
    for mip, (depths, inks) in before.items():
        cleared = (words[mip] == kinds[0]).repeat(8, 1).repeat(8, 2)[:, : depths.shape[1], : depths.shape[2]]
        after, after_inks = raw_texels(surface, memory, mip), raw_texels(surface, memory, mip, True)
        assert (after[cleared] == pack_depth(surface.format, 1.0)).all()
        np.testing.assert_array_equal(after[~cleared], depths[~cleared])
        np.testing.assert_array_equal(after_inks, np.where(cleared.reshape(cleared.shape + (1,) * (inks.ndim - 3)), 0, inks) if stencil else inks)
    htile.resummarize(surface, memory)


def _htile_alike(surface: Surface, memory: Memory) -> None:
    _plain_depths(surface, memory, np.random.default_rng(1))
    htile.initialize(surface, memory)
    levels = range(metadata_levels(surface.layout, "htile"))
    htile.fast_clear(surface, memory, depth=1.0, stencil=0, mips=levels)
    htile.expand(surface, memory, depth=1.0, stencil=0)
    for mip in levels:
        assert (raw_texels(surface, memory, mip) == pack_depth(surface.format, 1.0)).all()


def _hierarchical(kind: str) -> Callable[[Surface, Memory, Random], None]:
    def judged(surface: Surface, memory: Memory, random: Random) -> None:
        """Any elements are read as written, in every level; a summary of texels, and a clear, contradict none of them."""
        half = HIERARCHICAL[kind] // 2
        written = {}
        for mip in range(surface.request.levels):
            shape = hierarchical.read_tiles(surface, memory, kind, mip).low.shape
            written[mip] = hierarchical.Tiles(random.integers(0, 1 << half, shape), random.integers(0, 1 << half, shape))
            hierarchical.write_tiles(surface, memory, written[mip], kind, mip)
        for mip, tiles in written.items():
            np.testing.assert_array_equal(hierarchical.read_tiles(surface, memory, kind, mip), tiles)
        # what has no public meaning is refused here, before texels are written
        hierarchical.contradictions(surface, memory, kind)
        _plain_depths(surface, memory, random)
        hierarchical.resummarize(surface, memory)
        for mip in written:
            found = hierarchical.contradictions(surface, memory, kind, mip)
            assert not found.any()
            low, high = (half[:, : found.shape[1], : found.shape[2]] for half in hierarchical.read_tiles(surface, memory, kind, mip))
            assert (low <= high).all()

    return judged


def _hierarchical_alike(kind: str) -> Callable[[Surface, Memory], None]:
    def judged(surface: Surface, memory: Memory) -> None:
        for mips in (None, 0):
            hierarchical.expand(surface, memory, mips=mips)
            hierarchical.clear(surface, memory, depth=0.5, stencil=7, mips=mips)
            tiles = hierarchical.read_tiles(surface, memory, kind)
            assert (tiles.low == tiles.high).all() and (tiles.low == (0x8000 if kind == "hiz" else 7)).all()

    return judged


def _none(surface: Surface, memory: Memory) -> None:
    raise AssertionError("every address is known")


Judge = tuple[str, Callable[[Surface, Memory, Random], None], Callable[[Surface, Memory], None]]
JUDGES: dict[str, Judge] = {
    "DCC": (COLOR, _dcc, _dcc_alike), "CMASK": (COLOR, _cmask, _cmask_alike), "FMASK": (COLOR, _fmask, _none), "HTILE": (DEPTH, _htile, _htile_alike),
    "HiZ": (DEPTH, _hierarchical("hiz"), _hierarchical_alike("hiz")), "HiS": (DEPTH, _hierarchical("his"), _hierarchical_alike("his"))}


def outcome(chip: str, kind: str, extent: tuple[int, int], options: dict[str, int], random: Random) -> str:
    """Return what works of a kind of metadata; errors other than a refusal by name are not caught."""
    format, judge, alike = JUDGES[kind]
    try:
        surface = Surface(chip, format=format, width=extent[0], height=extent[1], **options)
    except InputError as error:
        assert "depth" in options, error                                                # no chip has volumes of depth from GFX9 on
        return NONE
    try:
        if kind == "CMASK":
            cmask.part_of_surface(surface)
        else:
            metadata_part(surface.config, surface.layout, kind.lower())
    except (InputError, UnsupportedError) as error:
        assert kind in str(error)
        return NONE
    memory = random.integers(0, 256, surface.total_size, np.uint8)
    try:
        judge(surface, memory, random)
    except (UnsupportedError, SharedPlaceError) as error:
        assert kind in str(error) or (isinstance(error, SharedPlaceError) and chip == SHARED), error
        alike(surface, memory)
        return ALIKE
    return WORKS


def _chips(level: int) -> list[str]:
    return [config.name for config in gpu_configs() if config.level == level]


LEVELS = sorted({config.level for config in gpu_configs()})


def _row(level: int, kind: str) -> list[str]:
    """Return the cells of a row: what chips of a level do, or where they differ each of what they do."""
    chips = _chips(level)
    chips = chips[:2] + [SHARED] * (SHARED in chips[2:])
    random = np.random.default_rng(level)
    found = []
    for options in SHAPES.values():
        extent = FMASK_EXTENT if kind == "FMASK" else EXTENTS["mips" in options]
        found.append(sorted({outcome(chip, kind, extent, options, random) for chip in chips}, reverse=True))
    return [" or ".join(cell) for cell in found]


@pytest.mark.parametrize("kind", JUDGES)
def test_document(kind: str) -> None:
    lines = []
    for level in LEVELS:
        cells = _row(level, kind)
        if set(cells) != {NONE}:
            lines.append(f"| {kind} | GFX{level // 10}{'.' + str(level % 10) if level % 10 else ''} | {' | '.join(cells)} |")
    written = [line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| {kind} | GFX") and line.count("|") == 3 + len(SHAPES)]
    assert written == lines, "the rows of docs/metadata.md should be:\n" + "\n".join(lines)


@pytest.mark.parametrize("kind", JUDGES)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_other_extents(kind: str, data: st.DataObject) -> None:
    """Whatever the extent: metadata goes there and back, or what is not there or not public is refused by name."""
    chips = [config.name for config in gpu_configs() if set(_rows_of(kind, config.level)) != {NONE}]
    chip = data.draw(st.sampled_from(chips))
    extent = data.draw(st.tuples(st.integers(1, 400), st.integers(1, 400)))
    options = data.draw(st.sampled_from(list(SHAPES.values())))
    outcome(chip, kind, extent, options, np.random.default_rng(data.draw(st.integers(0, 1 << 20))))


def _rows_of(kind: str, level: int) -> list[str]:
    """Return the cells of the document's row, or one that says there are none."""
    name = f"| {kind} | GFX{level // 10}{'.' + str(level % 10) if level % 10 else ''} |"
    row = next((line for line in DOCUMENT.read_text().splitlines() if line.startswith(name)), None)
    return [cell.strip() for cell in row.split("|")[3:-1]] if row else [NONE]
