"""A kernel written by hand, assembled by us, loaded and run in three lines on every processor that the emulator has."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco.binary import assemble_code_object, link_code_object
from pyaco.emu import Device
from pyaco.isa.processors import processor, processors
from pyaco.targets import features

TARGETS = tuple(name for name in processors() if features.has_emulator(processor(name)[1]))
#: Up to GFX8 a lane's address is a sum of 64 bits: of v1 and a pointer.
FLAT = """
  v_mov_b32 v3, s{low}
  v_mov_b32 v4, s{high}
  {add} v3, vcc, v3, v1
  v_addc_u32 v4, vcc, 0, v4, vcc
  {access}
"""
#: GFX6 has no flat memory: a buffer begins at a pointer and lanes have offsets of 64 bits.
BUFFER = """
  s_mov_b64 s[12:13], s[{low}:{high}]
  s_mov_b32 s14, 0
  s_mov_b32 s15, 0xf000
  v_mov_b32 v3, v1
  v_mov_b32 v4, 0
  {access}
"""
SOURCE = """
  .text
  .globl triple
  .p2align 8
  .type triple,@function
triple:
  s_load_{four} s[4:7], s[0:1], 0x0
  s_load_{one} s8, s[0:1], {number}
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  {wait_scalar}
  {load}
  {wait_vector}
  v_mad_u32_u24 v2, v2, 3, s8
  {store}
  s_endpgm
.Lend:
  .size triple, .Lend-triple
  .rodata
  .p2align 6
  .amdhsa_kernel triple
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 20
    .amdhsa_next_free_vgpr 5
    .amdhsa_next_free_sgpr 16
    {more}
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version:
  - 1
  - 2
amdhsa.kernels:
  - .name: triple
    .symbol: triple.kd
    .kernarg_segment_size: 20
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: {wave}
    .sgpr_count: 16
    .vgpr_count: 5
    .max_flat_workgroup_size: 256
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .access: read_only
      - .offset: 8
        .size: 8
        .value_kind: global_buffer
      - .offset: 16
        .size: 4
        .value_kind: by_value
        .type_name: int
...
  .end_amdgpu_metadata
"""


def access(level: int, kind: str, pointer: int) -> str:
    """The lines that load v2 from or store it to a pointer in two SGPRs and the offset in v1."""
    registers = {"low": pointer, "high": pointer + 1}
    pair = "s[{low}:{high}]".format(**registers)
    if level >= 90:
        return f"global_{kind}_{'b32' if level >= 110 else 'dword'} {'v2, v1' if kind == 'load' else 'v1, v2'}, {pair}"
    if level < 70:
        return BUFFER.format(**registers, access=f"buffer_{kind}_dword v2, v[3:4], s[12:15], 0 addr64")
    add = "v_add_u32" if level >= 80 else "v_add_i32"
    return FLAT.format(**registers, add=add, access=f"flat_{kind}_dword {'v2, v[3:4]' if kind == 'load' else 'v[3:4], v2'}")


def source(target: str) -> str:
    level = processor(target)[1]
    sizes = {"four": "b128", "one": "b32"} if level >= 110 else {"four": "dwordx4", "one": "dword"}
    waits = ("s_wait_kmcnt 0", "s_wait_loadcnt 0") if level >= 120 else ("s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0) lgkmcnt(0)")
    more = ".amdhsa_accum_offset 8" if level in (92, 94, 95) else ""
    number = 0x10 if level >= 80 else 4                     # offsets counted dwords before GFX8
    return SOURCE.format(**sizes, number=number, wait_scalar=waits[0], wait_vector=waits[1], load=access(level, "load", 4),
                         store=access(level, "store", 6), more=more, wave=32 if level >= 100 else 64)  # fmt: skip


#: Levels whose counters, and whose banks of registers, no check follows.
GFX12_5 = (125, 126)


@pytest.mark.parametrize("check", ["", "memory,waits,races,barriers,uninitialized"], ids=["fast", "checked"])
@pytest.mark.parametrize("target", TARGETS)
def test_three_lines(target: str, check: str) -> None:
    relocatable = assemble_code_object(source(target), target)
    x = np.arange(1, 65, dtype=np.int32)
    for data in (relocatable, link_code_object(relocatable)):
        out = np.zeros(64, np.int32)
        device = Device(target, check=check if processor(target)[1] not in GFX12_5 else "memory,races,barriers")
        loaded = device.load(data)
        report = loaded["triple"]((1,), (64,), x, out, -5)
        assert np.array_equal(out, 3 * x - 5)
        assert report.workgroups == 1
