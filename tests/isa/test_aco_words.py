"""Words of ACO's assembler, bit for bit, unused fields included.

Programs and words: ACO's assembler tests (``test_assembler.cpp`` of Mesa).
"""

from __future__ import annotations

import struct

import pytest

from pyaco._core.aco import assemble
from pyaco.aco.text import parse_program

HEAD = """After Instruction Selection:
ACO shader stage: SW (CS), HW (COMPUTE_SHADER)
BB0
/* logical preds: / linear preds: / kind: uniform, top-level, */
"""
CASES = [
    (
        "flat", 110, """
	v1: %1:v[42] = flat_load_dword %5:v[20-21],  s1: undef
	v1: %1:v[42] = global_load_dword %5:v[20-21],  s1: undef
	v1: %1:v[42] = global_load_dword %4:v[10], %3:s[64-65]
	v1: %1:v[42] = scratch_load_dword %4:v[10],  s1: undef
	v1: %1:v[42] = scratch_load_dword  v1: undef, %2:s[32]
	v1: %1:v[42] = scratch_load_dword %4:v[10], %2:s[32]
	v1: %1:v[42] = scratch_load_dword  v1: undef,  s1: undef
	v1: %1:v[42] = global_load_dword %5:v[20-21],  s1: undef offset:-42
	v1: %1:v[42] = global_load_dword %5:v[20-21],  s1: undef offset:84
	v1: %1:v[42] = flat_load_dword %5:v[20-21],  s1: undef slc
	v1: %1:v[42] = flat_load_dword %5:v[20-21],  s1: undef glc
	v1: %1:v[42] = flat_load_dword %5:v[20-21],  s1: undef dlc
	flat_store_dword %5:v[20-21],  s1: undef, %4:v[10]
	v1: %1:v[42] = global_atomic_add %5:v[20-21],  s1: undef, %4:v[10] glc
	s_endpgm
""",
        """
        dc500000 2a7c0014 dc520000 2a7c0014 dc520000 2a40000a dc510000 2afc000a dc510000 2a200080 dc510000 2aa0000a
        dc510000 2a7c0080 dc521fd6 2a7c0014 dc520054 2a7c0014 dc508000 2a7c0014 dc504000 2a7c0014 dc502000 2a7c0014
        dc680000 007c0a14 dcd64000 2a7c0a14 bfb00000
        """,
    ),
    (
        "flat", 120, """
	v1: %1:v[42] = flat_load_dword %5:v[20-21],  s1: undef
	v1: %1:v[42] = global_load_dword %5:v[20-21],  s1: undef
	v1: %1:v[42] = global_load_dword %4:v[10], %3:s[64-65]
	v1: %1:v[42] = scratch_load_dword %4:v[10],  s1: undef
	v1: %1:v[42] = scratch_load_dword  v1: undef, %2:s[32]
	v1: %1:v[42] = scratch_load_dword %4:v[10], %2:s[32]
	v1: %1:v[42] = scratch_load_dword  v1: undef,  s1: undef
	v1: %1:v[42] = global_load_dword %5:v[20-21],  s1: undef offset:-42
	v1: %1:v[42] = global_load_dword %5:v[20-21],  s1: undef offset:84
	v1: %1:v[42] = flat_load_dword %5:v[20-21],  s1: undef memory
	v1: %1:v[42] = flat_load_dword %5:v[20-21],  s1: undef device
	v1: %1:v[42] = flat_load_dword %5:v[20-21],  s1: undef non_temporal
	flat_store_dword %5:v[20-21],  s1: undef, %4:v[10]
	v1: %1:v[42] = global_atomic_add %5:v[20-21],  s1: undef, %4:v[10] atomic_return
	s_endpgm
""",
        """
        ec05007c 0000002a 00000014 ee05007c 0000002a 00000014 ee050040 0000002a 0000000a ed05007c 0002002a 0000000a
        ed050020 0000002a 00000000 ed050020 0002002a 0000000a ed05007c 0000002a 00000000 ee05007c 0000002a ffffd614
        ee05007c 0000002a 00005414 ec05007c 000c002a 00000014 ec05007c 0008002a 00000014 ec05007c 0010002a 00000014
        ec06807c 05000000 00000014 ee0d407c 0510002a 00000014 bfb00000
        """,
    ),
    (
        "ldsdir", 120, """
	v1: %1:v[42] = lds_direct_load %2:m0
	v1: %1:v[42] = lds_direct_load %2:m0 wait_vdst:6
	v1: %1:v[42] = lds_direct_load %2:m0 wait_vdst:0
	v1: %1:v[42] = lds_param_load %2:m0 attr56.x wait_vdst:8
	v1: %1:v[42] = lds_param_load %2:m0 attr56.x wait_vdst:0
	v1: %1:v[42] = lds_param_load %2:m0 attr34.y wait_vdst:8
	v1: %1:v[42] = lds_param_load %2:m0 attr12.z wait_vdst:8
	v1: %1:v[42] = lds_direct_load %2:m0 wait_vsrc:0
	s_endpgm
""",
        """
        ce9f002a ce96002a ce90002a ce88e02a ce80e02a ce88892a ce88322a ce1f002a bfb00000
        """,
    ),
    (
        "mimg", 120, """
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %6:v[20-21] 2d
	v1: %1:v[42] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d non_temporal
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d device
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d memory
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d tfe
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d lwe
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d r128
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d a16
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10] 1d d16
	v4: %2:v[84-87] = image_sample %4:s[64-71], %3:s[32-35],  v1: undef, %5:v[10], %8:v[40] 2d
	image_store %4:s[64-71],  s4: undef, %7:v[30-33], %5:v[10] 1d
	v1: %0:v[10] = image_atomic_add %4:s[64-71],  s4: undef, %5:v[10], %6:v[20-21] 2d
	v1: %0:v[10] = image_atomic_add %4:s[64-71],  s4: undef, %5:v[10], %6:v[20-21] 2d atomic_return
	v4: %2:v[84-87] = image_load %4:s[64-71],  s4: undef,  v1: undef, %6:v[20-21] 2d
	v4: %2:v[84-87] = image_msaa_load %4:s[64-71],  s4: undef,  v1: undef, %7:v[30-33] dmask:x 2darraymsaa
	s_endpgm
""",
        """
        e7c6c000 10008054 0000000a e7c6c001 10008054 00001514 e446c000 1000802a 0000000a e7c6c000 10108054 0000000a
        e7c6c000 10088054 0000000a e7c6c000 100c8054 0000000a e7c6c008 10008054 0000000a e7c6c000 10008154 0000000a
        e7c6c010 10008054 0000000a e7c6c040 10008054 0000000a e7c6c020 10008054 0000000a e7c6c001 10008054 0000280a
        d3c18000 0000801e 0000000a d3c30001 0000800a 00001514 d3c30001 0010800a 00001514 d3c00001 00008054 00001514
        e4460007 00008054 21201f1e bfb00000
        """,
    ),
    (
        "mtbuf", 120, """
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35],  v1: undef, %5:s[30] dfmt:32_32 nfmt:float
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35],  v1: undef, 0 dfmt:32_32 nfmt:float
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35], %3:v[10], %5:s[30] dfmt:32_32 nfmt:float offen
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35], %3:v[10], %5:s[30] dfmt:32_32 nfmt:float idxen
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35], %4:v[20-21], %5:s[30] dfmt:32_32 nfmt:float offen idxen
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35],  v1: undef, %5:s[30] dfmt:32_32 nfmt:float offset:84
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35],  v1: undef, 0 dfmt:32_32 nfmt:float device
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35],  v1: undef, 0 dfmt:32_32 nfmt:float non_temporal
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35],  v1: undef, 0 dfmt:32_32 nfmt:float memory
	v1: %1:v[42] = tbuffer_load_format_x %2:s[32-35],  v1: undef, 0 dfmt:32_32 nfmt:float tfe
	tbuffer_store_format_x %2:s[32-35],  v1: undef, %5:s[30], %3:v[10] dfmt:32_32 nfmt:float
	tbuffer_store_format_xy %2:s[32-35], %3:v[10], %5:s[30], %4:v[20-21] dfmt:32_32 nfmt:float offen
	s_endpgm
""",
        """
        c420001e 1900402a 00000080 c420007c 1900402a 00000080 c420001e 5900402a 0000000a c420001e 9900402a 0000000a
        c420001e d900402a 00000014 c420001e 1900402a 00005480 c420007c 1908402a 00000080 c420007c 1910402a 00000080
        c420007c 190c402a 00000080 c460007c 1900402a 00000080 c421001e 1900400a 00000080 c421401e 59004014 0000000a
        bfb00000
        """,
    ),
    (
        "s_memtime", 60, """
	s2: %1:s[0-1] = s_memtime
	s_endpgm
""",
        """
        c7800000 bf810000
        """,
    ),
    (
        "s_memtime", 100, """
	s2: %1:s[0-1] = s_memtime
	s_endpgm
""",
        """
        f4900000 fa000000 bf810000
        """,
    ),
    (
        "smem", 110, """
	s_dcache_inv
	s1: %1:s[4] = s_load_dword %3:s[16-17], 42
	s1: %1:s[4] = s_load_dword %3:s[16-17], %2:s[8]
	s1: %1:s[4] = s_load_dword %3:s[16-17], 42, %2:s[8]
	s1: %1:s[4] = s_buffer_load_dword %4:s[32-35], %2:s[8] glc
	s1: %1:s[4] = s_buffer_load_dword %4:s[32-35], %2:s[8] dlc
	s_endpgm
""",
        """
        f4840000 f8000000 f4000108 f800002a f4000108 10000000 f4000108 1000002a f4204110 10000000 f4202110 10000000
        bfb00000
        """,
    ),
    (
        "smem", 120, """
	s_dcache_inv
	s1: %1:s[4] = s_load_dword %3:s[16-17], 42
	s1: %1:s[4] = s_load_dword %3:s[16-17], %2:s[8]
	s1: %1:s[4] = s_load_dword %3:s[16-17], 42, %2:s[8]
	s1: %1:s[4] = s_buffer_load_dword %4:s[32-35], %2:s[8] device
	s1: %1:s[4] = s_buffer_load_dword %4:s[32-35], %2:s[8] non_temporal
	s_endpgm
""",
        """
        f4042000 f8000000 f4000108 f800002a f4000108 10000000 f4000108 1000002a f4420110 10000000 f4820110 10000000
        bfb00000
        """,
    ),
    (
        "v_add3", 90, """
	v1: %0:s[0] = v_add3_u32 0, 0, 0
	s_endpgm
""",
        """
        d1ff0000 02010080 bf810000
        """,
    ),
    (
        "vop3_dpp", 110, """
	v1: %1:v[0] = v_fma_f32 %3:v[1], %4:v[2], %5:s[1] clamp row_ror:1 bound_ctrl:1 fi
	v1: %1:v[0] = v_fma_mix_f32 |hi(%3:v[1])|, |%4:v[2]|, |lo(%5:s[1])| row_ror:1 bound_ctrl:1 fi
	v1: %1:v[0] = v_fma_f32 -%3:v[1], -%4:v[2], -%5:s[1] dpp8:[0,0,0,0,0,0,0,0] fi
	v1: %1:v[0] = v_fma_mix_f32 -lo(%3:v[1]), -lo(%4:v[2]), lo(%5:s[1]) dpp8:[0,0,0,0,0,0,0,0] fi
	v1: %1:v[0] = v_add_f32 %3:v[1], %4:v[2] clamp row_ror:1 bound_ctrl:1 fi
	v1: %1:v[0] = v_sqrt_f32 %3:v[1] clamp row_ror:1 bound_ctrl:1 fi
	s2: %2:s[4-5] = v_cmp_lt_f32 |%3:v[1]|, |%4:v[2]| row_ror:1 bound_ctrl:1 fi
	v1: %1:v[0] = v_add_f32 %3:v[1], %4:v[2] *4 dpp8:[0,0,0,0,0,0,0,0] fi
	v1: %1:v[0] = v_sqrt_f32 %3:v[1] clamp dpp8:[0,0,0,0,0,0,0,0] fi
	s2: %2:s[4-5] = v_cmp_lt_f32 |%3:v[1]|, %4:v[2] dpp8:[0,0,0,0,0,0,0,0] fi
	s_endpgm
""",
        """
        d6138000 000604fa ff0d2101 cc204f00 080604fa ffad2101 d6130000 e00604ea 00000001 cc204000 780604ea 00000001
        d5038000 000204fa ff0d2101 d5b38000 000000fa ff0d2101 d4110304 000204fa ffad2101 d5030000 100204ea 00000001
        d5b38000 000000ea 00000001 d4110104 000204ea 00000001 bfb00000
        """,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "level", "text", "words"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_words_are_those_of_aco(name: str, level: int, text: str, words: str) -> None:
    program = parse_program(HEAD + text, level, 64)
    assemble.run(program)
    expected = [int(word, 16) for word in words.split()]
    code = struct.unpack(f"<{len(program.code) // 4}I", program.code)
    assert [f"{word:08x}" for word in code[: len(expected)]] == [f"{word:08x}" for word in expected], name
    assert code[len(expected) :] == (0xBF9F0000,) * 5
