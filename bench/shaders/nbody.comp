#version 450
// A step of 1024 gravitating bodies: tiles of positions in shared memory.
layout(local_size_x = 128) in;

layout(set = 0, binding = 0) readonly buffer Positions { vec4 positions[]; };       // w: mass
layout(set = 0, binding = 1) readonly buffer Velocities { vec4 velocities[]; };
layout(set = 0, binding = 2) writeonly buffer Moved { vec4 moved[]; };

const uint count = 1024;
shared vec4 tile[128];

void main()
{
    uint i = gl_GlobalInvocationID.x;
    vec4 here = positions[i];
    vec3 acceleration = vec3(0.0);
    for (uint first = 0; first < count; first += 128) {
        tile[gl_LocalInvocationIndex] = positions[first + gl_LocalInvocationIndex];
        barrier();
        for (uint k = 0; k < 128; ++k) {
            vec4 other = tile[k];
            vec3 offset = other.xyz - here.xyz;
            float inverse = inversesqrt(dot(offset, offset) + 0.01);
            acceleration += offset * (other.w * inverse * inverse * inverse);
        }
        barrier();
    }
    vec3 velocity = velocities[i].xyz + 0.01 * acceleration;
    moved[i] = vec4(here.xyz + 0.01 * velocity, here.w);
}
