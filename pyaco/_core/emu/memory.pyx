"""Allocation and lookup in the device's address space. The contract is in ``memory.pxd``."""
from cpython.buffer cimport PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove

from _thread import RLock

from pyaco.errors import InputError
from pyaco.targets.virtual_addresses import VirtualAddresses

cdef enum:
    guard = 65536                     # unmapped bytes after every allocation
    host_first = 65536                # addresses that x86-64 hosts let programs map
    host_end = 0x7ffffffff000


cdef Allocation *memory_find(Memory *memory, uint64_t address, uint64_t bytes) noexcept nogil:
    cdef uint32_t first = 0
    cdef uint32_t last = memory.count
    cdef uint32_t middle
    cdef Allocation *allocation
    cdef uint64_t offset
    while first < last:
        middle = (first + last) // 2
        if memory.allocations[middle].address <= address:
            first = middle + 1
        else:
            last = middle
    if first == 0:
        return NULL
    allocation = &memory.allocations[first - 1]
    offset = address - allocation.address
    if offset >= allocation.size or bytes > allocation.size - offset:
        return NULL
    memory.last = first - 1
    return allocation


cdef bint memory_is_reserved(const Memory *memory, uint64_t address) noexcept nogil:
    cdef uint32_t index
    address = canonical_address(address)
    for index in range(memory.reservation_count):
        if address - memory.reservations[index].address < memory.reservations[index].size:
            return True
    return False


cdef bint memory_meets(Memory *memory, uint64_t first, uint64_t end) noexcept nogil:
    """Whether the range from `first` to `end` meets an allocation."""
    cdef uint32_t index
    for index in range(memory.count):
        if first < memory.allocations[index].address + memory.allocations[index].size and memory.allocations[index].address < end:
            return True
    return False


cdef void memory_remove(Memory *memory, uint64_t address) noexcept nogil:
    """Take the allocation that begins at `address` out of the table."""
    cdef uint32_t index
    for index in range(memory.count):
        if memory.allocations[index].address == address:
            memmove(&memory.allocations[index], &memory.allocations[index + 1], (memory.count - index - 1) * sizeof(Allocation))
            memory.count -= 1
            break
    memory.last = 0


class Owner:
    """What is known of an allocation beside its place: `data`, the array that holds its bytes (None: the caller's own memory), `origin`, who made it,
    for messages, and `unwritten`, a byte for each of its bytes that is 1 until something writes it (None: all are written)."""

    __slots__ = ("data", "origin", "unwritten")

    def __init__(self, data, origin, unwritten=None):
        self.data, self.origin, self.unwritten = data, origin, unwritten


