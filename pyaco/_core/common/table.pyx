"""Growth of column tables and their zero-copy NumPy views. The contract is in ``table.pxd``."""
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_WRITABLE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from pyaco._core.common.bits cimport align_up, leading_zeros32

cdef enum:
    most_rows = 0xffffffff        # a table has fewer
    page = 4096                   # bytes
    column_gap = 9 * 64           # bytes behind a column of at least a page


cdef uint64_t _column_bytes(uint64_t capacity, uint64_t element_size) noexcept nogil:
    """The room of a column. Capacities are powers of two: without a gap, a row of all columns would be in the same sets of the caches."""
    cdef uint64_t bytes = align_up(capacity * element_size, 64)
    return bytes + column_gap if bytes >= page else bytes


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


cdef void _leave(void *memory, uint64_t bytes) noexcept nogil:
    """Free an allocation that the columns of a moving table have left."""
    global left_count
    cdef uint32_t oldest = left_count % 64
    memset(memory, 0xa5, bytes)
    free(left_allocations[oldest])
    left_allocations[oldest] = memory
    left_count += 1


# Zeroed allocations that a thread keeps; those of size class k have KEPT_SMALLEST << k bytes. AddressSanitizer is to see every use of memory
# that a table has left.
cdef extern from *:
    """
    #if PYACO_MOVING_TABLES || defined(__SANITIZE_ADDRESS__)
    enum { KEEPS_MEMORY = 0 };
    #else
    enum { KEEPS_MEMORY = 1 };
    #endif
    enum { KEPT_CLASSES = 10, KEPT_OF_CLASS = 16, KEPT_SMALLEST = 512, KEPT_LARGE = 8, KEPT_OF_LARGE = 4 };    // large: from this class on
    struct KeptMemory {
        void *blocks[KEPT_CLASSES][KEPT_OF_CLASS];
        uint32_t counts[KEPT_CLASSES];
        bool closed;                    // the thread ends; tables may still be freed
        ~KeptMemory() {
            closed = true;
            for (uint32_t k = 0; k < KEPT_CLASSES; k++)
                while (counts[k])
                    free(blocks[k][--counts[k]]);
        }
    };
    static thread_local KeptMemory kept_memory;
    """
    cdef enum:
        KEEPS_MEMORY
        KEPT_CLASSES                # of an allocation that is too large to be kept
        KEPT_OF_CLASS
        KEPT_LARGE
        KEPT_OF_LARGE
        KEPT_SMALLEST
    cdef struct KeptMemory:
        void **blocks[10]
        uint32_t counts[10]
        bint closed
    KeptMemory kept_memory


