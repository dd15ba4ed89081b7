"""The device's address space: allocations with guard gaps between them, found by 64-bit address.

Thread safety: a ``Memory`` belongs to one device; lookups cache the last allocation, so it is used by one thread at a time: what changes
the mappings, or runs on them, does so between `enter` and `leave`.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef struct Allocation:
    uint64_t address                  # canonical: sign-extended from bit 47
    uint64_t size
    uint8_t *host

cdef struct Reservation:              # addresses for pages that may be mapped or not
    uint64_t address
    uint64_t size

cdef struct Memory:
    Allocation *allocations           # ascending by address, disjoint
    uint32_t count
    uint32_t capacity
    uint32_t last                     # the allocation found last
    uint32_t identity                 # device addresses are host addresses, all in one allocation
    uint32_t reservation_count
    Reservation *reservations         # sparse resources: images read pages that are not mapped as zeros

# The allocation that holds [address, address + bytes), or NULL.
cdef Allocation *memory_find(Memory *memory, uint64_t address, uint64_t bytes) noexcept nogil

# Whether the address belongs to a sparse resource.
cdef bint memory_is_reserved(const Memory *memory, uint64_t address) noexcept nogil

# Addresses have 48 bits; the hardware sign-extends them.
cdef inline uint64_t canonical_address(uint64_t address) noexcept nogil:
    return <uint64_t>(<int64_t>(address << 16) >> 16)

# Where the bytes of the device lie on the host; NULL when any of them is outside every allocation.
cdef inline uint8_t *memory_at(Memory *memory, uint64_t address, uint64_t bytes) noexcept nogil:
    cdef Allocation *allocation
    cdef uint64_t offset
    address = canonical_address(address)
    if memory.last < memory.count:
        allocation = &memory.allocations[memory.last]
        offset = address - allocation.address
        if offset < allocation.size and bytes <= allocation.size - offset:
            return allocation.host + offset
    allocation = memory_find(memory, address, bytes)
    if allocation == NULL:
        return NULL
    return allocation.host + (address - allocation.address)


cdef class AddressSpace:
    """Owner of a ``Memory`` and of the host memory behind it."""
    cdef Memory memory
    cdef dict owners                  # address -> Owner
    cdef readonly object addresses    # VirtualAddresses: which ranges are taken
    cdef set ranges                   # addresses whose range is given back when they are released
    cdef object lock                  # of the thread that is between `enter` and `leave`
    cdef bint entered
    # Wait until no other thread is between these two. InputError where this thread itself is, interrupted by a signal handler.
    cdef int enter(self) except -1
    cdef int leave(self) except -1
    cdef int _insert(self, uint64_t address, uint64_t size, uint8_t *host) except -1
