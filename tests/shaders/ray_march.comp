#version 450
// Sphere tracing of a repeated scene of rounded boxes, with a shadow ray and occlusion: nested loops with breaks.
layout(local_size_x = 8, local_size_y = 8) in;

layout(set = 0, binding = 0) writeonly buffer Picture { vec4 picture[]; };
layout(set = 0, binding = 1) uniform Camera { vec4 eye; vec4 right; vec4 up; vec4 forward; vec4 light; };
layout(push_constant) uniform Size { uvec2 size; };

float scene(vec3 p)
{
    float ground = p.y + 1.0;
    float nearest = ground;
    for (int i = 0; i < 3; ++i) {
        vec3 centre = vec3(float(i) * 1.7 - 1.7, 0.3 * float(i) - 0.2, 0.4 * float(i));
        vec3 q = abs(p - centre) - vec3(0.45, 0.5, 0.4);
        float box = length(max(q, vec3(0.0))) + min(max(q.x, max(q.y, q.z)), 0.0) - 0.1;
        float blend = clamp(0.5 + 0.5 * (nearest - box) / 0.2, 0.0, 1.0);
        nearest = mix(nearest, box, blend) - 0.2 * blend * (1.0 - blend);
    }
    return nearest;
}

vec3 normal_at(vec3 p)
{
    const vec2 e = vec2(0.01, 0.0);
    vec3 n = vec3(scene(p + e.xyy) - scene(p - e.xyy), scene(p + e.yxy) - scene(p - e.yxy),
                  scene(p + e.yyx) - scene(p - e.yyx));
    return normalize(n);
}

void main()
{
    uvec2 id = gl_GlobalInvocationID.xy;
    vec2 screen = (2.0 * vec2(id) + 1.0 - vec2(size)) / float(size.y);
    vec3 direction = normalize(screen.x * right.xyz + screen.y * up.xyz + forward.xyz);
    float travelled = 0.0;
    bool hit = false;
    for (int i = 0; i < 48; ++i) {
        float distance_here = scene(eye.xyz + travelled * direction);
        if (distance_here < 0.001) {
            hit = true;
            break;
        }
        travelled += distance_here;
        if (travelled > 12.0)
            break;
    }

    float shade = 0.0;
    float occlusion = 0.0;
    if (hit) {
        vec3 position = eye.xyz + travelled * direction;
        vec3 normal = normal_at(position);
        float lit = 1.0;
        float along = 0.05;
        for (int i = 0; i < 12; ++i) {
            float distance_here = scene(position + along * light.xyz);
            lit = min(lit, 8.0 * distance_here / along);
            along += max(distance_here, 0.05);
            if (lit < 0.0)
                break;
        }
        for (int i = 1; i <= 3; ++i) {
            float reach = 0.1 * float(i);
            occlusion += (reach - scene(position + reach * normal)) / exp2(float(i));
        }
        shade = max(lit, 0.0) * max(dot(normal, light.xyz), 0.0) + 0.1;
    }
    picture[id.y * size.x + id.x] = vec4(hit ? 1.0 : 0.0, min(travelled, 12.0), shade, occlusion);
}
