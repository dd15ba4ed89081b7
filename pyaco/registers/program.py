"""What a compute shader needs of the hardware, as the fields of COMPUTE_PGM_RSRC1 to 3.

Sources: LLVM's "User Guide for AMDGPU Backend" (compute_pgm_rsrc1 to 3), the register headers of the Linux kernel's amdgpu driver; that up to
GFX9 SGPRs are counted in groups of 8, whatever the chip allocates, is Mesa's ``ac_shader_util.c`` and what RADV's registers show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyaco.arguments import checked
from pyaco.registers.database import registers
from pyaco.targets import features, lds_limits

if TYPE_CHECKING:
    from pyaco.abi import Abi

__all__ = ["program_registers"]

_SGPR_GRANULE = 8


@checked
def program_registers(abi: Abi, level: int) -> dict[str, dict[str, int]]:
    """Return the fields of COMPUTE_PGM_RSRC1, 2 and, from GFX10 on, 3.

    Parameters
    ----------
    abi : Abi
        Of a shader for which registers are allocated.
    level : int
        gfx level, such as 103.

    Returns
    -------
    dict of str to dict of str to int
        Values of fields by register, as ``Register.encode`` takes them.

    Raises
    ------
    InputError
        No such level in the database.
    """
    registers(level)
    mask = abi.workgroup_id_mask
    resources = {
        "COMPUTE_PGM_RSRC1": {"FLOAT_MODE": abi.float_mode & 0xFF, "VGPRS": _groups(min(abi.num_vgprs, 256), _vgpr_granule(abi, level))},
        "COMPUTE_PGM_RSRC2": {
            "SCRATCH_EN": int(bool(abi.scratch_bytes_per_lane if features.has_architected_flat_scratch(level) else abi.scratch_wave_offset)),
            "USER_SGPR": abi.user_sgpr_count,
            "TGID_X_EN": mask & 1, "TGID_Y_EN": mask >> 1 & 1, "TGID_Z_EN": mask >> 2 & 1,
            "TIDIG_COMP_CNT": max(abi.local_id_components - 1, 0), "LDS_SIZE": lds_limits(level).encode(abi.lds_bytes),
        },
    }
    first = resources["COMPUTE_PGM_RSRC1"]
    if features.has_dx10_clamp_mode(level):
        first["DX10_CLAMP"] = 1
    if not features.has_wave32(level):
        first["SGPRS"] = _groups(abi.num_sgprs, _SGPR_GRANULE)
        return resources
    # Code counts on results of loads in the order of the loads.
    first |= {"WGP_MODE": int(abi.wgp_mode), "MEM_ORDERED": 1}
    resources["COMPUTE_PGM_RSRC3"] = {"SHARED_VGPR_CNT": -(-abi.num_shared_vgprs // 8)}
    return resources


def _vgpr_granule(abi: Abi, level: int) -> int:
    """VGPRs that the register counts as one; more than 256 of them are what rounding to the granule of allocation adds."""
    return 8 if features.has_wave32(level) and abi.wave_size == 32 else 4


def _groups(count: int, granule: int) -> int:
    return max(-(-count // granule) - 1, 0)
