"""The peers answer, and their answers can be told from wrong ones."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES
from spirv_reflection import reflect
from vulkan_peer import Lavapipe, PeerError, Radv, parse_code_words

pytestmark = pytest.mark.oracle


def test_lavapipe_computes_saxpy(lavapipe: Lavapipe) -> None:
    case = CASES["saxpy"]
    inputs = case.inputs()
    x, y = (inputs.buffers[0, binding].data for binding in (0, 1))
    found = lavapipe.run(case.spirv.read_bytes(), case.groups, {(0, 0): x, (0, 1): y}, inputs.push)
    expected = np.where(np.arange(256) < 250, np.float32(2.5) * x + y, y)
    np.testing.assert_allclose(found[0, 1], expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found[0, 0], x)


def test_radv_returns_whole_code(radv_gfx1030: Radv) -> None:
    spirv = CASES["matmul_f32"].spirv.read_bytes()
    for wave in (32, 64):
        found = radv_gfx1030.compile(spirv, wave)
        assert len(found.code) == found.statistics["Code size"]
        assert "s_endpgm" in found.assembly and "p_startpgm" in found.ir and "shader: MESA_SHADER_COMPUTE" in found.nir
        assert ("exec_lo" in found.assembly) == (wave == 32)


def test_radv_times_are_plausible(radv_gfx1030: Radv) -> None:
    times = radv_gfx1030.time(CASES["saxpy"].spirv.read_bytes(), repetitions=5)
    assert len(times) == 5 and 0.02 < min(times) < 100


def test_broken_module_is_an_error(lavapipe: Lavapipe) -> None:
    with pytest.raises(PeerError):
        lavapipe.run(b"\x03\x02\x23\x07" + bytes(8), (1, 1, 1), {})


def test_reflection() -> None:
    found = reflect(CASES["strided_copy"].spirv.read_bytes())
    kinds = {(each.set, each.binding): (each.kind, each.count) for each in found.bindings}
    assert kinds == {(0, 0): ("storage", 1), (0, 1): ("storage", 1), (1, 0): ("uniform", 1)}
    assert found.local_size == (8, 4, 2) and found.push_size == 0


def test_code_words_are_read_from_the_comment() -> None:
    text = "BB0:\n\tv_mov_b32_e32 v2, 0   ; 7e040280\n\tds_store_b32 v1, v2 ; d8340000 00000201\n"
    text += "\t(then repeated 2 times)\n"
    assert parse_code_words(text) == [0x7E040280, *([0xD8340000, 0x00000201] * 3)]
