// Kernels of many kinds for test_emu_clang_kernels.py: clang compiles them for AMD GPUs, NumPy has the results.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define KERNEL(x, y) __attribute__((reqd_work_group_size(x, y, 1))) kernel void
#define GX __builtin_amdgcn_workgroup_id_x()
#define GY __builtin_amdgcn_workgroup_id_y()
#define LX __builtin_amdgcn_workitem_id_x()
#define LY __builtin_amdgcn_workitem_id_y()
#define ITEM (GX * 64 + LX)
#define RELAXED __ATOMIC_RELAXED
#define DEVICE __MEMORY_SCOPE_DEVICE
typedef unsigned uint;
typedef unsigned long ulong;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef float f4 __attribute__((ext_vector_type(4)));
typedef half h2 __attribute__((ext_vector_type(2)));
typedef uchar u8x4 __attribute__((ext_vector_type(4)));

// everything before is seen by all after, in both directions
static void full_barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

KERNEL(64, 1) saxpy(global const float *x, global const float *y, global float *out, float a)
{
    out[ITEM] = __builtin_fmaf(a, x[ITEM], y[ITEM]);
}

KERNEL(64, 1) divide(global const int *a, global const int *b, global int *out)
{
    int d = b[ITEM] | 1;
    out[2 * ITEM] = a[ITEM] / d;
    out[2 * ITEM + 1] = (int)((uint)a[ITEM] % (uint)d);
}

KERNEL(16, 4) matmul(global const float *a, global const float *b, global float *out, uint n)
{
    uint column = GX * 16 + LX, row = GY * 4 + LY;
    float sum = 0;
    for (uint k = 0; k < n; ++k)
        sum = __builtin_fmaf(a[row * n + k], b[k * n + column], sum);
    out[row * n + column] = sum;
}

KERNEL(16, 16) matmul_tiled(global const float *a, global const float *b, global float *out, uint n)
{
    local float left[16][17], right[16][17];
    uint column = GX * 16 + LX, row = GY * 16 + LY;
    float sum = 0;
    for (uint tile = 0; tile < n; tile += 16) {
        left[LY][LX] = a[row * n + tile + LX];
        right[LY][LX] = b[(tile + LY) * n + column];
        full_barrier();
        for (uint k = 0; k < 16; ++k)
            sum = __builtin_fmaf(left[LY][k], right[k][LX], sum);
        full_barrier();
    }
    out[row * n + column] = sum;
}

KERNEL(256, 1) reduce(global const uint *in, global uint *out)
{
    local uint sums[256];
    sums[LX] = in[GX * 256 + LX];
    full_barrier();
    for (uint step = 128; step; step >>= 1) {
        if (LX < step)
            sums[LX] += sums[LX + step];
        full_barrier();
    }
    if (LX == 0)
        out[GX] = sums[0];
}

KERNEL(128, 1) scan(global const uint *in, global uint *out)
{
    local uint sums[2][128];
    uint from = 0;
    sums[0][LX] = in[GX * 128 + LX];
    full_barrier();
    for (uint step = 1; step < 128; step <<= 1) {
        sums[from ^ 1][LX] = sums[from][LX] + (LX >= step ? sums[from][LX - step] : 0);
        from ^= 1;
        full_barrier();
    }
    out[GX * 128 + LX] = sums[from][LX];
}

KERNEL(64, 1) histogram(global const uchar *in, global uint *bins, uint each)
{
    local uint mine[16];
    if (LX < 16)
        mine[LX] = 0;
    full_barrier();
    for (uint i = 0; i < each; ++i)
        __scoped_atomic_fetch_add(&mine[in[ITEM * each + i] >> 4], 1u, RELAXED, __MEMORY_SCOPE_WRKGRP);
    full_barrier();
    if (LX < 16)
        __scoped_atomic_fetch_add(&bins[LX], mine[LX], RELAXED, DEVICE);
}

KERNEL(16, 16) transpose(global const uint *in, global uint *out, uint n)
{
    local uint tile[16][17];
    tile[LY][LX] = in[(GY * 16 + LY) * n + GX * 16 + LX];
    full_barrier();
    out[(GX * 16 + LY) * n + GY * 16 + LX] = tile[LX][LY];
}

KERNEL(16, 4) stencil(global const float *in, global float *out, uint n)
{
    int x = GX * 16 + LX, y = GY * 4 + LY;
    float sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int u = x + dx, v = y + dy;
            if (u >= 0 && v >= 0 && u < (int)n && v < (int)n)
                sum += in[v * n + u] * (float)(2 - dx * dx) * (float)(2 - dy * dy);
        }
    out[y * n + x] = sum;
}

KERNEL(128, 1) bitonic_sort(global const int *in, global int *out)
{
    local int keys[128];
    keys[LX] = in[GX * 128 + LX];
    full_barrier();
    for (uint size = 2; size <= 128; size <<= 1)
        for (uint stride = size >> 1; stride; stride >>= 1) {
            uint other = LX ^ stride;
            if (other > LX) {
                int p = keys[LX], q = keys[other];
                if ((p > q) == ((LX & size) == 0)) {
                    keys[LX] = q;
                    keys[other] = p;
                }
            }
            full_barrier();
        }
    out[GX * 128 + LX] = keys[LX];
}

