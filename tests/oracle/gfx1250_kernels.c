// Work items for test_emu_gfx1250.py: clang compiles each for gfx1250 and for the host, whose results must agree bit for bit. An item has 8 words of
// input and of output.
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define IN __global const uint *
#define OUT __global uint *
#define ATTRIBUTES
#define ITEM(name)                                                                      \
    static void name##_item(uint, IN, OUT);                                             \
    ATTRIBUTES __attribute__((reqd_work_group_size(64, 1, 1))) kernel void name(IN in, OUT out) \
    {                                                                                   \
        uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); \
        name##_item(i, in + 8 * i, out + 8 * i);                                        \
    }                                                                                   \
    static void name##_item(uint i, IN in, OUT out)
typedef half f16;
#else
typedef unsigned uint;
typedef unsigned long ulong;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef _Float16 f16;
#define IN const uint *
#define OUT uint *
#define ITEM(name)                                                                      \
    static void name##_item(uint, IN, OUT);                                             \
    void name(uint count, IN in, OUT out)                                               \
    {                                                                                   \
        for (uint i = 0; i < count; ++i)                                                \
            name##_item(i, in + 8 * i, out + 8 * i);                                    \
    }                                                                                   \
    static void name##_item(uint i, IN in, OUT out)
#endif
typedef signed char schar;
typedef uint u4 __attribute__((ext_vector_type(4)));
typedef float f4 __attribute__((ext_vector_type(4)));
typedef short s8 __attribute__((ext_vector_type(8)));
#define WIDE(n) ((ulong)in[n] | (ulong)in[(n) + 1] << 32)
#define PUT(n, value) do { ulong put_ = (value); out[n] = (uint)put_; out[(n) + 1] = (uint)(put_ >> 32); } while (0)
static float f_of(uint x) { union { uint u; float f; } v; v.u = x; return v.f; }
static uint u_of(float x) { union { uint u; float f; } v; v.f = x; return x != x ? 0x7fc00000u : v.u; }
static ulong d_bits(double x) { union { ulong u; double f; } v; v.f = x; return x != x ? 0x7ff8000000000000ul : v.u; }
static ushort h_bits(f16 x) { union { ushort u; f16 f; } v; v.f = x; return x != x ? 0x7e00 : v.u; }
// a number of moderate size
static float real(uint x) { return (float)(int)x / 65536.0f; }
static double wide_real(ulong x) { return (double)(long)x / 4294967296.0; }

ITEM(bytes)
{
    uchar a = in[0], b = in[1];
    schar c = in[2], d = in[3];
    out[0] = (uchar)(a + b) | (uint)(uchar)(a * b) << 8 | (uint)(uchar)(c - d) << 16 | (uint)(uchar)(c * d) << 24;
    out[1] = (uint)(c < d) + 2 * (a < b) + 4 * (a == b) + ((uchar)(c >> (b & 7)) << 8);
    out[2] = (uint)(a / (b | 1)) << 16 | (uchar)(c % (schar)(d | 1));
    for (int k = 3; k < 8; ++k) { uchar x = in[k] >> (8 * (k & 3)); out[k] = (uint)(x << 1 | x >> 7) & 0xff; }
}

ITEM(shorts)
{
    ushort a = in[0], b = in[1] >> 16;
    short c = in[2], d = in[3];
    out[0] = (uint)(ushort)(a + b) | (uint)(ushort)(a * b) << 16;
    out[1] = (uint)(ushort)(c > d ? c : d) | (uint)(ushort)(a < b ? a : b) << 16;
    out[2] = (uint)((int)c * d);
    out[3] = (uint)(ushort)(c / (short)(d | 1)) | (uint)(ushort)(a % (b | 1)) << 16;
    out[4] = (ushort)(a << (b & 15)) | (uint)(ushort)(c >> (b & 15)) << 16;
    out[5] = (uint)(c + d > 32767 ? 32767 : c + d < -32768 ? -32768 : c + d);
    out[6] = (ushort)~a ^ b;
    out[7] = __builtin_popcount(a) + 100 * (a == b);
}

