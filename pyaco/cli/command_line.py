"""The words of a command line.

A verb declares what it takes as it would to argparse. Words that are plain are read by these declarations alone; argparse, whose
import takes longer than the work of many a command, is loaded for all others: help, mistakes, abbreviations, lists.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["CommandLine", "Options"]


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
