"""Compute pipelines: a shader module, a layout, specialization and a target become machine code, through caches.

The way is that of Mesa's drivers (ANV's ``anv_pipeline.c`` and ``anv_pipeline_cache.c``): a key is hashed of everything that decides the result; a
cache is asked for the finished shader; else the module is read to NIR, or NIR that another pipeline has read from the same words is
copied, and compiled; what comes out is stored under the key. Each step is noted with its time. ANV does not store what it compiles for
the sake of its internal representations (``VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR``), and neither does this.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pyaco import targets
from pyaco.abi import Abi
from pyaco.arguments import checked
from pyaco.build_identity import build_identity
from pyaco.compiler import CompiledShader, compile, read_nir
from pyaco.debug_switches import switches
from pyaco.disk_cache import DEFAULT_LIMIT, DiskCache
from pyaco.errors import InputError, PyacoError, UnsupportedError
from pyaco.source import load
from pyaco.targets.lowering import doubles_lowering, int64_lowering

if TYPE_CHECKING:
    from pyaco._core.ir.shader import Shader
    from pyaco.descriptors.layout import PipelineLayout, SetLayout

__all__ = ["CompileStep", "Executable", "Pipeline", "PipelineCache", "ShaderModule", "shader_of_entry"]

_FORMAT = 1                             # of what stands in an entry
_LENGTH = struct.Struct("<I")
_NIR_KEPT = 64                          # shaders as NIR in one cache
_SHADERS_KEPT = 1024


class CompileStep(NamedTuple):
    """A step on the way to a pipeline: its name, how long it took, and of a look into a cache whether it was found."""

    name: str
    milliseconds: float
    found: bool | None = None


class Executable(NamedTuple):
    """One program of a pipeline, as ``VK_KHR_pipeline_executable_properties`` tells of it.

    Attributes
    ----------
    name, stage : str
    wave : int
        Lanes of a wave.
    statistics : dict
        ``CompiledShader.stats``.
    representations : dict
        Text of NIR and ACO IR after their last passes, and of the machine code, where they were asked for.
    """

    name: str
    stage: str
    wave: int
    statistics: dict[str, int]
    representations: dict[str, str]


@checked
class ShaderModule:
    """A shader as it came in, with the hash of its words.

    Parameters
    ----------
    source : path or bytes
        SPIR-V, NIR text, or GLSL where a GLSL compiler is on the path.

    Attributes
    ----------
    digest : bytes
        SHA-256 of the kind of source and its bytes.
    """

    def __init__(self, source: str | Path | bytes) -> None:
        self.source = load(source)
        if self.source.kind == "shader":
            raise InputError("a module is SPIR-V, NIR text or GLSL; NIR in memory can be changed, and has no key")
        self.digest = hashlib.sha256(self.source.kind.encode() + b"\0" + self.source.data).digest()


@checked
class PipelineCache:
    """What pipelines share: finished shaders by key, in memory and, with a folder, on disk; and NIR by module, entry and specialization.

    Parameters
    ----------
    folder : str, Path or None
        Of a ``DiskCache``; None: in memory only.
    limit : int
        Bytes on disk.

    Attributes
    ----------
    disk : DiskCache or None
    """

    def __init__(self, folder: str | Path | None = None, limit: int = DEFAULT_LIMIT) -> None:
        self.disk = DiskCache(folder, limit) if folder is not None else None
        self._shaders: OrderedDict[bytes, bytes] = OrderedDict()
        self._nir: OrderedDict[bytes, Shader] = OrderedDict()
        self._lock = Lock()

    def nir(self, key: bytes) -> Shader | None:
        """Return a copy of the NIR of a key, to be changed at will."""
        with self._lock:
            found = self._nir.get(key)
            if found is None:
                return None
            self._nir.move_to_end(key)
            return found.copy()

    def keep_nir(self, key: bytes, shader: Shader) -> None:
        """Keep a copy of the NIR of a key; of many the one used longest ago goes."""
        with self._lock:
            self._nir[key] = shader.copy()
            while len(self._nir) > _NIR_KEPT:
                self._nir.popitem(last=False)

    def entry(self, key: bytes) -> bytes | None:
        """Return the entry of a finished shader."""
        with self._lock:
            found = self._shaders.get(key)
            if found is not None:
                self._shaders.move_to_end(key)
                return found
        return self.disk.get(key) if self.disk is not None else None

    def keep(self, key: bytes, entry: bytes, store: bool = True) -> None:
        """Keep the entry of a finished shader; `store`: on disk too."""
        with self._lock:
            self._shaders[key] = entry
            while len(self._shaders) > _SHADERS_KEPT:
                self._shaders.popitem(last=False)
        if store and self.disk is not None:
            self.disk.put(key, entry)


@checked
class Pipeline:
    """A compute pipeline.

    Parameters
    ----------
    module : ShaderModule, path or bytes
    target : str
        gfx name, chip name or product name.
    stage : str
        Only ``compute`` so far.
    entry : str, optional
        Entry point; may be left out when the module has one.
    specialization : mapping, optional
        Values of specialization constants by their SpecId.
    layout : PipelineLayout, optional
    wave : int, optional
        32 or 64 lanes; by default as ``pyaco.compile`` chooses.
    disable : tuple of str
        Optimisations to leave out.
    int64, fp64 : str
        What is lowered of 64-bit integers and doubles, as ``pyaco.compile`` takes it.
    debug : str or tuple of str
        Switches by the names of ``ACO_DEBUG``, as ``pyaco.compile`` takes them. A pipeline of which switches keep text, or which they validate, is
        compiled, and neither taken from a cache nor stored in one.
    wgp_mode : bool
        As ``pyaco.compile`` takes it.
    cache : PipelineCache, optional
    capture : bool
        Keep the text of NIR, ACO IR and machine code; such a pipeline is compiled, and neither taken from a cache nor stored in one.

    Attributes
    ----------
    shader : CompiledShader
        What ``Device.dispatch`` takes; from a cache it has no ``passes``.
    key : bytes or None
        32 bytes that decide what the shader is; None where passes of users are registered, of which nothing is known: then no cache is used.
    steps : tuple of CompileStep
        How the shader came about.

    Raises
    ------
    InputError, UnsupportedError
        As ``pyaco.compile``.
    """

    def __init__(
        self, module: ShaderModule | str | Path | bytes, target: str = "gfx1100", *, stage: str = "compute", entry: str | None = None,
        specialization: Mapping[int, int | float | bool] | None = None, layout: PipelineLayout | None = None, wave: int | None = None,
        disable: tuple[str, ...] | list[str] = (), int64: str = "hardware", fp64: str = "hardware",
        debug: str | tuple[str, ...] | list[str] = (), wgp_mode: bool = False, cache: PipelineCache | None = None, capture: bool = False,
    ) -> None:  # fmt: skip
        if stage != "compute":
            raise UnsupportedError(f"shader stage {stage!r} (only compute)")
        self.module = module if isinstance(module, ShaderModule) else ShaderModule(module)
        self._steps: list[CompileStep] = []
        self._mark = perf_counter()
        self._capture = capture
        on = switches(debug)
        cache = None if capture or on.observes or _has_user_passes() else cache
        nir_key = _hash(self.module.digest, entry, _specialization(specialization))
        chip = targets.chip(target)
        lowered = (int(int64_lowering(chip.level, int64)), int(doubles_lowering(chip.level, fp64)))
        facts = (stage, chip.target, wave, wgp_mode, sorted(disable), lowered, _plain(layout), on.code_key)
        identity = build_identity(cache.disk if cache is not None else None)
        self.key = None if _has_user_passes() else _hash(b"pipeline", _FORMAT, identity, nir_key, *facts)
        self._note("key")
        found = self._look_up(cache) if cache is not None and self.key is not None else None
        if found is None:
            shader = self._nir(cache, nir_key, entry, specialization)
            dumps = "all" if capture else ()
            found = compile(shader, target, stage=stage, wave=wave, layout=layout, disable=disable, int64=int64, fp64=fp64,
                            dump_after=dumps, debug=debug, wgp_mode=wgp_mode)  # fmt: skip
            self._note_passes(found)
            if cache is not None and self.key is not None:
                cache.keep(self.key, entry_of_shader(found))
                self._note("store")
        self.shader = found

    @property
    def steps(self) -> tuple[CompileStep, ...]:
        """The steps, in order."""
        return tuple(self._steps)

    @property
    def from_cache(self) -> bool:
        """Whether the finished shader was found."""
        return any(step.name == "look up" and step.found for step in self._steps)

    @property
    def executables(self) -> tuple[Executable, ...]:
        """The programs of the pipeline: of a compute pipeline one."""
        representations = {}
        if self._capture:
            dumps = self.shader.dumps
            for name, prefix in (("NIR", "nir."), ("ACO IR", "aco.")):
                representations[name] = [text for step, text in dumps.items() if step.startswith(prefix)][-1]
            representations["assembly"] = self.shader.disassembly
        return (Executable(self.shader.entry, self.shader.stage, self.shader.wave, self.shader.stats, representations),)

    def _note(self, name: str, found: bool | None = None) -> None:
        now = perf_counter()
        self._steps.append(CompileStep(name, (now - self._mark) * 1e3, found))
        self._mark = now

    def _note_passes(self, shader: CompiledShader) -> None:
        """Sum the passes up by what they are part of."""
        sums: dict[str, float] = {}
        for record in shader.passes:
            name = {"instruction_selection": "instruction selection", "assemble": "assembler"}.get(record.name)
            name = name or ("NIR passes" if record.room == "nir" else "backend passes")
            sums[name] = sums.get(name, 0.0) + record.milliseconds
        self._steps += [CompileStep(name, milliseconds) for name, milliseconds in sums.items()]
        self._mark = perf_counter()

    def _look_up(self, cache: PipelineCache) -> CompiledShader | None:
        assert self.key is not None
        entry = cache.entry(self.key)
        found = shader_of_entry(entry) if entry is not None else None
        self._note("look up", found is not None)
        if entry is not None and found is not None:
            cache.keep(self.key, entry, store=False)
        return found

    def _nir(
        self, cache: PipelineCache | None, key: bytes, entry: str | None, specialization: Mapping[int, int | float | bool] | None
    ) -> Shader:
        shader = cache.nir(key) if cache is not None else None
        if shader is not None:
            self._note("copy NIR", True)
            return shader
        shader = read_nir(self.module.source, entry, specialization)
        if cache is not None:
            cache.keep_nir(key, shader)
        self._note("read")
        return shader


# -------------------------------------------------------------------------------------------------------------------- keys
def _has_user_passes() -> bool:
    from pyaco.aco.passes import ACO
    from pyaco.nir.passes import NIR

    return bool(NIR.users.names() or ACO.users.names())


def _hash(*facts: object) -> bytes:
    """A SHA-256 of plain values; two different lists of values have two different texts."""
    return hashlib.sha256(repr(facts).encode()).digest()


def _specialization(values: Mapping[int, int | float | bool] | None) -> list[tuple[int, str, str]]:
    """Specialization constants in the order of their ids; 1, 1.0 and True are three different values."""
    given = (values or {}).items()
    return sorted((number, type(value).__name__, value.hex() if isinstance(value, float) else repr(value)) for number, value in given)


def _plain(value: object) -> object:
    """A layout as tuples of plain values, in an order that depends on nothing but its contents."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return (type(value).__name__, *((each.name, _plain(getattr(value, each.name))) for each in fields(value)))
    if isinstance(value, Mapping):
        return tuple(sorted((key, _plain(member)) for key, member in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(_plain(member) for member in value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return _plain_set(value)  # type: ignore[arg-type]


def _plain_set(layout: SetLayout) -> object:
    return ("SetLayout", layout.size, layout.dynamic_count, _plain(layout.bindings))


# ----------------------------------------------------------------------------------------------------------------- entries
def entry_of_shader(shader: CompiledShader) -> bytes:
    """Return a compiled shader as bytes: the length of a JSON object, the object, machine code, constant data."""
    facts = {
        "kind": "shader", "target": shader.target, "stage": shader.stage, "entry": shader.entry, "wave": shader.wave, "code": len(shader.code),
        "constant_data": len(shader.constant_data), "abi": None if shader.abi is None else shader.abi.as_dict(), "stats": shader.stats,
        "lines": shader.line_rows,
    }  # fmt: skip
    head = json.dumps(facts, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(head)), head, shader.code, shader.constant_data))


def facts_of_entry(entry: bytes) -> dict[str, Any] | None:
    """Return the JSON object of an entry, or None where it is none of a shader."""
    try:
        end = _LENGTH.size + _LENGTH.unpack_from(entry)[0]
        facts = json.loads(entry[_LENGTH.size : end])
    except (struct.error, ValueError):
        return None
    return facts if isinstance(facts, dict) and facts.get("kind") == "shader" and end <= len(entry) else None


def shader_of_entry(entry: bytes) -> CompiledShader | None:
    """Return the shader of an entry; None where the entry is not one of this format."""
    facts = facts_of_entry(entry)
    if facts is None:
        return None
    try:
        start = _LENGTH.size + _LENGTH.unpack_from(entry)[0]
        middle = start + facts["code"]
        if middle + facts["constant_data"] != len(entry):
            return None
        abi = None if facts["abi"] is None else Abi.from_dict(facts["abi"])
        rows = [(int(first), int(end), str(file), int(line)) for first, end, file, line in facts["lines"]]
        return CompiledShader(
            facts["target"], facts["stage"], facts["entry"], facts["wave"], entry[start:middle], entry[middle:], abi, dict(facts["stats"]),
            line_rows=rows,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, PyacoError):
        return None
