"""From a shader to machine code: the way through the house, and the object that comes out of it."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyaco import targets
from pyaco.errors import InputError, UnsupportedError
from pyaco.source import Source, load

__all__ = ["CompiledShader", "PassRecord", "compile"]


@dataclass(frozen=True)
class PassRecord:
    """One pass that ran: its room (``spirv``, ``nir``, ``aco``), its name, and how long it took."""

    room: str
    name: str
    milliseconds: float


@dataclass
class CompiledShader:
    """A shader compiled for one target and wave size.

    Attributes
    ----------
    target : str
        gfx name, such as ``gfx1100``.
    stage, entry : str
        Pipeline stage and entry point.
    wave : int
        Lanes per wave, 32 or 64.
    code : bytes
        Machine code; empty when the compilation was stopped before the assembler.
    constant_data : bytes
        Read-only data that stands right after the code, which is padded to 64 bytes.
    abi : dict
        How arguments reach registers; see ``docs/architecture.md``.
    stats : dict
        Statistics with the meaning that RADV gives them in ``VK_KHR_pipeline_executable_properties``.
    passes : list of PassRecord
        Every pass, in order, with its time.
    dumps : dict
        Text of the IR after each pass that was asked for.
    """

    target: str
    stage: str
    entry: str
    wave: int
    code: bytes
    constant_data: bytes
    abi: dict[str, Any]
    stats: dict[str, int]
    passes: list[PassRecord] = field(default_factory=list)
    dumps: dict[str, str] = field(default_factory=dict)

    @property
    def disassembly(self) -> str:
        """The machine code as text that LLVM's assembler reads."""
        from pyaco import isa

        return isa.disassemble(self.code, self.target)

    def ir(self, name: str) -> str:
        """Return the text of the IR after a pass, for example ``after register allocation``.

        The shader must have been compiled with that pass among ``dump_after`` (or ``dump_after="all"``).

        Raises
        ------
        InputError
            When there is no such dump; the message lists those that exist.
        """
        wanted = name.removeprefix("after ").replace(" ", "_")
        for key, text in self.dumps.items():
            if wanted in (key, key.split(".")[-1]):
                return text
        raise InputError(f"no IR was kept after {wanted!r}; kept: {', '.join(self.dumps) or 'none (see dump_after)'}")

    @property
    def times_ms(self) -> dict[str, Any]:
        """Milliseconds in total, per room, and per pass."""
        rooms = {room: 0.0 for room in ("spirv", "nir", "aco")}
        passes: dict[str, float] = {}
        for record in self.passes:
            rooms[record.room] += record.milliseconds
            name = f"{record.room}.{record.name}"
            passes[name] = passes.get(name, 0.0) + record.milliseconds
        return {"total": sum(rooms.values()), **rooms, "passes": passes}

    def to_json(self) -> dict[str, Any]:
        """Return what ``pyaco compile --emit json`` prints."""
        return {
            "target": self.target,
            "stage": self.stage,
            "entry": self.entry,
            "wave": self.wave,
            "code_hex": self.code.hex(),
            "constant_data_hex": self.constant_data.hex(),
            "stats": self.stats,
            "times_ms": self.times_ms,
            "abi": self.abi,
        }

    def to_elf(self) -> bytes:
        """Return a code object: ELF for AMDGPU with PAL metadata."""
        from pyaco.binary import write_elf

        return write_elf(self)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(k)}</td><td>{v}</td></tr>" for k, v in self.stats.items())
        return (
            f"<b>{html.escape(self.entry)}</b> for {self.target}, wave{self.wave}"
            f"<table>{rows}</table><pre>{html.escape(self.disassembly)}</pre>"
        )


class _Stopped(Exception):
    """Raised inside the pass lists to end a compilation early."""


class _Observer:
    """Times passes, validates and dumps the IR after them, and stops where the user asked."""

    def __init__(self, validate: bool, dump_after: frozenset[str], stop_after: str | None) -> None:
        self.validate = validate
        self.dump_after = dump_after
        self.stop_after = stop_after
        self.records: list[PassRecord] = []
        self.dumps: dict[str, str] = {}
        self.seen: set[str] = set()

    def __call__(self, room: str, name: str, ir: Any, seconds: float) -> None:
        full = f"{room}.{name}"
        self.seen |= {name, full}
        self.records.append(PassRecord(room, name, seconds * 1e3))
        if self.validate:
            _validate(room, name, ir)
        if self.dump_after & {"all", name, full}:
            self.dumps[full] = _print_ir(room, ir)
        if self.stop_after in (name, full):
            self.dumps[full] = _print_ir(room, ir)
            raise _Stopped

    def check_names(self) -> None:
        """Complain about a pass that was named and never ran."""
        wanted = set(self.dump_after) - {"all"}
        if self.stop_after:
            wanted.add(self.stop_after)
        if unknown := wanted - self.seen:
            raise InputError(f"no such pass: {', '.join(sorted(unknown))}; see `pyaco compile --print-passes`")


def _validate(room: str, name: str, ir: Any) -> None:
    if room == "aco":
        from pyaco.aco import validate

        validate.run(ir, name)
    else:
        from pyaco._core.nir import validate as nir_validate

        nir_validate.run(ir)


