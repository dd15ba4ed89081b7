"""A device: buffers in its memory, and dispatches of machine code.

A dispatch comes either from a compiled shader, whose ``abi`` says how its arguments reach registers (see
``docs/architecture.md``), or from bare machine code with its registers given one by one (``Device.run``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy
from numpy.typing import NDArray

from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu.reference import Engine
from pyaco.arguments import checked
from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.sets import DescriptorSet
from pyaco.emu.errors import BudgetError, EmulationError, MemoryFault, finding_error
from pyaco.emu.report import Report
from pyaco.errors import InputError, UnsupportedError
from pyaco.isa import opcodes
from pyaco.isa.processors import processor

if TYPE_CHECKING:
    from pyaco._core.emu_inspect.engine import InspectingEngine
    from pyaco.binary import CodeObject
    from pyaco.emu.debug import Session
    from pyaco.emu.hsa import DispatchPacket, LoadedCode

__all__ = ["DEFAULT_BUDGET", "ENGINES", "Buffer", "BufferRange", "Device"]

#: Names of the engines.
ENGINES = ("reference", "fast")
#: Wave instructions that a dispatch may execute unless it says otherwise.
DEFAULT_BUDGET = 1 << 36
_ADDRESS32_HI = 0xFFFF8000
# MODE: denormals kept everywhere, round to nearest even; ieee 0, dx10_clamp 1.
_DX10_CLAMP = 0x100
_MAX_LDS = 65536
_GDS_BYTES = 1 << 16
_RESIDENT_WAVES = 4096  # that wait for each other, as the engines have it
_MAX_THREADS = 256
_MAX_TRACE = 1 << 28
_Three: TypeAlias = tuple[int, int, int]


def packs_ids(gfx_level: int) -> bool:
    """Whether a wave starts with its local ids in one register."""
    return gfx_level >= 110 or 92 <= gfx_level < 100


def usable_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Shader(Protocol):
    """What ``Device.dispatch`` needs of a compiled shader."""

    @property
    def code(self) -> bytes: ...
    @property
    def constant_data(self) -> bytes: ...
    @property
    def abi(self) -> Mapping[str, Any]: ...


class Buffer:
    """Device memory. The device works on the same bytes as ``numpy()`` shows."""

    def __init__(self, device: Device, data: NDArray[Any], low: bool = False, shared: bool = False) -> None:
        flat = numpy.ascontiguousarray(data)
        memory = flat.reshape(-1).view(numpy.uint8)
        if not shared and (flat is data or flat.base is not None or flat.nbytes % 4):
            memory = numpy.concatenate([memory, numpy.zeros(-flat.nbytes % 4, numpy.uint8)])
            flat = memory[: flat.nbytes].view(flat.dtype).reshape(flat.shape)
        self._array = flat
        self._device = device
        #: Bytes that an access to whole dwords may touch.
        self.accessible: int = memory.nbytes
        self.address: int = device.space.map(memory, low=low)

    @property
    def size(self) -> int:
        """Bytes."""
        return self._array.nbytes

    def numpy(self) -> NDArray[Any]:
        """Return the contents, with the type and shape of the array that the buffer was made from; not a copy."""
        return self._array

    def release(self) -> None:
        """Take the buffer's addresses away: accesses to them stop a dispatch, and other buffers may get them.

        Raises
        ------
        InputError
            It has been released already.
        """
        if not self.address:
            raise InputError("the buffer has been released already")
        self._device.space.release(self.address)
        self.address = 0

    @checked
    def write(self, data: NDArray[Any] | bytes, offset: int = 0) -> None:
        """Copy `data` into the buffer from byte `offset` on."""
        raw = numpy.frombuffer(data if isinstance(data, bytes) else numpy.ascontiguousarray(data).tobytes(), numpy.uint8)
        if offset < 0 or offset + raw.nbytes > self.size:
            raise InputError(f"{raw.nbytes} bytes at offset {offset} do not fit a buffer of {self.size} bytes")
        self._array.reshape(-1).view(numpy.uint8)[offset : offset + raw.nbytes] = raw

    def __repr__(self) -> str:
        return f"<Buffer of {self.size} bytes at {self.address:#x}>"


@dataclass(frozen=True)
class BufferRange:
    """Part of a buffer, as a descriptor shows it: `size` bytes from `offset` on, by default all that follow."""

    buffer: Buffer
    offset: int = 0
    size: int | None = None

    def words(self, gfx_level: int, dynamic_offset: int = 0) -> tuple[int, int, int, int]:
        """Return the descriptor, moved by `dynamic_offset` bytes.

        Raises
        ------
        InputError
            A range that is not within the buffer.
        """
        size = self.buffer.size - self.offset if self.size is None else self.size
        first = self.offset + dynamic_offset
        if self.size is None:
            size -= dynamic_offset
        if first < 0 or size < 0 or first + size > self.buffer.size:
            raise InputError(f"{size} bytes at offset {first} are not within a buffer of {self.buffer.size} bytes")
        # Whole dwords, as RADV has it: a load that starts within a dword reads all of it.
        return raw_buffer(self.buffer.address + first, min(-(-size // 4) * 4, self.buffer.accessible - first), gfx_level)


#: What a binding is given: a buffer or a part of one, those of a descriptor array, the bytes of an inline uniform block, or None
#: for a null descriptor.
Bound: TypeAlias = Buffer | BufferRange | Sequence[Buffer | BufferRange] | bytes | None
Buffers: TypeAlias = Mapping[tuple[int, int], Bound]


class Device:
    """An emulated GPU.

    Parameters
    ----------
    target : str
        A gfx name, chip or product, such as ``gfx1100``.
    engine : str
        ``reference``, or ``fast``: lanes as host vectors and workgroups on several threads, the same results bit for bit.
    threads : int, optional
        How many threads of the fast engine run workgroups; by default one for every processor that the process may use.
    check_waits : bool
        Stop with `MissingWaitError` where a program uses what a real machine could not have yet: memory operations that no counter was
        waited for, wait states of GFX8, GFX9 and CDNA (matrix operations included), and the hazards of GFX10 to GFX12. Bugs of chips that
        have to do with values in other registers or with where code lies (CDNA 2: 64-bit shifts by the last VGPR; GFX10.1: instruction
        prefetch), and clauses that a page fault replays, are no waits and are not looked for.
    check_races : bool
        Stop with `RaceError` where two waves reach the same bytes, one writes, and nothing orders them.
    profile : bool
        Count lanes by opcode, memory traffic, cache lines and bank conflicts.
    trace : int
        Keep the first so many instructions as columns in the report.
    seed : int, optional
        Draw the order of workgroups and the turns of waves from it, to shake out races.

    Any of the last five makes the inspecting engine run, whose results are the same. The fast engine keeps what it has decoded, and the
    memory of a workgroup's waves, for the next dispatch: up to 8 MiB a thread.

    Threads may share a device: one thread's dispatch, or change of what is mapped, waits for another's to end.

    Raises
    ------
    UnsupportedError
        A target older than GFX8, or an engine that does not exist.
    """

    @checked
    def __init__(
        self, target: str, engine: str = "reference", threads: int | None = None, *, check_waits: bool = False,
        check_races: bool = False, profile: bool = False, trace: int = 0, seed: int | None = None,
    ) -> None:  # fmt: skip
        self.target, self.gfx_level = processor(target)
        if self.gfx_level < 80:
            raise UnsupportedError(f"emulation of {self.target}: the emulator has GFX8 and later")
        if engine not in ENGINES:
            raise UnsupportedError(f"emulator engine {engine!r}: there are {' and '.join(ENGINES)}")
        self.engine = engine
        self.space = AddressSpace()
        self.gds = bytearray(_GDS_BYTES)    # global data share: packets reach it
        self._threads = 1
        self._engine = self._new_engine(threads)
        self._inspecting = bool(check_waits or check_races or profile or trace or seed is not None)
        if self._inspecting:
            self._engine = self._new_inspector(check_waits, check_races, profile, trace, seed)

    def _new_inspector(
        self, check_waits: bool = False, check_races: bool = False, profile: bool = False, trace: int = 0, seed: int | None = None
    ) -> InspectingEngine:
        from pyaco._core.emu_inspect.engine import InspectingEngine  # loaded only where it is asked for

        if not 0 <= trace <= _MAX_TRACE:
            raise InputError(f"a trace of {trace} instructions: expected up to {_MAX_TRACE}")
        if seed is not None and not 0 <= seed < 1 << 62:
            raise InputError(f"seed {seed}: expected 0 to 2**62 - 1")
        return InspectingEngine(self.space, self.gfx_level, check_waits, check_races, profile, trace, seed)

    def _new_engine(self, threads: int | None) -> Engine:
        if self.engine == "reference":
            if threads not in (None, 1):
                raise UnsupportedError(f"{threads} threads of the reference engine, which is one")
            return Engine(self.space, self.gfx_level)
        if threads is None:
            threads = usable_processors()
        if not 1 <= threads <= _MAX_THREADS:
            raise InputError(f"{threads} threads: expected 1 to {_MAX_THREADS}")
        from pyaco._core.emu_fast.engine import FastEngine  # built and loaded only where it is asked for

        self._threads = threads
        return FastEngine(self.space, self.gfx_level, threads)

    @checked
    def buffer(self, array: NDArray[Any] | bytes) -> Buffer:
        """Return a buffer with a copy of `array`."""
        if isinstance(array, (bytes, bytearray, memoryview)):
            array = numpy.frombuffer(bytes(array), numpy.uint8)
        return Buffer(self, numpy.asarray(array))

    @checked
    def share(self, array: NDArray[Any]) -> Buffer:
        """Return a buffer whose bytes are those of `array`, without a copy.

        Raises
        ------
        InputError
            An array whose bytes do not lie side by side, or that cannot be written.
        """
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise InputError("only arrays whose bytes lie side by side and can be written are shared")
        return Buffer(self, array, shared=True)

    @checked
    def zeros(self, size: int) -> Buffer:
        """Return a buffer of `size` zero bytes."""
        if not 0 <= size < 1 << 47:
            raise InputError(f"a buffer of {size} bytes")
        return Buffer(self, numpy.zeros(size, numpy.uint8))

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
        sets: Mapping[int, DescriptorSet] | None = None,
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
            or to None. Bindings that are not named or are None get null descriptors: loads give zero, stores are dropped. A
            binding that the shader does not have, for example because nothing uses it, may only be None.
        push : bytes
            Push constants.
        budget : int
            Wave instructions that may be executed.
        sets : mapping
            Whole descriptor sets by number, in place of their bindings in `buffers`; of the layout that the shader was compiled for.
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
            return self.launch(
                placed.entry, len(shader.code), placed.groups, _three(shader.abi["workgroup_size"], "workgroup_size"),
                user_sgprs=placed.user_sgprs, budget=budget, time_budget=time_budget, **self._launch_of(shader.abi),
            )  # fmt: skip
        finally:
            placed.release()

    def _launch_of(self, abi: Mapping[str, Any]) -> dict[str, Any]:
        """What `launch` takes, as far as a compiled shader's ABI says it."""
        level = self.gfx_level
        return {
            "wave_size": abi["wave_size"], "workgroup_id_mask": abi["workgroup_id_mask"], "ids_in_ttmp": level >= 120,
            "packed_ids": packs_ids(level), "local_id_components": abi["local_id_components"],
            "scratch_offset": bool(abi["scratch_wave_offset"]) and level < 110, "mode": abi["float_mode"] & 0xFF | _DX10_CLAMP,
            "lds_bytes": abi["lds_bytes"], "scratch_bytes": abi["scratch_bytes_per_lane"],
            "shared_vgpr": -(-abi["num_vgprs"] // 4) * 4 if abi.get("num_shared_vgprs") else 0,
        }  # fmt: skip

    @checked
    def debug(
        self,
        shader: Shader,
        groups: Sequence[int] = (1, 1, 1),
        buffers: Buffers | None = None,
        push: bytes = b"",
        budget: int = DEFAULT_BUDGET,
        *,
        sets: Mapping[int, DescriptorSet] | None = None,
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
        size = _three(shader.abi["workgroup_size"], "workgroup_size")
        try:
            launch = self._launch_of(shader.abi)
            self._check_launch(size, user_sgprs=placed.user_sgprs, **launch)
            engine = self._new_inspector(seed=seed)
            engine.open(placed.entry, placed.groups, size, user_sgprs=placed.user_sgprs, budget=budget, **launch)
        except BaseException:
            placed.release()
            raise
        return Session(self, engine, placed, len(shader.code))

    @checked
    def place(
        self,
        shader: Shader,
        groups: Sequence[int] = (1, 1, 1),
        buffers: Buffers | None = None,
        push: bytes = b"",
        *,
        sets: Mapping[int, DescriptorSet] | None = None,
        dynamic_offsets: Sequence[int] = (),
    ) -> Arguments:
        """Put a shader's code, descriptors and push constants into device memory; see `dispatch` for the arguments.

        Raises
        ------
        InputError
            Arguments that do not fit the shader.
        """
        shape = _three(groups, "groups")
        low = _LowMemory(self)
        try:
            entry = low.place(_padded_code(shader.code, shader.constant_data), 256)
            given = _Given(shader.abi, buffers or {}, push, sets or {}, dynamic_offsets, self.gfx_level)
            return Arguments(entry, shape, _user_sgprs(given, low, shape), low)
        except BaseException:
            low.release()
            raise

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
        from pyaco.pm4.processor import CommandProcessor

        return CommandProcessor(self, budget=budget, time_budget=time_budget).submit(words)

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
            Then an SGPR with the number of waves in bits 0-5, this wave's index in bits 6-11, and bit 31 in the first.
        scratch_offset : bool
            Then an SGPR with the wave's scratch offset: its index times its bytes of scratch.
        local_id_components : int
            VGPRs with local ids, where they are not packed.
        packed_ids : bool, optional
            v0 holds x | y << 10 | z << 20; by default from GFX11 and CDNA 2 on.
        shared_vgpr : int
            The first VGPR that both halves of a wave64 share (GFX10), 0 where there is none.
        float_mode : int
            The low byte of MODE; by default single denormals are flushed, half and double ones kept.
        budget, time_budget
            Wave instructions, and seconds, that it may take.

        Raises
        ------
        MemoryFault, BudgetError, EmulationError, UnsupportedError, InputError
            As `dispatch`.
        """
        low = _LowMemory(self)
        try:
            entry = low.place(_padded_code(code, b""), 256)
            mask = sum(1 << axis for axis, enabled in enumerate(workgroup_ids) if enabled)
            return self.launch(
                entry, len(code), _three(groups, "groups"), _three(workgroup_size, "workgroup_size"),
                wave_size=wave_size, user_sgprs=[value & 0xFFFFFFFF for value in user_sgprs], workgroup_id_mask=mask,
                ids_in_ttmp=self.gfx_level >= 120,
                packed_ids=packs_ids(self.gfx_level) if packed_ids is None else packed_ids,
                local_id_components=local_id_components, workgroup_info=workgroup_info, scratch_offset=scratch_offset,
                mode=float_mode & 0xFF | _DX10_CLAMP, lds_bytes=lds_bytes, scratch_bytes=scratch_bytes_per_lane,
                budget=budget, time_budget=time_budget, shared_vgpr=shared_vgpr,
            )  # fmt: skip
        finally:
            low.release()

    def concurrent_workgroups(self, entry: int, groups: int, waves: int) -> int:
        """How many of a dispatch's workgroups, of so many waves, may be there at once, each with scratch of its own."""
        if self._engine.meets_other_workgroups(entry):
            return max(1, min(groups, _RESIDENT_WAVES // waves))
        return self._threads

    @checked
    def load(self, code: bytes | CodeObject, symbols: Mapping[str, int] | None = None) -> LoadedCode:
        """Put a code object into memory, relocated; its kernels are dispatched with ``LoadedCode.dispatch``.

        Parameters
        ----------
        code : bytes or CodeObject
            An AMDGPU ELF file.
        symbols : mapping, optional
            Addresses of symbols that it does not define.

        Raises
        ------
        InputError
            No code object, one for another processor, or an undefined symbol.
        """
        from pyaco.emu.hsa import LoadedCode

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

    def launch(
        self, entry: int, code_bytes: int, groups: _Three, size: _Three, *, last_size: _Three | None = None,
        image: int | None = None, wgp_mode: bool = False, private: tuple[int, int] = (0, 0), time_budget: float | None = None,
        **launch: Any,
    ) -> Report:  # fmt: skip
        """Start code that lies in device memory at `entry`; `launch` is what ``Engine.run`` takes.

        The last workgroups of each dimension have `last_size` invocations in it, by default as many as the others. Where `image` is given,
        the `code_bytes` begin there, and so do the offsets of errors and traces. In WGP mode (GFX10 and later) a workgroup has no first-
        level cache of its own, which matters to `check_waits`; `private` is address and size of memory in which each wave has its own part,
        which matters to `check_races`.

        Raises
        ------
        MemoryFault, BudgetError, EmulationError, UnsupportedError, InputError
            As `dispatch`.
        """
        self._check_launch(size, **launch)
        last = last_size or size
        if last != size and any(not 1 <= part <= whole for part, whole in zip(last, size, strict=True)):
            raise InputError(f"last workgroups of {last} invocations where the others have {size}")
        if prod(groups) >= 1 << 63:
            raise InputError(f"a grid of {prod(groups)} workgroups")
        if time_budget is not None and not time_budget > 0:
            raise InputError(f"a time budget of {time_budget} seconds")
        launch |= {"last_size": last, "time_budget": time_budget or 0.0}
        if self._inspecting:
            launch |= {"wgp_mode": wgp_mode, "private": private}
        base = entry if image is None else image
        start = time.perf_counter()
        result = self._engine.run(entry, groups, size, **launch)
        seconds = time.perf_counter() - start
        if result["stop"] is not None:
            raise self._error(result, base, code_bytes)
        return Report.of(
            result, workgroups=prod(groups), waves=_waves(groups, size, last, launch["wave_size"]), wave_size=launch["wave_size"],
            entry=base, seconds=seconds,
        )  # fmt: skip

    def _check_launch(
        self, size: _Three, *, wave_size: int, user_sgprs: Sequence[int], lds_bytes: int, **_: Any
    ) -> None:
        if wave_size not in (32, 64) or (wave_size == 32 and self.gfx_level < 100):
            raise InputError(f"{self.target} has no waves of {wave_size} lanes")
        invocations = size[0] * size[1] * size[2]
        if not 1 <= invocations <= 1024:
            raise InputError(f"a workgroup of {invocations} invocations: hardware has 1 to 1024")
        if len(user_sgprs) > 32:
            raise InputError(f"{len(user_sgprs)} user SGPRs: hardware has up to 32")
        if not 0 <= lds_bytes <= _MAX_LDS:
            raise InputError(f"{lds_bytes} bytes of LDS: a workgroup has up to {_MAX_LDS}")

    # --------------------------------------------------------------------------------------------------------- errors
    def _error(self, result: Mapping[str, Any], entry: int, code_bytes: int) -> Exception:
        """Turn what the engine says into an error that names the place."""
        pc = result["pc"]
        inside = entry <= pc < entry + code_bytes
        place = {key: result[key] for key in ("workgroup", "wave")}
        place["pc"] = pc - entry if inside else pc
        name = self._instruction(result)
        where = f"workgroup {result['workgroup']}, wave {result['wave']}, pc {place['pc']:#x}"
        words = " ".join(f"{word:08x}" for word in result["words"])
        stop = result["stop"]
        if stop == "memory fault":
            place |= {key: result[key] for key in ("lane", "address", "bytes", "store")}
            kind = "store" if result["store"] else "load"
            near = self.space.nearest(result["address"])
            hint = f"; the nearest allocation is {near[1]} bytes at {near[0]:#x}" if near else ""
            return MemoryFault(
                f"{name}: {kind} of {result['bytes']} bytes at {result['address']:#x} outside memory "
                f"({where}, lane {result['lane']}){hint}",
                place,
            )
        if stop == "unsupported":
            return UnsupportedError(f"the emulator does not have this form of {name} ({where}: {words})")
        if stop == "fetch fault" or (stop == "illegal instruction" and not inside):
            return EmulationError(f"the pc left the code ({where})", place)
        if stop == "illegal instruction":
            return EmulationError(f"{words.split(' ')[0]} is not an instruction of {self.target} ({where})", place)
        if stop == "budget":
            return BudgetError(f"{result['instructions']} instructions executed without an end ({where}: {name})", place)
        if stop == "time":
            return BudgetError(f"the time is over after {result['instructions']} instructions without an end ({where}: {name})", place)
        if stop in ("missing wait", "race"):
            return finding_error(result, name, where, place, entry)
        if stop == "deadlock":
            return self._deadlock(result, name, where, place, entry)
        if stop == "residents":
            return UnsupportedError(f"more waves wait for those of other workgroups than are kept at once ({where}: {name})")
        return EmulationError(f"{stop}: {name} ({where})", place)

    @staticmethod
    def _deadlock(result: Mapping[str, Any], name: str, where: str, place: dict[str, object], entry: int) -> EmulationError:
        """Waves that wait for ever, the first few of them by name."""
        waiting = [{"workgroup": group, "wave": wave, "pc": pc - entry} for group, wave, pc in result["waiting"]]
        others = "; ".join(f"workgroup {wave['workgroup']}, wave {wave['wave']} at pc {wave['pc']:#x}" for wave in waiting[1:8])
        more = f" and {len(waiting) - 8} more" if len(waiting) > 8 else ""
        return EmulationError(f"deadlock: {name} ({where})" + (f"; so wait {others}{more}" if others else ""), place | {"waiting": waiting})

    def _instruction(self, result: Mapping[str, Any]) -> str:
        """The instruction that stopped a dispatch, in the assembler's syntax where it is one."""
        from pyaco import isa

        if result["opcode"] >= len(opcodes.names()):
            return "?"
        text: str = isa.disassemble(numpy.array(result["words"], numpy.uint32).tobytes(), self.target)
        lines = [line for line in text.splitlines() if line and not line.endswith(":")]
        line = " ".join(lines[0].split("//")[0].split(";")[0].split()) if lines else ""
        return opcodes.names()[result["opcode"]] if not line or line.startswith(".long") else line


class _Given:
    """What a dispatch is given, checked against the shader's ABI, and as bytes of memory."""

    def __init__(self, abi: Mapping[str, Any], buffers: Buffers, push: bytes, sets: Mapping[int, DescriptorSet],
                 dynamic_offsets: Sequence[int], gfx_level: int) -> None:
        if abi.get("address32_hi", _ADDRESS32_HI) != _ADDRESS32_HI:
            raise UnsupportedError(f"32-bit addresses with high half {abi['address32_hi']:#x}")
        if len(push) > abi["push_constant_bytes"]:
            raise InputError(f"{len(push)} bytes of push constants: the shader takes {abi['push_constant_bytes']}")
        self.abi, self.buffers, self.gfx_level = abi, buffers, gfx_level
        self.sets = sets
        self.layouts: dict[int, dict[str, Any]] = {
            int(number): {**layout, "bindings": {int(key): facts for key, facts in layout["bindings"].items()}}
            for number, layout in abi["descriptor_sets"].items()}
        for (number, binding), bound in buffers.items():
            if bound is not None and (number not in self.layouts or binding not in self.layouts[number]["bindings"]):
                raise InputError(f"the shader has no binding {binding} in descriptor set {number}, or does not use it: it may only be None")
        for number, given in sets.items():
            self._check_set(number, given)
        self.push = push.ljust(abi["push_constant_bytes"], b"\0")
        self.block = self._push_block(dynamic_offsets)

    def _check_set(self, number: int, given: DescriptorSet) -> None:
        wanted = self.layouts.get(number, {"bindings": {}})["bindings"]
        for binding, facts in wanted.items():
            placed = given.layout.bindings.get(binding)
            if placed is None or facts["type"] != placed.binding.type.value or (
                    placed.dynamic is None and (facts["offset"], facts["stride"]) != (placed.offset, placed.stride)):
                raise InputError(f"descriptor set {number}: binding {binding} is laid out otherwise than the shader was compiled for")

    def _elements(self, number: int, binding: int) -> Sequence[Buffer | BufferRange]:
        """The buffers of a binding."""
        given = self.buffers.get((number, binding))
        if isinstance(given, bytes):
            raise InputError(f"bytes for binding {binding} of set {number}, which is no inline uniform block")
        elements = [given] if isinstance(given, (Buffer, BufferRange)) else list(given or ())
        count = self.layouts[number]["bindings"][binding]["count"]
        if count and len(elements) > count:
            raise InputError(f"{len(elements)} buffers for binding {binding} of set {number}, which has {count} elements")
        return elements

    def _push_block(self, dynamic_offsets: Sequence[int]) -> bytes:
        """Push constants, and behind them the descriptors of dynamic buffers."""
        dynamic = self.abi.get("dynamic_buffers", {"offset": len(self.push), "count": 0})
        if len(dynamic_offsets) > dynamic["count"]:
            raise InputError(f"{len(dynamic_offsets)} dynamic offsets: the pipeline has {dynamic['count']} dynamic buffers")
        block = bytearray(max(len(self.push), dynamic["offset"] + 16 * dynamic["count"]))
        block[: len(self.push)] = self.push
        moves = [*dynamic_offsets, *[0] * (dynamic["count"] - len(dynamic_offsets))]
        for number, layout in self.layouts.items():
            for binding, facts in layout["bindings"].items():
                if facts["type"].endswith("_dynamic"):
                    first = (facts["offset"] - dynamic["offset"]) // 16
                    for element, buffer in enumerate(self._elements(number, binding)):
                        at = facts["offset"] + 16 * element
                        block[at : at + 16] = _descriptor(buffer, self.gfx_level, moves[first + element])
        return bytes(block)

    def descriptor_set(self, number: int) -> bytes:
        """One set as it stands in memory."""
        if number in self.sets:
            return bytes(self.sets[number].memory)
        layout = self.layouts[number]
        block = bytearray(layout["size"])
        for binding, facts in layout["bindings"].items():
            first = facts["offset"]
            given = self.buffers.get((number, binding))
            if facts["type"].endswith("_dynamic"):
                continue
            if facts["type"] == "inline_uniform_block":
                data = given if isinstance(given, bytes) else b""
                if (given is not None and not isinstance(given, bytes)) or len(data) > facts["stride"]:
                    raise InputError(f"binding {binding} of set {number} is an inline uniform block of {facts['stride']} bytes")
                block[first : first + len(data)] = data
                continue
            elements = self._elements(number, binding)
            block.extend(bytes(max(0, first + facts["stride"] * len(elements) - len(block))))
            for element, buffer in enumerate(elements):
                at = first + facts["stride"] * element
                block[at : at + 16] = _descriptor(buffer, self.gfx_level)
        return bytes(block)


def _descriptor(buffer: Buffer | BufferRange, gfx_level: int, moved: int = 0) -> bytes:
    if not (buffer.address if isinstance(buffer, Buffer) else buffer.buffer.address):
        raise InputError("a buffer that has been released is bound")
    if isinstance(buffer, Buffer) and not moved:
        words = raw_buffer(buffer.address, buffer.accessible, gfx_level)
    else:
        words = (buffer if isinstance(buffer, BufferRange) else BufferRange(buffer)).words(gfx_level, moved)
    return numpy.array(words, numpy.uint32).tobytes()


def _user_sgprs(given: _Given, low: _LowMemory, groups: _Three) -> list[int]:
    """What user SGPRs hold; sets and push constants go to memory."""
    user = [0] * given.abi["user_sgpr_count"]
    for argument in given.abi["user_sgprs"]:
        kind, first = argument["kind"], argument["first"]
        if kind == "descriptor_set":
            user[first] = low.place(given.descriptor_set(argument["set"]), 64) & 0xFFFFFFFF
        elif kind == "descriptor_set_table":
            table = numpy.zeros(max(given.layouts) + 1, numpy.uint32)
            for number in given.layouts:
                table[number] = low.place(given.descriptor_set(number), 64) & 0xFFFFFFFF
            user[first] = low.place(table.tobytes(), 64) & 0xFFFFFFFF
        elif kind == "push_constants":
            user[first] = low.place(given.block, 64) & 0xFFFFFFFF
        elif kind == "inline_push_constant":
            user[first] = int.from_bytes(given.push[4 * argument["dword"] : 4 * argument["dword"] + 4], "little")
        elif kind == "num_workgroups":
            user[first : first + 3] = groups
        elif kind == "scratch_address":
            user[first : first + 2] = [0, 0]
        else:
            raise UnsupportedError(f"user SGPRs of kind {kind!r}")
    return user


class Arguments:
    """A shader and its arguments in device memory.

    Attributes
    ----------
    entry : int
        Address of the code.
    groups : tuple of int
        Workgroups in x, y, z.
    user_sgprs : list of int
        What s0, s1 ... hold.
    """

    def __init__(self, entry: int, groups: _Three, user_sgprs: list[int], memory: _LowMemory) -> None:
        self.entry = entry
        self.groups = groups
        self.user_sgprs = user_sgprs
        self._memory = memory

    def release(self) -> None:
        """Free the memory."""
        self._memory.release()


class _LowMemory:
    """Short-lived allocations in the 32-bit region."""

    def __init__(self, device: Device) -> None:
        self._space = device.space
        self._addresses: list[int] = []

    def place(self, data: bytes, alignment: int) -> int:
        # whole blocks of 64 bytes, because compilers load a few dwords more than they use
        padded = numpy.frombuffer(data.ljust(-(-max(len(data), 1) // 64) * 64, b"\0"), numpy.uint8).copy()
        address: int = self._space.map(padded, low=True, alignment=alignment)
        self._addresses.append(address)
        return address

    def release(self) -> None:
        for address in self._addresses:
            self._space.release(address)


def _waves(groups: _Three, size: _Three, last: _Three, wave_size: int) -> int:
    """How many waves a grid has: in each dimension, all workgroups but the last, and the last."""
    if last == size:
        return prod(groups) * -(-prod(size) // wave_size)
    axes = [((count - 1, whole), (1, part)) for count, whole, part in zip(groups, size, last, strict=True) if count]
    chosen = product(*axes) if len(axes) == 3 else ()
    return sum(prod(count for count, _ in kinds) * -(-prod(items for _, items in kinds) // wave_size) for kinds in chosen)


def _padded_code(code: bytes, constant_data: bytes) -> bytes:
    """Code, padded to 64 bytes where data follows."""
    if not code or len(code) % 4:
        raise InputError(f"{len(code)} bytes are not machine code: instructions are dwords")
    return code.ljust(-(-len(code) // 64) * 64, b"\0") + constant_data if constant_data else code


def _three(values: Sequence[int], what: str) -> _Three:
    numbers = [int(value) for value in values]
    numbers += [1] * (3 - len(numbers))
    if len(numbers) != 3 or any(not 0 <= number < 1 << 31 for number in numbers):
        raise InputError(f"{what} {tuple(values)}: expected up to three counts")
    return numbers[0], numbers[1], numbers[2]
