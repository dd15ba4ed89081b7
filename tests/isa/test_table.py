"""The opcode table: names, numbers and signatures hang together."""

from __future__ import annotations

import pytest

from pyaco.isa import opcodes
from pyaco.isa.table import CDNA


def test_numbers_are_unique_within_an_encoding() -> None:
    for generation in opcodes.GENERATIONS:
        seen: dict[tuple[str, int], str] = {}
        for row in opcodes.rows():
            if generation in row.numbers and not opcodes.is_encode_only(row, generation):
                key = (row.format, row.numbers[generation])
                assert seen.setdefault(key, row.name) == row.name, (generation, key)


def test_signatures_use_known_tokens() -> None:
    for row in opcodes.rows():
        for token in row.definitions + row.operands:
            known = token in opcodes.IMPLICIT or token in ("mask", "imm", "lit", "v2b")
            assert known or (token[0] in "sva" and token[1:].isdigit()), (row.name, token)


@pytest.mark.parametrize(
    ("name", "generation", "number"),
    [
        ("s_add_u32", "9", 0),
        ("s_and_b32", "9", 0x0C),
        ("s_and_b32", "10.3", 0x0E),
        ("s_and_b32", "11", 0x16),
        ("v_add_f32", "9", 1),
        ("v_add_f32", "12", 3),
        ("v_fma_f32", "12", 0x213),
        ("global_load_dwordx4", "10.3", 0x0E),
        ("s_wait_loadcnt", "12", 0x40),
        ("v_add_f32", "cdna4", 1),
        ("v_fmac_f64", "cdna2", 4),
        ("v_mfma_f32_32x32x1f32", "cdna1", 0x40),
        ("global_atomic_add_f32", "cdna3", 0x4D),
    ],
)
def test_known_numbers(name: str, generation: str, number: int) -> None:
    assert opcodes.row(name).numbers[generation] == number


def test_cdna_descends_from_gfx9() -> None:
    for row in opcodes.rows():
        if "9" in row.numbers and all(generation in row.numbers for generation in CDNA):
            assert {row.numbers[generation] for generation in CDNA} == {row.numbers["9"]}, row.name
    assert "cdna1" in opcodes.row("v_mad_f32").numbers and "cdna3" not in opcodes.row("v_mad_f32").numbers


def test_matrix_operations_say_what_they_multiply() -> None:
    for row in opcodes.rows():
        if row.matrix is None:
            assert "matrix" not in row.flags
            continue
        rows, columns, _ = row.matrix.shape
        lane_dwords = 2 if row.matrix.types[2] == "f64" else 1
        # C and D are spread over the 64 lanes
        assert rows * columns * row.matrix.blocks * lane_dwords == int(row.definitions[0][1:]) * 64, row.name
        assert set(row.matrix.passes) == set(row.numbers)
        for position, kind in enumerate(row.matrix.types[:2]):
            bits = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "f8f6f4": 8}[kind]
            side = rows if position == 0 else columns
            depth = row.matrix.shape[2] // (2 if "smfmac" in row.name and position == 0 else 1)
            # A and B likewise, four elements of a depth in turn
            assert side * depth * row.matrix.blocks * bits == int(row.operands[position][1:]) * 64 * 32, row.name


def test_spelling_by_generation() -> None:
    assert opcodes.row("v_mfma_f32_4x4x1f32").spelling("cdna2") == "v_mfma_f32_4x4x1f32"
    assert opcodes.row("v_mfma_f32_4x4x1f32").spelling("cdna3") == "v_mfma_f32_4x4x1_16b_f32"
    assert opcodes.row("v_fma_mix_f32").spelling("cdna1") == "v_fma_mix_f32"
    assert opcodes.row("s_andn2_b64").spelling("10") == "s_andn2_b64"
    assert opcodes.row("s_andn2_b64").spelling("11.5") == "s_and_not1_b64"
    assert opcodes.row("v_min_f32").spelling("12") == "v_min_num_f32"
    assert opcodes.numbers()["p_parallelcopy"] == 0


