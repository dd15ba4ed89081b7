#version 450
// Histogram of bytes, four to a word: bins in shared memory, then one atomic a bin to the result.
layout(local_size_x = 256) in;

layout(set = 0, binding = 0) readonly buffer Words { uint words[]; };
layout(set = 0, binding = 1) buffer Bins { uint bins[256]; };

shared uint counts[256];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    counts[lane] = 0;
    barrier();
    for (uint turn = 0; turn < 16; ++turn) {
        uint word = words[(gl_WorkGroupID.x * 16 + turn) * 256 + lane];
        atomicAdd(counts[word & 255], 1);
        atomicAdd(counts[(word >> 8) & 255], 1);
        atomicAdd(counts[(word >> 16) & 255], 1);
        atomicAdd(counts[word >> 24], 1);
    }
    barrier();
    if (counts[lane] != 0)
        atomicAdd(bins[lane], counts[lane]);
}
