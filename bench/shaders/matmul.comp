#version 450
// Product of two matrices of 256 x 256 floats, an element for each invocation.
layout(local_size_x = 16, local_size_y = 16) in;

layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };

const uint edge = 256;

void main()
{
    uint column = gl_GlobalInvocationID.x;
    uint row = gl_GlobalInvocationID.y;
    float sum = 0.0;
    for (uint k = 0; k < edge; ++k)
        sum += a[row * edge + k] * b[k * edge + column];
    c[row * edge + column] = sum;
}