#: Formats that the opcodes of a class have, and those of which every opcode of a generation that knows the class is in it.
HAZARD_FORMATS = {
    "lane_select": ("vop1 vop2 vop3", ""), "lane_access": ("vop1 vop2 vop3", ""), "div_fmas": ("vop3", ""), "setreg": ("sopk", ""),
    "getreg": ("sopk", ""), "trap_return": ("sop1", ""), "m0_read": ("sop1 sopp vintrp ds mubuf global scratch", ""),
    "wide_store": ("mubuf mtbuf mimg flat global scratch", ""),
    "vector_memory": ("mubuf mtbuf mimg flat global scratch", "mubuf mtbuf mimg flat global scratch"),
    "scalar_memory": ("smem", "smem"),
    "lds": ("ds", "ds"), "lds_direct": ("ldsdir", "ldsdir"), "branch": ("sopp", ""), "compare_to_exec": ("vopc", ""), "permlane": ("vop1 vop3", ""),
    "denorm_mode": ("sopp", ""), "float_atomic": ("mubuf mimg flat global", ""), "transcendental": ("vop1 vop3", ""),
    "lane_mask_read": ("vop2 vop3", ""), "wave_matrix": ("vop3p", ""), "shift64": ("vop3", ""), "accumulator_access": ("vop3p", ""),
    "dot": ("vop2 vop3p", ""),
}  # fmt: skip
MATRIX_KINDS = {"matrix_double", "matrix_xdl", "matrix_single"}


def test_hazards_hang_together_with_the_table() -> None:
    """Every opcode in every generation: its classes are of its format, whole formats are whole, matrix operations have one kind and their passes."""
    known: dict[str, set[str]] = {generation: set() for generation in opcodes.GENERATIONS}
    for row in opcodes.rows():
        for generation in opcodes.GENERATIONS:
            found = opcodes.hazards(row.name, generation)
            known[generation] |= set(found)
            assert len(found) == len(set(found)), (row.name, generation)
            assert set(found) <= set(opcodes.HAZARDS)
            assert not found or row.in_generation(generation), (row.name, generation)
            matrix = [name for name in found if name.startswith("matrix_")]
            if row.matrix is not None and generation in row.numbers:
                assert len(found) == 2 and len(MATRIX_KINDS & set(found)) == 1, (row.name, generation)
                assert f"matrix_{row.matrix.passes[generation]}_passes" in found
                assert ("matrix_double" in found) == (row.matrix.types[2] == "f64")
            else:
                assert not matrix, (row.name, generation)
                assert all(row.format in HAZARD_FORMATS[name][0].split() for name in found), (row.name, found)
    for row in opcodes.rows():
        for generation in opcodes.GENERATIONS:
            whole = [name for name in known[generation] & set(HAZARD_FORMATS) if row.format in HAZARD_FORMATS[name][1].split()]
            assert not row.in_generation(generation) or set(whole) <= set(opcodes.hazards(row.name, generation)), (row.name, generation)
    assert set(opcodes.HAZARDS) == set().union(*known.values())


def test_hazards_of_stores_follow_from_their_size() -> None:
    """wide_store: buffer and flat operations without result, or atomic, whose data have more than 64 bits."""
    for row in opcodes.rows():
        for generation in ("7", "9", "cdna1", "cdna2", "cdna3", "cdna4"):
            if row.format in ("mubuf", "mtbuf", "flat", "global", "scratch") and row.in_generation(generation):
                first = 3 if row.format in ("mubuf", "mtbuf") else len(row.operands) - 1
                stored = row.operands[first] if len(row.operands) > max(first, 1) else "v0"
                assert (int(stored[1:].rstrip("b")) > 2) == ("wide_store" in opcodes.hazards(row.name, generation)), (row.name, generation)


def test_hazard_bits_are_the_classes() -> None:
    for generation in opcodes.GENERATIONS:
        bits = opcodes.hazard_bits(generation)
        for number, row in enumerate(opcodes.rows()):
            names = {name for bit, name in enumerate(opcodes.HAZARDS) if bits[number] >> bit & 1}
            assert names == set(opcodes.hazards(row.name, generation))
    assert opcodes.hazards("v_exp_f32", "9") == ()
    assert opcodes.hazards("v_exp_f32", "11") == ("transcendental",)
