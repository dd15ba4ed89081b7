"""The replay of recorded addrlib calls tells right answers from wrong ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pyaco.addrlib import gpu_config
from pyaco.addrlib.v2.address import slice_pipe_bank_xors

SCRIPT = Path(__file__).parent / "replay_addrlib.py"


def test_wrong_rows_are_found(tmp_path: Path) -> None:
    config = gpu_config("navi21")
    (tmp_path / "configs.json").write_text(json.dumps({"configs": [{"name": "vega10"}, {"name": "navi21"}]}))
    count = 20
    asked = {"swizzleMode": np.full(count, 27), "resourceType": np.ones(count, int), "bpe": np.full(count, 32),
             "basePipeBankXor": np.arange(count), "slice": np.arange(count) + 1, "numSamples": np.ones(count, int)}
    status, found = slice_pipe_bank_xors(
        config, count, swizzle_mode=27, resource_type=1, bpe=32, base_pipe_bank_xor=np.arange(count), slice=np.arange(count) + 1, num_samples=1)
    recorded = found.copy()
    recorded[7] ^= 1
    table: dict[str, Any] = {"id": np.arange(count), "config": np.ones(count, int), "ret": status, "o_pipeBankXor": recorded}
    table |= {f"i_{name}": values for name, values in asked.items()}
    np.savez(tmp_path / "v2_slice_pipebankxor.npz", **table)
    np.savez(tmp_path / "v2_unheard_of.npz", id=np.arange(3))
    output = subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], check=True, capture_output=True, text=True).stdout
    counts = json.loads(output)
    table = counts["v2_slice_pipebankxor"]
    assert (table["tried"], table["agreed"], table["skipped"]) == (count, count - 1, 0)
    assert table["first_disagreements"][0]["ours and theirs"] == {"o_pipeBankXor": [int(found[7]), int(recorded[7])]}
    assert counts["v2_unheard_of"]["skipped"] == 3
