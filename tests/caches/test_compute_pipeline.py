"""Pipelines: one shader from all ways to it; a key for everything that decides it; steps, statistics, damaged and forged entries."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyaco
from pyaco import InputError, Pipeline, PipelineCache, ShaderModule, build_identity, compute_pipeline, emu, nir
from pyaco.compute_pipeline import entry_of_shader, shader_of_entry
from pyaco.descriptors.layout import Binding, PipelineLayout, SetLayout
from pyaco.descriptors.types import DescriptorType
from pyaco.nir.text import print_shader

ROOT = Path(__file__).parents[2]
SHADERS = ROOT / "tests/shaders"
SAXPY = SHADERS / "saxpy.spv"
COMPILED_STEPS = ["key", "look up", "read", "NIR passes", "instruction selection", "backend passes", "assembler", "store"]


def layout(*numbers: int, push_bytes: int = 0, kind: DescriptorType = DescriptorType.STORAGE_BUFFER) -> PipelineLayout:
    return PipelineLayout({0: SetLayout([Binding(number, kind) for number in numbers])}, push_bytes)


def names(pipeline: Pipeline) -> list[str]:
    return [step.name for step in pipeline.steps]


@pytest.mark.parametrize("target", ["gfx900", "gfx1100"])
@pytest.mark.parametrize("name", ["saxpy", "constant_tables", "private_arrays", "descriptor_arrays", "spec_constants", "matmul_f32"])
def test_every_way_gives_the_same_shader(name: str, target: str, tmp_path: Path) -> None:
    source = SHADERS / f"{name}.spv"
    wanted = pyaco.compile(source, target)
    wanted.passes = []
    first = Pipeline(source, target, cache=PipelineCache(tmp_path))
    first.shader.passes = []
    cache = PipelineCache(tmp_path)
    second, third = Pipeline(source, target, cache=cache), Pipeline(source.read_bytes(), target, cache=cache)
    assert first.shader == second.shader == third.shader == wanted
    assert Pipeline(source, target).shader.code == wanted.code
    assert first.key == second.key == third.key
    assert (first.from_cache, second.from_cache, third.from_cache) == (False, True, True)
    assert names(first) == COMPILED_STEPS and names(second) == names(third) == ["key", "look up"]
    assert all(step.milliseconds >= 0 for step in first.steps)


def test_a_shader_from_the_cache_runs(tmp_path: Path) -> None:
    Pipeline(SAXPY, "gfx1030", cache=PipelineCache(tmp_path))
    shader = Pipeline(SAXPY, "gfx1030", cache=PipelineCache(tmp_path)).shader
    plain = pyaco.compile(SAXPY, "gfx1030")
    push = struct.pack("<If", 200, 3.0)
    for each in (shader, plain):
        device = emu.Device("gfx1030")
        x, y = (device.buffer(np.arange(256, dtype=np.float32) + start) for start in (0, 5))
        device.dispatch(each, (4, 1, 1), {(0, 0): x, (0, 1): y}, push)
        start = np.arange(256, dtype=np.float32)
        assert (y.numpy().view(np.float32) == np.where(start < 200, 4 * start + 5, start + 5)).all()


def test_another_process_finds_it(tmp_path: Path) -> None:
    Pipeline(SAXPY, "gfx1030", cache=PipelineCache(tmp_path))
    code = f"import pyaco; print(pyaco.Pipeline({str(SAXPY)!r}, 'gfx1030', cache=pyaco.PipelineCache({str(tmp_path)!r})).from_cache)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout == "True\n"


VARIATIONS: dict[str, dict[str, Any]] = {
    "nothing": {}, "target": {"target": "gfx1100"}, "wave": {"wave": 32}, "entry": {"entry": "main"}, "disable": {"disable": ["nir.loop_unroll"]},
    "all halves": {"int64": "all"}, "software": {"fp64": "software"}, "both": {"int64": "all", "fp64": "software"},
    "two left out": {"disable": ["nir.loop_unroll", "schedule_vopd"]}, "spec 1": {"specialization": {0: 1}}, "spec 2": {"specialization": {0: 2}},
    "spec true": {"specialization": {0: True}}, "spec float": {"specialization": {0: 1.0}}, "other id": {"specialization": {1: 1}},
    "both ids": {"specialization": {0: 1, 1: 1}}, "layout": {"layout": layout(0, 1)}, "layout with more": {"layout": layout(0, 1, 2)},
    "push constants": {"layout": layout(0, 1, push_bytes=16)}, "another type": {"layout": layout(0, 1, kind=DescriptorType.UNIFORM_BUFFER)},
    "variable": {"layout": PipelineLayout({0: SetLayout([Binding(0, DescriptorType.STORAGE_BUFFER, 4, variable=True)])})},
    "no set": {"layout": PipelineLayout()}, "set 1": {"layout": PipelineLayout({1: SetLayout([Binding(0, DescriptorType.STORAGE_BUFFER)])})},
    "immutable": {"layout": PipelineLayout({0: SetLayout([Binding(0, DescriptorType.SAMPLER, samplers=((1, 2, 3, 4),))])})},
    "immutable too": {"layout": PipelineLayout({0: SetLayout([Binding(0, DescriptorType.SAMPLER, samplers=((1, 2, 3, 5),))])})},
}  # fmt: skip


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """The key of a pipeline, without compiling it."""
    shader = pyaco.compile(SAXPY, "gfx1030")
    monkeypatch.setattr(compute_pipeline, "compile", lambda *args, **kwargs: shader)
    monkeypatch.setattr(compute_pipeline, "read_nir", lambda *args: pyaco.spirv.read(SAXPY.read_bytes()))

    def key(source: Any = SAXPY, target: str = "gfx1030", **choices: Any) -> bytes:
        found = Pipeline(source, target, **choices).key
        assert found is not None and len(found) == 32
        return found

    return key


def test_whatever_decides_is_in_the_key(keys: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    words = SAXPY.read_bytes()
    found = {name: keys(**choices) for name, choices in VARIATIONS.items()}
    found["source"] = keys(SHADERS / "fft.spv")
    found["one word"] = keys(words[:8] + b"\x01" + words[9:])
    monkeypatch.setattr(compute_pipeline, "build_identity", lambda cache: bytes(32))
    found["pyaco"] = keys()
    assert len(set(found.values())) == len(found), sorted(found)


def test_what_does_not_decide_is_not_in_the_key(keys: Callable[..., bytes]) -> None:
    assert keys(SAXPY) == keys(SAXPY.read_bytes()) == keys(ShaderModule(SAXPY)) == keys(specialization={}) == keys(disable=())
    assert keys(target="gfx1100") == keys(target="navi31") == keys(target="RX 7900 XTX") != keys()
    assert keys(specialization={0: 1, 3: 2}) == keys(specialization={3: 2, 0: 1})
    assert keys(layout=layout(0, 1)) == keys(layout=layout(1, 0))
    assert keys(int64="hardware", fp64="drcp+dsqrt+drsq+ddiv") == keys()
    assert keys(disable=["nir.dce", "schedule_vopd"]) == keys(disable=("schedule_vopd", "nir.dce"))


def test_nir_is_read_once_and_stays_what_it_was() -> None:
    cache = PipelineCache()
    first = Pipeline(SAXPY, "gfx900", cache=cache)
    second = Pipeline(SAXPY, "gfx1100", cache=cache)
    third = Pipeline(SAXPY, "gfx1201", cache=cache)
    assert "read" in names(first) and "copy NIR" in names(second) and "copy NIR" in names(third)
    for pipeline, target in ((second, "gfx1100"), (third, "gfx1201")):
        assert pipeline.shader.code == pyaco.compile(SAXPY, target).code


@pytest.mark.parametrize("name", ["saxpy", "function_calls", "constant_tables", "descriptor_arrays"])
def test_a_copy_of_nir_is_the_same_and_independent(name: str) -> None:
    shader = pyaco.spirv.read((SHADERS / f"{name}.spv").read_bytes())
    text, copy = print_shader(shader), shader.copy()
    assert print_shader(copy) == text and copy.info == shader.info and copy.metadata == shader.metadata
    assert pyaco.compile(copy, "gfx1030").code == pyaco.compile(SHADERS / f"{name}.spv", "gfx1030").code
    assert print_shader(shader) == text and "abi" not in shader.metadata


def test_executables_tell_of_the_program() -> None:
    pipeline = Pipeline(SAXPY, "gfx1100", wave=32, capture=True, cache=(cache := PipelineCache()))
    (executable,) = pipeline.executables
    assert (executable.name, executable.stage, executable.wave) == ("main", "compute", 32)
    assert executable.statistics == pipeline.shader.stats and executable.statistics["instructions"] > 0
    assert executable.representations.keys() == {"NIR", "ACO IR", "assembly"}
    assert "load_ssbo" in executable.representations["NIR"] and "s_endpgm" in executable.representations["assembly"]
    assert not Pipeline(SAXPY, "gfx1100", wave=32, cache=cache).from_cache              # nothing was stored of it
    assert Pipeline(SAXPY, "gfx1100", wave=32, cache=cache, capture=False).executables[0].representations == {}


def test_passes_of_users_have_no_key(tmp_path: Path) -> None:
    cache = PipelineCache(tmp_path)
    Pipeline(SAXPY, "gfx1030", cache=cache)
    with nir.registered("dce", lambda shader: None, name="mine"):
        pipeline = Pipeline(SAXPY, "gfx1030", cache=cache)
        assert pipeline.key is None and not pipeline.from_cache and "store" not in names(pipeline)
    assert Pipeline(SAXPY, "gfx1030", cache=cache).from_cache


def test_damaged_and_forged_entries_are_compiled_again(tmp_path: Path) -> None:
    first = Pipeline(SAXPY, "gfx1030", cache=PipelineCache(tmp_path))
    assert first.key is not None
    cache = PipelineCache(tmp_path)
    assert cache.disk is not None
    path = tmp_path / first.key.hex()[:2] / f"{first.key.hex()[2:]}.entry"
    path.write_bytes(path.read_bytes()[:-1])
    again = Pipeline(SAXPY, "gfx1030", cache=PipelineCache(tmp_path))
    assert not again.from_cache and again.shader.code == first.shader.code
    assert Pipeline(SAXPY, "gfx1030", cache=PipelineCache(tmp_path)).from_cache
    # whole as files, and nothing that a pipeline has written
    entry = entry_of_shader(first.shader)
    length = int.from_bytes(entry[:4], "little")
    facts = json.loads(entry[4 : 4 + length])
    forged: list[Any] = [None, 3, [], "x", {}, *({**facts, name: value} for name in facts for value in (None, -1, 1 << 40, "x", [], {"a": 1}, [[1]]))]
    for each in forged:
        head = json.dumps(each).encode()
        data = len(head).to_bytes(4, "little") + head + entry[4 + length :]
        found = shader_of_entry(data)
        assert found is None or isinstance(found, pyaco.CompiledShader)
    for data in (b"", b"\xff" * 3, b"\xff" * 40, entry[:-1], entry + b"\0", b"\x80\x04\x95" + entry):
        assert shader_of_entry(data) is None
        cache.disk.put(first.key, data)
        mended = Pipeline(SAXPY, "gfx1030", cache=PipelineCache(tmp_path))
        assert not mended.from_cache and mended.shader.code == first.shader.code


def test_bad_input_is_no_entry(tmp_path: Path) -> None:
    cache = PipelineCache(tmp_path)
    for _ in range(2):
        with pytest.raises(InputError):
            Pipeline(SAXPY.read_bytes()[:-4], "gfx1030", cache=cache)
    with pytest.raises(InputError, match="NIR in memory"):
        ShaderModule(pyaco.spirv.read(SAXPY.read_bytes()))  # type: ignore[arg-type]
    with pytest.raises(pyaco.UnsupportedError, match="stage 'vertex'"):
        Pipeline(SAXPY, stage="vertex")
    assert cache.disk is not None and all(shader_of_entry(cache.disk.peek(entry.key) or b"") is None for entry in cache.disk.entries())


def test_the_identity_is_that_of_the_contents(tmp_path: Path) -> None:
    """A byte of a kernel, a source or a table that changes under the same size and time is another pyaco; a file of the emulator is not."""
    package = tmp_path / "pyaco"
    for name in ("_core/aco/isel.so", "compiler.py", "targets/data/features.txt", "emu/device.py", "_core/emu/code.so", "aco/notes.md"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_bytes(name.encode())

    def state() -> tuple[bytes, bytes]:
        files = build_identity._files(package)
        return build_identity._stamp(files), build_identity._contents(package, files)

    before = state()
    for name, counts in (("_core/aco/isel.so", True), ("compiler.py", True), ("targets/data/features.txt", True), ("emu/device.py", False),
                         ("_core/emu/code.so", False), ("aco/notes.md", False)):  # fmt: skip
        path = package / name
        status = path.stat()
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b"?")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        after = state()
        assert (after[0] != before[0], after[1] != before[1]) == (counts, counts), name
        before = after


def test_every_module_that_compiling_loads_is_in_the_identity() -> None:
    """What a compilation imports decides what it makes: no module of the package may be missing, but for those that make nothing."""
    code = (f"import sys, pyaco; from pyaco import build_identity as b; from pathlib import Path; pyaco.compile({str(SAXPY)!r}, 'gfx1030');"
            "known = set(b._files(Path(pyaco.__file__).parent));"
            "print(*sorted(n for n, m in sys.modules.items() if n.startswith('pyaco.') and Path(m.__file__) not in known))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    allowed = ("_core", "argument_errors", "arguments", "build_identity", "disk_cache", "errors", "notebook")
    assert set(done.stdout.split()) - {f"pyaco.{name}" for name in allowed} == set()


def command(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYACO_CACHE", None)
    if folder is not None:
        environment["PYACO_CACHE"] = str(folder)
    return subprocess.run([sys.executable, "-m", "pyaco.cli", *words], capture_output=True, text=True, env=environment)


def test_commands(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    plain = command("compile", str(SAXPY), "--target", "gfx1030")
    first = command("compile", str(SAXPY), "--target", "gfx1030", "--cache", str(folder))
    second = command("compile", str(SAXPY), "--target", "gfx1030", folder=folder)
    assert plain.stdout == first.stdout == second.stdout and plain.returncode == second.returncode == 0
    found = json.loads(command("cache", str(folder), "--json").stdout)
    shaders = [entry for entry in found["entries"] if entry["kind"] == "shader"]
    assert [(entry["target"], entry["entry"]) for entry in shaders] == [("gfx1030", "main")]
    assert len(found["entries"]) == 2 and found["bytes"] == sum(entry["bytes"] for entry in found["entries"])
    run = command("run", str(SAXPY), "--target", "gfx1030", "--buffer", "0.0=zeros:256", "--buffer", "0.1=zeros:256", "--cache", str(folder))
    assert run.returncode == 0 and len(json.loads(command("cache", str(folder), "--json").stdout)["entries"]) == 2
    assert "gfx1030 wave64 main" in command("cache", str(folder)).stdout
    path = folder / shaders[0]["key"][:2] / f"{shaders[0]['key'][2:]}.entry"
    path.write_bytes(path.read_bytes()[:-1])
    verified = command("cache", str(folder), "--verify")
    assert verified.returncode == 1 and "2 entries, 1 of them damaged and removed" in verified.stdout and shaders[0]["key"] in verified.stderr
    assert command("cache", str(folder), "--verify").returncode == 0
    assert command("cache", str(folder), "--clear").stdout == "1 entries removed\n"
    assert command("cache", str(folder)).stdout == "0 entries, 0 bytes\n"
    assert command("cache", str(tmp_path / "none")).returncode == 2


def test_without_a_folder_nothing_is_written(tmp_path: Path) -> None:
    shutil.copy(SAXPY, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    environment.pop("PYACO_CACHE", None)
    command = [sys.executable, "-m", "pyaco.cli", "compile", "saxpy.spv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, env=environment)
    assert done.stdout and sorted(tmp_path.rglob("*")) == before
    assert hashlib.sha256(SAXPY.read_bytes()).digest() != ShaderModule(SAXPY).digest          # the kind of source is in it
