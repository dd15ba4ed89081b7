#version 450
// Sphere tracing of boxes on a ground, with a shadow ray: a picture of 128 x 128.
layout(local_size_x = 8, local_size_y = 8) in;

layout(set = 0, binding = 0) writeonly buffer Picture { vec4 picture[]; };

const vec3 light = vec3(0.48, 0.64, -0.6);

float scene(vec3 p)
{
    float nearest = p.y + 1.0;
    for (int i = 0; i < 3; ++i) {
        vec3 q = abs(p - vec3(1.7 * i - 1.7, 0.3 * i - 0.2, 0.4 * i)) - vec3(0.45, 0.5, 0.4);
        float box = length(max(q, vec3(0.0))) + min(max(q.x, max(q.y, q.z)), 0.0) - 0.1;
        nearest = min(nearest, box);
    }
    return nearest;
}

void main()
{
    uvec2 id = gl_GlobalInvocationID.xy;
    vec2 screen = (2.0 * vec2(id) + 1.0) / 128.0 - 1.0;
    vec3 eye = vec3(0.2, 1.0, -4.5);
    vec3 direction = normalize(vec3(screen.x, screen.y - 0.15, 1.6));
    float travelled = 0.0;
    bool hit = false;
    for (int i = 0; i < 64 && travelled < 20.0; ++i) {
        float here = scene(eye + travelled * direction);
        if (here < 0.002) {
            hit = true;
            break;
        }
        travelled += here;
    }
    float shade = 0.0;
    if (hit) {
        vec3 at = eye + travelled * direction;
        const vec2 e = vec2(0.01, 0.0);
        vec3 normal = normalize(vec3(scene(at + e.xyy) - scene(at - e.xyy), scene(at + e.yxy) - scene(at - e.yxy), scene(at + e.yyx) - scene(at - e.yyx)));
        float lit = 1.0;
        float along = 0.05;
        for (int i = 0; i < 16 && lit > 0.0; ++i) {
            float here = scene(at + along * light);
            lit = min(lit, 8.0 * here / along);
            along += max(here, 0.05);
        }
        shade = max(lit, 0.0) * max(dot(normal, light), 0.0) + exp2(-travelled);
    }
    picture[id.y * 128 + id.x] = vec4(travelled, shade, hit ? 1.0 : 0.0, 0.0);
}
