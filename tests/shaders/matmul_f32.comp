#version 450
// C = A B, row major, in tiles of 16x16 staged through shared memory. A is m x k, B is k x n; edges are masked.
const uint tile = 16;
layout(local_size_x = tile, local_size_y = tile) in;

layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Sizes { uint m, n, k; };

shared float tile_a[tile][tile];
shared float tile_b[tile][tile];

void main()
{
    uvec2 local = gl_LocalInvocationID.xy;
    uint row = gl_GlobalInvocationID.y;
    uint column = gl_GlobalInvocationID.x;
    float sum = 0.0;

    for (uint first = 0; first < k; first += tile) {
        bool a_inside = row < m && first + local.x < k;
        bool b_inside = column < n && first + local.y < k;
        tile_a[local.y][local.x] = a_inside ? a[row * k + first + local.x] : 0.0;
        tile_b[local.y][local.x] = b_inside ? b[(first + local.y) * n + column] : 0.0;
        barrier();
        for (uint i = 0; i < tile; ++i)
            sum += tile_a[local.y][i] * tile_b[i][local.x];
        barrier();
    }

    if (row < m && column < n)
        c[row * n + column] = sum;
}
