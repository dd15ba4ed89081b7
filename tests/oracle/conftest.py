"""Peers' tests: the folder of the shaders on the path, and a plain reason where a peer is not installed."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shaders"))

from vulkan_peer import Lavapipe, Radv, find_icd


def _need_driver(name: str) -> None:
    if importlib.util.find_spec("vulkan") is None:
        pytest.skip("the Python package 'vulkan' is not installed")
    if find_icd(name) is None:
        pytest.skip(f"the Vulkan driver '{name}' of Mesa is not installed")


@pytest.fixture(scope="session")
def lavapipe() -> Lavapipe:
    _need_driver("lvp")
    return Lavapipe()


@pytest.fixture(scope="session")
def radv_gfx1030() -> Radv:
    _need_driver("radeon")
    return Radv("gfx1030")


@pytest.fixture(scope="session")
def radv_gfx1100() -> Radv:
    _need_driver("radeon")
    return Radv("gfx1100")


@pytest.fixture(scope="session")
def llvm_objdump() -> str:
    for name in ("llvm-objdump-22", "llvm-objdump"):
        if found := shutil.which(name):
            return found
    pytest.skip("llvm-objdump is not installed")
