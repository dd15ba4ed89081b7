"""Profiles of the kernels that compile, for builds that GCC optimizes by them (``PYACO_PROFILE=USE`` of ``CMakeLists.txt``).

``python tools/train_profile.py`` builds these kernels with counters, in ``build/profile``, compiles the shaders of the tests and examples with
them for the chips of ``machine_code_hashes.py``, turns the code of the tests' shaders and words of many opcodes into text and back, and leaves what
was counted in ``build/profiles``. It needs cmake, ninja, Cython, NumPy and GCC.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/profile"
PROFILES = ROOT / "build/profiles"


def build() -> None:
    """Build the kernels with counters."""
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    settings = ["-DPYACO_PROFILE=GENERATE", f"-DPYACO_PROFILES={PROFILES}", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=None"]
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", *settings], check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(BUILD), "--target", "profiled_kernels"], check=True, env=environment)


def train() -> int:
    """Compile with them and read and write text, in processes of their own, which write the counters. Return how many kernels were trained."""
    for path in PROFILES.glob("*.gcda"):
        path.unlink()
    command = [sys.executable, str(ROOT / "tools/machine_code_hashes.py"), "write", str(BUILD / "hashes.json")]
    subprocess.run([*command, "--kernels", str(BUILD), "--also", str(ROOT / "examples")], check=True)
    subprocess.run([sys.executable, __file__, "text"], check=True)
    return sum(1 for _ in PROFILES.glob("*.gcda"))


def train_text() -> int:
    """Disassemble what the tests' shaders become and code whose lines are all different, and assemble it."""
    import machine_code_hashes

    machine_code_hashes.use_kernels(BUILD)
    sys.path.insert(0, str(ROOT / "tests/isa"))
    import numpy as np
    import word_forms

    from pyaco import PyacoError, compile, isa
    from pyaco.isa import opcodes
    from pyaco.isa.processors import processor

    for _, path, specialization, entry in machine_code_hashes.inputs([]):
        for target in machine_code_hashes.TARGETS:
            try:
                code = compile(path, target=target, spec=specialization, entry=entry).code
            except PyacoError:
                continue
            isa.assemble(isa.disassemble(code, target), target)
    # long code, for which texts of operands are kept: a part of the opcodes for each target
    for number, target in enumerate(machine_code_hashes.TARGETS):
        rows = opcodes.rows()[number :: len(machine_code_hashes.TARGETS)]
        words = [word for _, _, found in word_forms.all_words(processor(target)[1], combinations=4, rows=rows) for word in found]
        isa.assemble(isa.disassemble(np.array(words, np.uint32).tobytes(), target), target)
    return 0


def main() -> int:
    """Build and train; builds that use the profiles depend on the file ``trained``."""
    build()
    trained = train()
    if not trained:
        sys.exit("no profile was written: were other kernels loaded?")
    (PROFILES / "trained").write_text(f"{trained} kernels\n")
    print(f"profiles of {trained} kernels: {PROFILES}")
    return 0


if __name__ == "__main__":
    sys.exit(train_text() if sys.argv[1:] == ["text"] else main())
