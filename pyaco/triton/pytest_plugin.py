"""A pytest plugin: ``pytest --pyaco-device gfx942`` runs the Triton kernels of any test suite on an emulated GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_configure", "pytest_report_header"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("pyaco", "Triton kernels on an emulated AMD GPU")
    group.addoption("--pyaco-device", metavar="TARGET", help="run Triton kernels on an emulated GPU, such as gfx942")


def pytest_configure(config: pytest.Config) -> None:
    """Activate the device before any test module is imported."""
    target = config.getoption("--pyaco-device")
    if target:
        from pyaco.triton import activate

        activate(target)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say in the header which device runs kernels."""
    target = config.getoption("--pyaco-device")
    return f"pyaco: Triton kernels run on an emulated {target}" if target else None