cdef inline uint32_t _size_class(uint64_t bytes) noexcept nogil:
    if not KEEPS_MEMORY or bytes > <uint64_t>KEPT_SMALLEST << (KEPT_CLASSES - 1):
        return KEPT_CLASSES
    return 32 - leading_zeros32(<uint32_t>(bytes - 1) // KEPT_SMALLEST) if bytes > KEPT_SMALLEST else 0


# Large allocations are mappings with room for several times the rows that are wanted: pages that nothing has touched yet cost nothing, where a
# growth by doubling copied every column again and again, onto fresh pages. It fell upon whichever pass filled the table.
cdef extern from *:
    """
    #if defined(__linux__) && !PYACO_MOVING_TABLES && !defined(__SANITIZE_ADDRESS__)
    #include <sys/mman.h>
    enum { MAPS_MEMORY = 1 };
    static void *map_pages(uint64_t bytes)
    {
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return memory == MAP_FAILED ? NULL : memory;
    }
    static void unmap_pages(void *memory, uint64_t bytes) { munmap(memory, bytes); }
    #else
    enum { MAPS_MEMORY = 0 };
    static void *map_pages(uint64_t bytes) { return NULL; }
    static void unmap_pages(void *memory, uint64_t bytes) {}
    #endif
    enum { MAPPED_FROM = 1 << 23, MAPPED_CLASS = KEPT_CLASSES + 1, MAPPED_ROOM = 16 };
    """
    const bint MAPS_MEMORY
    cdef enum:
        MAPPED_FROM                 # bytes
        MAPPED_CLASS                # the size class of mappings
        MAPPED_ROOM                 # times the rows wanted
    void *map_pages(uint64_t bytes) noexcept nogil        # zero, or NULL
    void unmap_pages(void *memory, uint64_t bytes) noexcept nogil


cdef inline void *_zeroed(KeptMemory *kept, uint64_t bytes, uint32_t size_class) noexcept nogil:
    if size_class == MAPPED_CLASS:
        return map_pages(bytes)
    if size_class == KEPT_CLASSES:
        return calloc(bytes, 1)
    if kept.counts[size_class] == 0:
        return calloc(<size_t>KEPT_SMALLEST << size_class, 1)
    kept.counts[size_class] -= 1
    return kept.blocks[size_class][kept.counts[size_class]]


cdef inline bint _is_kept(const KeptMemory *kept, uint32_t size_class) noexcept nogil:
    """Whether an allocation of a size class is to be kept when it is freed."""
    return size_class < KEPT_CLASSES and not kept.closed and \
        kept.counts[size_class] < <uint32_t>(KEPT_OF_CLASS if size_class < KEPT_LARGE else KEPT_OF_LARGE)


cdef inline void _keep(KeptMemory *kept, void *memory, uint32_t size_class) noexcept nogil:
    kept.blocks[size_class][kept.counts[size_class]] = memory
    kept.counts[size_class] += 1


#: Whether threads keep memory in this build.
keeps_memory = bool(KEEPS_MEMORY)


def kept_memory_is_zero():
    """Whether all that this thread keeps of freed tables is zero, and how many bytes it is: for tests."""
    cdef uint32_t size_class, k, i, size
    cdef uint32_t total = 0
    cdef bint zero = True
    for size_class in range(<uint32_t>KEPT_CLASSES):
        size = <uint32_t>KEPT_SMALLEST << size_class
        for k in range(kept_memory.counts[size_class]):
            total += size
            for i in range(size):
                zero = zero and (<const uint8_t *>kept_memory.blocks[size_class][k])[i] == 0
    return zero, total


cdef inline uint64_t _used_rows(const Table *table) noexcept nogil:
    return table.touched if table.touched > table.count else table.count


cdef void _give_back(Table *table) noexcept nogil:
    """Give an allocation that is not kept back to the system."""
    if table.size_class == MAPPED_CLASS:
        unmap_pages(table.memory, _allocation_bytes(table, table.capacity))
    elif PYACO_MOVING_TABLES and table.memory != NULL:
        _leave(table.memory, _allocation_bytes(table, table.capacity))
    else:
        free(table.memory)


cdef bint _move(Table *table, uint32_t capacity, uint32_t size_class) noexcept nogil:
    """Move every column to a new allocation of `capacity` rows; False leaves the table as it was: there is no memory for that."""
    cdef uint32_t column
    cdef void **columns = table_columns(table)
    cdef KeptMemory *keeper = &kept_memory        # finding what is a thread's own takes longer than the rest of this
    cdef void *memory = _zeroed(keeper, _allocation_bytes(table, capacity), size_class)
    cdef bint kept = table.memory != NULL and _is_kept(keeper, table.size_class)
    if memory == NULL:
        return False
    cdef uint8_t *cursor = <uint8_t *>align_up(<uint64_t>memory, 64)
    for column in range(table.column_count):
        if table.count:
            memcpy(cursor, columns[column], <uint64_t>table.count * table.element_sizes[column])
        if kept:
            memset(columns[column], 0, _used_rows(table) * table.element_sizes[column])
        columns[column] = cursor
        cursor += _column_bytes(capacity, table.element_sizes[column])
    if kept:
        _keep(keeper, table.memory, table.size_class)
    else:
        _give_back(table)
    table.memory = memory
    table.size_class = size_class
    table.touched = 0
    table.capacity = capacity
    return True


cdef int _allocate(Table *table, uint32_t capacity) except -1 nogil:
    """Room for `capacity` rows and, where pages cost nothing before they are touched, for more."""
    cdef uint64_t bytes = _allocation_bytes(table, capacity)
    cdef uint64_t most = <uint64_t>capacity * MAPPED_ROOM
    if MAPS_MEMORY and bytes >= MAPPED_FROM and most < most_rows and _move(table, <uint32_t>most, MAPPED_CLASS):
        return 0
    if not _move(table, capacity, _size_class(bytes)):
        with gil:
            raise MemoryError(f"a table of {capacity} rows needs {bytes} bytes")
    return 0


cdef int table_init(Table *table, const uint8_t *element_sizes, uint32_t column_count, uint32_t capacity) except -1 nogil:
    table.count = 0
    table.capacity = 0
    table.exports = 0
    table.column_count = column_count
    table.element_sizes = element_sizes
    table.memory = NULL
    table.touched = 0
    if PYACO_MOVING_TABLES:
        return _allocate(table, 0)
    return _allocate(table, capacity if capacity > 8 else 8)


cdef inline void _clear_rows(Table *table) noexcept nogil:
    cdef uint32_t column
    cdef uint64_t rows = _used_rows(table)
    if rows == 0:
        return
    for column in range(table.column_count):
        memset(table_columns(table)[column], 0, rows * table.element_sizes[column])


cdef void table_free(Table *table) noexcept nogil:
    cdef KeptMemory *keeper
    if table.memory == NULL:
        return
    keeper = &kept_memory
    if _is_kept(keeper, table.size_class):
        _clear_rows(table)
        _keep(keeper, table.memory, table.size_class)
    else:
        _give_back(table)
    table.memory = NULL
    table.count = table.capacity = 0


cdef int table_grow(Table *table, uint32_t extra) except -1 nogil:
    cdef uint64_t wanted = <uint64_t>table.count + extra
    cdef uint64_t capacity = table.capacity if table.capacity else 8
    if table.exports:
        with gil:
            raise BufferError("a table cannot grow while NumPy views of its columns are alive")
    if PYACO_MOVING_TABLES:
        capacity = wanted
    while capacity < wanted:
        capacity *= 2
    if capacity >= most_rows:
        with gil:
            raise MemoryError("a table cannot hold 2**32 rows")
    return _allocate(table, <uint32_t>capacity)


cdef void table_clear(Table *table) noexcept nogil:
    _clear_rows(table)
    table.count = table.touched = 0


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
