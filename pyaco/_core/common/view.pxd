"""Tables as Python sees them; see ``view.pyx``."""
from pyaco._core.common.table cimport Table

cdef class TableView:
    cdef object owner
    cdef bint *editable
    cdef Table *table
    cdef list columns

# `editable` belongs to `owner`: whether arrays taken now may be written to.
cdef TableView table_view(object owner, bint *editable, Table *table, list columns)

cdef class Edit:
    cdef object owner
    cdef bint *editable

cdef Edit edit_of(object owner, bint *editable)
