#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
// Inclusive sums of each workgroup's 256 words: scans within subgroups, and one over their totals.
layout(local_size_x = 256) in;

layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { uint sums[]; };

shared uint totals[64];

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint sum = subgroupInclusiveAdd(values[i]);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1)
        totals[gl_SubgroupID] = sum;
    barrier();
    for (uint k = 0; k < gl_SubgroupID; ++k)
        sum += totals[k];
    sums[i] = sum;
}
