"""ELF code objects, read back by LLVM."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import pyaco
from pyaco.binary import write_elf
from pyaco.binary.machines import MACHINES

READELF = shutil.which("llvm-readelf-22")
OBJDUMP = shutil.which("llvm-objdump-22")
#: Processors that LLVM 22 does not know.
NEWER = {"gfx1154", "gfx1170", "gfx1171", "gfx1172", "gfx1310"}


def shader(target: str) -> SimpleNamespace:
    abi = {"user_sgprs": [], "workgroup_id_mask": 1, "scratch_wave_offset": False, "local_id_components": 1, "wave_size": 64,
           "num_sgprs": 8, "num_vgprs": 12, "lds_bytes": 1024, "scratch_bytes_per_lane": 0, "user_sgpr_count": 3,
           "workgroup_size": [64, 1, 1], "float_mode": 0xC0}
    # s_endpgm of GFX9 and later
    code = (0xBFB00000 if target >= "gfx11" and len(target) == 7 else 0xBF810000).to_bytes(4, "little")
    return SimpleNamespace(target=target, wave=64, code=code, constant_data=b"\1\2\3\4", abi=abi)


@pytest.mark.oracle
@pytest.mark.skipif(READELF is None, reason="llvm-readelf-22 is not installed")
@pytest.mark.parametrize("target", sorted(MACHINES.keys() - NEWER))
def test_llvm_reads_the_header_and_the_metadata(target: str, tmp_path: Path) -> None:
    path = tmp_path / "shader.elf"
    path.write_bytes(write_elf(shader(target)))
    assert READELF is not None
    text = subprocess.run([READELF, "-h", "-n", "-s", "-S", path], capture_output=True, text=True, check=True).stdout
    assert target in text
    assert "AMDGPU - PAL" in text
    assert ".vgpr_count:     12" in text or (".vgpr_count: " in text and "12" in text)
    assert "_amdgpu_cs_main" in text


@pytest.mark.oracle
@pytest.mark.skipif(OBJDUMP is None, reason="llvm-objdump-22 is not installed")
def test_llvm_disassembles_the_code(tmp_path: Path) -> None:
    path = tmp_path / "shader.elf"
    path.write_bytes(write_elf(shader("gfx1100")))
    assert OBJDUMP is not None
    text = subprocess.run([OBJDUMP, "-d", path], capture_output=True, text=True, check=True).stdout
    assert "s_endpgm" in text


def test_a_shader_without_code_is_refused() -> None:
    stopped = shader("gfx1100")
    stopped.code = b""
    with pytest.raises(pyaco.InputError, match="no code"):
        write_elf(stopped)
