#version 450
// A step of diffusion on a grid of 512 x 512: five points, borders kept.
layout(local_size_x = 32, local_size_y = 8) in;

layout(set = 0, binding = 0) readonly buffer Before { float before[]; };
layout(set = 0, binding = 1) writeonly buffer After { float after[]; };

const uint edge = 512;

void main()
{
    uvec2 at = gl_GlobalInvocationID.xy;
    uint i = at.y * edge + at.x;
    float centre = before[i];
    if (at.x == 0 || at.y == 0 || at.x == edge - 1 || at.y == edge - 1) {
        after[i] = centre;
        return;
    }
    float around = before[i - 1] + before[i + 1] + before[i - edge] + before[i + edge];
    after[i] = centre + 0.2 * (around - 4.0 * centre);
}
