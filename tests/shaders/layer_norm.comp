#version 450
// Layer normalisation of rows of vec4: mean and variance in one pass each, affine output, optional residual.
layout(local_size_x = 32, local_size_y = 2) in;

layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Residual { vec4 residual[]; };
layout(set = 0, binding = 2) uniform Affine { vec4 gain[24]; vec4 offset[24]; };
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Parameters { uint columns4; uint rows; float epsilon; bool add_residual; };

shared float sums[2][32];

float row_sum(float value)
{
    uvec2 id = gl_LocalInvocationID.xy;
    sums[id.y][id.x] = value;
    barrier();
    for (uint stride = 16; stride > 0; stride /= 2) {
        if (id.x < stride)
            sums[id.y][id.x] += sums[id.y][id.x + stride];
        barrier();
    }
    float total = sums[id.y][0];
    barrier();
    return total;
}

void main()
{
    uint row = gl_GlobalInvocationID.y;
    uint column = gl_LocalInvocationID.x;
    bool active_lane = row < rows && column < columns4;
    vec4 value = vec4(0.0);
    if (active_lane) {
        value = x[row * columns4 + column];
        if (add_residual)
            value += residual[row * columns4 + column];
    }
    float width = float(4 * columns4);
    float mean = row_sum(dot(value, vec4(1.0))) / width;
    vec4 centred = active_lane ? value - mean : vec4(0.0);
    float variance = row_sum(dot(centred, centred)) / width;
    if (active_lane)
        y[row * columns4 + column] = centred * inversesqrt(variance + epsilon) * gain[column] + offset[column];
}
