"""Calls of kernels to the host: the buffer through which AMD's device libraries print, and what serves it.

A wave takes a packet from a stack of free ones, writes a payload for each lane, puts the packet on the stack of ready ones, interrupts the
host and polls the packet's control word. Here the interrupt (``s_sendmsg``) serves the packet before the wave goes on, so no wave ever
waits. Both stacks change by atomics, which waves execute in the order of their workgroups: nobody else changes them meanwhile.

Sources: AMD's device libraries (``ockl``: hostcall and its messages), the read-me of ``lib/hostcall`` in ROCm's compiler support,
``amd_signal_t`` of the HSA runtime, LLVM's "User Guide for AMDGPU Backend" (``hidden_hostcall_buffer``).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy
from numpy.typing import NDArray

from pyaco.emu.errors import EmulationError, KernelAssertionError
from pyaco.emu.printf import text_of
from pyaco.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = ["Complaint", "Hostcalls"]

# A power of two, because a packet is named by its index with a tag above it. As many as waves can be there at once: none is ever missing.
_PACKETS = 8192
_LANES, _SLOT_WORDS = 64, 8
_HEADER = numpy.dtype([("next", "<u8"), ("active", "<u8"), ("service", "<u4"), ("control", "<u4")])
# Words of the buffer, then of the signal and its mailbox, in the first 256 bytes.
_HEADERS, _PAYLOADS, _SIGNAL, _FREE, _READY, _INDEX_MASK = range(6)
_SIGNAL_WORD, _MAILBOX, _EVENT, _MAILBOX_WORD, _WORDS = 8, 10, 11, 24, 32
_PRINTF = 2
_SERVICES = {1: "a function of the host", 3: "memory (malloc and free in kernels)", 4: "AddressSanitizer"}
# The first word of a lane's payload describes its part of a message.
_BEGIN, _END, _LENGTH_SHIFT, _LENGTH_MASK, _ID_SHIFT = 1, 2, 5, 7, 8
# The first word of a message.
_TO_STDERR, _HASHED = 1, 2
_MOST_COMPLAINTS = 4096


class Complaint(NamedTuple):
    """What an invocation has written to standard error."""

    text: str
    wave: int
    invocation: int                     # in its workgroup


class Hostcalls:
    """The hostcall buffer of a device.

    Attributes
    ----------
    address : int
        What kernels get as ``hidden_hostcall_buffer``.
    error : BaseException or None
        Why the last packet was not served.
    complaints : list of Complaint
        What the kernel that runs has written to standard error, the first few thousand.
    """

    def __init__(self, space: AddressSpace) -> None:
        headers = 8 * _WORDS
        payloads = headers + _PACKETS * _HEADER.itemsize
        memory = numpy.zeros(payloads + _PACKETS * _LANES * _SLOT_WORDS * 8, numpy.uint8)     # the host gives pages as they are reached
        self.address: int = space.map(memory)
        self.error: BaseException | None = None
        self.complaints: list[Complaint] = []
        self._words = memory[:headers].view(numpy.uint64)
        self._headers = memory[headers:payloads].view(_HEADER)
        self._payloads = memory[payloads:].view(numpy.uint64).reshape(_PACKETS, _LANES, _SLOT_WORDS)
        self._messages: dict[int, bytearray] = {}
        self._last_message = 0
        # every packet on the free stack, tagged, because 0 ends it
        self._headers["next"] = numpy.append(numpy.arange(1, _PACKETS) | _PACKETS, 0)
        self._words[[_FREE, _INDEX_MASK]] = _PACKETS, _PACKETS - 1
        self._words[[_HEADERS, _PAYLOADS, _SIGNAL]] = self.address + headers, self.address + payloads, self.address + 8 * _SIGNAL_WORD
        self._words[[_MAILBOX, _EVENT]] = self.address + 8 * _MAILBOX_WORD, 1

    def begin(self) -> None:
        """A kernel is launched that may call: forget what an earlier one has left unfinished."""
        self.error = None
        self.complaints.clear()
        self._messages.clear()

    def assertion(self, trap: EmulationError) -> EmulationError:
        """Return what a trap means: an assertion that failed, where the kernel has said so before."""
        if not self.complaints:
            return trap
        text = self.complaints[-1].text
        invocations = sorted({invocation for said, _, invocation in self.complaints if said == text})
        place = trap.place | {"assertion": text.strip(), "invocations": invocations}
        return KernelAssertionError(f"{text.strip()} (workgroup {place['workgroup']}, invocations {_ranges(invocations)})", place)

    def serve(self, wave: int, first_lane: int) -> bool:
        """Serve the packets that are ready: what an engine calls for an interrupt of a wave. False where that failed: `error` says why."""
        try:
            ready, self._words[_READY] = int(self._words[_READY]), 0
            while ready:
                packet = ready & _PACKETS - 1
                ready = int(self._headers[packet]["next"])
                self._serve_packet(packet, wave, first_lane)
        except BaseException as error:                      # a keyboard interrupt too: the dispatch ends with it
            self.error = error
            return False
        return True

    def _serve_packet(self, packet: int, wave: int, first_lane: int) -> None:
        header, lanes = self._headers[packet], self._payloads[packet]
        service, active = int(header["service"]), int(header["active"])
        if service != _PRINTF:
            raise UnsupportedError(f"a kernel asks the host for {_SERVICES.get(service, 'a service')} (hostcall {service}); only printf is there")
        for lane in range(_LANES):
            if active >> lane & 1:
                lanes[lane, :2] = self._take(lanes[lane], wave, first_lane + lane)
        header["control"] = 0                               # the wave goes on

    def _take(self, slot: NDArray[numpy.uint64], wave: int, invocation: int) -> tuple[int, int]:
        """Take a lane's part of its message; return what the lane gets: the descriptor of the next part, or how much was printed."""
        descriptor = int(slot[0])
        if descriptor & _BEGIN:
            self._last_message += 1
            number = self._last_message
            self._messages[number] = bytearray()
            descriptor = descriptor & ~_BEGIN & (1 << _ID_SHIFT) - 1 | number << _ID_SHIFT
        number = descriptor >> _ID_SHIFT
        message = self._messages.get(number)
        if message is None:
            raise InputError(f"a kernel continues message {number} to the host, which it never began")
        message += slot[1 : 1 + (descriptor >> _LENGTH_SHIFT & _LENGTH_MASK)].tobytes()
        if not descriptor & _END:
            return descriptor, 0
        del self._messages[number]
        return self._print(bytes(message), wave, invocation), 0

    def _print(self, message: bytes, wave: int, invocation: int) -> int:
        control = int.from_bytes(message[:8], "little")
        if control & _HASHED:
            raise UnsupportedError("a kernel prints through the host with a hash for the format")
        text = text_of(message[8:])
        if control & _TO_STDERR and len(self.complaints) < _MOST_COMPLAINTS:
            self.complaints.append(Complaint(text, wave, invocation))
        print(text, end="", file=sys.stderr if control & _TO_STDERR else sys.stdout)
        return len(text.encode("utf-8", "replace"))


def _ranges(numbers: list[int]) -> str:
    """Ascending numbers as text, neighbours as ranges."""
    firsts = [number for number in numbers if number - 1 not in numbers]
    lasts = [number for number in numbers if number + 1 not in numbers]
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True))
