#version 450
// One step of gravitating bodies: tiles of positions in shared memory, softened forces, leapfrog update.
layout(local_size_x = 64) in;

struct Body { vec3 position; float mass; vec3 velocity; float age; };

layout(set = 0, binding = 0) readonly buffer Before { Body before[]; };
layout(set = 0, binding = 1) writeonly buffer After { Body after[]; };
layout(set = 0, binding = 2) uniform Constants { float time_step; float softening; uint count; };

shared vec4 tile[64];

void main()
{
    uint i = gl_GlobalInvocationID.x;
    Body body = before[min(i, count - 1)];
    vec3 acceleration = vec3(0.0);
    for (uint first = 0; first < count; first += 64) {
        uint j = first + gl_LocalInvocationIndex;
        tile[gl_LocalInvocationIndex] = j < count ? vec4(before[j].position, before[j].mass) : vec4(0.0);
        barrier();
        for (uint k = 0; k < 64; ++k) {
            vec3 offset = tile[k].xyz - body.position;
            float inverse = inversesqrt(dot(offset, offset) + softening * softening);
            acceleration += offset * (tile[k].w * inverse * inverse * inverse);
        }
        barrier();
    }
    if (i >= count)
        return;
    body.velocity += acceleration * time_step;
    body.position += body.velocity * time_step;
    body.age += time_step;
    after[i] = body;
}
