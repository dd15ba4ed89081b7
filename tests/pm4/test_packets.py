"""Each packet's effect, and the order of the two engines where it can be seen."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from pyaco import emu
from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4 import CommandProcessor, Ring, packet, run_rings
from pyaco.registers import registers

ME, PFP = 0, 1 << 30
MEMORY = 5 << 8
USER = 0x2C000 >> 2
WORDS = 64


class Bench:
    """A device with `WORDS` dwords of memory, and a processor."""

    def __init__(self, queue: str = "graphics", target: str = "gfx1030") -> None:
        self.device = emu.Device(target)
        self.buffer = self.device.zeros(4 * WORDS)
        self.words = self.buffer.numpy().view(np.uint32)
        self.processor = CommandProcessor(self.device, queue=queue)

    def at(self, dword: int) -> tuple[int, int]:
        address = self.buffer.address + 4 * dword
        return address & 0xFFFFFFFF, address >> 32

    def write(self, dword: int, *values: int, engine: int = ME) -> list[int]:
        return packet("WRITE_DATA", MEMORY | engine, *self.at(dword), *values)

    def run(self, *packets: list[int]) -> None:
        self.processor.submit([word for each in packets for word in each])


@pytest.fixture
def bench() -> Bench:
    return Bench()


# ------------------------------------------------------------------------------------------------------------------- engines
@pytest.mark.parametrize(("queue", "synchronized", "seen"), [("graphics", False, 0), ("graphics", True, 7), ("compute", False, 7)])
def test_the_front_end_reads_before_the_back_end_writes(queue: str, synchronized: bool, seen: int) -> None:
    """A write by the back end is seen by the front end's read behind it only with PFP_SYNC_ME, or where one engine does both."""
    bench = Bench(queue)
    synchronize = packet("PFP_SYNC_ME", 0) if synchronized else []
    bench.run(bench.write(0, 7), synchronize, packet("COPY_DATA", 1 | MEMORY | PFP, *bench.at(0), *bench.at(1)))
    assert bench.words[:2].tolist() == [7, seen]


@pytest.mark.parametrize("engine", [ME, PFP])
def test_a_write_by_the_front_end_is_seen_by_it(bench: Bench, engine: int) -> None:
    bench.run(bench.write(0, 7, engine=engine), packet("COPY_DATA", 1 | MEMORY | PFP, *bench.at(0), *bench.at(1)))
    assert bench.words[1] == (7 if engine == PFP else 0)


def test_conditions_are_read_by_the_front_end(bench: Bench) -> None:
    guarded = bench.write(4, 1)
    condition = packet("COND_EXEC", *bench.at(0), 0, len(guarded))
    bench.run(bench.write(0, 1), condition, guarded)
    assert bench.words[4] == 0
    bench.words[:] = 0
    bench.run(bench.write(0, 1), packet("PFP_SYNC_ME", 0), condition, guarded)
    assert bench.words[4] == 1


def test_predicates_are_read_by_the_front_end(bench: Bench) -> None:
    guarded = packet("WRITE_DATA", MEMORY, *bench.at(4), 1, predicated=True)
    setting = packet("SET_PREDICATION", 4 << 16 | 1 << 8, *bench.at(0))
    bench.run(bench.write(0, 1), setting, guarded)
    assert bench.words[4] == 0
    bench.run(setting, guarded)
    assert bench.words[4] == 1


def test_indirect_counts_are_fetched_ahead() -> None:
    """Counts that the back end writes are those of the dispatch only behind PFP_SYNC_ME."""
    for synchronized, workgroups in ((False, 1), (True, 6)):
        bench = Bench()
        code = bench.device.buffer(np.array([0xBF810000] * 16, np.uint32))
        bench.words[:3] = 1
        low, high = code.address >> 8 & 0xFFFFFFFF, code.address >> 40
        state = packet("SET_SH_REG", 0x20C, low, high, compute=True) + packet("SET_SH_REG", 0x207, 64, 1, 1, compute=True)
        synchronize = packet("PFP_SYNC_ME", 0) if synchronized else []
        dispatch = packet("SET_BASE", 1, *bench.at(0)) + packet("DISPATCH_INDIRECT", 0, 5, compute=True)
        bench.run(state, bench.write(0, 3, 2, 1), synchronize, dispatch)
        assert [report.workgroups for report in bench.processor.reports] == [workgroups]


