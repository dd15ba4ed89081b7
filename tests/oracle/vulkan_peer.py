"""Vulkan drivers as judges: lavapipe executes compute shaders, RADV on its null winsys compiles them.

Each driver lives in a worker process (``vulkan_worker``), started on first use and kept. ``Lavapipe().run(...)``
returns buffer contents; ``Radv("gfx1100").compile(...)`` returns statistics, NIR and ACO IR text and machine code,
``Radv(...).time(...)`` the processor time of pipeline creation with all caches off.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import select
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pyaco.binary import read_radv_shaders

HERE = Path(__file__).resolve().parent
ICD_FOLDERS = (Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"))

#: Names that RADV of Mesa 22.3 takes for this project's targets.
FAMILIES = {
    "gfx600": "tahiti", "gfx700": "bonaire", "gfx803": "polaris10", "gfx900": "vega10", "gfx906": "vega20", "gfx1010": "navi10", "gfx1030": "navi21",
    "gfx1100": "gfx1100", "gfx1101": "gfx1101", "gfx1102": "gfx1102",
}  # fmt: skip
#: Where later versions have other names.
LATER_FAMILIES = {"gfx1100": "navi31", "gfx1101": "navi32", "gfx1102": "navi33", "gfx1200": "gfx1200", "gfx1201": "gfx1201"}


class PeerError(RuntimeError):
    """The driver refused a request, died, or did not answer in time."""


def find_icd(name: str) -> Path | None:
    """The manifest of an installed driver, e.g. ``find_icd("lvp")``."""
    for folder in ICD_FOLDERS:
        for path in sorted(folder.glob(f"{name}_icd*.json")):
            return path
    return None


class Worker:
    """A process with one device, restarted after it died."""

    def __init__(self, icd: str | Path, environment: Mapping[str, str], script: str = "vulkan_worker.py") -> None:
        self.script = HERE / script
        path = icd if isinstance(icd, Path) else find_icd(icd)
        if path is None or not path.exists():
            raise PeerError(f"no Vulkan driver '{icd}' is installed")
        # The window-system and device-selection layers only cost time here.
        self.environment = {
            **os.environ, "VK_ICD_FILENAMES": str(path), "VK_DRIVER_FILES": str(path), "NODEVICE_SELECT": "1",
            "MESA_SHADER_CACHE_DISABLE": "true", "LP_NUM_THREADS": "1", **environment,
        }  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None
        self.errors: Any = None
        self.told = 0

    def _start(self) -> subprocess.Popen[bytes]:
        self.errors, self.told = tempfile.TemporaryFile(), 0  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, str(self.script)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=self.environment,
        )  # fmt: skip
        return self.process

    def _fail(self, why: str) -> PeerError:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
        self.errors.seek(0)
        said = self.errors.read()[-600:].decode("utf-8", "replace").strip()
        self.errors.close()
        return PeerError(f"{why}{': ' + said if said else ''}")

    def ask(self, request: Mapping[str, Any], timeout: float = 60.0) -> dict[str, Any]:
        """Send a request and wait for its answer; raises ``PeerError``."""
        process = self.process or self._start()
        assert process.stdin is not None and process.stdout is not None
        data = pickle.dumps(dict(request))
        try:
            process.stdin.write(struct.pack("<Q", len(data)) + data)
            process.stdin.flush()
        except BrokenPipeError:
            raise self._fail("the driver's process ended") from None
        deadline = time.monotonic() + timeout
        answer = bytearray()
        while len(answer) < 8 or len(answer) < 8 + struct.unpack("<Q", answer[:8])[0]:
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise self._fail(f"no answer in {timeout:g} s")
            piece = os.read(process.stdout.fileno(), 1 << 20)
            if not piece:
                raise self._fail("the driver's process ended")
            answer += piece
        result: dict[str, Any] = pickle.loads(bytes(answer[8:]))
        if "error" in result:
            raise PeerError(result["error"])
        return result

    def printed(self) -> str:
        """What the process has written to standard error since it began, or since the last call."""
        found = bytearray()
        while self.process and (piece := os.pread(self.errors.fileno(), 1 << 20, self.told)):     # the process writes where the file stands
            found += piece
            self.told += len(piece)
        return found.decode("utf-8", "replace")

    def close(self) -> None:
        if self.process is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()  # type: ignore[union-attr]
            self.process.wait(timeout=10)
            self.process = None


@cache
def _worker(icd: str | Path, family: str = "", exact: bool = True, caches: bool = False) -> Worker:
    # llvmpipe's shortcuts in sampling are off: its derivatives, levels and weights are the exact ones
    perf = {"GALLIVM_PERF": "no_brilinear,no_rho_approx,no_quad_lod,no_aos_sampling"} if exact else {}
    environment = {"RADV_FORCE_FAMILY": family, "RADV_DEBUG": "" if caches else "nocache"} if family else perf
    return Worker(icd, environment)


def _request(operation: str, spirv: bytes, spec: Mapping[int, int | float] | None, entry: str) -> dict[str, Any]:
    return {"operation": operation, "spirv": bytes(spirv), "spec": dict(spec or {}), "entry": entry}


class Lavapipe:
    """Mesa's processor driver: the judge of what a compute shader computes. Its subgroups have 8 lanes.

    Parameters
    ----------
    exact : bool
        Without the shortcuts that llvmpipe takes in sampling.
    """

    subgroup_size = 8

    def __init__(self, exact: bool = True) -> None:
        self.worker = _worker("lvp", exact=exact)

    def run(
        self,
        spirv: bytes,
        groups: tuple[int, int, int],
        buffers: Mapping[Any, np.ndarray],
        push: bytes = b"",
        spec: Mapping[int, int | float] | None = None,
        references: Mapping[tuple[Any, int], str] | None = None,
        entry: str = "main",
        timeout: float = 60.0,
    ) -> dict[Any, np.ndarray]:
        """Dispatch once and return every buffer's contents with the type and shape it had.

        Parameters
        ----------
        buffers
            By (set, binding), (set, binding, array element), or a name for a buffer that is reached by address.
        references
            (place, byte offset) -> name: the device address of that buffer is written there; place is "push" or a key
            of ``buffers``. The returned contents have the original bytes in its place.
        """
        request = _request("run", spirv, spec, entry)
        request["groups"] = tuple(groups)
        request["push"] = bytes(push)
        request["buffers"] = {key: np.ascontiguousarray(data).tobytes() for key, data in buffers.items()}
        request["references"] = dict(references or {})
        found = self.worker.ask(request, timeout)["buffers"]
        return {
            key: np.frombuffer(bytes(found[key]), data.dtype).reshape(data.shape) for key, data in buffers.items()
        }

    def run_with_images(
        self, spirv: bytes, groups: tuple[int, int, int], layouts: list[list[dict[str, Any]]], buffers: Mapping[Any, np.ndarray],
        images: Mapping[Any, Mapping[str, Any]], timeout: float = 60.0, *, push: bytes = b"", entry: str = "main",
        references: Mapping[tuple[Any, int], str] | None = None,
    ) -> tuple[dict[Any, np.ndarray], dict[Any, list[bytes]]]:
        """Dispatch once; return what buffers hold, and the levels of images that are written to (see ``vulkan_images``); others as of `run`."""
        request = _request("run", spirv, None, entry)
        request |= {"groups": tuple(groups), "push": push, "push_bytes": len(push), "references": dict(references or {}), "layouts": layouts}
        request["images"] = {key: dict(each) for key, each in images.items()}
        request["buffers"] = {key: np.ascontiguousarray(data).tobytes() for key, data in buffers.items()}
        found = self.worker.ask(request, timeout)
        contents = {key: np.frombuffer(bytes(found["buffers"][key]), data.dtype).reshape(data.shape) for key, data in buffers.items()}
        return contents, found["images"]

    def time(
        self, spirv: bytes, groups: tuple[int, int, int], buffers: Mapping[Any, np.ndarray], repetitions: int = 10,
        layouts: list[list[dict[str, Any]]] | None = None, images: Mapping[Any, Mapping[str, Any]] | None = None, *, push: bytes = b"",
        entry: str = "main", references: Mapping[tuple[Any, int], str] | None = None,
    ) -> list[float]:
        """Return the CPU time of each of several dispatches, in seconds of all threads together; arguments as of `run_with_images`."""
        request = _request("run", spirv, None, entry)
        request |= {"groups": tuple(groups), "push": push, "references": dict(references or {}), "repetitions": repetitions}
        if images:
            request |= {"layouts": layouts, "push_bytes": len(push), "images": {key: dict(each) for key, each in images.items()}}
        request["buffers"] = {key: np.ascontiguousarray(data).tobytes() for key, data in buffers.items()}
        times: list[float] = self.worker.ask(request)["times"]
        return times


@dataclass(frozen=True)
class RadvPipeline:
    """What RADV says about one compute pipeline."""

    statistics: Mapping[str, int | float]
    nir: str
    ir: str
    assembly: str

    @cached_property
    def words(self) -> np.ndarray:
        """The machine code, read from the code words that RADV's disassembly prints behind each instruction."""
        return np.array(parse_code_words(self.assembly), np.uint32)

    @property
    def code(self) -> bytes:
        return self.words.tobytes()


