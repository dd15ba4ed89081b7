#!/usr/bin/env python3
"""Replay recorded pass cases: ``python tests/oracle/replay_pass_cases.py FILE``.

FILE is a (gzipped) JSON list of small programs as a pass of ACO received and left them, or as its assembler encoded them.
Prints one JSON object ``{pass: {"tried", "agreed", "levels", "skipped", "skipped_because", "first_disagreements"}}``; ``levels`` has the
two counts by gfx level. A pass agrees when it leaves the same program, line by line; the optimizer also when its program has no more instructions
and, executed on the emulator with short numbers, halves and special values, keeps at each ``p_unit_test`` what the program before it or the recorded
result keeps (where something else was contracted than there, up to two units in the last place); lowering to
hardware instructions also when it leaves no more instructions, and the model of ``tests/aco/machine_model`` finds in all registers at each
``p_unit_test`` what the program before it or the recorded result leaves there; the assembler when it gives the same words; the validator when it
accepts and rejects the same programs. Register allocation agrees when its result is valid and has no more instructions: which registers it takes is
its own affair. Pairs for dual issue agree when they are pairs of the same operations: either may be the first half, a move may be an addition of
zero, sources may be exchanged. A case is skipped where pyaco has no such pass or the pass refuses the generation, and the reason is counted.
"""

from __future__ import annotations

import gzip
import importlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/aco")]

import numpy as np  # noqa: E402
from machine_model import M0, SCC, Machine  # noqa: E402
from ssa_execution import LANES, compiled, execute, merged  # noqa: E402

from pyaco._core.aco import assemble, build, dominance, live_variables, lower_to_hw_instr, register_allocation, validate_ir, validate_ra  # noqa: E402
from pyaco.aco.text import format_program, parse_program  # noqa: E402
from pyaco.errors import PyacoError, UnsupportedError  # noqa: E402

LEVELS = {"gfx6": 60, "gfx7": 70, "gfx8": 80, "gfx9": 90, "gfx10": 100, "gfx10_3": 103, "gfx11": 110, "gfx11_5": 115, "gfx12": 120}
#: The kernel of each pass that leaves a program to compare.
KERNELS = {
    "optimize": "optimize",
    "optimize_postRA": "optimize_post_ra",
    "insert_NOPs": "insert_nops",
    "insert_wait_states": "insert_waitcnt",
    "form_hard_clauses": "form_hard_clauses",
    "setup_reduce_temp": "setup_reduce_temp",
    "schedule_vopd": "schedule_vopd",
}


COMMUTATIVE = {f"v_dual_{name}" for name in
               ("add_f32", "mul_f32", "mul_dx9_zero_f32", "min_f32", "max_f32", "fmac_f32", "fmaak_f32", "add_nc_u32", "and_b32")}


#: Parts of a shader that another part runs before. The recorded programs do not say which they are; the names of their variants do.
LATER_PARTS = ("_fs_epilog", "_with_prolog", "_separate_gs", "previous_part")


class Skipped(Exception):
    """The case asks for something that pyaco does not have."""


def read(case: dict[str, Any]) -> Any:
    """The input program of a case, with the modes that the text leaves out."""
    meta = case["meta"]
    facts = case["input"]
    program = parse_program(
        case["input_text"], LEVELS[meta["gfx"]], meta["wave"], workgroup_size=facts["workgroup"], wgp_mode=bool(facts["wgp"])
    )
    with program.edit():
        for index, block in enumerate(facts["blocks"]):
            program.blocks.fp_mode[index] = block["fp"] | block["fpx"] << 8
            program.blocks.loop_depth[index] = block["loop"]
    return program


def lines(text: str) -> list[str]:
    """The lines of a program that say what it does."""
    kept = (line.rstrip() for line in text.strip().splitlines() if not line.startswith(("After", "ACO shader stage")))
    return [line.split("/ mode:")[0].split("/ depth:")[0] if line.startswith("/*") else line for line in kept]


def normal(text: str) -> list[str]:
    """Lines without the ends of block comments."""
    return [line.removesuffix("*/").rstrip() if line.startswith("/*") else line for line in lines(text)]


