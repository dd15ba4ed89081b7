#version 450
// Fractal gradient noise in three dimensions with Perlin's permutation idea: hashed lattice, quintic fade, octaves.
layout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;

layout(set = 0, binding = 0) writeonly buffer Noise { float noise[]; };
layout(set = 0, binding = 1) readonly buffer Permutation { uint permutation[256]; };
layout(push_constant) uniform Parameters { float frequency; int octaves; uint width, height; };

uint hash(ivec3 cell)
{
    uint h = permutation[uint(cell.x) & 255u];
    h = permutation[(h + uint(cell.y)) & 255u];
    return permutation[(h + uint(cell.z)) & 255u];
}

float gradient(uint h, vec3 p)
{
    h &= 15u;
    float u = h < 8u ? p.x : p.y;
    float v = h < 4u ? p.y : (h == 12u || h == 14u) ? p.x : p.z;
    return ((h & 1u) == 0u ? u : -u) + ((h & 2u) == 0u ? v : -v);
}

float perlin(vec3 p)
{
    vec3 whole = floor(p);
    vec3 f = p - whole;
    ivec3 cell = ivec3(whole);
    vec3 fade = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    float corners[8];
    for (int i = 0; i < 8; ++i) {
        ivec3 corner = ivec3(i & 1, (i >> 1) & 1, i >> 2);
        corners[i] = gradient(hash(cell + corner), f - vec3(corner));
    }
    vec4 x = mix(vec4(corners[0], corners[2], corners[4], corners[6]),
                 vec4(corners[1], corners[3], corners[5], corners[7]), fade.x);
    vec2 y = mix(x.xz, x.yw, fade.y);
    return mix(y.x, y.y, fade.z);
}

void main()
{
    uvec3 id = gl_GlobalInvocationID;
    vec3 p = vec3(id) * frequency - 1.5;
    float sum = 0.0, amplitude = 1.0;
    for (int octave = 0; octave < octaves; ++octave) {
        sum += amplitude * perlin(p);
        amplitude *= 0.5;
        p = p * 2.0 + 0.25;
    }
    noise[(id.z * height + id.y) * width + id.x] = sum;
}
