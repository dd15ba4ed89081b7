"""Growth of column tables and their zero-copy NumPy views. The contract is in ``table.pxd``."""
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_WRITABLE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from pyaco._core.common.bits cimport align_up

cdef uint64_t _column_bytes(uint64_t capacity, uint64_t element_size) noexcept nogil:
    return align_up(capacity * element_size, 64)


cdef uint64_t _allocation_bytes(const Table *table, uint32_t capacity) noexcept nogil:
    cdef uint64_t total = 64
    cdef uint32_t column
    for column in range(table.column_count):
        total += _column_bytes(capacity, table.element_sizes[column])
    return total


# Of moving tables (CMake option): allocations that they have left, freed only when as many more are, so that no table comes to stand there
# soon.
cdef extern from *:
    """
    #ifndef PYACO_MOVING_TABLES
    #define PYACO_MOVING_TABLES 0
    #endif
    static thread_local void *left_allocations[64];
    static thread_local uint32_t left_count;
    """
    const bint PYACO_MOVING_TABLES
    void *left_allocations[64]
    uint32_t left_count


cdef void _leave(Table *table) noexcept nogil:
    """Free the allocation that the columns have moved out of."""
    if not PYACO_MOVING_TABLES or table.memory == NULL:
        free(table.memory)
        return
    global left_count
    cdef uint32_t oldest = left_count % 64
    memset(table.memory, 0xa5, _allocation_bytes(table, table.capacity))
    free(left_allocations[oldest])
    left_allocations[oldest] = table.memory
    left_count += 1


cdef int _allocate(Table *table, uint32_t capacity) except -1 nogil:
    """Move every column to a new allocation of `capacity` rows, or leave the table as it was."""
    cdef uint64_t total = _allocation_bytes(table, capacity)
    cdef uint32_t column
    cdef void **columns = table_columns(table)
    cdef void *memory = calloc(total, 1)
    if memory == NULL:
        with gil:
            raise MemoryError(f"a table of {capacity} rows needs {total} bytes")
    cdef uint8_t *cursor = <uint8_t *>align_up(<uint64_t>memory, 64)
    for column in range(table.column_count):
        if table.count:
            memcpy(cursor, columns[column], <uint64_t>table.count * table.element_sizes[column])
        columns[column] = cursor
        cursor += _column_bytes(capacity, table.element_sizes[column])
    _leave(table)
    table.memory = memory
    table.capacity = capacity
    return 0


cdef int table_init(Table *table, const uint8_t *element_sizes, uint32_t column_count, uint32_t capacity) except -1 nogil:
    table.count = 0
    table.capacity = 0
    table.exports = 0
    table.column_count = column_count
    table.element_sizes = element_sizes
    table.memory = NULL
    if PYACO_MOVING_TABLES:
        return _allocate(table, 0)
    return _allocate(table, capacity if capacity > 8 else 8)


cdef void table_free(Table *table) noexcept nogil:
    free(table.memory)
    table.memory = NULL
    table.count = table.capacity = 0


cdef int table_grow(Table *table, uint32_t extra) except -1 nogil:
    cdef uint64_t wanted = <uint64_t>table.count + extra
    cdef uint64_t capacity = table.capacity
    if table.exports:
        with gil:
            raise BufferError("a table cannot grow while NumPy views of its columns are alive")
    if PYACO_MOVING_TABLES:
        capacity = wanted
    while capacity < wanted:
        capacity *= 2
    if capacity >= 0xffffffffU:
        with gil:
            raise MemoryError("a table cannot hold 2**32 rows")
    return _allocate(table, <uint32_t>capacity)


cdef void table_clear(Table *table) noexcept nogil:
    cdef uint32_t column
    cdef void **columns = table_columns(table)
    for column in range(table.column_count):
        memset(columns[column], 0, <uint64_t>table.count * table.element_sizes[column])
    table.count = 0


cdef class Column:
    """Exports one column through the buffer protocol and counts the views that are alive."""
    cdef object owner
    cdef Table *table
    cdef uint32_t column
    cdef bytes format
    cdef bint writable
    cdef Py_ssize_t shape
    cdef Py_ssize_t stride

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        if flags & PyBUF_WRITABLE and not self.writable:
            raise BufferError("columns are read-only outside `with program.edit():`")
        self.shape = self.table.count
        self.stride = self.table.element_sizes[self.column]
        buffer.buf = table_columns(self.table)[self.column]
        buffer.obj = self
        buffer.len = self.shape * self.stride
        buffer.itemsize = self.stride
        buffer.readonly = not self.writable
        buffer.ndim = 1
        buffer.format = <char *>self.format if flags & PyBUF_FORMAT else NULL
        buffer.shape = &self.shape
        buffer.strides = &self.stride
        buffer.suboffsets = NULL
        buffer.internal = NULL
        self.table.exports += 1

    def __releasebuffer__(self, Py_buffer *buffer):
        self.table.exports -= 1


cdef object column_view(object owner, Table *table, uint32_t column, str dtype, bint writable):
    import numpy
    cdef Column exporter = Column()
    exporter.owner = owner
    exporter.table = table
    exporter.column = column
    exporter.format = numpy.dtype(dtype).char.encode()
    exporter.writable = writable
    return numpy.asarray(exporter)
