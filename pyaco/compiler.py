"""From a shader to machine code: the way through the house, and the object that comes out of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from pyaco import targets
from pyaco.abi import Abi
from pyaco.arguments import checked
from pyaco.debug_switches import NO_SWITCHES, DebugSwitches, Observer, switches
from pyaco.errors import InputError, UnsupportedError
from pyaco.passes import PassRecord, Pipeline, Run, Stopped
from pyaco.source import SPIRV_MAGICS, Source, load
from pyaco.targets import features
from pyaco.targets.limits import check_wgp_mode
from pyaco.targets.lowering import DoublesLowering, Int64Lowering, doubles_lowering, int64_lowering, spelled

if TYPE_CHECKING:
    from pyaco._core.ir.compilation import Target
    from pyaco._core.ir.program import Program
    from pyaco._core.ir.shader import Shader
    from pyaco.aco.pressure import Pressure
    from pyaco.binary.source_lines import SourceLines
    from pyaco.descriptors.layout import PipelineLayout

__all__ = ["CompiledShader", "PassRecord", "compile"]

class _LazyField:
    """A field of a `CompiledShader` that a compilation leaves to the first look at it; `default` makes what it is where nobody says.

    Until then the object has no value of that name, but under "_makers" a function for it and its arguments.
    """

    def __init__(self, default: Callable[[], Any] | None = None) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, shader: Any, owner: type) -> Any:
        if shader is None:
            if self._default is None:
                raise AttributeError(self._name)
            return self
        values = vars(shader)
        if self._name not in values:
            maker = values["_makers"].get(self._name)
            if maker is not None:                 # else another thread has just made it
                values[self._name] = maker[0](*maker[1:])
                values["_makers"].pop(self._name, None)
        return values[self._name]

    def __set__(self, shader: Any, value: Any) -> None:
        vars(shader)[self._name] = self._default() if value is self and self._default is not None else value


@dataclass(repr=False)
class CompiledShader:
    """A shader compiled for one target and wave size.

    Attributes
    ----------
    target : str
        gfx name, such as ``gfx1100``.
    stage, entry : str
        Pipeline stage and entry point.
    wave : int
        Lanes per wave, 32 or 64: what was asked for, or what was chosen.
    code : bytes
        Machine code; empty when the compilation was stopped before the assembler.
    constant_data : bytes
        Read-only data that stands right after the code, which is padded to 64 bytes.
    abi : Abi or None
        How arguments reach registers; see ``pyaco.abi``. None when the compilation was stopped before that was decided.
    stats : dict
        Statistics with the meaning that RADV gives them in ``VK_KHR_pipeline_executable_properties``. They are counted at the first look at
        them; until then the shader keeps its ACO IR.
    passes : list of PassRecord
        Every pass that ran, in order, with its time. A pass of a group that repeats does not run where nothing has changed since it
        last found nothing to do.
    dumps : dict
        Text of the IR after each pass that was asked for; ``perfinfo`` and ``liveinfo`` where `debug` names them.
    pressure : tuple of Pressure
        Where most registers are needed, and what holds them (``explain_pressure``): before spilling, where the program has to spill, and of the
        program that registers are allocated for.
    line_rows : list of tuple
        First offset in the code, end, file and line of each run of instructions that comes from one line of source; empty where the
        SPIR-V has no lines (``glslangValidator -g`` or ``-gVS`` writes them). ``source_lines`` finds one.
    """

    target: str
    stage: str
    entry: str
    wave: int
    code: bytes
    constant_data: bytes
    abi: Abi | None = _LazyField()  # type: ignore[assignment]
    stats: dict[str, int] = _LazyField()  # type: ignore[assignment]
    passes: list[PassRecord] = _LazyField(list)  # type: ignore[assignment]
    dumps: dict[str, str] = field(default_factory=dict)
    pressure: tuple[Pressure, ...] = ()
    line_rows: list[tuple[int, int, str, int]] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        made = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**made, **{name: value for name, value in vars(self).items() if name != "_makers"}}

    @cached_property
    def source_lines(self) -> SourceLines:
        """File and line by offset in the code."""
        from pyaco.binary.source_lines import SourceLines

        return SourceLines(self.line_rows)

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
            "abi": {} if self.abi is None else self.abi.as_dict(),
        }

    def to_elf(self) -> bytes:
        """Return a code object: ELF for AMDGPU with PAL metadata."""
        from pyaco.binary import write_elf

        return write_elf(self)

    def __repr__(self) -> str:
        size = f"{len(self.code)} bytes, {self.stats['instructions']} instructions" if self.code else "no code, stopped early"
        return f"<CompiledShader {self.entry} for {self.target}, wave{self.wave}: {size}>"

    def _repr_html_(self) -> str:
        from pyaco.notebook import folded, table

        shown = table(f"{self.entry} for {self.target}, wave{self.wave}", self.stats)
        return shown + folded(f"{len(self.code)} bytes of code", self.disassembly if self.code else "stopped before the assembler")


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
    disable: str | tuple[str, ...] | list[str] = (),
    int64: str | Int64Lowering = "hardware",
    fp64: str | DoublesLowering = "hardware",
    debug: str | tuple[str, ...] | list[str] = (),
    explain_pressure: bool = False,
    wgp_mode: bool = False,
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
        32 or 64 lanes per wave. By default as RADV chooses for compute shaders: 32 for workgroups of up to 32 invocations on chips that have
        such waves, else 64; ``CompiledShader.wave`` says which.
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
    disable : str or list of str
        Names of optimisations to leave out, such as ``"nir.loop_unroll"`` or ``"schedule_vopd"``.
    int64 : str or Int64Lowering
        Which operations on 64-bit integers become operations on 32-bit halves, besides those that instruction selection does not have:
        ``"hardware"`` (no more, as RADV), ``"all"`` (as ANV) or names of options, joined by ``+`` (``pyaco.targets.lowering``).
    fp64 : str or DoublesLowering
        The same for doubles: ``"hardware"``, ``"lowered"`` (all but sums, products, comparison and conversion) or ``"software"`` (every
        operation, in integer arithmetic), or names of options.
    debug : str or list of str
        Switches by the names of ``ACO_DEBUG``, such as ``"validateir,force-waitcnt"`` (``pyaco.debug_switches.SWITCHES``), besides those of the
        environment variable ``PYACO_DEBUG``.
    explain_pressure : bool
        Find out where most registers are needed, and what holds them.
    wgp_mode : bool
        The waves of a workgroup may run on both compute units of a pair (GFX10 and later): its barriers then wait for memory too, because these
        units share no first-level cache. RADV dispatches so; by default a workgroup stays on one unit.

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
    chip, aim, lowering = _prepared(target, wave, int64, fp64, wgp_mode)
    on = switches(debug)
    asked = validate or dump_after or stop_after or disable or explain_pressure or on is not NO_SWITCHES
    observer = None
    if asked:
        observer = Observer(on, explain_pressure) if on.observes or explain_pressure else None
        steps = Run(validate=validate, dump_after=_names(dump_after), stop_after=stop_after, disabled=_names(disable) | on.disabled,
                    on_pass=observer)  # fmt: skip
    else:
        steps = Run()
    rooms = _rooms()
    reading = program = None
    owned = True
    words = source if type(source) is bytes and source.startswith(SPIRV_MAGICS) else None
    if words is None:
        found = load(source)
        if found.kind == "spirv":
            words = found.data
        else:
            shader = read_nir(found, entry, spec)
            owned = found.kind != "shader"
    if words is not None:
        reading = rooms.begin_reading(words, entry, dict(spec) if spec else None)
        shader = reading.shader
    if layout is not None:
        shader.facts.known["pipeline_layout"] = layout
    try:
        if owned and reading is None:
            steps.note(rooms.NIR, "spirv", "read", shader)
        if owned and not ((asked and steps.watched) or rooms.NIR.users or rooms.ACO.users):     # a user's pass may look at both IRs, and keep them
            if asked:
                steps.check_disabled(rooms.compute.NIR, rooms.compute.ACO)
            program = rooms.Program()
            steps.run_through(reading, (rooms.NIR, lowering.pipeline, shader), aim, rooms.isel.kernel,
                              (rooms.ACO, rooms.compute.BACKEND if on is NO_SWITCHES else on.backend, program), aim.gfx_level)  # fmt: skip
        else:
            if reading is not None:
                reading.run()
                steps.note(rooms.NIR, "spirv", "read", shader)
            program = _lower(shader, aim, lowering, steps, on, observer)
    except Stopped:
        pass
    else:
        if asked:
            steps.check_names()
    made = _result(shader, program, chip, wave, steps)
    if observer is not None:
        made.dumps.update(observer.texts)
        made.pressure = tuple(observer.pressure)
        _print_unasked(made, on)
    return made


def _print_unasked(shader: CompiledShader, on: DebugSwitches) -> None:
    """What only the environment wants to see, of which the caller knows nothing."""
    for name in sorted(on.prints & shader.dumps.keys()):
        print(f"; {name} of {shader.entry} for {shader.target}\n{shader.dumps[name]}", file=sys.stderr)


@lru_cache(maxsize=256, typed=True)
def _prepared(
    target: str, wave: int | None, int64: str | Int64Lowering, fp64: str | DoublesLowering, wgp_mode: bool
) -> tuple[targets.Chip, Target, _Lowering]:
    """What is the same for all shaders."""
    chip = _chip(target)
    if wave is not None:
        targets.wave_limits(chip, wave)  # complains about a wave size that the chip does not have
    check_wgp_mode(chip, wgp_mode)
    return chip, _target(chip, wave, wgp_mode), _lowering(chip.level, int64, fp64)


def _chip(target: str) -> targets.Chip:
    """The chip that is compiled for."""
    chip = targets.chip(target)
    if not features.has_compiler(chip.level):
        raise UnsupportedError(f"compilation for {chip.target}: {chip.level_name} is assembled and emulated, but has no compiler here")
    return chip


def _names(words: str | tuple[str, ...] | list[str]) -> frozenset[str]:
    return frozenset([words] if isinstance(words, str) else words)


def read_nir(source: Source, entry: str | None = None, spec: Mapping[int, int | float | bool] | None = None) -> Any:
    """Return the NIR of a source: what SPIR-V or text is read to, or the NIR itself that was handed in."""
    if source.kind == "shader":
        return source.data
    if source.kind == "nir":
        from pyaco.nir.parse import parse_shader

        shader = parse_shader(source.text, source.name)
        if shader.metadata["stage"] not in ("compute", "kernel"):
            raise UnsupportedError(f"shader stage {shader.metadata['stage']!r} (only compute)")
        return shader
    return _rooms().spirv.read(source.data, entry=entry, specialization=dict(spec or {}))


@cache
def _rooms() -> SimpleNamespace:
    """What a compilation needs of other rooms: loaded by the first one, not by ``import pyaco``."""
    from pyaco import spirv
    from pyaco._core.aco import isel
    from pyaco._core.ir.program import Program
    from pyaco._core.spirv.reader import begin_reading
    from pyaco.aco.passes import ACO
    from pyaco.aco.statistics import statistics
    from pyaco.nir.passes import NIR, check_lowered, mark_lowered
    from pyaco.pipelines import compute

    return SimpleNamespace(spirv=spirv, begin_reading=begin_reading, isel=isel, Program=Program, ACO=ACO, NIR=NIR, check_lowered=check_lowered,
                           mark_lowered=mark_lowered, compute=compute, statistics=statistics)  # fmt: skip



class _Lowering(NamedTuple):
    """What is lowered of 64-bit integers and doubles, and the NIR passes with these options."""

    int64: Int64Lowering
    fp64: DoublesLowering
    pipeline: Pipeline


def _lowering(level: int, int64: str | Int64Lowering, fp64: str | DoublesLowering) -> _Lowering:
    """Kept, because flags of Python's and a pipeline of its own would take longer than all passes of a small shader."""
    from pyaco.pipelines import compute
    from pyaco.pipelines.nir_passes import lower_doubles, lower_int64

    integers = int64_lowering(level) | int64_lowering(level, int64)
    doubles = doubles_lowering(level) | doubles_lowering(level, fp64)
    pipeline = compute.NIR
    if integers != int64_lowering(level):
        pipeline = pipeline.with_options(lower_int64, lower=spelled(integers))
    if doubles != doubles_lowering(level):
        pipeline = pipeline.with_options(lower_doubles, lower=spelled(doubles))
    return _Lowering(integers, doubles, pipeline)


