"""Generic processors: what their members have in common is assembled and disassembled, and goes into code objects; there is no hardware of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyaco import InputError, UnsupportedError, compile, isa, targets
from pyaco.binary import assemble_code_object, link_code_object, read_code_object
from pyaco.emu import Device
from pyaco.isa.processors import assembly_target, processor
from pyaco.isa.text_facts import mnemonics
from pyaco.targets.target_id import generic_members, generic_processors


@pytest.mark.parametrize("target", generic_processors())
def test_opcodes_are_those_of_all_members(target: str) -> None:
    """Each name means the same opcode on all of them; names of older generations that CDNA's assemblers take are left out."""
    here = {name for name in mnemonics(*assembly_target(target)[::-1])}
    for member in generic_members(target):
        there = mnemonics(*processor(member)[::-1])
        missing = here - there.keys()
        assert not missing, f"{member} lacks {sorted(missing)}"


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("gfx9-generic", "v_mad_mix_f32 v0, v1, v2, v3"), ("gfx9-generic", "v_fma_mix_f32 v0, v1, v2, v3"), ("gfx9-4-generic", "v_prng_b32 v0, v1"),
        ("gfx9-4-generic", "v_cvt_f32_fp8 v0, v1"), ("gfx12-5-generic", "v_msad_u8 v0, v1, v2, v3"),
        ("gfx12-5-generic", "v_swmmac_f32_16x16x64_f16 v[24:31], v[0:7], v[8:23], v32"), ("gfx10-1-generic", "v_dot4_i32_i8 v0, v1, v2, v3"),
        ("gfx11-generic", "s_add_f32 s0, s1, s2"), ("gfx12-5-generic", "v_pk_add_f64 v[0:3], v[4:7], v[8:11]"),
    ],
)  # fmt: skip
def test_what_not_all_members_have_is_refused(target: str, line: str) -> None:
    with pytest.raises(InputError, match=r"line 1, column 1"):
        isa.assemble(line, target)


@pytest.mark.parametrize("target", generic_processors())
def test_text_words_and_objects(target: str) -> None:
    text = "\tv_add_f32_e32 v0, s1, v2\n\ts_mov_b32 s3, 0x12345678\n\ts_endpgm\n"
    code = isa.assemble(text, target)
    assert all(isa.assemble(text, member) == code for member in generic_members(target))
    assert isa.disassemble(code, target) == text
    assert isa.assemble(isa.instructions(code, target), target) == code
    assert isa.encode(isa.decode(code, target), target) == code
    assert isa.assemble(text, target.upper()) == code


@pytest.mark.parametrize("target", generic_processors())
def test_code_objects_are_of_version_6(target: str) -> None:
    source = f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\nkernel:\n\ts_endpgm\n'
    relocatable = assemble_code_object(source, target)
    assert relocatable[48:52][3] == 1  # the version of what the members have in common
    for data in (relocatable, link_code_object(relocatable)):
        found = read_code_object(data)
        assert (found.target, found.version) == (target, 6)
    with pytest.raises(InputError, match="version 6"):
        assemble_code_object(".amdhsa_code_object_version 5\n" + source, target)


@pytest.mark.parametrize("use", [Device, targets.chip, processor, lambda target: compile(b"", target)])
def test_what_needs_hardware_names_the_members(use: Callable[[str], object]) -> None:
    with pytest.raises(UnsupportedError, match=r"gfx11-generic.*gfx1100.*gfx1154"):
        use("gfx11-generic")