def test_dispatch_indirect_by_address_on_a_compute_queue() -> None:
    bench = Bench("compute")
    code = bench.device.buffer(np.array([0xBF810000] * 16, np.uint32))
    state = packet("SET_SH_REG", 0x20C, code.address >> 8 & 0xFFFFFFFF, code.address >> 40, compute=True)
    state += packet("SET_SH_REG", 0x207, 32, 2, 1, compute=True)
    statistics = packet("EVENT_WRITE", 30 | 2 << 8, *bench.at(8))
    bench.run(state, bench.write(0, 3, 2, 1), packet("DISPATCH_INDIRECT", *bench.at(0), 5, compute=True), statistics)
    assert [report.workgroups for report in bench.processor.reports] == [6]
    assert bench.words[8:30].view(np.uint64).tolist() == [0] * 10 + [6 * 64]


def test_generated_buffers_are_fetched_when_they_are_called(bench: Bench) -> None:
    """The front end writes a packet into a buffer and then calls it."""
    inner = packet("WRITE_DATA", MEMORY, *bench.at(0), 42)
    called = bench.device.zeros(4 * len(inner))
    address = (called.address & 0xFFFFFFFF, called.address >> 32)
    bench.run(packet("WRITE_DATA", MEMORY | PFP, *address, *inner), packet("INDIRECT_BUFFER", *address, len(inner)), bench.write(1, 43))
    assert bench.words[:2].tolist() == [42, 43]
    bench.run(packet("INDIRECT_BUFFER", *address, len(inner) | 1 << 20), bench.write(2, 44))
    assert bench.words[2] == 0                          # a chain does not come back


# -------------------------------------------------------------------------------------------------------- data and registers
def test_write_data_to_every_destination(bench: Bench) -> None:
    bench.run(packet("WRITE_DATA", 0, USER, 0, 1, 2), packet("WRITE_DATA", 3 << 8, 16, 0, 3, 4))
    assert [bench.processor.registers[4 * USER + 4 * k] for k in range(2)] == [1, 2]
    assert bench.device.gds[16:24] == struct.pack("<2I", 3, 4)
    for target in (1, 2, 5):
        bench.run(packet("WRITE_DATA", target << 8, *bench.at(target), target))
        assert bench.words[target] == target
    bench.run(packet("WRITE_DATA", MEMORY | 1 << 16, *bench.at(9), 5, 6, 7))
    assert bench.words[9:11].tolist() == [7, 0]
    with pytest.raises(UnsupportedError, match="WRITE_DATA to a destination that"):
        bench.run(packet("WRITE_DATA", 4 << 8, *bench.at(0), 1))


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("target", ["register", "memory", "gds"])
@pytest.mark.parametrize("source", ["register", "memory", "gds", "immediate", "atomic"])
def test_copy_data_from_everywhere_to_everywhere(bench: Bench, source: str, target: str, size: int) -> None:
    value = 0x1122334455667788 & (1 << 8 * size) - 1
    raw = value.to_bytes(8, "little")
    bench.words[:2] = np.frombuffer(raw, np.uint32)
    bench.device.gds[32:40] = raw
    bench.processor.registers |= {4 * USER: value & 0xFFFFFFFF, 4 * USER + 4: value >> 32}
    bench.processor.atomic_return = value
    select, place = {"register": (0, (USER, 0)), "memory": (1, bench.at(0)), "gds": (3, (32, 0)),
                     "immediate": (5, (value & 0xFFFFFFFF, value >> 32)), "atomic": (6, (0, 0))}[source]
    to, there = {"register": (0, (USER + 8, 0)), "memory": (5, bench.at(8)), "gds": (3, (64, 0))}[target]
    bench.run(packet("COPY_DATA", select | to << 8 | (size == 8) << 16, *place, *there))
    found = {"register": sum(bench.processor.registers.get(4 * USER + 32 + k, 0) << 8 * k for k in (0, 4)),
             "memory": int(bench.words[8]) | int(bench.words[9]) << 32, "gds": int.from_bytes(bench.device.gds[64:72], "little")}[target]
    assert found == value


def test_copy_data_of_the_clock(bench: Bench) -> None:
    stamp = packet("COPY_DATA", 9 | MEMORY | 1 << 16, 0, 0, *bench.at(0))
    bench.run(stamp)
    first = bench.words[:2].view(np.uint64)[0]
    bench.run(stamp)
    assert 0 < first <= bench.words[:2].view(np.uint64)[0]


