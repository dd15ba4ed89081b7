#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
// target: vulkan1.2
// 8- and 16-bit storage and arithmetic: wrap-around, shifts, division, comparison, conversion, packed vectors.
layout(local_size_x = 64) in;

struct Mixed { uint8_t a; int8_t b; uint16_t c; int16_t d; uint8_t e[3]; int8_t f; };

layout(set = 0, binding = 0) readonly buffer Bytes { int8_t bytes[]; };
layout(set = 0, binding = 1) readonly buffer Shorts { u16vec2 shorts[]; };
layout(set = 0, binding = 2) readonly buffer Records { Mixed records[]; };
layout(set = 0, binding = 3) writeonly buffer Results { uint16_t results[]; };
layout(set = 0, binding = 4) writeonly buffer ByteResults { u8vec4 byte_results[]; };
layout(set = 0, binding = 5) writeonly buffer Halves { f16vec2 halves[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    int8_t x = bytes[2 * i], y = bytes[2 * i + 1];
    u16vec2 s = shorts[i];
    Mixed m = records[i];
    int16_t t = int16_t(s.x);
    uint first = i * 12;
    results[first] = s.x + s.y;
    results[first + 1] = s.x * s.y;
    results[first + 2] = uint16_t(t >> int16_t(s.y & uint16_t(15)));
    results[first + 3] = s.x << (s.y & uint16_t(15));
    results[first + 4] = s.x / (s.y | uint16_t(1));
    results[first + 5] = uint16_t(max(t, int16_t(s.y)) - min(t, m.d));
    results[first + 6] = uint16_t(int16_t(x) * int16_t(y));
    results[first + 7] = uint16_t(m.c + uint16_t(m.e[i % 3]) + uint16_t(m.f));
    results[first + 8] = uint16_t(x < y ? x : m.b) ^ uint16_t(m.a > m.e[0] ? 256 : 0);
    results[first + 9] = uint16_t(float(s.x) * 0.5) + uint16_t(int16_t(float16_t(x)));
    results[first + 10] = uint16_t(abs(int(t)) % 7 + int(x) / 3);
    results[first + 11] = uint16_t(abs(t)) | uint16_t(bitCount(uint(s.y)));

    int8_t wrapped = int8_t(x * y) + int8_t(m.b - x);
    u8vec4 four = u8vec4(uint8_t(wrapped), uint8_t(uint8_t(x) >> uint8_t(2)), m.a * m.e[2], uint8_t(s.x));
    byte_results[i] = four.wzyx + u8vec4(uint8_t(i));

    f16vec2 h = f16vec2(float16_t(x), float16_t(y)) * float16_t(0.25);
    halves[i] = max(h * h.yx + f16vec2(1.0, -2.0), f16vec2(-100.0)) - f16vec2(float(m.d) / 1024.0);
}