ITEM(packed_shorts)
{
    s8 a, b;
    for (int k = 0; k < 4; ++k) { a[2 * k] = in[k]; a[2 * k + 1] = in[k] >> 16; b[2 * k] = in[k + 4]; b[2 * k + 1] = in[k + 4] >> 16; }
    s8 sum = a + b, product = a * b + sum, more = (a > b) ? a : b;
    s8 less = (sum < more) ? sum : more;
    for (int k = 0; k < 8; ++k) out[k] = (ushort)product[k] | (uint)(ushort)(less[k] - (more[k] >> 3)) << 16;
}

ITEM(words)
{
    out[0] = in[0] * in[1] + in[2];
    out[1] = (uint)((ulong)in[0] * in[1] >> 32);
    out[2] = (uint)((long)(int)in[2] * (int)in[3] >> 32);
    out[3] = in[0] / (in[4] >> (in[5] & 31) | 1);
    out[4] = (uint)((int)in[1] % (int)(in[6] >> 3 | 1));
    out[5] = in[0] << (in[1] & 31) | in[0] >> (-in[1] & 31);
    out[6] = (in[2] & in[3]) | (~in[2] & in[4]) ^ in[5];
    out[7] = __builtin_clz(in[6] | 1) * 64 + __builtin_ctz(in[7] | 0x80000000u);
}

ITEM(longs)
{
    ulong a = WIDE(0), b = WIDE(2), c = WIDE(4);
    PUT(0, a * b + c);
    PUT(2, (a > b ? a : b) - ((long)b < (long)c ? b : c));
    PUT(4, (a << (b & 63)) ^ (ulong)((long)c >> (a & 63)));
    PUT(6, (ulong)in[6] * in[7] + a - b);
}

ITEM(long_division)
{
    ulong a = WIDE(0), b = WIDE(2) >> (in[4] & 63) | 1;
    PUT(0, a / b);
    PUT(2, a % b);
    PUT(4, (ulong)((long)a / (long)(b >> 1 | 1)));
    PUT(6, (ulong)((long)WIDE(6) % (long)(b >> 2 | 1)));
}

ITEM(sums_of_128_bits)
{
    ulong low = WIDE(0) + WIDE(4), high = WIDE(2) + WIDE(6) + (low < WIDE(0));
    ulong a = WIDE(0), b = WIDE(4);
    ulong p0 = (ulong)(uint)a * (uint)b, p1 = (ulong)(uint)(a >> 32) * (uint)b, p2 = (ulong)(uint)a * (uint)(b >> 32);
    ulong middle = (p0 >> 32) + (uint)p1 + (uint)p2;
    PUT(0, low); PUT(2, high);
    PUT(4, middle << 32 | (uint)p0);
    PUT(6, (ulong)(uint)(a >> 32) * (uint)(b >> 32) + (p1 >> 32) + (p2 >> 32) + (middle >> 32));
}

ITEM(bit_counts)
{
    ulong a = WIDE(0);
    out[0] = __builtin_popcountl(a);
    out[1] = __builtin_clzl(a | 1);
    out[2] = __builtin_ctzl(a | 1ul << 63);
    uint r = in[2];
    r = (r >> 1 & 0x55555555) | (r & 0x55555555) << 1;
    r = (r >> 2 & 0x33333333) | (r & 0x33333333) << 2;
    r = (r >> 4 & 0x0f0f0f0f) | (r & 0x0f0f0f0f) << 4;
    out[3] = r >> 24 | (r >> 8 & 0xff00) | (r << 8 & 0xff0000) | r << 24;
    out[4] = in[3] & -in[3];
    out[5] = in[4] >> (in[5] & 7) & 0x3ff;
    out[6] = (uint)((int)(in[6] << 11) >> 20);
    out[7] = __builtin_parity(in[7]) | (in[7] ^ in[7] >> 1) << 1;
}

