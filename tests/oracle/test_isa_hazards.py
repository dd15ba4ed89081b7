"""The table's hazard classes against LLVM 22's hazard recognizer: every opcode of a chip in front of or behind an instruction that it may clash with.

An instruction is made of our text of an opcode, as LLVM's assembler reads it. The recognizer must insert something exactly where the class says so.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import llvm_hazards
import pytest
import test_isa_forms
from llvm_hazards import Machine

from pyaco.isa import opcodes
from pyaco.isa.processors import processor

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("llc-22") is None, reason="llc-22 is not installed"),
]
EXHAUSTIVE = bool(os.environ.get("PYACO_EXHAUSTIVE"))
Row = opcodes.Row
#: What ends a program, and what the recognizer inserts itself.
UNSEEN = ("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done", "s_nop")
MEMORY = ("ds", "mubuf", "mtbuf", "mimg", "flat", "global", "scratch")


def texts_of(chip: str, wave: int, sample: int) -> dict[str, str]:
    """One text by opcode: of every opcode that is in a class, and of every `sample`-th other one."""
    _, level = processor(chip)
    generation = opcodes.generation_of(level)
    rows = [row for row in opcodes.rows() if row.on_chip(generation, chip) and not test_isa_forms.is_branch(row.name) and row.name not in UNSEEN]
    special = {"transcendental", "lane_select", "lane_access", "div_fmas", "setreg", "getreg", "trap_return", "m0_read", "wide_store", "permlane",
               "denorm_mode", "float_atomic", "lane_mask_read", "wave_matrix", "dot"}  # fmt: skip
    chosen = [row for number, row in enumerate(rows)
              if number % sample == 0 or any(name in special or "matrix" in name for name in opcodes.hazards(row.name, generation))]  # fmt: skip
    cases = test_isa_forms.cases(level, 1, chosen)
    found: dict[str, str] = {}
    for (_, name, _), text in zip(cases, test_isa_forms.our_texts(chip, [code for _, _, code in cases], wave), strict=True):
        if text and not re.search(r"\b(lds|gds|tfe)\b", text):
            found.setdefault(name, text)
    return found


def add_operands(row: Row, machine: Machine, wave: int) -> None:
    """Results, and the operands that the table knows to be implied; LLVM complains about others."""
    vcc, exec_ = ("$vcc", "$exec") if wave == 64 else ("$vcc_lo", "$exec_lo")
    implied = {"scc": "$scc", "vcc": vcc, "exec": exec_, "m0": "$m0"}
    short = machine.name.endswith(("_e32", "_sdwa", "_dpp"))
    for token in row.definitions:
        if token in implied or (token == "mask" and short):
            machine.implicit.append(f"implicit-def {implied.get(token, vcc)}")
        else:
            machine.results += 1
    if row.format[0] == "v" or row.format in (*MEMORY, "exp", "ldsdir"):
        machine.implicit.append(f"implicit {exec_}")
    machine.implicit += ["implicit $mode"] if row.format[0] == "v" else ["implicit $m0"] if row.format == "ds" else []
    machine.implicit += ["implicit $flat_scr"] if row.format in ("flat", "scratch") else []
    for token in row.operands:
        if (token in implied and f"implicit {implied[token]}" not in machine.implicit) or (token == "mask" and short):
            machine.implicit.append(f"implicit {implied.get(token, vcc)}")


class Peer:
    """The instructions of a chip as LLVM has them."""

    def __init__(self, chip: str, wave: int, sample: int) -> None:
        self.chip, self.wave = chip, wave
        self.generation = opcodes.generation_of(processor(chip)[1])
        self.options = [f"-mattr=+wavefrontsize{wave},-wavefrontsize{96 - wave}"] if processor(chip)[1] >= 100 else []
        texts = texts_of(chip, wave, sample)
        machines = llvm_hazards.machine_instructions(chip, list(texts.values()), *self.options)
        known = [(opcodes.row(name), machine) for name, machine in zip(texts, machines, strict=True) if machine]
        for row, machine in known:
            add_operands(row, machine, wave)
        accepted = llvm_hazards.learn(chip, [machine for _, machine in known], *self.options)
        self.instructions = [entry for entry, good in zip(known, accepted, strict=True) if good]
        self.tried = len(texts)

    def made(self, text: str, results: int, *implicit: str) -> Machine:
        """The instruction of a text."""
        machine = llvm_hazards.machine_instructions(self.chip, [text], *self.options)[0]
        assert machine is not None
        machine.results, machine.implicit = results, list(implicit)
        assert llvm_hazards.learn(self.chip, [machine], *self.options) == [True], machine.text()
        return machine

    def recognized(self, sequences: list[list[Machine]]) -> list[list[str]]:
        return llvm_hazards.recognized(self.chip, sequences, *self.options)

    def has(self, row: Row, *names: str) -> bool:
        return bool(set(names) & set(opcodes.hazards(row.name, self.generation)))


def wait_states(lines: list[str]) -> int:
    """Those that the recognizer has inserted; s_waitcnt_depctr and other instructions count as 100."""
    states = 0
    for line in lines:
        if match := re.fullmatch(r"S_NOP (\d+)", line):
            states += int(match[1]) + 1
        elif line.startswith("S_WAITCNT_DEPCTR"):
            states += 100
    return states


Probe = Callable[[Peer], Iterator[tuple[Row, list[Machine], int]]]


def registers(operand: str, kind: str) -> list[str]:
    """The registers of an operand that is a tuple of a kind."""
    return re.findall(rf"{kind}\d+", operand)


def read_result(peer: Peer) -> Iterator[tuple[Row, list[Machine], int]]:
    """A VALU instruction reads the result: transcendental, dot, matrix."""
    move = peer.made("v_mov_b32 v200, v201", 1, "implicit $exec")
    for row, machine in peer.instructions:
        result = registers(machine.operands[0], "vgpr") if machine.results and row.format.startswith("vop") else []
        if result:
            yield row, [machine, Machine(move.name, [move.operands[0], f"${result[0]}"], 1, move.implicit)], states_of_result(peer, row)


def states_of_result(peer: Peer, row: Row) -> int:
    """Wait states between an instruction and a VALU read of its result (LLVM: checkMAIVALUHazards)."""
    if peer.has(row, "wave_matrix"):
        return 0
    if row.matrix is not None:
        passes = row.matrix.passes[peer.generation]
        if peer.has(row, "matrix_double"):
            return 6 if passes == 4 else 11
        if peer.generation == "cdna2":
            return passes + 3
        return passes + 2 + peer.has(row, "matrix_xdl")
    if peer.generation == "cdna3" and row.format == "vop3p" and row.name.startswith("v_pk_"):
        # LLVM 22 takes op_sel_hi for the bit that selects the half of a result, which would be a hazard of the form
        return 1
    states = 3 if peer.has(row, "dot") else 0
    if peer.has(row, "transcendental"):
        states = 1 if peer.generation == "cdna3" else 100
    return states


def write_store_data(peer: Peer) -> Iterator[tuple[Row, list[Machine], int]]:
    """A VALU instruction writes what a store reads; LLVM's images have descriptors that are long enough."""
    move = peer.made("v_mov_b32 v200, v201", 1, "implicit $exec")
    states = 2 if peer.generation == "cdna3" else 1
    for row, machine in peer.instructions:
        if row.format not in MEMORY or row.format == "mimg":
            continue
        data = [operand for operand in machine.operands[machine.results :] if len(registers(operand, "vgpr")) > 2]
        # a register as offset of a buffer gives the time
        offset = row.format in ("mubuf", "mtbuf") and any(re.fullmatch(r"\$sgpr\d+", operand) for operand in machine.operands)
        for operand in data:
            last = registers(operand, "vgpr")[-1]
            yield row, [machine, Machine(move.name, [f"${last}", move.operands[1]], 1, move.implicit)], \
                0 if offset or not peer.has(row, "wide_store") else states
        if not data and not machine.results:
            assert not peer.has(row, "wide_store"), row.name


