"""Instructions as objects and as columns: every opcode goes through both and comes back as the same bytes."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import word_forms

import pyaco
from pyaco import isa
from pyaco.isa import opcodes
from pyaco.isa.program import Instruction, Label, Operand, Program, a, exec_, lit, m0, s, v, vcc, vcc_lo

TARGETS = {60: "gfx600", 70: "gfx700", 80: "gfx803", 90: "gfx906", 91: "gfx908", 92: "gfx90a", 94: "gfx942", 95: "gfx950",
           100: "gfx1011", 103: "gfx1030", 110: "gfx1100", 115: "gfx1150", 117: "gfx1170", 120: "gfx1200",
           125: "gfx1250", 126: "gfx1251", 130: "gfx1310"}  # fmt: skip


#: Operands of what fields drawn one by one do not hit: images, whose registers depend on each other.
TEXTS = (
    *(f"{data}, {address}, s[0:7]{sampler} dmask:{mask} dim:SQ_RSRC_IMG_2D"
      for sampler in ("", ", s[8:11]") for data, mask in (("v[0:3]", 15), ("v[0:3]", 1), ("v[0:1]", 3), ("v0", 1))
      for address in ("v4", "v[4:5]", "v[4:6]", "[v4, v5]", "[v4, v5, v6]", "[v4, v5, v6, v7]")),
    "v[0:3], v[4:14], s[0:3]", "v[0:3], v[4:15], s[0:3]", "v[0:3], [v4, v5, v[6:8], v[9:11], v[12:14]], s[0:3]",
    "v[0:3], [v[4:5], v6, v[7:9], v[10:12], v[13:15]], s[0:3]", "s[0:3], s1", "v0, v1, v2", "v[0:1], v[2:3], v1", "v[0:1], v[2:3], 1",
    "v[0:3], v[0:7], v[8:15], v[0:3]", "v[0:15], v[0:7], v[8:15], v[0:15]", "a[0:3], v[0:7], v[8:15], a[0:3]", "v0, v1", "v1, off",
)  # fmt: skip


def rows_of(level: int) -> list[opcodes.Row]:
    """The opcodes of a gfx level."""
    generation = opcodes.generation_of(level)
    return [
        row for row in opcodes.rows()
        if not row.name.startswith("p_") and not opcodes.is_encode_only(row, generation) and (generation in row.numbers or generation in row.second)
    ]  # fmt: skip


def few_words(row: opcodes.Row, level: int) -> list[list[int]]:
    """An opcode in every format, plain and with each field changed once."""
    words = []
    for form, fixed, every in word_forms.Formats(level).of(row):
        fields = word_forms.used_fields(row, every)
        plain = word_forms.plain_values(row, level, fields)
        changes = [{name: word_forms.VALUES[field.kind][1]} for name, field in fields.items() if len(word_forms.VALUES[field.kind]) > 1]
        words += [word_forms.words_of(form, row, fixed, fields, plain | change) for change in ({}, *changes)]
    return words


def sayable(words: list[list[int]], level: int) -> bytes:
    """The instructions among words that text can say."""
    code = np.array([word for one in words for word in (one if level < 120 or len(one) != 2 else (*one, 0))], "<u4").tobytes()
    lines = isa.disassemble_lines(code, TARGETS[level], exact=True)
    return b"".join(code[x.offset : x.offset + x.size] for x in lines if x.size and not x.text.startswith(".long"))


def opcodes_in(code: bytes, level: int) -> set[str]:
    return {opcodes.names()[number] for number in isa.decode(code, TARGETS[level])["opcode"]}


@cache
def code_of_every_opcode(level: int) -> bytes:
    code = sayable([words for row in rows_of(level) for words in few_words(row, level)], level)
    seen = opcodes_in(code, level)
    # those whose fields have to agree with each other
    others = [row for row in rows_of(level) if row.name not in seen]
    drawn = random.Random(level)
    code += sayable([words for row in others for _, words in word_forms.row_forms(row, level, drawn, 10)], level)
    return code + b"".join(from_text(row, level) for row in others if row.name not in opcodes_in(code, level))


def from_text(row: opcodes.Row, level: int) -> bytes:
    """An opcode in the first of some forms of text that it takes."""
    name = row.spelling(opcodes.generation_of(level), TARGETS[level])
    for operands in TEXTS:
        with contextlib.suppress(pyaco.InputError):
            code = isa.assemble(f"{name} {operands}", TARGETS[level])
            if opcodes_in(code, level) == {row.name} and ".long" not in isa.disassemble(code, TARGETS[level], exact=True):
                return code
    return b""


@pytest.mark.parametrize("level", TARGETS if os.environ.get("PYACO_EXHAUSTIVE") else (70, 80, 95, 103, 120))
def test_every_opcode(level: int) -> None:
    code, target = code_of_every_opcode(level), TARGETS[level]
    records = isa.decode(code, target)
    assert isa.encode(records, target) == code
    # records are instructions of their own
    assert isa.encode(records[::-1], target) == b"".join(
        code[row["offset"] : row["offset"] + 4 * row["dwords"]] for row in records[::-1]
    )
    objects = isa.instructions(code, target)
    assert isa.assemble(objects, target) == code
    found = [item for item in objects if isinstance(item, Instruction)]
    assert not any(item.mnemonic == ".long" for item in found)
    assert isa.assemble("".join(f"{item.text(target)}\n" if isinstance(item, Instruction) else f"{item.name}:\n" for item in objects), target) == code
    seen = opcodes_in(code, level)
    missing = {row.name for row in rows_of(level)} - seen
    print(f"{target}: {len(found)} instructions of {len(seen)} opcodes; none of {sorted(missing)}")
    assert len(missing) < 5, missing


def test_a_program() -> None:
    program = Program("gfx1100")
    program.v_add_f32(v[0], -v[1], abs(s[2]), clamp=True)
    program.label("loop").s_waitcnt(vmcnt=0, lgkmcnt=3)
    program.global_load_b64(v[2:3], v[0], s[0:1], offset=-16, glc=True)
    program.v_mov_b32_dpp(v[0], v[1], quad_perm=[3, 2, 1, 0], row_mask=3)
    program.dual(("v_dual_mul_f32", v[0], v[1], v[2]), ("v_dual_add_f32", v[3], 1.0, v[7]))
    program.image_load(v[0:3], [v[9], v[4]], s[8:15], dmask=15, dim="SQ_RSRC_IMG_2D", unorm=True)
    program.v_cndmask_b32(v[1], lit(1.0), v[2], vcc_lo)
    program.s_mov_b32(m0, 0x12345678).s_sendmsg("sendmsg(MSG_INTERRUPT)")
    program.s_delay_alu(instid0="VALU_DEP_1")
    program.v_pk_add_f16(v[1], v[2], v[3], op_sel=(1, 0), neg_lo=[0, 1])
    program.s_cbranch_scc1("loop")
    program.s_branch("end").label("end").s_endpgm()
    text = """
        v_add_f32 v0, -v1, |s2| clamp
      loop:
        s_waitcnt vmcnt(0) & lgkmcnt(3)
        global_load_b64 v[2:3], v0, s[0:1] offset:-16 glc
        v_mov_b32_dpp v0, v1 quad_perm:[3,2,1,0] row_mask:3
        v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, 1.0, v7
        image_load v[0:3], [v9, v4], s[8:15] dmask:15 dim:SQ_RSRC_IMG_2D unorm
        v_cndmask_b32 v1, lit(1.0), v2, vcc_lo
        s_mov_b32 m0, 0x12345678
        s_sendmsg sendmsg(MSG_INTERRUPT)
        s_delay_alu instid0(VALU_DEP_1)
        v_pk_add_f16 v1, v2, v3 op_sel:[1,0] neg_lo:[0,1]
        s_cbranch_scc1 loop
        s_branch end
      end:
        s_endpgm
    """
    assert program.code() == isa.assemble(text, "gfx1100")


def test_the_same_on_older_chips() -> None:
    program = Program("gfx90a")
    program.v_accvgpr_write_b32(a[5], v[1]).v_mfma_f32_32x32x1f32(a[0:31], v[0], v[1], a[0:31], cbsz=1)
    program.v_add_u32_sdwa(v[0], v[1].sext(), v[2], src0_sel="BYTE_1", dst_unused="UNUSED_PAD").s_mov_b64(exec_, s[2:3])
    program.buffer_load_dword(v[1], v[2], s[4:7], 0, offen=True, offset=8)
    assert program.code() == isa.assemble(
        "v_accvgpr_write_b32 a5, v1\nv_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31] cbsz:1\n"
        "v_add_u32_sdwa v0, sext(v1), v2 src0_sel:BYTE_1 dst_unused:UNUSED_PAD\ns_mov_b64 exec, s[2:3]\n"
        "buffer_load_dword v1, v2, s[4:7], 0 offen offset:8", "gfx90a")  # fmt: skip
    assert Program("gfx803").exp("mrt0", v[0], v[1], "off", "off", done=True, vm=True).code() == isa.assemble(
        "exp mrt0 v0, v1, off, off done vm", "gfx803")  # fmt: skip


@pytest.mark.parametrize(
    ("mnemonic", "operands", "modifiers", "reason"),
    [
        ("v_add_f32", (v[0], v[1:2], s[2]), {}, r"instruction 1 \(v_add_f32 v0, v\[1:2\], s2\): v\[1:2\] is 2 dwords wide, not 1"),
        ("v_add_f32", (v[0], v[1]), {}, "takes 3 operands, not 2"),
        ("v_add_f32", (v[0], v[1], v[2]), {"offset": 3}, "no modifier offset"),
        ("v_add_f32", (v[0], v[1], v[2]), {"nonsense": 3}, "no modifier nonsense"),
        ("v_bad", (), {}, "unknown instruction v_bad"),
        ("v_mov_b32", (v[0], object()), {}, "an operand is a register, a number or text"),
        ("v_mov_b32", (v[0], True), {}, "an operand is a register, a number or text"),
        ("v_mov_b32", (v[0], 1 << 70), {}, "64-bit number"),
        ("v_mov_b32", (v[0], "v1, v2"), {}, "takes 2 operands, not 3"),
        ("ds_load_b32", (v[0], v[1]), {"offset": 70000}, "70000 is not from 0 to 65535"),
        ("s_load_b64", (s[3:4], s[0:1], 0), {}, "the registers are not aligned"),
        ("s_mov_b32", (s[0], Operand(address=4 * 700)), {}, "instruction 1"),
        ("v_mov_b32_dpp", (v[0], v[1]), {"quad_perm": [1, 2]}, "four lanes"),
        ("v_mov_b32_dpp", (v[0], v[1]), {"quad_perm": [1, 2, 3, 4]}, "0 to 3"),
        ("v_pk_add_f16", (v[0], v[1], v[2]), {"op_sel": 1}, r"\[ expected|is a list"),
        ("image_load", (v[0:3], [v[0], v[1]], s[0:7]), {"dim": "X"}, "no such name: X"),
        ("s_waitcnt", (), {"vmcnt": 64}, "64 is not from 0 to 63"),
        ("s_waitcnt", (), {"what": 0}, "no counter what"),
    ],
)
def test_errors_name_the_instruction(mnemonic: str, operands: tuple[Any, ...], modifiers: dict[str, Any], reason: str) -> None:
    program = Program("gfx1100").s_nop(0)
    with pytest.raises(pyaco.InputError, match=reason):
        program.emit(mnemonic, *operands, **modifiers)
    # the program goes on as it was
    assert program.s_endpgm().code() == isa.assemble("s_nop 0\ns_endpgm", "gfx1100")


def test_labels() -> None:
    with pytest.raises(pyaco.InputError, match=r"instruction 1 \(s_branch nowhere\): no label nowhere"):
        Program("gfx900").s_nop(0).s_branch("nowhere").code()
    with pytest.raises(pyaco.InputError, match="label here is defined twice"):
        Program("gfx900").label("here").label("here")
    with pytest.raises(AttributeError, match="gfx900 has no instruction 's_wait_idle'"):
        Program("gfx900").s_wait_idle()
    with pytest.raises(pyaco.InputError, match="instruction 0: an Instruction or a Label is expected, not str"):
        isa.assemble(["s_nop 0"], "gfx900")  # type: ignore[list-item]
    assert isa.instructions(isa.assemble("x:\ns_branch x\n.long 0xffffffff", "gfx900"), "gfx900") == [
        Label("L0"), Instruction("s_branch", ("L0",)), Instruction(".long", (0xFFFFFFFF,)),
    ]  # fmt: skip


def test_operands_are_values() -> None:
    assert v[1] == v[1:1] and v[1] != v[1:2] and v[1] != s[1] and abs(-v[1]) == abs(v[1]) != v[1]
    negated = -v[1]
    assert -negated == v[1]
    assert len({v[1], v[1], -v[1], v[1].h}) == 3 and pickle.loads(pickle.dumps(-v[4:7])) == -v[4:7]
    assert repr((-v[4:7], vcc, abs(s[3]), v[1].h, lit(2.0))) == "(-v[4:7], vcc, abs(s[3]), v[1].h, lit(2.0))"
    wrong_slices: tuple[Callable[[], object], ...] = (lambda: v[256], lambda: s[4:2], lambda: v[0:64], lambda: v[::2], lambda: v[1:2].h)
    for wrong in wrong_slices:
        with pytest.raises(pyaco.InputError):
            wrong()


def test_columns_can_be_changed() -> None:
    records = isa.decode(isa.assemble("v_add_f32 v1, v2, v3\nv_mul_f32 v4, v1, s5\ns_endpgm\n.long 0xffffffff", "gfx1030"), "gfx1030")
    vgpr = (records["sources"] >= 4 * 256) & (np.arange(18) < records["source_count"][:, None])
    records["sources"][vgpr] += 4 * 10
    assert isa.disassemble(isa.encode(records, "gfx1030"), "gfx1030").split("\n")[:4] == [
        "\tv_add_f32_e32 v1, v12, v13", "\tv_mul_f32_e64 v4, v11, s5", "\ts_endpgm", "\t.long 0xffffffff",
    ]  # fmt: skip
    records["opcode"][1] = opcodes.numbers()["v_accvgpr_read_b32"]
    with pytest.raises(pyaco.InputError, match=r"record 1 \(\w+\): "):
        isa.encode(records, "gfx1030")
    with pytest.raises(pyaco.InputError, match="records as decode gives them"):
        isa.encode(np.zeros(3, np.uint32), "gfx1030")


@pytest.mark.parametrize("target", ["gfx600", "gfx90a", "gfx1030", "gfx1100", "gfx1200"])
def test_random_records_are_harmless(target: str) -> None:
    """Whatever columns hold, there are words or an error."""
    generator = np.random.default_rng(7)
    level = {name: number for number, name in TARGETS.items()}[target]
    records = isa.decode(code_of_every_opcode(level), target)
    encoded = 0
    for _ in range(3000):
        record = records[generator.integers(len(records), size=1)].copy()
        for name in generator.choice(record.dtype.names or (), 2):
            field = record[name]
            values = generator.integers(0, np.iinfo(field.dtype).max, field.shape, field.dtype, endpoint=True)
            field[...] = values >> np.array(generator.integers(8), field.dtype)
        try:
            isa.encode(record, target)
            encoded += 1
        except pyaco.InputError as error:
            assert "record 0" in str(error)
    assert encoded > 300


@pytest.mark.parametrize("target", ["gfx1250", "gfx1310"])
def test_modifiers_in_the_places_of_others_have_their_own_names(target: str) -> None:
    code = isa.assemble("global_load_b32 v20, v0, s[2:3] scale_offset nv", target)
    (instruction,) = isa.instructions(code, target)
    assert isinstance(instruction, Instruction) and instruction.modifiers == {"scale_offset": True, "nv": True}
    program = Program(target)
    program.global_load_b32(v[20], v[0], s[2:3], scale_offset=True, nv=True)
    assert program.code() == code
