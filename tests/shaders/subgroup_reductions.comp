#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
// Reductions, inclusive and exclusive scans and clustered reductions of every operation over integers and floats.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uint results[]; };      // 20 an invocation
layout(set = 0, binding = 2) writeonly buffer Floats { float floats[]; };       // 6 an invocation

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint v = values[i];
    int s = int(v);
    float f = float(v & 255u) / 16.0 + 0.5;
    uint r[20];
    r[0] = subgroupAdd(v);
    r[1] = subgroupMul(v | 1u);
    r[2] = subgroupMin(v);
    r[3] = uint(subgroupMax(s));
    r[4] = subgroupAnd(v | 0xff00u);
    r[5] = subgroupOr(v & 0x0101u);
    r[6] = subgroupXor(v);
    r[7] = subgroupInclusiveAdd(v);
    r[8] = uint(subgroupInclusiveMin(s));
    r[9] = subgroupInclusiveXor(v);
    r[10] = subgroupExclusiveAdd(v);
    r[11] = subgroupExclusiveMax(v);
    r[12] = subgroupExclusiveAnd(v | 0xff00u);
    r[13] = subgroupClusteredAdd(v, 4);
    r[14] = subgroupClusteredMax(v, 8);
    r[15] = subgroupClusteredXor(v, 16);
    r[16] = subgroupExclusiveMul(v | 1u);
    r[17] = 0;
    r[18] = 0;
    if ((v & 3u) != 0) {
        r[17] = subgroupAdd(v & 0xffffu);
        r[18] = subgroupExclusiveAdd(1u);
    }
    r[19] = uint(subgroupMin(s >> 4)) + uint(subgroupInclusiveMax(v & 0xffffu));
    for (uint j = 0; j < 20; ++j)
        results[i * 20 + j] = r[j];
    floats[i * 6] = subgroupAdd(f);
    floats[i * 6 + 1] = subgroupMax(f);
    floats[i * 6 + 2] = subgroupInclusiveAdd(f);
    floats[i * 6 + 3] = subgroupExclusiveMin(f);
    floats[i * 6 + 4] = subgroupClusteredAdd(f, 8);
    floats[i * 6 + 5] = subgroupMin(-f);
}
