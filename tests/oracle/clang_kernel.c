// One work item of a test kernel: compiled for AMD GPUs by clang and for the host, whose results must agree bit for bit.
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define BUFFER __global
typedef half float16_type;
#else
#define BUFFER
typedef unsigned uint;
typedef unsigned long ulong;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef _Float16 float16_type;
#endif
#define ITEM_WORDS 96

static float as_f(uint x) { union { uint u; float f; } v; v.u = x; return v.f; }
static uint as_u(float x) { union { uint u; float f; } v; v.f = x; return v.u; }
static double as_d(ulong x) { union { ulong u; double f; } v; v.u = x; return v.f; }
static ulong as_ul(double x) { union { ulong u; double f; } v; v.f = x; return v.u; }
static float16_type as_h(ushort x) { union { ushort u; float16_type f; } v; v.u = x; return v.f; }
static ushort as_us(float16_type x) { union { ushort u; float16_type f; } v; v.f = x; return v.u; }
// NaNs compare as one
static uint f_bits(float x) { return x != x ? 0x7fc00000u : as_u(x); }
static ulong d_bits(double x) { return x != x ? 0x7ff8000000000000ul : as_ul(x); }
static uint h_bits(float16_type x) { return x != x ? 0x7e00u : as_us(x); }

static void put64(BUFFER uint *out, uint *at, ulong value)
{
    out[(*at)++] = (uint)value;
    out[(*at)++] = (uint)(value >> 32);
}

static void item(uint i, BUFFER const uint *in, BUFFER uint *out)
{
    uint at = 0;
    uint a = in[4 * i], b = in[4 * i + 1], c = in[4 * i + 2], d = in[4 * i + 3];
    ulong wa = (ulong)b << 32 | a, wb = (ulong)d << 32 | c;
    out += i * ITEM_WORDS;

    // 32-bit integers
    out[at++] = a / (c | 1u);
    out[at++] = a % (c | 1u);
    out[at++] = (uint)((int)a / (int)(c & 0x7fffffffu | 1u));
    out[at++] = (uint)((int)a % (int)(c >> 7 | 1u));
    out[at++] = (uint)((ulong)a * c >> 32) ^ (uint)((long)(int)b * (int)d >> 32);
    out[at++] = (a << (c & 31)) | (a >> (-c & 31));
    out[at++] = (uint)((int)a >> (d & 31)) + (b >> (c & 31));
    out[at++] = __builtin_popcount(a) * 1000 + __builtin_clz(b | 1) * 33 + __builtin_ctz(c | 0x80000000u);
    out[at++] = (a > b ? a : b) - ((int)c < (int)d ? c : d);
    out[at++] = (a & b) | (~a & c);
    out[at++] = (a >> 5 & 0x3ff) + (uint)((int)(b << 9) >> 20);
    out[at++] = ((a & 0xffffff) * (b & 0xffffff)) + c;
    out[at++] = (a ^ b) + c + (a << 3);
    // 64-bit integers
    put64(out, &at, wa + wb);
    put64(out, &at, wa - wb);
    put64(out, &at, wa * wb);
    put64(out, &at, wa / (wb >> 20 | 1ul));
    put64(out, &at, (ulong)((long)wa % (long)(wb >> 13 | 1ul)));
    put64(out, &at, wa << (c & 63) | (ulong)((long)wb >> (a & 63)));
    put64(out, &at, wa < wb ? wa : wb);
    put64(out, &at, (long)wa < (long)wb ? ~wa : wb);
    // narrow integers
    out[at++] = (ushort)(a * b) + (uint)(short)(a >> 3) * 3u;
    out[at++] = (uint)(uchar)(a + b) << 8 | (uchar)((signed char)c >> 2);
    out[at++] = (ushort)((short)a / (short)(c & 0x7fff | 1));
    // single precision
    float x = as_f(a), y = as_f(b), z = as_f(c);
    out[at++] = f_bits(x + y);
    out[at++] = f_bits(x * y - z);
    out[at++] = f_bits(__builtin_fmaf(x, y, z));
    out[at++] = f_bits(x / y);
    out[at++] = f_bits(__builtin_sqrtf(x < 0 ? -x : x));
    out[at++] = f_bits(__builtin_floorf(x)) ^ f_bits(__builtin_truncf(y)) ^ f_bits(__builtin_ceilf(z)) ^ f_bits(__builtin_rintf(x));
    out[at++] = (x < y) | (x <= z) << 1 | (y == z) << 2 | (x != y) << 3 | (x > z) << 4 | !(x >= y) << 5;
    out[at++] = f_bits((float)(int)a) ^ f_bits((float)b);
    out[at++] = x > -2e9f && x < 2e9f ? (uint)(int)x : 77u;
    out[at++] = x >= 0 && x < 4e9f ? (uint)x : 78u;
    out[at++] = f_bits((float)wa) ^ f_bits((float)(long)wb);
    out[at++] = f_bits(__builtin_copysignf(x, y)) ^ f_bits(__builtin_fabsf(z));
    // double precision
    double p = as_d(wa), q = as_d(wb);
    put64(out, &at, d_bits(p + q));
    put64(out, &at, d_bits(p * q - 1.5));
    put64(out, &at, d_bits(p / q));
    put64(out, &at, d_bits(__builtin_fma(p, q, (double)x)));
    put64(out, &at, d_bits(__builtin_floor(p)) ^ d_bits((double)(int)a) ^ d_bits((double)c));
    out[at++] = f_bits((float)p);
    out[at++] = (p < q) | (p == q) << 1 | (p >= 0.5) << 2;
    put64(out, &at, d_bits((double)wa) ^ d_bits((double)(long)wb));
    // half precision
    float16_type h = as_h(a), k = as_h(b);
    out[at++] = h_bits(h + k);
    out[at++] = h_bits(h * k);
    out[at++] = h_bits(h - k) << 16 | h_bits((float16_type)x);
    out[at++] = f_bits((float)h) ^ (h < k);
    // control flow: a loop whose length depends on the item, with exits
    uint n = a & 0x3ff | 1, steps = 0;
    while (n != 1 && steps < 60) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        ++steps;
        if (n == 52)
            break;
        if ((n & 0xff) == 0x10)
            continue;
        steps += n > 100;
    }
    out[at++] = steps;
    switch (c & 7) {
    case 0: n += a; break;
    case 1: n *= 3;
    case 2: n ^= b; break;
    case 5: n = d - n; break;
    default: n += 17;
    }
    out[at++] = n;
    // an array of the item's own, indexed at run time
    uint own[16];
    for (uint j = 0; j < 16; ++j)
        own[j] = j * a;
    for (uint j = 0; j < 24; ++j)
        own[(a >> (j & 15)) & 15] += own[(b >> (j & 15)) & 15] ^ j;
    out[at++] = own[c & 15] + own[d & 15];
    while (at < ITEM_WORDS)
        out[at++] = 0;
}

#ifdef __OPENCL_C_VERSION__
__attribute__((reqd_work_group_size(64, 1, 1))) kernel void run(BUFFER const uint *in, BUFFER uint *out)
{
    item(__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(), in, out);
}
#else
void run(uint items, const uint *in, uint *out)
{
    for (uint i = 0; i < items; ++i)
        item(i, in, out);
}
#endif
