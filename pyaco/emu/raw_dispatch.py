"""Machine code run on the process's own memory, at raw host addresses: what another program calls in place of its own emulator."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu.reference import Engine
from pyaco.emu.device import ENGINES, new_engine, usable_processors
from pyaco.emu.errors import EmulationError
from pyaco.emu.launch import Launch
from pyaco.errors import InputError, UnsupportedError
from pyaco.isa import opcodes
from pyaco.isa.processors import processor
from pyaco.targets import features

__all__ = ["run_asm", "run_asm_status"]

# The newest of each family: RDNA 3.5 has the encodings of RDNA 3, and scalar floats besides.
_TARGETS = {"rdna2": "gfx1030", "rdna3": "gfx1150", "rdna4": "gfx1200", "cdna": "gfx950"}
# MODE: single denormals flushed, half and double ones kept, round to nearest even; ieee 1, dx10_clamp 1 (what an AMD
# kernel descriptor says by default)
_MODE = 0x3C0
_BUDGET = 1 << 36


@cache
def _engine(target: str, name: str) -> Engine:
    if name not in ENGINES:
        raise UnsupportedError(f"PYACO_ENGINE={name}: there are {' and '.join(ENGINES)}")
    level = processor(target)[1]
    if not features.has_emulator(level):
        raise UnsupportedError(f"emulation of {target}: the emulator has GFX6 to GFX13")
    space = AddressSpace()
    space.use_host_addresses()
    return new_engine(space, level, name, usable_processors())


def run_asm(
    lib: int, lib_sz: int, gx: int, gy: int, gz: int, lx: int, ly: int, lz: int, args_ptr: int, rsrc2: int = 0x19C,
    scratch_size: int = 0, arch: str = "rdna3", user_data: Sequence[int] | None = None,
) -> int:  # fmt: skip
    """Run machine code at a host address; device addresses are host addresses from 64 KiB to 2^47, and nothing else is checked.

    The signature is that of tinygrad's ``test.mockgpu.amd.emu.run_asm``. The fast engine runs it, or the one that the environment
    variable ``PYACO_ENGINE`` names. It stops after 2**36 wave instructions, and has no budget of time: the signature has no place for one.

    Parameters
    ----------
    lib, lib_sz : int
        Where the code lies, and how many bytes may be read from there.
    gx, gy, gz, lx, ly, lz : int
        Workgroups, and invocations of a workgroup.
    args_ptr : int
        Address of the kernel's arguments: s[0:1], unless `user_data` says otherwise.
    rsrc2 : int
        COMPUTE_PGM_RSRC2: bits 1-5 the number of user SGPRs, 7-9 which workgroup ids follow, 15-23 LDS in 512 bytes.
    scratch_size : int
        Bytes per lane.
    arch : str
        ``rdna2``, ``rdna3``, ``rdna4``, ``cdna``, or a gfx name.
    user_data : sequence of int, optional
        What s[0..n) hold.

    Returns
    -------
    int
        0.

    Raises
    ------
    EmulationError, UnsupportedError
        The code did not run to its end: also where it reaches what is below 64 KiB or beyond 2^47.
    InputError
        No hardware has such workgroups, or the code lies where no process has any.
    """
    target = _TARGETS.get(arch, arch)
    if not target.startswith("gfx"):
        raise UnsupportedError(f"architecture {arch!r}; there are {', '.join(_TARGETS)}, and gfx names")
    engine = _engine(target, os.environ.get("PYACO_ENGINE", "fast"))
    level = processor(target)[1]
    if not 1 <= lx * ly * lz <= 1024:
        raise InputError(f"a workgroup of {lx * ly * lz} invocations")
    user = list(user_data) if user_data is not None else [args_ptr & 0xFFFFFFFF, args_ptr >> 32 & 0xFFFFFFFF]
    user += [0] * ((rsrc2 >> 1 & 31) - len(user))
    launch = Launch(
        entry=lib, code_bytes=lib_sz, groups=(gx, gy, gz), size=(lx, ly, lz), wave_size=32 if features.has_wave32(level) else 64, user_sgprs=user,
        workgroup_id_mask=rsrc2 >> 7 & 7, ids_in_ttmp=features.has_workgroup_ids_in_ttmp(level), packed_ids=features.has_packed_ids(level),
        local_id_components=3, mode=_MODE, lds_bytes=(rsrc2 >> 15 & 0x1FF) * 512, scratch_bytes=scratch_size,
    )  # fmt: skip
    result = engine.run(lib, launch.groups, launch.size, budget=_BUDGET, fill=0, code_bytes=lib_sz, **launch.engine_arguments())
    if result["stop"] is None:
        return 0
    names = opcodes.names()
    name = names[result["opcode"]] if result["opcode"] < len(names) else "?"
    place = {key: result[key] for key in ("workgroup", "wave", "pc")}
    words = " ".join(f"{word:08x}" for word in result["words"])
    message = f"{result['stop']}: {name} at {result['pc'] - lib:#x} ({words})"
    if result["stop"] == "memory fault":
        message += f", address {result['address']:#x}"
    if result["stop"] == "unsupported":
        raise UnsupportedError(message)
    raise EmulationError(message, place)


class Status(NamedTuple):
    """How a call of `run_asm_status` ended: a code of ``pyaco_run_asm.h``, and the text of its error."""

    code: int
    text: str


def run_asm_status(
    lib: int, lib_sz: int, gx: int, gy: int, gz: int, lx: int, ly: int, lz: int, args_ptr: int, rsrc2: int, scratch_size: int,
    arch: str, user_data: int, user_count: int,
) -> Status:  # fmt: skip
    """Do `run_asm` for the C interface: `user_data` is the address of `user_count` dwords, or 0; errors become codes."""
    user = None if not user_data else (ctypes.c_uint32 * min(user_count, 32)).from_address(user_data)
    try:
        code = run_asm(lib, lib_sz, gx, gy, gz, lx, ly, lz, args_ptr, rsrc2, scratch_size, arch, None if user is None else list(user))
        return Status(code, "")
    except UnsupportedError as error:
        return Status(2, str(error))
    except (InputError, ValueError, OverflowError) as error:
        return Status(3, str(error))
    except Exception as error:
        return Status(1, f"{type(error).__name__}: {error}")
