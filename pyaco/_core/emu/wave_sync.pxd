from isa_opcodes cimport *
from libc.stdint cimport uint32_t

from pyaco._core.emu.wave cimport Handler, WaveSync

cdef void fill_wave_sync(Handler *table) noexcept nogil
# Empty the queues; the counters of the resources stay.
cdef void clear_waiting(WaveSync *sync) noexcept nogil


cdef inline bint waits_for_dispatch(uint32_t opcode) noexcept nogil:
    """Whether an instruction may wait for waves of other workgroups."""
    return (opcode == <uint32_t>op_ds_gws_init or opcode == <uint32_t>op_ds_gws_barrier or opcode == <uint32_t>op_ds_gws_sema_v
            or opcode == <uint32_t>op_ds_gws_sema_p or opcode == <uint32_t>op_ds_gws_sema_br
            or opcode == <uint32_t>op_ds_gws_sema_release_all or opcode == <uint32_t>op_ds_ordered_count)
