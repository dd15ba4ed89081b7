"""Tables as Python sees them: NumPy arrays over the live storage, writable while their owner is edited."""
from pyaco._core.common.table cimport Table, column_view


cdef class TableView:
    """The columns of one table as attributes: ``program.instructions.opcode`` is a NumPy array over the live storage."""

    def __getattr__(self, name):
        for index, (column, dtype) in enumerate(self.columns):
            if column == name:
                return column_view(self.owner, self.table, index, dtype, self.editable[0])
        raise AttributeError(name)

    def __dir__(self):
        return [column for column, _ in self.columns]

    def __len__(self):
        return self.table.count


cdef TableView table_view(object owner, bint *editable, Table *table, list columns):
    cdef TableView view = TableView.__new__(TableView)
    view.owner = owner
    view.editable = editable
    view.table = table
    view.columns = columns
    return view


cdef class Edit:
    """What ``edit`` returns: within it, arrays that are taken of its owner's tables are writable."""

    def __enter__(self):
        self.editable[0] = True
        return self.owner

    def __exit__(self, *exception):
        self.editable[0] = False


cdef Edit edit_of(object owner, bint *editable):
    cdef Edit edit = Edit.__new__(Edit)
    edit.owner = owner
    edit.editable = editable
    return edit