def parse_code_words(assembly: str) -> list[int]:
    """Code words of a disassembly of the form ``instruction ; 7e000280 00000001``, repeated lines expanded."""
    words: list[int] = []
    last: list[int] = []
    for line in assembly.splitlines():
        found = re.search(r";\s*((?:[0-9a-f]{8}\s*)+)$", line)
        repeated = re.search(r"\(then repeated (\d+) times\)", line)
        if found:
            last = [int(word, 16) for word in found.group(1).split()]
            words += last
        elif repeated:
            words += last * int(repeated.group(1))
    return words


class Radv:
    """RADV with ACO for one target, without a GPU.

    Parameters
    ----------
    target : str
    icd : Path, optional
        Manifest of another RADV than the installed one, which may have other names for families.
    """

    def __init__(self, target: str, icd: Path | None = None) -> None:
        self.target = target
        self.worker = _worker(icd or "radeon", FAMILIES.get(target, target))
        if icd is not None and target in LATER_FAMILIES:
            try:
                self.worker.ask({"operation": "describe"})
            except PeerError:                   # RADV ends the process on a name that it does not know
                self.worker = _worker(icd, LATER_FAMILIES[target])

    def describe(self) -> dict[str, Any]:
        """Name and version of the driver, and what it offers (see ``vulkan_worker``)."""
        return self.worker.ask({"operation": "describe"})

    def compile(
        self,
        spirv: bytes,
        wave: int | None = None,
        spec: Mapping[int, int | float] | None = None,
        entry: str = "main",
        timeout: float = 120.0,
        layouts: list[list[dict[str, Any]]] | None = None,
        push_bytes: int = 0,
    ) -> RadvPipeline:
        """Create the pipeline; ``wave`` is the required subgroup size (GFX10 and later choose 64 without one).

        ``layouts`` are the bindings of each set (see ``vulkan_worker.Device._set_layout_info``), by default those of the shader.
        """
        request = _request("compile", spirv, spec, entry)
        request["wave"] = wave
        if layouts is not None:
            request |= {"layouts": layouts, "push_bytes": push_bytes}
        found = self.worker.ask(request, timeout)
        texts = found["representations"]

        def text(*names: str) -> str:
            return next((body for name, body in texts.items() if any(part in name for part in names)), "")

        return RadvPipeline(found["statistics"], text("NIR"), text("ACO IR"), text("Assembly"))

    def pipeline_cache(
        self, spirv: bytes, wave: int | None = None, spec: Mapping[int, int | float] | None = None, entry: str = "main",
        layouts: list[list[dict[str, Any]]] | None = None, push_bytes: int = 0,
    ) -> bytes:  # fmt: skip
        """The contents of a pipeline cache that holds this pipeline alone."""
        environment = self.worker.environment
        worker = _worker(Path(environment["VK_ICD_FILENAMES"]), environment["RADV_FORCE_FAMILY"], caches=True)
        request = _request("cache_data", spirv, spec, entry) | {"wave": wave}
        if layouts is not None:
            request |= {"layouts": layouts, "push_bytes": push_bytes}
        data: bytes = worker.ask(request, 120.0)["data"]
        return data

    def constant_data(self, size: int, spirv: bytes, wave: int, entry: str, layouts: list[list[dict[str, Any]]], push_bytes: int) -> bytes:
        """The constant data of a pipeline, which no representation has: what stands behind its code in a pipeline cache."""
        (shader,) = read_radv_shaders(self.pipeline_cache(spirv, wave, None, entry, layouts, push_bytes))
        if len(shader.constant_data) < size:
            raise PeerError("the pipeline cache has no constant data")
        return shader.constant_data[:size]

    def layout_support(self, layouts: list[list[dict[str, Any]]]) -> list[tuple[bool, int]]:
        """For each set layout: whether it is supported, and how many elements its variable binding may have."""
        found: list[tuple[bool, int]] = self.worker.ask({"operation": "layout", "layouts": layouts}, 300.0)["found"]
        return found

    def set_memory(self, **request: Any) -> bytes:
        """The bytes of a descriptor set after writes (``vulkan_worker``); the buffer that they name has the address 0."""
        found: bytes = self.worker.ask({"operation": "set_memory", **request}, 60.0)["memory"]
        return found

    def time(
        self,
        spirv: bytes,
        wave: int | None = None,
        spec: Mapping[int, int | float] | None = None,
        entry: str = "main",
        repetitions: int = 100,
        seconds: float = 5.0,
        timeout: float = 300.0,
        layouts: list[list[dict[str, Any]]] | None = None,
        push_bytes: int = 0,
    ) -> list[float]:
        """Processor time of each creation of the pipeline, in milliseconds; ends early after ``seconds``; layouts as of `compile`."""
        request = _request("time", spirv, spec, entry)
        request.update(wave=wave, repetitions=repetitions, seconds=seconds)
        if layouts is not None:
            request |= {"layouts": layouts, "push_bytes": push_bytes}
        return [nanoseconds / 1e6 for nanoseconds in self.worker.ask(request, timeout)["times"]]

    def call_times(
        self, spirv: bytes, wave: int | None, spec: Mapping[int, int | float] | None, entry: str, calls: tuple[str, tuple[str, ...], dict[str, str]],
        repetitions: int, seconds: float, layouts: list[list[dict[str, Any]]], push_bytes: int, least: int,
    ) -> list[dict[str, float]]:  # fmt: skip
        """Milliseconds of calls inside the driver (``call_times.CallTimes`` has what `calls` says) in each creation of the pipeline, of which there
        are `least` at least, however long they take."""
        request = _request("time", spirv, spec, entry)
        request |= {"wave": wave, "repetitions": repetitions, "seconds": seconds, "calls": calls, "layouts": layouts, "push_bytes": push_bytes}
        request["least"] = least
        return [{name: nanoseconds / 1e6 for name, nanoseconds in each.items()} for each in self.worker.ask(request, 300.0)["calls"]]
