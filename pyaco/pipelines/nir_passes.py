"""The passes over NIR. Each kernel's header says how it works and where the algorithm comes from."""

from __future__ import annotations

from typing import Any

from pyaco.passes import Option, Pass

__all__ = ["NIR_PASSES"]

# What new or moved values put in doubt.
FACTS = ("lcssa", "divergence")


def _pass(name: str, summary: str, *, module: str = "", breaks: tuple[str, ...] = FACTS, **facts: Any) -> Pass:
    return Pass(name, "nir", summary, module or f"pyaco._core.nir.{name}", breaks=breaks, **facts)


def _optimization(name: str, summary: str, **facts: Any) -> Pass:
    return _pass(name, summary, required=False, **facts)


# Values: inputs, local variables, scalars.
lower_system_values = _pass(
    "lower_system_values", "built-in inputs become load_* intrinsics, later arguments and arithmetic",
    options=(Option("stage", "arguments", "inputs: variables to load_* intrinsics; arguments: these to arguments, behind declare_arguments"),),
    guarantees=("inputs",), breaks=(*FACTS, "scalar"), stages=("compute",),
)  # fmt: skip
lower_var_copies = _pass("lower_var_copies", "copies of whole variables become loads and stores, initial values stores",
                         only_with=("copies",), guarantees=("split copies",))
vars_to_ssa = _pass(
    "vars_to_ssa", "local variables become SSA values", only_with=("local variables",),
    options=(Option("indirect_limit", 0, "elements of an array that stays in registers although it is indexed at run time"),),
    needs=("split copies",), guarantees=("values",), breaks=(*FACTS, "scalar"),
)  # fmt: skip
lower_subgroups = _pass("lower_subgroups", "subgroup operations in terms of those that instruction selection has",
                        only_with=("lanes",), guarantees=("subgroups",),
                        breaks=(*FACTS, "scalar"))  # fmt: skip
lower_cooperative_matrix = _pass(
    "lower_cooperative_matrix", "products of cooperative matrices become matrix instructions, or sums of products", only_with=("matrices",),
    breaks=(*FACTS, "scalar"),
)  # fmt: skip
lower_ycbcr = _pass(
    "lower_ycbcr", "samples of images with a YCbCr conversion become samples of their planes", only_with=("textures",), module="pyaco.nir.ycbcr",
    options=(Option("conversion", "", "without a pipeline layout: the conversion of all combined image samplers, words behind slashes"),),
    breaks=(*FACTS, "scalar"),
)  # fmt: skip
lower_tex = _pass("lower_tex", "texture instructions in terms of those that the hardware has", only_with=("textures",), breaks=(*FACTS, "scalar"))
lower_alu_to_scalar = _pass("lower_alu_to_scalar", "vector ALU operations, phis and constants become scalar",
                            only_with=("vectors",), indifferent_to=("dead code", "equal values", "moved"), guarantees=("scalar",))

# Optimisations of scalar NIR.
copy_propagation = _pass("copy_propagation", "users of a mov or vecN read its operands", effect="copies",
                         indifferent_to=("dead code", "moved", "constants"))  # fmt: skip
constant_folding = _pass("constant_folding", "operations on constants become constants", effect="constants",
                         indifferent_to=("dead code", "equal values", "moved"), settles=True)  # fmt: skip
algebraic = _pass("algebraic", "expressions become simpler ones by the rules of nir/data/algebraic.txt", needs=("scalar",),
                  options=(Option("late", False, "the rules of the group [late]"),), required=False)  # fmt: skip
cse = _optimization("cse", "an expression that was computed before is not computed again", effect="equal values", indifferent_to=("dead code",),
                    settles=True)  # fmt: skip
dce = _pass("dce", "instructions that nothing needs go", effect="dead code", settles=True)
sweep = _pass("sweep", "numbers that no instruction has any more go", required=False, breaks=())
dead_control_flow = _optimization("dead_control_flow", "branches that can never run, or decide nothing, go", only_with=("ifs", "loops"))
opt_if = _optimization("opt_if", "what an if decides is known in its lists", only_with=("ifs",))
opt_exclusive_ifs = _optimization("opt_exclusive_ifs", "ifs in else lists become ifs behind each other, where at most one is taken",
                                  only_with=("ifs",))  # fmt: skip
