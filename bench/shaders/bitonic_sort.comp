#version 450
// Sorts runs of 512 words in shared memory by a bitonic network.
layout(local_size_x = 256) in;

layout(set = 0, binding = 0) readonly buffer Given { uint given[]; };
layout(set = 0, binding = 1) writeonly buffer Sorted { uint sorted[]; };

shared uint keys[512];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint first = gl_WorkGroupID.x * 512;
    keys[lane] = given[first + lane];
    keys[lane + 256] = given[first + lane + 256];
    barrier();
    for (uint size = 2; size <= 512; size *= 2) {
        for (uint stride = size / 2; stride > 0; stride /= 2) {
            uint i = 2 * lane - (lane & (stride - 1));
            uint j = i + stride;
            bool ascending = (i & size) == 0;
            uint low = keys[i];
            uint high = keys[j];
            if ((low > high) == ascending) {
                keys[i] = high;
                keys[j] = low;
            }
            barrier();
        }
    }
    sorted[first + lane] = keys[lane];
    sorted[first + lane + 256] = keys[lane + 256];
}
