#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_quad : require
// Shuffles by index, exclusive or, and distance; quad swaps and broadcasts; a butterfly sort network inside 16 lanes.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uint results[]; };      // 12 an invocation
layout(set = 0, binding = 2) writeonly buffer Vectors { vec2 vectors[]; };
layout(push_constant) uniform Parameters { uint distance; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint lane = gl_SubgroupInvocationID;
    uint v = values[i];
    uint r[12];
    r[0] = subgroupShuffle(v, (lane * 5u + v) % gl_SubgroupSize);
    r[1] = subgroupShuffleXor(v, 1u);
    r[2] = subgroupShuffleXor(v, 16u);
    r[3] = subgroupShuffleXor(v, distance);
    r[4] = lane >= 3u ? v : 0u;
    uint up = subgroupShuffleUp(v, 3u);
    r[4] = lane >= 3u ? up : 0u;
    uint down = subgroupShuffleDown(v, distance);
    r[5] = lane + distance < gl_SubgroupSize ? down : 0u;
    r[6] = subgroupQuadBroadcast(v, 2u);
    r[7] = subgroupQuadSwapHorizontal(v);
    r[8] = subgroupQuadSwapVertical(v);
    r[9] = subgroupQuadSwapDiagonal(v);
    r[10] = subgroupShuffle(v, gl_SubgroupID & 3u);

    uint sorted = v;
    for (uint block = 2u; block <= 16u; block *= 2u)
        for (uint stride = block / 2u; stride > 0u; stride /= 2u) {
            uint other = subgroupShuffleXor(sorted, stride);
            bool lower = (lane & stride) == 0u;
            bool ascending = (lane & block) == 0u || block == 16u;
            sorted = lower == ascending ? min(sorted, other) : max(sorted, other);
        }
    r[11] = sorted;
    for (uint j = 0; j < 12; ++j)
        results[i * 12 + j] = r[j];
    vectors[i] = subgroupShuffle(vec2(float(v & 1023u), float(lane)), gl_SubgroupSize - 1u - lane);
}
