#version 450
// a x + y.
layout(local_size_x = 256) in;

layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y { float y[]; };
layout(set = 0, binding = 2) writeonly buffer Result { float result[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    result[i] = 2.5 * x[i] + y[i];
}
