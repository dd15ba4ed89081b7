"""Words with bits that mean nothing: instructions with a remark, of the same meaning to decoder, text and emulator."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco import isa
from pyaco.emu import Device

#: What LLVM 23 and Mesa 25 write: 0x80 in fields of sources that the opcode does not have.
STRAY = [
    ("gfx1100", "e0500000 1e082a80", "e0500000 1e082a00", "buffer_load_b32 v42, off, s[32:35], s30"),
    ("gfx1100", "d5810001 02010102", "d5810001 00000102", "v_mov_b32_e64 v1, v2"),
    ("gfx1100", "d8d80000 05808001", "d8d80000 05000001", "ds_load_b32 v5, v1"),
    ("gfx1100", "d8340000 00800201", "d8340000 00000201", "ds_store_b32 v1, v2"),
    ("gfx1030", "d5810001 02010102", "d5810001 00000102", "v_mov_b32_e64 v1, v2"),
    ("gfx900", "e0500000 1e082a80", "e0500000 1e082a00", "buffer_load_dword v42, off, s[32:35], s30"),
]


def bytes_of(words: str) -> bytes:
    return np.array([int(word, 16) for word in words.split()], "<u4").tobytes()


@pytest.mark.parametrize(("target", "words", "plain", "text"), STRAY)
def test_words_read_as_the_instruction(target: str, words: str, plain: str, text: str) -> None:
    stray = bytes_of(words)
    assert isa.disassemble(bytes_of(plain), target) == f"\t{text}\n"
    assert isa.disassemble(stray, target) == f"\t{text}  ; words {', '.join(f'0x{word}' for word in words.split())}\n"
    assert isa.disassemble_lines(stray, target)[0].size == 8
    # the remark is a comment: text gives the words without these bits, and the same words if that is asked for
    assert isa.assemble(isa.disassemble(stray, target), target) == bytes_of(plain)
    exact = isa.disassemble(stray, target, exact=True)
    assert exact.startswith("\t.long ") and text in exact and isa.assemble(exact, target) == stray
    records = isa.decode(stray, target), isa.decode(bytes_of(plain), target)
    assert records[0].tobytes() == records[1].tobytes()
    assert isa.assemble(isa.instructions(stray, target), target) == bytes_of(plain)


def test_a_listing_may_have_many() -> None:
    """Enough of them that lines are printed from templates, which remarks have no part in."""
    target, words, plain, text = STRAY[0]
    lines = isa.disassemble((bytes_of(words) + bytes_of(plain)) * 6000, target).splitlines()
    assert lines[::2] == [f"\t{text}  ; words 0xe0500000, 0x1e082a80"] * 6000 and lines[1::2] == [f"\t{text}"] * 6000


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_the_emulator_executes_them(target: str, engine: str) -> None:
    """A move with 0x80 in the fields of its second and third source, and moves of halves."""
    device = Device(target, engine)
    buffer = device.buffer(np.zeros(2, np.uint32))
    code = isa.assemble(
        """
        v_mov_b32 v2, 0x11112222
        .long 0xd5810001, 0x02010102
        v_mov_b32 v2, 0x33334444
        v_mov_b16_e32 v1.l, v2.h
        v_swap_b16 v1.h, v2.l
        v_mov_b32 v0, 0
        global_store_b64 v0, v[1:2], s[0:1]
        s_endpgm
        """,
        target,
    )
    device.run(code, workgroup_size=(1, 1, 1), user_sgprs=[buffer.address & 0xFFFFFFFF, buffer.address >> 32])
    assert buffer.numpy().view(np.uint32).tolist() == [0x44443333, 0x33331111]
