#version 450
// y = A x for A in compressed sparse rows: long rows are shared by the workgroup, short ones are one per invocation.
layout(local_size_x = 32) in;

layout(set = 0, binding = 0) readonly buffer Rows { uint first[]; };
layout(set = 0, binding = 1) readonly buffer Columns { uint column[]; };
layout(set = 0, binding = 2) readonly buffer Entries { float entry[]; };
layout(set = 0, binding = 3) readonly buffer X { float x[]; };
layout(set = 0, binding = 4) buffer Y { float y[]; };
layout(push_constant) uniform Parameters { uint rows; uint long_row; };

shared float partial[32];

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint base = gl_WorkGroupID.x * 32;
    uint row = base + lane;
    if (row < rows) {
        uint begin = first[row], end = first[row + 1];
        if (end - begin < long_row) {
            float sum = 0.0;
            for (uint i = begin; i < end; ++i)
                sum += entry[i] * x[column[i]];
            y[row] = sum;
        }
    }

    for (uint i = 0; i < 32 && base + i < rows; ++i) {
        uint begin = first[base + i], end = first[base + i + 1];
        if (end - begin < long_row)
            continue;
        float sum = 0.0;
        for (uint j = begin + lane; j < end; j += 32)
            sum += entry[j] * x[column[j]];
        partial[lane] = sum;
        barrier();
        for (uint stride = 16; stride > 0; stride /= 2) {
            if (lane < stride)
                partial[lane] += partial[lane + stride];
            barrier();
        }
        if (lane == 0)
            y[base + i] = partial[0];
        barrier();
    }
}
