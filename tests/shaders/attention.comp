#version 450
// Attention of one head with the running softmax: 16 queries a workgroup, keys and values in tiles of 16, dimension 16.
const uint tile = 16;
const uint dimension = 16;
layout(local_size_x = tile) in;

layout(set = 0, binding = 0) readonly buffer Q { vec4 q[]; };
layout(set = 0, binding = 1) readonly buffer K { vec4 k[]; };
layout(set = 0, binding = 2) readonly buffer V { vec4 v[]; };
layout(set = 0, binding = 3) writeonly buffer O { vec4 o[]; };
layout(push_constant) uniform Parameters { uint length; float scale; uint window; };

shared vec4 keys[tile][dimension / 4];
shared vec4 values[tile][dimension / 4];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint query = gl_GlobalInvocationID.x;
    vec4 own[dimension / 4];
    vec4 result[dimension / 4];
    for (uint i = 0; i < dimension / 4; ++i) {
        own[i] = query < length ? q[query * (dimension / 4) + i] * scale : vec4(0.0);
        result[i] = vec4(0.0);
    }
    float highest = -1.0e30, sum = 0.0;

    for (uint first = 0; first < length; first += tile) {
        for (uint i = 0; i < dimension / 4; ++i) {
            bool inside = first + lane < length;
            keys[lane][i] = inside ? k[(first + lane) * (dimension / 4) + i] : vec4(0.0);
            values[lane][i] = inside ? v[(first + lane) * (dimension / 4) + i] : vec4(0.0);
        }
        barrier();
        for (uint j = 0; j < tile && first + j < length; ++j) {
            uint key = first + j;
            if (key > query || query - key >= window)
                continue;
            float score = 0.0;
            for (uint i = 0; i < dimension / 4; ++i)
                score += dot(own[i], keys[j][i]);
            float new_highest = max(highest, score);
            float correction = exp(highest - new_highest);
            float weight = exp(score - new_highest);
            sum = sum * correction + weight;
            for (uint i = 0; i < dimension / 4; ++i)
                result[i] = result[i] * correction + weight * values[j][i];
            highest = new_highest;
        }
        barrier();
    }

    if (query < length)
        for (uint i = 0; i < dimension / 4; ++i)
            o[query * (dimension / 4) + i] = result[i] / sum;
}