def replay_pass(case: dict[str, Any]) -> bool:
    """A pass that changes a program."""
    program = read(case)
    if case["pass"] == "setup_reduce_temp":
        dominance.run(program, None)
    importlib.import_module(f"pyaco._core.aco.{KERNELS[case['pass']]}").run(program, options(case))
    ours, wanted = normal(format_program(program)), normal(case["output_text"])
    if case["pass"] == "setup_reduce_temp":
        # Which pass marks operands that must outlive an instruction's definitions is each compiler's own affair.
        ours, wanted = ([line.replace("(latekill)", "") for line in text] for text in (ours, wanted))
    if case["pass"] == "schedule_vopd":
        return [paired(line) for line in ours] == [paired(line) for line in wanted]
    return ours == wanted or (case["pass"] == "optimize" and executes_alike(case, ours, wanted))


# ---------------------------------------------------------------------------------------------------------------- the optimizer, executed
HALVES = [0, 0x8000, 0x3C00, 0xBC00, 0x3800, 0x4000, 0x4200, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3555, 0xB266, 0x2400, 0xA400]
SINGLES = [0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00800000, 0x80800000, 0x477FE000]


def instructions(text: list[str]) -> int:
    """How many instructions a program has that do something."""
    return sum(line.startswith("\t") and not re.search(r"p_unit_test|p_startpgm|s_endpgm", line) for line in text)


def values_to_try() -> list[Any]:
    """Inputs: singles of few bits, of which products are exact; two halves each; special values; anything."""
    rng = np.random.default_rng(1)
    shape = (24, LANES)
    short = (rng.integers(-255, 256, shape) / 2.0 ** rng.integers(0, 9, shape)).astype(np.float32).view(np.uint32)
    halves = (rng.integers(-31, 32, (*shape, 2)) / 2.0 ** rng.integers(0, 4, (*shape, 2))).astype(np.float16).view(np.uint32).reshape(shape)
    pairs = rng.choice(np.array(HALVES, np.uint32), shape) | rng.choice(np.array(HALVES, np.uint32), shape) << 16
    return [short, halves, pairs, rng.choice(np.array(SINGLES, np.uint32), shape)]


def not_a_number(row: Any) -> Any:
    """Lanes that are no number, as a single or as a half alone in its register."""
    return ((row & 0x7F800000 == 0x7F800000) & (row & 0x7FFFFF != 0)) | ((row >> 16 == 0) & (row & 0x7C00 == 0x7C00) & (row & 0x3FF != 0))


def executes_alike(case: dict[str, Any], ours: list[str], wanted: list[str]) -> bool:
    """Whether our program keeps what the one before it or the recorded one keeps, with no more instructions."""
    if instructions(ours) > instructions(wanted):
        return False
    level, wave = LEVELS[case["meta"]["gfx"]], case["meta"]["wave"]
    before = normal(case["input_text"])
    lines_and_blocks = zip(*merged("\n".join(before)), strict=True)
    tests = {line.split("p_unit_test ")[1].split(",")[0]: place for line, place in lines_and_blocks if "p_unit_test" in line}
    # Contraction is what the programs are about, so the last bits may differ where nothing is precise.
    slack = 0 if any("(precise)" in line for line in before) else 2
    for block, mode in {block["fp"]: (index, block["fp"]) for index, block in enumerate(case["input"]["blocks"])}.values():
        tried = values_to_try()
        # A single with half a mantissa of zeros has exact products: what was contracted in other ways is the same then.
        singles = [kind in ("v1", "s1") for kind in re.findall(r"(\w+): %", next(line for line in before if "p_startpgm" in line))]
        tried[2][: len(singles)][singles] &= 0xFFFF0000
        for values in tried:
            rows = [execute("\n".join(text), level, wave, values, mode) for text in (before, wanted, ours)]
            if set(rows[0]) != set(rows[2]):
                return False
            for key, mine in rows[2].items():
                if case["input"]["blocks"][tests[key[0]]]["fp"] != case["input"]["blocks"][block]["fp"]:
                    continue
                same = (mine == rows[0][key]) | (mine == rows[1][key]) | (not_a_number(mine) & not_a_number(rows[0][key]))
                near = np.abs(mine.astype(np.int64) - rows[0][key].astype(np.int64)) <= slack
                if not (same | near).all():
                    return False
    return True


# ------------------------------------------------------------------------------------------- parts of registers before there was SDWA
def keeping(lines_: list[str], numbers: list[str]) -> str:
    """A program that keeps some values at its end."""
    return "\n".join([*lines_[:-1], *(f"\tp_unit_test {place}, %{number}" for place, number in enumerate(numbers)), lines_[-1]])


