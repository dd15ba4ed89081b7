#version 450
// Double precision: arithmetic, comparison, division, square root, rounding, conversion, and compensated summation.
layout(local_size_x = 32) in;

layout(set = 0, binding = 0) readonly buffer Inputs { dvec2 inputs[]; };
layout(set = 0, binding = 1) writeonly buffer Results { double results[]; };
layout(set = 0, binding = 2) writeonly buffer Flags { uint flags[]; };

const uint per_item = 16;

void main()
{
    uint i = gl_GlobalInvocationID.x;
    double a = inputs[i].x, b = inputs[i].y;
    double r[per_item];
    r[0] = a + b;
    r[1] = a - b;
    r[2] = a * b;
    r[3] = a / b;
    r[4] = sqrt(abs(a));
    r[5] = fma(a, b, -a);
    r[6] = floor(a);
    r[7] = fract(b);
    r[8] = min(a, b) + max(a, 0.5lf);
    r[9] = mix(a, b, 0.25lf);
    r[10] = double(int(a)) + double(uint(abs(b)));
    r[11] = double(float(a)) - a;
    r[12] = a < b ? a : -b;
    r[13] = trunc(a * 3.0lf) + sign(b);

    precise double sum = 0.0lf, correction = 0.0lf;
    for (int j = 0; j < 10; ++j) {
        precise double term = a * 1.0e-3lf + b * double(j) - correction;
        precise double next = sum + term;
        correction = (next - sum) - term;
        sum = next;
    }
    r[14] = sum;
    dmat2 m = dmat2(a, b, -b, a);
    r[15] = determinant(m) + (m * dvec2(1.0lf, 2.0lf)).y;
    for (uint j = 0; j < per_item; ++j)
        results[i * per_item + j] = r[j];

    uvec2 words = unpackDouble2x32(a);
    flags[i] = uint(a < b) | uint(a == b) << 1 | uint(a >= 0.0lf) << 2 | uint(isnan(a)) << 3 | (words.y >> 20) << 4
             | uint(packDouble2x32(words) == a) << 20 | uint(int(b) & 15) << 24;
}