@pytest.mark.parametrize("target", ["memory", "l2", "gds", "register"])
@pytest.mark.parametrize("source", ["memory", "l2", "gds", "register", "data"])
def test_dma_data_from_everywhere_to_everywhere(bench: Bench, source: str, target: str) -> None:
    values = [11, 22, 33, 44]
    raw = struct.pack("<4I", *values)
    bench.words[:4] = values
    bench.device.gds[128:144] = raw
    bench.processor.registers |= {4 * USER + 4 * k: value for k, value in enumerate(values)}
    select, place, command = {"memory": (0, bench.at(0), 0), "l2": (3, bench.at(0), 0), "gds": (1, (128, 0), 0),
                              "register": (0, (4 * USER, 0), 1 << 26), "data": (2, (99, 0), 0)}[source]
    to, there, more = {"memory": (0, bench.at(16), 0), "l2": (3, bench.at(16), 0), "gds": (1, (256, 0), 0),
                       "register": (0, (4 * USER + 64, 0), 1 << 27)}[target]
    bench.run(packet("DMA_DATA", select << 29 | to << 20, *place, *there, 16 | command | more))
    found = {"memory": bench.words[16:20].tolist(), "l2": bench.words[16:20].tolist(), "gds": list(struct.unpack("<4I", bench.device.gds[256:272])),
             "register": [bench.processor.registers.get(4 * USER + 64 + 4 * k) for k in range(4)]}[target]
    assert found == ([99] * 4 if source == "data" else values)


def test_dma_data_without_increments_and_to_nowhere(bench: Bench) -> None:
    bench.words[:4] = [1, 2, 3, 4]
    bench.run(packet("DMA_DATA", 0, *bench.at(0), *bench.at(8), 12 | 1 << 28), packet("DMA_DATA", 0, *bench.at(0), *bench.at(16), 12 | 1 << 29),
              packet("DMA_DATA", 2 << 20, *bench.at(0), *bench.at(24), 12))
    assert bench.words[8:11].tolist() == [1, 1, 1]
    assert bench.words[16:19].tolist() == [3, 0, 0]
    assert bench.words[24:27].tolist() == [0, 0, 0]


def test_cp_dma(bench: Bench) -> None:
    bench.words[:3] = [5, 6, 7]
    low, high = bench.at(0)
    bench.run(packet("CP_DMA", low, high, *bench.at(8), 12), packet("CP_DMA", 77, 2 << 29, *bench.at(16), 8))
    assert bench.words[8:11].tolist() == [5, 6, 7] and bench.words[16:19].tolist() == [77, 77, 0]


OLD, SOURCE = 0x80000005, 9
ATOMICS = {0x07: SOURCE, 0x0F: OLD + SOURCE, 0x10: OLD - SOURCE, 0x11: OLD, 0x12: SOURCE, 0x13: SOURCE, 0x14: OLD, 0x15: OLD & SOURCE,
           0x16: OLD | SOURCE, 0x17: OLD ^ SOURCE, 0x18: 0, 0x19: SOURCE}


@pytest.mark.parametrize("operation", ATOMICS)
def test_atomics_of_32_bits(bench: Bench, operation: int) -> None:
    bench.words[0] = OLD
    bench.run(packet("ATOMIC_MEM", operation, *bench.at(0), SOURCE, 0, 0, 0, 0))
    assert bench.words[0] == ATOMICS[operation] and bench.processor.atomic_return == OLD
    bench.words[0] = OLD
    bench.processor.atomic_return = 1
    bench.run(packet("ATOMIC_MEM", operation | 0x40, *bench.at(0), SOURCE, 0, 0, 0, 0))
    assert bench.words[0] == ATOMICS[operation] and bench.processor.atomic_return == 1


@pytest.mark.parametrize("operation", ATOMICS)
def test_atomics_of_64_bits(bench: Bench, operation: int) -> None:
    wide = bench.words[:2].view(np.uint64)
    old, source = 1 << 63 | 5, 9
    expected = {0x07: source, 0x0F: old + source, 0x10: old - source, 0x11: old, 0x12: source, 0x13: source, 0x14: old, 0x15: old & source,
                0x16: old | source, 0x17: old ^ source, 0x18: 0, 0x19: source}[operation]
    wide[0] = old
    bench.run(packet("ATOMIC_MEM", operation | 0x20, *bench.at(0), source, 0, 0, 0, 0))
    assert wide[0] == expected


def test_compare_and_swap(bench: Bench) -> None:
    bench.words[0] = 5
    bench.run(packet("ATOMIC_MEM", 0x08, *bench.at(0), 9, 0, 4, 0, 0))
    assert bench.words[0] == 5
    bench.run(packet("ATOMIC_MEM", 0x08, *bench.at(0), 9, 0, 5, 0, 0))
    assert bench.words[0] == 9
    with pytest.raises(InputError, match="nothing is left"):
        bench.run(packet("ATOMIC_MEM", 0x08 | 1 << 8, *bench.at(0), 9, 0, 5, 0, 0))


