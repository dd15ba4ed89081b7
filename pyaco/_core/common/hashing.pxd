"""The step of a hash over 64-bit words, for hash tables of kernels."""
from libc.stdint cimport uint64_t

cdef inline uint64_t hash_mix(uint64_t hash, uint64_t word) noexcept nogil:
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL
    return hash ^ (hash >> 29)
