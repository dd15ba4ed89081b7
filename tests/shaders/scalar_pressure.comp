#version 450
// More than 106 live uniform values: 144 words of a uniform block stay alive through a uniform loop that updates them all.
// Unrolled by the preprocessor, so that each of the 36 vectors is in registers.
layout(local_size_x = 32) in;

layout(set = 0, binding = 0) uniform Constants { uvec4 constants[36]; };
layout(set = 0, binding = 1) buffer Results { uint results[]; };
layout(push_constant) uniform Parameters { uint rounds; };

#define TIMES_6(M, n) M(n) M(n + 1) M(n + 2) M(n + 3) M(n + 4) M(n + 5)
#define TIMES_18(M, n) TIMES_6(M, n) TIMES_6(M, n + 6) TIMES_6(M, n + 12)
#define TIMES_36(M, n) TIMES_18(M, n) TIMES_18(M, n + 18)

#define LOAD(n) v[n] = constants[n];
#define SHIFT(n) v[n] = (v[n] << 1) ^ v[(n + 1) % 36].yzwx;
#define FOLD(n) v[2 * (n)] += v[35 - (n)];
#define SUM(n) sum = (sum ^ v[n].x) + v[n].y * (v[n].z | 1u) - v[n].w;

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uvec4 v[36];
    TIMES_36(LOAD, 0)
    for (uint round = 0; round < rounds; ++round) {
        TIMES_36(SHIFT, 0)
        if ((v[3].x & 1u) != 0) {
            TIMES_18(FOLD, 0)
        }
    }
    uint sum = results[i];
    TIMES_36(SUM, 0)
    results[i] = sum;
}