opt_loop = _optimization("opt_loop", "loops that are tested where they begin are tested where they end", only_with=("loops",))
opt_mqsad = _optimization("opt_mqsad", "sums of masked differences of bytes become one operation", only_with=("differences",),
                          needs=("scalar",))  # fmt: skip
opt_phi_to_bool = _optimization("opt_phi_to_bool", "phis of numbers that are true or false become phis of booleans", needs=("scalar",))
opt_demanded_bits = _optimization("opt_demanded_bits", "operations that change only bits that nobody asks for go", needs=("scalar",))
opt_undef = _optimization("opt_undef", "stores and choices of undefined values go", only_with=("undefined values", "phis"),
                          indifferent_to=("dead code", "moved", "constants"))  # fmt: skip
opt_licm = _optimization("opt_licm", "what is the same in every iteration is computed before the loop", only_with=("loops",))
opt_reassociate = _optimization("opt_reassociate", "chains of one operation are put together anew, where that takes less",
                                needs=("scalar", "divergence"), breaks=())  # fmt: skip
opt_sink = _optimization("opt_sink", "values are computed in the block that needs them, before their first use there")
opt_tid_function = _optimization("opt_tid_function", "shuffles by functions of the lane's number become moves without an index",
                                 only_with=("lanes",), needs=("scalar",))  # fmt: skip
opt_intrinsics = _optimization("opt_intrinsics", "subgroup operations whose results are put together become one", only_with=("lanes",),
                               options=(Option("shuffles", True, "of two shuffles, one by the index that is chosen"),),
                               breaks=(*FACTS, "scalar"))  # fmt: skip
opt_uniform_atomics = _optimization("opt_uniform_atomics", "atomics at one place for all lanes are done once a wave", only_with=("atomics",),
                                    needs=("explicit addresses", "divergence"), breaks=())  # fmt: skip
opt_uniform_subgroup = _optimization("opt_uniform_subgroup", "reads of other lanes, votes and reductions of uniform values are these values",
                                     only_with=("lanes",), needs=("divergence",), breaks=())  # fmt: skip
peephole_select = _optimization("peephole_select", "small ifs that only compute become selections", only_with=("ifs",),
                                options=(Option("limit", 8, "instructions on each side"),))  # fmt: skip
loop_unroll = _optimization("loop_unroll", "a loop of known, small trip count becomes its copies", only_with=("loops",))
opt_large_constants = _optimization("opt_large_constants", "local arrays of constants become constant data",
                                    options=(Option("threshold", 16, "bytes of a table that are not worth a load"),),
                                    only_with=("local variables",), needs=("values",))  # fmt: skip
opt_array_copies = _optimization("opt_array_copies", "local variables that are copies of other memory are read there",
                                 only_with=("local variables",), needs=("split copies",), breaks=(*FACTS, "scalar"))  # fmt: skip
copy_prop_vars = _optimization("copy_prop_vars", "loads of what was stored or loaded before, and stores of what is there, go",
                               needs=("split copies",), breaks=(*FACTS, "scalar"))  # fmt: skip
dead_write_vars = _optimization("dead_write_vars", "stores that are overwritten before anything reads them go", needs=("split copies",),
                                breaks=())  # fmt: skip

shrink_vars = _optimization("shrink_vars", "what nothing reads of local variables goes", only_with=("local variables",),
                            needs=("split copies",), breaks=(*FACTS, "scalar"))  # fmt: skip

# Memory.
lower_explicit_io = _pass("lower_explicit_io", "derefs become accesses with addresses", needs=("split copies", "values"),
                          guarantees=("explicit addresses",), breaks=(*FACTS, "scalar"))  # fmt: skip
