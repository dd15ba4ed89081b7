"""The assembler of the emulator's tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from machine_code import assemble_object


@pytest.fixture
def assemble():
    """``assemble(text, target, wave=32) -> bytes``; labels allowed."""
    return assemble_object