KERNEL(64, 1) mandelbrot(global uint *out, uint width)
{
    float cx = (float)(ITEM % width) * 3.0f / (float)width - 2.0f, cy = (float)(ITEM / width) * 2.0f / (float)width - 1.0f;
    float x = 0, y = 0;
    uint steps = 0;
    while (x * x + y * y <= 4.0f && steps < 80) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++steps;
    }
    out[ITEM] = steps;
}

KERNEL(64, 1) bodies(global const f4 *in, global f4 *out, uint n)
{
    f4 me = in[ITEM];
    float x = 0, y = 0, z = 0;
    for (uint i = 0; i < n; ++i) {
        f4 other = in[i];
        float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
        float square = dx * dx + dy * dy + dz * dz + 0.01f;
        float force = other.w / (square * __builtin_sqrtf(square));
        x += dx * force;
        y += dy * force;
        z += dz * force;
    }
    out[ITEM] = (f4)(x, y, z, me.w);
}

KERNEL(64, 1) doubles(global const double *a, global const double *b, global double *out)
{
    double p = a[ITEM], q = b[ITEM];
    out[4 * ITEM] = p * q + 1.0;
    out[4 * ITEM + 1] = p / q;
    out[4 * ITEM + 2] = __builtin_sqrt(p * p + q * q);
    out[4 * ITEM + 3] = __builtin_floor(p) - (double)(long)q;
}

KERNEL(64, 1) halves(global const h2 *a, global const h2 *b, global h2 *out)
{
    out[2 * ITEM] = a[ITEM] * b[ITEM] - b[ITEM];
    out[2 * ITEM + 1] = (h2)(a[ITEM].x < b[ITEM].x ? a[ITEM].y : b[ITEM].y, (half)((float)a[ITEM].x * 0.5f));
}

