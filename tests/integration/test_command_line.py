"""The words of a command line, read plainly and by argparse."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco.cli import VERBS
from pyaco.cli.command_line import CommandLine

WORDS = ("a", "b.bin", "", "-", "--", "-o", "--output", "--output=c", "--output=", "-oc", "-o=c", "--target", "--target=gfx900", "--targ", "gfx1200",
         "--json", "--json=1", "-h", "-5", "8", "x y", "- x", "--level", "--level=1", "--wave", "--wave=64", "32", "--samples=two",
         "--engine=fast", "--occupancy")  # fmt: skip


def test_the_end_of_a_process_is_orderly() -> None:
    """Buffered output is written, the status is right, exit handlers run, whether or not Python ends by itself."""
    start = "import sys; from pyaco.cli import command; sys.argv = ['pyaco', 'disasm', sys.argv[1], '--target', 'gfx900']; "
    for before, after in (("", ""), ("import atexit; atexit.register(print, 'bye'); ", "bye\n"), ("import threading; ", "")):
        for words, status, text in (("-", 0, "before\n\ts_endpgm\n" + after), ("missing", 2, "before\n" + after)):
            code = before + start + "sys.stdout.write('before\\n'); sys.exit(command())"
            end = subprocess.run([sys.executable, "-c", code, words], input=bytes.fromhex("000081bf"), capture_output=True)
            assert (end.returncode, end.stdout.decode()) == (status, text)
            assert end.stderr.decode() == ("" if status == 0 else "pyaco: missing: No such file or directory\n")


def command_line(verb: str) -> CommandLine:
    made = CommandLine(f"pyaco {verb}", VERBS[verb])
    importlib.import_module(f"pyaco.cli.{verb}").add_arguments(made)
    return made


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(sorted(VERBS)), st.lists(st.sampled_from(WORDS), max_size=7))
def test_plain_words_mean_what_argparse_says(verb: str, words: list[str]) -> None:
    line = command_line(verb)
    plain = line.parse_plain(words)
    if plain is not None:
        assert vars(plain) == vars(line.parse_any(words))


@pytest.mark.parametrize("words", [["a"], ["--json", "a", "--target", "gfx900"], ["-o", "-", "-"], ["a", "--target=gfx900", "--output=b"]])
@pytest.mark.parametrize("verb", ["asm", "disasm"])
def test_usual_words_are_plain(verb: str, words: list[str]) -> None:
    assert command_line(verb).parse_plain(words) is not None


@pytest.mark.parametrize("words", [["gfx1030", "--linear", "64x64"], ["--linear", "gfx1030", "64x64"], ["gfx1030", "--levels=2", "64x64"]])
def test_a_place_that_may_be_left_out_stands_behind_options(words: list[str]) -> None:
    line = command_line("surface")
    for options in (line.parse_plain(words), line.parse_any(words)):
        assert options is not None and (options.chip, options.extent) == ("gfx1030", "64x64")


def test_argparse_is_left_alone() -> None:
    code = "import io, sys; sys.stdin = io.TextIOWrapper(io.BytesIO()); from pyaco.cli import main; main(['asm', '-'])"
    result = subprocess.run([sys.executable, "-c", f"{code}; print('argparse' in sys.modules)"], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def options_of(verb: str) -> list[tuple[str, dict[str, Any]]]:
    """The options of a verb by their long names, with argparse's rules."""
    return [(next(name for name in argument.names if name.startswith("--")), argument.rules) for argument in command_line(verb).arguments
            if argument.names[0].startswith("-")]  # fmt: skip


def is_repeatable(rules: dict[str, Any]) -> bool:
    return rules.get("nargs") in ("+", "*") or rules.get("action") in ("append", "extend") or "repeat" in rules.get("help", "")


REPEATABLE = [(verb, name) for verb in VERBS for name, rules in options_of(verb) if is_repeatable(rules)]


@pytest.mark.parametrize(("verb", "name"), REPEATABLE)
def test_repeatable_options_keep_every_word(verb: str, name: str) -> None:
    """Given twice, an option that takes several words, or says that it may be repeated, has the words of both times, and of no other call."""
    line = command_line(verb)
    needed = [argument.rules.get("choices", ("x",))[0] for argument in line.arguments
              if not argument.names[0].startswith("-") and argument.rules.get("nargs") not in ("?", "*")]  # fmt: skip
    for _ in range(2):
        options = vars(line.parse([*needed, name, "0=1", name, "3=2"]))
        assert options[name.lstrip("-").replace("-", "_")] == ["0=1", "3=2"]
    assert vars(line.parse(needed))[name.lstrip("-").replace("-", "_")] == []


def test_the_options_that_may_be_repeated() -> None:
    found = {f"{verb} {name}" for verb, name in REPEATABLE}
    assert {"compile --spec", "compile --dump-after", "run --spec", "run --buffer", "run --save", "run --arg", "pm4 --memory"} <= found
