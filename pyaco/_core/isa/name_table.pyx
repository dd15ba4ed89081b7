"""Hash table of the names in assembly text: open addressing, one table for all domains of a gfx level."""
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy


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


cdef int32_t find_name(const Names *names, uint32_t domain, const char *text, uint32_t length) noexcept nogil:
    cdef uint32_t hash = hash_of(domain, text, length)
    cdef uint32_t place = hash & names.mask
    cdef const NameSlot *slot
    while True:
        slot = &names.slots[place]
        if slot.text == NULL:
            return -1
        if slot.hash == hash and slot.length == length and slot.domain == domain and memcmp(slot.text, text, length) == 0:
            return slot.value
        place = (place + 1) & names.mask


cdef class NameTable:
    """Built from a list of dicts, one a domain: {text: number}. The first name of a number is the one that is printed."""

    def __init__(self, list domains, set silent):
        """`silent`: positions of domains that are never searched, {number: text}."""
        cdef uint32_t count = sum(len(entries) for position, entries in enumerate(domains) if position not in silent)
        cdef uint32_t size = 64
        cdef uint32_t total = 0
        cdef uint32_t domain, place, width
        cdef NameSlot slot
        if len(domains) != domain_count:
            raise ValueError("a table has one dict for each domain")
        while size < 2 * count:
            size *= 2
        self.keep = []
        self.slots.resize(size)
        self.names.mask = size - 1
        widths = []
        for position, entries in enumerate(domains):
            numbers = entries if position in silent else entries.values()
            width = max(numbers) + 1 if entries and position != domain_mnemonic and position != domain_register else 0
            widths.append(width)
            total += width
        self.spans.resize(total + 1)
        self.names.slots = self.slots.data()
        self.names.texts = self.starts
        self.names.counts = self.sizes
        total = 0
        for domain in range(domain_count):
            self.starts[domain] = &self.spans[total]
            self.sizes[domain] = widths[domain]
            total += self.sizes[domain]
            for key, entry in (<dict>domains[domain]).items():
                text, value = (entry, key) if domain in silent else (key, entry)
                data = text.encode()
                self.keep.append(data)
                slot.text = data
                slot.length = len(data)
                slot.domain = domain
                slot.value = value
                if self.sizes[domain] and self.starts[domain][slot.value].text == NULL:
                    self.starts[domain][slot.value].text = slot.text
                    self.starts[domain][slot.value].length = slot.length
                if domain in silent:
                    continue
                slot.hash = hash_of(domain, slot.text, slot.length)
                place = slot.hash & self.names.mask
                while self.slots[place].text != NULL:
                    place = (place + 1) & self.names.mask
                self.slots[place] = slot
