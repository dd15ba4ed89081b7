#version 450
// Escape counts of the Mandelbrot set. All arithmetic is precise (not contracted), so the counts are exact.
layout(local_size_x = 8, local_size_y = 8) in;

layout(set = 0, binding = 0) writeonly buffer Counts { uint counts[]; };
layout(push_constant) uniform View { vec2 centre; float pixel; uint width; uint limit; };

void main()
{
    precise vec2 c = centre + pixel * vec2(gl_GlobalInvocationID.xy);
    precise vec2 z = vec2(0.0);
    uint count = 0;
    while (count < limit) {
        precise vec2 squares = z * z;
        precise float distance2 = squares.x + squares.y;
        if (distance2 > 4.0)
            break;
        precise float product = z.x * z.y;
        z = vec2(squares.x - squares.y, product + product) + c;
        ++count;
    }
    counts[gl_GlobalInvocationID.y * width + gl_GlobalInvocationID.x] = count;
}
