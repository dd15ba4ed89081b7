#version 450
// 2D convolution with a (2 r + 1)^2 kernel over a tile with a halo in shared memory; clamped borders, then a ramp.
layout(local_size_x = 16, local_size_y = 8) in;
layout(constant_id = 0) const int radius = 2;

layout(set = 0, binding = 0) readonly buffer Image { float image[]; };
layout(set = 0, binding = 1) uniform Kernel { vec4 weights[13]; };     // 49 at most
layout(set = 0, binding = 2) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Sizes { ivec2 size; float bias; };

shared float tile[8 + 2 * 3][16 + 2 * 3];

void main()
{
    ivec2 local = ivec2(gl_LocalInvocationID.xy);
    ivec2 origin = ivec2(gl_WorkGroupID.xy * gl_WorkGroupSize.xy) - radius;
    for (int y = local.y; y < 8 + 2 * radius; y += 8)
        for (int x = local.x; x < 16 + 2 * radius; x += 16) {
            ivec2 at = clamp(origin + ivec2(x, y), ivec2(0), size - 1);
            tile[y][x] = image[at.y * size.x + at.x];
        }
    barrier();

    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (at.x >= size.x || at.y >= size.y)
        return;
    float sum = bias;
    int weight = 0;
    for (int y = 0; y <= 2 * radius; ++y)
        for (int x = 0; x <= 2 * radius; ++x, ++weight)
            sum += weights[weight >> 2][weight & 3] * tile[local.y + y][local.x + x];
    result[at.y * size.x + at.x] = max(sum, 0.1 * sum);
}
