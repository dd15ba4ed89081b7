"""The YAML of ``.amdgpu_metadata``: block mappings and sequences, flow sequences, scalars.

Source: the YAML 1.2 core schema, as far as code object metadata uses it (LLVM's "User Guide for AMDGPU Backend", "Code Object
Metadata").
"""

from __future__ import annotations

import re
from typing import Any

from pyaco.errors import InputError

__all__ = ["read_metadata"]

_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\[\]{},#'"&*!|>%@-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+|$)""")


def read_metadata(text: str) -> dict[str, Any]:
    """The mapping that the text means.

    Raises
    ------
    InputError
        The text is no mapping, or uses more of YAML than metadata does; the message has the line.
    """
    lines: list[tuple[int, int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare == "...":
            break
        if bare and bare != "---" and not bare.startswith("#"):
            lines.append((number, len(line) - len(line.lstrip(" ")), bare))
    if not lines:
        raise InputError("metadata: a mapping is expected")
    reader = _Reader(lines)
    value = reader.block(lines[0][1])
    if not isinstance(value, dict) or reader.position != len(lines):
        raise reader.error("a mapping is expected")
    return value


class _Reader:
    def __init__(self, lines: list[tuple[int, int, str]]) -> None:
        self.lines = lines
        self.position = 0

    def error(self, reason: str) -> InputError:
        number = self.lines[min(self.position, len(self.lines) - 1)][0]
        return InputError(f"metadata line {number}: {reason}")

    def indent(self) -> int:
        return self.lines[self.position][1] if self.position < len(self.lines) else -1

    def block(self, indent: int) -> Any:
        """The mapping or sequence whose entries stand at `indent`."""
        if indent > 200:
            raise self.error("nested too deeply")
        bare = self.lines[self.position][2]
        return self.sequence(indent) if bare == "-" or bare.startswith("- ") else self.mapping(indent)

    def sequence(self, indent: int) -> list[Any]:
        made: list[Any] = []
        while self.indent() == indent and (self.lines[self.position][2] == "-" or self.lines[self.position][2].startswith("- ")):
            number, _, bare = self.lines[self.position]
            rest = bare[1:].lstrip(" ")
            if not rest:
                self.position += 1
                made.append(self.block(self.indent()) if self.indent() > indent else None)
            elif _KEY.match(rest) or rest.startswith("- "):
                # a block that begins behind the dash
                self.lines[self.position] = (number, indent + len(bare) - len(rest), rest)
                made.append(self.block(self.indent()))
            else:
                made.append(self.scalar(rest))
                self.position += 1
        return made

    def mapping(self, indent: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while self.indent() == indent:
            bare = self.lines[self.position][2]
            match = _KEY.match(bare)
            if match is None:
                raise self.error(f"a key and a colon are expected, not {bare!r}")
            key, rest = str(_plain(match[1], text=True)), bare[match.end() :]
            if key in made:
                raise self.error(f"{key} is given twice")
            if rest and not rest.startswith("#"):
                made[key] = self.scalar(rest)
                self.position += 1
                continue
            self.position += 1
            # a sequence may stand as far left as its key
            deeper = self.indent() > indent or (self.indent() == indent and self.lines[self.position][2].startswith("-"))
            made[key] = self.block(self.indent()) if deeper else None
        if self.indent() > indent:
            raise self.error("unexpected indentation")
        return made

    def scalar(self, text: str) -> Any:
        value, rest = self.flow(text.strip())
        if rest and not rest.startswith("#"):
            raise self.error(f"unexpected {rest!r}")
        return value

    def flow(self, text: str) -> tuple[Any, str]:
        """A value at the start of the text, and what follows."""
        if text.startswith("["):
            made, rest = [], text[1:].lstrip()
            while not rest.startswith("]"):
                if not rest:
                    raise self.error("] is missing")
                value, rest = self.flow_entry(rest)
                made.append(value)
            return made, rest[1:].lstrip()
        if text[:1] in ("{", "&", "*", "!", "|", ">", "%", "@"):
            raise self.error(f"{text[0]} is more YAML than metadata has")
        if text[:1] in ("'", '"'):
            match = re.match(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\"""", text)
            if match is None:
                raise self.error("a quote has no end")
            return _plain(match[0]), text[match.end() :].lstrip()
        return _plain(text.split(" #")[0].rstrip()), ""

    def flow_entry(self, text: str) -> tuple[Any, str]:
        if text[:1] in ("[", "'", '"'):
            value, rest = self.flow(text)
        else:
            word = re.match(r"[^,\]]*", text)
            assert word is not None
            value, rest = _plain(word[0].strip()), text[word.end() :]
        return value, rest[1:].lstrip() if rest.startswith(",") else rest


def _plain(word: str, text: bool = False) -> Any:
    """A scalar; with `text` a string in any case."""
    if word[:1] == "'":
        return word[1:-1].replace("''", "'")
    if word[:1] == '"':
        escapes = {"n": "\n", "t": "\t", "0": "\0"}
        return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), word[1:-1])
    if text:
        return word
    if word in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return word.lower() == "true"
    if word in ("", "~", "null", "Null", "NULL"):
        return None
    if re.fullmatch(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+", word):
        return int(word, 0 if word[:2] in ("0x", "0o") else 10)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", word):
        return float(word)
    return word
