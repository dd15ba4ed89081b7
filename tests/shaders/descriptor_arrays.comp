#version 450
#extension GL_EXT_nonuniform_qualifier : require
// target: vulkan1.2
// Arrays of storage and uniform buffers across two sets, indexed by constants, by uniform values and by divergent values
// (through a uniform switch where the driver is not asked for non-uniform indexing), and the length of a runtime array.
layout(local_size_x = 32) in;

layout(set = 0, binding = 0) readonly buffer Inputs { uint data[]; } inputs[3];
layout(set = 0, binding = 2) uniform Factors { uvec4 factor; } factors[2];
layout(set = 2, binding = 1) buffer Outputs { uint count; uint data[]; } outputs[2];
layout(push_constant) uniform Parameters { uint which; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint chosen = inputs[which].data[i];
    uint group_chosen = inputs[gl_WorkGroupID.x + 1].data[i];
    uint divergent = 0;
    for (uint k = 0; k < 3; ++k)
        if (i % 3 == k)
            divergent = inputs[k].data[i] + uint(inputs[k].data.length());
    uvec4 factor = factors[gl_WorkGroupID.x & 1].factor + factors[0].factor;
    uint value = chosen * factor.x + group_chosen * factor.y + divergent * factor[i & 3];
    if (i < uint(outputs[1].data.length()))
        outputs[1].data[i] = value;
    atomicAdd(outputs[0].count, value & 0xffu);
    outputs[0].data[i] = value ^ inputs[2].data[i];
}
