"""A compilation that nobody looks at, from the words of a module or from NIR to machine code: it runs without the interpreter.

What passes would look up in Python otherwise is here as plain data. The compilation owns it, or holds what owns it, to its end: nothing that
another thread does to layouts, or to what is kept for shaders that are alike, can free it.
"""
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t
from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from pyaco._core.ir.metadata cimport Metadata
from pyaco._core.ir.program cimport DeviceInfo, Program, ProgramData
from pyaco._core.ir.shader cimport Shader, ShaderData

cdef struct ArgumentRow:              # of Arguments
    uint32_t kind
    uint32_t detail
    uint32_t first
    uint32_t count
    bint is_vgpr

cdef struct KeptArguments:            # what kernels read of a DeclaredArguments
    atomic[int] users                 # compilations; where there are some, it is not freed
    PyObject *owner                   # the DeclaredArguments
    vector[ArgumentRow] rows
    atomic[const void *] descriptors  # what lower_descriptors reads; NULL until it has made that of the metadata

cdef struct Compilation:              # what a `compilation_kernel` takes in place of an IR
    ShaderData *shader
    const char *reflected             # bindings that the module declares, in whatever form: equal where they are
    size_t reflected_bytes
    bint has_matrices                 # the module declares cooperative matrices
    bint has_layout                   # where descriptors stand is given
    bint fragment_masks               # by a layout with FMASK
    KeptArguments *arguments          # what declare_arguments found, whose user the compilation is; NULL: Python declared them

cdef enum:
    left_to_python = 8                # a `compilation_kernel` returns it when it has done nothing, and Python is to run the pass

# What tells the bindings that a shader's module declares.
cdef bytes reflected_bindings(Metadata facts)

cdef int compilation_begin(Compilation *compilation, Shader shader) except -1
# Tells Python what was found without it; more than once does no harm.
cdef int compilation_report(Compilation *compilation, Metadata facts) except -1

cdef class Reading:
    """Makes the NIR of a compilation."""
    cdef readonly Shader shader
    cdef int read(self, Compilation *compilation) except -1 nogil     # fills `shader` and what the compilation knows of the module
    cdef int report(self) except -1                                   # leaves the shader what its metadata and names are made of

cdef class Target:
    """What is compiled for."""
    cdef readonly uint32_t gfx_level
    cdef uint32_t wave_size           # 0: chosen for each shader
    cdef bint has_narrow_waves
    cdef bint narrow_with_matrices    # cooperative matrices are multiplied in narrow waves
    cdef bint wgp_mode
    cdef DeviceInfo narrow
    cdef DeviceInfo wide
    cdef void apply(self, ShaderData *shader, ProgramData *program, bint has_matrices) noexcept nogil
