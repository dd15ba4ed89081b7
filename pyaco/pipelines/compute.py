"""Compute shaders: every pass from the reader to machine code, in order.

``docs/nir.md`` and ``docs/backend.md`` say why each pass is there, and what instruction selection accepts. The order of the NIR passes follows
RADV's pipeline (``radv_optimize_nir``, ``radv_postprocess_nir``), that of the passes over ACO IR is ACO's.
"""

from __future__ import annotations

from pyaco.passes import Pipeline, part, repeat
from pyaco.pipelines.aco_passes import (
    assemble,
    dominance,
    form_hard_clauses,
    init_m0,
    insert_delay_alu,
    insert_exec_mask,
    insert_nops,
    insert_waitcnt,
    instruction_selection,
    live_variables,
    lower_phis,
    lower_to_hw_instr,
    optimize,
    optimize_post_ra,
    register_allocation,
    rematerialize_constants,
    schedule_ilp,
    schedule_program,
    schedule_vopd,
    setup_reduce_temp,
    spill,
    ssa_elimination,
    value_numbering,
)
from pyaco.pipelines.nir_passes import (
    algebraic,
    constant_folding,
    copy_prop_vars,
    copy_propagation,
    cse,
    dce,
    dead_control_flow,
    dead_write_vars,
    declare_arguments,
    divergence,
    fold_16bit_tex_image,
    lcssa,
    loop_unroll,
    lower_alu,
    lower_alu_to_scalar,
    lower_bit_size,
    lower_cooperative_matrix,
    lower_descriptors,
    lower_doubles,
    lower_explicit_io,
    lower_idiv,
    lower_image_queries,
    lower_int64,
    lower_subgroups,
    lower_system_values,
    lower_tex,
    lower_var_copies,
    lower_ycbcr,
    opt_access,
    opt_array_copies,
    opt_demanded_bits,
    opt_exclusive_ifs,
    opt_hoist_arguments,
    opt_if,
    opt_intrinsics,
    opt_large_constants,
    opt_licm,
    opt_load_store_vectorize,
    opt_loop,
    opt_mqsad,
    opt_reassociate,
    opt_shrink_vectors,
    opt_sink,
    opt_tid_function,
    opt_undef,
    opt_uniform_atomics,
    opt_uniform_subgroup,
    opt_vectorize,
    peephole_select,
    shrink_vars,
    sweep,
    vars_to_ssa,
)

__all__ = ["ACO", "ASSEMBLER", "BACKEND", "NIR", "SELECTION", "STAGE"]

STAGE = "compute"

# What a lowering leaves behind is taken away.
CLEAN = part("clean", copy_propagation, constant_folding, algebraic, cse, dce)

# Scalar NIR, to a fixed point.
OPTIMIZE = repeat(
    "optimize",
    copy_propagation, opt_undef, constant_folding, algebraic, cse, dce, sweep, dead_control_flow, opt_if, opt_loop, peephole_select,
    loop_unroll,
)  # fmt: skip

NIR = Pipeline("nir", STAGE, (
    part(
        "values",
        lower_system_values(stage="inputs"),
        lower_var_copies,
        opt_exclusive_ifs,
        vars_to_ssa,
        # Calls are inlined: of a function that constants steer, most is never run. Nothing else should walk over that.
        copy_propagation,
        constant_folding,
        dead_control_flow,
        dce,
        sweep,
        # Tables that no loop is unrolled for: where they are filled in a loop, they would be filled by each of its copies.
        opt_large_constants(threshold=1023),
        lower_ycbcr,
        lower_tex,
        lower_cooperative_matrix,
        opt_intrinsics(shuffles=False),
        lower_subgroups,
        lower_alu_to_scalar,
        OPTIMIZE,
        opt_array_copies,
        copy_prop_vars,
        dead_write_vars,
        shrink_vars,
    ),
    # Tables become constant data; indices that unrolling made constant free more variables; small arrays become selections.
    part(
        "arrays",
        opt_large_constants,
        vars_to_ssa(indirect_limit=16),
        lower_alu_to_scalar,
        OPTIMIZE,
        copy_prop_vars,
        dead_write_vars,
    ),
    part(
        "memory",
        lower_explicit_io,
        opt_access,
        lower_alu_to_scalar,
        CLEAN,
        declare_arguments,
        opt_tid_function,
        opt_intrinsics,
        lcssa,
        divergence,
        opt_uniform_subgroup,
        opt_uniform_atomics,
        lower_descriptors,
        lower_image_queries,
        lower_system_values,
        lower_alu_to_scalar,
        CLEAN,
        opt_hoist_arguments,
        OPTIMIZE,
    ),
    part(
        "arithmetic",
        lower_alu,
        lower_alu_to_scalar,
        lower_doubles(lower="hardware"),
        lcssa,
        divergence,
        opt_uniform_subgroup,
        opt_shrink_vectors,
        opt_load_store_vectorize,
        opt_reassociate,
        lower_bit_size,
        fold_16bit_tex_image,
        lower_idiv,
        lower_int64(lower="hardware"),
        # GFX6 cannot round the doubles that conversions of 64-bit integers are made with.
        lower_doubles(lower="hardware"),
        opt_demanded_bits,
        OPTIMIZE,
    ),
    part(
        "last_shape",
        opt_licm,
        algebraic(late=True).named("algebraic_late"),
        opt_mqsad,
        CLEAN,
        opt_sink,
        lcssa,
        divergence,
        opt_vectorize,
    ),
))  # fmt: skip

# It makes an ACO program of the shader.
SELECTION = instruction_selection

ACO = Pipeline("aco", STAGE, (
    dominance,
    lower_phis,
    value_numbering,
    optimize,
    setup_reduce_temp,
    insert_exec_mask,
    rematerialize_constants,
    live_variables,
    spill,
    schedule_program,
    register_allocation,
    optimize_post_ra,
    ssa_elimination,
    lower_to_hw_instr,
    init_m0,
    schedule_vopd,
    schedule_ilp,
    insert_waitcnt(force=False),
    insert_nops(force=False),
    form_hard_clauses,
    insert_delay_alu,
), given=("ssa",))  # fmt: skip

ASSEMBLER = Pipeline("aco", STAGE, (assemble(zero_unused=True),), given=("hardware", "waits", "hazards"))

# One behind the other, as a compilation runs them.
BACKEND = ACO.followed_by(ASSEMBLER)
