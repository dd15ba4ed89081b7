#version 450
// Culling of spheres against a view volume with a level of detail by distance: a function that returns out of a uniform
// loop for some lanes only, a divergent break, statistics by atomics, and a draw list.
layout(local_size_x = 16) in;

struct Draw { uint index_count; uint instance_count; uint first_index; uint object; };

layout(set = 0, binding = 0) readonly buffer Spheres { vec4 spheres[]; };
layout(set = 0, binding = 1) buffer Draws { Draw draws[]; };
layout(set = 0, binding = 2) uniform View { vec4 planes[6]; vec4 eye; uvec4 levels[5]; };
layout(set = 0, binding = 3) buffer Statistics { uint visible; uint per_level[6]; };

bool inside(vec4 sphere)
{
    for (int i = 0; i < 6; i++)
        if (dot(sphere.xyz, planes[i].xyz) + planes[i].w + sphere.w < 0.0)
            return false;
    return true;
}

void main()
{
    uint object = gl_GlobalInvocationID.x;
    vec4 sphere = spheres[object];
    if (inside(sphere)) {
        draws[object].instance_count = 1;
        atomicAdd(visible, 1);
        uint level = 5;
        for (uint i = 0; i < 5; i++)
            if (distance(sphere.xyz, eye.xyz) < uintBitsToFloat(levels[i].z)) {
                level = i;
                break;
            }
        draws[object].first_index = level < 5 ? levels[level].x : 77u;
        draws[object].index_count = level < 5 ? levels[level].y : 3u;
        draws[object].object = object;
        atomicAdd(per_level[level], 1);
    } else {
        draws[object].instance_count = 0;
    }
}
