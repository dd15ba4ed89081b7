"""The same shader with its descriptors laid out in different ways gives the same results, through dispatches and command streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import CASES, Case

import pyaco
from pyaco._core.ir.shader import Shader
from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.layout import Binding, PipelineLayout, SetLayout
from pyaco.descriptors.sets import DescriptorSet
from pyaco.descriptors.types import DescriptorType
from pyaco.emu import Buffer, Device
from pyaco.emu.device import ENGINES, BufferRange
from pyaco.errors import InputError
from pyaco.nir.builder import Builder
from pyaco.pm4.build import DispatchStream
from pyaco.spirv import reflect

T = DescriptorType
TYPES = {
    "plain": {"ubo": T.UNIFORM_BUFFER, "ssbo": T.STORAGE_BUFFER},
    "dynamic": {"ubo": T.UNIFORM_BUFFER_DYNAMIC, "ssbo": T.STORAGE_BUFFER_DYNAMIC},
    "mutable": {"ubo": T.MUTABLE, "ssbo": T.MUTABLE},
}


def layout_of(reflected: dict[str, Any], way: str, extra_sets: int) -> PipelineLayout:
    """The shader's own bindings in a layout with images between them, and sets that it does not use."""
    sets = {}
    for number, bindings in reflected["descriptor_sets"].items():
        top = max(bindings) + 1
        fillers = [Binding(top, T.COMBINED_IMAGE_SAMPLER, 2), Binding(top + 1, T.STORAGE_IMAGE)]
        types = (T.UNIFORM_BUFFER, T.STORAGE_BUFFER, T.SAMPLED_IMAGE)
        sets[number] = SetLayout([*fillers, *(Binding(binding, TYPES[way][facts["type"]], facts["count"] or 4, types if way == "mutable" else ())
                                              for binding, facts in bindings.items())])
    sets |= {31 - k: SetLayout([Binding(0, T.SAMPLER)]) for k in range(extra_sets)}
    return PipelineLayout(sets, reflected["push_constant_bytes"])


def run(case: Case, target: str, layout: PipelineLayout | None, door: str) -> dict[Any, np.ndarray]:
    device, inputs = Device(target), case.inputs()
    shader = pyaco.compile(case.spirv.read_bytes(), target, spec=dict(case.spec), layout=layout)
    placed: dict[Any, Buffer] = {key: device.buffer(buffer.data) for key, buffer in inputs.buffers.items()}
    bound: dict[Any, dict[int, Buffer]] = {}
    for key, buffer in placed.items():
        if len(key) == 3:
            bound.setdefault(key[:2], {})[key[2]] = buffer
        else:
            bound.setdefault(key, {})[0] = buffer
    lists = {key: [elements[k] for k in range(len(elements))] for key, elements in bound.items()}
    arguments: dict[str, Any]
    if door.startswith("sets"):
        assert layout is not None
        made = {number: DescriptorSet(layout.sets[number]) for number in layout.sets}
        for (number, binding), buffers in lists.items():
            kind = T.STORAGE_BUFFER if layout.sets[number].bindings[binding].binding.type == T.MUTABLE else None
            for element, buffer in enumerate(buffers):
                words = raw_buffer(buffer.address, buffer.size, device.gfx_level)
                made[number].write(binding, {"buffer": words}, element, kind=kind)
        arguments = {"push": inputs.push, "sets": made}
    else:
        arguments = {"push": inputs.push, "buffers": lists}
    if door.endswith("stream"):
        with DispatchStream(device, shader, case.groups, **arguments) as stream:
            device.submit(stream.words)
    else:
        device.dispatch(shader, case.groups, **arguments)
    return {key: buffer.numpy().copy() for key, buffer in placed.items()}


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1200"])
@pytest.mark.parametrize("name", ["descriptor_arrays", "strided_copy", "push_constants"])
def test_layouts_change_no_result(name: str, target: str) -> None:
    case = CASES[name]
    reflected = reflect(case.spirv.read_bytes())
    wanted = run(case, target, None, "dispatch")
    for way, door in (("plain", "sets"), ("dynamic", "dispatch"), ("dynamic", "stream"), ("mutable", "sets in a stream")):
        if door.startswith("sets") and any(not facts["count"] for bindings in reflected["descriptor_sets"].values() for facts in bindings.values()):
            continue
        found = run(case, target, layout_of(reflected, way, 2), door)
        for key, array in wanted.items():
            np.testing.assert_array_equal(found[key], array, err_msg=f"{way} {door} {key}")


