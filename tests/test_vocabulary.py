"""The names of the machine's and both IRs' numbers: made from the data sheets, current, and readable in both directions."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pyaco._core.common import vocabulary as machine
from pyaco._core.ir import vocabulary
from pyaco._core.nir import build

ROOT = Path(__file__).parent.parent
ENUMERATIONS = [entry for module in (machine, vocabulary) for entry in vars(module).values()
                if isinstance(entry, type) and issubclass(entry, machine.Words) and entry is not machine.Words]  # fmt: skip
# Enums whose members are no alternatives and no single bits: places of fields, masks.
UNNAMED = {"FloatMode", "OperandFlag"}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    specification = importlib.util.spec_from_file_location("write_vocabulary", ROOT / "tools/write_vocabulary.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_the_modules_are_what_the_data_sheets_say(generator: ModuleType) -> None:
    texts = generator.vocabularies(ROOT)
    assert len(texts) == 2
    for module, text in texts.items():
        assert (ROOT / module).read_text() == text, "run tools/write_vocabulary.py"


def test_every_member_of_a_named_enum_is_read(generator: ModuleType) -> None:
    sheet = 'cdef enum:                        # Colour: of light\n    colour_red = 1  # "rot"; warm\n    colour_dark_blue = 3 * 4\n'
    (colour,) = generator.enumerations(sheet + "cdef enum:\n    nameless = 3\n")
    assert (colour.name, colour.about) == ("Colour", "Colour: of light.")
    assert colour.members == [("colour_red", 1, '"rot"; warm'), ("colour_dark_blue", 12, "")]
    assert '    RED = Word(1, "rot")  # warm' in colour.lines() and '    DARK_BLUE = Word(12, "dark_blue")' in colour.lines()
    with pytest.raises(ValueError, match="no member"):
        generator.enumerations("cdef enum:            # Colour\n    colour_red\n")


@pytest.mark.parametrize("words", ENUMERATIONS, ids=lambda words: words.__name__)
def test_names_and_numbers_are_inverse(words: type[machine.Words]) -> None:
    names = words.names()
    assert len(names) == len(words.members()), "two members of one number"
    for number, text in names.items():
        assert words.numbers()[text] == number
    for member in words.members():
        assert words.numbers()[member.name.lower()] == member
    if words.__name__ not in UNNAMED:
        assert len(set(names.values())) == len(names), "two members of one text"


def test_spellings_that_text_has_had_are_read() -> None:
    modes = vocabulary.VariableMode
    assert modes.PUSH_CONSTANT.text == "push_const" and modes.SYSTEM_VALUE.text == "system"
    assert modes.numbers()["push_constant"] == modes.numbers()["push_const"] == 0x20
    assert modes.numbers()["system_value"] == modes.numbers()["system"] == 0x80


def test_the_table_of_textures_has_the_dimensions_of_the_sheet() -> None:
    assert {number: name for name, (number, *_) in build.IMAGE_DIMS.items()} == vocabulary.ImageDim.names()
