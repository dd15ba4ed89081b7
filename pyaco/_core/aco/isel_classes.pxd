"""The register class of every NIR value; see ``isel_classes.pyx``."""
from pyaco._core.aco.isel_context cimport Isel

cdef int choose_classes(Isel *c) except -1 nogil