ITEM(singles)
{
    float a = real(in[0]), b = real(in[1]), c = real(in[2]);
    out[0] = u_of(a * b + c);
    out[1] = u_of(__builtin_fmaf(a, b, -c));
    out[2] = u_of(a / (b == 0 ? 1 : b));
    out[3] = u_of(__builtin_sqrtf(__builtin_fabsf(c)));
    out[4] = u_of(__builtin_floorf(a) + __builtin_ceilf(b) - __builtin_truncf(c) + __builtin_rintf(a));
    out[5] = u_of(__builtin_fminf(a, b) * 2 - __builtin_fmaxf(b, c));
    out[6] = (uint)(int)a + (uint)__builtin_fabsf(b);
    out[7] = u_of(__builtin_copysignf(a, b)) ^ (a < b) ^ (uint)(b >= c) << 1;
}

ITEM(special_singles)
{
    for (int k = 0; k < 7; ++k) {
        float a = f_of(in[k]), b = f_of(in[k + 1]);
        out[k] = u_of(a + b) ^ u_of(a * b) * 3 ^ (uint)(a < b) * 5 ^ (uint)(a != b) * 9;
    }
    out[7] = u_of((float)WIDE(0)) ^ u_of((float)(long)WIDE(2));
}

ITEM(doubles)
{
    double a = wide_real(WIDE(0)), b = wide_real(WIDE(2)), c = wide_real(WIDE(4));
    PUT(0, d_bits(__builtin_fma(a, b, c) * 3.14159265358979));
    PUT(2, d_bits(a / (b == 0 ? 1 : b) + 1e-30));
    PUT(4, d_bits(__builtin_sqrt(__builtin_fabs(c)) - __builtin_floor(a)));
    PUT(6, (ulong)(long)(a * 1e3) + d_bits((double)(float)b));
}

ITEM(halves)
{
    f16 a = (f16)(real(in[0]) / 256), b = (f16)(real(in[1]) / 256), c = (f16)(real(in[2]) / 300);
    out[0] = h_bits(a + b) | (uint)h_bits(a * c) << 16;
    out[1] = h_bits(a - c) | (uint)h_bits(b < c ? b : c) << 16;
    out[2] = u_of((float)a * (float)b);
    out[3] = (uint)(int)a + 7 * (a < b);
    out[4] = h_bits((f16)(int)(in[3] & 0xfff)) | (uint)h_bits(-a) << 16;
    out[5] = h_bits((f16)real(in[4]));
    out[6] = h_bits((f16)wide_real(WIDE(6)));
    out[7] = (uint)(ushort)(short)(float)c;
}

static float bf_of(uint x) { return f_of(x << 16); }
static uint to_bf(float x) { uint u = u_of(x); return x != x ? 0x7fc0 : u + 0x7fff + (u >> 16 & 1) >> 16; }

ITEM(bfloats_by_hand)
{
    for (int k = 0; k < 8; ++k) {
        float a = bf_of(in[k] & 0xffff), b = bf_of(in[k ^ 1] >> 16);
        out[k] = to_bf(a + b) | to_bf(a * b) << 16;
    }
}

ITEM(bfloats)
{
#ifdef __OPENCL_C_VERSION__
    for (int k = 0; k < 8; ++k) {
        union { ushort u[2]; __bf16 b[2]; uint w; } x, y;
        x.w = in[k] & 0xbfffbfff;
        y.b[0] = (__bf16)((float)x.b[0] + (float)x.b[1]);
        y.b[1] = (__bf16)((float)x.b[0] * (float)x.b[1]);
        out[k] = y.u[1] & 0x7fff ? y.w : y.u[0];
    }
#else
    for (int k = 0; k < 8; ++k) {
        uint w = in[k] & 0xbfffbfff;
        uint product = to_bf(bf_of(w & 0xffff) * bf_of(w >> 16));
        // LLVM makes a multiply-add with +0 of the product, so that -0 is lost
        out[k] = to_bf(bf_of(w & 0xffff) + bf_of(w >> 16)) | (product & 0x7fff ? product << 16 : 0);
    }
#endif
}

