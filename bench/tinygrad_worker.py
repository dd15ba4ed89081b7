"""Times kernels on tinygrad's emulator: a pickled list of cases on standard input, seconds of CPU time by name on standard output.

Needs a checkout of tinygrad on the path (its ``test`` folder has the emulator), clang and LLVM_PATH, as tinygrad wants them.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import pickle
import sys
import time

import numpy as np

# Of a checkout on the path, which mypy does not know.
run_asm = importlib.import_module("test.mockgpu.amd.emu").run_asm


def executable(code: bytes) -> tuple[mmap.mmap, int]:
    """Return a mapping that holds the code, and its address."""
    memory = mmap.mmap(-1, -(-len(code) // 4096) * 4096)
    memory[: len(code)] = code
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def main() -> None:
    """Run every case once to warm up, then as often as asked; the least time counts."""
    found = {}
    for case in pickle.load(sys.stdin.buffer):
        buffers = [np.array(data) for data in case["buffers"]]
        arguments = np.array([*(data.ctypes.data for data in buffers), *case["values"]], np.uint64)
        memory, address = executable(case["code"])
        times = []
        for _ in range(1 + case["repetitions"]):
            start = time.process_time()
            result = run_asm(
                address, len(case["code"]), *case["groups"], *case["size"], arguments.ctypes.data, case["rsrc2"], 0, "rdna3"
            )
            times.append(time.process_time() - start)
            assert result == 0
        found[case["name"]] = {"first": times[0], "best": min(times[1:]), "buffers": buffers}
        del memory
    sys.stdout.buffer.write(pickle.dumps(found))


if __name__ == "__main__":
    main()
