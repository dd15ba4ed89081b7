"""A real driver's command streams without a GPU: what RADV on its null winsys records for a dispatch, and its memory.

``capture("vega10", case)`` asks a worker process (`radv_recorder`), because a driver's family is chosen for a whole process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from vulkan_peer import Worker

#: Families that RADV of Mesa 22.3 takes, and this project's names for them.
FAMILIES = {
    "tahiti": "gfx600", "bonaire": "gfx704", "polaris10": "gfx803", "vega10": "gfx900", "vega20": "gfx906", "navi10": "gfx1010",
    "navi21": "gfx1030", "gfx1100": "gfx1100",
}  # fmt: skip


@dataclass(frozen=True)
class Capture:
    """What a driver recorded.

    Attributes
    ----------
    streams : list of list of int
        The dwords of what every submission to the queue starts with, and of the dispatch.
    memory : dict of int to bytes
        Contents of the driver's buffers by device address.
    buffers : dict
        Address and size of each of the case's buffers.
    """

    streams: list[list[int]]
    memory: dict[int, bytes]
    buffers: dict[Any, tuple[int, int]]


@cache
def _worker(family: str) -> Worker:
    return Worker("radeon", {"RADV_FORCE_FAMILY": family, "RADV_DEBUG": "nocache"}, script="radv_recorder.py")


def capture(family: str, case: Any, wave: int | None = None, indirect: bool = False) -> Capture:
    """Record the dispatch of `case` (of ``tests/shaders``) for a family; `indirect`: its counts lie in a buffer."""
    inputs = case.inputs()
    request = {
        "operation": "capture", "spirv": case.spirv.read_bytes(), "spec": dict(case.spec), "entry": case.entry, "wave": wave,
        "groups": tuple(case.groups), "push": bytes(inputs.push), "references": dict(inputs.references), "indirect": indirect,
        "buffers": {key: buffer.data.tobytes() for key, buffer in inputs.buffers.items()},
    }  # fmt: skip
    answer = _worker(family).ask(request, timeout=120.0)
    return Capture(answer["streams"], answer["memory"], answer["placed"])
