"""Metadata of shaders and programs, and names in shaders, of which most are made at the first look at them.

A compilation looks at few of them, and as objects of Python's they would take it longer than most passes. What makes them later is of two kinds:
what a module of SPIR-V says of itself, which its reader leaves as a `ModuleFacts`, and the ABI, which the pass declare_arguments keeps for all
shaders that are alike, as `DeclaredArguments`.
"""

cdef class ModuleFacts:
    """What a reader has found of which metadata and names are made."""
    cdef bytes bindings                   # of descriptor sets, in whatever form: equal where they are
    cdef dict metadata(self)
    cdef int names(self, dict variables, dict members, dict types) except -1

cdef class DeclaredArguments:
    """The arguments of shaders that are alike."""
    cdef dict kept                        # their metadata, nobody's to change
    cdef object descriptors               # kept by the pass lower_descriptors: what it makes of the metadata

cdef class Metadata:
    cdef readonly dict known              # made so far
    cdef ModuleFacts module               # None: in `known`
    cdef DeclaredArguments declared       # None: in `known`
    cdef dict whole(self)
    cdef Metadata copy(self)
