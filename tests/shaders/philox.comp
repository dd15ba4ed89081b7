#version 450
// Philox 4x32-10 counter-based random numbers, and normal pairs from them by the Box-Muller transform.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) writeonly buffer Bits { uvec4 bits[]; };
layout(set = 0, binding = 1) writeonly buffer Normals { vec4 normals[]; };
layout(push_constant) uniform Parameters { uvec2 key; uint stream; };

uvec4 philox(uvec4 counter, uvec2 round_key)
{
    for (int i = 0; i < 10; ++i) {
        uint high0, low0, high1, low1;
        umulExtended(0xd2511f53u, counter.x, high0, low0);
        umulExtended(0xcd9e8d57u, counter.z, high1, low1);
        counter = uvec4(high1 ^ counter.y ^ round_key.x, low1, high0 ^ counter.w ^ round_key.y, low0);
        round_key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uvec4 random = philox(uvec4(i, 0, stream, 0), key);
    bits[i] = random;
    vec4 uniforms = (vec4(random >> 8) + 0.5) * exp2(-24.0);
    vec2 radius = sqrt(-2.0 * log(uniforms.xz));
    vec2 angle = 6.2831853 * uniforms.yw - 3.1415927;
    normals[i] = vec4(radius.x * vec2(cos(angle.x), sin(angle.x)), radius.y * vec2(cos(angle.y), sin(angle.y)));
}
