"""NIR text as Mesa prints it since 2024: what differs from the form of `pyaco.nir.text`. The shader here is made up, in Mesa's form."""

from __future__ import annotations

import pytest

import pyaco
from pyaco.nir.parse import parse_shader
from pyaco.nir.text import print_shader

MESA = """shader: MESA_SHADER_COMPUTE
source_blake3: {0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000}
workgroup_size: 64, 1, 1
subgroup_size: 2
inputs: 0
outputs: 0
uniforms: 0
decl_function main (0 params) (entrypoint)

impl main {
    con block b0:       // preds:
    con 32     %0 = load_const (0x00000000)
    div 32     %1 = @load_subgroup_invocation
    con 32x2   %2 = load_const (0x00000001, 0x3f800000) = (0.000000, 1.000000) = (1, 1065353216)
    con 32x4   %3 = undefined
    con  1     %4 = ieq %1, %0 (0x0)
    div 32     %5 = @load_ssbo (%3, %1) (access=readonly|reorderable|speculatable|smem-amd, align_mul=4, align_offset=0)
    div 32     %6 = @quad_swizzle_amd (%5) (swizzle_mask=1032, fetch_inactive=1)
    div 32     %7 = @masked_swizzle_amd (%6) (swizzle_mask=((id & 31) | 0) ^ 4, fetch_inactive=1)
                     // succs: b1 b2
    if %4  // don't flatten {
        div block b1:   // preds: b0
        div 32     %8 = fadd! %5, %2.y
                         // succs: b3
    } else {
        div block b2:  // preds: b0, succs: b3
    }
    con block b3:       // preds: b1 b2
    div 32     %9 = phi b1: %8, b2: %7
                     // succs: b4
    div loop {
        div block b4:   // preds: b3 b7
        div 32    %10 = phi b3: %9, b7: %11
        div 32    %11 = iadd %10, %2.x
        div  1    %12 = uge %11, %1
                         // succs: b5 b6
        if %12 {
            div block b5:// preds: b4
            break
            // succs: b8
        } else {
            div block b6:  // preds: b4, succs: b7
        }
        div block b7:  // preds: b6, succs: b4
    }
    con block b8:       // preds: b5
                     @store_ssbo (%11, %3, %0 (0x0)) (wrmask=x, access=none, align_mul=4, align_offset=0)
                     @barrier () (exec_scope=WORKGROUP, mem_scope=WORKGROUP, mem_semantics=ACQ|REL|AVAILABLE|VISIBLE, mem_modes=ssbo)
                     // succs: b9
    block b9:
}

"""


def body(text: str) -> list[str]:
    """The instructions of our text, without padding."""
    return [" ".join(line.split()) for line in text.splitlines() if "%" in line]


def test_read_as_our_own_text() -> None:
    shader = parse_shader(MESA.replace("@barrier ()", "@barrier"))
    text = print_shader(shader)
    assert print_shader(parse_shader(text)) == text
    lines = body(text)
    # ids count from 1 here, as 0 is no value
    assert lines[0].endswith("%1 = load_const (0x00000000)")
    assert any("%6 = @load_ssbo (%4, %2) (access=readonly|reorderable, align_mul=4, align_offset=0)" in line for line in lines)
    assert any("%7 = @quad_swizzle_amd (%6) (swizzle_mask=177, fetch_inactive=1)" in line for line in lines)
    assert any("%8 = @masked_swizzle_amd (%7) (swizzle_mask=4127, fetch_inactive=1)" in line for line in lines)
    assert any("%9 = fadd! %6, %3.y" in line for line in lines)
    assert any("%10 = phi b1: %9, b2: %8" in line for line in lines)
    assert list(shader.info["workgroup_size"]) == [64, 1, 1]
    assert "block b9" not in text


def test_derivatives_are_opcodes() -> None:
    text = MESA.replace("div 32     %6 = @quad_swizzle_amd (%5) (swizzle_mask=1032, fetch_inactive=1)", "div 32     %6 = @ddx_coarse (%5)")
    assert "= fddx_coarse %6" in print_shader(parse_shader(text))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("@load_subgroup_invocation", "@load_lava_pressure_amd", "load_lava_pressure_amd"),
        ("access=none", "access=fmask-lowered-amd", "fmask-lowered-amd"),
        ("access=none", "access=is-swizzled-amd", "is-swizzled-amd"),
        ("fetch_inactive=1)", "fetch_inactive=1, neg_hi_amd=2)", "neg_hi_amd of the NIR intrinsic quad_swizzle_amd"),
        ("fadd!", "ffancy!", "ffancy"),
        ("    } else {\n        div block b2:", "    } continue {\n        div block b2:", "continue"),
    ],
)
def test_refused_by_name(old: str, new: str, named: str) -> None:
    with pytest.raises(pyaco.UnsupportedError, match=named):
        parse_shader(MESA.replace(old, new))


def test_a_block_behind_the_last_is_an_error_elsewhere() -> None:
    with pytest.raises(pyaco.InputError):
        parse_shader(MESA.replace("    block b9:\n", "    block b9:\n    block b10:\n"))
