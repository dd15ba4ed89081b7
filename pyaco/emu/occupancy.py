"""How many waves of a kernel run at once: of a compiled shader, a kernel of a code object, or a kernel that Triton has compiled."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.isa.processors import processor
from pyaco.targets import features
from pyaco.targets.chips import Chip, chips
from pyaco.targets.limits import wave_limits
from pyaco.targets.occupancy import Occupancy, occupancy_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyaco.abi import Abi
    from pyaco.binary import CodeObject, Kernel

__all__ = ["kernel_occupancy", "shader_occupancy"]


def chip_of(target: str) -> Chip:
    """Return what limits are known of a target that code can be assembled for; of several chips with one gfx name, of the first."""
    name, level = processor(target)
    return next((known for known in chips() if known.target == name), None) or Chip(name, name, level, "GCN", ())


@checked
def kernel_occupancy(
    code: CodeObject | bytes, kernel: str | Kernel | None = None, workgroup: Sequence[int] | int = 256, *, dynamic_lds: int = 0
) -> Occupancy:
    """Return how many waves of a kernel run at once, from its descriptor.

    Parameters
    ----------
    code : CodeObject or bytes
        An AMDGPU ELF file; of a Triton kernel ``compiled.asm["hsaco"]``.
    kernel : str or Kernel, optional
        Which; the only one may be left out.
    workgroup : int or sequence of int
        Work-items of a workgroup; of a Triton kernel ``num_warps`` times the lanes of a wave.
    dynamic_lds : int
        Bytes of LDS beyond the kernel's own.

    Raises
    ------
    InputError
        No code object, or no such kernel.
    """
    from pyaco.binary import CodeObject, Kernel, read_code_object

    found = code if isinstance(code, CodeObject) else read_code_object(code)
    if isinstance(kernel, Kernel):
        chosen = kernel
    elif kernel is None and len(found.kernels) == 1:
        chosen = next(iter(found.kernels.values()))
    elif kernel in found.kernels:
        chosen = found.kernels[kernel]
    else:
        raise InputError(f"{'which kernel' if kernel is None else f'no kernel {kernel!r}'}: there are {', '.join(found.kernels) or 'none'}")
    size = workgroup if isinstance(workgroup, int) else prod(workgroup)
    return descriptor_occupancy(chosen, found.target, size, chosen.descriptor.group_segment_fixed_size + dynamic_lds)


def descriptor_occupancy(kernel: Kernel, target: str, size: int, lds_bytes: int) -> Occupancy:
    """Return the same for a workgroup of `size` work-items with so much LDS in all."""
    descriptor = kernel.descriptor
    wave, of = descriptor.wave_size, chip_of(target)
    level = of.level
    sgprs = 0
    if level < 100:
        # The descriptor counts blocks of 8 and has VCC and the like in them, which may be more than a program can name.
        sgprs = min(8 * ((descriptor.rsrc1 >> 6 & 15) + 1), wave_limits(of, wave).sgpr_limit)
    return occupancy_limits(
        of, wave=wave, vgprs=descriptor.directives(target)["next_free_vgpr"], sgprs=sgprs, lds_bytes=lds_bytes, workgroup_size=size,
        wgp_mode=features.has_wgp_mode(level) and bool(descriptor.rsrc1 >> 29 & 1),
    )  # fmt: skip


@checked
def shader_occupancy(abi: Abi, target: str) -> Occupancy:
    """Return how many waves of a compiled compute shader run at once.

    Parameters
    ----------
    abi : Abi
        Of the shader (``shader.abi``), after register allocation.
    target : str
        What it was compiled for.
    """
    of = chip_of(target)
    # VCC and, on GFX9, what follows it are allocated beside the registers that the compiler counts.
    limit = wave_limits(of, abi.wave_size).sgpr_limit
    sgprs = min(abi.num_sgprs + 6, limit) if of.level < 100 and abi.num_sgprs else 0
    # What both halves of a wave share takes half the place.
    vgprs = abi.num_vgprs + abi.num_shared_vgprs // 2
    return occupancy_limits(of, wave=abi.wave_size, vgprs=vgprs, sgprs=sgprs, lds_bytes=abi.lds_bytes,
                            workgroup_size=max(prod(abi.workgroup_size), 1), wgp_mode=abi.wgp_mode)  # fmt: skip
