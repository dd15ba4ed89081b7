"""What memory instructions do, by opcode; generated from their names into ``emulator_memory.pxi``.

Atomics apply a pure function to the old value: waves run one after the other, so nothing else can come between.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from pyaco._core.common.floats cimport bits_double, bits_float, double_bits, double_to_half, float_bits, half_to_double, to_bfloat
from pyaco._core.emu.numbers cimport max_number, min_number
from pyaco._core.emu.wave cimport Access, AccessLog, Machine, access_limit, stop_memory_fault

cdef enum:
    access_none = 0
    access_load = 1
    access_store = 2
    access_atomic = 3
    access_format_load = 4
    access_format_store = 5
    access_nothing = 6                # cache control
    access_transpose = 7              # 8 x 8 elements across 8 lanes
    access_from_lds = 8               # LDS to a buffer
    access_to_lds = 9                 # memory to LDS
    access_async_to_lds = 10          # memory to LDS, at an address of its own for each lane
    access_async_from_lds = 11

cdef enum:
    atomic_add, atomic_sub, atomic_rsub, atomic_inc, atomic_dec, atomic_smin, atomic_umin, atomic_smax, atomic_umax
    atomic_and, atomic_or, atomic_xor, atomic_swap, atomic_cmpswap, atomic_mskor, atomic_wrap
    atomic_csub, atomic_cond_sub
    atomic_fadd, atomic_fmin, atomic_fmax, atomic_fcmpswap, atomic_pk_add_f16, atomic_pk_add_bf16
    atomic_ordered_add

cdef enum:                            # which half of a register sub-dword data takes
    half_none = 0
    half_low = 1
    half_high = 2

cdef enum:                            # the level of detail of a sample
    level_implicit = 0                # of derivatives
    level_clamped = 1                 # of derivatives, and a coordinate says the least
    level_given = 2
    level_zero = 3

cdef struct MemoryOperation:
    uint8_t access                    # access_*
    uint8_t bytes                     # of one element: 1, 2, 4 (multi-dword data is several of 4); atomics 4 or 8
    uint8_t dwords                    # registers of data; format: components
    uint8_t is_signed
    uint8_t half                      # half_*; typed formats: d16
    uint8_t atomic                    # atomic_*
    uint8_t returns                   # LDS: returns the old value
    uint8_t pair                      # LDS: two addresses; 1: offsets in elements, 2: in 64 elements
    uint8_t add_lane                  # the lane number, times 4, is added to the address
    uint8_t buffered                  # SMEM: through a descriptor
    uint8_t scaled                    # SMEM: the offset register counts 64 bytes
    uint8_t second                    # LDS: the operand comes from a second address in LDS
    uint8_t masked                    # a bit of m0 for each dword
    uint8_t level                     # level_*: where a sample's level of detail comes from

cdef inline int stray(Machine *machine, uint32_t lane, uint64_t address, uint32_t bytes, bint store) noexcept nogil:
    """Record an access outside memory; returns the reason to stop."""
    machine.fault_lane = lane
    machine.fault_address = address
    machine.fault_bytes = bytes
    machine.fault_store = store
    return stop_memory_fault

cdef inline void note(AccessLog *log, uint8_t space, uint8_t access_kind, uint32_t lane, uint64_t address, uint32_t bytes) noexcept nogil:
    """Record what a lane accessed, for the inspecting engine; neighbouring elements become one entry."""
    if log != NULL:
        add_access(log, space, access_kind, lane, address, bytes)

cdef inline void add_access(AccessLog *log, uint8_t space, uint8_t access_kind, uint32_t lane, uint64_t address, uint32_t bytes) noexcept nogil:
    cdef Access *last
    if log.count:
        last = &log.entries[log.count - 1]
        if (last.lane == lane and last.space == space and last.access_kind == access_kind and access_kind < 2
                and last.address + last.bytes == address):
            last.bytes += bytes
            return
    if log.count < access_limit:
        log.entries[log.count] = Access(address, bytes, space, access_kind, <uint8_t>lane)
        log.count += 1

cdef inline void load_lds(const uint8_t *lds, uint64_t size, uint64_t address, uint32_t bytes, uint8_t *into) noexcept nogil:
    """Out of range an element reads as zero, all of it when it straddles the end."""
    if address + bytes <= size:
        memcpy(into, lds + address, bytes)
    else:
        memset(into, 0, bytes)

cdef inline void store_lds(uint8_t *lds, uint64_t size, uint64_t address, uint32_t bytes, const uint8_t *source) noexcept nogil:
    """Bytes out of range are dropped, those in range kept."""
    if address < size:
        memcpy(lds + address, source, min(<uint64_t>bytes, size - address))

# Fields of up to 16 bits in rows of words.
cdef inline uint32_t bits_at(const uint32_t *words, uint32_t position, uint32_t width) noexcept nogil:
    cdef uint64_t two = words[position >> 5]
    if (position & 31) + width > 32:
        two |= <uint64_t>words[(position >> 5) + 1] << 32
    return <uint32_t>((two >> (position & 31)) & ((<uint64_t>1 << width) - 1))

cdef inline void put_bits(uint32_t *words, uint32_t position, uint32_t width, uint32_t value) noexcept nogil:
    """The words hold zeros there."""
    words[position >> 5] |= value << (position & 31)
    if (position & 31) + width > 32:
        words[(position >> 5) + 1] |= value >> (32 - (position & 31))

cdef inline uint32_t load_element(const uint8_t *host, const MemoryOperation *operation) noexcept nogil:
    cdef uint32_t word = 0
    cdef uint16_t half
    if operation.bytes == 1:
        return <uint32_t>(<const int8_t *>host)[0] if operation.is_signed else host[0]
    if operation.bytes == 2:
        memcpy(&half, host, 2)
        return <uint32_t><int16_t>half if operation.is_signed else half
    memcpy(&word, host, 4)
    return word

cdef inline void store_element(uint8_t *host, uint32_t value, uint32_t bytes) noexcept nogil:
    memcpy(host, &value, bytes)

# Write a loaded element to a register, or to a half of it that keeps the other half.
cdef inline void place_element(uint32_t *register_, uint32_t value, uint8_t half) noexcept nogil:
    if half == half_none:
        register_[0] = value
    elif half == half_low:
        register_[0] = (register_[0] & 0xffff0000U) | (value & 0xffff)
    else:
        register_[0] = (register_[0] & 0xffff) | (value << 16)

# Sums of floats. A NaN is that of the first operand that is one, made quiet, or the default, as vector instructions have it: a host's own choice
# depends on how its compiler orders the operands.
cdef inline uint32_t add_singles(uint32_t a, uint32_t b) noexcept nogil:
    cdef float total = bits_float(a) + bits_float(b)
    if total == total:
        return float_bits(total)
    if a & 0x7fffffff > 0x7f800000U:
        return a | 0x400000
    return b | 0x400000 if b & 0x7fffffff > 0x7f800000U else 0x7fc00000

cdef inline uint64_t add_doubles(uint64_t a, uint64_t b) noexcept nogil:
    cdef double total = bits_double(a) + bits_double(b)
    if total == total:
        return double_bits(total)
    if bits_double(a) != bits_double(a):
        return a | 0x8000000000000ULL
    return b | 0x8000000000000ULL if bits_double(b) != bits_double(b) else 0x7ff8000000000000ULL

cdef inline uint32_t add_half(uint32_t a, uint32_t b) noexcept nogil:
    return double_to_half(bits_double(add_doubles(double_bits(half_to_double(a)), double_bits(half_to_double(b)))), 0)

cdef inline uint32_t add_halves(uint32_t a, uint32_t b) noexcept nogil:
    return add_half(a & 0xffff, b & 0xffff) | (add_half(a >> 16, b >> 16) << 16)

cdef inline uint32_t add_bfloats(uint32_t a, uint32_t b) noexcept nogil:
    return (to_bfloat(bits_float(add_singles(a << 16, b << 16)))
            | (to_bfloat(bits_float(add_singles(a & 0xffff0000U, b & 0xffff0000U))) << 16))

ctypedef fused atomic_word:
    uint32_t
    uint64_t

# Operations on both dwords and pairs of dwords. Signed numbers compare as unsigned ones with the sign bit inverted.
cdef inline atomic_word integer_atomic(uint8_t operation, atomic_word old, atomic_word data, atomic_word other) noexcept nogil:
    cdef atomic_word sign = <atomic_word>1 << (8 * sizeof(atomic_word) - 1)
    if operation == atomic_add:
        return old + data
    if operation == atomic_sub:
        return old - data
    if operation == atomic_rsub:
        return data - old
    if operation == atomic_inc:
        return 0 if old >= data else old + 1
    if operation == atomic_dec:
        return data if old == 0 or old > data else old - 1
    if operation == atomic_smin:
        return old if (old ^ sign) < (data ^ sign) else data
    if operation == atomic_umin:
        return old if old < data else data
    if operation == atomic_smax:
        return old if (old ^ sign) > (data ^ sign) else data
    if operation == atomic_umax:
        return old if old > data else data
    if operation == atomic_and:
        return old & data
    if operation == atomic_or:
        return old | data
    if operation == atomic_xor:
        return old ^ data
    if operation == atomic_swap:
        return data
    if operation == atomic_cmpswap:
        return data if old == other else old
    if operation == atomic_mskor:
        return (old & ~data) | other
    return old

cdef inline uint32_t atomic32(uint8_t operation, uint32_t old, uint32_t data, uint32_t other) noexcept nogil:
    """The new value of a dword; `other` is the comparand, or the second operand."""
    if operation == atomic_wrap:
        return old - data if old >= data else old + other
    if operation == atomic_csub:
        return 0 if data > old else old - data
    if operation == atomic_cond_sub:
        return old - data if old >= data else old
    if operation == atomic_fadd:
        return add_singles(old, data)
    if operation == atomic_fmin:
        return float_bits(<float>min_number(bits_float(old), bits_float(data)))
    if operation == atomic_fmax:
        return float_bits(<float>max_number(bits_float(old), bits_float(data)))
    if operation == atomic_fcmpswap:
        return data if bits_float(old) == bits_float(other) else old
    if operation == atomic_pk_add_f16:
        return add_halves(old, data)
    if operation == atomic_pk_add_bf16:
        return add_bfloats(old, data)
    return integer_atomic(operation, old, data, other)

cdef inline uint64_t ordered_add(uint64_t old, uint64_t data) noexcept nogil:
    """Adds the high dwords where the low ones, positions in an order, are equal, and passes the turn to the next position.

    As Mesa's loops on GFX12 use it (``ordered_add_loop_gfx12_amd``), which end when the old value has their position.
    """
    if <uint32_t>old != <uint32_t>data:
        return old
    return (((old >> 32) + (data >> 32)) << 32) | <uint32_t>(old + 1)


cdef inline uint64_t atomic64(uint8_t operation, uint64_t old, uint64_t data, uint64_t other) noexcept nogil:
    if operation == atomic_ordered_add:
        return ordered_add(old, data)
    if operation == atomic_fadd:
        return add_doubles(old, data)
    if operation == atomic_fmin:
        return double_bits(min_number(bits_double(old), bits_double(data)))
    if operation == atomic_fmax:
        return double_bits(max_number(bits_double(old), bits_double(data)))
    if operation == atomic_fcmpswap:
        return data if bits_double(old) == bits_double(other) else old
    return integer_atomic(operation, old, data, other)
