#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
// target: vulkan1.2
// Integer matrix product: signed bytes times unsigned bytes, 32-bit sums, then requantised to bytes by a row's shift.
layout(local_size_x = 8, local_size_y = 8) in;

layout(set = 0, binding = 0) readonly buffer A { i8vec4 a[]; };         // m x k
layout(set = 0, binding = 1) readonly buffer B { u8vec4 b[]; };         // n x k
layout(set = 0, binding = 2) writeonly buffer Sums { int sums[]; };     // m x n
layout(set = 0, binding = 3) writeonly buffer C { int8_t c[]; };        // m x n
layout(set = 0, binding = 4) uniform Shifts { ivec4 shifts[4]; };       // one per row
layout(push_constant) uniform Sizes { uint m, n, k; };

shared uint tile_b[8][9];

int dot4(i8vec4 x, u8vec4 y)
{
    ivec4 products = ivec4(x) * ivec4(y);
    return products.x + products.y + products.z + products.w;
}

void main()
{
    uint row = gl_GlobalInvocationID.y;
    uint column = gl_GlobalInvocationID.x;
    uvec2 local = gl_LocalInvocationID.xy;
    uint quads = k / 4;
    int sum = 0;
    for (uint first = 0; first < quads; first += 8) {
        uint from = gl_WorkGroupID.x * 8 + local.y;
        bool inside = from < n && first + local.x < quads;
        u8vec4 bytes = inside ? b[from * quads + first + local.x] : u8vec4(0);
        tile_b[local.y][local.x] = pack32(bytes);
        barrier();
        for (uint i = 0; i < 8; ++i)
            if (first + i < quads && row < m)
                sum += dot4(a[row * quads + first + i], unpack8(tile_b[local.x][i]));
        barrier();
    }
    if (row < m && column < n) {
        sums[row * n + column] = sum;
        int shift = shifts[row / 4][row % 4];
        int rounded = (sum + (1 << (shift - 1))) >> shift;
        c[row * n + column] = int8_t(clamp(rounded, -128, 127));
    }
}
