"""Kernels that call the host: interrupts reach it from every engine, and the hostcall buffer is served as device libraries expect."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco import emu, isa
from pyaco.emu.errors import EmulationError, KernelAssertionError
from pyaco.emu.hostcall import Hostcalls
from pyaco.errors import InputError, UnsupportedError

TARGETS = ("gfx803", "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
ENGINES: dict[str, dict[str, Any]] = {
    "reference": {"engine": "reference"}, "fast": {"engine": "fast", "threads": 1}, "threads": {"engine": "fast", "threads": 4},
    "inspecting": {"check": "memory,waits"},
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ENGINES)
def test_interrupts_reach_the_host(target: str, name: str) -> None:
    device, heard = emu.Device(target, **ENGINES[name]), []

    def listen(wave: int, first_lane: int) -> bool:
        heard.append((wave, first_lane))
        return True

    code = isa.assemble("s_mov_b32 m0, 1\ns_nop 0\ns_sendmsg sendmsg(MSG_INTERRUPT)\ns_sendmsg 0x83\ns_endpgm", target)
    waves, lanes = 3, 64 if target in ("gfx803", "gfx906", "gfx90a", "gfx942") else 32
    device.run(code, (5,), (waves * lanes,), wave_size=lanes)       # nobody listens
    device._engine.interrupt = listen
    device.run(code, (5,), (waves * lanes,), wave_size=lanes)
    assert sorted(heard) == sorted([(wave, wave * lanes) for wave in range(waves)] * 5)


@pytest.mark.parametrize("name", ENGINES)
def test_a_host_that_does_not_serve_ends_the_dispatch(name: str) -> None:
    device = emu.Device("gfx1100", **ENGINES[name])
    code = isa.assemble("s_sendmsg sendmsg(MSG_INTERRUPT)\ns_endpgm", "gfx1100")
    device._engine.interrupt = lambda wave, first_lane: wave < 1
    with pytest.raises(EmulationError, match=r"host: s_sendmsg sendmsg\(MSG_INTERRUPT\) \(workgroup \(0, 0, 0\), wave 1"):
        device.run(code, (2,), (64,))
    served = device.hostcalls                                       # which listens from now on
    served._words[4] = 1 << 13 | 5                                  # a ready packet, of service 0
    with pytest.raises(UnsupportedError, match="hostcall 0"):
        device.run(code, (2,), (64,))


class Wave:
    """A wave that calls as AMD's device libraries do."""

    def __init__(self, hostcalls: Hostcalls, view: Callable[[int, int], memoryview | None]) -> None:
        self._hostcalls, self._view = hostcalls, view
        self.words = np.frombuffer(self._memory(hostcalls.address, 48), np.uint64)

    def _memory(self, address: int, size: int) -> memoryview:
        found = self._view(address, size)
        assert found is not None
        return found

    def call(self, service: int, payload: dict[int, list[int]], first_lane: int = 0) -> dict[int, int]:
        """Call the host with up to eight words of each lane; return the first word that each gets."""
        headers, payloads, signal, taken, _, mask = (int(word) for word in self.words[:6])
        index = taken & mask
        header = np.frombuffer(self._memory(headers + 24 * index, 24), np.uint32)
        self.words[3] = header[:2].view(np.uint64)[0]
        slots = np.frombuffer(self._memory(payloads + 4096 * index, 4096), np.uint64).reshape(64, 8)
        for lane, words in payload.items():
            slots[lane, : len(words)] = words
        header[2:4] = np.array([sum(1 << lane for lane in payload)], np.uint64).view(np.uint32)
        header[4:] = service, 1
        header[:2] = self.words[4:5].view(np.uint32)
        self.words[4] = taken
        mailbox = struct.unpack("<Q", self._memory(signal + 16, 8))[0]
        assert mailbox and self._memory(mailbox, 8) is not None    # or device libraries send no interrupt
        if not self._hostcalls.serve(1, first_lane):
            assert self._hostcalls.error is not None
            raise self._hostcalls.error
        assert header[5] == 0 and int(self.words[4]) == 0
        header[:2] = self.words[3:4].view(np.uint32)
        self.words[3] = np.uint64((taken + mask + 1) % (1 << 64) or mask + 1)
        return {lane: int(slots[lane, 0]) for lane in payload}

    def print(self, messages: dict[int, bytes], control: int = 0, first_lane: int = 0) -> dict[int, int]:
        """Send messages of one length in words, seven of them at a time."""
        descriptors = self.call(2, {lane: [1 | 1 << 5, control] for lane in messages}, first_lane)
        words: dict[int, NDArray[np.uint64]] = {lane: np.frombuffer(message, np.uint64) for lane, message in messages.items()}
        length = max(len(part) for part in words.values())
        for start in range(0, length, 7):
            last = 2 if start + 7 >= length else 0
            parts = {lane: [int(word) for word in message[start : start + 7]] for lane, message in words.items()}
            descriptors = self.call(2, {lane: [descriptors[lane] & ~0xE2 | len(part) << 5 | last, *part] for lane, part in parts.items()}, first_lane)
        return descriptors


