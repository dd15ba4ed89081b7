"""Slots of spilled values: see ``spill_slots.pyx``."""
from pyaco._core.aco.spiller cimport Spiller

# Interference, then slots: phis with their operands first.
cdef void assign_slots(Spiller *s) noexcept nogil
# Lanes and scratch offsets. Slots of SGPRs do not cross from one linear VGPR to the next.
cdef int assign_positions(Spiller *s) except -1 nogil
