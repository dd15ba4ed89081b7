"""The words of a command line, and the files that they name.

A verb declares what it takes as it would to argparse. Words that are plain are read by these declarations alone; argparse, whose
import takes longer than the work of many a command, is loaded for all others: help, mistakes, abbreviations, lists.
"""

import os
import sys

from pyaco.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO, Any

    from typing_extensions import Buffer

__all__ = ["CommandLine", "Options", "is_code_object", "may_be_of_radv", "read_bytes", "write_bytes", "write_text"]


class Options:
    """What the words say, by name."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> "Any": ...


class Argument:
    """A declared argument: names and rules as argparse has them."""

    #: The rules of an argument that is one word, or a flag.
    PLAIN = frozenset(("metavar", "help", "default", "choices", "type", "action"))

    def __init__(self, names: tuple[str, ...], rules: "dict[str, Any]") -> None:
        self.names = names
        self.rules = rules
        self.name = next((name for name in names if name.startswith("--")), names[0]).lstrip("-").replace("-", "_")
        self.is_flag = rules.get("action") == "store_true"
        self.may_be_left_out = rules.get("nargs") == "?" and not _is_option(names[0])
        self.is_plain = rules.keys() - ({"nargs"} if self.may_be_left_out else ()) <= self.PLAIN and (self.is_flag or "action" not in rules)
        self.default = rules.get("default", False if self.is_flag else None)

    def value(self, word: str | None) -> "Any":
        """What the word stands for; ValueError where it is none that the argument takes."""
        if word is None or _is_option(word):
            raise ValueError("a word is missing")
        value = self.rules.get("type", str)(word)
        if value not in self.rules.get("choices", (value,)):
            raise ValueError("no choice")
        return value


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


class CommandLine:
    """What a verb takes.

    Parameters
    ----------
    program, description
        What help says above the arguments.
    """

    def __init__(self, program: str, description: str) -> None:
        self._program = program
        self._description = description
        self.arguments: list[Argument] = []

    def add_argument(self, *names: str, **rules: "Any") -> None:
        """Declare an argument as ``argparse.ArgumentParser.add_argument`` does."""
        self.arguments.append(Argument(names, rules))

    def parse(self, words: "Sequence[str]") -> Options:
        """The options that `words` give.

        Raises
        ------
        SystemExit
            When help or an error has been printed.
        """
        return self.parse_plain(words) or self.parse_any(words)

    def parse_plain(self, words: "Sequence[str]") -> Options | None:
        """The options, if every word is spelled out and in its place and no argument takes several; else None."""
        if not all(argument.is_plain for argument in self.arguments):
            return None
        options = Options()
        found = vars(options)
        found.update((argument.name, argument.default) for argument in self.arguments)
        places = iter([argument for argument in self.arguments if not _is_option(argument.names[0])])
        rest = iter(words)
        try:
            for word in rest:
                if not _is_option(word):
                    argument = next(places)
                    found[argument.name] = argument.value(word)
                    continue
                name, equals, text = word.partition("=")
                argument = next(argument for argument in self.arguments if name in argument.names)
                if equals and (argument.is_flag or not name.startswith("--")):
                    return None
                found[argument.name] = argument.is_flag or argument.value(text if equals else next(rest, None))
        except (StopIteration, ValueError):
            return None
        return options if all(argument.may_be_left_out for argument in places) else None

    def parse_any(self, words: "Sequence[str]") -> Options:
        """The same by argparse, of which a place that may be left out can stand behind options too."""
        import argparse

        parser = argparse.ArgumentParser(prog=self._program, description=self._description)
        for argument in self.arguments:
            parser.add_argument(*argument.names, **argument.rules)
        return parser.parse_intermixed_args(words, Options())


def read_bytes(path: str) -> bytes:
    """Return the contents of a file, ``-`` for standard input."""
    try:
        if path == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed")
            return sys.stdin.buffer.read()
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def is_code_object(data: bytes) -> bool:
    """Whether a file begins as a code object, or as one of those that hold code objects."""
    return data.startswith((b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"))


def may_be_of_radv(data: bytes) -> bool:
    """Whether a file begins as a Vulkan pipeline cache, or with the type of RADV's binaries and says its own size; ``pyaco.binary.radv`` knows for
    certain, and takes ten times as long to load as machine code that begins with zeros takes to print."""
    if data.startswith(bytes(4)):
        return (len(data) & 0xFFFFFFFF).to_bytes(4, "little") in data
    return data.startswith(b"\x20\0\0\0\1\0\0\0\x02\x10\0\0")


def write_bytes(path: str | None, data: "Buffer") -> None:
    """Write a whole file at once, or standard output; a failure leaves an old file as it was."""
    if path in (None, "-"):
        if sys.stdout is None:
            raise InputError("standard output is closed")
        _write_stream(sys.stdout, "standard output", data)
        return
    target = os.path.realpath(str(path))
    if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe is written to, never replaced
        try:
            with open(target, "wb", buffering=0) as stream:
                _write_stream(stream, str(path), data)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None
        return
    draft = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.getpid()}")
    try:
        with open(draft, "xb") as file:
            file.write(data)
        os.replace(draft, target)
    except OSError as error:
        if os.path.exists(draft):
            os.unlink(draft)
        raise InputError(f"{path}: {error.strerror or error}") from None


def _write_stream(stream: "IO[Any]", name: str, data: "Buffer") -> None:
    try:
        stream.flush()  # text that waits comes before bytes, which do not pass through it
        below = getattr(stream, "buffer", stream)
        below.write(data)
        below.flush()
    except OSError as error:
        if stream is sys.stdout:
            _abandon_output()
        if isinstance(error, BrokenPipeError):
            raise
        raise InputError(f"{name}: {error.strerror or error}") from None


def _abandon_output() -> None:
    """Send nowhere what standard output still has in its buffer: Python writes it once more as it exits, and would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def write_text(path: str | None, text: str) -> None:
    """Write text that ends with a newline."""
    write_bytes(path, (text if text.endswith("\n") else text + "\n").encode())
