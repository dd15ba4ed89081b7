#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// target: vulkan1.2
// C = A B in half precision: each invocation makes 2x2 results from packed pairs staged in shared memory, products are
// accumulated in half precision within a tile and in single precision across tiles.
layout(constant_id = 0) const uint tile_k = 16;
layout(local_size_x = 8, local_size_y = 8) in;

layout(set = 0, binding = 0) readonly buffer A { f16vec2 a[]; };    // m x k, row major, pairs along k
layout(set = 0, binding = 1) readonly buffer B { f16vec2 b[]; };    // n x k, row major (B transposed), pairs along k
layout(set = 0, binding = 2) writeonly buffer C { float16_t c[]; };
layout(push_constant) uniform Sizes { uint m, n, k; };

shared f16vec2 tile_a[16][tile_k / 2 + 1];
shared f16vec2 tile_b[16][tile_k / 2 + 1];

void main()
{
    uvec2 local = gl_LocalInvocationID.xy;
    uvec2 origin = gl_WorkGroupID.xy * 16;
    uint pairs = k / 2;
    vec4 sum = vec4(0.0);

    for (uint first = 0; first < pairs; first += tile_k / 2) {
        for (uint i = gl_LocalInvocationIndex; i < 16 * (tile_k / 2); i += 64) {
            uint row = i / (tile_k / 2);
            uint pair = i % (tile_k / 2);
            bool inside = first + pair < pairs;
            tile_a[row][pair] = inside && origin.y + row < m ? a[(origin.y + row) * pairs + first + pair] : f16vec2(0);
            tile_b[row][pair] = inside && origin.x + row < n ? b[(origin.x + row) * pairs + first + pair] : f16vec2(0);
        }
        barrier();
        f16vec2 partial[4] = f16vec2[4](f16vec2(0), f16vec2(0), f16vec2(0), f16vec2(0));
        for (uint pair = 0; pair < tile_k / 2; ++pair) {
            f16vec2 a0 = tile_a[2 * local.y][pair], a1 = tile_a[2 * local.y + 1][pair];
            f16vec2 b0 = tile_b[2 * local.x][pair], b1 = tile_b[2 * local.x + 1][pair];
            partial[0] = fma(a0, b0, partial[0]);
            partial[1] = fma(a0, b1, partial[1]);
            partial[2] = fma(a1, b0, partial[2]);
            partial[3] = fma(a1, b1, partial[3]);
        }
        for (int i = 0; i < 4; ++i)
            sum[i] += float(partial[i].x + partial[i].y);
        barrier();
    }

    for (uint i = 0; i < 4; ++i) {
        uvec2 at = origin + 2 * local + uvec2(i & 1, i >> 1);
        if (at.x < n && at.y < m)
            c[at.y * n + at.x] = float16_t(sum[i]);
    }
}
