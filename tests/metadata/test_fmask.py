"""FMASK: words of every number of samples and fragments, and surfaces expanded, compressed and read through it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco.addrlib import Surface
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata import fmask

# Words in which each sample has its own fragment, as drivers fill FMASK with: [fragments][samples]. Source: PAL's
# PackedFmaskExpandedValues (gfx6MaskRam.cpp, gfx9MaskRam.cpp), Mesa's si_compute_expand_fmask.
EXPANDED = {
    1: {2: 0x02, 4: 0x0E, 8: 0xFE, 16: 0xFFFE}, 2: {2: 0x02, 4: 0xA4, 8: 0xAAA4, 16: 0xAAAAAAA4},
    4: {4: 0xE4, 8: 0x44443210, 16: 0x4444444444443210}, 8: {8: 0x76543210, 16: 0x8888888876543210},
}
PAIRS = [(samples, fragments) for fragments, words in EXPANDED.items() for samples in words]
CHIPS = ("tahiti", "bonaire", "hawaii", "polaris10", "fiji", "vega10", "raven", "navi10", "navi21", "navi24")


@pytest.mark.parametrize(("samples", "fragments"), PAIRS)
def test_expanded_words(samples: int, fragments: int) -> None:
    assert fmask.identity_word(samples, fragments) == EXPANDED[fragments][samples]
    found = fmask.decode_words(EXPANDED[fragments][samples], samples, fragments).tolist()
    assert found == [sample if sample < fragments else fmask.UNKNOWN for sample in range(samples)]


@pytest.mark.parametrize(("samples", "fragments"), PAIRS)
def test_every_word(samples: int, fragments: int) -> None:
    """Every combination of fragments where they are few, else random ones, encodes and decodes; every other word is refused."""
    numbers = [*range(fragments), *([fmask.UNKNOWN] if fragments < samples else [])]
    if len(numbers) ** samples <= 1 << 16:
        maps = np.array(list(product(numbers, repeat=samples)))
    else:
        maps = np.random.default_rng(samples).choice(numbers, (1 << 14, samples))
    words = fmask.encode_words(maps, fragments)
    np.testing.assert_array_equal(fmask.decode_words(words, samples, fragments), maps)
    assert len(np.unique(words)) == len(np.unique(maps, axis=0))
    bits = fmask.index_bits(samples, fragments)
    for number in range(1 << bits):
        word = number << bits * (samples - 1)
        if number <= (fragments if fragments < samples else fragments - 1):
            assert fmask.decode_words(word, samples, fragments)[-1] in (number, fmask.UNKNOWN)
        else:
            with pytest.raises(InputError, match=f"names fragment {number} of {fragments} for sample {samples - 1}"):
                fmask.decode_words(word, samples, fragments)


def test_what_no_word_holds() -> None:
    for samples, fragments in ((3, 1), (2, 4), (1, 1), (16, 16)):
        with pytest.raises(InputError):
            fmask.identity_word(samples, fragments)
    for bad in ([0, 4, 0, 0], [-1, 0, 0, 0]):
        with pytest.raises(InputError, match="of 4"):
            fmask.encode_words(bad, 4)


def surface_of(chip: str, samples: int, format: str = "R8G8B8A8_UNORM", layers: int = 1) -> tuple[Surface, np.ndarray]:
    surface = Surface(chip, format=format, width=70, height=37, samples=samples, layers=layers)
    return surface, np.zeros(surface.total_size, np.uint8)


@pytest.mark.parametrize("chip", CHIPS)
def test_words_have_their_own_places(chip: str) -> None:
    for samples, layers in product((2, 4, 8), (1, 3)):
        surface, memory = surface_of(chip, samples, layers=layers)
        random = np.random.default_rng(samples)
        words = fmask.encode_words(random.integers(0, samples, (layers, 37, 70, samples)), samples)
        fmask.write_words(surface, memory, words)
        np.testing.assert_array_equal(fmask.read_words(surface, memory), words)
        first, size = surface.layout.fmask_offset, surface.layout.fmask_size
        assert not memory[:first].any() and not memory[first + size :].any()
        fmask.initialize(surface, memory)
        assert (fmask.read_words(surface, memory) == EXPANDED[samples][samples]).all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_samples_survive_being_compressed_and_expanded(data: st.DataObject) -> None:
    """Few colours, so that samples share them."""
    chip, samples = data.draw(st.sampled_from(CHIPS)), data.draw(st.sampled_from((2, 4, 8)))
    format = data.draw(st.sampled_from(("R8_UNORM", "R8G8B8A8_UNORM", "R16G16B16A16_FLOAT", "R32G32B32A32_UINT")))
    surface, memory = surface_of(chip, samples, format)
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    colors = random.integers(0, 256, (data.draw(st.integers(1, 6)), surface.element_bytes), np.uint8)
    texels = colors[random.integers(0, len(colors), (1, 37, 70, samples))]
    surface.tile(texels, memory)
    fmask.initialize(surface, memory)
    found, known = fmask.fetch_samples(surface, memory)
    np.testing.assert_array_equal(found, texels)
    fmask.compress(surface, memory)
    maps = fmask.decode_words(fmask.read_words(surface, memory), samples, samples)
    counts = maps.max(-1) + 1
    distinct = np.array([[len({texel.tobytes() for texel in pixel}) for pixel in row] for row in texels[0]])
    np.testing.assert_array_equal(counts[0], distinct)
    found, known = fmask.fetch_samples(surface, memory)
    np.testing.assert_array_equal(found, texels)
    assert known.all()
    fmask.expand(surface, memory)
    assert (fmask.read_words(surface, memory) == EXPANDED[samples][samples]).all()
    np.testing.assert_array_equal(surface.detile(memory).view(np.uint8).reshape(texels.shape), texels)


def test_a_map_says_where_colors_are() -> None:
    surface, memory = surface_of("navi21", 4)
    texels = np.zeros((1, 37, 70, 4, 4), np.uint8)
    texels[..., 0] = np.arange(4) + 10
    surface.tile(texels, memory)
    fmask.write_words(surface, memory, np.full((1, 37, 70), fmask.encode_words([3, 3, 0, 1], 4)))
    found, _ = fmask.fetch_samples(surface, memory)
    assert (found[..., 0] == [13, 13, 10, 11]).all()
    fmask.expand(surface, memory)
    assert (surface.detile(memory)[..., 0] == [13, 13, 10, 11]).all()


def test_what_has_no_fmask() -> None:
    for chip in ("navi31", "gfx1201"):
        surface, memory = surface_of(chip, 4)
        with pytest.raises((InputError, UnsupportedError), match="FMASK"):
            fmask.read_words(surface, memory)
    with pytest.raises(InputError, match="without FMASK"):
        fmask.read_words(Surface("navi21", width=64, height=64), np.zeros(1 << 20, np.uint8))
    surface, memory = surface_of("navi21", 4)
    with pytest.raises(InputError, match="the memory"):
        fmask.read_words(surface, memory[:-1])
