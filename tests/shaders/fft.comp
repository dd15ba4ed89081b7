#version 450
// Complex Fourier transform of 256 points per workgroup, radix 4, decimation in frequency, in shared memory.
layout(local_size_x = 64) in;
const float tau = 6.28318530717958647692;

layout(set = 0, binding = 0) buffer Signal { vec2 signal[]; };
layout(push_constant) uniform Parameters { float direction; };

shared vec2 points[256];

vec2 multiply(vec2 a, vec2 b)
{
    return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint first = gl_WorkGroupID.x * 256;
    for (uint i = 0; i < 4; ++i)
        points[lane + 64 * i] = signal[first + lane + 64 * i];
    barrier();

    for (uint quarter = 64; quarter > 0; quarter >>= 2) {
        uint within = lane & (quarter - 1);
        uint base = (lane - within) * 4 + within;
        vec2 a = points[base], b = points[base + quarter], c = points[base + 2 * quarter], d = points[base + 3 * quarter];
        vec2 even_sum = a + c, even_difference = a - c;
        vec2 odd_sum = b + d, odd_difference = (b - d).yx * vec2(-direction, direction);
        float angle = direction * tau * float(within) / float(4 * quarter);
        vec2 w1 = vec2(cos(angle), sin(angle));
        vec2 w2 = multiply(w1, w1);
        vec2 w3 = multiply(w2, w1);
        points[base] = even_sum + odd_sum;
        points[base + quarter] = multiply(even_difference + odd_difference, w1);
        points[base + 2 * quarter] = multiply(even_sum - odd_sum, w2);
        points[base + 3 * quarter] = multiply(even_difference - odd_difference, w3);
        barrier();
    }

    for (uint i = 0; i < 4; ++i) {
        uint to = lane + 64 * i;
        uint reversed = bitfieldReverse(to) >> 24;                      // swap the bits, then the bits within each digit
        uint from = ((reversed & 0x55u) << 1) | ((reversed >> 1) & 0x55u);
        signal[first + to] = points[from];
    }
}
