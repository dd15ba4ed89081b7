#version 450
// An array of 288 words of the invocation's own, too large to unroll or to keep in registers: it lives in scratch memory.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uint results[]; };
layout(push_constant) uniform Parameters { uint stride; uint rounds; };

const int live = 288;

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint v[live];
    for (int j = 0; j < live; ++j)
        v[j] = values[uint(j) * stride + i];
    for (uint round = 0; round < rounds; ++round) {
        uint first = v[0];
        for (int j = 0; j < live - 1; ++j)
            v[j] = (v[j] ^ (v[j + 1] >> 3)) + uint(j);
        v[live - 1] ^= first;
        for (int j = live / 2 - 1; j >= 0; --j)
            v[j] += v[live - 1 - j] * 5u;
    }
    uint sum = 0;
    for (int j = 0; j < live; ++j)
        sum = sum * 31u + v[j];
    results[i] = sum;
}
