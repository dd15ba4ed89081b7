"""Tables of columns: the storage under every IR.

A table is a C struct that begins with ``Table`` and goes on with one typed pointer per column, in the order of
``element_sizes``. All columns of a table live in one allocation and move together when it grows, so a growth that fails
leaves every row whole. A table whose columns are exported to Python (NumPy views) refuses to grow: ``exports`` counts
them. Not thread-safe: a table belongs to one compile, and one compile runs on one thread.

The CMake option ``PYACO_MOVING_TABLES`` gives tables no room to spare: every append moves all columns, and where they were is filled with
0xa5, so that tests find whoever keeps a column's pointer across an append.

Most tables are small: a compilation of a small shader makes some thirty. So each thread keeps allocations of small tables that are freed for
those to come. What is kept is zeroed, and only rows that were used are cleared for that.
"""
from libc.stdint cimport uint8_t, uint32_t

# Neighbouring rows of a table.
cdef struct RowRange:
    uint32_t first
    uint32_t count

cdef struct Table:
    uint32_t count                 # rows in use
    uint32_t capacity              # rows allocated
    uint32_t exports               # live NumPy views of any column
    uint32_t column_count
    const uint8_t *element_sizes   # bytes per element, one per column
    void *memory                   # the one allocation behind all columns
    uint32_t size_class            # of the allocation (table.pyx)
    uint32_t touched               # rows that have held something since then, where those are more than `count`

cdef int table_init(Table *table, const uint8_t *element_sizes, uint32_t column_count, uint32_t capacity) except -1 nogil
cdef void table_free(Table *table) noexcept nogil
# Makes room for `extra` more rows; grows by doubling, large tables (table.pyx) by more. Raises MemoryError, or BufferError while views are exported.
cdef int table_grow(Table *table, uint32_t extra) except -1 nogil

cdef inline int table_reserve(Table *table, uint32_t extra) except -1 nogil:
    if table.capacity - table.count < extra:
        table_grow(table, extra)
    return 0

# The index of the first of `rows` new rows, whose columns hold zero: rows past `count` always do (fresh memory is zeroed,
# table_clear zeroes what was used), but for those that table_truncate left.
cdef inline uint32_t table_append_many(Table *table, uint32_t rows) except? 0xffffffffU nogil:
    cdef uint32_t first = table.count
    table_reserve(table, rows)
    table.count = first + rows
    return first

cdef inline uint32_t table_append(Table *table) except? 0xffffffffU nogil:
    return table_append_many(table, 1)

# Forget the rows from `count` on, which keep what they hold: whoever appends again must overwrite every column.
cdef inline void table_truncate(Table *table, uint32_t count) noexcept nogil:
    if table.count > table.touched:
        table.touched = table.count
    table.count = count

# Forget all rows; the memory stays.
cdef void table_clear(Table *table) noexcept nogil

cdef inline void **table_columns(Table *table) noexcept nogil:
    return <void **>(table + 1)

# Exposes one column of a table as a NumPy array without a copy; `owner` is kept alive by the array.
cdef object column_view(object owner, Table *table, uint32_t column, str dtype, bint writable)
