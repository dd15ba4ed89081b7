#version 450
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// 64-bit integers: arithmetic, division, shifts, comparison, conversion, and a modular exponentiation.
layout(local_size_x = 32) in;

layout(set = 0, binding = 0) readonly buffer Inputs { uint64_t inputs[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uint64_t results[]; };
layout(push_constant) uniform Parameters { uint64_t modulus; };

const uint per_item = 16;

uint64_t power(uint64_t base, uint exponent, uint64_t m)
{
    uint64_t result = 1ul;
    base %= m;
    while (exponent != 0) {
        if ((exponent & 1) != 0)
            result = result * base % m;
        base = base * base % m;
        exponent >>= 1;
    }
    return result;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint64_t a = inputs[2 * i], b = inputs[2 * i + 1];
    int64_t sa = int64_t(a), sb = int64_t(b);
    uint shift = uint(b) & 63u;
    uint64_t r[per_item];
    r[0] = a + b;
    r[1] = a - b;
    r[2] = a * b;
    r[3] = a / (b | 1ul);
    r[4] = a % (b | 1ul);
    r[5] = uint64_t(sa / ((sb & 0x7ffffffffffffffl) | 1l));
    r[6] = a << shift;
    r[7] = a >> shift;
    r[8] = uint64_t(sa >> shift);
    r[9] = (a & b) | (~a ^ b);
    r[10] = uint64_t(min(sa, sb));
    r[11] = max(a, b) + uint64_t(abs(sa)) + uint64_t(sign(sb));
    r[12] = (a < b ? 1ul : 0ul) | (sa < sb ? 2ul : 0ul) | (a == b ? 4ul : 0ul) | (sa >= 0l ? 8ul : 0ul);
    r[13] = uint64_t(int64_t(int(a))) + uint64_t(uint(b >> 32)) + uint64_t(int64_t(float(int(b) >> 8)));
    r[14] = power(a, uint(b) & 0xffffu, modulus);
    uvec2 halves = unpackUint2x32(a);
    r[15] = packUint2x32(halves.yx) ^ uint64_t(double(a >> 12));
    for (uint j = 0; j < per_item; ++j)
        results[i * per_item + j] = r[j];
}