def vector_instructions(text: str, level: int, wave: int) -> int:
    """What a program becomes: vector instructions that compute."""
    return len(re.findall(r"= v_\w+", format_program(compiled(text, level, wave, (0x10000, 0x20000))[0])))


def replay_subdword(case: dict[str, Any]) -> bool:
    """Values smaller than a register before GFX8.

    ACO has a pass for it before register allocation, pyaco lowers them behind: both programs go through our backend to the end, and ours must keep
    the same bytes with no more vector instructions.
    """
    level, wave = LEVELS[case["meta"]["gfx"]], case["meta"]["wave"]
    before, wanted = normal(case["input_text"]), normal(case["output_text"])
    defined = [re.findall(r"(\w+): %(\d+)", line.partition(" = ")[0]) for line in before if " = " in line and "p_startpgm" not in line]
    values = [value for line in defined for value in line]
    ours, theirs = (keeping(text, [number for _, number in values]) for text in (before, wanted))
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, (24, LANES), dtype=np.uint32)
    found, recorded = (execute(text, level, wave, bits) for text in (ours, theirs))
    for key, row in recorded.items():
        kind = values[int(key[0])][0]
        mask = (1 << 8 * int(kind[1:-1])) - 1 if kind.endswith("b") else 0xFFFFFFFF
        if not np.array_equal(row & mask, found[key] & mask):
            return False
    return found.keys() == recorded.keys() and vector_instructions(ours, level, wave) <= vector_instructions(theirs, level, wave)


# ------------------------------------------------------------------------------------------------- lowering to hardware instructions
class Snapshots(Machine):
    """Keeps what all registers hold at each ``p_unit_test`` and at the end, but SCC and M0: the recorded text does not say whether SCC is live."""

    def unit_test(self, i: int) -> None:
        """Keep the registers that have changed."""
        written, self.memory = self.memory, {}
        changed = ((reg, byte) for reg, byte in written.items() if reg >> 2 not in (SCC >> 2, M0 >> 2) and byte != self.byte(reg))
        self.seen.append(tuple(sorted(changed)))
        self.memory = written

    def run(self, steps: int = 400) -> list[tuple[Any, ...]]:
        """Execute."""
        super().run(steps)
        self.unit_test(0)
        return self.seen


#: Definition, first bit of it, opcode, operands, selections.
_SDWA = re.compile(r"^(\s*\S+ %\d+:v\[\d+\](?:\[(\d+):\d+\])?) = (\S+) (.*?)((?: \w+_sel:\S+| dst_preserve)+)$")