ITEM(switches)
{
    for (int k = 0; k < 8; ++k) {
        uint x = in[k];
        switch (x % 11) {
        case 0: out[k] = x * 3; break;
        case 1: out[k] = x ^ 0x1234567; break;
        case 2: x += 5; // falls
        case 3: out[k] = x / 7; break;
        case 4: out[k] = in[(k + x) & 7]; break;
        case 5: out[k] = x << 3 | x >> 29; break;
        case 8: out[k] = -x; break;
        case 9: case 10: out[k] = x > 1u << 31 ? 17 : 4; break;
        default: out[k] = k;
        }
    }
}

ITEM(loops)
{
    uint x = in[0] >> 5 | 1, steps = 0;
    while (x != 1 && steps < 300) { x = x & 1 ? 3 * x + 1 : x >> 1; ++steps; }
    out[0] = steps;
    uint a = in[1], b = in[2] | 1;
    while (b) { uint t = a % b; a = b; b = t; }
    out[1] = a;
    uint crc = ~0u;
    for (int k = 0; k < 8; ++k) { crc ^= in[k]; for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0); }
    out[2] = crc;
    ulong h = 14695981039346656037ul;
    for (int k = 0; k < 32; ++k) { h ^= in[k >> 2] >> (8 * (k & 3)) & 0xff; h *= 1099511628211ul; }
    PUT(3, h);
    uint root = 0, rest = in[3];
    for (uint bit = 1u << 30; bit; bit >>= 2) if (rest >= root + bit) { rest -= root + bit; root = (root >> 1) + bit; } else root >>= 1;
    out[5] = root;
    out[6] = i; out[7] = rest;
}

ITEM(sorting)
{
    uint v[8];
    for (int k = 0; k < 8; ++k) v[k] = in[k];
    for (int k = 1; k < 8; ++k)
        for (int j = k; j > 0 && v[j - 1] > v[j]; --j) { uint t = v[j]; v[j] = v[j - 1]; v[j - 1] = t; }
    for (int k = 0; k < 8; ++k) out[k] = v[k];
}

ITEM(scratch)
{
    volatile uint v[40];
    for (int k = 0; k < 40; ++k) v[k] = in[k & 7] + k;
    for (int k = 0; k < 60; ++k) { uint a = v[in[k & 7] >> k % 20 & 31]; v[(a + k) % 40] ^= a * 5 + k; }
    for (int k = 0; k < 8; ++k) out[k] = v[k * 5] + v[39 - k];
}

ITEM(scratch_of_bytes)
{
    volatile uchar v[64];
    volatile ushort w[32];
    for (int k = 0; k < 64; ++k) v[k] = in[k & 7] >> (k & 24);
    for (int k = 0; k < 32; ++k) w[k] = v[(k * 7) & 63] | v[(k * 11 + in[0]) & 63] << 8;
    for (int k = 0; k < 8; ++k) out[k] = w[k * 3] | (uint)w[in[k] & 31] << 16;
}

__attribute__((noinline)) static uint mixed(uint a, uint b, uint c) { return (a ^ b >> 3) * 0x9e3779b1u + c; }
__attribute__((noinline)) static ulong doubly(ulong a, uint b) { return a * mixed((uint)a, b, (uint)(a >> 32)) + b; }

ITEM(calls)
{
    uint x = in[0];
    for (int k = 0; k < 8; ++k) { x = mixed(x, in[k], k); out[k] = x; }
    PUT(6, doubly(WIDE(0), x) + doubly(WIDE(2), in[7]));
}

struct mix { float weight; uint key; ulong wide; short part[2]; };
__attribute__((noinline)) static struct mix blended(struct mix a, const struct mix *b)
{
    struct mix r = {a.weight + b->weight, a.key ^ b->key, a.wide * b->wide, {a.part[0] - b->part[1], b->part[0]}};
    return r;
}

