"""Packets by the names of their fields: what is built reads back, on every level; and every packet that RADV writes has names."""

from __future__ import annotations

import random

import pytest

from pyaco import pm4
from pyaco.errors import InputError
from pyaco.pm4.layouts import REGISTER_SPACES, layouts
from pyaco.registers.database import LEVELS

#: Packets that Mesa's RADV of 2024 writes: the PKT3_* of src/amd/vulkan and src/amd/common.
NAMES = """
ACQUIRE_MEM ATOMIC_MEM CLEAR_STATE COND_EXEC CONTEXT_CONTROL CONTEXT_REG_RMW COPY_DATA CP_DMA DISPATCH_DIRECT DISPATCH_DIRECT_INTERLEAVED
DISPATCH_INDIRECT DISPATCH_INDIRECT_INTERLEAVED DISPATCH_MESH_DIRECT DISPATCH_MESH_INDIRECT_MULTI DISPATCH_TASKMESH_DIRECT_ACE
DISPATCH_TASKMESH_GFX DISPATCH_TASKMESH_INDIRECT_MULTI_ACE DISPATCH_TASK_STATE_INIT DMA_DATA DRAW_INDEX_2 DRAW_INDEX_AUTO DRAW_INDEX_IMMD
DRAW_INDEX_INDIRECT DRAW_INDEX_INDIRECT_MULTI DRAW_INDEX_MULTI_AUTO DRAW_INDEX_OFFSET_2 DRAW_INDIRECT DRAW_INDIRECT_MULTI EVENT_WRITE
EVENT_WRITE_EOP EVENT_WRITE_EOS EVENT_WRITE_ZPASS INDEX_BASE INDEX_BUFFER_SIZE INDEX_TYPE INDIRECT_BUFFER LOAD_CONTEXT_REG
LOAD_CONTEXT_REG_INDEX LOAD_SH_REG LOAD_SH_REG_INDEX LOAD_UCONFIG_REG NOP NUM_INSTANCES PFP_SYNC_ME PRIME_UTCL2 RELEASE_MEM REWIND SET_BASE
SET_CONFIG_REG SET_CONTEXT_REG SET_CONTEXT_REG_PAIRS SET_CONTEXT_REG_PAIRS_PACKED SET_PREDICATION SET_SH_REG SET_SH_REG_INDEX
SET_SH_REG_PAIRS SET_SH_REG_PAIRS_PACKED SET_SH_REG_PAIRS_PACKED_N SET_UCONFIG_REG SET_UCONFIG_REG_INDEX SET_UCONFIG_REG_PAIRS
STRMOUT_BUFFER_UPDATE SURFACE_SYNC WAIT_REG_MEM WRITE_DATA
"""
RADV = NAMES.split()


@pytest.mark.parametrize("level", LEVELS)
def test_every_packet_has_named_fields(level: int) -> None:
    for name in (*RADV, *pm4.OPCODES):
        assert name in pm4.OPCODES
        assert name in REGISTER_SPACES or layouts(name, level), name


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_built_reads_back(level: int) -> None:
    """Random bodies are decoded, built again from the names and numbers alone, and say the same."""
    rng = random.Random(level)
    built = 0
    for name in pm4.OPCODES:
        for _ in range(8):
            size = rng.randrange(1, 12)
            body = [rng.getrandbits(32) if rng.random() < 0.6 else rng.randrange(4) for _ in range(size)]
            (packet,) = pm4.parse(pm4.packet(name, *body), level)
            said = pm4.named_values(packet)
            if not said or name in REGISTER_SPACES:
                continue
            (again,) = pm4.parse(pm4.named_packet(name, level, **said), level)
            assert {key: value for key, value in pm4.named_values(again).items() if key in said} == said, name
            built += 1
    assert built > 300


def test_named_packets() -> None:
    assert pm4.named_packet("DISPATCH_DIRECT", 103, compute=True, COMPUTE_DIM_X=4, COMPUTE_DIM_Y=1, COMPUTE_DIM_Z=1, COMPUTE_SHADER_EN=1) == (
        pm4.packet("DISPATCH_DIRECT", 4, 1, 1, 1, compute=True))
    words = pm4.named_packet("WRITE_DATA", 110, DST_SEL="MEM", ENGINE_SEL="PFP", DST_ADDR=0x123456789A, data=[1, 2])
    assert words == pm4.packet("WRITE_DATA", 5 << 8 | 1 << 30, 0x3456789A, 0x12, 1, 2)
    assert pm4.named_packet("WAIT_REG_MEM", 90, FUNCTION="EQUAL", MEM_SPACE="MEMORY", ADDRESS_LO=16, REF=1, MASK=255)[1] == 0x13
    assert pm4.named_packet("LOAD_SH_REG_INDEX", 103, REG_OFFSET="COMPUTE_USER_DATA_4", NUM_DWORDS=3)[3:] == [0x244, 3]
    # the form of a packet is the one that has the fields
    assert len(pm4.named_packet("DISPATCH_INDIRECT", 103, ADDR=0x1000)) == 4
    assert len(pm4.named_packet("DISPATCH_INDIRECT", 103, DATA_OFFSET=4)) == 3
    assert pm4.named_packet("ACQUIRE_MEM", 110, PWS_ENA=1, PWS_COUNT=1)[6] >> 31 == 1
    assert len(pm4.named_packet("COND_EXEC", 60, ADDR=0x1000, SIZE=8)) == 4 and len(pm4.named_packet("COND_EXEC", 103, ADDR=0x1000, SIZE=8)) == 5


def test_named_packets_are_checked() -> None:
    with pytest.raises(InputError, match="has no form with the fields NONSENSE"):
        pm4.named_packet("DISPATCH_DIRECT", 103, NONSENSE=1)
    with pytest.raises(InputError, match="FUNCTION has 3 bits: 8 does not fit"):
        pm4.named_packet("WAIT_REG_MEM", 103, FUNCTION=8)
    with pytest.raises(InputError, match="is no value of FUNCTION"):
        pm4.named_packet("WAIT_REG_MEM", 103, FUNCTION="SOMETIMES")
    with pytest.raises(InputError, match="SIZE is a multiple of 4"):
        pm4.named_packet("COND_EXEC", 103, SIZE=6)
    with pytest.raises(InputError, match="is no packet whose fields"):
        pm4.named_packet("SET_SH_REG", 103, COMPUTE_PGM_LO=1)


def test_packets_of_other_types() -> None:
    words = pm4.register_packet(0x2C0E << 2, 1, 2) + pm4.PAD
    first, second = pm4.parse(words, 90)
    assert (first.type, second.type) == (0, 2)
    assert list(first.register_writes()) == [(0xB038, 1), (0xB03C, 2)]
    with pytest.raises(InputError, match="no register"):
        pm4.register_packet(0x40000, 1)
