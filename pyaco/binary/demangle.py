"""Names of C++ functions as sources spell them: ``_ZN2ns5scaleIfLi4EEEvPT_`` is ``ns::scale<float, 4>``.

What a kernel's name and its template arguments consist of is read; parameters are not, for a kernel is named without them. Names with
expressions, operators, lambdas or members of functions stay as they are.

Source: the Itanium C++ ABI, "External Names (a.k.a. Mangling)".
"""

from __future__ import annotations

import re

__all__ = ["demangled", "plain_name"]

_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short", "t": "unsigned short",
    "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long", "n": "__int128",
    "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double", "g": "__float128", "z": "...",
    "Dh": "half", "DF16_": "_Float16", "DF16b": "std::bfloat16_t", "Dn": "std::nullptr_t", "Du": "char8_t", "Ds": "char16_t", "Di": "char32_t",
}  # fmt: skip
_SUFFIXES = {"j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
_QUALIFIERS = {"r": " restrict", "V": " volatile", "K": " const"}
_REFERENCES = {"P": "*", "R": "&", "O": "&&"}
_STANDARD = {"t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream", "o": "std::ostream",
             "d": "std::iostream"}  # fmt: skip
_DEEPEST, _LONGEST = 60, 1 << 14


class _Unknown(Exception):
    """A name that is not read."""


def demangled(symbol: str) -> str | None:
    """Return the qualified name with template arguments that a symbol stands for, or None where it is no such name."""
    if not symbol.startswith("_Z"):
        return None
    try:
        return _Reader(symbol).name()
    except _Unknown:
        return None


def plain_name(name: str) -> str:
    """Return a name without what its writers may leave out: blanks between tokens, suffixes of numbers."""
    name = re.sub(r"(?<=[<,( ])(-?\d+)(?:u|l|ul|ll|ull)(?=[>,) ])", r"\1", name)
    return re.sub(r"\s*([<>,*&\[\]()])\s*", r"\1", name.strip())


class _Reader:
    """A position in a symbol, and what later parts of it may refer to."""

    def __init__(self, symbol: str) -> None:
        self.text, self.at, self.depth = symbol, 2, 0
        self.seen: list[str] = []

    def peek(self, *words: str) -> bool:
        """Whether one of `words` comes next."""
        return self.text.startswith(words, self.at)

    def take(self, word: str) -> bool:
        """Go past `word` if it comes next."""
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def match(self, pattern: str) -> str:
        """Go past what `pattern` matches."""
        found = re.compile(pattern).match(self.text, self.at)
        if found is None:
            raise _Unknown
        self.at = found.end()
        return found[0]

    def remember(self, name: str) -> str:
        """Note what a substitution may stand for."""
        if len(name) > _LONGEST or len(self.seen) > _LONGEST:
            raise _Unknown
        self.seen.append(name)
        return name

    def name(self) -> str:
        """Read the name of a function."""
        if self.take("N"):
            return self.nested()
        name = self.unscoped()
        if self.peek("I"):
            name = self.remember(name) + self.template_arguments()
        return name

    def nested(self) -> str:
        """Read a name in namespaces or classes, behind its N."""
        self.match("[rVK]*[RO]?")
        name = ""
        while not self.take("E"):
            if self.peek("I") and name:
                name = self.remember(name + self.template_arguments())
            elif self.peek("S"):
                name = self.substitution()
            else:
                name = self.remember(f"{name}::{self.source_name()}" if name else self.source_name())
        return name

    def unscoped(self) -> str:
        return f"std::{self.source_name()}" if self.take("St") else self.source_name()

    def source_name(self) -> str:
        """Read an identifier, counted, with its tags."""
        self.take("L")                                              # of internal linkage
        size = int(self.match("[1-9][0-9]{0,4}"))
        name = self.text[self.at : self.at + size]
        if len(name) != size:
            raise _Unknown
        self.at += size
        while self.take("B"):
            name += f"[abi:{self.source_name()}]"
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N") else name

    def substitution(self) -> str:
        """Read a reference to what was read before, or to a name of the standard library."""
        self.match("S")
        if self.peek(*_STANDARD):
            return _STANDARD[self.match(".")]
        digits = self.match("[0-9A-Z]*_")[:-1]
        index = int(digits, 36) + 1 if digits else 0
        if index >= len(self.seen):
            raise _Unknown
        return self.seen[index]

    def template_arguments(self) -> str:
        """Read the arguments of a template."""
        self.match("I")
        return f"<{', '.join(self.arguments())}>"

    def arguments(self) -> list[str]:
        found: list[str] = []
        while not self.take("E"):
            if self.take("J"):
                found += self.arguments()
            elif self.take("L"):
                found.append(self.literal())
            else:
                found.append(self.type())
        return found

    def literal(self) -> str:
        """Read a constant, behind its L."""
        letter = self.text[self.at : self.at + 1]
        kind = self.type()
        negative = "-" if self.take("n") else ""
        value = negative + self.match("[0-9]+")
        self.match("E")
        if letter == "b":
            return "true" if value != "0" else "false"
        if letter == "i" or letter in _SUFFIXES:
            return value + _SUFFIXES.get(letter, "")
        if kind in ("float", "double", "long double"):
            raise _Unknown
        return f"({kind}){value}"

    def type(self) -> str:
        """Read a type."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Unknown
        name = self.any_type()
        self.depth -= 1
        return name

    def any_type(self) -> str:
        for length in (1, 2, 5):
            code = self.text[self.at : self.at + length]
            if len(code) == length and code in _BUILTIN:
                self.at += length
                return _BUILTIN[code]
        if self.peek(*_QUALIFIERS):
            qualifiers = "".join(_QUALIFIERS[letter] for letter in reversed(self.match("r?V?K?")))
            return self.remember(self.type() + qualifiers)
        if self.peek(*_REFERENCES):
            sign = _REFERENCES[self.match(".")]
            return self.remember(self.type() + sign)
        if self.take("Dv"):
            size = self.match("[0-9]+_")[:-1]
            return self.remember(f"{self.type()} vector[{size}]")
        if self.take("N"):
            return self.nested()
        known = self.peek("S") and not self.peek("St")
        name = self.substitution() if known else self.remember(self.unscoped())
        return self.remember(name + self.template_arguments()) if self.peek("I") else name
