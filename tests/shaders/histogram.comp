#version 450
// 256-bin histogram of bytes packed four to a word: bins in shared memory, then one atomic per bin to the result.
layout(local_size_x = 256) in;

layout(set = 0, binding = 0) readonly buffer Words { uint words[]; };
layout(set = 0, binding = 1) buffer Bins { uint bins[256]; };
layout(push_constant) uniform Parameters { uint word_count; };

shared uint local_bins[256];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    local_bins[lane] = 0;
    barrier();

    uint stride = gl_NumWorkGroups.x * 256;
    for (uint i = gl_GlobalInvocationID.x; i < word_count; i += stride) {
        uint word = words[i];
        for (int byte = 0; byte < 4; ++byte)
            atomicAdd(local_bins[bitfieldExtract(word, 8 * byte, 8)], 1);
    }
    barrier();

    uint count = local_bins[lane];
    if (count != 0)
        atomicAdd(bins[lane], count);
}
