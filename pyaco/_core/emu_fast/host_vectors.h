/* How wide the vectors of this processor are that modules are compiled for: 512 and 256 bits of x86, else the 128 bits that every processor has. */
#ifndef PYACO_HOST_VECTORS_H
#define PYACO_HOST_VECTORS_H
#include <stdint.h>

static inline int host_vector_bits(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma")) return 512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 256 : 128;
#else
    return 128;
#endif
}

typedef uint32_t sixteen_lanes __attribute__((vector_size(64)));

/* Fill those sixteen lanes of rows, `stride` dwords apart and aligned to 64 bytes, that `sixteens` has a bit for. */
static inline __attribute__((always_inline)) void fill_sixteens_by(uint32_t *rows, uint32_t count, uint32_t stride, uint32_t sixteens, uint32_t value) {
    for (; sixteens; sixteens &= sixteens - 1) {
        uint32_t *lanes = rows + 16 * __builtin_ctz(sixteens);
        for (uint32_t row = 0; row < count; ++row, lanes += stride)
            *(sixteen_lanes *)lanes = (sixteen_lanes){0} + value;
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx512f"))) static void fill_sixteens_at_once(uint32_t *rows, uint32_t count, uint32_t stride, uint32_t sixteens, uint32_t value) {
    fill_sixteens_by(rows, count, stride, sixteens, value);
}
#endif

/* A store for each sixteen lanes where the host has such: with four it takes a tenth of a short half-idle wave. */
static inline void fill_sixteens(uint32_t *rows, uint32_t count, uint32_t stride, uint32_t sixteens, uint32_t value) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f")) {
        fill_sixteens_at_once(rows, count, stride, sixteens, value);
        return;
    }
#endif
    fill_sixteens_by(rows, count, stride, sixteens, value);
}

#endif
