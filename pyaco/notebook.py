"""Small pieces of HTML for notebooks, which ask an object for ``_repr_html_``. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

__all__ = ["folded", "listing", "table"]


def table(title: str, facts: Mapping[str, object]) -> str:
    """Return a table of two columns: names, in which a blank stands for each underscore, and values.

    Parameters
    ----------
    title : str
        Its caption.
    facts : mapping
        What stands in the rows, in this order.
    """
    rows = "".join(f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(str(value))}</td></tr>" for name, value in facts.items())
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def listing(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table with a heading for each column.

    Parameters
    ----------
    title : str
        Its caption.
    columns : iterable of str
        Headings.
    rows : iterable of iterables
        A value for each column.
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"


def folded(title: str, text: str) -> str:
    """Return a text as it is, of which only the title is seen until it is clicked.

    Parameters
    ----------
    title, text : str
        The line that is always seen; the lines below it.
    """
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
