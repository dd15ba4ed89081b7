"""Properties of the two IRs by which passes say what they need, guarantee and break."""

from __future__ import annotations

__all__ = ["ACO_PROPERTIES", "NIR_PROPERTIES"]

#: Every property is stated for valid IR.
NIR_PROPERTIES = {
    "inputs": "system values are load_* intrinsics, not variables",
    "split copies": "no copy_deref; initial values of local variables are stores",
    "values": "local variables that are reached by constant indices are SSA values",
    "subgroups": "only the subgroup operations that instruction selection has",
    "scalar": "ALU operations, phis and the constants that ALU reads are scalar, but for the pairs that opt_vectorize makes",
    "explicit addresses": "no derefs of memory: accesses have addresses",
    "arguments": "shader.arguments and the ABI are declared",
    "lcssa": "loop-closed SSA: what a loop defines leaves it through phis",
    "divergence": "flags say which values and branches may differ between lanes",
    "descriptors": "buffer accesses take descriptors, push constants are loads",
    "hardware values": "system values are arguments and arithmetic on them",
    "hardware alu": "no operation on the left of nir/data/lower_alu.txt",
    "hardware doubles": "no operation of the options of lower_doubles, by default division and roots",
    "hardware sizes": "8- and 16-bit integers only where the hardware has them",
    "hardware division": "no 32-bit integer division",
    "hardware int64": "no operation of the options of lower_int64; by default sums, shifts, logic, comparison, selection and searches for bits stay",
}

ACO_PROPERTIES = {
    "ssa": "every temp has one definition, which dominates its uses",
    "dominance": "both dominator trees are current",
    "linear phis": "phis of lane masks and scalars are linear",
    "reduce temps": "reductions and shuffles have their linear VGPRs",
    "exec": "the execution mask is explicit",
    "liveness": "live-in sets, kill flags and register demand are current",
    "demand fits": "the register demand is within the limits",
    "registers": "operands and definitions have registers",
    "no phis": "copies have taken the place of phis",
    "hardware": "only instructions of the hardware, p_barrier and the address of constant data",
    "lds bound": "m0 is -1 where LDS instructions of GFX6 to GFX8 look at it",
    "waits": "every use of loaded data is preceded by a wait",
    "hazards": "hazards that the hardware does not resolve are resolved",
}
