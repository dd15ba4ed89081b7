"""Recorded tables of address library calls: reading them, asking ours the same, counting where the two agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib import GpuConfig
from pyaco.errors import InputError, PyacoError, UnsupportedError

Column = NDArray[np.int64]
Columns = dict[str, Column]
Row = dict[str, int]
INVALID_PARAMETERS, NOT_SUPPORTED = 3, 4


def snake(name: str) -> str:
    """Return an addrlib field's name as ours: ``swizzleMode`` as ``swizzle_mode``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def load(path: Path) -> Columns:
    """Return the columns of a table; 64-bit masks keep their bits."""
    with np.load(path) as table:
        return {name: table[name].astype(np.int64) for name in table.files}


def rows(columns: Columns) -> Iterator[Row]:
    """Yield the rows of a table."""
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield dict(zip(columns, values, strict=True))


def inputs(columns: Columns, renamed: Mapping[str, str] | None = None) -> Columns:
    """Return what was asked, under our names."""
    other = renamed or {}
    return {other.get(name[2:], snake(name[2:])): column for name, column in columns.items() if name.startswith("i_")}


def positions(ids: Column, wanted: Column) -> Column:
    """Return where each wanted id is among `ids`."""
    order = np.argsort(ids)
    return order[np.searchsorted(ids, wanted, sorter=order)]


def by_config(configs: list[GpuConfig], numbers: Column, ask: Callable[[GpuConfig, Column], Columns]) -> Columns:
    """Ask once per chip for the rows it has, and put the answers in the order of the rows."""
    found: Columns = {}
    for number in np.unique(numbers):
        index = np.flatnonzero(numbers == number)
        for name, column in ask(configs[number], index).items():
            found.setdefault(name, np.zeros((len(numbers), *column.shape[1:]), column.dtype))[index] = column
    return found


def status_of(error: PyacoError) -> int:
    """Return the library's status for one of our errors."""
    return INVALID_PARAMETERS if isinstance(error, InputError) else NOT_SUPPORTED if isinstance(error, UnsupportedError) else -1


def ask_rows(columns: Columns, ask: Callable[[Row], Mapping[str, int]]) -> Columns:
    """Ask row by row; a row that raises has only its status in ``ret``, and other answers of -2."""
    answers: list[Mapping[str, int]] = []
    for row in rows(columns):
        try:
            answers.append({"ret": 0, **ask(row)})
        except PyacoError as error:
            answers.append({"ret": status_of(error)})
    names = dict.fromkeys(name for answer in answers for name in answer)
    return {name: np.array([int(answer.get(name, -2)) for answer in answers], np.int64) for name in names}


def compare(theirs: Columns, ours: Columns) -> dict[str, Any]:
    """Count the rows that agree in status, and where that is 0 in every field of `ours`."""
    count = len(next(iter(theirs.values())))
    status = theirs.get("ret", np.zeros(count, np.int64))
    agreed = ours.get("ret", np.zeros(count, np.int64)) == status
    for name, column in ours.items():
        if name != "ret":
            agreed &= (status != 0) | (column == theirs[name])
    return report(agreed, lambda row: {
        "row": {name: int(column[row]) for name, column in theirs.items() if not name.startswith("o_")},
        "ours and theirs": {
            name: [int(column[row]), int(theirs[name][row]) if name in theirs else 0] for name, column in ours.items()
            if column[row] != (theirs[name][row] if name in theirs else 0)}})


def report(agreed: NDArray[np.bool_], describe: Callable[[int], Any]) -> dict[str, Any]:
    """Return the counts of a table, and the first rows that disagree."""
    return {"tried": len(agreed), "agreed": int(agreed.sum()), "skipped": 0,
            "first_disagreements": [describe(int(row)) for row in np.flatnonzero(~agreed)[:5]]}
