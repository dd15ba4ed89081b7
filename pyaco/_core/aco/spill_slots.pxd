"""Slots of spilled values: see ``spill_slots.pyx``."""
from pyaco._core.aco.spiller cimport Spiller

# A slot for every spilled value that is no constant.
cdef int assign_slots(Spiller *s) except -1 nogil
# Lanes and scratch offsets. Slots of SGPRs do not cross from one linear VGPR to the next.
cdef int assign_positions(Spiller *s) except -1 nogil