def _limits(target: str, wave: int) -> dict[str, int]:
    return targets.wave_limits(target, wave).as_dict()


def _target(chip: targets.Chip, wave: int | None, wgp_mode: bool) -> Target:
    """What is compiled for, as kernels read it: the limits of a chip's waves, and how their size is chosen where `wave` is None."""
    from pyaco._core.ir.compilation import Target

    narrow = _limits(chip.target, 32) if features.has_wave32(chip.level) else None
    wide = _limits(chip.target, 64) if features.has_wave64(chip.level) else None
    return Target(chip.level, wave or 0, narrow, wide, narrow_with_matrices=features.has_wave_matrices(chip.level),
                  wgp_mode=wgp_mode)  # fmt: skip


def _lower(shader: Shader, target: Target, lowering: _Lowering, steps: Run, on: DebugSwitches, observer: Observer | None) -> Program:
    """Run the NIR passes, instruction selection, the backend and the assembler, each seen by whoever looks at the IR."""
    rooms = _rooms()
    program: Program = rooms.Program()
    rooms.mark_lowered(shader)
    steps.check_disabled(rooms.compute.NIR, rooms.compute.ACO)
    target.aim(shader, program)
    steps.run(rooms.NIR, lowering.pipeline, shader, target.gfx_level)
    if steps.validates:
        rooms.check_lowered(shader, lowering.int64, lowering.fp64)
    rooms.isel.run(shader, program)
    steps.note(rooms.ACO, "aco", "instruction_selection", program)
    steps.run(rooms.ACO, rooms.compute.BACKEND if on is NO_SWITCHES else on.backend, program, target.gfx_level)
    if observer is not None:
        observer.finish(program)
    return program


