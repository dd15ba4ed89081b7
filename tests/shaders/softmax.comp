#version 450
// Row-wise softmax with scale and causal mask: maximum, exponentials and sum by trees in shared memory.
layout(local_size_x = 64) in;
layout(constant_id = 0) const bool causal = true;

layout(set = 0, binding = 0) readonly buffer Scores { float scores[]; };
layout(set = 0, binding = 1) writeonly buffer Weights { float weights[]; };
layout(push_constant) uniform Parameters { uint columns; float scale; };

shared float scratch[64];

float reduce(float value, bool maximum)
{
    uint lane = gl_LocalInvocationIndex;
    scratch[lane] = value;
    barrier();
    for (uint stride = 32; stride > 0; stride >>= 1) {
        if (lane < stride)
            scratch[lane] = maximum ? max(scratch[lane], scratch[lane + stride]) : scratch[lane] + scratch[lane + stride];
        barrier();
    }
    float result = scratch[0];
    barrier();
    return result;
}

void main()
{
    uint row = gl_WorkGroupID.x;
    uint visible = causal ? min(columns, row * 8 + 5) : columns;
    float highest = uintBitsToFloat(0xff800000u);
    for (uint i = gl_LocalInvocationIndex; i < visible; i += 64)
        highest = max(highest, scores[row * columns + i] * scale);
    highest = reduce(highest, true);

    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < visible; i += 64)
        sum += exp(scores[row * columns + i] * scale - highest);
    sum = reduce(sum, false);

    for (uint i = gl_LocalInvocationIndex; i < columns; i += 64)
        weights[row * columns + i] = i < visible ? exp(scores[row * columns + i] * scale - highest) / sum : 0.0;
}
