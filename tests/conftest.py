"""In continuous integration every peer must be there: with PYACO_REQUIRE_PEERS set, a missing one is an error, not a skip."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

TOOLS = ("llvm-mc-22", "llvm-objcopy-22", "llvm-objdump-22", "llvm-readelf-22", "clang-22", "ld.lld-22", "gcc", "glslangValidator", "spirv-as",
         "spirv-val")
MODULES = ("vulkan", "hypothesis", "elftools", "llvmlite", "matplotlib", "PIL", "tinymesa")
DRIVERS = ("lvp_icd", "radeon_icd")


def pytest_configure(config: pytest.Config) -> None:
    if not os.environ.get("PYACO_REQUIRE_PEERS"):
        return
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    missing += [module for module in MODULES if importlib.util.find_spec(module) is None]
    folders = (Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"))
    missing += [d for d in DRIVERS if not any(list(folder.glob(f"{d}*.json")) for folder in folders)]
    if missing:
        raise pytest.UsageError(f"peers are missing: {', '.join(missing)}")
