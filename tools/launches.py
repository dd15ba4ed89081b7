"""Launches of kernels in files: recorded while a program runs, and run again with checks, without the program.

A recording has the code object, the shape of the launch, its block of arguments, and the memory that it could reach. So kernels of clang, Triton or
anything else that starts them with ``Device.load`` can be tried again and again, in another process:

    python tools/launches.py record DIR [--limit N] SCRIPT ...      # each kernel's first launches, N of a kernel and a shape; arguments follow
    python tools/launches.py check DIR ... [--check NAMES]          # runs them with checks; what they report, and exit status 1 if anything

Recordings hold addresses of the process that made them; they are not a format to keep.
"""

from __future__ import annotations

import argparse
import hashlib
import runpy
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyaco.binary import CodeObject, read_code_object
from pyaco.emu import Device, EmulationError
from pyaco.emu.checks import CHECKS
from pyaco.emu.kernels import LoadedCode, LoadedKernel
from pyaco.emu.prepared_launch import Outcome
from pyaco.emu.report import Report

Extent = tuple[int, int, int]
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Launch:
    """A launch of a kernel, with all that it may reach.

    Attributes
    ----------
    name : str
        Of the recording.
    code : CodeObject
    kernel : str
    grid, workgroup : tuple of int
        Work-items in x, y, z.
    lds, scratch : int
        Bytes of LDS, all of them, and of the dynamic scratch of a work-item.
    block : bytes
        Arguments.
    memory : list of (int, bytes)
        Contents by address.
    """

    name: str
    code: CodeObject
    kernel: str
    grid: Extent
    workgroup: Extent
    lds: int
    scratch: int
    block: bytes
    memory: list[tuple[int, bytes]]

    def save(self, path: Path) -> None:
        """Write it to a file."""
        arrays: dict[str, Any] = {f"memory{number}": np.frombuffer(data, np.uint8) for number, (_, data) in enumerate(self.memory)}
        arrays |= {
            "code": np.frombuffer(self.code._data, np.uint8), "kernel": self.kernel,
            "shape": np.array([*self.grid, *self.workgroup, self.lds, self.scratch]), "block": np.frombuffer(self.block, np.uint8),
            "addresses": np.array([address for address, _ in self.memory], np.uint64),
        }  # fmt: skip
        np.savez_compressed(path, **arrays)

    @staticmethod
    def read(path: Path) -> Launch:
        """Read what `save` wrote."""
        with np.load(path) as file:
            shape = [int(number) for number in file["shape"]]
            memory = [(int(address), file[f"memory{number}"].tobytes()) for number, address in enumerate(file["addresses"])]
            return Launch(path.stem, read_code_object(file["code"].tobytes()), str(file["kernel"]), (shape[0], shape[1], shape[2]),
                          (shape[3], shape[4], shape[5]), shape[6], shape[7], file["block"].tobytes(), memory)  # fmt: skip

    def place(self, check: str | Iterable[str] = (), trace: int = 0) -> Placed:
        """Put it into the memory of a device of its own."""
        return Placed(self, Device(self.code.target, check=check, trace=trace))


class Placed:
    """A launch in a device's memory, ready to run, once."""

    def __init__(self, launch: Launch, device: Device) -> None:
        self.launch, self.device = launch, device
        for address, data in launch.memory:
            device.space.map_at(address, np.frombuffer(data, np.uint8).copy())
        self.loaded: LoadedCode = device.load(launch.code)

    def patch(self, offset: int, words: Iterable[int]) -> None:
        """Put words over the code, `offset` bytes from the image's first."""
        data = np.array(list(words), np.uint32).tobytes()
        view = self.device.space.view(self.loaded.address + offset, len(data))
        assert view is not None
        view[:] = data

    def run(self, budget: int = 1 << 26) -> Report:
        """Run it."""
        launch = self.launch
        kernel = self.loaded[launch.kernel]
        return kernel.run_block(launch.grid, launch.workgroup, launch.block, launch.lds, budget, dynamic_scratch=launch.scratch).report()


@contextmanager
def recording(folder: Path, limit: int = 1) -> Iterator[Counter[str]]:
    """Record launches while the context lasts; gives the number of recordings by kernel. A kernel's code and shape make it another kernel."""
    done: Counter[str] = Counter()
    run_block = LoadedKernel._run_block

    def record(self: LoadedKernel, shape: Any, arguments: bytes, budget: int, time_budget: float | None) -> Outcome:
        packet = shape.packet
        ranges = [(address, size) for address, size in self._device.space.allocations() if size and not self.is_own(address)]
        data = self.code._data
        name = f"{self.name[:80]}-{self._device.target}-{hashlib.sha1(data + repr(packet.grid_size).encode()).hexdigest()[:10]}"
        if done[name] < limit and sum(size for _, size in ranges) <= _MOST_BYTES:
            done[name] += 1
            memory = [(address, bytes(self._device.space.view(address, size) or b"")) for address, size in ranges]
            fixed = self.kernel.descriptor.private_segment_fixed_size
            scratch = packet.private_segment_size if packet.private_segment_size > fixed else 0
            Launch(name, self.code, self.name, packet.grid_size, packet.workgroup_size, packet.group_segment_size, scratch,
                   bytes(arguments), memory).save(folder / f"{name}-{done[name]}.npz")  # fmt: skip
        return run_block(self, shape, arguments, budget, time_budget)

    folder.mkdir(parents=True, exist_ok=True)
    LoadedKernel._run_block = record  # type: ignore[method-assign, assignment]
    try:
        yield done
    finally:
        LoadedKernel._run_block = run_block  # type: ignore[method-assign]


def recordings(folders: Iterable[Path]) -> list[Path]:
    """Return the files of some folders, or files themselves, in order."""
    return [path for folder in folders for path in (sorted(folder.rglob("*.npz")) if folder.is_dir() else [folder])]


def check(folders: list[Path], names: str) -> int:
    """Run recordings with checks."""
    reports = 0
    paths = recordings(folders)
    for path in paths:
        try:
            Launch.read(path).place(names).run()
        except EmulationError as error:
            reports += 1
            print(f"{path}: {error.kind}: {error}")
    print(f"{len(paths)} launches, {reports} reports")
    return 1 if reports else 0


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("--limit", type=int, default=1, help="recordings of one kernel")
    recorder.add_argument("folder", type=Path)
    recorder.add_argument("script", nargs=argparse.REMAINDER, help="a Python script and its arguments")
    checker = commands.add_parser("check")
    checker.add_argument("folders", type=Path, nargs="+")
    checker.add_argument("--check", default=",".join(CHECKS))
    options = parser.parse_args()
    if options.command == "check":
        return check(options.folders, options.check)
    sys.argv = options.script
    with recording(options.folder, options.limit) as done:
        try:
            runpy.run_path(options.script[0], run_name="__main__")
        finally:
            print(f"{done.total()} launches of {len(done)} kernels", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
