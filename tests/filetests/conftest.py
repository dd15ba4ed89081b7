"""The option that rewrites expected outputs."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-filetests", action="store_true", help="write what passes print into the files, and show the differences")
