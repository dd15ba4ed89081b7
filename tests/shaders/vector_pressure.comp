#version 450
// More than 256 live values in each lane: 288 loaded values go through rounds that read all of them before any is done with.
// The element loops are unrolled by the preprocessor, so that every index is a constant and every element a register.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uint results[]; };
layout(push_constant) uniform Parameters { uint stride; uint rounds; };

#define TIMES_6(M, n) M(n) M(n + 1) M(n + 2) M(n + 3) M(n + 4) M(n + 5)
#define TIMES_36(M, n) TIMES_6(M, n) TIMES_6(M, n + 6) TIMES_6(M, n + 12) TIMES_6(M, n + 18) TIMES_6(M, n + 24) TIMES_6(M, n + 30)
#define TIMES_144(M, n) TIMES_36(M, n) TIMES_36(M, n + 36) TIMES_36(M, n + 72) TIMES_36(M, n + 108)
#define TIMES_288(M, n) TIMES_144(M, n) TIMES_144(M, n + 144)

#define LOAD(n) v[n] = values[uint(n) * stride + i];
#define SHIFT(n) v[n] = (v[n] ^ (v[(n + 1) % 288] >> 3)) + uint(n);
#define FOLD(n) v[143 - (n)] += v[144 + (n)] * 5u;
#define SUM(n) sum = sum * 31u + v[n];

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint v[288];
    TIMES_288(LOAD, 0)
    for (uint round = 0; round < rounds; ++round) {
        TIMES_288(SHIFT, 0)
        TIMES_144(FOLD, 0)
    }
    uint sum = 0;
    TIMES_288(SUM, 0)
    results[i] = sum;
}
