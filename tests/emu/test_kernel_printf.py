"""What kernels print: our printf against the C library's, and the hostcall buffer served at a wave's interrupt."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
import sys
from collections.abc import Iterator
from itertools import combinations, product

import pytest

from pyaco.emu.printf import text_of

FLAGS = ["".join(chosen) for count in range(6) for chosen in combinations("-+ #0", count)]
WIDTHS, PRECISIONS = ("", "1", "7", "24"), ("", ".", ".0", ".3", ".15")
INTEGERS = (0, 1, 9, 255, 0x7F, 0x80, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1, 0x123456789ABCDEF)
FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 1e-5, 123456.789, 1e22, -2.5e-310, 5e-324, 1.7976931348623157e308, 9.9999995, 0.5, 2.5,
          float("inf"), float("-inf"), float("nan"))  # fmt: skip


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    name = ctypes.util.find_library("c")
    if sys.platform != "linux" or name is None:
        pytest.skip("glibc says what the text is")
    return ctypes.CDLL(name)


def padded(text: bytes) -> bytes:
    """A string as device code sends it."""
    return text + bytes(8 - len(text) % 8)


def expected(library: ctypes.CDLL, form: bytes, *values: object) -> str:
    buffer = ctypes.create_string_buffer(2048)
    library.snprintf(buffer, ctypes.c_size_t(2048), form, *values)
    return buffer.value.decode()


def specifications(kinds: str, precisions: tuple[str, ...] = PRECISIONS) -> Iterator[str]:
    for flags, width, precision, kind in product(FLAGS, WIDTHS, precisions, kinds):
        yield f"%{flags}{width}{precision}{{}}{kind}"


@pytest.mark.parametrize("kind", "diouxX")
def test_integers(library: ctypes.CDLL, kind: str) -> None:
    for specification, length in product(specifications(kind), ("", "hh", "h", "l", "ll", "z", "j", "t")):
        form = f"<{specification.format(length)}>".encode()
        for value in INTEGERS:
            assert text_of(padded(form) + struct.pack("<Q", value)) == expected(library, form, ctypes.c_uint64(value)), (form, hex(value))


@pytest.mark.parametrize("kind", "fFeEgGaA")
def test_floats(library: ctypes.CDLL, kind: str) -> None:
    for specification in specifications(kind):
        form = f"<{specification.format('')}>".encode()
        for value in FLOATS:
            assert text_of(padded(form) + struct.pack("<d", value)) == expected(library, form, ctypes.c_double(value)), (form, value)


@pytest.mark.parametrize("kind", "sc")
def test_strings_and_characters(library: ctypes.CDLL, kind: str) -> None:
    flags = ("", "-")
    for flag, width, precision in product(flags, WIDTHS, PRECISIONS if kind == "s" else ("",)):
        form = f"<%{flag}{width}{precision}{kind}>".encode()
        for text in (b"", b"a", b"seven77", b"eight888", b"a longer string than one word"):
            if kind == "s":
                assert text_of(padded(form) + padded(text)) == expected(library, form, text), (form, text)
            elif text:
                assert text_of(padded(form) + struct.pack("<Q", text[0])) == expected(library, form, text[0]), (form, text)


def test_a_message_with_everything(library: ctypes.CDLL) -> None:
    """Widths and precisions that are arguments, strings among numbers, pointers, percent signs, %n."""
    form = b"%*d|%-*.*f|%s|%p|%p|100%%|%n%c|%u\n"
    words = (5, 42, 9, 2)
    message = padded(form) + b"".join(struct.pack("<Q", word) for word in words) + struct.pack("<d", 2.345) + padded(b"a string") + struct.pack(
        "<5Q", 0xDEAD0000BEEF, 0, 0x1000, ord("c"), 0xFFFFFFFF
    )
    integer, double, pointer = ctypes.c_int, ctypes.c_double, ctypes.c_void_p
    without_n = form.replace(b"%n", b"")
    assert text_of(message) == expected(library, without_n, integer(5), integer(42), integer(9), integer(2), double(2.345), b"a string",
                                        pointer(0xDEAD0000BEEF), pointer(0), integer(ord("c")), ctypes.c_uint(0xFFFFFFFF))  # fmt: skip
    negative = (1 << 64) - 6
    assert text_of(padded(b"%*d|") + struct.pack("<2Q", negative, 1)) == "1     |"


def test_what_a_kernel_sends_wrongly_is_no_crash() -> None:
    for cut in range(64):
        text_of((padded(b"%d %s %5.*f %a %") + bytes(range(1, 40)))[:cut])
    assert text_of(b"eight888") == "eight888"           # as long as its words: no zero ends it
    assert text_of(padded(b"%d %q %")) == "0 %q %"
    assert text_of(padded(b"\xff%s") + padded(b"\xc3\xa4")) == "\ufffd\u00e4"
