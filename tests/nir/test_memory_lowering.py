"""Explicit I/O, descriptors, arguments and system values on hand-written shaders."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from opcode_shaders import buffer

from pyaco._core.ir.shader import Shader
from pyaco._core.nir import build, lower_explicit_io, lower_system_values, validate
from pyaco.errors import UnsupportedError
from pyaco.nir import arguments, interpreter, passes
from pyaco.nir.builder import TYPES, Builder

SSBO, UBO = 7, 6


def block(b: Builder, type: int, binding: int, kind: str = "ssbo", index: int | None = None, access: int = 0, set: int = 0) -> int:
    """A deref of a buffer block."""
    number = SSBO if kind == "ssbo" else UBO
    resource = b.vulkan_resource_index(b.imm(0) if index is None else index, components=3, desc_set=set,
                                       binding=binding, desc_type=number)
    return b.deref_cast(b.load_vulkan_descriptor(resource, components=3, desc_type=number), type, kind)


def both(
    make: Callable[[Builder], object], groups: tuple[int, ...], buffers: Callable[[], dict[tuple[int, int], Any]], push: bytes = b"", wave: int = 64,
    **facts: Any,
) -> tuple[Shader, dict[tuple[int, int], Any], dict[tuple[int, int], Any]]:
    """Results before and after all passes; buffers that `buffers()` makes."""
    results = []
    for lowered in (False, True):
        b = Builder(wave_size=wave, **facts)
        make(b)
        shader = b.finish()
        if lowered:
            passes.run(shader, on_pass=lambda name, shader, seconds: validate.run(shader))
        data = buffers()
        interpreter.Interpreter(shader, groups, data, push, wave, check_divergence=lowered).run()
        results.append(data)
    return shader, results[0], results[1]


def opcodes(shader: Shader) -> list[str]:
    """Names of the intrinsics that are left."""
    names = {number: name for name, number in build.INTRINSICS.items()}
    rows = shader.order.instruction
    return [names[int(shader.instructions.opcode[row])] for row in rows if shader.instructions.kind[row] == 6]


@pytest.mark.parametrize("row_major", [False, True])
def test_matrices(row_major: bool) -> None:
    """Columns, components and whole matrices in either order."""
    def make(b: Builder) -> None:
        column = b.vector(3, "float")
        matrix = b.type(TYPES["matrix"], element=column, length=4, stride=16, row_major=row_major)
        outer = b.struct((b.scalar("float"), 0), (matrix, 16))
        lane = b.load_local_invocation_index()
        from_deref = b.deref_struct(block(b, outer, 0), 1)
        to_deref = b.deref_struct(block(b, outer, 1), 1)
        picked = b.umod(lane, b.imm(4))
        value = b.load(b.deref_array(from_deref, picked))
        element = b.load(b.deref_array(b.deref_array(from_deref, b.imm(2)), b.umod(lane, b.imm(3))))
        b.store(b.deref_array(to_deref, picked), b.fmul(value, b.vec(element, element, element)))

    def buffers() -> dict[tuple[int, int], Any]:
        data = np.arange(40, dtype=np.float32)
        return {(0, 0): data, (0, 1): np.zeros(40, np.float32)}

    _, before, after = both(make, (1,), buffers, workgroup_size=(12, 1, 1))
    assert before[0, 1].any()
    np.testing.assert_array_equal(before[0, 1], after[0, 1])


def test_descriptor_that_differs_between_lanes() -> None:
    """A non-uniform index is served one descriptor at a time."""
    def make(b: Builder) -> None:
        b.shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 3), 1: ("ssbo", 3)}}
        type = b.struct((b.array(b.scalar(), 0, 4), 0))
        lane = b.load_local_invocation_index()
        which = b.umod(b.imul(lane, b.imm(5)), b.imm(3))
        source = b.deref_array(b.deref_struct(block(b, type, 0, index=which), 0), lane)
        value = b.load(source, access=0x20)
        target = b.deref_array(b.deref_struct(block(b, type, 1, index=which), 0), lane)
        b.store(target, value, access=0x20)

    def buffers() -> dict[tuple[int, int], Any]:
        inputs = [np.arange(64, dtype=np.uint32) + 1000 * i for i in range(3)]
        return {(0, 0): inputs, (0, 1): [np.zeros(64, np.uint32) for _ in range(3)]}

    shader, before, after = both(make, (1,), buffers, workgroup_size=(64, 1, 1))
    assert (shader.nodes.kind == 4).sum() == 2
    for expected, found in zip(before[0, 1], after[0, 1], strict=True):
        assert expected.any()
        np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("dynamic", [None, "uniform", "divergent"])
def test_push_constants(bits: int, dynamic: str | None) -> None:
    """Any size at constant, uniform and divergent offsets."""
    def make(b: Builder) -> None:
        type = b.struct((b.scalar(), 0), (b.array(b.vector(2, "uint", bits), 4, bits // 4), 8))
        variable = b.variable("push_constant", type)
        lane = b.load_local_invocation_index()
        choices: dict[str | None, Callable[[], int]] = {
            None: lambda: b.imm(1), "uniform": lambda: b.load(b.deref_struct(b.deref_var(variable), 0)),
            "divergent": lambda: b.umod(lane, b.imm(4))}
        index = choices[dynamic]()
        value = b.load(b.deref_array(b.deref_struct(b.deref_var(variable), 1), index))
        b.store(b.deref_array(buffer(b, 0, bits), lane), b.iadd(b.component(value, 0), b.component(value, 1)))

    push = np.uint32(2).tobytes() + bytes(4) + np.random.default_rng(1).bytes(bits)
    types = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
    _, before, after = both(make, (1,), lambda: {(0, 0): np.zeros(32, types[bits])}, push, workgroup_size=(32, 1, 1))
    assert before[0, 0].any()
    np.testing.assert_array_equal(before[0, 0], after[0, 0])


def test_shared_memory_with_booleans() -> None:
    """Shared variables are laid out without overlap; booleans are stored as words."""
    def make(b: Builder) -> None:
        flags = b.variable("shared", b.array(b.type("bool", bit_size=1, components=1), 32))
        words = b.variable("shared", b.array(b.vector(3), 32))
        total = b.variable("shared", b.scalar())
        lane = b.load_local_invocation_index()
        b.store(b.deref_var(total), b.imm(0))
        b.barrier(execution_scope=4, memory_scope=4, memory_semantics=3, memory_modes=4)
        b.store(b.deref_array(b.deref_var(flags), lane), b.ult(lane, b.imm(20)))
        b.store(b.deref_array(b.deref_var(words), lane), b.vec(lane, b.imm(7), lane), 5)
        b.deref_atomic(b.deref_var(total), lane, bit_size=32, atomic_op=0)
        b.barrier(execution_scope=4, memory_scope=4, memory_semantics=3, memory_modes=4)
        other = b.ixor(lane, b.imm(31))
        word = b.load(b.deref_array(b.deref_array(b.deref_var(words), other), b.imm(2)))
        flag = b.load(b.deref_array(b.deref_var(flags), other))
        value = b.bcsel(flag, word, b.load(b.deref_var(total)))
        b.store(b.deref_array(buffer(b, 0, 32), lane), value)

    shader, before, after = both(make, (2,), lambda: {(0, 0): np.zeros(32, np.uint32)}, workgroup_size=(32, 1, 1),
                                 wave=32)
    lane = np.arange(32)
    np.testing.assert_array_equal(before[0, 0], np.where(31 - lane < 20, 31 - lane, 31 * 16))
    np.testing.assert_array_equal(before[0, 0], after[0, 0])
    assert shader.info["shared_bytes"] >= 32 * 4 + 32 * 16 + 4


@pytest.mark.parametrize("length", [5, 32, 100])
def test_zeroed_shared_memory(length: int) -> None:
    def make(b: Builder) -> None:
        before = b.variable("shared", b.array(b.scalar(), 7))
        words = b.variable("shared", b.array(b.scalar(), length), [0] * length)
        lane = b.load_local_invocation_index()
        b.store(b.deref_array(b.deref_var(before), b.imm(3)), lane)
        value = b.load(b.deref_array(b.deref_var(words), b.umod(lane, b.imm(length))))
        b.store(b.deref_array(buffer(b, 0, 32), lane), b.iadd(value, b.imm(3)))

    b = Builder(workgroup_size=(32, 1, 1))
    make(b)
    shader = b.finish()
    passes.run(shader, on_pass=lambda name, shader, seconds: validate.run(shader))
    machine = interpreter.Interpreter(shader, (1,), {(0, 0): (out := np.zeros(32, np.uint32))})
    machine.garbage = 0xAA
    machine.run()
    np.testing.assert_array_equal(out, 3)
    assert "barrier" in opcodes(shader)


def test_large_local_arrays_live_in_scratch() -> None:
    def make(b: Builder) -> None:
        array = b.variable("function_temp", b.array(b.vector(2), 100))
        lane = b.load_local_invocation_index()
        b.store(b.deref_array(b.deref_var(array), lane), b.vec(lane, b.iadd(lane, b.imm(5))))
        value = b.load(b.deref_array(b.deref_var(array), lane))
        b.store(b.deref_array(buffer(b, 0, 32), lane), b.imul(b.component(value, 0), b.component(value, 1)))

    shader, _, after = both(make, (1,), lambda: {(0, 0): np.zeros(64, np.uint32)})
    lane = np.arange(64, dtype=np.uint32)
    np.testing.assert_array_equal(after[0, 0], lane * (lane + 5))
    assert shader.info["scratch_bytes"] == 800
    assert shader.metadata["abi"]["scratch_bytes_per_lane"] == 800
    assert {"load_scratch", "store_scratch"} <= set(opcodes(shader))


def test_equal_constant_tables_share_bytes() -> None:
    def make(b: Builder) -> None:
        lane = b.load_local_invocation_index()
        total = b.imm(0)
        for _ in range(2):
            table = b.variable("function_temp", b.array(b.scalar(), 32), [i * i for i in range(32)])
            total = b.iadd(total, b.load(b.deref_array(b.deref_var(table), b.umod(lane, b.imm(32)))))
        b.store(b.deref_array(buffer(b, 0, 32), lane), total)

    shader, _, after = both(make, (1,), lambda: {(0, 0): np.zeros(64, np.uint32)})
    np.testing.assert_array_equal(after[0, 0], 2 * (np.arange(64) % 32) ** 2)
    assert len(shader.constant_data) == 128
    assert shader.info["scratch_bytes"] == 0


def test_array_length() -> None:
    def make(b: Builder) -> None:
        type = b.struct((b.vector(3), 0), (b.array(b.vector(2), 0, 12), 16))
        array = b.deref_struct(block(b, type, 0), 1)
        b.store(b.deref_array(buffer(b, 1, 32), b.imm(0)), b.deref_buffer_array_length(array))

    for size, expected in ((16, 0), (27, 0), (28, 1), (1000, 82)):
        def buffers(size: int = size) -> dict[tuple[int, int], Any]:
            return {(0, 0): np.zeros(size, np.uint8), (0, 1): np.zeros(4, np.uint32)}

        _, _, after = both(make, (1,), buffers, workgroup_size=(1, 1, 1))
        assert after[0, 1][0] == expected


SYSTEM_VALUES = ("load_workgroup_id", "load_num_workgroups", "load_workgroup_size", "load_local_invocation_id",
                 "load_global_invocation_id", "load_local_invocation_index", "load_subgroup_id", "load_num_subgroups",
                 "load_subgroup_size", "load_subgroup_invocation")


@pytest.mark.parametrize("name", SYSTEM_VALUES)
@pytest.mark.parametrize(("level", "wave", "size"), [(90, 64, (5, 3, 2)), (103, 32, (16, 4, 1)), (110, 64, (4, 4, 8)),
                                                     (120, 32, (3, 1, 20))])
def test_system_values(name: str, level: int, wave: int, size: tuple[int, int, int]) -> None:
    invocations = size[0] * size[1] * size[2]

    def make(b: Builder) -> None:
        lane = b.load_local_invocation_index()
        group = b.load_workgroup_id()
        flat = b.component(group, 0)
        for dimension, count in ((1, 2), (2, 6)):
            flat = b.iadd(flat, b.imul(b.component(group, dimension), b.imm(count)))
        value = getattr(b, name)()
        row = b.iadd(b.imul(flat, b.imm(invocations)), lane)
        for i in range(b.components(value)):
            at = b.iadd(b.imul(row, b.imm(3)), b.imm(i))
            b.store(b.deref_array(buffer(b, 0, 32), at), b.component(value, i))

    _, before, after = both(make, (2, 3, 2), lambda: {(0, 0): np.zeros(12 * invocations * 3, np.uint32)}, wave=wave,
                            gfx_level=level, workgroup_size=size)
    np.testing.assert_array_equal(before[0, 0], after[0, 0])


def test_abi_names_only_what_is_used() -> None:
    b = Builder(gfx_level=110, wave_size=32, workgroup_size=(32, 2, 1))
    group = b.load_workgroup_id()
    identity = b.load_local_invocation_id()
    b.store(b.deref_array(buffer(b, 4, 32), b.component(identity, 1)), b.component(group, 2))
    shader = b.finish()
    passes.run(shader)
    abi = shader.metadata["abi"]
    assert abi["user_sgprs"] == [{"kind": "descriptor_set", "first": 0, "count": 1, "set": 0}]
    assert abi["workgroup_id_mask"] == 4
    assert abi["local_id_components"] == 2
    assert abi["descriptor_sets"][0] == {"size": 16, "bindings": {4: {"offset": 0, "stride": 16, "count": 1,
                                                                       "type": "storage_buffer"}}}
    assert not abi["scratch_wave_offset"]


def test_runtime_sized_array_must_be_last() -> None:
    with pytest.raises(UnsupportedError, match="not the last"):
        arguments.own_layout({0: {0: ("ssbo", 0), 1: ("ssbo", 1)}})
    placed = arguments.own_layout({0: {0: ("ubo", 3), 2: ("ssbo", 0)}}).sets[0].bindings[2]
    assert (placed.offset, placed.stride, placed.elements, placed.binding.variable) == (48, 16, 0, True)


def test_a_set_beyond_those_there_are() -> None:
    with pytest.raises(UnsupportedError, match="descriptor set 100"):
        arguments.own_layout({100: {0: ("ssbo", 1)}})


def test_binding_of_two_types_is_mutable() -> None:
    b = Builder()
    kind = b.array(b.scalar(), 4, stride=4)
    b.store(b.deref_array(block(b, kind, 3), b.imm(0)), b.load(b.deref_array(block(b, kind, 3, "ubo"), b.imm(0))))
    shader = b.finish()
    passes.run(shader)
    assert shader.metadata["abi"]["descriptor_sets"][0]["bindings"][3]["type"] == "mutable"


def test_more_workgroup_memory_than_there_is() -> None:
    b = Builder()
    words = b.deref_var(b.variable("shared", b.array(b.scalar(), 16385)))
    b.store(b.deref_array(block(b, b.array(b.scalar(), 4, stride=4), 0), b.imm(0)), b.load(b.deref_array(words, b.imm(0))))
    with pytest.raises(UnsupportedError, match="workgroup memory of 65540 bytes \\(at most 65536"):
        passes.run(b.finish())


def test_unknown_built_in_is_unsupported() -> None:
    b = Builder()
    b.load(b.deref_var(b.variable("system_value", b.scalar(), builtin=4242)))
    with pytest.raises(UnsupportedError, match="4242"):
        lower_system_values.run(b.finish(), {"stage": "inputs"})


def test_store_to_push_constants_is_unsupported() -> None:
    b = Builder()
    b.store(b.deref_var(b.variable("push_constant", b.scalar())), b.imm(1))
    with pytest.raises(UnsupportedError, match="read-only"):
        lower_explicit_io.run(b.finish())
