#!/usr/bin/env python3
"""Rebuild the SPIR-V beside each shader source: ``python tests/shaders/build.py [NAME ...]``.

GLSL (``.comp``) goes through ``glslangValidator``, SPIR-V assembly (``.spvasm``) through ``spirv-as``; every result
is checked by ``spirv-val``. A file is rebuilt when its source is newer; ``--check`` rebuilds into a temporary folder
and fails where the committed words differ. A line ``// target: vulkan1.2`` (``; target:`` in assembly) chooses the
environment; without one it is Vulkan 1.1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE, HERE.parents[1] / "examples", HERE.parents[1] / "bench" / "shaders")


def sources() -> list[Path]:
    return sorted(path for folder in FOLDERS for kind in ("*.comp", "*.spvasm") for path in folder.glob(kind))


def compile_shader(source: Path, target: Path) -> None:
    """Compile one source file to ``target`` and validate it; raises ``RuntimeError`` with the tool's message."""
    found = re.search(r"target: (vulkan1\.\d)", source.read_text())
    environment = found.group(1) if found else "vulkan1.1"
    if source.suffix == ".spvasm":
        version = {"vulkan1.1": "spv1.3", "vulkan1.2": "spv1.5", "vulkan1.3": "spv1.6"}[environment]
        command = ["spirv-as", "--target-env", version, "-o", str(target), str(source)]
    else:
        command = ["glslangValidator", "-V", "--target-env", environment, "-o", str(target), str(source)]
    validate = ["spirv-val", "--target-env", environment, str(target)]
    if "GL_EXT_scalar_block_layout" in source.read_text():
        validate.insert(1, "--scalar-block-layout")
    for step in (command, validate):
        result = subprocess.run(step, capture_output=True, text=True, check=False)
        if result.returncode:
            raise RuntimeError(f"{source.name}: {' '.join(step)}\n{result.stdout}{result.stderr}")


def build(source: Path, check: bool, force: bool) -> bool:
    """Bring the SPIR-V of one source up to date, or with ``check`` compare it; says whether a file was written."""
    target = source.with_suffix(".spv")
    if check:
        with tempfile.TemporaryDirectory() as folder:
            fresh = Path(folder) / "shader.spv"
            compile_shader(source, fresh)
            if fresh.read_bytes() != target.read_bytes():
                raise RuntimeError(f"{target.name} is not what {source.name} compiles to")
        return False
    if not force and target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
        return False
    compile_shader(source, target)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="shaders to build (all whose source is newer)")
    parser.add_argument("--check", action="store_true", help="compare with the committed SPIR-V instead of writing it")
    options = parser.parse_args()
    failures = 0
    for source in sources():
        if options.names and source.stem not in options.names:
            continue
        try:
            if build(source, options.check, force=bool(options.names)):
                print(source.with_suffix(".spv").name)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
