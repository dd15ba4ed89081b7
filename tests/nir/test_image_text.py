"""Image intrinsics: every one with every value of its indices is valid, and printing and parsing keep it."""

from __future__ import annotations

import pytest

from pyaco._core.ir.shader import Shader
from pyaco._core.ir.vocabulary import AtomicOperation
from pyaco._core.nir import build, validate
from pyaco.errors import InputError
from pyaco.nir.builder import Builder
from pyaco.nir.parse import parse_shader
from pyaco.nir.text import print_shader
from pyaco.nir.text_texture import IMAGE_INDICES

INTRINSICS = [name for name in build.INTRINSICS if name.startswith(("image_deref_", "bindless_image_"))]
#: Components of the sources after the image, and of the result, where the tables leave them open.
SOURCES = {"load": (4, 1, 1), "sparse_load": (4, 1, 1), "store": (4, 1, 4, 1), "atomic": (4, 1, 1), "atomic_swap": (4, 1, 1, 1), "size": (1,),
           "levels": (), "samples": (), "fragment_mask_load_amd": (4,)}  # fmt: skip
WORDS = IMAGE_INDICES | {"access": {0: "none"}, "atomic_op": AtomicOperation.names()}
RESULTS = {"load": 4, "sparse_load": 5, "size": 3}


def shader(name: str, indices: dict[str, int]) -> Shader:
    """A shader of one intrinsic, the last."""
    b = Builder(103)
    operation = name.removeprefix("image_deref_").removeprefix("bindless_image_")
    first = b.undef(1 if "deref" in name else 8)
    values = [first, *(b.undef(components) for components in SOURCES[operation])]
    numbers = {build.INDICES[index]: value for index, value in indices.items()}
    b.emit(build.intrinsic(b.shader, build.INTRINSICS[name], values, RESULTS.get(operation, 1), 32, numbers))
    return b.finish()


def test_every_operation_has_both_forms() -> None:
    assert {name.removeprefix("image_deref_") for name in INTRINSICS if "deref" in name} == set(SOURCES)
    assert {name.removeprefix("bindless_image_") for name in INTRINSICS if "deref" not in name} == set(SOURCES)


@pytest.mark.parametrize("name", INTRINSICS)
def test_text_keeps_every_index(name: str) -> None:
    for index in build.INTRINSIC_INDICES[name]:
        for number, word in WORDS[index].items():
            made = shader(name, {index: int(number)})
            validate.run(made)
            text = print_shader(made)
            assert f"{index}={word}" in text
            read = parse_shader(text)
            assert print_shader(parse_shader(print_shader(read))) == print_shader(read)
            assert read.indices.value.tolist() == made.indices.value.tolist()


def test_unknown_words_are_refused() -> None:
    text = print_shader(shader("image_deref_load", {"format": 4}))
    for word, other in (("r8g8b8a8_unorm", "r8g8b8a8_double"), ("image_dim=1d", "image_dim=4d"), ("image_array=false", "image_array=maybe")):
        assert word in text
        with pytest.raises(InputError, match="cannot read"):
            parse_shader(text.replace(word, other))
