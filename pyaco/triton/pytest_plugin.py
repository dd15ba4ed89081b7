"""A pytest plugin: ``pytest --pyaco-device gfx942`` runs the Triton kernels of any test suite on an emulated GPU.

``--pyaco-check memory,waits`` runs them with these checks; a test whose kernel has such a defect fails with its place.
"""

from __future__ import annotations

import pytest

from pyaco.errors import PyacoError

__all__ = ["pytest_addoption", "pytest_configure", "pytest_report_header"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("pyaco", "Triton kernels on an emulated AMD GPU")
    group.addoption("--pyaco-device", metavar="TARGET", help="run Triton kernels on an emulated GPU, such as gfx942")
    group.addoption("--pyaco-check", metavar="NAMES", default="", help="stop kernels at defects: checks with commas between, such as memory,waits")


def pytest_configure(config: pytest.Config) -> None:
    """Activate the device before any test module is imported."""
    target, checks = config.getoption("--pyaco-device"), config.getoption("--pyaco-check")
    if target:
        from pyaco.triton import activate

        try:
            activate(target, check=checks)
        except PyacoError as error:
            raise pytest.UsageError(f"pyaco: {error}") from None
    elif checks:
        raise pytest.UsageError("--pyaco-check: which GPU? --pyaco-device says it")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say in the header which device runs kernels, and with which checks."""
    target, checks = config.getoption("--pyaco-device"), config.getoption("--pyaco-check")
    if not target:
        return None
    return f"pyaco: Triton kernels run on an emulated {target}" + (f" with the checks {checks}" if checks else "")
