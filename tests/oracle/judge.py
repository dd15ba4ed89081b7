"""Compile a case, run it on an engine of ours, and say what differs from what a peer or a model expects."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import llvm_forms
import numpy as np
from case import BufferKey, Case, Inputs
from vulkan_peer import Lavapipe

from pyaco import isa, targets

Contents = Mapping[BufferKey, np.ndarray]
_expected: dict[tuple[str, int], Contents] = {}


def expected(case: Case, wave: int, lavapipe: Lavapipe | None) -> Contents:
    """What each buffer must hold afterwards, from the case's model or from lavapipe; kept for the session."""
    key = (case.name, wave if case.model else 0)
    if key not in _expected:
        inputs = case.inputs()
        before = {name: buffer.data for name, buffer in inputs.buffers.items()}
        if case.model:
            _expected[key] = {**before, **case.model(inputs, wave)}
        else:
            assert lavapipe is not None
            _expected[key] = lavapipe.run(
                case.spirv.read_bytes(), case.groups, before, inputs.push, case.spec, inputs.references, case.entry
            )
    return _expected[key]


def run_emulator(shader: Any, case: Case, inputs: Inputs, engine: str = "reference", **watch: Any) -> Contents:
    """Dispatch a compiled shader on the emulator; `watch` is what ``Device`` takes."""
    return dispatched(shader, case, inputs, engine=engine, **watch)[0]


def dispatched(shader: Any, case: Case, inputs: Inputs, **watch: Any) -> tuple[Contents, Any]:
    """What `run_emulator` returns, and the dispatch's report."""
    from pyaco import emu

    device = emu.Device(shader.target, **watch)
    contents = {key: np.array(buffer.data) for key, buffer in inputs.buffers.items()}
    handles = {key: device.buffer(data) for key, data in contents.items()}
    push = bytearray(inputs.push)
    for (place, offset), name in inputs.references.items():
        address = int(handles[name].address).to_bytes(8, "little")
        if place == "push":
            push[offset : offset + 8] = address
        else:
            handles[place].write(address, offset)
    report = device.dispatch(shader, groups=case.groups, buffers=arrange(handles), push=bytes(push), budget=1 << 28)
    found = {key: handle.numpy().view(inputs.buffers[key].data.dtype) for key, handle in handles.items()}
    return {key: _restored(key, data, inputs) for key, data in found.items()}, report


def _restored(key: BufferKey, data: np.ndarray, inputs: Inputs) -> np.ndarray:
    """Put back what the buffer held where a device address was written."""
    data = np.array(data).reshape(inputs.buffers[key].data.shape)
    raw = data.reshape(-1).view(np.uint8)
    before = np.ascontiguousarray(inputs.buffers[key].data).reshape(-1).view(np.uint8)
    for place, offset in inputs.references:
        if place == key:
            raw[offset : offset + 8] = before[offset : offset + 8]
    return data


def arrange(handles: Mapping[BufferKey, Any]) -> dict[tuple[int, int], Any]:
    """Bindings as pyaco takes them: a descriptor array is a list under its (set, binding)."""
    result: dict[tuple[int, int], Any] = {}
    for key in sorted(key for key in handles if not isinstance(key, str)):
        if len(key) == 3:
            result.setdefault(key[:2], []).append(handles[key])
        else:
            result[key] = handles[key]
    return result


def run_nir(shader: Any, case: Case, inputs: Inputs, wave: int) -> Contents:
    """Execute a NIR shader on the NIR interpreter."""
    from pyaco.nir import interpreter

    contents = {key: np.array(buffer.data) for key, buffer in inputs.buffers.items()}
    flat = {key: data.reshape(-1).view(np.uint8) for key, data in contents.items()}
    machine = interpreter.Interpreter(shader, case.groups, arrange(flat), inputs.push, wave)
    addresses = {name: 0x2_0000_0000 + 0x100_0000 * i for i, name in enumerate(k for k in flat if isinstance(k, str))}
    for name, address in addresses.items():
        machine.memory.add(address, flat[name])
    for (place, offset), name in inputs.references.items():
        target = machine.push if place == "push" else flat[place]
        target[offset : offset + 8] = np.frombuffer(addresses[name].to_bytes(8, "little"), np.uint8)
    machine.run()
    return {key: _restored(key, data, inputs) for key, data in contents.items()}


def nir_after(case: Case, target: str, wave: int, stop_after: str | None = None) -> Any:
    """NIR of a case after the reader (``stop_after="read"``), after a named pass, or after all of them."""
    from pyaco import spirv
    from pyaco.nir import passes

    chip = targets.chip(target)
    shader = spirv.read(case.spirv.read_bytes(), entry=None, specialization=dict(case.spec))
    shader.set_info(gfx_level=chip.level, wave_size=wave, address32_hi=0xFFFF8000)

    class Stop(Exception):
        pass

    def observe(name: str, ir: Any, seconds: float) -> None:
        if name == stop_after:
            raise Stop

    if stop_after != "read":
        with contextlib.suppress(Stop):
            passes.run(shader, on_pass=observe)
    return shader


def differences(inputs: Inputs, wanted: Contents, found: Contents, limit: int = 8) -> list[str]:
    """One line per buffer that is not as its rule demands, with the first elements that differ."""
    lines = []
    for key, buffer in inputs.buffers.items():
        expected_data = np.asarray(wanted[key]).reshape(buffer.data.shape)
        mask = buffer.rule.difference(expected_data, found[key]).reshape(-1)
        if not mask.any():
            continue
        shown = []
        for index in np.flatnonzero(mask)[:limit]:
            position = tuple(int(i) for i in np.unravel_index(index, buffer.data.shape))
            left, right = (np.asarray(data).reshape(-1)[index] for data in (found[key], expected_data))
            shown.append(f"{list(position)} {_show(left)} should be {_show(right)}")
        lines.append(f"{key}: {mask.sum()} of {mask.size} differ: " + "; ".join(shown))
    return lines


def _show(value: np.generic) -> str:
    if isinstance(value, np.floating):
        return f"{value!s} (0x{value.tobytes()[::-1].hex()})"
    if isinstance(value, np.integer):
        return f"{value!s} ({int(value) & (1 << 8 * value.itemsize) - 1:#x})"
    return str(value)


def _assembled_otherwise(shader: Any) -> list[str]:
    """Where LLVM's assembler, beside its disassembler, makes other words of our disassembly of a compiled shader."""
    theirs = np.frombuffer(llvm_forms.assemble_program(shader.target, isa.disassemble(shader.code, shader.target)), np.uint32)
    ours = np.frombuffer(shader.code, np.uint32)
    if len(theirs) != len(ours):
        return [f"{len(theirs)} words instead of {len(ours)}"]
    return [f"word {k}: {theirs[k]:08x} instead of {ours[k]:08x}" for k in np.flatnonzero(theirs != ours)]


def undecoded(shader: Any) -> list[str]:
    """What is not an instruction for LLVM in a compiled shader.

    LLVM has no disassembler of GFX6 and GFX7: there its assembler must make the same code of our disassembly.
    """
    if targets.chip(shader.target).level < 80:
        return _assembled_otherwise(shader)
    return llvm_forms.undecoded(shader.target, f"+wavefrontsize{shader.wave},+real-true16", shader.code)