opt_access = _optimization("opt_access", "loads that no store can change are marked as such", needs=("explicit addresses",), breaks=())
declare_arguments = _pass("declare_arguments", "the ABI: which arguments stand in which registers, where descriptors lie",
                          module="pyaco.nir.arguments", needs=("inputs", "explicit addresses"), guarantees=("arguments",), breaks=(),
                          stages=("compute",))  # fmt: skip
lower_descriptors = _pass("lower_descriptors", "resources and push constants become loads from memory",
                          needs=("arguments", "explicit addresses", "divergence"), guarantees=("descriptors",),
                          breaks=(*FACTS, "scalar"))  # fmt: skip
lower_image_queries = _pass("lower_image_queries", "sizes, levels and samples of images are read from their descriptors",
                            only_with=("images",), needs=("descriptors",),
                            breaks=(*FACTS, "scalar"))  # fmt: skip
opt_hoist_arguments = _optimization("opt_hoist_arguments", "loads of push constants and descriptors move to the start", effect="moved",
                                    needs=("descriptors",))  # fmt: skip
opt_shrink_vectors = _optimization("opt_shrink_vectors", "loads leave out the components at their ends that nothing reads",
                                   needs=("explicit addresses", "divergence"), breaks=())  # fmt: skip
opt_load_store_vectorize = _optimization("opt_load_store_vectorize", "neighbouring loads, and stores, become one access",
                                         needs=("descriptors", "divergence"), breaks=())  # fmt: skip

# Arithmetic that the hardware has.
lower_alu = _pass("lower_alu", "ALU operations without a hardware form, by the rules of nir/data/lower_alu.txt", needs=("scalar",),
                  guarantees=("hardware alu",), breaks=(*FACTS, "scalar"))  # fmt: skip
lower_doubles = _pass(
    "lower_doubles", "operations on doubles, by Mesa's options, up to all of them in software", only_with=("64 bits",),
    options=(Option("lower", "hardware", "hardware: what chips lack; lowered: all that is no sum, product or comparison; software: all; none; or "
                    "names of options (drcp, ddiv, ...) joined by +"),),
    needs=("scalar", "hardware alu"), guarantees=("hardware doubles",),
)  # fmt: skip
lower_bit_size = _pass("lower_bit_size", "8- and 16-bit integer operations are widened where the hardware has none", only_with=("small values",),
                       needs=("scalar", "divergence"), guarantees=("hardware sizes",))  # fmt: skip
fold_16bit_tex_image = _optimization("fold_16bit_tex_image", "conversions from and to 16 bits become part of texture and image instructions",
                                     only_with=("images",),
                                      needs=("scalar",), since=90)  # fmt: skip
lower_idiv = _pass("lower_idiv", "32-bit integer division, and division by constants",
                   only_with=("divisions",), needs=("scalar", "hardware sizes"),
                   guarantees=("hardware division",))  # fmt: skip
lower_int64 = _pass(
    "lower_int64", "64-bit integer operations in 32-bit halves, by Mesa's options", only_with=("64 bits",),
    options=(Option("lower", "hardware", "hardware: what chips lack; all; none; or names of options (imul64, iadd64, ...) joined by +"),),
    needs=("scalar", "hardware division"), guarantees=("hardware int64",),
)  # fmt: skip

opt_vectorize = _optimization("opt_vectorize", "pairs of 16-bit operations become operations on vectors of two",
                              only_with=("small values",), needs=("scalar", "divergence"),
                              breaks=(), since=90)  # fmt: skip

# The shape of loops, and facts.
lcssa = _pass("lcssa", "what a loop defines leaves it through phis",
              only_with=("loops",), module="pyaco._core.nir.convert_to_lcssa", guarantees=("lcssa",),
              breaks=("divergence",))  # fmt: skip
divergence = _pass("divergence", "finds which values and branches may differ between lanes", needs=("lcssa",), guarantees=("divergence",),
                   breaks=(), analysis=True)  # fmt: skip

#: All passes over NIR by name.
NIR_PASSES: dict[str, Pass] = {thing.name: thing for thing in list(globals().values()) if isinstance(thing, Pass)}
