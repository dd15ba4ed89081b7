"""Check an installed pyaco: ``check_installed.py EXAMPLES``, run with the Python of an environment that also has setuptools, cython and pytest.

The example runs without the source tree, the command takes text to code and back, and a project that calls the kernels from Cython
(``examples/cimport_project``) builds against the installed package and passes its tests. It is installed into the environment.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path


def run(*command: str | Path, folder: Path) -> str:
    """Run a command to its success and return what it prints."""
    result = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def check(examples: Path) -> None:
    """Run the checks in a copy of the examples."""
    python = sys.executable
    command = Path(sysconfig.get_path("scripts")) / "pyaco"
    version = run(python, "-c", "import pyaco; print(pyaco.__version__)", folder=examples).strip()
    if "unknown" in version or version not in run(command, "--version", folder=examples):
        sys.exit(f"the installed package has the version {version}")
    run(python, "matmul.py", folder=examples)
    (examples / "end.s").write_text("s_endpgm\n")
    run(command, "asm", "--target", "gfx1100", "end.s", "-o", "end.bin", folder=examples)
    if "s_endpgm" not in run(command, "disasm", "--target", "gfx1100", "end.bin", folder=examples).split():
        sys.exit("the command does not disassemble what it assembled")
    project = examples / "cimport_project"
    run(python, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--force-reinstall", ".", folder=project)
    print(run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", folder=project).splitlines()[-1])
    print(f"pyaco {version} as installed: example, command and cimport pass")


def main() -> None:
    """Check with a copy of the folder that the command line names."""
    with tempfile.TemporaryDirectory() as folder:
        examples = Path(folder) / "examples"
        shutil.copytree(Path(sys.argv[1]), examples, ignore=shutil.ignore_patterns("build", "*.egg-info", "*.so", "__pycache__"))
        check(examples)


if __name__ == "__main__":
    main()
