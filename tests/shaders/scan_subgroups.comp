#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
// Inclusive prefix sum of each workgroup's 256 values: a scan within each subgroup, a scan over the subgroups' totals.
// The second buffer records the total of each subgroup, so that it depends on the subgroup size.
layout(local_size_x = 256) in;

layout(set = 0, binding = 0) buffer Values { uint values[]; };
layout(set = 0, binding = 1) writeonly buffer Totals { uint totals[]; };

shared uint subgroup_totals[64];

void main()
{
    uint value = values[gl_GlobalInvocationID.x];
    uint prefix = subgroupInclusiveAdd(value);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1) {
        subgroup_totals[gl_SubgroupID] = prefix;
        totals[gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID] = prefix;
    }
    barrier();

    if (gl_SubgroupID == 0) {
        uint total = gl_SubgroupInvocationID < gl_NumSubgroups ? subgroup_totals[gl_SubgroupInvocationID] : 0;
        uint before = subgroupExclusiveAdd(total);
        if (gl_SubgroupInvocationID < gl_NumSubgroups)
            subgroup_totals[gl_SubgroupInvocationID] = before;
    }
    barrier();
    values[gl_GlobalInvocationID.x] = prefix + subgroup_totals[gl_SubgroupID];
}