ITEM(structures)
{
    struct mix a = {real(in[0]), in[1], WIDE(2), {in[4], in[5]}}, b = {real(in[6]), in[7], WIDE(0), {in[1], in[2]}};
    struct mix c = blended(a, &b), d = blended(c, &a);
    out[0] = u_of(c.weight); out[1] = c.key; PUT(2, c.wide); out[4] = (ushort)c.part[0] | (uint)(ushort)c.part[1] << 16;
    out[5] = u_of(d.weight); out[6] = d.key + (uint)d.wide; out[7] = (ushort)d.part[0];
}

ITEM(vectors)
{
    u4 a = {in[0], in[1], in[2], in[3]}, b = {in[4], in[5], in[6], in[7]};
    u4 c = a * b + (a >> 7), d = (a ^ b).wzyx;
    for (int k = 0; k < 4; ++k) { out[k] = c[k]; out[k + 4] = d[k] + (a[k] > b[k]); }
}

ITEM(matrices)
{
    f4 r[4], v = {real(in[0]), real(in[1]), real(in[2]), real(in[3])};
    for (int k = 0; k < 4; ++k) r[k] = (f4){real(in[k]), real(in[k + 1]), real(in[k + 2]), real(in[(k + 5) & 7])} * (1.0f / 1024);
    for (int n = 0; n < 3; ++n) {
        f4 next = r[0] * v.x;
        next += r[1] * v.y; next += r[2] * v.z; next += r[3] * v.w;
        v = next;
    }
    for (int k = 0; k < 4; ++k) { out[k] = u_of(v[k]); out[k + 4] = u_of(r[k].x - r[k].w); }
}

ITEM(polynomials)
{
    for (int k = 0; k < 8; ++k) {
        float x = real(in[k]) / 32768, y = 0.25f;
        for (int n = 0; n < 12; ++n) y = __builtin_fmaf(y, x, 1.0f / (n + 1));
        out[k] = u_of(y);
    }
}

ITEM(mandelbrot)
{
    float x = (float)(in[0] & 0xffff) / 32768 - 1.5f, y = (float)(in[1] & 0xffff) / 32768 - 1, a = 0, b = 0;
    uint n = 0;
    for (; n < 100 && a * a + b * b < 4; ++n) { float t = a * a - b * b + x; b = 2 * a * b + y; a = t; }
    out[0] = n; out[1] = u_of(a); out[2] = u_of(b);
    for (int k = 3; k < 8; ++k) out[k] = n * k;
}

ITEM(fixed_point)
{
    for (int k = 0; k < 8; ++k) {
        long p = (long)(int)in[k] * (int)in[(k + 3) & 7] >> 15;
        out[k] = (uint)(p > 0x7fffffff ? 0x7fffffff : p < -0x7fffffff - 1l ? (uint)1 << 31 : (uint)p);
    }
}

ITEM(random_numbers)
{
    ulong s0 = WIDE(0) | 1, s1 = WIDE(2);
    for (int k = 0; k < 4; ++k) {
        ulong t = s0, u = s1;
        s0 = u; t ^= t << 23; s1 = t ^ u ^ t >> 17 ^ u >> 26;
        PUT(2 * k, s1 + u);
    }
}

ITEM(rounds_of_a_cipher)
{
    uint v0 = in[0], v1 = in[1], sum = 0;
    for (int n = 0; n < 32; ++n) {
        v0 += (v1 << 4 ^ v1 >> 5) + v1 ^ sum + in[sum & 3];
        sum += 0x9e3779b9;
        v1 += (v0 << 4 ^ v0 >> 5) + v0 ^ sum + in[sum >> 11 & 3];
    }
    uint a = in[4], b = in[5], c = in[6], d = in[7];
    for (int n = 0; n < 8; ++n) {
        a += b; d ^= a; d = d << 16 | d >> 16; c += d; b ^= c; b = b << 12 | b >> 20;
        a += b; d ^= a; d = d << 8 | d >> 24; c += d; b ^= c; b = b << 7 | b >> 25;
    }
    out[0] = v0; out[1] = v1; out[2] = a; out[3] = b; out[4] = c; out[5] = d; out[6] = i; out[7] = sum;
}

