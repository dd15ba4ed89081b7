from isa_opcodes cimport *
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.emu.wave cimport Handler, Instruction, Machine, Wave, WaveSync
from pyaco._core.isa.decode cimport Decoded

cdef enum:
    sgpr_ttmp_cluster = 6             # TTMP6: places in the cluster, and how many workgroups it has
    cluster_limit = 16                # workgroups of a cluster
    minus_three = 4 * 195             # a source: the constant that names the barrier of the cluster

# What `Machine.sync` points at; NULL: no memory.
cdef WaveSync *open_sync() noexcept nogil
cdef void close_sync(WaveSync *sync) noexcept nogil
cdef void fill_wave_sync(Handler *table) noexcept nogil
# Empty the queues, and forget the clusters of the last dispatch; the counters of the resources stay.
cdef void clear_waiting(WaveSync *sync) noexcept nogil

# TTMP6 of a workgroup at `place` of a cluster of `size` workgroups in x, y, z.
cdef uint32_t cluster_word(const uint32_t *place, const uint32_t *size) noexcept nogil
# How many workgroups the cluster of a wave has, 1 where it is in none; its workgroup's number among them.
cdef uint32_t cluster_size_of(const Wave *wave) noexcept nogil
cdef uint32_t cluster_rank_of(const Wave *wave) noexcept nogil
# Whether a load that names workgroups of the cluster, a bit for each, is for others than the wave's own.
cdef bint is_for_others(const Wave *wave, uint32_t workgroups) noexcept nogil
# S_BARRIER_SIGNAL and S_BARRIER_WAIT of the cluster's barrier, in a wave of a cluster.
cdef int signal_cluster(Machine *machine, Wave *wave, const Instruction *instruction, bint asks) noexcept nogil
cdef int wait_for_cluster(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil


cdef inline bint waits_for_dispatch(const Decoded *d) noexcept nogil:
    """Whether an instruction may wait for waves of other workgroups, or is what they wait for."""
    cdef uint32_t opcode = d.opcode
    if opcode == <uint32_t>op_s_barrier_signal or opcode == <uint32_t>op_s_barrier_signal_isfirst:
        return d.source[0] == minus_three
    return (opcode == <uint32_t>op_ds_gws_init or opcode == <uint32_t>op_ds_gws_barrier or opcode == <uint32_t>op_ds_gws_sema_v
            or opcode == <uint32_t>op_ds_gws_sema_p or opcode == <uint32_t>op_ds_gws_sema_br
            or opcode == <uint32_t>op_ds_gws_sema_release_all or opcode == <uint32_t>op_ds_ordered_count)
