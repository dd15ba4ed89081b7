"""Marketing names, parsed: series, generation, performance tier, suffix; and which of two names is that of the faster card.

Source: AMD's and ATI's product lines. A series begins with its first card and ends when the next one comes: the cards of the RX 400 series,
the first to be called RX, came in 2016, those of the RX 500 series in 2017.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["Name", "decode_name", "order_names"]


@dataclass(frozen=True)
class Name:
    """A marketing name, parsed.

    Attributes
    ----------
    series : str
        Such as ``Radeon RX``.
    generation : str
        The architectures that the generation digit stands for.
    tier : str
        entry-level, mid-range, high-end or enthusiast; compute.
    suffix : str
        Such as ``XT``.
    meaning : str
        What the suffix says; empty where it is none that we know.
    year : int
        When the generation began.
    until : int
        When the next one came; 0 while there is none.
    number : int
        The model's number, such as 6700; 0 where there is none.
    """

    series: str
    generation: str
    tier: str
    suffix: str
    meaning: str
    year: int
    until: int
    number: int

    @property
    def stands_for(self) -> str:
        """What the series' name stands for; empty where it is none that we know."""
        return _MEANINGS.get(self.series, "")

    @property
    def performance(self) -> tuple[int, int]:
        """What orders the names of one generation: the number, then the suffix."""
        return self.number, _SUFFIX_ORDER.get(self.suffix, _SUFFIX_ORDER[""])


_TIERS = {**dict.fromkeys("012345", "entry-level"), "6": "mid-range", "7": "high-end", "8": "high-end", "9": "enthusiast"}
# The R5, R7, R9 and Vega names say their tier by themselves.
_R_TIERS = {"5": "entry-level", "7": "mid-range", "9": "high-end"}
_SUFFIXES = {
    "XTX": "the fastest", "XT": "faster (extreme)", "GRE": "between two models", "X": "faster", "PRO": "slower than XT", "SE": "slower",
    "LE": "slower", "GT": "slower", "GTO": "slower", "XL": "slower than XT", "M": "mobile", "S": "mobile, thin", "G": "in a processor",
}

# From slow to fast; those of mobile cards are not here.
_SUFFIX_ORDER = {"SE": 0, "LE": 1, "GTO": 2, "GT": 3, "": 4, "X": 5, "GRE": 5, "PRO": 5, "XL": 6, "XT": 7, "XTX": 8}

# What a series' name stands for.
_MEANINGS = {"Radeon RX": "Radeon Experience"}

