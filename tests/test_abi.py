"""The record of the ABI: what it says in JSON, and what it makes of mappings."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import CASES

import pyaco
from pyaco.abi import Abi, UserSgprs
from pyaco.emu import Device

KEYS = ["user_sgprs", "user_sgpr_count", "workgroup_id_mask", "scratch_wave_offset", "local_id_components", "wave_size", "workgroup_size",
        "float_mode", "lds_bytes", "scratch_bytes_per_lane", "num_sgprs", "num_vgprs", "push_constant_bytes", "address32_hi",
        "descriptor_sets"]  # fmt: skip
PLAIN: dict[str, Any] = {
    "user_sgprs": [{"kind": "descriptor_set", "first": 0, "count": 1, "set": 3},
                   {"kind": "inline_push_constant", "first": 1, "count": 1, "dword": 2}],
    "user_sgpr_count": 2, "workgroup_id_mask": 5, "scratch_wave_offset": True, "local_id_components": 2, "wave_size": 64,
    "workgroup_size": [8, 4, 1], "float_mode": 0xC0, "lds_bytes": 512, "scratch_bytes_per_lane": 16, "num_sgprs": 20, "num_vgprs": 8,
    "push_constant_bytes": 12, "address32_hi": 0xFFFF8000,
    "descriptor_sets": {3: {"size": 32, "bindings": {1: {"offset": 16, "stride": 16, "count": 1, "type": "storage_buffer"},
                                                   2: {"offset": 16, "stride": 16, "count": 2, "type": "uniform_buffer_dynamic"}}}},
    "dynamic_buffers": {"offset": 16, "count": 2}, "num_shared_vgprs": 8,
}  # fmt: skip


def test_plain_data_and_back() -> None:
    record = Abi.from_dict(PLAIN)
    assert record.as_dict() == PLAIN
    assert record.user_sgprs[0] == UserSgprs("descriptor_set", 0, 1, set=3) and record.workgroup_size == (8, 4, 1)
    assert Abi.from_dict(json.loads(json.dumps(PLAIN))) == record       # numbers of sets and bindings are text there
    assert Abi.of(record) is record and Abi.of(PLAIN) == record


@pytest.mark.parametrize("name", ["saxpy", "push_constants", "descriptor_arrays", "scratch_array"])
def test_json_of_a_compiled_shader(name: str) -> None:
    shader = pyaco.compile(CASES[name].spirv, "gfx1030", spec=dict(CASES[name].spec))
    printed = shader.to_json()["abi"]
    assert list(printed) == KEYS
    assert all(list(entry)[:3] == ["kind", "first", "count"] and len(entry) <= 4 for entry in printed["user_sgprs"])
    assert shader.abi == Abi.from_dict(json.loads(json.dumps(printed)))
    assert shader.abi is not None and shader.abi.num_vgprs > 0 and shader.abi.wave_size == shader.wave


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wave_size": "many"}, "wave_size is 'many'"), ({"user_sgprs": [{"kind": "push_constants"}]}, "user_sgprs"),
        ({"workgroup_size": [1, 2, 3, 4]}, "workgroup_size"), ({"workgroup_size": []}, "workgroup_size"),
        ({"descriptor_sets": {0: 5}}, "descriptor_sets"), ({"dynamic_buffers": 7}, "dynamic_buffers"), ({"lds_bytes": None}, "lds_bytes"),
    ],
)  # fmt: skip
def test_what_is_no_abi(change: dict[str, Any], message: str) -> None:
    with pytest.raises(pyaco.InputError, match=message):
        Abi.from_dict(PLAIN | change)


def test_missing_fields_and_shaders_without_an_abi() -> None:
    optional = {"num_sgprs", "num_vgprs", "push_constant_bytes", "address32_hi", "descriptor_sets", "dynamic_buffers", "num_shared_vgprs"}
    plain = PLAIN | {"user_sgprs": [], "user_sgpr_count": 0, "dynamic_buffers": None}
    for name in plain:
        rest = {key: value for key, value in plain.items() if key != name}
        if name in optional:
            assert Abi.from_dict(rest)
        else:
            with pytest.raises(pyaco.InputError, match=f"{name} is missing"):
                Abi.from_dict(rest)
    shader = pyaco.compile(CASES["saxpy"].spirv, "gfx1030", stop_after="spirv.read")
    assert shader.abi is None and shader.to_json()["abi"] == {}
    with pytest.raises(pyaco.InputError, match="stopped early"):
        Abi.of(shader.abi)


def replacements(facts: Any) -> Iterator[Any]:
    """The same data with one value in it replaced."""
    yield from (None, "8", "", -1, 0, 1, 7, 1.5, 1 << 40, 1 << 70, [], {}, [None], b"x", object())
    parts = facts.items() if isinstance(facts, dict) else enumerate(facts) if isinstance(facts, list) else ()
    for key, part in parts:
        for changed in replacements(part):
            copy = facts.copy()
            copy[key] = changed
            yield copy


def test_every_value_that_is_wrong_is_an_error_of_ours() -> None:
    """An ABI with any one value replaced is dispatched, or refused in words; never another exception."""
    compiled = pyaco.compile(CASES["descriptor_arrays"].spirv, "gfx1100")
    assert compiled.abi is not None
    device, refused, whole = Device("gfx1100", "fast", 1), 0, compiled.abi.as_dict()
    for facts in replacements(whole):
        compiled.abi = facts
        try:
            device.dispatch(compiled, (0, 1, 1), budget=1000)
        except pyaco.PyacoError as error:
            assert str(error)
            refused += 1
    assert refused > 200
    for facts in replacements(PLAIN):
        with contextlib.suppress(pyaco.PyacoError):
            assert Abi.from_dict(facts).as_dict()


def test_a_shader_whose_abi_is_a_mapping() -> None:
    """What users make themselves, or keep as JSON, is dispatched as a compiled shader is."""
    compiled = pyaco.compile(CASES["saxpy"].spirv, "gfx1100")
    assert compiled.abi is not None
    inputs, results = CASES["saxpy"].inputs(), []
    kinds: tuple[Any, ...] = (compiled.abi, compiled.abi.as_dict(), json.loads(json.dumps(compiled.abi.as_dict())))
    for abi in kinds:
        compiled.abi = abi
        device = Device("gfx1100")
        buffers: dict[Any, Any] = {key: device.buffer(np.array(buffer.data)) for key, buffer in inputs.buffers.items()}
        device.dispatch(compiled, CASES["saxpy"].groups, buffers, inputs.push)
        results.append({key: buffer.numpy().tobytes() for key, buffer in buffers.items()})
    assert results[0] == results[1] == results[2]
