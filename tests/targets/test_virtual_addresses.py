"""Ranges of addresses against a model that keeps a set of pages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pyaco.errors import InputError
from pyaco.targets.virtual_addresses import ADDRESS32_HI, PAGE, RANGES, NoRoomError, VirtualAddresses, canonical


class Addresses(RuleBasedStateMachine):
    """Give out, reserve and take back; the model is the list of ranges that are taken."""

    def __init__(self) -> None:
        super().__init__()
        self.ours = VirtualAddresses()
        self.taken: dict[int, int] = {}

    def is_free(self, first: int, end: int) -> bool:
        return all(end <= start or stop <= first for start, stop in self.taken.items())

    @rule(pages=st.integers(1, 40), shift=st.integers(12, 24), where=st.sampled_from(sorted(RANGES)))
    def allocate(self, pages: Any, shift: Any, where: Any) -> None:
        address = self.ours.allocate(pages * PAGE - 5, 1 << shift, where)
        first, end = RANGES[where]
        assert address % (1 << shift) == 0 and first <= address and address + pages * PAGE <= end and canonical(address) == address
        assert self.is_free(address, address + pages * PAGE)
        # The lowest that fits: a hole begins where the range does, or where a taken one ends.
        places = [-(-start // (1 << shift)) * (1 << shift) for start in [first, *self.taken.values()] if first <= start < end]
        assert address == min(place for place in places if self.is_free(place, place + pages * PAGE))
        self.taken[address] = address + pages * PAGE

    @rule(offset=st.integers(0, 60), pages=st.integers(1, 20), where=st.sampled_from(sorted(RANGES)))
    def reserve(self, offset: Any, pages: Any, where: Any) -> None:
        first = RANGES[where][0] + offset * PAGE
        free = self.is_free(first, first + pages * PAGE)
        assert self.ours.reserve(first, pages * PAGE) == free
        if free:
            self.taken[first] = first + pages * PAGE

    @rule(data=st.data())
    def free(self, data: Any) -> None:
        if self.taken:
            address = data.draw(st.sampled_from(sorted(self.taken)))
            self.ours.free(address)
            del self.taken[address]

    @invariant()
    def nothing_is_lost(self) -> None:
        for where, (first, end) in RANGES.items():
            used = sum(stop - start for start, stop in self.taken.items() if first <= start < end)
            assert self.ours.free_bytes(where) == end - first - used
        assert all(self.ours.size(start) == stop - start for start, stop in self.taken.items())


Addresses.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestAddresses = Addresses.TestCase


def test_ranges_fit_their_pointers() -> None:
    first, end = RANGES["32-bit"]
    assert first >> 32 == end >> 32 == ADDRESS32_HI
    assert canonical(0x8000_0000_0000) == 0xFFFF_8000_0000_0000 and canonical(0x7FFF_FFFF_FFFF) == 0x7FFF_FFFF_FFFF


def test_what_cannot_be_given() -> None:
    ours = VirtualAddresses()
    with pytest.raises(InputError, match="power of two"):
        ours.allocate(1, 3)
    with pytest.raises(InputError, match="32-bit"):
        ours.allocate(1, where="low")
    with pytest.raises(NoRoomError, match="no room"):
        ours.allocate(1 << 32, where="32-bit")
    with pytest.raises(InputError, match="no range"):
        ours.free(0x100000000)
    assert ours.reserve(0x20000, 100) and not ours.reserve(0x20800, 1)
