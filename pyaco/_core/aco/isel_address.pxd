"""Addresses of memory operations in instruction selection; see ``isel_address.pyx``."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from pyaco._core.aco.isel_context cimport Isel
from pyaco._core.ir.program cimport Operand, TempId
from pyaco._core.ir.shader cimport ValueId

cdef enum:                        # AccessKind: the instructions that reach the memory
    by_buffer = 0
    by_global = 1
    by_shared = 2
    by_scratch = 3
    by_scalar_buffer = 4
    by_scalar = 5

cdef struct Access:
    uint8_t access_kind           # by_*
    uint32_t resource             # temp of the descriptor (s4), or of the 64-bit address
    uint32_t offset               # temp of 32 bits, 0: none
    uint32_t constant             # bytes, added to the offset
    bint structured               # a buffer with elements: vector and scalar offsets, and the stride, keep their places
    uint32_t index                # temp of the element's number, once the address is legal with the offset behind it; 0: none
    uint32_t scalar_offset        # temp of what the scalar unit adds, 0: none
    uint32_t largest_piece        # bytes that one instruction may move
    uint32_t align_mul
    uint32_t align_offset
    uint64_t modifiers            # cache policy and ordering

# Where an access starts within the dword that its address was moved down to.
cdef struct DwordStart:
    uint32_t minimum              # bytes
    uint32_t maximum
    uint32_t low                  # temp whose two lowest bits say it, 0: `minimum` and `maximum` are the same
    uint32_t address              # temp of the 64-bit address, where there is one and its start is not known

cdef inline void begin_access(Access *a, uint8_t access_kind, TempId resource) noexcept nogil:
    a.access_kind = access_kind
    a.resource = resource
    a.offset = a.constant = a.index = a.scalar_offset = 0
    a.structured = False
    a.largest_piece = 16

# What a memory instruction accesses, and how it is ordered, as modifiers.
cdef uint64_t memory_ordering(uint32_t storage, uint32_t semantics) noexcept nogil
# The largest power of two that the address of byte `position` is known to be a multiple of.
cdef uint32_t known_alignment(Access *a, uint32_t position) noexcept nogil
# The alignment that instruction `i` states, else that of its elements.
cdef int read_alignment(Isel *c, ValueId i, Access *a, uint32_t element) except -1 nogil
# Add the byte offset in source `index` to the access: a constant or a temp.
cdef int read_offset(Isel *c, ValueId i, Access *a, uint32_t index) except -1 nogil
# The address of a global access: source `address`, plus source `offset` unless that is 0.
cdef int global_access(Isel *c, ValueId i, Access *a, uint32_t address, uint32_t offset) except -1 nogil
# An access to LDS or scratch at the offset in source `offset`.
cdef int local_access(Isel *c, ValueId i, Access *a, uint8_t access_kind, uint32_t offset, uint32_t element) except -1 nogil
# Move the address of an access down to a multiple of four bytes.
cdef int start_at_dword(Isel *c, Access *a, DwordStart *start) except -1 nogil
# How many dwords an access to `bytes` bytes touches wherever it starts.
cdef uint32_t minimum_dwords(const DwordStart *start, uint32_t bytes) noexcept nogil
# The access to the dword that holds the last byte, for a start that is only known when the program runs.
cdef int last_dword(Isel *c, const Access *a, const DwordStart *start, uint32_t bytes, Access *last) except -1 nogil
# Bring the access into a form that its instructions can address, for all of its `bytes` bytes.
cdef int legalize_address(Isel *c, Access *a, uint32_t bytes) except -1 nogil
# Emit one vector memory instruction: the operands of the address, then `data`.
cdef int memory_instruction(Isel *c, Access *a, uint32_t opcode, TempId dst, const Operand *data, uint32_t data_count,
                            uint32_t immediate) except -1 nogil