ITEM(conversions)
{
    out[0] = u_of((float)in[0]); out[1] = u_of((float)(int)in[1]); out[2] = (uint)(int)real(in[2]);
    out[3] = u_of((float)(uchar)in[3] + (float)(uchar)(in[3] >> 8) * 2 + (float)(in[3] >> 24));
    PUT(4, d_bits((double)(int)in[4] + (double)in[5] * 0.5));
    PUT(6, (ulong)(double)in[6] * 3 + (ulong)(long)(float)(int)in[7]);
}

ITEM(selections)
{
    for (int k = 0; k < 8; ++k) {
        uint a = in[k], b = in[(k + 1) & 7];
        ulong w = a > b ? WIDE(k & 6) : WIDE((k + 2) & 6);
        out[k] = (w >> 32 > a ? (uint)w : b) + (a == b ? 1 : (int)a < (int)b ? 2 : 3) + (w < ((ulong)b << 32) ? 64 : 0);
    }
}

ITEM(wide_literals)
{
    ulong a = WIDE(0);
    PUT(0, a * 0x123456789abcdefUL + 0xfedcba9876543210UL);
    PUT(2, (a & 0xff00ff00ff00ff00UL) ^ 0x5555555555555555UL);
    double d = wide_real(WIDE(2));
    PUT(4, d_bits(__builtin_fma(d, 2.718281828459045, 0.5772156649015329)));
    PUT(6, d_bits(d < 1234.56789012345 ? d + 0.1 : d * 1e-5));
}

ITEM(many_registers)
{
    // more live values than a small register file has, all of them used in the end
    uint v[64];
    for (int k = 0; k < 64; ++k) v[k] = in[k & 7] * (k * 2 + 1) + (in[(k >> 3) & 7] >> (k & 15));
    for (int n = 0; n < 3; ++n) {
        for (int k = 0; k < 64; ++k) v[k] += v[(k * 7 + 5) & 63] ^ v[(k + 31) & 63] >> 3;
        for (int k = 0; k < 64; ++k) v[k] = (v[k] << 9 | v[k] >> 23) + v[(k * 13 + 1) & 63];
    }
    for (int k = 0; k < 8; ++k) { uint s = 0; for (int j = 0; j < 8; ++j) s = s * 31 + v[8 * j + k]; out[k] = s; }
}

// kinds of programs that nothing here was written for
ITEM(edit_distance)
{
    uint row[17];
    for (uint x = 0; x <= 16; ++x) row[x] = x;
    for (uint y = 1; y <= 16; ++y) {
        uint corner = row[0];
        row[0] = y;
        for (uint x = 1; x <= 16; ++x) {
            uint a = in[(x - 1) >> 3] >> (4 * ((x - 1) & 7)) & 3, b = in[2 + ((y - 1) >> 3)] >> (4 * ((y - 1) & 7)) & 3;
            uint best = corner + (a != b);
            corner = row[x];
            best = best < row[x] + 1 ? best : row[x] + 1;
            row[x] = best < row[x - 1] + 1 ? best : row[x - 1] + 1;
        }
    }
    for (int k = 0; k < 8; ++k) out[k] = row[2 * k + 1] | row[2 * k + 2] << 16;
}

ITEM(prefix_code)
{
    // codes of 1 to 5 bits, read from a stream of 256
    uint at = 0, symbols = 0, hash = 0;
    while (at + 6 < 256 && symbols < 60) {
        ulong both = (ulong)in[at >> 5] | (ulong)in[((at >> 5) + 1) & 7] << 32;
        uint next = (uint)(both >> (at & 31)) & 31;
        uint length = next & 1 ? 1 : next & 2 ? 3 : next & 4 ? 4 : 5;
        hash = (hash << 5 | hash >> 27) ^ (next & ((1u << length) - 1)) * 0x9e3779b1u;
        at += length;
        ++symbols;
        if ((symbols & 7) < 8) out[symbols & 7] = hash;
    }
    out[0] = symbols << 16 | at;
}

