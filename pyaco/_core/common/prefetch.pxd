"""Bringing lines into the cache ahead of their use.

Worth it where rows are named by other rows, in an order that the processor cannot foresee, and only in tables that the caches do not hold.
"""

# GCC takes a function that only prefetches for one without effects, and leaves its calls out.
cdef extern from *:
    """
    #ifndef PYACO_PREFETCH
    #define PYACO_PREFETCH
    static inline void fetch(const void *place)
    {
        __builtin_prefetch(place);
        __asm__ volatile("");
    }
    #endif
    """
    void fetch(const void *place) noexcept nogil
