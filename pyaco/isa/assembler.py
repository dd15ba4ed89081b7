"""Assembly text in LLVM's syntax to machine code; the work is in ``_core/isa/assemble_text.pyx``."""

from __future__ import annotations

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.isa.text_tables import default_wave_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyaco._core.isa.assemble_text import Assembler
    from pyaco.isa.program import Instruction, Label

__all__ = ["assemble"]


def position_of(source: bytes, offset: int) -> str:
    """Line and column of a byte, counted from 1."""
    before = source[:offset]
    return f"line {before.count(10) + 1}, column {offset - before.rfind(10)}"


def encoded(source: str) -> bytes:
    """Text in UTF-8; a lone surrogate has none."""
    try:
        return source.encode()
    except UnicodeEncodeError as error:
        before = source[: error.start].encode()
        raise InputError(f"{position_of(before, len(before))}: {source[error.start]!a} is not a character that UTF-8 can encode") from None


def run(source: bytes, target: str, wave_size: int | None, *, linkable: bool = False) -> Assembler:
    """Assemble text in UTF-8; the assembler then has code, labels and kernels, and relocations if `linkable`."""
    from pyaco._core.isa.assemble_text import Assembler
    from pyaco.isa.text_tables import text_tables

    tables = text_tables(target)
    assembler = Assembler(tables, default_wave_size(tables.level, wave_size))
    error = assembler.assemble(source, linkable)
    if error is not None:
        raise InputError(f"{position_of(source, error[0])}: {error[1]}")
    return assembler


@checked
def assemble(source: str | Iterable[Instruction | Label], target: str, *, wave_size: int | None = None) -> bytes:
    """Assemble text in LLVM's syntax, or instructions as Python objects, to machine code.

    Parameters
    ----------
    source
        Objects as ``instructions`` gives them, or text: one instruction, label (``name:``, or ``1:`` for ``1b`` and ``1f``) or
        directive per line; ``;``, ``//`` and ``/* */`` are comments. Directives: data (``.long``, ``.byte``, ``.short``, ``.quad``,
        ``.ascii``, ``.asciz``, ``.zero``, ``.fill``, ``.uleb128``), ``.p2align``, ``.set``, sections, ``.amdhsa_kernel`` blocks;
        those that do not affect the code (``.globl``, ``.type``, ``.size``, ``.amdgcn_target``, metadata) are accepted and
        ignored, and so are line numbers (``.file``, ``.loc``), unwinding (``.cfi_...``) and ``.addrsig``, none of which pyaco
        writes: its objects have no debug information. Other directives are errors. Expressions have C's operators, symbols that
        are defined later, and ``max``, ``or``, ``alignto``, ``extrasgprs``, ``totalnumvgprs`` and ``instprefsize``.
        Of relocations, those to labels of ``.text`` (``label@rel32@lo``) are resolved here; ``pyaco.binary.assemble_code_object``
        takes the others.
    target
        A gfx name, chip name or product name.
    wave_size
        32 or 64: the width of lane masks; by default 64 up to GFX9 and 32 later.

    Returns
    -------
    bytes
        The contents of ``.text``.

    Raises
    ------
    InputError
        The source is wrong; the message has line and column, or the instruction's number and text.
    """
    if not isinstance(source, str):
        from pyaco.isa.program import Program

        return Program(target, wave_size=wave_size).extend(source).code()
    return run(encoded(source), target, wave_size).code()