def _result(shader: Any, program: Any, chip: targets.Chip, wave: int | None, steps: Run) -> CompiledShader:
    made = CompiledShader.__new__(CompiledShader)
    passes = (getattr, steps, "records")
    lines: list[tuple[int, int, str, int]] = []
    # what __init__ does, without a call of a descriptor for each field that is lazy
    if program is None:
        made.__dict__ = {
            "target": chip.target, "stage": "compute", "entry": shader.facts.known.get("entry", "main"),
            "wave": wave or shader.info["wave_size"] or 64, "code": b"", "constant_data": b"", "abi": _abi_of_shader(shader), "stats": {},
            "dumps": steps.dumps, "pressure": (), "line_rows": lines, "_makers": {"passes": passes},
        }  # fmt: skip
        return made
    if program.source_files:
        lines = _line_rows(program)
    made.__dict__ = {
        "target": chip.target, "stage": "compute", "entry": shader.facts.known.get("entry", "main"), "wave": program.wave_size,
        "code": program.code, "constant_data": program.constant_data, "dumps": steps.dumps, "pressure": (), "line_rows": lines,
        "_makers": {"abi": (_abi, program), "stats": (_rooms().statistics, program), "passes": passes},
    }  # fmt: skip
    return made


# What the ABI has of the program's configuration.
_CONFIG_OF_ABI = ("num_sgprs", "num_vgprs", "num_shared_vgprs", "lds_bytes", "scratch_bytes_per_lane", "float_mode")


def _abi(program: Any) -> Abi:
    config = program.config
    return Abi.from_dict({**program.metadata["abi"], **{name: config[name] for name in _CONFIG_OF_ABI}, "wgp_mode": program.wgp_mode})


def _abi_of_shader(shader: Shader) -> Abi | None:
    """The ABI of a shader whose compilation was stopped before there was a program."""
    facts = shader.metadata.get("abi")
    return None if facts is None else Abi.from_dict(facts)


def _line_rows(program: Any) -> list[tuple[int, int, str, int]]:
    names = program.source_files
    table = program.code_lines
    starts, files, lines = table.offset.tolist(), table.file.tolist(), table.line.tolist()
    ends = [*starts[1:], len(program.code)]
    return [(start, end, names[file], line) for start, end, file, line in zip(starts, ends, files, lines, strict=True) if line and end > start]
