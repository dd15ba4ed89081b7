"""Malformed NIR text gives an error with its line."""

import contextlib

import pytest

from pyaco.errors import InputError, UnsupportedError
from pyaco.nir.parse import parse_shader

GOOD = """shader: MESA_SHADER_COMPUTE
workgroup_size: 64, 1, 1
decl_function main (0 params) (entrypoint)

impl main {
    block b0:    // preds:
    32     %1 = @load_local_invocation_index
    32     %2 = load_const (0x00000007 = 7)
    1      %3 = ult %1, %2 (0x7)
    if %3 {
        block b1:
    } else {
        block b2:
    }
    block b3:
    32     %4 = phi b1: %1, b2: %2 (0x7)
}
"""


def test_good_text_is_read() -> None:
    shader = parse_shader(GOOD)
    assert shader.info["workgroup_size"] == [64, 1, 1]
    assert shader.instructions.source_count[4] == 2


@pytest.mark.parametrize(("old", "new", "line"), [
    ("ult %1, %2", "ult %1, %9", 9),
    ("ult %1, %2", "ult %1", 9),
    ("ult %1, %2 (0x7)", "ult %1.y, %2", 9),
    ("0x00000007 = 7", "0x100000007", 8),
    ("if %3", "if %1", 10),
    ("%2 = load_const", "%1 = load_const", 8),
    ("phi b1: %1", "phi b7: %1", 16),
    ("workgroup_size: 64, 1, 1", "workgroup_size: 64, x", 2),
    ("        block b1:\n", "", 11),
    ("decl_function", "decl_struct S { uint a (offset=0t=4) }\ndecl_function", 3),
])
def test_bad_text_is_refused(old: str, new: str, line: int) -> None:
    with pytest.raises(InputError, match=rf"<nir>:{line}: "):
        parse_shader(GOOD.replace(old, new))


@pytest.mark.parametrize("size", ["32, 1, 4294967295", "65536, 65536, 1", "1025, 1, 1"])
def test_workgroups_of_too_many_invocations_are_unsupported(size: str) -> None:
    with pytest.raises(UnsupportedError, match="at most 1024"):
        parse_shader(GOOD.replace("64, 1, 1", size))


def test_missing_end_is_refused() -> None:
    with pytest.raises(InputError, match="does not end"):
        parse_shader(GOOD.rstrip().rstrip("}"))


def test_unknown_names_are_unsupported() -> None:
    with pytest.raises(UnsupportedError, match="frobnicate"):
        parse_shader(GOOD.replace("ult %1", "frobnicate %1"))
    with pytest.raises(UnsupportedError, match="load_dragon"):
        parse_shader(GOOD.replace("load_local_invocation_index", "load_dragon"))


def test_every_prefix_and_mutation_ends_in_an_error_or_a_shader() -> None:
    for cut in range(0, len(GOOD), 7):
        for text in (GOOD[:cut], GOOD[:cut] + "%" + GOOD[cut + 1 :], GOOD[:cut] + GOOD[cut + 3 :]):
            with contextlib.suppress(InputError, UnsupportedError):
                parse_shader(text)