def behind(text: str, results: int, implicit: tuple[str, ...], states: dict[str, int]) -> Probe:
    """A certain instruction in front of every other one: wait states by class of that one."""
    def probe(peer: Peer) -> Iterator[tuple[Row, list[Machine], int]]:
        first = peer.made(text, results, *implicit)
        for row, machine in peer.instructions:
            found = [number for name, number in states.items() if peer.has(row, name)]
            yield row, [first, machine], max(found, default=0)
    return probe


def denormal_mode(peer: Peer) -> Iterator[tuple[Row, list[Machine], int]]:
    """A write of the denormal mode behind."""
    last = peer.made("s_denorm_mode 0", 0, "implicit-def $mode", "implicit $mode")
    for row, machine in peer.instructions:
        if row.format in MEMORY or row.format.startswith("vop"):
            yield row, [machine, last], 3 if peer.has(row, "float_atomic") else 0


def lane_mask(peer: Peer) -> Iterator[tuple[Row, list[Machine], int]]:
    """A SALU write of the lane mask behind."""
    write = peer.made("s_mov_b64 vcc, 0", 1)
    for row, machine in peer.instructions:
        masks = [operand for operand in machine.operands[machine.results :] if len(registers(operand, "sgpr")) == 2]
        if row.format.startswith("vop"):
            yield row, [machine, replace(write, operands=[next(iter(masks), "$vcc"), "0"])], 100 if peer.has(row, "lane_mask_read") else 0