@pytest.mark.parametrize("target", ["gfx900", "gfx1100"])
def test_more_sets_than_registers(target: str) -> None:
    def shader() -> Shader:
        b = Builder(gfx_level=pyaco.targets.chip(target).level, wave_size=64, workgroup_size=(1, 1, 1))
        total = b.imm(0)
        struct = b.array(b.scalar(), 0, stride=4)
        for number in range(20):
            total = b.iadd(b.imul(total, b.imm(3)), b.load(b.deref_array(b.deref_var(b.variable("ssbo", struct, set=number, binding=1)), b.imm(0))))
        b.store(b.deref_array(b.deref_var(b.variable("ssbo", struct, set=20, binding=0)), b.imm(0)), total)
        return b.finish()

    device = Device(target)
    compiled = pyaco.compile(shader(), target)
    assert compiled.abi is not None
    assert [argument.kind for argument in compiled.abi.user_sgprs][-1] == "descriptor_set_table"
    buffers = {(number, 1): device.buffer(np.array([number + 7], np.uint32)) for number in range(20)}
    buffers[20, 0] = device.zeros(4)
    wanted = 0
    for number in range(20):
        wanted = wanted * 3 + number + 7
    device.dispatch(compiled, buffers=buffers)
    assert buffers[20, 0].numpy().view(np.uint32)[0] == wanted & 0xFFFFFFFF
    buffers[20, 0].write(bytes(4))
    with DispatchStream(device, compiled, buffers=buffers) as stream:
        device.submit(stream.words)
    assert buffers[20, 0].numpy().view(np.uint32)[0] == wanted & 0xFFFFFFFF


def test_dynamic_offsets_and_blocks() -> None:
    case = CASES["strided_copy"]
    inputs = case.inputs()
    code = case.spirv.read_bytes()
    wanted = run(case, "gfx1100", None, "dispatch")[0, 1]
    data = inputs.buffers[1, 0].data
    device = Device("gfx1100")
    source = device.buffer(inputs.buffers[0, 0].data)
    behind = device.buffer(np.concatenate([np.zeros(64, np.uint32), data.reshape(-1)]))
    for kind in (T.UNIFORM_BUFFER_DYNAMIC, T.INLINE_UNIFORM_BLOCK):
        target = device.zeros(inputs.buffers[0, 1].data.nbytes)
        count = data.nbytes if kind == T.INLINE_UNIFORM_BLOCK else 1
        layout = PipelineLayout({0: SetLayout([Binding(0, T.STORAGE_BUFFER), Binding(1, T.STORAGE_BUFFER)]), 1: SetLayout([Binding(0, kind, count)])})
        shader = pyaco.compile(code, "gfx1100", layout=layout)
        uniform = data.tobytes() if kind == T.INLINE_UNIFORM_BLOCK else BufferRange(behind, 64, data.nbytes)
        moves = [] if kind == T.INLINE_UNIFORM_BLOCK else [192]
        device.dispatch(shader, case.groups, {(0, 0): source, (0, 1): target, (1, 0): uniform}, dynamic_offsets=moves)
        np.testing.assert_array_equal(target.numpy().view(np.uint32), wanted.reshape(-1))
    with pytest.raises(InputError, match="not within a buffer"):
        BufferRange(behind, behind.size - 4, 8).words(110)


def test_what_the_layout_has_and_the_shader_does_not_use() -> None:
    """Everything that a pipeline's layout has may be bound: dynamic buffers and blocks of sets that the shader does not use too."""
    case = CASES["strided_copy"]
    inputs, wanted = case.inputs(), run(case, "gfx1100", None, "dispatch")[0, 1]
    sets = {
        0: SetLayout([Binding(0, T.STORAGE_BUFFER), Binding(1, T.STORAGE_BUFFER), Binding(2, T.STORAGE_BUFFER, 3)]),
        1: SetLayout([Binding(0, T.UNIFORM_BUFFER)]),
        3: SetLayout([Binding(0, T.STORAGE_BUFFER_DYNAMIC, 2), Binding(4, T.INLINE_UNIFORM_BLOCK, 8), Binding(5, T.STORAGE_BUFFER)]),
    }
    shader = pyaco.compile(case.spirv.read_bytes(), "gfx1100", layout=PipelineLayout(sets, 64))
    for engine in ("reference", "fast"):
        device = Device("gfx1100", engine)
        other = device.buffer(np.full(4, 7, np.uint32))
        buffers: dict[Any, Any] = {key: device.buffer(np.array(buffer.data)) for key, buffer in inputs.buffers.items()}
        buffers |= {(0, 2): [other, other], (3, 0): [other, other], (3, 4): b"12345678", (3, 5): other}
        report = device.dispatch(shader, case.groups, buffers, bytes(256), dynamic_offsets=[4, 8])
        with pytest.raises(InputError, match="3 dynamic offsets: the pipeline has 2 dynamic buffers"):
            device.dispatch(shader, case.groups, buffers, dynamic_offsets=[0, 0, 0])
        assert report.unused_bindings == () and (other.numpy() == 7).all()
        np.testing.assert_array_equal(buffers[0, 1].numpy().reshape(-1).view(np.uint32), wanted.reshape(-1))


