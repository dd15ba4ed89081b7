#version 450
// More than 106 live uniform values: 144 words of a uniform block stay alive through uniform loops that update them all.
layout(local_size_x = 32) in;

layout(set = 0, binding = 0) uniform Constants { uvec4 constants[36]; };
layout(set = 0, binding = 1) buffer Results { uint results[]; };
layout(push_constant) uniform Parameters { uint rounds; };

const int live = 36;

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uvec4 v[live];
    for (int j = 0; j < live; ++j)
        v[j] = constants[j];
    for (uint round = 0; round < rounds; ++round) {
        uvec4 first = v[0];
        for (int j = 0; j < live - 1; ++j)
            v[j] = (v[j] << 1) ^ v[j + 1].yzwx;
        v[live - 1] += first;
        if ((v[3].x & 1u) != 0)
            for (int j = 0; j < live; j += 2)
                v[j] += v[live - 1 - j];
    }
    uint sum = results[i];
    for (int j = 0; j < live; ++j)
        sum = (sum ^ v[j].x) + v[j].y * (v[j].z | 1u) - v[j].w;
    results[i] = sum;
}
