"""What the pass declare_arguments keeps of shaders that are alike."""
from pyaco._core.ir.compilation cimport KeptArguments
from pyaco._core.ir.metadata cimport DeclaredArguments

cdef class Declared(DeclaredArguments):
    cdef KeptArguments data