def test_layouts_that_do_not_fit_the_shader() -> None:
    code = CASES["strided_copy"].spirv.read_bytes()
    sets = {0: SetLayout([Binding(0, T.STORAGE_BUFFER), Binding(1, T.STORAGE_BUFFER)])}
    with pytest.raises(InputError, match="no binding 0 in descriptor set 1"):
        pyaco.compile(code, layout=PipelineLayout(sets))
    with pytest.raises(InputError, match="is a storage_image, and the shader reads a ubo"):
        pyaco.compile(code, layout=PipelineLayout({**sets, 1: SetLayout([Binding(0, T.STORAGE_IMAGE)])}))
    shader = pyaco.compile(code, layout=PipelineLayout({**sets, 1: SetLayout([Binding(0, T.UNIFORM_BUFFER)])}))
    with pytest.raises(InputError, match="laid out otherwise"):
        Device("gfx1100").dispatch(shader, sets={1: DescriptorSet(SetLayout([Binding(0, T.SAMPLER)]))})
    with pytest.raises(InputError, match="dynamic offsets"):
        Device("gfx1100").dispatch(shader, dynamic_offsets=[1])


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx1200"])
def test_sets_in_a_descriptor_buffer(target: str) -> None:
    """Sets at offsets in one buffer; one of them was written by a shader."""
    case = CASES["strided_copy"]
    inputs, wanted = case.inputs(), run(case, target, None, "dispatch")[0, 1]
    code = case.spirv.read_bytes()
    layout = PipelineLayout({0: SetLayout([Binding(0, T.STORAGE_BUFFER), Binding(3, T.STORAGE_IMAGE), Binding(1, T.STORAGE_BUFFER)]),
                             1: SetLayout([Binding(0, T.UNIFORM_BUFFER)])})
    shader, copies = pyaco.compile(code, target, layout=layout), pyaco.compile(code, target)
    for engine in ENGINES:
        device = Device(target, engine)
        buffers: dict[Any, Buffer] = {key: device.buffer(np.array(buffer.data)) for key, buffer in inputs.buffers.items()}
        sets = {number: DescriptorSet(layout.sets[number]) for number in layout.sets}
        for (number, binding), buffer in buffers.items():
            sets[number].write(binding, {"buffer": raw_buffer(buffer.address, buffer.size, device.gfx_level)})
        second = np.frombuffer(bytes(sets[1].memory), np.uint32)
        assert len(second) == 8
        whole = device.buffer(np.array([8, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], np.uint32))
        places = device.descriptor_buffer(bytes(sets[0].memory).ljust(512, b"\0"), name="sets")
        device.dispatch(copies, (1, 1, 1), {(0, 0): device.buffer(second), (0, 1): BufferRange(places, 256, 32), (1, 0): whole})
        device.dispatch(shader, case.groups, sets={0: places, 1: BufferRange(places, 256)})
        np.testing.assert_array_equal(buffers[0, 1].numpy().reshape(-1).view(np.uint32), wanted.reshape(-1))
        with pytest.raises(InputError, match="offset 257 in a buffer"):
            device.dispatch(shader, case.groups, sets={0: BufferRange(places, 257)})
        with pytest.raises(InputError, match="not one of Device"):
            device.dispatch(shader, case.groups, sets={0: buffers[0, 0]})
        address = places.address
        places.release()
        with pytest.raises(InputError, match="not one of Device"):
            device.dispatch(shader, case.groups, sets={0: places})
        assert address >> 32 == 0xFFFF8000
