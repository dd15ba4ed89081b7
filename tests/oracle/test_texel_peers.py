"""Decoders of compressed texels beside independent ones from the package index: on random blocks, and on what encoders make of an image."""

from __future__ import annotations

import pytest

pytest.importorskip("imagecodecs")
pytest.importorskip("texture2ddecoder")
pytest.importorskip("astc_encoder")
pytest.importorskip("etcpak")

from texel_peers import COMPARISONS, ENCODERS, encoded_blocks, random_blocks


@pytest.mark.oracle
@pytest.mark.parametrize("name", COMPARISONS)
def test_random_blocks(name: str) -> None:
    comparison = COMPARISONS[name]
    assert comparison.differing(random_blocks(comparison.format, 3000)) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name, comparison in COMPARISONS.items() if comparison.format in ENCODERS or "ASTC" in comparison.format])
def test_encoded_blocks(name: str) -> None:
    comparison = COMPARISONS[name]
    assert comparison.differing(encoded_blocks(comparison.format.removesuffix("_SRGB"), 1000)) == []


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("name", COMPARISONS)
def test_many_random_blocks(name: str) -> None:
    comparison = COMPARISONS[name]
    assert comparison.differing(random_blocks(comparison.format, 40_000, seed=1)) == []
