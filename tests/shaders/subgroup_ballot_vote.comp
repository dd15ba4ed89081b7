#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
// Ballots, their bit operations, votes, election, broadcast and masks; stream compaction with one atomic per subgroup.
layout(local_size_x = 128) in;

layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uint results[]; };      // 16 an invocation
layout(set = 0, binding = 2) buffer Counter { uint kept; uint elections; };
layout(set = 0, binding = 3) writeonly buffer Kept { uint kept_values[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint v = values[i];
    uint r[16];
    uvec4 odd = subgroupBallot((v & 1u) != 0);
    r[0] = odd.x;
    r[1] = odd.y;
    r[2] = subgroupBallotBitCount(odd);
    r[3] = subgroupBallotExclusiveBitCount(odd) | subgroupBallotInclusiveBitCount(odd) << 16;
    r[4] = subgroupBallotFindLSB(odd) | subgroupBallotFindMSB(odd) << 16;
    r[5] = uint(subgroupInverseBallot(odd)) | uint(subgroupBallotBitExtract(odd, v & 7u)) << 1;
    r[6] = subgroupBroadcast(v, 3);
    r[7] = subgroupBroadcastFirst(v);
    r[8] = uint(subgroupAll(v < 0x70000000u)) | uint(subgroupAny(v > 0x60000000u)) << 1
         | uint(subgroupAllEqual(v >> 31)) << 2 | uint(subgroupAllEqual(v)) << 3;
    r[9] = gl_SubgroupEqMask.x ^ gl_SubgroupGeMask.x;
    r[10] = gl_SubgroupLtMask.x ^ gl_SubgroupLeMask.y;
    r[11] = gl_SubgroupGtMask.x;
    r[12] = gl_SubgroupSize << 16 | gl_SubgroupInvocationID << 8 | gl_SubgroupID << 4 | gl_NumSubgroups;
    r[13] = 0;
    r[14] = 0;
    if ((v & 6u) == 0) {
        r[13] = subgroupBroadcastFirst(i);
        r[14] = subgroupBallot(true).x;
        if (subgroupElect())
            atomicAdd(elections, 1);
    }

    bool keep = v > 0x30000000u;
    uvec4 keepers = subgroupBallot(keep);
    uint base = 0;
    if (subgroupElect())
        base = atomicAdd(kept, subgroupBallotBitCount(keepers));
    base = subgroupBroadcastFirst(base);
    if (keep)
        kept_values[base + subgroupBallotExclusiveBitCount(keepers)] = v;
    r[15] = uint(keep);
    for (uint j = 0; j < 16; ++j)
        results[i * 16 + j] = r[j];
}
