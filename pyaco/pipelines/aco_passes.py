"""The passes over ACO IR. Each kernel's header says how it works and where the algorithm comes from."""

from __future__ import annotations

from typing import Any

from pyaco.passes import Option, Pass

__all__ = ["ACO_PASSES", "instruction_selection"]


def _pass(name: str, summary: str, *, needs: tuple[str, ...] = (), breaks: tuple[str, ...] = ("liveness",), **facts: Any) -> Pass:
    return Pass(name, "aco", summary, f"pyaco._core.aco.{name}", needs=needs, breaks=breaks, **facts)


# From NIR: a pass whose result is another IR.
instruction_selection = Pass(
    "instruction_selection", "nir", "NIR becomes ACO IR", "pyaco._core.aco.isel",
    needs=("subgroups", "scalar", "explicit addresses", "arguments", "lcssa", "divergence", "descriptors", "hardware values", "hardware alu",
           "hardware doubles", "hardware sizes", "hardware division", "hardware int64"),
    guarantees=("ssa",), stages=("compute",),
)  # fmt: skip

# SSA before the execution mask is explicit.
dominance = _pass("dominance", "finds the dominators of both CFGs", guarantees=("dominance",), breaks=(), analysis=True)
lower_phis = _pass("lower_phis", "phis of lane masks and scalars become linear phis", needs=("ssa", "dominance"), guarantees=("linear phis",))
value_numbering = _pass("value_numbering", "no value is computed twice", needs=("ssa", "dominance"), required=False)
optimize = _pass("optimize", "copies, constants and modifiers move into their users; pairs of instructions become one",
                 needs=("ssa", "dominance"), required=False)  # fmt: skip
setup_reduce_temp = _pass("setup_reduce_temp", "reductions and shuffles get linear VGPRs to compute in", needs=("ssa", "dominance"),
                          guarantees=("reduce temps",))  # fmt: skip
insert_exec_mask = _pass("insert_exec_mask", "the execution mask becomes explicit", needs=("ssa", "linear phis", "reduce temps"),
                         guarantees=("exec",), stages=("compute",))  # fmt: skip

rematerialize_constants = _pass("rematerialize_constants", "constants are made again in front of uses that are far from the one before",
                                options=(Option("far", 1000, "instructions that an SGPR is kept for a constant that nothing reads meanwhile"),),
                                needs=("ssa", "dominance", "exec"), required=False)  # fmt: skip

# Registers.
live_variables = _pass("live_variables", "finds live values and register demand", needs=("dominance",), guarantees=("liveness",), breaks=(),
                       analysis=True)  # fmt: skip
spill = _pass("spill", "where more is live than there are registers, some lives in memory", needs=("ssa", "exec", "liveness"),
              guarantees=("demand fits", "liveness"))  # fmt: skip
schedule_program = _pass("schedule_program", "instructions of a block in an order that hides latencies",
                         needs=("ssa", "exec", "liveness", "demand fits"), breaks=(), required=False)  # fmt: skip
register_allocation = _pass("register_allocation", "every value gets registers", needs=("ssa", "exec", "liveness", "demand fits"),
                            guarantees=("registers",), breaks=("liveness", "ssa"))  # fmt: skip

optimize_post_ra = _pass("optimize_post_ra", "lane moves, comparisons and tests that registers show to be unnecessary go",
                         needs=("registers",), required=False)  # fmt: skip

# Machine instructions.
ssa_elimination = _pass("ssa_elimination", "phis become copies; empty blocks and useless writes to exec go", needs=("registers",),
                        guarantees=("no phis",), breaks=("liveness", "ssa", "dominance"))  # fmt: skip
jump_threading = _pass("jump_threading", "empty blocks and useless writes to exec go: the end of ssa_elimination, alone",
                       needs=("registers", "no phis"), breaks=("dominance",), required=False)  # fmt: skip
lower_to_hw_instr = _pass("lower_to_hw_instr", "pseudo instructions become machine instructions", needs=("registers", "no phis"),
                          guarantees=("hardware",))  # fmt: skip
init_m0 = _pass("init_m0", "m0 = -1 where LDS is used, before GFX9", needs=("hardware",), guarantees=("lds bound",))
schedule_vopd = _pass("schedule_vopd", "pairs of vector instructions for dual issue", needs=("hardware",), since=110, required=False)
schedule_ilp = _pass("schedule_ilp", "machine instructions of a block in an order that hides latencies", needs=("hardware",), required=False)
insert_waitcnt = _pass(
    "insert_waitcnt", "waits for memory operations",
    options=(Option("force", False, "every instruction waits for all that is outstanding, to find waits that are missing"),),
    needs=("hardware",), guarantees=("waits",),
)  # fmt: skip
insert_nops = _pass(
    "insert_nops", "resolves hazards of the generation",
    options=(Option("previous_part", False, "another part of the shader runs before this one: a prolog, say"),
             Option("force", False, "every instruction waits for all dependency counters (GFX10 and later), to find waits that are missing")),
    needs=("hardware", "waits"), guarantees=("hazards",),
)  # fmt: skip
form_hard_clauses = _pass("form_hard_clauses", "neighbouring memory operations form clauses", needs=("hardware", "hazards"), since=100,
                          required=False)  # fmt: skip
# Behind everything that inserts instructions: it counts them.
insert_delay_alu = _pass("insert_delay_alu", "hints that let another wave run while a result is not ready", needs=("hardware", "hazards"),
                         since=110, required=False)  # fmt: skip
assemble = _pass(
    "assemble", "machine instructions become machine code",
    options=(Option("zero_unused", False, "zero in fields that do not count, so that a listing assembles to the same words"),),
    needs=("hardware", "hazards"), breaks=(),
)  # fmt: skip

#: All passes over ACO IR by name.
ACO_PASSES: dict[str, Pass] = {thing.name: thing for thing in list(globals().values()) if isinstance(thing, Pass) and thing.ir == "aco"}