def test_register_packets(bench: Bench) -> None:
    known = registers(103)
    context = known["PA_SC_WINDOW_OFFSET"].offset
    shadow = bench.device.zeros(0x1000)
    shadow.write(struct.pack("<2I", 8, 9), 0x240 * 4)
    bench.words[:2] = [6, 7]
    place = (shadow.address & 0xFFFFFFFF, shadow.address >> 32)
    bench.run(packet("SET_CONTEXT_REG", context - 0x28000 >> 2, 0xFF00FF00), packet("CONTEXT_REG_RMW", context - 0x28000 >> 2, 0xFF, 0xABCD),
              packet("ONE_REG_WRITE", 0x2C0F, 4), packet("LOAD_SH_REG_INDEX", *bench.at(0), 0x244, 2),
              packet("LOAD_SH_REG", *place, 0x240, 2), packet("SET_SH_REG_INDEX", 3 << 28 | 0x250, 5),
              [0x2C0E | 1 << 16, 1, 2], [0x80000000])
    held = bench.processor.registers
    assert held[context] == 0xFF00FFCD
    assert [held[0xB000 + 4 * k] for k in (0x240, 0x241, 0x244, 0x245, 0x250)] == [8, 9, 6, 7, 5]
    assert (held[0x2C0E << 2], held[0x2C0F << 2]) == (1, 2)


# ------------------------------------------------------------------------------------------------------------ events and waits
@pytest.mark.parametrize(("select", "expected"), [(0, [0, 0]), (1, [0x55, 0]), (2, [0x55, 0x66])])
@pytest.mark.parametrize("name", ["RELEASE_MEM", "EVENT_WRITE_EOP"])
def test_end_of_pipe_data(name: str, select: int, expected: list[int]) -> None:
    bench = Bench(target="gfx900")
    low, high = bench.at(0)
    if name == "RELEASE_MEM":
        bench.run(packet(name, 0x14, select << 29 | 2 << 24, low, high, 0x55, 0x66, 0x123))
    else:
        bench.run(packet(name, 0x14 | 5 << 8, low, high & 0xFFFF | select << 29 | 1 << 24, 0x55, 0x66))
    assert bench.words[:2].tolist() == expected
    assert bench.processor.interrupts == [0x123 if name == "RELEASE_MEM" else 0]


def test_end_of_pipe_clock_and_gds(bench: Bench) -> None:
    bench.device.gds[40:48] = struct.pack("<2I", 3, 4)
    bench.run(packet("RELEASE_MEM", 0x14, 3 << 29, *bench.at(0), 0, 0, 0), packet("RELEASE_MEM", 0x14, 5 << 29, *bench.at(4), 10 | 2 << 16, 0, 0),
              packet("EVENT_WRITE_EOS", 0x2F | 6 << 8, bench.at(6)[0], bench.at(6)[1] & 0xFFFF | 2 << 29, 0x77),
              packet("EVENT_WRITE_EOS", 0x2F | 6 << 8, bench.at(8)[0], bench.at(8)[1] & 0xFFFF | 1 << 29, 10 | 2 << 16))
    assert bench.words[:2].view(np.uint64)[0] > 0
    assert bench.words[4:10].tolist() == [3, 4, 0x77, 0, 3, 4]
    with pytest.raises(UnsupportedError, match="data selection 6"):
        bench.run(packet("RELEASE_MEM", 0x14, 6 << 29, *bench.at(0), 0, 0, 0))


FUNCTIONS = {0: (True, True, True), 1: (True, False, False), 2: (True, True, False), 3: (False, True, False), 4: (True, False, True),
             5: (False, True, True), 6: (False, False, True)}


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_wait_functions(bench: Bench, function: int, in_memory: bool) -> None:
    for value, holds in zip((4, 5, 6), FUNCTIONS[function], strict=True):
        bench.words[0] = bench.processor.registers[4 * USER] = 0xF0 | value
        place = bench.at(0) if in_memory else (USER, 0)
        wait = packet("WAIT_REG_MEM", function | in_memory << 4, *place, 5, 0xF, 10)
        if holds:
            bench.run(wait)
        else:
            with pytest.raises(InputError, match="nothing is left that could end this WAIT_REG_MEM"):
                bench.run(wait)


def test_write_and_wait(bench: Bench) -> None:
    """The operation that writes a register and waits for another."""
    bench.run(packet("WAIT_REG_MEM", 3 | 1 << 6, USER, USER, 5, 0xFF, 10))
    assert bench.processor.registers[4 * USER] == 5


