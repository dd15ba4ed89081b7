"""The way of a shader from the reader to instruction selection: one list of passes.

What instruction selection accepts at the end is written in ``docs/architecture.md``. The order follows RADV's NIR
pipeline (``radv_optimize_nir``, ``radv_postprocess_nir``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import (
    algebraic,
    constant_folding,
    convert_to_lcssa,
    copy_propagation,
    cse,
    dce,
    dead_control_flow,
    divergence,
    loop_unroll,
    lower_alu,
    lower_alu_to_scalar,
    lower_bit_size,
    lower_descriptors,
    lower_doubles,
    lower_explicit_io,
    lower_idiv,
    lower_int64,
    lower_subgroups,
    lower_system_values,
    lower_var_copies,
    opt_access,
    opt_hoist_arguments,
    opt_large_constants,
    opt_load_store_vectorize,
    peephole_select,
    vars_to_ssa,
)
from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.nir import arguments

__all__ = ["optimise", "run"]

#: Elements of a local array that is indexed at run time and still kept in registers, by selections.
INDIRECT_LIMIT = 16
#: Rounds of the optimisation loop; each makes the next one smaller, this only ends what would not end.
MAXIMUM_ROUNDS = 32

OnPass = Callable[[str, Shader, float], None]


class _Runner:
    """Runs passes one by one, timed, and reports each to a hook (which may validate, dump, or stop by raising)."""

    def __init__(self, shader: Shader, on_pass: OnPass | None) -> None:
        self.shader = shader
        self.on_pass = on_pass

    def __call__(self, name: str, kernel: Any, *arguments: Any, **facts: Any) -> bool:
        start = time.perf_counter()
        progress = bool(kernel.run(self.shader, *arguments, **facts))
        if self.on_pass is not None:
            self.on_pass(name, self.shader, time.perf_counter() - start)
        return progress


def _clean(do: _Runner) -> None:
    """Take away what a lowering leaves behind."""
    do("copy_propagation", copy_propagation)
    do("constant_folding", constant_folding)
    do("algebraic", algebraic)
    do("cse", cse)
    do("dce", dce)


def optimise(do: _Runner) -> None:
    """Run the optimisations of scalar NIR to a fixed point."""
    for _ in range(MAXIMUM_ROUNDS):
        progress = do("copy_propagation", copy_propagation)
        progress |= do("constant_folding", constant_folding)
        progress |= do("algebraic", algebraic)
        progress |= do("cse", cse)
        progress |= do("dce", dce)
        progress |= do("dead_control_flow", dead_control_flow)
        progress |= do("peephole_select", peephole_select)
        progress |= do("loop_unroll", loop_unroll)
        if not progress:
            return


@checked
def run(shader: Shader, options: Mapping[str, Any] | None = None, on_pass: OnPass | None = None) -> Shader:
    """Lower and optimise a shader in place, up to what instruction selection accepts.

    Parameters
    ----------
    shader : Shader
        As the SPIR-V reader, the text reader or a ``Builder`` makes it; ``gfx_level``, ``wave_size`` and
        ``address32_hi`` of its info must be set.
    options : mapping, optional
        ``indirect_limit``: elements of a local array that stays in registers although it is indexed at run time.
    on_pass : callable, optional
        Called after every pass with its name, the shader and the seconds it took.

    Returns
    -------
    Shader
        The same shader; ``shader.metadata["abi"]`` says how its arguments reach registers.

    Raises
    ------
    InputError
        The shader has been lowered already, or holds what no pass can read.
    """
    if shader.metadata.get("lowered"):
        raise InputError("the passes have run on this shader: it is lowered in place, and is read anew for another compilation")
    shader.metadata["lowered"] = True
    options = dict(options or {})
    do = _Runner(shader, on_pass)

    # Values: inputs, local variables, scalars.
    do("lower_system_values", lower_system_values, {"stage": "inputs"})
    do("lower_var_copies", lower_var_copies)
    do("vars_to_ssa", vars_to_ssa)
    do("lower_subgroups", lower_subgroups)
    do("lower_alu_to_scalar", lower_alu_to_scalar)
    optimise(do)
    # Tables become constant data; indices that unrolling made constant free more variables; small arrays become
    # selections.
    do("opt_large_constants", opt_large_constants)
    do("vars_to_ssa", vars_to_ssa, {"indirect_limit": options.get("indirect_limit", INDIRECT_LIMIT)})
    do("lower_alu_to_scalar", lower_alu_to_scalar)
    optimise(do)

    # Memory.
    do("lower_explicit_io", lower_explicit_io)
    do("opt_access", opt_access)
    do("lower_alu_to_scalar", lower_alu_to_scalar)
    _clean(do)
    do("declare_arguments", arguments)
    do("lcssa", convert_to_lcssa)
    do("divergence", divergence)
    do("lower_descriptors", lower_descriptors)
    do("lower_system_values", lower_system_values)
    do("lower_alu_to_scalar", lower_alu_to_scalar)
    _clean(do)
    do("opt_hoist_arguments", opt_hoist_arguments)
    optimise(do)
    do("opt_load_store_vectorize", opt_load_store_vectorize)

    # Arithmetic that the hardware has.
    do("lower_alu", lower_alu)
    do("lower_alu_to_scalar", lower_alu_to_scalar)
    do("lower_doubles", lower_doubles)
    do("lcssa", convert_to_lcssa)
    do("divergence", divergence)
    do("lower_bit_size", lower_bit_size)
    do("lower_idiv", lower_idiv)
    do("lower_int64", lower_int64)
    optimise(do)

    # The last shape.
    do("algebraic_late", algebraic, late=True)
    _clean(do)
    do("lcssa", convert_to_lcssa)
    do("divergence", divergence)
    return shader