# Series: pattern (groups: generation, tier, suffix), and per generation digit its architectures, the year and that of the next.
_SERIES: tuple[tuple[str, str, dict[str, str], dict[str, tuple[str, int, int]]], ...] = (
    ("Radeon RX", r"(?:RADEON )?RX (?P<generation>[567])(?P<tier>\d)\d{2}", _TIERS,
     {"5": ("RDNA 1", 2019, 2020), "6": ("RDNA 2", 2020, 2022), "7": ("RDNA 3", 2022, 2025)}),
    # From here on the tier is the third digit, where the names of others have it.
    ("Radeon RX", r"(?:RADEON )?RX (?P<generation>9)0(?P<tier>\d)\d", _TIERS, {"9": ("RDNA 4", 2025, 0)}),
    ("Radeon RX", r"(?:RADEON )?RX (?P<generation>[45])(?P<tier>\d)\d", _TIERS,
     {"4": ("GCN 4", 2016, 2017), "5": ("GCN 4", 2017, 2019)}),
    ("Radeon RX Vega", r"(?:RADEON )?RX (?P<generation>V)EGA (?P<tier>[56])[46]", {"5": "high-end", "6": "enthusiast"}, {"V": ("GCN 5", 2017, 2019)}),
    ("Radeon VII", r"(?:RADEON )?V(?P<generation>I)(?P<tier>I)", {"I": "enthusiast"}, {"I": ("GCN 5", 2019, 2019)}),
    ("Instinct", r"(?:RADEON )?INSTINCT MI(?P<generation>1|2|30|32|35)(?P<tier>)\d{1,2}", {"": "compute"},
     {"1": ("CDNA 1", 2020, 2021), "2": ("CDNA 2", 2021, 2023), "30": ("CDNA 3", 2023, 2024), "32": ("CDNA 3", 2024, 2025),
      "35": ("CDNA 4", 2025, 0)}),
    ("Radeon of a processor", r"RADEON (?P<generation>[678])(?P<tier>\d)0(?=M)", _TIERS,
     {"6": ("RDNA 2", 2022, 2023), "7": ("RDNA 3", 2023, 2024), "8": ("RDNA 3.5", 2024, 0)}),
    ("Radeon R9 Fury", r"(?:RADEON )?R(?P<tier>9) (?P<generation>F)URY", {"9": "enthusiast"}, {"F": ("GCN 3", 2015, 2017)}),
    ("Radeon R5/R7/R9", r"(?:RADEON )?R(?P<tier>[579]) (?P<generation>[23])\d{2}", _R_TIERS,
     {"2": ("GCN 1 to GCN 3", 2013, 2015), "3": ("GCN 1 to GCN 3", 2015, 2016)}),
    ("Radeon HD", r"(?:RADEON )?HD (?P<generation>[2-8])(?P<tier>\d)\d{2}", _TIERS,
     {"2": ("TeraScale 1", 2007, 2007), "3": ("TeraScale 1", 2007, 2008), "4": ("TeraScale 1", 2008, 2009), "5": ("TeraScale 2", 2009, 2010),
      "6": ("TeraScale 2 and 3", 2010, 2012), "7": ("GCN 1 and TeraScale", 2012, 2013), "8": ("GCN 1 and GCN 2", 2013, 2013)}),
    ("Radeon X", r"(?:RADEON )?X(?P<generation>1)(?P<tier>\d)\d{2}", _TIERS, {"1": ("R500", 2005, 2007)}),
    ("Radeon X", r"(?:RADEON )?X(?P<tier>\d)(?P<generation>[05])0", _TIERS,
     {"0": ("R300 and R400", 2004, 2005), "5": ("R300 and R400", 2004, 2005)}),
    ("Radeon", r"RADEON (?P<generation>[789])(?P<tier>\d)\d{2}", _TIERS,
     {"7": ("R100", 2001, 2001), "8": ("R200", 2001, 2002), "9": ("R200 and R300", 2002, 2004)}),
    ("Rage", r"(?:ATI )?(?:3D )?RAGE(?P<generation>)(?P<tier>) ?\w*", {"": "entry-level"}, {"": ("fixed function", 1996, 2000)}),
)


@checked
def decode_name(name: str) -> Name:
    """Parse a marketing name: generation digit, performance tier, suffix.

    Raises
    ------
    InputError
        No name of a form that we know.
    """
    text = " ".join(re.sub(r"^(AMD|ATI)\s+", "", name.strip().upper()).split())
    for series, pattern, tiers, generations in _SERIES:
        match = re.fullmatch(rf"{pattern} ?(?P<suffix>{'|'.join(_SUFFIXES)})?", text)
        if match is not None and match["generation"] in generations:
            architecture, year, until = generations[match["generation"]]
            suffix = match["suffix"] or ""
            digits = re.search(r"\d{2,}", match[0])
            return Name(series, architecture, tiers.get(match["tier"], "entry-level"), suffix, _SUFFIXES.get(suffix, ""), year, until,
                        int(digits[0]) if digits else 0)  # fmt: skip
    raise InputError(f"{name!r} has none of the forms of {', '.join(dict.fromkeys(series for series, *_ in _SERIES))}")


@checked
def order_names(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return names of one generation from slow to fast, as the rules of naming have it; those that say the same stand together.

    Parameters
    ----------
    names : sequence of str
        For example ``RX 6800``, ``RX 6700`` and ``RX 6700 XT``.

    Returns
    -------
    tuple of tuple of str

    Raises
    ------
    InputError
        A name of no form that we know, or names of several generations, or of mobile and other cards.
    """
    decoded = {name: decode_name(name) for name in names}
    kinds = {(each.series, each.year, each.suffix if each.suffix not in _SUFFIX_ORDER else "") for each in decoded.values()}
    if len(kinds) > 1:
        raise InputError(f"no order among names of several generations or kinds: {', '.join(names)}")
    ranks = sorted({each.performance for each in decoded.values()})
    return tuple(tuple(name for name, each in decoded.items() if each.performance == rank) for rank in ranks)