def relative(line: str) -> str:
    """A line whose SDWA selections count from the operand's own bytes, as ours do; ACO prints them from the start of the register."""
    parts = _SDWA.search(line)
    if parts is None:
        return line
    starts = [int(found[1] or 0) // 8 if (found := re.search(r"\[\d+\](?:\[(\d+):\d+\])?$", operand.strip())) else 0
              for operand in parts[4].split(",")]  # fmt: skip
    starts = [int(parts[2] or 0) // 8, *starts]

    def moved(match: re.Match[str]) -> str:
        start = starts[0 if match[1] == "dst" else int(match[1][-1]) + 1]
        unit = 2 if "word" in match[2] else 1
        return f"{match[1]}_sel:{match[2]}{int(match[3]) - start // unit}"

    return f"{parts[1]} = {parts[3]} {parts[4]}" + re.sub(r"(dst|src\d)_sel:([us](?:byte|word))(\d)", moved, parts[5])


def lowered(text: str, theirs: bool = False) -> list[str]:
    """The lines of a lowered program, without what another pass of ours does (giving registers back) and the names of values in SCC."""
    kept = [re.sub(r"%\d+:scc", "%0:scc", line) for line in normal(text)]
    kept = [relative(line) for line in kept] if theirs else kept
    given_back = next((at for at, line in enumerate(kept) if "dealloc_vgprs" in line), 0)
    return kept[: given_back - 1] + kept[given_back + 1 :] if given_back else kept


def replay_lowering(case: dict[str, Any]) -> bool:
    """Pseudo instructions become hardware instructions."""
    program = read(case)
    lower_to_hw_instr.run(program, None)
    ours, wanted = lowered(format_program(program)), lowered(case["output_text"], theirs=True)
    if ours == wanted:
        return True
    if len(ours) > len(wanted):
        return False
    meta = case["meta"]
    theirs = parse_program("\n".join(line + " */" if line.startswith("/*") else line for line in wanted) + "\n", LEVELS[meta["gfx"]], meta["wave"])
    return any(same_registers(program, other) for other in (theirs, read(case)))


def same_registers(ours: Any, other: Any) -> bool:
    """Whether two programs, lowered or not, leave the same in all registers at each test."""
    try:
        return Snapshots(ours, True).run() == Snapshots(other, True).run()
    except AssertionError:                                  # an instruction that the model does not have
        return False


def options(case: dict[str, Any]) -> dict[str, bool]:
    """Options of the pass."""
    if case["pass"] != "insert_NOPs":
        return {}
    return {"previous_part": any(part in f"{case['test']}/{case['variant']}" for part in LATER_PARTS)}


def paired(line: str) -> str:
    """A line with the two halves of a pair, their opcodes and their sources in one order."""
    return " :: ".join(sorted(half(text) for text in line.split(" :: "))) if " :: " in line else line


def half(text: str) -> str:
    """One half of a pair: moves instead of additions of zero, no reversed subtraction, the sources of commutative operations sorted."""
    definition, _, operation = text.strip().partition(" = ")
    name, _, operands = operation.partition(" ")
    sources = [source.strip() for source in operands.split(",")]
    if name == "v_dual_add_nc_u32" and sources[0] == "0":
        return f"{definition} = v_dual_mov_b32 {sources[1]}"
    if name == "v_dual_subrev_f32":
        return f"{definition} = v_dual_sub_f32 {sources[1]}, {sources[0]}"
    if name in COMMUTATIVE:
        sources[:2] = sorted(sources[:2])
    return f"{definition} = {name} {', '.join(sources)}"


def replay_assembler(case: dict[str, Any]) -> bool:
    """The assembler."""
    program = read(case)
    assemble.run(program)
    code = program.code
    words = [f"{int.from_bytes(code[at : at + 4], 'little'):08x}" for at in range(0, len(code), 4)]
    wanted = [word.removeprefix("0x").rjust(8, "0").lower() for word in case["words"]]
    count = case["exec_size"] // 4
    return words[:count] == wanted[:count]


def replay_validator(case: dict[str, Any]) -> bool:
    """The validator."""
    return bool(validate_ir.check(read(case))) == ("Validation failed" in case["extra"])


def replay_allocation(case: dict[str, Any]) -> bool:
    """Register allocation."""
    program = read(case)
    limits = {
        "physical_sgprs": 5120, "physical_vgprs": 512, "sgpr_limit": 104, "vgpr_limit": 256, "sgpr_allocation_granule": 128,
        "vgpr_allocation_granule": 8, "max_waves_per_simd": 16, "simds_per_cu": 2, "lds_limit": 65536,
        "lds_allocation_granule": 512,
    }  # fmt: skip
    build.set_device(program, **limits)
    for kernel in (dominance, live_variables, register_allocation):
        kernel.run(program, None)
    return not validate_ra.check(program) and len(lines(format_program(program))) <= len(lines(case["output_text"]))


def handler(case: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    """How to replay a case."""
    name = case["pass"]
    if name in KERNELS:
        return replay_pass
    others = {"lower_to_hw_instr": replay_lowering, "emit_program": replay_assembler, "validate_ir": replay_validator,
              "register_allocation": replay_allocation, "lower_subdword": replay_subdword}  # fmt: skip
    if name not in others:
        raise Skipped(f"pyaco has no pass {name}")
    return others[name]


def main() -> int:
    """Replay every case of a file."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(sys.argv[1])
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as stream:
        cases = json.load(stream)
    report: dict[str, dict[str, Any]] = {}
    for case in cases:
        entry = report.setdefault(
            case["pass"], {"tried": 0, "agreed": 0, "levels": {}, "skipped": 0, "skipped_because": {}, "first_disagreements": []}
        )
        try:
            agreed = handler(case)(case)
            problem = case["id"]
        except (Skipped, UnsupportedError) as reason:
            entry["skipped"] += 1
            entry["skipped_because"][str(reason)] = entry["skipped_because"].get(str(reason), 0) + 1
            continue
        except (PyacoError, ValueError, ImportError, RuntimeError) as error:
            agreed, problem = False, f"{case['id']}: {error}"
        entry["tried"] += 1
        entry["agreed"] += agreed
        level = entry["levels"].setdefault(case["meta"]["gfx"], {"tried": 0, "agreed": 0})
        level["tried"] += 1
        level["agreed"] += agreed
        if not agreed and len(entry["first_disagreements"]) < 5:
            entry["first_disagreements"].append(problem)
    print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
