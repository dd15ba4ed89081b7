"""C's printf for what kernels print: a format, and arguments as the 64-bit words that device code sends.

Source: ISO C, "The fprintf function". Numbers look as glibc writes them, because that is what prints on a host with a GPU.
"""

from __future__ import annotations

import re
import struct
from math import copysign, isfinite, isnan

__all__ = ["text_of"]

_CONVERSION = re.compile(rb"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?(?P<length>hh|h|ll|l|L|q|j|z|t)?(?P<kind>.)", re.DOTALL)
_LENGTHS = {b"hh": 8, b"h": 16, b"": 32}
_WORD = 8


class _Words:
    """The words behind the format, taken one after the other; where a kernel sent too few, zero."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data, self._place = data, place

    def take(self) -> int:
        """Return the next word."""
        word = self._data[self._place : self._place + _WORD]
        self._place += _WORD
        return int.from_bytes(word, "little")

    def take_string(self) -> bytes:
        """Return the string that begins at the next word and ends before a zero; words after it are the next arguments."""
        found = _until_zero(self._data, self._place)
        self._place += (len(found) // _WORD + 1) * _WORD
        return found


def text_of(message: bytes) -> str:
    """Return what printf prints.

    Parameters
    ----------
    message : bytes
        The format, ended by a zero or the end of the message and padded to whole words; then a word for each number, character and ``*``,
        and for each ``%s`` the string itself, padded likewise.
    """
    form = _until_zero(message, 0)
    words = _Words(message, (len(form) // _WORD + 1) * _WORD)
    return _CONVERSION.sub(lambda match: _converted(match, words), form).decode("utf-8", "replace")


def _until_zero(data: bytes, start: int) -> bytes:
    end = data.find(0, start)
    return data[start:] if end < 0 else data[start:end]


def _converted(match: re.Match[bytes], words: _Words) -> bytes:
    kind = match["kind"]
    if kind == b"%":
        return b"%"
    flags, width, precision = set(match["flags"].decode()), _count(match["width"], words), None
    if match["precision"] is not None:
        precision = _count(match["precision"], words)
    if width < 0:
        flags, width = flags | {"-"}, -width
    if precision is not None and precision < 0:
        precision = None
    if kind in b"diouxX":
        sign, body = _integer(kind, flags, precision, words.take(), _LENGTHS.get(match["length"] or b"", 64))
        if precision is not None:
            flags -= {"0"}
    elif kind in b"fFeEgGaA":
        sign, body = _float(kind, flags, precision, words.take())
        if body in ("inf", "nan", "INF", "NAN"):
            flags -= {"0"}
    elif kind == b"s":
        return _padded("", words.take_string()[:precision], width, flags - {"0"})
    elif kind == b"c":
        return _padded("", bytes([words.take() & 0xFF]), width, flags - {"0"})
    elif kind == b"p":
        pointer = words.take()
        return _padded("", f"{pointer:#x}".encode() if pointer else b"(nil)", width, flags - {"0"})
    elif kind == b"n":                                  # the kernel's own pointer, which the host does not write through
        words.take()
        return b""
    else:
        return match[0]
    return _padded(sign, body.encode(), width, flags)


def _count(text: bytes, words: _Words) -> int:
    if text == b"*":
        return _signed(words.take(), 32)
    return int(text or b"0")


def _padded(sign: str, body: bytes, width: int, flags: set[str]) -> bytes:
    """`body` behind its sign (or 0x), filled up to `width`."""
    missing = b" " * (width - len(sign) - len(body))
    if "-" in flags:
        return sign.encode() + body + missing
    if "0" in flags:
        return sign.encode() + missing.replace(b" ", b"0") + body
    return missing + sign.encode() + body


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def _sign(negative: bool, flags: set[str]) -> str:
    return "-" if negative else "+" if "+" in flags else " " if " " in flags else ""


def _integer(kind: bytes, flags: set[str], precision: int | None, word: int, bits: int) -> tuple[str, str]:
    sign, value = "", word & (1 << bits) - 1
    if kind in b"di":
        value = _signed(word, bits)
        sign, value = _sign(value < 0, flags), abs(value)
    digits = format(value, {b"o": "o", b"x": "x", b"X": "X"}.get(kind, "d"))
    digits = "" if precision == 0 and value == 0 else digits.zfill(precision or 0)
    if "#" in flags and kind in b"xX" and value:
        sign = "0" + kind.decode()
    if "#" in flags and kind == b"o" and not digits.startswith("0"):
        digits = "0" + digits
    return sign, digits


def _float(kind: bytes, flags: set[str], precision: int | None, word: int) -> tuple[str, str]:
    (value,) = struct.unpack("<d", struct.pack("<Q", word))
    sign = _sign(copysign(1.0, value) < 0, flags)
    letter = kind.decode().lower()
    if not isfinite(value):
        body = "nan" if isnan(value) else "inf"
    elif letter == "a":
        prefix, body = _hexadecimal(abs(value), precision, "#" in flags)
        sign += prefix
    else:
        body = format(abs(value), f"{'#' if '#' in flags else ''}.{6 if precision is None else precision}{letter}")
    return (sign.upper(), body.upper()) if kind.isupper() else (sign, body)


def _hexadecimal(value: float, precision: int | None, point: bool) -> tuple[str, str]:
    """Prefix and digits of %a; glibc writes a leading 1 (0 for zero and denormals) and no zeros at the end."""
    bits = int.from_bytes(struct.pack("<d", value), "little")
    exponent, fraction = bits >> 52, bits & (1 << 52) - 1
    lead, power = (1, exponent - 1023) if exponent else (0, -1022 if fraction else 0)
    if precision is not None and precision < 13:
        unit = 1 << 4 * (13 - precision)
        whole = (lead << 52) + fraction
        rest = whole % unit
        whole += (unit if rest * 2 > unit or (rest * 2 == unit and whole // unit & 1) else 0) - rest
        lead, fraction = whole >> 52, whole & (1 << 52) - 1
    digits = f"{fraction:013x}"
    digits = digits.rstrip("0") if precision is None else digits[:precision].ljust(precision, "0")
    return "0x", f"{lead}{'.' if digits or point else ''}{digits}p{power:+d}"

