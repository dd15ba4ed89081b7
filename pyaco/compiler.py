"""From a shader to machine code: the way through the house, and the object that comes out of it."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyaco import targets
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.source import Source, load

if TYPE_CHECKING:
    from pyaco._core.ir.shader import Shader
    from pyaco.descriptors.layout import PipelineLayout

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

        return isa.disassemble(self.code, self.target, wave_size=self.wave)

    @checked
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
        self.mark = time.perf_counter()

    def __call__(self, room: str, name: str, ir: Any) -> None:
        """Record a pass that has just run: its time is that since the last call returned."""
        full = f"{room}.{name}"
        self.seen |= {name, full}
        self.records.append(PassRecord(room, name, (time.perf_counter() - self.mark) * 1e3))
        if self.validate and room != "aco":
            _validate(ir)
        if self.dump_after & {"all", name, full}:
            self.dumps[full] = _print_ir(room, ir)
        if self.stop_after in (name, full):
            self.dumps[full] = _print_ir(room, ir)
            raise _Stopped
        self.mark = time.perf_counter()

    def check_names(self) -> None:
        """Complain about a pass that was named and never ran."""
        wanted = set(self.dump_after) - {"all"}
        if self.stop_after:
            wanted.add(self.stop_after)
        if unknown := wanted - self.seen:
            raise InputError(f"no such pass: {', '.join(sorted(unknown))}; see `pyaco compile --print-passes`")


def _validate(ir: Any) -> None:
    from pyaco._core.nir import validate

    validate.run(ir)


def _print_ir(room: str, ir: Any) -> str:
    if room == "aco":
        from pyaco.aco.text import format_program

        return format_program(ir)
    from pyaco.nir.text import print_shader

    return print_shader(ir)


@checked
def compile(
    source: str | Path | bytes | Shader,
    target: str = "gfx1100",
    *,
    stage: str = "compute",
    entry: str | None = None,
    wave: int | None = None,
    spec: Mapping[int, int | float | bool] | None = None,
    layout: PipelineLayout | None = None,
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
    layout : PipelineLayout, optional
        Where descriptors stand, and what kind of descriptor each binding has (``pyaco.descriptors.layout``); by default the shader's
        own bindings, as plain buffers.
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
    if chip.level in (100, 115):
        raise UnsupportedError(f"compilation for {chip.target}: {chip.level_name} is assembled and emulated only")
    wave = 64 if wave is None else wave
    limits = targets.wave_limits(chip, wave)
    names = frozenset([dump_after] if isinstance(dump_after, str) else dump_after)
    observer = _Observer(validate, names, stop_after)
    shader = program = None
    try:
        shader = _read(load(source), entry, spec, observer)
        if layout is not None:
            shader.metadata["pipeline_layout"] = layout
        program = _lower(shader, chip, wave, limits, observer)
    except _Stopped:
        pass
    else:
        observer.check_names()
    return _result(shader, program, chip, wave, observer)


def _read(source: Source, entry: str | None, spec: Mapping[int, int | float | bool] | None, observer: _Observer) -> Any:
    if source.kind == "shader":
        return source.data
    if source.kind == "nir":
        from pyaco.nir.parse import parse_shader

        shader = parse_shader(source.text, source.name)
        if shader.metadata["stage"] not in ("compute", "kernel"):
            raise UnsupportedError(f"shader stage {shader.metadata['stage']!r} (only compute)")
    else:
        from pyaco import spirv

        shader = spirv.read(source.data, entry=entry, specialization=dict(spec or {}))
    observer("spirv", "read", shader)
    return shader


def _lower(shader: Any, chip: targets.Chip, wave: int, limits: targets.WaveLimits, observer: _Observer) -> Any:
    """Run the NIR passes, instruction selection, the backend and the assembler."""
    from pyaco._core.aco import assemble, isel
    from pyaco._core.ir.program import Program
    from pyaco.aco import passes as aco_passes
    from pyaco.nir import passes as nir_passes

    if chip.is_cdna:
        raise UnsupportedError(f"compilation for {chip.target}: {chip.architecture} has an instruction set but no compiler here")
    shader.set_info(gfx_level=chip.level, wave_size=wave, address32_hi=0xFFFF8000)
    nir_passes.run(shader, on_pass=lambda name, ir, seconds: observer("nir", name, ir))
    x, y, z = shader.info["workgroup_size"]
    program = Program()
    program.configure(
        gfx_level=chip.level, wave_size=wave, workgroup_size=x * y * z, limits=limits.as_dict(), wgp_mode=False
    )
    isel.run(shader, program)
    observer("aco", "instruction_selection", program)
    before: dict[str, int] = {}
    options = aco_passes.Options(validate=observer.validate, statistics=before)
    aco_passes.run_passes(program, options, on_pass=lambda name, ir: observer("aco", name, ir))
    program.metadata["statistics"] = before
    assemble.run(program, zero_unused=True)
    observer("aco", "assemble", program)
    return program


def _result(shader: Any, program: Any, chip: targets.Chip, wave: int, observer: _Observer) -> CompiledShader:
    metadata = shader.metadata if shader is not None else {}
    abi = dict(metadata.get("abi", {}))
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
        target=chip.target, stage="compute", entry=metadata.get("entry", "main"), wave=wave, code=code,
        constant_data=constants, abi=abi, stats=stats, passes=observer.records, dumps=observer.dumps,
    )


