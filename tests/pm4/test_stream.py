"""Command streams: what packets say, and that hostile ones end in an error."""

from __future__ import annotations

import random

import pytest

from pyaco import pm4
from pyaco.emu import Device
from pyaco.errors import InputError
from pyaco.registers.database import LEVELS


def packet(name: str, *body: int, flags: int = 0) -> list[int]:
    return [3 << 30 | len(body) - 1 << 16 | pm4.OPCODES[name] << 8 | flags, *body]


def test_register_writes() -> None:
    words = packet("SET_SH_REG", 0x20C, 0x1234, 0x56, flags=2) + packet("SET_UCONFIG_REG", 0x242, 4)
    first, second = pm4.parse(words, 103)
    assert first.compute and not first.predicated
    assert list(first.register_writes()) == [(0xB830, 0x1234), (0xB834, 0x56)]
    assert [value.name for value in first.values] == ["COMPUTE_PGM_LO", "COMPUTE_PGM_HI"]
    assert second.values[0].name == "VGT_PRIMITIVE_TYPE"
    assert second.values[0].fields[0][:3] == ("PRIM_TYPE", 4, "DI_PT_TRILIST")


def test_packed_register_pairs() -> None:
    words = packet("SET_SH_REG_PAIRS_PACKED", 2, 0x20D << 16 | 0x20C, 7, 9, flags=4)
    (only,) = pm4.parse(words, 110)
    assert list(only.register_writes()) == [(0xB830, 7), (0xB834, 9)]
    assert only.reset_filter_cam


def test_fields_follow_the_generation() -> None:
    body = (1 << 31 | 5, 0xFFFFFFFF, 0xFF, 0, 0, 10)
    (old,) = pm4.parse(packet("ACQUIRE_MEM", *body), 90)
    assert old["CP_COHER_SIZE"] == 0xFFFFFFFF and old["POLL_INTERVAL"] == 10
    (new,) = pm4.parse(packet("ACQUIRE_MEM", *body, 0x1FF), 103)
    assert new["GCR_CNTL"] == 0x1FF
    (pixel_waits,) = pm4.parse(packet("ACQUIRE_MEM", 1 << 17, 0, 0, 0, 0, 1 << 31, 0), 110)
    assert pixel_waits["ACQUIRE_MEM_PWS_2"] == 1 << 17


def test_text_names_every_dword() -> None:
    text = pm4.format_packets(pm4.parse(packet("DISPATCH_DIRECT", 4, 5, 6, 0x8001, flags=2), 110))
    lines = text.splitlines()
    assert lines[0] == "c0031502 DISPATCH_DIRECT(shader_type=compute):"
    assert lines[1] == "00000004         COMPUTE_DIM_X <- 4"
    assert any("COMPUTE_SHADER_EN = 1" in line for line in lines)


def test_indirect_buffers_are_followed() -> None:
    inner = packet("NOP", 1)
    memory = {0x1000: inner}
    words = packet("INDIRECT_BUFFER", 0x1000, 0, len(inner)) + packet("NOP", 2)
    packets = pm4.parse(words, 103, lambda address, count: memory[address][:count] if address in memory else None)
    assert [p.name for p in packets] == ["INDIRECT_BUFFER", "NOP"]
    assert packets[0].nested is not None and packets[0].nested[0].body == (1,)
    chained = [*packet("INDIRECT_BUFFER", 0x1000, 0, len(inner) | 1 << 20), 0x40000000]
    assert len(pm4.parse(chained, 103, lambda address, count: memory[address])) == 1


def test_hostile_streams_are_refused() -> None:
    with pytest.raises(InputError, match=r"dword 0: .* 4 more dwords, the stream 1"):
        pm4.parse(packet("DISPATCH_DIRECT", 1, 2, 3, 4)[:2], 103)
    with pytest.raises(InputError, match=r"dword 2: .* type 1"):
        pm4.parse([*packet("NOP", 0), 0x40000000], 103)
    loop = packet("INDIRECT_BUFFER", 0x1000, 0, 4)
    with pytest.raises(InputError, match="calls itself"):
        pm4.parse(loop, 103, lambda address, count: loop)
    with pytest.raises(InputError, match="no memory holds"):
        pm4.parse(loop, 103, lambda address, count: None)
    with pytest.raises(InputError, match=r"deep|chain"):
        pm4.parse(loop, 103, lambda address, count: packet("INDIRECT_BUFFER", address + 16, 0, 4))
    with pytest.raises(InputError, match="chain"):
        pm4.parse(loop, 103, lambda address, count: packet("INDIRECT_BUFFER", address + 16, 0, 4 | 1 << 20))


@pytest.mark.parametrize("level", LEVELS)
def test_random_streams_end(level: int) -> None:
    """Every packet, whatever its body, is decoded or refused with a place; the text never fails."""
    rng = random.Random(level)
    opcodes = list(pm4.OPCODES.values())
    for _ in range(400):
        words: list[int] = []
        for _ in range(rng.randrange(1, 6)):
            count = rng.randrange(1, 12)
            words += [3 << 30 | count - 1 << 16 | rng.choice([*opcodes, rng.randrange(256)]) << 8 | rng.randrange(8)]
            words += [rng.getrandbits(32) if rng.random() < 0.5 else rng.randrange(64) for _ in range(count)]
        for _ in range(rng.randrange(3)):
            words[rng.randrange(len(words))] ^= 1 << rng.randrange(32)
        try:
            packets = pm4.parse(words, level)
        except InputError as error:
            assert "dword" in str(error)
            continue
        assert sum(1 + len(p.body) for p in packets) == len(words)
        assert pm4.format_packets(packets)


@pytest.mark.parametrize("word", [-1, 1 << 32, 1 << 70, 1 << 20000], ids=["negative", "33 bits", "71 bits", "20001 bits"])
def test_numbers_that_are_no_dwords(word: int) -> None:
    device = Device("gfx1100")
    for place, words in ((0, [word]), (1, [0xC0001000, word])):
        for run in (device.submit, pm4.SdmaEngine(device).submit, lambda words: pm4.parse(words, 110), lambda words: pm4.parse_sdma(words, 110)):
            with pytest.raises(InputError, match=f"dword {place}: -?0x[0-9a-f]+ is no dword"):
                run(words)