ITEM(substring)
{
    uchar needle[6], fail[6];
    for (int k = 0; k < 6; ++k) needle[k] = in[0] >> (5 * k) & 1;
    fail[0] = 0;
    for (uint k = 1, j = 0; k < 6; ++k) {
        while (j && needle[k] != needle[j]) j = fail[j - 1];
        if (needle[k] == needle[j]) ++j;
        fail[k] = (uchar)j;
    }
    uint found = 0, j = 0, first = 999;
    for (uint k = 0; k < 224; ++k) {
        uchar bit = in[1 + (k >> 5)] >> (k & 31) & 1;
        while (j && needle[j] != bit) j = fail[j - 1];
        if (needle[j] == bit) ++j;
        if (j == 6) { ++found; first = first < k ? first : k; j = fail[5]; }
    }
    out[0] = found; out[1] = first; out[2] = fail[5] | fail[3] << 8;
    for (int k = 3; k < 8; ++k) out[k] = j * k;
}

ITEM(nearest_centre)
{
    float least = 1e30f, total = 0;
    uint which = 0;
    for (uint c = 0; c < 9; ++c) {
        float d = 0;
        for (uint k = 0; k < 4; ++k) { float e = real(in[k]) - (float)((int)(c * 2654435761u + k * 40503u) >> 8) / 512.0f; d += e * e; }
        if (d < least) { least = d; which = c; }
        total += d / (float)(c + 1);
    }
    out[0] = which; out[1] = u_of(least); out[2] = u_of(total);
    for (int k = 3; k < 8; ++k) out[k] = u_of(total * (float)k - least);
}

ITEM(rotations)
{
    float q[4] = {real(in[0]), real(in[1]), real(in[2]), 1.0f}, v[3] = {real(in[3]), real(in[4]), real(in[5])};
    float length = __builtin_sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int k = 0; k < 4; ++k) q[k] /= length;
    for (int n = 0; n < 3; ++n) {
        float t[3] = {2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]), 2 * (q[0] * v[1] - q[1] * v[0])};
        float u[3] = {v[0] + q[3] * t[0] + (q[1] * t[2] - q[2] * t[1]), v[1] + q[3] * t[1] + (q[2] * t[0] - q[0] * t[2]),
                      v[2] + q[3] * t[2] + (q[0] * t[1] - q[1] * t[0])};
        for (int k = 0; k < 3; ++k) v[k] = u[k];
    }
    for (int k = 0; k < 8; ++k) out[k] = u_of(k < 3 ? v[k] : q[k & 3] * (float)k);
}

ITEM(elimination)
{
    double m[4][5];
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 5; ++c) m[r][c] = wide_real(WIDE((r * 3 + c) % 7)) / (1 + r + c) + (r == c ? 3 : 0);
    for (int p = 0; p < 4; ++p) {
        int best = p;
        for (int r = p + 1; r < 4; ++r) if (__builtin_fabs(m[r][p]) > __builtin_fabs(m[best][p])) best = r;
        for (int c = 0; c < 5; ++c) { double t = m[p][c]; m[p][c] = m[best][c]; m[best][c] = t; }
        for (int r = p + 1; r < 4; ++r) {
            double f = m[r][p] / m[p][p];
            for (int c = p; c < 5; ++c) m[r][c] -= f * m[p][c];
        }
    }
    for (int r = 0; r < 4; ++r) PUT(2 * r, d_bits(m[r][4] / m[r][r]));
}

ITEM(filters)
{
    f16 line[12], sum = 0;
    for (int k = 0; k < 12; ++k) line[k] = (f16)((float)(int)(in[k & 7] >> (k & 15) & 255) / 16.0f - 8.0f);
    for (int k = 0; k < 8; ++k) {
        // each step rounded, as the host would otherwise keep singles
        f16 terms[4] = {line[k] * (f16)0.25f, line[k + 1] * (f16)0.5f, line[k + 2] * (f16)0.375f, line[k + 4] * (f16)1.125f};
        sum = terms[0] + terms[1];
        sum = sum + terms[2];
        sum = sum - terms[3];
        line[k + 4] += sum;
        out[k] = h_bits(sum) | (uint)h_bits(line[k + 4]) << 16;
    }
}

