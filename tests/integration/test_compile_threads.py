"""Compilations run without the interpreter: what they read of layouts, of metadata and of what is kept of other shaders lives as long as they do."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pyaco
from pyaco import spirv
from pyaco.descriptors.layout import Binding, PipelineLayout, SetLayout
from pyaco.descriptors.types import DescriptorType
from pyaco.nir import passes as nir_passes
from pyaco.pipelines import compute

ROOT = Path(__file__).resolve().parents[2]
MODULE = (ROOT / "tests/shaders/saxpy.spv").read_bytes()
KEPT = 1024                       # shaders whose arguments are kept (`declare_arguments.pyx`)


def sized(x: int, y: int = 1) -> bytes:
    """The module with another workgroup size, of which its arguments are others."""
    words = list(struct.unpack(f"<{len(MODULE) // 4}I", MODULE))
    at = next(i for i in range(len(words)) if words[i] == 6 << 16 | 16 and words[i + 2] == 17)      # OpExecutionMode ... LocalSize
    words[at + 3 : at + 6] = x, y, 1
    at = next(i for i in range(len(words)) if words[i] == 4 << 16 | 71 and words[i + 2 : i + 4] == [11, 25])      # ... BuiltIn WorkgroupSize
    words[at : at + 4] = [1 << 16] * 4                                                                            # OpNop
    return struct.pack(f"<{len(words)}I", *words)


def layout(first: DescriptorType = DescriptorType.STORAGE_BUFFER, sets: dict[int, SetLayout] | None = None) -> PipelineLayout:
    """A layout of the module's buffers, with another binding: images, which are aligned more than buffers, come before them."""
    members = SetLayout([Binding(binding, DescriptorType.STORAGE_BUFFER) for binding in (0, 1, 8)] + [Binding(7, first)])
    made = {} if sets is None else sets
    made[0] = members
    return PipelineLayout(made, 16)


@contextmanager
def beside(function: Callable[[], object]) -> Iterator[None]:
    """While it lasts, another thread calls a function again and again."""
    stop = threading.Event()
    errors: list[BaseException] = []

    def loop() -> None:
        try:
            while not stop.is_set():
                function()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not errors, errors


def test_no_pass_of_a_compilation_needs_the_interpreter() -> None:
    steps = [step for pipeline in (compute.NIR, compute.BACKEND) for step in pipeline.steps()]
    assert [step.name for step in steps if step.entry.native_kernel(step.options, 100) is None
            and step.entry.kernel_in_compilation(step.options, 100) is None] == []


@pytest.mark.slow
def test_what_is_kept_may_be_forgotten_while_compilations_use_it() -> None:
    expected = [pyaco.compile(sized(x)).code for x in (64, 65, 66)]
    compiled = 0

    def others() -> None:
        nonlocal compiled
        pyaco.compile(sized(1 + compiled % 300, 1 + compiled // 300 % 3), target=("gfx1030", "gfx1100")[compiled // 900 % 2])
        compiled += 1

    with beside(others):
        while compiled < 2 * KEPT:
            for x, code in zip((64, 65, 66), expected, strict=True):
                shader = pyaco.compile(sized(x))
                assert shader.code == code
                assert shader.abi is not None and shader.abi.workgroup_size == (x, 1, 1)


def test_a_layout_may_change_while_compilations_use_it() -> None:
    sets: dict[int, SetLayout] = {}
    changing = layout(sets=sets)
    small, large = (pyaco.compile(MODULE, layout=layout(first)).code for first in (DescriptorType.STORAGE_BUFFER, DescriptorType.SAMPLED_IMAGE))
    assert small != large

    def change() -> None:
        for first in (DescriptorType.STORAGE_BUFFER, DescriptorType.SAMPLED_IMAGE):
            layout(first, sets)
            time.sleep(0)

    with beside(change):
        for _ in range(200):
            assert pyaco.compile(MODULE, layout=changing).code in (small, large)


def test_metadata_that_a_users_pass_changes_counts() -> None:
    def move(shader: Any) -> None:
        described = shader.metadata["abi"]["descriptor_sets"][0]
        described["size"] += 64
        for facts in described["bindings"].values():
            facts["offset"] += 64

    def look(shader: Any) -> None:
        assert shader.metadata["abi"]["descriptor_sets"]

    plain = pyaco.compile(MODULE).code
    with nir_passes.registered("declare_arguments", look):
        assert pyaco.compile(MODULE).code == plain
    with nir_passes.registered("declare_arguments", move):
        moved = pyaco.compile(MODULE)
    assert moved.code != plain
    assert pyaco.compile(MODULE).code == plain
    assert moved.abi is not None and min(each.offset for each in moved.abi.descriptor_sets[0].bindings.values()) == 64


def test_metadata_may_be_looked_at_while_passes_run() -> None:
    plain = pyaco.compile(MODULE).code
    shaders = [spirv.read(MODULE)]

    def look() -> None:
        assert shaders[-1].metadata["descriptor_sets"]
        time.sleep(0)

    with beside(look):
        for _ in range(100):
            shaders.append(spirv.read(MODULE))
            assert pyaco.compile(shaders[-1]).code == plain
            del shaders[:-1]


def test_lazy_fields_are_the_same_for_all_threads() -> None:
    for _ in range(30):
        shader = pyaco.compile(MODULE)
        start = threading.Barrier(4)
        seen: list[tuple[Any, ...]] = []

        def look(shader: Any = shader, start: Any = start, seen: Any = seen) -> None:
            start.wait()
            seen.append((shader.stats, shader.abi, shader.passes))

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == 4
        assert all(each == seen[0] for each in seen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_may_fork_while_a_thread_compiles() -> None:
    plain = pyaco.compile(MODULE).code
    with beside(lambda: pyaco.compile(MODULE)):
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if pyaco.compile(MODULE).code == plain else 1)
            deadline = time.monotonic() + 10
            while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < deadline:
                time.sleep(0.001)
            if not ended[0]:
                os.kill(child, 9)
                os.waitpid(child, 0)
            assert ended == (child, 0)
