"""The names of the machine and of both IRs for Python: ``write_vocabulary.py [--check]`` writes them from the data sheets.

``_core/common/machine.pxd`` becomes ``_core/common/vocabulary.py``, ``_core/ir/program.pxd`` and ``_core/ir/shader.pxd`` become
``_core/ir/vocabulary.py``. An enum whose comment begins with a name becomes a class of that name; the rest of the comment is its docstring.
Members lose what they all begin with. A member's comment that begins with a quoted word says how IR text writes it. The files are part of the
repository, so that type checkers and readers see them; a test compares them.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

#: Data sheets by the module that is made of them.
SHEETS = {
    "pyaco/_core/common/vocabulary.py": ("pyaco/_core/common/machine.pxd",),
    "pyaco/_core/ir/vocabulary.py": ("pyaco/_core/ir/program.pxd", "pyaco/_core/ir/shader.pxd"),
}
MACHINE_HEAD = '''"""Names of the machine's numbers. Written by ``tools/write_vocabulary.py`` from the data sheet ``machine.pxd``; do not edit.

Members are integers that know their name and what IR text writes for them. (They are no ``enum.IntEnum``: CPython 3.11 gives away references
to None for each of its members, and loading so many of them would take longer than all else that reading a text does.)
"""

from __future__ import annotations


class Word(int):
    """A number of the data sheets."""

    name: str
    text: str

    def __new__(cls, value: int, text: str) -> Word:
        """Make a number that has a text; its class gives it its name."""
        word = super().__new__(cls, value)
        word.text = text
        return word

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class Words:
    """An enumeration of the data sheets."""

    @classmethod
    def members(cls) -> tuple[Word, ...]:
        """All members in the order of the data sheet."""
        return tuple(member for member in vars(cls).values() if isinstance(member, Word))

    @classmethod
    def names(cls) -> dict[int, str]:
        """Text by number."""
        return {int(member): member.text for member in cls.members()}

    @classmethod
    def numbers(cls) -> dict[str, int]:
        """Number by text, and by the member's name in lower case."""
        return {member.name.lower(): int(member) for member in cls.members()} | {member.text: int(member) for member in cls.members()}

    @classmethod
    def bits(cls) -> dict[int, str]:
        """Text of each single bit, from the lowest on."""
        return {value: text for value, text in sorted(cls.names().items()) if value and not value & (value - 1)}
'''
IR_HEAD = '''"""Names of both IRs' numbers. Written by ``tools/write_vocabulary.py`` from the data sheets; do not edit."""

from __future__ import annotations

from pyaco._core.common.vocabulary import Word, Words
'''
HEADS = {"pyaco/_core/common/vocabulary.py": MACHINE_HEAD, "pyaco/_core/ir/vocabulary.py": IR_HEAD}


@dataclass
class Enumeration:
    """One enum of a data sheet: members are identifier, value and comment."""

    name: str
    about: str
    members: list[tuple[str, int, str]] = field(default_factory=list)

    def prefix(self) -> str:
        """What all identifiers begin with, whole words with their underscore."""
        words = [identifier.split("_")[:-1] for identifier, _, _ in self.members]
        same = 0
        while all(len(parts) > same and parts[same] == words[0][same] for parts in words):
            same += 1
        return "".join(f"{word}_" for word in words[0][:same])

    def lines(self) -> list[str]:
        """The class."""
        prefix = self.prefix()
        out = ["", "", f"class {self.name}(Words):", f'    """{self.about}"""', ""]
        for identifier, value, comment in self.members:
            short = identifier.removeprefix(prefix)
            match = re.match(r'"([^"]+)"(?:; )?(.*)', comment)
            text, about = (match[1], match[2]) if match else (short, comment)
            name = (short if short.isidentifier() else identifier).upper()
            out.append(f'    {name} = Word({value if value < 16 else hex(value)}, "{text}")' + (f"  # {about}" if about else ""))
        return out


def enumerations(text: str) -> list[Enumeration]:
    """Return the named enums of a data sheet."""
    found: list[Enumeration] = []
    current: Enumeration | None = None
    for line in text.splitlines():
        if line.startswith("cdef enum:"):
            match = re.match(r"cdef enum: +# ([A-Z]\w+)(?:: (.*))?$", line)
            current = Enumeration(match[1], ": ".join(filter(None, match.groups())) + ".") if match else None
            if current is not None:
                found.append(current)
        elif not line.startswith("    "):
            current = None
        elif current is not None:
            _add_member(current, line)
    return found


def _add_member(enumeration: Enumeration, line: str) -> None:
    match = re.match(r"    (\w+) = ([^#]+?)(?:\s+# (.*))?$", line)
    if match is not None:
        # Values are numbers and products of numbers.
        factors = [int(factor.strip(), 0) for factor in match[2].split("*")]
        value = factors[0] if len(factors) == 1 else factors[0] * factors[1]
        enumeration.members.append((match[1], value, match[3] or ""))
    elif comment := re.match(r" +# (.*)$", line):
        if enumeration.members and len(line) - len(line.lstrip()) > 4:
            identifier, value, before = enumeration.members[-1]
            enumeration.members[-1] = (identifier, value, f"{before} {comment[1]}".strip())
    else:
        raise ValueError(f"no member of an enum: {line!r}")


def vocabularies(source: Path) -> dict[str, str]:
    """Return the text of each module."""
    found = {}
    for module, sheets in SHEETS.items():
        lines = [HEADS[module].rstrip("\n")]
        for sheet in sheets:
            for enumeration in enumerations((source / sheet).read_text()):
                lines += enumeration.lines()
        found[module] = "\n".join(lines) + "\n"
    return found


def main() -> int:
    """Write the modules, or say whether they are current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is not current")
    options = parser.parse_args()
    source = Path(__file__).parent.parent
    current = True
    for module, text in vocabularies(source).items():
        current = current and (source / module).exists() and (source / module).read_text() == text
        if not options.check:
            (source / module).write_text(text)
    return 0 if current or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
