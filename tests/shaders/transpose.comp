#version 450
// Transpose through shared memory with a padded tile: 16x16 elements by 16x4 invocations.
layout(local_size_x = 16, local_size_y = 4) in;

layout(set = 0, binding = 0) readonly buffer Source { uint source[]; };
layout(set = 0, binding = 1) writeonly buffer Result { uint result[]; };
layout(push_constant) uniform Sizes { uint width, height; };

shared uint tile[16][17];

void main()
{
    uvec2 local = gl_LocalInvocationID.xy;
    uvec2 from = gl_WorkGroupID.xy * 16 + local;
    for (uint y = 0; y < 16; y += 4)
        if (from.x < width && from.y + y < height)
            tile[local.y + y][local.x] = source[(from.y + y) * width + from.x];
    barrier();
    uvec2 to = gl_WorkGroupID.yx * 16 + local;
    for (uint y = 0; y < 16; y += 4)
        if (to.x < height && to.y + y < width)
            result[(to.y + y) * height + to.x] = tile[local.x][local.y + y];
}
