"""What a shader consists of, counted: instructions of NIR text and of machine code, by name and by kind.

Both compilers are read by the same eyes: NIR as Mesa printed it in 2022 and prints it since (``pyaco`` prints the latter), machine code through
`pyaco.isa.decode`, or as ACO printed its last IR. What differs says in which room the difference came about: if loops, accesses to memory or
arithmetic of the last NIR differ, a NIR pass made it; if they agree and the machine code differs, instruction selection or a later pass.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Mapping

from pyaco import isa
from pyaco.isa import opcodes

#: One instruction of NIR: what it defines, in the old form or the new, then its name.
_DEFINITION = re.compile(r"^\s*(?:vec\d+\s+\d+\s+(?:con |div )?\s*ssa_\d+|(?:con |div )?\s*\d+(?:x\d+)?\s+%\d+) = (.*)$")
_INTRINSIC = re.compile(r"^(?:intrinsic |@)(\w+)")
_TEXTURE = re.compile(r"^\((?:float|int|uint|bool)\d*\)\s*(\w+)")
_NAME = re.compile(r"^(\w+)")
_CONTROL = {"loop {": "loop", "break": "break", "continue": "continue", "return": "return", "halt": "halt"}
#: What costs nothing by itself, or is only a name for something: constants, arguments, and how vectors are put together.
_FREE = re.compile(r"^(?:load_const|undefined|mov|vec\d+|pack_\w+|unpack_\w+|load_\w*arg_amd|load_\w*_handle\w*)$")
#: Intrinsics that reach memory.
_MEMORY = re.compile(r"^(?:bindless_)?(?:load|store|image|ssbo|global|shared|scratch|deref)_\w+$")
_VALUE = re.compile(r"^load_(?:local|global|workgroup|num|subgroup|work_dim|base|first|push_constant|invocation|layer|view|sample)\w*$")


def nir_counts(text: str) -> dict[str, int]:
    """Count the instructions of NIR text by ``kind:name``: control, alu, memory, texture, intrinsic, phi."""
    found: collections.Counter[str] = collections.Counter()
    for line in text[text.find("impl ") :].splitlines():
        # Mesa says of loops whether lanes leave them at different times
        stripped = re.sub(r"^(?:con |div )(?=loop )", "", line.strip())
        if stripped in _CONTROL or stripped.startswith("if "):
            found["control:" + _CONTROL.get(stripped, "if")] += 1
            continue
        definition = _DEFINITION.match(line)
        body = definition[1] if definition else stripped
        if intrinsic := _INTRINSIC.match(body):
            found[_intrinsic_kind(intrinsic[1])] += 1
        elif definition and (texture := _TEXTURE.match(body)):
            found["texture:" + texture[1]] += 1
        elif definition and (name := _NAME.match(body)) and not _FREE.match(name[1]):
            found["phi:phi" if name[1] == "phi" else "alu:" + name[1]] += 1
    return dict(found)


def _intrinsic_kind(name: str) -> str:
    if _FREE.match(name) or _VALUE.match(name):
        return "free:" + name
    return ("memory:" if _MEMORY.match(name) else "intrinsic:") + name


#: Classes of machine instructions, the first whose pattern fits the name.
CODE_CLASSES = (
    ("delays", re.compile(r"s_delay_alu$")),
    ("waits", re.compile(r"s_(?:wait\w*|nop|clause|\w*prefetch\w*|sleep)$")),
    ("moves", re.compile(r"(?:v_mov_b16|v_mov_b32|v_mov_b64|v_swap_b32|s_mov_b32|s_mov_b64)(?:_\w+)?$")),
    ("branches", re.compile(r"s_(?:branch|cbranch_\w+)$")),
    ("exec", re.compile(r"s_\w+_saveexec_b\d+$")),
    ("LDS", re.compile(r"(?:ds|lds)_")),
    ("SMEM", re.compile(r"s_(?:load|buffer_load|store|buffer_store|scratch|atc|dcache|gl1|memtime|memrealtime)_?")),
    ("VMEM", re.compile(r"(?:buffer|tbuffer|global|flat|scratch|image)_")),
    ("VALU", re.compile(r"v_")),
    ("SALU", re.compile(r"s_")),
)


def code_class(name: str) -> str:
    """The class of a machine instruction by its name."""
    return next((kind for kind, pattern in CODE_CLASSES if pattern.match(name)), "VALU")


def code_counts(code: bytes, target: str) -> dict[str, int]:
    """Count machine instructions by name, up to the end of the code."""
    names = opcodes.names()
    found = collections.Counter(names[number] for number in isa.decode(code, target)["opcode"].tolist())
    found.pop("s_code_end", None)
    return dict(found)


#: An instruction of ACO IR as RADV prints it: what it defines, if anything, then its name.
_PRINTED = re.compile(r"^\t(?:.* = )?\s*([a-z]\w+)")


def printed_counts(text: str) -> dict[str, int]:
    """Count machine instructions of the last ACO IR by name: what a RADV without LLVM shows instead of a disassembly."""
    body = text[text.find("After lowering to hw instructions:") :]
    found = collections.Counter(match[1] for match in map(_PRINTED.match, body.splitlines()) if match)
    return {name: count for name, count in found.items() if not name.startswith("p_")}


def by_kind(counts: Mapping[str, int]) -> collections.Counter[str]:
    """Sum NIR counts by kind."""
    sums: collections.Counter[str] = collections.Counter()
    for name, count in counts.items():
        sums[name.split(":")[0]] += count
    return sums


def by_class(counts: Mapping[str, int]) -> collections.Counter[str]:
    """Sum counts of machine code by class."""
    sums: collections.Counter[str] = collections.Counter()
    for name, count in counts.items():
        sums[code_class(name)] += count
    return sums


def excess(ours: Mapping[str, int], theirs: Mapping[str, int]) -> dict[str, int]:
    """What ours has more of (or less, below zero), by name."""
    found = {name: ours.get(name, 0) - theirs.get(name, 0) for name in {*ours, *theirs}}
    return {name: count for name, count in found.items() if count}


#: Causes, in the words of passes. What can be told from counts alone is the room and the kind of instruction.
UNROLLED_BY_PEER = "nir.loop_unroll: loops that RADV unrolls"
UNROLLED_BY_US = "nir.loop_unroll: loops that pyaco alone unrolls"
MEMORY = "nir.load_store_vectorize and others that merge accesses: more accesses in NIR"
ARITHMETIC = "nir.algebraic, opt_cse and others of the loop: more arithmetic in NIR"
BRANCHES = "nir.opt_if, peephole_select: more branches and masks"
MOVES = "aco.register_allocation, lower_to_hw_instr: more moves"
WAITS = "aco.insert_waitcnt, insert_nops, form_hard_clauses: more waits and clauses"
DELAYS = "s_delay_alu: RADV writes them since 23.0"
SELECTION = "aco.instruction_selection, optimize: the same NIR, more instructions"


def shares(row: Mapping[str, Mapping[str, Mapping[str, int]]], peer: str = "radv") -> dict[str, int]:
    """Machine instructions that ours has more (or fewer) than the peer's, by cause; they add up to the whole difference.

    Where the numbers of loops differ, the whole difference is laid on unrolling: what stands in loops cannot be compared any more.
    """
    ours, theirs = row["pyaco"], row[peer]
    code = excess(by_class(ours["code"]), by_class(theirs["code"]))
    whole = sum(code.values())
    loops = ours["nir"].get("control:loop", 0) - theirs["nir"].get("control:loop", 0)
    if loops:
        return {UNROLLED_BY_PEER if loops > 0 else UNROLLED_BY_US: whole}
    nir = excess(by_kind(ours["nir"]), by_kind(theirs["nir"]))
    accesses = code.get("VMEM", 0) + code.get("SMEM", 0) + code.get("LDS", 0)
    arithmetic = code.get("VALU", 0) + code.get("SALU", 0)
    from_nir = _explained(arithmetic, nir.get("alu", 0))
    of_memory = _explained(accesses, nir.get("memory", 0) + nir.get("texture", 0))
    parts = {MEMORY: of_memory, ARITHMETIC: from_nir, BRANCHES: code.get("branches", 0) + code.get("exec", 0), MOVES: code.get("moves", 0),
             WAITS: code.get("waits", 0), DELAYS: code.get("delays", 0), SELECTION: accesses - of_memory + arithmetic - from_nir}  # fmt: skip
    return {name: count for name, count in parts.items() if count}


def _explained(difference: int, in_nir: int) -> int:
    """How much of a difference in machine code one in NIR, of the same sign, accounts for."""
    if difference * in_nir <= 0:
        return 0
    return min(difference, in_nir) if difference > 0 else max(difference, in_nir)
