#version 450
// Specialization constants of every scalar kind: as workgroup size, array length, loop bound, branch and in expressions.
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(local_size_x = 4, local_size_y = 4) in;
layout(constant_id = 2) const int taps = 3;
layout(constant_id = 3) const float gain = 0.5;
layout(constant_id = 4) const bool squared = false;
layout(constant_id = 5) const uint mask = 0xffu;
const int length_of_table = taps * 2 + 1;
const uint packed = (mask << 3) | (uint(taps) & 1u);
const bool both = squared && taps > 4;

layout(set = 0, binding = 0) readonly buffer Values { float values[]; };
layout(set = 0, binding = 1) writeonly buffer Results { float results[]; };
layout(set = 0, binding = 2) writeonly buffer Words { uint words[]; };

shared float staged[gl_WorkGroupSize.x * gl_WorkGroupSize.y + 2 * taps];

void main()
{
    uint width = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
    uint lane = gl_LocalInvocationIndex;
    uint first = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * width;
    for (uint i = lane; i < width + 2 * taps; i += width)
        staged[i] = values[first + i];
    float table[length_of_table];
    for (int i = 0; i < length_of_table; ++i)
        table[i] = gain / float(abs(i - taps) + 1);
    barrier();

    float sum = 0.0;
    for (int i = 0; i < length_of_table; ++i)
        sum += table[i] * staged[lane + i];
    results[first + lane] = squared ? sum * sum : sum;
    words[first + lane] = (floatBitsToUint(staged[lane]) & mask) + packed + (both ? 1000u : 0u) + gl_WorkGroupSize.x;
}