@pytest.fixture
def wave() -> Wave:
    device = emu.Device("gfx942")
    return Wave(device.hostcalls, device.space.view)


def padded(text: bytes) -> bytes:
    return text + bytes(8 - len(text) % 8)


def test_lanes_print_in_order(wave: Wave, capsys: pytest.CaptureFixture[str]) -> None:
    form = padded(b"a format of more than fifty-six characters, so that it takes two calls: lane %u has %f\n")
    printed = wave.print({lane: form + struct.pack("<Qd", lane, lane / 4) for lane in (63, 2, 40)})
    lines = [f"a format of more than fifty-six characters, so that it takes two calls: lane {lane} has {lane / 4:.6f}" for lane in (2, 40, 63)]
    assert capsys.readouterr().out.splitlines() == lines
    assert printed == {lane: len(line) + 1 for lane, line in zip((2, 40, 63), lines, strict=True)}


def test_packets_are_used_again(wave: Wave, capsys: pytest.CaptureFixture[str]) -> None:
    mask = int(wave.words[5])
    for number in range(40):
        wave.print({0: padded(b"%d ") + struct.pack("<Q", number)})
    assert capsys.readouterr().out == "".join(f"{number} " for number in range(40))
    index, seen = int(wave.words[3]) & mask, set()
    headers = int(wave.words[0])
    while index not in seen:                                        # every packet is on the free stack again
        seen.add(index)
        following = struct.unpack("<Q", wave._memory(headers + 24 * index, 8))[0]
        index = following & mask if following else index
    assert len(seen) == mask + 1


def test_standard_error_and_a_trap_are_an_assertion(wave: Wave, capsys: pytest.CaptureFixture[str]) -> None:
    hostcalls = wave._hostcalls
    trap = EmulationError("trap", {"workgroup": (1, 2, 3), "wave": 1, "pc": 0, "instruction": "s_trap 2"})
    assert hostcalls.assertion(trap) is trap
    wave.print({lane: padded(b"it failed\n") for lane in (0, 1, 2, 5)}, control=1, first_lane=64)
    assert capsys.readouterr().err == "it failed\n" * 4
    found = hostcalls.assertion(trap)
    assert isinstance(found, KernelAssertionError) and isinstance(found, RuntimeError)
    assert str(found) == "it failed (workgroup (1, 2, 3), invocations 64-66, 69)"
    assert found.place["invocations"] == [64, 65, 66, 69] and found.to_dict()["kind"] == "assertion"
    hostcalls.begin()
    assert hostcalls.assertion(trap) is trap


@pytest.mark.parametrize(("service", "name"), [(1, "a function of the host"), (3, "malloc"), (4, "AddressSanitizer"), (77, "hostcall 77")])
def test_other_services_are_refused_by_name(wave: Wave, service: int, name: str) -> None:
    with pytest.raises(UnsupportedError, match=name):
        wave.call(service, {0: [0]})


def test_messages_that_nobody_began_are_refused(wave: Wave) -> None:
    with pytest.raises(InputError, match="message 7"):
        wave.call(2, {3: [7 << 8 | 1 << 5, 1]})
    with pytest.raises(UnsupportedError, match="hash"):
        wave.print({0: padded(b"x")}, control=2)
