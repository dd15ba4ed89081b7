"""Passes that the runner calls without the interpreter.

The module of such a pass has, besides its ``run``, a ``kernel = native_kernel(function)`` of the same work. Of its options, if it has any, the
function gets one number, which ``option_of(options, level)`` makes when a pipeline is prepared for a gfx level.
"""

cdef enum:                        # bits of what a kernel returns
    kernel_changed = 1            # it may have changed something
    kernel_steady = 2             # it has changed nothing, nor would it without dead code, with equal values made one or with what moves
    kernel_steady_without = 4     # it has changed nothing, nor would it without dead code
    kernel_steady_with_copies = 16    # as kernel_steady, nor would it if copies were read through

# Of a ShaderData or ProgramData.
ctypedef int (*kernel_function)(void *ir, int option) except -1 nogil

cdef class NativeKernel:
    cdef kernel_function function
    cdef int option
    cdef object option_of

cdef NativeKernel native_kernel(kernel_function function, option_of=*)