def lane_written(peer: Peer) -> Iterator[tuple[Row, list[Machine], int]]:
    """A VALU instruction writes an SGPR that the other one reads."""
    read = peer.made("v_readfirstlane_b32 s4, v201", 1, "implicit $exec")
    for row, machine in peer.instructions:
        for operand in machine.operands[machine.results :]:
            if row.format != "smem" and len(registers(operand, "sgpr")) == 1:
                states = 4 if peer.has(row, "lane_select") else 5 if peer.has(row, "vector_memory") else 0
                yield row, [Machine(read.name, [operand, read.operands[1]], 1, read.implicit), machine], states


def same_hardware_register(peer: Peer) -> Iterator[tuple[Row, list[Machine], int]]:
    """A write of a hardware register in front."""
    write = peer.made("s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 1), s4", 0)
    number = write.operands[1]
    for row, machine in peer.instructions:
        if peer.has(row, "setreg", "getreg"):
            last = len(machine.operands) - 1
            machine = replace(machine, operands=[*machine.operands[:last], number])
        yield row, [write, machine], 2 if peer.has(row, "setreg", "getreg") else 1 if peer.has(row, "trap_return") else 0


M0_WRITTEN = behind("s_mov_b32 m0, s4", 1, (), {"m0_read": 1})
VCC_WRITTEN = behind("v_cmp_eq_u32_e32 vcc, v200, v201", 0, ("implicit-def $vcc", "implicit $exec"), {"div_fmas": 4})
#: Chip, wave size and how instructions are put together; the chips of SHORT have their turn in every run.
PROBES: dict[str, tuple[str, int, Probe]] = {
    "results on GFX9": ("gfx900", 64, read_result),
    "results on CDNA 2": ("gfx90a", 64, read_result),
    "results on CDNA 3": ("gfx942", 64, read_result),
    "results on GFX11": ("gfx1100", 64, read_result),
    "stores on GFX7": ("gfx700", 64, write_store_data),
    "stores on GFX8": ("gfx803", 64, write_store_data),
    "stores on GFX9": ("gfx900", 64, write_store_data),
    "stores on CDNA 3": ("gfx942", 64, write_store_data),
    "m0 on GFX8": ("gfx803", 64, M0_WRITTEN),
    "m0 on GFX9": ("gfx900", 64, M0_WRITTEN),
    "m0 on CDNA 3": ("gfx942", 64, M0_WRITTEN),
    "vcc on GFX8": ("gfx803", 64, VCC_WRITTEN),
    "vcc on GFX9": ("gfx900", 64, VCC_WRITTEN),
    "lanes on GFX8": ("gfx803", 64, lane_written),
    "lanes on GFX9": ("gfx900", 64, lane_written),
    "hardware registers on GFX8": ("gfx803", 64, same_hardware_register),
    "hardware registers on GFX9": ("gfx900", 64, same_hardware_register),
    "permlane on GFX11": ("gfx1100", 64, behind("v_cmpx_eq_u32_e32 v200, v201", 0, ("implicit-def $exec", "implicit $exec"), {"permlane": 1})),
    "float atomics on GFX10.3": ("gfx1030", 32, denormal_mode),
    "lane masks on GFX11": ("gfx1100", 64, lane_mask),
}  # fmt: skip
SHORT = ("gfx900", "gfx1100")


@cache
def peer_of(chip: str, wave: int) -> Peer:
    return Peer(chip, wave, 1 if EXHAUSTIVE else 60)


@pytest.mark.parametrize("name", [name for name, (chip, _, _) in PROBES.items() if EXHAUSTIVE or chip in SHORT])
def test_classes_are_what_the_recognizer_sees(name: str) -> None:
    chip, wave, probe = PROBES[name]
    peer = peer_of(chip, wave)
    cases = list(probe(peer))
    wrong = []
    for (row, sequence, states), lines in zip(cases, peer.recognized([sequence for _, sequence, _ in cases]), strict=True):
        found = wait_states(lines)
        if "permlane" in name:
            # LLVM moves a register instead of v_nop
            found = len(lines) - len(sequence)
        if found != states:
            wrong.append((row.name, "; ".join(machine.text() for machine in sequence), found, states))
    hits = sum(states > 0 for _, _, states in cases)
    print(f"{name}: {len(peer.instructions)} of {peer.tried} opcodes that LLVM reads, {len(cases)} pairs, {hits} with hazards, {len(wrong)} wrong")
    assert hits or name == "results on GFX9"
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(map(str, wrong[:40]))
