#version 450
// Functions with in, out and inout parameters, arrays and structs by value, calls in calls, and several call sites.
layout(local_size_x = 32) in;

struct Ray { vec3 origin; vec3 direction; };
struct Hit { float t; int object; vec2 uv; };

layout(set = 0, binding = 0) readonly buffer Rays { float rays[]; };
layout(set = 0, binding = 1) writeonly buffer Hits { vec4 hits[]; };
layout(set = 0, binding = 2) writeonly buffer Objects { int objects[]; };
layout(set = 0, binding = 3) uniform Scene { vec4 spheres[4]; vec4 planes[2]; };

bool intersect_sphere(in Ray ray, vec4 sphere, inout Hit hit, int object)
{
    vec3 offset = ray.origin - sphere.xyz;
    float b = dot(offset, ray.direction);
    float c = dot(offset, offset) - sphere.w * sphere.w;
    float discriminant = b * b - c;
    if (discriminant < 0.0)
        return false;
    float t = -b - sqrt(discriminant);
    if (t < 0.05 || t > hit.t)
        return false;
    hit.t = t;
    hit.object = object;
    hit.uv = (offset + t * ray.direction).xy / sphere.w;
    return true;
}

void intersect_plane(Ray ray, vec4 plane, inout Hit hit, int object)
{
    float slope = dot(plane.xyz, ray.direction);
    if (abs(slope) < 1.0e-3)
        return;
    float t = -(dot(plane.xyz, ray.origin) + plane.w) / slope;
    if (t > 0.05 && t < hit.t)
        hit = Hit(t, object, vec2(slope, 1.0));
}

Hit trace(Ray ray, out int tests)
{
    Hit hit = Hit(100.0, -1, vec2(0.0));
    tests = 0;
    for (int i = 0; i < 4; ++i)
        tests += intersect_sphere(ray, spheres[i], hit, i) ? 10 : 1;
    intersect_plane(ray, planes[0], hit, 4);
    intersect_plane(ray, planes[1], hit, 5);
    return hit;
}

float average(float values[4], int used)
{
    float sum = 0.0;
    for (int i = 0; i < used; ++i)
        sum += values[i];
    return sum / float(max(used, 1));
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    Ray ray;
    ray.origin = vec3(rays[6 * i], rays[6 * i + 1], rays[6 * i + 2]);
    ray.direction = normalize(vec3(rays[6 * i + 3], rays[6 * i + 4], rays[6 * i + 5]));
    int tests;
    Hit hit = trace(ray, tests);
    float distances[4] = float[4](hit.t, 0.0, 0.0, 0.0);
    int used = 1;
    objects[i] = hit.object * 100 + tests;
    if (hit.object >= 0 && hit.object < 4) {
        Ray shifted = Ray(ray.origin + vec3(0.01, 0.0, 0.0), ray.direction);
        int more;
        distances[used++] = trace(shifted, more).t;
    }
    hits[i] = vec4(hit.t, hit.uv, average(distances, used));
}
