"""Each NOP and each wait for dependencies of compiled shaders, removed: the check finds it, or nothing that ran needed it."""

from __future__ import annotations

from collections import Counter

import pytest
from cases import CASES
from mutate_hazards import mutate

#: Cases by target, with how many of their mutants are caught at least.
RUNS = {
    "gfx803": (("transpose", "subgroup_reductions", "atomics"), 20), "gfx900": (("transpose", "subgroup_reductions", "atomics"), 20),
    "gfx1010": (("layer_norm", "radix_sort"), 20), "gfx1100": (("ray_march", "perlin_noise", "divergent_switch"), 18),
    "gfx1150": (("layer_norm", "perlin_noise"), 10),
}  # fmt: skip


@pytest.mark.parametrize("target", RUNS)
def test_nothing_that_is_removed_escapes(target: str) -> None:
    names, least = RUNS[target]
    results = [(name, mutant.offset, result, reason) for name in names for mutant, result, reason in mutate(CASES[name], target)]
    assert not [row for row in results if row[2] == "escaped"]
    totals = Counter(result for _, _, result, _ in results)
    print(target, dict(totals))
    assert totals["caught"] >= least
    if target in ("gfx803", "gfx900"):
        assert totals["caught"] == len(results)