cdef class AddressSpace:
    """The address space of one device.

    Addresses in the 32-bit region, whose high half is 0xffff8000, are for what shaders reach through 32-bit pointers:
    descriptor sets, push constants, code. Everything else lies low in the address space.
    """

    def __cinit__(self):
        self.memory.allocations = NULL
        self.memory.count = 0
        self.memory.capacity = 0
        self.memory.last = 0
        self.memory.identity = 0
        self.memory.reservation_count = 0
        self.memory.reservations = NULL
        self.owners = {}
        self.addresses = VirtualAddresses()
        self.ranges = set()
        self.lock = RLock()
        self.entered = False

    cdef int enter(self) except -1:
        self.lock.acquire()
        if self.entered:
            self.lock.release()
            raise InputError("the device is at work: what interrupts it cannot use it")
        self.entered = True
        return 0

    cdef int leave(self) except -1:
        self.entered = False
        self.lock.release()
        return 0

    def __dealloc__(self):
        free(self.memory.allocations)
        free(self.memory.reservations)

    def map(self, uint8_t[::1] data not None, bint low=False, uint64_t alignment=256, object origin=None, uint8_t[::1] unwritten=None):
        """Give the bytes of `data` a device address; the array is kept alive until `release`.

        Parameters
        ----------
        data : contiguous array of bytes
            Device accesses go straight to this memory.
        low : bool
            Place it in the 32-bit region.
        alignment : int
            A power of two.
        origin : object, optional
            Who made it; its text becomes part of messages.
        unwritten : contiguous array of bytes, optional
            A byte for each of `data`: 1 where nobody has written yet. Checked dispatches keep it up to date.

        Returns
        -------
        int
            The device address.
        """
        cdef uint64_t size = data.shape[0]
        cdef uint64_t address
        self.enter()
        try:
            address = self.addresses.allocate(size + guard, alignment, "32-bit" if low else "general")
            self.ranges.add(address)
            self._insert(address, size, &data[0] if size else NULL)
            self.owners[address] = Owner(data, origin, unwritten)
            return address
        finally:
            self.leave()

    cdef int _insert(self, uint64_t address, uint64_t size, uint8_t *host) except -1:
        cdef uint32_t index = 0
        cdef void *grown
        if self.memory.count == self.memory.capacity:
            grown = realloc(self.memory.allocations, (self.memory.capacity * 2 + 16) * sizeof(Allocation))
            if grown == NULL:
                raise MemoryError("the table of allocations cannot grow")
            self.memory.allocations = <Allocation *>grown
            self.memory.capacity = self.memory.capacity * 2 + 16
        while index < self.memory.count and self.memory.allocations[index].address < address:
            index += 1
        memmove(&self.memory.allocations[index + 1], &self.memory.allocations[index],
                (self.memory.count - index) * sizeof(Allocation))
        self.memory.allocations[index].address = address
        self.memory.allocations[index].size = size
        self.memory.allocations[index].host = host
        self.memory.count += 1
        return 0

    def release(self, uint64_t address):
        """Unmap what `map` placed at `address`."""
        self.enter()
        try:
            if address not in self.owners:
                raise KeyError(f"nothing is mapped at {address:#x}")
            memory_remove(&self.memory, address)
            del self.owners[address]
            if address in self.ranges:
                self.ranges.remove(address)
                self.addresses.free(address)
        finally:
            self.leave()

    def map_at(self, uint64_t address, uint8_t[::1] data not None, object origin=None):
        """Give the bytes of `data` the device address that the caller chose; its range is reserved unless it is already.

        Raises ValueError where the range meets another allocation or the end of the address space.
        """
        cdef uint64_t size = data.shape[0]
        if address > 0xffffffffffffffffULL - size:
            raise ValueError(f"{size} bytes at {address:#x} pass the end of the address space")
        self.enter()
        try:
            if memory_meets(&self.memory, address, address + size):
                raise ValueError(f"{size} bytes at {address:#x}: that range is taken")
            if self.addresses.reserve(address, size):
                self.ranges.add(address)
            self._insert(address, size, &data[0] if size else NULL)
            self.owners[address] = Owner(data, origin)
        finally:
            self.leave()

    def reserve(self, uint64_t size, uint64_t alignment):
        """Return the address of a range for a sparse resource: nothing is mapped in it, `map_at` puts pages there.

        Images read its pages that are not mapped as zeros and drop stores to them; other accesses to them are faults.
        """
        cdef uint64_t address
        cdef void *grown
        self.enter()
        try:
            grown = realloc(self.memory.reservations, (self.memory.reservation_count + 1) * sizeof(Reservation))
            if grown == NULL:
                raise MemoryError("the table of sparse resources cannot grow")
            self.memory.reservations = <Reservation *>grown
            address = self.addresses.allocate(size + guard, alignment, "general")
            self.memory.reservations[self.memory.reservation_count].address = address
            self.memory.reservations[self.memory.reservation_count].size = size
            self.memory.reservation_count += 1
            return address
        finally:
            self.leave()

    def give_back(self, uint64_t address):
        """Free a range that `reserve` returned, and what is mapped in it."""
        cdef uint32_t index
        cdef uint64_t end
        self.enter()
        try:
            for index in range(self.memory.reservation_count):
                if self.memory.reservations[index].address == address:
                    break
            else:
                raise KeyError(f"no sparse resource begins at {address:#x}")
            end = address + self.memory.reservations[index].size
            for mapped in [place for place in self.owners if address <= place < end]:
                memory_remove(&self.memory, mapped)
                del self.owners[mapped]
            self.memory.reservation_count -= 1
            memmove(&self.memory.reservations[index], &self.memory.reservations[index + 1],
                    (self.memory.reservation_count - index) * sizeof(Reservation))
            self.addresses.free(address)
        finally:
            self.leave()

    def map_host(self, list ranges not None):
        """Map parts of the host's memory at their own addresses until `unmap_host`, all or none.

        Parameters
        ----------
        ranges : list of (int, int)
            First address, and the one behind the last. The caller keeps the memory alive.

        Raises ValueError where one meets another allocation.
        """
        cdef uint64_t first, end, earlier
        cdef int done = 0
        self.enter()
        try:
            for first, end in ranges:
                if first >= end or memory_meets(&self.memory, first, end):
                    for earlier, _ in ranges[:done]:
                        memory_remove(&self.memory, earlier)
                    raise ValueError(f"host memory from {first:#x} to {end:#x}: empty, or that range is taken")
                self._insert(first, end - first, <uint8_t *>first)
                done += 1
        finally:
            self.leave()

    def unmap_host(self, list ranges not None):
        """Unmap what `map_host` mapped."""
        cdef uint64_t first
        self.enter()
        try:
            for first, _ in ranges:
                memory_remove(&self.memory, first)
        finally:
            self.leave()

    def view(self, uint64_t address, uint64_t size):
        """The bytes of device memory from `address` on as a writable memoryview, or None where they are not mapped."""
        cdef Allocation *allocation = memory_find(&self.memory, address, size)
        cdef uint64_t offset
        if allocation == NULL:
            return None
        offset = address - allocation.address
        if allocation.address in self.owners:
            self.note_written(address, size)                # whoever asks for it may write it
            return memoryview(self.owners[allocation.address].data)[offset:offset + size]
        return PyMemoryView_FromMemory(<char *>(allocation.host + offset), size, PyBUF_WRITE)

    def use_host_addresses(self):
        """Map every address above the null page to itself: device addresses are the host's, and no access is checked.

        It is for a space without allocations, and there can be none later.
        """
        self._insert(host_first, host_end - host_first, <uint8_t *><uint64_t>host_first)
        self.memory.identity = 1

    def note_written(self, uint64_t address, uint64_t size):
        """Count bytes of one allocation as written."""
        cdef Allocation *allocation = memory_find(&self.memory, address, size)
        cdef uint8_t[::1] unwritten
        if allocation != NULL and allocation.address in self.owners and self.owners[allocation.address].unwritten is not None:
            unwritten = self.owners[allocation.address].unwritten
            unwritten[address - allocation.address:address - allocation.address + size] = 0

    def unwritten(self):
        """Address, size and map of unwritten bytes of every allocation that has such a map."""
        return [(address, len(owner.unwritten), owner.unwritten) for address, owner in self.owners.items() if owner.unwritten is not None]

    def allocations(self):
        """Address and size of every allocation, ascending."""
        cdef uint32_t index
        return [(self.memory.allocations[index].address, self.memory.allocations[index].size) for index in range(self.memory.count)]

    def origin(self, uint64_t address):
        """Who made the allocation that begins at `address`, as `map` was told, or None."""
        return self.owners[address].origin if address in self.owners else None

    def nearest(self, uint64_t address):
        """Address and size of the allocation closest to `address` (for error messages), or None."""
        cdef uint32_t index
        best = None
        for index in range(self.memory.count):
            first = self.memory.allocations[index].address
            last = first + self.memory.allocations[index].size
            distance = first - address if address < first else max(0, address - last + 1)
            if best is None or distance < best[0]:
                best = (distance, first, self.memory.allocations[index].size)
        return None if best is None else best[1:]
