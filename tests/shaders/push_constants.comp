#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
// target: vulkan1.2
// Push constants of every width, vectors, a matrix, and arrays indexed by constants, uniform and divergent values.
layout(local_size_x = 64) in;

struct Item { uvec2 pair; uint16_t small; uint8_t tiny[2]; };

layout(push_constant) uniform Parameters {
    uint count;
    float scale;
    uint64_t wide;
    mat2x3 matrix;
    Item items[3];
    uint table[5];
    uint8_t bytes[4];
};
layout(set = 0, binding = 0) writeonly buffer Results { uint results[]; };
layout(set = 0, binding = 1) writeonly buffer Floats { vec3 floats[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= count)
        return;
    uint group = gl_WorkGroupID.x;
    Item item = items[i % 3];
    uint value = item.pair.x ^ item.pair.y ^ uint(item.small) ^ uint(item.tiny[i & 1]) << 24;
    value += table[i % 5] * 3 + table[group] + uint(wide >> (i & 31));
    value ^= uint(bytes[i & 3]) << 8 ^ uint(items[group].small);
    results[i] = value;
    floats[i] = matrix * vec2(float(i), scale);
}
