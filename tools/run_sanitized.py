"""Run tests on kernels that are built with AddressSanitizer and UndefinedBehaviorSanitizer.

``python tools/run_sanitized.py [--rooms ROOM ...] [-- PYTEST_ARGUMENTS ...]`` copies the tracked files to ``build/sanitized``, builds the
kernels of the rooms there (all of them unless told otherwise) and runs the tests. A finding stops the test process with a stack; the exit
status is that of pytest. What the interpreter itself leaks is not looked at.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "sanitized"
SANITIZERS = "address,undefined"
#: What the interpreter and NumPy do not free is not ours to find; a signal that the tests expect must reach its handler.
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "PYACO_SANITIZED": "1",
}


def copy_tree() -> None:
    """Bring the copy up to date: files that are as they were keep their time, so that only what changed is built again."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        source, target = ROOT / name, COPY / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    known = COPY / "files.txt"
    for name in set(known.read_text().split("\n") if known.exists() else ()) - names:
        (COPY / name).unlink(missing_ok=True)
    known.write_text("\n".join(sorted(names)))


def build(rooms: list[str]) -> None:
    """Configure and build the copy's kernels."""
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    settings = ["-DPYACO_INPLACE=ON", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=None", "-DPYACO_OPTIMIZATION=-O1",
                f"-DPYACO_SANITIZE={SANITIZERS}"]  # fmt: skip
    configure = ["cmake", "-S", str(COPY), "-B", str(COPY / "build"), "-G", "Ninja", *settings]
    subprocess.run(configure, check=True, env=environment, stdout=subprocess.DEVNULL)
    targets = [word for room in rooms for word in ("--target", f"room_{room}")]
    subprocess.run(["cmake", "--build", str(COPY / "build"), *targets], check=True, env=environment)


def runtime(name: str) -> str:
    """Return the path of a sanitizer's library, which must be loaded before anything else."""
    return subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Copy, build, run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", nargs="*", default=[], help="rooms of kernels to build; all by default")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, behind --")
    options = parser.parse_args()
    copy_tree()
    build(options.rooms)
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(COPY), "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libstdc++.so.6')}"}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options.pytest], cwd=COPY, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
