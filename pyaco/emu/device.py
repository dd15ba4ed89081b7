"""A device: buffers in its memory, and dispatches of machine code.

A dispatch comes either from a compiled shader, whose ``abi`` says how its arguments reach registers (see
``docs/architecture.md``), or from bare machine code with its registers given one by one (``Device.run``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import ArrayLike, NDArray

from pyaco import command_streams
from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu.reference import Engine
from pyaco.arguments import checked
from pyaco.descriptors.sets import DescriptorSet
from pyaco.emu.arguments import Arguments, LowMemory, Shader, padded_code
from pyaco.emu.buffers import Buffer, BufferPlace, BufferRange, Buffers, bound_addresses
from pyaco.emu.checks import chosen_checks
from pyaco.emu.errors import EmulationError
from pyaco.emu.image_views import DescriptorReader
from pyaco.emu.launch import DEFAULT_BUDGET, RESIDENT_WAVES, Launch, extent, initial_mode
from pyaco.emu.prepared_launch import PreparedLaunch
from pyaco.emu.report import Report
from pyaco.errors import InputError, UnsupportedError
from pyaco.isa.processors import processor
from pyaco.targets import TargetId, features

if TYPE_CHECKING:
    from pyaco._core.emu_inspect.engine import InspectingEngine
    from pyaco.binary import CodeObject
    from pyaco.binary.source_lines import SourceLines
    from pyaco.emu.debug import Session
    from pyaco.emu.hostcall import Hostcalls
    from pyaco.emu.hsa import DispatchPacket
    from pyaco.emu.images import Image
    from pyaco.emu.kernels import LoadedCode

__all__ = ["DEFAULT_BUDGET", "ENGINES", "Buffer", "BufferRange", "Device"]

#: Names of the engines.
ENGINES = ("reference", "fast")
_GDS_BYTES = 1 << 16
_BORDER_COLORS = 1 << 12
_UNWRITTEN = 0xCD  # what bytes hold that nobody has written
_MAX_THREADS = 256
_MAX_TRACE = 1 << 28
_TIMELINE = 1 << 16


def usable_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Device:
    """An emulated GPU.

    Parameters
    ----------
    target : str
        A gfx name, chip or product, such as ``gfx1100``; ``gfx942:xnack-`` takes no code object that is made for ``xnack+``.
    engine : str
        ``fast``: lanes as host vectors and workgroups on several threads; or ``reference``, lane by lane on one thread, which says what
        the results are. They are the same bit for bit.
    threads : int, optional
        How many threads of the fast engine run workgroups; by default one for every processor that the process may use.
    check_waits : bool
        Stop with `MissingWaitError` where a program uses what a real machine could not have yet: memory operations that no counter was
        waited for, wait states of GFX8, GFX9 and CDNA (matrix operations included), and the hazards of GFX10 to GFX13. Bugs of chips that
        have to do with values in other registers or with where code lies (CDNA 2: 64-bit shifts by the last VGPR; GFX10.1: instruction
        prefetch), and clauses that a page fault replays, are no waits and are not looked for.
    check_races : bool
        Stop with `RaceError` where two waves reach the same bytes, one writes, and nothing orders them.
    profile : bool
        Count by instruction: lanes, memory traffic, cache lines, bank conflicts, cycles of a model (``Report.profile``).
    timeline : int
        Executions of instructions that the profile keeps one by one, for its timeline.
    trace : int
        Keep the first so many instructions as columns in the report.
    seed : int, optional
        Draw the order of workgroups and the turns of waves from it, to shake out races.

    check : str or iterable of str
        What else to stop at, as names, in a string with commas between them: ``memory``, ``waits``, ``races``, ``barriers``,
        ``uninitialized`` (``pyaco.emu.checks.CHECKS`` says what each finds).
        `check_waits` and `check_races` are the same as their names here.
    report_same_value : bool
        Two stores of the same value that nothing orders are races too. Layouts that several waves hold alike are written so; without this
        such stores are only counted (``Report.same_value_stores``). Plain loads of what
        another wave compares and swaps, with which compilers begin loops, are reported with it too.

    Every check, `profile`, `trace` and `seed` make the inspecting engine run, whose results are the same. The fast engine keeps what it has
    decoded, and the
    memory of a workgroup's waves, for the next dispatch: up to 8 MiB a thread.

    Threads may share a device: one thread's dispatch, or change of what is mapped, waits for another's to end.

    Raises
    ------
    UnsupportedError
        An engine that does not exist.
    """

    @checked
    def __init__(
        self, target: str, engine: str = "fast", threads: int | None = None, *, check_waits: bool = False,
        check_races: bool = False, profile: bool = False, trace: int = 0, seed: int | None = None, check: str | Iterable[str] = (),
        report_same_value: bool = False, timeline: int = _TIMELINE,
    ) -> None:  # fmt: skip
        wanted = TargetId.parse(target)
        self.target, self.gfx_level = processor(wanted.processor)
        #: The processor, with what is fixed for the code that it takes.
        self.target_id = wanted.on(self.target)
        if not features.has_emulator(self.gfx_level):
            raise UnsupportedError(f"emulation of {self.target}: the emulator has GFX6 to GFX13")
        self.engine = engine
        self.space = AddressSpace()
        self.gds = bytearray(_GDS_BYTES)    # global data share: packets reach it
        self._threads = _thread_count(engine, threads)
        #: Names of the checks that run.
        self.checks = chosen_checks(check) | {name for name, asked in (("waits", check_waits), ("races", check_races)) if asked}
        self._inspecting = bool(self.checks or profile or trace or seed is not None)
        if self._inspecting:
            self._engine: Engine = self._new_inspector(self.checks, profile, trace, seed, report_same_value, timeline)
        else:
            self._engine = new_engine(self.space, self.gfx_level, engine, self._threads)
        self._border_colors: Buffer | None = None
        self._engine.descriptors.describe = self._descriptor_reader = DescriptorReader(self.target, self.gfx_level)

    def _new_inspector(
        self, checks: Collection[str] = (), profile: bool = False, trace: int = 0, seed: int | None = None, report_same_value: bool = False,
        timeline: int = 0,
    ) -> InspectingEngine:  # fmt: skip
        from pyaco._core.emu_inspect.engine import InspectingEngine  # loaded only where it is asked for

        if not 0 <= trace <= _MAX_TRACE:
            raise InputError(f"a trace of {trace} instructions: expected up to {_MAX_TRACE}")
        if not 0 <= timeline <= _MAX_TRACE:
            raise InputError(f"a timeline of {timeline} instructions: expected up to {_MAX_TRACE}")
        if seed is not None and not 0 <= seed < 1 << 62:
            raise InputError(f"seed {seed}: expected 0 to 2**62 - 1")
        return InspectingEngine(self.space, self.gfx_level, "waits" in checks, "races" in checks, profile, trace, seed, "memory" in checks,
                                "barriers" in checks, report_same_value, "uninitialized" in checks, timeline if profile else 0)  # fmt: skip

    @checked
    def buffer(self, array: NDArray[Any] | bytes, *, name: str = "") -> Buffer:
        """Return a buffer with a copy of `array`; reports of stray accesses say `name`, and where it was made."""
        if isinstance(array, (bytes, bytearray, memoryview)):
            array = numpy.frombuffer(bytes(array), numpy.uint8)
        return Buffer(self.space, numpy.asarray(array), name=name)

    @checked
    def share(self, array: NDArray[Any], *, name: str = "") -> Buffer:
        """Return a buffer whose bytes are those of `array`, without a copy; `name` as for `buffer`.

        Raises
        ------
        InputError
            An array whose bytes do not lie side by side, or that cannot be written.
        """
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise InputError("only arrays whose bytes lie side by side and can be written are shared")
        return Buffer(self.space, array, shared=True, name=name)

    @checked
    def zeros(self, size: int, *, name: str = "") -> Buffer:
        """Return a buffer of `size` zero bytes; `name` as for `buffer`."""
        if not 0 <= size < 1 << 47:
            raise InputError(f"a buffer of {size} bytes")
        return Buffer(self.space, numpy.zeros(size, numpy.uint8), name=name)

    @checked
    def descriptor_buffer(self, data: NDArray[Any] | bytes, *, name: str = "") -> Buffer:
        """Return a buffer for descriptor sets, which shaders may write to (VK_EXT_descriptor_buffer).

        It has 32-bit addresses, as RADV gives them to buffers with that usage: pointers to sets are dwords.

        Parameters
        ----------
        data : ndarray or bytes
            What it holds: bytes of sets (``DescriptorSet.memory``), or zeros, which are null descriptors. It is copied.
        name : str
            As for `buffer`.
        """
        array = numpy.frombuffer(data, numpy.uint8) if isinstance(data, (bytes, bytearray)) else numpy.asarray(data)
        return Buffer(self.space, numpy.array(array), low=True, name=name)

    @checked
    def image(
        self, texels: ArrayLike | None = None, *, format: str = "R8G8B8A8_UNORM", width: int = 0, height: int = 0, name: str = "", **options: Any,
    ) -> Image:  # fmt: skip
        """Return an image in the device's memory, laid out as drivers do on its chip.

        Parameters
        ----------
        texels : array_like, optional
            What level 0 holds, as `pyaco.addrlib.Surface.tile` takes it: (slices, height, width), then channels or bytes; zeros by default.
        format : str
            Pixel format; `pyaco.formats`.
        width, height : int
            Pixels of level 0; by default as many as the texels (of formats that are not of blocks).
        name : str
            As for `buffer`.
        options
            ``depth``, ``layers``, ``mips``, ``samples``, ``cube``, ``linear``, ``swizzle_mode``, ``use`` of `pyaco.addrlib.Surface`, and
            ``sparse`` and ``compressed`` of `pyaco.emu.images.Image`; by default it has no metadata.

        Raises
        ------
        InputError
            No such image, or texels that do not fit it.
        UnsupportedError
            A chip without a known memory layout.
        """
        from pyaco.emu.images import Image  # which loads what lays surfaces out

        if texels is not None and not (width and height):
            shape = numpy.shape(texels)
            several = options.get("layers", 1) > 1 or options.get("depth", 0) or options.get("cube")
            if len(shape) < (3 if several else 2):
                raise InputError(f"texels of shape {shape}: rows and columns at least")
            height, width = (int(extent) for extent in (shape[1:3] if several else shape[:2]))
        image = Image(self.space, self.target, format=format, width=width, height=height or 1, name=name, **options)
        if texels is not None:
            image.write(texels)
        return image

    @checked
    def set_border_colors(self, colors: ArrayLike | None) -> None:
        """Say which colours samplers take whose border colour is one of a table (``border_color_type`` 3), as TA_BC_BASE_ADDR does.

        It is for between dispatches: one that runs in another thread meets either table.

        Parameters
        ----------
        colors : array_like or None
            Rows of red, green, blue and alpha, floats or, for formats of integers, integers: ``border_color_pointer`` of a sampler is the number
            of a row. None: there are none, and samples that meet such a border stop the dispatch.

        Raises
        ------
        InputError
            An array of another shape, or more rows than samplers can name.
        """
        if self._border_colors is not None:
            self._engine.descriptors.border_colors = 0
            self._border_colors.release()
            self._border_colors = None
        if colors is None:
            return
        rows = numpy.asarray(colors)
        if rows.ndim != 2 or rows.shape[1] != 4 or not 0 < len(rows) <= _BORDER_COLORS:
            raise InputError(f"border colours of shape {rows.shape}: up to {_BORDER_COLORS} rows of red, green, blue and alpha")
        if rows.dtype.kind not in "iuf":
            raise InputError(f"border colours of type {rows.dtype}: floats or integers")
        words = rows.astype(numpy.float32) if rows.dtype.kind == "f" else (rows.astype(numpy.int64) & 0xFFFFFFFF).astype(numpy.uint32)
        self._border_colors = self.buffer(words, name="border colours")
        self._engine.descriptors.border_colors = self._border_colors.address

    @contextmanager
    def border_colors_at(self, address: int) -> Iterator[None]:
        """While the context lasts, take border colours from a table at a device address (16 bytes a row), as TA_CS_BC_BASE_ADDR says.

        A table that reaches beyond mapped memory stops the dispatch that samples there.
        """
        descriptors = self._engine.descriptors
        before = descriptors.border_colors
        descriptors.border_colors = address
        try:
            yield
        finally:
            descriptors.border_colors = before

    @checked
    def allocate(self, size: int, *, name: str = "") -> Buffer:
        """Return a buffer of `size` bytes that nobody has written: the check ``uninitialized`` reports what depends on them.

        ``Buffer.write`` and stores of kernels write bytes; ``Buffer.numpy`` hands out all of them, which count as written then. They hold a
        pattern.
        """
        if not 0 <= size < 1 << 47:
            raise InputError(f"a buffer of {size} bytes")
        return Buffer(self.space, numpy.full(size, _UNWRITTEN, numpy.uint8), name=name, unwritten=True)

    # ------------------------------------------------------------------------------------------------------- dispatch
    @checked
    def dispatch(
        self,
        shader: Shader,
        groups: Sequence[int] = (1, 1, 1),
        buffers: Buffers | None = None,
        push: bytes = b"",
        budget: int = DEFAULT_BUDGET,
        *,
        sets: Mapping[int, DescriptorSet | BufferPlace] | None = None,
        dynamic_offsets: Sequence[int] = (),
        time_budget: float | None = None,
    ) -> Report:
        """Run a compiled compute shader.

        Parameters
        ----------
        shader : Shader
            What ``pyaco.compile`` returns.
        groups : sequence of int
            Workgroups in x, y, z.
        buffers : mapping
            (set, binding) to a buffer or a part of one, to those of a descriptor array, to the bytes of an inline uniform block,
            or to None. Bindings that are not named or are None get null descriptors: loads give zero, stores are dropped. Bindings
            that the shader does not have are ignored, as in Vulkan; ``Report.unused_bindings`` names them.
        push : bytes
            Push constants, up to 256 bytes; the shader reads those that it declares.
        budget : int
            Wave instructions that may be executed.
        sets : mapping
            Whole descriptor sets by number, in place of their bindings in `buffers`; of the layout that the shader was compiled for. A set may
            be given by its place in memory: a `descriptor_buffer`, or a ``BufferRange`` of one that begins where the set does.
        dynamic_offsets : sequence of int
            Bytes that each dynamic buffer is moved by: by set, binding and element. Missing ones are 0.
        time_budget : float, optional
            Seconds of wall clock that it may take; looked at every 65536 wave instructions of each thread.

        Raises
        ------
        MemoryFault, BudgetError, EmulationError
            The dispatch stopped; the message names the place.
        UnsupportedError
            It reached an instruction that the engine does not have.
        InputError
            Arguments that do not fit the shader.
        """
        placed = self.place(shader, groups, buffers, push, sets=sets, dynamic_offsets=dynamic_offsets)
        try:
            report = self.launch(self._launch_of(placed), budget=budget, time_budget=time_budget)
        except EmulationError as error:
            error.name_binding(bound_addresses(buffers or {}))
            if lines := _source_lines(shader):
                error.locate(str(getattr(shader, "entry", "shader")), lines.find)
            raise
        finally:
            placed.release()
        if report.profile is not None:
            from pyaco.emu.occupancy import shader_occupancy

            lines = _source_lines(shader)
            line_of = lines.find if lines else None
            report = replace(report, profile=report.profile.located(None, line_of, shader_occupancy(placed.abi, self.target)))
        return replace(report, unused_bindings=placed.unused_bindings) if placed.unused_bindings else report

    def _launch_of(self, placed: Arguments) -> Launch:
        launch = Launch.from_abi(placed.abi, self.gfx_level, entry=placed.entry, code_bytes=placed.code_bytes, groups=placed.groups,
                                 user_sgprs=placed.user_sgprs)  # fmt: skip
        return launch._replace(scratch_slots=placed.scratch_slots, private=placed.scratch) if placed.scratch_slots else launch

    @checked
    def debug(
        self,
        shader: Shader,
        groups: Sequence[int] = (1, 1, 1),
        buffers: Buffers | None = None,
        push: bytes = b"",
        budget: int = DEFAULT_BUDGET,
        *,
        sets: Mapping[int, DescriptorSet | BufferPlace] | None = None,
        dynamic_offsets: Sequence[int] = (),
        seed: int | None = None,
    ) -> Session:
        """Begin a dispatch that runs instruction by instruction; see `dispatch` for the arguments, `Session` for what it can.

        Raises
        ------
        InputError
            Arguments that do not fit the shader.
        """
        from pyaco.emu.debug import Session

        placed = self.place(shader, groups, buffers, push, sets=sets, dynamic_offsets=dynamic_offsets)
        try:
            launch = self._launch_of(placed)
            launch.check(self.target, self.gfx_level)
            for address, size, _ in self.space.unwritten():     # what the session writes is not followed
                self.space.note_written(address, size)
            engine = self._new_inspector(seed=seed)
            engine.descriptors.describe = self._descriptor_reader
            engine.descriptors.border_colors = self._engine.descriptors.border_colors
            engine.open(launch.entry, launch.groups, launch.size, budget=budget, **launch.engine_arguments())
        except BaseException:
            placed.release()
            raise
        return Session(self.target, self.space, engine, placed)

    @checked
    def place(
        self,
        shader: Shader,
        groups: Sequence[int] = (1, 1, 1),
        buffers: Buffers | None = None,
        push: bytes = b"",
        *,
        sets: Mapping[int, DescriptorSet | BufferPlace] | None = None,
        dynamic_offsets: Sequence[int] = (),
    ) -> Arguments:
        """Put a shader's code, descriptors and push constants into device memory; see `dispatch` for the arguments.

        Raises
        ------
        InputError
            Arguments that do not fit the shader.
        """
        placed = Arguments(self.space, self.gfx_level, shader, extent(groups, "groups"), buffers or {}, push, sets or {}, dynamic_offsets)
        if placed.abi.scratch_bytes_per_lane and not features.has_scratch_instructions(self.gfx_level):
            waves = -(-prod(placed.abi.workgroup_size) // placed.abi.wave_size)
            placed.place_scratch(waves, self.concurrent_workgroups(placed.entry, prod(placed.groups), waves, False))
        return placed

    @checked
    def submit(self, words: Sequence[int], budget: int = DEFAULT_BUDGET, *, time_budget: float | None = None) -> list[Report]:
        """Run a command stream on a command processor of its own; see ``pyaco.pm4.CommandProcessor``.

        Parameters
        ----------
        words : sequence of int
            The stream's dwords.
        budget : int
            Wave instructions that each dispatch may execute.
        time_budget : float, optional
            Seconds that each dispatch may take.

        Returns
        -------
        list of Report
            One for each dispatch, in order.
        """
        return command_streams.run(self, words, budget, time_budget)

    @checked
    def run(
        self,
        code: bytes,
        groups: Sequence[int] = (1, 1, 1),
        workgroup_size: Sequence[int] = (32, 1, 1),
        *,
        user_sgprs: Sequence[int] = (),
        wave_size: int = 32,
        workgroup_ids: Sequence[bool] = (False, False, False),
        workgroup_info: bool = False,
        scratch_offset: bool = False,
        local_id_components: int = 3,
        packed_ids: bool | None = None,
        float_mode: int = 0xC0,
        lds_bytes: int = 0,
        scratch_bytes_per_lane: int = 0,
        shared_vgpr: int = 0,
        cooperative: bool = False,
        cluster: Sequence[int] = (1, 1, 1),
        budget: int = DEFAULT_BUDGET,
        time_budget: float | None = None,
    ) -> Report:
        """Run bare machine code, its registers given one by one.

        Parameters
        ----------
        code : bytes
            Machine code, and data that it reaches relative to its pc.
        user_sgprs : sequence of int
            What s0, s1 ... hold.
        workgroup_ids : sequence of bool
            Which workgroup ids follow them (GFX12 has them in ttmp7 and ttmp9 in any case).
        workgroup_info : bool
            Then an SGPR with the number of waves in bits 0-5, this wave's index in bits 6-11, from GFX10.3 on in bits 20-24 too, and bit 31 in
            the first.
        scratch_offset : bool
            Then an SGPR with the wave's scratch offset: its index times its bytes of scratch.
        local_id_components : int
            VGPRs with local ids, where they are not packed.
        packed_ids : bool, optional
            v0 holds x | y << 10 | z << 20; by default from GFX11 and CDNA 2 on.
        shared_vgpr : int
            The first VGPR that both halves of a wave64 share (GFX10), 0 where there is none.
        cooperative : bool
            Workgroups may wait for each other by looking at memory: all of them are there at once, and take turns.
        cluster : sequence of int
            Workgroups of a cluster in x, y, z (GFX12.5); (1, 1, 1) where there are none.
        float_mode : int
            The low byte of MODE; by default single denormals are flushed, half and double ones kept.
        budget, time_budget
            Wave instructions, and seconds, that it may take.

        Raises
        ------
        MemoryFault, BudgetError, EmulationError, UnsupportedError, InputError
            As `dispatch`.
        """
        low = LowMemory(self.space)
        level = self.gfx_level
        try:
            launch = Launch(
                entry=low.allocate(padded_code(code, b""), 256), code_bytes=len(code), groups=extent(groups, "groups"),
                size=extent(workgroup_size, "workgroup_size"), wave_size=wave_size, user_sgprs=[value & 0xFFFFFFFF for value in user_sgprs],
                workgroup_id_mask=sum(1 << axis for axis, enabled in enumerate(workgroup_ids) if enabled),
                ids_in_ttmp=features.has_workgroup_ids_in_ttmp(level), workgroup_info=workgroup_info, scratch_offset=scratch_offset,
                packed_ids=features.has_packed_ids(level) if packed_ids is None else packed_ids, local_id_components=local_id_components,
                shared_vgpr=shared_vgpr, mode=initial_mode(level, float_mode), lds_bytes=lds_bytes, scratch_bytes=scratch_bytes_per_lane,
                cooperative=cooperative, cluster=extent(cluster, "cluster"),
            )  # fmt: skip
            return self.launch(launch, budget=budget, time_budget=time_budget)
        finally:
            low.release()

    def concurrent_workgroups(self, entry: int, groups: int, waves: int, cooperative: bool) -> int:
        """How many of a dispatch's workgroups, of so many waves, may be there at once, each with scratch of its own."""
        if cooperative or self._engine.meets_other_workgroups(entry):
            return max(1, min(groups, RESIDENT_WAVES // waves))
        return self._threads

    @cached_property
    def hostcalls(self) -> Hostcalls:
        """What serves kernels that call the host, as printf does."""
        from pyaco.emu.hostcall import Hostcalls

        hostcalls = Hostcalls(self.space)
        self._engine.interrupt = hostcalls.serve
        return hostcalls

    @checked
    def load(self, code: bytes | CodeObject, symbols: Mapping[str, int] | None = None) -> LoadedCode:
        """Put a code object into memory, relocated; ``loaded["name"](groups, size, *arguments)`` runs a kernel of it.

        Parameters
        ----------
        code : bytes or CodeObject
            An AMDGPU ELF file, or an offload bundle or HIP program, of which the entry for the device is taken.
        symbols : mapping, optional
            Addresses of symbols that it does not define.

        Raises
        ------
        InputError
            No code object, one for another processor, or an undefined symbol.
        """
        from pyaco.emu.kernels import LoadedCode

        return LoadedCode(self, code, symbols)

    @checked
    def dispatch_packet(self, packet: DispatchPacket | bytes, budget: int = DEFAULT_BUDGET, *, time_budget: float | None = None) -> Report:
        """Run what an AQL kernel dispatch packet names; its addresses (kernel object, arguments) are the device's.

        `budget` and `time_budget` as for `dispatch`.

        Raises
        ------
        MemoryFault, BudgetError, EmulationError, UnsupportedError, InputError
            As `dispatch`.
        """
        from pyaco.emu.hsa import submit

        return submit(self, packet, budget=budget, time_budget=time_budget)

    @checked
    def launch(self, launch: Launch, *, budget: int = DEFAULT_BUDGET, time_budget: float | None = None) -> Report:
        """Start code that lies in device memory.

        Parameters
        ----------
        launch : Launch
            What runs, and the state of its waves at the start.
        budget, time_budget
            Wave instructions, and seconds, that it may take.

        Raises
        ------
        MemoryFault, BudgetError, EmulationError, UnsupportedError, InputError
            As `dispatch`.
        """
        return self.prepare(launch).run(launch.user_sgprs, budget, time_budget).report()

    @checked
    def prepare(self, launch: Launch) -> PreparedLaunch:
        """Check a launch once; what is returned runs it as often as one likes, with other user SGPRs each time.

        Raises
        ------
        InputError
            No hardware of the target could run it.
        """
        launch.check(self.target, self.gfx_level)
        options = {"wgp_mode": launch.wgp_mode, "private": launch.private, "lds_used": launch.lds_used} if self._inspecting else {}
        return PreparedLaunch(self._engine, launch, self.target, options, lambda: self.hostcalls.error)


def _thread_count(engine: str, threads: int | None) -> int:
    """How many threads an engine runs on."""
    if engine not in ENGINES:
        raise UnsupportedError(f"emulator engine {engine!r}: there are {' and '.join(ENGINES)}")
    if engine == "reference":
        if threads not in (None, 1):
            raise UnsupportedError(f"{threads} threads of the reference engine, which is one")
        return 1
    if threads is None:
        return min(usable_processors(), _MAX_THREADS)
    if not 1 <= threads <= _MAX_THREADS:
        raise InputError(f"{threads} threads: expected 1 to {_MAX_THREADS}")
    return threads


def new_engine(space: AddressSpace, gfx_level: int, name: str, threads: int) -> Engine:
    """Return the engine called `name` for a device's memory."""
    if name == "reference":
        return Engine(space, gfx_level)
    from pyaco._core.emu_fast.engine import FastEngine  # loaded only where it is needed

    return FastEngine(space, gfx_level, threads)


def _source_lines(shader: Shader) -> SourceLines | None:
    """The lines that a shader comes from, where it knows any; objects that only have code and ABI need none."""
    return getattr(shader, "source_lines", None) or None
