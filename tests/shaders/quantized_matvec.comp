#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// target: vulkan1.2
// y = W x with W in blocks of 32 four-bit weights and a half-precision scale (18 bytes a block): one row a workgroup.
layout(local_size_x = 32) in;

struct Block {
    float16_t scale;
    uint8_t quants[16];     // weight i in the low, weight i + 16 in the high four bits of byte i; 8 stands for zero
};

layout(set = 0, binding = 0) readonly buffer W { Block w[]; };
layout(set = 0, binding = 1) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Parameters { uint columns; };

shared float partial[32];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint row = gl_WorkGroupID.x;
    uint blocks = columns / 32;
    float sum = 0.0;
    for (uint unit = lane; unit < blocks * 4; unit += 32) {
        uint block = unit / 4, part = unit % 4;
        uint at = row * blocks + block;
        vec4 low = vec4(0.0), high = vec4(0.0);
        for (uint i = 0; i < 4; ++i) {
            uint bits = uint(w[at].quants[part * 4 + i]);
            low[i] = float(int(bits & 15) - 8);
            high[i] = float(int(bits >> 4) - 8);
        }
        float products = dot(low, x[block * 8 + part]) + dot(high, x[block * 8 + 4 + part]);
        sum = fma(float(w[at].scale), products, sum);
    }
    partial[lane] = sum;
    barrier();
    for (uint stride = 16; stride > 0; stride /= 2) {
        if (lane < stride)
            partial[lane] += partial[lane + stride];
        barrier();
    }
    if (lane == 0)
        y[row] = partial[0];
}