def _print_ir(room: str, ir: Any) -> str:
    if room == "aco":
        from pyaco.aco.text import print_program

        return print_program(ir)
    from pyaco.nir.text import print_shader

    return print_shader(ir)


def compile(
    source: str | Path | bytes | Any,
    target: str = "gfx1100",
    *,
    stage: str = "compute",
    entry: str | None = None,
    wave: int | None = None,
    spec: Mapping[int, int | float | bool] | None = None,
    validate: bool = False,
    dump_after: str | tuple[str, ...] | list[str] = (),
    stop_after: str | None = None,
) -> CompiledShader:
    """Compile a shader to machine code.

    Parameters
    ----------
    source : path, bytes, or NIR shader
        SPIR-V (``.spv``, or its bytes), NIR text (``.nir``), or GLSL where a GLSL compiler is on the path.
    target : str
        gfx name, chip name or product name.
    stage : str
        Only ``compute`` so far.
    entry : str, optional
        Entry point; may be left out when the module has one.
    wave : int, optional
        32 or 64 lanes per wave; 64 by default, as RADV does for compute shaders.
    spec : mapping, optional
        Values of specialization constants by their SpecId.
    validate : bool
        Run the validators after every pass.
    dump_after : str or list of str
        Names of passes after which the IR's text is kept; ``"all"`` for every pass.
    stop_after : str, optional
        Name of the pass after which to stop; the result has no code then.

    Returns
    -------
    CompiledShader

    Raises
    ------
    InputError
        Malformed input; the message says where and why.
    UnsupportedError
        Well-formed input that uses something pyaco does not have; the message names it.
    """
    if stage != "compute":
        raise UnsupportedError(f"shader stage {stage!r} (only compute)")
    chip = targets.chip(target)
    wave = 64 if wave is None else wave
    limits = targets.wave_limits(chip, wave)
    names = frozenset([dump_after] if isinstance(dump_after, str) else dump_after)
    observer = _Observer(validate, names, stop_after)
    shader = _read(load(source), entry, spec, observer)
    program = None
    try:
        if "spirv.read" in (stop_after, f"spirv.{stop_after}"):
            raise _Stopped
        program = _lower(shader, chip, wave, limits, observer)
    except _Stopped:
        pass
    else:
        observer.check_names()
    return _result(shader, program, chip, wave, observer)


def _read(source: Source, entry: str | None, spec: Mapping[int, int | float | bool] | None, observer: _Observer) -> Any:
    if source.kind == "shader":
        return source.data
    start = time.perf_counter()
    if source.kind == "nir":
        from pyaco.nir.parse import parse_shader

        shader = parse_shader(source.text, source.name)
    else:
        from pyaco import spirv

        shader = spirv.read(source.data, entry=entry, specialization=dict(spec or {}))
    observer.records.append(PassRecord("spirv", "read", (time.perf_counter() - start) * 1e3))
    observer.seen |= {"read", "spirv.read"}
    if observer.validate:
        _validate("nir", "read", shader)
    if observer.dump_after & {"all", "read", "spirv.read"} or observer.stop_after in ("read", "spirv.read"):
        observer.dumps["spirv.read"] = _print_ir("nir", shader)
    return shader


def _lower(shader: Any, chip: targets.Chip, wave: int, limits: targets.WaveLimits, observer: _Observer) -> Any:
    """Run the NIR passes, instruction selection and the backend."""
    from pyaco._core.aco import isel
    from pyaco._core.ir.program import Program
    from pyaco.aco import passes as aco_passes
    from pyaco.nir import passes as nir_passes

    shader.set_info(gfx_level=chip.level, wave_size=wave, address32_hi=0xFFFF8000)
    nir_passes.run(shader, on_pass=lambda name, ir, seconds: observer("nir", name, ir, seconds))
    x, y, z = shader.info["workgroup_size"]
    program = Program()
    program.configure(
        gfx_level=chip.level, wave_size=wave, workgroup_size=x * y * z, limits=limits.as_dict(), wgp_mode=False
    )
    start = time.perf_counter()
    isel.run(shader, program)
    observer("aco", "instruction_selection", program, time.perf_counter() - start)
    aco_passes.run(program, on_pass=lambda name, ir, seconds: observer("aco", name, ir, seconds))
    return program


def _result(shader: Any, program: Any, chip: targets.Chip, wave: int, observer: _Observer) -> CompiledShader:
    abi = dict(shader.metadata.get("abi", {}))
    stats: dict[str, int] = {}
    code = constants = b""
    if program is not None:
        from pyaco.aco.statistics import statistics

        config = program.config
        for name in ("num_sgprs", "num_vgprs", "lds_bytes", "scratch_bytes_per_lane", "float_mode"):
            abi[name] = config[name]
        stats = statistics(program)
        code, constants = program.code, program.constant_data
    return CompiledShader(
        target=chip.target, stage="compute", entry=shader.metadata.get("entry", "main"), wave=wave, code=code,
        constant_data=constants, abi=abi, stats=stats, passes=observer.records, dumps=observer.dumps,
    )


