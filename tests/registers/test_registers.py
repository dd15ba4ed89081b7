"""Registers by name, by offset, and as fields."""

from __future__ import annotations

from typing import Any

import pytest

from pyaco.errors import InputError
from pyaco.registers import registers
from pyaco.registers.database import LEVELS


@pytest.mark.parametrize("level", LEVELS)
def test_fields_survive_a_round_trip(level: Any) -> None:
    """AMD's headers give some bits two names; both readings hold."""
    for register in registers(level):
        taken = 0
        for field in register.fields:
            assert 0 <= field.low <= field.high < 32, register
            taken |= field.mask
        for word in (0, 0xFFFFFFFF, 0x5A5A5A5A):
            values = {field.name: field.get(word) for field in register.fields}
            assert register.encode(**values) == word & taken


@pytest.mark.parametrize("level", LEVELS)
def test_names_and_offsets_lead_to_each_other(level: Any) -> None:
    known = registers(level)
    assert len(known) > 300
    for register in known:
        assert known[register.name] is register
        assert known.at(register.offset) is not None


def test_facts() -> None:
    """From LLVM's user guide (COMPUTE_PGM_RSRC1) and the kernel's gfx headers."""
    known = registers(110)
    assert known["COMPUTE_PGM_LO"].offset == 0xB830
    assert known["COMPUTE_PGM_RSRC1"].encode(VGPRS=3, FLOAT_MODE=0xC0) == 0x000C0003
    assert registers(60)["VGT_NUM_INDICES"].offset == 0x8970
    assert registers(70)["VGT_NUM_INDICES"].offset == 0x30930
    assert registers(103)["VGT_PRIMITIVE_TYPE"].field("PRIM_TYPE").put("DI_PT_TRILIST") == 4


# From the kernel's asic_reg headers and from PAL's; tests/oracle/compare_registers.py compares all that they name.
@pytest.mark.parametrize(("level", "name", "offset"), [
    (94, "SQ_THREAD_TRACE_BASE", 0x30CC0), (90, "SQ_THREAD_TRACE_BASE", 0x30CC0), (94, "SPI_CONFIG_CNTL", 0x31100),
    (94, "COMPUTE_PGM_RSRC1", 0xB848), (103, "COMPUTE_PGM_RSRC3", 0xB8A0), (110, "COMPUTE_PGM_RSRC3", 0xB8A0),
    (103, "GE_CNTL", 0x3096C), (115, "SPI_SHADER_PGM_RSRC4_GS", 0xB204), (120, "COMPUTE_PGM_LO", 0xB830),
    (100, "CB_COLOR0_INFO", 0x28C70), (120, "COMPUTE_USER_DATA_0", 0xB900), (103, "CB_BLEND0_CONTROL", 0x28780),
])  # fmt: skip
def test_offsets(level: int, name: str, offset: int) -> None:
    assert registers(level)[name].offset == offset


@pytest.mark.parametrize(("level", "name", "field", "mask"), [
    (103, "COMPUTE_PGM_RSRC1", "WGP_MODE", 0x20000000), (120, "COMPUTE_PGM_RSRC1", "WGP_MODE", 0x20000000),
    (90, "COMPUTE_PGM_RSRC1", "FLOAT_MODE", 0xFF000), (110, "COMPUTE_PGM_RSRC2", "LDS_SIZE", 0xFF8000),
    (94, "COMPUTE_PGM_RSRC2", "TIDIG_COMP_CNT", 0x1800), (110, "COMPUTE_PGM_RSRC3", "INST_PREF_SIZE", 0x3F0),
])  # fmt: skip
def test_masks(level: int, name: str, field: str, mask: int) -> None:
    assert registers(level)[name].field(field).mask == mask


def test_bad_input_is_named() -> None:
    register = registers(103)["COMPUTE_PGM_RSRC1"]
    with pytest.raises(InputError, match="no field 'VGPR'"):
        register.encode(VGPR=1)
    with pytest.raises(InputError, match="6 bits: 64 does not fit"):
        register.encode(VGPRS=64)
    with pytest.raises(InputError, match="no register 'X'"):
        registers(103)["X"]
    with pytest.raises(InputError, match="no registers of level 5"):
        registers(50)
    with pytest.raises(InputError, match="no value of PRIM_TYPE"):
        registers(103)["VGT_PRIMITIVE_TYPE"].encode(PRIM_TYPE="DI_PT_NONSENSE")


@pytest.mark.parametrize("level", [level for level in LEVELS if level != 94])        # CDNA 3 has no registers of geometry
def test_events_have_names(level: Any) -> None:
    """In registers and in packets; the number of the end of the pipe is the same everywhere."""
    known = registers(level)
    words = [known["VGT_EVENT_INITIATOR"], known.dword(0x490)]        # RELEASE_MEM, where that has fields of its own
    found = [field.number("BOTTOM_OF_PIPE_TS") for word in words if word for field in word.fields if field.name == "EVENT_TYPE"]
    assert found == [0x28] * (1 if known.dword(0x490) is None else 2)
