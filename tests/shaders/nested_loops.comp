#version 450
// Loops in loops with divergent break, continue and conditions at either end; values live out of each level.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0) readonly buffer Seeds { uint seeds[]; };
layout(set = 0, binding = 1) writeonly buffer Results { uvec4 results[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint seed = seeds[i];
    uint outer_count = 0, inner_count = 0, last = 0, hash = seed;

    for (uint a = 0; a < 5 + (seed & 3u); ++a) {
        if ((hash & 7u) == 3u) {
            hash = hash * 3u + 1u;
            continue;
        }
        uint b = 0;
        do {
            ++inner_count;
            hash ^= hash << 13;
            hash ^= hash >> 17;
            hash ^= hash << 5;
            if ((hash & 15u) == 0)
                break;
            uint c = hash & 7u;
            while (true) {
                if (c == 0)
                    break;
                --c;
                last = c * 10 + a;
                if ((hash >> c & 1u) != 0)
                    continue;
                hash += c;
                if (hash % 11u == 5u) {
                    b += 3;
                    break;
                }
            }
        } while (++b < (seed >> 8 & 7u) + 1u);
        ++outer_count;
        if (hash % 97u == 0)
            break;
    }

    // The Collatz walk: a loop whose length differs widely between lanes.
    uint n = (seed >> 4 & 0xffu) + 1u, length = 0;
    while (n != 1u) {
        n = (n & 1u) == 0 ? n / 2 : 3 * n + 1;
        if (++length == 100)
            break;
    }
    results[i] = uvec4(outer_count << 16 | inner_count, last, hash, length);
}
