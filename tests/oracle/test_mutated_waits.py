"""Each wait and NOP of kernels that clang compiles, removed: the check finds it, or nothing that ran needed it."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hsa_launch import Program, compile_kernels
from judge_waits import WaveRun, classify_nop, hazards_without
from launches import Launch, recording, recordings
from mutate_waits import Code, mutate
from test_emu_clang_kernels import CASES, SOURCE

from pyaco import isa
from pyaco.emu import Device, MissingWaitError
from pyaco.emu.checks import CHECKS
from pyaco.isa import opcodes

pytestmark = pytest.mark.oracle
BUILDS = [("gfx90a", 64), ("gfx942", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32)]
KERNELS = ("reduce", "life", "calls", "flat", "doubles")


@pytest.mark.slow
@pytest.mark.parametrize(("target", "wave"), BUILDS)
def test_waits_of_clang(target: str, wave: int, tmp_path: Path) -> None:
    code = compile_kernels(SOURCE, target, wave, "-O2", tmp_path)
    with recording(tmp_path / "launches") as done:
        for name in KERNELS:
            case, device = CASES[name], Device(target)
            arguments = case.arguments(np.random.default_rng(3))
            given = [device.buffer(value) if isinstance(value, np.ndarray) else value for value in arguments]
            Program(device, code).run(name, case.groups, case.size, given)
    assert done.total() == len(KERNELS)
    totals: Counter[str] = Counter()
    for path in recordings([tmp_path]):
        Launch.read(path).place(CHECKS).run()
        outcome = mutate(path)
        assert not outcome.refused
        escaped = [f"{outcome.launch} {mutant}: {reason}" for mutant, result, reason in outcome.results if result == "escaped"]
        assert not escaped, "\n".join(escaped)
        totals.update(result for _, result, _ in outcome.results)
    print(f"{target}: {dict(totals)}")
    assert totals["caught"] > 20


def test_a_launch_runs_again(tmp_path: Path) -> None:
    """A recording gives what the launch gave; a patched one runs the patched code."""
    code = compile_kernels(SOURCE, "gfx1100", 32, "-O2", tmp_path)
    case, device = CASES["saxpy"], Device("gfx1100")
    x, y, out, factor = case.arguments(np.random.default_rng(3))
    given = [device.buffer(value) for value in (x, y, out)]
    with recording(tmp_path / "launches"):
        Program(device, code).run("saxpy", case.groups, case.size, [*given, factor])
    (path,) = recordings([tmp_path / "launches"])
    launch = Launch.read(path)
    assert launch.kernel == "saxpy" and launch.workgroup == (64, 1, 1)
    placed = launch.place()
    assert placed.run().instructions > 0
    view = placed.device.space.view(given[2].address, out.nbytes)
    assert view is not None and bytes(view) == given[2].numpy().tobytes() and np.frombuffer(view, np.float32).any()
    stopped = launch.place()
    stopped.patch(launch.code.kernels["saxpy"].address, [0xBFB00000])       # s_endpgm
    assert stopped.run().instructions == 8


class Text(Code):
    """Instructions of a text, in place of a launch's."""

    def __init__(self, text: str, target: str, wave: int = 64) -> None:
        data = isa.assemble(text, target, wave_size=wave)
        self.image, self.target, self.names = np.frombuffer(data, np.uint32), target, opcodes.names()
        self.level = isa.processors.processor(target)[1]
        self.records = {int(record["offset"]): record for record in isa.decode(data, target)}
        self.targets = self._branch_targets()


def test_what_is_removed() -> None:
    """Waits lose their counts one by one, NOPs a state; a NOP of one state goes to the top of its block."""

    code = Text("s_waitcnt vmcnt(1) lgkmcnt(0)\ns_nop 3\ns_branch L\nL:\nv_mov_b32 v1, 0\nv_mov_b32 v2, 0x12345\ns_nop 0\ns_endpgm", "gfx90a")
    changes = [[(mutant.what, mutant.place, len(mutant.words)) for mutant in code.mutants(offset)] for offset in code.records]
    assert changes == [[("whole", 0, 1), ("vmcnt", 0, 1), ("lgkmcnt", 0, 1)], [("whole", 4, 1)], [], [], [], [("whole", 12, 4)], []]
    (nop,) = code.mutants(24)
    assert nop.words == (0xBF800000, *map(int, code.image[3:6]))
    assert classify_nop(code.records, code.names, code.level, 24) == ""


MASKS = """
v_cndmask_b32_e64 v1, v2, v3, s[14:15]
v_cmp_lt_i32_e64 s[14:15], -1, v6
s_waitcnt_depctr depctr_va_sdst(0)
s_and_b64 s[14:15], s[4:5], s[14:15]
s_and_b64 s[14:15], s[14:15], s[12:13]
v_cndmask_b32_e64 v1, v2, v3, s[14:15]
{between}
s_and_b64 s[14:15], vcc, s[12:13]
s_waitcnt_depctr depctr_sa_sdst(0)
s_and_b64 s[0:1], s[0:1], s[14:15]
s_endpgm
"""


@pytest.mark.parametrize(("between", "needed"), [("v_add_nc_u32_e32 v3, s22, v5", False), ("v_add_nc_u32_e32 v3, 1, v5", True)])
def test_a_wait_for_a_lane_mask_is_needed_only_where_nothing_has_resolved_it(between: str, needed: bool) -> None:
    """The judge and the check agree: an older write of the same SGPRs does not count for a later one."""
    text = MASKS.format(between=between)
    code = Text(text, "gfx1100")
    place = next(offset for offset in reversed(code.records) if code.name(offset) == "s_waitcnt_depctr")
    runs = [WaveRun(list(code.records), [1] * len(code.records))]
    without, whole = (hazards_without(code.records, code.names, code.level, runs, removed) for removed in (place, None))
    assert bool(without - whole) == needed
    device = Device("gfx1100", check="waits")
    mutated = isa.assemble(text.replace("s_waitcnt_depctr depctr_sa_sdst(0)", "s_nop 0"), "gfx1100", wave_size=64)
    with pytest.raises(MissingWaitError, match="VALUMaskWrite") if needed else nullcontext():
        device.run(mutated, wave_size=64)


def test_a_nop_between_spills_of_a_pair() -> None:
    code = Text("v_writelane_b32 v5, s30, 0\ns_add_i32 s32, s32, 16\ns_nop 0\nv_writelane_b32 v5, s31, 1\ns_endpgm", "gfx942")
    nop = next(offset for offset in code.records if code.name(offset) == "s_nop")
    assert classify_nop(code.records, code.names, code.level, nop).startswith("spill of several SGPRs")
    other = Text("v_writelane_b32 v5, s30, 0\ns_add_i32 s32, s32, 16\ns_nop 0\nv_readlane_b32 s2, v5, 1\ns_endpgm", "gfx942")
    assert classify_nop(other.records, other.names, other.level, nop) == ""
