/* How wide the vectors of this processor are that modules are compiled for: 512 and 256 bits of x86, else the 128 bits that every processor has. */
#ifndef PYACO_HOST_VECTORS_H
#define PYACO_HOST_VECTORS_H

static inline int host_vector_bits(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma")) return 512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 256 : 128;
#else
    return 128;
#endif
}

#endif
