"""Names and facts of one chip, packed into bytes that are read where they lie."""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_SetFromErrnoWithFilenameObject
from libc cimport errno
from libc.string cimport memset
from libcpp.vector cimport vector


cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <unistd.h>
    // 0, or what went wrong; size -1: not a plain file, which is not opened, since a pipe would notice. An empty one is not mapped.
    static int pyaco_map_file(const char *path, const char **begin, Py_ssize_t *size) {
      struct stat status;
      void *mapped;
      int flags = MAP_PRIVATE, error = 0, file;
    #ifdef MAP_POPULATE
      flags |= MAP_POPULATE;
    #endif
      *size = -1;
      if (stat(path, &status)) return errno;
      if (!S_ISREG(status.st_mode)) return 0;
      file = open(path, O_RDONLY | O_CLOEXEC);
      if (file < 0 || fstat(file, &status)) error = errno;
      else if ((*size = (Py_ssize_t)status.st_size) > 0) {
        mapped = mmap(NULL, (size_t)*size, PROT_READ, flags, file, 0);
        if (mapped == MAP_FAILED) error = errno;
        else *begin = (const char *)mapped;
      }
      if (file >= 0) close(file);
      return error;
    }
    """
    int map_file "pyaco_map_file"(const char *path, const char **begin, Py_ssize_t *size)
    int munmap(void *begin, size_t size)
    bytes PyUnicode_EncodeFSDefault(str text)


cdef class MappedFile:
    """A plain file's bytes as a buffer, without a copy: to touch new memory takes longer than to copy into it.

    Who replaces such a file while it is read has to make a new one in its place; one that is cut short ends the process.
    """

    cdef const char *begin
    cdef Py_ssize_t size

    def __cinit__(self, str path not None):
        """Map it; OSError where it cannot be read, ValueError where it is not a plain file."""
        cdef bytes name = PyUnicode_EncodeFSDefault(path)
        cdef int error
        if b"\0" in name:
            raise ValueError("a name with a zero")
        error = map_file(name, &self.begin, &self.size)
        if error:
            errno.errno = error
            PyErr_SetFromErrnoWithFilenameObject(OSError, path)
        if self.size < 0:
            raise ValueError("not a plain file")

    def __dealloc__(self):
        if self.begin != NULL:
            munmap(<void *>self.begin, <size_t>self.size)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *>(self.begin if self.begin != NULL else <const char *>b""), self.size, True, flags)

    def __len__(self):
        return self.size


cdef class TextTables:
    """Tables of one target.

    Attributes
    ----------
    target
        Its gfx name.
    level
        Its gfx level.
    """

    def __init__(self, storage):
        """`storage` begins with what ``pack_text_tables`` made, and stays."""
        cdef const char *begin
        cdef const Header *header
        PyBuffer_Release(&self.storage)
        PyObject_GetBuffer(storage, &self.storage, PyBUF_SIMPLE)
        begin = <const char *>self.storage.buf
        header = <const Header *>begin
        if self.storage.len < <Py_ssize_t>sizeof(Header) or header.bytes > <size_t>self.storage.len:
            raise ValueError("the tables are not whole")
        self.level = header.level
        self.target = (<bytes>begin[header.characters:header.characters + header.target_length]).decode()
        self.names.characters = begin + header.characters
        self.names.slots = <const NameSlot *>(begin + header.slots)
        self.names.mask = header.slot_mask
        self.names.stored = <const StoredName *>(begin + header.stored)
        self.names.starts = &header.starts[0]
        self.names.counts = &header.counts[0]
        self.facts = <const uint32_t *>(begin + header.facts)
        self.short_formats = <const uint16_t *>(begin + header.short_formats)
        self.unified = <const int16_t *>(begin + header.unified)

    def __dealloc__(self):
        PyBuffer_Release(&self.storage)


def pack_text_tables(str target, uint32_t level, list domains, set silent, bytes facts, bytes short_formats, bytes unified):
    """The bytes of a ``TextTables``.

    Parameters
    ----------
    target, level
        Gfx name and level.
    domains
        {text: number} of each domain; the first name of a number is the one that is printed.
    silent
        Positions of domains that are never searched, {number: text}.
    facts, short_formats, unified
        Numbers of 32, 16 and 16 bits (``Header``).
    """
    cdef Header header
    cdef bytearray storage = bytearray(sizeof(Header))
    cdef bytearray characters = bytearray(target.encode())
    cdef dict spans
    if len(domains) != domain_count:
        raise ValueError("a table has one dict for each domain")
    memset(&header, 0, sizeof(Header))
    header.level = level
    header.target_length = <uint32_t>len(characters)
    spans = _append_characters(domains, silent, characters)
    header.slots = _append(storage, _pack_slots(&header, domains, silent, spans))
    header.stored = _append(storage, _pack_stored(&header, domains, silent, spans))
    header.facts = _append(storage, facts)
    header.short_formats = _append(storage, short_formats)
    header.unified = _append(storage, unified)
    header.characters = _append(storage, characters + bytes(span_padding))
    header.bytes = <uint32_t>len(storage)
    storage[:sizeof(Header)] = <bytes>(<const char *>&header)[:sizeof(Header)]
    return bytes(storage)


cdef uint32_t _append(bytearray storage, data) except? 0:
    """Put `data` behind the others, on a multiple of four bytes; its offset."""
    cdef uint32_t offset = <uint32_t>len(storage)
    storage += data + bytes(3 - (len(data) + 3) % 4)
    return offset


cdef dict _append_characters(list domains, set silent, bytearray characters):
    """Append every text to `characters`, the same text once; {text: (offset, length)}."""
    spans = {}
    for position, entries in enumerate(domains):
        for text in entries.values() if position in silent else entries:
            if text not in spans:
                data = text.encode()
                spans[text] = (len(characters), len(data))
                characters += data
    return spans


cdef bytes _pack_slots(Header *header, list domains, set silent, dict spans):
    """The hash table: open addressing, half full at most."""
    cdef vector[NameSlot] slots
    cdef NameSlot slot
    cdef int domain
    cdef uint32_t bucket
    cdef uint32_t size = 64
    while size < 2 * sum(len(entries) for position, entries in enumerate(domains) if position not in silent):
        size *= 2
    memset(&slot, 0, sizeof(NameSlot))
    slots.resize(size, slot)
    for domain in range(domain_count):
        if domain in silent:
            continue
        for text, value in (<dict>domains[domain]).items():
            data = text.encode()
            slot.text, slot.length = spans[text]
            slot.domain = <uint16_t>domain
            slot.value = value
            slot.hash = hash_of(domain, data, slot.length)
            bucket = slot.hash & (size - 1)
            while slots[bucket].length:
                bucket = (bucket + 1) & (size - 1)
            slots[bucket] = slot
    header.slot_mask = size - 1
    return <bytes>(<const char *>slots.data())[:size * sizeof(NameSlot)]


cdef bytes _pack_stored(Header *header, list domains, set silent, dict spans):
    """Names by number, domain after domain."""
    cdef vector[StoredName] stored
    cdef StoredName name
    cdef int domain
    for domain in range(domain_count):
        header.starts[domain] = <uint32_t>stored.size()
        if domain == domain_mnemonic or domain == domain_register or domain == domain_constant:
            # only searched
            continue
        entries = <dict>domains[domain]
        pairs = list(entries.items()) if domain in silent else [(value, text) for text, value in entries.items()]
        header.counts[domain] = max((value for value, _ in pairs), default=-1) + 1
        memset(&name, 0, sizeof(StoredName))
        stored.resize(stored.size() + header.counts[domain], name)
        for value, text in reversed(pairs):
            # the first one stays
            name.text, name.length = spans[text]
            stored[header.starts[domain] + <uint32_t>value] = name
    return <bytes>(<const char *>stored.data())[:stored.size() * sizeof(StoredName)]
