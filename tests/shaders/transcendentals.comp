#version 450
// The functions of GLSL.std.450 over floats: exponential, trigonometric, rounding, and geometric ones.
layout(local_size_x = 32) in;

layout(set = 0, binding = 0) readonly buffer Inputs { vec4 inputs[]; };         // angle, positive, unit, any
layout(set = 0, binding = 1) writeonly buffer Loose { float loose[]; };         // 16 an invocation
layout(set = 0, binding = 2) writeonly buffer Firm { float firm[]; };           // 16 an invocation
layout(set = 0, binding = 3) writeonly buffer Exact { float exact[]; };         // 16 an invocation

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float angle = inputs[i].x, positive = inputs[i].y, unit = inputs[i].z, any_value = inputs[i].w;
    float r[16];
    r[0] = sin(angle);
    r[1] = cos(angle);
    r[2] = tan(angle * 0.25);
    r[3] = asin(unit);
    r[4] = acos(unit);
    r[5] = atan(any_value);
    r[6] = atan(any_value, unit + 1.5);
    r[7] = sinh(unit);
    r[8] = cosh(unit);
    r[9] = tanh(unit);
    r[10] = asinh(unit);
    r[11] = acosh(positive + 1.5);
    r[12] = atanh(unit * 0.5);
    r[13] = radians(angle) + degrees(unit);
    r[14] = smoothstep(-0.5, 1.5, unit);
    r[15] = sin(angle) * cos(angle * 0.5);
    for (uint j = 0; j < 16; ++j)
        loose[i * 16 + j] = r[j];

    r[0] = exp(unit * 4.0);
    r[1] = exp2(unit * 4.0);
    r[2] = log(positive);
    r[3] = log2(positive);
    r[4] = pow(positive, unit);
    r[5] = sqrt(positive);
    r[6] = inversesqrt(positive);
    r[7] = 1.0 / positive;
    r[8] = length(inputs[i].xyz);
    r[9] = distance(inputs[i].xy, inputs[i].zw);
    r[10] = normalize(inputs[i].xyz).x;
    r[11] = cross(inputs[i].xyz, inputs[i].wxy).y;
    r[12] = reflect(inputs[i].xyz, vec3(0.0, 1.0, 0.0)).y;
    r[13] = refract(normalize(inputs[i].xyz), vec3(0.0, 0.6, 0.8), 0.7).z;
    r[14] = faceforward(inputs[i].xyz, inputs[i].yzw, vec3(1.0, 2.0, 3.0)).x;
    r[15] = mix(unit, positive, 0.3);
    for (uint j = 0; j < 16; ++j)
        firm[i * 16 + j] = r[j];

    int exponent;
    float whole;
    r[0] = floor(any_value);
    r[1] = ceil(any_value);
    r[2] = trunc(any_value);
    r[3] = roundEven(any_value);
    r[4] = fract(any_value);
    r[5] = abs(any_value) * sign(any_value);
    r[6] = min(any_value, unit);
    r[7] = clamp(any_value, -1.0, 1.0);
    r[8] = step(0.0, any_value);
    r[9] = frexp(any_value, exponent);
    r[10] = float(exponent);
    r[11] = ldexp(unit, int(any_value));
    r[12] = modf(any_value, whole);
    r[13] = whole;
    r[14] = float(int(any_value)) + float(uint(abs(any_value)));
    r[15] = uintBitsToFloat(packHalf2x16(vec2(1.0, unit))) == 0.0 ? 1.0 : unpackHalf2x16(packHalf2x16(vec2(floor(unit * 64.0) * 0.015625))).x;
    for (uint j = 0; j < 16; ++j)
        exact[i * 16 + j] = r[j];
}
