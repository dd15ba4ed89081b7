"""Names of assembly text and their numbers, by domain: text to number through one hash table, number to text through arrays.

The facts are those of ``pyaco/isa/names.py``; a ``NameTable`` is what kernels read of them without Python.
"""
from libc.stdint cimport int32_t, uint32_t
from libcpp.vector cimport vector

# What a name belongs to; the order is that of ``names.DOMAINS``.
cdef enum:
    domain_mnemonic                   # opcode | suffix << 16
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
    domain_count

cdef struct Span:
    const char *text
    uint32_t length

cdef struct NameSlot:
    const char *text
    uint32_t length
    uint32_t domain
    uint32_t hash
    int32_t value

cdef struct Names:
    NameSlot *slots
    uint32_t mask
    Span **texts                      # [domain][value]
    uint32_t *counts                  # values of each domain

cdef class NameTable:
    cdef Names names
    cdef list keep
    cdef vector[NameSlot] slots
    cdef vector[Span] spans
    cdef Span *starts[domain_count]
    cdef uint32_t sizes[domain_count]

# The number of a name, -1 if the domain has none such.
cdef int32_t find_name(const Names *names, uint32_t domain, const char *text, uint32_t length) noexcept nogil


cdef inline Span name_of(const Names *names, uint32_t domain, uint32_t value) noexcept nogil:
    """The name of a number; empty if it has none."""
    cdef Span none
    if value < names.counts[domain]:
        return names.texts[domain][value]
    none.text = NULL
    none.length = 0
    return none
