"""What text needs to know of one chip, in one piece of memory that a file holds as it is: names and their numbers by domain, text to
number through a hash table, number to text through arrays; and facts about opcodes.

The facts are those of ``pyaco/isa/text_facts.py``; a ``TextTables`` is what kernels read of them without Python.
"""
from libc.stdint cimport int16_t, int32_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

# What a name belongs to; the order is that of ``names.DOMAINS``.
cdef enum:
    domain_mnemonic                   # opcode | alias_* of text_facts.pxd
    domain_register                   # operand code | dwords << 16
    domain_modifier                   # given_* of statement.pxd | 0x100 for its negation
    domain_message
    domain_gs_operation
    domain_system_operation
    domain_hardware_register
    domain_delay
    domain_skip
    domain_index_mode
    domain_scope
    domain_hint_load
    domain_hint_store
    domain_hint_atomic
    domain_format
    domain_data_format
    domain_number_format
    domain_export
    domain_dimension
    domain_selection
    domain_unused
    domain_wait                       # index of the counter
    domain_dependency                 # first bit | width << 8
    domain_parameter                  # p10, p20, p0
    domain_function                   # of expressions
    domain_directive
    domain_spelling                   # opcode to LLVM's name; not searched
    domain_lane_control
    domain_register_text              # every VGPR, SGPR and constant by operand code; not searched
    domain_constant                   # numbers that expressions name
    domain_count

# The beginning of the memory, from which all offsets count.
cdef struct Header:
    uint32_t bytes                    # of all
    uint32_t level
    uint32_t slots                    # NameSlot, a power of two
    uint32_t slot_mask
    uint32_t stored                   # StoredName of the values of each domain
    uint32_t facts                    # fact_* of text_facts.pxd by opcode
    uint32_t short_formats            # uint16_t, one-dword format of a vector opcode in this generation by opcode, 0 if none
    uint32_t unified                  # int16_t, unified buffer format by data format (bits 0-3) and number format (bits 4-6), -1 if none
    uint32_t characters
    uint32_t target_length            # the gfx name is the first of the characters
    uint32_t starts[domain_count]     # first of `stored`
    uint32_t counts[domain_count]

cdef struct NameSlot:
    uint32_t text                     # offset in the characters
    uint16_t length                   # 0: the slot is free
    uint16_t domain
    uint32_t hash
    int32_t value

cdef struct StoredName:
    uint32_t text
    uint32_t length                   # 0: the number has no name

cdef struct Span:
    const char *text
    uint32_t length

cdef enum:
    span_padding = 16                 # so many characters may be read from where a span begins, or from any 16th behind that

cdef struct Names:
    const char *characters
    const NameSlot *slots
    const StoredName *stored
    const uint32_t *starts
    const uint32_t *counts
    uint32_t mask

cdef class TextTables:
    cdef Names names
    cdef const uint32_t *facts
    cdef const uint16_t *short_formats
    cdef const int16_t *unified
    cdef Py_buffer storage            # released with this
    cdef readonly str target
    cdef readonly uint32_t level


cdef inline uint64_t mixed(uint64_t value, const char *text, size_t bytes) noexcept nogil:
    cdef uint64_t chunk = 0
    memcpy(&chunk, text, bytes)
    value = (value ^ chunk) * 0x9e3779b97f4a7c15ULL
    return value ^ value >> 29


cdef inline uint32_t hash_of(uint32_t domain, const char *text, uint32_t length) noexcept nogil:
    """Eight characters at a time; the last step takes some again rather than those behind the text."""
    cdef uint64_t value = domain << 8 ^ length
    cdef const char *end = text + length
    while end - text > 8:
        value = mixed(value, text, 8)
        text += 8
    if length >= 8:
        value = mixed(value, end - 8, 8)
    elif length >= 4:
        value = mixed(mixed(value, text, 4), end - 4, 4)
    else:
        while text < end:
            value = mixed(value, text, 1)
            text += 1
    return <uint32_t>(value ^ value >> 32)


cdef inline bint same_text(const char *one, const char *other, uint32_t length) noexcept nogil:
    """As memcmp, whose call costs more than the comparison of a name; the last step takes some characters again."""
    cdef uint64_t a = 0, b = 0
    cdef uint32_t i
    if length < 8:
        for i in range(length):
            if one[i] != other[i]:
                return False
        return True
    for i in range(0, length - 7, 8):
        memcpy(&a, one + i, 8)
        memcpy(&b, other + i, 8)
        if a != b:
            return False
    memcpy(&a, one + length - 8, 8)
    memcpy(&b, other + length - 8, 8)
    return a == b


cdef inline int32_t find_name(const Names *names, uint32_t domain, const char *text, uint32_t length) noexcept nogil:
    """The number of a name, -1 if the domain has none such."""
    cdef uint32_t hash = hash_of(domain, text, length)
    cdef uint32_t index = hash & names.mask
    cdef const NameSlot *slot
    while True:
        slot = &names.slots[index]
        if slot.length == 0:
            return -1
        if slot.hash == hash and slot.length == length and slot.domain == domain \
                and same_text(names.characters + slot.text, text, length):
            return slot.value
        index = (index + 1) & names.mask


cdef inline Span name_of(const Names *names, uint32_t domain, uint32_t value) noexcept nogil:
    """The name of a number; NULL if it has none."""
    cdef Span span
    cdef const StoredName *stored
    span.text = NULL
    span.length = 0
    if value < names.counts[domain]:
        stored = &names.stored[names.starts[domain] + value]
        if stored.length:
            span.text = names.characters + stored.text
            span.length = stored.length
    return span
