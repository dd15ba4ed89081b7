#version 450
// How many turns points of a picture of 256 x 256 take to escape, 256 at most. Arithmetic is precise: the counts are exact.
layout(local_size_x = 8, local_size_y = 8) in;

layout(set = 0, binding = 0) writeonly buffer Counts { uint counts[]; };

void main()
{
    precise vec2 c = vec2(gl_GlobalInvocationID.xy) * (2.5 / 256.0) - vec2(1.75, 1.25);
    precise vec2 z = vec2(0.0);
    uint count = 0;
    while (count < 256) {
        precise vec2 squares = z * z;
        precise float length2 = squares.x + squares.y;
        if (length2 > 4.0)
            break;
        precise float product = z.x * z.y;
        z = vec2(squares.x - squares.y, product + product) + c;
        ++count;
    }
    counts[gl_GlobalInvocationID.y * 256 + gl_GlobalInvocationID.x] = count;
}