def test_the_front_end_waits_for_the_back_end(bench: Bench) -> None:
    bench.run(bench.write(0, 1), packet("WAIT_REG_MEM", 3 | 1 << 4 | 1 << 8, *bench.at(0), 1, 0xFF, 10), bench.write(1, 2, engine=PFP))
    assert bench.words[:2].tolist() == [1, 2]


def test_cond_write(bench: Bench) -> None:
    bench.words[0] = 5
    for reference, written in ((4, 0), (5, 9)):
        bench.run(packet("COND_WRITE", 3 | 1 << 4 | 1 << 8, *bench.at(0), reference, 0xFF, *bench.at(1), 9))
        assert bench.words[1] == written


def test_pred_exec(bench: Bench) -> None:
    for device, written in ((2, 0), (1, 3)):
        guarded = bench.write(0, 3)
        bench.run(packet("PRED_EXEC", device << 24 | len(guarded)), guarded)
        assert bench.words[0] == written


def test_predicates_of_64_bits_and_inverted(bench: Bench) -> None:
    guarded = packet("WRITE_DATA", MEMORY, *bench.at(8), 1, predicated=True)
    bench.words[1] = 1                       # only the high half of the 64-bit value at dword 0 is set
    for operation, visible, runs in ((3, 1, True), (4, 1, False), (4, 0, True), (3, 0, False)):
        bench.words[8] = 0
        bench.run(packet("SET_PREDICATION", operation << 16 | visible << 8, *bench.at(0)), guarded)
        assert bool(bench.words[8]) == runs
    with pytest.raises(UnsupportedError, match="by operation 1"):
        bench.run(packet("SET_PREDICATION", 1 << 16, *bench.at(0)))


# --------------------------------------------------------------------------------------------------------------------- rings
def test_two_queues_play_ping_pong() -> None:
    bench = Bench()
    rings = [Ring(bench.device, 128), Ring(bench.device, 128, queue="compute")]
    for turn in range(8):
        wait = packet("WAIT_REG_MEM", 3 | 1 << 4, *bench.at(0), turn, 0xFFFFFFFF, 10)
        rings[turn % 2].write(wait + bench.write(0, turn + 1) + packet("ATOMIC_MEM", 0x0F, *bench.at(1), turn, 0, 0, 0, 0))
    run_rings(rings)
    assert bench.words[:2].tolist() == [8, sum(range(8))]
    assert not any(ring.busy for ring in rings)


def test_rings_wrap_around() -> None:
    """Streams that cross the end of a small ring, each with a fence behind it."""
    bench = Bench()
    ring = Ring(bench.device, 16)
    for turn in range(1, 40):
        ring.write(packet("RELEASE_MEM", 0x14, 1 << 29, *bench.at(0), turn, 0, 0))
        assert ring.write_pointer - ring.read_pointer == 8
        if turn % 3:
            with pytest.raises(InputError, match="10 dwords do not fit the 8 that are free"):
                ring.write([0x80000000] * 10)
        assert ring.step()
        assert bench.words[0] == turn and ring.read_pointer == ring.write_pointer == 8 * turn
    assert not ring.step()


def test_the_read_pointer_stays_at_what_waits() -> None:
    bench = Bench("compute")
    ring = Ring(bench.device, 64, queue="compute")
    ring.write(packet("NOP", 0) + packet("WAIT_REG_MEM", 3 | 1 << 4, *bench.at(0), 1, 1, 10) + bench.write(1, 5))
    assert ring.step() and ring.read_pointer == 2
    assert not ring.step()
    bench.words[0] = 1
    assert ring.step() and bench.words[1] == 5 and ring.read_pointer == ring.write_pointer


# ------------------------------------------------------------------------------------------------------------------- budgets
def test_endless_streams_end(bench: Bench) -> None:
    loop = bench.device.zeros(64)
    place = (loop.address & 0xFFFFFFFF, loop.address >> 32)
    loop.write(np.array(packet("INDIRECT_BUFFER", *place, 4 | 1 << 20), np.uint32))
    processor = CommandProcessor(bench.device, packets=1000)
    with pytest.raises(InputError, match="more packets than may be executed"):
        processor.submit(packet("INDIRECT_BUFFER", *place, 4))
    with pytest.raises(InputError, match="a DISPATCH_DIRECT of 2 dwords has no COMPUTE_DIM_Z"):
        processor = CommandProcessor(bench.device)
        processor.submit(packet("DISPATCH_DIRECT", 1, 2))
    with pytest.raises(UnsupportedError, match="constant engine"):
        bench.run(packet("INDIRECT_BUFFER_CONST", *place, 4))
