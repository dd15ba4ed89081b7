#version 450
// Rotary position embedding: pairs of each head are rotated by position * base^(-2 i / dimension); the rest is copied.
layout(local_size_x = 16, local_size_y = 4) in;

layout(set = 0, binding = 0) buffer Heads { float heads[]; };           // position, head, element
layout(set = 0, binding = 1) readonly buffer Positions { int positions[]; };
layout(push_constant) uniform Parameters {
    uint head_count, dimension, rotated;
    float log2_base, scale;
    uint interleaved;
};

void main()
{
    uint pair = gl_GlobalInvocationID.x;
    uint head = gl_GlobalInvocationID.y % head_count;
    uint token = gl_GlobalInvocationID.y / head_count;
    if (pair >= rotated / 2)
        return;
    uint row = (token * head_count + head) * dimension;
    uint i = row + (interleaved != 0 ? 2 * pair : pair);
    uint j = interleaved != 0 ? i + 1 : i + rotated / 2;
    float angle = float(positions[token]) * scale * exp2(-2.0 * float(pair) / float(rotated) * log2_base);
    float c = cos(angle), s = sin(angle);
    float x = heads[i], y = heads[j];
    heads[i] = x * c - y * s;
    heads[j] = x * s + y * c;
}