KERNEL(64, 1) checksum(global const uchar *in, global uint *out, uint each)
{
    uint crc = ~0u;
    for (uint i = 0; i < each; ++i) {
        crc ^= in[ITEM * each + i];
        for (uint bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    out[ITEM] = ~crc;
}

KERNEL(64, 1) random_walk(global ulong *state, uint steps)
{
    ulong s = state[ITEM];
    for (uint i = 0; i < steps; ++i) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        s = s * 6364136223846793005ul + 1442695040888963407ul;
    }
    state[ITEM] = s;
}

KERNEL(64, 1) bits(global const uint *in, global uint *out)
{
    uint v = in[ITEM];
    out[4 * ITEM] = __builtin_popcount(v);
    out[4 * ITEM + 1] = v ? __builtin_clz(v) : 99;
    out[4 * ITEM + 2] = __builtin_bitreverse32(v);
    out[4 * ITEM + 3] = __builtin_bswap32(v) ^ (v << (v & 31) | v >> (-v & 31));
}

KERNEL(64, 1) pixels(global const u8x4 *in, global u8x4 *out)
{
    u8x4 p = in[ITEM];
    uint grey = (p.x * 77u + p.y * 150u + p.z * 29u) >> 8;
    out[ITEM] = (u8x4)((uchar)grey, (uchar)(255 - p.y), p.z > 128 ? 255 : p.z, p.w);
}

KERNEL(64, 1) private_sort(global const int *in, global int *out)
{
    int keys[24];
    for (uint i = 0; i < 24; ++i)
        keys[i] = in[ITEM * 24 + i];
    for (uint i = 1; i < 24; ++i) {
        int key = keys[i];
        uint j = i;
        for (; j > 0 && keys[j - 1] > key; --j)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
    for (uint i = 0; i < 24; ++i)
        out[ITEM * 24 + i] = keys[i];
}

KERNEL(64, 1) machine(global const uchar *program, global const int *in, global int *out, uint length)
{
    int stack[16];
    uint top = 0;
    stack[top++] = in[ITEM];
    for (uint pc = 0; pc < length; ++pc) {
        uchar op = program[(ITEM & 3) * length + pc];
        switch (op & 7) {
        case 0: if (top < 16) { stack[top] = op >> 3; ++top; } break;
        case 1: if (top > 1) { --top; stack[top - 1] += stack[top]; } break;
        case 2: if (top > 1) { --top; stack[top - 1] *= stack[top]; } break;
        case 3: stack[top - 1] = -stack[top - 1]; break;
        case 4: if (top < 16) { stack[top] = stack[top - 1]; ++top; } break;
        case 5: stack[top - 1] ^= op >> 3; break;
        case 6: if (top > 1) { --top; stack[top - 1] -= stack[top]; } break;
        default: stack[top - 1] >>= op >> 6; break;
        }
    }
    int sum = 0;
    for (uint i = 0; i < top; ++i)
        sum = sum * 31 + stack[i];
    out[ITEM] = sum;
}

__attribute__((noinline)) static uint mix(uint a, uint b)
{
    return (a ^ b) * 2654435761u + (a >> 7);
}

__attribute__((noinline)) static uint climb(uint n, uint seed)
{
    uint kept[4];
    for (uint i = 0; i < 4; ++i)
        kept[i] = mix(seed + i, n);
    return kept[seed & 3] + mix(kept[n & 3], seed);
}

KERNEL(64, 1) calls(global const uint *in, global uint *out)
{
    uint value = in[ITEM];
    for (uint i = 0; i < (value & 7); ++i)
        value = climb(i, value);
    out[ITEM] = value;
}

KERNEL(64, 1) compare_and_swap(global const float *in, global uint *least, global ulong *sum)
{
    float value = in[ITEM];
    uint old = __scoped_atomic_load_n(least, RELAXED, DEVICE);
    union { float f; uint u; } now, mine;
    mine.f = value;
    while (now.u = old, mine.f < now.f && !__scoped_atomic_compare_exchange_n(least, &old, mine.u, 0, RELAXED, RELAXED, DEVICE))
        ;
    __scoped_atomic_fetch_add(sum, (ulong)mine.u << 8, RELAXED, DEVICE);
    __scoped_atomic_fetch_max((global uint *)(sum + 1), mine.u, RELAXED, DEVICE);
}

#if !defined(__GFX6__) && !defined(__GFX7__)
KERNEL(64, 1) lanes(global const uint *in, global uint *out)
{
    uint v = in[ITEM];
    uint lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    out[3 * ITEM] = __builtin_amdgcn_ds_bpermute((int)((lane ^ 5) << 2), (int)v);
    out[3 * ITEM + 1] = __builtin_amdgcn_update_dpp(77u, v, 0x111, 0xf, 0xf, 0);
    out[3 * ITEM + 2] = __builtin_amdgcn_readfirstlane(v) + __builtin_amdgcn_ds_swizzle(v, 0x041f);
}
#endif

KERNEL(64, 1) sparse(global const uint *starts, global const uint *columns, global const float *values, global const float *x, global float *out)
{
    float sum = 0;
    for (uint i = starts[ITEM]; i < starts[ITEM + 1]; ++i)
        sum = __builtin_fmaf(values[i], x[columns[i]], sum);
    out[ITEM] = sum;
}

KERNEL(16, 4) life(global const uchar *in, global uchar *out, uint n)
{
    uint x = GX * 16 + LX, y = GY * 4 + LY, alive = 0;
    for (uint d = 0; d < 9; ++d)
        if (d != 4)
            alive += in[(y + d / 3 + n - 1) % n * n + (x + d % 3 + n - 1) % n];
    out[y * n + x] = alive == 3 || (alive == 2 && in[y * n + x]);
}

constant ushort primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};

KERNEL(64, 1) table(global const uint *in, global uint *out)
{
    uint v = in[ITEM], product = 1;
    for (uint i = 0; i < 8; ++i)
        product = product * primes[v >> (4 * i) & 15] + i;
    out[ITEM] = product;
}

KERNEL(64, 1) exponentials(global const float *in, global float *out)
{
    float v = in[ITEM];
    out[4 * ITEM] = __builtin_exp2f(v);
    out[4 * ITEM + 1] = __builtin_log2f(__builtin_fabsf(v) + 0.5f);
    out[4 * ITEM + 2] = __builtin_amdgcn_sinf(v * 0.15915494f);
    out[4 * ITEM + 3] = 1.0f / v;
}

#ifndef __GFX6__
KERNEL(64, 1) flat(global const uint *in, global uint *out)
{
    local uint shared_words[64];
    uint own[4];
    own[LX & 3] = in[ITEM];
    own[(LX + 1) & 3] = in[ITEM] * 3;
    own[(LX + 2) & 3] = LX;
    own[(LX + 3) & 3] = 9;
    shared_words[LX] = in[ITEM] ^ 0x55;
    full_barrier();
    // one pointer to three kinds of memory
    const uint *where = LX % 3 == 0 ? (const uint *)&own[in[ITEM] & 3] : LX % 3 == 1 ? (const uint *)&shared_words[in[ITEM] & 63] : (const uint *)&in[LX];
    out[ITEM] = *where;
}
#endif

#if defined(__gfx942__) || defined(__gfx90a__)
typedef float f32x4 __attribute__((ext_vector_type(4)));
KERNEL(64, 1) matrix(global const float *a, global const float *b, global float *out)
{
    f32x4 sum = {0, 0, 0, 0};
    for (uint k = 0; k < 16; k += 4)
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[LX % 16 * 16 + k + LX / 16], b[(k + LX / 16) * 16 + LX % 16], sum, 0, 0, 0);
    for (uint i = 0; i < 4; ++i)
        out[(LX / 16 * 4 + i) * 16 + LX % 16] = sum[i];
}
#endif