ITEM(cellular)
{
    uint rule = in[0] & 255;
    ulong cells = WIDE(1);
    for (int n = 0; n < 20; ++n) {
        ulong next = 0;
        for (int k = 0; k < 64; ++k) {
            uint around = (uint)(cells >> ((k + 63) & 63) & 1) << 2 | (uint)(cells >> k & 1) << 1 | (uint)(cells >> ((k + 1) & 63) & 1);
            next |= (ulong)(rule >> around & 1) << k;
        }
        cells = next;
    }
    for (int k = 0; k < 8; k += 2) PUT(k, cells * (2 * k + 1) >> k);
}

ITEM(knapsack)
{
    uint best[33];
    for (int k = 0; k <= 32; ++k) best[k] = 0;
    for (int n = 0; n < 8; ++n) {
        uint weight = (in[n] & 15) + 1, value = in[n] >> 24;
        for (int k = 32; k >= (int)weight; --k) if (best[k - weight] + value > best[k]) best[k] = best[k - weight] + value;
    }
    for (int k = 0; k < 8; ++k) out[k] = best[4 * k + 4];
}

ITEM(base64)
{
    uchar text[16];
    for (int k = 0; k < 12; k += 3) {
        uint bits = 0;
        for (int j = k; j < k + 3; ++j) bits = bits << 8 | (in[j >> 2] >> (8 * (j & 3)) & 255);
        for (int j = 0; j < 4; ++j) {
            uint six = bits >> (18 - 6 * j) & 63;
            text[k / 3 * 4 + j] = (uchar)(six < 26 ? 'A' + six : six < 52 ? 'a' + six - 26 : six < 62 ? '0' + six - 52 : six == 62 ? '+' : '/');
        }
    }
    for (int k = 0; k < 4; ++k) out[k] = text[4 * k] | text[4 * k + 1] << 8 | text[4 * k + 2] << 16 | (uint)text[4 * k + 3] << 24;
    for (int k = 4; k < 8; ++k) out[k] = text[(3 * k) & 15] * text[k];
}

ITEM(greatest_divisors)
{
    ulong a = WIDE(0) | 1, b = WIDE(2) >> 20 | 1;
    uint steps = 0;
    while (b) { ulong r = a % b; a = b; b = r; ++steps; }
    PUT(0, a);
    uint x = in[4] | 1, y = in[5] | 1;
    while (x != y) { if (x > y) { x -= y; do x >>= 1; while (!(x & 1)); } else { y -= x; do y >>= 1; while (!(y & 1)); } ++steps; }
    out[2] = x; out[3] = steps;
    for (int k = 4; k < 8; ++k) out[k] = steps * k + (uint)a;
}

// as many live values as need registers beyond v255
#undef ATTRIBUTES
#define ATTRIBUTES __attribute__((amdgpu_waves_per_eu(1, 1)))
ITEM(beyond_v255)
{
    uint v[400];
#pragma unroll
    for (int k = 0; k < 400; ++k) v[k] = in[k & 7] * (2 * k + 1) ^ in[(k >> 3) & 7] >> (k & 15);
    for (uint n = 0; n < (in[0] & 3) + 2; ++n) {
#pragma unroll
        for (int k = 0; k < 400; ++k) v[k] += (v[(k * 7 + 5) % 400] ^ v[(k + 31) % 400] >> 3) * (uint)(n + 3);
        float f = 0;
#pragma unroll
        for (int k = 0; k < 400; k += 25) f = __builtin_fmaf((float)(v[k] >> 16), (float)(v[k + 7] & 255), f);
        v[n] ^= u_of(f);
    }
    for (int k = 0; k < 8; ++k) {
        uint s = 0;
#pragma unroll
        for (int j = 0; j < 50; ++j) s = s * 31 + v[8 * j + k];
        out[k] = s;
    }
}
