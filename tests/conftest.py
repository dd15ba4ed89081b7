"""What all tests share: the assembler, drivers and tools to compare with, the option that rewrites expected outputs.

In continuous integration every peer must be there: with PYACO_REQUIRE_PEERS set, a missing one is an error, not a skip. It is the only
conftest.py, because mypy takes all tests at once and knows one module of each name; folders on the path are in pyproject.toml.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import llvm_forms
import pytest
from machine_code import Assemble, assemble_object
from vulkan_peer import Lavapipe, Radv, find_icd

TOOLS = ("llvm-mc-22", "llvm-objcopy-22", "llvm-objdump-22", "llvm-readelf-22", "llvm-cxxfilt-22", "clang-22", "clang-offload-bundler-22",
         "ld.lld-22", "gcc", "glslangValidator", "spirv-as", "spirv-val", "astcenc")
MODULES = ("vulkan", "hypothesis", "elftools", "llvmlite", "matplotlib", "PIL", "tinymesa", "zstandard", "astc_encoder", "etcpak", "imagecodecs",
           "texture2ddecoder")
DRIVERS = ("lvp_icd", "radeon_icd")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-filetests", action="store_true", help="write what passes print into the files, and show the differences")


def pytest_configure(config: pytest.Config) -> None:
    if not os.environ.get("PYACO_REQUIRE_PEERS"):
        return
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    missing += [module for module in MODULES if importlib.util.find_spec(module) is None]
    folders = (Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"))
    missing += [d for d in DRIVERS if not any(list(folder.glob(f"{d}*.json")) for folder in folders)]
    if missing:
        raise pytest.UsageError(f"peers are missing: {', '.join(missing)}")


@pytest.fixture
def assemble() -> Assemble:
    """``assemble(text, target, wave=32) -> bytes``; labels allowed."""
    return assemble_object


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
def llvm() -> str:
    """LLVM's assembler, beside whose library its disassembler is."""
    return shutil.which(llvm_forms.PROGRAM) or pytest.skip(f"{llvm_forms.PROGRAM} is not installed")
