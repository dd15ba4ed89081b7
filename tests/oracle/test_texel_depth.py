"""ASTC's blocks with depth beside Arm's astcenc: random blocks in every size of block."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pyaco.texels import decode

BLOCKS = ("3x3x3", "4x3x3", "4x4x3", "4x4x4", "5x4x4", "5x5x4", "5x5x5", "6x5x5", "6x6x5", "6x6x6")
COUNTS = (20, 10, 10)
KTX_HEADER = 64


@pytest.mark.oracle
@pytest.mark.parametrize("block", BLOCKS)
def test_blocks_with_depth(block: str, tmp_path: Path) -> None:
    """astcenc rounds float16 to eight bits, the error colour perhaps to 254."""
    astcenc = shutil.which("astcenc")
    if astcenc is None:
        pytest.skip("astcenc is not installed")
    sizes = tuple(map(int, block.split("x")))
    width, height, depth = (size * count for size, count in zip(sizes, COUNTS, strict=True))
    blocks = np.random.default_rng(0).integers(0, 256, (20 * 10 * 10, 16), np.uint8)
    blocks[:, 0] |= 1                                   # most block modes that are reserved have no bit here
    source, result = tmp_path / "blocks.astc", tmp_path / "texels.ktx"
    head = bytes([0x13, 0xAB, 0xA1, 0x5C, *sizes]) + b"".join(struct.pack("<I", size)[:3] for size in (width, height, depth))
    source.write_bytes(head + blocks.tobytes())
    subprocess.run([astcenc, "-dl", str(source), str(result)], check=True, capture_output=True)
    data = result.read_bytes()
    start = KTX_HEADER + struct.unpack_from("<I", data, KTX_HEADER - 4)[0] + 4
    theirs = np.frombuffer(data, np.uint8, width * height * depth * 4, start).reshape(depth, height, width, 4)
    halves = decode(blocks, f"ASTC_{block}", width, height, depth, astc_mode="float16").astype(np.float64)
    is_error = (halves == [1, 0, 1, 1]).all(axis=-1)
    assert 0.01 < 1 - is_error.mean() < 0.5
    assert (theirs[~is_error] == np.floor(halves[~is_error] * 255 + 0.5)).all()
    assert (theirs[is_error] >= [254, 0, 254, 254]).all() and (theirs[is_error][:, 1] == 0).all()
