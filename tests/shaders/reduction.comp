#version 450
// One partial sum, minimum and maximum per workgroup: grid-stride accumulation, then a tree in shared memory.
layout(local_size_x = 128) in;

layout(set = 0, binding = 0) readonly buffer Values { int values[]; };
layout(set = 0, binding = 1) writeonly buffer Partial { ivec4 partial[]; };   // sum, minimum, maximum, count
layout(push_constant) uniform Parameters { uint n; };

shared int sums[128];
shared ivec2 ranges[128];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    int sum = 0;
    ivec2 range = ivec2(0x7fffffff, int(0x80000000u));
    int count = 0;
    for (uint i = gl_GlobalInvocationID.x; i < n; i += stride) {
        int value = values[i];
        sum += value;
        range = ivec2(min(range.x, value), max(range.y, value));
        count++;
    }
    sums[lane] = sum;
    ranges[lane] = range;
    barrier();

    for (uint half_size = gl_WorkGroupSize.x / 2; half_size > 0; half_size >>= 1) {
        if (lane < half_size) {
            sums[lane] += sums[lane + half_size];
            ivec2 other = ranges[lane + half_size];
            ranges[lane].x = min(ranges[lane].x, other.x);
            ranges[lane].y = max(ranges[lane].y, other.y);
        }
        barrier();
    }

    if (lane == 0)
        partial[gl_WorkGroupID.x] = ivec4(sums[0], ranges[0], count);
}
